/* Runs, one after another: each from a loaded scenario to the record of its results, on the screen or with
 * lines of progress, stored in one database, stopped by one set of signals. Main thread only, before it has
 * started others. */
#ifndef KVF_STUDY_SESSION_H
#define KVF_STUDY_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "rank/rank.h"
#include "record/run.h"
#include "scenario/fit.h"
#include "scenario/scenario.h"
#include "study/metrics_server.h"
#include "study/showing.h"
#include "ui/ui.h"

struct session_setup {              /* the same for all runs; texts must outlive the session */
    const char *db;                 /* a path, "none", or NULL for the usual place */
    bool headless;                  /* no screen, even on a terminal */
    bool keep_going;                /* errors of operations do not fail a run */
    bool quiet;                     /* no progress on standard error */
    struct metrics_server *metrics; /* serves the runs, and is closed after them; NULL: none */
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
    const struct fit *fit;   /* the changes of scaling, or NULL; become events of the run */
    const char *fit_by;      /* the command that scaled; NULL: --fit, in session_check() */
    size_t row;              /* of the study's board */
    bool last;               /* its screen stays after the end until a key is pressed */
};

/* A session that refers to `setup`, which outlives it; the program ends when memory is exhausted. */
struct session *session_new(const struct session_setup *setup);
void session_free(struct session *s); /* takes NULL */
const struct session_setup *session_given(const struct session *s);
/* Takes over the signals and opens the study's screen, before the first run. 0 or a negative code. */
int session_show(struct session *s, struct err *e);

/* Checks that the scenario can run here and now: paths (removing what dead runs left), memory and disk unless
 * `force`, the trace. With `fit` (may be NULL) it is scaled to this machine first. Resolves every `auto` and
 * creates nothing. 0, or a negative code, with which a command ends with status 2. */
int session_check(struct scenario *scenario, bool force, struct fit *fit, struct err *e);

/* Runs to the end and returns when the run is stored and its screen is left. `run` need not be initialised;
 * the caller frees it in any case. The first run takes over the signals and opens the database. 0:
 * run->status tells how it ended. -KVF_ERR_CANCELLED: session_stopped() before it began, and nothing was
 * created. Other negative codes: the database refused it, or it could not start and is stored as failed. */
int session_run(struct session *s, const struct session_run *what, struct run_record *run, struct err *e);
/* The name of one of several logs: "ops.csv.zst" becomes "ops-trial2.csv.zst" for "trial" and 2; a path that
 * is not an ordinary file is unchanged. The caller frees it; NULL for NULL. */
char *session_numbered_file(const char *path, const char *of, unsigned number);
/* Whether no further run is wanted: a signal came, or a run was stopped by hand. */
bool session_stopped(const struct session *s);
/* After the last run: closes the metrics server and restores the signals. Returns the signal that asked for
 * the end, or 0. */
int session_end(struct session *s);
/* Whether results of a run are missing in the database that they were for. */
bool session_unstored(const struct session *s);
/* After the last run, before anything is written to the standard streams: prints what was held back behind a
 * screen. Its terminal then has ten seconds to take all further output, or the program ends with `status`. */
void session_release(struct session *s, int status);

#endif
