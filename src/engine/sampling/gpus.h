/* The GPUs in a run's snapshots: which ones, and their newest figures. Control thread only. */
#ifndef KVF_ENGINE_SAMPLING_GPUS_H
#define KVF_ENGINE_SAMPLING_GPUS_H

#include "engine/engine.h"
#include "probe/nvml_watch.h"
#include "record/snapshot.h"

_Static_assert((int)NVML_WATCH_MAX == (int)SNAPSHOT_GPUS_MAX, "as many are watched as a snapshot holds");

struct events;
struct service;

struct gpus {
    struct nvml_watch *watch; /* NULL: none */
    uint32_t count, device[SNAPSHOT_GPUS_MAX];
    bool silent; /* the driver did not answer lately */
    struct nvml_sample from[SNAPSHOT_GPUS_MAX],
        to[SNAPSHOT_GPUS_MAX];                   /* newest at the measured part's ends */
    double sent_bytes, received_bytes, linked_s; /* of the measured part: rates x seconds, and these */
};

/* Begins to watch the devices of a gpu tier that is real, else all there are. Without a driver there are
 * none; one that does not answer is an event where a tier uses it. The tiers are open. */
void gpus_open(struct gpus *g, struct service *v);
/* An event says when the driver stops answering, and when it answers again. */
void gpus_snap(struct gpus *g, struct events *v, struct snapshot *snap);
/* The measured part begins, or ends, with the newest figures. */
void gpus_measure_from_here(struct gpus *g);
void gpus_measure_to_here(struct gpus *g);
/* Counts an interval of the measured part. */
void gpus_note(struct gpus *g, const struct snapshot *snap);
/* Mean power of all devices together in W, between the looks nearest to both ends of the measured part;
 * KVF_MISSING without two looks or where a device tells no energy. */
double gpus_power_w(const struct gpus *g);
/* Mean of the sampled PCIe rates of all devices together in B/s, packet headers included; KVF_MISSING
 * without samples. */
double gpus_pcie_bytes_s(const struct gpus *g, bool sent);
void gpus_close(struct gpus *g);

#endif
