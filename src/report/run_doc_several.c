#include <stdio.h>
#include <string.h>

#include "report/run_doc_inside.h"

/* What is compared, in this order, as far as a run knows it. */
static const struct {
    const char *metric, *label;
} rows[] = {{"throughput_tok_s", "tokens/s"},
            {"requests_per_s", "requests/s"},
            {"storage_throughput_tok_s", "storage tokens/s"},
            {"nvme_read_gib_s", "nvme read"},
            {"nvme_write_gib_s", "nvme write"},
            {"e2e_p50_ms", "end-to-end P50"},
            {"e2e_p95_ms", "end-to-end P95"},
            {"e2e_p99_ms", "end-to-end P99"},
            {"ttft_p95_ms", "TTFT P95"},
            {"queue_wait_p95_ms", "queue wait P95"},
            {"storage_io_p95_ms", "storage I/O P95"},
            {"nvme_read_p95_ms", "nvme read P95"},
            {"nvme_write_p95_ms", "nvme write P95"},
            {"nvme_read_device_p95_ms", "nvme read P95, device"},
            {"hit_ratio", "hit ratio"},
            {"reuse_hit_ratio", "reuse hit ratio"},
            {"total_read_bytes", "bytes read"},
            {"total_write_bytes", "bytes written"},
            {"cpu_user_s", "CPU, user"},
            {"cpu_sys_s", "CPU, kernel"}};

static void begin_table(struct doc *d, const char *caption, const struct run_doc_source *runs, size_t count,
                        bool numbers) {
    doc_table(d, caption);
    doc_column(d, "", false);
    for (size_t i = 0; i < count; i++) doc_column(d, run_label(&runs[i].run).text, numbers);
}

static void put_what(struct doc *d, const struct run_doc_source *runs, size_t count) {
    static const char *const names[] = {"status", "model", "mode", "host", "kvfall"};
    begin_table(d, "What was run", runs, count, false);
    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
        doc_cell(d, names[k]);
        for (size_t i = 0; i < count; i++) {
            const struct run_record *r = &runs[i].run;
            const char *const values[] = {run_status_name(r->status), r->model, r->mode, r->host, r->version};
            doc_cell(d, *values[k] ? values[k] : NULL);
        }
    }
}

static void put_measures(struct doc *d, const struct run_doc_source *runs, size_t count) {
    begin_table(d, "Measures; behind each the change against the first run", runs, count, true);
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        bool any = false;
        double first = result_value(&runs[0].run.results, rows[k].metric);
        for (size_t i = 0; i < count; i++)
            any |= kvf_present(result_value(&runs[i].run.results, rows[k].metric));
        if (!any) continue;
        doc_cell(d, rows[k].label);
        for (size_t i = 0; i < count; i++) {
            const struct result *r = result_find(&runs[i].run.results, rows[k].metric);
            char text[96];
            if (!r || !kvf_present(r->value)) {
                doc_cell(d, NULL);
                continue;
            }
            snprintf(text, sizeof text, "%s", format_measure(r->value, r->unit, r->metric).text);
            size_t used = strlen(text);
            if (i > 0 && first > 0)
                snprintf(text + used, sizeof text - used, " (%+.1f %%)", 100 * (r->value / first - 1));
            doc_cell(d, text);
        }
    }
}

/* A line for each run. */
static void put_overlay(struct doc *d, const struct run_doc_source *runs, size_t count, const char *title,
                        const char *label, const char *unit, const struct run_field *field) {
    struct plot *plot = plot_new(PLOT_LINES, title);
    struct run_part p = {d, &runs[0].run, &runs[0].series, 2};
    plot_axis(&plot->x, "run time", "clock");
    plot_axis(&plot->y, label, unit);
    if (strcmp(unit, "%") == 0) plot->y.high = 1;
    for (size_t i = 0; i < count; i++) {
        p.run = &runs[i].run;
        p.series = &runs[i].series;
        run_plot_field(plot, &p, run_label(p.run).text, field);
    }
    p.series = &runs[0].series;
    run_plot_add(&p, plot);
}

void run_doc_several(struct doc *d, const struct run_doc_source *runs, size_t count) {
    doc_section(d, 1, "Comparison");
    put_what(d, runs, count);
    put_measures(d, runs, count);
    put_overlay(d, runs, count, "Throughput", "tokens generated", "tok/s",
                &(struct run_field){"throughput_tok_s", 1, false});
    put_overlay(d, runs, count, "End-to-end P95", "latency", "ms",
                &(struct run_field){"e2e_p95_ms", 1, false});
    put_overlay(d, runs, count, "TTFT P95", "latency", "ms", &(struct run_field){"ttft_p95_ms", 1, false});
    put_overlay(d, runs, count, "Storage I/O P95", "latency", "ms",
                &(struct run_field){"storage_io_p95_ms", 1, false});
    put_overlay(d, runs, count, "Hit ratio", "hits / lookups", "%",
                &(struct run_field){"hit_ratio", 1, false});
    put_overlay(d, runs, count, "Saturation", "saturation", "%", &(struct run_field){"saturation", 1, false});
}
