#include "study/metrics_address.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BACKLOG = 64, HOST_MAX = 256, PORT_MAX = 65535 };

static int form_wrong(const char *text, struct err *e) {
    return err_set(e, KVF_ERR_USAGE,
                   "--metrics takes HOST:PORT, [IPV6]:PORT or PORT, such as 127.0.0.1:9464, not \"%.200s\"",
                   text);
}

/* The host into `host`; where the port begins, or NULL. */
static const char *host_split(const char *text, char host[HOST_MAX]) {
    const char *from = text, *to, *colon;
    if (text[0] == '[') {
        to = strchr(text, ']');
        if (!to || to[1] != ':') return NULL;
        from = text + 1;
        colon = to + 1;
    } else if ((colon = strrchr(text, ':')) != NULL) {
        to = colon;
        if (strchr(text, ':') != colon) return NULL; /* IPv6 without brackets */
    } else {
        snprintf(host, HOST_MAX, "127.0.0.1");
        return text;
    }
    if (to - from >= HOST_MAX) return NULL;
    snprintf(host, HOST_MAX, "%.*s", (int)(to - from), from);
    if (from == to && text[0] == '[') return NULL;
    if (from == to) snprintf(host, HOST_MAX, "127.0.0.1");
    return colon + 1;
}

static bool port_is_good(const char *port) {
    size_t len = strspn(port, "0123456789");
    unsigned value = 0;
    if (len == 0 || len > 5 || port[len]) return false;
    for (size_t i = 0; i < len; i++) value = value * 10 + (unsigned)(port[i] - '0');
    return value <= PORT_MAX;
}

static bool is_loopback(const struct sockaddr *a) {
    if (a->sa_family == AF_INET)
        return (ntohl(((const struct sockaddr_in *)a)->sin_addr.s_addr) >> 24) == 127;
    return a->sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)a)->sin6_addr);
}

static int address_name(struct metrics_address *out, struct err *e) {
    struct sockaddr_storage at;
    socklen_t len = sizeof at;
    char host[HOST_MAX], port[16];
    if (getsockname(out->fd, (struct sockaddr *)&at, &len) != 0)
        return err_set_errno(e, KVF_ERR_IO, errno, "--metrics: the socket has no address");
    int rc = getnameinfo((struct sockaddr *)&at, len, host, sizeof host, port, sizeof port,
                         NI_NUMERICHOST | NI_NUMERICSERV);
    if (rc != 0) return err_set(e, KVF_ERR_IO, "--metrics: the socket has no address: %s", gai_strerror(rc));
    out->loopback = is_loopback((struct sockaddr *)&at);
    snprintf(out->text, sizeof out->text, strchr(host, ':') ? "[%s]:%s" : "%s:%s", host, port);
    return 0;
}

/* Errno, or 0. */
static int address_open(const struct addrinfo *at, struct metrics_address *out) {
    const int on = 1;
    out->fd = socket(at->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (out->fd < 0) return errno;
    /* connections of a run before this one may still be closing */
    (void)setsockopt(out->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(out->fd, at->ai_addr, at->ai_addrlen) == 0 && listen(out->fd, BACKLOG) == 0) return 0;
    int failed = errno;
    close(out->fd);
    out->fd = -1;
    return failed;
}

static int open_failed(const char *text, int failed, struct err *e) {
    if (failed == EADDRINUSE)
        return err_set(e, KVF_ERR_USAGE,
                       "--metrics %.200s: another program listens there; name another port, or 0 for any "
                       "that is free",
                       text);
    if (failed == EADDRNOTAVAIL)
        return err_set(e, KVF_ERR_USAGE, "--metrics %.200s: this machine does not have that address", text);
    if (failed == EACCES)
        return err_set(e, KVF_ERR_USAGE, "--metrics %.200s: not allowed; name a port from 1024 on", text);
    return err_set_errno(e, KVF_ERR_USAGE, failed, "--metrics %.200s: cannot listen there", text);
}

int metrics_address_listen(const char *text, struct metrics_address *out, struct err *e) {
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV}, *found;
    char host[HOST_MAX];
    const char *port = host_split(text, host);
    int failed = EADDRNOTAVAIL;
    *out = (struct metrics_address){.fd = -1};
    if (!port || !port_is_good(port)) return form_wrong(text, e);
    int rc = getaddrinfo(host, port, &hints, &found);
    if (rc != 0)
        return err_set(e, KVF_ERR_USAGE, "--metrics %.200s: there is no host %.200s: %s", text, host,
                       gai_strerror(rc));
    /* a name may have an address of a kind that this machine does not speak */
    for (const struct addrinfo *at = found; at && (failed == EADDRNOTAVAIL || failed == EAFNOSUPPORT);
         at = at->ai_next)
        failed = address_open(at, out);
    freeaddrinfo(found);
    if (failed) return open_failed(text, failed, e);
    rc = address_name(out, e);
    if (rc != 0) close(out->fd);
    return rc;
}
