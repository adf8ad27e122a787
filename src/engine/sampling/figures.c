#include "engine/sampling/figures.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/units.h"
#include "engine/sampling/levels.h"

static const char *const part_suffix[] = {"", "_device", "_host"};
enum { PARTS = sizeof part_suffix / sizeof part_suffix[0] };

static const struct histogram *part_of(const struct counters *d, int t, int dir, int part) {
    return part == 0 ? &d->op_total[t][dir] : part == 1 ? &d->op_device[t][dir] : &d->op_host[t][dir];
}

static void add_count(struct result_list *out, const char *name, uint64_t n) {
    result_add(out, (double)n, 0, "%s", name);
}

/* ---- requests ---- */

/* Requests of a class inside its target; without one those that ended well. */
static double class_met(const struct snapshot_qos *q) {
    return kvf_present(q->met_ratio) ? nearbyint(q->met_ratio * (double)(q->done + q->failed + q->overdue))
                                     : (double)q->done;
}

/* Tokens whose KV the nvme tier moved, per second. */
static void add_nvme_tokens(struct result_list *out, const struct figures *f) {
    const struct snapshot_tier *v = &f->snap->tier[KVF_TIER_NVME];
    const uint64_t moved[KVF_DIRS] = {[KVF_DIR_READ] = v->read_bytes, [KVF_DIR_WRITE] = v->write_bytes};
    bool on = f->snap->tier_on[KVF_TIER_NVME];
    double tok_s[KVF_DIRS], all = (double)(v->read_bytes + v->write_bytes), s = f->snap->interval.length_s;
    for (int d = 0; d < KVF_DIRS; d++)
        tok_s[d] = on ? kvf_ratio(moved[d] ? (double)moved[d] / f->token_bytes : 0, s) : KVF_MISSING;
    result_add(out, on ? kvf_ratio(all > 0 ? all / f->token_bytes : 0, s) : KVF_MISSING, 0, "nvme_tok_s");
    for (int d = 0; d < KVF_DIRS; d++)
        result_add(out, tok_s[d], 0, "nvme_%s_tok_s", dir_name((enum kvf_dir)d));
}

void figures_requests(struct result_list *out, const struct figures *f) {
    const struct snapshot_interval *i = &f->snap->interval;
    double met = 0, tokens = (double)i->tokens;
    double storage_s = (double)atomic_load(&f->d->latency[REQUEST_LATENCY_STORAGE_IO].sum) / 1e9;
    double at_start =
        (double)(i->done + i->failed + i->dropped + i->queue_depth + i->in_service_now) - (double)i->arrived;
    for (uint32_t k = 0; k < f->snap->classes; k++) met += class_met(&f->snap->qos[k]);
    result_add(out, i->length_s, 0, "measured_s");
    result_add(out, kvf_ratio(tokens, i->length_s), 0, "throughput_tok_s");
    result_add(out, kvf_ratio((double)i->done, i->length_s), 0, "requests_per_s");
    result_add(out, kvf_ratio(tokens, storage_s), 0, "storage_throughput_tok_s");
    add_nvme_tokens(out, f);
    add_count(out, "requests_arrived", i->arrived);
    add_count(out, "requests_done", i->done);
    add_count(out, "requests_failed", i->failed);
    add_count(out, "requests_dropped", i->dropped);
    result_add(out, at_start, 0, "requests_open_at_start");
    add_count(out, "requests_queued_at_end", i->queue_depth);
    add_count(out, "requests_in_service_at_end", i->in_service_now);
    result_add(out, i->queue_depth_mean, 0, "queue_depth_mean");
    result_add(out, i->in_service, 0, "in_service_mean");
    result_add(out, tokens, 0, "tokens_generated");
    for (int l = 0; l < REQUEST_LATENCIES; l++)
        levels_results(out, request_latency_name((enum request_latency)l), &f->d->latency[l]);
    result_add(out, levels_ms(&f->d->latency[REQUEST_LATENCY_TTFT], 0.9),
               histogram_count(&f->d->latency[REQUEST_LATENCY_TTFT]), "ttft_p90_ms");
    result_add(out, kvf_ratio(result_value(out, "storage_io_mean_ms"), result_value(out, "e2e_mean_ms")),
               i->done, "storage_io_share");
    result_add(out, kvf_ratio(met, i->length_s), i->done, "goodput_per_s");
}

bool figures_within(const struct histogram *judged, enum kvf_stat stat, uint64_t target_ns, uint64_t all) {
    uint64_t n = histogram_count(judged);
    double q = stat_quantile(stat) * (double)all / (double)n; /* among those that have a latency */
    return n > 0 && q <= 1 && histogram_quantile(judged, q) <= (double)target_ns;
}

static void add_class(struct result_list *out, const struct figures *f, uint32_t k) {
    const struct snapshot_qos *q = &f->snap->qos[k];
    const struct counters_class *c = &f->d->klass[k];
    const char *name = f->snap->class_name[k];
    const struct histogram *judged = figures_judged(c, f->by_ttft);
    uint64_t all = q->done + q->failed + q->overdue;
    bool target = kvf_present(q->violations);
    double at_start = (double)(q->done + q->failed + q->queued + q->in_service_now) - (double)q->arrived;
    char prefix[sizeof((struct result *)0)->metric];
    result_add(out, f->too_soon[k] ? KVF_MISSING : q->met_ratio, all, "slo_%s_met_ratio", name);
    result_add(out, target ? (double)all - class_met(q) : KVF_MISSING, all, "slo_%s_violations", name);
    for (int i = 0; i < KVF_TARGETS; i++)
        result_add(out, levels_ms(judged, stat_quantile(stat_of_target(i))), histogram_count(judged),
                   "slo_%s_%s_ms", name, stat_name(stat_of_target(i)));
    result_add(out, (double)q->arrived, 0, "class_%s_arrived", name);
    result_add(out, (double)q->done, 0, "class_%s_done", name);
    result_add(out, (double)q->failed, 0, "class_%s_failed", name);
    result_add(out, at_start, 0, "class_%s_open_at_start", name);
    result_add(out, (double)q->queued, 0, "class_%s_queued_at_end", name);
    result_add(out, (double)q->in_service_now, 0, "class_%s_in_service_at_end", name);
    result_add(out, q->queued_mean, 0, "class_%s_queue_depth_mean", name);
    result_add(out, q->in_service, 0, "class_%s_in_service_mean", name);
    snprintf(prefix, sizeof prefix, "class_%s_ttft", name);
    levels_results(out, prefix, &c->ttft);
    snprintf(prefix, sizeof prefix, "class_%s_e2e", name);
    levels_results(out, prefix, &c->e2e);
    result_add(out, (double)q->overdue, 0, "class_%s_overdue_at_end", name);
    result_add(out, q->oldest_wait_ms, 0, "class_%s_oldest_wait_ms", name);
}

void figures_classes(struct result_list *out, const struct figures *f) {
    for (uint32_t k = 0; k < f->snap->classes; k++) add_class(out, f, k);
}

/* ---- cache and tiers ---- */

void figures_cache(struct result_list *out, const struct figures *f) {
    const struct snapshot_interval *i = &f->snap->interval;
    uint64_t evictions = 0, demotions = 0, promotions = 0;
    for (int t = 0; t < KVF_TIERS; t++) {
        evictions += f->snap->tier[t].evictions;
        demotions += f->snap->tier[t].demotions;
        promotions += f->snap->tier[t].promotions;
    }
    add_count(out, "lookups", i->lookups);
    add_count(out, "hits", i->hits);
    add_count(out, "misses", i->lookups - i->hits);
    add_count(out, "reuse_lookups", i->reuse_lookups);
    result_add(out, i->hit_ratio, i->lookups, "hit_ratio");
    result_add(out, i->reuse_hit_ratio, i->reuse_lookups, "reuse_hit_ratio");
    add_count(out, "evictions", evictions);
    add_count(out, "demotions", demotions);
    add_count(out, "promotions", promotions);
    add_count(out, "refused", i->refused);
    add_count(out, "fell_through", i->fell_through);
    add_count(out, "not_admitted", i->not_admitted);
}

static void add_dir(struct result_list *out, const struct figures *f, int t, int dir) {
    const struct snapshot_tier *v = &f->snap->tier[t];
    const char *tier = tier_name((enum kvf_tier)t), *way = dir_name((enum kvf_dir)dir);
    bool on = f->snap->tier_on[t], reads = dir == KVF_DIR_READ;
    double bytes = (double)(reads ? v->read_bytes : v->write_bytes);
    double total_ns = histogram_mean(part_of(f->d, t, dir, 0)),
           device_ns = histogram_mean(part_of(f->d, t, dir, 1));
    char prefix[48];
    result_add(out, on ? (double)(reads ? v->read_ops : v->write_ops) : KVF_MISSING, 0, "%s_%s_ops", tier,
               way);
    result_add(out, on ? bytes : KVF_MISSING, 0, "%s_%s_bytes", tier, way);
    result_add(out, on ? kvf_ratio(bytes / (double)KVF_GIB, f->snap->interval.length_s) : KVF_MISSING, 0,
               "%s_%s_gib_s", tier, way);
    result_add(out,
               !on     ? KVF_MISSING
               : reads ? v->read_busy_ratio
                       : v->write_busy_ratio,
               0, "%s_%s_busy_ratio", tier, way);
    for (int p = 0; p < PARTS; p++) {
        snprintf(prefix, sizeof prefix, "%s_%s%s", tier, way, part_suffix[p]);
        levels_results(out, prefix, part_of(f->d, t, dir, p));
    }
    result_add(out, kvf_ratio(fmax(0, total_ns - device_ns), total_ns),
               histogram_count(part_of(f->d, t, dir, 0)), "%s_%s_host_share", tier, way);
}

static void add_tier(struct result_list *out, const struct figures *f, int t) {
    const struct snapshot_tier *v = &f->snap->tier[t];
    const struct {
        const char *name;
        double value;
    } plain[] = {{"entries", (double)v->entries},
                 {"used_bytes", (double)v->used_bytes},
                 {"hits", (double)v->hits},
                 {"reuse_hits", (double)v->reuse_hits},
                 {"evictions", (double)v->evictions},
                 {"demotions", (double)v->demotions},
                 {"promotions", (double)v->promotions},
                 {"fell_through", (double)v->fell_through},
                 {"busy_ratio", v->busy_ratio},
                 {"io_in_flight_mean", v->io_in_flight_mean}};
    const char *tier = tier_name((enum kvf_tier)t);
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++)
        result_add(out, f->snap->tier_on[t] ? plain[i].value : KVF_MISSING, 0, "%s_%s", tier, plain[i].name);
    for (int d = 0; d < KVF_DIRS; d++) add_dir(out, f, t, d);
    struct histogram *both = mem_zalloc(1, sizeof *both);
    histogram_copy(both, &f->d->op_total[t][KVF_DIR_READ]);
    histogram_add(both, &f->d->op_total[t][KVF_DIR_WRITE]);
    result_add(out, levels_ms(both, 0.95), histogram_count(both), "%s_p95_ms", tier);
    free(both);
}

static void add_cause(struct result_list *out, const struct figures *f, int t, int dir, int cause) {
    const struct snapshot_cause *c = &f->snap->cause[t][dir][cause];
    const struct histogram *h = &f->d->op_cause[t][dir][cause];
    const char *tier = tier_name((enum kvf_tier)t), *way = dir_name((enum kvf_dir)dir);
    const char *name = cause_name((enum kvf_cause)cause);
    if (c->ops == 0 && c->bytes == 0) return;
    result_add(out, (double)c->ops, 0, "%s_%s_%s_ops", tier, way, name);
    result_add(out, (double)c->bytes, 0, "%s_%s_%s_bytes", tier, way, name);
    result_add(out, histogram_quantile(h, 0.95) / 1e6, histogram_count(h), "%s_%s_%s_p95_ms", tier, way,
               name);
}

void figures_tiers(struct result_list *out, const struct figures *f) {
    double read = 0, written = 0;
    for (int t = 0; t < KVF_TIERS; t++) {
        read += (double)f->snap->tier[t].read_bytes;
        written += (double)f->snap->tier[t].write_bytes;
        add_tier(out, f, t);
    }
    for (int t = 0; t < KVF_TIERS; t++)
        for (int d = 0; d < KVF_DIRS; d++)
            for (int c = 0; c < KVF_CAUSES; c++) add_cause(out, f, t, d, c);
    result_add(out, read, 0, "total_read_bytes");
    result_add(out, written, 0, "total_write_bytes");
    result_add(out, kvf_ratio(read, written), 0, "read_write_ratio");
    result_add(out, kvf_ratio(read / f->token_bytes, (double)f->snap->interval.tokens), 0, "amplification");
}

void figures_machine(struct result_list *out, const struct figures *f) {
    const struct snapshot_interval *i = &f->snap->interval;
    result_add(out, i->device_read_bytes, 0, "device_read_bytes");
    result_add(out, i->device_write_bytes, 0, "device_write_bytes");
    result_add(out, i->device_read_ms, 0, "device_read_ms");
    result_add(out, i->device_write_ms, 0, "device_write_ms");
    result_add(out, i->device_busy_ratio, 0, "device_busy_ratio");
    result_add(out, i->cpu_user_s, 0, "cpu_user_s");
    result_add(out, i->cpu_sys_s, 0, "cpu_sys_s");
    result_add(out, i->workers_cpu_s, 0, "cpu_workers_s");
}

void figures_histograms(struct run_record *run, const struct counters *d) {
    char scope[48];
    for (int l = 0; l < REQUEST_LATENCIES; l++)
        levels_keep(run, request_latency_name((enum request_latency)l), &d->latency[l]);
    for (int t = 0; t < KVF_TIERS; t++)
        for (int dir = 0; dir < KVF_DIRS; dir++)
            for (int p = 0; p < PARTS - 1; p++) {
                snprintf(scope, sizeof scope, "%s_%s%s", tier_name((enum kvf_tier)t),
                         dir_name((enum kvf_dir)dir), part_suffix[p]);
                levels_keep(run, scope, part_of(d, t, dir, p));
            }
}
