/* The outcome of a sweep: its record, its dimensions, and every point with its results. Plain data for the
 * tables at its end, exports and reports. One thread at a time. */
#ifndef KVF_RECORD_OUTCOME_H
#define KVF_RECORD_OUTCOME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "metrics/work.h"
#include "record/run.h"
#include "record/standing.h"

/* The record of a sweep: what its runs share. Plain data for the database and the summaries. */
struct sweep_record {
    int64_t sweep_id; /* of the database; 0 when not stored */
    char uuid[37];
    char name[64], profile[16], mode[16];
    char model[200]; /* of the scenario; where it varies all of them, ", " between */
    enum run_status status;
    char status_reason[300];
    double started_at, ended_at; /* epoch seconds; ended NaN while it goes on */
    char host[72], boot_id[40], version[80];
    int64_t pid;
    char *scenario_yaml;  /* as given, malloc'd */
    char *effective_json; /* with what varies, malloc'd */
    uint64_t points, done, failed;
    int64_t baseline_run; /* 0: none */
    char answer[800];     /* of a search: one sentence; "" */
};

/* Throughput, mean latencies and reuse hit ratio of an earlier run, or of the peak of an earlier sweep's open
 * loop among its comparable runs; NaN: missing. */
struct sweep_baseline {
    int64_t sweep_id; /* 0: one run */
    uint64_t runs;
    double tok_s, ttft_ms, tpot_ms, reuse_hits;
    char undone[STANDING_TEXT]; /* why it is not comparable; "" */
};

#define OUTCOME_FEWER_HITS 0.01 /* of a hit ratio, that is worth a sentence */

/* A point of a miss-ratio curve. */
struct sweep_curve {
    char policy[16];
    uint64_t capacity_bytes;
    uint64_t lookups, misses; /* as counted, of the sample where there is one */
    double miss_ratio;
    double sample;   /* share of the entries in the sample; 1: all */
    char method[12]; /* stack: distances in one pass; cache: simulated at that capacity */
};

/* Kinds of dimensions: named groups of settings, keys, the key that a search varies, the load of profile
 * rates. */
enum outcome_role { OUTCOME_VARIANT, OUTCOME_KEY, OUTCOME_SOUGHT, OUTCOME_LOAD };
struct outcome_value {
    char *text;    /* for people, malloc'd */
    double number; /* in the unit of the dimension; NaN: not a number */
};
struct outcome_dimension {
    char key[64]; /* of the scenario, or the name of a group of variants; "load" */
    char title[64];
    char unit[8]; /* of its numbers: "B", "ns", "B/s", "req/s" or "" */
    enum outcome_role role;
    struct outcome_value *value; /* distinct, in order of appearance */
    size_t values, cap;
};

enum outcome_state {
    OUTCOME_WAITS, /* not run */
    OUTCOME_RUNS,
    OUTCOME_DONE,
    OUTCOME_FAILED,
    OUTCOME_STOPPED
};
const char *outcome_state_name(enum outcome_state s); /* "done" */
enum outcome_state outcome_state_of(enum run_status status);

enum { OUTCOME_DIMENSIONS = 9 };
struct outcome_point {
    size_t number; /* of the sweep, from 1 */
    enum outcome_state state;
    size_t at[OUTCOME_DIMENSIONS]; /* index of its value, by dimension */
    char *settings;                /* key: value, a JSON object, malloc'd */
    int64_t run_id;                /* 0: not stored */
    char why[300];                 /* why it failed; "" */
    double *value;                 /* by measure, malloc'd; outcome_measured() reads it */
    size_t values;
    double undone[STANDING_UNDONE]; /* as standing.h has them */
    double reuse_hits;              /* reuse_hit_ratio; NaN: missing */
    double chunk_misses;            /* standing_chunk_misses() */
    double chunk_hits;              /* standing_chunk_hits() */
    struct standing_turns turns;    /* standing_turns() */
    bool estimated;                 /* its autoscaler_users are no answer, but the best estimate */
    bool by_blocks, computes;       /* its cache goes by blocks; its GPU is modelled */
    enum standing_flaw flaw;        /* of its figures: standing_run_flaw() */
    struct work work;               /* of its requests, in the mean */
    size_t against;                 /* index of the baseline point of its differences; SIZE_MAX: none */
};
struct outcome_measure {
    char name[64], unit[12];
};

struct outcome {
    struct sweep_record record; /* owns its texts */
    struct outcome_dimension dimension[OUTCOME_DIMENSIONS];
    unsigned dimensions, groups; /* groups of variants come first */
    bool zip;                    /* values go side by side instead of every one with every other */
    struct outcome_measure *measure;
    size_t measures, measure_cap;
    size_t chosen; /* the first of them: what the sweep is about, the others its runs have besides */
    struct outcome_point *point; /* in their order */
    size_t points, point_cap;
    bool compared;             /* points have others that they are held against */
    char baseline[80];         /* a point, or "GROUP=NAME"; "" */
    size_t base_group;         /* of a variant as baseline; SIZE_MAX: it is none */
    size_t base_variant;       /* its index */
    double target;             /* of a search, for its first measure; NaN: none */
    char target_op[4];         /* ">=" */
    struct sweep_curve *curve; /* profile miss_ratio, malloc'd */
    size_t curves, curve_cap;
    char *warnings; /* lines, malloc'd; NULL: none */
};

void outcome_init(struct outcome *o); /* empty */
void outcome_free(struct outcome *o); /* frees all it owns; leaves it empty */
/* Fill it in this order: dimensions, then points with their values. Arrays grow as needed; the program ends
 * when memory is exhausted. */
struct outcome_dimension *outcome_add_dimension(struct outcome *o, enum outcome_role role, const char *key,
                                                const char *unit);
/* Titles the dimensions: the last part of each key, or the whole key where two would be the same. Call it
 * after the last dimension. */
void outcome_make_titles(struct outcome *o);
/* The index of a value, which is added when it is new. A quoted text loses its quotes. */
size_t outcome_place(struct outcome_dimension *d, const char *text, double number);
/* Adds a waiting point with the next number; the pointer is valid until the next is added. */
struct outcome_point *outcome_add_point(struct outcome *o);
/* The index of a measure, which is added when it is new. */
size_t outcome_measure(struct outcome *o, const char *name, const char *unit);
void outcome_set(struct outcome_point *p, size_t measure, double v);    /* NaN: missing */
void outcome_add_curve(struct outcome *o, const struct sweep_curve *c); /* a copy */
/* The result of a point's run, even of a stopped one; NaN: missing. */
double outcome_measured(const struct outcome *o, size_t point, size_t measure);
/* The result of a point that is done; NaN: missing, or not done. */
double outcome_value(const struct outcome *o, size_t point, size_t measure);
size_t outcome_measure_find(const struct outcome *o, const char *name); /* SIZE_MAX: none */
/* The difference to the point's baseline: 0.05 is 5 % more; NaN: missing. */
double outcome_delta(const struct outcome *o, size_t point, size_t measure);
/* The best point by a measure, among those that are comparable; SIZE_MAX: none. */
size_t outcome_best(const struct outcome *o, size_t measure);
/* Whether it can be best, or a maximum: standing_comparable(). */
bool outcome_comparable(const struct outcome_point *p);
/* Why a point is not comparable, and never the best: standing_why(). */
const char *outcome_undone(const struct outcome_point *p, char out[STANDING_TEXT]);
/* The measure whose best value is a peak: throughput where the load varies, else the first. */
size_t outcome_judge(const struct outcome *o);
bool outcome_by_load(const struct outcome *o); /* profile rates */
/* The number of combinations of variants; 1 without groups. */
size_t outcome_configurations(const struct outcome *o);
/* The index of a configuration's variant in a group. */
size_t outcome_variant(const struct outcome *o, size_t configuration, unsigned group);

/* The best of a combination of variants. */
struct outcome_peak {
    size_t configuration;
    size_t point;  /* its index; SIZE_MAX: none is done */
    double *value; /* by chosen measure, of that point */
    double delta;  /* of the judge against the baseline's peak, as a part; NaN: none */
};
/* One peak per configuration, in their order; free them with outcome_peaks_free(). NULL with *count 0 without
 * variants, or where each has one point. */
struct outcome_peak *outcome_peaks(const struct outcome *o, size_t *count);
void outcome_peaks_free(struct outcome_peak *peak, size_t count);

#endif
