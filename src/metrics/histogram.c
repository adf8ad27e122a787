#include "metrics/histogram.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { LINEAR = 1 << (HISTOGRAM_SUB_BITS + 1), SUB_MASK = (1 << HISTOGRAM_SUB_BITS) - 1, FORM_VERSION = 1 };

static_assert(HISTOGRAM_BUCKETS == LINEAR + (HISTOGRAM_MAX_BITS - HISTOGRAM_SUB_BITS - 1) * (SUB_MASK + 1),
              "the last octave ends at 2^HISTOGRAM_MAX_BITS");

#define VALUE_LIMIT (UINT64_C(1) << HISTOGRAM_MAX_BITS)

#define LOAD(v)     atomic_load_explicit(&(v), memory_order_relaxed)
#define STORE(v, n) atomic_store_explicit(&(v), (n), memory_order_relaxed)

/* A value of the octave [2^k, 2^(k+1)), k > SUB_BITS, keeps its SUB_BITS + 1 leading bits; the
 * buckets of one octave follow those of the one below without a gap. */
static inline uint32_t bucket_of(uint64_t value) {
    if (value < LINEAR) return (uint32_t)value;
    if (value >= VALUE_LIMIT) return HISTOGRAM_BUCKETS - 1;
    uint32_t shift = 63 - (uint32_t)__builtin_clzll(value) - HISTOGRAM_SUB_BITS;
    return (shift << HISTOGRAM_SUB_BITS) + (uint32_t)(value >> shift);
}

uint32_t histogram_bucket_of(uint64_t value) {
    return bucket_of(value);
}

uint64_t histogram_bucket_low(uint32_t bucket) {
    if (bucket < LINEAR) return bucket;
    uint32_t shift = (bucket >> HISTOGRAM_SUB_BITS) - 1;
    return (uint64_t)((1U << HISTOGRAM_SUB_BITS) + (bucket & SUB_MASK)) << shift;
}

uint64_t histogram_bucket_high(uint32_t bucket) {
    if (bucket < LINEAR) return bucket;
    uint32_t shift = (bucket >> HISTOGRAM_SUB_BITS) - 1;
    return histogram_bucket_low(bucket) + ((UINT64_C(1) << shift) - 1);
}

static double bucket_middle(uint32_t bucket) {
    return ((double)histogram_bucket_low(bucket) + (double)histogram_bucket_high(bucket)) / 2;
}

void histogram_init(struct histogram *h) {
    memset(h, 0, sizeof *h);
}

/* `lo` goes before `hi`: a reader that sees the first `hi` with the zero of an untouched `lo`
 * merely looks at more buckets than it needs. */
static inline void bracket(struct histogram *h, uint32_t lo, uint32_t hi) {
    uint32_t end = LOAD(h->hi);
    if (end == 0 || lo < LOAD(h->lo)) STORE(h->lo, lo);
    if (hi > end) STORE(h->hi, hi);
}

static inline void extremes_put(struct histogram *h, uint64_t most, uint64_t least) {
    if (LOAD(h->most) < most) STORE(h->most, most);
    if (LOAD(h->least) < least) STORE(h->least, least);
}

/* A reader has asked for it. */
static void restart(struct histogram *h) {
    uint32_t asked = LOAD(h->asked);
    histogram_forget(h);
    STORE(h->done, asked);
}

void histogram_restart(struct histogram *h) {
    STORE(h->asked, LOAD(h->asked) + 1);
}

void histogram_extend(struct histogram *dst, const struct histogram *earlier) {
    extremes_put(dst, LOAD(earlier->most), LOAD(earlier->least));
}

void histogram_forget(struct histogram *h) {
    STORE(h->most, 0);
    STORE(h->least, 0);
}

static inline void record(struct histogram *h, uint64_t value, uint32_t b) {
    if (LOAD(h->done) != LOAD(h->asked)) restart(h);
    /* A value between the extremes has its bucket between theirs, in the bracket. */
    if (value > LOAD(h->most) || ~value > LOAD(h->least)) {
        extremes_put(h, value, ~value);
        bracket(h, b, b + 1);
    }
    STORE(h->bucket[b], LOAD(h->bucket[b]) + 1);
    STORE(h->sum, LOAD(h->sum) + value);
    STORE(h->count, LOAD(h->count) + 1);
}

void histogram_record(struct histogram *h, uint64_t value) {
    record(h, value, bucket_of(value));
}

void histogram_record_both(struct histogram *a, struct histogram *b, uint64_t value) {
    uint32_t bucket = bucket_of(value);
    record(a, value, bucket);
    record(b, value, bucket);
}

void histogram_record_many(struct histogram *h, uint64_t value, uint64_t n, uint64_t sum) {
    uint32_t b = histogram_bucket_of(value);
    STORE(h->bucket[b], LOAD(h->bucket[b]) + n);
    STORE(h->sum, LOAD(h->sum) + sum);
    STORE(h->count, LOAD(h->count) + n);
    bracket(h, b, b + 1);
}

void histogram_add(struct histogram *dst, const struct histogram *src) {
    uint32_t hi = LOAD(src->hi);
    uint32_t lo = LOAD(src->lo);
    uint64_t added = 0;

    if (lo >= hi) return;
    for (uint32_t b = lo; b < hi; b++) {
        uint64_t n = LOAD(src->bucket[b]);
        STORE(dst->bucket[b], LOAD(dst->bucket[b]) + n);
        added += n;
    }
    if (added == 0) return;
    STORE(dst->count, LOAD(dst->count) + added);
    STORE(dst->sum, LOAD(dst->sum) + LOAD(src->sum));
    bracket(dst, lo, hi);
    if (LOAD(dst->asked) < LOAD(src->asked)) STORE(dst->asked, LOAD(src->asked));
    STORE(dst->done, LOAD(dst->asked));
    if (LOAD(src->done) == LOAD(src->asked)) extremes_put(dst, LOAD(src->most), LOAD(src->least));
}

void histogram_subtract(struct histogram *dst, const struct histogram *src) {
    uint32_t hi = LOAD(src->hi);
    uint32_t lo = LOAD(src->lo);
    uint64_t taken = 0;

    for (uint32_t b = lo; b < hi; b++) {
        uint64_t n = LOAD(src->bucket[b]);
        STORE(dst->bucket[b], LOAD(dst->bucket[b]) - n);
        taken += n;
    }
    STORE(dst->count, LOAD(dst->count) - taken);
    STORE(dst->sum, LOAD(dst->sum) - LOAD(src->sum));
    /* An interval uses fewer buckets than the run: draw the bracket in for those who read on. */
    for (hi = LOAD(dst->hi), lo = LOAD(dst->lo); hi > lo && LOAD(dst->bucket[hi - 1]) == 0;) hi--;
    while (lo < hi && LOAD(dst->bucket[lo]) == 0) lo++;
    bool empty = lo >= hi;
    STORE(dst->lo, empty ? 0 : lo);
    STORE(dst->hi, empty ? 0 : hi);
    if (empty) STORE(dst->sum, 0); /* of an addition that was seen half done */
    /* else they are of what was taken away too */
    if (empty || (taken > 0 && LOAD(src->asked) == LOAD(dst->asked))) histogram_forget(dst);
}

void histogram_copy(struct histogram *dst, const struct histogram *src) {
    histogram_init(dst);
    histogram_add(dst, src);
}

uint64_t histogram_count(const struct histogram *h) {
    return LOAD(h->count);
}

/* The bucket in which the value of the given rank (from 1) lies; the last used if there are fewer. */
static uint32_t bucket_of_rank(const struct histogram *h, uint64_t rank) {
    uint64_t seen = 0;
    uint32_t last = 0;

    for (uint32_t b = LOAD(h->lo), hi = LOAD(h->hi); b < hi; b++) {
        uint64_t n = LOAD(h->bucket[b]);
        if (n == 0) continue;
        seen += n;
        last = b;
        if (seen >= rank) break;
    }
    return last;
}

/* From 1 to count. 0.07 x 100 is a little over 7 in binary and must not become rank 8. */
static uint64_t nearest_rank(double q, uint64_t count) {
    double exact = q * (double)count;
    double rank = ceil(exact - exact * 0x1p-50);
    return rank < 1 ? 1 : rank >= (double)count ? count : (uint64_t)rank;
}

/* The extremes, where they are of the time since the restart and lie where the values begin and end. */
static bool least_known(const struct histogram *h, double *v) {
    uint64_t least = ~LOAD(h->least);
    *v = (double)least;
    return LOAD(h->least) != 0 && LOAD(h->done) == LOAD(h->asked) &&
           histogram_bucket_of(least) == bucket_of_rank(h, 1);
}

static bool most_known(const struct histogram *h, double *v) {
    uint64_t most = LOAD(h->most);
    *v = (double)most;
    return most != 0 && LOAD(h->done) == LOAD(h->asked) &&
           histogram_bucket_of(most) == bucket_of_rank(h, histogram_count(h));
}

/* Of all values none is beyond the least and the largest. */
static double inside(const struct histogram *h, double v) {
    double least, most;
    if (least_known(h, &least)) v = fmax(v, least);
    return most_known(h, &most) ? fmin(v, most) : v;
}

double histogram_mean(const struct histogram *h) {
    unsigned __int128 least = 0, most = 0;
    uint64_t count = 0;

    for (uint32_t b = LOAD(h->lo), hi = LOAD(h->hi); b < hi; b++) {
        uint64_t n = LOAD(h->bucket[b]);
        uint64_t high = b == HISTOGRAM_BUCKETS - 1 ? UINT64_MAX : histogram_bucket_high(b);
        least += (unsigned __int128)n * histogram_bucket_low(b);
        most += (unsigned __int128)n * high;
        count += n;
    }
    if (count == 0) return (double)NAN;
    unsigned __int128 sum = LOAD(h->sum);
    sum = sum < least ? least : sum > most ? most : sum;
    return inside(h, (double)sum / (double)count);
}

double histogram_quantile(const struct histogram *h, double q) {
    uint64_t count = histogram_count(h);
    if (count == 0 || isnan(q)) return (double)NAN;
    return inside(h, bucket_middle(bucket_of_rank(h, nearest_rank(q, count))));
}

double histogram_quantile_inside(const struct histogram *h, double q, double *width) {
    uint64_t count = histogram_count(h), seen = 0;
    *width = (double)NAN;
    if (count == 0 || isnan(q)) return (double)NAN;
    uint64_t rank = nearest_rank(q, count);
    uint32_t bucket = bucket_of_rank(h, rank);
    for (uint32_t b = LOAD(h->lo); b < bucket; b++) seen += LOAD(h->bucket[b]);
    uint64_t low = histogram_bucket_low(bucket);
    *width = (double)(histogram_bucket_high(bucket) - low + 1);
    if (bucket < LINEAR) return (double)low; /* the only value that it holds */
    return inside(h, (double)low - 0.5 +
                         *width * ((double)(rank - seen) - 0.5) / (double)LOAD(h->bucket[bucket]));
}

double histogram_min(const struct histogram *h) {
    double least;
    if (!histogram_count(h)) return (double)NAN;
    return least_known(h, &least) ? least : inside(h, bucket_middle(bucket_of_rank(h, 1)));
}

double histogram_max(const struct histogram *h) {
    double most;
    if (!histogram_count(h)) return (double)NAN;
    return most_known(h, &most) ? most : inside(h, bucket_middle(bucket_of_rank(h, histogram_count(h))));
}

void histogram_spread(const struct histogram *h, double first, uint32_t *bins, size_t n) {
    size_t bin = 0;

    if (n == 0) return;
    for (uint32_t b = LOAD(h->lo), hi = LOAD(h->hi); b < hi; b++) {
        uint64_t count = LOAD(h->bucket[b]);
        if (count == 0) continue;
        while (bin + 1 < n && bucket_middle(b) >= first * exp2((double)(bin + 1) / 2)) bin++;
        bins[bin] = count < UINT32_MAX - bins[bin] ? bins[bin] + (uint32_t)count : UINT32_MAX;
    }
}

struct coder {
    uint8_t *out;
    size_t cap, len; /* len counts on beyond cap: it is what is needed */
};

static void put_byte(struct coder *c, uint8_t byte) {
    if (c->len < c->cap) c->out[c->len] = byte;
    c->len++;
}

/* Seven bits a byte, least first, the high bit on all but the last. */
static void put_varint(struct coder *c, uint64_t v) {
    for (; v >= 0x80; v >>= 7) put_byte(c, (uint8_t)(v | 0x80));
    put_byte(c, (uint8_t)v);
}

/* -1 at the end of the bytes, beyond 64 bits, or in a form longer than need be. */
static inline int get_varint(const uint8_t **p, const uint8_t *end, uint64_t *v) {
    if (*p < end && **p < 0x80) { /* nearly all of them */
        *v = *(*p)++;
        return 0;
    }
    *v = 0;
    for (unsigned shift = 0; *p < end && shift < 64; shift += 7) {
        uint8_t byte = *(*p)++;
        if (shift == 63 && byte > 1) return -1;
        *v |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) return byte == 0 && shift > 0 ? -1 : 0;
    }
    return -1;
}

size_t histogram_encode(const struct histogram *h, uint8_t *out, size_t cap) {
    struct coder c = {.out = out, .cap = cap};
    uint32_t next = 0, used = 0;
    double most;

    put_byte(&c, FORM_VERSION);
    put_varint(&c, LOAD(h->sum));
    for (uint32_t b = LOAD(h->lo), hi = LOAD(h->hi); b < hi; b++) {
        uint64_t n = LOAD(h->bucket[b]);
        if (n == 0) continue;
        put_varint(&c, b - next);
        put_varint(&c, n);
        next = b + 1;
        used++;
    }
    if (used && most_known(h, &most)) put_varint(&c, LOAD(h->most) - histogram_bucket_low(next - 1));
    return used ? c.len : 0;
}

/* The number without a partner at the end: how far the largest value lies above where its bucket begins. */
static int decode_most(struct histogram *h, uint64_t above) {
    uint32_t last = LOAD(h->hi) - 1;
    uint64_t low = histogram_bucket_low(last);
    if (above > UINT64_MAX - low || histogram_bucket_of(low + above) != last) return -1;
    STORE(h->most, low + above);
    return 0;
}

static int decode_buckets(struct histogram *h, const uint8_t *p, const uint8_t *end) {
    uint64_t count = 0, next = 0;

    while (p < end) {
        uint64_t gap, n;
        if (get_varint(&p, end, &gap)) return -1;
        if (p == end) return count ? decode_most(h, gap) : -1;
        if (get_varint(&p, end, &n)) return -1;
        if (gap >= HISTOGRAM_BUCKETS - next || n == 0 || n > UINT64_MAX - count) return -1;
        uint32_t b = (uint32_t)(next + gap);
        STORE(h->bucket[b], n);
        bracket(h, b, b + 1);
        STORE(h->count, count += n);
        next = b + 1;
    }
    return count ? 0 : -1;
}

int histogram_decode(struct histogram *h, const uint8_t *data, size_t len) {
    const uint8_t *p = data, *end = data + len;
    uint64_t sum;

    histogram_init(h);
    if (len == 0) return 0;
    if (*p++ != FORM_VERSION || get_varint(&p, end, &sum) || decode_buckets(h, p, end)) {
        histogram_init(h);
        return -1;
    }
    STORE(h->sum, sum);
    return 0;
}

int histogram_coded_below(const uint8_t *data, size_t len, const uint32_t *bucket, size_t n, uint64_t *below,
                          uint64_t *count) {
    const uint8_t *p = data, *end = data + len;
    uint64_t next = 0, many = 0, sum;
    size_t at = 0;

    *count = 0;
    memset(below, 0, n * sizeof *below);
    if (len == 0) return 0;
    if (*p++ != FORM_VERSION || get_varint(&p, end, &sum)) return -1;
    while (p < end) {
        uint64_t gap;
        if (get_varint(&p, end, &gap)) return -1;
        if (p == end && *count) break; /* of the largest value */
        if (get_varint(&p, end, &many)) return -1;
        if (gap >= HISTOGRAM_BUCKETS - next || many == 0 || many > UINT64_MAX - *count) return -1;
        for (; at < n && bucket[at] < next + gap; at++) below[at] = *count;
        *count += many;
        next += gap + 1;
    }
    for (; at < n; at++) below[at] = *count;
    return *count ? 0 : -1;
}
