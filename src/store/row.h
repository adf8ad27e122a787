/* Binding a plain struct to a row of a statement, and reading it back, by the column_kind of each member. On
 * the thread of the connection. */
#ifndef KVF_STORE_ROW_H
#define KVF_STORE_ROW_H

#include <stddef.h>

#include <sqlite3.h>

#include "store/schema.h"

/* Binds all columns but the COLUMN_HAND ones to the parameters of schema_insert_sql() from
 * `object`, whose texts must live until the step. NaN and the kinds' "nothing" become NULL. */
void row_bind(sqlite3_stmt *stmt, const struct table *t, const void *object);
/* Fills the members of `object` from the current row of "SELECT * FROM t"; members whose columns an
 * older file lacks stay as they are. COLUMN_STRING and COLUMN_JSON members are freed and allocated anew. */
void row_load(sqlite3_stmt *stmt, const struct table *t, void *object);
/* The same for many rows of one statement: which column each member comes from, looked up once. */
struct row_member {
    struct column column;
    int at; /* in the row */
};
struct row_map {
    struct row_member *members;
    size_t count;
};
/* Looks the columns up, also again after the statement was prepared anew (a migration by another
 * process): what it held before is freed. */
void row_map_make(struct row_map *m, sqlite3_stmt *stmt, const struct table *t);
void row_map_load(const struct row_map *m, sqlite3_stmt *stmt, void *object);
void row_map_free(struct row_map *m);
/* A column of the current row as text into a char array; "" for NULL. */
void row_text(sqlite3_stmt *stmt, int column, char *out, size_t size);
/* The tier that a column of the current row names; KVF_TIERS: none. */
int row_tier(sqlite3_stmt *stmt, int column);
double row_real(sqlite3_stmt *stmt, int column); /* NaN for what is no finite number */
/* Whether a text is one JSON object of the depth that kvfall writes and reads. */
bool row_json(const char *text);

#endif
