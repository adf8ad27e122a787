#include "study/capture/msgpack.h"

#include <endian.h>
#include <string.h>

static bool big_endian(struct msgpack *m, unsigned bytes, uint64_t *out) {
    if ((size_t)(m->end - m->at) < bytes) return false;
    *out = 0;
    while (bytes-- > 0) *out = *out << 8 | *m->at++;
    return true;
}

/* Text, binary and extensions: `count` bytes that must be there. */
static bool bytes_take(struct msgpack *m, struct msgpack_item *item, uint64_t count) {
    if (count > (size_t)(m->end - m->at)) return false;
    item->bytes = m->at;
    item->count = count;
    m->at += count;
    return true;
}

static bool real_take(struct msgpack *m, struct msgpack_item *item, unsigned bytes) {
    uint64_t bits;
    item->kind = MSGPACK_FLOAT;
    if (!big_endian(m, bytes, &bits)) return false;
    if (bytes == 4) {
        uint32_t low = (uint32_t)bits;
        float single;
        memcpy(&single, &low, sizeof single);
        item->real = (double)single;
    } else {
        memcpy(&item->real, &bits, sizeof item->real);
    }
    return true;
}

/* Codes from 0xc0 to 0xdf. */
static bool coded(struct msgpack *m, struct msgpack_item *item, uint8_t code) {
    uint64_t n = 0;
    if (code == 0xc0 || code == 0xc1) {
        item->kind = MSGPACK_NIL;
        return code == 0xc0;
    }
    if (code <= 0xc3) {
        *item = (struct msgpack_item){.kind = MSGPACK_BOOL, .number = code & 1};
        return true;
    }
    if (code <= 0xc6 || (code >= 0xd9 && code <= 0xdb)) {
        item->kind = MSGPACK_BYTES;
        return big_endian(m, 1u << (code <= 0xc6 ? code - 0xc4 : code - 0xd9), &n) && bytes_take(m, item, n);
    }
    if (code <= 0xc9 ||
        (code >= 0xd4 && code <= 0xd8)) { /* extensions: a byte of their kind, and their bytes */
        item->kind = MSGPACK_OTHER;
        if (code <= 0xc9 ? !big_endian(m, 1u << (code - 0xc7), &n) : !(n = 1u << (code - 0xd4))) return false;
        return bytes_take(m, item, n + 1);
    }
    if (code <= 0xcb) return real_take(m, item, code == 0xca ? 4 : 8);
    if (code <= 0xd3) {
        unsigned bytes = 1u << (code & 3);
        item->kind = MSGPACK_INT;
        if (!big_endian(m, bytes, &item->number)) return false;
        if (code >= 0xd0 && bytes < 8 && item->number >> (8 * bytes - 1))
            item->number -= UINT64_C(1) << (8 * bytes);
        return true;
    }
    item->kind = code <= 0xdd ? MSGPACK_ARRAY : MSGPACK_MAP;
    return big_endian(m, code & 1 ? 4 : 2, &item->count);
}

bool msgpack_next(struct msgpack *m, struct msgpack_item *item) {
    *item = (struct msgpack_item){.kind = MSGPACK_INT};
    if (m->at == m->end) return false;
    uint8_t code = *m->at++;
    if (code <= 0x7f || code >= 0xe0) {
        item->number = code <= 0x7f ? code : (uint64_t)(int64_t)(int8_t)code;
        return true;
    }
    if (code >= 0xc0) return coded(m, item, code);
    item->kind = code <= 0x8f ? MSGPACK_MAP : code <= 0x9f ? MSGPACK_ARRAY : MSGPACK_BYTES;
    if (item->kind == MSGPACK_BYTES) return bytes_take(m, item, code & 0x1f);
    item->count = code & 0x0f;
    return true;
}

/* Lists of tokens are most of what an engine sends: integers are read and passed without an item. */
enum { OTHER_CODE = 0xff };

static unsigned integer_bytes(uint8_t code) {
    if (code <= 0x7f || code >= 0xe0) return 0;
    return code >= 0xcc && code <= 0xd3 ? 1u << (code & 3) : OTHER_CODE;
}

bool msgpack_skip(struct msgpack *m) {
    for (uint64_t left = 1; left > 0; left--) { /* each takes a byte at least, so that this ends */
        struct msgpack_item item;
        unsigned bytes = m->at < m->end ? integer_bytes(*m->at) : OTHER_CODE;
        if (bytes != OTHER_CODE && (size_t)(m->end - m->at) > bytes) {
            m->at += 1 + bytes;
            continue;
        }
        if (!msgpack_next(m, &item)) return false;
        left += item.kind == MSGPACK_ARRAY ? item.count : item.kind == MSGPACK_MAP ? 2 * item.count : 0;
    }
    return true;
}

/* Integers as they stand, until one is near the end or is written otherwise. */
static unsigned numbers_quick(struct msgpack *m, uint64_t *out, unsigned count) {
    const uint8_t *at = m->at;
    unsigned n = 0;
    for (; n < count && m->end - at > 8; n++) {
        uint64_t word;
        unsigned bytes = integer_bytes(*at);
        if (bytes == 0)
            out[n] = (uint64_t)(int64_t)(int8_t)*at;
        else if (bytes == OTHER_CODE || *at > 0xcf)
            break;
        else
            out[n] = be64toh((memcpy(&word, at + 1, sizeof word), word)) >> (64 - 8 * bytes);
        at += 1 + bytes;
    }
    m->at = at;
    return n;
}

bool msgpack_numbers(struct msgpack *m, uint64_t *out, unsigned count) {
    for (unsigned n = 0; (n += numbers_quick(m, out + n, count - n)) < count; n++) {
        struct msgpack from = *m;
        struct msgpack_item item;
        if (!msgpack_next(&from, &item) || !msgpack_skip(m)) return false;
        out[n] = item.kind == MSGPACK_INT ? item.number : 0;
    }
    return true;
}

bool msgpack_is(const struct msgpack_item *item, const char *text) {
    return item->kind == MSGPACK_BYTES && item->count == strlen(text) &&
           memcmp(item->bytes, text, item->count) == 0;
}
