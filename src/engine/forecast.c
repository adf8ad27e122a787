#include "engine/forecast.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "engine/core.h"
#include "engine/forecast_state.h"
#include "engine/pipeline/sample.h"
#include "engine/sampling/sampler.h"
#include "record/standing.h"

/* An estimate with a larger error, as a part of it, is not told; nor a mean latency when the cycle of a user
 * is so many times as long, nor a hit ratio that is less. */
#define ERROR_MOST  0.06
#define ERROR_EVER  0.1
#define SPREAD_MOST 1.5
#define HITS_LEAST  0.3
/* An open loop that misses more than this misses what is not written yet, and otherwise at another speed. */
#define OTHER_MISSES 0.2
/* A change of throughput that is larger than so many times its standard error is none of chance. */
#define SIGNIFICANT 2
/* Of a change that leaves the accesses as they are, of throughput or of the latency. */
#define ERROR_SAME 0.15
/* Tiers that would have to be so many times as large for the trial to miss as seldom as the run are others.
 */
#define EFFECTIVE_MOST 3
/* Users who differ more than this leave the mix of requests open. */
#define MIX_LEAST 0.85
/* Fewer users who hit, or ask tiers, otherwise by more than this are not those of the run. */
#define OTHER_HITS    0.1
#define OTHER_DEMANDS 0.3
/* Entries that a tier holds at least. */
#define ENTRIES_LEAST 4
/* Tiers of which more than this misses are room for requests under way, which no replay has. */
#define MISSES_MOST 0.5
/* While a run goes on its misses of late and those of all of it so far may be so far apart. */
#define OTHER_SO_FAR 0.25
/* A change of throughput from which on all of the error of the demands is in it. */
#define SENSIBLE 0.2
/* A run whose throughput drifts by more than this part of its mean has no one state to change. */
#define DRIFT_MOST 0.5
/* A larger tier that makes throughput more than so many times as much meets requests that were never made:
 * what was written by then would have filled it. */
#define FASTER_MOST 2
/* Fewer users whose latency hardly changes contradict a verdict that sees them queue. */
#define FEWER_LEAST 1.3
/* A larger tier is slower too where more of its operations meet: a small gain is none for certain. */
#define LARGER_LEAST 1.1
/* A change that leaves less of the throughput is no remedy for misses. */
#define KEPT 0.95
/* Of the time in storage, waits for room from which on only what makes room sooner shortens it. */
#define WAITS_MOST 0.5
/* Miss ratios of the trial and of the run that are the same. */
#define ALIKE 0.005
/* Of a tier's time, the part of moves in the background from which their number decides what a change brings.
 */
#define BACKGROUND_MOST 0.1
/* Fewer requests than this, or than so many of each user where their number is limited, are no mean; nor are
 * tokens of which a larger part is of work done before. */
#define REQUESTS_LEAST 30
#define TURNS_LEAST    10
#define CARRIED_MOST   0.1
/* A run with a limit of requests that lasted for less of its duration ended with them. */
#define ENDED_EARLY 0.97

/* ---- estimates ---- */

/* The trial's difference on top of what was measured. */
static double hit_ratio_with(const struct forecast *f, const struct trial_counts *tried) {
    if (f->base.lookups == 0 || tried->lookups == 0) return KVF_MISSING;
    double before = (double)f->base.misses / (double)f->base.lookups;
    double after = (double)tried->misses / (double)tried->lookups;
    return fmin(fmax(1 - f->in->miss_ratio + before - after, 0), 1);
}

/* A hit of a block is one of all before it: a sample of blocks does not tell where they end. */
static bool thinned(const struct forecast *f) {
    return f->s->cache.granularity == KVF_GRANULARITY_BLOCK && sample_part(f->sample) < 1;
}

static bool larger(const struct change *c) {
    return memcmp(c->capacity, as_it_is.capacity, sizeof c->capacity) != 0;
}

/* By how much tiers are asked for otherwise than in the run, of all that they are asked for. */
static double apart(const struct forecast *f, double demand_s[KVF_TIERS][KVF_DIRS]) {
    double sum = 0, all = 0;
    for (int t = 0; t < KVF_TIERS; t++)
        for (int d = 0; d < KVF_DIRS; d++)
            all += f->demand_s[t][d], sum += fabs(demand_s[t][d] - f->demand_s[t][d]);
    return all > 0 ? sum / all : 0;
}

/* A tier that holds hardly an entry is room for those on their way, which the trial does not have. */
static bool holds_few(const struct forecast *f, const struct change *c) {
    double entry_bytes = result_value(f->results, "entry_bytes_mean");
    for (int t = 0; t < KVF_TIERS; t++)
        if (c->capacity[t] > 1 && f->in->usable_bytes[t] < ENTRIES_LEAST * entry_bytes) return true;
    return false;
}

static bool waits_for_room(const struct forecast *f) {
    return f->in->room_ms >= WAITS_MOST * f->in->storage_ms;
}

/* Whether the tier that makes room has less to do for a request. */
static bool makes_room_sooner(const struct forecast *f, double demand_s[KVF_TIERS][KVF_DIRS]) {
    enum kvf_tier maker = judge_room_maker(f->in);
    double now_s = f->demand_s[maker][KVF_DIR_READ] + f->demand_s[maker][KVF_DIR_WRITE];
    double then_s = demand_s[maker][KVF_DIR_READ] + demand_s[maker][KVF_DIR_WRITE];
    return then_s * LARGER_LEAST <= now_s;
}

/* The accesses with the change. Not where the trial's cache is another than the run's, or remains so of fewer
 * users, nor where users differ: a larger tier helps some of them, and the others then ask for more. */
static bool try_it(const struct forecast *f, const struct change *c, struct trial_counts *tried,
                   double demand_s[KVF_TIERS][KVF_DIRS], double *hit_ratio) {
    bool fewer = c->users < 1;
    if (!f->tried || thinned(f) || f->mix < MIX_LEAST || (fewer && f->limited)) return false;
    if (f->in->miss_ratio > MISSES_MOST || holds_few(f, c)) return false;
    if (forecast_try(f, c, tried) != 0 || tried->contexts == 0) return false;
    forecast_moved_demands(f, tried, demand_s);
    *hit_ratio = hit_ratio_with(f, tried);
    if (!fewer) return !waits_for_room(f) || makes_room_sooner(f, demand_s);
    return !(fabs(*hit_ratio - (1 - f->in->miss_ratio)) > OTHER_HITS) && apart(f, demand_s) <= OTHER_DEMANDS;
}

/* Throughput with requests that grow with it and with such as do not, and what lies between. */
static void between(const struct forecast *f, struct network *n, double demand_s[KVF_TIERS][KVF_DIRS],
                    double growth[KVF_TIERS][KVF_DIRS], struct estimate *out) {
    double steady[KVF_TIERS][KVF_DIRS] = {{0}};
    struct estimate plain = {0}, alone = {0};
    forecast_settle(f, n, demand_s, growth, out);
    forecast_settle(f, n, demand_s, steady, &plain);
    double apart = out->per_s / plain.per_s;
    out->per_s = sqrt(out->per_s * plain.per_s);
    out->error += (fmax(apart, 1 / apart) - 1) / 2;
    if (!f->bound) return;
    struct network empty = *n; /* whoever meets nobody is the other end of what it may be */
    empty.queueing = 0;
    forecast_settle(f, &empty, demand_s, steady, &alone);
    out->error += fmax(alone.per_s / plain.per_s - 1, 0) / 2;
}

static bool estimate(const struct forecast *f, const struct change *c, struct estimate *out) {
    struct network n = f->network;
    double demand_s[KVF_TIERS][KVF_DIRS], growth[KVF_TIERS][KVF_DIRS];
    struct trial_counts tried = f->base;
    memcpy(demand_s, f->demand_s, sizeof demand_s);
    *out = (struct estimate){.e2e_ms = KVF_MISSING, .hit_ratio = KVF_MISSING};
    bool tries = c->users < 1 || larger(c);
    if (tries && !try_it(f, c, &tried, demand_s, &out->hit_ratio)) return false;
    for (int t = 0; t < KVF_TIERS; t++)
        for (int d = 0; d < KVF_DIRS; d++) demand_s[t][d] /= c->bandwidth[t];
    n.slots = (uint64_t)((double)n.slots * c->slots);
    n.users *= f->closed ? c->users : c->slots;
    out->noise = tries ? forecast_noise(f, &tried, demand_s, true) : 0;
    out->error = fmax(out->noise, forecast_noise(f, &tried, demand_s, false));
    forecast_growth(f, &tried, growth);
    between(f, &n, demand_s, growth, out);
    if (c->bandwidth[f->bottleneck] > 1 && f->mix < 1) { /* users differ for a part of the time, 0 to all */
        out->per_s *= sqrt(f->mix);
        out->error += 1 / sqrt(f->mix) - 1;
    }
    out->per_s = forecast_at_most(f, &n, out->per_s, tries);
    if (!tries) /* what is asked of the tiers stays as it is */
        out->per_s = fmin(out->per_s, fmax(network_bound(&n), f->per_s));
    if (f->closed && f->settled) out->e2e_ms = fmax(n.users / out->per_s - n.think_s, 0) * 1e3;
    return out->per_s > 0;
}

/* Thinking is no part of a latency: the less of a cycle that is, the larger is its error. */
static double spread_of(const struct forecast *f, const struct change *c, const struct estimate *got) {
    return f->network.users * c->users / got->per_s * 1e3 / got->e2e_ms;
}

/* Where hits are for accesses one request after another: not while an open loop falls behind, whose next turn
 * comes before the last one is written; and room in the first tier is taken by what is on its way down. */
static bool hits_known(const struct forecast *f, const struct change *c, const struct estimate *got) {
    int first = 0;
    while (first < KVF_TIERS - 1 && !f->in->on[first]) first++;
    return kvf_present(got->hit_ratio) && f->closed && c->users >= 1 && got->hit_ratio >= HITS_LEAST &&
           (c->capacity[first] <= 1 || first == KVF_TIERS - 1);
}

/* Only what is for the better, and by more than a summary leaves out. */
static void offer(struct forecast *f, const char *what, const char *metric, double now, double then) {
    struct verdict_remedy r = {.now = now, .estimate = then};
    snprintf(r.metric, sizeof r.metric, "%s", metric);
    if (verdict_gain(&r) >= VERDICT_GAIN) verdict_add_remedy(f->verdict, what, metric, now, then);
}

/* Whether the error is small enough; of a small change it is a small part. */
static bool certain(const struct change *c, const struct estimate *got, double times) {
    double risk = c->users < 1 ? got->error : got->error * fmin(1, fabs(times - 1) / SENSIBLE);
    if (c->users >= 1 && !larger(c)) return risk <= ERROR_SAME;
    return risk <= ERROR_MOST && got->error <= ERROR_EVER && fabs(times - 1) > SIGNIFICANT * got->noise;
}

/* False: there is no estimate. */
static bool add(struct forecast *f, const struct change *c, const char *what) {
    struct estimate got;
    if (!estimate(f, c, &got) || (!f->closed && f->in->miss_ratio > OTHER_MISSES)) return false;
    double times = got.per_s / f->per_s;
    if (larger(c) && times > FASTER_MOST) return false;
    if (c->users < 1 && f->in->e2e_ms < FEWER_LEAST * got.e2e_ms) return false;
    bool likely = certain(c, &got, times) && !(larger(c) && times < LARGER_LEAST);
    if (f->tok_s > 0 && c->users >= 1 && likely)
        offer(f, what, "throughput_tok_s", f->tok_s, f->tok_s * times);
    double spread = spread_of(f, c, &got);
    if (kvf_present(got.e2e_ms) && likely && spread <= SPREAD_MOST && spread * got.error <= ERROR_SAME)
        offer(f, what, "e2e_mean_ms", f->in->e2e_ms, got.e2e_ms);
    /* hits that cost throughput are no help; nor are they where a miss makes no work, while a hit is read */
    if (hits_known(f, c, &got) && times >= KEPT && !judge_free_misses(f->in))
        offer(f, what, "reuse_hit_ratio", 1 - f->in->miss_ratio, got.hit_ratio);
    return likely;
}

/* ---- while the run goes on ---- */

/* Misses of caches of these sizes one below the other, by the sample's distances. */
static void curve_of(const struct forecast *f, const double usable[KVF_TIERS], double miss[KVF_TIERS]) {
    double bytes = 0;
    for (int t = 0; t < KVF_TIERS; t++) {
        bytes += f->in->on[t] ? usable[t] : 0;
        miss[t] = bytes > 0 ? sample_miss_ratio(f->sample, bytes, NULL) : 1;
    }
}

/* Hits move up with a larger tier, and with them the reads. */
static void add_larger(struct forecast *f, int t, double times, const char *what) {
    double usable[KVF_TIERS], now[KVF_TIERS], then[KVF_TIERS], demand_s[KVF_TIERS][KVF_DIRS];
    double steady[KVF_TIERS][KVF_DIRS] = {{0}}, above = 1, above_then = 1;
    struct network n = f->network;
    struct estimate got = {0};
    memcpy(usable, f->in->usable_bytes, sizeof usable);
    memcpy(demand_s, f->demand_s, sizeof demand_s);
    curve_of(f, usable, now);
    usable[t] *= times;
    curve_of(f, usable, then);
    double misses = now[KVF_TIERS - 1], fewer = misses - then[KVF_TIERS - 1];
    if (!(fabs(misses - f->in->miss_ratio) <= OTHER_SO_FAR) || waits_for_room(f)) return;
    for (int i = 0; i < KVF_TIERS; i++) {
        double hits = above - now[i], hits_then = above_then - then[i];
        if (f->in->on[i] && hits > ALIKE) demand_s[i][KVF_DIR_READ] *= hits_then / hits;
        above = now[i], above_then = then[i];
    }
    forecast_settle(f, &n, demand_s, steady, &got);
    got.per_s = forecast_at_most(f, &n, got.per_s, true);
    if (got.per_s > FASTER_MOST * f->per_s) return;
    if (f->tok_s > 0) offer(f, what, "throughput_tok_s", f->tok_s, f->tok_s * got.per_s / f->per_s);
    bool more_work = judge_free_misses(f->in) || got.per_s < KEPT * f->per_s;
    if (f->verdict->cause == VERDICT_CAUSE_CAPACITY && !more_work)
        offer(f, what, "reuse_hit_ratio", 1 - f->in->miss_ratio, 1 - f->in->miss_ratio + fewer);
}

/* A change that leaves the hits as they are. */
static void add_other(struct forecast *f, const struct change *c, const char *what) {
    double demand_s[KVF_TIERS][KVF_DIRS], steady[KVF_TIERS][KVF_DIRS] = {{0}};
    struct network n = f->network;
    struct estimate got = {0};
    for (int t = 0; t < KVF_TIERS; t++)
        for (int d = 0; d < KVF_DIRS; d++) demand_s[t][d] = f->demand_s[t][d] / c->bandwidth[t];
    n.slots = (uint64_t)((double)n.slots * c->slots);
    n.users *= f->closed ? c->users : c->slots;
    forecast_settle(f, &n, demand_s, steady, &got);
    if (!(got.per_s > 0)) return;
    got.per_s = forecast_at_most(f, &n, got.per_s, false);
    double e2e_ms = fmax(n.users / got.per_s - n.think_s, 0) * 1e3;
    if (c->users < 1 && f->in->e2e_ms < FEWER_LEAST * e2e_ms) return;
    if (f->tok_s > 0 && c->users >= 1)
        offer(f, what, "throughput_tok_s", f->tok_s, f->tok_s * got.per_s / f->per_s);
    if (f->closed) offer(f, what, "e2e_mean_ms", f->in->e2e_ms, e2e_ms);
}

/* ---- the changes ---- */

/* False: the run has ended, and there is no estimate. */
static bool consider(struct forecast *f, const struct change *c, const char *what) {
    if (f->results) return add(f, c, what);
    for (int t = 0; t < KVF_TIERS; t++) {
        if (c->capacity[t] <= 1) continue;
        add_larger(f, t, c->capacity[t], what);
        return true;
    }
    /* fewer users ask the same of the tiers as long as few of their lookups miss */
    if (c->users >= 1 || !(f->in->miss_ratio > OTHER_HITS)) add_other(f, c, what);
    return true;
}

static void consider_tier(struct forecast *f, int t) {
    const char *tier = tier_name((enum kvf_tier)t);
    struct change c = as_it_is;
    char what[80];
    /* what is old fills its tiers; or hits are read where misses make no work, or are written alone */
    bool still = f->s->cache.placement == KVF_PLACEMENT_SPILLOVER;
    still |= judge_free_misses(f->in) ? t == judge_lowest_tier(f->in) : scenario_rewrites(f->s);
    for (int times = 2; times <= 4 && !still && verdict_helps(f->verdict, VERDICT_HELP_BIGGER); times *= 2) {
        c.capacity[t] = times;
        snprintf(what, sizeof what, "%d x %s capacity", times, tier);
        (void)consider(f, &c, what);
    }
    if (t != (int)judge_most_loaded_tier(f->in) || !verdict_helps(f->verdict, VERDICT_HELP_FASTER)) return;
    c = as_it_is;
    c.bandwidth[t] = 2;
    snprintf(what, sizeof what, "2 x %s bandwidth%s", tier, t == KVF_TIER_NVME ? " (one more drive)" : "");
    bool known = consider(f, &c, what);
    f->unsure |= !known && f->verdict->cause == VERDICT_CAUSE_BANDWIDTH;
}

/* Changes that address what the verdict names; not fewer users where some starved, whom the network counts.
 */
static void consider_all(struct forecast *f) {
    const struct judge_input *in = f->in;
    bool crowd = !f->results || f->settled;
    struct change c = as_it_is;
    if (f->closed && !crowd) return;
    for (int t = 0; t < KVF_TIERS; t++)
        if (in->on[t]) consider_tier(f, t);
    c.slots = 2;
    if (verdict_helps(f->verdict, VERDICT_HELP_MORE_SLOTS))
        f->unsure |= !crowd || !consider(f, &c, "2 x slots");
    c = as_it_is;
    c.users = 0.5;
    if (f->closed && in->users >= 2 && verdict_helps(f->verdict, VERDICT_HELP_FEWER_USERS))
        (void)consider(f, &c, "half the users");
}

/* Tiers that keep copies make as many of them, and of loads into faster tiers, as their speed leaves time
 * for.
 */
static bool copies_decide(const struct scenario *s, const struct judge_input *in, const struct verdict *v) {
    double most = 0;
    if (v->cause != VERDICT_CAUSE_BANDWIDTH) return false;
    for (int t = 0; t < KVF_TIERS; t++) {
        double part = 0;
        for (int d = 0; d < KVF_DIRS && in->on[t]; d++) part += in->busy[t][d] * (1 - in->needed[t][d]);
        most = fmax(most, part);
    }
    return s->cache.placement == KVF_PLACEMENT_INCLUSIVE && most >= BACKGROUND_MOST;
}

/* Whether less was done than asked for: a model of all of it says nothing of that. */
static bool undone_of_late(const struct engine *e, const struct snapshot_interval *i) {
    const struct cache_stats *c = &e->control.sampler->cache; /* of the last interval */
    uint64_t kept_out = c->not_admitted + c->copies_skipped + c->lookups_given_up + c->outage_dropped;
    return i->failed + i->dropped + i->errors + i->fell_through + kept_out > 0;
}

void forecast_recent(struct engine *e, const struct judge_input *in, const struct snapshot *snap,
                     struct verdict *v) {
    enum { USERS_MOST = 1000 }; /* more of them take too long here */
    const struct snapshot_interval *i = &snap->interval;
    struct forecast f = {.s = e->s,
                         .sample = e->service.pods[0].pipeline.sample,
                         .in = in,
                         .verdict = v,
                         .arrived = in->arrived + in->came_before,
                         .waiting = (double)i->queue_depth,
                         .inside = i->queue_depth_mean + i->in_service,
                         .tok_s = i->throughput_tok_s};
    v->gap = VERDICT_GAP_UNSURE;
    if (in->users > USERS_MOST || pods_slots(e->s) > USERS_MOST)
        v->gap = VERDICT_GAP_MANY;
    else if (undone_of_late(e, i))
        v->gap = VERDICT_GAP_UNDONE;
    else if (copies_decide(e->s, in, v))
        v->gap = VERDICT_GAP_COPIES;
    if (v->gap != VERDICT_GAP_UNSURE || !forecast_measure(&f)) return;
    sample_look(e->service.pods[0].pipeline.sample);
    consider_all(&f);
    sample_looked(e->service.pods[0].pipeline.sample);
}

/* Whether what was done is enough for means that would come out so again. */
static bool enough_done(const struct forecast *f) {
    double limited = f->s->run.max_requests > 0 && f->closed ? TURNS_LEAST * f->in->users : 0;
    return f->requests >= fmax(REQUESTS_LEAST, limited) &&
           !(result_value(f->results, "tokens_carried_ratio") > CARRIED_MOST);
}

/* The run ended with the last of its requests or bytes, not with its time. */
static bool ended_early(const struct scenario *s, double length_s) {
    double all_s = (double)(s->run.warmup_ns) / 1e9 + length_s;
    return s->run.max_requests > 0 && all_s < ENDED_EARLY * (double)s->run.duration_ns / 1e9;
}

void forecast_remedies(struct engine *e, const struct judge_input *in, struct run_record *run) {
    const struct result_list *r = &run->results;
    double undone[STANDING_UNDONE];
    struct forecast f = {.s = e->s,
                         .sample = e->service.pods[0].pipeline.sample,
                         .in = in,
                         .verdict = &run->verdict,
                         .results = r,
                         .arrived = in->arrived + in->came_before,
                         .waiting = result_value(r, "requests_queued_at_end"),
                         .inside = result_value(r, "queue_depth_mean") + result_value(r, "in_service_mean"),
                         .tok_s = result_value(r, "throughput_tok_s")};
    standing_count(r, undone);
    bool copies = copies_decide(e->s, in, &run->verdict);
    if (copies) run->verdict.gap = VERDICT_GAP_COPIES;
    if (!standing_nothing_undone(undone)) run->verdict.gap = VERDICT_GAP_UNDONE;
    if (copies || !standing_nothing_undone(undone) || !forecast_measure(&f)) return;
    if (!enough_done(&f)) return;
    if (fabs(result_value(r, "steady_slope")) > DRIFT_MOST) return; /* false where it is not known */
    f.limited = ended_early(e->s, in->length_s);
    if (f.closed) f.user = mem_zalloc((size_t)in->users + 1, sizeof *f.user);
    forecast_try_base(&f);
    f.mix = 1;
    if (f.closed) forecast_mix(&f);
    if (!(f.effective > EFFECTIVE_MOST)) consider_all(&f);
    free(f.user);
    /* what is a lesser help alone would be read as the answer */
    if (f.unsure) run->verdict.remedies = 0;
    if (f.mix < MIX_LEAST) run->verdict.gap = VERDICT_GAP_UNLIKE;
}
