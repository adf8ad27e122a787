#include "study/calibrate/calibrate_run.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "scenario/budget.h"
#include "study/session.h"
#include "study/setup.h"

enum { LEAST_OPS = 20, ROUNDS_NEAR = 4, ROUNDS = 16, TICK_MS = 200 };
#define GAIN_FAR    0.8 /* of the first rounds, and of those that are averaged */
#define GAIN_NEAR   0.4
#define TIMES_MOST  10.0
#define SPREAD_MOST 2.5
#define SPREAD_STEP 2.5 /* the tails give way less than that is turned */
#define WARMUP_PART 0.5
#define TAIL_WEIGHT 0.5
#define OP_WEIGHT   0.5

/* The message of the process; both ends are the same program. */
struct told {
    int rc;
    char why[400];
    struct calibrate_run run;
};

struct fitting {
    const struct calibrate_run_setup *setup;
    struct session *session;
    int file; /* memory, which scenarios include */
    char file_name[40];
    struct run_record real;
};

void calibrate_run_place(struct scenario *run, const struct scenario *placed) {
    run->mode = KVF_MODE_REAL;
    run->nvme.path_count = placed->nvme.path_count;
    memcpy(run->nvme.path, placed->nvme.path, sizeof run->nvme.path);
    memcpy(run->remote.url, placed->remote.url, sizeof run->remote.url);
    run->tier[KVF_TIER_REMOTE].backend = placed->tier[KVF_TIER_REMOTE].backend;
}

static int file_write(struct fitting *f, const struct calibrate_run *r, struct err *e) {
    struct buf text = {0};
    f->setup->file(f->setup->ctx, r, &text);
    bool written = ftruncate(f->file, 0) == 0 && pwrite(f->file, text.data, text.len, 0) == (ssize_t)text.len;
    buf_free(&text);
    return written ? 0 : err_set_errno(e, KVF_ERR_IO, errno, "the figures cannot be kept in memory");
}

/* The scenario with the figures: one run of that length, without what changes the load by itself. */
static int scenario_take(struct fitting *f, enum scenario_mode mode, struct scenario *s, struct err *e) {
    struct scenario_report report;
    struct options *o = mem_alloc(sizeof *o);
    *o = *f->setup->options;
    if (o->settings < OPTIONS_GIVEN_MAX)
        o->setting[o->settings++] = (struct scenario_setting){.value = f->file_name, .origin = "--include"};
    int status = setup_scenario(f->setup->path, o, s, NULL, &report);
    scenario_load_free(&report);
    free(o);
    if (status) return err_set(e, KVF_ERR_USAGE, "%s cannot be run", f->setup->path);
    calibrate_run_place(s, f->setup->placed);
    s->mode = mode;
    s->run.trials = 1;
    s->run.duration_ns = f->setup->time_ns;
    s->run.warmup_ns = kvf_min(s->run.warmup_ns, (uint64_t)(WARMUP_PART * (double)f->setup->time_ns));
    s->autoscaler.mode = KVF_AUTOSCALER_OFF;
    return session_check(s, false, NULL, e);
}

static int run_once(struct fitting *f, enum scenario_mode mode, const struct calibrate_run *r,
                    struct run_record *run, struct err *e) {
    struct scenario *s = mem_alloc(sizeof *s);
    struct session_run what = {.scenario = s, .yaml = ""};
    int rc = file_write(f, r, e);
    if (rc == 0) rc = scenario_take(f, mode, s, e);
    if (rc == 0) rc = session_run(f->session, &what, run, e);
    if (rc == 0 && run->status == RUN_INTERRUPTED)
        rc = err_set(e, KVF_ERR_CANCELLED, "%s", run->status_reason);
    else if (rc == 0 && run->status != RUN_COMPLETED)
        rc = err_set(e, KVF_ERR_IO, "the %s run of %s did not complete: %s",
                     mode == KVF_MODE_REAL ? "real" : "simulated", f->setup->path, run->status_reason);
    free(s);
    return rc;
}

static void end_take(const struct run_record *run, struct calibrate_run_figures *out) {
    for (int t = 0; t < KVF_TIERS; t++)
        for (int d = 0; d < KVF_DIRS; d++) {
            const char *name = tier_name((enum kvf_tier)t), *way = d == KVF_DIR_READ ? "read" : "write";
            bool enough = result_named(&run->results, "%s_%s_ops", name, way) >= LEAST_OPS;
            out->op_mean_ms[t][d] =
                enough ? result_named(&run->results, "%s_%s_mean_ms", name, way) : KVF_MISSING;
            out->op_p95_ms[t][d] =
                enough ? result_named(&run->results, "%s_%s_p95_ms", name, way) : KVF_MISSING;
        }
    out->tok_s = result_value(&run->results, "throughput_tok_s");
    out->e2e_mean_ms = result_value(&run->results, "e2e_mean_ms");
    out->e2e_p95_ms = result_value(&run->results, "e2e_p95_ms");
}

/* A statistic of the times of operations: the middle of that at the device and that with what they wait for
 * on the way there, because the first alone leaves the waiting out, and the second is little of the tier's
 * own where others are slow. 0: too few operations to tell. */
static double middle(const struct run_record *run, int tier, int dir, const char *statistic) {
    const struct result_list *l = &run->results;
    const char *name = tier_name((enum kvf_tier)tier), *way = dir == KVF_DIR_READ ? "read" : "write";
    double whole = result_named(l, "%s_%s_%s_ms", name, way, statistic);
    double device = result_named(l, "%s_%s_device_%s_ms", name, way, statistic);
    double found = sqrt(whole * device);
    return result_named(l, "%s_%s_ops", name, way) >= LEAST_OPS && found > 0 ? found : 0;
}

/* Logarithms of what is adjusted: where it is, and what it was together in the rounds that are averaged. */
struct knob {
    double at, sum;
};

/* One round: by how far the simulation is off. */
static double turn(struct knob *k, int round, double off, double most) {
    k->at += (round < ROUNDS_NEAR ? GAIN_FAR : GAIN_NEAR) * off;
    k->at = fmin(fmax(k->at, -log(most)), log(most));
    if (round >= ROUNDS_NEAR) k->sum += k->at;
    return exp(round + 1 < ROUNDS ? k->at : k->sum / (ROUNDS - ROUNDS_NEAR));
}

/* All knobs of a fit. */
struct knobs {
    struct knob times[KVF_TIERS][KVF_DIRS], spread[KVF_TIERS][KVF_DIRS], lookup;
};

/* A store's lookups are adjusted by themselves: its answers to them are no values. */
static void turn_lookup(const struct fitting *f, const struct run_record *sim, int round, struct knob *knob,
                        struct calibration_adjust *a) {
    double real = result_named(&f->real.results, "remote_lookup_mean_ms");
    double simulated = result_named(&sim->results, "remote_lookup_mean_ms");
    bool known = real > 0 && simulated > 0 && result_value(&f->real.results, "remote_read_ops") >= LEAST_OPS;
    double off = known ? log(real / simulated) : 0;
    a->lookup = turn(knob, round, off, TIMES_MOST);
}

static void turn_all(const struct fitting *f, const struct run_record *sim, int round, struct knobs *k,
                     struct calibrate_run *out) {
    if (f->setup->measured[KVF_TIER_REMOTE])
        turn_lookup(f, sim, round, &k->lookup, &out->adjust[KVF_TIER_REMOTE]);
    for (int t = 0; t < KVF_TIERS; t++) {
        for (int d = 0; d < KVF_DIRS && f->setup->measured[t]; d++) {
            struct calibration_adjust *a = &out->adjust[t];
            double mean = middle(&f->real, t, d, "mean"), simulated = middle(sim, t, d, "mean");
            bool known = mean > 0 && simulated > 0;
            double off = known ? log(mean / simulated) : 0;
            a->times[d] = turn(&k->times[t][d], round, off, TIMES_MOST);
            if (known) off = log(middle(&f->real, t, d, "p95") / middle(sim, t, d, "p95")) - off;
            a->spread[d] = turn(&k->spread[t][d], round, off * SPREAD_STEP, SPREAD_MOST);
        }
    }
}

/* A figure that the run had, and that the simulation has too little to tell, is as far off as e is from 1. */
static double off_by(double real, double simulated, double weight) {
    if (!(real > 0)) return 0;
    return weight * (simulated > 0 ? pow(log(simulated / real), 2) : 1);
}

/* Squares of the errors that people look at: of requests, and of the operations of measured tiers. */
static double error_of(const struct fitting *f, const struct calibrate_run *r) {
    const struct calibrate_run_figures *real = &r->real, *sim = &r->simulated;
    double sum = off_by(real->tok_s, sim->tok_s, 1) + off_by(real->e2e_mean_ms, sim->e2e_mean_ms, 1) +
                 off_by(real->e2e_p95_ms, sim->e2e_p95_ms, TAIL_WEIGHT);
    for (int t = 0; t < KVF_TIERS; t++)
        for (int d = 0; d < KVF_DIRS && f->setup->measured[t]; d++)
            sum += OP_WEIGHT * (off_by(real->op_mean_ms[t][d], sim->op_mean_ms[t][d], 1) +
                                off_by(real->op_p95_ms[t][d], sim->op_p95_ms[t][d], TAIL_WEIGHT));
    return sum;
}

/* Of all rounds, and what they are on average, the nearest stays: where a few stalls make up much of a run,
 * the rounds scatter by which operations these meet. One whose simulation does not complete is the last, and
 * an error only where none was before it. */
static int fit(struct fitting *f, struct calibrate_run *out, struct err *e) {
    struct knobs knobs = {0};
    struct calibrate_run best = *out;
    double least = INFINITY;
    int rc = 0;
    for (int round = 0; round <= ROUNDS && rc == 0; round++) {
        struct run_record sim;
        run_record_init(&sim);
        rc = run_once(f, KVF_MODE_SIMULATE, out, &sim, e);
        if (rc == 0) end_take(&sim, &out->simulated);
        double error = rc == 0 ? error_of(f, out) : INFINITY;
        if (error < least) best = *out;
        least = fmin(error, least);
        if (rc == 0 && round < ROUNDS) turn_all(f, &sim, round, &knobs, out);
        run_record_free(&sim);
    }
    *out = best;
    if (rc == -KVF_ERR_CANCELLED || least == INFINITY) return rc;
    err_clear(e);
    return 0;
}

/* A server that has just been emptied gets its memory from its system anew, which a first run pays for. */
static int store_warm(struct fitting *f, const struct calibrate_run *r, struct err *e) {
    struct run_record run;
    run_record_init(&run);
    int rc = run_once(f, f->setup->mode, r, &run, e);
    run_record_free(&run);
    return rc;
}

/* As often as in the run, and as long: those of windows before it may be other ones. */
static void stalls_take(const struct fitting *f, int tier, struct calibration_adjust *a) {
    double count = result_named(&f->real.results, "%s_stalls", tier_name((enum kvf_tier)tier));
    a->stalls_known = f->setup->measured[tier] && count >= 0;
    if (a->stalls_known) calibrate_stalls(&f->real.usage[tier], &a->stalls);
}

static int child_work(const struct calibrate_run_setup *setup, struct calibrate_run *out, struct err *e) {
    struct fitting f = {.setup = setup};
    struct session_setup own = {
        .db = "none", .headless = true, .quiet = true, .look = {.fd = STDOUT_FILENO, .at_s = KVF_MISSING}};
    f.file = memfd_create("kvfall-calibration", MFD_CLOEXEC);
    if (f.file < 0) return err_set_errno(e, KVF_ERR_IO, errno, "the figures cannot be kept in memory");
    snprintf(f.file_name, sizeof f.file_name, "/proc/self/fd/%d", f.file);
    f.session = session_new(&own);
    run_record_init(&f.real);
    int rc = setup->measured[KVF_TIER_REMOTE] ? store_warm(&f, out, e) : 0;
    if (rc == 0) rc = run_once(&f, setup->mode, out, &f.real, e);
    if (rc == 0) end_take(&f.real, &out->real);
    for (int t = 0; t < KVF_TIERS && rc == 0; t++) stalls_take(&f, t, &out->adjust[t]);
    if (rc == 0) rc = fit(&f, out, e);
    run_record_free(&f.real);
    (void)session_end(f.session);
    session_free(f.session);
    close(f.file);
    return rc;
}

static bool read_all(int fd, void *out, size_t len) {
    for (size_t got = 0; got < len;) {
        ssize_t n = read(fd, (char *)out + got, len - got);
        if (n == 0 || (n < 0 && errno != EINTR)) return false;
        if (n > 0) got += (size_t)n;
    }
    return true;
}

static _Noreturn void child_main(int from, int to, void *message, size_t len,
                                 int (*prepare)(void *ctx, struct calibrate_run_setup *out), void *ctx) {
    struct calibrate_run_setup setup = {.options = NULL};
    struct told told = {0};
    struct err e = {0};
    if (!read_all(from, message, len)) _exit(0); /* there is nothing to run */
    calibrate_run_init(&told.run);
    if (prepare(ctx, &setup) != 0) _exit(1);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null >= 0) (void)dup2(null, STDIN_FILENO);
    if (null >= 0 && setup.silent) (void)dup2(null, STDERR_FILENO);
    told.rc = child_work(&setup, &told.run, &e);
    snprintf(told.why, sizeof told.why, "%.399s", e.text);
    _exit(buf_write(to, &told, sizeof told) ? 0 : 1);
}

void calibrate_run_init(struct calibrate_run *r) {
    for (int t = 0; t < KVF_TIERS; t++)
        r->adjust[t] = (struct calibration_adjust){.times = {1, 1}, .spread = {1, 1}, .lookup = 1};
    r->real = r->simulated = (struct calibrate_run_figures){.tok_s = KVF_MISSING};
}

int calibrate_run_fork(struct calibrate_run_process *p, void *message, size_t len,
                       int (*prepare)(void *ctx, struct calibrate_run_setup *out), void *ctx, struct err *e) {
    int to[2], from[2];
    *p = (struct calibrate_run_process){.pid = 0};
    if (pipe2(to, O_CLOEXEC) != 0) return err_set_errno(e, KVF_ERR_IO, errno, "no pipe to the run's process");
    if (pipe2(from, O_CLOEXEC) != 0) {
        close(to[0]);
        close(to[1]);
        return err_set_errno(e, KVF_ERR_IO, errno, "cannot create a pipe from the run's process");
    }
    fflush(NULL);
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
        (void)setpgid(0, 0);
        (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
        if (getppid() != parent) _exit(1); /* it went before that could help */
        close(to[1]);
        close(from[0]);
        child_main(to[0], from[1], message, len, prepare, ctx);
    }
    close(to[0]);
    close(from[1]);
    *p = (struct calibrate_run_process){pid, to[1], from[0]};
    if (pid > 0) return 0;
    int number = errno;
    close(p->to);
    close(p->from);
    p->pid = 0;
    return err_set_errno(e, KVF_ERR_IO, number, "the run's process could not be started");
}

void calibrate_run_end(struct calibrate_run_process *p) {
    if (p->pid == 0) return;
    close(p->to); /* it ends where it waits for its message */
    close(p->from);
    while (waitpid(p->pid, NULL, 0) < 0 && errno == EINTR) {}
    p->pid = 0;
}

int calibrate_run(struct calibrate_run_process *p, const void *message, size_t len, double whole_ns,
                  const atomic_bool *stop, void (*progress)(void *ctx, double share), void *ctx,
                  struct calibrate_run *out, struct err *e) {
    struct pollfd at = {.fd = p->from, .events = POLLIN};
    uint64_t begin_ns = clock_now_ns();
    struct told told;
    bool told_stop = false;
    bool told_all = buf_write(p->to, message, len);
    while (told_all && poll(&at, 1, TICK_MS) <= 0) {
        progress(ctx, fmin((double)(clock_now_ns() - begin_ns) / whole_ns, 0.99));
        if (!told_stop && atomic_load(stop)) told_stop = kill(p->pid, SIGTERM) == 0;
    }
    told_all = told_all && read_all(p->from, &told, sizeof told);
    calibrate_run_end(p);
    if (atomic_load(stop)) return err_set(e, KVF_ERR_CANCELLED, "stopped while the scenario was run");
    if (!told_all) return err_set(e, KVF_ERR_IO, "the run of the scenario ended without a result");
    if (told.rc != 0) return err_set(e, (enum err_code)(-told.rc), "%s", told.why);
    *out = told.run;
    return 0;
}
