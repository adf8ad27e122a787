/* The commands of the program. Each takes its own name as argv[0] and returns the exit status: 0
 * done, 1 failed, 2 usage or scenario error, 3 an assessment failed, 130 and 143 stopped by a
 * signal. */
#ifndef KVF_CLI_COMMANDS_H
#define KVF_CLI_COMMANDS_H

#include "base/buf.h"
#include "base/err.h"
#include "draw/format.h"
#include "draw/sheet.h"

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

#endif
