/* Internals of the resp backend: a server with the RESP protocol (Redis, Valkey), the tier on it, and the
 * queues. Only files of the backend include this. */
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

/* ---- resp_server.c: address, and blocking commands ---- */

struct resp_server {
    const char *key; /* of the scenario, with its URL */
    struct sockaddr_storage address;
    socklen_t address_len;
    char name[URL_WORD + 16]; /* for messages: "127.0.0.1:6379", "/run/redis.sock" */
    uint16_t port;            /* 0: a Unix socket */
    uint32_t database;
    struct url_secret secret;
    uint64_t timeout_ns;
    struct ssl_ctx_st *tls; /* NULL: without TLS */
    char host[URL_WORD];    /* its certificate must be valid for it */
};
/* Resolves `url`, the value of the scenario's `key`; contacts no server but a name service. 0 or
 * -KVF_ERR_UNAVAILABLE. */
int resp_server_find(struct resp_server *s, const struct scenario *scenario, const char *key, const char *url,
                     struct err *e);
void resp_server_forget(struct resp_server *s); /* also after an error of resp_server_find() */
/* Changes the address to this host and port, with flags of getaddrinfo(). 0 or -KVF_ERR_UNAVAILABLE. */
int resp_server_at(struct resp_server *s, const char *host, uint16_t port, int flags, struct err *e);
/* A non-blocking socket that connects to the server; or -errno. */
int resp_server_socket(const struct resp_server *s);
/* Appends the first commands of a connection; returns their number. */
unsigned resp_server_greeting(const struct resp_server *s, struct buf *out);
/* Appends a command of these words, which end with NULL: "*2\r\n$3\r\nGET\r\n$1\r\na\r\n". */
void resp_command(struct buf *out, const char *const *words);
/* Writes a sentence about an error reply, without control characters. */
void resp_error_words(const struct resp_server *s, const char *text, size_t text_len, char *out, size_t len);

/* A blocking connection, for work that is not urgent. One thread. */
struct resp_client;
struct resp_client *resp_client_open(const struct resp_server *s, struct err *e);
void resp_client_close(struct resp_client *c); /* takes NULL */
/* Sends commands and waits for a reply to each; all together take at most the timeout. `reply` (may be NULL)
 * gets the last reply: the text of a bulk or simple string, or an array as lines: "*2", ":5", "$text". 0 or a
 * negative code; -KVF_ERR_UNAVAILABLE: the server replied with an error. */
int resp_client_call(struct resp_client *c, const struct buf *commands, unsigned count, struct buf *reply,
                     struct err *e);
/* Likewise; passes the text of each reply to `take`. */
typedef void resp_take(void *ctx, unsigned number, const char *text);
int resp_client_each(struct resp_client *c, const struct buf *commands, unsigned count, struct buf *reply,
                     resp_take *take, void *ctx, struct err *e);
/* The value of "name:value" in the text of INFO; false: it is missing. */
bool resp_info_text(const char *info, const char *name, char *out, size_t len);
uint64_t resp_info_number(const char *info, const char *name); /* UINT64_MAX: it is missing */

/* ---- resp_cluster.c: servers that share the keys ---- */

enum { RESP_SLOTS = 16384, RESP_NODES = 64, RESP_NOBODY = 255 };

struct resp_cluster;
/* A cluster of which only one member is known. */
struct resp_cluster *resp_cluster_new(const struct resp_server *s);
void resp_cluster_free(struct resp_cluster *k); /* takes NULL */
/* Asks a member for the owners of the slots, over this connection. False: no usable answer; the connection
 * may then be out of sync. Any thread. */
bool resp_cluster_ask(struct resp_cluster *k, const struct resp_server *from, struct resp_client *c,
                      struct err *e);
/* Takes such an answer, in the form of resp_client_call(). */
bool resp_cluster_read(struct resp_cluster *k, const struct resp_server *from, const char *text,
                       struct err *e);
/* The slot of a key: of the text in its first braces, if there is any. */
unsigned resp_cluster_slot(const char *key, size_t len);
/* The server of a key, as a number below resp_cluster_servers(); 0: none has the slot. Any thread. */
unsigned resp_cluster_owner(const struct resp_cluster *k, const char *key, size_t len);
unsigned resp_cluster_servers(const struct resp_cluster *k);
const struct resp_server *resp_cluster_server(const struct resp_cluster *k, unsigned node);
/* The server that an error reply redirects to, and whether only for this command (*asking); -1: none. Any
 * thread. */
int resp_cluster_redirect(struct resp_cluster *k, const struct resp_server *from, const char *text,
                          size_t len, bool *asking);
/* Fills in the servers that have slots and returns their number. */
unsigned resp_cluster_masters(const struct resp_cluster *k, uint8_t out[RESP_NODES]);

/* ---- resp.c ---- */

enum { RESP_ABOUT = 28 };

struct resp_tier {
    struct remote_tier remote;
    struct resp_server server;
    struct resp_cluster *cluster; /* of the server; NULL: a single server */
    uint64_t ttl_ms;              /* 0: none */
    bool plain;                   /* names say which entry and value they belong to */
    bool pairs;                   /* each value has a second one with its metadata */
    char tail[32];                /* suffix of names that are not plain */
    uint8_t about[RESP_ABOUT];    /* metadata of a full value; begins with its length */
    uint32_t token_bytes;
    atomic_bool splices; /* sends large values without a copy */
    struct resp_watch *watch;
};
static inline struct resp_tier *resp_of(const struct tier_queue *q) {
    return (struct resp_tier *)q->tier;
}

/* ---- resp_names.c: names of values, and metadata ---- */

/* Chooses the scenario's layout of names. */
void resp_names_open(struct resp_tier *t, const struct scenario *s);
enum resp_name { RESP_NAME_VALUE, RESP_NAME_ABOUT };
/* Writes the name of a value, or of its metadata; returns the length. */
size_t resp_key(const struct resp_tier *t, const struct remote_place *p, uint64_t value, enum resp_name which,
                char out[REMOTE_KEY]);
/* The name that a lookup asks for. */
static inline enum resp_name resp_asked(const struct resp_tier *t) {
    return t->pairs ? RESP_NAME_ABOUT : RESP_NAME_VALUE;
}
/* Appends one command that deletes a value and its metadata. */
void resp_delete(const struct resp_tier *t, const struct remote_place *p, uint64_t value, struct buf *out);
/* Writes the metadata of a value of this size. */
void resp_about(const struct resp_tier *t, uint64_t bytes, uint8_t out[RESP_ABOUT]);

/* ---- resp_watch.c: a thread that polls the server's metrics ---- */

struct resp_watch;
/* Starts the thread; NULL: that failed. It also keeps the map of `cluster` (may be NULL) up to date. */
struct resp_watch *resp_watch_open(const struct resp_server *s, struct resp_cluster *cluster);
void resp_watch_close(struct resp_watch *w); /* takes NULL */
/* Fills in the server's metrics as last reported, or a cluster's sums; NaN before the first report. Any
 * thread. */
void resp_watch_read(struct resp_watch *w, struct tier_server *out);

/* ---- connections: each carries one command or one batch of small ones at a time ---- */

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

/* A socket, with TLS or without. */
struct resp_line {
    int fd;             /* -1: none */
    struct ssl_st *tls; /* NULL: without TLS */
    int pipe[2];        /* for splicing; pipe[1] 0: not opened */
    size_t in_pipe;     /* bytes of the value in the pipe */
};
/* The destination of a command: a server of the cluster; 0 without a cluster. */
struct resp_way {
    uint8_t node, hops; /* redirections so far */
    bool asking;        /* precede the command with ASKING */
};

struct resp_conn {
    struct remote_conn remote;
    enum resp_state state;
    struct resp_line line;
    uint8_t node;                     /* at the other end of the line */
    const struct resp_server *server; /* the same */
    struct resp_line *parked;         /* [RESP_NODES], to the cluster's other servers; NULL: none yet */
    uint32_t events;                  /* registered with epoll */
    char *out;                        /* RESP_OUT bytes: to send before the value */
    size_t out_len, out_at;
    char tail[RESP_TAIL]; /* to send after the value */
    size_t tail_len, tail_at;
    struct iovec lent;  /* a value whose pages the kernel may still use; empty: none */
    char in[RESP_LINE]; /* received and not parsed yet */
    size_t in_len;
    unsigned fore;                      /* replies to skip before the one that counts */
    struct resp_way way;                /* of the job */
    struct resp_way ways[REMOTE_BATCH]; /* of its items */
    unsigned reading, until;            /* items [reading, until) were sent and await replies */
    bool about;                         /* the metadata is in flight */
    bool body;                          /* GET: the head has been parsed */
    uint64_t skip;                      /* bytes of the body to skip: received before */
    uint64_t drain;                     /* DRAIN: bytes to discard */
};
extern const struct remote_wire resp_conn_wire;

/* ---- resp_line.c: bytes, connecting, reconnecting ---- */

/* Registers the socket for these events. */
void resp_line_watch(struct resp_conn *c, uint32_t events);
/* Likewise, and sets the deadline to the timeout from now. */
void resp_line_wait(struct resp_conn *c, uint32_t events, uint64_t now_ns);
/* The connection is free for the next command. */
void resp_line_idle(struct resp_conn *c);
/* Closes the connection; the caller handles its work in flight. */
void resp_line_shut(struct resp_conn *c, uint64_t now_ns);
/* Closes it with a sentence; its work in flight starts again on another connection, or fails. The three below
 * set sentences of their own: for an errno, for a reply that makes no sense, for an error reply. */
void resp_line_break(struct resp_conn *c, uint64_t now_ns, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void resp_line_lost(struct resp_conn *c, uint64_t now_ns, int error);
void resp_line_absurd(struct resp_conn *c, uint64_t now_ns, const char *why);
void resp_line_refused(struct resp_conn *c, const struct resp_head *h, uint64_t now_ns);
ssize_t resp_line_pass(struct resp_conn *c, struct iovec *iov, int n, bool send);
bool resp_line_quiet(struct resp_conn *c);
/* Sends the command, and a SET's value with its end. */
enum resp_progress resp_line_send(struct resp_conn *c, uint64_t now_ns);
/* Receives until `in` holds at most `most` bytes. */
enum resp_progress resp_line_receive(struct resp_conn *c, size_t most, uint64_t now_ns);
void resp_line_taken(struct resp_conn *c, size_t n);
/* Parses the next reply, past the `fore` ones to skip. */
struct resp_head resp_line_head(struct resp_conn *c);
/* Connects to any server. Ends with resp_conn_ready(), or the connection breaks. */
void resp_line_open(struct resp_conn *c, uint64_t now_ns);
/* Switches to a server of the cluster. True: at once. False: it ends with resp_conn_ready(), or the
 * connection breaks. */
bool resp_line_turn(struct resp_conn *c, unsigned node, uint64_t now_ns);
/* Continues connecting and the first commands. */
void resp_line_run(struct resp_conn *c, uint64_t now_ns);
void resp_line_close(struct resp_conn *c); /* for good */

/* ---- resp_splice.c: sending values without a copy ---- */

/* Whether the job's value can be sent so. */
bool resp_splice_can(struct resp_conn *c);
/* Sends like resp_line_pass(), but only the first piece, which belongs to the head, the value or the tail. */
ssize_t resp_splice_pass(struct resp_conn *c, struct iovec *iov);
void resp_splice_read(struct resp_conn *c); /* the server has read the value */
/* The line is being closed: detaches the value's pages from it, so that the buffer can be reused. */
void resp_splice_part(struct resp_conn *c);
void resp_splice_end(struct resp_line *l); /* closes its pipe */

/* ---- resp_conn.c: the wire of struct remote_tier ---- */

/* The connection is up, at the right server. */
void resp_conn_ready(struct resp_conn *c, uint64_t now_ns);

/* ---- resp_ask.c ---- */

/* Appends a command to `out`: a SET of the job's value, which follows, or of its metadata; a GET. */
void resp_ask_set(struct resp_conn *c, enum resp_name which);
void resp_ask_get(struct resp_conn *c, enum resp_name which);
/* Appends the commands of items [reading, until). */
void resp_ask_items(struct resp_conn *c);
/* The destination for a value. */
struct resp_way resp_ask_way(const struct resp_conn *c, const struct remote_place *p, uint64_t value);

#endif
