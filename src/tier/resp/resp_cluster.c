#include <inttypes.h>
#include <netdb.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "tier/resp/resp.h"

/* A cluster: which server has which of the 16,384 slots, into which names fall by a checksum.
 *
 * The map is taken from CLUSTER SLOTS before the run, once a second by the watch, and slot by slot from the
 * servers that say MOVED. Servers are only ever added. A map that is older than what a server said last is
 * corrected by the next MOVED, so owners are single atomics without a lock. */

struct resp_cluster {
    pthread_mutex_t lock;                  /* of servers that are added */
    struct resp_server server[RESP_NODES]; /* the first is the one that the address names */
    _Atomic unsigned servers;
    _Atomic uint8_t owner[RESP_SLOTS]; /* RESP_NOBODY */
};

const struct resp_server *resp_cluster_server(const struct resp_cluster *k, unsigned node) {
    return &k->server[node];
}

unsigned resp_cluster_servers(const struct resp_cluster *k) {
    return atomic_load_explicit(&k->servers, memory_order_acquire);
}

/* CRC-16 of the polynomial 0x1021, highest bit first, as the protocol's specification gives it. */
static uint16_t checksum(const char *at, size_t len) {
    uint16_t crc = 0;
    for (size_t i = 0; i < len; i++) {
        crc = (uint16_t)(crc ^ (uint8_t)at[i] << 8);
        for (int bit = 0; bit < 8; bit++) crc = (uint16_t)(crc << 1 ^ (crc & 0x8000 ? 0x1021 : 0));
    }
    return crc;
}

unsigned resp_cluster_slot(const char *key, size_t len) {
    const char *open = memchr(key, '{', len);
    const char *close = open ? memchr(open, '}', len - (size_t)(open - key)) : NULL;
    if (close && close > open + 1) {
        key = open + 1;
        len = (size_t)(close - key);
    }
    return checksum(key, len) % RESP_SLOTS;
}

unsigned resp_cluster_owner(const struct resp_cluster *k, const char *key, size_t len) {
    unsigned node = atomic_load_explicit(&k->owner[resp_cluster_slot(key, len)], memory_order_acquire);
    return node == RESP_NOBODY ? 0 : node;
}

enum { NOT_FOUND = -1, TOO_MANY = -2 };
/* The number of a server, which is new if nobody has named it, or one of these. */
static int find(struct resp_cluster *k, const struct resp_server *from, const char *host, uint16_t port,
                int flags) {
    unsigned n = resp_cluster_servers(k), i;
    if (host[0] == '\0' || strcmp(host, "?") == 0) host = from->port ? from->host : "127.0.0.1";
    for (i = 0; i < n; i++)
        if (k->server[i].port == port && strcmp(k->server[i].host, host) == 0) return (int)i;
    if (n == RESP_NODES) return TOO_MANY;
    struct resp_server found = k->server[0];
    if (resp_server_at(&found, host, port, flags, NULL) != 0) return NOT_FOUND;
    pthread_mutex_lock(&k->lock);
    n = resp_cluster_servers(k);
    while (i < n && !(k->server[i].port == port && strcmp(k->server[i].host, host) == 0)) i++;
    if (i == n && n < RESP_NODES) {
        k->server[n] = found;
        atomic_store_explicit(&k->servers, n + 1, memory_order_release);
    }
    pthread_mutex_unlock(&k->lock);
    return i < resp_cluster_servers(k) ? (int)i : TOO_MANY;
}

/* ---- what servers say ---- */

/* A line of a reply with parts: its sign, then a number or a text. */
static bool take_number(const char **at, char sign, int64_t least, int64_t most, int64_t *out) {
    char *end;
    if (**at != sign) return false;
    *out = strtoll(*at + 1, &end, 10);
    if (*end != '\n' || *out < least || *out > most) return false;
    *at = end + 1;
    return true;
}

static bool take_text(const char **at, char *out, size_t len) {
    const char *end = strchr(*at, '\n');
    if (**at != '$' || !end || (size_t)(end - *at) > len) return false;
    (void)snprintf(out, len, "%.*s", (int)(end - *at - 1), *at + 1);
    *at = end + 1;
    return true;
}

static bool skip(const char **at, int64_t parts) {
    for (int64_t more; parts > 0; parts--) {
        const char *end = strchr(*at, '\n');
        if (!end) return false;
        if (take_number(at, '*', 0, RESP_ARRAY_MAX, &more))
            parts += more;
        else
            *at = end + 1;
    }
    return true;
}

static bool unclear(const struct resp_server *from, struct err *e) {
    (void)err_set(
        e, KVF_ERR_UNAVAILABLE,
        "the server at %s does not say how the slots of its cluster are spread; look at its answer to CLUSTER SLOTS",
        from->name);
    return false;
}

static bool unusable(const struct resp_server *from, int why, const char *host, struct err *e) {
    if (why == TOO_MANY)
        (void)err_set(
            e, KVF_ERR_UNAVAILABLE,
            "the cluster of the server at %s has more than %d servers, the most that the backend resp "
            "goes to; name a smaller one in tiers.remote.url",
            from->name, RESP_NODES);
    else
        (void)err_set(
            e, KVF_ERR_UNAVAILABLE,
            "the server at %s says that %s has slots of its cluster, and this host is not found; let "
            "the servers announce numbers (cluster-preferred-endpoint-type ip)",
            from->name, host);
    return false;
}

bool resp_cluster_read(struct resp_cluster *k, const struct resp_server *from, const char *text,
                       struct err *e) {
    int64_t ranges, parts, first, last, about, port;
    char host[URL_WORD];
    if (!take_number(&text, '*', 1, RESP_SLOTS, &ranges)) return unclear(from, e);
    for (; ranges > 0; ranges--) {
        if (!take_number(&text, '*', 3, RESP_ARRAY_MAX, &parts) ||
            !take_number(&text, ':', 0, RESP_SLOTS - 1, &first) ||
            !take_number(&text, ':', first, RESP_SLOTS - 1, &last) ||
            !take_number(&text, '*', 2, RESP_ARRAY_MAX, &about) || !take_text(&text, host, sizeof host) ||
            !take_number(&text, ':', 1, UINT16_MAX, &port) || !skip(&text, about - 2 + parts - 3))
            return unclear(from, e);
        int node = find(k, from, host, (uint16_t)port, 0);
        if (node < 0) return unusable(from, node, host, e);
        for (int64_t slot = first; slot <= last; slot++)
            atomic_store_explicit(&k->owner[slot], (uint8_t)node, memory_order_release);
    }
    return true;
}

int resp_cluster_redirect(struct resp_cluster *k, const struct resp_server *from, const char *text,
                          size_t len, bool *asking) {
    char line[URL_WORD + 40], *end;
    if (!k || len >= sizeof line) return -1;
    (void)snprintf(line, sizeof line, "%.*s", (int)len, text);
    *asking = strncmp(line, "ASK ", 4) == 0;
    if (!*asking && strncmp(line, "MOVED ", 6) != 0) return -1;
    unsigned long slot = strtoul(strchr(line, ' ') + 1, &end, 10);
    char *port = strrchr(end, ':');
    if (*end != ' ' || slot >= RESP_SLOTS || !port) return -1;
    *port++ = '\0';
    unsigned long number = strtoul(port, &port, 10);
    if (*port != '\0' || number == 0 || number > UINT16_MAX) return -1;
    /* no name service holds up a worker: a new name is the next map's */
    int node = find(k, from, end + 1, (uint16_t)number, AI_NUMERICHOST);
    if (node < 0) return -1;
    if (!*asking) atomic_store_explicit(&k->owner[slot], (uint8_t)node, memory_order_release);
    return node;
}

unsigned resp_cluster_masters(const struct resp_cluster *k, uint8_t out[RESP_NODES]) {
    bool seen[RESP_NODES] = {false};
    unsigned n = 0;
    for (unsigned slot = 0; slot < RESP_SLOTS; slot++) {
        uint8_t node = atomic_load_explicit(&k->owner[slot], memory_order_acquire);
        if (node == RESP_NOBODY) continue;
        if (!seen[node]) out[n++] = node;
        seen[node] = true;
    }
    return n;
}

/* ---- opening and closing ---- */

bool resp_cluster_ask(struct resp_cluster *k, const struct resp_server *from, struct resp_client *c,
                      struct err *e) {
    struct buf commands = {0}, text = {0};
    resp_command(&commands, (const char *const[]){"CLUSTER", "SLOTS", NULL});
    bool known =
        resp_client_call(c, &commands, 1, &text, e) == 0 && resp_cluster_read(k, from, buf_text(&text), e);
    buf_free(&commands);
    buf_free(&text);
    return known;
}

struct resp_cluster *resp_cluster_new(const struct resp_server *s) {
    struct resp_cluster *k = mem_zalloc(1, sizeof *k);
    pthread_mutex_init(&k->lock, NULL);
    k->server[0] = *s;
    atomic_store(&k->servers, 1);
    for (unsigned slot = 0; slot < RESP_SLOTS; slot++) atomic_store(&k->owner[slot], RESP_NOBODY);
    return k;
}

void resp_cluster_free(struct resp_cluster *k) {
    if (!k) return;
    pthread_mutex_destroy(&k->lock);
    free(k);
}
