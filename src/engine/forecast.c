#include "engine/forecast.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "engine/core.h"
#include "engine/limits/cacheconfig.h"
#include "engine/limits/network.h"
#include "engine/pipeline/sample.h"
#include "engine/pipeline/trial.h"
#include "engine/sampling/sampler.h"
#include "record/standing.h"

/* Bytes that the trial moves otherwise than the run did, of all: beyond this it is of another run. */
#define OTHERWISE 0.3
/* Little's law holds of the requests that ended within this. */
#define SETTLED 0.1
/* An estimate with a larger error, as a part of it, is not told; nor a mean latency when the cycle of a user
 * is so many times as long, nor a hit ratio that is less. */
#define ERROR_MOST  0.06
#define ERROR_EVER  0.1
#define SPREAD_MOST 1.5
#define HITS_LEAST  0.3
/* An open loop that misses more than this misses what is not written yet, and otherwise at another speed. */
#define OTHER_MISSES 0.2
/* Fewer users who hit otherwise by more than this are not those of the run. */
#define OTHER_HITS  0.1
#define MISSES_MOST 0.5
/* While a run goes on its misses of late and those of all of it so far may be so far apart. */
#define OTHER_SO_FAR 0.25
/* So close to its bound a network's delay cannot be told from its throughput. */
#define BOUND 0.97
/* A gain from which on a change is a remedy. */
#define GAIN 0.01
/* A change of throughput from which on all of the error of the demands is in it. */
#define SENSIBLE 0.2
/* A run whose throughput drifts by more than this part of its mean has no one state to change. */
#define DRIFT_MOST 0.5
/* A larger tier that makes throughput more than so many times as much meets requests that were never made:
 * what was written by then would have filled it. */
#define FASTER_MOST 2
/* Fewer users whose latency hardly changes contradict a verdict that sees them queue. */
#define FEWER_LEAST 1.3
/* A change that leaves less of the throughput is no remedy for misses. */
#define KEPT 0.95
/* Upper bound of the exponent with which a request's bytes grow with the requests before it. */
#define GROWTH 1.5
/* A trial that misses otherwise by this, whatever its capacities, is of another run. */
#define MISSES_APART 0.05
/* Miss ratios of the trial and of the run that are the same. */
#define ALIKE 0.005
/* An open loop is at its limit when it does less than this of what is offered and the rest waits for a slot:
 * those in service are only not done yet. */
#define ACHIEVED 0.97
/* Fewer requests than this, or than so many of each user where their number is limited, are no mean; nor are
 * tokens of which a larger part is of work done before. */
#define REQUESTS_LEAST 30
#define TURNS_LEAST    10
#define CARRIED_MOST   0.1

struct forecast {
    struct engine *e;
    const struct judge_input *in;
    struct verdict *verdict;           /* gets the remedies */
    const struct result_list *results; /* of a run that has ended; NULL: it goes on */
    double arrived, waiting;           /* requests, with came_before; those that wait for a slot at the end */
    double inside, tok_s;              /* mean number of requests there, tokens per second */
    double requests, per_s;            /* done, in the measured part */
    double demand_s[KVF_TIERS][KVF_DIRS]; /* of a request, of all servers of the tier */
    double servers[KVF_TIERS];
    bool full[KVF_TIERS];   /* reads and writes do not meet */
    struct network network; /* all but the stations, fitted */
    double fitted;          /* its throughput */
    bool bound;             /* at its bound, where neither delay nor queueing shows */
    bool closed;            /* users wait for answers */
    bool settled;     /* those who have ended speak for those who wait: nobody is starved, no queue grows */
    double effective; /* part of the capacities that holds what can be hit: the rest is under way */
    bool tried;       /* the trial at the run's own capacities moves what the run moved */
    struct trial_counts base;
};

/* A change: factors of what there is, by tier. */
struct change {
    double capacity[KVF_TIERS], bandwidth[KVF_TIERS], slots, users;
};
static const struct change as_it_is = {{1, 1, 1, 1}, {1, 1, 1, 1}, 1, 1};
_Static_assert(KVF_TIERS == 4, "a factor for each tier");

static double moved_bytes(const struct forecast *f, int tier, int dir) {
    char name[64];
    snprintf(name, sizeof name, "%s_%s_bytes", tier_name((enum kvf_tier)tier), dir_name((enum kvf_dir)dir));
    return result_value(f->results, name);
}

/* ---- what was measured ---- */

/* Emulated tiers count the time of their channels. A real memory tier is as many servers as workers copy; of
 * other real tiers it is known when they were busy, and that time is divided as the operations' is. */
static void measure_tier(struct forecast *f, int t) {
    const struct judge_input *in = f->in;
    const struct scenario_emulation *speed = &f->e->s->tier[t].emulation;
    double ops = in->op_s[t][KVF_DIR_READ] + in->op_s[t][KVF_DIR_WRITE];
    bool copies = t == KVF_TIER_CPU && !in->emulated[t];
    f->servers[t] = in->emulated[t] ? fmax((double)speed->channels, 1)
                    : copies        ? (double)f->e->s->engine.workers
                                    : 1;
    f->full[t] = in->emulated[t] && speed->duplex == KVF_DUPLEX_FULL;
    for (int d = 0; d < KVF_DIRS; d++) {
        double busy_s = in->emulated[t] ? in->busy[t][d] * in->length_s * f->servers[t]
                        : copies        ? in->device_s[t][d]
                        : ops > 0       ? in->tier_busy[t] * in->length_s * in->op_s[t][d] / ops
                                        : 0;
        f->demand_s[t][d] = busy_s > 0 ? busy_s / f->requests : 0;
    }
}

static void stations_of(const struct forecast *f, double demand_s[KVF_TIERS][KVF_DIRS], struct network *n) {
    n->stations = 0;
    for (int t = 0; t < KVF_TIERS; t++) {
        if (!f->in->on[t]) continue;
        double read = demand_s[t][KVF_DIR_READ], write = demand_s[t][KVF_DIR_WRITE];
        n->station[n->stations++] = (struct network_station){f->full[t] ? read : read + write, f->servers[t]};
        if (f->full[t]) n->station[n->stations++] = (struct network_station){write, f->servers[t]};
    }
}

static bool lacks(struct forecast *f, enum verdict_gap gap) {
    f->verdict->gap = gap;
    return false;
}

/* Whether there is anything to ask the model for. */
static bool measure(struct forecast *f) {
    const struct judge_input *in = f->in;
    enum scenario_arrival process = f->e->s->workload.arrival.process;
    f->requests = (double)in->requests;
    f->per_s = f->requests / in->length_s;
    f->closed = in->users > 0 && process != KVF_ARRIVAL_PACED;
    if (!(f->per_s > 0) || !(in->e2e_ms > 0)) return lacks(f, VERDICT_GAP_FEW);
    if (pods_machines(f->e->s) > 1) return lacks(f, VERDICT_GAP_FLEET);
    f->settled = fabs(f->inside - f->per_s * in->e2e_ms / 1e3) <= SETTLED * f->inside;
    if (f->e->s->autoscaler.mode != KVF_AUTOSCALER_OFF) return lacks(f, VERDICT_GAP_AUTOSCALER);
    if (in->compute_busy >= JUDGE_SATURATED) return lacks(f, VERDICT_GAP_GPU);
    for (int t = 0; t < KVF_TIERS; t++)
        if (in->on[t]) measure_tier(f, t);
    if (f->closed)
        f->network = (struct network){.slots = pods_slots(f->e->s),
                                      .users = in->users,
                                      .think_s = fmax(in->users / f->per_s - in->e2e_ms / 1e3, 0)};
    else if (f->requests < ACHIEVED * f->arrived &&
             f->waiting > (1 - ACHIEVED) * f->arrived) /* as if the slots were users who ask at once */
        f->network = (struct network){.slots = pods_slots(f->e->s), .users = (double)pods_slots(f->e->s)};
    else
        return lacks(f, VERDICT_GAP_PACED);
    stations_of(f, f->demand_s, &f->network);
    network_fit(&f->network, f->per_s);
    /* a network that is at its bound is so with any delay: what is known of it then is what computes */
    double rest_ms = in->e2e_ms - in->queue_ms - in->storage_ms;
    f->bound = f->per_s > BOUND * network_bound(&f->network);
    if (f->bound) f->network.delay_s = fmin(f->network.delay_s, fmax(rest_ms, 0) / 1e3);
    f->fitted = network_throughput(&f->network);
    return f->fitted > 0;
}

/* ---- the accesses, tried ---- */

/* Room taken meanwhile grows with the tier; what is yet to be written does not. Either goes with users. */
static double effective_times(const struct forecast *f, const struct change *c, double times) {
    double apart = (f->effective - 1) * c->users;
    return apart < 0 ? times * (1 + apart) : times + apart;
}

static int try_change(const struct forecast *f, const struct change *c, struct trial_counts *out) {
    uint64_t from;
    struct err err = {0};
    const struct references *r = sample_references(f->e->service.pods[0].pipeline.sample, &from);
    struct trial_setup setup = {.scenario = f->e->s,
                                .part = 1,
                                .counts_from = from,
                                .users = c->users < 1 ? (uint64_t)(f->in->users * c->users) : 0};
    cacheconfig_fill(&setup.cache, f->e->s);
    for (int t = 0; t < KVF_TIERS; t++)
        setup.cache.usable_bytes[t] =
            (uint64_t)((double)setup.cache.usable_bytes[t] * effective_times(f, c, c->capacity[t]) *
                       sample_part(f->e->service.pods[0].pipeline.sample));
    return trial_run(r, &setup, out, &err);
}

/* Entries that are being written, moved and read hold room that the trial, one request after another, has
 * free; and those that wait to be written do not push others out yet. The capacities are those with which the
 * trial misses as often as the run did. */
static int try_effective(struct forecast *f) {
    enum { STEPS = 7 };
    double low = 0.25, high = 1;
    int rc;
    f->effective = 1;
    for (int i = 0; (rc = try_change(f, &as_it_is, &f->base)) == 0; i++) {
        double misses = f->base.lookups > 0 ? (double)f->base.misses / (double)f->base.lookups : 0;
        bool more = misses > f->in->miss_ratio;
        if (i == STEPS || fabs(misses - f->in->miss_ratio) < ALIKE || !(f->in->miss_ratio > 0)) break;
        if (i == 0 && more) low = 1, high = 4;
        *(more ? &low : &high) = f->effective;
        f->effective = i == 0 && more ? 2 : (low + high) / 2;
    }
    return rc;
}

/* A request's demand on a tier in one part of the accesses. */
static double part_demand(const struct trial_counts *c, unsigned part, int t,
                          const double demand_s[KVF_DIRS]) {
    double sum = 0;
    for (int d = 0; d < KVF_DIRS; d++)
        if (c->bytes[t][d] > 0)
            sum += demand_s[d] * trial_bytes_per_context(c, part, 1, t, d) /
                   trial_bytes_per_context(c, 0, TRIAL_PARTS, t, d);
    return sum;
}

/* The standard error of what the most loaded tier is asked for after a change, or of the difference that it
 * makes, as a part of it: in some runs a few requests with much to read decide. */
static double noise_of(const struct forecast *f, const struct trial_counts *tried,
                       double demand_s[KVF_TIERS][KVF_DIRS], bool against) {
    double apart[TRIAL_PARTS], most = 0, mean = 0, sum = 0;
    int t = 0;
    for (int i = 0; i < KVF_TIERS; i++) {
        double demand =
            (f->demand_s[i][KVF_DIR_READ] + f->demand_s[i][KVF_DIR_WRITE]) / fmax(f->servers[i], 1);
        if (demand > most) t = i;
        most = fmax(most, demand);
    }
    for (unsigned p = 0; p < TRIAL_PARTS; p++) {
        apart[p] = part_demand(tried, p, t, demand_s[t]);
        if (against) apart[p] -= part_demand(&f->base, p, t, f->demand_s[t]);
        mean += apart[p] / TRIAL_PARTS;
    }
    for (unsigned p = 0; p < TRIAL_PARTS; p++) sum += (apart[p] - mean) * (apart[p] - mean);
    double whole = demand_s[t][KVF_DIR_READ] + demand_s[t][KVF_DIR_WRITE];
    return whole > 0 ? sqrt(sum / (TRIAL_PARTS - 1) / TRIAL_PARTS) / whole : 0;
}

/* Users who are answered sooner have made more requests by the end: conversations are longer there, and
 * caches fuller. By how much a request's bytes grow with the requests before it the halves of the trial tell,
 * as exponents. */
static void growth_of(const struct forecast *f, const struct trial_counts *c,
                      double growth[KVF_TIERS][KVF_DIRS]) {
    uint64_t from;
    const struct references *r = sample_references(f->e->service.pods[0].pipeline.sample, &from);
    double begin = (double)from, all = (double)r->count, bytes[2];
    const unsigned half = TRIAL_PARTS / 2;
    double apart = log((begin + 3 * all) / (3 * begin + all)); /* of the middles of both halves */
    for (int t = 0; t < KVF_TIERS; t++) {
        for (int d = 0; d < KVF_DIRS; d++) {
            growth[t][d] = 0;
            for (int h = 0; h < 2; h++) bytes[h] = trial_bytes_per_context(c, (unsigned)h * half, half, t, d);
            if (bytes[0] > 0 && bytes[1] > 0 && apart > 0)
                growth[t][d] = fmin(fmax(log(bytes[1] / bytes[0]) / apart, -GROWTH), GROWTH);
        }
    }
}

static void try_base(struct forecast *f) {
    double part = sample_part(f->e->service.pods[0].pipeline.sample), all = 0, otherwise = 0;
    if (try_effective(f) != 0) return;
    for (int t = 0; t < KVF_TIERS; t++) {
        for (int d = 0; d < KVF_DIRS && f->in->on[t]; d++) {
            double moved = moved_bytes(f, t, d);
            all += moved;
            otherwise += fabs((double)f->base.bytes[t][d] / part - moved);
        }
    }
    double misses = f->base.lookups > 0 ? (double)f->base.misses / (double)f->base.lookups : 0;
    bool alike = !(fabs(misses - f->in->miss_ratio) > MISSES_APART);
    f->tried = alike && all > 0 && otherwise <= OTHERWISE * all;
}

/* The demands with what the trial moved instead of what it moves at the run's capacities. */
static void moved_demands(const struct forecast *f, const struct trial_counts *c,
                          double demand_s[KVF_TIERS][KVF_DIRS]) {
    double part = sample_part(f->e->service.pods[0].pipeline.sample);
    double requests = c->contexts > 0 ? (double)f->base.contexts / (double)c->contexts : 1;
    for (int t = 0; t < KVF_TIERS; t++) {
        const struct scenario_emulation *speed = &f->e->s->tier[t].emulation;
        for (int d = 0; d < KVF_DIRS; d++) {
            double base = (double)f->base.bytes[t][d], now = (double)c->bytes[t][d] * requests;
            double rate = (double)(d == KVF_DIR_READ ? speed->read_bytes_per_s : speed->write_bytes_per_s);
            if (base > 0)
                demand_s[t][d] = f->demand_s[t][d] * now / base;
            else if (rate > 0)
                demand_s[t][d] = now / part / f->requests / rate * f->servers[t];
        }
    }
}

/* ---- estimates ---- */

struct estimate {
    double per_s, e2e_ms, hit_ratio; /* NaN: not known */
    double error;                    /* of per_s, as a part of it */
};

static double demand_of(const struct network *n) {
    double sum = 0;
    for (unsigned k = 0; k < n->stations; k++) sum += n->station[k].demand_s;
    return sum;
}

/* The trial's difference on top of what was measured. */
static double hit_ratio_with(const struct forecast *f, const struct trial_counts *tried) {
    if (f->base.lookups == 0 || tried->lookups == 0) return KVF_MISSING;
    double before = (double)f->base.misses / (double)f->base.lookups;
    double after = (double)tried->misses / (double)tried->lookups;
    return fmin(fmax(1 - f->in->miss_ratio + before - after, 0), 1);
}

/* The throughput and the demands that go with it: each follows from the other. */
static void settle_on(const struct forecast *f, struct network *n, double demand_s[KVF_TIERS][KVF_DIRS],
                      double growth[KVF_TIERS][KVF_DIRS], struct estimate *out) {
    enum { STEPS = 12 };
    double computes_s = fmin((f->in->generation_ms + f->in->prefill_ms) / 1e3, f->network.delay_s);
    double before = demand_of(&f->network), further = 1;
    for (int i = 0; i < STEPS; i++) {
        double grown[KVF_TIERS][KVF_DIRS];
        for (int t = 0; t < KVF_TIERS; t++)
            for (int d = 0; d < KVF_DIRS; d++) grown[t][d] = demand_s[t][d] * pow(further, growth[t][d]);
        stations_of(f, grown, n);
        n->delay_s = f->network.delay_s;
        if (before > 0) n->delay_s = computes_s + (n->delay_s - computes_s) * demand_of(n) / before;
        out->per_s = network_throughput(n);
        out->per_s *= f->per_s / f->fitted;
        double now = out->per_s / f->per_s * (f->closed ? f->network.users / n->users : 1);
        further = sqrt(further * fmin(fmax(now, 0.25), 4));
    }
}

/* A request computes as long as before however quick storage is; with more hits it generates as long. */
static double at_most(const struct forecast *f, const struct network *n, double per_s, bool other_hits) {
    double computes_s = (f->in->generation_ms + (other_hits ? 0 : f->in->prefill_ms)) / 1e3;
    return computes_s > 0 ? fmin(per_s, n->users / (n->think_s + computes_s)) : per_s;
}

/* A hit of a block is one of all before it: a sample of blocks does not tell where they end. */
static bool thinned(const struct forecast *f) {
    return f->e->s->cache.granularity == KVF_GRANULARITY_BLOCK &&
           sample_part(f->e->service.pods[0].pipeline.sample) < 1;
}

/* More than arrives, or waited before, is never done. */
static double no_more_than_arrives(const struct forecast *f, double per_s) {
    double arrive = f->arrived / f->in->length_s;
    return f->closed || !(arrive > 0) ? per_s : fmin(per_s, arrive);
}

static bool larger(const struct change *c) {
    return memcmp(c->capacity, as_it_is.capacity, sizeof c->capacity) != 0;
}

static bool estimate(const struct forecast *f, const struct change *c, struct estimate *out) {
    struct network n = f->network;
    double demand_s[KVF_TIERS][KVF_DIRS], growth[KVF_TIERS][KVF_DIRS], steady[KVF_TIERS][KVF_DIRS] = {{0}};
    struct trial_counts tried = f->base;
    struct estimate plain = {0};
    memcpy(demand_s, f->demand_s, sizeof demand_s);
    *out = (struct estimate){.e2e_ms = KVF_MISSING, .hit_ratio = KVF_MISSING};
    bool tries = c->users < 1 || larger(c);
    if (tries) {
        if (!f->tried || thinned(f) || try_change(f, c, &tried) != 0 || tried.contexts == 0) return false;
        moved_demands(f, &tried, demand_s);
        out->hit_ratio = hit_ratio_with(f, &tried);
        /* with fewer users another cache remains of the same one */
        if (c->users < 1 && f->in->miss_ratio > MISSES_MOST) return false;
        if (c->users < 1 && fabs(out->hit_ratio - (1 - f->in->miss_ratio)) > OTHER_HITS) return false;
    }
    for (int t = 0; t < KVF_TIERS; t++)
        for (int d = 0; d < KVF_DIRS; d++) demand_s[t][d] /= c->bandwidth[t];
    n.slots = (uint64_t)((double)n.slots * c->slots);
    n.users *= f->closed ? c->users : c->slots;
    double noise = tries ? noise_of(f, &tried, demand_s, true) : 0,
           alone = noise_of(f, &tried, demand_s, false);
    growth_of(f, &tried, growth);
    settle_on(f, &n, demand_s, steady, &plain);
    double bound = fmax(network_bound(&n), f->per_s);
    settle_on(f, &n, demand_s, growth, out);
    double apart = out->per_s / plain.per_s;
    out->per_s = sqrt(out->per_s * plain.per_s);
    out->error = (fmax(apart, 1 / apart) - 1) / 2 + fmax(noise, alone);
    if (f->bound) { /* whoever meets nobody is the other end of what it may be */
        struct estimate alone_there = {0};
        n.queueing = 0;
        settle_on(f, &n, demand_s, steady, &alone_there);
        out->error += fmax(alone_there.per_s / plain.per_s - 1, 0) / 2;
    }
    out->per_s = no_more_than_arrives(f, at_most(f, &n, out->per_s, tries));
    if (!tries) out->per_s = fmin(out->per_s, bound); /* what is asked of the tiers stays as it is */
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

/* Only what is for the better, and known well enough. */
static void offer(struct forecast *f, const char *what, const char *metric, double now, double then) {
    struct verdict_remedy r = {.now = now, .estimate = then};
    snprintf(r.metric, sizeof r.metric, "%s", metric);
    if (verdict_gain(&r) >= GAIN) verdict_add_remedy(f->verdict, what, metric, now, then);
}

static void add(struct forecast *f, const struct change *c, const char *what) {
    struct estimate got;
    if (!estimate(f, c, &got) || (!f->closed && f->in->miss_ratio > OTHER_MISSES)) return;
    if (larger(c) && got.per_s > FASTER_MOST * f->per_s) return;
    double faster = got.per_s / f->per_s, risk = got.error * fmin(1, fabs(faster - 1) / SENSIBLE);
    if (c->users < 1 && f->in->e2e_ms < FEWER_LEAST * got.e2e_ms) return;
    if (c->users < 1) risk = got.error;
    bool likely = risk <= ERROR_MOST && got.error <= ERROR_EVER;
    if (f->tok_s > 0 && c->users >= 1 && likely)
        offer(f, what, "throughput_tok_s", f->tok_s, f->tok_s * faster);
    if (kvf_present(got.e2e_ms) && likely && spread_of(f, c, &got) <= SPREAD_MOST)
        offer(f, what, "e2e_mean_ms", f->in->e2e_ms, got.e2e_ms);
    /* hits that cost throughput are no help; nor are they where a miss makes no work, while a hit is read */
    if (hits_known(f, c, &got) && faster >= KEPT && !judge_free_misses(f->in))
        offer(f, what, "reuse_hit_ratio", 1 - f->in->miss_ratio, got.hit_ratio);
}

/* ---- while the run goes on ---- */

/* Misses of caches of these sizes one below the other, by the sample's distances. */
static void curve_of(const struct forecast *f, const double usable[KVF_TIERS], double miss[KVF_TIERS]) {
    double bytes = 0;
    for (int t = 0; t < KVF_TIERS; t++) {
        bytes += f->in->on[t] ? usable[t] : 0;
        miss[t] = bytes > 0 ? sample_miss_ratio(f->e->service.pods[0].pipeline.sample, bytes, NULL) : 1;
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
    if (!(fabs(misses - f->in->miss_ratio) <= OTHER_SO_FAR)) return;
    for (int i = 0; i < KVF_TIERS; i++) {
        double hits = above - now[i], hits_then = above_then - then[i];
        if (f->in->on[i] && hits > ALIKE) demand_s[i][KVF_DIR_READ] *= hits_then / hits;
        above = now[i], above_then = then[i];
    }
    settle_on(f, &n, demand_s, steady, &got);
    got.per_s = no_more_than_arrives(f, at_most(f, &n, got.per_s, true));
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
    settle_on(f, &n, demand_s, steady, &got);
    if (!(got.per_s > 0)) return;
    got.per_s = no_more_than_arrives(f, at_most(f, &n, got.per_s, false));
    double e2e_ms = fmax(n.users / got.per_s - n.think_s, 0) * 1e3;
    if (c->users < 1 && f->in->e2e_ms < FEWER_LEAST * e2e_ms) return;
    if (f->tok_s > 0 && c->users >= 1)
        offer(f, what, "throughput_tok_s", f->tok_s, f->tok_s * got.per_s / f->per_s);
    if (f->closed) offer(f, what, "e2e_mean_ms", f->in->e2e_ms, e2e_ms);
}

/* ---- the changes ---- */

static void consider(struct forecast *f, const struct change *c, const char *what) {
    if (f->results) {
        add(f, c, what);
        return;
    }
    for (int t = 0; t < KVF_TIERS; t++) {
        if (c->capacity[t] <= 1) continue;
        add_larger(f, t, c->capacity[t], what);
        return;
    }
    /* fewer users ask the same of the tiers as long as few of their lookups miss */
    if (c->users >= 1 || !(f->in->miss_ratio > OTHER_HITS)) add_other(f, c, what);
}

static void consider_tier(struct forecast *f, int t) {
    const char *tier = tier_name((enum kvf_tier)t);
    struct change c = as_it_is;
    char what[80];
    /* what is old fills its tiers; or hits are read where misses make no work, or are written alone */
    bool still = f->e->s->cache.placement == KVF_PLACEMENT_SPILLOVER;
    still |= judge_free_misses(f->in) ? t == judge_lowest_tier(f->in) : scenario_rewrites(f->e->s);
    for (int times = 2; times <= 4 && !still && verdict_helps(f->verdict, VERDICT_HELP_BIGGER); times *= 2) {
        c.capacity[t] = times;
        snprintf(what, sizeof what, "%d x %s capacity", times, tier);
        consider(f, &c, what);
    }
    if (t != (int)judge_most_loaded_tier(f->in) || !verdict_helps(f->verdict, VERDICT_HELP_FASTER)) return;
    c = as_it_is;
    c.bandwidth[t] = 2;
    snprintf(what, sizeof what, "2 x %s bandwidth%s", tier, t == KVF_TIER_NVME ? " (one more drive)" : "");
    consider(f, &c, what);
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
    if (crowd && verdict_helps(f->verdict, VERDICT_HELP_MORE_SLOTS)) consider(f, &c, "2 x slots");
    c = as_it_is;
    c.users = 0.5;
    if (f->closed && in->users >= 2 && verdict_helps(f->verdict, VERDICT_HELP_FEWER_USERS))
        consider(f, &c, "half the users");
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
    struct forecast f = {.e = e,
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
    if (v->gap != VERDICT_GAP_UNSURE || !measure(&f)) return;
    sample_look(e->service.pods[0].pipeline.sample);
    consider_all(&f);
    sample_looked(e->service.pods[0].pipeline.sample);
}

/* Whether what was done is enough for means that would come out so again. */
static bool enough_done(const struct forecast *f) {
    double limited = f->e->s->run.max_requests > 0 && f->closed ? TURNS_LEAST * f->in->users : 0;
    return f->requests >= fmax(REQUESTS_LEAST, limited) &&
           !(result_value(f->results, "tokens_carried_ratio") > CARRIED_MOST);
}

void forecast_remedies(struct engine *e, const struct judge_input *in, struct run_record *run) {
    const struct result_list *r = &run->results;
    double undone[STANDING_UNDONE];
    struct forecast f = {.e = e,
                         .in = in,
                         .verdict = &run->verdict,
                         .results = r,
                         .arrived = in->arrived + in->came_before,
                         .waiting = result_value(r, "requests_queued_at_end"),
                         .inside = result_value(r, "queue_depth_mean") + result_value(r, "in_service_mean"),
                         .tok_s = result_value(r, "throughput_tok_s")};
    standing_count(r, undone);
    if (!standing_nothing_undone(undone)) run->verdict.gap = VERDICT_GAP_UNDONE;
    if (!standing_nothing_undone(undone) || !measure(&f)) return;
    if (!enough_done(&f)) return;
    if (fabs(result_value(r, "steady_slope")) > DRIFT_MOST) return; /* false where it is not known */
    try_base(&f);
    consider_all(&f);
}
