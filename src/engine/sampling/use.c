/* Use of requests and tiers over a time: differences of two readings of integrals. */
#include <math.h>
#include <stdio.h>

#include "base/units.h"
#include "engine/service/service.h"
#include "engine/move/simmover.h"
#include "engine/sampling/sampler.h"
#include "tier/channels.h"
#include "tier/station.h"

/* Of all pods here: of a tier's channels, or (-1) of the gpu's own memory. */
static uint64_t simulated_ns(const struct service *v, int tier, enum kvf_dir dir) {
    uint64_t sum = 0;
    if (tier == KVF_TIER_REMOTE && v->store_link) return channels_used_ns(v->store_link, dir, service_now(v));
    for (uint32_t i = 0; i < v->pod_count; i++) {
        const struct simmover *m = v->workers[i].simulated;
        sum += tier < 0 ? simmover_memory_used_ns(m, dir) : simmover_used_ns(m, tier, dir);
    }
    return sum;
}

/* Pods of a rank whose times are summed: a tier that all share has its own. */
static double summed(const struct service *v, int tier) {
    bool one = !service_is_virtual(v) || (tier == KVF_TIER_REMOTE && v->store_link);
    return one ? 1 : (double)v->s->fleet.pods;
}

void use_take(struct service *v, struct reading *r) {
    for (int u = 0; u < USAGES; u++) r->usage[u] = usage_read(&v->usage[u], r->run_ns);
    bool simulated = v->workers[0].simulated != NULL;
    for (int d = 0; d < KVF_DIRS; d++) r->memory_ns[d] = simulated ? simulated_ns(v, -1, (enum kvf_dir)d) : 0;
    for (int t = 0; t < KVF_TIERS; t++) {
        const struct tier *tier = v->tiers[t];
        if (!tier) continue;
        for (int d = 0; d < KVF_DIRS; d++)
            r->link_ns[t][d] = simulated            ? simulated_ns(v, t, (enum kvf_dir)d)
                               : tier->ops->used_ns ? tier->ops->used_ns(tier, (enum kvf_dir)d, r->run_ns)
                                                    : 0;
    }
}

/* Of readings that belong to two moments a little apart: nothing is used for longer than all the time. */
static double share(uint64_t from_ns, uint64_t to_ns, double wall_ns) {
    if (!(wall_ns > 0)) return KVF_MISSING;
    return to_ns > from_ns ? fmin(1, (double)(to_ns - from_ns) / wall_ns) : 0;
}

static double mean(uint64_t from_ns, uint64_t to_ns, double wall_ns) {
    if (!(wall_ns > 0)) return KVF_MISSING;
    return to_ns > from_ns ? (double)(to_ns - from_ns) / wall_ns : 0;
}

static double both(double read, double write, bool full) {
    return full ? fmax(read, write) : fmin(1, read + write);
}

/* Directions that have a limit together are full before either is. */
static double joint(const struct scenario *s, int t, double read, double write) {
    const struct scenario_emulation *link = &s->tier[t].emulation;
    const struct scenario_service *service = &s->tier[t].service;
    return fmin(1, read * station_joint(service, link, KVF_DIR_READ) +
                       write * station_joint(service, link, KVF_DIR_WRITE));
}

/* `wall_ns` is the time of all ranks that are in the readings, each of which has such a tier. */
static void tier_use(const struct service *v, const struct reading *from, const struct reading *to, int t,
                     double wall_ns, struct use *out) {
    const struct usage_sums *a = &from->usage[t], *b = &to->usage[t];
    bool link = v->tiers[t]->ops->used_ns != NULL;
    for (int d = 0; d < KVF_DIRS; d++)
        out->busy[t][d] = link ? share(from->link_ns[t][d], to->link_ns[t][d], wall_ns * summed(v, t))
                               : share(a->busy_ns[d], b->busy_ns[d], wall_ns);
    out->in_flight[t] = mean(a->chunk_ns[KVF_DIR_READ] + a->chunk_ns[KVF_DIR_WRITE],
                             b->chunk_ns[KVF_DIR_READ] + b->chunk_ns[KVF_DIR_WRITE], wall_ns) *
                        (double)to->ranks;
    double read = out->busy[t][KVF_DIR_READ], write = out->busy[t][KVF_DIR_WRITE];
    bool full = v->s->tier[t].emulation.duplex == KVF_DUPLEX_FULL;
    out->tier_busy[t] = link ? fmax(both(read, write, full), joint(v->s, t, read, write))
                             : share(a->any_ns, b->any_ns, wall_ns);
}

/* An emulated tier's figures are those of the link to it: a gpu's, or a server's, emulated or not.
 * Calibration measures a gpu's own memory beside it. A real gpu's chunks are told apart by the buffers that
 * they have. */
static void link_use(const struct service *v, const struct reading *from, const struct reading *to, int t,
                     double wall_ns, struct use *out) {
    bool gpu = t == KVF_TIER_GPU, timed = v->tiers[t]->ops->used_ns != NULL || !gpu;
    const struct usage_sums *a = from->usage, *b = to->usage;
    if (t != KVF_TIER_GPU && t != KVF_TIER_REMOTE) return;
    for (int d = 0; d < KVF_DIRS; d++) {
        out->link_busy[t][d] =
            timed ? out->busy[t][d] : share(a[USAGE_LINK].busy_ns[d], b[USAGE_LINK].busy_ns[d], wall_ns);
        if (!gpu) continue;
        out->memory_busy[d] =
            timed ? share(from->memory_ns[d], to->memory_ns[d], wall_ns * summed(v, t))
                  : share(a[USAGE_GPU_MEMORY].busy_ns[d], b[USAGE_GPU_MEMORY].busy_ns[d], wall_ns);
    }
    out->link_any[t] = timed ? out->tier_busy[t] : share(a[USAGE_LINK].any_ns, b[USAGE_LINK].any_ns, wall_ns);
    if (gpu && timed)
        out->memory_any = station_measured(&v->s->tier[t].service, true)
                              ? both(out->memory_busy[KVF_DIR_READ], out->memory_busy[KVF_DIR_WRITE], false)
                              : KVF_MISSING;
    else if (gpu)
        out->memory_any = share(a[USAGE_GPU_MEMORY].any_ns, b[USAGE_GPU_MEMORY].any_ns, wall_ns);
}

void use_between(const struct service *v, const struct reading *from, const struct reading *to,
                 struct use *out) {
    double wall_ns = (double)(to->run_ns - from->run_ns);
    uint64_t waiting[2] = {0}, service[2] = {0};
    for (uint32_t k = 0; k < v->s->qos.classes; k++) {
        const struct class_counts *a = &from->klass[k], *b = &to->klass[k];
        out->class_waiting[k] = mean(a->waiting_ns, b->waiting_ns, wall_ns);
        out->class_in_service[k] = mean(a->service_ns, b->service_ns, wall_ns);
        waiting[0] += a->waiting_ns, waiting[1] += b->waiting_ns;
        service[0] += a->service_ns, service[1] += b->service_ns;
    }
    out->waiting = mean(waiting[0], waiting[1], wall_ns);
    out->in_service = mean(service[0], service[1], wall_ns);
    out->memory_any = out->memory_busy[0] = out->memory_busy[1] = KVF_MISSING;
    for (int t = 0; t < KVF_TIERS; t++) {
        out->link_any[t] = out->link_busy[t][0] = out->link_busy[t][1] = KVF_MISSING;
        if (v->tiers[t]) {
            tier_use(v, from, to, t, wall_ns * (double)to->ranks, out);
            link_use(v, from, to, t, wall_ns * (double)to->ranks, out);
        } else {
            out->in_flight[t] = out->tier_busy[t] = out->busy[t][0] = out->busy[t][1] = KVF_MISSING;
        }
    }
}

/* A drive takes gigabytes in a second. */
static const uint64_t written_look_ns = 20 * KVF_NS_PER_MS;

static bool limits_writes(const struct service *v) {
    return v->s->run.max_written_bytes > 0 && !service_is_virtual(v);
}

uint64_t use_written_look_ns(const struct service *v) {
    return limits_writes(v) ? written_look_ns : KVF_NEVER;
}

bool use_written_out(const struct service *v, bool prepares, char why[USE_WHY]) {
    uint64_t most = v->s->run.max_written_bytes;
    char size[40];
    if (!limits_writes(v) ||
        counters_bytes(v->counters, v->counter_count, KVF_TIER_NVME, KVF_DIR_WRITE) < most)
        return false;
    snprintf(why, USE_WHY, "%s were written to nvme%s, as many as run.max_written allows",
             units_size_human((double)most, size, sizeof size), prepares ? " in the preparation" : "");
    return true;
}
