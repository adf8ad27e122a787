/* The rows of a trace with more sessions, or fewer: each session is there so many times, as that many
 * different users. Blocks that a hundredth of the sessions have, and two at least, are common and stay so; of
 * the others each copy has its own, and copies of two sessions that share such blocks share theirs. The first
 * copy keeps its times; the others begin up to a minute later, or up to a hundredth of the trace if that is
 * shorter, so that they do not ask in step. One thread.
 *
 * First the whole trace is learned, then it is read again, from scaled_begin() on in each cycle. */
#ifndef KVF_WORKLOAD_SCALED_H
#define KVF_WORKLOAD_SCALED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/heap.h"
#include "workload/sessions.h"
#include "workload/trace.h"

struct scaled { /* all zero at the start, but for `scale` and `seed` */
    double scale;
    uint64_t seed;
    struct sessions sessions;
    struct idmap blocks;   /* sessions that have the block << 32 | a mark of the last of them */
    struct idmap depth;    /* while learning: of a session, blocks of its longest request + 1 */
    uint64_t common_least; /* sessions that have a common block */
    uint64_t first_ns, last_ns, span_ns;
    struct heap waiting;     /* copies of rows, by time */
    uint64_t rows;           /* copies made in this cycle */
    struct trace_row *taken; /* given last */
};

/* Learns each row of the trace; scaled_learned() comes after the last. */
void scaled_learn(struct scaled *s, const struct trace_row *row);
void scaled_learned(struct scaled *s);
/* A cycle begins. */
void scaled_begin(struct scaled *s);
/* The copies of the next row of the file, which has a time. */
void scaled_add(struct scaled *s, const struct trace_row *row);
/* The next row when it comes no later than `until_ns`, the time of the row added last, or UINT64_MAX at the
 * end of the file; else NULL. Good until the next call. */
const struct trace_row *scaled_take(struct scaled *s, uint64_t until_ns);
void scaled_free(struct scaled *s);

/* The same for a source that has sessions of its own: how often session i is there, and how much later a copy
 * of it begins, in a trace of that span. */
uint64_t scaled_copies(double scale, uint64_t seed, uint64_t session);
uint64_t scaled_delay_ns(uint64_t seed, uint64_t session, uint64_t copy, uint64_t span_ns);

#endif
