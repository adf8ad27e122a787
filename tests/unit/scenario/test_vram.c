#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "scenario/budget.h"
#include "scenario/load.h"

static struct scenario s;

static void load(const char *yaml) {
    struct scenario_report r;
    int rc = scenario_load(NULL, yaml, NULL, 0, &s, NULL, &r);
    if (rc) print_message("%s", buf_text(&r.errors));
    scenario_load_free(&r);
    assert_int_equal(rc, 0);
}

static void resolve(void) {
    struct budget_machine m = {.memory_available_bytes = UINT64_C(64) << 30, .cpus = 4};
    struct budget b;
    struct err e = {0};
    assert_int_equal(budget_resolve(&s, &m, false, &b, &e), 0);
}

#define AUTO "tiers: {gpu: {capacity: auto}}\n"

/* devices x (vram x utilisation - margin) - weights, in whole tokens of 131,072 bytes. */
static void capacity_by_hand(void **state) {
    (void)state;
    load("model: llama3.1-8b\n" AUTO "compute: {mode: roofline, gpu: h100}\n");
    assert_true(s.tier[KVF_TIER_GPU].on && s.tier[KVF_TIER_GPU].capacity_bytes == KVF_AUTO);
    resolve();
    /* 72e9 - 2 GiB - 16060522496 = 53791993856, of which 410,400 tokens are whole */
    assert_int_equal(s.tier[KVF_TIER_GPU].capacity_bytes, UINT64_C(410400) * 131072);
    assert_int_equal(s.engine.slots, 1024);
    /* two L40S at 0.6, no margin: 2 x 28.8e9 - 2 x 8190735360 for Qwen3-8B, 147,456 bytes a token */
    load("model: qwen3-8b\n" AUTO
         "compute: {mode: roofline, gpu: l40s, tp: 2, gpu_memory_utilization: 0.6, activation_margin: 0}\n");
    resolve();
    uint64_t left = UINT64_C(57600000000) - UINT64_C(16381470720);
    assert_in_range(s.tier[KVF_TIER_GPU].capacity_bytes, left - 2 * 147456, left);
    uint64_t whole = s.tier[KVF_TIER_GPU].capacity_bytes;
    /* the same of one of two ranks: half the bytes, as an entry has half */
    load("model: qwen3-8b\ntensor_parallel: 2\n" AUTO
         "compute: {mode: roofline, gpu: l40s, gpu_memory_utilization: 0.6, activation_margin: 0}\n");
    resolve();
    assert_int_equal(2 * s.tier[KVF_TIER_GPU].capacity_bytes, whole);
    assert_int_equal(scenario_compute_devices(&s), 2);
}

/* Quantised weights leave more room, in which a token takes as much as before. */
static void weights_make_room(void **state) {
    (void)state;
    load("model: qwen3-32b\n" AUTO "compute: {mode: roofline, gpu: h100, tp: 2}\n");
    resolve();
    uint64_t full = s.tier[KVF_TIER_GPU].capacity_bytes;
    load("model: qwen3-32b-awq\n" AUTO "compute: {mode: roofline, gpu: h100, tp: 2}\n");
    resolve();
    /* 65.5 GB against 19.3 GB */
    assert_in_range(s.tier[KVF_TIER_GPU].capacity_bytes - full, UINT64_C(46100000000), UINT64_C(46300000000));
    assert_int_equal(model_bytes_per_token(&s.model, 1), 262144);
}

/* The latent of MLA is on every rank: eight of them keep it eight times. */
static void latents_take_room_on_every_rank(void **state) {
    struct scenario_vram v;
    (void)state;
    load("model: deepseek-v3\n" AUTO
         "compute: {mode: roofline, gpu: h200, tp: 8, activation_margin: 0, gpu_memory_utilization: 1}\n");
    assert_int_equal(scenario_vram(&s, &v, NULL), 0);
    assert_int_equal(v.kv_bytes, UINT64_C(8) * 141000000000 - v.weight_bytes);
    assert_int_equal(v.tokens, v.kv_bytes / 8 / 70272);
    assert_int_equal(v.capacity_bytes, v.tokens * 70272);
}

static void figures_of_ones_own(void **state) {
    struct scenario_vram v;
    struct roofline r;
    (void)state;
    load("model: llama3.1-8b\n" AUTO
         "compute: {mode: roofline, gpu: custom, peak_flops: 100e12, bandwidth: 1TB/s, vram: 94GB}\n");
    assert_int_equal(scenario_vram(&s, &v, NULL), 0);
    assert_int_equal(v.vram_bytes, UINT64_C(94000000000));
    assert_int_equal(scenario_roofline(&s, &r, NULL), 0);
    /* 16060522496 bytes at half of 1 TB/s */
    assert_int_equal(roofline_decode_ns(&r, 1, 0) / 1000, 32121);
    /* the NVL's memory in an H100 */
    load("model: llama3.1-8b\n" AUTO "compute: {mode: roofline, gpu: h100, vram: 94GB}\n");
    assert_int_equal(scenario_vram(&s, &v, NULL), 0);
    assert_int_equal(v.used_bytes, UINT64_C(84600000000));
}

/* The limit of the batch: the gpu tier's usable bytes, else the same arithmetic. */
static void room_of_the_batch(void **state) {
    struct scenario_vram v;
    (void)state;
    load("model: llama3.1-8b\ntiers: {gpu: {capacity: 10GiB}}\ncompute: {mode: roofline}\n");
    assert_int_equal(scenario_batch_bytes(&s), (UINT64_C(10) << 30) / 10 * 8);
    load("model: llama3.1-8b\ntiers: {cpu: {capacity: 1GiB}}\ncompute: {mode: roofline}\n");
    assert_int_equal(scenario_vram(&s, &v, NULL), 0);
    assert_int_equal(scenario_batch_bytes(&s), v.capacity_bytes);
    load("model: llama3.1-8b\ntiers: {cpu: {capacity: 1GiB}}\n"
         "compute: {mode: roofline, gpu: custom, peak_flops: 100e12, bandwidth: 1TB/s}\n");
    assert_true(scenario_batch_bytes(&s) == UINT64_MAX);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(capacity_by_hand),
        cmocka_unit_test(weights_make_room),
        cmocka_unit_test(latents_take_room_on_every_rank),
        cmocka_unit_test(figures_of_ones_own),
        cmocka_unit_test(room_of_the_batch),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("vram", tests, NULL, NULL);
}
