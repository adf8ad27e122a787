#include "engine/pods/outages.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "engine/core.h"
#include "engine/pipeline/compute.h"

#define RECOVERED 0.1

enum state { TO_COME, GOING_ON, OVER };

struct figure {
    double before, recovered_s; /* since the begin of the outage; missing: not yet */
    bool worse;                 /* at the end of the last interval */
};
struct outage {
    const struct scenario_outage *is;
    enum state state;
    uint64_t begin_ns, end_ns;
    struct figure hits, ttft;
};
struct outages {
    struct outage at[SCENARIO_OUTAGES_MAX];
    uint32_t count;
    uint64_t next_ns;
    /* of the last intervals, the newest at (intervals - 1) % OUTAGES_BEFORE */
    double hits[OUTAGES_BEFORE], lookups[OUTAGES_BEFORE], ttft_ms[OUTAGES_BEFORE];
    uint64_t intervals;
};

/* ---- a pod ---- */

/* Requests in service there, whose operations and computing have ended. */
static void service_fails(struct engine *e, struct pod *p) {
    struct worker *w = pod_worker(p);
    for (struct flight *f = e->service.first, *next; f; f = next) {
        next = f->service_next;
        if (f->pod != p->number) continue;
        pipeline_abort(&p->pipeline, &w->x, f);
        e->service.gone.cost.failed++;
    }
}

/* Operations end as at the end of a run: abandoned, with nothing counted. */
void outages_pod_goes(struct engine *e, struct pod *p) {
    struct worker *w = pod_worker(p);
    struct cache_op *op;
    cache_stop(p->cache);
    while ((op = cache_next_ready(p->cache)) != NULL) worker_post_op(w, op);
    writegate_stop(&p->writes);
    worker_abandon(w);
    farstore_forget(p);
    writegate_go_on(&p->writes);
    if (p->pipeline.compute) compute_clear(p->pipeline.compute, engine_now(e));
    e->service.gone.cost.rerouted += dispatch_reroute(e, p);
    service_fails(e, p);
    gone_cost_tiers(&e->service.gone.cost, p->cache, 0, KVF_TIER_REMOTE - 1);
    cache_restart(p->cache, KVF_TIERS);
    lineup_set(&e->service.lineup, (uint32_t)(w - e->service.workers), worker_next_ns(w));
}

/* ---- changes ---- */

static const char *name_of(const struct scenario_outage *o, char *out, size_t len) {
    if (o->pod != KVF_UNSET)
        snprintf(out, len, "pod %" PRIu64, o->pod);
    else if (o->router != KVF_UNSET)
        snprintf(out, len, "router %" PRIu64, o->router);
    else
        snprintf(out, len, "%s", o->index ? "the index" : "the remote tier");
    return out;
}

static void part_set_down(struct engine *e, const struct scenario_outage *o, bool down) {
    if (o->router != KVF_UNSET || o->index) {
        pthread_mutex_lock(&e->service.queue_lock);
        if (o->index)
            fleet_set_index_down(e->routes.fleet, down);
        else
            fleet_set_router_down(e->routes.fleet, (uint32_t)o->router, down);
        pthread_mutex_unlock(&e->service.queue_lock);
    } else if (o->remote && down) {
        gone_cost_tiers(&e->service.gone.cost, e->service.store.cache, KVF_TIER_REMOTE, KVF_TIER_REMOTE);
        cache_clear(e->service.store.cache);
        cache_stop(e->service.store.cache);
    } else if (o->remote) {
        cache_restart(e->service.store.cache, KVF_TIERS);
    } else if (!engine_is_virtual(e)) {
        gone_tell(e, (uint32_t)o->pod, down);
    } else {
        fleet_set_pod_down(e->routes.fleet, (uint32_t)o->pod, down);
        if (down && e->routes.shards)
            shards_end_pod(e, (uint32_t)o->pod);
        else if (down)
            outages_pod_goes(e, &e->service.pods[o->pod]);
    }
}

/* Over the last intervals, as many as there are; by lookups where they are given. */
static double mean_of(const struct outages *o, const double *values, const double *weights, uint64_t last) {
    double sum = 0, all = 0;
    for (uint64_t n = 0; n < last && n < o->intervals; n++) {
        uint64_t i = (o->intervals - 1 - n) % OUTAGES_BEFORE;
        if (!kvf_present(values[i])) continue;
        double weight = weights ? weights[i] : 1;
        sum += values[i] * weight;
        all += weight;
    }
    return all > 0 ? sum / all : KVF_MISSING;
}

static void change(struct engine *e, struct outage *o) {
    struct outages *all = e->routes.outages;
    char name[40];
    name_of(o->is, name, sizeof name);
    o->state++;
    if (o->state == GOING_ON) {
        o->hits = (struct figure){.before = mean_of(all, all->hits, all->lookups, OUTAGES_BEFORE),
                                  .recovered_s = KVF_MISSING};
        o->ttft = (struct figure){.before = mean_of(all, all->ttft_ms, NULL, OUTAGES_BEFORE),
                                  .recovered_s = KVF_MISSING};
    }
    part_set_down(e, o->is, o->state == GOING_ON);
    events_add(&e->events, "mark", "%s is %s", name, o->state == GOING_ON ? "gone" : "back");
}

static uint64_t change_ns(const struct outage *o) {
    return o->state == TO_COME ? o->begin_ns : o->state == GOING_ON ? o->end_ns : KVF_NEVER;
}

/* At one time the ends come first: a part may go when another has come back. */
static struct outage *change_next(struct outages *all) {
    struct outage *first = NULL;
    for (uint32_t i = 0; i < all->count; i++) {
        struct outage *o = &all->at[i];
        uint64_t at = change_ns(o), least = first ? change_ns(first) : KVF_NEVER;
        if (at < least || (first && at == least && o->state > first->state)) first = o;
    }
    all->next_ns = first ? change_ns(first) : KVF_NEVER;
    return first;
}

uint64_t outages_next_ns(const struct engine *e) {
    return e->routes.outages ? e->routes.outages->next_ns : KVF_NEVER;
}

void outages_due(struct engine *e, uint64_t now_ns) {
    struct outage *next;
    while (outages_next_ns(e) <= now_ns && (next = change_next(e->routes.outages)) != NULL) {
        change(e, next);
        (void)change_next(e->routes.outages);
    }
}

void outages_begin(struct engine *e, uint64_t zero_ns) {
    if (!e->routes.fleet || e->s->fleet.outages == 0) return;
    struct outages *all = e->routes.outages = mem_zalloc(1, sizeof *all);
    all->count = e->s->fleet.outages;
    for (uint32_t i = 0; i < all->count; i++) {
        const struct scenario_outage *o = &e->s->fleet.outage[i];
        all->at[i] = (struct outage){
            .is = o, .begin_ns = zero_ns + o->at_ns, .end_ns = zero_ns + o->at_ns + o->for_ns};
    }
    (void)change_next(all);
}

void outages_close(struct engine *e) {
    free(e->routes.outages);
    e->routes.outages = NULL;
}

/* ---- recovery ---- */

static void figure_look(struct figure *f, double worse_by, bool back, double since_s) {
    if (kvf_present(f->recovered_s) || !kvf_present(worse_by)) return;
    f->worse = worse_by > RECOVERED;
    if (back && !f->worse) f->recovered_s = since_s;
}

void outages_interval(struct engine *e, const struct snapshot *snap) {
    struct outages *all = e->routes.outages;
    if (!all) return;
    uint64_t i = all->intervals++ % OUTAGES_BEFORE, now_ns = engine_now(e);
    all->hits[i] = snap->interval.reuse_hit_ratio;
    all->lookups[i] = (double)snap->interval.reuse_lookups;
    all->ttft_ms[i] = snap->interval.ttft_p95_ms;
    double hits = mean_of(all, all->hits, all->lookups, OUTAGES_MEAN);
    double ttft_ms = mean_of(all, all->ttft_ms, NULL, OUTAGES_MEAN);
    for (uint32_t k = 0; k < all->count; k++) {
        struct outage *o = &all->at[k];
        double since_s = (double)(now_ns - o->begin_ns) / (double)KVF_NS_PER_S;
        if (o->state == TO_COME) continue;
        figure_look(&o->hits, 1 - hits / o->hits.before, o->state == OVER, since_s);
        figure_look(&o->ttft, ttft_ms / o->ttft.before - 1, o->state == OVER, since_s);
    }
}

/* Of the outage that took longest; missing where one has not recovered. */
static double longest(const struct outages *all, bool hits) {
    double most = 0;
    for (uint32_t i = 0; i < all->count; i++) {
        const struct outage *o = &all->at[i];
        double s = hits ? o->hits.recovered_s : o->ttft.recovered_s;
        if (o->state == TO_COME) continue;
        if (!kvf_present(s)) return KVF_MISSING;
        if (s > most) most = s;
    }
    return most;
}

/* How long parts were gone meanwhile, all outages added up. */
static double gone_s(const struct outages *all, uint64_t from_ns, uint64_t to_ns) {
    uint64_t ns = 0;
    for (uint32_t i = 0; i < all->count; i++) {
        uint64_t begin = kvf_max(all->at[i].begin_ns, from_ns), end = kvf_min(all->at[i].end_ns, to_ns);
        if (begin < end) ns += end - begin;
    }
    return (double)ns / (double)KVF_NS_PER_S;
}

void outages_results(const struct engine *e, uint64_t from_ns, uint64_t to_ns, struct result_list *out) {
    const struct outages *all = e->routes.outages;
    const struct gone_cost *cost = &e->service.gone.cost; /* workers have ended */
    uint64_t begun = 0;
    if (!all) return;
    for (uint32_t i = 0; i < all->count; i++) begun += all->at[i].state != TO_COME;
    result_add(out, (double)begun, 0, "outages");
    result_add(out, gone_s(all, from_ns, to_ns), 0, "outages_s");
    result_add(out, (double)cost->failed, 0, "outage_requests_failed");
    result_add(out, (double)cost->rerouted, 0, "outage_requests_rerouted");
    result_add(out, (double)cost->lost, 0, "outage_lost");
    result_add(out, (double)cost->lost_bytes, 0, "outage_lost_bytes");
    result_add(out, begun > 0 ? longest(all, true) : KVF_MISSING, begun, "outage_hits_back_s");
    result_add(out, begun > 0 ? longest(all, false) : KVF_MISSING, begun, "outage_ttft_back_s");
}
