#include "scenario/loading.h"

#include <inttypes.h>
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

/* Parts of one kind that are gone when an outage begins, itself among them; *twice: it is gone already. */
static uint64_t gone_with(const struct scenario *s, uint32_t number, bool *twice) {
    const struct scenario_outage *o = &s->fleet.outage[number];
    uint64_t gone = 0;
    for (uint32_t i = 0; i < s->fleet.outages; i++) {
        const struct scenario_outage *other = &s->fleet.outage[i];
        bool meets = other->at_ns <= o->at_ns && o->at_ns < other->at_ns + other->for_ns;
        bool pods = o->pod != KVF_UNSET && other->pod != KVF_UNSET;
        bool routers = o->router != KVF_UNSET && other->router != KVF_UNSET;
        if (!meets) continue;
        gone += pods || routers;
        bool same = (pods && o->pod == other->pod) || (routers && o->router == other->router) ||
                    (o->index && other->index) || (o->remote && other->remote);
        *twice = *twice || (i != number && same);
    }
    return gone;
}

static void check_outage(struct loading *l, uint32_t number) {
    const struct scenario *s = l->s;
    const struct scenario_outage *o = &s->fleet.outage[number];
    struct place at = place_of_key(l, "fleet.outages", NULL);
    char key[40];
    bool twice = false;
    snprintf(key, sizeof key, "fleet.outages[%u]", number);
    uint64_t gone = gone_with(s, number, &twice);
    if ((o->pod != KVF_UNSET) + (o->router != KVF_UNSET) + o->index + o->remote != 1)
        problem_add(l, at, key, "takes exactly one of pod, router, index and remote");
    else if (o->pod != KVF_UNSET && o->pod >= s->fleet.pods)
        problem_add(l, at, key, "there is no pod %" PRIu64 "; the last is %" PRIu64, o->pod,
                    s->fleet.pods - 1);
    else if (o->router != KVF_UNSET && o->router >= s->fleet.routers)
        problem_add(l, at, key, "there is no router %" PRIu64 "; the last is %" PRIu64, o->router,
                    s->fleet.routers - 1);
    else if (o->index && !(traits_routing(s->fleet.routing)->caps & ROUTING_ASKS_INDEX))
        problem_add(l, at, key, "routing %s asks no index; take precise",
                    traits_routing(s->fleet.routing)->word);
    else if (o->remote && !s->tier[KVF_TIER_REMOTE].on)
        problem_add(l, at, key, "there is no remote tier; set tiers.remote.capacity");
    else if (o->remote && scenario_pods_are_ranks(s))
        problem_add(
            l, at, key,
            "the remote tier of real pods is a server, which kvfall does not stop; name a pod, a router or "
            "the index, or set mode: simulate");
    else if (twice)
        problem_add(l, at, key, "it is gone already at that time; let it come back first");
    else if (gone == (o->pod != KVF_UNSET ? s->fleet.pods : s->fleet.routers) && !o->index && !o->remote)
        problem_add(l, at, key, "none would be left; leave one of them up");
}

static void check_index(struct loading *l) {
    const struct scenario *s = l->s;
    struct place place = place_of_key(l, "fleet.index.url", "fleet.index.backend");
    struct err e = {0};
    struct url u;
    bool asks = (traits_routing(s->fleet.routing)->caps & ROUTING_ASKS_INDEX) != 0;
    if (s->fleet.index.backend != KVF_INDEX_RESP || !asks) return;
    if (s->fleet.index.spread_ns > 0)
        problem_of(l, "fleet.index.spread", "fleet.index.backend",
                   "routers ask one server, which has one staleness; set fleet.index.spread: 0s");
    if (!s->fleet.index.url[0]) {
        problem_add(l, place, "fleet.index.url",
                    "missing; backend resp needs a server, such as redis://127.0.0.1:6379");
        return;
    }
    int rc = url_parse(s->fleet.index.url, &u, &e);
    if (rc == 0) rc = check_server_url(&u, &e);
    if (rc != 0) problem_add(l, place, "fleet.index.url", "is not the address of a server: %s", e.text);
}

/* Pods that are ranks: not all of a simulation's parts are there. */
static void check_real(struct loading *l) {
    const struct scenario *s = l->s;
    if (s->tier[KVF_TIER_REMOTE].on && !scenario_backend_has(s, KVF_TIER_REMOTE, BACKEND_SERVER))
        problem_of(l, "tiers.remote.backend", "mode",
                   "real pods share a server; take resp or s3, or set mode: simulate");
    else if (s->tier[KVF_TIER_REMOTE].on && s->cache.granularity != KVF_GRANULARITY_BLOCK)
        problem_of(l, "cache.granularity", "tiers.remote.capacity",
                   "real pods find blocks that others have stored; set cache.granularity: block");
}

/* Messages that take time: nobody knows at once what happens elsewhere. */
static void check_delay(struct loading *l) {
    const struct scenario *s = l->s;
    bool asks = (traits_routing(s->fleet.routing)->caps & ROUTING_ASKS_INDEX) != 0;
    if (asks && s->fleet.index.staleness_ns == 0)
        problem_of(l, "fleet.index.staleness", "fleet.delay",
                   "the index cannot know at once what messages tell it; set it to at least fleet.delay");
    bool timed = s->workload.arrival.process == KVF_ARRIVAL_TRACE ||
                 (scenario_source_has(s, SOURCE_RECORDED) && !scenario_at_rate(s));
    if (timed && s->workload.arrival.speedup == 0)
        problem_of(
            l, "workload.arrival.speedup", "fleet.delay",
            "0 makes a row arrive as soon as a slot is free, which routers do not know at once; set it "
            "to more than 0, or leave out fleet.delay");
    if (scenario_policy_has(s, POLICY_LOOKS_AHEAD))
        problem_of(l, "fleet.delay", "cache.eviction",
                   "belady looks ahead in the order of all pods' requests, which messages do not tell; take "
                   "another policy");
}

void check_fleet(struct loading *l) {
    const struct scenario *s = l->s;
    const struct traits_routing *routing = traits_routing(s->fleet.routing);

    if (s->fleet.pods < 2) return;
    if (s->ranks.users == KVF_DEAL_PER_RANK)
        problem_of(l, "ranks.users", "fleet.pods",
                   "the users of a fleet are those of its routers; set ranks.users: total");
    if (scenario_pods_are_ranks(s))
        check_real(l);
    else if (s->fleet.delay_ns > 0)
        check_delay(l);
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
    check_index(l);
    for (uint32_t i = 0; i < s->fleet.outages; i++) check_outage(l, i);
}
