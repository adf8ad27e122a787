/* A scenario whose synthetic users ask as those of a trace do: the same rate, lengths, pauses and sharing,
 * and none of its blocks. The trace is read twice: first learned, then measured. One thread. */
#ifndef KVF_STUDY_TRACE_TRACE_FIT_H
#define KVF_STUDY_TRACE_TRACE_FIT_H

#include "study/trace/trace_stats.h"

enum { FIT_PROMPTS = 64 };

/* X(name, the histogram of trace_stats or of the fit): what is compared. */
#define FIT_DIMENSION_LIST(X)                                                                                \
    X(INPUT, "input tokens")                                                                                 \
    X(FRESH, "new tokens of a turn")                                                                         \
    X(OUTPUT, "output tokens")                                                                               \
    X(BETWEEN, "from turn to turn")                                                                          \
    X(TURNS, "turns of a session")
#define X(id, name) FIT_##id,
enum fit_dimension { FIT_DIMENSION_LIST(X) FIT_DIMENSIONS };
#undef X

struct fit_quality {
    double distance[FIT_DIMENSIONS]; /* Kolmogorov-Smirnov, 0 to 1; NaN: nothing to compare */
    double rate;                     /* requests a second */
    double curve;                    /* largest difference of the miss ratios of lru */
};

struct trace_fit {       /* all zero at the start */
    struct fit_node {    /* a block of the first request of some session */
        uint32_t parent; /* index + 1; 0: none */
        uint32_t depth, sessions;
        uint32_t own; /* sessions of which it is the last common block */
    } * node;
    uint32_t nodes, node_cap;
    struct idmap by_block;  /* to the index + 1 */
    struct idmap sessions;  /* tokens of the last request and its answer, + 1 */
    uint64_t session_count; /* learned */
    uint64_t prompted;      /* sessions that begin with a common block */
    struct histogram *fresh;
    struct fit_prompt {
        uint64_t blocks, sessions;
    } prompt[FIT_PROMPTS]; /* the most frequent, in that order */
    unsigned prompts;
};

void trace_fit_free(struct trace_fit *f); /* what it owns; takes one all zero */
/* The first pass: learns each request; after the last one trace_fit_learned() draws the conclusions. */
void trace_fit_learn(struct trace_fit *f, const struct trace_item *item);
void trace_fit_learned(struct trace_fit *f);
/* Adds the whole blocks of the request to `t`: synthetic users store no part of a block. */
void trace_fit_measure(struct trace_fit *f, struct trace_stats *t, struct trace_input *in,
                       struct trace_item *item);
/* The scenario as YAML with how well it fits in its comments; ends `t`. 0 or a negative code: also where a
 * trace has no times, or no blocks. */
int trace_fit_write(const struct trace_fit *f, struct trace_stats *t, struct buf *yaml, struct fit_quality *q,
                    struct err *e);

#endif
