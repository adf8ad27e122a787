#include "study/trace/trace_fit.h"

#include <stdlib.h>
#include <string.h>

enum { NODES_MOST = 1 << 22 };

void trace_fit_free(struct trace_fit *f) {
    free(f->node);
    free(f->fresh);
    idmap_free(&f->by_block);
    idmap_free(&f->sessions);
}

/* ---- first: which blocks are common ---- */

static uint32_t node_at(struct trace_fit *f, uint64_t block, uint32_t parent, uint32_t depth) {
    uint64_t known = idmap_get(&f->by_block, block);
    if (known || f->nodes == NODES_MOST) return (uint32_t)known;
    mem_room(f->node, f->nodes, f->node_cap);
    f->node[f->nodes] = (struct fit_node){.parent = parent, .depth = depth};
    *idmap_at(&f->by_block, block) = ++f->nodes;
    return f->nodes;
}

void trace_fit_learn(struct trace_fit *f, const struct trace_item *item) {
    uint64_t *known = idmap_at(&f->sessions, item->session);
    uint32_t node = 0;
    if (*known) return;
    *known = 1;
    f->session_count++;
    for (uint32_t i = 0; i < item->q->id_count; i++) {
        node = node_at(f, item->q->ids[i], node, i + 1);
        if (!node) return;
        f->node[node - 1].sessions++;
    }
}

static uint64_t common_least(const struct trace_fit *f) {
    return f->session_count > 200 ? (f->session_count + 99) / 100 : 2;
}

static void prompt_add(struct trace_fit *f, const struct fit_node *n) {
    struct fit_prompt p = {n->depth, n->own};
    unsigned at = f->prompts < FIT_PROMPTS ? f->prompts++ : FIT_PROMPTS - 1;
    if (at == FIT_PROMPTS - 1 && f->prompt[at].sessions >= p.sessions) return;
    for (; at > 0 && f->prompt[at - 1].sessions < p.sessions; at--) f->prompt[at] = f->prompt[at - 1];
    f->prompt[at] = p;
}

/* A session's prompt ends where no common block follows. */
void trace_fit_learned(struct trace_fit *f) {
    uint64_t least = common_least(f);
    for (uint32_t i = 0; i < f->nodes; i++) f->node[i].own = f->node[i].sessions;
    for (uint32_t i = 0; i < f->nodes; i++)
        if (f->node[i].sessions >= least && f->node[i].parent) {
            uint32_t *own =
                &f->node[f->node[i].parent - 1].own; /* less where a block has several before it */
            *own -= *own < f->node[i].sessions ? *own : f->node[i].sessions;
        }
    for (uint32_t i = 0; i < f->nodes; i++) {
        if (f->node[i].sessions < least || f->node[i].own == 0) continue;
        f->prompted += f->node[i].own;
        prompt_add(f, &f->node[i]);
    }
    if (f->prompted > f->session_count) f->prompted = f->session_count;
    idmap_free(&f->sessions);
    f->fresh = mem_zalloc(1, sizeof *f->fresh);
}

/* ---- then: what comes from turn to turn ---- */

static uint64_t prompt_tokens(const struct trace_fit *f, const struct request *q, uint64_t block_tokens) {
    uint64_t blocks = 0, least = common_least(f);
    for (uint32_t i = 0; i < q->id_count; i++, blocks++) {
        uint64_t node = idmap_get(&f->by_block, q->ids[i]);
        if (!node || f->node[node - 1].sessions < least) break;
    }
    return blocks * block_tokens;
}

void trace_fit_measure(struct trace_fit *f, struct trace_stats *t, struct trace_input *in,
                       struct trace_item *item) {
    uint64_t *before = idmap_at(&f->sessions, item->session), tokens = in->q.sequence_tokens;
    uint64_t known = *before ? *before - 1 : prompt_tokens(f, &in->q, in->s.cache.block_tokens);
    uint64_t whole = tokens / in->s.cache.block_tokens;
    histogram_record(f->fresh, tokens > known ? tokens - known : 1);
    *before = tokens + in->q.generate_tokens + 1;
    if (in->q.id_count > whole) in->q.id_count = (uint32_t)whole;
    if (item->seen > in->q.id_count) item->seen = in->q.id_count;
    trace_stats_add(t, in, item);
}
