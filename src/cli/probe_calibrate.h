/* `kvfall probe --calibrate`: measures the tiers of this machine and writes scenario keys with the results.
 * Main thread only. */
#ifndef KVF_CLI_PROBE_CALIBRATE_H
#define KVF_CLI_PROBE_CALIBRATE_H

#include "base/err.h"
#include "study/options.h"

/* Announces its plan and its progress on standard error. Returns the exit status; errors have been printed.
 */
int probe_calibrate(const struct options *o);

#endif
