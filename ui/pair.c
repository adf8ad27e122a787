#include "ui/pair.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "draw/axis.h"
#include "draw/graph.h"
#include "record/snapshot.h"
#include "ui/panel/columns.h"

enum { LABEL, FIRST, SECOND, CHANGE, COLUMNS, HEAD_ROWS = 3, CHART_LEAST = 6, CHART_MOST = 14, WIDE = 70 };
static const enum tone tones[2] = {TONE_ACCENT, TONE_SECOND};

static void draw_side(const struct pane *p, int row, const struct pair *x, int side) {
    char text[170];
    snprintf(text, sizeof text, "%c  %s", 'A' + side, x->title[side]);
    int used = pane_clip(p, row, 1, p->at.cols - 2, tones[side], text);
    if (p->at.cols - used - 4 > 12)
        pane_clip(p, row, 1 + used + 2, p->at.cols - used - 4, TONE_NORMAL, x->verdict[side]);
}

static void draw_table(const struct pane *p, const struct pair *x, int *first) {
    static const struct column columns[COLUMNS] = {{"", 14, 1, 34, true},
                                                   {"A", 10, 2, 0, false},
                                                   {"B", 10, 3, 0, false},
                                                   {"B against A", 22, 4, 0, false}};
    struct column_place at[COLUMNS];
    int rows = p->at.rows > 1 ? p->at.rows - 1 : 1, last = (int)x->rows - rows;
    if (*first > last) *first = last;
    if (*first < 0) *first = 0;
    columns_place(columns, COLUMNS, p->at.cols - 2, at);
    for (int i = 0; i < COLUMNS; i++) at[i].col++;
    columns_headings(p, 0, columns, COLUMNS, at);
    for (int i = 0; i < rows && (size_t)(*first + i) < x->rows; i++) {
        const struct pair_row *r = &x->row[*first + i];
        columns_cell(p, 1 + i, &columns[LABEL], at[LABEL], TONE_NORMAL, r->label);
        columns_cell(p, 1 + i, &columns[FIRST], at[FIRST], TONE_NORMAL, r->value[0]);
        columns_cell(p, 1 + i, &columns[SECOND], at[SECOND], TONE_STRONG, r->value[1]);
        columns_cell(p, 1 + i, &columns[CHANGE], at[CHANGE], r->tone, r->change);
    }
}

/* Means of what falls into each part. */
static void curve_values(const struct pair_curve *k, int side, size_t count, float *out) {
    for (size_t i = 0; i < count; i++) {
        size_t from = i * PAIR_POINTS / count, to = (i + 1) * PAIR_POINTS / count, n = 0;
        double sum = 0;
        for (size_t j = from; j < to || j == from; j++)
            if (!isnan(k->values[side][j])) sum += (double)k->values[side][j], n++;
        out[i] = n ? (float)(sum / (double)n) : (float)NAN;
    }
}

static void draw_curve(const struct pane *p, const struct pair *x, const struct pair_curve *k) {
    size_t count = graph_points(p);
    float *values = mem_alloc((2 * count + 1) * sizeof *values);
    struct axis axis;
    double most = KVF_MISSING;
    struct graph g = {
        .title = k->title, .axis = k->axis, .to_s = x->to_s, .cursor_s = KVF_MISSING, .lines = 2};
    for (int s = 0; s < 2; s++) {
        curve_values(k, s, count, values + (size_t)s * count);
        for (size_t i = 0; i < count; i++) most = fmax(most, (double)values[(size_t)s * count + i]);
        g.line[s] = (struct graph_line){
            .name = s ? "B" : "A", .values = values + (size_t)s * count, .tone = tones[s], .whole = true};
    }
    axis_make(&axis, &(struct axis_wish){.low = 0, .high = most, .unit = k->unit, .most = 4});
    g.top = kvf_present(most) ? axis.high : 0;
    graph_draw(p, &g);
    free(values);
}

/* Rows of charts below the table: none, one or two. */
static void draw_curves(const struct pane *p, const struct pair *x) {
    int across = p->at.cols >= WIDE ? 2 : 1, rows = p->at.rows / CHART_LEAST >= 2 ? 2 : 1;
    int cols = (p->at.cols - (across - 1)) / across, each = p->at.rows / rows;
    for (int i = 0; i < across * rows && i < PAIR_CURVES; i++) {
        struct pane at = pane_part(p, i / across * each, i % across * (cols + 1), each, cols);
        draw_curve(&at, x, &x->curve[i]);
    }
}

void pair_draw(const struct pair *x, struct canvas *c, int *first) {
    struct pane all = pane_whole(c);
    int room = c->rows - HEAD_ROWS - 1, table = (int)x->rows + 1, chart = room - table;
    canvas_clear(c);
    if (chart < room / 2) chart = room / 2;
    if (chart > 2 * CHART_MOST) chart = 2 * CHART_MOST;
    if (chart < CHART_LEAST) chart = 0;
    pane_fill(&(struct pane){c, {0, 0, 1, c->cols}}, TONE_TITLE, ' ');
    pane_clip(&all, 0, 1, c->cols - 2, TONE_TITLE, "kvfall  two runs");
    draw_side(&all, 1, x, 0);
    draw_side(&all, 2, x, 1);
    struct pane under = pane_part(&all, c->rows - 1 - chart, 1, chart, c->cols - 2);
    struct pane head = pane_part(&all, HEAD_ROWS, 0, room - chart, c->cols);
    draw_table(&head, x, first);
    if (chart > 0) draw_curves(&under, x);
    pane_clip(&all, c->rows - 1, 1, c->cols - 2, TONE_KEY, "arrows move  q back to the list");
}
