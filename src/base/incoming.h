/* Files of the user's that are read once: ordinary ones, and pipes that somebody writes into. */
#ifndef KVF_BASE_INCOMING_H
#define KVF_BASE_INCOMING_H

#include <stddef.h>

/* A descriptor of the caller's to close, or a negative errno. Never waits: a pipe without a writer is opened
 * like any other. */
int incoming_open(const char *path);
/* Bytes read, 0 at the end, or a negative errno: -ETIMEDOUT when a pipe or a device has given nothing for
 * five seconds. `before` is what was read already: an end at 0 of a pipe means that no process has opened it
 * for writing yet, and is waited for in the same way. */
long incoming_read(int fd, char *buf, size_t len, size_t before);
/* The text of a negative errno that the functions above return. */
const char *incoming_error(long error);

#endif
