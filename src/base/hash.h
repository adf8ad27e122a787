/* Hashing: 64-bit mixing for tables and keys, SHA-256 of files for provenance. Any thread. */
#ifndef KVF_BASE_HASH_H
#define KVF_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* Bijective finalizer of SplitMix64 (Stafford's variant 13). */
static inline uint64_t hash_mix64(uint64_t x) {
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}
uint64_t hash_bytes(const void *data, size_t len, uint64_t seed); /* FNV-1a, then mixed */

enum { KVF_SHA256_TEXT = 65 };
/* SHA-256 (FIPS 180-4) of a whole file as 64 hex digits and a NUL. Reads it once, in constant memory. 0, or a
 * negative code for a file that cannot be read. */
int hash_sha256_file(const char *path, char out[KVF_SHA256_TEXT], struct err *e);
/* SHA-256 of bytes in memory. 0, or a negative code where OpenSSL fails. */
int hash_sha256_bytes(const void *data, size_t len, char out[KVF_SHA256_TEXT], struct err *e);

#endif
