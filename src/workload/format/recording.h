/* Recorded conversations of agents, as kv-cache-tester keeps them: a JSON object each, whose requests name
 * the blocks of their context by ids of the file's own. All of them are held in memory, ids as runs of
 * consecutive numbers, since each request mostly repeats the one before: a few hundred bytes a request. One
 * thread at a time until they are read; then any thread. */
#ifndef KVF_WORKLOAD_FORMAT_RECORDING_H
#define KVF_WORKLOAD_FORMAT_RECORDING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "workload/workload.h"

#define RECORDING_NONE       UINT32_MAX
#define RECORDINGS_BYTES_MAX (UINT64_C(1) << 29) /* of all that is held */

struct recording_run { /* ids first, first + 1, ... */
    uint64_t first;
    uint32_t count;
};

struct recording_request {
    uint64_t time_ns;  /* from the start of its conversation */
    uint64_t think_ns; /* between the response before, of its lane, and it */
    uint64_t answered_ns;
    uint64_t context_tokens, generate_tokens;
    uint32_t runs_from, runs, ids;
    uint32_t conversation;
    uint32_t order;  /* in its conversation, from 0: as in the file, but nobody before who starts it */
    uint32_t next;   /* request of the same lane, or RECORDING_NONE */
    uint32_t starts; /* first lane that its response starts, or RECORDING_NONE */
};

/* An agent's own sequence of requests: the conversation's own, or a sub-agent's. */
struct recording_lane {
    uint32_t first;    /* request */
    uint32_t next;     /* lane that the same response starts, or RECORDING_NONE */
    uint64_t delay_ns; /* between that response and the lane's start */
};

struct recording_conversation {
    uint32_t first;    /* request of its own lane; RECORDING_NONE: none of it can be used */
    uint32_t requests; /* that can be used, sub-agents' included */
    uint32_t rejected[WORKLOAD_REJECTS];
};

struct recordings {
    struct recording_conversation *conversation;
    struct recording_request *request; /* by conversation, then in the file's order */
    struct recording_lane *lane;       /* of sub-agents */
    struct recording_run *run;
    uint32_t conversations, requests, lanes, runs;
    uint32_t conversation_cap, request_cap, lane_cap, run_cap;
    bool full;                    /* there is more than may be held */
    uint64_t first_rejected_line; /* 0: none */
    char first_rejected_why[160]; /* with the name of its file */
};

/* Reads a file, or the *.json files of a directory, at most `limit` (0: all), with blocks of `block_tokens`
 * tokens. Unusable requests are counted in their conversation; a file of another kind counts as one. 0, or
 * -KVF_ERR_USAGE when there is nothing usable, or too much to hold. */
int recordings_open(struct recordings *r, const char *path, uint64_t limit, uint64_t block_tokens,
                    struct err *e);
/* Adds the conversation of one more file. */
void recordings_read(struct recordings *r, const char *path, uint64_t block_tokens);
void recordings_close(struct recordings *r); /* takes one that is all zero */
/* Writes the ids of a request; `ids` has room for all of them. */
void recordings_ids(const struct recordings *r, const struct recording_request *q, uint64_t *ids);

#endif
