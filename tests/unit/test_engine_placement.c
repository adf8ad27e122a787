#include "run_fixture.h"

/* Runs of the real engine with each way of placing, making room and promoting: small tiers that six users
 * fill many times over, every byte checked. What is where is the cache's business and tested there; here
 * the bytes arrive, the figures add up and nothing is left behind. */

#define THREE_TIERS                                                                                          \
    MODEL_4K ENGINE "tiers: {gpu: {capacity: 512KiB}, cpu: {capacity: 768KiB}, nvme: {capacity: 1MiB, "      \
                    "io_size: 16KiB, io_depth: 4}}\n"
#define REQUESTS_300 "run: {duration: 100s, warmup: 0s, max_requests: 300}\n"
#define USERS                                                                                                \
    "workload: {users: 6, personas: [{name: a, context: [4, 16], generate: [1, 80], think: [0, 2ms]}], "     \
    "prefix: {probability: 0.5, prompt_tokens: [2, 3]}, conversation: {end_probability: 0.2}}\n"

static void run_to_its_end(const char *yaml) {
    run_yaml(yaml, 1);
    expect_status(RUN_COMPLETED);
    expect_identities();
    expect_no_errors();
    expect_result("requests_done", 300);
    assert_true(value_of("verify_checked") > 0);
}

/* Data goes up by reads that keep what they load, and down by copies; nothing else moves. */
static void copies_are_what_was_written(void **state) {
    (void)state;
    run_to_its_end(THREE_TIERS REQUESTS_300 USERS "cache: {placement: inclusive, verify: full}\n");
    assert_true(value_of("promotions") > 0 && value_of("demotions") > 0);
    assert_true(value_of("copies_dropped") > 0 && value_of("evictions") > 0);
    expect_result("gpu_promotions", 0);
    expect_result("nvme_demotions", 0);
    /* up to gpu alone, which holds any of them; the request's own read is the load */
    expect_result("promotions", value_of("gpu_write_promotion_ops"));
    assert_null(result_find(&t.run.results, "cpu_read_promotion_ops"));
    assert_null(result_find(&t.run.results, "nvme_read_promotion_ops"));
    assert_true(value_of("cpu_write_demotion_ops") > 0 && value_of("nvme_write_demotion_ops") > 0);
    assert_true(value_of("gpu_used_bytes") <= 0.8 * 512 * 1024);
    assert_true(value_of("cpu_used_bytes") <= 0.8 * 768 * 1024);
    assert_true(value_of("nvme_used_bytes") <= 1024 * 1024);
    run_end();
}

static void reads_below_stay_there_without_promotion(void **state) {
    (void)state;
    run_to_its_end(THREE_TIERS REQUESTS_300 USERS
                   "cache: {placement: inclusive, promotion: never, verify: full}\n");
    assert_true(value_of("cpu_hits") > 0);
    expect_result("promotions", 0);
    run_end();
}

/* Under the waterfall a hit in cpu or nvme goes up at its second. */
static void the_second_hit_goes_up(void **state) {
    (void)state;
    run_to_its_end(THREE_TIERS REQUESTS_300 USERS "cache: {promotion: second_hit, verify: full}\n");
    assert_true(value_of("promotions") > 0);
    assert_true(2 * value_of("promotions") <= value_of("cpu_hits") + value_of("nvme_hits"));
    run_end();
}

/* Entries of at most 64 KiB in tiers of 400 KiB and more: the writes hardly ever have to make room. */
static void room_is_made_in_the_background(void **state) {
    (void)state;
    run_to_its_end(THREE_TIERS REQUESTS_300 USERS
                   "cache: {make_room: background, low_watermark: 0.5, high_watermark: 0.7, verify: full}\n");
    assert_true(value_of("room_background") > 0);
    assert_true(value_of("room_inline") < value_of("room_background"));
    assert_true(value_of("demotions") > 0 && value_of("evictions") > 0);
    run_end();
}

static void copies_make_way_in_the_background(void **state) {
    (void)state;
    run_to_its_end(
        THREE_TIERS REQUESTS_300 USERS
        "cache: {placement: inclusive, make_room: background, promotion: second_hit, verify: full}\n");
    assert_true(value_of("room_background") > 0 && value_of("copies_dropped") > 0);
    run_end();
}

static void blocks_are_copied_too(void **state) {
    (void)state;
    run_to_its_end(THREE_TIERS REQUESTS_300 USERS
                   "cache: {placement: inclusive, granularity: block, block_tokens: 2, verify: full}\n");
    assert_true(value_of("demotions") > 0 && value_of("promotions") > 0);
    run_end();
}

/* What fills the tiers before the clock is copied as well, and is cleared away with its copies. */
static void tiers_are_filled_before(void **state) {
    (void)state;
    run_to_its_end(THREE_TIERS USERS
                   "cache: {placement: inclusive, verify: full}\n"
                   "run: {duration: 100s, warmup: 0s, max_requests: 300, precondition: 2MiB, "
                   "prepopulate: 1}\n");
    assert_true(value_of("prepopulate_bytes") > 0);
    run_end();
}

/* With the cut in the middle of everything: what is being copied comes to nothing. */
static void a_run_is_cut_off(void **state) {
    (void)state;
    run_yaml(THREE_TIERS "run: {duration: 300ms, warmup: 0s}\n" USERS
                         "cache: {placement: inclusive, verify: full}\n",
             2);
    expect_status(RUN_COMPLETED);
    expect_identities();
    expect_no_errors();
    run_end();
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(copies_are_what_was_written, runs_set_up, runs_tear_down),
        cmocka_unit_test_setup_teardown(reads_below_stay_there_without_promotion, runs_set_up,
                                        runs_tear_down),
        cmocka_unit_test_setup_teardown(the_second_hit_goes_up, runs_set_up, runs_tear_down),
        cmocka_unit_test_setup_teardown(room_is_made_in_the_background, runs_set_up, runs_tear_down),
        cmocka_unit_test_setup_teardown(copies_make_way_in_the_background, runs_set_up, runs_tear_down),
        cmocka_unit_test_setup_teardown(blocks_are_copied_too, runs_set_up, runs_tear_down),
        cmocka_unit_test_setup_teardown(tiers_are_filled_before, runs_set_up, runs_tear_down),
        cmocka_unit_test_setup_teardown(a_run_is_cut_off, runs_set_up, runs_tear_down),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("engine_placement", tests, NULL, NULL);
}
