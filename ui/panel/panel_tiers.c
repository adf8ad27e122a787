#include <stdio.h>
#include <string.h>

#include "draw/graph.h"
#include "draw/number.h"
#include "ui/panel/columns.h"
#include "ui/panel/panels.h"
#include "ui/panel/parts.h"

enum {
    TIERS,
    IO,
    CAUSES,
    ENTRIES,
    DISK,
    OCCUPANCY,
    READS,
    WRITES,
    READ_P95,
    WRITE_P95,
    FALLS,
    FLIGHT,
    SECTIONS
};

static const struct layout_section sections[SECTIONS] = {
    [TIERS] = {.name = "tiers", .line = 0, .least_cols = 40, .rows = {4}, .urgency = {1}, .fourth = {1}},
    [IO] = {.name = "entry I/O",
            .line = 1,
            .least_cols = 40,
            .rows = {4, 7},
            .urgency = {2, 3},
            .fourth = {1, 2}},
    [CAUSES] = {.name = "causes",
                .line = 2,
                .least_cols = 49,
                .rows = {6, 8, 10},
                .urgency = {5, 6, 9},
                .col_weight = 2},
    [ENTRIES] = {.name = "entries", .line = 2, .least_cols = 29, .rows = {6, 8}, .urgency = {5, 6}},
    [DISK] = {.name = "disk", .line = 3, .least_cols = 40, .rows = {3, 4}, .urgency = {4, 9}},
    [OCCUPANCY] =
        {.name = "occupancy", .line = 4, .least_cols = 32, .rows = {6, 9}, .urgency = {7, 8}, .grow = 1},
    [READS] = {.name = "reads", .line = 4, .least_cols = 32, .rows = {6, 9}, .urgency = {7, 8}, .grow = 1},
    [WRITES] = {.name = "writes", .line = 4, .least_cols = 32, .rows = {6, 9}, .urgency = {7, 8}, .grow = 1},
    [READ_P95] = {.name = "read P95", .line = 5, .least_cols = 32, .rows = {6}, .urgency = {10}, .grow = 1},
    [WRITE_P95] = {.name = "write P95", .line = 5, .least_cols = 32, .rows = {6}, .urgency = {10}, .grow = 1},
    [FALLS] = {.name = "falls", .line = 6, .least_cols = 32, .rows = {6}, .urgency = {11}, .grow = 1},
    [FLIGHT] = {.name = "in flight", .line = 6, .least_cols = 32, .rows = {6}, .urgency = {11}, .grow = 1},
};

/* ---- latencies of entry reads and writes ---- */

struct io_figures {
    double p50_ms, p95_ms, p99_ms, device_ms, host_ms;
    double ops_s, entry_bytes, bytes_s, of_peak;
    double d2c_ms;
};

static struct io_figures io_figures(const struct frame *f, const struct parts_figures *m, int t, int dir) {
    const double no = KVF_MISSING;
    struct io_figures x = {no, no, no, no, no, no, no, no, no, no};
    if (!m->any) return x;
    const struct snapshot_tier *v = &m->tier[t];
    bool read = dir == KVF_DIR_READ;
    double ops = (double)(read ? v->read_ops : v->write_ops);
    double bytes = (double)(read ? v->read_bytes : v->write_bytes);
    x.p50_ms = read ? v->read_p50_ms : v->write_p50_ms;
    x.p95_ms = read ? v->read_p95_ms : v->write_p95_ms;
    x.p99_ms = read ? v->read_p99_ms : v->write_p99_ms;
    x.device_ms = read ? v->read_device_p95_ms : v->write_device_p95_ms;
    x.host_ms = read ? v->read_host_p95_ms : v->write_host_p95_ms;
    x.d2c_ms = t == KVF_TIER_NVME ? m->d2c_p95_ms[dir] : KVF_MISSING;
    x.ops_s = parts_per_second(f, ops);
    x.bytes_s = parts_per_second(f, bytes);
    x.entry_bytes = ops > 0 ? bytes / ops : KVF_MISSING;
    x.of_peak =
        f->run && f->run->peak_bytes_s[t][dir] > 0 ? x.bytes_s / f->run->peak_bytes_s[t][dir] : KVF_MISSING;
    return x;
}

enum {
    IO_TIER,
    IO_OP,
    IO_PEAK,
    IO_P50,
    IO_P95,
    IO_P99,
    IO_DEVICE,
    IO_D2C,
    IO_HOST,
    IO_OPS,
    IO_ENTRY,
    IO_TREND,
    IO_COLUMNS
};
static const struct column io_columns[IO_COLUMNS] = {
    [IO_TIER] = {.heading = "Entry I/O", .cols = 9, .rank = 1, .most = 13, .left = true},
    [IO_OP] = {.heading = "", .cols = 5, .rank = 2, .left = true},
    [IO_PEAK] = {.heading = "of peak", .cols = NUMBER_PERCENT, .rank = 4},
    [IO_P50] = {.heading = "P50", .cols = NUMBER_MS, .rank = 4},
    [IO_P95] = {.heading = "P95", .cols = NUMBER_MS, .rank = 3},
    [IO_P99] = {.heading = "P99", .cols = NUMBER_MS, .rank = 5},
    [IO_DEVICE] = {.heading = "dev P95", .cols = NUMBER_MS, .rank = 6},
    [IO_D2C] = {.heading = "d2c P95", .cols = NUMBER_MS, .rank = 7},
    [IO_HOST] = {.heading = "host P95", .cols = 8, .rank = 8},
    [IO_OPS] = {.heading = "ops/s", .cols = NUMBER_COUNT, .rank = 9},
    [IO_ENTRY] = {.heading = "mean size", .cols = 9, .rank = 11},
    [IO_TREND] = {.heading = "bytes/s lately", .cols = 14, .rank = 10, .most = 90, .left = true},
};

static void draw_io_row(const struct pane *p, int row, const struct column_place *at, const struct frame *f,
                        const struct parts_figures *m, int t, int dir) {
    struct io_figures x = io_figures(f, m, t, dir);
    char name[64], text[NUMBER];
    if (dir == KVF_DIR_READ)
        columns_cell(p, row, &io_columns[IO_TIER], at[IO_TIER], parts_tier_tone(t),
                     parts_tier_label(f, t, name, sizeof name));
    const struct {
        int column;
        enum tone tone;
        const char *text;
    } cells[] = {{IO_OP, TONE_NORMAL, dir_name((enum kvf_dir)dir)},
                 {IO_PEAK, TONE_STRONG, number_percent(x.of_peak, (char[NUMBER]){0})},
                 {IO_P50, TONE_NORMAL, number_ms(x.p50_ms, (char[NUMBER]){0})},
                 {IO_P95, TONE_STRONG, number_ms(x.p95_ms, (char[NUMBER]){0})},
                 {IO_P99, TONE_NORMAL, number_ms(x.p99_ms, (char[NUMBER]){0})},
                 {IO_DEVICE, TONE_NORMAL, number_ms(x.device_ms, (char[NUMBER]){0})},
                 {IO_D2C, TONE_NORMAL, number_ms(x.d2c_ms, (char[NUMBER]){0})},
                 {IO_HOST, TONE_NORMAL, number_ms(x.host_ms, (char[NUMBER]){0})},
                 {IO_OPS, TONE_NORMAL, number_count(x.ops_s, (char[NUMBER]){0})},
                 {IO_ENTRY, TONE_NORMAL, number_bytes(x.entry_bytes, text)}};
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++)
        columns_cell(p, row, &io_columns[cells[i].column], at[cells[i].column], cells[i].tone, cells[i].text);
    int series = series_tier(t, dir == KVF_DIR_READ ? SERIES_TIER_READ : SERIES_TIER_WRITE);
    parts_spark(p, row, at[IO_TREND].col, at[IO_TREND].cols, f, "", "", series, 0, parts_tier_tone(t));
}

/* A row for a tier where there is no room for one for each direction. */
enum { SUM_TIER, SUM_READ, SUM_READ_DEVICE, SUM_WRITE, SUM_WRITE_DEVICE, SUM_READ_P50, SUM_WRITE_P50, SUMS };
static const struct column sum_columns[SUMS] = {
    [SUM_TIER] = {.heading = "P95 of", .cols = 8, .rank = 1, .most = 13, .left = true},
    [SUM_READ] = {.heading = "read", .cols = NUMBER_MS, .rank = 2},
    [SUM_READ_DEVICE] = {.heading = "device", .cols = NUMBER_MS, .rank = 4},
    [SUM_WRITE] = {.heading = "write", .cols = NUMBER_MS, .rank = 3},
    [SUM_WRITE_DEVICE] = {.heading = "device", .cols = NUMBER_MS, .rank = 5},
    [SUM_READ_P50] = {.heading = "read P50", .cols = 8, .rank = 6},
    [SUM_WRITE_P50] = {.heading = "write P50", .cols = 9, .rank = 7},
};

static void draw_io_sums(const struct pane *p, const struct frame *f, const struct parts_figures *m) {
    struct column_place at[SUMS];
    int row = 1;
    columns_place(sum_columns, SUMS, p->at.cols, at);
    columns_headings(p, 0, sum_columns, SUMS, at);
    for (int t = 0; t < KVF_TIERS; t++) {
        if (!parts_tier_on(f, t)) continue;
        struct io_figures r = io_figures(f, m, t, KVF_DIR_READ), w = io_figures(f, m, t, KVF_DIR_WRITE);
        const double ms[SUMS] = {0, r.p95_ms, r.device_ms, w.p95_ms, w.device_ms, r.p50_ms, w.p50_ms};
        char name[64], text[NUMBER];
        columns_cell(p, row, &sum_columns[SUM_TIER], at[SUM_TIER], parts_tier_tone(t),
                     parts_tier_label(f, t, name, sizeof name));
        for (int i = SUM_READ; i < SUMS; i++) {
            bool total = i == SUM_READ || i == SUM_WRITE;
            columns_cell(p, row, &sum_columns[i], at[i], total ? TONE_STRONG : TONE_NORMAL,
                         number_ms(ms[i], text));
        }
        row++;
    }
}

static bool peaks_known(const struct frame *f) {
    for (int t = 0; f->run && t < KVF_TIERS; t++)
        for (int d = 0; d < KVF_DIRS; d++)
            if (parts_tier_on(f, t) && f->run->peak_bytes_s[t][d] > 0) return true;
    return false;
}

static void draw_io(const struct pane *p, const struct frame *f, const struct parts_figures *m) {
    struct column_place at[IO_COLUMNS];
    int row = 1;
    if (p->at.rows < 1 + 2 * parts_tiers_on(f)) {
        draw_io_sums(p, f, m);
        return;
    }
    struct column c[IO_COLUMNS];
    memcpy(c, io_columns, sizeof c);
    /* Of the last rank and wider than any screen, a column has no place. */
    if (!peaks_known(f)) c[IO_PEAK].rank = IO_COLUMNS, c[IO_PEAK].cols = INT16_MAX;
    if (!kvf_present(m->d2c_p95_ms[KVF_DIR_READ]) && !kvf_present(m->d2c_p95_ms[KVF_DIR_WRITE]))
        c[IO_D2C].rank = IO_COLUMNS + 1, c[IO_D2C].cols = INT16_MAX;
    columns_place(c, IO_COLUMNS, p->at.cols, at);
    columns_headings(p, 0, c, IO_COLUMNS, at);
    for (int t = 0; t < KVF_TIERS; t++) {
        if (!parts_tier_on(f, t)) continue;
        draw_io_row(p, row++, at, f, m, t, KVF_DIR_READ);
        draw_io_row(p, row++, at, f, m, t, KVF_DIR_WRITE);
    }
}

/* ---- traffic by cause ---- */

enum { CAUSE_NAME = 12 };

struct traffic {
    int first;     /* tiers from this one on have room */
    int cell, ops; /* columns of a rate and of operations, with the blank before them; ops 0: none */
    int gap;       /* between tiers */
    number_fn *rate;
};

/* The widest form that fits all tiers; where none does, the fastest tiers are left out. */
static struct traffic traffic_form(const struct frame *f, int cols) {
    static const struct traffic forms[] = {{0, NUMBER_RATE + 1, NUMBER_COUNT + 2, 1, number_rate},
                                           {0, NUMBER_RATE + 1, 0, 1, number_rate},
                                           {0, NUMBER_SHORT + 1, 0, 1, number_short},
                                           {0, NUMBER_SHORT + 1, 0, 0, number_short}};
    int n = parts_tiers_on(f);
    struct traffic x = {0};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        x = forms[i];
        if (CAUSE_NAME + n * (2 * (x.cell + x.ops) + x.gap) - x.gap <= cols) return x;
    }
    for (; n > 1 && CAUSE_NAME + n * 2 * x.cell > cols; x.first++) n -= parts_tier_on(f, x.first);
    return x;
}

static bool cause_used(const struct frame *f, const struct parts_figures *m, int cause) {
    for (int t = 0; t < KVF_TIERS; t++) {
        if (!parts_tier_on(f, t)) continue;
        for (int d = 0; d < KVF_DIRS; d++) {
            const struct snapshot_cause *c = &m->cause[t][d][cause];
            if (c->ops || c->bytes) return true;
        }
    }
    return false;
}

static void draw_traffic_cell(const struct pane *p, int row, int col, const struct traffic *x,
                              const struct frame *f, struct snapshot_cause sum) {
    char text[NUMBER];
    bool any = sum.ops || sum.bytes;
    enum tone tone = any ? TONE_NORMAL : TONE_DIM;
    pane_right(p, row, col + x->cell, tone,
               any ? x->rate(parts_per_second(f, (double)sum.bytes), text) : "-");
    if (x->ops == 0) return;
    pane_right(p, row, col + x->cell + x->ops, any ? TONE_NORMAL : TONE_DIM,
               any ? number_count(parts_per_second(f, (double)sum.ops), text) : "-");
}

static void draw_traffic_heading(const struct pane *p, const struct traffic *x, const struct frame *f) {
    char name[64];
    int half = x->cell + x->ops, col = CAUSE_NAME;
    pane_text(p, 0, 0, TONE_HEADING, x->rate == number_short ? "Bytes/s" : "Traffic");
    pane_text(p, 1, 0, TONE_HEADING, "by cause");
    for (int t = x->first; t < KVF_TIERS; t++) {
        if (!parts_tier_on(f, t)) continue;
        parts_tier_label(f, t, name, sizeof name);
        int used = canvas_text_columns(name) < 2 * half - 1 ? canvas_text_columns(name) : 2 * half - 1;
        pane_clip(p, 0, col + 2 * half - used, used, parts_tier_tone(t), name);
        for (int d = 0; d < KVF_DIRS; d++, col += half) {
            pane_right(p, 1, col + x->cell, TONE_HEADING, dir_name((enum kvf_dir)d));
            if (x->ops) pane_right(p, 1, col + half, TONE_HEADING, "ops/s");
        }
        col += x->gap;
    }
}

/* A row for a set of causes: more than one where the rows have run out. */
static void draw_traffic_row(const struct pane *p, int row, const struct traffic *x, const struct frame *f,
                             const struct parts_figures *m, const char *name, const int *causes, int count) {
    int col = CAUSE_NAME;
    pane_clip(p, row, 0, CAUSE_NAME, TONE_NORMAL, name);
    for (int t = x->first; t < KVF_TIERS; t++) {
        if (!parts_tier_on(f, t)) continue;
        for (int d = 0; d < KVF_DIRS; d++, col += x->cell + x->ops) {
            struct snapshot_cause sum = {0};
            for (int i = 0; i < count; i++) {
                sum.ops += m->cause[t][d][causes[i]].ops;
                sum.bytes += m->cause[t][d][causes[i]].bytes;
            }
            draw_traffic_cell(p, row, col, x, f, sum);
        }
        col += x->gap;
    }
}

static void draw_causes(const struct pane *p, const struct frame *f, const struct parts_figures *m) {
    struct traffic x = traffic_form(f, p->at.cols);
    int used[KVF_CAUSES], n = 0, room = p->at.rows - 2;
    char others[24];
    for (int c = 0; c < KVF_CAUSES; c++)
        if (cause_used(f, m, c)) used[n++] = c;
    draw_traffic_heading(p, &x, f);
    if (n == 0)
        pane_text(p, 2, 0, TONE_DIM,
                  !m->any    ? "no interval yet"
                  : m->whole ? "none"
                             : "none in this interval");
    for (int i = 0; i < n && i < room; i++) {
        int rest = i == room - 1 ? n - i : 1;
        snprintf(others, sizeof others, "%d others", rest);
        const char *name = rest > 1 ? others : cause_name((enum kvf_cause)used[i]);
        draw_traffic_row(p, 2 + i, &x, f, m, name, &used[i], rest);
    }
    if (n > 1 && n < room) draw_traffic_row(p, 2 + n, &x, f, m, "all", used, n);
}

/* ---- what becomes of entries ---- */

enum { ENTRY_EVICTED, ENTRY_DEMOTED, ENTRY_PROMOTED, ENTRY_IN_FLIGHT, ENTRY_HITS, ENTRY_ERRORS, ENTRY_ROWS };
static const char *const entry_names[ENTRY_ROWS] = {"evicted/s", "demoted/s", "promoted/s",
                                                    "in flight", "hits/s",    "errors"};

static double entry_figure(const struct frame *f, const struct parts_figures *m, int t, int what) {
    if (!m->any) return KVF_MISSING;
    const struct snapshot_tier *v = &m->tier[t];
    switch (what) {
    case ENTRY_EVICTED:
        return parts_per_second(f, (double)v->evictions);
    case ENTRY_DEMOTED:
        return parts_per_second(f, (double)v->demotions);
    case ENTRY_PROMOTED:
        return parts_per_second(f, (double)v->promotions);
    case ENTRY_IN_FLIGHT:
        return m->whole ? KVF_MISSING : (double)v->io_in_flight;
    case ENTRY_HITS:
        return parts_per_second(f, (double)v->hits);
    default:
        return m->whole ? KVF_MISSING : (double)v->errors;
    }
}

/* A column for each tier; what distinguishes it beyond its name stands in the second row. */
static void draw_entries(const struct pane *p, const struct frame *f, const struct parts_figures *m) {
    enum { NAMES = 10 };
    int n = parts_tiers_on(f), col = NAMES;
    int cell = n && (p->at.cols - NAMES) / n < 14 ? (p->at.cols - NAMES) / n : 14;
    char text[NUMBER];
    pane_text(p, 0, 0, TONE_HEADING, "Entries");
    for (int r = 0; r < ENTRY_ROWS; r++) pane_text(p, 2 + r, 0, TONE_NORMAL, entry_names[r]);
    for (int t = 0; t < KVF_TIERS; t++) {
        if (!parts_tier_on(f, t)) continue;
        char name[64];
        parts_tier_label(f, t, name, sizeof name);
        const char *rest = strchr(name, ' ') ? strchr(name, ' ') + 1 : "";
        int used = canvas_text_columns(rest) < cell - 1 ? canvas_text_columns(rest) : cell - 1;
        pane_right(p, 0, col + cell, parts_tier_tone(t), tier_name((enum kvf_tier)t));
        pane_clip(p, 1, col + cell - used, used, parts_tier_tone(t), rest);
        for (int r = 0; r < ENTRY_ROWS; r++) {
            double v = entry_figure(f, m, t, r);
            enum tone tone = !(v > 0) ? TONE_DIM : r == ENTRY_ERRORS ? TONE_BAD : TONE_NORMAL;
            pane_right(p, 2 + r, col + cell, tone, number_count(v, text));
        }
        col += cell;
    }
}

/* ---- what the kernel counts for the disk ---- */

struct disk_figures {
    double ours, kernel; /* bytes */
    double ms;           /* the kernel's, summed over operations */
};

enum { DISK_NAME, DISK_OURS, DISK_KERNEL, DISK_RATIO, DISK_QUEUE, DISK_PER_MIB, DISK_BUSY, DISK_COLUMNS };
static const struct column disk_columns[DISK_COLUMNS] = {
    [DISK_NAME] = {.heading = "Disk", .cols = 8, .rank = 1, .most = 13, .left = true},
    [DISK_OURS] = {.heading = "kvfall", .cols = NUMBER_RATE, .rank = 6},
    [DISK_KERNEL] = {.heading = "kernel", .cols = NUMBER_RATE, .rank = 2},
    [DISK_RATIO] = {.heading = "ratio", .cols = 6, .rank = 3},
    [DISK_QUEUE] = {.heading = "queue", .cols = 5, .rank = 5},
    [DISK_PER_MIB] = {.heading = "per MiB", .cols = NUMBER_MS, .rank = 7},
    [DISK_BUSY] = {.heading = "busy", .cols = NUMBER_PERCENT, .rank = 4},
};

static void draw_disk_row(const struct pane *p, int row, const struct column_place *at, const struct frame *f,
                          const char *name, enum tone tone, struct disk_figures x) {
    char text[NUMBER], ratio[NUMBER + 1];
    double mib = x.kernel / 1048576.0;
    columns_cell(p, row, &disk_columns[DISK_NAME], at[DISK_NAME], tone, name);
    columns_cell(p, row, &disk_columns[DISK_OURS], at[DISK_OURS], TONE_NORMAL,
                 number_rate(parts_per_second(f, x.ours), text));
    columns_cell(p, row, &disk_columns[DISK_KERNEL], at[DISK_KERNEL], TONE_STRONG,
                 number_rate(parts_per_second(f, x.kernel), text));
    bool compared = x.ours > 0 && kvf_present(x.kernel);
    number_plain(compared ? x.kernel / x.ours : KVF_MISSING, text);
    snprintf(ratio, sizeof ratio, compared ? "%sx" : "%s", text);
    columns_cell(p, row, &disk_columns[DISK_RATIO], at[DISK_RATIO], TONE_NORMAL, ratio);
    columns_cell(p, row, &disk_columns[DISK_QUEUE], at[DISK_QUEUE], TONE_NORMAL,
                 number_count(parts_per_second(f, x.ms / 1e3), text));
    columns_cell(p, row, &disk_columns[DISK_PER_MIB], at[DISK_PER_MIB], TONE_NORMAL,
                 number_ms(mib > 0 ? x.ms / mib : KVF_MISSING, text));
}

static void draw_disk_load(const struct pane *p, int row, int col, const struct frame *f,
                           const struct snapshot_interval *i) {
    char busy[NUMBER], queue[NUMBER], padded[NUMBER + 8];
    snprintf(padded, sizeof padded, "%7s", number_count(i->device_queue, queue));
    parts_spark(p, row, col, p->at.cols - col, f, "busy ", number_percent(i->device_busy_ratio, busy),
                SERIES_DISK_BUSY, 1, TONE_ACCENT);
    parts_spark(p, row + 1, col, p->at.cols - col, f, "queue", padded, SERIES_DISK_QUEUE, 0, TONE_SECOND);
}

static const char *disk_absent(const struct frame *f, const struct parts_figures *m) {
    if (!m->any) return "no interval yet";
    if (!parts_tier_on(f, KVF_TIER_NVME)) return "the nvme tier is off";
    if (parts_tier_emulated(f, KVF_TIER_NVME)) return "the nvme tier is emulated: no device to ask";
    return "the kernel counts no device under the nvme tier";
}

static void draw_disk(const struct pane *p, const struct frame *f, const struct parts_figures *m) {
    struct column_place at[DISK_COLUMNS];
    const struct snapshot_interval *i = &m->interval;
    if (!m->any || (!kvf_present(i->device_read_bytes) && !kvf_present(i->device_busy_ratio))) {
        int col = pane_text(p, 0, 0, TONE_HEADING, "Disk") + 1;
        pane_clip(p, 0, col, p->at.cols - col, TONE_DIM, disk_absent(f, m));
        return;
    }
    const struct snapshot_tier *v = &m->tier[KVF_TIER_NVME];
    struct disk_figures r = {(double)v->read_bytes, i->device_read_bytes, i->device_read_ms};
    struct disk_figures w = {(double)v->write_bytes, i->device_write_bytes, i->device_write_ms};
    struct disk_figures both = {r.ours + w.ours, r.kernel + w.kernel, r.ms + w.ms};
    /* How busy the disk is stands in a column, and beside the table over time where there is room. */
    columns_place(disk_columns, DISK_BUSY, p->at.cols, at);
    at[DISK_BUSY] = (struct column_place){0, 0};
    int end = at[DISK_PER_MIB].col + at[DISK_PER_MIB].cols + 2;
    bool beside = at[DISK_PER_MIB].cols > 0 && p->at.cols - end >= 18;
    if (beside)
        draw_disk_load(p, 1, end, f, i);
    else
        columns_place(disk_columns, DISK_COLUMNS, p->at.cols, at);
    columns_headings(p, 0, disk_columns, DISK_COLUMNS, at);
    if (f->snap) pane_clip(p, 0, 5, at[DISK_NAME].cols - 5, TONE_NVME, f->snap->tier_device[KVF_TIER_NVME]);
    parts_row(p, 0, f, FRAME_DRIVE, 0);
    draw_disk_row(p, 1, at, f, "read", TONE_NORMAL, r);
    draw_disk_row(p, 2, at, f, "write", TONE_NORMAL, w);
    if (p->at.rows > 3) draw_disk_row(p, 3, at, f, "both", TONE_NORMAL, both);
    char busy[NUMBER];
    columns_cell(p, 1, &disk_columns[DISK_BUSY], at[DISK_BUSY], TONE_STRONG,
                 number_percent(i->device_busy_ratio, busy));
}

/* ---- over time ---- */

/* Fewer tiers than there are rows for, and no room for graphs of their own: what is left over under the
 * table shows how much goes to and fro. */
static void draw_bandwidth(struct canvas *c, struct rect at, const struct frame *f) {
    struct parts_line lines[KVF_TIERS * KVF_DIRS];
    char names[KVF_TIERS * KVF_DIRS][80], label[64];
    int used = 1 + 2 * parts_tiers_on(f);
    unsigned n = 0;
    struct pane p = pane_at(c, (struct rect){at.row + used, at.col, at.rows - used, at.cols});
    if (pane_empty(&p) || p.at.rows < 3 || used == 1) return;
    for (int t = 0; t < KVF_TIERS; t++) {
        if (!parts_tier_on(f, t)) continue;
        for (int d = 0; d < KVF_DIRS; d++, n++) {
            enum series_tier s = d == KVF_DIR_READ ? SERIES_TIER_READ : SERIES_TIER_WRITE;
            snprintf(names[n], sizeof names[n], "%s %s", parts_tier_label(f, t, label, sizeof label),
                     dir_name((enum kvf_dir)d));
            lines[n] =
                (struct parts_line){names[n], series_tier(t, s), parts_tier_tone(t), d == KVF_DIR_WRITE};
        }
    }
    parts_graph(&p, f, "Bytes/s", number_short, 0, lines, n);
}

/* Two rows that tiers which are off leave free under the table, and that no graph needs. */
static struct rect free_gpu_rows(const struct rect *at, const struct frame *f) {
    int used = 1 + 2 * parts_tiers_on(f), left = at->rows - used;
    bool some = f->snap && f->snap->gpus > 0 && left == 2;
    return (struct rect){at->row + used, at->col, some ? left : 0, at->cols};
}

/* Rows from the top of the first line of graphs, as many as leave those readable. */
static struct rect take_rows(struct rect at[SECTIONS], int rows) {
    enum { GRAPH_LEAST = 6 };
    int top = at[OCCUPANCY].row, left = at[OCCUPANCY].col, end = left, room = at[OCCUPANCY].rows;

    if (rows > room - GRAPH_LEAST) rows = room - GRAPH_LEAST;
    if (rows < 1) return (struct rect){0};
    for (int i = OCCUPANCY; i <= WRITES; i++) {
        if (at[i].rows == 0 || at[i].row != top) continue;
        end = at[i].col + at[i].cols;
        at[i].row += rows;
        at[i].rows -= rows;
    }
    return (struct rect){top, left, rows, end - left};
}

/* GPUs are no section, since most runs have none. */
static struct rect take_gpu_rows(struct rect at[SECTIONS], const struct frame *f) {
    struct rect got = take_rows(at, f->snap && f->snap->gpus > 0 ? 1 + (int)f->snap->gpus : 0);
    return got.rows > 0 ? got : free_gpu_rows(&at[IO], f);
}

/* Nor is a server: it has two rows of the graphs, or what is left under the disk. */
static struct rect take_server_rows(struct rect at[SECTIONS], const struct frame *f, int end) {
    enum { ROWS = 2 };
    if (!f->snap || !f->snap->remote_known) return (struct rect){0};
    struct rect got = take_rows(at, ROWS);
    if (got.rows == ROWS || at[OCCUPANCY].rows > 0) return got;
    const struct rect *above = at[DISK].rows > 0 ? &at[DISK] : &at[IO];
    int row = above->row + above->rows;
    return (struct rect){row, 0, end - row >= ROWS ? ROWS : 0, above->cols};
}

static void draw(struct canvas *c, const struct rect *places, const struct frame *f) {
    static void (*const tables[])(const struct pane *, const struct frame *, const struct parts_figures *) = {
        [IO] = draw_io,
        [CAUSES] = draw_causes,
        [ENTRIES] = draw_entries,
        [DISK] = draw_disk,
    };
    struct parts_figures m;
    struct rect at[SECTIONS];
    memcpy(at, places, sizeof at);
    struct rect gpus = take_gpu_rows(at, f), server = take_server_rows(at, f, c->rows - 1);
    struct pane top = pane_at(c, at[TIERS]), devices = pane_at(c, gpus), beside = pane_at(c, server);
    struct pane figures = pane_part(&beside, 0, 1, -1, -1);
    parts_server(&figures, f);
    struct pane table = pane_part(&devices, 0, 1, -1, -1);
    parts_gpus(&table, f);
    parts_tiers(&top, f);
    parts_figures(f, &m);
    for (size_t i = IO; i < sizeof tables / sizeof *tables; i++) {
        struct pane whole = pane_at(c, at[i]), p = pane_part(&whole, 0, 1, -1, -1);
        if (!pane_empty(&p)) tables[i](&p, f, &m);
    }
    if (at[READS].rows == 0) draw_bandwidth(c, at[IO], f);
    static const struct {
        int section;
        enum series_tier series;
        const char *title;
        number_fn *axis;
        double top;
    } graphs[] = {{OCCUPANCY, SERIES_TIER_USED_RATIO, "Occupancy", number_percent, 1},
                  {READS, SERIES_TIER_READ, "Read B/s", number_short, 0},
                  {WRITES, SERIES_TIER_WRITE, "Write B/s", number_short, 0},
                  {READ_P95, SERIES_TIER_READ_P95_MS, "Read P95", number_ms, 0},
                  {WRITE_P95, SERIES_TIER_WRITE_P95_MS, "Write P95", number_ms, 0},
                  {FALLS, SERIES_TIER_FALLS, "Falls/s", number_count, 0},
                  {FLIGHT, SERIES_TIER_IN_FLIGHT, "I/O in flight", number_count, 0}};
    for (size_t i = 0; i < sizeof graphs / sizeof *graphs; i++) {
        struct pane p = pane_at(c, at[graphs[i].section]);
        parts_tier_graph(&p, f, graphs[i].title, graphs[i].axis, graphs[i].top, graphs[i].series);
    }
}

const struct panel_ops panel_tiers = {
    .name = "tiers",
    .title = "what each tier holds, carries and costs, why, and what the disk says",
    .sections = sections,
    .section_count = SECTIONS,
    .draw = draw,
};
