#include "tests/unit/watch_fixture.h"

#include <fcntl.h>

static void a_deleted_run_is_told_once(void **state) {
    struct fixture *f = *state;
    struct snapshot out;
    for (int finished = 0; finished < 2; finished++) {
        int64_t id = make_run(f->db, 3, finished);
        struct seen *seen = watch(f->db, id);
        turn(seen);
        assert_int_equal(seen->status.ended, finished);
        plain_exec(f->db, "PRAGMA foreign_keys = ON; DELETE FROM runs");
        turn_for(seen, 3);
        assert_true(seen->status.ended);
        assert_int_equal(seen->warnings, 1);
        assert_non_null(strstr(seen->warning, "deleted"));
        assert_int_equal(seen->p.run->status, finished ? RUN_COMPLETED : RUN_INTERRUPTED);
        assert_false(seen->p.at(seen->p.ctx, 1, &out));
        assert_int_equal(seen->count, 3);
        unwatch(seen);
    }
    struct store_watch *w = NULL;
    struct err e = {0};
    assert_int_equal(store_watch_open(&w, f->db, 1, &e), -KVF_ERR_USAGE);
    assert_null(w);
    assert_non_null(strstr(e.text, "no run"));
}

static void another_run_under_the_same_number_is_not_shown(void **state) {
    struct fixture *f = *state;
    make_run(f->db, 3, false);
    struct seen *seen = watch(f->db, 1);
    turn(seen);
    plain_exec(f->db, "UPDATE runs SET uuid = 'another'; UPDATE intervals SET seq = seq + 10");
    turn_for(seen, 2);
    assert_true(seen->status.ended && seen->count == 3 && seen->warnings == 1);
    struct snapshot out;
    assert_false(seen->p.at(seen->p.ctx, 100, &out) || seen->p.step(seen->p.ctx, 100, -1, &out));
    unwatch(seen);
}

static void a_lock_is_waited_out(void **state) {
    struct fixture *f = *state;
    make_run(f->db, 3, false);
    plain_exec(f->db, "PRAGMA journal_mode = DELETE");
    struct seen *seen = watch(f->db, 1);
    assert_true(take(seen));
    sqlite3 *other = plain_open(f->db);
    assert_int_equal(sqlite3_exec(other, "BEGIN EXCLUSIVE", NULL, NULL, NULL), SQLITE_OK);
    struct snapshot out;
    turn_for(seen, 2);
    assert_false(seen->p.at(seen->p.ctx, 1, &out));
    assert_int_equal(seen->warnings, 0);
    turn_for(seen, 6);
    assert_int_equal(seen->count, 3); /* what had been read */
    assert_int_equal(seen->warnings, 1);
    assert_non_null(strstr(seen->warning, "locked"));
    assert_false(seen->status.ended);
    assert_int_equal(sqlite3_exec(other, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(other);
    struct store *s = open_store(f->db, STORE_WRITE);
    write_intervals(s, 1, 3, 2);
    store_close(s);
    turn_for(seen, 1);
    assert_int_equal(seen->count, 5);
    assert_true(seen->p.at(seen->p.ctx, 1, &out));
    assert_int_equal(seen->warnings, 1);
    unwatch(seen);
}

static void a_watcher_keeps_no_writer_out(void **state) {
    struct fixture *f = *state;
    make_run(f->db, 300, false);
    plain_exec(f->db, "PRAGMA journal_mode = DELETE");
    struct seen *seen = watch(f->db, 1);
    for (int i = 0; i < 100; i++) assert_true(take(seen)); /* in the middle of it */
    sqlite3 *other = plain_open(f->db);
    sqlite3_busy_timeout(other, 0);
    assert_int_equal(sqlite3_exec(other, "UPDATE runs SET tags = 'x'", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(other);
    unwatch(seen);
}

static void a_file_that_was_replaced_is_told(void **state) {
    struct fixture *f = *state;
    char away[160];
    make_run(f->db, 3, false);
    struct seen *seen = watch(f->db, 1);
    turn(seen);
    snprintf(away, sizeof away, "%s.away", f->db);
    assert_int_equal(rename(f->db, away), 0);
    turn_for(seen, 2);
    assert_int_equal(seen->warnings, 1);
    assert_non_null(strstr(seen->warning, "moved, deleted or replaced"));
    make_run(f->db, 1, false);
    turn_for(seen, 12);
    assert_int_equal(seen->warnings, 1);
    assert_int_equal(seen->count, 3);
    assert_true(seen->status.stalled);
    unwatch(seen);
}

static void a_damaged_file_is_told(void **state) {
    struct fixture *f = *state;
    char garbage[4096];
    struct stat st;
    make_run(f->db, 100, true);
    struct seen *seen = watch(f->db, 1);
    assert_int_equal(stat(f->db, &st), 0);
    int fd = open(f->db, O_WRONLY);
    memset(garbage, 0xff, sizeof garbage);
    for (off_t at = 4096; at < st.st_size; at += 4096)
        assert_int_equal(pwrite(fd, garbage, sizeof garbage, at), sizeof garbage);
    close(fd);
    turn_for(seen, 5);
    assert_int_equal(seen->warnings, 1);
    assert_non_null(strstr(seen->warning, "damaged"));
    assert_true(seen->status.ended); /* it does not come any more */
    unwatch(seen);
}

static void a_migration_meanwhile_is_followed(void **state) {
    struct fixture *f = *state;
    make_run(f->db, 0, false);
    plain_exec(f->db, "DROP TABLE tier_intervals; DROP TABLE intervals;"
                      "CREATE TABLE intervals(run_id INTEGER NOT NULL, t_s REAL, seq INTEGER NOT NULL,"
                      " users INTEGER, PRIMARY KEY (run_id, seq)) WITHOUT ROWID;"
                      "CREATE TABLE tier_intervals(capacity_bytes INTEGER, run_id INTEGER NOT NULL,"
                      " seq INTEGER NOT NULL, tier TEXT NOT NULL, PRIMARY KEY (run_id, seq, tier))"
                      " WITHOUT ROWID;"
                      "INSERT INTO intervals VALUES(1, 1.0, 0, 7);"
                      "INSERT INTO tier_intervals VALUES(99, 1, 0, 'cpu')");
    struct seen *seen = watch(f->db, 1);
    assert_true(take(seen));
    assert_int_equal(seen->snap.interval.users, 7);
    assert_true(isnan(seen->snap.interval.hit_ratio) && isnan(seen->snap.tier[KVF_TIER_CPU].read_p95_ms));
    assert_int_equal(seen->snap.tier[KVF_TIER_CPU].capacity_bytes, 99);

    struct store *s = open_store(f->db, STORE_WRITE);
    struct record *record = interval_at(1, 2);
    struct snapshot want = record->snap;
    write_all(s, 1, &record, 1);
    store_close(s);
    clock_ns += KVF_NS_PER_S;
    assert_true(take(seen));
    assert_same(&want, &seen->snap);
    unwatch(seen);
}

/* ---- other users ---- */

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

static int begun[2], looked[2]; /* pipes between the writer and who looks */

static int look_live(const struct fixture *f) {
    char x;
    if (read(begun[0], &x, 1) != 1) return 1;
    struct seen *seen = watch(f->db, 1);
    turn(seen);
    int rc = seen->count != 3 ? 2 : seen->warnings ? 3 : 0;
    if (write(looked[1], "x", 1) != 1) rc = 4;
    for (int i = 0; rc == 0 && seen->count < 5 && i < 1000; i++) {
        turn(seen);
        usleep(5000);
    }
    if (rc == 0 && seen->count != 5) rc = 5;
    unwatch(seen);
    return rc;
}

/* Another user, who may read the file and not write it, sees what is written meanwhile. */
static void who_may_only_read_sees_it_live(void **state) {
    struct fixture *f = *state;
    struct run_record r;
    char x;
    assert_true(pipe(begun) == 0 && pipe(looked) == 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        close(begun[1]);
        _exit(as_nobody(look_live, f));
    }
    close(looked[1]);
    struct store *s = open_store(f->db, STORE_WRITE);
    fill_start(&r, "shared");
    begin_run(s, &r);
    write_intervals(s, 1, 0, 3);
    assert_int_equal(write(begun[1], "x", 1), 1);
    assert_int_equal(read(looked[0], &x, 1), 1);
    write_intervals(s, 1, 3, 2);
    assert_int_equal(wait_child(pid), 0);
    store_close(s);
    close(begun[0]);
    close(begun[1]);
    close(looked[0]);
}

static int look_blind(const struct fixture *f) {
    struct seen *seen = watch(f->db, 1);
    turn_for(seen, 15);
    int rc = seen->count != 3                                      ? 1
             : seen->warnings != 1                                 ? 2
             : !strstr(seen->warning, "where nothing can be made") ? 3
             : !seen->status.stalled || seen->status.ended         ? 4
                                                                   : 0;
    unwatch(seen);
    return rc;
}

static void who_cannot_see_it_live_is_told(void **state) {
    struct fixture *f = *state;
    make_run(f->db, 3, false);
    assert_int_equal(chmod(f->db, 0444), 0);
    assert_int_equal(chmod(f->dir, 0555), 0);
    assert_int_equal(as_nobody(look_blind, f), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(a_deleted_run_is_told_once),
        CASE(another_run_under_the_same_number_is_not_shown),
        CASE(a_lock_is_waited_out),
        CASE(a_watcher_keeps_no_writer_out),
        CASE(a_file_that_was_replaced_is_told),
        CASE(a_damaged_file_is_told),
        CASE(a_migration_meanwhile_is_followed),
        CASE(who_may_only_read_sees_it_live),
        CASE(who_cannot_see_it_live_is_told),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("store_watch_faults", tests, NULL, NULL);
}
