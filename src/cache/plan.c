#include "cache/state.h"

#include "base/buf.h"

void plan_moves_add(struct cache *c, uint32_t worker) {
    if (worker >= c->movers) {
        c->moves = mem_realloc(c->moves, (worker + 1) * sizeof *c->moves);
        while (c->movers <= worker) c->moves[c->movers++] = 0;
    }
    c->moves[worker]++;
}

void plan_count_eviction(struct cache *c, struct cache_key key, int tier) {
    if (shared_is(c) && tier == KVF_TIER_REMOTE) return; /* the store counts its own */
    if ((copy_kept(c) && index_find(&c->index, key) != ENTRY_NONE) || shared_has(c, KVF_TIER_REMOTE, key)) {
        c->stats.copies_dropped[tier]++;
        return;
    }
    c->stats.evictions[tier]++;
    c->stats.chunk_evictions += cache_key_kind(key) == CACHE_KEY_CHUNK;
}

/* A plan in the making is a list of steps: an entry falls from one tier to another, or out. Steps
 * change orders, seats and levels at once, so that each sees what the ones before it did, and are
 * taken back last first when the plan comes to nothing. Nothing else changes before the commit, but
 * that busy entries in the way of the search are parked.
 *
 * An entry that only falls out of its tier is evicted at the commit. One that fell in this plan and
 * then falls out of a lower tier is hidden at the commit, carries its falls out, and is evicted from
 * the last tier that it reaches. */

bool plan_tier_holds(const struct cache *c, int tier, uint64_t bytes) {
    return c->tier[tier].on && bytes <= c->tier[tier].usable;
}

static bool tier_has_room(const struct cache *c, int tier, uint64_t bytes) {
    return plan_tier_holds(c, tier, bytes) && c->tier[tier].level + bytes <= c->tier[tier].usable;
}

static int tier_below(const struct cache *c, int tier, uint64_t bytes) {
    for (int t = tier + 1; t < KVF_TIERS; t++) {
        if (plan_tier_holds(c, t, bytes)) return t;
    }
    return -1;
}

int plan_target(const struct cache *c, uint64_t bytes) {
    return tier_below(c, c->top - 1, bytes);
}

/* Spillover evicts in the deepest tier that can hold the entry at all. */
static int tier_deepest(const struct cache *c, uint64_t bytes) {
    int t = KVF_TIERS - 1;
    while (!plan_tier_holds(c, t, bytes)) t--;
    return t;
}

/* Read, written or moved by somebody else. What this plan has moved is an ordinary candidate. */
static bool entry_barred(const struct cache *c, uint32_t entry) {
    uint32_t b = cache_entry(c, entry)->busy;
    return b != BUSY_NONE && c->busies.at[b].plan != c->plan + 1;
}

/* A hint, where an order is a list with the next victim on the right, as nearly all are: the entry of the one
 * after the next comes from memory while this one leaves, and the slot of the index of the next. */
static void victims_soon(const struct cache *c, uint32_t victim) {
    const struct policy_node *n = c->entries.nodes;
    uint32_t next = n[victim].right;
    if (next >= c->entries.top) return;
    uint32_t after = n[next].right;
    index_soon(&c->index, cache_entry(c, next)->key);
    if (after >= c->entries.top) return;
    mem_soon(cache_entry(c, after));
    mem_soon(&n[after]);
}

static uint32_t victim_find(struct cache *c, int tier, const struct cache_key *incoming) {
    struct cache_tier *t = &c->tier[tier];
    uint32_t i;
    while ((i = t->policy->first(t->order, incoming)) != POLICY_END) {
        if (extent_is(cache_entry(c, i))) return extent_take(c, i, cache_entry(c, i)->key);
        if (!entry_barred(c, i)) return i;
        seat_park(c, i);
    }
    return POLICY_END;
}

static void step_push(struct cache *c, struct plan_step step) {
    mem_room(c->steps, c->step_count, c->step_cap);
    c->steps[c->step_count++] = step;
}

static void candidate_counted(struct cache *c, uint32_t entry, int tier) {
    uint64_t bytes = cache_entry(c, entry)->bytes;
    c->tier[tier].level += bytes;
    c->tier[tier].idle += bytes;
}

static void candidate_leave(struct cache *c, uint32_t entry, int tier) {
    uint64_t bytes = cache_entry(c, entry)->bytes;
    seat_leave(c, entry, tier);
    c->tier[tier].level -= bytes;
    c->tier[tier].idle -= bytes;
}

/* An entry that falls gets its side record here and stays a candidate: it counts as idle where it
 * falls to, until the commit. */
static void step_do(struct cache *c, uint32_t entry, int from, int to) {
    struct entry *e = cache_entry(c, entry);
    candidate_leave(c, entry, from);
    struct plan_step step = {c->entries.nodes[entry], entry, (int8_t)from, (int8_t)to};
    if (to >= 0) {
        if (e->busy == BUSY_NONE) e->busy = pool_busy_take(&c->busies);
        c->busies.at[e->busy].plan = c->plan + 1;
        seat_enter_planned(c, entry, to);
        candidate_counted(c, entry, to);
        e->seat = (uint8_t)to;
    }
    step_push(c, step);
}

static void step_undo(struct cache *c, const struct plan_step *step) {
    struct entry *e = cache_entry(c, step->entry);
    if (step->to >= 0) {
        candidate_leave(c, step->entry, step->to);
        e->seat = (uint8_t)step->from;
        if (e->seat == e->tier) {
            pool_busy_give(&c->busies, e->busy);
            e->busy = BUSY_NONE;
        }
    }
    seat_restore(c, step->entry, step->from, &step->was);
    candidate_counted(c, step->entry, step->from);
}

static void plan_undo(struct cache *c) {
    while (c->step_count) step_undo(c, &c->steps[--c->step_count]);
}

/* Even if all that is idle went, as much as is idle would be free: what is not stays in the way. */
static bool room_possible(const struct cache *c, int tier, uint64_t bytes) {
    const struct cache_tier *t = &c->tier[tier];
    return t->level + bytes <= t->usable + t->idle;
}

/* Whether that tier is a store that is stopped. */
static bool is_gone(const struct cache *c, int tier) {
    return tier == KVF_TIER_REMOTE && c->config.shared && c->config.shared->stopped;
}

/* Where a victim goes; -1: out of the cache. */
static int fall_to(const struct cache *c, int tier, const struct entry *e, bool falls) {
    int below = falls ? tier_below(c, tier, e->bytes) : -1;
    if (is_gone(c, below)) return -1;
    return below >= 0 && shared_has(c, below, e->key) ? -1 : below;
}

/* Lets victims fall, or drops them with `falls` false, until `bytes` more have room in the tier.
 * Recursion is as deep as there are tiers, and touches none above: the victim stays where it is
 * while the tier below makes room for it. */
static bool room_make(struct cache *c, int tier, uint64_t bytes, const struct cache_key *incoming,
                      bool falls) {
    if (!room_possible(c, tier, bytes)) return false;
    while (!tier_has_room(c, tier, bytes)) {
        uint32_t victim = victim_find(c, tier, incoming);
        if (victim == POLICY_END) return false;
        const struct entry *e = cache_entry(c, victim);
        victims_soon(c, victim);
        int below = fall_to(c, tier, e, falls);
        if (below >= 0 && !room_make(c, below, e->bytes, &e->key, falls)) return false;
        step_do(c, victim, tier, below);
    }
    return true;
}

void plan_evict(struct cache *c, uint32_t entry) {
    const struct entry *e = cache_entry(c, entry);
    plan_count_eviction(c, e->key, e->tier);
    gate_moved(c, e->key, e->tier, false);
    gate_place_free(c, e->tier, e->place, e->bytes, false);
    pool_entry_give(&c->entries, entry);
}

static void op_commit(struct cache *c, struct cache_op *op) {
    op->seq = ++c->seq;
    gate_enter(c, op);
}

/* A planned move of an entry, behind those that it has already. */
static struct cache_op *move_make(struct cache *c, uint32_t entry, int from, int to, uint32_t worker) {
    struct entry *e = cache_entry(c, entry);
    struct op_slot *s = pool_op_take(&c->ops);
    s->op.kind = CACHE_OP_MOVE;
    s->op.cause = to > from ? KVF_CAUSE_DEMOTION : KVF_CAUSE_PROMOTION;
    s->op.from = from;
    s->op.to = to;
    s->op.key = e->key;
    s->op.generation = e->generation;
    s->op.bytes = e->bytes;
    s->op.entry = entry;
    s->op.worker = worker;
    s->op.rank = e->access;
    plan_moves_add(c, worker);
    struct busy *b = gate_busy_of(c, e);
    if (b->last) {
        b->last->chain = s;
    } else {
        b->first = s;
    }
    b->last = s;
    return &s->op;
}

/* Falling out of the cache: nobody finds the entry from now on. It goes at once, unless it has falls
 * to do before. */
static void step_evict(struct cache *c, uint32_t entry) {
    struct entry *e = cache_entry(c, entry);
    index_remove(&c->index, entry);
    if (e->busy == BUSY_NONE) {
        plan_evict(c, entry);
    } else {
        e->state = ENTRY_LEAVING;
    }
}

static void step_fall(struct cache *c, const struct plan_step *step, uint32_t worker) {
    const struct entry *e = cache_entry(c, step->entry);
    bool last = e->state == ENTRY_RESIDENT && step->to == e->seat;
    if (last) c->tier[step->to].idle -= e->bytes;
    op_commit(c, move_make(c, step->entry, step->from, step->to, worker));
}

/* Evictions first: those from where they stand free their bytes at once. */
static void plan_commit(struct cache *c, uint32_t worker) {
    c->plan++;
    c->stats.decisions += 1 + c->step_count;
    for (uint32_t i = 0; i < c->step_count; i++) seat_commit(c, &c->steps[i]);
    for (uint32_t i = 0; i < c->step_count; i++) {
        const struct plan_step *step = &c->steps[i];
        if (step->to >= 0) continue;
        c->stats.outage_dropped += c->config.shared && c->config.placement == KVF_PLACEMENT_WATERFALL &&
                                   is_gone(c, tier_below(c, step->from, cache_entry(c, step->entry)->bytes));
        step_evict(c, step->entry);
    }
    for (uint32_t i = 0; i < c->step_count; i++) {
        if (c->steps[i].to >= 0) step_fall(c, &c->steps[i], worker);
    }
}

/* The fastest tier that has room now, before `limit`; -1. */
static int tier_with_room(const struct cache *c, int limit, uint64_t bytes) {
    for (int t = c->top; t < limit; t++) {
        if (tier_has_room(c, t, bytes)) return t;
    }
    return -1;
}

static bool spills(const struct cache *c) {
    return c->config.placement == KVF_PLACEMENT_SPILLOVER;
}

int plan_below(const struct cache *c, const struct cache_op *write) {
    return spills(c) ? -1 : tier_below(c, write->at, write->bytes);
}

bool plan_write(struct cache *c, struct cache_op *op) {
    bool falls = c->config.placement == KVF_PLACEMENT_WATERFALL;
    int to = spills(c) ? tier_with_room(c, KVF_TIERS, op->bytes) : op->at;
    if (to < 0) to = tier_deepest(c, op->bytes);
    c->step_count = 0;
    if (!room_make(c, to, op->bytes, &op->key, falls)) {
        plan_undo(c);
        return false;
    }
    c->tier[to].level += op->bytes;
    op->to = to;
    c->stats.room_inline += c->step_count > 0;
    relief_due(c, op->worker);
    plan_commit(c, op->worker);
    op_commit(c, op);
    return true;
}

bool plan_room(struct cache *c, int tier, const struct entry *incoming) {
    c->step_count = 0;
    if (!room_make(c, tier, incoming->bytes, &incoming->key, false)) {
        plan_undo(c);
        return false;
    }
    c->tier[tier].level += incoming->bytes;
    plan_commit(c, 0);
    return true;
}

bool plan_relief(struct cache *c, int tier, uint32_t worker) {
    uint32_t victim = victim_find(c, tier, NULL);
    if (victim == POLICY_END) return false;
    const struct entry *e = cache_entry(c, victim);
    bool falls = c->config.placement == KVF_PLACEMENT_WATERFALL;
    int below = fall_to(c, tier, e, falls);
    c->step_count = 0;
    if (below >= 0 && !room_make(c, below, e->bytes, &e->key, falls)) {
        plan_undo(c);
        return false;
    }
    step_do(c, victim, tier, below);
    plan_commit(c, worker);
    c->stats.room_background++;
    return true;
}

bool plan_promotion_due(const struct cache *c, const struct entry *e) {
    if (c->config.promotion == KVF_PROMOTION_SECOND_HIT) return e->hits == HITS_MAX;
    return c->config.promotion == KVF_PROMOTION_ON_HIT;
}

void plan_promotion(struct cache *c, uint32_t entry, uint32_t worker) {
    struct entry *e = cache_entry(c, entry);
    bool falls = !spills(c);
    int from = e->tier, best = plan_target(c, e->bytes);
    if (best >= from) return;
    /* Spillover moves nothing out of the way, so only a tier with room will do. */
    int to = falls ? best : tier_with_room(c, from, e->bytes);
    c->step_count = 0;
    gate_busy_of(c, e)->plan = 0; /* not a victim of its own plan */
    if (to < 0 || c->tier[best].wait.head || !room_make(c, to, e->bytes, &e->key, falls)) {
        plan_undo(c);
        gate_busy_settle(c, entry);
        c->stats.promotions_skipped++;
        return;
    }
    plan_commit(c, worker);
    seat_leave(c, entry, from);
    seat_enter(c, entry, to);
    e->seat = (uint8_t)to;
    c->tier[to].level += e->bytes;
    op_commit(c, move_make(c, entry, from, to, worker));
}
