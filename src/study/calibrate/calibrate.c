#include "study/calibrate/calibrate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/units.h"
#include "engine/move/crew.h"
#include "engine/move/transfer.h"
#include "metrics/histogram.h"
#include "metrics/statistics.h"
#include "record/snapshot.h"
#include "study/calibrate/calibrate_others.h"
#include "study/calibrate/calibrate_rig.h"
#include "study/calibrate/calibrate_stalls.h"
#include "tier/station.h"

enum {
    FILL_SHARE = 5,    /* one part of so many of the time is for filling */
    ALONE_SHARE = 4,   /* and of that for writing one entry at a time */
    SUBSLICES = 8,     /* quantiles of a slice whose mean stands for it */
    MOST_DIRECT = 512, /* chunks of copies over a link */
    REUSE_PART = 4,    /* the greatest distance is one of so many parts of the memory at most */
    WORK_TIMES = 4,    /* a worker in memory works so many times as long as it is slow */
    SHIFTS = 8,        /* of workers in a window of memory, at most */
    OTHERS = 12,       /* windows of a round beside those of the curves, at most */
    STORE_OTHERS = 2   /* likewise, of a store */
};
enum beside { ALONE, BESIDE, BESIDES };
#define REUSE_FIRST   (4 * KVF_MIB)
#define REST_NS       (2 * STATION_REST_NS)
#define RESTED_LEAST  0.01
#define RESTED_MOST   1000.0
#define LATENCY_LEAST 0.1 /* of an operation's time is moving at least */

/* How long beginnings of writes took. */
struct begins {
    struct histogram ns;
    double chunks; /* at the drive then, summed */
};

struct calibration {
    const struct calibrate_setup *setup;
    struct calibrate_result *out;
    enum kvf_tier tier;
    struct rig *rig;
    uint64_t window_ns;
    double samples[2][KVF_DIRS][CALIBRATE_DEPTHS][CALIBRATE_ROUNDS], both[CALIBRATE_ROUNDS]; /* bytes/s */
    double worker_ns[KVF_DIRS][CALIBRATE_ROUNDS];
    double beside[KVF_DIRS][CALIBRATE_ROUNDS],
        crowd[KVF_DIRS][CALIBRATE_ROUNDS]; /* of both by direction: bytes/s; chunks to a chunk of the other */
    double reuse[CALIBRATE_DISTANCES][CALIBRATE_ROUNDS];    /* speeds in parts */
    double filling;                                         /* whole entries written for the first time, .. */
    double over[CALIBRATE_ROUNDS], again[CALIBRATE_ROUNDS]; /* .. in their place, and to another's */
    struct histogram times[KVF_DIRS], awake[KVF_DIRS], rested[KVF_DIRS], small[2], ignored[KVF_DIRS], copies;
    struct histogram lookups, lookups_behind; /* alone, and at the greatest depth */
    struct histogram bursts[2],
        woken; /* of small operations in a device's own memory: bursts without and after rests */
    struct begins begins[CALIBRATE_ROOMS][BESIDES];
    struct usage_sums use;  /* of windows in which stalls can be seen */
    unsigned windows, done; /* of the rounds, about; those that are over */
};

static void say(const struct calibration *c, const char *doing) {
    double share = c->windows > 0 ? 1.0 / FILL_SHARE + (1 - 1.0 / FILL_SHARE) * c->done / c->windows : 0;
    if (c->setup->progress) c->setup->progress(c->setup->ctx, c->tier, doing, fmin(share, 1));
}

static void window_over(struct calibration *c) {
    if (c->windows > 0) c->done++;
    say(c, NULL);
}

static int window_run(struct calibration *c, struct rig_window *w, struct err *e) {
    int rc = rig_run(c->rig, w, e);
    if (w->watched) usage_add(&c->use, &w->use);
    window_over(c);
    return rc;
}

/* ---- depths ---- */

/* Of a store, which has few connections, closer to each other. */
static void depths_set(struct calibrate_curve *curve, uint64_t most, bool store) {
    static const uint64_t depths[2][5] = {{1, 2, 8, 32, UINT64_MAX}, {1, 2, 4, 8, UINT64_MAX}};
    if (most == 0) return;
    for (size_t i = 0; i < sizeof depths[0] / sizeof *depths[0]; i++) {
        uint64_t d = kvf_min(depths[store][i], most);
        if (curve->points > 0 && curve->depth[curve->points - 1] == d) return;
        curve->depth[curve->points++] = d;
    }
}

/* How many chunks a run can have under way at the tier. */
static uint64_t most_of(const struct calibration *c) {
    const struct scenario *s = c->setup->scenario;
    uint64_t most = s->engine.workers * mover_buffers(s);
    if (c->tier == KVF_TIER_CPU) return s->engine.workers;
    if (rig_has_values(c->rig)) return kvf_max(s->remote.connections, s->engine.workers);
    return rig_is_device(c->rig) && most > MOST_DIRECT ? MOST_DIRECT : most;
}

static void curve_begin(struct calibration *c, struct calibrate_curve *curve, enum rig_set set,
                        uint64_t most) {
    uint64_t entries = rig_entries(c->rig, set, &curve->entry_bytes);
    depths_set(curve, kvf_min(entries, most), rig_has_values(c->rig));
}

/* ---- windows ---- */

/* Runs a window in which writes begin in such room, with others or without. */
static int begins_run(struct calibration *c, struct rig_window *w, enum calibrate_room room,
                      enum beside beside, struct err *e) {
    struct begins *b = &c->begins[room][beside];
    uint64_t before = histogram_count(&b->ns);
    w->begins = &b->ns;
    int rc = window_run(c, w, e);
    b->chunks += w->chunks_beside * (double)(histogram_count(&b->ns) - before);
    return rc;
}

/* Two to a worker keep its queue full while one ends. */
static uint32_t fill_depth(const struct calibration *c) {
    return 2 * (uint32_t)c->setup->scenario->engine.workers;
}

static int fill(struct calibration *c, enum rig_set set, enum rig_kind kind, struct err *e) {
    struct rig_window w = {.kind = kind,
                           .set = set,
                           .depth = set == RIG_WHOLES ? fill_depth(c) : (uint32_t)most_of(c),
                           .once = true,
                           .ns = c->setup->time_ns / FILL_SHARE};
    if (w.depth < c->setup->scenario->engine.workers) w.depth = (uint32_t)c->setup->scenario->engine.workers;
    return window_run(c, &w, e);
}

/* Whole entries of a drive, first one at a time, then as many as keep it busy. */
static int fill_wholes(struct calibration *c, struct err *e) {
    uint64_t ns = c->setup->time_ns / FILL_SHARE;
    struct rig_window alone = {
        .kind = RIG_WRITE, .set = RIG_WHOLES, .depth = 1, .once = true, .ns = ns / ALONE_SHARE};
    struct rig_window rest = {.kind = RIG_WRITE,
                              .set = RIG_WHOLES,
                              .depth = fill_depth(c),
                              .once = true,
                              .on = true,
                              .by_tier = true,
                              .ns = ns - ns / ALONE_SHARE};
    int rc = begins_run(c, &alone, CALIBRATE_FIRST, ALONE, e);
    if (rc == 0) rc = begins_run(c, &rest, CALIBRATE_FIRST, BESIDE, e);
    c->filling = rest.bytes_s;
    return rc;
}

static int fill_all(struct calibration *c, struct err *e) {
    bool drive = rig_is_drive(c->rig);
    say(c, "filling");
    int rc = fill(c, RIG_SMALL, RIG_WRITE, e);
    if (rc == 0) rc = drive ? fill_wholes(c, e) : fill(c, RIG_WHOLES, RIG_WRITE, e);
    if (rc == 0) rc = fill(c, RIG_CHUNKS, RIG_WRITE, e);
    if (rc == 0 && rig_is_device(c->rig)) rc = fill(c, RIG_SMALL, RIG_OUT, e);
    if (rc == 0 && rig_is_device(c->rig)) rc = fill(c, RIG_CHUNKS, RIG_OUT, e);
    return rc;
}

/* The kind of window that moves entries in a direction: inside the tier, or over a device's link. */
static enum rig_kind kind_of(const struct calibration *c, bool own, enum kvf_dir dir) {
    bool copies = rig_is_device(c->rig) && !own;
    return dir == KVF_DIR_READ ? (copies ? RIG_OUT : RIG_READ) : copies ? RIG_IN : RIG_WRITE;
}

/* A window of memory in parts, of which each has other workers at work: processors differ. A part is at least
 * so long. */
static int shifts_run(struct calibration *c, struct rig_window *w, unsigned round, uint64_t least_ns,
                      struct err *e) {
    uint32_t workers = rig_workers(c->rig), shifts = workers / (w->depth < workers ? w->depth : workers);
    double bytes_s = 0;
    int rc = 0;
    if (shifts > SHIFTS) shifts = SHIFTS;
    w->ns = kvf_max(w->ns / shifts, least_ns);
    for (uint32_t i = 0; i < shifts && rc == 0; i++) {
        w->first = (round * shifts + i) * w->depth;
        rc = rig_run(c->rig, w, e);
        bytes_s += w->bytes_s / shifts;
    }
    w->bytes_s = bytes_s;
    window_over(c);
    return rc;
}

static int measure_curve(struct calibration *c, bool own, unsigned round, struct err *e) {
    const struct calibrate_curve *curve = own ? &c->out->own : &c->out->link;
    int rc = 0;
    for (uint32_t p = 0; p < curve->points; p++)
        for (int d = 0; d < KVF_DIRS && rc == 0; d++) {
            struct rig_window w = {.kind = kind_of(c, own, (enum kvf_dir)d),
                                   .set = own ? RIG_WHOLES : RIG_CHUNKS,
                                   .depth = (uint32_t)curve->depth[p],
                                   .ns = c->window_ns,
                                   .by_processor = c->tier == KVF_TIER_CPU,
                                   .lookups = p + 1 == curve->points ? &c->lookups_behind : NULL,
                                   .times = p == 0 && !own && !rig_is_drive(c->rig) ? c->times : NULL};
            rc = c->tier == KVF_TIER_CPU ? shifts_run(c, &w, round, 0, e) : window_run(c, &w, e);
            c->samples[own][d][p][round] = w.bytes_s;
            c->worker_ns[d][round] = w.worker_ns; /* that of the greatest depth stays */
        }
    return rc;
}

/* Of a drive whole entries, as runs read and write them beside each other. */
static int measure_both(struct calibration *c, unsigned round, struct err *e) {
    const struct calibrate_curve *curve = &c->out->link;
    bool drive = rig_is_drive(c->rig);
    struct rig_window w = {.kind = rig_is_device(c->rig) ? RIG_BOTH : RIG_MIXED,
                           .set = drive ? RIG_WHOLES : RIG_CHUNKS,
                           .depth = drive ? fill_depth(c) : (uint32_t)curve->depth[curve->points - 1],
                           .ns = c->window_ns,
                           .recycle = drive,
                           .by_tier = drive,
                           .by_direction = rig_has_values(c->rig),
                           .by_processor = c->tier == KVF_TIER_CPU};
    int rc = drive ? begins_run(c, &w, CALIBRATE_AGAIN, BESIDE, e) : window_run(c, &w, e);
    c->both[round] = w.bytes_s;
    for (int d = 0; d < KVF_DIRS; d++) {
        c->beside[d][round] = w.dir_bytes_s[d];
        c->crowd[d][round] = w.chunks[!d] > 0 ? w.chunks[d] / w.chunks[!d] : 0;
    }
    return rc;
}

/* Service times of whole-entry operations, one at a time, one after the other and with rests between them.
 * The chunks of an entry are fast or slow together. */
static int measure_times(struct calibration *c, struct err *e) {
    int rc = 0;
    for (int d = 0; d < 2 * KVF_DIRS && rc == 0; d++) {
        bool rests = d >= KVF_DIRS;
        struct rig_window w = {.kind = kind_of(c, true, (enum kvf_dir)(d % KVF_DIRS)),
                               .set = RIG_WHOLES,
                               .depth = 1,
                               .ns = c->window_ns,
                               .recycle = true,
                               .rest_ns = rests ? REST_NS : 0,
                               .times = rests ? c->rested : c->times};
        rc = begins_run(c, &w, CALIBRATE_AGAIN, ALONE, e);
    }
    return rc;
}

/* Copies of a worker that works for a while and then rests, and again: of the time after a rest beside those
 * of the time that follows. */
static int measure_rested(struct calibration *c, unsigned round, struct err *e) {
    int rc = 0;
    for (int d = 0; d < KVF_DIRS && rc == 0; d++) {
        struct rig_window w = {.kind = kind_of(c, false, (enum kvf_dir)d),
                               .set = RIG_CHUNKS,
                               .depth = 1,
                               .ns = c->window_ns,
                               .by_processor = true,
                               .rest_ns = CREW_REST_NS + CREW_SLOW_NS,
                               .work_ns = WORK_TIMES * CREW_SLOW_NS,
                               .slow_ns = CREW_SLOW_NS,
                               .times = c->awake,
                               .rested = c->rested};
        rc = shifts_run(c, &w, round, w.rest_ns + 2 * w.work_ns, e);
    }
    return rc;
}

/* Reads of a few MiB again and again, beside those of all memory: what a processor's caches make of reading
 * an entry soon after it was copied. */
static int measure_reuse(struct calibration *c, unsigned round, struct err *e) {
    const struct calibrate_curve *curve = &c->out->link;
    double far = c->samples[0][KVF_DIR_READ][curve->points - 1][round];
    int rc = 0;
    for (uint32_t i = 0; i < c->out->distances && rc == 0; i++) {
        struct rig_window w = {.kind = RIG_READ,
                               .set = RIG_CHUNKS,
                               .depth = (uint32_t)curve->depth[curve->points - 1],
                               .within = c->out->distance[i],
                               .ns = c->window_ns,
                               .by_processor = true};
        rc = window_run(c, &w, e);
        c->reuse[i][round] = far > 0 ? w.bytes_s / far : 1;
    }
    return rc;
}

/* From one chunk for each worker on, in steps of two, and far less than all. */
static void distances_set(struct calibration *c) {
    const struct calibrate_curve *curve = &c->out->link;
    uint64_t all = rig_filled_bytes(c->rig), first = curve->entry_bytes * rig_workers(c->rig),
             bytes = REUSE_FIRST;
    while (bytes < first) bytes *= 2;
    for (; c->out->distances < CALIBRATE_DISTANCES && bytes <= all / REUSE_PART; bytes *= 2)
        c->out->distance[c->out->distances++] = bytes;
}

/* Entries from memory to the drive, which has to have them in memory first. */
static int measure_copies(struct calibration *c, struct err *e) {
    struct rig_window out = {.kind = RIG_OUT,
                             .set = RIG_WHOLES,
                             .depth = fill_depth(c),
                             .once = true,
                             .ns = c->setup->time_ns / FILL_SHARE};
    struct rig_window in = {
        .kind = RIG_IN, .set = RIG_WHOLES, .depth = fill_depth(c), .ns = c->window_ns, .copies = &c->copies};
    int rc = window_run(c, &out, e);
    return rc == 0 ? window_run(c, &in, e) : rc;
}

/* Whole entries written over, and those of other sizes in their stead, as many at a time as when they were
 * written first. */
static int measure_again(struct calibration *c, unsigned round, struct err *e) {
    int rc = 0;
    for (int recycle = 0; recycle < 2 && rc == 0; recycle++) {
        struct rig_window w = {.kind = RIG_WRITE,
                               .set = RIG_WHOLES,
                               .depth = fill_depth(c),
                               .ns = c->window_ns,
                               .recycle = recycle,
                               .by_tier = true};
        rc = recycle ? begins_run(c, &w, CALIBRATE_AGAIN, BESIDE, e) : window_run(c, &w, e);
        *(recycle ? &c->again[round] : &c->over[round]) = w.bytes_s;
    }
    return rc;
}

/* Adds to `out` what small reads took, in a device's own memory or over its link. */
static int small_run(struct calibration *c, bool own, struct rig_window *w, struct histogram *out,
                     struct err *e) {
    for (int d = 0; d < KVF_DIRS; d++) histogram_init(&c->ignored[d]);
    w->kind = kind_of(c, own, KVF_DIR_READ);
    w->set = RIG_SMALL;
    w->ns = c->window_ns;
    w->times = c->ignored;
    int rc = window_run(c, w, e);
    histogram_add(out, &c->ignored[KVF_DIR_READ]);
    return rc;
}

static int measure_small(struct calibration *c, bool own, struct err *e) {
    return small_run(c, own, &(struct rig_window){.depth = 1, .lookups = &c->lookups}, &c->small[own], e);
}

/* Small operations that one worker hands over together, and one, both after rests and without. */
static int measure_woken(struct calibration *c, struct err *e) {
    int rc = 0;
    for (int rests = 0; rests < 2 && rc == 0; rests++) {
        struct rig_window burst = {
            .depth = RIG_SMALLS, .alone = true, .bursts = true, .rest_ns = rests ? CREW_REST_NS : 0};
        struct rig_window one = {.depth = 1, .rest_ns = CREW_REST_NS};
        rc = small_run(c, true, &burst, &c->bursts[rests], e);
        if (rc == 0 && rests) rc = small_run(c, true, &one, &c->woken, e);
    }
    return rc;
}

static int measure_rounds(struct calibration *c, struct err *e) {
    static const char *const rounds[CALIBRATE_ROUNDS] = {"round 1 of", "round 2 of", "round 3 of"};
    bool device = rig_is_device(c->rig);
    int rc = 0;
    for (unsigned r = 0; r < CALIBRATE_ROUNDS && rc == 0; r++) {
        say(c, rounds[r]);
        rc = measure_curve(c, false, r, e);
        if (rc == 0) rc = measure_both(c, r, e);
        if (rc == 0) rc = measure_small(c, false, e);
        if (rc == 0 && c->tier == KVF_TIER_CPU) rc = measure_reuse(c, r, e);
        if (rc == 0 && c->tier == KVF_TIER_CPU) rc = measure_rested(c, r, e);
        if (rc == 0 && rig_is_drive(c->rig)) rc = measure_again(c, r, e);
        if (rc == 0 && rig_is_drive(c->rig)) rc = measure_times(c, e);
        if (rc == 0 && rig_is_drive(c->rig)) rc = measure_copies(c, e);
        if (rc == 0 && device) rc = measure_curve(c, true, r, e);
        if (rc == 0 && device) rc = measure_small(c, true, e);
        if (rc == 0 && device) rc = measure_woken(c, e);
    }
    return rc;
}

/* ---- figures ---- */

static struct calibrate_rate rate_of(double samples[CALIBRATE_ROUNDS]) {
    qsort(samples, CALIBRATE_ROUNDS, sizeof *samples, statistics_order);
    return (struct calibrate_rate){samples[CALIBRATE_ROUNDS / 2], samples[0], samples[CALIBRATE_ROUNDS - 1]};
}

/* Means; returns that of all. Of an empty one 0. */
static double slices_of(const struct histogram *h, double out[CALIBRATE_SLICES]) {
    double sum = 0;
    for (int i = 0; i < CALIBRATE_SLICES; i++) {
        out[i] = 0;
        for (int k = 0; k < SUBSLICES && histogram_count(h) > 0; k++)
            out[i] += histogram_quantile(h, (i + (k + 0.5) / SUBSLICES) / CALIBRATE_SLICES) / SUBSLICES;
        sum += out[i];
    }
    return sum / CALIBRATE_SLICES;
}

double calibrate_spread(const struct histogram *h, double out[CALIBRATE_SLICES]) {
    double mean = slices_of(h, out);
    for (int i = 0; i < CALIBRATE_SLICES; i++) out[i] = mean > 0 ? out[i] / mean : 1;
    return mean;
}

/* A beginning as long as a stall met one that was not seen, and takes as long as the longest other. */
static void stalls_cut(double slice[CALIBRATE_SLICES]) {
    double longest = 0;
    for (int i = 0; i < CALIBRATE_SLICES; i++) {
        if (usage_is_stall((uint64_t)slice[i], slice[CALIBRATE_SLICES / 2])) slice[i] = longest;
        longest = slice[i];
    }
}

/* A beginning that has to wait for the drive takes longer the more is there. */
static void begins_of(struct calibration *c, enum calibrate_room room) {
    const struct begins *alone = &c->begins[room][ALONE], *beside = &c->begins[room][BESIDE];
    double at = histogram_count(&beside->ns) ? beside->chunks / (double)histogram_count(&beside->ns) : 0;
    double *begin = c->out->begin_ns[room], *behind = c->out->behind_ns[room];
    slices_of(&alone->ns, begin);
    slices_of(&beside->ns, behind);
    stalls_cut(begin);
    stalls_cut(behind);
    for (int i = 0; i < CALIBRATE_SLICES; i++) behind[i] = fmax(behind[i] - begin[i], 0) / fmax(at, 1);
    c->out->begin_depth[room] = fmax(at, 1);
}

static void rate_times(struct calibrate_rate *r, double times) {
    r->median *= times;
    r->low *= times;
    r->high *= times;
}

/* The windows of a drive's curve write over what is there, and a run writes to places of other sizes. */
static void recycled(struct calibration *c) {
    struct calibrate_curve *curve = &c->out->link;
    double again = rate_of(c->again).median, over = rate_of(c->over).median;
    if (!(again > 0) || !(over > 0)) return;
    for (uint32_t p = 0; p < curve->points; p++) rate_times(&curve->rate[KVF_DIR_WRITE][p], again / over);
}

/* n chunks of a direction beside m of the other move as n / (n + interference x m) of what they move alone
 * (tier/station.h).
 */
static double interference_of(struct calibration *c, enum kvf_dir dir) {
    const struct calibrate_curve *curve = &c->out->link;
    double alone = curve->points > 0 ? curve->rate[dir][curve->points - 1].median : 0;
    double beside = rate_of(c->beside[dir]).median, crowd = rate_of(c->crowd[dir]).median;
    if (!rig_is_drive(c->rig) || !(beside > 0) || !(crowd > 0) || !(alone > 0)) return -1;
    return fmax(alone / beside - 1, 0) * crowd;
}

/* The operations of a burst end one after the other, and their mean is later than the first by half of the
 * way to the last. */
static double gap_of(const struct histogram *burst, const struct histogram *alone) {
    double later = histogram_quantile(burst, 0.5) - histogram_quantile(alone, 0.5);
    return fmax(later, 0) * 2 / (RIG_SMALLS - 1);
}

static void device_figures(struct calibration *c) {
    const struct histogram *alone = &c->small[true];
    struct calibrate_result *out = c->out;
    double gap = gap_of(&c->bursts[0], alone);
    double latency = histogram_quantile(&c->woken, 0.5) / fmax(histogram_quantile(alone, 0.5), 1);
    out->own.latency_ns = calibrate_spread(alone, out->own_spread);
    out->own.gap_ns = gap;
    out->woken_latency = fmin(fmax(latency, 1), RESTED_MOST);
    out->woken_gap = fmin(fmax(gap_of(&c->bursts[1], &c->woken) / fmax(gap, 1), 1), RESTED_MOST);
}

static void lookup_figures(const struct calibration *c, struct calibrate_curve *curve) {
    double others = (double)curve->depth[curve->points - 1] - 1;
    curve->lookup_ns = histogram_quantile(&c->lookups, 0.5);
    if (histogram_count(&c->lookups_behind) > 0 && others > 0)
        curve->lookup_behind_ns =
            fmax(histogram_mean(&c->lookups_behind) - histogram_mean(&c->lookups), 0) / others;
}

static void figures_of(struct calibration *c) {
    struct calibrate_result *out = c->out;
    for (int own = 0; own < 2; own++) {
        struct calibrate_curve *curve = own ? &out->own : &out->link;
        for (int d = 0; d < KVF_DIRS; d++)
            for (uint32_t p = 0; p < curve->points; p++) curve->rate[d][p] = rate_of(c->samples[own][d][p]);
        curve->latency_ns = curve->points ? histogram_quantile(&c->small[own], 0.5) : 0;
    }
    if (out->own.points) device_figures(c);
    if (histogram_count(&c->lookups) > 0) lookup_figures(c, &out->link);
    out->drive = rig_is_drive(c->rig);
    out->both = rate_of(c->both);
    for (int d = 0; d < KVF_DIRS && rig_has_values(c->rig); d++)
        out->worker_ns[d] = rate_of(c->worker_ns[d]).median;
    if (rig_is_drive(c->rig)) recycled(c);
    for (int d = 0; d < KVF_DIRS; d++) out->interference[d] = interference_of(c, (enum kvf_dir)d);
    for (int d = 0; d < KVF_DIRS; d++) {
        calibrate_spread(&c->times[d], out->spread[d]);
        const struct histogram *other = c->tier == KVF_TIER_CPU ? &c->awake[d] : &c->times[d];
        double ratio = histogram_mean(&c->rested[d]) / histogram_mean(other);
        /* none of one, or of both: not told; as far apart as a scenario takes it */
        out->rested[d] = isfinite(ratio) && ratio > 0 ? fmin(fmax(ratio, RESTED_LEAST), RESTED_MOST) : 1;
    }
    for (int room = 0; room < CALIBRATE_ROOMS; room++) begins_of(c, (enum calibrate_room)room);
    if (histogram_count(&c->copies) > 0)
        out->staging_bytes_s = (double)KVF_MIB * 1e9 / fmax(histogram_quantile(&c->copies, 0.5), 1);
    out->first_write = c->filling > 0 && rig_is_drive(c->rig) ? rate_of(c->again).median / c->filling : 1;
    for (uint32_t i = 0; i < out->distances; i++)
        out->reuse[i] = fmin(fmax(rate_of(c->reuse[i]).median, RESTED_LEAST), RESTED_MOST);
    calibrate_stalls(&c->use, &out->stalls);
    out->filled_bytes = rig_filled_bytes(c->rig);
}

/* ---- all ---- */

static int measure_all(struct calibration *c, struct err *e) {
    uint64_t entry_bytes;
    struct calibrate_counts before, after;
    int rc = fill_all(c, e);
    if (rc) return rc;
    calibrate_count(c->setup->scenario, c->tier, c->rig, &before);
    bool device = rig_is_device(c->rig);
    curve_begin(c, &c->out->link, RIG_CHUNKS, most_of(c));
    uint64_t wholes = rig_entries(c->rig, RIG_WHOLES, &entry_bytes);
    if (device && wholes > 0) curve_begin(c, &c->out->own, RIG_WHOLES, 32);
    if (c->tier == KVF_TIER_CPU) distances_set(c);
    unsigned others = rig_has_values(c->rig) ? STORE_OTHERS : OTHERS;
    c->windows = CALIBRATE_ROUNDS * (KVF_DIRS * (c->out->link.points + c->out->own.points) + others);
    c->window_ns = c->setup->time_ns / FILL_SHARE * (FILL_SHARE - 1) / c->windows;
    rc = measure_rounds(c, e);
    calibrate_count(c->setup->scenario, c->tier, c->rig, &after);
    calibrate_others(&before, &after, c->out);
    if (rc == 0) figures_of(c);
    return rc;
}

int calibrate_tier(const struct calibrate_setup *setup, enum kvf_tier tier, struct calibrate_result *out,
                   struct err *e) {
    struct calibration *c = mem_zalloc(1, sizeof *c);
    c->setup = setup;
    c->out = out;
    c->tier = tier;
    *out = (struct calibrate_result){.cpu_others = KVF_MISSING, .device_times = KVF_MISSING};
    say(c, "opening");
    int rc = rig_open(&c->rig, setup->scenario, tier, setup->bytes, setup->stop, e);
    if (rc == 0) {
        rig_describe(c->rig, out->description, sizeof out->description);
        rc = measure_all(c, e);
    }
    rig_close(c->rig);
    free(c);
    return rc;
}

double calibrate_apart(const struct calibrate_rate *rate) {
    return rate->median > 0 ? (rate->high - rate->low) / rate->median : 0;
}

double calibrate_beyond_latency(const struct calibrate_curve *curve, enum kvf_dir dir, uint32_t point) {
    double bytes = (double)curve->depth[point] * (double)curve->entry_bytes;
    double seconds = bytes / curve->rate[dir][point].median;
    return bytes / fmax(seconds - curve->latency_ns / 1e9, seconds * LATENCY_LEAST);
}
