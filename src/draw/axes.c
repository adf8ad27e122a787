#include "draw/axes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LEAST_ROWS = 3,
    LEAST_COLS = 16,
    LABEL_COLS = GRAPH_AXIS - 1, /* the last column of the axis is its line */
    TICK_COLS = 14,              /* from one time to the next */
};

static const double tick_steps[] = {1,   2,   5,    10,   15,   30,    60,    120,  300,
                                    600, 900, 1800, 3600, 7200, 14400, 28800, 86400};

struct time_row {
    int cols;
    double from_s, to_s;
    char text[CANVAS_COLS_MAX];
};

/* The column of a moment; -1 outside. */
static int time_col(double from_s, double to_s, int cols, double t_s) {
    if (!(to_s > from_s) || !(t_s >= from_s && t_s <= to_s)) return -1;
    /* A part's first moment belongs to its column, also when the division falls just short of it. */
    int col = (int)floor((t_s - from_s) / (to_s - from_s) * cols + 1e-6);
    return col < cols ? col : cols - 1;
}

/* Whether columns [col, col + len) are in the row and free, and `gap` columns beside them too. */
static bool row_free(const struct time_row *r, int col, int len, int gap) {
    if (col < 0 || len > r->cols - col) return false;
    for (int i = col - gap; i < col + len + gap; i++)
        if (i >= 0 && i < r->cols && r->text[i] != ' ') return false;
    return true;
}

static void row_put(struct time_row *r, int col, const char *text) {
    for (; *text && col < r->cols; text++, col++) r->text[col] = *text;
}

/* The times of both ends where they are; in a row too narrow for both the newest one stands alone. */
static void row_ends(struct time_row *r) {
    char from[NUMBER], to[NUMBER];
    int right = (int)strlen(number_clock(r->to_s, to)), left = (int)strlen(number_clock(r->from_s, from));

    if (right > r->cols) return;
    row_put(r, r->cols - right, to);
    /* Before the run there was nothing to tell the time of. */
    if (r->from_s >= 0 && left + 1 + right <= r->cols) row_put(r, 0, from);
}

static void row_ticks(struct time_row *r) {
    double per_col = (r->to_s - r->from_s) / r->cols, step = tick_steps[0];

    if (!(per_col > 0) || !isfinite(per_col)) return;
    for (size_t i = 0; i < sizeof tick_steps / sizeof tick_steps[0] && step < per_col * TICK_COLS; i++)
        step = tick_steps[i];
    while (step < per_col * TICK_COLS) step *= 2;
    double first = ceil(fmax(r->from_s, 0) / step);
    for (int i = 0; i < r->cols && (first + i) * step < r->to_s; i++) {
        char text[NUMBER];
        double t = (first + i) * step;
        int len = (int)strlen(number_clock(t, text));
        int at = time_col(r->from_s, r->to_s, r->cols, t) - len / 2;
        if (row_free(r, at, len, 2)) row_put(r, at, text);
    }
}

struct pane axes_plot(const struct pane *p) {
    if (p->at.rows < LEAST_ROWS || p->at.cols < LEAST_COLS) return pane_part(p, 0, 0, 0, 0);
    return pane_part(p, 1, GRAPH_AXIS, p->at.rows - 2, -1);
}

void axes_frame(const struct pane *p) {
    struct pane plot = axes_plot(p);
    pane_fill(&plot, TONE_NORMAL, ' ');
    for (int row = 0; row < plot.at.rows; row++)
        pane_glyph(p, row + 1, LABEL_COLS, TONE_DIM, p->canvas->style.ascii ? '|' : 0x2502);
}

static void value_text(const struct pane *p, int row, char *label) {
    while (*label == ' ') label++;
    /* A rate is longer than the axis is wide: the title says that it is one. */
    size_t len = strlen(label);
    if (len > LABEL_COLS && len > 2 && strcmp(label + len - 2, "/s") == 0) label[len - 2] = '\0';
    char *space = strchr(label, ' ');
    if (space && strlen(label) > LABEL_COLS) memmove(space, space + 1, strlen(space));
    struct pane left = pane_part(p, row + 1, 0, 1, LABEL_COLS);
    int cols = canvas_text_columns(label);
    (void)pane_clip(&left, 0, cols < LABEL_COLS ? LABEL_COLS - cols : 0, LABEL_COLS, TONE_DIM, label);
    pane_glyph(p, row + 1, LABEL_COLS, TONE_DIM, p->canvas->style.ascii ? '+' : 0x2524);
}

void axes_value(const struct pane *p, int row, number_fn *fn, double v) {
    char text[NUMBER];
    value_text(p, row, fn(v, text));
}

void axes_part(const struct pane *p, int row, number_fn *fn, double whole, double share) {
    char text[NUMBER], part[NUMBER + 16], *end, *label = fn(whole, text);
    double value = strtod(label, &end);
    if (end == label) {
        axes_value(p, row, fn, whole * share);
        return;
    }
    /* "0 ms", but no "0k" */
    snprintf(part, sizeof part, "%.3g%s", value * share, share > 0 || *end == ' ' ? end : "");
    value_text(p, row, part);
}

void axes_time(const struct pane *p, double from_s, double to_s) {
    struct pane plot = axes_plot(p);
    struct time_row r = {.cols = plot.at.cols, .from_s = from_s, .to_s = to_s};

    memset(r.text, ' ', sizeof r.text);
    row_ends(&r);
    row_ticks(&r);
    pane_hot_time(&plot, from_s, to_s);
    for (int col = 0; col < r.cols; col++)
        pane_glyph(p, p->at.rows - 1, GRAPH_AXIS + col, TONE_DIM, (unsigned char)r.text[col]);
}

void axes_ends(const struct pane *p, const char *low, const char *high) {
    (void)pane_text(p, p->at.rows - 1, GRAPH_AXIS, TONE_DIM, low);
    (void)pane_right(p, p->at.rows - 1, p->at.cols, TONE_DIM, high);
}

void axes_marks(const struct pane *p, double from_s, double to_s, const struct graph_mark *marks,
                unsigned count) {
    struct pane plot = axes_plot(p);

    /* The newest come first and hide older ones; what went wrong is hidden by nothing else. */
    for (int bad = 0; bad < 2; bad++)
        for (unsigned i = count; i-- > 0;) {
            int col = time_col(from_s, to_s, plot.at.cols, marks[i].t_s);
            if (col >= 0 && (marks[i].tone == TONE_BAD) == bad)
                pane_glyph(&plot, 0, col, marks[i].tone, (unsigned char)marks[i].sign);
        }
}

void axes_cursor(const struct pane *p, double from_s, double to_s, double cursor_s) {
    struct pane plot = axes_plot(p);
    int col = time_col(from_s, to_s, plot.at.cols, cursor_s);

    if (col < 0) return;
    for (int row = 0; row < plot.at.rows; row++) {
        if (canvas_cell(plot.canvas, plot.at.row + row, plot.at.col + col)->ch == ' ')
            pane_glyph(&plot, row, col, TONE_STRONG, plot.canvas->style.ascii ? '|' : 0x2502);
        else
            pane_tone(&plot, row, col, 1, TONE_SELECTED);
    }
}

void axes_no_data(const struct pane *p) {
    static const char text[] = "no data";
    struct pane plot = axes_plot(p);
    int cols = (int)sizeof text - 1;
    int col = cols < plot.at.cols ? (plot.at.cols - cols) / 2 : 0;
    (void)pane_clip(&plot, plot.at.rows / 2, col, plot.at.cols, TONE_DIM, text);
}
