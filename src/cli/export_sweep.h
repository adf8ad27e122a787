/* `kvfall export sweep:REF`. Main thread. */
#ifndef KVF_CLI_EXPORT_SWEEP_H
#define KVF_CLI_EXPORT_SWEEP_H

#include "base/buf.h"
#include "base/err.h"
#include "study/options.h"

/* Renders the sweep that `ref` names into `out`, as the options say. 0 or a negative code. */
int export_sweep(const struct options *o, const char *ref, struct buf *out, struct err *e);

#endif
