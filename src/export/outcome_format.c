#include "export/export.h"
#include "export/outcome.h"

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

static int peaks_csv(const struct outcome *o, struct buf *out, struct err *e) {
    (void)e;
    outcome_peaks_csv(o, out);
    return 0;
}

const struct outcome_format outcome_formats[] = {
    {"csv", ".csv", "a row for each point of the sweep", false, csv},
    {"json", ".json", "points, peaks and curves, as `sweep --json` writes them", false, json},
    {"peaks-csv", NULL, "a row for the best point of each combination of variants", false, peaks_csv},
    {"xlsx", ".xlsx", "a workbook: the sweep, its peaks, its points", true, outcome_xlsx},
};
const size_t outcome_format_count = sizeof outcome_formats / sizeof *outcome_formats;

void outcome_formats_list(struct buf *out) {
    for (size_t i = 0; i < outcome_format_count; i++)
        if (!export_format_named(outcome_formats[i].name))
            buf_addf(out, "%s: of sweep:N, %s\n", outcome_formats[i].name, outcome_formats[i].help);
}
