#include "engine/prepare.h"

#include <stdio.h>

#include "engine/core.h"

/* ---- entries that decode-only requests will read ---- */

static bool stored_begin(struct engine *e) {
    if (e->s->workload.phase != KVF_WORKLOAD_PHASE_DECODE) return false;
    e->prepare.total = workload_users(e->workload) * e->s->workload.decode.entries;
    return e->prepare.total > 0;
}

static bool stored_next(struct engine *e, struct flight *f) {
    uint64_t i = e->prepare.made, each = e->s->workload.decode.entries;
    if (i == e->prepare.total) return false;
    uint32_t index = (uint32_t)(i % each);
    f->key = cache_key_make(CACHE_KEY_STORED, i / each, index);
    f->bytes = model_kv_bytes(&e->s->model, e->s->tensor_parallel,
                              workload_stored_tokens(e->workload, i / each, index));
    f->cause = KVF_CAUSE_PRECONDITION;
    return true;
}

static double stored_progress(const struct engine *e, char *what, size_t len) {
    snprintf(what, len, "writing the entries that will be read");
    return (double)(e->prepare.made - e->prepare.out) / (double)e->prepare.total;
}

/* ---- all of it ---- */

const struct prepare_step prepare_steps[] = {
    {.name = "stored", .begin = stored_begin, .next = stored_next, .progress = stored_progress},
    {.name = NULL},
};
