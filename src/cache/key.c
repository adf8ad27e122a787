#include "cache/key.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"

#define OWNER_BITS 56
#define OWNER_MASK ((UINT64_C(1) << OWNER_BITS) - 1)
enum { TEXT_BYTES = 15, TEXT_BYTES_HI = 7, HASH_DIGITS_HI = 14, HASH_DIGITS_LO = 16 };

static const char hex_digits[] = "0123456789abcdef";

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

/* "12" and "12@3", whose cycle is not 0. */
static bool trace_parse(const char *text, struct cache_key *key) {
    uint64_t index, cycle = 0;
    const char *rest = number_read(text, &index);
    if (rest && *rest == '@') {
        rest = number_read(rest + 1, &cycle);
        if (cycle == 0 || cycle > OWNER_MASK) return false;
    }
    if (!rest || *rest != '\0') return false;
    *key = cache_key_make(CACHE_KEY_TRACE, cycle, index);
    return true;
}

/* "<owner>/<index>" of a kind. */
static bool pair_parse(const char *text, enum cache_key_kind kind, struct cache_key *key) {
    uint64_t owner, index;
    const char *rest = number_read(text, &owner);
    if (!rest || *rest != '/' || owner > OWNER_MASK) return false;
    rest = number_read(rest + 1, &index);
    if (!rest || *rest != '\0') return false;
    *key = cache_key_make(kind, owner, index);
    return true;
}

static bool prompt_parse(const char *text, struct cache_key *key) {
    uint64_t index;
    const char *rest = number_read(text, &index);
    if (!rest || *rest != '\0') return pair_parse(text, CACHE_KEY_PROMPT_BLOCK, key);
    *key = cache_key_make(CACHE_KEY_PROMPT, 0, index);
    return true;
}

/* 14 and 16 hexadecimal digits. */
static bool hash_parse(const char *text, struct cache_key *key) {
    uint64_t half[2] = {0};
    if (strlen(text) != HASH_DIGITS_HI + HASH_DIGITS_LO) return false;
    for (int i = 0; text[i]; i++) {
        const char *digit = strchr(hex_digits, text[i]);
        if (!digit) return false;
        uint64_t *to = &half[i >= HASH_DIGITS_HI];
        *to = *to << 4 | (uint64_t)(digit - hex_digits);
    }
    *key = cache_key_make(CACHE_KEY_HASH, half[0], half[1]);
    return true;
}

/* The form that cache_key_text() gives a key that is no text. */
static bool printed_parse(const char *text, struct cache_key *key) {
    if (strncmp(text, "prompt-", 7) == 0) return prompt_parse(text + 7, key);
    if (strncmp(text, "stored-", 7) == 0) return pair_parse(text + 7, CACHE_KEY_STORED, key);
    if (strncmp(text, "doc-", 4) == 0) return pair_parse(text + 4, CACHE_KEY_CHUNK, key);
    if (text[0] == '#') return hash_parse(text + 1, key);
    return trace_parse(text, key) || pair_parse(text, CACHE_KEY_TURN, key);
}

int cache_key_parse(const char *text, struct cache_key *key) {
    size_t len = strlen(text);
    if (len == 0) return -1;
    if (printed_parse(text, key)) return 0;
    if (len <= TEXT_BYTES)
        *key = text_pack(text, len);
    else
        *key = cache_key_make(CACHE_KEY_HASH, hash_bytes(text, len, 1), hash_bytes(text, len, 2));
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
        if (owner == 0)
            snprintf(buf, len, "%" PRIu64, index);
        else
            snprintf(buf, len, "%" PRIu64 "@%" PRIu64, index, owner);
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
    case CACHE_KEY_HASH:
        snprintf(buf, len, "#%0*" PRIx64 "%0*" PRIx64, HASH_DIGITS_HI, owner, HASH_DIGITS_LO, index);
        break;
    default:
        snprintf(buf, len, "?");
        break;
    }
    return buf;
}
