/* Everything the screen can be set to and remembers: one table for `:set`, its completion, the user's own
 * file and the manual. Pure. Any thread. */
#ifndef KVF_UI_SETTINGS_H
#define KVF_UI_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

#include "draw/style.h"
#include "record/windows.h"
#include "ui/panel/history.h"
#include "ui/panel/panels.h"

/* X(more, id, name, argument, description); `more` is handed on. */
#define SETTING_LIST(X, more)                                                                                \
    X(more, THEME, "theme", "NAME", "colours")                                                               \
    X(more, VIEW, "view", "NAME", "view that the screen begins with")                                        \
    X(more, WINDOW, "window", "SPAN", "figures of the last 1s, 10s, 60s, or of the run")                     \
    X(more, ZOOM, "zoom", "SPAN", "graphs of 1min, 10min or all")                                            \
    X(more, SORT, "sort", "COLUMN", "order of requests: age, or -age for the largest first")                 \
    X(more, COLUMNS, "columns", "LIST", "columns of requests, such as user,class,age, or all")
#define X(more, id, name, argument, help) SETTING_##id,
enum setting { SETTING_LIST(X, ) SETTINGS };
#undef X

struct settings {
    enum scheme theme; /* SCHEMES: by the terminal's background */
    enum panel view;
    enum windows_span window;
    enum zoom zoom;
    int sort; /* column of requests, from 0 */
    bool descending;
    unsigned hidden; /* bit i: column i of requests is left out */
};

struct settings settings_default(void);      /* before any file is read */
const char *setting_name(enum setting id);   /* "?" when unknown */
const char *setting_help(enum setting id);   /* one phrase */
enum setting setting_find(const char *name); /* SETTINGS when unknown */
/* Takes over a value as it is typed; false when it is none. */
bool setting_set(struct settings *s, enum setting id, const char *text);
/* The value as setting_set() takes it; "" for a theme that the terminal decides. */
char *setting_text(const struct settings *s, enum setting id, char *out, size_t len);
/* The i-th of the words that a value may be, or NULL. */
const char *setting_word(enum setting id, int i, char *out, size_t len);
/* "window is 1s, 10s, 60s or run, not "5s"". */
char *setting_refusal(enum setting id, const char *typed, char *out, size_t len);

#endif
