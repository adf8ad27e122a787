#include "cache/state.h"

#include "base/buf.h"

/* A plan in the making is a list of steps: an entry falls from one tier to another, or out. Steps
 * change orders, seats and levels at once, so that each sees what the ones before it did, and are
 * taken back last first when the plan comes to nothing. Nothing else changes before the commit.
 *
 * An entry that fell in this plan and then falls out of the terminal tier leaves the cache from where
 * its bytes are: none of its moves is carried out. */

static bool tier_holds(const struct cache *c, int tier, uint64_t bytes) {
    return c->tier[tier].on && bytes <= c->tier[tier].usable;
}

static bool tier_has_room(const struct cache *c, int tier, uint64_t bytes) {
    return tier_holds(c, tier, bytes) && c->tier[tier].level + bytes <= c->tier[tier].usable;
}

static int tier_below(const struct cache *c, int tier, uint64_t bytes) {
    for (int t = tier + 1; t < KVF_TIERS; t++) {
        if (tier_holds(c, t, bytes)) return t;
    }
    return -1;
}

int plan_target(const struct cache *c, uint64_t bytes) {
    return tier_below(c, -1, bytes);
}

/* Spillover evicts in the deepest tier that can hold the entry at all. */
static int tier_deepest(const struct cache *c, uint64_t bytes) {
    int t = KVF_TIERS - 1;
    while (!tier_holds(c, t, bytes)) t--;
    return t;
}

/* Read, written or moved by somebody else. What this plan has moved is an ordinary candidate. */
static bool entry_barred(const struct cache *c, uint32_t entry) {
    uint32_t b = cache_entry(c, entry)->busy;
    return b != BUSY_NONE && c->busies.at[b].plan != c->plan + 1;
}

static uint32_t victim_find(struct cache *c, int tier) {
    struct cache_tier *t = &c->tier[tier];
    uint32_t i = t->skip == ENTRY_NONE ? t->policy->first(t->order) : t->policy->next(t->order, t->skip);
    while (i != POLICY_END && entry_barred(c, i)) {
        t->skip = i;
        i = t->policy->next(t->order, i);
    }
    return i;
}

static void step_push(struct cache *c, struct plan_step step) {
    if (c->step_count == c->step_cap) {
        c->step_cap = c->step_cap ? 2 * c->step_cap : 256;
        c->steps = mem_realloc(c->steps, c->step_cap * sizeof *c->steps);
    }
    c->steps[c->step_count++] = step;
}

static void step_do(struct cache *c, uint32_t entry, int from, int to) {
    struct entry *e = cache_entry(c, entry);
    seat_leave(c, entry, from);
    c->tier[from].level -= e->bytes;
    if (to >= 0) {
        busy_of(c, e)->plan = c->plan + 1;
        seat_enter(c, entry, to);
        c->tier[to].level += e->bytes;
        c->tier[to].skip = ENTRY_NONE;
        e->seat = (uint8_t)to;
    }
    step_push(c, (struct plan_step){entry, (int8_t)from, (int8_t)to});
}

static void step_undo(struct cache *c, struct plan_step step) {
    struct entry *e = cache_entry(c, step.entry);
    if (step.to >= 0) {
        seat_leave(c, step.entry, step.to);
        c->tier[step.to].level -= e->bytes;
        e->seat = (uint8_t)step.from;
        if (e->seat == e->tier) busy_settle(c, e);
    }
    seat_enter(c, step.entry, step.from);
    c->tier[step.from].level += e->bytes;
}

static void plan_begin(struct cache *c) {
    c->step_count = 0;
    for (int t = 0; t < KVF_TIERS; t++) c->tier[t].skip = ENTRY_NONE;
}

static void plan_undo(struct cache *c) {
    while (c->step_count) step_undo(c, c->steps[--c->step_count]);
}

/* Lets victims fall, or drops them with `falls` false, until `bytes` more have room in the tier.
 * Recursion is as deep as there are tiers, and touches none above: the victim stays where it is
 * while the tier below makes room for it. */
static bool room_make(struct cache *c, int tier, uint64_t bytes, bool falls) {
    while (!tier_has_room(c, tier, bytes)) {
        uint32_t victim = victim_find(c, tier);
        if (victim == POLICY_END) return false;
        uint64_t size = cache_entry(c, victim)->bytes;
        int below = falls ? tier_below(c, tier, size) : -1;
        if (below >= 0 && !room_make(c, below, size, falls)) return false;
        step_do(c, victim, tier, below);
    }
    return true;
}

static void entry_evict(struct cache *c, uint32_t entry) {
    struct entry *e = cache_entry(c, entry);
    c->stats.evictions[e->tier]++;
    place_free(c, e->tier, e->place, e->bytes, false);
    index_remove(&c->index, entry);
    if (e->busy != BUSY_NONE) busy_give(&c->busies, e->busy);
    entry_give(&c->entries, entry);
}

static void op_commit(struct cache *c, struct cache_op *op) {
    op->seq = ++c->seq;
    gate_enter(c, op);
}

/* A planned move of an entry, behind those that it has already. */
static struct cache_op *move_make(struct cache *c, uint32_t entry, int from, int to, uint32_t worker) {
    struct entry *e = cache_entry(c, entry);
    struct op_slot *s = op_take(&c->ops);
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
    struct busy *b = busy_of(c, e);
    if (b->last) {
        b->last->chain = s;
    } else {
        b->first = s;
    }
    b->last = s;
    return &s->op;
}

/* Evictions first: they free their bytes at once. An entry that has left is ENTRY_FREE by then, and
 * the falls before its eviction are passed over. */
static void plan_commit(struct cache *c, uint32_t worker) {
    c->plan++;
    c->stats.decisions += 1 + c->step_count;
    for (uint32_t i = 0; i < c->step_count; i++) {
        if (c->steps[i].to < 0) entry_evict(c, c->steps[i].entry);
    }
    for (uint32_t i = 0; i < c->step_count; i++) {
        struct plan_step s = c->steps[i];
        if (s.to < 0 || cache_entry(c, s.entry)->state == ENTRY_FREE) continue;
        op_commit(c, move_make(c, s.entry, s.from, s.to, worker));
    }
}

/* The fastest tier that has room now, before `limit`; -1. */
static int tier_with_room(const struct cache *c, int limit, uint64_t bytes) {
    for (int t = 0; t < limit; t++) {
        if (tier_has_room(c, t, bytes)) return t;
    }
    return -1;
}

bool plan_write(struct cache *c, struct cache_op *op) {
    bool falls = c->config.placement != KVF_PLACEMENT_SPILLOVER;
    int to = falls ? plan_target(c, op->bytes) : tier_with_room(c, KVF_TIERS, op->bytes);
    if (to < 0) to = tier_deepest(c, op->bytes);
    plan_begin(c);
    if (!room_make(c, to, op->bytes, falls)) {
        plan_undo(c);
        return false;
    }
    c->tier[to].level += op->bytes;
    op->to = to;
    plan_commit(c, op->worker);
    op_commit(c, op);
    return true;
}

void plan_promotion(struct cache *c, uint32_t entry, uint32_t worker) {
    struct entry *e = cache_entry(c, entry);
    bool falls = c->config.placement != KVF_PLACEMENT_SPILLOVER;
    int from = e->tier, best = plan_target(c, e->bytes);
    if (best >= from) return;
    /* Spillover moves nothing out of the way, so only a tier with room will do. */
    int to = falls ? best : tier_with_room(c, from, e->bytes);
    plan_begin(c);
    busy_of(c, e)->plan = 0; /* not a victim of its own plan */
    if (to < 0 || c->tier[best].wait.head || !room_make(c, to, e->bytes, falls)) {
        plan_undo(c);
        busy_settle(c, e);
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
