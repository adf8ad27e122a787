/* A newest-value cell: one writer puts plain data in; any number of readers take the newest and may skip
 * some. A sequence lock over two copies: the writer writes the older copy and then bumps the version, so it
 * never waits; a reader copies and retries if the version moved meanwhile. The copies are arrays of atomic
 * words: no data race, no lock. Processes forked later share them. */
#ifndef KVF_RECORD_NEWEST_H
#define KVF_RECORD_NEWEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct newest;
struct newest *newest_new(size_t len); /* for values of `len` bytes; ends the program without memory */
void newest_free(struct newest *n);    /* takes NULL */
/* Copies `value`; never waits. Writer thread only. */
void newest_put(struct newest *n, const void *value);
/* Copies the newest value; false (out untouched) when there is none newer than *version, which starts at 0
 * and is updated. Any thread. */
bool newest_get(struct newest *n, void *out, uint64_t *version);
uint64_t newest_version(const struct newest *n); /* of the newest value, 0: none; any thread */

#endif
