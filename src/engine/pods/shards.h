/* A simulated fleet whose messages take time (fleet.delay), so that ranks can divide its pods among them.
 *
 *     rank 0: users, routers ── a request, fleet.delay later ──► pods of any rank
 *                            ◄── that it writes its blocks, and its answer, fleet.delay later ──
 *                            ◄── a block stored or removed, known fleet.index.staleness later ──
 *             a remote tier ◄── lookups, turns at its channels, what came to be there ──
 *             that all share ── answers, each fleet.delay later ──►
 *
 * Time advances in windows no longer than the lesser of the two delays, so a message sent in one window
 * arrives in a later one. Within a window the routers and each pod are independent, and every rank simulates
 * it alone. Ranks exchange messages between windows; rank 0 handles them in the order of time, pod and
 * sending, which is the same for any number of ranks, including one. Rank 0 starts the next window at the
 * earliest event of any rank.
 *
 * Each rank has consecutive pods; rank 0 has the first, and fewer of them. Counts are sums of integers, so
 * totals do not depend on the division either. The results have no rows of ranks, since one simulated machine
 * is spread over them.
 *
 * Control thread only; functions that send, and shards_due(), with queue_lock. */
#ifndef KVF_ENGINE_PODS_SHARDS_H
#define KVF_ENGINE_PODS_SHARDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/terms.h"

struct buf;
struct engine;
struct fleet_block;
struct flight;
struct rank_message;
struct shards;

void shards_open(struct engine *e);  /* where messages take time; on a virtual clock, before the pods */
void shards_close(struct engine *e); /* frees what shards_open() made */
/* Before anything is created: whether ranks cannot divide a fleet, with the remedy. 0 for what is no fleet.
 */
int shards_refused(const struct engine *e, struct err *err);
/* The pods of this rank. */
void shards_place(const struct engine *e, uint32_t *first, uint32_t *count);
bool shards_served(const struct engine *e);  /* by rank 0, which is another: there are no users here */
bool shards_indexed(const struct engine *e); /* routers want to know which blocks pods have */

/* A routed request goes to its pod; it is away until its answer has come. */
void shards_send(struct engine *e, struct flight *f);
/* A request that a pod here had from a router has ended; or is not served, and goes back. */
void shards_answer(struct engine *e, const struct flight *f, bool dropped);
void shards_back(struct engine *e, const struct flight *f);
/* It has been computed: its pod writes what is new. */
void shards_writes(struct engine *e, const struct flight *f);
/* A pod is gone from when this arrives, behind all requests that were sent to it. */
void shards_end_pod(struct engine *e, uint32_t pod);
void shards_moved(struct engine *e, const struct fleet_block *block, uint32_t pod, enum kvf_tier tier,
                  bool stored);

/* Between a pod and the remote tier that all share, whose rank is 0 (engine/pods/farstore.h). */
void shards_to_store(struct engine *e, uint32_t pod, uint8_t what, uint64_t number, const void *bytes,
                     size_t len);
void shards_from_store(struct engine *e, uint32_t pod, uint8_t what, uint64_t number, const void *bytes,
                       size_t len);
uint64_t shards_delay_ns(const struct engine *e);

struct shards_message {
    uint64_t number; /* of the router's flight; to and from the store: the pod's */
    bool to_store;
    uint8_t what; /* as it was sent to or from the store */
    bool answer;  /* to it; else it is a request, a parcel, ... */
    bool ends;    /* ... the end of that pod ... */
    bool writes;  /* ... or the word that it is computed */
    uint32_t pod;
    const char *bytes; /* of that, until the next call */
    size_t len;
    uint32_t hit_blocks; /* of an answer, as the next three */
    bool failed, dropped, back;
};
/* The next message to a pod or router here that has arrived by then. */
bool shards_due(struct engine *e, uint64_t now_ns, struct shards_message *out);
/* The same of messages to the store, or from it to a pod here. */
bool shards_store_due(struct engine *e, uint64_t now_ns, struct shards_message *out);
uint64_t shards_next_ns(const struct engine *e); /* when it arrives; KVF_NEVER: there is none */

/* Rank 0, whose own pods and routers have something to do at own_ns: when the first of all has. */
uint64_t shards_from_ns(const struct engine *e, uint64_t own_ns);
/* The latest end of a window that begins there. */
uint64_t shards_end_ns(const struct engine *e, uint64_t from_ns);
/* The others carry out a window to there, those that have something to do in it or all. */
void shards_begin(struct engine *e, uint64_t end_ns, bool all);
bool shards_replied(const struct engine *e); /* all that carry it out have */
/* All have, this rank too: takes what pods have said. */
void shards_gather(struct engine *e);
bool shards_level(const struct engine *e); /* the last window was of all, who are at one time */
/* Another rank: whether rank 0 has begun a window, and its end; the messages of it are here then. */
bool shards_begun(struct engine *e, uint64_t *end_ns);
/* It is carried out, and there is something to do here at own_ns. */
void shards_reply(struct engine *e, uint64_t own_ns);

/* A message of kind RANK_WINDOW, to free(); false: it is of no rank that can send it. */
bool shards_take(struct engine *e, struct rank_message *m);
/* Counts of the pods here, beside a reading of this rank; their length, of any rank; and rank 0 takes them.
 * Nothing, and 0, where messages take no time. */
void shards_pack(const struct engine *e, struct buf *out);
size_t shards_packed(const struct engine *e, unsigned rank);
void shards_told(struct engine *e, unsigned rank, const void *bytes);

#endif
