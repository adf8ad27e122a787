#include "record/measure.h"

#include <stdio.h>
#include <string.h>

#define HIGHER  MEASURE_HIGHER
#define LOWER   MEASURE_LOWER
#define NEUTRAL MEASURE_NEUTRAL

/* The first that fits counts. What moves bytes is neither good nor bad by itself: a larger cache spares a
 * drive its work. */
const struct measure_kind measure_kinds[] = {
    {"throughput_tok_s", "tokens/s", HIGHER, true, true, false},
    {"requests_per_s", "requests/s", HIGHER, true, false, false},
    {"storage_throughput_tok_s", "storage tokens/s", HIGHER, true, false, false},
    {"goodput_per_s", "goodput/s", HIGHER, true, false, false},
    {"ttft_p50_ms", "TTFT P50", LOWER, true, false, false},
    {"ttft_p95_ms", "TTFT P95", LOWER, true, true, false},
    {"e2e_p50_ms", "end-to-end P50", LOWER, true, false, false},
    {"e2e_p95_ms", "end-to-end P95", LOWER, true, true, false},
    {"e2e_p99_ms", "end-to-end P99", LOWER, true, false, false},
    {"queue_wait_p95_ms", "queue wait P95", LOWER, true, false, false},
    {"storage_io_p95_ms", "storage I/O P95", LOWER, true, true, false},
    {"gpu_read_p95_ms", "gpu read P95", LOWER, true, false, false},
    {"cpu_read_p95_ms", "cpu read P95", LOWER, true, false, false},
    {"nvme_read_p95_ms", "nvme read P95", LOWER, true, false, false},
    {"nvme_read_p99_ms", "nvme read P99", LOWER, true, false, false},
    {"nvme_read_device_p95_ms", "device read P95", LOWER, true, false, false},
    {"nvme_write_p95_ms", "nvme write P95", LOWER, true, false, false},
    {"nvme_read_gib_s", "nvme read GiB/s", NEUTRAL, true, false, false},
    {"nvme_write_gib_s", "nvme write GiB/s", NEUTRAL, true, false, false},
    {"hit_ratio", "hit ratio with decode", HIGHER, true, false, false},
    {"reuse_hit_ratio", "hit ratio", HIGHER, true, true, false},
    {"slo_*_met_ratio", "SLO met *", HIGHER, true, false, false},
    {"requests_failed", "requests failed", LOWER, true, false, true},
    {"requests_dropped", "requests dropped", LOWER, true, false, true},
    {"refused", "writes refused", LOWER, true, false, true},
    {"fell_through", "writes fell through", LOWER, true, false, true},
    {"total_read_bytes", "bytes read", NEUTRAL, true, false, false},
    {"total_write_bytes", "bytes written", NEUTRAL, true, false, false},
    {"rss_peak_bytes", "peak memory", LOWER, true, false, false},
    /* beyond the usual selection */
    {"e2e_mean_ms", "end-to-end mean", LOWER, false, false, false},
    {"nvme_*_tok_s", NULL, NEUTRAL, false, false, false},
    {"nvme_tok_s", NULL, NEUTRAL, false, false, false},
    {"steady_nvme_tok_s", NULL, NEUTRAL, false, false, false},
    {"device_*_ms", NULL, NEUTRAL, false, false, false}, /* summed over operations */
    {"saving_*", NULL, NEUTRAL, false, false, false},
    {"*_tok_s", NULL, HIGHER, false, false, false},
    {"*_ms", NULL, LOWER, false, false, false},
    {"*_starved_s", NULL, LOWER, false, false, false},
    {"*_violations", NULL, LOWER, false, false, false},
    {"*_met", NULL, HIGHER, false, false, false},
    {"*_failed", NULL, LOWER, false, false, false},
    {"errors", NULL, LOWER, false, false, false},
    {"*_errors", NULL, LOWER, false, false, false},
    {"*evictions", NULL, LOWER, false, false, false},
    {"*_fell_through", NULL, LOWER, false, false, false},
    {"*_refused", NULL, LOWER, false, false, false},
    {"*misses", NULL, LOWER, false, false, false},
    {"miss_ratio", NULL, LOWER, false, false, false},
    {"gpu_energy_per_token_j", NULL, LOWER, false, false, false},
    {"prepare_s", NULL, LOWER, false, false, false},
    {"batch_waiting_mean", NULL, LOWER, false, false, false},
    {"*", NULL, NEUTRAL, false, false, false},
};
const size_t measure_kind_count = sizeof measure_kinds / sizeof measure_kinds[0];

/* Whether a name fits a pattern with at most one star, and what that stands for. */
static bool fits(const char *pattern, const char *name, const char **star, size_t *len) {
    const char *tail = strchr(pattern, '*');
    *len = 0;
    if (!tail) return strcmp(pattern, name) == 0;
    size_t head = (size_t)(tail - pattern), rest = strlen(tail + 1), whole = strlen(name);
    if (whole < head + rest || strncmp(pattern, name, head) != 0) return false;
    *star = name + head;
    *len = whole - head - rest;
    return strcmp(name + whole - rest, tail + 1) == 0;
}

const struct measure_kind *measure_kind(const char *metric) {
    const struct measure_kind *k = measure_kinds;
    const char *star;
    size_t len;
    while (!fits(k->metric, metric, &star, &len)) k++; /* the last fits all */
    return k;
}

enum measure_better measure_better(const char *metric) {
    return measure_kind(metric)->better;
}

const char *measure_usual(size_t i) {
    for (size_t k = 0; k < measure_kind_count; k++)
        if (measure_kinds[k].main && !strchr(measure_kinds[k].metric, '*') && i-- == 0)
            return measure_kinds[k].metric;
    return NULL;
}

void measure_label(const struct measure_kind *k, const char *metric, char *out, size_t len) {
    const char *star = "", *words = k->label ? k->label : metric;
    size_t star_len = 0, head = strcspn(words, "*");
    fits(k->metric, metric, &star, &star_len);
    snprintf(out, len, "%.*s%.*s%s", (int)head, words, words[head] ? (int)star_len : 0, star,
             words[head] ? words + head + 1 : "");
}

const char *measure_better_word(enum measure_better b) {
    static const char *const words[] = {
        [MEASURE_NEUTRAL] = "", [MEASURE_HIGHER] = "higher", [MEASURE_LOWER] = "lower"};
    return words[b];
}
