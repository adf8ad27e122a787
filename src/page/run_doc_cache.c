#include <stdio.h>

#include "page/run_doc_inside.h"

static void put_label(const struct run_part *p, unsigned t) {
    doc_cell(p->doc, (run_brief(p) ? run_tier_brief : run_tier_label)(p->run, t).text);
}

void run_doc_tiers(const struct run_part *p) {
    static const char *const counts[] = {"entries", "hits", "demotions", "promotions", "evictions"};
    struct doc *d = p->doc;
    doc_table(d, "Tiers at the end of the measured part",
              "tiers@14|>used / usable@19|>entries@10|>hits@12|>demotions@11|>promotions|>evictions@12");
    for (unsigned t = 0; t < KVF_TIERS; t++) {
        const char *name = tier_name((enum kvf_tier)t);
        char space[96];
        if (!p->run->tier[t].on) continue;
        put_label(p, t);
        snprintf(space, sizeof space, "%s / %s", format_bytes(run_metric(p, "%s_used_bytes", name)).text,
                 format_bytes((double)p->run->tier[t].usable_bytes).text);
        doc_cell(d, space);
        for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
            run_cell_measure(d, run_metric(p, "%s_%s", name, counts[i]), "", "");
    }
    doc_table(d, "Entries read and written in the measured part",
              "entry I/O@14|>read GiB/s@8|>write GiB/s@12|>read P95@11|>device@11|>host@11|>write P95@11");
    for (unsigned t = 0; t < KVF_TIERS; t++) {
        const char *name = tier_name((enum kvf_tier)t);
        if (!p->run->tier[t].on) continue;
        put_label(p, t);
        doc_cell(d, format_rate(run_metric(p, "%s_read_gib_s", name)).text);
        doc_cell(d, format_rate(run_metric(p, "%s_write_gib_s", name)).text);
        run_cell_ms(d, run_metric(p, "%s_read_p95_ms", name));
        run_cell_ms(d, run_metric(p, "%s_read_device_p95_ms", name));
        run_cell_ms(d, run_metric(p, "%s_read_host_p95_ms", name));
        run_cell_ms(d, run_metric(p, "%s_write_p95_ms", name));
    }
}

static void put_traffic(const struct run_part *p) {
    struct doc *d = p->doc;
    doc_table(d, "Moved in the measured part", "tier||>entries|>bytes");
    for (unsigned t = 0; t < KVF_TIERS; t++)
        for (unsigned w = 0; w < KVF_DIRS; w++) {
            const char *tier = tier_name((enum kvf_tier)t), *way = dir_name((enum kvf_dir)w);
            if (!p->run->tier[t].on) continue;
            put_label(p, t);
            doc_cell(d, way);
            run_cell_measure(d, run_metric(p, "%s_%s_ops", tier, way), "", "");
            run_cell_measure(d, run_metric(p, "%s_%s_bytes", tier, way), "B", "");
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

void run_doc_cache(const struct run_part *p) {
    bool any = false;
    for (unsigned t = 0; t < KVF_TIERS; t++) any |= p->run->tier[t].on;
    if (!run_measured(p) || !any) return;
    doc_section(p->doc, p->level, "Cache and tiers");
    run_doc_tiers(p);
    put_traffic(p);
    run_facts_peaks(p);
    run_facts_cache(p);
    run_facts_errors(p);
    put_causes(p);
    for (unsigned w = 0; w < KVF_DIRS; w++) put_bytes(p, w);
}
