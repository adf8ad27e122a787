/* What the tiers of this machine can do, measured through their backends alone: every worker streams over a
 * part of its own, write and read bandwidth are what all of them move, latency is that of a small read of
 * one worker with nothing else under way. A tier in device memory is read and written twice: by the device
 * itself, and over its link, from and to page-locked memory of the host. No cache, no requests; the caller's
 * thread, and its own. */
#ifndef KVF_ENGINE_CALIBRATE_H
#define KVF_ENGINE_CALIBRATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "scenario/scenario.h"

enum { CALIBRATE_LATENCY_BYTES = 4096 };

struct calibrate_setup {
    const struct scenario
        *scenario;           /* workers, io_size, io_depth, path, devices and backend are taken from it */
    uint64_t bytes;          /* of the tier, shared by the workers */
    uint64_t stream_ns;      /* of the filling, of writing and of reading, each; of the link too */
    uint64_t latency_ns;     /* of the small reads */
    const atomic_bool *stop; /* true: give up */
    void (*progress)(void *ctx, enum kvf_tier tier, const char *doing); /* may be NULL */
    void *ctx;
};

struct calibrate_result {
    double read_bytes_s, write_bytes_s; /* where the tier is, on a device by its kernels */
    double link_read_bytes_s,
        link_write_bytes_s; /* from and to the host's memory; the same where that is it */
    double latency_ns;      /* median, over the link */
    uint64_t filled_bytes;
    char description[200]; /* the backend's */
};

/* Opens the tier, fills it as far as the time allows, writes that again, reads it, and closes the tier,
 * which removes what it made. One worker is enough for a device, which has queues of its own. A tier that is
 * emulated has nothing to measure: -KVF_ERR_UNAVAILABLE, like one that cannot be used; -KVF_ERR_CANCELLED
 * when stopped. */
int calibrate_tier(const struct calibrate_setup *setup, enum kvf_tier tier, struct calibrate_result *out,
                   struct err *e);

#endif
