#include "export/export.h"

#include <string.h>

const struct export_format export_formats[] = {
    {"csv", ".csv", "a row for each run, interval and tier", true, SERIES_TIERS | SERIES_BLOCK, false, false,
     export_csv},
    {"json", ".json", "summary, intervals and histograms, see kvfall-export(5)", true,
     SERIES_TIERS | SERIES_CLASSES | SERIES_CAUSES | SERIES_GPUS | SERIES_REMOTE | SERIES_BLOCK, false, false,
     export_json},
    {"hdr", ".hlog", "latency histograms of a run, a log of HdrHistogram", true, SERIES_HISTOGRAMS, true,
     false, export_hdr},
    {"fio", ".fio", "a fio job with the I/O mix of a run on nvme", false, 0, true, false, export_fio},
    {"xlsx", ".xlsx", "a workbook: summary, parameters, metrics, QoS, intervals, charts", true,
     SERIES_TIERS | SERIES_BLOCK, false, true, export_xlsx},
    {"prometheus", ".prom", "results for collectors that read files, as Prometheus does", false, 0, false,
     false, export_prometheus},
    {"mlperf", NULL, "the results file of MLPerf Storage's kv cache, see kvfall-mlperf(7)", true, 0, true,
     false, export_mlperf},
};
const size_t export_format_count = sizeof export_formats / sizeof *export_formats;

const struct export_format *export_format_named(const char *name) {
    for (size_t i = 0; i < export_format_count; i++)
        if (strcmp(export_formats[i].name, name) == 0) return &export_formats[i];
    return NULL;
}

const struct export_format *export_format_of(const char *path) {
    size_t len = strlen(path);
    for (size_t i = 0; i < export_format_count; i++) {
        const char *suffix = export_formats[i].suffix;
        size_t tail = suffix ? strlen(suffix) : 0;
        if (tail && len > tail && strcmp(path + len - tail, suffix) == 0) return &export_formats[i];
    }
    return NULL;
}

void export_formats_list(struct buf *out) {
    for (size_t i = 0; i < export_format_count; i++) {
        const struct export_format *f = &export_formats[i];
        buf_addf(out, "%s: %s", f->name, f->help);
        if (f->suffix) buf_addf(out, "; FILE%s", f->suffix);
        buf_add(out, "\n");
    }
}
