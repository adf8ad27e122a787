/* Results that follow from one snapshot of the whole measured part and the histograms of that time. A run
 * that has just ended and runs that are merged as ranks get them from the same formulas. Pure. Any thread. */
#ifndef KVF_ENGINE_SAMPLING_FIGURES_H
#define KVF_ENGINE_SAMPLING_FIGURES_H

#include "metrics/counters.h"
#include "record/run.h"

struct figures {
    const struct snapshot *snap; /* of all the measured part */
    const struct counters *d;    /* its histograms; counts are not read */
    double token_bytes;          /* KV of a token; NaN: not known */
    bool by_ttft;                /* targets are of the time to first token */
    /* by class: P95 target longer than the run, and it depends on requests that are open whether it is met */
    bool too_soon[KVF_CLASSES_MAX];
};

/* Each appends the results of its subject. */
void figures_requests(struct result_list *out, const struct figures *f);
void figures_classes(struct result_list *out, const struct figures *f);
void figures_cache(struct result_list *out, const struct figures *f);
void figures_tiers(struct result_list *out, const struct figures *f);
void figures_machine(struct result_list *out, const struct figures *f);
/* Keeps the histograms that a stored run has. */
void figures_histograms(struct run_record *run, const struct counters *d);

/* Whether as many of `all` requests, those without a latency among them, as a percentile asks for were within
 * a target. */
bool figures_within(const struct histogram *judged, enum kvf_stat stat, uint64_t target_ns, uint64_t all);

/* The latency by which a class is judged: operations without a first token are judged as a whole. */
static inline const struct histogram *figures_judged(const struct counters_class *c, bool by_ttft) {
    return by_ttft && histogram_count(&c->ttft) > 0 ? &c->ttft : &c->e2e;
}

#endif
