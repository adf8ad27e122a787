/* Shared by the files of the forecast alone: the measured run, a change of it, and the estimate of its
 * effect. Control thread only. */
#ifndef KVF_ENGINE_FORECAST_STATE_H
#define KVF_ENGINE_FORECAST_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/limits/network.h"
#include "engine/pipeline/trial.h"
#include "record/judge/judge.h"
#include "record/run.h"

struct sample;
struct scenario;

struct forecast {
    const struct scenario *s;
    const struct sample *sample; /* of the accesses */
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
    struct trial_user *user; /* what each user asked for and read in it; NULL: not known */
    bool limited;            /* the run ended with its last request: faster, it makes no more */
    double mix;              /* mix_factor() of a bottleneck that is twice as fast; 1: not known */
    int bottleneck;          /* the tier */
    bool unsure;             /* what the verdict names has no estimate for want of certainty */
};

/* A change: factors of what there is, by tier. */
struct change {
    double capacity[KVF_TIERS], bandwidth[KVF_TIERS], slots, users;
};
static const struct change as_it_is = {{1, 1, 1, 1}, {1, 1, 1, 1}, 1, 1};
_Static_assert(KVF_TIERS == 4, "a factor for each tier");

struct estimate {
    double per_s, e2e_ms, hit_ratio; /* NaN: not known */
    double error;                    /* of per_s, as a part of it */
    double noise;                    /* standard error of the difference that the change makes */
};

/* ---- the network (forecast_network.c) ---- */

/* Fits the network to what was measured; false, with the verdict's gap set: there is nothing to ask it for.
 */
bool forecast_measure(struct forecast *f);
/* The stations of tiers with these demands. */
void forecast_stations(const struct forecast *f, double demand_s[KVF_TIERS][KVF_DIRS], struct network *n);
/* The throughput with these demands, which grow with it by these exponents; sets n's stations and out->per_s.
 */
void forecast_settle(const struct forecast *f, struct network *n, double demand_s[KVF_TIERS][KVF_DIRS],
                     double growth[KVF_TIERS][KVF_DIRS], struct estimate *out);
/* That throughput, or less: a request computes as long as before, and nothing is done that did not arrive. */
double forecast_at_most(const struct forecast *f, const struct network *n, double per_s, bool other_hits);

/* ---- the accesses, tried (forecast_trial.c) ---- */

/* Replays the accesses with the run's own capacities; sets tried, effective and base, and counts f->user. */
void forecast_try_base(struct forecast *f);
/* The same with a change; 0 or a negative code. */
int forecast_try(const struct forecast *f, const struct change *c, struct trial_counts *out);
/* The demands with what was moved then instead of what base moved. */
void forecast_moved_demands(const struct forecast *f, const struct trial_counts *c,
                            double demand_s[KVF_TIERS][KVF_DIRS]);
/* The standard error of what the most loaded tier is asked for after a change, or of the difference that the
 * change makes, as a part of the whole. */
double forecast_noise(const struct forecast *f, const struct trial_counts *tried,
                      double demand_s[KVF_TIERS][KVF_DIRS], bool against);
/* Exponents with which a request's bytes grow with the requests before it. */
void forecast_growth(const struct forecast *f, const struct trial_counts *c,
                     double growth[KVF_TIERS][KVF_DIRS]);

/* ---- users who differ (forecast_users.c) ---- */

/* Sets bottleneck and mix; after forecast_try_base(). */
void forecast_mix(struct forecast *f);

#endif
