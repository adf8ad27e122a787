/* The reader of JSON, over memory and through a buffer of 16 bytes, beside a reader that was written
 * by others: what one takes the other takes, and both read the same. */
#define JSON_OBJECT JANSSON_OBJECT
#define JSON_ARRAY  JANSSON_ARRAY
#define JSON_STRING JANSSON_STRING
#define JSON_TRUE   JANSSON_TRUE
#define JSON_FALSE  JANSSON_FALSE
#define JSON_NULL   JANSSON_NULL
#include <jansson.h>
#undef JSON_OBJECT
#undef JSON_ARRAY
#undef JSON_STRING
#undef JSON_TRUE
#undef JSON_FALSE
#undef JSON_NULL

#include "base/hash.h"
#include "fuzz.h"
#include "workload/format/json.h"

struct input {
    const uint8_t *data;
    size_t size, at;
};

static long input_read(void *ctx, char *buf, size_t len) {
    struct input *in = ctx;
    size_t n = in->size - in->at < len ? in->size - in->at : len;
    memcpy(buf, in->data + in->at, n);
    in->at += n;
    return (long)n;
}

/* The whole string as its pieces give it. */
static uint8_t *string_read(struct json *j, size_t size, size_t *len) {
    uint8_t *text = malloc(size * 3 + 4); /* U+FFFD for each wrong byte */
    const char *piece;
    size_t n, chars = 0;
    fuzz_require(text != NULL);
    for (*len = 0; json_piece(j, &piece, &n); *len += n) {
        fuzz_require(n > 0 && *len + n <= size * 3);
        memcpy(text + *len, piece, n);
        for (size_t i = 0; i < n; i++) chars += (piece[i] & 0xc0) != 0x80;
    }
    fuzz_require(j->failed || (j->bytes == *len && j->chars == chars));
    return text;
}

/* All tokens as one number, the errors left out; each second string is measured instead of read. */
static uint64_t tokens_read(struct json *j, size_t size, bool measure) {
    uint64_t hash = 1, strings = 0, tokens = 0;
    enum json_token token;
    do {
        token = json_next(j);
        fuzz_require(json_depth(j) <= JSON_DEPTH_MAX && ++tokens <= size + 2);
        uint64_t len = 0, sum[2] = {0};
        if (token == JSON_STRING && measure && strings++ % 2) {
            if (json_measure(j)) memcpy(sum, (uint64_t[]){j->bytes, j->chars}, sizeof sum);
        } else if (token == JSON_STRING) {
            size_t bytes;
            uint8_t *text = string_read(j, size, &bytes);
            if (!j->failed) sum[0] = hash_bytes(text, bytes, 0);
            free(text);
        } else if (token == JSON_KEY || token == JSON_NUMBER) {
            const char *text = json_text(j, &len);
            if (text) sum[0] = hash_bytes(text, len < JSON_TEXT_MAX ? len : JSON_TEXT_MAX, len);
        }
        if (j->failed) token = JSON_ERROR;
        hash = hash_bytes(sum, sizeof sum, hash + token);
    } while (token != JSON_END && token != JSON_ERROR);
    fuzz_require((token == JSON_ERROR) == (json_error(j)[0] != '\0'));
    if (token == JSON_ERROR) fuzz_require_sentence(json_error(j));
    return hash;
}

/* The value that begins with `token` is this one. */
static void value_same(struct json *j, enum json_token token, const json_t *v, size_t size) {
    const char *key;
    json_t *member;
    size_t len;
    uint64_t number, key_len;
    switch (json_typeof(v)) {
    case JANSSON_OBJECT:
        fuzz_require(token == JSON_OBJECT);
        json_object_foreach((json_t *)v, key, member) {
            fuzz_require(json_next(j) == JSON_KEY);
            const char *text = json_text(j, &key_len);
            fuzz_require(text && key_len == strlen(key) && strncmp(text, key, JSON_TEXT_MAX) == 0);
            value_same(j, json_next(j), member, size);
        }
        fuzz_require(json_next(j) == JSON_OBJECT_END);
        return;
    case JANSSON_ARRAY:
        fuzz_require(token == JSON_ARRAY);
        json_array_foreach(v, len, member) value_same(j, json_next(j), member, size);
        fuzz_require(json_next(j) == JSON_ARRAY_END);
        return;
    case JANSSON_STRING: {
        fuzz_require(token == JSON_STRING);
        uint8_t *text = string_read(j, size, &len);
        fuzz_require(len == json_string_length(v) && memcmp(text, json_string_value(v), len) == 0);
        free(text);
        return;
    }
    case JSON_INTEGER:
        fuzz_require(token == JSON_NUMBER);
        if (json_integer_value(v) < 0) {
            fuzz_require(json_fixed(j, 0, UINT64_MAX, &number) == JSON_NUMBER_NEGATIVE);
        } else {
            fuzz_require(json_fixed(j, 0, UINT64_MAX, &number) == JSON_NUMBER_OK);
            fuzz_require(number == (uint64_t)json_integer_value(v));
        }
        return;
    case JSON_REAL:
        fuzz_require(token == JSON_NUMBER);
        return;
    case JANSSON_TRUE:
        fuzz_require(token == JSON_TRUE);
        return;
    case JANSSON_FALSE:
        fuzz_require(token == JSON_FALSE);
        return;
    case JANSSON_NULL:
        fuzz_require(token == JSON_NULL);
        return;
    }
}

/* Whether the other reader stopped at what is allowed, but more than it can hold. */
static bool beyond_the_other(const json_error_t *e) {
    enum json_error_code code = json_error_code(e);
    return code == json_error_numeric_overflow || code == json_error_null_byte_in_key ||
           code == json_error_duplicate_key || code == json_error_stack_overflow;
}

static void beside_the_other(const uint8_t *data, size_t size, bool taken) {
    json_error_t e;
    struct json j;
    if (memchr(data, '\0', size)) return; /* an end to the other */
    /* a byte-order mark is let through here, and not there */
    size_t mark = size >= 3 && memcmp(data, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    json_t *v = json_loadb((const char *)data + mark, size - mark,
                           JSON_DECODE_ANY | JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &e);
    if (!v) {
        if (taken && !beyond_the_other(&e)) fprintf(stderr, "taken, but: %s\n", e.text);
        fuzz_require(!taken || beyond_the_other(&e));
        return;
    }
    if (taken) {
        json_open_memory(&j, data, size);
        value_same(&j, json_next(&j), v, size);
        fuzz_require(json_next(&j) == JSON_END);
    } else {
        json_open_memory(&j, data, size);
        tokens_read(&j, size, false);
        bool limit = strstr(json_error(&j), "deeper") || strstr(json_error(&j), "number");
        if (!limit) fprintf(stderr, "not taken: %s\n", json_error(&j));
        fuzz_require(limit);
    }
    json_decref(v);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct json j;
    struct input in = {.data = data, .size = size};
    uint64_t hash[2];
    for (int lenient = 0; lenient < 2; lenient++) {
        bool taken = false;
        for (int measure = 0; measure < 2; measure++) {
            json_open_memory(&j, data, size);
            j.lenient = lenient;
            hash[0] = tokens_read(&j, size, measure);
            taken = !j.failed;
            in.at = 0;
            json_open_stream(&j, input_read, &in, 16);
            j.lenient = lenient;
            hash[1] = tokens_read(&j, size, measure);
            json_close(&j);
            fuzz_require(hash[0] == hash[1]);
        }
        if (!lenient) beside_the_other(data, size, taken);
    }
    json_open_memory(&j, data, size);
    j.lines = true;
    tokens_read(&j, size, false);
    return 0;
}
