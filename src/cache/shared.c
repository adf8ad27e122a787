#include "cache/state.h"

/* A remote tier that several caches share is a cache of its own, with that tier alone: the store. It decides
 * what stays. Nobody reads it or writes to it through operations, so its entries are never busy.
 *
 * The remote tier of each cache holds entries that the cache has put into the store or found there. They are
 * read like those of any tier. An entry that the store has dropped leaves when its key is next looked up; a
 * read that goes on at that time ends well, as at a server. An entry that goes up stays in the store, and
 * falls without a move while it is there.
 *
 * A store that is elsewhere is a cache of its own, too, and hears of all this later. What it has is known
 * from its answer, which may be wrong by the time of the read: that ends LOST. An entry falls to it with a
 * move, which moves nothing if it has the entry, and ends LOST if it is stopped. */

/* Makes an entry of the remote tier that is there at once; ENTRY_NONE: it has no room. */
static uint32_t entry_appear(struct cache *c, const struct entry *like, uint64_t next_use) {
    struct cache_tier *t = &c->tier[KVF_TIER_REMOTE];
    uint64_t bytes = like->bytes;
    if (c->stopped || t->wait.head || !plan_tier_holds(c, KVF_TIER_REMOTE, bytes) ||
        !plan_room(c, KVF_TIER_REMOTE, like))
        return ENTRY_NONE;
    if (t->used + t->started + bytes > t->usable) { /* what is to leave has not left */
        t->level -= bytes;
        return ENTRY_NONE;
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
    entry_index(c, i);
    t->used += bytes;
    t->physical += bytes;
    t->idle += bytes;
    t->entries++;
    c->stats.bytes_in[KVF_TIER_REMOTE] += bytes;
    seat_enter(c, i, KVF_TIER_REMOTE);
    gate_moved(c, e->key, KVF_TIER_REMOTE, true);
    return i;
}

void cache_shared_guess(struct cache *c, struct cache_key key, uint64_t bytes, enum kvf_cause cause) {
    struct entry like = {.key = key, .bytes = bytes & ENTRY_BYTES_MAX, .cause = (uint8_t)cause};
    if (!c->config.expect || index_find(&c->index, key) != ENTRY_NONE) return;
    uint32_t i = entry_appear(c, &like, 0);
    if (i != ENTRY_NONE) c->config.expect(c->config.ctx, cache_entry(c, i)->place, key);
}

static uint64_t next_use_of(const struct cache *c, uint32_t entry) {
    return c->entries.next_use ? c->entries.next_use[entry] : 0;
}

static struct cache_note note_of(struct cache_key key, const struct entry *e) {
    return (struct cache_note){
        .key = key, .bytes = e->bytes, .kind = CACHE_NOTE_PUT, .cause = e->cause, .klass = e->klass};
}

void shared_put(struct cache *c, struct cache_op *op) {
    const struct op_slot *s = op_slot(op);
    if (!shared_is(c) || op->to != KVF_TIER_REMOTE || !s->started || s->detached || op->kept) return;
    const struct entry *e = cache_entry(c, op->entry);
    if (e->state == ENTRY_DOOMED || shared_has(c, op->to, op->key)) return;
    if (c->config.shared) {
        extent_join(c->config.shared, entry_appear(c->config.shared, e, next_use_of(c, op->entry)));
        return;
    }
    struct cache_note n = note_of(op->key, e);
    c->config.tell(c->config.ctx, &n);
}

void shared_touch(struct cache *c, struct cache_key key, const struct cache_access *access) {
    struct cache_note n = {.key = key, .kind = CACHE_NOTE_TOUCH};
    struct cache_access there = *access;
    there.rank = 0; /* in the order in which all caches come */
    if (c->config.shared)
        cache_touch(c->config.shared, key, &there);
    else
        c->config.tell(c->config.ctx, &n);
}

void shared_link(struct cache *c, struct cache_key block, struct cache_key before) {
    struct cache_note n = {.key = block, .before = before, .kind = CACHE_NOTE_LINK};
    if (c->config.shared)
        cache_link(c->config.shared, block, before);
    else if (cache_links(c))
        c->config.tell(c->config.ctx, &n);
}

/* The store has an entry like that, or (NULL) has none of that key. */
static void entry_known(struct cache *c, struct cache_key key, const struct entry *there, uint64_t next_use) {
    uint32_t here = index_find(&c->index, key);
    if (here == ENTRY_NONE) {
        if (there) extent_join(c, entry_appear(c, there, next_use));
        return;
    }
    const struct entry *e = cache_entry(c, here);
    bool settled = entry_is_resident(e) && e->tier == KVF_TIER_REMOTE && e->seat == KVF_TIER_REMOTE;
    if (there || !settled) return;
    finish_drop(c, extent_take(c, here, key));
    if (!c->stopped) gate_open_all(c);
    c->retry_due = true;
}

void cache_shared_refresh(struct cache *c, struct cache_key key) {
    const struct cache *store = c->config.shared;
    if (!store) return;
    uint32_t there = index_find(&store->index, key);
    if (there == ENTRY_NONE) {
        entry_known(c, key, NULL, 0);
        return;
    }
    struct entry like = *cache_entry(store, there);
    like.key = key;
    entry_known(c, key, &like, next_use_of(store, there));
}

/* ---- a store that is elsewhere ---- */

static struct entry entry_of(const struct cache_note *n) {
    return (struct entry){
        .key = n->key, .bytes = n->bytes & ENTRY_BYTES_MAX, .cause = n->cause, .klass = n->klass};
}

void cache_shared_note(struct cache *store, const struct cache_note *note) {
    struct cache_access access = {.rank = 0};
    struct entry like = entry_of(note);
    if (note->kind == CACHE_NOTE_TOUCH)
        cache_touch(store, note->key, &access);
    else if (note->kind == CACHE_NOTE_LINK)
        cache_link(store, note->key, note->before);
    else if (index_find(&store->index, note->key) == ENTRY_NONE)
        extent_join(store, entry_appear(store, &like, 0));
}

struct cache_note cache_shared_find(const struct cache *store, struct cache_key key) {
    uint32_t there = index_find(&store->index, key);
    return there == ENTRY_NONE ? (struct cache_note){.key = key, .kind = CACHE_NOTE_NONE}
                               : note_of(key, cache_entry(store, there));
}

void cache_shared_found(struct cache *c, const struct cache_note *note) {
    struct entry like = entry_of(note);
    entry_known(c, note->key, note->kind == CACHE_NOTE_PUT ? &like : NULL, 0);
}
