/* The content of entries: noise, stamped so that every 4 KiB block on a device is unique and names
 * the entry, its generation, its block and the seed.
 *
 * A block is 4,096 bytes: a 64-byte stamp, then 4,032 bytes of noise taken from noise block
 * `noise_block` (offset 64 there as well). With the noise every byte of any block can therefore be
 * checked. The last block of an entry may be cut short. */
#ifndef KVF_TIER_PAYLOAD_H
#define KVF_TIER_PAYLOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

enum { PAYLOAD_BLOCK = 4096, PAYLOAD_STAMP = 64, PAYLOAD_WHY = 160 };

/* Names the content of an entry: its 128-bit key and the generation of its write. */
struct payload_id {
    uint64_t key_hi, key_lo;
    uint64_t generation;
};

struct payload_stamp { /* exactly 64 bytes, as on the device, little endian */
    uint64_t magic;
    uint64_t key_hi, key_lo;
    uint64_t generation;
    uint64_t block; /* index within the entry */
    uint64_t seed;
    uint64_t noise_block; /* which noise block the rest was taken from */
    uint64_t check;       /* mix of all the above */
};

/* Reads the stamp at the start of a block in host byte order; false if it is missing or cut short. */
bool payload_stamp_read(const void *block, uint64_t len, struct payload_stamp *out);

struct payload; /* noise and seed; read-only after payload_open, any thread */
/* Noise of `noise_bytes` (a multiple of 4 KiB, at least 1 MiB) drawn from the seed. */
struct payload *payload_open(uint64_t seed, uint64_t noise_bytes, struct err *e);
void payload_close(struct payload *p); /* takes NULL */

/* Inputs for another generator of the same content, such as a GPU kernel: the noise, the constant fields of a
 * stamp, and the hash of all that is constant over blocks; check = mix(mix(base ^ block) + noise_block). */
const void *payload_noise(const struct payload *p, uint64_t *blocks);
struct payload_stamp payload_stamp_of(const struct payload *p, const struct payload_id *id, uint64_t *base);

/* Fills a staging buffer with noise, blocks numbered from `first_noise_block` on (mod the noise);
 * afterwards payload_restamp suffices until a read fills the buffer. */
void payload_prefill(const struct payload *p, void *buf, uint64_t len, uint64_t first_noise_block);
/* Stamps `len` bytes of entry `id` starting at block `first_block` into a buffer prefilled from
 * first_noise_block. Writes 64 bytes a block, nothing else; the stamp of a last block that is cut
 * short is written whole, so the buffer has room for `len` rounded up to 4 KiB, as a chunk's has. */
void payload_restamp(const struct payload *p, void *buf, uint64_t len, const struct payload_id *id,
                     uint64_t first_block, uint64_t first_noise_block);

enum payload_check { PAYLOAD_CHECK_NONE, PAYLOAD_CHECK_HEADER, PAYLOAD_CHECK_FULL };
/* Checks `len` bytes (of a buffer read back) that should hold entry `id` from `first_block` on.
 * Returns the number of blocks that are wrong; *first_bad gets the index (within the entry) of the
 * first and `why` (may be NULL, PAYLOAD_WHY bytes) a phrase such as "block 7 names generation 3, not 5". */
uint64_t payload_verify(const struct payload *p, const void *buf, uint64_t len, const struct payload_id *id,
                        uint64_t first_block, enum payload_check check, uint64_t *first_bad, char *why);

#endif
