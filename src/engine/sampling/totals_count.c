#include "engine/sampling/totals_count.h"

#include "base/clock.h"

/* A value is taken as the middle of its bucket, so that a bound is kept within the histogram's stated
 * error. Both run upwards: one walk. */
static void histogram_pour(const struct histogram *from, struct totals_histogram *to) {
    uint64_t count = histogram_count(from);
    size_t bound = 0;

    if (count == 0) return;
    to->sum_s += histogram_mean(from) * (double)count / (double)KVF_NS_PER_S;
    for (uint32_t b = atomic_load(&from->lo), hi = atomic_load(&from->hi); b < hi; b++) {
        uint64_t n = counters_get(&from->bucket[b]);
        if (n == 0) continue;
        double middle_ns = ((double)histogram_bucket_low(b) + (double)histogram_bucket_high(b)) / 2;
        while (bound < TOTALS_BOUNDS && middle_ns > totals_bounds_s[bound] * (double)KVF_NS_PER_S) bound++;
        to->count[bound] += n;
    }
}

/* A value missing in one interval leaves the sum unchanged; missing in all, the sum is missing. */
static void sum_add(double *sum, double v, double scale) {
    if (kvf_present(v)) *sum = (kvf_present(*sum) ? *sum : 0) + v * scale;
}

static void add_requests(struct totals *t, const struct snapshot *snap, const struct counters *d) {
    const struct snapshot_interval *i = &snap->interval;
    t->intervals++;
    t->phase_s[i->phase] += i->length_s;
    t->arrived += i->arrived;
    t->done += i->done;
    t->failed += i->failed;
    t->dropped += i->dropped;
    t->tokens += i->tokens;
    t->context_tokens += counters_get(&d->context_tokens);
    t->decisions += snap->decisions;
    for (uint32_t k = 0; k < snap->classes; k++) {
        t->class_arrived[k] += snap->qos[k].arrived;
        t->class_done[k] += snap->qos[k].done;
        t->class_failed[k] += snap->qos[k].failed;
        sum_add(&t->class_violations[k], snap->qos[k].violations, 1);
    }
    for (int l = 0; l < REQUEST_LATENCIES; l++) histogram_pour(&d->latency[l], &t->request[l]);
}

static void add_cache(struct totals *t, const struct cache_stats *c) {
    for (int cause = 0; cause < KVF_CAUSES; cause++) {
        t->lookups[cause] += c->lookups[cause];
        t->misses[cause] += c->misses[cause];
        for (int tier = 0; tier < KVF_TIERS; tier++) t->hits[tier][cause] += c->hits_in[tier][cause];
    }
    for (int tier = 0; tier < KVF_TIERS; tier++) {
        t->evictions[tier] += c->evictions[tier];
        t->demotions[tier] += c->demotions[tier];
        t->promotions[tier] += c->promotions[tier];
        t->fell_through[tier] += c->fell_through[tier];
    }
    t->refused += c->refused;
    t->not_admitted += c->not_admitted;
}

static void add_tier(struct totals *t, const struct counters *d, int tier) {
    for (int dir = 0; dir < KVF_DIRS; dir++) {
        for (int cause = 0; cause < KVF_CAUSES; cause++) {
            t->ops[tier][dir][cause] += counters_get(&d->io[tier][dir][cause].ops);
            t->bytes[tier][dir][cause] += counters_get(&d->io[tier][dir][cause].bytes);
        }
        t->errors[tier][dir] += counters_get(&d->errors[tier][dir]);
        histogram_pour(&d->op_total[tier][dir], &t->op[tier][dir]);
        histogram_pour(&d->op_device[tier][dir], &t->device[tier][dir]);
    }
}

static void add_machine(struct totals *t, const struct snapshot_interval *i) {
    sum_add(&t->cpu_user_s, i->cpu_user_s, 1);
    sum_add(&t->cpu_sys_s, i->cpu_sys_s, 1);
    sum_add(&t->cpu_workers_s, i->workers_cpu_s, 1);
    sum_add(&t->device_bytes[KVF_DIR_READ], i->device_read_bytes, 1);
    sum_add(&t->device_bytes[KVF_DIR_WRITE], i->device_write_bytes, 1);
    sum_add(&t->device_s[KVF_DIR_READ], i->device_read_ms, 1e-3);
    sum_add(&t->device_s[KVF_DIR_WRITE], i->device_write_ms, 1e-3);
    sum_add(&t->device_busy_s, i->device_busy_ratio, i->length_s);
    sum_add(&t->net_rx_bytes, i->net_rx_bytes, 1);
    sum_add(&t->net_tx_bytes, i->net_tx_bytes, 1);
    sum_add(&t->energy_j, i->energy_used_j, 1);
}

void totals_begin(struct totals *t) {
    *t = (struct totals){.cpu_user_s = KVF_MISSING,
                         .cpu_sys_s = KVF_MISSING,
                         .cpu_workers_s = KVF_MISSING,
                         .device_bytes = {KVF_MISSING, KVF_MISSING},
                         .device_s = {KVF_MISSING, KVF_MISSING},
                         .device_busy_s = KVF_MISSING,
                         .net_rx_bytes = KVF_MISSING,
                         .net_tx_bytes = KVF_MISSING,
                         .energy_j = KVF_MISSING};
    for (int k = 0; k < KVF_CLASSES_MAX; k++) t->class_violations[k] = KVF_MISSING;
}

void totals_add(struct totals *t, const struct snapshot *snap, const struct counters *delta,
                const struct cache_stats *cache) {
    add_requests(t, snap, delta);
    add_cache(t, cache);
    for (int tier = 0; tier < KVF_TIERS; tier++) add_tier(t, delta, tier);
    add_machine(t, &snap->interval);
}
