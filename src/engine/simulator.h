/* The event loop of a run on a virtual clock: arrivals, requests, operations and timers of the whole run,
 * on the control thread. Whatever can happen at a time happens; then the clock is set to the next time at
 * which anything will. At one time arrivals come first, then what ends, in the order in which it was begun:
 * nothing depends on the machine. Control thread only. */
#ifndef KVF_ENGINE_SIMULATOR_H
#define KVF_ENGINE_SIMULATOR_H

#include <stdbool.h>
#include <stdint.h>

/* How the virtual clock goes with the real one. */
struct simulator {
    double speed;            /* times real time; 0: as fast as it can */
    uint64_t from_ns;        /* run time ... */
    uint64_t from_real_ns;   /* ... and real time since when it has gone at that speed */
    uint64_t begun_real_ns;  /* real time of the run's start */
    uint64_t paused_real_ns; /* since when it stands still; 0: it does not */
    uint64_t pauses_ns;      /* real time of those that have ended */
    uint64_t still_ns;       /* the time at which the clock is, and since it came there: */
    uint64_t turns;          /* turns, and */
    uint64_t arrived;        /* requests that had arrived by the first look */
};

struct engine;
void simulator_begin(struct engine *e); /* sets the virtual clock to its beginning */
/* Goes on to that run time, but returns earlier when the control thread was woken, a few times in a second
 * of real time, so that it looks after its commands, and when the speed asks for a wait: then with the real
 * time to wait, else with 0. */
uint64_t simulator_run(struct engine *e, uint64_t until_ns);
void simulator_speed(struct engine *e, double speed); /* from now on */
void simulator_paused(struct engine *e, bool paused); /* the clock has been paused, or goes on */
double simulator_real_s(const struct engine *e);      /* real time so far, pauses excluded */

#endif
