/* Shared by the commands on stored runs: finding a run, asking before one is lost, and writing what
 * was made of it. */
#ifndef KVF_CLI_STORED_H
#define KVF_CLI_STORED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "record/trials.h"
#include "store/store.h"
#include "study/options.h"

/* store_open(), with warnings about the file. */
int stored_open_at(const char *path, enum store_mode mode, struct store **out, struct err *e);
/* Opens the database that the command line means. 0 with *out, the caller's to close. */
int stored_open(const struct options *o, enum store_mode mode, struct store **out, struct err *e);
/* The same for a command with a run as its first operand, which must exist, and its id. */
int stored_open_run(const struct options *o, enum store_mode mode, struct store **out, int64_t *run_id,
                    struct err *e);
/* The meaning of an operand: a run, or behind "sweep:" or "suite:" one of those; *ref is what stands behind.
 */
enum stored_kind { STORED_RUN, STORED_SWEEP, STORED_SUITE };
enum stored_kind stored_kind_of(const char *operand, const char **ref);
/* The sweep that is the only operand; NULL: there is none. Sweeps beside others are -KVF_ERR_USAGE. */
int stored_sweep_alone(const struct options *o, const char **ref, struct err *e);
/* The runs that the operands name (default: the latest), runs of a suite one by one. *ids is the caller's
 * to free, also after an error. */
int stored_runs(const struct options *o, struct store *s, int64_t **ids, size_t *count, struct err *e);

/* Adds the trials of the group that a trial belongs to, but one that still goes on is none yet. A run by
 * itself adds nothing. */
int stored_trials(struct store *s, const struct run_record *run, struct trials *out, struct err *e);

/* Asks on standard error and reads a line of standard input: yes, or no, as for no answer. */
bool stored_confirm(const char *question);

/* The file that --output names; NULL: standard output, also for "-". */
const char *stored_output(const struct options *o);
/* Whether it can be written, before anything is done: a file that is there only with --overwrite. */
int stored_output_check(const struct options *o, struct err *e);
/* Whether each of the files, NULL and "-" left out, is another one than those behind it and than what the
 * operands name, standard input where there are none. */
int stored_apart(const struct options *o, const char *const *file, size_t files, struct err *e);
/* Writes it, whole or not at all. */
int stored_output_write(const struct options *o, const struct buf *text, struct err *e);

#endif
