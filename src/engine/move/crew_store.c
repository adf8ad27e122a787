#include "base/terms.h"
#include "engine/move/crew_inside.h"

static bool stores(const struct crew *l, const struct handled *o) {
    const struct transfer_leg *leg = o->t.leg;
    return l->measured[KVF_TIER_REMOTE] &&
           (leg[KVF_DIR_READ].tier == KVF_TIER_REMOTE || leg[KVF_DIR_WRITE].tier == KVF_TIER_REMOTE);
}

/* Between a store and a drive entries go as the drive takes them. */
static bool drives(const struct crew *l, const struct handled *o) {
    const struct transfer_leg *leg = o->t.leg;
    return l->measured[KVF_TIER_NVME] &&
           (leg[KVF_DIR_READ].tier == KVF_TIER_NVME || leg[KVF_DIR_WRITE].tier == KVF_TIER_NVME);
}

uint32_t crew_store_connections(const struct crew *l, uint32_t worker) {
    uint64_t all = l->setup.scenario->remote.connections;
    if (!l->measured[KVF_TIER_REMOTE]) return 0;
    if (all < l->count) all = l->count;
    return (uint32_t)(all / l->count + (worker < all % l->count));
}

uint64_t crew_store_piece_bytes(const struct crew *l, const struct handled *o) {
    const struct scenario *s = l->setup.scenario;
    return stores(l, o) && !drives(l, o) ? scenario_value_bytes(s) : s->nvme.io_size;
}

static uint32_t buffers_of(const struct crew *l, const struct handled *o, uint64_t bytes) {
    uint64_t io_size = l->setup.scenario->nvme.io_size;
    if (!stores(l, o)) return 1;
    return (uint32_t)kvf_min((bytes + io_size - 1) / io_size, l->setup.buffers);
}

uint32_t crew_store_buffers(const struct crew *l, const struct piece *p) {
    return buffers_of(l, p->op, p->bytes);
}

uint32_t crew_store_next_buffers(const struct crew *l, const struct handled *o) {
    return buffers_of(l, o, kvf_min(o->t.op->bytes - o->t.next_offset, crew_store_piece_bytes(l, o)));
}

void crew_store_come(struct crew *l, struct hand *hand, struct piece *p, uint64_t now_ns) {
    struct handled *o = p->op;
    bool asks = p->dir == KVF_DIR_READ && l->setup.scenario->remote.lookup == KVF_LOOKUP_EXISTS;
    uint64_t value = scenario_value_bytes(l->setup.scenario);
    if (drives(l, o) && p->bytes < value) p->late = (double)p->bytes / (double)value; /* a part of one */
    if (asks && !o->asked) {
        struct piece *lookup = crew_piece_new(l, o, p->dir, 0);
        lookup->lookup = o->asked = true;
        o->asked_ns = now_ns;
        piece_add(&hand->lookups, lookup);
    }
    piece_add(asks && !o->answered ? &o->held : &hand->values, p);
}

/* The store answers in the midst of the values that are under way. */
static uint64_t lookup_ns(const struct crew *l) {
    const struct scenario_service *v = &l->setup.scenario->tier[KVF_TIER_REMOTE].service;
    const double *values = l->station[KVF_TIER_REMOTE].chunks;
    return v->lookup_ns +
           (uint64_t)((double)v->lookup_behind_ns * (values[KVF_DIR_READ] + values[KVF_DIR_WRITE]));
}

void crew_store_assign(struct crew *l, struct hand *hand, uint64_t now_ns) {
    struct piece *p;
    while (hand->connections > 0 &&
           ((p = piece_take(&hand->lookups)) != NULL || (p = piece_take(&hand->values)) != NULL)) {
        hand->connections--;
        if (p->lookup)
            heap_push(&l->delays, now_ns + lookup_ns(l), l->ties++, p);
        else
            station_join(&l->station[KVF_TIER_REMOTE], p, p->dir, crew_bytes_served(l, p, KVF_TIER_REMOTE),
                         now_ns);
    }
}

/* The values of an entry that is there may be read. */
static void answered(struct crew *l, struct hand *hand, struct handled *o, uint64_t now_ns) {
    struct piece *p;
    o->answered = true;
    histogram_record(&l->setup.counters->lookup, now_ns - o->asked_ns);
    while ((p = piece_take(&o->held)) != NULL) piece_add(&hand->values, p);
}

void crew_store_look(struct crew *l, struct hand *hand, uint64_t now_ns) {
    struct pieces seen = hand->reaped;
    struct piece *p;
    if (!l->measured[KVF_TIER_REMOTE]) return;
    hand->reaped = (struct pieces){NULL, NULL};
    while ((p = piece_take(&seen)) != NULL) {
        hand->connections += p->op->t.leg[p->dir].tier == KVF_TIER_REMOTE;
        if (p->lookup) {
            answered(l, hand, p->op, now_ns);
            crew_piece_free(l, p);
        } else {
            piece_add(&hand->reaped, p);
        }
    }
    crew_store_assign(l, hand, now_ns);
}
