#include <stdio.h>
#include <string.h>

#include "page/run_doc_inside.h"

static void put_tiers(const struct run_part *p) {
    struct doc *d = p->doc;
    doc_table(d, "Tiers at the end of the measured part",
              "tier|>used|>usable|>entries|>hits|>demotions|>promotions|>evictions");
    for (unsigned t = 0; t < KVF_TIERS; t++) {
        const struct run_tier *tier = &p->run->tier[t];
        static const char *const counts[] = {"entries", "hits", "demotions", "promotions", "evictions"};
        const char *name = tier_name((enum kvf_tier)t);
        if (!tier->on) continue;
        doc_cell(d, run_tier_label(p->run, t).text);
        run_cell_measure(d, run_metric(p, "%s_used_bytes", name), "B", "");
        run_cell_measure(d, (double)tier->usable_bytes, "B", "");
        for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
            run_cell_measure(d, run_metric(p, "%s_%s", name, counts[i]), "", "");
    }
}

static void put_traffic(const struct run_part *p) {
    struct doc *d = p->doc;
    doc_table(d, "Moved in the measured part", "tier||>entries|>bytes|>GiB/s|>of peak");
    for (unsigned t = 0; t < KVF_TIERS; t++)
        for (unsigned w = 0; w < KVF_DIRS; w++) {
            const char *tier = tier_name((enum kvf_tier)t), *way = dir_name((enum kvf_dir)w);
            if (!p->run->tier[t].on) continue;
            doc_cell(d, run_tier_label(p->run, t).text);
            doc_cell(d, way);
            run_cell_measure(d, run_metric(p, "%s_%s_ops", tier, way), "", "");
            run_cell_measure(d, run_metric(p, "%s_%s_bytes", tier, way), "B", "");
            doc_cell(d, format_rate(run_metric(p, "%s_%s_gib_s", tier, way)).text);
            doc_cell(d, format_percent(run_metric(p, "%s_%s_peak_share", tier, way)).text);
        }
}

static void put_causes(const struct run_part *p) {
    struct plot *plot = plot_new(PLOT_BARS, "Hits and misses by cause");
    struct doc *d = p->doc;
    size_t n = 0;
    if (!(run_metric(p, "lookups") > 0)) {
        plot_free(plot);
        return;
    }
    doc_table(d, "Lookups by cause", "cause|>lookups|>hits|>misses|>hit ratio");
    double hits[KVF_CAUSES], misses[KVF_CAUSES];
    for (unsigned c = 0; c < KVF_CAUSES; c++) {
        const char *cause = cause_name((enum kvf_cause)c);
        double all = run_metric(p, "%s_lookups", cause), found = run_metric(p, "%s_hits", cause);
        if (!(all > 0)) continue;
        doc_cell(d, cause);
        run_cell_measure(d, all, "", "");
        run_cell_measure(d, found, "", "");
        run_cell_measure(d, all - found, "", "");
        doc_cell(d, format_percent(found / all).text);
        plot_category(plot, cause);
        hits[n] = found;
        misses[n++] = all - found;
    }
    doc_cell(d, "all");
    run_cell_measure(d, run_metric(p, "lookups"), "", "");
    run_cell_measure(d, run_metric(p, "hits"), "", "");
    run_cell_measure(d, run_metric(p, "misses"), "", "");
    run_cell_measure(d, run_metric(p, "hit_ratio"), "", "hit_ratio");
    plot_axis(&plot->x, "cause", "");
    plot_axis(&plot->y, "lookups", "");
    plot_line(plot, "hits", n, NULL, 0, hits, sizeof *hits);
    plot_line(plot, "misses", n, NULL, 0, misses, sizeof *misses);
    run_plot_add(p, plot);
}

/* Bytes of each tier by cause. */
static void put_bytes(const struct run_part *p, unsigned w) {
    const char *way = dir_name((enum kvf_dir)w);
    struct plot *plot =
        plot_new(PLOT_BARS, w == KVF_DIR_READ ? "Bytes read by cause" : "Bytes written by cause");
    unsigned tiers[KVF_TIERS], n = 0;
    plot->stacked = true;
    plot_axis(&plot->x, "tier", "");
    plot_axis(&plot->y, w == KVF_DIR_READ ? "read" : "written", "B");
    for (unsigned t = 0; t < KVF_TIERS; t++) {
        if (!p->run->tier[t].on) continue;
        plot_category(plot, run_tier_label(p->run, t).text);
        tiers[n++] = t;
    }
    for (unsigned c = 0; c < KVF_CAUSES; c++) {
        double bytes[KVF_TIERS] = {0}, sum = 0;
        for (unsigned i = 0; i < n; i++) {
            double v = run_metric(p, "%s_%s_%s_bytes", tier_name((enum kvf_tier)tiers[i]), way,
                                  cause_name((enum kvf_cause)c));
            bytes[i] = kvf_present(v) ? v : 0;
            sum += bytes[i];
        }
        if (sum > 0) {
            struct plot_line *l =
                plot_line(plot, cause_name((enum kvf_cause)c), n, NULL, 0, bytes, sizeof *bytes);
            l->colour = c;
        }
    }
    run_plot_add(p, plot);
}

static void put_facts(const struct run_part *p) {
    static const struct {
        const char *label, *metric, *unit;
    } facts[] = {{"Read", "total_read_bytes", "B"},           {"Written", "total_write_bytes", "B"},
                 {"Read / written", "read_write_ratio", ""},  {"Amplification", "amplification", ""},
                 {"Mean entry", "entry_bytes_mean", "B"},     {"Largest entry", "entry_bytes_max", "B"},
                 {"Mean context", "context_tokens_mean", ""}, {"Fell through", "fell_through", ""},
                 {"Refused for room", "refused", ""},         {"Failed operations", "operation_errors", ""},
                 {"Not admitted", "not_admitted", ""},        {"Prefixes saved", "prefix_bytes_saved", "B"},
                 {"RAG read", "rag_bytes_read", "B"},         {"Preconditioned", "precondition_bytes", "B"}};
    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++) {
        double v = run_metric(p, "%s", facts[i].metric);
        if (!kvf_present(v) || (v == 0 && i > 9)) continue;
        struct format_cell c =
            strcmp(facts[i].metric, "read_write_ratio") == 0 || strcmp(facts[i].metric, "amplification") == 0
                ? format_times(v)
                : format_measure(v, facts[i].unit, facts[i].metric);
        doc_fact(p->doc, facts[i].label, c.text);
    }
}

void run_doc_cache(const struct run_part *p) {
    bool any = false;
    for (unsigned t = 0; t < KVF_TIERS; t++) any |= p->run->tier[t].on;
    if (!run_measured(p) || !any) return;
    doc_section(p->doc, p->level, "Cache and tiers");
    put_tiers(p);
    put_traffic(p);
    put_facts(p);
    put_causes(p);
    for (unsigned w = 0; w < KVF_DIRS; w++) put_bytes(p, w);
}
