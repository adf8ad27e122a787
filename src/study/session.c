#include "study/session.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/build.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/units.h"
#include "engine/engine.h"
#include "probe/host.h"
#include "scenario/budget.h"
#include "scenario/load.h"
#include "store/store.h"
#include "study/environment.h"
#include "study/live.h"
#include "study/machine.h"
#include "study/output.h"
#include "study/progress.h"
#include "study/setup.h"
#include "study/signals.h"
#include "study/submission.h"
#include "tier/tier.h"

enum { STORE_PATIENCE_S = 10 };
#define SIMULATED_WAKE_NS (50 * KVF_NS_PER_MS)

struct session {
    struct session_setup setup;
    struct command_queue *commands;
    struct slot *slot;
    bool signals;      /* they are ours */
    bool screen_shown; /* by one of the runs: the terminal may take nothing any more */
    bool stopped;
    bool unstored;       /* the end of a run is not in the database */
    char db[4096];       /* "" when nothing is stored */
    struct store *store; /* one for all runs */

    /* of the run under way */
    const struct session_run *what;
    struct run_record *run;
    struct progress progress;
    struct fifo *fifo;
    struct store_writer *writer;
    struct live *live;     /* NULL: headless */
    uint64_t done;         /* requests so far */
    uint64_t woken_ns;     /* real time of the screen's last interval */
    struct ui *_Atomic ui; /* the database's writer looks at it too */
    char trouble[400];     /* the database's, once; the writer's thread until it has been joined */
};

struct session *session_new(const struct session_setup *setup) {
    struct session *s = mem_zalloc(1, sizeof *s);
    s->setup = *setup;
    s->commands = command_queue_new();
    s->slot = setup->slot ? setup->slot : slot_new();
    return s;
}

void session_free(struct session *s) {
    if (!s) return;
    (void)session_end(s);
    store_close(s->store);
    if (!s->setup.slot) slot_free(s->slot);
    command_queue_free(s->commands);
    free(s);
}

const struct session_setup *session_given(const struct session *s) {
    return &s->setup;
}

bool session_unstored(const struct session *s) {
    return s->unstored;
}

/* Paths first, then what earlier runs left behind, which may be what makes room, then the sums. */
int session_check(struct scenario *scenario, bool force, struct fit *fit, struct err *e) {
    struct budget_machine machine;
    struct budget budget;
    if (scenario->tier[KVF_TIER_NVME].on && scenario->mode == KVF_MODE_REAL) {
        int rc = tier_nvme_check_paths(scenario, e);
        if (rc != 0) return rc;
        tier_nvme_clean_leftovers(scenario);
    }
    int there = tier_remote_check(scenario, e);
    if (there != 0) return there;
    machine_measure(scenario, &machine);
    if (fit) fit_apply(fit, scenario, &machine);
    int rc = budget_resolve(scenario, &machine, force, &budget, e);
    return rc == 0 ? engine_check(scenario, e) : rc;
}

/* ---- the record and the database ---- */

static void run_describe(const struct session_run *what, struct run_record *r) {
    const struct scenario *sc = what->scenario, placed = setup_placed(sc);
    struct buf json = {0};
    struct host host;
    host_probe(&host);
    snprintf(r->name, sizeof r->name, "%s", sc->name);
    scenario_describe(sc, r->description, sizeof r->description);
    snprintf(r->mode, sizeof r->mode, "%s", sc->mode == KVF_MODE_REAL ? "real" : "simulate");
    snprintf(r->model, sizeof r->model, "%s", sc->model.preset);
    snprintf(r->host, sizeof r->host, "%s", host.name);
    snprintf(r->boot_id, sizeof r->boot_id, "%s", host.boot_id);
    snprintf(r->version, sizeof r->version, "%s", build_version());
    r->parent_id = what->parent_id;
    r->trial = what->trial;
    r->trials = what->trial ? (uint32_t)sc->run.trials : 0;
    r->sweep_id = what->sweep_id;
    r->sweep_point = what->sweep_point;
    r->sweep_values = what->sweep_values ? mem_strdup(what->sweep_values) : NULL;
    r->seed = sc->seed;
    r->pid = getpid();
    r->started_at = (double)clock_wall_ns() / 1e9;
    r->scenario_yaml = mem_strdup(what->yaml);
    scenario_emit_json(&placed, &json);
    r->effective_json = mem_strdup(buf_text(&json));
    buf_free(&json);
    r->environment = environment_json(sc);
    engine_describe(&placed, r);
    submission_judge(sc, r->not_comparable, sizeof r->not_comparable);
}

static void store_trouble(void *ctx, const char *sentence) {
    struct session *s = ctx;
    struct record_event ev = {.t_s = KVF_MISSING, .level = "warning"};
    snprintf(s->trouble, sizeof s->trouble, "%s", sentence);
    snprintf(ev.message, sizeof ev.message, "%s", sentence);
    if (s->ui) {
        live_event(s->live, &ev);
        ui_wake(s->ui);
    }
    log_line(KVF_LOG_WARNING, "%s", sentence);
}

static int store_open_once(struct session *s, struct err *e) {
    if (s->store) return 0;
    int rc = store_path(s->setup.db, s->db, sizeof s->db, e);
    if (rc == 0) rc = store_open(&s->store, s->db, STORE_WRITE, e);
    if (rc == 0 && store_notice(s->store)[0]) log_line(KVF_LOG_WARNING, "%s", store_notice(s->store));
    return rc;
}

static int store_begin(struct session *s, struct err *e) {
    if (s->setup.db && strcmp(s->setup.db, "none") == 0) return 0;
    int rc = store_open_once(s, e);
    if (rc == 0) rc = store_begin_run(s->store, s->run, e);
    if (rc != 0) return rc;
    bool simulate = s->what->scenario->mode == KVF_MODE_SIMULATE;
    s->fifo = fifo_new(FIFO_INTERVALS, simulate);
    struct store_writer_setup setup = {.store = s->store,
                                       .fifo = s->fifo,
                                       .run_id = s->run->run_id,
                                       .lazy = simulate,
                                       .trouble = store_trouble,
                                       .ctx = s};
    return store_writer_start(&s->writer, &setup, e);
}

static void event_add(struct session *s, const char *sentence) {
    struct record_event ev = {.t_s = KVF_MISSING, .level = "warning"};
    snprintf(ev.message, sizeof ev.message, "%.799s", sentence);
    run_record_event(s->run, &ev);
}

/* A run whose results are nowhere has not completed, and must not look as if it went on. */
static void store_without_room(struct session *s, const struct err *e) {
    struct run_record *r = s->run;
    struct err again = {0};
    char text[sizeof e->text + 60];
    bool told = s->trouble[0] != '\0'; /* the cause, while the run went on */
    s->unstored = true;
    snprintf(text, sizeof text, "the results are not in the database%s%s", told ? "" : ": ",
             told ? "" : e->text);
    event_add(s, text);
    if (r->status == RUN_FAILED)
        log_line(KVF_LOG_WARNING, "%s", text);
    else
        snprintf(r->status_reason, sizeof r->status_reason, "%.699s", text);
    r->status = RUN_FAILED;
    if (store_end_run(s->store, r, &again) != 0)
        log_line(KVF_LOG_WARNING,
                 "run %" PRId64 " stays marked as running until kvfall next writes to the database",
                 r->run_id);
}

/* After the engine: what is left in the FIFO, then the end of the run. */
static void store_end(struct session *s) {
    struct err e = {0};
    char lost_text[120];
    size_t events_before = s->fifo ? s->run->event_count : 0;
    if (!s->store) return;
    if (s->fifo) fifo_close(s->fifo);
    uint64_t lost = s->writer ? store_writer_stop(s->writer, STORE_PATIENCE_S * KVF_NS_PER_S, NULL) : 0;
    s->writer = NULL;
    if (s->trouble[0]) event_add(s, s->trouble);
    if (lost) {
        snprintf(lost_text, sizeof lost_text,
                 "%" PRIu64 " intervals and events could not be stored in the database", lost);
        event_add(s, lost_text);
        s->unstored = true;
        log_line(KVF_LOG_WARNING, "%s", lost_text);
    }
    if (store_finish_run(s->store, s->run, events_before, &e) != 0) store_without_room(s, &e);
}

/* ---- the screen ---- */

/* How much of the run is done: by its time, or by its requests where those end it. */
static double run_share(const struct session *s, const struct snapshot *snap) {
    const struct scenario *sc = s->what->scenario;
    double whole_s = (double)(sc->run.warmup_ns + sc->run.duration_ns) / (double)KVF_NS_PER_S;
    double by_time = whole_s > 0 ? snap->interval.t_s / whole_s : 0;
    double by_count = sc->run.max_requests > 0 ? (double)s->done / (double)sc->run.max_requests : 0;
    return by_time > by_count ? by_time : by_count;
}

static void told_prepare(void *ctx, const char *what, double share) {
    struct session *s = ctx;
    char doing[120];
    snprintf(doing, sizeof doing, "%.90s, %.0f %%", what, share * 100);
    if (s->setup.showing) board_share(s->setup.showing->board, s->what->row, 0, doing);
    if (s->ui) {
        live_prepare(s->live, what, share);
        ui_wake(s->ui);
    } else if (s->setup.on_prepare) {
        s->setup.on_prepare(s->setup.ctx, what, share);
    } else {
        progress_prepare(&s->progress, what, share);
    }
}

static void told_interval(void *ctx, const struct snapshot *snap) {
    struct session *s = ctx;
    uint64_t now_ns = clock_now_ns();
    s->done += snap->interval.done;
    /* thousands a second come from a simulation, and nobody sees more than a few */
    bool seen = !snap->simulated || now_ns - s->woken_ns >= SIMULATED_WAKE_NS;
    if (seen) s->woken_ns = now_ns;
    if (seen && s->setup.showing) board_share(s->setup.showing->board, s->what->row, run_share(s, snap), "");
    if (s->ui) {
        live_prepare(s->live, "", 1); /* done: there are intervals */
        if (seen) ui_wake(s->ui);     /* it is in the slot */
    } else if (s->setup.on_interval) {
        s->setup.on_interval(s->setup.ctx, snap);
    } else {
        progress_interval(&s->progress, snap);
    }
}

static void screen_event(void *ctx, const struct record_event *e) {
    struct session *s = ctx;
    live_event(s->live, e);
    ui_wake(s->ui);
}

/* The run can be looked at from the study's screen. */
static void study_open(struct session *s) {
    struct ui *ui = s->setup.showing->ui;
    if (!ui) return;
    s->live = live_new(s->what->scenario, s->run, s->slot, s->db[0] ? s->db : NULL);
    ui_run_begins(ui, s->what->row, live_provider(s->live), s->commands);
    s->ui = ui;
}

/* Standard output is a terminal that can show it, and nobody asked for less. What does not work is said
 * in a sentence and the runs go on without. */
static void screen_open(struct session *s) {
    struct err e = {0};
    if (s->setup.showing) {
        study_open(s);
        return;
    }
    if (s->setup.headless || isatty(STDOUT_FILENO) != 1) return;
    if (ui_check(STDOUT_FILENO, &e) == 0) {
        struct ui_setup setup = s->setup.look;
        setup.commands = s->commands;
        s->live = live_new(s->what->scenario, s->run, s->slot, s->db[0] ? s->db : NULL);
        setup.provider = live_provider(s->live);
        struct ui *ui;
        if (ui_open(&ui, &setup, &e) == 0) {
            s->ui = ui;
            s->screen_shown = true;
            log_hold(true);
            signals_screen(s->ui);
            if (signals_asked()) ui_hurry(s->ui); /* came before there was a screen to tell */
            return;
        }
        live_free(s->live);
        s->live = NULL;
    }
    s->setup.headless = true;
    log_line(KVF_LOG_INFO, "%s; running headless", e.text);
}

/* The verdict stays until somebody has seen it, unless there is more to see; a run that never ran has
 * none. */
static void screen_close(struct session *s, bool ran) {
    if (!s->ui) return;
    if (s->setup.showing) {
        ui_run_ends(s->ui, live_provider(s->live));
        s->ui = NULL;
        live_free(s->live);
        s->live = NULL;
        return;
    }
    if (ran) {
        if (!s->what->last && s->run->status != RUN_INTERRUPTED) ui_hurry(s->ui);
        live_ended(s->live);
        ui_wake(s->ui);
        ui_wait(s->ui);
    }
    signals_screen(NULL);
    ui_close(s->ui);
    s->ui = NULL;
    live_free(s->live);
    s->live = NULL;
}

/* ---- one run ---- */

static int engine_carry_out(struct session *s, struct err *e) {
    struct session_setup *own = &s->setup;
    bool callers = own->on_prepare || own->on_interval;
    s->done = 0;
    struct engine_setup setup = {.scenario = s->what->scenario,
                                 .run = s->run,
                                 .slot = s->slot,
                                 .totals = own->metrics ? metrics_server_totals(own->metrics) : NULL,
                                 .windows = s->live ? live_windows(s->live) : own->windows,
                                 .fifo = s->fifo,
                                 .commands = s->commands,
                                 .io_trace_path = s->what->io_trace,
                                 .request_log_path = s->what->request_log,
                                 .verify_dump = s->what->verify_dump,
                                 .keep_going = own->keep_going,
                                 .start_at_ns = own->start_at_ns,
                                 .rank = own->rank};
    setup.on_prepare = told_prepare;
    setup.on_interval = told_interval;
    setup.on_event = s->ui ? screen_event : NULL;
    setup.ctx = s;
    run_record_logs_to(s->run, s->what->request_log);
    int rc = engine_run(&setup, e);
    if (!s->ui && !callers) progress_end(&s->progress);
    if (own->rank && rc != 0) rank_send_all(own->rank, RANK_ENDED, RUN_FAILED, e->text, strlen(e->text));
    if (own->rank) rank_next_run(own->rank);
    s->run->ended_at = (double)clock_wall_ns() / 1e9;
    if (rc != 0) {
        s->run->status = RUN_FAILED;
        snprintf(s->run->status_reason, sizeof s->run->status_reason, "%.699s", e->text);
    }
    return rc;
}

static int take_signals(struct session *s, struct err *e) {
    int rc = signals_start(s->commands, s->slot, e);
    s->signals = rc == 0;
    return rc;
}

int session_show(struct session *s, struct err *e) {
    int rc = s->signals ? 0 : take_signals(s, e);
    if (rc == 0) showing_open(s->setup.showing, s->commands);
    return rc;
}

/* The first run takes over the signals. What was asked of a run before is none of the next one's
 * business, but for the wish that there be none. */
static int run_may_begin(struct session *s, struct err *e) {
    struct command c;
    if (!s->signals) return take_signals(s, e);
    while (command_take(s->commands, &c)) {}
    if (!session_stopped(s)) return 0;
    s->run->status = RUN_INTERRUPTED;
    return err_set(e, KVF_ERR_CANCELLED, "stopped before %s began", s->run->name);
}

/* An event of the session's own, to all who take events. */
static void run_note(struct session *s, const struct record_event *ev) {
    run_record_event(s->run, ev);
    if (s->ui) live_event(s->live, ev);
    if (!s->fifo) return;
    struct record *r = record_new(RECORD_EVENT);
    r->event = *ev;
    fifo_put(s->fifo, r);
}

/* Scaling is reported before anything else happens. */
static void run_note_fit(struct session *s) {
    const struct fit *fit = s->what->fit;
    for (unsigned i = 0; fit && i < fit->lines; i++) {
        struct record_event ev = {.t_s = KVF_MISSING};
        snprintf(ev.level, sizeof ev.level, "%s", fit->line[i].scaled ? "warning" : "info");
        snprintf(ev.message, sizeof ev.message, "%s: %s", s->what->fit_by ? s->what->fit_by : "--fit",
                 fit->line[i].text);
        if (fit->line[i].value) record_event_kind(&ev, fit->line[i].kind, fit->line[i].value);
        run_note(s, &ev);
    }
}

static void run_note_metrics(struct session *s) {
    struct metrics_server *m = s->setup.metrics;
    struct record_event ev = {.t_s = KVF_MISSING, .level = "info"};
    if (!m) return;
    bool open = metrics_server_public(m);
    if (open) snprintf(ev.level, sizeof ev.level, "warning");
    snprintf(ev.message, sizeof ev.message, "metrics are served at %s%s", metrics_server_url(m),
             open ? ", to everybody who can reach this machine" : "");
    run_note(s, &ev);
}

static int run_carry_out(struct session *s, struct err *e) {
    screen_open(s);
    run_note_fit(s);
    run_note_metrics(s);
    int rc = engine_carry_out(s, e);
    if (s->run->status == RUN_INTERRUPTED || signals_asked()) s->stopped = true;
    if (s->ui) {
        live_storing(s->live);
        ui_wake(s->ui);
    }
    store_end(s);
    if (s->setup.metrics) metrics_server_end(s->setup.metrics, s->run);
    screen_close(s, rc == 0);
    return rc;
}

/* Its row is there, and nothing more could be started. */
static void run_give_up(struct session *s, const struct err *e) {
    s->run->status = RUN_FAILED;
    snprintf(s->run->status_reason, sizeof s->run->status_reason, "%.699s", e->text);
    s->run->ended_at = (double)clock_wall_ns() / 1e9;
    store_end(s);
}

static int run_one(struct session *s, const struct session_run *what, struct run_record *run, struct err *e) {
    run_record_init(run);
    run_describe(what, run);
    s->what = what;
    s->run = run;
    s->trouble[0] = '\0';
    progress_init(&s->progress, what->scenario, s->setup.quiet);
    s->progress.trial = run->trial;
    s->progress.trials = run->trials;
    if (run->not_comparable[0] && what->trial <= 1)
        log_line(KVF_LOG_WARNING, "the submission is not comparable: %s", run->not_comparable);
    int rc = run_may_begin(s, e);
    if (rc == 0) rc = store_begin(s, e);
    if (rc == 0 && s->setup.metrics) rc = metrics_server_begin(s->setup.metrics, s->slot, run, e);
    if (rc == 0)
        rc = run_carry_out(s, e);
    else if (run->run_id > 0)
        run_give_up(s, e);
    fifo_free(s->fifo);
    s->fifo = NULL;
    s->what = NULL;
    s->run = NULL;
    return rc;
}

/* A trial of a simulation would be the same again: each has the next seed, also when it is run by itself. */
int session_run(struct session *s, const struct session_run *what, struct run_record *run, struct err *e) {
    if (what->trial < 2 || what->scenario->mode != KVF_MODE_SIMULATE) return run_one(s, what, run, e);
    struct session_run other = *what;
    struct scenario *own = mem_alloc(sizeof *own); /* what it points at stays the caller's */
    *own = *what->scenario;
    own->seed = (own->seed + what->trial - 1) & INT64_MAX;
    other.scenario = own;
    int rc = run_one(s, &other, run, e);
    free(own);
    return rc;
}

char *session_numbered_file(const char *path, const char *of, unsigned number) {
    struct stat st;
    if (!path) return NULL;
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
        return mem_strdup(path); /* a pipe or device takes all */
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const char *dot = *name ? strchr(name + 1, '.') : NULL; /* that of a hidden file begins its name */
    size_t stem = dot ? (size_t)(dot - path) : strlen(path);
    struct buf out = {0};
    buf_addf(&out, "%.*s-%s%u%s", (int)stem, path, of, number, path + stem);
    return out.data;
}

bool session_stopped(const struct session *s) {
    const struct showing *showing = s->setup.showing;
    return s->stopped || (s->signals && signals_asked() != 0) ||
           (showing && showing->board && board_stop_asked(showing->board));
}

int session_end(struct session *s) {
    metrics_server_close(s->setup.metrics);
    s->setup.metrics = NULL;
    if (!s->signals) return 0;
    s->signals = false;
    return signals_stop();
}

void session_release(struct session *s, int status) {
    if (!s->screen_shown) return;
    s->screen_shown = false;
    output_bound(status);
    log_hold(false);
}
