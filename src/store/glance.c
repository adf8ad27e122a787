#include <stdio.h>

#include "record/snapshot.h"
#include "store/db.h"
#include "store/handle.h"

static int glance_text(struct store *s, int64_t run_id, struct store_glance *out) {
    sqlite3_stmt *stmt = NULL;
    int rc = db_prepare(s->db, &stmt, query_texts[Q_GLANCE]);
    if (rc == SQLITE_OK) sqlite3_bind_int64(stmt, 1, run_id);
    if (rc == SQLITE_OK && sqlite3_step(stmt) == SQLITE_ROW && sqlite3_column_text(stmt, 0))
        snprintf(out->verdict, sizeof out->verdict, "%s", (const char *)sqlite3_column_text(stmt, 0));
    int end = sqlite3_finalize(stmt);
    return rc == SQLITE_OK ? end : rc;
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
