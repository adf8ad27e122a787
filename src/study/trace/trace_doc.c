#include "study/trace/trace_doc.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "draw/number.h"

static double seconds(const struct trace_stats *t) {
    return (double)t->span_ns / (double)KVF_NS_PER_S;
}

/* Values with two decimals below 100, as counts above. */
static struct format_cell plain(double v) {
    struct format_cell c = format_count(v);
    if (isfinite(v) && fabs(v) < 100) snprintf(c.text, sizeof c.text, "%.2f", v);
    return c;
}

static struct format_cell plus_minus(double ratio, double error) {
    struct format_cell c = format_percent(ratio);
    size_t len = strlen(c.text);
    if (error > 0) snprintf(c.text + len, sizeof c.text - len, " +- %.1f", 100 * error);
    return c;
}

static void fact_names(struct doc *d, const char *label, const struct trace_name *names) {
    struct buf text = {0};
    for (size_t i = 0; i < TRACE_NAMES && names[i].text[0]; i++)
        buf_addf(&text, "%s%s %s", i ? ", " : "", names[i].text,
                 format_count((double)names[i].requests).text);
    doc_fact(d, label, buf_text(&text));
    buf_free(&text);
}

static void put_head(const struct trace_stats *t, struct doc *d) {
    struct buf text = {0};
    buf_addf(&text, "%s of source %s", format_exact((double)t->requests).text, t->in->source->word);
    if (t->files > 1) buf_addf(&text, " in %s files", format_exact((double)t->files).text);
    if (t->rejected > 0)
        buf_addf(&text, ", %s row%s rejected", format_exact((double)t->rejected).text,
                 t->rejected == 1 ? "" : "s");
    doc_fact(d, "Requests", buf_text(&text));
    if (t->in->timed) doc_fact(d, "Span", format_seconds(seconds(t)).text);
    text.len = 0;
    buf_addf(&text, "%s in, %s out", format_count(t->input_tokens).text, format_count(t->output_tokens).text);
    doc_fact(d, "Tokens", buf_text(&text));
    if (t->session_count > 0) {
        text.len = 0;
        buf_addf(&text, "%s%s", format_count(trace_sessions(t)).text,
                 !t->in->blocks || t->in->named || strcmp(t->in->source->word, "agentic") == 0
                     ? ""
                     : ", told from the blocks: the trace names none");
        doc_fact(d, "Sessions", buf_text(&text));
    }
    if (t->in->blocks) {
        text.len = 0;
        buf_addf(&text, "%s of the input tokens were seen before%s",
                 format_percent(t->seen_tokens / t->input_tokens).text,
                 t->forgot ? ", as far back as the last two million blocks" : "");
        doc_fact(d, "Sharing", buf_text(&text));
    }
    fact_names(d, "Models", t->model);
    fact_names(d, "Classes", t->klass);
    if (t->lost > 0)
        doc_text(d, DOC_WARN, "The recording has gaps. Lost messages of the engine: %s.",
                 format_exact((double)t->lost).text);
    buf_free(&text);
}

static void put_length(struct doc *d, const char *name, const struct histogram *h, double scale,
                       struct format_cell (*form)(double v)) {
    static const double parts[] = {0.5, 0.9, 0.99};
    if (histogram_count(h) == 0) return;
    doc_cell(d, name);
    doc_cell(d, form(histogram_mean(h) * scale).text);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        doc_cell(d, form(histogram_quantile(h, parts[i]) * scale).text);
    doc_cell(d, form(histogram_max(h) * scale).text);
}

static void put_lengths(const struct trace_stats *t, struct doc *d) {
    doc_section(d, 1, "Lengths, turns and pauses");
    doc_table(d, "Lengths", "|>mean|>P50|>P90|>P99|>most");
    put_length(d, "input tokens", t->input, 1, format_count);
    put_length(d, "output tokens", t->output, 1, format_count);
    put_length(d, "turns of a session", t->turns, 1, plain);
    if (t->in->timed) put_length(d, "from turn to turn", t->between, 1e-9, format_seconds);
    put_length(d, "blocks", t->depth, 1, format_count);
    put_length(d, "blocks seen before", t->shared, 1, format_count);
}

static void put_arrivals(const struct trace_stats *t, struct doc *d) {
    const struct trace_series *s = &t->series;
    double width = (double)s->width_ns / (double)KVF_NS_PER_S;
    if (!t->in->timed || t->span_ns == 0) return;
    doc_section(d, 1, "Arrivals");
    doc_fact(d, "Requests/s", plain((double)t->requests / seconds(t)).text);
    doc_fact(d, "Input tok/s", format_tok_s(t->input_tokens / seconds(t)).text);
    doc_fact(d, "Output tok/s", format_tok_s(t->output_tokens / seconds(t)).text);
    doc_table(d, "Burstiness: variance over mean of the requests in a window, 1 for Poisson arrivals",
              "window|>dispersion|>busiest window");
    for (int i = 0; i < TRACE_SCALES; i++) {
        if (!(t->scale[i].windows >= 10)) continue;
        doc_cell(d, format_seconds((double)t->scale[i].width_ns / (double)KVF_NS_PER_S).text);
        doc_cell(d, plain(trace_dispersion(&t->scale[i])).text);
        doc_cell(d, format_exact((double)t->scale[i].peak).text);
    }
    struct plot *p = plot_new(PLOT_LINES, "arrivals over time");
    plot_axis(&p->x, "time", "s");
    plot_axis(&p->y, "requests per second", "");
    struct plot_line *line = plot_line_room(p, "requests/s", s->bins, true);
    for (size_t i = 0; i < s->bins; i++) {
        line->x[i] = ((double)i + 0.5) * width;
        line->y[i] = s->requests[i] / width;
    }
    line->area = true;
    doc_plot(d, p);
}

static void put_tree(const struct trace_stats *t, struct doc *d) {
    if (!t->in->blocks) return;
    struct buf text = {0};
    doc_section(d, 1, "Prefix sharing");
    buf_addf(&text, "%s of %" PRIu64 " tokens", format_count(t->nodes).text, t->in->s.cache.block_tokens);
    doc_fact(d, "Blocks", buf_text(&text));
    text.len = 0;
    buf_addf(&text, "%s of the blocks that others follow have more than one successor, %s at most",
             format_percent(t->inner > 0 ? t->branches / t->inner : (double)NAN).text,
             format_count(t->most_children).text);
    doc_fact(d, "Branches", buf_text(&text));
    buf_free(&text);
    if (t->tree.threshold < UINT64_C(1) << 32)
        doc_text(d, DOC_PLAIN, "Blocks and branches are estimated from %s of the blocks.",
                 format_percent((double)t->tree.threshold * 0x1p-32).text);
}

static void put_reuse(const struct trace_stats *t, struct doc *d) {
    struct buf text = {0};
    double first, all;
    if (t->points == 0) return;
    doc_section(d, 1, "Reuse");
    sample_firsts(t->sample, &first, &all);
    buf_addf(&text, "%s of all lookups find what was there before; sizes are those of %s",
             format_percent(1 - first / all).text, t->in->s.model.preset);
    doc_fact(d, "Reuse", buf_text(&text));
    text.len = 0;
    for (unsigned i = 0; i < TRACE_DISTANCES; i++)
        buf_addf(&text, "%s%.0f %% within %s", i ? ", " : "", 100 * trace_distance_part[i],
                 format_bytes(t->distance_bytes[i]).text);
    doc_fact(d, "Distances", buf_text(&text));
    buf_free(&text);
    doc_table(d, "Miss ratio by capacity", "capacity");
    for (unsigned c = 0; c < t->curves; c++) doc_column(d, t->curve[c].policy, true);
    for (unsigned i = 0; i < t->points; i++) {
        doc_cell(d, format_bytes(t->capacity[i]).text);
        for (unsigned c = 0; c < t->curves; c++)
            doc_cell(d, plus_minus(t->curve[c].miss_ratio[i], c ? 0 : t->error[i]).text);
    }
    double part = sample_part(t->sample);
    if (part < 1)
        doc_text(
            d, DOC_PLAIN,
            "From a sample of %s of the blocks; behind +- stands the standard error in points, which holds for every policy.",
            format_percent(part).text);
    struct plot *p = plot_new(PLOT_LINES, "miss ratio over capacity");
    plot_axis(&p->x, "capacity", "B");
    plot_axis(&p->y, "miss ratio", "%");
    p->x.log = true;
    for (unsigned c = 0; c < t->curves; c++)
        plot_line(p, t->curve[c].policy, t->points, t->capacity, sizeof *t->capacity, t->curve[c].miss_ratio,
                  sizeof *t->curve[c].miss_ratio);
    doc_plot(d, p);
}

static void put_working_set(const struct trace_stats *t, struct doc *d) {
    if (t->parts == 0) return;
    doc_section(d, 1, "Working set");
    doc_fact(d, "All", format_bytes(t->so_far_bytes[t->parts - 1]).text);
    struct plot *p = plot_new(PLOT_LINES, "working set over time");
    plot_axis(&p->x, "time", "s");
    plot_axis(&p->y, "KV cache", "B");
    plot_line(p, "used in this part", t->parts, t->part_s, sizeof *t->part_s, t->active_bytes,
              sizeof *t->active_bytes);
    plot_line(p, "used so far", t->parts, t->part_s, sizeof *t->part_s, t->so_far_bytes,
              sizeof *t->so_far_bytes);
    plot_caption(p, "The span is cut into %u parts of %s.", t->parts,
                 format_seconds(seconds(t) / t->parts).text);
    doc_plot(d, p);
}

struct doc *trace_doc(const struct trace_stats *t, const char *name) {
    struct buf title = {0};
    buf_addf(&title, "Trace %s", name);
    struct doc *d = doc_new(buf_text(&title), "");
    buf_free(&title);
    put_head(t, d);
    put_lengths(t, d);
    put_arrivals(t, d);
    put_tree(t, d);
    put_reuse(t, d);
    put_working_set(t, d);
    if (!t->in->blocks && t->points == 0)
        doc_text(d, DOC_PLAIN,
                 "The trace does not say what its requests share, so sharing and reuse are unknown.");
    return d;
}
