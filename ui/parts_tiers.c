#include "ui/parts.h"

#include <stdio.h>
#include <string.h>

#include "ui/columns.h"
#include "ui/number.h"

enum { LABEL_LEAST = 8, LABEL_MOST = 12, LABEL_MOST_WIDE = 20, WIDE_COLS = 100 };

enum tone tone_of_tier(int tier) {
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

const char *tier_label(const struct frame *f, int tier, char *out, size_t len) {
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

/* The figures of a row, of the moment or of the whole run. */
struct tier_row {
    double used, usable, read, write;              /* bytes, bytes per second */
    double ms[KVF_DIRS][3];                        /* P50, P95, P99 */
    double in_flight, entries, hits, falls, rises; /* counts; the last three per second */
};

static void tier_row_fill(struct tier_row *r, const struct frame *f, const struct parts_figures *x, int t) {
    const struct snapshot_tier *v = &x->tier[t];
    *r = (struct tier_row){.used = (double)v->used_bytes,
                           .usable = (double)v->capacity_bytes,
                           .read = parts_per_second(f, (double)v->read_bytes),
                           .write = parts_per_second(f, (double)v->write_bytes),
                           .ms = {{v->read_p50_ms, v->read_p95_ms, v->read_p99_ms},
                                  {v->write_p50_ms, v->write_p95_ms, v->write_p99_ms}},
                           .in_flight = x->whole ? KVF_MISSING : (double)v->io_in_flight,
                           .entries = (double)v->entries,
                           .hits = parts_per_second(f, (double)v->hits),
                           .rises = parts_per_second(f, (double)v->promotions),
                           .falls = parts_per_second(f, (double)v->demotions + (double)v->evictions)};
}

static void draw_tier(const struct pane *p, int row, const struct frame *f, const struct parts_figures *x,
                      int t, const struct column *c, const struct column_place *at) {
    struct tier_row r;
    char text[64], used[NUMBER], usable[NUMBER];
    bool wide = at[READ].cols >= NUMBER_RATE;

    columns_cell(p, row, &c[NAME], at[NAME], tone_of_tier(t), tier_label(f, t, text, sizeof text));
    if (!parts_tier_on(f, t)) {
        columns_cell(p, row, &c[BAR], at[BAR], TONE_DIM, "off");
        return;
    }
    if (!x->any) return;
    tier_row_fill(&r, f, x, t);
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

    if (pane_empty(&body)) return;
    parts_figures(f, &x);
    memcpy(c, tier_columns, sizeof c);
    if (parts_whole_run(f)) c[NAME].heading = "Whole run";
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
    bool all = body.at.rows > tiers || parts_tiers_on(f) >= body.at.rows;
    for (int t = 0; t < tiers; t++)
        if (parts_tier_on(f, t) || (all && (f->snap || f->over))) draw_tier(&body, row++, f, &x, t, c, at);
}
