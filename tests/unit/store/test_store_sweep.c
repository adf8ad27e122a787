/* Sweeps in the database: their rows, the runs that belong to them, files that know of none. */
#include "tests/unit/store_fixture.h"

static void fill_sweep(struct sweep_record *r, const char *name) {
    struct host h;
    memset(r, 0, sizeof *r);
    host_identity(h.name, sizeof h.name, h.boot_id, sizeof h.boot_id);
    COPY(r->name, name);
    COPY(r->profile, "keys");
    COPY(r->mode, "simulate");
    COPY(r->host, h.name);
    COPY(r->boot_id, h.boot_id);
    r->started_at = 1000.5;
    r->ended_at = NAN;
    r->points = 12;
    r->scenario_yaml = (char *)"model: tiny-1b\n";
}

static void a_sweep_and_its_points_belong_together(void **state) {
    struct fixture *f = *state;
    struct store *s = open_store(f->db, STORE_WRITE);
    struct sweep_record sweep;
    struct run_record run;
    struct err e = {0};
    fill_sweep(&sweep, "sizes");
    assert_int_equal(store_begin_sweep(s, &sweep, &e), 0);
    assert_true(sweep.sweep_id > 0);
    assert_string_equal(
        plain_text(f->db, "SELECT status || ' ' || points || ' ' || ifnull(ended_at, '--') FROM sweeps"),
        "running 12 --");
    fill_start(&run, "sizes");
    run.sweep_id = sweep.sweep_id;
    run.sweep_point = 7;
    run.sweep_values = mem_strdup("{\"tiers.cpu.capacity\": \"4GiB\"}");
    begin_run(s, &run);
    assert_string_equal(plain_text(f->db, "SELECT sweep_id || ' ' || sweep_point || ' ' || "
                                          "json_extract(sweep_values, '$.\"tiers.cpu.capacity\"') FROM runs"),
                        "1 7 4GiB");
    assert_int_equal(store_finish_run(s, &run, 0, &e), 0); /* keeps what it was told at the beginning */
    assert_string_equal(plain_text(f->db, "SELECT sweep_point FROM runs WHERE sweep_values IS NOT NULL"),
                        "7");

    struct run_record back;
    run_record_init(&back);
    assert_int_equal(store_load_run(s, run.run_id, &back, &e), 0);
    assert_int_equal(back.sweep_id, sweep.sweep_id);
    assert_int_equal(back.sweep_point, 7);
    assert_string_equal(back.sweep_values, run.sweep_values);
    run_record_free(&back);

    struct sweep_curve curve[] = {{.policy = "lru",
                                   .capacity_bytes = 4096,
                                   .lookups = 10,
                                   .misses = 4,
                                   .miss_ratio = 0.4,
                                   .sample = 1,
                                   .method = "stack"},
                                  {.policy = "arc",
                                   .capacity_bytes = 4096,
                                   .lookups = 10,
                                   .misses = 3,
                                   .miss_ratio = 0.3,
                                   .sample = 0.5,
                                   .method = "cache"}};
    sweep.status = RUN_COMPLETED;
    sweep.ended_at = 1001.5;
    sweep.done = 11;
    sweep.failed = 1;
    COPY(sweep.answer, "4GiB");
    assert_int_equal(store_finish_sweep(s, &sweep, curve, 2, &e), 0);
    assert_string_equal(plain_text(f->db,
                                   "SELECT status || ' ' || done || ' ' || failed || ' ' || answer || ' ' || "
                                   "ended_at || ' ' || scenario_yaml FROM sweeps"),
                        "completed 11 1 4GiB 1001.5 model: tiny-1b\n");
    assert_string_equal(
        plain_text(f->db, "SELECT group_concat(policy || ' ' || miss_ratio || ' ' || method || ' ' || sample)"
                          " FROM sweep_curves"),
        "arc 0.3 cache 0.5,lru 0.4 stack 1.0");
    store_close(s);
    plain_exec(f->db, "PRAGMA foreign_keys = ON; DELETE FROM sweeps");
    assert_int_equal(plain_int(f->db, "SELECT count(*) FROM sweep_curves"), 0);
    assert_int_equal(plain_int(f->db, "SELECT count(*) FROM runs WHERE sweep_id IS NULL"), 1);
    run_record_free(&run);
}

/* The calls in their order, as text. */
struct heard {
    struct buf text;
};

static void hear_begin(void *ctx) {
    buf_add(&((struct heard *)ctx)->text, "begin");
}

static void hear_point(void *ctx, const struct store_point *p) {
    buf_addf(&((struct heard *)ctx)->text, " point %u %s %s", p->point, run_status_name(p->status),
             p->values);
}

static void hear_result(void *ctx, uint32_t point, const char *metric, double value, const char *unit) {
    buf_addf(&((struct heard *)ctx)->text, " %u.%s=%g%s", point, metric, value, unit);
}

static void hear_curve(void *ctx, const struct sweep_curve *c) {
    buf_addf(&((struct heard *)ctx)->text, " curve %s %g", c->policy, c->miss_ratio);
}

static void hear_sweep(void *ctx, const struct sweep_record *r) {
    buf_addf(&((struct heard *)ctx)->text, "%s;", r->name);
}

static void a_sweep_is_loaded_with_its_points_in_order(void **state) {
    struct fixture *f = *state;
    struct store *s = open_store(f->db, STORE_WRITE);
    struct heard heard = {0};
    struct store_sweep_reader read = {hear_begin, hear_point, hear_result, hear_curve, &heard};
    struct sweep_curve curve = {
        .policy = "lru", .capacity_bytes = 1, .miss_ratio = 0.5, .sample = 1, .method = "stack"};
    struct sweep_record sweep, other, back = {0};
    struct err e = {0};
    int64_t id = 0;
    fill_sweep(&sweep, "sizes");
    fill_sweep(&other, "later");
    other.started_at = 2000;
    assert_int_equal(store_begin_sweep(s, &sweep, &e), 0);
    assert_int_equal(store_begin_sweep(s, &other, &e), 0);
    for (uint32_t point = 2; point > 0; point--) { /* the second one begins first */
        struct run_record run;
        fill_start(&run, "sizes");
        run.sweep_id = sweep.sweep_id;
        run.sweep_point = point;
        run.sweep_values = mem_strdup(point == 1 ? "{}" : "[]");
        begin_run(s, &run);
        run.status = point == 1 ? RUN_COMPLETED : RUN_FAILED;
        result_add(&run.results, 10 * point, 0, "e2e_p95_ms");
        result_add(&run.results, point, 0, "a");
        assert_int_equal(store_finish_run(s, &run, 0, &e), 0);
        run_record_free(&run);
    }
    sweep.status = RUN_COMPLETED;
    assert_int_equal(store_finish_sweep(s, &sweep, &curve, 1, &e), 0);
    assert_int_equal(store_load_sweep(s, sweep.sweep_id, &back, &read, &e), 0);
    assert_string_equal(
        buf_text(&heard.text),
        "begin point 1 completed {} point 2 failed [] 1.a=1 1.e2e_p95_ms=10ms 2.a=2 2.e2e_p95_ms=20ms curve lru 0.5");
    assert_string_equal(back.name, "sizes");
    assert_string_equal(back.scenario_yaml, sweep.scenario_yaml);
    assert_int_equal(back.points, 12);
    free(back.scenario_yaml);
    free(back.effective_json);
    buf_free(&heard.text);

    assert_int_equal(store_list_sweeps(s, 0, hear_sweep, &heard, &e), 0);
    assert_string_equal(buf_text(&heard.text), "later;sizes;");
    buf_free(&heard.text);
    assert_int_equal(store_resolve_sweep(s, "latest~1", &id, &e), 0);
    assert_int_equal(id, sweep.sweep_id);
    assert_int_equal(store_resolve_sweep(s, "later", &id, &e), 0);
    assert_int_equal(id, other.sweep_id);
    assert_int_equal(store_resolve_sweep(s, sweep.uuid, &id, &e), 0);
    assert_int_equal(id, sweep.sweep_id);
    assert_int_equal(store_resolve_sweep(s, "9", &id, &e), -KVF_ERR_USAGE);
    assert_non_null(strstr(e.text, "it holds sweeps 1 to 2 (later, sizes)"));
    store_close(s);
}

static void a_sweep_whose_process_is_gone_has_crashed(void **state) {
    struct fixture *f = *state;
    pid_t pid = fork();
    if (pid == 0) {
        struct store *s = open_store(f->db, STORE_WRITE);
        struct sweep_record sweep;
        struct err e = {0};
        fill_sweep(&sweep, "gone");
        _exit(store_begin_sweep(s, &sweep, &e) == 0 ? 0 : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    store_close(open_store(f->db, STORE_WRITE));
    assert_string_equal(plain_text(f->db, "SELECT status FROM sweeps"), "crashed");
}

/* As the version before sweeps left it. */
static void an_older_file_learns_of_sweeps(void **state) {
    struct fixture *f = *state;
    struct store *s = open_store(f->db, STORE_WRITE);
    struct run_record run;
    struct sweep_record sweep;
    struct err e = {0};
    fill_start(&run, "old");
    begin_run(s, &run);
    store_close(s);
    plain_exec(f->db, "DROP VIEW run_summary; DROP TABLE sweep_curves; DROP INDEX runs_sweep;"
                      "ALTER TABLE runs DROP COLUMN sweep_values; ALTER TABLE runs DROP COLUMN sweep_point;"
                      "ALTER TABLE runs DROP COLUMN sweep_id; DROP TABLE sweeps");
    s = open_store(f->db, STORE_WRITE);
    assert_string_equal(plain_text(f->db, "SELECT sweep_id FROM runs"), "NULL");
    fill_sweep(&sweep, "new");
    assert_int_equal(store_begin_sweep(s, &sweep, &e), 0);
    run_record_free(&run);
    fill_start(&run, "new");
    run.sweep_id = sweep.sweep_id;
    begin_run(s, &run);
    assert_int_equal(plain_int(f->db, "SELECT count(*) FROM runs WHERE sweep_id = 1"), 1);
    assert_int_equal(plain_int(f->db, "SELECT count(*) FROM sqlite_master WHERE name = 'runs_sweep'"), 1);
    plain_exec(f->db, "UPDATE runs SET sweep_id = NULL; DELETE FROM sweeps");
    assert_int_equal(store_finish_sweep(s, &sweep, NULL, 0, &e), -KVF_ERR_IO);
    assert_non_null(strstr(e.text, "it was deleted"));
    store_close(s);
    run_record_free(&run);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(a_sweep_and_its_points_belong_together),
        CASE(a_sweep_is_loaded_with_its_points_in_order),
        CASE(a_sweep_whose_process_is_gone_has_crashed),
        CASE(an_older_file_learns_of_sweeps),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("store_sweep", tests, NULL, NULL);
}
