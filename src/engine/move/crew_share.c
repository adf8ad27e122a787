#include <math.h>

#include "engine/move/crew_inside.h"

/* Processors that workers share with what serves a tier on the same machine: the server of a store, the
 * kernel's threads of a device in memory. */

static const int serving[] = {KVF_TIER_NVME, KVF_TIER_REMOTE};

/* So many want a processor for each that there is, and all go on as much slower; 1: there are enough. */
static double wanted(const struct crew *l, uint32_t workers) {
    double want = workers, have = INFINITY;
    for (size_t i = 0; i < sizeof serving / sizeof *serving; i++) {
        const struct scenario_figures *f = &l->setup.scenario->tier[serving[i]].service.processors;
        const double *chunks = l->station[serving[i]].chunks;
        if (!l->measured[serving[i]] || f->count < 2) continue;
        want += fmin(f->v[0], chunks[KVF_DIR_READ] + chunks[KVF_DIR_WRITE]);
        have = f->v[1];
    }
    return fmax(want / have, 1);
}

double crew_slows(const struct crew *l) {
    return wanted(l, l->copying + 1);
}

void crew_share(struct crew *l, uint64_t now_ns) {
    double part = 1 / wanted(l, l->copying);
    for (size_t i = 0; i < sizeof serving / sizeof *serving; i++)
        if (l->measured[serving[i]]) station_slow(&l->station[serving[i]], part, now_ns);
}
