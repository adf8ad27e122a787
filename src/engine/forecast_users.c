#include <math.h>
#include <stdlib.h>

#include "base/buf.h"
#include "engine/forecast_state.h"
#include "engine/limits/mix.h"

/* Mean requests of a user in a part of the run: with fewer its pace is chance. */
#define OF_EACH 8

static double asked(const struct trial_user *u, unsigned from, unsigned to) {
    double sum = 0;
    for (unsigned p = from; p < to; p++) sum += u->requests[p];
    return sum;
}

static double read_bytes(const struct trial_user *u, unsigned from, unsigned to, int t) {
    double sum = 0;
    for (unsigned p = from; p < to; p++) sum += u->bytes[p][t];
    return sum;
}

/* The tier that has most to do for a request. Where reads and writes do not meet, of reads: writes are moves,
 * for which nobody waits. */
static int bottleneck_of(const struct forecast *f) {
    double most = 0;
    int at = 0;
    for (int t = 0; t < KVF_TIERS; t++) {
        double read = f->demand_s[t][KVF_DIR_READ], write = f->demand_s[t][KVF_DIR_WRITE];
        double busy = (f->full[t] ? fmax(read, write) : read + write) / fmax(f->servers[t], 1);
        if (busy > most) at = t;
        most = fmax(most, busy);
    }
    return at;
}

/* A request's demand on the bottleneck: the part of every request, and that of bytes of its user's own. */
struct shares {
    double shared_s, own_s_per_byte;
};

static struct shares shares_of(const struct forecast *f, uint64_t users, double requests) {
    int t = f->bottleneck;
    double own = 0, all = (double)f->base.bytes[t][KVF_DIR_READ], read_s = f->demand_s[t][KVF_DIR_READ];
    for (uint64_t u = 0; u < users; u++) own += read_bytes(&f->user[u], 0, TRIAL_PARTS, t);
    double part = all > 0 ? fmin(own / all, 1) : 0;
    return (struct shares){read_s * (1 - part) + (f->full[t] ? 0 : f->demand_s[t][KVF_DIR_WRITE]),
                           own > 0 ? read_s * part * requests / own : 0};
}

/* Time at the bottleneck for each second of demand: what a cycle has beside everything else. */
static double stretch_of(const struct forecast *f) {
    int t = f->bottleneck;
    double elsewhere_s = f->network.think_s + f->network.delay_s + f->in->queue_ms / 1e3;
    double demand_s = f->demand_s[t][KVF_DIR_READ] + (f->full[t] ? 0 : f->demand_s[t][KVF_DIR_WRITE]);
    for (int i = 0; i < KVF_TIERS; i++)
        if (i != t) elsewhere_s += f->demand_s[i][KVF_DIR_READ] + f->demand_s[i][KVF_DIR_WRITE];
    return demand_s > 0 ? fmax((f->in->users / f->per_s - elsewhere_s) / demand_s, 1) : 1;
}

void forecast_mix(struct forecast *f) {
    uint64_t users = (uint64_t)f->in->users;
    unsigned windows = TRIAL_PARTS, count = 0;
    double requests = 0;
    f->bottleneck = bottleneck_of(f);
    for (uint64_t u = 0; u < users && f->tried; u++) requests += asked(&f->user[u], 0, TRIAL_PARTS);
    if (!(requests > 0)) return;
    while (windows > 1 && requests < OF_EACH * (double)users * windows) windows /= 2;
    struct shares s = shares_of(f, users, requests);
    struct mix_class *c = mem_alloc(users * windows * sizeof *c);
    double stretch = stretch_of(f), kept = requests / f->requests; /* of the sample */
    for (unsigned w = 0, parts = TRIAL_PARTS / windows; w < windows; w++) {
        for (uint64_t u = 0; u < users; u++) {
            unsigned from = w * parts, to = from + parts;
            double n = asked(&f->user[u], from, to), all = fmax(n, 0.5) / kept;
            double cycle_s = f->in->length_s / windows / all,
                   own = read_bytes(&f->user[u], from, to, f->bottleneck);
            /* without a request in all that time it waited there */
            double demand_s = n > 0 ? s.shared_s + s.own_s_per_byte * own / n : cycle_s / stretch;
            c[count++] = (struct mix_class){w, cycle_s, demand_s};
        }
    }
    f->mix = mix_factor(c, count, stretch, 2);
    free(c);
}
