/* The rule behind the sentence "Bottleneck: ...". Documented in kvfall(1), READING THE RESULTS. */
#ifndef KVF_RECORD_BOTTLENECK_H
#define KVF_RECORD_BOTTLENECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/terms.h"

/* Means per request and shares; NaN where missing. */
struct bottleneck_input {
    double e2e_ms, queue_ms, storage_ms, generation_ms; /* means per completed request */
    double prefill_ms;                                  /* likewise, on a modelled GPU; 0 without one */
    double op_s[KVF_TIERS][KVF_DIRS];                   /* sum of entry operation times, seconds */
    double device_s[KVF_TIERS][KVF_DIRS];               /* of which at the device */
    double line_s[KVF_TIERS][KVF_DIRS];                 /* of which in line for it */
    double held_s; /* in line for their turn under engine.max_concurrent_writes; in none of these */
    double device_busy_ratio;     /* kernel's utilisation of the disk */
    double used_ratio[KVF_TIERS]; /* used / usable, NaN for a tier that is off */
    bool emulated[KVF_TIERS], compat[KVF_TIERS];
    double misses_ratio; /* misses / lookups without decode */
    double host_cpu_ratio;
    double slots_ratio; /* mean in service / slots */
    uint64_t requests;  /* done */
    uint64_t backlog;   /* waiting at the end */
    double oldest_ms;   /* what the one that waits longest has waited by then; 0 when none waits */
    uint64_t slots;     /* there are; 0 where unknown */
};

/* Writes one sentence, "Bottleneck: ..." left off, with its numbers; KVF_BOTTLENECK bytes hold any. Pure.
 * The order: no request done -> says so, and which operations took most time so far; queue >= 50 % of e2e,
 * or slots >= 95 % busy and somebody waiting for longer than the mean e2e -> overload (and what the slots
 * are busy with); generation, with the
 * prefill of a modelled GPU, >= 50 % -> generation; storage >= 50 % or the largest share
 * -> the tier and direction with most operation time, then whether its time is at the device (>= 50 %), in
 * line for it (>= 50 % together with that at it) or on the host side; else none stands out. Writes in line
 * for their turn count as one more tier with its operation time. */
char *bottleneck_sentence(const struct bottleneck_input *in, char *out, size_t len);

#endif
