#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "draw/format.h"
#include "draw/number.h"
#include "record/metric.h"
#include "ui/panel/columns.h"
#include "ui/panel/panels.h"
#include "ui/panel/parts.h"

enum { VERDICT, EVIDENCE, SECTIONS };

static const struct layout_section sections[SECTIONS] = {
    [VERDICT] = {.name = "verdict", .line = 0, .least_cols = 20, .rows = {1, 2, 3}, .urgency = {1, 3, 4}},
    [EVIDENCE] = {.name = "evidence", .line = 1, .least_cols = 20, .rows = {5}, .urgency = {2}, .grow = 1},
};

/* All of it one below the other, drawn from a row on, so that any part can be shown. */
struct page {
    struct pane pane;
    int first; /* row of the page at the pane's top */
    int rows;  /* so far */
};
enum { PAGE_MOST = 200, NAME_COLS = 34, VALUE_COLS = 12 };

static bool page_shows(const struct page *p) {
    return p->rows >= p->first && p->rows < p->first + p->pane.at.rows;
}

static void page_heading(struct page *p, const char *text) {
    if (p->rows > 0) p->rows++;
    /* not at the bottom, with nothing below it */
    bool last = p->rows - p->first == p->pane.at.rows - 1;
    if (page_shows(p) && !last) pane_text(&p->pane, p->rows - p->first, 0, TONE_HEADING, text);
    p->rows++;
}

/* Breaks a text into rows of the page. */
static void page_words(struct page *p, enum tone tone, const char *text) {
    struct canvas c;
    canvas_init(&c, PAGE_MOST, p->pane.at.cols, p->pane.canvas->style);
    struct pane whole = pane_whole(&c);
    int used = pane_wrap(&whole, 0, tone, text);
    for (int row = 0; row < used; row++, p->rows++)
        for (int col = 0; page_shows(p) && col < c.cols; col++) {
            const struct cell *cell = canvas_cell(&c, row, col);
            if (cell->ch) pane_glyph(&p->pane, p->rows - p->first, col, cell->tone, cell->ch);
        }
    canvas_free(&c);
}

static bool begins_with(const char *s, const char *head) {
    return strncmp(s, head, strlen(head)) == 0;
}

/* "gpu_demand_ms" is read as "gpu tier demand": its value has the unit, and the modelled GPU is no tier. */
static void evidence_name(const struct verdict_evidence *e, char *name, size_t len) {
    static const char *const units[] = {"_per_s", "_ms"};
    const char *rest = e->name, *whose = "";
    if (begins_with(rest, "compute_busy") || begins_with(rest, "compute_load"))
        rest += strlen("compute"), whose = "modelled GPU";
    if (begins_with(rest, "gpu_busy") || begins_with(rest, "gpu_demand"))
        rest += strlen("gpu"), whose = "gpu tier";
    if (begins_with(rest, "cpu_busy")) rest += strlen("cpu"), whose = "cpu tier";
    snprintf(name, len, "%s%s", whose, rest);
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (buf_ends_with(name, units[i])) name[strlen(name) - strlen(units[i])] = '\0';
    for (char *c = name; *c; c++)
        if (*c == '_') *c = ' ';
}

static void evidence_value(const struct verdict_evidence *e, char *value) {
    if (strcmp(e->unit, "ms") == 0)
        number_ms(e->value, value);
    else if (strcmp(e->unit, "B") == 0)
        number_bytes(e->value, value);
    else if (strcmp(e->unit, "1/s") == 0)
        snprintf(number_plain(e->value, value) + strlen(value), NUMBER - strlen(value), "/s");
    else if (buf_ends_with(e->name, "device_bytes_ratio"))
        snprintf(number_plain(e->value, value) + strlen(value), NUMBER - strlen(value), "x");
    else if (strcmp(e->name, VERDICT_BATCH_WAITING) == 0)
        number_plain(e->value, value);
    else
        number_percent(e->value, value);
}

/* Whether the sentence rests on it: what is about the thing that limits, and for want of room the sizes. */
static bool evidence_leads(const struct verdict *v, const char *name) {
    if (v->limited_by == VERDICT_NONE || v->limited_by >= VERDICT_UNKNOWN) return false;
    if (!isnan(verdict_value(v, VERDICT_BATCH_WAITING)))
        return begins_with(name, VERDICT_BATCH_WAITING) || begins_with(name, "compute");
    if (v->cause == VERDICT_CAUSE_CAPACITY)
        return begins_with(name, "capacity_miss") || begins_with(name, "working_set") ||
               begins_with(name, "tiers_hold");
    return begins_with(name, verdict_limit_name(v->limited_by));
}

/* The order in which the numbers are shown: the ones that the sentence rests on first. */
static void evidence_order(const struct verdict *v, size_t order[VERDICT_EVIDENCE]) {
    size_t n = 0;
    for (int leads = 1; leads >= 0; leads--)
        for (size_t i = 0; i < v->evidences; i++)
            if (evidence_leads(v, v->evidence[i].name) == leads) order[n++] = i;
}

/* Two columns of them where there is room, by column. */
static void page_evidence(struct page *p, const struct verdict *v) {
    int each = NAME_COLS + VALUE_COLS + 3, columns = p->pane.at.cols >= 2 * each ? 2 : 1;
    int rows = ((int)v->evidences + columns - 1) / columns;
    size_t order[VERDICT_EVIDENCE];
    evidence_order(v, order);
    for (int row = 0; row < rows; row++, p->rows++) {
        for (int k = 0; page_shows(p) && k < columns; k++) {
            size_t i = (size_t)(k * rows + row);
            char name[sizeof v->evidence[0].name], value[NUMBER];
            if (i >= v->evidences) continue;
            evidence_name(&v->evidence[order[i]], name, sizeof name);
            evidence_value(&v->evidence[order[i]], value);
            int names = columns == 1 ? p->pane.at.cols - VALUE_COLS : NAME_COLS;
            pane_clip(&p->pane, p->rows - p->first, k * each, names, TONE_NORMAL, name);
            pane_right(&p->pane, p->rows - p->first, k * each + names + VALUE_COLS, TONE_STRONG, value);
        }
    }
}

/* "57.2 % more", "88.8 % less" of its measure; "" where there was none of it. */
static void put_gain(const struct verdict_remedy *r, char *out, size_t len) {
    char share[NUMBER];
    bool less = r->estimate < r->now;
    out[0] = '\0';
    if (!(r->now > 0)) return;
    number_percent(fabs(r->estimate - r->now) / r->now, share);
    snprintf(out, len, "%s %s", share + strspn(share, " "), less ? "less" : "more");
}

static void page_remedies(struct page *p, const struct verdict *v) {
    char text[240], gain[NUMBER + 8];
    for (size_t i = 0; i < v->remedies; i++, p->rows++) {
        const struct verdict_remedy *r = &v->remedy[i];
        if (!page_shows(p)) continue;
        put_gain(r, gain, sizeof gain);
        int row = p->rows - p->first, cols = p->pane.at.cols - canvas_text_columns(gain) - 2;
        parts_remedy(&p->pane, r, cols, text, sizeof text);
        int col = pane_clip(&p->pane, row, 0, cols, TONE_STRONG, text) + 2;
        pane_text(&p->pane, row, col, TONE_DIM, gain);
    }
    if (v->remedies > 0) return;
    page_words(p, TONE_NORMAL, verdict_advice(v, text, sizeof text));
    if (verdict_no_estimate(v)) page_words(p, TONE_DIM, verdict_no_estimate(v));
}

/* Tier by tier below the first, which nothing is weighed against. */
static void page_break_even(struct page *p, const struct frame *f) {
    char text[360];
    int len = 0;
    for (int t = KVF_TIER_CPU; t < KVF_TIERS; t++) {
        struct metric_break_even b = parts_break_even(f, t);
        if (!kvf_present(b.tokens)) continue;
        len += snprintf(text + len, sizeof text - (size_t)len, "%s%s %s%s", len > 0 ? ", " : "",
                        tier_name((enum kvf_tier)t), format_break_even(&b).text, format_sizes_read(&b).text);
    }
    if (len == 0) return;
    page_heading(p, "Loading is quicker than recomputing");
    page_words(p, TONE_NORMAL, text);
}

static void page_fill(struct page *p, const struct frame *f) {
    const struct verdict *v = f->verdict;
    page_heading(p, "The sentence");
    page_words(p, TONE_STRONG, v ? v->sentence : f->snap ? f->snap->bottleneck : "--");
    if (!v || !v->known) {
        page_words(p, TONE_DIM, "For this moment only the sentence is stored.");
        page_break_even(p, f);
        return;
    }
    page_heading(p, "The rule");
    page_words(p, TONE_NORMAL, verdict_rule(v));
    page_heading(p, v->remedies > 0 ? "What would help (estimates)" : "What would help");
    page_remedies(p, v);
    if (v->warnings > 0) page_heading(p, "Warnings");
    for (size_t i = 0; i < v->warnings; i++) page_words(p, TONE_WARN, v->warning[i]);
    page_heading(p, "The numbers");
    page_evidence(p, v);
    page_break_even(p, f);
}

static void draw_evidence(const struct pane *p, const struct frame *f) {
    struct pane body = pane_part(p, 0, 1, -1, p->at.cols - 2);
    struct page all = {.pane = body, .first = PAGE_MOST};
    char place[80];
    if (pane_empty(&body)) return;
    page_fill(&all, f);
    bool scrolls = all.rows > body.at.rows && body.at.rows > 1;
    int rows = body.at.rows - (scrolls ? 1 : 0), most = all.rows > rows ? all.rows - rows : 0;
    int first = f->table.selected < most ? f->table.selected : most;
    if (first < 0) first = 0;
    if (f->list_end) *f->list_end = most;
    struct page shown = {.pane = pane_part(&body, 0, 0, rows, -1), .first = first};
    page_fill(&shown, f);
    if (!scrolls) return;
    snprintf(place, sizeof place, "%d-%d of %d rows; arrows move", first + 1, first + rows, all.rows);
    pane_clip(&body, rows, 0, body.at.cols, TONE_DIM, place);
}

static void draw(struct canvas *c, const struct rect *at, const struct frame *f) {
    struct pane verdict = pane_at(c, at[VERDICT]), evidence = pane_at(c, at[EVIDENCE]);
    parts_verdict(&verdict, f);
    draw_evidence(&evidence, f);
}

const struct panel_ops panel_evidence = {.name = "evidence",
                                         .title = "the numbers and the rule behind the verdict",
                                         .sections = sections,
                                         .section_count = SECTIONS,
                                         .list = true,
                                         .draw = draw};
