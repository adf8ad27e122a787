/* Log-linear histogram of unsigned 64-bit values (nanoseconds, bytes) with one writer and relaxed
 * readers.
 *
 * Values below 2^7 have a bucket each. Above, every power of two is cut into 64 equal buckets, so
 * a bucket at v is at most v / 64 wide; a quantile is reported as the middle of its bucket and is
 * therefore off by at most 1/128 = 0.79 % of the true order statistic. Values of 2^46 and more
 * (19.5 hours in ns) are counted in the last bucket. The layout is fixed, so merge and subtract are
 * bucket-wise and exact.
 *
 * The writer stores counts with relaxed atomics (load, add, store: one writer, no locked
 * instruction); `lo` and `hi` bracket the buckets ever used so that readers touch little memory. A
 * reader may see an addition half done (count without sum); histogram_copy() therefore takes the
 * count from the buckets that it copied.
 *
 * The least and the largest value are kept beside the buckets since the last histogram_restart(), which a
 * reader asks for and the writer does with its next value: so a difference of two states has them, where a
 * restart came with the earlier one. histogram_extend() puts them together again over several restarts. A
 * value that came between reading and restart is known by its bucket alone. */
#ifndef KVF_METRICS_HISTOGRAM_H
#define KVF_METRICS_HISTOGRAM_H

#include <stddef.h>
#include <stdint.h>
#include <stdatomic.h>

enum {
    HISTOGRAM_SUB_BITS = 6,
    HISTOGRAM_MAX_BITS = 46,
    HISTOGRAM_BUCKETS = (1 << (HISTOGRAM_SUB_BITS + 1)) +
                        (HISTOGRAM_MAX_BITS - HISTOGRAM_SUB_BITS - 1) * (1 << HISTOGRAM_SUB_BITS)
};

struct histogram {
    _Atomic uint64_t count; /* values recorded */
    _Atomic uint64_t sum;   /* of the values, exact */
    _Atomic uint32_t lo;    /* lowest bucket used; means nothing while hi is 0 */
    _Atomic uint32_t hi;    /* highest bucket used + 1; 0 when empty */
    _Atomic uint32_t asked; /* restarts; the reader writes it */
    _Atomic uint32_t done;  /* of which the writer has seen; what follows is of the time since */
    _Atomic uint64_t most;  /* largest value; 0: not known, or 0 */
    _Atomic uint64_t least; /* all ones less the smallest value; 0: not known */
    _Atomic uint64_t bucket[HISTOGRAM_BUCKETS];
};

/* Empties it. Zeroed memory is an empty histogram already. */
void histogram_init(struct histogram *h);
/* Counts a value in under 50 ns. Writer thread only. */
void histogram_record(struct histogram *h, uint64_t value);
/* The same value in two. */
void histogram_record_both(struct histogram *a, struct histogram *b, uint64_t value);
/* Counts `n` values of one bucket that add up to `sum`; their extremes stay unknown. Writer thread only. */
void histogram_record_many(struct histogram *h, uint64_t value, uint64_t n, uint64_t sum);
/* dst += src, dst -= src (src an earlier state of dst), dst = src. dst is private to the caller;
 * src may be written meanwhile. Cheap when src is empty; only [lo, hi) of either is touched. */
void histogram_add(struct histogram *dst, const struct histogram *src);
void histogram_subtract(struct histogram *dst, const struct histogram *src);
void histogram_copy(struct histogram *dst, const struct histogram *src);
/* Begins the time anew that the least and the largest value cover. One reader thread, while it is written. */
void histogram_restart(struct histogram *h);
/* Adds the extremes of an earlier state to those of `dst`, a private copy; or forgets them. */
void histogram_extend(struct histogram *dst, const struct histogram *earlier);
void histogram_forget(struct histogram *h);
uint64_t histogram_count(const struct histogram *h);
/* The exact mean; NaN when empty. Where a reader saw an addition half done, the sum is clamped to what the
 * buckets allow. */
double histogram_mean(const struct histogram *h);
/* The q-quantile (0 < q <= 1) by nearest rank: the value below or at which ceil(q n) values lie.
 * NaN when empty. */
double histogram_quantile(const struct histogram *h, double q);
/* The same quantile by interpolation, as if the values were spread evenly over their bucket, *width wide. It
 * moves smoothly, but may be further off than the middle of the bucket. */
double histogram_quantile_inside(const struct histogram *h, double q, double *width);
/* Least and largest value: exact where known, else the middle of the bucket; NaN when empty. */
double histogram_min(const struct histogram *h);
double histogram_max(const struct histogram *h);
/* Adds the values to n bins of two an octave: bin b takes those from first * 2^(b/2) on (a value is taken
 * as the middle of its bucket), the first and the last also what lies beyond. A full bin stays full. */
void histogram_spread(const struct histogram *h, double first, uint32_t *bins, size_t n);
uint32_t histogram_bucket_of(uint64_t value);
uint64_t histogram_bucket_low(uint32_t bucket);  /* smallest value of a bucket */
uint64_t histogram_bucket_high(uint32_t bucket); /* largest value of a bucket */

/* Sparse form: version byte, varint sum, then for each used bucket varint gap and varint count; at the end,
 * where the largest value is known, a varint of how far it lies above the beginning of its bucket. encode
 * writes at most `cap` bytes and returns the length needed (0 for an empty histogram); HISTOGRAM_ENCODED_MAX
 * always suffices. decode returns 0, or -1 on bytes that are no histogram. */
enum { HISTOGRAM_ENCODED_MAX = 21 + HISTOGRAM_BUCKETS * 12 };
size_t histogram_encode(const struct histogram *h, uint8_t *out, size_t cap);
int histogram_decode(struct histogram *h, const uint8_t *data, size_t len);
/* Reads a coded histogram without decoding it: the number of values, and in below[i] how many of them lie in
 * buckets up to bucket[i]; buckets ascend. 0, or -1 on bytes that are no histogram. */
int histogram_coded_below(const uint8_t *data, size_t len, const uint32_t *bucket, size_t n, uint64_t *below,
                          uint64_t *count);

#endif
