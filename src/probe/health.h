/* Health of NVMe drives, by the library of the NVMe project (libnvme), looked up at run time. The few
 * declarations of its ABI that are needed here are our own; the layout of the logs is that of the NVM Express
 * base specification and of the OCP Datacenter NVMe SSD specification. One thread at a time. */
#ifndef KVF_PROBE_HEALTH_H
#define KVF_PROBE_HEALTH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "probe/blockdev.h"

/* Counts are over the life of the drive. NaN: it does not tell. */
struct health {
    double temperature_c;       /* now */
    double used_ratio;          /* of its rated life; may be above 1 */
    double spare_ratio;         /* blocks left to replace bad ones */
    double host_written_bytes;  /* in steps of 512,000 */
    double media_written_bytes; /* to the flash itself */
    unsigned warnings;          /* of enum health_warning, a bit for each */
};

/* X(bit, sentence) */
#define HEALTH_WARNING_LIST(X)                                                                               \
    X(0, "its spare blocks are below their threshold")                                                       \
    X(1, "its temperature is outside its limits")                                                            \
    X(2, "its reliability is degraded by errors of the media")                                               \
    X(3, "its media has become read-only")                                                                   \
    X(4, "its backup of volatile memory has failed")                                                         \
    X(5, "its persistent memory region has become read-only")
const char *health_warning(unsigned bit); /* NULL: none of them */

struct health_drive;

/* Opens the drive that a file system is on, and asks it once. -KVF_ERR_UNAVAILABLE with a sentence: no
 * library, no right, or a device that is no NVMe drive. `library`: NULL for libnvme.so.1, as the loader finds
 * it. */
int health_open(struct health_drive **out, const struct blockdev *device, const char *library, struct err *e);
/* A command to the drive, for which at most two seconds are waited: false when it did not answer or failed,
 * and `out` is untouched. */
bool health_read(struct health_drive *h, struct health *out);
void health_close(struct health_drive *h); /* takes NULL */

#endif
