#include "cache/state.h"

#include <inttypes.h>

/* Everything that the cache keeps sums of, counted again from the entries, records and operations. */
struct census {
    uint64_t used[KVF_TIERS], started[KVF_TIERS], level[KVF_TIERS], idle[KVF_TIERS];
    uint64_t entries[KVF_TIERS], ordered[KVF_TIERS];
    uint64_t indexed, pins, reads, waiting;
    uint64_t copying, copies; /* entries, operations */
};

static const char *busy_wrong(const struct cache *c, const struct entry *e) {
    const struct busy *b = &c->busies.at[e->busy];
    if (!b->live || b->ghost) return "an entry's side record is not its own";
    if (!b->first && !b->pins) return "an entry nobody uses has a side record";
    int at = e->tier;
    for (const struct op_slot *s = b->first; s && e->state != ENTRY_WRITING; s = s->chain) {
        if (!s->live || s->op.from != at) return "an entry's moves do not follow one another";
        at = s->op.to;
    }
    return e->state != ENTRY_WRITING && at != e->seat ? "an entry's moves do not end at its seat" : NULL;
}

static bool entry_is_indexed(const struct cache *c, uint32_t i) {
    uint32_t at[KVF_TIERS];
    struct cache_key key = cache_entry(c, i)->key;
    if (!copy_kept(c)) return index_find(&c->index, key) == i;
    unsigned n = index_find_all(&c->index, key, at);
    bool found = false;
    for (unsigned k = 0; k < n; k++) {
        const struct entry *e = cache_entry(c, at[k]), *self = cache_entry(c, i);
        if (at[k] != i && (e->tier == self->tier || e->generation != self->generation)) return false;
        found = found || at[k] == i;
    }
    return found;
}

/* Every block is found under its key, and the order has the rank of the first. */
static const char *extent_count(const struct cache *c, uint32_t i, struct census *n) {
    const struct entry *e = cache_entry(c, i);
    if (e->blocks < 2 || e->busy != BUSY_NONE || e->parked || e->known || e->seat != e->tier)
        return "an extent is not at rest";
    if (c->entries.nodes[i].rank != e->access) return "an extent is not where its first block was accessed";
    for (uint64_t k = 0; k < e->blocks; k++) {
        struct cache_key key = {e->key.hi, e->key.lo + (uint64_t)c->index.step * k};
        if (index_find(&c->index, key) != i) return "a block of an extent is not found under its key";
    }
    n->indexed += e->blocks;
    n->entries[e->tier] += e->blocks;
    n->used[e->tier] += e->blocks * e->bytes;
    n->level[e->tier] += e->blocks * e->bytes;
    n->idle[e->tier] += e->blocks * e->bytes;
    n->ordered[e->tier]++;
    return NULL;
}

/* It has a place and no bytes yet. */
static const char *copying_count(const struct cache *c, uint32_t i, struct census *n) {
    const struct entry *e = cache_entry(c, i);
    n->copying++;
    n->level[e->tier] += e->bytes;
    if (e->busy != BUSY_NONE) return "an entry being copied has a side record";
    if (e->state == ENTRY_UNWANTED) return NULL;
    n->indexed++;
    if (!entry_is_indexed(c, i)) return "an entry being copied is not found under its key";
    uint32_t source = copy_find(c, e->key);
    if (source == ENTRY_NONE || cache_entry(c, source)->state != ENTRY_RESIDENT)
        return "an entry is being copied from nowhere";
    return NULL;
}

static const char *entry_count(const struct cache *c, uint32_t i, struct census *n) {
    const struct entry *e = cache_entry(c, i);
    const struct busy *b = e->busy == BUSY_NONE ? NULL : &c->busies.at[e->busy];
    if (extent_is(e)) return extent_count(c, i, n);
    if (e->state == ENTRY_COPYING || e->state == ENTRY_UNWANTED) return copying_count(c, i, n);
    const char *wrong = b ? busy_wrong(c, e) : NULL;
    if (wrong) return wrong;
    bool hidden = e->state == ENTRY_DOOMED || e->state == ENTRY_LEAVING;
    if (hidden && (!b || !b->first)) return "an entry that is to go has no move that goes on";
    if (e->parked && (!b || e->state != ENTRY_RESIDENT)) return "an entry nobody uses is parked";
    if (!hidden) {
        if (!entry_is_indexed(c, i)) return "an entry is not found under its key";
        n->indexed++;
    }
    if (e->state == ENTRY_WRITING) {
        if (!b || !b->first) return "an entry being written has no write";
        if (b->first->op.to >= 0) n->level[b->first->op.to] += e->bytes;
        return NULL;
    }
    if (!b && e->seat != e->tier) return "an entry at rest has another seat than its tier";
    n->used[e->tier] += e->bytes;
    n->entries[e->tier]++;
    if (e->state == ENTRY_RESIDENT) n->level[e->seat] += e->bytes;
    if (b && b->first && !move_falls(&b->first->op)) n->level[e->tier] += e->bytes;
    if (e->state == ENTRY_RESIDENT && !e->parked) n->ordered[e->seat]++;
    if (e->state == ENTRY_RESIDENT && !b) n->idle[e->seat] += e->bytes;
    return NULL;
}

static void busies_count(const struct cache *c, struct census *n) {
    for (uint32_t i = 0; i < c->busies.cap; i++) {
        const struct busy *b = &c->busies.at[i];
        if (!b->live) continue;
        n->pins += b->pins;
        if (!b->ghost) continue;
        n->used[b->tier] += b->bytes;
        n->entries[b->tier]++;
        if (b->counted) n->level[b->tier] += b->bytes;
    }
}

static void ops_count(const struct cache *c, struct census *n) {
    for (uint32_t i = 0; i < c->ops.chunk_count; i++) {
        for (uint32_t j = 0; j < OP_CHUNK; j++) {
            const struct op_slot *s = &c->ops.chunks[i][j];
            if (!s->live) continue;
            if (s->started) n->started[s->op.to] += s->op.bytes;
            n->reads += s->busy != BUSY_NONE;
            n->copies += s->copy != ENTRY_NONE;
            n->waiting += s->op.state == CACHE_OP_WAITING;
        }
    }
}

static int tier_check(const struct cache *c, int tier, const struct census *n, struct err *e) {
    const struct cache_tier *t = &c->tier[tier];
    const char *name = tier_name((enum kvf_tier)tier);
    uint64_t ordered = 0;
    if (t->used != n->used[tier] || t->entries != n->entries[tier] || t->started != n->started[tier] ||
        t->level != n->level[tier])
        return err_set(e, KVF_ERR_INTERNAL,
                       "cache, %s: counted used %" PRIu64 ", started %" PRIu64 ", level %" PRIu64
                       " in %" PRIu64 " entries, but kept %" PRIu64 ", %" PRIu64 ", %" PRIu64 " in %" PRIu64,
                       name, n->used[tier], n->started[tier], n->level[tier], n->entries[tier], t->used,
                       t->started, t->level, t->entries);
    if (t->idle != n->idle[tier] || t->idle > t->level)
        return err_set(e, KVF_ERR_INTERNAL,
                       "cache, %s: counted %" PRIu64 " bytes idle, but kept %" PRIu64 " of level %" PRIu64,
                       name, n->idle[tier], t->idle, t->level);
    if (c->stats.bytes_in[tier] - c->stats.bytes_out[tier] != t->used)
        return err_set(e, KVF_ERR_INTERNAL, "cache, %s: bytes in less bytes out differ from bytes used",
                       name);
    if (t->physical != t->used + t->started || t->physical > t->usable)
        return err_set(e, KVF_ERR_INTERNAL,
                       "cache, %s: places of %" PRIu64 " bytes, used %" PRIu64 ", started %" PRIu64
                       ", usable %" PRIu64,
                       name, t->physical, t->used, t->started, t->usable);
    if (copy_kept(c) && t->level != t->used + t->started)
        return err_set(e, KVF_ERR_INTERNAL,
                       "cache, %s: planned bytes differ from those there and on their way", name);
    if (t->level > t->usable && !c->uneven)
        return err_set(e, KVF_ERR_INTERNAL, "cache, %s: more is planned than can be held", name);
    if (!t->on) return 0;
    if (!t->policy->check(t->order, &ordered) || ordered != n->ordered[tier])
        return err_set(e, KVF_ERR_INTERNAL, "cache, %s: the %s order is not that of its entries", name,
                       traits_policy(c->config.eviction[tier])->word);
    return 0;
}

static int lookups_check(const struct cache *c, struct err *e) {
    uint64_t by_tier = 0, hits = 0;
    for (int t = 0; t < KVF_TIERS; t++) {
        uint64_t by_cause = 0;
        for (int k = 0; k < KVF_CAUSES; k++) by_cause += c->stats.hits_in[t][k];
        if (by_cause != c->stats.tier_hits[t])
            return err_set(e, KVF_ERR_INTERNAL, "cache, %s: its hits are not its hits by cause",
                           tier_name((enum kvf_tier)t));
        by_tier += c->stats.tier_hits[t];
    }
    for (int k = 0; k < KVF_CAUSES; k++) {
        hits += c->stats.hits[k];
        if (c->stats.lookups[k] != c->stats.hits[k] + c->stats.misses[k])
            return err_set(e, KVF_ERR_INTERNAL, "cache: lookups of cause %s are not hits plus misses",
                           cause_name((enum kvf_cause)k));
    }
    if (by_tier != hits) return err_set(e, KVF_ERR_INTERNAL, "cache: hits by tier are not the hits by cause");
    return 0;
}

int cache_check(const struct cache *c, struct err *e) {
    struct census n = {0};
    uint32_t live = 0;
    for (uint32_t i = 0; i < c->entries.top; i++) {
        if (cache_entry(c, i)->state == ENTRY_FREE) continue;
        live++;
        const char *wrong = entry_count(c, i, &n);
        if (wrong) {
            char key[CACHE_KEY_TEXT_MAX];
            return err_set(e, KVF_ERR_INTERNAL, "cache, entry %s: %s",
                           cache_key_text(cache_entry(c, i)->key, key, sizeof key), wrong);
        }
    }
    busies_count(c, &n);
    ops_count(c, &n);
    if (live != c->entries.live || n.indexed != index_count(&c->index))
        return err_set(e, KVF_ERR_INTERNAL, "cache: entries in use and entries in the index differ");
    if (n.pins != n.reads) return err_set(e, KVF_ERR_INTERNAL, "cache: pins are not the reads going on");
    if (n.copying != n.copies)
        return err_set(e, KVF_ERR_INTERNAL, "cache: entries being copied and operations that copy differ");
    if (n.waiting != c->stats.waiting)
        return err_set(e, KVF_ERR_INTERNAL, "cache: the count of waiting operations is wrong");
    for (int t = 0; t < KVF_TIERS; t++) {
        int rc = tier_check(c, t, &n, e);
        if (rc) return rc;
    }
    return lookups_check(c, e);
}
