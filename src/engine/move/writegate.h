/* The gate of engine.max_concurrent_writes: at most so many entry writes of requests are in flight, in all
 * workers together. Who comes when as many are waits in line, first come, first served, with the room it
 * has reserved; moves and reads pass by, and what is in flight needs nothing that waits here, so every
 * write gets its turn. Any thread; one short lock an operation. Without a limit it is not called. */
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
