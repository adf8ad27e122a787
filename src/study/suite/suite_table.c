#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "draw/format.h"
#include "metrics/statistics.h"
#include "study/suite/suite.h"

enum { NAME = 21 };

/* ---- what came out ---- */

bool suite_done(const struct suite_entry *e) {
    return trials_complete(&e->group) > 0;
}

static void values_of(const struct suite_entry *e, const char *metric, struct statistics *out) {
    const struct trial_metric *m = trials_metric(&e->group, metric);
    double there = e->runs ? result_value(&e->run[0].results, metric) : KVF_MISSING;
    if (m)
        trials_statistics(&e->group, m, out);
    else
        statistics_of(&there, 1, out);
}

double suite_metric(const struct suite_entry *e, const char *fmt, ...) {
    char metric[64];
    struct statistics s;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(metric, sizeof metric, fmt, ap);
    va_end(ap);
    values_of(e, metric, &s);
    return s.n ? s.mean : KVF_MISSING;
}

double suite_metric_largest(const struct suite_entry *e, const char *metric) {
    const struct trial_metric *m = trials_metric(&e->group, metric);
    double largest = KVF_MISSING;
    if (!m) return suite_metric(e, "%s", metric);
    for (size_t i = 0; i < m->count; i++) largest = fmax(largest, m->value[i]); /* NaN is less than any */
    return largest;
}

const struct suite_entry *suite_find(const struct suite *s, const char *name) {
    for (size_t i = 0; i < s->entries; i++)
        if (strcmp(s->entry[i].test->name, name) == 0) return &s->entry[i];
    return NULL;
}

/* The slowest tier that is on: the last. */
static enum kvf_tier slowest(const struct scenario *sc) {
    return sc->tier[KVF_TIER_NVME].on  ? KVF_TIER_NVME
           : sc->tier[KVF_TIER_CPU].on ? KVF_TIER_CPU
                                       : KVF_TIER_GPU;
}

/* ---- the comparison ---- */

const char *const suite_row_note =
    "storage: tokens a second of storage I/O; read P95: entries from the slowest tier; g/c/n: hits in gpu, cpu "
    "and nvme; verdict: criteria met, of all: one without data, such as of a tier that is off, is not met";

/* How the hits fall over the tiers, in per cent: "60/30/10", "--" for a tier that is off. */
static const char *distribution(const struct suite_entry *e, char *out, size_t len) {
    double hits = suite_metric(e, "hits");
    size_t used = 0;
    out[0] = '\0';
    for (int t = 0; t <= KVF_TIER_NVME; t++) {
        double of_tier = suite_metric(e, "%s_hits", tier_name((enum kvf_tier)t));
        bool on = e->scenario.tier[t].on && hits > 0 && kvf_present(of_tier);
        used += (size_t)snprintf(out + used, len - used, on ? "%s%.0f" : "%s--", t ? "/" : "",
                                 on ? of_tier / hits * 100 : 0);
    }
    return out;
}

/* Criteria that all runs have met, of those of a run; else how it ended. */
static struct suite_verdict verdict_of(const struct suite_entry *e) {
    struct suite_verdict v = {"not run", FORMAT_WARN};
    if (e->runs == 0) return v;
    size_t met = 0, all = e->run[0].criterion_count;
    for (uint32_t i = 0; i < e->runs; i++) {
        if (e->run[i].status == RUN_FAILED) return (struct suite_verdict){"failed", FORMAT_BAD};
        if (e->run[i].status != RUN_COMPLETED) return (struct suite_verdict){"stopped", FORMAT_WARN};
    }
    if (!suite_done(e)) return (struct suite_verdict){"partial", FORMAT_WARN};
    for (size_t k = 0; k < all; k++) {
        bool passed = true;
        for (uint32_t i = 0; i < e->runs; i++) {
            const struct run_record *r = &e->run[i];
            if (e->group.trial[i].incomplete[0]) continue;
            passed = passed && k < r->criterion_count && r->criteria[k].passed == 1;
        }
        met += passed;
    }
    if (!all) return (struct suite_verdict){"done", FORMAT_PLAIN};
    v.tone = met == all ? FORMAT_GOOD : FORMAT_PLAIN;
    snprintf(v.text, sizeof v.text, "%s %zu/%zu", met == all ? "met" : "miss", met, all);
    return v;
}

struct suite_row suite_row(const struct suite_entry *e) {
    struct suite_row r = {.tok_s = format_count(round(suite_metric(e, "throughput_tok_s"))),
                          .storage = format_count(round(suite_metric(e, "storage_throughput_tok_s"))),
                          .e2e = format_ms(suite_metric(e, "e2e_p95_ms")),
                          .read =
                              format_ms(suite_metric(e, "%s_read_p95_ms", tier_name(slowest(&e->scenario)))),
                          .hits = {"--"},
                          .verdict = verdict_of(e)};
    double ratio = suite_metric(e, "reuse_hit_ratio");
    if (kvf_present(ratio)) snprintf(r.hits.text, sizeof r.hits.text, "%.0f %%", ratio * 100);
    distribution(e, r.where.text, sizeof r.where.text);
    return r;
}

static void put_row(const struct suite_entry *e, struct format_page *p) {
    struct suite_row r = suite_row(e);
    format_line(p, r.verdict.tone, "%-*s %6s %7s %8s %8s %5s %9s  %s", NAME, e->test->name, r.tok_s.text,
                r.storage.text, r.e2e.text, r.read.text, r.hits.text, r.where.text, r.verdict.text);
}

static void put_comparison(const struct suite *s, struct format_page *p) {
    format_line(p, FORMAT_HEADING, "%-*s %6s %7s %8s %8s %5s %9s  %s", NAME, "Test", "tok/s", "storage",
                "e2e P95", "read P95", "hits", "g/c/n %", "verdict");
    for (size_t i = 0; i < s->entries; i++) put_row(&s->entry[i], p);
    format_label(p, FORMAT_PLAIN, "");
    format_words(p, suite_row_note);
    format_end(p);
}

/* ---- tiers, ranked ---- */

struct ranked {
    const struct suite_entry *entry;
    struct statistics score; /* storage throughput */
};

static int by_score(const void *a, const void *b) {
    double x = ((const struct ranked *)a)->score.mean, y = ((const struct ranked *)b)->score.mean;
    if (isnan(x) || isnan(y)) return isnan(x) - isnan(y);
    return (x < y) - (x > y);
}

static struct format_cell percent(double ratio) {
    return format_percent(ratio);
}

static size_t rank(const struct suite *s, struct ranked *out) {
    size_t n = 0;
    for (size_t i = 0; i < s->entries; i++) {
        const struct suite_entry *e = &s->entry[i];
        if (e->test->group != SUITE_GROUP_TIERS) continue;
        out[n].entry = e;
        values_of(e, "storage_throughput_tok_s", &out[n++].score);
    }
    qsort(out, n, sizeof *out, by_score);
    return n;
}

static void put_ranks(const struct ranked *r, size_t n, double nvme, struct format_page *p) {
    const char *spread = p->style->ascii ? "+-" : "\u00b1";
    int width = p->style->ascii ? 19 : 20; /* printf counts its bytes */
    format_line(p, FORMAT_HEADING, "%-4s %-*s %19s %8s %8s %7s %7s", "Rank", NAME - 1, "Storage throughput",
                "tok/s, mean and SD", "CV", "x nvme", "hits", "trials");
    for (size_t i = 0; i < n; i++) {
        char place[32] = "--", score[96] = "--", trials[32];
        const struct suite_entry *e = r[i].entry;
        snprintf(trials, sizeof trials, "%zu of %u", trials_complete(&e->group), e->trials);
        if (suite_done(e) && r[i].score.n) {
            snprintf(place, sizeof place, "%zu", i + 1);
            snprintf(score, sizeof score, "%s %s %s", format_count(round(r[i].score.mean)).text, spread,
                     format_count(round(r[i].score.sd)).text);
        }
        format_line(p, FORMAT_PLAIN, "%4s %-*s %*s %8s %8s %7s %7s", place, NAME - 1, e->test->name,
                    suite_done(e) ? width : 19, score, percent(r[i].score.cv).text,
                    format_times(r[i].score.mean / nvme).text,
                    percent(suite_metric(e, "reuse_hit_ratio")).text, trials);
    }
}

static void put_moved(const struct ranked *r, size_t n, struct format_page *p) {
    format_line(p, FORMAT_HEADING, "%-*s %9s %9s %7s %9s %9s %9s", NAME - 1, "Means over trials", "read",
                "written", "ratio", "gpu P95", "cpu P95", "nvme P95");
    for (size_t i = 0; i < n; i++) {
        const struct suite_entry *e = r[i].entry;
        format_line(p, FORMAT_PLAIN, "%-*s %9s %9s %7s %9s %9s %9s", NAME - 1, e->test->name,
                    format_bytes(suite_metric(e, "total_read_bytes")).text,
                    format_bytes(suite_metric(e, "total_write_bytes")).text,
                    format_rate(suite_metric(e, "read_write_ratio")).text,
                    format_ms(suite_metric(e, "gpu_read_p95_ms")).text,
                    format_ms(suite_metric(e, "cpu_read_p95_ms")).text,
                    format_ms(suite_metric(e, "nvme_read_p95_ms")).text);
    }
}

void suite_table_text(const struct suite *s, const struct format_style *style, struct buf *out) {
    struct ranked ranks[SUITE_MOST];
    struct format_page p;
    format_page_init(&p, style, out);
    put_comparison(s, &p);
    size_t n = rank(s, ranks);
    if (n == 0) return;
    const struct suite_entry *nvme = suite_find(s, "tiers-nvme");
    format_end(&p);
    put_ranks(ranks, n, nvme ? suite_metric(nvme, "storage_throughput_tok_s") : KVF_MISSING, &p);
    format_end(&p);
    put_moved(ranks, n, &p);
}
