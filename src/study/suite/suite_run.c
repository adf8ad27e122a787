#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/units.h"
#include "draw/format.h"
#include "study/suite/suite.h"

static const uint64_t least_run = 2 * KVF_NS_PER_S; /* that --quick cuts a run to when time is short */

static struct suite *suite_of(const void *sweep) {
    return (struct suite *)(uintptr_t)sweep; /* which is its first member */
}

/* The test that a point is a run of, and which run of it, from 1. */
static struct suite_entry *entry_at(struct suite *s, size_t point, uint32_t *trial) {
    struct suite_entry *e = s->entry;
    for (; point >= suite_entry_points(e); e++) point -= suite_entry_points(e);
    *trial = (uint32_t)point + 1;
    return e;
}

/* ---- progress ---- */

/* The line of the test under way on standard error: rewritten on a terminal; elsewhere only its last. */
__attribute__((format(printf, 2, 3))) static void line_put(struct suite *s, const char *fmt, ...) {
    char head[96], rest[300], all[400], trial[24] = "";
    uint32_t number;
    const struct suite_entry *e = entry_at(s, s->running, &number);
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(rest, sizeof rest, fmt, ap);
    va_end(ap);
    if (e->trials > 1) snprintf(trial, sizeof trial, " %u/%u", number, e->trials);
    snprintf(head, sizeof head, "[%zu/%zu] %s%s", (size_t)(e - s->entry) + 1, s->entries, e->test->name,
             trial);
    snprintf(all, sizeof all, "%-29s %s", head, rest);
    progress_line_put(&s->sweep.line.line, all);
}

/* "42 %  left 01:20", by plan: `of_run_s` of this run is over, all of it where that is NaN. */
static const char *rest(struct suite *s, double of_run_s, char out[40]) {
    char clock[24];
    uint32_t trial;
    const struct suite_entry *e = entry_at(s, s->running, &trial);
    double one = suite_entry_s(e) / e->trials, all = suite_ahead_s(s, 0, SUITE_AROUND_S);
    double left = one - (isnan(of_run_s) ? one : of_run_s) + (e->trials - trial) * (one + SUITE_AROUND_S);
    left += suite_ahead_s(s, (size_t)(e - s->entry) + 1, SUITE_AROUND_S);
    if (left < 0) left = 0;
    snprintf(out, 40, "%.0f %%  left %s", all > 0 ? floor(100 - 100 * left / all) : 100.0,
             units_clock((uint64_t)(left * 1e9), clock, sizeof clock));
    return out;
}

static void on_prepare(void *ctx, const char *what, double share) {
    struct suite *s = ctx;
    uint64_t now = clock_now_ns();
    if (s->sweep.line.quiet || !s->sweep.line.line.terminal || now - s->sweep.line.last_ns < KVF_NS_PER_S / 5)
        return;
    s->sweep.line.last_ns = now;
    line_put(s, "%s, %.0f %%", what, share * 100);
}

static void on_interval(void *ctx, const struct snapshot *snap) {
    struct suite *s = ctx;
    const struct snapshot_interval *i = &snap->interval;
    char clock[24], left[40], tok[32] = "--";
    if (s->sweep.line.quiet || !s->sweep.line.line.terminal) return;
    if (kvf_present(i->throughput_tok_s)) units_count_human(i->throughput_tok_s, tok, sizeof tok);
    line_put(s, "%s  %s  %s tok/s  %" PRIu64 " users  e2e P95 %s",
             units_clock((uint64_t)(i->t_s * 1e9), clock, sizeof clock), rest(s, i->t_s, left), tok, i->users,
             format_ms(i->e2e_p95_ms).text);
}

static void line_result(struct suite *s, const struct run_record *r) {
    const struct result_list *v = &r->results;
    char left[40];
    if (s->sweep.line.quiet) return;
    if (r->status == RUN_FAILED)
        line_put(s, "FAILED: %s", r->status_reason);
    else
        line_put(s, "%s  %s tok/s  storage %s tok/s  e2e P95 %s%s", rest(s, NAN, left),
                 format_tok_s(result_value(v, "throughput_tok_s")).text,
                 format_tok_s(result_value(v, "storage_throughput_tok_s")).text,
                 format_ms(result_value(v, "e2e_p95_ms")).text,
                 r->status == RUN_INTERRUPTED ? "  stopped" : "");
    progress_line_end(&s->sweep.line.line);
}

/* ---- its points ---- */

void suite_keep_time(struct suite *s, size_t from) {
    if (!s->quick || options_value(s->options, "duration")) return;
    double gone = (double)(clock_now_ns() - s->begin_ns) / (double)KVF_NS_PER_S;
    double need = suite_ahead_s(s, from, 0), around = suite_ahead_s(s, from, SUITE_AROUND_S) - need;
    double room = SUITE_QUICK_S - gone - around;
    if (need <= room || need <= 0) return;
    double part = room > 0 ? room / need : 0;
    for (size_t i = from; i < s->entries; i++) {
        struct scenario *sc = &s->entry[i].scenario;
        uint64_t less = (uint64_t)((double)sc->run.duration_ns * part);
        if (less < least_run) less = least_run;
        if (less < sc->run.duration_ns) sc->run.duration_ns = less;
        sc->run.warmup_ns = (uint64_t)((double)sc->run.warmup_ns * part);
    }
}

static void point_run(struct sweep *sweep, size_t point, struct session_run *what) {
    struct suite *s = suite_of(sweep);
    uint32_t trial;
    struct suite_entry *e = entry_at(s, point, &trial);
    s->running = point;
    if (trial == 1) suite_keep_time(s, (size_t)(e - s->entry));
    if (trial == 1) sweep_show_points(sweep);
    what->scenario = &e->scenario;
    what->yaml = suite_test_yaml(e->test);
    what->parent_id = s->parent_id;
    what->trial = e->trials > 1 ? trial : 0;
    what->fit = e->fit.lines ? &e->fit : NULL;
    what->fit_by = "suite";
}

static void point_took(struct sweep *sweep, size_t point, struct run_record *run) {
    struct suite *s = suite_of(sweep);
    uint32_t trial;
    struct suite_entry *e = entry_at(s, point, &trial);
    if (!s->parent_id) s->parent_id = run->run_id;
    trials_add(&e->group, run);
    line_result(s, run);
    e->run[e->runs++] = *run;
    run_record_init(run);
}

/* Figures of other models are no better or worse. */
static void board_begin(const struct sweep *sweep, struct board_head *h) {
    h->ranked = suite_same_model(suite_of(sweep));
}

static void board_point(const struct sweep *sweep, size_t point, struct board_row *r) {
    uint32_t trial;
    const struct suite_entry *e = entry_at(suite_of(sweep), point, &trial);
    r->weight = e->refused[0] ? 0 : suite_entry_s(e) / e->trials + SUITE_AROUND_S;
}

static const struct sweep_study study = {
    .kind = "suite",
    .point = "test",
    .parting = "the table and its meaning come when this screen is left",
    .run = point_run,
    .took = point_took,
    .prepares = on_prepare,
    .interval = on_interval,
    .head = board_begin,
    .row = board_point,
};

/* ---- as a sweep ---- */

/* One axis, whose values are the tests; one that is tried several times is there as often. */
static int sweep_make(struct suite *s, struct err *err) {
    struct scenario_sweep *w = &s->sweep.base.scenario.sweep;
    struct sweep_record *r = &s->sweep.record;
    struct buf tests = {0}, json = {0};
    for (size_t i = 0; i < s->entries; i++)
        for (uint32_t k = 1, of = suite_entry_points(&s->entry[i]); k <= of; k++) {
            buf_addf(&tests, "%s\"%s", tests.len ? ", " : "", s->entry[i].test->name);
            if (of > 1) buf_addf(&tests, " %u/%u", k, of);
            buf_addf(&tests, "\": {\"model\": \"%s\"}", s->entry[i].scenario.model.preset);
        }
    w->on = true;
    w->profile = KVF_SWEEP_KEYS;
    snprintf(w->keys, sizeof w->keys, "{}");
    int len = snprintf(w->variants, sizeof w->variants, "{\"test\": {%s}}", buf_text(&tests));
    buf_free(&tests);
    if ((size_t)len >= sizeof w->variants)
        return err_set(err, KVF_ERR_USAGE,
                       "these are more runs than a suite has room for; ask for fewer trials");
    snprintf(w->metrics, sizeof w->metrics, "%s", sweep_run_measures);
    buf_addf(&json,
             "{\"sweep\": {\"profile\": \"keys\", \"keys\": {}, \"variants\": %s, \"metrics\": \"%s\"}}",
             w->variants, sweep_run_measures);
    r->effective_json = mem_strdup(buf_text(&json));
    snprintf(r->name, sizeof r->name, "suite");
    snprintf(r->profile, sizeof r->profile, "files");
    snprintf(r->mode, sizeof r->mode, "%s",
             s->entry[0].scenario.mode == KVF_MODE_SIMULATE ? "simulate" : "real");
    sweep_base_plan(&s->sweep.base);
    buf_free(&json);
    return 0;
}

int suite_run(struct suite *s, struct err *e) {
    struct sweep *sweep = &s->sweep;
    uint32_t trial;
    sweep->study = &study;
    sweep->line.quiet = options_has(s->options, "quiet");
    sweep->db = options_value(s->options, "db");
    sweep->keep_going = options_has(s->options, "keep-going");
    int rc = sweep_make(s, e);
    for (uint64_t i = 0; i < sweep->base.plan.points; i++) {
        size_t point = sweep_point_add(sweep, i);
        const char *refused = entry_at(s, point, &trial)->refused;
        if (refused[0]) sweep_point_fail(sweep, point, refused);
    }
    if (rc == 0) rc = sweep_begin(sweep, e);
    if (rc != 0) return rc;
    suite_note_left_out(s);
    rc = sweep_run_begin(sweep, e);
    sweep_line_begin(sweep, sweep->points);
    if (rc == 0) sweep_run(sweep, 0, sweep->points);
    sweep_end(sweep, rc ? e : NULL);
    return rc;
}
