#include "base/terms.h"

#include <stddef.h>

#define X(id, name) name,
static const char *const tier_names[] = {KVF_TIER_LIST(X)};
static const char *const dir_names[] = {KVF_DIR_LIST(X)};
static const char *const cause_names[] = {KVF_CAUSE_LIST(X)};
static const char *const run_phase_names[] = {KVF_RUN_PHASE_LIST(X)};
static const char *const request_latency_names[] = {REQUEST_LATENCY_LIST(X)};
#undef X

#define X(id, word, label, quantile, samples) {word, label, quantile, samples},
static const struct {
    const char *word, *label;
    double quantile;
    uint64_t samples;
} stats[] = {KVF_STAT_LIST(X)};
#undef X

static const char *name_at(const char *const *names, size_t count, size_t index) {
    return index < count ? names[index] : "?";
}

const char *tier_name(enum kvf_tier tier) {
    return name_at(tier_names, KVF_TIERS, (size_t)tier);
}

const char *dir_name(enum kvf_dir dir) {
    return name_at(dir_names, KVF_DIRS, (size_t)dir);
}

const char *cause_name(enum kvf_cause cause) {
    return name_at(cause_names, KVF_CAUSES, (size_t)cause);
}

const char *run_phase_name(enum kvf_run_phase phase) {
    return name_at(run_phase_names, KVF_RUN_PHASES, (size_t)phase);
}

const char *request_latency_name(enum request_latency l) {
    return name_at(request_latency_names, REQUEST_LATENCIES, (size_t)l);
}

const char *stat_name(enum kvf_stat stat) {
    return stats[stat].word;
}

const char *stat_label(enum kvf_stat stat) {
    return stats[stat].label;
}

double stat_quantile(enum kvf_stat stat) {
    return stats[stat].quantile;
}

uint64_t stat_samples(enum kvf_stat stat) {
    return stats[stat].samples;
}
