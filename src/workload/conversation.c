#include "workload/conversation.h"

#include "workload/source.h"

#define CONVERSATION_BITS 24
#define REQUEST_BITS      32

void conversation_name(struct request *r, uint64_t user, uint32_t number, uint32_t conversation,
                       uint32_t turn) {
    r->id = user << REQUEST_BITS | number;
    r->kind = REQUEST_INFERENCE;
    r->user = user;
    r->conversation = user << CONVERSATION_BITS | (conversation & ((1u << CONVERSATION_BITS) - 1));
    r->turn = turn;
}

/* A shared prompt stands once at the start of the sequence that blocks are cut from; at request
 * granularity each turn is an entry of its own, and one that is too short goes without. */
static void prompt_take(const struct workload *w, const struct conversation *c, struct request *r) {
    bool block = w->s->cache.granularity == KVF_GRANULARITY_BLOCK;
    if (c->prompt == REQUEST_NO_PROMPT) return;
    uint64_t tokens = w->prompts.tokens[c->prompt];
    if (!block && !w->prompts.on_top && r->context_tokens <= tokens) return;
    r->prompt = c->prompt;
    r->prompt_tokens = tokens;
    r->prompt_blocks = source_blocks(w->s, tokens);
    if (!w->prompts.on_top && (!block || r->turn == 1)) r->context_tokens -= tokens;
}

void conversation_turn(const struct workload *w, struct conversation *c, struct rng *rng, struct request *r) {
    r->prefill_only = source_prefill_only(w->s, r->context_tokens);
    if (r->turn == 1) {
        c->prompt = prompts_draw(&w->prompts, rng, r->context_tokens);
        c->history_tokens = c->generated = 0;
    }
    prompt_take(w, c, r);
    c->history_tokens += c->generated + r->context_tokens;
    c->generated = (uint32_t)r->generate_tokens;
    r->conversation_blocks = source_blocks(w->s, c->history_tokens);
    r->sequence_tokens = r->prompt_tokens + c->history_tokens;
}
