#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "store/db.h"
#include "store/schema.h"
#include "store/store.h"

#define COUNT(array) (sizeof array / sizeof *(array))

#define WORD_AT(n) "substr(message, " n ", instr(substr(message, " n "), ' ') - 1)"
#define SAYS(glob) "level = 'info' AND message GLOB '" glob "'"

/* Steps that a comparison of tables and columns cannot find. A step brings a file of the version before to
 * its version. */
static const struct {
    int version;
    const char *sql;
} steps[] = {
    {1, "PRAGMA application_id = 1802921521"},
    /* what was in service was looked at once an interval then, at its end */
    {4,
     "UPDATE intervals SET in_service_now = in_service; UPDATE qos_intervals SET in_service_now = in_service"},
    /* an event was a sentence alone */
    {14,
     "UPDATE events SET kind = 'users', value = " WORD_AT("7") " WHERE " SAYS(
         "users [0-9]* by *") ";"
                              "UPDATE events SET kind = 'generation', value = " WORD_AT("12") " WHERE " SAYS(
                                  "generation [0-9]* by *") ";"
                                                            "UPDATE events SET kind = 'autoscaler', value = rtrim(" WORD_AT("12") ", ':') WHERE " SAYS(
                                                                "autoscaler [a-z]* by *") ";"
                                                                                          "UPDATE events SET kind = 'speed', value = " WORD_AT("7") " WHERE " SAYS(
                                                                                              "speed [0-9]* by *") ";"
                                                                                                                   "UPDATE events SET kind = 'speed', value = '0' WHERE " SAYS(
                                                                                                                       "speed as *") ";"
                                                                                                                                     "UPDATE events SET kind = 'pause', value = 'on' WHERE " SAYS(
                                                                                                                                         "paused by *") ";"
                                                                                                                                                        "UPDATE events SET kind = 'pause', value = 'off' WHERE " SAYS(
                                                                                                                                                            "resumed by *") ";"
                                                                                                                                                                            "UPDATE events SET kind = 'suite_quick' WHERE message GLOB 'suite: --quick: *';"
                                                                                                                                                                            "UPDATE events SET kind = 'suite_not_run', value = substr(message, 17, instr(substr(message, 17), ': ') - 1)"
                                                                                                                                                                            " WHERE message GLOB 'suite: not run: *: *'"},
};
_Static_assert(STORE_APPLICATION_ID == 1802921521,
               "the statement and the constant name the same application");

/* ---- what is missing ---- */

/* Calls missing() for each column that the file's table lacks. A table that is not there at all
 * lacks every column. */
static int each_missing(sqlite3 *db, const struct table *t, int (*missing)(void *ctx, const struct column *c),
                        void *ctx) {
    sqlite3_stmt *stmt = NULL;
    int rc = db_prepare(db, &stmt, "SELECT 1 FROM pragma_table_info(?1) WHERE name = ?2");
    for (size_t i = 0; rc == SQLITE_OK && i < schema_column_count(t); i++) {
        struct column c = schema_column(t, i);
        sqlite3_bind_text(stmt, 1, t->name, -1, SQLITE_STATIC);
        sqlite3_bind_text(stmt, 2, c.name, -1, SQLITE_STATIC);
        int step = sqlite3_step(stmt);
        rc = sqlite3_reset(stmt);
        if (rc == SQLITE_OK && step != SQLITE_ROW) rc = missing(ctx, &c);
    }
    sqlite3_finalize(stmt);
    return rc;
}

static int index_missing(sqlite3 *db, const struct table *t, bool *missing) {
    sqlite3_stmt *stmt = NULL;
    int rc = db_prepare(db, &stmt, "SELECT 1 FROM sqlite_master WHERE type = 'index' AND name = ?1");
    for (size_t i = 0; rc == SQLITE_OK && i < t->index_count; i++) {
        sqlite3_bind_text(stmt, 1, t->index[i].name, -1, SQLITE_STATIC);
        if (sqlite3_step(stmt) != SQLITE_ROW) *missing = true;
        rc = sqlite3_reset(stmt);
    }
    sqlite3_finalize(stmt);
    return rc;
}

/* A number that a statement with the name of a table (?1) finds; *out stays as it is without a row. */
static int number_of(sqlite3 *db, const char *sql, const char *table, int64_t *out) {
    sqlite3_stmt *stmt = NULL;
    int rc = db_prepare(db, &stmt, sql);
    if (rc == SQLITE_OK) sqlite3_bind_text(stmt, 1, table, -1, SQLITE_STATIC);
    if (rc == SQLITE_OK && sqlite3_step(stmt) == SQLITE_ROW) *out = sqlite3_column_int64(stmt, 0);
    int end = sqlite3_finalize(stmt);
    return rc == SQLITE_OK ? end : rc;
}

static int is_strict(sqlite3 *db, const struct table *t, bool *strict) {
    int64_t found = 0;
    int rc = number_of(db, "SELECT strict FROM pragma_table_list(?1) WHERE schema = 'main'", t->name, &found);
    *strict = found != 0;
    return rc;
}

static int note_missing(void *ctx, const struct column *c) {
    (void)c;
    *(bool *)ctx = true;
    return SQLITE_OK;
}

/* Calls differing() for each view that the file lacks, or has as another program made it. */
static int each_other_view(sqlite3 *db, int (*differing)(void *ctx, const struct buf *view), void *ctx) {
    sqlite3_stmt *stmt = NULL;
    struct buf view = {0};
    const char *name;
    int rc =
        db_prepare(db, &stmt, "SELECT 1 FROM main.sqlite_master WHERE name = ?1 AND sql = 'CREATE ' || ?2");
    for (size_t i = 0; rc == SQLITE_OK && (name = schema_view(i, &view)); i++) {
        sqlite3_bind_text(stmt, 1, name, -1, SQLITE_STATIC);
        sqlite3_bind_text(stmt, 2, buf_text(&view), -1, SQLITE_STATIC);
        int step = sqlite3_step(stmt);
        rc = sqlite3_reset(stmt);
        if (rc == SQLITE_OK && step != SQLITE_ROW) rc = differing(ctx, &view);
        buf_free(&view);
    }
    sqlite3_finalize(stmt);
    return rc;
}

static int note_view(void *ctx, const struct buf *view) {
    (void)view;
    *(bool *)ctx = true;
    return SQLITE_OK;
}

int schema_outdated(sqlite3 *db, bool *outdated) {
    int64_t version = 0;
    int rc = db_int(db, "PRAGMA user_version", &version);
    *outdated = version != STORE_SCHEMA_VERSION;
    for (enum table_id id = 0; rc == SQLITE_OK && !*outdated && id < TABLES; id++) {
        bool strict = false;
        rc = each_missing(db, schema_table(id), note_missing, outdated);
        if (rc == SQLITE_OK) rc = index_missing(db, schema_table(id), outdated);
        if (rc == SQLITE_OK) rc = is_strict(db, schema_table(id), &strict);
        *outdated |= !strict;
    }
    return rc == SQLITE_OK && !*outdated ? each_other_view(db, note_view, outdated) : rc;
}

/* ---- what a reader of an older file sees in its place ---- */

static int add_null(void *ctx, const struct column *c) {
    buf_addf(ctx, ", NULL AS %s", c->name);
    return SQLITE_OK;
}

/* A reader of intervals takes the columns that there are. */
static int shade(sqlite3 *db, const struct table *t) {
    struct buf nulls = {0}, sql = {0};
    int64_t there = 0;
    int rc = each_missing(db, t, add_null, &nulls);
    if (rc == SQLITE_OK)
        rc = number_of(db, "SELECT 1 FROM main.sqlite_master WHERE type = 'table' AND name = ?1", t->name,
                       &there);
    if (!there)
        buf_addf(&sql, "CREATE TEMP VIEW %s AS SELECT%s WHERE 0", t->name,
                 nulls.len ? buf_text(&nulls) + 1 : " 1");
    else if (nulls.len && !t->fields)
        buf_addf(&sql, "CREATE TEMP VIEW %s AS SELECT *%s FROM main.%s", t->name, buf_text(&nulls), t->name);
    if (rc == SQLITE_OK && sql.len) rc = db_exec(db, buf_text(&sql));
    buf_free(&nulls);
    buf_free(&sql);
    return rc;
}

static int shade_view(void *ctx, const struct buf *view) {
    struct buf sql = {0};
    buf_addf(&sql, "CREATE TEMP %s", buf_text(view));
    int rc = db_exec(ctx, buf_text(&sql));
    buf_free(&sql);
    return rc;
}

int schema_shade(sqlite3 *db) {
    int64_t version = 0;
    int rc = db_int(db, "PRAGMA user_version", &version);
    if (rc == SQLITE_OK) rc = db_exec(db, "PRAGMA query_only = OFF");
    for (enum table_id id = 0; rc == SQLITE_OK && version < STORE_SCHEMA_VERSION && id < TABLES; id++)
        rc = shade(db, schema_table(id));
    if (rc == SQLITE_OK) rc = each_other_view(db, shade_view, db);
    int end = db_exec(db, "PRAGMA query_only = ON");
    return rc == SQLITE_OK ? end : rc;
}

/* ---- what is added ---- */

struct adding {
    sqlite3 *db;
    const char *table;
};

static int run_sql(sqlite3 *db, struct buf *sql) {
    int rc = db_exec(db, buf_text(sql));
    buf_free(sql);
    return rc;
}

static int add_column(void *ctx, const struct column *c) {
    const struct adding *a = ctx;
    struct buf sql = {0};
    buf_addf(&sql, "ALTER TABLE %s ADD COLUMN %s %s", a->table, c->name, c->decl);
    return run_sql(a->db, &sql);
}

static int add_indexes(sqlite3 *db, const struct table *t) {
    struct buf sql = {0};
    schema_index_sql(t, &sql);
    return run_sql(db, &sql);
}

static int complete_table(sqlite3 *db, const struct table *t) {
    struct buf create = {0};
    schema_create_sql(t, t->name, "", &create);
    int rc = run_sql(db, &create);
    if (rc == SQLITE_OK) rc = each_missing(db, t, add_column, &(struct adding){db, t->name});
    return rc == SQLITE_OK ? add_indexes(db, t) : rc;
}

static int make_views(sqlite3 *db) {
    struct buf sql = {0};
    schema_views(&sql);
    return run_sql(db, &sql);
}

/* ---- tables that take any value become strict ones ---- */

/* A table is made anew, filled and put in the place of the old one, with the columns, indexes and triggers
 * that somebody has added to that. What does not fit goes into a table beside it. */
struct remake {
    sqlite3 *db;
    const struct table *table;
    struct buf columns;  /* all of the old table, as a list */
    struct buf foreign;  /* declarations of those that are not ours */
    struct buf belonged; /* statements of its indexes and triggers */
    int64_t sequence;    /* last number given; negative: it gives none */
    int64_t misfits;
};

static void add_name(struct buf *out, const char *name) {
    buf_add(out, "\"");
    for (; *name; name++) buf_addf(out, *name == '"' ? "\"%c" : "%c", *name);
    buf_add(out, "\"");
}

static int look_at_columns(struct remake *m) {
    sqlite3_stmt *stmt = NULL;
    int rc = db_prepare(m->db, &stmt, "SELECT name FROM pragma_table_info(?1)");
    if (rc == SQLITE_OK) sqlite3_bind_text(stmt, 1, m->table->name, -1, SQLITE_STATIC);
    while (rc == SQLITE_OK && sqlite3_step(stmt) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(stmt, 0);
        if (!name) continue;
        buf_add(&m->columns, m->columns.len ? ", " : "");
        add_name(&m->columns, name);
        if (schema_parameter(m->table, name)) continue;
        buf_add(&m->foreign, ",\n    ");
        add_name(&m->foreign, name);
        buf_add(&m->foreign, " ANY");
    }
    int end = sqlite3_finalize(stmt);
    return rc == SQLITE_OK ? end : rc;
}

static bool is_ours(const struct table *t, const char *index) {
    for (size_t i = 0; i < t->index_count; i++)
        if (strcmp(t->index[i].name, index) == 0) return true;
    return false;
}

static int look_at_belongings(struct remake *m) {
    sqlite3_stmt *stmt = NULL;
    int rc = db_prepare(m->db, &stmt,
                        "SELECT name, sql FROM sqlite_master WHERE tbl_name = ?1 AND type IN "
                        "('index', 'trigger') AND sql IS NOT NULL");
    if (rc == SQLITE_OK) sqlite3_bind_text(stmt, 1, m->table->name, -1, SQLITE_STATIC);
    while (rc == SQLITE_OK && sqlite3_step(stmt) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(stmt, 0);
        const char *sql = (const char *)sqlite3_column_text(stmt, 1);
        if (name && sql && !is_ours(m->table, name)) buf_addf(&m->belonged, "%s;\n", sql);
    }
    int end = sqlite3_finalize(stmt);
    m->sequence = -1;
    if (rc == SQLITE_OK && strstr(schema_column(m->table, 0).decl, "AUTOINCREMENT"))
        rc =
            number_of(m->db, "SELECT seq FROM sqlite_sequence WHERE name = ?1", m->table->name, &m->sequence);
    return rc == SQLITE_OK ? end : rc;
}

/* The condition of a row that a strict table takes. */
static void add_fits(const struct remake *m, struct buf *out) {
    for (size_t i = 0; i < schema_column_count(m->table); i++) {
        struct column c = schema_column(m->table, i);
        const char *types = strncmp(c.decl, "TEXT", 4) == 0      ? "'text', 'integer', 'real'"
                            : strncmp(c.decl, "BLOB", 4) == 0    ? "'blob'"
                            : strncmp(c.decl, "INTEGER", 7) == 0 ? "'integer'"
                                                                 : "'real', 'integer'";
        bool needed = strstr(c.decl, "NOT NULL") || (m->table->key && strcmp(c.name, "seq") == 0);
        buf_addf(out, "%stypeof(%s) IN (%s%s)", i ? " AND " : "", c.name, types, needed ? "" : ", 'null'");
    }
}

static int copy_rows(const struct remake *m, const char *condition) {
    struct buf sql = {0};
    buf_addf(&sql, "INSERT INTO migrating_%s(%s) SELECT %s FROM %s%s", m->table->name, buf_text(&m->columns),
             buf_text(&m->columns), m->table->name, condition);
    int rc = db_exec(m->db, "SAVEPOINT copying");
    if (rc != SQLITE_OK) {
        buf_free(&sql);
        return rc;
    }
    rc = run_sql(m->db, &sql);
    if (rc != SQLITE_OK && !sqlite3_get_autocommit(m->db)) (void)db_exec(m->db, "ROLLBACK TO copying");
    if (!sqlite3_get_autocommit(m->db)) (void)db_exec(m->db, "RELEASE copying");
    return rc;
}

static int set_aside(struct remake *m) {
    const char *name = m->table->name;
    struct buf fits = {0}, sql = {0};
    buf_add(&fits, " WHERE ");
    add_fits(m, &fits);
    buf_addf(&sql,
             "CREATE TABLE IF NOT EXISTS %s_set_aside AS SELECT * FROM %s WHERE 0;"
             "INSERT INTO %s_set_aside SELECT * FROM %s WHERE NOT (%s)",
             name, name, name, name, buf_text(&fits) + strlen(" WHERE "));
    int rc = run_sql(m->db, &sql);
    m->misfits = sqlite3_changes(m->db);
    if (rc == SQLITE_OK) rc = copy_rows(m, buf_text(&fits));
    buf_free(&fits);
    return rc;
}

static int put_in_place(struct remake *m) {
    const char *name = m->table->name;
    struct buf sql = {0};
    buf_addf(&sql, "DROP TABLE %s; ALTER TABLE migrating_%s RENAME TO %s;", name, name, name);
    if (m->sequence >= 0)
        buf_addf(&sql,
                 "DELETE FROM sqlite_sequence WHERE name = '%s';"
                 "INSERT INTO sqlite_sequence(name, seq) VALUES('%s', %" PRId64 ");",
                 name, name, m->sequence);
    buf_add(&sql, buf_text(&m->belonged));
    int rc = run_sql(m->db, &sql);
    return rc == SQLITE_OK ? add_indexes(m->db, m->table) : rc;
}

static int remake_table(struct remake *m) {
    struct buf create = {0};
    char name[64];
    int rc = look_at_columns(m);
    if (rc == SQLITE_OK) rc = look_at_belongings(m);
    snprintf(name, sizeof name, "migrating_%s", m->table->name);
    schema_create_sql(m->table, name, buf_text(&m->foreign), &create);
    if (rc == SQLITE_OK) rc = db_exec(m->db, buf_text(&create));
    if (rc == SQLITE_OK) rc = copy_rows(m, "");
    if ((rc & 0xff) == SQLITE_CONSTRAINT) rc = set_aside(m);
    if (rc == SQLITE_OK) rc = put_in_place(m);
    buf_free(&create);
    buf_free(&m->columns);
    buf_free(&m->foreign);
    buf_free(&m->belonged);
    return rc;
}

static int make_strict(sqlite3 *db, enum table_id id, struct buf *aside, int64_t *misfits) {
    struct remake m = {.db = db, .table = schema_table(id)};
    bool strict = false;
    int rc = is_strict(db, m.table, &strict);
    if (rc == SQLITE_OK && !strict) rc = remake_table(&m);
    if (m.misfits) buf_addf(aside, "%s%s_set_aside", aside->len ? ", " : "", m.table->name);
    *misfits += m.misfits;
    return rc;
}

/* ---- all of it ---- */

static int migrate(sqlite3 *db, struct buf *aside, int64_t *misfits) {
    int64_t version = 0;
    int rc = db_exec(db, "BEGIN IMMEDIATE");
    if (rc == SQLITE_OK) rc = db_int(db, "PRAGMA user_version", &version);
    for (enum table_id id = 0; rc == SQLITE_OK && id < TABLES; id++)
        rc = complete_table(db, schema_table(id));
    for (size_t i = 0; rc == SQLITE_OK && i < COUNT(steps); i++)
        if (steps[i].version > version) rc = db_exec(db, steps[i].sql);
    for (enum table_id id = 0; rc == SQLITE_OK && id < TABLES; id++) rc = make_strict(db, id, aside, misfits);
    if (rc == SQLITE_OK) rc = make_views(db);
    if (rc == SQLITE_OK) {
        struct buf sql = {0};
        buf_addf(&sql, "PRAGMA user_version = %d", STORE_SCHEMA_VERSION);
        rc = run_sql(db, &sql);
    }
    return rc == SQLITE_OK ? db_exec(db, "COMMIT") : rc;
}

/* References from table to table stay what they are while tables are put in the place of others. */
#define LOOSE  "PRAGMA foreign_keys = OFF; PRAGMA legacy_alter_table = ON"
#define NORMAL "PRAGMA legacy_alter_table = OFF; PRAGMA foreign_keys = ON"

int schema_migrate(sqlite3 *db, const char *path, char *told, size_t told_len, struct err *e) {
    struct buf aside = {0};
    int64_t misfits = 0, tables = 1;
    int code = 0, rc = db_int(db, "SELECT count(*) FROM sqlite_master", &tables);
    if (rc == SQLITE_OK) rc = db_exec(db, LOOSE);
    if (rc == SQLITE_OK) rc = migrate(db, &aside, &misfits);
    if ((rc & 0xff) == SQLITE_CONSTRAINT || (rc & 0xff) == SQLITE_ERROR)
        code = err_set(
            e, KVF_ERR_USAGE,
            "the history database '%s' cannot be brought up to date and is left as it was: %s; repair "
            "it with sqlite3, or name another file with --db",
            path, sqlite3_errmsg(db));
    else if (rc != SQLITE_OK)
        code = db_error(e, db, rc, path, tables ? "bring up to date" : "create");
    db_rollback(db);
    (void)db_exec(db, NORMAL);
    if (code == 0 && misfits)
        snprintf(told, told_len,
                 "%" PRId64 " row%s of the history database '%.200s' did not fit the columns of %s; nothing "
                 "is lost, see %.120s",
                 misfits, misfits == 1 ? "" : "s", path, misfits == 1 ? "its table" : "their tables",
                 buf_text(&aside));
    buf_free(&aside);
    return code;
}
