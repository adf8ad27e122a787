#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ui/columns.h"
#include "ui/graph.h"
#include "ui/number.h"
#include "ui/panels.h"
#include "ui/parts.h"

enum { SLOTS, CLASSES, DEPTH, MET, OLDEST, SERVED, SECTIONS };

static const struct layout_section sections[SECTIONS] = {
    [SLOTS] = {.name = "slots", .line = 0, .least_cols = 20, .rows = {1}, .urgency = {2}},
    [CLASSES] = {.name = "classes", .line = 1, .least_cols = 20, .rows = {4, 5}, .urgency = {1, 4}},
    [DEPTH] = {.name = "waiting", .line = 2, .least_cols = 38, .rows = {3, 6}, .urgency = {3, 7}, .grow = 1},
    [MET] = {.name = "SLO met", .line = 2, .least_cols = 38, .rows = {3, 6}, .urgency = {5, 8}, .grow = 1},
    [OLDEST] = {.name = "oldest", .line = 3, .least_cols = 38, .rows = {3, 6}, .urgency = {6, 9}, .grow = 1},
    [SERVED] = {.name = "in service", .line = 3, .least_cols = 38, .rows = {5}, .urgency = {10}, .grow = 1},
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
    SLO_RUN,
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
    [SLO_RUN] = {.heading = "run SLO", .cols = NUMBER_PERCENT, .rank = 10}, /* once it is over */
};

static enum tone class_tone(uint32_t k) {
    static const enum tone tones[KVF_CLASSES_MAX] = {TONE_ACCENT, TONE_SECOND, TONE_THIRD, TONE_NVME,
                                                     TONE_READ,   TONE_WRITE,  TONE_GPU,   TONE_CPU};
    return tones[k % KVF_CLASSES_MAX];
}

static const char *class_name(const struct frame *f, uint32_t k) {
    return f->snap && k < f->snap->classes ? f->snap->class_name[k] : f->run->klass[k].name;
}

static uint32_t class_count(const struct frame *f) {
    uint32_t n = f->snap ? f->snap->classes : f->run->classes;
    return n < KVF_CLASSES_MAX ? n : KVF_CLASSES_MAX;
}

static char *per_second(uint64_t count, double length_s, char *out) {
    return number_count(length_s > 0 ? (double)count / length_s : KVF_MISSING, out);
}

/* The latency that the classes are judged by. */
static bool by_e2e(const struct frame *f) {
    return strcmp(f->run->qos_latency, "e2e") == 0;
}

/* ---- slots ---- */

/* "50 of 256", a bar, and what found no room in the queue. */
static void draw_slots(const struct pane *p, const struct frame *f) {
    enum { BAR_LEAST = 5, SAID_LEAST = 24, GAP = 2 };
    char one[NUMBER], two[NUMBER];
    const struct snapshot_interval *i = f->snap ? &f->snap->interval : NULL;
    double slots = i && i->slots ? (double)i->slots : KVF_MISSING;
    double busy = i ? (double)i->in_service : KVF_MISSING;
    double dropped = parts_whole_run(f) ? result_value(&f->run->results, "requests_dropped")
                     : i                ? (double)i->dropped
                                        : KVF_MISSING;
    bool full = busy >= slots, drops = dropped > 0;
    char text[64];

    int col = pane_text(p, 0, 0, TONE_HEADING, "Slots ");
    number_count(slots, two);
    snprintf(text, sizeof text, "%s of %-5s", number_count(busy, one), two + strspn(two, " "));
    col += pane_text(p, 0, col, full ? TONE_WARN : TONE_STRONG, text) + 1;
    number_count(dropped, one);
    snprintf(text, sizeof text, "%s%s dropped", drops ? "! " : "", one + strspn(one, " "));
    int end = p->at.cols - GAP - 16; /* "! 12.4k dropped", which keeps its room */
    if (end - col < SAID_LEAST) end = p->at.cols - GAP - text_columns(text);
    pane_right(p, 0, p->at.cols, drops ? TONE_BAD : TONE_DIM, text);
    if (end - col >= SAID_LEAST)
        col += pane_text(p, 0, col, full ? TONE_WARN : TONE_NORMAL, full ? "all in use" : "in use    ") + 1;
    if (end - col >= BAR_LEAST) graph_bar(p, 0, col, end - col, busy / slots, full ? TONE_WARN : TONE_ACCENT);
}

/* ---- the table ---- */

static enum tone met_tone(double met) {
    return isnan(met) ? TONE_DIM : met >= 0.95 ? TONE_GOOD : met >= 0.9 ? TONE_WARN : TONE_BAD;
}

static void draw_trends(const struct pane *p, int row, const struct frame *f, const struct column_place *at,
                        uint32_t k) {
    static const struct {
        int column;
        enum series_class series;
    } trends[] = {{WAITING_TREND, SERIES_CLASS_QUEUED}, {MET_TREND, SERIES_CLASS_MET}};
    float values[2 * 40];

    for (size_t i = 0; i < sizeof trends / sizeof *trends; i++) {
        struct column_place place = at[trends[i].column];
        size_t points = graph_spark_points(p->canvas, place.cols);
        if (place.cols == 0 || points > sizeof values / sizeof *values) continue;
        int series = series_class((int)k, trends[i].series);
        double top =
            trends[i].column == MET_TREND ? 1 : history_top_at(f->history, series, f->zoom, parts_end_s(f));
        history_series(f->history, series, f->zoom, parts_end_s(f), points, values);
        graph_spark(p, row, place.col, place.cols, values, top, class_tone(k));
    }
}

static void draw_class(const struct pane *p, int row, const struct frame *f, const struct column_place *at,
                       uint32_t k) {
    static const struct snapshot_qos none = {.oldest_wait_ms = KVF_MISSING,
                                             .e2e_p95_ms = KVF_MISSING,
                                             .ttft_p95_ms = KVF_MISSING,
                                             .met_ratio = KVF_MISSING};
    const struct snapshot_qos *q = f->snap ? &f->snap->qos[k] : &none;
    double length_s = f->snap ? f->snap->interval.length_s : KVF_MISSING;
    double p95 = by_e2e(f) ? q->e2e_p95_ms : q->ttft_p95_ms;
    double target =
        k < f->run->classes && f->run->klass[k].p95_ns ? (double)f->run->klass[k].p95_ns / 1e6 : KVF_MISSING;
    char text[64], one[NUMBER], two[NUMBER], metric[96];

    columns_cell(p, row, &columns[CLASS], at[CLASS], class_tone(k), class_name(f, k));
    columns_cell(p, row, &columns[WAITING], at[WAITING], q->queued ? TONE_STRONG : TONE_NORMAL,
                 number_count(f->snap ? (double)q->queued : KVF_MISSING, one));
    columns_cell(p, row, &columns[IN_SERVICE], at[IN_SERVICE], TONE_NORMAL,
                 number_count(f->snap ? (double)q->in_service : KVF_MISSING, one));
    columns_cell(p, row, &columns[ARRIVED], at[ARRIVED], TONE_NORMAL, per_second(q->arrived, length_s, one));
    columns_cell(p, row, &columns[DONE], at[DONE], TONE_NORMAL, per_second(q->done, length_s, one));
    columns_cell(p, row, &columns[FAILED], at[FAILED], q->failed ? TONE_BAD : TONE_DIM,
                 per_second(q->failed, length_s, one));
    columns_cell(p, row, &columns[OLDEST_WAIT], at[OLDEST_WAIT],
                 q->oldest_wait_ms > target ? TONE_BAD : TONE_NORMAL, number_ms(q->oldest_wait_ms, one));
    snprintf(text, sizeof text, "%s / %s", number_ms(p95, one), number_ms(target, two));
    columns_cell(p, row, &columns[P95], at[P95], p95 > target ? TONE_BAD : TONE_NORMAL, text);
    columns_cell(p, row, &columns[SLO_MET], at[SLO_MET], met_tone(q->met_ratio),
                 number_percent(q->met_ratio, one));
    draw_trends(p, row, f, at, k);
    if (at[SLO_RUN].cols == 0) return;
    snprintf(metric, sizeof metric, "slo_%s_met_ratio", class_name(f, k));
    double met = result_value(&f->run->results, metric);
    columns_cell(p, row, &columns[SLO_RUN], at[SLO_RUN], met_tone(met), number_percent(met, one));
}

static void draw_sum(const struct pane *p, int row, const struct frame *f, const struct column_place *at) {
    const struct snapshot_interval *i = &f->snap->interval;
    char one[NUMBER], text[64];

    columns_cell(p, row, &columns[CLASS], at[CLASS], TONE_HEADING, "all");
    columns_cell(p, row, &columns[WAITING], at[WAITING], TONE_NORMAL,
                 number_count((double)i->queue_depth, one));
    columns_cell(p, row, &columns[IN_SERVICE], at[IN_SERVICE], TONE_NORMAL,
                 number_count((double)i->in_service, one));
    columns_cell(p, row, &columns[ARRIVED], at[ARRIVED], TONE_NORMAL,
                 per_second(i->arrived, i->length_s, one));
    columns_cell(p, row, &columns[DONE], at[DONE], TONE_NORMAL, per_second(i->done, i->length_s, one));
    columns_cell(p, row, &columns[FAILED], at[FAILED], i->failed + i->dropped ? TONE_BAD : TONE_DIM,
                 per_second(i->failed + i->dropped, i->length_s, one));
    columns_cell(p, row, &columns[OLDEST_WAIT], at[OLDEST_WAIT], TONE_NORMAL,
                 number_ms(i->oldest_wait_ms, one));
    snprintf(text, sizeof text, "%s%*s", number_ms(by_e2e(f) ? i->e2e_p95_ms : i->ttft_p95_ms, one),
             NUMBER_MS + 3, "");
    columns_cell(p, row, &columns[P95], at[P95], TONE_NORMAL, text);
}

static void draw_classes(const struct pane *p, const struct frame *f) {
    struct column mine[COLUMNS];
    struct column_place at[COLUMNS] = {0};
    uint32_t classes = class_count(f);

    memcpy(mine, columns, sizeof mine);
    mine[P95].heading = by_e2e(f) ? "e2e P95 / target" : "TTFT P95 / target";
    if (parts_whole_run(f)) mine[SLO_RUN].rank = 2;
    columns_place(mine, parts_whole_run(f) ? COLUMNS : SLO_RUN, p->at.cols, at);
    columns_headings(p, 0, mine, COLUMNS, at);
    uint32_t rows = p->at.rows > 1 ? (uint32_t)p->at.rows - 1 : 0;
    uint32_t shown = classes <= rows ? classes : rows > 0 ? rows - 1 : 0;
    for (uint32_t k = 0; k < shown; k++) draw_class(p, (int)k + 1, f, at, k);
    if (shown < classes)
        pane_textf(p, (int)rows, 0, TONE_DIM, "and %u more classes", classes - shown);
    else if (classes < rows && classes > 1 && f->snap)
        draw_sum(p, (int)classes + 1, f, at);
}

/* ---- graphs ---- */

static void draw_graph(struct canvas *c, struct rect at, const struct frame *f, const char *title,
                       number_fn *axis, enum series_class series, double top) {
    struct parts_line lines[KVF_CLASSES_MAX];
    struct pane p = pane_at(c, at);
    uint32_t classes = class_count(f);
    if (pane_empty(&p)) return;
    for (uint32_t k = 0; k < classes; k++)
        lines[k] = (struct parts_line){class_name(f, k), series_class((int)k, series), class_tone(k)};
    parts_graph(&p, f, title, axis, top, lines, classes);
}

/* The table takes the rows its classes need, the graphs share what is left in equal parts, those that
 * would not be readable are left out from the last on. */
static void share_rows(struct rect *at, int need) {
    enum { GRAPH_LEAST = 3 };
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
    int classes = (int)class_count(f);

    memcpy(at, where, sizeof at);
    if (at[CLASSES].rows) share_rows(at, 1 + classes + (classes > 1 && f->snap && at[CLASSES].rows > 4));
    struct pane slots = pane_at(c, at[SLOTS]), table = pane_at(c, at[CLASSES]);
    slots = pane_part(&slots, 0, 1, -1, -1);
    table = pane_part(&table, 0, 1, -1, -1);
    if (!pane_empty(&slots)) draw_slots(&slots, f);
    if (!pane_empty(&table)) draw_classes(&table, f);
    draw_graph(c, at[DEPTH], f, "Waiting", number_count, SERIES_CLASS_QUEUED, 0);
    draw_graph(c, at[MET], f, "SLO met", number_percent, SERIES_CLASS_MET, 1);
    draw_graph(c, at[OLDEST], f, "Oldest wait", number_ms, SERIES_CLASS_OLDEST_MS, 0);
    draw_graph(c, at[SERVED], f, "In service", number_count, SERIES_CLASS_SERVED, 0);
}

const struct panel_ops panel_queue = {
    .name = "queue",
    .title = "what waits and for how long, and whether each class meets its target",
    .key = '4',
    .sections = sections,
    .section_count = SECTIONS,
    .draw = draw};
