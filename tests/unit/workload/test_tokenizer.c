#include "tests/unit/trace_fixture.h"

#include <inttypes.h>

#include "base/buf.h"
#include "workload/format/bpe.h"
#include "workload/format/tokenizer.h"

static struct tokenizer *tokenizer_of(const char *text, size_t len) {
    struct tokenizer *t = NULL;
    struct err e = {0};
    file_write(text, len);
    if (tokenizer_open(&t, scenario.workload.path, &e) != 0) fail_msg("%s", e.text);
    return t;
}

/* Tokens of a text through a JSON string, as the source reads it. */
static uint64_t tokens_of(struct tokenizer *t, const char *text) {
    char data[2000];
    struct json j;
    int n = snprintf(data, sizeof data, "\"%s\"", text);
    assert_true(n > 0 && (size_t)n < sizeof data);
    json_open_memory(&j, data, (size_t)n);
    assert_int_equal(json_next(&j), JSON_STRING);
    uint64_t tokens = tokenizer_string(t, &j);
    assert_int_equal(json_next(&j), JSON_END);
    return tokens;
}

/* ---- characters ---- */

static void four_characters_are_a_token(void **state) {
    (void)state;
    struct tokenizer *t = NULL;
    char why[100] = "";
    assert_int_equal(tokenizer_open(&t, "chars4", NULL), 0);
    assert_int_equal(tokenizer_begin(t, why, sizeof why), TOKENIZER_READY);
    assert_int_equal(tokens_of(t, ""), 0);
    assert_int_equal(tokens_of(t, "a"), 1);
    assert_int_equal(tokens_of(t, "abcd"), 1);
    assert_int_equal(tokens_of(t, "abcde"), 2);
    assert_int_equal(tokens_of(t, "\xc3\xa4\xc3\xb6\xc3\xbc\xc3\x9f"), 1); /* four letters in eight bytes */
    assert_int_equal(tokens_of(t, "\xe7\xbc\x93\xe5\xad\x98 \xf0\x9f\x98\x80 "), 2); /* five */
    assert_int_equal(tokens_of(t, "\\n\\u00e9\\\"\\ud83d\\ude00"), 1);               /* four escapes */
    assert_true(tokenizer_end(t, "any", why, sizeof why));
    tokenizer_close(t);
}

/* ---- counts ---- */

static void row_expect(struct tokenizer *t, const char *id, size_t n, const uint64_t *want,
                       const char *fault) {
    char why[200] = "";
    if (tokenizer_begin(t, why, sizeof why) != TOKENIZER_READY) fail_msg("%s", why);
    for (size_t i = 0; i < n; i++) assert_int_equal(tokens_of(t, "text"), want[i]);
    assert_int_equal(tokenizer_end(t, id, why, sizeof why), fault == NULL);
    if (fault && !strstr(why, fault)) fail_msg("\"%s\" does not say \"%s\"", why, fault);
}

static void counts_in_both_forms(void **state) {
    (void)state;
    static const char data[] = "\n[7, 0, 1099511627776]\n"
                               "{\"id\": \"b\", \"tokens\": [3, 4], \"x\": {\"tokens\": [9]}}\n"
                               "{\"tokens\": []}\n{\"tokens\": [5], \"id\": 12}\n[1,2]\n[1,2]\n"
                               "{\"id\": \"c\", \"tokens\": []}\n";
    struct tokenizer *t = tokenizer_of(data, sizeof data - 1);
    char why[200] = "";
    row_expect(t, "anything", 3, (const uint64_t[]){7, 0, UINT64_C(1) << 40}, NULL);
    row_expect(t, "b", 2, (const uint64_t[]){3, 4}, NULL);
    row_expect(t, "", 0, NULL, NULL);
    row_expect(t, "12", 1, (const uint64_t[]){5}, NULL);
    row_expect(t, "", 3, (const uint64_t[]){1, 2, 0},
               "row 5 of workload.tokenizer has 2 counts for 3 messages");
    row_expect(t, "", 1, (const uint64_t[]){1}, "row 6 of workload.tokenizer has 2 counts for 1 messages");
    row_expect(t, "d", 0, NULL, "row 7 of workload.tokenizer is for \"c\", not for \"d\"");
    assert_int_equal(tokenizer_begin(t, why, sizeof why), TOKENIZER_DONE);
    assert_string_equal(why, "workload.tokenizer has counts for 7 conversations only");
    tokenizer_close(t);
}

static void counts_that_cannot_be_used(void **state) {
    (void)state;
    static const char *const bad[][2] = {
        {"[1, \"2\"]", "line 1, byte 4: a count of tokens is no whole number from 0 to 2^40"},
        {"[1, -2]", "line 1, byte 4: a count of tokens is no whole number from 0 to 2^40"},
        {"[1.5]", "line 1, byte 1: a count of tokens is no whole number from 0 to 2^40"},
        {"[1099511627777]", "line 1, byte 1: a count of tokens is no whole number from 0 to 2^40"},
        {"[[1]]", "line 1, byte 1: a count of tokens is no whole number from 0 to 2^40"},
        {"[1, 2", "line 1, byte 5: the text is cut short"},
        {"{\"id\": 1}", "line 1, byte 8: a row has no list \"tokens\""},
        {"{\"tokens\": 1}", "\"tokens\" is not one list of numbers"},
        {"{\"tokens\": [], \"tokens\": []}", "\"tokens\" is not one list of numbers"},
        {"{\"tokens\": [], \"id\": \"\xff\"}", "is not UTF-8"},
        {"[1]\n7", NULL},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct tokenizer *t = tokenizer_of(bad[i][0], strlen(bad[i][0]));
        char why[200] = "";
        if (!bad[i][1]) assert_int_equal(tokenizer_begin(t, why, sizeof why), TOKENIZER_READY);
        assert_int_equal(tokenizer_begin(t, why, sizeof why), TOKENIZER_BROKEN);
        assert_int_equal(tokenizer_begin(t, why, sizeof why), TOKENIZER_BROKEN);
        const char *word = bad[i][1] ? bad[i][1] : "line 2, byte 4: a row is neither a list of counts nor";
        if (!strstr(why, word)) fail_msg("\"%s\" does not say \"%s\"", why, word);
        tokenizer_close(t);
        scenario_clean(NULL);
    }
}

/* ---- ranks ---- */

static void base64_add(struct buf *out, const char *token, size_t len) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < len; i += 3) {
        unsigned group = 0;
        for (size_t k = 0; k < 3; k++) group = group << 8 | (i + k < len ? (unsigned char)token[i + k] : 0);
        for (size_t k = 0; k < 4; k++)
            buf_addf(out, "%c", i + k > len ? '=' : digits[group >> (18 - 6 * k) & 63]);
    }
}

/* The 256 single bytes, then these tokens, each of a higher rank than the one before. */
static const char *const tokens[] = {"he",    "ll",       "hell", " w",  "or",  "ld", " wor",
                                     "hello", " world",   "lo",   "234", "123", " b", " \n",
                                     "!!",    "\xc3\xa9", "ab",   "abc", "bcd"};

static void ranks_file(struct buf *out) {
    for (unsigned b = 0; b < 256; b++) {
        char byte = (char)b;
        base64_add(out, &byte, 1);
        buf_addf(out, " %u\n", b);
    }
    for (unsigned i = 0; i < sizeof tokens / sizeof *tokens; i++) {
        base64_add(out, tokens[i], strlen(tokens[i]));
        buf_addf(out, " %u\n", 256 + i);
    }
}

static const struct {
    const char *text;
    uint64_t tokens;
} worked[] = {
    {"", 0},
    {"hello", 1},       /* a token as a whole */
    {"hellish", 4},     /* hell i s h: he, then ll, then hell */
    {"lllo", 2},        /* ll lo: ll is the lower rank, the leftmost first, then l and o */
    {"llo", 2},         /* ll o */
    {" worldly", 3},    /* " world" l y */
    {"hello world", 2}, /* the space goes with the word */
    {"abcd", 2},        /* abc d: ab is the lowest, then abc; bcd never is */
    {"1234", 2},        /* 123 4: at most three digits */
    {"12345678", 6},    /* 123 and the single digits of 456 and 78 */
    {" 123", 2},        /* a space stays apart from digits */
    {"a1234b", 4},      /* a 123 4 b */
    {"a  b", 3},        /* a, a space, " b" */
    {"a\n b", 3},       /* a, a line end, " b" */
    {"a \nb", 3},       /* a, " \n", b: no space before the word */
    {"b!!", 2},         /* b !! */
    {"b !!", 3},        /* b, then the space and !!, which are one word of two tokens */
    {"\xc3\xa9", 1},    /* a letter of two bytes */
    {"\xc3\xa9\xc3\xa9h", 3},
    {"\xc3\xa8", 2}, /* one that is no token: its bytes */
};

static void texts_worked_by_hand(void **state) {
    (void)state;
    struct buf file = {0};
    struct bpe *r = NULL;
    struct err e = {0};
    ranks_file(&file);
    file_write(file.data, file.len);
    if (bpe_open(&r, scenario.workload.path, "workload.tokenizer", &e) != 0) fail_msg("%s", e.text);
    for (size_t i = 0; i < sizeof worked / sizeof *worked; i++) {
        const char *text = worked[i].text;
        size_t len = strlen(text);
        for (size_t cut = 0; cut <= len; cut++) {
            bpe_begin(r);
            bpe_feed(r, text, cut);
            bpe_feed(r, text + cut, len - cut);
            uint64_t got = bpe_end(r);
            if (got != worked[i].tokens) fail_msg("\"%s\" cut at %zu has %" PRIu64 " tokens", text, cut, got);
        }
    }
    char word[BPE_WORD_MAX + 1];
    memset(word, 'x', sizeof word);
    memcpy(word + BPE_WORD_MAX - 1, "he", 2);
    bpe_begin(r);
    bpe_feed(r, word, sizeof word); /* he lies across the border at which words are cut */
    assert_int_equal(bpe_end(r), BPE_WORD_MAX + 1);
    bpe_begin(r);
    bpe_feed(r, word + 1, BPE_WORD_MAX);
    assert_int_equal(bpe_end(r), BPE_WORD_MAX - 1);
    bpe_close(r);
    buf_free(&file);
}

static void ranks_count_texts_of_json(void **state) {
    (void)state;
    struct buf file = {0};
    ranks_file(&file);
    struct tokenizer *t = tokenizer_of(file.data, file.len);
    char why[100] = "";
    assert_int_equal(tokenizer_begin(t, why, sizeof why), TOKENIZER_READY);
    assert_int_equal(tokens_of(t, "hello world"), 2);
    assert_int_equal(tokens_of(t, "a\\n b\\u00e9!!"), 5); /* a, a line end, " b", the letter, !! */
    assert_true(tokenizer_end(t, "", why, sizeof why));
    tokenizer_close(t);
    buf_free(&file);
}

static void ranks_refused(const char *text, size_t len, const char *word) {
    struct tokenizer *t = NULL;
    struct err e = {0};
    file_write(text, len);
    assert_int_equal(tokenizer_open(&t, scenario.workload.path, &e), -KVF_ERR_USAGE);
    assert_null(t);
    if (!strstr(e.text, word)) fail_msg("\"%s\" does not say \"%s\"", e.text, word);
    scenario_clean(NULL);
}

static void files_that_are_no_ranks(void **state) {
    (void)state;
#define REFUSED(text, word) ranks_refused(text, sizeof text - 1, word)
    REFUSED("", "has no rank for the single byte 0x00");
    REFUSED("AA== 0\nAQ== 1\n", "has no rank for the single byte 0x02");
    REFUSED("AA== 0\nAA== 1\n", "line 2 has a token that has come before");
    REFUSED("AA== 0\nA*== 1\n", "line 2 has a token that is not base64");
    REFUSED("A 0\n", "line 1 has a token that is not base64");
    REFUSED(" 0\n", "line 1 has a token that is not base64");
    REFUSED("AA==\n", "line 1 is no token in base64, a space and a rank");
    REFUSED("AA== -1\n", "line 1 is no token in base64, a space and a rank");
    REFUSED("AA== 1x\n", "line 1 has a rank that is not a number");
    REFUSED("AA== 4294967295\n", "line 1 has a rank that is not a number below 2^32 - 1");
    REFUSED("AA== 99999999999999999999999\n", "line 1 has a rank that is not a number");
    REFUSED("AA== 0\n\0\n", "line 2 is too long or has a NUL byte in it");
    REFUSED("a text\n", "line 1 is no token");
    struct tokenizer *t = NULL;
    struct err e = {0};
    assert_int_equal(tokenizer_open(&t, "/nonexistent/ranks", &e), -KVF_ERR_USAGE);
    assert_non_null(strstr(e.text, "No such file"));
    e = (struct err){0};
    assert_int_equal(tokenizer_open(&t, "/tmp", &e), -KVF_ERR_USAGE);
    assert_non_null(strstr(e.text, "name a file of counts or ranks, or chars4, in workload.tokenizer"));
}

static void what_it_is_called(void **state) {
    (void)state;
    char label[SCENARIO_PATH + 20], want[SCENARIO_PATH + 20];
    const char *path = scenario.workload.path;
    tokenizer_label("chars4", label, sizeof label);
    assert_string_equal(label, "chars4");
    tokenizer_label("/nonexistent/ranks", label, sizeof label);
    assert_string_equal(label, "/nonexistent/ranks");
    file_write("\xef\xbb\xbf \n{\"tokens\"", 14);
    tokenizer_label(path, label, sizeof label);
    snprintf(want, sizeof want, "%s (counts)", path);
    assert_string_equal(label, want);
    scenario_clean(NULL);
    file_write("IQ== 0", 6);
    tokenizer_label(path, label, sizeof label);
    snprintf(want, sizeof want, "%s (ranks)", path);
    assert_string_equal(label, want);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(four_characters_are_a_token), TEST(counts_in_both_forms),      TEST(counts_that_cannot_be_used),
        TEST(texts_worked_by_hand),        TEST(ranks_count_texts_of_json), TEST(files_that_are_no_ranks),
        TEST(what_it_is_called),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("tokenizer", tests, NULL, NULL);
}
