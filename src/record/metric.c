#include "record/metric.h"

#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "base/terms.h"

const char *const metric_names[] = {
    "throughput_tok_s",
    "requests_per_s",
    "offered_requests_per_s",
    "achieved_requests_per_s",
    "achieved_ratio",
    "storage_throughput_tok_s",
    "nvme_tok_s",
    "steady",
    "steady_from_s",
    "steady_s",
    "steady_throughput_tok_s",
    "steady_nvme_tok_s",
    "steady_slope",
    "steady_range",
    "steady_nvme_slope",
    "steady_nvme_range",
    "nvme_read_tok_s",
    "nvme_write_tok_s",
    "measured_s",
    "prepare_s",
    "requests_arrived",
    "requests_done",
    "requests_failed",
    "requests_dropped",
    "requests_asked",
    "requests_left",
    "requests_queued_at_end",
    "requests_in_service_at_end",
    "tokens_generated",
    "context_tokens_mean",
    "e2e_STAT_ms",
    "ttft_STAT_ms",
    "queue_wait_STAT_ms",
    "storage_io_STAT_ms",
    "generation_STAT_ms",
    "tpot_STAT_ms",
    "goodput_per_s",
    "total_tok_s",
    "batch_running_mean",
    "batch_waiting_mean",
    "batch_busy_ratio",
    "batch_steps",
    "kv_use_mean",
    "prefill_mean_ms",
    "prefill_tokens_computed",
    "lateness_STAT_ms",
    "slo_CLASS_met_ratio",
    "slo_CLASS_violations",
    "slo_CLASS_p95_ms",
    "slo_CLASS_p99_ms",
    "slo_CLASS_p999_ms",
    "slo_CLASS_p9999_ms",
    "slo_CLASS_p95_met",
    "slo_CLASS_p99_met",
    "slo_CLASS_p999_met",
    "slo_CLASS_p9999_met",
    "class_CLASS_arrived",
    "class_CLASS_done",
    "class_CLASS_failed",
    "class_CLASS_queued_at_end",
    "class_CLASS_oldest_wait_ms",
    "class_CLASS_overdue_at_end",
    "class_CLASS_ttft_STAT_ms",
    "class_CLASS_e2e_STAT_ms",
    "class_CLASS_starved_s",
    "class_CLASS_in_service_mean",
    "class_CLASS_queue_depth_mean",
    "in_service_mean",
    "queue_depth_mean",
    "lookups",
    "hits",
    "misses",
    "CAUSE_lookups",
    "CAUSE_hits",
    "hit_ratio",
    "reuse_hit_ratio",
    "evictions",
    "demotions",
    "promotions",
    "promotions_skipped",
    "hits_recomputed",
    "recomputed_tokens",
    "copies_dropped",
    "copies_skipped",
    "room_inline",
    "room_background",
    "fell_through",
    "refused",
    "requests_refused",
    "not_admitted",
    "prefix_seen",
    "prefix_found",
    "prefix_rebuilt",
    "prefix_bytes_saved",
    "conversation_bytes_saved",
    "rag_requests",
    "rag_requests_empty",
    "rag_bytes_read",
    "rag_documents_ingested",
    "rag_chunks_ingested",
    "rag_bytes_ingested",
    "rag_ingest_s",
    "rag_documents_evicted",
    "rag_chunks_evicted",
    "TIER_entries",
    "TIER_used_bytes",
    "TIER_hits",
    "TIER_evictions",
    "TIER_demotions",
    "TIER_promotions",
    "TIER_fell_through",
    "TIER_DIR_ops",
    "TIER_DIR_bytes",
    "TIER_DIR_gib_s",
    "TIER_DIR_peak_share",
    "TIER_DIR_STAT_ms",
    "TIER_DIR_device_STAT_ms",
    "TIER_DIR_host_STAT_ms",
    "TIER_p95_ms",
    "TIER_DIR_host_share",
    "TIER_DIR_line_share",
    "TIER_DIR_busy_ratio",
    "TIER_busy_ratio",
    "TIER_io_in_flight_mean",
    "TIER_DIR_CAUSE_ops",
    "TIER_DIR_CAUSE_bytes",
    "TIER_DIR_CAUSE_p95_ms",
    "entry_bytes_min",
    "entry_bytes_mean",
    "entry_bytes_p95",
    "entry_bytes_max",
    "total_read_bytes",
    "total_write_bytes",
    "read_write_ratio",
    "amplification",
    "writes_in_flight_max",
    "writes_held",
    "writes_held_mean_ms",
    "precondition_bytes",
    "prepopulate_bytes",
    "operation_errors",
    "verify_checked",
    "verify_mismatched",
    "verify_unverified",
    "rows_read",
    "rows_emitted",
    "rows_rejected",
    "rows_rejected_REASON",
    "rows_skipped",
    "turns_context_cut",
    "turns_generate_cut",
    "device_read_bytes",
    "device_write_bytes",
    "device_read_ms",
    "device_write_ms",
    "device_busy_ratio",
    "cpu_user_s",
    "cpu_sys_s",
    "cpu_workers_s",
    "host_cpu_ratio",
    "slots_busy_ratio",
    "rss_peak_bytes",
    "gpu_power_mean_w",
    "gpu_energy_j",
    "gpu_energy_per_token_j",
    "gpu_pcie_rx_gib_s",
    "gpu_pcie_tx_gib_s",
    "real_s",
    "autoscaler_users",
    "autoscaler_found",
    "autoscaler_decisions",
    "peak_throughput_tok_s",
    "users_at_peak",
};
const size_t metric_name_count = sizeof metric_names / sizeof metric_names[0];

struct search {
    const char *const *classes;
    size_t class_count;
    const char *name;
    struct nearest nearest;
    char *best; /* its text; NULL: nobody asks for it */
    bool known;
};

/* Each returns the i-th word that its variable stands for; NULL behind the last. */
static const char *tier_word(const struct search *s, size_t i) {
    (void)s;
    return i < KVF_TIERS ? tier_name((enum kvf_tier)i) : NULL;
}

static const char *dir_word(const struct search *s, size_t i) {
    (void)s;
    return i < KVF_DIRS ? dir_name((enum kvf_dir)i) : NULL;
}

static const char *cause_word(const struct search *s, size_t i) {
    (void)s;
    return i < KVF_CAUSES ? cause_name((enum kvf_cause)i) : NULL;
}

static const char *stat_word(const struct search *s, size_t i) {
    static const char *const stats[] = {"mean", "p50", "p95", "p99", "p999", "p9999", "max"};
    (void)s;
    return i < sizeof stats / sizeof stats[0] ? stats[i] : NULL;
}

static const char *class_word(const struct search *s, size_t i) {
    return i < s->class_count ? s->classes[i] : NULL;
}

/* Whatever follows the text before it in the name that is sought. */
static const char *any_word(const struct search *s, size_t i) {
    const char *last = strrchr(s->name, '_');
    return i == 0 && last && last[1] ? last + 1 : NULL;
}

static const struct {
    const char *word;
    const char *(*name)(const struct search *s, size_t i);
} variables[] = {{"TIER", tier_word}, {"DIR", dir_word},     {"CAUSE", cause_word},
                 {"STAT", stat_word}, {"CLASS", class_word}, {"REASON", any_word}};

static void offer(struct search *s, const char *name) {
    if (strcmp(name, s->name) == 0) s->known = true;
    if (!s->best) return;
    nearest_offer(&s->nearest, name);
    if (s->nearest.best != name) return;
    snprintf(s->best, METRIC_NAME, "%s", name);
    s->nearest.best = s->best;
}

/* Offers every name that the pattern stands for. */
static void pattern_offer(struct search *s, const char *pattern) {
    for (size_t p = 0; p < sizeof variables / sizeof variables[0]; p++) {
        const char *at = strstr(pattern, variables[p].word), *word;
        if (!at) continue;
        for (size_t i = 0; (word = variables[p].name(s, i)) != NULL; i++) {
            char name[METRIC_NAME];
            snprintf(name, sizeof name, "%.*s%s%s", (int)(at - pattern), pattern, word,
                     at + strlen(variables[p].word));
            pattern_offer(s, name);
        }
        return;
    }
    offer(s, pattern);
}

static void offer_all(struct search *s) {
    for (size_t i = 0; i < metric_name_count; i++) pattern_offer(s, metric_names[i]);
}

bool metric_known(const char *name, const char *const *classes, size_t count) {
    struct search s = {.classes = classes, .class_count = count, .name = name};
    offer_all(&s);
    return s.known;
}

const char *metric_nearest(const char *name, const char *const *classes, size_t count,
                           char out[METRIC_NAME]) {
    struct search s = {
        .classes = classes, .class_count = count, .name = name, .nearest = nearest_start(name), .best = out};
    offer_all(&s);
    return s.nearest.best;
}
