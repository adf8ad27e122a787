#include "tier/payload.h"

#include <endian.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/rng.h"

#define STAMP_MAGIC UINT64_C(0x314b4c4246564b1f) /* a control byte, then "KVFBLK1" */
#define NOISE_MIN   (UINT64_C(1) << 20)

struct payload {
    uint8_t *noise;
    uint64_t blocks;
    uint64_t seed;
};

_Static_assert(sizeof(struct payload_stamp) == PAYLOAD_STAMP, "a stamp is 64 bytes on the device");

/* Everything of the check that does not change from block to block. */
static uint64_t check_base(const struct payload_id *id, uint64_t seed) {
    uint64_t h = hash_mix64(STAMP_MAGIC ^ seed);
    h = hash_mix64(h ^ id->key_hi);
    h = hash_mix64(h ^ id->key_lo);
    return hash_mix64(h ^ id->generation);
}

static uint64_t check_block(uint64_t base, uint64_t block, uint64_t noise_block) {
    return hash_mix64(hash_mix64(base ^ block) + noise_block);
}

static void stamp_fill(struct payload_stamp *s, const struct payload_id *id, uint64_t seed) {
    s->magic = htole64(STAMP_MAGIC);
    s->key_hi = htole64(id->key_hi);
    s->key_lo = htole64(id->key_lo);
    s->generation = htole64(id->generation);
    s->seed = htole64(seed);
}

bool payload_stamp_read(const void *block, uint64_t len, struct payload_stamp *out) {
    struct payload_stamp s;
    if (len < sizeof s) return false;
    memcpy(&s, block, sizeof s);
    *out = (struct payload_stamp){.magic = le64toh(s.magic),
                                  .key_hi = le64toh(s.key_hi),
                                  .key_lo = le64toh(s.key_lo),
                                  .generation = le64toh(s.generation),
                                  .block = le64toh(s.block),
                                  .seed = le64toh(s.seed),
                                  .noise_block = le64toh(s.noise_block),
                                  .check = le64toh(s.check)};
    return out->magic == STAMP_MAGIC;
}

static bool all_zero(const uint8_t *bytes, uint64_t len) {
    for (uint64_t i = 0; i < len; i++)
        if (bytes[i] != 0) return false;
    return true;
}

/* Says in `why` what is wrong with a stamp, and returns whether anything is. `got` starts as what is
 * expected and is overlaid with the bytes that are there, so that a stamp cut short by the end of
 * the entry is judged by what it has. */
static bool stamp_differs(const struct payload *p, const struct payload_stamp *want,
                          struct payload_stamp *got, uint64_t have, uint64_t block, char *why) {
    uint64_t noise_block = le64toh(got->noise_block);
    if (got->magic != want->magic) {
        snprintf(why, PAYLOAD_WHY, "block %" PRIu64 " %s", block,
                 all_zero((const uint8_t *)got, have) ? "is zeroes" : "carries no stamp");
    } else if (got->key_hi != want->key_hi || got->key_lo != want->key_lo) {
        snprintf(why, PAYLOAD_WHY,
                 "block %" PRIu64 " names entry %016" PRIx64 "%016" PRIx64 ", not %016" PRIx64 "%016" PRIx64,
                 block, le64toh(got->key_hi), le64toh(got->key_lo), le64toh(want->key_hi),
                 le64toh(want->key_lo));
    } else if (got->generation != want->generation) {
        snprintf(why, PAYLOAD_WHY, "block %" PRIu64 " names generation %" PRIu64 ", not %" PRIu64, block,
                 le64toh(got->generation), le64toh(want->generation));
    } else if (got->block != want->block) {
        snprintf(why, PAYLOAD_WHY, "block %" PRIu64 " names block %" PRIu64, block, le64toh(got->block));
    } else if (got->seed != want->seed) {
        snprintf(why, PAYLOAD_WHY, "block %" PRIu64 " names seed %" PRIu64 ", not %" PRIu64, block,
                 le64toh(got->seed), le64toh(want->seed));
    } else if (have == PAYLOAD_STAMP && (got->check != want->check || noise_block >= p->blocks)) {
        snprintf(why, PAYLOAD_WHY, "block %" PRIu64 " has a damaged stamp", block);
    } else {
        return false;
    }
    return true;
}

static bool noise_differs(const struct payload *p, const uint8_t *bytes, uint64_t len, uint64_t noise_block,
                          uint64_t block, char *why) {
    if (len <= PAYLOAD_STAMP) return false;
    const uint8_t *want = p->noise + noise_block * PAYLOAD_BLOCK;
    if (memcmp(bytes + PAYLOAD_STAMP, want + PAYLOAD_STAMP, len - PAYLOAD_STAMP) == 0) return false;
    uint64_t at = PAYLOAD_STAMP;
    while (bytes[at] == want[at]) at++;
    snprintf(why, PAYLOAD_WHY,
             "block %" PRIu64 " differs from what was written at its byte %" PRIu64 ": %02x, not %02x", block,
             at, bytes[at], want[at]);
    return true;
}

struct payload *payload_open(uint64_t seed, uint64_t noise_bytes, struct err *e) {
    if (noise_bytes < NOISE_MIN || noise_bytes % PAYLOAD_BLOCK != 0) {
        err_set(e, KVF_ERR_USAGE,
                "engine.noise is %" PRIu64 " bytes; it must be a multiple of 4 KiB and at least 1 MiB",
                noise_bytes);
        return NULL;
    }
    struct payload *p = calloc(1, sizeof *p);
    if (p) p->noise = aligned_alloc(PAYLOAD_BLOCK, noise_bytes);
    if (!p || !p->noise) {
        free(p);
        err_set(e, KVF_ERR_NOMEM,
                "not enough memory for %" PRIu64 " bytes of noise; make engine.noise smaller", noise_bytes);
        return NULL;
    }
    struct rng rng;
    rng_init(&rng, seed, KVF_RNG_PAYLOAD, 0);
    rng_fill(&rng, p->noise, noise_bytes);
    p->blocks = noise_bytes / PAYLOAD_BLOCK;
    p->seed = seed;
    return p;
}

void payload_close(struct payload *p) {
    if (!p) return;
    free(p->noise);
    free(p);
}

const void *payload_noise(const struct payload *p, uint64_t *blocks) {
    *blocks = p->blocks;
    return p->noise;
}

struct payload_stamp payload_stamp_of(const struct payload *p, const struct payload_id *id, uint64_t *base) {
    struct payload_stamp s = {0};
    stamp_fill(&s, id, p->seed);
    *base = check_base(id, p->seed);
    return s;
}

void payload_prefill(const struct payload *p, void *buf, uint64_t len, uint64_t first_noise_block) {
    uint8_t *out = buf;
    uint64_t noise_block = first_noise_block % p->blocks;
    while (len > 0) {
        uint64_t piece = (p->blocks - noise_block) * PAYLOAD_BLOCK;
        if (piece > len) piece = len;
        memcpy(out, p->noise + noise_block * PAYLOAD_BLOCK, piece);
        out += piece;
        len -= piece;
        noise_block = 0;
    }
}

void payload_restamp(const struct payload *p, void *buf, uint64_t len, const struct payload_id *id,
                     uint64_t first_block, uint64_t first_noise_block) {
    struct payload_stamp s;
    stamp_fill(&s, id, p->seed);
    uint64_t base = check_base(id, p->seed);
    uint64_t noise_block = first_noise_block % p->blocks;
    uint8_t *out = buf;
    for (uint64_t at = 0, block = first_block; at < len; at += PAYLOAD_BLOCK, block++) {
        s.block = htole64(block);
        s.noise_block = htole64(noise_block);
        s.check = htole64(check_block(base, block, noise_block));
        memcpy(out + at, &s, sizeof s);
        if (++noise_block == p->blocks) noise_block = 0;
    }
}

uint64_t payload_verify(const struct payload *p, const void *buf, uint64_t len, const struct payload_id *id,
                        uint64_t first_block, enum payload_check check, uint64_t *first_bad, char *why) {
    if (check == PAYLOAD_CHECK_NONE) return 0;
    struct payload_stamp want;
    stamp_fill(&want, id, p->seed);
    uint64_t base = check_base(id, p->seed), bad = 0;
    for (uint64_t at = 0, block = first_block; at < len; at += PAYLOAD_BLOCK, block++) {
        const uint8_t *bytes = (const uint8_t *)buf + at;
        uint64_t here = len - at < PAYLOAD_BLOCK ? len - at : PAYLOAD_BLOCK;
        uint64_t have = here < PAYLOAD_STAMP ? here : PAYLOAD_STAMP;
        want.block = htole64(block);
        struct payload_stamp got = want;
        got.noise_block = 0;
        memcpy(&got, bytes, have);
        want.check = htole64(check_block(base, block, le64toh(got.noise_block)));
        char text[PAYLOAD_WHY];
        bool wrong = stamp_differs(p, &want, &got, have, block, text);
        if (!wrong && check == PAYLOAD_CHECK_FULL)
            wrong = noise_differs(p, bytes, here, le64toh(got.noise_block), block, text);
        if (!wrong) continue;
        if (bad++ == 0) {
            if (first_bad) *first_bad = block;
            if (why) memcpy(why, text, sizeof text);
        }
    }
    return bad;
}
