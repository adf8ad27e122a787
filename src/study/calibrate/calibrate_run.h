/* The scenario that will use a calibration, run for real and simulated with it. Windows measure each tier by
 * itself; in a run the tiers, the workers and the pauses between requests are in each other's way. How much
 * longer operations take there than simulated is found by simulating again and again, each time with the
 * figures adjusted by what the last simulation was off, so that the mean time of an operation and its P95 are
 * those of the run, by tier and direction (a stochastic approximation after Robbins and Monro, 1951, averaged
 * after Polyak and Juditsky, 1992). The calling thread, and a process of its own, which it waits for. */
#ifndef KVF_STUDY_CALIBRATE_CALIBRATE_RUN_H
#define KVF_STUDY_CALIBRATE_CALIBRATE_RUN_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/err.h"
#include "study/calibrate/calibration.h"
#include "study/options.h"
#include "study/showing.h"

/* Figures of the run and of the last simulation, to tell how near that comes. */
struct calibrate_run_end {
    double tok_s, e2e_mean_ms, e2e_p95_ms; /* NaN: missing */
};

struct calibrate_run {
    struct calibration_adjust adjust[KVF_TIERS]; /* 1: as measured, or too few operations to tell */
    struct calibrate_run_end real, simulated;
};

struct calibrate_run_setup {
    const struct options *options; /* settings and includes of the command line */
    const char *path;              /* of the scenario */
    const struct scenario *placed; /* whose directories and store the run uses */
    uint64_t time_ns;              /* measured part of the run */
    enum scenario_mode mode;       /* of the run: real; of a test's, simulated */
    bool measured[KVF_TIERS];      /* tiers with figures to adjust */
    bool channels[KVF_TIERS]; /* of these, served by channels: waiting for one is part of the device's time */
    struct showing *showing;
    const atomic_bool *stop; /* true: give up */
    void *ctx;
    /* Appends the calibration's file with the figures adjusted by `r`; called in the other process. */
    void (*file)(void *ctx, const struct calibrate_run *r, struct buf *out);
    void (*progress)(void *ctx, double share); /* some times a second */
};

/* Gives the scenario of a run the directories and the store of `placed`, and real mode. */
void calibrate_run_place(struct scenario *run, const struct scenario *placed);
void calibrate_run_init(struct calibrate_run *r); /* as measured, and no run made */
/* 0, -KVF_ERR_CANCELLED when stopped, or another negative code: the run did not complete. Nothing is stored.
 */
int calibrate_run(const struct calibrate_run_setup *setup, struct calibrate_run *out, struct err *e);

#endif
