/* A window of a stored run: the combination of its intervals in a range, updated as intervals enter and leave
 * it. Belongs to the thread of its connection. */
#ifndef KVF_STORE_SPAN_H
#define KVF_STORE_SPAN_H

#include <stdint.h>

#include <sqlite3.h>

#include "record/run.h"
#include "record/windows.h"

/* NONE: an interval lacks the data that windows need, as in files of older versions. */
enum span_state { SPAN_READY, SPAN_MORE, SPAN_NONE };
struct span;
struct kept;
/* `run` gives run_id and the order of the classes; it is not kept. SQLite's code. */
int span_open(struct span **out, sqlite3 *db, const struct run_record *run);
void span_close(struct span *s); /* takes NULL */
/* Moves it to the existing intervals from seq `from` to `to`, in short steps: MORE asks for another call.
 * Returns SQLite's code. */
int span_move(struct span *s, int64_t from, int64_t to, enum span_state *state);
/* The combined data; only when READY. */
const struct kept *span_kept(const struct span *s);
/* The view of the window; only when READY. */
void span_view(const struct span *s, struct windows_view *out);

#endif
