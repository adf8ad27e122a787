/* Replies of a server of the remote tier: to a read, a write, a lookup of two values, or to one who only
 * asks. The first byte chooses. Each connection gets the whole input and is closed then; time is the test's.
 */
#include <errno.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "fuzz.h"
#include "tier/resp/resp.h"

enum { VALUE = 4096, ENTRY = 2 * VALUE, TURNS = 1000, PEERS = 64 };

static struct run_clock run_time;
static struct payload *payload;
static int listener = -1;

static void listen_once(struct resp_server *s) {
    static struct resp_server kept;
    if (listener < 0) {
        struct sockaddr_un *to = (struct sockaddr_un *)(void *)&kept.address;
        to->sun_family = AF_UNIX;
        int n = snprintf(to->sun_path + 1, sizeof to->sun_path - 1, "kvfall-fuzz-%ld", (long)getpid());
        kept.address_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
        kept.timeout_ns = KVF_NS_PER_S;
        strcpy(kept.name, "the fuzzed server");
        listener = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
        fuzz_require(listener >= 0);
        fuzz_require(bind(listener, (struct sockaddr *)to, kept.address_len) == 0 &&
                     listen(listener, PEERS) == 0);
        payload = payload_open(1, 1 << 20, NULL);
        fuzz_require(payload != NULL);
    }
    *s = kept;
}

/* Sends the input to every connected client and closes. */
static void answer(const uint8_t *data, size_t size, int peers[PEERS], int *count) {
    for (int fd; *count < PEERS && (fd = accept(listener, NULL, NULL)) >= 0;) {
        (void)!send(fd, data, size, MSG_NOSIGNAL | MSG_DONTWAIT);
        shutdown(fd, SHUT_WR);
        peers[(*count)++] = fd;
    }
}

static void play(struct resp_tier *t, enum kvf_dir dir, const uint8_t *data, size_t size) {
    static uint8_t buf[ENTRY] __attribute__((aligned(4096)));
    struct tier_queue *q;
    struct tier_chunk chunk = {.dir = dir, .entry_bytes = ENTRY, .len = ENTRY, .buf = buf, .id = {1, 2, 3}};
    struct tier_chunk *one = &chunk;
    int peers[PEERS], count = 0;
    atomic_store(&run_time.paused_at_ns, KVF_NS_PER_S);
    struct tier *base = &t->remote.base;
    fuzz_require(remote_queue_open(base, &q, 0, 1, NULL) == 0);
    chunk.operation = &chunk;
    chunk.place = remote_alloc(base, ENTRY);
    fuzz_require(remote_queue_submit(q, &one, 1) == 1);
    int turn = 0;
    for (one = NULL; !one && turn < TURNS; turn++) {
        answer(data, size, peers, &count);
        if (remote_queue_reap(q, &one, 1) == 1) break;
        uint64_t next = remote_queue_next_ns(q), now = run_clock_now(&run_time);
        if (turn % 4 == 3 && next != KVF_NEVER && next > now) atomic_store(&run_time.paused_at_ns, next);
    }
    fuzz_require(one == &chunk);
    fuzz_require(chunk.error == 0 || chunk.error == EREMOTEIO || chunk.error == ENODATA);
    if (chunk.error == EREMOTEIO) fuzz_require_sentence(remote_queue_why(q));
    remote_queue_forget(q, &chunk);
    remote_queue_close(q);
    answer(data, 0, peers, &count);
    while (count > 0) close(peers[--count]);
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
    listen_once(&t.server);
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
    play(&t, mode & 4 ? KVF_DIR_WRITE : KVF_DIR_READ, data + 1, size - 1);
    remote_close(&t.remote);
    return 0;
}
