#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/log.h"
#include "base/output_file.h"
#include "cli/commands.h"
#include "export/run_json.h"
#include "page/run_doc.h"
#include "study/metrics_server.h"
#include "study/options.h"
#include "study/output.h"
#include "study/preferences.h"
#include "study/ranks/ranks.h"
#include "study/session.h"
#include "study/setup.h"
#include "study/showing.h"
#include "study/signals.h"
#include "study/sweep/sweep.h"

/* The command line and the result. */
struct command_run {
    struct preferences preferences;
    struct run_options options;
    struct scenario scenario;
    char *yaml;
    struct fit fit;
    struct session *session;
    struct rank *rank;      /* NULL: alone */
    struct showing showing; /* of trials */
    struct run_record run;  /* of trials the last one */
    struct trials trials;   /* empty without */
    int signal;
};

/* A run whose results could not be written would be for nothing. */
static int check_outputs(const struct run_options *o, struct err *e) {
    const char *files[] = {o->json && strcmp(o->json, "-") != 0 ? o->json : NULL, o->io_trace,
                           o->request_log};
    enum { FILES = sizeof files / sizeof files[0] };
    int rc = 0;
    for (int i = 0; i < FILES && rc == 0; i++) {
        if (!files[i]) continue;
        for (int k = 0; k < i; k++)
            if (files[k] && strcmp(files[i], files[k]) == 0)
                return err_set(e, KVF_ERR_USAGE, "two outputs would go to %s; name a file for each",
                               files[i]);
        if (o->scenario && strcmp(files[i], o->scenario) == 0)
            return err_set(e, KVF_ERR_USAGE, "the scenario %s would be overwritten; name another file",
                           files[i]);
        rc = output_file_check(files[i], options_has(&o->given, "overwrite"), e);
    }
    return rc;
}

static int check_dump(const struct run_options *o, const struct scenario *s, struct err *e) {
    struct stat st;
    const char *dir = o->verify_dump;
    if (!dir) return 0;
    if (s->cache.verify == KVF_VERIFY_NONE)
        return err_set(
            e, KVF_ERR_USAGE,
            "--verify-dump keeps blocks that verification finds, and cache.verify is none; set it to "
            "header or full");
    if (stat(dir, &st) != 0)
        return err_set_errno(e, KVF_ERR_USAGE, errno, "--verify-dump: %s cannot be used", dir);
    if (!S_ISDIR(st.st_mode))
        return err_set(e, KVF_ERR_USAGE, "--verify-dump: %s is not a directory; name one", dir);
    struct buf trial = {0};
    buf_addf(&trial, "%s/kvfall-XXXXXX", dir);
    int fd = mkostemp(trial.data, O_CLOEXEC);
    if (fd < 0) err_set_errno(e, KVF_ERR_USAGE, errno, "--verify-dump: %s cannot be written to", dir);
    if (fd >= 0 && unlink(trial.data) != 0)
        err_set_errno(e, KVF_ERR_USAGE, errno, "--verify-dump: %s cannot be removed again", trial.data);
    if (fd >= 0) close(fd);
    buf_free(&trial);
    return err_is(e) ? -KVF_ERR_USAGE : 0;
}

static bool stopped_short(const struct command_run *c) {
    return c->run.status == RUN_INTERRUPTED || c->trials.count < c->trials.asked;
}

static int exit_status(const struct command_run *c) {
    for (size_t i = 0; i < c->trials.count; i++)
        if (c->trials.trial[i].status == RUN_FAILED) return 1;
    if (c->run.status == RUN_FAILED || session_unstored(c->session)) return 1;
    if (c->signal && stopped_short(c)) return 128 + c->signal; /* else it came too late */
    bool missed = c->trials.count > 0 && !trials_passed(&c->trials);
    if (c->trials.count > 0) return missed && c->options.check_assessment ? 3 : 0;
    size_t judged;
    missed = missed || run_criteria_passed(&c->run, &judged) < judged;
    return missed && c->options.check_assessment ? 3 : 0;
}

/* Of a simulated run, which takes no time of anybody, and that came to its end. */
static bool wants_curves(const struct command_run *c) {
    const struct scenario *s = &c->scenario;
    return s->mode == KVF_MODE_SIMULATE && s->sweep.on && s->sweep.profile == KVF_SWEEP_MISS_RATIO &&
           c->run.status == RUN_COMPLETED && !c->signal;
}

/* After a screen the terminal may take nothing any more; files are written in full before that counts. */
static int print_summary(struct command_run *c) {
    struct buf text = {0};
    struct err e = {0};
    int status = exit_status(c);
    const char *json = c->options.json;
    bool json_alone = json && strcmp(json, "-") == 0;
    bool group = c->trials.count > 0;
    if (json) run_json(&c->run, &c->trials, &text);
    if (json && !json_alone) {
        if (output_file_write(json, &text, &e) != 0 && status == 0) status = err_exit_status(e.code);
        buf_free(&text);
    }
    session_release(c->session, status);
    if (err_is(&e)) output_fail(&e);
    if (!json_alone) {
        struct format_style style = output_style(&c->options.given);
        run_summary_text(&c->run, &style, &text);
        if (group) run_trials_text(&c->run, &c->trials, &style, &text);
        if (wants_curves(c)) {
            int curves =
                sweep_curve_after_run(&c->options.given, &c->scenario, c->options.quiet, &style, &text);
            if (status == 0) status = curves;
        }
    }
    (json_alone ? output_print_data : output_print_styled)(&text);
    buf_free(&text);
    if (c->run.status == RUN_FAILED) output_say("kvfall: the run failed: %s\n", c->run.status_reason);
    return status;
}

/* How the trials ended stays on the screen until somebody has seen it. */
static void leave_screen(struct command_run *c) {
    struct statistics st;
    char end[160] = "";
    const struct trial_metric *m = trials_metric(&c->trials, "throughput_tok_s");
    enum run_status how = stopped_short(c) ? RUN_INTERRUPTED : RUN_COMPLETED;
    for (size_t i = 0; i < c->trials.count; i++)
        if (c->trials.trial[i].status == RUN_FAILED) how = RUN_FAILED;
    if (m) {
        trials_statistics(&c->trials, m, &st);
        snprintf(end, sizeof end, "mean %s tok/s of %" PRIu64 " trials", format_tok_s(st.mean).text, st.n);
        if (kvf_present(st.cv))
            snprintf(end + strlen(end), sizeof end - strlen(end), ", coefficient of variation %.1f %%",
                     st.cv * 100);
    }
    c->signal = signals_asked();
    board_end(c->showing.board, how, end);
    showing_close(&c->showing, exit_status(c));
}

/* The last screen may stand for hours: the other ranks need not wait for its end, nor this one listen. */
static int run_scenario(struct command_run *c, struct err *e) {
    struct session_run what = {.scenario = &c->scenario,
                               .yaml = c->yaml,
                               .io_trace = c->options.io_trace,
                               .request_log = c->options.request_log,
                               .verify_dump = c->options.verify_dump,
                               .fit = c->options.fit ? &c->fit : NULL,
                               .last = true};
    int rc = c->showing.board ? session_show(c->session, e) : 0;
    if (rc == 0 && c->scenario.run.trials < 2)
        rc = session_run(c->session, &what, &c->run, e);
    else if (rc == 0)
        rc = sweep_trials(c->session, &what, &c->run, &c->trials, e);
    bool together = c->rank != NULL;
    ranks_leave(c->rank);
    c->rank = NULL;
    if (c->showing.board) leave_screen(c);
    c->signal = session_end(c->session);
    if (together && !c->signal) c->signal = signals_named(c->run.status_reason); /* to another rank */
    return rc;
}

static void say_metrics(const struct metrics_server *m) {
    if (!m) return;
    log_line(KVF_LOG_INFO, "metrics at %s", metrics_server_url(m));
    if (metrics_server_public(m)) log_line(KVF_LOG_WARNING, "anyone on the network can read them");
}

/* Refused before anything is made: the scenario asks for what is not to be had. */
static bool is_refused(struct command_run *c, struct session_setup *setup, struct err *e) {
    const struct run_options *o = &c->options;
    if (output_screen_style(&o->given, &c->preferences, &setup->look, e) == 0 && check_outputs(o, e) == 0 &&
        check_dump(o, &c->scenario, e) == 0 &&
        (c->scenario.run.trials < 2 || showing_prepare(&c->showing, &o->given, o->headless, e) == 0) &&
        (!o->metrics || metrics_server_open(o->metrics, &setup->metrics, e) == 0) &&
        session_check(&c->scenario, o->force, o->fit ? &c->fit : NULL, e) == 0)
        return false;
    metrics_server_close(setup->metrics);
    return true;
}

/* Rank 0 tells and stores what came of it. */
static int command_carry_out(struct command_run *c) {
    const struct run_options *o = &c->options;
    struct session_setup setup = {.db = o->db,
                                  .headless = o->headless,
                                  .keep_going = o->keep_going,
                                  .quiet = o->quiet,
                                  .start_at_ns = o->start_at_ns,
                                  .rank = c->rank,
                                  .look = {.fd = STDOUT_FILENO, .at_s = KVF_MISSING}};
    struct err e = {0};
    if (is_refused(c, &setup, &e)) {
        output_fail(&e);
        ranks_give_up(c->rank, e.text);
        c->rank = NULL;
        return 2;
    }
    setup_say_fit(&c->fit);
    say_metrics(setup.metrics);
    if (c->showing.board) setup.showing = &c->showing;
    c->session = session_new(&setup);
    int rc = run_scenario(c, &e);
    if (c->scenario.ranks.number > 0) return 0;
    if (rc == 0) return print_summary(c);
    session_release(c->session, err_exit_status(e.code));
    return output_fail(&e);
}

static int command_main(struct command_run *c, int argc, char **argv) {
    struct run_options *o = &c->options;
    struct scenario_report report;
    struct err e = {0};
    int status = setup_scenario(o->scenario, &o->given, &c->scenario, &c->yaml, &report);
    if (status == 0) setup_say_unused(&report);
    scenario_load_free(&report);
    if (status != 0) return status;
    if (ranks_join(o, argc, argv, &c->scenario, &c->rank, &e) != 0)
        status = output_fail(&e);
    else
        status = command_carry_out(c);
    ranks_leave(c->rank);
    return status;
}

int cmd_run(int argc, char **argv) {
    struct command_run *c = mem_zalloc(1, sizeof *c);
    struct err e = {0};
    char **arguments = NULL;
    int status, given = argc;
    run_record_init(&c->run);
    if (preferences_load(&c->preferences, &e) == 0)
        arguments = preferences_arguments(&c->preferences, &argc, argv);
    if (!arguments || run_options_parse(argc, arguments, &c->options, &e) != 0)
        status = output_fail(&e);
    else
        status = command_main(c, given, argv);
    session_free(c->session);
    showing_free(&c->showing);
    trials_free(&c->trials);
    run_record_free(&c->run);
    run_options_free(&c->options);
    preferences_free(&c->preferences);
    free(arguments);
    free(c->yaml);
    free(c);
    return status;
}
