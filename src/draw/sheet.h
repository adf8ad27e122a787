/* Rows of values that a query found, as an aligned table, as CSV (RFC 4180) or as a JSON array of
 * objects. Keeps all rows until they are printed: the widths of a table depend on the last one. */
#ifndef KVF_DRAW_SHEET_H
#define KVF_DRAW_SHEET_H

#include <stdbool.h>

#include "base/buf.h"

enum sheet_form { SHEET_TABLE, SHEET_CSV, SHEET_JSON };
enum sheet_kind { SHEET_NULL, SHEET_NUMBER, SHEET_TEXT };

/* `fit`: a table takes that many columns: numbers have six digits, long texts are cut, and where that is not
 * enough each row is a list of names and values. 0: as wide as it is, and exact. Missing values are "--",
 * nothing, and null. A column of numbers stands to the right. */
struct sheet;
struct sheet *sheet_new(enum sheet_form form, bool ascii, unsigned fit);
void sheet_free(struct sheet *g); /* takes NULL */
/* All columns come before the first cell; a name that was there gets its number behind it. */
void sheet_column(struct sheet *g, const char *name);
/* The next cell of a row, whose text is copied; a number is one as JSON writes it, else it is
 * missing there. */
void sheet_cell(struct sheet *g, enum sheet_kind kind, const char *text);
/* A table without rows is its headings alone. */
void sheet_print(const struct sheet *g, struct buf *out);

/* A text as a field of a line of CSV, in quotes where it needs them: cleaned as for terminals, and with an
 * apostrophe before what a spreadsheet would take for a formula. */
void sheet_csv_text(const char *text, struct buf *out);

#endif
