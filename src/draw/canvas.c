#include "draw/canvas.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "base/utf8.h"

enum { ELLIPSIS = 0x2026 };

static int clamp(int v, int least, int most) {
    return v < least ? least : v > most ? most : v;
}

/* Part of one dimension: [at, at + len) inside [0, room), with no overflow whatever the numbers. */
static void span_cut(int at, int len, int room, int *out_at, int *out_len) {
    int64_t end = (int64_t)at + len;
    int from = clamp(at, 0, room);
    int to = end < from ? from : end > room ? room : (int)end;
    *out_at = from;
    *out_len = to - from;
}

static struct rect rect_cut(struct rect r, int rows, int cols) {
    struct rect out;
    span_cut(r.row, r.rows, rows, &out.row, &out.rows);
    span_cut(r.col, r.cols, cols, &out.col, &out.cols);
    if (out.rows == 0 || out.cols == 0) out.rows = out.cols = 0;
    return out;
}

void canvas_init(struct canvas *c, int rows, int cols, struct style style) {
    *c = (struct canvas){.style = style};
    canvas_resize(c, rows, cols);
}

static void cells_for(struct canvas *c, int rows, int cols) {
    size_t count = (size_t)rows * (size_t)cols;
    if (count <= c->room) return;
    c->cells = mem_realloc(c->cells, count * sizeof *c->cells);
    c->room = count;
}

void canvas_reserve(struct canvas *c) {
    cells_for(c, CANVAS_ROWS_MAX, CANVAS_COLS_MAX);
}

void canvas_resize(struct canvas *c, int rows, int cols) {
    rows = clamp(rows, 1, CANVAS_ROWS_MAX);
    cols = clamp(cols, 1, CANVAS_COLS_MAX);
    cells_for(c, rows, cols);
    c->rows = rows;
    c->cols = cols;
    canvas_clear(c);
}

void canvas_free(struct canvas *c) {
    free(c->cells);
    *c = (struct canvas){0};
}

void canvas_clear(struct canvas *c) {
    size_t count = (size_t)c->rows * (size_t)c->cols;
    for (size_t i = 0; i < count; i++) c->cells[i] = (struct cell){.ch = ' ', .tone = TONE_NORMAL};
    c->hots = 0;
}

const struct cell *canvas_cell(const struct canvas *c, int row, int col) {
    static const struct cell blank = {.ch = ' ', .tone = TONE_NORMAL};
    if (row < 0 || row >= c->rows || col < 0 || col >= c->cols) return &blank;
    return &c->cells[(size_t)row * (size_t)c->cols + (size_t)col];
}

static const struct hot *hot_at(const struct canvas *c, int row, int col) {
    for (unsigned i = c->hots; i-- > 0;) {
        const struct rect *r = &c->hot[i].at;
        if (row >= r->row && row - r->row < r->rows && col >= r->col && col - r->col < r->cols)
            return &c->hot[i];
    }
    return NULL;
}

int canvas_hot_at(const struct canvas *c, int row, int col) {
    const struct hot *h = hot_at(c, row, col);
    return h ? h->key : 0;
}

double canvas_time_at(const struct canvas *c, int row, int col) {
    const struct hot *h = hot_at(c, row, col);
    if (!h || h->key) return (double)NAN;
    return h->from_s + (h->to_s - h->from_s) * (col - h->at.col + 0.5) / h->at.cols;
}

void canvas_text(const struct canvas *c, struct buf *out) {
    char line[CANVAS_COLS_MAX * UTF8_LEN + 1];

    for (int row = 0; row < c->rows; row++) {
        const struct cell *cells = canvas_cell(c, row, 0);
        size_t len = 0, used = 0;
        for (int col = 0; col < c->cols; col++) {
            if (cells[col].ch == 0) continue;
            len += utf8_put(cells[col].ch, line + len);
            if (cells[col].ch != ' ') used = len;
        }
        line[used] = '\n';
        buf_bytes(out, line, used + 1);
    }
}

/* One place of a row that lies on the canvas. What is left of a wide character whose other half is
 * drawn over becomes a blank, even beyond the pane: half a character cannot be shown. */
static void cell_put(struct cell *line, int cols, int col, uint32_t ch, enum tone tone) {
    if (line[col].ch == 0 && col > 0) line[col - 1].ch = ' ';
    if (col + 1 < cols && line[col + 1].ch == 0) line[col + 1].ch = ' ';
    line[col] = (struct cell){.ch = ch, .tone = (uint8_t)tone};
}

static struct cell *pane_line(const struct pane *p, int row) {
    return &p->canvas->cells[(size_t)(p->at.row + row) * (size_t)p->canvas->cols];
}

/* One column, known to lie in the pane. */
static void pane_put(const struct pane *p, int row, int col, uint32_t ch, enum tone tone) {
    cell_put(pane_line(p, row), p->canvas->cols, p->at.col + col, ch, tone);
}

static void pane_put_wide(const struct pane *p, int row, int col, uint32_t ch, enum tone tone) {
    pane_put(p, row, col, ' ', tone);
    pane_put(p, row, col + 1, ' ', tone);
    struct cell *at = pane_line(p, row) + p->at.col + col;
    at[0].ch = ch;
    at[1].ch = 0;
}

/* The next character as it would be drawn, and its columns: 0 for one that joins another. */
static uint32_t text_next(const char **text, int *cols) {
    int32_t ch = utf8_next(text);
    *cols = ch < 0 ? -1 : utf8_width((uint32_t)ch);
    if (*cols >= 0 && !utf8_is_harmful(ch)) return (uint32_t)ch;
    *cols = 1;
    return '?';
}

/* Draws from column `col` on, nothing before 0 and nothing from `limit` (which is inside the pane) on.
 * Returns the column behind the last one used. */
static int text_draw(const struct pane *p, int row, int col, int limit, enum tone tone, const char *text) {
    bool ascii = p->canvas->style.ascii;

    while (*text && col < limit) {
        int cols;
        uint32_t ch = text_next(&text, &cols);
        if (cols == 0) continue; /* a cell has room for one code point */
        /* In ASCII a wide character is two question marks: widths are those of a UTF-8 style. */
        if (ascii && ch > 0x7e) ch = '?';
        if (cols == 2 && ch != '?' && col >= 0 && col + 1 < limit) {
            pane_put_wide(p, row, col, ch, tone);
        } else {
            if (cols == 2 && ch != '?') ch = ' ';
            for (int i = 0; i < cols; i++)
                if (col + i >= 0 && col + i < limit) pane_put(p, row, col + i, ch, tone);
        }
        col += cols;
    }
    return col < limit ? col : limit;
}

static bool pane_has_row(const struct pane *p, int row) {
    return row >= 0 && row < p->at.rows;
}

struct pane pane_whole(struct canvas *c) {
    return (struct pane){.canvas = c, .at = {.rows = c->rows, .cols = c->cols}};
}

struct pane pane_at(struct canvas *c, struct rect at) {
    return (struct pane){.canvas = c, .at = rect_cut(at, c->rows, c->cols)};
}

struct pane pane_part(const struct pane *p, int row, int col, int rows, int cols) {
    struct rect r = {.row = row, .col = col, .rows = rows, .cols = cols};
    if (rows < 0) r.rows = p->at.rows - clamp(row, 0, p->at.rows);
    if (cols < 0) r.cols = p->at.cols - clamp(col, 0, p->at.cols);
    if (rows < 0 && row < 0) r.row = 0;
    if (cols < 0 && col < 0) r.col = 0;
    r = rect_cut(r, p->at.rows, p->at.cols);
    r.row += p->at.row;
    r.col += p->at.col;
    return (struct pane){.canvas = p->canvas, .at = r};
}

bool pane_empty(const struct pane *p) {
    return p->at.rows <= 0 || p->at.cols <= 0;
}

int pane_text(const struct pane *p, int row, int col, enum tone tone, const char *text) {
    if (!pane_has_row(p, row) || col >= p->at.cols) return 0;
    return text_draw(p, row, col, p->at.cols, tone, text) - col;
}

int pane_textf(const struct pane *p, int row, int col, enum tone tone, const char *fmt, ...) {
    char text[CANVAS_COLS_MAX * UTF8_LEN + 1];
    va_list ap;

    va_start(ap, fmt);
    int len = vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return len < 0 ? 0 : pane_text(p, row, col, tone, text);
}

int pane_right(const struct pane *p, int row, int end, enum tone tone, const char *text) {
    if (end <= 0) return 0;
    int col = end - canvas_text_columns(text);
    (void)pane_text(p, row, col, tone, text);
    return col < 0 ? 0 : col;
}

int pane_clip(const struct pane *p, int row, int col, int cols, enum tone tone, const char *text) {
    if (!pane_has_row(p, row) || col >= p->at.cols || cols <= 0) return 0;
    int limit = cols < (int64_t)p->at.cols - col ? col + cols : p->at.cols;
    if (canvas_text_columns(text) <= (int64_t)limit - col)
        return text_draw(p, row, col, limit, tone, text) - col;
    int end = text_draw(p, row, col, limit - 1, tone, text);
    /* A wide character that was cut has left its blank: the ellipsis stands in the last column. */
    pane_glyph(p, row, end, tone, p->canvas->style.ascii ? '~' : ELLIPSIS);
    return end + 1 - col;
}

/* How much of the text stands in a row of `cols`: up to the last space that has all before it inside and
 * no number before and its unit behind it, or as much as fits of a word that is longer than the row. At
 * least one character. */
static size_t wrap_length(const char *text, int room) {
    const char *s = text, *fits = text, *word_end = NULL;
    int used = 0;

    while (*s) {
        if (*s == ' ' && used <= room && !(s > text && isdigit((unsigned char)s[-1]) && units_is_unit(s + 1)))
            word_end = s;
        int cols;
        (void)text_next(&s, &cols);
        used += cols;
        if (used > room) break;
        fits = s;
    }
    if (used <= room) return (size_t)(s - text);
    if (word_end && word_end > text) return (size_t)(word_end - text);
    return fits > text ? (size_t)(fits - text) : (size_t)(s - text);
}

int pane_wrap(const struct pane *p, int row, enum tone tone, const char *text) {
    char line[CANVAS_COLS_MAX * UTF8_LEN + 1];
    int first = row;

    if (pane_empty(p)) return 0;
    for (; row < p->at.rows; row++) {
        while (*text == ' ') text++;
        if (!*text) break;
        size_t len = wrap_length(text, p->at.cols);
        const char *rest = text + len;
        while (*rest == ' ') rest++;
        if (*rest && row == p->at.rows - 1) {
            (void)pane_clip(p, row, 0, p->at.cols, tone, text);
        } else {
            if (len >= sizeof line) len = sizeof line - 1; /* joining characters alone take so many */
            memcpy(line, text, len);
            line[len] = '\0';
            (void)pane_text(p, row, 0, tone, line);
        }
        text = rest;
    }
    return row - first;
}

void pane_glyph(const struct pane *p, int row, int col, enum tone tone, uint32_t ch) {
    if (!pane_has_row(p, row) || col < 0 || col >= p->at.cols) return;
    if (utf8_width(ch) != 1 || (p->canvas->style.ascii && ch > 0x7e)) ch = '?';
    pane_put(p, row, col, ch, tone);
}

void pane_fill(const struct pane *p, enum tone tone, uint32_t ch) {
    if (pane_empty(p)) return;
    for (int row = 0; row < p->at.rows; row++) {
        /* The ends look after wide characters that reach into the pane; between them none is left. */
        pane_glyph(p, row, 0, tone, ch);
        pane_glyph(p, row, p->at.cols - 1, tone, ch);
        struct cell *at = pane_line(p, row) + p->at.col;
        for (int col = 1; col < p->at.cols - 1; col++) at[col] = at[0];
    }
}

void pane_tone(const struct pane *p, int row, int col, int cols, enum tone tone) {
    if (!pane_has_row(p, row)) return;
    span_cut(col, cols, p->at.cols, &col, &cols);
    struct cell *at = pane_line(p, row) + p->at.col + col;
    for (int i = 0; i < cols; i++) at[i].tone = (uint8_t)tone;
}

static void hot_add(const struct pane *p, struct hot hot) {
    struct canvas *c = p->canvas;
    hot.at = p->at;
    if (!pane_empty(p) && c->hots < CANVAS_HOTS) c->hot[c->hots++] = hot;
}

void pane_hot(const struct pane *p, int row, int col, int rows, int cols, int key) {
    struct pane part = pane_part(p, row, col, rows, cols);
    hot_add(&part, (struct hot){.key = key});
}

void pane_hot_time(const struct pane *p, double from_s, double to_s) {
    hot_add(p, (struct hot){.from_s = from_s, .to_s = to_s});
}

int canvas_text_columns(const char *text) {
    int total = 0;
    while (*text) {
        int cols;
        (void)text_next(&text, &cols);
        total += cols;
    }
    return total;
}
