/* What the commands on stored runs have in common: finding a run, and asking before one is lost. */
#ifndef KVF_CLI_STORED_H
#define KVF_CLI_STORED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "cli/options.h"
#include "store/store.h"

/* Opens the database that the command line means. 0 with *out, the caller's to close. */
int stored_open(const struct options *o, enum store_mode mode, struct store **out, struct err *e);
/* The same for a command whose first operand is a run, which must be there, and its id. */
int stored_open_run(const struct options *o, enum store_mode mode, struct store **out, int64_t *run_id,
                    struct err *e);
/* Asks on standard error and reads a line of standard input: yes, or no, as for no answer. */
bool stored_confirm(const char *question);

#endif
