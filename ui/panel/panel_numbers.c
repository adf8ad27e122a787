#include <math.h>
#include <stdio.h>
#include <string.h>

#include "draw/number.h"
#include "ui/panel/columns.h"
#include "ui/panel/panels.h"
#include "ui/panel/parts.h"

enum { TABLE, SECTIONS };

static const struct layout_section sections[SECTIONS] = {
    [TABLE] = {.name = "numbers", .line = 0, .least_cols = 20, .rows = {4}, .urgency = {1}, .grow = 1},
};

enum { UNTIL, TOKENS, TTFT, E2E, WAITING, HITS, READ, WRITE, USERS, SERVED, DONE, STORAGE, CORES, COLUMNS };
enum { PARTS_MOST = 200 };

/* Rates and latencies appear first; those of tiers are of the lowest one, whose name they get. */
static const struct column columns[COLUMNS] = {
    [UNTIL] = {.heading = "", .cols = 7, .rank = 1},
    [TOKENS] = {.heading = "tok/s", .cols = NUMBER_COUNT, .rank = 2},
    [TTFT] = {.heading = "TTFT P95", .cols = 8, .rank = 3},
    [E2E] = {.heading = "e2e P95", .cols = NUMBER_MS, .rank = 4},
    [WAITING] = {.heading = "waiting", .cols = 7, .rank = 5},
    [HITS] = {.heading = "hits", .cols = NUMBER_PERCENT, .rank = 6},
    [READ] = {.heading = "", .cols = NUMBER_RATE, .rank = 7},
    [WRITE] = {.heading = "", .cols = NUMBER_RATE, .rank = 8},
    [USERS] = {.heading = "users", .cols = NUMBER_COUNT, .rank = 9},
    [SERVED] = {.heading = "in service", .cols = 10, .rank = 10},
    [DONE] = {.heading = "done/s", .cols = 6, .rank = 11},
    [STORAGE] = {.heading = "storage P95", .cols = 11, .rank = 12},
    [CORES] = {.heading = "CPUs busy", .cols = 9, .rank = 13},
};

static number_fn *const texts[COLUMNS] = {
    [TOKENS] = number_count, [TTFT] = number_ms,    [E2E] = number_ms,     [WAITING] = number_count,
    [HITS] = number_percent, [READ] = number_rate,  [WRITE] = number_rate, [USERS] = number_count,
    [SERVED] = number_count, [DONE] = number_plain, [STORAGE] = number_ms, [CORES] = number_plain,
};

static int series_of(int column, int tier) {
    static const int runs[COLUMNS] = {
        [TOKENS] = SERIES_TOKENS_PER_S, [TTFT] = SERIES_TTFT_P95_MS,    [E2E] = SERIES_E2E_P95_MS,
        [WAITING] = SERIES_QUEUE,       [HITS] = SERIES_HIT_RATIO,      [USERS] = SERIES_USERS,
        [SERVED] = SERIES_IN_SERVICE,   [DONE] = SERIES_REQUESTS_PER_S, [STORAGE] = SERIES_STORAGE_P95_MS,
        [CORES] = SERIES_PROCESS_CORES};
    if (column == READ) return series_tier(tier, SERIES_TIER_READ);
    return column == WRITE ? series_tier(tier, SERIES_TIER_WRITE) : runs[column];
}

static int lowest_tier(const struct frame *f) {
    int t = KVF_TIERS - 1;
    while (t > 0 && !parts_tier_on(f, t)) t--;
    return t;
}

/* The stretch that graphs show, in `count` equal parts, a row each, of whole
 * seconds where that fits, and none shorter than an interval. */
struct stretch {
    double from_s, each_s;
    size_t count;
    float value[COLUMNS][PARTS_MOST];
};

static size_t parts_in(double span_s, double interval_s, int rows) {
    double most = floor(span_s / (interval_s > 0 ? interval_s : 1) + 1e-6);
    size_t n = rows < PARTS_MOST ? (size_t)rows : PARTS_MOST;
    if (most < (double)n) n = most > 1 ? (size_t)most : 1;
    for (size_t k = n; k > 1 && 2 * k > n; k--)
        if (fabs(remainder(span_s / (double)k, 1)) < 1e-6) return k;
    return n;
}

static void stretch_make(const struct frame *f, int rows, struct stretch *x) {
    double to_s, end_s = parts_end_s(f);
    history_span(f->history, f->zoom, end_s, &x->from_s, &to_s);
    x->count = parts_in(to_s - x->from_s, f->interval_s, rows);
    x->each_s = (to_s - x->from_s) / (double)x->count;
    for (int c = UNTIL + 1; c < COLUMNS; c++)
        history_series(f->history, series_of(c, lowest_tier(f)), f->zoom, end_s, x->count, x->value[c]);
}

/* Before the first interval, and where a longer stretch was asked for than there has been. */
static bool is_empty(const struct stretch *x, size_t part) {
    return isnan(x->value[USERS][part]) && isnan(x->value[TOKENS][part]);
}

static void draw_row(const struct pane *p, int row, const struct stretch *x, size_t part,
                     const struct column *c, const struct column_place *at) {
    char text[NUMBER];
    columns_cell(p, row, &c[UNTIL], at[UNTIL], TONE_DIM,
                 number_clock(x->from_s + (double)(part + 1) * x->each_s, text));
    for (int k = UNTIL + 1; k < COLUMNS; k++)
        columns_cell(p, row, &c[k], at[k], k == TOKENS ? TONE_STRONG : TONE_NORMAL,
                     texts[k]((double)x->value[k][part], text));
}

static void place(const struct pane *p, const struct frame *f, struct column *mine, struct column_place *at,
                  char heading[KVF_DIRS][48]) {
    char label[32];
    memcpy(mine, columns, sizeof columns);
    mine[UNTIL].heading = zoom_name(f->zoom);
    for (int d = 0; d < KVF_DIRS; d++) {
        snprintf(heading[d], 48, "%s %s", parts_tier_label(f, lowest_tier(f), label, sizeof label),
                 dir_name((enum kvf_dir)d));
        mine[READ + d].heading = heading[d];
        if (canvas_text_columns(heading[d]) > mine[READ + d].cols)
            mine[READ + d].cols = canvas_text_columns(heading[d]);
    }
    columns_place(mine, COLUMNS, p->at.cols, at);
    columns_headings(p, 0, mine, COLUMNS, at);
}

/* The newest on top. */
static void draw_list(const struct pane *p, const struct frame *f) {
    struct pane body = pane_part(p, 0, 1, -1, p->at.cols - 2);
    struct column mine[COLUMNS];
    struct column_place at[COLUMNS];
    char heading[KVF_DIRS][48];
    struct stretch x;
    int row = 0;
    if (f->list_end) *f->list_end = 0;
    if (pane_empty(&body) || body.at.rows < 2) return;
    if (isnan(f->newest_s)) {
        pane_clip(&body, 0, 0, body.at.cols, TONE_DIM, "No interval yet.");
        return;
    }
    place(&body, f, mine, at, heading);
    stretch_make(f, body.at.rows - 1, &x);
    int shown = 0;
    for (size_t k = 0; k < x.count; k++) shown += !is_empty(&x, k);
    int selected = f->table.selected < shown ? f->table.selected : shown - 1;
    for (size_t k = x.count; k-- > 0;) {
        if (is_empty(&x, k)) continue;
        draw_row(&body, row + 1, &x, k, mine, at);
        if (row++ != selected) continue;
        pane_tone(&body, row, 0, body.at.cols, TONE_SELECTED);
        pane_text(p, row, 0, TONE_NORMAL, p->canvas->style.ascii ? ">" : "\u25b6");
        if (f->picked_s) *f->picked_s = x.from_s + (double)(k + 1) * x.each_s;
    }
    if (f->list_end && shown > 0) *f->list_end = shown - 1;
}

static void draw(struct canvas *c, const struct rect *at, const struct frame *f) {
    struct pane p = pane_at(c, at[TABLE]);
    if (!pane_empty(&p)) draw_list(&p, f);
}

const struct panel_ops panel_numbers = {
    .name = "numbers",
    .title = "the main figures in rows, over the time span of the graphs",
    .sections = sections,
    .section_count = SECTIONS,
    .list = true,
    .draw = draw,
};
