/* The commands of the program. Each takes its own name as argv[0] and returns the exit status: 0
 * done, 1 failed, 2 usage or scenario error, 3 an assessment failed, 130 and 143 stopped by a
 * signal. */
#ifndef KVF_CLI_COMMANDS_H
#define KVF_CLI_COMMANDS_H

#include "base/buf.h"
#include "base/err.h"
#include "report/sheet.h"
#include "report/report.h"

struct options;
struct ui_setup;

struct command_entry {
    const char *name;
    const char *arguments; /* as usage has them: "RUN [TAG]...", "[TEST|GROUP]..." */
    const char *help;      /* one line */
    int (*run)(int argc, char **argv);
};
size_t command_count(void);
const struct command_entry *command_at(size_t i);           /* in the order of the help */
const struct command_entry *command_find(const char *name); /* NULL: unknown */

int cmd_run(int argc, char **argv);
int cmd_suite(int argc, char **argv);
int cmd_sweep(int argc, char **argv);
int cmd_check(int argc, char **argv);
int cmd_models(int argc, char **argv);
int cmd_probe(int argc, char **argv);
int cmd_history(int argc, char **argv);
int cmd_show(int argc, char **argv);
int cmd_compare(int argc, char **argv);
int cmd_export(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_tag(int argc, char **argv);
int cmd_note(int argc, char **argv);
int cmd_delete(int argc, char **argv);
int cmd_prune(int argc, char **argv);
int cmd_clean(int argc, char **argv);
int cmd_vacuum(int argc, char **argv);
int cmd_merge(int argc, char **argv);
int cmd_sql(int argc, char **argv);
int cmd_schema(int argc, char **argv);
int cmd_complete(int argc, char **argv);
int cmd_watch(int argc, char **argv);
int cmd_validate(int argc, char **argv);

/* Says the error on standard error as "kvfall: sentence" and returns its exit status. */
int cli_fail(const struct err *e);
/* Writes to standard error what people read, cleaned for terminals. The caller ends the line. */
void cli_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Writes text for people to standard output, cleaned for terminals; whether it arrived is asked once, by
 * cli_finish(). */
void cli_print(const struct buf *text);
/* The same for a text whose parts are clean, between colours of ours. */
void cli_print_styled(const struct buf *text);
/* The same for what programs read: to the byte, unless standard output is a terminal. */
void cli_print_data(const struct buf *text);
/* Exit status of the program: `status`, or 1 with a sentence when standard output could not take
 * everything. */
int cli_finish(int status);
/* After a screen: a terminal that takes nothing for ten seconds more ends the program with `status`
 * instead of keeping it. */
void cli_bound_output(int status);
/* How a screen on standard output is to look: --theme, else light where COLORFGBG says that the
 * terminal is, else dark; mono by --no-color and NO_COLOR; ASCII as in cli_style(). 0 or
 * -KVF_ERR_USAGE. */
int cli_screen_style(const struct options *o, struct ui_setup *setup, struct err *e);
/* How standard output wants its text: colour on a terminal unless --no-color or NO_COLOR, ASCII
 * with --ascii or in a locale without UTF-8, the terminal's width. */
struct report_style cli_style(const struct options *o);
/* The form of a list: --json, --csv, else a table. 0, or -KVF_ERR_USAGE for both. */
int cli_form(const struct options *o, enum sheet_form *form, struct err *e);

#endif
