#include <string.h>

#include "page/comparison_doc.h"
#include "page/run_doc_inside.h"
#include "record/metric.h"

/* Over run time. What is missing here the catalogue has: most of these fields are metrics, too. */
struct overlay {
    const char *field, *label, *title, *unit;
};

static void put_overlay(struct doc *d, const struct run_doc_source *runs, size_t count,
                        const struct overlay *o) {
    const char *unit = o->unit ? o->unit : metric_axis(o->field);
    struct plot *plot = plot_new(PLOT_LINES, o->title ? o->title : metric_title(o->field).text);
    struct run_part p = {d, &runs[0].run, &runs[0].series, NULL, NULL, 2};
    plot_axis(&plot->x, "run time", "clock");
    plot_axis(&plot->y, o->label, unit);
    plot->x.low = 0;
    if (strcmp(unit, "%") == 0) plot->y.high = 1;
    for (size_t i = 0; i < count; i++) {
        p.run = &runs[i].run;
        p.series = &runs[i].series;
        run_plot_field(plot, &p, run_label(p.run).text, &(struct run_field){o->field, 1, false});
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
    static const struct overlay overlays[] = {{"throughput_tok_s", "tokens generated", "Throughput", NULL},
                                              {"e2e_p95_ms", "latency", NULL, NULL},
                                              {"ttft_p95_ms", "latency", NULL, NULL},
                                              {"storage_io_p95_ms", "latency", NULL, NULL},
                                              {"reuse_hit_ratio", "hits / lookups", NULL, NULL},
                                              {"saturation", "saturation", "Saturation", "%"}};
    doc_section(d, 1, "Comparison");
    comparison_put(d, c, 0);
    for (size_t i = 0; i < sizeof overlays / sizeof *overlays; i++) put_overlay(d, runs, count, &overlays[i]);
    put_distributions(d, runs, count);
}
