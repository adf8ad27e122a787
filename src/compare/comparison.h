/* The comparison of two or more runs: the differences of their scenarios, what makes the comparison unfair,
 * every metric with its change against the baseline, and whether that is beyond noise. Made of plain records,
 * for text, CSV, JSON and HTML alike; knows no database. One thread at a time. */
#ifndef KVF_COMPARE_COMPARISON_H
#define KVF_COMPARE_COMPARISON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "draw/format.h"
#include "metrics/work.h"
#include "record/metric.h"
#include "record/run.h"
#include "record/series.h"
#include "record/standing.h"
#include "record/trials.h"

/* One side of a comparison. All of it must last until comparison_make() returns, which keeps none of it. */
struct comparison_shares;
struct comparison_input {
    const struct run_record *run; /* the run, or any of the trials for the whole group */
    const struct trials *trials;  /* the group; NULL: the run by itself */
    const struct run_record
        *member;                 /* of runs that stand as a group by their tag alone: the others, oldest */
    size_t members;              /* first; what they do not share is told. 0: a group of one scenario */
    const struct series *series; /* of the run, with SERIES_TIERS, _CLASSES and _BLOCK as far as they are
                                    wanted; NULL: its noise is not known */
    struct comparison_shares *shares; /* likewise of its percentiles */
};

/* The position of each interval's values relative to the percentiles of the whole run, from which the noise
 * of e2e, nvme_read and nvme_write percentiles is judged. Takes the coded histograms of the intervals (table
 * interval_histograms) by ascending seq; ignores other scopes and broken ones. `run` is loaded and not kept.
 */
struct comparison_shares *comparison_shares_new(const struct run_record *run);
/* Likewise relative to the percentiles of a run that this one is compared with; before the first interval. */
void comparison_shares_beside(struct comparison_shares *s, const struct run_record *other);
void comparison_shares_add(struct comparison_shares *s, uint64_t seq, const char *scope, const uint8_t *data,
                           size_t len);
void comparison_shares_free(struct comparison_shares *s); /* takes NULL */

/* The kinds of loss, by weight: writes refused, work undone, arrivals left waiting, users without an answer.
 */
enum { COMPARISON_LOST = STANDING_UNDONE + 3 };
struct comparison_lost { /* of a kind, by the trials of a group */
    double most;         /* of any trial */
    size_t trials;       /* that lost some */
    double error;        /* standard error of the count, or of the mean of trials; missing where not known */
    uint64_t freedom;    /* of it */
};
enum { COMPARISON_NEIGHBOURS = 3 };
/* The tier below memory from which a side loads, and the time of computing again instead. */
struct comparison_store {
    char name[16];                                          /* "nvme"; "": it has none */
    char about[120];                                        /* "resp: Valkey 9.1.2 at 127.0.0.1:6379" */
    char whole[400];                                        /* the whole description */
    double read_gib_s, write_gib_s, read_p95_ms, cpu_s_gib; /* cpu_s_gib: of the process, all its bytes */
    struct metric_break_even break_even;                    /* as its results */
    double load_ms[METRIC_SIZES], again_ms[METRIC_SIZES];   /* of METRIC_SIZE_LIST tokens */
};

/* Of a request done, in the mean; missing where not known. */
struct comparison_means {
    double e2e, ttft, queue, storage, prefill, generation; /* ms; queue: of the wait for a slot alone */
    double way;                                            /* ms, of the message from router to pod */
    double operations[KVF_TIERS][KVF_DIRS];                /* of entries, that requests wait for */
    double operation_ms[KVF_TIERS][KVF_DIRS];              /* of any one */
    double device_ms, kernel_ms, drive_ms; /* at the device, of an nvme read and of a request to the drive */
    double misses;                         /* lookups that miss what is made again */
    double read_bytes;                     /* from all tiers, that requests wait for */
};

struct comparison_side {
    char label[48];    /* "run 12", "runs 12-14" */
    char title[160];   /* "nightly, 2026-11-20 08:30, 3 of 3 trials", local time */
    int64_t run_id;    /* 0: not stored */
    char name[64];     /* of the scenario */
    double started_at; /* epoch seconds; of a group that of the run that was named */
    enum run_status status;
    size_t trials, complete, failed; /* of a group; 0 for a run by itself; crashed ones failed */
    size_t late;                     /* trials that ended before their requests were done */
    bool results;                    /* whether there are any */
    char limited_by[32];             /* "cpu, capacity", of the run's own verdict; "": not judged */
    char undone[320];                /* "3 requests failed" (record/standing.h); "" */
    struct comparison_store store;
    char granularity[16]; /* of its cache; "": not known */
    bool other_units;     /* than the baseline's: its lookups and operations are of entries of another kind */
    struct comparison_means mean;
    double load;     /* requests that arrived, or were open before; missing where not known */
    double ended;    /* requests done or failed; the load where not known */
    double asked;    /* of run.max_requests; 0: none were */
    double warmup_s; /* length of its warm-up; missing where not known */
    double failed_once, warmup_failed_once; /* requests of these that were at a pod when it went */
    double writes, copies; /* of entries, without moves between tiers; begun, to slower tiers */
    double unserved;       /* part of its arrivals left waiting, of a group the most of a trial beyond chance;
                              missing where users wait for answers */
    double stranded; /* part of them that waited for longer than most that were done; 0: none, or chance */
    double waiting_load; /* requests of which that is a part: of the worst of merged ranks, those of a rank */
    double rejected;     /* part of the rows of its file that it could not replay, where that is a flaw */
    double dispersion;   /* of its arrivals, 1 and more: how far chance lets their number differ */
    double bunched; /* variance of counts to their mean, of the most bunched; missing without intervals */
    uint64_t bunched_freedom; /* of it */
    double serving;           /* the same of requests done; missing likewise */
    bool twin;                /* its simulations drew from the seeds of the baseline's */
    bool replay;              /* its requests come at the times of its trace */
    bool at_rate;             /* its requests come at a rate, however many users it has */
    bool same_arrivals;       /* at those of the baseline's trace, each the same request */
    /* A class with less than half, or more than twice, the part of the requests done that it has in the
     * baseline: its name, or "", and how many were done in both. */
    char less_served[32], more_served[32];
    double served, served_base;
    double users;   /* of its scenario; 0: not known */
    double offered; /* of that load, a second of the measured part; missing likewise */
    bool open_loop; /* requests arrive on their own */
    struct snapshot_neighbour neighbour[COMPARISON_NEIGHBOURS]; /* on its drive as it was measured, where the
                                                                   block layer was traced; most bytes first */
    size_t neighbours;
    enum standing_flaw
        flaw; /* of its figures: standing_run_flaw(), of a group the first that any trial has */
    size_t flawed[STANDING_FLAWS]; /* complete trials of a group, by their flaw */
    struct comparison_lost lost[COMPARISON_LOST];
    bool settled[STANDING_UNDONE]; /* kinds of which none counts: none was left, or a GPU computes it again */
    /* Whether of some kind of work far more was left undone than by the baseline, and far less. Both may be:
     * then neither looks better for a good reason. */
    bool undone_more, undone_less;
    /* Of the classes that the baseline left unserved, and it did not, clearly more requests were done; and of
     * those that it left, by the baseline. True where that is not known. */
    bool serves_left, serves_left_base;
    /* Of requests, tokens and bytes moved in a second the largest and the smallest ratio to the baseline's;
     * NaN: not known of all three. */
    double done_most, done_least;
    double unanswered; /* part of its users, or by which open requests grew, that had no answer; 0: none */
    double chunk_hits; /* part of the lookups of document chunks that hit; NaN: there were none */
    bool fewer_chunks, more_chunks;       /* hit than of the baseline: a miss makes no work */
    bool loses_chunks, base_loses_chunks; /* so many fewer, of this side or of the baseline, that it is work
                                             undone */
    struct standing_turns turns;          /* at granularity request; 0 at others */
    bool computes;                        /* a GPU is modelled */
    bool idle_misses, base_idle_misses; /* what this side, or the baseline, missed is no work as it is on the
                                           other, at another granularity */
    struct work work;                   /* of its requests, in the mean */
    bool smaller, larger; /* in some part than those of the baseline; either may look better for it */
    double times_smaller, times_larger; /* by so much; 1: they were not */
    double spared, spared_base; /* so many times the work of the other one this side, or the baseline, left
                                   undone; INFINITY: not known */
    bool skips, skipped;        /* it skipped reads of the decode, or the baseline did */
};

struct comparison_difference { /* a key of the scenario that is not alike everywhere */
    char *key;                 /* "tiers.nvme.io_depth", "qos.classes.batch.p95" */
    char **value;              /* of each side, NULL where there is no such key */
};

enum comparison_direction {
    COMPARISON_MISSING, /* there is no value on one side, or of the baseline itself */
    COMPARISON_SAME,    /* the very same value */
    COMPARISON_IMPROVED,
    COMPARISON_WORSENED,
    COMPARISON_MORE, /* of what is neither good nor bad */
    COMPARISON_LESS
};
enum comparison_noise { COMPARISON_UNKNOWN, COMPARISON_WITHIN, COMPARISON_BEYOND };
enum comparison_reason { /* why a noise is not told, although there would be figures for it */
                         COMPARISON_TOLD,
                         COMPARISON_FAILED, /* one of the two failed or crashed */
                         COMPARISON_USERS,  /* other seeds have drawn other users, unknown to the intervals */
                         COMPARISON_NEIGHBOUR, /* another program used what the metric depends on */
                         COMPARISON_UNITS,     /* counted in entries of another granularity */
                         COMPARISON_UNDONE, /* better where more of the work was not done, which is no gain */
                         COMPARISON_WAITING, /* better where more arrivals were left waiting */
                         COMPARISON_SMALLER, /* better where the requests done were smaller */
                         COMPARISON_ASKED,   /* less where all was served that arrived, which was less */
                         COMPARISON_OPEN,    /* its interval has no end: too few values beyond a percentile */
                         COMPARISON_LEAVING  /* users leave one by one, which looks like noise */
};
enum comparison_method {
    COMPARISON_NONE,
    COMPARISON_RANKS,      /* three and more trials a side: Mann and Whitney's U, exact */
    COMPARISON_PREDICTION, /* three and more on one side: where one more value would fall */
    COMPARISON_PAIRS, /* three and more trials of the same seeds on both sides: Student's t of each seed's
                         change */
    COMPARISON_BLOCKS /* single runs: moving blocks of their intervals */
};

struct comparison_change { /* of a side against the baseline */
    double value;          /* NaN: missing; of a group the median of its complete trials */
    double absolute;       /* in the unit of the metric; NaN: not defined */
    double relative;       /* 0.05: 5 % more than the baseline; NaN likewise */
    double low, high;      /* 95 % interval of `relative`; NaN: not known */
    double p;              /* of the rank test, two-sided; NaN for other methods */
    enum comparison_direction direction;
    enum comparison_noise noise;
    enum comparison_method method;
    enum comparison_reason reason;
    double
        explained; /* so many times it may have moved for work that one side did not do; 0: nothing of it */
    bool more_than_explained; /* although it is not told: it is better by more, and beyond noise */
};

struct comparison_metric {
    char metric[64], unit[12];
    char label[64]; /* as people call it: "end-to-end P95"; the name itself where it has no other */
    enum metric_better better;
    bool main;                        /* one of the usual selection */
    bool watched;                     /* --fail-over watches it by default */
    struct comparison_change *change; /* of each side; that of the baseline is its value alone */
};

struct comparison_limit {
    char metric[64];
    double most; /* 0.05: 5 % worse than the baseline is still allowed */
    bool usual;  /* not named: left out where its noise alone is not known */
};

enum comparison_state { COMPARISON_HELD, COMPARISON_EXCEEDED, COMPARISON_UNHELD };
struct comparison_case { /* a limit held against a side, or that it completed */
    size_t side;
    char name[64]; /* the metric; "completed" */
    enum comparison_state state;
    char *text; /* what exceeds it, or why it was not held; NULL: held */
};

struct comparison {
    size_t sides; /* at least two; the first is the baseline */
    struct comparison_side *side;
    struct comparison_difference *difference; /* in the order of the scenario */
    size_t differences;
    char **warning; /* what makes it unfair, a sentence each */
    size_t warnings;
    struct comparison_metric *metric; /* the usual selection first, in its order, then those of the results */
    size_t metrics;
    char **verdict; /* of each side, one sentence; of the baseline NULL */
    char **note;    /* how noise was told, a sentence each */
    size_t notes;
    bool checked;                   /* by comparison_check() */
    struct comparison_limit *limit; /* what was held */
    size_t limits;
    struct comparison_case *held;
    size_t cases;
    size_t unheld;  /* limits that were not held, of which nothing could be told */
    char **failure; /* what exceeds its limit, a sentence each */
    size_t failures;
};

/* Compares sides; the first is the baseline. Takes the usual metrics and `extra` (ends with NULL; NULL:
 * none), with `all` every metric. The same input gives the same output, as resampling has a fixed seed. Free
 * it with comparison_free(). */
struct comparison_wish {
    bool all;
    const char *const *extra;
};
void comparison_make(const struct comparison_input *input, size_t sides, const struct comparison_wish *wish,
                     struct comparison *out);
void comparison_free(struct comparison *c); /* frees all it owns; leaves it empty */
const struct comparison_metric *comparison_metric(const struct comparison *c, const char *metric);
/* Whether the sides load from different stores and at least one has read enough to know its time. */
bool comparison_stores_differ(const struct comparison *c);

/* Checks every side against the baseline. A failure is: a limited metric that gets worse by more than its
 * limit, unless that is within noise (unknown noise counts; of a noise wider than the limit so does half, or
 * twice as much, that is beyond its 95 % interval); a metric that only one of the two has; a side
 * that has not completed, or without a complete trial; nothing to check at all. Call it at most once. */
void comparison_check(struct comparison *c, const struct comparison_limit *limit, size_t limits);

#define COMPARISON_JSON_SCHEMA "kvfall-comparison"
enum { COMPARISON_JSON_VERSION = 1 }; /* as of a run */
/* Appends one JSON object; or a row of CSV for each metric and side. */
void comparison_json(const struct comparison *c, struct buf *out);
void comparison_junit(const struct comparison *c,
                      struct buf *out); /* what was held, as a test suite in XML */
void comparison_csv(const struct comparison *c, struct buf *out);

/* A value for people, rates without the unit that their label has; and a change with its sign, of ratios in
 * percentage points. */
struct format_cell comparison_cell(double v, const struct comparison_metric *m);
struct format_cell comparison_delta(double v, const struct comparison_metric *m);
struct format_cell comparison_percent(double relative); /* "+5.6 %" */
/* The relative change; from nothing to something the absolute one, "+3.20 s". */
struct format_cell comparison_moved(const struct comparison_change *v, const struct comparison_metric *m);

/* "better", "worse", "same", "--"; "more" or "less" for a neutral metric, or one that only looks better
 * because work was left undone. */
const char *comparison_direction_word(const struct comparison_change *v);
const char *comparison_noise_word(enum comparison_noise n);   /* "beyond", "within", "--" */
const char *comparison_reason_name(enum comparison_reason r); /* "neighbour", ...; "" for none */
const char *comparison_reason_text(enum comparison_reason r); /* "another program had a part in it" */
const char *comparison_method_name(enum comparison_method m); /* "rank_test", ...; "" for none */

#endif
