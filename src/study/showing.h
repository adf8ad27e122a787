/* The display of a study of several runs: a board that it publishes, and a screen that shows the board where
 * standard output is a suitable terminal. Main thread only. */
#ifndef KVF_STUDY_SHOWING_H
#define KVF_STUDY_SHOWING_H

#include <stdbool.h>

#include "record/board.h"
#include "record/command.h"
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

/* Makes the board, and decides the look of the screen by command line and preferences. 0 or -KVF_ERR_USAGE;
 * free it in either case. */
int showing_prepare(struct showing *s, const struct options *o, bool headless, struct err *e);
void showing_free(struct showing *s); /* takes a zeroed one */
/* Opens the screen, unless it is headless or the terminal cannot show one, which a sentence says. Signals
 * have been taken over (study/signals.h); the screen puts its requests to stop into `commands`. */
void showing_open(struct showing *s, struct command_queue *commands);
/* After the end of the study, which its board tells: the screen stays until it is left, unless the end was
 * asked for. Then held-back output is printed; a terminal that takes none ends the program with `status`. */
void showing_close(struct showing *s, int status);
void showing_wake(const struct showing *s); /* the board has changed */
/* In a forked child: drops screen, signals and messages of the parent. */
void showing_forget(struct showing *s);

#endif
