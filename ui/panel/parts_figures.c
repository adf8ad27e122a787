#include "ui/panel/parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

bool parts_whole_run(const struct frame *f) {
    return f->over && !f->back && result_find(&f->run->results, "measured_s");
}

bool parts_preparing(const struct frame *f) {
    if (f->over || f->back) return false;
    return !f->snap || f->snap->interval.phase == KVF_PHASE_PREPARE;
}

bool parts_open_loop(const struct frame *f) {
    return f->snap && f->snap->interval.users == 0;
}

double parts_per_second(const struct frame *f, double amount) {
    double s = parts_whole_run(f)          ? result_value(&f->run->results, "measured_s")
               : f->snap && !f->snap->peek ? f->snap->interval.length_s
                                           : KVF_MISSING;
    return s > 0 ? amount / s : KVF_MISSING;
}

double parts_shortest_target_ms(const struct frame *f) {
    double shortest = KVF_MISSING;
    for (uint32_t k = 0; k < f->run->classes && k < KVF_CLASSES_MAX; k++)
        if (f->run->klass[k].p95_ns) shortest = fmin(shortest, (double)f->run->klass[k].p95_ns / 1e6);
    return shortest;
}

bool parts_judged_by_e2e(const struct frame *f) {
    return strcmp(f->run->qos_latency, "e2e") == 0;
}

const char *parts_span(const struct frame *f, char *out, size_t len) {
    out[0] = '\0';
    if (f->windowed && !parts_whole_run(f)) snprintf(out, len, " (%s)", windows_name(f->span));
    return out;
}

/* ---- the whole run ---- */

static uint64_t whole_number(double v) {
    return v >= 0x1p64 ? UINT64_MAX : v > 0 ? (uint64_t)v : 0;
}

/* The fields of a part, under their names with `prefix` in front; what there is no result for is missing,
 * or 0 where it cannot be. */
static void fill_from_results(const struct result_list *results, const char *prefix, void *part,
                              const struct snapshot_field *fields, size_t count) {
    for (size_t i = 0; i < count; i++) {
        char metric[96], *at = (char *)part + fields[i].offset;
        snprintf(metric, sizeof metric, "%s%s", prefix, fields[i].name);
        double v = result_value(results, metric);
        if (fields[i].type == SNAPSHOT_F)
            *(double *)(void *)at = v;
        else
            *(uint64_t *)(void *)at = whole_number(v);
    }
}

static double class_result(const struct frame *f, const char *name, const char *what) {
    char metric[96];
    snprintf(metric, sizeof metric, "class_%s_%s", name, what);
    return result_value(&f->run->results, metric);
}

/* Metrics with another name there, and gauges whose last value stands for the end. */
static void interval_of_run(struct snapshot_interval *i, const struct frame *f) {
    const struct result_list *r = &f->run->results;
    fill_from_results(r, "", i, snapshot_interval_fields, snapshot_interval_field_count);
    i->arrived = whole_number(result_value(r, "requests_arrived"));
    i->done = whole_number(result_value(r, "requests_done"));
    i->failed = whole_number(result_value(r, "requests_failed"));
    i->dropped = whole_number(result_value(r, "requests_dropped"));
    i->tokens = whole_number(result_value(r, "tokens_generated"));
    i->queue_depth = whole_number(result_value(r, "requests_queued_at_end"));
    i->in_service_now = whole_number(result_value(r, "requests_in_service_at_end"));
    i->length_s = result_value(r, "measured_s");
    i->workers_cpu_s = result_value(r, "cpu_workers_s");
    i->rss_bytes = result_value(r, "rss_peak_bytes");
    i->cpu_power_w = result_value(r, "cpu_power_mean_w");
    i->energy_used_j = result_value(r, "energy_j");
    i->drive_temperature_c = result_value(r, "drive_temperature_max_c");
    i->device_queue = (i->device_read_ms + i->device_write_ms) / 1e3 / i->length_s;
    for (uint32_t k = 0; k < f->run->classes && k < KVF_CLASSES_MAX; k++) {
        double oldest_ms = class_result(f, f->run->klass[k].name, "oldest_wait_ms");
        if (oldest_ms > 0) i->oldest_wait_ms = fmax(i->oldest_wait_ms, oldest_ms);
    }
    if (f->snap) i->slots = f->snap->interval.slots;
    if (f->snap) i->host_available_bytes = f->snap->interval.host_available_bytes;
}

static void tier_of_run(struct parts_figures *x, const struct frame *f, int t) {
    const char *tier = tier_name((enum kvf_tier)t);
    const struct result_list *r = &f->run->results;
    char prefix[64];
    snprintf(prefix, sizeof prefix, "%s_", tier);
    fill_from_results(r, prefix, &x->tier[t], snapshot_tier_fields, snapshot_tier_field_count);
    x->tier[t].capacity_bytes = f->run->tier[t].usable_bytes;
    for (int d = 0; d < KVF_DIRS; d++)
        for (int c = 0; c < KVF_CAUSES; c++) {
            snprintf(prefix, sizeof prefix, "%s_%s_%s_", tier, dir_name((enum kvf_dir)d),
                     cause_name((enum kvf_cause)c));
            fill_from_results(r, prefix, &x->cause[t][d][c], snapshot_cause_fields,
                              snapshot_cause_field_count);
        }
}

void parts_figures(const struct frame *f, struct parts_figures *out) {
    static const struct result_list none;
    *out = (struct parts_figures){.any = f->snap || parts_whole_run(f),
                                  .whole = parts_whole_run(f),
                                  .d2c_p95_ms = {KVF_MISSING, KVF_MISSING}};
    if (out->whole) {
        for (int d = 0; d < KVF_DIRS; d++)
            out->d2c_p95_ms[d] =
                result_named(&f->run->results, "nvme_%s_d2c_p95_ms", dir_name((enum kvf_dir)d));
        interval_of_run(&out->interval, f);
        for (int t = 0; t < KVF_TIERS; t++)
            if (parts_tier_on(f, t)) tier_of_run(out, f, t);
    } else if (f->snap) {
        out->interval = f->snap->interval;
        memcpy(out->tier, f->snap->tier, sizeof out->tier);
        memcpy(out->cause, f->snap->cause, sizeof out->cause);
        if (f->snap->block_known) {
            out->d2c_p95_ms[KVF_DIR_READ] = f->snap->block.read_d2c_p95_ms;
            out->d2c_p95_ms[KVF_DIR_WRITE] = f->snap->block.write_d2c_p95_ms;
        }
    } else {
        fill_from_results(&none, "", &out->interval, snapshot_interval_fields, snapshot_interval_field_count);
        for (int t = 0; t < KVF_TIERS; t++)
            fill_from_results(&none, "", &out->tier[t], snapshot_tier_fields, snapshot_tier_field_count);
    }
}

/* ---- classes ---- */

uint32_t parts_classes(const struct frame *f) {
    uint32_t n = f->snap ? f->snap->classes : f->run->classes;
    return n < KVF_CLASSES_MAX ? n : KVF_CLASSES_MAX;
}

static void class_of_run(const struct frame *f, struct parts_class *c) {
    char metric[96];
    c->waiting = class_result(f, c->name, "queued_at_end");
    c->in_service = c->failed_s = KVF_MISSING;
    /* With nobody waiting there is no wait, which the results have as 0. */
    c->oldest_ms = class_result(f, c->name, "oldest_wait_ms");
    c->overdue = class_result(f, c->name, "overdue_at_end");
    c->arrived_s = parts_per_second(f, class_result(f, c->name, "arrived"));
    c->done_s = parts_per_second(f, class_result(f, c->name, "done"));
    c->p50_ms = class_result(f, c->name, parts_judged_by_e2e(f) ? "e2e_p50_ms" : "ttft_p50_ms");
    c->p95_ms = class_result(f, c->name, parts_judged_by_e2e(f) ? "e2e_p95_ms" : "ttft_p95_ms");
    snprintf(metric, sizeof metric, "slo_%s_met_ratio", c->name);
    c->met = result_value(&f->run->results, metric);
    c->starved = class_result(f, c->name, "starved_s") > 0;
}

void parts_class(const struct frame *f, uint32_t k, struct parts_class *out) {
    const double no = KVF_MISSING;
    const struct run_class *r = k < f->run->classes ? &f->run->klass[k] : NULL;
    const struct snapshot_qos *q = f->snap && k < f->snap->classes ? &f->snap->qos[k] : NULL;

    *out = (struct parts_class){
        q ? f->snap->class_name[k] : r ? r->name : "", no, no,    no,   no, no, no, no, no, no,
        r && r->p95_ns ? (double)r->p95_ns / 1e6 : no, no, false, false};
    if (parts_whole_run(f)) {
        class_of_run(f, out);
    } else if (q) {
        out->waiting = (double)q->queued, out->in_service = (double)q->in_service_now;
        out->oldest_ms = q->oldest_wait_ms;
        out->overdue = (double)q->overdue;
        out->arrived_s = parts_per_second(f, (double)q->arrived);
        out->done_s = parts_per_second(f, (double)q->done);
        out->failed_s = parts_per_second(f, (double)q->failed);
        out->p50_ms = parts_judged_by_e2e(f) ? q->e2e_p50_ms : q->ttft_p50_ms;
        out->p95_ms = parts_judged_by_e2e(f) ? q->e2e_p95_ms : q->ttft_p95_ms;
        out->met = q->met_ratio;
        out->starved = q->starved > 0;
    }
    /* Waiting requests have no latency yet: a starved class must not look fast. */
    out->missed = out->met < 0.95 || out->overdue > 0 || out->starved;
}

const char *parts_class_met(const struct frame *f, const struct parts_class *x, char *out) {
    if (x->starved && !parts_whole_run(f)) return "starved";
    return number_percent(x->met, out);
}

bool parts_class_missed(const struct frame *f, uint32_t from) {
    struct parts_class x;
    for (uint32_t k = from; k < parts_classes(f); k++) {
        parts_class(f, k, &x);
        if (x.missed) return true;
    }
    return false;
}
