#include "study/capture/siphash.h"

#include <string.h>

static inline uint64_t turned(uint64_t x, unsigned bits) {
    return x << bits | x >> (64 - bits);
}

static inline __attribute__((always_inline)) void round_once(uint64_t v[4]) {
    v[0] += v[1];
    v[2] += v[3];
    v[1] = turned(v[1], 13) ^ v[0];
    v[3] = turned(v[3], 16) ^ v[2];
    v[0] = turned(v[0], 32) + v[3];
    v[2] += v[1];
    v[3] = turned(v[3], 21) ^ v[0];
    v[1] = turned(v[1], 17) ^ v[2];
    v[2] = turned(v[2], 32);
}

/* In place, so that the four words stay in registers: most of a recording's time is spent here. */
static inline __attribute__((always_inline)) void word_add(uint64_t v[4], uint64_t word) {
    v[3] ^= word;
    round_once(v);
    round_once(v);
    v[0] ^= word;
}

uint64_t siphash(const uint64_t key[2], const void *data, size_t len) {
    const unsigned char *at = data;
    uint64_t v[4] = {key[0] ^ UINT64_C(0x736f6d6570736575), key[1] ^ UINT64_C(0x646f72616e646f6d),
                     key[0] ^ UINT64_C(0x6c7967656e657261), key[1] ^ UINT64_C(0x7465646279746573)};
    uint64_t last = (uint64_t)len << 56, word;
    for (size_t left = len; left >= 8; left -= 8, at += 8) {
        memcpy(&word, at, sizeof word); /* little-endian, as all machines that this builds for */
        word_add(v, word);
    }
    for (size_t i = 0; i < len % 8; i++) last |= (uint64_t)at[i] << (8 * i);
    word_add(v, last);
    v[2] ^= 0xff;
    for (int i = 0; i < 4; i++) round_once(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}
