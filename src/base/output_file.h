/* Output files of commands. All are opened here, so that one rule holds for all: a symbolic link that another
 * user has put into a sticky, world-writable directory is not followed, even where the kernel's
 * protected_symlinks is off. Any thread. */
#ifndef KVF_BASE_OUTPUT_FILE_H
#define KVF_BASE_OUTPUT_FILE_H

#include <stdbool.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/err.h"

/* Checks that `path` can be written, and creates nothing: 0 or -KVF_ERR_USAGE. An existing file needs
 * `overwrite`; a pipe or a device does not, as it holds nothing that could be lost. */
int output_file_check(const char *path, bool overwrite, struct err *e);
/* Checks the rule above for the links at `path`, for a file that is written by other means: 0 or
 * -KVF_ERR_USAGE. */
int output_file_links(const char *path, struct err *e);

/* Whether two paths name one file, existing or not. Devices hold nothing and are never the same. */
bool output_file_same(const char *a, const char *b);

/* Writes a temporary file beside `path` and renames it. The new file keeps the mode of the one it replaces,
 * and its owner where permitted. A pipe or a device is written directly. 0, or -KVF_ERR_IO or
 * -KVF_ERR_NOSPACE; then `path` is unchanged. */
int output_file_write(const char *path, const struct buf *text, struct err *e);
/* Removes the temporary file of a write in progress, for a process that ends now. Safe in a signal handler;
 * one thread writes at a time. */
void output_file_abandon(void);

/* Opens a file that grows while it is written: creates it (*made) or empties it. The caller closes it. NULL
 * with an error of `code` that says "cannot create the <what> <path>". */
FILE *output_file_open(const char *path, const char *what, bool *made, enum err_code code, struct err *e);

#endif
