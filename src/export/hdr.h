/* Our histograms in the form that libraries named HdrHistogram exchange: their V2 encoding, compressed, in
 * base64. After https://github.com/HdrHistogram/HdrHistogram, AbstractHistogram (encoding) and
 * ZigZagEncoding; checked against the Python library of that family. */
#ifndef KVF_EXPORT_HDR_H
#define KVF_EXPORT_HDR_H

#include <stdint.h>

#include "base/buf.h"
#include "metrics/histogram.h"

/* Parameters of the reference format: two significant digits, values from 1 to below 2^46. Below 256 each
 * value has a place of its own there; above, an octave has 128 places, two for each of our buckets. A bucket
 * is written at the one below its middle, so that their percentiles, which are the highest value of a place,
 * come to our own but for a nanosecond: at most 0.79 % off. */
enum { HDR_DIGITS = 2 };

struct hdr;                   /* what writing many of them needs; one thread at a time */
struct hdr *hdr_new(void);    /* ends the program without memory */
void hdr_free(struct hdr *h); /* takes NULL */
/* Adds the encoding, without what compresses it, to `out`. */
void hdr_encode(const struct histogram *histogram, struct buf *out);
/* Adds its compressed form as base64. */
void hdr_add(struct hdr *h, const struct histogram *histogram, struct buf *out);
/* The largest value of a histogram after this encoding; 0 when empty. */
uint64_t hdr_max(const struct histogram *histogram);

#endif
