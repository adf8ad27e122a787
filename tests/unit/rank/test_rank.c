#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/build.h"
#include "base/clock.h"
#include "probe/host.h"
#include "rank/rank.h"
#include "tests/unit/fake_mpi/mpi.h"

/* The plugin itself, on an MPI of which the test plays ranks 1 and 2. */
static struct fake_mpi *mpi;

struct head { /* as rank.c sends it */
    uint32_t kind, round;
    uint64_t number;
};

static void say(int from, enum rank_kind kind, uint64_t number, const void *bytes, size_t len, bool whole) {
    struct head head = {.kind = (uint32_t)kind, .number = number};
    struct buf message = {0};
    buf_bytes(&message, &head, sizeof head);
    if (len > 0) buf_bytes(&message, bytes, len);
    mpi->deliver(from, message.data, message.len, whole);
    buf_free(&message);
}

static void answer_clock(int to, const void *bytes, size_t len) {
    struct head head;
    assert_true(len >= sizeof head);
    memcpy(&head, bytes, sizeof head);
    if (head.kind == RANK_PING)
        say(to, RANK_PONG, clock_now_ns(), (const unsigned char *)bytes + sizeof head, len - sizeof head,
            true);
}

/* The answer to every second question comes after the next question. */
static void answer_late(int to, const void *bytes, size_t len) {
    static struct {
        uint64_t at_ns;
        unsigned char question[8];
        size_t len;
    } late[3];
    struct head head;
    memcpy(&head, bytes, sizeof head);
    if (head.kind != RANK_PING) return;
    size_t more = len - sizeof head;
    assert_true(more <= sizeof late[to].question);
    if (late[to].at_ns == 0) {
        late[to].at_ns = clock_now_ns();
        memcpy(late[to].question, (const unsigned char *)bytes + sizeof head, late[to].len = more);
        return;
    }
    say(to, RANK_PONG, late[to].at_ns, late[to].question, late[to].len, true);
    late[to].at_ns = 0;
    answer_clock(to, bytes, len);
}

static void say_hello(int from, const char *version) {
    char host[RANK_HOST] = "", boot[40] = "";
    struct buf hello = {0};
    host_identity(host, sizeof host, boot, sizeof boot);
    buf_addf(&hello, "%s %s %s", version, host[0] ? host : "unknown", boot[0] ? boot : "unknown");
    say(from, RANK_HELLO, 0, hello.data, hello.len + 1, true);
    buf_free(&hello);
}

static int fake_load(void **state) {
    char path[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 20);
    (void)state;
    if (n < 0) return -1;
    path[n] = '\0';
    strcpy(strrchr(path, '/') + 1, "kvfall-mpi.so");
    void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    mpi = library ? dlsym(library, "fake_mpi") : NULL;
    if (!mpi) return -1;
    mpi->size = 3;
    mpi->on_send = answer_clock;
    return 0;
}

static void gone(void) {}

static struct rank *joined(void) {
    struct rank *r = NULL;
    struct err e = {0};
    mpi->gone = -1;
    for (int i = 1; i < mpi->size; i++) say_hello(i, build_version());
    if (rank_join(&r, NULL, gone, &e) != 0) fail_msg("%s", e.text);
    assert_int_equal(rank_number(r), 0);
    assert_int_equal(rank_count(r), 3);
    return r;
}

static struct rank_message *next(struct rank *r) {
    struct rank_message *m;
    while (!(m = rank_take(r))) {
        struct pollfd p = {.fd = rank_fd(r), .events = POLLIN};
        assert_true(poll(&p, 1, 60 * 1000) == 1);
    }
    return m;
}

static void expect_next(struct rank *r, unsigned from, uint64_t number) {
    struct rank_message *m = next(r);
    assert_int_equal(m->from, from);
    assert_int_equal(m->number, number);
    free(m);
}

static void a_message_that_stands_still(void **state) {
    enum { LONG = 300000 };
    unsigned char *bytes = mem_alloc(LONG);
    struct rank *r = joined();
    (void)state;
    for (size_t i = 0; i < LONG; i++) bytes[i] = (unsigned char)(i * 7 + i / 251);
    say(1, RANK_READING, 1, bytes, LONG, false);
    say(1, RANK_READING, 2, NULL, 0, true);
    for (uint64_t i = 1; i <= 50; i++) {
        say(2, RANK_READING, i, bytes, 10, true);
        expect_next(r, 2, i);
    }
    assert_null(rank_take(r)); /* the second of rank 1 has not passed its first */
    assert_true(rank_silent_ns(r, 1) > rank_silent_ns(r, 2)); /* and gives no sign of life */
    mpi->complete();
    struct rank_message *m = next(r);
    assert_int_equal(m->from, 1);
    assert_int_equal(m->number, 1);
    assert_int_equal(m->len, LONG);
    assert_memory_equal(m->bytes, bytes, LONG);
    free(m);
    expect_next(r, 1, 2);
    rank_leave(r, true);
    free(bytes);
}

/* Neither is anybody else's message held up by one that no rank of ours can have sent. */
static void messages_that_say_nothing(void **state) {
    struct rank *r = joined();
    (void)state;
    mpi->deliver(1, "short", 5, true);
    say(2, RANK_KINDS, 1, NULL, 0, true);
    say(2, RANK_READING, 2, NULL, 0, true);
    expect_next(r, 2, 2);
    rank_leave(r, true);
}

static void a_receiver_that_is_gone(void **state) {
    struct rank *r = joined();
    (void)state;
    mpi->gone = 1;
    rank_send_all(r, RANK_GO, 1, "0123456789", 10);
    say(2, RANK_READING, 1, NULL, 0, true);
    expect_next(r, 2, 1);
    rank_leave(r, true);
}

static void messages_of_runs_that_follow(void **state) {
    struct head later = {.kind = RANK_READING, .round = 1, .number = 7};
    struct rank *r = joined();
    (void)state;
    mpi->deliver(1, &later, sizeof later, true);
    say(2, RANK_READING, 1, NULL, 0, true);
    expect_next(r, 2, 1);
    say(2, RANK_READING, 2, NULL, 0, true);
    rank_next_run(r);
    expect_next(r, 1, 7);
    mpi->deliver(2, &(struct head){.kind = RANK_READING, .round = 1, .number = 3}, sizeof later, true);
    expect_next(r, 2, 3); /* and its second of the run before is dropped */
    rank_leave(r, true);
}

static void a_rank_of_another_version(void **state) {
    struct rank *r = NULL;
    struct err e = {0};
    (void)state;
    say_hello(1, build_version());
    say_hello(2, "0.0.1");
    assert_true(rank_join(&r, NULL, gone, &e) != 0);
    assert_null(r);
    assert_non_null(strstr(e.text, "rank 2 on "));
    assert_non_null(strstr(e.text, " runs kvfall 0.0.1 and rank 0 "));
    assert_non_null(strstr(e.text, "; install the same version"));
}

static void an_answer_to_an_earlier_question(void **state) {
    int64_t offset_ns;
    uint64_t error_ns;
    (void)state;
    mpi->on_send = answer_late;
    struct rank *r = joined();
    for (unsigned i = 1; i < 3; i++) {
        while (!rank_clock_offset(r, i, &offset_ns, &error_ns)) sched_yield();
        assert_true((uint64_t)llabs(offset_ns) <= error_ns); /* it is one clock */
    }
    rank_leave(r, true);
    mpi->on_send = answer_clock;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_message_that_stands_still), cmocka_unit_test(messages_that_say_nothing),
        cmocka_unit_test(a_receiver_that_is_gone),     cmocka_unit_test(messages_of_runs_that_follow),
        cmocka_unit_test(a_rank_of_another_version),   cmocka_unit_test(an_answer_to_an_earlier_question),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, fake_load, NULL);
}
