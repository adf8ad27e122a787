/* Room on the database's disk for the end of a run. In WAL mode it is behind the log, which nobody else can
 * take: the log grows into it. Else it is in a file without a name, and goes back to the disk before the end
 * is written. */
#ifndef KVF_STORE_RESERVE_H
#define KVF_STORE_RESERVE_H

#include <stdbool.h>

#include "store/store.h"

/* For a run that is about to begin: 0, or -KVF_ERR_NOSPACE. A file system that keeps no room is none of its
 * business. */
int reserve_take(struct store *s, const struct run_record *r, struct err *e);
/* Whether a transaction of a record or two leaves it whole; of many, whether there is so much room that it
 * will. Any thread. */
bool reserve_stays(const struct store *s, bool many);
/* Before how the run ends is written; also without one. */
void reserve_give_back(struct store *s);

#endif
