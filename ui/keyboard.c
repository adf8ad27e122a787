#include "ui/keyboard.h"

#include <string.h>

#include "ui/panel/panels.h"

/* In the order of help. The code of a control character is its letter's minus 64. */
#define X(name, code, key, action, words) {code, key, ACTION_##action, PANEL_##name, words},
const struct key_entry keyboard[] = {
    PANEL_LIST(X) /* of the views */
    {KEY_CODE_ENTER, "Enter", ACTION_OPEN, 0, "open the row, a request's user, or the time of an event"},
    {KEY_CODE_ESCAPE, "Esc", ACTION_CLOSE, 0, "close what is open: help, evidence, detail, filter, the past"},
    {':', ":", ACTION_COMMAND, 0, "type a command, such as users 50; Tab completes it"},
    {'\t', "Tab", ACTION_VIEW_NEXT, 0, "next view"},
    {KEY_CODE_BACK_TAB, "shift-Tab", ACTION_VIEW_PREVIOUS, 0, "previous view"},
    {' ', "space", ACTION_PAUSE, 0, "pause the run, or go on"},
    {'+', "+", ACTION_USERS_MORE, 0, "a tenth more users"},
    {'=', "=", ACTION_USERS_MORE, 0, NULL},
    {'-', "-", ACTION_USERS_LESS, 0, "a tenth fewer users"},
    {']', "]", ACTION_USERS_DOUBLE, 0, "twice the users"},
    {'[', "[", ACTION_USERS_HALVE, 0, "half the users"},
    {'g', "g", ACTION_GENERATION, 0, "generation mode: none, fast, realistic"},
    {'a', "a", ACTION_AUTOSCALER, 0, "autoscaler: off, qos, capacity"},
    {'>', ">", ACTION_SPEED_DOUBLE, 0, "simulation: twice as fast"},
    {'<', "<", ACTION_SPEED_HALVE, 0, "simulation: half as fast"},
    {'f', "f", ACTION_SPEED_FREE, 0, "simulation: as fast as it can"},
    {'m', "m", ACTION_MARK, 0, "mark this moment with a note"},
    {'s', "s", ACTION_SAVE, 0, "save the screen to a text file"},
    {'S', "S", ACTION_SAVE_SVG, 0, "save the screen as an SVG picture, in colour"},
    {'p', "p", ACTION_FREEZE, 0, "freeze the screen while the run goes on, or follow it again"},
    {'i', "i", ACTION_WINDOW, 0, "window of the values: 1 s, 10 s, 60 s, all of the run"},
    {'z', "z", ACTION_ZOOM_OUT, 0, "graphs: zoom out (minute, ten minutes, all)"},
    {'Z', "Z", ACTION_ZOOM_IN, 0, "graphs: zoom in"},
    {'e', "e", ACTION_HEAT, 0, "heat map: e2e, nvme reads, writes; of pods load, hits, wrong"},
    {'c', "c", ACTION_SCHEME, 0, "next colour scheme"},
    {'/', "/", ACTION_FILTER, 0, "filter the rows of a table"},
    {'o', "o", ACTION_SORT, 0, "sort a table by its next column"},
    {'O', "O", ACTION_SORT_REVERSE, 0, "reverse the sort order"},
    {KEY_CODE_UP, "up", ACTION_UP, 0, "a row up"},
    {'k', "k", ACTION_UP, 0, NULL},
    {KEY_CODE_DOWN, "down", ACTION_DOWN, 0, "a row down"},
    {'j', "j", ACTION_DOWN, 0, NULL},
    {KEY_CODE_PAGE_UP, "page-up", ACTION_PAGE_UP, 0, "a page up"},
    {KEY_CODE_PAGE_DOWN, "page-down", ACTION_PAGE_DOWN, 0, "a page down"},
    {KEY_CODE_LEFT, "left", ACTION_BACK, 0, "an interval back in time"},
    {'h', "h", ACTION_BACK, 0, NULL},
    {KEY_CODE_RIGHT, "right", ACTION_FORWARD, 0, "an interval forward"},
    {'l', "l", ACTION_FORWARD, 0, NULL},
    {KEY_CODE_SHIFT_LEFT, "shift-left", ACTION_BACK_TEN, 0, "ten intervals back"},
    {KEY_CODE_SHIFT_RIGHT, "shift-right", ACTION_FORWARD_TEN, 0, "ten intervals forward"},
    {KEY_CODE_HOME, "Home", ACTION_FIRST, 0, "first interval"},
    {KEY_CODE_END, "End", ACTION_LAST, 0, "newest interval"},
    {'t', "t", ACTION_GO_TO, 0, "go to a typed time"},
    {KEY_CODE_REDRAW, "Ctrl-L", ACTION_REDRAW, 0, "draw the screen anew"},
    {KEY_CODE_SUSPEND, "Ctrl-Z", ACTION_SUSPEND, 0, "suspend kvfall and pause the run; fg continues"},
    {'q', "q", ACTION_QUIT, 0, "quit: asks once, then ends the run and keeps its results"},
    {KEY_CODE_INTERRUPT, "Ctrl-C", ACTION_QUIT, 0, NULL},
    {KEY_CODE_ABORT, "Ctrl-\\", ACTION_ABORT, 0, "end at once"},
};
#undef X
const size_t keyboard_count = sizeof keyboard / sizeof keyboard[0];

const struct key_entry *keyboard_find(int code) {
    for (size_t i = 0; i < keyboard_count; i++)
        if (keyboard[i].code == code) return &keyboard[i];
    return NULL;
}

/* The names of an entry and of the other keys for it, as "+, =", into out (NULL: only measured).
 * Returns their columns; *next is the entry after them. */
static size_t key_names(size_t i, size_t *next, struct buf *out) {
    size_t cols = 0;
    size_t k = i;

    do {
        if (out) buf_addf(out, "%s%s", k > i ? ", " : "", keyboard[k].name);
        cols += strlen(keyboard[k].name) + (k > i ? 2 : 0);
        k++;
    } while (k < keyboard_count && !keyboard[k].help);
    *next = k;
    return cols;
}

void keyboard_text(struct buf *out) {
    size_t widest = 0, next;

    for (size_t i = 0; i < keyboard_count; i = next) {
        size_t cols = key_names(i, &next, NULL);

        if (cols > widest) widest = cols;
    }
    for (size_t i = 0; i < keyboard_count; i = next) {
        size_t cols;

        buf_add(out, "  ");
        cols = key_names(i, &next, out);
        buf_addf(out, "%*s%s\n", (int)(widest - cols + 2), "", keyboard[i].help);
    }
}
