#include "workload/source.h"

uint64_t source_copies(const struct workload *w) {
    return w->s->ranks.users == KVF_DEAL_PER_RANK ? w->ranks : 1;
}

uint64_t source_share(const struct workload *w, uint64_t user) {
    uint64_t most = w->s->run.max_requests, users = w->users;
    if (most == 0 || w->at_rate) return SOURCE_UNLIMITED;
    most *= source_copies(w);
    if (user >= users) return 0;
    return most / users + (user < most % users ? 1 : 0);
}

uint32_t source_share_draw(struct rng *rng, const double *share, size_t stride, uint32_t n) {
    double total = 0, sum = 0;
    if (n == 1) { /* what follows is drawn as if there had been a choice */
        (void)rng_u64(rng);
        return 0;
    }
    for (uint32_t i = 0; i < n; i++)
        total += *(const double *)(const void *)((const char *)share + i * stride);
    double at = rng_double(rng) * total;
    for (uint32_t i = 0; i < n; i++) {
        sum += *(const double *)(const void *)((const char *)share + i * stride);
        if (at < sum) return i;
    }
    return n ? n - 1 : 0;
}

uint32_t source_class_draw(const struct scenario *s, struct rng *rng) {
    return source_share_draw(rng, &s->qos.klass[0].share, sizeof s->qos.klass[0], s->qos.classes);
}

uint64_t source_blocks(const struct scenario *s, uint64_t tokens) {
    if (s->cache.granularity != KVF_GRANULARITY_BLOCK || s->cache.block_tokens == 0) return 0;
    return tokens / s->cache.block_tokens;
}

bool source_prefill_only(const struct scenario *s, uint64_t context_tokens) {
    uint64_t limit = s->workload.decode.max_context;
    return s->workload.phase == KVF_WORKLOAD_PHASE_PREFILL || (limit > 0 && context_tokens >= limit);
}

#define TIME_MAX (UINT64_MAX / 4) /* ns: later than any run lasts */

uint64_t source_time_sum(uint64_t a, uint64_t b) {
    uint64_t sum;
    return __builtin_add_overflow(a, b, &sum) || sum > TIME_MAX ? TIME_MAX : sum;
}

uint64_t source_speed_up(const struct workload *w, uint64_t ns) {
    double speedup = w->s->workload.arrival.speedup, fast = (double)ns / (speedup > 0 ? speedup : 1);
    if (speedup <= 0) return 0;
    if (speedup == 1) return ns;
    return fast < (double)TIME_MAX ? (uint64_t)fast : TIME_MAX;
}
