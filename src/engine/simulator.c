#include "engine/simulator.h"

#include <stdio.h>

#include "base/units.h"
#include "engine/core.h"
#include "engine/pods/outages.h"
#include "engine/sampling/sampler.h"
#include "engine/sampling/together.h"

enum {
    LOOKS = 256,       /* times between looks at the real clock, where nobody waits for it */
    TURN_LOOKS = 16,   /* turns at one time between such looks */
    STILL = 1000000,   /* turns at one time after which it is not believed that time will go on */
    STILL_LOOKS = 256, /* turns at one time between looks at what has arrived */
    /* requests that arrived at one time, and more of them for each user who asks again at once */
    STILL_ARRIVED = 10000,
    STILL_EACH = 20
};
#define SLICE_NS       (50 * KVF_NS_PER_MS)
#define BEHIND_WAIT_NS (5 * KVF_NS_PER_MS)
/* Further behind its speed than this it does not try to make up for it. */
#define BEHIND_NS (200 * KVF_NS_PER_MS)

/* ---- real time ---- */

static void pace_from_here(struct engine *e) {
    e->control.simulator.from_ns = engine_now(e);
    e->control.simulator.from_real_ns = clock_now_ns();
}

void simulator_begin(struct engine *e) {
    e->control.simulator = (struct simulator){.speed = e->s->run.speed, .begun_real_ns = clock_now_ns()};
    pace_from_here(e);
}

void simulator_speed(struct engine *e, double speed) {
    e->control.simulator.speed = speed;
    pace_from_here(e);
}

void simulator_paused(struct engine *e, bool paused) {
    struct simulator *s = &e->control.simulator;
    uint64_t now_ns = clock_now_ns();
    if (!paused && s->paused_real_ns) s->pauses_ns += now_ns - s->paused_real_ns;
    s->paused_real_ns = paused ? now_ns : 0;
    pace_from_here(e);
}

double simulator_real_s(const struct engine *e) {
    const struct simulator *s = &e->control.simulator;
    uint64_t now_ns = s->paused_real_ns ? s->paused_real_ns : clock_now_ns();
    return (double)(now_ns - s->begun_real_ns - s->pauses_ns) / (double)KVF_NS_PER_S;
}

/* How long the clock may not be set to that time yet. */
static uint64_t pace_ns(struct engine *e, uint64_t run_ns) {
    struct simulator *s = &e->control.simulator;
    uint64_t gone_ns = clock_now_ns() - s->from_real_ns;
    double due_ns = (double)(run_ns - s->from_ns) / s->speed;
    if (due_ns > (double)gone_ns)
        return due_ns - (double)gone_ns > 1e18 ? SLICE_NS : (uint64_t)(due_ns - (double)gone_ns);
    if ((double)gone_ns - due_ns > (double)BEHIND_NS) pace_from_here(e);
    return 0;
}

/* ---- virtual time ---- */

/* Requests that take no time, one after the other: the clock would never be set forward. */
static void stands_still(struct engine *e) {
    char text[240], at[32];
    double s = (double)(engine_now(e) - e->control.sampler->zero_ns);
    snprintf(
        text, sizeof text,
        "the simulation stands still at %s: requests follow each other and take no time; give the users "
        "think times, the tiers a latency and room for an entry, engine.room_wait more than 0, or compute a "
        "time per token",
        units_duration_human(s, at, sizeof at));
    events_error(&e->events, text);
}

/* Rows of a trace come to an end; users go on asking, where their requests or their thoughts take no time. */
static bool is_still(struct engine *e, uint64_t now_ns) {
    struct simulator *s = &e->control.simulator;
    if (s->still_ns != now_ns) s->turns = 0;
    s->still_ns = now_ns;
    if (++s->turns >= STILL) return true;
    if (s->turns % STILL_LOOKS || workload_open_loop(e->dispatch.workload)) return false;
    if (s->turns == STILL_LOOKS) s->arrived = e->dispatch.arrived;
    return e->dispatch.arrived - s->arrived > STILL_ARRIVED + STILL_EACH * e->dispatch.users.active;
}

/* One turn of every pod that has something to do. One that did something has another turn, after arrivals:
 * before those that were called later, where there are others. */
static void workers_turn(struct engine *e, uint64_t now_ns) {
    uint32_t *due = e->control.simulator.due, n;
    bool any = false, alone = e->service.worker_count == 1;
    while (!any && (n = lineup_due(&e->service.lineup, now_ns, due, SIMULATOR_TURNS)) > 0) {
        for (uint32_t i = 0; i < n; i++) {
            struct worker *w = &e->service.workers[due[i]];
            bool did = worker_due(w, now_ns) && worker_turn(w, false);
            uint64_t next_ns = worker_next_ns(w);
            lineup_set(&e->service.lineup, due[i], next_ns);
            if (did && (!alone || worker_has_work(w) || next_ns <= now_ns))
                lineup_call(&e->service.lineup, due[i]);
            any = any || did;
        }
    }
}

/* When something is to be done here, messages apart. */
static uint64_t turn_next_ns(const struct engine *e) {
    uint64_t next = kvf_min(dispatch_next_ns(e), lineup_next_ns(&e->service.lineup));
    return kvf_min(next, outages_next_ns(e));
}

/* Everything that can happen now, and when something is to be done here next, messages apart; false when it
 * takes longer than a slice of real time. */
static bool instant(struct engine *e, uint64_t now_ns, uint64_t begun_ns, uint64_t *next_ns) {
    unsigned n = 1;
    do {
        if (is_still(e, now_ns)) {
            stands_still(e);
            *next_ns = turn_next_ns(e);
            return true;
        }
        if (n++ % TURN_LOOKS == 0 && clock_now_ns() - begun_ns > SLICE_NS) return false;
        if (outages_next_ns(e) <= now_ns) outages_due(e, now_ns);
        if (dispatch_next_ns(e) <= now_ns) dispatch_turn(e);
        workers_turn(e, now_ns);
    } while ((*next_ns = turn_next_ns(e)) <= now_ns);
    return true;
}

/* When something is to be done here. */
static uint64_t own_next_ns(const struct engine *e) {
    uint64_t next = turn_next_ns(e);
    return e->routes.shards ? kvf_min(next, shards_next_ns(e)) : next;
}

/* ---- windows of a fleet whose messages take time ---- */

static void messages(struct engine *e) {
    struct pod *ends = dispatch_messages(e);
    if (ends)
        outages_pod_goes(e, ends);
    else if (!farstore_messages(e))
        events_error(
            &e->events,
            "a message between a pod and the remote tier cannot be read; install one build on all hosts");
}

/* All that happens here before end_ns, after which the clock stands there. */
static void window(struct engine *e, uint64_t end_ns) {
    uint64_t now_ns, next, begun_ns = clock_now_ns();
    while (!atomic_load(&e->events.failed) && (now_ns = kvf_max(own_next_ns(e), engine_now(e))) < end_ns) {
        run_clock_set(&e->clock, now_ns);
        while (shards_next_ns(e) <= now_ns) messages(e);
        while (!instant(e, now_ns, begun_ns, &next)) {}
    }
    run_clock_set(&e->clock, end_ns);
}

/* Rank 0: the others have come to the end of the window too. False: the run ends. */
static bool window_end(struct engine *e) {
    while (!shards_replied(e))
        if (!together_wait(e)) return false;
    shards_gather(e);
    return true;
}

static uint64_t windows_lead(struct engine *e, uint64_t until_ns) {
    uint64_t begun_ns = clock_now_ns(), end_ns, wait_ns = 0;
    do {
        uint64_t from_ns = kvf_max(shards_from_ns(e, own_next_ns(e)), engine_now(e));
        end_ns = kvf_min(shards_end_ns(e, from_ns), until_ns);
        if (e->control.simulator.speed > 0)
            wait_ns = kvf_min(pace_ns(e, kvf_min(from_ns, until_ns)), SLICE_NS);
        if (wait_ns > 0) break;
        shards_begin(e, end_ns, end_ns == until_ns);
        window(e, end_ns);
        if (!window_end(e)) return 0;
    } while (end_ns < until_ns && !atomic_load(&e->events.woken) && clock_now_ns() - begun_ns < SLICE_NS);
    if (!shards_level(e)) { /* the run may end here, or be looked at */
        shards_begin(e, engine_now(e), true);
        (void)window_end(e);
    }
    return wait_ns;
}

static uint64_t windows_follow(struct engine *e, uint64_t until_ns) {
    uint64_t begun_ns = clock_now_ns(), end_ns;
    do {
        if (!shards_begun(e, &end_ns) && !(together_wait(e) && shards_begun(e, &end_ns))) return 0;
        window(e, end_ns);
        shards_reply(e, own_next_ns(e));
    } while (end_ns < until_ns && clock_now_ns() - begun_ns < SLICE_NS);
    return 0;
}

/* A database that is slower than the simulation is waited for, so that no interval is lost. */
uint64_t simulator_run(struct engine *e, uint64_t until_ns) {
    uint64_t begun_ns = clock_now_ns();
    if (e->setup->fifo && fifo_behind(e->setup->fifo)) return BEHIND_WAIT_NS;
    if (e->routes.shards && !e->dispatch.on) return 0; /* nothing is prepared */
    if (shards_served(e)) return windows_follow(e, until_ns);
    if (e->routes.shards) return windows_lead(e, until_ns);
    for (unsigned n = 1;; n++) {
        uint64_t next;
        if (!instant(e, engine_now(e), begun_ns, &next)) return 0;
        if (atomic_load(&e->events.woken)) return 0;
        bool reached = next > until_ns;
        if (reached) next = until_ns;
        if (next == KVF_NEVER) return 0;
        uint64_t wait_ns = e->control.simulator.speed > 0 ? pace_ns(e, next) : 0;
        if (wait_ns > 0) return wait_ns < SLICE_NS ? wait_ns : SLICE_NS;
        run_clock_set(&e->clock, next);
        if (reached) return 0;
        if (n % LOOKS == 0 && clock_now_ns() - begun_ns > SLICE_NS) return 0;
    }
}
