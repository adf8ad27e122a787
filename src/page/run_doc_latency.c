#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "block/block.h"
#include "metrics/histogram.h"
#include "page/run_doc_inside.h"
#include "record/metric.h"

static const struct {
    const char *metric, *label, *title;
} requests[] = {
    {"e2e", "end-to-end", "End-to-end latency"}, {"ttft", "TTFT", "Time to first token"},
    {"queue_wait", "queue wait", "Queue wait"},  {"storage_io", "storage I/O", "Storage I/O of a request"},
    {"generation", "generation", "Generation"},  {"tpot", "TPOT", "Time per output token"}};
enum { REQUESTS = sizeof requests / sizeof requests[0], OVER_TIME = 4 };

static void put_over_time(const struct run_part *p) {
    for (size_t i = 0; i < OVER_TIME; i++) {
        struct plot *plot = run_plot_time(p, requests[i].title, "latency", "ms");
        for (enum kvf_stat s = KVF_STAT_P50; s <= KVF_STAT_P99; s++) {
            char field[48];
            snprintf(field, sizeof field, "%s_%s_ms", requests[i].metric, stat_name(s));
            run_plot_field(plot, p, stat_label(s), &(struct run_field){field, 1, false});
        }
        run_plot_add(p, plot);
    }
}

static const struct run_histogram *histogram_of(const struct run_record *r, const char *scope) {
    for (size_t i = 0; i < r->histogram_count; i++)
        if (strcmp(r->histograms[i].scope, scope) == 0) return &r->histograms[i];
    return NULL;
}

/* Over 1 / (1 - q), a point for each tenth of a halving, as far as there are values behind it: the last point
 * is the highest value. */
static void add_points(struct plot *plot, const struct histogram *h, const char *name, unsigned number) {
    enum { POINTS = 640 };
    double most = fmax((double)histogram_count(h), 2);
    size_t count = (size_t)fmin(ceil(log2(most) * 10), POINTS - 1) + 1;
    struct plot_line *l = plot_line_room(plot, name, count, true);
    for (size_t i = 0; i < count; i++) {
        bool last = i + 1 == count;
        double x = last ? most : exp2((double)i / 10);
        l->x[i] = x;
        l->y[i] = (last ? histogram_max(h) : histogram_quantile(h, fmax(1 - 1 / x, 1 / most))) / 1e6;
    }
    l->colour = number % PLOT_COLOURS;
    l->dash = number % PLOT_DASHES;
}

void run_plot_curve(struct plot *plot, const struct run_record *r, const char *scope, const char *name,
                    unsigned number) {
    const struct run_histogram *coded = histogram_of(r, scope);
    if (!coded) return;
    struct histogram *h = mem_zalloc(1, sizeof *h);
    if (histogram_decode(h, coded->data, coded->len) == 0 && histogram_max(h) > 0)
        add_points(plot, h, name, number);
    free(h);
}

struct plot *run_plot_distribution(const char *title) {
    struct plot *plot = plot_new(PLOT_LINES, title);
    plot_axis(&plot->x, "percentile", "P");
    plot_axis(&plot->y, "latency", "ms");
    plot->x.log = plot->y.log = true;
    plot_caption(plot, "Each line ends at its highest value, which for n values is at 1 - 1/n.");
    return plot;
}

/* The part of the values in each of ten bins to a decade. */
static void add_spread(struct plot *plot, const struct histogram *h, const char *name, unsigned number) {
    enum { PER_DECADE = 10 };
    int first = (int)floor(log10(fmax(histogram_min(h), 1)) * PER_DECADE);
    int last = (int)floor(log10(fmax(histogram_max(h), 1)) * PER_DECADE);
    struct plot_line *l = plot_line_room(plot, name, (size_t)(last - first) + 2, true);
    for (size_t i = 0; i < l->count; i++) {
        l->x[i] = pow(10, (double)(first + (int)i) / PER_DECADE) / 1e6;
        l->y[i] = 0;
    }
    for (uint32_t b = 0; b < HISTOGRAM_BUCKETS; b++) {
        double n = (double)atomic_load_explicit(&h->bucket[b], memory_order_relaxed);
        double middle = ((double)histogram_bucket_low(b) + (double)histogram_bucket_high(b)) / 2;
        int bin = (int)floor(log10(fmax(middle, 1)) * PER_DECADE) - first;
        if (n > 0)
            l->y[bin < 0 ? 0 : bin > last - first ? last - first : bin] += n / (double)histogram_count(h);
    }
    l->steps = true;
    l->colour = number % PLOT_COLOURS;
    l->dash = number % PLOT_DASHES;
}

static void put_spread(const struct run_part *p) {
    struct plot *plot = plot_new(PLOT_LINES, "Latencies of requests, distribution");
    struct histogram *h = mem_zalloc(1, sizeof *h);
    plot_axis(&plot->x, "latency", "ms");
    plot_axis(&plot->y, "requests", "%");
    plot->x.log = true;
    plot_caption(plot, "Share of the requests in each tenth of a decade.");
    for (unsigned i = 0; i < REQUESTS; i++) {
        const struct run_histogram *coded = histogram_of(p->run, requests[i].metric);
        histogram_init(h);
        if (coded && histogram_decode(h, coded->data, coded->len) == 0 && histogram_max(h) > 0)
            add_spread(plot, h, requests[i].label, i);
    }
    free(h);
    run_plot_add(p, plot);
}

static void put_distributions(const struct run_part *p) {
    struct plot *plot = run_plot_distribution("Latencies of requests, percentiles");
    for (unsigned i = 0; i < REQUESTS; i++)
        run_plot_curve(plot, p->run, requests[i].metric, requests[i].label, i);
    run_plot_add(p, plot);
    for (unsigned d = 0; d < KVF_DIRS; d++) {
        const char *way = dir_name((enum kvf_dir)d);
        plot = run_plot_distribution(d == KVF_DIR_READ ? "Entry reads, percentiles"
                                                       : "Entry writes, percentiles");
        for (unsigned t = 0; t < KVF_TIERS; t++) {
            char scope[48], name[64];
            const char *tier = tier_name((enum kvf_tier)t);
            if (!p->run->tier[t].on) continue;
            snprintf(scope, sizeof scope, "%s_%s", tier, way);
            run_plot_curve(plot, p->run, scope, run_tier_label(p->run, t).text, t);
            if (t < KVF_TIER_NVME || p->run->tier[t].emulated) continue;
            snprintf(scope, sizeof scope, "%s_%s_device", tier, way);
            snprintf(name, sizeof name, "%s device", tier);
            run_plot_curve(plot, p->run, scope, name, t + KVF_TIERS);
        }
        run_plot_add(p, plot);
    }
}

static void begin_table(struct doc *d, const char *caption, const char *first) {
    doc_table(d, caption, first);
    doc_columns(d, ">mean@10|>P50@11|>P95@11|>P99@11|>P99.9@11|>P99.99|>max@11|>samples");
}

static void put_row(const struct run_part *p, const char *label, const char *metric) {
    char name[64];
    snprintf(name, sizeof name, "%s_mean_ms", metric);
    const struct result *r = result_find(&p->run->results, name);
    doc_cell(p->doc, label);
    for (size_t i = 0; i < KVF_STATS; i++)
        run_cell_ms(p->doc, run_metric(p, "%s_%s_ms", metric, stat_name((enum kvf_stat)i)));
    doc_cell(p->doc, r && r->samples ? format_count((double)r->samples).text : NULL);
}

void run_doc_request_table(const struct run_part *p) {
    begin_table(
        p->doc,
        "Of a request, from its scheduled arrival; P99, P99.9 and P99.99 need 100, 1,000 and 10,000 samples",
        "latency@13");
    for (size_t i = 0; i + run_brief(p) < REQUESTS; i++) /* the last only on a page */
        if (kvf_present(run_metric(p, "%s_mean_ms", requests[i].metric)))
            put_row(p, requests[i].label, requests[i].metric);
}

/* Of each tier and way, whole and the parts of it. */
static void put_entry_table(const struct run_part *p) {
    static const char *const parts[] = {"", "_device", "_host"}, *const words[] = {"", ", device", ", host"};
    begin_table(p->doc, "Of an entry: device is from submitting to completing, host is the rest",
                "entry I/O");
    for (unsigned t = 0; t < KVF_TIERS; t++)
        for (unsigned d = 0; d < KVF_DIRS; d++)
            for (size_t i = 0; i < 3; i++) {
                char metric[48], label[96];
                const char *tier = tier_name((enum kvf_tier)t), *way = dir_name((enum kvf_dir)d);
                if (!p->run->tier[t].on) continue;
                snprintf(metric, sizeof metric, "%s_%s%s", tier, way, parts[i]);
                snprintf(label, sizeof label, "%s %s%s", run_tier_label(p->run, t).text, way, words[i]);
                if (kvf_present(run_metric(p, "%s_mean_ms", metric))) put_row(p, label, metric);
            }
}

/* Contexts of some sizes: loading them from each tier against computing them again. */
static void put_load_table(const struct run_part *p) {
    bool any = false, unread = false;
    for (int i = 0; i < METRIC_SIZES; i++)
        any = any || kvf_present(run_metric(p, "recompute_%s_ms", metric_sizes[i]));
    if (!any) return;
    doc_table(p->doc, "Loading a context against recomputing it, alone on the GPU of compute.gpu",
              "tokens|>compute again");
    for (unsigned t = KVF_TIER_CPU; t < KVF_TIERS; t++)
        if (p->run->tier[t].on) doc_column(p->doc, run_tier_label(p->run, t).text, true);
    for (int i = 0; i < METRIC_SIZES; i++) {
        doc_cell(p->doc, metric_sizes[i]);
        run_cell_ms(p->doc, run_metric(p, "recompute_%s_ms", metric_sizes[i]));
        for (unsigned t = KVF_TIER_CPU; t < KVF_TIERS; t++) {
            if (!p->run->tier[t].on) continue;
            double load_ms = run_metric(p, "%s_load_%s_ms", tier_name((enum kvf_tier)t), metric_sizes[i]);
            unread = unread || !kvf_present(load_ms);
            run_cell_ms(p->doc, load_ms);
        }
    }
    if (unread) doc_text(p->doc, DOC_PLAIN, METRIC_SIZES_UNREAD);
}

/* ---- requests at the drive, where the block layer was traced ---- */

/* Of the mean entry, part by part. */
static void put_split(const struct run_part *p) {
    static const char *const names[SPLIT_PARTS] = {"in line for the tier", "kvfall", "the kernel",
                                                   "the drive"};
    double ms[SPLIT_PARTS][KVF_DIRS], share[SPLIT_PARTS];
    size_t n = 0;
    struct plot *plot = plot_new(PLOT_BARS, "Where the time of an nvme entry goes");
    plot->stacked = true;
    plot_axis(&plot->x, "mean entry", "");
    plot_axis(&plot->y, "time", "ms");
    for (unsigned d = 0; d < KVF_DIRS; d++) {
        const char *way = dir_name((enum kvf_dir)d);
        if (!run_facts_shares(p, (enum kvf_dir)d, share)) continue;
        double whole = run_metric(p, "nvme_%s_mean_ms", way);
        for (int i = 0; i < SPLIT_PARTS; i++) ms[i][n] = share[i] * whole;
        plot_category(plot, way);
        n++;
    }
    for (int i = 0; i < SPLIT_PARTS; i++) plot_line(plot, names[i], n, NULL, 0, ms[i], sizeof **ms);
    run_plot_add(p, plot);
}

/* The kept times of requests of a direction, stage and size: false when there were none. */
static bool request_times(const struct run_part *p, unsigned dir, const char *stage, int size,
                          struct histogram *h) {
    char scope[48];
    snprintf(scope, sizeof scope, "nvme_%s_%s_%s", dir_name((enum kvf_dir)dir), stage, block_size_name(size));
    const struct run_histogram *coded = histogram_of(p->run, scope);
    return coded && histogram_decode(h, coded->data, coded->len) == 0 && histogram_count(h) > 0;
}

static void put_request_sizes(const struct run_part *p) {
    enum { MOST = KVF_DIRS * BLOCK_SIZES };
    struct histogram *h = mem_zalloc(2, sizeof *h), *queued = h, *issued = h + 1;
    struct plot *plot = plot_new(PLOT_BARS, "Requests at the drive, by size");
    double ms[2][MOST];
    size_t n = 0;
    for (unsigned d = 0; d < KVF_DIRS; d++)
        for (int size = 0; size < BLOCK_SIZES; size++) {
            char label[48];
            if (!request_times(p, d, "q2d", size, queued) || !request_times(p, d, "d2c", size, issued))
                continue;
            if (n == 0)
                doc_table(
                    p->doc,
                    "Of a request to the drive, by its size: in the kernel's queue, then at the drive",
                    "request|>requests|>queue mean|>queue P95|>drive mean|>drive P50|>drive P95|>drive P99");
            snprintf(label, sizeof label, "%s %s", dir_name((enum kvf_dir)d), block_size_label(size));
            doc_cell(p->doc, label);
            doc_cell(p->doc, format_count((double)histogram_count(issued)).text);
            run_cell_ms(p->doc, histogram_mean(queued) / 1e6);
            run_cell_ms(p->doc, histogram_quantile(queued, 0.95) / 1e6);
            run_cell_ms(p->doc, histogram_mean(issued) / 1e6);
            run_cell_ms(p->doc, histogram_quantile(issued, 0.5) / 1e6);
            run_cell_ms(p->doc, histogram_quantile(issued, 0.95) / 1e6);
            run_cell_ms(p->doc, histogram_quantile(issued, 0.99) / 1e6);
            plot_category(plot, label);
            ms[0][n] = histogram_mean(queued) / 1e6;
            ms[1][n++] = histogram_mean(issued) / 1e6;
        }
    plot->stacked = true;
    plot_axis(&plot->x, "size of the request", "");
    plot_axis(&plot->y, "mean time", "ms");
    plot_line(plot, "kernel's queue", n, NULL, 0, ms[0], sizeof **ms);
    plot_line(plot, "drive", n, NULL, 0, ms[1], sizeof **ms);
    run_plot_add(p, plot);
    free(h);
}

static void put_request_distributions(const struct run_part *p) {
    for (unsigned d = 0; d < KVF_DIRS; d++) {
        struct plot *plot =
            run_plot_distribution(d == KVF_DIR_READ ? "Reads at the drive by request size, percentiles"
                                                    : "Writes at the drive by request size, percentiles");
        for (int size = 0; size < BLOCK_SIZES; size++) {
            char scope[48];
            snprintf(scope, sizeof scope, "nvme_%s_d2c_%s", dir_name((enum kvf_dir)d), block_size_name(size));
            run_plot_curve(plot, p->run, scope, block_size_label(size), (unsigned)size);
        }
        run_plot_add(p, plot);
    }
}

void run_doc_latency(const struct run_part *p) {
    if (!run_measured(p) && p->series->count == 0) return;
    doc_section(p->doc, p->level, "Latency");
    if (run_measured(p)) {
        if (run_metric(p, "requests_done") > 0)
            run_doc_request_table(p);
        else
            doc_text(p->doc, DOC_PLAIN, "No request was done, so there are no latencies of requests.");
        put_entry_table(p);
        put_load_table(p);
        run_facts_break_even(p);
        put_split(p);
        put_request_sizes(p);
    }
    if (p->series->count > 0) put_over_time(p);
    put_spread(p);
    put_distributions(p);
    put_request_distributions(p);
    run_doc_requests(p);
}
