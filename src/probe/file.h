/* Small files of /proc and /sys, read whole. Any thread. */
#ifndef KVF_PROBE_FILE_H
#define KVF_PROBE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The text of the file root + path, NUL-terminated, which the caller frees; NULL when it cannot be read. */
char *file_text(const char *root, const char *path);
/* Its first line without the newline; false (out "") when there is none. */
bool file_line(const char *root, const char *path, char *out, size_t len);
/* The number that is the whole content of a file; false when it is no number ("max"). */
bool file_number(const char *root, const char *path, uint64_t *out);
/* The number after `key` at the beginning of a line of `text` ("MemTotal:"); false when absent. */
bool file_keyed(const char *text, const char *key, uint64_t *out);

#endif
