/* Arrays of words. Packed for storage or for another process of the same build they are mostly zero: for each
 * word that is not zero the number of zeroes before it and the word, as two varints; a gap up to the end
 * closes the array. Any thread. */
#ifndef KVF_METRICS_WORDS_H
#define KVF_METRICS_WORDS_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* Word by word, of arrays or of structs of nothing but 64-bit counts and sums. */
void words_add(void *to, const void *more, size_t bytes);
void words_subtract(void *from, const void *less, size_t bytes);
/* Appends the packed form. */
void words_pack(const uint64_t *words, size_t count, struct buf *out);
/* Unpacks from [at, end) into zeroed words; *set (may be NULL) is the number of words that are not zero.
 * Returns the end of the packed form, or NULL on bytes that are none; some words may be set then. */
const unsigned char *words_unpack(uint64_t *words, size_t count, const unsigned char *at,
                                  const unsigned char *end, size_t *set);

#endif
