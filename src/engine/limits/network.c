#include "engine/limits/network.h"

#include <math.h>
#include <stdlib.h>

#include "base/buf.h"

double network_bound(const struct network *n) {
    double least = INFINITY;
    for (unsigned k = 0; k < n->stations; k++)
        if (n->station[k].demand_s > 0) least = fmin(least, n->station[k].servers / n->station[k].demand_s);
    return least;
}

/* Throughput with 1 to `most` requests in service, by the number of them. Of a station with several servers a
 * part of the demand is a queue that is as many times as fast, the rest a delay. */
static void in_service(const struct network *n, uint64_t most, double *per_s) {
    double queue[NETWORK_STATIONS] = {0}, bound = network_bound(n);
    for (uint64_t i = 1; i <= most; i++) {
        double wait[NETWORK_STATIONS], all = n->delay_s;
        for (unsigned k = 0; k < n->stations; k++) {
            const struct network_station *s = &n->station[k];
            double fast = s->demand_s / s->servers;
            wait[k] = fast * (1 + n->queueing * queue[k]);
            all += wait[k] + s->demand_s - fast;
        }
        per_s[i] = all > 0 ? fmin((double)i / all, bound) : bound;
        for (unsigned k = 0; k < n->stations; k++) queue[k] = per_s[i] * wait[k];
    }
}

/* Below this the exponential function is zero: nothing is added. */
#define GONE (-746.0)

/* The rest of the system as one server whose speed depends on how many are there; users come to it at the
 * rate at which those outside ask. Log weights: thousands of users would overflow. Once fewer come than go,
 * weights only fall, as more inside are served no more slowly: behind the first that is gone all are. */
static double with_thinking(const struct network *n, uint64_t users, uint64_t most, const double *per_s) {
    double *weight = mem_alloc((users + 1) * sizeof *weight), top = 0, sum = 0, done = 0;
    uint64_t last = users;
    weight[0] = 0;
    for (uint64_t i = 1; i <= last; i++) {
        double rate = per_s[i < most ? i : most], asks = (double)(users - i + 1) / n->think_s;
        weight[i] = weight[i - 1] + log(asks / rate);
        top = fmax(top, weight[i]);
        if (asks < rate && weight[i] - top < GONE) last = i;
    }
    for (uint64_t i = 0; i <= last; i++) {
        if (weight[i] - top < GONE) continue;
        double p = exp(weight[i] - top);
        sum += p;
        done += i > 0 ? p * per_s[i < most ? i : most] : 0;
    }
    free(weight);
    return done / sum;
}

static double whole_users(const struct network *n, uint64_t users) {
    uint64_t most = n->slots > 0 && n->slots < users ? n->slots : users;
    if (users == 0) return 0;
    double *per_s = mem_zalloc(most + 1, sizeof *per_s);
    in_service(n, most, per_s);
    double x = !(n->think_s > 0) ? per_s[most] : with_thinking(n, users, most, per_s);
    free(per_s);
    return x;
}

/* A mean number of users lies between two whole ones. */
double network_throughput(const struct network *n) {
    enum { USERS_MOST = 100000 };
    double users = fmin(fmax(n->users, 0), USERS_MOST), low = floor(users);
    double x = whole_users(n, (uint64_t)low);
    return users > low ? x + (users - low) * (whole_users(n, (uint64_t)low + 1) - x) : x;
}

void network_fit(struct network *n, double per_s) {
    enum { STEPS = 40 };
    n->delay_s = 0;
    n->queueing = 1;
    double low = 0, high = 1;
    if (network_throughput(n) < per_s) { /* less waiting than of strangers */
        for (int i = 0; i < STEPS; i++) {
            n->queueing = (low + high) / 2;
            *(network_throughput(n) < per_s ? &high : &low) = n->queueing;
        }
        return;
    }
    high = n->users / per_s;
    for (int i = 0; i < STEPS; i++) {
        n->delay_s = (low + high) / 2;
        *(network_throughput(n) < per_s ? &high : &low) = n->delay_s;
    }
}
