#include "base/buf.h"
#include "base/terms.h"
#include "base/units.h"
#include "engine/move/crew_inside.h"

static bool stores(const struct crew *l, const struct handled *o) {
    const struct transfer_leg *leg = o->t.leg;
    return l->values &&
           (leg[KVF_DIR_READ].tier == KVF_TIER_REMOTE || leg[KVF_DIR_WRITE].tier == KVF_TIER_REMOTE);
}

/* Between a store and a drive entries go as the drive takes them. */
static bool drives(const struct crew *l, const struct handled *o) {
    const struct transfer_leg *leg = o->t.leg;
    return l->measured[KVF_TIER_NVME] &&
           (leg[KVF_DIR_READ].tier == KVF_TIER_NVME || leg[KVF_DIR_WRITE].tier == KVF_TIER_NVME);
}

/* Of a worker; 0: there are none. */
static uint32_t connections_of(const struct crew *l, uint32_t worker) {
    uint64_t all = l->setup.scenario->remote.connections;
    if (!l->values) return 0;
    if (all < l->count) all = l->count;
    return (uint32_t)(all / l->count + (worker < all % l->count));
}

void crew_store_open(struct crew *l) {
    uint32_t all = 0;
    l->values =
        l->measured[KVF_TIER_REMOTE] && l->setup.scenario->tier[KVF_TIER_REMOTE].backend != KVF_REMOTE_FILE;
    for (uint32_t i = 0; i < l->count; i++) all += connections_of(l, i);
    if (all > 0) l->lines = mem_zalloc(all, sizeof *l->lines);
}

void crew_store_empty(struct crew *l) {
    struct store_line *next = l->lines;
    for (uint32_t i = 0; i < l->count; i++) {
        struct hand *hand = &l->hand[i];
        hand->connections = connections_of(l, i);
        hand->lines = next;
        for (uint32_t k = 0; k < hand->connections; k++) *next++ = (struct store_line){.op = NULL};
    }
}

/* Bytes that one command moves. */
static uint64_t value_bytes(const struct crew *l, const struct handled *o) {
    const struct scenario *s = l->setup.scenario;
    uint64_t value = scenario_value_bytes(s);
    return drives(l, o) && value < s->nvme.io_size ? s->nvme.io_size : value;
}

uint64_t crew_store_piece_bytes(const struct crew *l, const struct handled *o) {
    uint64_t io_size = l->setup.scenario->nvme.io_size;
    if (!stores(l, o)) return io_size;
    uint64_t value = value_bytes(l, o);
    return kvf_min(value - o->t.next_offset % value, io_size);
}

void crew_store_mark(const struct crew *l, struct piece *p) {
    if (stores(l, p->op)) p->value = (p->op->t.next_offset - 1) / value_bytes(l, p->op);
}

static struct store_line *line_find(struct crew *l, struct hand *hand, const struct handled *o,
                                    uint64_t value) {
    uint32_t all = connections_of(l, (uint32_t)(hand - l->hand));
    for (uint32_t i = 0; i < all; i++)
        if (hand->lines[i].op == o && (!o || hand->lines[i].value == value)) return &hand->lines[i];
    return NULL;
}

static void value_wait(struct crew *l, struct hand *hand, struct piece *p) {
    struct store_line *line = line_find(l, hand, p->op, p->value);
    piece_add(line ? &line->waiting : &hand->values, p);
}

void crew_store_come(struct crew *l, struct hand *hand, struct piece *p, uint64_t now_ns) {
    struct handled *o = p->op;
    bool asks = p->dir == KVF_DIR_READ && l->setup.scenario->remote.lookup == KVF_LOOKUP_EXISTS;
    if (asks && !o->asked) {
        struct piece *lookup = crew_piece_new(l, o, p->dir, 0);
        lookup->lookup = o->asked = true;
        o->asked_ns = now_ns;
        piece_add(&hand->lookups, lookup);
    }
    if (asks && !o->answered)
        piece_add(&o->held, p);
    else
        value_wait(l, hand, p);
}

uint64_t crew_store_work_ns(const struct crew *l, const struct piece *p) {
    const struct scenario_figures *us = &l->setup.scenario->tier[KVF_TIER_REMOTE].service.worker_us;
    if (us->count < KVF_DIRS) return 0;
    return (uint64_t)(us->v[p->dir] * 1e3 * (double)p->bytes / (double)KVF_MIB);
}

/* The store answers in the midst of the values that are under way. */
static uint64_t lookup_ns(const struct crew *l) {
    const struct scenario_service *v = &l->setup.scenario->tier[KVF_TIER_REMOTE].service;
    const double *values = l->station[KVF_TIER_REMOTE].chunks;
    return v->lookup_ns +
           (uint64_t)((double)v->lookup_behind_ns * (values[KVF_DIR_READ] + values[KVF_DIR_WRITE]));
}

/* The next piece of a connection's value, if it is there. */
static void line_serve(struct crew *l, struct store_line *line, uint64_t now_ns) {
    struct piece *p = line->serving ? NULL : piece_take(&line->waiting);
    if (!p) return;
    p->line = line;
    p->late = line->begun ? 0 : 1;
    line->begun = line->serving = true;
    station_join(&l->station[KVF_TIER_REMOTE], p, p->dir, (double)p->bytes * line->factor, now_ns);
    crew_share(l, now_ns);
}

/* A value gets a connection, with all pieces of it that are there. */
static void value_begin(struct crew *l, struct hand *hand, struct piece *first, uint64_t now_ns) {
    struct handled *o = first->op;
    uint64_t bytes = value_bytes(l, o);
    struct store_line *line = line_find(l, hand, NULL, 0);
    struct pieces all = hand->values;
    struct piece *p;
    *line = (struct store_line){.op = o,
                                .value = first->value,
                                .left_bytes = kvf_min(o->t.op->bytes - first->value * bytes, bytes),
                                .factor = station_factor(&l->station[KVF_TIER_REMOTE], first->dir)};
    hand->connections--;
    hand->values = (struct pieces){NULL, NULL};
    piece_add(&line->waiting, first);
    while ((p = piece_take(&all)) != NULL) value_wait(l, hand, p);
    line_serve(l, line, now_ns);
}

void crew_store_assign(struct crew *l, struct hand *hand, uint64_t now_ns) {
    uint32_t all = connections_of(l, (uint32_t)(hand - l->hand));
    struct piece *p;
    for (uint32_t i = 0; i < all; i++) line_serve(l, &hand->lines[i], now_ns);
    while (hand->connections > 0) {
        if ((p = piece_take(&hand->lookups)) != NULL) {
            hand->connections--;
            heap_push(&l->delays, now_ns + lookup_ns(l), l->ties++, p);
        } else if ((p = piece_take(&hand->values)) != NULL) {
            value_begin(l, hand, p, now_ns);
        } else {
            return;
        }
    }
}

/* The values of an entry that is there may be read. */
static void answered(struct crew *l, struct hand *hand, struct handled *o, uint64_t now_ns) {
    struct piece *p;
    o->answered = true;
    histogram_record(&l->setup.counters->lookup, now_ns - o->asked_ns);
    while ((p = piece_take(&o->held)) != NULL) value_wait(l, hand, p);
}

static void line_look(struct hand *hand, struct piece *p) {
    struct store_line *line = p->line;
    if (!line) return;
    p->line = NULL;
    line->serving = false;
    line->left_bytes -= p->bytes;
    if (line->left_bytes > 0) return;
    line->op = NULL;
    hand->connections++;
}

void crew_store_look(struct crew *l, struct hand *hand, uint64_t now_ns) {
    struct pieces seen = hand->reaped;
    struct piece *p;
    if (!l->values) return;
    hand->reaped = (struct pieces){NULL, NULL};
    while ((p = piece_take(&seen)) != NULL) {
        if (p->lookup) {
            hand->connections++;
            answered(l, hand, p->op, now_ns);
            crew_piece_free(l, p);
        } else {
            line_look(hand, p);
            piece_add(&hand->reaped, p);
        }
    }
    crew_store_assign(l, hand, now_ns);
}
