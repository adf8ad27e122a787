/* A request's work on the modelled GPU: prefill of the context that was not found, then decode. The batching
 * server reports the end of each, and the request continues on its own thread. Does nothing without a
 * modelled GPU. On the thread that serves the request, outside enter and leave of the executor. */
#ifndef KVF_ENGINE_PIPELINE_INFERENCE_H
#define KVF_ENGINE_PIPELINE_INFERENCE_H

#include "engine/pipeline/pipeline.h"

/* Tokens of the context that are to be computed, the last one at least; *cached: the others. */
uint64_t inference_tokens(const struct pipeline *p, const struct flight *f, uint64_t *cached);
/* Computes what a request computes again while it reads the rest, if anything; pipeline_computed() follows.
 */
void inference_head(struct pipeline *p, struct executor *x, struct flight *f);
/* Whether the context is being computed now; pipeline_computed() follows. */
bool inference_prefill(struct pipeline *p, struct executor *x, struct flight *f);
/* Whether tokens are being made; likewise. */
bool inference_generate(struct pipeline *p, struct executor *x, struct flight *f);
/* Tokens that generation makes: the first one is the prefill's, where that is modelled. */
uint64_t inference_tokens_left(const struct flight *f);
/* The request has ended; gives up the place in the batch that it may still have. */
void inference_leave(struct pipeline *p, struct executor *x, struct flight *f);
/* The timer for x->tick rang: hands on what has ended. */
void inference_tick(struct pipeline *p, struct executor *x);

#endif
