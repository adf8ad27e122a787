#include <stdio.h>
#include <string.h>

#include "draw/number.h"
#include "record/judge/judge.h"
#include "ui/detail/details.h"
#include "ui/panel/parts.h"

enum { HEAD, FACTS, BUSY, MEMORY, SECTIONS };

static const struct layout_section sections[SECTIONS] = {
    [HEAD] = {.name = "gpu", .line = 0, .least_cols = 20, .rows = {1}, .urgency = {1}},
    [FACTS] = {.name = "figures", .line = 1, .least_cols = 20, .rows = {4, 5}, .urgency = {2, 4}},
    [BUSY] = {.name = "busy", .line = 2, .least_cols = 38, .rows = {4, 8}, .urgency = {3, 5}, .grow = 1},
    [MEMORY] = {.name = "memory", .line = 2, .least_cols = 38, .rows = {4, 8}, .urgency = {3, 5}, .grow = 1},
};

static void fact(struct parts_facts *x, const char *name, double v, const char *unit) {
    char number[NUMBER], text[2 * NUMBER];
    snprintf(text, sizeof text, "%s%s", number_plain(v, number), kvf_present(v) ? unit : "");
    parts_fact(x, name, TONE_STRONG, text);
}

static void draw_facts(const struct pane *p, const struct snapshot_gpu *g) {
    struct parts_facts x = parts_facts(p);
    char text[NUMBER];
    parts_fact(&x, "memory used", TONE_STRONG, number_bytes(g->memory_used_bytes, text));
    parts_fact(&x, "memory", TONE_STRONG, number_bytes(g->memory_total_bytes, text));
    parts_fact(&x, "PCIe in", TONE_STRONG, number_rate(g->pcie_rx_bytes_s, text));
    parts_fact(&x, "PCIe out", TONE_STRONG, number_rate(g->pcie_tx_bytes_s, text));
    fact(&x, "power", g->power_w, " W");
    fact(&x, "temperature", g->temperature_c, " C");
    fact(&x, "SM clock", g->clock_sm_mhz, " MHz");
    fact(&x, "memory clock", g->clock_mem_mhz, " MHz");
    parts_fact(&x, "ECC errors", g->ecc_errors > 0 ? TONE_BAD : TONE_STRONG,
               number_count(g->ecc_errors, text));
    fact(&x, "energy", g->energy_j / 3600, " Wh");
}

static const struct snapshot_gpu *device_of(const struct frame *f, uint32_t *place) {
    for (*place = 0; f->snap && *place < f->snap->gpus; (*place)++)
        if (f->snap->gpu[*place].device == f->open.number) return &f->snap->gpu[*place];
    return NULL;
}

static void draw(struct canvas *c, const struct rect *at, const struct frame *f) {
    enum { BAR = 20 };
    struct pane p[SECTIONS];
    uint32_t place;
    char text[NUMBER];
    const struct snapshot_gpu *g = device_of(f, &place);
    for (int s = 0; s < SECTIONS; s++) {
        p[s] = pane_at(c, at[s]);
        if (s <= FACTS) p[s] = pane_part(&p[s], 0, 1, -1, -1);
    }
    int col = pane_textf(&p[HEAD], 0, 0, TONE_GPU, "GPU %u", (unsigned)f->open.number) + 2;
    if (!g) {
        pane_text(&p[HEAD], 0, col, TONE_DIM, "no figures at this moment");
        return;
    }
    col += pane_text(&p[HEAD], 0, col, TONE_HEADING, "busy ");
    graph_bar_graded(&p[HEAD], 0, col, BAR, g->utilisation, JUDGE_SATURATED);
    pane_text(&p[HEAD], 0, col + BAR + 1, TONE_STRONG, number_percent(g->utilisation, text));
    draw_facts(&p[FACTS], g);
    const struct parts_line busy[] = {
        {"busy", series_gpu((int)place, SERIES_GPU_UTILISATION), TONE_GPU, false}};
    const struct parts_line memory[] = {{"used", series_gpu((int)place, SERIES_GPU_MEMORY), TONE_GPU, false}};
    parts_graph(&p[BUSY], f, "Busy", number_percent, 1, busy, 1);
    parts_graph(&p[MEMORY], f, "Memory", number_short, 0, memory, 1);
}

const struct panel_ops detail_gpu = {.name = "gpu",
                                     .title = "one GPU: load, memory, traffic, power",
                                     .sections = sections,
                                     .section_count = SECTIONS,
                                     .draw = draw};
