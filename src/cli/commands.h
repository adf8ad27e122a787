/* The commands of the program and their exit statuses: 0 done, 1 failed, 2 usage or scenario error, 3 an
 * assessment failed, 130 and 143 stopped by a signal. Main thread only. */
#ifndef KVF_CLI_COMMANDS_H
#define KVF_CLI_COMMANDS_H

#include "base/buf.h"
#include "base/err.h"
#include "draw/format.h"
#include "draw/sheet.h"
#include "study/options.h"

/* A command's answer for standard output, and the function that writes it: output_print() by default. */
struct command_reply {
    struct buf text;
    void (*print)(const struct buf *text);
};
/* Carries out a command: 0, an exit status that was explained already, or a negative code with *e. The reply
 * is printed in any case. */
typedef int command_act(const struct options *o, struct command_reply *r, struct err *e);

/* Parses the command line, carries it out and prints the reply; returns the exit status. */
int command_answer(command_act *act, int argc, char **argv);

struct command_entry {
    const char *name;
    const char *arguments; /* as usage has them: "RUN [TAG]...", "[TEST|GROUP]..." */
    const char *help;      /* one line */
    int (*run)(int argc,
               char **argv); /* with its own name as argv[0]: the exit status; NULL: it has an act */
    command_act *act;
};
size_t command_count(void);                                 /* of the table */
const struct command_entry *command_at(size_t i);           /* in the order of the help */
const struct command_entry *command_find(const char *name); /* NULL: unknown */

/* Commands with more than one reply: argv[0] is the name; return the exit status. */
int cmd_run(int argc, char **argv);
int cmd_suite(int argc, char **argv);
int cmd_sweep(int argc, char **argv);
int cmd_plan(int argc, char **argv);
int cmd_complete(int argc, char **argv);
int cmd_watch(int argc, char **argv);
command_act cmd_check, cmd_models, cmd_probe, cmd_history, cmd_show, cmd_compare, cmd_export, cmd_report,
    cmd_tag, cmd_note, cmd_delete, cmd_prune, cmd_clean, cmd_vacuum, cmd_merge, cmd_sql, cmd_schema,
    cmd_config, cmd_validate, cmd_trace, cmd_record;

#endif
