/* SipHash-2-4 (Aumasson and Bernstein, INDOCRYPT 2012): a keyed hash of 64 bits, which tells nothing of its
 * input without the key. Any thread. */
#ifndef KVF_STUDY_CAPTURE_SIPHASH_H
#define KVF_STUDY_CAPTURE_SIPHASH_H

#include <stddef.h>
#include <stdint.h>

uint64_t siphash(const uint64_t key[2], const void *data,
                 size_t len); /* of `len` bytes under a key of 128 bits */

#endif
