/* Requests in service, as a snapshot has them. */
#include <math.h>
#include <stdio.h>

#include "engine/core.h"
#include "fleet/fleet.h"

#define X(id, name) name,
static const char *const stage_names[] = {FLIGHT_STAGE_LIST(X)};
#undef X

static double since_ms(uint64_t now_ns, uint64_t then_ns) {
    return now_ns > then_ns ? (double)(now_ns - then_ns) / (double)KVF_NS_PER_MS : 0;
}

_Static_assert(FLIGHT_ENDED == SNAPSHOT_STEPS + 1, "the steps are those between queued and ended");

/* Where a request in that stage has spent its time, and where its entries were found. */
static void request_way(const struct flight *f, enum flight_stage stage, uint64_t now_ns,
                        struct snapshot_request *r) {
    double left_ms = r->service_ms; /* its worker may be ahead of this moment */
    for (int s = 0; s < SNAPSHOT_STEPS; s++)
        r->step_ms[s] =
            (double)atomic_load_explicit(&f->spent_ns[s + 1], memory_order_acquire) / (double)KVF_NS_PER_MS;
    uint64_t since = atomic_load_explicit(&f->since_ns, memory_order_relaxed);
    if (since > 0) r->step_ms[stage - 1] += since_ms(now_ns, since);
    for (int s = 0; s < SNAPSHOT_STEPS; s++) {
        r->step_ms[s] = fmin(r->step_ms[s], left_ms);
        left_ms -= r->step_ms[s];
    }
    for (int t = 0; t < KVF_TIERS; t++)
        r->found[t] = atomic_load_explicit(&f->tier_hits[t], memory_order_relaxed);
    for (int t = 0; t < KVF_TIERS; t++)
        r->read_bytes[t] = atomic_load_explicit(&f->read_bytes[t], memory_order_relaxed);
    r->written_bytes = atomic_load_explicit(&f->written_bytes, memory_order_relaxed);
    r->not_found = atomic_load_explicit(&f->misses, memory_order_relaxed);
}

static void request_user(const struct engine *e, const struct flight *f, struct snapshot_request *r) {
    struct session_tally t = session_told(&e->session, f->req.user);
    r->asks = (struct snapshot_user){.done = t.done,
                                     .failed = t.failed,
                                     .last_ms = t.done ? (double)t.last_ms : KVF_MISSING,
                                     .mean_ms = t.done ? t.sum_ms / t.done : KVF_MISSING,
                                     .worst_ms = t.done ? (double)t.worst_ms : KVF_MISSING};
}

static void request_route(const struct flight *f, struct snapshot_request *r) {
    snprintf(r->routed_by, sizeof r->routed_by, "%s", fleet_reason_word((enum fleet_reason)f->reason));
    r->pod = f->pod;
    r->router = f->router;
    r->expected_blocks = f->expected_blocks;
}

/* One that has ended is left out, as it is counted as done by then; one that its worker has still in the
 * mail is about to look its context up. Once the run ends nobody is served any more. */
void dispatch_requests(const struct engine *e, uint64_t now_ns, struct snapshot *snap) {
    bool trace = !workload_knows_users(e->workload);
    snap->requests_known = true;
    if (atomic_load(&e->stopping)) return;
    for (const struct flight *f = e->service_first; f && snap->requests < SNAPSHOT_REQUESTS;
         f = f->service_next) {
        struct snapshot_request *r = &snap->request[snap->requests];
        int tier;
        enum flight_stage stage = flight_shown(f, &tier);
        if (stage == FLIGHT_ENDED) continue;
        if (stage == FLIGHT_QUEUED) stage = FLIGHT_LOOKUP;
        *r = (struct snapshot_request){.no_user = trace,
                                       .no_class = trace && !e->s->qos.classes_set,
                                       .id = f->req.id,
                                       .user = f->req.user,
                                       .turn = f->req.turn,
                                       .context_tokens = flight_context_tokens(f),
                                       .generate_tokens = f->req.generate_tokens,
                                       .age_ms = since_ms(now_ns, f->req.arrival_ns),
                                       .service_ms = since_ms(now_ns, f->slot_ns),
                                       .klass = f->req.klass,
                                       .tier = tier};
        request_way(f, stage, now_ns, r);
        if (!trace) request_user(e, f, r);
        if (e->s->fleet.pods > 1) request_route(f, r);
        snprintf(r->step, sizeof r->step, "%s", stage_names[stage]);
        snap->requests++;
    }
}
