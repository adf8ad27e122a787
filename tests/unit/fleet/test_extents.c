#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <string.h>
#include <cmocka.h>

#include "base/rng.h"
#include "fleet/extents.h"

enum { PODS = 5, CONTEXTS = 7, BLOCKS = 24, STEPS = 60000, STORE = PODS };

static const double weight[KVF_TIERS] = {1.0, 0.8, 0.5, 0.3};

static uint64_t name_of(uint32_t context, uint32_t number) {
    return (uint64_t)context << 32 | number;
}

/* The table that keeps each block by itself, and a plain one of bits. */
struct both {
    struct extents *extents;
    struct holders *holders;
    unsigned bits[CONTEXTS][PODS + 1][BLOCKS];
};

static void change(struct both *b, uint32_t c, uint32_t n, uint32_t pod, enum kvf_tier tier, bool stored) {
    if (stored) {
        extents_add(b->extents, c, n, pod, tier);
        holders_add(b->holders, name_of(c, n), pod, tier);
        b->bits[c][pod][n] |= 1U << tier;
    } else {
        extents_remove(b->extents, c, n, pod, tier);
        holders_remove(b->holders, name_of(c, n), pod, tier);
        b->bits[c][pod][n] &= ~(1U << tier);
    }
}

/* Pairs and runs by the plain table. */
static void assert_counts(const struct both *b) {
    uint64_t pairs = 0, runs = 0;
    for (uint32_t c = 0; c < CONTEXTS; c++)
        for (uint32_t p = 0; p <= PODS; p++)
            for (uint32_t n = 0; n < BLOCKS; n++) {
                unsigned bits = b->bits[c][p][n];
                pairs += bits != 0;
                runs += bits != 0 && (n == 0 || b->bits[c][p][n - 1] != bits);
            }
    assert_int_equal(extents_count(b->extents), pairs);
    assert_int_equal(holders_count(b->holders), pairs);
    assert_int_equal(extents_runs(b->extents), runs);
}

static const struct holders_prefix *of_pod(const struct holders_prefix *p, uint32_t found, uint32_t pod) {
    for (uint32_t i = 0; i < found; i++)
        if (p[i].pod == pod) return &p[i];
    return NULL;
}

static void assert_match(const struct both *b, const struct extents_part *part, uint32_t parts) {
    const struct holders_prefix *p, *q;
    uint64_t block[3 * BLOCKS];
    uint32_t blocks = 0;
    for (uint32_t i = 0; i < parts; i++)
        for (uint32_t n = 0; n < part[i].blocks; n++) block[blocks++] = name_of((uint32_t)part[i].context, n);
    uint32_t expected = holders_match(b->holders, block, blocks, weight, &q);
    assert_int_equal(extents_match(b->extents, part, parts, weight, &p), expected);
    for (uint32_t i = 0; i < expected; i++) {
        const struct holders_prefix *one = of_pod(p, expected, q[i].pod);
        assert_non_null(one);
        assert_int_equal(one->blocks, q[i].blocks);
        assert_memory_equal(&one->weight, &q[i].weight, sizeof one->weight); /* to the last bit */
    }
}

static void test_answers_are_those_of_single_blocks(void **state) {
    (void)state;
    static struct both b;
    struct rng rng;
    rng_init(&rng, 3, 0, 0);
    b = (struct both){.extents = extents_open(PODS), .holders = holders_open(PODS, 0)};
    for (int step = 0; step < STEPS; step++) {
        uint32_t c = (uint32_t)rng_range(&rng, 0, CONTEXTS - 1), pod = (uint32_t)rng_range(&rng, 0, PODS);
        enum kvf_tier tier = pod == STORE ? KVF_TIER_REMOTE : (enum kvf_tier)rng_range(&rng, 0, 2);
        uint32_t from = (uint32_t)rng_range(&rng, 0, BLOCKS - 1);
        uint32_t to = rng_range(&rng, 0, 2) ? from + 1 : (uint32_t)rng_range(&rng, from, BLOCKS);
        bool stored = rng_range(&rng, 0, 9) < (step % 2000 < 1000 ? UINT64_C(7) : UINT64_C(3)),
             back = rng_range(&rng, 0, 1) != 0;
        for (uint32_t n = from; n < to; n++) change(&b, c, back ? to - 1 - (n - from) : n, pod, tier, stored);
        if (step % 97 == 0) assert_counts(&b);
        struct extents_part part[3];
        uint32_t first = (uint32_t)rng_range(&rng, 0, CONTEXTS - 1);
        for (uint32_t i = 0; i < 3; i++)
            part[i] = (struct extents_part){(first + i) % CONTEXTS, (uint32_t)rng_range(&rng, 1, BLOCKS)};
        assert_match(&b, part, (uint32_t)rng_range(&rng, 0, 3));
    }
    extents_empty(b.extents);
    holders_empty(b.holders);
    memset(b.bits, 0, sizeof b.bits);
    assert_counts(&b);
    change(&b, 2, 0, 1, KVF_TIER_GPU, true);
    assert_counts(&b);
    extents_close(b.extents);
    holders_close(b.holders);
}

/* A hundred blocks of a context in one tier of a pod take the memory of one. */
static void test_a_context_is_one_run(void **state) {
    (void)state;
    enum { MANY = 20000, EACH = 100 };
    struct extents *single = extents_open(2), *runs = extents_open(2);
    for (uint64_t c = 0; c < MANY; c++) {
        extents_add(single, c, 0, 1, KVF_TIER_GPU);
        for (uint32_t n = 0; n < EACH; n++) extents_add(runs, c, n, 1, KVF_TIER_GPU);
    }
    assert_int_equal(extents_count(runs), (uint64_t)MANY * EACH);
    assert_int_equal(extents_runs(runs), MANY);
    assert_int_equal(extents_bytes(runs), extents_bytes(single));
    /* one that falls to the next tier from its end leaves two, then one again */
    for (uint32_t n = EACH; n-- > 0;) {
        extents_remove(runs, 7, n, 1, KVF_TIER_GPU);
        extents_add(runs, 7, n, 1, KVF_TIER_CPU);
        assert_int_equal(extents_runs(runs), n > 0 ? MANY + 1 : MANY);
    }
    for (uint64_t c = 0; c < MANY; c++)
        for (uint32_t n = 0; n < EACH; n++)
            extents_remove(runs, c, n, 1, c == 7 ? KVF_TIER_CPU : KVF_TIER_GPU);
    assert_int_equal(extents_count(runs), 0);
    assert_int_equal(extents_runs(runs), 0);
    extents_close(single);
    extents_close(runs);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers_are_those_of_single_blocks),
        cmocka_unit_test(test_a_context_is_one_run),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("extents", tests, NULL, NULL);
}
