/* The screen of a study of several runs, the same for all: a table of its points that fills up, the best so
 * far, the curve, and the time left. Draws what a board says, without any terminal. One thread. */
#ifndef KVF_UI_STUDY_H
#define KVF_UI_STUDY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/board.h"
#include "ui/keyboard.h"
#include "ui/screen.h"

struct study {
    struct board *board;
    struct command_queue *commands;
    struct style style;
    struct board_view view;
    size_t selected;   /* row under the cursor */
    bool follows;      /* it goes with the run that goes on, until a key moves it */
    unsigned measure;  /* that the chart shows */
    bool help, asking; /* asking: whether to stop */
    bool stop_sent;    /* that was confirmed: no need to report the end */
    char message[300];
    uint64_t message_until_ns;
    int first_row, first, shown; /* of the table drawn last: its row on the screen, its point, how many */
};

/* Keys that mean something here, for its help. */
struct study_key_help {
    enum action action;
    const char *help;
};
extern const struct study_key_help study_keys[];
extern const size_t study_key_count;

/* `commands`, which may be NULL, hears of the wish to stop, as the board does. */
void study_init(struct study *s, struct board *board, struct command_queue *commands, struct style style);
void study_free(struct study *s);
bool study_feed(struct study *s); /* takes in news; true when the picture may have changed */
bool study_tick(struct study *s); /* runs out messages; true when the picture has changed by that */
void study_say(struct study *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* A key on the picture `c`. WISH_OPEN: the run of row `selected` is wanted. */
enum screen_wish study_key(struct study *s, const struct canvas *c, int code, int row, int col);
void study_ask_quit(struct study *s, enum screen_wish *wish);
void study_draw(struct study *s, struct canvas *c);

#endif
