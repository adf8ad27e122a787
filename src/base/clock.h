/* Time as uint64_t nanoseconds of CLOCK_MONOTONIC, and the run clock. The run clock stands still while a run
 * is paused, so paused time is in no duration, rate or latency; in simulate mode the simulator sets it. */
#ifndef KVF_BASE_CLOCK_H
#define KVF_BASE_CLOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define KVF_NS_PER_US UINT64_C(1000)
#define KVF_NS_PER_MS UINT64_C(1000000)
#define KVF_NS_PER_S  UINT64_C(1000000000)
#define KVF_NEVER     UINT64_MAX /* a deadline that does not come */

uint64_t clock_now_ns(void);        /* CLOCK_MONOTONIC, any thread */
uint64_t clock_wall_ns(void);       /* CLOCK_REALTIME since the epoch, any thread */
uint64_t clock_thread_cpu_ns(void); /* CPU time of the calling thread */

/* Timers of the calling thread ring at most 10 us late instead of Linux's 50 (PR_SET_TIMERSLACK). Returns the
 * slack before, in ns, for clock_thread_slack(); 0: the kernel tells none. */
int clock_thread_precise(void);
/* Gives the calling thread a slack of so many ns; 0 changes nothing. */
void clock_thread_slack(int slack_ns);

/* paused_at is the monotonic time at which the clock was stopped, 0 while it runs; shift is the
 * sum of all pauses. run time = (paused_at ? paused_at : now) - shift. One thread pauses and
 * resumes; any thread reads. A reader that races with pause or resume may be off by the length of
 * the race, never by that of the pause: `seq` tells it to read again. Zeroed, the clock runs.
 *
 * A virtual clock shows the time it was last set to; nothing else moves it. Pausing it only tells the
 * simulator to stop setting it. It begins at one second, so that no time of a run is 0. */
struct run_clock {
    _Atomic uint64_t virtual_ns; /* 0: not virtual */
    _Atomic uint64_t paused_at_ns;
    _Atomic uint64_t shift_ns;
    _Atomic uint64_t seq; /* odd while the two above change */
};

/* Run time now, in ns. Any thread. */
uint64_t run_clock_real(const struct run_clock *c); /* not for a virtual clock */
static inline uint64_t run_clock_now(const struct run_clock *c) {
    uint64_t set_ns = atomic_load_explicit(&c->virtual_ns, memory_order_relaxed);
    return set_ns != 0 ? set_ns : run_clock_real(c);
}
void run_clock_virtual(struct run_clock *c);            /* makes it virtual, before anybody reads it */
void run_clock_set(struct run_clock *c, uint64_t t_ns); /* a virtual one, never back; simulator thread only */
static inline bool run_clock_is_virtual(const struct run_clock *c) {
    return atomic_load_explicit(&c->virtual_ns, memory_order_relaxed) != 0;
}
bool run_clock_paused(const struct run_clock *c); /* any thread */
void run_clock_pause(struct run_clock *c);        /* one thread pauses and resumes; twice is once */
void run_clock_resume(struct run_clock *c);

#endif
