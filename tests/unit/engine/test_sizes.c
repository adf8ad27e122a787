#include "tests/unit/run_fixture.h"

#include "engine/arrivals/sizes.h"

/* A token is 16 bytes of KV, and by the estimate 4 characters of text. */
#define TURN(text)    "{\"from\":\"human\",\"value\":\"" text "\"},{\"from\":\"gpt\",\"value\":\"done\"}"
#define TALK(...)     "{\"conversations\":[" __VA_ARGS__ "]}"
#define TIERS         "tiers: {gpu: {capacity: 1MiB}}\n"
#define FOUR(text)    text text text text
#define SHAREGPT(all) MODEL_16 ENGINE TIERS "workload: {source: sharegpt, users: 100" all "}\n"

static struct sizes *opened(void) {
    struct err e = {0};
    struct sizes *z = sizes_open(&t.s, &e);
    if (!z) fail_msg("%s", e.text);
    return z;
}

static void expect_next(struct sizes *z, uint64_t want) {
    assert_int_equal(sizes_next(z, UINT64_MAX, 1), want);
}

/* Two conversations, of one turn and of two, for a hundred users: those without any are passed over, and
 * who has come to the end of its own begins again. */
static void a_file_that_is_shorter_than_what_is_to_be_filled_begins_again(void **state) {
    (void)state;
    rows_write("[" TALK(TURN("12345678")) "," TALK(TURN("1234") "," TURN("123456789012")) "]");
    scenario_of(SHAREGPT(""), 1);
    struct sizes *z = opened();
    for (int i = 0; i < 1000; i++) {
        expect_next(z, 2 * 16);
        expect_next(z, i % 2 ? 3 * 16 : 16);
    }
    sizes_close(z);
}

/* The limit on requests and on replays is on the run, not on what comes before it. */
static void limits_of_the_run_do_not_end_it(void **state) {
    (void)state;
    rows_write("[" TALK(TURN(FOUR("1234"))) "]");
    scenario_of(SHAREGPT(", arrival: {cycles: 1}") "run: {max_requests: 3}\n", 1);
    struct sizes *z = opened();
    for (int i = 0; i < 50; i++) expect_next(z, 4 * 16);
    sizes_close(z);
}

static void rows_of_a_trace_begin_again(void **state) {
    (void)state;
    rows_write("op,key,tokens\nwrite,a,3\nread,a,3\nwrite,b,5\n");
    scenario_of(MODEL_16 ENGINE TIERS "workload: {source: ops}\n", 1);
    struct sizes *z = opened();
    for (int i = 0; i < 50; i++) {
        expect_next(z, 3 * 16);
        assert_int_equal(sizes_next(z, UINT64_MAX, 2), 5 * 16); /* a read writes nothing */
    }
    sizes_close(z);
}

/* Only what fits is given, and when nothing does there is an end of trying. */
static void entries_that_are_too_large_are_passed_over(void **state) {
    (void)state;
    rows_write("op,key,tokens\nwrite,a,30\nwrite,b,5\nwrite,c,30\n");
    scenario_of(MODEL_16 ENGINE TIERS "workload: {source: ops}\n", 1);
    struct sizes *z = opened();
    for (int i = 0; i < 10; i++) assert_int_equal(sizes_next(z, 100, 3), 5 * 16);
    assert_int_equal(sizes_next(z, 79, 1000), 0);
    sizes_close(z);
}

/* A block is as large as every other. */
static void blocks_are_given_one_by_one(void **state) {
    (void)state;
    rows_write("{\"timestamp\": 0, \"input_length\": 1536, \"output_length\": 3, \"hash_ids\": [1, 2, 3]}\n");
    scenario_of(MODEL_16 ENGINE TIERS
                "workload: {source: mooncake}\ncache: {granularity: block, block_tokens: 512}\n",
                1);
    struct sizes *z = opened();
    for (int i = 0; i < 100; i++) expect_next(z, 512 * 16);
    sizes_close(z);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_that_is_shorter_than_what_is_to_be_filled_begins_again),
        cmocka_unit_test(limits_of_the_run_do_not_end_it),
        cmocka_unit_test(rows_of_a_trace_begin_again),
        cmocka_unit_test(entries_that_are_too_large_are_passed_over),
        cmocka_unit_test(blocks_are_given_one_by_one),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("sizes", tests, runs_set_up, runs_tear_down);
}
