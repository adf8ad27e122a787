#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/build.h"
#include "base/moment.h"
#include "base/utf8.h"
#include "draw/format.h"
#include "export/export.h"
#include "export/hdr.h"

/* A log of version 1.3: comments, a legend, and a line for each interval and histogram, in the order of their
 * beginnings, which readers rely on. After HistogramLogReader and HistogramLogWriter of
 * https://github.com/HdrHistogram/HdrHistogram. */

struct log {
    const struct export_run *run;
    struct buf *out;
    struct hdr *hdr;
    struct histogram *decoded;    /* the one in hand */
    bool measured[RECORD_SCOPES]; /* has intervals of the measured part */
    double first_s, length_s;     /* of that part */
};

static double present_or(double v, double otherwise) {
    return isfinite(v) ? v : otherwise;
}

static bool is_measured(const struct snapshot_interval *i) {
    return i->phase == KVF_PHASE_MEASURED;
}

static double begin_of(const struct snapshot_interval *i) {
    return fmax(0, present_or(i->t_s, 0) - present_or(i->length_s, 0));
}

static void add_heading(struct log *l) {
    const struct run_record *r = &l->run->run;
    double zero_s = r->started_at + present_or(result_value(&r->results, "prepare_s"), 0);
    char date[64] = "", name[sizeof r->name];
    struct tm tm;
    memcpy(name, r->name, sizeof name);
    utf8_clean(name, 0);
    if (moment_utc(zero_s, &tm)) strftime(date, sizeof date, "%a %b %d %H:%M:%S UTC %Y", &tm);
    buf_addf(l->out, "#[kvfall %s: run %" PRId64 ", %s, %s; latencies in nanoseconds]\n", build_version(),
             r->run_id, name, r->uuid);
    buf_add(l->out, "#[Histogram log format version 1.3]\n");
    buf_addf(l->out, "#[StartTime: %.3f (seconds since epoch), %s]\n", zero_s, date);
    buf_addf(l->out, "#[BaseTime: %.3f (seconds since epoch)]\n", zero_s);
    buf_add(l->out,
            "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n");
}

/* `phase` NULL: measured. */
static void add_line(struct log *l, const char *scope, const char *phase, double begin_s, double length_s,
                     const void *coded, size_t len) {
    if (histogram_decode(l->decoded, coded, len) != 0 || !histogram_count(l->decoded)) return;
    char name[256];
    snprintf(name, sizeof name, "%s", scope);
    utf8_clean(name, 0);
    buf_addf(l->out, "Tag=%s%s%s,%.3f,%.3f,%.3f,", name, phase ? "-" : "", phase ? phase : "", begin_s,
             length_s, (double)hdr_max(l->decoded) / 1e6);
    hdr_add(l->hdr, l->decoded, l->out);
    buf_add(l->out, "\n");
}

/* Histograms of the whole measured part, where intervals have none that add up to it. */
static void add_wholes(struct log *l) {
    const struct run_record *r = &l->run->run;
    for (size_t i = 0; i < r->histogram_count; i++) {
        const struct run_histogram *h = &r->histograms[i];
        bool there = false;
        for (int s = 0; s < RECORD_SCOPES; s++)
            there |= l->measured[s] && strcmp(h->scope, record_scope_names[s]) == 0;
        if (!there) add_line(l, h->scope, NULL, l->first_s, l->length_s, h->data, h->len);
    }
}

static void add_intervals(struct log *l) {
    const struct series *s = &l->run->series;
    bool wholes = false;
    size_t h = 0;
    for (size_t i = 0; i < s->count; i++) {
        const struct snapshot_interval *interval = &s->interval[i];
        const char *phase =
            is_measured(interval) ? NULL : run_phase_name((enum kvf_run_phase)interval->phase);
        if (!phase && !wholes) {
            add_wholes(l);
            wholes = true;
        }
        for (; h < s->histograms && s->histogram[h].interval == i; h++) {
            const struct series_histogram *one = &s->histogram[h];
            add_line(l, record_scope_names[one->scope], phase, begin_of(interval),
                     present_or(interval->length_s, 0), s->coded.data + one->at, one->len);
        }
    }
    if (!wholes) add_wholes(l);
}

/* When the measured part began and how long it was. */
static void find_measured(struct log *l) {
    const struct series *s = &l->run->series;
    double end_s = 0;
    bool any = false;
    for (size_t i = 0; i < s->count; i++) {
        if (!is_measured(&s->interval[i])) continue;
        if (!any) l->first_s = begin_of(&s->interval[i]);
        end_s = present_or(s->interval[i].t_s, end_s);
        any = true;
    }
    l->length_s = fmax(0, end_s - l->first_s);
    if (!any) l->length_s = present_or(result_value(&l->run->run.results, "measured_s"), 0);
    for (size_t h = 0; h < s->histograms; h++)
        if (is_measured(&s->interval[s->histogram[h].interval])) l->measured[s->histogram[h].scope] = true;
}

int export_hdr(const struct export_run *runs, size_t count, struct buf *out, struct err *e) {
    struct log l = {.run = runs, .out = out};
    (void)count;
    if (!runs->run.histogram_count && !runs->series.histograms)
        return err_set(e, KVF_ERR_USAGE, "run %" PRId64 " has no latencies; choose one that did requests",
                       runs->run.run_id);
    l.hdr = hdr_new();
    l.decoded = mem_zalloc(1, sizeof *l.decoded);
    find_measured(&l);
    add_heading(&l);
    add_intervals(&l);
    free(l.decoded);
    hdr_free(l.hdr);
    return 0;
}
