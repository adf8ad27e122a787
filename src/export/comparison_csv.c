#include "compare/comparison_parts.h"
#include "draw/sheet.h"

static void add_row(struct sheet *g, const struct comparison *c, const struct comparison_metric *m,
                    size_t s) {
    const struct comparison_change *change = &m->change[s];
    sheet_text(g, m->metric);
    sheet_text(g, m->unit);
    sheet_text(g, m->better ? metric_better_word(m->better) : "");
    sheet_number(g, (double)c->side[s].run_id);
    sheet_text(g, c->side[s].label);
    sheet_number(g, change->value);
    sheet_number(g, s ? change->absolute : KVF_MISSING);
    sheet_number(g, s ? change->relative : KVF_MISSING);
    sheet_number(g, s ? change->low : KVF_MISSING);
    sheet_number(g, s ? change->high : KVF_MISSING);
    sheet_number(g, s ? change->p : KVF_MISSING);
    sheet_text(g, s && change->direction ? comparison_direction_word(change) : "");
    sheet_text(g, s && change->noise ? comparison_noise_word(change->noise) : "");
    sheet_text(g, s ? comparison_method_name(change->method) : "");
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
