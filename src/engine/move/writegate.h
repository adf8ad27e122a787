/* Enforces engine.max_concurrent_writes: limits the entry writes of requests in flight over all workers.
 * Further writes wait first come, first served, and keep the room they have reserved; moves and reads are not
 * limited. It cannot deadlock, because no operation in flight depends on a waiting one. Any thread; one short
 * lock per operation. Not called without a limit. */
#ifndef KVF_ENGINE_MOVE_WRITEGATE_H
#define KVF_ENGINE_MOVE_WRITEGATE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "cache/cache.h"

struct writegate {
    pthread_mutex_t lock;
    uint64_t limit; /* 0: none */
    uint64_t in_flight;
    uint64_t most;                 /* in flight at a time, since writegate_most_from_here() */
    struct cache_op *first, *last; /* in line, linked by next */
    bool stopped;
    void (*post)(void *ctx, struct cache_op *op);
    void *ctx;
};

/* post() hands a write that stood in line to whoever carries it out; it is called with the gate's lock
 * held, so that none is under way after writegate_stop(). */
void writegate_init(struct writegate *g, uint64_t limit, void (*post)(void *ctx, struct cache_op *op),
                    void *ctx);
void writegate_destroy(struct writegate *g);
/* A write would begin: true and has_turn is set, or it is put in line and not the caller's any more until
 * it is posted, has_turn set. */
bool writegate_enter(struct writegate *g, struct cache_op *op);
void writegate_leave(struct writegate *g); /* one that had its turn has ended: the first in line has it */
void writegate_stop(struct writegate *g);  /* the run ends: posts all, and no write waits any longer */
void writegate_go_on(struct writegate *g); /* after a stop, with nothing in flight */
uint64_t writegate_most(struct writegate *g);
void writegate_most_from_here(struct writegate *g);

#endif
