/* The thin layer over SQLite that the store's parts share: connecting, running a statement, and
 * turning SQLite's codes into sentences. A connection belongs to one thread. */
#ifndef KVF_STORE_DB_H
#define KVF_STORE_DB_H

#include <stdbool.h>
#include <stdint.h>

#include <sqlite3.h>

#include "base/err.h"

enum db_access { DB_READ, DB_READ_IMMUTABLE, DB_WRITE };

/* Opens a connection. DB_WRITE creates the file and keeps foreign keys. DB_READ changes no row, but
 * writes to the file where it may: what a crashed writer left must be rolled back, and the log and
 * its index must not be left behind. DB_READ_IMMUTABLE reads without locks or journal, for places
 * where neither can be created. 0 with *out, or a negative code. */
int db_connect(sqlite3 **out, const char *path, enum db_access access, struct err *e);
/* Says which journal the file is to have and sets it, waiting for other processes; SQLITE_OK or SQLite's
 * code. Every transaction of this connection is on the device when its commit returns. */
int db_journal(sqlite3 *db, bool wal);
/* Runs statements without results; returns SQLite's code. */
int db_exec(sqlite3 *db, const char *sql);
int db_prepare(sqlite3 *db, sqlite3_stmt **out, const char *sql);
/* The first column of the first row; *out stays as it is when there is no row. SQLite's code. */
int db_int(sqlite3 *db, const char *sql, int64_t *out);
/* Undoes an open transaction, if any. */
void db_rollback(sqlite3 *db);
/* The sentence for a code that SQLite returned on `db` (may be NULL) while `doing` ("open", "read",
 * "write"); returns the negative code of ours. */
int db_error(struct err *e, sqlite3 *db, int rc, const char *path, const char *doing);
/* A random UUID: version 4, variant 1 (RFC 9562). 0 or -KVF_ERR_IO. */
int db_uuid(char out[37], struct err *e);

#endif
