#include "engine/verdict_readings.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/url.h"
#include "engine/core.h"
#include "engine/forecast.h"
#include "engine/pipeline/sample.h"
#include "record/judge/judge.h"
#include "record/standing.h"
#include "tier/station.h"

static double seconds(uint64_t ns) {
    return (double)ns / (double)KVF_NS_PER_S;
}

static double sum_ms(const struct histogram *h) {
    return (double)atomic_load(&h->sum) / (double)KVF_NS_PER_MS;
}

/* Its mean, for so many requests: one that ends meanwhile is in some of the histograms, and in others not
 * yet. */
static double sum_for(const struct histogram *h, double requests) {
    double n = kvf_ratio(requests, (double)histogram_count(h));
    return kvf_present(n) ? sum_ms(h) * n : 0;
}

static double known(double v) {
    return kvf_present(v) ? v : 0;
}

static uint64_t reuses(const uint64_t counts[KVF_CAUSES]) {
    uint64_t n = 0;
    for (int c = 0; c < KVF_CAUSES; c++)
        if (c != KVF_CAUSE_DECODE) n += counts[c];
    return n;
}

/* Of the misses, those that make no work: chunks of documents are written by their ingestion alone, and at
 * granularity request all but shared prompts are left out. */
static uint64_t free_of(const struct scenario *s, const uint64_t misses[KVF_CAUSES]) {
    if (s->cache.granularity == KVF_GRANULARITY_REQUEST) return reuses(misses) - misses[KVF_CAUSE_PREFIX];
    return misses[KVF_CAUSE_RAG];
}

bool verdict_free_misses(const struct engine *e) {
    const struct cache_stats *c = &e->control.sampler->now.cache;
    return judge_few_work((double)reuses(c->misses), (double)free_of(e->s, c->misses));
}

/* ---- sums of an interval ---- */

/* Moves in the background: up, or under inclusive down; a load of inclusive is the read that it serves. */
static enum kvf_cause aside(const struct scenario *s) {
    return s->cache.placement == KVF_PLACEMENT_INCLUSIVE ? KVF_CAUSE_DEMOTION : KVF_CAUSE_PROMOTION;
}

static void sum_tiers(const struct scenario *of, struct window_sums *w, const struct snapshot *snap,
                      const struct counters *d, const struct use *use) {
    enum kvf_cause alone = aside(of);
    double s = snap->interval.length_s;
    w->memory_any_s = known(use->memory_any) * s;
    for (int dir = 0; dir < KVF_DIRS; dir++) {
        w->memory_s[dir] = known(use->memory_busy[dir]) * s;
        w->remote_ops[dir] = (double)histogram_count(&d->op_device[KVF_TIER_REMOTE][dir]);
    }
    for (int t = 0; t < KVF_TIERS; t++) {
        w->tier_busy_s[t] = known(use->tier_busy[t]) * s;
        w->link_any_s[t] = known(use->link_any[t]) * s;
        for (int dir = 0; dir < KVF_DIRS; dir++) {
            w->busy_s[t][dir] = known(use->busy[t][dir]) * s;
            w->link_s[t][dir] = known(use->link_busy[t][dir]) * s;
            w->op_s[t][dir] = seconds(atomic_load(&d->op_total[t][dir].sum));
            w->device_s[t][dir] = seconds(atomic_load(&d->op_device[t][dir].sum));
            w->paced_ms[t][dir] = (double)counters_get(&d->paced_ns[t][dir]) / 1e6;
            w->first_paced_ms[t][dir] = (double)counters_get(&d->first_paced_ns[t][dir]) / 1e6;
            w->line_s[t][dir] = seconds(counters_get(&d->line_ns[t][dir]));
            w->aside_s[t][dir] = seconds(atomic_load(&d->op_cause[t][dir][alone].sum));
            w->moves_s[t][dir] = seconds(atomic_load(&d->op_cause[t][dir][KVF_CAUSE_DEMOTION].sum));
            if (dir == KVF_DIR_WRITE)
                w->write_latency_s[t] =
                    seconds(of->tier[t].emulation.latency_ns) * (double)histogram_count(&d->op_total[t][dir]);
            for (int c = 0; c < KVF_CAUSES && dir == KVF_DIR_WRITE; c++)
                if (c != KVF_CAUSE_DEMOTION && c != KVF_CAUSE_PROMOTION)
                    w->turns_s[t] += seconds(atomic_load(&d->op_cause[t][dir][c].sum));
            w->aside_bytes[t][dir] = (double)snap->cause[t][dir][alone].bytes;
            for (int c = 0; c < KVF_CAUSES; c++) w->bytes[t][dir] += (double)snap->cause[t][dir][c].bytes;
        }
    }
}

static void sum_machine(struct window_sums *w, const struct snapshot *snap) {
    const struct snapshot_interval *i = &snap->interval;
    const struct snapshot_tier *nvme = &snap->tier[KVF_TIER_NVME];
    if (kvf_present(i->device_busy_ratio)) {
        w->device_busy_s = i->device_busy_ratio * i->length_s;
        w->device_known_s = i->length_s;
    }
    if (kvf_present(i->device_read_bytes) && kvf_present(i->device_write_bytes)) {
        w->device_bytes = i->device_read_bytes + i->device_write_bytes;
        w->our_bytes = (double)(nvme->read_bytes + nvme->write_bytes);
        w->counted_s = i->length_s;
    }
    if (kvf_present(i->host_cpu_ratio)) {
        w->host_busy_s = i->host_cpu_ratio * i->length_s;
        w->host_known_s = i->length_s;
        w->host_own_s = known(i->cpu_user_s + i->cpu_sys_s) / (double)sysconf(_SC_NPROCESSORS_ONLN);
    }
}

/* New and all lookups as the sample weighs them, so that both belong to the same time. */
static void sum_reuse(struct engine *e, struct window_sums *w) {
    struct sampler *p = e->control.sampler;
    double first, lookups;
    sample_look(e->service.pods[0].pipeline.sample);
    sample_firsts(e->service.pods[0].pipeline.sample, &first, &lookups);
    w->unwritten = sample_unwritten(e->service.pods[0].pipeline.sample) - p->unwritten;
    sample_looked(e->service.pods[0].pipeline.sample);
    w->firsts = first - p->firsts;
    w->sampled = lookups - p->sampled;
}

static void sum_compute(const struct scenario *s, struct window_sums *w, const struct compute_stats *from,
                        const struct compute_stats *to) {
    double each = 1e15 * pods_machines(s), room = (double)scenario_batch_bytes(s);
    w->compute_busy_s = (double)(to->busy - from->busy) / each;
    w->compute_flops_s = (double)(to->flops - from->flops) / each;
    w->compute_memory_s = (double)(to->memory - from->memory) / each;
    w->batch_waiting_s = (double)(to->waiting - from->waiting) / 1e15;
    w->batch_held_s = (double)(to->held - from->held) / 1e15;
    w->batch_running_s = (double)(to->running - from->running) / 1e15;
    w->compute_prefill_s = (double)(to->prefill - from->prefill) / each;
    w->prefill_tokens = (double)(to->prefill_tokens - from->prefill_tokens);
    if (s->cache.granularity == KVF_GRANULARITY_BLOCK) w->missed_tokens = w->prefill_tokens;
    if (scenario_batch_bytes(s) != UINT64_MAX) {
        w->kv_use_s = (double)(to->kv - from->kv) / room / each;
        w->kv_kept_s = (double)(to->reserved - from->reserved) / room / each;
    }
    w->batch_full_s = (double)(to->full - from->full) / each;
    w->batch_no_room_s = (double)(to->no_room - from->no_room) / each;
}

static struct window_sums sums_of(const struct engine *e, const struct reading *from,
                                  const struct reading *to, const struct snapshot *snap,
                                  const struct use *use) {
    const struct sampler *p = e->control.sampler;
    const struct snapshot_interval *i = &snap->interval;
    const struct counters *d = p->delta;
    const struct histogram *e2e = &d->latency[REQUEST_LATENCY_E2E], *ttft = &d->latency[REQUEST_LATENCY_TTFT];
    double done = (double)counters_get(&d->requests_done); /* counted last */
    struct window_sums w = {.length_s = i->length_s,
                            .requests = done,
                            .arrived = (double)i->arrived,
                            .e2e_ms = sum_for(e2e, done),
                            .ttft_ms = sum_ms(ttft),
                            .first_tokens = (double)histogram_count(ttft),
                            .queue_ms = sum_for(&d->latency[REQUEST_LATENCY_QUEUE_WAIT], done),
                            .storage_ms = sum_for(&d->latency[REQUEST_LATENCY_STORAGE_IO], done),
                            .prefill_ms = (double)counters_get(&d->prefill_ns) / 1e6,
                            .generation_ms = sum_ms(&d->latency[REQUEST_LATENCY_GENERATION]),
                            .room_ms = (double)counters_get(&d->room_ns) / 1e6,
                            .first_room_ms = (double)counters_get(&d->first_room_ns) / 1e6,
                            .first_storage_ms = (double)counters_get(&d->first_storage_ns) / 1e6,
                            .held_s = seconds(counters_get(&d->writes_held_ns)),
                            .slots_busy_s = known(i->in_service) * i->length_s,
                            .slots_s = (double)i->slots * i->length_s,
                            .users_s = (double)i->users * i->length_s,
                            .users_more = (double)to->users - (double)from->users,
                            .lookups = (double)reuses(p->cache.lookups),
                            .misses = (double)reuses(p->cache.misses),
                            .free_misses = (double)free_of(e->s, p->cache.misses),
                            .missed_tokens = (double)counters_get(&d->rebuilt_tokens),
                            .failed = (double)counters_get(&d->requests_failed),
                            .refused = (double)counters_get(&d->requests_refused)};
    sum_compute(e->s, &w, &from->compute, &to->compute);
    w.copying_s = seconds(counters_get(&d->copying_ns)) / pods_machines(e->s);
    w.staging_s = seconds(counters_get(&d->staging_ns)) / pods_machines(e->s);
    for (uint32_t k = 0; k < snap->classes; k++) {
        w.queued_s += known(snap->qos[k].queued_mean) * i->length_s;
        w.class_arrived[k] = (double)snap->qos[k].arrived;
        w.class_done[k] = (double)snap->qos[k].done;
        w.class_failed[k] = (double)snap->qos[k].failed;
        w.class_starved_s[k] = snap->qos[k].starved > 0 ? i->length_s : 0;
        if (!kvf_present(snap->qos[k].violations)) continue;
        w.class_judged[k] = (double)(snap->qos[k].done + snap->qos[k].failed);
        w.class_missed[k] = snap->qos[k].violations;
        w.class_there[k] = known(snap->qos[k].queued_mean + snap->qos[k].in_service) > 0;
        w.class_late[k] = snap->qos[k].overdue > 0;
    }
    sum_tiers(e->s, &w, snap, d, use);
    sum_machine(&w, snap);
    return w;
}

/* Of more than an interval: what the sums over all intervals so far have grown by. */
static struct window_sums sums_between(const struct engine *e, const struct reading *from,
                                       const struct reading *to, const struct snapshot *snap,
                                       const struct use *use) {
    struct window_sums w = sums_of(e, from, to, snap, use);
    w.users_s = to->users_s - from->users_s;
    w.firsts = to->firsts - from->firsts;
    w.sampled = to->sampled - from->sampled;
    w.unwritten = to->unwritten - from->unwritten;
    return w;
}

/* ---- what the rule wants beside them ---- */

/* Entries that went so far because no room was left for them. */
static uint64_t pushed_out(const struct cache_stats *c) {
    uint64_t sum = c->refused;
    for (int t = 0; t < KVF_TIERS; t++) sum += c->evictions[t];
    return sum;
}

/* Whether entries may be missing that there was room for: a rule keeps them out or lets them expire, a store
 * lost them, or operations failed. */
static bool loses(const struct engine *e) {
    const struct scenario *s = e->s;
    const struct reading *now = &e->control.sampler->now;
    bool away = s->cache.admission != KVF_ADMISSION_ALWAYS;
    away = away || now->cache.outage_dropped > 0 || s->fleet.outages > 0;
    for (int t = 0; t < KVF_TIERS; t++) {
        away = away || (s->tier[t].on && s->tier[t].eviction == KVF_EVICTION_TTL) ||
               counters_get(&now->workers->lost[t]) > 0;
        for (int d = 0; d < KVF_DIRS; d++) away = away || counters_get(&now->workers->errors[t][d]) > 0;
    }
    return away;
}

/* So it is where none had to go at all. */
static bool turns_away(const struct engine *e) {
    return loses(e) || pushed_out(&e->control.sampler->now.cache) == 0;
}

/* Not none: only the way to a pod keeps it from what there is room for. */
static enum judge_routing routing_of(const struct engine *e) {
    enum scenario_routing routing = e->s->fleet.routing;
    if (e->s->fleet.pods < 2 || loses(e)) return JUDGE_ROUTING_NONE;
    if (e->s->cache.granularity == KVF_GRANULARITY_REQUEST)
        return routing == KVF_ROUTING_SESSION ? JUDGE_ROUTING_BY_SESSION : JUDGE_ROUTING_NOT_BY_SESSION;
    return traits_routing(routing)->caps & ROUTING_BY_BLOCKS ? JUDGE_ROUTING_BY_PREFIX
                                                             : JUDGE_ROUTING_NOT_BY_PREFIX;
}

static bool higher_targets(const struct scenario *s) {
    for (uint32_t k = 0; k < s->qos.classes; k++)
        for (int i = 1; i < KVF_TARGETS; i++)
            if (sampler_target_ns(&s->qos.klass[k], i) != KVF_UNSET) return true;
    return false;
}

/* Of the remote tier, or of a fleet's index. */
static bool server_here(const struct scenario *s) {
    const struct {
        bool used;
        const char *url;
    } of[] = {{scenario_remote_is_real(s) && scenario_backend_has(s, KVF_TIER_REMOTE, BACKEND_SERVER),
               s->remote.url},
              {s->mode == KVF_MODE_REAL && s->fleet.index.backend == KVF_INDEX_RESP, s->fleet.index.url}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        struct url u;
        struct err e = {0};
        if (!of[i].used || url_parse(of[i].url, &u, &e) != 0) continue;
        if (strcmp(u.scheme, "unix") == 0 || (u.host[0] && url_here(u.host))) return true;
    }
    return false;
}

/* A tier without a link of its own has none that is idle either. */
static struct window_facts facts_of(const struct engine *e) {
    const struct tier *gpu = e->service.tiers[KVF_TIER_GPU];
    bool paced = e->s->workload.arrival.process == KVF_ARRIVAL_PACED;
    bool real = gpu && !(gpu->ops->caps(gpu) & TIER_EMULATED);
    struct window_facts f = {.computes = e->service.pods[0].pipeline.compute != NULL,
                             .by_ttft = e->s->qos.latency == KVF_QOS_LATENCY_TTFT,
                             .higher = higher_targets(e->s),
                             .server_here = server_here(e->s),
                             .machines = pods_machines(e->s),
                             .places = (double)e->s->compute.max_batch * pods_machines(e->s),
                             .writes = (double)e->s->engine.max_concurrent_writes,
                             .copies = e->s->cache.placement == KVF_PLACEMENT_INCLUSIVE,
                             .way_ms = seconds(engine_is_virtual(e) ? e->s->fleet.delay_ns : 0) * 1e3,
                             .replays = e->s->workload.arrival.process == KVF_ARRIVAL_TRACE,
                             .lookup_ms = seconds(e->s->cache.lookup_cost_ns) * 1e3,
                             .capacity_ratio = e->control.sampler->capacity_ratio,
                             .dispersion = scenario_arrival_dispersion(e->s),
                             .loop = paced                                      ? WINDOW_LOOP_PACED
                                     : workload_open_loop(e->dispatch.workload) ? WINDOW_LOOP_OPEN
                                                                                : WINDOW_LOOP_CLOSED,
                             .gpu_memory =
                                 gpu && (real || station_measured(&e->s->tier[KVF_TIER_GPU].service, true)),
                             .reuse_bytes = e->control.sampler->reuse_bytes,
                             .reuse_error = e->control.sampler->reuse_error,
                             .routing = routing_of(e)};
    for (uint32_t k = 0; k < e->s->qos.classes; k++)
        f.longer[k] =
            e->s->qos.klass[k].p95_ns != KVF_UNSET &&
            e->s->qos.klass[k].p95_ns >= e->control.sampler->now.run_ns - e->control.sampler->zero_ns;
    for (int t = 0; t < KVF_TIERS; t++) {
        f.linked[t] = e->service.tiers[t] && (t == KVF_TIER_GPU || t == KVF_TIER_REMOTE);
        for (int d = 0; d < KVF_DIRS; d++)
            f.joint[t][d] = station_joint(&e->s->tier[t].service, &e->s->tier[t].emulation, (enum kvf_dir)d);
        bool measured = station_measured(&e->s->tier[t].service, t == KVF_TIER_GPU);
        f.channels[t] = measured ? 0 : (double)e->s->tier[t].emulation.channels;
        f.full[t] = e->service.tiers[t] && e->service.tiers[t]->ops->used_ns &&
                    e->s->tier[t].emulation.duplex == KVF_DUPLEX_FULL;
    }
    return f;
}

/* A server may have less room than its tier. */
double verdict_holds(const struct engine *e, const struct reading *at, int tier) {
    double bytes = (double)scenario_usable_bytes(e->s, (enum kvf_tier)tier) * pods_tiers(e->s, tier);
    double most = tier == KVF_TIER_REMOTE ? at->server.max_bytes : KVF_MISSING;
    return most > 0 ? fmin(bytes, most) : bytes;
}

/* The sample of accesses, as it is now: of this rank's, which stand for those of all, and of all its pods'.
 */
static void look_at_reuse(struct engine *e) {
    struct sampler *p = e->control.sampler;
    double held = 0;
    for (int t = 0; t < KVF_TIERS; t++) {
        double more = e->service.tiers[t] ? verdict_holds(e, &p->now, t) / scenario_ranks(e->s) : 0;
        held = e->s->cache.placement == KVF_PLACEMENT_INCLUSIVE ? fmax(held, more) : held + more;
    }
    sample_look(e->service.pods[0].pipeline.sample);
    p->reuse_bytes =
        sample_reuse_bytes(e->service.pods[0].pipeline.sample, VERDICT_REUSES) * scenario_ranks(e->s);
    double by_size = sample_miss_ratio(e->service.pods[0].pipeline.sample, held, &p->reuse_error);
    p->capacity_ratio = turns_away(e) || e->s->fleet.pods > 1 ? by_size : KVF_MISSING;
    sample_looked(e->service.pods[0].pipeline.sample);
}

static void stalls_judged(const struct reading *from, const struct reading *to, struct judge_input *in) {
    double ranks_ns = (double)(to->run_ns - from->run_ns) * (double)to->ranks;
    for (int t = 0; t < KVF_TIERS; t++) {
        struct usage_sums d = usage_between(&from->usage[t], &to->usage[t]);
        in->stalled[t] = ranks_ns > 0 ? (double)usage_stall_ns(&d) / ranks_ns : 0;
    }
}

void verdict_snap(struct engine *e, struct snapshot *snap, const struct use *use) {
    struct sampler *p = e->control.sampler;
    struct window_sums interval = sums_of(e, &p->last, &p->now, snap, use), recent;
    struct judge_input in = {.whole = false};
    static struct verdict v; /* control thread only */
    sum_reuse(e, &interval);
    if (!snap->peek) {
        window_add(&p->window, &interval);
        p->firsts += interval.firsts;
        p->sampled += interval.sampled;
        p->unwritten += interval.unwritten;
    }
    window_look(&p->window, snap->peek ? &interval : NULL, &recent);
    window_means(&recent, &in);
    look_at_reuse(e);
    p->interval = interval;
    p->facts = facts_of(e);
    window_describe(&p->facts, &recent, snap, &in);
    blocks_judged(e, &p->last, &p->now, &in);
    v.warnings = 0;
    judge_run(&in, &v);
    snprintf(snap->bottleneck, sizeof snap->bottleneck, "%s", v.sentence);
}

void verdict_between(struct engine *e, const struct reading *from, const struct snapshot *snap,
                     const struct use *use, bool forecasts, struct verdict *out) {
    struct sampler *p = e->control.sampler;
    struct window_sums w = sums_between(e, from, &p->now, snap, use);
    struct judge_input in = {.whole = false};
    window_means(&w, &in);
    window_describe(&p->facts, &w, snap, &in);
    blocks_judged(e, from, &p->now, &in);
    stalls_judged(from, &p->now, &in);
    enum verdict_limit limit = out->limited_by;
    enum verdict_cause cause = out->cause;
    out->warnings = 0;
    judge_run(&in, out);
    if (!forecasts && out->limited_by == limit && out->cause == cause) {
        /* estimates of a moment ago, told from the mean that is shown beside them */
        verdict_rebase(out, "e2e_mean_ms", in.e2e_ms, in.generation_ms + in.prefill_ms);
        return;
    }
    out->remedies = 0;
    forecast_recent(e, &in, snap, out);
}

/* ---- the run ---- */

/* The described part of a snapshot, at the end of the measured part. */
static void end_of(const struct engine *e, struct snapshot *s) {
    const struct reading *end = &e->control.sampler->end;
    *s = (struct snapshot){.interval = {.slots = pods_slots(e->s), .queue_depth = end->queued}};
    s->remote.server_max_bytes = end->server.max_bytes;
    engine_describe_tiers(&e->service, s);
    for (int t = 0; t < KVF_TIERS; t++) s->tier[t].used_bytes = end->cache.used_bytes[t];
}

void verdict_run(struct engine *e, const struct snapshot *snap, const struct use *use,
                 struct run_record *run) {
    struct sampler *p = e->control.sampler;
    struct window_sums w = sums_between(e, &p->base, &p->end, snap, use);
    static struct snapshot end; /* control thread only; too large for its stack */
    struct judge_input in = {.whole = true, .failed_run = run->status == RUN_FAILED};
    end_of(e, &end);
    look_at_reuse(e);
    p->facts = facts_of(e);
    window_means(&w, &in);
    window_describe(&p->facts, &w, &end, &in);
    blocks_judged(e, &p->base, &p->end, &in);
    stalls_judged(&p->base, &p->end, &in);
    judge_read_results(run, &in);
    judge_run(&in, &run->verdict);
    forecast_remedies(e, &in, run);
}
