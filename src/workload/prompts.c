#include "workload/prompts.h"

#include <stdlib.h>

#include "base/buf.h"
#include "workload/request.h"
#include "workload/weights.h"

/* How many prompts are shorter than the context: a prefix of `order`. */
static uint32_t shorter_count(const struct prompts *p, uint64_t context) {
    uint32_t lo = 0, hi = p->count;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (p->tokens[p->order[mid]] < context)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* A prompt keeps its weight whichever others are short enough too, so the sums of any context's prompts
 * are the first of these. */
static void sums_make(struct prompts *p) {
    double sum = 0;
    p->sums = mem_zalloc((size_t)p->count + 1, sizeof *p->sums);
    for (uint32_t i = 0; i < p->count; i++) p->sums[i] = sum += 1.0 / (p->order[i] + 1);
}

void prompts_init(struct prompts *p, const struct scenario *s) {
    p->probability = s->workload.prefix.probability;
    p->on_top = s->workload.prefix.on_top;
    p->count = s->workload.prefix.count < SCENARIO_PROMPTS_MAX ? (uint32_t)s->workload.prefix.count
                                                               : SCENARIO_PROMPTS_MAX;
    p->tokens = mem_zalloc((size_t)p->count + 1, sizeof *p->tokens);
    p->order = mem_zalloc((size_t)p->count + 1, sizeof *p->order);
    for (uint32_t i = 0; i < p->count; i++) {
        p->tokens[i] = s->workload.prefix.prompt_tokens[i];
        uint32_t at = i;
        for (; at > 0 && p->tokens[p->order[at - 1]] > p->tokens[i]; at--) p->order[at] = p->order[at - 1];
        p->order[at] = i;
    }
    if (s->workload.prefix.pick == KVF_PICK_ZIPF) sums_make(p);
}

void prompts_free(struct prompts *p) {
    free(p->tokens);
    free(p->order);
    free(p->sums);
    *p = (struct prompts){0};
}

uint32_t prompts_draw(const struct prompts *p, struct rng *rng, uint64_t context) {
    double luck = rng_double(rng);
    uint64_t which = rng_u64(rng);
    uint32_t n = p->on_top ? p->count : shorter_count(p, context);
    if (luck >= p->probability || n == 0) return REQUEST_NO_PROMPT;
    if (p->sums) return p->order[weights_draw(p->sums, n, (double)(which >> 11) * 0x1p-53)];
    /* The high half times n: the bias of at most n / 2^32 is far below what a run can show, and one
     * draw is one draw whether it is used or not. */
    return p->order[((which >> 32) * n) >> 32];
}
