#include "base/rng.h"

#include <math.h>
#include <string.h>

#include "base/hash.h"

#define GOLDEN UINT64_C(0x9e3779b97f4a7c15)

static uint64_t rotl(uint64_t x, int k) {
    return (x << k) | (x >> (64 - k));
}

/* Steele, Lea and Flood 2014. */
static uint64_t splitmix64(uint64_t *x) {
    return hash_mix64(*x += GOLDEN);
}

/* Each of the three is mixed in before the next is added, so that neighbouring seeds, streams and
 * indices land on unrelated states. SplitMix64 yields each number once in its period: four in a
 * row are never all zero. */
void rng_init(struct rng *r, uint64_t seed, enum rng_stream stream, uint64_t index) {
    uint64_t x = hash_mix64(seed + GOLDEN);

    x = hash_mix64((x ^ (uint64_t)stream) + GOLDEN);
    x = hash_mix64((x ^ index) + GOLDEN);
    for (int i = 0; i < 4; i++) r->s[i] = splitmix64(&x);
}

/* xoshiro256** 1.0, Blackman and Vigna 2018. */
uint64_t rng_u64(struct rng *r) {
    uint64_t *s = r->s;
    uint64_t result = rotl(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;

    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotl(s[3], 45);
    return result;
}

double rng_double(struct rng *r) {
    return (double)(rng_u64(r) >> 11) * 0x1p-53;
}

/* Uniform in (0, 1]: safe to take the logarithm of. */
static double rng_positive(struct rng *r) {
    return 1.0 - rng_double(r);
}

/* Lemire 2019: the high word of a 64 by 64 bit product; low words under 2^64 mod span are the
 * surplus that would favour some results. */
uint64_t rng_range(struct rng *r, uint64_t lo, uint64_t hi) {
    if (hi <= lo) return lo;
    uint64_t span = hi - lo + 1;
    if (span == 0) return rng_u64(r);

    unsigned __int128 m = (unsigned __int128)rng_u64(r) * span;
    if ((uint64_t)m < span) {
        uint64_t surplus = -span % span;
        while ((uint64_t)m < surplus) m = (unsigned __int128)rng_u64(r) * span;
    }
    return lo + (uint64_t)(m >> 64);
}

double rng_uniform(struct rng *r, double lo, double hi) {
    double v = lo + (hi - lo) * rng_double(r);
    return v < hi || hi <= lo ? v : nextafter(hi, lo); /* rounding may reach hi */
}

double rng_exponential(struct rng *r, double mean) {
    return -mean * log(rng_positive(r));
}

double rng_normal(struct rng *r) {
    double u, v, s;
    do {
        u = 2.0 * rng_double(r) - 1.0;
        v = 2.0 * rng_double(r) - 1.0;
        s = u * u + v * v;
    } while (s >= 1.0 || s == 0.0);
    return u * sqrt(-2.0 * log(s) / s);
}

/* Marsaglia and Tsang 2000, with their boost for shapes under 1. */
double rng_gamma(struct rng *r, double shape, double scale) {
    double boost = 1.0;
    if (shape < 1.0) {
        boost = pow(rng_positive(r), 1.0 / shape);
        shape += 1.0;
    }
    double d = shape - 1.0 / 3.0;
    double c = 1.0 / sqrt(9.0 * d);
    for (;;) {
        double x = rng_normal(r);
        double v = 1.0 + c * x;
        if (v <= 0.0) continue;
        v = v * v * v;
        if (log(rng_positive(r)) < 0.5 * x * x + d - d * v + d * log(v)) return boost * d * v * scale;
    }
}

void rng_fill(struct rng *r, void *buf, uint64_t len) {
    unsigned char *p = buf;
    for (uint64_t i = 0; i + 8 <= len; i += 8) {
        uint64_t word = rng_u64(r);
        memcpy(p + i, &word, 8);
    }
}
