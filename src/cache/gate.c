#include "cache/state.h"

struct busy *gate_busy_of(struct cache *c, struct entry *e) {
    if (e->busy == BUSY_NONE) {
        e->busy = pool_busy_take(&c->busies);
        if (e->state == ENTRY_RESIDENT) c->tier[e->seat].idle -= e->bytes;
    }
    return &c->busies.at[e->busy];
}

void gate_busy_settle(struct cache *c, uint32_t entry) {
    struct entry *e = cache_entry(c, entry);
    if (e->busy == BUSY_NONE) return;
    struct busy *b = &c->busies.at[e->busy];
    if (b->pins || b->first) return;
    pool_busy_give(&c->busies, e->busy);
    e->busy = BUSY_NONE;
    if (e->state != ENTRY_RESIDENT) return;
    c->tier[e->seat].idle += e->bytes;
    if (e->parked) seat_unpark(c, entry);
}

void gate_ready_push(struct cache *c, struct cache_op *op) {
    op->state = CACHE_OP_READY;
    op->next = NULL;
    if (c->ready_tail) {
        c->ready_tail->next = op;
    } else {
        c->ready_head = op;
    }
    c->ready_tail = op;
}

void gate_ready_refuse(struct cache *c, struct cache_op *op) {
    op->failed_wait = true;
    gate_ready_push(c, op);
}

static inline bool gate_passes(const struct cache *c, struct cache_op *op) {
    const struct cache_tier *t = &c->tier[op->to];
    if (t->used + t->started + op->bytes > t->usable) return false;
    if (op->kind != CACHE_OP_MOVE) return true;
    /* Its entry may still be on its way to where this move starts from. */
    return c->busies.at[cache_entry(c, op->entry)->busy].first == op_slot(op);
}

void gate_place_take(struct cache *c, struct cache_op *op) {
    struct cache_tier *t = &c->tier[op->to];
    if (op->kind == CACHE_OP_MOVE) op->from_place = cache_entry(c, op->entry)->place;
    op->to_place = c->config.alloc(c->config.ctx, op->to, op->bytes);
    op_slot(op)->started = true;
    t->started += op->bytes;
    t->physical += op->bytes;
}

void gate_leave(struct cache *c, struct cache_op *op) {
    pool_list_remove(&c->tier[op->to].gate, op);
    c->gated--;
}

static void gate_open(struct cache *c, int tier) {
    struct op_list *gate = &c->tier[tier].gate;
    while (gate->head && gate_passes(c, gate->head)) {
        struct cache_op *op = gate->head;
        gate_leave(c, op);
        gate_place_take(c, op);
        gate_ready_push(c, op);
    }
}

void gate_enter(struct cache *c, struct cache_op *op) {
    struct op_list *gate = &c->tier[op->to].gate;
    if (!gate->head && gate_passes(c, op)) {
        gate_place_take(c, op);
        gate_ready_push(c, op);
        return;
    }
    op->state = CACHE_OP_GATED;
    pool_list_push(gate, op);
    c->gated++;
    gate_open(c, op->to);
}

void gate_open_all(struct cache *c) {
    for (int t = KVF_TIERS - 1; t >= 0 && c->gated > 0; t--)
        if (c->tier[t].gate.head) gate_open(c, t);
}

static void place_drop(struct cache *c, int tier, uint64_t place, uint64_t bytes) {
    c->tier[tier].physical -= bytes;
    c->config.drop(c->config.ctx, tier, place, bytes);
}

void gate_place_return(struct cache *c, struct cache_op *op) {
    op_slot(op)->started = false;
    c->tier[op->to].started -= op->bytes;
    place_drop(c, op->to, op->to_place, op->bytes);
}

void gate_moved(const struct cache *c, struct cache_key key, int tier, bool stored) {
    if (c->config.moved) c->config.moved(c->config.ctx, key, tier, stored);
}

void gate_place_settle(struct cache *c, struct cache_op *op) {
    struct cache_tier *t = &c->tier[op->to];
    gate_moved(c, op->key, op->to, true);
    op_slot(op)->started = false;
    t->started -= op->bytes;
    t->used += op->bytes;
    t->entries++;
    c->stats.bytes_in[op->to] += op->bytes;
}

void gate_place_free(struct cache *c, int tier, uint64_t place, uint64_t bytes, bool counted) {
    struct cache_tier *t = &c->tier[tier];
    t->used -= bytes;
    t->entries--;
    if (counted) t->level -= bytes;
    c->stats.bytes_out[tier] += bytes;
    place_drop(c, tier, place, bytes);
}

void gate_place_leave(struct cache *c, struct entry *e, bool counted) {
    gate_moved(c, e->key, e->tier, false);
    struct busy *b = e->busy == BUSY_NONE ? NULL : &c->busies.at[e->busy];
    if (!b || b->pins == 0) {
        gate_place_free(c, e->tier, e->place, e->bytes, counted);
        return;
    }
    e->known = true;
    b->ghost = true;
    b->counted = counted;
    b->tier = e->tier;
    b->place = e->place;
    b->bytes = e->bytes;
    struct busy left = *b;
    b->first = b->last = NULL;
    /* The readers stay with the place; the moves to come, if any, go on with the entry. */
    e->busy = pool_busy_take(&c->busies);
    struct busy *fresh = &c->busies.at[e->busy];
    fresh->plan = left.plan;
    fresh->first = left.first;
    fresh->last = left.last;
}
