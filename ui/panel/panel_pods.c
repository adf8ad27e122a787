#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "draw/number.h"
#include "ui/keyboard.h"
#include "ui/panel/columns.h"
#include "ui/panel/panels.h"
#include "ui/panel/parts.h"

enum { FACTS, MAP, TABLE, SECTIONS };

static const struct layout_section sections[SECTIONS] = {
    [FACTS] = {.name = "fleet", .line = 0, .least_cols = 20, .rows = {1, 3}, .urgency = {1, 4}},
    [MAP] = {.name = "heat map", .line = 1, .least_cols = 20, .rows = {3}, .urgency = {3}, .grow = 1},
    [TABLE] = {.name = "pods", .line = 2, .least_cols = 20, .rows = {4}, .urgency = {2}, .grow = 1},
};

/* Sortable columns come first, in the order in which `o` goes through them. */
enum { POD, LOAD, HITS, WRONG, DONE, TOKENS, SORTS, STATE = SORTS, COLUMNS };
_Static_assert((int)PANEL_PODS_SORT == (int)LOAD, "the most loaded pod comes first");

static const struct column columns[COLUMNS] = {
    [POD] = {.heading = "pod", .cols = 10, .rank = 1},
    [LOAD] = {.heading = "load", .cols = NUMBER_COUNT + 1, .rank = 2},
    [HITS] = {.heading = "hit ratio", .cols = 10, .rank = 3},
    [WRONG] = {.heading = "not there", .cols = 10, .rank = 4},
    [DONE] = {.heading = "done/s", .cols = 7, .rank = 6},
    [TOKENS] = {.heading = "tok/s", .cols = NUMBER_COUNT + 1, .rank = 7},
    [STATE] = {.heading = "", .cols = 28, .rank = 5, .left = true},
};

static double ratio(uint64_t part, uint64_t all) {
    return all > 0 ? (double)part / (double)all : KVF_MISSING;
}

/* Rows of the interval; or of the whole run, made from its pods, as many in a row as a fleet of more than 256
 * needs. */
struct view {
    const struct snapshot_pod *pod;
    uint32_t rows;
    double length_s;
    bool whole;
    struct snapshot_pod made[SNAPSHOT_PODS];
};

static void add_pod(struct snapshot_pod *row, const struct run_pod *p) {
    if (row->pods++ == 0) row->pod = p->pod;
    if (row->pods == 1 || p->load_mean > row->most_load) {
        row->most_load = p->load_mean;
        row->most_pod = p->pod;
    }
    row->done += p->requests_done;
    row->tokens += p->tokens;
    row->lookups += p->lookups;
    for (int t = 0; t < KVF_TIERS; t++) row->hits += p->hits[t];
    row->expected_blocks += p->expected_blocks;
    row->wrong_blocks += p->wrong_blocks;
}

static void view_of(const struct frame *f, struct view *v) {
    v->whole = parts_whole_run(f) && f->run->pod_count > 0;
    if (!v->whole) {
        v->pod = f->interval ? f->interval->pod : NULL;
        v->rows = f->interval ? f->interval->pod_rows : 0;
        v->length_s = f->interval ? f->interval->interval.length_s : KVF_MISSING;
        return;
    }
    size_t each = (f->run->pod_count + SNAPSHOT_PODS - 1) / SNAPSHOT_PODS;
    memset(v->made, 0, sizeof v->made);
    for (size_t i = 0; i < f->run->pod_count; i++) add_pod(&v->made[i / each], &f->run->pods[i]);
    v->pod = v->made;
    v->rows = (uint32_t)((f->run->pod_count + each - 1) / each);
    v->length_s = result_value(&f->run->results, "measured_s");
}

static double figure(const struct view *f, const struct snapshot_pod *p, int column) {
    switch (column) {
    case POD:
        return (double)p->pod;
    case LOAD:
        return p->most_load;
    case HITS:
        return ratio(p->hits, p->lookups);
    case WRONG:
        return ratio(p->wrong_blocks, p->expected_blocks);
    case DONE:
        return (double)p->done / f->length_s;
    case TOKENS:
        return (double)p->tokens / f->length_s;
    default:
        return KVF_MISSING;
    }
}

/* ---- the fleet ---- */

static const char *bare(const char *figure) {
    while (*figure == ' ') figure++;
    return figure;
}

/* Of the interval; at the end of a run its results, which have no "now". */
static struct snapshot_fleet fleet_of(const struct frame *f) {
    const struct result_list *r = &f->run->results;
    struct snapshot_fleet x = f->interval->fleet;
    if (!parts_whole_run(f)) return x;
    x.load_imbalance = result_value(r, "load_imbalance");
    x.expected_blocks = (uint64_t)fmax(result_value(r, "routed_blocks"), 0);
    x.wrong_blocks = (uint64_t)fmax(result_value(r, "routed_blocks_wrong"), 0);
    x.index_lookups = (uint64_t)fmax(result_value(r, "index_lookups"), 0);
    x.index_events = (uint64_t)fmax(result_value(r, "index_events"), 0);
    return x;
}

static void draw_facts(const struct pane *p, const struct frame *f) {
    const struct snapshot_fleet x = fleet_of(f);
    struct pane body = pane_part(p, 0, 1, -1, -1);
    struct parts_facts facts = parts_facts(&body);
    enum { FIGURES = 11 };
    char text[FIGURES][NUMBER];
    const double wrong = ratio(x.wrong_blocks, x.expected_blocks);
    const struct {
        const char *name, *figure;
        enum tone tone;
    } all[] = {
        {"pods", number_count((double)x.pods, text[0]), TONE_STRONG},
        {"pods gone", number_count((double)x.pods_down, text[1]), x.pods_down ? TONE_BAD : TONE_NORMAL},
        {"load imbalance", number_plain(x.load_imbalance, text[2]), TONE_STRONG},
        {"not there", number_percent(wrong, text[3]), TONE_STRONG},
        {"expected", number_count((double)x.expected_blocks, text[4]), TONE_NORMAL},
        {"index behind", number_ms(x.index_behind_ms, text[5]), TONE_STRONG},
        {"events waiting", number_count(x.index_waiting, text[6]), TONE_NORMAL},
        {"index pairs", number_count((double)x.index_entries, text[7]), TONE_NORMAL},
        {"index memory", number_bytes((double)x.index_bytes, text[8]), TONE_NORMAL},
        {"index lookups", number_count((double)x.index_lookups, text[9]), TONE_NORMAL},
        {"index events", number_count((double)x.index_events, text[10]), TONE_NORMAL}};
    for (int i = 0; i < FIGURES && i < facts.columns * body.at.rows; i++)
        parts_fact(&facts, all[i].name, all[i].tone, all[i].figure);
}

/* ---- the map ---- */

enum { LEVELS = 5, LABEL = 6, CELL_MOST = 8 };
static const uint32_t blocks[LEVELS] = {0xb7, 0x2591, 0x2592, 0x2593, 0x2588};
static const uint32_t signs[LEVELS] = {'.', ':', '+', '*', '#'};
static const struct {
    const char *title;
    int column;
} maps[SNAPSHOT_HEATS] = {
    {"Load, requests queued and in service", LOAD}, {"Hit ratio", HITS}, {"Expected, not there", WRONG}};

/* Cells from the top left on by number: `each` rows of the snapshot in one, `cols` columns of the screen
 * wide. */
struct grid {
    int cols, lines, in_line, tall;
    uint32_t each, cells;
};

static struct grid grid_fit(uint32_t rows, int cols, int lines) {
    struct grid g = {.each = (rows + (uint32_t)(cols * lines) - 1) / (uint32_t)(cols * lines), .tall = 1};
    g.cells = (rows + g.each - 1) / g.each;
    for (g.cols = CELL_MOST; g.cols > 1; g.cols--) {
        g.in_line = cols / g.cols;
        if (g.in_line > 0 && (int)g.cells <= g.in_line * lines) break;
    }
    g.in_line = cols / g.cols;
    g.lines = ((int)g.cells + g.in_line - 1) / g.in_line;
    while (g.tall < 3 && g.lines * (g.tall + 1) <= lines) g.tall++;
    return g;
}

/* Of a cell: its highest figure, of hits that of all its pods; whether one of them is gone. */
static double cell_value(const struct view *v, const struct grid *g, uint32_t cell, int column, bool *down) {
    struct snapshot_pod sum = {.most_load = KVF_MISSING};
    for (uint32_t i = cell * g->each; i < (cell + 1) * g->each && i < v->rows; i++) {
        const struct snapshot_pod *p = &v->pod[i];
        if (!(p->most_load <= sum.most_load)) sum.most_load = p->most_load;
        sum.hits += p->hits;
        sum.lookups += p->lookups;
        sum.expected_blocks += p->expected_blocks;
        sum.wrong_blocks += p->wrong_blocks;
        sum.down += p->down;
    }
    *down = sum.down > 0;
    return figure(v, &sum, column);
}

static void draw_cell(const struct pane *p, const struct grid *g, uint32_t cell, double share, bool down) {
    const uint32_t *glyphs = p->canvas->style.ascii ? signs : blocks;
    int level = isnan(share) ? -1 : (int)(share * LEVELS), width = g->cols > 2 ? g->cols - 1 : g->cols;
    if (level >= LEVELS) level = LEVELS - 1;
    int row = 1 + (int)cell / g->in_line * g->tall, col = LABEL + (int)cell % g->in_line * g->cols;
    for (int i = 0; i < g->tall * width; i++)
        pane_glyph(p, row + i / width, col + i % width,
                   down        ? TONE_BAD
                   : level < 0 ? TONE_DIM
                               : (enum tone)(TONE_HEAT1 + level),
                   down        ? 'x'
                   : level < 0 ? '-'
                               : glyphs[level]);
}

static void draw_legend(const struct pane *p, const struct grid *g, const struct view *v, int map,
                        double most) {
    const uint32_t *glyphs = p->canvas->style.ascii ? signs : blocks;
    char top[NUMBER], text[64];
    uint64_t in_cell = (uint64_t)g->each * v->pod[0].pods;
    int col = 1 + pane_clip(p, 0, 1, p->at.cols - 1, TONE_HEADING, maps[map].title);
    const char *when = v->whole ? ", whole run" : "";
    if (in_cell > 1)
        snprintf(text, sizeof text, ", %" PRIu64 " pods a cell%s", in_cell, when);
    else
        snprintf(text, sizeof text, ", a cell a pod%s", when);
    if (col + canvas_text_columns(text) >= p->at.cols - 18) snprintf(text, sizeof text, "%s", when);
    if (col + canvas_text_columns(text) < p->at.cols - 18) pane_text(p, 0, col, TONE_DIM, text);
    snprintf(text, sizeof text, "%s", bare(map == 0 ? number_plain(most, top) : number_percent(most, top)));
    int at = p->at.cols - canvas_text_columns(text) - LEVELS - 3;
    if (at <= col) return;
    pane_text(p, 0, at, TONE_DIM, "0");
    for (int i = 0; i < LEVELS; i++) pane_glyph(p, 0, at + 2 + i, (enum tone)(TONE_HEAT1 + i), glyphs[i]);
    pane_text(p, 0, at + LEVELS + 3, TONE_DIM, text);
}

static void draw_map(const struct pane *p, const struct frame *f, const struct view *v) {
    int map = f->heat >= 0 && f->heat < SNAPSHOT_HEATS ? f->heat : 0, column = maps[map].column;
    double most = map == 0 ? 0 : 1;
    bool down;
    if (p->at.rows < 2 || p->at.cols <= LABEL) return;
    struct grid g = grid_fit(v->rows, p->at.cols - LABEL, p->at.rows - 1);
    for (uint32_t i = 0; map == 0 && i < g.cells; i++) most = fmax(most, cell_value(v, &g, i, column, &down));
    draw_legend(p, &g, v, map, most);
    for (uint32_t i = 0; i < g.cells; i++) {
        double value = cell_value(v, &g, i, column, &down);
        if (i % (uint32_t)g.in_line == 0) {
            char text[24];
            snprintf(text, sizeof text, "%" PRIu64, v->pod[i * g.each].pod);
            pane_right(p, 1 + (int)i / g.in_line * g.tall, LABEL - 1, TONE_DIM, text);
        }
        draw_cell(p, &g, i, most > 0 ? value / most : 0, down);
    }
}

/* ---- rows ---- */

struct rows {
    const struct snapshot_pod *row[SNAPSHOT_PODS];
    uint32_t count;
};

/* Without a figure is behind those with one. */
static bool comes_before(const struct frame *f, const struct view *v, const struct snapshot_pod *a,
                         const struct snapshot_pod *b) {
    double x = figure(v, a, f->table.sort), y = figure(v, b, f->table.sort);
    if (isnan(x) || isnan(y)) return !isnan(x) && isnan(y);
    return f->table.descending ? x > y : x < y;
}

static void rows_pick(const struct frame *f, const struct view *v, struct rows *out) {
    out->count = 0;
    for (uint32_t i = 0; i < v->rows; i++) {
        uint32_t at = out->count++;
        for (; at > 0 && comes_before(f, v, &v->pod[i], out->row[at - 1]); at--)
            out->row[at] = out->row[at - 1];
        out->row[at] = &v->pod[i];
    }
}

static const char *cell_text(const struct view *f, const struct snapshot_pod *p, int column, char *out) {
    double v = figure(f, p, column);
    if (column == POD && p->pods > 1)
        snprintf(out, NUMBER, "%" PRIu64 "-%" PRIu64, p->pod, (p->pod + p->pods - 1));
    else if (column == POD)
        snprintf(out, NUMBER, "%" PRIu64, p->pod);
    else if (column == LOAD || column == DONE)
        number_plain(v, out);
    else if (column == TOKENS)
        number_count(v, out);
    else
        number_percent(v, out);
    return out;
}

static void draw_table(const struct pane *p, const struct frame *f, const struct view *v) {
    struct column_place at[COLUMNS];
    struct rows rows;
    char text[64];
    rows_pick(f, v, &rows);
    columns_place(columns, COLUMNS, p->at.cols, at);
    parts_headings(p, f, columns, SORTS, at);
    uint32_t room = p->at.rows > 1 ? (uint32_t)p->at.rows - 1 : 0;
    uint32_t shown = rows.count <= room ? rows.count : room > 0 ? room - 1 : 0;
    for (uint32_t i = 0; i < shown; i++) {
        const struct snapshot_pod *r = rows.row[i];
        for (int c = 0; c < SORTS; c++)
            columns_cell(p, (int)i + 1, &columns[c], at[c], c == f->table.sort ? TONE_STRONG : TONE_NORMAL,
                         cell_text(v, r, c, text));
        snprintf(text, sizeof text, "%s", r->down ? "gone" : "");
        if (r->pods > 1)
            snprintf(text, sizeof text, "load of pod %" PRIu64 "%s", r->most_pod,
                     r->down ? ", some gone" : "");
        columns_cell(p, (int)i + 1, &columns[STATE], at[STATE], r->down ? TONE_BAD : TONE_DIM, text);
    }
    if (shown < rows.count && room > 0)
        pane_textf(p, (int)room, 1, TONE_DIM, "and %u more; o and O sort", rows.count - shown);
}

static void draw(struct canvas *c, const struct rect *at, const struct frame *f) {
    struct pane facts = pane_at(c, at[FACTS]), map = pane_at(c, at[MAP]), table = pane_at(c, at[TABLE]);
    struct view v;
    view_of(f, &v);
    if (v.rows == 0) {
        struct rect all = at[FACTS];
        if (at[TABLE].rows > 0) all.rows = at[TABLE].row + at[TABLE].rows - all.row;
        struct pane whole = pane_at(c, all), text = pane_part(&whole, 0, 1, -1, -1);
        pane_wrap(&text, 0, TONE_DIM,
                  f->interval
                      ? "This run has one pod. A fleet (fleet.pods of 2 or more) has a row here for each pod."
                      : "No interval yet.");
        return;
    }
    if (!pane_empty(&facts)) draw_facts(&facts, f);
    if (!pane_empty(&map)) draw_map(&map, f, &v);
    if (!pane_empty(&table)) draw_table(&table, f, &v);
}

const struct panel_ops panel_pods = {.name = "pods",
                                     .title =
                                         "each pod of a fleet: load, hits, and how well routers know them",
                                     .sections = sections,
                                     .section_count = SECTIONS,
                                     .sort_columns = SORTS,
                                     .draw = draw};
