/* A newest-value cell: one writer puts plain data in, any number of readers take the newest out and may skip
 * some. A sequence lock over two copies: the writer writes the older copy and then bumps the version, so it
 * never waits; a reader copies and retries if the version moved meanwhile. The copies are arrays of atomic
 * words: no data race, no lock. They are shared with processes that are forked later. */
#ifndef KVF_RECORD_NEWEST_H
#define KVF_RECORD_NEWEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct newest;
struct newest *newest_new(size_t len); /* bytes of what it holds; aborts when memory is exhausted */
void newest_free(struct newest *n);    /* takes NULL */
/* `value` is copied. The one writer's thread only; never waits. */
void newest_put(struct newest *n, const void *value);
/* Copies the newest value; false (out untouched) when there is none newer than *version, which starts at 0
 * and is updated. Any thread. */
bool newest_get(struct newest *n, void *out, uint64_t *version);
uint64_t newest_version(const struct newest *n); /* of the newest value, 0: none; any thread */

#endif
