#include "page/outcome/outcome_doc.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/moment.h"
#include "base/units.h"
#include "page/lead.h"
#include "page/outcome/outcome_text.h"
#include "record/metric.h"

enum { POINTS_OPEN = 30, POINTS_MOST = 1000 }; /* rows that stand open, and that are listed at all */

/* ---- what it was ---- */

static void put_verdict(const struct outcome *o, struct doc *d) {
    const struct sweep_record *r = &o->record;
    lead_verdict(d, r->status, &(struct lead_count){"points", r->points, r->done, r->failed},
                 r->status_reason);
    if (r->answer[0]) doc_text(d, DOC_PLAIN, "%s", r->answer);
    if (strcmp(r->mode, "simulate") == 0)
        doc_text(d, DOC_WARN, "Simulated: the figures come from a model; nothing was measured.");
}

static void put_dimension(const struct outcome_dimension *of, struct doc *d) {
    struct buf values = {0};
    if (of->role == OUTCOME_LOAD) {
        doc_fact(d, "load", "one request at a time, full throughput, and rates between");
        return;
    }
    for (size_t v = 0; v < of->values && v < 20; v++)
        buf_addf(&values, "%s%s", v ? ", " : "", of->value[v].text);
    if (of->values > 20) buf_addf(&values, " and %zu more", of->values - 20);
    const struct outcome_title words = outcome_dimension_words(of);
    if (of->role != OUTCOME_VARIANT && strcmp(words.text, of->key) != 0) buf_addf(&values, " (%s)", of->key);
    doc_fact(d, words.text, buf_text(&values));
    buf_free(&values);
}

static void put_facts(const struct outcome *o, struct doc *d) {
    const struct sweep_record *r = &o->record;
    char when[MOMENT_TEXT], took[24] = "";
    bool listed = false; /* what varies has the models */
    moment_utc_text(r->started_at, when);
    if (r->ended_at > r->started_at)
        units_duration_human((r->ended_at - r->started_at) * 1e9, took, sizeof took);
    doc_fact(d, "Profile", r->profile);
    for (unsigned k = 0; k < o->dimensions; k++)
        listed = listed || strcmp(outcome_dimension_words(&o->dimension[k]).text, "model") == 0;
    if (!listed) doc_fact(d, "Model", r->model);
    doc_fact(d, "Mode", r->mode);
    doc_fact(d, "Host", r->host);
    doc_fact(d, "Began", when);
    doc_fact(d, "Took", took);
    doc_fact(d, "Baseline", o->baseline);
    doc_fact(d, "kvfall", r->version);
    for (unsigned k = 0; k < o->dimensions; k++) put_dimension(&o->dimension[k], d);
    if (r->scenario_yaml && *r->scenario_yaml) lead_repeat(d, "Repeat it", "sweep", r->uuid, r->sweep_id, "");
}

/* ---- tables ---- */

static void put_peaks(const struct outcome *o, struct doc *d) {
    size_t count, judge = outcome_judge(o);
    struct outcome_peak *peak = outcome_peaks(o, &count);
    if (count > 0) {
        bool against = o->base_group != SIZE_MAX;
        struct buf caption = {0};
        buf_addf(&caption, "Peaks by %s%s%s:", outcome_measure_title(o->measure[judge].name).text,
                 against ? ", against " : "", against ? o->baseline : "");
        doc_section(d, 1, "Peaks");
        doc_table(d, buf_text(&caption), NULL);
        buf_free(&caption);
        for (unsigned g = 0; g < o->groups; g++) doc_column(d, o->dimension[g].key, false);
        doc_column(d, outcome_measure_title(o->measure[judge].name).text, true);
        if (o->base_group != SIZE_MAX) doc_column(d, "change", true);
        for (unsigned k = o->groups; k < o->dimensions; k++) doc_column(d, o->dimension[k].title, true);
        for (size_t m = 0; m < o->chosen; m++)
            if (m != judge) doc_column(d, outcome_measure_title(o->measure[m].name).text, true);
    }
    for (size_t i = 0; i < count; i++) {
        const struct outcome_peak *p = &peak[i];
        for (unsigned g = 0; g < o->groups; g++)
            doc_cell(d, o->dimension[g].value[outcome_variant(o, p->configuration, g)].text);
        doc_cell(d, outcome_cell(o, p->value[judge], judge).text);
        if (o->base_group != SIZE_MAX) doc_cell(d, outcome_change(p->delta).text);
        for (unsigned k = o->groups; k < o->dimensions; k++)
            doc_cell(d, p->point == SIZE_MAX ? NULL : o->dimension[k].value[o->point[p->point].at[k]].text);
        for (size_t m = 0; m < o->chosen; m++)
            if (m != judge) doc_cell(d, outcome_cell(o, p->value[m], m).text);
    }
    outcome_peaks_free(peak, count);
}

static bool all_comparable(const struct outcome *o) {
    for (size_t i = 0; i < o->points; i++)
        if (!outcome_comparable(&o->point[i])) return false;
    return true;
}

static void put_point(const struct outcome *o, size_t i, bool all_done, bool comparable, struct doc *d) {
    const struct outcome_point *p = &o->point[i];
    char number[24], undone[STANDING_TEXT];
    snprintf(number, sizeof number, "%zu", p->number);
    doc_cell(d, number);
    for (unsigned k = 0; k < o->dimensions; k++) doc_cell(d, o->dimension[k].value[p->at[k]].text);
    for (size_t m = 0; m < o->chosen; m++) {
        doc_cell(d, outcome_cell(o, outcome_value(o, i, m), m).text);
        if (o->compared) doc_cell(d, outcome_change(outcome_delta(o, i, m)).text);
    }
    if (!comparable) doc_cell_tone(d, DOC_WARN, outcome_undone(p, undone)[0] ? undone : NULL);
    doc_cell_run(d, p->run_id);
    if (!all_done) doc_cell_tone(d, lead_state_tone(p->state), outcome_state_name(p->state));
}

static bool points_done(const struct outcome *o) {
    for (size_t i = 0; i < o->points; i++)
        if (o->point[i].state != OUTCOME_DONE) return false;
    return true;
}

static void put_points_table(const struct outcome *o, size_t shown, struct doc *d) {
    bool all_done = points_done(o), comparable = all_comparable(o);
    doc_table(d, "Points", ">point");
    for (unsigned k = 0; k < o->dimensions; k++) doc_column(d, o->dimension[k].title, false);
    for (size_t m = 0; m < o->chosen; m++) {
        doc_column(d, outcome_measure_title(o->measure[m].name).text, true);
        if (o->compared) doc_column(d, "change", true);
    }
    if (!comparable) doc_column(d, "left undone", false);
    doc_column(d, "run", true);
    if (!all_done) doc_column(d, "state", false);
    for (size_t i = 0; i < shown; i++) put_point(o, i, all_done, comparable, d);
}

/* Why points that look best are not called so: "2 of 4 points did not ..., and none of them is called best".
 */
static void put_incomparable(const struct outcome *o, struct doc *d) {
    static const struct {
        const char *did, *then;
    } flaws[STANDING_FLAWS] = {
        [STANDING_FLAW_ROWS] = {"replayed the file without many of its rows, which were rejected",
                                "; their warnings say how to have them read."},
        [STANDING_FLAW_WARMUP] = {"ended in the warm-up, which counts as measured",
                                  "; set run.warmup: 0, or make run.max_requests larger."},
        [STANDING_FLAW_CUT] = {"ended amid most of the work", "; make run.duration longer."},
        [STANDING_FLAW_EARLY] = {"did much of the work before the measured part",
                                 "; make run.warmup shorter, or run.duration longer."},
        [STANDING_FLAW_COPIES] = {"ended with copies still to be made",
                                  ": the longer the run, the more are left."},
        [STANDING_FLAW_EXHAUSTED] =
            {"had users with nothing left to ask, so fewer users",
             "; give fewer users, or set workload.arrival.cycles: 0 with a file, or run.max_requests larger."},
        [STANDING_FLAW_BEHIND] = {
            "did not serve what arrived",
            ". Compare by throughput alone: the longer the run, the longer the latencies."}};
    size_t left = 0, count[STANDING_FLAWS] = {0};
    for (size_t i = 0; i < o->points; i++)
        if (standing_nothing_undone(o->point[i].undone))
            count[o->point[i].flaw]++;
        else
            left++;
    if (left > 0)
        doc_text(
            d, DOC_WARN,
            "%zu of %zu points left work undone, which takes less time: %s not comparable, and %s called best.",
            left, o->points, left == 1 ? "it is" : "they are", left == 1 ? "is not" : "none of them is");
    for (enum standing_flaw f = STANDING_FLAWLESS + 1; f < STANDING_FLAWS; f++)
        if (count[f] > 0)
            doc_text(d, DOC_WARN, "%zu of %zu points %s, and %s called best%s", count[f], o->points,
                     flaws[f].did, count[f] == 1 ? "is not" : "none of them is", flaws[f].then);
}

static void put_failures(const struct outcome *o, struct doc *d) {
    for (size_t i = 0; i < o->points; i++)
        if (o->point[i].state == OUTCOME_FAILED)
            doc_text(d, DOC_BAD, "Point %zu failed: %s", o->point[i].number, o->point[i].why);
}

static void put_points(const struct outcome *o, struct doc *d) {
    size_t shown = o->points < POINTS_MOST ? o->points : POINTS_MOST;
    if (shown == 0) return;
    doc_section(d, 1, "All points");
    put_failures(o, d);
    put_incomparable(o, d);
    outcome_put_doubts(o, d);
    if (shown < o->points)
        doc_text(d, DOC_PLAIN, "The first %zu of %zu points; `kvfall export sweep:%" PRId64 "` has all.",
                 shown, o->points, o->record.sweep_id);
    if (shown > POINTS_OPEN) doc_fold(d, "Table of the points");
    put_points_table(o, shown, d);
    if (shown > POINTS_OPEN) doc_fold_end(d);
}

/* ---- curves ---- */

static bool is_first_of_policy(const struct outcome *o, size_t i) {
    return i == 0 || strcmp(o->curve[i].policy, o->curve[i - 1].policy) != 0;
}

/* Policies in rows, capacities across; all have the same ones unless a sweep was stopped. */
static void put_curve_table(const struct outcome *o, struct doc *d) {
    uint64_t capacity[64];
    size_t capacities = 0;
    for (size_t i = 0; i < o->curves; i++) {
        size_t k = 0;
        while (k < capacities && capacity[k] != o->curve[i].capacity_bytes) k++;
        if (k == capacities && k < sizeof capacity / sizeof *capacity)
            capacity[capacities++] = o->curve[i].capacity_bytes;
    }
    doc_table(d, "Miss ratios by policy and capacity", "policy");
    for (size_t k = 0; k < capacities; k++) doc_column(d, format_bytes((double)capacity[k]).text, true);
    for (size_t from = 0; from < o->curves; from++) {
        if (!is_first_of_policy(o, from)) continue;
        doc_cell(d, o->curve[from].policy);
        for (size_t k = 0; k < capacities; k++) {
            double ratio = NAN;
            for (size_t i = from; i < o->curves && (i == from || !is_first_of_policy(o, i)); i++)
                if (o->curve[i].capacity_bytes == capacity[k]) ratio = o->curve[i].miss_ratio;
            doc_cell(d, isnan(ratio) ? NULL : format_percent(ratio).text);
        }
    }
}

static void put_curve_counts(const struct outcome *o, struct doc *d) {
    doc_fold(d, "Lookups, misses and samples");
    doc_table(d, "Lookups and misses", "policy|>capacity|>lookups|>misses|>sample|method");
    for (size_t i = 0; i < o->curves; i++) {
        const struct sweep_curve *c = &o->curve[i];
        char sample[24];
        snprintf(sample, sizeof sample, "%.4g", c->sample);
        doc_cell(d, c->policy);
        doc_cell(d, format_bytes((double)c->capacity_bytes).text);
        doc_cell(d, format_exact((double)c->lookups).text);
        doc_cell(d, format_exact((double)c->misses).text);
        doc_cell(d, sample);
        doc_cell(d, c->method);
    }
    doc_fold_end(d);
}

/* ---- the document ---- */

struct doc *outcome_doc(const struct outcome *o) {
    const struct sweep_record *r = &o->record;
    bool curves = strcmp(r->profile, "miss_ratio") == 0, search = strcmp(r->profile, "capacity") == 0;
    struct buf title = {0}, subtitle = {0};
    buf_addf(&title, "%s, sweep %" PRId64, r->name[0] ? r->name : "unnamed", r->sweep_id);
    buf_addf(&subtitle, "%s, %s, ", r->model, r->mode);
    lead_origin(r->host, r->started_at, r->version, &subtitle);
    struct doc *d = doc_new(buf_text(&title), buf_text(&subtitle));
    buf_free(&title);
    buf_free(&subtitle);

    put_verdict(o, d);
    if (!curves) outcome_put_best(o, d);
    doc_section(d, 1, "What was swept");
    put_facts(o, d);
    doc_section(d, 1,
                curves   ? "Miss ratios over capacity"
                : search ? "The search"
                         : "Metrics over what was swept");
    if (curves) {
        outcome_put_curves(o, d);
        if (o->curves > 0) {
            put_curve_table(o, d);
            put_curve_counts(o, d);
        }
    } else if (search) {
        outcome_put_search(o, d);
    } else {
        outcome_put_charts(o, d);
        put_peaks(o, d);
        outcome_put_heat(o, d);
        outcome_put_correlations(o, d);
    }
    if (!curves) put_points(o, d);
    if (!r->scenario_yaml || !*r->scenario_yaml) return d; /* a suite's tests have each their own */
    doc_section(d, 1, "Scenario");
    doc_fold(d, "As it was given");
    doc_code(d, r->scenario_yaml);
    doc_fold_end(d);
    return d;
}

struct doc *outcome_doc_end(const struct outcome *o, bool table) {
    struct doc *d = doc_new("", "");
    if (table) put_points_table(o, o->points, d);
    if (table) outcome_put_best_line(o, d);
    if (table) put_peaks(o, d);
    if (table) put_incomparable(o, d);
    if (table) outcome_put_doubts(o, d);
    put_failures(o, d);
    if (o->record.answer[0]) doc_text(d, DOC_PLAIN, "%s", o->record.answer);
    for (const char *line = o->warnings ? o->warnings : ""; *line; line += strspn(line, "\n")) {
        size_t len = strcspn(line, "\n");
        doc_text(d, DOC_WARN, "%.*s", (int)len, line);
        line += len;
    }
    return d;
}
