/* The keyboard: one table that drives dispatch, the help view, `kvfall help keys` and the manual. Constant;
 * any thread. */
#ifndef KVF_UI_KEYBOARD_H
#define KVF_UI_KEYBOARD_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/* Codes of keys beyond Unicode. */
enum {
    KEY_CODE_FIRST = 0x110000,
    KEY_CODE_UP,
    KEY_CODE_DOWN,
    KEY_CODE_LEFT,
    KEY_CODE_RIGHT,
    KEY_CODE_SHIFT_LEFT,
    KEY_CODE_SHIFT_RIGHT,
    KEY_CODE_HOME,
    KEY_CODE_END,
    KEY_CODE_PAGE_UP,
    KEY_CODE_PAGE_DOWN,
    KEY_CODE_BACKSPACE,
    KEY_CODE_DELETE,
    KEY_CODE_BACK_TAB,
    KEY_CODE_ENTER,
    KEY_CODE_ESCAPE,
    KEY_CODE_MOUSE,  /* with row and column */
    KEY_CODE_OTHER,  /* a function key without a meaning here */
    KEY_CODE_DARK,   /* the terminal reports a dark background, */
    KEY_CODE_LIGHT,  /* or a light one */
    KEY_CODE_COLUMN, /* a click on the head of column 0; others follow */
    KEY_CODE_COLUMN_LAST = KEY_CODE_COLUMN + 31,
    KEY_CODE_INTERRUPT = 3,
    KEY_CODE_REDRAW = 12,
    KEY_CODE_SUSPEND = 26,
    KEY_CODE_ABORT = 28
};

#define ACTION_LIST(X)                                                                                       \
    X(NONE)                                                                                                  \
    X(VIEW) /* the number is the view */                                                                     \
    X(VIEW_NEXT)                                                                                             \
    X(VIEW_PREVIOUS)                                                                                         \
    X(EVIDENCE)                                                                                              \
    X(WINDOW)                                                                                                \
    X(HELP)                                                                                                  \
    X(PAUSE)                                                                                                 \
    X(USERS_MORE)                                                                                            \
    X(USERS_LESS)                                                                                            \
    X(USERS_DOUBLE)                                                                                          \
    X(USERS_HALVE)                                                                                           \
    X(GENERATION)                                                                                            \
    X(AUTOSCALER)                                                                                            \
    X(SPEED_DOUBLE)                                                                                          \
    X(SPEED_HALVE)                                                                                           \
    X(SPEED_FREE)                                                                                            \
    X(MARK)                                                                                                  \
    X(OPEN)                                                                                                  \
    X(CLOSE)                                                                                                 \
    X(COMMAND)                                                                                               \
    X(SAVE_SVG)                                                                                              \
    X(SAVE)                                                                                                  \
    X(FREEZE)                                                                                                \
    X(ZOOM_OUT)                                                                                              \
    X(ZOOM_IN)                                                                                               \
    X(HEAT)                                                                                                  \
    X(SCHEME)                                                                                                \
    X(FILTER)                                                                                                \
    X(SORT)                                                                                                  \
    X(SORT_REVERSE)                                                                                          \
    X(UP)                                                                                                    \
    X(DOWN)                                                                                                  \
    X(PAGE_UP)                                                                                               \
    X(PAGE_DOWN)                                                                                             \
    X(BACK)                                                                                                  \
    X(FORWARD)                                                                                               \
    X(BACK_TEN)                                                                                              \
    X(FORWARD_TEN)                                                                                           \
    X(FIRST)                                                                                                 \
    X(LAST)                                                                                                  \
    X(GO_TO)                                                                                                 \
    X(REDRAW)                                                                                                \
    X(SUSPEND)                                                                                               \
    X(QUIT)                                                                                                  \
    X(ABORT)
#define X(id) ACTION_##id,
enum action { ACTION_LIST(X) ACTIONS };
#undef X

struct key_entry {
    int code;
    const char *name; /* as help and manual write it: "space", "+", "shift-left" */
    enum action action;
    int number;       /* ACTION_VIEW: of the view in panels[] */
    const char *help; /* one phrase; NULL: another key for the entry before it */
};

extern const struct key_entry keyboard[];
extern const size_t keyboard_count;

const struct key_entry *keyboard_find(int code); /* NULL: no meaning */
void keyboard_text(struct buf *out);             /* the table as text, a line each, for `kvfall help keys` */

#endif
