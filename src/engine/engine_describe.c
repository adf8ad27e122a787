#include "engine/engine.h"

#include <stdio.h>

#include "engine/core.h"
#include "workload/format/tokenizer.h"
#include "workload/workload.h"

/* Descriptions: of the workload before anything is created, of the tiers that there are. */

int engine_check(const struct scenario *s, struct err *e) {
    return workload_check(s, e);
}

void engine_describe(const struct scenario *s, struct run_record *run) {
    run->classes = s->qos.classes;
    snprintf(run->qos_latency, sizeof run->qos_latency, "%s",
             s->qos.latency == KVF_QOS_LATENCY_TTFT ? "ttft" : "e2e");
    for (uint32_t k = 0; k < run->classes; k++) {
        const struct scenario_class *c = &s->qos.klass[k];
        struct run_class *to = &run->klass[k];
        snprintf(to->name, sizeof to->name, "%.31s", c->name);
        to->share = c->share;
        to->p95_ns = c->p95_ns == KVF_UNSET ? 0 : c->p95_ns;
        to->p99_ns = c->p99_ns == KVF_UNSET ? 0 : c->p99_ns;
        to->p999_ns = c->p999_ns == KVF_UNSET ? 0 : c->p999_ns;
        to->p9999_ns = c->p9999_ns == KVF_UNSET ? 0 : c->p9999_ns;
    }
    for (int t = 0; t < KVF_TIERS; t++)
        for (int d = 0; d < KVF_DIRS; d++) {
            uint64_t peak = s->tier[t].peak_bytes_per_s[d];
            run->peak_bytes_s[t][d] = peak == KVF_UNSET ? 0 : (double)peak;
        }
    snprintf(run->trace_path, sizeof run->trace_path, "%s", s->workload.path);
    if (s->workload.source == KVF_SOURCE_SHAREGPT)
        tokenizer_label(s->workload.tokenizer, run->tokenizer, sizeof run->tokenizer);
}

void engine_describe_tiers(const struct service *v, struct snapshot *snap) {
    for (int t = 0; t < KVF_TIERS; t++) {
        const struct tier *tier = v->tiers[t];
        snap->tier_on[t] = tier != NULL;
        if (!tier) continue;
        snap->tier_emulated[t] = (tier->ops->caps(tier) & TIER_EMULATED) != 0;
        snap->tier_compat[t] = (tier->ops->caps(tier) & TIER_COMPAT) != 0;
        snap->tier[t].capacity_bytes = scenario_usable_bytes(v->s, (enum kvf_tier)t) * pods_tiers(v->s, t);
    }
}
