#include "tests/unit/trace_fixture.h"

#include <math.h>

#include "workload/trace.h"

/* ---- the published traces, their sums worked out with another program ---- */

struct published {
    const char *file;
    enum scenario_source source;
    uint64_t rows, context, generate, last_ns, ids, id_sum;
};
static const struct published published[] = {
    {"mooncake/conversation_trace.jsonl", KVF_SOURCE_MOONCAKE, 12031, 144793823, 4122048, 3536999 * MS,
     288500, 23407000830},
    {"mooncake/synthetic_trace.jsonl", KVF_SOURCE_MOONCAKE, 3993, 61194628, 595432, 1022025 * MS, 121877,
     2510208276},
    {"azure2023/AzureLLMInferenceTrace_code.csv", KVF_SOURCE_AZURE, 8819, 18059974, 245896, 3435948056000, 0,
     0},
    {"azure2023/AzureLLMInferenceTrace_conv.csv", KVF_SOURCE_AZURE, 19366, 22361870, 4088665, 3501721937000,
     0, 0},
};

static void published_check(const struct published *p) {
    uint64_t context = 0, generate = 0, ids = 0, id_sum = 0, last = 0;
    if (!published_find(p->file)) skip();
    scenario.workload.source = p->source;
    struct workload *w = opened();
    rows_expect(w, 0, 0);
    assert_true(workload_open_loop(w) && !workload_unpaced(w));
    for (uint64_t row = 1; workload_next(w, 0, &request) == WORKLOAD_REQUEST; row++) {
        assert_true(request.id == row && request.conversation == row && request.turn == 1);
        assert_true(row > 1 || request.arrival_ns == 0);
        assert_true(request.arrival_ns >= last);
        last = request.arrival_ns;
        context += request.context_tokens;
        generate += request.generate_tokens;
        ids += request.id_count;
        for (uint32_t i = 0; i < request.id_count; i++) id_sum += request.ids[i];
    }
    rows_expect(w, p->rows, 0);
    assert_int_equal(context, p->context);
    assert_int_equal(generate, p->generate);
    assert_int_equal(last, p->last_ns);
    assert_int_equal(ids, p->ids);
    assert_int_equal(id_sum, p->id_sum);
    workload_close(w);
}

static void mooncake_conversation_trace(void **state) {
    (void)state;
    published_check(&published[0]);
}
static void mooncake_synthetic_trace(void **state) {
    (void)state;
    published_check(&published[1]);
}
static void azure_code_trace(void **state) {
    (void)state;
    published_check(&published[2]);
}
static void azure_conversation_trace(void **state) {
    (void)state;
    published_check(&published[3]);
}

/* ---- what becomes of a row ---- */

/* Blocks of another size, and a class that the scenario has; one that it has not is drawn. */
static void mooncake_optional_keys(void **state) {
    (void)state;
    struct workload *w;
    scenario.cache.block_tokens = 16;
    scenario.qos.classes_set = true;
    snprintf(scenario.qos.klass[0].name, sizeof scenario.qos.klass[0].name, "fast");
    snprintf(scenario.qos.klass[1].name, sizeof scenario.qos.klass[1].name, "slow");
    w = opened_with(
        KVF_SOURCE_MOONCAKE,
        "{\"timestamp\":0,\"input_length\":17,\"output_length\":1,\"hash_ids\":[1,2],\"block_size\":16,"
        "\"session_id\":7,\"class\":\"slow\",\"model\":\"m\"}\n"
        "{\"timestamp\":1,\"input_length\":33,\"output_length\":1,\"hash_ids\":[1,2,3],\"session_id\":"
        "7,\"class\":\"fast\"}\n"
        "{\"timestamp\":2,\"input_length\":1,\"output_length\":1,\"hash_ids\":[1],\"session_id\":\"7b\"}\n");
    next_expect(w);
    uint64_t session = trace_row_of(w)->session;
    assert_int_equal(request.klass, 1);
    assert_string_equal(trace_row_of(w)->model, "m");
    assert_int_not_equal(session, 0);
    next_expect(w);
    assert_int_equal(request.klass, 0);
    assert_string_equal(trace_row_of(w)->model, "");
    assert_int_equal(trace_row_of(w)->session, session);
    next_expect(w);
    assert_int_not_equal(trace_row_of(w)->session, session);
    workload_close(w);
}

static void mooncake_row(void **state) {
    (void)state;
    struct workload *w =
        opened_with(KVF_SOURCE_MOONCAKE,
                    ROW("1000", "1025", "7",
                        "0, 18446744073709551615,3") "\n  \r\n"
                                                     "{\"hash_ids\":[9],\"x\":{\"a\":[1,{\"b\":\"\\u00e9]}\"}"
                                                     "],\"c\":null},\"output_length\":0,"
                                                     "\"input_length\":512,\"block_size\":512,\"session_id\":"
                                                     "\"s-1\",\"delay\":1.5e1,\"timestamp\":"
                                                     "1002.25}\r\n" ROW("1000.5", "1", "2", "77"));
    next_expect(w);
    assert_int_equal(request.kind, REQUEST_INFERENCE);
    assert_int_equal(request.arrival_ns, 0);
    assert_int_equal(request.context_tokens, 1025);
    assert_int_equal(request.generate_tokens, 7);
    assert_int_equal(request.id_count, 3);
    assert_true(request.ids[0] == 0 && request.ids[1] == UINT64_MAX && request.ids[2] == 3);
    assert_true(request.prompt == REQUEST_NO_PROMPT && request.cycle == 0 && request.klass == 0);
    assert_false(request.prefill_only);
    next_expect(w);
    assert_int_equal(request.arrival_ns, 2250000);
    assert_int_equal(request.context_tokens, 512);
    assert_int_equal(request.generate_tokens, 0);
    assert_true(request.id_count == 1 && request.ids[0] == 9);
    next_expect(w); /* half a millisecond after the start, but the row before came later */
    assert_int_equal(request.arrival_ns, 2250000);
    assert_true(request.id == 3 && request.ids[0] == 77);
    end_expect(w);
    end_expect(w);
    rows_expect(w, 3, 0);
    workload_close(w);
}

static void azure_row(void **state) {
    (void)state;
    /* 2024-02-28 23:59:59.9999999 to 2024-03-01: a leap day and 100 ns; then half a second back */
    struct workload *w = opened_with(KVF_SOURCE_AZURE, "TIMESTAMP,ContextTokens,GeneratedTokens\r\n"
                                                       "2024-02-28 23:59:59.9999999,1000,10\r\n"
                                                       "2024-03-01 00:00:00.0000000,511,0\n"
                                                       "2024-02-29 23:59:59.5,2048,20\n"
                                                       "2024-03-01 00:00:01,512,1");
    next_expect(w);
    assert_int_equal(request.arrival_ns, 0);
    assert_int_equal(request.context_tokens, 1000);
    assert_int_equal(request.generate_tokens, 10);
    assert_int_equal(request.conversation_blocks, 1);
    assert_int_equal(request.id_count, 0);
    next_expect(w);
    assert_int_equal(request.arrival_ns, 86400 * S + 100);
    assert_int_equal(request.conversation_blocks, 0);
    next_expect(w);
    assert_int_equal(request.arrival_ns, 86400 * S + 100);
    assert_int_equal(request.conversation_blocks, 4);
    next_expect(w);
    assert_int_equal(request.arrival_ns, 86401 * S + 100);
    end_expect(w);
    rows_expect(w, 4, 0);
    workload_close(w);
}

static void header_is_optional(void **state) {
    struct workload *w = opened_with(KVF_SOURCE_AZURE, "2023-11-16 18:17:03.9799600,4808,10\n");
    next_expect(w);
    assert_int_equal(request.context_tokens, 4808);
    workload_close(w);
    scenario_clean(state);
    w = opened_with(KVF_SOURCE_OPS, "\nread,a,1\nop,key,tokens\n");
    next_expect(w);
    end_expect(w);
    rows_expect(w, 1, 1); /* a header elsewhere than at the start is no operation */
    assert_int_equal(workload_rows(w)->rejected[WORKLOAD_REJECT_KEY], 1);
    workload_close(w);
}

static void ops_row(void **state) {
    (void)state;
    struct workload *w =
        opened_with(KVF_SOURCE_OPS, "op,key,tokens\r\nwrite,12,100\r\nread,3/4,5\r\nread,fifteen-letters,1");
    assert_false(workload_open_loop(w));
    assert_int_equal(workload_users(w), 1);
    next_expect(w);
    assert_int_equal(request.kind, REQUEST_WRITE);
    assert_string_equal(request.key, "12");
    assert_int_equal(request.context_tokens, 100);
    next_expect(w);
    assert_int_equal(request.kind, REQUEST_READ);
    assert_string_equal(request.key, "3/4");
    assert_int_equal(request.context_tokens, 5);
    next_expect(w);
    assert_string_equal(request.key, "fifteen-letters");
    end_expect(w);
    rows_expect(w, 3, 0);
    assert_int_equal(workload_first_delay_ns(w, 0), 0);
    assert_int_equal(workload_think_ns(w, 0), 0);
    workload_close(w);
}

/* A trace that a run has written with --io-trace: its moves are not repeated, its sizes are kept. */
static const char io_rows[] = "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase\n"
                              "1763650000.000001,Write,4096,Tier-0,16777217/1,Prefill\n"
                              "1763650000.250000,Read,4096,Tier-0,16777217/1,Evict\n"
                              "1763650000.250000,Write,4096,Tier-1,16777217/1,Evict\n"
                              "1763650000.500001,Read,4096,Tier-1,16777217/1,Decode\n"
                              "1763650000.500000,Write,100,Tier-2,stored-12345678/12345678,Prefill\n";

static void io_trace_rows(void **state) {
    scenario.model = (struct model){.layers = 1, .kv_heads = 1, .head_dim = 8, .dtype = MODEL_DTYPE_INT8};
    scenario.tensor_parallel = 1;
    struct workload *w = opened_with(KVF_SOURCE_OPS, io_rows);
    assert_false(workload_open_loop(w));
    assert_int_equal(workload_users(w), 1);
    next_expect(w);
    assert_int_equal(request.kind, REQUEST_WRITE);
    assert_string_equal(request.key, "16777217/1");
    assert_int_equal(request.entry_bytes, 4096);
    assert_int_equal(request.context_tokens, 256); /* of 16 bytes */
    next_expect(w);
    assert_int_equal(request.kind, REQUEST_READ);
    assert_string_equal(request.key, "16777217/1");
    next_expect(w);
    assert_string_equal(request.key, "stored-12345678/12345678");
    assert_int_equal(request.entry_bytes, 100);
    assert_int_equal(request.context_tokens, 6);
    end_expect(w);
    rows_expect(w, 3, 0);
    assert_int_equal(workload_rows(w)->skipped, 2);
    workload_close(w);
    scenario_clean(state);
    /* at their times, twice as fast, twice: 0.5 s of rows and a mean gap of 0.25 s */
    scenario.workload.source = KVF_SOURCE_OPS;
    scenario.workload.arrival.process = KVF_ARRIVAL_TRACE;
    scenario.workload.arrival.speedup = 2;
    scenario.workload.arrival.cycles = 2;
    file_write(io_rows, sizeof io_rows - 1);
    w = opened();
    assert_true(workload_open_loop(w));
    static const uint64_t at_ms[] = {0, 250, 250, 375, 625, 625};
    static const char *const keys[] = {"16777217/1",   "16777217/1",   "stored-12345678/12345678",
                                       "16777217/1@1", "16777217/1@1", "stored-12345678/12345678@1"};
    for (int i = 0; i < 6; i++) {
        next_expect(w);
        assert_int_equal(request.arrival_ns, at_ms[i] * MS);
        assert_string_equal(request.key, keys[i]);
    }
    end_expect(w);
    assert_int_equal(workload_rows(w)->skipped, 4);
    workload_close(w);
}

static void speedup(void **state) {
    (void)state;
    static const double factor[] = {2, 0.5, 0, 1e-9};
    static const uint64_t want[] = {500 * MS, 2000 * MS, 0, UINT64_MAX / 4};
    for (int i = 0; i < 4; i++) {
        scenario.workload.arrival.speedup = factor[i];
        struct workload *w =
            opened_with(KVF_SOURCE_MOONCAKE,
                        ROW("500", "1", "1", "0") ROW("1500", "1", "1", "0") ROW("604800500", "1", "1", "0"));
        next_expect(w);
        assert_int_equal(request.arrival_ns, 0);
        next_expect(w);
        if (i < 3) assert_int_equal(request.arrival_ns, want[i]);
        next_expect(w);
        if (i == 3) assert_int_equal(request.arrival_ns, want[i]);
        workload_close(w);
        scenario_clean(NULL);
    }
}

static void closed_arrivals_share_the_rows(void **state) {
    (void)state;
    scenario.workload.arrival.process = KVF_ARRIVAL_CLOSED;
    struct workload *w = opened_with(KVF_SOURCE_MOONCAKE, ROW("0", "1", "1", "0") ROW("9000", "2", "1", "0"));
    assert_false(workload_open_loop(w));
    assert_int_equal(workload_users(w), 7);
    assert_int_equal(workload_first_delay_ns(w, 5), 0);
    assert_int_equal(workload_think_ns(w, 5), 0);
    request.arrival_ns = 123;
    assert_int_equal(workload_next(w, 5, &request), WORKLOAD_REQUEST);
    assert_true(request.user == 5 && request.context_tokens == 1 && request.arrival_ns == 123);
    assert_int_equal(workload_next(w, 2, &request), WORKLOAD_REQUEST);
    assert_true(request.user == 2 && request.context_tokens == 2 && request.id == 2);
    assert_int_equal(workload_next(w, 5, &request), WORKLOAD_END);
    assert_int_equal(workload_next(w, 0, &request), WORKLOAD_END);
    workload_close(w);
}

/* A row that was read at the start but not handed out is not read. */
static void early_stop_keeps_the_totals(void **state) {
    static const char data[] = "not a row\n" ROW("0", "1", "1", "0") ROW("1", "0", "1", "")
        ROW("2", "3", "1", "0") ROW("3", "4", "1", "0");
    struct workload *w = opened_with(KVF_SOURCE_MOONCAKE, data);
    rows_expect(w, 0, 1);
    next_expect(w);
    rows_expect(w, 1, 1);
    next_expect(w);
    rows_expect(w, 2, 2);
    workload_close(w);
    scenario_clean(state);
    scenario.run.max_requests = 2;
    w = opened_with(KVF_SOURCE_MOONCAKE, data);
    next_expect(w);
    next_expect(w);
    end_expect(w);
    rows_expect(w, 2, 2);
    workload_close(w);
    scenario_clean(state);
    scenario.run.max_requests = 0;
    scenario.workload.limit = 3;
    w = opened_with(KVF_SOURCE_MOONCAKE, data);
    next_expect(w);
    end_expect(w);
    rows_expect(w, 1, 2);
    workload_close(w);
}

/* Asking takes nothing, however often; rejected rows in between and at the end are counted once. */
static void asking_for_more_takes_nothing(void **state) {
    (void)state;
    struct workload *w =
        opened_with(KVF_SOURCE_MOONCAKE, GOOD "rubbish\n" ROW("1", "100", "1", "8") "rubbish\n");
    assert_true(workload_more(w, 0) && workload_more(w, 3));
    rows_expect(w, 0, 0);
    next_expect(w);
    assert_int_equal(request.context_tokens, 513);
    assert_true(workload_more(w, 0) && workload_more(w, 0));
    rows_expect(w, 1, 1);
    next_expect(w);
    assert_int_equal(request.context_tokens, 100);
    assert_int_equal(request.id, 3);
    assert_false(workload_more(w, 0));
    end_expect(w);
    rows_expect(w, 2, 2);
    workload_close(w);
    unlink(scenario.workload.path);
    scenario.run.max_requests = 1;
    w = opened_with(KVF_SOURCE_MOONCAKE, GOOD GOOD);
    assert_true(workload_more(w, 0));
    next_expect(w);
    assert_false(workload_more(w, 0));
    workload_close(w);
}

static void classes_only_when_the_scenario_sets_them(void **state) {
    enum { ROWS = 4000 };
    static char data[ROWS * 90];
    size_t at = 0;
    unsigned second = 0;
    for (int i = 0; i < ROWS; i++)
        at += (size_t)snprintf(data + at, sizeof data - at, ROW("%d", "1", "1", "0"), i);
    struct workload *w = opened_with(KVF_SOURCE_MOONCAKE, data);
    while (workload_next(w, 0, &request) == WORKLOAD_REQUEST) second += request.klass == 1;
    assert_int_equal(second, 0);
    workload_close(w);
    scenario_clean(state);
    scenario.qos.classes_set = true;
    w = opened_with(KVF_SOURCE_MOONCAKE, data);
    while (workload_next(w, 0, &request) == WORKLOAD_REQUEST) second += request.klass == 1;
    /* shares 1 : 3; standard error sqrt(0.1875 / 4000) = 0.0068, four of them */
    assert_true(fabs(second / (double)ROWS - 0.75) < 0.028);
    workload_close(w);
}

static void shared_prompts(void **state) {
    enum { ROWS = 3000 };
    static char data[ROWS * 48];
    size_t at = 0;
    unsigned with = 0;
    for (int i = 0; i < ROWS; i++)
        at += (size_t)snprintf(data + at, sizeof data - at, "2023-11-16 18:17:03.9799600,%d,1\n",
                               i % 2 ? 1000 : 300);
    scenario.workload.prefix.probability = 0.4;
    scenario.workload.prefix.count = 2;
    scenario.workload.prefix.prompt_tokens[0] = 700;
    scenario.workload.prefix.prompt_tokens[1] = 300;
    scenario.workload.decode.max_context = 1000;
    scenario.cache.block_tokens = 16;
    struct workload *w = opened_with(KVF_SOURCE_AZURE, data);
    for (int i = 0; i < ROWS; i++) {
        next_expect(w);
        assert_int_equal(request.prefill_only, i % 2);
        if (request.prompt == REQUEST_NO_PROMPT) {
            assert_int_equal(request.context_tokens, i % 2 ? 1000 : 300);
            assert_int_equal(request.conversation_blocks, i % 2 ? 62 : 18);
            continue;
        }
        with++;
        assert_int_equal(i % 2, 1); /* a context of 300 is not longer than either */
        assert_int_equal(request.prompt_tokens, request.prompt == 0 ? 700 : 300);
        assert_int_equal(request.context_tokens, request.prompt == 0 ? 300 : 700);
        assert_int_equal(request.prompt_blocks, request.prompt == 0 ? 43 : 18);
        assert_int_equal(request.conversation_blocks, request.prompt == 0 ? 18 : 43);
    }
    assert_true(with > 520 && with < 680); /* 0.4 of 1,500: 600, four errors of 19 */
    workload_close(w);
    scenario_clean(state);
    scenario.workload.prefix.probability = 1;
    scenario.cache.block_tokens = 512;
    w = opened_with(KVF_SOURCE_MOONCAKE, ROW("0", "1024", "1", "1,2"));
    next_expect(w);
    assert_int_equal(request.prompt, REQUEST_NO_PROMPT);
    assert_int_equal(request.context_tokens, 1024);
    workload_close(w);
}

/* Rows in their order, at a rate instead of at their times. */
static void rows_at_a_rate(void **state) {
    (void)state;
    scenario.workload.arrival.process = KVF_ARRIVAL_GAMMA;
    scenario.workload.arrival.rate = 20;
    scenario.workload.arrival.cv = 0;
    scenario.workload.arrival.batch = 2;
    scenario.workload.arrival.speedup = 0; /* has no say here */
    scenario.run.max_requests = 3;
    struct workload *w =
        opened_with(KVF_SOURCE_MOONCAKE, ROW("0", "1", "1", "1") ROW("7000", "2", "1", "2")
                                             ROW("7001", "3", "1", "3") ROW("7002", "4", "1", "4"));
    assert_true(workload_open_loop(w) && !workload_unpaced(w));
    assert_int_equal(workload_users(w), 0);
    static const uint64_t at[] = {0, 0, 100 * MS};
    for (uint64_t i = 0; i < 3; i++) {
        assert_true(workload_more(w, 0));
        next_expect(w);
        assert_int_equal(request.arrival_ns, at[i]);
        assert_int_equal(request.context_tokens, i + 1);
        assert_int_equal(request.user, 0);
    }
    assert_false(workload_more(w, 0));
    end_expect(w);
    rows_expect(w, 3, 0);
    workload_close(w);
}

static void phase_prefill(void **state) {
    (void)state;
    scenario.workload.phase = KVF_WORKLOAD_PHASE_PREFILL;
    struct workload *w = opened_with(KVF_SOURCE_MOONCAKE, GOOD);
    next_expect(w);
    assert_true(request.prefill_only);
    workload_close(w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(mooncake_conversation_trace),
        TEST(mooncake_synthetic_trace),
        TEST(azure_code_trace),
        TEST(azure_conversation_trace),
        TEST(mooncake_optional_keys),
        TEST(mooncake_row),
        TEST(azure_row),
        TEST(header_is_optional),
        TEST(ops_row),
        TEST(io_trace_rows),
        TEST(speedup),
        TEST(closed_arrivals_share_the_rows),
        TEST(early_stop_keeps_the_totals),
        TEST(asking_for_more_takes_nothing),
        TEST(classes_only_when_the_scenario_sets_them),
        TEST(shared_prompts),
        TEST(rows_at_a_rate),
        TEST(phase_prefill),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("workload_traces", tests, NULL, NULL);
}
