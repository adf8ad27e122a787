#include "tests/unit/trace_fixture.h"

#define HEAD  "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
#define HEAD3 "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type\n"

static void row_expect(struct workload *w, uint64_t at_ns, uint64_t context, uint64_t generate) {
    next_expect(w);
    assert_int_equal(request.arrival_ns, at_ns);
    assert_int_equal(request.context_tokens, context);
    assert_int_equal(request.generate_tokens, generate);
}

/* The first rows of the published file: 30, one of them failed and empty. The sums are worked out with
 * another program: awk -F, 'NR > 1 && $4 > 0 {c += $3; g += $4; n++} END {print n, c, g}'. */
static void published_rows(void **state) {
    (void)state;
    uint64_t context = 0, generate = 0, last = 0;
    if (!published_find("burstgpt/burstgpt_1_head30.csv")) skip();
    scenario.workload.source = KVF_SOURCE_BURSTGPT;
    struct workload *w = opened();
    assert_true(workload_open_loop(w));
    for (; workload_next(w, 0, &request) == WORKLOAD_REQUEST; last = request.arrival_ns) {
        assert_true(request.arrival_ns >= last);
        context += request.context_tokens;
        generate += request.generate_tokens;
    }
    rows_expect(w, 29, 1);
    assert_int_equal(workload_rows(w)->rejected[WORKLOAD_REJECT_FAILED], 1);
    assert_int_equal(workload_rows(w)->first_rejected_line, 22);
    assert_int_equal(context, 17722);
    assert_int_equal(generate, 10280);
    assert_int_equal(last, (2293 - 5) * S);
    workload_close(w);
}

static void lengths_without_times_are_refused(void **state) {
    (void)state;
    static const char lengths[] = "row,request_tokens_clamped\n0,472\n1,1023\n";
    file_write(lengths, strlen(lengths));
    scenario.workload.source = KVF_SOURCE_BURSTGPT;
    refused(KVF_ERR_USAGE, "its header names no column \"Timestamp\"");
}

static void columns_go_by_their_names(void **state) {
    struct workload *w = opened_with(KVF_SOURCE_BURSTGPT,
                                     HEAD3 "19440110.0,,35.5,GPT-4,417,276,693,API log\n"
                                           "19440110.25,1107,1.5,\"ChatGPT, 16k\",23,344,367,\"Conversation "
                                           "log\"\r\n"
                                           "19440112,\"7\",2,GPT-4,\"5\",\"6\",11,API log");
    row_expect(w, 0, 417, 276);
    row_expect(w, 250 * MS, 23, 344);
    assert_true(request.turn == 1 && request.conversation == 2 && request.prompt == REQUEST_NO_PROMPT);
    row_expect(w, 2 * S, 5, 6);
    end_expect(w);
    rows_expect(w, 3, 0);
    workload_close(w);
    scenario_clean(state);
    w = opened_with(KVF_SOURCE_BURSTGPT,
                    "\n response TOKENS ,note,\"Request tokens\",timestamp\n\n9,\"said \"\"no\"\"\",8,7\n");
    row_expect(w, 0, 8, 9);
    end_expect(w);
    workload_close(w);
}

static void headers_that_lack_a_column(void **state) {
    static const struct {
        const char *data, *word;
    } cases[] = {
        {"5,ChatGPT,472,18,490,Conversation log\n", "no column \"Timestamp\""},
        {"Timestamp,Model,Response tokens\n5,x,3\n", "no column \"Request tokens\""},
        {"Timestamp,Request tokens,Total tokens\n5,3,3\n", "no column \"Response tokens\""},
        {"Timestamp,\"Request tokens,Response tokens\n5,3,3\n", "no column"},
        {HEAD, "no rows"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        scenario.workload.source = KVF_SOURCE_BURSTGPT;
        file_write(cases[i].data, strlen(cases[i].data));
        refused(KVF_ERR_USAGE, cases[i].word);
        scenario_clean(state);
    }
}

static void bad_rows(void **state) {
    static const struct {
        const char *line;
        enum workload_reject reason;
    } bad[] = {
        {"6,ChatGPT,472,18,490", WORKLOAD_REJECT_MALFORMED},
        {"6,ChatGPT,472,18,490,a,b", WORKLOAD_REJECT_MALFORMED},
        {"6,\"ChatGPT,472,18,490,a", WORKLOAD_REJECT_MALFORMED},
        {"soon,ChatGPT,472,18,490,a", WORKLOAD_REJECT_MALFORMED},
        {"6.,ChatGPT,472,18,490,a", WORKLOAD_REJECT_MALFORMED},
        {"6.5s,ChatGPT,472,18,490,a", WORKLOAD_REJECT_MALFORMED},
        {"6e3,ChatGPT,472,18,490,a", WORKLOAD_REJECT_MALFORMED},
        {",ChatGPT,472,18,490,a", WORKLOAD_REJECT_MALFORMED},
        {"6,ChatGPT,,18,490,a", WORKLOAD_REJECT_MALFORMED},
        {"6,ChatGPT,472,,490,a", WORKLOAD_REJECT_MALFORMED},
        {"6,ChatGPT,4.5,18,490,a", WORKLOAD_REJECT_MALFORMED},
        {"-6,ChatGPT,472,18,490,a", WORKLOAD_REJECT_NEGATIVE},
        {"-0.5,ChatGPT,472,18,490,a", WORKLOAD_REJECT_NEGATIVE},
        {"6,ChatGPT,-472,18,490,a", WORKLOAD_REJECT_NEGATIVE},
        {"6,ChatGPT,472,-18,490,a", WORKLOAD_REJECT_NEGATIVE},
        {"6,ChatGPT,1099511627777,18,490,a", WORKLOAD_REJECT_ABSURD},
        {"8589934593,ChatGPT,472,18,490,a", WORKLOAD_REJECT_ABSURD},
        {"99999999,ChatGPT,472,18,490,a", WORKLOAD_REJECT_ABSURD}, /* three years after the row before */
        {"6,ChatGPT,472,0,472,a", WORKLOAD_REJECT_FAILED},
        {"6,ChatGPT,0,0,0,a", WORKLOAD_REJECT_FAILED},
        {"6,ChatGPT,0,18,18,a", WORKLOAD_REJECT_EMPTY},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char data[400];
        snprintf(data, sizeof data, HEAD "5,ChatGPT,3,4,7,x\n%s\n7,ChatGPT,5,6,11,x\n", bad[i].line);
        struct workload *w = opened_with(KVF_SOURCE_BURSTGPT, data);
        row_expect(w, 0, 3, 4);
        row_expect(w, 2 * S, 5, 6);
        end_expect(w);
        rows_expect(w, 2, 1);
        if (workload_rows(w)->rejected[bad[i].reason] != 1)
            fail_msg("%s: rejected because %s", bad[i].line, workload_rows(w)->first_rejected_why);
        assert_int_equal(workload_rows(w)->first_rejected_line, 3);
        workload_close(w);
        scenario_clean(state);
    }
}

static void speedup_and_its_absence(void **state) {
    scenario.workload.arrival.speedup = 20;
    struct workload *w = opened_with(KVF_SOURCE_BURSTGPT, HEAD "100,a,1,1,2,x\n140.5,a,2,2,4,x\n");
    row_expect(w, 0, 1, 1);
    row_expect(w, 2025 * MS, 2, 2);
    workload_close(w);
    scenario_clean(state);
    scenario.workload.arrival.speedup = 0;
    w = opened_with(KVF_SOURCE_BURSTGPT, HEAD "100,a,1,1,2,x\n140.5,a,2,2,4,x\n");
    assert_true(workload_unpaced(w));
    row_expect(w, 0, 1, 1);
    row_expect(w, 0, 2, 2);
    end_expect(w);
    workload_close(w);
}

/* ---- playing a file more than once ---- */

/* Rows at 0, 1 and 4 s of their file: the next cycle begins a mean gap of 2 s after its last. */
static void cycles_go_on_after_the_last_row(void **state) {
    (void)state;
    static const uint64_t at[] = {0, 1, 4, 6, 7, 10, 12, 13, 16};
    scenario.workload.arrival.cycles = 3;
    struct workload *w =
        opened_with(KVF_SOURCE_BURSTGPT, HEAD "10,a,1,1,2,x\nno row\n11,a,2,2,4,x\n14,a,3,3,6,x\n");
    for (uint64_t i = 0; i < 9; i++) {
        assert_true(workload_more(w, 0));
        row_expect(w, at[i] * S, i % 3 + 1, i % 3 + 1);
        assert_int_equal(request.cycle, i / 3);
        assert_int_equal(request.id, request.conversation);
        /* the row rejected in each cycle takes a number, too */
        assert_int_equal(request.id, i + 1 + i / 3 + (i % 3 > 0));
    }
    assert_false(workload_more(w, 0));
    end_expect(w);
    rows_expect(w, 9, 3);
    assert_int_equal(workload_rows(w)->first_rejected_line, 3);
    workload_close(w);
}

static void cycles_of_ids_and_without_end(void **state) {
    (void)state;
    scenario.workload.arrival.cycles = 0;
    scenario.workload.arrival.speedup = 2;
    scenario.workload.limit = 2;
    scenario.run.max_requests = 1001;
    struct workload *w =
        opened_with(KVF_SOURCE_MOONCAKE,
                    ROW("500", "600", "7", "4, 5") ROW("900", "3", "1", "6") ROW("1000", "3", "1", "7"));
    for (uint64_t i = 0; i < 1001; i++) {
        next_expect(w);
        assert_int_equal(request.arrival_ns,
                         i * 200 * MS); /* 400 ms between rows and cycles, twice as fast */
        assert_int_equal(request.cycle, i / 2);
        assert_int_equal(request.ids[0], i % 2 ? 6 : 4);
    }
    end_expect(w);
    rows_expect(w, 1001, 0);
    workload_close(w);
}

/* With one time only there is no gap to go by; without arrival times there is nothing to shift. */
static void cycles_of_one_time(void **state) {
    scenario.workload.arrival.cycles = 3;
    struct workload *w = opened_with(KVF_SOURCE_BURSTGPT, HEAD "10,a,1,1,2,x\n");
    for (uint64_t i = 0; i < 3; i++) row_expect(w, i * S, 1, 1);
    end_expect(w);
    workload_close(w);
    scenario_clean(state);
    scenario.workload.arrival.process = KVF_ARRIVAL_CLOSED;
    w = opened_with(KVF_SOURCE_BURSTGPT, HEAD "10,a,1,1,2,x\n12,a,2,2,4,x\n");
    for (uint64_t i = 0; i < 6; i++) {
        next_expect(w);
        assert_true(request.cycle == i / 2 && request.context_tokens == i % 2 + 1);
    }
    end_expect(w);
    rows_expect(w, 6, 0);
    workload_close(w);
}

/* A file that is cut back while it is played ends its run rather than being asked for ever. */
static void a_cycle_that_gives_nothing_is_the_last(void **state) {
    (void)state;
    scenario.workload.arrival.cycles = 0;
    struct workload *w = opened_with(KVF_SOURCE_BURSTGPT, HEAD "10,a,1,1,2,x\n12,a,2,2,4,x\n");
    for (int i = 0; i < 5; i++) next_expect(w);
    assert_int_equal(truncate(scenario.workload.path, sizeof HEAD - 1), 0);
    while (workload_next(w, 0, &request) == WORKLOAD_REQUEST) assert_true(workload_rows(w)->read < 20);
    end_expect(w);
    workload_close(w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(published_rows),
        TEST(lengths_without_times_are_refused),
        TEST(columns_go_by_their_names),
        TEST(headers_that_lack_a_column),
        TEST(bad_rows),
        TEST(speedup_and_its_absence),
        TEST(cycles_go_on_after_the_last_row),
        TEST(cycles_of_ids_and_without_end),
        TEST(cycles_of_one_time),
        TEST(a_cycle_that_gives_nothing_is_the_last),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("workload_burstgpt", tests, NULL, NULL);
}
