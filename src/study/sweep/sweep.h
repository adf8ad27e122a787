/* Many runs as one sweep: of a scenario with some of its keys varied (kvfall sweep), or of other studies that
 * are made of one: a suite, whose points are files, and trials. Main thread only. */
#ifndef KVF_STUDY_SWEEP_SWEEP_H
#define KVF_STUDY_SWEEP_SWEEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "draw/format.h"
#include "record/outcome.h"
#include "record/trials.h"
#include "scenario/sweep_plan.h"
#include "store/store.h"
#include "study/options.h"
#include "study/progress.h"
#include "study/session.h"
#include "study/sweep/curve.h"

/* The load of a point of profile rates. */
enum point_load { LOAD_AS_GIVEN, LOAD_SYNCHRONOUS, LOAD_FULL, LOAD_AT_RATE };

struct sweep_point {
    uint64_t planned;         /* number in the plan, from 0 */
    char sought[SWEEP_VALUE]; /* profile capacity: the value tried */
    enum point_load load;
    double rate; /* LOAD_AT_RATE: requests per second */
    enum outcome_state state;
    int64_t run_id;                  /* 0: not stored */
    char why[300];                   /* why it failed */
    double value[SWEEP_METRICS_MAX]; /* NaN: missing */
    double undone[STANDING_UNDONE];  /* by which it is not comparable */
    char targets[STANDING_TARGETS];  /* how those of the classes stand; "": there are none */
    double reuse_hits;               /* reuse_hit_ratio; NaN: missing */
    double no_work;                  /* lookups that missed and made no work; 0: none, or not known */
    double chunk_misses;             /* of these, standing_chunk_misses() */
    double chunk_hits;               /* standing_chunk_hits() */
    struct standing_turns turns;     /* standing_turns() */
    bool estimated;                  /* its autoscaler_users are no answer */
    bool computes;                   /* on a modelled GPU */
    double waiting;                  /* share of the arrivals left waiting, beyond chance; 0: none */
    double full_s;                   /* fill_full_s: a tier filled while it was measured; NaN: none did */
    enum standing_flaw flaw;         /* of its figures: standing_run_flaw() */
    struct work work;                /* of its requests, in the mean */
};

/* The scenario and the settings that points are made from. */
struct sweep_base {
    const struct options *options;
    const char *path;         /* "-": standard input */
    char *yaml;               /* what is there */
    struct scenario scenario; /* with its sweep */
    struct sweep_plan plan;   /* profiles keys and rates */
};

struct sweep_line {   /* progress on standard error */
    const char *what; /* that goes on; NULL: "sweep" */
    struct progress_line line;
    bool quiet;
    uint64_t begin_ns, last_ns;
    size_t finished, running, total; /* total 0: not known beforehand */
    double share;                    /* of the point that runs alone, done */
    char best[200];
};

struct sweep_curves { /* profile miss_ratio: its points go by policy, then capacity */
    struct references references;
    enum kvf_tier tier;
    enum scenario_eviction policy[TRAITS_POLICIES];
    unsigned policies;
    uint64_t capacity[SCENARIO_SWEEP_CAPACITIES];
    unsigned capacities;
    double sample;
    struct sweep_curve *point; /* those that were done; malloc'd */
    size_t points;
};

struct sweep;
/* The parts that a study made of a sweep replaces; members may be NULL. */
struct sweep_study {
    const char *kind, *point; /* "suite" of "test", for the screen */
    const char *parting;      /* the screen's last word; NULL: the answer, or why it ended */
    /* Fills scenario, yaml and all else of a point's run that its settings do not give. */
    void (*run)(struct sweep *s, size_t i, struct session_run *run);
    /* Gets the record of a run that has ended, or could not begin, as failed; may keep it and leave an empty
     * one. Progress lines and complaints are then its own. */
    void (*took)(struct sweep *s, size_t i, struct run_record *run);
    void (*prepares)(void *sweep, const char *what, double share); /* as of a session */
    void (*interval)(void *sweep, const struct snapshot *snap);
    void (*head)(const struct sweep *s, struct board_head *h); /* over what the screen gets */
    void (*row)(const struct sweep *s, size_t i, struct board_row *r);
};

struct sweep {
    struct sweep_base base;
    const struct sweep_study *study; /* NULL: it is itself */
    const char *db;                  /* as given */
    bool keep_going, force, unstored;
    int reserve; /* of the database's disk; -1: none */
    unsigned jobs;
    struct sweep_point *point;
    size_t points;
    char metric[SWEEP_METRICS_MAX][64], unit[SWEEP_METRICS_MAX][12];
    bool known[SWEEP_METRICS_MAX]; /* some run had it, be it without a value */
    unsigned metrics;
    size_t baseline;      /* index of a point, or SIZE_MAX */
    bool baseline_varies; /* it is a variant, with all else like the point: */
    unsigned baseline_group;
    size_t baseline_variant;
    char baseline_name[80];                   /* of profile rates: a run of the database */
    double baseline_value[SWEEP_METRICS_MAX]; /* NaN: none */
    struct session *session;                  /* real mode */
    struct showing showing;                   /* its board NULL: nobody looks */
    struct board_row *row;                    /* by point, as the board has them */
    struct command_queue *commands;           /* of the screen, where points are processes */
    struct sweep_line line;
    struct sweep_record record;
    struct buf warnings; /* lines that stand below the table */
    struct sweep_curves curves;
    struct err failed; /* why the last run in this process could not begin; else empty */
    int signal;
    bool stopped;
};
/* Metrics on the board of a study whose points are not its subject, as a list. */
extern const char sweep_run_measures[];

/* ---- points (sweep_points.c) ---- */
/* Loads the scenario with the settings of the command line and prints errors; 0 or the exit status. */
int sweep_base_load(struct sweep_base *b, const char *path, const struct options *o);
/* Makes the plan of the loaded scenario. */
void sweep_base_plan(struct sweep_base *b);
/* Appends the dimensions in one line: "6 points: tiers.cpu.capacity (2) x workload.users (3)". */
void sweep_base_text(const struct sweep_base *b, struct buf *out);
void sweep_base_free(struct sweep_base *b);
/* The settings of point `i` of the plan, or of the search at `value`. Returns their number. */
unsigned sweep_settings(const struct sweep_base *b, uint64_t i, const char *value,
                        struct scenario_setting out[SWEEP_AXES_MAX]);
/* The scenario of a point; errors are added, a line each. */
bool sweep_point_load(const struct sweep_base *b, const struct scenario_setting *setting, unsigned count,
                      struct scenario *s, struct buf *errors);
/* Loads every point once. Each error is said with the first point that has it. How many errors. */
unsigned sweep_points_check(const struct sweep_base *b, struct buf *errors);
/* The load of a point of profile rates. */
void sweep_load_apply(const struct sweep_point *p, struct scenario *s);
/* The settings, or the load, as people read them, and as a JSON object. */
void sweep_label(const struct sweep *s, size_t i, struct buf *out);
void sweep_values_json(const struct sweep_base *b, const struct sweep_point *p, struct buf *out);
/* One more point, of the plan's number, which waits; its index. */
size_t sweep_point_add(struct sweep *s, uint64_t planned);

/* Whether the cache of a point goes by blocks. */
bool sweep_point_by_blocks(const struct sweep_base *b, const struct sweep_point *p);

/* ---- running (sweep_run.c, sweep_child.c) ---- */

struct sweep_face;

/* Loads, checks and runs a point in this process; `last` of the session's runs. 0 or a negative code: then
 * the record may be empty. */
int sweep_point_run(struct sweep *s, size_t point, struct session *session, bool last, struct run_record *run,
                    struct err *e);
/* Before the first and after the last point: the screen, the signals. 0 or a negative code. */
int sweep_run_begin(struct sweep *s, struct err *e);
void sweep_run_end(struct sweep *s);
/* Runs the points from..to - 1; ends early when s->stopped. */
void sweep_run(struct sweep *s, size_t from, size_t to);
/* The process of a point: makes its run, which can be seen through `face` or NULL, and writes what came out
 * to `fd`. Does not return. */
_Noreturn void sweep_child(struct sweep *s, size_t point, const struct sweep_face *face, int fd);
/* Reads the output of a point's process into the point. False if it is incomplete. */
bool sweep_child_result(struct sweep *s, size_t point, const void *data, size_t len);
/* Takes the measures of a run that has ended into the point. */
void sweep_point_take(struct sweep *s, size_t point, const struct run_record *run);
void sweep_point_fail(struct sweep *s, size_t point, const char *why);

/* ---- trials (sweep_trials.c) ---- */

/* Runs the scenario as often as its run.trials says, a simulation with seed, seed + 1 and so on, each a run
 * of its own below the first. `what` needs no parent, trial or row. Logs get "-trial2" before their
 * extension. `group` (zeroed) gets every trial, `run` is the last one; the caller frees both. Ends early when
 * session_stopped(), or when a trial could not start, which counts as a failed one. 0, or a negative code
 * when the first could not. */
int sweep_trials(struct session *session, const struct session_run *what, struct run_record *run,
                 struct trials *group, struct err *e);

/* ---- the record (sweep_record.c) ---- */

/* Describes the sweep, except in what its record has already, and stores the beginning. 0 or a negative code.
 */
int sweep_begin(struct sweep *s, struct err *e);
/* Counts its points and stores how it ended; `failed`, or NULL: what ended it. Then the screen stays until it
 * is left, and signals are as before. */
void sweep_end(struct sweep *s, const struct err *failed);
int sweep_exit_status(const struct sweep *s);
void sweep_free(struct sweep *s); /* what it owns, not itself */

/* ---- the screen (sweep_show.c) ---- */

/* Publishes the points there are, one that has changed, and the end. */
void sweep_show_points(struct sweep *s);
void sweep_show_point(struct sweep *s, size_t i);
void sweep_show_end(struct sweep *s);
/* A run that another process makes, as a screen here sees it: what it is, and memory that both have. NULL
 * when there is no screen, or nothing to see. */
struct sweep_face {
    struct run_record run;
    struct slot *slot;
    struct live *live;
    double whole_s, share;
    uint64_t version;
};
struct sweep_face *sweep_face_new(const struct sweep *s, size_t point);
void sweep_face_free(struct sweep_face *f);    /* takes NULL */
double sweep_face_share(struct sweep_face *f); /* done of the run */

/* ---- progress (sweep_line.c) ---- */
void sweep_line_begin(struct sweep *s, size_t total);
void sweep_line_tick(struct sweep *s);                /* rewrites it, some times a second */
void sweep_line_point(struct sweep *s, size_t point); /* a point has ended */
void sweep_line_end(struct sweep *s);

/* ---- profiles ---- */
void sweep_rates(struct sweep *s);                    /* fills points, runs them */
void sweep_capacity(struct sweep *s);                 /* the same; s->record.answer */
int sweep_miss_ratio(struct sweep *s, struct err *e); /* s->curves */
/* A point of it: what it is, and its part of the child's process. */
void sweep_curve_point(const struct sweep *s, size_t i, const char **policy, uint64_t *capacity);
enum run_status sweep_curve_child(const struct sweep *s, size_t point, struct run_record *run, char why[400]);
/* Table and chart. */
void sweep_curve_text(const struct sweep *s, const struct format_style *style, struct buf *out);
void sweep_curve_free(struct sweep_curves *c);
/* For `run`: the miss ratios of a scenario that asks for them, to stand behind its summary. 0 or the exit
 * status. */
int sweep_curve_after_run(const struct options *o, const struct scenario *sc, bool quiet,
                          const struct format_style *style, struct buf *out);
/* Usable cores. */
unsigned sweep_jobs(void);

/* ---- results (sweep_outcome.c) ---- */
/* The outcome of a sweep that has ended or is stored; outcome_free() it. */
void sweep_outcome(const struct sweep *s, struct outcome *out);
/* Of the scenario's model the models of the points, ", " between; it is among them where no axis always sets
 * another. */
void sweep_models(const struct sweep_plan *p, char *model, size_t len);
/* Its parts: what varies and against what, then each point. */
void sweep_outcome_begin(const struct sweep_base *b, struct outcome *out);
struct outcome_point *sweep_outcome_point(const struct sweep_base *b, const struct sweep_point *from,
                                          struct outcome *out);
/* One that the database has, by what stands behind "sweep:". outcome_init() first. 0 or a negative code. */
int sweep_stored(struct store *store, const char *ref, struct outcome *out, struct err *e);

#endif
