/* A call that may never come back, such as one into a driver whose device is lost. */
#ifndef KVF_PROBE_BOUNDED_H
#define KVF_PROBE_BOUNDED_H

#include <stdbool.h>
#include <stdint.h>

/* Carries out work(ctx) in a thread of its own and waits for its end, patience_ns at most. true: it has ended
 * and ctx is the caller's. false: it goes on by itself, ctx is its own, and when it does end, its thread
 * calls late(ctx). Without a thread the caller does the work. Any thread. */
bool bounded_call(void (*work)(void *ctx), void (*late)(void *ctx), void *ctx, uint64_t patience_ns);

#endif
