/* The sample of a run's accesses against the exact stack distances of all of them. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/rng.h"
#include "cache/stack.h"
#include "engine/pipeline/sample.h"

enum { KEYS = 200000, ENTRY = 1000 };

static struct cache_key key_of(uint64_t id) {
    return cache_key_make(CACHE_KEY_TRACE, 0, id);
}

/* The share of lookups beyond each of the capacities, by the definition. */
struct exact {
    struct stack *stack;
    double lookups, beyond[4];
};
static const uint64_t capacities[4] = {(uint64_t)1000 * ENTRY, (uint64_t)5000 * ENTRY,
                                       (uint64_t)20000 * ENTRY, (uint64_t)80000 * ENTRY};

static void exact_look(struct exact *x, uint32_t id, uint64_t bytes) {
    uint64_t distance = stack_distance(x->stack, id);
    x->lookups++;
    for (int c = 0; c < 4; c++) x->beyond[c] += distance == STACK_NEVER || distance > capacities[c];
    stack_touch(x->stack, id, bytes);
}

/* Few are used often, most seldom: ranks by a power law. */
static uint32_t draw(struct rng *rng, uint32_t keys) {
    double u = (double)rng_range(rng, 1, UINT32_MAX) / (double)UINT32_MAX;
    return (uint32_t)((double)(keys - 1) * u * u * u);
}

/* Nothing leaves: all is exact but for the bins. */
static void a_short_run_is_known_as_a_whole(void **state) {
    (void)state;
    struct sample *s = sample_open(false);
    double error;
    assert_true(isnan(sample_miss_ratio(s, 1e9, NULL)));
    sample_request(s, 5);
    for (uint64_t i = 0; i < 3; i++) sample_access(s, REFERENCE_WRITE, key_of(i), 1000, KVF_CAUSE_PREFILL, 0);
    sample_measure_from_here(s);
    sample_request(s, 6);
    for (uint64_t i = 0; i < 3; i++) /* each behind the two others */
        sample_access(s, REFERENCE_LOOKUP, key_of(i), 0, KVF_CAUSE_CONVERSATION, 0);
    sample_access(s, REFERENCE_LOOKUP, key_of(9), 0, KVF_CAUSE_CONVERSATION, 0); /* was never there */
    sample_access(s, REFERENCE_FILL, key_of(0), 1000, KVF_CAUSE_DECODE, 0);      /* no lookup of reuse */
    assert_true(sample_part(s) == 1);
    assert_true(sample_miss_ratio(s, 2700, &error) == 1);
    assert_true(sample_miss_ratio(s, 3300, NULL) == 0.25);
    assert_true(error == 0);
    double first, all;
    sample_firsts(s, &first, &all);
    assert_true(first == 1 && all == 4);
    assert_in_range((uint64_t)sample_reuse_bytes(s, 0.99), 3000, 3272);
    uint64_t from;
    const struct references *r = sample_references(s, &from);
    assert_int_equal(from, 3);
    assert_int_equal(r->count, 8);
    assert_int_equal(r->requests, 2);
    assert_true(r->at[0].first && r->at[3].first && !r->at[4].first);
    sample_close(s);
}

/* Three million accesses, of which 65,536 are kept: within three of its own standard errors, and 0.02. */
static void a_long_run_is_known_within_the_error(void **state) {
    (void)state;
    struct sample *s = sample_open(false);
    struct exact x = {.stack = stack_open(KEYS)};
    struct rng rng;
    rng_init(&rng, 11, KVF_RNG_TEST, 0);
    for (int i = 0; i < 3000000; i++) {
        uint32_t id = draw(&rng, KEYS);
        if (i % 10 == 0) sample_request(s, (uint64_t)i);
        sample_access(s, REFERENCE_FILL, key_of(id), ENTRY, KVF_CAUSE_PREFIX, 0);
        exact_look(&x, id, ENTRY);
        uint64_t from;
        if (i % 100000 == 0) assert_true(sample_references(s, &from)->count <= SAMPLE_REFERENCES);
    }
    assert_in_range((uint64_t)(1 / sample_part(s)), 32, 128);
    for (int c = 0; c < 4; c++) {
        double error, got = sample_miss_ratio(s, (double)capacities[c], &error);
        double want = x.beyond[c] / x.lookups;
        if (!(error > 0 && error < 0.03) || fabs(got - want) > fmax(3 * error, 0.02))
            fail_msg("capacity %d: %.4f, exactly %.4f, its error is %.4f", c, got, want, error);
    }
    stack_close(x.stack);
    sample_close(s);
}

/* Contexts of blocks that share their beginnings: found is what has all before it. */
static void blocks_are_found_behind_others(void **state) {
    (void)state;
    enum { SHORT = 3, LONG = 400 };
    struct sample *s = sample_open(false);
    for (int forward = 0; forward < 2; forward++) {
        for (uint64_t i = 0; i < SHORT; i++)
            sample_block(s, key_of(i + 10 * (uint64_t)forward), 1000, KVF_CAUSE_PREFIX, 0);
        sample_blocks_end(s, forward);
    }
    /* the first again: 3 blocks of the other above it; last first leaves the head on top */
    for (uint64_t i = 0; i < SHORT; i++) sample_block(s, key_of(i), 1000, KVF_CAUSE_PREFIX, 0);
    sample_blocks_end(s, false);
    assert_true(fabs(sample_miss_ratio(s, 3700, NULL) - 1) < 1e-9);
    assert_true(fabs(sample_miss_ratio(s, 6600, NULL) - 6. / 9) < 1e-9);
    struct rng rng;
    rng_init(&rng, 12, KVF_RNG_TEST, 0);
    for (int i = 0; i < 2000; i++) { /* far more than are kept */
        uint64_t branch = rng_range(&rng, 0, 199);
        sample_request(s, (uint64_t)i);
        for (uint64_t b = 0; b < LONG; b++)
            sample_block(s, key_of(b < 100 ? b : 1000 * (branch + 1) + b), 1000, KVF_CAUSE_PREFIX, 0);
        sample_blocks_end(s, false);
    }
    uint64_t from, open = 0;
    const struct references *r = sample_references(s, &from);
    assert_true(r->blocks && r->count <= SAMPLE_REFERENCES);
    for (uint64_t i = 0; i < r->count; i++) { /* each request's blocks are closed, once */
        if (r->at[i].first) assert_int_equal(open, 0);
        open = r->at[i].kind == REFERENCE_BLOCK;
    }
    assert_int_equal(open, 0);
    sample_close(s);
}

/* A context of two blocks that all have and one of its own. */
static struct flight shares_two(uint64_t ids[3], uint64_t own) {
    ids[0] = 1, ids[1] = 2, ids[2] = own;
    return (struct flight){.req = {.kind = REQUEST_INFERENCE, .ids = ids, .id_count = 3}};
}

static double firsts_of(const struct sample *s) {
    double first, all;
    sample_firsts(s, &first, &all);
    return first;
}

/* A lookup of what another request is still computing misses in a cache of any size. */
static void what_is_not_written_yet_is_found_by_nobody(void **state) {
    (void)state;
    struct scenario *s = calloc(1, sizeof *s);
    struct sample *sample = sample_open(true);
    uint64_t ids[4][3];
    struct flight f[4];
    s->cache.granularity = KVF_GRANULARITY_BLOCK;
    s->model = model_find("llama3.1-8b")->model;
    s->tensor_parallel = 1;
    s->cache.block_tokens = 16;
    for (uint64_t i = 0; i < 4; i++) f[i] = shares_two(ids[i], 10 + i);
    sample_flight(sample, s, &f[0], 1);
    sample_flight(sample, s, &f[1], 2); /* while the first computes */
    assert_true(firsts_of(sample) == 6 && sample_unwritten(sample) == 2);
    assert_true(sample_miss_ratio(sample, 1e12, NULL) == 1);
    sample_written(sample, s, &f[0]);
    sample_flight(sample, s, &f[2], 3);
    assert_true(firsts_of(sample) == 7 && sample_unwritten(sample) == 2);
    /* its own block is that of a request which has yet to write it, the two before are there */
    f[3] = shares_two(ids[3], 11);
    sample_flight(sample, s, &f[3], 4);
    assert_true(firsts_of(sample) == 8 && sample_unwritten(sample) == 3);
    for (uint64_t i = 20000; i < 200000; i++) /* far more than are kept: the rest keeps what it is */
        sample_access(sample, REFERENCE_FILL, key_of(i), ENTRY, KVF_CAUSE_PREFIX, 0);
    double unwritten = sample_unwritten(sample);
    for (uint64_t i = 1; i < 3; i++) sample_written(sample, s, &f[i]);
    sample_flight(sample, s, &f[3], 5);
    assert_true(sample_unwritten(sample) == unwritten);
    sample_close(sample);
    free(s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_short_run_is_known_as_a_whole),
        cmocka_unit_test(a_long_run_is_known_within_the_error),
        cmocka_unit_test(blocks_are_found_behind_others),
        cmocka_unit_test(what_is_not_written_yet_is_found_by_nobody),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("sample", tests, NULL, NULL);
}
