#include "cache/state.h"

/* A remote tier that several caches share is a cache of its own, with that tier alone: the store. It decides
 * what stays. Nobody reads it or writes to it through operations, so its entries are never busy.
 *
 * The remote tier of each cache holds entries that the cache has put into the store or found there. They are
 * read like those of any tier. An entry that the store has dropped leaves when its key is next looked up; a
 * read that goes on at that time ends well, as at a server. An entry that goes up stays in the store, and
 * falls without a move while it is there. */

/* Makes an entry of the remote tier that is there at once, if it has room. */
static struct entry *entry_appear(struct cache *c, const struct entry *like, uint64_t next_use) {
    struct cache_tier *t = &c->tier[KVF_TIER_REMOTE];
    uint64_t bytes = like->bytes;
    if (c->stopped || t->wait.head || !plan_tier_holds(c, KVF_TIER_REMOTE, bytes) ||
        !plan_room(c, KVF_TIER_REMOTE, like))
        return NULL;
    if (t->used + t->started + bytes > t->usable) { /* what is to leave has not left */
        t->level -= bytes;
        return NULL;
    }
    uint32_t i = pool_entry_like(&c->entries, like);
    struct entry *e = cache_entry(c, i);
    e->access = e->first = ++c->rank;
    e->generation = ++c->generation;
    if (c->entries.next_use) c->entries.next_use[i] = next_use;
    if (c->entries.lineage) seat_begin(c, i);
    e->place = c->config.alloc(c->config.ctx, KVF_TIER_REMOTE, bytes);
    e->tier = e->seat = KVF_TIER_REMOTE;
    e->state = ENTRY_RESIDENT;
    index_insert(&c->index, i);
    t->used += bytes;
    t->physical += bytes;
    t->idle += bytes;
    t->entries++;
    c->stats.bytes_in[KVF_TIER_REMOTE] += bytes;
    seat_enter(c, i, KVF_TIER_REMOTE);
    gate_moved(c, e->key, KVF_TIER_REMOTE, true);
    return e;
}

void cache_shared_guess(struct cache *c, struct cache_key key, uint64_t bytes, enum kvf_cause cause) {
    struct entry like = {.key = key, .bytes = bytes & ENTRY_BYTES_MAX, .cause = (uint8_t)cause};
    if (!c->config.expect || index_find(&c->index, key) != ENTRY_NONE) return;
    const struct entry *e = entry_appear(c, &like, 0);
    if (e) c->config.expect(c->config.ctx, e->place, key);
}

static uint64_t next_use_of(const struct cache *c, uint32_t entry) {
    return c->entries.next_use ? c->entries.next_use[entry] : 0;
}

void shared_put(struct cache *c, struct cache_op *op) {
    const struct op_slot *s = op_slot(op);
    if (!c->config.shared || op->to != KVF_TIER_REMOTE || !s->started || s->detached) return;
    if (cache_entry(c, op->entry)->state == ENTRY_DOOMED || shared_has(c, op->to, op->key)) return;
    entry_appear(c->config.shared, cache_entry(c, op->entry), next_use_of(c, op->entry));
}

void cache_shared_refresh(struct cache *c, struct cache_key key) {
    const struct cache *store = c->config.shared;
    if (!store) return;
    uint32_t here = index_find(&c->index, key), there = index_find(&store->index, key);
    if (here == ENTRY_NONE) {
        if (there != ENTRY_NONE) entry_appear(c, cache_entry(store, there), next_use_of(store, there));
        return;
    }
    const struct entry *e = cache_entry(c, here);
    bool settled = e->state == ENTRY_RESIDENT && e->tier == KVF_TIER_REMOTE && e->seat == KVF_TIER_REMOTE;
    if (there != ENTRY_NONE || !settled) return;
    finish_drop(c, here);
    if (!c->stopped) gate_open_all(c);
    c->retry_due = true;
}
