#include "tests/unit/store_fixture.h"

#include <inttypes.h>

#include "metrics/histogram.h"
#include "store/handle.h"
#include "store/schema.h"

static void fill_middle(struct run_record *r) {
    COPY(r->description, "what the page asks");
    COPY(r->tags, "nightly,gen5");
    COPY(r->trace_path, "/data/conversation_trace.jsonl");
    COPY(r->request_log, "/data/requests.jsonl");
    COPY(r->tokenizer, "counts.jsonl (counts)");
    COPY(r->trace_sha256, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    COPY(r->qos_latency, "ttft");
    r->seed = UINT64_C(0xfedcba9876543210); /* more than a signed number holds */
    r->trial = 3;
    r->environment = mem_strdup("{\"cpu\":\"x\"}");
    r->scenario_yaml = mem_strdup("name: full\n# a comment: 'quoted'\n");
    r->effective_json = mem_strdup("{\"seed\":1}");
    r->tier[KVF_TIER_GPU] = (struct run_tier){.on = true,
                                              .capacity_bytes = 4ULL << 30,
                                              .usable_bytes = 3435973836,
                                              .description = "memory, pages of 4 KiB"};
    r->tier[KVF_TIER_NVME] = (struct run_tier){.on = true,
                                               .emulated = true,
                                               .compat = true,
                                               .capacity_bytes = 20ULL << 30,
                                               .usable_bytes = 20ULL << 30,
                                               .description = "vda, ext4, O_DIRECT"};
    r->classes = 2;
    r->klass[0] = (struct run_class){"interactive", 0.15, 50000000, 100000000, 150000000, 200000001};
    r->klass[1] = (struct run_class){"batch", 0.85, 1000000000, 0, 0, 0};
}

static void fill_end(struct run_record *r) {
    r->status = RUN_FAILED;
    COPY(r->status_reason, "3 operations failed");
    COPY(r->verdict.sentence, "queue wait 274 s of 318 s mean, 86 %: overload, not the disk");
    r->verdict.known = true;
    r->verdict.limited_by = VERDICT_SLOTS;
    r->verdict.cause = VERDICT_CAUSE_CONCURRENCY;
    r->verdict.share = 0.99;
    verdict_add_evidence(&r->verdict, "queue_wait_share", 0.86, "");
    verdict_add_evidence(&r->verdict, "working_set", 11e9, "B");
    verdict_add_remedy(&r->verdict, "2 x slots", "throughput_tok_s", 1000, 1900);
    verdict_add_remedy(&r->verdict, "half the users", "e2e_p95_ms", 300, KVF_MISSING);
    verdict_warn(&r->verdict, "another program reads from the device");
    COPY(r->not_comparable, "RAG is on");
    COPY(r->steady, "not reached: throughput fell by 31 % of its mean over the last 30.0 s");
    r->ended_at = r->started_at + 60.25;
    result_add(&r->results, 12345.678, 60, "throughput_tok_s");
    result_add(&r->results, KVF_MISSING, 12, "e2e_p9999_ms");
    result_add(&r->results, 0.0, 0, "misses");
    r->criteria = mem_zalloc(2, sizeof *r->criteria);
    r->criterion_count = 2;
    r->criteria[0] = (struct run_criterion){"nvme read P95", "nvme_read_p95_ms", "<", 200, 42.5, "ms", 1};
    r->criteria[1] =
        (struct run_criterion){"nvme write P95", "nvme_write_p95_ms", "<=", 500, KVF_MISSING, "ms", -1};
    run_record_histogram(r, "e2e", (const uint8_t *)"\1\0\2", 3);
    run_record_histogram(r, "nvme_read_device", (const uint8_t *)"\1\7", 2);
    for (unsigned i = 0; i < 2; i++) {
        struct run_rank rank = {
            .start_late_ms = 0.5, .clock_offset_ms = -7, .clock_error_ms = 0.25 + i, .slowest = i == 1};
        snapshot_host_blank(&rank.at);
        rank.at.rank.rank = i;
        rank.at.rank.e2e_p95_ms = 41.5;
        rank.at.tier[KVF_TIER_CPU].capacity_bytes = 4096;
        snprintf(rank.at.host, sizeof rank.at.host, "lab%u", i);
        snprintf(rank.why, sizeof rank.why, "%s", i == 1 ? "rank 1 on lab1: slow" : "");
        run_record_rank(r, &rank);
    }
    run_record_pod(r, &(struct run_pod){.pod = 1, .requests_done = 7, .hits = {3, 2}, .load_mean = 0.5});
}

static void assert_same_start(const struct run_record *a, const struct run_record *b) {
    assert_string_equal(a->uuid, b->uuid);
    assert_int_equal(a->trial, b->trial);
    assert_string_equal(a->name, b->name);
    assert_string_equal(a->description, b->description);
    assert_string_equal(a->mode, b->mode);
    assert_string_equal(a->model, b->model);
    assert_true(a->seed == b->seed);
    assert_string_equal(a->host, b->host);
    assert_string_equal(a->boot_id, b->boot_id);
    assert_string_equal(a->version, b->version);
    assert_int_equal(a->pid, b->pid);
    assert_string_equal(a->environment, b->environment);
    assert_string_equal(a->scenario_yaml, b->scenario_yaml);
    assert_string_equal(a->effective_json, b->effective_json);
    assert_string_equal(a->tags, b->tags);
    assert_string_equal(a->trace_path, b->trace_path);
    assert_string_equal(a->trace_sha256, b->trace_sha256);
    assert_string_equal(a->request_log, b->request_log);
    assert_string_equal(a->tokenizer, b->tokenizer);
    assert_string_equal(a->qos_latency, b->qos_latency);
    for (int t = 0; t < KVF_TIERS; t++) {
        assert_int_equal(a->tier[t].on, b->tier[t].on);
        assert_int_equal(a->tier[t].emulated, b->tier[t].emulated);
        assert_int_equal(a->tier[t].compat, b->tier[t].compat);
        assert_int_equal(a->tier[t].capacity_bytes, b->tier[t].capacity_bytes);
        assert_int_equal(a->tier[t].usable_bytes, b->tier[t].usable_bytes);
        assert_string_equal(a->tier[t].description, b->tier[t].description);
    }
    assert_int_equal(a->classes, b->classes);
    for (uint32_t i = 0; i < a->classes; i++)
        assert_memory_equal(&a->klass[i], &b->klass[i], sizeof a->klass[i]);
}

static void assert_same_end(const struct run_record *a, const struct run_record *b) {
    assert_int_equal(a->status, b->status);
    assert_string_equal(a->status_reason, b->status_reason);
    assert_string_equal(a->verdict.sentence, b->verdict.sentence);
    assert_int_equal(a->rank_count, b->rank_count);
    for (size_t i = 0; i < a->rank_count; i++) {
        const struct run_rank *x = &a->ranks[i], *y = &b->ranks[i];
        assert_string_equal(x->at.host, y->at.host);
        assert_string_equal(x->why, y->why);
        assert_true(x->slowest == y->slowest && x->at.rank.rank == y->at.rank.rank);
        assert_true(x->start_late_ms == y->start_late_ms && x->clock_offset_ms == y->clock_offset_ms &&
                    x->clock_error_ms == y->clock_error_ms && x->at.rank.e2e_p95_ms == y->at.rank.e2e_p95_ms);
        assert_true(isnan(y->at.rank.users) && isnan(y->at.tier[KVF_TIER_NVME].read_ops));
        assert_true(x->at.tier[KVF_TIER_CPU].capacity_bytes == y->at.tier[KVF_TIER_CPU].capacity_bytes);
    }
    assert_true(b->verdict.known);
    assert_int_equal(a->verdict.limited_by, b->verdict.limited_by);
    assert_int_equal(a->verdict.cause, b->verdict.cause);
    assert_true(a->verdict.share == b->verdict.share);
    assert_int_equal(a->verdict.evidences, b->verdict.evidences);
    assert_memory_equal(a->verdict.evidence, b->verdict.evidence, 2 * sizeof a->verdict.evidence[0]);
    assert_int_equal(a->verdict.remedies, b->verdict.remedies);
    assert_string_equal(a->verdict.remedy[0].change, b->verdict.remedy[0].change);
    assert_true(a->verdict.remedy[0].estimate == b->verdict.remedy[0].estimate);
    assert_string_equal(a->verdict.remedy[1].metric, b->verdict.remedy[1].metric);
    assert_true(isnan(b->verdict.remedy[1].estimate));
    assert_int_equal(a->verdict.warnings, b->verdict.warnings);
    assert_string_equal(a->verdict.warning[0], b->verdict.warning[0]);
    assert_string_equal(a->steady, b->steady);
    assert_string_equal(a->not_comparable, b->not_comparable);
    assert_true(a->started_at == b->started_at && a->ended_at == b->ended_at);
    assert_int_equal(a->results.count, b->results.count);
    for (size_t i = 0; i < a->results.count; i++) {
        const struct result *x = &a->results.items[i], *y = &b->results.items[i];
        assert_string_equal(x->metric, y->metric);
        assert_string_equal(x->unit, y->unit);
        assert_true(x->samples == y->samples);
        assert_true(x->value == y->value || (isnan(x->value) && isnan(y->value)));
    }
    assert_int_equal(a->event_count, b->event_count);
    for (size_t i = 0; i < a->event_count; i++) {
        assert_string_equal(a->events[i].level, b->events[i].level);
        assert_string_equal(a->events[i].message, b->events[i].message);
        assert_true(a->events[i].t_s == b->events[i].t_s ||
                    (isnan(a->events[i].t_s) && isnan(b->events[i].t_s)));
    }
    assert_int_equal(a->criterion_count, b->criterion_count);
    for (size_t i = 0; i < a->criterion_count; i++) {
        assert_string_equal(a->criteria[i].name, b->criteria[i].name);
        assert_string_equal(a->criteria[i].metric, b->criteria[i].metric);
        assert_string_equal(a->criteria[i].op, b->criteria[i].op);
        assert_string_equal(a->criteria[i].unit, b->criteria[i].unit);
        double passed = run_criterion_passed(a, &a->criteria[i]), stored = b->criteria[i].passed;
        assert_true(passed == stored || (isnan(passed) && isnan(stored)));
        assert_true(a->criteria[i].target == b->criteria[i].target);
        assert_int_equal(isnan(a->criteria[i].actual), isnan(b->criteria[i].actual));
    }
    assert_int_equal(a->histogram_count, b->histogram_count);
    for (size_t i = 0; i < a->histogram_count; i++) {
        assert_string_equal(a->histograms[i].scope, b->histograms[i].scope);
        assert_int_equal(a->histograms[i].len, b->histograms[i].len);
        assert_memory_equal(a->histograms[i].data, b->histograms[i].data, a->histograms[i].len);
    }
}

static void a_whole_run_comes_back_as_it_was(void **state) {
    struct fixture *f = *state;
    struct store *s = open_store(f->db, STORE_WRITE);
    struct run_record r, back;
    struct err e = {0};
    fill_start(&r, "full");
    fill_middle(&r);
    begin_run(s, &r);

    /* Two events and two decisions go through the FIFO, one more event is known at the end only. */
    struct record *one = make_record(0), *two = make_record(1);
    one->snap.decisions = 2;
    one->snap.decision[0] =
        (struct snapshot_decision){"qos", "up", 50, 60, 0.42, 1000.5, 38, "P95 38 ms is under 45 ms"};
    one->snap.decision[1] =
        (struct snapshot_decision){"qos", "hold", 60, 60, KVF_MISSING, 1.5, KVF_MISSING, "waits"};
    struct record *all[] = {make_event(KVF_MISSING, "info", "before the first request"), one,
                            make_event(1.5, "mark", "here"), two};
    double t_s = one->snap.interval.t_s;
    r.decision_count = 2;
    r.decisions = mem_alloc(2 * sizeof *r.decisions);
    memcpy(r.decisions, one->snap.decision, 2 * sizeof *r.decisions);
    run_record_event(&r, &all[0]->event);
    run_record_event(&r, &all[2]->event);
    write_all(s, r.run_id, all, 4);
    struct record_event late = {.t_s = 59, .level = "error", .message = "a block was not what was written"};
    run_record_event(&r, &late);
    fill_end(&r);
    if (store_finish_run(s, &r, 2, &e) != 0) fail_msg("%s", e.text);
    store_close(s);

    s = open_store(f->db, STORE_READ);
    run_record_init(&back);
    if (store_load_run(s, r.run_id, &back, &e) != 0) fail_msg("%s", e.text);
    assert_same_start(&r, &back);
    assert_same_end(&r, &back);
    assert_int_equal(back.decision_count, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_string_equal(back.decisions[i].action, r.decisions[i].action);
        assert_string_equal(back.decisions[i].reason, r.decisions[i].reason);
        assert_int_equal(back.decisions[i].users_after, 60);
        assert_true(back.decision_t_s[i] == t_s);
    }
    assert_true(isnan(back.decisions[1].saturation));
    run_record_free(&r);
    run_record_free(&back);
    store_close(s);
    assert_string_equal(plain_text(f->db, "SELECT device FROM run_tiers WHERE tier = 'nvme'"), "vda");
    assert_string_equal(plain_text(f->db, "SELECT p99_ms FROM run_classes WHERE class = 'batch'"), "NULL");
    assert_string_equal(plain_text(f->db, "SELECT value FROM results WHERE metric = 'e2e_p9999_ms'"), "NULL");
    assert_string_equal(plain_text(f->db, "SELECT value FROM results WHERE metric = 'misses'"), "0.0");
}

static void assert_part(const char *db, const char *table, const char *where,
                        const struct snapshot_field *fields, size_t count, const void *part) {
    for (size_t i = 0; i < count; i++) {
        if (strcmp(fields[i].name, "phase") == 0) continue;
        const char *text = plain_text(db, "SELECT %s FROM %s WHERE %s", fields[i].name, table, where);
        double v = snapshot_value(part, &fields[i]);
        if (strcmp(text, isnan(v) ? "NULL" : text) != 0 ||
            (!isnan(v) && (!*text || fabs(atof(text) - v) > 1e-9)))
            fail_msg("%s.%s is %s, not %f", table, fields[i].name, text, v);
    }
}

static void every_field_of_a_snapshot_is_a_column(void **state) {
    struct fixture *f = *state;
    struct store *s = open_store(f->db, STORE_WRITE);
    struct run_record r;
    fill_start(&r, "fields");
    begin_run(s, &r);
    struct record *record = make_record(7);
    struct snapshot snap;
    record->snap.interval.hit_ratio = KVF_MISSING;
    record->snap.tier[KVF_TIER_NVME].read_p95_ms = KVF_MISSING;
    record->coded[1] = mem_alloc(3);
    memcpy(record->coded[1], "\1\2\3", 3);
    record->coded_len[1] = 3;
    snap = record->snap;
    write_all(s, r.run_id, &record, 1);
    store_close(s);

    assert_part(f->db, "intervals", "seq = 7", snapshot_interval_fields, snapshot_interval_field_count,
                &snap.interval);
    assert_string_equal(plain_text(f->db, "SELECT phase FROM intervals"), "measured");
    assert_string_equal(plain_text(f->db, "SELECT bottleneck FROM intervals"),
                        "nvme reads, 71 % of storage time");
    assert_string_equal(plain_text(f->db, "SELECT hit_ratio FROM intervals"), "NULL");
    assert_int_equal(plain_int(f->db, "SELECT count(*) FROM tier_intervals"), 2);
    assert_part(f->db, "tier_intervals", "tier = 'gpu'", snapshot_tier_fields, snapshot_tier_field_count,
                &snap.tier[0]);
    assert_part(f->db, "tier_intervals", "tier = 'nvme'", snapshot_tier_fields, snapshot_tier_field_count,
                &snap.tier[2]);
    assert_int_equal(plain_int(f->db, "SELECT count(*) FROM cause_intervals"), 4);
    assert_int_equal(plain_int(f->db,
                               "SELECT bytes FROM cause_intervals WHERE tier = 'nvme' AND dir = 'write' "
                               "AND cause = 'demotion' AND ops = 9"),
                     900);
    assert_part(f->db, "qos_intervals", "class = 'batch'", snapshot_qos_fields, snapshot_qos_field_count,
                &snap.qos[1]);
    assert_part(f->db, "remote_intervals", "seq = 7", snapshot_remote_fields, snapshot_remote_field_count,
                &snap.remote);
    assert_part(f->db, "block_intervals", "seq = 7", snapshot_block_fields, snapshot_block_field_count,
                &snap.block);
    assert_part(f->db, "fleet_intervals", "seq = 7", snapshot_fleet_fields, snapshot_fleet_field_count,
                &snap.fleet);
    assert_part(f->db, "pod_intervals", "pod > 9050", snapshot_pod_fields, snapshot_pod_field_count,
                &snap.pod[1]);
    assert_string_equal(plain_text(f->db,
                                   "SELECT group_concat(n || process || cgroup || read_bytes || ' ' || "
                                   "write_bytes || ' ' || requests) FROM neighbour_intervals"),
                        "0fiobench/a1 2 3,1(writeback)4 5 6");
    assert_part(f->db, "gpu_intervals", "seq = 7", snapshot_gpu_fields, snapshot_gpu_field_count,
                &snap.gpu[0]);
    assert_string_equal(plain_text(f->db, "SELECT scope || hex(data) FROM interval_histograms"),
                        "nvme_read010203");
    run_record_free(&r);
}

static void a_file_of_an_older_version_gets_the_new_columns(void **state) {
    struct fixture *f = *state;
    struct store *s = open_store(f->db, STORE_WRITE);
    struct run_record r;
    fill_start(&r, "old");
    begin_run(s, &r);
    store_close(s);
    plain_exec(
        f->db,
        "DROP TABLE tier_intervals; DROP TABLE criteria; DROP INDEX runs_started;"
        "CREATE TABLE tier_intervals(run_id INTEGER NOT NULL, seq INTEGER NOT NULL, tier TEXT NOT NULL,"
        " capacity_bytes INTEGER, PRIMARY KEY (run_id, seq, tier)) WITHOUT ROWID;"
        "INSERT INTO tier_intervals VALUES(1, 0, 'cpu', 99)");
    s = open_store(f->db, STORE_WRITE);
    struct record *record = make_record(1);
    write_all(s, r.run_id, &record, 1);
    store_close(s);
    assert_int_equal(plain_int(f->db, "SELECT capacity_bytes FROM tier_intervals WHERE tier = 'cpu'"), 99);
    assert_string_equal(plain_text(f->db, "SELECT read_p95_ms FROM tier_intervals WHERE tier = 'cpu'"),
                        "NULL");
    assert_int_equal(
        plain_int(f->db, "SELECT count(*) FROM tier_intervals WHERE seq = 1 AND read_p95_ms > 0"), 2);
    assert_int_equal(plain_int(f->db, "SELECT count(*) FROM criteria"), 0);
    assert_int_equal(plain_int(f->db, "SELECT count(*) FROM sqlite_master WHERE name = 'runs_started'"), 1);
    run_record_free(&r);
}

/* Of version 13, whose events were sentences alone. */
static void events_of_an_older_file_get_kinds_and_values(void **state) {
    struct fixture *f = *state;
    struct store *s = open_store(f->db, STORE_WRITE);
    struct run_record r;
    fill_start(&r, "older");
    begin_run(s, &r);
    store_close(s);
    plain_exec(
        f->db,
        "ALTER TABLE events DROP COLUMN kind; ALTER TABLE events DROP COLUMN value;"
        "DELETE FROM events; PRAGMA user_version = 13;"
        "INSERT INTO events(run_id, n, level, message) VALUES"
        "(1, 0, 'info', 'users 20 by key'), (1, 1, 'info', 'generation 2.5 ms per token by key'),"
        "(1, 2, 'info', 'autoscaler qos by key'), (1, 3, 'info', 'resumed by SIGCONT'),"
        "(1, 4, 'info', 'autoscaler off: the users were changed by key'),"
        "(1, 5, 'info', 'speed as fast as possible by key'), (1, 6, 'mark', 'users 5 by hand'),"
        "(1, 7, 'info', 'suite: not run: gpu-only: there is no gpu: none'), (1, 8, 'info', 'a word');");
    store_close(open_store(f->db, STORE_WRITE));
    assert_string_equal(
        plain_text(f->db, "SELECT group_concat(coalesce(kind || '=' || value, '-'), ' ') FROM events"),
        "users=20 generation=2.5 autoscaler=qos pause=off autoscaler=off speed=0 - "
        "suite_not_run=gpu-only -");
    run_record_free(&r);
}

/* As a version without them left it: what was stored then has no value, what comes now has. */
static void violations_and_starvation_come_to_an_older_file(void **state) {
    struct fixture *f = *state;
    struct store *s = open_store(f->db, STORE_WRITE);
    struct run_record r;
    fill_start(&r, "older");
    begin_run(s, &r);
    struct record *record = make_record(0);
    write_all(s, r.run_id, &record, 1);
    store_close(s);
    plain_exec(f->db, "ALTER TABLE qos_intervals DROP COLUMN violations;"
                      "ALTER TABLE qos_intervals DROP COLUMN starved");
    s = open_store(f->db, STORE_WRITE);
    record = make_record(1);
    record->snap.qos[1].violations = 3;
    record->snap.qos[1].starved = 1;
    write_all(s, r.run_id, &record, 1);
    store_close(s);
    assert_string_equal(
        plain_text(f->db, "SELECT group_concat(coalesce(violations, '--') || ' ' || coalesce(starved, '--'), "
                          "', ') FROM qos_intervals WHERE class = 'batch'"),
        "-- --, 3.0 1.0");
    run_record_free(&r);
}

/* A file of version 0.4.0, which has the schema's number but no index of sweeps: reading does without, and
 * writing makes it although no column is missing. */
static void an_older_file_gets_the_new_indexes(void **state) {
    static const char indexes[] = "SELECT count(*) FROM sqlite_master WHERE type = 'index' AND "
                                  "name IN ('sweeps_started', 'sweeps_name')";
    struct fixture *f = *state;
    store_close(open_store(f->db, STORE_WRITE));
    assert_int_equal(plain_int(f->db, indexes), 2);
    plain_exec(f->db, "DROP INDEX sweeps_started; DROP INDEX sweeps_name");
    int64_t id = 0;
    struct err e = {0};
    struct store *s = open_store(f->db, STORE_READ);
    assert_int_equal(store_resolve_sweep(s, "latest", &id, &e), -KVF_ERR_USAGE); /* there is none */
    store_close(s);
    assert_int_equal(plain_int(f->db, indexes), 0);
    store_close(open_store(f->db, STORE_WRITE));
    assert_int_equal(plain_int(f->db, indexes), 2);
}

static void the_file_names_its_application_and_schema(void **state) {
    struct fixture *f = *state;
    store_close(open_store(f->db, STORE_WRITE));
    assert_int_equal(plain_int(f->db, "PRAGMA application_id"), 0x6b766631);
    assert_int_equal(plain_int(f->db, "PRAGMA user_version"), STORE_SCHEMA_VERSION);
    assert_string_equal(plain_text(f->db, "PRAGMA journal_mode"), "wal");
    struct buf sql = {0};
    char other[160];
    snprintf(other, sizeof other, "%s/other.db", f->dir);
    store_schema(&sql);
    plain_exec(other, buf_text(&sql)); /* the printed schema makes the same database */
    buf_free(&sql);
    char want[600];
    snprintf(want, sizeof want, "%s",
             plain_text(f->db, "SELECT count(*) || ' ' || sum(length(sql)) FROM sqlite_master"));
    assert_string_equal(plain_text(other, "SELECT count(*) || ' ' || sum(length(sql)) FROM sqlite_master"),
                        want);
}

static void deleting_a_run_leaves_nothing_of_it(void **state) {
    struct fixture *f = *state;
    struct store *s = open_store(f->db, STORE_WRITE);
    struct run_record r;
    struct err e = {0};
    fill_start(&r, "gone");
    fill_middle(&r);
    begin_run(s, &r);
    struct record *all[] = {make_record(0), make_event(1, "info", "x")};
    all[0]->snap.decisions = 1;
    all[0]->coded[0] = mem_alloc(1);
    all[0]->coded[0][0] = 1;
    all[0]->coded_len[0] = 1;
    all[0]->kept = mem_alloc(1);
    all[0]->kept[0] = 1;
    all[0]->kept_len = 1;
    write_all(s, r.run_id, all, 2);
    fill_end(&r);
    assert_int_equal(store_finish_run(s, &r, 0, &e), 0);
    run_record_free(&r);
    for (int pass = 0; pass < 2; pass++) {
        for (int t = 0; t < TABLES; t++) {
            char sql[100];
            if (t == TABLE_SWEEPS || t == TABLE_SWEEP_CURVES) continue; /* of no run */
            snprintf(sql, sizeof sql, "SELECT count(*) > 0 FROM %s", schema_table((enum table_id)t)->name);
            if (plain_int(f->db, sql) == pass) fail_msg("%s", sql);
        }
        plain_exec(f->db, "PRAGMA foreign_keys = ON; DELETE FROM runs");
    }
    store_close(s);
}

static void a_network_file_system_gets_a_rollback_journal(void **state) {
    struct fixture *f = *state;
    struct store *s = NULL;
    struct err e = {0};
    store_close(open_store(f->db, STORE_WRITE)); /* in WAL mode so far */
    assert_int_equal(store_open_on(&s, f->db, STORE_WRITE, 0x6969, &e), 0);
    assert_non_null(strstr(store_notice(s), "NFS"));
    assert_string_equal(plain_text(f->db, "PRAGMA journal_mode"), "delete");
    struct run_record r;
    fill_start(&r, "nfs");
    begin_run(s, &r);
    struct record *record = make_record(0);
    write_all(s, r.run_id, &record, 1);
    store_close(s);
    assert_int_equal(plain_int(f->db, "SELECT count(*) FROM intervals"), 1);
    assert_int_equal(store_open_on(&s, f->db, STORE_WRITE, (long)(int)0xff534d42, &e), 0); /* sign-extended */
    assert_non_null(strstr(store_notice(s), "CIFS"));
    store_close(s);
    s = open_store(f->db, STORE_WRITE); /* and back on a local one */
    assert_string_equal(store_notice(s), "");
    assert_string_equal(plain_text(f->db, "PRAGMA journal_mode"), "wal");
    store_close(s);
}

/* Latencies as they come: a few hundred values over two decades. */
static void code_histogram(struct record *record, int scope, uint64_t *random) {
    static struct histogram h;
    static uint8_t coded[HISTOGRAM_ENCODED_MAX];
    histogram_init(&h);
    for (int i = 0; i < 300; i++) {
        *random = *random * UINT64_C(6364136223846793005) + 1442695040888963407u;
        double u = (double)(*random >> 11) / 9007199254740992.0;
        histogram_record(&h, (uint64_t)(1e6 * pow(100, u * u)));
    }
    record->coded_len[scope] = histogram_encode(&h, coded, sizeof coded);
    record->coded[scope] = mem_alloc(record->coded_len[scope]);
    memcpy(record->coded[scope], coded, record->coded_len[scope]);
}

static void an_interval_takes_less_than_8_kib(void **state) {
    struct fixture *f = *state;
    enum { INTERVALS = 400 };
    struct record *all[INTERVALS];
    struct store *s = open_store(f->db, STORE_WRITE);
    struct run_record r;
    struct stat before, after;
    uint64_t random = 1;
    fill_start(&r, "growth");
    begin_run(s, &r);
    store_close(s);
    assert_int_equal(stat(f->db, &before), 0);
    for (size_t i = 0; i < INTERVALS; i++) {
        struct record *record = all[i] = make_record(i);
        for (int t = 0; t <= KVF_TIER_NVME; t++) {
            record->snap.tier_on[t] = true;
            for (int d = 0; d < KVF_DIRS; d++)
                for (int c = 0; c < 4; c++)
                    record->snap.cause[t][d][c] = (struct snapshot_cause){500, 123456789};
        }
        record->snap.classes = 3;
        record->snap.pod_rows = 0; /* what a fleet adds is a row for each pod */
        snprintf(record->snap.class_name[2], SNAPSHOT_NAME, "responsive");
        for (int scope = 0; scope < RECORD_SCOPES; scope++) code_histogram(record, scope, &random);
    }
    s = open_store(f->db, STORE_WRITE);
    write_all(s, r.run_id, all, INTERVALS);
    store_close(s);
    assert_int_equal(stat(f->db, &after), 0);
    long each = (long)(after.st_size - before.st_size) / INTERVALS;
    print_message("# %ld bytes an interval\n", each);
    assert_true(each < 8192); /* each of its histograms holding 300 latencies */
}

static void parent_folders_are_made_for_writing_only(void **state) {
    struct fixture *f = *state;
    char deep[200], folder[180];
    struct store *s = NULL;
    struct err e = {0};
    snprintf(folder, sizeof folder, "%s/a?b#c/100%%", f->dir); /* characters that mean something in a URI */
    snprintf(deep, sizeof deep, "%s/history.db", folder);
    assert_int_equal(store_open(&s, deep, STORE_READ, &e), -KVF_ERR_USAGE);
    assert_int_equal(access(folder, F_OK), -1);
    store_close(open_store(deep, STORE_WRITE));
    assert_int_equal(access(deep, F_OK), 0);
    assert_int_equal(plain_int(deep, "SELECT count(*) FROM runs"), 0);
}

static void put_histogram(void *ctx, uint64_t seq, const char *scope, const uint8_t *data, size_t len) {
    buf_addf(ctx, "%" PRIu64 " %s %zu %02x; ", seq, scope, len, data[len - 1]);
}

static void histograms_of_intervals_come_in_their_order(void **state) {
    struct fixture *f = *state;
    struct run_record r;
    struct buf got = {0};
    struct err e = {0};
    struct store *s = open_store(f->db, STORE_WRITE);
    fill_start(&r, "one");
    int64_t id = begin_run(s, &r);
    char sql[600];
    snprintf(sql, sizeof sql,
             "INSERT INTO interval_histograms(run_id, seq, scope, data) VALUES(%" PRId64
             ", 5, 'e2e', x'0105'), "
             "(%" PRId64 ", 3, 'nvme_read', x'010203'), (%" PRId64 ", 3, 'e2e', x'01'), (%" PRId64
             ", 6, 'e2e', x'06'), "
             "(%" PRId64 ", 2, 'e2e', x'02'), (%" PRId64 ", 4, 'e2e', x'04')",
             id, id, id, id, id, id + 1);
    plain_exec(f->db, sql);
    const struct store_histograms h = {3, 5, put_histogram, &got};
    assert_int_equal(store_interval_histograms(s, id, &h, &e), 0);
    assert_string_equal(buf_text(&got), "3 e2e 1 01; 3 nvme_read 3 03; 5 e2e 2 05; ");
    buf_free(&got);
    run_record_free(&r);
    store_close(s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(a_whole_run_comes_back_as_it_was),
        CASE(every_field_of_a_snapshot_is_a_column),
        CASE(a_file_of_an_older_version_gets_the_new_columns),
        CASE(events_of_an_older_file_get_kinds_and_values),
        CASE(violations_and_starvation_come_to_an_older_file),
        CASE(an_older_file_gets_the_new_indexes),
        CASE(the_file_names_its_application_and_schema),
        CASE(deleting_a_run_leaves_nothing_of_it),
        CASE(a_network_file_system_gets_a_rollback_journal),
        CASE(an_interval_takes_less_than_8_kib),
        CASE(parent_folders_are_made_for_writing_only),
        CASE(histograms_of_intervals_come_in_their_order),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("store", tests, NULL, NULL);
}
