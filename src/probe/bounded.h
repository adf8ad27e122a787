/* A call that may never come back, such as one into a driver whose device is lost. */
#ifndef KVF_PROBE_BOUNDED_H
#define KVF_PROBE_BOUNDED_H

#include <stdbool.h>
#include <stdint.h>

/* Runs work(ctx) in a thread of its own and waits at most patience_ns for its end. true: it has ended, and
 * ctx is the caller's again. false: it goes on and keeps ctx; when it ends, its thread calls late(ctx). Where
 * no thread can be made, the caller does the work. Any thread. */
bool bounded_call(void (*work)(void *ctx), void (*late)(void *ctx), void *ctx, uint64_t patience_ns);

#endif
