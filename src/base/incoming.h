/* Input files that are read once: ordinary files, and pipes that another process writes. Any thread. */
#ifndef KVF_BASE_INCOMING_H
#define KVF_BASE_INCOMING_H

#include <stddef.h>

/* Opens a file for reading: a descriptor, which the caller closes, or a negative errno. Never waits, not even
 * for the writer of a pipe. */
int incoming_open(const char *path);
/* Reads up to `len` bytes: their number, 0 at the end, or a negative errno: -ETIMEDOUT when a pipe or a
 * device has given nothing for five seconds. `before` is the number of bytes read so far: a pipe that ends at
 * 0 has no writer yet, and the call waits for one just as long. */
long incoming_read(int fd, char *buf, size_t len, size_t before);
/* The text of a negative errno returned above. Constant. */
const char *incoming_error(long error);

#endif
