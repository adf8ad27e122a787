#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/build.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/units.h"
#include "probe/host.h"
#include "study/setup.h"
#include "study/signals.h"
#include "study/sweep/sweep.h"

static void describe(struct sweep *s) {
    const struct scenario *sc = &s->base.scenario;
    struct sweep_record *r = &s->record;
    struct host host;
    host_probe(&host);
    snprintf(r->host, sizeof r->host, "%s", host.name);
    snprintf(r->boot_id, sizeof r->boot_id, "%s", host.boot_id);
    snprintf(r->version, sizeof r->version, "%s", build_version());
    r->started_at = (double)clock_wall_ns() / 1e9;
    r->ended_at = NAN;
    r->pid = getpid();
    r->points = s->base.plan.points;
    r->scenario_yaml = mem_strdup(s->base.yaml ? s->base.yaml : "");
    snprintf(r->model, sizeof r->model, "%s", sc->model.preset);
    sweep_models(&s->base.plan, r->model, sizeof r->model);
    if (r->effective_json) return; /* a study has said what it is */
    struct scenario placed = setup_placed(sc);
    struct buf json = {0};
    snprintf(r->name, sizeof r->name, "%s", sc->name);
    snprintf(r->profile, sizeof r->profile, "%s", sweep_profile_name(sc->sweep.profile));
    snprintf(r->mode, sizeof r->mode, "%s", sc->mode == KVF_MODE_SIMULATE ? "simulate" : "real");
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
    if (rc == 0) rc = store_open(&store, path, STORE_WRITE, e);
    if (rc == 0 && begin && store_notice(store)[0]) log_line(KVF_LOG_WARNING, "%s", store_notice(store));
    if (rc == 0 && begin)
        rc = store_begin_sweep(store, &s->record, e);
    else if (rc == 0)
        rc = store_finish_sweep(store, &s->record, s->curves.point, s->curves.points, e);
    store_close(store);
    if (begin && rc == 0) s->reserve = store_reserve(path);
    return rc;
}

int sweep_begin(struct sweep *s, struct err *e) {
    s->metrics = sweep_measures(&s->base.scenario, s->metric);
    describe(s);
    return with_store(s, true, e);
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

/* A tier with room left looks faster than it will be. */
static void warn_of_fills(struct sweep *s, const char *point) {
    size_t filling = 0;
    double full_s = 0;
    char warmup[24];
    for (size_t i = 0; i < s->points; i++)
        if (s->point[i].state == OUTCOME_DONE && s->point[i].full_s > 0)
            filling++, full_s = fmax(full_s, s->point[i].full_s);
    if (filling > 0)
        buf_addf(&s->warnings,
                 "Warning: in %zu of %zu %ss a tier filled while it was measured, so the figures are in part "
                 "those of a cache with room left; make run.warmup %s or longer.\n",
                 filling, s->points, point, units_duration_human(full_s * 1e9, warmup, sizeof warmup));
}

static void conclude(struct sweep *s) {
    struct sweep_record *r = &s->record;
    const char *point = s->study ? s->study->point : "point";
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
    warn_of_fills(s, point);
    r->status = r->failed > 0 ? RUN_FAILED : s->stopped ? RUN_INTERRUPTED : RUN_COMPLETED;
    if (s->stopped)
        snprintf(r->status_reason, sizeof r->status_reason, "stopped with %zu %s%s not done", open, point,
                 open == 1 ? "" : "s");
    else if (r->failed > 0)
        snprintf(r->status_reason, sizeof r->status_reason, "%" PRIu64 " of %" PRIu64 " %ss failed",
                 r->failed, r->points, point);
}

void sweep_end(struct sweep *s, const struct err *failed) {
    struct sweep_record *r = &s->record;
    if (!failed) conclude(s);
    if (failed) r->status = RUN_FAILED;
    if (failed) snprintf(r->status_reason, sizeof r->status_reason, "%.299s", failed->text);
    r->ended_at = (double)clock_wall_ns() / 1e9;
    store_end(s);
    if (!s->signal) s->signal = signals_asked();
    sweep_show_end(s);
    showing_close(&s->showing, sweep_exit_status(s));
    sweep_run_end(s);
}

int sweep_exit_status(const struct sweep *s) {
    return s->unstored ? 1 : s->signal ? 128 + s->signal : s->record.failed > 0 ? 1 : 0;
}

void sweep_free(struct sweep *s) {
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
