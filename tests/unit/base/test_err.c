#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/terms.h"

static void test_first_error_wins(void **state) {
    (void)state;
    struct err e = {0};

    assert_false(err_is(&e));
    assert_int_equal(err_set(&e, KVF_ERR_USAGE, "tier %s has no path; name one", "nvme"), -KVF_ERR_USAGE);
    assert_true(err_is(&e));
    assert_int_equal(err_set(&e, KVF_ERR_IO, "later"), -KVF_ERR_IO);
    assert_int_equal(err_set_errno(&e, KVF_ERR_IO, EIO, "later still"), -KVF_ERR_IO);
    assert_int_equal(e.code, KVF_ERR_USAGE);
    assert_string_equal(e.text, "tier nvme has no path; name one");
    err_clear(&e);
    assert_false(err_is(&e));
    assert_string_equal(e.text, "");
    assert_int_equal(err_set(&e, KVF_ERR_BUSY, "now"), -KVF_ERR_BUSY);
    assert_string_equal(e.text, "now");
}

static void test_null_is_taken(void **state) {
    (void)state;
    assert_int_equal(err_set(NULL, KVF_ERR_IO, "x"), -KVF_ERR_IO);
    assert_int_equal(err_set_errno(NULL, KVF_ERR_IO, ENOSPC, "x"), -KVF_ERR_NOSPACE);
    assert_false(err_is(NULL));
    err_clear(NULL);
}

static void test_errno_is_named_and_mapped(void **state) {
    (void)state;
    static const struct {
        enum err_code given;
        int errnum;
        enum err_code code;
        const char *text;
    } rows[] = {
        {KVF_ERR_IO, ENOENT, KVF_ERR_IO, "cannot open x: No such file or directory"},
        {KVF_ERR_IO, ENOMEM, KVF_ERR_NOMEM, "cannot open x: Cannot allocate memory"},
        {KVF_ERR_IO, ENOSPC, KVF_ERR_NOSPACE, "cannot open x: No space left on device"},
        {KVF_ERR_IO, EDQUOT, KVF_ERR_NOSPACE, "cannot open x: Disk quota exceeded"},
        {KVF_ERR_USAGE, ENOSPC, KVF_ERR_USAGE, "cannot open x: No space left on device"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct err e = {0};
        assert_int_equal(err_set_errno(&e, rows[i].given, rows[i].errnum, "cannot open %s", "x"),
                         -(int)rows[i].code);
        assert_int_equal(e.code, rows[i].code);
        assert_string_equal(e.text, rows[i].text);
    }
}

/* A path of any length leaves the reason readable and no half character at the end. */
static void test_long_names(void **state) {
    (void)state;
    char name[3000];
    struct err e = {0};

    memset(name, 'p', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    err_set_errno(&e, KVF_ERR_IO, EACCES, "%s", name);
    assert_int_equal(strlen(e.text), sizeof e.text - 1);
    assert_string_equal(e.text + strlen(e.text) - strlen(": Permission denied"), ": Permission denied");

    err_clear(&e);
    for (size_t i = 0; i + 2 < sizeof name; i += 2) memcpy(name + i, "\xc3\xa4", 2); /* a umlaut */
    name[sizeof name - 2] = '\0';
    err_set(&e, KVF_ERR_IO, "%s", name);
    assert_int_equal(strlen(e.text), 998); /* 999 would cut the 500th umlaut in two */
    assert_int_equal((unsigned char)e.text[997], 0xa4);
}

static void test_code_table(void **state) {
    (void)state;
    assert_int_equal(KVF_ERR_OK, 0);
    assert_int_equal(err_exit_status(KVF_ERR_OK), 0);
    assert_int_equal(err_exit_status(KVF_ERR_USAGE), 2);
    assert_int_equal(err_exit_status(KVF_ERR_UNAVAILABLE), 2);
    assert_int_equal(err_exit_status(KVF_ERR_CORRUPT), 1);
    assert_int_equal(err_exit_status(KVF_ERR_CODES), 1);
}

static void test_terms(void **state) {
    (void)state;
    assert_string_equal(tier_name(KVF_TIER_GPU), "gpu");
    assert_string_equal(tier_name(KVF_TIER_NVME), "nvme");
    assert_string_equal(tier_name(KVF_TIERS), "?");
    assert_string_equal(dir_name(KVF_DIR_WRITE), "write");
    assert_string_equal(cause_name(KVF_CAUSE_PRECONDITION), "precondition");
    assert_string_equal(cause_name((enum kvf_cause)77), "?");
    assert_string_equal(run_phase_name(KVF_PHASE_MEASURED), "measured");
}

static void test_buf(void **state) {
    (void)state;
    struct buf b = {0};
    char expected[5001];

    assert_string_equal(buf_text(&b), "");
    buf_add(&b, "");
    assert_string_equal(buf_text(&b), "");
    buf_addf(&b, "%d-%s", 7, "seven");
    buf_bytes(&b, "\0x", 2);
    assert_int_equal(b.len, 9);
    assert_memory_equal(b.data, "7-seven\0x", 10);
    buf_free(&b);
    assert_null(b.data);
    assert_int_equal(b.len, 0);
    for (int i = 0; i < 1000; i++) buf_addf(&b, "%05d", i);
    for (int i = 0; i < 5000; i++) /* the decimal digits of 0..999, padded to five */
        expected[i] = (char)('0' + (i % 5 == 2   ? i / 500
                                    : i % 5 == 3 ? i / 50 % 10
                                    : i % 5 == 4 ? i / 5 % 10
                                                 : 0));
    expected[5000] = '\0';
    assert_string_equal(buf_text(&b), expected);
    buf_free(&b);
    buf_free(&b);

    unsigned char *zeroes = mem_zalloc(10, 3);
    for (int i = 0; i < 30; i++) assert_int_equal(zeroes[i], 0);
    zeroes = mem_realloc(zeroes, 100);
    free(zeroes);
    char *copy = mem_strdup("copied");
    assert_string_equal(copy, "copied");
    free(copy);
    free(mem_alloc(0));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_first_error_wins),
    cmocka_unit_test(test_null_is_taken),
    cmocka_unit_test(test_errno_is_named_and_mapped),
    cmocka_unit_test(test_long_names),
    cmocka_unit_test(test_code_table),
    cmocka_unit_test(test_terms),
    cmocka_unit_test(test_buf),
};

int main(void) {
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("err", tests, NULL, NULL);
}
