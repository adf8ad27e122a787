#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "model/model.h"

static const struct model *preset(const char *name) {
    const struct model_preset *p = model_find(name);
    assert_non_null(p);
    return &p->model;
}

/* Published figures: bytes per token at the type the cache has. */
static void bytes_per_token(void **state) {
    static const struct {
        const char *name;
        uint64_t bytes;
    } published[] = {
        {"tiny-1b", 24576},        {"qwen3-0.6b", 114688},      {"qwen3-8b", 147456},
        {"qwen3-14b", 163840},     {"qwen3-32b", 262144},       {"qwen3-32b-awq", 262144},
        {"qwen3-30b-a3b", 98304},  {"qwen3-235b-a22b", 192512}, {"mistral-7b", 131072},
        {"llama2-7b", 524288},     {"llama3.1-8b", 131072},     {"llama3.1-70b-instruct", 327680},
        {"llama3.1-405b", 516096}, {"deepseek-v3", 70272},      {"deepseek-r1", 70272},
        {"kimi-k2", 70272},        {"glm-4.5", 376832},         {"gpt-oss-20b", 49152},
        {"gpt-oss-120b", 73728},   {"llama4-scout", 196608},    {"llama3.2-1b", 32768},
        {"llama3.2-3b", 114688},   {"llama2-13b", 819200},
    };
    size_t count = sizeof published / sizeof published[0];
    (void)state;

    assert_int_equal(model_preset_count, count);
    for (size_t i = 0; i < count; i++) {
        const struct model *m = preset(published[i].name);
        struct err e = {0};
        assert_int_equal(model_bytes_per_token(m, 1), published[i].bytes);
        assert_int_equal(model_kv_bytes(m, 1, 1), published[i].bytes);
        assert_int_equal(model_check(m, &e), 0);
    }
}

static void long_contexts_slide(void **state) {
    const struct model *oss = preset("gpt-oss-20b"), *big = preset("gpt-oss-120b"),
                       *scout = preset("llama4-scout");
    (void)state;

    /* A layer and token take 2 x 8 x 64 x 2 = 2,048 bytes. */
    assert_int_equal(model_kv_bytes(oss, 1, 128), 24 * 128 * 2048);
    assert_int_equal(model_kv_bytes(oss, 1, 129), 24 * 128 * 2048 + 12 * 2048);
    assert_int_equal(model_kv_bytes(oss, 1, 1000), 12 * 1000 * 2048 + 12 * 128 * 2048);
    assert_int_equal(model_kv_bytes_range(oss, 1, 120, 20), 12 * 20 * 2048 + 12 * 8 * 2048);
    assert_int_equal(model_kv_bytes_range(oss, 1, 5000, 1), 24576);
    assert_int_equal(model_kv_bytes_range(big, 1, 5000, 1), 36864);
    /* 2 x 8 x 128 x 2 = 4,096 bytes; three quarters of the layers keep 8,192 tokens. */
    assert_int_equal(model_kv_bytes(scout, 1, 8192), UINT64_C(48) * 8192 * 4096);
    assert_int_equal(model_kv_bytes(scout, 1, 10000),
                     UINT64_C(12) * 10000 * 4096 + UINT64_C(36) * 8192 * 4096);
    assert_int_equal(model_kv_bytes(scout, 1, 0), 0);
    assert_int_equal(model_kv_tokens(oss, 1, 0), 0);
    assert_int_equal(model_kv_tokens(oss, 1, 24 * 128 * 2048), 128);
    assert_int_equal(model_kv_tokens(oss, 1, 12 * 1000 * 2048 + 12 * 128 * 2048), 1000);
    assert_int_equal(model_kv_tokens(scout, 1, UINT64_C(48) * 8191 * 4096), 8191);
}

static void heads_divide_and_latents_do_not(void **state) {
    const struct model *llama = preset("llama3.1-70b-instruct"), *deepseek = preset("deepseek-v3");
    (void)state;

    assert_int_equal(model_bytes_per_token(llama, 4), 327680 / 4);
    assert_int_equal(model_bytes_per_token(llama, 8), 327680 / 8);
    assert_int_equal(model_bytes_per_token(llama, 16), 327680 / 8); /* a rank keeps one head at least */
    assert_int_equal(model_bytes_per_token(deepseek, 8), 70272);
    assert_int_equal(model_kv_bytes(deepseek, 8, 1000), 70272000);
}

static void types_scale(void **state) {
    static const struct {
        enum model_dtype dtype;
        const char *name;
        uint64_t bytes;
    } types[] = {
        {MODEL_DTYPE_FP32, "fp32", 262144}, {MODEL_DTYPE_BF16, "bf16", 131072},
        {MODEL_DTYPE_FP16, "fp16", 131072}, {MODEL_DTYPE_FP8, "fp8", 65536},
        {MODEL_DTYPE_INT8, "int8", 65536},
    };
    struct model m = *preset("llama3.1-8b");
    (void)state;

    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        m.dtype = types[i].dtype;
        assert_int_equal(model_bytes_per_token(&m, 1), types[i].bytes);
        assert_string_equal(model_dtype_name(types[i].dtype), types[i].name);
    }
    assert_string_equal(model_dtype_name(MODEL_DTYPES), "?");
}

static void huge_contexts_saturate(void **state) {
    (void)state;
    assert_true(model_kv_bytes(preset("llama3.1-405b"), 1, UINT64_C(1) << 50) == UINT64_MAX);
    assert_true(model_kv_bytes(preset("llama3.1-8b"), 1, UINT64_C(1) << 40) == UINT64_C(1) << 57);
}

static void names_are_found(void **state) {
    (void)state;
    assert_null(model_find("llama3.1"));
    assert_string_equal(model_nearest("lama3.1-8b"), "llama3.1-8b");
    assert_string_equal(model_nearest("Llama3.1-8B"), "llama3.1-8b");
    assert_string_equal(model_nearest("gptoss-20b"), "gpt-oss-20b");
    assert_string_equal(model_nearest("deepseekv3"), "deepseek-v3");
    assert_null(model_nearest("xyzzy"));
    assert_null(model_nearest(""));
}

static void contradictions_are_named(void **state) {
    static const struct {
        struct model model;
        const char *says;
    } bad[] = {
        {{.layers = 0, .kv_heads = 8, .head_dim = 64}, "layers is missing"},
        {{.layers = 4, .head_dim = 64}, "kv_heads is missing"},
        {{.layers = 4, .kv_heads = 2}, "head_dim is missing"},
        {{.layers = 4, .kv_heads = 2, .head_dim = 64, .sliding_layers = 5, .window = 8},
         "more than all 4 layers"},
        {{.layers = 4, .kv_heads = 2, .head_dim = 64, .sliding_layers = 2}, "need a window"},
        {{.layers = 4, .kv_heads = 2, .head_dim = 64, .window = 128}, "needs sliding layers"},
        {{.layers = 4, .kv_heads = 2, .head_dim = 64, .rope_head_dim = 64}, "belongs to MLA"},
        {{.layers = 4, .kv_heads = 2, .kv_lora_rank = 512}, "no KV heads"},
        {{.layers = 4, .kv_heads = 2, .head_dim = 64, .dtype = MODEL_DTYPES}, "dtype"},
        {{.layers = 4, .kv_heads = 2, .head_dim = 64, .weights = MODEL_WEIGHTS}, "of the weights"},
        {{.layers = 4, .kv_heads = 2, .head_dim = 64, .parameters = 1e9, .active_parameters = 2e9},
         "more than all 1e+09 parameters"},
        {{.layers = 4, .kv_heads = 2, .head_dim = 64, .parameters = 1e9, .parameters_16bit = 2e9},
         "more than all 1e+09 parameters"},
        {{.layers = 4, .kv_heads = 2, .head_dim = 64, .experts = 8, .experts_per_token = 9},
         "more than all 8 experts"},
        {{.layers = 4, .kv_heads = 2, .head_dim = 64, .experts = 8}, "need experts_per_token"},
    };
    (void)state;

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct err e = {0};
        assert_int_equal(model_check(&bad[i].model, &e), -KVF_ERR_USAGE);
        assert_non_null(strstr(e.text, bad[i].says));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_per_token),
        cmocka_unit_test(long_contexts_slide),
        cmocka_unit_test(heads_divide_and_latents_do_not),
        cmocka_unit_test(types_scale),
        cmocka_unit_test(huge_contexts_saturate),
        cmocka_unit_test(names_are_found),
        cmocka_unit_test(contradictions_are_named),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("model", tests, NULL, NULL);
}
