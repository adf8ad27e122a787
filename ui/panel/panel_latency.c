#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "draw/graph.h"
#include "draw/number.h"
#include "ui/panel/columns.h"
#include "ui/panel/panels.h"
#include "ui/panel/parts.h"

enum { TABLE, OVER_TIME, HEAT, STAGES, READS, WRITES, SECTIONS };

static const struct layout_section sections[SECTIONS] = {
    [TABLE] = {.name = "percentiles", .line = 0, .least_cols = 40, .rows = {8, 12}, .urgency = {1, 3}},
    [OVER_TIME] = {.name = "over time",
                   .line = 1,
                   .least_cols = 39,
                   .rows = {6, 10, 16},
                   .urgency = {2, 4, 5},
                   .grow = 1},
    [HEAT] = {.name = "heat map",
              .line = 1,
              .least_cols = 39,
              .rows = {6, 10, 16},
              .urgency = {2, 4, 5},
              .grow = 1},
    [STAGES] = {.name = "stages", .line = 2, .least_cols = 39, .rows = {6}, .urgency = {6}, .grow = 1},
    [READS] = {.name = "reads", .line = 2, .least_cols = 39, .rows = {6}, .urgency = {6}, .grow = 1},
    [WRITES] = {.name = "writes", .line = 2, .least_cols = 39, .rows = {6}, .urgency = {6}, .grow = 1},
};

/* ---- the table ---- */

enum { NAME, MEAN, P50, P95, P99, P999, DEVICE, HOST, MAX, SAMPLES, TREND, COLUMNS };
static const struct column columns[COLUMNS] = {
    [NAME] = {.heading = "", .cols = 14, .rank = 1, .most = 19, .left = true},
    [MEAN] = {.heading = "mean", .cols = NUMBER_MS, .rank = 6},
    [P50] = {.heading = "P50", .cols = NUMBER_MS, .rank = 3},
    [P95] = {.heading = "P95", .cols = NUMBER_MS, .rank = 2},
    [P99] = {.heading = "P99", .cols = NUMBER_MS, .rank = 4},
    [P999] = {.heading = "P99.9", .cols = NUMBER_MS, .rank = 5},
    [DEVICE] = {.heading = "dev P95", .cols = NUMBER_MS, .rank = 7},
    [HOST] = {.heading = "host P95", .cols = 8, .rank = 8},
    [MAX] = {.heading = "max", .cols = NUMBER_MS, .rank = 12},
    [SAMPLES] = {.heading = "count", .cols = NUMBER_COUNT, .rank = 9},
    [TREND] = {.heading = "P95 lately", .cols = 16, .rank = 11, .most = 90, .left = true},
};
/* The part between the name of a latency and its unit. */
static const char *const figure_of[COLUMNS] = {
    [MEAN] = "_mean", [P50] = "_p50", [P95] = "_p95",           [P99] = "_p99",
    [P999] = "_p999", [MAX] = "_max", [DEVICE] = "_device_p95", [HOST] = "_host_p95",
};

/* A latency: of requests (tier and dir -1) or of a tier's entry operations. */
struct latency {
    const char *name; /* as people read it */
    const char *metric;
    int tier, dir, series;
};
static const struct latency requests[] = {
    {"end-to-end", "e2e", -1, -1, SERIES_E2E_P95_MS},
    {"first token", "ttft", -1, -1, SERIES_TTFT_P95_MS},
    {"queue wait", "queue_wait", -1, -1, SERIES_WAIT_P95_MS},
    {"storage I/O", "storage_io", -1, -1, SERIES_STORAGE_P95_MS},
    {"generation", "generation", -1, -1, SERIES_GENERATION_P95_MS},
};
enum { REQUESTS = sizeof requests / sizeof *requests, LATENCIES = REQUESTS + KVF_TIERS * KVF_DIRS };

static double field_value(const void *part, const struct snapshot_field *fields, size_t count,
                          const char *name) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(fields[i].name, name) == 0) return snapshot_value(part, &fields[i]);
    return KVF_MISSING;
}

static double figure_ms(const struct frame *f, const struct latency *l, int column) {
    char name[64];
    bool whole = parts_whole_run(f);
    snprintf(name, sizeof name, "%s%s%s%s_ms", whole && l->tier >= 0 ? tier_name((enum kvf_tier)l->tier) : "",
             whole && l->tier >= 0 ? "_" : "", l->metric, figure_of[column]);
    if (whole) return result_value(&f->run->results, name);
    if (!f->snap) return KVF_MISSING;
    if (l->tier < 0)
        return field_value(&f->snap->interval, snapshot_interval_fields, snapshot_interval_field_count, name);
    return field_value(&f->snap->tier[l->tier], snapshot_tier_fields, snapshot_tier_field_count, name);
}

static double samples(const struct frame *f, const struct latency *l) {
    char name[64];
    if (parts_whole_run(f)) {
        snprintf(name, sizeof name, "%s%s%s_p50_ms", l->tier >= 0 ? tier_name((enum kvf_tier)l->tier) : "",
                 l->tier >= 0 ? "_" : "", l->metric);
        const struct result *r = result_find(&f->run->results, name);
        return r && r->samples > 0 ? (double)r->samples : KVF_MISSING;
    }
    if (!f->snap) return KVF_MISSING;
    if (l->tier < 0) return (double)f->snap->interval.done;
    return (double)(l->dir == KVF_DIR_READ ? f->snap->tier[l->tier].read_ops
                                           : f->snap->tier[l->tier].write_ops);
}

/* The rows, in order: requests first, and of the tiers the slowest ones where not all
 * have room. */
static int choose_rows(const struct frame *f, int room, struct latency *out) {
    int n = 0, first = KVF_TIERS;
    for (int i = 0; i < REQUESTS && n < room; i++) out[n++] = requests[i];
    for (int t = KVF_TIERS - 1, left = room - n; t >= 0; t--) {
        if (!parts_tier_on(f, t)) continue;
        if (left < KVF_DIRS) break;
        left -= KVF_DIRS;
        first = t;
    }
    for (int t = first; t < KVF_TIERS; t++) {
        if (!parts_tier_on(f, t)) continue;
        for (int d = 0; d < KVF_DIRS; d++) {
            enum series_tier s = d == KVF_DIR_READ ? SERIES_TIER_READ_P95_MS : SERIES_TIER_WRITE_P95_MS;
            out[n++] = (struct latency){NULL, dir_name((enum kvf_dir)d), t, d, series_tier(t, s)};
        }
    }
    return n;
}

static void draw_name(const struct pane *p, int row, struct column_place at, const struct frame *f,
                      const struct latency *l) {
    if (l->tier < 0) {
        pane_clip(p, row, at.col, at.cols, TONE_NORMAL, l->name);
        return;
    }
    char label[64];
    int way = (int)strlen(l->metric);
    int room = at.cols - way - 1;
    parts_tier_label(f, l->tier, label, sizeof label);
    int used = canvas_text_columns(label) < room ? canvas_text_columns(label) : room;
    pane_clip(p, row, at.col, room, parts_tier_tone(l->tier), label);
    pane_text(p, row, at.col + used + 1, TONE_NORMAL, l->metric);
}

static void draw_table(const struct pane *p, const struct frame *f) {
    struct column_place at[COLUMNS];
    struct latency rows[LATENCIES];
    int n = choose_rows(f, p->at.rows - 1, rows);
    struct column c[COLUMNS];
    char span[24], heading[40];
    snprintf(heading, sizeof heading, "Latency%s", parts_span(f, span, sizeof span));
    memcpy(c, columns, sizeof c);
    if (!parts_whole_run(f)) c[MAX].cols = CANVAS_COLS_MAX; /* an interval has none */
    columns_place(c, COLUMNS, p->at.cols, at);
    columns_headings(p, 0, c, COLUMNS, at);
    pane_clip(p, 0, at[NAME].col, at[NAME].cols, TONE_HEADING,
              parts_whole_run(f) ? "whole run"
              : f->windowed      ? heading
                                 : "this interval");
    for (int i = 0; i < n; i++) {
        char text[NUMBER];
        draw_name(p, 1 + i, at[NAME], f, &rows[i]);
        for (int k = MEAN; k <= MAX; k++)
            columns_cell(p, 1 + i, &c[k], at[k], k == P95 ? TONE_STRONG : TONE_NORMAL,
                         number_ms(figure_ms(f, &rows[i], k), text));
        columns_cell(p, 1 + i, &columns[SAMPLES], at[SAMPLES], TONE_DIM,
                     number_count(samples(f, &rows[i]), text));
        parts_spark(p, 1 + i, at[TREND].col, at[TREND].cols, f, "", "", rows[i].series, 0, TONE_SECOND);
    }
}

/* ---- over time ---- */

static void draw_e2e(const struct pane *p, const struct frame *f) {
    static const struct parts_line lines[] = {
        {"P99", SERIES_E2E_P99_MS, TONE_THIRD, false},
        {"P95", SERIES_E2E_P95_MS, TONE_SECOND, false},
        {"P50", SERIES_E2E_P50_MS, TONE_ACCENT, false},
    };
    parts_graph(p, f, "End-to-end", number_ms, 0, lines, sizeof lines / sizeof *lines);
}

static void draw_stages(const struct pane *p, const struct frame *f) {
    static const struct parts_line lines[] = {
        {"generation", SERIES_GENERATION_P95_MS, TONE_THIRD, false},
        {"storage", SERIES_STORAGE_P95_MS, TONE_SECOND, false},
        {"wait", SERIES_WAIT_P95_MS, TONE_ACCENT, false},
    };
    parts_graph(p, f, "P95 by stage", number_ms, 0, lines, sizeof lines / sizeof *lines);
}

static void draw_reads(const struct pane *p, const struct frame *f) {
    parts_tier_graph(p, f, "Read P95", number_ms, 0, SERIES_TIER_READ_P95_MS);
}

static void draw_writes(const struct pane *p, const struct frame *f) {
    parts_tier_graph(p, f, "Write P95", number_ms, 0, SERIES_TIER_WRITE_P95_MS);
}

static void draw_heat(const struct pane *p, const struct frame *f) {
    static const char *const scopes[SNAPSHOT_HEATS] = {" End-to-end", "reads", "writes"};
    int scope = f->heat >= 0 && f->heat < SNAPSHOT_HEATS ? f->heat : 0;
    char label[64], title[128];
    struct graph_heat h = {.title = title,
                           .cursor_s = KVF_MISSING,
                           .bins = SNAPSHOT_HEAT_BINS,
                           .axis = number_ms,
                           .edge = snapshot_heat_edge_ms};
    size_t points = graph_heat_points(p);
    uint32_t *counts = calloc(points ? points : 1, SNAPSHOT_HEAT_BINS * sizeof *counts);
    if (!counts) return;
    if (scope == 0)
        snprintf(title, sizeof title, "%s, log (e: next)", scopes[scope]);
    else
        snprintf(title, sizeof title, " %s %s, log (e: next)",
                 parts_tier_label(f, KVF_TIER_NVME, label, sizeof label), scopes[scope]);
    history_span(f->history, f->zoom, parts_end_s(f), &h.from_s, &h.to_s);
    if (f->back && f->shown_s < h.to_s) h.cursor_s = f->shown_s;
    h.marks = parts_marks(f, h.from_s, h.to_s, h.mark);
    history_heat(f->history, scope, f->zoom, parts_end_s(f), points, counts);
    h.counts = counts;
    graph_heat_draw(p, &h);
    pane_hot(p, 0, 0, 1, p->at.cols, 'e');
    free(counts);
}

static void draw(struct canvas *c, const struct rect *at, const struct frame *f) {
    static void (*const parts[SECTIONS])(const struct pane *, const struct frame *) = {
        [TABLE] = draw_table,   [OVER_TIME] = draw_e2e, [HEAT] = draw_heat,
        [STAGES] = draw_stages, [READS] = draw_reads,   [WRITES] = draw_writes,
    };
    /* Tiers that are off leave rows of the table to what stands under it. */
    struct latency rows[LATENCIES];
    int under = at[TABLE].row + at[TABLE].rows;
    int spare = at[TABLE].rows > 0 ? at[TABLE].rows - 1 - choose_rows(f, at[TABLE].rows - 1, rows) : 0;
    for (int i = 0; i < SECTIONS; i++) {
        struct rect r = at[i];
        if (i != TABLE && r.rows > 0 && r.row == under) r.row -= spare, r.rows += spare;
        struct pane p = pane_at(c, r);
        if (i == TABLE) p = pane_part(&p, 0, 1, -1, -1);
        if (!pane_empty(&p)) parts[i](&p, f);
    }
}

const struct panel_ops panel_latency = {
    .name = "latency",
    .title = "how long requests and entry operations take, and how that is spread over time",
    .sections = sections,
    .section_count = SECTIONS,
    .draw = draw,
};
