/* The content of entries: noise with stamps. Every 4 KiB block on a device is unique and names its entry, the
 * entry's generation, the block's index and the seed.
 *
 * A block has 4,096 bytes: a stamp of 64 bytes, then bytes 64 to 4,095 of noise block `noise_block`. Given
 * the noise, every byte of a block can be checked. The last block of an entry may be cut short. */
#ifndef KVF_TIER_PAYLOAD_H
#define KVF_TIER_PAYLOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

enum { PAYLOAD_BLOCK = 4096, PAYLOAD_STAMP = 64, PAYLOAD_WHY = 160 };

/* Identifies the content of an entry: its 128-bit key and the generation of its write. */
struct payload_id {
    uint64_t key_hi, key_lo;
    uint64_t generation;
};

struct payload_stamp { /* 64 bytes; little endian on the device */
    uint64_t magic;
    uint64_t key_hi, key_lo;
    uint64_t generation;
    uint64_t block; /* index within the entry */
    uint64_t seed;
    uint64_t noise_block; /* the source of the other bytes */
    uint64_t check;       /* hash of all the above */
};

/* Reads the stamp at the start of a block in host byte order; false if it is missing or cut short. */
bool payload_stamp_read(const void *block, uint64_t len, struct payload_stamp *out);

struct payload; /* noise and seed; read-only after payload_open, any thread */
/* Draws `noise_bytes` of noise (a multiple of 4 KiB, at least 1 MiB) from the seed. NULL with the error. */
struct payload *payload_open(uint64_t seed, uint64_t noise_bytes, struct err *e);
void payload_close(struct payload *p); /* takes NULL */

/* Inputs for another generator of the same content, such as a GPU kernel: the noise, the constant fields of
 * the stamps, and in *base the hash of those fields. check = mix(mix(base ^ block) + noise_block). */
const void *payload_noise(const struct payload *p, uint64_t *blocks);
struct payload_stamp payload_stamp_of(const struct payload *p, const struct payload_id *id, uint64_t *base);

/* Fills a staging buffer with noise blocks from `first_noise_block` on, modulo their number. After that
 * payload_restamp() is enough for each write, until a read overwrites the buffer. */
void payload_prefill(const struct payload *p, void *buf, uint64_t len, uint64_t first_noise_block);
/* Stamps a buffer prefilled from `first_noise_block` with `len` bytes of entry `id` from block `first_block`
 * on. Writes the 64 bytes of each stamp and nothing else. The stamp of a last block that is cut short is
 * written in full, so the buffer needs room for `len` rounded up to 4 KiB, as a chunk's has. */
void payload_restamp(const struct payload *p, void *buf, uint64_t len, const struct payload_id *id,
                     uint64_t first_block, uint64_t first_noise_block);

enum payload_check { PAYLOAD_CHECK_NONE, PAYLOAD_CHECK_HEADER, PAYLOAD_CHECK_FULL };
/* Checks that `len` bytes hold entry `id` from block `first_block` on. Returns the number of wrong blocks.
 * *first_bad gets the index within the entry of the first one, and `why` (PAYLOAD_WHY bytes, may be NULL) a
 * phrase such as "block 7 names generation 3, not 5". */
uint64_t payload_verify(const struct payload *p, const void *buf, uint64_t len, const struct payload_id *id,
                        uint64_t first_block, enum payload_check check, uint64_t *first_bad, char *why);

#endif
