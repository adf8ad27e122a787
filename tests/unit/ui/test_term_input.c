#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#include "ui/keyboard.h"
#include "ui/term/term_input.h"

static void put(struct term_input *in, const char *bytes, size_t len) {
    size_t room;
    unsigned char *to = term_input_room(in, &room);

    assert_true(room >= len);
    memcpy(to, bytes, len);
    term_input_add(in, len);
}

struct sent {
    const char *bytes;
    int code; /* 0: is swallowed */
};

/* Each is followed by an x, which has to come through untouched. */
static void expect_all(const struct sent *sent, size_t count) {
    for (size_t i = 0; i < count; i++) {
        struct term_input in = {0};
        int row = -1, col = -1;
        put(&in, sent[i].bytes, strlen(sent[i].bytes));
        put(&in, "x", 1);
        if (sent[i].code) assert_int_equal(term_input_key(&in, false, &row, &col), sent[i].code);
        assert_int_equal(term_input_key(&in, false, &row, &col), 'x');
        assert_int_equal(term_input_key(&in, false, &row, &col), 0);
    }
}
#define COUNT(a) (sizeof a / sizeof((a)[0]))

/* Answers to the question for the background (OSC 11), in the widths and endings that terminals have. */
static void test_background(void **state) {
    (void)state;
    static const struct sent sent[] = {
        {"\033]11;rgb:ffff/ffff/ffff\033\\", KEY_CODE_LIGHT},
        {"\033]11;rgb:0000/0000/0000\007", KEY_CODE_DARK},
        {"\033]11;rgb:fd/f6/e3\033\\", KEY_CODE_LIGHT},
        {"\033]11;rgb:00/2b/36\007", KEY_CODE_DARK},
        {"\033]11;rgb:f/f/d\007", KEY_CODE_LIGHT},
        {"\033]11;rgb:0000/0000/ffff\007", KEY_CODE_DARK},
        {"\033]11;rgb:12345/0/0\007", 0},
        {"\033]11;white\007", 0},
        {"\033]11;rgb:ff/ff\007", 0},
        {"\033]10;rgb:ffff/ffff/ffff\007", 0},
        {"\033]52;c;YQ==\033\\", 0},
    };
    expect_all(sent, COUNT(sent));
}

/* An answer in pieces waits for its end; Alt-] is two keys when nothing follows. */
static void test_background_in_pieces(void **state) {
    (void)state;
    struct term_input in = {0};
    int row, col;
    put(&in, "\033]11;rgb:ff", 11);
    assert_int_equal(term_input_key(&in, false, &row, &col), -1);
    put(&in, "ff/ffff/ffff\033", 13);
    assert_int_equal(term_input_key(&in, false, &row, &col), -1);
    put(&in, "\\q", 2);
    assert_int_equal(term_input_key(&in, false, &row, &col), KEY_CODE_LIGHT);
    assert_int_equal(term_input_key(&in, false, &row, &col), 'q');
    put(&in, "\033]", 2);
    assert_int_equal(term_input_key(&in, false, &row, &col), -1);
    assert_int_equal(term_input_key(&in, true, &row, &col), KEY_CODE_ESCAPE);
    assert_int_equal(term_input_key(&in, true, &row, &col), ']');
}

/* As xterm's control sequences, the Linux console's console_codes(4) and rxvt's manual list them. */
static void test_keys(void **state) {
    (void)state;
    static const struct sent sent[] = {
        {"a", 'a'},
        {" ", ' '},
        {"\t", '\t'},
        {"\r", KEY_CODE_ENTER},
        {"\n", KEY_CODE_ENTER},
        {"\033OM", KEY_CODE_ENTER},
        {"\177", KEY_CODE_BACKSPACE},
        {"\b", KEY_CODE_BACKSPACE},
        {"\003", KEY_CODE_INTERRUPT},
        {"\014", KEY_CODE_REDRAW},
        {"\032", KEY_CODE_SUSPEND},
        {"\034", KEY_CODE_ABORT},
        {"\025", 21},
        {"\033[A", KEY_CODE_UP},
        {"\033OA", KEY_CODE_UP},
        {"\033[B", KEY_CODE_DOWN},
        {"\033OB", KEY_CODE_DOWN},
        {"\033[C", KEY_CODE_RIGHT},
        {"\033OD", KEY_CODE_LEFT},
        {"\033[1;2C", KEY_CODE_SHIFT_RIGHT},
        {"\033[1;2D", KEY_CODE_SHIFT_LEFT},
        {"\033[1;5D", KEY_CODE_LEFT},
        {"\033[1;6D", KEY_CODE_SHIFT_LEFT},
        {"\033[c", KEY_CODE_SHIFT_RIGHT},
        {"\033[d", KEY_CODE_SHIFT_LEFT},
        {"\033[H", KEY_CODE_HOME},
        {"\033OH", KEY_CODE_HOME},
        {"\033[1~", KEY_CODE_HOME},
        {"\033[7~", KEY_CODE_HOME},
        {"\033[F", KEY_CODE_END},
        {"\033OF", KEY_CODE_END},
        {"\033[4~", KEY_CODE_END},
        {"\033[8~", KEY_CODE_END},
        {"\033[3~", KEY_CODE_DELETE},
        {"\033[5~", KEY_CODE_PAGE_UP},
        {"\033[6~", KEY_CODE_PAGE_DOWN},
        {"\033[6;5~", KEY_CODE_PAGE_DOWN},
        {"\033[Z", KEY_CODE_BACK_TAB},
        {"\033OP", '?'},
        {"\033[11~", '?'},
        {"\033[[A", '?'},
        {"\033[[B", KEY_CODE_OTHER},
        {"\033OQ", KEY_CODE_OTHER},
        {"\033[15~", KEY_CODE_OTHER},
        {"\033[24;2~", KEY_CODE_OTHER},
        {"\033[2~", KEY_CODE_OTHER},
        {"\033Op", '0'},
        {"\033Oy", '9'},
        {"\033Ok", '+'},
        {"\033Om", '-'},
        {"\303\251", 0xe9},
        {"\342\202\254", 0x20ac},
        {"\360\237\246\212", 0x1f98a},
    };
    expect_all(sent, COUNT(sent));
}

/* Reports of the terminal, marks around pasted text, and what is broken: nothing comes of them. */
static void test_nothing(void **state) {
    (void)state;
    static const struct sent sent[] = {
        {"\033[I", 0},
        {"\033[O", 0},
        {"\033[200~", 0},
        {"\033[?1;2c", 0},
        {"\033[>41;367;0c", 0},
        {"\033[12;40R", 0},
        {"\033[?2004;1$y", 0},
        {"\033[<0;5;5m", 0},
        {"\033[<2;5;5M", 0},
        {"\033[<32;5;5M", 0},
        {"\033[<66;5;5M", 0},
        {"\033[<0;0;5M", 0},
        {"\033[<0;5M", 0},
        {"\033[<99999999999999999999;1;1M", 0},
        {"\033[M#!!", 0},
        {"\303", 0},
        {"\251", 0},
        {"\300\200", 0},
        {"\355\240\200", 0},
        {"\364\220\200\200", 0},
        {"\377", 0},
    };
    expect_all(sent, COUNT(sent));
}

static void test_mouse(void **state) {
    (void)state;
    struct term_input in = {0};
    int row = -1, col = -1;

    static const char sent[] =
        "\033[<0;12;5M\033[<0;12;5m\033[<16;1;1M\033[M !\"\033[<64;3;3M\033[M`!!\033[<65;9;9Mq";
    put(&in, sent, sizeof sent - 1);
    assert_int_equal(term_input_key(&in, false, &row, &col), KEY_CODE_MOUSE);
    assert_int_equal(row, 4);
    assert_int_equal(col, 11);
    assert_int_equal(term_input_key(&in, false, &row, &col), KEY_CODE_MOUSE); /* with Control held */
    assert_int_equal(row, 0);
    assert_int_equal(col, 0);
    assert_int_equal(term_input_key(&in, false, &row, &col), KEY_CODE_MOUSE); /* the older report */
    assert_int_equal(row, 1);
    assert_int_equal(col, 0);
    assert_int_equal(term_input_key(&in, false, &row, &col), KEY_CODE_UP);
    assert_int_equal(term_input_key(&in, false, &row, &col), KEY_CODE_UP);
    assert_int_equal(term_input_key(&in, false, &row, &col), KEY_CODE_DOWN);
    assert_int_equal(term_input_key(&in, false, &row, &col), 'q');
}

/* A sequence in two parts, cut at every place, is the same key; its first part alone is none yet. */
static void test_cut(void **state) {
    (void)state;
    static const struct sent sent[] = {
        {"\033[1;2D", KEY_CODE_SHIFT_LEFT}, {"\033OP", '?'},          {"\033[[A", '?'},
        {"\033[<0;12;5M", KEY_CODE_MOUSE},  {"\342\202\254", 0x20ac}, {"\033[M !!", KEY_CODE_MOUSE},
    };
    int row, col;

    for (size_t i = 0; i < COUNT(sent); i++) {
        size_t len = strlen(sent[i].bytes);
        for (size_t cut = 1; cut < len; cut++) {
            struct term_input in = {0};
            put(&in, sent[i].bytes, cut);
            assert_int_equal(term_input_key(&in, false, &row, &col), -1);
            put(&in, sent[i].bytes + cut, len - cut);
            assert_int_equal(term_input_key(&in, false, &row, &col), sent[i].code);
            assert_int_equal(term_input_key(&in, false, &row, &col), 0);
        }
    }
}

static void test_escape(void **state) {
    (void)state;
    struct term_input in = {0};
    int row, col;

    put(&in, "\033", 1);
    assert_int_equal(term_input_key(&in, false, &row, &col), -1);
    assert_int_equal(term_input_key(&in, true, &row, &col), KEY_CODE_ESCAPE);
    assert_int_equal(term_input_key(&in, true, &row, &col), 0);

    put(&in, "\033q\033\033[A", 6);
    assert_int_equal(term_input_key(&in, false, &row, &col), KEY_CODE_ESCAPE);
    assert_int_equal(term_input_key(&in, false, &row, &col), 'q');
    assert_int_equal(term_input_key(&in, false, &row, &col), KEY_CODE_ESCAPE);
    assert_int_equal(term_input_key(&in, false, &row, &col), KEY_CODE_UP);

    /* half a sequence with no more to come is no row of letters */
    put(&in, "\033[1;", 4);
    assert_int_equal(term_input_key(&in, false, &row, &col), -1);
    assert_int_equal(term_input_key(&in, true, &row, &col), KEY_CODE_OTHER);
    assert_int_equal(term_input_key(&in, true, &row, &col), 0);
}

/* The sequences of the terminal's type go before those of the xterm family. */
static void test_named(void **state) {
    (void)state;
    struct term_input in = {0};
    int row, col;

    term_input_name(&in, NULL, 'n');
    term_input_name(&in, "x", 'n');
    term_input_name(&in, "\033[1234567890~", 'n');
    assert_int_equal(in.named_count, 0);
    term_input_name(&in, "\033[M", '?');
    term_input_name(&in, "\033]a", KEY_CODE_END);
    put(&in, "\033[M\033]ax", 7);
    assert_int_equal(term_input_key(&in, false, &row, &col), '?');
    assert_int_equal(term_input_key(&in, false, &row, &col), KEY_CODE_END);
    assert_int_equal(term_input_key(&in, false, &row, &col), 'x');
    put(&in, "\033]", 2);
    assert_int_equal(term_input_key(&in, false, &row, &col), -1);
    assert_int_equal(term_input_key(&in, true, &row, &col), KEY_CODE_ESCAPE);
    assert_int_equal(term_input_key(&in, true, &row, &col), ']');
}

/* Whatever arrives, in whatever portions: it ends, and every answer is a key or none. */
static void test_noise(void **state) {
    (void)state;
    static const char alphabet[] = "\033\033\033[[<O;;0129M~Amx\302\251\342\377\n";
    struct term_input in = {0};
    uint32_t seed = 1;
    int row = 0, col = 0;

    for (int i = 0; i < 200000; i++) {
        seed = seed * 1664525 + 1013904223;
        put(&in, &alphabet[(seed >> 16) % (sizeof alphabet - 1)], 1);
        int code = term_input_key(&in, (seed >> 8) % 7 == 0, &row, &col);
        assert_true(code >= -1 && code <= KEY_CODE_OTHER);
        assert_true(row >= 0 && col >= 0);
        assert_true(in.len <= 100);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keys),
        cmocka_unit_test(test_background),
        cmocka_unit_test(test_background_in_pieces),
        cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_mouse),
        cmocka_unit_test(test_cut),
        cmocka_unit_test(test_escape),
        cmocka_unit_test(test_named),
        cmocka_unit_test(test_noise),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("term_input", tests, NULL, NULL);
}
