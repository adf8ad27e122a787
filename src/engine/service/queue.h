/* The QoS queue: requests that wait for a slot. Within a class by scheduled arrival, then by id.
 *
 * Between classes, strict: the first class with a waiting request is served first, however long others have
 * waited. Aging: by scheduled arrival + class x aging, the smallest first, of equals the more urgent class.
 * The key of a request never changes, so nothing is sorted again while it waits. A request that arrives more
 * than class x aging later is served later, whatever its class, so no class starves.
 *
 * Not thread safe: the engine's queue lock. */
#ifndef KVF_ENGINE_SERVICE_QUEUE_H
#define KVF_ENGINE_SERVICE_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/heap.h"
#include "base/terms.h"
#include "engine/pipeline/flight.h"

struct queue {
    struct heap heap[KVF_CLASSES_MAX];
    uint64_t count;
    uint64_t limit;
    uint64_t aging_ns; /* that one class is worth; 0: strict */
};

/* Begins empty, for at most `limit` requests; aging_ns 0 is strict. */
void queue_init(struct queue *q, uint64_t limit, uint64_t aging_ns);
void queue_destroy(struct queue *q);                /* not the flights */
bool queue_push(struct queue *q, struct flight *f); /* false: full */
struct flight *queue_pop(struct queue *q);          /* NULL: empty */
/* Scheduled arrival of the longest waiting request of a class; KVF_NEVER when none waits. */
uint64_t queue_oldest_ns(const struct queue *q, uint32_t klass);
/* The number of waiting requests of a class that arrived before a time; walks all that wait. */
uint64_t queue_older(const struct queue *q, uint32_t klass, uint64_t arrival_ns);

#endif
