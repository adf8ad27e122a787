#include "cache/state.h"

/* Placement inclusive. What is written, or loaded from below, is copied to the slower tiers in the
 * background, tier by tier; each copy is an entry of its own in the order of its tier. So room is made
 * by dropping the coldest copy, at once, and nothing ever falls: what is planned for a tier is what is in
 * it and on its way into it, every operation that is planned starts, and no gate ever holds one back.
 *
 *   COPYING ──copied──► RESIDENT ──victim, dropped──► gone
 *      └─the key is dropped──► UNWANTED ──the copying has ended──► gone
 *
 * While it is copied the source is pinned like an entry that is read, so a key with a copy under way has
 * a resident one. An operation that copies is about the source; its slot names the copy. */

uint32_t copy_find(const struct cache *c, struct cache_key key) {
    uint32_t at[KVF_TIERS], best = ENTRY_NONE;
    unsigned n = index_find_all(&c->index, key, at);
    for (unsigned k = 0; k < n; k++) {
        const struct entry *e = cache_entry(c, at[k]);
        if (e->state == ENTRY_WRITING) return at[k]; /* then it is the only one */
        if (e->state != ENTRY_RESIDENT) continue;
        if (best == ENTRY_NONE || e->tier < cache_entry(c, best)->tier) best = at[k];
    }
    return best;
}

/* The entries of a key by tier; false while the key is being written. */
static bool copies_by_tier(const struct cache *c, struct cache_key key, uint32_t by_tier[KVF_TIERS]) {
    uint32_t at[KVF_TIERS];
    unsigned n = index_find_all(&c->index, key, at);
    for (int t = 0; t < KVF_TIERS; t++) by_tier[t] = ENTRY_NONE;
    for (unsigned k = 0; k < n; k++) {
        const struct entry *e = cache_entry(c, at[k]);
        if (e->state == ENTRY_WRITING) return false;
        by_tier[e->tier] = at[k];
    }
    return true;
}

/* Room for it is planned already. */
static void copy_begin(struct cache *c, struct cache_op *op, int to) {
    const struct entry *from = cache_entry(c, op->entry);
    uint32_t i = pool_entry_like(&c->entries, from);
    struct entry *copy = cache_entry(c, i);
    copy->access = from->access;
    copy->first = from->first;
    copy->generation = from->generation;
    if (c->entries.next_use) c->entries.next_use[i] = c->entries.next_use[op->entry];
    copy->tier = copy->seat = (uint8_t)to;
    copy->state = ENTRY_COPYING;
    entry_index(c, i);
    op_slot(op)->copy = i;
    op->to = to;
    gate_place_take(c, op);
}

/* Copies never wait, and overtake no write that does. */
static bool copy_fits(struct cache *c, int to, const struct entry *e) {
    return !c->tier[to].wait.head && plan_room(c, to, e);
}

/* Not before all reads of one hold of the lock are pinned: the room for one must not be made by dropping
 * another. Meanwhile the source may have been dropped. */
void copy_load(struct cache *c, struct cache_op *op) {
    struct entry *e = cache_entry(c, op->entry);
    uint32_t at[KVF_TIERS];
    if (c->stopped || c->busies.at[op_slot(op)->busy].ghost || !plan_promotion_due(c, e)) return;
    int to = plan_target(c, e->bytes);
    if (to >= e->tier || !copies_by_tier(c, e->key, at) || at[to] != ENTRY_NONE) return;
    if (!copy_fits(c, to, e)) {
        c->stats.promotions_skipped++;
        return;
    }
    e->hits = 0;
    copy_begin(c, op, to);
}

static void copy_down(struct cache *c, uint32_t from, int to, uint32_t worker) {
    struct entry *e = cache_entry(c, from);
    struct cache_op *op = &pool_op_take(&c->ops)->op;
    c->stats.copies_begun++;
    op->kind = CACHE_OP_MOVE;
    op->cause = KVF_CAUSE_DEMOTION;
    op->from = e->tier;
    op->key = e->key;
    op->generation = e->generation;
    op->bytes = e->bytes;
    op->entry = from;
    op->worker = worker;
    op->rank = e->access;
    plan_moves_add(c, worker);
    op->seq = ++c->seq;
    gate_busy_of(c, e)->pins++;
    op_slot(op)->busy = e->busy;
    copy_begin(c, op, to);
    gate_ready_push(c, op);
}

void copy_spread(struct cache *c, struct cache_key key, uint32_t worker) {
    uint32_t at[KVF_TIERS], above = ENTRY_NONE;
    if (c->stopped || !copies_by_tier(c, key, at)) return;
    for (int t = 0; t < KVF_TIERS; t++) {
        if (at[t] != ENTRY_NONE) {
            above = at[t];
            continue;
        }
        if (above == ENTRY_NONE || !plan_tier_holds(c, t, cache_entry(c, above)->bytes)) continue;
        /* One that is on its way to the tier above is copied on when it is there. */
        if (cache_entry(c, above)->state != ENTRY_RESIDENT) return;
        if (copy_fits(c, t, cache_entry(c, above))) {
            copy_down(c, above, t, worker);
            return;
        }
        c->stats.copies_skipped++;
    }
}

void copy_finish(struct cache *c, struct cache_op *op, enum cache_outcome outcome) {
    uint32_t i = op_slot(op)->copy;
    struct entry *e = cache_entry(c, i);
    c->stats.copies_ended += op->to > op->from;
    if (outcome == CACHE_DONE && e->state == ENTRY_COPYING) {
        gate_place_settle(c, op);
        e->place = op->to_place;
        e->state = ENTRY_RESIDENT;
        seat_enter(c, i, op->to);
        c->tier[op->to].idle += e->bytes;
        if (op->to > op->from)
            c->stats.demotions[op->from]++;
        else
            c->stats.promotions[op->from]++;
        return;
    }
    gate_place_return(c, op);
    c->tier[op->to].level -= op->bytes;
    if (e->state == ENTRY_COPYING) index_remove(&c->index, i);
    pool_entry_give(&c->entries, i);
}

void copy_drop(struct cache *c, struct cache_key key, bool resident) {
    uint32_t at[KVF_TIERS];
    unsigned n = index_find_all(&c->index, key, at);
    for (unsigned k = 0; k < n; k++) {
        struct entry *e = cache_entry(c, at[k]);
        if (e->state == ENTRY_COPYING) {
            index_remove(&c->index, at[k]);
            e->state = ENTRY_UNWANTED;
        } else if (resident && e->state == ENTRY_RESIDENT) {
            finish_drop(c, at[k]);
        }
    }
}
