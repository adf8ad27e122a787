/* A stored run as a provider for the screen, in progress (in any process) or ended. Reads through a
 * connection of its own, holds no lock between calls and writes nothing.
 *
 * The database is asked whether it has changed at most every 100 ms, its file whether it is still the
 * same every second. What is wrong with either (locked for long, damaged, the run deleted, the file
 * replaced, live data that cannot be seen) is said once, in one sentence, as an event of level
 * "warning" without a time.
 *
 * One thread. The version that next() moves on is the seq of the interval given + 1, so that 0 begins
 * anew. `run` stays where it is; what is in it is loaded anew once, when a run that was going on has
 * ended, in the call of status() that says so for the first time. */
#ifndef KVF_STORE_WATCH_H
#define KVF_STORE_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "record/provider.h"

struct store_watch;
/* 0 with *out; or a negative code with a sentence: what store_open() and store_load_run() say. */
int store_watch_open(struct store_watch **out, const char *path, int64_t run_id, struct err *e);
/* store_watch_open() with another clock than clock_now_ns(), for tests. */
int store_watch_open_by(struct store_watch **out, const char *path, int64_t run_id, uint64_t (*now_ns)(void),
                        struct err *e);
/* The code and sentence of the error that kept a part of the run from being read so far, or 0. On the
 * provider's thread. */
int store_watch_unread(const struct store_watch *w, struct err *e);
/* Valid until the watch is closed. */
void store_watch_provider(struct store_watch *w, struct provider *out);
/* Whether a requested window is still being combined. */
bool store_watch_reading(const struct store_watch *w);
void store_watch_close(struct store_watch *w); /* takes NULL */

#endif
