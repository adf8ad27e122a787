#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "metrics/histogram.h"
#include "store/handle.h"

/* ---- histogram_buckets(run_id, scope) ---- */

enum { LOW_MS, HIGH_MS, COUNT, RATIO, RUN_ID, SCOPE };
enum { DATA = 2 }; /* of the statement: run_id, scope, data */

struct buckets {
    sqlite3_vtab base;
    sqlite3 *db;
};

struct cursor {
    sqlite3_vtab_cursor base;
    sqlite3_stmt *stmt; /* the histograms that are asked for */
    struct histogram *histogram;
    uint32_t bucket, ahead; /* this one, and where the next may be */
    uint64_t below;         /* values up to the end of the bucket */
    int64_t row;
    bool eof;
};

static int connect_to(sqlite3 *db, void *ctx, int argc, const char *const *argv, sqlite3_vtab **out,
                      char **why) {
    (void)ctx;
    (void)argc;
    (void)argv;
    (void)why;
    int rc = sqlite3_declare_vtab(db, "CREATE TABLE x(low_ms REAL, high_ms REAL, count INTEGER, "
                                      "below_ratio REAL, run_id INTEGER HIDDEN, scope TEXT HIDDEN)");
    if (rc != SQLITE_OK) return rc;
    struct buckets *b = mem_zalloc(1, sizeof *b);
    b->db = db;
    *out = &b->base;
    return SQLITE_OK;
}

static int disconnect(sqlite3_vtab *t) {
    free(t);
    return SQLITE_OK;
}

/* The run has to be said, the scope may be: bit 1 of the plan. */
static int best_index(sqlite3_vtab *t, sqlite3_index_info *info) {
    int at[] = {-1, -1}, argument = 0;
    (void)t;
    for (int i = 0; i < info->nConstraint; i++) {
        int column = info->aConstraint[i].iColumn;
        if ((column != RUN_ID && column != SCOPE) || info->aConstraint[i].op != SQLITE_INDEX_CONSTRAINT_EQ)
            continue;
        if (!info->aConstraint[i].usable && column == RUN_ID) return SQLITE_CONSTRAINT;
        if (info->aConstraint[i].usable) at[column - RUN_ID] = i;
    }
    for (int k = 0; k < 2; k++) {
        if (at[k] < 0) continue;
        info->aConstraintUsage[at[k]].argvIndex = ++argument;
        info->aConstraintUsage[at[k]].omit = 1;
        info->idxNum |= 1 << k;
    }
    info->estimatedCost = at[0] < 0 ? 1e9 : 1000;
    return SQLITE_OK;
}

static int open_cursor(sqlite3_vtab *t, sqlite3_vtab_cursor **out) {
    struct cursor *c = mem_zalloc(1, sizeof *c);
    (void)t;
    c->histogram = mem_zalloc(1, sizeof *c->histogram);
    *out = &c->base;
    return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *base) {
    struct cursor *c = (struct cursor *)base;
    sqlite3_finalize(c->stmt);
    free(c->histogram);
    free(c);
    return SQLITE_OK;
}

/* The next bucket that is not empty, of this histogram or a later one. */
static int next(sqlite3_vtab_cursor *base) {
    struct cursor *c = (struct cursor *)base;
    int rc;
    c->row++;
    for (;;) {
        while (c->ahead < HISTOGRAM_BUCKETS) {
            c->bucket = c->ahead++;
            c->below += c->histogram->bucket[c->bucket];
            if (c->histogram->bucket[c->bucket]) return SQLITE_OK;
        }
        if ((rc = sqlite3_step(c->stmt)) != SQLITE_ROW) break;
        const uint8_t *data = sqlite3_column_blob(c->stmt, DATA);
        size_t len = (size_t)sqlite3_column_bytes(c->stmt, DATA);
        histogram_init(c->histogram);
        if (histogram_decode(c->histogram, data, len) != 0) return SQLITE_CORRUPT;
        c->ahead = 0;
        c->below = 0;
    }
    c->eof = true;
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int filter(sqlite3_vtab_cursor *base, int plan, const char *name, int argc, sqlite3_value **argv) {
    static const char *const conditions[] = {"", " WHERE run_id = ?1", " WHERE scope = ?1",
                                             " WHERE run_id = ?1 AND scope = ?2"};
    struct cursor *c = (struct cursor *)base;
    struct buf sql = {0};
    (void)name;
    sqlite3_finalize(c->stmt);
    c->stmt = NULL;
    buf_addf(&sql, "SELECT run_id, scope, data FROM histograms%s ORDER BY run_id, scope",
             conditions[plan & 3]);
    int rc = sqlite3_prepare_v2(((struct buckets *)base->pVtab)->db, buf_text(&sql), -1, &c->stmt, NULL);
    buf_free(&sql);
    for (int i = 0; i < argc && rc == SQLITE_OK; i++) rc = sqlite3_bind_value(c->stmt, i + 1, argv[i]);
    c->row = 0;
    c->ahead = HISTOGRAM_BUCKETS;
    c->eof = false;
    return rc == SQLITE_OK ? next(base) : rc;
}

static int at_end(sqlite3_vtab_cursor *base) {
    return ((struct cursor *)base)->eof;
}

static int column(sqlite3_vtab_cursor *base, sqlite3_context *out, int n) {
    struct cursor *c = (struct cursor *)base;
    if (n == LOW_MS)
        sqlite3_result_double(out, (double)histogram_bucket_low(c->bucket) / 1e6);
    else if (n == HIGH_MS)
        sqlite3_result_double(out, (double)histogram_bucket_high(c->bucket) / 1e6);
    else if (n == COUNT)
        sqlite3_result_int64(out, (sqlite3_int64)c->histogram->bucket[c->bucket]);
    else if (n == RATIO)
        sqlite3_result_double(out, (double)c->below / (double)histogram_count(c->histogram));
    else
        sqlite3_result_value(out, sqlite3_column_value(c->stmt, n - RUN_ID));
    return SQLITE_OK;
}

static int rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *out) {
    *out = ((struct cursor *)base)->row;
    return SQLITE_OK;
}

/* Without a function to create it, it is there by its name alone. */
static const sqlite3_module buckets_module = {.xConnect = connect_to,
                                              .xBestIndex = best_index,
                                              .xDisconnect = disconnect,
                                              .xOpen = open_cursor,
                                              .xClose = close_cursor,
                                              .xFilter = filter,
                                              .xNext = next,
                                              .xEof = at_end,
                                              .xColumn = column,
                                              .xRowid = rowid};

int store_functions(sqlite3 *db) {
    return sqlite3_create_module(db, "histogram_buckets", &buckets_module, NULL);
}

void store_functions_ready(sqlite3 *db) {
    sqlite3_stmt *stmt = NULL;
    (void)sqlite3_prepare_v2(db, "SELECT 1 FROM histogram_buckets(0)", -1, &stmt, NULL);
    sqlite3_finalize(stmt);
}
