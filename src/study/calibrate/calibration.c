#include "study/calibrate/calibration.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/units.h"
#include "base/url.h"
#include "base/utf8.h"
#include "record/snapshot.h"

enum { LATENCY_SHOWN = 32 };

static const char *rate_text(double bytes_s, char *out, size_t len) {
    snprintf(out, len, "%.0fMB/s", fmax(1, round(bytes_s / 1e6)));
    return out;
}

/* Three digits of us or ms, or whole ns: a scenario takes no part of one. */
static const char *latency_text(double ns, char out[LATENCY_SHOWN]) {
    const char *unit = ns < 999.5 ? "ns" : ns < 999.5e3 ? "us" : "ms";
    double v = ns < 999.5 ? ns : ns < 999.5e3 ? ns / 1e3 : ns / 1e6;
    snprintf(out, LATENCY_SHOWN, "%.*f%s", ns < 999.5 ? 0 : v < 9.995 ? 2 : v < 99.95 ? 1 : 0, v, unit);
    return out;
}

/* Of the depths of a curve the best, as a device's own figure is. */
static double best_of(const struct calibrate_curve *c, enum kvf_dir dir) {
    double best = 0;
    for (uint32_t p = 0; p < c->points; p++) best = fmax(best, c->rate[dir][p].median);
    return best;
}

static void put_rate(struct buf *out, const char *key, double bytes_s) {
    char text[32];
    buf_addf(out, "    %s: %s\n", key, rate_text(bytes_s, text, sizeof text));
}

/* In MB/s, besides the latency; how far the windows lay apart, in a comment. */
static void put_rates(struct buf *out, const char *key, const struct calibrate_curve *c, enum kvf_dir dir) {
    buf_addf(out, "    %s: ", key);
    for (uint32_t p = 0; p < c->points; p++)
        buf_addf(out, "%s%.5g", p ? ", " : "[", calibrate_beyond_latency(c, dir, p) / 1e6);
    buf_add(out, "] # windows apart by ");
    for (uint32_t p = 0; p < c->points; p++)
        buf_addf(out, "%s%.0f", p ? ", " : "", calibrate_apart(&c->rate[dir][p]) * 100);
    buf_add(out, " %\n");
}

static void put_list(struct buf *out, const double slice[CALIBRATE_SLICES], double unit) {
    for (int i = 0; i < CALIBRATE_SLICES; i++) buf_addf(out, "%s%.3g", i ? ", " : "[", slice[i] / unit);
    buf_add(out, "]\n");
}

static void put_slices(struct buf *out, const char *key, const double slice[CALIBRATE_SLICES], double unit) {
    buf_addf(out, "    %s: ", key);
    put_list(out, slice, unit);
}

/* Reads and writes of a half-duplex tier together are no faster than each alone. */
static const char *duplex_of(const struct calibrate_result *r) {
    double alone = best_of(&r->link, KVF_DIR_READ) + best_of(&r->link, KVF_DIR_WRITE);
    return r->both.median > alone * 0.65 ? "full" : "half";
}

/* Of a store an entry alone is as slow as its connections are few, its round trips apart: they delay, and
 * take no bandwidth. */
static unsigned channels_of(enum kvf_tier tier, const struct calibrate_curve *c) {
    double alone = c->rate[KVF_DIR_READ][0].median;
    if (tier == KVF_TIER_REMOTE) alone = calibrate_beyond_latency(c, KVF_DIR_READ, 0);
    double ratio = best_of(c, KVF_DIR_READ) / fmax(alone, 1);
    return (unsigned)fmin(fmax(round(ratio), 1), SCENARIO_CHANNELS_MAX);
}

/* Of all windows of the tier. */
static double most_apart(const struct calibrate_result *r) {
    double most = calibrate_apart(&r->both);
    for (int d = 0; d < KVF_DIRS; d++) {
        for (uint32_t p = 0; p < r->link.points; p++) most = fmax(most, calibrate_apart(&r->link.rate[d][p]));
        for (uint32_t p = 0; p < r->own.points; p++) most = fmax(most, calibrate_apart(&r->own.rate[d][p]));
    }
    return most;
}

static void put_service(const struct calibrate_result *r, struct buf *out) {
    const struct calibrate_curve *link = &r->link, *own = &r->own;
    buf_add(out, "    depths: ");
    for (uint32_t p = 0; p < link->points; p++) buf_addf(out, "%s%" PRIu64, p ? ", " : "[", link->depth[p]);
    buf_add(out, "]\n");
    put_rates(out, "read_rates", link, KVF_DIR_READ);
    put_rates(out, "write_rates", link, KVF_DIR_WRITE);
    put_slices(out, "read_spread", r->spread[KVF_DIR_READ], 1);
    put_slices(out, "write_spread", r->spread[KVF_DIR_WRITE], 1);
    buf_addf(out, "    windows_apart: %.3g\n", most_apart(r));
    if (own->points == 0) return;
    char latency[LATENCY_SHOWN];
    put_rates(out, "own_read_rates", own, KVF_DIR_READ);
    put_rates(out, "own_write_rates", own, KVF_DIR_WRITE);
    buf_addf(out, "    own_latency: %s\n", latency_text(own->latency_ns, latency));
    put_slices(out, "own_latency_spread", r->own_spread, 1);
    buf_addf(out, "    own_gap: %s\n", latency_text(own->gap_ns, latency));
    buf_addf(out, "    woken_latency: %.3g\n    woken_gap: %.3g\n", r->woken_latency, r->woken_gap);
}

/* The costs of calls to a store, beside its bandwidth. */
static void put_calls(const struct calibrate_result *r, struct buf *out) {
    const struct calibrate_curve *c = &r->link;
    char latency[LATENCY_SHOWN];
    if (r->worker_ns[KVF_DIR_READ] > 0 && r->worker_ns[KVF_DIR_WRITE] > 0)
        buf_addf(out, "    worker_time: [%.4g, %.4g]\n", r->worker_ns[KVF_DIR_READ] / 1e3,
                 r->worker_ns[KVF_DIR_WRITE] / 1e3);
    if (!(c->lookup_ns > 0)) return;
    buf_addf(out, "    lookup_time: %s\n", latency_text(c->lookup_ns, latency));
    buf_addf(out, "    lookup_behind: %s\n", latency_text(c->lookup_behind_ns, latency));
}

static void put_rested(const struct calibrate_result *r, struct buf *out) {
    buf_addf(out, "    rested_read: %.3g\n    rested_write: %.3g\n", r->rested[KVF_DIR_READ],
             r->rested[KVF_DIR_WRITE]);
}

static void put_reuse(const struct calibrate_result *r, struct buf *out) {
    if (r->distances == 0) return;
    buf_add(out, "    reuse_distances: ");
    for (uint32_t i = 0; i < r->distances; i++)
        buf_addf(out, "%s%.5g", i ? ", " : "[", (double)r->distance[i] / (double)KVF_MIB);
    buf_add(out, "]\n    reuse_rates: ");
    for (uint32_t i = 0; i < r->distances; i++) buf_addf(out, "%s%.3g", i ? ", " : "[", r->reuse[i]);
    buf_add(out, "]\n");
}

static void put_stalls(const struct calibrate_stalls *s, struct buf *out) {
    if (s->count == 0) return;
    buf_add(out, "    stalls: ");
    for (uint32_t i = 0; i < s->count; i++) buf_addf(out, "%s%.5g", i ? ", " : "[", s->ns[i] / 1e6);
    buf_addf(out, "]\n    stall_every: %.0fus\n", fmax(s->every_ns / 1e3, 1));
}

/* Figures of writes to a drive beside their bandwidth. */
static void put_writes(const struct calibrate_result *r, struct buf *out) {
    const double us = 1e3;
    buf_addf(out, "    first_write: %.3g\n", r->first_write);
    if (r->interference[KVF_DIR_READ] >= 0 && r->interference[KVF_DIR_WRITE] >= 0)
        buf_addf(out, "    interference: [%.3g, %.3g]\n", r->interference[KVF_DIR_READ],
                 r->interference[KVF_DIR_WRITE]);
    put_slices(out, "begins", r->begin_ns[CALIBRATE_AGAIN], us);
    put_slices(out, "begins_behind", r->behind_ns[CALIBRATE_AGAIN], us);
    put_slices(out, "first_begins", r->begin_ns[CALIBRATE_FIRST], us);
    put_slices(out, "first_begins_behind", r->behind_ns[CALIBRATE_FIRST], us);
    buf_addf(out, "    begins_depth: %.3g\n    first_begins_depth: %.3g\n", r->begin_depth[CALIBRATE_AGAIN],
             r->begin_depth[CALIBRATE_FIRST]);
    if (r->staging_bytes_s > 0) buf_addf(out, "    staging_rate: %.5g\n", r->staging_bytes_s / 1e6);
}

bool calibration_uncertain(const struct calibrate_result *r, double *apart) {
    *apart = most_apart(r);
    return *apart > SCENARIO_APART_MOST;
}

static void curve_adjust(struct calibrate_curve *c, const struct calibration_adjust *a) {
    const double *times = a->times;
    double middle = sqrt(times[KVF_DIR_READ] * times[KVF_DIR_WRITE]);
    for (int d = 0; d < KVF_DIRS; d++)
        for (uint32_t p = 0; p < c->points; p++) c->rate[d][p].median /= times[d];
    c->latency_ns *= middle;
    c->gap_ns *= middle;
    c->lookup_ns *= a->lookup;
    c->lookup_behind_ns *= a->lookup;
}

/* Parts of a mean, to a power: parts of a mean again. */
static void spread_adjust(double slice[CALIBRATE_SLICES], double power) {
    double sum = 0;
    if (fabs(power - 1) < 1e-9) return; /* as measured, to the last digit */
    for (int i = 0; i < CALIBRATE_SLICES; i++) sum += slice[i] = pow(fmax(slice[i], 0), power);
    for (int i = 0; i < CALIBRATE_SLICES && sum > 0; i++) slice[i] *= CALIBRATE_SLICES / sum;
}

/* Says what a run adjusted; the figures of service times are then the run's, the peaks the windows'. */
static void put_adjusted(const struct calibration_adjust *a, struct buf *out) {
    double most = 0;
    for (int d = 0; d < KVF_DIRS; d++) most = fmax(most, fabs(log(a->times[d])) + fabs(log(a->spread[d])));
    if (most < 1e-9) return;
    buf_addf(
        out,
        "    # adjusted to a run: reads take %.3g and writes %.3g times as long as windows measured, their "
        "spread to the power of %.3g and %.3g; the peaks are the windows'\n",
        a->times[KVF_DIR_READ], a->times[KVF_DIR_WRITE], a->spread[KVF_DIR_READ], a->spread[KVF_DIR_WRITE]);
    if (fabs(log(a->lookup)) >= 1e-9)
        buf_addf(out, "    # and lookups take %.3g times as long as windows measured\n", a->lookup);
}

static void put_keys(enum kvf_tier tier, const struct calibrate_result *r, struct buf *out) {
    const struct calibrate_curve *link = &r->link;
    char latency[LATENCY_SHOWN];
    put_rate(out, "read_bandwidth", best_of(link, KVF_DIR_READ));
    put_rate(out, "write_bandwidth", best_of(link, KVF_DIR_WRITE));
    put_rate(out, "both_bandwidth", r->both.median);
    buf_addf(out, "    latency: %s\n    channels: %u\n    duplex: %s\n",
             latency_text(link->latency_ns, latency), channels_of(tier, link), duplex_of(r));
    if (tier == KVF_TIER_REMOTE) put_calls(r, out);
    if ((r->drive || tier == KVF_TIER_REMOTE) && r->processors > 0)
        buf_addf(out, "    processors: [%.3g, %.0f]\n", r->serving, r->processors);
    put_service(r, out);
    if (tier == KVF_TIER_NVME || tier == KVF_TIER_REMOTE) put_stalls(&r->stalls, out);
    if (r->drive) put_writes(r, out);
    if (r->drive || tier == KVF_TIER_CPU) put_rested(r, out);
    if (tier == KVF_TIER_CPU) put_reuse(r, out);
}

void calibration_yaml(enum kvf_tier tier, const struct calibrate_result *r,
                      const struct calibration_adjust *adjust, struct buf *out) {
    const struct calibrate_curve *peak = r->own.points ? &r->own : &r->link;
    struct calibrate_result adjusted = *r;
    char size[32], about[200];
    snprintf(about, sizeof about, "%s", r->description);
    utf8_clean(about, 0);
    buf_addf(out, "  %s: # %s; measured over %s\n", tier_name(tier), about,
             units_size_human((double)r->filled_bytes, size, sizeof size));
    double apart;
    if (calibration_uncertain(r, &apart))
        buf_addf(
            out,
            "    # uncertain: windows lay up to %.0f %% apart; measure again when the machine is quiet\n",
            apart * 100);
    if (kvf_present(r->cpu_others))
        buf_addf(out, "    # meanwhile other programs%s kept %.0f %% of the processors busy\n",
                 url_described_here(r->description) ? ", among them the store's server," : "",
                 r->cpu_others * 100);
    if (kvf_present(r->device_times))
        buf_addf(out, "    # and the kernel counted %.2f times our bytes for the device\n", r->device_times);
    if (r->own.points)
        buf_add(
            out,
            "    # peaks and own_ keys are of device memory itself; the others are of copies to and from the host\n");
    put_rate(out, "peak_read", best_of(peak, KVF_DIR_READ));
    put_rate(out, "peak_write", best_of(peak, KVF_DIR_WRITE));
    put_adjusted(adjust, out);
    curve_adjust(&adjusted.link, adjust);
    curve_adjust(&adjusted.own, adjust);
    adjusted.both.median /= sqrt(adjust->times[KVF_DIR_READ] * adjust->times[KVF_DIR_WRITE]);
    for (int d = 0; d < KVF_DIRS; d++) spread_adjust(adjusted.spread[d], adjust->spread[d]);
    spread_adjust(adjusted.own_spread, adjust->spread[KVF_DIR_READ]);
    if (adjust->stalls_known) adjusted.stalls = adjust->stalls;
    put_keys(tier, &adjusted, out);
}

void calibration_engine_yaml(unsigned workers, const struct calibrate_wakes *w, struct buf *out) {
    buf_addf(out, "engine:\n  workers: %u\n  timer_late: %.0fns\n  timer_late_spread: ", workers,
             w->timer_ns);
    put_list(out, w->timer_spread, 1);
    buf_addf(out, "  wake: %.0fns\n  wake_spread: ", w->wake_ns);
    put_list(out, w->wake_spread, 1);
}
