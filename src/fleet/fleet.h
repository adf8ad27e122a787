/* The routers of a fleet and the index that they ask: which pod serves a request, and why. Decisions only: no
 * threads, no clock, and no I/O but that of an index in a server; the same calls give the same answers. One
 * thread.
 *
 *     pods: events (stored, removed) ──staleness──► index ─┐    (of each router its own, with spread)
 *     routers take requests in turn: request ──► routing ──┴─► pod, reason
 *
 * Of routings by prefix a pod's score is
 *     weights.prefix × (tier weights of its consecutive blocks from the first ÷ blocks of the request)
 *   + weights.load × (1 − its load ÷ the load of the most loaded), 1 where none has any,
 * (a block of the remote tier that all share counts for every pod), and the pod with the highest is taken, of
 * equals the one with fewer requests, then the lower number. */
#ifndef KVF_FLEET_FLEET_H
#define KVF_FLEET_FLEET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/terms.h"
#include "fleet/extents.h"
#include "metrics/histogram.h"
#include "scenario/scenario.h"

/* id, word in the request log */
#define FLEET_REASON_LIST(X)                                                                                 \
    X(NONE, "none") /* one pod, or not a request of the workload */                                          \
    X(DRAWN, "drawn")                                                                                        \
    X(TURN, "turn")                                                                                          \
    X(LOAD, "load") /* the least loaded; of routings by prefix: no pod with a prefix was better */           \
    X(SESSION, "session")                                                                                    \
    X(PREFIX, "prefix")
#define X(id, word) FLEET_REASON_##id,
enum fleet_reason { FLEET_REASON_LIST(X) FLEET_REASONS };
#undef X
const char *fleet_reason_word(enum fleet_reason r);

struct fleet_block {
    uint64_t hash;    /* of its key: by that a server and a router's memory know it */
    uint64_t context; /* with those beside it: the index in memory goes by runs of them */
    uint32_t number;
};
struct fleet_request {
    uint64_t session;      /* conversation */
    const uint64_t *block; /* hashes of the keys of its blocks; NULL where the routing does not ask */
    uint32_t blocks;
    uint32_t parts;
    const struct extents_part *part; /* the same blocks by contexts; likewise */
    uint64_t now_ns;
};
struct fleet_choice {
    uint32_t pod, router;
    enum fleet_reason reason;
    uint32_t expected; /* blocks from the first that the router takes to be there */
    uint64_t index_ns; /* that asking a server took; 0 where the index is in memory */
};
/* Since the opening. */
struct fleet_stats {
    uint64_t requests, lookups;  /* routed; blocks asked of the index */
    uint64_t entries, bytes;     /* now, of the index or of all routers' memories */
    uint64_t events;             /* that the index has been told, every view of it */
    uint64_t waiting, oldest_ns; /* events that one has not been told, and the time of the first */
};

struct fleet;
/* pod_blocks: blocks that the tiers of one pod hold, which is what a router remembers of it. */
int fleet_open(struct fleet **out, const struct scenario *s, uint64_t pod_blocks, struct err *err);
void fleet_close(struct fleet *f);             /* takes NULL; also what was not opened to the end */
bool fleet_asks_blocks(const struct fleet *f); /* whether requests need their blocks */
/* The pod of a request. It has one more to do from now on, until fleet_done(). */
struct fleet_choice fleet_route(struct fleet *f, const struct fleet_request *q);
void fleet_done(struct fleet *f, uint32_t pod);
bool fleet_asks_index(const struct fleet *f);
bool fleet_pod_up(const struct fleet *f, uint32_t pod);
uint64_t fleet_load(const struct fleet *f, uint32_t pod); /* requests that it has */
/* A block came to be in a tier of a pod, or left it; pod fleet.pods is the remote tier that they share. Times
 * do not go back. */
void fleet_event(struct fleet *f, uint64_t now_ns, const struct fleet_block *block, uint32_t pod,
                 enum kvf_tier tier, bool stored);
/* Tells the index what is older than its staleness; a request that is routed does the same before. */
void fleet_tell(struct fleet *f, uint64_t now_ns);
/* Parts that are gone, or back. Another pod, or another router, is up at any time. A router forgets what it
 * remembers; the index is empty, and is told nothing meanwhile. */
void fleet_set_pod_down(struct fleet *f, uint32_t pod, bool down);
void fleet_set_router_down(struct fleet *f, uint32_t router, bool down);
void fleet_set_index_down(struct fleet *f, bool down);
void fleet_read(const struct fleet *f, struct fleet_stats *out);
/* Lookups in the server so far; NULL where the index is in memory. */
const struct histogram *fleet_took(const struct fleet *f);
/* A sentence once the server is lost, from when on routers have no index; else NULL. */
const char *fleet_trouble(const struct fleet *f);

#endif
