#include <stdio.h>
#include <stdlib.h>

#include "record/metric.h"
#include "record/snapshot.h"
#include "record/standing.h"
#include "store/db.h"
#include "store/handle.h"
#include "store/row.h"

static int glance_text(struct store *s, int64_t run_id, struct store_glance *out) {
    sqlite3_stmt *stmt = NULL;
    int rc = db_prepare(s->db, &stmt, query_texts[Q_GLANCE]);
    if (rc == SQLITE_OK) sqlite3_bind_int64(stmt, 1, run_id);
    if (rc == SQLITE_OK && sqlite3_step(stmt) == SQLITE_ROW && sqlite3_column_text(stmt, 0))
        snprintf(out->verdict, sizeof out->verdict, "%s", (const char *)sqlite3_column_text(stmt, 0));
    int end = sqlite3_finalize(stmt);
    return rc == SQLITE_OK ? end : rc;
}

static void add_figure(sqlite3_stmt *stmt, void *ctx) {
    char metric[METRIC_NAME];
    row_text(stmt, 0, metric, sizeof metric);
    result_add(ctx, row_real(stmt, 1), 0, "%s", metric);
}

int store_why(struct store *s, int64_t run_id, char *out) {
    struct result_list all = {0};
    int rc = store_each_row(s, Q_GLANCE_RESULTS, run_id, add_figure, &all);
    standing_run_why(&all, out);
    free(all.items);
    return rc;
}

int store_glance(struct store *s, int64_t run_id, struct store_glance *out, struct err *e) {
    sqlite3_stmt *stmt = NULL;
    *out = (struct store_glance){.points = 0};
    int rc = glance_text(s, run_id, out);
    if (rc == SQLITE_OK) rc = db_prepare(s->db, &stmt, query_texts[Q_GLANCE_RATES]);
    if (rc == SQLITE_OK) {
        sqlite3_bind_int64(stmt, 1, run_id);
        sqlite3_bind_int(stmt, 2, STORE_GLANCE_POINTS);
    }
    while (rc == SQLITE_OK && out->points < STORE_GLANCE_POINTS && sqlite3_step(stmt) == SQLITE_ROW) {
        bool known = sqlite3_column_type(stmt, 0) != SQLITE_NULL;
        out->tok_s[out->points++] = known ? (float)sqlite3_column_double(stmt, 0) : (float)KVF_MISSING;
    }
    int end = sqlite3_finalize(stmt);
    if (rc == SQLITE_OK) rc = end;
    return rc == SQLITE_OK ? 0 : db_error(e, s->db, rc, s->path, "read");
}
