#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "page/run_doc_inside.h"

bool run_measured(const struct run_part *p) {
    return kvf_present(run_metric(p, "measured_s"));
}

struct format_cell run_tier_label(const struct run_record *r, unsigned tier) {
    struct format_cell c;
    snprintf(c.text, sizeof c.text, "%s%s", tier_name((enum kvf_tier)tier),
             r->tier[tier].emulated ? " (emulated)"
             : r->tier[tier].compat ? " (compat)"
                                    : "");
    return c;
}

struct format_cell run_tier_brief(const struct run_record *r, unsigned tier) {
    struct format_cell c;
    const char *word = r->tier[tier].emulated ? " emul" : r->tier[tier].compat ? " compat" : "";
    snprintf(c.text, sizeof c.text, "%s%s", tier_name((enum kvf_tier)tier), word);
    return c;
}

struct format_cell run_label(const struct run_record *r) {
    enum { MOST = 20 };
    struct format_cell c;
    size_t len = strnlen(r->name, MOST);
    while (len > 0 && ((unsigned char)r->name[len] & 0xc0) == 0x80) len--; /* no part of a character */
    snprintf(c.text, sizeof c.text, "run %" PRId64 " %.*s", r->run_id, (int)len, r->name);
    return c;
}

void run_cell_ms(struct doc *d, double v) {
    doc_cell(d, kvf_present(v) ? format_ms(v).text : NULL);
}

void run_cell_measure(struct doc *d, double v, const char *unit, const char *metric) {
    doc_cell(d, kvf_present(v) ? format_measure(v, unit, metric).text : NULL);
}

/* One after the other, those of the same phase as one. */
static void add_spans(struct plot *plot, const struct series *s) {
    for (size_t i = 0; i < s->count;) {
        uint64_t phase = s->interval[i].phase;
        size_t from = i;
        while (i < s->count && s->interval[i].phase == phase) i++;
        if (phase == KVF_PHASE_MEASURED) continue;
        double begin = from ? s->interval[from - 1].t_s : s->interval[0].t_s - s->interval[0].length_s;
        plot_span(plot, kvf_present(begin) ? begin : 0, s->interval[i - 1].t_s,
                  run_phase_name((enum kvf_run_phase)phase));
    }
}

struct plot *run_plot_time(const struct run_part *p, const char *title, const char *label, const char *unit) {
    struct plot *plot = plot_new(PLOT_LINES, title);
    plot_axis(&plot->x, "run time", "clock");
    plot_axis(&plot->y, label, unit);
    add_spans(plot, p->series);
    if (p->series->count > 0) {
        const struct snapshot_interval *first = &p->series->interval[0];
        plot->x.low = kvf_present(first->length_s) ? first->t_s - first->length_s : first->t_s;
    }
    return plot;
}

/* Parts of an interval: an array of structs, the one meant at `first`, with the fields it has. */
struct source {
    const void *first;
    size_t stride;
    const struct snapshot_field *fields;
    size_t count;
};

/* The usual length of an interval: most are as long as the longest, but for pauses of the sampler. */
static double usual_length(const struct series *s) {
    double sum = 0;
    size_t n = 0;
    for (size_t i = 0; i < s->count; i++)
        if (kvf_present(s->interval[i].length_s)) {
            sum += s->interval[i].length_s;
            n++;
        }
    return n ? sum / (double)n : 0;
}

static struct plot_line *add_line(struct plot *plot, const struct run_part *p, const char *name,
                                  const struct source *s, const struct run_field *f) {
    const struct snapshot_field *field = NULL;
    struct plot_line *l = plot_line_room(plot, name, p->series->count, true);
    for (size_t i = 0; i < s->count; i++)
        if (strcmp(s->fields[i].name, f->name) == 0) field = &s->fields[i];
    double least = usual_length(p->series) / 10;
    l->count = 0;
    for (size_t i = 0; i < p->series->count && field && s->first; i++) {
        const struct snapshot_interval *n = &p->series->interval[i];
        double v = snapshot_value((const char *)s->first + i * s->stride, field) * f->scale;
        if (n->length_s < least) continue; /* what a phase's end left over: its rates mean nothing */
        if (!isfinite(n->t_s)) continue;
        l->x[l->count] = n->t_s;
        l->y[l->count++] = !f->rate ? v : n->length_s > 0 ? v / n->length_s : KVF_MISSING;
    }
    return l;
}

struct plot_line *run_plot_field(struct plot *plot, const struct run_part *p, const char *name,
                                 const struct run_field *f) {
    struct source s = {p->series->interval, sizeof *p->series->interval, snapshot_interval_fields,
                       snapshot_interval_field_count};
    return add_line(plot, p, name, &s, f);
}

struct plot_line *run_plot_tier(struct plot *plot, const struct run_part *p, unsigned tier, const char *name,
                                const struct run_field *f) {
    struct source s = {p->series->tier ? &p->series->tier[0][tier] : NULL, sizeof *p->series->tier,
                       snapshot_tier_fields, snapshot_tier_field_count};
    struct plot_line *l = add_line(plot, p, name, &s, f);
    l->colour = l->dash = tier;
    return l;
}

struct plot_line *run_plot_class(struct plot *plot, const struct run_part *p, uint32_t klass,
                                 const struct run_field *f) {
    struct source s = {p->series->qos ? &p->series->qos[0][klass] : NULL, sizeof *p->series->qos,
                       snapshot_qos_fields, snapshot_qos_field_count};
    return add_line(plot, p, p->series->class_name[klass], &s, f);
}

struct plot_line *run_plot_gpu(struct plot *plot, const struct run_part *p, uint32_t gpu, const char *name,
                               const struct run_field *f) {
    struct source s = {p->series->gpu ? &p->series->gpu[0][gpu] : NULL, sizeof *p->series->gpu,
                       snapshot_gpu_fields, snapshot_gpu_field_count};
    return add_line(plot, p, name, &s, f);
}

struct plot_line *run_plot_server(struct plot *plot, const struct run_part *p, const char *name,
                                  const struct run_field *f) {
    struct source s = {p->series->remote, sizeof *p->series->remote, snapshot_remote_fields,
                       snapshot_remote_field_count};
    return add_line(plot, p, name, &s, f);
}

/* Whether the values, and the ends that the axis reaches in any case, are so far apart that the low ones
 * could not be read off a linear scale, and none of them is 0. */
static bool spans_decades(const struct plot *plot) {
    enum { TIMES = 30 };
    double low, high;
    return plot_range_y(plot, &low, &high) && low > 0 && high > TIMES * low;
}

void run_plot_add(const struct run_part *p, struct plot *plot) {
    double low, high;
    bool nothing = plot_empty(plot);
    bool zero = !nothing && plot_range_y(plot, &low, &high) && low == 0 && high == 0;
    if (zero) doc_text(p->doc, DOC_PLAIN, "%s: 0 in every interval.", plot->title);
    if (nothing || zero) {
        plot_free(plot);
        return;
    }
    if (plot->kind == PLOT_LINES && strcmp(plot->y.unit, "ms") == 0 && spans_decades(plot))
        plot->y.log = true;
    doc_plot(p->doc, plot);
}
