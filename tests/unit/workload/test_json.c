#include <inttypes.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "workload/format/json.h"

/* Text that is handed out a few bytes at a time, through the smallest buffer there is. */
struct drip {
    const char *data;
    size_t len, at, step;
};

static long drip_read(void *ctx, char *buf, size_t len) {
    struct drip *d = ctx;
    size_t n = d->len - d->at;
    if (n > d->step) n = d->step;
    if (n > len) n = len;
    memcpy(buf, d->data + d->at, n);
    d->at += n;
    return (long)n;
}

/* Every token in words, strings whole or only measured, up to the end or the error, whose sentence is the
 * last word. */
static void transcribe(struct json *j, bool measure, struct buf *out) {
    static const char *const words[] = {
        [JSON_OBJECT] = "{",  [JSON_OBJECT_END] = "}", [JSON_ARRAY] = "[",  [JSON_ARRAY_END] = "]",
        [JSON_TRUE] = "true", [JSON_FALSE] = "false",  [JSON_NULL] = "null"};
    for (;;) {
        enum json_token t = json_next(j);
        const char *piece;
        size_t len;
        if (out->len > 0) buf_add(out, " ");
        switch (t) {
        case JSON_END:
            buf_add(out, ".");
            return;
        case JSON_ERROR:
            buf_add(out, json_error(j));
            return;
        case JSON_STRING:
            buf_add(out, "'");
            if (measure) json_measure(j);
            while (json_piece(j, &piece, &len)) buf_bytes(out, piece, len);
            buf_addf(out, "'%" PRIu64 "/%" PRIu64, j->bytes, j->chars);
            break;
        case JSON_KEY:
            buf_addf(out, "%s:", json_text(j, NULL));
            break;
        case JSON_NUMBER:
            buf_add(out, json_text(j, NULL));
            break;
        default:
            buf_add(out, words[t]);
        }
    }
}

static void transcript_through(const char *data, size_t len, bool lines, bool lenient, size_t step,
                               bool measure, struct buf *out) {
    struct drip d = {data, len, 0, step};
    struct json j;
    if (step > 0)
        json_open_stream(&j, drip_read, &d, 16);
    else
        json_open_memory(&j, data, len);
    j.lines = lines;
    j.lenient = lenient;
    transcribe(&j, measure, out);
    assert_int_equal(json_next(&j), json_error(&j)[0] ? JSON_ERROR : JSON_END);
    json_close(&j);
}

/* A transcript without what stands between the quotes of its strings, which hold no quote. */
static char *without_strings(const char *text) {
    char *out = strdup(text), *to = out;
    bool inside = false;
    assert_non_null(out);
    for (const char *p = text; *p; p++) {
        if (*p == '\'') inside = !inside;
        if (!inside || *p == '\'') *to++ = *p;
    }
    *to = '\0';
    return out;
}

/* The same tokens from memory and through buffers whose borders fall everywhere; the same lengths when
 * strings are only measured. */
static void transcript_expect(const char *data, size_t len, bool lines, bool lenient, const char *want) {
    char *measured = without_strings(want);
    for (size_t step = 0; step < 20; step++) {
        for (int measure = 0; measure < 2; measure++) {
            struct buf out = {0};
            transcript_through(data, len, lines, lenient, step, measure, &out);
            if (strcmp(buf_text(&out), measure ? measured : want) != 0)
                fail_msg("%zu bytes at a time: %s instead of %s", step, buf_text(&out), want);
            buf_free(&out);
        }
    }
    free(measured);
}
#define READS(data, want) transcript_expect(data, sizeof data - 1, false, false, want)
#define LINES(data, want) transcript_expect(data, sizeof data - 1, true, false, want)

static void values_of_every_kind(void **state) {
    (void)state;
    READS("true", "true .");
    READS("  false\r\n\t", "false .");
    READS("null", "null .");
    READS("0", "0 .");
    READS("-12.50e+7", "-12.50e+7 .");
    READS("\"\"", "''0/0 .");
    READS("[]", "[ ] .");
    READS("{}", "{ } .");
    READS("\xef\xbb\xbf[1]", "[ 1 ] .");
    READS("[1, [2, 3], {}, \"x\", [[]]]", "[ 1 [ 2 3 ] { } 'x'1/1 [ [ ] ] ] .");
    READS("{\"a\": 1,\n \"b\" : {\"c\":[true,null]}, \"\":\"d\"}",
          "{ a: 1 b: { c: [ true null ] } : 'd'1/1 } .");
}

/* Code points counted by hand: each escape, each pair and each sequence is one. */
static void strings(void **state) {
    (void)state;
    READS("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "'\"\\/\b\f\n\r\t'8/8 .");
    READS("\"\\u0041\\u00e9\\u20ac\\uD83D\\uDE00\"", "'A\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80'10/4 .");
    READS("\"caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80!\"",
          "'caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80!'15/9 .");
    READS("\"\xf4\x8f\xbf\xbf\xed\x9f\xbf\xee\x80\x80\x7f\"",
          "'\xf4\x8f\xbf\xbf\xed\x9f\xbf\xee\x80\x80\x7f'11/4 .");
    READS("[\"abcdefghijklmnopqrstuvwxyz{}[],:0\", \"{\\\"a\\\": 1}\"]",
          "[ 'abcdefghijklmnopqrstuvwxyz{}[],:0'33/33 '{\"a\": 1}'8/8 ] .");
    struct json j;
    json_open_memory(&j, "\"a\\u0000b\"", 10);
    assert_int_equal(json_next(&j), JSON_STRING);
    uint64_t len;
    assert_memory_equal(json_text(&j, &len), "a\0b", 4);
    assert_int_equal(len, 3);
    assert_false(json_text_is(&j, "a"));
}

static void json_lines(void **state) {
    (void)state;
    LINES("{\"a\":1}\n{\"a\":2}\n\n[3]", "{ a: 1 } { a: 2 } [ 3 ] .");
    LINES("", ".");
    LINES(" \n\n", ".");
    LINES("1\n[", "1 [ line 2, byte 3: the text is cut short, with 1 objects and arrays open");
}

static void texts_that_are_no_json(void **state) {
    (void)state;
    READS("", "line 1, byte 0: there is nothing in it");
    READS("\n \n", "line 3, byte 3: there is nothing in it");
    READS("[", "[ line 1, byte 1: the text is cut short, with 1 objects and arrays open");
    READS("[{\"a\"", "[ { line 1, byte 5: the text is cut short, with 2 objects and arrays open");
    READS("[{\"a\":", "[ { a: line 1, byte 6: the text is cut short, with 2 objects and arrays open");
    READS("[{\"a\":1", "[ { a: 1 line 1, byte 7: the text is cut short, with 2 objects and arrays open");
    READS("[1,\n\"ab", "[ 1 'ab'2/2 line 2, byte 7: the text is cut short, with 1 objects and arrays open");
    READS("[\"ab\\", "[ 'ab'2/2 line 1, byte 4: the text is cut short, with 1 objects and arrays open");
    READS("[\"ab\\u12", "[ 'ab'2/2 line 1, byte 4: the text is cut short, with 1 objects and arrays open");
    READS("[\"ab\xe2\x82", "[ 'ab'2/2 line 1, byte 4: the text is cut short, with 1 objects and arrays open");
    READS("[tru", "[ line 1, byte 1: here stands neither a value of JSON nor the end of one");
    READS("[nul]", "[ line 1, byte 1: here stands neither a value of JSON nor the end of one");
    READS("[NaN]", "[ line 1, byte 1: here stands neither a value of JSON nor the end of one");
    READS("[1,]", "[ 1 line 1, byte 3: here stands neither a value of JSON nor the end of one");
    READS("[,1]", "[ line 1, byte 1: here stands neither a value of JSON nor the end of one");
    READS("'a'", "line 1, byte 0: here stands neither a value of JSON nor the end of one");
    READS("[1 2]", "[ 1 line 1, byte 3: a comma or the end of the array is missing");
    READS("[1}", "[ 1 line 1, byte 2: a comma or the end of the array is missing");
    READS("{\"a\":1]", "{ a: 1 line 1, byte 6: a comma or the end of the object is missing");
    READS("{\"a\":1 \"b\":2}", "{ a: 1 line 1, byte 7: a comma or the end of the object is missing");
    READS("{\"a\" 1}", "{ line 1, byte 5: a key is not followed by a colon");
    READS("{a:1}", "{ line 1, byte 1: a key in quotes is missing");
    READS("{\"a\":1,}", "{ a: 1 line 1, byte 7: a key in quotes is missing");
    READS("{1:1}", "{ line 1, byte 1: a key in quotes is missing");
    READS("{\"a\":}", "{ a: line 1, byte 5: here stands neither a value of JSON nor the end of one");
    READS("1 2", "1 line 1, byte 2: there is more text behind the value");
    READS("{}\n{}", "{ } line 2, byte 3: there is more text behind the value");
    READS("]", "line 1, byte 0: here stands neither a value of JSON nor the end of one");
    READS("[1\0]", "[ 1 line 1, byte 2: a comma or the end of the array is missing");
    READS("[\0]", "[ line 1, byte 1: here stands a NUL byte; this is no text");
    READS("[\xff]", "[ line 1, byte 1: here stands neither a value of JSON nor the end of one");
}

static void wrong_numbers(void **state) {
    (void)state;
    READS("-", "line 1, byte 1: a number has no digits");
    READS("01", "line 1, byte 2: a number starts with 0");
    READS("1.", "line 1, byte 2: a number ends with its point");
    READS("1e", "line 1, byte 2: a number ends with its exponent");
    READS("1e+", "line 1, byte 3: a number ends with its exponent");
    READS("1.2.3", "line 1, byte 5: a number has a sign or a point in the wrong place");
    READS("1-2", "line 1, byte 3: a number has a sign or a point in the wrong place");
    READS("[1x]", "[ 1 line 1, byte 2: a comma or the end of the array is missing");
    char huge[1000], want[300];
    memset(huge, '9', sizeof huge);
    snprintf(want, sizeof want, "line 1, byte 255: a number has more than 255 characters");
    transcript_expect(huge, sizeof huge, false, false, want);
    huge[255] = ' ';
    snprintf(want, sizeof want, "%.255s .", huge);
    transcript_expect(huge, 256, false, false, want);
}

struct bad_string {
    const char *text;
    const char *sentence;
    const char *lenient; /* what is read all the same */
};

/* Strict: the reading ends. Lenient: it goes on, the fault is kept. */
static void wrong_strings(void **state) {
    (void)state;
    static const struct bad_string bad[] = {
        {"\"a\\qb\"", "line 1, byte 2: a backslash is followed by something that is no escape",
         "'a\xef\xbf\xbdqb'6/4 ."},
        {"\"a\\u12g4b\"", "line 1, byte 2: \\u is not followed by four hexadecimal digits",
         "'a\xef\xbf\xbd"
         "12g4b'9/7 ."},
        {"\"a\\ud83dxxxxxxx\"", "line 1, byte 2: \\ud83d is half of a surrogate pair",
         "'a\xef\xbf\xbdxxxxxxx'11/9 ."},
        {"\"a\\ud83d\\u0041\"", "line 1, byte 2: \\ud83d is half of a surrogate pair",
         "'a\xef\xbf\xbd"
         "A'5/3 ."},
        {"\"a\\uDE00 \"", "line 1, byte 2: \\ude00 is half of a surrogate pair", "'a\xef\xbf\xbd '5/3 ."},
        {"\"a\nb\"", "line 1, byte 2: a string has a control character in it (0x0a)",
         "'a\xef\xbf\xbd"
         "b'5/3 ."},
        {"\"a\x1f\"", "line 1, byte 2: a string has a control character in it (0x1f)",
         "'a\xef\xbf\xbd'4/2 ."},
        {"\"a\x80\"", "line 1, byte 2: a string has a byte in it that is not UTF-8 (0x80)",
         "'a\xef\xbf\xbd'4/2 ."},
        {"\"a\xc3(\"", "line 1, byte 2: a string has a byte in it that is not UTF-8 (0xc3)",
         "'a\xef\xbf\xbd('5/3 ."},
        {"\"a\xc0\xaf\"", "line 1, byte 2: a string has a byte in it that is not UTF-8 (0xc0)",
         "'a\xef\xbf\xbd\xef\xbf\xbd'7/3 ."},
        {"\"\xe0\x9f\xbf\"", "line 1, byte 1: a string has a byte in it that is not UTF-8 (0xe0)",
         "'\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd'9/3 ."},
        {"\"\xed\xa0\x80\"", "line 1, byte 1: a string has a byte in it that is not UTF-8 (0xed)",
         "'\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd'9/3 ."},
        {"\"\xf4\x90\x80\x80\"", "line 1, byte 1: a string has a byte in it that is not UTF-8 (0xf4)",
         "'\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd'12/4 ."},
        {"\"\xf0\x8f\xbf\xbf\"", "line 1, byte 1: a string has a byte in it that is not UTF-8 (0xf0)",
         "'\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd'12/4 ."},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct json j;
        transcript_expect(bad[i].text, strlen(bad[i].text), false, true, bad[i].lenient);
        json_open_memory(&j, bad[i].text, strlen(bad[i].text));
        assert_int_equal(json_next(&j), JSON_STRING);
        assert_null(json_text(&j, NULL));
        assert_string_equal(json_error(&j), bad[i].sentence);
        assert_int_equal(json_next(&j), JSON_ERROR);
        json_open_memory(&j, bad[i].text, strlen(bad[i].text));
        j.lenient = true;
        assert_int_equal(json_next(&j), JSON_STRING);
        assert_int_equal(json_next(&j), JSON_END);
        assert_string_equal(json_fault(&j), bad[i].sentence);
        json_fault_clear(&j);
        assert_string_equal(json_fault(&j), "");
    }
    READS("{\"a\0b\": 1}", "{ line 1, byte 3: a string has a NUL byte in it");
}

static void nesting(void **state) {
    (void)state;
    char data[2 * JSON_DEPTH_MAX + 3];
    struct json j;
    memset(data, '[', JSON_DEPTH_MAX + 1);
    memset(data + JSON_DEPTH_MAX + 1, ']', JSON_DEPTH_MAX + 1);
    json_open_memory(&j, data + 1, 2 * JSON_DEPTH_MAX);
    for (int i = 0; i < JSON_DEPTH_MAX; i++) assert_int_equal(json_next(&j), JSON_ARRAY);
    assert_int_equal(json_depth(&j), JSON_DEPTH_MAX);
    for (int i = 0; i < JSON_DEPTH_MAX; i++) assert_int_equal(json_next(&j), JSON_ARRAY_END);
    assert_int_equal(json_next(&j), JSON_END);
    json_open_memory(&j, data, sizeof data - 1);
    assert_int_equal(json_next(&j), JSON_ARRAY);
    assert_false(json_skip(&j, JSON_ARRAY));
    assert_string_equal(json_error(&j), "line 1, byte 64: values are nested deeper than 64");
}

static void skipping(void **state) {
    (void)state;
    static const char data[] = "{\"a\": {\"x\": [1, [2, \"]\"]]}, \"b\": \"s\", \"c\": [[], 7], \"d\": 8}";
    struct json j;
    json_open_memory(&j, data, sizeof data - 1);
    assert_int_equal(json_next(&j), JSON_OBJECT);
    assert_int_equal(json_next(&j), JSON_KEY);
    assert_true(json_skip(&j, JSON_KEY)); /* the whole of a */
    assert_int_equal(json_next(&j), JSON_KEY);
    assert_true(json_text_is(&j, "b"));
    assert_int_equal(json_next(&j), JSON_STRING);
    assert_true(json_skip(&j, JSON_STRING));
    assert_int_equal(json_next(&j), JSON_KEY);
    assert_int_equal(json_next(&j), JSON_ARRAY);
    assert_int_equal(json_next(&j), JSON_ARRAY);
    assert_true(json_leave(&j, 1)); /* out of both arrays */
    assert_int_equal(json_next(&j), JSON_KEY);
    assert_true(json_text_is(&j, "d"));
    assert_false(json_text_is(&j, "dd"));
    assert_true(json_leave(&j, 0));
    assert_int_equal(json_next(&j), JSON_END);
}

static enum json_number fixed(const char *text, unsigned decimals, uint64_t most, uint64_t *out) {
    struct json j;
    *out = 77;
    json_open_memory(&j, text, strlen(text));
    assert_int_equal(json_next(&j), JSON_NUMBER);
    return json_fixed(&j, decimals, most, out);
}

static void numbers(void **state) {
    (void)state;
    static const struct {
        const char *text;
        unsigned decimals;
        enum json_number kind;
        uint64_t value;
    } rows[] = {
        {"0", 0, JSON_NUMBER_OK, 0},
        {"-0.0", 0, JSON_NUMBER_OK, 0},
        {"18446744073709551615", 0, JSON_NUMBER_OK, UINT64_MAX},
        {"18446744073709551616", 0, JSON_NUMBER_LARGE, 77},
        {"99999999999999999999999999", 0, JSON_NUMBER_LARGE, 77},
        {"1e400", 0, JSON_NUMBER_LARGE, 77},
        {"0e400", 0, JSON_NUMBER_OK, 0},
        {"1e99999999999999999999", 3, JSON_NUMBER_LARGE, 77},
        {"-1", 0, JSON_NUMBER_NEGATIVE, 77},
        {"-0.001", 9, JSON_NUMBER_NEGATIVE, 77},
        {"-1e400", 0, JSON_NUMBER_NEGATIVE, 77},
        {"12.5", 0, JSON_NUMBER_FRACTION, 77},
        {"12.000", 0, JSON_NUMBER_OK, 12},
        {"1.5e1", 0, JSON_NUMBER_OK, 15},
        {"1e-1", 0, JSON_NUMBER_FRACTION, 77},
        {"1.2345678912345", 9, JSON_NUMBER_OK, 1234567891},
        {"5e-05", 9, JSON_NUMBER_OK, 50000},
        {"1e-400", 9, JSON_NUMBER_OK, 0},
        {"123", 9, JSON_NUMBER_OK, UINT64_C(123000000000)},
        {"1.7e9", 9, JSON_NUMBER_OK, UINT64_C(1700000000000000000)},
    };
    uint64_t value;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (fixed(rows[i].text, rows[i].decimals, UINT64_MAX, &value) != rows[i].kind)
            fail_msg("%s is of another kind", rows[i].text);
        assert_int_equal(value, rows[i].value);
    }
    assert_int_equal(fixed("100", 0, 99, &value), JSON_NUMBER_LARGE);
    assert_int_equal(fixed("99", 0, 99, &value), JSON_NUMBER_OK);
}

/* Keys, and strings read as text, are cut between code points; their whole length is told. */
static void long_texts_are_cut(void **state) {
    (void)state;
    char data[2000];
    struct json j;
    uint64_t len;
    int n = snprintf(data, sizeof data, "\"%0254d\xe2\x82\xac%0500d\"", 0, 0);
    json_open_memory(&j, data, (size_t)n);
    assert_int_equal(json_next(&j), JSON_STRING);
    const char *text = json_text(&j, &len);
    assert_int_equal(strlen(text), 254);
    assert_int_equal(len, 254 + 3 + 500);
    assert_int_equal(json_next(&j), JSON_END);
    n = snprintf(data, sizeof data, "{\"%0300d\": 1}", 0);
    json_open_memory(&j, data, (size_t)n);
    assert_int_equal(json_next(&j), JSON_OBJECT);
    assert_int_equal(json_next(&j), JSON_KEY);
    assert_int_equal(strlen(json_text(&j, &len)), 255);
    assert_int_equal(len, 300);
    assert_int_equal(json_next(&j), JSON_NUMBER);
}

/* A line of 100 MB: an object whose one string is that long. */
#define LONG_CHARS UINT64_C(100000000)
struct endless {
    uint64_t at;
};

static long endless_read(void *ctx, char *buf, size_t len) {
    static const char head[] = "{\"a\":\"", tail[] = "\"}";
    struct endless *s = ctx;
    if (s->at == 0) {
        memcpy(buf, head, sizeof head - 1);
        s->at = 1;
        return sizeof head - 1;
    }
    if (s->at > LONG_CHARS + 1) return 0;
    uint64_t left = LONG_CHARS + 1 - s->at;
    if (left > 0) {
        if (len > left) len = left;
        memset(buf, 'x', len);
        s->at += len;
        return (long)len;
    }
    s->at++;
    memcpy(buf, tail, sizeof tail - 1);
    return sizeof tail - 1;
}

static void a_line_of_100_mb_takes_no_memory(void **state) {
    (void)state;
    struct endless s = {0};
    struct json j;
    json_open_stream(&j, endless_read, &s, JSON_BUFFER_BYTES);
    assert_int_equal(json_next(&j), JSON_OBJECT);
    assert_int_equal(json_next(&j), JSON_KEY);
    assert_int_equal(json_next(&j), JSON_STRING);
    assert_int_equal(json_next(&j), JSON_OBJECT_END);
    assert_int_equal(j.chars, LONG_CHARS);
    assert_int_equal(j.bytes, LONG_CHARS);
    assert_int_equal(json_next(&j), JSON_END);
    assert_int_equal(j.cap, JSON_BUFFER_BYTES);
    json_close(&j);
}

static long broken_read(void *ctx, char *buf, size_t len) {
    int *calls = ctx;
    (void)len;
    if ((*calls)++ > 0) return -EIO;
    memcpy(buf, "[1, \"ab", 7);
    return 7;
}

static void a_file_that_cannot_be_read_on(void **state) {
    (void)state;
    int calls = 0;
    struct json j;
    struct buf out = {0};
    json_open_stream(&j, broken_read, &calls, 64);
    transcribe(&j, false, &out);
    assert_string_equal(buf_text(&out),
                        "[ 1 'ab'2/2 line 1, byte 7: the file cannot be read on: Input/output error");
    buf_free(&out);
    json_close(&j);
}

static void files(void **state) {
    (void)state;
    char path[] = "/tmp/kvf-test-json-XXXXXX";
    struct json j;
    struct err e = {0};
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "[1]", 3), 3);
    close(fd);
    assert_int_equal(json_open_file(&j, path, &e), 0);
    assert_int_equal(json_next(&j), JSON_ARRAY);
    assert_int_equal(json_next(&j), JSON_NUMBER);
    assert_false(json_fail(&j, "%s is no object", "the value"));
    assert_string_equal(json_error(&j), "line 1, byte 1: the value is no object");
    assert_int_equal(json_next(&j), JSON_ERROR);
    json_close(&j);
    unlink(path);
    assert_int_equal(json_open_file(&j, path, &e), -KVF_ERR_USAGE);
    assert_non_null(strstr(e.text, "No such file"));
    json_close(&j);
    e = (struct err){0};
    assert_int_equal(json_open_file(&j, "/tmp", &e), -KVF_ERR_USAGE);
    assert_non_null(strstr(e.text, "not a regular file"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_of_every_kind),
        cmocka_unit_test(strings),
        cmocka_unit_test(json_lines),
        cmocka_unit_test(texts_that_are_no_json),
        cmocka_unit_test(wrong_numbers),
        cmocka_unit_test(wrong_strings),
        cmocka_unit_test(nesting),
        cmocka_unit_test(skipping),
        cmocka_unit_test(numbers),
        cmocka_unit_test(long_texts_are_cut),
        cmocka_unit_test(a_line_of_100_mb_takes_no_memory),
        cmocka_unit_test(a_file_that_cannot_be_read_on),
        cmocka_unit_test(files),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("json", tests, NULL, NULL);
}
