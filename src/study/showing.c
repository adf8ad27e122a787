#include "study/showing.h"

#include <stdio.h>
#include <unistd.h>

#include "base/log.h"
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
