/* The server behind the remote tier: its part of a snapshot and of the results. */
#include <math.h>

#include "engine/service/service.h"
#include "engine/sampling/sampler.h"

static const struct tier *tier_of(const struct service *v) {
    const struct tier *t = v->tiers[KVF_TIER_REMOTE];
    return t && t->ops->server ? t : NULL;
}

void server_take(const struct service *v, struct reading *r) {
    const struct tier *t = tier_of(v);
    if (t) t->ops->server(t, &r->server);
}

/* A server that was started again counts from 0. */
static double since(double now, double then) {
    return now >= then ? now - then : now;
}

/* Entries that another run might have written, and had not, were never there. */
static double lost(const struct counters *d, const struct tier_server *then, const struct tier_server *now) {
    return fmax((double)counters_get(&d->lost[KVF_TIER_REMOTE]) - (now->absent - then->absent), 0);
}

void server_snap(const struct service *v, const struct sampler *p, struct snapshot *snap,
                 const struct counters *d) {
    const struct tier_server *now = &p->now.server, *last = &p->last.server;
    snap->remote_known = tier_of(v) != NULL;
    if (!snap->remote_known) return;
    const struct histogram *h = &d->lookup;
    double hits = since(now->hits, last->hits), misses = since(now->misses, last->misses);
    snap->remote =
        (struct snapshot_remote){.connections = now->connections,
                                 .round_trips = now->round_trips - last->round_trips,
                                 .sent_bytes = now->sent_bytes - last->sent_bytes,
                                 .received_bytes = now->received_bytes - last->received_bytes,
                                 .lookups = (double)histogram_count(h),
                                 .lost = lost(d, last, now),
                                 .lookup_p50_ms = histogram_quantile(h, 0.5) / 1e6,
                                 .lookup_p95_ms = histogram_quantile(h, 0.95) / 1e6,
                                 .lookup_p99_ms = levels_ms(h, 0.99),
                                 .server_used_bytes = now->used_bytes,
                                 .server_max_bytes = now->max_bytes,
                                 .server_evicted_keys = since(now->evicted_keys, last->evicted_keys),
                                 .server_expired_keys = since(now->expired_keys, last->expired_keys),
                                 .server_ops_per_s = now->ops_per_s,
                                 .server_hit_ratio = kvf_ratio(hits, hits + misses)};
}

void server_results(const struct service *v, const struct reading *from, const struct reading *to,
                    const struct counters *d, struct result_list *out) {
    const struct tier_server *a = &from->server, *b = &to->server;
    const struct tier *remote = v->tiers[KVF_TIER_REMOTE];
    bool known = tier_of(v) != NULL, far = v->pods[0].pipeline.far;
    bool stores = far || (remote && !(remote->ops->caps(remote) & TIER_EMULATED));
    bool shares = known && (v->s->remote.share_prompts || scenario_pods_share_server(v->s));
    double none = KVF_MISSING, hits = since(b->hits, a->hits), misses = since(b->misses, a->misses);
    result_add(out, stores ? lost(d, a, b) : none, 0, "remote_lost");
    result_add(out, shares ? b->found - a->found : none, 0, "remote_found");
    result_add(out, known ? b->round_trips - a->round_trips : none, 0, "remote_round_trips");
    result_add(out, known ? b->used_bytes : none, 0, "remote_server_used_bytes");
    result_add(out, known ? since(b->evicted_keys, a->evicted_keys) : none, 0, "remote_server_evicted_keys");
    result_add(out, known ? kvf_ratio(hits, hits + misses) : none, 0, "remote_server_hit_ratio");
}
