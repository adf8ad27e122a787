#include <stdio.h>
#include <string.h>

#include "draw/number.h"
#include "record/judge/judge.h"
#include "ui/detail/details.h"
#include "ui/panel/parts.h"

enum { HEAD, FACTS, LEVELS, CAUSES, DEVICES, BYTES, P95, FULL, FLIGHT, SECTIONS };

static const struct layout_section sections[SECTIONS] = {
    [HEAD] = {.name = "tier", .line = 0, .least_cols = 20, .rows = {1, 2}, .urgency = {1, 8}},
    [FACTS] = {.name = "figures", .line = 1, .least_cols = 20, .rows = {3, 7}, .urgency = {2, 4}},
    [LEVELS] = {.name = "latency", .line = 2, .least_cols = 38, .rows = {4, 7}, .urgency = {3, 5}},
    [CAUSES] = {.name = "causes", .line = 2, .least_cols = 38, .rows = {4, 7}, .urgency = {3, 5}},
    [DEVICES] = {.name = "devices", .line = 3, .least_cols = 20, .rows = {1, 4}, .urgency = {6, 10}},
    [BYTES] = {.name = "bytes", .line = 4, .least_cols = 38, .rows = {4, 6}, .urgency = {7, 9}, .grow = 1},
    [P95] = {.name = "P95", .line = 4, .least_cols = 38, .rows = {4, 6}, .urgency = {7, 9}, .grow = 1},
    [FULL] = {.name = "occupancy", .line = 5, .least_cols = 38, .rows = {6}, .urgency = {11}, .grow = 1},
    [FLIGHT] = {.name = "in flight", .line = 5, .least_cols = 38, .rows = {6}, .urgency = {11}, .grow = 1},
};

static void draw_head(const struct pane *p, const struct frame *f, int t, const struct snapshot_tier *v) {
    char text[64], busy[NUMBER], full[NUMBER];
    enum { BAR = 10 };
    double level = v->capacity_bytes ? (double)v->used_bytes / (double)v->capacity_bytes : KVF_MISSING;
    int col = pane_text(p, 0, 0, parts_tier_tone(t), parts_tier_label(f, t, text, sizeof text)) + 2;
    if (!parts_tier_on(f, t)) {
        pane_text(p, 0, col, TONE_DIM, "off");
        return;
    }
    col += pane_text(p, 0, col, TONE_HEADING, "busy ");
    graph_bar_graded(p, 0, col, BAR, v->busy_ratio, JUDGE_SATURATED);
    col += BAR + 1 + pane_text(p, 0, col + BAR + 1, TONE_STRONG, number_percent(v->busy_ratio, busy)) + 2;
    col += pane_text(p, 0, col, TONE_HEADING, "full ");
    graph_bar(p, 0, col, BAR, level, parts_tier_tone(t));
    pane_text(p, 0, col + BAR + 1, TONE_STRONG, number_percent(level, full));
    /* the record's tiers are written while the run goes on */
    if (f->over) pane_clip(p, 1, 0, p->at.cols, TONE_DIM, f->run->tier[t].description);
}

static void fact_rate(struct parts_facts *x, const char *name, const struct frame *f, double amount) {
    char text[NUMBER + 4];
    number_count(parts_per_second(f, amount), text);
    parts_fact(x, name, amount > 0 ? TONE_STRONG : TONE_NORMAL, text);
}

static void fact_percent(struct parts_facts *x, const char *name, double share) {
    char text[NUMBER];
    parts_fact(x, name, TONE_STRONG, number_percent(share, text));
}

static void fact_bad(struct parts_facts *x, const char *name, double count) {
    char text[NUMBER];
    parts_fact(x, name, count > 0 ? TONE_BAD : TONE_NORMAL, number_count(count, text));
}

static void draw_facts(const struct pane *p, const struct frame *f, const struct parts_figures *m, int t) {
    const struct snapshot_tier *v = &m->tier[t];
    struct parts_facts x = parts_facts(p);
    double lookups = (double)m->interval.reuse_lookups, no = KVF_MISSING;
    char text[2 * NUMBER + 8], one[NUMBER], two[NUMBER];
    fact_percent(&x, "reading", v->read_busy_ratio);
    fact_percent(&x, "writing", v->write_busy_ratio);
    number_short((double)v->used_bytes, one), number_short((double)v->capacity_bytes, two);
    snprintf(text, sizeof text, "%s/%s", one + strspn(one, " "), two + strspn(two, " "));
    parts_fact(&x, "used/usable", TONE_STRONG, text);
    parts_fact(&x, "read", TONE_STRONG, number_rate(parts_per_second(f, (double)v->read_bytes), text));
    parts_fact(&x, "write", TONE_STRONG, number_rate(parts_per_second(f, (double)v->write_bytes), text));
    parts_fact(&x, "entries", TONE_STRONG, number_count((double)v->entries, text));
    fact_rate(&x, "reads/s", f, (double)v->read_ops);
    fact_rate(&x, "writes/s", f, (double)v->write_ops);
    fact_percent(&x, "reuse", lookups > 0 ? (double)v->reuse_hits / lookups : no);
    parts_fact(&x, "in flight", TONE_STRONG, number_count(m->whole ? no : (double)v->io_in_flight, text));
    parts_fact(&x, "in flight mean", TONE_STRONG, number_plain(v->io_in_flight_mean, text));
    fact_rate(&x, "hits/s", f, (double)v->hits);
    fact_rate(&x, "evicted/s", f, (double)v->evictions);
    fact_rate(&x, "demoted/s", f, (double)v->demotions);
    fact_rate(&x, "promoted/s", f, (double)v->promotions);
    fact_bad(&x, "fell through", (double)v->fell_through);
    fact_bad(&x, "errors", m->whole ? no : (double)v->errors);
    if (v->hung_s > 0) {
        snprintf(text, sizeof text, "%.0f s", v->hung_s);
        parts_fact(&x, "hangs for", TONE_BAD, text);
    }
}

static void draw_levels(const struct pane *p, const struct frame *f, int t) {
    static const char *const names[WINDOWS_PARTS] = {"", " device", " line"};
    bool all = p->at.rows >= 1 + KVF_DIRS * WINDOWS_PARTS;
    int row = 1;
    parts_levels_heading(p, f, "Latency");
    for (int d = 0; d < KVF_DIRS; d++)
        for (int part = 0; part < WINDOWS_PARTS; part++) {
            const char *name = part == WINDOWS_TOTAL ? dir_name((enum kvf_dir)d) : names[part];
            if (!all && d == KVF_DIR_WRITE && part != WINDOWS_TOTAL) continue;
            if (!all && part == WINDOWS_DEVICE) continue;
            parts_levels(p, row++, name, part == WINDOWS_TOTAL ? TONE_STRONG : TONE_DIM,
                         parts_op_levels(f, t, d, (enum windows_part)part));
        }
}

static void draw_causes(const struct pane *p, const struct frame *f, const struct parts_figures *m, int t) {
    enum { NAME = 13, CELL = NUMBER_SHORT + 3, OPS = NUMBER_COUNT + 2 };
    char text[NUMBER];
    int row = 1;
    pane_text(p, 0, 0, TONE_HEADING, "By cause");
    pane_right(p, 0, NAME + CELL, TONE_HEADING, "read/s");
    pane_right(p, 0, NAME + 2 * CELL, TONE_HEADING, "write/s");
    pane_right(p, 0, NAME + 2 * CELL + OPS, TONE_HEADING, "ops/s");
    for (int c = 0; c < KVF_CAUSES && row < p->at.rows; c++) {
        const struct snapshot_cause *r = &m->cause[t][KVF_DIR_READ][c], *w = &m->cause[t][KVF_DIR_WRITE][c];
        if (r->ops + w->ops + r->bytes + w->bytes == 0) continue;
        pane_text(p, row, 0, TONE_NORMAL, cause_name((enum kvf_cause)c));
        pane_right(p, row, NAME + CELL, TONE_NORMAL,
                   number_short(parts_per_second(f, (double)r->bytes), text));
        pane_right(p, row, NAME + 2 * CELL, TONE_NORMAL,
                   number_short(parts_per_second(f, (double)w->bytes), text));
        pane_right(p, row++, NAME + 2 * CELL + OPS, TONE_NORMAL,
                   number_count(parts_per_second(f, (double)(r->ops + w->ops)), text));
    }
    if (row == 1) pane_text(p, 1, 0, TONE_DIM, "nothing was moved");
}

/* The drive below nvme, the devices of a real gpu tier: each has a detail of its own. */
static void draw_devices(const struct pane *p, const struct frame *f, const struct parts_figures *m, int t) {
    struct pane body = pane_part(p, 0, 1, -1, -1);
    char text[120], busy[NUMBER], used[NUMBER];
    if (!f->snap || pane_empty(&body)) return;
    if (t == KVF_TIER_NVME && f->snap->tier_device[t][0]) {
        snprintf(text, sizeof text, "drive %s   busy %s by the kernel", f->snap->tier_device[t],
                 number_percent(m->interval.device_busy_ratio, busy));
        pane_clip(&body, 0, 0, body.at.cols, TONE_NORMAL, text);
        parts_row(&body, 0, f, FRAME_DRIVE, 0);
    }
    for (uint32_t g = 0; t == KVF_TIER_GPU && g < f->snap->gpus && (int)g < body.at.rows; g++) {
        const struct snapshot_gpu *x = &f->snap->gpu[g];
        snprintf(text, sizeof text, "GPU %u   busy %s, memory %s", (unsigned)x->device,
                 number_percent(x->utilisation, busy), number_bytes(x->memory_used_bytes, used));
        pane_clip(&body, (int)g, 0, body.at.cols, TONE_NORMAL, text);
        parts_row(&body, (int)g, f, FRAME_GPU, x->device);
    }
}

static void draw_graphs(struct canvas *c, const struct rect *at, const struct frame *f, int t) {
    enum tone own = parts_tier_tone(t);
    const struct parts_line bytes[] = {{"read", series_tier(t, SERIES_TIER_READ), own, false},
                                       {"write", series_tier(t, SERIES_TIER_WRITE), own, true}};
    const struct parts_line p95[] = {{"read", series_tier(t, SERIES_TIER_READ_P95_MS), own, false},
                                     {"write", series_tier(t, SERIES_TIER_WRITE_P95_MS), own, true}};
    const struct parts_line full[] = {{"full", series_tier(t, SERIES_TIER_USED_RATIO), own, false}};
    const struct parts_line flight[] = {{"in flight", series_tier(t, SERIES_TIER_IN_FLIGHT), own, false},
                                        {"falls/s", series_tier(t, SERIES_TIER_FALLS), TONE_SECOND, false}};
    struct pane p[SECTIONS];
    for (int s = BYTES; s < SECTIONS; s++) p[s] = pane_at(c, at[s]);
    parts_graph(&p[BYTES], f, "Bytes/s", number_short, 0, bytes, 2);
    parts_graph(&p[P95], f, "P95", number_ms, 0, p95, 2);
    parts_graph(&p[FULL], f, "Occupancy", number_percent, 1, full, 1);
    parts_graph(&p[FLIGHT], f, "I/O in flight, falls/s", number_count, 0, flight, 2);
}

static void draw(struct canvas *c, const struct rect *at, const struct frame *f) {
    struct parts_figures m;
    struct pane p[SECTIONS];
    int t = f->open.number < KVF_TIERS ? (int)f->open.number : 0;
    for (int s = 0; s < SECTIONS; s++) {
        p[s] = pane_at(c, at[s]);
        if (s != DEVICES && s < BYTES) p[s] = pane_part(&p[s], 0, 1, -1, -1);
    }
    parts_figures(f, &m);
    draw_head(&p[HEAD], f, t, &m.tier[t]);
    if (!parts_tier_on(f, t)) return;
    draw_facts(&p[FACTS], f, &m, t);
    draw_levels(&p[LEVELS], f, t);
    draw_causes(&p[CAUSES], f, &m, t);
    draw_devices(&p[DEVICES], f, &m, t);
    draw_graphs(c, at, f, t);
}

const struct panel_ops detail_tier = {.name = "tier",
                                      .title = "one tier: how full, how busy, how fast, and why",
                                      .sections = sections,
                                      .section_count = SECTIONS,
                                      .draw = draw};
