#include "tests/unit/store_fixture.h"

#include "store/handle.h"

/* The statements that the store runs for the commands, each statement once. */
enum { STATEMENTS = 256 };
static char *seen[STATEMENTS];
static size_t seen_count;

static int note_statement(unsigned kind, void *ctx, void *stmt, void *text) {
    const char *sql = sqlite3_sql(stmt);
    (void)kind;
    (void)ctx;
    (void)text; /* of a trigger or a comment it is that, not the statement */
    for (size_t i = 0; i < seen_count; i++)
        if (strcmp(seen[i], sql) == 0) return 0;
    assert_true(seen_count < STATEMENTS);
    seen[seen_count++] = mem_strdup(sql);
    return 0;
}

static void watch(struct store *s) {
    assert_int_equal(sqlite3_trace_v2(s->db, SQLITE_TRACE_STMT, note_statement, NULL), SQLITE_OK);
}

static void forget(void) {
    while (seen_count) free(seen[--seen_count]);
}

/* A step that goes through a table, not one that a query made for itself, nor one in the order of an index.
 */
static bool reads_all(const char *detail) {
    return strncmp(detail, "SCAN ", 5) == 0 && strncmp(detail, "SCAN (", 6) != 0 &&
           !strstr(detail, "USING") && strcmp(detail, "SCAN CONSTANT ROW") != 0 &&
           !strstr(detail, "VIRTUAL TABLE");
}

/* The first step of a statement that is wrong, "" when none is; with `sorts` it may put rows in order. */
static void wrong_step(sqlite3 *db, const char *sql, bool sorts, char *out, size_t len) {
    struct buf explain = {0};
    sqlite3_stmt *stmt = NULL;
    out[0] = '\0';
    buf_addf(&explain, "EXPLAIN QUERY PLAN %s", sql);
    if (sqlite3_prepare_v2(db, buf_text(&explain), -1, &stmt, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    while (!out[0] && sqlite3_step(stmt) == SQLITE_ROW) {
        const char *detail = (const char *)sqlite3_column_text(stmt, 3);
        if (reads_all(detail) || (!sorts && strstr(detail, "TEMP B-TREE FOR ORDER BY")))
            snprintf(out, len, "%s", detail);
    }
    sqlite3_finalize(stmt);
    buf_free(&explain);
}

static bool is_query(const char *sql) {
    static const char *const verbs[] = {"SELECT", "UPDATE", "DELETE", "INSERT"};
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
        if (strncmp(sql, verbs[i], strlen(verbs[i])) == 0) return true;
    return false;
}

/* A run's few results, events and histograms are put in order as they come. */
static bool few(const char *sql) {
    return strstr(sql, "ORDER BY n") || strstr(sql, "FROM histograms");
}

static void every_plan_is_good(struct store *s, bool sorts, size_t least) {
    size_t queries = 0;
    char step[200];
    sqlite3_trace_v2(s->db, 0, NULL, NULL);
    for (size_t i = 0; i < seen_count; i++) {
        if (!is_query(seen[i])) continue;
        queries++;
        wrong_step(s->db, seen[i], sorts || few(seen[i]), step, sizeof step);
        if (step[0]) fail_msg("%s: %s", seen[i], step);
    }
    if (queries < least) fail_msg("%zu statements were seen", queries);
    forget();
}

static int64_t stored_run(struct store *s, const char *name) {
    struct record *records[] = {make_record(0), make_record(1), make_event(0.5, "info", "event")};
    struct run_record r;
    struct err e = {0};
    fill_start(&r, name);
    int64_t id = begin_run(s, &r);
    write_all(s, id, records, 3);
    r.status = RUN_COMPLETED;
    r.ended_at = r.started_at + 1;
    result_add(&r.results, 1, 1, "e2e_p95_ms");
    if (store_finish_run(s, &r, 1, &e) != 0) fail_msg("%s", e.text);
    run_record_free(&r);
    return id;
}

static void ignore_row(void *ctx, const struct store_row *r) {
    (void)r;
    ++*(int *)ctx;
}

static void ignore_id(void *ctx, int64_t run_id) {
    (void)ctx;
    (void)run_id;
}

static void ignore_histogram(void *ctx, uint64_t seq, const char *scope, const uint8_t *data, size_t len) {
    (void)ctx;
    (void)seq;
    (void)scope;
    (void)data;
    (void)len;
}

static void what_reads_a_run_searches(void **state) {
    struct fixture *f = *state;
    struct store *s = open_store(f->db, STORE_WRITE);
    struct run_record r;
    struct series series;
    struct sweep_baseline baseline;
    struct err e = {0};
    int64_t id = stored_run(s, "one"), found;
    watch(s);
    assert_int_equal(store_resolve(s, "latest", &found, &e), 0);
    assert_int_equal(store_resolve(s, "one", &found, &e), 0);
    assert_int_equal(store_resolve(s, "01234567", &found, &e), -KVF_ERR_USAGE);
    run_record_init(&r);
    assert_int_equal(store_load_run(s, id, &r, &e), 0);
    series_init(&series, SERIES_ALL);
    assert_int_equal(store_load_series(s, &r, &series, &e), 0);
    assert_int_equal(series.count, 2);
    const struct store_histograms histograms = {0, 9, ignore_histogram, NULL};
    assert_int_equal(store_interval_histograms(s, id, &histograms, &e), 0);
    series_free(&series);
    run_record_free(&r);
    assert_int_equal(store_trials(s, id, ignore_id, NULL, &e), 0);
    assert_int_equal(store_baseline(s, id, &baseline, &e), 0);
    every_plan_is_good(s, false, 20);
    store_close(s);
}

static void a_list_is_read_in_the_order_of_its_index(void **state) {
    struct fixture *f = *state;
    struct store *s = open_store(f->db, STORE_WRITE);
    struct err e = {0};
    int rows = 0;
    stored_run(s, "one");
    watch(s);
    assert_int_equal(store_list(s, &(struct store_filter){.limit = 5}, ignore_row, &rows, &e), 0);
    every_plan_is_good(s, false, 1);
    static const char *const orders[] = {"name", "throughput_tok_s", "hit_ratio", "started_at"};
    watch(s);
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++)
        assert_int_equal(store_list(s, &(struct store_filter){.sort = orders[i], .reverse = true, .tag = "x"},
                                    ignore_row, &rows, &e),
                         0);
    every_plan_is_good(s, true, 4);
    store_close(s);
}

static void what_changes_runs_searches_them(void **state) {
    struct fixture *f = *state;
    struct store *s = open_store(f->db, STORE_WRITE);
    struct buf now = {0};
    struct err e = {0};
    uint64_t count;
    int64_t ids[2] = {stored_run(s, "one"), stored_run(s, "two")};
    const char *tag = "kept";
    watch(s);
    assert_int_equal(store_tag(s, ids[0], &(struct store_tags){&tag, 1, false}, &now, &e), 0);
    assert_int_equal(store_note(s, ids[0], "a note", &now, &e), 0);
    assert_int_equal(store_members(s, ids[0], &count, &e), 0);
    assert_int_equal(store_old_runs(s, &(struct store_age){.keep = 1, .before = 1e12}, ignore_id, NULL, &e),
                     0);
    assert_int_equal(store_delete(s, ids, 2, false, &count, &e), 0);
    assert_int_equal(count, 2);
    every_plan_is_good(s, false, 8);
    buf_free(&now);
    store_close(s);
}

static void merging_looks_each_run_up(void **state) {
    struct fixture *f = *state;
    char other[200];
    struct store_merged done;
    struct err e = {0};
    snprintf(other, sizeof other, "%s/other.db", f->dir);
    struct store *from = open_store(other, STORE_WRITE), *into = open_store(f->db, STORE_WRITE);
    stored_run(from, "one");
    store_close(from);
    from = open_store(other, STORE_READ);
    watch(into);
    assert_int_equal(store_merge(into, from, &done, &e), 0);
    assert_int_equal(done.runs, 1);
    every_plan_is_good(into, false, 5);
    watch(from);
    assert_int_equal(store_merge(into, from, &done, &e), 0);
    assert_int_equal(done.known, 1);
    /* all runs there are asked for, in the order of their numbers */
    for (size_t i = 0; i < seen_count; i++) {
        char step[200];
        if (!is_query(seen[i])) continue;
        wrong_step(from->db, seen[i], false, step, sizeof step);
        if (step[0] && strcmp(step, "SCAN runs") != 0 && strcmp(step, "SCAN sweeps") != 0)
            fail_msg("%s: %s", seen[i], step);
    }
    forget();
    store_close(from);
    store_close(into);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(what_reads_a_run_searches),
        CASE(a_list_is_read_in_the_order_of_its_index),
        CASE(what_changes_runs_searches_them),
        CASE(merging_looks_each_run_up),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("store_plans", tests, NULL, NULL);
}
