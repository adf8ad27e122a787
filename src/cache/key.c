#include "cache/key.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define OWNER_BITS 56
#define OWNER_MASK ((UINT64_C(1) << OWNER_BITS) - 1)
enum { TEXT_BYTES = 15, TEXT_BYTES_HI = 7 };

/* Reads digits as people write a number: no sign, no leading zeros, so that "7" and "007" stay two
 * keys. Returns what follows, or NULL. */
static const char *number_read(const char *text, uint64_t *value) {
    if (*text < '0' || *text > '9') return NULL;
    if (text[0] == '0' && text[1] >= '0' && text[1] <= '9') return NULL;
    uint64_t v = 0;
    for (; *text >= '0' && *text <= '9'; text++) {
        unsigned digit = (unsigned)(*text - '0');
        if (v > (UINT64_MAX - digit) / 10) return NULL;
        v = v * 10 + digit;
    }
    *value = v;
    return text;
}

/* The first seven bytes stand below the kind, the other eight fill lo; unused bytes are 0. */
static struct cache_key text_pack(const char *text, size_t len) {
    unsigned char raw[TEXT_BYTES] = {0};
    memcpy(raw, text, len);
    uint64_t hi = 0, lo = 0;
    for (int i = 0; i < TEXT_BYTES_HI; i++) hi = hi << 8 | raw[i];
    for (int i = TEXT_BYTES_HI; i < TEXT_BYTES; i++) lo = lo << 8 | raw[i];
    return cache_key_make(CACHE_KEY_TEXT, hi, lo);
}

static void text_unpack(struct cache_key key, char out[TEXT_BYTES + 1]) {
    for (int i = 0; i < TEXT_BYTES_HI; i++) out[i] = (char)(key.hi >> (8 * (TEXT_BYTES_HI - 1 - i)) & 0xff);
    for (int i = TEXT_BYTES_HI; i < TEXT_BYTES; i++)
        out[i] = (char)(key.lo >> (8 * (TEXT_BYTES - 1 - i)) & 0xff);
    out[TEXT_BYTES] = '\0';
}

int cache_key_parse(const char *text, struct cache_key *key) {
    uint64_t first, second;
    const char *rest = number_read(text, &first);
    if (rest && *rest == '\0') {
        *key = cache_key_make(CACHE_KEY_TRACE, 0, first);
        return 0;
    }
    if (rest && *rest == '/' && first <= OWNER_MASK) {
        rest = number_read(rest + 1, &second);
        if (rest && *rest == '\0') {
            *key = cache_key_make(CACHE_KEY_TURN, first, second);
            return 0;
        }
    }
    size_t len = strnlen(text, TEXT_BYTES + 1);
    if (len == 0 || len > TEXT_BYTES) return -1;
    *key = text_pack(text, len);
    return 0;
}

char *cache_key_text(struct cache_key key, char *buf, size_t len) {
    uint64_t owner = key.hi & OWNER_MASK, index = key.lo;
    char text[TEXT_BYTES + 1];
    switch (cache_key_kind(key)) {
    case CACHE_KEY_TURN:
    case CACHE_KEY_BLOCK:
        snprintf(buf, len, "%" PRIu64 "/%" PRIu64, owner, index);
        break;
    case CACHE_KEY_PROMPT:
        snprintf(buf, len, "prompt-%" PRIu64, index);
        break;
    case CACHE_KEY_PROMPT_BLOCK:
        snprintf(buf, len, "prompt-%" PRIu64 "/%" PRIu64, owner, index);
        break;
    case CACHE_KEY_TRACE:
        snprintf(buf, len, "%" PRIu64, index);
        break;
    case CACHE_KEY_STORED:
        snprintf(buf, len, "stored-%" PRIu64 "/%" PRIu64, owner, index);
        break;
    case CACHE_KEY_CHUNK:
        snprintf(buf, len, "doc-%" PRIu64 "/%" PRIu64, owner, index);
        break;
    case CACHE_KEY_FILL:
        snprintf(buf, len, "fill-%" PRIu64, index);
        break;
    case CACHE_KEY_TEXT:
        text_unpack(key, text);
        snprintf(buf, len, "%s", text);
        break;
    default:
        snprintf(buf, len, "?");
        break;
    }
    return buf;
}
