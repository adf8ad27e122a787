/* KV events of an engine (vLLM's, as its ZMQ publisher sends them) as a trace. Each stored run of blocks
 * becomes a request whose context is the whole prefix up to its last block: what was there before is a lookup
 * that hits, what was stored a miss. Requests that the engine answered wholly from its cache send no event,
 * so they are not in the trace. One thread. */
#ifndef KVF_STUDY_CAPTURE_CAPTURE_EVENTS_H
#define KVF_STUDY_CAPTURE_CAPTURE_EVENTS_H

#include "metrics/histogram.h"
#include "study/capture/capture.h"
#include "workload/idmap.h"

enum { EVENTS_PODS = CAPTURE_PARTS };

struct capture_events {
    struct capture *c;
    struct capture_node { /* a block by its tokens and those before them, of all pods */
        uint64_t id;
        uint32_t parent; /* index + 1; 0: none, or not known */
        uint32_t depth;  /* blocks up to it */
    } * node;
    uint32_t nodes, node_cap;
    struct idmap by_id;   /* a block's id to its node + 1 */
    struct capture_held { /* a block that a pod has or had, by the engine's own hash */
        uint32_t node;
        uint32_t epoch; /* of its pod, which a cleared cache begins anew */
        bool there;
        uint64_t stored_ns;
    } * held;
    uint64_t helds, held_cap;
    struct idmap by_hash;
    uint32_t epoch[EVENTS_PODS];
    uint64_t expected[EVENTS_PODS]; /* sequence number; 0 before the first */
    FILE *blocks;                   /* NULL: the stream of stored and removed blocks is not written */
    struct buf block;               /* that is hashed */
    uint64_t looked_up, computed; /* blocks of the requests that stored any, and of these what they stored */
    uint64_t batches, malformed, stored, again, removed, cleared, orphans, lost, replayed, restarts;
    uint64_t lost_told;    /* of those lost, in a request */
    uint64_t block_tokens; /* of the engine; 0 before the first event */
    uint64_t batch_ns;
    unsigned pod;
    struct histogram residence; /* ns from stored to removed */
};

void capture_events_init(struct capture_events *ev, struct capture *c);
void capture_events_free(struct capture_events *ev);
/* Writes to a file what is stored and removed, as rows of CSV. 0 or a negative code. */
int capture_events_blocks(struct capture_events *ev, const char *path, struct err *e);
/* Closes it, where there is one; 0 or -KVF_ERR_IO, -KVF_ERR_NOSPACE, also for an earlier write. */
int capture_events_blocks_end(struct capture_events *ev, const char *path, struct err *e);
/* So many batches of a pod did not come. */
void capture_events_lost(struct capture_events *ev, unsigned pod, uint64_t batches);
/* The payload of one message; false when it is none. What of it could be read is kept. */
bool capture_events_batch(struct capture_events *ev, unsigned pod, const void *payload, size_t len);
/* Publishers and, behind a comma, where they replay: "tcp://host:5557,tcp://host:5558". Receives until a
 * signal asks for the end. 0 or a negative code: also where libzmq is not installed. */
int capture_events_receive(struct capture_events *ev, const char *const *endpoints, unsigned count,
                           void (*tell)(const struct capture *c), struct err *e);

#endif
