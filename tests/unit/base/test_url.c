#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/url.h"

static void parts_are_told_apart(void **state) {
    struct url u;
    (void)state;
    assert_int_equal(url_parse("redis://me:p%40s:s@cache.example:7000/3?a=b", &u, NULL), 0);
    assert_string_equal(u.scheme, "redis");
    assert_string_equal(u.user, "me");
    assert_string_equal(u.password, "p@s:s");
    assert_string_equal(u.host, "cache.example");
    assert_int_equal(u.port, 7000);
    assert_string_equal(u.path, "/3");
    assert_string_equal(u.query, "a=b");
    assert_int_equal(url_parse("UNIX:///run/a%20b", &u, NULL), 0);
    assert_string_equal(u.scheme, "unix");
    assert_string_equal(u.host, "");
    assert_string_equal(u.path, "/run/a b");
    assert_int_equal(url_parse("redis://[::1]:1", &u, NULL), 0);
    assert_string_equal(u.host, "::1");
    assert_int_equal(u.port, 1);
    assert_int_equal(url_parse("redis://[::1]", &u, NULL), 0);
    assert_int_equal(u.port, 0);
}

static void what_is_no_address_is_refused_without_its_text(void **state) {
    static const char *const bad[] = {"",
                                      "host",
                                      "://host",
                                      "redis://a:secret@h:0",
                                      "redis://a:secret@h:x",
                                      "redis://a:secret@h:",
                                      "redis://a:secret@h:65536",
                                      "redis://a:secret@[::1",
                                      "redis://a:secret@[::1]x",
                                      "redis://%zz",
                                      "redis://a%00b",
                                      "averyveryverylongscheme://h"};
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct url u;
        struct err e = {0};
        assert_int_equal(url_parse(bad[i], &u, &e), -KVF_ERR_USAGE);
        assert_true(e.text[0] != '\0');
        assert_null(strstr(e.text, "secret"));
    }
}

static void user_information_is_masked_wherever_it_stands(void **state) {
    static const char *const pairs[][2] = {
        {"url: redis://u:p@h/1 # and unix:///s", "url: redis://***@h/1 # and unix:///s"},
        {"a://x@y b://long-user:p@ss@z", "a://***@y b://***@z"},
        {"http://host/path@2", "http://host/path@2"},
        {"mail@host", "mail@host"},
        {"a://@h", "a://@h"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        char text[100];
        strcpy(text, pairs[i][0]);
        url_mask(text);
        if (i == 1) /* what is shorter than the mask is not stretched */
            assert_string_equal(text, "a://*@y b://***@z");
        else
            assert_string_equal(text, pairs[i][1]);
    }
}

static void secrets_are_kept_apart_from_addresses(void **state) {
    char url[] = "redis://me:hush@h:1", masked[] = "redis://***@h:1", plain[] = "redis://h:1";
    struct url_secret s;
    (void)state;
    unsetenv("KVFALL_REMOTE_PASSWORD");
    assert_true(url_secret_take(url));
    assert_string_equal(url, "redis://h:1");
    assert_true(url_secret_take(masked));
    assert_string_equal(masked, "redis://h:1");
    assert_false(url_secret_take(plain));
    url_secret("redis://h:1", &s);
    assert_string_equal(s.user, "me");
    assert_string_equal(s.password, "hush");
    char user_alone[] = "redis://you@h";
    assert_true(url_secret_take(user_alone));
    setenv("KVFALL_REMOTE_PASSWORD", "given", 1);
    url_secret(user_alone, &s);
    assert_string_equal(s.user, "you");
    assert_string_equal(s.password, "given");
    url_secret(url, &s);
    assert_string_equal(s.password, "hush");
    unsetenv("KVFALL_REMOTE_PASSWORD");
    url_secret("redis://another", &s);
    assert_string_equal(s.user, "");
    assert_string_equal(s.password, "");
}

static void a_server_is_its_host_and_port(void **state) {
    static const struct {
        const char *host, *expected;
        unsigned port;
    } is[] = {{"h", "h:1", 1}, {"h", "h", 0}, {"::1", "[::1]:65535", 65535}, {"::1", "[::1]", 0}};
    char out[32];
    (void)state;
    for (size_t i = 0; i < sizeof is / sizeof *is; i++) {
        url_place(is[i].host, is[i].port, out, sizeof out);
        assert_string_equal(out, is[i].expected);
    }
}

static void a_place_is_here_by_its_look(void **state) {
    (void)state;
    char own[300];
    assert_int_equal(gethostname(own, 256), 0);
    strcat(own, ":6379");
    const char *const here[] = {"/run/redis.sock", "127.0.0.1:6379", "127.9.9.9", "localhost",
                                "localhost:1",     "[::1]:2",        "::1",       own},
                      *const there[] = {"", "10.0.0.1:6379", "localhost.example", "kvcache",
                                        "[2001:db8::1]:2"};
    for (size_t i = 0; i < sizeof here / sizeof *here; i++) assert_true(url_here(here[i]));
    for (size_t i = 0; i < sizeof there / sizeof *there; i++) assert_false(url_here(there[i]));
    assert_true(url_described_here("resp: Valkey 9.1.2 at 127.0.0.1:6379, 4 connections"));
    assert_false(url_described_here("resp: Valkey 9.1.2 at 10.0.0.1:6379, 4 connections"));
    assert_false(url_described_here("emulated: 10 GB/s"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_are_told_apart),
        cmocka_unit_test(what_is_no_address_is_refused_without_its_text),
        cmocka_unit_test(user_information_is_masked_wherever_it_stands),
        cmocka_unit_test(secrets_are_kept_apart_from_addresses),
        cmocka_unit_test(a_server_is_its_host_and_port),
        cmocka_unit_test(a_place_is_here_by_its_look),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
