#include "engine/pipeline/inference.h"

#include "base/buf.h"
#include "base/clock.h"

static void tick_at(struct executor *x, uint64_t at_ns) {
    if (at_ns != KVF_NEVER) x->ops->timer(x, &x->tick, at_ns);
}

void inference_tick(struct pipeline *p, struct executor *x) {
    uint64_t next_ns;
    struct compute_seq *q = compute_tick(p->compute, executor_now(x), &next_ns), *next;
    tick_at(x, next_ns);
    for (; q; q = next) {
        struct flight *f = flight_of_seq(q);
        next = q->next;
        if (f->worker == x->worker || !x->ops->computed)
            pipeline_computed(p, x, f);
        else
            x->ops->computed(x, f);
    }
}

static bool computes(const struct pipeline *p, const struct flight *f) {
    return p->compute && f->req.kind == REQUEST_INFERENCE && !f->internal;
}

/* The first new token comes from the last one of the context. At request granularity earlier turns that were
 * found are there; of missing ones the length is not known, and they are not computed again. */
uint64_t inference_tokens(const struct pipeline *p, const struct flight *f, uint64_t *cached) {
    const struct request *r = &f->req;
    uint64_t all, block = p->scenario->cache.block_tokens;
    if (p->scenario->cache.granularity == KVF_GRANULARITY_BLOCK) {
        all = r->sequence_tokens ? r->sequence_tokens : f->blocks * block;
        *cached = kvf_max(f->hit_blocks * block - f->again_tokens, r->before_tokens);
    } else {
        *cached =
            f->found_tokens + (r->prompt != REQUEST_NO_PROMPT && !f->prompt_missed ? r->prompt_tokens : 0);
        all = f->found_tokens + r->prompt_tokens + r->context_tokens;
    }
    if (all == 0) all = 1;
    if (*cached >= all) *cached = all - 1;
    return all - *cached;
}

/* Its place in the batch has room for all that follows. */
void inference_head(struct pipeline *p, struct executor *x, struct flight *f) {
    if (f->head_tokens == 0) return;
    uint64_t cached, missing = inference_tokens(p, f, &cached),
                     loads = cached - f->above_tokens - f->head_tokens;
    f->computing = true;
    f->prefill_ns = executor_now(x);
    tick_at(x, compute_prefill(p->compute, &f->seq, f->prefill_ns, f->head_tokens, f->above_tokens,
                               loads + missing + f->req.generate_tokens));
}

bool inference_prefill(struct pipeline *p, struct executor *x, struct flight *f) {
    uint64_t cached, n;
    if (!computes(p, f) || f->req.decode_only) return false;
    flight_enter(f, FLIGHT_COMPUTE, executor_now(x));
    f->computing = f->prefilled = true;
    n = inference_tokens(p, f, &cached);
    uint64_t now = executor_now(x);
    if (f->head_tokens > 0) {
        tick_at(x, compute_prefill_more(p->compute, &f->seq, now, n, cached));
        return true;
    }
    f->prefill_ns = now;
    if (p->scenario->compute.share_prefix && p->scenario->cache.granularity == KVF_GRANULARITY_BLOCK)
        f->seq.shared = f->tier_hits[KVF_TIER_GPU] * p->scenario->cache.block_tokens;
    tick_at(x, compute_prefill(p->compute, &f->seq, now, n, cached, f->req.generate_tokens));
    return true;
}

uint64_t inference_tokens_left(const struct flight *f) {
    uint64_t n = f->req.generate_tokens;
    return f->prefilled && n > 0 ? n - 1 : n;
}

void inference_leave(struct pipeline *p, struct executor *x, struct flight *f) {
    if (f->seq.state != COMPUTE_OUT) tick_at(x, compute_leave(p->compute, &f->seq, executor_now(x)));
}

bool inference_generate(struct pipeline *p, struct executor *x, struct flight *f) {
    if (!computes(p, f) || inference_tokens_left(f) == 0) return false;
    f->computing = true;
    tick_at(x, compute_decode(p->compute, &f->seq, executor_now(x), f->req.context_tokens,
                              inference_tokens_left(f)));
    return true;
}
