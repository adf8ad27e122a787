/* Opening the files that a workload reads. */
#ifndef KVF_WORKLOAD_INPUT_H
#define KVF_WORKLOAD_INPUT_H

#include "base/err.h"

/* A descriptor of a regular file for reading from its start to its end; anything else, and a file
 * that cannot be opened, is -KVF_ERR_USAGE with `remedy` ("name a file of rows") in the sentence.
 * Never waits for the other end of a pipe. Any thread. */
int input_open(const char *path, const char *remedy, struct err *e);

#endif
