/* Saturation: how near a run is to its limit, 0 idle to 1 saturated. The one definition;
 * kvfall-autoscaler(7) states it for users.
 *
 *     saturation = sum of weight x signal / sum of weight, over the signals that are there
 *
 * Signals are per interval and lie between 0 and 1. A missing signal is excluded together with its weight, so
 * that a run without a block device does not look idle. Pure. */
#ifndef KVF_ENGINE_SCALE_SATURATION_H
#define KVF_ENGINE_SCALE_SATURATION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/terms.h"

struct saturation_class {
    double target_ms;      /* of P95; NaN: none */
    double p95_ms;         /* of the interval; NaN when nothing was completed */
    double oldest_wait_ms; /* of the requests waiting now; 0: none */
};

struct saturation_input {
    uint32_t classes;
    struct saturation_class klass[KVF_CLASSES_MAX];
    bool can_wait;                    /* there may be more requests than slots */
    uint64_t arrived;                 /* in the interval */
    uint64_t waiting_before, waiting; /* for a slot, at the interval's ends */
    uint64_t in_service;              /* at its end */
    double device_busy;               /* share of time of the block device; NaN: none */
    double outside;                   /* of those, mean number that wait to join a GPU's batch; NaN: none */
    double gpu_load;                  /* share of the modelled GPU's time (judge_gpu()); NaN: none */
    double link_busy[KVF_TIERS];      /* share of time of an emulated tier's channels; NaN: none */
    double weight_latency, weight_queue, weight_device;
};

struct saturation {
    double value;
    double latency; /* the worst class: P95 / target, at most 1. A class of which nothing was completed
                       counts with its oldest wait. NaN: no class has a target and something to say */
    double queue;   /* the larger of: how much of what arrived the queue has grown by; how much of what is
                       unfinished waits, for a slot or in it to join a GPU's batch. NaN: nothing can wait */
    double device;  /* the busiest of device, links and GPU; NaN: none */
};

/* value is NaN when every signal is missing or has no weight. */
struct saturation saturation_of(const struct saturation_input *in);

#endif
