#include "ui/panel/history.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "ui/panel/ring.h"

/* Of the ring for all at first: a power of two, so that intervals of a second stay whole slots or whole
 * numbers of them however often it doubles. */
#define FIRST_SLOT_S (1.0 / 64)
#define LONGEST_S    1e9 /* no run time or length beyond it is believed */

struct history {
    double end_s; /* NaN: nothing yet */
    struct ring ring[ZOOMS];
    uint8_t joins[SERIES_NUMBER];
    size_t events; /* ever */
    struct record_event event[HISTORY_EVENTS];
    size_t decisions; /* ever */
    struct {
        double t_s;
        struct snapshot_decision decision;
    } decided[HISTORY_DECISIONS];
};

static const double zoom_span_s[ZOOMS] = {[ZOOM_MINUTE] = 60, [ZOOM_TEN] = 600};

#define X(id, join) JOIN_##join,
static const uint8_t run_joins[SERIES_RUN] = {SERIES_RUN_LIST(X)};
static const uint8_t tier_joins[SERIES_OF_TIER] = {SERIES_TIER_LIST(X)};
static const uint8_t class_joins[SERIES_OF_CLASS] = {SERIES_CLASS_LIST(X)};
static const uint8_t gpu_joins[SERIES_OF_GPU] = {SERIES_GPU_LIST(X)};
#undef X

static void joins_fill(uint8_t *joins) {
    memcpy(joins, run_joins, sizeof run_joins);
    for (int t = 0; t < KVF_TIERS; t++) memcpy(joins + series_tier(t, 0), tier_joins, sizeof tier_joins);
    for (int c = 0; c < KVF_CLASSES_MAX; c++)
        memcpy(joins + series_class(c, 0), class_joins, sizeof class_joins);
    for (int g = 0; g < SNAPSHOT_GPUS_MAX; g++) memcpy(joins + series_gpu(g, 0), gpu_joins, sizeof gpu_joins);
}

/* Values that cannot be drawn are missing. */
static float value_of(double v) {
    float f = (float)v;

    return isfinite(f) ? f : NAN;
}

/* An amount of the interval as a rate. */
static float rate_of(double amount, const struct snapshot *s) {
    double length = s->interval.length_s;

    return length > 0 && isfinite(length) ? value_of(amount / length) : NAN;
}

static void fill_run(float *v, const struct snapshot *s) {
    const struct snapshot_interval *i = &s->interval;
    double in_flight = 0;

    for (int t = 0; t < KVF_TIERS; t++)
        if (s->tier_on[t]) in_flight += (double)s->tier[t].io_in_flight;
    v[SERIES_USERS] = value_of((double)i->users);
    v[SERIES_QUEUE] = value_of((double)i->queue_depth);
    v[SERIES_IN_SERVICE] = value_of(i->in_service);
    v[SERIES_TOKENS_PER_S] = value_of(i->throughput_tok_s);
    v[SERIES_REQUESTS_PER_S] = value_of(i->requests_per_s);
    v[SERIES_HIT_RATIO] = value_of(i->reuse_hit_ratio);
    v[SERIES_IO_IN_FLIGHT] = value_of(in_flight);
    v[SERIES_E2E_P50_MS] = value_of(i->e2e_p50_ms);
    v[SERIES_E2E_P95_MS] = value_of(i->e2e_p95_ms);
    v[SERIES_E2E_P99_MS] = value_of(i->e2e_p99_ms);
    v[SERIES_TTFT_P95_MS] = value_of(i->ttft_p95_ms);
    v[SERIES_WAIT_P95_MS] = value_of(i->queue_wait_p95_ms);
    v[SERIES_STORAGE_P95_MS] = value_of(i->storage_io_p95_ms);
    v[SERIES_GENERATION_P95_MS] = value_of(i->generation_p95_ms);
    v[SERIES_SATURATION] = value_of(i->saturation);
    v[SERIES_PROCESS_CORES] = rate_of(i->cpu_user_s + i->cpu_sys_s, s);
    v[SERIES_HOST_CPU] = value_of(i->host_cpu_ratio);
    v[SERIES_HOST_STEAL] = value_of(i->host_steal_ratio);
    v[SERIES_RSS] = value_of(i->rss_bytes);
    v[SERIES_AVAILABLE] = value_of(i->host_available_bytes);
    v[SERIES_DISK_READ] = rate_of(i->device_read_bytes, s);
    v[SERIES_DISK_WRITE] = rate_of(i->device_write_bytes, s);
    v[SERIES_DISK_BUSY] = value_of(i->device_busy_ratio);
    v[SERIES_DISK_QUEUE] = value_of(i->device_queue);
    v[SERIES_NET_RX] = rate_of(i->net_rx_bytes, s);
    v[SERIES_NET_TX] = rate_of(i->net_tx_bytes, s);
}

static void fill_tier(float *v, const struct snapshot *s, int tier) {
    const struct snapshot_tier *t = &s->tier[tier];

    if (t->capacity_bytes)
        v[SERIES_TIER_USED_RATIO] = value_of((double)t->used_bytes / (double)t->capacity_bytes);
    v[SERIES_TIER_READ] = rate_of((double)t->read_bytes, s);
    v[SERIES_TIER_WRITE] = rate_of((double)t->write_bytes, s);
    v[SERIES_TIER_READ_P95_MS] = value_of(t->read_p95_ms);
    v[SERIES_TIER_WRITE_P95_MS] = value_of(t->write_p95_ms);
    v[SERIES_TIER_IN_FLIGHT] = value_of((double)t->io_in_flight);
    v[SERIES_TIER_FALLS] = rate_of((double)t->demotions + (double)t->evictions, s);
}

static void fill_values(float *v, const struct snapshot *s) {
    for (int i = 0; i < SERIES_NUMBER; i++) v[i] = NAN;
    fill_run(v, s);
    for (int t = 0; t < KVF_TIERS; t++)
        if (s->tier_on[t]) fill_tier(v + series_tier(t, 0), s, t);
    for (uint32_t c = 0; c < s->classes && c < KVF_CLASSES_MAX; c++) {
        float *at = v + series_class((int)c, 0);

        at[SERIES_CLASS_QUEUED] = value_of((double)s->qos[c].queued);
        at[SERIES_CLASS_SERVED] = value_of(s->qos[c].in_service);
        at[SERIES_CLASS_MET] = value_of(s->qos[c].met_ratio);
        at[SERIES_CLASS_OLDEST_MS] = value_of(s->qos[c].oldest_wait_ms);
        at[SERIES_CLASS_VIOLATIONS] = rate_of(s->qos[c].violations, s);
    }
    for (uint32_t g = 0; g < s->gpus && g < SNAPSHOT_GPUS_MAX; g++) {
        v[series_gpu((int)g, SERIES_GPU_UTILISATION)] = value_of(s->gpu[g].utilisation);
        v[series_gpu((int)g, SERIES_GPU_MEMORY)] = value_of(s->gpu[g].memory_used_bytes);
    }
}

/* When an interval began. Without a length it reaches back to the one before. */
static double interval_from(const struct history *h, const struct snapshot_interval *i) {
    double before = isnan(h->end_s) ? -LONGEST_S : h->end_s;
    double from = i->length_s > 0 && isfinite(i->length_s) ? i->t_s - i->length_s : fmax(before, 0);

    from = fmax(from, before);
    return from < i->t_s ? from : i->t_s - 1e-3;
}

/* The finest ring, from that of the zoom on, that still knows all from then on. */
static const struct ring *ring_for(const struct history *h, enum zoom z, double from_s) {
    while (z < ZOOM_ALL && !ring_reaches(&h->ring[z], from_s)) z++;
    return &h->ring[z];
}

const char *zoom_name(enum zoom z) {
#define X(id, name) name,
    static const char *const names[ZOOMS] = {ZOOM_LIST(X)};
#undef X
    return (unsigned)z < ZOOMS ? names[z] : "?";
}

struct history *history_new(void) {
    struct history *h = mem_zalloc(1, sizeof *h);

    h->end_s = (double)NAN;
    joins_fill(h->joins);
    /* One slot less than there are fills the span: the oldest may begin anywhere in its stretch. */
    for (int z = 0; z < ZOOMS; z++)
        ring_init(&h->ring[z], z == ZOOM_ALL ? FIRST_SLOT_S : zoom_span_s[z] / (HISTORY_SLOTS - 1),
                  zoom_span_s[z], h->joins);
    return h;
}

void history_free(struct history *h) {
    free(h);
}

void history_add(struct history *h, const struct snapshot *snap) {
    double t_s = snap->interval.t_s, from_s;
    float values[SERIES_NUMBER];

    if (snap->peek || !(fabs(t_s) < LONGEST_S) || t_s <= h->end_s) return;
    from_s = interval_from(h, &snap->interval);
    fill_values(values, snap);
    for (int z = 0; z < ZOOMS; z++) ring_add(&h->ring[z], from_s, t_s, values, snap->heat);
    h->end_s = t_s;
    for (uint32_t i = 0; i < snap->decisions && i < SNAPSHOT_DECISIONS; i++) {
        size_t at = h->decisions++ % HISTORY_DECISIONS;

        h->decided[at].t_s = t_s;
        h->decided[at].decision = snap->decision[i];
    }
}

void history_event(struct history *h, const struct record_event *e) {
    h->event[h->events++ % HISTORY_EVENTS] = *e;
}

void history_span(const struct history *h, enum zoom z, double end_s, double *from_s, double *to_s) {
    double newest = isnan(h->end_s) ? 0 : h->end_s;

    if (isnan(end_s)) end_s = newest;
    *to_s = z == ZOOM_ALL ? fmax(end_s, newest) : end_s;
    *from_s = z == ZOOM_ALL ? 0 : end_s - zoom_span_s[z];
}

void history_series(const struct history *h, int series, enum zoom z, double end_s, size_t points,
                    float *out) {
    double from_s, to_s;

    for (size_t i = 0; i < points; i++) out[i] = NAN;
    history_span(h, z, end_s, &from_s, &to_s);
    if (series < 0 || series >= SERIES_NUMBER || points == 0 || !(from_s < to_s)) return;
    ring_series(ring_for(h, z, from_s), series, from_s, to_s, points, out);
}

double history_top(const struct history *h, int series, enum zoom z, double end_s) {
    double from_s, to_s;

    if (series < 0 || series >= SERIES_NUMBER) return 0;
    if (z == ZOOM_ALL || !(end_s < h->end_s)) return ring_top(&h->ring[z], series);
    history_span(h, z, end_s, &from_s, &to_s);
    return ring_top_of(ring_for(h, z, from_s), series, from_s, to_s);
}

void history_heat(const struct history *h, int scope, enum zoom z, double end_s, size_t points,
                  uint32_t *counts) {
    double from_s, to_s;

    memset(counts, 0, points * SNAPSHOT_HEAT_BINS * sizeof *counts);
    history_span(h, z, end_s, &from_s, &to_s);
    if (scope < 0 || scope >= SNAPSHOT_HEATS || points == 0 || !(from_s < to_s)) return;
    ring_heat(ring_for(h, z, from_s), scope, from_s, to_s, points, counts);
}

size_t history_events(const struct history *h) {
    return h->events < HISTORY_EVENTS ? h->events : HISTORY_EVENTS;
}

const struct record_event *history_event_at(const struct history *h, size_t i) {
    size_t kept = history_events(h);

    return i < kept ? &h->event[(h->events - kept + i) % HISTORY_EVENTS] : NULL;
}

size_t history_decisions(const struct history *h) {
    return h->decisions < HISTORY_DECISIONS ? h->decisions : HISTORY_DECISIONS;
}

const struct snapshot_decision *history_decision_at(const struct history *h, size_t i, double *t_s) {
    size_t kept = history_decisions(h), at;

    if (i >= kept) return NULL;
    at = (h->decisions - kept + i) % HISTORY_DECISIONS;
    if (t_s) *t_s = h->decided[at].t_s;
    return &h->decided[at].decision;
}
