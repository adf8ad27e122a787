#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/rng.h"
#include "model/roofline.h"

static struct model preset(const char *name) {
    const struct model_preset *p = model_find(name);
    assert_non_null(p);
    return p->model;
}

static struct roofline on(const struct model *m, enum roofline_gpu gpu, uint32_t tp) {
    struct roofline_setup setup = {.gpu = gpu, .tp = tp, .mfu = 0.45, .efficiency = 0.5};
    struct roofline r;
    struct err e = {0};
    assert_int_equal(roofline_init(&r, m, &setup, &e), 0);
    return r;
}

static void assert_within(uint64_t ns, double expected_ms, double part) {
    double ms = (double)ns / 1e6;
    if (ms < expected_ms * (1 - part) || ms > expected_ms * (1 + part))
        fail_msg("%.3f ms is not within %.3f %% of %.3f ms", ms, part * 100, expected_ms);
}

/* Measured by others and published; the model is to come within a quarter of them. */
static void published_figures(void **state) {
    struct model large = preset("llama3.1-70b-instruct"), small = preset("llama3.1-8b");
    (void)state;

    large.weights = MODEL_WEIGHTS_FP8; /* Llama 3.3 has the same geometry */
    struct roofline r = on(&large, ROOFLINE_GPU_H100, 2);
    assert_within(roofline_prefill_ns(&r, 5000, 0), 407, 0.25);
    assert_within(roofline_decode_ns(&r, 1, 5000), 18.6, 0.25);
    assert_within(roofline_decode_ns(&r, 1, 5500), 18.6, 0.25);
    r = on(&small, ROOFLINE_GPU_H100, 1);
    assert_within(roofline_prefill_ns(&r, 20000, 0), 900, 0.25);
    r = on(&small, ROOFLINE_GPU_H200, 1);
    assert_within(roofline_decode_ns(&r, 8, 500), 6.5, 0.25);
}

/* The formula worked with a calculator: 2 P n + 2 n (n + 2 c) d L FLOP at 0.45 of the peak. */
static void formula_by_hand(void **state) {
    struct model m = preset("llama3.1-8b");
    struct roofline r = on(&m, ROOFLINE_GPU_H100, 1);
    (void)state;

    /* (2 x 8030261248 x 20000 + 2 x 20000 x 20000 x 4096 x 32) / (989.5e12 x 0.45) */
    assert_within(roofline_prefill_ns(&r, 20000, 0), 956.86497, 1e-5);
    /* 4,000 new tokens behind 16,000: (2 P 4000 + 2 x 4000 x 36000 x 4096 x 32) / ... */
    assert_within(roofline_prefill_ns(&r, 4000, 16000), 229.05132, 1e-5);
    /* one token: weights of 16,060,522,496 bytes at 1.675e12 bytes/s are more than its FLOP */
    assert_within(roofline_prefill_ns(&r, 1, 0), 9.588372, 1e-5);
    assert_int_equal(roofline_prefill_ns(&r, 0, 5000), 0);
    /* batch 8 of 1,000 tokens: (16060522496 + 8000 x 131072) / 1.675e12 */
    assert_within(roofline_decode_ns(&r, 8, 1000), 10.214387, 1e-5);
    /* batch 4,096 of no context is bound by arithmetic: 4096 x 2 P / 4.45275e14, and each with itself */
    assert_within(roofline_decode_ns(&r, 4096, 0), 147.7410, 1e-4);
    struct roofline two = on(&m, ROOFLINE_GPU_H100, 2);
    assert_within(roofline_prefill_ns(&two, 20000, 0), 956.86497 / 2, 1e-5);
    assert_within(roofline_decode_ns(&two, 8, 1000), 10.214387 / 2, 1e-5);
}

/* A step that copies its new KV out lasts longer by 131,072 bytes of each new token at 8e9 bytes/s: 16.384
 * us. */
static void new_kv_is_copied_inside_the_step(void **state) {
    struct model m = preset("llama3.1-8b");
    struct roofline r = on(&m, ROOFLINE_GPU_H100, 1), with;
    struct roofline_setup setup = {
        .gpu = ROOFLINE_GPU_H100, .tp = 1, .mfu = 0.45, .efficiency = 0.5, .store_bytes_per_s = 8e9};
    (void)state;

    assert_int_equal(roofline_init(&with, &m, &setup, NULL), 0);
    assert_within(roofline_prefill_ns(&with, 1000, 500) - roofline_prefill_ns(&r, 1000, 500), 16.384, 1e-5);
    assert_within(roofline_decode_ns(&with, 100, 1000) - roofline_decode_ns(&r, 100, 1000), 1.6384, 1e-5);
    setup.store_token_ns = 500; /* and 0.5 us beside for each */
    assert_int_equal(roofline_init(&with, &m, &setup, NULL), 0);
    assert_within(roofline_prefill_ns(&with, 1000, 500) - roofline_prefill_ns(&r, 1000, 500), 16.884, 1e-5);
    setup.store_token_ns = 0;
    setup.tp = 2; /* each rank copies its half */
    assert_int_equal(roofline_init(&with, &m, &setup, NULL), 0);
    r = on(&m, ROOFLINE_GPU_H100, 2);
    assert_within(roofline_prefill_ns(&with, 1000, 0) - roofline_prefill_ns(&r, 1000, 0), 8.192, 1e-5);
}

/* At H100, mfu 0.45, efficiency 0.5. A decode of 8 x 10,000 tokens: weights 16060522496 / 1.675e12 = 9.588372
 * ms, KV 80000 x 131072 / 1.675e12 = 6.260155, arithmetic of matrices and pairs less than either. A prefill
 * of 2,000 tokens: matrices 2 x 8030261248 x 2000 / 4.45275e14 = 72.13750 ms, pairs 2 x 2000^2 x 4096 x 32
 * / 4.45275e14 = 2.354880. */
static void attention_behind_the_matrices(void **state) {
    struct model m = preset("llama3.1-8b");
    struct roofline beside = on(&m, ROOFLINE_GPU_H100, 1), apart;
    struct roofline_setup setup = {
        .gpu = ROOFLINE_GPU_H100, .tp = 1, .mfu = 0.45, .efficiency = 0.5, .apart = true};
    (void)state;

    assert_int_equal(roofline_init(&apart, &m, &setup, NULL), 0);
    assert_within(roofline_decode_ns(&beside, 8, 10000), 9.588372 + 6.260155, 1e-5);
    assert_within(roofline_decode_ns(&apart, 8, 10000), 9.588372 + 6.260155, 1e-5);
    assert_within(roofline_prefill_ns(&apart, 2000, 0), 72.13750 + 2.354880, 1e-4);
    /* both in one step: beside each other the KV is read while matrices are multiplied, else after it */
    struct roofline_load load = {0};
    roofline_add(&apart, &load, 2000, 0);
    for (int i = 0; i < 8; i++) roofline_add(&apart, &load, 1, 10000);
    struct roofline_run run = roofline_run(&apart, &load, 0, 0), hidden = roofline_run(&beside, &load, 0, 0);
    assert_within((uint64_t)(roofline_run_fs(&run, 1) / ROOFLINE_FS_PER_NS),
                  72.13750 * 2008 / 2000 + 6.260155, 1e-4);
    assert_true(roofline_run_fs(&hidden, 1) < roofline_run_fs(&run, 1));
}

/* 2 ms a step, 5 ms more with prefills, and 20 us for each of 32 layers where two GPUs share the model. */
static void overheads_of_steps(void **state) {
    struct model m = preset("llama3.1-8b");
    struct roofline_setup setup = {.gpu = ROOFLINE_GPU_H100, .tp = 1, .mfu = 0.45, .efficiency = 0.5};
    struct roofline with, r;
    (void)state;

    for (uint32_t tp = 1; tp <= 2; tp++) {
        double exchanges = tp > 1 ? 0.64 : 0;
        r = on(&m, ROOFLINE_GPU_H100, tp);
        setup.tp = tp;
        setup.overhead_ns = 2000000;
        setup.prefill_overhead_ns = 5000000;
        setup.exchange_ns = 20000;
        assert_int_equal(roofline_init(&with, &m, &setup, NULL), 0);
        assert_within(roofline_decode_ns(&with, 8, 100) - roofline_decode_ns(&r, 8, 100), 2 + exchanges,
                      1e-5);
        assert_within(roofline_prefill_ns(&with, 8, 100) - roofline_prefill_ns(&r, 8, 100), 7 + exchanges,
                      1e-5);
    }
}

static void weights_at_their_own_precision(void **state) {
    struct model awq = preset("qwen3-32b-awq"), bf16 = preset("qwen3-32b");
    struct model oss20 = preset("gpt-oss-20b"), oss120 = preset("gpt-oss-120b"),
                 small = preset("llama3.1-8b");
    (void)state;

    /* published: 16.06 GB; 65.52 GB; 19.3 GB; 12.8 and 60.8 GiB (model card of gpt-oss) */
    assert_int_equal(model_weight_bytes(&small), UINT64_C(16060522496));
    assert_int_equal(model_weight_bytes(&bf16), UINT64_C(65524246528));
    assert_in_range(model_weight_bytes(&awq), UINT64_C(19250000000), UINT64_C(19400000000));
    assert_in_range(model_weight_bytes(&oss20) >> 20, 12.75 * 1024, 12.85 * 1024);
    assert_in_range(model_weight_bytes(&oss120) >> 20, 60.5 * 1024, 61.1 * 1024);
    assert_int_equal(model_bytes_per_token(&awq, 1), model_bytes_per_token(&bf16, 1));
    /* fewer bytes to read, but the same arithmetic at 16 bits */
    struct roofline quantised = on(&awq, ROOFLINE_GPU_L40S, 2), full = on(&bf16, ROOFLINE_GPU_L40S, 2);
    assert_int_equal(roofline_prefill_ns(&quantised, 8000, 0), roofline_prefill_ns(&full, 8000, 0));
    assert_within(roofline_decode_ns(&quantised, 1, 0), 19.32e3 / (2 * 0.864 * 0.5) / 1e3, 0.01);
    assert_within(roofline_decode_ns(&full, 1, 0), 65.524e3 / (2 * 0.864 * 0.5) / 1e3, 0.001);
}

/* A token of DeepSeek V3 uses 37.6 of 671 billion parameters; many tokens come to nearly all experts. */
static void mixture_of_experts(void **state) {
    struct model m = preset("deepseek-v3");
    struct roofline r = on(&m, ROOFLINE_GPU_H200, 8);
    double per_s = 8 * 4.8e12 * 0.5, weights = 672.9e9;
    (void)state;

    assert_within(roofline_decode_ns(&r, 1, 0), weights * 37.55 / 671.03 / per_s * 1e3, 0.01);
    /* 64 tokens: the rest is read with probability 1 - (1 - 8/256)^64 = 0.8689 */
    double experts = (1 - 37.55 / 671.03) / (1 - 8.0 / 256);
    assert_within(roofline_decode_ns(&r, 64, 0), weights * (1 - experts + experts * 0.86892) / per_s * 1e3,
                  0.001);
    assert_within(roofline_prefill_ns(&r, 4096, 0),
                  (2 * 37.552e9 * 4096 + 2 * 4096.0 * 4096 * 20480 * 61) / (8 * 1979e12 * 0.45) * 1e3, 0.001);
}

/* Chunks of a prefill do the arithmetic of the whole. */
static void chunks_add_up(void **state) {
    static const char *const names[] = {"llama3.1-8b", "gpt-oss-20b"};
    (void)state;

    for (int i = 0; i < 2; i++) {
        struct model m = preset(names[i]);
        struct roofline r = on(&m, ROOFLINE_GPU_H100, 1);
        struct roofline_load whole = {0}, parts = {0};
        roofline_add(&r, &whole, 10000, 300);
        for (uint64_t at = 300; at < 10300; at += 400) roofline_add(&r, &parts, 400, at);
        assert_true(whole.tokens == parts.tokens && whole.pairs == parts.pairs);
        assert_true(whole.slides == parts.slides);
        uint64_t sequences = parts.sequences;
        roofline_add(&r, &parts, 7, 50);
        roofline_remove(&r, &parts, 7, 50);
        assert_int_equal(parts.sequences, sequences);
        assert_true(whole.pairs == parts.pairs && whole.slides == parts.slides);
    }
}

/* A run of many steps takes what its steps take one by one, at every point and wherever it is cut, also
 * where memory gives way to arithmetic. */
static void many_steps_at_once(void **state) {
    struct rng rng;
    (void)state;

    rng_init(&rng, 7, KVF_RNG_TEST, 0);
    for (int round = 0; round < 200; round++) {
        struct roofline r = {.token_fs = rng_range(&rng, 0, 50000),
                             .pair_fs = rng_range(&rng, 0, 100),
                             .pair_slide_fs = rng_range(&rng, 0, 100),
                             .dense_fs = rng_range(&rng, 0, 100000),
                             .kept_fs = rng_range(&rng, 0, 300),
                             .kept_slide_fs = rng_range(&rng, 0, 300),
                             .overhead_fs = rng_range(&rng, 0, 1000),
                             .apart = round % 2 == 1,
                             .window = 100000};
        uint64_t context[4], sequences = rng_range(&rng, 1, 4), steps = rng_range(&rng, 1, 300);
        struct roofline_load load = {0};
        for (uint64_t s = 0; s < sequences; s++) {
            context[s] = rng_range(&rng, 0, 1000);
            roofline_add(&r, &load, 1, context[s]);
        }
        struct roofline_run run = roofline_run(&r, &load, sequences, sequences);
        roofline_fs sum = 0;
        for (uint64_t k = 0; k < steps; k++) {
            struct roofline_load step = {0};
            for (uint64_t s = 0; s < sequences; s++) roofline_add(&r, &step, 1, context[s] + k);
            struct roofline_run one = roofline_run(&r, &step, 0, 0);
            roofline_fs before = sum;
            sum += roofline_run_fs(&one, 1);
            assert_true(roofline_run_fs(&run, k + 1) == sum);
            if (sum == before) continue;
            assert_int_equal(roofline_run_reach(&run, sum, 1000), k + 1);
            assert_int_equal(roofline_run_reach(&run, before + 1, 1000), k + 1);
        }
        assert_int_equal(roofline_run_reach(&run, sum + 1, steps), steps);
    }
}

/* 2 x 8 ms of weights in one step are 8: twice the sequences take what only they add. */
static void work_is_what_a_larger_batch_does_not_save(void **state) {
    (void)state;
    struct roofline r = {.token_fs = 10,
                         .pair_fs = 1,
                         .dense_fs = 8000,
                         .kept_fs = 5,
                         .overhead_fs = 300,
                         .store_fs = 2,
                         .prefill_fs = 77,
                         .window = 100000};
    struct roofline_load load = {0}, twice = {0};
    for (int i = 0; i < 10; i++) roofline_add(&r, &load, 1, 100);
    for (int i = 0; i < 20; i++) roofline_add(&r, &twice, 1, 100);
    struct roofline_run one = roofline_run(&r, &load, 10, 10), two = roofline_run(&r, &twice, 20, 20);
    struct roofline_run work = roofline_run_work(&r, &load, 10, 10);
    roofline_fs alone = roofline_run_fs(&one, 7), least = roofline_run_fs(&work, 7);
    assert_true(least < alone);
    /* memory bounds these steps: ten sequences more add the KV that they read, and its storing */
    assert_true(roofline_run_fs(&two, 7) - alone == least);
}

static void missing_figures(void **state) {
    struct roofline_setup setup = {.gpu = ROOFLINE_GPU_CUSTOM, .tp = 1, .mfu = 0.45, .efficiency = 0.5};
    struct model m = preset("llama3.1-8b"), bare = m;
    struct roofline r;
    struct err e = {0};
    (void)state;

    assert_int_equal(roofline_init(&r, &m, &setup, &e), -KVF_ERR_USAGE);
    assert_non_null(strstr(e.text, "compute.peak_flops"));
    setup.peak_flops = 100e12;
    setup.bytes_per_s = 1e12;
    assert_int_equal(roofline_init(&r, &m, &setup, NULL), 0);
    assert_within(roofline_decode_ns(&r, 1, 0), 16060.522496 / 1e12 * 2 * 1e9, 1e-5);
    bare.parameters = 0;
    err_clear(&e);
    assert_int_equal(roofline_init(&r, &bare, &setup, &e), -KVF_ERR_USAGE);
    assert_non_null(strstr(e.text, "model.parameters"));
    bare = m;
    bare.attention_width = 0;
    err_clear(&e);
    assert_int_equal(roofline_init(&r, &bare, &setup, &e), -KVF_ERR_USAGE);
    assert_non_null(strstr(e.text, "model.attention_width"));
}

static void every_preset_has_figures(void **state) {
    (void)state;
    for (size_t i = 0; i < model_preset_count; i++) {
        struct roofline r = on(&model_presets[i].model, ROOFLINE_GPU_H100, 1);
        struct err e = {0};
        assert_int_equal(model_check(&model_presets[i].model, &e), 0);
        assert_true(roofline_prefill_ns(&r, 1000, 0) > 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_figures),
        cmocka_unit_test(formula_by_hand),
        cmocka_unit_test(new_kv_is_copied_inside_the_step),
        cmocka_unit_test(attention_behind_the_matrices),
        cmocka_unit_test(overheads_of_steps),
        cmocka_unit_test(weights_at_their_own_precision),
        cmocka_unit_test(mixture_of_experts),
        cmocka_unit_test(chunks_add_up),
        cmocka_unit_test(many_steps_at_once),
        cmocka_unit_test(work_is_what_a_larger_batch_does_not_save),
        cmocka_unit_test(missing_figures),
        cmocka_unit_test(every_preset_has_figures),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("roofline", tests, NULL, NULL);
}
