/* The tables of the database: one description of each drives its CREATE TABLE, its migration, its
 * INSERT, the binding of a plain struct to it and the loading back. Constant; any thread. */
#ifndef KVF_STORE_SCHEMA_H
#define KVF_STORE_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>

#include <sqlite3.h>

#include "base/buf.h"
#include "base/err.h"
#include "record/snapshot.h"

/* How a member of a struct becomes a value and back. */
enum column_kind {
    COLUMN_HAND,   /* no member: the caller binds it */
    COLUMN_TEXT,   /* char[size], kept as it is */
    COLUMN_NAME,   /* char[size], "" is NULL */
    COLUMN_STRING, /* char *, NULL is NULL */
    COLUMN_JSON,   /* the same, of a document; what is none is NULL */
    COLUMN_U64,    /* beyond 2^63 it wraps, and wraps back */
    COLUMN_COUNT,  /* uint64_t, 0 is NULL */
    COLUMN_ID,     /* int64_t, 0 is NULL */
    COLUMN_TRIAL,  /* uint32_t, 0 is NULL */
    COLUMN_REAL,   /* double; what is no finite number is NULL */
    COLUMN_MS,     /* uint64_t ns as REAL ms, 0 is NULL */
    COLUMN_BOOL,
    COLUMN_STATUS, /* enum run_status by name */
    COLUMN_PHASE   /* uint64_t holding an enum kvf_run_phase, by name */
};

struct column {
    const char *name;
    const char *decl; /* SQL type and constraints */
    enum column_kind kind;
    size_t offset; /* of the member */
    size_t size;   /* of the char array */
};

enum table_id {
    TABLE_RUNS,
    TABLE_RUN_TIERS,
    TABLE_RUN_CLASSES,
    TABLE_INTERVALS,
    TABLE_TIER_INTERVALS,
    TABLE_CAUSE_INTERVALS,
    TABLE_GPU_INTERVALS,
    TABLE_QOS_INTERVALS,
    TABLE_REMOTE_INTERVALS,
    TABLE_BLOCK_INTERVALS,
    TABLE_NEIGHBOUR_INTERVALS,
    TABLE_INTERVAL_HISTOGRAMS,
    TABLE_INTERVAL_WINDOWS,
    TABLE_DECISIONS,
    TABLE_EVENTS,
    TABLE_RESULTS,
    TABLE_CRITERIA,
    TABLE_VERDICTS,
    TABLE_VERDICT_EVIDENCE,
    TABLE_VERDICT_WARNINGS,
    TABLE_REMEDIES,
    TABLE_RUN_PODS,
    TABLE_FLEET_INTERVALS,
    TABLE_POD_INTERVALS,
    TABLE_RANKS,
    TABLE_RANK_TIERS,
    TABLE_RANK_INTERVALS,
    TABLE_RANK_TIER_INTERVALS,
    TABLE_HISTOGRAMS,
    TABLE_SWEEPS,
    TABLE_SWEEP_CURVES,
    TABLES
};

struct index {
    const char *name;
    const char *on; /* "(columns)", with a WHERE where it holds some rows only */
};

/* Columns in the order head, fields, tail. */
struct table {
    const char *name;
    const struct column *head;
    size_t head_count;
    const struct snapshot_field *fields; /* NULL: not made from a part of the snapshot */
    const size_t *field_count;
    const struct column *tail;
    size_t tail_count;
    const char *key;           /* PRIMARY KEY clause; NULL: in the column itself */
    const struct index *index; /* NULL: none */
    size_t index_count;
    bool rowid; /* else WITHOUT ROWID */
};

/* The i-th view, "VIEW name AS SELECT ...", and its name; NULL behind the last. */
const char *schema_view(size_t i, struct buf *out);
/* Appends the statements that replace all views. */
void schema_views(struct buf *out);

const struct table *schema_table(enum table_id id); /* never NULL */
/* The columns of a table by index: its head, the fields of its struct, its tail. */
size_t schema_column_count(const struct table *t);
struct column schema_column(const struct table *t, size_t i);
/* 1-based parameter of a column in schema_insert_sql(); 0 when there is none. */
int schema_parameter(const struct table *t, const char *column);
/* "<verb> INTO t(columns...) VALUES(?1, ...)". */
void schema_insert_sql(const struct table *t, const char *verb, struct buf *out);

/* The statement that makes a table under a name, with `more` behind its columns; and those of its indexes. */
void schema_create_sql(const struct table *t, const char *name, const char *more, struct buf *out);
void schema_index_sql(const struct table *t, struct buf *out);

/* Completes the schema of a file inside one transaction. Creates missing tables and indexes,
 * adds missing columns, carries out the steps between its user_version and ours, makes views anew, and makes
 * tables strict whose columns took any value. A row that does not fit such a table goes into one of its own,
 * and *told (a sentence, else left alone) says so. 0 or a negative code, with nothing changed. */
int schema_migrate(sqlite3 *db, const char *path, char *told, size_t told_len, struct err *e);
/* Whether schema_migrate() has anything to do; SQLite's code. */
int schema_outdated(sqlite3 *db, bool *outdated);
/* For a connection that only reads. Views are ours, whatever the file has. In a file of an older version,
 * tables that it lacks are there and empty, columns NULL; those of intervals, which are read by name, apart.
 * All this on this connection alone. SQLite's code. */
int schema_shade(sqlite3 *db);

#endif
