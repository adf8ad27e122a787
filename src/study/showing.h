/* A study of several runs as people see it: a board that it publishes, and the screen over it where standard
 * output is a terminal that can show one. Main thread. */
#ifndef KVF_STUDY_SHOWING_H
#define KVF_STUDY_SHOWING_H

#include <stdbool.h>

#include "record/board.h"
#include "record/command.h"
#include "record/run.h"
#include "study/options.h"
#include "study/preferences.h"
#include "ui/ui.h"

struct showing {
    struct board *board;
    bool headless;
    struct ui_setup look; /* of the screen: style, colour, fd, settings */
    struct preferences preferences;
    struct ui *ui; /* NULL: headless, or not open */
};

/* The board, and the look of the screen by command line and preferences. 0 or -KVF_ERR_USAGE; free it in
 * either case. */
int showing_prepare(struct showing *s, const struct options *o, bool headless, struct err *e);
void showing_free(struct showing *s); /* takes a zeroed one */
/* Opens the screen, unless it is headless or the terminal cannot show one, which a sentence says. Signals are
 * taken (study/signals.h); `commands` hears of the wish to stop. */
void showing_open(struct showing *s, struct command_queue *commands);
/* The study has ended, and its board says how: the screen stays until it is left, unless somebody wanted the
 * end. Then what was held back behind it comes out; a terminal that takes nothing more ends the program with
 * `status`. */
void showing_close(struct showing *s, int status);
/* The measures of a study whose rows are runs, and a row of what a run came to. */
void showing_run_measures(struct board_head *h);
void showing_run_row(struct board_row *r, const struct run_record *run);
void showing_wake(const struct showing *s); /* there is something new to see */
/* A child process has neither screen nor signals nor messages of its parent's. */
void showing_forget(struct showing *s);

#endif
