#include "export/hdr.h"

#include <stdlib.h>
#include <string.h>

#include <openssl/evp.h>
#include <zlib.h>

#include "base/mem.h"

enum {
    COOKIE = 0x1c849303 | 0x10, /* V2, whatever the size of a word */
    COOKIE_COMPRESSED = 0x1c849304 | 0x10,
    HALF_BITS = 7, /* 2^8 > 2 * 10^HDR_DIGITS places for the first values, half of them for each octave */
    LINEAR = 2 << HALF_BITS
};
#define HIGHEST ((UINT64_C(1) << HISTOGRAM_MAX_BITS) - 1)

struct hdr {
    z_stream deflater;
    struct buf plain, packed;
};

struct hdr *hdr_new(void) {
    struct hdr *h = mem_zalloc(1, sizeof *h);
    if (deflateInit(&h->deflater, Z_BEST_COMPRESSION) != Z_OK) mem_exhausted(sizeof h->deflater);
    return h;
}

void hdr_free(struct hdr *h) {
    if (!h) return;
    deflateEnd(&h->deflater);
    buf_free(&h->plain);
    buf_free(&h->packed);
    free(h);
}

static void add_big_endian(uint64_t v, int bytes, struct buf *out) {
    uint8_t text[8];
    for (int i = 0; i < bytes; i++) text[i] = (uint8_t)(v >> (8 * (bytes - 1 - i)));
    buf_bytes(out, text, (size_t)bytes);
}

/* Signs go to the lowest bit; seven bits a byte, least first, the high bit on all but the last; a ninth byte
 * holds eight. */
static void add_zigzag(int64_t n, struct buf *out) {
    uint64_t v = (uint64_t)n << 1 ^ (uint64_t)(n >> 63);
    uint8_t text[9];
    size_t len = 0;
    for (; v >= 0x80 && len < 8; v >>= 7) text[len++] = (uint8_t)(v | 0x80);
    text[len++] = (uint8_t)v;
    buf_bytes(out, text, len);
}

/* The place of a value; each octave beyond the first places follows the one below. */
static uint64_t place_of(uint64_t value) {
    if (value < LINEAR) return value;
    uint64_t shift = 63 - (uint64_t)__builtin_clzll(value) - HALF_BITS;
    return (shift << HALF_BITS) + (value >> shift);
}

static uint64_t representative(uint32_t bucket) {
    return (histogram_bucket_low(bucket) + histogram_bucket_high(bucket)) / 2;
}

/* Counts from place 0 on; places without any are one negative number, their count, or a plain 0. */
static void add_counts(const struct histogram *h, struct buf *out) {
    uint64_t next = 0;
    for (uint32_t b = h->lo; b < h->hi; b++) {
        if (!h->bucket[b]) continue;
        uint64_t place = place_of(representative(b)), gap = place - next;
        if (gap) add_zigzag(gap == 1 ? 0 : -(int64_t)gap, out);
        add_zigzag((int64_t)h->bucket[b], out);
        next = place + 1;
    }
}

void hdr_encode(const struct histogram *h, struct buf *out) {
    uint64_t one; /* what integers are multiplied by */
    const double ratio = 1;
    struct buf counts = {0};
    memcpy(&one, &ratio, sizeof one);
    add_counts(h, &counts);
    add_big_endian(COOKIE, 4, out);
    add_big_endian(counts.len, 4, out);
    add_big_endian(0, 4, out); /* no offset of indexes */
    add_big_endian(HDR_DIGITS, 4, out);
    add_big_endian(1, 8, out);
    add_big_endian(HIGHEST, 8, out);
    add_big_endian(one, 8, out);
    buf_bytes(out, counts.data, counts.len);
    buf_free(&counts);
}

void hdr_add(struct hdr *h, const struct histogram *histogram, struct buf *out) {
    h->plain.len = h->packed.len = 0;
    hdr_encode(histogram, &h->plain);
    size_t bound = deflateBound(&h->deflater, h->plain.len);
    uint8_t *packed = mem_alloc(bound);
    deflateReset(&h->deflater);
    h->deflater.next_in = (Bytef *)h->plain.data;
    h->deflater.avail_in = (uInt)h->plain.len;
    h->deflater.next_out = packed;
    h->deflater.avail_out = (uInt)bound;
    if (deflate(&h->deflater, Z_FINISH) != Z_STREAM_END) abort(); /* there is room for all of it */
    size_t len = bound - h->deflater.avail_out;
    add_big_endian(COOKIE_COMPRESSED, 4, &h->packed);
    add_big_endian(len, 4, &h->packed);
    buf_bytes(&h->packed, packed, len);
    free(packed);

    unsigned char *text = mem_alloc(4 * ((h->packed.len + 2) / 3) + 1);
    int letters = EVP_EncodeBlock(text, (const unsigned char *)h->packed.data, (int)h->packed.len);
    buf_bytes(out, text, (size_t)letters);
    free(text);
}

uint64_t hdr_max(const struct histogram *h) {
    if (!histogram_count(h)) return 0;
    uint32_t last = h->hi - 1;
    while (last > h->lo && !h->bucket[last]) last--;
    uint64_t value = representative(last);
    if (value < LINEAR) return value;
    uint64_t shift = 63 - (uint64_t)__builtin_clzll(value) - HALF_BITS;
    return value | ((UINT64_C(1) << shift) - 1);
}
