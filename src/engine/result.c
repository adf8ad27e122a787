/* Results of the measured part: the difference between two readings, as named measures. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/units.h"
#include "engine/core.h"
#include "engine/limits/assess.h"
#include "engine/limits/breakeven.h"
#include "engine/pods/outages.h"
#include "engine/sampling/figures.h"
#include "engine/sampling/sampler.h"
#include "engine/scaling.h"
#include "engine/verdict_readings.h"
#include "record/standing.h"

struct measure {
    struct engine *e;
    struct result_list *out;
    const struct reading *from, *to;
    const struct counters *d;        /* to - from */
    const struct cache_stats *cache; /* likewise */
    double wall_s;
};

uint64_t result_met(const struct counters_class *c) {
    uint64_t done = counters_get(&c->done), missed = counters_get(&c->missed);
    return missed < done ? done - missed : 0;
}

static void add_count(struct measure *m, const char *name, uint64_t n) {
    result_add(m->out, (double)n, 0, "%s", name);
}

/* ---- parts ---- */

static void add_tier_dir(struct measure *m, int t, int dir) {
    const char *tier = tier_name((enum kvf_tier)t), *way = dir_name((enum kvf_dir)dir);
    const struct histogram *total = &m->d->op_total[t][dir];
    uint64_t peak = m->e->s->tier[t].peak_bytes_per_s[dir];
    bool judged = m->e->service.tiers[t] && peak != KVF_UNSET;
    double bytes = (double)counters_bytes(m->d, 1, t, dir);
    double line_ns = (double)counters_get(&m->d->line_ns[t][dir]);
    result_add(m->out, judged ? kvf_ratio(bytes / (double)peak, m->wall_s) : KVF_MISSING, 0,
               "%s_%s_peak_share", tier, way);
    result_add(m->out, kvf_ratio(line_ns, (double)atomic_load(&total->sum)), histogram_count(total),
               "%s_%s_line_share", tier, way);
}

static uint64_t tier_sum(const uint64_t counts[KVF_TIERS]) {
    uint64_t n = 0;
    for (int t = 0; t < KVF_TIERS; t++) n += counts[t];
    return n;
}

static void add_cache(struct measure *m) {
    const struct cache_stats *s = m->cache;
    for (int c = 0; c < KVF_CAUSES; c++) {
        const char *cause = cause_name((enum kvf_cause)c);
        result_add(m->out, (double)s->lookups[c], 0, "%s_lookups", cause);
        result_add(m->out, (double)s->hits[c], 0, "%s_hits", cause);
    }
    add_count(m, "promotions_skipped", s->promotions_skipped);
    add_count(m, "hits_recomputed", counters_get(&m->d->hits_recomputed));
    add_count(m, "recomputed_tokens", counters_get(&m->d->recomputed_tokens));
    add_count(m, "copies_dropped", tier_sum(s->copies_dropped));
    add_count(m, "copies_skipped", s->copies_skipped);
    add_count(m, "copies_begun", s->copies_begun);
    result_add(m->out, fmax((double)s->copies_begun - (double)s->copies_ended, 0), s->copies_begun,
               "copies_left");
    add_count(m, "lookups_given_up", s->lookups_given_up);
    /* over the whole run: what is gone is read by none after it */
    if (m->e->routes.outages) add_count(m, "outage_dropped", m->to->cache.outage_dropped);
    add_count(m, "room_inline", s->room_inline);
    add_count(m, "room_background", s->room_background);
}

/* Of all tiers, by what moved them; operations, or bytes. */
static uint64_t cause_sum(const struct counters *c, int dir, enum kvf_cause cause, bool bytes) {
    uint64_t n = 0;
    for (int t = 0; t < KVF_TIERS; t++)
        n += counters_get(bytes ? &c->io[t][dir][cause].bytes : &c->io[t][dir][cause].ops);
    return n;
}

/* Tokens read from a shared prompt or an earlier turn are neither computed nor written again. */
static void add_reuse(struct measure *m) {
    add_count(m, "prefix_seen", counters_get(&m->d->prompt_seen));
    add_count(m, "prefix_found", counters_get(&m->d->prompt_hits));
    add_count(m, "prefix_rebuilt", counters_get(&m->d->prompt_rebuilt));
    result_add(m->out, (double)cause_sum(m->d, KVF_DIR_READ, KVF_CAUSE_PREFIX, true), 0,
               "prefix_bytes_saved");
    result_add(m->out, (double)cause_sum(m->d, KVF_DIR_READ, KVF_CAUSE_CONVERSATION, true), 0,
               "conversation_bytes_saved");
}

/* Ingestion counts from the preparation on: mostly it is over when the measured part begins. */
static void add_rag(struct measure *m) {
    const struct counters *all = m->to->workers;
    if (!m->e->preparation.ingest.rag) return;
    add_count(m, "rag_requests", counters_get(&m->d->rag_requests));
    add_count(m, "rag_requests_empty", counters_get(&m->d->rag_empty));
    result_add(m->out, (double)cause_sum(m->d, KVF_DIR_READ, KVF_CAUSE_RAG, true), 0, "rag_bytes_read");
    add_count(m, "rag_documents_ingested", m->to->documents_in);
    add_count(m, "rag_documents_refused", m->to->documents_refused);
    add_count(m, "rag_documents_overdue", m->to->documents_overdue);
    add_count(m, "rag_documents_evicted", m->to->documents_evicted);
    add_count(m, "rag_chunks_ingested", cause_sum(all, KVF_DIR_WRITE, KVF_CAUSE_RAG, false));
    add_count(m, "rag_chunks_evicted", counters_get(&all->rag_evicted) + m->to->cache.chunk_evictions);
    result_add(m->out, (double)cause_sum(all, KVF_DIR_WRITE, KVF_CAUSE_RAG, true), 0, "rag_bytes_ingested");
    result_add(m->out, (double)ingest_spent_ns(m->e) / 1e9, 0, "rag_ingest_s");
}

/* Of the gate; without a limit nobody counts. */
static void add_writes(struct measure *m) {
    bool limited = m->e->service.pods[0].writes.limit > 0;
    uint64_t held = counters_get(&m->d->writes_held);
    double held_ms = (double)counters_get(&m->d->writes_held_ns) / 1e6;
    result_add(m->out, limited ? (double)m->to->writes_most : KVF_MISSING, 0, "writes_in_flight_max");
    result_add(m->out, limited ? (double)held : KVF_MISSING, 0, "writes_held");
    result_add(m->out, kvf_ratio(held_ms, (double)held), held, "writes_held_mean_ms");
}

static void add_checks(struct measure *m) {
    const struct counters *ever = m->e->control.sampler->last.workers; /* whatever fails the run is counted */
    uint64_t errors = 0, verified = 0, mismatched = 0, unverified = 0;
    for (int t = 0; t < KVF_TIERS; t++) {
        for (int dir = 0; dir < KVF_DIRS; dir++) errors += counters_get(&ever->errors[t][dir]);
        verified += counters_get(&m->d->verified[t]);
        mismatched += counters_get(&ever->mismatched[t]);
        unverified += counters_get(&m->d->unverified[t]);
    }
    add_writes(m);
    add_count(m, "operation_errors", errors);
    add_count(m, "verify_checked", verified);
    add_count(m, "verify_mismatched", mismatched);
    add_count(m, "verify_unverified", unverified);
}

/* Over the whole run, warm-up included: the limit is on all requests. A file that came to its end has given
 * all that it had, which may be less. */
static void add_asked(struct measure *m) {
    bool limited = m->e->s->run.max_requests > 0;
    bool ended = scenario_source_has(m->e->s, SOURCE_FILE) && atomic_load(&m->e->dispatch.done);
    double done = (double)counters_get(&m->to->workers->requests_done);
    double asked = (double)(ended ? m->to->arrived : m->e->s->run.max_requests);
    result_add(m->out, limited ? asked : KVF_MISSING, 0, "requests_asked");
    result_add(m->out, limited ? fmax(0, asked - done) : KVF_MISSING, 0, "requests_left");
}

static void add_throughput(struct measure *m) {
    const struct histogram *size = &m->d->entry_bytes;
    double tokens = (double)counters_get(&m->d->tokens_generated);
    double context = (double)counters_get(&m->d->context_tokens);
    uint64_t done = counters_get(&m->d->requests_done), n = histogram_count(size);
    result_add(m->out, kvf_ratio(tokens + context, m->wall_s), 0, "total_tok_s");
    add_asked(m);
    add_count(m, "requests_refused", counters_get(&m->d->requests_refused));
    result_add(m->out, kvf_ratio((double)counters_get(&m->d->carried_tokens), tokens), 0,
               "tokens_carried_ratio");
    result_add(m->out, kvf_ratio(context, (double)done), done, "context_tokens_mean");
    result_add(m->out, histogram_min(size), n, "entry_bytes_min");
    result_add(m->out, histogram_mean(size), n, "entry_bytes_mean");
    result_add(m->out, histogram_quantile(size, 0.95), n, "entry_bytes_p95");
    result_add(m->out, histogram_max(size), n, "entry_bytes_max");
}

/* Of a request that is done, the wait for its place in the batch included. */
static double prefill_mean_ms(const struct measure *m) {
    uint64_t done = counters_get(&m->d->requests_done);
    return done > 0 ? (double)counters_get(&m->d->prefill_ns) / 1e6 / (double)done : 0;
}

/* Misses that are not computed again: of all but shared prompts, or of chunks alone. */
static void add_not_computed(struct measure *m) {
    bool blocks = scenario_recomputes(m->e->s);
    uint64_t n = 0;
    for (int c = 0; c < KVF_CAUSES; c++)
        if (blocks ? c == KVF_CAUSE_RAG : c != KVF_CAUSE_PREFIX) n += m->cache->misses[c];
    if (!blocks || n > 0) add_count(m, "misses_not_computed", n);
}

/* Of the modelled GPU: means over time. KV in use is that of the batch, of the room that it has. */
static void add_batch(struct measure *m) {
    const struct compute_stats *a = &m->from->compute, *b = &m->to->compute;
    double fs = m->wall_s * 1e15, room = (double)scenario_batch_bytes(m->e->s);
    if (!m->e->service.pods[0].pipeline.compute) return;
    double kv = scenario_batch_bytes(m->e->s) == UINT64_MAX ? KVF_MISSING : (double)(b->kv - a->kv) / room;
    double all_fs = fs * pods_machines(m->e->s); /* each has such a GPU */
    result_add(m->out, prefill_mean_ms(m), counters_get(&m->d->requests_done), "prefill_mean_ms");
    result_add(m->out, kvf_ratio((double)(b->running - a->running), fs), 0, "batch_running_mean");
    result_add(m->out, kvf_ratio((double)(b->waiting - a->waiting), fs), 0, "batch_waiting_mean");
    result_add(m->out, kvf_ratio((double)(b->busy - a->busy), all_fs), 0, "batch_busy_ratio");
    result_add(m->out, kvf_ratio(kv, all_fs), 0, "kv_use_mean");
    result_add(m->out, (double)(b->steps - a->steps), 0, "batch_steps");
    result_add(m->out, (double)(b->prefill_tokens - a->prefill_tokens), 0, "prefill_tokens_computed");
    add_not_computed(m);
}

/* Growth of the requests in service, and of those in the queue where `queued`. With slots enough they pile up
 * there, and no queue grows. */
static double piled(const struct measure *m, bool queued) {
    double ns = (double)(m->to->run_ns - m->from->run_ns), held_ns = 0,
           at_end = (double)(m->to->in_service + (queued ? m->to->queued : 0)),
           at_start = (double)(m->from->in_service + (queued ? m->from->queued : 0));
    for (uint32_t k = 0; k < m->e->s->qos.classes; k++) {
        const struct class_counts *from = &m->from->klass[k], *to = &m->to->klass[k];
        held_ns += (double)(to->service_ns - from->service_ns);
        if (queued) held_ns += (double)(to->waiting_ns - from->waiting_ns);
    }
    return standing_piled(at_start, held_ns / ns, at_end);
}

/* Whether the last request came before the end, or most users had asked their last: what was open then is
 * served by the end, however long that took, so the load ends there. */
static bool load_ended(const struct measure *m) {
    return m->to->arrivals_ended == m->to->ranks && m->to->last.run_ns < m->to->run_ns &&
           m->to->last.arrived > m->from->arrived;
}

static double open_sum_ns(const struct reading *r) {
    double sum = 0;
    for (int k = 0; k < KVF_CLASSES_MAX; k++)
        sum += (double)(r->klass[k].waiting_ns + r->klass[k].service_ns);
    return sum;
}

/* Growth of the open requests until the load ended, as a part of those that had come by then; 0 where users
 * had asked their last in turn, and so many are chance. */
static double piled_at_last(const struct measure *m) {
    const struct dispatch_mark *last = &m->to->last;
    double ns = (double)last->run_ns - (double)m->from->run_ns,
           came = (double)(last->arrived - m->from->arrived),
           before = (double)(m->from->in_service + m->from->queued);
    double mean = ns > 0 ? ((double)last->open_ns - open_sum_ns(m->from)) / ns : before;
    double part = kvf_ratio(standing_piled(before, mean, (double)last->open), came);
    bool chance = last->arrived < m->to->arrived && !standing_beyond_chance(part, came, 1);
    return chance ? 0 : part;
}

/* Where requests do not wait for answers, the queue may grow without an end: users who are paced ask on too.
 * It may also shrink from a burst at the beginning, whose last ones have waited for longer than those that
 * were done. Slots that fill before a queue begins are not half full in the mean: then both together tell the
 * growth. Where most came before, the queue may even shrink: all that it has at the end was not served. */
static void add_waiting(struct measure *m, double arrived) {
    double queue = fmax((double)m->to->queued - (double)m->from->queued, 0),
           grown = fmax(queue + piled(m, false), piled(m, true)), load = standing_run_load(m->out),
           unserved = kvf_ratio(grown, arrived);
    if (load > arrived)
        unserved = kvf_ratio((double)m->to->queued, load);
    else if (load_ended(m) && kvf_present(arrived))
        unserved = fmax(unserved, piled_at_last(m));
    double stranded = load > arrived ? KVF_MISSING : kvf_ratio((double)m->to->stranded, arrived);
    if (standing_waiting(stranded, arrived, 0)) {
        unserved = fmax(unserved, stranded);
        result_add(m->out, stranded, 0, "stranded_ratio");
    }
    result_add(m->out, unserved, 0, "unserved_ratio");
    result_add(m->out, scenario_arrival_dispersion(m->e->s), 0, "arrival_dispersion");
}

/* Users who wait for answers end the growth of a queue when all of them stand in it, which may take longer
 * than the run. Those who came in its measured part make no load unsettled. */
static void add_unsettled(struct measure *m, double arrived) {
    double more = fmax((double)m->to->users - (double)m->from->users, 0),
           part = kvf_ratio(piled(m, true) - more, arrived);
    if (standing_behind(1 - part, arrived)) result_add(m->out, part, 0, "unsettled_ratio");
}

/* Users who waited for one answer for most of the time have no latency in any percentile, however many the
 * others have: for half of it, where no request took so long that was done, else for all. */
static void add_unanswered(struct measure *m) {
    double longest_s =
        histogram_quantile(&m->to->workers->latency[REQUEST_LATENCY_E2E], 1) / (double)KVF_NS_PER_S;
    uint64_t waited = longest_s < m->wall_s / 2 ? m->to->waited_half : m->to->waited_all;
    double part = kvf_ratio((double)waited, (double)m->to->users);
    if (part >= JUDGE_UNSERVED) result_add(m->out, fmin(part, 1), 0, "unanswered_ratio");
}

/* So small a part before the measured part is no work that a run lacks. */
#define BEFORE_MOST 0.1

/* Users of a file with no conversation left count as users and ask nothing. Where it was played to its end,
 * nearly all of it in the measured part, that is as long as the whole takes: then only users that it has
 * nothing for are too many, as are those that run.max_requests leaves none for. */
static void add_exhausted(struct measure *m) {
    const struct reading *from = m->from, *to = m->to;
    double active_s = to->users_time.active_s - from->users_time.active_s,
           exhausted_s = to->users_time.exhausted_s - from->users_time.exhausted_s;
    bool whole = to->loads_left == 0 && (double)from->arrived <= BEFORE_MOST * (double)to->arrived;
    bool file = scenario_source_has(m->e->s, SOURCE_FILE), limited = m->e->s->run.max_requests > 0;
    double part =
        whole || !file ? kvf_ratio((double)to->unasked, (double)to->users) : kvf_ratio(exhausted_s, active_s);
    if ((file || limited) && part >= JUDGE_UNSERVED)
        result_add(m->out, fmin(part, 1), 0, "users_exhausted_ratio");
}

/* Requests that failed or were dropped left nothing in the tiers and nothing in line; entries that were
 * turned away and copies that were skipped are missing there as well. Writes that fell through are there, and
 * so is in the end what a lookup gave up for. */
static void add_warmup(struct measure *m) {
    double failed = (double)counters_get(&m->from->workers->requests_failed);
    result_add(m->out, failed + (double)m->from->dropped, 0, "warmup_failed");
    add_count(m, "warmup_not_admitted", m->from->cache.not_admitted);
    add_count(m, "warmup_copies_skipped", m->from->cache.copies_skipped);
    if (m->e->control.warmup_counted) result_add(m->out, m->wall_s, 0, "warmup_counted_s");
}

/* The time in which requests came, and the gap after the last of them; NaN: they all came at once. */
static double offered_s(const struct measure *m) {
    if (!load_ended(m)) return m->wall_s;
    const struct scenario *s = m->e->s;
    double together =
        scenario_at_rate(s) && s->workload.arrival.batch ? (double)s->workload.arrival.batch : 1;
    double times = (double)(m->to->last.arrived - m->from->arrived) / together;
    bool at_once = m->to->last.run_ns <= m->to->first.run_ns || m->to->last.run_ns <= m->from->run_ns;
    double span_s = ((double)m->to->last.run_ns - (double)m->from->run_ns) / (double)KVF_NS_PER_S;
    return at_once || !(times > 1) ? KVF_MISSING : fmin(span_s * times / (times - 1), m->wall_s);
}

/* Offered and achieved load are two things where nobody waits for an answer. */
static void add_load(struct measure *m) {
    const struct workload *w = m->e->dispatch.workload;
    double arrived = (double)(m->to->arrived - m->from->arrived);
    bool paced = m->e->s->workload.arrival.process == KVF_ARRIVAL_PACED;
    if (paced) add_waiting(m, arrived);
    if (!workload_open_loop(w)) add_exhausted(m);
    if (!paced && !workload_open_loop(w)) {
        add_unsettled(m, arrived);
        add_unanswered(m);
    }
    if (!workload_open_loop(w)) return;
    double offered = workload_unpaced(w) ? KVF_MISSING : kvf_ratio(arrived, offered_s(m));
    double achieved = result_value(m->out, "requests_per_s");
    result_add(m->out, offered, 0, "offered_requests_per_s");
    result_add(m->out, achieved, 0, "achieved_requests_per_s");
    result_add(m->out, kvf_ratio(achieved, offered), 0, "achieved_ratio");
    add_waiting(m, kvf_present(offered) ? arrived : KVF_MISSING);
}

static void add_lateness(struct measure *m) {
    struct histogram *late = mem_zalloc(1, sizeof *late);
    histogram_copy(late, m->to->lateness);
    histogram_subtract(late, m->from->lateness);
    levels_results(m->out, "lateness", late);
    free(late);
}

/* How often a class kept its targets, where those that failed or were dropped kept none. */
struct kept {
    const struct scenario_class *klass;
    uint64_t all, met;       /* requests that ended, and those inside the P95 target */
    const uint64_t *overdue; /* requests that had not, and were older than each target */
    uint64_t open, run_ns;   /* all that had not; how long the run was, warm-up included */
    const struct histogram *latency;
};

/* P95 goes by the count that is exact, the others by the histogram. */
static bool target_holds(const struct kept *k, int i, uint64_t all) {
    uint64_t target_ns = sampler_target_ns(k->klass, i);
    return i == 0 ? (double)k->met >= 0.95 * (double)all
                  : figures_within(k->latency, stat_of_target(i), target_ns, all);
}

/* Of a target that is longer than the run no request can be beyond it yet, and those that are open may be
 * later. */
static bool too_soon(const struct kept *k, int i) {
    uint64_t target_ns = sampler_target_ns(k->klass, i);
    return target_ns != KVF_UNSET && target_ns >= k->run_ns && target_holds(k, i, k->all + k->overdue[i]) &&
           !target_holds(k, i, k->all + k->open);
}

/* Missing without a target, where it is too soon, and with fewer requests than the quantile needs, unless a
 * lower one that has enough is beyond the target, where the higher one is too. */
static double target_met(const struct kept *k, int i) {
    uint64_t target_ns = sampler_target_ns(k->klass, i);
    uint64_t all = k->all + k->overdue[i];
    if (target_ns == KVF_UNSET) return KVF_MISSING;
    if (all < stat_samples(stat_of_target(i))) {
        for (int lower = 0; lower < i; lower++)
            if (all >= stat_samples(stat_of_target(lower)) &&
                !figures_within(k->latency, stat_of_target(lower), target_ns, all))
                return 0;
        return KVF_MISSING;
    }
    if (!target_holds(k, i, all)) return 0;
    return too_soon(k, i) ? KVF_MISSING : 1;
}

static struct kept kept_of(const struct measure *m, uint32_t k) {
    const struct counters_class *c = &m->d->klass[k];
    const struct class_counts *from = &m->from->klass[k], *to = &m->to->klass[k];
    return (struct kept){&m->e->s->qos.klass[k],
                         counters_get(&c->done) + counters_get(&c->failed) + to->dropped - from->dropped,
                         result_met(c),
                         m->to->overdue[k],
                         to->queued + to->in_service,
                         m->to->run_ns - m->e->control.sampler->zero_ns,
                         figures_judged(c, m->e->s->qos.latency == KVF_QOS_LATENCY_TTFT)};
}

static void add_class(struct measure *m, uint32_t k) {
    const char *name = m->e->s->qos.klass[k].name;
    struct kept kept = kept_of(m, k);
    for (int i = 0; i < KVF_TARGETS; i++)
        result_add(m->out, target_met(&kept, i), kept.all + kept.overdue[i], "slo_%s_%s_met", name,
                   stat_name(stat_of_target(i)));
    result_add(m->out, m->e->control.sampler->starved_s[k], 0, "class_%s_starved_s", name);
}

static void add_stalls(struct measure *m, struct run_record *run, int tier) {
    struct usage_sums *use = &run->usage[tier];
    bool seen = m->e->service.tiers[tier] && engine_sees_stalls(m->e);
    double count = 0;
    *use = usage_between(&m->from->usage[tier], &m->to->usage[tier]);
    for (int i = 0; i < USAGE_STALL_LENGTHS; i++) count += (double)use->stalls[i];
    double ms = (double)usage_stall_ns(use) / 1e6;
    result_add(m->out, seen ? count : KVF_MISSING, 0, "%s_stalls", tier_name((enum kvf_tier)tier));
    result_add(m->out, seen ? ms : KVF_MISSING, 0, "%s_stall_ms", tier_name((enum kvf_tier)tier));
}

static void add_machine(struct measure *m) {
    double gather_s = (double)(m->to->gather_ns - m->from->gather_ns) / 1e9;
    bool real = !engine_is_virtual(m->e);
    if (m->e->control.together && !m->e->routes.shards)
        result_add(m->out, real ? kvf_ratio(gather_s, m->wall_s * (double)m->to->ranks) : KVF_MISSING, 0,
                   "ranks_gather_cpu_ratio");
    result_add(m->out, m->to->host.process_rss_peak_bytes, 0, "rss_peak_bytes");
    if (engine_is_virtual(m->e)) result_add(m->out, simulator_real_s(m->e), 0, "real_s");
}

/* Of the devices themselves, as the driver has them. */
static void add_devices(struct measure *m) {
    const struct gpus *g = &m->e->control.sampler->gpus;
    double watts = gpus_power_w(g), joules = watts * m->wall_s;
    double tokens = (double)counters_get(&m->d->tokens_generated);
    result_add(m->out, watts, 0, "gpu_power_mean_w");
    result_add(m->out, joules, 0, "gpu_energy_j");
    result_add(m->out, vitals_know_all(m->e) ? kvf_ratio(joules, tokens) : KVF_MISSING, 0,
               "gpu_energy_per_token_j");
    vitals_results(m->e, m->wall_s, tokens, joules, m->out);
    result_add(m->out, gpus_pcie_bytes_s(g, false) / (double)KVF_GIB, 0, "gpu_pcie_rx_gib_s");
    result_add(m->out, gpus_pcie_bytes_s(g, true) / (double)KVF_GIB, 0, "gpu_pcie_tx_gib_s");
}

static void add_rows(struct measure *m) {
    if (!scenario_source_has(m->e->s, SOURCE_FILE)) return;
    const struct workload_rows *r = workload_rows(m->e->dispatch.workload);
    /* a row that was read to learn its time, which never came; of sharegpt a conversation is a row */
    bool talks = m->e->s->workload.source == KVF_SOURCE_SHAREGPT;
    uint64_t rejected = 0,
             ahead = m->e->dispatch.next_row && (!talks || m->e->dispatch.next_row->req.turn == 1) ? 1 : 0;
    for (int i = 0; i < WORKLOAD_REJECTS; i++) rejected += r->rejected[i];
    add_count(m, "rows_read", r->read - ahead);
    add_count(m, "rows_emitted", r->emitted - ahead);
    add_count(m, "rows_rejected", rejected);
    uint64_t missing = 0;
    for (int i = 0; i < WORKLOAD_REJECTS; i++)
        missing += workload_reject_asks((enum workload_reject)i) ? r->rejected[i] : 0;
    double part = kvf_ratio((double)missing, (double)(r->emitted - ahead + missing));
    if (part >= STANDING_ROWS) result_add(m->out, part, 0, "rows_rejected_ratio");
    if (r->skipped > 0) add_count(m, "rows_skipped", r->skipped);
    for (int i = 0; i < WORKLOAD_REJECTS; i++)
        if (r->rejected[i])
            result_add(m->out, (double)r->rejected[i], 0, "rows_rejected_%s",
                       workload_reject_name((enum workload_reject)i));
    if (!talks) return;
    add_count(m, "turns_context_cut", r->context_cut);
    add_count(m, "turns_generate_cut", r->generate_cut);
}

/* An autoscaler changes the load on purpose: there is no one state to be steady in. */
static void add_steady(struct measure *m, struct run_record *run) {
    struct steady_result r = {0};
    if (m->e->s->autoscaler.mode == KVF_AUTOSCALER_OFF) steady_judge(&m->e->control.sampler->steady, &r);
    double none = KVF_MISSING;
    result_add(m->out, r.known ? (double)r.reached : none, 0, "steady");
    result_add(m->out, r.reached ? r.from_s : none, 0, "steady_from_s");
    result_add(m->out, r.reached ? r.length_s : none, 0, "steady_s");
    result_add(m->out, r.reached ? r.tokens_per_s : none, 0, "steady_throughput_tok_s");
    result_add(m->out, r.reached && m->e->service.tiers[KVF_TIER_NVME] ? r.nvme_tokens_per_s : none, 0,
               "steady_nvme_tok_s");
    result_add(m->out, r.known ? r.throughput.slope : none, 0, "steady_slope");
    result_add(m->out, r.known ? r.throughput.range : none, 0, "steady_range");
    result_add(m->out, r.known ? r.nvme.slope : none, 0, "steady_nvme_slope");
    result_add(m->out, r.known ? r.nvme.range : none, 0, "steady_nvme_range");
    if (r.fill.going) result_add(m->out, r.fill.to - r.fill.from, 0, "fill_ratio");
    if (r.fill.going) result_add(m->out, r.fill.full_s, 0, "fill_full_s");
    steady_sentence(&r, run->steady, sizeof run->steady);
}

/* Results of counters that no snapshot has, and of the engine itself. */
static void add_own(struct measure *m, struct run_record *run) {
    add_throughput(m);
    add_load(m);
    add_warmup(m);
    add_lateness(m);
    add_batch(m);
    double unfinished = standing_run_unfinished(m->out);
    result_add(m->out, unfinished < 0 ? 0 : unfinished, 0, "unfinished_ratio");
    for (uint32_t k = 0; k < m->e->s->qos.classes; k++) add_class(m, k);
    char unserved[STANDING_UNSERVED];
    add_count(m, "classes_unserved", standing_run_unserved(run, unserved));
    add_cache(m);
    add_reuse(m);
    add_rag(m);
    for (int t = 0; t < KVF_TIERS; t++)
        for (int dir = 0; dir < KVF_DIRS; dir++) add_tier_dir(m, t, dir);
    breakeven_results(m->e->s, m->d, m->out);
    server_results(&m->e->service, m->from, m->to, m->d, m->out);
    levels_results(m->out, "remote_lookup", &m->d->lookup);
    add_checks(m);
    add_stalls(m, run, KVF_TIER_NVME);
    add_stalls(m, run, KVF_TIER_REMOTE);
    add_machine(m);
    blocks_results(m->from, m->to, m->out);
    add_devices(m);
    result_add(m->out, (double)m->e->preparation.preconditioned_bytes, 0, "precondition_bytes");
    result_add(m->out, (double)m->e->preparation.prepopulated_bytes, 0, "prepopulate_bytes");
    add_rows(m);
    add_steady(m, run);
    scaling_results(m->e, m->out);
}

void result_fill(struct engine *e, struct run_record *run) {
    struct sampler *p = e->control.sampler;
    struct snapshot *snap = mem_zalloc(1, sizeof *snap);
    struct use use;
    struct measure m = {.e = e,
                        .out = &run->results,
                        .from = &p->base,
                        .to = &p->end,
                        .d = p->delta,
                        .cache = &p->cache,
                        .wall_s = (double)(p->end.run_ns - p->base.run_ns) / 1e9};
    struct figures f = {snap,
                        p->delta,
                        (double)model_bytes_per_token(&e->s->model, e->s->tensor_parallel),
                        e->s->qos.latency == KVF_QOS_LATENCY_TTFT,
                        {false}};
    snap->peek = true; /* what is counted once is counted by intervals */
    sampler_between(e, m.from, m.to, snap, &use);
    for (uint32_t k = 0; k < e->s->qos.classes; k++) {
        struct kept kept = kept_of(&m, k);
        f.too_soon[k] = too_soon(&kept, 0);
    }
    figures_requests(m.out, &f);
    figures_classes(m.out, &f);
    figures_cache(m.out, &f);
    figures_tiers(m.out, &f);
    figures_machine(m.out, &f);
    add_own(&m, run);
    result_add(m.out, snap->interval.host_cpu_ratio, 0, "host_cpu_ratio");
    result_add(m.out, kvf_ratio(snap->interval.in_service, (double)pods_slots(e->s)), 0, "slots_busy_ratio");
    pods_results(e, run);
    outages_results(e, m.from->run_ns, m.to->run_ns, m.out);
    verdict_run(e, snap, &use, run);
    overload_warn(e, run);
    scaling_warn(e, run);
    figures_histograms(run, m.d);
    blocks_histograms(m.from, m.to, run);
    free(snap);
}

void result_assess(struct engine *e, struct run_record *run) {
    assess_run(e->s, run);
    if (!result_find(&run->results, "measured_s")) return; /* it never ran, which is said elsewhere */
    if (shards_served(e)) return;                          /* the measures of a fleet are rank 0's */
    for (size_t i = 0; i < run->criterion_count; i++)
        if (!result_find(&run->results, run->criteria[i].metric))
            events_add(
                &e->events, "warning",
                "criterion %s has no data: this run has no metric of that name; kvfall-results(7) lists them",
                run->criteria[i].metric);
}
