#include "page/comparison_doc.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- what is compared ---- */

static void put_sides(struct doc *d, const struct comparison *c) {
    struct buf limits = {0};
    bool any = false;
    for (size_t s = 1; s < c->sides; s++) doc_fact(d, "Verdict", c->verdict[s]);
    for (size_t s = 0; s < c->sides; s++) {
        const struct comparison_side *side = &c->side[s];
        struct buf text = {0};
        buf_addf(&text, "%s: %s", side->label, side->title);
        doc_fact(d, s ? "Compared" : "Baseline", buf_text(&text));
        buf_free(&text);
        any = any || side->limited_by[0];
        buf_addf(&limits, "%s%s: %s", s ? "; " : "", side->label,
                 side->limited_by[0] ? side->limited_by : "--");
    }
    if (any) doc_fact(d, "Limited by", buf_text(&limits));
    buf_free(&limits);
}

static void put_differences(struct doc *d, const struct comparison *c) {
    if (c->differences == 0) {
        doc_text(d, DOC_PLAIN, "The scenarios are alike: no key differs.");
        return;
    }
    doc_table(d, "Keys of the scenarios that differ", "key");
    for (size_t s = 0; s < c->sides; s++) doc_column(d, c->side[s].label, false);
    for (size_t i = 0; i < c->differences; i++) {
        doc_cell(d, c->difference[i].key);
        for (size_t s = 0; s < c->sides; s++) doc_cell(d, c->difference[i].value[s]);
    }
}

/* ---- metrics ---- */

static bool known_anywhere(const struct comparison *c, const struct comparison_metric *m) {
    for (size_t s = 0; s < c->sides; s++)
        if (kvf_present(m->change[s].value)) return true;
    return false;
}

static enum doc_tone tone_of(const struct comparison_change *v) {
    if (v->noise != COMPARISON_BEYOND) return DOC_PLAIN;
    return v->direction == COMPARISON_IMPROVED   ? DOC_GOOD
           : v->direction == COMPARISON_WORSENED ? DOC_BAD
                                                 : DOC_PLAIN;
}

static void begin_metrics(struct doc *d, const struct comparison *c) {
    doc_table(d, "Metrics and their change against the baseline", "metric");
    doc_column(d, c->side[0].label, true);
}

/* One side against the baseline, with all that is known. */
static void put_pair(struct doc *d, const struct comparison *c, bool interval) {
    begin_metrics(d, c);
    doc_column(d, c->side[1].label, true);
    doc_columns(d, interval ? ">change|>relative|>|>noise|>95 % interval" : ">change|>relative|>|>noise");
    for (size_t i = 0; i < c->metrics; i++) {
        const struct comparison_metric *m = &c->metric[i];
        const struct comparison_change *v = &m->change[1];
        if (!known_anywhere(c, m)) continue;
        doc_cell(d, m->label);
        doc_cell(d, comparison_cell(m->change[0].value, m).text);
        doc_cell(d, comparison_cell(v->value, m).text);
        doc_cell(d, comparison_delta(v->absolute, m).text);
        doc_cell(d, comparison_percent(v->relative).text);
        doc_cell_tone(d, tone_of(v), comparison_direction_word(v));
        doc_cell_tone(d, tone_of(v), comparison_noise_word(v->noise));
        if (!interval) continue;
        char text[96] = "--";
        if (!isnan(v->low) && !isnan(v->high))
            snprintf(text, sizeof text, "%s to %s", comparison_percent(v->low).text,
                     comparison_percent(v->high).text);
        else if (!isnan(v->low) || !isnan(v->high))
            snprintf(text, sizeof text, "%s %s", isnan(v->low) ? "at most" : "at least",
                     comparison_percent(isnan(v->low) ? v->high : v->low).text);
        doc_cell(d, text);
    }
}

/* "better" beyond noise, "better?" where that is not known, "noise" within it. */
static struct format_cell change_word(const struct comparison_change *v) {
    struct format_cell c;
    bool same = v->direction == COMPARISON_SAME;
    bool certain = v->noise == COMPARISON_BEYOND || v->direction == COMPARISON_MISSING || same;
    snprintf(c.text, sizeof c.text, "%s%s", comparison_direction_word(v), certain ? "" : "?");
    if (v->noise == COMPARISON_WITHIN && !same) snprintf(c.text, sizeof c.text, "noise");
    return c;
}

/* One side's cells: three, or all in one that a page can break. */
static void put_side(struct doc *d, const struct comparison_metric *m, const struct comparison_change *v,
                     bool page) {
    struct format_cell value = comparison_cell(v->value, m), change = comparison_moved(v, m),
                       word = change_word(v);
    struct buf whole = {0};
    buf_addf(&whole, kvf_present(v->absolute) ? "%s (%s, %s)" : "%s", value.text, change.text, word.text);
    if (!page) doc_cell(d, value.text);
    if (!page) doc_cell(d, change.text);
    doc_cell_tone(d, tone_of(v), page ? buf_text(&whole) : word.text);
    buf_free(&whole);
}

/* Sides from `first` on, each against the baseline. */
static void put_some(struct doc *d, const struct comparison *c, size_t first, size_t end, bool page) {
    begin_metrics(d, c);
    for (size_t s = first; s < end; s++) {
        doc_column(d, c->side[s].label, true);
        if (!page) doc_columns(d, ">change|>");
    }
    for (size_t i = 0; i < c->metrics; i++) {
        const struct comparison_metric *m = &c->metric[i];
        if (!known_anywhere(c, m)) continue;
        doc_cell(d, m->label);
        doc_cell(d, comparison_cell(m->change[0].value, m).text);
        for (size_t s = first; s < end; s++) put_side(d, m, &m->change[s], page);
    }
}

static void put_metrics(struct doc *d, const struct comparison *c, unsigned columns) {
    enum { LABEL = 20, VALUE = 10, SIDE = 25, WIDE = 100 };
    bool any = false;
    for (size_t i = 0; i < c->metrics; i++) any = any || known_anywhere(c, &c->metric[i]);
    if (!any) {
        doc_text(d, DOC_PLAIN, "There is no metric to compare.");
        return;
    }
    if (c->sides == 2) {
        put_pair(d, c, columns == 0 || columns >= WIDE);
        return;
    }
    size_t fit = columns == 0                      ? c->sides
                 : columns >= LABEL + VALUE + SIDE ? (columns - LABEL - VALUE) / SIDE
                                                   : 1;
    for (size_t s = 1; s < c->sides; s += fit)
        put_some(d, c, s, s + fit < c->sides ? s + fit : c->sides, columns == 0);
    doc_text(d, DOC_PLAIN, "noise: within noise; better?, worse?: whether within noise is not known");
}

static void put_break_even(struct doc *d, const struct metric_break_even *b) {
    doc_cell(d, kvf_present(b->tokens) ? format_break_even(b).text : NULL);
}

static void put_number(struct doc *d, double v, struct format_cell text) {
    doc_cell(d, kvf_present(v) ? text.text : NULL);
}

/* The side that loads so many tokens soonest; c->sides: none is known to. */
static size_t soonest(const struct comparison *c, int size) {
    size_t best = c->sides;
    for (size_t s = 0; s < c->sides; s++) {
        double ms = c->side[s].store.load_ms[size];
        if (kvf_present(ms) && (best == c->sides || ms < c->side[best].store.load_ms[size])) best = s;
    }
    return best;
}

static size_t known_sides(const struct comparison *c, int size) {
    size_t n = 0;
    for (size_t s = 0; s < c->sides; s++) n += kvf_present(c->side[s].store.load_ms[size]);
    return n;
}

/* The size that most sides have read, before others the middle one. */
static int told_size(const struct comparison *c) {
    enum { MIDDLE = 2 };
    int best = MIDDLE;
    for (int i = 0; i < METRIC_SIZES; i++)
        if (known_sides(c, i) > known_sides(c, best)) best = i;
    return best;
}

/* Contexts of so many tokens: loaded, and computed again. */
static void put_size(struct doc *d, const struct comparison *c, int size) {
    for (int again = 0; again < 2 && known_sides(c, size) > 0; again++) {
        struct buf label = {0};
        buf_addf(&label, again ? "%s tokens computed" : "%s tokens loaded", metric_sizes[size]);
        doc_cell(d, buf_text(&label));
        buf_free(&label);
        for (size_t s = 0; s < c->sides; s++) {
            const struct comparison_store *st = &c->side[s].store;
            double ms = again ? st->again_ms[size] : st->load_ms[size];
            put_number(d, ms, format_ms(ms));
        }
    }
}

/* The stores of the sides against each other, and against computing again. */
static void put_stores(struct doc *d, const struct comparison *c) {
    bool unread = false;
    if (!comparison_stores_differ(c)) return;
    doc_table(d, "Loading from stores below memory, against recomputing", "what a request waits for");
    for (size_t s = 0; s < c->sides; s++) doc_column(d, c->side[s].label, true);
    doc_cell(d, "loads from");
    for (size_t s = 0; s < c->sides; s++) doc_cell(d, c->side[s].store.name);
    doc_cell(d, "read P95");
    for (size_t s = 0; s < c->sides; s++)
        put_number(d, c->side[s].store.read_p95_ms, format_ms(c->side[s].store.read_p95_ms));
    for (int i = 0; i < METRIC_SIZES; i++) {
        put_size(d, c, i);
        unread = unread || known_sides(c, i) < c->sides;
    }
    doc_cell(d, "loading wins");
    for (size_t s = 0; s < c->sides; s++) put_break_even(d, &c->side[s].store.break_even);
    doc_cell(d, "read GiB/s");
    for (size_t s = 0; s < c->sides; s++)
        put_number(d, c->side[s].store.read_gib_s, format_rate(c->side[s].store.read_gib_s));
    doc_cell(d, "written GiB/s");
    for (size_t s = 0; s < c->sides; s++)
        put_number(d, c->side[s].store.write_gib_s, format_rate(c->side[s].store.write_gib_s));
    doc_cell(d, "CPU seconds a GiB");
    for (size_t s = 0; s < c->sides; s++)
        put_number(d, c->side[s].store.cpu_s_gib, format_rate(c->side[s].store.cpu_s_gib));
    for (size_t s = 0; s < c->sides; s++) {
        struct buf text = {0};
        const struct comparison_side *side = &c->side[s];
        buf_addf(&text, "%s: %s", side->label, side->store.about[0] ? side->store.about : "none");
        doc_fact(d, s ? "" : "Stores", buf_text(&text));
        buf_free(&text);
    }
    if (unread) doc_fact(d, "", METRIC_SIZES_UNREAD);
    int size = told_size(c);
    size_t best = soonest(c, size);
    if (best == c->sides) return;
    const struct comparison_store *st = &c->side[best].store;
    struct buf text = {0};
    buf_addf(&text, "%s loads %s tokens soonest, from %s in %s", c->side[best].label, metric_sizes[size],
             st->name, format_ms(st->load_ms[size]).text);
    if (kvf_present(st->again_ms[size]))
        buf_addf(&text, "; computing them again takes %s, so %s is quicker",
                 format_ms(st->again_ms[size]).text,
                 st->load_ms[size] < st->again_ms[size] ? "loading" : "computing them again");
    doc_fact(d, "", buf_text(&text));
    buf_free(&text);
}

void comparison_put(struct doc *d, const struct comparison *c, unsigned columns) {
    put_sides(d, c);
    for (size_t i = 0; i < c->warnings; i++) doc_text(d, DOC_WARN, "Warning: %s", c->warning[i]);
    put_differences(d, c);
    put_metrics(d, c, columns);
    put_stores(d, c);
    for (size_t i = 0; i < c->notes; i++) doc_fact(d, "Noise", c->note[i]);
}

/* ---- the terminal ---- */

/* Of any side. */
static bool was_held(const struct comparison *c, const struct comparison_limit *limit) {
    for (size_t i = 0; i < c->cases; i++)
        if (strcmp(c->held[i].name, limit->metric) == 0 && c->held[i].state != COMPARISON_UNHELD) return true;
    return false;
}

static void put_limits(struct buf *out, const struct comparison *c, bool held) {
    const char *between = held ? " " : "; not held: ";
    for (size_t i = 0; i < c->limits; i++) {
        if (was_held(c, &c->limit[i]) != held) continue;
        buf_addf(out, "%s%s %.4g %%", between, c->limit[i].metric, 100 * c->limit[i].most);
        between = ", ";
    }
}

static void put_check(struct doc *d, const struct comparison *c) {
    if (!c->checked) return;
    struct buf words = {0};
    bool nothing = c->unheld > 0 && c->unheld == c->limits * (c->sides - 1);
    buf_add(&words, c->failures ? "FAILED" : nothing ? "passed, nothing could be held" : "passed");
    buf_add(&words, nothing ? "" : ":");
    put_limits(&words, c, true);
    put_limits(&words, c, false);
    doc_verdict(d, c->failures ? DOC_BAD : DOC_GOOD, "Check", buf_text(&words));
    buf_free(&words);
    for (size_t i = 0; i < c->failures; i++) doc_fact(d, "", c->failure[i]);
}

void comparison_text(const struct comparison *c, const struct format_style *style, struct buf *out) {
    struct doc *d = doc_new("", "");
    comparison_put(d, c, style->columns ? style->columns : 80);
    put_check(d, c);
    doc_terminal(d, style, out);
    doc_free(d);
}
