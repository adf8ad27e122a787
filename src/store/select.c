#include "store/store.h"

#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "store/db.h"
#include "store/handle.h"

/* Only what reads. An ATTACH would make a file, a PRAGMA with a value changes the connection. */
static int authorize(void *ctx, int action, const char *first, const char *second, const char *db,
                     const char *trigger) {
    static const char *const pragmas[] = {"table_info",  "table_xinfo",     "table_list",   "index_list",
                                          "index_info",  "index_xinfo",     "user_version", "application_id",
                                          "page_count",  "page_size",       "journal_mode", "integrity_check",
                                          "quick_check", "foreign_key_list"};
    (void)ctx;
    (void)db;
    (void)trigger;
    if (action == SQLITE_SELECT || action == SQLITE_READ || action == SQLITE_RECURSIVE) return SQLITE_OK;
    if (action == SQLITE_FUNCTION) return SQLITE_OK; /* extensions cannot be loaded: that is off by itself */
    bool asks = strstr(first ? first : "", "_info") || strstr(first ? first : "", "_list") || !second;
    for (size_t i = 0; action == SQLITE_PRAGMA && asks && i < sizeof pragmas / sizeof *pragmas; i++)
        if (first && sqlite3_stricmp(first, pragmas[i]) == 0) return SQLITE_OK;
    return SQLITE_DENY;
}

/* A file that no newer program has opened for writing yet lacks what is new. */
static const char *remedy(struct store *s) {
    int64_t version = STORE_SCHEMA_VERSION;
    sqlite3_set_authorizer(s->db, NULL, NULL);
    (void)db_int(s->db, "PRAGMA user_version", &version);
    return version < STORE_SCHEMA_VERSION
               ? "the file is of an older version, `kvfall vacuum` brings it up to date"
               : "`kvfall schema` lists the tables";
}

static int refuse(struct store *s, int rc, struct err *e) {
    if ((rc & 0xff) == SQLITE_AUTH || (rc & 0xff) == SQLITE_READONLY)
        return err_set(e, KVF_ERR_USAGE,
                       "sql only reads: a SELECT, WITH, VALUES or EXPLAIN; runs are changed by tag, note, "
                       "delete and prune");
    if ((rc & 0xff) == SQLITE_ERROR || (rc & 0xff) == SQLITE_RANGE || (rc & 0xff) == SQLITE_TOOBIG) {
        char *why = mem_strdup(sqlite3_errmsg(s->db));
        int code = err_set(e, KVF_ERR_USAGE, "the statement cannot be carried out: %s; %s", why, remedy(s));
        free(why);
        return code;
    }
    return db_error(e, s->db, rc, s->path, "read");
}

/* Whether something follows but spaces, semicolons and comments. */
static bool more_follows(sqlite3 *db, const char *tail) {
    while (tail && *tail) {
        sqlite3_stmt *next = NULL;
        int rc = sqlite3_prepare_v2(db, tail, -1, &next, &tail);
        sqlite3_finalize(next);
        if (rc != SQLITE_OK || next) return true;
    }
    return false;
}

static void give_value(sqlite3_stmt *stmt, int column, const struct store_reader *r) {
    char number[UNITS_REAL];
    struct buf hex = {0};
    switch (sqlite3_column_type(stmt, column)) {
    case SQLITE_NULL:
        r->value(r->ctx, STORE_NULL, "");
        break;
    case SQLITE_FLOAT:
        units_format_real(sqlite3_column_double(stmt, column), number);
        r->value(r->ctx, STORE_NUMBER, number);
        break;
    case SQLITE_BLOB: {
        const uint8_t *data = sqlite3_column_blob(stmt, column);
        for (int i = 0; i < sqlite3_column_bytes(stmt, column); i++) buf_addf(&hex, "%02x", data[i]);
        r->value(r->ctx, STORE_TEXT, buf_text(&hex));
        buf_free(&hex);
        break;
    }
    default: {
        bool whole = sqlite3_column_type(stmt, column) == SQLITE_INTEGER;
        const unsigned char *text = sqlite3_column_text(stmt, column);
        r->value(r->ctx, whole ? STORE_NUMBER : STORE_TEXT, text ? (const char *)text : "");
    }
    }
}

static int step_rows(struct store *s, sqlite3_stmt *stmt, const struct store_reader *r, struct err *e) {
    int columns = sqlite3_column_count(stmt), rc;
    for (int i = 0; i < columns; i++) r->column(r->ctx, sqlite3_column_name(stmt, i));
    while ((rc = sqlite3_step(stmt)) == SQLITE_ROW)
        for (int i = 0; i < columns; i++) give_value(stmt, i, r);
    return rc == SQLITE_DONE ? 0 : refuse(s, rc, e);
}

/* :run is the latest run; other values are written into the statement. */
static int bind_run(struct store *s, sqlite3_stmt *stmt, struct err *e) {
    for (int i = 1; i <= sqlite3_bind_parameter_count(stmt); i++) {
        const char *name = sqlite3_bind_parameter_name(stmt, i);
        int64_t run_id;
        if (!name || strcmp(name, ":run") != 0)
            return err_set(
                e, KVF_ERR_USAGE,
                "write the value itself in place of the parameter %s; only :run has one, the latest run",
                name ? name : "?");
        int rc = store_resolve(s, "latest", &run_id, e);
        if (rc) return rc;
        sqlite3_bind_int64(stmt, i, run_id);
    }
    return 0;
}

int store_select(struct store *s, const char *sql, const struct store_reader *r, struct err *e) {
    sqlite3_stmt *stmt = NULL;
    const char *tail = NULL;
    int code;
    store_functions_ready(s->db);
    sqlite3_set_authorizer(s->db, authorize, NULL);
    int rc = sqlite3_prepare_v2(s->db, sql, -1, &stmt, &tail);
    if (rc != SQLITE_OK)
        code = refuse(s, rc, e);
    else if (!stmt)
        code = err_set(e, KVF_ERR_USAGE, "there is no statement in \"%s\"", sql);
    else if (more_follows(s->db, tail))
        code = err_set(e, KVF_ERR_USAGE, "sql takes one statement at a time; leave out all after the first");
    else if ((code = bind_run(s, stmt, e)) == 0)
        code = step_rows(s, stmt, r, e);
    sqlite3_finalize(stmt);
    sqlite3_set_authorizer(s->db, NULL, NULL);
    return code;
}
