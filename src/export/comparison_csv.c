#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/units.h"
#include "compare/comparison_parts.h"
#include "draw/sheet.h"

static void add_text(struct sheet *g, const char *text) {
    sheet_cell(g, text[0] ? SHEET_TEXT : SHEET_NULL, text);
}

static void add_number(struct sheet *g, double v) {
    char text[UNITS_REAL];
    if (isfinite(v)) units_format_real(v, text);
    sheet_cell(g, isfinite(v) ? SHEET_NUMBER : SHEET_NULL, isfinite(v) ? text : "");
}

static void add_row(struct sheet *g, const struct comparison *c, const struct comparison_metric *m,
                    size_t s) {
    const struct comparison_change *change = &m->change[s];
    char id[24];
    snprintf(id, sizeof id, "%" PRId64, c->side[s].run_id);
    add_text(g, m->metric);
    add_text(g, m->unit);
    add_text(g, m->better ? metric_better_word(m->better) : "");
    sheet_cell(g, SHEET_NUMBER, id);
    add_text(g, c->side[s].label);
    add_number(g, change->value);
    add_number(g, s ? change->absolute : KVF_MISSING);
    add_number(g, s ? change->relative : KVF_MISSING);
    add_number(g, s ? change->low : KVF_MISSING);
    add_number(g, s ? change->high : KVF_MISSING);
    add_number(g, s ? change->p : KVF_MISSING);
    add_text(g, s && change->direction ? comparison_direction_word(change) : "");
    add_text(g, s && change->noise ? comparison_noise_word(change->noise) : "");
    add_text(g, s ? comparison_method_name(change->method) : "");
}

void comparison_csv(const struct comparison *c, struct buf *out) {
    static const char *const columns[] = {"metric", "unit",      "better",   "run_id", "label",
                                          "value",  "change",    "relative", "low95",  "high95",
                                          "p",      "direction", "noise",    "method"};
    struct sheet *g = sheet_new(SHEET_CSV, false, 0);
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++) sheet_column(g, columns[i]);
    for (size_t i = 0; i < c->metrics; i++)
        for (size_t s = 0; s < c->sides; s++) add_row(g, c, &c->metric[i], s);
    sheet_print(g, out);
    sheet_free(g);
}
