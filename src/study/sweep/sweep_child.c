#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "study/live.h"
#include "study/sweep/sweep.h"

/* The message of a point's process: this, then the results. Both ends are the same program. */
struct told {
    int64_t run_id;
    enum run_status status;
    char why[300];
    uint32_t classes;
    struct run_class klass[KVF_CLASSES_MAX]; /* with the targets that the results are of */
    uint64_t results;
};

static bool tell(int fd, const struct run_record *run, enum run_status status, const char *why) {
    struct told told = {.run_id = run->run_id,
                        .status = status,
                        .classes = run->classes,
                        .results = status == RUN_FAILED ? 0 : run->results.count};
    memcpy(told.klass, run->klass, sizeof told.klass);
    snprintf(told.why, sizeof told.why, "%.299s", why);
    return buf_write(fd, &told, sizeof told) &&
           (told.results == 0 ||
            buf_write(fd, run->results.items, told.results * sizeof *run->results.items));
}

/* The scenario of a point, checked. */
static int point_scenario(const struct sweep *s, const struct sweep_point *p, struct scenario *sc,
                          struct err *e) {
    struct scenario_setting setting[SWEEP_AXES_MAX];
    struct buf errors = {0};
    unsigned count = sweep_settings(&s->base, p->planned, p->sought, setting);
    int rc = 0;
    if (!sweep_point_load(&s->base, setting, count, sc, &errors))
        rc = err_set(e, KVF_ERR_USAGE, "%.*s", (int)strcspn(buf_text(&errors), "\n"), buf_text(&errors));
    buf_free(&errors);
    if (rc != 0) return rc;
    sweep_load_apply(p, sc);
    return session_check(sc, s->force, NULL, e);
}

int sweep_point_run(struct sweep *s, size_t point, struct session *session, bool last, struct run_record *run,
                    struct err *e) {
    struct scenario *sc = mem_alloc(sizeof *sc);
    struct buf values = {0};
    int rc = 0;
    sweep_values_json(&s->base, &s->point[point], &values);
    struct session_run what = {.scenario = sc,
                               .yaml = s->base.yaml,
                               .sweep_id = s->record.sweep_id,
                               .sweep_point = (uint32_t)point + 1,
                               .sweep_values = buf_text(&values),
                               .row = point,
                               .last = last};
    if (s->study && s->study->run)
        s->study->run(s, point, &what);
    else
        rc = point_scenario(s, &s->point[point], sc, e);
    if (rc == 0) rc = session_run(session, &what, run, e);
    buf_free(&values);
    free(sc);
    return rc;
}

/* How the run of a point ended, and why if it failed. */
static enum run_status child_run(struct sweep *s, size_t point, struct session *session,
                                 struct run_record *run, char why[400]) {
    struct err e = {0};
    int rc = sweep_point_run(s, point, session, true, run, &e);
    snprintf(why, 400, "%.399s", rc != 0 ? e.text : run->status_reason);
    (void)session_end(session);
    return rc == -KVF_ERR_CANCELLED ? RUN_INTERRUPTED : rc != 0 ? RUN_FAILED : run->status;
}

void sweep_child(struct sweep *s, size_t point, const struct sweep_face *face, int fd) {
    struct session_setup setup = {.db = s->db,
                                  .headless = true,
                                  .keep_going = s->keep_going,
                                  .quiet = true,
                                  .look = {.fd = STDOUT_FILENO, .at_s = KVF_MISSING},
                                  .slot = face ? face->slot : NULL,
                                  .windows = face ? live_windows(face->live) : NULL};
    struct session *session = session_new(&setup);
    struct run_record run;
    char why[400] = "";
    bool curve = s->base.scenario.sweep.profile == KVF_SWEEP_MISS_RATIO;
    run_record_init(&run);
    enum run_status status =
        curve ? sweep_curve_child(s, point, &run, why) : child_run(s, point, session, &run, why);
    bool told = tell(fd, &run, status, why);
    session_free(session); /* closes the database */
    _exit(told ? 0 : 1);
}

bool sweep_child_result(struct sweep *s, size_t point, const void *data, size_t len) {
    struct told told;
    struct run_record run;
    if (len < sizeof told) return false;
    memcpy(&told, data, sizeof told);
    if (len != sizeof told + told.results * sizeof(struct result)) return false;
    run_record_init(&run);
    run.run_id = told.run_id;
    run.status = told.status;
    run.classes = told.classes;
    memcpy(run.klass, told.klass, sizeof run.klass);
    snprintf(run.status_reason, sizeof run.status_reason, "%s", told.why);
    if (told.results > 0) {
        run.results.items = mem_alloc(told.results * sizeof(struct result));
        memcpy(run.results.items, (const char *)data + sizeof told, told.results * sizeof(struct result));
        run.results.count = run.results.cap = told.results;
    }
    sweep_point_take(s, point, &run);
    run_record_free(&run);
    return true;
}
