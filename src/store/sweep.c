#include <unistd.h>

#include "probe/host.h"
#include "store/db.h"
#include "store/handle.h"
#include "store/inserter.h"
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

/* What can have changed since the beginning. */
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

int store_finish_sweep(struct store *s, const struct sweep_record *r, const struct sweep_curve *curve,
                       size_t points, struct err *e) {
    int changed = 0;
    int rc = db_exec(s->db, "BEGIN IMMEDIATE");
    if (rc == SQLITE_OK) rc = update_sweep(s->db, r, &changed);
    if (rc == SQLITE_OK && !changed) {
        db_rollback(s->db);
        return err_set(e, KVF_ERR_IO,
                       "sweep %lld is no longer in the history database '%s': somebody deleted it",
                       (long long)r->sweep_id, s->path);
    }
    if (rc == SQLITE_OK) rc = insert_curves(s->db, r->sweep_id, curve, points);
    if (rc == SQLITE_OK) rc = db_exec(s->db, "COMMIT");
    if (rc == SQLITE_OK) return 0;
    int code = db_error(e, s->db, rc, s->path, "write");
    db_rollback(s->db);
    return code;
}
