#include "store/inserter.h"

#include <math.h>

#include "base/buf.h"
#include "store/db.h"
#include "store/row.h"

struct inserter inserter_open(sqlite3 *db, enum table_id id, const char *verb, const char *suffix) {
    struct inserter in = {.table = schema_table(id)};
    struct buf sql = {0};
    schema_insert_sql(in.table, verb, &sql);
    buf_add(&sql, suffix);
    in.rc = db_prepare(db, &in.stmt, buf_text(&sql));
    buf_free(&sql);
    return in;
}

int inserter_close(struct inserter *in) {
    sqlite3_finalize(in->stmt);
    in->stmt = NULL;
    return in->rc;
}

void inserter_reset(struct inserter *in) {
    if (in->stmt) in->rc = SQLITE_OK;
}

void inserter_text(struct inserter *in, const char *column, const char *text) {
    if (in->rc == SQLITE_OK)
        in->rc = sqlite3_bind_text(in->stmt, schema_parameter(in->table, column), text, -1, SQLITE_STATIC);
}

void inserter_number(struct inserter *in, const char *column, int64_t v) {
    if (in->rc == SQLITE_OK) in->rc = sqlite3_bind_int64(in->stmt, schema_parameter(in->table, column), v);
}

void inserter_real(struct inserter *in, const char *column, double v) {
    int p = schema_parameter(in->table, column);
    if (in->rc == SQLITE_OK)
        in->rc = isnan(v) ? sqlite3_bind_null(in->stmt, p) : sqlite3_bind_double(in->stmt, p, v);
}

void inserter_blob(struct inserter *in, const char *column, const void *data, size_t len) {
    int p = schema_parameter(in->table, column);
    if (in->rc == SQLITE_OK) in->rc = sqlite3_bind_blob64(in->stmt, p, data ? data : "", len, SQLITE_STATIC);
}

void inserter_row(struct inserter *in, const void *object) {
    if (in->rc != SQLITE_OK) return;
    if (object) row_bind(in->stmt, in->table, object);
    sqlite3_step(in->stmt);
    in->rc = sqlite3_reset(in->stmt);
}
