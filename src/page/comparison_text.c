#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare/comparison_parts.h"
#include "draw/format.h"

/* ---- what is compared ---- */

static void put_sides(struct format_page *p, const struct comparison *c) {
    for (size_t s = 0; s < c->sides; s++) {
        format_label(p, FORMAT_HEADING, s == 0 ? "Baseline" : s == 1 ? "Compared" : "");
        format_item(p, "%s:", c->side[s].label);
        format_words(p, c->side[s].title);
        format_end(p);
    }
}

static void put_limits(struct format_page *p, const struct comparison *c) {
    bool any = false;
    for (size_t s = 0; s < c->sides; s++) any = any || c->side[s].limited_by[0];
    if (!any) return;
    format_label(p, FORMAT_HEADING, "Limited by");
    for (size_t s = 0; s < c->sides; s++)
        format_item(p, "%s: %s", c->side[s].label, c->side[s].limited_by[0] ? c->side[s].limited_by : "--");
    format_end(p);
}

static void put_verdicts(struct format_page *p, const struct comparison *c) {
    for (size_t s = 1; s < c->sides; s++) {
        format_label(p, FORMAT_HEADING, s == 1 ? "Verdict" : "");
        format_words(p, c->verdict[s]);
        format_end(p);
    }
}

static void put_warnings(struct format_page *p, const struct comparison *c) {
    for (size_t i = 0; i < c->warnings; i++) {
        format_label(p, FORMAT_WARN, "Warning");
        format_words(p, c->warning[i]);
        format_end(p);
    }
}

/* ---- scenarios ---- */

static const char *shown(const char *value) {
    return value ? value : "--";
}

/* Columns of the key and of each side in one line. */
static unsigned measure_keys(const struct comparison *c, unsigned *width) {
    unsigned all;
    width[0] = 4;
    for (size_t s = 0; s < c->sides; s++) width[s + 1] = format_width(c->side[s].label);
    for (size_t i = 0; i < c->differences; i++) {
        const struct comparison_difference *d = &c->difference[i];
        if (format_width(d->key) > width[0]) width[0] = format_width(d->key);
        for (size_t s = 0; s < c->sides; s++)
            if (format_width(shown(d->value[s])) > width[s + 1])
                width[s + 1] = format_width(shown(d->value[s]));
    }
    all = 2 + width[0];
    for (size_t s = 0; s < c->sides; s++) all += 2 + width[s + 1];
    return all;
}

static void add_left(struct buf *line, const char *text, unsigned width) {
    unsigned w = format_width(text);
    buf_addf(line, "%s%*s", text, w < width ? (int)(width - w) : 0, "");
}

static void put_cells(struct format_page *p, enum format_tone tone, const char *first,
                      const char *const *cell, size_t cells, const unsigned *width) {
    struct buf line = {0};
    buf_add(&line, "  ");
    add_left(&line, first, width[0]);
    for (size_t s = 0; s < cells; s++) {
        buf_add(&line, "  ");
        add_left(&line, cell[s], s + 1 < cells ? width[s + 1] : 0);
    }
    format_line(p, tone, "%s", buf_text(&line));
    buf_free(&line);
}

/* Under the key, where one line does not hold the values of all. */
static void put_tall(struct format_page *p, const struct comparison *c,
                     const struct comparison_difference *d) {
    format_line(p, FORMAT_PLAIN, "  %s", d->key);
    for (size_t s = 0; s < c->sides; s++) {
        format_label(p, FORMAT_PLAIN, "");
        format_item(p, "%s:", c->side[s].label);
        format_words(p, shown(d->value[s]));
        format_end(p);
    }
}

static void put_scenarios(struct format_page *p, const struct comparison *c) {
    unsigned *width = mem_zalloc(c->sides + 1, sizeof *width);
    const char **cell = mem_zalloc(c->sides, sizeof *cell);
    bool wide = measure_keys(c, width) <= p->columns;
    format_label(p, FORMAT_HEADING, "Scenario");
    if (c->differences)
        format_item(p, "%zu key%s differ%s", c->differences, c->differences == 1 ? "" : "s",
                    c->differences == 1 ? "s" : "");
    else
        format_item(p, "no key differs");
    format_end(p);
    for (size_t s = 0; s < c->sides; s++) cell[s] = c->side[s].label;
    if (wide && c->differences) put_cells(p, FORMAT_PLAIN, "key", cell, c->sides, width);
    for (size_t i = 0; i < c->differences; i++) {
        for (size_t s = 0; s < c->sides; s++) cell[s] = shown(c->difference[i].value[s]);
        if (wide)
            put_cells(p, FORMAT_PLAIN, c->difference[i].key, cell, c->sides, width);
        else
            put_tall(p, c, &c->difference[i]);
    }
    free(cell);
    free(width);
}

/* ---- metrics ---- */

enum {
    LABEL_PAIR = 24,
    LABEL_SOME = 19,
    VALUE = 10,
    DELTA = 11,
    RELATIVE = 9,
    WORD = 8,
    NARROW = 9,
    INTERVAL = 22,
    WIDE = 100
};

static void add_right(struct buf *line, const char *text, unsigned columns) {
    unsigned w = format_width(text);
    buf_addf(line, "%*s%s", w < columns ? (int)(columns - w) : 1, "", text);
}

static void add_label(struct buf *line, const char *text, const struct format_page *p, unsigned columns) {
    char fit[128];
    buf_add(line, format_fit(text, columns, p->style->ascii, fit, sizeof fit));
}

/* As much as the longest takes, up to `most`; names that --all has asked for in full. */
static unsigned label_columns(const struct comparison *c, unsigned most) {
    unsigned columns = 0;
    for (size_t i = 0; i < c->metrics; i++) {
        unsigned w = format_width(c->metric[i].label);
        if (c->metric[i].main && w > most) w = most;
        if (w > columns) columns = w;
    }
    return columns;
}

static enum format_tone tone_of(const struct comparison_change *c) {
    if (c->noise != COMPARISON_BEYOND) return FORMAT_PLAIN;
    return c->direction == COMPARISON_IMPROVED   ? FORMAT_GOOD
           : c->direction == COMPARISON_WORSENED ? FORMAT_BAD
                                                 : FORMAT_PLAIN;
}

static void add_interval(struct buf *line, const struct comparison_change *c) {
    char text[96] = "--";
    if (!isnan(c->low))
        snprintf(text, sizeof text, "%s to %s", comparison_percent(c->low).text,
                 comparison_percent(c->high).text);
    add_right(line, text, INTERVAL);
}

/* One side against the baseline, with all that is known. */
static void put_pair(struct format_page *p, const struct comparison *c) {
    unsigned label = label_columns(c, LABEL_PAIR);
    bool wide = p->columns >= WIDE;
    struct buf line = {0};
    add_label(&line, "Metric", p, label);
    add_right(&line, c->side[0].label, VALUE);
    add_right(&line, c->side[1].label, VALUE);
    buf_addf(&line, "%*s%*s%*s%*s", DELTA + RELATIVE, "change", WORD, "", WORD, "noise", wide ? INTERVAL : 0,
             wide ? "95 % interval" : "");
    format_line(p, FORMAT_HEADING, "%s", buf_text(&line));
    for (size_t i = 0; i < c->metrics; i++) {
        const struct comparison_metric *m = &c->metric[i];
        const struct comparison_change *change = &m->change[1];
        buf_free(&line);
        add_label(&line, m->label, p, label);
        add_right(&line, comparison_cell(m->change[0].value, m).text, VALUE);
        add_right(&line, comparison_cell(change->value, m).text, VALUE);
        add_right(&line, comparison_delta(change->absolute, m).text, DELTA);
        add_right(&line, comparison_percent(change->relative).text, RELATIVE);
        add_right(&line, comparison_direction_word(change->direction), WORD);
        add_right(&line, comparison_noise_word(change->noise), WORD);
        if (wide) add_interval(&line, change);
        format_line(p, tone_of(change), "%s", buf_text(&line));
    }
    buf_free(&line);
}

/* "better" beyond noise, "better?" where that is not known, "noise" within it. */
static void add_word(struct buf *line, const struct comparison_change *c) {
    char word[16];
    bool certain = c->noise == COMPARISON_BEYOND || c->direction == COMPARISON_MISSING ||
                   c->direction == COMPARISON_SAME;
    snprintf(word, sizeof word, "%s%s", comparison_direction_word(c->direction), certain ? "" : "?");
    bool within = c->noise == COMPARISON_WITHIN && c->direction != COMPARISON_SAME;
    add_right(line, within ? "noise" : word, WORD);
}

/* Sides from `first` on, as many as fit, each against the baseline. */
static void put_some(struct format_page *p, const struct comparison *c, size_t first, size_t end) {
    unsigned label = label_columns(c, LABEL_SOME);
    struct buf line = {0};
    add_label(&line, "Metric", p, label);
    add_right(&line, c->side[0].label, NARROW);
    for (size_t s = first; s < end; s++) {
        add_right(&line, c->side[s].label, NARROW);
        add_right(&line, "change", RELATIVE);
        buf_addf(&line, "%*s", WORD, "");
    }
    format_line(p, FORMAT_HEADING, "%s", buf_text(&line));
    for (size_t i = 0; i < c->metrics; i++) {
        const struct comparison_metric *m = &c->metric[i];
        buf_free(&line);
        add_label(&line, m->label, p, label);
        add_right(&line, comparison_cell(m->change[0].value, m).text, NARROW);
        for (size_t s = first; s < end; s++) {
            add_right(&line, comparison_cell(m->change[s].value, m).text, NARROW);
            add_right(&line, comparison_percent(m->change[s].relative).text, RELATIVE);
            add_word(&line, &m->change[s]);
        }
        format_line(p, FORMAT_PLAIN, "%s", buf_text(&line));
    }
    buf_free(&line);
}

static void put_metrics(struct format_page *p, const struct comparison *c) {
    unsigned label = label_columns(c, LABEL_SOME), each = NARROW + RELATIVE + WORD;
    if (c->sides == 2) {
        put_pair(p, c);
        return;
    }
    size_t fit = p->columns > label + NARROW + each ? (p->columns - label - NARROW) / each : 1;
    for (size_t s = 1; s < c->sides; s += fit) {
        if (s > 1) format_line(p, FORMAT_PLAIN, "%s", "");
        put_some(p, c, s, s + fit < c->sides ? s + fit : c->sides);
    }
    format_line(p, FORMAT_PLAIN,
                "  noise: within noise   better?, worse?: whether within noise is not known");
}

/* ---- the end ---- */

static void put_notes(struct format_page *p, const struct comparison *c) {
    for (size_t i = 0; i < c->notes; i++) {
        format_label(p, FORMAT_PLAIN, i == 0 ? "Noise" : "");
        format_words(p, c->note[i]);
        format_end(p);
    }
}

static void put_check(struct format_page *p, const struct comparison *c) {
    if (!c->checked) return;
    struct buf words = {0};
    bool nothing = c->unheld > 0 && c->unheld == c->limits * (c->sides - 1);
    buf_add(&words, c->failures ? "FAILED:" : nothing ? "passed, nothing could be held:" : "passed:");
    for (size_t i = 0; i < c->limits; i++)
        buf_addf(&words, "%s %s %.4g %%", i ? "," : "", c->limit[i].metric, 100 * c->limit[i].most);
    format_label(p, c->failures ? FORMAT_BAD : FORMAT_GOOD, "Check");
    format_words(p, buf_text(&words));
    format_end(p);
    buf_free(&words);
    for (size_t i = 0; i < c->failures; i++) {
        format_label(p, FORMAT_BAD, "");
        format_words(p, c->failure[i]);
        format_end(p);
    }
}

void comparison_text(const struct comparison *c, const struct format_style *style, struct buf *out) {
    struct format_page page;
    format_page_init(&page, style, out);
    put_verdicts(&page, c);
    put_sides(&page, c);
    put_limits(&page, c);
    put_warnings(&page, c);
    put_scenarios(&page, c);
    if (c->metrics)
        put_metrics(&page, c);
    else
        format_line(&page, FORMAT_PLAIN, "There is no metric to compare.");
    put_notes(&page, c);
    put_check(&page, c);
}
