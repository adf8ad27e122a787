/* The blocks of a document, for its writers. */
#ifndef KVF_PAGE_DOC_INSIDE_H
#define KVF_PAGE_DOC_INSIDE_H

#include "page/doc.h"

enum doc_kind {
    DOC_SECTION,
    DOC_TEXT,
    DOC_VERDICT,
    DOC_FACT,
    DOC_TILE,
    DOC_TABLE,
    DOC_PLOT,
    DOC_CODE,
    DOC_FOLD,
    DOC_FOLD_END
};

struct doc_cell {
    char *text;   /* NULL: missing */
    int64_t run;  /* that it names; 0: none */
    bool section; /* it names one */
    enum doc_tone tone;
};
struct doc_block {
    enum doc_kind kind;
    enum doc_tone tone;
    unsigned level; /* of a section */
    char *title, *text,
        *note;       /* title: heading, label, caption, word; note: a sentence, words before items */
    char **column;   /* names */
    bool *numbers;   /* by column */
    unsigned *width; /* by column, in a summary; 0: not there */
    size_t columns;
    struct doc_cell *cell; /* row after row; of a fact its items */
    size_t cells, cell_cap;
    struct plot *plot;
};

struct doc {
    char *title, *subtitle;
    bool script;
    char *stem; /* of the pages of runs; NULL: there are none */
    struct doc_block *block;
    size_t blocks, cap;
};

static inline bool doc_block_line(const struct doc_block *b) { /* a chart of lines */
    return b->kind == DOC_PLOT && (b->plot->kind == PLOT_LINES || b->plot->kind == PLOT_STACK);
}

/* The script of the page, made of page.js. */
extern const char page_script[];

/* The figures of a chart as a table block, for blind readers: of lines and stacks the least, the
 * mean, the most and the last value, of bars and heat maps all. The caller frees it with doc_block_free(). */
void doc_plot_table(const struct plot *p, struct doc_block *out);
void doc_block_free(struct doc_block *b);

/* Append the document in one form each; doc_forms has the table of them. */
void doc_page(const struct doc *d, const struct format_style *style, struct buf *out);
void doc_markdown(const struct doc *d, const struct format_style *style, struct buf *out);
void doc_plain(const struct doc *d, const struct format_style *style, struct buf *out);

#endif
