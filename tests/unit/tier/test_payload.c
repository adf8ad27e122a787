#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "tier/payload.h"

#define NOISE (UINT64_C(1) << 20) /* 256 blocks */
#define SEED  77

static const struct payload_id ID = {UINT64_C(0x0102030405060708), UINT64_C(0x1112131415161718), 5};

static struct payload *open_small(void) {
    struct err e = {0};
    struct payload *p = payload_open(SEED, NOISE, &e);
    assert_non_null(p);
    return p;
}

static uint64_t le64(const uint8_t *at) {
    uint64_t v = 0;
    for (int i = 7; i >= 0; i--) v = v << 8 | at[i];
    return v;
}

/* A buffer of `len` bytes as the engine makes it: prefilled, then stamped; room up to 4 KiB. */
static uint8_t *stamped(const struct payload *p, uint64_t len, const struct payload_id *id, uint64_t block,
                        uint64_t noise) {
    uint8_t *buf = calloc(1, (len + 4095) / 4096 * 4096);
    assert_non_null(buf);
    payload_prefill(p, buf, len, noise);
    payload_restamp(p, buf, len, id, block, noise);
    return buf;
}

static void stamp_is_where_the_format_says(void **state) {
    (void)state;
    struct payload *p = open_small();
    uint8_t *buf = stamped(p, 3 * 4096, &ID, 40, 7);
    for (uint64_t i = 0; i < 3; i++) {
        const uint8_t *at = buf + i * 4096;
        assert_true(le64(at + 8) == ID.key_hi);
        assert_true(le64(at + 16) == ID.key_lo);
        assert_true(le64(at + 24) == 5);
        assert_true(le64(at + 32) == 40 + i);
        assert_true(le64(at + 40) == SEED);
        assert_true(le64(at + 48) == 7 + i);
    }
    assert_true(le64(buf) == le64(buf + 4096));           /* magic */
    assert_true(le64(buf + 56) != le64(buf + 4096 + 56)); /* check */
    free(buf);
    payload_close(p);
}

static void noise_comes_from_the_named_blocks_and_wraps(void **state) {
    (void)state;
    struct payload *p = open_small();
    uint8_t *all = malloc(NOISE), *buf = malloc(4 * 4096);
    assert_non_null(all);
    assert_non_null(buf);
    payload_prefill(p, all, NOISE, 0);
    payload_prefill(p, buf, 4 * 4096, 254);
    assert_memory_equal(buf, all + 254 * 4096, 2 * 4096);
    assert_memory_equal(buf + 2 * 4096, all, 2 * 4096);
    payload_restamp(p, buf, 4 * 4096, &ID, 0, 254);
    assert_true(le64(buf + 4096 + 48) == 255);
    assert_true(le64(buf + 2 * 4096 + 48) == 0);
    assert_memory_equal(buf + 64, all + 254 * 4096 + 64, 4032);
    assert_memory_equal(buf + 3 * 4096 + 64, all + 4096 + 64, 4032);
    assert_true(payload_verify(p, buf, 4 * 4096, &ID, 0, PAYLOAD_CHECK_FULL, NULL, NULL) == 0);
    free(buf);
    free(all);
    payload_close(p);
}

static void noise_depends_on_the_seed_and_is_not_regular(void **state) {
    (void)state;
    struct err e = {0};
    struct payload *a = payload_open(1, NOISE, &e), *b = payload_open(1, NOISE, &e),
                   *c = payload_open(2, NOISE, &e);
    uint8_t *x = malloc(NOISE), *y = malloc(NOISE);
    payload_prefill(a, x, NOISE, 0);
    payload_prefill(b, y, NOISE, 0);
    assert_memory_equal(x, y, NOISE);
    payload_prefill(c, y, NOISE, 0);
    assert_memory_not_equal(x, y, NOISE);
    uint64_t count[256] = {0};
    for (uint64_t i = 0; i < NOISE; i++) count[x[i]]++;
    for (int i = 0; i < 256; i++) assert_in_range(count[i], 3500, 4700); /* 4096 expected, sd 64 */
    free(x);
    free(y);
    payload_close(a);
    payload_close(b);
    payload_close(c);
}

static void restamp_writes_nothing_but_stamps(void **state) {
    (void)state;
    struct payload *p = open_small();
    uint8_t *buf = malloc(3 * 4096);
    memset(buf, 0xee, 3 * 4096);
    payload_restamp(p, buf, 2 * 4096 + 10, &ID, 0, 0);
    for (int b = 0; b < 3; b++)
        for (int i = 64; i < 4096; i++) assert_int_equal(buf[b * 4096 + i], 0xee);
    free(buf);
    payload_close(p);
}

static void a_good_buffer_verifies_at_every_length(void **state) {
    (void)state;
    struct payload *p = open_small();
    static const uint64_t lengths[] = {1, 8, 47, 63, 64, 65, 4095, 4096, 4097, 8192 + 60, 70000};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        uint8_t *buf = stamped(p, lengths[i], &ID, 3, 250);
        assert_true(payload_verify(p, buf, lengths[i], &ID, 3, PAYLOAD_CHECK_HEADER, NULL, NULL) == 0);
        assert_true(payload_verify(p, buf, lengths[i], &ID, 3, PAYLOAD_CHECK_FULL, NULL, NULL) == 0);
        free(buf);
    }
    payload_close(p);
}

static void expect_bad(const struct payload *p, const uint8_t *buf, uint64_t len, const struct payload_id *id,
                       uint64_t block, enum payload_check check, uint64_t bad, uint64_t first,
                       const char *phrase) {
    char why[160] = "";
    uint64_t at = 0;
    assert_true(payload_verify(p, buf, len, id, block, check, &at, why) == bad);
    assert_true(at == first);
    assert_non_null(strstr(why, phrase));
}

static void what_differs_is_named(void **state) {
    (void)state;
    struct payload *p = open_small();
    uint8_t *buf = stamped(p, 4 * 4096, &ID, 10, 0);
    struct payload_id other = ID;
    other.generation = 6;
    expect_bad(p, buf, 4 * 4096, &other, 10, PAYLOAD_CHECK_HEADER, 4, 10,
               "block 10 names generation 5, not 6");
    other = ID;
    other.key_lo++;
    expect_bad(p, buf, 4 * 4096, &other, 10, PAYLOAD_CHECK_HEADER, 4, 10,
               "names entry 01020304050607081112131415161718, not 01020304050607081112131415161719");
    expect_bad(p, buf, 4 * 4096, &ID, 11, PAYLOAD_CHECK_HEADER, 4, 11, "block 11 names block 10");
    struct err e = {0};
    struct payload *q = payload_open(78, NOISE, &e);
    expect_bad(q, buf, 4 * 4096, &ID, 10, PAYLOAD_CHECK_HEADER, 4, 10, "names seed 77, not 78");
    payload_close(q);
    memset(buf + 2 * 4096, 0, 4096);
    expect_bad(p, buf, 4 * 4096, &ID, 10, PAYLOAD_CHECK_HEADER, 1, 12, "block 12 is zeroes");
    memset(buf + 2 * 4096, 0x55, 4096);
    expect_bad(p, buf, 4 * 4096, &ID, 10, PAYLOAD_CHECK_HEADER, 1, 12, "carries no stamp");
    free(buf);
    buf = stamped(p, 2 * 4096, &ID, 0, 0);
    buf[4096 + 56] ^= 1;
    expect_bad(p, buf, 2 * 4096, &ID, 0, PAYLOAD_CHECK_HEADER, 1, 1, "damaged stamp");
    buf[4096 + 56] ^= 1;
    buf[4096 + 48] ^= 1; /* another noise block than the check was made for */
    expect_bad(p, buf, 2 * 4096, &ID, 0, PAYLOAD_CHECK_HEADER, 1, 1, "damaged stamp");
    free(buf);
    payload_close(p);
}

static void a_flipped_bit_anywhere_is_found_by_full_alone(void **state) {
    (void)state;
    struct payload *p = open_small();
    uint64_t len = 2 * 4096 + 100;
    uint8_t *buf = stamped(p, len, &ID, 0, 9);
    static const uint64_t at[] = {64, 4095, 4096 + 2000, 2 * 4096 + 99};
    for (size_t i = 0; i < sizeof at / sizeof at[0]; i++) {
        buf[at[i]] ^= 0x10;
        assert_true(payload_verify(p, buf, len, &ID, 0, PAYLOAD_CHECK_HEADER, NULL, NULL) == 0);
        expect_bad(p, buf, len, &ID, 0, PAYLOAD_CHECK_FULL, 1, at[i] / 4096, "differs from what was written");
        assert_true(payload_verify(p, buf, len, &ID, 0, PAYLOAD_CHECK_NONE, NULL, NULL) == 0);
        buf[at[i]] ^= 0x10;
    }
    free(buf);
    payload_close(p);
}

static void noise_of_a_wrong_size_is_refused(void **state) {
    (void)state;
    struct err e = {0};
    assert_null(payload_open(1, NOISE + 1, &e));
    assert_int_equal(e.code, KVF_ERR_USAGE);
    assert_non_null(strstr(e.text, "engine.noise"));
    struct err small = {0};
    assert_null(payload_open(1, 4096, &small));
    payload_close(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stamp_is_where_the_format_says),
        cmocka_unit_test(noise_comes_from_the_named_blocks_and_wraps),
        cmocka_unit_test(noise_depends_on_the_seed_and_is_not_regular),
        cmocka_unit_test(restamp_writes_nothing_but_stamps),
        cmocka_unit_test(a_good_buffer_verifies_at_every_length),
        cmocka_unit_test(what_differs_is_named),
        cmocka_unit_test(a_flipped_bit_anywhere_is_found_by_full_alone),
        cmocka_unit_test(noise_of_a_wrong_size_is_refused),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("payload", tests, NULL, NULL);
}
