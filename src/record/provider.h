/* Where a screen gets snapshots from: the live engine or the database. */
#ifndef KVF_RECORD_PROVIDER_H
#define KVF_RECORD_PROVIDER_H

#include <stdbool.h>
#include <stdint.h>

#include "record/run.h"
#include "record/snapshot.h"

struct provider {
    void *ctx;
    const struct run_record *run; /* what is shown; fixed parts only while it runs */
    /* Newest snapshot after *version; false when there is none. */
    bool (*next)(void *ctx, struct snapshot *out, uint64_t *version);
    /* The snapshot at or before run time t_s; false where history is not to be had. NULL: live only. */
    bool (*at)(void *ctx, double t_s, struct snapshot *out);
    bool (*ended)(void *ctx);
};

#endif
