/* The complete state of a run. Its parts have headers of their own and do not include this one.
 *
 * Threads: the control thread (the caller of engine_run: phases, sampling, commands), the generator
 * (arrivals), the workers (everything a request needs), the log thread (traces), and outside the
 * engine the database's writer. On a virtual clock the control thread does what generator and workers do.
 * Locks, in order; a thread that holds one takes only later ones:
 *   queue_lock   queue, slots, requests in service, users, workload, free flights. Held for an
 *                arrival, a completion or a sum of the counters (under 1 ms an interval).
 *   cache_lock   the caches and the tiers' places. Held for one decision.
 *   moved_lock   pending reports on this pod's blocks. Held for one report.
 *   writes.lock  the turns of entry writes. Held for one operation.
 *   events.lock  the first error and the list of events.
 *   compute's    the batch of the modelled GPU; taken inside its functions, which make no callbacks.
 * Everything else belongs to one thread or is atomic. */
#ifndef KVF_ENGINE_CORE_H
#define KVF_ENGINE_CORE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "engine/arrivals/dispatch.h"
#include "engine/arrivals/prepare.h"
#include "engine/control.h"
#include "engine/engine.h"
#include "engine/events.h"
#include "engine/pods/pods.h"
#include "engine/pods/routes.h"
#include "engine/pods/shards.h"
#include "engine/pods/slots.h"
#include "engine/service/service.h"

struct engine {
    const struct engine_setup *setup;
    const struct scenario *s;
    struct run_clock clock;
    struct preparation preparation;
    struct dispatch dispatch;
    struct service service;
    struct routes routes;
    struct events events;
    struct control control;
};

/* Which tiers there are, of which kind, and their capacity (describe.c). */
void engine_describe_tiers(const struct service *v, struct snapshot *snap);

/* Reports an error unless the identities hold that are true at the end of every run, whatever happened in it.
 * Control thread, when the workers have ended. */
void engine_check_sums(struct engine *e);

/* At the end of a simulated run: no request is counted as done whose bytes were not moved
 * (engine/limits/bound.h).
 */
void overload_check(struct engine *e);
/* Warns in the verdict of writes that found no room, from the results. */
void overload_warn(const struct engine *e, struct run_record *run);

/* When the run has ended: says so if an open loop could not be kept up with. */
void overload_finish(struct engine *e);

/* Whether stalls of the drive and of the store can be told: of pods on a virtual clock, which are counted
 * together, they cannot. */
static inline bool engine_sees_stalls(const struct engine *e) {
    return !run_clock_is_virtual(&e->clock) || e->s->fleet.pods == 1;
}

/* In a simulation chunks leave by whole entries: without a model of stalls a long silence is none. */
static inline bool engine_watches_stalls(const struct engine *e, int tier) {
    bool modelled = e->s->tier[tier].service.stalls_ms.count > 0;
    return engine_sees_stalls(e) && (modelled || !run_clock_is_virtual(&e->clock));
}

static inline bool engine_is_virtual(const struct engine *e) {
    return run_clock_is_virtual(&e->clock);
}
static inline uint64_t engine_now(const struct engine *e) {
    return run_clock_now(&e->clock);
}

#endif
