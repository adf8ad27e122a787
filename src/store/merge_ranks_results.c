/* Results of runs that are made one. */
#include "store/merge_ranks.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "engine/limits/assess.h"
#include "engine/limits/slowest.h"
#include "engine/sampling/levels.h"

static void add_tier(struct store_ranks *w, int t) {
    const struct snapshot_tier *v = &w->view->snap.tier[t];
    const struct counters *c = w->kept->counters;
    const char *tier = tier_name((enum kvf_tier)t);
    struct result_list *out = &w->run.results;
    const double s = w->view->snap.interval.length_s, gib = (double)KVF_GIB;
    const struct {
        const char *name;
        uint64_t n;
    } counts[] = {
        {"entries", v->entries},       {"used_bytes", v->used_bytes},    {"hits", v->hits},
        {"reuse_hits", v->reuse_hits}, {"evictions", v->evictions},      {"demotions", v->demotions},
        {"promotions", v->promotions}, {"fell_through", v->fell_through}};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        result_add(out, (double)counts[i].n, 0, "%s_%s", tier, counts[i].name);
    result_add(out, v->busy_ratio, 0, "%s_busy_ratio", tier);
    struct histogram *both = mem_zalloc(1, sizeof *both);
    histogram_add(both, &c->op_total[t][KVF_DIR_READ]);
    histogram_add(both, &c->op_total[t][KVF_DIR_WRITE]);
    result_add(out, levels_ms(both, 0.95), histogram_count(both), "%s_p95_ms", tier);
    free(both);
    result_add(out, v->io_in_flight_mean, 0, "%s_io_in_flight_mean", tier);
    for (int d = 0; d < KVF_DIRS; d++) {
        const char *way = dir_name((enum kvf_dir)d);
        const struct histogram *of[] = {&c->op_total[t][d], &c->op_device[t][d], &c->op_host[t][d]};
        uint64_t bytes = d == KVF_DIR_READ ? v->read_bytes : v->write_bytes;
        char prefix[48];
        result_add(out, (double)(d == KVF_DIR_READ ? v->read_ops : v->write_ops), 0, "%s_%s_ops", tier, way);
        result_add(out, (double)bytes, 0, "%s_%s_bytes", tier, way);
        result_add(out, kvf_ratio((double)bytes / gib, s), 0, "%s_%s_gib_s", tier, way);
        result_add(out, d == KVF_DIR_READ ? v->read_busy_ratio : v->write_busy_ratio, 0, "%s_%s_busy_ratio",
                   tier, way);
        for (int i = 0; i < 3; i++) {
            snprintf(prefix, sizeof prefix, "%s_%s%s", tier, way, i == 0 ? "" : i == 1 ? "_device" : "_host");
            levels_results(out, prefix, of[i]);
            levels_keep(&w->run, prefix, of[i]);
        }
    }
}

static void add_causes(struct store_ranks *w) {
    uint64_t total[KVF_DIRS] = {0};
    for (int t = 0; t < KVF_TIERS; t++)
        for (int d = 0; d < KVF_DIRS; d++)
            for (int k = 0; k < KVF_CAUSES; k++) {
                const struct snapshot_cause *c = &w->view->snap.cause[t][d][k];
                const char *tier = tier_name((enum kvf_tier)t), *way = dir_name((enum kvf_dir)d);
                const char *cause = cause_name((enum kvf_cause)k);
                total[d] += c->bytes;
                if (c->ops == 0 && c->bytes == 0) continue;
                result_add(&w->run.results, (double)c->ops, 0, "%s_%s_%s_ops", tier, way, cause);
                result_add(&w->run.results, (double)c->bytes, 0, "%s_%s_%s_bytes", tier, way, cause);
            }
    result_add(&w->run.results, (double)total[KVF_DIR_READ], 0, "total_read_bytes");
    result_add(&w->run.results, (double)total[KVF_DIR_WRITE], 0, "total_write_bytes");
    result_add(&w->run.results, kvf_ratio((double)total[KVF_DIR_READ], (double)total[KVF_DIR_WRITE]), 0,
               "read_write_ratio");
}

static void add_classes(struct store_ranks *w) {
    const struct snapshot *s = &w->view->snap;
    struct result_list *out = &w->run.results;
    char prefix[sizeof((struct result *)0)->metric];
    for (uint32_t k = 0; k < s->classes; k++) {
        const struct counters_class *c = &w->kept->counters->klass[k];
        const char *name = s->class_name[k];
        double judged = w->kept->sums.class_judged[k], missed = w->kept->sums.class_missed[k];
        bool ttft = strcmp(w->run.qos_latency, "ttft") == 0 && histogram_count(&c->ttft) > 0;
        result_add(out, kvf_ratio(judged - missed, judged), (uint64_t)judged, "slo_%s_met_ratio", name);
        for (int q = 1; q < LEVELS_QUANTILES; q++)
            result_add(out, levels_ms(ttft ? &c->ttft : &c->e2e, levels_quantiles[q].q),
                       histogram_count(ttft ? &c->ttft : &c->e2e), "slo_%s_%s_ms", name,
                       levels_quantiles[q].name);
        result_add(out, (double)s->qos[k].arrived, 0, "class_%s_arrived", name);
        result_add(out, (double)s->qos[k].done, 0, "class_%s_done", name);
        result_add(out, (double)s->qos[k].failed, 0, "class_%s_failed", name);
        snprintf(prefix, sizeof prefix, "class_%s_ttft", name);
        levels_results(out, prefix, &c->ttft);
        snprintf(prefix, sizeof prefix, "class_%s_e2e", name);
        levels_results(out, prefix, &c->e2e);
    }
}

/* Tokens whose KV so many bytes of the nvme tier are, per second, at the first run's bytes per token. */
static double tok_s_of(const struct store_ranks *w, uint64_t bytes) {
    const struct result_list *own = &w->part[0].run.results;
    double moved = result_value(own, "nvme_read_bytes") + result_value(own, "nvme_write_bytes");
    double tokens = result_value(own, "nvme_tok_s") * result_value(own, "measured_s");
    if (bytes == 0 && w->view->snap.tier_on[KVF_TIER_NVME]) return 0;
    return kvf_ratio(tokens, moved) * (double)bytes / w->view->snap.interval.length_s;
}

/* A measure that no interval keeps: of all that each run has measured. */
static double sum_of(const struct store_ranks *w, const char *metric) {
    double sum = 0;
    for (size_t i = 0; i < w->count; i++) sum += result_value(&w->part[i].run.results, metric);
    return sum;
}

/* A class that one rank served badly was served badly; so of arrivals left waiting. */
static double most_of(const struct store_ranks *w, const char *metric) {
    double most = KVF_MISSING;
    for (size_t i = 0; i < w->count; i++) most = fmax(most, result_value(&w->part[i].run.results, metric));
    return most;
}

static void add_requests(struct store_ranks *w) {
    const struct snapshot_interval *i = &w->view->snap.interval;
    const struct snapshot_tier *nvme = &w->view->snap.tier[KVF_TIER_NVME];
    uint64_t reuse_hits = 0;
    for (int t = 0; t < KVF_TIERS; t++) reuse_hits += w->view->snap.tier[t].reuse_hits;
    const struct counters *c = w->kept->counters;
    struct result_list *out = &w->run.results;
    const struct {
        const char *name;
        double v;
    } plain[] = {{"measured_s", i->length_s},
                 {"throughput_tok_s", i->throughput_tok_s},
                 {"requests_per_s", i->requests_per_s},
                 {"requests_arrived", (double)i->arrived},
                 {"requests_done", (double)i->done},
                 {"requests_failed", (double)i->failed},
                 {"refused", (double)i->refused},
                 {"fell_through", (double)i->fell_through},
                 {"requests_dropped", (double)i->dropped},
                 {"tokens_generated", (double)i->tokens},
                 {"queue_depth_mean", i->queue_depth_mean},
                 {"in_service_mean", i->in_service},
                 {"lookups", (double)i->lookups},
                 {"hits", (double)i->hits},
                 {"misses", (double)(i->lookups - i->hits)},
                 {"reuse_lookups", (double)i->reuse_lookups},
                 {"decode_lookups", (double)(i->lookups - i->reuse_lookups)},
                 {"decode_hits", (double)(i->hits - reuse_hits)},
                 {"nvme_tok_s", tok_s_of(w, nvme->read_bytes + nvme->write_bytes)},
                 {"nvme_read_tok_s", tok_s_of(w, nvme->read_bytes)},
                 {"nvme_write_tok_s", tok_s_of(w, nvme->write_bytes)},
                 {"not_admitted", sum_of(w, "not_admitted")},
                 {"copies_skipped", sum_of(w, "copies_skipped")},
                 {"classes_unserved", most_of(w, "classes_unserved")},
                 {"operation_errors", (double)i->errors},
                 {"cpu_user_s", i->cpu_user_s},
                 {"cpu_sys_s", i->cpu_sys_s}};
    for (size_t n = 0; n < sizeof plain / sizeof *plain; n++)
        result_add(out, plain[n].v, 0, "%s", plain[n].name);
    double unserved = most_of(w, "unserved_ratio"); /* of an open loop */
    if (kvf_present(unserved)) result_add(out, unserved, 0, "unserved_ratio");
    result_add(out, i->hit_ratio, i->lookups, "hit_ratio");
    result_add(out, i->reuse_hit_ratio, i->reuse_lookups, "reuse_hit_ratio");
    double storage_s = (double)atomic_load(&c->latency[REQUEST_LATENCY_STORAGE_IO].sum) / 1e9;
    result_add(out, kvf_ratio((double)i->tokens, storage_s), 0, "storage_throughput_tok_s");
    for (int l = 0; l < REQUEST_LATENCIES; l++) {
        if (l == REQUEST_LATENCY_TPOT) continue; /* no interval keeps it */
        const char *name = request_latency_name((enum request_latency)l);
        levels_results(out, name, &c->latency[l]);
        levels_keep(&w->run, name, &c->latency[l]);
    }
}

static void add_ranks(struct store_ranks *w, const struct store_whole *done) {
    struct run_record *r = &w->run;
    double first = INFINITY;
    size_t hosts = 0;
    for (size_t i = 0; i < r->rank_count; i++) {
        size_t k = 0;
        while (k < i && strcmp(r->ranks[k].at.host, r->ranks[i].at.host) != 0) k++;
        hosts += k == i;
        first = fmin(first, r->ranks[i].start_late_ms);
    }
    for (size_t i = 0; i < r->rank_count; i++)
        r->ranks[i].start_late_ms = (r->ranks[i].start_late_ms - first) * 1e3;
    result_add(&r->results, (double)w->count, 0, "ranks");
    result_add(&r->results, (double)hosts, 0, "rank_hosts");
    result_add(&r->results, 0, 0, "ranks_lost");
    result_add(&r->results, done->apart_s * 1e3, 0, "start_skew_ms");
}

void merge_ranks_results(struct store_ranks *w, const struct store_whole *done) {
    for (int t = 0; t < KVF_TIERS; t++)
        if (w->view->snap.tier_on[t]) add_tier(w, t);
    add_requests(w);
    add_causes(w);
    add_classes(w);
    add_ranks(w, done);
    w->run.verdict = w->view->verdict;
    slowest_judge(&w->run);
    assess_again(&w->run);
}
