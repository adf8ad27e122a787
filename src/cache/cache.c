#include "cache/cache.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "cache/state.h"

uint64_t cache_moves(const struct cache *c, uint32_t worker) {
    return worker < c->movers ? c->moves[worker] : 0;
}

static uint64_t rank_next(struct cache *c, uint64_t rank) {
    return rank ? rank : ++c->rank;
}

/* An access can only make an entry more recent, whatever order the calls come in. */
static void entry_access(struct cache *c, uint32_t i, const struct cache_access *access, uint64_t rank) {
    struct entry *e = cache_entry(c, i);
    if (rank > e->access) e->access = rank;
    if (c->entries.next_use) c->entries.next_use[i] = access->next_use;
    seat_touch(c, i);
    if (e->tier != KVF_TIER_REMOTE || !shared_is(c)) return;
    struct cache_access ranked = *access;
    ranked.rank = rank;
    shared_touch(c, e->key, &ranked);
}

static struct cache_op *op_make(struct cache *c, enum cache_op_kind kind, enum kvf_cause cause,
                                uint32_t entry, uint32_t worker, void *owner) {
    const struct entry *e = cache_entry(c, entry);
    struct cache_op *op = &pool_op_take(&c->ops)->op;
    op->kind = kind;
    op->cause = cause;
    op->entry = entry;
    op->key = e->key;
    op->generation = e->generation;
    op->bytes = e->bytes;
    op->rank = e->access;
    op->worker = worker;
    op->owner = owner;
    return op;
}

static int config_check(const struct cache_config *config, struct err *e) {
    for (int t = 0; t < KVF_TIERS; t++) {
        if (config->placement == KVF_PLACEMENT_INCLUSIVE && config->on[t] &&
            traits_policy(config->eviction[t])->caps & POLICY_BY_PARENTS)
            return err_set(e, KVF_ERR_UNAVAILABLE,
                           "tier %s: %s knows one entry of a block, and placement inclusive keeps several",
                           tier_name((enum kvf_tier)t), traits_policy(config->eviction[t])->word);
    }
    return 0;
}

static uint64_t bytes_of(const void *entries, uint32_t entry) {
    return entry_at(entries, entry)->bytes;
}

static uint32_t parent_of(const void *entries, uint32_t entry) {
    const struct entry_pool *pool = entries;
    struct lineage l = pool->lineage[entry];
    if (l.parent == ENTRY_NONE || entry_at(pool, l.parent)->state == ENTRY_FREE) return ENTRY_NONE;
    return (uint32_t)entry_at(pool, l.parent)->generation == l.generation ? l.parent : ENTRY_NONE;
}

static void tier_open(struct cache *c, int tier) {
    struct cache_tier *t = &c->tier[tier];
    t->on = true;
    t->usable = c->config.usable_bytes[tier];
    t->policy = policy_find(c->config.eviction[tier]);
    t->policy_caps = traits_policy(c->config.eviction[tier])->caps;
    struct policy_config policy = {.nodes = &c->entries.nodes,
                                   .usable_bytes = t->usable,
                                   .bytes_of = bytes_of,
                                   .parent_of = parent_of,
                                   .entries = &c->entries,
                                   .now_ns = &c->now_ns,
                                   .ttl_ns = c->config.ttl_ns,
                                   .rules = c->config.rules,
                                   .rule_count = c->config.rule_count};
    t->order = t->policy->open(&policy);
    c->entries.knows_next_use = c->entries.knows_next_use || t->policy_caps & POLICY_LOOKS_AHEAD;
    c->entries.knows_parents = c->entries.knows_parents || t->policy_caps & POLICY_BY_PARENTS;
    c->expires = c->expires || t->policy->expired;
}

struct cache *cache_open(const struct cache_config *config, struct err *e) {
    if (config_check(config, e)) return NULL;
    struct cache *c = mem_zalloc(1, sizeof *c);
    c->config = *config;
    c->found = mem_zalloc(1, sizeof *c->found);
    pool_busies_init(&c->busies);
    index_init(&c->index, &c->entries);
    admission_open(&c->admission, config->admission, config->admission_limit_bytes, ADMISSION_KEYS);
    for (int i = 0; i < KVF_TIERS; i++) {
        if (config->on[i]) tier_open(c, i);
    }
    c->index.step = extent_can(c) ? config->extents : 0;
    return c;
}

void cache_close(struct cache *c) {
    if (!c) return;
    for (int t = 0; t < KVF_TIERS; t++) {
        if (c->tier[t].order)
            (c->tier[t].policy->close ? c->tier[t].policy->close : policy_free)(c->tier[t].order);
    }
    index_close(&c->index);
    admission_close(&c->admission);
    pool_entries_close(&c->entries);
    pool_busies_close(&c->busies);
    pool_ops_close(&c->ops);
    free(c->found);
    free(c->steps);
    free(c->moves);
    free(c);
}

/* Whether an entry is the one in the index of this key, where no key has several. */
static inline bool is_found(const struct cache *c, uint32_t i, struct cache_key key) {
    if (i >= c->entries.top) return false;
    const struct entry *e = cache_entry(c, i);
    return cache_key_equal(e->key, key) && (e->state == ENTRY_RESIDENT || e->state == ENTRY_WRITING);
}

static uint32_t entry_find(const struct cache *c, struct cache_key key) {
    if (copy_kept(c)) return copy_find(c, key);
    struct found *f = c->found;
    if (is_found(c, f->entry, key)) return f->entry;
    if (cache_key_equal(f->absent, key)) return ENTRY_NONE;
    uint32_t i = index_find(&c->index, key);
    if (i != ENTRY_NONE)
        f->entry = i;
    else
        f->absent = key;
    return i;
}

/* All copies of a key are as recent as it is: those below are there for when the one above has gone. */
static void key_access(struct cache *c, struct cache_key key, uint32_t i, const struct cache_access *access) {
    uint64_t rank = rank_next(c, access->rank);
    if (!copy_kept(c)) {
        entry_access(c, i, access, rank);
        return;
    }
    uint32_t at[KVF_TIERS];
    unsigned n = index_find_all(&c->index, key, at);
    for (unsigned k = 0; k < n; k++) entry_access(c, at[k], access, rank);
}

enum cache_presence cache_peek(const struct cache *c, struct cache_key key) {
    uint32_t i = entry_find(c, key);
    if (i == ENTRY_NONE) return CACHE_ABSENT;
    return entry_is_resident(cache_entry(c, i)) ? CACHE_RESIDENT : CACHE_WRITING;
}

void cache_soon(const struct cache *c, struct cache_key key) {
    index_soon(&c->index, key);
}

void cache_count_given_up(struct cache *c) {
    c->stats.lookups_given_up += !c->stopped;
}

void cache_count_lookup(struct cache *c, enum kvf_cause cause, int tier) {
    c->stats.decisions++;
    c->stats.lookups[cause]++;
    if (tier < 0) {
        c->stats.misses[cause]++;
    } else {
        c->stats.hits[cause]++;
        c->stats.tier_hits[tier]++;
        c->stats.hits_in[tier][cause]++;
    }
}

void cache_recount_miss(struct cache *c, enum kvf_cause cause, int tier) {
    if (tier < 0) return;
    c->stats.hits[cause]--;
    c->stats.tier_hits[tier]--;
    c->stats.hits_in[tier][cause]--;
    c->stats.misses[cause]++;
}

int cache_where(const struct cache *c, struct cache_key key) {
    uint32_t i = entry_find(c, key);
    return i != ENTRY_NONE && entry_is_resident(cache_entry(c, i)) ? cache_entry(c, i)->tier : -1;
}

uint64_t cache_ranks(struct cache *c, uint64_t n) {
    uint64_t first = c->rank + 1;
    c->rank += n;
    return first;
}

/* Whether any went. Those in use are parked, and looked at again when they are not. */
static bool tier_expire(struct cache *c, struct cache_tier *t, int tier) {
    bool any = false;
    uint32_t i;
    while ((i = t->policy->expired(t->order)) != POLICY_END) {
        if (cache_entry(c, i)->busy != BUSY_NONE) {
            seat_park(c, i);
            continue;
        }
        struct cache_key key = cache_entry(c, i)->key;
        finish_drop(c, i);
        plan_count_eviction(c, key, tier);
        any = true;
    }
    return any;
}

static void tiers_expire(struct cache *c) {
    bool any = false;
    for (int i = 0; i < KVF_TIERS; i++) {
        struct cache_tier *t = &c->tier[i];
        if (t->on && t->policy->expired) any = tier_expire(c, t, i) || any;
    }
    if (!any) return;
    if (!c->stopped) gate_open_all(c);
    c->retry_due = true;
}

/* A store has no store of its own. */
void cache_time(struct cache *c, uint64_t now_ns) {
    struct cache *store = c->config.shared;
    c->now_ns = now_ns;
    if (store) store->now_ns = now_ns;
    if (store && store->expires) tiers_expire(store);
    if (c->expires) tiers_expire(c);
}

bool cache_links(const struct cache *c) {
    return c->entries.knows_parents;
}

void cache_link(struct cache *c, struct cache_key block, struct cache_key before) {
    if (shared_is(c)) shared_link(c, block, before);
    if (!c->entries.knows_parents) return;
    uint32_t i = index_find(&c->index, block), parent = index_find(&c->index, before);
    if (i == ENTRY_NONE || parent == ENTRY_NONE || i == parent) return;
    seat_link(c, i, parent);
}

void cache_touch(struct cache *c, struct cache_key key, const struct cache_access *access) {
    uint32_t i = entry_find(c, key);
    if (i == ENTRY_NONE) return;
    i = extent_take(c, i, key);
    key_access(c, key, i, access);
    extent_join(c, i);
}

struct cache_op *cache_read(struct cache *c, struct cache_key key, const struct cache_access *access,
                            uint32_t worker, void *owner) {
    uint32_t i = entry_find(c, key);
    if (i == ENTRY_NONE || !entry_is_resident(cache_entry(c, i))) return NULL;
    i = extent_take(c, i, key);
    struct entry *e = cache_entry(c, i);
    key_access(c, key, i, access);
    if (!access->again && e->hits < HITS_MAX) e->hits++;
    struct cache_op *op = op_make(c, CACHE_OP_READ, access->cause, i, worker, owner);
    op->from = e->tier;
    op->from_place = e->place;
    op->seq = ++c->seq;
    gate_busy_of(c, e)->pins++;
    op_slot(op)->busy = e->busy;
    gate_ready_push(c, op);
    return op;
}

/* The key is reserved from here on, also while the write waits for room: others find it WRITING. */
static struct cache_op *write_make(struct cache *c, struct cache_key key, uint64_t bytes,
                                   const struct cache_access *access, uint32_t worker, void *owner) {
    uint32_t i = pool_entry_take(&c->entries);
    struct entry *e = cache_entry(c, i);
    e->key = key;
    e->bytes = bytes & ENTRY_BYTES_MAX; /* it is */
    e->cause = (uint8_t)access->cause;
    e->klass = access->klass;
    e->access = e->first = rank_next(c, access->rank);
    if (c->entries.next_use) c->entries.next_use[i] = access->next_use;
    e->generation = ++c->generation;
    if (c->entries.lineage) seat_begin(c, i);
    e->state = ENTRY_WRITING;
    entry_index(c, i);
    c->found->entry = i;
    struct cache_op *op = op_make(c, CACHE_OP_WRITE, access->cause, i, worker, owner);
    struct busy *b = gate_busy_of(c, e);
    b->first = b->last = op_slot(op);
    return op;
}

enum cache_verdict cache_write(struct cache *c, struct cache_key key, uint64_t bytes,
                               const struct cache_access *access, uint32_t worker, void *owner,
                               struct cache_op **op) {
    *op = NULL;
    uint32_t i = entry_find(c, key);
    if (i != ENTRY_NONE) return entry_is_resident(cache_entry(c, i)) ? CACHE_IS_RESIDENT : CACHE_IS_WRITING;
    int target = bytes > ENTRY_BYTES_MAX ? -1 : plan_target(c, bytes);
    if (target < 0) {
        c->stats.refused++;
        return CACHE_TOO_LARGE;
    }
    if (!access->let_in && !admission_ask(&c->admission, key, bytes)) {
        c->stats.not_admitted++;
        return CACHE_NOT_ADMITTED;
    }
    *op = write_make(c, key, bytes, access, worker, owner);
    (*op)->at = target;
    if (c->stopped) {
        gate_ready_refuse(c, *op);
        return CACHE_PLANNED;
    }
    if (!c->tier[target].wait.head && plan_write(c, *op)) return CACHE_PLANNED;
    wait_enter(c, *op);
    return CACHE_NO_ROOM_NOW;
}

struct cache_op *cache_wait(struct cache *c, struct cache_key key, uint32_t worker, void *owner) {
    uint32_t i = entry_find(c, key);
    if (i == ENTRY_NONE || cache_entry(c, i)->state != ENTRY_WRITING) return NULL;
    struct cache_op *write = &c->busies.at[cache_entry(c, i)->busy].first->op;
    struct cache_op *op = op_make(c, CACHE_OP_WAIT, write->cause, i, worker, owner);
    if (c->stopped) {
        gate_ready_refuse(c, op);
    } else {
        wait_enter(c, op);
    }
    return op;
}

void cache_admit_from(struct cache *c, int tier) {
    c->top = tier;
}

/* That tier and those below it stay as they are. */
static void clear_above(struct cache *c, int stays) {
    for (uint32_t i = 0; i < c->entries.top; i++) {
        const struct entry *e = cache_entry(c, i);
        if (entry_is_resident(e) && e->tier >= stays) continue;
        while (extent_is(e)) finish_drop(c, extent_take(c, i, e->key));
        if (e->state == ENTRY_COPYING) copy_drop(c, e->key, true);
        if (e->state == ENTRY_RESIDENT) finish_drop(c, i);
    }
}

void cache_clear(struct cache *c) {
    clear_above(c, KVF_TIERS);
}

bool cache_cancel(struct cache *c, struct cache_op *op) {
    if (op->state != CACHE_OP_WAITING) return false;
    wait_leave(c, op);
    op->refused = op->kind == CACHE_OP_WRITE;
    c->stats.refused += op->refused;
    gate_ready_refuse(c, op);
    /* It may have held up others that need less. */
    wait_retry(c);
    return true;
}

bool cache_wait_over(struct cache *c, struct cache_op *op) {
    if (op->state != CACHE_OP_WAITING) return false;
    int below = op->kind == CACHE_OP_WRITE ? plan_below(c, op) : -1;
    if (below < 0) {
        (void)cache_cancel(c, op);
        return false;
    }
    wait_leave(c, op);
    c->stats.fell_through[op->at]++;
    op->at = below;
    bool planned = !c->tier[below].wait.head && plan_write(c, op);
    if (!planned) wait_enter(c, op);
    wait_retry(c); /* it held up others above */
    return !planned && op->state == CACHE_OP_WAITING;
}

bool cache_drop(struct cache *c, struct cache_key key) {
    uint32_t i = entry_find(c, key);
    if (i == ENTRY_NONE || !entry_is_resident(cache_entry(c, i))) return false;
    if (copy_kept(c))
        copy_drop(c, key, true);
    else
        finish_drop(c, extent_take(c, i, key));
    if (!c->stopped) gate_open_all(c);
    c->retry_due = true;
    return true;
}

bool cache_is_ready(const struct cache *c) {
    return c->ready_head || c->retry_due || c->relief_due;
}

struct cache_op *cache_next_ready(struct cache *c) {
    if (c->retry_due) {
        c->retry_due = false;
        wait_retry(c);
    }
    if (c->relief_due) relief_run(c);
    struct cache_op *op = c->ready_head;
    if (!op) return NULL;
    c->ready_head = op->next;
    if (!c->ready_head) c->ready_tail = NULL;
    op->next = NULL;
    op->state = CACHE_OP_RUNNING;
    if (op->kind == CACHE_OP_READ && copy_kept(c)) copy_load(c, op);
    return op;
}

/* After a hit the entry goes up, unless somebody has got hold of it meanwhile. */
static void hit_promote(struct cache *c, const struct cache_op *read) {
    const struct entry *e = cache_entry(c, read->entry);
    if (c->stopped || e->state != ENTRY_RESIDENT || e->generation != read->generation) return;
    if (e->busy == BUSY_NONE && plan_promotion_due(c, e)) plan_promotion(c, read->entry, read->worker);
}

void cache_finish(struct cache *c, struct cache_op *op, enum cache_outcome outcome, bool drop_entry) {
    if (op->failed_wait) outcome = CACHE_ABANDONED;
    if (outcome == CACHE_DONE) shared_put(c, op);
    c->stats.outage_dropped += outcome == CACHE_LOST && op->to == KVF_TIER_REMOTE && c->config.tell;
    switch (op->kind) {
    case CACHE_OP_READ:
        finish_read(c, op, outcome, drop_entry);
        break;
    case CACHE_OP_WRITE:
        finish_write(c, op, outcome);
        break;
    case CACHE_OP_MOVE:
        c->moves[op->worker]--;
        finish_move(c, op, outcome);
        break;
    case CACHE_OP_WAIT:
        break;
    }
    /* Operations that have their reservation come first, then who waits, promotions last. */
    if (!c->stopped) gate_open_all(c);
    if (op->kind == CACHE_OP_WRITE && outcome == CACHE_DONE)
        c->retry_due = true;
    else
        wait_retry(c);
    if (outcome == CACHE_DONE && copy_kept(c))
        copy_spread(c, op->key, op->worker);
    else if (outcome == CACHE_DONE && op->kind == CACHE_OP_READ)
        hit_promote(c, op);
    relief_due(c, op->worker);
    if (c->index.step != 0 && cache_entry(c, op->entry)->generation == op->generation)
        extent_join(c, op->entry);
    pool_op_give(&c->ops, op);
}

bool cache_stopped(const struct cache *c) {
    return c->stopped;
}

void cache_stop(struct cache *c) {
    if (c->stopped) return;
    c->stopped = true;
    for (int t = KVF_TIERS - 1; t >= 0; t--) {
        struct op_list *gate = &c->tier[t].gate;
        while (gate->head) {
            struct cache_op *op = gate->head;
            gate_leave(c, op);
            gate_ready_refuse(c, op);
        }
    }
    for (uint32_t i = 0; i < c->ops.chunk_count; i++) {
        for (uint32_t j = 0; j < OP_CHUNK; j++) {
            struct op_slot *s = &c->ops.chunks[i][j];
            if (!s->live || s->op.state != CACHE_OP_WAITING) continue;
            wait_leave(c, &s->op);
            gate_ready_refuse(c, &s->op);
        }
    }
}

void cache_stats(const struct cache *c, struct cache_stats *out) {
    *out = c->stats;
    for (int t = 0; t < KVF_TIERS; t++) {
        out->used_bytes[t] = c->tier[t].used;
        out->entries[t] = c->tier[t].entries;
    }
}

void cache_restart(struct cache *c, int stays) {
    clear_above(c, stays);
    c->stopped = c->retry_due = c->relief_due = false;
}

/* They are nothing but numbers. */
enum { STATS = sizeof(struct cache_stats) / sizeof(uint64_t) };
_Static_assert(sizeof(struct cache_stats) == STATS * sizeof(uint64_t), "statistics are plain words");

static void hits_since(struct cache_stats *out, const struct cache_stats *now,
                       const struct cache_stats *then) {
    memset(out->hits, 0, sizeof out->hits);
    memset(out->tier_hits, 0, sizeof out->tier_hits);
    for (int t = 0; t < KVF_TIERS; t++) {
        for (int k = 0; k < KVF_CAUSES; k++) {
            uint64_t n = now->hits_in[t][k], before = then->hits_in[t][k];
            out->hits_in[t][k] = n > before ? n - before : 0;
            out->hits[k] += out->hits_in[t][k];
            out->tier_hits[t] += out->hits_in[t][k];
        }
    }
    for (int k = 0; k < KVF_CAUSES; k++) out->misses[k] = out->lookups[k] - out->hits[k];
}

void cache_stats_since(struct cache_stats *out, const struct cache_stats *now,
                       const struct cache_stats *then) {
    uint64_t *to = (uint64_t *)out;
    const uint64_t *a = (const uint64_t *)now, *b = (const uint64_t *)then;
    for (size_t i = 0; i < STATS; i++) to[i] = a[i] - b[i];
    memcpy(out->used_bytes, now->used_bytes, sizeof out->used_bytes);
    memcpy(out->entries, now->entries, sizeof out->entries);
    out->waiting = now->waiting;
    hits_since(out, now, then);
}

void cache_stats_owe(struct cache_stats *now, const struct cache_stats *then) {
    for (int t = 0; t < KVF_TIERS; t++)
        for (int k = 0; k < KVF_CAUSES; k++)
            if (then->hits_in[t][k] > now->hits_in[t][k]) now->hits_in[t][k] = then->hits_in[t][k];
}

size_t cache_memory_bytes(const struct cache *c) {
    size_t keys = index_count(&c->index);
    size_t all =
        (size_t)c->entries.chunk_count * (ENTRY_CHUNK * sizeof(struct entry) + sizeof(struct entry *)) +
        c->entries.node_cap * (sizeof(struct policy_node) + (c->entries.next_use ? sizeof(uint64_t) : 0)) +
        index_bytes(&c->index);
    return (all + keys - 1) / keys;
}

uint64_t cache_under_way(const struct cache *c) {
    uint64_t n = 0;
    for (uint32_t i = 0; i < c->ops.chunk_count; i++) {
        for (uint32_t j = 0; j < OP_CHUNK; j++) n += c->ops.chunks[i][j].live;
    }
    return n;
}
