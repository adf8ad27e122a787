#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/build.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/output_file.h"
#include "cli/commands.h"
#include "cli/stored.h"
#include "export/outcome_format.h"
#include "page/outcome/outcome_doc.h"
#include "probe/host.h"
#include "store/store.h"
#include "study/output.h"
#include "study/setup.h"
#include "study/signals.h"
#include "study/sweep/sweep.h"

static void sweep_free(struct sweep *s) {
    session_free(s->session);
    showing_free(&s->showing);
    free(s->row);
    sweep_base_free(&s->base);
    sweep_curve_free(&s->curves);
    free(s->record.effective_json);
    free(s->record.scenario_yaml);
    buf_free(&s->warnings);
    free(s->point);
}

static bool is_simulated(const struct sweep *s) {
    return s->base.scenario.mode == KVF_MODE_SIMULATE;
}

/* ---- before the start ---- */

static int sweep_options(struct sweep *s, const struct options *o, struct err *e) {
    uint64_t jobs = 0, points = 0;
    struct scenario_sweep *sweep = &s->base.scenario.sweep;
    int rc = options_number(o, "jobs", 1, 1024, &jobs, e);
    if (rc == 0) rc = options_number(o, "points", 2, 1000, &points, e);
    if (rc != 0) return rc;
    if (points > 0 && sweep->profile != KVF_SWEEP_RATES && sweep->profile != KVF_SWEEP_MISS_RATIO)
        return err_set(
            e, KVF_ERR_USAGE,
            "--points is for the profiles rates and miss_ratio; the scenario lists the points of this sweep");
    if (points > 0) {
        sweep->points = points;
        sweep->capacities = 0;
    }
    s->jobs = jobs > 0 ? (unsigned)jobs : sweep_jobs();
    if (!is_simulated(s) && sweep->profile != KVF_SWEEP_MISS_RATIO) s->jobs = 1;
    if (jobs > 1 && !is_simulated(s) && sweep->profile != KVF_SWEEP_MISS_RATIO)
        return err_set(e, KVF_ERR_USAGE,
                       "--jobs %" PRIu64 ": points of mode real run one after another, or they would measure "
                       "each other",
                       jobs);
    return 0;
}

static int too_many(const struct sweep *s, struct err *e) {
    const struct scenario_sweep *sweep = &s->base.scenario.sweep;
    uint64_t points = s->base.plan.points;
    if (sweep->profile == KVF_SWEEP_RATES && __builtin_mul_overflow(points, sweep->points, &points))
        points = UINT64_MAX;
    if (s->force || points <= SWEEP_POINTS_USUAL) return 0;
    if (points == UINT64_MAX)
        return err_set(e, KVF_ERR_USAGE, "the sweep has more points than can be counted; give fewer values");
    return err_set(e, KVF_ERR_USAGE,
                   "the sweep has %" PRIu64
                   " points, more than %d; give fewer values, or --force if it is to "
                   "take its time",
                   points, (int)SWEEP_POINTS_USUAL);
}

/* Refuses points before the first of them runs. In real mode that is all that
 * `run` would look at; a simulated run looks itself. */
static int points_refused(const struct sweep *s, struct err *e) {
    const struct sweep_base *b = &s->base;
    struct scenario_setting setting[SWEEP_AXES_MAX];
    struct buf errors = {0}, label = {0};
    struct scenario *sc = mem_alloc(sizeof *sc);
    int rc = 0;
    uint64_t points = b->plan.axes > 0 ? b->plan.points : 1;
    if (is_simulated(s)) points = 1;
    for (uint64_t i = 0; i < points && rc == 0; i++) {
        struct err one = {0};
        bool keys = b->plan.axes > 0;
        unsigned count = keys ? sweep_settings(b, i, NULL, setting) : 0;
        if (!sweep_point_load(b, setting, count, sc, &errors)) continue; /* said already */
        rc = session_check(sc, s->force, NULL, &one);
        if (rc == 0) continue;
        sweep_point_label(setting, count, &label);
        err_set(e, KVF_ERR_USAGE, "%s%s%s%.900s", keys ? "point " : "", buf_text(&label), keys ? ": " : "",
                one.text);
    }
    buf_free(&errors);
    buf_free(&label);
    free(sc);
    return rc;
}

static int load_baseline(struct sweep *s, struct err *e) {
    const char *ref = s->base.scenario.sweep.baseline;
    struct sweep_baseline found;
    struct store *store = NULL;
    char path[4096];
    int64_t run_id;
    s->baseline = SIZE_MAX;
    for (unsigned m = 0; m < SWEEP_METRICS_MAX; m++) s->baseline_value[m] = NAN;
    if (!ref[0]) return 0;
    s->baseline_varies = sweep_plan_variant(&s->base.plan, ref, &s->baseline_group, &s->baseline_variant);
    if (s->baseline_varies) return 0;
    if (s->base.scenario.sweep.profile == KVF_SWEEP_KEYS) {
        s->baseline = (size_t)strtoull(ref, NULL, 10) - 1;
        return 0;
    }
    if (s->base.scenario.sweep.profile != KVF_SWEEP_RATES) return 0;
    if (s->db && strcmp(s->db, "none") == 0)
        return err_set(e, KVF_ERR_USAGE, "sweep.baseline names run %s, but --db none has no runs", ref);
    int rc = store_path(s->db, path, sizeof path, e);
    if (rc == 0) rc = stored_open_at(path, STORE_READ, &store, e);
    if (rc == 0) rc = store_resolve(store, ref, &run_id, e);
    if (rc == 0) rc = store_baseline(store, run_id, &found, e);
    store_close(store);
    if (rc != 0) return rc;
    s->record.baseline_run = run_id;
    s->baseline_value[0] = found.tok_s;
    s->baseline_value[1] = found.ttft_ms;
    s->baseline_value[2] = found.tpot_ms;
    if (found.runs > 1)
        snprintf(s->baseline_name, sizeof s->baseline_name, "sweep %" PRId64, found.sweep_id);
    else
        snprintf(s->baseline_name, sizeof s->baseline_name, "run %" PRId64, run_id);
    return 0;
}

/* ---- the database ---- */

static void describe(struct sweep *s) {
    const struct scenario *sc = &s->base.scenario, placed = setup_placed(sc);
    struct sweep_record *r = &s->record;
    struct buf json = {0};
    struct host host;
    host_probe(&host);
    snprintf(r->name, sizeof r->name, "%s", sc->name);
    snprintf(r->profile, sizeof r->profile, "%s", sweep_profile_name(sc->sweep.profile));
    snprintf(r->mode, sizeof r->mode, "%s", is_simulated(s) ? "simulate" : "real");
    snprintf(r->model, sizeof r->model, "%s", sc->model.preset);
    sweep_models(&s->base.plan, r->model, sizeof r->model);
    snprintf(r->host, sizeof r->host, "%s", host.name);
    snprintf(r->boot_id, sizeof r->boot_id, "%s", host.boot_id);
    snprintf(r->version, sizeof r->version, "%s", build_version());
    r->started_at = (double)clock_wall_ns() / 1e9;
    r->ended_at = NAN;
    r->pid = getpid();
    r->points = s->base.plan.points;
    r->scenario_yaml = mem_strdup(s->base.yaml ? s->base.yaml : "");
    scenario_emit_json(&placed, &json);
    r->effective_json = mem_strdup(buf_text(&json));
    buf_free(&json);
}

/* Opened and closed again: a connection does not survive a fork. */
static int with_store(struct sweep *s, bool begin, struct err *e) {
    struct store *store = NULL;
    char path[4096];
    if (s->db && strcmp(s->db, "none") == 0) return 0;
    int rc = store_path(s->db, path, sizeof path, e);
    if (rc == 0) rc = stored_open_at(path, STORE_WRITE, &store, e);
    if (rc == 0 && begin)
        rc = store_begin_sweep(store, &s->record, e);
    else if (rc == 0)
        rc = store_finish_sweep(store, &s->record, s->curves.point, s->curves.points, e);
    store_close(store);
    s->stored = s->stored || rc == 0;
    if (begin && rc == 0) s->reserve = store_reserve(path);
    return rc;
}

/* As for a run: what is nowhere has not completed. */
static void store_end(struct sweep *s) {
    struct sweep_record *r = &s->record;
    struct store *store = NULL;
    struct err e = {0}, again = {0};
    char path[4096];
    int rc = with_store(s, false, &e);
    if (s->reserve >= 0) (void)close(s->reserve);
    s->reserve = -1;
    if (rc == 0 || with_store(s, false, &again) == 0) return;
    log_line(KVF_LOG_WARNING, "the end of the sweep is not in the database: %s", e.text);
    s->unstored = true;
    r->status = RUN_FAILED;
    if (!r->status_reason[0])
        snprintf(r->status_reason, sizeof r->status_reason, "its end could not be stored: %.260s", e.text);
    err_clear(&again);
    rc = store_path(s->db, path, sizeof path, &again);
    if (rc == 0) rc = store_open(&store, path, STORE_WRITE, &again);
    if (rc == 0) rc = store_end_sweep(store, r, &again);
    store_close(store);
    if (rc != 0)
        log_line(KVF_LOG_WARNING,
                 "the sweep stays marked as running until kvfall next writes to the database");
}

static void conclude(struct sweep *s) {
    struct sweep_record *r = &s->record;
    size_t open = 0;
    for (size_t i = 0; i < s->points; i++) {
        r->done += s->point[i].state == OUTCOME_DONE;
        r->failed += s->point[i].state == OUTCOME_FAILED;
        open += s->point[i].state != OUTCOME_DONE && s->point[i].state != OUTCOME_FAILED;
    }
    r->points = s->points;
    for (unsigned m = 0; m < s->metrics && r->done > 0; m++)
        if (!s->known[m])
            buf_addf(&s->warnings, "Warning: no run has a metric called %s; kvfall-results(7) lists them.\n",
                     s->metric[m]);
    r->ended_at = (double)clock_wall_ns() / 1e9;
    r->status = r->failed > 0 ? RUN_FAILED : s->stopped ? RUN_INTERRUPTED : RUN_COMPLETED;
    if (s->stopped)
        snprintf(r->status_reason, sizeof r->status_reason, "stopped with %zu point%s not done", open,
                 open == 1 ? "" : "s");
    else if (r->failed > 0)
        snprintf(r->status_reason, sizeof r->status_reason, "%" PRIu64 " of %" PRIu64 " points failed",
                 r->failed, r->points);
}

/* ---- the command ---- */

/* Names the commands that read the sweep later. */
static void put_number(const struct sweep *s, struct buf *out) {
    int64_t id = (int64_t)s->record.sweep_id;
    if (id)
        buf_addf(out,
                 "\nSweep %" PRId64 ": %" PRIu64 " of %" PRIu64
                 " points done%s.\nCharts: `kvfall report sweep:%" PRId64
                 " -o FILE`. Points: `kvfall export sweep:%" PRId64 "`.\n",
                 id, s->record.done, s->record.points, s->stopped ? ", stopped" : "", id, id);
}

static int exit_status(const struct sweep *s) {
    return s->unstored ? 1 : s->signal ? 128 + s->signal : s->record.failed > 0 ? 1 : 0;
}

static int print_results(struct sweep *s, const struct format_style *style) {
    const char *json = options_value(s->base.options, "json");
    bool alone = json && strcmp(json, "-") == 0;
    int status = exit_status(s);
    struct outcome all;
    struct buf out = {0};
    struct err e = {0};
    sweep_outcome(s, &all);
    if (json) outcome_json(&all, &out);
    if (json && !alone) {
        if (output_file_write(json, &out, &e) != 0 && status == 0) status = output_fail(&e);
        buf_free(&out);
    }
    if (!alone && s->base.scenario.sweep.profile == KVF_SWEEP_MISS_RATIO) sweep_curve_text(s, style, &out);
    if (!alone) {
        struct doc *end = outcome_doc_end(&all, s->base.scenario.sweep.profile != KVF_SWEEP_MISS_RATIO);
        doc_terminal(end, style, &out);
        doc_free(end);
        put_number(s, &out);
    }
    (alone ? output_print_data : output_print_styled)(&out);
    buf_free(&out);
    outcome_free(&all);
    return status;
}

static int carry_out(struct sweep *s, struct err *e) {
    int rc = 0;
    switch (s->base.scenario.sweep.profile) {
    case KVF_SWEEP_KEYS:
        for (uint64_t i = 0; i < s->base.plan.points; i++) (void)sweep_point_add(s, i);
        sweep_line_begin(s, s->points);
        sweep_run(s, 0, s->points);
        break;
    case KVF_SWEEP_RATES:
        sweep_rates(s);
        break;
    case KVF_SWEEP_CAPACITY:
        sweep_capacity(s);
        break;
    case KVF_SWEEP_MISS_RATIO:
        rc = sweep_miss_ratio(s, e);
        break;
    }
    sweep_line_end(s);
    return rc;
}

/* The scenario and the command line are in order, so far as can be known before. 0 or the exit status. */
static int prepare(struct sweep *s, const struct options *o) {
    const char *json = options_value(o, "json");
    struct buf errors = {0};
    struct err e = {0};
    int status = sweep_base_load(&s->base, o->operand[0], o);
    if (status != 0) return status;
    if (!s->base.scenario.sweep.on) {
        err_set(&e, KVF_ERR_USAGE,
                "the scenario varies nothing; give it a sweep, such as --set "
                "'sweep={keys: {workload.users: [10, 100]}}'");
        return output_fail(&e);
    }
    if (sweep_options(s, o, &e) != 0 || too_many(s, &e) != 0) return output_fail(&e);
    unsigned bad = sweep_points_check(&s->base, &errors);
    if (bad > 0) {
        output_say("%s", buf_text(&errors));
        buf_free(&errors);
        err_set(&e, KVF_ERR_USAGE, "the sweep cannot be used, %u error%s", bad, bad == 1 ? "" : "s");
        return output_fail(&e);
    }
    bool file = json && strcmp(json, "-") != 0;
    if ((file && output_file_check(json, options_has(o, "overwrite"), &e) != 0) ||
        points_refused(s, &e) != 0 || load_baseline(s, &e) != 0) {
        output_fail(&e);
        return 2;
    }
    return 0;
}

/* How it ended stays on the screen until somebody has seen it. */
static void leave_screen(struct sweep *s) {
    if (!s->signal) s->signal = signals_asked();
    sweep_show_end(s);
    showing_close(&s->showing, exit_status(s));
    sweep_run_end(s);
}

static int command_main(struct sweep *s, const struct options *o) {
    struct format_style style = output_style(o);
    struct err e = {0};
    s->db = options_value(o, "db");
    s->force = options_has(o, "force");
    s->keep_going = options_has(o, "keep-going");
    s->headless = options_has(o, "headless");
    s->line.quiet = options_has(o, "quiet");
    if (showing_prepare(&s->showing, o, s->headless, &e) != 0) return output_fail(&e);
    int status = prepare(s, o);
    if (status != 0) return status;
    s->metrics = sweep_measures(&s->base.scenario, s->metric);
    describe(s);
    if (with_store(s, true, &e) != 0) return output_fail(&e);
    if (sweep_run_begin(s, &e) != 0 || carry_out(s, &e) != 0) {
        s->record.status = RUN_FAILED;
        snprintf(s->record.status_reason, sizeof s->record.status_reason, "%.299s", e.text);
        s->record.ended_at = (double)clock_wall_ns() / 1e9;
        store_end(s);
        leave_screen(s);
        return output_fail(&e);
    }
    conclude(s);
    store_end(s);
    leave_screen(s);
    return print_results(s, &style);
}

int cmd_sweep(int argc, char **argv) {
    struct sweep *s = mem_zalloc(1, sizeof *s);
    struct options *o = mem_zalloc(1, sizeof *o);
    struct err e = {0};
    int status;
    s->baseline = SIZE_MAX;
    s->reserve = -1;
    if (options_parse(o, argc, argv, &e) != 0) {
        status = output_fail(&e);
    } else if (o->operands == 0) {
        err_set(&e, KVF_ERR_USAGE, "sweep needs a scenario: `kvfall sweep FILE`, or - for standard input");
        status = output_fail(&e);
    } else {
        status = command_main(s, o);
    }
    sweep_free(s);
    free(s);
    options_free(o);
    free(o);
    return status;
}
