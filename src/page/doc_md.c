#include <string.h>

#include "draw/escape.h"
#include "draw/spark.h"
#include "page/doc_inside.h"

enum { COLUMNS = 90 };

/* A sign for a tone where there is no colour; cells say it in words already. */
static const char *sign(enum doc_tone tone) {
    return tone == DOC_BAD ? "**Problem:** " : tone == DOC_WARN ? "**Note:** " : "";
}

static void put_table(const struct doc_block *b, struct buf *out) {
    if (b->columns == 0) return;
    if (*b->title) {
        buf_add(out, "**");
        escape_markdown(b->title, out);
        buf_add(out, "**\n\n");
    }
    for (size_t c = 0; c < b->columns; c++) {
        buf_add(out, "| ");
        escape_markdown(b->column[c], out);
        buf_add(out, " ");
    }
    buf_add(out, "|\n");
    for (size_t c = 0; c < b->columns; c++) buf_add(out, b->numbers[c] ? "| ---: " : "| --- ");
    buf_add(out, "|\n");
    for (size_t i = 0; i < b->cells; i += b->columns) {
        for (size_t c = 0; c < b->columns; c++) {
            const char *text = i + c < b->cells ? b->cell[i + c].text : NULL;
            buf_add(out, "| ");
            escape_markdown(text ? text : "--", out);
            buf_add(out, " ");
        }
        buf_add(out, "|\n");
    }
    buf_add(out, "\n");
}

/* Not between fences: a reader that does not know them would take the text for markup. */
static void put_code(const char *text, struct buf *out) {
    buf_add(out, "<pre>\n");
    escape_xml(text, out);
    buf_add(out, *text && text[strlen(text) - 1] != '\n' ? "\n</pre>\n\n" : "</pre>\n\n");
}

static void put_plot(const struct plot *p, struct buf *out) {
    struct format_style style = {.columns = COLUMNS};
    struct buf text = {0};
    buf_add(out, "**");
    escape_markdown(p->title, out);
    buf_add(out, "**");
    if (*p->caption) {
        buf_add(out, " ");
        escape_markdown(p->caption, out);
    }
    buf_add(out, "\n\n");
    spark_plot(p, &style, &text);
    if (text.len) {
        put_code(buf_text(&text), out);
    } else {
        struct doc_block table;
        doc_plot_table(p, &table);
        put_table(&table, out);
        doc_block_free(&table);
    }
    buf_free(&text);
}

static void put_pair(const char *label, const char *text, struct buf *out) {
    buf_add(out, "- **");
    escape_markdown(label, out);
    buf_add(out, ":** ");
    escape_markdown(text, out);
}

static void put_block(const struct doc_block *b, struct buf *out) {
    switch (b->kind) {
    case DOC_SECTION:
        buf_addf(out, "%.*s ", (int)b->level + 1, "####");
        escape_markdown(b->title, out);
        buf_add(out, "\n\n");
        break;
    case DOC_TEXT:
        buf_add(out, sign(b->tone));
        escape_markdown(b->text, out);
        buf_add(out, "\n\n");
        break;
    case DOC_VERDICT:
        buf_add(out, "**");
        escape_markdown(b->title, out);
        buf_add(out, "** ");
        escape_markdown(b->text, out);
        buf_add(out, "\n\n");
        break;
    case DOC_FACT:
        put_pair(b->title, b->text, out);
        buf_add(out, "\n");
        break;
    case DOC_TILE:
        put_pair(b->title, b->text, out);
        if (*b->note) {
            buf_add(out, " (");
            escape_markdown(b->note, out);
            buf_add(out, ")");
        }
        buf_add(out, "\n");
        break;
    case DOC_TABLE:
        put_table(b, out);
        break;
    case DOC_PLOT:
        put_plot(b->plot, out);
        break;
    case DOC_CODE:
        put_code(b->text, out);
        break;
    case DOC_FOLD:
        buf_add(out, "**");
        escape_markdown(b->title, out);
        buf_add(out, "**\n\n");
        break;
    case DOC_FOLD_END:
        break;
    }
}

void doc_markdown(const struct doc *d, const struct format_style *style, struct buf *out) {
    bool noted = false;
    (void)style; /* of the terminal */
    buf_add(out, "# ");
    escape_markdown(d->title, out);
    buf_add(out, "\n\n");
    if (*d->subtitle) {
        escape_markdown(d->subtitle, out);
        buf_add(out, "\n\n");
    }
    for (size_t i = 0; i < d->blocks; i++) {
        const struct doc_block *b = &d->block[i];
        bool item = b->kind == DOC_FACT || b->kind == DOC_TILE;
        if (doc_block_line(b) && !noted) buf_add(out, SPARK_NOTE "\n\n");
        noted |= doc_block_line(b);
        put_block(b, out);
        if (item && (i + 1 == d->blocks || d->block[i + 1].kind != b->kind)) buf_add(out, "\n");
    }
}
