#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "draw/number.h"
#include "ui/keyboard.h"
#include "ui/panel/columns.h"
#include "ui/panel/panels.h"
#include "ui/panel/parts.h"

enum { COUNTS, TABLE, SECTIONS };

static const struct layout_section sections[SECTIONS] = {
    [COUNTS] = {.name = "counts", .line = 0, .least_cols = 20, .rows = {1}, .urgency = {2}},
    [TABLE] = {.name = "hosts", .line = 1, .least_cols = 20, .rows = {6}, .urgency = {1}, .grow = 1},
};

/* Sortable columns come first, in the order in which `o` goes through them. */
enum {
    RANK,
    HOST,
    USERS,
    SERVICE,
    WAITING,
    P95,
    TOKENS,
    GPU,
    CPU,
    NVME,
    DEVICE,
    ERRORS,
    LATE,
    SORTS,
    STATE = SORTS,
    COLUMNS
};
_Static_assert((int)PANEL_HOSTS_SORT == (int)P95, "the slowest rank comes first");

static const struct column columns[COLUMNS] = {
    [RANK] = {.heading = "rank", .cols = 5, .rank = 1},
    [HOST] = {.heading = "host", .cols = 8, .rank = 3, .most = 30, .left = true},
    [USERS] = {.heading = "users", .cols = 6, .rank = 12},
    [SERVICE] = {.heading = "in svc", .cols = 7, .rank = 5},
    [WAITING] = {.heading = "waiting", .cols = 8, .rank = 9},
    [P95] = {.heading = "e2e P95", .cols = NUMBER_MS + 1, .rank = 2},
    [TOKENS] = {.heading = "tok/s", .cols = NUMBER_COUNT + 1, .rank = 4},
    [GPU] = {.heading = "gpu busy", .cols = 9, .rank = 8},
    [CPU] = {.heading = "cpu busy", .cols = 9, .rank = 10},
    [NVME] = {.heading = "nvme busy", .cols = 10, .rank = 6},
    [DEVICE] = {.heading = "device", .cols = 15, .rank = 13, .most = 24},
    [ERRORS] = {.heading = "errors", .cols = 7, .rank = 11},
    [LATE] = {.heading = "late P99", .cols = 9, .rank = 14},
    [STATE] = {.heading = "", .cols = 8, .rank = 7, .left = true},
};
enum { MARGIN = 1 }; /* for the sign of a rank that is lost */

/* ---- what a column is of ---- */

static double figure(const struct snapshot_host *h, int column) {
    const struct snapshot_rank *r = &h->rank;
    switch (column) {
    case RANK:
        return (double)r->rank;
    case USERS:
        return r->users;
    case SERVICE:
        return r->in_service;
    case WAITING:
        return r->queue_depth;
    case P95:
        return r->e2e_p95_ms;
    case TOKENS:
        return r->throughput_tok_s;
    case GPU:
    case CPU:
    case NVME:
        return h->tier[KVF_TIER_GPU + column - GPU].busy_ratio;
    case DEVICE:
        return r->device_busy_ratio;
    case ERRORS:
        return r->errors;
    case LATE:
        return r->lateness_p99_ms;
    default:
        return KVF_MISSING;
    }
}

static const char *cell(const struct snapshot_host *h, int column, char out[64]) {
    double v = figure(h, column);
    char busy[NUMBER];
    if (column == HOST) return h->host;
    if (column == DEVICE) {
        snprintf(out, 64, "%s%s", h->device[0] ? h->device : "--", number_percent(v, busy));
        return out;
    }
    if (column == P95 || column == LATE) return number_ms(v, out);
    if (column >= GPU && column <= NVME) return number_percent(v, out);
    return number_count(v, out);
}

static int order(const struct snapshot_host *a, const struct snapshot_host *b, int column) {
    if (column == HOST) return strcmp(a->host, b->host);
    double x = figure(a, column), y = figure(b, column);
    return isnan(x) || isnan(y) ? isnan(y) - isnan(x) : (x > y) - (x < y);
}

/* ---- rows ---- */

/* Ranks as the table has them, and the one with the highest P95; NULL: nobody has one, or all the same. */
struct rows {
    const struct snapshot_host *row[SNAPSHOT_HOSTS];
    uint32_t count;
    const struct snapshot_host *slowest;
};

static void rows_pick(const struct frame *f, struct rows *out) {
    int sign = f->table.descending ? -1 : 1;
    *out = (struct rows){.count = 0};
    for (uint32_t i = 0; i < parts_hosts(f); i++) {
        const struct snapshot_host *h = parts_host(f, i);
        uint32_t at = out->count++;
        for (; at > 0 && sign * order(out->row[at - 1], h, f->table.sort) > 0; at--)
            out->row[at] = out->row[at - 1];
        out->row[at] = h;
        if (!isnan(h->rank.e2e_p95_ms) &&
            (!out->slowest || h->rank.e2e_p95_ms > out->slowest->rank.e2e_p95_ms))
            out->slowest = h;
    }
}

/* ---- drawing ---- */

static void draw_state(const struct pane *p, int row, const struct column_place *at, const struct rows *rows,
                       const struct snapshot_host *h) {
    char text[32];
    bool slowest = h == rows->slowest && rows->count > 1;
    snprintf(text, sizeof text, "%s", h->rank.lost ? "lost" : slowest ? "slowest" : "");
    if (!h->rank.lost && h->rank.behind > 0)
        snprintf(text, sizeof text, "%" PRIu64 " behind", h->rank.behind);
    columns_cell(p, row, &columns[STATE], at[STATE], h->rank.lost ? TONE_BAD : TONE_WARN, text);
    if (h->rank.lost || slowest)
        pane_text(p, row, 0, h->rank.lost ? TONE_BAD : TONE_WARN, h->rank.lost ? "!" : "*");
}

static void draw_table(const struct pane *p, const struct frame *f, const struct rows *rows) {
    struct column_place at[COLUMNS];
    char text[64];
    struct pane body = pane_part(p, 0, MARGIN, -1, -1);
    columns_place(columns, COLUMNS, p->at.cols - MARGIN, at);
    for (int i = 0; i < COLUMNS; i++) at[i].col += MARGIN;
    parts_headings(p, f, columns, SORTS, at);
    uint32_t room = p->at.rows > 1 ? (uint32_t)p->at.rows - 1 : 0;
    uint32_t shown = rows->count <= room ? rows->count : room > 0 ? room - 1 : 0;
    for (uint32_t i = 0; i < shown; i++) {
        const struct snapshot_host *h = rows->row[i];
        int row = (int)i + 1;
        parts_row(&body, row, f, FRAME_RANK, h->rank.rank);
        for (int c = 0; c < SORTS; c++)
            columns_cell(p, row, &columns[c], at[c],
                         h == rows->slowest && c == P95      ? TONE_WARN
                         : c == ERRORS && h->rank.errors > 0 ? TONE_BAD
                         : c == P95 || c == TOKENS           ? TONE_STRONG
                                                             : TONE_NORMAL,
                         cell(h, c, text));
        draw_state(p, row, at, rows, h);
    }
    if (shown < rows->count)
        pane_textf(p, (int)room, MARGIN, TONE_DIM, "and %u more ranks; o and O sort", rows->count - shown);
}

static void draw_counts(const struct pane *p, const struct frame *f, const struct rows *rows) {
    uint32_t lost = 0, hosts = 0;
    for (uint32_t i = 0; i < rows->count; i++) {
        uint32_t k = 0;
        while (k < i && strcmp(rows->row[k]->host, rows->row[i]->host) != 0) k++;
        hosts += k == i;
        lost += rows->row[i]->rank.lost != 0;
    }
    int col = pane_textf(p, 0, MARGIN, TONE_HEADING, "%u ranks on %u host%s", rows->count, hosts,
                         hosts == 1 ? "" : "s") +
              MARGIN;
    if (lost > 0) col += pane_textf(p, 0, col, TONE_BAD, ", %u lost", lost);
    if (parts_whole_run(f)) col += pane_text(p, 0, col, TONE_DIM, ", whole run");
    if (rows->count == SNAPSHOT_HOSTS) pane_text(p, 0, col, TONE_DIM, ", the slowest of more");
}

static void draw(struct canvas *c, const struct rect *at, const struct frame *f) {
    struct pane counts = pane_at(c, at[COUNTS]), table = pane_at(c, at[TABLE]);
    struct rows rows;
    rows_pick(f, &rows);
    struct pane text = pane_part(&table, 0, MARGIN, -1, -1);
    if (pane_empty(&text)) return;
    if (rows.count == 0) {
        pane_wrap(
            &text, 0, TONE_DIM,
            parts_preparing(f)
                ? "Each rank of a run over several has a row here from the first interval on."
                : "This run is one process. A run over several, started with --ranks or by mpirun, has a "
                  "row here for each of them.");
        return;
    }
    if (!pane_empty(&counts)) draw_counts(&counts, f, &rows);
    draw_table(&table, f, &rows);
}

const struct panel_ops panel_hosts = {.name = "hosts",
                                      .title = "the ranks of a run, and which is the slowest",
                                      .sections = sections,
                                      .section_count = SECTIONS,
                                      .sort_columns = SORTS,
                                      .draw = draw};
