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

/* A place that can be clicked: as if the key had been pressed. */
struct hot {
    struct rect at;
    int key;             /* 0: it is a stretch of time */
    double from_s, to_s; /* at both of its ends */
};

enum { CANVAS_ROWS_MAX = 512, CANVAS_COLS_MAX = 1024, CANVAS_HOTS = 128 };

struct canvas {
    int rows, cols;
    struct style style;
    struct cell *cells; /* rows x cols */
    size_t room;        /* cells that there is memory for */
    struct hot hot[CANVAS_HOTS];
    unsigned hots;
};

/* Sizes outside 1 .. MAX are brought inside. Aborts when memory is exhausted. Contents are cleared. */
void canvas_init(struct canvas *c, int rows, int cols, struct style style);
void canvas_resize(struct canvas *c, int rows, int cols);
void canvas_reserve(struct canvas *c); /* memory for any size, so that no later one asks for some */
void canvas_free(struct canvas *c);    /* takes a zeroed one */
void canvas_clear(struct canvas *c);   /* blanks in TONE_NORMAL, no hot places */
const struct cell *canvas_cell(const struct canvas *c, int row, int col);
/* The key of the hot place there that was added last; 0 when there is none. */
int canvas_hot_at(const struct canvas *c, int row, int col);
/* The time of a column of the chart there; NaN when there is none. */
double canvas_time_at(const struct canvas *c, int row, int col);
/* The picture as text: rows end in a newline, blanks at their ends left out. */
void canvas_text(const struct canvas *c, struct buf *out);
/* The picture as an SVG of its own: coloured as a terminal of 256 colours shows it, its text as text. */
void canvas_svg(const struct canvas *c, struct buf *out);
/* The picture as a terminal of 256 colours is sent it: rows end in a newline. */
void canvas_ansi(const struct canvas *c, struct buf *out);

struct pane {
    struct canvas *canvas;
    struct rect at; /* on the canvas */
};

struct pane pane_whole(struct canvas *c);
struct pane pane_at(struct canvas *c, struct rect at); /* what of it lies on the canvas */
/* A part of a pane in its coordinates, cut to it; negative rows or cols mean "to the end". */
struct pane pane_part(const struct pane *p, int row, int col, int rows, int cols);
bool pane_empty(const struct pane *p);

/* Text in UTF-8 from (row, col) on, cut at the pane's edge; control characters and bytes that are no
 * UTF-8 are shown as '?', and so is all beyond ASCII in an ASCII style. A wide character that does not
 * fit entirely is a blank. Returns the columns used, which is what the text takes, cut or not only as
 * far as it was drawn. */
int pane_text(const struct pane *p, int row, int col, enum tone tone, const char *text);
int pane_textf(const struct pane *p, int row, int col, enum tone tone, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
/* The same ending before column `end`; what does not fit on the left is left out from the left's
 * beginning: the end of the text is what stays. Returns the column it begins at. */
int pane_right(const struct pane *p, int row, int end, enum tone tone, const char *text);
/* At most `cols` columns, the last one an ellipsis ("~" in ASCII) when the text is longer. */
int pane_clip(const struct pane *p, int row, int col, int cols, enum tone tone, const char *text);
/* Breaks at spaces into the rows of the pane from `row` on; the last row that is there ends in an
 * ellipsis when something is left. Returns rows used. */
int pane_wrap(const struct pane *p, int row, enum tone tone, const char *text);
void pane_glyph(const struct pane *p, int row, int col, enum tone tone, uint32_t ch); /* one column wide */
void pane_fill(const struct pane *p, enum tone tone, uint32_t ch);
void pane_tone(const struct pane *p, int row, int col, int cols, enum tone tone); /* repaint what is there */
void pane_hot(const struct pane *p, int row, int col, int rows, int cols, int key);
void pane_hot_time(const struct pane *p, double from_s, double to_s); /* all of it, from left to right */

int canvas_text_columns(const char *text); /* that pane_text would use, unlimited, in a UTF-8 style */

#endif
