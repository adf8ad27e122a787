/* The sampler: reads the counters of all threads, makes a snapshot of each interval and, at the end, the
 * results of the measured part. Control thread only. */
#ifndef KVF_ENGINE_SAMPLING_SAMPLER_H
#define KVF_ENGINE_SAMPLING_SAMPLER_H

#include "base/terms.h"
#include "engine/sampling/gpus.h"
#include "engine/sampling/levels.h"
#include "engine/sampling/reading.h"
#include "engine/sampling/totals_count.h"
#include "engine/sampling/vitals.h"
#include "engine/sampling/window.h"
#include "engine/scale/steady.h"
#include "record/publish.h"

struct sampler {
    struct reading now, last;
    struct reading base, end; /* of the measured part */
    struct counters *delta;
    struct cache_stats cache; /* of the interval, like delta */
    /* as read in `last`, which has those on top that the next interval is to take back (cache_stats_owe()) */
    uint64_t hits_in[KVF_TIERS][KVF_CAUSES];
    struct window window;              /* for the sentence on the bottleneck */
    struct window_sums interval;       /* of the last one */
    struct window_facts facts;         /* at its end */
    double firsts, sampled, unwritten; /* of the sample, up to the last interval */
    struct steady steady;              /* of the measured part */
    struct gpus gpus;
    struct vitals vitals;
    struct totals totals;                 /* of all intervals so far; kept only if wanted */
    uint64_t zero_ns;                     /* run time of the first request */
    uint64_t seq;                         /* of the next interval */
    double starved_s[KVF_CLASSES_MAX];    /* of the intervals in which the class was starved */
    bool overtaken[KVF_CLASSES_MAX];      /* at the end of the last interval: as below */
    int64_t missed_debt[KVF_CLASSES_MAX]; /* counted as missed already, and not in the counters then */
    double reuse_bytes, reuse_error, capacity_ratio; /* of the last verdict, for those of the same moment */
    uint64_t request_errors[BLOCK_STATUSES];         /* of the drive, by status, that events have told */
    uint32_t request_error_events;
    struct lookback *lookback; /* NULL: no windows are wanted */
};

/* A class is starved when it has had no slot, and its oldest request has waited, for longer than this many of
 * its P95 targets, or without a target times as long as a request of the run holds a slot in the mean, and a
 * request of another class that arrived after that one was given a slot before it. One that is, but for a
 * slot, is overtaken. */
enum { SAMPLER_STARVED_TIMES = 10 };

/* Resources in use between two readings: means over that time, and shares of it. */
struct use {
    double waiting, in_service; /* requests */
    double class_waiting[KVF_CLASSES_MAX], class_in_service[KVF_CLASSES_MAX];
    double in_flight[KVF_TIERS];      /* chunks at the tier */
    double busy[KVF_TIERS][KVF_DIRS]; /* of its channels' time, or of the time with a chunk there */
    double tier_busy[KVF_TIERS];      /* of both directions together */
    /* of the link to a tier, and of the gpu's own memory; NaN: there is none, or nobody can tell */
    double link_busy[KVF_TIERS][KVF_DIRS], link_any[KVF_TIERS], memory_busy[KVF_DIRS], memory_any;
};
/* All NaN when no time has passed. use_take() reads the tiers' times. */
void use_take(struct service *v, struct reading *r);
void use_between(const struct service *v, const struct reading *from, const struct reading *to,
                 struct use *out);

/* The server behind the remote tier, where there is one. */
void server_take(const struct service *v, struct reading *r);
void server_snap(const struct service *v, const struct sampler *p, struct snapshot *snap,
                 const struct counters *delta);
void server_results(const struct service *v, const struct reading *from, const struct reading *to,
                    const struct counters *delta, struct result_list *out);

/* The trace of the block layer, where the scenario wants one and the kernel permits it: 0, or the reason
 * where it must be. blocks_refused() asks before anything is created. */
int blocks_refused(const struct scenario *s, struct err *err);
int blocks_open(struct engine *e, struct err *err);
void blocks_take(struct engine *e, struct reading *r); /* nothing without a trace */
struct block_counts *blocks_room(struct reading *r);   /* its copy, made when it is first wanted */
void blocks_results(const struct reading *from, const struct reading *to, struct result_list *out);
void blocks_snap(const struct engine *e, const struct reading *from, const struct reading *to,
                 struct snapshot *snap);
/* The drive's part of the device's time, and others with most bytes there, the largest first. */
void blocks_judged(const struct engine *e, const struct reading *from, const struct reading *to,
                   struct judge_input *in);
void blocks_histograms(const struct reading *from, const struct reading *to, struct run_record *run);

enum { USE_WHY = 160 };
/* The longest sleep of the control thread under run.max_written; KVF_NEVER without it. */
uint64_t use_written_look_ns(const struct service *v);
/* Whether as much has been written to nvme as run.max_written allows, and the sentence that says so. */
bool use_written_out(const struct service *v, bool prepares, char why[USE_WHY]);

/* Fills in the part of a snapshot that covers the time between two readings: counts, rates, percentiles,
 * means, shares. The caller has set its phase and `peek`. p->delta and p->cache then cover the same time. */
void sampler_between(struct engine *e, const struct reading *from, const struct reading *to,
                     struct snapshot *snap, struct use *use);

/* Opens the sampler of an engine. 0, or a negative code; sampler_close() in either case. */
int sampler_open(struct engine *e, struct err *err);
void sampler_close(struct engine *e);
/* The clock of intervals starts now. Called once before the preparation too, whose looks count from
 * there. */
void sampler_begin(struct engine *e);
/* Closes an interval: snapshot to the slot, the FIFO and on_interval. */
void sampler_interval(struct engine *e, enum kvf_run_phase phase);
/* A look for the screen alone, at what has passed since the last interval: in preparation, after a
 * command. */
void sampler_peek(struct engine *e, enum kvf_run_phase phase);
/* The last interval's end is where the measured part begins, or ends. */
void sampler_measure_from_here(struct engine *e);
void sampler_measure_to_here(struct engine *e);

/* Fills run->results, histograms and the verdict from base to the end. */
void result_fill(struct engine *e, struct run_record *run);
/* Adds the criteria, and a warning for each that is about a metric the run does not have. */
void result_assess(struct engine *e, struct run_record *run);
/* Requests of a class that ended inside its P95 target between two readings. A request is counted as done a
 * moment before it is counted as late, and a reading may come between: never more than were done. */
uint64_t result_met(const struct counters_class *c);

#endif
