/* Words of which most are zero, packed for another process of the same build, or to be kept: each one that is
 * not zero behind how many zeroes, as two varints; a gap that leads to the end closes it. */
#ifndef KVF_METRICS_WORDS_H
#define KVF_METRICS_WORDS_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

void words_pack(const uint64_t *words, size_t count, struct buf *out);
/* Into zeroed words; *set, which may be NULL, is how many are not zero now. Where the packed ones end; NULL
 * on bytes that are none, and some may be set then. */
const unsigned char *words_unpack(uint64_t *words, size_t count, const unsigned char *at,
                                  const unsigned char *end, size_t *set);

#endif
