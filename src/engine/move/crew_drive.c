#include <math.h>

#include "engine/move/crew_inside.h"
#include "scenario/budget.h"

#define FACTOR_LEAST 1e-3

/* Chunks of a directory are served as those of a drive are. */
bool crew_is_drive(const struct crew *l, int tier) {
    return tier == KVF_TIER_NVME || (tier == KVF_TIER_REMOTE && !l->values);
}

static bool room_is_new(const struct crew *l, int tier) {
    return l->written_bytes[tier] < scenario_usable_bytes(l->setup.scenario, (enum kvf_tier)tier);
}

/* The piece's bytes, times the factor of its service time at that tier. Room on the drive that was written
 * before takes less time. Chunks of an operation at a drive or in a directory are fast or slow together: each
 * has the operation's factor, and one of a link its own. */
double crew_bytes_served(struct crew *l, const struct piece *p, int tier) {
    const struct scenario *s = l->setup.scenario;
    struct station *at = &l->station[p->op->whole ? CREW_OWN : tier];
    double *factor = &p->op->factor[p->dir], bytes = (double)p->bytes;
    if (!crew_is_drive(l, tier)) return bytes * station_factor(at, p->dir);
    if (!(*factor > 0)) {
        *factor = fmax(station_factor(at, p->dir), FACTOR_LEAST);
        if (station_rested(at, run_clock_now(l->setup.clock)))
            *factor *= s->tier[tier].service.rested[p->dir];
    }
    bytes *= *factor;
    if (p->dir != KVF_DIR_WRITE || !room_is_new(l, tier)) return bytes;
    l->written_bytes[tier] += p->bytes;
    return bytes * fmax(s->tier[tier].service.first_write, 0.01);
}

/* A write that begins prepares its file. Meanwhile its worker sees nothing else; what that waits for is
 * behind the chunks that are at the drive, fewer of them as time goes on. */
void crew_begin_write(struct crew *l, struct hand *hand, struct handled *o) {
    int tier = o->t.leg[KVF_DIR_WRITE].tier;
    if (o->begun || tier < 0 || !crew_is_drive(l, tier)) return;
    const struct scenario_begins *b = &l->setup.scenario->tier[tier].service.begins[room_is_new(l, tier)];
    o->begun = true;
    if (b->us.count == 0) return;
    uint64_t slice = rng_range(&l->begins, 0, b->us.count - 1);
    double behind_us = slice < b->behind_us.count ? b->behind_us.v[slice] : 0;
    double chunks = station_chunks(&l->station[tier], hand->until_ns);
    if (b->depth > 0) chunks = fmin(chunks, b->depth);
    hand->until_ns += (uint64_t)((b->us.v[slice] + behind_us * chunks) * 1e3);
}
