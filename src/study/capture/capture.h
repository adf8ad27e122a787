/* A trace from the log of a gateway or an engine, a JSON object a line. Text never leaves the process: a
 * prompt is written as blocks, each a keyed hash of its tokens and of the block before it, and hashes become
 * dense numbers. One thread. */
#ifndef KVF_STUDY_CAPTURE_CAPTURE_H
#define KVF_STUDY_CAPTURE_CAPTURE_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/heap.h"
#include "study/trace/trace_write.h"
#include "workload/format/bpe.h"
#include "workload/trace.h"

/* Fields of a request, and the default paths of each, in the order of trying. */
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
    X(CLOCK, "with a clock that the rows around them deny")                                                  \
    X(BLOCKS, "of more than 524288 blocks")                                                                  \
    X(SIZE, "with blocks of another size than the first")                                                    \
    X(COUNT, "with a count of tokens that is none")
#define X(id, text) CAPTURE_REJECT_##id,
enum capture_reject { CAPTURE_REJECT_LIST(X) CAPTURE_REJECTS };
#undef X
const char *capture_reject_text(enum capture_reject r); /* a phrase: "without a prompt" */

enum {
    CAPTURE_PATHS = 64,
    CAPTURE_WAITING = 16384,
    CAPTURE_WAITING_BYTES = 64 << 20,
    CAPTURE_IDS_MAX =
        1 << 19,             /* a row of ids with a kept salt is then one that can be read: under LINES_MAX */
    CAPTURE_NAMES = 1 << 24, /* of blocks, and of sessions, that are known at least: under 2 GiB */
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

/* The times of one log or pod. A time is accepted if it is within a day of the one before it or after it, or
 * between the two; so a row with a wrong clock waits for the next row and is rejected alone. Where a clock
 * was set back, later times go on from there. */
struct capture_clock {
    uint64_t at_ns;     /* of the last that was believed, in the trace's time; 0: none yet */
    uint64_t behind_ns; /* what the clock was set back by */
    uint64_t held_ns;   /* of the row that waits, as it came */
    struct trace_line_out *held;
    bool known;                 /* to the recording */
    struct capture_clock *next; /* of the recording */
};

/* Sums of one pod, or of all logs. */
struct capture_part {
    uint64_t requests, tokens, blocks, known_blocks;
    uint64_t lost; /* batches of its events */
};

struct capture {
    struct trace_write out;
    uint64_t salt[2], block_tokens;
    struct bpe *ranks; /* that cut text into tokens; NULL: 4 characters are one */
    struct {
        enum capture_field field;
        char path[96];
    } paths[CAPTURE_PATHS];
    unsigned path_count;
    uint64_t waiting_bytes;
    struct heap waiting;   /* requests that are put in order, by time */
    uint64_t held_back_ns; /* requests from then on wait for an earlier one that is not whole; 0: none do */
    uint64_t started_ns, written_ns;
    struct capture_clock own_clock, *clock; /* clock: of the log or pod at hand, NULL: own_clock */
    struct capture_clock *clocks;           /* all of them; they last until capture_end() */
    uint64_t set_back;                      /* times that a clock was */
    uint64_t gaps;                          /* over TRACE_GAP_NS, which are left out */
    uint64_t moved, moved_most_ns;          /* rows that came behind later ones, and are put there */
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

/* Adds an option FIELD=PATH of --map; "" or NULL adds none. 0 or -KVF_ERR_USAGE. */
int capture_map(struct capture *c, const char *map, struct err *e);
/* Chooses how text is cut into tokens: "chars4", or a file of ranks. 0 or -KVF_ERR_USAGE. */
int capture_tokenizer(struct capture *c, const char *name, struct err *e);
/* Takes the salt from a file of 16 bytes, which is created with mode 0600 when missing; NULL: a random salt
 * that is not kept. 0 or a negative code. */
int capture_salt(struct capture *c, const char *path, struct err *e);
/* Takes a line of the log without its end; may change the text. */
void capture_line(struct capture *c, char *text, size_t len);
/* Takes a request at a time since the epoch by c->clock; copies what it points to. */
void capture_request(struct capture *c, uint64_t at_ns, const struct trace_line_out *line);
void capture_reject(struct capture *c, enum capture_reject why); /* counts a rejected row */
/* The end of a clock's rows: accepts the waiting row if it is the only one or at most 30 days after the one
 * before, or rejects it. */
void capture_clock_end(struct capture *c, struct capture_clock *k);
/* The period of flushes: a kill loses less than a second of a recording. */
#define CAPTURE_FLUSH_NS (KVF_NS_PER_S / 2)

/* Writes the requests that wait for earlier ones, and hands the file to the system. */
void capture_flush(struct capture *c);
/* Writes waiting requests and unfinished ones (each item is a struct trace_line_out) as rows that the next
 * flush replaces, so that they survive a kill. */
void capture_tail(struct capture *c, const struct heap_item *open, size_t count);
/* capture_flush() at the end of the input, where no further row tells which clock is wrong. */
void capture_end(struct capture *c);
void capture_free(struct capture *c);
/* Merges logs (paths, or "-" for standard input): always reads on from the log whose last row is the
 * earliest. With `follow` it goes on until a signal asks for the end, also after a rotation: the old file is
 * read for ten more minutes after its last line. 0 or a negative code. */
int capture_read(struct capture *c, const char *const *paths, size_t count, bool follow,
                 void (*tell)(const struct capture *c), struct err *e);

enum { CAPTURE_TOKENS = 64 /* that are put at once at most */ };
/* Appends tokens in the byte form that blocks hash. */
void capture_tokens_put(struct buf *bytes, const uint64_t *token, size_t count);
/* The blocks of one prompt, for capture_line(): begin, add texts and tokens, end. */
void capture_blocks_begin(struct capture *c);
void capture_blocks_text(struct capture *c, const char *text, size_t len); /* a piece */
/* Ends a text, before which there were `units`: puts a separator that no text contains. Returns whether the
 * text had anything. */
bool capture_blocks_text_end(struct capture *c, uint64_t units);
void capture_blocks_put(struct capture *c, const uint64_t *token, size_t count); /* at most CAPTURE_TOKENS */
void capture_blocks_end(struct capture *c);                                      /* of a prompt */
/* Tokens of the prompt so far: as counted, or a quarter of its characters. */
uint64_t capture_blocks_tokens(const struct capture *c);

#endif
