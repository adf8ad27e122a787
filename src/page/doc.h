/* A document as plain data: sections that hold paragraphs, figures of merit, tables and charts in order. It
 * is built once and written as a page of HTML, as Markdown or as plain text. All texts are copied and may
 * come from anywhere: each form makes them harmless. One thread at a time.
 *
 * The page is one file, and well-formed XML, that fetches nothing and runs nothing but doc_script(); it
 * follows light and dark screens and paper, and reads from 360 pixels on. */
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

/* Whether a page has a script that adds to it what needs one: values at a shared cursor, zoom, series that
 * are switched, tables that are sorted, links to a time. Without it, or where none runs, all stands there. */
void doc_script(struct doc *d, bool on);

/* Pages of runs are files beside the page: "sweep-run-12.html" for `stem` "sweep", the name of the run's file
 * being that of doc_run_page(). Without it runs are no links. */
void doc_run_pages(struct doc *d, const char *stem);
void doc_run_page(const char *stem, int64_t run_id, struct buf *out);
/* The runs that cells name, each as often as it is. */
void doc_runs(const struct doc *d, void (*take)(void *ctx, int64_t run_id), void *ctx);

/* Begins a section, of level 1 (those of the table of contents) to 3; it ends where the next of its level or
 * a higher one begins. */
void doc_section(struct doc *d, unsigned level, const char *title);

/* The meaning of a text; words carry it too wherever it is used. */
enum doc_tone {
    DOC_PLAIN = FORMAT_PLAIN,
    DOC_GOOD = FORMAT_GOOD,
    DOC_WARN = FORMAT_WARN,
    DOC_BAD = FORMAT_BAD
};
void doc_text(struct doc *d, enum doc_tone tone, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* The one word and the sentence that open a report: "COMPLETED". */
void doc_verdict(struct doc *d, enum doc_tone tone, const char *word, const char *sentence);
/* A label and what stands behind it; those in a row make one list. Nothing for a text that is NULL or "". */
void doc_fact(struct doc *d, const char *label, const char *text);
/* Adds an item, which a terminal keeps on one line, to the fact or verdict of this label if that is the last
 * block, else begins a fact with it. */
void doc_item(struct doc *d, const char *label, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* A sentence without its full stop: a paragraph "label: text." on a page, in a summary a line under the
 * label, whose colon is printed there only if it has one. Nothing for a text that is NULL or "". */
void doc_say(struct doc *d, enum doc_tone tone, const char *label, const char *text);
/* A headline figure with its label and a few words under it; those in a row make one band. */
void doc_tile(struct doc *d, const char *label, const char *value, const char *note);

/* A table: begin, then its columns, then cells row after row; a row is whole when the next block begins. The
 * first column names its row. A list of columns has bars between their names, and > before one whose cells
 * stand to the right: "tier|>used|>entries"; NULL is an empty one. "name@12" takes so many columns of a
 * summary, which leaves out those without a width. A cell that is NULL is missing, "--". */
void doc_table(struct doc *d, const char *caption, const char *columns);
void doc_columns(struct doc *d, const char *columns);
/* A name from outside, in which a bar is no border; `numbers`: to the right. */
void doc_column(struct doc *d, const char *name, bool numbers);
void doc_cell(struct doc *d, const char *text);
/* Where the page can link: to the section of that title; to the page of a run. 0 is missing. */
void doc_cell_section(struct doc *d, const char *title);
void doc_cell_run(struct doc *d, int64_t run_id);
void doc_cell_tone(struct doc *d, enum doc_tone tone, const char *text);

/* Takes the chart over, with a table of its figures. One without values is a sentence that says so. */
void doc_plot(struct doc *d, struct plot *p);
/* A text of many lines as it is. */
void doc_code(struct doc *d, const char *text);
/* Content in between is folded away where the form can do that. No section begins or ends inside; folds do
 * not nest. */
void doc_fold(struct doc *d, const char *title);
void doc_fold_end(struct doc *d);

/* The end of a command on a terminal: no headings, facts under short labels, tables as wide as they are, each
 * but the first under its caption. */
void doc_terminal(const struct doc *d, const struct format_style *style, struct buf *out);
/* One screen: no empty lines, facts and sentences under short labels, tables in the widths of their columns,
 * without captions. */
void doc_summary(const struct doc *d, const struct format_style *style, struct buf *out);

/* One table of forms drives --format, the help and the manual. */
struct doc_form {
    const char *name;   /* as --format has it */
    const char *suffix; /* default ending of its files */
    const char *help;   /* one phrase */
    bool page;          /* nothing for a terminal */
    void (*write)(const struct doc *d, const struct format_style *style, struct buf *out);
};
extern const struct doc_form doc_forms[];
extern const size_t doc_form_count;
/* By its name, or by the ending of a file's; NULL: none. */
const struct doc_form *doc_form_named(const char *name);
const struct doc_form *doc_form_of(const char *path);
void doc_forms_list(struct buf *out); /* a line for each: name, description, ending of its files */

#endif
