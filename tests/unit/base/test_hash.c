#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"

/* FNV-1a values from the tables of its authors, mixed by an independent implementation. */
static void test_bytes(void **state) {
    (void)state;
    assert_int_equal(hash_bytes("", 0, 0), UINT64_C(0xf52a15e9a9b5e89b));
    assert_int_equal(hash_bytes("a", 1, 0), UINT64_C(0x02c0bdbf481420f8));
    assert_int_equal(hash_bytes("foobar", 6, 0), UINT64_C(0x404da9e3b74078c2));
    assert_int_equal(hash_bytes("foobar", 6, 7), UINT64_C(0x97401349dd02c096));
}

/* First outputs of SplitMix64 from 1234567, as published: the mix of 1234567 + n x the golden ratio. */
static void test_mix(void **state) {
    (void)state;
    static const uint64_t expected[] = {UINT64_C(6457827717110365317), UINT64_C(3203168211198807973),
                                        UINT64_C(9817491932198370423), UINT64_C(4593380528125082431),
                                        UINT64_C(16408922859458223821)};
    for (uint64_t i = 0; i < 5; i++)
        assert_int_equal(hash_mix64(1234567 + (i + 1) * UINT64_C(0x9e3779b97f4a7c15)), expected[i]);
}

struct fixture {
    char dir[64], path[80];
};

static int setup(void **state) {
    struct fixture *f = calloc(1, sizeof *f);
    if (!f) return -1;
    *state = f;
    strcpy(f->dir, "/tmp/kvfall-hash-XXXXXX");
    if (!mkdtemp(f->dir)) return -1;
    (void)snprintf(f->path, sizeof f->path, "%s/file", f->dir);
    return 0;
}

static int teardown(void **state) {
    struct fixture *f = *state;
    (void)unlink(f->path);
    (void)rmdir(f->dir);
    free(f);
    return 0;
}

static void write_file(const char *path, const char *unit, size_t count) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (size_t i = 0; i < count; i++) assert_int_equal(fwrite(unit, 1, strlen(unit), file), strlen(unit));
    assert_int_equal(fclose(file), 0);
}

/* The vectors of FIPS 180-4: the empty message, "abc", and a million times "a". */
static void test_sha256(void **state) {
    struct fixture *f = *state;
    static const struct {
        const char *unit;
        size_t count;
        const char *digest;
    } rows[] = {
        {"", 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", 1, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"a", 1000000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char out[KVF_SHA256_TEXT];
        struct err e = {0};
        write_file(f->path, rows[i].unit, rows[i].count);
        assert_int_equal(hash_sha256_file(f->path, out, &e), 0);
        assert_false(err_is(&e));
        assert_string_equal(out, rows[i].digest);
        if (rows[i].count > 1) continue;
        assert_int_equal(hash_sha256_bytes(rows[i].unit, strlen(rows[i].unit), out, &e), 0);
        assert_string_equal(out, rows[i].digest);
    }
}

static void test_sha256_errors(void **state) {
    struct fixture *f = *state;
    char out[KVF_SHA256_TEXT];
    struct err e = {0};

    (void)unlink(f->path);
    assert_int_equal(hash_sha256_file(f->path, out, &e), -KVF_ERR_IO);
    assert_non_null(strstr(e.text, f->path));
    assert_non_null(strstr(e.text, "No such file"));
    err_clear(&e);
    assert_int_equal(hash_sha256_file(f->dir, out, &e), -KVF_ERR_IO);
    assert_non_null(strstr(e.text, "directory"));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_bytes),
    cmocka_unit_test(test_mix),
    cmocka_unit_test_setup_teardown(test_sha256, setup, teardown),
    cmocka_unit_test_setup_teardown(test_sha256_errors, setup, teardown),
};

int main(void) {
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("hash", tests, NULL, NULL);
}
