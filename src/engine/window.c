#include "engine/window.h"

#include <stddef.h>
#include <stdint.h>

#include "record/snapshot.h"

/* A mark at most this often: those of ten seconds, the one before them and the newest have room. */
#define MARK_EVERY_S (WINDOW_S / (WINDOW_MARKS - 4))

enum { SUMS = sizeof(struct window_sums) / sizeof(double) };

static void sums_add(struct window_sums *to, const struct window_sums *s, double sign) {
    double *a = (double *)to;
    const double *b = (const double *)s;
    for (size_t i = 0; i < SUMS; i++) a[i] += sign * b[i];
}

static struct window_sums *mark_at(struct window *w, unsigned i) {
    return &w->mark[(w->first + i) % WINDOW_MARKS];
}

void window_begin(struct window *w) {
    *w = (struct window){.count = 1}; /* all zero: where it began */
}

void window_add(struct window *w, const struct window_sums *interval) {
    sums_add(&w->total, interval, 1);
    if (w->total.length_s - mark_at(w, w->count - 1)->length_s >= MARK_EVERY_S)
        *mark_at(w, w->count++) = w->total;
    while (w->count > 1 && mark_at(w, 1)->length_s <= w->total.length_s - WINDOW_S) {
        w->first = (w->first + 1) % WINDOW_MARKS;
        w->count--;
    }
}

void window_look(const struct window *w, const struct window_sums *more, struct window_sums *out) {
    *out = w->total;
    if (more) sums_add(out, more, 1);
    sums_add(out, &w->mark[w->first], -1);
}

static double per(double amount, double whole) {
    return whole > 0 ? amount / whole : KVF_MISSING;
}

void window_means(const struct window_sums *s, struct bottleneck_input *in) {
    in->requests = (uint64_t)(s->requests + 0.5);
    in->e2e_ms = per(s->e2e_ms, s->requests);
    in->queue_ms = per(s->queue_ms, s->requests);
    in->storage_ms = per(s->storage_ms, s->requests);
    in->prefill_ms = s->requests > 0 ? s->prefill_ms / s->requests : 0;
    in->generation_ms = per(s->generation_ms, s->generations);
    in->device_busy_ratio = per(s->device_busy_s, s->device_known_s);
    in->host_cpu_ratio = per(s->host_busy_s, s->host_known_s);
    in->slots_ratio = per(s->slots_busy_s, s->slots_s);
    in->misses_ratio = per(s->misses, s->lookups);
    in->held_s = s->held_s;
    for (int t = 0; t < KVF_TIERS; t++) {
        for (int d = 0; d < KVF_DIRS; d++) {
            in->op_s[t][d] = s->op_s[t][d];
            in->device_s[t][d] = s->device_s[t][d];
            in->line_s[t][d] = s->line_s[t][d];
        }
    }
}
