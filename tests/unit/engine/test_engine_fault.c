#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>

#include "tests/unit/run_fixture.h"

/* Entries of 16 to 64 KiB on a disk of 4 MiB; conversations read them again and again. */
#define DISK(max)                                                                                            \
    MODEL_4K ENGINE "tiers: {nvme: {capacity: 4MiB, io_size: 16KiB, io_depth: 4}}\n"                         \
                    "workload: {users: 6, personas: [{name: a, context: [4, 16], think: [0, 1ms]}], "        \
                    "conversation: {end_probability: 0.02}, prefix: {probability: 0}}\n"                     \
                    "run: {duration: 100s, warmup: 0s, interval: 10ms, max_requests: " max "}\n"

/* ---- what is done to the files of the running engine, every interval ---- */

static int (*harm)(const char *path, const struct stat *st);
static unsigned harmed;

static int visit(const char *path, const struct stat *st, int type, struct FTW *at) {
    (void)at;
    size_t len = strlen(path);
    if (type == FTW_F && len > 3 && strcmp(path + len - 3, ".kv") == 0 && harm(path, st) == 0) harmed++;
    return 0;
}

static void harm_interval(void *ctx, const struct snapshot *snap) {
    (void)ctx;
    if (snap->interval.phase == KVF_PHASE_MEASURED) nftw(t.dir, visit, 16, FTW_PHYS);
}

static int file_delete(const char *path, const struct stat *st) {
    (void)st;
    return unlink(path);
}

static int file_empty(const char *path, const struct stat *st) {
    return st->st_size > 0 ? truncate(path, 0) : -1;
}

/* One bit of one byte that no stamp covers. */
static int file_change(const char *path, const struct stat *st) {
    unsigned char byte = 0;
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0) return -1;
    bool done = st->st_size > 5000 && pread(fd, &byte, 1, 5000) == 1;
    byte = (unsigned char)(byte ^ 1);
    done = done && pwrite(fd, &byte, 1, 5000) == 1 && fdatasync(fd) == 0;
    close(fd);
    return done ? 0 : -1;
}

static void setup_harm(const char *yaml, int (*how)(const char *path, const struct stat *st)) {
    setup_of(yaml, 1);
    t.setup.on_interval = harm_interval;
    harm = how;
    harmed = 0;
}

/* "nvme read of entry 4294967297/3 (48.0 KiB) failed: <why>" */
static void expect_named(const char *sentence, const char *why) {
    uint64_t conversation, turn;
    char size[16], unit[16];
    int at = 0;
    assert_non_null(sentence);
    if (sscanf(sentence, "nvme read of entry %" PRIu64 "/%" PRIu64 " (%15[0-9.] %15[KMiB]) failed: %n",
               &conversation, &turn, size, unit, &at) != 4 ||
        strncmp(sentence + at, why, strlen(why)) != 0)
        fail_msg("\"%s\" does not name the entry and say \"%s\"", sentence, why);
}

/* ---- errors end the run, unless it is to go on ---- */

static void expect_failed(const char *why) {
    expect_status(RUN_FAILED);
    expect_named(t.run.status_reason, why);
    expect_named(event_of("error"), why);
    expect_identities();
    assert_true(harmed > 0);
    assert_true(value_of("operation_errors") >= 1);
    run_end();
}

static void a_deleted_file_fails_the_run_and_names_the_entry(void **state) {
    (void)state;
    setup_harm(DISK("100000"), file_delete);
    run_go();
    expect_failed("No such file or directory");
}

static void a_file_cut_short_fails_the_run_and_names_the_entry(void **state) {
    (void)state;
    setup_harm(DISK("100000"), file_empty);
    run_go();
    expect_failed("Input/output error");
}

static void a_changed_byte_fails_the_run_and_names_the_entry(void **state) {
    (void)state;
    setup_harm(DISK("100000") "cache: {verify: full}\n", file_change);
    run_go();
    assert_true(value_of("verify_mismatched") >= 1);
    const char *reason = t.run.status_reason, *found = strstr(reason, ", found ");
    assert_non_null(strstr(reason, "/kvfall-"));
    assert_non_null(strstr(reason, ".kv): expected entry "));
    assert_non_null(found);
    /* the change goes through the page cache, which may put back what a write had just replaced in that
     * block, an entry or nothing yet */
    if (!strstr(found, "differs from what was written at its byte 904: ") &&
        !strstr(found, "found no stamp") && !strstr(found, "found entry ") && !strstr(found, "found zeroes"))
        fail_msg("%s", reason);
    expect_failed("the data is not what was written (byte 4096 of ");
}

static void harm_warmup(void *ctx, const struct snapshot *snap) {
    (void)ctx;
    if (snap->interval.phase == KVF_PHASE_WARMUP) nftw(t.dir, visit, 16, FTW_PHYS);
}

/* The failure of a run is among its failed operations, whenever it failed. */
static void an_error_outside_of_the_measured_part_is_counted(void **state) {
    (void)state;
    setup_of(MODEL_4K ENGINE "tiers: {nvme: {capacity: 4MiB, io_size: 16KiB, io_depth: 4}}\n"
                             "workload: {users: 6, personas: [{name: a, context: [4, 16], think: [0, 1ms]}], "
                             "conversation: {end_probability: 0.02}, prefix: {probability: 0}}\n"
                             "run: {duration: 100ms, warmup: 100s, interval: 10ms}\n",
             1);
    t.setup.on_interval = harm_warmup;
    harm = file_delete;
    harmed = 0;
    run_go();
    expect_failed("No such file or directory");
}

/* Every request ends, well or badly, and what failed was no hit. */
static void told_to_keep_going_a_run_counts_its_errors(void **state) {
    (void)state;
    setup_harm(DISK("600"), file_delete);
    t.setup.keep_going = true;
    run_go();
    expect_status(RUN_COMPLETED);
    expect_identities();
    assert_true(harmed > 0);
    assert_true(value_of("requests_failed") > 0);
    expect_result("requests_arrived", 600);
    expect_result("requests_done", 600 - value_of("requests_failed"));
    assert_true(value_of("operation_errors") >= value_of("requests_failed"));
    expect_named(event_of("error"), "No such file or directory");
    assert_true(value_of("slo_interactive_met_ratio") < 1 || value_of("slo_responsive_met_ratio") < 1 ||
                value_of("slo_batch_met_ratio") < 1);
    run_end();
}

/* Moves out of a broken tier drop their entries; nobody waits for room that never comes. */
static void errors_of_moves_do_not_stop_the_others(void **state) {
    (void)state;
    setup_harm(MODEL_4K ENGINE
               "tiers: {gpu: {capacity: 256KiB}, cpu: {capacity: 256KiB}, nvme: {capacity: 1MiB, io_size: "
               "16KiB}}\n"
               "workload: {users: 6, personas: [{name: a, context: [4, 16], think: [0, 1ms]}]}\n"
               "cache: {promotion: on_hit, verify: header}\n"
               "run: {duration: 100s, warmup: 0s, interval: 10ms, max_requests: 600}\n",
               file_empty);
    t.setup.keep_going = true;
    run_go();
    expect_status(RUN_COMPLETED);
    expect_identities();
    expect_result("requests_arrived", 600);
    expect_result("requests_done", 600 - value_of("requests_failed"));
    run_end();
}

/* ---- a run that cannot start ---- */

static bool exists(const char *path) {
    return access(path, F_OK) == 0;
}

static void expect_refused(enum err_code code, const char *word) {
    struct err e = {0};
    t.setup.io_trace_path = t.io;
    t.setup.request_log_path = t.requests;
    unlink(t.io);
    unlink(t.requests);
    assert_int_equal(engine_run(&t.setup, &e), -(int)code);
    if (!strstr(e.text, word)) fail_msg("\"%s\" does not say \"%s\"", e.text, word);
    assert_false(exists(t.io) || exists(t.requests));
    assert_int_equal(entries_of(t.dir), 0);
    assert_int_equal(t.run.results.count, 0);
    run_end();
}

static void a_refused_run_leaves_nothing_behind(void **state) {
    (void)state;
    setup_of(DISK("10"), 1);
    snprintf(t.s.nvme.path[0], sizeof t.s.nvme.path[0], "%s/missing", t.dir);
    expect_refused(KVF_ERR_USAGE, "missing");
    setup_of(MODEL_4K ENGINE "tiers: {cpu: {capacity: 1MiB}, nvme: {capacity: 1MiB}}\n"
                             "workload: {source: ops}\n",
             1);
    unlink(t.rows);
    expect_refused(KVF_ERR_USAGE, t.rows);
    setup_of(DISK("10"), 1);
    t.s.engine.noise_bytes = 1;
    expect_refused(KVF_ERR_USAGE, "engine.noise");
}

static void a_log_that_cannot_be_made_refuses_the_run(void **state) {
    (void)state;
    struct err e = {0};
    setup_of(DISK("10"), 1);
    t.setup.io_trace_path = "/nonexistent/io.csv";
    assert_int_equal(engine_run(&t.setup, &e), -KVF_ERR_USAGE);
    assert_non_null(strstr(e.text, "/nonexistent/io.csv"));
    assert_int_equal(entries_of(t.dir), 0);
    run_end();
}

/* A log that takes no more: the run ends as it would, and says that the log is not whole. */
static void a_log_that_is_incomplete_is_named(void **state) {
    (void)state;
    setup_of(DISK("20"), 1);
    t.setup.request_log_path = "/dev/full";
    run_go();
    expect_status(RUN_FAILED);
    assert_non_null(strstr(t.run.status_reason, "/dev/full"));
    expect_result("requests_done", 20);
    assert_non_null(event_of("error"));
    assert_non_null(strstr(event_of("error"), "/dev/full"));
    run_end();
}

static void a_workload_can_be_checked_without_a_run(void **state) {
    (void)state;
    struct err e = {0};
    rows_write("write,a,10\n");
    setup_of(MODEL_4K ENGINE "tiers: {nvme: {capacity: 1MiB}}\nworkload: {source: ops}\n", 1);
    assert_int_equal(engine_check(&t.s, &e), 0);
    assert_int_equal(entries_of(t.dir), 0);
    rows_write("nothing,a,10\n");
    assert_int_equal(engine_check(&t.s, &e), -KVF_ERR_USAGE);
    run_end();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_deleted_file_fails_the_run_and_names_the_entry),
        cmocka_unit_test(a_file_cut_short_fails_the_run_and_names_the_entry),
        cmocka_unit_test(a_changed_byte_fails_the_run_and_names_the_entry),
        cmocka_unit_test(an_error_outside_of_the_measured_part_is_counted),
        cmocka_unit_test(told_to_keep_going_a_run_counts_its_errors),
        cmocka_unit_test(errors_of_moves_do_not_stop_the_others),
        cmocka_unit_test(a_refused_run_leaves_nothing_behind),
        cmocka_unit_test(a_log_that_cannot_be_made_refuses_the_run),
        cmocka_unit_test(a_log_that_is_incomplete_is_named),
        cmocka_unit_test(a_workload_can_be_checked_without_a_run),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("engine_fault", tests, runs_set_up, runs_tear_down);
}
