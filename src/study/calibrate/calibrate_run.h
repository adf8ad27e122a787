/* Runs the scenario that will use a calibration, once for real and repeatedly simulated. Calibration windows
 * measure each tier in isolation; in a run, tiers, workers and idle times interact. The simulation is
 * repeated, and after each one the figures are adjusted by its error, until the mean and the P95 of an
 * operation match the run by tier and direction (stochastic approximation after Robbins and Monro, 1951,
 * averaged after Polyak and Juditsky, 1992); the round whose requests and operations are nearest stays. Runs
 * on the calling thread, which waits for a child process. */
#ifndef KVF_STUDY_CALIBRATE_CALIBRATE_RUN_H
#define KVF_STUDY_CALIBRATE_CALIBRATE_RUN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"
#include "study/calibrate/calibration.h"
#include "study/options.h"

/* Figures of the run and of the last simulation, to show the remaining error. */
struct calibrate_run_figures {
    double tok_s, e2e_mean_ms, e2e_p95_ms; /* NaN: missing; without tok_s there was no run */
    double op_mean_ms[KVF_TIERS][KVF_DIRS], op_p95_ms[KVF_TIERS][KVF_DIRS]; /* NaN: too few operations */
};

struct calibrate_run {
    struct calibration_adjust adjust[KVF_TIERS]; /* 1: unchanged, also with too few operations to tell */
    struct calibrate_run_figures real, simulated;
};

/* Time of it all, in parts of the measured part of the run; and of a first run for a store to warm up. */
#define CALIBRATE_RUN_WHOLE 1.4
#define CALIBRATE_RUN_AGAIN 1.2

/* Filled in by the child process, from the message it received. */
struct calibrate_run_setup {
    const struct options *options; /* settings and includes of the command line */
    const char *path;              /* of the scenario */
    const struct scenario *placed; /* its directories and store are used */
    uint64_t time_ns;              /* measured part of the run */
    enum scenario_mode mode;       /* real; simulate in tests */
    bool measured[KVF_TIERS];      /* tiers with figures to adjust */
    bool silent;                   /* a screen owns standard error */
    /* Appends the calibration file with the figures adjusted by `r`. */
    void (*file)(void *ctx, const struct calibrate_run *r, struct buf *out);
    void *ctx;
};

struct calibrate_run_process {
    pid_t pid; /* 0: none */
    int to, from;
};

/* Copies the directories and the store of `placed` into `run`, and sets real mode. */
void calibrate_run_place(struct scenario *run, const struct scenario *placed);
void calibrate_run_init(struct calibrate_run *r); /* no adjustment, no run yet */
/* Forks the process that will run the scenario. Call it before any thread is started and before any device is
 * opened: a CUDA context does not survive a fork. The child waits for `len` bytes, stores them in `message`
 * and calls `prepare` to fill in the setup. 0 or a negative code. */
int calibrate_run_fork(struct calibrate_run_process *p, void *message, size_t len,
                       int (*prepare)(void *ctx, struct calibrate_run_setup *out), void *ctx, struct err *e);
/* Sends `message`, waits for the result and ends the process. Calls `progress` several times a second, with
 * its share of `whole_ns`, and forwards a stop request. 0, -KVF_ERR_CANCELLED when stopped, or another
 * negative code if the run did not complete. Stores nothing. */
int calibrate_run(struct calibrate_run_process *p, const void *message, size_t len, double whole_ns,
                  const atomic_bool *stop, void (*progress)(void *ctx, double share), void *ctx,
                  struct calibrate_run *out, struct err *e);
/* Ends a process that has nothing to run. Takes one without a pid. */
void calibrate_run_end(struct calibrate_run_process *p);

#endif
