/* Row formats of traces: one file each knows how a line becomes a row, the trace source does the rest. */
#ifndef KVF_WORKLOAD_TRACE_H
#define KVF_WORKLOAD_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "workload/request.h"
#include "workload/workload.h"

#define TRACE_NUMBER_MAX (UINT64_C(1) << 40) /* tokens or ms above this are absurd */
enum { TRACE_IDS_MAX = 1 << 20 };            /* ids of one row: bounds the memory of a request */

struct trace_row {
    uint64_t time_ns; /* on the trace's own scale */
    uint64_t context_tokens, generate_tokens;
    enum request_kind kind;
    char key[16];
    uint64_t *ids; /* reused from row to row, owned by the trace */
    uint32_t id_count, id_cap;
};

struct trace_fault {
    enum workload_reject reason;
    char why[120];
};

enum trace_outcome {
    TRACE_ROW,
    TRACE_NO_ROW, /* a header or a blank line: not counted */
    TRACE_REJECTED,
};

struct trace_format {
    bool timed;         /* rows carry arrival times */
    bool has_ids;       /* rows carry block ids: granularity block, no shared prompts */
    bool conversations; /* rows are inference requests that may share a prompt */
    /* `text` is a line without its end, which may be changed; `first`: no line but blank ones
     * came before it. Fills the row, or the fault. */
    enum trace_outcome (*parse)(char *text, bool first, struct trace_row *row, struct trace_fault *f);
};

extern const struct trace_format mooncake_format, azure_format, ops_format;

/* Fills the fault; returns TRACE_REJECTED. */
enum trace_outcome trace_reject(struct trace_fault *f, enum workload_reject reason, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* A whole decimal number from 0 to TRACE_NUMBER_MAX and nothing else; TRACE_ROW or TRACE_REJECTED
 * with `what` in the reason. */
enum trace_outcome trace_number(const char *text, size_t len, const char *what, uint64_t *out,
                                struct trace_fault *f);
/* Splits a line at commas into exactly `n` fields; false when there are more or fewer. */
bool trace_split(char *text, char **field, unsigned n);

#endif
