/* The requests of a trace file, of whatever source kvfall reads, in the order of their arrival. One thread.
 */
#ifndef KVF_STUDY_TRACE_TRACE_INPUT_H
#define KVF_STUDY_TRACE_TRACE_INPUT_H

#include <stdbool.h>
#include <stdint.h>

#include "scenario/scenario.h"
#include "study/options.h"
#include "workload/request.h"
#include "workload/sessions.h"
#include "workload/workload.h"

struct trace_item {
    const struct request *q;
    uint64_t at_ns;            /* arrival, from the first request on; 0 without times */
    uint64_t lost;             /* events before it that a recording lost */
    uint64_t session;          /* 0: not known */
    uint32_t seen;             /* leading blocks that came before, of a trace with block ids */
    const char *model, *klass; /* "" where the trace names none */
};

struct trace_input {
    struct scenario s;
    struct workload *w;
    struct request q;
    struct sessions sessions;
    const struct traits_source *source;
    uint64_t number; /* of the file among those that are joined, from 0 */
    uint64_t kin;    /* number of the first of those that have the same ids as it */
    uint64_t salt;   /* what a recording with a kept salt says of it; 0: nothing */
    bool timed;      /* requests have times of arrival */
    bool blocks;     /* requests name their blocks */
    bool named;      /* some row names its session */
};

/* Opens `path` into *in, which is all zero but for its numbers, as the source that --source names, else as
 * the one that its first bytes tell. 0 or a negative code; closed by the caller in any case. */
int trace_input_open(struct trace_input *in, const char *path, const struct options *o, struct err *e);
/* The next request; false at the end. What it points to is good until the next call. */
bool trace_input_next(struct trace_input *in, struct trace_item *item);
void trace_input_close(struct trace_input *in);

#endif
