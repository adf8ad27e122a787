/* A prepared INSERT for rows of one table. `rc` keeps SQLite's first failure; after one, calls do
 * nothing until inserter_reset(). Belongs to the thread of its connection. */
#ifndef KVF_STORE_INSERTER_H
#define KVF_STORE_INSERTER_H

#include <stddef.h>
#include <stdint.h>

#include <sqlite3.h>

#include "store/schema.h"

struct inserter {
    const struct table *table;
    sqlite3_stmt *stmt;
    int rc;
};

/* `verb` is "INSERT" or "INSERT OR ...", `suffix` what follows the values ("" for nothing). */
struct inserter inserter_open(sqlite3 *db, enum table_id id, const char *verb, const char *suffix);
/* Frees the statement and returns rc. */
int inserter_close(struct inserter *in);
void inserter_reset(struct inserter *in);
/* Bind the columns that no struct member fills; texts and bytes must live until inserter_row(). */
void inserter_text(struct inserter *in, const char *column, const char *text);
void inserter_number(struct inserter *in, const char *column, int64_t v);
void inserter_real(struct inserter *in, const char *column, double v); /* NaN: NULL */
void inserter_blob(struct inserter *in, const char *column, const void *data, size_t len);
/* Binds the members of `object` (NULL: none) and inserts the row; values bound by hand stay bound for the
 * next row. */
void inserter_row(struct inserter *in, const void *object);

#endif
