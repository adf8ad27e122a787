#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/mem.h"
#include "tier/resp/resp.h"

/* A large value goes out as references to the pages of its buffer, through a pipe: the server's side copies
 * them, ours does not, which halves the processor time of a write. The buffer must not change before the
 * server has read it. Its answer says so, and a chunk that holds a whole value goes back with that answer
 * alone. A line that ends without one may still have our pages in its queue, and a server that is late may
 * still store what it finds there: the buffer gets new pages then, and those that are out keep their content.
 *
 * These are still copied: small values, what goes through TLS, and buffers that a device has pinned; and
 * everything on a system without these calls. */

/* SEND_ROOM: of a Unix socket, whose usual 208 KiB would wake us several times a value, and which holds no
 * copies now; TCP sizes its own. */
enum { SPLICE_LEAST = 128 << 10, PIPE_ROOM = 256 << 10, SEND_ROOM = 2 << 20 };

/* A pipe to a socket that the server has closed raises a signal, which no flag prevents. */
static void signal_hold(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    (void)pthread_sigmask(SIG_BLOCK, &set, NULL);
}

static bool pipe_open(const struct resp_conn *c, struct resp_line *l) {
    int room = SEND_ROOM;
    if (l->pipe[1] > 0) return true;
    if (pipe2(l->pipe, O_CLOEXEC | O_NONBLOCK) != 0) {
        l->pipe[0] = l->pipe[1] = 0;
        return false;
    }
    (void)fcntl(l->pipe[1], F_SETPIPE_SZ, PIPE_ROOM); /* a smaller one takes more calls */
    if (c->server->address.ss_family == AF_UNIX)
        (void)setsockopt(l->fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
    signal_hold();
    return true;
}

void resp_splice_end(struct resp_line *l) {
    if (l->pipe[1] > 0) {
        close(l->pipe[0]);
        close(l->pipe[1]);
    }
    l->pipe[0] = l->pipe[1] = 0;
    l->in_pipe = 0;
}

bool resp_splice_can(struct resp_conn *c) {
    struct resp_tier *t = resp_of(c->remote.q);
    const struct remote_job *job = c->remote.job;
    return atomic_load_explicit(&t->splices, memory_order_relaxed) && !c->line.tls && !c->about &&
           job->len >= SPLICE_LEAST && job->hold == job->len && pipe_open(c, &c->line);
}

static ssize_t send_one(const struct resp_line *l, struct iovec *iov, int more) {
    struct msghdr m = {.msg_iov = iov, .msg_iovlen = 1};
    ssize_t rc;
    do rc = sendmsg(l->fd, &m, MSG_NOSIGNAL | more);
    while (rc < 0 && errno == EINTR);
    return rc;
}

/* The rest of the value, as far as pipe and socket take it; what the pipe has comes first. */
static ssize_t send_pages(struct resp_line *l, const struct iovec *rest) {
    struct iovec more = {(uint8_t *)rest->iov_base + l->in_pipe, rest->iov_len - l->in_pipe};
    ssize_t rc = more.iov_len > 0 ? vmsplice(l->pipe[1], &more, 1, SPLICE_F_NONBLOCK) : 0;
    if (rc > 0) l->in_pipe += (size_t)rc;
    if (l->in_pipe == 0) return rc;
    do rc = splice(l->pipe[0], NULL, l->fd, NULL, l->in_pipe, SPLICE_F_NONBLOCK | SPLICE_F_MORE);
    while (rc < 0 && errno == EINTR);
    if (rc > 0) l->in_pipe -= (size_t)rc;
    return rc;
}

ssize_t resp_splice_pass(struct resp_conn *c, struct iovec *iov) {
    struct resp_tier *t = resp_of(c->remote.q);
    const struct remote_job *job = c->remote.job;
    struct resp_line *l = &c->line;
    if (c->out_at < c->out_len) return send_one(l, iov, MSG_MORE);
    if (job->passed == job->len || l->pipe[1] == 0) return send_one(l, iov, 0);
    c->lent = (struct iovec){(uint8_t *)iov->iov_base - job->passed, job->len};
    ssize_t rc = send_pages(l, iov);
    if (rc >= 0 || (errno != EINVAL && errno != ENOSYS && errno != EPERM && errno != ENOMEM)) return rc;
    atomic_store_explicit(&t->splices, false, memory_order_relaxed); /* not on this system */
    resp_splice_end(l);
    return send_one(l, iov, 0);
}

void resp_splice_read(struct resp_conn *c) {
    c->lent = (struct iovec){0};
}

void resp_splice_part(struct resp_conn *c) {
    if (c->lent.iov_len > 0) mem_renew(c->lent.iov_base, c->lent.iov_len);
    c->lent = (struct iovec){0};
}
