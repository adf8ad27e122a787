/* The program's output: sentences on standard error, results on standard output, both cleaned for terminals.
 * One thread at a time. */
#ifndef KVF_STUDY_OUTPUT_H
#define KVF_STUDY_OUTPUT_H

#include "base/buf.h"
#include "base/err.h"
#include "draw/format.h"
#include "draw/sheet.h"

struct options;
struct preferences;
struct ui_setup;

/* Prints an error on standard error as "kvfall: sentence" and returns its exit status. */
int output_fail(const struct err *e);
/* Writes text for people to standard error, cleaned for terminals. The caller ends the line. */
void output_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Writes text for people to standard output, cleaned for terminals. output_finish() checks for write errors.
 */
void output_print(const struct buf *text);
/* output_print() of a text with our own colours, wrapped to the columns of output_style(). */
void output_print_styled(const struct buf *text);
/* Writes text for programs: unchanged, unless standard output is a terminal. */
void output_print_data(const struct buf *text);
/* Writes a result as --json asks, to standard output for "-", else to the file, and frees it. Returns the
 * exit status: `status`, or that of a failed write after a success. */
int output_json(const char *path, struct buf *text, int status);
/* Flushes standard output. */
void output_flush(void);
/* Once, before any output: makes a pipe without a reader an ordinary write error. */
void output_start(void);
/* The exit status of the program: `status`, or 1 with a sentence when standard output did not take
 * everything. After a success a closed pipe ends the process by SIGPIPE, unless its parent ignores that. */
int output_finish(int status);
/* After a screen: a terminal that takes no output for ten seconds ends the program with `status`. */
void output_bound(int status);
/* The look of a screen on standard output: --theme, else KVFALL_THEME, else the user's file, else the
 * terminal's answer about its background (until then light if COLORFGBG says so, else dark); mono with
 * --no-color or NO_COLOR; ASCII as in output_style(). The preferences must outlive the setup. 0 or
 * -KVF_ERR_USAGE. */
int output_screen_style(const struct options *o, const struct preferences *p, struct ui_setup *setup,
                        struct err *e);
/* The style of standard output: colour on a terminal unless --no-color or NO_COLOR, ASCII with --ascii or in
 * a locale without UTF-8. The width is the terminal's, else COLUMNS, else 80. */
struct format_style output_style(const struct options *o);
/* Wraps text for people to the columns of output_style(). */
void output_narrow(struct buf *text);
/* The form of a list: --json, --csv, else a table. 0, or -KVF_ERR_USAGE for both. */
int output_form(const struct options *o, enum sheet_form *form, struct err *e);

#endif
