#include "scenario/loading.h"

#include <stdio.h>

/* Keys that contradict a fleet of pods, and keys that a routing needs. */

/* Preparation writes to one cache, so a fleet has none. */
static void check_fleet_preparation(struct loading *l) {
    const struct scenario *s = l->s;
    if (s->run.precondition_bytes > 0)
        problem_of(l, "run.precondition", "fleet.pods", "a fleet is not preconditioned; leave it out");
    if (s->run.prepopulate > 0)
        problem_of(l, "run.prepopulate", "fleet.pods",
                   "the tiers of a fleet begin empty; leave it out, and give the run a warm-up");
    if (s->workload.phase == KVF_WORKLOAD_PHASE_DECODE)
        problem_of(l, "workload.phase", "fleet.pods",
                   "decode reads entries written before the run, and a fleet begins empty; take both or "
                   "prefill");
    if (scenario_retrieves(s))
        problem_of(l, "workload.rag.probability", "fleet.pods",
                   "a fleet keeps no documents; set workload.rag.documents: 0");
}

void check_fleet(struct loading *l) {
    const struct scenario *s = l->s;
    const struct traits_routing *routing = traits_routing(s->fleet.routing);

    if (s->fleet.pods < 2) return;
    if (s->mode != KVF_MODE_SIMULATE)
        problem_of(l, "fleet.pods", "mode", "several pods are simulated; set mode: simulate, or pods: 1");
    if ((routing->caps & ROUTING_BY_BLOCKS) && s->cache.granularity != KVF_GRANULARITY_BLOCK)
        problem_of(l, "fleet.routing", "cache.granularity",
                   "%s goes by the blocks of a request; set cache.granularity: block", routing->word);
    if ((routing->caps & ROUTING_BY_BLOCKS) && s->fleet.prefix_weight == 0 && s->fleet.load_weight == 0)
        problem_of(l, "fleet.weights.prefix", "fleet.weights.load",
                   "both weights are 0, and %s needs one of them", routing->word);
    if (s->tier[KVF_TIER_REMOTE].on && s->cache.placement == KVF_PLACEMENT_INCLUSIVE)
        problem_of(
            l, "cache.placement", "fleet.pods",
            "the remote tier that pods share takes what falls, not copies; take waterfall or spillover");
    check_fleet_preparation(l);
}
