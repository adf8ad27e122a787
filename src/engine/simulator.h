/* The event loop of a run on a virtual clock: arrivals, requests, operations and timers of the whole run,
 * on the control thread. Whatever can happen at a time happens; then the clock is set to the next time at
 * which anything will. At one time arrivals come first, then what ends, in the order in which it was begun:
 * nothing depends on the machine. */
#ifndef KVF_ENGINE_SIMULATOR_H
#define KVF_ENGINE_SIMULATOR_H

#include <stdint.h>

struct engine;
/* Goes on to that run time, but returns earlier when the control thread was woken, and a few times in a
 * second of real time, so that it looks after its commands. Does not wait for real time unless the
 * scenario's speed says so. */
void simulator_run(struct engine *e, uint64_t until_ns);

#endif
