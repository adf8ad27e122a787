/* Health of NVMe drives, read with libnvme, which is loaded at run time. The declarations of its ABI are our
 * own; the layout of the logs is that of the NVM Express base specification and of the OCP Datacenter NVMe
 * SSD specification. One thread at a time. */
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

/* Opens the drive under a file system and queries it once. 0, or -KVF_ERR_UNAVAILABLE with a sentence: no
 * library, no permission, or not an NVMe drive. `library` NULL: libnvme.so.1, as the loader finds it. */
int health_open(struct health_drive **out, const struct blockdev *device, const char *library, struct err *e);
/* Queries the drive and waits at most two seconds; false, with `out` untouched, when it did not answer or
 * failed. */
bool health_read(struct health_drive *h, struct health *out);
void health_close(struct health_drive *h); /* takes NULL */

#endif
