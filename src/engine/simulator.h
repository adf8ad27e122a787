/* The event loop of a run on a virtual clock: arrivals, requests, operations and timers of the whole run,
 * on the control thread. All events of a time are handled; then the clock is set to the time of the next
 * event. At one time arrivals come first, then endings in the order of their beginnings, so that nothing
 * depends on the machine. Control thread only. */
#ifndef KVF_ENGINE_SIMULATOR_H
#define KVF_ENGINE_SIMULATOR_H

#include <stdbool.h>
#include <stdint.h>

/* The relation of the virtual clock to the real one. */
enum { SIMULATOR_TURNS = 64 }; /* of pods between arrivals */

struct simulator {
    double speed;                  /* times real time; 0: as fast as it can */
    uint64_t from_ns;              /* run time ... */
    uint64_t from_real_ns;         /* ... and real time since when it has gone at that speed */
    uint64_t begun_real_ns;        /* real time of the run's start */
    uint64_t paused_real_ns;       /* since when it stands still; 0: it does not */
    uint64_t pauses_ns;            /* real time of those that have ended */
    uint64_t still_ns;             /* the time at which the clock is, and since it came there: */
    uint64_t turns;                /* turns, and */
    uint64_t arrived;              /* requests that had arrived by the first look */
    uint32_t due[SIMULATOR_TURNS]; /* pods that have one */
};

struct engine;
void simulator_begin(struct engine *e); /* sets the virtual clock to its beginning */
/* Simulates up to a run time. Returns earlier when the control thread was woken, and a few times a second of
 * real time so that commands are handled. Returns the real time to wait, in ns, where the speed requires a
 * wait, else 0. */
uint64_t simulator_run(struct engine *e, uint64_t until_ns);
void simulator_speed(struct engine *e, double speed); /* from now on */
void simulator_paused(struct engine *e, bool paused); /* the clock has been paused, or goes on */
double simulator_real_s(const struct engine *e);      /* real time so far, pauses excluded */

#endif
