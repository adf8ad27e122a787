/* Runs, one after another: each from a loaded scenario to the record of what came out, on the screen or
 * with lines of progress, stored in one database, stopped by one set of signals. All functions: the main
 * thread alone, before it has started others. */
#ifndef KVF_STUDY_SESSION_H
#define KVF_STUDY_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "rank/rank.h"
#include "record/run.h"
#include "record/trials.h"
#include "scenario/fit.h"
#include "scenario/scenario.h"
#include "study/metrics_server.h"
#include "study/showing.h"
#include "ui/ui.h"

struct session_setup {              /* the same for all runs; texts must outlive the session */
    const char *db;                 /* a path, "none", or NULL for the usual place */
    bool headless;                  /* no screen, although standard output is a terminal that can show it */
    bool keep_going;                /* errors of operations do not fail a run */
    bool quiet;                     /* no progress on standard error */
    struct metrics_server *metrics; /* tells of the runs, and is closed after them; NULL: none */
    uint64_t start_at_ns;           /* wall clock of the start, since the epoch; 0: when prepared */
    struct rank *rank;              /* this one of several that share the runs; NULL: alone */
    struct ui_setup look;           /* output_screen_style(), fd and at_s; the rest is filled in */
    struct showing *showing;        /* of the study that the runs are of; NULL: each has its own screen */
    struct slot *slot;              /* for snapshots; NULL: one of its own */
    struct windows *windows;        /* likewise, of a run without a screen here; NULL: none */
    /* The caller's own progress instead of the usual lines where there is no screen; told on the
     * engine's control thread. Both NULL: the usual lines. */
    void (*on_prepare)(void *ctx, const char *what, double share);
    void (*on_interval)(void *ctx, const struct snapshot *snap);
    void *ctx;
};

struct session_run {                 /* one run; texts are copied */
    const struct scenario *scenario; /* as session_check() has left it; the run has its name */
    const char *yaml;                /* as given; "" for the built-in */
    int64_t parent_id;               /* run that it belongs to; 0: none */
    uint32_t trial;                  /* from 1; 0: no trials */
    int64_t sweep_id;                /* sweep that it is a point of; 0: none */
    uint32_t sweep_point;            /* from 1 */
    const char *sweep_values;        /* what the point has, a JSON object; NULL: none */
    const char *io_trace;            /* paths or NULL */
    const char *request_log;
    const char *verify_dump; /* a directory, for the engine; NULL: none */
    const struct fit *fit;   /* what was scaled, or NULL; events of the run */
    const char *fit_by;      /* who scaled; NULL: --fit, in session_check() */
    size_t row;              /* of the study's board */
    bool last;               /* its screen stays until somebody has seen how it ended */
};

/* A session that refers to `setup`, which outlives it; the program ends when memory is exhausted. */
struct session *session_new(const struct session_setup *setup);
void session_free(struct session *s); /* takes NULL */
/* Takes over the signals and opens the study's screen, before the first run. 0 or a negative code. */
int session_show(struct session *s, struct err *e);

/* Whether the scenario can be run here and now: paths (what dead runs left there is removed), memory and
 * disk unless `force`, the trace. With `fit`, which may be NULL, it is scaled to this machine first.
 * Resolves what is auto. Makes nothing. 0 or a negative code; a command that is refused so ends with
 * status 2. */
int session_check(struct scenario *scenario, bool force, struct fit *fit, struct err *e);

/* Runs to the end and returns when it is stored and its screen is left. `run` need not be initialised and
 * is the caller's to free whatever is returned. The first run takes over the signals and opens the
 * database. 0: run->status says how it ended; negative: the database refused it, or it could not start,
 * which is then stored as failed; -KVF_ERR_CANCELLED: session_stopped() before it began, nothing made. */
int session_run(struct session *s, const struct session_run *what, struct run_record *run, struct err *e);

/* Runs the scenario as often as its run.trials says, a simulation with seed, seed + 1 and so on, each a run
 * of its own below the first. `what` needs no parent, trial or last. Logs get "-trial2" before their
 * extension. `group` (zeroed) gets every trial, `run` is the last one. Ends early when session_stopped(), or
 * when a trial could not start, which counts as a failed one; negative only when the first could not. Without
 * trials it is session_run() and `group` stays empty. */
int session_repeat(struct session *s, const struct session_run *what, struct run_record *run,
                   struct trials *group, struct err *e);
/* The name of a log of several: "ops.csv.zst" is "ops-trial2.csv.zst" for "trial" and 2; what is no ordinary
 * file stays as it is. malloc'd; NULL for NULL. */
char *session_numbered_file(const char *path, const char *of, unsigned number);

/* Whether somebody wants no further run: a signal, or a run that was stopped by hand. */
bool session_stopped(const struct session *s);

/* After the last run: closes the server of metrics and gives the signals back. The one that asked for the
 * end, or 0. */
int session_end(struct session *s);
/* Whether the results of any run have not reached the database that they were for. */
bool session_unstored(const struct session *s);

/* Before anything is written to the standard streams after the last run: lets out what was held back
 * behind a screen. The terminal that it was on gets ten seconds to take all that follows, then the
 * program ends with `status`. */
void session_release(struct session *s, int status);

#endif
