/* An off-screen picture of the screen, made of cells. Panels draw into panes: parts of a canvas with
 * their own origin, outside which nothing can be drawn. One thread. */
#ifndef KVF_DRAW_CANVAS_H
#define KVF_DRAW_CANVAS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "draw/style.h"

struct rect {
    int row, col, rows, cols; /* empty when rows or cols is 0 */
};

struct cell {
    uint32_t ch;  /* code point; 0: the right half of the wide one before it */
    uint8_t tone; /* enum tone */
};

/* A place to click: it stands for a key, or for a stretch of time. */
struct hot {
    struct rect at;
    int key;             /* as if it were pressed; 0: a stretch of time */
    double from_s, to_s; /* run time at its left and right end */
};

enum { CANVAS_ROWS_MAX = 512, CANVAS_COLS_MAX = 1024, CANVAS_HOTS = 128 };

struct canvas {
    int rows, cols;
    struct style style;
    struct cell *cells; /* rows x cols */
    size_t room;        /* cells allocated */
    struct hot hot[CANVAS_HOTS];
    unsigned hots;
};

/* Sets the size, clamped to 1 .. MAX, and clears the contents. Ends the program when memory is exhausted. */
void canvas_init(struct canvas *c, int rows, int cols, struct style style);
void canvas_resize(struct canvas *c, int rows, int cols);
void canvas_reserve(struct canvas *c); /* allocates for the largest size, so that no later resize does */
void canvas_free(struct canvas *c);    /* takes a zeroed one */
void canvas_clear(struct canvas *c);   /* blanks in TONE_NORMAL, no hot places */
const struct cell *canvas_cell(const struct canvas *c, int row, int col);
/* The key of the topmost (last added) hot place at a cell; 0 when there is none. */
int canvas_hot_at(const struct canvas *c, int row, int col);
/* The run time, in seconds, of a cell of a chart; NaN outside charts. */
double canvas_time_at(const struct canvas *c, int row, int col);
/* The picture as text: each row ends in a newline, without trailing blanks. */
void canvas_text(const struct canvas *c, struct buf *out);
/* The picture as an SVG document in the colours of a 256-colour terminal; its text can be selected. */
void canvas_svg(const struct canvas *c, struct buf *out);
/* The picture as escape sequences for a 256-colour terminal; each row ends in a newline. */
void canvas_ansi(const struct canvas *c, struct buf *out);

struct pane {
    struct canvas *canvas;
    struct rect at; /* on the canvas */
};

struct pane pane_whole(struct canvas *c);              /* the whole canvas */
struct pane pane_at(struct canvas *c, struct rect at); /* a rectangle, cut to the canvas */
/* A part of a pane in its coordinates, cut to it; negative rows or cols mean "to the end". */
struct pane pane_part(const struct pane *p, int row, int col, int rows, int cols);
bool pane_empty(const struct pane *p);

/* Draws UTF-8 text from (row, col) on, cut at the pane's edge. Control characters and bytes that are not
 * UTF-8 appear as '?', in an ASCII style also everything beyond ASCII. A wide character that does not fit is
 * a blank. Returns the columns drawn. */
int pane_text(const struct pane *p, int row, int col, enum tone tone, const char *text);
int pane_textf(const struct pane *p, int row, int col, enum tone tone, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
/* Draws text that ends before column `end`; a text too long loses its beginning. Returns its first column. */
int pane_right(const struct pane *p, int row, int end, enum tone tone, const char *text);
/* Draws at most `cols` columns; the last one is an ellipsis ("~" in ASCII) when the text is longer. */
int pane_clip(const struct pane *p, int row, int col, int cols, enum tone tone, const char *text);
/* Wraps text at spaces into the rows of the pane from `row` on; where it does not fit, the last row ends in
 * an ellipsis. Returns the rows used. */
int pane_wrap(const struct pane *p, int row, enum tone tone, const char *text);
void pane_glyph(const struct pane *p, int row, int col, enum tone tone, uint32_t ch); /* one column wide */
void pane_fill(const struct pane *p, enum tone tone, uint32_t ch);                    /* every cell */
void pane_tone(const struct pane *p, int row, int col, int cols, enum tone tone); /* changes the tone only */
void pane_hot(const struct pane *p, int row, int col, int rows, int cols, int key); /* a click is that key */
void pane_hot_time(const struct pane *p, double from_s, double to_s); /* a click is a time between the two */

int canvas_text_columns(const char *text); /* of pane_text() without a limit, in a UTF-8 style; any thread */

#endif
