#include "cache/state.h"

/* Extents. Blocks of one context that were accessed one after the other stand side by side in the order of
 * their tier. While nobody uses them they are one entry, and one node of that order, for as long as they live
 * together:
 *
 *     blocks 9 8 7 6 5  ──block 9 falls──►  block 9 │ 8 7 6 5  ──a request reads all──►  9 │ 8 │ 7 │ 6 │ 5
 *            ▲                                                                                │
 *            └──────────────────── the reads have ended, side by side once more ◄─────────────┘
 *
 * A block leaves its extent (extent_take) before anything happens to it, and comes to one (extent_join) at
 * the end of what happened, so no decision depends on them: only what finds an entry by its key, or as a
 * victim, may meet an extent. The index keeps a slot for each block. */

/* So many slots of the index are changed at most to make one extent of two. */
enum { JOIN_MOST = 64 };

static uint64_t blocks_of(const struct entry *e) {
    return extent_is(e) ? e->blocks : 1;
}

/* The key of the k-th block, from the one that falls first. */
static struct cache_key key_at(const struct cache *c, const struct entry *e, uint64_t k) {
    return (struct cache_key){e->key.hi, e->key.lo + (uint64_t)c->index.step * k};
}

/* An extent of one block is an entry like any other. No operation knows it under this number. */
static void extent_shrink(struct cache *c, struct entry *e) {
    if (e->blocks > 1) return;
    e->state = ENTRY_RESIDENT;
    e->first = 0;
    e->generation = ++c->generation;
}

/* Gives blocks from..from + count - 1, at one end of an extent, an entry of their own. */
static uint32_t extent_cut(struct cache *c, uint32_t extent, uint64_t from, uint64_t count) {
    uint32_t i = pool_entry_take(&c->entries);
    struct entry *e = cache_entry(c, extent), *part = cache_entry(c, i);
    struct policy_node *nodes = c->entries.nodes;
    *part = *e;
    part->key = key_at(c, e, from);
    part->access = e->access + from;
    part->blocks = count;
    nodes[i].rank = nodes[extent].rank + from;
    for (uint64_t k = 0; k < count; k++) index_rename(&c->index, key_at(c, part, k), extent, i);
    if (from == 0) {
        e->key = key_at(c, e, count);
        e->access += count;
        nodes[extent].rank += count;
    }
    e->blocks -= count;
    const struct cache_tier *t = &c->tier[e->seat];
    t->policy->beside(t->order, i, extent, from > 0);
    extent_shrink(c, e);
    extent_shrink(c, part);
    return i;
}

uint32_t extent_take(struct cache *c, uint32_t entry, struct cache_key key) {
    const struct entry *e = cache_entry(c, entry);
    if (!extent_is(e)) return entry;
    uint64_t at = (key.lo - e->key.lo) * (uint64_t)c->index.step;
    if (at > 0 && at + 1 < e->blocks) { /* in the middle: the shorter side becomes another extent */
        if (at < e->blocks - 1 - at) {
            extent_cut(c, entry, 0, at);
            at = 0;
        } else {
            extent_cut(c, entry, at + 1, e->blocks - 1 - at);
        }
    }
    return extent_is(e) ? extent_cut(c, entry, at, 1) : entry;
}

/* Nothing happens to it, and no operation that goes on knows it. */
static bool is_at_rest(const struct entry *e) {
    return e->state == ENTRY_RESIDENT && e->busy == BUSY_NONE && !e->parked && !e->known &&
           e->seat == e->tier;
}

/* Whether b comes right behind a, and is like it. */
static bool follows(const struct cache *c, const struct entry *a, const struct entry *b) {
    struct cache_key next = key_at(c, a, blocks_of(a));
    return cache_key_equal(b->key, next) && b->access == a->access + blocks_of(a) && a->bytes == b->bytes &&
           a->cause == b->cause && a->klass == b->klass && a->hits == b->hits && a->place == b->place &&
           (extent_is(a) || is_at_rest(a)) && (extent_is(b) || is_at_rest(b));
}

/* Makes one of two neighbours, if they are: the longer one takes the other's blocks. */
static uint32_t extent_merge(struct cache *c, uint32_t before, uint32_t behind) {
    struct entry *a = cache_entry(c, before), *b = cache_entry(c, behind);
    uint64_t blocks = blocks_of(a) + blocks_of(b);
    if (!follows(c, a, b)) return ENTRY_NONE;
    bool first_stays = blocks_of(a) >= blocks_of(b);
    uint32_t gone = first_stays ? behind : before, stays = first_stays ? before : behind;
    struct entry *from = cache_entry(c, gone), *to = cache_entry(c, stays);
    if (blocks_of(from) > JOIN_MOST) return ENTRY_NONE;
    for (uint64_t k = 0; k < blocks_of(from); k++) index_rename(&c->index, key_at(c, from, k), gone, stays);
    const struct cache_tier *t = &c->tier[a->seat];
    t->policy->remove(t->order, gone);
    if (!first_stays) {
        to->key = from->key;
        to->access = from->access;
        c->entries.nodes[stays].rank = c->entries.nodes[gone].rank;
    }
    to->state = ENTRY_EXTENT;
    to->blocks = blocks;
    pool_entry_give(&c->entries, gone);
    return stays;
}

void extent_join(struct cache *c, uint32_t entry) {
    if (c->index.step == 0 || entry == ENTRY_NONE || !is_at_rest(cache_entry(c, entry))) return;
    const struct cache_tier *t = &c->tier[cache_entry(c, entry)->seat];
    uint32_t before = t->policy->neighbour(t->order, entry, false);
    uint32_t joined = before == POLICY_END ? ENTRY_NONE : extent_merge(c, before, entry);
    if (joined != ENTRY_NONE) entry = joined;
    uint32_t behind = t->policy->neighbour(t->order, entry, true);
    if (behind != POLICY_END) extent_merge(c, entry, behind);
}

bool extent_can(const struct cache *c) {
    if (copy_kept(c) || c->entries.knows_next_use || c->entries.knows_parents) return false;
    for (int t = 0; t < KVF_TIERS; t++)
        if (c->tier[t].on && !c->tier[t].policy->beside) return false;
    return true;
}
