/* An upper bound on the throughput of a run, from the bytes that completed requests must move and the
 * bandwidths of the tiers.
 *
 * A request must move the entries that it writes, the entries that it finds and reads, and its context once
 * per decode batch, except entries that a shared store has lost or already holds. A completed request has
 * moved them all, so the bytes owed by completed requests are at most the bytes moved. No tier exceeds its
 * bandwidth: reads / read bandwidth + writes / write bandwidth is at most the elapsed time; at full duplex
 * this holds for each direction, and for both together under their joint limit. (It is not checked for a
 * calibrated tier, whose rate depends on depth.) Hence tokens/s is at most tokens / owed bytes x the sum of
 * the tiers' bandwidths. A run that violates one of the first two bounds counts work that was not done. Pure.
 * Any thread. */
#ifndef KVF_ENGINE_LIMITS_BOUND_H
#define KVF_ENGINE_LIMITS_BOUND_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/terms.h"
#include "scenario/scenario.h"

/* All from the beginning of a simulated run to its end. */
struct bound_input {
    uint64_t owed_bytes;  /* of the requests done */
    uint64_t moved_bytes; /* read and written for requests, as completed */
    bool on[KVF_TIERS];
    uint64_t bytes[KVF_TIERS][KVF_DIRS]; /* completed, whatever for */
    struct scenario_emulation link[KVF_TIERS];
    uint32_t links[KVF_TIERS]; /* of that kind, over which the bytes went; 0 is 1 */
    uint64_t run_ns;
};

/* 0, or -KVF_ERR_INTERNAL with what was broken. */
int bound_check(const struct bound_input *in, struct err *e);

#endif
