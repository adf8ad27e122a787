#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "tier/resp/resp.h"

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

/* From the specification of Redis Cluster: 0x31C3 for "123456789", and names of one tag in one slot. */
static void names_fall_into_slots(void **state) {
    (void)state;
    assert_int_equal(resp_cluster_slot("123456789", 9), 0x31C3);
    assert_int_equal(resp_cluster_slot("foo", 3), 12182);
    assert_int_equal(resp_cluster_slot("{user1000}.following", 20), resp_cluster_slot("user1000", 8));
    assert_int_equal(resp_cluster_slot("foo{{bar}}zap", 13), resp_cluster_slot("{bar", 4));
    assert_int_not_equal(resp_cluster_slot("foo{}{bar}", 10), resp_cluster_slot("bar", 3));
    assert_int_not_equal(resp_cluster_slot("foo{bar", 7), resp_cluster_slot("bar", 3));
}

static struct resp_cluster *of_one(struct resp_server *s) {
    *s = (struct resp_server){.timeout_ns = KVF_NS_PER_S};
    assert_int_equal(resp_server_at(s, "127.0.0.1", 7000, NULL), 0);
    return resp_cluster_new(s);
}

static void a_map_of_slots(void **state) {
    static const char *const bad[] = {"",
                                      "*0\n",
                                      "*1\n*3\n:0\n:16384\n*2\n$127.0.0.1\n:7001\n",
                                      "*1\n*3\n:5\n:4\n*2\n$127.0.0.1\n:7001\n",
                                      "*1\n*3\n:0\n:1\n*2\n$127.0.0.1\n:70000\n",
                                      "*1\n*9223372036854775807\n:0\n:1\n*2\n$127.0.0.1\n:7001\n",
                                      "*2\n*3\n:0\n:1\n*2\n$127.0.0.1\n:7001\n"};
    struct resp_server s;
    struct resp_cluster *k = of_one(&s);
    uint8_t master[RESP_NODES];
    bool asking;
    (void)state;
    /* with a replica, what newer servers say beside a name, and a server that knows no name for itself */
    assert_true(resp_cluster_read(k, &s,
                                  "*2\n*4\n:0\n:12181\n*4\n$\n:7000\n$id\n*2\n$hostname\n$a\n*3\n$127.0.0.1\n"
                                  ":7009\n$id\n*3\n:12182\n:16383\n*3\n$127.0.0.1\n:7001\n$id\n"));
    assert_int_equal(resp_cluster_masters(k, master), 2);
    assert_int_equal(resp_cluster_owner(k, "foo", 3), 1);
    assert_string_equal(resp_cluster_server(k, 1)->name, "127.0.0.1:7001");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) assert_false(resp_cluster_read(k, &s, bad[i]));
    static const char moved[] = "MOVED 12182 127.0.0.1:7002", ask[] = "ASK 12182 :7001";
    assert_int_equal(resp_cluster_redirect(k, &s, ask, sizeof ask - 1, &asking), 1);
    assert_true(asking);
    int node = resp_cluster_redirect(k, &s, moved, sizeof moved - 1, &asking);
    assert_string_equal(resp_cluster_server(k, (unsigned)node)->name, "127.0.0.1:7002");
    assert_false(asking);
    assert_int_equal(resp_cluster_owner(k, "foo", 3), node);
    static const char *const nowhere[] = {"MOVED",
                                          "MOVED 1",
                                          "MOVED 16384 127.0.0.1:7001",
                                          "MOVED 1 127.0.0.1:0",
                                          "MOVED x 127.0.0.1:7001",
                                          "ERR no",
                                          "ASK 1 127.0.0.1:7001x"};
    for (size_t i = 0; i < sizeof nowhere / sizeof *nowhere; i++)
        assert_int_equal(resp_cluster_redirect(k, &s, nowhere[i], strlen(nowhere[i]), &asking), -1);
    resp_cluster_free(k);
}

static void a_cluster_of_too_many(void **state) {
    struct resp_server s;
    struct resp_cluster *k = of_one(&s);
    bool asking;
    (void)state;
    for (int i = 1; i < 2 * RESP_NODES; i++) {
        char text[64];
        int n = snprintf(text, sizeof text, "MOVED 1 127.0.0.1:%d", 7000 + i);
        assert_int_equal(resp_cluster_redirect(k, &s, text, (size_t)n, &asking), i < RESP_NODES ? i : -1);
    }
    assert_int_equal(resp_cluster_servers(k), RESP_NODES);
    resp_cluster_free(k);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_of_every_kind),
        cmocka_unit_test(a_part_of_a_line_asks_for_more),
        cmocka_unit_test(what_no_server_says_is_bad),
        cmocka_unit_test(names_fall_into_slots),
        cmocka_unit_test(a_map_of_slots),
        cmocka_unit_test(a_cluster_of_too_many),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
