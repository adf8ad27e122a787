#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "draw/escape.h"
#include "draw/format.h"
#include "draw/spark.h"
#include "page/doc_inside.h"

enum { LABEL = 20, GAP = 2, NARROWEST = 10, LONG_CELL = 16 };

struct sheet_page {
    const struct format_style *style;
    unsigned columns;
    bool dense; /* doc_terminal() */
    struct buf *out;
};

/* Harmless, on one line; the caller frees it. */
static char *cleaned(const struct sheet_page *p, const char *text) {
    struct buf out = {0};
    escape_plain(text, false, p->style->ascii, &out);
    return out.data ? out.data : mem_strdup("");
}

/* A number and its unit stay together. */
static bool may_break(const char *text, size_t at) {
    return text[at] == ' ' && !(at && isdigit((unsigned char)text[at - 1]) && units_is_unit(text + at + 1));
}

/* Bytes of the beginning of a text that fit so many columns, cut at a space where there is one, and what is
 * between it and the rest. A text that fits is whole. */
static size_t line_len(const char *text, unsigned columns, size_t *skip) {
    size_t len = 0, space = 0;
    unsigned used = 0;
    *skip = 0;
    while (text[len] && used < columns) {
        if (may_break(text, len)) space = len;
        len++;
        while (((unsigned char)text[len] & 0xc0) == 0x80) len++;
        used++;
    }
    if (!text[len]) return len;
    if (may_break(text, len)) space = len;
    if (space == 0) return len;
    *skip = strspn(text + space, " ");
    return space;
}

static void pad(const struct sheet_page *p, unsigned columns) {
    buf_addf(p->out, "%*s", (int)columns, "");
}

/* A paragraph whose lines but the first are indented; the first begins at `column`. */
static void put_words(const struct sheet_page *p, const char *text, unsigned column, unsigned indent) {
    char *clean = cleaned(p, text);
    const char *rest = clean;
    for (bool first = true; *rest || first; first = false) {
        size_t skip;
        if (!first) pad(p, indent);
        unsigned from = first ? column : indent;
        size_t len = line_len(rest, p->columns > from + NARROWEST ? p->columns - from : NARROWEST, &skip);
        buf_bytes(p->out, rest, len);
        buf_add(p->out, "\n");
        rest += len + skip;
    }
    free(clean);
}

static void put_heading(const struct sheet_page *p, const char *text, char under) {
    char *clean = cleaned(p, text);
    unsigned width = format_width(clean);
    put_words(p, text, 0, 0);
    for (unsigned i = 0; under && i < width && i < p->columns; i++) buf_addf(p->out, "%c", under);
    if (under) buf_add(p->out, "\n");
    free(clean);
}

/* ---- tables ---- */

static const char *cell_text(const struct doc_block *b, size_t i) {
    return i < b->cells && b->cell[i].text ? b->cell[i].text : "--";
}

/* The columns of the longest word, none of which is broken. */
static unsigned longest_word(const char *text) {
    unsigned most = 0;
    while (*text) {
        size_t len = strcspn(text, " ");
        char *word = mem_strndup(text, len);
        unsigned width = format_width(word);
        if (width > most) most = width;
        free(word);
        text += len + strspn(text + len, " ");
    }
    return most;
}

/* The least that a column takes: words in one piece, and what goes with a number beside it as far as it is
 * short. */
static unsigned least_width(const struct doc_block *b, size_t c, char *const *text, size_t rows) {
    unsigned least = 0;
    for (size_t r = 0; r < rows; r++) {
        const char *cell = text[r * b->columns + c];
        unsigned w = r && b->numbers[c] ? format_width(cell) : longest_word(cell);
        if (w > least) least = w;
    }
    return least < LONG_CELL ? least : LONG_CELL;
}

/* Of a table that may be wider than the screen: narrow where that makes it fit. */
static unsigned gap_fit(const struct sheet_page *p, const struct doc_block *b, const unsigned *width) {
    size_t sum = 0;
    for (size_t c = 0; c < b->columns; c++) sum += width[c];
    size_t gaps = b->columns - 1;
    return sum + GAP * gaps > p->columns && sum + gaps <= p->columns ? GAP - 1 : GAP;
}

/* Columns give way, the widest of those that can first, until the table fits, at last the gaps between them.
 * Returns how wide those are. */
static unsigned widths_fit(const struct sheet_page *p, const struct doc_block *b, char *const *text,
                           size_t rows, unsigned *width) {
    unsigned *least = mem_zalloc(b->columns, sizeof *least), gap = p->dense ? gap_fit(p, b, width) : GAP;
    for (size_t c = 0; c < b->columns; c++)
        least[c] = !p->dense || (c > 0 && b->numbers[c]) ? least_width(b, c, text, rows)
                   : c == 0 || width[c] < LONG_CELL      ? width[c]
                                                         : LONG_CELL;
    for (;;) {
        unsigned sum = 0;
        size_t widest = b->columns;
        for (size_t c = 0; c < b->columns; c++) {
            sum += width[c] + (c ? gap : 0);
            if (width[c] > least[c] && (widest == b->columns || width[c] > width[widest])) widest = c;
        }
        if (sum > p->columns && widest == b->columns) gap = GAP - 1;
        if (sum <= p->columns || widest == b->columns) break;
        width[widest]--;
    }
    free(least);
    return gap;
}

/* Of a row: that of its most telling cell. */
static enum doc_tone row_tone(const struct doc_block *b, size_t row) {
    enum doc_tone tone = DOC_PLAIN;
    for (size_t i = (row - 1) * b->columns; i < b->cells && i < row * b->columns; i++)
        if (b->cell[i].tone > tone) tone = b->cell[i].tone;
    return tone;
}

/* A row of texts, as many lines as the longest of them needs. They are the caller's. */
static void put_cells(const struct sheet_page *p, const struct doc_block *b, char *const *text,
                      const unsigned *width, unsigned gap, enum format_tone tone) {
    size_t *at = mem_zalloc(b->columns, sizeof *at);
    bool more = true;
    while (more) {
        struct buf line = {0};
        unsigned column = 0, position = 0;
        more = false;
        for (size_t c = 0; c < b->columns; c++) {
            size_t skip, len = line_len(text[c] + at[c], width[c], &skip);
            char *piece = mem_strndup(text[c] + at[c], len);
            unsigned used = format_width(piece),
                     start = position + (b->numbers[c] && used < width[c] ? width[c] - used : 0);
            if (used) {
                buf_addf(&line, "%*s%s", (int)(start - column), "", piece);
                column = start + used;
            }
            position += width[c] + gap;
            at[c] += len + skip;
            if (text[c][at[c]]) more = true;
            free(piece);
        }
        format_coloured(p->style, p->dense ? tone : FORMAT_PLAIN, buf_text(&line), p->out);
        buf_add(p->out, "\n");
        buf_free(&line);
    }
    free(at);
}

/* A row of a table that is wider than the screen: its name, and below it each column with its value. */
static void put_record(const struct sheet_page *p, const struct doc_block *b, char *const *text, size_t row) {
    enum { INDENT = 2 };
    struct buf words = {0};
    for (size_t c = 1; c < b->columns; c++)
        buf_addf(&words, "%s%s%s%s", c > 1 ? ", " : "", text[c], *text[c] ? " " : "",
                 text[row * b->columns + c]);
    put_words(p, text[row * b->columns], 0, 0);
    buf_addf(p->out, "%*s", INDENT, "");
    put_words(p, buf_text(&words), INDENT, INDENT);
    buf_free(&words);
}

static void put_table(const struct sheet_page *p, const struct doc_block *b) {
    if (b->columns == 0) return;
    if (*b->title && !p->dense) put_words(p, b->title, 0, 0);
    size_t rows = 1 + (b->cells + b->columns - 1) / b->columns;
    unsigned *width = mem_zalloc(b->columns, sizeof *width);
    char **text = mem_zalloc(rows * b->columns, sizeof *text);
    for (size_t i = 0; i < rows * b->columns; i++) {
        size_t c = i % b->columns;
        text[i] = cleaned(p, i < b->columns ? b->column[i] : cell_text(b, i - b->columns));
        unsigned w = format_width(text[i]);
        if (w > width[c]) width[c] = w;
    }
    unsigned gap = widths_fit(p, b, text, rows, width);
    if (p->dense) gap = gap_fit(p, b, width);
    size_t sum = gap * (b->columns - 1);
    for (size_t c = 0; c < b->columns; c++) sum += width[c];
    for (size_t r = 0; r < rows; r++)
        if (p->dense && sum > p->columns && r)
            put_record(p, b, text, r);
        else if (!p->dense || sum <= p->columns)
            put_cells(p, b, text + r * b->columns, width, gap,
                      r ? (enum format_tone)row_tone(b, r) : FORMAT_HEADING);
    for (size_t i = 0; i < rows * b->columns; i++) free(text[i]);
    free(text);
    free(width);
}

/* ---- blocks ---- */

static void put_plot(const struct sheet_page *p, const struct plot *plot) {
    struct format_style style = *p->style;
    struct buf text = {0};
    style.columns = p->columns;
    put_words(p, plot->title, 0, 0);
    spark_plot(plot, &style, &text);
    buf_add(p->out, buf_text(&text));
    if (!text.len) {
        struct doc_block table;
        doc_plot_table(plot, &table);
        put_table(p, &table);
        buf_add(p->out, "\n");
        doc_block_free(&table);
    }
    if (*plot->caption) put_words(p, plot->caption, 0, 0);
    buf_add(p->out, "\n");
    buf_free(&text);
}

static void put_pair(const struct sheet_page *p, const char *label, const char *text, const char *note) {
    struct buf both = {0};
    char *clean = cleaned(p, label);
    unsigned width = format_width(clean);
    buf_add(&both, text);
    if (note && *note) buf_addf(&both, " (%s)", note);
    buf_add(p->out, clean);
    if (width < LABEL)
        pad(p, LABEL - width);
    else
        buf_add(p->out, "\n"), pad(p, LABEL);
    put_words(p, buf_text(&both), LABEL, LABEL);
    free(clean);
    buf_free(&both);
}

static void put_block(const struct sheet_page *p, const struct doc_block *b) {
    static const char under[] = {0, '=', '-', 0};
    switch (b->kind) {
    case DOC_SECTION:
        if (b->level == 1) buf_add(p->out, "\n");
        put_heading(p, b->title, under[b->level < 4 ? b->level : 3]);
        buf_add(p->out, "\n");
        break;
    case DOC_TEXT:
        put_words(p, b->text, 0, 0);
        buf_add(p->out, "\n");
        break;
    case DOC_VERDICT:
        put_pair(p, b->title, b->text, NULL);
        buf_add(p->out, "\n");
        break;
    case DOC_FACT:
    case DOC_TILE:
        put_pair(p, b->title, b->text, b->note);
        break;
    case DOC_TABLE:
        put_table(p, b);
        buf_add(p->out, "\n");
        break;
    case DOC_PLOT:
        put_plot(p, b->plot);
        break;
    case DOC_CODE:
        escape_plain(b->text, true, p->style->ascii, p->out);
        buf_add(p->out, "\n");
        break;
    case DOC_FOLD:
        put_heading(p, b->title, 0);
        buf_add(p->out, "\n");
        break;
    case DOC_FOLD_END:
        break;
    }
}

void doc_plain(const struct doc *d, const struct format_style *style, struct buf *out) {
    struct sheet_page p = {style, style->columns && style->columns < 80 ? style->columns : 80, false, out},
                      table = p; /* has all columns of a terminal; texts are read in lines of 80 */
    if (style->columns > 80) table.columns = style->columns;
    bool noted = false;
    put_heading(&p, d->title, '=');
    if (*d->subtitle) put_words(&p, d->subtitle, 0, 0);
    buf_add(out, "\n");
    for (size_t i = 0; i < d->blocks; i++) {
        const struct doc_block *b = &d->block[i];
        bool item = b->kind == DOC_FACT || b->kind == DOC_TILE;
        if (doc_block_line(b) && !noted) buf_add(out, SPARK_NOTE "\n\n");
        noted |= doc_block_line(b);
        put_block(b->kind == DOC_TABLE ? &table : &p, b);
        if (item && (i + 1 == d->blocks || d->block[i + 1].kind != b->kind)) buf_add(out, "\n");
    }
}

/* ---- dense ---- */

static bool is_pair(const struct doc_block *b) {
    return b->kind == DOC_FACT || b->kind == DOC_VERDICT;
}

/* Words that break anywhere, then items that do not; no colour for a label that is indented. */
static void put_fact(const struct sheet_page *p, const struct doc_block *b, bool again) {
    struct format_page page;
    bool toned = b->kind == DOC_VERDICT || b->tone != DOC_PLAIN;
    enum format_tone tone = toned ? (enum format_tone)b->tone : FORMAT_HEADING;
    format_page_init(&page, p->style, p->out);
    format_label(&page, *b->title == ' ' ? FORMAT_PLAIN : tone, again ? "" : b->title);
    format_words(&page, b->note ? b->note : b->text);
    for (size_t i = 0; i < b->cells; i++) format_item(&page, "%s", b->cell[i].text);
    format_end(&page);
}

void doc_terminal(const struct doc *d, const struct format_style *style, struct buf *out) {
    struct sheet_page p = {style, style->columns ? style->columns : 80, true, out};
    const struct doc_block *before = NULL;
    bool began = out->len > 0 && strcmp(buf_text(out), "\n") != 0; /* an empty line stands between the two */
    for (size_t i = 0; i < d->blocks; i++) {
        const struct doc_block *b = &d->block[i];
        if (b->kind == DOC_SECTION) continue;
        bool goes_on =
            before && ((is_pair(b) && is_pair(before)) || (b->kind == DOC_TEXT && before->kind == DOC_TEXT));
        if (!goes_on && (before || began)) buf_add(out, "\n");
        if (is_pair(b)) {
            put_fact(&p, b, goes_on && strcmp(before->title, b->title) == 0);
        } else if (b->kind == DOC_TABLE) {
            if (before && *b->title) put_words(&p, b->title, 0, 0);
            put_table(&p, b);
        } else if (b->kind == DOC_TEXT) {
            put_words(&p, b->text, 0, 0);
        } else {
            put_block(&p, b);
        }
        before = b;
    }
}

/* ---- a summary ---- */

/* A line of a table, the first being that of its headings. A name that is too long for its column stands in a
 * line of its own. */
static void put_line(const struct sheet_page *p, const struct doc_block *b, size_t line) {
    enum { INDENT = 2 };
    struct buf out = {0};
    unsigned at = 0, end = 0;
    for (size_t c = 0; c < b->columns; c++) {
        if (b->width[c] == 0) continue;
        char *text = cleaned(p, line ? cell_text(b, (line - 1) * b->columns + c) : b->column[c]);
        unsigned wide = format_width(text), start = c ? end + 1 : line ? INDENT : 0;
        end += b->width[c];
        if (!line && !c) text[0] = (char)toupper((unsigned char)text[0]);
        if (b->numbers[c]) start = end > wide ? end - wide : 0;
        if (start < at + (c > 0)) start = at + (c > 0);
        if (*text) buf_addf(&out, "%*s%s", (int)(start - at), "", text);
        if (*text) at = start + wide;
        if (c == 0 && at > end) {
            buf_add(&out, "\n");
            at = 0;
        }
        free(text);
    }
    if (out.len) {
        format_coloured(p->style, line ? (enum format_tone)row_tone(b, line) : FORMAT_HEADING, out.data,
                        p->out);
        buf_add(p->out, "\n");
    }
    buf_free(&out);
}

void doc_summary(const struct doc *d, const struct format_style *style, struct buf *out) {
    const struct sheet_page p = {style, 0, true, out};
    for (size_t i = 0; i < d->blocks; i++) {
        const struct doc_block *b = &d->block[i];
        if (b->kind != DOC_TABLE)
            put_fact(&p, b, false);
        else if (b->cells)
            for (size_t line = 0; line * b->columns < b->cells + b->columns; line++) put_line(&p, b, line);
    }
}
