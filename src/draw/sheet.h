/* The rows of a query as an aligned table, as CSV (RFC 4180) or as a JSON array of objects. Keeps all rows
 * until they are printed, because the last row may widen the table. One thread at a time. */
#ifndef KVF_DRAW_SHEET_H
#define KVF_DRAW_SHEET_H

#include <stdbool.h>

#include "base/buf.h"

enum sheet_form { SHEET_TABLE, SHEET_CSV, SHEET_JSON };
enum sheet_kind { SHEET_NULL, SHEET_NUMBER, SHEET_TEXT };

/* `fit` is the width of a table in columns: numbers get six digits, long texts are cut, and where that is not
 * enough each row becomes a list of names and values. 0: as wide as needed, and exact. A missing value is
 * "--" in a table, empty in CSV and null in JSON. Columns of numbers are right-aligned. */
struct sheet;
struct sheet *sheet_new(enum sheet_form form, bool ascii, unsigned fit);
void sheet_free(struct sheet *g); /* takes NULL */
/* Adds a column; all come before the first cell. A name used before gets a number. */
void sheet_column(struct sheet *g, const char *name);
/* Adds the next cell of a row; copies the text. A number is written as in JSON, or else missing in JSON. */
void sheet_cell(struct sheet *g, enum sheet_kind kind, const char *text);
/* The same of a text, missing when it is empty, and of a number with all its digits, missing unless finite.
 */
void sheet_text(struct sheet *g, const char *text);
void sheet_number(struct sheet *g, double v);
/* Prints all rows. A table without rows has only its headings. */
void sheet_print(const struct sheet *g, struct buf *out);

/* Writes a text as a field of CSV, quoted where needed: cleaned as for terminals, and with an apostrophe
 * before a text that a spreadsheet would take for a formula. Any thread. */
void sheet_csv_text(const char *text, struct buf *out);

#endif
