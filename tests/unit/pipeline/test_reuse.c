#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>

#include "base/rng.h"
#include "engine/pipeline/reuse.h"

enum { GPU = KVF_TIER_GPU, CPU = KVF_TIER_CPU, NVME = KVF_TIER_NVME, BLOCKS = 40, TOKENS = 512 };

static struct roofline roofline_of(enum roofline_gpu gpu) {
    struct roofline_setup setup = {.gpu = gpu, .tp = 1, .mfu = 0.45, .efficiency = 0.5};
    struct roofline r;
    assert_int_equal(roofline_init(&r, &model_find("llama3.1-8b")->model, &setup, NULL), 0);
    return r;
}

static struct scenario *links(uint64_t cpu, uint64_t nvme, uint64_t latency_ns) {
    struct scenario *s = calloc(1, sizeof *s);
    assert_non_null(s);
    for (int t = 0; t < KVF_TIERS; t++)
        s->tier[t].emulation =
            (struct scenario_emulation){.read_bytes_per_s = nvme, .latency_ns = latency_ns};
    s->tier[CPU].emulation.read_bytes_per_s = cpu;
    return s;
}

/* 20 GB/s and 5 GB/s: 1 GB of each takes 50 and 200 ms, side by side. Nothing takes no time. */
static void loading_takes_as_long_as_its_slowest_tier(void **state) {
    (void)state;
    struct scenario *s = links(20000000000u, 5000000000u, 1000);
    uint64_t bytes[KVF_TIERS] = {0};
    assert_int_equal(reuse_load_ns(s, bytes), 0);
    bytes[CPU] = 1000000000;
    assert_int_equal(reuse_load_ns(s, bytes), 50000000 + 1000);
    bytes[NVME] = 1000000000;
    assert_int_equal(reuse_load_ns(s, bytes), 200000000 + 1000);
    bytes[CPU] *= 5;
    assert_int_equal(reuse_load_ns(s, bytes), 250000000 + 1000);
    free(s);
}

/* Of a simulation's pods: 40 ms there, 40 ms back, beside 200 ms at the link. */
static void a_store_that_pods_share_is_two_messages_away(void **state) {
    (void)state;
    struct scenario *s = links(20000000000u, 5000000000u, 1000);
    uint64_t bytes[KVF_TIERS] = {[NVME] = 1000000000, [KVF_TIER_REMOTE] = 1000000000};
    s->mode = KVF_MODE_SIMULATE;
    s->fleet.pods = 8;
    assert_int_equal(reuse_load_ns(s, bytes), 200000000 + 1000);
    s->fleet.delay_ns = 40000000;
    assert_int_equal(reuse_load_ns(s, bytes), 280000000 + 1000);
    bytes[KVF_TIER_REMOTE] = 0;
    assert_int_equal(reuse_load_ns(s, bytes), 200000000 + 1000);
    free(s);
}

/* 8,192 tokens of 128 KiB are a GiB, which an H100 computes in about 0.35 s: at 1 GB/s it takes longer to
 * read, at 100 GB/s it does not. */
static void the_faster_one_is_taken(void **state) {
    (void)state;
    struct roofline r = roofline_of(ROOFLINE_GPU_H100);
    struct reuse_found found = {.below = 8192, .missing = 1};
    found.bytes[CPU] = 8192 * UINT64_C(131072);
    struct scenario *s = links(1000000000, 1, 0);
    assert_false(reuse_loads(s, &r, &found));
    s->tier[CPU].emulation.read_bytes_per_s = 100000000000;
    assert_true(reuse_loads(s, &r, &found));
    free(s);
}

/* All ways to split, each from scratch. */
static uint64_t best_of_all(const struct scenario *s, const struct roofline *r, uint64_t above,
                            unsigned blocks, const int *tier, const uint64_t *bytes) {
    uint64_t best = UINT64_MAX;
    for (unsigned cut = 0; cut <= blocks; cut++) {
        uint64_t sums[KVF_TIERS] = {0}, head = 0;
        for (unsigned i = 0; i < cut; i++) head += TOKENS;
        for (unsigned i = cut; i < blocks; i++) sums[tier[i]] += bytes[i];
        uint64_t load = reuse_load_ns(s, sums), compute = roofline_prefill_ns(r, head, above);
        uint64_t ns = load > compute ? load : compute;
        if (ns < best) best = ns;
    }
    return best;
}

static void the_split_is_the_best_there_is(void **state) {
    (void)state;
    struct roofline r = roofline_of(ROOFLINE_GPU_A100);
    struct rng rng;
    unsigned both = 0;
    rng_init(&rng, 3, KVF_RNG_TEST, 0);
    for (int round = 0; round < 500; round++) {
        int tier[BLOCKS];
        uint64_t bytes[BLOCKS];
        unsigned blocks = (unsigned)rng_range(&rng, 1, BLOCKS);
        struct scenario *s = links(rng_range(&rng, 100, 40000) * 1000000,
                                   rng_range(&rng, 100, 9000) * 1000000, rng_range(&rng, 0, 1000000));
        struct reuse_found found = {.above = rng_range(&rng, 0, 20) * TOKENS, .missing = 1};
        for (unsigned i = 0; i < blocks; i++) {
            tier[i] = rng_range(&rng, 0, 1) ? CPU : NVME;
            bytes[i] = rng_range(&rng, 1, 2) * UINT64_C(33554432);
            found.below += TOKENS;
            found.bytes[tier[i]] += bytes[i];
        }
        struct reuse_split split;
        reuse_split_begin(&split, s, &r, &found);
        unsigned i = blocks;
        while (i > 0 && reuse_split_take(&split, tier[i - 1], TOKENS, bytes[i - 1])) i--;
        assert_int_equal(split.head, i * TOKENS);
        assert_int_equal(split.ns, best_of_all(s, &r, found.above, blocks, tier, bytes));
        both += i > 0 && i < blocks;
        free(s);
    }
    assert_true(both > 100);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(loading_takes_as_long_as_its_slowest_tier),
        cmocka_unit_test(a_store_that_pods_share_is_two_messages_away),
        cmocka_unit_test(the_faster_one_is_taken),
        cmocka_unit_test(the_split_is_the_best_there_is),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("reuse", tests, NULL, NULL);
}
