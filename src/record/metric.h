/* The catalogue of a run's metrics: name, unit, better direction, and meaning of each. Results,
 * comparisons, trials, sweeps, tables and the manual read it. Any thread. */
#ifndef KVF_RECORD_METRIC_H
#define KVF_RECORD_METRIC_H

#include <stdbool.h>
#include <stddef.h>

enum metric_better { METRIC_NEUTRAL, METRIC_HIGHER, METRIC_LOWER };

/* The form decides the unit and the notation of a value. X(NAME, unit) */
#define METRIC_FORM_LIST(X)                                                                                  \
    X(COUNT, "")                                                                                             \
    X(NUMBER, "") /* a mean of counts */                                                                     \
    X(FACTOR, "") /* a quotient that may be above 1 */                                                       \
    X(RATIO, "")  /* a part of a whole: 0 to 1, written in percent */                                        \
    X(SHARE, "")  /* written in percent, may be above 1 */                                                   \
    X(SLOPE, "")  /* written in percent, may be negative */                                                  \
    X(FLAG, "")   /* 1 yes, 0 no */                                                                          \
    X(BYTES, "B")                                                                                            \
    X(MS, "ms")                                                                                              \
    X(SECONDS, "s") X(TOK_S, "tok/s") X(PER_S, "1/s") X(GIB_S, "GiB/s") X(WATTS, "W") X(JOULES, "J")
#define X(name, unit) METRIC_##name,
enum metric_form { METRIC_FORM_LIST(X) METRIC_FORMS };
#undef X
const char *metric_form_unit(enum metric_form form); /* "GiB/s"; "" for forms without one */
/* Context lengths at which loading is compared with computing again: the word in names, and tokens. */
#define METRIC_SIZE_LIST(X) X("1k", 1000) X("4k", 4000) X("16k", 16000) X("64k", 64000)
enum { METRIC_SIZES = 4 };
extern const char *const metric_sizes[METRIC_SIZES]; /* "1k" .. */
/* Beside times of loads of which some are missing. */
#define METRIC_SIZES_UNREAD "A size has no time where no read was as large, or as small."
/* A tier's results TIER_break_even_tokens, TIER_loads_from_tokens and TIER_loads_to_tokens; NaN: missing. */
struct metric_break_even {
    double tokens, from_tokens, to_tokens;
};

/* In pattern and label TIER, DIR, CAUSE, SIZE and STAT stand for one of their names, CLASS for a QoS class of
 * the scenario, REASON for any word. */
struct metric {
    const char *pattern;
    enum metric_form form;
    enum metric_better better;
    const char *label; /* for people */
    const char *help;  /* sentences */
};
extern const struct metric metric_rows[];
extern const size_t metric_row_count;

/* The default columns of tables, in this order. */
struct metric_usual {
    const char *name; /* or a pattern with CLASS */
    bool watched;     /* for regressions, by default */
    bool quiet;       /* no row where it is 0 everywhere */
};
extern const struct metric_usual metric_usual[];
extern const size_t metric_usual_count;

enum { METRIC_NAME = 96 };

/* The row of a name; NULL: none, as for results of other versions. */
const struct metric *metric_find(const char *name);
/* Its row in the usual selection; NULL: it is not in it. */
const struct metric_usual *metric_usual_find(const char *name);
bool metric_fits(const char *pattern, const char *name);   /* "TIER_read_p95_ms" fits "nvme_read_p95_ms" */
int metric_tier(const char *name);                         /* that its name begins with; KVF_TIERS: none */
const char *metric_unit(const char *name);                 /* "" for a name without a row */
bool metric_percent(const char *name);                     /* whether its values are written in percent */
const char *metric_axis(const char *name);                 /* the unit of its axis: "%" where that is so */
enum metric_better metric_better(const char *name);        /* METRIC_NEUTRAL without a row */
const char *metric_better_word(enum metric_better better); /* "higher", "lower", "" */
/* The label: "nvme read P95"; the name itself without a row. */
void metric_label(const char *name, char *out, size_t len);
/* The same at the head of a chart or a figure: "End-to-end P95". */
struct metric_title {
    char text[64];
} metric_title(const char *name);

/* Calls act with every name that a run with these classes can have, but for those that end in a REASON. */
void metric_each(const char *const *classes, size_t count, void (*act)(void *ctx, const char *name),
                 void *ctx);
/* Whether a run with these classes can have a metric of that name. */
bool metric_known(const char *name, const char *const *classes, size_t count);
/* The nearest name that such a run can have, in `out`; NULL: none is near. */
const char *metric_nearest(const char *name, const char *const *classes, size_t count, char out[METRIC_NAME]);

#endif
