#include "base/rng.h"

#include <math.h>
#include <string.h>

#include "base/hash.h"

#define GOLDEN UINT64_C(0x9e3779b97f4a7c15)

/* Steele, Lea and Flood 2014. */
static uint64_t splitmix64(uint64_t *x) {
    return hash_mix64(*x += GOLDEN);
}

/* Each of the three is mixed in before the next is added, so that neighbouring seeds, streams and
 * indices land on unrelated states. SplitMix64 yields each number once in its period: four in a
 * row are never all zero. */
uint64_t rng_kind(uint64_t seed, enum rng_stream stream) {
    return hash_mix64((hash_mix64(seed + GOLDEN) ^ (uint64_t)stream) + GOLDEN);
}

void rng_init_of(struct rng *r, uint64_t kind, uint64_t index) {
    uint64_t x = hash_mix64((kind ^ index) + GOLDEN);
    for (int i = 0; i < 4; i++) r->s[i] = splitmix64(&x);
}

void rng_init(struct rng *r, uint64_t seed, enum rng_stream stream, uint64_t index) {
    rng_init_of(r, rng_kind(seed, stream), index);
}

/* Uniform in (0, 1]: safe to take the logarithm of. */
static double rng_positive(struct rng *r) {
    return 1.0 - rng_double(r);
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
