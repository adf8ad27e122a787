/* A thread that looks at GPUs at a bounded rate, so that no thread that keeps time waits for the driver:
 * two counters alone take 20 ms each for every device, and a call to a device that is lost may not return
 * for seconds. */
#ifndef KVF_PROBE_NVML_WATCH_H
#define KVF_PROBE_NVML_WATCH_H

#include <stdint.h>

#include "probe/nvml.h"

enum { NVML_WATCH_MAX = 8 };
#define NVML_WATCH_LEAST_NS UINT64_C(100000000)  /* between two looks, at least */
#define NVML_WATCH_MOST_NS  UINT64_C(1000000000) /* and at most */

struct nvml_watch;

/* Takes over `n`, and watches the devices of these indices, at most NVML_WATCH_MAX, about every period_ns
 * inside the bounds above. The first look is over before it returns, unless that takes more than two seconds:
 * figures are missing then until it ends. -KVF_ERR_INTERNAL when there can be no thread (`n` is closed then).
 */
int nvml_watch_start(struct nvml_watch **out, struct nvml *n, const uint32_t *index, uint32_t count,
                     uint64_t period_ns, struct err *e);
/* The newest figures of the count devices, in the order of their indices, and how many looks there have
 * been. 0: figures are missing, since the newest are older than three periods and two seconds: the driver
 * does not answer. Any thread; never waits. */
uint64_t nvml_watch_read(struct nvml_watch *w, struct nvml_sample *out);
/* Ends the thread and closes the library. One that hangs in the driver is left behind, with what it uses.
 * Takes NULL. */
void nvml_watch_stop(struct nvml_watch *w);

#endif
