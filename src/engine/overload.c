/* Overload never looks like success: what a run asserts of its throughput, and what it says of want of room.
 */
#include <stdio.h>

#include "engine/core.h"
#include "engine/limits/bound.h"
#include "tier/station.h"

/* From here on what the warm-up did is told: the measured part is shorter than two and a half requests. */
#define CARRIED 0.2

static bool moved_by_requests(int cause) {
    return cause != KVF_CAUSE_DEMOTION && cause != KVF_CAUSE_PROMOTION && cause != KVF_CAUSE_PRECONDITION;
}

/* Of simulations, whose tiers have the bandwidths that they are given. */
void overload_check(struct engine *e) {
    const struct counters *c = e->counters; /* of the one worker */
    struct bound_input in = {.owed_bytes = counters_get(&c->owed_bytes), .run_ns = engine_now(e)};
    struct err broken = {0};
    if (!engine_is_virtual(e)) return;
    for (int t = 0; t < KVF_TIERS; t++) {
        /* one that was calibrated has a rate for each depth, and a spread */
        in.on[t] = e->tiers[t] != NULL && !station_measured(&e->s->tier[t].service, false) &&
                   !station_measured(&e->s->tier[t].service, true);
        in.link[t] = e->s->tier[t].emulation;
        for (int d = 0; d < KVF_DIRS; d++)
            for (int cause = 0; cause < KVF_CAUSES; cause++) {
                uint64_t n = counters_get(&c->io[t][d][cause].bytes);
                in.bytes[t][d] += n;
                if (moved_by_requests(cause)) in.moved_bytes += n;
            }
    }
    if (bound_check(&in, &broken) != 0) engine_error(e, broken.text);
}

/* "gpu 12, cpu 3" */
static const char *by_tier(const struct run_record *run, char *out, size_t len) {
    size_t used = 0;
    out[0] = '\0';
    for (int t = 0; t < KVF_TIERS; t++) {
        char metric[64];
        snprintf(metric, sizeof metric, "%s_fell_through", tier_name((enum kvf_tier)t));
        double n = result_value(&run->results, metric);
        if (n > 0 && used < len)
            used += (size_t)snprintf(out + used, len - used, "%s%s %.0f", used ? ", " : "",
                                     tier_name((enum kvf_tier)t), n);
    }
    return out;
}

void overload_warn(const struct engine *e, struct run_record *run) {
    char tiers[80];
    double fell = result_value(&run->results, "fell_through"),
           refused = result_value(&run->results, "refused");
    double failed = result_value(&run->results, "requests_refused");
    double dropped = result_value(&run->results, "requests_dropped"),
           skipped = result_value(&run->results, "copies_skipped");
    if (refused > 0)
        verdict_warn(
            &run->verdict,
            "%.0f writes were refused, larger than every tier or without room in time, and %.0f requests "
            "failed as a result; they are not in the throughput and miss their targets",
            refused, failed);
    double gone = result_value(&run->results, "requests_failed") - failed;
    if (gone > 0 && e->s->workload.phase == KVF_WORKLOAD_PHASE_DECODE)
        verdict_warn(
            &run->verdict,
            "%.0f requests failed, nearly all because the entry that they were to read was no longer in the "
            "cache; make its last tier larger",
            gone);
    if (dropped > 0)
        verdict_warn(
            &run->verdict,
            "%.0f arrivals were dropped because the queue was full (engine.queue_limit); they are not in "
            "the throughput and miss their targets",
            dropped);
    if (skipped > 0)
        verdict_warn(&run->verdict,
                     "%.0f copies to slower tiers were skipped for want of room; less was written than "
                     "cache.placement asks for",
                     skipped);
    double carried = result_value(&run->results, "tokens_carried_ratio");
    if (carried >= CARRIED)
        verdict_warn(
            &run->verdict,
            "%.0f %% of the tokens counted are work done before the measured part, which is too short for "
            "requests of this length; make run.duration several times as long",
            100 * carried);
    if (fell > 0)
        verdict_warn(&run->verdict,
                     "%.0f writes waited in vain for room and fell through to a lower tier (%s); the load is "
                     "more than the tiers take in, whatever the throughput",
                     fell, by_tier(run, tiers, sizeof tiers));
}
