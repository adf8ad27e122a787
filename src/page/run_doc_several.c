#include <string.h>

#include "page/comparison_doc.h"
#include "page/run_doc_inside.h"

static void put_overlay(struct doc *d, const struct run_doc_source *runs, size_t count, const char *title,
                        const char *label, const char *unit, const char *field) {
    struct plot *plot = plot_new(PLOT_LINES, title);
    struct run_part p = {d, &runs[0].run, &runs[0].series, NULL, NULL, 2};
    plot_axis(&plot->x, "run time", "clock");
    plot_axis(&plot->y, label, unit);
    plot->x.low = 0;
    if (strcmp(unit, "%") == 0) plot->y.high = 1;
    for (size_t i = 0; i < count; i++) {
        p.run = &runs[i].run;
        p.series = &runs[i].series;
        run_plot_field(plot, &p, run_label(p.run).text, &(struct run_field){field, 1, false});
    }
    run_plot_add(&p, plot);
}

static void put_distributions(struct doc *d, const struct run_doc_source *runs, size_t count) {
    static const struct {
        const char *scope, *title;
    } plots[] = {{"e2e", "End-to-end latency, percentiles"},
                 {"storage_io", "Storage I/O of a request, percentiles"},
                 {"nvme_read", "nvme entry reads, percentiles"},
                 {"nvme_write", "nvme entry writes, percentiles"}};
    struct run_part p = {d, &runs[0].run, &runs[0].series, NULL, NULL, 2};
    for (size_t k = 0; k < sizeof plots / sizeof plots[0]; k++) {
        struct plot *plot = run_plot_distribution(plots[k].title);
        for (unsigned i = 0; i < count; i++)
            run_plot_curve(plot, &runs[i].run, plots[k].scope, run_label(&runs[i].run).text, i);
        run_plot_add(&p, plot);
    }
}

void run_doc_several(struct doc *d, const struct run_doc_source *runs, size_t count,
                     const struct comparison *c) {
    doc_section(d, 1, "Comparison");
    comparison_put(d, c, 0);
    put_overlay(d, runs, count, "Throughput", "tokens generated", "tok/s", "throughput_tok_s");
    put_overlay(d, runs, count, "End-to-end P95", "latency", "ms", "e2e_p95_ms");
    put_overlay(d, runs, count, "TTFT P95", "latency", "ms", "ttft_p95_ms");
    put_overlay(d, runs, count, "Storage I/O P95", "latency", "ms", "storage_io_p95_ms");
    put_overlay(d, runs, count, "Hit ratio", "hits / lookups", "%", "reuse_hit_ratio");
    put_overlay(d, runs, count, "Saturation", "saturation", "%", "saturation");
    put_distributions(d, runs, count);
}
