#include "engine/limits/mix.h"

#include <math.h>
#include <stdlib.h>

#include "base/buf.h"

struct mix_queue {
    double before, faster; /* stretch; speed after the change */
    double times;          /* queues afterwards, as a multiple of those before */
};

/* Nobody waits for longer than a cycle lasts. */
static double there_now(const struct mix_class *c, const struct mix_queue *q) {
    return fmin(q->before * c->demand_s, c->cycle_s);
}

static double there_then(const struct mix_class *c, const struct mix_queue *q) {
    double demand_s = fmin(c->demand_s, c->cycle_s);
    return fmax(there_now(c, q) * q->times, demand_s) / q->faster;
}

static double cycle_then(const struct mix_class *c, const struct mix_queue *q) {
    return c->cycle_s - there_now(c, q) + there_then(c, q);
}

/* Users at the station afterwards. */
static double queue_then(const struct mix_class *c, unsigned count, const struct mix_queue *q) {
    double sum = 0;
    for (unsigned i = 0; i < count; i++) {
        double cycle_s = cycle_then(&c[i], q);
        sum += cycle_s > 0 ? there_then(&c[i], q) / cycle_s : 0;
    }
    return sum;
}

/* A request waits for the same part of those at the station as before the change. */
static double throughput_then(const struct mix_class *c, unsigned count, double stretch, double faster) {
    enum { STEPS = 40 };
    struct mix_queue q = {stretch, faster, 0};
    double now = 0, sum = 0;
    for (unsigned i = 0; i < count; i++) now += there_now(&c[i], &q) / c[i].cycle_s;
    double part = now > 0 ? (stretch - 1) / now : 0, low = 0, high = (1 + part * count) / stretch;
    for (int i = 0; i < STEPS; i++) {
        q.times = (low + high) / 2;
        *(1 + part * queue_then(c, count, &q) > q.times * stretch ? &low : &high) = q.times;
    }
    for (unsigned i = 0; i < count; i++) {
        double cycle_s = cycle_then(&c[i], &q);
        sum += cycle_s > 0 ? 1 / cycle_s : 0;
    }
    return sum;
}

/* As many users who make the same requests in all, each the mean. */
static struct mix_class mean_of(const struct mix_class *c, unsigned count) {
    double per_s = 0, busy = 0;
    for (unsigned i = 0; i < count; i++) {
        per_s += 1 / c[i].cycle_s;
        busy += c[i].demand_s / c[i].cycle_s;
    }
    return (struct mix_class){c->window, count / per_s, busy / per_s};
}

double mix_factor(const struct mix_class *c, unsigned count, double stretch, double faster) {
    double differ = 0, same = 0;
    struct mix_class *alike = mem_alloc((count + 1) * sizeof *alike);
    for (unsigned from = 0, to; from < count; from = to) {
        for (to = from; to < count && c[to].window == c[from].window; to++) continue;
        for (unsigned i = from; i < to; i++) alike[i] = mean_of(c + from, to - from);
        differ += throughput_then(c + from, to - from, stretch, faster);
        same += throughput_then(alike + from, to - from, stretch, faster);
    }
    free(alike);
    return same > 0 ? differ / same : 1;
}
