/* The turns of conversations, for every source that has them: names, shared prompts, history. Not thread
 * safe: one thread or one lock. */
#ifndef KVF_WORKLOAD_CONVERSATION_H
#define KVF_WORKLOAD_CONVERSATION_H

#include <stdint.h>

#include "base/rng.h"
#include "workload/request.h"
#include "workload/workload.h"

/* A conversation between two turns; all zero but for the prompt before the first. */
struct conversation {
    uint64_t history_tokens; /* so far, its prompt not counted */
    uint32_t generated;      /* by the turn before */
    uint32_t prompt;         /* index, or REQUEST_NO_PROMPT */
};

/* Sets the ids of a request, which are unique in a run and depend on the user alone: its `number`-th request,
 * turn `turn` of its `conversation`-th conversation, all from 1. */
void conversation_name(struct request *r, uint64_t user, uint32_t number, uint32_t conversation,
                       uint32_t turn);
/* Completes a request whose turn, context and generation are set: decides whether it is prefill only, draws
 * its shared prompt from `rng` at the first turn, and sets its blocks. */
void conversation_turn(const struct workload *w, struct conversation *c, struct rng *rng, struct request *r);

#endif
