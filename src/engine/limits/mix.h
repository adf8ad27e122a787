/* How users who differ change the mix of requests. A queueing network with one class of requests keeps their
 * mix: each asks for the mean. Where some users wait because their entries lie in the slowest tier, a faster
 * tier lets these make more requests, and the mean demand rises. Here each user is a class of its own, and
 * one station queues (approximate mean value analysis: Bard, 1979; Schweitzer, 1979). Pure functions. Any
 * thread. */
#ifndef KVF_ENGINE_LIMITS_MIX_H
#define KVF_ENGINE_LIMITS_MIX_H

/* One user in one part of the run. */
struct mix_class {
    unsigned window; /* the part; classes of one part follow each other */
    double cycle_s;  /* from one request to the next, above 0 */
    double demand_s; /* of a request on the station */
};

/* Throughput with a station that is `faster` times as fast, as a multiple of what as many users of the mean
 * would have: 1 where all are alike, and without classes. `stretch` is the time that a mean request spends at
 * the station for each second of its demand: 1 without a queue. */
double mix_factor(const struct mix_class *c, unsigned count, double stretch, double faster);

#endif
