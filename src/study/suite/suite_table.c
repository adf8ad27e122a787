#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "draw/format.h"
#include "metrics/statistics.h"
#include "page/lead.h"
#include "study/suite/suite.h"

/* ---- what came out ---- */

enum outcome_state suite_state(const struct suite_entry *e) {
    enum outcome_state all = e->runs ? OUTCOME_DONE : OUTCOME_WAITS;
    for (uint32_t i = 0; i < e->runs && all != OUTCOME_FAILED; i++) {
        enum outcome_state one = outcome_state_of(e->run[i].status);
        if (one != OUTCOME_DONE) all = one;
    }
    return all;
}

bool suite_done(const struct suite_entry *e) {
    return trials_complete(&e->group) > 0;
}

const char *suite_undone(const struct suite_entry *e, char out[STANDING_TEXT]) {
    struct standing of;
    out[0] = '\0';
    if (e->runs == 0) return out;
    standing_of(&e->run[0], &e->group, &of);
    standing_undone(of.undone, out, STANDING_TEXT);
    for (uint32_t k = 0; k < e->runs && !out[0]; k++) {
        enum standing_flaw flaw = standing_run_flaw(&e->run[k].results);
        bool told = flaw == STANDING_FLAW_CUT || !standing_flaw_hides(flaw); /* by itself */
        if (!told) standing_why(of.undone, flaw, out);
    }
    return out;
}

double suite_unfinished(const struct suite_entry *e) {
    double most = KVF_MISSING;
    for (uint32_t k = 0; k < e->runs; k++) most = fmax(most, standing_run_unfinished(&e->run[k].results));
    return most; /* NaN is less than any */
}

bool suite_cut(const struct suite_entry *e) {
    bool cut = false;
    for (uint32_t k = 0; k < e->runs; k++) cut = cut || standing_run_cut(&e->run[k].results);
    return suite_done(e) && cut;
}

bool suite_comparable(const struct suite_entry *e) {
    char undone[STANDING_TEXT];
    return suite_done(e) && !suite_undone(e, undone)[0] && !suite_cut(e);
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

static const char row_note[] =
    "storage: tokens a second of storage I/O; read P95: entries from the slowest tier; g/c/n: hits in gpu, cpu "
    "and nvme; verdict: criteria met, without those of a tier that was not needed; a criterion without data for "
    "another reason, such as a tier that is off, is not met.";

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

struct verdict_cell {
    char text[64];
    enum doc_tone tone;
};

/* Criteria that all runs have met, of those that any of them could judge; else how it ended. */
static struct verdict_cell verdict_of(const struct suite_entry *e) {
    struct verdict_cell v;
    enum outcome_state state = suite_state(e);
    size_t met = 0, all = 0;
    v.tone = lead_state_tone(state);
    snprintf(v.text, sizeof v.text, "%s", outcome_state_name(state));
    if (state != OUTCOME_DONE) return v;
    if (!suite_done(e)) return (struct verdict_cell){"partial", DOC_WARN};
    for (size_t k = 0; k < e->run[0].criterion_count; k++) {
        bool judged = false, failed = false;
        for (uint32_t i = 0; i < e->runs; i++) {
            const struct run_record *r = &e->run[i];
            if (e->group.trial[i].incomplete[0]) continue;
            double passed = k < r->criterion_count ? run_criterion_passed(r, &r->criteria[k]) : 0;
            failed = failed || passed == 0;
            judged = judged || failed || kvf_present(passed);
        }
        all += judged;
        met += judged && !failed;
    }
    if (!all) return v;
    v.tone = met == all ? DOC_GOOD : DOC_PLAIN;
    snprintf(v.text, sizeof v.text, "%s %zu/%zu", met == all ? "met" : "miss", met, all);
    return v;
}

static void put_row(const struct suite_entry *e, struct doc *d) {
    double ratio = suite_metric(e, "reuse_hit_ratio");
    char hits[24] = "--", where[64];
    struct verdict_cell verdict = verdict_of(e);
    if (kvf_present(ratio)) snprintf(hits, sizeof hits, "%.0f %%", ratio * 100);
    doc_cell_section(d, e->test->name);
    doc_cell(d, format_tok_s(suite_metric(e, "throughput_tok_s")).text);
    doc_cell(d, format_tok_s(suite_metric(e, "storage_throughput_tok_s")).text);
    doc_cell(d, format_ms(suite_metric(e, "e2e_p95_ms")).text);
    doc_cell(d, format_ms(suite_metric(e, "%s_read_p95_ms", tier_name(slowest(&e->scenario)))).text);
    doc_cell(d, hits);
    doc_cell(d, distribution(e, where, sizeof where));
    doc_cell_tone(d, verdict.tone, verdict.text);
}

static void put_comparison(const struct suite *s, struct doc *d) {
    doc_table(d, "Tests", "test|>tok/s|>storage|>e2e P95|>read P95|>hits|>g/c/n %|verdict");
    for (size_t i = 0; i < s->entries; i++) put_row(&s->entry[i], d);
    doc_text(d, DOC_PLAIN, "%s", row_note);
}

/* ---- tiers, ranked ---- */

struct ranked {
    const struct suite_entry *entry;
    struct statistics score; /* storage throughput */
    bool comparable;
};

/* Tests that left work undone come last. */
static int by_score(const void *a, const void *b) {
    bool last = !((const struct ranked *)a)->comparable, first = !((const struct ranked *)b)->comparable;
    if (last != first) return last - first;
    double x = ((const struct ranked *)a)->score.mean, y = ((const struct ranked *)b)->score.mean;
    if (isnan(x) || isnan(y)) return isnan(x) - isnan(y);
    return (x < y) - (x > y);
}

static size_t rank(const struct suite *s, struct ranked *out) {
    size_t n = 0;
    for (size_t i = 0; i < s->entries; i++) {
        const struct suite_entry *e = &s->entry[i];
        if (e->test->group != SUITE_GROUP_TIERS) continue;
        out[n].entry = e;
        out[n].comparable = suite_comparable(e);
        values_of(e, "storage_throughput_tok_s", &out[n++].score);
    }
    qsort(out, n, sizeof *out, by_score);
    return n;
}

static void put_ranks(const struct ranked *r, size_t n, double nvme, struct doc *d) {
    doc_table(d, "Ranked by storage throughput, mean over trials:",
              ">rank|hierarchy|>tok/s|>SD|>CV|>x nvme|>hits|>trials");
    bool left = false;
    for (size_t i = 0; i < n; i++) {
        char place[32], trials[32];
        const struct suite_entry *e = r[i].entry;
        const struct statistics *score = &r[i].score;
        bool known = suite_done(e) && score->n;
        snprintf(trials, sizeof trials, "%zu of %u", trials_complete(&e->group), e->trials);
        snprintf(place, sizeof place, "%zu", i + 1);
        left = left || (known && !r[i].comparable);
        doc_cell(d, r[i].comparable && known ? place : NULL);
        doc_cell(d, e->test->name);
        doc_cell(d, known ? format_count(round(score->mean)).text : NULL);
        doc_cell(d, known ? format_count(round(score->sd)).text : NULL);
        doc_cell(d, format_percent(score->cv).text);
        doc_cell(d, format_times(r[i].comparable ? score->mean / nvme : KVF_MISSING).text);
        doc_cell(d, format_percent(suite_metric(e, "reuse_hit_ratio")).text);
        doc_cell(d, trials);
    }
    if (left)
        doc_text(d, DOC_WARN,
                 "Without a rank: the test left work undone, or was too short for most of its work.");
}

static void put_moved(const struct ranked *r, size_t n, struct doc *d) {
    doc_table(d, "Means over trials:", "hierarchy|>read|>written|>ratio|>gpu P95|>cpu P95|>nvme P95");
    for (size_t i = 0; i < n; i++) {
        const struct suite_entry *e = r[i].entry;
        doc_cell(d, e->test->name);
        doc_cell(d, format_bytes(suite_metric(e, "total_read_bytes")).text);
        doc_cell(d, format_bytes(suite_metric(e, "total_write_bytes")).text);
        doc_cell(d, format_rate(suite_metric(e, "read_write_ratio")).text);
        for (int t = 0; t <= KVF_TIER_NVME; t++)
            doc_cell(d, format_ms(suite_metric(e, "%s_read_p95_ms", tier_name((enum kvf_tier)t))).text);
    }
}

void suite_put_tables(const struct suite *s, struct doc *d) {
    struct ranked ranks[SUITE_MOST];
    const struct suite_entry *nvme = suite_find(s, "tiers-nvme");
    put_comparison(s, d);
    size_t n = rank(s, ranks);
    if (n == 0) return;
    bool known = nvme && suite_comparable(nvme);
    put_ranks(ranks, n, known ? suite_metric(nvme, "storage_throughput_tok_s") : KVF_MISSING, d);
    put_moved(ranks, n, d);
}
