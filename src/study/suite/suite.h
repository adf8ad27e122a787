/* `kvfall suite`: a sweep over files, those of the tests. Shared by its parts: the known tests, the chosen
 * ones with their scenarios, and the results. Main thread only. */
#ifndef KVF_STUDY_SUITE_SUITE_H
#define KVF_STUDY_SUITE_SUITE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "draw/format.h"
#include "page/doc.h"
#include "probe/drive.h"
#include "probe/host.h"
#include "record/run.h"
#include "record/standing.h"
#include "scenario/fit.h"
#include "scenario/scenario.h"
#include "store/store.h"
#include "study/options.h"
#include "study/session.h"
#include "study/sweep/sweep.h"

/* A group is a folder of configs/; its name stands for all of its tests. */
#define SUITE_GROUP_LIST(X)                                                                                  \
    X(SUITE, "suite", "what each tier gives, alone and together, and what the machine carries")              \
    X(MLPERF, "mlperf", "MLPerf Storage KV cache, the options of the closed division")                       \
    X(SMOKE, "smoke", "the smoke tests and submission runs of the MLPerf proposal")                          \
    X(TIERS, "tiers", "the same 500 real requests on every hierarchy, three trials each")
#define X(id, name, what) SUITE_GROUP_##id,
enum suite_group { SUITE_GROUP_LIST(X) SUITE_GROUPS };
#undef X
const char *suite_group_name(enum suite_group g);
const char *suite_group_what(enum suite_group g);

enum suite_users { SUITE_USERS_FILE, SUITE_USERS_BASE, SUITE_USERS_HIGH };
struct suite_test {
    const char *name; /* of the scenario, and of its file in the group's folder */
    enum suite_group group;
    uint32_t cpu_part; /* the cpu tier is memory / cpu_part; 0: as in the file */
    enum suite_users users;
    bool searches; /* an autoscaler needs time to find what it looks for */
};
extern const struct suite_test suite_tests[];
const char *suite_test_yaml(const struct suite_test *t); /* its file; NULL: none comes with the program */
extern const size_t suite_test_count;
enum { SUITE_MOST = 64 }; /* tests of one plan */

/* Tests by their names, the part of a name before its first "-" where that is unique, or groups; all of
 * `suite` and `mlperf` when none is named. Each once, in the order of the table. `chosen` has room for
 * SUITE_MOST. 0 or -KVF_ERR_USAGE with the nearest name. */
int suite_choose(const char *const *names, size_t count, const struct suite_test **chosen, size_t *found,
                 struct err *e);

struct suite_entry { /* a test of the plan */
    const struct suite_test *test;
    struct scenario scenario; /* as it will run */
    uint64_t users_before;    /* of the file, before they were scaled */
    bool as_filed;            /* users, times, trials and settings are the file's */
    struct fit fit;
    char refused[400]; /* why it cannot run; "" */
    uint32_t trials;
    struct run_record *run; /* those that were begun, in their order */
    uint32_t runs;
    struct trials group; /* the same, and which of them count */
};

struct suite {
    struct sweep sweep; /* carries it out: a point for each trial of each test */
    const struct options *options;
    bool effective[OPTIONS_GIVEN_MAX]; /* by setting: a test makes something of it */
    bool quick, named;                 /* named: tests were asked for by name or group */
    struct host host;
    struct drive drive;
    bool drive_known; /* else dir is on no block device */
    char dir[512], dir_why[300];
    uint64_t disk_free; /* KVF_UNSET: unknown */
    uint64_t gpu_bytes, memory_bytes, nvme_bytes, base_users, high_users;
    bool users_given, high_users_given;
    struct suite_entry *entry;
    size_t entries;
    uint64_t begin_ns;
    int64_t parent_id; /* the first run */
    size_t running;    /* the point under way */
};
void suite_free(struct suite *s); /* what it owns, not itself; also after an error */

/* Measures the machine and chooses the working directory: --path, else the best drive. 0 or a negative code.
 */
int suite_look(struct suite *s, struct err *e);
/* The most that a test of group `suite` gives its cpu tier of memory / part. */
uint64_t suite_cpu_bytes(const struct suite *s, uint32_t part);

/* Loads, sizes and checks the chosen tests; the entry of one that cannot run says why. 0, or -KVF_ERR_USAGE
 * for a wrong command line. */
int suite_prepare(struct suite *s, const struct suite_test *const *chosen, size_t count, struct err *e);
/* Gives the first run of the plan an event for each test that is left out. */
void suite_note_left_out(struct suite *s);
bool suite_same_model(const struct suite *s);
/* The longest time that a test takes, in seconds: all trials with their warm-up. */
double suite_entry_s(const struct suite_entry *e);
/* Its points of the sweep: its trials, or one to say why it cannot run. */
static inline uint32_t suite_entry_points(const struct suite_entry *e) {
    return e->refused[0] ? 1 : e->trials;
}
/* The same of all tests from one on, each run with what is around it. */
double suite_ahead_s(const struct suite *s, size_t from, double around_s);
/* Allowance for preparing and cleaning up after each run. */
enum { SUITE_AROUND_S = 6, SUITE_QUICK_S = 290 };

/* Prints the plan before it is carried out. */
void suite_plan_text(const struct suite *s, const struct format_style *style, struct buf *out);
/* The names of all tests, by group. */
void suite_list_text(const struct format_style *style, struct buf *out);

/* --quick ends in time, unless durations were given: what is left of it is shared out among the tests from
 * this one on. */
void suite_keep_time(struct suite *s, size_t from);
/* Runs the plan on the screen, or with lines of progress. Stops early when somebody wants no further run; how
 * it ended stays on the screen until it is left. 0, or a negative code when the database or the signals
 * cannot be had. */
int suite_run(struct suite *s, struct err *e);

/* How its runs ended, the worst of them: as a point of a sweep does. A test that cannot run waits. */
enum outcome_state suite_state(const struct suite_entry *e);
/* Whether a test has a run that counts. */
bool suite_done(const struct suite_entry *e);
/* The mean of a metric over the complete trials, or over all trials of a stopped test; NaN when missing. */
double suite_metric(const struct suite_entry *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The largest instead. */
double suite_metric_largest(const struct suite_entry *e, const char *metric);
const struct suite_entry *suite_find(const struct suite *s, const char *name); /* NULL: not in the plan */
/* "12 requests failed", as standing_why() has it: its throughput is comparable to none; "": it may be. That
 * it was cut is suite_cut(), and tests with more than they serve are compared by throughput. */
const char *suite_undone(const struct suite_entry *e, char out[STANDING_TEXT]);
bool suite_cut(const struct suite_entry *e); /* done, and a run of it was too short: standing_run_cut() */
double suite_unfinished(const struct suite_entry *e); /* the largest standing_run_unfinished() of its runs */
bool suite_comparable(const struct suite_entry *e);   /* done, not too short, and with nothing left undone */

/* Appends the comparison, a row a test, and for group tiers the ranking. */
void suite_put_tables(const struct suite *s, struct doc *d);
/* The meaning of the figures, in sentences. */
struct suite_words {
    struct {
        char topic[16];
        char text[600];
    } line[40];
    unsigned lines;
};
void suite_meaning(const struct suite *s, struct suite_words *w);
#define SUITE_JSON_SCHEMA "kvfall-suite"
enum { SUITE_JSON_VERSION = 1 }; /* as of a run */
/* {"schema", "version", "suite": {...}, "tests": [{..., "runs": [as of `run --json`]}], "meaning": [...]} */
void suite_json(const struct suite *s, const struct suite_words *w, struct buf *out);

/* A suite that the database has, by its first run: its tests in the order of their runs, with what the tables
 * and words above need of their scenarios. suite_free() it, also after an error. */
int suite_stored(struct store *store, int64_t first_id, struct suite *out, struct err *e);
/* The report on it as a document, the caller's to free. */
struct doc *suite_doc(const struct suite *s);
/* The end of `kvfall suite`: the tables and their meaning. */
struct doc *suite_doc_end(const struct suite *s, const struct suite_words *w);

#endif
