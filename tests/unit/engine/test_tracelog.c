#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "base/clock.h"
#include "engine/service/tracelog.h"

enum { GPU = KVF_TIER_GPU, CPU = KVF_TIER_CPU, NVME = KVF_TIER_NVME, NOWHERE = -1 };
#define HEADER "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase\n"
#define MS     UINT64_C(1000000)

static char dir[] = "/var/tmp/kvf-test-tracelog-XXXXXX", io_path[64], zst_path[64], request_path[64];
static struct scenario scenario;
static struct transfer complete; /* only whether there is one counts */

static int dir_make(void **state) {
    (void)state;
    assert_non_null(mkdtemp(dir));
    snprintf(io_path, sizeof io_path, "%s/io.csv", dir);
    snprintf(zst_path, sizeof zst_path, "%s/io.csv.zst", dir);
    snprintf(request_path, sizeof request_path, "%s/requests.jsonl", dir);
    scenario.qos.classes = 2;
    snprintf(scenario.qos.klass[0].name, sizeof scenario.qos.klass[0].name, "interactive");
    snprintf(scenario.qos.klass[1].name, sizeof scenario.qos.klass[1].name, "batch");
    return 0;
}

static int dir_remove(void **state) {
    (void)state;
    unlink(io_path);
    unlink(zst_path);
    unlink(request_path);
    return rmdir(dir);
}

static struct tracelog *opened(const char *io, const char *requests, uint32_t workers) {
    struct tracelog *l = NULL;
    struct err e = {0};
    if (tracelog_open(&l, &scenario, io, requests, workers, &e) != 0) fail_msg("%s", e.text);
    return l;
}

static void closed(struct tracelog *l) {
    struct err e = {0};
    if (tracelog_close(l, &e) != 0) fail_msg("%s", e.text);
}

static char *content(const char *path, size_t *len) {
    FILE *f = fopen(path, "re");
    assert_non_null(f);
    struct stat st;
    assert_int_equal(fstat(fileno(f), &st), 0);
    char *text = calloc(1, (size_t)st.st_size + 1);
    assert_non_null(text);
    *len = fread(text, 1, (size_t)st.st_size, f);
    assert_int_equal(*len, st.st_size);
    fclose(f);
    return text;
}

static struct cache_op op_of(uint64_t seq, int from, int to, const char *key, uint64_t bytes) {
    struct cache_op op = {.seq = seq, .from = from, .to = to, .bytes = bytes};
    op.kind = from == NOWHERE ? CACHE_OP_WRITE : to == NOWHERE ? CACHE_OP_READ : CACHE_OP_MOVE;
    assert_int_equal(cache_key_parse(key, &op.key), 0);
    return op;
}

static void end_op(struct tracelog *l, uint32_t worker, struct cache_op op) {
    tracelog_op(l, worker, &op, &complete);
}
static void end_without_row(struct tracelog *l, uint32_t worker, struct cache_op op) {
    tracelog_op(l, worker, &op, NULL);
}

/* Compares the file with these rows; times are checked for their form and place and left out. */
static void expect_rows(char *text, const char *want) {
    char *got = calloc(1, strlen(text) + 1), *to = got, *line, *rest = text;
    double now = (double)clock_wall_ns() / 1e9;
    assert_non_null(got);
    assert_int_equal(strncmp(text, HEADER, strlen(HEADER)), 0);
    strsep(&rest, "\n");
    while ((line = strsep(&rest, "\n")) != NULL && *line) {
        char *end;
        double at = strtod(line, &end);
        assert_true(*end == ',');
        assert_true(at > now - 60 && at <= now + 1);
        assert_true(strspn(line, "0123456789") + 7 == (size_t)(end - line)); /* six decimals */
        to += sprintf(to, "%s\n", end + 1);
    }
    assert_string_equal(got, want);
    free(got);
}

static void expect_io(const char *want) {
    size_t len;
    char *text = content(io_path, &len);
    expect_rows(text, want);
    free(text);
}

/* ---- the I/O trace ---- */

static void without_paths_there_is_no_log(void **state) {
    (void)state;
    struct tracelog *l = opened(NULL, NULL, 1);
    assert_null(l);
    end_op(l, 0, op_of(1, GPU, NOWHERE, "1", 10));
    tracelog_arm(l, 5);
    closed(l);
}

static void each_kind_of_operation_has_its_rows(void **state) {
    (void)state;
    struct tracelog *l = opened(io_path, NULL, 1);
    tracelog_arm(l, 0);
    end_op(l, 0, op_of(1, NOWHERE, GPU, "7/1", 4096));  /* a request writes */
    end_op(l, 0, op_of(2, NVME, NOWHERE, "12", 65536)); /* a request reads */
    end_op(l, 0, op_of(3, GPU, CPU, "7/1", 4096));      /* a move: read above, write below */
    end_op(l, 0, op_of(4, NVME, GPU, "text", 1));       /* a promotion */
    struct cache_op load = op_of(5, CPU, GPU, "8", 9);
    load.kind = CACHE_OP_READ;
    end_op(l, 0, load); /* a request reads, and keeps what it loads */
    closed(l);
    expect_io("Write,4096,Tier-0,7/1,Prefill\n"
              "Read,65536,Tier-2,12,Decode\n"
              "Read,4096,Tier-0,7/1,Evict\nWrite,4096,Tier-1,7/1,Evict\n"
              "Read,1,Tier-2,text,Evict\nWrite,1,Tier-0,text,Evict\n"
              "Read,9,Tier-1,8,Decode\nWrite,9,Tier-0,8,Evict\n");
}

/* They end in another order, on two workers. */
static void rows_come_in_the_order_of_planning(void **state) {
    (void)state;
    struct tracelog *l = opened(io_path, NULL, 2);
    tracelog_arm(l, 0);
    end_op(l, 0, op_of(4, GPU, NOWHERE, "4", 1));
    end_op(l, 1, op_of(2, GPU, NOWHERE, "2", 1));
    end_op(l, 0, op_of(1, GPU, NOWHERE, "1", 1));
    end_op(l, 1, op_of(5, GPU, NOWHERE, "5", 1));
    end_op(l, 0, op_of(3, GPU, NOWHERE, "3", 1));
    closed(l);
    expect_io("Read,1,Tier-0,1,Decode\nRead,1,Tier-0,2,Decode\nRead,1,Tier-0,3,Decode\n"
              "Read,1,Tier-0,4,Decode\nRead,1,Tier-0,5,Decode\n");
}

/* Failed and abandoned operations, and those that never had a number, hold nobody up. */
static void operations_without_a_row_leave_a_gap(void **state) {
    (void)state;
    struct tracelog *l = opened(io_path, NULL, 1);
    tracelog_arm(l, 0);
    end_op(l, 0, op_of(3, GPU, NOWHERE, "3", 1));
    end_without_row(l, 0, op_of(2, GPU, NOWHERE, "2", 1));
    end_without_row(l, 0, op_of(0, GPU, NOWHERE, "0", 1));
    end_op(l, 0, op_of(1, GPU, NOWHERE, "1", 1));
    closed(l);
    expect_io("Read,1,Tier-0,1,Decode\nRead,1,Tier-0,3,Decode\n");
}

static void nothing_is_written_before_the_first_request(void **state) {
    (void)state;
    struct tracelog *l = opened(io_path, NULL, 1);
    end_op(l, 0, op_of(2, GPU, NOWHERE, "2", 1));
    end_op(l, 0, op_of(1, GPU, NOWHERE, "1", 1));
    tracelog_arm(l, 0);
    end_op(l, 0, op_of(3, GPU, NOWHERE, "3", 1));
    closed(l);
    expect_io("Read,1,Tier-0,3,Decode\n");
}

/* After an abort a predecessor may never end; what did is written all the same. */
static void rows_behind_one_that_never_ends_are_kept(void **state) {
    (void)state;
    struct tracelog *l = opened(io_path, NULL, 1);
    tracelog_arm(l, 0);
    end_op(l, 0, op_of(5, GPU, NOWHERE, "5", 1));
    end_op(l, 0, op_of(3, GPU, NOWHERE, "3", 1));
    end_op(l, 0, op_of(1, GPU, NOWHERE, "1", 1));
    closed(l);
    expect_io("Read,1,Tier-0,1,Decode\nRead,1,Tier-0,3,Decode\nRead,1,Tier-0,5,Decode\n");
}

/* Two workers write more than their rings hold; even and odd numbers. */
enum { MANY = 20000 };
static struct tracelog *shared;

static void *worker_main(void *arg) {
    uint64_t first = *(const uint64_t *)arg;
    for (uint64_t seq = first; seq <= MANY; seq += 2)
        end_op(shared, first == 1 ? 0 : 1, op_of(seq, GPU, NOWHERE, "1", seq));
    return NULL;
}

static void full_rings_lose_nothing(void **state) {
    (void)state;
    pthread_t thread;
    uint64_t even = 2, odd = 1, seen = 0;
    shared = opened(io_path, NULL, 2);
    tracelog_arm(shared, 0);
    assert_int_equal(pthread_create(&thread, NULL, worker_main, &even), 0);
    worker_main(&odd);
    pthread_join(thread, NULL);
    closed(shared);
    size_t len;
    char *text = content(io_path, &len), *rest = text, *line;
    strsep(&rest, "\n");
    while ((line = strsep(&rest, "\n")) != NULL && *line) {
        char *size = strstr(line, "Read,");
        assert_non_null(size);
        assert_int_equal(strtoull(size + 5, NULL, 10), ++seen);
    }
    assert_int_equal(seen, MANY);
    free(text);
}

static void a_name_that_ends_in_zst_is_compressed(void **state) {
    (void)state;
    struct tracelog *l = opened(zst_path, NULL, 1);
    tracelog_arm(l, 0);
    for (uint64_t seq = 1; seq <= 3; seq++) end_op(l, 0, op_of(seq, GPU, NOWHERE, "8", seq));
    closed(l);
    size_t len;
    char *packed = content(zst_path, &len), *text = calloc(1, 100000);
    assert_non_null(text);
    ZSTD_DCtx *d = ZSTD_createDCtx();
    ZSTD_inBuffer in = {packed, len, 0};
    ZSTD_outBuffer out = {text, 99999, 0};
    assert_int_equal(ZSTD_decompressStream(d, &out, &in), 0); /* 0: the frame is whole */
    assert_int_equal(in.pos, len);
    ZSTD_freeDCtx(d);
    text[out.pos] = '\0';
    expect_rows(text, "Read,1,Tier-0,8,Decode\nRead,2,Tier-0,8,Decode\nRead,3,Tier-0,8,Decode\n");
    free(text);
    free(packed);
}

/* ---- the request log ---- */

static struct flight flight_of(void) {
    return (struct flight){.req = {.id = 77,
                                   .conversation = 5,
                                   .turn = 3,
                                   .klass = 1,
                                   .arrival_ns = 1500 * MS,
                                   .context_tokens = 300,
                                   .prompt_tokens = 200,
                                   .generate_tokens = 40},
                           .slot_ns = 1510 * MS,
                           .first_token_ns = 1600 * MS,
                           .generate_ns = 1650 * MS,
                           .timer_ns = 1730 * MS,
                           .storage_ns = 90 * MS + 1,
                           .tier_hits = {2, 0, 1},
                           .misses = 4};
}

static void expect_requests(const char *want) {
    size_t len;
    char *text = content(request_path, &len);
    assert_string_equal(text, want);
    free(text);
}

/* Arrival 0.5 s after the first second of the run, which is the log's zero. */
static void a_request_is_one_line_with_its_times(void **state) {
    (void)state;
    struct tracelog *l = opened(NULL, request_path, 1);
    struct flight f = flight_of();
    tracelog_arm(l, 1000 * MS);
    tracelog_request(l, 0, &f, 1730 * MS);
    closed(l);
    expect_requests(
        "{\"id\":77,\"class\":\"batch\",\"phase\":\"both\",\"conversation\":5,\"turn\":3,"
        "\"context_tokens\":500,\"generate_tokens\":40,\"arrival_s\":0.500000,"
        "\"queue_ms\":10.000000,\"ttft_ms\":100.000000,\"storage_ms\":90.000001,"
        "\"generation_ms\":80.000000,\"e2e_ms\":230.000000,"
        "\"hits\":{\"gpu\":2,\"cpu\":0,\"nvme\":1,\"remote\":0},\"misses\":4,\"failed\":false}\n");
}

static void the_name_of_a_class_may_be_any_text(void **state) {
    (void)state;
    snprintf(scenario.qos.klass[1].name, sizeof scenario.qos.klass[1].name, "a\"b\\c\td");
    struct tracelog *l = opened(NULL, request_path, 1);
    struct flight f = flight_of();
    tracelog_request(l, 0, &f, 1730 * MS);
    closed(l);
    snprintf(scenario.qos.klass[1].name, sizeof scenario.qos.klass[1].name, "batch");
    size_t len;
    char *text = content(request_path, &len);
    assert_non_null(strstr(text, "\"class\":\"a\\\"b\\\\c\\u0009d\",\"phase\""));
    free(text);
}

/* A read of a file has no prefill, hence no TTFT: null, not 0. */
static void what_a_request_does_not_have_is_null(void **state) {
    (void)state;
    struct tracelog *l = opened(NULL, request_path, 1);
    struct flight f = flight_of();
    f.req.kind = REQUEST_READ;
    f.req.klass = 0;
    f.first_token_ns = 0;
    f.timer_ns = 0;
    f.failed = true;
    tracelog_arm(l, 1000 * MS);
    tracelog_request(l, 0, &f, 1650 * MS);
    closed(l);
    expect_requests("{\"id\":77,\"class\":\"interactive\",\"phase\":\"read\",\"conversation\":5,\"turn\":3,"
                    "\"context_tokens\":500,\"generate_tokens\":40,\"arrival_s\":0.500000,"
                    "\"queue_ms\":10.000000,\"ttft_ms\":null,\"storage_ms\":90.000001,"
                    "\"generation_ms\":0.000000,\"e2e_ms\":150.000000,"
                    "\"hits\":{\"gpu\":2,\"cpu\":0,\"nvme\":1,\"remote\":0},\"misses\":4,\"failed\":true}\n");
}

static void the_phase_of_a_request_is_named(void **state) {
    (void)state;
    struct tracelog *l = opened(NULL, request_path, 1);
    struct flight prefill = flight_of(), decode = flight_of(), write = flight_of();
    prefill.req.prefill_only = true;
    decode.req.decode_only = true;
    write.req.kind = REQUEST_WRITE;
    tracelog_request(l, 0, &prefill, 1730 * MS);
    tracelog_request(l, 0, &decode, 1730 * MS);
    tracelog_request(l, 0, &write, 1730 * MS);
    closed(l);
    size_t len;
    char *text = content(request_path, &len), *rest = text;
    assert_non_null(strstr(strsep(&rest, "\n"), "\"phase\":\"prefill\""));
    assert_non_null(strstr(strsep(&rest, "\n"), "\"phase\":\"decode\""));
    assert_non_null(strstr(strsep(&rest, "\n"), "\"phase\":\"write\""));
    free(text);
}

/* ---- files ---- */

static void a_file_that_cannot_be_created_is_an_error_that_names_it(void **state) {
    (void)state;
    struct tracelog *l = NULL;
    struct err e = {0};
    assert_int_equal(tracelog_open(&l, &scenario, "/nonexistent/io.csv", NULL, 1, &e), -KVF_ERR_USAGE);
    assert_null(l);
    assert_non_null(strstr(e.text, "/nonexistent/io.csv"));
    err_clear(&e);
    assert_int_equal(tracelog_open(&l, &scenario, NULL, "/nonexistent/log", 1, &e), -KVF_ERR_USAGE);
    assert_non_null(strstr(e.text, "/nonexistent/log"));
}

/* A log is complete or the run says which one is not. */
static void a_file_that_takes_no_more_is_named(void **state) {
    (void)state;
    struct err e = {0};
    struct tracelog *l = opened(io_path, "/dev/full", 1);
    struct flight f = flight_of();
    tracelog_arm(l, 0);
    tracelog_request(l, 0, &f, 1730 * MS);
    assert_true(tracelog_close(l, &e) < 0);
    assert_non_null(strstr(e.text, "/dev/full"));
    assert_non_null(strstr(e.text, "No space left"));
    err_clear(&e);
    l = opened("/dev/full", request_path, 1);
    end_op(l, 0, op_of(1, GPU, NOWHERE, "1", 1));
    assert_true(tracelog_close(l, &e) < 0);
    assert_non_null(strstr(e.text, "/dev/full"));
}

static bool exists(const char *path) {
    return access(path, F_OK) == 0;
}

static void a_log_that_is_not_wanted_after_all_leaves_nothing(void **state) {
    (void)state;
    struct err e = {0};
    struct tracelog *l = NULL;
    unlink(io_path);
    unlink(request_path);
    tracelog_discard(NULL);
    tracelog_discard(opened(io_path, request_path, 2));
    assert_false(exists(io_path) || exists(request_path));
    assert_int_equal(tracelog_open(&l, &scenario, io_path, "/nonexistent/log", 1, &e), -KVF_ERR_USAGE);
    assert_false(exists(io_path));
    closed(opened(NULL, request_path, 1));
    tracelog_discard(opened(io_path, request_path, 1)); /* that one was there before */
    assert_false(exists(io_path));
    assert_true(exists(request_path));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_paths_there_is_no_log),
        cmocka_unit_test(each_kind_of_operation_has_its_rows),
        cmocka_unit_test(rows_come_in_the_order_of_planning),
        cmocka_unit_test(operations_without_a_row_leave_a_gap),
        cmocka_unit_test(nothing_is_written_before_the_first_request),
        cmocka_unit_test(rows_behind_one_that_never_ends_are_kept),
        cmocka_unit_test(full_rings_lose_nothing),
        cmocka_unit_test(a_name_that_ends_in_zst_is_compressed),
        cmocka_unit_test(a_request_is_one_line_with_its_times),
        cmocka_unit_test(the_name_of_a_class_may_be_any_text),
        cmocka_unit_test(what_a_request_does_not_have_is_null),
        cmocka_unit_test(the_phase_of_a_request_is_named),
        cmocka_unit_test(a_file_that_cannot_be_created_is_an_error_that_names_it),
        cmocka_unit_test(a_file_that_takes_no_more_is_named),
        cmocka_unit_test(a_log_that_is_not_wanted_after_all_leaves_nothing),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("tracelog", tests, dir_make, dir_remove);
}
