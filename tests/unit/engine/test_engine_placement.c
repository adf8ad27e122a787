#include "tests/unit/run_fixture.h"

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

/* gpu holds 4 entries of 40 KiB, cpu 8 and nvme 16; in virtual time, with a slow gpu, every copy and fall is
 * over before the next operation has ended. */
#define FOUR_EIGHT_SIXTEEN                                                                                   \
    "mode: simulate\n" MODEL_4K ENGINE                                                                       \
    "tiers: {gpu: {capacity: 160KiB, latency: 1ms}, cpu: {capacity: 320KiB}, nvme: {capacity: 640KiB}}\n"    \
    "workload: {source: ops}\nrun: {duration: 100s, warmup: 0s}\n"
enum { ENTRY = 40960 };

static void run_to_its_end(const char *yaml) {
    run_yaml(yaml, 1);
    expect_status(RUN_COMPLETED);
    expect_identities();
    expect_no_errors();
    expect_result("requests_done", 300);
    assert_true(value_of("verify_checked") > 0);
}

/* Entries by tier, oldest first, worked by hand:
 *   w a .. j      gpu ghij | cpu cdefghij | nvme abcdefghij
 *   r a in nvme   is loaded for g: hija | c leaves cpu for its copy: defghija
 *   r c in nvme   h leaves gpu: ijac | d leaves cpu: efghijac
 *   r j in gpu    iacj | efghiacj
 *   r g in cpu    i leaves gpu: acjg | efhiacjg
 *   r d in nvme   a leaves gpu: cjgd | e leaves cpu: fhiacjgd
 *   r j thrice    in gpu, while the last copy is made */
static void copies_are_where_they_must_be(void **state) {
    (void)state;
    rows_write("write,a,10\nwrite,b,10\nwrite,c,10\nwrite,d,10\nwrite,e,10\nwrite,f,10\nwrite,g,10\n"
               "write,h,10\nwrite,i,10\nwrite,j,10\nread,a,10\nread,c,10\nread,j,10\nread,g,10\nread,d,10\n"
               "read,j,10\nread,j,10\nread,j,10\n");
    run_yaml(FOUR_EIGHT_SIXTEEN "cache: {placement: inclusive, headroom: 0}\n", 1);
    expect_status(RUN_COMPLETED);
    expect_identities();
    expect_result("lookups", 8);
    expect_result("gpu_hits", 4);
    expect_result("cpu_hits", 1);
    expect_result("nvme_hits", 3);
    expect_result("evictions", 0);
    expect_result("copies_dropped", 6 + 4 + 2 + 3);
    expect_result("cpu_promotions", 1);
    expect_result("nvme_promotions", 3);
    expect_result("gpu_demotions", 10 + 3);
    expect_result("cpu_demotions", 10);
    expect_result("gpu_entries", 4);
    expect_result("cpu_entries", 8);
    expect_result("nvme_entries", 10);
    expect_result("gpu_write_bytes", (10 + 4) * ENTRY);
    expect_result("gpu_read_bytes", (13 + 4) * ENTRY);
    expect_result("cpu_write_bytes", 13 * ENTRY);
    expect_result("cpu_read_bytes", (10 + 1) * ENTRY);
    expect_result("nvme_write_bytes", 10 * ENTRY);
    expect_result("nvme_read_bytes", 3 * ENTRY);
    expect_result("gpu_write_promotion_bytes", 4 * ENTRY);
    expect_result("nvme_read_conversation_bytes", 3 * ENTRY);
    run_end();
}

/* The fourth entry takes gpu to 160 KiB, beyond 75 %: two fall until 50 % are left. Nobody ever waits for
 * room; the tenth takes cpu to 8 entries, of which it keeps 4.
 *   w d: a b fall   w f: c d   w h: e f, and cpu, at 6 of 8, is not beyond   w j: g h; cpu drops a b c d */
static void room_is_there_before_it_is_needed(void **state) {
    (void)state;
    rows_write(
        "write,a,10\nwrite,b,10\nwrite,c,10\nwrite,d,10\nwrite,e,10\nwrite,f,10\nwrite,g,10\n"
        "write,h,10\nwrite,i,10\nwrite,j,10\nread,j,10\nread,j,10\nread,a,10\nread,d,10\nread,e,10\nread,i,10\nread,h,10\n");
    run_yaml(FOUR_EIGHT_SIXTEEN "cache: {make_room: background, low_watermark: 0.5, high_watermark: 0.75, "
                                "headroom: 0}\n",
             1);
    expect_status(RUN_COMPLETED);
    expect_identities();
    expect_result("room_inline", 0);
    expect_result("room_background", 8 + 4);
    expect_result("gpu_demotions", 8);
    expect_result("cpu_demotions", 4);
    expect_result("nvme_hits", 2); /* a, d */
    expect_result("cpu_hits", 2);  /* e, h */
    expect_result("gpu_hits", 3);  /* j twice, i */
    expect_result("gpu_entries", 2);
    expect_result("cpu_entries", 4);
    expect_result("nvme_entries", 4);
    run_end();
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

/* Entries that fill the tiers before the clock are copied as well, and is cleared away with its copies. */
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
        cmocka_unit_test_setup_teardown(copies_are_where_they_must_be, runs_set_up, runs_tear_down),
        cmocka_unit_test_setup_teardown(room_is_there_before_it_is_needed, runs_set_up, runs_tear_down),
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
