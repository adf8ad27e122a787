/* The sizes of the entries that a workload writes, for what is written before the clock: the workload is
 * read a second time, from its beginning and over again at its end, so that the run's own reading and its
 * draws are untouched. Same scenario, same sizes. Not thread safe. */
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
