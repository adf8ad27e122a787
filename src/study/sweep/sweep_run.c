#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "study/live.h"
#include "study/signals.h"
#include "study/sweep/sweep.h"

const char sweep_run_measures[] = "throughput_tok_s storage_throughput_tok_s e2e_p95_ms reuse_hit_ratio";

void sweep_point_fail(struct sweep *s, size_t point, const char *why) {
    struct buf label = {0};
    s->point[point].state = OUTCOME_FAILED;
    snprintf(s->point[point].why, sizeof s->point[point].why, "%.299s", why);
    if (s->study && s->study->took) return;
    sweep_label(s, point, &label);
    log_line(KVF_LOG_WARNING, "point %zu (%s) failed: %s", point + 1, buf_text(&label), why);
    s->line.line.open = false;
    buf_free(&label);
}

static void take_targets(struct sweep_point *p, const struct run_record *run) {
    struct standing s;
    standing_of(run, NULL, &s);
    standing_targets(&s, p->targets);
}

/* Chunks are never computed again, and at granularity request shared prompts alone are; with a modelled GPU
 * the run has counted what is not. */
static double misses_without_work(const struct sweep *s, const struct sweep_point *p,
                                  const struct result_list *results) {
    double n = result_value(results, standing_not_computed);
    if (kvf_present(n)) return n;
    return p->chunk_misses + (sweep_point_by_blocks(&s->base, p) ? 0 : p->turns.misses);
}

static void take_work(struct sweep_point *p, const struct run_record *run) {
    double value[WORK_METRICS];
    for (size_t m = 0; m < WORK_METRICS; m++) value[m] = result_value(&run->results, work_metric[m]);
    p->work = work_of(value);
}

void sweep_point_take(struct sweep *s, size_t point, const struct run_record *run) {
    struct sweep_point *p = &s->point[point];
    p->run_id = run->run_id;
    if (run->status == RUN_FAILED) {
        sweep_point_fail(s, point, run->status_reason[0] ? run->status_reason : "it gave no reason");
        return;
    }
    p->state = outcome_state_of(run->status);
    standing_count(&run->results, p->undone);
    p->flaw = standing_run_flaw(&run->results);
    take_work(p, run);
    p->waiting = standing_run_left(&run->results);
    take_targets(p, run);
    p->chunk_misses = standing_chunk_misses(&run->results);
    p->chunk_hits = standing_chunk_hits(&run->results);
    p->turns = standing_turns(&run->results);
    p->estimated = result_value(&run->results, "autoscaler_found") == 0;
    p->no_work = misses_without_work(s, p, &run->results);
    p->computes = kvf_present(result_value(&run->results, standing_computes));
    p->reuse_hits = result_value(&run->results, "reuse_hit_ratio");
    p->full_s = result_value(&run->results, "fill_full_s");
    for (unsigned m = 0; m < s->metrics; m++) {
        const struct result *r = result_find(&run->results, s->metric[m]);
        p->value[m] = result_value(&run->results, s->metric[m]);
        s->known[m] = s->known[m] || r;
        if (r && !s->unit[m][0]) snprintf(s->unit[m], sizeof s->unit[m], "%s", r->unit);
    }
}

/* ---- processes ---- */

struct child {
    pid_t pid;             /* 0: a free place */
    int result_fd, log_fd; /* -1: at its end */
    size_t point;
    struct sweep_face *face; /* for the screen; NULL: nobody looks */
    struct buf result, log;
};

struct children {
    struct sweep *sweep;
    struct child *child;
    struct pollfd *fds;
    unsigned jobs, running;
    int signals; /* signalfd; -1: there is a screen, and commands tell */
    sigset_t before;
    unsigned asked; /* signals so far */
};

/* The other end of what the child writes and says; a process group of its own, so that the terminal's
 * interrupt reaches it through the parent, once. */
static _Noreturn void child_begin(const struct children *c, size_t point, const struct sweep_face *face,
                                  const int result[2], const int log[2], pid_t parent) {
    (void)setpgid(0, 0);
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) _exit(1); /* it went before that could help */
    if (c->signals >= 0) close(c->signals);
    close(result[0]);
    close(log[0]);
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (null >= 0) (void)dup2(null, STDIN_FILENO);
    (void)dup2(log[1], STDERR_FILENO);
    log_behind_open_line(false);
    (void)sigprocmask(SIG_SETMASK, &c->before, NULL);
    showing_forget(&c->sweep->showing);
    sweep_child(c->sweep, point, face, result[1]);
}

static void child_start(struct children *c, size_t point) {
    struct child *child = c->child;
    int result[2], log[2];
    while (child->pid) child++;
    pid_t parent = getpid();
    if (pipe2(result, O_CLOEXEC) != 0) {
        sweep_point_fail(c->sweep, point, strerror(errno));
        return;
    }
    if (pipe2(log, O_CLOEXEC) != 0) {
        sweep_point_fail(c->sweep, point, strerror(errno));
        close(result[0]);
        close(result[1]);
        return;
    }
    struct sweep_face *face = sweep_face_new(c->sweep, point);
    struct ui *ui = c->sweep->showing.ui;
    fflush(NULL);
    if (ui) ui_hold(ui); /* the child has no thread that would give its locks back */
    pid_t pid = fork();
    if (pid == 0) child_begin(c, point, face, result, log, parent);
    if (ui) ui_go_on(ui);
    close(result[1]);
    close(log[1]);
    if (pid < 0) {
        char why[160];
        snprintf(why, sizeof why, "its process could not be started: %s", strerror(errno));
        close(result[0]);
        close(log[0]);
        sweep_face_free(face);
        sweep_point_fail(c->sweep, point, why);
        return;
    }
    *child =
        (struct child){.pid = pid, .result_fd = result[0], .log_fd = log[0], .point = point, .face = face};
    c->sweep->point[point].state = OUTCOME_RUNS;
    c->running++;
    if (face) ui_run_begins(ui, point, live_provider(face->live), NULL);
    sweep_show_point(c->sweep, point);
}

/* Its messages, each with the number of the point. */
static void child_messages(struct child *child, bool rest) {
    char *at = child->log.data;
    for (char *end; at && (end = strchr(at, '\n')); at = end + 1) {
        const char *text = strncmp(at, "kvfall: ", 8) == 0 ? at + 8 : at;
        log_line(KVF_LOG_INFO, "point %zu: %.*s", child->point + 1, (int)(end - text), text);
    }
    if (rest && at && *at) log_line(KVF_LOG_INFO, "point %zu: %s", child->point + 1, at);
    struct buf left = {0};
    if (!rest && at && *at) buf_add(&left, at);
    buf_free(&child->log);
    child->log = left;
}

static void child_end(struct children *c, struct child *child) {
    struct sweep *s = c->sweep;
    int status = 0;
    char why[200] = "";
    while (waitpid(child->pid, &status, 0) < 0 && errno == EINTR) {}
    child_messages(child, true);
    if (WIFSIGNALED(status))
        snprintf(why, sizeof why, "its process was killed by signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    else if (WEXITSTATUS(status) != 0 ||
             !sweep_child_result(s, child->point, child->result.data, child->result.len))
        snprintf(why, sizeof why, "its process ended with status %d and without a result",
                 WEXITSTATUS(status));
    bool ours = c->asked > 1 || (c->asked == 1 && WIFSIGNALED(status) && WTERMSIG(status) == SIGINT);
    if (why[0] && ours)
        s->point[child->point].state = OUTCOME_STOPPED;
    else if (why[0])
        sweep_point_fail(s, child->point, why);
    s->line.running = --c->running;
    if (child->face) ui_run_ends(s->showing.ui, live_provider(child->face->live));
    sweep_face_free(child->face);
    sweep_show_point(s, child->point);
    sweep_line_point(s, child->point);
    buf_free(&child->result);
    buf_free(&child->log);
    child->pid = 0;
}

/* False at the end. */
static bool child_read(int fd, struct buf *out) {
    char chunk[16384];
    ssize_t n = read(fd, chunk, sizeof chunk);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) return true;
    if (n > 0) buf_bytes(out, chunk, (size_t)n);
    return n > 0;
}

static void child_serve(struct children *c, struct child *child, bool result, bool log) {
    if (log && !child_read(child->log_fd, &child->log)) {
        close(child->log_fd);
        child->log_fd = -1;
    } else if (log) {
        child_messages(child, false);
    }
    if (result && !child_read(child->result_fd, &child->result)) {
        close(child->result_fd);
        child->result_fd = -1;
    }
    if (child->log_fd < 0 && child->result_fd < 0) child_end(c, child);
}

static void children_tell(const struct children *c, int signal) {
    for (unsigned i = 0; i < c->jobs; i++)
        if (c->child[i].pid) (void)kill(c->child[i].pid, signal);
}

/* The first wish is passed on, and runs end in good order; the next one kills. */
static void stop_serve(struct children *c, int signal) {
    c->sweep->stopped = true;
    if (!c->sweep->signal) c->sweep->signal = signal;
    c->asked++;
    children_tell(c, c->asked > 1 ? SIGKILL : SIGINT);
}

static void signal_serve(struct children *c) {
    struct signalfd_siginfo info;
    if (read(c->signals, &info, sizeof info) == (ssize_t)sizeof info) stop_serve(c, (int)info.ssi_signo);
}

/* The same from the screen, and what Ctrl-Z asks for: simulations have clocks of their own. */
static void commands_serve(struct children *c) {
    struct command command;
    while (command_take(c->sweep->commands, &command)) {
        if (command.kind == COMMAND_STOP) stop_serve(c, (int)command.value);
        if (command.kind == COMMAND_PAUSE) children_tell(c, SIGSTOP);
        if (command.kind == COMMAND_RESUME) children_tell(c, SIGCONT);
    }
}

static void wish_serve(struct children *c) {
    if (c->signals >= 0)
        signal_serve(c);
    else
        commands_serve(c);
}

static void shares_show(const struct children *c) {
    for (unsigned i = 0; i < c->jobs; i++)
        if (c->child[i].pid && c->child[i].face)
            board_share(c->sweep->showing.board, c->child[i].point, sweep_face_share(c->child[i].face), "");
}

static void children_wait(struct children *c) {
    enum { TICK_MS = 200 };
    nfds_t n = 0;
    int wishes = c->signals >= 0 ? c->signals : command_fd(c->sweep->commands);
    c->fds[n++] = (struct pollfd){.fd = wishes, .events = POLLIN};
    for (unsigned i = 0; i < c->jobs; i++) { /* poll() passes over negative ones */
        bool used = c->child[i].pid != 0;
        c->fds[n++] = (struct pollfd){.fd = used ? c->child[i].result_fd : -1, .events = POLLIN};
        c->fds[n++] = (struct pollfd){.fd = used ? c->child[i].log_fd : -1, .events = POLLIN};
    }
    if (poll(c->fds, n, TICK_MS) <= 0) return;
    if (c->fds[0].revents) wish_serve(c);
    for (unsigned i = 0; i < c->jobs; i++)
        if (c->child[i].pid)
            child_serve(c, &c->child[i], c->fds[1 + 2 * i].revents != 0, c->fds[2 + 2 * i].revents != 0);
}

/* Signals that are taken here where no screen has its own way (study/signals.h). */
static void signals_take(struct children *c) {
    sigset_t taken;
    sigemptyset(&taken);
    if (!c->sweep->showing.ui) {
        sigaddset(&taken, SIGINT);
        sigaddset(&taken, SIGTERM);
        sigaddset(&taken, SIGHUP);
    }
    (void)sigprocmask(SIG_BLOCK, &taken, &c->before);
    c->signals = c->sweep->showing.ui ? -1 : signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void run_processes(struct sweep *s, size_t from, size_t to) {
    struct children c = {.sweep = s, .jobs = s->jobs};
    signals_take(&c);
    c.child = mem_zalloc(c.jobs, sizeof *c.child);
    c.fds = mem_zalloc(1 + 2 * (size_t)c.jobs, sizeof *c.fds);
    while (c.running > 0 || (from < to && !s->stopped)) {
        while (from < to && !s->stopped && c.running < c.jobs) child_start(&c, from++);
        s->line.running = c.running;
        shares_show(&c);
        sweep_line_tick(s);
        children_wait(&c);
    }
    wish_serve(&c); /* what came after the last point */
    if (c.signals >= 0) close(c.signals);
    (void)sigprocmask(SIG_SETMASK, &c.before, NULL);
    free(c.child);
    free(c.fds);
}

/* ---- one after another ---- */

static void on_interval(void *ctx, const struct snapshot *snap) {
    struct sweep *s = ctx;
    const struct scenario *sc = &s->base.scenario;
    s->line.share =
        snap->interval.t_s * 1e9 / (double)(sc->run.warmup_ns + sc->run.duration_ns + sc->run.interval_ns);
    if (s->line.share > 1) s->line.share = 1;
    sweep_line_tick(s);
}

static void on_prepare(void *ctx, const char *what, double share) {
    (void)what;
    (void)share;
    sweep_line_tick(ctx);
}

static void run_here(struct sweep *s, size_t point) {
    struct run_record run;
    run_record_init(&run);
    err_clear(&s->failed);
    int rc = sweep_point_run(s, point, s->session, false, &run, &s->failed);
    if (rc == -KVF_ERR_CANCELLED) {
        s->point[point].state = OUTCOME_WAITS;
    } else {
        if (rc != 0) run.status = RUN_FAILED;
        if (rc != 0) snprintf(run.status_reason, sizeof run.status_reason, "%.699s", s->failed.text);
        sweep_point_take(s, point, &run);
        if (s->study && s->study->took) s->study->took(s, point, &run);
    }
    run_record_free(&run);
}

static void run_one_by_one(struct sweep *s, size_t from, size_t to) {
    for (size_t i = from; i < to && !s->stopped; i++) {
        if (s->point[i].state == OUTCOME_FAILED) continue; /* refused beforehand */
        s->point[i].state = OUTCOME_RUNS;
        s->line.running = 1;
        s->line.share = 0;
        sweep_show_point(s, i);
        sweep_line_tick(s);
        run_here(s, i);
        s->line.running = 0;
        s->line.share = 0;
        sweep_show_point(s, i);
        sweep_line_point(s, i);
        s->stopped = s->stopped || session_stopped(s->session);
    }
}

/* Whether each point is a process of its own. */
static bool by_processes(const struct sweep *s) {
    return s->base.scenario.mode == KVF_MODE_SIMULATE ||
           s->base.scenario.sweep.profile == KVF_SWEEP_MISS_RATIO;
}

int sweep_run_begin(struct sweep *s, struct err *e) {
    struct session_setup setup = {.db = s->db,
                                  .headless = true,
                                  .keep_going = s->keep_going,
                                  .quiet = true,
                                  .look = {.fd = STDOUT_FILENO, .at_s = KVF_MISSING},
                                  .showing = &s->showing,
                                  .on_prepare = on_prepare,
                                  .on_interval = on_interval,
                                  .ctx = s};
    if (s->study && s->study->prepares) setup.on_prepare = s->study->prepares;
    if (s->study && s->study->interval) setup.on_interval = s->study->interval;
    if (by_processes(s)) {
        if (s->showing.headless || isatty(STDOUT_FILENO) != 1) return 0;
        s->commands = command_queue_new();
        int rc = signals_start(s->commands, NULL, e);
        if (rc == 0) showing_open(&s->showing, s->commands);
        return rc;
    }
    s->session = session_new(&setup);
    return session_show(s->session, e);
}

void sweep_run_end(struct sweep *s) {
    int signal = s->session ? session_end(s->session) : s->commands ? signals_stop() : 0;
    if (!s->signal) s->signal = signal;
    command_queue_free(s->commands);
    s->commands = NULL;
}

void sweep_run(struct sweep *s, size_t from, size_t to) {
    sweep_show_points(s);
    if (by_processes(s))
        run_processes(s, from, to);
    else
        run_one_by_one(s, from, to);
}
