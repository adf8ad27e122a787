/* Requests in service, and the user that is followed, as a snapshot has them. */
#include <math.h>
#include <stdio.h>

#include "engine/arrivals/dispatch.h"
#include "engine/service/service.h"
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

static struct snapshot_user user_told(const struct dispatch *d, uint64_t user) {
    struct users_tally t = users_told(&d->users, workload_own(d->workload, user));
    return (struct snapshot_user){.done = t.done,
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

/* ---- the user that is followed ---- */

void follow_next(struct dispatch *d, uint64_t user, uint64_t at_ns) {
    if (d->follow.known && workload_number(d->workload, user) == d->follow.user) d->follow.next_ns = at_ns;
}

void follow_ended(struct dispatch *d, const struct flight *f, uint64_t now_ns) {
    if (!d->follow.known || f->req.user != d->follow.user) return;
    uint64_t at = d->follow.ended++ % SNAPSHOT_ENDED;
    struct snapshot_ended *x = &d->follow.end[at];
    d->follow.ended_ns[at] = now_ns;
    *x = (struct snapshot_ended){.turn = f->req.turn,
                                 .context_tokens = flight_context_tokens(f),
                                 .generate_tokens = f->req.generate_tokens,
                                 .e2e_ms = since_ms(now_ns, f->req.arrival_ns),
                                 .klass = f->req.klass,
                                 .not_found = atomic_load_explicit(&f->misses, memory_order_relaxed),
                                 .failed = f->failed};
    for (int t = 0; t < KVF_TIERS; t++)
        x->found[t] = atomic_load_explicit(&f->tier_hits[t], memory_order_relaxed);
}

static void follow_take(const struct dispatch *d, const struct service *v, uint64_t now_ns,
                        struct snapshot_follow *out) {
    static const enum snapshot_follow_state states[] = {[USERS_IDLE] = FOLLOW_IDLE,
                                                        [USERS_WAITING] = FOLLOW_WAITING,
                                                        [USERS_ASKING] = FOLLOW_ASKING,
                                                        [USERS_ENDED] = FOLLOW_ENDED,
                                                        [USERS_UNASKED] = FOLLOW_ENDED};
    const struct follow *w = &d->follow;
    uint64_t own = workload_own(d->workload, w->user);
    if (!w->known) return;
    *out = (struct snapshot_follow){
        .known = true, .user = w->user, .next_in_s = KVF_MISSING, .asks = user_told(d, w->user)};
    if (!workload_open_loop(d->workload) && own < d->users.known) out->state = states[d->users.state[own]];
    if (out->state == FOLLOW_WAITING && w->next_ns != KVF_NEVER)
        out->next_in_s = since_ms(w->next_ns, now_ns) / 1e3;
    for (const struct flight *f = v->first; f; f = f->service_next) out->in_service += f->req.user == w->user;
    for (; out->ended < SNAPSHOT_ENDED && out->ended < w->ended; out->ended++) {
        uint64_t at = (w->ended - 1 - out->ended) % SNAPSHOT_ENDED;
        out->end[out->ended] = w->end[at];
        out->end[out->ended].ago_s = since_ms(now_ns, w->ended_ns[at]) / 1e3;
    }
}

/* One that has ended is left out, as it is counted as done by then; one that its worker has still in the
 * mail is about to look its context up. Once the run ends nobody is served any more. */
void dispatch_requests(const struct dispatch *d, const struct service *v, uint64_t now_ns,
                       struct snapshot *snap) {
    bool trace = !workload_knows_users(d->workload);
    snap->requests_known = true;
    follow_take(d, v, now_ns, &snap->follow);
    if (atomic_load(&v->stopping)) return;
    for (const struct flight *f = v->first; f && snap->requests < SNAPSHOT_REQUESTS; f = f->service_next) {
        struct snapshot_request *r = &snap->request[snap->requests];
        int tier;
        enum flight_stage stage = flight_shown(f, &tier);
        if (stage == FLIGHT_ENDED) continue;
        if (stage == FLIGHT_QUEUED) stage = FLIGHT_LOOKUP;
        *r = (struct snapshot_request){.no_user = trace,
                                       .no_class = trace && !v->s->qos.classes_set,
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
        if (!trace) r->asks = user_told(d, f->req.user);
        if (v->s->fleet.pods > 1) request_route(f, r);
        snprintf(r->step, sizeof r->step, "%s", stage_names[stage]);
        snap->requests++;
    }
}
