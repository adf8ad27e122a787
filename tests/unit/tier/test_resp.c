#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <string.h>

#include "tier/resp/resp_reply.h"

static struct resp_head read_text(const char *text) {
    return resp_head_read(text, strlen(text));
}

static void lines_of_every_kind(void **state) {
    (void)state;
    struct resp_head h = read_text("+OK\r\n$3");
    assert_int_equal(h.kind, RESP_SIMPLE);
    assert_int_equal(h.len, 5);
    assert_int_equal(h.text_len, 2);
    h = read_text("-OOM no\r\n");
    assert_int_equal(h.kind, RESP_ERROR);
    assert_memory_equal(h.text, "OOM no", h.text_len);
    h = read_text(":-12\r\n");
    assert_int_equal(h.kind, RESP_INTEGER);
    assert_int_equal(h.number, -12);
    h = read_text("$536870912\r\n");
    assert_int_equal(h.kind, RESP_BULK);
    assert_int_equal(h.number, 512 << 20);
    assert_int_equal(read_text("$-1\r\n").kind, RESP_NIL);
    assert_int_equal(read_text("*-1\r\n").kind, RESP_NIL);
    assert_int_equal(read_text("_\r\n").kind, RESP_NIL);
    assert_int_equal(read_text("*2\r\n").kind, RESP_ARRAY);
    assert_int_equal(read_text(":9223372036854775807\r\n").kind, RESP_INTEGER);
}

static void a_part_of_a_line_asks_for_more(void **state) {
    static const char text[] = "$1048576\r\n";
    (void)state;
    for (size_t i = 0; i + 1 < sizeof text - 1; i++)
        assert_int_equal(resp_head_read(text, i).kind, RESP_MORE);
    assert_int_equal(read_text(text).kind, RESP_BULK);
}

static void what_no_server_says_is_bad(void **state) {
    static const char *const bad[] = {"HTTP/1.1 400\r\n",
                                      "\r\n",
                                      "+OK\n",
                                      "$\r\n",
                                      "$-2\r\n",
                                      "$-\r\n",
                                      "$536870913\r\n",
                                      "$9223372036854775808\r\n",
                                      "$99999999999999999999\r\n",
                                      "$1x\r\n",
                                      "$ 1\r\n",
                                      "*65537\r\n",
                                      ":1.5\r\n"};
    char line[RESP_LINE + 8];
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct resp_head h = read_text(bad[i]);
        assert_int_equal(h.kind, RESP_BAD);
        assert_non_null(h.why);
    }
    memset(line, '+', sizeof line);
    assert_int_equal(resp_head_read(line, RESP_LINE - 1).kind, RESP_MORE);
    assert_int_equal(resp_head_read(line, RESP_LINE).kind, RESP_BAD);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_of_every_kind),
        cmocka_unit_test(a_part_of_a_line_asks_for_more),
        cmocka_unit_test(what_no_server_says_is_bad),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
