/* Shared by the parts of the resp backend: a server that speaks RESP (Redis, Valkey), the tier on it, and
 * the queues. Included by those parts alone. */
#ifndef KVF_TIER_RESP_RESP_H
#define KVF_TIER_RESP_RESP_H

#include <netdb.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/url.h"
#include "tier/remote/remote.h"
#include "tier/resp/resp_reply.h"
#include "tier/resp/resp_tls.h"

/* ---- resp_server.c: where it is, and talking to it one command at a time ---- */

struct resp_server {
    struct sockaddr_storage address;
    socklen_t address_len;
    char name[URL_WORD + 16]; /* as people write it: "127.0.0.1:6379", "/run/redis.sock" */
    uint16_t port;            /* 0: a socket */
    uint32_t database;
    struct url_secret secret;
    uint64_t timeout_ns;
    struct ssl_ctx_st *tls; /* NULL: in the clear */
    char host[URL_WORD];    /* that its certificate must be of */
};
/* Finds the address; contacts nobody but a name service. 0 or -KVF_ERR_UNAVAILABLE. */
int resp_server_find(struct resp_server *s, const struct scenario *scenario, struct err *e);
void resp_server_forget(struct resp_server *s); /* also one that was not found */
/* A socket on its way to the server, which does not block; or -errno. */
int resp_server_socket(const struct resp_server *s);
/* The commands that open a new connection; returns their number. */
unsigned resp_server_greeting(const struct resp_server *s, struct buf *out);
/* "*2\r\n$3\r\nGET\r\n$1\r\na\r\n" of these words, the last of them NULL. */
void resp_command(struct buf *out, const char *const *words);
/* A sentence for an error reply, cleaned for terminals. */
void resp_error_words(const struct resp_server *s, const char *text, size_t text_len, char *out, size_t len);

/* A connection on which the caller waits, for what is not urgent. One thread. */
struct resp_client;
struct resp_client *resp_client_open(const struct resp_server *s, struct err *e);
void resp_client_close(struct resp_client *c); /* takes NULL */
/* Sends commands as they are and waits for a reply to each. The text of the last one goes to `reply` (may be
 * NULL) when it is a bulk or a simple text. 0, or an error: -KVF_ERR_UNAVAILABLE when the server said no. */
int resp_client_call(struct resp_client *c, const struct buf *commands, unsigned count, struct buf *reply,
                     struct err *e);
/* "name:value" of an INFO text; false when there is none. */
bool resp_info_text(const char *info, const char *name, char *out, size_t len);
uint64_t resp_info_number(const char *info, const char *name); /* UINT64_MAX: there is none */

/* ---- resp.c ---- */

enum { RESP_ABOUT = 28 };

struct resp_tier {
    struct remote_tier remote;
    struct resp_server server;
    uint64_t ttl_ms;           /* 0: none */
    bool plain;                /* names tell what they are of */
    bool pairs;                /* a value has another beside it that describes it */
    char tail[32];             /* of every name that is not plain */
    uint8_t about[RESP_ABOUT]; /* what describes a whole value; its length comes first */
    uint32_t token_bytes;
    struct resp_watch *watch;
};
static inline struct resp_tier *resp_of(const struct tier_queue *q) {
    return (struct resp_tier *)q->tier;
}

/* ---- resp_names.c: what values are called, and what describes them ---- */

void resp_names_open(struct resp_tier *t, const struct scenario *s);
enum resp_name { RESP_NAME_VALUE, RESP_NAME_ABOUT };
/* The name of a value of an entry, or of what describes it; its length. */
size_t resp_key(const struct resp_tier *t, const struct remote_place *p, uint64_t value, enum resp_name which,
                char out[REMOTE_KEY]);
/* The name that a lookup asks for. */
static inline enum resp_name resp_asked(const struct resp_tier *t) {
    return t->pairs ? RESP_NAME_ABOUT : RESP_NAME_VALUE;
}
/* One command that deletes all of a value. */
void resp_delete(const struct resp_tier *t, const struct remote_place *p, uint64_t value, struct buf *out);
/* The metadata record of a value of this size. */
void resp_about(const struct resp_tier *t, uint64_t bytes, uint8_t out[RESP_ABOUT]);

/* ---- resp_watch.c: the server's own figures, asked for by a thread of their own ---- */

struct resp_watch;
struct resp_watch *resp_watch_open(const struct resp_server *s); /* NULL: there is no thread for it */
void resp_watch_close(struct resp_watch *w);                     /* takes NULL */
/* Puts the server's own figures as last reported beside ours; NaN before. Any thread. */
void resp_watch_read(struct resp_watch *w, struct tier_server *out);

/* ---- resp_conn.c: connections, one command or one batch of small ones in flight on each ---- */

enum { RESP_OUT = REMOTE_BATCH * 2 * (REMOTE_KEY + 32), RESP_TAIL = 64, RESP_SCRATCH = 64 * 1024 };
enum resp_state { CONN_DOWN, CONN_CONNECTING, CONN_IDLE, CONN_BATCH, CONN_SET, CONN_GET, CONN_DRAIN };

struct resp_conn {
    struct remote_conn remote;
    enum resp_state state;
    int fd;             /* -1 */
    struct ssl_st *tls; /* of an encrypted one */
    uint32_t events;    /* that are watched */
    char *out;          /* RESP_OUT: what is to be sent ahead of a value */
    size_t out_len, out_at;
    char tail[RESP_TAIL]; /* what is to be sent behind it */
    size_t tail_len, tail_at;
    char in[RESP_LINE]; /* what has come and was not read */
    size_t in_len;
    bool about;     /* what is in flight is what describes the value */
    bool body;      /* GET: the head has been read */
    uint64_t skip;  /* bytes of the body that are there already */
    uint64_t drain; /* DRAIN: bytes that nobody wants */
};
extern const struct remote_wire resp_conn_wire;

/* ---- resp_ask.c ---- */

/* Puts a SET of the job's value, which follows, or of its description, into what the connection sends; a GET.
 */
void resp_ask_set(struct resp_conn *c, enum resp_name which);
void resp_ask_get(struct resp_conn *c, enum resp_name which);
/* The commands of its items. */
void resp_ask_items(struct resp_conn *c);

#endif
