#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "tier/resp/resp.h"

/* Values that are sent without a copy: what a server gets that is late with reading them. */

enum { VALUE = 256 << 10, LESS = 64 << 10, PATIENCE = 5000 };

static bool refuses; /* the system has no such call */
static unsigned lent;
static int closes; /* with the value in the pipe; 0: none */

ssize_t vmsplice(int fd, const struct iovec *iov, size_t n, unsigned flags) {
    if (refuses) {
        errno = ENOSYS;
        return -1;
    }
    lent++;
    if (closes) close(closes);
    closes = 0;
    return syscall(SYS_vmsplice, fd, iov, n, flags);
}

struct rig {
    int listener, fd; /* the server's */
    struct run_clock clock;
    struct resp_tier t;
    struct tier_queue *q;
    struct remote_place place;
    struct tier_chunk chunk[2];
    uint8_t *buf;
    char *got; /* by the server */
    size_t got_len;
};

/* A socket without a name in the file system. */
static void rig_listen(struct rig *r) {
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    socklen_t len = sizeof at.sun_family;
    r->listener = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(r->listener, (struct sockaddr *)&at, len), 0); /* the system chooses */
    len = sizeof at;
    assert_int_equal(getsockname(r->listener, (struct sockaddr *)&at, &len), 0);
    assert_int_equal(listen(r->listener, 8), 0);
    memcpy(&r->t.server.address, &at, sizeof at);
    r->t.server.address_len = len;
}

static unsigned rig_reap(struct rig *r) {
    struct tier_chunk *done[2];
    r->q->idle_turns = UINT_MAX - 1; /* it looks at its sockets */
    return remote_queue_reap(r->q, done, 2);
}

static struct rig *rig_open(void) {
    struct rig *r = calloc(1, sizeof *r);
    refuses = false;
    lent = 0;
    r->t = (struct resp_tier){.remote = {.wire = &resp_conn_wire,
                                         .clock = &r->clock,
                                         .connections = 1,
                                         .workers = 1,
                                         .value_bytes = VALUE,
                                         .timeout_ns = KVF_NEVER / 2},
                              .plain = true};
    atomic_init(&r->t.splices, true);
    rig_listen(r);
    assert_int_equal(remote_queue_open(&r->t.remote.base, &r->q, 0, 8, NULL), 0);
    r->fd = accept(r->listener, NULL, NULL);
    assert_true(r->fd >= 0);
    for (int i = 0; i < PATIENCE && !r->q->idle; i++) assert_int_equal(rig_reap(r), 0);
    assert_non_null(r->q->idle);
    r->buf = mmap(NULL, VALUE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(r->buf != MAP_FAILED);
    r->got = calloc(1, 2 * VALUE);
    return r;
}

static void rig_close(struct rig *r) {
    remote_queue_close(r->q);
    remote_close(&r->t.remote);
    close(r->fd);
    close(r->listener);
    munmap(r->buf, VALUE);
    free(r->got);
    free(r);
}

/* Hands over a value in so many chunks. */
static void rig_write(struct rig *r, uint64_t bytes, unsigned chunks) {
    struct tier_chunk *all[2] = {&r->chunk[0], &r->chunk[1]};
    r->place = (struct remote_place){.bytes = bytes};
    memset(r->buf, 'a', bytes);
    for (unsigned i = 0; i < chunks; i++)
        r->chunk[i] = (struct tier_chunk){.dir = KVF_DIR_WRITE,
                                          .place = (uintptr_t)&r->place,
                                          .entry_bytes = bytes,
                                          .offset = i * (bytes / chunks),
                                          .len = bytes / chunks,
                                          .buf = r->buf + i * (bytes / chunks),
                                          .operation = r};
    assert_int_equal(remote_queue_submit(r->q, all, chunks), chunks);
}

static const struct resp_conn *rig_conn(const struct rig *r) {
    return (const struct resp_conn *)(const void *)r->q->conn;
}

/* Until all of it is on its way, read by nobody. */
static void rig_sent(struct rig *r) {
    const struct resp_conn *c = rig_conn(r);
    for (int i = 0; i < PATIENCE && c->tail_at < c->tail_len; i++) {
        if (i) (void)poll(NULL, 0, 1);
        assert_int_equal(rig_reap(r), 0);
    }
    assert_int_equal(c->tail_at, c->tail_len);
}

/* The server finds a SET of so many bytes, all of them 'a'. */
static void rig_finds(struct rig *r, uint64_t bytes) {
    char head[32];
    int n = snprintf(head, sizeof head, "$%u\r\n", (unsigned)bytes);
    for (ssize_t got = 1; got > 0 && !memmem(r->got, r->got_len, "a\r\n", 3); r->got_len += (size_t)got) {
        if (r->q) assert_in_range(rig_reap(r), 0, 2); /* the rest of it, while there is more than room */
        got = recv(r->fd, r->got + r->got_len, 2 * VALUE - r->got_len, 0);
        assert_true(got > 0);
    }
    const char *at = memmem(r->got, r->got_len, head, (size_t)n);
    assert_non_null(at);
    at += n;
    assert_int_equal(r->got + r->got_len - at, bytes + 2);
    for (uint64_t i = 0; i < bytes; i++) assert_int_equal(at[i], 'a');
}

static void rig_answered(struct rig *r, unsigned chunks) {
    unsigned back = 0;
    assert_int_equal(send(r->fd, "+OK\r\n", 5, MSG_NOSIGNAL), 5);
    for (int i = 0; i < PATIENCE && back < chunks; i++) back += rig_reap(r);
    assert_int_equal(back, chunks);
    for (unsigned i = 0; i < chunks; i++) assert_int_equal(r->chunk[i].error, 0);
    remote_queue_forget(r->q, r);
}

static void a_value_goes_out_by_its_pages(void **state) {
    struct rig *r = rig_open();
    (void)state;
    rig_write(r, VALUE, 1);
    rig_sent(r);
    assert_true(lent > 0);
    rig_finds(r, VALUE);
    rig_answered(r, 1);
    assert_int_equal(rig_conn(r)->lent.iov_len, 0);
    rig_close(r);
}

/* Its operation is given up, and its buffer used for another, before the server has read it. */
static void a_late_server_finds_what_was_sent(void **state) {
    struct rig *r = rig_open();
    (void)state;
    rig_write(r, VALUE, 1);
    rig_sent(r);
    assert_true(lent > 0);
    remote_queue_forget(r->q, r);
    assert_int_equal(rig_reap(r), 1);
    assert_int_equal(r->chunk[0].error, ECANCELED);
    for (size_t i = 0; i < VALUE; i++) assert_int_equal(r->buf[i], 'a');
    memset(r->buf, 'b', VALUE);
    remote_queue_close(r->q);
    r->q = NULL;
    rig_finds(r, VALUE);
    rig_close(r);
}

static void small_values_and_parts_are_copied(void **state) {
    struct rig *r = rig_open();
    (void)state;
    rig_write(r, LESS, 1);
    rig_finds(r, LESS);
    rig_answered(r, 1);
    r->got_len = 0;
    /* the first chunk goes back before the server has read it */
    rig_write(r, VALUE, 2);
    rig_finds(r, VALUE);
    assert_int_equal(send(r->fd, "+OK\r\n", 5, MSG_NOSIGNAL), 5);
    assert_int_equal(lent, 0);
    rig_close(r);
}

static void a_system_without_it(void **state) {
    struct rig *r = rig_open();
    (void)state;
    refuses = true;
    rig_write(r, VALUE, 1);
    rig_finds(r, VALUE);
    rig_answered(r, 1);
    assert_int_equal(lent, 0);
    assert_false(atomic_load(&r->t.splices));
    rig_close(r);
}

/* A pipe to it raises a signal, which would end the program. */
static void a_server_that_has_closed(void **state) {
    struct rig *r = rig_open();
    (void)state;
    closes = r->fd;
    r->fd = -1;
    rig_write(r, VALUE, 1);
    assert_int_equal(lent, 1);
    assert_true(rig_conn(r)->remote.failures > 0);
    assert_non_null(strstr(r->q->why, "was lost: Broken pipe"));
    rig_close(r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_value_goes_out_by_its_pages),
        cmocka_unit_test(a_late_server_finds_what_was_sent),
        cmocka_unit_test(small_values_and_parts_are_copied),
        cmocka_unit_test(a_system_without_it),
        cmocka_unit_test(a_server_that_has_closed),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
