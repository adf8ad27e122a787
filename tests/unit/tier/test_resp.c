#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

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
    assert_int_equal(resp_server_at(s, "127.0.0.1", 7000, 0, NULL), 0);
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
                                  ":7009\n$id\n*3\n:12182\n:16383\n*3\n$127.0.0.1\n:7001\n$id\n",
                                  NULL));
    assert_int_equal(resp_cluster_masters(k, master), 2);
    assert_int_equal(resp_cluster_owner(k, "foo", 3), 1);
    assert_string_equal(resp_cluster_server(k, 1)->name, "127.0.0.1:7001");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(resp_cluster_read(k, &s, bad[i], NULL));
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
    struct err e = {0};
    assert_false(resp_cluster_read(k, &s, "*1\n*3\n:0\n:1\n*2\n$127.0.0.1\n:6000\n", &e));
    assert_non_null(strstr(e.text, "has more than 64 servers"));
    resp_cluster_free(k);
}

static void names_that_are_not_found(void **state) {
    static const char ask[] = "ASK 1 localhost:7001";
    struct resp_server s;
    struct resp_cluster *k = of_one(&s);
    struct err e = {0};
    bool asking;
    (void)state;
    assert_int_equal(resp_cluster_redirect(k, &s, ask, sizeof ask - 1, &asking),
                     -1); /* asks no name service */
    assert_false(resp_cluster_read(k, &s, "*1\n*3\n:0\n:1\n*2\n$not a name\n:7001\n", &e));
    assert_non_null(strstr(e.text, "not a name has slots of its cluster, and this host is not found"));
    resp_cluster_free(k);
}

static void slots_that_nobody_has(void **state) {
    struct resp_server s;
    struct resp_cluster *k = of_one(&s);
    uint8_t master[RESP_NODES];
    (void)state;
    assert_true(resp_cluster_read(k, &s, "*1\n*3\n:12182\n:16383\n*2\n$127.0.0.1\n:7001\n", NULL));
    assert_int_equal(resp_cluster_masters(k, master), 1);
    assert_int_equal(master[0], 1);
    assert_int_equal(resp_cluster_owner(k, "foo", 3), 1);
    assert_int_equal(resp_cluster_owner(k, "{user1000}", 10), 0);
    resp_cluster_free(k);
}

/* ---- servers of a few lines ---- */

struct fake {
    int listener;
    uint16_t port, other; /* that shares the slots */
    bool drips;           /* it answers byte by byte */
    unsigned evicted;     /* which it adds 7 to before its second answer */
    unsigned infos, maps;
    pthread_t thread;
};

static void fake_says(const struct fake *f, int fd, const char *text) {
    size_t len = strlen(text), step = f->drips ? 1 : len;
    for (size_t at = 0; at < len; at += step) {
        if (f->drips) (void)poll(NULL, 0, 40);
        if (send(fd, text + at, step, MSG_NOSIGNAL) < 0) return;
    }
}

static void fake_answers(struct fake *f, int fd, const char *asked) {
    char text[200], info[100];
    if (strstr(asked, "PING")) {
        fake_says(f, fd, "+PONG, says a server with much time\r\n");
    } else if (strstr(asked, "INFO")) {
        if (f->infos++ == 1) f->evicted += 7;
        int n =
            snprintf(info, sizeof info, "used_memory:1\r\nmaxmemory:2\r\nevicted_keys:%u\r\n", f->evicted);
        (void)snprintf(text, sizeof text, "$%d\r\n%s\r\n", n, info);
        fake_says(f, fd, text);
    } else if (f->maps++ == 0) {
        fake_says(f, fd, "-ERR not now\r\n*0\r\n"); /* one answer too many */
    } else {
        (void)snprintf(text, sizeof text,
                       "*2\r\n*3\r\n:0\r\n:99\r\n*2\r\n$0\r\n\r\n:%u\r\n"
                       "*3\r\n:100\r\n:16383\r\n*2\r\n$0\r\n\r\n:%u\r\n",
                       f->port, f->other);
        fake_says(f, fd, text);
    }
}

static void *fake_main(void *arg) {
    struct fake *f = arg;
    for (int fd; (fd = accept(f->listener, NULL, NULL)) >= 0; close(fd)) {
        char asked[400];
        for (ssize_t n; (n = recv(fd, asked, sizeof asked - 1, 0)) > 0;) {
            asked[n] = '\0';
            fake_answers(f, fd, asked);
        }
    }
    return NULL;
}

static void fake_listen(struct fake *f) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t len = sizeof at;
    f->listener = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(f->listener, (struct sockaddr *)&at, len), 0);
    assert_int_equal(listen(f->listener, 8), 0);
    assert_int_equal(getsockname(f->listener, (struct sockaddr *)&at, &len), 0);
    f->port = ntohs(at.sin_port);
}

static void fake_end(struct fake *f) {
    shutdown(f->listener, SHUT_RDWR);
    pthread_join(f->thread, NULL);
    close(f->listener);
}

/* The first map is broken, and another answer follows it; the second has a server that has counted before. */
static void figures_of_a_server_that_joins(void **state) {
    struct fake one = {.evicted = 100}, two = {.evicted = 5000};
    struct resp_server s = {.timeout_ns = KVF_NS_PER_S};
    struct tier_server figures = {0};
    char map[80];
    (void)state;
    fake_listen(&one);
    fake_listen(&two);
    one.other = two.port;
    assert_int_equal(pthread_create(&one.thread, NULL, fake_main, &one), 0);
    assert_int_equal(pthread_create(&two.thread, NULL, fake_main, &two), 0);
    assert_int_equal(resp_server_at(&s, "127.0.0.1", one.port, 0, NULL), 0);
    struct resp_cluster *k = resp_cluster_new(&s);
    (void)snprintf(map, sizeof map, "*1\n*3\n:0\n:16383\n*2\n$\n:%u\n", one.port);
    assert_true(resp_cluster_read(k, &s, map, NULL));
    struct resp_watch *w = resp_watch_open(&s, k);
    for (int i = 0; i < 1000 && !(figures.used_bytes == 2); i++) {
        (void)poll(NULL, 0, 10);
        resp_watch_read(w, &figures);
    }
    resp_watch_close(w);
    assert_true(figures.used_bytes == 2); /* of both */
    assert_true(figures.evicted_keys == 7);
    resp_cluster_free(k);
    fake_end(&one);
    fake_end(&two);
}

static void a_server_that_drips(void **state) {
    struct fake f = {.drips = true};
    struct resp_server s = {.timeout_ns = 200 * KVF_NS_PER_MS};
    struct err e = {0};
    (void)state;
    fake_listen(&f);
    assert_int_equal(pthread_create(&f.thread, NULL, fake_main, &f), 0);
    assert_int_equal(resp_server_at(&s, "127.0.0.1", f.port, 0, NULL), 0);
    struct resp_client *c = resp_client_open(&s, &e);
    resp_client_close(c);
    fake_end(&f);
    assert_null(c);
    assert_non_null(strstr(e.text, "gives no answer within tiers.remote.timeout"));
}

/* ---- a value on its way ---- */

enum { PIECE = 64, AT_ONCE = REMOTE_PIECES * PIECE }; /* of a chunk; of a receive */

static int accepted(const struct fake *f, struct tier_queue *q) {
    struct tier_chunk *done;
    int fd = accept(f->listener, NULL, NULL);
    assert_true(fd >= 0);
    for (int i = 0; i < 1000 && !q->idle; i++) {
        (void)poll(NULL, 0, 1);
        q->idle_turns = UINT_MAX - 1; /* it looks at its sockets */
        assert_int_equal(remote_queue_reap(q, &done, 1), 0);
    }
    assert_non_null(q->idle);
    return fd;
}

/* The answer to a GET, until all of it has reached the other end. */
static void answer_value(int fd, const struct tier_queue *q, size_t bytes) {
    const struct resp_conn *c = (const struct resp_conn *)(const void *)q->conn;
    char asked[400], *text = calloc(1, bytes + 40);
    int head = snprintf(text, 40, "$%zu\r\n", bytes), there = 0;
    size_t all = (size_t)head + bytes + 2;
    for (size_t i = 0; i < bytes; i++) text[(size_t)head + i] = (char)('a' + i % 23);
    memcpy(text + head + bytes, "\r\n", 2);
    assert_true(recv(fd, asked, sizeof asked, 0) > 0);
    assert_int_equal(send(fd, text, all, MSG_NOSIGNAL), all);
    for (int i = 0; i < 1000 && there != (int)all; i++) {
        if (i) (void)poll(NULL, 0, 1);
        assert_int_equal(ioctl(c->line.fd, FIONREAD, &there), 0);
    }
    assert_int_equal(there, all);
    free(text);
}

/* All of a value that has come is taken, however many receives that needs. */
static void read_value(struct tier_queue *q, int fd, size_t bytes) {
    size_t n = bytes / PIECE, back = 0;
    struct tier_chunk *chunk = calloc(n, sizeof *chunk), **chunks = calloc(n, sizeof *chunks);
    struct remote_place place = {.bytes = bytes, .stored = true};
    uint8_t *to = calloc(1, bytes);
    q->tier->value_bytes = bytes;
    for (size_t i = 0; i < n; i++) {
        chunk[i] = (struct tier_chunk){.dir = KVF_DIR_READ,
                                       .place = (uintptr_t)&place,
                                       .entry_bytes = bytes,
                                       .offset = i * PIECE,
                                       .len = PIECE,
                                       .buf = to + i * PIECE,
                                       .operation = chunk};
        chunks[i] = &chunk[i];
    }
    assert_int_equal(remote_queue_submit(q, chunks, (unsigned)n), n);
    answer_value(fd, q, bytes);
    for (size_t i = 0; i < bytes / AT_ONCE && back < n; i++)
        for (unsigned got; (got = remote_queue_reap(q, chunks, (unsigned)n)) > 0;) back += got;
    if (back != n || !q->idle)
        fail_msg("of a value of %zu bytes came %zu of %zu chunks, and its connection is %s", bytes, back, n,
                 q->idle ? "free" : "not free for the next");
    for (size_t i = 0; i < bytes; i++) assert_int_equal(to[i], 'a' + i % 23);
    for (size_t i = 0; i < n; i++) assert_int_equal(chunk[i].error, 0);
    remote_queue_forget(q, chunk);
    free(to);
    free(chunks);
    free(chunk);
}

static void a_value_that_takes_many_receives(void **state) {
    struct fake f = {0};
    struct run_clock clock = {0};
    struct resp_tier t = {.remote = {.wire = &resp_conn_wire,
                                     .clock = &clock,
                                     .connections = 1,
                                     .workers = 1,
                                     .timeout_ns = KVF_NEVER / 2}};
    struct tier_queue *q = NULL;
    (void)state;
    fake_listen(&f);
    assert_int_equal(resp_server_at(&t.server, "127.0.0.1", f.port, 0, NULL), 0);
    assert_int_equal(remote_queue_open(&t.remote.base, &q, 0, 1024, NULL), 0);
    int fd = accepted(&f, q);
    for (size_t receives = 1; receives <= 30; receives++) read_value(q, fd, receives * AT_ONCE);
    remote_queue_close(q);
    close(fd);
    close(f.listener);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_of_every_kind),
        cmocka_unit_test(a_part_of_a_line_asks_for_more),
        cmocka_unit_test(what_no_server_says_is_bad),
        cmocka_unit_test(names_fall_into_slots),
        cmocka_unit_test(a_map_of_slots),
        cmocka_unit_test(a_cluster_of_too_many),
        cmocka_unit_test(names_that_are_not_found),
        cmocka_unit_test(slots_that_nobody_has),
        cmocka_unit_test(figures_of_a_server_that_joins),
        cmocka_unit_test(a_server_that_drips),
        cmocka_unit_test(a_value_that_takes_many_receives),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
