#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probe/host.h"
#include "store/db.h"
#include "store/handle.h"
#include "store/inserter.h"
#include "store/row.h"
#include "store/store.h"

int store_begin_sweep(struct store *s, struct sweep_record *r, struct err *e) {
    int code = db_uuid(r->uuid, e);
    if (code != 0) return code;
    if (!r->pid) r->pid = getpid();
    r->status = RUN_RUNNING;
    uint64_t start = host_process_start(r->pid), namespace = host_pid_namespace();
    struct inserter in = inserter_open(s->db, TABLE_SWEEPS, "INSERT", "");
    if (start) inserter_number(&in, "pid_start", (int64_t)start);
    if (namespace) inserter_number(&in, "pid_namespace", (int64_t) namespace);
    inserter_row(&in, r);
    int rc = inserter_close(&in);
    if (rc == SQLITE_OK) {
        r->sweep_id = sqlite3_last_insert_rowid(s->db);
        return 0;
    }
    r->uuid[0] = '\0';
    return db_error(e, s->db, rc, s->path, "write");
}

static int insert_curves(sqlite3 *db, int64_t sweep_id, const struct sweep_curve *curve, size_t points) {
    struct inserter in = inserter_open(db, TABLE_SWEEP_CURVES, "INSERT OR REPLACE", "");
    for (size_t i = 0; i < points; i++) {
        inserter_number(&in, "sweep_id", sweep_id);
        inserter_row(&in, &curve[i]);
    }
    return inserter_close(&in);
}

/* Columns that can have changed since the beginning. */
static int update_sweep(sqlite3 *db, const struct sweep_record *r, int *changed) {
    sqlite3_stmt *stmt = NULL;
    int rc = db_prepare(db, &stmt,
                        "UPDATE sweeps SET status = ?2, status_reason = nullif(?3, ''), ended_at = ?4, "
                        "points = ?5, done = ?6, failed = ?7, answer = nullif(?8, '') WHERE sweep_id = ?1");
    if (rc != SQLITE_OK) return rc;
    sqlite3_bind_int64(stmt, 1, r->sweep_id);
    sqlite3_bind_text(stmt, 2, run_status_name(r->status), -1, SQLITE_STATIC);
    sqlite3_bind_text(stmt, 3, r->status_reason, -1, SQLITE_STATIC);
    sqlite3_bind_double(stmt, 4, r->ended_at); /* NaN becomes NULL */
    sqlite3_bind_int64(stmt, 5, (int64_t)r->points);
    sqlite3_bind_int64(stmt, 6, (int64_t)r->done);
    sqlite3_bind_int64(stmt, 7, (int64_t)r->failed);
    sqlite3_bind_text(stmt, 8, r->answer, -1, SQLITE_STATIC);
    (void)sqlite3_step(stmt);
    rc = sqlite3_finalize(stmt);
    *changed = sqlite3_changes(db);
    return rc;
}

int store_end_sweep(struct store *s, const struct sweep_record *r, struct err *e) {
    int changed, rc = update_sweep(s->db, r, &changed);
    return rc == SQLITE_OK ? 0 : db_error(e, s->db, rc, s->path, "write");
}

int store_finish_sweep(struct store *s, const struct sweep_record *r, const struct sweep_curve *curve,
                       size_t points, struct err *e) {
    int changed = 0;
    int rc = db_exec(s->db, "BEGIN IMMEDIATE");
    if (rc == SQLITE_OK) rc = update_sweep(s->db, r, &changed);
    if (rc == SQLITE_OK && !changed) {
        db_rollback(s->db);
        return err_set(e, KVF_ERR_IO,
                       "sweep %" PRId64 " is no longer in the history database '%s': it was deleted",
                       r->sweep_id, s->path);
    }
    if (rc == SQLITE_OK) rc = insert_curves(s->db, r->sweep_id, curve, points);
    if (rc == SQLITE_OK) rc = db_exec(s->db, "COMMIT");
    if (rc == SQLITE_OK) return 0;
    int code = db_error(e, s->db, rc, s->path, "write");
    db_rollback(s->db);
    return code;
}

/* ---- reading ---- */

static void load_sweep(sqlite3_stmt *stmt, void *ctx) {
    struct sweep_record *r = ctx;
    row_load(stmt, schema_table(TABLE_SWEEPS), r);
    r->sweep_id = sqlite3_column_int64(stmt, 0);
    if (!sqlite3_column_int(stmt, sqlite3_column_count(stmt) - 1)) return;
    r->status = RUN_CRASHED;
    snprintf(r->status_reason, sizeof r->status_reason, "%s", STORE_GONE_REASON);
}

static const char *text_or_none(sqlite3_stmt *stmt, int column) {
    const unsigned char *text = sqlite3_column_text(stmt, column);
    return text ? (const char *)text : "";
}

static void load_point(sqlite3_stmt *stmt, void *ctx) {
    const struct store_sweep_reader *read = ctx;
    enum run_status status = run_status_parse(text_or_none(stmt, 2));
    struct store_point p = {.point = (uint32_t)sqlite3_column_int64(stmt, 0),
                            .run_id = sqlite3_column_int64(stmt, 1),
                            .status = status == RUN_STATUSES ? RUN_FAILED : status,
                            .reason = text_or_none(stmt, 3),
                            .values = text_or_none(stmt, 4)};
    read->point(read->ctx, &p);
}

static void load_result(sqlite3_stmt *stmt, void *ctx) {
    const struct store_sweep_reader *read = ctx;
    read->result(read->ctx, (uint32_t)sqlite3_column_int64(stmt, 0), text_or_none(stmt, 1), row_real(stmt, 2),
                 text_or_none(stmt, 3));
}

static void load_curve(sqlite3_stmt *stmt, void *ctx) {
    const struct store_sweep_reader *read = ctx;
    struct sweep_curve c = {0};
    row_load(stmt, schema_table(TABLE_SWEEP_CURVES), &c);
    read->curve(read->ctx, &c);
}

int store_load_sweep(struct store *s, int64_t sweep_id, struct sweep_record *r,
                     const struct store_sweep_reader *read, struct err *e) {
    int rc = db_exec(s->db, "BEGIN");
    if (rc == SQLITE_OK) rc = store_each_row(s, Q_SWEEP_ROW, sweep_id, load_sweep, r);
    if (rc == SQLITE_OK) read->begin(read->ctx);
    if (rc == SQLITE_OK) rc = store_each_row(s, Q_SWEEP_POINTS, sweep_id, load_point, (void *)read);
    if (rc == SQLITE_OK) rc = store_each_row(s, Q_SWEEP_RESULTS, sweep_id, load_result, (void *)read);
    if (rc == SQLITE_OK) rc = store_each_row(s, Q_SWEEP_CURVES, sweep_id, load_curve, (void *)read);
    int code = rc == SQLITE_OK ? 0 : db_error(e, s->db, rc, s->path, "read");
    db_rollback(s->db);
    if (code == 0 && r->sweep_id != sweep_id)
        return err_set(e, KVF_ERR_USAGE, "there is no sweep %" PRId64 " in '%s'", sweep_id, s->path);
    return code;
}

struct sweep_list {
    void (*sweep)(void *ctx, const struct sweep_record *r);
    void *ctx;
};

static void list_sweep(sqlite3_stmt *stmt, void *ctx) {
    const struct sweep_list *l = ctx;
    struct sweep_record r = {0};
    load_sweep(stmt, &r);
    l->sweep(l->ctx, &r);
    free(r.scenario_yaml);
    free(r.effective_json);
}

int store_list_sweeps(struct store *s, int64_t limit, void (*sweep)(void *ctx, const struct sweep_record *r),
                      void *ctx, struct err *e) {
    struct sweep_list l = {sweep, ctx};
    int rc = store_each_row(s, Q_SWEEPS, limit > 0 ? limit : -1, list_sweep, &l);
    return rc == SQLITE_OK ? 0 : db_error(e, s->db, rc, s->path, "read");
}

/* ---- a baseline ---- */

static void one_id(sqlite3_stmt *stmt, void *ctx) {
    *(int64_t *)ctx = sqlite3_column_int64(stmt, 0);
}

static void figures(sqlite3_stmt *stmt, void *ctx) {
    struct sweep_baseline *b = ctx;
    b->runs = (uint64_t)sqlite3_column_int64(stmt, 0);
    b->tok_s = row_real(stmt, 1);
    b->ttft_ms = row_real(stmt, 2);
    b->tpot_ms = row_real(stmt, 3);
    b->reuse_hits = row_real(stmt, 4);
}

static int figures_of(struct store *s, int64_t run_id, struct sweep_baseline *out) {
    int rc = store_each_row(s, Q_FIGURES_RUN, run_id, figures, out);
    return rc == SQLITE_OK ? store_why(s, run_id, out->undone) : rc;
}

/* The runs of a sweep, best first. */
struct peaks {
    struct store *store;
    struct sweep_baseline *out;
    int rc;
};

/* The first that is comparable. */
static void peak(sqlite3_stmt *stmt, void *ctx) {
    struct peaks *p = ctx;
    int64_t run_id = sqlite3_column_int64(stmt, 0);
    char undone[STANDING_TEXT];
    if (p->rc != SQLITE_OK || kvf_present(p->out->tok_s)) return;
    p->rc = store_why(p->store, run_id, undone);
    if (p->rc == SQLITE_OK && !undone[0]) p->rc = figures_of(p->store, run_id, p->out);
}

static int peak_of(struct store *s, struct sweep_baseline *out) {
    struct peaks p = {s, out, SQLITE_OK};
    int64_t runs = 0;
    int rc = store_each_row(s, Q_PEAKS_SWEEP, out->sweep_id, peak, &p);
    if (rc == SQLITE_OK) rc = p.rc;
    if (rc == SQLITE_OK) rc = store_each_row(s, Q_SWEEP_RUNS, out->sweep_id, one_id, &runs);
    out->runs = (uint64_t)runs;
    if (!kvf_present(out->tok_s)) snprintf(out->undone, sizeof out->undone, "none of its runs is");
    return rc;
}

int store_baseline(struct store *s, int64_t run_id, struct sweep_baseline *out, struct err *e) {
    *out = (struct sweep_baseline){
        .tok_s = KVF_MISSING, .ttft_ms = KVF_MISSING, .tpot_ms = KVF_MISSING, .reuse_hits = KVF_MISSING};
    int rc = store_each_row(s, Q_SWEEP_OF, run_id, one_id, &out->sweep_id);
    if (rc == SQLITE_OK) rc = out->sweep_id ? peak_of(s, out) : figures_of(s, run_id, out);
    return rc == SQLITE_OK ? 0 : db_error(e, s->db, rc, s->path, "read");
}
