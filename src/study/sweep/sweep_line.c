#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/units.h"
#include "draw/format.h"
#include "record/metric.h"
#include "study/output.h"
#include "study/sweep/sweep.h"

enum { LINES_MAX = 100 }; /* points up to which each has a line where there is no terminal */

void sweep_line_begin(struct sweep *s, size_t total) {
    s->line.quiet = s->line.quiet || s->showing.ui;
    progress_line_init(&s->line.line);
    s->line.total = total;
    if (s->line.begin_ns == 0) s->line.begin_ns = clock_wall_ns();
}

/* "12/40", or "12" when nobody knows how many there will be. */
static void put_count(const struct sweep_line *l, struct buf *out) {
    buf_addf(out, "%zu", l->finished);
    if (l->total > 0) buf_addf(out, "/%zu", l->total);
}

static void put_eta(const struct sweep_line *l, struct buf *out) {
    double done = (double)l->finished + l->share, gone_ns = (double)(clock_wall_ns() - l->begin_ns);
    char clock[24];
    if (l->total == 0 || !(done > 0)) return;
    double left_ns = gone_ns * ((double)l->total - done) / done;
    buf_addf(out, "  %.0f %%  ETA %s", floor(100 * done / (double)l->total),
             units_clock((uint64_t)(left_ns > 0 ? left_ns : 0), clock, sizeof clock));
}

static void line_put(struct sweep *s) {
    struct sweep_line *l = &s->line;
    struct buf text = {0};
    buf_addf(&text, "%s ", l->what ? l->what : "sweep");
    put_count(l, &text);
    buf_add(&text, " done");
    if (l->running > 0) buf_addf(&text, "  %zu running", l->running);
    put_eta(l, &text);
    if (l->best[0]) buf_addf(&text, "  best %s", l->best);
    progress_line_put(&l->line, text.data);
    buf_free(&text);
}

/* Whether the study has lines of its own. */
static bool line_foreign(const struct sweep *s) {
    return s->study && s->study->took;
}

void sweep_line_tick(struct sweep *s) {
    struct sweep_line *l = &s->line;
    uint64_t now = clock_wall_ns();
    if (l->quiet || line_foreign(s) || !l->line.terminal || now - l->last_ns < KVF_NS_PER_S / 5) return;
    l->last_ns = now;
    line_put(s);
}

static void put_value(const struct sweep *s, size_t point, struct buf *out) {
    double v = s->point[point].value[0];
    char label[METRIC_NAME];
    metric_label(s->metric[0], label, sizeof label);
    buf_addf(out, "%s %s", label, kvf_present(v) ? format_measure(v, s->unit[0], s->metric[0]).text : "--");
}

static size_t best_so_far(const struct sweep *s) {
    bool lower = metric_better(s->metric[0]) == METRIC_LOWER;
    size_t best = SIZE_MAX;
    for (size_t i = 0; i < s->points; i++) {
        double v = s->point[i].value[0];
        if (s->point[i].state != OUTCOME_DONE || isnan(v) ||
            !standing_comparable(s->point[i].undone, s->point[i].flaw))
            continue;
        if (best == SIZE_MAX || (lower ? v < s->point[best].value[0] : v > s->point[best].value[0])) best = i;
    }
    return best;
}

static void note_best(struct sweep *s) {
    bool curves = s->base.scenario.sweep.profile == KVF_SWEEP_MISS_RATIO; /* none is better than another */
    size_t best = curves ? SIZE_MAX : best_so_far(s);
    struct buf text = {0};
    if (best == SIZE_MAX) return;
    put_value(s, best, &text);
    buf_add(&text, " at ");
    sweep_label(s, best, &text);
    snprintf(s->line.best, sizeof s->line.best, "%s", buf_text(&text));
    buf_free(&text);
}

void sweep_line_point(struct sweep *s, size_t point) {
    struct sweep_line *l = &s->line;
    enum outcome_state state = s->point[point].state;
    uint64_t now = clock_wall_ns();
    if (state == OUTCOME_DONE || state == OUTCOME_FAILED) l->finished++;
    if (line_foreign(s)) return;
    note_best(s);
    if (l->quiet || state != OUTCOME_DONE) return; /* failures say so themselves */
    if (l->line.terminal) {
        l->last_ns = now;
        line_put(s);
        return;
    }
    bool many = l->total > LINES_MAX || s->base.scenario.sweep.profile == KVF_SWEEP_MISS_RATIO;
    if (many && now - l->last_ns < KVF_NS_PER_S) return;
    l->last_ns = now;
    struct buf text = {0};
    buf_add(&text, "[");
    put_count(l, &text);
    buf_add(&text, "] ");
    sweep_label(s, point, &text);
    buf_add(&text, ": ");
    put_value(s, point, &text);
    put_eta(l, &text);
    output_say("%s\n", buf_text(&text));
    buf_free(&text);
}

void sweep_line_end(struct sweep *s) {
    progress_line_end(&s->line.line);
}
