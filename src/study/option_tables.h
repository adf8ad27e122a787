/* The tables behind the command lines: the options of each command. Constant; any thread. */
#ifndef KVF_STUDY_OPTION_TABLES_H
#define KVF_STUDY_OPTION_TABLES_H

#include <stddef.h>

#include "study/options.h"

struct option_group {
    const char *title;
    const struct option_spec *options; /* ends with a nameless one */
};

enum { OPTION_GROUPS_MAX = 5 };
struct option_command {
    const char *name;
    size_t most_operands;
    const struct option_group *groups[OPTION_GROUPS_MAX];
};
const struct option_command *option_command_find(const char *name); /* NULL: unknown */

/* An option of a command by the first `len` bytes of its name, or by its letter; NULL: none. */
const struct option_spec *option_find(const struct option_command *c, const char *name, size_t len);
const struct option_spec *option_find_letter(const struct option_command *c, char letter);

/* The option lines of a command's help, or nothing for a command without a table. */
void options_help(const char *command, struct buf *out);
/* Whether an option of this name belongs to every command (--ascii, --no-color). */
bool options_common(const char *argument);

/* Appends a line for each value of an option whose values are a table: "csv: a row for each run". */
void option_choices(const struct option_spec *s, struct buf *out);

#endif
