#include "engine/pipeline/trial.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/hash.h"

struct trial {
    const struct references *r;
    const struct trial_setup *setup;
    struct cache *cache;
    uint64_t *next_use; /* by access: position from 1 of the next one of its key, UINT64_MAX: none */
    bool *taken;        /* by id: it is in the sample */
    uint64_t request;   /* the next one's number */
    bool counts;        /* from the access on that counts begin with */
    bool asked;         /* the user of the request under way is counted */
    unsigned part;      /* of what counts */
    struct trial_counts *out;
};

static uint64_t place_alloc(void *ctx, int tier, uint64_t bytes) {
    (void)ctx;
    (void)tier;
    (void)bytes;
    return 0;
}

static void place_drop(void *ctx, int tier, uint64_t place, uint64_t bytes) {
    (void)ctx;
    (void)tier;
    (void)place;
    (void)bytes;
}

#define SHARED UINT64_MAX

/* The user whose entry it is: it carries the conversation's number, which begins with the user's. SHARED: of
 * all. */
static uint64_t user_of(struct cache_key key) {
    enum cache_key_kind kind = cache_key_kind(key);
    uint64_t owner = key.hi & ((UINT64_C(1) << 56) - 1);
    if (kind == CACHE_KEY_STORED) return owner;
    return kind == CACHE_KEY_TURN || kind == CACHE_KEY_BLOCK ? owner >> 24 : SHARED;
}

static bool of_users(struct cache_key key, uint64_t users) {
    uint64_t user = user_of(key);
    return user == SHARED || user < users;
}

/* Spatial sampling: an entry is in or out of it with all its accesses. */
static void trial_sample(struct trial *t) {
    t->taken = mem_alloc((size_t)t->r->ids + 1);
    for (uint32_t id = 0; id < t->r->ids; id++) {
        uint64_t h = hash_mix64(hash_mix64(t->r->key[id].lo) + t->r->key[id].hi);
        t->taken[id] = (double)(h >> 11) < t->setup->part * 0x1p53;
        if (t->setup->users > 0) t->taken[id] = t->taken[id] && of_users(t->r->key[id], t->setup->users);
    }
}

static void trial_look_ahead(struct trial *t) {
    uint64_t *seen = mem_alloc(((size_t)t->r->ids + 1) * sizeof *seen);
    t->next_use = mem_alloc((t->r->count + 1) * sizeof *t->next_use);
    for (uint32_t id = 0; id < t->r->ids; id++) seen[id] = UINT64_MAX;
    for (uint64_t i = t->r->count; i-- > 0;) {
        t->next_use[i] = seen[t->r->at[i].id];
        seen[t->r->at[i].id] = i + 1;
    }
    free(seen);
}

static void count_lookups(struct trial *t, uint64_t lookups, uint64_t misses) {
    if (!t->counts) return;
    t->out->lookups += lookups;
    t->out->misses += misses;
}

static void count_context(struct trial *t) {
    t->out->contexts++;
    t->out->part_contexts[t->part]++;
}

static void count_moved(struct trial *t, const struct cache_op *op) {
    const int tier[KVF_DIRS] = {[KVF_DIR_READ] = op->from, [KVF_DIR_WRITE] = op->to};
    if (!t->counts || op->failed_wait || op->kind == CACHE_OP_WAIT) return;
    for (int d = 0; d < KVF_DIRS; d++) {
        if (tier[d] < 0) continue;
        t->out->ops[tier[d]][d]++;
        t->out->bytes[tier[d]][d] += op->bytes;
        t->out->part_bytes[t->part][tier[d]][d] += op->bytes;
    }
    uint64_t user = user_of(op->key);
    if (op->kind == CACHE_OP_READ && op->from >= 0 && user < t->setup->user_count)
        t->setup->user[user].bytes[t->part][op->from] += (double)op->bytes;
}

/* Everything that is ready, and what becomes so. What still waits is refused, as after its patience. */
static void settle(struct trial *t, struct cache_op *waiting) {
    for (;;) {
        struct cache_op *op = cache_next_ready(t->cache);
        if (op) {
            if (op == waiting) waiting = NULL;
            count_moved(t, op);
            cache_finish(t->cache, op, op->failed_wait ? CACHE_ABANDONED : CACHE_DONE, false);
        } else if (!waiting || !cache_cancel(t->cache, waiting)) {
            return;
        }
    }
}

static struct cache_access access_of(const struct trial *t, uint64_t i, uint64_t rank) {
    const struct reference *at = &t->r->at[i];
    return (struct cache_access){
        .cause = at->cause, .klass = at->klass, .rank = rank, .next_use = t->next_use[i]};
}

/* The writes of a request go on side by side, as in a run, and what is being written makes room for nobody;
 * one that has to wait for room waits for all of them. The ceiling is that of writes one by one. */
static void write_entry(struct trial *t, uint64_t i, const struct cache_access *access) {
    uint32_t id = t->r->at[i].id;
    struct cache_op *op = NULL;
    enum cache_verdict verdict = cache_write(t->cache, t->r->key[id], t->r->bytes[id], access, 0, t, &op);
    if (verdict == CACHE_NO_ROOM_NOW || t->setup->one_by_one)
        settle(t, verdict == CACHE_NO_ROOM_NOW ? op : NULL);
}

/* With its neighbours in the sample, which may be there already: blocks are written in either direction. */
static void link_blocks(struct trial *t, uint64_t from, uint64_t to, uint64_t i) {
    const struct references *r = t->r;
    uint64_t before = i, behind = i + 1;
    if (!cache_links(t->cache)) return;
    while (before > from && !t->taken[r->at[before - 1].id]) before--;
    while (behind < to && !t->taken[r->at[behind].id]) behind++;
    if (before > from) cache_link(t->cache, r->key[r->at[i].id], r->key[r->at[before - 1].id]);
    if (behind < to) cache_link(t->cache, r->key[r->at[behind].id], r->key[r->at[i].id]);
}

/* As the pipeline serves blocks: the longest prefix that is there is read, all are touched in one order,
 * what is missing is written in it. */
static void try_blocks(struct trial *t, uint64_t from, uint64_t to) {
    const struct references *r = t->r;
    bool forward = t->setup->scenario->cache.touch_order == KVF_TOUCH_FORWARD, all = true;
    uint64_t n = to - from, hits = 0, lookups = 0, base = cache_ranks(t->cache, n);
    uint64_t hit_end = to; /* the first that is not found, and those behind it */
    for (uint64_t i = from; i < to; i++) {
        if (!t->taken[r->at[i].id]) continue;
        lookups++;
        if (all && cache_peek(t->cache, r->key[r->at[i].id]) == CACHE_RESIDENT) {
            hits++;
        } else if (all) {
            all = false;
            hit_end = i;
        }
    }
    count_lookups(t, lookups, lookups - hits);
    if (t->counts && lookups > 0) count_context(t);
    for (uint64_t k = 0; k < n && lookups > 0; k++) {
        uint64_t i = forward ? from + k : to - 1 - k;
        struct cache_access access = access_of(t, i, base + k);
        if (!t->taken[r->at[i].id]) continue;
        if (i < hit_end)
            (void)cache_read(t->cache, r->key[r->at[i].id], &access, 0, t);
        else
            cache_touch(t->cache, r->key[r->at[i].id], &access);
    }
    settle(t, NULL); /* what is there is read before anything is written */
    for (uint64_t k = 0; k < n && lookups > hits; k++) {
        uint64_t i = forward ? from + k : to - 1 - k;
        struct cache_access access = access_of(t, i, base + k);
        if (i < hit_end || !t->taken[r->at[i].id]) continue;
        write_entry(t, i, &access);
        link_blocks(t, from, to, i);
    }
    settle(t, NULL);
}

static void try_entry(struct trial *t, uint64_t i) {
    const struct reference *at = &t->r->at[i];
    struct cache_key key = t->r->key[at->id];
    struct cache_access access = access_of(t, i, 0);
    bool there = cache_peek(t->cache, key) == CACHE_RESIDENT, read = at->kind != REFERENCE_WRITE;
    if (!t->taken[at->id]) return;
    if (t->counts && at->cause == KVF_CAUSE_PREFILL && at->kind == REFERENCE_WRITE) count_context(t);
    if ((at->kind == REFERENCE_LOOKUP || at->kind == REFERENCE_FILL) && at->cause != KVF_CAUSE_DECODE) {
        count_lookups(t, 1, !there);
    }
    if (!there && (at->kind == REFERENCE_FILL || at->kind == REFERENCE_WRITE)) write_entry(t, i, &access);
    if (there && read) (void)cache_read(t->cache, key, &access, 0, t);
    settle(t, NULL);
}

/* A request is of the user whose entry it asks for first. */
static void count_user(struct trial *t, uint64_t i) {
    const struct reference *at = &t->r->at[i];
    uint64_t user = user_of(t->r->key[at->id]);
    if (at->first) t->asked = false;
    if (t->asked || !t->counts || user >= t->setup->user_count) return;
    t->setup->user[user].requests[t->part]++;
    t->asked = true;
}

static uint64_t request_end(const struct references *r, uint64_t from) {
    while (r->at[from].kind == REFERENCE_BLOCK) from++;
    return from + 1;
}

int trial_run(const struct references *r, const struct trial_setup *setup, struct trial_counts *out,
              struct err *e) {
    struct trial t = {.r = r, .setup = setup, .out = out};
    struct cache_config config = setup->cache;
    memset(out, 0, sizeof *out);
    config.ctx = &t;
    config.alloc = place_alloc;
    config.drop = place_drop;
    t.cache = cache_open(&config, e);
    if (!t.cache) return -(int)e->code;
    trial_sample(&t);
    trial_look_ahead(&t);
    for (uint64_t from = 0, to; from < r->count; from = to) {
        bool block = r->at[from].kind == REFERENCE_BLOCK || r->at[from].kind == REFERENCE_LAST_BLOCK;
        to = block ? request_end(r, from) : from + 1;
        t.counts = from >= setup->counts_from;
        t.part = t.counts
                     ? (unsigned)((from - setup->counts_from) * TRIAL_PARTS / (r->count - setup->counts_from))
                     : 0;
        for (uint64_t i = from; i < to; i++) count_user(&t, i);
        if (r->at[from].first && r->arrival_ns) cache_time(t.cache, r->arrival_ns[t.request++]);
        if (block)
            try_blocks(&t, from, to);
        else
            try_entry(&t, from);
    }
    free(t.taken);
    free(t.next_use);
    cache_close(t.cache);
    return 0;
}

double trial_bytes_per_context(const struct trial_counts *c, unsigned from, unsigned parts, int t, int d) {
    double bytes = 0, contexts = 0;
    for (unsigned p = from; p < from + parts; p++) {
        bytes += (double)c->part_bytes[p][t][d];
        contexts += (double)c->part_contexts[p];
    }
    return contexts > 0 ? bytes / contexts : 0;
}
