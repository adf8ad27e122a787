/* Stack distances against a list that is walked, and what curves make of them against the cache itself. */
#include <inttypes.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/rng.h"
#include "cache/stack.h"
#include "scenario/load.h"
#include "study/sweep/curve.h"

enum { IDS = 60 };

static uint64_t below(struct rng *rng, uint64_t n) {
    return rng_range(rng, 0, n - 1);
}

/* The stack as a list, most recent first. */
struct list {
    uint32_t id[IDS];
    unsigned count;
};

static uint64_t list_distance(const struct list *l, uint32_t id, const uint64_t *bytes) {
    uint64_t sum = 0;
    for (unsigned i = 0; i < l->count; i++) {
        sum += bytes[l->id[i]];
        if (l->id[i] == id) return sum;
    }
    return STACK_NEVER;
}

static void list_touch(struct list *l, uint32_t id) {
    unsigned at = 0;
    while (at < l->count && l->id[at] != id) at++;
    if (at == l->count) l->count++;
    memmove(&l->id[1], &l->id[0], at * sizeof l->id[0]);
    l->id[0] = id;
}

/* a b c a: between the two accesses of a lie b and c. */
static void a_worked_example(void **state) {
    (void)state;
    struct stack *s = stack_open(3);
    assert_true(stack_distance(s, 0) == STACK_NEVER);
    stack_touch(s, 0, 10);
    assert_int_equal(stack_distance(s, 0), 10);
    stack_touch(s, 1, 1);
    stack_touch(s, 2, 5);
    assert_int_equal(stack_distance(s, 0), 16);
    assert_int_equal(stack_distance(s, 1), 6);
    stack_touch(s, 0, 10);
    stack_touch(s, 0, 10);
    assert_int_equal(stack_distance(s, 0), 10);
    assert_int_equal(stack_distance(s, 1), 16);
    stack_close(s);
}

static void distances_are_those_of_a_list(void **state) {
    (void)state;
    struct stack *s = stack_open(IDS);
    struct list list = {0};
    uint64_t bytes[IDS];
    struct rng rng;
    rng_init(&rng, 5, KVF_RNG_TEST, 0);
    for (uint32_t i = 0; i < IDS; i++) bytes[i] = 1 + below(&rng, 1000);
    for (int n = 0; n < 20000; n++) { /* its times are used up many times */
        uint32_t id = (uint32_t)(below(&rng, 2) ? below(&rng, IDS) : below(&rng, 8));
        assert_true(stack_distance(s, id) == list_distance(&list, id, bytes));
        stack_touch(s, id, bytes[id]);
        list_touch(&list, id);
    }
    stack_close(s);
}

/* ---- curves ---- */

static struct scenario scenario;

static void scenario_make(const char *more) {
    struct scenario_report report;
    char text[2000];
    snprintf(text, sizeof text,
             "model: {preset: tiny-1b, layers: 1}\nmode: simulate\nrun: {duration: 1h, warmup: 0s}\n"
             "tiers: {cpu: {capacity: 1MiB}}\n%s",
             more);
    if (scenario_load(NULL, text, NULL, 0, &scenario, NULL, &report) != 0) fail_msg("%s", report.errors.data);
    scenario_load_free(&report);
}

/* A tree of prompts: each request takes a branch and goes a random number of blocks along it. */
static void prefixes_make(struct references *r, uint64_t seed, bool sizes) {
    struct rng rng;
    rng_init(&rng, seed, KVF_RNG_TEST, 0);
    memset(r, 0, sizeof *r);
    for (int n = 0; n < 1500; n++) {
        uint64_t branch = below(&rng, 12), shared = below(&rng, 6), length = 1 + below(&rng, 20);
        for (uint64_t i = 0; i < length; i++) {
            uint64_t path = i <= shared ? i : 1000 * (branch + 1) + i;
            references_add(r, i + 1 < length ? REFERENCE_BLOCK : REFERENCE_LAST_BLOCK,
                           cache_key_make(CACHE_KEY_TRACE, 0, path), sizes ? 1000 + 700 * (path % 7) : 4096,
                           KVF_CAUSE_PREFIX, 0);
        }
    }
    assert_true(r->blocks);
}

/* How many misses there are with room for everything. */
static uint64_t expect_same(const struct references *r) {
    enum { CAPACITIES = 40 };
    struct sweep_curve stack[CAPACITIES] = {{.policy = ""}};
    struct err e = {0};
    uint64_t before = UINT64_MAX;
    for (unsigned c = 0; c < CAPACITIES; c++) /* from what holds any request on */
        stack[c].capacity_bytes = 5 * r->largest_bytes / 4 + r->total_bytes * 2 * c / CAPACITIES;
    curve_stack(r, &scenario, KVF_TIER_CPU, stack, CAPACITIES);
    for (unsigned c = 0; c < CAPACITIES; c++) {
        struct sweep_curve tried = {.capacity_bytes = stack[c].capacity_bytes, .sample = 1};
        assert_int_equal(curve_try(r, &scenario, KVF_TIER_CPU, KVF_EVICTION_LRU, &tried, &e), 0);
        assert_int_equal(tried.lookups, stack[c].lookups);
        if (tried.misses != stack[c].misses)
            fail_msg("capacity %" PRIu64 ": %" PRIu64 " misses by distance, %" PRIu64 " in the cache",
                     tried.capacity_bytes, stack[c].misses, tried.misses);
        assert_true(tried.misses <= before);
        before = tried.misses;
    }
    return before;
}

static void the_cache_misses_what_the_distances_say(void **state) {
    (void)state;
    struct references r;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        scenario_make(seed % 2 ? "cache: {granularity: block, headroom: 0}\n"
                               : "cache: {granularity: block, headroom: 0.2, touch_order: forward}\n");
        prefixes_make(&r, seed, seed > 2);
        /* what stands behind a block that is missing is a miss even where it is there */
        assert_true(expect_same(&r) > r.ids);
        references_free(&r);
    }
}

/* 600 requests that grow 40 chains of blocks behind a common first one, in a file of Mooncake's. */
static void chains_write(FILE *f) {
    enum { CHAINS = 40, LONGEST = 64 };
    static uint64_t ids[CHAINS][LONGEST];
    unsigned length[CHAINS] = {0};
    uint64_t fresh = 1;
    struct rng rng;
    rng_init(&rng, 11, KVF_RNG_TEST, 0);
    for (unsigned row = 0; row < 600; row++) {
        uint64_t chain = below(&rng, CHAINS), more = 1 + below(&rng, 6);
        if (length[chain] == 0 || length[chain] + more > LONGEST) { /* a conversation of its own begins */
            ids[chain][0] = 0;
            length[chain] = 1;
        }
        while (more-- > 0) ids[chain][length[chain]++] = fresh++;
        fprintf(f, "{\"timestamp\": %u, \"input_length\": %u, \"output_length\": 5, \"hash_ids\": [",
                100 * row, 512 * length[chain]);
        for (unsigned i = 0; i < length[chain]; i++) fprintf(f, "%s%" PRIu64, i ? ", " : "", ids[chain][i]);
        fputs("]}\n", f);
    }
}

static void the_same_on_a_trace(void **state) {
    (void)state;
    char path[] = "/tmp/kvf-test-stack-XXXXXX", more[900];
    struct references r;
    struct err e = {0};
    FILE *f = fdopen(mkstemp(path), "w");
    assert_non_null(f);
    chains_write(f);
    assert_int_equal(fclose(f), 0);
    snprintf(more, sizeof more,
             "cache: {granularity: block, headroom: 0}\n"
             "workload: {source: mooncake, path: %s, limit: 600}\n",
             path);
    scenario_make(more);
    assert_int_equal(references_collect(&r, &scenario, &e), 0);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(r.requests, 600);
    assert_int_equal(expect_same(&r), r.ids); /* ids are chains: what comes for the first time misses */
    references_free(&r);
}

/* a b a c a in room for two: LRU keeps a, so that only the first accesses miss; FIFO puts a out for c. */
static void policies_differ_as_worked_by_hand(void **state) {
    (void)state;
    static const char keys[] = "abacaba";
    struct references r = {0};
    struct err e = {0};
    scenario_make("cache: {headroom: 0}\n");
    for (const char *p = keys; *p; p++)
        references_add(&r, REFERENCE_FILL, cache_key_make(CACHE_KEY_TRACE, 0, (uint64_t)*p), 100,
                       KVF_CAUSE_PREFIX, 0);
    assert_false(r.blocks);
    struct sweep_curve lru = {.capacity_bytes = 200, .sample = 1}, fifo = lru;
    assert_int_equal(curve_try(&r, &scenario, KVF_TIER_CPU, KVF_EVICTION_LRU, &lru, &e), 0);
    assert_int_equal(curve_try(&r, &scenario, KVF_TIER_CPU, KVF_EVICTION_FIFO, &fifo, &e), 0);
    /* lru: a b miss, a hits, c for b, a hits, b for c, a hits; fifo: c for a, a for b, b for c, a hits */
    assert_int_equal(lru.misses, 4);
    assert_int_equal(fifo.misses, 5);
    assert_int_equal(lru.lookups, 7);
    references_free(&r);
}

/* Half of the entries in a cache of half the size miss about as often. */
static void a_sample_comes_near(void **state) {
    (void)state;
    struct references r = {0};
    struct rng rng;
    struct err e = {0};
    rng_init(&rng, 9, KVF_RNG_TEST, 0);
    scenario_make("cache: {headroom: 0}\n");
    for (int n = 0; n < 60000; n++) {
        uint64_t a = below(&rng, 4000), b = below(&rng, 4000);
        references_add(&r, REFERENCE_FILL, cache_key_make(CACHE_KEY_TRACE, 0, a < b ? a : b), 4096,
                       KVF_CAUSE_PREFIX, 0);
    }
    struct sweep_curve whole = {.capacity_bytes = 4096 * 1000, .sample = 1}, part = whole;
    part.sample = curve_sample(&r, 20000);
    assert_true(part.sample == 0.25);
    assert_int_equal(curve_try(&r, &scenario, KVF_TIER_CPU, KVF_EVICTION_LRU, &whole, &e), 0);
    assert_int_equal(curve_try(&r, &scenario, KVF_TIER_CPU, KVF_EVICTION_LRU, &part, &e), 0);
    assert_in_range(part.lookups, 60000 / 4 * 8 / 10, 60000 / 4 * 12 / 10);
    assert_true(part.miss_ratio > whole.miss_ratio - 0.03 && part.miss_ratio < whole.miss_ratio + 0.03);
    assert_true(curve_sample(&r, 60000) == 1);
    /* entries of 4 KiB: a quarter of 1,000 is more than a hundred, of 300 and of 40 it is not */
    assert_true(curve_sample_at(&r, 4096 * 1000, 0.25) == 0.25);
    assert_true(curve_sample_at(&r, 4096 * 300, 0.25) == 0.5);
    assert_true(curve_sample_at(&r, 4096 * 40, 0.25) == 1);
    references_free(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_worked_example),
        cmocka_unit_test(distances_are_those_of_a_list),
        cmocka_unit_test(the_cache_misses_what_the_distances_say),
        cmocka_unit_test(the_same_on_a_trace),
        cmocka_unit_test(policies_differ_as_worked_by_hand),
        cmocka_unit_test(a_sample_comes_near),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("stack", tests, NULL, NULL);
}
