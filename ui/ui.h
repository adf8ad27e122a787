/* The screen: a thread that draws what a provider knows and sends what is typed as commands. It takes
 * no lock of the engine, and only ui_wait() and ui_close() wait for it: for a key, for what one call
 * of the provider takes, and half a second for a terminal that takes nothing. */
#ifndef KVF_UI_UI_H
#define KVF_UI_UI_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "draw/style.h"
#include "record/command.h"
#include "record/provider.h"

struct settings;
struct board;
struct ui_setup {
    const struct provider *provider; /* used on the screen's thread alone; NULL with a board */
    struct board *board;             /* a study of several runs, whose table is shown; NULL: one run */
    struct command_queue *commands;  /* NULL: the run cannot be changed (watch) */
    struct style style;
    bool colour;                     /* false: NO_COLOR, --no-color */
    bool asks_background;            /* no theme was chosen: the terminal's background decides */
    int fd;                          /* the terminal, standard output */
    const struct settings *settings; /* to begin with; NULL: as without any */
    const char *view;                /* to begin with, by name; NULL: that of the settings */
    double at_s;                     /* run time to begin at; NaN: the newest */
    /* Keeps the settings for later screens, `path` says where; NULL: there is no such place. */
    int (*keep)(const struct settings *now, struct buf *path, struct err *e);
};

struct ui;
/* Whether the screen can be shown on a terminal: 0, or -KVF_ERR_UNAVAILABLE with a sentence. */
int ui_check(int fd, struct err *e);
/* Takes over the terminal and starts the thread. 0, or a negative code with the terminal as it was. */
int ui_open(struct ui **out, const struct ui_setup *setup, struct err *e);
/* Any thread: */
void ui_wake(struct ui *ui);    /* something has changed, a size perhaps: look at once */
void ui_leave(struct ui *ui);   /* give the terminal back and end, whatever is shown */
void ui_hurry(struct ui *ui);   /* leave when the run has ended, without waiting for a key */
void ui_emergency(void);        /* the terminal as it was; async-signal-safe */
void ui_suspend(struct ui *ui); /* terminal as it was; returns when it is, or after two seconds */
void ui_resume(struct ui *ui);  /* and back */
/* Waits until the screen has been left: by a key, by ui_leave(), or because the terminal is gone or
 * takes nothing after the run has ended. */
void ui_wait(struct ui *ui);
void ui_close(struct ui *ui); /* leaves, waits, frees; takes NULL */

/* With a board, one thread: the run of a row of it begins, which can be looked at until it ends. The provider
 * and the queue, which may be NULL, stay good until then. */
void ui_run_begins(struct ui *ui, size_t row, const struct provider *provider,
                   struct command_queue *commands);
void ui_run_ends(struct ui *ui, const struct provider *provider);
/* From ui_hold() to ui_go_on() the screen's thread holds no lock, so that the process may be forked. In the
 * child ui_forget() leaves the terminal to the parent. */
void ui_hold(struct ui *ui);
void ui_go_on(struct ui *ui);
void ui_forget(void);

bool ui_view_known(const char *name); /* whether a view has that name */
/* "overview, tiers, ..." for messages. */
char *ui_view_names(char *out, size_t len);
/* A picture without any terminal, as text or as SVG: the view by name (ui_view_known), at run time at_s (NaN:
 * the newest or the end). 0, or -KVF_ERR_UNAVAILABLE when there is no such moment. */
struct ui_picture {
    double at_s;
    const char *view;
    int rows, cols;
    struct style style;
    bool svg;
};
int ui_dump(const struct provider *provider, const struct ui_picture *picture, struct buf *out,
            struct err *e);

/* Run time as people write it: "42", "0:42", "1:02:07", "0:42.5", "42s", "5m". False when it is none of
 * these. */
bool ui_parse_time(const char *text, double *s);

/* A list of lines to choose one from, the whole screen, on the calling thread. Returns its index, or -1
 * when it was left without choosing. One that is to be deleted, which was asked, is returned likewise. */
enum { UI_SPARK = 12 };
struct ui_glance {
    char verdict[300];
    float spark[UI_SPARK]; /* NaN: a gap */
    unsigned points;
};
struct pair;
struct ui_list {
    const char *title, *heading;
    const char *const *lines;
    int count;
    int at;              /* line that the bar stands on at first */
    const char *message; /* for the last row, until a key is pressed; NULL: none */
    /* More about a line, asked once for each that comes into sight; NULL: there is none. */
    void (*glance)(void *ctx, int line, struct ui_glance *out);
    /* Two lines were marked: their picture, or NULL with a sentence in `why`; the caller's. NULL: no marks.
     */
    const struct pair *(*pair)(void *ctx, int first, int second, char *why, size_t len);
    void *ctx;
    bool *deletes;            /* told that the one returned is to be deleted; NULL: none can be */
    bool (*leave)(void);      /* asked now and then: true ends it */
    void (*stop)(void);       /* Ctrl-Z: stops the process */
    bool (*stop_asked)(void); /* asked now and then: true does that too */
};
int ui_choose(const struct ui_list *list, const struct ui_setup *setup, struct err *e);

#endif
