#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "ui/columns.h"
#include "ui/number.h"
#include "ui/panels.h"
#include "ui/parts.h"

enum { TIERS, RATES, LATENCY, QUEUE, STATE, THROUGHPUT, E2E, READS, WRITES, LOAD, LEVELS, EVENTS, SECTIONS };

/* On 80x24 all but the graphs of lines 4 and 5 and the events; 40x10 has the tiers, what holds the run
 * up, its rates and the end-to-end latency. */
static const struct layout_section sections[SECTIONS] = {
    [TIERS] = {.name = "tiers", .line = 0, .least_cols = 20, .rows = {4}, .urgency = {1}, .fourth = {1}},
    [RATES] = {.name = "rates", .line = 1, .least_cols = 20, .rows = {1}, .urgency = {3}},
    [LATENCY] = {.name = "latency",
                 .line = 2,
                 .least_cols = 40,
                 .rows = {2, 4, 6},
                 .urgency = {4, 7, 8},
                 .grow = 1,
                 .most_rows = 9},
    [QUEUE] = {.name = "queue",
               .line = 2,
               .least_cols = 39,
               .rows = {4, 6},
               .urgency = {7, 8},
               .grow = 1,
               .most_rows = 9},
    [STATE] = {.name = "state", .line = 3, .least_cols = 20, .rows = {1, 2, 3, 4}, .urgency = {2, 5, 6, 9}},
    [THROUGHPUT] =
        {.name = "throughput", .line = 4, .least_cols = 38, .rows = {5, 7}, .urgency = {10, 11}, .grow = 2},
    [E2E] = {.name = "e2e", .line = 4, .least_cols = 38, .rows = {5, 7}, .urgency = {10, 11}, .grow = 2},
    [READS] =
        {.name = "reads", .line = 5, .least_cols = 38, .rows = {5, 6, 7}, .urgency = {12, 13, 14}, .grow = 2},
    [WRITES] = {.name = "writes",
                .line = 5,
                .least_cols = 38,
                .rows = {5, 6, 7},
                .urgency = {12, 13, 14},
                .grow = 2},
    [LOAD] =
        {.name = "load", .line = 6, .least_cols = 38, .rows = {5, 6, 7}, .urgency = {15, 16, 17}, .grow = 2},
    [LEVELS] = {.name = "levels",
                .line = 6,
                .least_cols = 38,
                .rows = {5, 6, 7},
                .urgency = {15, 16, 17},
                .grow = 2},
    [EVENTS] = {.name = "events", .line = 7, .least_cols = 20, .rows = {2, 4, 6}, .urgency = {18, 19, 20}},
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
enum { RATES_MOST = 4, RATES_GAP = 2, HITS_BOTH = 60, HITS_SAID = 95 };

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
    rate_set(r, said ? "Hit ratio" : "Hits", SERIES_HIT_RATIO, TONE_GOOD, figure, "");
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
    if (!parts_whole_run(f))
        rate_set(&r[n++], "I/O in flight", SERIES_IO_IN_FLIGHT, TONE_SECOND,
                 number_count(f->snap ? in_flight(f->snap) : KVF_MISSING, text), "");
    rate_set(&r[n++], "Requests", SERIES_REQUESTS_PER_S, TONE_THIRD,
             number_count(result_or(f, i->requests_per_s, "requests_per_s"), text), "/s");
    /* As many as have room for a sparkline that says something; two are shown in any case. */
    int shown = 0;
    for (; shown < n; shown++) {
        int need = text_columns(r[shown].label) + 1 + text_columns(r[shown].figure) + (shown ? RATES_GAP : 0);
        if (shown >= 2 && used + need + 5 * (shown + 1) > body.at.cols) break;
        used += need;
    }
    int each = (body.at.cols - used) / shown;
    for (int k = 0; k < shown; k++) {
        int cols = text_columns(r[k].label) + 1 + text_columns(r[k].figure) + (each > 0 ? each : 0);
        parts_spark(&body, 0, at, cols, f, r[k].label, r[k].figure, r[k].series, r[k].top, r[k].tone);
        at += cols + (shown > 2 || each > 3 ? RATES_GAP : 1);
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
    static const char *const quantile[QUANTILES] = {"p50", "p95", "p99", "p999"};
    char metric[64];
    if (parts_whole_run(f)) {
        snprintf(metric, sizeof metric, "%s_%s_ms", l->metric, quantile[q]);
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

    bool short_name = text_columns(l->name) > at[L_NAME].cols;
    snprintf(text, sizeof text, "%s", short_name ? "gener." : l->name);
    if (!request) snprintf(text, sizeof text, "%s %s", tier_label(f, l->tier, label, sizeof label), l->name);
    columns_cell(p, row, &c[L_NAME], at[L_NAME], request ? TONE_NORMAL : tone_of_tier(l->tier), text);
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
           text_columns(tier_label(f, l->tier, label, sizeof label)) + 6 <= name_cols;
}

static void draw_latency(const struct pane *p, const struct frame *f) {
    struct pane body = pane_part(p, 0, 1, -1, -1);
    struct column_place at[L_COLUMNS];
    int row = 1;

    if (pane_empty(&body)) return;
    columns_place(latency_columns, L_COLUMNS, body.at.cols, at);
    columns_headings(&body, 0, latency_columns, L_COLUMNS, at);
    for (int k = 0; k < LATENCIES; k++)
        if (latency_shown(f, &latencies[k], body.at.rows - 1, at[L_NAME].cols))
            draw_latency_row(&body, row++, f, &latencies[k], at);
}

/* ---- classes ---- */

enum { C_NAME, C_WAITING, C_SERVED, C_MET, C_OLDEST, C_P95, C_TARGET, C_DONE, C_TREND, C_COLUMNS };
static const struct column class_columns[C_COLUMNS] = {
    [C_NAME] = {.heading = "Queue", .cols = 11, .rank = 1, .most = 24, .left = true},
    [C_WAITING] = {.heading = "waiting", .cols = 7, .rank = 3},
    [C_SERVED] = {.heading = "in service", .cols = 10, .rank = 4},
    [C_MET] = {.heading = "SLO met", .cols = NUMBER_PERCENT, .rank = 2},
    [C_OLDEST] = {.heading = "oldest", .cols = NUMBER_MS, .rank = 5},
    [C_P95] = {.heading = "ttft P95", .cols = 8, .rank = 7},
    [C_TARGET] = {.heading = "target", .cols = NUMBER_MS, .rank = 8},
    [C_DONE] = {.heading = "done/s", .cols = 6, .rank = 9},
    [C_TREND] = {.heading = "waiting over time", .cols = 17, .rank = 6, .most = 120, .left = true},
};

/* A class that misses its target has a sign at the margin where colours say nothing. */
static void draw_class(const struct pane *p, int row, const struct frame *f, uint32_t k,
                       const struct column *c, const struct column_place *at) {
    struct pane body = pane_part(p, 0, 1, -1, -1);
    struct parts_class x;
    char text[NUMBER];

    parts_class(f, k, &x);
    if (x.missed) pane_text(p, row, 0, TONE_BAD, "!");
    columns_cell(&body, row, &c[C_NAME], at[C_NAME], TONE_NORMAL, x.name);
    columns_cell(&body, row, &c[C_WAITING], at[C_WAITING], TONE_STRONG, number_count(x.waiting, text));
    columns_cell(&body, row, &c[C_SERVED], at[C_SERVED], TONE_NORMAL, number_count(x.in_service, text));
    columns_cell(&body, row, &c[C_MET], at[C_MET],
                 x.missed       ? TONE_BAD
                 : isnan(x.met) ? TONE_NORMAL
                                : TONE_GOOD,
                 parts_class_met(f, &x, text));
    columns_cell(&body, row, &c[C_OLDEST], at[C_OLDEST], x.overdue > 0 ? TONE_BAD : TONE_NORMAL,
                 number_ms(x.oldest_ms, text));
    columns_cell(&body, row, &c[C_P95], at[C_P95], TONE_NORMAL, number_ms(x.p95_ms, text));
    columns_cell(&body, row, &c[C_TARGET], at[C_TARGET], TONE_DIM, number_ms(x.target_ms, text));
    columns_cell(&body, row, &c[C_DONE], at[C_DONE], TONE_NORMAL, number_count(x.done_s, text));
    if (at[C_TREND].cols)
        parts_spark(&body, row, at[C_TREND].col, at[C_TREND].cols, f, "", "",
                    series_class((int)k, SERIES_CLASS_QUEUED), 0, TONE_SECOND);
}

static void draw_queue(const struct pane *p, const struct frame *f) {
    struct pane body = pane_part(p, 0, 1, -1, -1);
    struct column c[C_COLUMNS];
    struct column_place at[C_COLUMNS];
    char text[40];

    if (pane_empty(&body)) return;
    memcpy(c, class_columns, sizeof c);
    if (parts_judged_by_e2e(f)) c[C_P95].heading = "e2e P95";
    if (parts_whole_run(f)) { /* what stands in the queue is what it left, and nobody is served */
        c[C_NAME].heading = "Whole run";
        c[C_WAITING].heading = "waiting at end", c[C_WAITING].cols = 14;
        c[C_SERVED].cols = CANVAS_COLS_MAX, c[C_SERVED].rank = C_COLUMNS;
    }
    columns_place(c, C_COLUMNS, body.at.cols, at);
    columns_headings(&body, 0, c, C_COLUMNS, at);
    uint32_t n = parts_classes(f), room = (uint32_t)(p->at.rows > 0 ? p->at.rows - 1 : 0);
    uint32_t shown = n <= room ? n : room > 0 ? room - 1 : 0;
    for (uint32_t k = 0; k < shown; k++) draw_class(p, 1 + (int)k, f, k, c, at);
    if (shown == n) return;
    if (parts_class_missed(f, shown)) pane_text(p, 1 + (int)shown, 0, TONE_BAD, "!");
    snprintf(text, sizeof text, "%u more in view %c", n - shown, panels[PANEL_queue]->key);
    pane_clip(&body, 1 + (int)shown, 0, body.at.cols, TONE_DIM, text);
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

/* Returns the rows that were needed; where there are no events below, what is left shows the newest. */
static int draw_state(const struct pane *p, const struct frame *f, bool events_below) {
    int first = p->at.rows > 1;
    struct pane rest = pane_part(p, first, 0, -1, -1);
    if (first) (parts_whole_run(f) ? draw_verdict : parts_users)(p, f);
    int used = parts_bottleneck(&rest, f);
    if (events_below) return first + used;
    struct pane events = pane_part(&rest, used, 1, -1, -1);
    draw_newest(&events, f);
    return p->at.rows;
}

/* ---- graphs and events ---- */

static void draw_graphs(const struct pane *p, const struct frame *f) {
    static const struct parts_line throughput[] = {{"tok/s", SERIES_TOKENS_PER_S, TONE_ACCENT}};
    static const struct parts_line e2e[] = {{"P99", SERIES_E2E_P99_MS, TONE_THIRD},
                                            {"P95", SERIES_E2E_P95_MS, TONE_SECOND},
                                            {"P50", SERIES_E2E_P50_MS, TONE_ACCENT}};
    static const struct parts_line load[] = {{"users", SERIES_USERS, TONE_MARK},
                                             {"in service", SERIES_IN_SERVICE, TONE_SECOND},
                                             {"waiting", SERIES_QUEUE, TONE_ACCENT}};
    parts_graph(&p[THROUGHPUT], f, "Throughput", number_count, 0, throughput, 1);
    parts_graph(&p[E2E], f, "End-to-end", number_ms, 0, e2e, 3);
    parts_tier_graph(&p[READS], f, "Reads", number_rate, 0, SERIES_TIER_READ);
    parts_tier_graph(&p[WRITES], f, "Writes", number_rate, 0, SERIES_TIER_WRITE);
    parts_graph(&p[LOAD], f, "Requests and users", number_count, 0, load, 3);
    parts_tier_graph(&p[LEVELS], f, "Tiers full", number_percent, 1, SERIES_TIER_USED_RATIO);
}

static void draw_events(const struct pane *p, const struct frame *f) {
    struct pane body = pane_part(p, 0, 1, -1, -1), list = pane_part(&body, 1, 0, -1, -1);
    pane_text(&body, 0, 0, TONE_HEADING, "Events");
    draw_newest(&list, f);
}

/* ---- before the clock ---- */

/* The present step of the preparation, where there are no figures yet. */
static void draw_preparing(struct canvas *c, const struct rect *at, const struct frame *f) {
    struct pane screen = pane_whole(c);
    int top = f->snap ? at[TIERS].row + at[TIERS].rows : at[TIERS].row;
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

/* Room that section `from` and those below it do not need goes to the events, or to the state. */
static void close_up(struct rect *at, int from, int rows) {
    if (rows <= 0) return;
    if (at[EVENTS].rows == 0) {
        if (from == STATE && at[STATE].rows) at[STATE].row -= rows, at[STATE].rows += rows;
        return;
    }
    for (int i = from; i < SECTIONS; i++) at[i].row -= rows;
    at[EVENTS].rows += rows;
}

/* Rows that the classes leave, where nothing stands beside them, and those under the last section. */
static void share_rows(struct rect *at, const struct frame *f, int end) {
    bool alone = at[QUEUE].rows && at[QUEUE].row != at[LATENCY].row, last = at[STATE].rows > 0;
    if (alone) close_up(at, STATE, at[QUEUE].rows - 1 - (int)parts_classes(f));
    for (int i = STATE + 1; i < SECTIONS; i++) last = last && at[i].rows == 0;
    if (last) at[STATE].rows = end - at[STATE].row;
}

static void draw(struct canvas *c, const struct rect *where, const struct frame *f) {
    struct rect at[SECTIONS];
    struct pane p[SECTIONS];

    memcpy(at, where, sizeof at);
    p[TIERS] = pane_at(c, at[TIERS]);
    if (f->snap || !parts_preparing(f)) parts_tiers(&p[TIERS], f);
    if (parts_preparing(f)) {
        draw_preparing(c, at, f);
        return;
    }
    share_rows(at, f, c->rows - 1);
    p[STATE] = pane_at(c, at[STATE]);
    int used = draw_state(&p[STATE], f, at[EVENTS].rows > 0);
    close_up(at, STATE + 1, at[STATE].rows - used);
    for (int i = 0; i < SECTIONS; i++) p[i] = pane_at(c, at[i]);
    draw_rates(&p[RATES], f);
    draw_latency(&p[LATENCY], f);
    draw_queue(&p[QUEUE], f);
    draw_graphs(p, f);
    draw_events(&p[EVENTS], f);
}

const struct panel_ops panel_overview = {
    .name = "overview",
    .title = "which tier, or the queue, holds the run up",
    .key = '1',
    .sections = sections,
    .section_count = SECTIONS,
    .draw = draw,
};
