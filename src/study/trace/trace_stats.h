/* A trace described in one pass and bounded memory, whatever its size: counts and histograms as they come,
 * the sharing of blocks over the last SESSIONS_BLOCKS of them, reuse over a sample of blocks (see
 * engine/pipeline/sample.h), sessions and branches over samples of their own. One thread. */
#ifndef KVF_STUDY_TRACE_TRACE_STATS_H
#define KVF_STUDY_TRACE_TRACE_STATS_H

#include "base/buf.h"
#include "engine/pipeline/sample.h"
#include "metrics/histogram.h"
#include "study/trace/trace_input.h"
#include "workload/trace.h"

enum {
    TRACE_SCALES = 6,
    TRACE_BINS = 512,
    TRACE_NAMES = 16,
    TRACE_POINTS = 10,
    TRACE_POLICIES = 12,
    TRACE_PARTS = 48,
    TRACE_DISTANCES = 6
};

struct trace_scale { /* requests in windows of one width */
    uint64_t width_ns;
    uint64_t window, count, peak; /* of the window under way; of the fullest */
    double windows, sum, squares; /* whole windows */
};

/* Requests and tokens over time, in bins of one width, which doubles when they do not reach. */
struct trace_series {
    uint64_t width_ns;
    size_t bins;
    double requests[TRACE_BINS], input[TRACE_BINS], output[TRACE_BINS];
};

struct trace_name {
    char text[TRACE_NAME];
    uint64_t requests;
};

/* The tree of blocks, of the parents that a hash takes into the sample. */
struct trace_tree {
    struct idmap edges;    /* parent and child, to the parent + 1 */
    struct idmap children; /* of a parent */
    uint64_t threshold;    /* of the hash's upper 32 bits */
};

struct trace_curve {
    char policy[24];
    double miss_ratio[TRACE_POINTS];
};

extern const double trace_distance_part[TRACE_DISTANCES];

struct trace_stats {
    const struct trace_input *in; /* of the file that was read last */
    uint64_t requests, rows, rejected, files, lost;
    uint64_t span_ns, largest_bytes; /* of a request */
    double input_tokens, output_tokens, seen_tokens;
    struct histogram *input, *output, *depth, *shared, *turns, *between; /* between: ns from turn to turn */
    struct trace_scale scale[TRACE_SCALES];
    struct trace_series series;
    struct trace_name model[TRACE_NAMES], klass[TRACE_NAMES];
    struct idmap sessions; /* to the index of `session` + 1 */
    struct trace_session {
        uint64_t id, last_ns;
        uint32_t turns;
    } * session;
    uint64_t session_count, session_cap;
    uint64_t session_threshold; /* of the hash's upper 32 bits: which sessions are kept */
    struct trace_tree tree;
    struct sample *sample;
    bool forgot; /* of the blocks, some */
    /* made by trace_stats_end() */
    double capacity[TRACE_POINTS], error[TRACE_POINTS]; /* bytes; standard error of the miss ratios of lru */
    struct trace_curve curve[TRACE_POLICIES];
    unsigned points, curves;
    double distance_bytes[TRACE_DISTANCES]; /* within which trace_distance_part[] of the reuses are */
    double part_s[TRACE_PARTS], active_bytes[TRACE_PARTS], so_far_bytes[TRACE_PARTS];
    unsigned parts;
    double bytes_per_token;
    double nodes, inner, branches, most_children; /* of the tree, estimated from the sample */
};

void trace_stats_init(struct trace_stats *t); /* empty */
void trace_stats_free(struct trace_stats *t); /* what it owns */
/* One request of an input that stays open until trace_stats_end(). */
void trace_stats_add(struct trace_stats *t, const struct trace_input *in, const struct trace_item *item);
/* Behind the last request: curves of these policies, a bit for each, and the working set. 0 or a negative
 * code. */
int trace_stats_end(struct trace_stats *t, uint64_t policies, struct err *e);

/* Variance over mean of the requests in windows of one width: 1 for Poisson arrivals, more for bursts; NaN
 * with fewer than ten whole windows. */
double trace_dispersion(const struct trace_scale *s);
/* Sessions kept, and of the whole trace as the sample weighs them. */
double trace_sessions(const struct trace_stats *t);

#endif
