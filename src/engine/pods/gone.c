#include "engine/pods/gone.h"

#include <string.h>
#include <unistd.h>

#include "engine/core.h"
#include "engine/pods/away.h"

void gone_open(struct engine *e) {
    if (scenario_pods_are_ranks(e->s))
        pthread_barrier_init(&e->service.gone.at_rest, NULL, e->service.worker_count);
}

void gone_close(struct engine *e) {
    if (scenario_pods_are_ranks(e->s)) pthread_barrier_destroy(&e->service.gone.at_rest);
}

static void workers_wake(struct engine *e) {
    uint64_t one = 1;
    for (uint32_t i = 0; i < e->service.worker_count; i++)
        (void)!write(e->service.workers[i].wake_fd, &one, sizeof one);
}

static void pod_dies(struct engine *e) {
    struct gone *g = &e->service.gone;
    pthread_mutex_lock(&e->service.queue_lock);
    bool was_up = g->state == POD_UP;
    if (was_up) g->state = POD_GOING;
    g->back = false;
    pthread_mutex_unlock(&e->service.queue_lock);
    uint64_t n = dispatch_reroute(e, &e->service.pods[0]);
    pthread_mutex_lock(&e->service.queue_lock);
    g->cost.rerouted += n;
    pthread_mutex_unlock(&e->service.queue_lock);
    if (!was_up) return;
    uint32_t deaths = atomic_fetch_add(&g->deaths, 1) + 1;
    workers_wake(e);
    pod_stop(&e->service.pods[0]);
    atomic_store(&g->stopped, deaths);
    workers_wake(e);
}

void gone_set(struct engine *e, bool gone) {
    if (gone) {
        pod_dies(e);
        return;
    }
    pthread_mutex_lock(&e->service.queue_lock);
    e->service.gone.back = true;
    if (e->service.gone.state == POD_GONE) e->service.gone.state = POD_UP;
    pthread_mutex_unlock(&e->service.queue_lock);
}

void gone_tell(struct engine *e, uint32_t pod, bool gone) {
    pthread_mutex_lock(&e->service.queue_lock);
    fleet_set_pod_down(e->routes.fleet, pod, gone);
    rank_send(e->setup->rank, pod, RANK_OUTAGE, gone, NULL, 0);
    pthread_mutex_unlock(&e->service.queue_lock);
    if (pod == e->s->ranks.number) gone_set(e, gone);
}

void gone_told(struct engine *e, const void *bytes, size_t len) {
    struct gone_cost c;
    if (len != sizeof c) return;
    memcpy(&c, bytes, sizeof c);
    pthread_mutex_lock(&e->service.queue_lock);
    e->service.gone.cost.failed += c.failed;
    e->service.gone.cost.rerouted += c.rerouted;
    e->service.gone.cost.lost += c.lost;
    e->service.gone.cost.lost_bytes += c.lost_bytes;
    pthread_mutex_unlock(&e->service.queue_lock);
}

void gone_cost_tiers(struct gone_cost *cost, const struct cache *c, int from, int to) {
    struct cache_stats s;
    cache_stats(c, &s);
    for (int t = from; t <= to; t++) {
        cost->lost += s.entries[t];
        cost->lost_bytes += s.used_bytes[t];
    }
}

static struct gone_cost tiers_empty(struct engine *e, struct cache *c) {
    struct gone_cost cost = {0};
    pthread_mutex_lock(&e->service.cache_lock);
    cache_time(c, engine_now(e));
    gone_cost_tiers(&cost, c, 0, KVF_TIER_REMOTE - 1);
    cache_restart(c, KVF_TIER_REMOTE); /* others have it too */
    pthread_mutex_unlock(&e->service.cache_lock);
    return cost;
}

void gone_look(struct engine *e) {
    struct gone *g = &e->service.gone;
    if (!atomic_exchange(&g->rested, false)) return;
    struct gone_cost emptied = tiers_empty(e, e->service.pods[0].cache);
    writegate_go_on(&e->service.pods[0].writes);
    pthread_mutex_lock(&e->service.queue_lock);
    g->cost.lost += emptied.lost;
    g->cost.lost_bytes += emptied.lost_bytes;
    g->state = g->back ? POD_UP : POD_GONE;
    away_moved_tell(e);
    if (e->s->ranks.number > 0) {
        rank_send(e->setup->rank, 0, RANK_OUTAGE, 0, &g->cost, sizeof g->cost);
        g->cost = (struct gone_cost){0};
    }
    slots_touch(&e->service.pods[0]);
    slots_fill(&e->service);
    pthread_mutex_unlock(&e->service.queue_lock);
}
