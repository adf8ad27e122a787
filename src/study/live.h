/* The running engine as the screen's provider: snapshots from the slot, events from a queue of their own, the
 * past from the database where the run is stored. */
#ifndef KVF_STUDY_LIVE_H
#define KVF_STUDY_LIVE_H

#include <stdbool.h>

#include "record/provider.h"
#include "record/publish.h"
#include "scenario/scenario.h"

struct live;
/* `run` has what is known before the run, with its run_id in `db` (NULL: not stored). All must outlive the
 * screen. A snapshot already in the slot is another run's. Main thread, before the run begins. */
struct live *live_new(const struct scenario *s, const struct run_record *run, struct slot *slot,
                      const char *db);
void live_free(struct live *l); /* takes NULL */
const struct provider *live_provider(struct live *l);
struct windows *live_windows(struct live *l); /* for the engine to fill */

/* For the engine's hooks; any thread. */
void live_prepare(struct live *l, const char *what, double share);
void live_event(struct live *l, const struct record_event *e);
void live_storing(struct live *l); /* the engine has ended */
void live_ended(struct live *l);   /* the record is complete */

#endif
