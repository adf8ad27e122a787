#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "cache/key.h"

static void parse_is(const char *text, enum cache_key_kind kind, uint64_t owner, uint64_t index) {
    struct cache_key k;
    assert_int_equal(cache_key_parse(text, &k), 0);
    assert_true(cache_key_equal(k, cache_key_make(kind, owner, index)));
}

static void numbers_and_pairs(void **state) {
    (void)state;
    parse_is("12", CACHE_KEY_TRACE, 0, 12);
    parse_is("0", CACHE_KEY_TRACE, 0, 0);
    parse_is("18446744073709551615", CACHE_KEY_TRACE, 0, UINT64_MAX);
    parse_is("3/4", CACHE_KEY_TURN, 3, 4);
    parse_is("72057594037927935/1", CACHE_KEY_TURN, (UINT64_C(1) << 56) - 1, 1);
    parse_is("12@3", CACHE_KEY_TRACE, 3, 12);
    parse_is("0@72057594037927935", CACHE_KEY_TRACE, (UINT64_C(1) << 56) - 1, 0);
}

static void what_other_keys_are_printed_as(void **state) {
    (void)state;
    parse_is("prompt-2", CACHE_KEY_PROMPT, 0, 2);
    parse_is("prompt-2/7", CACHE_KEY_PROMPT_BLOCK, 2, 7);
    parse_is("stored-5/1", CACHE_KEY_STORED, 5, 1);
    parse_is("stored-72057594037927935/18446744073709551615", CACHE_KEY_STORED, (UINT64_C(1) << 56) - 1,
             UINT64_MAX);
    parse_is("doc-3/2", CACHE_KEY_CHUNK, 3, 2);
    parse_is("#0123456789abcdfedcba9876543210", CACHE_KEY_HASH, 0x0123456789abcd,
             UINT64_C(0xfedcba9876543210));
}

/* Names of more than 15 bytes: each is a key of its own, the same whenever it is read. */
static void long_names_are_hashed(void **state) {
    (void)state;
    enum { N = 2000 };
    static struct cache_key all[N];
    for (int i = 0; i < N; i++) {
        char text[48], printed[CACHE_KEY_TEXT_MAX];
        struct cache_key again;
        snprintf(text, sizeof text, i % 2 ? "%d-8b1f0a52-5a1e-4f0e" : "8b1f0a52-5a1e-4f0e-%d", i);
        assert_int_equal(cache_key_parse(text, &all[i]), 0);
        assert_int_equal(cache_key_kind(all[i]), CACHE_KEY_HASH);
        assert_int_equal(cache_key_parse(text, &again), 0);
        assert_true(cache_key_equal(all[i], again));
        assert_int_equal(strlen(cache_key_text(all[i], printed, sizeof printed)), 31);
        assert_int_equal(cache_key_parse(printed, &again), 0);
        assert_true(cache_key_equal(all[i], again));
        for (int k = 0; k < i; k++) assert_false(all[i].hi == all[k].hi || all[i].lo == all[k].lo);
    }
}

/* Packed by hand: the kind, then seven bytes in hi and eight in lo, zeros behind. */
static void text_is_packed(void **state) {
    (void)state;
    struct cache_key k;
    assert_int_equal(cache_key_parse("ab", &k), 0);
    assert_true(k.hi == ((uint64_t)CACHE_KEY_TEXT << 56 | UINT64_C(0x61620000000000)) && k.lo == 0);
    assert_int_equal(cache_key_parse("abcdefghijklmno", &k), 0);
    assert_true(k.hi == ((uint64_t)CACHE_KEY_TEXT << 56 | UINT64_C(0x61626364656667)));
    assert_true(k.lo == UINT64_C(0x68696a6b6c6d6e6f));
}

static void what_cannot_be_a_key(void **state) {
    (void)state;
    struct cache_key k;
    assert_int_equal(cache_key_parse("", &k), -1);
}

/* Other spellings of a number are other keys. */
static void spellings_stay_apart(void **state) {
    (void)state;
    static const char *const odd[] = {"007",      "+7",    " 7",        "7 ",       "-1",        "3/",
                                      "/4",       "3/4/5", "03/4",      "3/04",     "0x7",       "7@0",
                                      "7@",       "7@03",  "@3",        "prompt-",  "prompt-01", "prompt-1/",
                                      "stored-1", "doc-1", "doc-1/2/3", "Prompt-1", "#",         "#12"};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        struct cache_key k;
        assert_int_equal(cache_key_parse(odd[i], &k), 0);
        assert_int_equal(cache_key_kind(k), CACHE_KEY_TEXT);
    }
    static const char *const large[] = {"18446744073709551616",
                                        "72057594037927936/1",
                                        "12@72057594037927936",
                                        "#0123456789abcdfedcba987654321",
                                        "#0123456789abcdfedcba9876543210f",
                                        "#0123456789ABCDFEDCBA9876543210"};
    for (size_t i = 0; i < sizeof large / sizeof *large; i++) {
        struct cache_key k;
        assert_int_equal(cache_key_parse(large[i], &k), 0);
        assert_int_equal(cache_key_kind(k), CACHE_KEY_HASH);
    }
}

static void text_is(enum cache_key_kind kind, uint64_t owner, uint64_t index, const char *want) {
    char buf[CACHE_KEY_TEXT_MAX];
    assert_string_equal(cache_key_text(cache_key_make(kind, owner, index), buf, sizeof buf), want);
}

static void printed_for_people(void **state) {
    (void)state;
    text_is(CACHE_KEY_TRACE, 0, 12, "12");
    text_is(CACHE_KEY_TRACE, 7, 12, "12@7");
    text_is(CACHE_KEY_TURN, 3, 4, "3/4");
    text_is(CACHE_KEY_HASH, 0xa, 0xb, "#0000000000000a000000000000000b");
    text_is(CACHE_KEY_BLOCK, 3, 4, "3/4");
    text_is(CACHE_KEY_PROMPT, 0, 2, "prompt-2");
    text_is(CACHE_KEY_PROMPT_BLOCK, 2, 7, "prompt-2/7");
    text_is(CACHE_KEY_STORED, 5, 1, "stored-5/1");
    text_is(CACHE_KEY_CHUNK, 3, 2, "doc-3/2");
    text_is(CACHE_KEY_FILL, 0, 7, "fill-7");
    text_is(CACHE_KEY_STORED, (UINT64_C(1) << 56) - 1, UINT64_MAX,
            "stored-72057594037927935/18446744073709551615");
}

static void printing_and_parsing_agree(void **state) {
    (void)state;
    static const char *const all[] = {"0",       "99",         "0/0",
                                      "12/34",   "a",          "user:1",
                                      "abcdefg", "abcdefgh",   "abcdefghijklmno",
                                      "007",     "prompt-2",   "\xc3\xa4/\xff",
                                      "12@3",    "prompt-2/7", "stored-5/1",
                                      "doc-3/2", "prompt-",    "stored-1",
                                      "7@0"};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        char buf[CACHE_KEY_TEXT_MAX];
        struct cache_key k;
        assert_int_equal(cache_key_parse(all[i], &k), 0);
        assert_string_equal(cache_key_text(k, buf, sizeof buf), all[i]);
    }
}

static void kinds_and_owners_stay_apart(void **state) {
    (void)state;
    struct cache_key a = cache_key_make(CACHE_KEY_TURN, 1, 2);
    assert_false(cache_key_equal(a, cache_key_make(CACHE_KEY_BLOCK, 1, 2)));
    assert_false(cache_key_equal(a, cache_key_make(CACHE_KEY_TURN, 2, 2)));
    assert_false(cache_key_equal(a, cache_key_make(CACHE_KEY_TURN, 1, 3)));
    assert_int_equal(cache_key_kind(cache_key_make(CACHE_KEY_CHUNK, UINT64_MAX, 0)), CACHE_KEY_CHUNK);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_and_pairs),           cmocka_unit_test(text_is_packed),
        cmocka_unit_test(what_cannot_be_a_key),        cmocka_unit_test(spellings_stay_apart),
        cmocka_unit_test(printed_for_people),          cmocka_unit_test(printing_and_parsing_agree),
        cmocka_unit_test(kinds_and_owners_stay_apart), cmocka_unit_test(what_other_keys_are_printed_as),
        cmocka_unit_test(long_names_are_hashed),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("cache_key", tests, NULL, NULL);
}
