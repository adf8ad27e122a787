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

/* Says the error on standard error as "kvfall: sentence" and returns its exit status. */
int output_fail(const struct err *e);
/* Writes to standard error what people read, cleaned for terminals. The caller ends the line. */
void output_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Writes text for people to standard output, cleaned for terminals; whether it arrived is asked once, by
 * output_finish(). */
void output_print(const struct buf *text);
/* The same for a text with colours of ours, its lines no wider than output_style() has columns. */
void output_print_styled(const struct buf *text);
/* The same for what programs read: to the byte, unless standard output is a terminal. */
void output_print_data(const struct buf *text);
/* Hands over all that was printed so far, before more is done. */
void output_flush(void);
/* Once, before anything is written: a pipe without a reader is an error of a write like others. */
void output_start(void);
/* Exit status of the program: `status`, or 1 with a sentence when standard output could not take everything.
 * After a success a reader that has gone ends the process by SIGPIPE, unless its parent ignores that. */
int output_finish(int status);
/* After a screen: a terminal that takes nothing for ten seconds more ends the program with `status`
 * instead of keeping it. */
void output_bound(int status);
/* How a screen on standard output is to look and begin: --theme, else KVFALL_THEME, else the user's own file,
 * else as the terminal answers to the question for its background, before that light where COLORFGBG says so,
 * else dark; mono by --no-color and NO_COLOR; ASCII as
 * in output_style(). The preferences outlive the setup. 0 or -KVF_ERR_USAGE. */
int output_screen_style(const struct options *o, const struct preferences *p, struct ui_setup *setup,
                        struct err *e);
/* How standard output wants its text: colour on a terminal unless --no-color or NO_COLOR, ASCII
 * with --ascii or in a locale without UTF-8. The width is the terminal's, else that of COLUMNS, else 80. */
struct format_style output_style(const struct options *o);
/* Of text for people: breaks lines that are wider than output_style() has columns. */
void output_narrow(struct buf *text);
/* The form of a list: --json, --csv, else a table. 0, or -KVF_ERR_USAGE for both. */
int output_form(const struct options *o, enum sheet_form *form, struct err *e);

#endif
