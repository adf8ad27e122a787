#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/units.h"
#include "study/sweep/sweep.h"

struct trying {
    struct sweep sweep; /* a point for each trial; not stored: the runs stand below the first */
    const struct session_run *what;
    struct run_record *run; /* the last one */
    struct trials *group;
    int64_t first_id;
    uint64_t asked, begin_ns;
    char *io_trace, *request_log; /* of the trial under way */
};

static struct trying *trying_of(const void *sweep) {
    return (struct trying *)(uintptr_t)sweep; /* which is its first member */
}

static void logs_free(struct trying *t) {
    free(t->io_trace);
    free(t->request_log);
    t->io_trace = t->request_log = NULL;
}

static void point_run(struct sweep *sweep, size_t point, struct session_run *what) {
    struct trying *t = trying_of(sweep);
    uint32_t trial = (uint32_t)point + 1;
    logs_free(t);
    t->io_trace = session_numbered_file(t->what->io_trace, "trial", trial);
    t->request_log = session_numbered_file(t->what->request_log, "trial", trial);
    *what = *t->what;
    what->io_trace = t->io_trace;
    what->request_log = t->request_log;
    what->parent_id = t->first_id;
    what->trial = trial;
    what->row = point;
}

/* The rest is expected to take as long as the trials so far. */
static void trial_say(const struct trying *t) {
    const struct trial *last = &t->group->trial[t->group->count - 1];
    uint64_t left_ns = (clock_now_ns() - t->begin_ns) / last->number * (t->group->asked - last->number);
    char tok[24] = "--", clock[24];
    if (last->incomplete[0]) {
        log_line(KVF_LOG_WARNING, "trial %u of %u is incomplete: %s", last->number, t->group->asked,
                 last->incomplete);
    } else if (!t->sweep.line.quiet) {
        if (kvf_present(last->throughput_tok_s)) units_count_human(last->throughput_tok_s, tok, sizeof tok);
        log_line(KVF_LOG_INFO, "trial %u of %u: %s tok/s  %u %%  ETA %s", last->number, t->group->asked, tok,
                 100 * last->number / t->group->asked, units_clock(left_ns, clock, sizeof clock));
    }
}

/* A trial that cannot start ends them; the first one is then no trial. */
static void point_took(struct sweep *sweep, size_t point, struct run_record *run) {
    struct trying *t = trying_of(sweep);
    if (err_is(&sweep->failed)) sweep->stopped = true;
    if (point == 0 && sweep->stopped) return;
    if (point == 0) t->first_id = run->run_id;
    trials_add(t->group, run);
    trial_say(t);
    run_record_free(t->run);
    *t->run = *run;
    run_record_init(run);
}

static void board_begin(const struct sweep *sweep, struct board_head *h) {
    (void)sweep;
    h->ranked = false;
    snprintf(h->axis, sizeof h->axis, "trial");
}

static void board_point(const struct sweep *sweep, size_t point, struct board_row *r) {
    (void)sweep;
    r->x = (double)point + 1;
}

static const struct sweep_study study = {.kind = "trials",
                                         .point = "trial",
                                         .run = point_run,
                                         .took = point_took,
                                         .head = board_begin,
                                         .row = board_point};

/* One axis, the number of the trial. */
static void plan_make(struct trying *t) {
    struct sweep_base *b = &t->sweep.base;
    struct sweep_axis *a = &b->plan.axis[b->plan.axes++];
    snprintf(b->scenario.name, sizeof b->scenario.name, "%s", t->what->scenario->name);
    snprintf(b->scenario.sweep.metrics, sizeof b->scenario.sweep.metrics, "%s", sweep_run_measures);
    t->sweep.metrics = sweep_measures(&b->scenario, t->sweep.metric);
    snprintf(a->key, sizeof a->key, "trial");
    b->plan.points = t->asked;
    a->value = mem_zalloc(t->asked, sizeof *a->value);
    for (; a->values < t->asked; a->values++) {
        char number[24];
        snprintf(number, sizeof number, "%zu", a->values + 1);
        a->value[a->values] = mem_strdup(number);
        sweep_point_add(&t->sweep, a->values);
    }
}

int sweep_trials(struct session *session, const struct session_run *what, struct run_record *run,
                 struct trials *group, struct err *e) {
    const struct session_setup *setup = session_given(session);
    struct trying *t = mem_zalloc(1, sizeof *t);
    *t = (struct trying){.what = what, .run = run, .group = group, .asked = what->scenario->run.trials};
    t->begin_ns = clock_now_ns();
    t->sweep.study = &study;
    t->sweep.session = session;
    if (setup->showing) t->sweep.showing = *setup->showing;
    t->sweep.line.quiet = setup->quiet;
    t->sweep.line.total = t->asked;
    run_record_init(run);
    plan_make(t);
    sweep_run(&t->sweep, 0, t->asked);
    if (group->count == 0) *e = t->sweep.failed;
    t->sweep.session = NULL; /* both are the caller's */
    t->sweep.showing = (struct showing){0};
    logs_free(t);
    sweep_free(&t->sweep);
    free(t);
    return err_is(e) ? -(int)e->code : 0;
}
