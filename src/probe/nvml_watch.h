/* A thread that samples GPUs at a bounded rate, so that no thread that keeps time waits for the driver: two
 * counters take 20 ms each for every device, and a call to a lost device may not return for seconds. */
#ifndef KVF_PROBE_NVML_WATCH_H
#define KVF_PROBE_NVML_WATCH_H

#include <stdint.h>

#include "probe/nvml.h"

enum { NVML_WATCH_MAX = 8 };
#define NVML_WATCH_LEAST_NS UINT64_C(100000000)  /* the shortest period */
#define NVML_WATCH_MOST_NS  UINT64_C(1000000000) /* the longest */

struct nvml_watch;

/* Takes ownership of `n` and samples the devices of these indices, at most NVML_WATCH_MAX, about every
 * period_ns within the bounds above. Returns after the first sample, or after two seconds; values are missing
 * until it has come. 0, or -KVF_ERR_INTERNAL when no thread can be made (`n` is closed then). */
int nvml_watch_start(struct nvml_watch **out, struct nvml *n, const uint32_t *index, uint32_t count,
                     uint64_t period_ns, struct err *e);
/* Copies the newest samples of the devices, in the order of their indices, and returns the number of samples
 * so far. 0, with missing values, when the newest are older than three periods and two seconds: the driver
 * does not answer. Any thread; never waits. */
uint64_t nvml_watch_read(struct nvml_watch *w, struct nvml_sample *out);
/* Ends the thread and closes the library; a thread that hangs in the driver is left behind with its memory.
 * Takes NULL. */
void nvml_watch_stop(struct nvml_watch *w);

#endif
