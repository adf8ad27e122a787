#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/url.h"
#include "base/utf8.h"
#include "tier/resp/resp.h"

enum { PORT = 6379, CLIENT_IN = 16 * 1024, REPLY_MAX = 1 << 20 };

/* ---- the address ---- */

static int find_socket(struct resp_server *s, const struct url *u, struct err *e) {
    struct sockaddr_un *to = (struct sockaddr_un *)(void *)&s->address;
    if (strlen(u->path) >= sizeof to->sun_path)
        return err_set(e, KVF_ERR_USAGE, "%s: the path of the socket is longer than %zu bytes", s->key,
                       sizeof to->sun_path - 1);
    to->sun_family = AF_UNIX;
    memcpy(to->sun_path, u->path, strlen(u->path) + 1);
    s->address_len = sizeof *to;
    (void)snprintf(s->name, sizeof s->name, "%s", u->path);
    return 0;
}

int resp_server_at(struct resp_server *s, const char *host, uint16_t port, int flags, struct err *e) {
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = flags}, *found = NULL;
    char number[8];
    s->port = port;
    (void)snprintf(s->host, sizeof s->host, "%s", host);
    (void)snprintf(number, sizeof number, "%u", port);
    url_place(host, port, s->name, sizeof s->name);
    int rc = getaddrinfo(host, number, &hints, &found);
    if (rc != 0)
        return err_set(e, KVF_ERR_UNAVAILABLE,
                       "%s: the host %s is not found (%s); correct it, or give a number", s->key, host,
                       gai_strerror(rc));
    memcpy(&s->address, found->ai_addr, found->ai_addrlen);
    s->address_len = found->ai_addrlen;
    freeaddrinfo(found);
    return 0;
}

int resp_server_find(struct resp_server *s, const struct scenario *scenario, const char *key, const char *url,
                     struct err *e) {
    struct err why = {0};
    struct url u;
    *s = (struct resp_server){.key = key, .timeout_ns = scenario->remote.timeout_ns};
    if (url_parse(url, &u, &why) != 0)
        return err_set(e, KVF_ERR_USAGE, "%s is not the address of a server: %s", key, why.text);
    url_secret(url, &s->secret);
    bool local = strcmp(u.scheme, "unix") == 0;
    int rc = strcmp(u.scheme, "rediss") == 0 ? resp_tls_open(&s->tls, scenario->remote.insecure, e) : 0;
    if (rc != 0) return rc;
    s->database = (uint32_t)strtoul(url_database(&u), NULL, 10); /* as checked */
    return local ? find_socket(s, &u, e) : resp_server_at(s, u.host, u.port ? u.port : PORT, 0, e);
}

void resp_server_forget(struct resp_server *s) {
    resp_tls_close(s->tls);
    s->tls = NULL;
}

int resp_server_socket(const struct resp_server *s) {
    int one = 1, fd = socket(s->address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) return -errno;
    if (s->address.ss_family != AF_UNIX) (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (connect(fd, (const struct sockaddr *)&s->address, s->address_len) == 0 || errno == EINPROGRESS)
        return fd;
    int error = errno;
    close(fd);
    return -error;
}

/* ---- commands ---- */

void resp_command(struct buf *out, const char *const *words) {
    size_t n = 0;
    while (words[n]) n++;
    buf_addf(out, "*%zu\r\n", n);
    for (size_t i = 0; i < n; i++) buf_addf(out, "$%zu\r\n%s\r\n", strlen(words[i]), words[i]);
}

unsigned resp_server_greeting(const struct resp_server *s, struct buf *out) {
    const struct url_secret *k = &s->secret;
    unsigned n = 0;
    char number[16];
    if (k->password[0]) {
        const char *alone[] = {"AUTH", k->password, NULL}, *both[] = {"AUTH", k->user, k->password, NULL};
        resp_command(out, k->user[0] ? both : alone);
        n++;
    }
    if (s->database) {
        (void)snprintf(number, sizeof number, "%" PRIu32, s->database);
        resp_command(out, (const char *const[]){"SELECT", number, NULL});
        n++;
    }
    return n;
}

void resp_error_words(const struct resp_server *s, const char *text, size_t text_len, char *out, size_t len) {
    static const struct {
        const char *word, *meaning;
    } known[] = {
        {"OOM", "has no memory left; give it more maxmemory, or tiers.remote less capacity"},
        {"READONLY", "is a replica that takes no writes; give its master's address"},
        {"NOAUTH", "wants a password; give it in KVFALL_REMOTE_PASSWORD"},
        {"WRONGPASS",
         "does not accept the user or the password; correct KVFALL_REMOTE_PASSWORD or the address"},
        {"ERR AUTH", "does not accept the password; correct KVFALL_REMOTE_PASSWORD or the address"},
        {"ERR invalid password",
         "does not accept the password; correct KVFALL_REMOTE_PASSWORD or the address"},
        {"NOPERM", "does not let this user do that"},
        {"ERR SELECT is not allowed in cluster",
         "is a member of a cluster, which has database 0 alone; take the number out of its address"},
        {"MOVED", "is a member of a cluster, and others have this value"},
        {"ASK", "is a member of a cluster, and others have this value"},
        {"CLUSTERDOWN", "is a member of a cluster that is down"},
        {"LOADING", "is still loading its data"},
        {"MISCONF", "takes no writes because it cannot save; start it with --save ''"},
    };
    const char *meaning = "refused a command";
    int shown = text_len > 120 ? 120 : (int)text_len;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        size_t n = strlen(known[i].word);
        if (text_len < n || memcmp(text, known[i].word, n) != 0) continue;
        meaning = known[i].meaning;
        break;
    }
    (void)snprintf(out, len, "the server at %s %s (it says: %.*s)", s->name, meaning, shown, text);
    utf8_clean(out, 0);
}

/* ---- one command at a time ---- */

struct resp_client {
    const struct resp_server *server;
    int fd;
    struct ssl_st *tls;
    uint64_t deadline_ns; /* of all that is asked now: a server that drips bytes holds nobody */
    char in[CLIENT_IN];
    size_t len;
};

static int wait_for(const struct resp_client *c, short events, struct err *e) {
    struct pollfd p = {.fd = c->fd, .events = events};
    int rc;
    do {
        uint64_t now_ns = clock_now_ns();
        if (now_ns >= c->deadline_ns)
            rc = 0;
        else
            rc = poll(&p, 1, (int)((c->deadline_ns - now_ns) / KVF_NS_PER_MS) + 1);
    } while (rc < 0 && errno == EINTR);
    if (rc > 0) return 0;
    return err_set(e, KVF_ERR_UNAVAILABLE, "the server at %s gives no answer within tiers.remote.timeout",
                   c->server->name);
}

static int absent(const struct resp_server *s, int error, struct err *e) {
    char start[URL_WORD + 120];
    if (s->tls)
        (void)snprintf(start, sizeof start,
                       "redis-server --port 0 --tls-port %u --tls-cert-file CERT --tls-key-file KEY "
                       "--tls-auth-clients no --save ''",
                       s->port);
    else if (s->port)
        (void)snprintf(start, sizeof start, "redis-server --port %u --save ''", s->port);
    else
        (void)snprintf(start, sizeof start, "redis-server --port 0 --unixsocket %s --save ''", s->name);
    return err_set(e, KVF_ERR_UNAVAILABLE,
                   "no server answers at %s (%s); start one, as with `%s`, or name another in %s", s->name,
                   strerror(error), start, s->key);
}

static int client_send(struct resp_client *c, const struct buf *commands, struct err *e) {
    for (size_t at = 0; at < commands->len;) {
        struct iovec iov = {commands->data + at, commands->len - at};
        ssize_t n = resp_tls_pass(c->fd, c->tls, &iov, 1, true);
        if (n > 0) at += (size_t)n;
        if (n > 0) continue;
        if (n < 0 && errno != EAGAIN)
            return err_set_errno(e, KVF_ERR_UNAVAILABLE, errno, "the connection to %s is lost",
                                 c->server->name);
        int rc = wait_for(c, POLLOUT, e);
        if (rc != 0) return rc;
    }
    return 0;
}

static int client_more(struct resp_client *c, struct err *e) {
    for (;;) {
        struct iovec iov = {c->in + c->len, sizeof c->in - c->len};
        ssize_t n = resp_tls_pass(c->fd, c->tls, &iov, 1, false);
        if (n > 0) {
            c->len += (size_t)n;
            return 0;
        }
        if (n == 0)
            return err_set(e, KVF_ERR_UNAVAILABLE, "the server at %s has closed the connection",
                           c->server->name);
        if (errno != EAGAIN)
            return err_set_errno(e, KVF_ERR_UNAVAILABLE, errno, "the connection to %s is lost",
                                 c->server->name);
        int rc = wait_for(c, POLLIN, e);
        if (rc != 0) return rc;
    }
}

static void client_take(struct resp_client *c, size_t n) {
    memmove(c->in, c->in + n, c->len - n);
    c->len -= n;
}

static int client_bulk(struct resp_client *c, uint64_t left, struct buf *reply, struct err *e) {
    for (left += 2; left > 0;) {
        if (c->len == 0) {
            int rc = client_more(c, e);
            if (rc != 0) return rc;
        }
        size_t n = left < c->len ? (size_t)left : c->len, text = left > 2 ? (size_t)(left - 2) : 0;
        if (reply) buf_bytes(reply, c->in, n < text ? n : text);
        client_take(c, n);
        left -= n;
    }
    return 0;
}

static int client_absurd(struct resp_client *c, const char *why, struct err *e) {
    return err_set(e, KVF_ERR_UNAVAILABLE, "%s is not a Redis or Valkey server: %s", c->server->name, why);
}

static int client_head(struct resp_client *c, struct resp_head *h, struct err *e) {
    while ((*h = resp_head_read(c->in, c->len)).kind == RESP_MORE) {
        int rc = client_more(c, e);
        if (rc != 0) return rc;
    }
    return h->kind == RESP_BAD ? client_absurd(c, h->why, e) : 0;
}

static int client_text(struct resp_client *c, const struct resp_head *h, struct buf *reply, struct err *e) {
    client_take(c, h->len);
    if (h->number <= REPLY_MAX) return client_bulk(c, (uint64_t)h->number, reply, e);
    return err_set(e, KVF_ERR_UNAVAILABLE, "the server at %s answers with %" PRId64 " bytes, far too many",
                   c->server->name, h->number);
}

/* The parts of a reply, and theirs, as lines. */
static int client_parts(struct resp_client *c, int64_t parts, struct buf *reply, struct err *e) {
    struct resp_head h;
    for (; parts > 0; parts--) {
        int rc = client_head(c, &h, e);
        if (rc != 0) return rc;
        if (h.kind == RESP_ERROR || reply->len > REPLY_MAX || parts > RESP_ARRAY_MAX)
            return client_absurd(c, "a reply has parts that none has", e);
        if (h.kind == RESP_BULK) {
            size_t at = reply->len + 1;
            buf_add(reply, "$");
            rc = client_text(c, &h, reply, e);
            for (; at < reply->len; at++)
                if ((unsigned char)reply->data[at] < ' ') reply->data[at] = ' ';
            buf_add(reply, "\n");
            if (rc != 0) return rc;
            continue;
        }
        bool text = h.kind == RESP_SIMPLE;
        buf_addf(reply, "%c%.*s\n",
                 h.kind == RESP_NIL ? '$'
                 : text             ? '$'
                                    : *c->in,
                 h.kind == RESP_NIL ? 0 : (int)h.text_len, h.text);
        if (h.kind == RESP_ARRAY) parts += h.number;
        client_take(c, h.len);
    }
    return 0;
}

static int client_reply(struct resp_client *c, struct buf *reply, struct err *e) {
    struct resp_head h;
    char words[400];
    int rc = client_head(c, &h, e);
    if (rc != 0) return rc;
    if (reply) buf_free(reply);
    switch (h.kind) {
    case RESP_ERROR:
        resp_error_words(c->server, h.text, h.text_len, words, sizeof words);
        client_take(c, h.len);
        return err_set(e, KVF_ERR_UNAVAILABLE, "%s", words);
    case RESP_BULK:
        return client_text(c, &h, reply, e);
    case RESP_SIMPLE:
        if (reply) buf_bytes(reply, h.text, h.text_len);
        break;
    case RESP_ARRAY:
        if (!reply) return client_absurd(c, "a reply has parts", e);
        buf_addf(reply, "*%" PRId64 "\n", h.number);
        client_take(c, h.len);
        return client_parts(c, h.number, reply, e);
    default:
        break;
    }
    client_take(c, h.len);
    return 0;
}

int resp_client_each(struct resp_client *c, const struct buf *commands, unsigned count, struct buf *reply,
                     resp_take *take, void *ctx, struct err *e) {
    struct err first = {0};
    c->deadline_ns = clock_now_ns() + c->server->timeout_ns;
    int rc = client_send(c, commands, &first);
    for (unsigned i = 0; i < count && (rc == 0 || rc == -KVF_ERR_UNAVAILABLE); i++) {
        struct err one = {0};
        rc = client_reply(c, reply, &one);
        if (rc == 0 && take) take(ctx, i, buf_text(reply));
        if (rc == 0) continue;
        if (!err_is(&first)) first = one;
        break;
    }
    return err_is(&first) ? err_set(e, first.code, "%s", first.text) : 0;
}

int resp_client_call(struct resp_client *c, const struct buf *commands, unsigned count, struct buf *reply,
                     struct err *e) {
    return resp_client_each(c, commands, count, reply, NULL, NULL, e);
}

static int client_shake(struct resp_client *c, struct err *e) {
    char why[400];
    if (!c->server->tls) return 0;
    c->tls = resp_tls_begin(c->server->tls, c->fd, c->server->host);
    if (!c->tls) return err_set(e, KVF_ERR_NOMEM, "not enough memory for a connection");
    for (;;) {
        enum resp_tls_wants wants = resp_tls_shake(c->tls, c->server->name, why, sizeof why);
        if (wants == TLS_DONE) return 0;
        if (wants == TLS_REFUSED) return err_set(e, KVF_ERR_UNAVAILABLE, "%s", why);
        if (wait_for(c, wants == TLS_READ ? POLLIN : POLLOUT, NULL) != 0)
            return err_set(
                e, KVF_ERR_UNAVAILABLE,
                "the server at %s does not answer to TLS within tiers.remote.timeout; for a server "
                "without TLS use redis://",
                c->server->name);
    }
}

struct resp_client *resp_client_open(const struct resp_server *s, struct err *e) {
    int fd = resp_server_socket(s), error = 0;
    if (fd < 0) {
        (void)absent(s, -fd, e);
        return NULL;
    }
    struct resp_client *c = mem_zalloc(1, sizeof *c);
    socklen_t len = sizeof error;
    c->server = s;
    c->fd = fd;
    c->deadline_ns = clock_now_ns() + s->timeout_ns;
    int rc = wait_for(c, POLLOUT, e);
    if (rc == 0 && (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) != 0 || error != 0))
        rc = absent(s, error ? error : errno, e);
    if (rc == 0) rc = client_shake(c, e);
    struct buf commands = {0};
    unsigned n = resp_server_greeting(s, &commands);
    resp_command(&commands, (const char *const[]){"PING", NULL});
    if (rc == 0) rc = resp_client_call(c, &commands, n + 1, NULL, e);
    buf_free(&commands);
    if (rc == 0) return c;
    resp_client_close(c);
    return NULL;
}

void resp_client_close(struct resp_client *c) {
    if (!c) return;
    resp_tls_end(c->tls);
    close(c->fd);
    free(c);
}

bool resp_info_text(const char *info, const char *name, char *out, size_t len) {
    size_t n = strlen(name);
    for (const char *line = info; line && *line; line = strchr(line, '\n'), line = line ? line + 1 : NULL) {
        if (strncmp(line, name, n) != 0 || line[n] != ':') continue;
        (void)snprintf(out, len, "%.*s", (int)strcspn(line + n + 1, "\r\n"), line + n + 1);
        utf8_clean(out, 0);
        return true;
    }
    return false;
}

uint64_t resp_info_number(const char *info, const char *name) {
    char text[40], *end;
    if (!resp_info_text(info, name, text, sizeof text) || text[0] < '0' || text[0] > '9') return UINT64_MAX;
    errno = 0;
    uint64_t v = strtoull(text, &end, 10);
    return *end || errno ? UINT64_MAX : v;
}
