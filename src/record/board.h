/* A study of several runs (a sweep, a suite, trials, a calibration) for its screen and its lines of progress:
 * a head, and a row for each point. The study publishes it, one thread at a time; any thread may read. One
 * lock, held for a copy. */
#ifndef KVF_RECORD_BOARD_H
#define KVF_RECORD_BOARD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/outcome.h"

enum { BOARD_MEASURES = 6, BOARD_LINES = 8, BOARD_TEXT = 96 };

struct board_measure {
    char name[64]; /* of the catalogue; its row says which way is better */
    char title[24];
    char unit[12];
};

struct board_head {
    char kind[12];  /* "sweep" */
    char name[64];  /* of the scenario */
    char point[12]; /* kind of its rows: "point", "test", "trial", "tier" */
    struct board_measure measure[BOARD_MEASURES];
    unsigned measures;                  /* the first one decides which point is best */
    bool ranked;                        /* points can be better than one another */
    char axis[64];                      /* the curve's x axis; "": there is none */
    char axis_unit[8];                  /* as axis_value() takes it */
    char line[BOARD_LINES][BOARD_TEXT]; /* names of the curves */
    unsigned lines;
    bool parts;             /* rows are parts of one thing: none is a run, and half of it is nothing */
    bool unstored;          /* no row will be a run of the history */
    bool endless;           /* goes on until it is stopped, and what is done is kept */
    char now[160];          /* one sentence about the study while it goes on; "" */
    size_t expected;        /* points that there will be at least; 0: unknown */
    char end[300];          /* how it ended, one sentence */
    enum run_status status; /* RUN_RUNNING while it goes on */
};

struct board_row {
    char label[BOARD_TEXT];
    enum outcome_state state;
    double weight;                /* its part of the whole: seconds it is planned to take, or 1 */
    double share;                 /* done of it while it runs, 0 to 1 */
    double x;                     /* on the axis; NaN: it has no place there */
    unsigned line;                /* its curve; BOARD_LINES or above: none */
    double value[BOARD_MEASURES]; /* NaN: missing */
    int64_t run_id;               /* 0: not stored */
    bool undone;                  /* it left work undone, so it is not comparable */
    char note[200];               /* its current work, or why it failed; "" */
};

/* A copy. */
struct board_view {
    struct board_head head;
    struct board_row *row; /* malloc'd */
    size_t rows, cap;
    double gone_s; /* since the beginning; stands still after the end */
    uint64_t version;
};

struct board;
struct board *board_new(void);    /* begins now; aborts when memory is exhausted */
void board_free(struct board *b); /* takes NULL */

/* The study's thread only: */
void board_head(struct board *b, const struct board_head *head); /* copies it */
/* Sets row i, an existing one or the next; copies it. */
void board_row(struct board *b, size_t i, const struct board_row *row);
/* Sets the share done and the current work of a running row; ignores an unknown row. Any thread. */
void board_share(struct board *b, size_t i, double share, const char *note);
void board_end(struct board *b, enum run_status status, const char *sentence);

/* Any thread: */
/* Updates a copy, which is zeroed at first; true when it has changed. Free it with board_view_free(). */
bool board_copy(struct board *b, struct board_view *v);
void board_view_free(struct board_view *v);
struct board_row board_row_new(const char *label); /* a waiting row of weight 1, without values */
/* The share of the study that is done, by weight, and the time left at the pace so far; NaN: unknown. */
double board_view_share(const struct board_view *v);
double board_view_left_s(const struct board_view *v);
size_t board_view_count(const struct board_view *v, enum outcome_state state);
/* The row with the best value of the first measure, among those that left nothing undone; SIZE_MAX: none yet,
 * or the points are not ranked. */
size_t board_view_best(const struct board_view *v);

/* Asks the study to end, from the screen or a signal handler. The flag stays set. */
void board_stop(struct board *b);
bool board_stop_asked(const struct board *b);
const atomic_bool *
board_stop_flag(const struct board *b); /* the flag of board_stop_asked(), for functions that take one */

#endif
