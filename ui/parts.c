#include "ui/parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ui/columns.h"
#include "ui/number.h"

enum { LABEL_LEAST = 8, LABEL_MOST = 12, LABEL_MOST_WIDE = 20, WIDE_COLS = 100, NARROW_COLS = 60 };
enum { EVENT_TIME_COLS = 8, EVENT_LEVEL_COLS = 8 };

bool parts_whole_run(const struct frame *f) {
    return f->over && !f->back;
}

const char *parts_sign(const struct canvas *c, enum parts_sign sign) {
    static const char *const signs[PARTS_SIGNS][2] = {[PARTS_DOT] = {"\u00b7", "-"},
                                                      [PARTS_ARROW] = {"\u2192", "->"},
                                                      [PARTS_LEFT_RIGHT] = {"\u2190/\u2192", "left/right"}};
    return signs[sign][c->style.ascii];
}

enum tone tone_of_tier(int tier) {
    static const enum tone tones[KVF_TIERS] = {TONE_GPU, TONE_CPU, TONE_NVME};
    return tier >= 0 && tier < KVF_TIERS ? tones[tier] : TONE_NORMAL;
}

const char *tier_label(const struct frame *f, int tier, char *out, size_t len) {
    bool emulated = f->snap ? f->snap->tier_emulated[tier] : f->run->tier[tier].emulated;
    const char *device = f->snap ? f->snap->tier_device[tier] : "";
    if (emulated) device = "emul";
    snprintf(out, len, "%s%s%s", tier_name((enum kvf_tier)tier), device[0] ? " " : "", device);
    return out;
}

/* ---- tiers ---- */

enum {
    NAME,
    BAR,
    FULL,
    ROOM,
    READ,
    WRITE,
    READ_P50,
    READ_P95,
    READ_P99,
    WRITE_P50,
    WRITE_P95,
    WRITE_P99,
    IN_FLIGHT,
    ENTRIES,
    HITS,
    FALLS,
    RISES,
    COLUMNS
};
static const struct column tier_columns[COLUMNS] = {
    [NAME] = {.heading = "Tiers", .cols = LABEL_LEAST, .rank = 1, .left = true},
    [BAR] = {.heading = "", .cols = 6, .rank = 2, .most = 48, .left = true},
    [FULL] = {.heading = "full", .cols = NUMBER_PERCENT, .rank = 10},
    [ROOM] = {.heading = "used/usable", .cols = 2 * NUMBER_SHORT + 1, .rank = 6, .left = true},
    [READ] = {.heading = "read/s", .cols = 6, .rank = 3},
    [WRITE] = {.heading = "write/s", .cols = 7, .rank = 5},
    [READ_P50] = {.heading = "r P50", .cols = NUMBER_MS, .rank = 14},
    [READ_P95] = {.heading = "r P95", .cols = NUMBER_MS, .rank = 4},
    [READ_P99] = {.heading = "r P99", .cols = NUMBER_MS, .rank = 12},
    [WRITE_P50] = {.heading = "w P50", .cols = NUMBER_MS, .rank = 15},
    [WRITE_P95] = {.heading = "w P95", .cols = NUMBER_MS, .rank = 7},
    [WRITE_P99] = {.heading = "w P99", .cols = NUMBER_MS, .rank = 13},
    [IN_FLIGHT] = {.heading = "in flight", .cols = 9, .rank = 11},
    [ENTRIES] = {.heading = "entries", .cols = 7, .rank = 9},
    [HITS] = {.heading = "hits/s", .cols = 6, .rank = 16},
    [FALLS] = {.heading = "falls/s", .cols = 7, .rank = 8},
    [RISES] = {.heading = "rises/s", .cols = 7, .rank = 17},
};

/* What a row shows, of the moment or of the whole run. */
struct tier_row {
    double used, usable, read, write;              /* bytes, bytes per second */
    double ms[KVF_DIRS][3];                        /* P50, P95, P99 */
    double in_flight, entries, hits, falls, rises; /* counts; the last three per second */
};

static double tier_result(const struct frame *f, int tier, const char *what) {
    char metric[64];
    snprintf(metric, sizeof metric, "%s_%s", tier_name((enum kvf_tier)tier), what);
    return result_value(&f->run->results, metric);
}

static void tier_row_of_run(const struct frame *f, int t, struct tier_row *r) {
    static const char *const quantile[] = {"p50", "p95", "p99"};
    const double gib = 1024.0 * 1024 * 1024, wall_s = result_value(&f->run->results, "measured_s");
    char what[32];
    *r = (struct tier_row){.used = tier_result(f, t, "used_bytes"),
                           .usable = (double)f->run->tier[t].usable_bytes};
    r->read = tier_result(f, t, "read_gib_s") * gib, r->write = tier_result(f, t, "write_gib_s") * gib;
    for (int d = 0; d < KVF_DIRS; d++) {
        for (int q = 0; q < 3; q++) {
            snprintf(what, sizeof what, "%s_%s_ms", dir_name((enum kvf_dir)d), quantile[q]);
            r->ms[d][q] = tier_result(f, t, what);
        }
    }
    r->in_flight = KVF_MISSING, r->entries = tier_result(f, t, "entries");
    r->hits = tier_result(f, t, "hits") / wall_s, r->rises = tier_result(f, t, "promotions") / wall_s;
    r->falls = (tier_result(f, t, "demotions") + tier_result(f, t, "evictions")) / wall_s;
}

static void tier_row_of_moment(const struct frame *f, int t, struct tier_row *r) {
    const struct snapshot_tier *x = &f->snap->tier[t];
    /* A look between intervals has no length, and so no rates. */
    double s = f->snap->interval.length_s > 0 && !f->snap->peek ? f->snap->interval.length_s : KVF_MISSING;
    *r = (struct tier_row){.used = (double)x->used_bytes,
                           .usable = (double)x->capacity_bytes,
                           .read = (double)x->read_bytes / s,
                           .write = (double)x->write_bytes / s,
                           .ms = {{x->read_p50_ms, x->read_p95_ms, x->read_p99_ms},
                                  {x->write_p50_ms, x->write_p95_ms, x->write_p99_ms}},
                           .in_flight = (double)x->io_in_flight,
                           .entries = (double)x->entries,
                           .hits = (double)x->hits / s,
                           .rises = (double)x->promotions / s,
                           .falls = ((double)x->demotions + (double)x->evictions) / s};
}

static bool tier_is_on(const struct frame *f, int t) {
    return f->snap ? f->snap->tier_on[t] : f->run->tier[t].on;
}

static void draw_tier(const struct pane *p, int row, const struct frame *f, int t, const struct column *c,
                      const struct column_place *at) {
    struct tier_row r;
    char text[64], used[NUMBER], usable[NUMBER];
    bool wide = at[READ].cols >= NUMBER_RATE;

    columns_cell(p, row, &c[NAME], at[NAME], tone_of_tier(t), tier_label(f, t, text, sizeof text));
    if (!tier_is_on(f, t)) {
        columns_cell(p, row, &c[BAR], at[BAR], TONE_DIM, "off");
        return;
    }
    if (parts_whole_run(f))
        tier_row_of_run(f, t, &r);
    else if (f->snap)
        tier_row_of_moment(f, t, &r);
    else
        return;
    double full = r.usable > 0 ? r.used / r.usable : KVF_MISSING;
    if (at[BAR].cols) graph_bar(p, row, at[BAR].col, at[BAR].cols, full, tone_of_tier(t));
    number_short(r.used, used), number_short(r.usable, usable);
    snprintf(text, sizeof text, "%s/%s", used, usable + strspn(usable, " "));
    columns_cell(p, row, &c[ROOM], at[ROOM], TONE_NORMAL, text);
    columns_cell(p, row, &c[FULL], at[FULL], TONE_NORMAL, number_percent(full, text));
    columns_cell(p, row, &c[READ], at[READ], TONE_STRONG, (wide ? number_rate : number_short)(r.read, text));
    columns_cell(p, row, &c[WRITE], at[WRITE], TONE_STRONG,
                 (wide ? number_rate : number_short)(r.write, text));
    for (int d = 0; d < KVF_DIRS; d++) {
        for (int q = 0; q < 3; q++) {
            int k = (d == KVF_DIR_READ ? READ_P50 : WRITE_P50) + q;
            columns_cell(p, row, &c[k], at[k], TONE_NORMAL, number_ms(r.ms[d][q], text));
        }
    }
    const double counts[] = {r.in_flight, r.entries, r.hits, r.falls, r.rises};
    for (int k = IN_FLIGHT; k <= RISES; k++)
        columns_cell(p, row, &c[k], at[k], TONE_NORMAL, number_count(counts[k - IN_FLIGHT], text));
}

/* The widest label there is, inside bounds. */
static int label_cols(const struct frame *f, int most, const char *heading) {
    char text[64];
    int cols = text_columns(heading);
    if (cols < LABEL_LEAST) cols = LABEL_LEAST;
    for (int t = 0; t < KVF_TIERS; t++) {
        int need = text_columns(tier_label(f, t, text, sizeof text));
        if (tier_is_on(f, t) && need > cols) cols = need;
    }
    return cols < most ? cols : most;
}

void parts_tiers(const struct pane *p, const struct frame *f) {
    struct column c[COLUMNS];
    struct column_place at[COLUMNS];
    struct pane body = pane_part(p, 0, 1, -1, -1);
    bool wide = body.at.cols >= WIDE_COLS;
    int row = 1;

    if (pane_empty(&body)) return;
    memcpy(c, tier_columns, sizeof c);
    if (parts_whole_run(f)) c[NAME].heading = "Whole run";
    c[NAME].cols = label_cols(f, wide ? LABEL_MOST_WIDE : LABEL_MOST, c[NAME].heading);
    if (wide) {
        c[READ].heading = "read", c[READ].cols = NUMBER_RATE;
        c[WRITE].heading = "write", c[WRITE].cols = NUMBER_RATE;
    }
    columns_place(c, COLUMNS, body.at.cols, at);
    columns_headings(&body, 0, c, COLUMNS, at);
    for (int t = 0; t < KVF_TIERS; t++)
        if (tier_is_on(f, t)) row++;
    /* Tiers that are off are named only where that costs no row of one that is on. */
    bool all = body.at.rows > KVF_TIERS || row > body.at.rows;
    row = 1;
    for (int t = 0; t < KVF_TIERS; t++)
        if (tier_is_on(f, t) || (all && (f->snap || f->over))) draw_tier(&body, row++, f, t, c, at);
}

/* ---- sentences ---- */

int parts_bottleneck(const struct pane *p, const struct frame *f) {
    struct pane body = pane_part(p, 0, 1, -1, -1);
    char text[KVF_BOTTLENECK + 40];
    bool whole = parts_whole_run(f);
    const char *what = whole ? f->run->bottleneck : f->snap ? f->snap->bottleneck : "";
    if (pane_empty(&body)) return 0;
    snprintf(text, sizeof text, "Bottleneck: %s%s", what[0] ? what : "--",
             what[0] && !whole ? " (last 10 s)" : "");
    int used = pane_wrap(&body, 0, TONE_STRONG, text);
    pane_tone(&body, 0, 0, 11, TONE_HEADING);
    return used;
}

/* Pieces of a line, label and figure, as long as each fits as a whole; the last one may be cut. */
struct line {
    const struct pane *p;
    int row, col;
};

static bool line_add(struct line *l, const char *label, const char *figure) {
    int need = text_columns(label) + 1 + text_columns(figure);
    if (l->col + need > l->p->at.cols) return false;
    l->col += pane_text(l->p, l->row, l->col, TONE_HEADING, label) + 1;
    l->col += pane_text(l->p, l->row, l->col, TONE_STRONG, figure) + 3;
    return true;
}

/* What has no time happened before the clock began. */
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
        if (!in_past(f, e->t_s) || strcmp(e->level, "info") != 0) continue;
        if (strncmp(e->message, "users ", 6) == 0) return e;
    }
    return NULL;
}

static void draw_decision(struct line *l, const struct frame *f, const struct snapshot_decision *d,
                          double t_s) {
    char text[64], clock[NUMBER];
    line_add(l, "Autoscaler", d->mode);
    snprintf(text, sizeof text, "%llu %s %llu", (unsigned long long)d->users_before,
             parts_sign(l->p->canvas, PARTS_ARROW), (unsigned long long)d->users_after);
    line_add(l, "users", text);
    line_add(l, "at", number_clock(t_s, clock));
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
    if (d) {
        draw_decision(&l, f, d, t_s);
        return;
    }
    snprintf(text, sizeof text, "%s", "--");
    if (f->snap)
        snprintf(text, sizeof text, "%s",
                 number_count((double)f->snap->interval.users, clock) + strspn(clock, " "));
    line_add(&l, "Users", text);
    line_add(&l, "generation", f->generation ? f->generation : "--");
    if (change) {
        snprintf(text, sizeof text, "%.60s at %s", change->message, number_clock(change->t_s, clock));
        line_add(&l, "last change", text);
    }
    if (f->snap) {
        snprintf(text, sizeof text, "%llu of %llu", (unsigned long long)f->snap->interval.in_service,
                 (unsigned long long)f->snap->interval.slots);
        line_add(&l, "slots in use", text);
    }
    if (f->autoscaler) line_add(&l, "autoscaler", "off");
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
    if (number_clock(e->t_s, clock) && text_columns(clock) > EVENT_TIME_COLS)
        snprintf(clock, sizeof clock, "%.0f h", e->t_s / 3600);
    pane_right(p, row, EVENT_TIME_COLS, TONE_DIM, kvf_present(e->t_s) ? clock : "before");
    struct pane level = pane_part(p, row, EVENT_TIME_COLS + 1, 1, level_cols);
    bool cut = text_columns(e->level) > level_cols && event_tone(e) == TONE_BAD;
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
    return *sign == 'm' || strstr(e->message, " by ");
}

/* The newest ones, when there are more than a graph takes. */
static void graph_marks(struct graph *g, const struct frame *f) {
    for (size_t i = history_events(f->history); i-- > 0 && g->marks < GRAPH_MARKS;) {
        const struct record_event *e = history_event_at(f->history, i);
        struct graph_mark *m = &g->mark[g->marks];
        if (!(e->t_s >= g->from_s && e->t_s <= g->to_s)) continue;
        m->t_s = e->t_s;
        if (parts_event_marked(e, &m->sign, &m->tone)) g->marks++;
    }
    for (size_t i = history_decisions(f->history); i-- > 0 && g->marks < GRAPH_MARKS;) {
        double t_s;
        const struct snapshot_decision *d = history_decision_at(f->history, i, &t_s);
        if (t_s >= g->from_s && t_s <= g->to_s && d->users_before != d->users_after)
            g->mark[g->marks++] = (struct graph_mark){.t_s = t_s, .sign = '^', .tone = TONE_MARK};
    }
}

double parts_end_s(const struct frame *f) {
    return f->back ? f->shown_s : KVF_MISSING;
}

/* The tops of the history are round in powers of ten; bytes are written in powers of 1024, and what is
 * round there lies at or above it. */
static double binary_top(double top) {
    return top > 0 ? top * pow(1.024, floor(log10(top) / 3 + 1e-9)) : top;
}

void parts_graph(const struct pane *p, const struct frame *f, const char *title, number_fn *axis, double top,
                 const struct parts_line *lines, unsigned count) {
    float values[GRAPH_LINES][2 * CANVAS_COLS_MAX];
    char heading[80]; /* in line with those of tables */
    struct graph g = {.title = heading, .axis = axis, .top = top, .cursor_s = KVF_MISSING};
    size_t points = graph_points(p);

    if (pane_empty(p)) return;
    snprintf(heading, sizeof heading, " %s", title);
    if (points > 2 * CANVAS_COLS_MAX) points = 2 * CANVAS_COLS_MAX;
    history_span(f->history, f->zoom, parts_end_s(f), &g.from_s, &g.to_s);
    if (f->back && f->shown_s < g.to_s) g.cursor_s = f->shown_s;
    for (; g.lines < count && g.lines < GRAPH_LINES; g.lines++) {
        const struct parts_line *l = &lines[g.lines];
        history_series(f->history, l->series, f->zoom, parts_end_s(f), points, values[g.lines]);
        g.line[g.lines] = (struct graph_line){.name = l->name, .values = values[g.lines], .tone = l->tone};
        if (top <= 0) g.top = fmax(g.top, history_top_at(f->history, l->series, f->zoom, parts_end_s(f)));
    }
    if (top <= 0 && (axis == number_rate || axis == number_bytes || axis == number_short))
        g.top = binary_top(g.top);
    graph_marks(&g, f);
    graph_draw(p, &g);
}

int parts_spark(const struct pane *p, int row, int col, int cols, const struct frame *f, const char *label,
                const char *figure, int series, double top, enum tone tone) {
    float values[2 * CANVAS_COLS_MAX];
    int begin = col, end = col + cols;
    if (cols <= 0) return 0;
    if (label[0]) col += pane_clip(p, row, col, end - col, TONE_HEADING, label) + 1;
    if (figure[0] && col < end) col += pane_clip(p, row, col, end - col, TONE_STRONG, figure) + 1;
    if (end - col < 3 || end > p->at.cols) return end - begin;
    size_t points = graph_spark_points(p->canvas, end - col);
    if (points > 2 * CANVAS_COLS_MAX) return end - begin;
    history_series(f->history, series, f->zoom, parts_end_s(f), points, values);
    if (top <= 0) top = history_top_at(f->history, series, f->zoom, parts_end_s(f));
    graph_spark(p, row, col, end - col, values, top, tone);
    return end - begin;
}

bool parts_filter(const char *text, const char *filter) {
    return strcasestr(text, filter) != NULL;
}
