#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/units.h"
#include "draw/format.h"
#include "study/progress.h"
#include "study/shipped.h"
#include "study/suite/suite.h"

static const uint64_t least_run = 2 * KVF_NS_PER_S; /* that --quick cuts a run to when time is short */

/* The line of the test under way on standard error: rewritten on a terminal; elsewhere only its last. */
struct line {
    struct suite *suite;
    const struct suite_entry *entry;
    size_t number; /* of the test, from 1 */
    uint32_t trial;
    size_t row; /* of the board */
    struct progress_line line;
    bool quiet;
    uint64_t last_ns; /* when it was last written */
};

__attribute__((format(printf, 2, 3))) static void line_put(struct line *l, const char *fmt, ...) {
    char head[96], rest[300], all[400];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(rest, sizeof rest, fmt, ap);
    va_end(ap);
    char trial[24] = "";
    if (l->entry->trials > 1) snprintf(trial, sizeof trial, " %u/%u", l->trial, l->entry->trials);
    snprintf(head, sizeof head, "[%zu/%zu] %s%s", l->number, l->suite->entries, l->entry->test->name, trial);
    snprintf(all, sizeof all, "%-29s %s", head, rest);
    progress_line_put(&l->line, all);
}

/* The time that all tests from this one on take, with what is around them. */
static double ahead_s(const struct suite *s, size_t from) {
    double sum = 0;
    for (size_t i = from; i < s->entries; i++)
        if (!s->entry[i].refused[0]) sum += suite_entry_s(&s->entry[i]) + s->entry[i].trials * SUITE_AROUND_S;
    return sum;
}

/* "42 %  left 01:20", by plan: `of_run_s` of this run is over. */
static const char *rest(const struct line *l, double of_run_s, char out[40]) {
    char clock[24];
    double one = suite_entry_s(l->entry) / l->entry->trials, all = ahead_s(l->suite, 0);
    double left = one - of_run_s + (l->entry->trials - l->trial) * (one + SUITE_AROUND_S);
    left += ahead_s(l->suite, l->number);
    if (left < 0) left = 0;
    snprintf(out, 40, "%.0f %%  left %s", all > 0 ? floor(100 - 100 * left / all) : 100.0,
             units_clock((uint64_t)(left * 1e9), clock, sizeof clock));
    return out;
}

static void on_prepare(void *ctx, const char *what, double share) {
    struct line *l = ctx;
    uint64_t now = clock_now_ns();
    if (l->quiet || !l->line.terminal || now - l->last_ns < KVF_NS_PER_S / 5) return;
    l->last_ns = now;
    line_put(l, "%s, %.0f %%", what, share * 100);
}

static void on_interval(void *ctx, const struct snapshot *snap) {
    struct line *l = ctx;
    const struct snapshot_interval *i = &snap->interval;
    char clock[24], left[40], tok[32] = "--";
    if (l->quiet || !l->line.terminal) return;
    if (kvf_present(i->throughput_tok_s)) units_count_human(i->throughput_tok_s, tok, sizeof tok);
    line_put(l, "%s  %s  %s tok/s  %" PRIu64 " users  e2e P95 %s",
             units_clock((uint64_t)(i->t_s * 1e9), clock, sizeof clock), rest(l, i->t_s, left), tok, i->users,
             format_ms(i->e2e_p95_ms).text);
}

static void line_result(struct line *l, const struct run_record *r) {
    const struct result_list *v = &r->results;
    char left[40];
    if (l->quiet) return;
    if (r->status == RUN_FAILED)
        line_put(l, "FAILED: %s", r->status_reason);
    else
        line_put(l, "%s  %s tok/s  storage %s tok/s  e2e P95 %s%s",
                 rest(l, suite_entry_s(l->entry) / l->entry->trials, left),
                 format_tok_s(result_value(v, "throughput_tok_s")).text,
                 format_tok_s(result_value(v, "storage_throughput_tok_s")).text,
                 format_ms(result_value(v, "e2e_p95_ms")).text,
                 r->status == RUN_INTERRUPTED ? "  stopped" : "");
    progress_line_end(&l->line);
}

void suite_keep_time(struct suite *s, size_t from) {
    double gone = (double)(clock_now_ns() - s->begin_ns) / (double)KVF_NS_PER_S, need = 0, around = 0;
    if (!s->quick || options_value(s->options, "duration")) return;
    for (size_t i = from; i < s->entries; i++) {
        if (s->entry[i].refused[0]) continue;
        need += suite_entry_s(&s->entry[i]);
        around += s->entry[i].trials * SUITE_AROUND_S;
    }
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

static const char *yaml_of(const struct suite_test *t) {
    char name[96];
    snprintf(name, sizeof name, "%s/%s", suite_group_name(t->group), t->name);
    return shipped_find(name);
}

static void run_trial(struct suite *s, struct suite_entry *entry, struct line *line) {
    struct err e = {0};
    struct run_record *run = &entry->run[entry->runs];
    struct session_run what = {.scenario = &entry->scenario,
                               .yaml = yaml_of(entry->test),
                               .parent_id = s->parent_id,
                               .trial = entry->trials > 1 ? line->trial : 0,
                               .fit = entry->fit.lines ? &entry->fit : NULL,
                               .fit_by = "suite",
                               .row = line->row};
    int rc = session_run(s->session, &what, run, &e);
    if (rc == -KVF_ERR_CANCELLED) {
        run_record_free(run);
        return;
    }
    entry->runs++;
    if (!s->parent_id) s->parent_id = run->run_id;
    if (rc != 0) {
        run->status = RUN_FAILED;
        snprintf(run->status_reason, sizeof run->status_reason, "%.699s", e.text);
    }
    trials_add(&entry->group, run);
    line_result(line, run);
}

int suite_run(struct suite *s, struct err *e) {
    bool quiet = options_has(s->options, "quiet");
    struct line line = {.suite = s};
    struct session_setup setup = {.db = options_value(s->options, "db"),
                                  .headless = true,
                                  .keep_going = options_has(s->options, "keep-going"),
                                  .quiet = quiet,
                                  .look = {.fd = STDOUT_FILENO, .at_s = KVF_MISSING},
                                  .showing = &s->showing,
                                  .on_prepare = on_prepare,
                                  .on_interval = on_interval,
                                  .ctx = &line};
    progress_line_init(&line.line);
    s->session = session_new(&setup);
    int rc = session_show(s->session, e);
    line.quiet = quiet || s->showing.ui;
    suite_note_left_out(s);
    for (size_t i = 0; i < s->entries && rc == 0 && !s->stopped; i++) {
        struct suite_entry *entry = &s->entry[i];
        if (entry->refused[0]) continue;
        suite_keep_time(s, i);
        line.entry = entry;
        line.number = i + 1;
        for (line.trial = 1; line.trial <= entry->trials && !s->stopped; line.trial++) {
            line.row = suite_show(s, entry);
            run_trial(s, entry, &line);
            s->stopped = session_stopped(s->session);
        }
    }
    return rc;
}
