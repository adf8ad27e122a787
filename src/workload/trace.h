/* Row formats of traces: one file each knows how a line becomes a row, workload/trace does the rest. */
#ifndef KVF_WORKLOAD_TRACE_H
#define KVF_WORKLOAD_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "workload/request.h"
#include "workload/workload.h"

#define TRACE_NUMBER_MAX  (UINT64_C(1) << 40) /* tokens or ms above this are absurd */
#define TRACE_SECONDS_MAX (UINT64_C(1) << 33) /* and seconds above this, which is the year 2242 */
#define TRACE_NO_TIME     UINT64_MAX
#define TRACE_GAP_NS      (UINT64_C(30) * 24 * 3600 * 1000000000) /* a wrong date must not put off the rest */
enum { TRACE_IDS_MAX = 1 << 20 }; /* ids of one row: bounds the memory of a request */
enum { TRACE_LAYOUT = 64 };       /* bytes that a format has for what a header says */
enum { TRACE_KEY = 48 };          /* bytes of a key, its NUL counted */
enum { TRACE_NAME = 64 };         /* bytes of a name, its NUL counted */
enum { TRACE_COLUMNS = 64 };      /* most of a table with a header */

struct trace_row {
    uint64_t time_ns; /* on the trace's own scale; TRACE_NO_TIME before and without one */
    uint64_t context_tokens, generate_tokens;
    uint64_t entry_bytes; /* instead of context tokens; 0: those */
    enum request_kind kind;
    char key[TRACE_KEY];
    uint64_t block_tokens;                     /* set before: of a block of its ids */
    uint64_t session;                          /* what tells sessions apart; 0: the row names none */
    uint64_t lost;                             /* events before it that a recording lost */
    uint64_t lost_in_all;                      /* what the recording says of itself, in its first row */
    char model[TRACE_NAME], klass[TRACE_NAME]; /* "" where the row names none */
    uint64_t *ids;                             /* reused from row to row, owned by the trace */
    uint32_t id_count, id_cap;
};

struct trace_fault {
    enum workload_reject reason;
    char why[120];
};

enum trace_outcome {
    TRACE_ROW,
    TRACE_NO_ROW,  /* a header or a blank line: not counted */
    TRACE_SKIPPED, /* what a replay makes of its own: counted, but no row */
    TRACE_REJECTED,
    TRACE_UNUSABLE, /* the header says that no row of the file can be used; the fault says why */
};

struct trace_line {
    char *text;   /* without its end; may be changed */
    bool first;   /* no line but blank ones came before it in the file */
    void *layout; /* TRACE_LAYOUT bytes of the format, all zero at the first line, kept from line to line */
};

/* A format: makes a row of a line, or fills the fault. */
typedef enum trace_outcome trace_parse(const struct trace_line *line, struct trace_row *row,
                                       struct trace_fault *f);

/* The row of the request that workload_next() gave last, until the next call of any of workload's; NULL: its
 * source does not come in rows. */
const struct trace_row *trace_row_of(const struct workload *w);

/* Fills the fault; returns TRACE_REJECTED. */
enum trace_outcome trace_reject(struct trace_fault *f, enum workload_reject reason, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* A whole decimal number from 0 to TRACE_NUMBER_MAX and nothing else; TRACE_ROW or TRACE_REJECTED
 * with `what` in the reason. */
enum trace_outcome trace_number(const char *text, size_t len, const char *what, uint64_t *out,
                                struct trace_fault *f);
/* Seconds with a fraction of any length, of which nine digits count, as ns; no sign but a minus, no
 * exponent. The rest as trace_number(). */
enum trace_outcome trace_seconds(const char *text, const char *what, uint64_t *ns, struct trace_fault *f);
/* Splits a line at commas into its fields and returns their number, `most` + 1 when there are more. A
 * field in double quotes may have commas in it, and quotes when they are doubled; the quotes are taken
 * off. 0: quotes do not match. */
unsigned trace_split(char *text, char **field, unsigned most);

/* A table whose header names its columns, in any order and with others between them. */
struct trace_columns {
    unsigned char columns; /* 0: no header has been read */
    unsigned char at[8];   /* of each name, from 0 */
};
/* Reads a header that has to have these names (at most 8), written in any case and with blanks around
 * them; TRACE_NO_ROW, or TRACE_UNUSABLE with the first that is not there in the reason. */
enum trace_outcome trace_header(char *text, const char *const *names, unsigned n, struct trace_columns *c,
                                struct trace_fault *f);
/* The fields of a row below it, by name, without blanks around them; TRACE_ROW, or TRACE_REJECTED. */
enum trace_outcome trace_fields(char *text, const struct trace_columns *c, unsigned n, char **field,
                                struct trace_fault *f);

#endif
