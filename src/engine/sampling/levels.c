#include "engine/sampling/levels.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/clock.h"

/* The fewest samples that a quantile takes. */
static uint64_t samples_least(double q) {
    for (int s = KVF_STAT_P50; s <= KVF_STAT_P9999; s++)
        if (stat_quantile((enum kvf_stat)s) >= q) return stat_samples((enum kvf_stat)s);
    return UINT64_MAX;
}

double levels_ms(const struct histogram *h, double q) {
    bool enough = histogram_count(h) >= samples_least(q);
    return enough ? histogram_quantile(h, q) / (double)KVF_NS_PER_MS : KVF_MISSING;
}

static double mean_ms(const struct histogram *h) {
    return histogram_mean(h) / (double)KVF_NS_PER_MS;
}

void levels_interval(struct snapshot_interval *i, const struct counters *d) {
    const struct histogram *e2e = &d->latency[REQUEST_LATENCY_E2E], *ttft = &d->latency[REQUEST_LATENCY_TTFT];
    const struct histogram *wait = &d->latency[REQUEST_LATENCY_QUEUE_WAIT];
    const struct histogram *io = &d->latency[REQUEST_LATENCY_STORAGE_IO];
    const struct histogram *gen = &d->latency[REQUEST_LATENCY_GENERATION];
#define QUANTILES(name, h)                                                                                   \
    i->name##_p50_ms = levels_ms(h, 0.5);                                                                    \
    i->name##_p95_ms = levels_ms(h, 0.95);                                                                   \
    i->name##_p99_ms = levels_ms(h, 0.99);                                                                   \
    i->name##_p999_ms = levels_ms(h, 0.999)
    QUANTILES(e2e, e2e);
    QUANTILES(ttft, ttft);
    QUANTILES(queue_wait, wait);
    QUANTILES(storage_io, io);
#undef QUANTILES
    i->generation_p95_ms = levels_ms(gen, 0.95);
    i->e2e_mean_ms = mean_ms(e2e);
    i->queue_wait_mean_ms = mean_ms(wait);
    i->storage_io_mean_ms = mean_ms(io);
    i->generation_mean_ms = mean_ms(gen);
}

void levels_tier(struct snapshot_tier *v, const struct counters *d, int t) {
    const struct histogram *read = &d->op_total[t][KVF_DIR_READ], *write = &d->op_total[t][KVF_DIR_WRITE];
    v->read_p50_ms = levels_ms(read, 0.5);
    v->read_p95_ms = levels_ms(read, 0.95);
    v->read_p99_ms = levels_ms(read, 0.99);
    v->write_p50_ms = levels_ms(write, 0.5);
    v->write_p95_ms = levels_ms(write, 0.95);
    v->write_p99_ms = levels_ms(write, 0.99);
    v->read_device_p95_ms = levels_ms(&d->op_device[t][KVF_DIR_READ], 0.95);
    v->write_device_p95_ms = levels_ms(&d->op_device[t][KVF_DIR_WRITE], 0.95);
    v->read_host_p95_ms = levels_ms(&d->op_host[t][KVF_DIR_READ], 0.95);
    v->write_host_p95_ms = levels_ms(&d->op_host[t][KVF_DIR_WRITE], 0.95);
}

void levels_class(struct snapshot_qos *v, const struct counters_class *c) {
    v->e2e_p50_ms = levels_ms(&c->e2e, 0.5);
    v->e2e_p95_ms = levels_ms(&c->e2e, 0.95);
    v->ttft_p50_ms = levels_ms(&c->ttft, 0.5);
    v->ttft_p95_ms = levels_ms(&c->ttft, 0.95);
}

static struct windows_levels levels_of(const struct histogram *h) {
    return (struct windows_levels){levels_ms(h, 0.5), levels_ms(h, 0.95), levels_ms(h, 0.99)};
}

void levels_view(struct windows_view *v, const struct counters *d, uint32_t classes) {
    for (int t = 0; t < KVF_TIERS; t++) {
        for (int dir = 0; dir < KVF_DIRS; dir++) {
            v->op[t][dir][WINDOWS_TOTAL] = levels_of(&d->op_total[t][dir]);
            v->op[t][dir][WINDOWS_DEVICE] = levels_of(&d->op_device[t][dir]);
            v->op[t][dir][WINDOWS_LINE] = levels_of(&d->op_host[t][dir]);
        }
    }
    for (uint32_t k = 0; k < classes; k++) {
        v->klass[k][WINDOWS_TTFT] = levels_of(&d->klass[k].ttft);
        v->klass[k][WINDOWS_E2E] = levels_of(&d->klass[k].e2e);
    }
}

void levels_results(struct result_list *out, const char *prefix, const struct histogram *h) {
    uint64_t n = histogram_count(h);
    result_add(out, mean_ms(h), n, "%s_mean_ms", prefix);
    for (enum kvf_stat s = KVF_STAT_P50; s <= KVF_STAT_P9999; s++)
        result_add(out, levels_ms(h, stat_quantile(s)), n, "%s_%s_ms", prefix, stat_name(s));
    result_add(out, histogram_max(h) / 1e6, n, "%s_max_ms", prefix);
}

void levels_keep(struct run_record *run, const char *scope, const struct histogram *h) {
    if (histogram_count(h) == 0) return;
    size_t len = histogram_encode(h, NULL, 0);
    uint8_t *data = mem_alloc(len);
    len = histogram_encode(h, data, len);
    run_record_histogram(run, scope, data, len);
    free(data);
}
