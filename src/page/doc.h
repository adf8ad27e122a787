/* A document as plain data: sections with paragraphs, headline figures, tables and charts in order. It is
 * built once and written as an HTML page, Markdown or plain text. All texts are copied and may be untrusted:
 * each form escapes them. One thread at a time.
 *
 * The page is one file of well-formed XML. It fetches nothing and runs only the script of doc_script(); it
 * supports light and dark screens, print, and widths from 360 pixels. */
#ifndef KVF_PAGE_DOC_H
#define KVF_PAGE_DOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "draw/format.h"
#include "draw/plot.h"

struct doc;
/* An empty document; the program ends when memory is exhausted. */
struct doc *doc_new(const char *title, const char *subtitle);
void doc_free(struct doc *d); /* takes NULL */

/* Whether the page gets a script for interaction: values at a shared cursor, zoom, series on and off,
 * sortable tables, links to a time. The page is complete without it. */
void doc_script(struct doc *d, bool on);

/* Links runs to pages beside this one, named by doc_run_page(): "sweep-run-12.html" for `stem` "sweep".
 * Without it runs are not links. */
void doc_run_pages(struct doc *d, const char *stem);
void doc_run_page(const char *stem, int64_t run_id, struct buf *out);
/* Calls take() for each run that a cell names, repeats included. */
void doc_runs(const struct doc *d, void (*take)(void *ctx, int64_t run_id), void *ctx);

/* Begins a section of level 1 (listed in the contents) to 3. It ends at the next section of the same or a
 * higher level. */
void doc_section(struct doc *d, unsigned level, const char *title);

/* The tone of a text; the words must carry the meaning too. */
enum doc_tone {
    DOC_PLAIN = FORMAT_PLAIN,
    DOC_GOOD = FORMAT_GOOD,
    DOC_WARN = FORMAT_WARN,
    DOC_BAD = FORMAT_BAD
};
void doc_text(struct doc *d, enum doc_tone tone, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* The one word and the sentence that open a report: "COMPLETED". */
void doc_verdict(struct doc *d, enum doc_tone tone, const char *word, const char *sentence);
/* A label with its value; consecutive facts form one list. Does nothing if the text is NULL or "". */
void doc_fact(struct doc *d, const char *label, const char *text);
/* Adds an item, which a terminal does not wrap, to the last block if that is the fact or verdict of this
 * label, else begins a fact. */
void doc_item(struct doc *d, const char *label, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* A sentence without its full stop: a paragraph "label: text." on a page, in a summary a line under the
 * label, whose colon is printed there only if it has one. Nothing for a text that is NULL or "". */
void doc_say(struct doc *d, enum doc_tone tone, const char *label, const char *text);
/* A headline figure with its label and a note; consecutive tiles form one band. */
void doc_tile(struct doc *d, const char *label, const char *value, const char *note);

/* A table: begin it, add its columns, then its cells row by row; the last row must be complete before the
 * next block. The first column names the row. A list of columns is separated by bars, with > for right
 * alignment: "tier|>used|>entries"; NULL is an empty list. "name@12" sets the width in a summary, which omits
 * columns without one. A NULL cell is missing, "--". */
void doc_table(struct doc *d, const char *caption, const char *columns);
void doc_columns(struct doc *d, const char *columns);
/* Adds one column, whose name may contain bars; `numbers`: aligned right. */
void doc_column(struct doc *d, const char *name, bool numbers);
void doc_cell(struct doc *d, const char *text);
/* Cells that link to the section of that title, and to the page of a run; run 0 is missing. */
void doc_cell_section(struct doc *d, const char *title);
void doc_cell_run(struct doc *d, int64_t run_id);
void doc_cell_tone(struct doc *d, enum doc_tone tone, const char *text);

/* Adds a chart, which the document then owns, with a table of its values. A chart without values becomes a
 * sentence. */
void doc_plot(struct doc *d, struct plot *p);
/* A preformatted text. */
void doc_code(struct doc *d, const char *text);
/* Content between the two is collapsed where the form supports it. It contains no section boundary and no
 * other fold.
 */
void doc_fold(struct doc *d, const char *title);
void doc_fold_end(struct doc *d);

/* Writes the document as the end of a command on a terminal: no headings, short labels, tables at their
 * natural width, each but the first with its caption. */
void doc_terminal(const struct doc *d, const struct format_style *style, struct buf *out);
/* Writes it as one screen: no empty lines, short labels, tables at the widths of their columns, without
 * captions. */
void doc_summary(const struct doc *d, const struct format_style *style, struct buf *out);

/* One table of forms drives --format, the help and the manual. */
struct doc_form {
    const char *name;   /* as --format has it */
    const char *suffix; /* default file extension */
    const char *help;   /* one phrase */
    bool page;          /* not for terminals */
    void (*write)(const struct doc *d, const struct format_style *style, struct buf *out);
};
extern const struct doc_form doc_forms[];
extern const size_t doc_form_count;
/* By its name, or by the extension of a file; NULL: none. */
const struct doc_form *doc_form_named(const char *name);
const struct doc_form *doc_form_of(const char *path);
void doc_forms_list(struct buf *out); /* a line for each: name, description, extension */

#endif
