#include "ui/panel/parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "draw/number.h"
#include "record/judge/judge.h"
#include "ui/panel/columns.h"

enum { LABEL_LEAST = 8, LABEL_MOST = 12, LABEL_MOST_WIDE = 20, WIDE_COLS = 100 };

enum tone parts_tier_tone(int tier) {
    static const enum tone tones[KVF_TIERS] = {TONE_GPU, TONE_CPU, TONE_NVME, TONE_REMOTE};
    return tier >= 0 && tier < KVF_TIERS ? tones[tier] : TONE_NORMAL;
}

/* The record's tiers are written while the run goes on. */
bool parts_tier_on(const struct frame *f, int t) {
    return f->snap ? f->snap->tier_on[t] : f->over && f->run->tier[t].on;
}

bool parts_tier_emulated(const struct frame *f, int t) {
    return f->snap ? f->snap->tier_emulated[t] : f->over && f->run->tier[t].emulated;
}

int parts_tiers_on(const struct frame *f) {
    int n = 0;
    for (int t = 0; t < KVF_TIERS; t++) n += parts_tier_on(f, t);
    return n;
}

const char *parts_tier_label(const struct frame *f, int tier, char *out, size_t len) {
    bool compat = f->snap ? f->snap->tier_compat[tier] : f->over && f->run->tier[tier].compat;
    const char *device = parts_tier_emulated(f, tier) ? "emul"
                         : compat                     ? "compat"
                         : f->snap                    ? f->snap->tier_device[tier]
                                                      : "";
    snprintf(out, len, "%s%s%s", tier_name((enum kvf_tier)tier), device[0] ? " " : "", device);
    return out;
}

enum {
    NAME,
    BAR,
    TIME,
    REUSE,
    READ,
    WRITE,
    DEVICE,
    LINE,
    FULL,
    ROOM,
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
    [NAME] = {.heading = "Tier", .cols = LABEL_LEAST, .rank = 1, .left = true},
    [BAR] = {.heading = "busy", .cols = 9, .rank = 9, .most = 30, .left = true},
    [TIME] = {.heading = "time", .cols = NUMBER_PERCENT, .rank = 2},
    [REUSE] = {.heading = "reuse", .cols = NUMBER_PERCENT, .rank = 7},
    [READ] = {.heading = "read/s", .cols = 6, .rank = 3},
    [WRITE] = {.heading = "write/s", .cols = 7, .rank = 6},
    [DEVICE] = {.heading = "dev P95", .cols = NUMBER_MS, .rank = 5},
    [LINE] = {.heading = "line P95", .cols = NUMBER_MS + 1, .rank = 8},
    [FULL] = {.heading = "full", .cols = NUMBER_PERCENT, .rank = 4},
    [ROOM] = {.heading = "used/usable", .cols = 2 * NUMBER_SHORT + 1, .rank = 11, .left = true},
    [READ_P50] = {.heading = "r P50", .cols = NUMBER_MS, .rank = 16},
    [READ_P95] = {.heading = "r P95", .cols = NUMBER_MS, .rank = 10},
    [READ_P99] = {.heading = "r P99", .cols = NUMBER_MS, .rank = 14},
    [WRITE_P50] = {.heading = "w P50", .cols = NUMBER_MS, .rank = 19},
    [WRITE_P95] = {.heading = "w P95", .cols = NUMBER_MS, .rank = 12},
    [WRITE_P99] = {.heading = "w P99", .cols = NUMBER_MS, .rank = 18},
    [IN_FLIGHT] = {.heading = "in flight", .cols = 9, .rank = 17},
    [ENTRIES] = {.heading = "entries", .cols = 7, .rank = 15},
    [HITS] = {.heading = "hits/s", .cols = 6, .rank = 20},
    [FALLS] = {.heading = "falls/s", .cols = 7, .rank = 13},
    [RISES] = {.heading = "rises/s", .cols = 7, .rank = 21},
};

/* The figures of a row, of the moment or of the whole run. */
struct tier_row {
    double busy, reuse;                            /* shares of the time and of the lookups */
    double used, usable, read, write;              /* bytes, bytes per second */
    double ms[KVF_DIRS][3];                        /* P50, P95, P99 */
    double device_ms, line_ms;                     /* P95 of reads */
    double in_flight, entries, hits, falls, rises; /* counts; the last three per second */
};

static void tier_row_fill(struct tier_row *r, const struct frame *f, const struct parts_figures *x, int t) {
    const struct snapshot_tier *v = &x->tier[t];
    double lookups = (double)x->interval.reuse_lookups;
    *r = (struct tier_row){.busy = v->busy_ratio,
                           .reuse = lookups > 0 ? (double)v->reuse_hits / lookups : KVF_MISSING,
                           .used = (double)v->used_bytes,
                           .usable = (double)v->capacity_bytes,
                           .read = parts_per_second(f, (double)v->read_bytes),
                           .write = parts_per_second(f, (double)v->write_bytes),
                           .ms = {{v->read_p50_ms, v->read_p95_ms, v->read_p99_ms},
                                  {v->write_p50_ms, v->write_p95_ms, v->write_p99_ms}},
                           .device_ms = v->read_device_p95_ms,
                           .line_ms = v->read_host_p95_ms,
                           .in_flight = x->whole ? KVF_MISSING : (double)v->io_in_flight,
                           .entries = (double)v->entries,
                           .hits = parts_per_second(f, (double)v->hits),
                           .rises = parts_per_second(f, (double)v->promotions),
                           .falls = parts_per_second(f, (double)v->demotions + (double)v->evictions)};
}

static void draw_tier_bytes(const struct pane *p, int row, const struct tier_row *r, const struct column *c,
                            const struct column_place *at) {
    char text[64], used[NUMBER], usable[NUMBER];
    bool wide = at[READ].cols >= NUMBER_RATE;
    double full = r->usable > 0 ? r->used / r->usable : KVF_MISSING;
    number_short(r->used, used), number_short(r->usable, usable);
    snprintf(text, sizeof text, "%s/%s", used, usable + strspn(usable, " "));
    columns_cell(p, row, &c[ROOM], at[ROOM], TONE_NORMAL, text);
    columns_cell(p, row, &c[FULL], at[FULL], TONE_NORMAL, number_percent(full, text));
    columns_cell(p, row, &c[READ], at[READ], TONE_NORMAL, (wide ? number_rate : number_short)(r->read, text));
    columns_cell(p, row, &c[WRITE], at[WRITE], TONE_NORMAL,
                 (wide ? number_rate : number_short)(r->write, text));
}

static void draw_tier(const struct pane *p, int row, const struct frame *f, const struct parts_figures *x,
                      int t, const struct column *c, const struct column_place *at) {
    struct tier_row r;
    char text[64];

    columns_cell(p, row, &c[NAME], at[NAME], parts_tier_tone(t), parts_tier_label(f, t, text, sizeof text));
    if (!parts_tier_on(f, t)) {
        columns_cell(p, row, &c[TIME], at[TIME], TONE_DIM, "off");
        return;
    }
    if (!x->any) return;
    tier_row_fill(&r, f, x, t);
    if (at[BAR].cols) graph_bar_graded(p, row, at[BAR].col, at[BAR].cols, r.busy, JUDGE_SATURATED);
    columns_cell(p, row, &c[TIME], at[TIME], TONE_STRONG, number_percent(r.busy, text));
    columns_cell(p, row, &c[REUSE], at[REUSE], TONE_NORMAL, number_percent(r.reuse, text));
    draw_tier_bytes(p, row, &r, c, at);
    columns_cell(p, row, &c[DEVICE], at[DEVICE], TONE_NORMAL, number_ms(r.device_ms, text));
    columns_cell(p, row, &c[LINE], at[LINE], TONE_NORMAL, number_ms(r.line_ms, text));
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

/* Lookups that nothing was found for, and whether that is for want of room. */
static void draw_misses(const struct pane *p, int row, const struct frame *f, const struct parts_figures *x,
                        const struct column *c, const struct column_place *at) {
    const struct verdict *v = f->verdict;
    char text[160], set[NUMBER], hold[NUMBER], out[NUMBER];
    double misses = 1 - x->interval.reuse_hit_ratio;
    double wants = v ? verdict_value(v, "working_set") : KVF_MISSING;
    double holds = v ? verdict_value(v, "tiers_hold") : KVF_MISSING;
    double left = v ? verdict_value(v, "capacity_miss_ratio") : KVF_MISSING;
    columns_cell(p, row, &c[NAME], at[NAME], TONE_DIM, "miss");
    number_percent(misses, text);
    columns_cell(p, row, &c[REUSE], at[REUSE], TONE_NORMAL, text);
    if (at[REUSE].cols == 0) columns_cell(p, row, &c[TIME], at[TIME], TONE_NORMAL, text);
    int col = at[REUSE].cols ? at[REUSE].col + at[REUSE].cols + 1 : at[TIME].col + at[TIME].cols + 1;
    number_short(wants, set), number_short(holds, hold), number_percent(fmax(left, 0), out);
    int used = snprintf(text, sizeof text, "of lookups; ");
    if (kvf_present(wants))
        used += snprintf(text + used, sizeof text - (size_t)used, "working set %s %s tiers %s",
                         set + strspn(set, " "), wants > holds ? ">" : "<", hold + strspn(hold, " "));
    else
        used -= 2;
    if (kvf_present(left) && col + used + 26 < p->at.cols)
        used += snprintf(text + used, sizeof text - (size_t)used, "; %s miss for want of room",
                         out + strspn(out, " "));
    text[used] = '\0';
    /* the numbers are worth more than their unit */
    const char *shown = col + used > p->at.cols && kvf_present(wants) ? strchr(text, ';') + 2 : text;
    pane_clip(p, row, col, p->at.cols - col, wants > holds && left >= VERDICT_MISSES ? TONE_WARN : TONE_DIM,
              shown);
}

/* The widest label there is, inside bounds. */
static int label_cols(const struct frame *f, int most, const char *heading) {
    char text[64];
    int cols = canvas_text_columns(heading);
    if (cols < LABEL_LEAST) cols = LABEL_LEAST;
    for (int t = 0; t < KVF_TIERS; t++) {
        int need = canvas_text_columns(parts_tier_label(f, t, text, sizeof text));
        if (parts_tier_on(f, t) && need > cols) cols = need;
    }
    return cols < most ? cols : most;
}

void parts_tiers(const struct pane *p, const struct frame *f) {
    struct column c[COLUMNS];
    struct column_place at[COLUMNS];
    struct pane body = pane_part(p, 0, 1, -1, -1);
    struct parts_figures x;
    bool wide = body.at.cols >= WIDE_COLS;
    int row = 1;
    char text[24];

    if (pane_empty(&body)) return;
    parts_figures(f, &x);
    memcpy(c, tier_columns, sizeof c);
    char heading[24];
    snprintf(heading, sizeof heading, "Tier%s", parts_span(f, text, sizeof text));
    c[NAME].heading = parts_whole_run(f) ? "Whole run" : heading;
    c[NAME].cols = label_cols(f, wide ? LABEL_MOST_WIDE : LABEL_MOST, c[NAME].heading);
    if (wide) {
        c[READ].heading = "read", c[READ].cols = NUMBER_RATE;
        c[WRITE].heading = "write", c[WRITE].cols = NUMBER_RATE;
    }
    columns_place(c, COLUMNS, body.at.cols, at);
    columns_headings(&body, 0, c, COLUMNS, at);
    if (!x.any && !f->over) pane_clip(&body, 1, 0, body.at.cols, TONE_DIM, "no interval yet");
    /* Tiers that are off are named only where that costs no row of one that is on; remote never is. */
    int tiers = parts_tier_on(f, KVF_TIER_REMOTE) ? KVF_TIERS : KVF_TIER_REMOTE;
    bool all = body.at.rows > tiers + 1 || parts_tiers_on(f) >= body.at.rows;
    for (int t = 0; t < tiers; t++)
        if (parts_tier_on(f, t) || (all && (f->snap || f->over))) {
            if (parts_tier_on(f, t)) parts_row(&body, row, f, FRAME_TIER, (uint64_t)t);
            draw_tier(&body, row++, f, &x, t, c, at);
        }
    if (row < body.at.rows && x.any) draw_misses(&body, row, f, &x, c, at);
}
