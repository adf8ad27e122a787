/* The text summary: numbers as people read them, "--" for missing data, and lines that wrap at the width of
 * the screen. One thread at a time for each buffer. */
#ifndef KVF_DRAW_FORMAT_H
#define KVF_DRAW_FORMAT_H

#include <stdbool.h>

#include "base/buf.h"
#include "record/run.h"

/* The look of text for people. */
struct format_style {
    bool colour;      /* ANSI colours; never the only cue */
    bool ascii;       /* no characters beyond ASCII */
    unsigned columns; /* 0: 80 */
};

enum format_tone { FORMAT_PLAIN, FORMAT_HEADING, FORMAT_GOOD, FORMAT_WARN, FORMAT_BAD };

/* A short text by value, so that several fit into one call of printf. */
struct format_cell {
    char text[40];
};
struct format_cell format_ms(double ms);       /* "42.0 ms" */
struct format_cell format_bytes(double bytes); /* "1.25 GiB" */
struct format_cell format_count(double n);     /* exact below 100,000, else "145k" */
struct format_cell format_things(double n, const char *one, const char *many); /* "1 user", "44 users" */
/* From where on loading beats computing again: "from 912 tokens on", "from at most 128 tokens on" where all
 * sizes read do, "not up to 8192 tokens" where the largest does not; "always" and "never" of runs that do not
 * know what sizes they read. */
struct format_cell format_break_even(const struct metric_break_even *b);
/* The sizes that it holds for: " (of 128 to 8192 read)"; "" where they are not known. */
struct format_cell format_sizes_read(const struct metric_break_even *b);
struct format_cell format_exact(double n);       /* every digit, in groups: "12,031" */
struct format_cell format_tok_s(double v);       /* tokens/s, in three digits everywhere: "1.40k" */
struct format_cell format_rate(double v);        /* two decimals, for GiB/s */
struct format_cell format_seconds(double s);     /* as format_ms */
struct format_cell format_percent(double ratio); /* "97.2 %" */
struct format_cell format_times(double ratio);   /* "1.02x" */
/* The word for how a run or a sweep stands, "COMPLETED", wherever it heads a page, a summary or the screen,
 * and its tone. Constant. */
const char *format_status(enum run_status status, enum format_tone *tone);

/* A metric in its unit, "12.4k tok/s"; ratios and shares, which have none, as percent. */
struct format_cell format_measure(double v, const char *unit, const char *metric);

unsigned format_width(const char *text); /* columns it takes: its characters */
/* Fits a text to exactly `columns`: padded with spaces, or cut with an ellipsis. Returns `out`. */
char *format_fit(const char *text, unsigned columns, bool ascii, char *out, size_t len);

/* Breaks lines wider than `columns` between their columns, or else between words. The rest stands under the
 * second column, at most in the middle of the line. Colour sequences have no width. */
void format_narrow(const char *text, unsigned columns, struct buf *out);

/* Appends a text, in its colour where the style has colours. */
void format_coloured(const struct format_style *style, enum format_tone tone, const char *text,
                     struct buf *out);
enum { FORMAT_LABEL = 12 }; /* columns of the label that opens a line */

/* Lines of a label and items; an item that does not fit goes to the next line, under the first. Text from
 * outside loses its control characters and, in ASCII style, everything that is not ASCII. */
struct format_page {
    struct buf *out;
    const struct format_style *style;
    unsigned columns; /* of the screen */
    unsigned column;  /* used of the line under way */
    bool fresh;       /* nothing but the label is on this line */
};
/* Begins a page; both pointers must outlive it. */
void format_page_init(struct format_page *p, const struct format_style *style, struct buf *out);
void format_label(struct format_page *p, enum format_tone tone, const char *label); /* begins a line */
void format_item(struct format_page *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void format_words(struct format_page *p, const char *sentence); /* wraps at spaces */
void format_end(struct format_page *p);                         /* ends the line */
/* Writes a whole line without wrapping, for tables. */
void format_line(struct format_page *p, enum format_tone tone, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#endif
