#include "page/doc.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "draw/axis.h"
#include "page/doc_inside.h"

struct doc *doc_new(const char *title, const char *subtitle) {
    struct doc *d = mem_zalloc(1, sizeof *d);
    d->title = mem_strdup(title);
    d->subtitle = mem_strdup(subtitle);
    return d;
}

void doc_block_free(struct doc_block *b) {
    for (size_t i = 0; i < b->columns; i++) free(b->column[i]);
    for (size_t i = 0; i < b->cells; i++) free(b->cell[i].text);
    free(b->column);
    free(b->numbers);
    free(b->width);
    free(b->cell);
    free(b->title);
    free(b->text);
    free(b->note);
    plot_free(b->plot);
    *b = (struct doc_block){0};
}

void doc_script(struct doc *d, bool on) {
    d->script = on;
}

void doc_free(struct doc *d) {
    if (!d) return;
    for (size_t i = 0; i < d->blocks; i++) doc_block_free(&d->block[i]);
    free(d->block);
    free(d->title);
    free(d->subtitle);
    free(d->stem);
    free(d);
}

static struct doc_block *add(struct doc *d, enum doc_kind kind) {
    mem_room(d->block, d->blocks, d->cap);
    struct doc_block *b = &d->block[d->blocks++];
    *b = (struct doc_block){.kind = kind};
    return b;
}

void doc_section(struct doc *d, unsigned level, const char *title) {
    struct doc_block *b = add(d, DOC_SECTION);
    b->level = level;
    b->title = mem_strdup(title);
}

/* The caller frees it. */
__attribute__((format(printf, 1, 0))) static char *printed(const char *fmt, va_list args) {
    va_list again;
    va_copy(again, args);
    int len = vsnprintf(NULL, 0, fmt, again);
    va_end(again);
    size_t size = len > 0 ? (size_t)len + 1 : 1;
    char *text = mem_zalloc(size, 1);
    if (len > 0) vsnprintf(text, size, fmt, args);
    return text;
}

void doc_text(struct doc *d, enum doc_tone tone, const char *fmt, ...) {
    struct doc_block *b = add(d, DOC_TEXT);
    va_list args;
    va_start(args, fmt);
    b->text = printed(fmt, args);
    va_end(args);
    b->tone = tone;
}

void doc_verdict(struct doc *d, enum doc_tone tone, const char *word, const char *sentence) {
    struct doc_block *b = add(d, DOC_VERDICT);
    b->tone = tone;
    b->title = mem_strdup(word);
    b->text = mem_strdup(sentence);
}

void doc_fact(struct doc *d, const char *label, const char *text) {
    if (!text || !*text) return;
    struct doc_block *b = add(d, DOC_FACT);
    b->title = mem_strdup(label);
    b->text = mem_strdup(text);
}

void doc_say(struct doc *d, enum doc_tone tone, const char *label, const char *text) {
    if (!text || !*text) return;
    doc_text(d, tone, "%s%s %s.", label, strchr(label, ':') ? "" : ":", text);
    d->block[d->blocks - 1].title = mem_strdup(label);
    d->block[d->blocks - 1].note = mem_strdup(text);
}

void doc_tile(struct doc *d, const char *label, const char *value, const char *note) {
    struct doc_block *b = add(d, DOC_TILE);
    b->title = mem_strdup(label);
    b->text = mem_strdup(value);
    b->note = mem_strdup(note);
}

static void block_column(struct doc_block *b, const char *name, bool numbers, unsigned width) {
    b->column = mem_realloc(b->column, (b->columns + 1) * sizeof *b->column);
    b->numbers = mem_realloc(b->numbers, (b->columns + 1) * sizeof *b->numbers);
    b->width = mem_realloc(b->width, (b->columns + 1) * sizeof *b->width);
    b->numbers[b->columns] = numbers;
    b->width[b->columns] = width;
    b->column[b->columns++] = mem_strdup(name);
}

static void block_cell(struct doc_block *b, enum doc_tone tone, const char *text) {
    mem_room(b->cell, b->cells, b->cell_cap);
    b->cell[b->cells++] = (struct doc_cell){.text = text ? mem_strdup(text) : NULL, .tone = tone};
}

/* The whole on a page, where semicolons stand between items. */
void doc_item(struct doc *d, const char *label, const char *fmt, ...) {
    struct doc_block *b = d->blocks ? &d->block[d->blocks - 1] : NULL;
    struct buf whole = {0};
    va_list args;
    va_start(args, fmt);
    char *item = printed(fmt, args);
    va_end(args);
    if (!b || (b->kind != DOC_FACT && b->kind != DOC_VERDICT) || strcmp(b->title, label) != 0) {
        b = add(d, DOC_FACT);
        b->title = mem_strdup(label);
        b->text = mem_strdup("");
    }
    if (!b->note) b->note = mem_strdup(b->text);
    size_t len = strlen(b->text);
    buf_addf(&whole, "%s%s%s", b->text, len == 0 ? "" : b->text[len - 1] == ':' ? " " : "; ", item);
    free(b->text);
    b->text = whole.data;
    block_cell(b, DOC_PLAIN, item);
    free(item);
}

void doc_column(struct doc *d, const char *name, bool numbers) {
    block_column(&d->block[d->blocks - 1], name, numbers, 0);
}

void doc_columns(struct doc *d, const char *columns) {
    for (bool more = true; more;) {
        bool numbers = *columns == '>';
        size_t len = strcspn(columns += numbers, "|");
        char *name = mem_strndup(columns, len), *width = strchr(name, '@');
        if (width) *width++ = '\0';
        block_column(&d->block[d->blocks - 1], name, numbers, width ? (unsigned)atoi(width) : 0);
        free(name);
        more = columns[len] == '|';
        columns += len + more;
    }
}

void doc_table(struct doc *d, const char *caption, const char *columns) {
    add(d, DOC_TABLE)->title = mem_strdup(caption);
    if (columns) doc_columns(d, columns);
}

void doc_cell(struct doc *d, const char *text) {
    block_cell(&d->block[d->blocks - 1], DOC_PLAIN, text);
}

void doc_cell_tone(struct doc *d, enum doc_tone tone, const char *text) {
    block_cell(&d->block[d->blocks - 1], tone, text);
}

void doc_cell_section(struct doc *d, const char *title) {
    struct doc_block *b = &d->block[d->blocks - 1];
    block_cell(b, DOC_PLAIN, title);
    b->cell[b->cells - 1].section = true;
}

void doc_cell_run(struct doc *d, int64_t run_id) {
    struct doc_block *b = &d->block[d->blocks - 1];
    char text[24];
    snprintf(text, sizeof text, "%" PRId64, run_id);
    block_cell(b, DOC_PLAIN, run_id > 0 ? text : NULL);
    b->cell[b->cells - 1].run = run_id;
}

void doc_run_pages(struct doc *d, const char *stem) {
    free(d->stem);
    d->stem = mem_strdup(stem);
}

void doc_run_page(const char *stem, int64_t run_id, struct buf *out) {
    buf_addf(out, "%s-run-%" PRId64 ".html", stem, run_id);
}

void doc_runs(const struct doc *d, void (*take)(void *ctx, int64_t run_id), void *ctx) {
    for (size_t i = 0; i < d->blocks; i++)
        for (size_t c = 0; c < d->block[i].cells; c++)
            if (d->block[i].cell[c].run > 0) take(ctx, d->block[i].cell[c].run);
}

void doc_plot(struct doc *d, struct plot *p) {
    if (plot_empty(p)) {
        doc_text(d, DOC_PLAIN, "%s: no values.", p->title);
        plot_free(p);
        return;
    }
    add(d, DOC_PLOT)->plot = p;
}

void doc_code(struct doc *d, const char *text) {
    add(d, DOC_CODE)->text = mem_strdup(text);
}

void doc_fold(struct doc *d, const char *title) {
    add(d, DOC_FOLD)->title = mem_strdup(title);
}

void doc_fold_end(struct doc *d) {
    add(d, DOC_FOLD_END);
}

/* ---- the figures of a chart ---- */

static void value_cell(struct doc_block *b, double v, const char *unit) {
    block_cell(b, DOC_PLAIN, isfinite(v) ? axis_value(v, unit).text : NULL);
}

/* With its sign, but for none. */
static void difference_cell(struct doc_block *b, double v, const char *unit) {
    struct buf text = {0};
    if (isfinite(v))
        buf_addf(&text, "%s%s", v >= 5e-4 ? "+" : "", axis_value(fabs(v) < 5e-4 ? 0 : v, unit).text);
    block_cell(b, DOC_PLAIN, text.len > 0 ? buf_text(&text) : NULL);
    buf_free(&text);
}

static void line_row(struct doc_block *b, const struct plot *p, const struct plot_line *l) {
    double low = NAN, high = NAN, sum = 0, last = NAN;
    size_t there = 0;
    for (size_t i = 0; i < l->count; i++) {
        if (!isfinite(l->y[i])) continue;
        low = fmin(low, l->y[i]);
        high = fmax(high, l->upper ? l->upper[i] : l->y[i]);
        last = l->y[i];
        sum += last;
        there++;
    }
    block_cell(b, DOC_PLAIN, *l->name ? l->name : p->y.label);
    value_cell(b, low, p->y.unit);
    value_cell(b, there ? sum / (double)there : NAN, p->y.unit);
    value_cell(b, high, p->y.unit);
    value_cell(b, last, p->y.unit);
}

void doc_plot_table(const struct plot *p, struct doc_block *out) {
    bool categories = p->kind == PLOT_BARS || p->kind == PLOT_HEAT;
    *out = (struct doc_block){.kind = DOC_TABLE, .title = mem_strdup("")};
    block_column(out, p->kind == PLOT_BARS ? p->x.label : "", false, 0);
    if (!categories) {
        static const char *const names[] = {"least", "mean of points", "most", "last"};
        for (size_t i = 0; i < 4; i++) block_column(out, names[i], true, 0);
        for (size_t k = 0; k < p->lines; k++) line_row(out, p, &p->line[k]);
        return;
    }
    bool across = p->kind == PLOT_HEAT; /* categories stand across, as they do in the chart */
    size_t columns = across ? p->categories : p->lines, rows = across ? p->lines : p->categories;
    for (size_t c = 0; c < columns; c++)
        block_column(out, across ? p->category[c] : p->line[c].name, true, 0);
    for (size_t r = 0; r < rows; r++) {
        block_cell(out, DOC_PLAIN, across ? p->line[r].name : p->category[r]);
        for (size_t c = 0; c < columns; c++) {
            const struct plot_line *l = &p->line[across ? r : c];
            size_t i = across ? c : r;
            double v = i < l->count ? l->y[i] : NAN;
            if (p->diverging)
                difference_cell(out, v, p->y.unit);
            else
                value_cell(out, v, p->y.unit);
        }
    }
}
