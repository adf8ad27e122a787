#include "engine/move/crew.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/heap.h"
#include "base/rng.h"
#include "engine/move/crew_inside.h"
#include "engine/move/crew_rates.h"
#include "engine/move/crew_reuse.h"
#include "scenario/budget.h"
#include "tier/channels.h"
#include "tier/station.h"

enum { COPIES_PER_TURN = 4, HOLDERS = 32, OWN = CREW_OWN, STATIONS = CREW_STATIONS };
enum { LANDING = BUDGET_LANDING_BUFFERS };

/* In the numbers of its questions: the simulated mover has others. */
#define CREW_ASKS (UINT64_C(1) << 63)

static uint64_t now_of(const struct crew *l) {
    return run_clock_now(l->setup.clock);
}

static void hand_ready(struct crew *l, struct hand *hand) {
    if (hand->busy || hand->listed) return;
    hand->listed = true;
    hand->next_ready = NULL;
    *l->ready_tail = hand;
    l->ready_tail = &hand->next_ready;
}

/* ---- at the tiers ---- */

static void comes(struct crew *l, int tier, enum kvf_dir dir, uint64_t n, uint64_t now_ns) {
    counters_add(&l->setup.counters->chunks_in_flight[tier], n);
    if (l->setup.usage) usage_come(&l->setup.usage[tier], dir, n, now_ns);
}

static void goes(struct crew *l, int tier, enum kvf_dir dir, uint64_t n, uint64_t now_ns) {
    counters_add(&l->setup.counters->chunks_in_flight[tier], 0 - n);
    if (l->setup.usage) usage_go(&l->setup.usage[tier], dir, n, now_ns, 0);
}

static void leg_comes(struct crew *l, struct handled *o, enum kvf_dir dir, uint64_t now_ns) {
    struct transfer_leg *leg = &o->t.leg[dir];
    if (leg->tier < 0) return;
    if (leg->start_ns == 0) leg->start_ns = now_ns;
    if (leg->at_device++ == 0) leg->since_ns = now_ns;
    comes(l, leg->tier, dir, 1, now_ns);
}

static void leg_goes(struct crew *l, struct handled *o, enum kvf_dir dir, uint64_t bytes, uint64_t now_ns) {
    struct transfer_leg *leg = &o->t.leg[dir];
    if (leg->tier < 0) return;
    leg->done_bytes += bytes;
    leg->end_ns = now_ns;
    if (--leg->at_device == 0) leg->device_ns += now_ns - leg->since_ns;
    goes(l, leg->tier, dir, 1, now_ns);
}

/* With all that it has there. */
static void leg_leaves(struct crew *l, struct transfer_leg *leg, enum kvf_dir dir, uint64_t now_ns) {
    if (leg->at_device > 0) goes(l, leg->tier, dir, leg->at_device, now_ns);
    leg->at_device = 0;
}

/* A device takes up what one worker has for its memory one after the other. */
static void own_next(struct crew *l, struct hand *hand, uint64_t now_ns) {
    struct piece *p = piece_take(&hand->own);
    double gap_ns = (double)crew_own_gap_ns(l->setup.scenario) * hand->own_apart;
    hand->own_taken = p != NULL;
    if (p) heap_push(&l->starts, now_ns + (uint64_t)gap_ns, l->ties++, p);
}

/* A figure as the last rest has made it; after a whole one it is `times` as large. */
static double woken(const struct hand *hand, double times) {
    return 1 + (fmax(times, 1) - 1) * hand->woken;
}

static void piece_submit(struct crew *l, struct piece *p, uint64_t now_ns) {
    struct handled *o = p->op;
    int tier = o->t.leg[p->dir].tier;
    leg_comes(l, o, p->dir, now_ns);
    if (crew_is_drive(l, tier)) crew_reuse_copied(l->reuse, p->bytes);
    if (p->direct) leg_comes(l, o, p->dir == KVF_DIR_READ ? KVF_DIR_WRITE : KVF_DIR_READ, now_ns);
    p->since_ns = now_ns;
    const struct scenario_service *gpu = &l->setup.scenario->tier[KVF_TIER_GPU].service;
    struct hand *hand = &l->hand[o->hand];
    double late = tier == KVF_TIER_GPU ? woken(hand, gpu->woken_latency) : 1;
    p->late = late;
    if (tier == KVF_TIER_REMOTE && l->values) {
        crew_store_come(l, hand, p, now_ns);
        return;
    }
    if (!o->whole) {
        station_join(&l->station[tier], p, p->dir, crew_bytes_served(l, p, tier), now_ns);
        crew_share(l, now_ns);
        return;
    }
    piece_add(&hand->own, p);
    if (hand->own_taken) return;
    hand->own_late = late * station_draw(&gpu->own_latency_spread, &l->own_rng);
    hand->own_apart = woken(hand, gpu->woken_gap);
    own_next(l, hand, now_ns);
}

static void piece_arrives(struct crew *l, struct piece *p, uint64_t now_ns) {
    struct handled *o = p->op;
    if (!p->lookup) leg_goes(l, o, p->dir, p->bytes, now_ns);
    if (p->direct) leg_goes(l, o, p->dir == KVF_DIR_READ ? KVF_DIR_WRITE : KVF_DIR_READ, p->bytes, now_ns);
    piece_add(&l->hand[o->hand].reaped, p);
    hand_ready(l, &l->hand[o->hand]);
}

static void piece_served(struct crew *l, int station, struct piece *p, uint64_t now_ns) {
    struct hand *hand = &l->hand[p->op->hand];
    double late = station == OWN ? hand->own_late : p->late;
    crew_share(l, now_ns);
    heap_push(&l->delays, now_ns + crew_latency_ns(l->setup.scenario, station, late), l->ties++, p);
    if (station == OWN) own_next(l, hand, now_ns);
}

static bool stations_pump(struct crew *l, uint64_t now_ns) {
    struct station_end end;
    struct heap_item item;
    bool any = false;
    for (int i = 0; i < STATIONS; i++) {
        if (!station_is_on(&l->station[i])) continue;
        for (; station_leave(&l->station[i], now_ns, &end); any = true) piece_served(l, i, end.who, now_ns);
    }
    for (; heap_min_key(&l->starts) <= now_ns && heap_pop(&l->starts, &item); any = true) {
        struct piece *p = item.item;
        station_join(&l->station[OWN], p, p->dir, crew_bytes_served(l, p, KVF_TIER_GPU), now_ns);
    }
    for (; heap_min_key(&l->delays) <= now_ns && heap_pop(&l->delays, &item); any = true)
        piece_arrives(l, item.item, now_ns);
    return any;
}

/* Bytes per ns that a worker copies at this moment of its turn, with what a rest has left of it. */
static double hand_rate(const struct crew *l, const struct hand *hand, enum kvf_dir dir, bool staging) {
    bool rested = hand->until_ns - hand->since_ns < CREW_SLOW_NS;
    const struct scenario *s = l->setup.scenario;
    double rate = crew_copy_rate(s, l->copying + 1, dir) * (staging ? crew_staging_part(s) : 1);
    return rested ? rate / s->tier[KVF_TIER_CPU].service.rested[dir] : rate;
}

/* How long a worker copies a piece of an operation. */
static uint64_t copy_ns(struct crew *l, const struct hand *hand, struct handled *o, enum kvf_dir dir,
                        uint64_t bytes) {
    const struct scenario_service *s = &l->setup.scenario->tier[KVF_TIER_CPU].service;
    bool staging = !o->copies && dir == KVF_DIR_READ;
    if (!(o->reuse > 0)) o->reuse = crew_reuse_speed(s, crew_reuse_begin(l->reuse, o->t.op->key));
    crew_reuse_copied(l->reuse, bytes);
    double work = (double)bytes / (dir == KVF_DIR_READ ? o->reuse : 1);
    double ns =
        work / hand_rate(l, hand, dir, staging) * station_draw(&s->spread[dir], &l->rng[dir]) * hand->slow;
    l->used_ns[dir] += work / station_rate(&s->depths, &s->rates[dir], 1e9);
    return (uint64_t)ns + l->setup.scenario->tier[KVF_TIER_CPU].emulation.latency_ns;
}

/* ---- a worker's turn ---- */

/* A buffer that something was read into gets its noise back before a write is made in it. */
static void fill_buffer(const struct crew *l, struct hand *hand, bool staging) {
    if (!l->measured[KVF_TIER_CPU]) return;
    double rate = hand_rate(l, hand, KVF_DIR_READ, staging);
    hand->until_ns += (uint64_t)((double)l->setup.scenario->nvme.io_size / rate);
}

static void copy(struct crew *l, struct hand *hand, struct handled *o, enum kvf_dir dir, uint64_t bytes) {
    struct transfer_leg *leg = &o->t.leg[dir];
    if (o->copies && dir == KVF_DIR_READ) {
        hand->landing -= hand->landing > 0;
    } else if (o->copies && hand->landing < LANDING) {
        fill_buffer(l, hand, false);
        hand->landing++;
    }
    uint64_t ns = copy_ns(l, hand, o, dir, bytes);
    if (leg->start_ns == 0) leg->start_ns = hand->until_ns;
    hand->until_ns += ns;
    hand->copied[dir]++;
    leg->device_ns += ns;
    leg->end_ns = hand->until_ns;
    leg->done_bytes += bytes;
}

/* A buffer for what is read, or for what is made: the used ones are for reads, as long as there are any. */
static void take_buffer(struct crew *l, struct hand *hand, struct piece *p, bool made) {
    bool clean = made ? hand->clean > 0 : hand->clean == hand->buffers;
    hand->clean -= clean;
    hand->buffers--;
    p->clean = made;
    if (made && !clean) fill_buffer(l, hand, true);
}

/* A piece is in its buffer, or on the drive. */
static void reap(struct crew *l, struct hand *hand, struct piece *p) {
    struct handled *o = p->op;
    if (o->t.leg[p->dir].tier == KVF_TIER_REMOTE)
        hand->until_ns += (uint64_t)((double)crew_store_work_ns(l, p) * hand->slow);
    if (p->dir == KVF_DIR_READ && !p->direct && has_leg(o, KVF_DIR_WRITE) && !o->t.leg[KVF_DIR_WRITE].timed) {
        if (!leg_copies(o, KVF_DIR_WRITE)) {
            p->dir = KVF_DIR_WRITE;
            piece_add(&hand->submit, p);
            return;
        }
        copy(l, hand, o, KVF_DIR_WRITE, p->bytes);
    }
    give_back(hand, p);
    o->passed += p->bytes;
    crew_piece_free(l, p);
    if (o->passed == o->t.op->bytes) heap_push(&l->ends, hand->until_ns, l->ties++, o);
}

static uint64_t piece_bytes(const struct crew *l, const struct handled *o) {
    uint64_t left = o->t.op->bytes - o->t.next_offset, most = crew_store_piece_bytes(l, o);
    return o->whole || left < most ? left : most;
}

/* The next piece; true when that was the last. */
static bool issue(struct crew *l, struct hand *hand, struct handled *o) {
    uint64_t bytes = piece_bytes(l, o);
    enum kvf_dir dir =
        has_leg(o, KVF_DIR_READ) && !o->t.leg[KVF_DIR_READ].timed ? KVF_DIR_READ : KVF_DIR_WRITE;
    if (o->t.next_offset == 0) o->t.line_ns = now_of(l) - o->t.issue_ns;
    o->t.next_offset += bytes;
    if (o->copies) {
        for (int d = 0; d < KVF_DIRS; d++)
            if (leg_copies(o, (enum kvf_dir)d)) copy(l, hand, o, (enum kvf_dir)d, bytes);
        return o->t.next_offset == o->t.op->bytes;
    }
    if (o->direct) dir = o->t.leg[KVF_DIR_READ].tier == KVF_TIER_GPU ? KVF_DIR_READ : KVF_DIR_WRITE;
    if (!o->direct && dir == KVF_DIR_READ && leg_copies(o, dir)) {
        copy(l, hand, o, dir, bytes);
        dir = KVF_DIR_WRITE;
    }
    struct piece *p = crew_piece_new(l, o, dir, bytes);
    p->direct = o->direct;
    crew_store_mark(l, p);
    if (o->direct)
        hand->holders--;
    else if (!o->whole)
        take_buffer(l, hand, p, !has_leg(o, KVF_DIR_READ) || o->t.leg[KVF_DIR_READ].timed);
    piece_add(&hand->submit, p);
    return o->t.next_offset == o->t.op->bytes;
}

/* Pieces of the first operations of a line while there are buffers or holders for them. */
static bool issue_line(struct crew *l, struct hand *hand, struct line *line, const uint32_t *left,
                       unsigned most) {
    unsigned n = 0;
    for (; line->first; n++) {
        crew_begin_write(l, hand, line->first); /* also where it has to wait for a buffer then */
        if (n == most || (left && *left == 0)) break;
        if (!issue(l, hand, line->first)) continue;
        struct handled *o = line_take(line);
        if (o->copies) heap_push(&l->ends, hand->until_ns, l->ties++, o);
    }
    return n > 0;
}

static void turn_begin(struct crew *l, struct hand *hand, uint64_t now_ns) {
    struct piece *p;
    bool any = hand->reaped.first != NULL;
    hand->until_ns = now_ns;
    uint64_t rest_ns = now_ns - hand->idle_ns;
    if (rest_ns >= CREW_REST_NS) hand->since_ns = now_ns;
    hand->woken = sqrt(fmin((double)rest_ns / CREW_REST_NS, 1));
    crew_store_look(l, hand, now_ns);
    hand->slow = crew_slows(l);
    while ((p = piece_take(&hand->reaped)) != NULL) reap(l, hand, p);
    any = issue_line(l, hand, &hand->whole, NULL, UINT32_MAX) || any;
    any = issue_line(l, hand, &hand->direct, &hand->holders, UINT32_MAX) || any;
    any = issue_line(l, hand, &hand->staged, &hand->buffers, UINT32_MAX) || any;
    any = issue_line(l, hand, &hand->instant, NULL, COPIES_PER_TURN) || any;
    if (!any) return;
    for (int d = 0; d < KVF_DIRS; d++)
        if (hand->copied[d]) comes(l, KVF_TIER_CPU, (enum kvf_dir)d, 1, now_ns);
    hand->busy = true;
    if (hand->until_ns > now_ns) l->copying++;
    hand->counted = hand->until_ns > now_ns;
    crew_share(l, now_ns);
    heap_push(&l->turns, hand->until_ns, l->ties++, hand);
}

/* The copies of its turn have passed. */
static void copied_goes(struct crew *l, struct hand *hand, uint64_t now_ns) {
    for (int d = 0; d < KVF_DIRS; d++) {
        if (hand->copied[d]) goes(l, KVF_TIER_CPU, (enum kvf_dir)d, 1, now_ns);
        hand->copied[d] = 0;
    }
}

static void turn_end(struct crew *l, struct hand *hand, uint64_t now_ns) {
    struct piece *p;
    hand->busy = false;
    hand->idle_ns = now_ns;
    if (hand->counted) l->copying--;
    crew_share(l, now_ns);
    copied_goes(l, hand, now_ns);
    while ((p = piece_take(&hand->submit)) != NULL) piece_submit(l, p, now_ns);
    crew_store_assign(l, hand, now_ns);
    hand_ready(l, hand);
}

/* ---- operations ---- */

static void timed_known(struct crew *l, struct handled *o, enum kvf_dir dir, uint64_t end_ns) {
    struct transfer_leg *leg = &o->t.leg[dir];
    leg->end_ns = end_ns;
    leg->device_ns = end_ns - leg->since_ns;
    leg->done_bytes = o->t.op->bytes;
    heap_push(&l->timed, end_ns, l->ties++, o);
}

static void turn_ask(struct crew *l, struct handled *o, enum kvf_dir dir) {
    o->number = CREW_ASKS | ++l->questions;
    line_add(&l->asked, o);
    l->setup.ask(l->setup.ctx, o->number, o->t.op, dir);
}

/* By the channels of its tier, which was not measured; `o` goes on when that is done. */
static void timed_begin(struct crew *l, struct handled *o, enum kvf_dir dir, uint64_t now_ns) {
    struct transfer_leg *leg = &o->t.leg[dir];
    leg->since_ns = now_ns;
    if (leg->start_ns == 0) leg->start_ns = now_ns;
    leg->at_device = 1;
    comes(l, leg->tier, dir, 1, now_ns);
    if (leg->tier == KVF_TIER_REMOTE && l->setup.ask)
        turn_ask(l, o, dir);
    else
        timed_known(l, o, dir,
                    channels_take(l->channels[leg->tier], dir, o->t.op->bytes, now_ns).complete_ns);
}

static void operation_record(struct crew *l, struct handled *o) {
    for (int d = 0; d < KVF_DIRS; d++) {
        const struct transfer_leg *leg = &o->t.leg[d];
        if (leg->tier < 0 || leg->kept) continue;
        counters_add(&l->setup.counters->io[leg->tier][d][transfer_cause(&o->t, (enum kvf_dir)d)].bytes,
                     leg->done_bytes);
    }
    transfer_record(&o->t, l->setup.counters, l->caps, KVF_VERIFY_NONE);
}

/* Its bytes have passed. */
static void operation_end(struct crew *l, struct handled *o) {
    if (o->t.leg[KVF_DIR_WRITE].timed && o->t.leg[KVF_DIR_WRITE].done_bytes == 0) {
        timed_begin(l, o, KVF_DIR_WRITE, now_of(l));
        return;
    }
    operation_record(l, o);
    l->setup.done(l->setup.ctx, &o->t, false, "");
    crew_handled_free(l, o);
}

static void operation_line(struct crew *l, struct handled *o) {
    struct hand *hand = &l->hand[o->hand];
    line_add(o->whole    ? &hand->whole
             : o->direct ? &hand->direct
             : o->copies ? &hand->instant
                         : &hand->staged,
             o);
    hand_ready(l, hand);
}

static void timed_end(struct crew *l, struct handled *o, uint64_t now_ns) {
    enum kvf_dir dir = o->t.leg[KVF_DIR_READ].timed && o->t.leg[KVF_DIR_WRITE].done_bytes == 0
                           ? KVF_DIR_READ
                           : KVF_DIR_WRITE;
    leg_leaves(l, &o->t.leg[dir], dir, now_ns);
    if (dir == KVF_DIR_READ && has_leg(o, KVF_DIR_WRITE))
        operation_line(l, o);
    else
        operation_end(l, o);
}

/* A read of a slower tier goes on to the gpu where that is its target. */
static bool op_lands(const struct crew *l, const struct cache_op *op) {
    return l->setup.scenario->cache.read_target == KVF_READ_TARGET_GPU && op->from > KVF_TIER_GPU &&
           op->to < 0 && l->setup.tiers[KVF_TIER_GPU];
}

static void kind_set(const struct crew *l, struct handled *o) {
    const struct scenario *s = l->setup.scenario;
    int read = o->t.leg[KVF_DIR_READ].tier, write = o->t.leg[KVF_DIR_WRITE].tier;
    bool alone = read < 0 || write < 0;
    o->copies = true;
    for (int d = 0; d < KVF_DIRS; d++) {
        int tier = o->t.leg[d].tier;
        o->t.leg[d].timed = tier >= 0 && !l->measured[tier];
        o->copies = o->copies && (tier < 0 || o->t.leg[d].timed || tier == KVF_TIER_CPU);
    }
    o->direct = l->measured[KVF_TIER_GPU] && ((read == KVF_TIER_GPU && write == KVF_TIER_CPU) ||
                                              (read == KVF_TIER_CPU && write == KVF_TIER_GPU));
    o->copies = o->copies && !o->direct;
    o->whole = l->own && alone && (read < 0 ? write : read) == KVF_TIER_GPU &&
               (read < 0 ? s->gpu.write == KVF_GPU_WRITE_GENERATE : s->gpu.read == KVF_GPU_READ_HBM);
}

bool crew_measured(const struct crew *l, int tier) {
    return l && l->measured[tier];
}

bool crew_take(const struct crew *l, const struct cache_op *op) {
    return (op->from >= 0 && crew_measured(l, op->from)) || (op->to >= 0 && crew_measured(l, op->to));
}

void crew_begin(struct crew *l, struct cache_op *op) {
    struct handled *o = crew_handled_new(l);
    uint64_t now_ns = now_of(l);
    o->t.op = op;
    o->t.issue_ns = now_ns;
    o->t.landing = op_lands(l, op);
    o->t.leg[KVF_DIR_READ].tier = op->from;
    o->t.leg[KVF_DIR_WRITE].tier = o->t.landing ? KVF_TIER_GPU : op->to;
    o->t.leg[op->from >= 0 ? KVF_DIR_READ : KVF_DIR_WRITE].start_ns = now_ns;
    o->hand = op->worker < l->count ? op->worker : 0;
    kind_set(l, o);
    if (o->t.leg[KVF_DIR_READ].timed)
        timed_begin(l, o, KVF_DIR_READ, now_ns);
    else
        operation_line(l, o);
}

static void operation_lost(struct crew *l, struct handled *o) {
    leg_leaves(l, &o->t.leg[KVF_DIR_READ], KVF_DIR_READ, now_of(l));
    o->t.error = ENODATA;
    o->t.error_dir = KVF_DIR_READ;
    counters_add(&l->setup.counters->lost[KVF_TIER_REMOTE], 1);
    l->setup.done(l->setup.ctx, &o->t, false, "");
    crew_handled_free(l, o);
}

bool crew_answered(struct crew *l, uint64_t number, const struct mover_turn *turn) {
    struct handled *o = l ? l->asked.first : NULL;
    if (!(number & CREW_ASKS) || !o || o->number != number) return (number & CREW_ASKS) != 0;
    (void)line_take(&l->asked);
    bool reads = o->t.op->from == KVF_TIER_REMOTE;
    if (reads && turn->how == MOVER_LOST) {
        operation_lost(l, o);
        return true;
    }
    o->t.leg[KVF_DIR_WRITE].kept = !reads && turn->how != MOVER_TURN;
    o->t.dropped = !reads && turn->how == MOVER_LOST;
    timed_known(l, o, reads ? KVF_DIR_READ : KVF_DIR_WRITE, turn->complete_ns);
    return true;
}

bool crew_pump(struct crew *l) {
    uint64_t now_ns = now_of(l);
    struct heap_item item;
    bool any = stations_pump(l, now_ns);
    for (; heap_min_key(&l->timed) <= now_ns && heap_pop(&l->timed, &item); any = true)
        timed_end(l, item.item, now_ns);
    for (; heap_min_key(&l->ends) <= now_ns && heap_pop(&l->ends, &item); any = true)
        operation_end(l, item.item);
    for (; heap_min_key(&l->turns) <= now_ns && heap_pop(&l->turns, &item); any = true)
        turn_end(l, item.item, now_ns);
    while (l->ready) {
        struct hand *hand = l->ready;
        l->ready = hand->next_ready;
        if (!l->ready) l->ready_tail = &l->ready;
        hand->listed = false;
        turn_begin(l, hand, now_ns);
        any = true;
    }
    return any;
}

KVF_APART uint64_t crew_next_ns(const struct crew *l) {
    uint64_t next = heap_min_key(&l->turns), at;
    if (l->ready) return now_of(l);
    if ((at = heap_min_key(&l->delays)) < next) next = at;
    if ((at = heap_min_key(&l->starts)) < next) next = at;
    if ((at = heap_min_key(&l->timed)) < next) next = at;
    if ((at = heap_min_key(&l->ends)) < next) next = at;
    for (int i = 0; i < STATIONS; i++)
        if (station_is_on(&l->station[i]) && (at = station_next_ns(&l->station[i])) < next) next = at;
    return next;
}

static void operation_abandon(struct crew *l, struct handled *o, uint64_t now_ns) {
    for (int d = 0; d < KVF_DIRS; d++) leg_leaves(l, &o->t.leg[d], (enum kvf_dir)d, now_ns);
    l->setup.done(l->setup.ctx, &o->t, true, "");
    crew_handled_free(l, o);
}

/* Other crews count in the same counters, so each takes out what it has brought. */
void crew_stop(struct crew *l) {
    uint64_t now_ns = now_of(l);
    while (l->live.next_live != &l->live) operation_abandon(l, l->live.next_live, now_ns);
    spares_free(&l->spare_piece);
    for (uint32_t i = 0; i < l->count; i++) {
        copied_goes(l, &l->hand[i], now_ns);
        l->hand[i] = (struct hand){
            .buffers = l->setup.buffers, .clean = l->setup.buffers, .holders = HOLDERS, .landing = LANDING};
    }
    crew_store_empty(l);
    for (int i = 0; i < STATIONS; i++)
        if (station_is_on(&l->station[i])) station_empty(&l->station[i], now_ns);
    l->turns.count = l->delays.count = l->starts.count = l->timed.count = l->ends.count = 0;
    l->ready = NULL;
    l->ready_tail = &l->ready;
    l->asked = (struct line){0};
    l->copying = 0;
}

uint64_t crew_used_ns(const struct crew *l, int tier, enum kvf_dir dir) {
    if (tier == KVF_TIER_CPU) return (uint64_t)l->used_ns[dir];
    return station_used_ns(&l->station[tier], dir, now_of(l));
}

uint64_t crew_memory_used_ns(const struct crew *l, enum kvf_dir dir) {
    return l && l->own ? station_used_ns(&l->station[OWN], dir, now_of(l)) : 0;
}

struct crew *crew_open(const struct mover_setup *setup, struct channels *const channels[KVF_TIERS]) {
    const struct scenario *s = setup->scenario;
    if (!crew_wanted(s)) return NULL;
    struct crew *l = mem_zalloc(1, sizeof *l);
    l->setup = *setup;
    l->count = (uint32_t)s->engine.workers;
    l->hand = mem_zalloc(l->count, sizeof *l->hand);
    l->live.prev_live = l->live.next_live = &l->live;
    for (int t = 0; t < KVF_TIERS; t++) {
        if (!setup->tiers[t]) continue;
        l->caps[t] = setup->tiers[t]->ops->caps(setup->tiers[t]);
        l->channels[t] = channels[t];
        l->measured[t] = station_measured(&s->tier[t].service, false) &&
                         !(t == KVF_TIER_REMOTE && (setup->store || setup->ask));
        if (l->measured[t] && t != KVF_TIER_CPU)
            station_init(&l->station[t], s, (enum kvf_tier)t, false, setup->pod);
    }
    l->own = l->measured[KVF_TIER_GPU] && station_measured(&s->tier[KVF_TIER_GPU].service, true);
    if (l->own) station_init(&l->station[OWN], s, KVF_TIER_GPU, true, setup->pod);
    for (int d = 0; d < KVF_DIRS; d++)
        rng_init(&l->rng[d], s->seed, KVF_RNG_SERVICE, station_stream(setup->pod, KVF_TIER_CPU, d));
    rng_init(&l->begins, s->seed, KVF_RNG_SERVICE, station_stream(setup->pod, KVF_TIER_CPU, KVF_DIRS));
    rng_init(&l->own_rng, s->seed, KVF_RNG_SERVICE, station_stream(setup->pod, KVF_TIER_CPU, KVF_DIRS + 1));
    if (s->tier[KVF_TIER_CPU].service.reuse_rates.count > 0) l->reuse = mem_zalloc(1, sizeof *l->reuse);
    crew_store_open(l);
    crew_stop(l);
    return l;
}

void crew_close(struct crew *l) {
    if (!l) return;
    for (int i = 0; i < STATIONS; i++) station_free(&l->station[i]);
    crew_memory_free(l);
    struct heap *const heaps[] = {&l->turns, &l->delays, &l->starts, &l->timed, &l->ends};
    for (size_t i = 0; i < sizeof heaps / sizeof *heaps; i++) heap_free(heaps[i]);
    free(l->hand);
    free(l->lines);
    free(l->reuse);
    free(l);
}
