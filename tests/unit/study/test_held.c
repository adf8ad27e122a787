#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "study/capture/capture_events.h"

enum { MOST = 8, EVENTS = 100 };

/* A batch at second `at` that stores a block of the token 7 under the hash `name`: one block, however many
 * names an engine gives it. */
static void store(struct capture_events *ev, unsigned pod, unsigned char at, unsigned char name) {
    unsigned char batch[] = {0x92, 0xcb, 0x3f, 0xf0 | (at & 1),
                             0,    0,    0,    0,
                             0,    0,    0x91, 0x95,
                             0xab, 'B',  'l',  'o',
                             'c',  'k',  'S',  't',
                             'o',  'r',  'e',  'd',
                             0x91, name, 0xc0, 0x91,
                             7,    0x01};
    assert_true(capture_events_batch(ev, pod, batch, sizeof batch));
}

static void what_is_held_is_bounded(void **state) {
    (void)state;
    static struct capture c = {.salt = {1, 2}};
    static struct capture_events ev;
    struct err e = {0};
    assert_int_equal(trace_write_begin(&c.out, "/dev/null", TRACE_FORM_MOONCAKE, 1, 0, &e), 0);
    capture_events_init(&ev, &c);
    ev.held.most = MOST;
    ev.turn_ns = 0;
    for (unsigned char i = 0; i < EVENTS; i++) {
        store(&ev, i % 3, i, i);
        assert_true(ev.held.entries <= MOST && ev.held.nodes <= 1);
        assert_int_equal(ev.held.entries, ev.held.pod[0].count + ev.held.pod[1].count + ev.held.pod[2].count);
    }
    assert_int_equal(ev.stored, EVENTS);
    assert_int_equal(ev.held.dropped + ev.held.entries, EVENTS);
    assert_true(ev.held.dropped > 0);
    capture_events_free(&ev);
    assert_int_equal(trace_write_end(&c.out, &e), 0);
    capture_free(&c);
}

/* Lists and maps within each other, each of which claims four thousand million items that are not there. */
static void a_list_may_claim_what_it_likes(void **state) {
    (void)state;
    static struct capture c = {.salt = {1, 2}};
    static struct capture_events ev;
    unsigned char claims[40 * 5];
    capture_events_init(&ev, &c);
    for (size_t i = 0; i < sizeof claims; i++) claims[i] = i % 5 ? 0xff : i % 2 ? 0xdd : 0xdf;
    for (size_t len = 0; len <= sizeof claims; len++) assert_false(capture_events_batch(&ev, 0, claims, len));
    assert_int_equal(ev.malformed, sizeof claims + 1);
    capture_events_free(&ev);
    capture_free(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_held_is_bounded),
                                       cmocka_unit_test(a_list_may_claim_what_it_likes)};
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("held", tests, NULL, NULL);
}
