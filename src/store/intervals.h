/* Stored intervals, read back as the snapshots they were made from. Belongs to the thread of its
 * connection. */
#ifndef KVF_STORE_INTERVALS_H
#define KVF_STORE_INTERVALS_H

#include <stddef.h>
#include <stdint.h>

#include <sqlite3.h>

#include "record/run.h"
#include "record/series.h"
#include "record/snapshot.h"

struct intervals;
/* `run` gives run_id and the order of the classes; it is not kept. Of `parts` (enum series_part) the rest
 * stays as it is without rows. SQLite's code. */
int intervals_open(struct intervals **out, sqlite3 *db, const struct run_record *run, unsigned parts);
void intervals_close(struct intervals *i); /* takes NULL */
/* Reads the first `most` intervals with seq >= `from`, and all that belongs to them, in one read transaction;
 * none is open before or after. *count is their number, 0 after a failure. Values that a file of an older
 * version lacks are missing. Returns SQLite's code. */
int intervals_read(struct intervals *i, int64_t from, size_t most, struct snapshot *out, size_t *count);
/* The scope named in a column of the current row (enum record_scope); RECORD_SCOPES: unknown. */
int intervals_scope(sqlite3_stmt *stmt, int column);

#endif
