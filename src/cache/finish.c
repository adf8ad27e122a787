#include "cache/state.h"

/* Ends of operations. A move changes where its entry is; the entry may have more moves to come, may
 * be read at the place that it leaves, and may have been dropped meanwhile. */

/* Takes the last planned move of an entry back, as if it had not been planned. */
static void move_unplan(struct cache *c, struct entry *e, struct op_slot *s) {
    struct busy *b = &c->busies.at[e->busy];
    struct op_slot *before = NULL;
    for (struct op_slot *at = b->first; at != s; at = at->chain) before = at;
    if (before) {
        before->chain = NULL;
    } else {
        b->first = NULL;
    }
    b->last = before;
    c->tier[s->op.to].level -= e->bytes;
    if (move_falls(&s->op)) c->tier[s->op.from].level += e->bytes;
    if (e->state == ENTRY_RESIDENT) {
        seat_leave(c, s->op.entry, s->op.to);
        seat_enter(c, s->op.entry, s->op.from);
    }
    e->seat = (uint8_t)s->op.from;
}

/* Takes back all moves behind `keep` (NULL: all that have not started), last first. They still go to
 * the caller, as failed_wait and without an entry: every operation comes out once. */
static void moves_cut(struct cache *c, struct entry *e, const struct op_slot *keep) {
    while (e->busy != BUSY_NONE) {
        struct op_slot *s = c->busies.at[e->busy].last;
        if (!s || s == keep || s->started) return;
        move_unplan(c, e, s);
        if (s->op.state == CACHE_OP_GATED) {
            gate_leave(c, &s->op);
            gate_ready_refuse(c, &s->op);
        }
        s->detached = true;
    }
}

/* From now on nobody finds it. */
static void entry_hide(struct cache *c, uint32_t i) {
    struct entry *e = cache_entry(c, i);
    if (e->busy == BUSY_NONE) c->tier[e->seat].idle -= e->bytes;
    seat_leave(c, i, e->seat);
    index_remove(&c->index, i);
    e->state = ENTRY_DOOMED;
}

/* The end of a hidden entry without moves. fell: its bytes had been counted as leaving; they stay so
 * although readers may hold the place a little longer. */
static void entry_bury(struct cache *c, uint32_t i, bool fell) {
    struct entry *e = cache_entry(c, i);
    if (fell) c->tier[e->tier].level -= e->bytes;
    gate_place_leave(c, e, !fell);
    gate_busy_settle(c, i);
    pool_entry_give(&c->entries, i);
}

void finish_drop(struct cache *c, uint32_t i) {
    struct entry *e = cache_entry(c, i);
    struct op_slot *first = e->busy == BUSY_NONE ? NULL : c->busies.at[e->busy].first;
    bool fell = first && move_falls(&first->op);
    entry_hide(c, i);
    moves_cut(c, e, NULL);
    if (e->busy == BUSY_NONE || !c->busies.at[e->busy].first) {
        entry_bury(c, i, fell);
        return;
    }
    /* A move that has started cannot be called back; its end buries the entry. Where it goes to
     * nothing will stay, so the bytes may be given away; a gate holds them until that end. */
    c->tier[e->seat].level -= e->bytes;
}

/* The source of a read or a copy is held no more. */
static void finish_pin_release(struct cache *c, struct cache_op *op) {
    uint32_t pinned = op_slot(op)->busy;
    struct busy *b = &c->busies.at[pinned];
    b->pins--;
    if (!b->ghost) {
        gate_busy_settle(c, op->entry);
    } else if (b->pins == 0) {
        gate_place_free(c, b->tier, b->place, b->bytes, b->counted);
        pool_busy_give(&c->busies, pinned);
    }
}

void finish_read(struct cache *c, struct cache_op *op, enum cache_outcome outcome, bool drop_entry) {
    const struct entry *e = cache_entry(c, op->entry);
    finish_pin_release(c, op);
    if (op_slot(op)->copy != ENTRY_NONE) copy_finish(c, op, outcome);
    /* The entry's number may belong to another one by now; generations are unique. */
    bool there = e->state == ENTRY_RESIDENT && e->generation == op->generation;
    if (!((outcome == CACHE_FAILED && drop_entry) || outcome == CACHE_LOST) || !there) return;
    if (copy_kept(c)) copy_drop(c, op->key, false);
    finish_drop(c, op->entry);
}

void finish_write(struct cache *c, struct cache_op *op, enum cache_outcome outcome) {
    struct entry *e = cache_entry(c, op->entry);
    struct busy *b = &c->busies.at[e->busy];
    bool done = outcome == CACHE_DONE && op_slot(op)->started;
    wait_wake(c, &b->waiters);
    b->first = b->last = NULL;
    if (done) {
        gate_place_settle(c, op);
        e->place = op->to_place;
        e->tier = e->seat = (uint8_t)op->to;
        e->state = ENTRY_RESIDENT;
        seat_enter(c, op->entry, op->to);
        gate_busy_settle(c, op->entry);
        return;
    }
    gate_busy_settle(c, op->entry);
    if (op_slot(op)->started) gate_place_return(c, op);
    if (op->to >= 0) c->tier[op->to].level -= op->bytes;
    index_remove(&c->index, op->entry);
    pool_entry_give(&c->entries, op->entry);
}

static void move_arrive(struct cache *c, struct cache_op *op) {
    struct entry *e = cache_entry(c, op->entry);
    struct busy *b = &c->busies.at[e->busy];
    b->first = op_slot(op)->chain;
    if (!b->first) b->last = NULL;
    gate_place_settle(c, op);
    gate_place_leave(c, e, !move_falls(op));
    e->tier = (uint8_t)op->to;
    e->place = op->to_place;
    e->hits = 0;
    gate_busy_settle(c, op->entry);
    if (move_falls(op)) {
        c->stats.demotions[op->from]++;
    } else {
        c->stats.promotions[op->from]++;
    }
    if (e->state == ENTRY_LEAVING && e->busy == BUSY_NONE) plan_evict(c, op->entry);
}

/* A fall of a leaving entry did not take place: it leaves from the last tier that it reaches. */
static void leaving_cut(struct cache *c, uint32_t i) {
    struct entry *e = cache_entry(c, i);
    c->tier[e->seat].level -= e->bytes;
    gate_busy_settle(c, i);
    if (e->busy == BUSY_NONE) plan_evict(c, i);
}

void finish_move(struct cache *c, struct cache_op *op, enum cache_outcome outcome) {
    struct op_slot *s = op_slot(op);
    if (s->detached) return;
    if (s->copy != ENTRY_NONE) {
        c->stats.move_errors += outcome == CACHE_FAILED;
        finish_pin_release(c, op);
        copy_finish(c, op, outcome);
        return;
    }
    struct entry *e = cache_entry(c, op->entry);
    if (outcome == CACHE_DONE && e->state != ENTRY_DOOMED) {
        move_arrive(c, op);
        return;
    }
    if (s->started) gate_place_return(c, op);
    if (e->state != ENTRY_RESIDENT) c->tier[e->seat].level += op->bytes; /* taken off when it was hidden */
    if (outcome == CACHE_FAILED || outcome == CACHE_LOST) {
        c->stats.move_errors += outcome == CACHE_FAILED;
        if (e->state == ENTRY_RESIDENT) entry_hide(c, op->entry);
        e->state = ENTRY_DOOMED;
    }
    moves_cut(c, e, s);
    move_unplan(c, e, s);
    if (e->state == ENTRY_DOOMED) {
        entry_bury(c, op->entry, move_falls(op));
    } else if (e->state == ENTRY_LEAVING) {
        leaving_cut(c, op->entry);
    } else {
        c->uneven = true;
        gate_busy_settle(c, op->entry);
    }
}
