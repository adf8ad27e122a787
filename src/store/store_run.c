#include "store/store.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "probe/host.h"
#include "store/db.h"
#include "store/handle.h"
#include "store/inserter.h"
#include "store/reserve.h"
#include "store/row.h"
#include "store/schema.h"

/* The writer may have put a row with the device's name already. */
static int insert_tiers(sqlite3 *db, const struct run_record *r) {
    struct inserter in =
        inserter_open(db, TABLE_RUN_TIERS, "INSERT",
                      " ON CONFLICT DO UPDATE SET emulated = excluded.emulated, compat = excluded.compat, "
                      "capacity_bytes = excluded.capacity_bytes, "
                      "usable_bytes = excluded.usable_bytes, description = excluded.description");
    for (int t = 0; t < KVF_TIERS; t++) {
        if (!r->tier[t].on) continue;
        inserter_number(&in, "run_id", r->run_id);
        inserter_text(&in, "tier", tier_name((enum kvf_tier)t));
        inserter_row(&in, &r->tier[t]);
    }
    return inserter_close(&in);
}

static int insert_classes(sqlite3 *db, const struct run_record *r) {
    struct inserter in = inserter_open(db, TABLE_RUN_CLASSES, "INSERT OR REPLACE", "");
    for (uint32_t i = 0; i < r->classes && i < KVF_CLASSES_MAX; i++) {
        inserter_number(&in, "run_id", r->run_id);
        inserter_number(&in, "n", i);
        inserter_row(&in, &r->klass[i]);
    }
    return inserter_close(&in);
}

static int insert_run(sqlite3 *db, struct run_record *r) {
    struct inserter in = inserter_open(db, TABLE_RUNS, "INSERT", "");
    uint64_t start = host_process_start(r->pid), namespace = host_pid_namespace();
    if (start) inserter_number(&in, "pid_start", (int64_t)start);
    if (namespace) inserter_number(&in, "pid_namespace", (int64_t) namespace);
    inserter_row(&in, r);
    int rc = inserter_close(&in);
    if (rc == SQLITE_OK) r->run_id = sqlite3_last_insert_rowid(db);
    return rc;
}

/* The first of several trials belongs to the group that is named after it. */
static int found_group(sqlite3 *db, struct run_record *r) {
    char sql[96];
    if (r->trial != 1 || r->parent_id) return SQLITE_OK;
    r->parent_id = r->run_id;
    snprintf(sql, sizeof sql, "UPDATE runs SET parent_id = run_id WHERE run_id = %" PRId64, r->run_id);
    return db_exec(db, sql);
}

/* A log that this run writes over is an earlier run's no more. */
static int take_request_log(sqlite3 *db, const struct run_record *r) {
    sqlite3_stmt *stmt = NULL;
    if (!r->request_log[0]) return SQLITE_OK;
    int rc = sqlite3_prepare_v2(
        db, "UPDATE runs SET request_log = '' WHERE request_log = ?1 AND run_id != ?2", -1, &stmt, NULL);
    if (rc != SQLITE_OK) return rc;
    sqlite3_bind_text(stmt, 1, r->request_log, -1, SQLITE_STATIC);
    sqlite3_bind_int64(stmt, 2, r->run_id);
    (void)sqlite3_step(stmt);
    return sqlite3_finalize(stmt);
}

int store_begin_run(struct store *s, struct run_record *r, struct err *e) {
    int code = reserve_take(s, r, e);
    if (code == 0) code = db_uuid(r->uuid, e);
    if (code != 0) return code;
    if (!r->pid) r->pid = getpid();
    r->status = RUN_RUNNING;
    int rc = db_exec(s->db, "BEGIN IMMEDIATE");
    if (rc == SQLITE_OK) rc = insert_run(s->db, r);
    if (rc == SQLITE_OK) rc = found_group(s->db, r);
    if (rc == SQLITE_OK) rc = insert_tiers(s->db, r);
    if (rc == SQLITE_OK) rc = insert_classes(s->db, r);
    if (rc == SQLITE_OK) rc = db_exec(s->db, "COMMIT");
    if (rc == SQLITE_OK) return 0;
    code = db_error(e, s->db, rc, s->path, "write");
    db_rollback(s->db);
    if (r->parent_id == r->run_id) r->parent_id = 0;
    r->run_id = 0;
    r->uuid[0] = '\0';
    return code;
}

/* Texts that the record does not have any more, and tags given meanwhile, keep what is stored. */
static bool keeps(const struct column *c) {
    return c->kind == COLUMN_STRING || c->kind == COLUMN_JSON || strcmp(c->name, "tags") == 0;
}

static int update_run(sqlite3 *db, const struct run_record *r, int *changed) {
    const struct table *t = schema_table(TABLE_RUNS);
    struct buf sql = {0};
    const char *separator = "UPDATE runs SET ";
    for (size_t i = 0; i < schema_column_count(t); i++) {
        struct column c = schema_column(t, i);
        if (c.kind == COLUMN_HAND) continue;
        buf_addf(&sql, keeps(&c) ? "%s%s = coalesce(?%zu, %s)" : "%s%s = ?%zu", separator, c.name, i + 1,
                 c.name);
        separator = ", ";
    }
    buf_add(&sql, " WHERE run_id = ?1");
    struct inserter in = {.table = t};
    in.rc = db_prepare(db, &in.stmt, buf_text(&sql));
    buf_free(&sql);
    inserter_number(&in, "run_id", r->run_id);
    inserter_row(&in, r);
    *changed = sqlite3_changes(db);
    return inserter_close(&in);
}

static int insert_events(sqlite3 *db, const struct run_record *r, size_t first) {
    char sql[96];
    int64_t n = 0;
    snprintf(sql, sizeof sql, "SELECT max(n) + 1 FROM events WHERE run_id = %" PRId64, r->run_id);
    int rc = db_int(db, sql, &n);
    if (rc != SQLITE_OK) return rc;
    struct inserter in = inserter_open(db, TABLE_EVENTS, "INSERT", "");
    for (size_t i = first; i < r->event_count; i++) {
        inserter_number(&in, "run_id", r->run_id);
        inserter_number(&in, "n", n++);
        inserter_row(&in, &r->events[i]);
    }
    return inserter_close(&in);
}

/* A metric that is listed twice is stored as it is found: the first one counts. */
static int insert_results(sqlite3 *db, const struct run_record *r) {
    struct inserter in = inserter_open(db, TABLE_RESULTS, "INSERT OR IGNORE", "");
    for (size_t i = 0; i < r->results.count; i++) {
        inserter_number(&in, "run_id", r->run_id);
        inserter_number(&in, "n", (int64_t)i);
        inserter_row(&in, &r->results.items[i]);
    }
    int rc = inserter_close(&in);
    if (rc != SQLITE_OK) return rc;
    in = inserter_open(db, TABLE_CRITERIA, "INSERT OR REPLACE", "");
    for (size_t i = 0; i < r->criterion_count; i++) {
        inserter_number(&in, "run_id", r->run_id);
        inserter_number(&in, "n", (int64_t)i);
        struct run_criterion c = r->criteria[i];
        c.passed = run_criterion_passed(r, &c);
        inserter_row(&in, &c);
    }
    return inserter_close(&in);
}

static int insert_evidence(sqlite3 *db, int64_t run_id, const struct verdict *v) {
    struct inserter in = inserter_open(db, TABLE_VERDICT_EVIDENCE, "INSERT OR REPLACE", "");
    for (size_t i = 0; i < v->evidences; i++) {
        inserter_number(&in, "run_id", run_id);
        inserter_number(&in, "n", (int64_t)i);
        inserter_row(&in, &v->evidence[i]);
    }
    return inserter_close(&in);
}

static int insert_warnings(sqlite3 *db, int64_t run_id, const struct verdict *v) {
    struct inserter in = inserter_open(db, TABLE_VERDICT_WARNINGS, "INSERT OR REPLACE", "");
    for (size_t i = 0; i < v->warnings; i++) {
        inserter_number(&in, "run_id", run_id);
        inserter_number(&in, "n", (int64_t)i);
        inserter_text(&in, "message", v->warning[i]);
        inserter_row(&in, NULL);
    }
    return inserter_close(&in);
}

static int insert_verdict(sqlite3 *db, const struct run_record *r) {
    const struct verdict *v = &r->verdict;
    int rc = insert_warnings(db, r->run_id, v); /* also where nobody has judged */
    if (!v->known || rc != SQLITE_OK) return rc;
    struct inserter in = inserter_open(db, TABLE_VERDICTS, "INSERT OR REPLACE", "");
    inserter_number(&in, "run_id", r->run_id);
    inserter_text(&in, "limited_by", verdict_limit_name(v->limited_by));
    inserter_text(&in, "cause", verdict_cause_name(v->cause));
    inserter_text(&in, "no_estimate", verdict_no_estimate(v));
    inserter_row(&in, v);
    rc = inserter_close(&in);
    if (rc == SQLITE_OK) rc = insert_evidence(db, r->run_id, v);
    if (rc != SQLITE_OK) return rc;
    in = inserter_open(db, TABLE_REMEDIES, "INSERT OR REPLACE", "");
    for (size_t i = 0; i < v->remedies; i++) {
        inserter_number(&in, "run_id", r->run_id);
        inserter_number(&in, "n", (int64_t)i);
        inserter_row(&in, &v->remedy[i]);
    }
    return inserter_close(&in);
}

static int insert_pods(sqlite3 *db, const struct run_record *r) {
    struct inserter in = inserter_open(db, TABLE_RUN_PODS, "INSERT OR REPLACE", "");
    for (size_t i = 0; i < r->pod_count; i++) {
        inserter_number(&in, "run_id", r->run_id);
        inserter_row(&in, &r->pods[i]);
    }
    return inserter_close(&in);
}

void store_row_rank(sqlite3_stmt *stmt, void *run) {
    struct run_rank rank = {0};
    snapshot_host_blank(&rank.at);
    row_load(stmt, schema_table(TABLE_RANKS), &rank);
    run_record_rank(run, &rank);
}

void store_row_rank_tier(sqlite3_stmt *stmt, void *run) {
    struct run_record *r = run;
    uint64_t number = (uint64_t)sqlite3_column_int64(stmt, 0);
    int t = row_tier(stmt, 1);
    for (size_t i = 0; t < KVF_TIERS && i < r->rank_count; i++)
        if (r->ranks[i].at.rank.rank == number)
            row_load(stmt, schema_table(TABLE_RANK_TIERS), &r->ranks[i].at.tier[t]);
}

static int insert_ranks(sqlite3 *db, const struct run_record *r) {
    struct inserter in = inserter_open(db, TABLE_RANKS, "INSERT OR REPLACE", "");
    for (size_t i = 0; i < r->rank_count; i++) {
        inserter_number(&in, "run_id", r->run_id);
        inserter_row(&in, &r->ranks[i]);
    }
    int rc = inserter_close(&in);
    if (rc != SQLITE_OK) return rc;
    in = inserter_open(db, TABLE_RANK_TIERS, "INSERT OR REPLACE", "");
    for (size_t i = 0; i < r->rank_count; i++)
        for (int t = 0; t < KVF_TIERS; t++) {
            if (!kvf_present(r->ranks[i].at.tier[t].capacity_bytes)) continue;
            inserter_number(&in, "run_id", r->run_id);
            inserter_number(&in, "rank", (int64_t)r->ranks[i].at.rank.rank);
            inserter_text(&in, "tier", tier_name((enum kvf_tier)t));
            inserter_row(&in, &r->ranks[i].at.tier[t]);
        }
    return inserter_close(&in);
}

static int insert_histograms(sqlite3 *db, const struct run_record *r) {
    struct inserter in = inserter_open(db, TABLE_HISTOGRAMS, "INSERT OR REPLACE", "");
    for (size_t i = 0; i < r->histogram_count; i++) {
        const struct run_histogram *h = &r->histograms[i];
        inserter_number(&in, "run_id", r->run_id);
        inserter_text(&in, "scope", h->scope);
        inserter_blob(&in, "data", h->data, h->len);
        inserter_row(&in, NULL);
    }
    return inserter_close(&in);
}

int store_end_run(struct store *s, const struct run_record *r, struct err *e) {
    sqlite3_stmt *stmt = NULL;
    int rc = db_prepare(s->db, &stmt,
                        "UPDATE runs SET status = ?2, status_reason = nullif(?3, ''), ended_at = ?4 "
                        "WHERE run_id = ?1");
    if (rc == SQLITE_OK) {
        sqlite3_bind_int64(stmt, 1, r->run_id);
        sqlite3_bind_text(stmt, 2, run_status_name(r->status), -1, SQLITE_STATIC);
        sqlite3_bind_text(stmt, 3, r->status_reason, -1, SQLITE_STATIC);
        sqlite3_bind_double(stmt, 4, r->ended_at); /* NaN becomes NULL */
        (void)sqlite3_step(stmt);
        rc = sqlite3_finalize(stmt);
    }
    return rc == SQLITE_OK ? 0 : db_error(e, s->db, rc, s->path, "write");
}

int store_finish_run(struct store *s, const struct run_record *r, size_t first_event, struct err *e) {
    int changed = 0;
    reserve_give_back(s);
    int rc = db_exec(s->db, "BEGIN IMMEDIATE");
    if (rc == SQLITE_OK) rc = update_run(s->db, r, &changed);
    if (rc == SQLITE_OK && !changed) {
        db_rollback(s->db);
        return err_set(e, KVF_ERR_IO,
                       "run %" PRId64 " is no longer in the history database '%s': it was deleted", r->run_id,
                       s->path);
    }
    if (rc == SQLITE_OK) rc = take_request_log(s->db, r);
    if (rc == SQLITE_OK) rc = insert_tiers(s->db, r);
    if (rc == SQLITE_OK) rc = insert_classes(s->db, r);
    if (rc == SQLITE_OK) rc = insert_events(s->db, r, first_event);
    if (rc == SQLITE_OK) rc = insert_results(s->db, r);
    if (rc == SQLITE_OK) rc = insert_verdict(s->db, r);
    if (rc == SQLITE_OK) rc = insert_pods(s->db, r);
    if (rc == SQLITE_OK) rc = insert_ranks(s->db, r);
    if (rc == SQLITE_OK) rc = insert_histograms(s->db, r);
    if (rc == SQLITE_OK) rc = db_exec(s->db, "COMMIT");
    if (rc == SQLITE_OK) return 0;
    int code = db_error(e, s->db, rc, s->path, "write");
    db_rollback(s->db);
    return code;
}
