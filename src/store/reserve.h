/* Room on the database's disk for the end of a run. In WAL mode it is behind the log, which nobody else can
 * take: the log grows into it. Else it is in a file without a name, and goes back to the disk before the end
 * is written. */
#ifndef KVF_STORE_RESERVE_H
#define KVF_STORE_RESERVE_H

#include <stdbool.h>

#include "store/store.h"

/* Reserves room for a run that is about to begin: 0, or -KVF_ERR_NOSPACE. 0 also on a file system that cannot
 * reserve room. */
int reserve_take(struct store *s, const struct run_record *r, struct err *e);
/* Whether a transaction of one or two records leaves the reserve intact; with `many` whether there is room
 * enough for a large one. Any thread. */
bool reserve_stays(const struct store *s, bool many);
/* Gives the reserve back, before the end of the run is written; also without one. */
void reserve_give_back(struct store *s);

#endif
