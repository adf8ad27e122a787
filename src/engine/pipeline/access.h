/* A request's accesses to the cache, one operation at a time: lookup, read, write, wait. The request's
 * storage time is the time in which at least one resulting operation is outstanding. Between enter and leave
 * of the executor, on the thread that serves the request. */
#ifndef KVF_ENGINE_PIPELINE_ACCESS_H
#define KVF_ENGINE_PIPELINE_ACCESS_H

#include "engine/pipeline/pipeline.h"

/* The role of an operation in its request; kept in op->role. */
enum access_role {
    ROLE_NONE,
    ROLE_PROMPT_READ,
    ROLE_PROMPT_WRITE,
    ROLE_PROMPT_WAIT,
    ROLE_TURN_READ,
    ROLE_TURN_WAIT,
    ROLE_PREFILL_WRITE,
    ROLE_BLOCK_READ,
    ROLE_BLOCK_WRITE,
    ROLE_BLOCK_WAIT,
    ROLE_DECODE_READ,
    ROLE_DECODE_WRITE,
    ROLE_DECODE_WAIT,
    ROLE_CHUNK_READ,
    ROLE_CHUNK_WAIT
};

/* A hint: the request is about to look up its entries. What the cache reads of the first of them comes from
 * memory meanwhile. */
void access_soon(const struct pipeline *p, const struct flight *f);
/* One lookup: reads the entry, waits for whoever writes it, or counts a miss. Whether it missed. */
bool access_missed(struct pipeline *p, struct executor *x, struct flight *f, struct cache_key key,
                   enum kvf_cause cause, enum access_role read, enum access_role wait);
/* A turn from before the user's first request (request.before_tokens) that is not there is written by that,
 * in the mean size of them all, and is no lookup: nothing was there to be missed. Whether that was so. */
bool access_before(struct pipeline *p, struct executor *x, struct flight *f, struct cache_key key);
/* Counts a lookup that hit in this tier, or missed (-1). */
void access_count(struct pipeline *p, struct flight *f, enum kvf_cause cause, int tier);
/* Reads an entry that is resident; returns its size. Reads of a decode are owed before they begin. */
uint64_t access_read(struct pipeline *p, struct executor *x, struct flight *f, struct cache_key key,
                     enum kvf_cause cause, uint64_t rank, enum access_role role);
/* Touches an entry, if it is there. */
void access_touch(struct pipeline *p, const struct flight *f, struct cache_key key, uint64_t rank);
/* Writes an entry unless it is there, being written, not admitted, or too large, by which the request fails.
 */
enum cache_verdict access_write(struct pipeline *p, struct executor *x, struct flight *f,
                                struct cache_key key, uint64_t bytes, enum kvf_cause cause, uint64_t rank,
                                enum access_role role);
/* Whether an operation is under way: the write, or its wait for room. */
static inline bool access_under_way(enum cache_verdict verdict) {
    return verdict == CACHE_PLANNED || verdict == CACHE_NO_ROOM_NOW;
}
/* Waits for the writer of the entry; false without one, or when the request's patience is over. */
bool access_wait(struct pipeline *p, struct executor *x, struct flight *f, struct cache_key key,
                 enum kvf_cause cause, enum access_role role);
/* A write of it found no room: it fails. What prepares or ingests goes on without. */
void access_refused(struct flight *f);
/* An operation is outstanding no more; access_ends() comes before what its end brings about. */
void access_ends(struct executor *x, struct flight *f, const struct cache_op *op, enum cache_outcome outcome);
void access_ended(struct executor *x, struct flight *f);
/* A write of the request has its room, or ended without; without effect on what never waited for any. */
void access_room_found(struct executor *x, struct flight *f, struct cache_op *op);
/* Its first token is there (first_token_ns): keeps how long it was in storage and waited for room until then.
 */
void access_first_token(struct flight *f);

#endif
