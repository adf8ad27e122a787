#include "engine/forecast.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "engine/cacheconfig.h"
#include "engine/network.h"
#include "engine/sample.h"
#include "engine/trial.h"

/* Bytes that the trial moves otherwise than the run did, of all: beyond this it is of another run. */
#define OTHERWISE 0.3
/* Little's law holds of the requests that ended within this. */
#define SETTLED 0.1
/* A change that leaves less of the throughput is no remedy for misses. */
#define KEPT 0.95
/* An open loop is at its limit when it does less than this of what is offered. */
#define ACHIEVED 0.97

struct forecast {
    struct engine *e;
    const struct judge_input *in;
    struct run_record *run;
    double requests, per_s;               /* done, in the measured part */
    double demand_s[KVF_TIERS][KVF_DIRS]; /* of a request, of all servers of the tier */
    double servers[KVF_TIERS];
    bool full[KVF_TIERS];   /* reads and writes do not meet */
    struct network network; /* all but the stations, fitted */
    bool closed;            /* users wait for answers */
    bool settled;     /* those who have ended speak for those who wait: nobody is starved, no queue grows */
    double effective; /* part of the capacities that holds what can be hit: the rest is under way */
    bool tried;       /* the trial at the run's own capacities moves what the run moved */
    struct trial_counts base;
};

/* A change: factors of what there is, by tier. */
struct change {
    double capacity[KVF_TIERS], bandwidth[KVF_TIERS];
    double slots, users;
};
static const struct change as_it_is = {{1, 1, 1, 1}, {1, 1, 1, 1}, 1, 1};
_Static_assert(KVF_TIERS == 4, "a factor for each tier");

static double moved_bytes(const struct forecast *f, int tier, int dir) {
    char name[64];
    snprintf(name, sizeof name, "%s_%s_bytes", tier_name((enum kvf_tier)tier), dir_name((enum kvf_dir)dir));
    return result_value(&f->run->results, name);
}

/* ---- what was measured ---- */

/* Emulated tiers count the time of their channels. A real memory tier is as many servers as workers copy; of
 * other real tiers it is known when they were busy, and that time is divided as the operations' is. */
static void measure_tier(struct forecast *f, int t) {
    const struct judge_input *in = f->in;
    const struct scenario_emulation *speed = &f->e->s->emulation[t];
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

/* The network has no station for the program's threads, for another program or for the gate of writes. */
static bool outside_the_model(enum verdict_limit limit) {
    return limit == VERDICT_NONE || limit == VERDICT_HOST_CPU || limit == VERDICT_NEIGHBOUR ||
           limit == VERDICT_WRITES;
}

/* Whether there is anything to ask the model for. */
static bool measure(struct forecast *f) {
    const struct judge_input *in = f->in;
    enum scenario_arrival process = f->e->s->workload.arrival.process;
    double offered = result_value(&f->run->results, "requests_arrived") / in->length_s;
    f->requests = (double)in->requests;
    f->per_s = f->requests / in->length_s;
    f->closed = in->users > 0 && process != KVF_ARRIVAL_PACED;
    if (!(f->per_s > 0) || !(in->e2e_ms > 0)) return false;
    double inside = result_value(&f->run->results, "queue_depth_mean") +
                    result_value(&f->run->results, "in_service_mean");
    f->settled = fabs(inside - f->per_s * in->e2e_ms / 1e3) <= SETTLED * inside;
    if (f->e->s->autoscaler.mode != KVF_AUTOSCALER_OFF || in->compute_busy >= JUDGE_SATURATED) return false;
    for (int t = 0; t < KVF_TIERS; t++)
        if (in->on[t]) measure_tier(f, t);
    if (f->closed)
        f->network = (struct network){.slots = f->e->slots,
                                      .users = in->users,
                                      .think_s = fmax(in->users / f->per_s - in->e2e_ms / 1e3, 0)};
    else if (f->per_s < ACHIEVED * offered) /* as if the slots were users who ask at once */
        f->network = (struct network){.slots = f->e->slots, .users = (double)f->e->slots};
    else
        return false;
    stations_of(f, f->demand_s, &f->network);
    network_fit(&f->network, f->per_s);
    return true;
}

/* ---- the accesses, tried ---- */

static int try_change(const struct forecast *f, const struct change *c, struct trial_counts *out) {
    uint64_t from;
    struct err err = {0};
    const struct references *r = sample_references(f->e->pipeline.sample, &from);
    struct trial_setup setup = {.scenario = f->e->s,
                                .part = 1,
                                .counts_from = from,
                                .users = c->users < 1 ? (uint64_t)(f->in->users * c->users) : 0};
    cacheconfig_fill(&setup.cache, f->e->s);
    for (int t = 0; t < KVF_TIERS; t++)
        setup.cache.usable_bytes[t] = (uint64_t)((double)setup.cache.usable_bytes[t] * c->capacity[t] *
                                                 f->effective * sample_part(f->e->pipeline.sample));
    return trial_run(r, &setup, out, &err);
}

/* Entries that are being written, moved and read hold room that the trial, one request after another, has
 * free: as much of the capacities is left as misses as often as the run did. */
static int try_effective(struct forecast *f) {
    enum { STEPS = 6 };
    double low = 0.25, high = 1;
    int rc;
    f->effective = 1;
    for (int i = 0; (rc = try_change(f, &as_it_is, &f->base)) == 0; i++) {
        double misses = f->base.lookups > 0 ? (double)f->base.misses / (double)f->base.lookups : 0;
        bool enough = misses >= f->in->miss_ratio;
        if (i == STEPS || (enough && i == 0) || !(f->in->miss_ratio > 0)) break;
        *(enough ? &low : &high) = f->effective;
        f->effective = (low + high) / 2;
    }
    return rc;
}

static void try_base(struct forecast *f) {
    double part = sample_part(f->e->pipeline.sample), all = 0, otherwise = 0;
    if (try_effective(f) != 0) return;
    for (int t = 0; t < KVF_TIERS; t++) {
        for (int d = 0; d < KVF_DIRS && f->in->on[t]; d++) {
            double moved = moved_bytes(f, t, d);
            all += moved;
            otherwise += fabs((double)f->base.bytes[t][d] / part - moved);
        }
    }
    f->tried = all > 0 && otherwise <= OTHERWISE * all;
}

/* The demands with what the trial moved instead of what it moves at the run's capacities. */
static void moved_demands(const struct forecast *f, const struct trial_counts *c,
                          double demand_s[KVF_TIERS][KVF_DIRS]) {
    double part = sample_part(f->e->pipeline.sample);
    double requests = c->contexts > 0 ? (double)f->base.contexts / (double)c->contexts : 1;
    for (int t = 0; t < KVF_TIERS; t++) {
        const struct scenario_emulation *speed = &f->e->s->emulation[t];
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

static bool estimate(const struct forecast *f, const struct change *c, struct estimate *out) {
    struct network n = f->network;
    double demand_s[KVF_TIERS][KVF_DIRS];
    struct trial_counts tried;
    memcpy(demand_s, f->demand_s, sizeof demand_s);
    *out = (struct estimate){.e2e_ms = KVF_MISSING, .hit_ratio = KVF_MISSING};
    if (c->users < 1 || memcmp(c->capacity, as_it_is.capacity, sizeof c->capacity) != 0) {
        if (!f->tried || try_change(f, c, &tried) != 0 || tried.contexts == 0) return false;
        moved_demands(f, &tried, demand_s);
        out->hit_ratio = hit_ratio_with(f, &tried);
    }
    for (int t = 0; t < KVF_TIERS; t++)
        for (int d = 0; d < KVF_DIRS; d++) demand_s[t][d] /= c->bandwidth[t];
    double before = demand_of(&n);
    stations_of(f, demand_s, &n);
    double computes_s = fmin((f->in->generation_ms + f->in->prefill_ms) / 1e3, n.delay_s);
    if (before > 0) n.delay_s = computes_s + (n.delay_s - computes_s) * demand_of(&n) / before;
    n.slots = (uint64_t)((double)n.slots * c->slots);
    n.users *= f->closed ? c->users : c->slots;
    out->per_s = network_throughput(&n);
    if (f->closed && f->settled) out->e2e_ms = fmax(n.users / out->per_s - n.think_s, 0) * 1e3;
    return out->per_s > 0;
}

static void add(struct forecast *f, const struct change *c, const char *what) {
    const struct result_list *r = &f->run->results;
    struct verdict *v = &f->run->verdict;
    struct estimate got;
    if (!estimate(f, c, &got)) return;
    double faster = got.per_s / f->per_s, tok_s = result_value(r, "throughput_tok_s");
    if (tok_s > 0 && c->users >= 1) verdict_add_remedy(v, what, "throughput_tok_s", tok_s, tok_s * faster);
    if (kvf_present(got.e2e_ms)) verdict_add_remedy(v, what, "e2e_mean_ms", f->in->e2e_ms, got.e2e_ms);
    /* hits that cost throughput, because a hit is read and a miss is not, are no help */
    if (kvf_present(got.hit_ratio) && faster >= KEPT)
        verdict_add_remedy(v, what, "reuse_hit_ratio", 1 - f->in->miss_ratio, got.hit_ratio);
}

static void add_tier(struct forecast *f, int t) {
    const char *tier = tier_name((enum kvf_tier)t);
    struct change c = as_it_is;
    char what[80];
    for (int times = 2; times <= 4; times *= 2) {
        c.capacity[t] = times;
        snprintf(what, sizeof what, "%d x %s capacity", times, tier);
        add(f, &c, what);
    }
    c = as_it_is;
    c.bandwidth[t] = 2;
    snprintf(what, sizeof what, "2 x %s bandwidth%s", tier, t == KVF_TIER_NVME ? " (one more drive)" : "");
    add(f, &c, what);
}

void forecast_remedies(struct engine *e, const struct judge_input *in, struct run_record *run) {
    struct forecast f = {.e = e, .in = in, .run = run};
    if (outside_the_model(run->verdict.limited_by) || !measure(&f)) return;
    try_base(&f);
    for (int t = 0; t < KVF_TIERS; t++)
        if (in->on[t]) add_tier(&f, t);
    struct change c = as_it_is;
    c.slots = 2;
    if (in->slots_ratio >= 0.5 && f.settled) add(&f, &c, "2 x slots");
    c = as_it_is;
    c.users = 0.5;
    if (f.closed && f.settled && in->users >= 2) add(&f, &c, "half the users");
}
