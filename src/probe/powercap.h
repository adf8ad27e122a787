/* Energy drawn by the processors of this machine and their memory, from the kernel's powercap (RAPL). On most
 * machines only root may read it; virtual machines have none. One thread. */
#ifndef KVF_PROBE_POWERCAP_H
#define KVF_PROBE_POWERCAP_H

#include "base/err.h"

struct powercap;

/* Opens the zones of packages and memory. 0, or -KVF_ERR_UNAVAILABLE with a sentence where none can be read.
 * `root` is the folder with /sys, "" for this machine. */
int powercap_open(struct powercap **out, const char *root, struct err *e);
/* Joules since the opening; NaN when a zone can no longer be read. Call it every ten minutes at least,
 * because the counters wrap around. One small read a zone. */
double powercap_joules(struct powercap *p);
void powercap_close(struct powercap *p); /* takes NULL */

#endif
