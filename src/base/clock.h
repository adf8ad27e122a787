/* Time as uint64_t nanoseconds of CLOCK_MONOTONIC, and the run clock, which stands still while a
 * run is paused so that paused time is in no duration, rate or latency, or which is set by whoever
 * simulates the run. */
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

/* paused_at is the monotonic time at which the clock was stopped, 0 while it runs; shift is the
 * sum of all pauses. run time = (paused_at ? paused_at : now) - shift. One thread pauses and
 * resumes; any thread reads. Run times compare with each other and, shifted, with the monotonic
 * clock: run_clock_to_mono(). A reader that races with pause or resume may be off by the length of
 * the race, never by that of the pause: `seq` tells it to read again. Zeroed, the clock runs.
 *
 * A virtual clock shows what it was last set to, and nothing else moves it; a pause is only a word to
 * whoever sets it. It begins at a second, so that no time of a run is 0. */
struct run_clock {
    _Atomic uint64_t virtual_ns; /* 0: not virtual */
    _Atomic uint64_t paused_at_ns;
    _Atomic uint64_t shift_ns;
    _Atomic uint64_t seq; /* odd while the two above change */
};

uint64_t run_clock_real(const struct run_clock *c); /* now, of one that is not virtual */
static inline uint64_t run_clock_now(const struct run_clock *c) {
    uint64_t set_ns = atomic_load_explicit(&c->virtual_ns, memory_order_relaxed);
    return set_ns != 0 ? set_ns : run_clock_real(c);
}
void run_clock_virtual(struct run_clock *c);            /* before anybody reads it */
void run_clock_set(struct run_clock *c, uint64_t t_ns); /* of a virtual one, never back; one thread */
static inline bool run_clock_is_virtual(const struct run_clock *c) {
    return atomic_load_explicit(&c->virtual_ns, memory_order_relaxed) != 0;
}
bool run_clock_paused(const struct run_clock *c);
void run_clock_pause(struct run_clock *c);
void run_clock_resume(struct run_clock *c);
/* The monotonic time of run time t_ns if no further pause comes; in a pause, if it ended now.
 * KVF_NEVER stays KVF_NEVER. */
uint64_t run_clock_to_mono(const struct run_clock *c, uint64_t t_ns);

#endif
