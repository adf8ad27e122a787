/* The engine: runs a scenario on real tiers and fills the record of the run. */
#ifndef KVF_ENGINE_ENGINE_H
#define KVF_ENGINE_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "rank/rank.h"
#include "record/command.h"
#include "record/newest.h"
#include "record/publish.h"
#include "record/run.h"
#include "record/windows.h"
#include "scenario/scenario.h"

struct engine_setup {
    const struct scenario *scenario; /* resolved by budget_resolve() */
    struct run_record *run;  /* engine_describe(), name, seed, environment are in; the rest is added */
    struct slot *slot;       /* newest snapshot */
    struct newest *totals;   /* newest struct totals, put in with each interval; NULL: not wanted */
    struct windows *windows; /* what was measured over some time, with each interval; NULL: not wanted */
    struct fifo *fifo;       /* every interval and event; NULL: nothing is stored */
    struct command_queue *commands;
    const char *io_trace_path;    /* NULL: none; ".zst" compresses */
    const char *request_log_path; /* NULL: none */
    uint64_t hang_ns;             /* a device hangs that completes nothing for so long; 0: 5 s */
    const char *verify_dump;      /* directory for blocks that fail verification; NULL: none is kept */
    bool keep_going;              /* errors of operations do not fail the run */
    uint64_t start_at_ns;         /* wall clock of the start, since the epoch; 0: when prepared */
    struct rank *rank;            /* this one of several that share the run; NULL: alone */
    /* Told on the engine's own threads; must return quickly. Any may be NULL. */
    void (*on_prepare)(void *ctx, const char *what, double share);
    void (*on_interval)(void *ctx, const struct snapshot *snap);
    void (*on_event)(void *ctx, const struct record_event *e); /* each, in order; control thread */
    void *ctx;
};

/* Whether the scenario's source can be used at all; reads its first usable row and creates nothing.
 * 0 or -KVF_ERR_USAGE. */
int engine_check(const struct scenario *s, struct err *e);

/* Fills what a run's record can say of its workload before it begins: classes with their targets, what
 * these are about, the path of the trace. */
void engine_describe(const struct scenario *s, struct run_record *run);

/* Runs to its end on the calling thread (which becomes the control thread) and returns when the run
 * has ended, whatever the reason: run->status and run->status_reason say how. Non-zero only when
 * the run could not start (a tier refused, a trace unusable): nothing is left behind then. */
int engine_run(const struct engine_setup *setup, struct err *e);

#endif
