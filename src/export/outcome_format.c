#include "export/outcome_format.h"

static int csv(const struct outcome *o, struct buf *out, struct err *e) {
    (void)e;
    outcome_csv(o, out);
    return 0;
}

static int json(const struct outcome *o, struct buf *out, struct err *e) {
    (void)e;
    outcome_json(o, out);
    return 0;
}

const struct outcome_format outcome_formats[] = {
    {"csv", ".csv", "a row for each point of the sweep", false, csv},
    {"json", ".json", "points, peaks and curves, as `sweep --json` writes them", false, json},
    {"xlsx", ".xlsx", "a workbook: the sweep, its peaks, its points", true, outcome_xlsx},
};
const size_t outcome_format_count = sizeof outcome_formats / sizeof *outcome_formats;
