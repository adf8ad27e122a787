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
    s->baseline_value[3] = found.reuse_hits;
    if (found.runs > 1)
        snprintf(s->baseline_name, sizeof s->baseline_name, "sweep %" PRId64, found.sweep_id);
    else
        snprintf(s->baseline_name, sizeof s->baseline_name, "run %" PRId64, run_id);
    if (found.undone[0])
        buf_addf(&s->warnings, "Warning: the baseline, %s, is not comparable: %s.\n", s->baseline_name,
                 found.undone);
    return 0;
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

static int print_results(struct sweep *s, const struct format_style *style) {
    const char *json = options_value(s->base.options, "json");
    bool curves = s->base.scenario.sweep.profile == KVF_SWEEP_MISS_RATIO;
    int status = sweep_exit_status(s);
    struct outcome all;
    struct buf out = {0};
    sweep_outcome(s, &all);
    if (json) outcome_json(&all, &out);
    if (json) status = output_json(json, &out, status);
    if (!json || strcmp(json, "-") != 0) {
        if (curves) sweep_curve_text(s, style, &out);
        struct doc *end = outcome_doc_end(&all, !curves);
        doc_terminal(end, style, &out);
        doc_free(end);
        put_number(s, &out);
        output_print_styled(&out);
    }
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

static int command_main(struct sweep *s, const struct options *o) {
    struct format_style style = output_style(o);
    struct err e = {0};
    s->db = options_value(o, "db");
    s->force = options_has(o, "force");
    s->keep_going = options_has(o, "keep-going");
    s->line.quiet = options_has(o, "quiet");
    if (showing_prepare(&s->showing, o, options_has(o, "headless"), &e) != 0) return output_fail(&e);
    int status = prepare(s, o);
    if (status != 0) return status;
    if (sweep_begin(s, &e) != 0) return output_fail(&e);
    bool failed = sweep_run_begin(s, &e) != 0 || carry_out(s, &e) != 0;
    sweep_end(s, failed ? &e : NULL);
    return failed ? output_fail(&e) : print_results(s, &style);
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
