/* The GPUs in a run's snapshots: which ones, and their newest figures. Control thread only. */
#ifndef KVF_ENGINE_GPUS_H
#define KVF_ENGINE_GPUS_H

#include "engine/engine.h"
#include "probe/nvml_watch.h"
#include "record/snapshot.h"

_Static_assert((int)NVML_WATCH_MAX == (int)SNAPSHOT_GPUS_MAX, "as many are watched as a snapshot holds");

struct engine;

struct gpus {
    struct nvml_watch *watch; /* NULL: none */
    uint32_t count, device[SNAPSHOT_GPUS_MAX];
    bool silent; /* the driver did not answer lately */
};

/* Begins to watch the devices of a gpu tier that is real, else all there are. Without a driver there are
 * none; one that does not answer is an event where a tier uses it. The tiers are open. */
void gpus_open(struct engine *e, struct gpus *g);
/* An event says when the driver stops answering, and when it answers again. */
void gpus_snap(struct engine *e, struct gpus *g, struct snapshot *snap);
void gpus_close(struct gpus *g);

#endif
