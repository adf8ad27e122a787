#include "engine/sampling/sampler.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "engine/core.h"
#include "engine/pipeline/sample.h"
#include "engine/pods/outages.h"
#include "engine/sampling/kept.h"
#include "engine/sampling/lookback.h"
#include "engine/sampling/together.h"
#include "engine/scaling.h"
#include "engine/verdict_readings.h"

/* ---- the snapshot of an interval ---- */

static double seconds(uint64_t ns) {
    return (double)ns / (double)KVF_NS_PER_S;
}

static uint64_t sum_causes(const uint64_t counts[KVF_CAUSES], bool with_decode) {
    uint64_t n = 0;
    for (int c = 0; c < KVF_CAUSES; c++)
        if (with_decode || c != KVF_CAUSE_DECODE) n += counts[c];
    return n;
}

static void snap_host(struct snapshot_interval *i, const struct reading *now, const struct reading *last,
                      double s) {
    const struct host_counts *a = &last->host, *b = &now->host;
    double ticks = b->cpu_total_ticks - a->cpu_total_ticks;
    i->rss_bytes = b->process_rss_bytes;
    i->cpu_user_s = b->process_user_s - a->process_user_s;
    i->cpu_sys_s = b->process_sys_s - a->process_sys_s;
    i->host_cpu_ratio = kvf_ratio(b->cpu_busy_ticks - a->cpu_busy_ticks, ticks);
    i->host_steal_ratio = kvf_ratio(b->cpu_steal_ticks - a->cpu_steal_ticks, ticks);
    i->host_available_bytes = b->available_bytes;
    i->net_rx_bytes = b->net_rx_bytes - a->net_rx_bytes;
    i->net_tx_bytes = b->net_tx_bytes - a->net_tx_bytes;
    bool device = now->device_present && last->device_present;
    const struct blockdev_counters *x = &last->device, *y = &now->device;
    i->device_read_bytes = device ? (double)(y->read_bytes - x->read_bytes) : KVF_MISSING;
    i->device_write_bytes = device ? (double)(y->write_bytes - x->write_bytes) : KVF_MISSING;
    i->device_read_ms = device ? (double)(y->read_ms - x->read_ms) : KVF_MISSING;
    i->device_write_ms = device ? (double)(y->write_ms - x->write_ms) : KVF_MISSING;
    i->device_busy_ratio =
        device ? kvf_ratio((double)(y->io_ticks_ms - x->io_ticks_ms) / 1e3, s) : KVF_MISSING;
    if (i->device_busy_ratio > 1) i->device_busy_ratio = 1;
    i->device_queue =
        device ? kvf_ratio((double)(y->time_in_queue_ms - x->time_in_queue_ms) / 1e3, s) : KVF_MISSING;
}

static void snap_interval(struct engine *e, const struct reading *last, const struct reading *now,
                          struct snapshot *snap, const struct use *use) {
    struct sampler *p = e->control.sampler;
    const struct counters *d = p->delta;
    struct snapshot_interval *i = &snap->interval;
    double s = seconds(now->run_ns - last->run_ns);
    uint64_t oldest = KVF_NEVER;
    i->t_s = i->phase == KVF_PHASE_PREPARE ? 0 : seconds(now->run_ns - p->zero_ns);
    i->length_s = s;
    i->at = (double)clock_wall_ns() / 1e9;
    i->paused = run_clock_paused(&e->clock);
    i->users = now->users;
    i->queue_depth = now->queued;
    for (uint32_t k = 0; k < e->s->qos.classes; k++)
        if (now->open_ns[k] < oldest) oldest = now->open_ns[k];
    i->oldest_wait_ms = oldest == KVF_NEVER || oldest > now->run_ns ? 0 : seconds(now->run_ns - oldest) * 1e3;
    i->queue_depth_mean = use->waiting;
    i->in_service = use->in_service;
    i->in_service_now = now->in_service;
    i->slots = pods_slots(e->s);
    i->arrived = now->arrived - last->arrived;
    i->dropped = now->dropped - last->dropped;
    i->done = counters_get(&d->requests_done);
    i->failed = counters_get(&d->requests_failed);
    i->tokens = counters_get(&d->tokens_generated);
    i->lookups = sum_causes(p->cache.lookups, true);
    i->hits = sum_causes(p->cache.hits, true);
    i->reuse_lookups = sum_causes(p->cache.lookups, false);
    i->refused = p->cache.refused;
    i->not_admitted = p->cache.not_admitted;
    for (int t = 0; t < KVF_TIERS; t++) i->fell_through += p->cache.fell_through[t];
    for (int t = 0; t < KVF_TIERS; t++)
        for (int dir = 0; dir < KVF_DIRS; dir++) i->errors += counters_get(&d->errors[t][dir]);
    i->workers_cpu_s = engine_is_virtual(e) ? KVF_MISSING : seconds(counters_get(&d->cpu_ns));
    levels_interval(i, d);
    static struct histogram late; /* control thread only; too large for its stack */
    histogram_copy(&late, now->lateness);
    histogram_subtract(&late, last->lateness);
    i->lateness_p99_ms = histogram_quantile(&late, 0.99) / (double)KVF_NS_PER_MS;
    snap_host(i, now, last, s);
}

static void snap_tier(struct engine *e, struct snapshot *snap, const struct counters *d,
                      const struct use *use, int t) {
    const struct cache_stats *cache = &e->control.sampler->cache;
    struct snapshot_tier *v = &snap->tier[t];
    v->used_bytes = cache->used_bytes[t];
    v->entries = cache->entries[t];
    v->hits = cache->tier_hits[t];
    v->reuse_hits = sum_causes(cache->hits_in[t], false);
    for (int c = 0; c < KVF_CAUSES; c++) {
        for (int dir = 0; dir < KVF_DIRS; dir++) {
            snap->cause[t][dir][c].ops = counters_get(&d->io[t][dir][c].ops);
            snap->cause[t][dir][c].bytes = counters_get(&d->io[t][dir][c].bytes);
        }
        v->read_ops += snap->cause[t][KVF_DIR_READ][c].ops;
        v->write_ops += snap->cause[t][KVF_DIR_WRITE][c].ops;
        v->read_bytes += snap->cause[t][KVF_DIR_READ][c].bytes;
        v->write_bytes += snap->cause[t][KVF_DIR_WRITE][c].bytes;
    }
    levels_tier(v, d, t);
    v->io_in_flight = counters_get(&d->chunks_in_flight[t]);
    v->io_in_flight_mean = use->in_flight[t];
    v->busy_ratio = use->tier_busy[t];
    v->read_busy_ratio = use->busy[t][KVF_DIR_READ];
    v->write_busy_ratio = use->busy[t][KVF_DIR_WRITE];
    v->evictions = cache->evictions[t];
    v->demotions = cache->demotions[t];
    v->promotions = cache->promotions[t];
    v->fell_through = cache->fell_through[t];
    v->hung_s = hang_interval_s(&e->service, (enum kvf_tier)t, snap->peek);
    v->errors = counters_get(&d->errors[t][KVF_DIR_READ]) + counters_get(&d->errors[t][KVF_DIR_WRITE]);
}

/* Slots that a class was given so far. */
static uint64_t slots_given(const struct class_counts *c) {
    return c->arrived - c->dropped - c->queued;
}

/* As long as a request of the class may wait before others who overtake it starve it; NaN: nobody had a slot.
 */
static double patience_ns(const struct engine *e, const struct reading *now, uint32_t k) {
    uint64_t target_ns = e->s->qos.klass[k].p95_ns, given = 0, held_ns = 0;
    if (target_ns != KVF_UNSET) return SAMPLER_STARVED_TIMES * (double)target_ns;
    for (uint32_t i = 0; i < e->s->qos.classes; i++) {
        given += slots_given(&now->klass[i]);
        held_ns += now->klass[i].service_ns;
    }
    return SAMPLER_STARVED_TIMES * kvf_ratio((double)held_ns, (double)given);
}

/* Both are of the moment, whatever the length of an interval. */
static bool is_overtaken(const struct engine *e, const struct reading *now, uint32_t k) {
    bool behind = now->behind_ns[k] < now->run_ns;
    return behind && (double)(now->run_ns - now->behind_ns[k]) > patience_ns(e, now, k);
}

static bool is_served(const struct engine *e, const struct reading *now, uint32_t k) {
    return now->klass[k].in_service > 0 ||
           !((double)(now->run_ns - now->left_ns[k]) > patience_ns(e, now, k));
}

/* Every miss counts once: when the request is past its target, or when it ends beyond it. One that ends while
 * the reading is taken may be in neither count; the next interval makes up for it. */
static double violations_since(struct sampler *p, uint32_t k, uint64_t ended_beyond, bool peek) {
    int64_t newly = (int64_t)p->now.overdue[k][0] - (int64_t)p->last.overdue[k][0];
    int64_t n = (int64_t)ended_beyond + newly + p->missed_debt[k];
    if (!peek) p->missed_debt[k] = n < 0 ? n : 0;
    return n < 0 ? 0 : (double)n;
}

static void snap_class(struct engine *e, const struct reading *last, const struct reading *now,
                       struct snapshot *snap, const struct use *use, uint32_t k) {
    const struct counters_class *c = &e->control.sampler->delta->klass[k];
    struct snapshot_qos *v = &snap->qos[k];
    snprintf(snap->class_name[k], sizeof snap->class_name[k], "%.31s", e->s->qos.klass[k].name);
    uint64_t dropped = now->klass[k].dropped - last->klass[k].dropped;
    v->queued = now->klass[k].queued;
    v->queued_mean = use->class_waiting[k];
    v->in_service = use->class_in_service[k];
    v->in_service_now = now->klass[k].in_service;
    v->arrived = now->klass[k].arrived - last->klass[k].arrived;
    v->done = counters_get(&c->done);
    v->failed = counters_get(&c->failed) + dropped;
    v->oldest_wait_ms = now->open_ns[k] < now->run_ns ? seconds(now->run_ns - now->open_ns[k]) * 1e3 : 0;
    v->overdue = now->overdue[k][0];
    levels_class(v, c);
    uint64_t ended = v->done + v->failed, target_ns = e->s->qos.klass[k].p95_ns;
    bool judged = target_ns != KVF_UNSET;
    v->met_ratio = judged ? kvf_ratio((double)result_met(c), (double)(ended + v->overdue)) : KVF_MISSING;
    uint64_t ended_beyond = counters_get(&c->missed) + v->failed;
    v->violations = judged ? violations_since(e->control.sampler, k, ended_beyond, snap->peek) : KVF_MISSING;
    e->control.sampler->overtaken[k] = is_overtaken(e, now, k);
    v->starved = e->control.sampler->overtaken[k] && !is_served(e, now, k);
}

static void snap_heat(struct snapshot *snap, const struct counters *d) {
    const struct histogram *h[SNAPSHOT_HEATS] = {&d->latency[REQUEST_LATENCY_E2E],
                                                 &d->op_total[KVF_TIER_NVME][KVF_DIR_READ],
                                                 &d->op_total[KVF_TIER_NVME][KVF_DIR_WRITE]};
    double first_ns = snapshot_heat_edge_ms(0) * (double)KVF_NS_PER_MS;
    for (int i = 0; i < SNAPSHOT_HEATS; i++)
        histogram_spread(h[i], first_ns, snap->heat[i], SNAPSHOT_HEAT_BINS);
}

static void snap_tiers(struct engine *e, struct snapshot *snap, const struct use *use) {
    engine_describe_tiers(&e->service, snap);
    for (int t = 0; t < KVF_TIERS; t++)
        if (e->service.tiers[t]) snap_tier(e, snap, e->control.sampler->delta, use, t);
    if (e->control.device_count > 0)
        snprintf(snap->tier_device[KVF_TIER_NVME], SNAPSHOT_NAME, "%.31s", e->control.devices[0].disk);
}

void sampler_between(struct engine *e, const struct reading *from, const struct reading *to,
                     struct snapshot *snap, struct use *use) {
    struct sampler *p = e->control.sampler;
    counters_sum(p->delta, to->workers, 1);
    counters_subtract(p->delta, from->workers);
    cache_stats_since(&p->cache, &to->cache, &from->cache);
    use_between(&e->service, from, to, use);
    snap_interval(e, from, to, snap, use);
    snap_tiers(e, snap, use);
    snapshot_derive(snap);
    snap->classes = e->s->qos.classes;
    for (uint32_t k = 0; k < snap->classes; k++) snap_class(e, from, to, snap, use, k);
    server_snap(&e->service, p, snap, p->delta);
    blocks_snap(e, from, to, snap);
    snap_heat(snap, p->delta);
}

/* ---- this rank alone, of several ---- */

static void part_fill(struct engine *e, const struct reading *from, struct snapshot_host *out) {
    static struct snapshot snap; /* control thread only; too large for its stack */
    struct use use;
    memset(&snap, 0, offsetof(struct snapshot, request));
    snap.peek = true; /* it is no interval of the run */
    sampler_between(e, from, &e->control.sampler->now, &snap, &use);
    snapshot_host_fill(out, &snap);
    for (int t = 0; t < KVF_TIERS; t++)
        out->tier[t].capacity_bytes /= scenario_ranks(e->s); /* a snapshot has that of all */
}

/* While the newest reading is of this rank alone. */
static void part_take(struct engine *e) {
    struct together_part *part = together_part(e);
    const struct reading *now = &e->control.sampler->now;
    if (!part) return;
    if (e->control.moment > 1) part_fill(e, &part->last, &part->interval);
    if (e->control.moment > 1 && e->control.moment <= TOGETHER_END)
        part_fill(e, &part->base, &part->measured);
    const struct cache_stats before = part->last.cache;
    reading_copy(&part->last, now);
    if (e->control.moment == 1 || e->control.moment == TOGETHER_MEASURED)
        reading_copy(&part->base, now);
    else
        cache_stats_owe(&part->last.cache, &before);
}

static void reading_share(struct engine *e) {
    part_take(e);
    together_reading(e, &e->control.sampler->now, e->control.moment);
}

static void snapshot_make(struct engine *e, enum kvf_run_phase phase, bool peek, struct snapshot *snap) {
    struct sampler *p = e->control.sampler;
    struct use use;
    memset(snap, 0, sizeof *snap);
    snap->peek = peek;
    snap->simulated = engine_is_virtual(e);
    snap->real_s = snap->simulated ? simulator_real_s(e) : KVF_MISSING;
    snap->speed = snap->simulated ? e->control.simulator.speed : KVF_MISSING;
    snap->interval.phase = phase;
    reading_take(e, &p->now, snap);
    if (peek)
        together_peek(e, &p->now);
    else
        reading_share(e);
    sampler_between(e, &p->last, &p->now, snap, &use);
    together_hosts(e, snap);
    pods_interval(e, snap);
    snap->interval.saturation = scaling_saturation(e, snap);
    gpus_snap(&p->gpus, &e->events, snap);
    vitals_snap(e, &p->vitals, snap);
    verdict_snap(e, snap, &use);
}

/* With moves in the background a tier is full from the low mark on. */
static double room_of(const struct engine *e, int tier) {
    double bytes = verdict_holds(e, &e->control.sampler->last, tier);
    return e->s->cache.make_room == KVF_MAKE_ROOM_BACKGROUND ? e->s->cache.low_watermark * bytes : bytes;
}

static double used_part(const struct engine *e, int tier, uint64_t used_bytes) {
    return fmin(1, (double)used_bytes / room_of(e, tier));
}

/* Entries that left a tier for want of room: not its copies below, nor, in part, what expired. */
static double fallen_of(const struct engine *e, int tier, uint64_t evictions, uint64_t demotions) {
    bool copies = e->s->cache.placement == KVF_PLACEMENT_INCLUSIVE;
    if (e->s->tier[tier].eviction == KVF_EVICTION_TTL) return 0;
    return (double)evictions + (copies ? 0 : (double)demotions);
}

/* One that entries fell out of before is full, whatever an entry more or less makes of it; of several in a
 * fleet, some may be. */
static void steady_start(struct engine *e, double at_s) {
    struct sampler *p = e->control.sampler;
    const struct cache_stats *c = &p->last.cache;
    steady_begin(&p->steady, at_s);
    for (int t = 0; t < KVF_TIERS; t++) {
        if (!e->service.tiers[t] || !(room_of(e, t) > 0)) continue;
        bool full = pods_tiers(e->s, t) == 1 && fallen_of(e, t, c->evictions[t], c->demotions[t]) > 0;
        p->steady.asked[t] = true;
        p->steady.begin_used[t] = full ? 1 : used_part(e, t, c->used_bytes[t]);
    }
}

static void steady_note(struct engine *e, const struct snapshot *snap) {
    double per_token = (double)model_bytes_per_token(&e->s->model, e->s->tensor_parallel);
    struct steady_cell c = {.length_s = snap->interval.length_s, .tokens = (double)snap->interval.tokens};
    for (int t = 0; t < KVF_TIERS; t++) {
        double bytes = (double)(snap->tier[t].read_bytes + snap->tier[t].write_bytes);
        c.moved_tokens += bytes / per_token;
        if (t == KVF_TIER_NVME) c.nvme_tokens = bytes / per_token;
    }
    struct steady *s = &e->control.sampler->steady;
    for (int t = 0; t < KVF_TIERS; t++) {
        if (!s->asked[t]) continue;
        c.used[t] = used_part(e, t, snap->tier[t].used_bytes);
        c.fallen[t] = fallen_of(e, t, snap->tier[t].evictions, snap->tier[t].demotions);
    }
    steady_add(s, &c);
}

/* ---- publication ---- */

static void record_code(struct record *r, int scope, const struct histogram *h) {
    if (histogram_count(h) == 0) return;
    size_t need = histogram_encode(h, NULL, 0);
    r->coded[scope] = mem_alloc(need);
    r->coded_len[scope] = histogram_encode(h, r->coded[scope], need);
}

static void record_histograms(struct record *r, struct sampler *p) {
    for (int scope = 0; scope < RECORD_SCOPES; scope++) record_code(r, scope, kept_scope(p->delta, scope));
    r->kept = kept_code(&p->interval, &p->facts, p->delta, &r->kept_len);
}

static void totals_publish(struct engine *e, const struct snapshot *snap) {
    struct sampler *p = e->control.sampler;
    if (!e->setup->totals) return;
    totals_add(&p->totals, snap, p->delta, &p->cache);
    newest_put(e->setup->totals, &p->totals);
}

/* A peek has the figures of the interval before. */
static void energy_note(struct sampler *p, const struct snapshot_interval *i, bool peek) {
    struct reading *now = &p->now;
    bool power = !peek && kvf_present(i->cpu_power_w), energy = !peek && kvf_present(i->energy_used_j);
    now->power_j = p->last.power_j + (power ? i->cpu_power_w * i->length_s : 0);
    now->power_s = p->last.power_s + (power ? i->length_s : 0);
    now->energy_j = p->last.energy_j + (energy ? i->energy_used_j : 0);
    now->energy_s = p->last.energy_s + (energy ? i->length_s : 0);
}

/* The sums over the intervals, with the one that ends here. */
static void reading_note(struct sampler *p, const struct snapshot *snap) {
    struct reading *now = &p->now;
    for (uint32_t k = 0; k < snap->classes; k++) {
        double missed = snap->qos[k].violations;
        now->violations[k] = p->last.violations[k] + (kvf_present(missed) ? missed : 0);
    }
    energy_note(p, &snap->interval, snap->peek);
    now->users_s = p->last.users_s + (double)snap->interval.users * snap->interval.length_s;
    now->firsts = p->firsts;
    now->sampled = p->sampled;
    now->unwritten = p->unwritten;
}

/* Extremes from before are of no part that is told. */
static void extremes_from_here(struct engine *e) {
    counters_forget(e->control.sampler->last.workers);
    histogram_forget(e->control.sampler->last.lateness);
    counters_restart(e->service.counters, e->service.counter_count);
    histogram_restart(e->dispatch.lateness);
}

/* Extremes of the interval count for all of its part; the next one begins with none. */
static void extremes_go_on(struct engine *e) {
    struct sampler *p = e->control.sampler;
    counters_extend(p->now.workers, p->last.workers);
    histogram_extend(p->now.lateness, p->last.lateness);
    counters_restart(e->service.counters, e->service.counter_count);
    histogram_restart(e->dispatch.lateness);
}

void sampler_interval(struct engine *e, enum kvf_run_phase phase) {
    struct sampler *p = e->control.sampler;
    struct record *r = record_new(RECORD_SNAPSHOT);
    snapshot_make(e, phase, false, &r->snap);
    r->snap.interval.seq = p->seq++;
    scaling_interval(e, &r->snap, p->delta);
    record_histograms(r, p);
    double s = r->snap.interval.length_s;
    for (uint32_t k = 0; k < r->snap.classes && phase != KVF_PHASE_DRAIN; k++)
        if (r->snap.qos[k].starved > 0) p->starved_s[k] += s;
    if (phase != KVF_PHASE_DRAIN) { /* those of the warm-up are forgotten at its end, if there is one */
        steady_note(e, &r->snap);
        gpus_note(&p->gpus, &r->snap);
    }
    totals_publish(e, &r->snap);
    reading_note(p, &r->snap);
    lookback_interval(e, &r->snap);
    outages_interval(e, &r->snap);
    extremes_go_on(e);
    reading_swap(&p->last, &p->now); /* the next one is taken anew */
    memcpy(p->hits_in, p->last.cache.hits_in, sizeof p->hits_in);
    cache_stats_owe(&p->last.cache, &p->now.cache);
    together_go(e);
    if (e->setup->slot) slot_put(e->setup->slot, &r->snap);
    if (e->setup->on_interval) e->setup->on_interval(e->setup->ctx, &r->snap);
    if (e->setup->fifo)
        fifo_put(e->setup->fifo, r);
    else
        record_free(r);
}

void sampler_peek(struct engine *e, enum kvf_run_phase phase) {
    static struct snapshot snap; /* control thread only; too large for its stack */
    snapshot_make(e, phase, true, &snap);
    snap.interval.seq = e->control.sampler->seq;
    reading_note(e->control.sampler, &snap);
    lookback_interval(e, &snap);
    if (e->setup->slot) slot_put(e->setup->slot, &snap);
}

void sampler_begin(struct engine *e) {
    struct sampler *p = e->control.sampler;
    reading_take(e, &p->now, NULL);
    if (e->control.moment > 0) { /* the run begins; a rank may have stood still since it read the clock */
        e->control.late_ns += p->now.run_ns - e->control.begun_ns;
        reading_share(e);
        together_go(e);
        e->control.moment++;
    }
    reading_copy(&p->last, &p->now);
    memcpy(p->hits_in, p->last.cache.hits_in, sizeof p->hits_in);
    reading_copy(&p->base, &p->now);
    p->zero_ns = p->now.run_ns;
    totals_begin(&p->totals);
    window_begin(&p->window);
    pods_measure_from_here(e);
    steady_start(e, 0);
    gpus_measure_from_here(&p->gpus);
    vitals_measure_from_here(e, &p->vitals);
    extremes_from_here(e);
    lookback_begin(e);
}

void sampler_measure_from_here(struct engine *e) {
    struct sampler *p = e->control.sampler;
    memcpy(p->last.cache.hits_in, p->hits_in, sizeof p->hits_in); /* the rest is of the warm-up */
    reading_copy(&p->base, &p->last);
    memset(p->starved_s, 0, sizeof p->starved_s);
    gpus_measure_from_here(&p->gpus);
    vitals_measure_from_here(e, &p->vitals);
    for (uint32_t i = 0; i < e->service.pod_count; i++) {
        writegate_most_from_here(&e->service.pods[i].writes);
        atomic_store(&e->service.pods[i].pipeline.measured_from_ns, p->last.run_ns);
    }
    pods_measure_from_here(e);
    sample_measure_from_here(e->service.pods[0].pipeline.sample);
    steady_start(e, seconds(p->last.run_ns - p->zero_ns));
    extremes_from_here(e);
}

void sampler_measure_to_here(struct engine *e) {
    struct sampler *p = e->control.sampler;
    pods_measure_to_here(e);
    reading_copy(&p->end, &p->last);
    memcpy(p->end.cache.hits_in, p->hits_in, sizeof p->hits_in); /* results owe nothing to a next interval */
    gpus_measure_to_here(&p->gpus);
    vitals_measure_to_here(e, &p->vitals);
}

int sampler_open(struct engine *e, struct err *err) {
    struct sampler *p = e->control.sampler = mem_zalloc(1, sizeof *p);
    int rc = reading_open(&p->now, err);
    if (rc == 0) rc = reading_open(&p->last, err);
    if (rc == 0) rc = reading_open(&p->base, err);
    if (rc == 0) rc = reading_open(&p->end, err);
    if (rc == 0 && !(p->delta = counters_new(1)))
        rc = err_set(err, KVF_ERR_NOMEM, "no memory for the sums of the counters");
    if (rc == 0 && e->setup->windows) rc = lookback_open(&p->lookback, err);
    if (rc == 0) gpus_open(&p->gpus, &e->service);
    if (rc == 0) vitals_open(e, &p->vitals);
    return rc;
}

void sampler_close(struct engine *e) {
    struct sampler *p = e->control.sampler;
    if (!p) return;
    gpus_close(&p->gpus);
    vitals_close(&p->vitals);
    lookback_close(p->lookback);
    reading_close(&p->now);
    reading_close(&p->last);
    reading_close(&p->base);
    reading_close(&p->end);
    counters_free(p->delta, 1);
    free(p);
    e->control.sampler = NULL;
}
