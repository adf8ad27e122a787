/* The results file of MLPerf Storage's kv-cache.py, which mlpstorage aggregates: its names, nesting and
 * units. What a run has no figure for is null; members that mlpstorage adds up or compares are left out
 * instead, because it takes what is absent for nothing and stumbles over null. kvfall-mlperf(7) has the
 * mapping. */
#include <inttypes.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/moment.h"
#include "base/units.h"
#include "export/export.h"
#include "export/json_part.h"
#include "record/standing.h"

#define PER_GIB (1.0 / (double)KVF_GIB)

static const struct {
    const char *ours, *theirs;
} tiers[] = {{"gpu", "gpu"}, {"cpu", "cpu"}, {"nvme", "storage"}};
enum { TIERS = sizeof tiers / sizeof *tiers };

/* ---- values ---- */

/* ISO 8601 without a zone, as datetime.isoformat() writes it, but in UTC. */
static json_t *moment(double epoch_s) {
    char out[MOMENT_TEXT];
    if (!moment_iso(epoch_s, 6, out)) return json_null();
    out[strlen(out) - 1] = '\0'; /* the Z */
    return json_string(out);
}

static double value(const struct run_record *r, const char *metric) {
    return result_value(&r->results, metric);
}

#define named(r, ...) result_named(&(r)->results, __VA_ARGS__)

/* Seconds that the requests of a latency spent on it in sum. */
static double total_s(const struct run_record *r, const char *latency) {
    const struct result *mean = result_find(&r->results, latency);
    return mean && mean->samples ? mean->value * (double)mean->samples / 1e3 : KVF_MISSING;
}

static double storage_io_s(const struct run_record *r) {
    return total_s(r, "storage_io_mean_ms");
}
static double generation_s(const struct run_record *r) {
    return total_s(r, "generation_mean_ms");
}

/* Of a cause whose operations a tier has none of there is no measure. A run without totals has none at all.
 */
static double operations(const struct run_record *r, enum kvf_dir dir, const char *const *causes,
                         size_t count) {
    if (!kvf_present(value(r, "total_read_bytes"))) return KVF_MISSING;
    double sum = 0;
    for (int t = 0; t < KVF_TIERS; t++)
        for (size_t c = 0; c < count; c++) {
            double ops = named(r, "%s_%s_%s_ops", tier_name((enum kvf_tier)t), dir_name(dir), causes[c]);
            if (kvf_present(ops)) sum += ops;
        }
    return sum;
}

static double prefill_writes(const struct run_record *r) {
    static const char *const causes[] = {"prefill", "decode", "conversation", "prefix", "rag"};
    return operations(r, KVF_DIR_WRITE, causes, sizeof causes / sizeof *causes);
}
static double decode_reads(const struct run_record *r) {
    static const char *const causes[] = {"decode", "conversation", "rag"};
    return operations(r, KVF_DIR_READ, causes, sizeof causes / sizeof *causes);
}

static double all_operations(const struct run_record *r, enum kvf_dir dir) {
    double sum = KVF_MISSING;
    for (int t = 0; t < KVF_TIERS; t++) {
        double ops = named(r, "%s_%s_ops", tier_name((enum kvf_tier)t), dir_name(dir));
        if (kvf_present(ops)) sum = kvf_present(sum) ? sum + ops : ops;
    }
    return sum;
}
static double read_operations(const struct run_record *r) {
    return all_operations(r, KVF_DIR_READ);
}
static double write_operations(const struct run_record *r) {
    return all_operations(r, KVF_DIR_WRITE);
}

/* Entries that reached a tier from above, new ones and demoted ones. */
static double offloads(const struct run_record *r, const char *tier) {
    double up = named(r, "%s_write_promotion_ops", tier);
    return named(r, "%s_write_ops", tier) - (kvf_present(up) ? up : 0);
}
static double offloads_cpu(const struct run_record *r) {
    return offloads(r, "cpu");
}
static double offloads_storage(const struct run_record *r) {
    return offloads(r, "nvme");
}

static double user_hits(const struct run_record *r) {
    return value(r, "hits") - value(r, "prefix_hits") - value(r, "conversation_hits");
}
static double conversation_misses(const struct run_record *r) {
    return value(r, "conversation_lookups") - value(r, "conversation_hits");
}
static double conversation_ratio(const struct run_record *r) {
    return kvf_ratio(value(r, "conversation_hits"), value(r, "conversation_lookups"));
}
static double storage_tokens(const struct run_record *r) {
    return value(r, "nvme_tok_s") * value(r, "measured_s");
}
static double no_figure(const struct run_record *r) {
    (void)r;
    return KVF_MISSING;
}

/* ---- the tables of figures ---- */

enum when_missing { NULL_THEN, LEFT_OUT };
struct figure {
    const char *key;
    const char *metric;                        /* NULL: `make` */
    double (*make)(const struct run_record *); /* of several measures */
    double scale;
    enum when_missing missing;
};

static const struct figure top_figures[] = {
    {"requests_completed", "requests_done", NULL, 1, NULL_THEN},
    {"total_tokens_generated", "tokens_generated", NULL, 1, NULL_THEN},
    {"total_storage_io_latency", NULL, storage_io_s, 1, NULL_THEN},
    {"total_generation_latency", NULL, generation_s, 1, NULL_THEN},
    {"multi_turn_cache_hits", "conversation_hits", NULL, 1, NULL_THEN},
    {"multi_turn_cache_misses", NULL, conversation_misses, 1, NULL_THEN},
    /* what mlpstorage itself looks for here; kv-cache.py has them in its summary alone */
    {"total_requests", "requests_done", NULL, 1, LEFT_OUT},
    {"avg_latency_ms", "e2e_mean_ms", NULL, 1, LEFT_OUT},
    {"p99_latency_ms", "e2e_p99_ms", NULL, 1, LEFT_OUT},
    {"throughput_req_per_sec", "requests_per_s", NULL, 1, LEFT_OUT},
    {"cache_hit_rate", "hit_ratio", NULL, 1, LEFT_OUT},
};

static const struct figure summary_figures[] = {
    {"total_requests", "requests_done", NULL, 1, NULL_THEN},
    {"total_tokens", "tokens_generated", NULL, 1, NULL_THEN},
    {"elapsed_time", "measured_s", NULL, 1, NULL_THEN},
    {"avg_throughput_tokens_per_sec", "throughput_tok_s", NULL, 1, LEFT_OUT},
    {"total_tokens_per_sec", "total_tok_s", NULL, 1, NULL_THEN},
    {"total_storage_io_time", NULL, storage_io_s, 1, NULL_THEN},
    {"storage_throughput_tokens_per_sec", "storage_throughput_tok_s", NULL, 1, LEFT_OUT},
    {"requests_per_second", "requests_per_s", NULL, 1, NULL_THEN},
};

static const struct figure cache_figures[] = {
    {"cache_hit_rate", "hit_ratio", NULL, 1, NULL_THEN},
    {"cache_hits", "hits", NULL, 1, NULL_THEN},
    {"cache_misses", "misses", NULL, 1, NULL_THEN},
    {"gpu_entries", "gpu_entries", NULL, 1, NULL_THEN},
    {"cpu_entries", "cpu_entries", NULL, 1, NULL_THEN},
    {"storage_entries", "nvme_entries", NULL, 1, NULL_THEN},
    {"gpu_memory_used_gb", "gpu_used_bytes", NULL, PER_GIB, NULL_THEN},
    {"cpu_memory_used_gb", "cpu_used_bytes", NULL, PER_GIB, NULL_THEN},
    {"offloads_cpu", NULL, offloads_cpu, 1, NULL_THEN},
    {"offloads_storage", NULL, offloads_storage, 1, NULL_THEN},
    {"prefill_writes", NULL, prefill_writes, 1, NULL_THEN},
    {"decode_reads", NULL, decode_reads, 1, NULL_THEN},
    {"system_prompt_hits", "prefix_hits", NULL, 1, NULL_THEN},
    {"common_phrase_hits", NULL, no_figure, 1, NULL_THEN},
    {"user_cache_hits", NULL, user_hits, 1, NULL_THEN},
    {"multi_turn_hits", "conversation_hits", NULL, 1, NULL_THEN},
    {"total_read_bytes", "total_read_bytes", NULL, 1, NULL_THEN},
    {"total_write_bytes", "total_write_bytes", NULL, 1, NULL_THEN},
    {"total_read_gb", "total_read_bytes", NULL, PER_GIB, NULL_THEN},
    {"total_write_gb", "total_write_bytes", NULL, PER_GIB, NULL_THEN},
    {"read_write_ratio", "read_write_ratio", NULL, 1, NULL_THEN},
    {"read_iops", NULL, read_operations, 1, NULL_THEN},
    {"write_iops", NULL, write_operations, 1, NULL_THEN},
    {"storage_tokens_processed", NULL, storage_tokens, 1, NULL_THEN},
};

static const struct figure turn_figures[] = {
    {"cache_hits", "conversation_hits", NULL, 1, NULL_THEN},
    {"cache_misses", NULL, conversation_misses, 1, NULL_THEN},
    {"hit_rate", NULL, conversation_ratio, 1, NULL_THEN},
};

static const struct figure prefix_figures[] = {
    {"prefix_hits", "prefix_found", NULL, 1, NULL_THEN},
    {"prefix_misses", "prefix_rebuilt", NULL, 1, NULL_THEN},
    {"system_prompt_reuse", "prefix_found", NULL, 1, NULL_THEN},
    {"common_phrase_reuse", NULL, no_figure, 1, NULL_THEN},
    {"bytes_saved", "prefix_bytes_saved", NULL, 1, NULL_THEN},
};
#define FIGURES(table) table, sizeof table / sizeof *(table)

static void add(json_t *o, const char *key, double v, enum when_missing missing) {
    if (kvf_present(v) || missing == NULL_THEN) json_object_set_new(o, key, json_part_number(v));
}

static void add_figures(json_t *o, const struct run_record *r, const struct figure *f, size_t count) {
    for (; count--; f++)
        add(o, f->key, (f->metric ? value(r, f->metric) : f->make(r)) * f->scale, f->missing);
}

/* ---- latencies ---- */

static json_t *latency(const struct run_record *r, const char *ours, enum kvf_stat last,
                       enum when_missing missing) {
    json_t *o = json_object();
    for (enum kvf_stat i = KVF_STAT_MEAN; i <= last; i++)
        add(o, stat_name(i), named(r, "%s_%s_ms", ours, stat_name(i)), missing);
    return o;
}

/* Percentiles that have no samples are left out, as they are there. */
static void add_percentiles(json_t *o, const struct run_record *r, size_t t, const char *part) {
    for (int dir = 0; dir < KVF_DIRS; dir++)
        for (enum kvf_stat i = KVF_STAT_P50; i <= KVF_STAT_P9999; i++) {
            const char *way = dir_name((enum kvf_dir)dir);
            char key[64];
            snprintf(key, sizeof key, "%s_%s%s_%s_ms", tiers[t].theirs, way, part, stat_name(i));
            add(o, key, named(r, "%s_%s%s_%s_ms", tiers[t].ours, way, part, stat_name(i)), LEFT_OUT);
        }
}

static void add_tier(json_t *o, const struct run_record *r, size_t t) {
    bool storage = strcmp(tiers[t].theirs, "storage") == 0;
    for (int dir = 0; dir < KVF_DIRS; dir++) {
        static const char *const past[KVF_DIRS] = {[KVF_DIR_READ] = "read", [KVF_DIR_WRITE] = "written"};
        const char *way = dir_name((enum kvf_dir)dir);
        char key[64];
        snprintf(key, sizeof key, "tier_%s_kv_bytes_%s_gb", tiers[t].theirs, past[dir]);
        add(o, key, named(r, "%s_%s_bytes", tiers[t].ours, way) * PER_GIB, NULL_THEN);
        snprintf(key, sizeof key, "tier_%s_%s_bandwidth_gbps", tiers[t].theirs, way);
        add(o, key, named(r, "%s_%s_gib_s", tiers[t].ours, way), storage ? LEFT_OUT : NULL_THEN);
    }
    add_percentiles(o, r, t, "");
    if (!storage) return;
    add_percentiles(o, r, t, "_device");
    add_percentiles(o, r, t, "_host");
}

/* ---- assessment ---- */

static json_t *health(const struct run_record *r) {
    size_t total, passed = run_criteria_passed(r, &total);
    json_t *o = json_object(), *list = json_array();
    for (size_t i = 0; i < r->criterion_count; i++) {
        const struct run_criterion *c = &r->criteria[i];
        if (!kvf_present(run_criterion_passed(r, c))) continue;
        json_array_append_new(list, JSON_OBJECT({"name", json_part_text(c->name)},
                                                {"target", json_part_number(c->target)},
                                                {"actual", json_part_number(c->actual)},
                                                {"unit", json_part_text(c->unit[0] ? c->unit : "ratio")},
                                                {"passed", json_boolean(c->passed == 1)}));
    }
    json_object_set_new(o, "overall_status",
                        json_part_text(!total            ? NULL
                                       : passed == total ? "PASS"
                                                         : "FAIL"));
    json_object_set_new(o, "criteria", list);
    json_object_set_new(o, "passed_count", json_integer((json_int_t)passed));
    json_object_set_new(o, "total_count", json_integer((json_int_t)total));
    return o;
}

static json_t *cache_stats(const struct run_record *r) {
    json_t *o = json_object();
    add_figures(o, r, FIGURES(cache_figures));
    for (size_t t = 0; t < TIERS; t++) add_tier(o, r, t);
    json_object_set_new(o, "storage_health", health(r));
    return o;
}

/* ---- classes ---- */

static json_t *class_metrics(const struct run_record *r, const struct run_class *c) {
    json_t *o = json_object(), *sla = json_object();
    if (named(r, "class_%s_arrived", c->name) == 0) {
        json_object_set_new(o, "no_data", json_true());
        json_decref(sla);
        return o;
    }
    char e2e[64];
    snprintf(e2e, sizeof e2e, "class_%s_e2e", c->name);
    json_object_set_new(o, "total_requests", json_part_number(named(r, "class_%s_done", c->name)));
    json_object_set_new(o, "latency_ms", latency(r, e2e, KVF_STAT_MAX, NULL_THEN));
    char stands[STANDING_TARGETS];
    standing_target(r, c, 0, stands);
    json_object_set_new(sla, "target_p95_ms",
                        json_part_number(c->p95_ns ? (double)c->p95_ns / 1e6 : KVF_MISSING));
    json_object_set_new(sla, "actual_p95_ms", json_part_number(named(r, "slo_%s_p95_ms", c->name)));
    json_object_set_new(sla, "compliance", json_part_number(named(r, "slo_%s_met_ratio", c->name)));
    bool met = strcmp(stands, "met") == 0, judged = met || strcmp(stands, "missed") == 0;
    json_object_set_new(sla, "met", judged ? json_boolean(met) : json_null());
    json_object_set_new(sla, "not_judged", judged ? json_null() : json_part_some(stands));
    json_object_set_new(o, "sla", sla);
    return o;
}

static json_t *qos_metrics(const struct run_record *r) {
    json_t *o = json_object();
    for (uint32_t i = 0; i < r->classes && i < KVF_CLASSES_MAX; i++) {
        json_t *name = json_part_text(r->klass[i].name);
        json_object_set_new(o, json_string_value(name), class_metrics(r, &r->klass[i]));
        json_decref(name);
    }
    return o;
}

/* ---- autoscaler ---- */

static bool is_end(const struct snapshot_decision *d) {
    static const char *const ends[] = {"found", "too many", "end", "off"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (strcmp(d->action, ends[i]) == 0) return true;
    return false;
}

static const char *action_of(const struct snapshot_decision *d) {
    return d->users_after > d->users_before   ? "scale_up"
           : d->users_after < d->users_before ? "scale_down"
           : is_end(d)                        ? "stop"
                                              : "hold";
}

static json_t *scaling_history(const struct run_record *r) {
    json_t *list = json_array();
    for (size_t i = 0; i < r->decision_count; i++) {
        const struct snapshot_decision *d = &r->decisions[i];
        const char *action = action_of(d);
        double run_s = r->decision_t_s ? r->decision_t_s[i] : KVF_MISSING;
        json_t *o = JSON_OBJECT({"timestamp", moment(r->started_at + value(r, "prepare_s") + run_s)},
                                {"mode", json_part_text(d->mode)}, {"action", json_part_text(action)},
                                {"users", json_integer((json_int_t)d->users_after)},
                                {"saturation_level", json_part_number(d->saturation)},
                                {"read_latency_p95_ms", json_null()}, {"write_latency_p95_ms", json_null()},
                                {"throughput_tokens_per_sec", json_part_number(d->throughput_tok_s)});
        /* under the name that their files have, and under the short one that readers of them look for */
        static const char *const peaks[] = {"peak_throughput_tokens_per_sec", "peak_throughput"};
        for (size_t p = 0; p < sizeof peaks / sizeof *peaks && strcmp(action, "stop") == 0; p++)
            json_object_set_new(o, peaks[p], json_part_number(value(r, "peak_throughput_tok_s")));
        json_object_set_new(o, "reason", json_part_text(d->reason));
        json_array_append_new(list, o);
    }
    return list;
}

static json_t *scaling_summary(const struct run_record *r) {
    if (!kvf_present(value(r, "autoscaler_decisions"))) return json_null();
    size_t n = r->decision_count, moves = 0;
    for (size_t i = 0; i < n; i++) moves += r->decisions[i].users_after != r->decisions[i].users_before;
    return JSON_OBJECT(
        {"initial_users", n ? json_integer((json_int_t)r->decisions[0].users_before) : json_null()},
        {"final_users", n ? json_integer((json_int_t)r->decisions[n - 1].users_after) : json_null()},
        {"total_scale_events", json_integer((json_int_t)moves)},
        {"peak_user_count", json_part_number(value(r, "users_at_peak"))},
        {"peak_throughput_tokens_per_sec", json_part_number(value(r, "peak_throughput_tok_s"))});
}

/* ---- the whole ---- */

/* Its figures are no success of their own: whoever reads nothing but the summary has to learn it there. */
static json_t *warning(const struct run_record *r) {
    char why[STANDING_TEXT], text[STANDING_TEXT + 40] = "";
    if (standing_run_why(&r->results, why)[0])
        snprintf(text, sizeof text, "throughput not comparable: %s", why);
    return json_part_some(text);
}

static json_t *summary(const struct run_record *r) {
    json_t *o = json_object(), *turns = json_object(), *prefix = json_object();
    add_figures(o, r, FIGURES(summary_figures));
    json_object_set_new(o, "end_to_end_latency_ms", latency(r, "e2e", KVF_STAT_P9999, NULL_THEN));
    json_object_set_new(o, "storage_io_latency_ms", latency(r, "storage_io", KVF_STAT_P9999, LEFT_OUT));
    json_object_set_new(o, "generation_latency_ms", latency(r, "generation", KVF_STAT_P9999, NULL_THEN));
    json_object_set_new(o, "cache_stats", cache_stats(r));
    json_object_set_new(o, "qos_metrics", qos_metrics(r));
    add_figures(prefix, r, FIGURES(prefix_figures));
    json_object_set_new(o, "prefix_cache_stats", prefix);
    json_object_set_new(o, "autoscaling_stats", scaling_history(r));
    json_object_set_new(o, "autoscaling_summary", scaling_summary(r));
    add_figures(turns, r, FIGURES(turn_figures));
    json_object_set_new(o, "multi_turn_stats", turns);
    json_object_set_new(o, "warning", warning(r));
    return o;
}

/* Tokens per second so far, at the end of each interval of the measured part. */
static json_t *timeline(const struct series *s) {
    json_t *list = json_array();
    double elapsed_s = 0, tokens = 0;
    for (size_t i = 0; i < s->count; i++) {
        const struct snapshot_interval *v = &s->interval[i];
        if (v->phase != KVF_PHASE_MEASURED) continue;
        elapsed_s += v->length_s;
        tokens += (double)v->tokens;
        json_array_append_new(
            list, JSON_OBJECT({"timestamp", json_part_number(elapsed_s)},
                              {"throughput_tokens_per_sec", json_part_number(kvf_ratio(tokens, elapsed_s))}));
    }
    return list;
}

/* Facts for the reader that kv-cache.py has no member for. */
static json_t *origin(const struct run_record *r) {
    json_t *o = json_object(), *emulated = json_array(), *warnings = json_array();
    for (size_t i = 0; i < r->verdict.warnings; i++)
        json_array_append_new(warnings, json_part_text(r->verdict.warning[i]));
    char undone[STANDING_TEXT];
    for (int t = 0; t < KVF_TIERS; t++)
        if (r->tier[t].on && r->tier[t].emulated)
            json_array_append_new(emulated, json_string(tier_name((enum kvf_tier)t)));
    json_object_set_new(o, "version", json_part_text(r->version));
    json_object_set_new(o, "uuid", json_part_text(r->uuid));
    json_object_set_new(o, "name", json_part_text(r->name));
    json_object_set_new(o, "mode", json_part_text(r->mode));
    json_object_set_new(o, "model", json_part_text(r->model));
    json_object_set_new(o, "host", json_part_text(r->host));
    json_object_set_new(o, "status", json_part_text(run_status_name(r->status)));
    json_object_set_new(o, "emulated_tiers", emulated);
    json_object_set_new(o, "writes_fell_through", json_part_number(value(r, "fell_through")));
    json_object_set_new(o, "writes_refused", json_part_number(value(r, "refused")));
    json_object_set_new(o, "requests_refused", json_part_number(value(r, "requests_refused")));
    json_object_set_new(o, "sla_latency", json_part_some(r->qos_latency));
    json_object_set_new(o, "not_comparable", json_part_some(r->not_comparable));
    standing_run_why(&r->results, undone);
    json_object_set_new(o, "offered_requests_per_s", json_part_number(value(r, "offered_requests_per_s")));
    json_object_set_new(o, "achieved_ratio", json_part_number(value(r, "achieved_ratio")));
    json_object_set_new(o, "unserved_ratio", json_part_number(value(r, "unserved_ratio")));
    json_object_set_new(o, "unsettled_ratio", json_part_number(value(r, "unsettled_ratio")));
    json_object_set_new(o, "undone", json_part_some(undone));
    json_object_set_new(o, "warnings", warnings);
    return o;
}

int export_mlperf(const struct export_run *runs, size_t count, struct buf *out, struct err *e) {
    const struct run_record *r = &runs->run;
    (void)count;
    if (r->results.count == 0)
        return err_set(e, KVF_ERR_CANCELLED,
                       "run %" PRId64 " has no results, so there is nothing to submit; `kvfall show %" PRId64
                       "` says how it ended",
                       r->run_id, r->run_id);
    json_t *o = json_object();
    add_figures(o, r, FIGURES(top_figures));
    size_t judged, passed = run_criteria_passed(r, &judged);
    if (judged) json_object_set_new(o, "overall_passed", json_boolean(passed == judged));
    json_object_set_new(o, "throughput_timeline", timeline(&runs->series));
    json_object_set_new(o, "seed", json_integer((json_int_t)r->seed));
    json_object_set_new(o, "summary", summary(r));
    json_object_set_new(o, "kvfall", origin(r));
    json_part_print(o, 4, out);
    return 0;
}
