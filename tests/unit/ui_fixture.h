/* A made-up run for the tests of the screen: a record, ninety intervals of smooth formulas, events, a
 * history fed from them, and the frames that the views are handed. The same at every call. */
#ifndef KVF_TESTS_UI_FIXTURE_H
#define KVF_TESTS_UI_FIXTURE_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "ui/detail/details.h"
#include "ui/panel/frame.h"
#include "ui/panel/panels.h"

enum { UI_INTERVALS = 90, UI_NO_DATA = 30 /* an interval in which nothing was completed */ };

/* X(id, name of its golden files) */
#define UI_VARIANT_LIST(X)                                                                                   \
    X(LIVE, "live")                                                                                          \
    X(PREPARING, "preparing") /* before the first interval */                                                \
    X(OVER, "over")           /* the newest interval is what was left after the measured part */             \
    X(BACK, "back")                                                                                          \
    X(WATCH, "watch")     /* no requests known, no keys that change the run, stalled */                      \
    X(NVME, "nvme")       /* no other tier */                                                                \
    X(CLASSES, "classes") /* eight */                                                                        \
    X(LARGE, "large")     /* figures as large as they get, long names */                                     \
    X(AUTO, "auto")       /* an autoscaler with decisions, one GPU device */                                 \
    X(MISSING, "missing") /* every figure that can be missing is */                                          \
    X(RANKS, "ranks")     /* one of four hosts is slow, one is late, one is lost */                          \
    X(FLEET, "fleet")     /* eight pods, one of them gone */
#define X(id, name) UI_##id,
enum ui_variant { UI_VARIANT_LIST(X) UI_VARIANTS };
#undef X

struct ui_fixture {
    struct run_record run;
    struct provider_status status;
    struct history *history;
    struct snapshot *snap;      /* UI_INTERVALS of them, and one more when it is over */
    struct verdict verdict;     /* of the window that the frame shows */
    struct windows_view window; /* its levels */
    struct frame frame;
};

static inline const char *ui_variant_name(enum ui_variant v) {
#define X(id, name) name,
    static const char *const names[] = {UI_VARIANT_LIST(X)};
#undef X
    return names[v];
}

/* Between -1 and 1, smooth, from multiplications alone so that every machine gets the same. */
static inline double ui_wave(int i, int period, int shift) {
    double x = (double)((i + shift) % period) / period;
    return x < 0.5 ? 16 * x * (0.5 - x) : -16 * (x - 0.5) * (1 - x);
}

/* A value around `mid` that swings by `share` of it. */
static inline double ui_about(double mid, double share, int i, int period) {
    return mid * (1 + share * ui_wave(i, period, (int)((uint64_t)(mid * 7) % 13) + period));
}

static inline uint64_t ui_u(double v) {
    return (uint64_t)(v + 0.5);
}

static inline void ui_fill_latencies(struct snapshot_interval *s, int i) {
    s->e2e_p50_ms = ui_about(41, 0.2, i, 37), s->e2e_p95_ms = ui_about(120, 0.35, i, 37);
    s->e2e_p99_ms = ui_about(310, 0.3, i, 29);
    s->ttft_p50_ms = ui_about(32, 0.2, i, 37), s->ttft_p95_ms = ui_about(86, 0.35, i, 37);
    s->ttft_p99_ms = ui_about(240, 0.3, i, 29);
    s->queue_wait_p50_ms = ui_about(1.2, 0.5, i, 41), s->queue_wait_p95_ms = ui_about(22, 0.6, i, 41);
    s->queue_wait_p99_ms = ui_about(100, 0.3, i, 41);
    s->storage_io_p50_ms = ui_about(28, 0.2, i, 31), s->storage_io_p95_ms = ui_about(96, 0.25, i, 31);
    s->storage_io_p99_ms = ui_about(280, 0.2, i, 31);
    s->generation_p95_ms = ui_about(400, 0.02, i, 31);
    s->e2e_mean_ms = 52, s->queue_wait_mean_ms = 4.1, s->storage_io_mean_ms = 39.5,
    s->generation_mean_ms = 8.4;
    s->lateness_p99_ms = 0.12;
    /* P99.9 needs a thousand samples, which not every interval has. */
    bool many = i % 4 != 2;
    s->e2e_p999_ms = many ? ui_about(702, 0.1, i, 23) : KVF_MISSING;
    s->ttft_p999_ms = many ? ui_about(610, 0.1, i, 23) : KVF_MISSING;
    s->queue_wait_p999_ms = many ? ui_about(240, 0.1, i, 23) : KVF_MISSING;
    s->storage_io_p999_ms = many ? ui_about(612, 0.1, i, 23) : KVF_MISSING;
}

static inline void ui_no_latencies(struct snapshot_interval *s) {
    s->e2e_p50_ms = s->e2e_p95_ms = s->e2e_p99_ms = s->e2e_p999_ms = KVF_MISSING;
    s->ttft_p50_ms = s->ttft_p95_ms = s->ttft_p99_ms = s->ttft_p999_ms = KVF_MISSING;
    s->queue_wait_p50_ms = s->queue_wait_p95_ms = s->queue_wait_p99_ms = s->queue_wait_p999_ms = KVF_MISSING;
    s->storage_io_p50_ms = s->storage_io_p95_ms = s->storage_io_p99_ms = s->storage_io_p999_ms = KVF_MISSING;
    s->generation_p95_ms = s->e2e_mean_ms = s->queue_wait_mean_ms = s->storage_io_mean_ms = KVF_MISSING;
    s->generation_mean_ms = s->lateness_p99_ms = KVF_MISSING;
    s->hit_ratio = s->reuse_hit_ratio = KVF_MISSING;
}

static inline void ui_fill_machine(struct snapshot_interval *s, int i) {
    s->rss_bytes = 5.4e9 + 2e6 * i;
    s->cpu_user_s = ui_about(1.3, 0.2, i, 19), s->cpu_sys_s = ui_about(0.55, 0.2, i, 17);
    s->workers_cpu_s = ui_about(1.7, 0.2, i, 19);
    s->host_cpu_ratio = ui_about(0.47, 0.2, i, 19), s->host_steal_ratio = 0.002;
    s->host_available_bytes = 11.2e9 - 1e6 * i;
    s->device_read_bytes = ui_about(2.02e9, 0.15, i, 27), s->device_write_bytes = ui_about(6.4e8, 0.3, i, 33);
    s->device_read_ms = ui_about(38000, 0.15, i, 27), s->device_write_ms = ui_about(9000, 0.3, i, 33);
    s->device_busy_ratio = fmin(1, ui_about(0.95, 0.06, i, 27)), s->device_queue = ui_about(47, 0.15, i, 27);
    s->net_rx_bytes = 21e3, s->net_tx_bytes = 9.5e3;
    s->cpu_power_w = 181, s->energy_used_j = 462;
    s->drive_temperature_c = 43, s->drive_used_ratio = 0.07, s->drive_warnings = 0;
}

static inline void ui_fill_interval(struct snapshot_interval *s, int i) {
    s->seq = (uint64_t)i, s->t_s = i + 1, s->length_s = 1;
    s->phase = i < 5 ? KVF_PHASE_WARMUP : KVF_PHASE_MEASURED;
    s->users = i < 31 ? 50 : i < 60 ? 60 : 50;
    s->queue_depth = ui_u(ui_about(53, 0.8, i, 41)), s->oldest_wait_ms = ui_about(84, 0.8, i, 41);
    s->in_service = 50, s->in_service_now = 50, s->slots = 256;
    s->arrived = ui_u(ui_about(96, 0.2, i, 37)), s->done = s->arrived - 1;
    s->failed = i == 47 ? 1 : 0;
    s->throughput_tok_s = ui_about(12400, 0.2, i, 37), s->tokens = ui_u(s->throughput_tok_s);
    s->requests_per_s = (double)s->done;
    s->reuse_lookups = 610;
    s->lookups = 820, s->hits = ui_u(ui_about(763, 0.04, i, 31));
    s->hit_ratio = (double)s->hits / 820, s->reuse_hit_ratio = s->hit_ratio - 0.11;
    s->errors = i == 47 ? 1 : 0;
    s->saturation = ui_about(0.62, 0.3, i, 29);
    ui_fill_latencies(s, i);
    ui_fill_machine(s, i);
    if (i == UI_NO_DATA) ui_no_latencies(s);
}

static inline void ui_fill_tier(struct snapshot *s, int t, int i) {
    static const double usable_gib[] = {1.6, 3.2, 20}, full[] = {0.97, 0.95, 0.21},
                        read_gib[] = {3.2, 5.1, 1.9}, write_gib[] = {0.4, 0.6, 0.6}, r95[] = {0.8, 1.9, 42},
                        w95[] = {1.1, 2.2, 18.3}, entries[] = {214, 388, 502};
    const double gib = 1073741824.0;
    struct snapshot_tier *x = &s->tier[t];

    s->tier_on[t] = true, s->tier_emulated[t] = t == KVF_TIER_GPU;
    if (t == KVF_TIER_NVME) snprintf(s->tier_device[t], sizeof s->tier_device[t], "vda");
    x->capacity_bytes = ui_u(usable_gib[t] * gib);
    double level = t == KVF_TIER_NVME ? full[t] * (i + 1) / UI_INTERVALS : fmin(full[t], 0.05 * (i + 1));
    x->used_bytes = ui_u((double)x->capacity_bytes * level);
    x->entries = ui_u(entries[t] * level / full[t]), x->hits = ui_u(ui_about(entries[t], 0.1, i, 21));
    double read = ui_about(read_gib[t], 0.25, i, 27) * gib, write = ui_about(write_gib[t], 0.3, i, 33) * gib;
    x->read_bytes = ui_u(read), x->write_bytes = ui_u(write);
    x->read_ops = ui_u(read / 24e6), x->write_ops = ui_u(write / 24e6);
    x->read_p95_ms = ui_about(r95[t], 0.25, i, 27), x->write_p95_ms = ui_about(w95[t], 0.3, i, 33);
    x->busy_ratio = fmin(1, ui_about(t == KVF_TIER_NVME ? 0.93 : 0.1 + 0.2 * t, 0.05, i, 27));
    x->reuse_hits = ui_u(ui_about(t == KVF_TIER_NVME ? 310 : 60 + 20 * t, 0.1, i, 21));
    x->read_p50_ms = x->read_p95_ms / 3, x->write_p50_ms = x->write_p95_ms / 3;
    x->read_p99_ms = x->read_ops >= 100 ? x->read_p95_ms * 1.8 : KVF_MISSING;
    x->write_p99_ms = x->write_ops >= 100 ? x->write_p95_ms * 1.8 : KVF_MISSING;
    x->read_device_p95_ms = x->read_p95_ms * 0.9, x->write_device_p95_ms = x->write_p95_ms * 0.85;
    x->read_host_p95_ms = x->read_p95_ms * 0.12, x->write_host_p95_ms = x->write_p95_ms * 0.16;
    x->io_in_flight = t == KVF_TIER_NVME ? ui_u(ui_about(118, 0.3, i, 27)) : ui_u(ui_about(5, 0.8, i, 27));
    x->evictions = 0, x->demotions = t == KVF_TIER_NVME ? 0 : ui_u(ui_about(30, 0.2, i, 25));
    x->promotions = t == KVF_TIER_GPU ? 0 : ui_u(ui_about(6, 0.5, i, 25));
    if (i == UI_NO_DATA) {
        x->read_p50_ms = x->read_p95_ms = x->read_p99_ms = x->read_device_p95_ms = x->read_host_p95_ms =
            KVF_MISSING;
    }
    static const double shares[KVF_DIRS][KVF_CAUSES] = {{0, 0.55, 0.2, 0.1, 0, 0.1, 0.05, 0},
                                                        {0.6, 0.05, 0, 0.02, 0, 0.3, 0.03, 0}};
    for (int d = 0; d < KVF_DIRS; d++) {
        for (int c = 0; c < KVF_CAUSES; c++) {
            double bytes = shares[d][c] * (d == KVF_DIR_READ ? read : write);
            s->cause[t][d][c] = (struct snapshot_cause){.ops = ui_u(bytes / 24e6), .bytes = ui_u(bytes)};
        }
    }
}

static inline void ui_fill_class(struct snapshot *s, int k, int i) {
    static const char *const names[KVF_CLASSES_MAX] = {"interactive", "responsive", "batch",  "vip",
                                                       "free",        "evaluation", "agents", "background"};
    static const double waiting[] = {3, 9, 41, 0, 2, 7, 1, 120}, served[] = {12, 20, 18, 2, 4, 3, 1, 6},
                        met[] = {0.972, 0.99, 1, 1, 0.88, 0.4, 0.999, 1};
    struct snapshot_qos *q = &s->qos[k];

    snprintf(s->class_name[k], sizeof s->class_name[k], "%s", names[k]);
    q->queued = ui_u(ui_about(waiting[k], 0.5, i, 41)),
    q->in_service_now = ui_u(ui_about(served[k], 0.2, i, 23)), q->in_service = (double)q->in_service_now;
    q->arrived = 14 + (uint64_t)k, q->done = q->arrived, q->failed = k == 0 && i == 47;
    q->oldest_wait_ms = q->queued ? ui_about(20 * (k + 1), 0.5, i, 41) : KVF_MISSING;
    q->overdue = k == 6 && q->queued > 0;
    q->e2e_p50_ms = ui_about(25 * (k + 1), 0.3, i, 37), q->ttft_p50_ms = ui_about(17 * (k + 1), 0.3, i, 37);
    q->e2e_p95_ms = ui_about(60 * (k + 1), 0.3, i, 37), q->ttft_p95_ms = ui_about(42 * (k + 1), 0.3, i, 37);
    q->met_ratio = fmin(1, ui_about(met[k], 0.02, i, 31));
    q->violations = (double)ui_u((1 - q->met_ratio) * (double)q->done * 10) / 10;
    q->starved = k == 7 && i > 60;
    if (i == UI_NO_DATA) q->e2e_p95_ms = q->ttft_p95_ms = q->met_ratio = KVF_MISSING;
}

static inline void ui_fill_heat(struct snapshot *s, int i) {
    static const double mid_ms[SNAPSHOT_HEATS] = {41, 14, 7};
    if (i == UI_NO_DATA) return;
    for (int h = 0; h < SNAPSHOT_HEATS; h++) {
        size_t mid = 0;
        while (snapshot_heat_edge_ms(mid + 1) <= ui_about(mid_ms[h], 0.4, i, 37)) mid++;
        static const uint32_t shape[] = {2, 11, 34, 25, 12, 6, 3, 1, 1};
        for (size_t b = 0; b < sizeof shape / sizeof *shape; b++) s->heat[h][mid - 3 + b] = shape[b];
    }
}

/* The user of the first request, with three that ended. */
static inline void ui_fill_follow(struct snapshot *s) {
    struct snapshot_follow *w = &s->follow;
    *w = (struct snapshot_follow){.known = true, .user = 3, .state = FOLLOW_ASKING, .next_in_s = KVF_MISSING};
    w->in_service = 1, w->ended = 3;
    w->asks =
        (struct snapshot_user){.done = 12, .failed = 1, .last_ms = 900, .mean_ms = 1500, .worst_ms = 4000};
    for (uint32_t i = 0; i < w->ended; i++) {
        struct snapshot_ended *x = &w->end[i];
        *x = (struct snapshot_ended){.ago_s = 4 + 6 * i, .turn = 4 - i, .context_tokens = 2000 - 300 * i};
        x->generate_tokens = 80 + i, x->e2e_ms = 900 + 1100 * i, x->failed = i == 2;
        x->found[KVF_TIER_NVME] = 5 - i, x->found[KVF_TIER_CPU] = i, x->not_found = i == 2;
    }
}

static inline void ui_fill_requests(struct snapshot *s, int i) {
    static const char *const steps[] = {"reads", "generate", "decode", "prefill", "lookup"};
    s->requests_known = true, s->requests = 20;
    for (uint32_t r = 0; r < s->requests; r++) {
        struct snapshot_request *q = &s->request[r];
        q->user = (7 * r + 3) % 50, q->turn = 1 + (3 * r + (uint64_t)i) % 11;
        q->context_tokens = 600 + (977 * r) % 3400, q->generate_tokens = 50 + (41 * r) % 150;
        q->age_ms = 900.0 - 41 * r, q->service_ms = q->age_ms - 7 * (r % 5);
        q->klass = r % s->classes, q->tier = (int32_t)(r % 4) - 1;
        if (q->tier >= 0 && !s->tier_on[q->tier]) q->tier = KVF_TIER_NVME;
        snprintf(q->step, sizeof q->step, "%s", steps[r % 5]);
    }
    ui_fill_follow(s);
}

/* A search as it would have gone: when it decided what, with the sentences of the autoscaler. */
static const struct {
    int at;
    uint64_t before, after;
    double saturation, p95_ms;
    const char *action, *reason;
} ui_search[] = {
    {5, 20, 20, NAN, NAN, "start",
     "seek the most users that keep every P95 target, between 1 and 10000: begin with 20 users, judged for 10 s "
     "after 3 s"},
    {18, 20, 40, 0.31, 18.2, "grow",
     "P95 18.2 ms of interactive is under 45.0 ms (90 % of its 50.0 ms target), saturation 0.31: grow to 40 users"},
    {31, 40, 80, 0.58, 33.7, "grow",
     "P95 33.7 ms of interactive is under 45.0 ms (90 % of its 50.0 ms target), saturation 0.58: grow to 80 users"},
    {36, 80, 56, 0.93, 81.5, "back off",
     "P95 81.5 ms of interactive is over its 50.0 ms target in 2 of 2 intervals, saturation 0.93: back off to 56 "
     "users (x 0.7), cool down 10 s"},
    {56, 56, 48, 0.79, 53.1, "bisect",
     "P95 53.1 ms of interactive is over its 50.0 ms target in 7 of 10 intervals, saturation 0.79: try 48, between "
     "40 (good) and 56 (too many)"},
    {76, 48, 52, 0.66, 41.0, "bisect",
     "P95 41.0 ms of interactive is under 45.0 ms (90 % of its 50.0 ms target), saturation 0.66: try 52, between 48 "
     "(good) and 56 (too many)"},
};

static inline void ui_fill_auto(struct snapshot *s, int i) {
    s->interval.users = 20;
    for (size_t k = 0; k < sizeof ui_search / sizeof ui_search[0] && ui_search[k].at <= i; k++) {
        if (ui_search[k].at < i) s->interval.users = ui_search[k].after;
        if (ui_search[k].at != i) continue;
        struct snapshot_decision *d = &s->decision[s->decisions++];
        *d = (struct snapshot_decision){.users_before = ui_search[k].before,
                                        .users_after = ui_search[k].after,
                                        .saturation = ui_search[k].saturation,
                                        .p95_ms = ui_search[k].p95_ms};
        d->throughput_tok_s = k ? s->interval.throughput_tok_s : KVF_MISSING;
        snprintf(d->mode, sizeof d->mode, "qos");
        snprintf(d->action, sizeof d->action, "%s", ui_search[k].action);
        snprintf(d->reason, sizeof d->reason, "%s", ui_search[k].reason);
    }
    s->interval.saturation = ui_about(0.0125 * (double)s->interval.users, 0.1, i, 29);
    s->gpus = 1;
    s->gpu[0] = (struct snapshot_gpu){.utilisation = ui_about(0.4, 0.3, i, 21),
                                      .memory_used_bytes = 9.1e9,
                                      .memory_total_bytes = 143e9,
                                      .pcie_rx_bytes_s = 11e9,
                                      .pcie_tx_bytes_s = 3.1e9,
                                      .power_w = 214,
                                      .temperature_c = 41,
                                      .clock_sm_mhz = 1980,
                                      .clock_mem_mhz = 3201,
                                      .ecc_errors = KVF_MISSING};
}

/* Every field of a part to what is as large as it gets, or missing. */
static inline void ui_all_fields(void *part, const struct snapshot_field *f, size_t n, bool missing) {
    for (size_t k = 0; k < n; k++) {
        char *at = (char *)part + f[k].offset;
        if (f[k].type == SNAPSHOT_U && !missing) {
            *(uint64_t *)(void *)at = UINT64_MAX / 2;
        } else if (f[k].type == SNAPSHOT_F) {
            *(double *)(void *)at = missing ? KVF_MISSING : strstr(f[k].name, "ratio") ? 123.4 : 9.99e17;
        }
    }
}

static inline void ui_extremes(struct snapshot *s, int i, bool missing) {
    ui_all_fields(&s->interval, snapshot_interval_fields, snapshot_interval_field_count, missing);
    s->interval.seq = (uint64_t)i, s->interval.t_s = (i + 1) * (missing ? 1.0 : 40000.0),
    s->interval.length_s = 1;
    s->interval.phase = KVF_PHASE_MEASURED, s->interval.paused = !missing && i == UI_INTERVALS - 1;
    for (int t = 0; t <= KVF_TIER_NVME; t++) {
        ui_all_fields(&s->tier[t], snapshot_tier_fields, snapshot_tier_field_count, missing);
        for (int d = 0; d < KVF_DIRS; d++)
            for (int c = 0; c < KVF_CAUSES; c++)
                ui_all_fields(&s->cause[t][d][c], snapshot_cause_fields, snapshot_cause_field_count, missing);
        if (!missing) snprintf(s->tier_device[t], sizeof s->tier_device[t], "mapper-vg0-very-long-name-xx");
    }
    for (uint32_t k = 0; k < s->classes; k++) {
        ui_all_fields(&s->qos[k], snapshot_qos_fields, snapshot_qos_field_count, missing);
        if (!missing)
            snprintf(s->class_name[k], sizeof s->class_name[k], "class-with-a-very-long-name-%u", k % 10);
    }
    s->gpus = missing ? 1 : SNAPSHOT_GPUS_MAX;
    for (uint32_t g = 0; g < s->gpus; g++) {
        ui_all_fields(&s->gpu[g], snapshot_gpu_fields, snapshot_gpu_field_count, missing);
        s->gpu[g].device = g;
    }
    for (uint32_t r = 0; r < s->requests && !missing; r++) {
        s->request[r].user = s->request[r].turn = UINT64_MAX;
        s->request[r].context_tokens = s->request[r].generate_tokens = UINT64_MAX;
        s->request[r].age_ms = s->request[r].service_ms = 1e15;
    }
    for (int h = 0; h < SNAPSHOT_HEATS; h++)
        for (int b = 0; b < SNAPSHOT_HEAT_BINS; b++) s->heat[h][b] = missing ? 0 : UINT32_MAX / 200;
    if (missing) s->bottleneck[0] = 0;
}

/* Some milliseconds after the clock has stopped, in which nothing is completed. */
static inline void ui_drain(struct snapshot *s) {
    static const struct snapshot_cause nothing[KVF_TIERS][KVF_DIRS][KVF_CAUSES];
    struct snapshot_interval *i = &s->interval;

    i->phase = KVF_PHASE_DRAIN, i->t_s = UI_INTERVALS + 0.012, i->length_s = 0.012;
    i->arrived = i->done = i->failed = i->tokens = i->lookups = i->hits = i->queue_depth = i->in_service_now =
        0,
    i->in_service = 0;
    i->throughput_tok_s = i->requests_per_s = 0, i->oldest_wait_ms = KVF_MISSING;
    i->device_read_bytes = i->device_write_bytes = i->device_read_ms = i->device_write_ms = 0;
    i->device_busy_ratio = i->device_queue = 0, i->cpu_user_s = i->cpu_sys_s = 0.001;
    ui_no_latencies(i);
    for (int t = 0; t < KVF_TIERS; t++) {
        struct snapshot_tier was = s->tier[t];
        ui_all_fields(&s->tier[t], snapshot_tier_fields, snapshot_tier_field_count, true);
        s->tier[t].hits = s->tier[t].read_ops = s->tier[t].write_ops = 0;
        s->tier[t].read_bytes = s->tier[t].write_bytes = s->tier[t].io_in_flight = 0;
        s->tier[t].demotions = s->tier[t].promotions = 0;
        s->tier[t].used_bytes = was.used_bytes, s->tier[t].entries = was.entries;
    }
    memcpy(s->cause, nothing, sizeof s->cause);
    for (uint32_t k = 0; k < s->classes; k++)
        s->qos[k] = (struct snapshot_qos){.oldest_wait_ms = KVF_MISSING,
                                          .e2e_p95_ms = KVF_MISSING,
                                          .ttft_p95_ms = KVF_MISSING,
                                          .met_ratio = KVF_MISSING};
    memset(s->heat, 0, sizeof s->heat);
    snprintf(s->bottleneck, sizeof s->bottleneck, "no request was completed (last 10 s)");
}

/* Of the snapshot, with a slow drive at rank 2. */
static inline void ui_fill_hosts(struct snapshot *s, int i) {
    for (s->hosts = 0; s->hosts < 5; s->hosts++) {
        uint32_t n = s->hosts;
        struct snapshot_host *h = &s->host[n];
        snapshot_host_fill(h, s);
        h->rank.rank = n;
        snprintf(h->host, sizeof h->host, "lab%u", n < 4 ? 7 + n : 7);
        if (n >= 3)
            snapshot_host_blank(h), h->rank.rank = n, h->rank.behind = n == 3 ? 1 : ui_u(i),
                                    h->rank.lost = n == 4;
        h->rank.throughput_tok_s *= n == 2 ? 0.15 : 0.25 + 0.02 * n;
        h->rank.users = floor(h->rank.users / 4), h->rank.in_service *= n == 2 ? 0.5 : 0.2;
        h->rank.e2e_p95_ms *= n == 2 ? 2.5 : 0.8 + 0.1 * n;
        h->tier[KVF_TIER_NVME].busy_ratio = n < 2 ? 0.61 : n == 2 ? 0.99 : KVF_MISSING;
        h->tier[KVF_TIER_NVME].read_p95_ms *= n == 2 ? 3 : 1;
        h->rank.errors = n == 1 ? 2 : h->rank.errors;
    }
}

/* `pods` of them, `each` in a row. */
static inline void ui_fill_pods(struct snapshot *s, uint32_t pods, uint32_t each) {
    double most = 0, sum = 0;
    for (s->pod_rows = 0; s->pod_rows < pods / each; s->pod_rows++) {
        uint32_t n = s->pod_rows;
        bool gone = n == 5;
        struct snapshot_pod *p = &s->pod[n];
        *p = (struct snapshot_pod){
            .pod = n * each, .pods = each, .down = gone, .most_pod = n * each + each / 2};
        p->load_mean = gone ? 0 : 12 + 6 * ui_wave((int)n, 7, 3);
        p->most_load = each > 1 ? p->load_mean * 1.5 : p->load_mean;
        p->lookups = gone ? 0 : 1200 * each;
        p->hits = p->lookups / 100 * (60 + n % 37);
        p->expected_blocks = gone ? 0 : 400 * each;
        p->wrong_blocks = p->expected_blocks / 100 * (n % 9);
        p->done = gone ? 0 : (6 + n % 3) * each, p->tokens = 150 * p->done;
        s->fleet.expected_blocks += p->expected_blocks, s->fleet.wrong_blocks += p->wrong_blocks;
        if (p->most_load > most) most = p->most_load;
        sum += p->load_mean * each;
    }
    s->fleet.pods = pods, s->fleet.pods_down = 1;
    s->fleet.load_imbalance = most * pods / sum;
    s->fleet.index_lookups = 9600 * each, s->fleet.index_events = 1024 * each;
    s->fleet.index_entries = 11698 * each, s->fleet.index_bytes = (uint64_t)each << 18;
    s->fleet.index_waiting = 147, s->fleet.index_behind_ms = 48.5;
}

static inline void ui_fill_snapshot(struct snapshot *s, enum ui_variant v, int i) {
    memset(s, 0, sizeof *s);
    s->classes = v == UI_CLASSES || v == UI_LARGE ? KVF_CLASSES_MAX : 3;
    ui_fill_interval(&s->interval, i);
    for (int t = v == UI_NVME ? KVF_TIER_NVME : 0; t <= KVF_TIER_NVME; t++) ui_fill_tier(s, t, i);
    for (uint32_t k = 0; k < s->classes; k++) ui_fill_class(s, (int)k, i);
    ui_fill_heat(s, i);
    ui_fill_requests(s, i);
    snprintf(s->bottleneck, sizeof s->bottleneck,
             "nvme reads, 71 %% of storage time, at 98 %% device utilisation (last 10 s)");
    if (v == UI_AUTO) ui_fill_auto(s, i);
    if (v == UI_RANKS) ui_fill_hosts(s, i);
    if (v == UI_FLEET) ui_fill_pods(s, 8, 1);
    if (v == UI_LARGE || v == UI_MISSING) ui_extremes(s, i, v == UI_MISSING);
    if (v == UI_OVER || v == UI_WATCH || v == UI_BACK) s->requests_known = false, s->requests = 0;
    if (i == UI_INTERVALS) ui_drain(s);
}

static inline void ui_fill_events(struct ui_fixture *x, enum ui_variant v) {
    static const struct record_event events[] = {
        {NAN, "warning", "", "",
         "no CUDA device is here: the gpu tier is emulated, at 55 GB/s each way and 10 us"},
        {20.4, "mark", "", "", "before the second group of users"},
        {31.2, "info", "users", "60", "users 60 by key"},
        {47.6, "error", "", "",
         "nvme: read of 24.0 MiB of conversation 17/3 came back short: 8.00 MiB; counted as an error, no hit"},
        {52.1, "warning", "", "",
         "arrivals are behind their schedule by up to 210 ms: the generator gets too little CPU time"},
        {60.3, "info", "users", "50", "users 50 by key"},
        {71.8, "info", "pause", "on", "paused by key"},
        {71.8, "info", "pause", "off", "resumed by key"},
    };
    for (size_t k = 0; k < sizeof events / sizeof *events; k++) {
        struct record_event e = events[k];
        if (v == UI_PREPARING && k > 0) break;
        if (v == UI_LARGE && kvf_present(e.t_s)) e.t_s *= 40000;
        history_event(x->history, &e);
        run_record_event(&x->run, &e);
    }
}

static inline void ui_fill_tier_results(struct run_record *r, int t) {
    static const char *const level[] = {"mean", "p50", "p95", "p99", "p999", "p9999", "max"};
    static const double factor[] = {1.3, 1, 2.9, 7.6, 17, 30, 44}, tier_ms[] = {0.27, 0.63, 14};
    static const double share[KVF_CAUSES] = {0.6, 0.3, 0.1};
    const char *tier = tier_name((enum kvf_tier)t);
    struct result_list *l = &r->results;

    result_add(l, 200 + 100 * t, 0, "%s_entries", tier);
    result_add(l, (double)r->tier[t].usable_bytes * (0.95 - 0.3 * t), 0, "%s_used_bytes", tier);
    result_add(l, 25000, 0, "%s_hits", tier);
    result_add(l, 5000 + 9000 * t, 0, "%s_reuse_hits", tier);
    result_add(l, t == KVF_TIER_NVME ? 0.93 : 0.1 + 0.2 * t, 0, "%s_busy_ratio", tier);
    result_add(l, 0, 0, "%s_evictions", tier);
    result_add(l, t == KVF_TIER_NVME ? 0 : 2600, 0, "%s_demotions", tier);
    result_add(l, t == KVF_TIER_GPU ? 0 : 500, 0, "%s_promotions", tier);
    for (int d = 0; d < KVF_DIRS; d++) {
        const char *way = dir_name((enum kvf_dir)d);
        result_add(l, 10000, 0, "%s_%s_ops", tier, way);
        result_add(l, 2.4e11, 0, "%s_%s_bytes", tier, way);
        result_add(l, 2.4e11 / 85 / 1073741824, 0, "%s_%s_gib_s", tier, way);
        for (size_t q = 0; q < 7; q++)
            result_add(l, q == 5 ? KVF_MISSING : tier_ms[t] * factor[q], 10000, "%s_%s_%s_ms", tier, way,
                       level[q]);
        result_add(l, tier_ms[t] * 2.5, 10000, "%s_%s_device_p95_ms", tier, way);
        result_add(l, tier_ms[t] * 0.6, 10000, "%s_%s_host_p95_ms", tier, way);
        for (int c = 0; c < KVF_CAUSES && share[c] > 0; c++) {
            result_add(l, 10000 * share[c], 0, "%s_%s_%s_ops", tier, way, cause_name((enum kvf_cause)c));
            result_add(l, 2.4e11 * share[c], 0, "%s_%s_%s_bytes", tier, way, cause_name((enum kvf_cause)c));
        }
    }
}

/* The last class is starved: what came through was fast, and somebody has waited for 2.4 s. */
static inline void ui_fill_class_results(struct run_record *r) {
    static const double done[] = {3000, 3500, 4876}, left[] = {4, 11, 0}, oldest[] = {25.7, 57.3, 0},
                        ttft[] = {33.1, 87, 940};
    struct result_list *l = &r->results;
    for (uint32_t k = 0; k < r->classes; k++) {
        const char *name = r->klass[k].name;
        bool starved = k + 1 == r->classes;
        result_add(l, 0.99 - 0.01 * k, 3000, "slo_%s_met_ratio", name);
        result_add(l, done[k % 3], 0, "class_%s_done", name);
        result_add(l, done[k % 3] + left[k % 3] + (starved ? 61 : 0), 0, "class_%s_arrived", name);
        result_add(l, starved ? 61 : left[k % 3], 0, "class_%s_queued_at_end", name);
        result_add(l, starved ? 2400 : oldest[k % 3], 0, "class_%s_oldest_wait_ms", name);
        result_add(l, starved ? 61 : 0, 0, "class_%s_overdue_at_end", name);
        result_add(l, ttft[k % 3] / 2, 3000, "class_%s_ttft_p50_ms", name);
        result_add(l, ttft[k % 3], 3000, "class_%s_ttft_p95_ms", name);
        result_add(l, 1.4 * ttft[k % 3], 3000, "class_%s_e2e_p95_ms", name);
    }
}

static inline void ui_fill_results(struct run_record *r) {
    static const char *const latency[] = {"e2e", "ttft", "queue_wait", "storage_io", "generation"};
    static const char *const level[] = {"mean", "p50", "p95", "p99", "p999", "p9999", "max"};
    static const double mid[] = {41, 32, 1.2, 28, 8.4}, factor[] = {1.3, 1, 2.9, 7.6, 17, 30, 44};
    static const struct {
        const char *metric;
        double value;
    } rest[] = {{"throughput_tok_s", 12480},
                {"requests_per_s", 11376 / 85.0},
                {"hit_ratio", 0.931},
                {"reuse_hit_ratio", 0.822},
                {"reuse_lookups", 51095},
                {"requests_arrived", 11503},
                {"requests_done", 11376},
                {"requests_failed", 1},
                {"requests_dropped", 0},
                {"requests_queued_at_end", 76},
                {"requests_in_service_at_end", 50},
                {"slots_busy_ratio", 0.195},
                {"tokens_generated", 1497600},
                {"measured_s", 85},
                {"device_read_bytes", 2.5e11},
                {"device_write_bytes", 2.41e11},
                {"device_read_ms", 3.2e6},
                {"device_write_ms", 7.6e5},
                {"device_busy_ratio", 0.95},
                {"cpu_user_s", 110},
                {"cpu_sys_s", 47},
                {"cpu_workers_s", 140},
                {"host_cpu_ratio", 0.47},
                {"cpu_power_mean_w", 178},
                {"energy_j", 15130},
                {"drive_temperature_max_c", 44},
                {"drive_used_ratio", 0.07},
                {"rss_peak_bytes", 5.58e9}};
    struct result_list *l = &r->results;

    for (size_t k = 0; k < sizeof rest / sizeof *rest; k++)
        result_add(l, rest[k].value, 0, "%s", rest[k].metric);
    for (size_t k = 0; k < 5; k++)
        for (size_t q = 0; q < 7; q++)
            result_add(l, q == 5 ? KVF_MISSING : mid[k] * factor[q], 11376, "%s_%s_ms", latency[k], level[q]);
    for (int t = 0; t <= KVF_TIER_NVME; t++) ui_fill_tier_results(r, t);
    ui_fill_class_results(r);
}

/* Nine tenths of a request's storage time is nvme's, most of it in line. */
static inline void ui_fill_verdict(struct verdict *v) {
    static const struct {
        const char *name;
        double value;
        const char *unit;
    } evidence[] = {{"requests_per_s", 79, "1/s"},   {"throughput_bound_per_s", 84.9, "1/s"},
                    {"gpu_busy", 0.1, ""},           {"cpu_busy", 0.3, ""},
                    {"nvme_busy", 0.93, ""},         {"nvme_demand_ms", 11.8, "ms"},
                    {"slots_busy", 0.195, ""},       {"queue_wait_share", 0.08, ""},
                    {"storage_io_share", 0.76, ""},  {"compute_share", 0.12, ""},
                    {"e2e_mean_ms", 52, "ms"},       {"gpu_device_share", 0.02, ""},
                    {"cpu_device_share", 0.1, ""},   {"nvme_device_share", 0.16, ""},
                    {"nvme_line_share", 0.45, ""},   {"nvme_host_share", 0.03, ""},
                    {"reuse_miss_ratio", 0.143, ""}, {"capacity_miss_ratio", 0.06, ""},
                    {"working_set", 31e9, "B"},      {"tiers_hold", 24.8e9, "B"}};
    *v = (struct verdict){
        .known = true, .limited_by = VERDICT_NVME, .cause = VERDICT_CAUSE_BANDWIDTH, .share = 0.93};
    snprintf(
        v->sentence, sizeof v->sentence,
        "nvme reads, 93 %% busy: 11.8 ms a request bounds throughput at 84.9 requests/s; disk 95 %% busy; the "
        "mean end-to-end latency of 52.0 ms is 8 %% queue wait, 76 %% storage I/O, 12 %% generation, 4 %% other; nvme reads, "
        "71 %% of storage time: 26 %% at the device, 74 %% in line for it (last 10 s)");
    for (size_t k = 0; k < sizeof evidence / sizeof *evidence; k++)
        verdict_add_evidence(v, evidence[k].name, evidence[k].value, evidence[k].unit);
    verdict_add_remedy(v, "2 x nvme bandwidth (one more drive)", "throughput_tok_s", 9940, 13800);
    verdict_add_remedy(v, "4 x cpu capacity", "throughput_tok_s", 9940, 18300);
    verdict_add_remedy(v, "4 x cpu capacity", "reuse_hit_ratio", 0.857, 0.917);
    verdict_add_remedy(v, "half the users", "e2e_mean_ms", 52, 29);
}

static inline void ui_fill_run(struct ui_fixture *x, enum ui_variant v) {
    static const double p95_ms[] = {50, 100, 1000};
    struct run_record *r = &x->run;
    const struct snapshot *s = &x->snap[UI_INTERVALS - 1];

    run_record_init(r);
    r->run_id = 12, r->seed = 42, r->pid = 4711, r->started_at = 1760000000, r->ended_at = KVF_MISSING;
    snprintf(r->name, sizeof r->name, "%s",
             v == UI_LARGE ? "a-scenario-whose-name-is-as-long-as-names-may-be-63-characters" : "quickstart");
    snprintf(r->model, sizeof r->model, "llama3.1-8b");
    snprintf(r->mode, sizeof r->mode, "real");
    snprintf(r->qos_latency, sizeof r->qos_latency, "ttft");
    snprintf(r->host, sizeof r->host, "lab7");
    snprintf(r->version, sizeof r->version, "kvfall 0.9");
    r->status = v == UI_OVER ? RUN_COMPLETED : RUN_RUNNING;
    for (int t = 0; t < KVF_TIERS; t++) {
        if (!s->tier_on[t]) continue;
        r->tier[t] = (struct run_tier){.on = true, .emulated = s->tier_emulated[t]};
        r->tier[t].usable_bytes = s->tier[t].capacity_bytes,
        r->tier[t].capacity_bytes = s->tier[t].capacity_bytes / 4 * 5;
        snprintf(r->tier[t].description, sizeof r->tier[t].description, "%s",
                 t == KVF_TIER_GPU   ? "emulated, 55 GB/s read, 55 GB/s write, 10 us"
                 : t == KVF_TIER_CPU ? "memory, 4 KiB pages, faulted in"
                                     : "files on ext4, device vda, direct I/O");
    }
    if (v == UI_AUTO) {
        static const double peaks[KVF_TIERS][KVF_DIRS] = {{55e9, 55e9}, {20e9, 0}, {7e9, 5e9}};
        memcpy(r->peak_bytes_s, peaks, sizeof peaks);
    }
    r->classes = s->classes;
    for (uint32_t k = 0; k < r->classes; k++) {
        snprintf(r->klass[k].name, sizeof r->klass[k].name, "%s", s->class_name[k]);
        r->klass[k].share = 1.0 / r->classes, r->klass[k].p95_ns = ui_u(p95_ms[k % 3] * 1e6);
        r->klass[k].p99_ns = 2 * r->klass[k].p95_ns;
    }
    if (v == UI_OVER) {
        r->ended_at = r->started_at + 95;
        ui_fill_results(r);
    }
}

/* The levels of the window that the newest interval stands for. */
static inline void ui_fill_window(struct windows_view *w, const struct snapshot *s) {
    static const double parts[WINDOWS_PARTS] = {1, 0.3, 0.7};
    for (int t = 0; t < KVF_TIERS; t++)
        for (int d = 0; d < KVF_DIRS; d++)
            for (int k = 0; k < WINDOWS_PARTS; k++) {
                const struct snapshot_tier *v = &s->tier[t];
                double p95 = (d == KVF_DIR_READ ? v->read_p95_ms : v->write_p95_ms) * parts[k];
                w->op[t][d][k] = (struct windows_levels){p95 / 3, p95, p95 * 1.8};
            }
    for (int t = 0; t < KVF_TIERS; t++)
        w->break_even[t] = (struct metric_break_even){!s->tier_on[t]       ? KVF_MISSING
                                                      : t == KVF_TIER_CPU  ? 128
                                                      : t == KVF_TIER_NVME ? 912
                                                                           : 0,
                                                      128, 8192};
    for (uint32_t k = 0; k < s->classes; k++) {
        const struct snapshot_qos *q = &s->qos[k];
        w->klass[k][WINDOWS_TTFT] = (struct windows_levels){q->ttft_p50_ms, q->ttft_p95_ms, KVF_MISSING};
        w->klass[k][WINDOWS_E2E] = (struct windows_levels){q->e2e_p50_ms, q->e2e_p95_ms, q->e2e_p95_ms * 1.5};
    }
}

static inline struct ui_fixture *ui_fixture_new(enum ui_variant v) {
    struct ui_fixture *x = mem_zalloc(1, sizeof *x);
    int intervals = UI_INTERVALS + (v == UI_OVER);
    x->snap = mem_zalloc((size_t)intervals, sizeof *x->snap);
    x->history = history_new();
    for (int i = 0; i < intervals; i++) {
        ui_fill_snapshot(&x->snap[i], v, i);
        if (v != UI_PREPARING) history_add(x->history, &x->snap[i]);
    }
    ui_fill_run(x, v);
    ui_fill_events(x, v);
    const struct snapshot *last = &x->snap[intervals - 1], *shown = v == UI_BACK ? &x->snap[41] : last;
    x->frame = (struct frame){.run = &x->run,
                              .snap = shown,
                              .interval = shown,
                              .history = x->history,
                              .status = &x->status,
                              .interval_s = 1,
                              .planned_s = v == UI_LARGE  ? 3.6e6
                                           : v == UI_OVER ? 90
                                                          : 125,
                              .shown_s = shown->interval.t_s,
                              .newest_s = last->interval.t_s,
                              .zoom = ZOOM_MINUTE,
                              .live = true,
                              .controls = true,
                              .generation = "fast",
                              .autoscaler = "off"};
    struct frame *f = &x->frame;
    /* A stored run has the interval and its sentence alone. */
    bool windowed = v != UI_WATCH && v != UI_BACK && v != UI_OVER && v != UI_MISSING;
    ui_fill_verdict(windowed ? &x->verdict : &x->run.verdict);
    f->verdict = windowed ? &x->verdict : v == UI_OVER ? &x->run.verdict : NULL;
    f->windowed = windowed, f->span = WINDOWS_TEN;
    ui_fill_window(&x->window, shown);
    f->window = windowed ? &x->window : NULL;
    if (v == UI_PREPARING) {
        f->snap = f->interval = NULL, f->shown_s = f->newest_s = KVF_MISSING;
        snprintf(x->status.preparing, sizeof x->status.preparing, "faulting in the cpu tier");
        x->status.prepared = 0.45;
    }
    if (v == UI_OVER) f->live = false, f->over = true, f->zoom = ZOOM_ALL, x->status.ended = true;
    if (v == UI_BACK) f->back = true, f->message = "at 00:42";
    if (v == UI_WATCH) f->controls = false, x->status.stalled = true;
    if (v == UI_CLASSES) f->question = "Note of the mark: ", f->answer = "second group";
    if (v == UI_AUTO) f->autoscaler = "qos", f->zoom = ZOOM_TEN;
    return x;
}

static inline void ui_fixture_free(struct ui_fixture *x) {
    if (!x) return;
    run_record_free(&x->run);
    history_free(x->history);
    free(x->snap);
    free(x);
}

/* A view of the frame, or the detail that is open, on a screen of that size, with the first and the last row.
 */
static inline void ui_fixture_draw(struct canvas *c, const struct ui_fixture *x, size_t view,
                                   void (*header)(const struct pane *, const struct frame *),
                                   void (*footer)(const struct pane *, const struct frame *)) {
    struct frame f = x->frame;
    struct rect at[LAYOUT_SECTIONS] = {0};
    struct layout_screen s = layout_screen(c->rows, c->cols);
    const struct panel_ops *panel = f.open.kind ? details[f.open.kind] : panels[view];
    f.view = view;
    if (view == PANEL_pods) f.table = (struct frame_table){.sort = PANEL_PODS_SORT, .descending = true};
    if (view == PANEL_hosts) f.table = (struct frame_table){.sort = PANEL_HOSTS_SORT, .descending = true};
    canvas_clear(c);
    layout_sections(panel->sections, panel->section_count, s.body, at);
    panel->draw(c, at, &f);
    struct pane head = pane_at(c, s.header), foot = pane_at(c, s.footer);
    header(&head, &f);
    footer(&foot, &f);
}

#endif
