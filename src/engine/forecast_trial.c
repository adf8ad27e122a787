#include "engine/forecast_state.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "engine/limits/cacheconfig.h"
#include "engine/pipeline/sample.h"

/* Bytes that the trial moves otherwise than the run did, of all: beyond this it is of another run. */
#define OTHERWISE 0.3
/* Upper bound of the exponent with which a request's bytes grow with the requests before it. */
#define GROWTH 1.5
/* A trial that misses otherwise by this, whatever its capacities, is of another run. */
#define MISSES_APART 0.05
/* Miss ratios of the trial and of the run that are the same. */
#define ALIKE 0.005

static double moved_bytes(const struct forecast *f, int tier, int dir) {
    char name[64];
    snprintf(name, sizeof name, "%s_%s_bytes", tier_name((enum kvf_tier)tier), dir_name((enum kvf_dir)dir));
    return result_value(f->results, name);
}

/* Room taken meanwhile grows with the tier; what is yet to be written does not. Either goes with users. */
static double effective_times(const struct forecast *f, const struct change *c, double times) {
    double apart = (f->effective - 1) * c->users;
    return apart < 0 ? times * (1 + apart) : times + apart;
}

static int try_with(const struct forecast *f, const struct change *c, struct trial_user *user,
                    struct trial_counts *out) {
    uint64_t from;
    struct err err = {0};
    const struct references *r = sample_references(f->sample, &from);
    struct trial_setup setup = {.scenario = f->s,
                                .part = 1,
                                .counts_from = from,
                                .user = user,
                                .user_count = user ? (uint64_t)f->in->users : 0,
                                .users = c->users < 1 ? (uint64_t)(f->in->users * c->users) : 0};
    cacheconfig_fill(&setup.cache, f->s);
    for (int t = 0; t < KVF_TIERS; t++)
        setup.cache.usable_bytes[t] =
            (uint64_t)((double)setup.cache.usable_bytes[t] * effective_times(f, c, c->capacity[t]) *
                       sample_part(f->sample));
    return trial_run(r, &setup, out, &err);
}

int forecast_try(const struct forecast *f, const struct change *c, struct trial_counts *out) {
    return try_with(f, c, NULL, out);
}

/* Entries that are being written, moved and read hold room that the trial, one request after another, has
 * free; and those that wait to be written do not push others out yet. The capacities are those with which the
 * trial misses as often as the run did. */
static int try_effective(struct forecast *f) {
    enum { STEPS = 7 };
    double low = 0.25, high = 1;
    int rc;
    f->effective = 1;
    for (int i = 0; (rc = forecast_try(f, &as_it_is, &f->base)) == 0; i++) {
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
double forecast_noise(const struct forecast *f, const struct trial_counts *tried,
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
void forecast_growth(const struct forecast *f, const struct trial_counts *c,
                     double growth[KVF_TIERS][KVF_DIRS]) {
    uint64_t from;
    const struct references *r = sample_references(f->sample, &from);
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

void forecast_try_base(struct forecast *f) {
    double part = sample_part(f->sample), all = 0, otherwise = 0;
    if (try_effective(f) != 0) return;
    if (f->user) (void)try_with(f, &as_it_is, f->user, &f->base);
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
void forecast_moved_demands(const struct forecast *f, const struct trial_counts *c,
                            double demand_s[KVF_TIERS][KVF_DIRS]) {
    double part = sample_part(f->sample);
    double requests = c->contexts > 0 ? (double)f->base.contexts / (double)c->contexts : 1;
    for (int t = 0; t < KVF_TIERS; t++) {
        const struct scenario_emulation *speed = &f->s->tier[t].emulation;
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
