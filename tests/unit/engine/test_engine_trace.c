#include "tests/unit/run_fixture.h"

/* ---- operations of a file over three tiers of two entries each ---- */

/* 10 tokens of 4 KiB are 40 KiB, two of them 80 KiB. */
#define ENTRY 40960
#define TWO_EACH                                                                                             \
    MODEL_4K ENGINE "tiers: {gpu: {capacity: 80KiB}, cpu: {capacity: 80KiB}, nvme: {capacity: 80KiB, "       \
                    "io_size: 16KiB}}\n"                                                                     \
                    "cache: {headroom: 0, verify: full}\nworkload: {source: ops}\n"                          \
                    "run: {duration: 100s, warmup: 0s}\n"

/* Entries by tier afterwards, gpu | cpu | nvme, oldest first, worked by hand:
 *   w a, w b    ab | |              w c     bc | a |           w d      cd | ab |
 *   w e         de | bc | a         w f     ef | cd | ab       w g      fg | de | bc, a is dropped
 *   r a misses; r b hits nvme, r d cpu, r g gpu; nothing moves up
 *   w h         gh | df | be: f falls before g, which was just read; then e before d; then c before b is
 * dropped w h again writes nothing; r c misses; r e hits nvme, r f cpu, r h gpu */
static const char three_tier_ops[] =
    "op,key,tokens\n"
    "write,a,10\nwrite,b,10\nwrite,c,10\nwrite,d,10\nwrite,e,10\nwrite,f,10\nwrite,g,10\n"
    "read,a,10\nread,b,10\nread,d,10\nread,g,10\n"
    "write,h,10\nwrite,h,10\n"
    "read,c,10\nread,e,10\nread,f,10\nread,h,10\n";

static void operations_hit_and_miss_where_they_must(void **state) {
    (void)state;
    rows_write(three_tier_ops);
    run_yaml(TWO_EACH, 1);
    expect_status(RUN_COMPLETED);
    expect_identities();
    expect_no_errors();
    expect_result("requests_done", 17);
    expect_result("rows_read", 17);
    expect_result("rows_emitted", 17);
    expect_result("rows_rejected", 0);
    expect_result("lookups", 8);
    expect_result("gpu_hits", 2);
    expect_result("cpu_hits", 2);
    expect_result("nvme_hits", 2);
    expect_result("misses", 2);
    expect_result("evictions", 2);
    expect_result("nvme_evictions", 2);
    expect_result("gpu_demotions", 6);
    expect_result("cpu_demotions", 4);
    expect_result("demotions", 10);
    for (int tier = 0; tier < 3; tier++) {
        static const char *const entries[] = {"gpu_entries", "cpu_entries", "nvme_entries"};
        static const char *const used[] = {"gpu_used_bytes", "cpu_used_bytes", "nvme_used_bytes"};
        expect_result(entries[tier], 2);
        expect_result(used[tier], 2 * ENTRY);
    }
    expect_result("gpu_write_ops", 8); /* a to h, h once */
    expect_result("gpu_read_ops", 6 + 2);
    expect_result("cpu_write_ops", 6);
    expect_result("cpu_read_ops", 4 + 2);
    expect_result("nvme_write_ops", 4);
    expect_result("nvme_read_ops", 2);
    expect_result("gpu_write_bytes", 8 * ENTRY);
    expect_result("nvme_write_bytes", 4 * ENTRY);
    expect_result("total_read_bytes", 16 * ENTRY);
    expect_result("total_write_bytes", 18 * ENTRY);
    expect_result("tokens_generated", 0);
    expect_result("verify_checked", (6 + 2) * ENTRY / 4096); /* what cpu and nvme gave back */
    expect_result("verify_unverified", 8);                   /* gpu is emulated */
    expect_result("entry_bytes_mean", ENTRY);
    expect_result("entry_bytes_p95", ENTRY); /* all of one size: no bucket's middle */
    expect_result("entry_bytes_max", ENTRY);
    run_end();
}

/* The rows of that run in the order of planning: "tier operation key phase". */
static const char three_tier_rows[] =
    "0 Write a Prefill\n0 Write b Prefill\n"
    "0 Read a Evict\n1 Write a Evict\n0 Write c Prefill\n"
    "0 Read b Evict\n1 Write b Evict\n0 Write d Prefill\n"
    "1 Read a Evict\n2 Write a Evict\n0 Read c Evict\n1 Write c Evict\n0 Write e Prefill\n"
    "1 Read b Evict\n2 Write b Evict\n0 Read d Evict\n1 Write d Evict\n0 Write f Prefill\n"
    "1 Read c Evict\n2 Write c Evict\n0 Read e Evict\n1 Write e Evict\n0 Write g Prefill\n"
    "2 Read b Decode\n1 Read d Decode\n0 Read g Decode\n"
    "1 Read e Evict\n2 Write e Evict\n0 Read f Evict\n1 Write f Evict\n0 Write h Prefill\n"
    "2 Read e Decode\n1 Read f Decode\n0 Read h Decode\n";

struct io_sums {
    uint64_t rows, bytes[2], tier_bytes[3][2];
};

/* The trace as "tier operation key phase" lines, and its sums. */
static char *io_rows(struct io_sums *sums) {
    char *text = text_of(t.io), *rest = text, *line;
    struct buf out = {0};
    memset(sums, 0, sizeof *sums);
    assert_string_equal(strsep(&rest, "\n"), "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase");
    while ((line = strsep(&rest, "\n")) != NULL && *line) {
        char *field[6];
        for (int i = 0; i < 6; i++) assert_non_null(field[i] = strsep(&line, ","));
        assert_null(line);
        int way = strcmp(field[1], "Write") == 0, tier = field[3][5] - '0';
        assert_true(way || strcmp(field[1], "Read") == 0);
        assert_true(strncmp(field[3], "Tier-", 5) == 0 && tier >= 0 && tier < 3);
        uint64_t bytes = strtoull(field[2], NULL, 10);
        sums->rows++;
        sums->bytes[way] += bytes;
        sums->tier_bytes[tier][way] += bytes;
        buf_addf(&out, "%d %s %s %s\n", tier, field[1], field[4], field[5]);
    }
    free(text);
    return out.data;
}

static void the_io_trace_has_a_row_for_every_operation_in_plan_order(void **state) {
    (void)state;
    struct io_sums sums;
    rows_write(three_tier_ops);
    setup_of(TWO_EACH, 1);
    t.setup.io_trace_path = t.io;
    run_go();
    char *rows = io_rows(&sums);
    assert_string_equal(rows, three_tier_rows);
    free(rows);
    assert_int_equal(sums.rows, 34);
    expect_result("total_read_bytes", (double)sums.bytes[0]);
    expect_result("total_write_bytes", (double)sums.bytes[1]);
    run_end();
}

/* With many requests in flight the sums are those of the results, tier by tier. */
static void the_io_trace_has_the_bytes_of_the_results(void **state) {
    (void)state;
    struct io_sums sums;
    setup_of(MODEL_4K ENGINE
             "tiers: {gpu: {capacity: 512KiB}, cpu: {capacity: 512KiB}, nvme: {capacity: 1MiB, io_size: "
             "16KiB, io_depth: 4}}\n"
             "workload: {users: 8, personas: [{name: a, context: [4, 16], think: [0, 1ms]}]}\n"
             "run: {duration: 100s, warmup: 0s, max_requests: 300}\n",
             1);
    t.setup.io_trace_path = t.io;
    run_go();
    expect_status(RUN_COMPLETED);
    free(io_rows(&sums));
    static const char *const names[3][2] = {{"gpu_read_bytes", "gpu_write_bytes"},
                                            {"cpu_read_bytes", "cpu_write_bytes"},
                                            {"nvme_read_bytes", "nvme_write_bytes"}};
    double ops = 0;
    for (int tier = 0; tier < 3; tier++)
        for (int way = 0; way < 2; way++) expect_result(names[tier][way], (double)sums.tier_bytes[tier][way]);
    static const char *const of_ops[] = {"gpu_read_ops",  "gpu_write_ops", "cpu_read_ops",
                                         "cpu_write_ops", "nvme_read_ops", "nvme_write_ops"};
    for (int i = 0; i < 6; i++) ops += value_of(of_ops[i]);
    assert_true((double)sums.rows == ops);
    assert_true(value_of("demotions") > 0);
    run_end();
}

static void rows_that_cannot_be_used_are_counted_and_named(void **state) {
    (void)state;
    rows_write("write,a,10\nerase,a,10\nread,a,10\nread,a,-1\nread,b\n");
    run_yaml(TWO_EACH, 1);
    expect_status(RUN_COMPLETED);
    expect_result("requests_done", 2);
    expect_result("rows_read", 5);
    expect_result("rows_emitted", 2);
    expect_result("rows_rejected", 3);
    expect_result("rows_rejected_key", 1);
    expect_result("rows_rejected_negative", 1);
    expect_result("rows_rejected_malformed", 1);
    assert_non_null(event_of("warning"));
    assert_non_null(strstr(event_of("warning"), "line 2"));
    assert_int_equal(strlen(t.run.trace_sha256), 64);
    run_end();
}

static void max_requests_end_a_file_early(void **state) {
    (void)state;
    rows_write(three_tier_ops);
    setup_of(TWO_EACH, 1);
    t.s.run.max_requests = 4;
    run_go();
    expect_result("requests_done", 4);
    expect_result("gpu_write_ops", 4);
    expect_result("gpu_demotions", 2);
    run_end();
}

/* ---- blocks of a trace ---- */

/* 512 tokens of 16 bytes are 8 KiB; the one tier holds four blocks. One slot, so that a row is done
 * before the next. */
#define FOUR_BLOCKS                                                                                          \
    MODEL_16 "engine: {workers: 2, noise: 1MiB, slots: 1}\n"                                                 \
             "tiers: {cpu: {capacity: 32KiB}}\n"                                                             \
             "workload: {source: mooncake, arrival: {speedup: 0}}\n"                                         \
             "run: {duration: 100s, warmup: 0s}\n"
#define BLOCKS(order) "cache: {granularity: block, headroom: 0, verify: full, touch_order: " order "}\n"
#define ROW(tokens, ids)                                                                                     \
    "{\"timestamp\": 0, \"input_length\": " tokens ", \"output_length\": 3, \"hash_ids\": [" ids "]}\n"

/* Oldest first after each row, last first, worked by hand:
 *   1 2 3    misses 3            321
 *   1 2 4    hits 1 2, writes 4  3421
 *   5        misses, 3 is out    4215
 *   1 2 3    hits 1 2, writes 3: row 3 2 1; 4 is out      5321
 *   4        misses, 5 is out    3214
 *   1 2 3    hits all            4321 */
static void blocks_of_a_trace_hit_and_miss_where_they_must(void **state) {
    (void)state;
    rows_write(ROW("1536", "1, 2, 3") ROW("1400", "1, 2, 4") ROW("512", "5") ROW("1536", "1, 2, 3")
                   ROW("100", "4") ROW("1536", "1, 2, 3"));
    run_yaml(FOUR_BLOCKS BLOCKS("last_first"), 1);
    expect_status(RUN_COMPLETED);
    expect_identities();
    expect_no_errors();
    expect_result("requests_done", 6);
    expect_result("rows_emitted", 6);
    expect_result("lookups", 14);
    expect_result("hits", 7);
    expect_result("misses", 7);
    expect_result("prefix_lookups", 14);
    expect_result("prefix_hits", 7);
    expect_result("reuse_hit_ratio", 0.5);
    expect_result("decode_lookups", 0);
    expect_result("cpu_write_ops", 7);
    expect_result("cpu_write_bytes", 7 * 8192); /* an id counts as a whole block */
    expect_result("cpu_read_ops", 7);
    expect_result("evictions", 3);
    expect_result("cpu_entries", 4);
    expect_result("tokens_generated", 18);
    run_end();
}

/* 1 2 3, then 9 8 push one out: the leaf 3 if touched last first, else the root 1, without which the
 * third row finds nothing. */
static void the_touch_order_decides_which_block_goes(void **state) {
    (void)state;
    rows_write(ROW("1536", "1, 2, 3") ROW("1024", "9, 8") ROW("1024", "1, 2"));
    run_yaml(FOUR_BLOCKS BLOCKS("last_first"), 1);
    expect_result("lookups", 7);
    expect_result("hits", 2);
    run_end();
    run_yaml(FOUR_BLOCKS BLOCKS("forward"), 1);
    expect_result("lookups", 7);
    expect_result("hits", 0);
    run_end();
}

/* Many rows at once that want the same blocks. Those that look before the first write is planned miss
 * as well, whoever comes while they are written waits and hits; each block is written once. */
static void concurrent_rows_write_a_block_once(void **state) {
    (void)state;
    struct buf rows = {0};
    for (int i = 0; i < 60; i++) buf_add(&rows, ROW("1536", "1, 2, 3"));
    rows_write(buf_text(&rows));
    buf_free(&rows);
    run_yaml(MODEL_16 ENGINE "tiers: {nvme: {capacity: 1MiB, io_size: 4KiB}}\n"
                             "workload: {source: mooncake, arrival: {speedup: 0}}\n"
                             "run: {duration: 100s, warmup: 0s}\n" BLOCKS("last_first"),
             1);
    expect_status(RUN_COMPLETED);
    expect_identities();
    expect_no_errors();
    expect_result("requests_done", 60);
    expect_result("lookups", 180);
    expect_result("nvme_write_ops", 3);
    expect_result("nvme_entries", 3);
    expect_result("nvme_read_ops", value_of("hits"));
    assert_true(value_of("misses") >= 3 && value_of("hits") > 0);
    run_end();
}

static void stop_when_slots_are_full(void *ctx, const struct snapshot *snap) {
    (void)ctx;
    static int intervals; /* 20 s are more than it can take */
    if (snap->interval.in_service_now == 3000 || ++intervals == 2000) tell(COMMAND_STOP, 0);
}

/* Without times rows come as fast as they are served: none is dropped, however few the queue holds. */
static void rows_without_times_wait_for_room_in_the_queue(void **state) {
    (void)state;
    struct buf rows = {0};
    for (int i = 0; i < 200; i++) buf_add(&rows, ROW("512", "1"));
    rows_write(buf_text(&rows));
    buf_free(&rows);
    run_yaml(MODEL_16 "engine: {workers: 2, noise: 1MiB, slots: 16, queue_limit: 2}\n"
                      "tiers: {gpu: {capacity: 1MiB, backend: emulated}}\n"
                      "workload: {source: mooncake, arrival: {speedup: 0}}\n"
                      "run: {duration: 100s, warmup: 0s}\n" BLOCKS("last_first"),
             1);
    expect_status(RUN_COMPLETED);
    expect_identities();
    expect_no_errors();
    expect_result("requests_arrived", 200);
    expect_result("requests_dropped", 0);
    expect_result("requests_done", 200);
    run_end();
}

/* And fill all slots, however many: 3,000 requests whose answers take longer than the run. */
static void rows_without_times_fill_all_slots(void **state) {
    (void)state;
    struct buf rows = {0};
    for (int i = 0; i < 3001; i++) buf_add(&rows, ROW("512", "1"));
    rows_write(buf_text(&rows));
    buf_free(&rows);
    setup_of(MODEL_16 "engine: {workers: 2, noise: 1MiB, slots: 3000}\n"
                      "tiers: {gpu: {capacity: 1MiB, backend: emulated}}\n"
                      "workload: {source: mooncake, arrival: {speedup: 0}}\n"
                      "compute: {mode: fixed, ms_per_token: 100000}\n"
                      "run: {duration: 100s, warmup: 0s, interval: 10ms}\n" BLOCKS("last_first"),
             1);
    t.setup.on_interval = stop_when_slots_are_full;
    run_go();
    expect_status(RUN_INTERRUPTED);
    expect_result("requests_in_service_at_end", 3000);
    expect_identities();
    run_end();
}

/* Rows 40 ms apart at double speed: no row is in service before its time. */
static void rows_arrive_at_their_times(void **state) {
    (void)state;
    rows_write("{\"timestamp\": 1000, \"input_length\": 512, \"output_length\": 1, \"hash_ids\": [1]}\n"
               "{\"timestamp\": 1040, \"input_length\": 512, \"output_length\": 1, \"hash_ids\": [2]}\n"
               "{\"timestamp\": 1080, \"input_length\": 512, \"output_length\": 1, \"hash_ids\": [3]}\n");
    setup_of(MODEL_16 ENGINE "tiers: {cpu: {capacity: 1MiB}}\n"
                             "workload: {source: mooncake, arrival: {speedup: 2}}\n"
                             "run: {duration: 100s, warmup: 0s}\n" BLOCKS("forward"),
             1);
    t.setup.request_log_path = t.requests;
    run_go();
    expect_status(RUN_COMPLETED);
    assert_true(value_of("measured_s") >= 0.04);
    char *log = text_of(t.requests), *line = log;
    double first = INFINITY, last = -INFINITY, sum = 0; /* in the order in which they were done */
    for (int i = 0; i < 3; i++) {
        line = strstr(line + 1, "\"arrival_s\":");
        assert_non_null(line);
        double at = strtod(line + 12, NULL);
        first = fmin(first, at);
        last = fmax(last, at);
        sum += at;
    }
    assert_true(fabs(last - first - 0.04) < 1e-5 && fabs(sum - 3 * first - 0.06) < 1e-5);
    free(log);
    run_end();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operations_hit_and_miss_where_they_must),
        cmocka_unit_test(the_io_trace_has_a_row_for_every_operation_in_plan_order),
        cmocka_unit_test(the_io_trace_has_the_bytes_of_the_results),
        cmocka_unit_test(rows_that_cannot_be_used_are_counted_and_named),
        cmocka_unit_test(max_requests_end_a_file_early),
        cmocka_unit_test(blocks_of_a_trace_hit_and_miss_where_they_must),
        cmocka_unit_test(the_touch_order_decides_which_block_goes),
        cmocka_unit_test(concurrent_rows_write_a_block_once),
        cmocka_unit_test(rows_without_times_wait_for_room_in_the_queue),
        cmocka_unit_test(rows_without_times_fill_all_slots),
        cmocka_unit_test(rows_arrive_at_their_times),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("engine_trace", tests, runs_set_up, runs_tear_down);
}
