#include "tests/unit/trace_fixture.h"

/* ---- rows that are no use ---- */

struct bad {
    const char *line;
    enum workload_reject reason;
};

/* Each between two good rows: it alone is rejected, with its line and its reason. */
static void bad_check(enum scenario_source source, const char *good, const struct bad *bad, size_t count) {
    for (size_t i = 0; i < count; i++) {
        char data[4096];
        int n = snprintf(data, sizeof data, "%s%s\n%s", good, bad[i].line, good);
        assert_true(n > 0 && (size_t)n < sizeof data);
        struct workload *w = opened_with(source, data);
        next_expect(w);
        next_expect(w);
        assert_int_equal(request.id, 3);
        end_expect(w);
        rows_expect(w, 2, 1);
        if (workload_rows(w)->rejected[bad[i].reason] != 1)
            fail_msg("%s: rejected for another reason: %s", bad[i].line,
                     workload_rows(w)->first_rejected_why);
        assert_int_equal(workload_rows(w)->first_rejected_line, 2);
        assert_true(strlen(workload_rows(w)->first_rejected_why) > 10);
        workload_close(w);
        scenario_clean(NULL);
    }
}
#define COUNT(a) (sizeof a / sizeof *(a))
#define BADROW(reason, ...)                                                                                  \
    { "{" __VA_ARGS__ "}", WORKLOAD_REJECT_##reason }
#define T "\"timestamp\":1,"
#define I "\"input_length\":5,"
#define O "\"output_length\":5,"
#define H "\"hash_ids\":[1]"

static void mooncake_bad_rows(void **state) {
    (void)state;
    static const struct bad bad[] = {
        {"{" T I O "\"hash_ids\":[1", WORKLOAD_REJECT_MALFORMED}, /* cut short */
        {"{" T I O "\"hash_ids\":[1]", WORKLOAD_REJECT_MALFORMED},
        {"{" T I "\"outp", WORKLOAD_REJECT_MALFORMED},
        {"{" T I "\"output_length\"", WORKLOAD_REJECT_MALFORMED},
        {"{" T "\"input_length\":", WORKLOAD_REJECT_MALFORMED},
        {"{" T I O H "} x", WORKLOAD_REJECT_MALFORMED},
        {"{" T I O H "}{}", WORKLOAD_REJECT_MALFORMED},
        {"[1,2]", WORKLOAD_REJECT_MALFORMED},
        {"{}", WORKLOAD_REJECT_MALFORMED},
        {"x", WORKLOAD_REJECT_MALFORMED},
        {"\x7f"
         "ELF\x02\x01\xff\xfe\x80",
         WORKLOAD_REJECT_MALFORMED},
        BADROW(MALFORMED, T I O),
        BADROW(MALFORMED, T I O H ","),
        BADROW(MALFORMED, T I H),
        BADROW(MALFORMED, T I O "\"hash_ids\":1"),
        BADROW(MALFORMED, T I O "\"hash_ids\":null"),
        BADROW(MALFORMED, T I O "\"hash_ids\":[\"1\"]"),
        BADROW(MALFORMED, T I O "\"hash_ids\":[1.5]"),
        BADROW(MALFORMED, T I O "\"hash_ids\":[[1]]"),
        BADROW(MALFORMED, T I O "\"hash_ids\":[1,]"),
        BADROW(MALFORMED, T I O "\"hash_ids\":[1 2]"),
        BADROW(MALFORMED, T O H ",\"input_length\":\"5\""),
        BADROW(MALFORMED, T O H ",\"input_length\":5.5"),
        BADROW(MALFORMED, T O H ",\"input_length\":5e0"),
        BADROW(MALFORMED, T O H ",\"input_length\":05"),
        BADROW(MALFORMED, T O H ",\"input_length\":true"),
        BADROW(MALFORMED, T O H ",\"input_length\":[5]"),
        BADROW(MALFORMED, T I O H "," I "\"x\":1"),
        BADROW(MALFORMED, I O H ",\"timestamp\":\"1\""),
        BADROW(MALFORMED, I O H ",\"timestamp\":NaN"),
        BADROW(MALFORMED, I O H ",\"timestamp\":1."),
        BADROW(MALFORMED, T I O H ",\"x\":[1,2}"),
        BADROW(MALFORMED, T I O H ",\"x\":{\"a\"}"),
        BADROW(MALFORMED, T I O H ",\"x\":{\"a\":1,}"),
        BADROW(MALFORMED, T I O H ",\"x\":\"\\q\""),
        BADROW(MALFORMED, T I O H ",\"x\":\"\\u12g4\""),
        BADROW(MALFORMED, T I O H ",\"x\":\"\t\""),
        BADROW(NEGATIVE, T O H ",\"input_length\":-5"),
        BADROW(NEGATIVE, T I H ",\"output_length\":-1"),
        BADROW(NEGATIVE, I O H ",\"timestamp\":-1"),
        BADROW(NEGATIVE, I O H ",\"timestamp\":-0.5"),
        BADROW(NEGATIVE, T I O "\"hash_ids\":[-1]"),
        BADROW(ABSURD, T O H ",\"input_length\":1099511627777"),
        BADROW(ABSURD, T I H ",\"output_length\":99999999999999999999999999"),
        BADROW(ABSURD, I O H ",\"timestamp\":1099511627777"),
        BADROW(ABSURD, I O H ",\"timestamp\":1099511627776"), /* 34 years after the row before */
        BADROW(ABSURD, T I O "\"hash_ids\":[18446744073709551616]"),
        BADROW(EMPTY, T O "\"input_length\":0,\"hash_ids\":[]"),
        BADROW(EMPTY, T O H ",\"input_length\":0"),
        BADROW(ID_COUNT, T I O "\"hash_ids\":[]"),
        BADROW(ID_COUNT, T I O "\"hash_ids\":[1,2]"),
        BADROW(ID_COUNT, T O "\"input_length\":1025,\"hash_ids\":[1,2]"),
        BADROW(ID_COUNT, T O "\"input_length\":1024,\"hash_ids\":[1,2,3]"),
        BADROW(ID_COUNT, T O "\"input_length\":1099511627776,\"hash_ids\":[1]"),
        BADROW(ID_COUNT, T I O H ",\"block_size\":64"),
    };
    bad_check(KVF_SOURCE_MOONCAKE, GOOD, bad, COUNT(bad));
}

static void azure_bad_rows(void **state) {
    (void)state;
    static const char good[] = "2023-11-16 18:15:46.6805900,374,44\n";
    static const struct bad bad[] = {
        {"2023-11-16 18:15:46.6805900,374", WORKLOAD_REJECT_MALFORMED},
        {"2023-11-16 18:15:46.6805900,374,", WORKLOAD_REJECT_MALFORMED},
        {"2023-11-16 18:15:46.6805900,374,44,1", WORKLOAD_REJECT_MALFORMED},
        {"2023-11-16 18:15:4", WORKLOAD_REJECT_MALFORMED},
        {"TIMESTAMP,ContextTokens,GeneratedTokens", WORKLOAD_REJECT_MALFORMED},
        {"2023-11-16,374,44", WORKLOAD_REJECT_MALFORMED},
        {"2023-11-16T18:15:46.6805900,374,44", WORKLOAD_REJECT_MALFORMED},
        {"2023-11-16 18:15:46.,374,44", WORKLOAD_REJECT_MALFORMED},
        {"2023-11-16 18:15:46.6805900Z,374,44", WORKLOAD_REJECT_MALFORMED},
        {"2023-11-16 18:15:46.0123456789,374,44", WORKLOAD_REJECT_MALFORMED},
        {"2023-02-29 18:15:46.6805900,374,44", WORKLOAD_REJECT_MALFORMED},
        {"2023-13-16 18:15:46.6805900,374,44", WORKLOAD_REJECT_MALFORMED},
        {"2023-11-00 18:15:46.6805900,374,44", WORKLOAD_REJECT_MALFORMED},
        {"2023-11-16 24:15:46.6805900,374,44", WORKLOAD_REJECT_MALFORMED},
        {"2023-11-16 18:60:46.6805900,374,44", WORKLOAD_REJECT_MALFORMED},
        {",374,44", WORKLOAD_REJECT_MALFORMED},
        {"2023-11-16 18:15:46.6805900,37x,44", WORKLOAD_REJECT_MALFORMED},
        {"2023-11-16 18:15:46.6805900, 374,44", WORKLOAD_REJECT_MALFORMED},
        {"2023-11-16 18:15:46.6805900,3.5,44", WORKLOAD_REJECT_MALFORMED},
        {"2023-11-16 18:15:46.6805900,-374,44", WORKLOAD_REJECT_NEGATIVE},
        {"2023-11-16 18:15:46.6805900,374,-44", WORKLOAD_REJECT_NEGATIVE},
        {"2023-11-16 18:15:46.6805900,374,1099511627777", WORKLOAD_REJECT_ABSURD},
        {"9999-11-16 18:15:46.6805900,374,44", WORKLOAD_REJECT_ABSURD},
        {"0001-11-16 18:15:46.6805900,374,44", WORKLOAD_REJECT_ABSURD},
        {"2023-11-15 18:15:46.6805800,374,44", WORKLOAD_REJECT_ABSURD}, /* a day and 10 us back */
        {"2023-12-16 18:15:46.6805901,374,44", WORKLOAD_REJECT_ABSURD}, /* more than 30 days on */
        {"2023-11-16 18:15:46.6805900,0,44", WORKLOAD_REJECT_EMPTY},
    };
    bad_check(KVF_SOURCE_AZURE, good, bad, COUNT(bad));
}

static void ops_bad_rows(void **state) {
    (void)state;
    static const struct bad bad[] = {
        {"write,a", WORKLOAD_REJECT_MALFORMED},
        {"write,a,1,2", WORKLOAD_REJECT_MALFORMED},
        {"write,a,", WORKLOAD_REJECT_MALFORMED},
        {"write,a,one", WORKLOAD_REJECT_MALFORMED},
        {"write,a,-1", WORKLOAD_REJECT_NEGATIVE},
        {"write,a,1099511627777", WORKLOAD_REJECT_ABSURD},
        {"write,a,0", WORKLOAD_REJECT_EMPTY},
        {"write,,1", WORKLOAD_REJECT_KEY},
        {"read,forty-eight-letters-are-one-letter-more-than-fit,1", WORKLOAD_REJECT_KEY},
        {"read,a b,1", WORKLOAD_REJECT_KEY},
        {"erase,a,1", WORKLOAD_REJECT_KEY},
        {",a,1", WORKLOAD_REJECT_KEY},
    };
    bad_check(KVF_SOURCE_OPS, "write,a,1\n", bad, COUNT(bad));
}

#define IO "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase\n"
static void io_trace_bad_rows(void **state) {
    (void)state;
    static const struct {
        const char *line;
        enum workload_reject reason;
    } bad[] = {
        {"2.5,Write,4096,Tier-0,a", WORKLOAD_REJECT_MALFORMED},
        {"2.5,Write,4096,Tier-0,a,Prefill,x", WORKLOAD_REJECT_MALFORMED},
        {"2.5,Write,4096,Tier-0,a,", WORKLOAD_REJECT_MALFORMED},
        {"2.5,Write,4096,Tier-0,a,Later", WORKLOAD_REJECT_MALFORMED},
        {"now,Write,4096,Tier-0,a,Prefill", WORKLOAD_REJECT_MALFORMED},
        {"2.5,Write,4k,Tier-0,a,Prefill", WORKLOAD_REJECT_MALFORMED},
        {"-2.5,Write,4096,Tier-0,a,Prefill", WORKLOAD_REJECT_NEGATIVE},
        {"2.5,Write,-1,Tier-0,a,Prefill", WORKLOAD_REJECT_NEGATIVE},
        {"2.5,Write,1099511627777,Tier-0,a,Prefill", WORKLOAD_REJECT_ABSURD},
        {"9000000000,Write,1,Tier-0,a,Prefill", WORKLOAD_REJECT_ABSURD},
        {"2.5,Write,0,Tier-0,a,Prefill", WORKLOAD_REJECT_EMPTY},
        {"2.5,Write,15,Tier-0,a,Prefill", WORKLOAD_REJECT_SIZE}, /* of tokens of 16 bytes */
        {"2.5,Move,4096,Tier-0,a,Prefill", WORKLOAD_REJECT_KEY},
        {"2.5,Write,4096,Tier-0,,Prefill", WORKLOAD_REJECT_KEY},
        {"2.5,Write,4096,Tier-0,a b,Prefill", WORKLOAD_REJECT_KEY},
    };
    scenario.model = (struct model){.layers = 1, .kv_heads = 1, .head_dim = 8, .dtype = MODEL_DTYPE_INT8};
    scenario.tensor_parallel = 1;
    for (size_t i = 0; i < COUNT(bad); i++) {
        char data[400];
        snprintf(data, sizeof data, IO "1.5,Write,16,Tier-0,a,Prefill\n%s\n2.5,Read,16,Tier-0,a,Decode\n",
                 bad[i].line);
        struct workload *w = opened_with(KVF_SOURCE_OPS, data);
        next_expect(w);
        next_expect(w);
        end_expect(w);
        rows_expect(w, 2, 1);
        if (workload_rows(w)->rejected[bad[i].reason] != 1)
            fail_msg("%s: rejected because %s", bad[i].line, workload_rows(w)->first_rejected_why);
        assert_int_equal(workload_rows(w)->skipped, 0);
        workload_close(w);
        scenario_clean(NULL);
    }
}

static void deep_nesting(void **state) {
    (void)state;
    enum { DEEP = 200000 };
    static char data[4 * DEEP];
    size_t at = (size_t)snprintf(data, sizeof data, GOOD "{\"x\":");
    memset(data + at, '[', DEEP);
    memset(data + at + DEEP, ']', DEEP);
    snprintf(data + at + 2 * DEEP, 100, "}\n" GOOD);
    struct workload *w = opened_with(KVF_SOURCE_MOONCAKE, data);
    next_expect(w);
    next_expect(w);
    rows_expect(w, 2, 1);
    assert_int_equal(workload_rows(w)->rejected[WORKLOAD_REJECT_MALFORMED], 1);
    workload_close(w);
}

static void nul_bytes_and_long_lines(void **state) {
    (void)state;
    enum { LENGTH = 20000000 };
    size_t good = strlen(GOOD), size = 3 * good + 2 + LENGTH + 1;
    char *data = malloc(size);
    assert_non_null(data);
    memcpy(data, GOOD, good);
    data[10] = '\0'; /* the first row is spoilt */
    memcpy(data + good, GOOD, good);
    memcpy(data + 2 * good, "\0\n", 2);
    memset(data + 2 * good + 2, '[', LENGTH);
    data[2 * good + 2 + LENGTH] = '\n';
    memcpy(data + size - good, GOOD, good - 1);
    file_write(data, size - 1);
    struct workload *w = opened();
    next_expect(w);
    assert_int_equal(request.id, 2);
    next_expect(w);
    assert_int_equal(request.id, 5);
    rows_expect(w, 2, 3);
    end_expect(w);
    assert_int_equal(workload_rows(w)->rejected[WORKLOAD_REJECT_MALFORMED], 3);
    assert_int_equal(workload_rows(w)->first_rejected_line, 1);
    workload_close(w);
    free(data);
}

/* A list of ids as long as a line can be is neither kept nor handed on. */
static void too_many_ids(void **state) {
    (void)state;
    enum { IDS = 2000000 };
    char *data = malloc(2 * IDS + 1000);
    assert_non_null(data);
    size_t at = (size_t)sprintf(data, GOOD "{" T O "\"input_length\":1024000000,\"hash_ids\":[1");
    for (int i = 1; i < IDS; i++, at += 2) memcpy(data + at, ",1", 2);
    sprintf(data + at, "]}\n" GOOD);
    struct workload *w = opened_with(KVF_SOURCE_MOONCAKE, data);
    next_expect(w);
    next_expect(w);
    end_expect(w);
    rows_expect(w, 2, 1);
    assert_int_equal(workload_rows(w)->rejected[WORKLOAD_REJECT_ABSURD], 1);
    assert_true(request.id_cap < 1000);
    workload_close(w);
    free(data);
}

/* ---- files that are no use ---- */

static void unusable_files(void **state) {
    (void)state;
    strcpy(scenario.workload.path, "/nonexistent/trace");
    refused(KVF_ERR_USAGE, "/nonexistent/trace");
    strcpy(scenario.workload.path, "/tmp");
    refused(KVF_ERR_USAGE, "regular file");
    file_write("", 0);
    refused(KVF_ERR_USAGE, "no rows");
    scenario_clean(NULL);
    file_write("\n\r\n", 3);
    refused(KVF_ERR_USAGE, "no rows");
    scenario_clean(NULL);
    file_write("\0\1\2\n\0\0", 6);
    refused(KVF_ERR_USAGE, "line 1: the line has a NUL byte in it");
    scenario_clean(NULL);
    file_write("name: quickstart\nmode: real\n", 28);
    refused(KVF_ERR_USAGE, "mooncake");
    scenario_clean(NULL);
    scenario.workload.source = KVF_SOURCE_AZURE;
    file_write("TIMESTAMP,ContextTokens,GeneratedTokens\r\n", 41);
    refused(KVF_ERR_USAGE, "no rows");
}

/* A usable row behind 16 MiB of others comes too late; a terabyte without one is not read through. */
static void usable_row_must_come_early(void **state) {
    (void)state;
    size_t size = ((size_t)16 << 20) + 100;
    char *data = malloc(size + sizeof GOOD + 1);
    assert_non_null(data);
    for (size_t i = 0; i < size; i++) data[i] = i % 100 == 99 ? '\n' : 'x';
    strcpy(data + size, "\n" GOOD);
    file_write(data, size + 1 + strlen(GOOD));
    refused(KVF_ERR_USAGE, "16 MiB");
    free(data);
    assert_int_equal(truncate(scenario.workload.path, 0), 0);
    assert_int_equal(truncate(scenario.workload.path, (off_t)1 << 40), 0);
    refused(KVF_ERR_USAGE, "longer than 16 MiB");
}

static void scenarios_that_do_not_fit(void **state) {
    scenario.workload.source = KVF_SOURCE_OPS;
    file_write("write,a,1\n", 10);
    scenario.workload.arrival.process = KVF_ARRIVAL_TRACE;
    refused(KVF_ERR_USAGE, "trace needs arrival times, which \"/tmp/kvf-test-trace-");
    scenario_clean(state);
    file_write("Timestamp,Operation,Key\n", 24);
    refused(KVF_ERR_USAGE, "its header names no column \"Object_Size_Bytes\"");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(mooncake_bad_rows),
        TEST(azure_bad_rows),
        TEST(ops_bad_rows),
        TEST(io_trace_bad_rows),
        TEST(deep_nesting),
        TEST(nul_bytes_and_long_lines),
        TEST(too_many_ids),
        TEST(unusable_files),
        TEST(usable_row_must_come_early),
        TEST(scenarios_that_do_not_fit),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("workload_rejects", tests, NULL, NULL);
}
