/* A trace from the log of a gateway or an engine, a JSON object a line. Text never leaves the process: what
 * is written of a prompt are blocks, each a keyed hash of its tokens and of the block before it, and these
 * are numbered densely. One thread. */
#ifndef KVF_STUDY_CAPTURE_CAPTURE_H
#define KVF_STUDY_CAPTURE_CAPTURE_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/heap.h"
#include "study/trace/trace_write.h"
#include "workload/trace.h"

/* Fields of a request, and the paths that are tried for each unless told, in this order. */
#define CAPTURE_FIELD_LIST(X)                                                                                \
    X(TIME, "time", "timestamp time ts created start_time request.created request.time")                     \
    X(PROMPT, "prompt",                                                                                      \
      "prompt_token_ids messages prompt input request.prompt_token_ids request.messages request.prompt "     \
      "request.body.prompt_token_ids request.body.messages request.body.prompt body.messages body.prompt")   \
    X(INPUT, "input",                                                                                        \
      "usage.prompt_tokens response.usage.prompt_tokens response.body.usage.prompt_tokens prompt_tokens")    \
    X(OUTPUT, "output",                                                                                      \
      "usage.completion_tokens response.usage.completion_tokens response.body.usage.completion_tokens "      \
      "completion_tokens")                                                                                   \
    X(MODEL, "model", "model request.model request.body.model body.model")                                   \
    X(SESSION, "session", "session_id conversation_id request.session_id metadata.session_id user")          \
    X(CLASS, "class", "class service_tier request.body.service_tier")
#define X(id, name, paths) CAPTURE_##id,
enum capture_field { CAPTURE_FIELD_LIST(X) CAPTURE_FIELDS };
#undef X

#define CAPTURE_REJECT_LIST(X)                                                                               \
    X(MALFORMED, "no JSON object")                                                                           \
    X(LARGE, "longer than 16 MiB")                                                                           \
    X(NO_TIME, "without a time")                                                                             \
    X(NO_PROMPT, "without a prompt")                                                                         \
    X(CLOCK, "over a day before the row before")                                                             \
    X(COUNT, "with a count of tokens that is none")
#define X(id, text) CAPTURE_REJECT_##id,
enum capture_reject { CAPTURE_REJECT_LIST(X) CAPTURE_REJECTS };
#undef X
const char *capture_reject_text(enum capture_reject r);

enum {
    CAPTURE_PATHS = 64,
    CAPTURE_WAITING = 16384,
    CAPTURE_WAITING_BYTES = 64 << 20,
    CAPTURE_IDS_MAX = TRACE_IDS_MAX,
    CAPTURE_PARTS = 64,
    CAPTURE_STOP_FULL = -2 /* a file cannot be written on */
};

/* Blocks of one prompt, as its tokens or characters come. */
struct capture_blocks {
    struct buf bytes;         /* of the block under way, the hash of the one before first */
    uint64_t in_block, units; /* tokens or characters: of the block under way, of all */
    uint64_t *ids;
    uint32_t count, cap;
    bool exact; /* units are tokens */
    bool any;
};

/* Sums of one pod, or of all logs. */
struct capture_part {
    uint64_t requests, tokens, blocks, known_blocks;
    uint64_t lost; /* batches of its events */
};

struct capture {
    struct trace_write out;
    uint64_t salt[2], block_tokens;
    struct {
        enum capture_field field;
        char path[96];
    } paths[CAPTURE_PATHS];
    unsigned path_count;
    uint64_t waiting_bytes;
    struct heap waiting; /* requests that are put in order, by time */
    uint64_t started_ns, written_ns;
    uint64_t lines, rejected[CAPTURE_REJECTS], order;
    uint64_t input_tokens, output_tokens, blocks, known_blocks;
    struct capture_part part[CAPTURE_PARTS];
    FILE *beside;                         /* what else is flushed with it, or NULL */
    int beside_errnum;                    /* of the first write to it that failed */
    volatile sig_atomic_t *stop;          /* not 0: a signal, a key or a full disk asks for the end */
    void *told;                           /* of who is told how it goes */
    double logged_tokens, counted_tokens; /* where the log has both */
    struct capture_blocks now;
};

/* Options: `map` FIELD=PATH, one of them; "" or NULL ends nothing. 0 or -KVF_ERR_USAGE. */
int capture_map(struct capture *c, const char *map, struct err *e);
/* A salt from a file of 16 bytes, which is made with mode 0600 when it is not there; NULL: a random one,
 * which is kept nowhere. 0 or a negative code. */
int capture_salt(struct capture *c, const char *path, struct err *e);
/* A line of the log, without its end; the text may be changed. */
void capture_line(struct capture *c, char *text, size_t len);
/* A request at a time since the epoch; what it points to is copied. */
void capture_request(struct capture *c, uint64_t at_ns, const struct trace_line_out *line);
void capture_reject(struct capture *c, enum capture_reject why);
/* Writes requests that wait for earlier ones, all but `most`, and hands what is written to the system. */
void capture_flush(struct capture *c, uint64_t most);
void capture_free(struct capture *c);

/* Reads a log to its end, a path or "-" for standard input; with `follow` on and on, also behind a rotation,
 * until a signal asks for the end. 0 or a negative code. */
int capture_read(struct capture *c, const char *path, bool follow, void (*tell)(const struct capture *c),
                 struct err *e);

/* A token, as the bytes of a block have it. */
static inline void capture_token_put(struct buf *bytes, uint64_t token) {
    uint32_t kept = (uint32_t)(token ^ token >> 32);
    if (bytes->cap - bytes->len > sizeof kept && bytes->data) { /* as buf_bytes() would, without the call */
        memcpy(bytes->data + bytes->len, &kept, sizeof kept);
        bytes->len += sizeof kept;
    } else {
        buf_bytes(bytes, &kept, sizeof kept);
    }
}

/* For capture_line(). */
void capture_blocks_text(struct capture *c, const char *text, size_t len);
void capture_blocks_token(struct capture *c, uint64_t token);
void capture_blocks_end(struct capture *c); /* of a prompt */
/* Tokens of the prompt so far: those there were, or a quarter of its characters. */
uint64_t capture_blocks_tokens(const struct capture *c);

#endif
