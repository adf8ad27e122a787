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
    const char *key; /* of the scenario, that names it */
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
/* Finds the address, which that key of the scenario gives; contacts only a name service. 0 or
 * -KVF_ERR_UNAVAILABLE. */
int resp_server_find(struct resp_server *s, const struct scenario *scenario, const char *key, const char *url,
                     struct err *e);
void resp_server_forget(struct resp_server *s); /* also one that was not found */
/* Lets a server that was found stand for the one at this host and port; the flags are getaddrinfo()'s. 0 or
 * -KVF_ERR_UNAVAILABLE. */
int resp_server_at(struct resp_server *s, const char *host, uint16_t port, int flags, struct err *e);
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
/* Sends commands as they are and waits for a reply to each, for all of them no longer than the timeout. The
 * text of the last one goes to `reply` (may be NULL) when it is a bulk or a simple text; one with parts
 * becomes lines: "*2", ":5", "$text". 0, or an error: -KVF_ERR_UNAVAILABLE when the server said no. */
int resp_client_call(struct resp_client *c, const struct buf *commands, unsigned count, struct buf *reply,
                     struct err *e);
/* Likewise, with the text of each reply in turn. */
typedef void resp_take(void *ctx, unsigned number, const char *text);
int resp_client_each(struct resp_client *c, const struct buf *commands, unsigned count, struct buf *reply,
                     resp_take *take, void *ctx, struct err *e);
/* "name:value" of an INFO text; false when there is none. */
bool resp_info_text(const char *info, const char *name, char *out, size_t len);
uint64_t resp_info_number(const char *info, const char *name); /* UINT64_MAX: there is none */

/* ---- resp_cluster.c: several servers that share the names among them ---- */

enum { RESP_SLOTS = 16384, RESP_NODES = 64, RESP_NOBODY = 255 };

struct resp_cluster;
/* One of which nothing but a member is known yet. */
struct resp_cluster *resp_cluster_new(const struct resp_server *s);
void resp_cluster_free(struct resp_cluster *k); /* takes NULL */
/* Asks a member over its connection for the owners of slots; false: no answer, or none that can be used, and
 * the connection may be out of step. Any thread. */
bool resp_cluster_ask(struct resp_cluster *k, const struct resp_server *from, struct resp_client *c,
                      struct err *e);
/* Takes such an answer, as resp_client_call() gives it. */
bool resp_cluster_read(struct resp_cluster *k, const struct resp_server *from, const char *text,
                       struct err *e);
/* Slot of a name: of what stands in its first braces, if something does. */
unsigned resp_cluster_slot(const char *key, size_t len);
/* The server that has it, as a number below resp_cluster_servers(); 0 when none has. Any thread. */
unsigned resp_cluster_owner(const struct resp_cluster *k, const char *key, size_t len);
unsigned resp_cluster_servers(const struct resp_cluster *k);
const struct resp_server *resp_cluster_server(const struct resp_cluster *k, unsigned node);
/* The server that an error of this text sends to, and whether for once only; -1: it sends nowhere. Any
 * thread. */
int resp_cluster_redirect(struct resp_cluster *k, const struct resp_server *from, const char *text,
                          size_t len, bool *asking);
/* Servers that have slots; returns how many. */
unsigned resp_cluster_masters(const struct resp_cluster *k, uint8_t out[RESP_NODES]);

/* ---- resp.c ---- */

enum { RESP_ABOUT = 28 };

struct resp_tier {
    struct remote_tier remote;
    struct resp_server server;
    struct resp_cluster *cluster; /* that the server is a member of; NULL: it stands alone */
    uint64_t ttl_ms;              /* 0: none */
    bool plain;                   /* names tell what they are of */
    bool pairs;                   /* a value has another beside it that describes it */
    char tail[32];                /* of every name that is not plain */
    uint8_t about[RESP_ABOUT];    /* what describes a whole value; its length comes first */
    uint32_t token_bytes;
    atomic_bool splices; /* large values are sent without a copy */
    struct resp_watch *watch;
};
static inline struct resp_tier *resp_of(const struct tier_queue *q) {
    return (struct resp_tier *)q->tier;
}

/* ---- resp_names.c: what values are called, and what describes them ---- */

void resp_names_open(struct resp_tier *t,
                     const struct scenario *s); /* the names of values in the layout of the scenario */
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
/* NULL: there is no thread for it. Of a cluster (else NULL) it keeps the map, too. */
struct resp_watch *resp_watch_open(const struct resp_server *s, struct resp_cluster *cluster);
void resp_watch_close(struct resp_watch *w); /* takes NULL */
/* Puts the server's own figures as last reported beside ours, a cluster's summed up; NaN before. Any thread.
 */
void resp_watch_read(struct resp_watch *w, struct tier_server *out);

/* ---- connections, one command or one batch of small ones in flight on each ---- */

enum { RESP_OUT = REMOTE_BATCH * 2 * (REMOTE_KEY + 32), RESP_TAIL = 64, RESP_SCRATCH = 64 * 1024 };
enum resp_state {
    CONN_DOWN,
    CONN_CONNECTING,
    CONN_GREETING,
    CONN_IDLE,
    CONN_BATCH,
    CONN_SET,
    CONN_GET,
    CONN_DRAIN
};
enum resp_progress { PROGRESS_DONE, PROGRESS_WAITS, PROGRESS_STALLED, PROGRESS_BROKEN };

/* A socket, and what encrypts it. */
struct resp_line {
    int fd;             /* -1 */
    struct ssl_st *tls; /* of an encrypted one */
    int pipe[2];        /* that pages go through; the second is 0: none was needed */
    size_t in_pipe;     /* bytes of the value that are in it */
};
/* Where a command is to go: a server of a cluster; 0 without one. */
struct resp_way {
    uint8_t node, hops; /* redirections so far */
    bool asking;        /* it may answer though others have the slot */
};

struct resp_conn {
    struct remote_conn remote;
    enum resp_state state;
    struct resp_line line;
    uint8_t node;                     /* that the line leads to */
    const struct resp_server *server; /* likewise */
    struct resp_line *parked; /* RESP_NODES: lines to the others of a cluster; NULL: none was needed */
    uint32_t events;          /* that are watched */
    char *out;                /* RESP_OUT: what is to be sent ahead of a value */
    size_t out_len, out_at;
    char tail[RESP_TAIL]; /* what is to be sent behind it */
    size_t tail_len, tail_at;
    struct iovec lent;  /* a value whose pages the system may still have; empty: none */
    char in[RESP_LINE]; /* what has come and was not read */
    size_t in_len;
    unsigned fore;                      /* answers that come ahead of the one that counts */
    struct resp_way way;                /* of the job */
    struct resp_way ways[REMOTE_BATCH]; /* of its items */
    unsigned reading, until;            /* items that were sent, and of these those that were not answered */
    bool about;                         /* what is in flight is what describes the value */
    bool body;                          /* GET: the head has been read */
    uint64_t skip;                      /* bytes of the body that are there already */
    uint64_t drain;                     /* DRAIN: bytes that nobody wants */
};
extern const struct remote_wire resp_conn_wire;

/* ---- resp_line.c: bytes of a connection, and its way to a server ---- */

/* Watches the socket for these events. */
void resp_line_watch(struct resp_conn *c, uint32_t events);
/* Likewise; from now on without progress no longer than the timeout. */
void resp_line_wait(struct resp_conn *c, uint32_t events, uint64_t now_ns);
/* Nothing is to be done on it. */
void resp_line_idle(struct resp_conn *c);
/* Takes the connection down; what was in flight is the caller's business. */
void resp_line_shut(struct resp_conn *c, uint64_t now_ns);
/* Takes it down with a sentence; what was in flight begins again elsewhere, or fails. */
void resp_line_break(struct resp_conn *c, uint64_t now_ns, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void resp_line_lost(struct resp_conn *c, uint64_t now_ns, int error);
void resp_line_absurd(struct resp_conn *c, uint64_t now_ns, const char *why);
void resp_line_refused(struct resp_conn *c, const struct resp_head *h, uint64_t now_ns);
ssize_t resp_line_pass(struct resp_conn *c, struct iovec *iov, int n, bool send);
bool resp_line_quiet(struct resp_conn *c);
/* Sends the command, with a SET's value and what follows it. */
enum resp_progress resp_line_send(struct resp_conn *c, uint64_t now_ns);
/* Receives more of what the server says, up to a number of bytes in all. */
enum resp_progress resp_line_receive(struct resp_conn *c, size_t most, uint64_t now_ns);
void resp_line_taken(struct resp_conn *c, size_t n);
/* The next answer; those that come ahead of it are taken. */
struct resp_head resp_line_head(struct resp_conn *c);
/* Opens a line to any server. resp_conn_ready() follows, or the connection breaks. */
void resp_line_open(struct resp_conn *c, uint64_t now_ns);
/* Turns to a server of the cluster; false: resp_conn_ready() follows, or the connection breaks. */
bool resp_line_turn(struct resp_conn *c, unsigned node, uint64_t now_ns);
/* Goes on with connecting and with the greeting. */
void resp_line_run(struct resp_conn *c, uint64_t now_ns);
void resp_line_close(struct resp_conn *c); /* for good */

/* ---- resp_splice.c: values that are sent without a copy ---- */

/* Whether the job's value can be. */
bool resp_splice_can(struct resp_conn *c);
/* As resp_line_pass() for sending, of the first piece alone, which is of the head, the value or the tail. */
ssize_t resp_splice_pass(struct resp_conn *c, struct iovec *iov);
void resp_splice_read(struct resp_conn *c); /* the server has read the value */
/* The line ends. What the server may still find there is not the buffer's any more, which goes back. */
void resp_splice_part(struct resp_conn *c);
void resp_splice_end(struct resp_line *l); /* closes its pipe */

/* ---- resp_conn.c: what a queue asks of them ---- */

/* The line leads where it should, and the server has answered. */
void resp_conn_ready(struct resp_conn *c, uint64_t now_ns);

/* ---- resp_ask.c ---- */

/* Puts a SET of the job's value, which follows, or of its description, into what the connection sends; a GET.
 */
void resp_ask_set(struct resp_conn *c, enum resp_name which);
void resp_ask_get(struct resp_conn *c, enum resp_name which);
/* The commands of its items from `reading` up to `until`. */
void resp_ask_items(struct resp_conn *c);
/* Where the item, or the job's value, is to be asked for. */
struct resp_way resp_ask_way(const struct resp_conn *c, const struct remote_place *p, uint64_t value);

#endif
