/* Replies of a server of the remote tier: to a read, a write, a lookup of two values, or to one who only
 * asks. The first byte chooses. Each connection gets the whole input, at once or in a hundred pieces, and is
 * closed then. Time is the test's, and so are the sockets: the system's would take nearly all of the time.
 */
#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fuzz.h"
#include "tier/resp/resp.h"

enum { VALUE = 4096, ENTRY = 2 * VALUE, TURNS = 1000, PEERS = 64, PIECES = 100, EPOLL_FD = 1 << 20 };

static struct run_clock run_time;

/* ---- a server, as the system would show it; descriptors count from EPOLL_FD on ---- */

static struct peer {
    bool open, answers;
    uint32_t events;  /* that are watched */
    void *watcher;    /* who is told */
    size_t at, ready; /* of the answer: received, sent */
} peer[PEERS];
static int peers; /* so far; more get no socket */
static const uint8_t *answer;
static size_t answer_len, piece;

static struct peer *peer_of(int fd) {
    int i = fd - EPOLL_FD - 1;
    fuzz_require(i >= 0 && i < peers && peer[i].open);
    return &peer[i];
}

static void send_more(void) {
    for (int i = 0; i < peers; i++) {
        peer[i].answers = true;
        peer[i].ready = answer_len - peer[i].ready < piece ? answer_len : peer[i].ready + piece;
    }
}

static bool has_closed(const struct peer *p) {
    return p->answers && p->ready == answer_len;
}

int socket(int family, int type, int protocol) {
    (void)family, (void)type, (void)protocol;
    if (peers == PEERS) {
        errno = EMFILE;
        return -1;
    }
    peer[peers] = (struct peer){.open = true};
    return EPOLL_FD + ++peers;
}

int connect(int fd, __CONST_SOCKADDR_ARG to, socklen_t len) {
    (void)to, (void)len;
    (void)peer_of(fd);
    return 0;
}

int getsockopt(int fd, int level, int name, void *restrict value, socklen_t *restrict len) {
    (void)level, (void)name;
    (void)peer_of(fd);
    memset(value, 0, *len);
    return 0;
}

ssize_t sendmsg(int fd, const struct msghdr *m, int flags) {
    size_t sent = 0;
    (void)flags;
    (void)peer_of(fd);
    for (size_t i = 0; i < m->msg_iovlen; i++) sent += m->msg_iov[i].iov_len;
    return (ssize_t)sent;
}

ssize_t recvmsg(int fd, struct msghdr *m, int flags) {
    struct peer *p = peer_of(fd);
    size_t got = 0;
    (void)flags;
    if (p->at == p->ready && !has_closed(p)) {
        errno = EAGAIN;
        return -1;
    }
    for (size_t i = 0; i < m->msg_iovlen; i++) {
        size_t left = p->ready - p->at, n = m->msg_iov[i].iov_len < left ? m->msg_iov[i].iov_len : left;
        memcpy(m->msg_iov[i].iov_base, answer + p->at, n);
        p->at += n;
        got += n;
    }
    return (ssize_t)got; /* 0: it has closed */
}

int epoll_create1(int flags) {
    (void)flags;
    return EPOLL_FD;
}

int epoll_ctl(int epoll_fd, int op, int fd, struct epoll_event *e) {
    struct peer *p = peer_of(fd);
    fuzz_require(epoll_fd == EPOLL_FD && (op == EPOLL_CTL_DEL || e->data.ptr));
    p->events = op == EPOLL_CTL_DEL ? 0 : e->events;
    p->watcher = op == EPOLL_CTL_DEL ? NULL : e->data.ptr;
    return 0;
}

int epoll_wait(int epoll_fd, struct epoll_event *out, int most, int timeout) {
    int n = 0;
    fuzz_require(epoll_fd == EPOLL_FD && timeout == 0);
    for (int i = 0; i < peers && n < most; i++) {
        const struct peer *p = &peer[i];
        bool readable = p->at < p->ready || has_closed(p);
        uint32_t now = (EPOLLOUT | (readable ? EPOLLIN : 0)) & p->events;
        if (p->open && now) out[n++] = (struct epoll_event){.events = now, .data.ptr = p->watcher};
    }
    return n;
}

int close(int fd) {
    if (fd < EPOLL_FD) return (int)syscall(SYS_close, fd);
    if (fd > EPOLL_FD) peer_of(fd)->open = false;
    return 0;
}

/* ---- an operation at it ---- */

static void play(struct resp_tier *t, enum kvf_dir dir, const uint8_t *data, size_t size, bool pieces) {
    static uint8_t buf[ENTRY] __attribute__((aligned(4096)));
    struct tier_queue *q;
    struct tier_chunk chunk = {.dir = dir, .entry_bytes = ENTRY, .len = ENTRY, .buf = buf, .id = {1, 2, 3}};
    struct tier_chunk *one = &chunk;
    peers = 0;
    answer = data;
    answer_len = size;
    piece = pieces ? size / PIECES + 1 : size;
    atomic_store(&run_time.paused_at_ns, KVF_NS_PER_S);
    struct tier *base = &t->remote.base;
    fuzz_require(remote_queue_open(base, &q, 0, 1, NULL) == 0);
    chunk.operation = &chunk;
    chunk.place = remote_alloc(base, ENTRY);
    fuzz_require(remote_queue_submit(q, &one, 1) == 1);
    int turn = 0;
    for (one = NULL; !one && turn < TURNS; turn++) {
        send_more();
        if (remote_queue_reap(q, &one, 1) == 1) break;
        uint64_t next = remote_queue_next_ns(q), now = run_clock_now(&run_time);
        if (turn % 4 == 3 && next != KVF_NEVER && next > now) atomic_store(&run_time.paused_at_ns, next);
    }
    fuzz_require(one == &chunk);
    fuzz_require(chunk.error == 0 || chunk.error == EREMOTEIO || chunk.error == ENODATA);
    if (chunk.error == EREMOTEIO) fuzz_require_sentence(remote_queue_why(q));
    remote_queue_forget(q, &chunk);
    remote_queue_close(q);
    for (int i = 0; i < peers; i++) fuzz_require(!peer[i].open);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) return 0;
    uint8_t mode = *data;
    struct resp_tier t = {.remote = {.base = {.ops = &tier_resp_ops, .tier = KVF_TIER_REMOTE},
                                     .wire = &resp_conn_wire,
                                     .clock = &run_time,
                                     .name = "the fuzzed server",
                                     .value_bytes = VALUE,
                                     .timeout_ns = KVF_NS_PER_S,
                                     .connections = 2,
                                     .workers = 1,
                                     .one_by_one = mode & 1,
                                     .asks = mode & 2},
                          .token_bytes = 64,
                          .plain = !(mode & 1),
                          .pairs = mode & 1,
                          .ttl_ms = mode & 8 ? 5 : 0};
    t.server.timeout_ns = KVF_NS_PER_S;
    t.server.address.ss_family = AF_UNIX;
    strcpy(t.server.name, "the fuzzed server");
    if (mode & 16) { /* what is read before a run */
        struct buf text = {0};
        struct resp_head h = resp_head_read((const char *)data + 1, size - 1);
        fuzz_require(h.kind != RESP_BAD || h.why);
        fuzz_require(h.kind == RESP_MORE || h.kind == RESP_BAD || (h.len > 0 && h.len < size));
        buf_bytes(&text, data + 1, size - 1);
        char out[64] = "";
        (void)resp_info_text(buf_text(&text), "maxmemory", out, sizeof out);
        (void)resp_info_number(buf_text(&text), "maxmemory");
        buf_free(&text);
        return 0;
    }
    play(&t, mode & 4 ? KVF_DIR_WRITE : KVF_DIR_READ, data + 1, size - 1, mode & 32);
    remote_close(&t.remote);
    return 0;
}
