#include <math.h>
#include <stdio.h>
#include <string.h>

#include "draw/number.h"
#include "ui/panel/columns.h"
#include "ui/panel/panels.h"
#include "ui/panel/parts.h"

enum { NAME, MET, P50, P95, TARGET, ACTIVE, PAST, OLDEST, DONE, WAITING, SERVED, TREND, COLUMNS };
static const struct column class_columns[COLUMNS] = {
    [NAME] = {.heading = "Class", .cols = 12, .rank = 1, .most = 24, .left = true},
    [MET] = {.heading = "SLO met", .cols = NUMBER_PERCENT, .rank = 2},
    [P50] = {.heading = "P50", .cols = NUMBER_MS, .rank = 6},
    [P95] = {.heading = "ttft P95", .cols = 8, .rank = 3},
    [TARGET] = {.heading = "target", .cols = NUMBER_MS, .rank = 5},
    [ACTIVE] = {.heading = "active", .cols = 6, .rank = 7},
    [PAST] = {.heading = "past target", .cols = 11, .rank = 8},
    [OLDEST] = {.heading = "oldest", .cols = NUMBER_MS, .rank = 4},
    [DONE] = {.heading = "done/s", .cols = 6, .rank = 9},
    [WAITING] = {.heading = "waiting", .cols = 7, .rank = 10},
    [SERVED] = {.heading = "in service", .cols = 10, .rank = 11},
    [TREND] = {.heading = "waiting over time", .cols = 17, .rank = 12, .most = 120, .left = true},
};

static enum tone met_tone(const struct parts_class *x) {
    return x->missed ? TONE_BAD : isnan(x->met) ? TONE_NORMAL : TONE_GOOD;
}

/* A class that misses its target has a sign at the margin where colours say nothing. */
static void draw_class(const struct pane *p, int row, const struct frame *f, uint32_t k,
                       const struct column *c, const struct column_place *at) {
    struct pane body = pane_part(p, 0, 1, -1, -1);
    struct parts_class x;
    char text[NUMBER];

    parts_class(f, k, &x);
    parts_row(&body, row, f, FRAME_CLASS, k);
    double active = parts_whole_run(f) ? x.waiting : x.waiting + x.in_service;
    if (x.missed) pane_text(p, row, 0, TONE_BAD, "!");
    columns_cell(&body, row, &c[NAME], at[NAME], TONE_NORMAL, x.name);
    columns_cell(&body, row, &c[MET], at[MET], met_tone(&x), parts_class_met(f, &x, text));
    columns_cell(&body, row, &c[P50], at[P50], TONE_NORMAL, number_ms(x.p50_ms, text));
    columns_cell(&body, row, &c[P95], at[P95], x.p95_ms > x.target_ms ? TONE_BAD : TONE_STRONG,
                 number_ms(x.p95_ms, text));
    columns_cell(&body, row, &c[TARGET], at[TARGET], TONE_DIM, number_ms(x.target_ms, text));
    columns_cell(&body, row, &c[ACTIVE], at[ACTIVE], TONE_NORMAL, number_count(active, text));
    columns_cell(&body, row, &c[PAST], at[PAST], x.overdue > 0 ? TONE_BAD : TONE_NORMAL,
                 number_count(x.overdue, text));
    columns_cell(&body, row, &c[OLDEST], at[OLDEST], x.overdue > 0 ? TONE_BAD : TONE_NORMAL,
                 number_ms(x.oldest_ms, text));
    columns_cell(&body, row, &c[DONE], at[DONE], TONE_NORMAL, number_count(x.done_s, text));
    columns_cell(&body, row, &c[WAITING], at[WAITING], TONE_NORMAL, number_count(x.waiting, text));
    columns_cell(&body, row, &c[SERVED], at[SERVED], TONE_NORMAL, number_count(x.in_service, text));
    if (at[TREND].cols)
        parts_spark(&body, row, at[TREND].col, at[TREND].cols, f, "", "",
                    series_class((int)k, SERIES_CLASS_QUEUED), 0, TONE_SECOND);
}

void parts_class_table(const struct pane *p, const struct frame *f) {
    struct pane body = pane_part(p, 0, 1, -1, -1);
    struct column c[COLUMNS];
    struct column_place at[COLUMNS];
    char text[40], heading[40], span[24];

    if (pane_empty(&body)) return;
    memcpy(c, class_columns, sizeof c);
    snprintf(heading, sizeof heading, "Class%s", parts_span(f, span, sizeof span));
    c[NAME].heading = heading;
    if (parts_judged_by_e2e(f)) c[P95].heading = "e2e P95";
    if (parts_whole_run(f)) { /* what stands in the queue is what it left, and nobody is served */
        c[NAME].heading = "Whole run";
        c[ACTIVE].heading = "at end";
        c[SERVED].cols = c[WAITING].cols = CANVAS_COLS_MAX, c[SERVED].rank = c[WAITING].rank = COLUMNS;
    }
    columns_place(c, COLUMNS, body.at.cols, at);
    columns_headings(&body, 0, c, COLUMNS, at);
    uint32_t n = parts_classes(f), room = (uint32_t)(p->at.rows > 0 ? p->at.rows - 1 : 0);
    uint32_t shown = n <= room ? n : room > 0 ? room - 1 : 0;
    for (uint32_t k = 0; k < shown; k++) draw_class(p, 1 + (int)k, f, k, c, at);
    if (shown == n) return;
    if (parts_class_missed(f, shown)) pane_text(p, 1 + (int)shown, 0, TONE_BAD, "!");
    snprintf(text, sizeof text, "%u more in view %c", n - shown, panels_key(PANEL_queue));
    pane_clip(&body, 1 + (int)shown, 0, body.at.cols, TONE_DIM, text);
}
