/* A workbook (Office Open XML, .xlsx) that is filled page by page, from left to right and from top to bottom;
 * nothing of it stays in memory but the row in hand. Missing values are empty cells. One thread. */
#ifndef KVF_EXPORT_BOOK_H
#define KVF_EXPORT_BOOK_H

#include <stdbool.h>
#include <stdint.h>

#include <xlsxwriter.h>

#include "base/buf.h"
#include "base/err.h"

enum book_style {
    BOOK_PLAIN,
    BOOK_HEAD, /* of a column of texts */
    BOOK_HEAD_NUMBER,
    BOOK_LABEL, /* of a row */
    BOOK_WRAP,  /* a sentence */
    BOOK_COUNT, /* 12,345 */
    BOOK_TENTH, /* 12,345.6 */
    BOOK_MILLI, /* 12,345.678 */
    BOOK_RATIO, /* 0.1234 */
    BOOK_TIME,  /* 2026-11-22 14:05:06 */
    BOOK_GOOD,
    BOOK_BAD,
    BOOK_DIFFERS, /* from the other runs */
    BOOK_LINK,
    BOOK_STYLES
};
enum { BOOK_ROWS_MAX = 1048576 }; /* of a page, in Excel */

struct book {
    lxw_workbook *workbook;
    lxw_format *style[BOOK_STYLES];
    int file;       /* in memory */
    uint64_t bytes; /* that its cells take in temporary files, about */
};
struct book_page {
    struct book *book;
    lxw_worksheet *sheet;
    lxw_row_t row;
    lxw_col_t column, columns; /* the most of a row so far */
};

/* Runs `fill` in a process of its own: the library goes on with a null pointer where it finds no memory, and
 * its signal must not be ours. What it adds to `out`, and its error, come back; a child that a signal ends is
 * -KVF_ERR_NOMEM. For a process of one thread. */
int book_apart(int (*fill)(const void *ctx, struct buf *out, struct err *e), const void *ctx, struct buf *out,
               struct err *e);

/* `created_s`, since the epoch, is the date that it bears: the same content makes the same bytes. 0, or
 * -KVF_ERR_IO where its temporary files cannot be made; then there is nothing to free. */
int book_open(struct book *b, double created_s, struct err *e);
/* Adds the whole file to `out`, and frees the book. -KVF_ERR_NOSPACE where the temporary files have no room:
 * the library does not look at what becomes of its writes to them. */
int book_close(struct book *b, struct buf *out, struct err *e);

/* A page, which others may follow once it is filled. Printed it lies across, is as wide as the paper, and has
 * its name and number at the foot. -KVF_ERR_IO as above. */
int book_begin(struct book_page *p, struct book *b, const char *name, struct err *e);
/* The first page: the others by name, with what is on them, as links. */
struct book_entry {
    const char *name, *what;
};
int book_index(struct book *b, const char *title, const struct book_entry *entry, size_t count,
               struct err *e);
/* The next cell. Texts that are none in XML are cleaned, and cut at what a cell holds. */
void book_text(struct book_page *p, enum book_style style, const char *text);
void book_number(struct book_page *p, enum book_style style, double v);
void book_count(struct book_page *p, enum book_style style, uint64_t v);
void book_flag(struct book_page *p, enum book_style style, bool v);
void book_time(struct book_page *p, double epoch_s);
void book_skip(struct book_page *p);
void book_next_row(struct book_page *p);
/* A row as high as a text of `length` takes in a column of `width` characters: not every spreadsheet sees to
 * it. */
void book_next_row_high(struct book_page *p, size_t length, unsigned width);
/* The style of a measure in its unit; a plain number is a count or a ratio. */
enum book_style book_unit_style(const char *unit, double v);
/* Width of a column in characters. */
void book_width(struct book_page *p, unsigned column, unsigned characters);
/* Ends a page: its first row and columns up to `column` stay in sight and are on every sheet of paper, and
 * rows can be filtered. */
void book_freeze(struct book_page *p, unsigned column);
/* Printed on one sheet of paper. */
void book_one_sheet(struct book_page *p);

#endif
