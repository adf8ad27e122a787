#include "ui/panel/parts.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "draw/number.h"
#include "ui/keyboard.h"
#include "ui/panel/columns.h"

enum { NARROW_COLS = 60, WIDE_COLS = 95, EVENT_TIME_COLS = 8, EVENT_LEVEL_COLS = 8 };

const char *parts_sign(const struct canvas *c, enum parts_sign sign) {
    static const char *const signs[PARTS_SIGNS][2] = {[PARTS_DOT] = {"\u00b7", "-"},
                                                      [PARTS_ARROW] = {"\u2192", "->"},
                                                      [PARTS_LEFT_RIGHT] = {"\u2190/\u2192", "<-/->"}};
    return signs[sign][c->style.ascii];
}

/* ---- sentences ---- */

/* Pieces of a line, label and figure, as long as each fits as a whole; the last one may be cut. */
struct line {
    const struct pane *p;
    int row, col;
};

static bool line_add(struct line *l, const char *label, const char *figure) {
    int need = canvas_text_columns(label) + 1 + canvas_text_columns(figure);
    if (l->col + need > l->p->at.cols) return false;
    l->col += pane_text(l->p, l->row, l->col, TONE_HEADING, label) + 1;
    l->col += pane_text(l->p, l->row, l->col, TONE_STRONG, figure) + 3;
    return true;
}

/* An event without a time happened before the clock began. */
static bool in_past(const struct frame *f, double t_s) {
    return !f->back || isnan(t_s) || t_s <= f->shown_s;
}

static const struct snapshot_decision *last_decision(const struct frame *f, double *t_s) {
    for (size_t i = history_decisions(f->history); i-- > 0;) {
        const struct snapshot_decision *d = history_decision_at(f->history, i, t_s);
        if (in_past(f, *t_s)) return d;
    }
    return NULL;
}

/* The last time that somebody changed the number of users. */
static const struct record_event *last_change(const struct frame *f) {
    for (size_t i = history_events(f->history); i-- > 0;) {
        const struct record_event *e = history_event_at(f->history, i);
        if (in_past(f, e->t_s) && record_event_is(e, RECORD_EVENT_USERS)) return e;
    }
    return NULL;
}

static void draw_decision(struct line *l, const struct frame *f, const struct snapshot_decision *d,
                          double t_s) {
    char text[64], clock[NUMBER];
    line_add(l, "Autoscaler", d->mode);
    snprintf(text, sizeof text, "%" PRIu64 " %s %" PRIu64, d->users_before,
             parts_sign(l->p->canvas, PARTS_ARROW), d->users_after);
    line_add(l, "users", text);
    if (l->p->at.cols >= WIDE_COLS) line_add(l, "at", number_clock(t_s, clock));
    line_add(l, "saturation", number_plain(f->snap ? f->snap->interval.saturation : KVF_MISSING, clock));
    if (l->col < l->p->at.cols)
        pane_clip(l->p, l->row, l->col, l->p->at.cols - l->col, TONE_NORMAL, d->reason);
}

void parts_users(const struct pane *p, const struct frame *f) {
    struct pane body = pane_part(p, 0, 1, -1, -1);
    struct line l = {&body, 0, 0};
    char text[120], clock[NUMBER];
    double t_s = KVF_MISSING;
    const struct snapshot_decision *d = last_decision(f, &t_s);
    const struct record_event *change = last_change(f);

    if (pane_empty(&body)) return;
    if (d && strcmp(d->action, "off") != 0) {
        draw_decision(&l, f, d, t_s);
        return;
    }
    if (parts_open_loop(f)) {
        line_add(&l, "Arrivals", "open loop");
    } else {
        number_count(f->snap ? (double)f->snap->interval.users : KVF_MISSING, text);
        line_add(&l, "Users", text + strspn(text, " "));
    }
    line_add(&l, "generation", f->generation ? f->generation : "--");
    if (f->snap) {
        snprintf(text, sizeof text, "%" PRIu64 " of %" PRIu64, f->snap->interval.in_service_now,
                 f->snap->interval.slots);
        line_add(&l, "slots in use", text);
    }
    if (change) {
        snprintf(text, sizeof text, "%.60s at %s", change->message, number_clock(change->t_s, clock));
        line_add(&l, "last change", text);
    }
    if (f->controls && !parts_open_loop(f)) line_add(&l, "autoscaler", f->autoscaler);
}

/* ---- events ---- */

bool parts_event_shown(const struct frame *f, const struct record_event *e) {
    return in_past(f, e->t_s);
}

static enum tone event_tone(const struct record_event *e) {
    if (strcmp(e->level, "error") == 0) return TONE_BAD;
    if (strcmp(e->level, "warning") == 0) return TONE_WARN;
    return strcmp(e->level, "mark") == 0 ? TONE_MARK : TONE_DIM;
}

void parts_event(const struct pane *p, int row, const struct record_event *e) {
    char clock[NUMBER];
    int level_cols = p->at.cols < NARROW_COLS ? 4 : EVENT_LEVEL_COLS;
    /* A clock that is longer than its place would lose its hours. */
    if (number_clock(e->t_s, clock) && canvas_text_columns(clock) > EVENT_TIME_COLS)
        snprintf(clock, sizeof clock, "%.0f h", e->t_s / 3600);
    pane_right(p, row, EVENT_TIME_COLS, TONE_DIM, kvf_present(e->t_s) ? clock : "before");
    struct pane level = pane_part(p, row, EVENT_TIME_COLS + 1, 1, level_cols);
    bool cut = canvas_text_columns(e->level) > level_cols && event_tone(e) == TONE_BAD;
    pane_text(&level, 0, 0, event_tone(e), cut ? "err" : e->level);
    int col = EVENT_TIME_COLS + 1 + level_cols + 1;
    pane_clip(p, row, col, p->at.cols - col, TONE_NORMAL, e->message);
}

/* ---- graphs ---- */

bool parts_event_marked(const struct record_event *e, char *sign, enum tone *tone) {
    bool bad = strcmp(e->level, "error") == 0;
    if (bad || strcmp(e->level, "warning") == 0) {
        *sign = '!';
        *tone = bad ? TONE_BAD : TONE_WARN;
        return true;
    }
    *tone = TONE_MARK;
    *sign = strcmp(e->level, "mark") == 0 ? 'm' : '^';
    return *sign == 'm' || record_event_changes(e, false);
}

unsigned parts_marks(const struct frame *f, double from_s, double to_s, struct graph_mark *out) {
    unsigned n = 0;
    for (size_t i = history_events(f->history); i-- > 0 && n < GRAPH_MARKS;) {
        const struct record_event *e = history_event_at(f->history, i);
        if (!(e->t_s >= from_s && e->t_s <= to_s)) continue;
        out[n].t_s = e->t_s;
        if (parts_event_marked(e, &out[n].sign, &out[n].tone)) n++;
    }
    for (size_t i = history_decisions(f->history); i-- > 0 && n < GRAPH_MARKS;) {
        double t_s;
        const struct snapshot_decision *d = history_decision_at(f->history, i, &t_s);
        if (t_s >= from_s && t_s <= to_s && d->users_before != d->users_after)
            out[n++] = (struct graph_mark){.t_s = t_s, .sign = '^', .tone = TONE_MARK};
    }
    return n;
}

double parts_end_s(const struct frame *f) {
    return f->back ? f->shown_s : KVF_MISSING;
}

/* The tops of the history are round in powers of ten; bytes are written in powers of 1024, and what is
 * round there lies at or above it. */
static double binary_top(double top) {
    return top > 0 ? top * pow(1.024, floor(log10(top) / 3 + 1e-9)) : top;
}

/* A level is drawn first: lines go over it. */
static void graph_of(const struct pane *p, const struct frame *f, const char *title, number_fn *axis,
                     double top, double target, const struct parts_line *lines, unsigned count) {
    float values[GRAPH_LINES][2 * CANVAS_COLS_MAX];
    char heading[80]; /* in line with those of tables */
    struct graph g = {.title = heading, .axis = axis, .top = top, .cursor_s = KVF_MISSING};
    size_t points = graph_points(p);

    if (pane_empty(p)) return;
    snprintf(heading, sizeof heading, " %s", title);
    if (points > 2 * CANVAS_COLS_MAX) points = 2 * CANVAS_COLS_MAX;
    history_span(f->history, f->zoom, parts_end_s(f), &g.from_s, &g.to_s);
    if (f->back && f->shown_s < g.to_s) g.cursor_s = f->shown_s;
    if (kvf_present(target)) {
        for (size_t i = 0; i < points; i++) values[0][i] = (float)target;
        g.line[g.lines++] = (struct graph_line){.name = "target", .values = values[0], .tone = TONE_MARK};
    }
    for (unsigned k = 0; k < count && g.lines < GRAPH_LINES; k++, g.lines++) {
        const struct parts_line *l = &lines[k];
        history_series(f->history, l->series, f->zoom, parts_end_s(f), points, values[g.lines]);
        g.line[g.lines] = (struct graph_line){.name = l->name,
                                              .values = values[g.lines],
                                              .tone = l->tone,
                                              .broken = l->broken,
                                              .whole = strstr(l->name, " emul")};
        if (top <= 0) g.top = fmax(g.top, history_top(f->history, l->series, f->zoom, parts_end_s(f)));
    }
    if (top <= 0 && (axis == number_rate || axis == number_bytes || axis == number_short))
        g.top = binary_top(g.top);
    g.marks = parts_marks(f, g.from_s, g.to_s, g.mark);
    graph_draw(p, &g);
}

void parts_graph(const struct pane *p, const struct frame *f, const char *title, number_fn *axis, double top,
                 const struct parts_line *lines, unsigned count) {
    graph_of(p, f, title, axis, top, KVF_MISSING, lines, count);
}

void parts_graph_target(const struct pane *p, const struct frame *f, const char *title, number_fn *axis,
                        double target, const struct parts_line *lines, unsigned count) {
    graph_of(p, f, title, axis, 0, target, lines, count);
}

void parts_tier_graph(const struct pane *p, const struct frame *f, const char *title, number_fn *axis,
                      double top, enum series_tier series) {
    struct parts_line line[KVF_TIERS];
    char name[KVF_TIERS][64];
    unsigned n = 0;

    for (int t = 0; t < KVF_TIERS; t++) {
        if (!parts_tier_on(f, t)) continue;
        line[n] = (struct parts_line){parts_tier_label(f, t, name[n], sizeof name[n]), series_tier(t, series),
                                      parts_tier_tone(t), false};
        n++;
    }
    parts_graph(p, f, title, axis, top, line, n);
}

/* How the values of a series are written: as the figure beside them. */
static number_fn *number_of(int series) {
    static number_fn *const of_run[SERIES_RUN] = {
        [SERIES_HIT_RATIO] = number_percent,    [SERIES_HOST_CPU] = number_percent,
        [SERIES_HOST_STEAL] = number_percent,   [SERIES_DISK_BUSY] = number_percent,
        [SERIES_E2E_P50_MS] = number_ms,        [SERIES_E2E_P95_MS] = number_ms,
        [SERIES_E2E_P99_MS] = number_ms,        [SERIES_TTFT_P95_MS] = number_ms,
        [SERIES_WAIT_P95_MS] = number_ms,       [SERIES_STORAGE_P95_MS] = number_ms,
        [SERIES_GENERATION_P95_MS] = number_ms, [SERIES_RSS] = number_short,
        [SERIES_AVAILABLE] = number_short,      [SERIES_DISK_READ] = number_short,
        [SERIES_DISK_WRITE] = number_short,     [SERIES_NET_RX] = number_short,
        [SERIES_NET_TX] = number_short};
    static number_fn *const of_tier[SERIES_OF_TIER] = {[SERIES_TIER_USED_RATIO] = number_percent,
                                                       [SERIES_TIER_READ] = number_short,
                                                       [SERIES_TIER_WRITE] = number_short,
                                                       [SERIES_TIER_READ_P95_MS] = number_ms,
                                                       [SERIES_TIER_WRITE_P95_MS] = number_ms};
    static number_fn *const of_class[SERIES_OF_CLASS] = {
        [SERIES_CLASS_MET] = number_percent, [SERIES_CLASS_OLDEST_MS] = number_ms};
    static number_fn *const of_gpu[SERIES_OF_GPU] = {
        [SERIES_GPU_UTILISATION] = number_percent, [SERIES_GPU_MEMORY] = number_short};
    number_fn *fn = series < SERIES_TIER0    ? of_run[series]
                    : series < SERIES_CLASS0 ? of_tier[(series - SERIES_TIER0) % SERIES_OF_TIER]
                    : series < SERIES_GPU0   ? of_class[(series - SERIES_CLASS0) % SERIES_OF_CLASS]
                                             : of_gpu[(series - SERIES_GPU0) % SERIES_OF_GPU];
    return fn ? fn : number_count;
}

/* The largest of what is shown, behind it where there is room for both. */
static int put_most(const struct pane *p, int row, int col, int cols, int series, const float *values,
                    size_t points) {
    enum { LEAST = 24 };
    char figure[NUMBER], text[NUMBER + 8];
    float most = NAN;
    for (size_t i = 0; i < points; i++)
        if (!(values[i] <= most) && !isnan(values[i])) most = values[i];
    if (cols < LEAST || isnan(most)) return 0;
    number_of(series)((double)most, figure);
    int used = snprintf(text, sizeof text, " max %s", figure + strspn(figure, " "));
    pane_text(p, row, col + cols - used, TONE_DIM, text);
    return used;
}

int parts_spark(const struct pane *p, int row, int col, int cols, const struct frame *f, const char *label,
                const char *figure, int series, double top, enum tone tone) {
    float values[CANVAS_COLS_MAX];
    int begin = col, end = col + cols;
    if (cols <= 0) return 0;
    if (label[0]) col += pane_clip(p, row, col, end - col, TONE_HEADING, label) + 1;
    if (figure[0] && col < end) col += pane_clip(p, row, col, end - col, TONE_STRONG, figure) + 1;
    if (end - col < 3 || end > p->at.cols) return end - begin;
    size_t points = graph_spark_points(end - col);
    if (points > CANVAS_COLS_MAX) return end - begin;
    history_series(f->history, series, f->zoom, parts_end_s(f), points, values);
    int most = put_most(p, row, col, end - col, series, values, points);
    if (most > 0) { /* in the columns that are left */
        points = graph_spark_points(end - col - most);
        history_series(f->history, series, f->zoom, parts_end_s(f), points, values);
    }
    if (top <= 0) top = history_top(f->history, series, f->zoom, parts_end_s(f));
    graph_spark(p, row, col, end - col - most, values, top, tone);
    return end - begin;
}

bool parts_filter(const char *text, const char *filter) {
    return strcasestr(text, filter) != NULL;
}

void parts_headings(const struct pane *p, const struct frame *f, const struct column *columns, int count,
                    const struct column_place *at) {
    bool ascii = p->canvas->style.ascii;
    const char *arrow = f->table.descending ? (ascii ? "v" : "▼") : (ascii ? "^" : "▲");
    char text[32];
    for (int i = 0; i < count; i++) {
        bool sorts = i == f->table.sort;
        snprintf(text, sizeof text, "%s%s", columns[i].heading, sorts ? arrow : "");
        columns_cell(p, 0, &columns[i], at[i], sorts ? TONE_STRONG : TONE_HEADING, text);
        if (at[i].cols) pane_hot(p, 0, at[i].col, 1, at[i].cols, sorts ? 'O' : KEY_CODE_COLUMN + i);
    }
}
