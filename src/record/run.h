/* The record of a run: what ran, where, and its results. Plain data, from which the text summary, the JSON
 * summary and the database rows are made, and into which `show` loads a stored run. One thread at a time. */
#ifndef KVF_RECORD_RUN_H
#define KVF_RECORD_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/terms.h"
#include "record/publish.h"
#include "metrics/usage.h"
#include "record/metric.h"
#include "record/snapshot.h"
#include "record/verdict.h"

#define RUN_STATUS_LIST(X)                                                                                   \
    X(RUNNING, "running")                                                                                    \
    X(COMPLETED, "completed") X(INTERRUPTED, "interrupted") X(FAILED, "failed") X(CRASHED, "crashed")
#define X(id, name) RUN_##id,
enum run_status { RUN_STATUS_LIST(X) RUN_STATUSES };
#undef X
const char *run_status_name(enum run_status s);     /* "completed" */
enum run_status run_status_parse(const char *name); /* RUN_STATUSES when unknown */

struct result {
    char metric[64];  /* a name of the table of measures */
    double value;     /* NaN: missing */
    char unit[12];    /* "", "ms", "B", "GiB/s", "tok/s", "1/s", "s" */
    uint64_t samples; /* values behind it; 0 where that has no meaning */
};
struct result_list {
    struct result *items;
    size_t count, cap;
};
/* Adds a result in the unit that the catalogue has for its name; a name outside it has no unit. */
void result_add(struct result_list *l, double value, uint64_t samples, const char *metric_fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* Adds a stored result in its own unit. */
void result_put(struct result_list *l, const struct result *result);
/* The value of a metric; NaN when missing or absent. */
double result_value(const struct result_list *l, const char *metric);
/* result_value() of a formatted name: "%s_read_p95_ms". */
double result_named(const struct result_list *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
struct metric_break_even result_break_even(const struct result_list *l, enum kvf_tier tier);
const struct result *result_find(const struct result_list *l, const char *metric);

struct run_tier { /* a tier as the run used it */
    bool on, emulated;
    bool compat;             /* cuFile carries its transfers to device memory through the host's */
    uint64_t capacity_bytes; /* as configured */
    uint64_t usable_bytes;
    char description[400]; /* backend, device, file system, direct or why not: one line */
};
struct run_class {
    char name[SNAPSHOT_NAME];
    double share;
    uint64_t p95_ns, p99_ns, p999_ns, p9999_ns; /* targets; 0: none */
};
static inline uint64_t run_class_target_ns(const struct run_class *c, int target) {
    const uint64_t ns[KVF_TARGETS] = {c->p95_ns, c->p99_ns, c->p999_ns, c->p9999_ns};
    return ns[target];
}
struct run_pod { /* a pod of a fleet, in the measured part */
    uint64_t pod;
    uint64_t requests_routed, requests_done, tokens;
    uint64_t lookups, hits[KVF_TIERS];
    uint64_t expected_blocks, wrong_blocks; /* that routers took to be there; of these were not */
    uint64_t used_bytes[KVF_TIERS];         /* at its end */
    double load_mean;                       /* requests queued and in service */
};
struct run_rank {            /* a rank of a run of several, in the measured part */
    struct snapshot_host at; /* first, as its figures are those of the table */
    double start_late_ms;    /* that it began after the time named */
    double clock_offset_ms,
        clock_error_ms; /* its clock less that of rank 0, and half the time of the answer */
    bool slowest;       /* with the highest P95 of end-to-end latency */
    char why[240];      /* of the slowest: by its load, by its machine, or by neither */
};
struct run_criterion {
    char name[64];         /* as people call it */
    char metric[64];       /* the measure that is judged; "" in old databases */
    char op[4];            /* how: "<", ">=", ...; "" likewise */
    double target, actual; /* actual NaN: missing */
    char unit[12];         /* of both */
    double passed;         /* 1, 0; NaN: neither; read with run_criterion_passed() */
};
struct run_histogram { /* a whole-run histogram, coded */
    char scope[48];    /* "e2e", "nvme_read", "nvme_read_device", "gpu_write", ... */
    uint8_t *data;
    size_t len;
};

struct run_record {
    int64_t run_id; /* of the database; 0 when not stored */
    char uuid[37];
    int64_t parent_id;    /* of trials: the first of them, which is its own; 0: none */
    uint32_t trial;       /* from 1; 0: no trials */
    uint32_t trials;      /* as many as were asked for; 0 likewise */
    int64_t sweep_id;     /* the sweep it is a point of; 0: none */
    uint32_t sweep_point; /* from 1; 0: none */
    char *sweep_values;   /* key: value of the point, a JSON object, malloc'd; NULL: none */
    char name[64], description[400], mode[16], model[64];
    uint64_t seed;
    enum run_status status;
    char status_reason[700];     /* why it failed or was interrupted; "" */
    double started_at, ended_at; /* epoch seconds; ended NaN while running */
    char host[72], boot_id[40], version[80];
    int64_t pid;
    char *environment;    /* JSON object, malloc'd */
    char *scenario_yaml;  /* as given, malloc'd, "" for the built-in */
    char *effective_json; /* the effective configuration as a JSON object, malloc'd */
    char tags[200];       /* with commas between */
    char *note;           /* what somebody wrote about it, malloc'd; NULL: nothing */
    char trace_path[1024], trace_sha256[65];
    char request_log[1024]; /* where a line per request was written, from the root; "" without */
    char tokenizer[1040];   /* what counted the tokens of texts; "" where there are none */
    struct run_tier tier[KVF_TIERS];
    double peak_bytes_s[KVF_TIERS]
                       [KVF_DIRS]; /* what the tiers' devices can do, as the scenario says; 0: unknown */
    uint32_t classes;
    struct run_class klass[KVF_CLASSES_MAX];
    char qos_latency[8]; /* ttft or e2e */
    struct result_list results;
    struct record_event *events;
    size_t event_count, event_cap;
    struct snapshot_decision *decisions; /* in order, with their times beside */
    double *decision_t_s;
    size_t decision_count;
    struct run_criterion *criteria;
    size_t criterion_count;
    struct run_histogram *histograms;
    size_t histogram_count;
    struct run_pod *pods; /* of a fleet; else none */
    size_t pod_count;
    struct run_rank *ranks; /* by number; none where there is one alone */
    size_t rank_count;
    struct verdict verdict;
    char not_comparable[1000];          /* rules that a submission breaks; "": none, or it is no submission */
    struct usage_sums usage[KVF_TIERS]; /* of the measured part; not stored */
    char steady[160];                   /* since when the run was steady, or why it was not; "": not known */
};

void run_record_init(struct run_record *r); /* empty; times missing */
void run_record_free(struct run_record *r); /* what it owns, not the struct */
/* Each appends a copy. */
void run_record_event(struct run_record *r, const struct record_event *e);
/* 1, 0; NaN: neither, as its tier was not needed, or as the run failed: less work meets criteria more easily.
 */
double run_criterion_passed(const struct run_record *r, const struct run_criterion *c);
/* Counts the criteria that passed, and in `judged`, which may be NULL, those that passed or failed. */
size_t run_criteria_passed(const struct run_record *r, size_t *judged);
void run_record_criterion(struct run_record *r, const struct run_criterion *c);
void run_record_decision(struct run_record *r, const struct snapshot_decision *d, double t_s);
/* Sets the file of --request-log; NULL: none. */
void run_record_logs_to(struct run_record *r, const char *path);
void run_record_pod(struct run_record *r, const struct run_pod *p);
void run_record_rank(struct run_record *r, const struct run_rank *rank);
void run_record_histogram(struct run_record *r, const char *scope, const uint8_t *data,
                          size_t len); /* copies */

#endif
