#include "store/store.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/moment.h"
#include "store/db.h"
#include "store/handle.h"
#include "store/row.h"
#include "store/schema.h"

/* Numbers there and here; those of there ascend. */
struct ids {
    struct id {
        int64_t there, here;
    } * at;
    size_t count;
};

static void ids_add(struct ids *ids, int64_t there, int64_t here) {
    ids->at = mem_realloc(ids->at, (ids->count + 1) * sizeof *ids->at);
    ids->at[ids->count++] = (struct id){there, here};
}

static int compare_ids(const void *a, const void *b) {
    const struct id *left = a, *right = b;
    return (left->there > right->there) - (left->there < right->there);
}

/* 0: it was not taken over. */
static int64_t ids_find(const struct ids *ids, int64_t there) {
    struct id key = {.there = there};
    const struct id *found = ids->count ? bsearch(&key, ids->at, ids->count, sizeof key, compare_ids) : NULL;
    return found ? found->here : 0;
}

/* Rows of a table on their way. What the other file's table lacks is NULL. */
struct copy {
    const struct table *table;
    sqlite3_stmt *select, *insert; /* NULL: there is no such table there */
};

struct merge {
    struct store *into, *from;
    struct store *culprit; /* whose database an error is of */
    struct err odd;        /* what of the other file cannot be taken over */
    struct copy copies[TABLES];
    struct ids runs, sweeps;
    struct store_merged done;
    int64_t last[2]; /* largest numbers that were here: of runs, of sweeps */
};

static int failed(struct merge *m, struct store *s, int rc) {
    if (rc != SQLITE_OK && !m->culprit) m->culprit = s;
    return rc;
}

/* SQLITE_OK, or an error of the database: a column that cannot be looked for is not a missing one. */
static int has_column(struct store *s, const char *table, const char *column, bool *there) {
    sqlite3_stmt *stmt = NULL;
    int rc = db_prepare(s->db, &stmt, "SELECT 1 FROM pragma_table_info(?1) WHERE name = ?2");
    *there = false;
    if (rc != SQLITE_OK) return rc;
    sqlite3_bind_text(stmt, 1, table, -1, SQLITE_STATIC);
    sqlite3_bind_text(stmt, 2, column, -1, SQLITE_STATIC);
    rc = sqlite3_step(stmt);
    *there = rc == SQLITE_ROW;
    sqlite3_finalize(stmt);
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int open_copy(struct merge *m, enum table_id id) {
    struct copy *c = &m->copies[id];
    struct buf sql = {0};
    bool any = false, whole = id == TABLE_RUNS || id == TABLE_SWEEPS;
    c->table = schema_table(id);
    buf_add(&sql, "SELECT ");
    for (size_t i = 0; i < schema_column_count(c->table); i++) {
        const char *name = schema_column(c->table, i).name;
        bool there;
        int rc = failed(m, m->from, has_column(m->from, c->table->name, name, &there));
        if (rc != SQLITE_OK) {
            buf_free(&sql);
            return rc;
        }
        buf_addf(&sql, "%s%s", i ? ", " : "", there ? name : "NULL");
        any |= there;
    }
    const char *key = schema_column(c->table, 0).name; /* run_id or sweep_id */
    if (whole)
        buf_addf(&sql, ", " STORE_RUN_GONE " FROM %s ORDER BY %s", c->table->name, key);
    else
        buf_addf(&sql, " FROM %s WHERE %s = ?1", c->table->name, key);
    int rc = any ? failed(m, m->from, db_prepare(m->from->db, &c->select, buf_text(&sql))) : SQLITE_OK;
    buf_free(&sql);
    schema_insert_sql(c->table, "INSERT", &sql);
    if (rc == SQLITE_OK && any) rc = failed(m, m->into, db_prepare(m->into->db, &c->insert, buf_text(&sql)));
    buf_free(&sql);
    return rc;
}

static int64_t number_there(const struct copy *c, const char *column) {
    return sqlite3_column_int64(c->select, schema_parameter(c->table, column) - 1);
}

/* The kind that a value of a column is to be of and is not; NULL: it is. SQLite stores any other kind as
 * well, and any number. */
static const char *not_of_kind(const struct column *column, sqlite3_value *value) {
    static const char *const kinds[] = {"TEXT", "BLOB", "INTEGER", "REAL"};
    static const int types[] = {SQLITE_TEXT, SQLITE_BLOB, SQLITE_INTEGER, SQLITE_FLOAT};
    int type = sqlite3_value_type(value), k = 0;
    while (strncmp(column->decl, kinds[k], strlen(kinds[k])) != 0) k++;
    bool fits = type == types[k] || (types[k] == SQLITE_FLOAT && type == SQLITE_INTEGER);
    return type == SQLITE_NULL || fits ? NULL : kinds[k];
}

static bool is_one_of(const char *name, const char *const *names) {
    while (*names && strcmp(name, *names) != 0) names++;
    return *names != NULL;
}

/* The same for a value of the right kind that no run has. */
static const char *not_in_range(const struct column *column, sqlite3_value *value) {
    static const char *const times[] = {"t_s", "length_s", "started_at", "ended_at", NULL};
    static const char *const numbers[] = {"seq", "n", "trial", "sweep_point", NULL};
    const double exact = 9007199254740992; /* also as a number of JSON */
    struct tm tm;
    double v = sqlite3_value_double(value);
    int type = sqlite3_value_type(value);
    if (type == SQLITE_NULL) return NULL;
    if (column->kind == COLUMN_JSON)
        return row_json((const char *)sqlite3_value_text(value)) ? NULL : "JSON object";
    if (type == SQLITE_FLOAT && !isfinite(v)) return "finite number";
    if (is_one_of(column->name, times)) return v == 0 || moment_utc(v, &tm) ? NULL : "time";
    if (is_one_of(column->name, numbers)) return v >= 0 && v < exact ? NULL : "number of a row";
    return NULL;
}

static int bind_row(struct merge *m, const struct copy *c) {
    int count = (int)schema_column_count(c->table);
    for (int i = 0; i < count; i++) {
        const struct column column = schema_column(c->table, (size_t)i);
        sqlite3_value *value = sqlite3_column_value(c->select, i);
        const char *wanted = not_of_kind(&column, value);
        if (!wanted) wanted = not_in_range(&column, value);
        if (wanted) {
            err_set(
                &m->odd, KVF_ERR_USAGE,
                "'%s' cannot be merged: a row of its table %s has something in %s that is no %s; nothing was "
                "taken over",
                m->from->path, c->table->name, column.name, wanted);
            return SQLITE_MISMATCH;
        }
        sqlite3_bind_value(c->insert, i + 1, value);
    }
    return SQLITE_OK;
}

static void bind_id(const struct copy *c, const char *column, int64_t id) {
    int parameter = schema_parameter(c->table, column);
    if (id)
        sqlite3_bind_int64(c->insert, parameter, id);
    else
        sqlite3_bind_null(c->insert, parameter);
}

/* A row that the tables refuse is itself at fault. */
static int insert_row(struct merge *m, const struct copy *c) {
    (void)sqlite3_step(c->insert);
    int rc = sqlite3_reset(c->insert);
    if ((rc & 0xff) == SQLITE_CONSTRAINT)
        err_set(&m->odd, KVF_ERR_USAGE,
                "'%s' cannot be merged: a row of its table %s does not fit (%s); nothing was taken over",
                m->from->path, c->table->name, sqlite3_errmsg(m->into->db));
    return failed(m, m->into, rc);
}

/* The number here of what has the UUID of the row at hand; 0: it is new. */
static int known(struct merge *m, const struct copy *c, int64_t *id) {
    char sql[80];
    sqlite3_stmt *stmt = NULL;
    snprintf(sql, sizeof sql, "SELECT %s FROM %s WHERE uuid = ?1", schema_column(c->table, 0).name,
             c->table->name);
    int rc = db_prepare(m->into->db, &stmt, sql);
    if (rc == SQLITE_OK)
        sqlite3_bind_value(stmt, 1, sqlite3_column_value(c->select, schema_parameter(c->table, "uuid") - 1));
    *id = 0;
    if (rc == SQLITE_OK && sqlite3_step(stmt) == SQLITE_ROW) *id = sqlite3_column_int64(stmt, 0);
    int end = sqlite3_finalize(stmt);
    return failed(m, m->into, rc == SQLITE_OK ? end : rc);
}

/* All rows of a table that belong to a run or a sweep, under its new number. */
static int copy_rows(struct merge *m, enum table_id id, int64_t there, int64_t here) {
    const struct copy *c = &m->copies[id];
    int rc = SQLITE_OK;
    if (!c->select) return rc;
    sqlite3_bind_int64(c->select, 1, there);
    while (rc == SQLITE_OK && sqlite3_step(c->select) == SQLITE_ROW) {
        rc = bind_row(m, c);
        sqlite3_bind_int64(c->insert, 1, here);
        if (rc == SQLITE_OK) rc = insert_row(m, c);
    }
    int end = failed(m, m->from, sqlite3_reset(c->select));
    return rc == SQLITE_OK ? end : rc;
}

/* Takes the row at hand over unless it is here already or still changes there. */
static int take(struct merge *m, enum table_id id, struct ids *ids, bool *is_new) {
    const struct copy *c = &m->copies[id];
    const char *status =
        (const char *)sqlite3_column_text(c->select, schema_parameter(c->table, "status") - 1);
    bool running = status && strcmp(status, "running") == 0;
    bool gone = sqlite3_column_int(c->select, (int)schema_column_count(c->table)) != 0;
    int64_t here;
    *is_new = false;
    int rc = known(m, c, &here);
    if (rc != SQLITE_OK) return rc;
    if (!here && running && !gone) {
        m->done.going_on += id == TABLE_RUNS;
        return SQLITE_OK;
    }
    int64_t there = sqlite3_column_int64(c->select, 0);
    if (!here) {
        *is_new = true;
        if ((rc = bind_row(m, c)) != SQLITE_OK) return rc;
        sqlite3_bind_null(c->insert, 1); /* the next number */
        if (id == TABLE_RUNS) {
            bind_id(c, "parent_id", 0); /* it may not be here yet */
            bind_id(c, "sweep_id", ids_find(&m->sweeps, number_there(c, "sweep_id")));
        }
        if (gone) {
            sqlite3_bind_text(c->insert, schema_parameter(c->table, "status"), "crashed", -1, SQLITE_STATIC);
            sqlite3_bind_text(c->insert, schema_parameter(c->table, "status_reason"), STORE_GONE_REASON, -1,
                              SQLITE_STATIC);
        }
        rc = insert_row(m, c);
        here = sqlite3_last_insert_rowid(m->into->db);
    }
    if (rc == SQLITE_OK) ids_add(ids, there, here);
    return rc;
}

static int take_sweeps(struct merge *m) {
    const struct copy *c = &m->copies[TABLE_SWEEPS];
    int rc = SQLITE_OK;
    while (rc == SQLITE_OK && c->select && sqlite3_step(c->select) == SQLITE_ROW) {
        bool is_new;
        rc = take(m, TABLE_SWEEPS, &m->sweeps, &is_new);
        if (rc != SQLITE_OK || !is_new) continue;
        const struct id *last = &m->sweeps.at[m->sweeps.count - 1];
        m->done.sweeps++;
        rc = copy_rows(m, TABLE_SWEEP_CURVES, last->there, last->here);
    }
    int end = c->select ? failed(m, m->from, sqlite3_reset(c->select)) : SQLITE_OK;
    return rc == SQLITE_OK ? end : rc;
}

static int take_runs(struct merge *m) {
    const struct copy *c = &m->copies[TABLE_RUNS];
    int rc = SQLITE_OK;
    while (rc == SQLITE_OK && sqlite3_step(c->select) == SQLITE_ROW) {
        bool is_new;
        size_t before = m->runs.count;
        rc = take(m, TABLE_RUNS, &m->runs, &is_new);
        if (rc != SQLITE_OK || m->runs.count == before) continue;
        const struct id *last = &m->runs.at[before];
        *(is_new ? &m->done.runs : &m->done.known) += 1;
        for (enum table_id id = 0; rc == SQLITE_OK && is_new && id < TABLES; id++)
            if (id != TABLE_RUNS && id != TABLE_SWEEPS && id != TABLE_SWEEP_CURVES)
                rc = copy_rows(m, id, last->there, last->here);
    }
    int end = failed(m, m->from, sqlite3_reset(c->select));
    return rc == SQLITE_OK ? end : rc;
}

/* References to runs, once all of them have their numbers. Runs and sweeps that were here keep theirs. */
static int relate(struct merge *m, enum table_id id, const struct ids *ids, const char *column) {
    const struct copy *c = &m->copies[id];
    const char *key = schema_column(c->table, 0).name;
    struct buf sql = {0};
    sqlite3_stmt *stmt = NULL;
    buf_addf(&sql, "UPDATE %s SET %s = nullif(?2, 0) WHERE %s = ?1 AND %s IS NOT nullif(?2, 0)",
             c->table->name, column, key, column);
    int rc = c->select ? failed(m, m->into, db_prepare(m->into->db, &stmt, buf_text(&sql))) : SQLITE_OK;
    buf_free(&sql);
    while (rc == SQLITE_OK && stmt && sqlite3_step(c->select) == SQLITE_ROW) {
        int64_t here = ids_find(ids, sqlite3_column_int64(c->select, 0));
        if (here <= m->last[id == TABLE_SWEEPS]) continue;
        sqlite3_bind_int64(stmt, 1, here);
        sqlite3_bind_int64(stmt, 2, ids_find(&m->runs, number_there(c, column)));
        (void)sqlite3_step(stmt);
        rc = failed(m, m->into, sqlite3_reset(stmt));
    }
    sqlite3_finalize(stmt);
    int end = c->select ? failed(m, m->from, sqlite3_reset(c->select)) : SQLITE_OK;
    return rc == SQLITE_OK ? end : rc;
}

static int merge_all(struct merge *m) {
    int rc = failed(m, m->from, db_exec(m->from->db, "BEGIN"));
    if (rc == SQLITE_OK) rc = failed(m, m->into, db_exec(m->into->db, "BEGIN IMMEDIATE"));
    if (rc == SQLITE_OK)
        rc = failed(m, m->into, db_int(m->into->db, "SELECT max(run_id) FROM runs", &m->last[0]));
    if (rc == SQLITE_OK)
        rc = failed(m, m->into, db_int(m->into->db, "SELECT max(sweep_id) FROM sweeps", &m->last[1]));
    for (enum table_id id = 0; rc == SQLITE_OK && id < TABLES; id++) rc = open_copy(m, id);
    if (rc == SQLITE_OK) rc = take_sweeps(m);
    if (rc == SQLITE_OK) rc = take_runs(m);
    if (rc == SQLITE_OK) rc = relate(m, TABLE_RUNS, &m->runs, "parent_id");
    if (rc == SQLITE_OK) rc = relate(m, TABLE_SWEEPS, &m->sweeps, "baseline_run");
    if (rc == SQLITE_OK) rc = failed(m, m->into, db_exec(m->into->db, "COMMIT"));
    return rc;
}

static bool same_file(const struct store *a, const struct store *b) {
    struct stat one, two;
    return stat(a->path, &one) == 0 && stat(b->path, &two) == 0 && one.st_dev == two.st_dev &&
           one.st_ino == two.st_ino;
}

int store_merge(struct store *into, struct store *from, struct store_merged *done, struct err *e) {
    struct merge m = {.into = into, .from = from};
    if (same_file(into, from))
        return err_set(e, KVF_ERR_USAGE,
                       "'%s' is the history database itself; name another file, or with --db another "
                       "database to merge it into",
                       from->path);
    int rc = merge_all(&m), code = 0;
    if (m.odd.code != 0)
        code = err_set(e, m.odd.code, "%s", m.odd.text);
    else if (rc != SQLITE_OK)
        code = db_error(e, m.culprit->db, rc, m.culprit->path, m.culprit == into ? "write" : "read");
    for (size_t i = 0; i < TABLES; i++) {
        sqlite3_finalize(m.copies[i].select);
        sqlite3_finalize(m.copies[i].insert);
    }
    db_rollback(into->db);
    db_rollback(from->db);
    free(m.runs.at);
    free(m.sweeps.at);
    *done = m.done;
    return code;
}
