#include "engine/move/crew_rates.h"

#include <math.h>

#include "base/terms.h"
#include "engine/move/crew.h"
#include "tier/station.h"

double crew_copy_rate(const struct scenario *s, uint32_t copying, enum kvf_dir dir) {
    const struct scenario_service *v = &s->tier[KVF_TIER_CPU].service;
    return station_rate(&v->depths, &v->rates[dir], copying) / copying;
}

double crew_staging_part(const struct scenario *s) {
    double alone = s->tier[KVF_TIER_CPU].service.rates[KVF_DIR_READ].v[0];
    double staging = s->tier[KVF_TIER_NVME].service.staging_mb_per_s;
    if (!(staging > 0)) staging = s->tier[KVF_TIER_REMOTE].service.staging_mb_per_s;
    return staging > 0 && staging < alone ? staging / alone : 1;
}

uint64_t crew_own_gap_ns(const struct scenario *s) {
    const struct scenario_service *v = &s->tier[KVF_TIER_GPU].service;
    return kvf_min(v->own_gap_ns, v->own_latency_ns);
}

uint64_t crew_latency_ns(const struct scenario *s, int tier, double times) {
    if (tier == KVF_TIER_REMOTE) {
        uint64_t all = s->tier[tier].emulation.latency_ns, lookup = s->tier[tier].service.lookup_ns;
        return (uint64_t)((double)(all - kvf_min(all, lookup)) * times);
    }
    if (tier != CREW_OWN) return (uint64_t)((double)s->tier[tier].emulation.latency_ns * times);
    double whole = (double)s->tier[KVF_TIER_GPU].service.own_latency_ns * times;
    return (uint64_t)fmax(whole - (double)crew_own_gap_ns(s), 0);
}

bool crew_wanted(const struct scenario *s) {
    for (int t = 0; t < KVF_TIERS; t++)
        if (s->tier[t].on && station_measured(&s->tier[t].service, false)) return true;
    return false;
}
