/* A window of a stored run: its intervals from one to another, put together, and moved on by what comes and
 * what goes. Belongs to the thread of its connection. */
#ifndef KVF_STORE_SPAN_H
#define KVF_STORE_SPAN_H

#include <stdint.h>

#include <sqlite3.h>

#include "record/run.h"
#include "record/windows.h"

/* NONE: an interval has not what windows are made of, as those of older versions. */
enum span_state { SPAN_READY, SPAN_MORE, SPAN_NONE };
struct span;
struct kept;
/* `run` gives run_id and the order of the classes; it is not kept. SQLite's code. */
int span_open(struct span **out, sqlite3 *db, const struct run_record *run);
void span_close(struct span *s); /* takes NULL */
/* Makes it that of the intervals from seq `from` to `to`, which are there, in steps that are soon over: MORE
 * asks for another call. SQLite's code. */
int span_move(struct span *s, int64_t from, int64_t to, enum span_state *state);
/* READY: all that was put together. */
const struct kept *span_kept(const struct span *s);
/* READY: the view of it. */
void span_view(const struct span *s, struct windows_view *out);

#endif
