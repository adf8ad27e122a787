/* `kvfall probe --calibrate`: measures the tiers of this machine and writes the keys that say so. */
#ifndef KVF_CLI_PROBE_CALIBRATE_H
#define KVF_CLI_PROBE_CALIBRATE_H

#include "base/err.h"
#include "study/options.h"

/* Announces its plan on standard error, then its progress. Returns the exit status;
 * what went wrong has been said. */
int probe_calibrate(const struct options *o);

#endif
