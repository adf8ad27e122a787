#include <stdio.h>
#include <string.h>

#include "draw/axis.h"
#include "page/run_doc_inside.h"

static const double per_gib = 1.0 / (1024.0 * 1024.0 * 1024.0);

/* Marks set while the run went on. */
static void add_notes(struct plot *plot, const struct run_record *r) {
    for (size_t i = 0; i < r->event_count; i++)
        if (strcmp(r->events[i].level, "mark") == 0 && kvf_present(r->events[i].t_s))
            plot_mark(plot, r->events[i].t_s, r->events[i].message);
}

static void put_load(const struct run_part *p) {
    struct plot *plot = run_plot_time(p, "Throughput", "tokens generated", "tok/s");
    run_plot_field(plot, p, "", &(struct run_field){"throughput_tok_s", 1, false})->area = true;
    add_notes(plot, p->run);
    run_plot_add(p, plot);
    plot = run_plot_time(p, "Requests waiting and in service", "requests", "");
    run_plot_field(plot, p, "waiting", &(struct run_field){"queue_depth", 1, false});
    run_plot_field(plot, p, "in service", &(struct run_field){"in_service", 1, false});
    run_plot_field(plot, p, "users", &(struct run_field){"users", 1, false});
    run_plot_add(p, plot);
}

static void put_space(const struct run_part *p) {
    struct plot *bytes = run_plot_time(p, "Tier occupancy", "used", "B");
    struct plot *shares = run_plot_time(p, "Tier fill", "used / usable", "%");
    bytes->kind = PLOT_STACK;
    for (unsigned t = 0; t < KVF_TIERS; t++) {
        const struct run_tier *tier = &p->run->tier[t];
        struct format_cell label = run_tier_label(p->run, t);
        if (!p->series->tier_on[t]) continue;
        run_plot_tier(bytes, p, t, label.text, &(struct run_field){"used_bytes", 1, false});
        if (tier->usable_bytes)
            run_plot_tier(shares, p, t, label.text,
                          &(struct run_field){"used_bytes", 1.0 / (double)tier->usable_bytes, false});
    }
    run_plot_add(p, bytes);
    shares->y.high = 1;
    run_plot_add(p, shares);
}

static void put_bandwidth(const struct run_part *p) {
    struct plot *reads = run_plot_time(p, "Read bandwidth", "entries read", "GiB/s");
    struct plot *writes = run_plot_time(p, "Write bandwidth", "entries written", "GiB/s");
    struct plot *read_ms = run_plot_time(p, "Entry reads, P95", "latency", "ms");
    struct plot *write_ms = run_plot_time(p, "Entry writes, P95", "latency", "ms");
    for (unsigned t = 0; t < KVF_TIERS; t++) {
        struct format_cell label = run_tier_label(p->run, t);
        if (!p->series->tier_on[t]) continue;
        run_plot_tier(reads, p, t, label.text, &(struct run_field){"read_bytes", per_gib, true});
        run_plot_tier(writes, p, t, label.text, &(struct run_field){"write_bytes", per_gib, true});
        run_plot_tier(read_ms, p, t, label.text, &(struct run_field){"read_p95_ms", 1, false});
        run_plot_tier(write_ms, p, t, label.text, &(struct run_field){"write_p95_ms", 1, false});
    }
    run_plot_add(p, reads);
    run_plot_add(p, writes);
    run_plot_add(p, read_ms);
    run_plot_add(p, write_ms);
}

static void put_hits(const struct run_part *p) {
    struct plot *plot = run_plot_time(p, "Hit ratio", "hits / lookups", "%");
    run_plot_field(plot, p, "hit ratio", &(struct run_field){"reuse_hit_ratio", 1, false});
    run_plot_field(plot, p, "with decode", &(struct run_field){"hit_ratio", 1, false});
    plot->y.high = 1;
    plot_caption(plot, "The hit ratio excludes re-reads of a request's own context during decode.");
    run_plot_add(p, plot);
    plot = run_plot_time(p, "Entries that fall or are dropped", "entries", "1/s");
    for (unsigned t = 0; t < KVF_TIERS; t++) {
        char name[64];
        if (!p->series->tier_on[t]) continue;
        bool last = true;
        for (unsigned below = t + 1; below < KVF_TIERS; below++) last = last && !p->series->tier_on[below];
        snprintf(name, sizeof name, "%s %s", tier_name((enum kvf_tier)t), last ? "dropped" : "fall");
        run_plot_tier(plot, p, t, name, &(struct run_field){last ? "evictions" : "demotions", 1, true});
    }
    run_plot_add(p, plot);
}

/* "26 intervals: warmup to 0:05, measured to 0:25." */
static void put_phases(const struct run_part *p) {
    const struct series *s = p->series;
    struct buf text = {0};
    struct format_cell before = {""};
    for (size_t i = 0; i < s->count; i++) {
        struct format_cell end = axis_value(s->interval[i].t_s, "clock");
        bool goes_on = i + 1 < s->count && s->interval[i + 1].phase == s->interval[i].phase;
        if (goes_on || strcmp(end.text, before.text) == 0) continue; /* or it was over at once */
        buf_addf(&text, "%s%s to %s", text.len ? ", " : "",
                 run_phase_name((enum kvf_run_phase)s->interval[i].phase), end.text);
        before = end;
    }
    doc_text(p->doc, DOC_PLAIN,
             "%zu interval%s: %s. Run time counts from the first request, pauses excluded.", s->count,
             s->count == 1 ? "" : "s", buf_text(&text));
    buf_free(&text);
}

void run_doc_progress(const struct run_part *p) {
    doc_section(p->doc, p->level, "Over time");
    if (p->series->count == 0) {
        doc_text(p->doc, DOC_PLAIN, "The database has no interval of this run, so there is nothing to draw.");
        return;
    }
    put_phases(p);
    put_load(p);
    put_space(p);
    put_bandwidth(p);
    put_hits(p);
}
