#include "engine/move/crew_reuse.h"

#include "base/units.h"
#include "tier/station.h"

uint64_t crew_reuse_begin(struct crew_reuse *r, struct cache_key key) {
    if (!r) return UINT64_MAX;
    uint64_t n = cache_key_hash(key) % CREW_REUSE_SLOTS, at = r->slot[n].at;
    bool known = at > 0 && cache_key_equal(r->slot[n].key, key);
    r->slot[n].key = key;
    r->slot[n].at = r->copied + 1;
    return known ? r->copied + 1 - at : UINT64_MAX;
}

void crew_reuse_copied(struct crew_reuse *r, uint64_t bytes) {
    if (r) r->copied += bytes;
}

double crew_reuse_speed(const struct scenario_service *service, uint64_t distance) {
    const struct scenario_figures *at = &service->reuse_distances, *rates = &service->reuse_rates;
    double mib = (double)distance / (double)KVF_MIB;
    uint64_t count = at->count < rates->count ? at->count : rates->count;
    if (count == 0 || mib > at->v[count - 1]) return 1;
    if (mib <= at->v[0]) return rates->v[0];
    return station_between(at, rates, mib);
}
