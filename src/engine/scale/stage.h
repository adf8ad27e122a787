/* A stage: the time for which a number of users is tried, and what it says of them.
 *
 * It settles first: `settle_s` that are not judged, counted from when the last request that arrived before
 * the change has been answered (for which it waits no longer than plan.wait_s; where tokens are counted, also
 * for as long as more is answered than arrives, so that no backlog counts). Then intervals are judged
 * for `length_s`, and at least for several times as long as a request takes. What is judged adds to what is
 * known of this number of users already (struct evidence) and is held against a line:
 *
 *     targets      of each class at most 5 % of the requests miss the P95 target
 *     saturation   its mean is at most the limit
 *     tokens, nvme tokens a second; there is no line, or the one that is given
 *
 * A request that failed has missed its target. So have those that wait, while none of their class is
 * answered and the oldest is older than the target. A class without a target, by saturation any class, misses
 * what fails, and those that wait when none of it had a slot in the whole stage. Targets and saturation have
 * a second line: at most 5 % of the stretches leave work undone; a third: in as many such a class may be
 * overtaken; and a fourth: of the requests of paced users at most 5 % pile up, waiting or in service.
 *
 * A stretch is an interval of a second or longer, or shorter ones in a row that make a second, so that shares
 * do not depend on run.interval. It is undone where any of its intervals is, and has no throughput then. It
 * is overtaken where its last interval is: that is of a moment, and more moments would show it more often.
 * The rest of a stage that makes no stretch is dropped, unless the stage has no other.
 *
 * Early end: the line is exceeded by a fifth and by five standard errors, or requests pile up that are no
 * longer answered. Longer than planned, up to three times, while the evidence is within two standard errors
 * of the line, a busy class has ended nothing, or nothing was generated.
 *
 * Fixed memory, no clock, no I/O. One thread. */
#ifndef KVF_ENGINE_SCALE_STAGE_H
#define KVF_ENGINE_SCALE_STAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/terms.h"
#include "engine/scale/evidence.h"
#include "engine/scale/throughput.h"
#include "metrics/histogram.h"

enum {
    STAGE_LONGEST = 3,  /* times its length, when undecided */
    STAGE_MOST = 6,     /* times its length, where requests last long */
    STAGE_REQUESTS = 3, /* times the mean duration of a request */
    STAGE_FEW = 20      /* requests of a class that waits unanswered count as so many, or more */
};
#define STAGE_SHARE     0.05 /* of the requests may miss a P95 target */
#define STAGE_STRETCH_S 1.0  /* least length of a stretch; that of a stage where it is shorter */
#define STAGE_CHANCE    1.0  /* standard errors: so many more unfinished requests say nothing */

/* Where the evidence of figures that are of no class is, after that of the classes. */
enum {
    STAGE_OF_FIGURE = KVF_CLASSES_MAX,
    STAGE_OF_LOAD, /* contexts of conversations so far, less what they are in the mean; weight: that mean */
    STAGE_OF_BOTH, /* the sum of the two */
    STAGE_OF_UNDONE,
    STAGE_OF_OVERTAKEN,
    STAGE_OF_PILED,
    STAGE_EVIDENCE
};
enum stage_figure { STAGE_TARGETS, STAGE_SATURATION, STAGE_TOKENS, STAGE_NVME };

struct stage_rules { /* the same for all stages of a search */
    enum stage_figure figure;
    bool paced; /* users ask on whether they are answered or not */
    double limit_saturation;
    uint32_t classes;
    char name[KVF_CLASSES_MAX][32];
    double target_ms[KVF_CLASSES_MAX]; /* of P95; NaN: none */
};

/* The signals of an interval. */
struct stage_class_signals {
    const struct histogram *latency; /* of the requests done, ns */
    uint64_t missed;                 /* of the requests done: over the target */
    uint64_t failed;                 /* or dropped */
    uint64_t waiting, in_service;    /* now */
    double oldest_wait_ms;           /* of those that wait now */
    bool overtaken;                  /* for too long (sampler.h) */
};
struct stage_signals {
    double length_s;
    double oldest_ms;  /* age of the oldest request that waits or is in service now; 0: there is none */
    double saturation; /* NaN: missing */
    double tokens;     /* generated */
    double load_tokens, usual_tokens; /* of the requests done, as in workload/request.h; 0: not known */
    double nvme_tokens;               /* read from and written to nvme; NaN: there is none */
    uint64_t arrived;                 /* requests */
    uint64_t done;
    double e2e_s; /* end-to-end latencies of those done, summed */
    bool undone;  /* not all was done that was asked for: tokens are no throughput */
    bool slipped; /* part of the undone that fewer users may have done, failed requests aside */
    struct stage_class_signals klass[KVF_CLASSES_MAX];
};

struct stage_plan {
    double settle_s, length_s;
    double before_s; /* users have been as many already; 0: they change with it */
    double wait_s;   /* longest wait for requests from before the change; 0: they are not looked at */
    double line;     /* of tokens; NaN: there is nothing to hold them against */
    struct throughput_rule rule; /* what all stages say of tokens and of contexts */
    bool early;                  /* may end early */
    bool patient;                /* goes on while undecided */
    double fine;                 /* without a line: wants the figure known to this part of it */
};

struct stage_class {
    struct histogram latency; /* of the judged intervals */
    uint64_t ended, missed;   /* failed ones too */
    uint64_t failed;
    bool busy;               /* a user of it asked, waited or was served */
    bool served;             /* a request of it had a slot */
    unsigned overtaken;      /* stretches, of a class without a target */
    uint64_t waiting;        /* now */
    double oldest_wait_ms;   /* now */
    struct evidence all;     /* that of earlier stages too */
    struct evidence of_this; /* of this stage */
};

/* Intervals in a row that are judged as one; the throughput is that of the figure. */
struct stage_stretch {
    double length_s;
    double tokens, load_tokens, usual_tokens;
    bool undone, slipped;            /* in any of them */
    bool overtaken[KVF_CLASSES_MAX]; /* at its end */
};

struct stage {
    struct stage_plan plan;
    double since_s, settle_left_s, judged_s;
    bool cleared; /* no request from before the stage is waited for any more */
    double look_s;
    uint64_t look_arrived, look_done; /* requests, in the present look at those from before */
    unsigned intervals;
    struct stage_stretch stretch; /* the present one */
    unsigned stretches, undone;   /* of these, those that left work undone, .. */
    unsigned overtaken; /* .. and those in which a class without a target was overtaken for too long */
    bool slipped;       /* in any of them */
    double tokens, nvme_tokens;
    double saturation_sum, saturation_s;
    uint64_t arrived, done, unfinished;     /* unfinished: now */
    bool late;                              /* the change of users is some requests' time ago; since then: */
    uint64_t late_arrived, late_unfinished; /* requests; unfinished at first */
    double unfinished_s;                    /* their number x time */
    double e2e_s;
    bool busy;                                /* a user was served or waited */
    struct stage_class klass[STAGE_EVIDENCE]; /* of figures that are of no class: only the evidence */
};

/* The reading of a stage; missing values are NaN. */
struct stage_reading {
    double seconds; /* judged */
    unsigned intervals;
    /* P95 / target, saturation / limit, or what is undone / its limit where that is more; tokens a second;
     * infinite: never answered */
    double value;
    double noise; /* standard error of that of tokens */
    double saturation, tokens_s, nvme_s;
    int worst;                /* class nearest to its target, or the slowest; -1: none was judged */
    double p95_ms, target_ms; /* its; p95_ms is infinite where more than 5 % failed, target_ms NaN without */
    uint64_t ended, failed;   /* of its requests */
    double share, of; /* its requests that missed, of all at this number of users, and how many those are */
    bool starved;     /* p95_ms is how long one of it has been waiting, none was answered */
    bool silent;      /* users asked, and none was answered */
    bool undone;      /* work was, in most of its stretches */
    double slipped;   /* share of all stretches at this number of users in which work slipped */
    double overtaken; /* the same of those in which a class without a target was overtaken for too long */
    int behind;       /* the class that was in most stretches of this stage; -1: none */
    bool piled;       /* requests arrived that were not answered, more and more */
    bool grows;       /* later than some requests' time, more and more were unfinished */
    double left; /* share of the requests of all stages with these users that were so left, of paced ones; 0:
                    no more than may be chance */
    double arrived_s, done_s; /* requests a second */
    double unfinished;        /* mean number of requests that wait or are in service */
    double e2e_s;             /* mean end-to-end latency; NaN when none was done */
};

enum stage_state { STAGE_SETTLES, STAGE_RUNS, STAGE_WITHIN, STAGE_OVER };

/* Whether evidence k is of a share or a mean that scatters by chance about a line; that of work undone and of
 * classes that are held to no target is zero where all is well. */
bool stage_has_line(const struct stage_rules *rules, uint32_t k);
/* `before`: what is known of these users already, for each class; NULL: nothing. */
void stage_begin(struct stage *s, const struct stage_plan *plan, const struct evidence *before);
/* Takes an interval; WITHIN and OVER end the stage. */
enum stage_state stage_step(struct stage *s, const struct stage_rules *rules, const struct stage_signals *in);
void stage_read(const struct stage *s, const struct stage_rules *rules, struct stage_reading *out);

#endif
