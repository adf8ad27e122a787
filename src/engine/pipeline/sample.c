#include "engine/pipeline/sample.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/hash.h"
#include "cache/stack.h"

enum { BINS = 64 * SAMPLE_STEPS };

struct sample {
    struct references kept;
    struct cache_key key; /* the last one hashed: a request names its entry several times */
    uint64_t hash;        /* of it; no key is all zero */
    struct stack *stack;
    uint64_t threshold; /* of the upper 32 bits */
    bool first;         /* the next access opens a request */
    uint64_t now_ns;
    uint64_t measured_from; /* index */
    uint64_t lookups;       /* there were, sampled or not; decode's left out */
    /* weights of sampled lookups, by group: found at a distance, found never */
    double found[SAMPLE_GROUPS][BINS];
    double never[SAMPLE_GROUPS];
    double unwritten;    /* of these, of entries that a request under way is to write */
    bool written_later;  /* what the request that is told brings is there when computed */
    bool some_unwritten; /* of its entries in the sample */
    bool is_unwritten[2 * SAMPLE_REFERENCES]; /* by id: of no request yet */
    bool alone;                               /* without the lock */
    pthread_mutex_t lock;
    const struct scenario *scenario; /* of the flight that is told, under the lock */
    uint64_t blocks_from;            /* index in kept of the first block of the request under way */
    bool in_blocks;
};

/* Bits of the hash: the upper 32 decide who is in, the lowest in which group. */
static uint64_t key_hash(struct sample *s, struct cache_key key) {
    if (cache_key_equal(key, s->key)) return s->hash;
    s->key = key;
    return s->hash = hash_mix64(hash_mix64(key.lo) + key.hi);
}

struct sample *sample_open(bool alone) {
    struct sample *s = mem_zalloc(1, sizeof *s);
    s->alone = alone;
    s->threshold = UINT64_C(1) << 32;
    s->stack = stack_open(2 * SAMPLE_REFERENCES);
    pthread_mutex_init(&s->lock, NULL);
    return s;
}

void sample_close(struct sample *s) {
    if (!s) return;
    references_free(&s->kept);
    stack_close(s->stack);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

static void enter(struct sample *s) {
    if (!s->alone) pthread_mutex_lock(&s->lock);
}

static void leave(struct sample *s) {
    if (!s->alone) pthread_mutex_unlock(&s->lock);
}

double sample_part(const struct sample *s) {
    return (double)s->threshold * 0x1p-32;
}

/* ---- what is kept ---- */

static bool taken(struct sample *s, struct cache_key key) {
    return (key_hash(s, key) >> 32) < s->threshold;
}

static bool is_block(const struct reference *at) {
    return at->kind == REFERENCE_BLOCK || at->kind == REFERENCE_LAST_BLOCK;
}

/* Keeps one more; requests whose first access is not in the sample begin with the first that is. */
static void keep(struct references *to, const struct reference *at, struct cache_key key, uint64_t bytes,
                 uint64_t *arrival_ns) {
    references_add(to, (enum reference_kind)at->kind, key, bytes, (enum kvf_cause)at->cause, at->klass);
    if (!arrival_ns) return;
    to->at[to->count - 1].first = true;
    references_request(to, *arrival_ns);
}

/* The last of the blocks of a request that is left ends them. */
static void close_blocks(struct references *r, uint64_t from) {
    if (r->count > from && is_block(&r->at[r->count - 1])) r->at[r->count - 1].kind = REFERENCE_LAST_BLOCK;
}

static void stack_again(struct sample *s) {
    uint64_t *last = mem_zalloc((size_t)s->kept.ids + 1, sizeof *last);
    stack_close(s->stack);
    s->stack = stack_open(2 * SAMPLE_REFERENCES);
    for (uint64_t i = 0; i < s->kept.count; i++) last[s->kept.at[i].id] = i + 1;
    for (uint64_t i = 0; i < s->kept.count; i++) {
        uint32_t id = s->kept.at[i].id;
        if (last[id] == i + 1) stack_touch(s->stack, id, s->kept.bytes[id]);
    }
    free(last);
}

/* Half of the entries leave. Their lookups stay counted: they weigh what they weighed. */
static void halve(struct sample *s) {
    struct references old = s->kept, kept = {.at = NULL};
    bool *unwritten = mem_zalloc(sizeof s->is_unwritten, 1);
    uint64_t measured_from = UINT64_MAX, request = 0, blocks_from = 0, opened = 0;
    s->threshold /= 2;
    for (uint64_t i = 0; i < old.count; i++) {
        const struct reference *at = &old.at[i];
        request += at->first;
        if (i == s->measured_from) measured_from = kept.count;
        if (taken(s, old.key[at->id])) {
            uint64_t *arrival = request > opened ? &old.arrival_ns[request - 1] : NULL;
            struct reference open = *at;
            if (is_block(at)) open.kind = REFERENCE_BLOCK;
            keep(&kept, &open, old.key[at->id], old.bytes[at->id], arrival);
            unwritten[kept.at[kept.count - 1].id] = s->is_unwritten[at->id];
            opened = request;
        }
        if (at->kind != REFERENCE_BLOCK) {
            if (at->kind == REFERENCE_LAST_BLOCK) close_blocks(&kept, blocks_from);
            blocks_from = kept.count;
        }
    }
    s->measured_from = measured_from < kept.count ? measured_from : kept.count;
    s->kept = kept;
    memcpy(s->is_unwritten, unwritten, sizeof s->is_unwritten);
    free(unwritten);
    references_free(&old);
    stack_again(s);
}

/* ---- distances ---- */

static unsigned bin_of(double bytes) {
    if (!(bytes > 1)) return 0;
    double bin = ceil(log2(bytes) * SAMPLE_STEPS);
    return bin < BINS ? (unsigned)bin : BINS - 1;
}

static double bin_bytes(unsigned bin) { /* the most that lands in it */
    return exp2((double)bin / SAMPLE_STEPS);
}

/* The distance of one that no request has written yet is that of one that never was: no room helps. */
static uint64_t distance_of(struct sample *s, uint32_t id) {
    if (!s->is_unwritten[id]) return stack_distance(s->stack, id);
    s->some_unwritten = true;
    return STACK_NEVER;
}

static void touch(struct sample *s, uint32_t id, bool brings) {
    if (brings && s->written_later && !stack_has(s->stack, id))
        s->is_unwritten[id] = s->some_unwritten = true;
    stack_touch(s->stack, id, s->kept.bytes[id]);
}

static void count_lookup(struct sample *s, uint32_t id, uint64_t distance, bool unwritten) {
    unsigned group = (unsigned)(key_hash(s, s->kept.key[id]) % SAMPLE_GROUPS);
    double part = sample_part(s);
    if (unwritten) s->unwritten += 1 / part;
    if (distance == STACK_NEVER)
        s->never[group] += 1 / part;
    else
        s->found[group][bin_of((double)distance / part)] += 1 / part;
}

void sample_request(struct sample *s, uint64_t now_ns) {
    s->first = true;
    s->now_ns = now_ns;
}

/* An entry that was never written cannot be held. */
static bool touches(enum reference_kind kind, uint64_t bytes, bool accessed) {
    if (kind == REFERENCE_WRITE) return !accessed; /* of what is there it is no access */
    return accessed || bytes > 0;
}

static bool add(struct sample *s, enum reference_kind kind, struct cache_key key, uint64_t bytes,
                enum kvf_cause cause, uint8_t klass) {
    if (!taken(s, key) || s->kept.count == 2 * SAMPLE_REFERENCES) return false;
    struct reference at = {.kind = (uint8_t)kind, .cause = (uint8_t)cause, .klass = klass};
    keep(&s->kept, &at, key, bytes, s->first ? &s->now_ns : NULL);
    s->first = false;
    return true;
}

void sample_access(struct sample *s, enum reference_kind kind, struct cache_key key, uint64_t bytes,
                   enum kvf_cause cause, uint8_t klass) {
    bool counts = (kind == REFERENCE_LOOKUP || kind == REFERENCE_FILL) && cause != KVF_CAUSE_DECODE;
    s->lookups += counts;
    if (s->kept.count >= SAMPLE_REFERENCES) halve(s);
    if (!add(s, kind, key, bytes, cause, klass)) return;
    uint32_t id = s->kept.at[s->kept.count - 1].id;
    if (counts) count_lookup(s, id, distance_of(s, id), s->is_unwritten[id]);
    if (touches(kind, s->kept.bytes[id], stack_has(s->stack, id))) touch(s, id, kind == REFERENCE_WRITE);
}

void sample_block(struct sample *s, struct cache_key key, uint64_t bytes, enum kvf_cause cause,
                  uint8_t klass) {
    if (!s->in_blocks) {
        if (s->kept.count >= SAMPLE_REFERENCES) halve(s);
        s->in_blocks = true;
        s->blocks_from = s->kept.count;
    }
    s->lookups++;
    add(s, REFERENCE_BLOCK, key, bytes, cause, klass);
}

void sample_blocks_end(struct sample *s, bool touch_forward) {
    uint64_t from = s->blocks_from, to = s->kept.count, farthest = 0;
    bool behind_unwritten = false;
    s->in_blocks = false;
    if (from == to) return;
    for (uint64_t i = from; i < to; i++) {
        uint32_t id = s->kept.at[i].id;
        uint64_t distance = distance_of(s, id);
        if (farthest != STACK_NEVER) behind_unwritten = s->is_unwritten[id];
        if (distance > farthest) farthest = distance;
        count_lookup(s, id, farthest, behind_unwritten && stack_has(s->stack, id));
    }
    for (uint64_t k = 0; k < to - from; k++) {
        touch(s, s->kept.at[touch_forward ? from + k : to - 1 - k].id, true);
    }
    close_blocks(&s->kept, from);
}

/* ---- what the engine tells ---- */

static void told(void *ctx, enum reference_kind kind, struct cache_key key, uint64_t bytes,
                 enum kvf_cause cause, uint8_t klass) {
    struct sample *s = ctx;
    bool block = kind == REFERENCE_BLOCK || kind == REFERENCE_LAST_BLOCK;
    if (!block)
        sample_access(s, kind, key, bytes, cause, klass);
    else
        sample_block(s, key, bytes, cause, klass);
    if (kind == REFERENCE_LAST_BLOCK)
        sample_blocks_end(s, s->scenario->cache.touch_order == KVF_TOUCH_FORWARD);
}

/* Preconditioning entries are dropped before the run. */
void sample_flight(struct sample *s, const struct scenario *scenario, struct flight *f, uint64_t now_ns) {
    bool filler = f->internal && cache_key_kind(f->key) == CACHE_KEY_FILL;
    f->unwritten = false;
    if (f->req.kind == REQUEST_INGEST || (filler && scenario->run.precondition_bytes > 0)) return;
    enter(s);
    s->scenario = scenario;
    s->some_unwritten = false;
    sample_request(s, now_ns);
    s->written_later = !f->internal;
    if (f->internal)
        sample_access(s, REFERENCE_WRITE, f->key, f->bytes, f->cause, (uint8_t)f->req.klass);
    else
        references_walk(scenario, &f->req, &(struct references_sink){told, s});
    s->written_later = false;
    f->unwritten = s->some_unwritten;
    leave(s);
}

static void is_written(void *ctx, enum reference_kind kind, struct cache_key key, uint64_t bytes,
                       enum kvf_cause cause, uint8_t klass) {
    struct sample *s = ctx;
    uint32_t id;
    (void)kind, (void)bytes, (void)cause, (void)klass;
    if (taken(s, key) && references_find(&s->kept, key, &id)) s->is_unwritten[id] = false;
}

void sample_written(struct sample *s, const struct scenario *scenario, struct flight *f) {
    if (!f->unwritten) return;
    f->unwritten = false;
    enter(s);
    references_walk(scenario, &f->req, &(struct references_sink){is_written, s});
    leave(s);
}

void sample_chunk(struct sample *s, enum reference_kind kind, struct cache_key key, uint64_t bytes) {
    enter(s);
    sample_access(s, kind, key, bytes, KVF_CAUSE_RAG, 0);
    leave(s);
}

void sample_measure_from_here(struct sample *s) {
    enter(s);
    s->measured_from = s->kept.count;
    leave(s);
}

void sample_look(struct sample *s) {
    enter(s);
}

void sample_looked(struct sample *s) {
    leave(s);
}

/* ---- what it says ---- */

/* Weights of the lookups of all groups but one (SAMPLE_GROUPS: of all), and of those beyond `bytes`. Of the
 * bin that the bytes end in, a part. */
static double ratio_without(const struct sample *s, unsigned left_out, double bytes) {
    double all = 0, beyond = 0, at = bytes > 1 ? log2(bytes) * SAMPLE_STEPS : 0;
    for (unsigned g = 0; g < SAMPLE_GROUPS; g++) {
        if (g == left_out) continue;
        all += s->never[g];
        beyond += s->never[g];
        for (unsigned b = 0; b < BINS; b++) {
            double n = s->found[g][b];
            all += n;
            if (b > at) beyond += n * fmin((double)b - at, 1);
        }
    }
    if (left_out == SAMPLE_GROUPS && s->threshold < UINT64_C(1) << 32) all = fmax((double)s->lookups, beyond);
    return all > 0 ? beyond / all : (double)NAN;
}

double sample_miss_ratio(const struct sample *s, double bytes, double *error) {
    double one[SAMPLE_GROUPS], mean = 0, sum = 0;
    unsigned groups = 0;
    for (unsigned g = 0; error && g < SAMPLE_GROUPS; g++) {
        one[groups] = ratio_without(s, g, bytes);
        if (!isnan(one[groups])) mean += one[groups++];
    }
    for (unsigned g = 0; g < groups; g++) sum += (one[g] - mean / groups) * (one[g] - mean / groups);
    bool all = s->threshold == UINT64_C(1) << 32;
    if (error) *error = all ? 0 : groups > 1 ? sqrt(sum * (groups - 1) / groups) : (double)NAN;
    return ratio_without(s, SAMPLE_GROUPS, bytes);
}

void sample_firsts(const struct sample *s, double *first, double *all) {
    *first = 0;
    for (unsigned g = 0; g < SAMPLE_GROUPS; g++) *first += s->never[g];
    *all = (double)s->lookups;
}

double sample_unwritten(const struct sample *s) {
    return s->unwritten;
}

double sample_reuse_bytes(const struct sample *s, double part) {
    double sum[BINS] = {0}, all = 0, so_far = 0;
    for (unsigned b = 0; b < BINS; b++) {
        for (unsigned g = 0; g < SAMPLE_GROUPS; g++) sum[b] += s->found[g][b];
        all += sum[b];
    }
    for (unsigned b = 0; b < BINS && all > 0; b++) {
        so_far += sum[b];
        if (so_far >= part * all) return bin_bytes(b);
    }
    return (double)NAN;
}

const struct references *sample_references(const struct sample *s, uint64_t *measured_from) {
    *measured_from = s->measured_from;
    return &s->kept;
}
