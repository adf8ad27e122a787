/* Opens the files that a workload reads. */
#ifndef KVF_WORKLOAD_INPUT_H
#define KVF_WORKLOAD_INPUT_H

#include "base/err.h"

/* Opens a regular file for sequential reading: a descriptor, which the caller closes. -KVF_ERR_USAGE, with
 * `remedy`
 * ("name a file of rows") in the sentence, for anything else and for a file that cannot be opened. Never
 * waits for the other end of a pipe. Any thread. */
int input_open(const char *path, const char *remedy, struct err *e);

#endif
