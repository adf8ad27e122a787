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
#include "tier/resp/resp_reply.h"
#include "tier/resp/resp_tls.h"
#include "tier/tier.h"

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

enum { RESP_KEY = 256, RESP_ABOUT = 28 };

/* An entry's values on the server; a place of the cache is a pointer to one. */
struct resp_place {
    uint64_t key_hi, key_lo, generation;
    uint64_t bytes;          /* of the entry */
    bool stored;             /* something of it may be on the server */
    struct resp_place *next; /* of those that are free, or to be deleted */
};

struct resp_tier {
    struct tier base;
    const struct run_clock *clock;
    struct resp_server server;
    uint64_t value_bytes;
    uint64_t run_tag;
    uint64_t ttl_ms; /* 0: none */
    uint64_t timeout_ns;
    uint32_t connections, workers;
    bool asks;                         /* EXISTS before GET */
    bool deletes;                      /* what the cache drops */
    bool plain;                        /* names tell what they are of */
    bool pairs;                        /* a value has another beside it that describes it */
    bool one_by_one;                   /* a lookup asks for a value when the one before it is there */
    char head[RESP_KEY / 2], tail[32]; /* of every name */
    uint8_t about[RESP_ABOUT];         /* what describes a whole value; its length comes first */
    uint32_t token_bytes;
    char description[400], notice[400];
    _Atomic uint64_t up, trips, sent_bytes, received_bytes; /* connections; by all workers */
    struct resp_watch *watch;
    struct resp_place *free;             /* the cache lock's */
    struct resp_place **slabs;           /* likewise */
    size_t slab_count;                   /* likewise */
    _Atomic(struct resp_place *) dead;   /* to be deleted; workers take all */
    _Atomic(struct resp_place *) buried; /* deleted; the cache takes all */
};

void resp_push(_Atomic(struct resp_place *) *stack, struct resp_place *p);

/* ---- resp_names.c: what values are called, and what describes them ---- */

void resp_names_open(struct resp_tier *t, const struct scenario *s);
uint64_t resp_values(const struct resp_tier *t, uint64_t bytes); /* of an entry of so many bytes */
enum resp_name { RESP_NAME_VALUE, RESP_NAME_ABOUT };
/* The name of a value of an entry, or of what describes it; its length. */
size_t resp_key(const struct resp_tier *t, const struct resp_place *p, uint64_t value, enum resp_name which,
                char out[RESP_KEY]);
/* The name that a lookup asks for. */
static inline enum resp_name resp_asked(const struct resp_tier *t) {
    return t->pairs ? RESP_NAME_ABOUT : RESP_NAME_VALUE;
}
/* One command that deletes all of a value. */
void resp_delete(const struct resp_tier *t, const struct resp_place *p, uint64_t value, struct buf *out);
/* The metadata record of a value of this size. */
void resp_about(const struct resp_tier *t, uint64_t bytes, uint8_t out[RESP_ABOUT]);

/* ---- resp_watch.c: the server's own figures, asked for by a thread of their own ---- */

struct resp_watch;
struct resp_watch *resp_watch_open(const struct resp_server *s); /* NULL: there is no thread for it */
void resp_watch_close(struct resp_watch *w);                     /* takes NULL */
/* The server's own figures as last reported; NaN before. Any thread. */
void resp_watch_read(struct resp_watch *w, struct tier_server *out);

/* ---- resp_queue.c: the entry operations of a worker ---- */

int resp_queue_open(struct tier *t, struct tier_queue **out, uint32_t worker, uint32_t depth, struct err *e);
void resp_queue_close(struct tier_queue *q);
unsigned resp_queue_submit(struct tier_queue *q, struct tier_chunk **chunks, unsigned n);
unsigned resp_queue_reap(struct tier_queue *q, struct tier_chunk **done, unsigned max);
void resp_queue_forget(struct tier_queue *q, const void *operation);
int resp_queue_fd(const struct tier_queue *q);
uint64_t resp_queue_next_ns(const struct tier_queue *q);
const char *resp_queue_why(const struct tier_queue *q);
void resp_queue_where(struct tier_queue *q, uint64_t place, uint64_t offset, char *out, size_t len);

/* A chunk's internal words while it is here. */
enum { CHUNK_LEFT, CHUNK_BEFORE, CHUNK_BEHIND };

/* An entry operation, from its first chunk until it is forgotten. */
struct resp_op {
    const void *operation; /* NULL: free */
    struct resp_place *place;
    enum kvf_dir dir;
    uint64_t bytes, values;
    struct tier_chunk *first, *last; /* chunks that are here, in order */
    struct resp_job *jobs;           /* values begun or to be begun, the newest first */
    uint64_t known;                  /* values that have had a job */
    uint64_t asked, answered;        /* EXISTS of its values */
    uint64_t missing;                /* of which were not there */
    uint64_t began_ns;               /* when its first chunk came */
    bool looking;                    /* its jobs wait for the lookup */
    int error;                       /* that every chunk of it gets */
    unsigned round;                  /* lookups of it that were interrupted */
    struct resp_op *next;            /* in its bucket, or free */
    struct resp_op *next_asking;     /* in line for a lookup */
    bool asking;
};

/* A value on its way. */
struct resp_job {
    struct resp_op *op; /* NULL: it was given up while it stood in line */
    uint64_t value;
    uint64_t at, len;         /* in the entry */
    uint64_t passed;          /* bytes of it that were sent or have come */
    uint64_t hold;            /* bytes at its end that count when the server has said yes */
    struct tier_chunk *chunk; /* with the byte behind `passed`; NULL: it has not come */
    struct resp_conn *conn;   /* NULL: in line */
    struct resp_job *next_of_op, *next;
    unsigned tries;
    bool lined;
};

enum resp_item_kind { ITEM_GREETING, ITEM_LOOKUP, ITEM_DELETE };
struct resp_item {
    enum resp_item_kind kind;
    struct resp_op *op;       /* of a lookup; NULL: it was forgotten */
    unsigned round;           /* of the lookup: answers of an earlier one do not count */
    struct resp_place *place; /* of a delete whose last value this is */
};

enum { RESP_BATCH = 64, RESP_PIECES = 16, RESP_OUT = 64 * 2 * (RESP_KEY + 32), RESP_TAIL = 64 };
enum resp_state { CONN_DOWN, CONN_CONNECTING, CONN_IDLE, CONN_BATCH, CONN_SET, CONN_GET, CONN_DRAIN };

/* A connection of a queue. One command is in flight, or one batch of small ones. */
struct resp_conn {
    struct tier_queue *q;
    enum resp_state state;
    int fd;               /* -1 */
    struct ssl_st *tls;   /* of an encrypted one */
    uint32_t events;      /* that are watched */
    uint64_t deadline_ns; /* without progress it is given up then; KVF_NEVER */
    uint64_t retry_ns;    /* DOWN: when it is tried again */
    unsigned failures;    /* since a command last ended well */
    struct resp_conn *next_idle;
    char *out; /* RESP_OUT: what is to be sent ahead of a value */
    size_t out_len, out_at;
    char tail[RESP_TAIL]; /* what is to be sent behind it */
    size_t tail_len, tail_at;
    char in[RESP_LINE]; /* what has come and was not read */
    size_t in_len;
    struct resp_item item[RESP_BATCH];
    unsigned items, answered;
    struct resp_job *job;
    bool about;     /* what is in flight is what describes the value */
    bool body;      /* GET: the head has been read */
    uint64_t skip;  /* bytes of the body that are there already */
    uint64_t drain; /* DRAIN: bytes that nobody wants */
};

struct tier_queue {
    struct resp_tier *tier;
    int epoll_fd;
    uint32_t depth, in_flight; /* chunks taken and not handed back */
    uint32_t conns, ready;     /* connections, and those that are up */
    unsigned idle_turns;       /* reaps since the sockets were last looked at */
    uint64_t down_ns;          /* since when none is up; KVF_NEVER: some is */
    struct resp_conn *conn, *idle;
    struct resp_op *bucket[64], *op_free;
    struct resp_job *job_free, *line, **line_end;
    struct resp_op *asking, **asking_end;
    struct resp_place *dead; /* to be deleted */
    uint64_t dead_value;     /* of the first of them: next value */
    struct tier_chunk *done_head, **done_end;
    void **slabs;
    size_t slab_count;
    uint8_t *scratch; /* SCRATCH bytes that nobody reads */
    char why[600];
};
enum { RESP_SCRATCH = 64 * 1024 };

/* Gives a waiting connection something to do, as long as there is something. */
void resp_queue_assign(struct tier_queue *q);
/* Moves a job on by bytes that were sent or have come; chunks that are complete go back. */
void resp_job_pass(struct tier_queue *q, struct resp_job *job, uint64_t bytes);
void resp_job_done(struct tier_queue *q, struct resp_job *job);
/* Its connection is gone: it begins again, if it can. */
void resp_job_interrupted(struct tier_queue *q, struct resp_job *job);
/* Every chunk of the operation goes back with this error; EREMOTEIO: q->why says what it was. */
void resp_op_fail(struct tier_queue *q, struct resp_op *op, int error);
/* The answer to one of a lookup's questions came, or will not come. */
void resp_item_answered(struct tier_queue *q, const struct resp_item *item, bool there);
void resp_item_lost(struct tier_queue *q, const struct resp_item *item);

/* ---- resp_ask.c ---- */

/* Puts a SET of the job's value, which follows, or of its description, into what the connection sends; a GET.
 */
void resp_ask_set(struct resp_conn *c, enum resp_name which);
void resp_ask_get(struct resp_conn *c, enum resp_name which);

/* ---- resp_conn.c ---- */

void resp_conn_open(struct resp_conn *c, uint64_t now_ns);
/* Goes on with what it does as far as it can. */
void resp_conn_run(struct resp_conn *c, uint64_t now_ns);
void resp_conn_break(struct resp_conn *c, uint64_t now_ns, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Of an idle one: begins a job, a batch whose commands are in `out`. */
void resp_conn_begin(struct resp_conn *c, struct resp_job *job, uint64_t now_ns);
void resp_conn_batch(struct resp_conn *c, uint64_t now_ns);
/* Its job is not wanted any more. */
void resp_conn_detach(struct resp_conn *c, uint64_t now_ns);

#endif
