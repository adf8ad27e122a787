/* KV events of an engine (vLLM's, as its ZMQ publisher sends them) as a trace. A run of blocks that is stored
 * becomes a request whose context is the whole prefix up to its last block: what was there before is a lookup
 * that hits, what was stored a miss. An engine that computes a prompt in parts stores one run for each, and
 * blocks of its answer as they fill: these go on from the last block of the request within a short time, and
 * belong to it; those of the answer are counted apart. Requests that the engine answered wholly from its
 * cache send no event, so they are not in the trace. One thread. */
#ifndef KVF_STUDY_CAPTURE_CAPTURE_EVENTS_H
#define KVF_STUDY_CAPTURE_CAPTURE_EVENTS_H

#include "metrics/histogram.h"
#include "study/capture/capture.h"
#include "study/capture/capture_held.h"
#include "workload/idmap.h"

enum { EVENTS_PODS = CAPTURE_PARTS };

/* Blocks stored at once, or a request of which more may come. */
struct capture_run {
    uint32_t parent;                  /* node + 1 of the block before its first; 0: none */
    uint32_t tail;                    /* node of its last block */
    uint32_t prompt;                  /* node of the last block of its prompt */
    uint32_t blocks, fresh;           /* of the prompt: stored, and stored for the first time ever */
    uint32_t then_blocks, then_fresh; /* behind it: of its answer, unless more of the prompt comes */
    uint32_t before, after;           /* open requests of the pod by their last run, index + 1 */
    unsigned pod;
    bool told; /* its request is in the trace; blocks of its answer come */
    uint64_t at_ns, last_ns, heard_ns, lost;
    uint64_t prompt_ns, prompt_heard_ns; /* of the last part that was surely of the prompt */
};

struct capture_events {
    struct capture *c;
    struct capture_held held;
    struct capture_run *open; /* requests of which more may come */
    uint32_t opens, open_cap, spare;
    uint32_t oldest[EVENTS_PODS], newest[EVENTS_PODS], open_count[EVENTS_PODS];
    struct idmap by_tail; /* pod and node to the index + 1 */
    uint64_t turn_ns; /* a run that comes later begins the next request; UINT64_MAX: by the block's size */
    uint64_t settled_ns[EVENTS_PODS];
    uint64_t heard_ns; /* when the batch came, by the clock here */
    struct capture_clock clock[EVENTS_PODS];
    uint64_t expected[EVENTS_PODS]; /* sequence number; 0 before the first */
    FILE *blocks;                   /* NULL: the stream of stored and removed blocks is not written */
    struct msgpack_zone *parsed;    /* the message at hand; its memory serves the next ones */
    struct buf block, tokens;       /* that is hashed; of the event at hand */
    uint64_t looked_up, computed;   /* blocks of the prompts that stored any, and of these what they stored */
    uint64_t answered;              /* blocks that were stored while answering */
    uint64_t batches, malformed, stored, again, removed, cleared, orphans, lost, replayed, restarts;
    uint64_t lost_told;    /* of those lost, in a request */
    uint64_t block_tokens; /* of the engine; 0 before the first event */
    uint64_t batch_ns;
    unsigned pod;
    struct histogram residence; /* ns from stored to removed */
};

void capture_events_init(struct capture_events *ev, struct capture *c); /* writes its requests through `c` */
void capture_events_free(struct capture_events *ev);                    /* what it owns */
/* Opens a file for a CSV row for each block stored or removed. 0 or a negative code. */
int capture_events_blocks(struct capture_events *ev, const char *path, struct err *e);
/* Closes that file, if any: 0, or -KVF_ERR_IO or -KVF_ERR_NOSPACE, also for an earlier write. */
int capture_events_blocks_end(struct capture_events *ev, const char *path, struct err *e);
/* Counts batches of a pod that were lost. */
void capture_events_lost(struct capture_events *ev, unsigned pod, uint64_t batches);
/* Takes the payload of one message. false: it is malformed; the readable part of it is kept. */
bool capture_events_batch(struct capture_events *ev, unsigned pod, const void *payload, size_t len);
/* Adds a run of ev->pod: a new request, or the next part of one. */
void capture_run_add(struct capture_events *ev, const struct capture_run *run);
/* Writes requests whose prompts must be complete, because nothing has come for long enough by the times of
 * the pod's batches; with `silent` by the local clock, for all pods. */
void capture_runs_settle(struct capture_events *ev, bool silent);
/* capture_flush(), with unfinished requests in rows that survive a kill; later requests wait for them. */
void capture_runs_flush(struct capture_events *ev);
void capture_runs_end(struct capture_events *ev); /* writes all of them */
/* Receives from publishers until a signal asks for the end. An endpoint is the publisher's and, after a
 * comma, that of its replay: "tcp://host:5557,tcp://host:5558". 0 or a negative code, also where libzmq is
 * missing. */
int capture_events_receive(struct capture_events *ev, const char *const *endpoints, unsigned count,
                           void (*tell)(const struct capture *c), struct err *e);

#endif
