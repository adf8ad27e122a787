#include "engine/forecast_state.h"

#include <math.h>

#include "engine/pods/pods.h"
#include "tier/station.h"

/* Little's law holds of the requests that ended within this. */
#define SETTLED 0.1
/* So close to its bound a network's delay cannot be told from its throughput. */
#define BOUND 0.97
/* An open loop is at its limit when it does less than this of what is offered and the rest waits for a slot:
 * those in service are only not done yet. */
#define ACHIEVED 0.97

/* Where a limit of both directions together is nearer than that of either, they take turns at it. */
static void share_joint(struct forecast *f, int t) {
    double joint[KVF_DIRS], sum = 0;
    for (int d = 0; d < KVF_DIRS; d++) {
        joint[d] = station_joint(&f->s->tier[t].service, &f->s->tier[t].emulation, (enum kvf_dir)d);
        sum += joint[d] * f->demand_s[t][d];
    }
    if (sum <= fmax(f->demand_s[t][KVF_DIR_READ], f->demand_s[t][KVF_DIR_WRITE])) return;
    f->full[t] = false;
    for (int d = 0; d < KVF_DIRS; d++) f->demand_s[t][d] *= joint[d];
}

/* Emulated tiers count the time of their channels. A real memory tier is as many servers as workers copy; of
 * other real tiers it is known when they were busy, and that time is divided as the operations' is. */
static void measure_tier(struct forecast *f, int t) {
    const struct judge_input *in = f->in;
    const struct scenario_emulation *speed = &f->s->tier[t].emulation;
    double ops = in->op_s[t][KVF_DIR_READ] + in->op_s[t][KVF_DIR_WRITE];
    bool copies = t == KVF_TIER_CPU && !in->emulated[t];
    f->servers[t] = in->emulated[t] ? fmax((double)speed->channels, 1)
                    : copies        ? (double)f->s->engine.workers
                                    : 1;
    f->full[t] = in->emulated[t] && speed->duplex == KVF_DUPLEX_FULL;
    for (int d = 0; d < KVF_DIRS; d++) {
        double busy_s = in->emulated[t]
                            ? in->busy[t][d] * judge_needed(in, (enum kvf_tier)t, (enum kvf_dir)d) *
                                  in->length_s * f->servers[t]
                        : copies  ? in->device_s[t][d]
                        : ops > 0 ? in->tier_busy[t] * in->length_s * in->op_s[t][d] / ops
                                  : 0;
        f->demand_s[t][d] = busy_s > 0 ? busy_s / f->requests : 0;
    }
    if (f->full[t]) share_joint(f, t);
}

void forecast_stations(const struct forecast *f, double demand_s[KVF_TIERS][KVF_DIRS], struct network *n) {
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

/* The wait for a place in the batch is not computing where those that have one wait for their tiers. */
static double joining_ms(const struct forecast *f) {
    return judge_places_idle(f->in) ? judge_join_ms(f->in) : 0;
}

/* Whether there is anything to ask the model for. */
bool forecast_measure(struct forecast *f) {
    const struct judge_input *in = f->in;
    enum scenario_arrival process = f->s->workload.arrival.process;
    f->requests = (double)in->requests;
    f->per_s = f->requests / in->length_s;
    f->closed = in->users > 0 && process != KVF_ARRIVAL_PACED;
    if (!(f->per_s > 0) || !(in->e2e_ms > 0)) return lacks(f, VERDICT_GAP_FEW);
    if (pods_machines(f->s) > 1) return lacks(f, VERDICT_GAP_FLEET);
    f->settled = fabs(f->inside - f->per_s * in->e2e_ms / 1e3) <= SETTLED * f->inside;
    if (f->s->autoscaler.mode != KVF_AUTOSCALER_OFF) return lacks(f, VERDICT_GAP_AUTOSCALER);
    if (in->compute_busy >= JUDGE_SATURATED) return lacks(f, VERDICT_GAP_GPU);
    if (judge_workers(in).load >= 0) return lacks(f, VERDICT_GAP_UNSURE);
    for (int t = 0; t < KVF_TIERS; t++)
        if (in->on[t]) measure_tier(f, t);
    if (f->closed)
        f->network = (struct network){.slots = pods_slots(f->s),
                                      .users = in->users,
                                      .think_s = fmax(in->users / f->per_s - in->e2e_ms / 1e3, 0)};
    else if (f->requests < ACHIEVED * f->arrived &&
             f->waiting > (1 - ACHIEVED) * f->arrived) /* as if the slots were users who ask at once */
        f->network = (struct network){.slots = pods_slots(f->s), .users = (double)pods_slots(f->s)};
    else
        return lacks(f, VERDICT_GAP_PACED);
    forecast_stations(f, f->demand_s, &f->network);
    network_fit(&f->network, f->per_s);
    /* a network that is at its bound is so with any delay: what is known of it then is what computes */
    double rest_ms = in->e2e_ms - in->queue_ms - in->storage_ms - joining_ms(f);
    f->bound = f->per_s > BOUND * network_bound(&f->network);
    if (f->bound) f->network.delay_s = fmin(f->network.delay_s, fmax(rest_ms, 0) / 1e3);
    f->fitted = network_throughput(&f->network);
    return f->fitted > 0;
}

static double demand_of(const struct network *n) {
    double sum = 0;
    for (unsigned k = 0; k < n->stations; k++) sum += n->station[k].demand_s;
    return sum;
}

static double computing_ms(const struct forecast *f, double prefill_ms) {
    return fmax(f->in->generation_ms + prefill_ms - fmin(joining_ms(f), prefill_ms), 0);
}

/* The throughput and the demands that go with it: each follows from the other. */
void forecast_settle(const struct forecast *f, struct network *n, double demand_s[KVF_TIERS][KVF_DIRS],
                     double growth[KVF_TIERS][KVF_DIRS], struct estimate *out) {
    enum { STEPS = 12 };
    double computes_s = fmin(computing_ms(f, f->in->prefill_ms) / 1e3, f->network.delay_s);
    double before = demand_of(&f->network), further = 1;
    for (int i = 0; i < STEPS; i++) {
        double grown[KVF_TIERS][KVF_DIRS];
        for (int t = 0; t < KVF_TIERS; t++)
            for (int d = 0; d < KVF_DIRS; d++) grown[t][d] = demand_s[t][d] * pow(further, growth[t][d]);
        forecast_stations(f, grown, n);
        n->delay_s = f->network.delay_s;
        if (before > 0) n->delay_s = computes_s + (n->delay_s - computes_s) * demand_of(n) / before;
        out->per_s = network_throughput(n);
        out->per_s *= f->per_s / f->fitted;
        double now = (f->limited ? 1 : out->per_s / f->per_s) * (f->closed ? f->network.users / n->users : 1);
        further = sqrt(further * fmin(fmax(now, 0.25), 4));
    }
}

/* More than arrives, or waited before, is never done. */
static double no_more_than_arrives(const struct forecast *f, double per_s) {
    double arrive = f->arrived / f->in->length_s;
    return f->closed || !(arrive > 0) ? per_s : fmin(per_s, arrive);
}

/* Whatever slots there are, workers carry out no more at a time. */
static double no_more_than_workers(const struct forecast *f, const struct network *n, double per_s) {
    double busy = fmax(f->in->copying, f->in->staging);
    return n->slots > f->network.slots && busy > 0 ? fmin(per_s, f->per_s / busy) : per_s;
}

/* A request computes as long as before however quick storage is; with more hits it generates as long. */
double forecast_at_most(const struct forecast *f, const struct network *n, double per_s, bool other_hits) {
    double computes_s = computing_ms(f, other_hits ? 0 : f->in->prefill_ms) / 1e3;
    if (n->think_s + computes_s > 0) per_s = fmin(per_s, n->users / (n->think_s + computes_s));
    if (f->in->compute_busy > 0)
        per_s = fmin(per_s, f->per_s / f->in->compute_busy); /* in batches as they are */
    return no_more_than_arrives(f, no_more_than_workers(f, n, per_s));
}
