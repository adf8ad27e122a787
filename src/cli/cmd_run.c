#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/units.h"
#include "cli/build.h"
#include "cli/commands.h"
#include "cli/environment.h"
#include "cli/live.h"
#include "cli/load.h"
#include "cli/machine.h"
#include "cli/options.h"
#include "cli/output_file.h"
#include "cli/progress.h"
#include "cli/signals.h"
#include "engine/engine.h"
#include "probe/host.h"
#include "scenario/budget.h"
#include "store/store.h"
#include "tier/tier.h"
#include "ui/ui.h"

enum { STORE_PATIENCE_S = 10 };

/* Everything a run needs around the engine. */
struct session {
    struct run_options options;
    struct scenario scenario;
    struct run_record run;
    struct progress progress;
    struct command_queue *commands;
    struct fifo *fifo;
    struct slot *slot;
    struct store *store;
    struct store_writer *writer;
    char db[4096];         /* "" when nothing is stored */
    struct live *live;     /* NULL: headless */
    struct ui *_Atomic ui; /* the database's writer looks at it too */
    struct ui_setup look;  /* how the screen is to look, and where it is */
    char trouble[400];     /* the database's, once; the writer's thread until it has been joined */
    int signal;
};

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

/* A run whose results could not be written would be for nothing. */
static int session_outputs(const struct session *s, struct err *e) {
    const struct run_options *o = &s->options;
    const char *files[] = {o->json && strcmp(o->json, "-") != 0 ? o->json : NULL, o->io_trace,
                           o->request_log};
    enum { FILES = sizeof files / sizeof files[0] };
    int rc = 0;
    for (int i = 0; i < FILES && rc == 0; i++) {
        if (!files[i]) continue;
        for (int k = 0; k < i; k++)
            if (files[k] && strcmp(files[i], files[k]) == 0)
                return err_set(e, KVF_ERR_USAGE, "two outputs are to go to %s; name a file for each",
                               files[i]);
        if (o->scenario && strcmp(files[i], o->scenario) == 0)
            return err_set(e, KVF_ERR_USAGE, "the scenario %s would be overwritten; name another file",
                           files[i]);
        rc = output_file_check(files[i], e);
    }
    return rc;
}

/* Paths first, then what earlier runs left behind, which may be what makes room, then the sums. */
static int session_budget(struct session *s, struct err *e) {
    struct budget_machine machine;
    struct budget budget;
    if (s->scenario.nvme.on) {
        int rc = tier_nvme_check_paths(&s->scenario, e);
        if (rc != 0) return rc;
        tier_nvme_clean_leftovers(&s->scenario);
    }
    machine_measure(&s->scenario, &machine);
    return budget_resolve(&s->scenario, &machine, s->options.force, &budget, e);
}

static void session_describe(struct session *s, char *yaml) {
    const struct scenario *sc = &s->scenario;
    struct run_record *r = &s->run;
    struct buf json = {0};
    struct host host;
    host_probe(&host);
    snprintf(r->name, sizeof r->name, "%s", sc->name);
    snprintf(r->description, sizeof r->description, "%s", sc->description);
    snprintf(r->mode, sizeof r->mode, "%s", sc->mode == KVF_MODE_REAL ? "real" : "simulate");
    snprintf(r->model, sizeof r->model, "%s", sc->model.preset);
    snprintf(r->host, sizeof r->host, "%s", host.name);
    snprintf(r->boot_id, sizeof r->boot_id, "%s", host.boot_id);
    snprintf(r->version, sizeof r->version, "%s", build_version());
    r->seed = sc->seed;
    r->pid = getpid();
    r->started_at = (double)clock_wall_ns() / 1e9;
    r->ended_at = KVF_MISSING;
    r->scenario_yaml = yaml;
    scenario_emit_json(sc, &json);
    r->effective_json = mem_strdup(buf_text(&json));
    buf_free(&json);
    r->environment = environment_json(sc);
    engine_describe(sc, r);
}

static int session_store(struct session *s, struct err *e) {
    if (s->options.db && strcmp(s->options.db, "none") == 0) return 0;
    int rc = store_path(s->options.db, s->db, sizeof s->db, e);
    if (rc == 0) rc = store_open(&s->store, s->db, STORE_WRITE, e);
    if (rc == 0) rc = store_begin_run(s->store, &s->run, e);
    if (rc != 0) return rc;
    if (store_notice(s->store)[0]) log_line(KVF_LOG_WARNING, "%s", store_notice(s->store));
    s->fifo = fifo_new(FIFO_INTERVALS, false);
    struct store_writer_setup setup = {
        .store = s->store, .fifo = s->fifo, .run_id = s->run.run_id, .trouble = store_trouble, .ctx = s};
    return store_writer_start(&s->writer, &setup, e);
}

static void session_event(struct session *s, const char *sentence) {
    struct record_event ev = {.t_s = KVF_MISSING, .level = "warning"};
    snprintf(ev.message, sizeof ev.message, "%.399s", sentence);
    run_record_event(&s->run, &ev);
}

/* After the engine: what is left in the FIFO, then the end of the run. The outcome of the run does
 * not depend on the database taking it. */
static void session_store_end(struct session *s, size_t events_before) {
    struct err e = {0};
    char lost_text[120];
    if (!s->store) return;
    if (s->fifo) fifo_close(s->fifo);
    uint64_t lost = s->writer ? store_writer_stop(s->writer, STORE_PATIENCE_S * KVF_NS_PER_S, NULL) : 0;
    if (s->trouble[0]) session_event(s, s->trouble);
    if (lost) {
        snprintf(lost_text, sizeof lost_text, "%llu intervals and events could not be stored in the database",
                 (unsigned long long)lost);
        session_event(s, lost_text);
        log_line(KVF_LOG_WARNING, "%s", lost_text);
    }
    if (store_finish_run(s->store, &s->run, events_before, &e) != 0) {
        char text[sizeof e.text + 60];
        snprintf(text, sizeof text, "the end of the run is not in the database: %s", e.text);
        session_event(s, text);
        log_line(KVF_LOG_WARNING, "%s", text);
    }
}

static int exit_status(const struct session *s) {
    if (s->run.status == RUN_FAILED) return 1;
    if (s->signal && s->run.status == RUN_INTERRUPTED) return 128 + s->signal; /* else it came too late */
    bool missed = false;
    for (size_t i = 0; i < s->run.criterion_count; i++) missed = missed || s->run.criteria[i].passed != 1;
    return missed && s->options.check_assessment ? 3 : 0;
}

/* What was held back is said now, to a terminal that gets ten seconds to take it. */
static void screen_left(int status) {
    cli_bound_output(status);
    log_hold(false);
}

/* After a screen the terminal may take nothing any more; files are written in full before that counts. */
static int session_report(struct session *s, bool screen) {
    struct buf text = {0};
    struct err e = {0};
    int status = exit_status(s);
    bool json_alone = s->options.json && strcmp(s->options.json, "-") == 0;
    if (s->options.json) report_json(&s->run, &text);
    if (s->options.json && !json_alone) {
        if (output_file_write(s->options.json, &text, &e) != 0 && status == 0)
            status = err_exit_status(e.code);
        buf_free(&text);
    }
    if (screen) screen_left(status);
    if (err_is(&e)) cli_fail(&e);
    if (!json_alone) {
        struct report_style style = cli_style(&s->options.given);
        report_text(&s->run, &style, &text);
    }
    cli_print(&text);
    buf_free(&text);
    return status;
}

/* ---- the screen ---- */

static void screen_prepare(void *ctx, const char *what, double share) {
    struct session *s = ctx;
    live_prepare(s->live, what, share);
    ui_wake(s->ui);
}

static void screen_interval(void *ctx, const struct snapshot *snap) {
    struct session *s = ctx;
    (void)snap;                   /* it is in the slot */
    live_prepare(s->live, "", 1); /* done: there are intervals */
    ui_wake(s->ui);
}

static void screen_event(void *ctx, const struct record_event *e) {
    struct session *s = ctx;
    live_event(s->live, e);
    ui_wake(s->ui);
}

/* Standard output is a terminal that can show it, and nobody asked for less. What does not work is said
 * in a sentence and the run goes on without. */
static void screen_open(struct session *s) {
    struct err e = {0};
    if (s->options.headless || isatty(STDOUT_FILENO) != 1) return;
    if (ui_check(STDOUT_FILENO, &e) == 0) {
        struct ui_setup setup = s->look;
        setup.commands = s->commands;
        s->live = live_new(&s->scenario, &s->run, s->slot, s->db[0] ? s->db : NULL);
        setup.provider = live_provider(s->live);
        struct ui *ui;
        if (ui_open(&ui, &setup, &e) == 0) {
            s->ui = ui;
            log_hold(true);
            signals_screen(s->ui);
            if (signals_asked()) ui_hurry(s->ui); /* came before there was a screen to tell */
            return;
        }
        live_free(s->live);
        s->live = NULL;
    }
    log_line(KVF_LOG_INFO, "%s; running headless", e.text);
}

/* The verdict stays until somebody has seen it; a run that never ran has none. Whether there was a
 * screen. */
static bool screen_close(struct session *s, bool ran) {
    if (!s->ui) return false;
    if (ran) {
        live_ended(s->live);
        ui_wake(s->ui);
        ui_wait(s->ui);
    }
    signals_screen(NULL);
    ui_close(s->ui);
    s->ui = NULL;
    return true;
}

static int session_run(struct session *s, struct err *e) {
    struct engine_setup setup = {.scenario = &s->scenario,
                                 .run = &s->run,
                                 .slot = s->slot,
                                 .fifo = s->fifo,
                                 .commands = s->commands,
                                 .io_trace_path = s->options.io_trace,
                                 .request_log_path = s->options.request_log,
                                 .keep_going = s->options.keep_going,
                                 .on_prepare = s->ui ? screen_prepare : progress_prepare,
                                 .on_interval = s->ui ? screen_interval : progress_interval,
                                 .on_event = s->ui ? screen_event : NULL,
                                 .ctx = s->ui ? (void *)s : (void *)&s->progress};
    int rc = engine_run(&setup, e);
    if (!s->ui) progress_end(&s->progress);
    s->run.ended_at = (double)clock_wall_ns() / 1e9;
    if (rc != 0) {
        s->run.status = RUN_FAILED;
        snprintf(s->run.status_reason, sizeof s->run.status_reason, "%.299s", e->text);
    }
    return rc;
}

static void session_close(struct session *s) {
    store_close(s->store);
    live_free(s->live);
    fifo_free(s->fifo);
    slot_free(s->slot);
    command_queue_free(s->commands);
    run_record_free(&s->run);
    run_options_free(&s->options);
}

static int session_main(struct session *s) {
    struct err e = {0};
    struct scenario_report report;
    char *yaml = NULL;
    int status = cli_load_scenario(s->options.scenario, &s->options.given, &s->scenario, &yaml, &report);
    scenario_report_free(&report);
    if (status != 0) return status;
    s->look = (struct ui_setup){.fd = STDOUT_FILENO, .at_s = KVF_MISSING};
    if (cli_screen_style(&s->options.given, &s->look, &e) != 0 || session_outputs(s, &e) != 0 ||
        session_budget(s, &e) != 0 || engine_check(&s->scenario, &e) != 0) {
        free(yaml);
        /* refused before anything was made: the scenario asks for what is not to be had */
        cli_fail(&e);
        return 2;
    }
    session_describe(s, yaml);
    s->commands = command_queue_new();
    s->slot = slot_new();
    progress_init(&s->progress, &s->scenario, s->options.quiet);
    if (signals_start(s->commands, s->slot, &e) != 0) return cli_fail(&e);
    if (session_store(s, &e) != 0) {
        signals_stop();
        return cli_fail(&e);
    }
    screen_open(s);
    int rc = session_run(s, &e);
    if (s->ui) {
        live_storing(s->live);
        ui_wake(s->ui);
    }
    session_store_end(s, s->fifo ? s->run.event_count : 0);
    bool screen = screen_close(s, rc == 0);
    s->signal = signals_stop();
    if (rc != 0) {
        if (screen) screen_left(err_exit_status(e.code));
        return cli_fail(&e);
    }
    status = session_report(s, screen);
    if (s->run.status == RUN_FAILED) fprintf(stderr, "kvfall: the run failed: %s\n", s->run.status_reason);
    return status;
}

int cmd_run(int argc, char **argv) {
    struct session *s = mem_zalloc(1, sizeof *s);
    struct err e = {0};
    int status;
    run_record_init(&s->run);
    if (run_options_parse(argc, argv, &s->options, &e) != 0)
        status = cli_fail(&e);
    else
        status = session_main(s);
    session_close(s);
    free(s);
    return status;
}
