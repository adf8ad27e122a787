#include <math.h>
#include <stdio.h>

#include "page/run_doc_inside.h"

enum { ACROSS = 16, CELLS_MOST = ACROSS * ACROSS, WORST = 16 };

static uint64_t hits_of(const struct run_pod *p) {
    uint64_t hits = 0;
    for (int t = 0; t < KVF_TIERS; t++) hits += p->hits[t];
    return hits;
}

/* ---- heat maps: a cell is a pod, or as many in a row as it takes ---- */

static double cell_of(const struct run_record *r, size_t first, size_t end, bool loads) {
    double load = 0;
    uint64_t hits = 0, lookups = 0;
    for (size_t i = first; i < end && i < r->pod_count; i++) {
        load = fmax(load, r->pods[i].load_mean);
        hits += hits_of(&r->pods[i]);
        lookups += r->pods[i].lookups;
    }
    return loads ? load : kvf_ratio((double)hits, (double)lookups);
}

static void put_heat(const struct run_part *p, bool loads) {
    const struct run_record *r = p->run;
    size_t each = (r->pod_count + CELLS_MOST - 1) / CELLS_MOST, cells = (r->pod_count + each - 1) / each;
    size_t across = cells < ACROSS ? cells : ACROSS;
    struct plot *plot = plot_new(PLOT_HEAT, loads ? "Load of the pods" : "Hit ratio of the pods");
    char name[48];
    plot_axis(&plot->x, each > 1 ? "group of pods" : "pod", "");
    plot_axis(&plot->y, loads ? "requests queued and in service" : "hit ratio", loads ? "" : "%");
    for (size_t i = 0; i < across; i++) {
        snprintf(name, sizeof name, "+%zu", i * each);
        plot_category(plot, name);
    }
    for (size_t row = 0; row * ACROSS < cells; row++) {
        double value[ACROSS];
        for (size_t i = 0; i < across; i++) {
            size_t cell = row * ACROSS + i;
            value[i] = cell < cells ? cell_of(r, cell * each, (cell + 1) * each, loads) : KVF_MISSING;
        }
        snprintf(name, sizeof name, "from %zu", row * ACROSS * each);
        plot_line(plot, name, across, NULL, 0, value, sizeof *value);
    }
    if (each > 1)
        plot_caption(plot,
                     loads ? "A cell is %zu pods: the highest mean load among them."
                           : "A cell is %zu pods together.",
                     each);
    run_plot_add(p, plot);
}

/* ---- tables ---- */

static void put_routing(const struct run_part *p) {
    struct doc *d = p->doc;
    double on_way = run_metric(p, "requests_on_way_at_end"), asked_ms = run_metric(p, "index_lookup_mean_ms");
    char columns[200];
    snprintf(columns, sizeof columns,
             ">pods|>load imbalance|>blocks expected|>not there|>index lookups|>index events|>index "
             "entries|>index memory%s%s",
             kvf_present(asked_ms) ? "|>lookup mean|>lookup P95" : "",
             kvf_present(on_way) ? "|>on their way at the end" : "");
    doc_table(d, "Routing", columns);
    run_cell_measure(d, run_metric(p, "pods"), "", "");
    run_cell_measure(d, run_metric(p, "load_imbalance"), "", "");
    run_cell_measure(d, run_metric(p, "routed_blocks"), "", "");
    doc_cell(d, format_percent(run_metric(p, "routed_wrong_ratio")).text);
    run_cell_measure(d, run_metric(p, "index_lookups"), "", "");
    run_cell_measure(d, run_metric(p, "index_events"), "", "");
    run_cell_measure(d, run_metric(p, "index_entries"), "", "");
    run_cell_measure(d, run_metric(p, "index_bytes"), "B", "");
    if (kvf_present(asked_ms)) {
        run_cell_measure(d, asked_ms, "ms", "");
        run_cell_measure(d, run_metric(p, "index_lookup_p95_ms"), "ms", "");
    }
    if (kvf_present(on_way)) run_cell_measure(d, on_way, "", "");
}

/* The most loaded, of equals the lower number. */
static size_t worst(const struct run_record *r, const struct run_pod *out[WORST]) {
    size_t n = 0;
    for (size_t i = 0; i < r->pod_count; i++) {
        size_t at = n < WORST ? n++ : WORST;
        for (; at > 0 && r->pods[i].load_mean > out[at - 1]->load_mean; at--)
            if (at < WORST) out[at] = out[at - 1];
        if (at < WORST) out[at] = &r->pods[i];
    }
    return n;
}

static void put_worst(const struct run_part *p) {
    const struct run_pod *row[WORST];
    struct doc *d = p->doc;
    size_t n = worst(p->run, row);
    doc_table(d, n < p->run->pod_count ? "The most loaded pods" : "Pods, the most loaded first",
              ">pod|>load|>requests done|>tokens|>lookups|>hit ratio|>blocks expected|>not there");
    for (size_t i = 0; i < n; i++) {
        const struct run_pod *k = row[i];
        doc_cell(d, format_exact((double)k->pod).text);
        run_cell_measure(d, k->load_mean, "", "");
        run_cell_measure(d, (double)k->requests_done, "", "");
        run_cell_measure(d, (double)k->tokens, "", "");
        run_cell_measure(d, (double)k->lookups, "", "");
        doc_cell(d, format_percent(kvf_ratio((double)hits_of(k), (double)k->lookups)).text);
        run_cell_measure(d, (double)k->expected_blocks, "", "");
        doc_cell(d, format_percent(kvf_ratio((double)k->wrong_blocks, (double)k->expected_blocks)).text);
    }
}

static void put_outages(const struct run_part *p) {
    static const struct {
        const char *metric, *unit;
    } cells[] = {{"outages", ""},
                 {"outages_s", "s"},
                 {"outage_requests_failed", ""},
                 {"outage_requests_rerouted", ""},
                 {"outage_lost_bytes", "B"},
                 {"outage_hits_back_s", "s"},
                 {"outage_ttft_back_s", "s"}};
    if (!kvf_present(run_metric(p, "outages"))) return;
    doc_table(
        p->doc, "Outages",
        ">begun|>gone for|>requests failed|>routed anew|>lost|>hit ratio back after|>TTFT P95 back after");
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++)
        run_cell_measure(p->doc, run_metric(p, "%s", cells[i].metric), cells[i].unit, "");
}

void run_doc_pods(const struct run_part *p) {
    if (p->run->pod_count == 0) return;
    doc_section(p->doc, p->level, "Pods");
    put_routing(p);
    put_outages(p);
    put_heat(p, true);
    put_heat(p, false);
    put_worst(p);
}
