/* Helpers of the commands on stored runs: finding a run, asking before one is deleted, writing the output.
 * Main thread only. Functions that take an err return 0 or a negative code. */
#ifndef KVF_CLI_STORED_H
#define KVF_CLI_STORED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "record/trials.h"
#include "store/store.h"
#include "study/options.h"

/* store_open(), which also prints warnings about the file. */
int stored_open_at(const char *path, enum store_mode mode, struct store **out, struct err *e);
/* Opens the database of the command line; the caller closes *out. */
int stored_open(const struct options *o, enum store_mode mode, struct store **out, struct err *e);
/* Opens it for a command whose first operand is an existing run, and resolves that to its id. */
int stored_open_run(const struct options *o, enum store_mode mode, struct store **out, int64_t *run_id,
                    struct err *e);
/* The kind of an operand: a run, or after "sweep:" or "suite:" one of those; *ref is the rest of it. */
enum stored_kind { STORED_RUN, STORED_SWEEP, STORED_SUITE };
enum stored_kind stored_kind_of(const char *operand, const char **ref);
/* The sweep that is the only operand, in *ref; NULL: none. A sweep beside other operands is -KVF_ERR_USAGE.
 */
int stored_sweep_alone(const struct options *o, const char **ref, struct err *e);
/* The ids of the operands' runs (default: the latest), with each run of a suite. The caller frees *ids, also
 * after an error. */
int stored_runs(const struct options *o, struct store *s, int64_t **ids, size_t *count, struct err *e);

/* Adds the finished trials of the group of a trial; nothing for a run without trials. */
int stored_trials(struct store *s, const struct run_record *run, struct trials *out, struct err *e);

/* Asks on standard error and reads the answer from standard input; anything but yes is false. */
bool stored_confirm(const char *question);

/* The file of --output; NULL: standard output, also for "-". */
const char *stored_output(const struct options *o);
/* Checks beforehand that it can be written; an existing file needs --overwrite. */
int stored_output_check(const struct options *o, struct err *e);
/* Checks that the files (NULL and "-" do not count) differ from each other and from the files of the
 * operands, or from standard input without operands. */
int stored_apart(const struct options *o, const char *const *file, size_t files, struct err *e);
/* Writes the output file, completely or not at all. */
int stored_output_write(const struct options *o, const struct buf *text, struct err *e);

#endif
