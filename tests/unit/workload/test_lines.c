#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zstd.h>

#include "workload/lines.h"

static char path[64];

static void file_write(const char *data, size_t len) {
    snprintf(path, sizeof path, "/tmp/kvf-test-lines-XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    FILE *f = fdopen(fd, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, len, f), len);
    assert_int_equal(fclose(f), 0);
}

static int file_remove(void **state) {
    (void)state;
    if (path[0]) unlink(path);
    path[0] = '\0';
    return 0;
}

static void file_open(struct lines *l, const char *data, size_t len) {
    struct err e = {0};
    file_write(data, len);
    assert_int_equal(lines_open(l, path, &e), 0);
}

static void expect(struct lines *l, enum lines_result want, const char *line) {
    char *text;
    size_t len;
    assert_int_equal(lines_next(l, &text, &len), want);
    if (!line) return;
    assert_string_equal(text, line);
    assert_int_equal(len, strlen(line));
}

static void ends_of_lines(void **state) {
    (void)state;
    static const char data[] = "one\ntwo\r\n\n\r\nfi\rve\nlast";
    struct lines l;
    file_open(&l, data, sizeof data - 1);
    expect(&l, LINES_TEXT, "one");
    assert_int_equal(l.number, 1);
    expect(&l, LINES_TEXT, "two");
    expect(&l, LINES_TEXT, "");
    expect(&l, LINES_TEXT, "");
    expect(&l, LINES_TEXT, "fi\rve");
    expect(&l, LINES_TEXT, "last");
    assert_int_equal(l.number, 6);
    assert_int_equal(l.consumed, sizeof data - 1);
    expect(&l, LINES_END, NULL);
    expect(&l, LINES_END, NULL);
    lines_close(&l);
}

static void last_line_with_end_is_not_followed_by_another(void **state) {
    (void)state;
    struct lines l;
    file_open(&l, "a\n", 2);
    expect(&l, LINES_TEXT, "a");
    expect(&l, LINES_END, NULL);
    lines_close(&l);
}

static void empty_file(void **state) {
    (void)state;
    struct lines l;
    file_open(&l, "", 0);
    expect(&l, LINES_END, NULL);
    assert_int_equal(l.number, 0);
    lines_close(&l);
    lines_close(&l);
}

static void nul_bytes(void **state) {
    (void)state;
    struct lines l;
    file_open(&l, "a\0b\nc\n\0", 7);
    expect(&l, LINES_NUL, NULL);
    expect(&l, LINES_TEXT, "c");
    expect(&l, LINES_NUL, NULL);
    expect(&l, LINES_END, NULL);
    lines_close(&l);
}

static void byte_order_mark(void **state) {
    (void)state;
    struct lines l;
    file_open(&l, "\xef\xbb\xbfx\n\xef\xbb\xbfy\n", 10);
    expect(&l, LINES_TEXT, "x");
    expect(&l, LINES_TEXT, "\xef\xbb\xbfy");
    lines_close(&l);
}

/* Every length around the size of a read, so that ends of lines fall on all its borders. */
static void lines_across_reads(void **state) {
    (void)state;
    enum { FIRST = 65520, LAST = 65550 };
    size_t size = 0, at = 0;
    for (size_t n = FIRST; n <= LAST; n++) size += n + 2;
    char *data = malloc(size);
    assert_non_null(data);
    for (size_t n = FIRST; n <= LAST; n++) {
        memset(data + at, 'a' + (int)(n % 26), n);
        memcpy(data + at + n, "\r\n", 2);
        at += n + 2;
    }
    struct lines l;
    file_open(&l, data, size);
    for (size_t n = FIRST; n <= LAST; n++) {
        char *text;
        size_t len;
        assert_int_equal(lines_next(&l, &text, &len), LINES_TEXT);
        assert_int_equal(len, n);
        assert_int_equal(text[0], 'a' + (int)(n % 26));
        assert_int_equal(strspn(text, (char[]){text[0], 0}), n);
    }
    expect(&l, LINES_END, NULL);
    assert_int_equal(l.consumed, size);
    lines_close(&l);
    free(data);
}

static void memory_stays_small_on_many_lines(void **state) {
    (void)state;
    enum { ROWS = 100000 };
    char *data = malloc(ROWS * 20);
    assert_non_null(data);
    size_t size = 0;
    for (int i = 0; i < ROWS; i++) size += (size_t)sprintf(data + size, "line %d\n", i);
    struct lines l;
    file_open(&l, data, size);
    char *text, want[32];
    size_t len;
    for (int i = 0; i < ROWS; i++) {
        assert_int_equal(lines_next(&l, &text, &len), LINES_TEXT);
        snprintf(want, sizeof want, "line %d", i);
        assert_string_equal(text, want);
    }
    assert_true(l.cap <= 64 * 1024);
    assert_int_equal(l.number, ROWS);
    lines_close(&l);
    free(data);
}

/* Lines at the limit, one above it, and 20 MB, each followed by a line that must be found. */
static void long_lines(void **state) {
    (void)state;
    static const size_t length[] = {LINES_MAX, LINES_MAX + 1, 20000000};
    for (size_t i = 0; i < 3; i++) {
        for (size_t crlf = 0; crlf < 2; crlf++) {
            size_t n = length[i], size = n + 1 + crlf + 5;
            char *data = malloc(size), *text;
            size_t len;
            assert_non_null(data);
            memset(data, 'x', n);
            memcpy(data + n, crlf ? "\r\nnext\n" : "\nnext\n", 6 + crlf);
            struct lines l;
            file_open(&l, data, size);
            assert_int_equal(lines_next(&l, &text, &len), n > LINES_MAX ? LINES_LONG : LINES_TEXT);
            if (n <= LINES_MAX) assert_int_equal(len, n);
            expect(&l, LINES_TEXT, "next");
            assert_int_equal(l.number, 2);
            expect(&l, LINES_END, NULL);
            assert_int_equal(l.consumed, size);
            assert_true(l.cap <= (size_t)LINES_MAX + 16);
            lines_close(&l);
            free(data);
            file_remove(NULL);
        }
    }
}

static void long_line_is_not_read_to_its_end_at_once(void **state) {
    (void)state;
    struct lines l;
    char *text;
    size_t len;
    file_open(&l, "", 0);
    assert_int_equal(truncate(path, (off_t)1 << 40), 0); /* a terabyte of NUL bytes, none of it stored */
    assert_int_equal(lines_next(&l, &text, &len), LINES_LONG);
    assert_true(l.consumed <= (size_t)LINES_MAX + 16);
    lines_close(&l);
}

static void long_last_line_without_end(void **state) {
    (void)state;
    size_t size = (size_t)LINES_MAX + 100000;
    char *data = malloc(size);
    assert_non_null(data);
    memset(data, 'x', size);
    struct lines l;
    file_open(&l, data, size);
    expect(&l, LINES_LONG, NULL);
    expect(&l, LINES_END, NULL);
    assert_int_equal(l.consumed, size);
    lines_close(&l);
    free(data);
}

static void refused(const char *name, const char *word) {
    struct lines l;
    struct err e = {0};
    assert_int_equal(lines_open(&l, name, &e), -KVF_ERR_USAGE);
    assert_non_null(strstr(e.text, name));
    assert_non_null(strstr(e.text, word));
    lines_close(&l);
}

static void files_that_cannot_be_read(void **state) {
    (void)state;
    refused("/nonexistent/trace.jsonl", "No such file or directory; name a file of rows in workload.path");
    refused("/tmp", "not a regular file");
    refused("/dev/null", "not a regular file");
    snprintf(path, sizeof path, "/tmp/kvf-test-fifo-%d", (int)getpid());
    assert_int_equal(mkfifo(path, 0600), 0);
    refused(path, "not a regular file");
}

#define TEST(name) cmocka_unit_test_teardown(name, file_remove)

/* ---- compressed files ---- */

enum { PACKED_LINES = 40000 };

/* Lines that say their number, of many lengths, in `frames` frames behind each other. */
static size_t numbers_pack(char *packed, size_t room, int frames) {
    size_t cap = PACKED_LINES * 110, len = 0, used = 0;
    char *text = malloc(cap);
    assert_non_null(text);
    for (int i = 0; i < PACKED_LINES; i++)
        len += (size_t)snprintf(text + len, cap - len, "%d%*s\n", i, i % 100, "");
    for (int f = 0; f < frames; f++) {
        size_t from = len * (size_t)f / (size_t)frames, to = len * (size_t)(f + 1) / (size_t)frames;
        size_t n = ZSTD_compress(packed + used, room - used, text + from, to - from, 3);
        assert_false(ZSTD_isError(n));
        used += n;
    }
    free(text);
    return used;
}

static void numbers_expect(struct lines *l) {
    for (int i = 0; i < PACKED_LINES; i++) {
        char *text, *rest;
        size_t len;
        assert_int_equal(lines_next(l, &text, &len), LINES_TEXT);
        assert_int_equal(strtol(text, &rest, 10), i);
        assert_int_equal(strspn(rest, " "), i % 100);
        assert_int_equal(l->number, i + 1);
    }
    expect(l, LINES_END, NULL);
}

static void compressed_files_are_read_as_what_is_in_them(void **state) {
    static char packed[2 << 20];
    for (int frames = 1; frames <= 3; frames++) {
        struct lines l;
        file_open(&l, packed, numbers_pack(packed, sizeof packed, frames));
        numbers_expect(&l);
        uint64_t consumed = l.consumed;
        assert_true(consumed > PACKED_LINES * 50);
        assert_true(lines_rewind(&l));
        numbers_expect(&l);
        assert_int_equal(l.consumed, consumed);
        lines_close(&l);
        file_remove(state);
    }
}

/* More text than the buffer takes at once comes out of a handful of bytes. */
static void what_is_packed_densely_comes_out_whole(void **state) {
    (void)state;
    enum { LEN = 5 << 20 };
    static char packed[1 << 16];
    char *text = malloc(LEN), *line;
    size_t len;
    struct lines l;
    assert_non_null(text);
    memset(text, 'x', LEN);
    text[LEN - 2] = '\n';
    size_t n = ZSTD_compress(packed, sizeof packed, text, LEN, 3);
    assert_false(ZSTD_isError(n));
    file_open(&l, packed, n);
    assert_int_equal(lines_next(&l, &line, &len), LINES_TEXT);
    assert_int_equal(len, LEN - 2);
    expect(&l, LINES_TEXT, "x");
    expect(&l, LINES_END, NULL);
    lines_close(&l);
    free(text);
}

static void damage_in_a_compressed_file_is_an_error(void **state) {
    static char packed[2 << 20];
    for (int cut = 0; cut < 2; cut++) {
        size_t n = numbers_pack(packed, sizeof packed, 1), len;
        enum lines_result result;
        struct lines l;
        char *text;
        if (!cut) memset(packed + n / 2, 0xff, 64);
        file_open(&l, packed, cut ? n - 7 : n);
        unsigned lines = 0;
        while ((result = lines_next(&l, &text, &len)) == LINES_TEXT) lines++;
        assert_int_equal(result, LINES_ERROR);
        assert_non_null(strstr(lines_error(&l), "damaged or cut short"));
        assert_true(lines < PACKED_LINES);
        expect(&l, LINES_END, NULL);
        lines_close(&l);
        file_remove(state);
    }
}

static void a_plain_file_is_read_again_from_its_start(void **state) {
    (void)state;
    struct lines l;
    file_open(&l, "\xef\xbb\xbfone\ntwo", 10);
    for (int i = 0; i < 3; i++) {
        expect(&l, LINES_TEXT, "one");
        assert_int_equal(l.number, 1);
        if (i < 2) expect(&l, LINES_TEXT, "two");
        if (i < 1) expect(&l, LINES_END, NULL);
        assert_true(lines_rewind(&l));
        assert_int_equal(l.consumed, 0);
    }
    lines_close(&l);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(ends_of_lines),
        TEST(last_line_with_end_is_not_followed_by_another),
        TEST(empty_file),
        TEST(nul_bytes),
        TEST(byte_order_mark),
        TEST(lines_across_reads),
        TEST(memory_stays_small_on_many_lines),
        TEST(long_lines),
        TEST(long_line_is_not_read_to_its_end_at_once),
        TEST(long_last_line_without_end),
        TEST(files_that_cannot_be_read),
        TEST(compressed_files_are_read_as_what_is_in_them),
        TEST(what_is_packed_densely_comes_out_whole),
        TEST(damage_in_a_compressed_file_is_an_error),
        TEST(a_plain_file_is_read_again_from_its_start),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("lines", tests, NULL, NULL);
}
