/* Pods on other ranks: a request that rank 0 routes to another rank is sent there with its scheduled arrival,
 * served and counted there, and answered to rank 0, where its user waits. Its TTFT therefore includes the
 * transit. */
#ifndef KVF_ENGINE_PODS_AWAY_H
#define KVF_ENGINE_PODS_AWAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct engine;
struct fleet_block;
struct flight;

struct away_answer {
    uint64_t request; /* its id: a flight's number is used again */
    uint32_t hit_blocks;
    bool failed, dropped; /* dropped: its queue was full */
    bool back;            /* not served: its pod is gone */
};

/* Sends a routed request; false: it stays here. The caller holds queue_lock, as for the next two. */
bool away_send(struct engine *e, struct flight *f);
/* Fills a new flight with a request that has come. False: it is none of this pod's. */
bool away_take(struct engine *e, struct flight *f, uint64_t number, const void *bytes, size_t len);
/* A guest has ended, or found the queue full; or its pod is gone. */
void away_answer(struct engine *e, const struct flight *f, bool dropped);
void away_back(struct engine *e, const struct flight *f);

/* Whether rank 0 routes by an index of the blocks that these pods hold. */
bool away_indexed(const struct engine *e);
/* A block came to be in a tier of this pod, or left it. Any thread. */
void away_moved(struct engine *e, const struct fleet_block *block, int tier, bool stored);
/* Hands on what has moved since: to the index here, or to rank 0's. With queue_lock, as the next. */
void away_moved_tell(struct engine *e);
/* Of another pod, without that lock; its time is that at which it comes. */
void away_moved_take(struct engine *e, unsigned pod, const void *bytes, size_t len);

#endif
