#include "engine/pods/pods.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "engine/core.h"
#include "engine/limits/cacheconfig.h"
#include "engine/move/crew.h"
#include "engine/pods/away.h"
#include "engine/pods/instore.h"
#include "engine/pipeline/entries.h"
#include "engine/pipeline/sample.h"
#include "engine/sampling/levels.h"
#include "engine/sampling/sampler.h"
#include "engine/sampling/together.h"
#include "tier/channels.h"

/* ---- what the cache of a pod calls ---- */

static uint64_t place_alloc(void *ctx, int tier, uint64_t bytes) {
    struct tier *t = ((struct pod *)ctx)->service->tiers[tier];
    return t->ops->alloc(t, bytes);
}

static void place_drop(void *ctx, int tier, uint64_t place, uint64_t bytes) {
    struct tier *t = ((struct pod *)ctx)->service->tiers[tier];
    t->ops->drop(t, place, bytes);
}

static void place_expect(void *ctx, uint64_t place, struct cache_key key) {
    struct tier *t = ((struct pod *)ctx)->service->tiers[KVF_TIER_REMOTE];
    t->ops->expect(t, place, key.hi, key.lo);
}

/* Ids of a trace stand for themselves: which of them follow each other, only requests say. */
static struct fleet_block block_at(struct cache_key key) {
    struct fleet_block b = {.hash = cache_key_hash(key), .context = key.hi, .number = (uint32_t)key.lo};
    if (cache_key_kind(key) != CACHE_KEY_TRACE && key.lo <= UINT32_MAX) return b;
    b.context = b.hash;
    b.number = 0;
    return b;
}

/* A remote tier that all share is the store's alone, whose number is that behind the last pod's. */
static void block_moved(void *ctx, struct cache_key key, int tier, bool stored) {
    struct pod *p = ctx;
    struct fleet_block b = block_at(key);
    if (!service_is_virtual(p->service)) {
        bool told = tier == KVF_TIER_REMOTE ? !p->expects || !stored : away_indexed(p->service->engine);
        if (told) away_moved(p->service->engine, &b, tier, stored);
        return;
    }
    if (tier == KVF_TIER_REMOTE && p != &p->service->store) return;
    if (p->service->engine->routes.shards) {
        shards_moved(p->service->engine, &b, p->number, (enum kvf_tier)tier, stored);
        return;
    }
    fleet_event(p->service->engine->routes.fleet, engine_now(p->service->engine), &b, p->number,
                (enum kvf_tier)tier, stored);
}

/* ---- opening, closing ---- */

void pods_init(struct engine *e, void (*post)(void *ctx, struct cache_op *op)) {
    bool aging = e->s->qos.scheduler == KVF_SCHEDULER_AGING;
    e->service.pod_count = engine_is_virtual(e) ? (uint32_t)e->s->fleet.pods : 1;
    if (e->routes.shards) shards_place(e, &e->service.pod_first, &e->service.pod_count);
    e->service.pods = mem_zalloc(e->s->fleet.pods, sizeof *e->service.pods);
    pthread_mutex_init(&e->routes.moved_lock, NULL);
    for (uint32_t i = 0; i < e->s->fleet.pods; i++) {
        struct pod *p = &e->service.pods[i];
        p->service = &e->service;
        p->number = e->service.pod_first + i;
        if (i >= e->service.pod_count) continue;
        queue_init(&p->queue, e->s->engine.queue_limit, aging ? e->s->qos.aging_ns : 0);
        writegate_init(&p->writes, e->s->engine.max_concurrent_writes, post, p);
    }
}

static int cache_start(struct pod *p, struct err *err) {
    struct engine *e = p->service->engine;
    const struct tier *remote = e->service.tiers[KVF_TIER_REMOTE];
    bool shares = scenario_pods_share_server(e->s);
    bool told = e->routes.shards       ? shards_indexed(e)
                : engine_is_virtual(e) ? e->routes.fleet != NULL
                                       : away_indexed(e) || shares;
    bool others = remote && remote->ops->expect && (e->s->remote.share_prompts || shares);
    struct cache_config c = {.ctx = p,
                             .alloc = place_alloc,
                             .drop = place_drop,
                             .moved = told ? block_moved : NULL,
                             .shared = farstore_is(e) ? NULL : e->service.store.cache,
                             .tell = farstore_is(e) && p != &e->service.store ? farstore_tell : NULL,
                             .expect = others ? place_expect : NULL};
    cacheconfig_fill(&c, e->s);
    if (engine_is_virtual(e) && e->s->fleet.pods > 1)
        c.extents = e->s->cache.touch_order == KVF_TOUCH_FORWARD ? 1 : -1;
    for (int t = 0; t < KVF_TIERS; t++)
        c.on[t] = e->service.tiers[t] != NULL && (p != &e->service.store || t == KVF_TIER_REMOTE);
    p->cache = cache_open(&c, err);
    return p->cache ? 0 : -(int)err->code;
}

/* The modelled GPU: its room for KV is the gpu tier's, in the bytes of one rank as all sizes are. */
static int compute_start(struct pod *p, struct err *err) {
    const struct scenario *s = p->service->engine->s;
    struct compute_config c = {.max_batch = s->compute.max_batch,
                               .max_batch_tokens = s->compute.max_batch_tokens,
                               .kv_bytes = scenario_batch_bytes(s)};
    if (!scenario_computes(s)) return 0;
    int rc = scenario_roofline(s, &c.roofline, err);
    c.full_bytes = model_full_bytes_per_token(&s->model, s->tensor_parallel);
    c.slide_bytes = model_bytes_per_token(&s->model, s->tensor_parallel) - c.full_bytes;
    if (rc == 0) p->pipeline.compute = compute_open(&c);
    return rc;
}

static int pod_open(struct pod *p, struct sample *sample, struct err *err) {
    struct engine *e = p->service->engine;
    int rc = cache_start(p, err);
    p->pipeline = (struct pipeline){.scenario = e->s,
                                    .cache = p->cache,
                                    .oracle = e->service.oracle,
                                    .rag = workload_rag(e->dispatch.workload),
                                    .sample = sample,
                                    .far = farstore_is(e),
                                    .settles = workload_one_by_one(e->dispatch.workload)};
    atomic_store(&p->pipeline.ns_per_token, e->s->compute.ns_per_token);
    return rc == 0 ? compute_start(p, err) : rc;
}

static int store_open(struct engine *e, struct err *err) {
    if (!e->routes.fleet || !e->service.tiers[KVF_TIER_REMOTE] || !engine_is_virtual(e)) return 0;
    e->service.store.service = &e->service;
    e->service.store.number = (uint32_t)e->s->fleet.pods;
    e->service.store_link = mem_alloc(sizeof *e->service.store_link);
    channels_init(e->service.store_link, &e->s->tier[KVF_TIER_REMOTE].emulation);
    e->service.store_link->alone = engine_is_virtual(e);
    return cache_start(&e->service.store, err);
}

/* Blocks that the tiers of a pod hold. */
static uint64_t pod_blocks(const struct scenario *s) {
    uint64_t bytes = 0;
    for (int t = 0; t < KVF_TIERS; t++)
        if (s->tier[t].on && t != KVF_TIER_REMOTE) bytes += scenario_usable_bytes(s, (enum kvf_tier)t);
    return bytes / scenario_block_bytes(s);
}

int pods_refused(const struct engine *e, struct err *err) {
    if (!scenario_pods_are_ranks(e->s)) return shards_refused(e, err);
    uint64_t pods = e->s->fleet.pods;
    if (scenario_ranks(e->s) != pods)
        return err_set(err, KVF_ERR_USAGE,
                       "each of the %" PRIu64
                       " pods of a real fleet is a rank, and there %s %u; run it with --ranks "
                       "%" PRIu64 ", or set mode: simulate",
                       pods, scenario_ranks(e->s) == 1 ? "is" : "are", scenario_ranks(e->s), pods);
    if (e->setup->keep_going)
        return err_set(err, KVF_ERR_USAGE,
                       "a real fleet ends with the first pod that is lost; run it without --keep-going");
    rank_hurry(e->setup->rank);
    return 0;
}

int pods_open(struct engine *e, struct err *err) {
    int rc = 0;
    struct sample *sample = sample_open(engine_is_virtual(e));
    if (e->s->fleet.pods > 1 && e->s->ranks.number == 0)
        rc = fleet_open(&e->routes.fleet, e->s, pod_blocks(e->s), err);
    if (rc == 0) rc = store_open(e, err);
    instore_open(e);
    for (uint32_t i = 0; i < e->service.pod_count && rc == 0; i++)
        rc = pod_open(&e->service.pods[i], sample, err);
    if (rc != 0 && !e->service.pods[0].pipeline.sample) sample_close(sample);
    return rc;
}

void pods_close(struct engine *e) {
    if (!e->service.pods) return;
    sample_close(e->service.pods[0].pipeline.sample);
    for (uint32_t i = 0; i < e->service.pod_count; i++) {
        struct pod *p = &e->service.pods[i];
        cache_close(p->cache);
        compute_close(p->pipeline.compute);
        queue_destroy(&p->queue);
        writegate_destroy(&p->writes);
        free(p->crew_load);
    }
    cache_close(e->service.store.cache);
    free(e->service.store_link);
    fleet_close(e->routes.fleet);
    instore_close(e);
    buf_free(&e->routes.moved);
    pthread_mutex_destroy(&e->routes.moved_lock);
    free(e->routes.hashes);
    free(e->routes.parts);
    free(e->service.pods);
}

void pod_stop(struct pod *p) {
    struct cache_op *op;
    if (p->cache) {
        pthread_mutex_lock(&p->service->cache_lock);
        cache_stop(p->cache);
        while ((op = cache_next_ready(p->cache)) != NULL) p->writes.post(p, op);
        pthread_mutex_unlock(&p->service->cache_lock);
    }
    writegate_stop(&p->writes);
}

/* ---- routing ---- */

uint32_t pods_blocks_of(const struct request *r) {
    return r->ids ? r->id_count : (uint32_t)(r->prompt_blocks + r->conversation_blocks);
}

static void blocks_fill(struct engine *e, const struct request *r, struct fleet_request *q) {
    q->blocks = pods_blocks_of(r);
    if (q->blocks > e->routes.hash_cap) {
        e->routes.hash_cap = 2 * q->blocks;
        e->routes.hashes = mem_realloc(e->routes.hashes, e->routes.hash_cap * sizeof *e->routes.hashes);
        e->routes.parts = mem_realloc(e->routes.parts, e->routes.hash_cap * sizeof *e->routes.parts);
    }
    for (uint32_t i = 0; i < q->blocks; i++) {
        struct fleet_block b = block_at(block_key(r, i));
        e->routes.hashes[i] = b.hash;
        if (b.number == 0) e->routes.parts[q->parts++] = (struct extents_part){.context = b.context};
        e->routes.parts[q->parts - 1].blocks++;
    }
    q->block = e->routes.hashes;
    q->part = e->routes.parts;
}

/* Brings the load's integral of a pod up to that run time. */
static void count_time(struct pod *p, uint64_t now_ns) {
    uint64_t load =
        p->service->engine->routes.fleet ? fleet_load(p->service->engine->routes.fleet, p->number) : 0;
    p->counts.load_ns += load * (now_ns - p->counts.counted_ns);
    p->counts.counted_ns = now_ns;
}

void pods_route(struct engine *e, struct flight *f) {
    if (!e->routes.fleet) return;
    struct fleet_request q = {.session = f->req.conversation, .now_ns = engine_now(e)};
    struct fleet_request unasked = {0};
    if (fleet_asks_blocks(e->routes.fleet))
        blocks_fill(e, &f->req, &q);
    else if (e->routes.stored)
        blocks_fill(e, &f->req, &unasked);
    /* its load changes with the choice, and the time before it is that of the load before */
    struct fleet_choice c = fleet_route(e->routes.fleet, &q);
    struct pod *p = &e->service.pods[c.pod];
    p->counts.load_ns += (fleet_load(e->routes.fleet, c.pod) - 1) * (q.now_ns - p->counts.counted_ns);
    p->counts.counted_ns = q.now_ns;
    p->counts.routed++;
    f->pod = c.pod;
    f->router = c.router;
    f->reason = (uint8_t)c.reason;
    f->expected_blocks = c.expected;
    if (engine_is_virtual(e)) f->index_ns += c.index_ns; /* on a real clock it has gone by */
    const char *trouble = fleet_trouble(e->routes.fleet);
    if (trouble && !e->routes.index_lost) events_error(&e->events, trouble);
    e->routes.index_lost = trouble != NULL;
}

void pods_count_done(struct pod *p, const struct flight *f) {
    p->counts.done++;
    p->counts.tokens += f->req.generate_tokens;
}

void pods_done(struct engine *e, struct flight *f, bool served) {
    if (!e->routes.fleet) return;
    struct pod *p = &e->service.pods[f->pod];
    count_time(p, engine_now(e));
    fleet_done(e->routes.fleet, f->pod);
    if (!served || f->failed) return;
    if (engine_is_virtual(e) && !e->routes.shards) pods_count_done(p, f);
    p->counts.expected_blocks += f->expected_blocks;
    if (f->expected_blocks > f->hit_blocks) p->counts.wrong_blocks += f->expected_blocks - f->hit_blocks;
}

/* ---- sums ---- */

uint32_t pods_routed_to(const struct engine *e) {
    return e->routes.fleet ? (uint32_t)e->s->fleet.pods : 0;
}

void pods_cache_of(const struct pod *p, struct cache_stats *out) {
    *out = p->told;
    if (!service_is_virtual(p->service) || !p->cache) return;
    pthread_mutex_lock(&p->service->cache_lock);
    cache_stats(p->cache, out);
    pthread_mutex_unlock(&p->service->cache_lock);
}

_Static_assert(sizeof(struct cache_stats) % sizeof(uint64_t) == 0, "cache_stats is made of counts alone");

void pods_cache_stats(const struct engine *e, struct cache_stats *out) {
    struct cache_stats one;
    cache_stats(e->service.pods[0].cache, out);
    for (uint32_t i = 1; i < e->service.pod_count; i++) {
        cache_stats(e->service.pods[i].cache, &one);
        const uint64_t *from = (const uint64_t *)&one;
        uint64_t *to = (uint64_t *)out;
        for (size_t n = 0; n < sizeof one / sizeof *to; n++) to[n] += from[n];
    }
    const int t = KVF_TIER_REMOTE;
    if (e->service.store.cache)
        cache_stats(e->service.store.cache, &one);
    else if (farstore_is(e))
        one = (struct cache_stats){0}; /* rank 0 counts it */
    else
        return;
    out->used_bytes[t] = one.used_bytes[t];
    out->entries[t] = one.entries[t];
    out->bytes_in[t] = one.bytes_in[t];
    out->bytes_out[t] = one.bytes_out[t];
    out->evictions[t] = one.evictions[t];
    out->decisions += one.decisions;
}

int pods_check(const struct engine *e, struct err *err) {
    int rc = e->service.store.cache ? cache_check(e->service.store.cache, err) : 0;
    for (uint32_t i = 0; i < e->service.pod_count && rc == 0; i++)
        rc = cache_check(e->service.pods[i].cache, err);
    return rc;
}

void pods_compute_read(const struct engine *e, uint64_t now_ns, struct compute_stats *out) {
    struct compute_stats one;
    *out = (struct compute_stats){0};
    for (uint32_t i = 0; i < e->service.pod_count && e->service.pods[0].pipeline.compute; i++) {
        compute_read(e->service.pods[i].pipeline.compute, now_ns, &one);
        compute_stats_add(out, &one);
    }
}

uint64_t pods_slots(const struct scenario *s) {
    return s->engine.slots * pods_machines(s);
}

uint32_t pods_machines(const struct scenario *s) {
    return (s->mode == KVF_MODE_SIMULATE ? (uint32_t)s->fleet.pods : 1) * scenario_ranks(s);
}

uint32_t pods_tiers(const struct scenario *s, int tier) {
    return tier == KVF_TIER_REMOTE ? scenario_ranks(s) : pods_machines(s);
}

uint64_t pods_writes_most(struct engine *e) {
    uint64_t most = 0;
    for (uint32_t i = 0; i < e->service.pod_count; i++) {
        uint64_t n = writegate_most(&e->service.pods[i].writes);
        if (n > most) most = n;
    }
    return most;
}

uint64_t pods_oldest_ns(const struct engine *e, uint32_t klass) {
    uint64_t oldest = KVF_NEVER;
    for (uint32_t i = 0; i < e->service.pod_count; i++) {
        uint64_t at = queue_oldest_ns(&e->service.pods[i].queue, klass);
        if (at < oldest) oldest = at;
    }
    return oldest;
}

uint64_t pods_older(const struct engine *e, uint32_t klass, uint64_t arrival_ns) {
    uint64_t n = 0;
    for (uint32_t i = 0; i < e->service.pod_count; i++)
        n += queue_older(&e->service.pods[i].queue, klass, arrival_ns);
    return n;
}

/* ---- readings ---- */

void pods_read(struct engine *e) {
    uint64_t now_ns = engine_now(e);
    for (uint32_t i = 0; i < pods_routed_to(e); i++) {
        struct pod *p = &e->service.pods[i];
        count_time(p, now_ns);
        p->read = p->counts;
    }
    if (e->routes.fleet && e->control.moment >= TOGETHER_END && scenario_pods_are_ranks(e->s))
        e->routes.ended = true;
}

void pods_told(struct engine *e, uint32_t pod, const struct reading *r) {
    if (!e->routes.fleet || !scenario_pods_are_ranks(e->s)) return;
    struct pod *p = &e->service.pods[pod];
    pthread_mutex_lock(&e->service.queue_lock);
    p->counts.done = p->read.done = counters_get(&r->workers->requests_done);
    p->counts.tokens = p->read.tokens = counters_get(&r->workers->tokens_generated);
    p->told = r->cache;
    pthread_mutex_unlock(&e->service.queue_lock);
}

/* ---- results ---- */

void pods_measure_from_here(struct engine *e) {
    if (!e->routes.fleet) return;
    pthread_mutex_lock(&e->service.queue_lock);
    for (uint32_t i = 0; i < pods_routed_to(e); i++) {
        struct pod *p = &e->service.pods[i];
        p->base = p->read;
        pods_cache_of(p, &p->base_cache);
        p->last_hits = 0;
        for (int t = 0; t < KVF_TIERS; t++) p->last_hits += p->base_cache.tier_hits[t];
    }
    fleet_read(e->routes.fleet, &e->routes.base);
    if (fleet_took(e->routes.fleet)) histogram_copy(&e->routes.index_base, fleet_took(e->routes.fleet));
    pthread_mutex_unlock(&e->service.queue_lock);
}

void pods_measure_to_here(struct engine *e) {
    if (!e->routes.fleet) return;
    pthread_mutex_lock(&e->service.queue_lock);
    for (uint32_t i = 0; i < pods_routed_to(e); i++) {
        struct pod *p = &e->service.pods[i];
        p->end = p->read;
        pods_cache_of(p, &p->end_cache);
    }
    fleet_read(e->routes.fleet, &e->routes.end);
    if (fleet_took(e->routes.fleet)) {
        histogram_copy(&e->routes.index_took, fleet_took(e->routes.fleet));
        histogram_subtract(&e->routes.index_took, &e->routes.index_base);
    }
    pthread_mutex_unlock(&e->service.queue_lock);
}

static struct run_pod pod_row(const struct pod *p, double measured_ns) {
    struct cache_stats c;
    struct run_pod row = {.pod = p->number};
    cache_stats_since(&c, &p->end_cache, &p->base_cache);
    row.requests_routed = p->end.routed - p->base.routed;
    row.requests_done = p->end.done - p->base.done;
    row.tokens = p->end.tokens - p->base.tokens;
    row.expected_blocks = p->end.expected_blocks - p->base.expected_blocks;
    row.wrong_blocks = p->end.wrong_blocks - p->base.wrong_blocks;
    row.load_mean = measured_ns > 0 ? (double)(p->end.load_ns - p->base.load_ns) / measured_ns : KVF_MISSING;
    for (int k = 0; k < KVF_CAUSES; k++) row.lookups += c.lookups[k];
    for (int t = 0; t < KVF_TIERS; t++) {
        row.hits[t] = c.tier_hits[t];
        if (t != KVF_TIER_REMOTE) row.used_bytes[t] = c.used_bytes[t];
    }
    return row;
}

void pods_results(struct engine *e, struct run_record *run) {
    const struct sampler *p = e->control.sampler;
    double measured_ns = (double)(p->end.run_ns - p->base.run_ns), most = 0, sum = 0;
    uint64_t expected = 0, wrong = 0;
    uint32_t pods = pods_routed_to(e);
    if (!e->routes.fleet) return;
    for (uint32_t i = 0; i < pods; i++) {
        struct run_pod row = pod_row(&e->service.pods[i], measured_ns);
        run_record_pod(run, &row);
        sum += row.load_mean;
        if (row.load_mean > most) most = row.load_mean;
        expected += row.expected_blocks;
        wrong += row.wrong_blocks;
    }
    const struct fleet_stats *a = &e->routes.base, *b = &e->routes.end;
    struct result_list *out = &run->results;
    /* each rank reads at its own moment, and may have what another has not sent by its own */
    int64_t on_way = (int64_t)p->end.on_way;
    if (!engine_is_virtual(e)) result_add(out, on_way > 0 ? (double)on_way : 0, 0, "requests_on_way_at_end");
    result_add(out, (double)pods, 0, "pods");
    result_add(out, sum > 0 ? most * (double)pods / sum : KVF_MISSING, pods, "load_imbalance");
    result_add(out, (double)expected, 0, "routed_blocks");
    result_add(out, (double)wrong, 0, "routed_blocks_wrong");
    result_add(out, expected > 0 ? (double)wrong / (double)expected : KVF_MISSING, expected,
               "routed_wrong_ratio");
    result_add(out, (double)(b->lookups - a->lookups), 0, "index_lookups");
    result_add(out, (double)(b->events - a->events), 0, "index_events");
    result_add(out, (double)b->entries, 0, "index_entries");
    result_add(out, (double)b->bytes, 0, "index_bytes");
    levels_results(out, "index_lookup", &e->routes.index_took);
}
