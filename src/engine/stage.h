/* A stage: the time for which a number of users is tried, and what it says of them.
 *
 * It settles first: `settle_s` that are not judged, counted from when the last request that arrived before
 * the change has been answered (for which it waits no longer than three stages). Then intervals are judged
 * for `length_s`. What they say together is held against a line:
 *
 *     targets      the worst class's P95 / target over all judged requests; line 1
 *     saturation   mean saturation / limit; line 1
 *     tokens, nvme tokens a second over all judged time; the line is given
 *
 * An interval's own P95 counts where a class ended 20 requests in it, else that of the stage so far. A
 * request that failed was answered never: it stands above all latencies.
 *
 * Early end: two of the last three intervals are over the line by a fifth. Longer than planned, up to three
 * times, while (a) a class that is busy has ended fewer than 20 requests, (b) the stage is over the line
 * but not two of its intervals are, (c) the line is nearer than three standard errors of its intervals' mean,
 * (d) nothing was generated.
 *
 * Fixed memory, no clock, no I/O. One thread. */
#ifndef KVF_ENGINE_STAGE_H
#define KVF_ENGINE_STAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/terms.h"
#include "metrics/histogram.h"

enum { STAGE_FEW = 20, STAGE_LONGEST = 3 };
#define STAGE_CLEAR 1.2 /* over the line by so much ends a stage */

enum stage_figure { STAGE_TARGETS, STAGE_SATURATION, STAGE_TOKENS, STAGE_NVME };

struct stage_rules { /* the same for all stages of a search */
    enum stage_figure figure;
    double limit_saturation;
    uint32_t classes;
    char name[KVF_CLASSES_MAX][32];
    double target_ms[KVF_CLASSES_MAX]; /* of P95; NaN: none */
};

/* What an interval brought. */
struct stage_class_signals {
    const struct histogram *latency; /* of the requests done, ns */
    uint64_t failed;                 /* or dropped */
    uint64_t waiting, in_service;    /* now */
    double oldest_wait_ms;           /* of those that wait now */
};
struct stage_signals {
    double length_s;
    double oldest_ms;   /* age of the oldest request that waits or is in service now; 0: there is none */
    double saturation;  /* NaN: missing */
    double tokens;      /* generated */
    double nvme_tokens; /* read from and written to nvme; NaN: there is none */
    struct stage_class_signals klass[KVF_CLASSES_MAX];
};

struct stage_plan {
    double settle_s, length_s;
    double line;  /* NaN: there is nothing to hold it against */
    bool early;   /* may end early */
    bool patient; /* goes on for rule (c) */
    double fine;  /* without a line: rule (c) wants the figure known to this part of it */
};

struct stage_class {
    struct histogram latency; /* of the judged intervals */
    uint64_t failed;
    bool busy;             /* somebody of it asked, waited or was served */
    double oldest_wait_ms; /* now */
};

struct stage {
    struct stage_plan plan;
    double since_s, settle_left_s, judged_s;
    unsigned intervals;
    double tokens, nvme_tokens;
    double saturation_sum, saturation_s;
    unsigned figures, breaches; /* intervals that had a figure; that were over the line */
    unsigned recent;            /* bits: the last three were clearly over, newest lowest */
    unsigned own;               /* figures of one interval alone, with mean and sum of squares about it */
    double mean, squares;
    bool busy; /* somebody was served or waited */
    struct stage_class klass[KVF_CLASSES_MAX];
};

/* What a stage says; figures are NaN where missing. */
struct stage_reading {
    double seconds; /* judged */
    unsigned intervals, breaches;
    double value; /* what is held against the line; infinite: never answered */
    double noise; /* its standard error; 0 where it cannot be told */
    double saturation, tokens_s, nvme_s;
    int worst;                /* class nearest to its target, or the slowest; -1: none was judged */
    double p95_ms, target_ms; /* its; p95_ms is infinite where more than 5 % failed */
    uint64_t ended, failed;   /* of its requests */
    bool starved;             /* p95_ms is how long one of it has been waiting, none was answered */
    bool silent;              /* nobody was answered though somebody asked */
};

enum stage_state { STAGE_SETTLES, STAGE_RUNS, STAGE_WITHIN, STAGE_OVER };

void stage_begin(struct stage *s, const struct stage_plan *plan);
/* Takes an interval; WITHIN and OVER end the stage. */
enum stage_state stage_step(struct stage *s, const struct stage_rules *rules, const struct stage_signals *in);
void stage_read(const struct stage *s, const struct stage_rules *rules, struct stage_reading *out);

#endif
