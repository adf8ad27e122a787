/* A workbook (Office Open XML, .xlsx) that is filled page by page, from left to right and from top to bottom.
 * Only the current row is in memory. Missing values are empty cells. One thread. */
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

/* Runs `fill` in a child process, because the library crashes without memory. Returns what the child adds to
 * `out` and its error; a child ended by a signal is -KVF_ERR_NOMEM. Only in a process of one thread. */
int book_apart(int (*fill)(const void *ctx, struct buf *out, struct err *e), const void *ctx, struct buf *out,
               struct err *e);

/* `created_s`, since the epoch, is the date that it bears: the same content makes the same bytes. 0, or
 * -KVF_ERR_IO where its temporary files cannot be made; then there is nothing to free. */
int book_open(struct book *b, double created_s, struct err *e);
/* Appends the whole file to `out` and frees the book. 0, or -KVF_ERR_NOSPACE where the temporary files have
 * no room, which the library does not check itself. */
int book_close(struct book *b, struct buf *out, struct err *e);

/* Begins a page, after the one before is filled. It prints in landscape, as wide as the paper, with its name
 * and number at the foot. 0 or -KVF_ERR_IO. */
int book_begin(struct book_page *p, struct book *b, const char *name, struct err *e);
/* The first page: the others by name, with what is on them, as links. */
struct book_entry {
    const char *name, *what;
};
int book_index(struct book *b, const char *title, const struct book_entry *entry, size_t count,
               struct err *e);
/* Fills the next cell. Texts are cleaned for XML and cut at the size of a cell. */
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
/* The style of a metric by its unit; a plain number is a count or a ratio. */
enum book_style book_unit_style(const char *unit, double v);
/* Width of a column in characters. */
void book_width(struct book_page *p, unsigned column, unsigned characters);
/* Ends a page: its first row and the columns up to `column` stay visible and repeat on every printed sheet;
 * rows can be filtered. */
void book_freeze(struct book_page *p, unsigned column);
/* Printed on one sheet of paper. */
void book_one_sheet(struct book_page *p);

#endif
