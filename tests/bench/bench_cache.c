/* How many decisions of the cache a second under each eviction policy, on one core.
 *
 *   bench_cache POLICY [STEPS]
 *
 * One tier that holds 1,048,576 entries of one size; twice as many keys, asked for at random, the ones in
 * the first eighth as often as all others together: what is resident is read, what is not is written, which
 * puts another one out. All keys are asked for once, then as many again at random and more before the
 * measurement. Keys are blocks, eight of which follow one another. A decision is a lookup, a plan or a
 * victim. Prints millions of decisions per second of processor time, bytes of memory per resident entry, and
 * the share of hits. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/rng.h"
#include "cache/cache.h"
#include "cache/policy.h"
#include "tests/bench/bench_places.h"

enum { RESIDENT = 1 << 20, KEYS = 2 * RESIDENT, HOT = KEYS / 8, CHAIN = 8, STEPS = 2000000 };
#define ENTRY_BYTES UINT64_C(1048576)

static int fail(const char *what) {
    fprintf(stderr, "bench_cache: %s\n", what);
    return 1;
}

/* The keys in the order in which they are asked for: all once, which fills the tier, then at random. With
 * each goes the position of its next access, as a trace that is known would give it. */
struct sequence {
    uint32_t *key;
    uint64_t *next_use;
    size_t count;
};

static bool sequence_make(struct sequence *s, size_t steps) {
    struct rng rng;
    uint64_t *seen = malloc(KEYS * sizeof *seen);
    s->count = 3 * KEYS + steps;
    s->key = malloc(s->count * sizeof *s->key);
    s->next_use = malloc(s->count * sizeof *s->next_use);
    if (!seen || !s->key || !s->next_use) return false;
    rng_init(&rng, 42, KVF_RNG_USER, 0);
    for (size_t i = 0; i < s->count; i++) {
        uint64_t k = i < KEYS ? (i * 7919) % KEYS : rng_range(&rng, 0, (i & 1 ? HOT : KEYS) - 1);
        s->key[i] = (uint32_t)k;
    }
    for (size_t k = 0; k < KEYS; k++) seen[k] = UINT64_MAX;
    for (size_t i = s->count; i-- > 0;) {
        s->next_use[i] = seen[s->key[i]];
        seen[s->key[i]] = i + 1;
    }
    free(seen);
    return true;
}

/* Blocks are written in any order. */
static void links_make(struct cache *c, uint64_t k) {
    struct cache_key key = cache_key_make(CACHE_KEY_TURN, k, 1);
    if (!cache_links(c)) return;
    if (k % CHAIN) cache_link(c, key, cache_key_make(CACHE_KEY_TURN, k - 1, 1));
    if ((k + 1) % CHAIN) cache_link(c, cache_key_make(CACHE_KEY_TURN, k + 1, 1), key);
}

static void cache_step(struct cache *c, const struct sequence *s, size_t i) {
    struct cache_key key = cache_key_make(CACHE_KEY_TURN, s->key[i], 1);
    struct cache_access access = {
        .cause = KVF_CAUSE_CONVERSATION, .klass = s->key[i] % 4, .next_use = s->next_use[i]};
    struct cache_op *op;
    cache_time(c, i * 1000);
    int tier = cache_where(c, key);
    cache_count_lookup(c, KVF_CAUSE_CONVERSATION, tier);
    if (tier >= 0)
        cache_read(c, key, &access, 0, c);
    else {
        cache_write(c, key, ENTRY_BYTES, &access, 0, c, &op);
        links_make(c, s->key[i]);
    }
    while ((op = cache_next_ready(c)) != NULL) cache_finish(c, op, CACHE_DONE, false);
}

int main(int argc, char **argv) {
    uint64_t places = 0;
    struct err e = {0};
    struct sequence s;
    struct cache_stats before, after;
    struct cache_config config = {
        .placement = KVF_PLACEMENT_WATERFALL,
        .promotion = KVF_PROMOTION_NEVER,
        .ttl_ns = UINT64_C(3000000000),
        .rules = {{.cause = -1, .klass = 0, .priority = 80, .duration_ns = 1000000000},
                  {.cause = -1, .klass = 1, .priority = 20}},
        .rule_count = 2,
        .ctx = &places,
        .alloc = place_alloc,
        .drop = place_drop};
    unsigned policy = 0;
    size_t steps = argc > 2 ? strtoul(argv[2], NULL, 10) : STEPS;
    while (policy < TRAITS_POLICIES && (argc < 2 || strcmp(traits_policy(policy)->word, argv[1]) != 0))
        policy++;
    if (policy == TRAITS_POLICIES) return fail("usage: bench_cache POLICY [STEPS]");
    if (!sequence_make(&s, steps)) return fail("no memory");
    config.on[KVF_TIER_CPU] = true;
    config.usable_bytes[KVF_TIER_CPU] = RESIDENT * ENTRY_BYTES;
    config.eviction[KVF_TIER_CPU] = (enum scenario_eviction)policy;
    struct cache *c = cache_open(&config, &e);
    if (!c) return fail(e.text);
    size_t warm = s.count - steps;
    for (size_t i = 0; i < warm; i++) cache_step(c, &s, i);
    cache_stats(c, &before);
    uint64_t from = clock_thread_cpu_ns();
    for (size_t i = warm; i < s.count; i++) cache_step(c, &s, i);
    uint64_t took = clock_thread_cpu_ns() - from;
    cache_stats(c, &after);
    if (cache_check(c, &e) != 0) return fail(e.text);
    printf("%.3f %zu %.4f\n", (double)(after.decisions - before.decisions) * 1e3 / (double)took,
           cache_memory_bytes(c),
           (double)(after.hits[KVF_CAUSE_CONVERSATION] - before.hits[KVF_CAUSE_CONVERSATION]) /
               (double)steps);
    cache_close(c);
    free(s.key);
    free(s.next_use);
    return 0;
}
