/* A closed queueing network of a run's resources: the throughput for a given number of users (mean value
 * analysis: Reiser, Lavenberg, JACM 27(2), 1980; several servers: Seidmann, Schweitzer, Shalev-Oren, 1987;
 * slots as a station of their own by flow equivalence: Chandy, Herzog, Woo, 1975). Pure functions. Any
 * thread. */
#ifndef KVF_ENGINE_LIMITS_NETWORK_H
#define KVF_ENGINE_LIMITS_NETWORK_H

#include <stdint.h>

enum { NETWORK_STATIONS = 12 };
struct network_station {
    double demand_s; /* of a request, of all its servers together */
    double servers;  /* at least 1 */
};
struct network {
    struct network_station station[NETWORK_STATIONS];
    unsigned stations;
    double delay_s;  /* of a request in service, beside the stations: others do not lengthen it */
    double queueing; /* 1: exponential, 0: no waiting; the share of others that a request waits for */
    uint64_t slots;  /* requests in service at most; 0: no limit */
    double think_s;  /* between an answer and the next question */
    double users;
};

/* Requests per second. */
double network_throughput(const struct network *n);
/* The most that any number of users gets. */
double network_bound(const struct network *n);
/* Sets delay_s, or where the stations alone are slower than what was measured `queueing`, so that the network
 * gives that throughput. */
void network_fit(struct network *n, double per_s);

#endif
