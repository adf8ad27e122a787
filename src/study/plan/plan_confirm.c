#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "study/plan/plan.h"
#include "study/setup.h"

enum { CONFIRM_S = 60, CONFIRM_WARMUP_S = 20 };

static const struct plan_compared measures[] = {{"reuse_hit_ratio", "", NAN, NAN},
                                                {"throughput_tok_s", "tok/s", NAN, NAN},
                                                {"ttft_p95_ms", "ms", NAN, NAN}};

/* A simulation tells no progress: it takes seconds, and its lines would read like those of the real run. */
static int run_once(struct plan *p, const struct scenario *s, struct run_record *run, struct err *e) {
    struct session_setup setup = {.db = "none",
                                  .headless = true,
                                  .quiet = p->sweep.line.quiet || s->mode == KVF_MODE_SIMULATE,
                                  .look = {.fd = STDOUT_FILENO, .at_s = KVF_MISSING}};
    struct session *session = session_new(&setup);
    struct session_run what = {.scenario = s, .yaml = p->sweep.base.yaml, .last = true};
    int rc = session_run(session, &what, run, e);
    (void)session_end(session);
    session_free(session);
    if (rc == 0 && run->status != RUN_COMPLETED)
        rc = err_set(e, KVF_ERR_IO, "the %s run of the answer did not complete: %s",
                     s->mode == KVF_MODE_REAL ? "real" : "simulated", run->status_reason);
    return rc;
}

static void results_take(struct plan_confirmed *c, const struct run_record *real,
                         const struct run_record *sim) {
    memcpy(c->measure, measures, sizeof c->measure);
    for (size_t i = 0; i < sizeof measures / sizeof *measures; i++) {
        c->measure[i].real = result_value(&real->results, measures[i].name);
        c->measure[i].simulated = result_value(&sim->results, measures[i].name);
    }
}

/* The answer as a real run of at most a minute, as small as this machine needs. */
static int scenario_fit(struct plan *p, struct scenario *s, struct fit *fit, struct err *e) {
    struct buf errors = {0};
    bool good = plan_scenario(p, &p->machine[p->pick], PLAN_FULL, s, &errors);
    buf_free(&errors);
    if (!good) return err_set(e, KVF_ERR_INTERNAL, "the scenario of the answer does not load again");
    double servers = plan_servers(p, &p->machine[p->pick]);
    if (servers > 1 && s->workload.arrival.process == KVF_ARRIVAL_TRACE && !scenario_at_rate(s))
        return err_set(e, KVF_ERR_USAGE, "a trace cannot be divided, and the answer has %.0f servers",
                       servers);
    s->fleet.pods = 1; /* one of the servers with its share of the load */
    s->workload.users = (uint64_t)ceil((double)s->workload.users / servers);
    s->workload.arrival.rate /= servers;
    s->mode = KVF_MODE_REAL;
    if (s->run.duration_ns > CONFIRM_S * KVF_NS_PER_S) s->run.duration_ns = CONFIRM_S * KVF_NS_PER_S;
    if (s->run.warmup_ns > CONFIRM_WARMUP_S * KVF_NS_PER_S)
        s->run.warmup_ns = CONFIRM_WARMUP_S * KVF_NS_PER_S;
    return session_check(s, false, fit, e);
}

int plan_confirm(struct plan *p, struct err *e) {
    struct scenario *s = mem_alloc(sizeof *s);
    struct fit fit = {0};
    struct run_record real, sim;
    run_record_init(&real);
    run_record_init(&sim);
    int rc = scenario_fit(p, s, &fit, e);
    if (rc == 0) {
        scenario_describe(s, p->confirmed.description, sizeof p->confirmed.description);
        rc = run_once(p, s, &real, e);
    }
    if (rc == 0) {
        s->mode = KVF_MODE_SIMULATE;
        rc = run_once(p, s, &sim, e);
    }
    if (rc == 0) {
        for (unsigned i = 0; i < fit.lines; i++) buf_addf(&p->confirmed.scaled, "%s\n", fit.line[i].text);
        results_take(&p->confirmed, &real, &sim);
        p->confirmed.done = true;
    } else {
        snprintf(p->confirmed.why, sizeof p->confirmed.why, "%.399s", e->text);
    }
    run_record_free(&real);
    run_record_free(&sim);
    free(s);
    return rc;
}
