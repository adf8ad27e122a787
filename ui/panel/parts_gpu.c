#include <stdint.h>
#include <stdio.h>

#include "draw/number.h"
#include "ui/panel/columns.h"
#include "ui/panel/parts.h"

enum { DEVICE, BUSY, USED, TOTAL, IN, OUT, POWER, HEAT, SM, MEM, ECC, TREND, COLUMNS };
static const struct column wide_columns[COLUMNS] = {
    [DEVICE] = {.heading = "GPU", .cols = 6, .rank = 1, .left = true},
    [BUSY] = {.heading = "busy", .cols = NUMBER_PERCENT, .rank = 2},
    [USED] = {.heading = "used", .cols = NUMBER_BYTES, .rank = 3},
    [TOTAL] = {.heading = "memory", .cols = NUMBER_BYTES, .rank = 4},
    [IN] = {.heading = "PCIe in", .cols = NUMBER_RATE, .rank = 6},
    [OUT] = {.heading = "PCIe out", .cols = NUMBER_RATE, .rank = 7},
    [POWER] = {.heading = "power", .cols = 7, .rank = 5},
    [HEAT] = {.heading = "temp", .cols = 7, .rank = 8},
    [SM] = {.heading = "SM clock", .cols = 9, .rank = 9},
    [MEM] = {.heading = "mem clock", .cols = 9, .rank = 10},
    [ECC] = {.heading = "ECC err", .cols = 7, .rank = 11},
    [TREND] = {.heading = "busy lately", .cols = 14, .rank = 12, .most = 80, .left = true},
};
/* The same with units in the headings, where a screen of 80 columns has room for every figure. */
static const struct column compact_columns[COLUMNS] = {
    [DEVICE] = {.heading = "GPU", .cols = 6, .rank = 1, .left = true},
    [BUSY] = {.heading = "busy", .cols = NUMBER_PERCENT, .rank = 2},
    [USED] = {.heading = "used", .cols = NUMBER_SHORT, .rank = 3},
    [TOTAL] = {.heading = "of", .cols = NUMBER_SHORT, .rank = 4},
    [IN] = {.heading = "PCIe in/s", .cols = 9, .rank = 6},
    [OUT] = {.heading = "out/s", .cols = NUMBER_SHORT, .rank = 7},
    [POWER] = {.heading = "power", .cols = 6, .rank = 5},
    [HEAT] = {.heading = "temp", .cols = 6, .rank = 8},
    [SM] = {.heading = "SM MHz", .cols = 6, .rank = 10},
    [MEM] = {.heading = "mem MHz", .cols = 7, .rank = 11},
    [ECC] = {.heading = "ECC", .cols = 5, .rank = 9},
    [TREND] = {.heading = "", .cols = INT16_MAX, .rank = COLUMNS},
};

struct form {
    const struct column *columns;
    number_fn *bytes, *rate;
    const char *mhz;
};
static const struct form wide = {wide_columns, number_bytes, number_rate, " MHz"};
static const struct form compact = {compact_columns, number_short, number_short, ""};

/* The wide one where it has room for every figure. */
static const struct form *form_of(int cols) {
    struct column_place at[COLUMNS];
    columns_place(wide_columns, COLUMNS, cols, at);
    return at[ECC].cols > 0 ? &wide : &compact;
}

static void with_unit(const struct pane *p, int row, int column, const struct form *as,
                      const struct column_place *at, double v, const char *unit) {
    char number[NUMBER], text[2 * NUMBER];
    number_fn *fn = v < 99999.5 ? number_plain : number_count;
    snprintf(text, sizeof text, "%s%s", fn(v, number), kvf_present(v) ? unit : "");
    columns_cell(p, row, &as->columns[column], at[column], TONE_NORMAL, text);
}

static void draw_device(const struct pane *p, int row, const struct form *as, const struct column_place *at,
                        const struct frame *f, const char *name, const struct snapshot_gpu *g) {
    const struct column *c = as->columns;
    char text[NUMBER];
    columns_cell(p, row, &c[DEVICE], at[DEVICE], TONE_GPU, name);
    columns_cell(p, row, &c[BUSY], at[BUSY], TONE_STRONG, number_percent(g->utilisation, text));
    columns_cell(p, row, &c[USED], at[USED], TONE_NORMAL, as->bytes(g->memory_used_bytes, text));
    columns_cell(p, row, &c[TOTAL], at[TOTAL], TONE_NORMAL, as->bytes(g->memory_total_bytes, text));
    columns_cell(p, row, &c[IN], at[IN], TONE_NORMAL, as->rate(g->pcie_rx_bytes_s, text));
    columns_cell(p, row, &c[OUT], at[OUT], TONE_NORMAL, as->rate(g->pcie_tx_bytes_s, text));
    with_unit(p, row, POWER, as, at, g->power_w, " W");
    with_unit(p, row, HEAT, as, at, g->temperature_c, " C");
    with_unit(p, row, SM, as, at, g->clock_sm_mhz, as->mhz);
    with_unit(p, row, MEM, as, at, g->clock_mem_mhz, as->mhz);
    columns_cell(p, row, &c[ECC], at[ECC], g->ecc_errors > 0 ? TONE_BAD : TONE_NORMAL,
                 number_count(g->ecc_errors, text));
    parts_spark(p, row, at[TREND].col, at[TREND].cols, f, "", "",
                series_gpu((int)(g - f->snap->gpu), SERIES_GPU_UTILISATION), 1, TONE_GPU);
    parts_row(p, row, f, FRAME_GPU, g->device);
}

void parts_gpus(const struct pane *p, const struct frame *f) {
    uint32_t gpus = f->snap ? f->snap->gpus : 0;
    struct column_place at[COLUMNS];
    if (gpus == 0 || pane_empty(p)) return;
    bool headed = p->at.rows > 1;
    const struct form *as = form_of(p->at.cols);
    columns_place(as->columns, COLUMNS, p->at.cols, at);
    if (headed) columns_headings(p, 0, as->columns, COLUMNS, at);
    uint32_t rows = (uint32_t)(p->at.rows - headed);
    bool more = gpus > rows && rows > 1; /* of one row there is nothing to give away */
    for (uint32_t k = 0; k < gpus && k < rows - more; k++) {
        char name[32];
        unsigned device = (unsigned)f->snap->gpu[k].device;
        if (rows == 1 && gpus > 1)
            snprintf(name, sizeof name, "%u of %u", device, (unsigned)gpus);
        else
            snprintf(name, sizeof name, "GPU %u", device);
        draw_device(p, (int)k + headed, as, at, f, name, &f->snap->gpu[k]);
    }
    if (more) pane_textf(p, p->at.rows - 1, 0, TONE_DIM, "and %u more GPUs", (unsigned)(gpus - rows + 1));
}
