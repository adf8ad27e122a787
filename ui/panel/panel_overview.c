#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "draw/number.h"
#include "ui/panel/columns.h"
#include "ui/panel/panels.h"
#include "ui/panel/parts.h"

enum {
    VERDICT,
    TIERS,
    CLASSES,
    LATENCY,
    RATES,
    STATE,
    THROUGHPUT,
    E2E,
    READS,
    WRITES,
    LOAD,
    LEVELS,
    EVENTS,
    SECTIONS
};

/* On 80x24 all but the graphs of lines 7 and 8 and the events; 40x10 has what limits, what to try, the tiers,
 * the rates and the latency of requests. */
static const struct layout_section sections[SECTIONS] = {
    [VERDICT] = {.name = "verdict", .line = 0, .least_cols = 20, .rows = {1, 2, 3}, .urgency = {1, 3, 8}},
    [TIERS] =
        {.name = "tiers", .line = 1, .least_cols = 20, .rows = {4, 5}, .urgency = {2, 9}, .fourth = {1, 1}},
    [CLASSES] = {.name = "classes",
                 .line = 2,
                 .least_cols = 39,
                 .rows = {4, 6},
                 .urgency = {6, 15},
                 .grow = 1,
                 .most_rows = 9},
    [LATENCY] = {.name = "latency",
                 .line = 3,
                 .least_cols = 20,
                 .rows = {1, 4, 6},
                 .urgency = {5, 14, 16},
                 .grow = 1,
                 .most_rows = 9},
    [RATES] = {.name = "rates", .line = 4, .least_cols = 20, .rows = {1}, .urgency = {4}},
    [STATE] = {.name = "state", .line = 5, .least_cols = 20, .rows = {1, 2}, .urgency = {7, 10}},
    [THROUGHPUT] = {.name = "throughput",
                    .line = 6,
                    .least_cols = 38,
                    .rows = {5, 6, 7},
                    .urgency = {11, 12, 13},
                    .grow = 2},
    [E2E] =
        {.name = "e2e", .line = 6, .least_cols = 38, .rows = {5, 6, 7}, .urgency = {11, 12, 13}, .grow = 2},
    [READS] =
        {.name = "reads", .line = 7, .least_cols = 38, .rows = {5, 6, 7}, .urgency = {17, 18, 19}, .grow = 2},
    [WRITES] = {.name = "writes",
                .line = 7,
                .least_cols = 38,
                .rows = {5, 6, 7},
                .urgency = {17, 18, 19},
                .grow = 2},
    [LOAD] =
        {.name = "load", .line = 8, .least_cols = 38, .rows = {5, 6, 7}, .urgency = {20, 21, 22}, .grow = 2},
    [LEVELS] = {.name = "levels",
                .line = 8,
                .least_cols = 38,
                .rows = {5, 6, 7},
                .urgency = {20, 21, 22},
                .grow = 2},
    [EVENTS] = {.name = "events", .line = 9, .least_cols = 20, .rows = {2, 4, 6}, .urgency = {23, 24, 25}},
};

static double result_or(const struct frame *f, double now, const char *metric) {
    return parts_whole_run(f) ? result_value(&f->run->results, metric) : now;
}

/* ---- rates ---- */

struct rate {
    const char *label;
    char figure[40];
    int series;
    double top;
    enum tone tone;
};
/* Columns from which on there is room for the hit ratio with decode, and for these words. */
enum { RATES_MOST = 5, RATES_GAP = 2, SPARK_LEAST = 9, HITS_BOTH = 60, HITS_SAID = 95 };

static void rate_set(struct rate *r, const char *label, int series, enum tone tone, const char *figure,
                     const char *unit) {
    *r = (struct rate){.label = label, .series = series, .tone = tone};
    snprintf(r->figure, sizeof r->figure, "%s%s", figure, unit);
}

static double in_flight(const struct snapshot *s) {
    double sum = 0;
    for (int t = 0; t < KVF_TIERS; t++)
        if (s->tier_on[t]) sum += (double)s->tier[t].io_in_flight;
    return sum;
}

/* Reuse first; what a request reads of its own again beside it. */
static void hits_set(struct rate *r, const struct frame *f, const struct snapshot_interval *i, int cols) {
    char reuse[NUMBER], all[NUMBER], figure[40];
    const char *with = number_percent(result_or(f, i->hit_ratio, "hit_ratio"), all);
    number_percent(result_or(f, i->reuse_hit_ratio, "reuse_hit_ratio"), reuse);
    with += strspn(with, " ");
    const char *unit = strstr(reuse, " %");
    bool said = cols >= HITS_SAID;
    if (said)
        snprintf(figure, sizeof figure, "%s with decode %s", reuse, with);
    else if (cols >= HITS_BOTH)
        snprintf(figure, sizeof figure, "%.*s/%s", unit ? (int)(unit - reuse) : NUMBER, reuse, with);
    else
        snprintf(figure, sizeof figure, "%s", reuse);
    rate_set(r, said ? "Hit ratio" : "Hits", SERIES_HIT_RATIO, TONE_ACCENT, figure, "");
    r->top = 1;
}

static void draw_rates(const struct pane *p, const struct frame *f) {
    static const struct snapshot_interval none = {
        .throughput_tok_s = NAN, .requests_per_s = NAN, .reuse_hit_ratio = NAN, .hit_ratio = NAN};
    const struct snapshot_interval *i = f->snap ? &f->snap->interval : &none;
    struct pane body = pane_part(p, 0, 1, 1, -1);
    struct rate r[RATES_MOST];
    char text[NUMBER];
    int n = 0, used = 0, at = 0;

    if (pane_empty(&body)) return;
    rate_set(&r[n++], "Throughput", SERIES_TOKENS_PER_S, TONE_ACCENT,
             number_count(result_or(f, i->throughput_tok_s, "throughput_tok_s"), text), " tok/s");
    hits_set(&r[n++], f, i, body.at.cols);
    rate_set(
        &r[n++], parts_whole_run(f) ? "Waiting at end" : "Waiting", SERIES_QUEUE, TONE_SECOND,
        number_count(result_or(f, f->snap ? (double)i->queue_depth : KVF_MISSING, "requests_queued_at_end"),
                     text),
        "");
    if (!parts_whole_run(f))
        rate_set(&r[n++], "I/O in flight", SERIES_IO_IN_FLIGHT, TONE_SECOND,
                 number_count(f->snap ? in_flight(f->snap) : KVF_MISSING, text), "");
    rate_set(&r[n++], "Requests", SERIES_REQUESTS_PER_S, TONE_THIRD,
             number_count(result_or(f, i->requests_per_s, "requests_per_s"), text), "/s");
    /* As many as have room; sparklines where they say something. */
    int shown = 0;
    for (; shown < n; shown++) {
        int need = canvas_text_columns(r[shown].label) + 1 + canvas_text_columns(r[shown].figure) +
                   (shown ? RATES_GAP : 0);
        if (shown >= 2 && used + need > body.at.cols) break;
        used += need;
    }
    int each = (body.at.cols - used) / shown;
    if (each < SPARK_LEAST) each = 0;
    for (int k = 0; k < shown; k++) {
        int cols =
            canvas_text_columns(r[k].label) + 1 + canvas_text_columns(r[k].figure) + (each > 0 ? each : 0);
        parts_spark(&body, 0, at, cols, f, r[k].label, r[k].figure, r[k].series, r[k].top, r[k].tone);
        at += cols + RATES_GAP;
    }
}

/* ---- latency ---- */

enum { L_NAME, L_P50, L_P95, L_P99, L_P999, L_TREND, L_COLUMNS };
static const struct column latency_columns[L_COLUMNS] = {
    [L_NAME] = {.heading = "Latency", .cols = 7, .rank = 1, .most = 15, .left = true},
    [L_P50] = {.heading = "P50", .cols = NUMBER_MS, .rank = 3},
    [L_P95] = {.heading = "P95", .cols = NUMBER_MS, .rank = 2},
    [L_P99] = {.heading = "P99", .cols = NUMBER_MS, .rank = 4},
    [L_P999] = {.heading = "P99.9", .cols = NUMBER_MS, .rank = 5},
    [L_TREND] = {.heading = "P95 over time", .cols = 13, .rank = 6, .most = 120, .left = true},
};

#define I(field)          offsetof(struct snapshot, interval.field)
#define T(t, field)       offsetof(struct snapshot, tier[t].field)
#define ABSENT            SIZE_MAX
#define TIER_SERIES(t, s) (SERIES_TIER0 + (t)*SERIES_OF_TIER + (s))
enum { QUANTILES = 4, LATENCIES = 8 };
static const struct latency {
    const char *name, *metric; /* of results */
    int tier;                  /* whose operations they are; KVF_TIERS: requests */
    size_t at[QUANTILES];      /* P50, P95, P99, P99.9 in the snapshot */
    int series;
    int rank; /* the rows that stay when there are few */
} latencies[LATENCIES] = {
    {"e2e",
     "e2e",
     KVF_TIERS,
     {I(e2e_p50_ms), I(e2e_p95_ms), I(e2e_p99_ms), I(e2e_p999_ms)},
     SERIES_E2E_P95_MS,
     1},
    {"ttft",
     "ttft",
     KVF_TIERS,
     {I(ttft_p50_ms), I(ttft_p95_ms), I(ttft_p99_ms), I(ttft_p999_ms)},
     SERIES_TTFT_P95_MS,
     4},
    {"wait",
     "queue_wait",
     KVF_TIERS,
     {I(queue_wait_p50_ms), I(queue_wait_p95_ms), I(queue_wait_p99_ms), I(queue_wait_p999_ms)},
     SERIES_WAIT_P95_MS,
     2},
    {"storage",
     "storage_io",
     KVF_TIERS,
     {I(storage_io_p50_ms), I(storage_io_p95_ms), I(storage_io_p99_ms), I(storage_io_p999_ms)},
     SERIES_STORAGE_P95_MS,
     3},
    {"generation",
     "generation",
     KVF_TIERS,
     {ABSENT, I(generation_p95_ms), ABSENT, ABSENT},
     SERIES_GENERATION_P95_MS,
     5},
    {"read",
     "nvme_read",
     KVF_TIER_NVME,
     {T(KVF_TIER_NVME, read_p50_ms), T(KVF_TIER_NVME, read_p95_ms), T(KVF_TIER_NVME, read_p99_ms), ABSENT},
     TIER_SERIES(KVF_TIER_NVME, SERIES_TIER_READ_P95_MS),
     6},
    {"write",
     "nvme_write",
     KVF_TIER_NVME,
     {T(KVF_TIER_NVME, write_p50_ms), T(KVF_TIER_NVME, write_p95_ms), T(KVF_TIER_NVME, write_p99_ms), ABSENT},
     TIER_SERIES(KVF_TIER_NVME, SERIES_TIER_WRITE_P95_MS),
     7},
    {"read",
     "cpu_read",
     KVF_TIER_CPU,
     {T(KVF_TIER_CPU, read_p50_ms), T(KVF_TIER_CPU, read_p95_ms), T(KVF_TIER_CPU, read_p99_ms), ABSENT},
     TIER_SERIES(KVF_TIER_CPU, SERIES_TIER_READ_P95_MS),
     8},
};
#undef I
#undef T

static double latency_value(const struct frame *f, const struct latency *l, int q) {
    char metric[64];
    if (parts_whole_run(f)) {
        snprintf(metric, sizeof metric, "%s_%s_ms", l->metric, stat_name((enum kvf_stat)(KVF_STAT_P50 + q)));
        return result_value(&f->run->results, metric);
    }
    if (!f->snap || l->at[q] == ABSENT) return KVF_MISSING;
    double v;
    memcpy(&v, (const char *)f->snap + l->at[q], sizeof v);
    return v;
}

static void draw_latency_row(const struct pane *p, int row, const struct frame *f, const struct latency *l,
                             const struct column_place *at) {
    const struct column *c = latency_columns;
    bool request = l->tier == KVF_TIERS;
    char text[64], label[40];

    bool short_name = canvas_text_columns(l->name) > at[L_NAME].cols;
    snprintf(text, sizeof text, "%s", short_name ? "gener." : l->name);
    if (!request)
        snprintf(text, sizeof text, "%s %s", parts_tier_label(f, l->tier, label, sizeof label), l->name);
    columns_cell(p, row, &c[L_NAME], at[L_NAME], request ? TONE_NORMAL : parts_tier_tone(l->tier), text);
    for (int q = 0; q < QUANTILES; q++)
        columns_cell(p, row, &c[L_P50 + q], at[L_P50 + q], q == 1 ? TONE_STRONG : TONE_NORMAL,
                     number_ms(latency_value(f, l, q), text));
    if (at[L_TREND].cols)
        parts_spark(p, row, at[L_TREND].col, at[L_TREND].cols, f, "", "", l->series, 0, TONE_ACCENT);
}

/* Rows of requests come first; those of a tier only where its whole name has room. */
static bool latency_shown(const struct frame *f, const struct latency *l, int rows, int name_cols) {
    char label[40];
    if (l->rank > rows) return false;
    if (l->tier == KVF_TIERS) return true;
    return parts_tier_on(f, l->tier) &&
           canvas_text_columns(parts_tier_label(f, l->tier, label, sizeof label)) + 6 <= name_cols;
}

/* P95s in one row, as many as fit. */
static void draw_latency_line(const struct pane *p, const struct frame *f) {
    char text[NUMBER], span[24], heading[40];
    snprintf(heading, sizeof heading, "P95%s", parts_span(f, span, sizeof span));
    int col = pane_text(p, 0, 0, TONE_HEADING, parts_whole_run(f) ? "P95" : heading) + 2;
    for (int rank = 1; rank <= LATENCIES; rank++) {
        for (int k = 0; k < LATENCIES; k++) {
            const struct latency *l = &latencies[k];
            if (l->rank != rank || l->tier != KVF_TIERS) continue;
            const char *figure = number_ms(latency_value(f, l, 1), text);
            figure += strspn(figure, " ");
            if (col + canvas_text_columns(l->name) + 1 + canvas_text_columns(figure) > p->at.cols) return;
            col += pane_text(p, 0, col, TONE_NORMAL, l->name) + 1;
            col += pane_text(p, 0, col, TONE_STRONG, figure) + 3;
        }
    }
}

static void draw_latency(const struct pane *p, const struct frame *f) {
    struct pane body = pane_part(p, 0, 1, -1, -1);
    struct column c[L_COLUMNS];
    struct column_place at[L_COLUMNS];
    char span[24], heading[40];
    int row = 1;

    if (pane_empty(&body)) return;
    if (body.at.rows < 4) {
        draw_latency_line(&body, f);
        return;
    }
    memcpy(c, latency_columns, sizeof c);
    snprintf(heading, sizeof heading, "Latency%s", parts_span(f, span, sizeof span));
    if (canvas_text_columns(heading) <= c[L_NAME].most && body.at.cols >= 60) c[L_NAME].heading = heading;
    columns_place(c, L_COLUMNS, body.at.cols, at);
    columns_headings(&body, 0, c, L_COLUMNS, at);
    for (int k = 0; k < LATENCIES; k++)
        if (latency_shown(f, &latencies[k], body.at.rows - 1, at[L_NAME].cols))
            draw_latency_row(&body, row++, f, &latencies[k], at);
}

/* ---- state ---- */

static void draw_verdict(const struct pane *p, const struct frame *f) {
    const struct run_record *r = f->run;
    const struct result_list *l = &r->results;
    char text[1000], done[NUMBER], failed[NUMBER], dropped[NUMBER], tokens[NUMBER], wall[NUMBER];
    struct pane body = pane_part(p, 0, 1, 1, -1);
    enum tone tone = r->status == RUN_COMPLETED     ? TONE_GOOD
                     : r->status == RUN_INTERRUPTED ? TONE_WARN
                                                    : TONE_BAD;

    number_count(result_value(l, "requests_done"), done);
    number_count(result_value(l, "requests_failed"), failed);
    number_count(result_value(l, "requests_dropped"), dropped);
    number_count(result_value(l, "tokens_generated"), tokens);
    number_clock(result_value(l, "measured_s"), wall);
    int col = pane_text(&body, 0, 0, tone, run_status_name(r->status));
    col += pane_text(&body, 0, col, tone, ": ");
    snprintf(text, sizeof text, "%s%s%s request%s done, %s failed, %s dropped; %s tokens in %s",
             r->status_reason, r->status_reason[0] ? "; " : "", done + strspn(done, " "),
             result_value(l, "requests_done") == 1 ? "" : "s", failed + strspn(failed, " "),
             dropped + strspn(dropped, " "), tokens + strspn(tokens, " "), wall);
    pane_clip(&body, 0, col, body.at.cols - col, TONE_STRONG, text);
}

/* As many as there are rows, the newest at the bottom. */
static void draw_newest(const struct pane *p, const struct frame *f) {
    const struct record_event *shown[16];
    int n = 0;
    for (size_t i = history_events(f->history); i-- > 0 && n < p->at.rows && n < 16;) {
        const struct record_event *e = history_event_at(f->history, i);
        if (parts_event_shown(f, e)) shown[n++] = e;
    }
    for (int k = 0; k < n; k++) parts_event(p, n - 1 - k, shown[k]);
}

/* The users, or how the run ended; then warnings, or the newest events where they have no place of their own.
 */
static int draw_state(const struct pane *p, const struct frame *f, bool events_below) {
    struct pane rest = pane_part(p, 1, 1, -1, -1);
    if (pane_empty(p)) return 0;
    (parts_whole_run(f) ? draw_verdict : parts_users)(p, f);
    int used = pane_empty(&rest) ? 0 : parts_warnings(&rest, 0, f);
    if (events_below) return 1 + used;
    struct pane events = pane_part(&rest, used, 0, -1, -1);
    if (!pane_empty(&events)) draw_newest(&events, f);
    return p->at.rows;
}

/* ---- graphs and events ---- */

/* With the shortest target as a line, where it is of this latency. */
static void draw_latency_graph(const struct pane *p, const struct frame *f) {
    static const struct parts_line e2e[] = {{"P99", SERIES_E2E_P99_MS, TONE_THIRD, false},
                                            {"P95", SERIES_E2E_P95_MS, TONE_SECOND, false},
                                            {"P50", SERIES_E2E_P50_MS, TONE_ACCENT, false}};
    double target = parts_judged_by_e2e(f) ? parts_shortest_target_ms(f) : KVF_MISSING;
    parts_graph_target(p, f, "End-to-end", number_ms, target, e2e, 3);
}

static void draw_graphs(const struct pane *p, const struct frame *f) {
    static const struct parts_line throughput[] = {{"tok/s", SERIES_TOKENS_PER_S, TONE_ACCENT, false}};
    static const struct parts_line load[] = {{"users", SERIES_USERS, TONE_MARK, false},
                                             {"in service", SERIES_IN_SERVICE, TONE_SECOND, false},
                                             {"waiting", SERIES_QUEUE, TONE_ACCENT, false}};
    parts_graph(&p[THROUGHPUT], f, "Throughput", number_count, 0, throughput, 1);
    draw_latency_graph(&p[E2E], f);
    parts_tier_graph(&p[READS], f, "Reads", number_rate, 0, SERIES_TIER_READ);
    parts_tier_graph(&p[WRITES], f, "Writes", number_rate, 0, SERIES_TIER_WRITE);
    parts_graph(&p[LOAD], f, "Requests and users", number_count, 0, load, 3);
    parts_tier_graph(&p[LEVELS], f, "Tiers full", number_percent, 1, SERIES_TIER_USED_RATIO);
}

static void draw_events(const struct pane *p, const struct frame *f) {
    struct pane body = pane_part(p, 0, 1, -1, -1), list = pane_part(&body, 1, 0, -1, -1);
    if (pane_empty(&body)) return;
    pane_text(&body, 0, 0, TONE_HEADING, "Events");
    draw_newest(&list, f);
}

/* ---- before the clock ---- */

/* The present step of the preparation, where there are no figures yet. */
static void draw_preparing(struct canvas *c, const struct rect *at, const struct frame *f) {
    struct pane screen = pane_whole(c);
    int top = f->snap ? at[TIERS].row + at[TIERS].rows : at[VERDICT].row;
    struct pane body = pane_part(&screen, top, at[TIERS].col + 1, c->rows - 1 - top, at[TIERS].cols - 2);
    const char *what = f->status->preparing[0] ? f->status->preparing : "getting ready";
    char text[NUMBER];
    int row = body.at.rows > 6 ? 1 : 0;

    if (pane_empty(&body)) return;
    pane_text(&body, row, 0, TONE_HEADING, "Preparing:");
    pane_clip(&body, row, 11, body.at.cols - 11, TONE_STRONG, what);
    graph_bar(&body, row + 1, 0, body.at.cols - 8, f->status->prepared, TONE_ACCENT);
    pane_text(&body, row + 1, body.at.cols - 7, TONE_STRONG, number_percent(f->status->prepared, text));
    struct pane rest = pane_part(&body, row + 3, 0, -1, -1);
    pane_wrap(&rest, 0, TONE_DIM,
              "The clock begins with the first request. Figures come after the first interval.");
}

/* Rows that a section does not need go to those below: up to the graphs they move, and the graphs grow. */
static void close_up(struct rect *at, int from, int rows) {
    if (rows <= 0) return;
    for (int i = from; i < THROUGHPUT; i++) at[i].row -= rows;
    int last = EVENTS;
    while (last >= from && at[last].rows == 0) last--;
    if (last < THROUGHPUT) {
        if (last == STATE) at[STATE].rows += rows;
        return;
    }
    /* side by side sections share their rows */
    for (int i = THROUGHPUT; i < SECTIONS; i++) at[i].row -= rows;
    for (int i = THROUGHPUT; i < SECTIONS; i++)
        if (at[i].rows && at[i].row == at[last].row) at[i].rows += rows;
}

static void draw(struct canvas *c, const struct rect *where, const struct frame *f) {
    struct rect at[SECTIONS];
    struct pane p[SECTIONS];

    memcpy(at, where, sizeof at);
    p[TIERS] = pane_at(c, at[TIERS]);
    if (parts_preparing(f)) {
        if (f->snap) parts_tiers(&p[TIERS], f);
        draw_preparing(c, at, f);
        return;
    }
    if (at[CLASSES].rows) close_up(at, LATENCY, at[CLASSES].rows - 1 - (int)parts_classes(f));
    p[STATE] = pane_at(c, at[STATE]);
    int used = draw_state(&p[STATE], f, at[EVENTS].rows > 0);
    if (at[STATE].rows) close_up(at, STATE + 1, at[STATE].rows - used);
    for (int i = 0; i < SECTIONS; i++) p[i] = pane_at(c, at[i]);
    parts_verdict(&p[VERDICT], f);
    parts_tiers(&p[TIERS], f);
    draw_rates(&p[RATES], f);
    draw_latency(&p[LATENCY], f);
    parts_class_table(&p[CLASSES], f);
    draw_graphs(p, f);
    draw_events(&p[EVENTS], f);
}

const struct panel_ops panel_overview = {
    .name = "overview",
    .title = "what limits the run, why, and what to change",
    .sections = sections,
    .section_count = SECTIONS,
    .draw = draw,
};
