#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "draw/axis.h"
#include "draw/format.h"
#include "draw/graph.h"
#include "draw/number.h"
#include "record/metric.h"
#include "ui/panel/columns.h"
#include "ui/panel/parts.h"
#include "ui/study.h"

enum { CHART_LEAST = 7, CHART_MOST = 24, TABLE_LEAST = 5, NARROW = 60 };

/* ---- first row ---- */

static const char *state_of(const struct study *s, enum tone *tone) {
    const struct board_view *v = &s->view;
    const char *word = parts_status(v->head.status, tone);
    if (v->head.status != RUN_RUNNING) return word;
    if (s->stop_sent) return "STOPPING";
    *tone = TONE_STATE_GOOD;
    return word;
}

/* "12/40", or "12" when nobody knows how many there will be. */
static void count_text(const struct board_view *v, char *out, size_t len) {
    size_t over = board_view_count(v, OUTCOME_DONE) + board_view_count(v, OUTCOME_FAILED) +
                  board_view_count(v, OUTCOME_STOPPED);
    size_t all = v->head.expected > v->rows ? v->head.expected : v->rows;
    if (v->head.expected > 0)
        snprintf(out, len, "%zu/%zu", over, all);
    else
        snprintf(out, len, "%zu", over);
}

static void draw_header(const struct pane *p, const struct study *s) {
    const struct board_view *v = &s->view;
    enum tone tone;
    const char *state = state_of(s, &tone);
    char count[48], clock[NUMBER], text[NUMBER + 16], name[BOARD_TEXT];
    bool narrow = p->at.cols < NARROW;
    double left_s = board_view_left_s(v), share = board_view_share(v);

    pane_fill(p, TONE_TITLE, ' ');
    int end = pane_right(p, 0, p->at.cols - 1, tone, state) - (narrow ? 1 : 2);
    if (!narrow) pane_tone(p, 0, end + 1, p->at.cols - end - 1, tone);
    count_text(v, count, sizeof count);
    if (!v->head.endless) end = pane_right(p, 0, end, TONE_TITLE, count) - 2;
    snprintf(text, sizeof text, "%s gone", number_clock(v->gone_s, clock));
    if (!narrow) end = pane_right(p, 0, end, TONE_TITLE, text) - 2;
    if (v->head.status == RUN_RUNNING && kvf_present(left_s)) {
        snprintf(text, sizeof text, "%s left", number_clock(left_s, clock));
        if (!narrow) end = pane_right(p, 0, end, TONE_TITLE, text) - 2;
    }
    int col = 1;
    if (!narrow) col += pane_text(p, 0, col, TONE_TITLE, "kvfall") + 2;
    snprintf(name, sizeof name, "%s %s %s", v->head.kind,
             v->head.name[0] ? parts_sign(p->canvas, PARTS_DOT) : "", v->head.name);
    col += pane_clip(p, 0, col, end - col, TONE_TITLE, name) + 2;
    int bar = end - col > 20 ? 20 : end - col;
    if (bar < 6 || !kvf_present(share) || v->head.status != RUN_RUNNING) return;
    graph_bar(p, 0, end - bar, bar, share, TONE_ACCENT);
}

/* ---- the best, or how it ended ---- */

static struct format_cell measured(const struct board_view *v, size_t row, unsigned m) {
    return format_measure(v->row[row].value[m], v->head.measure[m].unit, v->head.measure[m].name);
}

static void draw_best(const struct pane *p, const struct study *s) {
    const struct board_view *v = &s->view;
    size_t best = board_view_best(v), failed = board_view_count(v, OUTCOME_FAILED);
    char text[400];
    int col = 1;
    if (failed > 0) {
        snprintf(text, sizeof text, "%zu failed", failed);
        col += pane_text(p, 0, col, TONE_BAD, text) + 2;
    }
    if (best != SIZE_MAX) {
        col += pane_text(p, 0, col, TONE_HEADING, v->head.status == RUN_RUNNING ? "Best so far" : "Best") + 2;
        bool plain = strcmp(v->head.measure[0].unit, "tok/s") == 0; /* says what it is */
        snprintf(text, sizeof text, "%s%s%s at %s", plain ? "" : v->head.measure[0].title, plain ? "" : " ",
                 measured(v, best, 0).text, v->row[best].label);
        col += pane_clip(p, 0, col, p->at.cols - 1 - col, TONE_STRONG, text) + 2;
    }
    const char *sentence = v->head.end[0] ? v->head.end : v->head.now;
    if (sentence[0] && p->at.cols - 1 - col > 12)
        pane_clip(p, 0, col, p->at.cols - 1 - col, TONE_NORMAL, sentence);
}

/* ---- the table ---- */

enum { MARK, NUMBER_OF, LABEL, STATE, MEASURE0, RUN = MEASURE0 + BOARD_MEASURES, NOTE, COLUMNS };

static int label_cols(const struct board_view *v) {
    int most = canvas_text_columns(v->head.point);
    for (size_t i = 0; i < v->rows; i++)
        if (canvas_text_columns(v->row[i].label) > most) most = canvas_text_columns(v->row[i].label);
    return most < 44 ? most : 44;
}

static bool has_chart(const struct study *s) {
    return s->view.head.axis[0] && s->view.head.measures > 0;
}

/* Bars behind the figures compare rows that have no place on an axis. */
static bool has_bars(const struct study *s) {
    return !s->view.head.axis[0] && s->view.head.measures > 0 && !s->view.head.endless;
}

static void columns_of(const struct study *s, bool narrow, struct column c[COLUMNS]) {
    const struct board_view *v = &s->view;
    const struct column absent = {.heading = "", .cols = CANVAS_COLS_MAX, .rank = 2 * COLUMNS};
    int label = label_cols(v), least = narrow ? 14 : 26, figure = v->head.endless ? 8 : 11;
    c[MARK] = (struct column){.heading = "", .cols = 1, .rank = 1};
    c[NUMBER_OF] = (struct column){.heading = "#", .cols = 4, .rank = 5};
    c[LABEL] = (struct column){.heading = v->head.point,
                               .cols = label < least ? label : least,
                               .rank = 2,
                               .most = label,
                               .left = true};
    c[STATE] = (struct column){.heading = "state", .cols = 8, .rank = 3, .left = true};
    for (unsigned m = 0; m < BOARD_MEASURES; m++) {
        int cols = m < v->head.measures ? canvas_text_columns(v->head.measure[m].title) : 0;
        c[MEASURE0 + m] = m < v->head.measures ? (struct column){.heading = v->head.measure[m].title,
                                                                 .cols = cols > figure ? cols : figure,
                                                                 .rank = m == 0 ? 4 : 6 + (int)m}
                                               : absent;
    }
    c[RUN] = (struct column){.heading = "run", .cols = 6, .rank = 6 + BOARD_MEASURES};
    c[NOTE] = (struct column){.heading = has_bars(s) ? v->head.measure[s->measure].title : "",
                              .cols = 12,
                              .rank = has_bars(s) ? 5 : 7 + BOARD_MEASURES,
                              .most = 80,
                              .left = true};
    if (v->head.unstored) c[RUN] = absent;
    if (v->head.endless) c[NUMBER_OF] = c[STATE] = c[RUN] = c[NOTE] = absent; /* all rows go on */
}

static enum tone state_tone(enum outcome_state s) {
    return s == OUTCOME_DONE      ? TONE_GOOD
           : s == OUTCOME_FAILED  ? TONE_BAD
           : s == OUTCOME_STOPPED ? TONE_WARN
           : s == OUTCOME_RUNS    ? TONE_STRONG
                                  : TONE_DIM;
}

/* The value of a row in parts of the largest. */
static double part_of_most(const struct study *s, const struct board_row *r) {
    double most = 0;
    for (size_t i = 0; i < s->view.rows; i++) most = fmax(most, s->view.row[i].value[s->measure]);
    return most > 0 ? r->value[s->measure] / most : 0;
}

/* A failed point says why where its figures would stand. */
static void draw_note(const struct pane *p, int row, const struct column_place at[COLUMNS],
                      const struct study *s, const struct board_row *r) {
    if (has_bars(s) && r->state == OUTCOME_DONE && kvf_present(r->value[s->measure]) && at[NOTE].cols > 0)
        graph_bar(p, row, at[NOTE].col, at[NOTE].cols, part_of_most(s, r), TONE_ACCENT);
    bool failed = r->state == OUTCOME_FAILED;
    struct column_place to = failed && at[MEASURE0].cols ? at[MEASURE0] : at[NOTE];
    if (r->note[0] && to.cols > 0)
        pane_clip(p, row, to.col, p->at.cols - to.col, failed ? TONE_BAD : TONE_DIM, r->note);
}

static void draw_row(const struct pane *p, int row, const struct column c[COLUMNS],
                     const struct column_place at[COLUMNS], const struct study *s, size_t i) {
    const struct board_view *v = &s->view;
    const struct board_row *r = &v->row[i];
    bool best = i == board_view_best(v);
    bool comes = r->state == OUTCOME_WAITS && v->head.status == RUN_RUNNING;
    char text[32];
    columns_cell(p, row, &c[MARK], at[MARK], TONE_GOOD, best ? "*" : " ");
    snprintf(text, sizeof text, "%zu", i + 1);
    columns_cell(p, row, &c[NUMBER_OF], at[NUMBER_OF], TONE_DIM, text);
    columns_cell(p, row, &c[LABEL], at[LABEL], TONE_NORMAL, r->label);
    if (r->state == OUTCOME_RUNS && at[STATE].cols > 0)
        graph_bar(p, row, at[STATE].col, at[STATE].cols, r->share, TONE_STRONG);
    else
        columns_cell(p, row, &c[STATE], at[STATE], state_tone(r->state),
                     comes ? "waiting" : outcome_state_name(r->state));
    for (unsigned m = 0; m < v->head.measures; m++)
        if (kvf_present(r->value[m]))
            columns_cell(p, row, &c[MEASURE0 + m], at[MEASURE0 + m], m == 0 ? TONE_STRONG : TONE_NORMAL,
                         measured(v, i, m).text);
        else if (r->state == OUTCOME_DONE)
            columns_cell(p, row, &c[MEASURE0 + m], at[MEASURE0 + m], TONE_DIM, "--");
    snprintf(text, sizeof text, "%" PRId64, r->run_id);
    if (r->run_id > 0) columns_cell(p, row, &c[RUN], at[RUN], TONE_DIM, text);
    draw_note(p, row, at, s, r);
    if (i == s->selected) pane_tone(p, row, 0, p->at.cols, TONE_SELECTED);
}

static void draw_table(const struct pane *p, struct study *s) {
    struct column c[COLUMNS];
    struct column_place at[COLUMNS];
    const struct board_view *v = &s->view;
    int rows = p->at.rows - 1;
    columns_of(s, p->at.cols < NARROW, c);
    columns_place(c, COLUMNS, p->at.cols - 2, at);
    for (int i = 0; i < COLUMNS; i++) at[i].col++;
    columns_headings(p, 0, c, COLUMNS, at);
    int first = s->first, selected = (int)s->selected, last = (int)v->rows - rows;
    if (selected < first) first = selected;
    if (selected >= first + rows) first = selected - rows + 1;
    if (first > last) first = last > 0 ? last : 0;
    s->first = first;
    s->first_row = p->at.row + 1;
    s->shown = 0;
    for (; s->shown < rows && (size_t)(first + s->shown) < v->rows; s->shown++)
        draw_row(p, 1 + s->shown, c, at, s, (size_t)(first + s->shown));
    if (v->rows == 0) pane_text(p, 1, 2, TONE_DIM, "no point has begun");
}

/* ---- the curve ---- */

struct curve_point {
    double x, y;
};
struct curves {
    struct curve_point *point[BOARD_LINES];
    size_t count[BOARD_LINES];
    double low, high, most; /* of x, and of y; NaN: no point */
    bool log;               /* x grows by factors */
};

static int by_x(const void *a, const void *b) {
    double x = ((const struct curve_point *)a)->x, y = ((const struct curve_point *)b)->x;
    return (x > y) - (x < y);
}

static unsigned curves_make(const struct study *s, struct curves *c) {
    const struct board_view *v = &s->view;
    unsigned lines = v->head.lines ? v->head.lines : 1, points = 0;
    *c = (struct curves){.low = KVF_MISSING, .high = KVF_MISSING, .most = KVF_MISSING};
    for (unsigned l = 0; l < lines; l++) c->point[l] = mem_alloc((v->rows + 1) * sizeof *c->point[l]);
    for (size_t i = 0; i < v->rows; i++) {
        const struct board_row *r = &v->row[i];
        double y = r->value[s->measure];
        if (r->state != OUTCOME_DONE || r->line >= lines || isnan(r->x) || isnan(y)) continue;
        c->point[r->line][c->count[r->line]++] = (struct curve_point){r->x, y};
        c->low = fmin(c->low, r->x);
        c->high = fmax(c->high, r->x);
        c->most = fmax(c->most, y);
        points++;
    }
    c->log = c->low > 0 && c->high / c->low >= 16;
    for (unsigned l = 0; l < lines; l++) qsort(c->point[l], c->count[l], sizeof *c->point[l], by_x);
    return points;
}

/* 0 at the left end to 1 at the right one. */
static double part_of(const struct curves *c, double x) {
    if (!(c->high > c->low)) return 0.5;
    return c->log ? log(x / c->low) / log(c->high / c->low) : (x - c->low) / (c->high - c->low);
}

/* Straight between two points; nothing beyond the ends. */
static void curve_values(const struct curves *c, unsigned line, size_t count, float *out) {
    const struct curve_point *p = c->point[line];
    for (size_t i = 0; i < count; i++) out[i] = NAN;
    for (size_t k = 0; k < c->count[line]; k++) {
        size_t at = (size_t)(part_of(c, p[k].x) * (double)(count - 1) + 0.5);
        out[at] = (float)p[k].y;
        if (k + 1 == c->count[line]) break;
        size_t to = (size_t)(part_of(c, p[k + 1].x) * (double)(count - 1) + 0.5);
        for (size_t i = at + 1; i < to; i++)
            out[i] = (float)(p[k].y + (p[k + 1].y - p[k].y) * (double)(i - at) / (double)(to - at));
    }
}

static char *tenths_of_ms(double s, char *out) {
    return number_ms(s * 1000, out);
}

static number_fn *axis_of(const struct board_measure *m) {
    if (metric_percent(m->name)) return number_percent;
    if (strcmp(m->unit, "ms") == 0) return number_ms;
    if (strcmp(m->unit, "s") == 0) return tenths_of_ms;
    if (strcmp(m->unit, "B") == 0) return number_bytes;
    return number_count;
}

static void draw_chart(const struct pane *p, const struct study *s) {
    enum { SHOWN_TONES = 4 };
    static const enum tone tones[SHOWN_TONES] = {TONE_ACCENT, TONE_SECOND, TONE_THIRD, TONE_NORMAL};
    const struct board_head *h = &s->view.head;
    const struct board_measure *m = &h->measure[s->measure];
    struct curves c;
    struct axis axis;
    char title[160];
    unsigned points = curves_make(s, &c), lines = h->lines ? h->lines : 1;
    size_t count = graph_points(p);
    float *values = mem_alloc((count + 1) * lines * sizeof *values);
    struct format_cell low = axis_value(c.low, h->axis_unit), high = axis_value(c.high, h->axis_unit);
    struct graph g = {.title = title, .axis = axis_of(m), .cursor_s = KVF_MISSING, .lines = lines};
    snprintf(title, sizeof title, "%s over %s%s%s", m->title, h->axis, c.log ? ", log" : "",
             h->measures > 1 ? " (e: next)" : "");
    axis_make(&axis, &(struct axis_wish){.low = 0, .high = c.most, .unit = m->unit, .most = 4});
    g.top = points > 0 ? axis.high : 0;
    g.ends[0] = points > 0 ? low.text : "";
    g.ends[1] = points > 0 ? high.text : "";
    for (unsigned l = 0; l < lines; l++) {
        curve_values(&c, l, count, values + l * count);
        g.line[l] = (struct graph_line){.name = h->lines ? h->line[l] : m->title,
                                        .values = values + l * count,
                                        .tone = tones[l % SHOWN_TONES],
                                        .broken = l >= SHOWN_TONES};
        free(c.point[l]);
    }
    graph_draw(p, &g);
    pane_hot(p, 0, 0, 1, p->at.cols, 'e');
    free(values);
}

/* ---- help and the last row ---- */

static void draw_help(const struct pane *p) {
    enum { SIGN = 12 };
    pane_text(p, 0, 1, TONE_HEADING, "Keys");
    for (size_t i = 0; i < study_key_count; i++) {
        char names[40] = "";
        size_t used = 0;
        for (size_t k = 0; k < keyboard_count && used < sizeof names; k++)
            if (keyboard[k].action == study_keys[i].action)
                used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "",
                                         keyboard[k].name);
        pane_clip(p, 1 + (int)i, 1, SIGN, TONE_KEY, names);
        pane_clip(p, 1 + (int)i, 1 + SIGN + 1, p->at.cols - SIGN - 3, TONE_NORMAL, study_keys[i].help);
    }
}

static void draw_footer(const struct pane *p, const struct study *s) {
    bool over = s->view.head.status != RUN_RUNNING;
    const struct {
        const char *key, *label;
        int code;
        bool shown;
    } hints[] = {
        {"q", over ? "leave" : "stop", 'q', true},
        {"?", s->help ? "back" : "keys", '?', true},
        {"Enter", "the run", KEY_CODE_ENTER, !over && !s->view.head.parts},
        {"e", has_chart(s) ? "chart" : "bars", 'e', s->view.head.measures > 1 && !s->view.head.endless},
        {"S", "save", 'S', true},
        {"c", "colours", 'c', true}};
    char text[160];
    if (s->asking) {
        snprintf(text, sizeof text,
                 s->view.head.parts && !s->view.head.endless
                     ? "Stop the %s? A partial result is not kept. y/n"
                     : "Stop the %s and keep its results? y/n",
                 s->view.head.kind);
        pane_clip(p, 0, 1, p->at.cols - 2, TONE_KEY, text);
        return;
    }
    int col = 1;
    for (size_t i = 0; i < sizeof hints / sizeof *hints; i++) {
        int need = canvas_text_columns(hints[i].key) + 1 + canvas_text_columns(hints[i].label);
        if (!hints[i].shown) continue;
        if (col + need > p->at.cols - 1) break;
        pane_text(p, 0, col, TONE_KEY, hints[i].key);
        pane_text(p, 0, col + canvas_text_columns(hints[i].key) + 1, TONE_NORMAL, hints[i].label);
        pane_hot(p, 0, col, 1, need, hints[i].code);
        col += need + 2;
    }
}

static void draw_message(const struct pane *p, const struct study *s) {
    int cols = canvas_text_columns(s->message) + 2;
    if (!s->message[0]) return;
    struct pane box = pane_part(p, 0, 0, 1, cols < p->at.cols ? cols : p->at.cols);
    pane_fill(&box, TONE_SELECTED, ' ');
    pane_clip(&box, 0, 1, box.at.cols - 2, TONE_SELECTED, s->message);
}

/* ---- all of it ---- */

/* Rows of the chart among those that table and chart share. */
static int chart_rows(const struct study *s, int room) {
    int table = (int)s->view.rows + 2, rows = room - table;
    if (!has_chart(s) || room < CHART_LEAST + TABLE_LEAST) return 0;
    if (rows < room / 2) rows = room / 2;
    if (rows > CHART_MOST) rows = CHART_MOST;
    return rows < CHART_LEAST ? CHART_LEAST : rows;
}

void study_draw(struct study *s, struct canvas *c) {
    struct layout_screen l = layout_screen(c->rows, c->cols);
    canvas_clear(c);
    c->style = s->style;
    struct pane body = pane_at(c, l.body), header = pane_at(c, l.header), footer = pane_at(c, l.footer);
    s->shown = 0;
    if (l.too_small) {
        char text[120], count[48];
        enum tone tone;
        count_text(&s->view, count, sizeof count);
        snprintf(text, sizeof text, "%dx%d needed, is %dx%d: %s %s", LAYOUT_LEAST_COLS, LAYOUT_LEAST_ROWS,
                 c->cols, c->rows, count, state_of(s, &tone));
        pane_clip(&body, 0, 0, body.at.cols, TONE_WARN, text);
        return;
    }
    draw_header(&header, s);
    if (s->help) {
        draw_help(&body);
    } else {
        int chart = chart_rows(s, body.at.rows - 1);
        struct pane best = pane_part(&body, 0, 0, 1, -1);
        struct pane table = pane_part(&body, 1, 0, body.at.rows - 1 - chart, -1);
        struct pane under = pane_part(&body, body.at.rows - chart, 1, chart, body.at.cols - 2);
        draw_best(&best, s);
        draw_table(&table, s);
        if (chart > 0) draw_chart(&under, s);
    }
    draw_footer(&footer, s);
    struct pane message = pane_at(c, (struct rect){l.footer.row - 1, 0, 1, c->cols});
    draw_message(&message, s);
}
