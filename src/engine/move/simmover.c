#include "engine/move/simmover.h"

#include <errno.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/heap.h"
#include "base/mem.h"
#include "base/terms.h"
#include "engine/move/crew.h"
#include "engine/move/spares.h"
#include "tier/channels.h"

enum pool_kind { POOL_COPIES, POOL_STAGED, POOLS };

/* A resource that operations share, and the operations in line for it. */
struct pool {
    uint64_t all, left;
    uint64_t since_ns; /* its use is counted up to then */
    struct simulated *first, *last;
};

struct simulated {
    struct transfer t; /* first: what the others see of it */
    struct simulated *next;
    uint64_t number;   /* by which it has asked for a turn */
    enum kvf_dir asks; /* of that leg */
    struct pool *pool; /* NULL: needs nothing */
    uint64_t takes;    /* of the pool */
    bool reading;      /* a move whose first chunk is being read */
    bool read_open;    /* a move that is written while its last bytes are read: an event of its own, ... */
    uint64_t read_tie; /* ... this one */
    /* of each leg, the stretch of a channel that it was given */
    uint64_t from_ns[KVF_DIRS], to_ns[KVF_DIRS];
};

struct simmover {
    struct mover_setup setup;
    uint32_t caps[KVF_TIERS];
    struct channels own[KVF_TIERS], *channels[KVF_TIERS];
    struct crew *crew; /* for operations at measured tiers; NULL: there are none */
    struct pool pool[POOLS];
    struct heap events; /* of operations under way: the write of a move begins, or the end */
    uint64_t begun;     /* events so far: of equal times the first made is the first */
    struct simulated *asked_first, *asked_last; /* operations that have asked for a turn */
    uint64_t asked;
    struct spares spare; /* operations */
};

static struct simulated *simulated_new(struct simmover *m) {
    struct simulated *s = spares_take(&m->spare, sizeof *s);
    mem_clear(s, sizeof *s);
    return s;
}

/* ---- legs ---- */

static void at_device(struct simmover *m, const struct simulated *s, enum kvf_dir dir, bool comes) {
    int tier = s->t.leg[dir].tier;
    uint64_t n = tier == KVF_TIER_NVME ? s->takes : 1, now_ns = run_clock_now(m->setup.clock);
    counters_add(&m->setup.counters->chunks_in_flight[tier], comes ? n : 0 - n);
    if (!m->setup.usage) return;
    if (comes)
        usage_come(&m->setup.usage[tier], dir, n, now_ns);
    else
        usage_go(&m->setup.usage[tier], dir, n, now_ns, 0);
}

/* A worker has a window of buffers: it cannot be faster than one round of them after the other. */
static uint64_t window_ns(const struct simmover *m, const struct simulated *s, enum kvf_dir dir) {
    const struct transfer_leg *leg = &s->t.leg[dir];
    const struct channels *c = m->channels[leg->tier];
    uint64_t io_size = m->setup.scenario->nvme.io_size, bytes = s->t.op->bytes;
    if (leg->tier != KVF_TIER_NVME || bytes <= io_size * m->setup.buffers) return 0;
    uint64_t window = io_size * m->setup.buffers, rounds = (bytes + window - 1) / window;
    return rounds * (c->speed.latency_ns + channels_busy_ns(c, dir, io_size));
}

/* The time that the leg's bytes, or those of one chunk of it, take a channel. */
static uint64_t chunk_ns(const struct simmover *m, const struct simulated *s, enum kvf_dir dir) {
    uint64_t chunk = kvf_min(m->setup.scenario->nvme.io_size, s->t.op->bytes);
    return channels_busy_ns(m->channels[s->t.leg[dir].tier], dir, chunk);
}

/* Its turn is asked for, and comes with simmover_answered(). */
static void leg_ask(struct simmover *m, struct simulated *s, enum kvf_dir dir) {
    s->number = ++m->asked;
    s->asks = dir;
    *(m->asked_last ? &m->asked_last->next : &m->asked_first) = s;
    m->asked_last = s;
    m->setup.ask(m->setup.ctx, s->number, s->t.op, dir);
}

/* Hands a leg to its tier. False: when it is served is known later. */
static bool leg_begin(struct simmover *m, struct simulated *s, enum kvf_dir dir, uint64_t now_ns,
                      struct channels_turn *turn) {
    struct transfer_leg *leg = &s->t.leg[dir];
    bool here = leg->tier != KVF_TIER_REMOTE || !m->setup.ask;
    leg->since_ns = now_ns;
    if (leg->start_ns == 0) leg->start_ns = now_ns;
    at_device(m, s, dir, true);
    if (here)
        *turn = channels_take(m->channels[leg->tier], dir, s->t.op->bytes, now_ns);
    else
        leg_ask(m, s, dir);
    return here;
}

static void leg_served(struct simmover *m, struct simulated *s, enum kvf_dir dir,
                       const struct channels_turn *turn) {
    struct transfer_leg *leg = &s->t.leg[dir];
    leg->end_ns = kvf_max(turn->complete_ns, turn->start_ns + window_ns(m, s, dir));
    s->from_ns[dir] = turn->start_ns;
    s->to_ns[dir] = turn->start_ns + turn->busy_ns;
}

static void event_add(struct simmover *m, struct simulated *s, uint64_t at_ns) {
    heap_push(&m->events, at_ns, m->begun++, s);
}

static bool has_leg(const struct simulated *s, enum kvf_dir dir) {
    return s->t.leg[dir].tier >= 0;
}

static void write_served(struct simmover *m, struct simulated *s, const struct channels_turn *turn) {
    struct transfer_leg *read = &s->t.leg[KVF_DIR_READ], *write = &s->t.leg[KVF_DIR_WRITE];
    leg_served(m, s, KVF_DIR_WRITE, turn);
    uint64_t last_ns =
        write->kept ? 0 : chunk_ns(m, s, KVF_DIR_WRITE) + m->channels[write->tier]->speed.latency_ns;
    if (has_leg(s, KVF_DIR_READ)) write->end_ns = kvf_max(write->end_ns, read->end_ns + last_ns);
    event_add(m, s, write->end_ns);
}

static void write_begin(struct simmover *m, struct simulated *s, uint64_t now_ns) {
    struct channels_turn turn;
    bool served = leg_begin(m, s, KVF_DIR_WRITE, now_ns, &turn);
    if (has_leg(s, KVF_DIR_READ)) {
        s->read_open = true;
        s->read_tie = m->begun;
        event_add(m, s, s->t.leg[KVF_DIR_READ].end_ns); /* not after the write's, and before it on the heap */
    }
    s->reading = false;
    if (served) write_served(m, s, &turn);
}

static void read_served(struct simmover *m, struct simulated *s, const struct channels_turn *turn) {
    leg_served(m, s, KVF_DIR_READ, turn);
    s->reading = has_leg(s, KVF_DIR_WRITE);
    uint64_t latency_ns = m->channels[s->t.leg[KVF_DIR_READ].tier]->speed.latency_ns;
    if (s->reading)
        event_add(m, s, turn->start_ns + chunk_ns(m, s, KVF_DIR_READ) + latency_ns);
    else
        event_add(m, s, s->t.leg[KVF_DIR_READ].end_ns);
}

/* It has all it needs. */
static void operation_begin(struct simmover *m, struct simulated *s, uint64_t now_ns) {
    struct channels_turn turn;
    s->t.line_ns = now_ns - s->t.issue_ns;
    if (!has_leg(s, KVF_DIR_READ))
        write_begin(m, s, now_ns);
    else if (leg_begin(m, s, KVF_DIR_READ, now_ns, &turn))
        read_served(m, s, &turn);
}

/* ---- the line ---- */

static struct pool *pool_of(struct simmover *m, const struct simulated *s) {
    int read = s->t.leg[KVF_DIR_READ].tier, write = s->t.leg[KVF_DIR_WRITE].tier;
    if (read == KVF_TIER_NVME || write == KVF_TIER_NVME) return &m->pool[POOL_STAGED];
    if (read == KVF_TIER_CPU || write == KVF_TIER_CPU) return &m->pool[POOL_COPIES];
    return NULL;
}

static void line_join(struct simulated *s) {
    *(s->pool->last ? &s->pool->last->next : &s->pool->first) = s;
    s->pool->last = s;
}

static struct simulated *line_first(struct pool *p) {
    struct simulated *s = p->first;
    p->first = s->next;
    if (!p->first) p->last = NULL;
    s->next = NULL;
    return s;
}

/* Call it before what is left changes. */
static void pool_count(struct simmover *m, struct pool *p, uint64_t now_ns) {
    struct counters *c = m->setup.counters;
    uint64_t used = (p->all - p->left) * (now_ns - p->since_ns) / p->all;
    counters_add(p == &m->pool[POOL_COPIES] ? &c->copying_ns : &c->staging_ns, used);
    p->since_ns = now_ns;
}

static void pool_give(struct simmover *m, struct simulated *s, uint64_t now_ns) {
    struct pool *p = s->pool;
    if (!p) return;
    pool_count(m, p, now_ns);
    p->left += s->takes;
    while (p->first && p->first->takes <= p->left) {
        struct simulated *next = line_first(p);
        p->left -= next->takes;
        operation_begin(m, next, now_ns);
    }
}

/* A read of a slower tier goes on to the gpu where that is its target. */
static bool op_lands(const struct simmover *m, const struct cache_op *op) {
    return m->setup.scenario->cache.read_target == KVF_READ_TARGET_GPU && op->from > KVF_TIER_GPU &&
           op->to < 0 && m->setup.tiers[KVF_TIER_GPU];
}

void simmover_begin(struct simmover *m, struct cache_op *op) {
    if (crew_take(m->crew, op)) {
        crew_begin(m->crew, op);
        return;
    }
    struct simulated *s = simulated_new(m);
    uint64_t io_size = m->setup.scenario->nvme.io_size, now_ns = run_clock_now(m->setup.clock);
    s->t.op = op;
    s->t.issue_ns = now_ns;
    s->t.landing = op_lands(m, op);
    s->t.leg[KVF_DIR_READ].tier = op->from;
    s->t.leg[KVF_DIR_WRITE].tier = s->t.landing ? KVF_TIER_GPU : op->to;
    /* the write of a move begins with its first chunk */
    s->t.leg[op->from >= 0 ? KVF_DIR_READ : KVF_DIR_WRITE].start_ns = now_ns;
    s->pool = pool_of(m, s);
    bool staged = s->pool == &m->pool[POOL_STAGED];
    s->takes = staged ? (uint32_t)kvf_min((op->bytes + io_size - 1) / io_size, m->setup.buffers) : 1;
    if (s->pool && (s->pool->first || s->pool->left < s->takes)) {
        line_join(s);
        return;
    }
    if (s->pool) {
        pool_count(m, s->pool, now_ns);
        s->pool->left -= s->takes;
    }
    operation_begin(m, s, now_ns);
}

/* ---- ends ---- */

static void simulated_end(struct simmover *m, struct simulated *s, bool abandoned) {
    m->setup.done(m->setup.ctx, &s->t, abandoned, "");
    spares_give(&m->spare, s);
}

/* Of a move. Its bytes count when all of it is complete. */
static void read_end(struct simmover *m, struct simulated *s) {
    s->read_open = false;
    at_device(m, s, KVF_DIR_READ, false);
}

static void operation_end(struct simmover *m, struct simulated *s) {
    for (int d = 0; d < KVF_DIRS; d++) {
        struct transfer_leg *leg = &s->t.leg[d];
        if (leg->tier < 0) continue;
        leg->device_ns = leg->end_ns - leg->since_ns;
        leg->done_bytes = s->t.op->bytes;
        if (d == KVF_DIR_WRITE || s->t.leg[KVF_DIR_WRITE].tier < 0) at_device(m, s, (enum kvf_dir)d, false);
        if (leg->kept) continue;
        counters_add(&m->setup.counters->io[leg->tier][d][transfer_cause(&s->t, (enum kvf_dir)d)].bytes,
                     leg->done_bytes);
    }
    transfer_record(&s->t, m->setup.counters, m->caps, KVF_VERIFY_NONE); /* there is nothing to verify */
    pool_give(m, s, run_clock_now(m->setup.clock));
    simulated_end(m, s, false);
}

/* Nothing of it was read. */
static void operation_lost(struct simmover *m, struct simulated *s) {
    s->t.error = ENODATA;
    s->t.error_dir = KVF_DIR_READ;
    at_device(m, s, KVF_DIR_READ, false);
    counters_add(&m->setup.counters->lost[s->t.leg[KVF_DIR_READ].tier], 1);
    pool_give(m, s, run_clock_now(m->setup.clock));
    simulated_end(m, s, false);
}

static struct simulated *asked_take(struct simmover *m) {
    struct simulated *s = m->asked_first;
    m->asked_first = s->next;
    if (!m->asked_first) m->asked_last = NULL;
    s->next = NULL;
    return s;
}

void simmover_answered(struct simmover *m, uint64_t number, const struct mover_turn *turn) {
    if (crew_answered(m->crew, number, turn)) return;
    if (!m->asked_first || m->asked_first->number != number) return;
    struct simulated *s = asked_take(m);
    const struct channels *c = m->channels[s->t.leg[s->asks].tier];
    struct channels_turn at = {turn->start_ns, turn->complete_ns,
                               channels_busy_ns(c, s->asks, s->t.op->bytes)};
    if (s->asks == KVF_DIR_READ && turn->how == MOVER_LOST) {
        operation_lost(m, s);
    } else if (s->asks == KVF_DIR_READ) {
        read_served(m, s, &at);
    } else {
        s->t.leg[KVF_DIR_WRITE].kept = turn->how != MOVER_TURN;
        s->t.dropped = turn->how == MOVER_LOST;
        write_served(m, s, &at);
    }
}

/* Mostly none is due. */
KVF_APART static void events_due(struct simmover *m, uint64_t now_ns) {
    struct heap_item item;
    while (heap_min_key(&m->events) <= now_ns && heap_pop(&m->events, &item)) {
        struct simulated *s = item.item;
        if (s->reading)
            write_begin(m, s, now_ns);
        else if (s->read_open)
            read_end(m, s);
        else
            operation_end(m, s);
    }
}

bool simmover_pump(struct simmover *m) {
    uint64_t now_ns = run_clock_now(m->setup.clock);
    bool any = m->crew && crew_pump(m->crew);
    if (heap_min_key(&m->events) > now_ns) return any;
    events_due(m, now_ns);
    return true;
}

static void pools_fill(struct simmover *m) {
    uint64_t workers = m->setup.scenario->engine.workers;
    m->pool[POOL_COPIES].all = m->pool[POOL_COPIES].left = workers;
    m->pool[POOL_STAGED].all = m->pool[POOL_STAGED].left = workers * m->setup.buffers;
}

void simmover_stop(struct simmover *m) {
    struct heap_item item;
    if (m->crew) crew_stop(m->crew);
    while (heap_pop(&m->events, &item)) {
        struct simulated *s = item.item;
        if (s->read_open) {
            read_end(m, s); /* its other event is still to come */
            continue;
        }
        at_device(m, s, s->reading || !has_leg(s, KVF_DIR_WRITE) ? KVF_DIR_READ : KVF_DIR_WRITE, false);
        simulated_end(m, s, true);
    }
    while (m->asked_first) {
        struct simulated *s = asked_take(m);
        at_device(m, s, s->asks, false);
        simulated_end(m, s, true);
    }
    for (int p = 0; p < POOLS; p++)
        while (m->pool[p].first) simulated_end(m, line_first(&m->pool[p]), true);
    pools_fill(m);
}

uint64_t simmover_next_ns(const struct simmover *m) {
    uint64_t next = heap_min_key(&m->events);
    return m->crew ? kvf_min(next, crew_next_ns(m->crew)) : next;
}

uint64_t simmover_used_ns(const struct simmover *m, int tier, enum kvf_dir dir) {
    const struct channels *c = m->channels[tier];
    uint64_t used = atomic_load(&c->taken_ns[dir]), now_ns = run_clock_now(m->setup.clock);
    if (tier == KVF_TIER_REMOTE && m->setup.ask) return 0;
    if (crew_measured(m->crew, tier)) return crew_used_ns(m->crew, tier, dir);
    if (m->crew) return channels_used_ns(c, dir, now_ns); /* others use them, too */
    for (uint64_t i = 0; i < m->events.count; i++) {
        const struct simulated *s = m->events.items[i].item;
        bool counted = s->read_open && m->events.items[i].tie == s->read_tie;
        if (s->t.leg[dir].tier != tier || counted) continue;
        uint64_t begun = kvf_max(s->from_ns[dir], now_ns);
        if (s->to_ns[dir] > begun) used -= s->to_ns[dir] - begun;
    }
    return used / c->speed.channels;
}

uint64_t simmover_memory_used_ns(const struct simmover *m, enum kvf_dir dir) {
    return crew_memory_used_ns(m->crew, dir);
}

struct simmover *simmover_open(const struct mover_setup *setup) {
    struct simmover *m = mem_zalloc(1, sizeof *m);
    m->setup = *setup;
    for (int t = 0; t < KVF_TIERS; t++) {
        if (!setup->tiers[t]) continue;
        m->caps[t] = setup->tiers[t]->ops->caps(setup->tiers[t]);
        m->channels[t] = t == KVF_TIER_REMOTE && setup->store ? setup->store : &m->own[t];
        if (m->channels[t] != &m->own[t]) continue;
        channels_init(&m->own[t], &setup->scenario->tier[t].emulation);
        m->own[t].alone = true;
    }
    m->crew = crew_open(setup, m->channels);
    pools_fill(m);
    return m;
}

void simmover_close(struct simmover *m) {
    if (!m) return;
    spares_free(&m->spare);
    crew_close(m->crew);
    heap_free(&m->events);
    free(m);
}
