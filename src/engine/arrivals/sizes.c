#include "engine/arrivals/sizes.h"

#include <stdlib.h>

#include "base/buf.h"
#include "workload/workload.h"

enum { SIZES_USERS = 256 }; /* whose sizes are drawn in turn */

struct sizes {
    struct scenario s; /* with fewer users, and without end */
    struct workload *w;
    struct request r;
    uint64_t user;
    uint64_t block, blocks; /* of the request, at block granularity */
};

struct sizes *sizes_open(const struct scenario *s, struct err *e) {
    struct sizes *z = mem_zalloc(1, sizeof *z);
    z->s = *s;
    z->s.run.max_requests = z->s.workload.arrival.cycles = 0;
    if (z->s.workload.users > SIZES_USERS) z->s.workload.users = SIZES_USERS;
    if (workload_open(&z->w, &z->s, e) == 0) return z;
    free(z);
    return NULL;
}

void sizes_close(struct sizes *z) {
    if (!z) return;
    workload_close(z->w);
    request_free(&z->r);
    free(z);
}

/* A user without a request passes the turn to the next. */
static bool request_next(struct sizes *z) {
    uint64_t users = workload_open_loop(z->w) ? 1 : workload_users(z->w);
    for (uint64_t i = 0; i < users; i++)
        if (workload_next(z->w, z->user++ % users, &z->r) == WORKLOAD_REQUEST) return true;
    return false;
}

static uint64_t entry_next(struct sizes *z) {
    const struct model *m = &z->s.model;
    uint32_t tp = z->s.tensor_parallel;
    bool block = z->s.cache.granularity == KVF_GRANULARITY_BLOCK;
    uint64_t tokens = z->s.cache.block_tokens;
    if (z->block < z->blocks) return model_kv_bytes_range(m, tp, z->block++ * tokens, tokens);
    if (!request_next(z) || z->r.kind == REQUEST_READ) return 0;
    if (z->r.entry_bytes > 0) return z->r.entry_bytes;
    if (!block) return model_kv_bytes(m, tp, z->r.context_tokens);
    z->blocks = z->r.ids ? z->r.id_count : z->r.prompt_blocks + z->r.conversation_blocks;
    z->block = 0;
    return z->blocks ? model_kv_bytes_range(m, tp, z->block++ * tokens, tokens) : 0;
}

uint64_t sizes_next(struct sizes *z, uint64_t most, unsigned tries) {
    for (unsigned i = 0; i < tries; i++) {
        uint64_t bytes = entry_next(z);
        if (bytes > 0 && bytes <= most) return bytes;
    }
    return 0;
}
