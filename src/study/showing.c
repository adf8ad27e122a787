#include "study/showing.h"

#include <stdio.h>
#include <unistd.h>

#include "base/log.h"
#include "record/metric.h"
#include "study/output.h"
#include "study/signals.h"

int showing_prepare(struct showing *s, const struct options *o, bool headless, struct err *e) {
    s->board = board_new();
    s->headless = headless;
    s->look = (struct ui_setup){.fd = STDOUT_FILENO, .at_s = KVF_MISSING};
    int rc = preferences_load(&s->preferences, e);
    return rc == 0 ? output_screen_style(o, &s->preferences, &s->look, e) : rc;
}

void showing_free(struct showing *s) {
    board_free(s->board);
    preferences_free(&s->preferences);
    s->board = NULL;
}

void showing_open(struct showing *s, struct command_queue *commands) {
    struct err e = {0};
    struct ui_setup setup = s->look;
    if (s->headless || isatty(STDOUT_FILENO) != 1) return;
    setup.board = s->board;
    setup.commands = commands;
    if (ui_check(STDOUT_FILENO, &e) != 0 || ui_open(&s->ui, &setup, &e) != 0) {
        log_line(KVF_LOG_INFO, "%s; running headless", e.text);
        return;
    }
    log_hold(true);
    signals_screen(s->ui);
    if (signals_asked()) ui_hurry(s->ui); /* came before there was a screen to tell */
}

static const char *const run_measures[] = {"throughput_tok_s", "storage_throughput_tok_s", "e2e_p95_ms",
                                           "reuse_hit_ratio"};
enum { RUN_MEASURES = sizeof run_measures / sizeof *run_measures };

void showing_run_measures(struct board_head *h) {
    h->measures = RUN_MEASURES;
    for (unsigned m = 0; m < RUN_MEASURES; m++) {
        char label[METRIC_NAME];
        metric_label(run_measures[m], label, sizeof label);
        snprintf(h->measure[m].name, sizeof h->measure[m].name, "%s", run_measures[m]);
        snprintf(h->measure[m].title, sizeof h->measure[m].title, "%.23s", label);
        snprintf(h->measure[m].unit, sizeof h->measure[m].unit, "%s", metric_unit(run_measures[m]));
    }
}

void showing_run_row(struct board_row *r, const struct run_record *run) {
    r->state = run->status == RUN_FAILED      ? OUTCOME_FAILED
               : run->status == RUN_COMPLETED ? OUTCOME_DONE
                                              : OUTCOME_STOPPED;
    r->run_id = run->run_id;
    for (unsigned m = 0; m < RUN_MEASURES && r->state != OUTCOME_FAILED; m++)
        r->value[m] = result_value(&run->results, run_measures[m]);
    if (r->state == OUTCOME_FAILED) snprintf(r->note, sizeof r->note, "%.199s", run->status_reason);
}

void showing_wake(const struct showing *s) {
    if (s->ui) ui_wake(s->ui);
}

void showing_close(struct showing *s, int status) {
    if (!s->ui) return;
    if (signals_asked()) ui_hurry(s->ui);
    ui_wake(s->ui);
    ui_wait(s->ui);
    signals_screen(NULL);
    ui_close(s->ui);
    s->ui = NULL;
    output_bound(status);
    log_hold(false);
}

void showing_forget(struct showing *s) {
    if (!s->ui) return;
    s->ui = NULL;
    ui_forget();
    signals_forget();
    log_forget();
}
