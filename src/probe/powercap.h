/* Energy that the processors of this machine and their memory draw, as the kernel's powercap tells it (RAPL).
 * Most machines let root alone read it, and virtual ones have none. One thread. */
#ifndef KVF_PROBE_POWERCAP_H
#define KVF_PROBE_POWERCAP_H

#include "base/err.h"

struct powercap;

/* The packages and their memory. -KVF_ERR_UNAVAILABLE with a sentence where none can be read. `root`: where
 * /sys is looked for, "" for the machine itself. */
int powercap_open(struct powercap **out, const char *root, struct err *e);
/* Joules since it was opened; NaN when a zone cannot be read any more. The counters wrap around: to be called
 * every ten minutes at least. A small read for each zone. */
double powercap_joules(struct powercap *p);
void powercap_close(struct powercap *p); /* takes NULL */

#endif
