/* Files that commands write: whole or not at all. */
#ifndef KVF_CLI_OUTPUT_FILE_H
#define KVF_CLI_OUTPUT_FILE_H

#include "base/buf.h"
#include "base/err.h"

/* Whether it could be written, without making anything; a usage error when not. */
int output_file_check(const char *path, struct err *e);

/* Writes a temporary file beside `path` and renames it; what is no ordinary file (a pipe, a device)
 * is written as it is. 0 or -KVF_ERR_IO / -KVF_ERR_NOSPACE; then `path` is as it was. */
int output_file_write(const char *path, const struct buf *text, struct err *e);

#endif
