/* Shared by the files of the rig; no other file includes it. */
#ifndef KVF_STUDY_CALIBRATE_CALIBRATE_RIG_INSIDE_H
#define KVF_STUDY_CALIBRATE_CALIBRATE_RIG_INSIDE_H

#include <pthread.h>

#include "engine/move/transfer.h"
#include "study/calibrate/calibrate_pieces.h"
#include "study/calibrate/calibrate_rig.h"

struct rig_worker {
    struct rig *rig;
    pthread_t thread;
    bool started;
    uint32_t index;
    struct mover *mover;
    struct counters *counters;
    struct pieces set[RIG_SETS];
    uint32_t out, out_by[KVF_DIRS];
    uint64_t bytes; /* of this part of the window, as all below */
    uint64_t bytes_by[KVF_DIRS];
    uint64_t cpu_ns, all_cpu_ns; /* that these took; the worker's, with all that it did besides */
    uint64_t cpu_so_far_ns;      /* the same in all windows so far */
    uint64_t writes, chunks_beside;
    uint32_t turn;    /* among the workers whose entries it works on */
    bool ever;        /* an operation has begun */
    bool awake;       /* it has not rested yet */
    uint64_t work_ns; /* since then it works */
    struct err err;
};

struct rig {
    struct scenario scenario;
    enum kvf_tier which;
    struct tier *tiers[KVF_TIERS];
    struct run_clock clock;
    struct usage usage[USAGES];
    struct payload *payload;
    struct rig_worker *worker;
    uint32_t workers;
    pthread_barrier_t begin, end;
    bool barriers, device, pinned, closing;
    struct rig_window *window;
    uint64_t entry_bytes; /* in a store */
    uint64_t until_ns;
    pthread_mutex_t start_lock; /* held while workers are started */
    pthread_mutex_t times_lock;
    pthread_mutex_t places_lock; /* of the tier; a run has the cache's */
    const atomic_bool *stop;
    atomic_bool failed;
};

void *rig_worker_main(void *arg); /* a worker's thread, until r->closing */
/* 0, or the negative code and words of a failed worker, or of a stop. Between windows. */
int rig_error(struct rig *r, struct err *e);

#endif
