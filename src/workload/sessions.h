/* Sessions of a trace that names none, from the blocks of its requests: a request continues the session of
 * the request before it whose whole blocks it begins with, when its context is at least as long as that one's
 * context and answer together. Bounded memory: blocks that were not seen among the last SESSIONS_BLOCKS or
 * more are forgotten, so are requests before the last SESSIONS_REQUESTS, and what would have continued from
 * there begins a session. One thread. */
#ifndef KVF_WORKLOAD_SESSIONS_H
#define KVF_WORKLOAD_SESSIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "workload/idmap.h"

enum { SESSIONS_BLOCKS = 1 << 22, SESSIONS_REQUESTS = 1 << 20 };

struct sessions {            /* all zero at the start; about 160 MiB at most */
    struct idmap young, old; /* a block to the last request that has it, as its number */
    struct sessions_request {
        uint64_t session, whole_blocks, tokens; /* tokens: of context and answer */
    } * request;                                /* the last SESSIONS_REQUESTS, by number */
    uint64_t requests, named;
    bool forgot; /* blocks */
};

/* The session of the next request, from 1; *seen becomes the number of its leading blocks that came before. A
 * session that the trace names is told in `known`, 0 otherwise. */
uint64_t sessions_next(struct sessions *s, const uint64_t *ids, uint32_t count, uint64_t block_tokens,
                       uint64_t context_tokens, uint64_t generate_tokens, uint64_t known, uint32_t *seen);
void sessions_free(struct sessions *s);

#endif
