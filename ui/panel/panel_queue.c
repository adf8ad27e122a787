#include <math.h>
#include <stdio.h>
#include <string.h>

#include "draw/graph.h"
#include "draw/number.h"
#include "ui/panel/columns.h"
#include "ui/panel/panels.h"
#include "ui/panel/parts.h"

enum { SLOTS, CLASSES, DEPTH, MET, OLDEST, VIOLATED, SERVED, SECTIONS };

static const struct layout_section sections[SECTIONS] = {
    [SLOTS] = {.name = "slots", .line = 0, .least_cols = 20, .rows = {1}, .urgency = {2}},
    [CLASSES] = {.name = "classes", .line = 1, .least_cols = 20, .rows = {4, 5}, .urgency = {1, 4}},
    [DEPTH] = {.name = "waiting", .line = 2, .least_cols = 38, .rows = {3, 6}, .urgency = {3, 7}, .grow = 1},
    [MET] = {.name = "SLO met", .line = 2, .least_cols = 38, .rows = {3, 6}, .urgency = {5, 8}, .grow = 1},
    [OLDEST] = {.name = "oldest", .line = 3, .least_cols = 38, .rows = {3, 6}, .urgency = {6, 9}, .grow = 1},
    [VIOLATED] =
        {.name = "violations", .line = 3, .least_cols = 38, .rows = {3, 6}, .urgency = {10, 11}, .grow = 1},
    [SERVED] = {.name = "in service", .line = 4, .least_cols = 38, .rows = {3}, .urgency = {12}, .grow = 1},
};

enum {
    CLASS,
    WAITING,
    IN_SERVICE,
    ARRIVED,
    DONE,
    FAILED,
    OLDEST_WAIT,
    P95,
    SLO_MET,
    WAITING_TREND,
    MET_TREND,
    COLUMNS
};
static const struct column columns[COLUMNS] = {
    [CLASS] = {.heading = "class", .cols = 11, .rank = 1, .most = 24, .left = true},
    [WAITING] = {.heading = "waiting", .cols = 7, .rank = 2},
    [IN_SERVICE] = {.heading = "in svc", .cols = 6, .rank = 6},
    [ARRIVED] = {.heading = "arr/s", .cols = 5, .rank = 9},
    [DONE] = {.heading = "done/s", .cols = 6, .rank = 7},
    [FAILED] = {.heading = "fail/s", .cols = 6, .rank = 8},
    [OLDEST_WAIT] = {.heading = "oldest", .cols = NUMBER_MS, .rank = 4},
    [P95] = {.heading = "P95 / target", .cols = 2 * NUMBER_MS + 3, .rank = 5},
    [SLO_MET] = {.heading = "SLO met", .cols = NUMBER_PERCENT, .rank = 3},
    [WAITING_TREND] = {.heading = "waiting lately", .cols = 16, .rank = 11, .most = 40, .left = true},
    [MET_TREND] = {.heading = "SLO met lately", .cols = 16, .rank = 12, .most = 40, .left = true},
};

/* Hues are few; classes beyond them have the same ones, and broken lines. */
enum { CLASS_TONES = 4 };
static enum tone class_tone(uint32_t k) {
    static const enum tone tones[CLASS_TONES] = {TONE_ACCENT, TONE_SECOND, TONE_THIRD, TONE_NORMAL};
    return tones[k % CLASS_TONES];
}

/* ---- slots ---- */

/* "50 of 256 in use", a bar, and what found no room in the queue. Of a whole run "19.5 % of 256". */
static void draw_slots(const struct pane *p, const struct frame *f) {
    enum { BAR_LEAST = 5, SAID_LEAST = 24, GAP = 2 };
    char one[NUMBER], two[NUMBER];
    const struct snapshot_interval *i = f->snap ? &f->snap->interval : NULL;
    bool whole = parts_whole_run(f);
    double slots = i && i->slots ? (double)i->slots : KVF_MISSING;
    double busy = i ? (double)i->in_service_now : KVF_MISSING, dropped = i ? (double)i->dropped : KVF_MISSING;
    double share = whole ? result_value(&f->run->results, "slots_busy_ratio") : busy / slots;
    if (whole) dropped = result_value(&f->run->results, "requests_dropped");
    bool full = whole ? share >= 0.95 : busy >= slots, drops = dropped > 0;
    char text[64];

    int col = pane_text(p, 0, 0, TONE_HEADING, "Slots ");
    number_count(slots, two);
    const char *used = whole ? number_percent(share, one) : number_count(busy, one);
    if (whole)
        snprintf(text, sizeof text, "%s of %s", used + strspn(used, " "), two + strspn(two, " "));
    else
        snprintf(text, sizeof text, "%s of %-5s", used, two + strspn(two, " "));
    col += pane_text(p, 0, col, full ? TONE_WARN : TONE_STRONG, text) + 1;
    number_count(dropped, one);
    snprintf(text, sizeof text, "%s%s dropped", drops ? "! " : "", one + strspn(one, " "));
    int end = p->at.cols - GAP - 16; /* "! 12.4k dropped", which keeps its room */
    if (end - col < SAID_LEAST) end = p->at.cols - GAP - canvas_text_columns(text);
    pane_right(p, 0, p->at.cols, drops ? TONE_BAD : TONE_DIM, text);
    if (end - col >= SAID_LEAST)
        col += pane_text(p, 0, col, full ? TONE_WARN : TONE_NORMAL, full ? "all in use" : "in use    ") + 1;
    if (end - col >= BAR_LEAST) graph_bar(p, 0, col, end - col, share, full ? TONE_WARN : TONE_ACCENT);
}

/* ---- the table ---- */

enum { MARGIN = 1 }; /* for the sign of a missed target */

static enum tone met_tone(const struct parts_class *x) {
    return x->missed ? TONE_BAD : isnan(x->met) ? TONE_DIM : TONE_GOOD;
}

static void draw_cells(const struct pane *p, int row, const struct frame *f, const struct column *c,
                       const struct column_place *at, const struct parts_class *x) {
    char text[64], one[NUMBER], two[NUMBER];

    columns_cell(p, row, &c[WAITING], at[WAITING], x->waiting > 0 ? TONE_STRONG : TONE_NORMAL,
                 number_count(x->waiting, one));
    columns_cell(p, row, &c[IN_SERVICE], at[IN_SERVICE], TONE_NORMAL, number_count(x->in_service, one));
    columns_cell(p, row, &c[ARRIVED], at[ARRIVED], TONE_NORMAL, number_count(x->arrived_s, one));
    columns_cell(p, row, &c[DONE], at[DONE], TONE_NORMAL, number_count(x->done_s, one));
    columns_cell(p, row, &c[FAILED], at[FAILED], x->failed_s > 0 ? TONE_BAD : TONE_DIM,
                 number_count(x->failed_s, one));
    columns_cell(p, row, &c[OLDEST_WAIT], at[OLDEST_WAIT], x->overdue > 0 ? TONE_BAD : TONE_NORMAL,
                 number_ms(x->oldest_ms, one));
    snprintf(text, sizeof text, "%s%s%7s", number_ms(x->p95_ms, one), x->name ? " / " : "   ",
             x->name ? number_ms(x->target_ms, two) : "");
    columns_cell(p, row, &c[P95], at[P95], x->p95_ms > x->target_ms ? TONE_BAD : TONE_NORMAL, text);
    if (x->name) columns_cell(p, row, &c[SLO_MET], at[SLO_MET], met_tone(x), parts_class_met(f, x, one));
}

static void draw_class(const struct pane *p, int row, const struct frame *f, const struct column *c,
                       const struct column_place *at, uint32_t k) {
    struct parts_class x;

    parts_class(f, k, &x);
    struct pane body = pane_part(p, 0, MARGIN, -1, -1);
    parts_row(&body, row, f, FRAME_CLASS, k);
    if (x.missed) pane_text(p, row, 0, TONE_BAD, "!");
    columns_cell(p, row, &c[CLASS], at[CLASS], class_tone(k), x.name);
    draw_cells(p, row, f, c, at, &x);
    parts_spark(p, row, at[WAITING_TREND].col, at[WAITING_TREND].cols, f, "", "",
                series_class((int)k, SERIES_CLASS_QUEUED), 0, class_tone(k));
    parts_spark(p, row, at[MET_TREND].col, at[MET_TREND].cols, f, "", "",
                series_class((int)k, SERIES_CLASS_MET), 1, class_tone(k));
}

/* All classes, whose targets differ: they are not judged together. */
static void draw_sum(const struct pane *p, int row, const struct frame *f, const struct column *c,
                     const struct column_place *at) {
    struct parts_figures m;
    const struct snapshot_interval *i = &m.interval;

    parts_figures(f, &m);
    struct parts_class x = {.waiting = (double)i->queue_depth,
                            .in_service = m.whole ? KVF_MISSING : (double)i->in_service_now,
                            .oldest_ms = i->oldest_wait_ms,
                            .arrived_s = parts_per_second(f, (double)i->arrived),
                            .done_s = parts_per_second(f, (double)i->done),
                            .failed_s = parts_per_second(f, (double)(i->failed + i->dropped)),
                            .p95_ms = parts_judged_by_e2e(f) ? i->e2e_p95_ms : i->ttft_p95_ms,
                            .target_ms = KVF_MISSING,
                            .met = KVF_MISSING};
    columns_cell(p, row, &c[CLASS], at[CLASS], TONE_HEADING, "all");
    draw_cells(p, row, f, c, at, &x);
}

enum { HEADING = 40 };
static void place(const struct pane *p, const struct frame *f, struct column *mine, struct column_place *at,
                  char heading[HEADING]) {
    char span[24];
    memcpy(mine, columns, sizeof columns);
    snprintf(heading, HEADING, "class%s", parts_span(f, span, sizeof span));
    mine[CLASS].heading = heading;
    if (canvas_text_columns(heading) > mine[CLASS].cols) mine[CLASS].cols = canvas_text_columns(heading);
    mine[P95].heading = parts_judged_by_e2e(f) ? "e2e P95 / target" : "TTFT P95 / target";
    if (parts_whole_run(f)) { /* what stands in the queue is what it left, and nobody is served */
        mine[CLASS].heading = "whole run";
        mine[WAITING].heading = "waiting at end", mine[WAITING].cols = 14;
        mine[IN_SERVICE].cols = mine[FAILED].cols = CANVAS_COLS_MAX;
        mine[IN_SERVICE].rank = mine[FAILED].rank = COLUMNS;
    }
    columns_place(mine, COLUMNS, p->at.cols - MARGIN, at);
    for (int i = 0; i < COLUMNS; i++) at[i].col += MARGIN;
    columns_headings(p, 0, mine, COLUMNS, at);
}

static void draw_classes(const struct pane *p, const struct frame *f) {
    struct column mine[COLUMNS];
    struct column_place at[COLUMNS];
    char heading[HEADING];
    uint32_t classes = parts_classes(f);

    place(p, f, mine, at, heading);
    uint32_t rows = p->at.rows > 1 ? (uint32_t)p->at.rows - 1 : 0;
    uint32_t shown = classes <= rows ? classes : rows > 0 ? rows - 1 : 0;
    for (uint32_t k = 0; k < shown; k++) draw_class(p, (int)k + 1, f, mine, at, k);
    if (shown < classes && parts_class_missed(f, shown)) pane_text(p, (int)rows, 0, TONE_BAD, "!");
    if (shown < classes)
        pane_textf(p, (int)rows, MARGIN, TONE_DIM, "and %u more classes", classes - shown);
    else if (classes < rows && classes > 1 && f->snap)
        draw_sum(p, (int)classes + 1, f, mine, at);
}

/* ---- graphs ---- */

static void draw_graph(struct canvas *c, struct rect at, const struct frame *f, const char *title,
                       number_fn *axis, enum series_class series, double top) {
    struct parts_line lines[KVF_CLASSES_MAX];
    struct parts_class x[KVF_CLASSES_MAX];
    struct pane p = pane_at(c, at);
    uint32_t classes = parts_classes(f);
    if (pane_empty(&p)) return;
    for (uint32_t k = 0; k < classes; k++) {
        parts_class(f, k, &x[k]);
        lines[k] =
            (struct parts_line){x[k].name, series_class((int)k, series), class_tone(k), k >= CLASS_TONES};
    }
    parts_graph(&p, f, title, axis, top, lines, classes);
}

/* The table takes the rows its classes need, the graphs share what is left in equal parts, those that
 * would not be readable are left out from the last on. */
static void share_rows(struct rect *at, int need) {
    enum { GRAPH_LEAST = 3, GRAPH_GOOD = 7 };
    int bands = 0, free_rows = at[CLASSES].rows, top = at[CLASSES].row;
    int band[SECTIONS] = {0};

    for (int s = DEPTH; s < SECTIONS; s++) {
        if (at[s].rows == 0) continue;
        bool beside = s > DEPTH && bands > 0 && at[s].row == at[s - 1].row;
        if (!beside) free_rows += at[s].rows, bands++;
        band[s] = bands;
    }
    at[CLASSES].rows = need < free_rows ? need : free_rows;
    free_rows -= at[CLASSES].rows;
    if (band[SERVED] && free_rows / bands < GRAPH_GOOD) bands--; /* the others are worth more */
    while (bands > 0 && free_rows / bands < GRAPH_LEAST) bands--;
    for (int s = DEPTH; s < SECTIONS; s++) {
        if (band[s] == 0 || band[s] > bands) {
            at[s] = (struct rect){0, 0, 0, 0};
            continue;
        }
        int share = free_rows / bands, extra = free_rows % bands, before = band[s] - 1;
        at[s].row = top + at[CLASSES].rows + before * share + (before < extra ? before : extra);
        at[s].rows = share + (before < extra);
    }
}

static void draw(struct canvas *c, const struct rect *where, const struct frame *f) {
    struct rect at[SECTIONS];
    int classes = (int)parts_classes(f);

    memcpy(at, where, sizeof at);
    if (at[CLASSES].rows) share_rows(at, 1 + classes + (classes > 1 && f->snap && at[CLASSES].rows > 4));
    struct pane slots = pane_at(c, at[SLOTS]), table = pane_at(c, at[CLASSES]);
    slots = pane_part(&slots, 0, 1, -1, -1);
    if (!pane_empty(&slots)) draw_slots(&slots, f);
    if (!pane_empty(&table)) draw_classes(&table, f);
    draw_graph(c, at[DEPTH], f, "Waiting", number_count, SERIES_CLASS_QUEUED, 0);
    draw_graph(c, at[MET], f, "SLO met", number_percent, SERIES_CLASS_MET, 1);
    draw_graph(c, at[OLDEST], f, "Oldest wait", number_ms, SERIES_CLASS_OLDEST_MS, 0);
    draw_graph(c, at[VIOLATED], f, "Violations/s", number_count, SERIES_CLASS_VIOLATIONS, 0);
    draw_graph(c, at[SERVED], f, "In service", number_count, SERIES_CLASS_SERVED, 0);
}

const struct panel_ops panel_queue = {
    .name = "queue",
    .title = "what waits and for how long, and whether each class meets its target",
    .sections = sections,
    .section_count = SECTIONS,
    .draw = draw};
