/* The remote tier that the pods of a simulation share, where messages take time: it is rank 0's, one cache
 * with one link, and elsewhere for every pod, those of rank 0 too.
 *
 *     pod ── FIND, the keys of a request ──────────────► store
 *         ◄── FOUND, which of them it has ──
 *         ── MOVE, an entry to read or write ──────────►
 *         ◄── TURN, when its bytes pass the link, or that it has no such entry ──
 *         ── NOTE, an entry was written or accessed ───►
 *
 * Each message arrives fleet.delay after it was sent, and the store takes those of all pods in the order of
 * arrival, pod, and sending. It answers in that order, so that a pod's questions are answered first in, first
 * out. Bytes are delayed like messages: of a turn from s to c at the store, a pod sees the delay added to
 * both.
 *
 * Control thread only. */
#ifndef KVF_ENGINE_PODS_FARSTORE_H
#define KVF_ENGINE_PODS_FARSTORE_H

#include <stdbool.h>
#include <stdint.h>

#include "cache/cache.h"

struct engine;
struct flight;
struct pod;

/* The requests of a pod that wait for an answer, in the order of asking. */
struct farstore_asks {
    struct flight *first, *last;
    uint64_t asked, answered; /* questions so far */
};

bool farstore_is(const struct engine *e); /* this run has one, here or at rank 0 */
/* A pod asks for entries, asks for a turn for a read or a write, and tells news of an entry. */
void farstore_find(struct pod *p, struct flight *f, const struct cache_key *keys, uint32_t count);
void farstore_move(struct pod *p, uint64_t number, const struct cache_op *op, enum kvf_dir dir);
void farstore_tell(void *pod, const struct cache_note *note);
void farstore_forget(struct pod *p); /* it is gone, and waits for no answer */

/* Takes all that has arrived by now, at the store and at the pods here. False: a message cannot be read. */
bool farstore_messages(struct engine *e);

#endif
