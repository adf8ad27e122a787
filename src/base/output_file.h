/* Files that commands write. All of them are opened here, so that one rule holds for all: like the kernel's
 * protected_symlinks, a symbolic link that another user has put into a directory with the sticky bit, where
 * everybody may write, is not followed, wherever the system is set to follow it. Any thread. */
#ifndef KVF_BASE_OUTPUT_FILE_H
#define KVF_BASE_OUTPUT_FILE_H

#include <stdbool.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/err.h"

/* Whether it could be written, without making anything; a usage error when not. A file that is there may be
 * replaced with `overwrite` alone; a pipe or a device holds nothing that could be lost. */
int output_file_check(const char *path, bool overwrite, struct err *e);
/* Whether the links at `path` may be followed, for a file that is written by other means; a usage error when
 * not. */
int output_file_links(const char *path, struct err *e);

/* Whether two paths mean one file, or one that either would make. Devices hold nothing, so they never are. */
bool output_file_same(const char *a, const char *b);

/* Writes a temporary file beside `path` and renames it; what is replaced leaves its mode, and its owner where
 * that may be, to the new one. What is no ordinary file (a pipe, a device) is written as it is. 0 or
 * -KVF_ERR_IO / -KVF_ERR_NOSPACE; then `path` is as it was. */
int output_file_write(const char *path, const struct buf *text, struct err *e);
/* Removes the temporary file of a write that is under way, for a process that ends now. Safe in a signal
 * handler; one thread writes at a time. */
void output_file_abandon(void);

/* For what grows while it is written: a new file, or the old one emptied. `made`: it was not there. NULL with
 * an error of `code` that says "cannot create the <what> <path>". */
FILE *output_file_open(const char *path, const char *what, bool *made, enum err_code code, struct err *e);

/* Whether whoever may own st may be trusted to lead there: the rule above, for a link and its directory. */
struct stat;

#endif
