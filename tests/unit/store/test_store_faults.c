#include "tests/unit/store_fixture.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>

static void write_file(const char *path, const void *data, size_t len) {
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    assert_int_equal(fwrite(data, 1, len, out), len);
    assert_int_equal(fclose(out), 0);
}

/* Opening must fail with this code and a sentence that names the file, the trouble and --db. */
static void expect_refused(const char *path, enum store_mode mode, enum err_code code, const char *why) {
    struct store *s = NULL;
    struct err e = {0};
    int rc = store_open(&s, path, mode, &e);
    if (rc != -(int)code || !strstr(e.text, why) || !strstr(e.text, path) || !strstr(e.text, "--db"))
        fail_msg("%s: code %d: %s", path, rc, e.text);
    assert_null(s);
}

static void what_is_no_history_database_is_refused(void **state) {
    struct fixture *f = *state;
    char garbage[9000], path[160];
    memset(garbage, 'x', sizeof garbage);
    write_file(f->db, garbage, sizeof garbage);
    expect_refused(f->db, STORE_WRITE, KVF_ERR_USAGE, "not an SQLite file");
    expect_refused(f->db, STORE_READ, KVF_ERR_USAGE, "not an SQLite file");
    write_file(f->db, "hello", 5);
    expect_refused(f->db, STORE_WRITE, KVF_ERR_USAGE, "not an SQLite file");
    expect_refused(f->dir, STORE_WRITE, KVF_ERR_USAGE, "is a folder");
    expect_refused(f->dir, STORE_READ, KVF_ERR_USAGE, "is a folder");
    snprintf(path, sizeof path, "%s/fifo", f->dir);
    assert_int_equal(mkfifo(path, 0600), 0);
    expect_refused(path, STORE_WRITE, KVF_ERR_USAGE, "not an ordinary file");
    snprintf(path, sizeof path, "%s/none.db", f->dir);
    expect_refused(path, STORE_READ, KVF_ERR_USAGE, "kvfall run");
    assert_int_equal(access(path, F_OK), -1);
    write_file(path, "", 0);
    expect_refused(path, STORE_READ, KVF_ERR_USAGE, "is empty");
    snprintf(path, sizeof path, "%s/history.db/below.db", f->dir);
    expect_refused(path, STORE_WRITE, KVF_ERR_USAGE, "cannot");
}

static void foreign_and_newer_databases_are_left_alone(void **state) {
    struct fixture *f = *state;
    char other[160];
    snprintf(other, sizeof other, "%s/other.db", f->dir);
    plain_exec(other, "CREATE TABLE songs(title)");
    expect_refused(other, STORE_WRITE, KVF_ERR_USAGE, "another application");
    plain_exec(other, "PRAGMA application_id = 99");
    expect_refused(other, STORE_READ, KVF_ERR_USAGE, "another application");
    assert_int_equal(plain_int(other, "SELECT count(*) FROM sqlite_master"), 1);

    store_close(open_store(f->db, STORE_WRITE));
    plain_exec(f->db, "PRAGMA user_version = 77; DROP TABLE criteria");
    expect_refused(f->db, STORE_WRITE, KVF_ERR_UNAVAILABLE, "newer kvfall (schema 77");
    expect_refused(f->db, STORE_READ, KVF_ERR_UNAVAILABLE, "newer kvfall");
    assert_int_equal(plain_int(f->db, "SELECT count(*) FROM sqlite_master WHERE name = 'criteria'"), 0);
}

static void a_damaged_file_is_named(void **state) {
    struct fixture *f = *state;
    store_close(open_store(f->db, STORE_WRITE));
    int fd = open(f->db, O_WRONLY);
    char garbage[4096];
    memset(garbage, 0xff, sizeof garbage);
    assert_int_equal(pwrite(fd, garbage, 3996, 100), 3996); /* the header stays */
    close(fd);
    struct store *s = NULL;
    struct err e = {0};
    assert_int_equal(store_open(&s, f->db, STORE_WRITE, &e), -KVF_ERR_CORRUPT);
    assert_non_null(strstr(e.text, "damaged"));
    assert_non_null(strstr(e.text, ".recover"));
}

/* Root may write everywhere, so these look at the world as somebody else. */
static int as_nobody(int (*look)(const struct fixture *f), const struct fixture *f) {
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        if (geteuid() == 0 && (setresgid(65534, 65534, 65534) != 0 || setresuid(65534, 65534, 65534) != 0))
            _exit(99);
        _exit(look(f));
    }
    return wait_child(pid);
}

static int look_at_read_only_file(const struct fixture *f) {
    struct store *s = NULL;
    struct err e = {0};
    if (store_open(&s, f->db, STORE_WRITE, &e) != -KVF_ERR_USAGE || !strstr(e.text, "read-only")) return 1;
    int64_t id = 0;
    err_clear(&e);
    if (store_open(&s, f->db, STORE_READ, &e) != 0) return 2;
    int rc = store_resolve(s, "latest", &id, &e) == 0 && id == 1 ? 0 : 3;
    store_close(s);
    return rc;
}

static int look_at_unreadable_file(const struct fixture *f) {
    struct store *s = NULL;
    struct err e = {0};
    if (store_open(&s, f->db, STORE_READ, &e) != -KVF_ERR_USAGE) return 1;
    return strstr(e.text, "Permission denied") ? 0 : 2;
}

static int look_into_unwritable_folder(const struct fixture *f) {
    char path[160];
    struct store *s = NULL;
    struct err e = {0};
    snprintf(path, sizeof path, "%s/new/history.db", f->dir);
    if (store_open(&s, path, STORE_WRITE, &e) != -KVF_ERR_USAGE) return 1;
    return strstr(e.text, "Permission denied") && strstr(e.text, "--db") ? 0 : 2;
}

static void a_read_only_database_is_read_and_not_written(void **state) {
    struct fixture *f = *state;
    struct run_record r;
    struct store *s = open_store(f->db, STORE_WRITE);
    fill_start(&r, "kept");
    begin_run(s, &r);
    store_close(s);
    assert_int_equal(chmod(f->db, 0444), 0);
    assert_int_equal(chmod(f->dir, 0555), 0); /* no place for a log beside it either */
    assert_int_equal(as_nobody(look_at_read_only_file, f), 0);
    assert_int_equal(as_nobody(look_into_unwritable_folder, f), 0);
    assert_int_equal(chmod(f->db, 0), 0);
    assert_int_equal(as_nobody(look_at_unreadable_file, f), 0);
}

/* Writes a run of `count` intervals and tells of each that is in the database. */
static int write_run(const char *db, const char *name, uint64_t count, int report) {
    struct store *s = NULL;
    struct store_writer *w = NULL;
    struct run_record r;
    char sql[100];
    fill_start(&r, name);
    if (store_open(&s, db, STORE_WRITE, NULL) != 0 || store_begin_run(s, &r, NULL) != 0) return 1;
    struct fifo *f = fifo_new(FIFO_INTERVALS, false);
    struct store_writer_setup setup = {.store = s, .fifo = f, .run_id = r.run_id};
    if (store_writer_start(&w, &setup, NULL) != 0) return 2;
    for (uint64_t i = 0; i < count; i++) {
        fifo_put(f, make_record(i));
        if (report < 0) continue;
        snprintf(sql, sizeof sql, "SELECT max(seq) FROM intervals WHERE run_id = %" PRId64, r.run_id);
        while (plain_int(db, sql) != (int64_t)i || strcmp(plain_text(db, "%s", sql), "NULL") == 0)
            usleep(200);
        if (write(report, "x", 1) != 1) return 3;
    }
    fifo_close(f);
    uint64_t lost = store_writer_stop(w, 10 * KVF_NS_PER_S, NULL);
    fifo_free(f);
    store_close(s);
    return lost ? 4 : 0;
}

static void several_processes_write_at_once(void **state) {
    struct fixture *f = *state;
    enum { WRITERS = 3, INTERVALS = 50 };
    pid_t pids[WRITERS];
    for (int i = 0; i < WRITERS; i++) { /* all of them find no file and create it */
        pids[i] = fork();
        assert_true(pids[i] >= 0);
        if (pids[i] == 0) _exit(write_run(f->db, "many", INTERVALS, -1));
    }
    for (int i = 0; i < WRITERS; i++) assert_int_equal(wait_child(pids[i]), 0);
    assert_int_equal(plain_int(f->db, "SELECT count(*) FROM runs"), WRITERS);
    assert_int_equal(plain_int(f->db, "SELECT count(*) FROM intervals"), WRITERS * INTERVALS);
    assert_int_equal(plain_int(f->db, "SELECT count(*) FROM tier_intervals"), 2 * WRITERS * INTERVALS);
    assert_int_equal(plain_int(f->db, "SELECT count(*) FROM (SELECT 1 FROM intervals GROUP BY run_id HAVING "
                                      "count(*) = 50 AND max(seq) = 49)"),
                     WRITERS);
    assert_string_equal(plain_text(f->db, "PRAGMA integrity_check"), "ok");
}

static void a_kill_leaves_a_sound_file_with_what_was_written(void **state) {
    struct fixture *f = *state;
    int report[2];
    char x;
    assert_int_equal(pipe(report), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) _exit(write_run(f->db, "killed", 100000, report[1]));
    close(report[1]);
    int64_t reported = 0;
    while (reported < 20 && read(report[0], &x, 1) == 1) reported++;
    assert_int_equal(kill(pid, SIGKILL), 0);
    wait_child(pid);
    while (read(report[0], &x, 1) == 1) reported++;
    close(report[0]);
    assert_true(reported >= 20);
    struct store *s = open_store(f->db, STORE_WRITE); /* the next start */
    store_close(s);
    assert_true(plain_int(f->db, "SELECT count(*) FROM intervals") >= reported);
    assert_int_equal(plain_int(f->db, "SELECT count(*) = max(seq) + 1 FROM intervals"), 1);
    assert_int_equal(
        plain_int(f->db, "SELECT count(*) = 2 * (SELECT count(*) FROM intervals) FROM tier_intervals"), 1);
    assert_string_equal(plain_text(f->db, "PRAGMA integrity_check"), "ok");
    assert_string_equal(plain_text(f->db, "SELECT status FROM runs"), "crashed");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(what_is_no_history_database_is_refused),
        CASE(foreign_and_newer_databases_are_left_alone),
        CASE(a_damaged_file_is_named),
        CASE(a_read_only_database_is_read_and_not_written),
        CASE(several_processes_write_at_once),
        CASE(a_kill_leaves_a_sound_file_with_what_was_written),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("store_faults", tests, NULL, NULL);
}
