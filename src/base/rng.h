/* Seeded random streams. A stream is xoshiro256** seeded through SplitMix64 from (seed, stream,
 * index), so that every user, source and class has its own stream, and neither threads nor order
 * change the draws (Blackman and Vigna, Scrambled Linear Pseudorandom Number Generators, 2021).
 * One thread at a time for each stream. */
#ifndef KVF_BASE_RNG_H
#define KVF_BASE_RNG_H

#include <stdint.h>

struct rng {
    uint64_t s[4];
};

/* Names of streams; the index tells members of one kind apart (the user, the class). */
enum rng_stream {
    KVF_RNG_USER = 1,
    KVF_RNG_CLASS,
    KVF_RNG_SOURCE,
    KVF_RNG_PAYLOAD,
    KVF_RNG_DECK,
    KVF_RNG_TEST,
    KVF_RNG_ARRIVAL,
    KVF_RNG_DOCUMENT,  /* lengths of documents */
    KVF_RNG_RETRIEVAL, /* which requests retrieve, and what */
    KVF_RNG_RESAMPLE,  /* draws of a comparison */
    KVF_RNG_ROUTER,    /* pods of routing random */
    KVF_RNG_SERVICE,   /* service times of a measured tier and direction */
    KVF_RNG_TIMER,     /* how late arrivals are seen */
    KVF_RNG_WAKE       /* how late a worker sees a request */
};

/* Begins the stream of one user, source or class; `index` counts them within their kind. */
void rng_init(struct rng *r, uint64_t seed, enum rng_stream stream, uint64_t index);
/* The same in two steps, for many of a kind: what their streams have in common, then each. */
uint64_t rng_kind(uint64_t seed, enum rng_stream stream);
void rng_init_of(struct rng *r, uint64_t kind, uint64_t index);

/* 64 random bits: xoshiro256** 1.0, Blackman and Vigna 2018. */
static inline uint64_t rng_u64(struct rng *r) {
    uint64_t *s = r->s, five = s[1] * 5, shifted = s[1] << 17;
    uint64_t result = ((five << 7) | (five >> 57)) * 9;

    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= shifted;
    s[3] = (s[3] << 45) | (s[3] >> 19);
    return result;
}

/* Uniform in [0, 1). */
static inline double rng_double(struct rng *r) {
    return (double)(rng_u64(r) >> 11) * 0x1p-53;
}

/* A uniform integer from lo to hi, both included, without bias. Lemire 2019: the high word of a 64 by 64 bit
 * product; low words under 2^64 mod span are the surplus that would favour some results. */
static inline uint64_t rng_range(struct rng *r, uint64_t lo, uint64_t hi) {
    if (hi <= lo) return lo;
    uint64_t span = hi - lo + 1;
    if (span == 0) return rng_u64(r);

    __extension__ unsigned __int128 m = (unsigned __int128)rng_u64(r) * span;
    if ((uint64_t)m < span) {
        uint64_t surplus = -span % span;
        while ((uint64_t)m < surplus) m = (unsigned __int128)rng_u64(r) * span;
    }
    return lo + (uint64_t)(m >> 64);
}
double rng_uniform(struct rng *r, double lo, double hi);     /* uniform in [lo, hi) */
double rng_exponential(struct rng *r, double mean);          /* inverse transform */
double rng_gamma(struct rng *r, double shape, double scale); /* Marsaglia and Tsang 2000 */
double rng_normal(struct rng *r);                            /* mean 0, sd 1, polar method */
void rng_fill(struct rng *r, void *buf, uint64_t len);       /* bytes; len a multiple of 8 */

#endif
