#include "engine/scale/saturation.h"

#include <math.h>

#include "record/snapshot.h"

static double at_most_1(double v) {
    return v < 1 ? v : 1;
}

/* NaN is what is not there. */
static double larger(double a, double b) {
    return fmax(a, b);
}

static double latency_of(const struct saturation_input *in) {
    double worst = KVF_MISSING;
    for (uint32_t k = 0; k < in->classes; k++) {
        const struct saturation_class *c = &in->klass[k];
        bool silent = !kvf_present(c->p95_ms);
        if (!(c->target_ms > 0) || (silent && !(c->oldest_wait_ms > 0))) continue;
        worst = larger(worst, at_most_1((silent ? c->oldest_wait_ms : c->p95_ms) / c->target_ms));
    }
    return worst;
}

static double queue_of(const struct saturation_input *in) {
    double growth = 0, in_service = (double)in->in_service, waiting = (double)in->waiting;
    double outside = kvf_present(in->outside) ? fmin(in->outside, in_service) : 0;
    if (!in->can_wait && in->waiting == 0 && !kvf_present(in->outside)) return KVF_MISSING;
    if (in->waiting > in->waiting_before && in->arrived > 0)
        growth = at_most_1((double)(in->waiting - in->waiting_before) / (double)in->arrived);
    return larger(growth, waiting + outside > 0 ? (waiting + outside) / (waiting + in_service) : 0);
}

static double device_of(const struct saturation_input *in) {
    double busiest = larger(in->device_busy, in->gpu_load);
    for (int t = 0; t < KVF_TIERS; t++) busiest = larger(busiest, in->link_busy[t]);
    return kvf_present(busiest) ? at_most_1(busiest) : KVF_MISSING;
}

struct saturation saturation_of(const struct saturation_input *in) {
    struct saturation s = {
        .value = KVF_MISSING, .latency = latency_of(in), .queue = queue_of(in), .device = device_of(in)};
    const double part[][2] = {
        {in->weight_latency, s.latency}, {in->weight_queue, s.queue}, {in->weight_device, s.device}};
    double sum = 0, weights = 0;
    for (unsigned i = 0; i < sizeof part / sizeof part[0]; i++) {
        if (!kvf_present(part[i][1])) continue;
        sum += part[i][0] * part[i][1];
        weights += part[i][0];
    }
    if (weights > 0) s.value = sum / weights;
    return s;
}
