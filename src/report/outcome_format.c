#include "report/outcome.h"

const struct outcome_format outcome_formats[] = {
    {"csv", ".csv", "a row for each point of the sweep", outcome_csv},
    {"json", ".json", "points, peaks and curves, as `sweep --json` writes them", outcome_json},
    {"peaks-csv", NULL, "a row for the best point of each combination of variants", outcome_peaks_csv},
};
const size_t outcome_format_count = sizeof outcome_formats / sizeof *outcome_formats;
