/* The readings at which windows start: for each span a few past readings, the oldest of which is the newest
 * at least one span old. Control thread only. */
#ifndef KVF_ENGINE_SAMPLING_LOOKBACK_H
#define KVF_ENGINE_SAMPLING_LOOKBACK_H

#include "base/err.h"
#include "record/snapshot.h"

struct engine;
struct lookback;
int lookback_open(struct lookback **out, struct err *e); /* 0 or -KVF_ERR_NOMEM */
void lookback_close(struct lookback *l);                 /* takes NULL */
/* All of the following do nothing for a run without windows. The clock begins at p->last. */
void lookback_begin(struct engine *e);
/* An interval, or a look between two, ends at p->now, and `snap` is of it. The windows that end there are
 * published, for a simulation a few times a second of real time, and an interval's end is kept. */
void lookback_interval(struct engine *e, const struct snapshot *snap);

#endif
