/* The upper bound of its throughput that follows from the bytes that the requests done
 * had to move, and from the bandwidths of the tiers.
 *
 * A request owes its bytes: what it writes, what it finds and reads, and a read of its context for each batch
 * of its decode, whatever becomes of them, but for what a shared store has lost or has already. A done
 * request has moved them all; so the bytes owed by the requests done are at most the bytes that requests
 * moved. And no tier moves more than its bandwidth allows: reads / read bandwidth + writes / write bandwidth
 * is at most the time, at full duplex each of them, and both together by what both may have. (A calibrated
 * tier, which has a rate for each depth, is not held to that.) It follows that tokens/s is at most tokens /
 * owed bytes x the sum of the tiers' bandwidths. A run that breaks one of the first two counts as done what
 * was not done. Pure. Any thread. */
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
