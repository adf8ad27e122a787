#include "engine/core.h"
#include "engine/pods/pods.h"

/* A pod in the interval. */
static struct snapshot_pod pod_take(struct pod *p, const struct snapshot *snap) {
    struct cache_stats c;
    uint64_t lookups = 0, hits = 0;
    pods_cache_of(p, &c);
    for (int k = 0; k < KVF_CAUSES; k++) lookups += c.lookups[k];
    for (int t = 0; t < KVF_TIERS; t++) hits += c.tier_hits[t];
    const struct pod_counts *to = &p->read, *from = &p->last;
    struct snapshot_pod row = {.pod = p->number,
                               .pods = 1,
                               .down = !fleet_pod_up(p->service->engine->routes.fleet, p->number),
                               .done = to->done - from->done,
                               .tokens = to->tokens - from->tokens,
                               .lookups = lookups - p->last_lookups,
                               .hits = hits > p->last_hits ? hits - p->last_hits : 0,
                               .expected_blocks = to->expected_blocks - from->expected_blocks,
                               .wrong_blocks = to->wrong_blocks - from->wrong_blocks};
    double ns = snap->interval.length_s * (double)KVF_NS_PER_S;
    row.load_mean = ns > 0 ? (double)(to->load_ns - from->load_ns) / ns : KVF_MISSING;
    row.most_pod = row.pod;
    row.most_load = row.load_mean;
    if (snap->peek) return row;
    p->last = p->read;
    p->last_lookups = lookups;
    if (hits > p->last_hits)
        p->last_hits = hits; /* those that were found lost are taken back from the next */
    return row;
}

static void row_join(struct snapshot_pod *row, const struct snapshot_pod *one) {
    if (row->pods == 0) row->pod = one->pod;
    if (row->pods == 0 || one->most_load > row->most_load) {
        row->most_pod = one->most_pod;
        row->most_load = one->most_load;
    }
    row->load_mean = (row->load_mean * (double)row->pods + one->load_mean) / (double)(row->pods + 1);
    row->pods++;
    row->down += one->down;
    row->done += one->done;
    row->tokens += one->tokens;
    row->lookups += one->lookups;
    row->hits += one->hits;
    row->expected_blocks += one->expected_blocks;
    row->wrong_blocks += one->wrong_blocks;
}

static void index_take(struct engine *e, uint64_t now_ns, bool peek, struct snapshot_fleet *out) {
    struct fleet_stats now;
    if (!peek) fleet_tell(e->routes.fleet, now_ns); /* a look changes nothing */
    fleet_read(e->routes.fleet, &now);
    out->index_lookups = now.lookups - e->routes.last.lookups;
    out->index_events = now.events - e->routes.last.events;
    out->index_entries = now.entries;
    out->index_bytes = now.bytes;
    bool told = fleet_asks_index(e->routes.fleet);
    out->index_waiting = told ? (double)now.waiting : KVF_MISSING;
    out->index_behind_ms = !told             ? KVF_MISSING
                           : now.waiting > 0 ? (double)(now_ns - now.oldest_ns) / (double)KVF_NS_PER_MS
                                             : 0;
    if (!peek) e->routes.last = now;
}

void pods_interval(struct engine *e, struct snapshot *snap) {
    struct snapshot_fleet *all = &snap->fleet;
    uint32_t pods = pods_routed_to(e);
    uint32_t each = (pods + SNAPSHOT_PODS - 1) / SNAPSHOT_PODS;
    double load = 0, most = 0;
    if (!e->routes.fleet) return;
    pthread_mutex_lock(&e->service.queue_lock);
    for (uint32_t i = 0; i < pods; i++) {
        struct snapshot_pod one = pod_take(&e->service.pods[i], snap);
        row_join(&snap->pod[i / each], &one);
        load += one.load_mean;
        if (one.load_mean > most) most = one.load_mean;
        all->pods_down += one.down;
        all->expected_blocks += one.expected_blocks;
        all->wrong_blocks += one.wrong_blocks;
    }
    snap->pod_rows = (pods + each - 1) / each;
    all->pods = pods;
    all->load_imbalance = load > 0 ? most * (double)pods / load : KVF_MISSING;
    index_take(e, engine_now(e), snap->peek, all);
    pthread_mutex_unlock(&e->service.queue_lock);
}
