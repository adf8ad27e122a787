/* Entry sizes of a workload, for entries written before the clock: opens the workload a second time and
 * repeats it at its end, so that the run's own position and random draws are unaffected. The same scenario
 * gives the same sizes. Not thread safe. */
#ifndef KVF_ENGINE_ARRIVALS_SIZES_H
#define KVF_ENGINE_ARRIVALS_SIZES_H

#include <stdint.h>

#include "base/err.h"
#include "scenario/scenario.h"

struct sizes;
/* Opens the workload a second time. NULL with a sentence where it cannot be opened. */
struct sizes *sizes_open(const struct scenario *s, struct err *e);
void sizes_close(struct sizes *z); /* takes NULL */
/* The size of the next entry of at most `most` bytes; 0: none among the next `tries`. */
uint64_t sizes_next(struct sizes *z, uint64_t most, unsigned tries);

#endif
