#include "base/clock.h"

#include <sched.h>
#include <sys/prctl.h>
#include <time.h>

static uint64_t clock_read(clockid_t id) {
    struct timespec ts;
    (void)clock_gettime(id, &ts);
    return (uint64_t)ts.tv_sec * KVF_NS_PER_S + (uint64_t)ts.tv_nsec;
}

uint64_t clock_now_ns(void) {
    return clock_read(CLOCK_MONOTONIC);
}

uint64_t clock_wall_ns(void) {
    return clock_read(CLOCK_REALTIME);
}

uint64_t clock_thread_cpu_ns(void) {
    return clock_read(CLOCK_THREAD_CPUTIME_ID);
}

int clock_thread_precise(void) {
    int before = prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0);
    clock_thread_slack(10 * (int)KVF_NS_PER_US);
    return before > 0 ? before : 0;
}

void clock_thread_slack(int slack_ns) {
    if (slack_ns > 0) prctl(PR_SET_TIMERSLACK, slack_ns, 0, 0, 0);
}

/* The run clock is a sequence lock. A resume changes both words; a reader that saw one old and one
 * new would be off by the whole pause, so it takes time and words again unless `seq` was even and
 * stood still around all three. Words are stored with release after `seq` became odd and loaded
 * with acquire before `seq` is read again: whoever sees a new word sees the odd number too. The
 * writer reads the time while `seq` is odd, hence after every reading of the state before and
 * before every reading of the state after: run time never runs backwards. */
struct reading {
    uint64_t now_ns, paused_at_ns, shift_ns;
};

static struct reading clock_reading(const struct run_clock *c) {
    for (;;) {
        struct reading r;
        uint64_t seq = atomic_load_explicit(&c->seq, memory_order_acquire);
        r.now_ns = clock_now_ns();
        r.paused_at_ns = atomic_load_explicit(&c->paused_at_ns, memory_order_acquire);
        r.shift_ns = atomic_load_explicit(&c->shift_ns, memory_order_acquire);
        if (!(seq & 1) && atomic_load_explicit(&c->seq, memory_order_relaxed) == seq) return r;
        (void)sched_yield();
    }
}

static void change_begin(struct run_clock *c) {
    atomic_fetch_add(&c->seq, 1);
}

static void change_end(struct run_clock *c) {
    atomic_fetch_add(&c->seq, 1);
}

void run_clock_virtual(struct run_clock *c) {
    run_clock_set(c, KVF_NS_PER_S);
}

void run_clock_set(struct run_clock *c, uint64_t t_ns) {
    atomic_store_explicit(&c->virtual_ns, t_ns, memory_order_relaxed);
}

uint64_t run_clock_real(const struct run_clock *c) {
    struct reading r = clock_reading(c);
    return (r.paused_at_ns ? r.paused_at_ns : r.now_ns) - r.shift_ns;
}

bool run_clock_paused(const struct run_clock *c) {
    return atomic_load_explicit(&c->paused_at_ns, memory_order_acquire) != 0;
}

void run_clock_pause(struct run_clock *c) {
    if (run_clock_paused(c)) return;
    change_begin(c);
    atomic_store_explicit(&c->paused_at_ns, clock_now_ns(), memory_order_release);
    change_end(c);
}

void run_clock_resume(struct run_clock *c) {
    if (!run_clock_paused(c)) return;
    change_begin(c);
    uint64_t pause = clock_now_ns() - atomic_load_explicit(&c->paused_at_ns, memory_order_relaxed);
    uint64_t shift = atomic_load_explicit(&c->shift_ns, memory_order_relaxed);
    atomic_store_explicit(&c->shift_ns, shift + pause, memory_order_release);
    atomic_store_explicit(&c->paused_at_ns, 0, memory_order_release);
    change_end(c);
}
