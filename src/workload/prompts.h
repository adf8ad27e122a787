/* The shared prompts of a scenario, and the draw of one for a conversation. Constant once made; any thread.
 */
#ifndef KVF_WORKLOAD_PROMPTS_H
#define KVF_WORKLOAD_PROMPTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/rng.h"
#include "scenario/scenario.h"

struct prompts {
    double probability;
    bool on_top; /* of the drawn context, not a part of it: then every prompt is short enough */
    uint32_t count;
    uint64_t *tokens; /* by index, as the scenario lists them */
    uint32_t *order;  /* indices, shortest prompt first */
    double *sums;     /* of weights, in that order; NULL: all weigh the same */
};

void prompts_init(struct prompts *p, const struct scenario *s); /* those of the scenario */
void prompts_free(struct prompts *p);                           /* takes one all zero */
/* Draws the prompt of a conversation whose first context has `context` tokens: the index of a shorter prompt
 * (of any prompt with on_top), or REQUEST_NO_PROMPT. All are equally likely; with pick zipf the n-th of the
 * scenario has weight 1 / n (Zipf's law with exponent 1; Breslau et al., Web Caching and Zipf-like
 * Distributions, INFOCOM 1999). Always takes two numbers of the stream, so that prompts shift no later draw.
 * O(log count). */
uint32_t prompts_draw(const struct prompts *p, struct rng *rng, uint64_t context);

#endif
