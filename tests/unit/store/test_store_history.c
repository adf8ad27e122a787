#include "tests/unit/store_fixture.h"

#include <inttypes.h>

#include "store/handle.h"

static void uuids_are_random_version_4(void **state) {
    struct fixture *f = *state;
    struct store *s = open_store(f->db, STORE_WRITE);
    struct run_record a, b;
    fill_start(&a, "a");
    fill_start(&b, "b");
    begin_run(s, &a);
    begin_run(s, &b);
    assert_string_not_equal(a.uuid, b.uuid);
    assert_int_equal(strlen(a.uuid), 36);
    assert_int_equal(a.uuid[14], '4');
    assert_non_null(strchr("89ab", a.uuid[19]));
    for (int i = 0; i < 36; i++)
        assert_true(i == 8 || i == 13 || i == 18 || i == 23 ? a.uuid[i] == '-'
                                                            : !!strchr("0123456789abcdef", a.uuid[i]));
    store_close(s);
}

/* name, host, boot id: what a child that dies leaves behind. */
static void leave_run(const char *db, const char *name, const char *host, const char *boot_id) {
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct store *s = NULL;
        struct run_record r;
        fill_start(&r, name);
        if (host) COPY(r.host, host);
        if (boot_id) COPY(r.boot_id, boot_id);
        int rc = store_open(&s, db, STORE_WRITE, NULL);
        if (rc == 0) rc = store_begin_run(s, &r, NULL);
        store_close(s);
        _exit(rc != 0);
    }
    assert_int_equal(wait_child(pid), 0);
}

static void runs_whose_process_is_gone_are_marked_crashed(void **state) {
    struct fixture *f = *state;
    struct run_record r, boot, start, back;
    struct err e = {0};
    leave_run(f->db, "elsewhere", "another-machine", "another boot");
    struct store *s = open_store(f->db, STORE_WRITE);
    fill_start(&r, "alive");
    begin_run(s, &r);
    fill_start(&boot, "before the boot");
    COPY(boot.boot_id, "00000000-0000-4000-8000-000000000000");
    begin_run(s, &boot);
    fill_start(&start, "pid again");
    begin_run(s, &start);
    store_close(s);
    plain_exec(f->db, "UPDATE runs SET pid_start = pid_start - 1 WHERE name = 'pid again'");
    leave_run(f->db, "dead", NULL, NULL);

    /* A reader sees it already, and changes nothing. */
    s = open_store(f->db, STORE_READ);
    run_record_init(&back);
    assert_int_equal(store_load_run(s, 5, &back, &e), 0);
    assert_string_equal(back.name, "dead");
    assert_int_equal(back.status, RUN_CRASHED);
    run_record_free(&back);
    store_close(s);
    assert_string_equal(plain_text(f->db, "SELECT status FROM runs WHERE name = 'dead'"), "running");

    store_close(open_store(f->db, STORE_WRITE));
    assert_string_equal(
        plain_text(f->db, "SELECT group_concat(name || ' ' || status, ', ') FROM runs ORDER BY run_id"),
        "elsewhere running, alive running, before the boot crashed, pid again crashed, dead crashed");
    assert_string_not_equal(plain_text(f->db, "SELECT status_reason FROM runs WHERE name = 'dead'"), "NULL");
}

static void expect_run(struct store *s, const char *ref, int64_t want) {
    struct err e = {0};
    int64_t id = -1;
    int rc = store_resolve(s, ref, &id, &e);
    if (rc != 0) fail_msg("%s: %s", ref, e.text);
    if (id != want) fail_msg("%s is run %" PRId64 ", not %" PRId64, ref, id, want);
}

static void expect_none(struct store *s, const char *ref, const char *why) {
    struct err e = {0};
    int64_t id = -1;
    assert_int_equal(store_resolve(s, ref, &id, &e), -KVF_ERR_USAGE);
    if (!strstr(e.text, why)) fail_msg("%s: %s", ref, e.text);
}

static void a_run_is_found_by_each_kind_of_reference(void **state) {
    struct fixture *f = *state;
    struct store *s = open_store(f->db, STORE_WRITE);
    struct run_record r;
    expect_none(s, "latest", "holds no runs yet");
    for (int i = 0; i < 4; i++) {
        fill_start(&r, i == 3 ? "other" : "nightly");
        r.started_at = 1000 + (i == 2 ? -5 : i); /* run 3 began before all others */
        begin_run(s, &r);
    }
    plain_exec(f->db,
               "UPDATE runs SET uuid = 'abcdef01-2345-4678-9abc-00000000000' || run_id WHERE run_id < 3;"
               "UPDATE runs SET uuid = '12345678-aaaa-4678-9abc-000000000000' WHERE run_id = 3");
    expect_run(s, "2", 2);
    expect_run(s, "latest", 4);
    expect_run(s, "latest~1", 2);
    expect_run(s, "latest~3", 3);
    expect_run(s, "nightly", 2);
    expect_run(s, "other", 4);
    expect_run(s, "12345678", 3);
    expect_run(s, "12345678-AAAA", 3);
    expect_run(s, "abcdef01-2345-4678-9abc-000000000002", 2);
    expect_none(s, "abcdef01", "2 runs");
    expect_none(s, "1234567-", "there is no run");
    expect_none(s, "latest~4", "runs 1 to 4");
    expect_none(s, "17", "nightly, other");
    expect_none(s, "", "there is no run");
    struct err e = {0};
    run_record_init(&r);
    assert_int_equal(store_load_run(s, 17, &r, &e), -KVF_ERR_USAGE);
    store_close(s);
}

struct listed {
    int count;
    struct store_row rows[8];
};

static void keep_row(void *ctx, const struct store_row *r) {
    struct listed *l = ctx;
    if (l->count < 8) l->rows[l->count] = *r;
    l->count++;
}

static struct listed list(struct store *s, struct store_filter filter) {
    struct listed l = {0};
    struct err e = {0};
    if (store_list(s, &filter, keep_row, &l, &e) != 0) fail_msg("%s", e.text);
    return l;
}

static void history_lists_newest_first_with_filters(void **state) {
    struct fixture *f = *state;
    struct store *s = open_store(f->db, STORE_WRITE);
    struct run_record r;
    struct err e = {0};
    for (int i = 0; i < 3; i++) {
        fill_start(&r, i == 1 ? "mooncake" : "storage-only");
        r.started_at = 5000 + i;
        begin_run(s, &r);
        if (i == 2) continue;
        r.status = RUN_COMPLETED;
        r.ended_at = r.started_at + 30;
        result_add(&r.results, 100.0 + i, 0, "throughput_tok_s");
        result_add(&r.results, 0.93, 0, "hit_ratio");
        assert_int_equal(store_finish_run(s, &r, 0, &e), 0);
        run_record_free(&r);
    }
    struct record *record = make_record(0);
    record->snap.interval.t_s = 12.5;
    write_all(s, 3, &record, 1);

    struct listed l = list(s, (struct store_filter){0});
    assert_int_equal(l.count, 3);
    assert_int_equal(l.rows[0].run_id, 3);
    assert_string_equal(l.rows[0].status, "running");
    assert_true(l.rows[0].duration_s == 12.5 && isnan(l.rows[0].throughput_tok_s));
    assert_string_equal(l.rows[1].name, "mooncake");
    assert_true(l.rows[1].duration_s == 30 && l.rows[1].throughput_tok_s == 101 &&
                l.rows[1].hit_ratio == 0.93);
    assert_true(isnan(l.rows[1].nvme_read_p95_ms));
    l = list(s, (struct store_filter){.name = "stor%", .limit = 1});
    assert_int_equal(l.count, 1);
    assert_int_equal(l.rows[0].run_id, 3);
    l = list(s, (struct store_filter){.status = "completed", .model = "llama%"});
    assert_int_equal(l.count, 2);
    assert_int_equal(list(s, (struct store_filter){.model = "qwen%"}).count, 0);
    store_close(s);
}

struct found {
    int count;
    int64_t run_id[8];
};

static void keep_id(void *ctx, int64_t run_id) {
    struct found *g = ctx;
    if (g->count < 8) g->run_id[g->count] = run_id;
    g->count++;
}

/* The first trial is a member of the group that is named after it; what else has it as parent is none. */
static void trials_are_found_by_their_first(void **state) {
    struct fixture *f = *state;
    struct store *s = open_store(f->db, STORE_WRITE);
    struct run_record r;
    struct found g = {0};
    struct err e = {0};
    int64_t first = 0;
    fill_start(&r, "alone");
    begin_run(s, &r);
    run_record_free(&r);
    for (uint32_t trial = 1; trial <= 3; trial++) {
        fill_start(&r, "three");
        r.trial = trial;
        r.parent_id = first;
        free(r.effective_json);
        r.effective_json = mem_strdup("{\"run\": {\"trials\": 3}}");
        begin_run(s, &r);
        if (trial == 1) first = r.run_id;
        assert_int_equal(r.parent_id, first);
        run_record_free(&r);
    }
    fill_start(&r, "child");
    r.parent_id = first;
    begin_run(s, &r);
    run_record_free(&r);
    fill_start(&r, "other"); /* of the same suite, a trial of another test */
    r.parent_id = first;
    r.trial = 1;
    begin_run(s, &r);
    run_record_free(&r);

    for (int member = 0; member < 3; member++) {
        g.count = 0;
        assert_int_equal(store_trials(s, first + member, keep_id, &g, &e), 0);
        assert_int_equal(g.count, 3);
        for (int i = 0; i < 3; i++) assert_int_equal(g.run_id[i], first + i);
    }
    g.count = 0;
    assert_int_equal(store_trials(s, first + 4, keep_id, &g, &e), 0);
    assert_int_equal(g.count, 1);
    assert_int_equal(g.run_id[0], first + 4);
    run_record_init(&r);
    assert_int_equal(store_load_run(s, first + 1, &r, &e), 0);
    assert_true(r.trial == 2 && r.trials == 3 && r.parent_id == first);
    run_record_free(&r);
    assert_int_equal(store_load_run(s, first - 1, &r, &e), 0);
    assert_true(r.trial == 0 && r.trials == 0 && r.parent_id == 0);
    run_record_free(&r);

    struct listed l = list(s, (struct store_filter){0});
    assert_int_equal(l.count, 6);
    assert_true(l.rows[1].trial == 0 && l.rows[1].trials == 0 && l.rows[1].parent_id == first);
    assert_true(l.rows[2].trial == 3 && l.rows[2].trials == 3 && l.rows[2].parent_id == first);
    assert_true(l.rows[5].trial == 0 && l.rows[5].parent_id == 0);
    plain_exec(f->db, "UPDATE runs SET effective_json = 'cut {' WHERE trial = 2");
    assert_true(list(s, (struct store_filter){0}).rows[3].trials == 0);
    store_close(s);
}

static void every_built_in_query_has_its_index(void **state) {
    struct fixture *f = *state;
    struct store *s = open_store(f->db, STORE_WRITE);
    for (size_t i = 0; i < QUERIES; i++) {
        struct buf sql = {0};
        sqlite3_stmt *stmt = NULL;
        buf_addf(&sql, "EXPLAIN QUERY PLAN %s", query_texts[i]);
        assert_int_equal(sqlite3_prepare_v2(s->db, buf_text(&sql), -1, &stmt, NULL), SQLITE_OK);
        while (sqlite3_step(stmt) == SQLITE_ROW) {
            const char *detail = (const char *)sqlite3_column_text(stmt, 3);
            bool few = strstr(query_texts[i], "ORDER BY n") || strstr(query_texts[i], "FROM histograms") ||
                       strstr(query_texts[i], "WHERE sweep_id = ?1 AND metric = 'throughput_tok_s'");
            bool scan = strncmp(detail, "SCAN ", 5) == 0 && strncmp(detail, "SCAN (", 6) != 0 &&
                        strcmp(detail, "SCAN CONSTANT ROW");
            bool sort = strstr(detail, "TEMP B-TREE FOR ORDER BY") &&
                        !few; /* the few rows of a run or a sweep may be sorted */
            if ((scan && !strstr(detail, "USING")) || sort) fail_msg("%s: %s", query_texts[i], detail);
        }
        sqlite3_finalize(stmt);
        buf_free(&sql);
    }
    store_close(s);
}

static void a_run_is_found_in_a_view_without_looking_at_all(void **state) {
    static const char *const views[] = {"run_summary", "tier_p95", "slo_by_class"};
    struct fixture *f = *state;
    store_close(open_store(f->db, STORE_WRITE));
    sqlite3 *db = plain_open(f->db);
    for (size_t i = 0; i < sizeof views / sizeof *views; i++) {
        char sql[120];
        sqlite3_stmt *stmt = NULL;
        int steps = 0;
        snprintf(sql, sizeof sql, "EXPLAIN QUERY PLAN SELECT * FROM %s WHERE run_id = 1", views[i]);
        assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), SQLITE_OK);
        for (; sqlite3_step(stmt) == SQLITE_ROW; steps++) {
            const char *detail = (const char *)sqlite3_column_text(stmt, 3);
            if (strncmp(detail, "SCAN ", 5) == 0) fail_msg("%s: %s", views[i], detail);
        }
        assert_true(steps > 2);
        sqlite3_finalize(stmt);
    }
    sqlite3_close(db);
}

static void the_path_follows_option_and_environment(void **state) {
    char out[200], tiny[8];
    struct err e = {0};
    (void)state;
    char *home = getenv("HOME") ? mem_strdup(getenv("HOME")) : NULL;
    unsetenv("KVFALL_DB");
    unsetenv("XDG_DATA_HOME");
    setenv("HOME", "/home/ann", 1);
    assert_int_equal(store_path(NULL, out, sizeof out, &e), 0);
    assert_string_equal(out, "/home/ann/.local/share/kvfall/history.db");
    setenv("XDG_DATA_HOME", "/data", 1);
    assert_int_equal(store_path(NULL, out, sizeof out, &e), 0);
    assert_string_equal(out, "/data/kvfall/history.db");
    setenv("KVFALL_DB", "env.db", 1);
    assert_int_equal(store_path(NULL, out, sizeof out, &e), 0);
    assert_string_equal(out, "env.db");
    assert_int_equal(store_path("option.db", out, sizeof out, &e), 0);
    assert_string_equal(out, "option.db");
    assert_int_equal(store_path("much-too-long.db", tiny, sizeof tiny, &e), -KVF_ERR_USAGE);
    unsetenv("KVFALL_DB");
    unsetenv("XDG_DATA_HOME");
    unsetenv("HOME");
    err_clear(&e);
    assert_int_equal(store_path(NULL, out, sizeof out, &e), -KVF_ERR_USAGE);
    assert_non_null(strstr(e.text, "--db"));
    if (home) setenv("HOME", home, 1);
    free(home);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(uuids_are_random_version_4),
        CASE(runs_whose_process_is_gone_are_marked_crashed),
        CASE(a_run_is_found_by_each_kind_of_reference),
        CASE(history_lists_newest_first_with_filters),
        CASE(trials_are_found_by_their_first),
        CASE(every_built_in_query_has_its_index),
        CASE(a_run_is_found_in_a_view_without_looking_at_all),
        CASE(the_path_follows_option_and_environment),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("store_history", tests, NULL, NULL);
}
