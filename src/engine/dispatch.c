#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/units.h"
#include "engine/core.h"
#include "engine/move/crew.h"
#include "engine/pipeline/sample.h"
#include "engine/pods/away.h"
#include "engine/pods/parcel.h"
#include "engine/sampling/sampler.h"
#include "tier/station.h"

enum { PREPARED_AHEAD = 2, ARRIVALS_PER_HOLD = 1024, LANES_AT_ONCE = 1024 };
/* Between holds, when arrivals come faster than they can be taken. */
#define HOLDS_APART_NS (50 * KVF_NS_PER_US)
/* A user who found the queue full pauses before the next try. */
#define DROPPED_PAUSE_NS KVF_NS_PER_MS

/* ---- arrivals ---- */

static bool closed_loop(const struct engine *e) {
    return !workload_open_loop(e->workload) && e->s->workload.arrival.process != KVF_ARRIVAL_PACED;
}

static void generator_earlier(struct engine *e, uint64_t at_ns) {
    if (at_ns < e->generator_wake_ns) dispatch_wake(e);
}

static void lateness_note(struct engine *e, const struct flight *f, uint64_t now) {
    histogram_record(e->lateness, now > f->req.arrival_ns ? now - f->req.arrival_ns : 0);
}

/* A request that came from elsewhere has ended, or found the queue full. */
static void guest_answer(struct engine *e, const struct flight *f, bool dropped) {
    if (e->shards)
        shards_answer(e, f, dropped);
    else
        away_answer(e, f, dropped);
}

/* A request has arrived; false when the queue was full and it was dropped. Slots are filled when all that
 * arrive together have, the most urgent first; but nobody is dropped while one is free. */
static bool arrive_here(struct engine *e, struct flight *f, uint64_t now) {
    struct class_counts *k = &e->klass[f->req.klass];
    if (f->again) {
        e->moved_on--;
    } else {
        e->arrived++;
        k->arrived++;
        if (!e->shards) lateness_note(e, f, now);
    }
    const struct queue *q = &pod_of(e, f)->queue;
    if (q->count >= q->limit) slots_fill(e);
    if (!slots_enqueue(e, f)) {
        if (f->guest)
            guest_answer(e, f, true);
        else
            pods_done(e, f, false);
        e->dropped++;
        k->dropped++;
        flights_release(&e->flights, f);
        return false;
    }
    slots_count_time(e, now);
    k->queued++;
    if (!f->again)
        k->waiting_ns += e->counted_ns - f->req.arrival_ns; /* also before it was seen to have come */
    return true;
}

/* A request is counted where it is served. The sample of accesses is of all pods, and is told in the order of
 * routing where no pod knows when others serve theirs. */
static bool arrive(struct engine *e, struct flight *f, uint64_t now) {
    e->sight.used = true;
    pods_route(e, f);
    if (e->shards) {
        lateness_note(e, f, now);
        sample_flight(e->pods[0].pipeline.sample, e->s, f, now);
        shards_send(e, f);
        return true;
    }
    return away_send(e, f) || arrive_here(e, f, now);
}

static void user_ends(struct engine *e, uint64_t user) {
    e->users.state[user] = USERS_ENDED;
    if (user >= WORKLOAD_LANES) e->lanes--;
    if (user < e->users.active) e->users_ended++;
}

/* The user asks again at that time. One that has asked its last ends now: a run does not wait for
 * thoughts that lead to nothing. */
static void user_goes_on(struct engine *e, uint64_t user, uint64_t at_ns) {
    bool more = workload_more(e->workload, user);
    follow_next(e, user, more ? at_ns : KVF_NEVER);
    if (more)
        users_schedule(&e->users, user, at_ns);
    else
        user_ends(e, user);
}

/* Lanes started by a response go on independently from here. */
static void lanes_begin(struct engine *e, uint64_t user, uint64_t now) {
    uint64_t lane, delay_ns;
    while (workload_spawned(e->workload, user, &lane, &delay_ns)) {
        users_grow(&e->users, (lane | (LANES_AT_ONCE - 1)) + 1);
        users_schedule(&e->users, lane, now + delay_ns);
        e->lanes++;
        generator_earlier(e, now + delay_ns);
    }
}

/* A user's timer rang: it asks its next request. */
static void user_asks(struct engine *e, uint64_t user, uint64_t at_ns, uint64_t now) {
    e->users.state[user] = USERS_IDLE;
    if (user >= e->users.active && user < WORKLOAD_LANES) return;
    struct flight *f = flights_new(&e->flights);
    if (workload_next(e->workload, user, &f->req) == WORKLOAD_END) {
        user_ends(e, user);
        flights_release(&e->flights, f);
        return;
    }
    f->req.arrival_ns = at_ns;
    bool queued = arrive(e, f, now);
    if (queued && closed_loop(e)) {
        e->users.state[user] = USERS_ASKING;
        return;
    }
    lanes_begin(e, user, closed_loop(e) ? now : at_ns);
    uint64_t think = workload_think_ns(e->workload, user);
    if (!closed_loop(e))
        user_goes_on(e, user, at_ns + think);
    else
        user_goes_on(e, user, now + (think > DROPPED_PAUSE_NS ? think : DROPPED_PAUSE_NS));
}

/* In a simulation: a thread that sleeps until a time sees it later, as measured; not twice as late by the
 * same. */
static uint64_t late_ns(const struct engine *e) {
    return e->sight.late_ns;
}

static void late_draw(struct engine *e) {
    if (!engine_is_virtual(e) || !e->sight.used) return;
    double factor = station_draw(&e->s->engine.timer_spread, &e->sight.rng);
    e->sight.late_ns = (uint64_t)((double)e->s->engine.timer_late_ns * factor);
    e->sight.used = false;
}

/* Without delays (speed-up 0) rows arrive as fast as they are served: one per slot waits, if the queue holds
 * as many. */
static bool row_is_due(const struct engine *e, uint64_t now) {
    if (!workload_unpaced(e->workload)) return e->begin_ns + e->next_row->req.arrival_ns + late_ns(e) <= now;
    return e->queued + e->away < e->slots * e->s->fleet.pods && e->queued < e->s->engine.queue_limit;
}

/* A part of what is due at a time: who needs the lock meanwhile gets it. The next row is read by then,
 * so that the generator knows when to come back. Whether there is more that is due. */
static bool rows_arrive(struct engine *e, uint64_t now) {
    for (int n = 0; !e->source_ended && !e->routing_ended; n++) {
        if (!e->next_row) {
            struct flight *f = flights_new(&e->flights);
            if (workload_next(e->workload, 0, &f->req) == WORKLOAD_END) {
                e->source_ended = true;
                flights_release(&e->flights, f);
                return false;
            }
            e->next_row = f;
        }
        if (!row_is_due(e, now)) return false;
        if (n == ARRIVALS_PER_HOLD) return true;
        struct flight *f = e->next_row;
        e->next_row = NULL;
        f->req.arrival_ns = workload_unpaced(e->workload) ? now : e->begin_ns + f->req.arrival_ns;
        arrive(e, f, now);
    }
    return false;
}

static uint64_t next_arrival_ns(const struct engine *e) {
    if (!e->arrivals_on) return KVF_NEVER;
    uint64_t late = late_ns(e), next = users_next_ns(&e->users);
    if (!workload_open_loop(e->workload)) return next < KVF_NEVER - late ? next + late : KVF_NEVER;
    if (!e->next_row) return KVF_NEVER;
    if (workload_unpaced(e->workload))
        return row_is_due(e, 0) ? 0 : KVF_NEVER; /* the end of one lets the next in */
    return e->begin_ns + e->next_row->req.arrival_ns + late;
}

/* Likewise. */
static bool arrivals_due(struct engine *e) {
    uint64_t now = engine_now(e), seen = now - kvf_min(late_ns(e), now), user, at_ns, next;
    if (workload_open_loop(e->workload)) return rows_arrive(e, now);
    for (int n = 0; users_next_ns(&e->users) <= seen; n++) {
        if (n == ARRIVALS_PER_HOLD) return true;
        users_due(&e->users, seen, &user, &at_ns);
        if (users_next(&e->users, &next)) { /* memory comes meanwhile */
            workload_soon(e->workload, next);
            users_soon(&e->users, next);
        }
        user_asks(e, user, at_ns, now);
    }
    return false;
}

static void workload_done_check(struct engine *e) {
    uint64_t active = e->users.active;
    bool ended = workload_open_loop(e->workload) ? e->source_ended : active > 0 && e->users_ended >= active;
    if (!e->arrivals_on || !ended || e->lanes > 0 || e->in_service + e->queued + e->away > 0) return;
    if (!atomic_exchange(&e->workload_done, true)) engine_wake_control(e);
}

/* A request that has been counted as arrived goes to another pod. Where the queue is full it is dropped, and
 * a user who waits for its answer goes on. */
static void route_again(struct engine *e, struct flight *f, uint64_t now) {
    uint64_t user = workload_own(e->workload, f->req.user);
    pods_done(e, f, false);
    pods_route(e, f);
    f->again = true;
    e->moved_on++;
    if (e->shards)
        shards_send(e, f);
    else if (!away_send(e, f) && !arrive_here(e, f, now) && closed_loop(e))
        user_goes_on(e, user, now + DROPPED_PAUSE_NS);
}

uint64_t dispatch_reroute(struct engine *e, struct pod *p) {
    struct flight *f;
    uint64_t n = 0, now = engine_now(e);
    pthread_mutex_lock(&e->queue_lock);
    slots_count_time(e, now);
    while ((f = queue_pop(&p->queue)) != NULL) {
        e->queued--;
        e->klass[f->req.klass].queued--;
        n++;
        if (!f->guest) {
            route_again(e, f, now);
            continue;
        }
        if (e->shards)
            shards_back(e, f);
        else
            away_back(e, f);
        flights_release(&e->flights, f);
    }
    slots_fill(e);
    pthread_mutex_unlock(&e->queue_lock);
    return n;
}

/* ---- the generator ---- */

/* Until the next arrival. With more due than it may take at a time it waits a little all the same: it would
 * have the lock again before anybody who waits for it has woken up. */
static void generator_sleep(struct engine *e, uint64_t next_ns, bool more) {
    struct pollfd p = {.fd = e->generator_fd, .events = POLLIN};
    struct timespec limit, *timeout = NULL;
    if (next_ns != KVF_NEVER && !run_clock_paused(&e->clock)) {
        uint64_t now = engine_now(e), wait = next_ns > now ? next_ns - now : more ? HOLDS_APART_NS : 0;
        limit = (struct timespec){(time_t)(wait / KVF_NS_PER_S), (long)(wait % KVF_NS_PER_S)};
        timeout = &limit;
    }
    if (ppoll(&p, 1, timeout, NULL) > 0) {
        uint64_t count;
        (void)!read(e->generator_fd, &count, sizeof count);
    }
}

/* With queue_lock held: what is due now; whether there is more of it. */
static bool generate(struct engine *e) {
    if (!e->arrivals_on || e->routing_ended || run_clock_paused(&e->clock)) return false;
    bool more = arrivals_due(e);
    slots_fill(e);
    workload_done_check(e);
    ingest_due(e, engine_now(e));
    return more;
}

static uint64_t generator_next_ns(const struct engine *e) {
    uint64_t next = next_arrival_ns(e), document = ingest_next_ns(e);
    return document < next ? document : next;
}

void dispatch_turn(struct engine *e) {
    pthread_mutex_lock(&e->queue_lock);
    e->generator_due = generate(e);
    late_draw(e);
    pthread_mutex_unlock(&e->queue_lock);
}

uint64_t dispatch_next_ns(const struct engine *e) {
    return e->generator_due ? 0 : generator_next_ns(e);
}

static void *generator_main(void *arg) {
    struct engine *e = arg;
    pthread_setname_np(pthread_self(), "kvfall-arrivals");
    clock_thread_precise();
    while (!atomic_load(&e->stopping)) {
        pthread_mutex_lock(&e->queue_lock);
        bool more = generate(e);
        uint64_t next = e->generator_wake_ns = generator_next_ns(e);
        pthread_mutex_unlock(&e->queue_lock);
        generator_sleep(e, next, more);
    }
    return NULL;
}

/* ---- preparation ---- */

/* Entries of the step under way, so many that no slot waits for the next. */
static void prepare_push(struct engine *e) {
    while (e->step && e->prepare.out < PREPARED_AHEAD * e->slots && e->queued < e->s->engine.queue_limit) {
        struct flight *f = flights_new(&e->flights);
        f->internal = true;
        f->req.kind = REQUEST_WRITE;
        f->req.prompt = REQUEST_NO_PROMPT;
        f->req.id = f->req.arrival_ns = e->prepare.made;
        if (!e->step->next(e, f)) {
            flights_release(&e->flights, f);
            break;
        }
        slots_enqueue(e, f);
        e->prepare.made++;
        e->prepare.made_bytes += f->bytes;
        e->prepare.out_bytes += f->bytes;
        e->prepare.out++;
    }
    slots_fill(e);
}

static void prepared_one(struct engine *e, const struct flight *f) {
    e->prepare.out--;
    e->prepare.out_bytes -= f->bytes;
    if (!f->failed && !f->refused) e->prepare.done_bytes += f->bytes;
    prepare_push(e);
    if (e->prepare.out == 0) engine_wake_control(e);
}

bool dispatch_prepare(struct engine *e, const struct prepare_step *step, char *what, size_t len,
                      double *share) {
    pthread_mutex_lock(&e->queue_lock);
    e->step = step;
    prepare_push(e);
    bool more = e->prepare.out > 0;
    *share = step->progress(e, what, len);
    pthread_mutex_unlock(&e->queue_lock);
    return more;
}

void dispatch_prepare_end(struct engine *e) {
    pthread_mutex_lock(&e->queue_lock);
    e->step = NULL;
    pthread_mutex_unlock(&e->queue_lock);
}

/* ---- completions ---- */

static double ended_ms(const struct engine *e, const struct flight *f) {
    uint64_t now = engine_now(e);
    return now > f->req.arrival_ns ? (double)(now - f->req.arrival_ns) / (double)KVF_NS_PER_MS : 0;
}

/* Where its user is, who goes on; of one that was dropped, after a pause at least. */
static void request_ended(struct engine *e, struct flight *f, bool served) {
    uint64_t now = engine_now(e), user = workload_own(e->workload, f->req.user);
    pods_done(e, f, served);
    if (served) users_count(&e->users, f->req.user, f->failed, ended_ms(e, f));
    if (served) follow_ended(e, f, now);
    if (closed_loop(e)) {
        lanes_begin(e, user, now);
        uint64_t think = workload_think_ns(e->workload, user);
        uint64_t at = now + (served || think > DROPPED_PAUSE_NS ? think : DROPPED_PAUSE_NS);
        user_goes_on(e, user, at);
        generator_earlier(e, at);
    } else if (workload_unpaced(e->workload)) {
        rows_arrive(e, now);
    }
}

void dispatch_guest(struct engine *e, uint64_t number, const void *bytes, size_t len) {
    if (atomic_load(&e->stopping)) return;
    pthread_mutex_lock(&e->queue_lock);
    struct flight *f = flights_new(&e->flights);
    bool taken = away_take(e, f, number, bytes, len);
    if (!taken)
        flights_release(&e->flights, f);
    else if (arrive_here(e, f, engine_now(e)))
        slots_fill(e);
    pthread_mutex_unlock(&e->queue_lock);
    if (!taken)
        engine_error(e, "a request that rank 0 sent here cannot be read; install one build on all hosts");
}

/* One that comes back unserved after the last reading of the measured part is sent nowhere: it is still on
 * its way. */
static void answered(struct engine *e, struct flight *f, const struct away_answer *a) {
    if (a->back && e->routing_ended) return;
    e->away--;
    f->away = false;
    if (a->back) {
        if (!e->shards) e->on_way--;
        e->moved_on--; /* for route_again(): that rank has it */
        route_again(e, f, engine_now(e));
        return;
    }
    f->hit_blocks = a->hit_blocks;
    f->failed = a->failed;
    request_ended(e, f, !a->dropped);
    flights_release(&e->flights, f);
}

void dispatch_answer(struct engine *e, unsigned from, uint64_t number, const void *bytes, size_t len) {
    struct away_answer a = {0};
    if (atomic_load(&e->stopping)) return;
    if (len == sizeof a) memcpy(&a, bytes, sizeof a);
    pthread_mutex_lock(&e->queue_lock);
    struct flight *f = len == sizeof a ? flights_at(&e->flights, number) : NULL;
    bool expected = f && f->away && f->pod == from && f->req.id == a.request;
    if (expected) {
        answered(e, f, &a);
        slots_fill(e);
        workload_done_check(e);
    }
    pthread_mutex_unlock(&e->queue_lock);
    if (!expected)
        engine_error(e, "an answer came to a request that was not sent; install one build on all hosts");
}

static bool message_comes(struct engine *e, const struct shards_message *m, uint64_t now) {
    struct flight *f;
    if (m->answer) {
        struct away_answer a = {
            .hit_blocks = m->hit_blocks, .failed = m->failed, .dropped = m->dropped, .back = m->back};
        if (!(f = flights_at(&e->flights, m->number)) || !f->away) return false;
        answered(e, f, &a);
        return true;
    }
    f = flights_new(&e->flights);
    if (parcel_unpack(f, m->bytes, m->len) == 0) {
        flights_release(&e->flights, f);
        return false;
    }
    f->guest = (uint32_t)m->number;
    (void)arrive_here(e, f, now);
    return true;
}

struct pod *dispatch_messages(struct engine *e) {
    struct shards_message m;
    uint64_t now = engine_now(e);
    struct pod *ends = NULL;
    bool whole = true;
    pthread_mutex_lock(&e->queue_lock);
    while (!ends && shards_due(e, now, &m)) {
        if (m.ends)
            ends = &e->pods[m.pod - e->pod_first];
        else
            whole = message_comes(e, &m, now) && whole;
    }
    slots_fill(e);
    workload_done_check(e);
    pthread_mutex_unlock(&e->queue_lock);
    if (!whole)
        engine_error(e, "a message between routers and pods cannot be read; install one build on all hosts");
    return ends;
}

void dispatch_done(struct engine *e, struct worker *w, struct flight *f) {
    pthread_mutex_lock(&e->queue_lock);
    if (ingest_took(e, f)) {
        pthread_mutex_unlock(&e->queue_lock);
        return;
    }
    slots_leave(w, f);
    if (f->internal) {
        prepared_one(e, f);
    } else {
        away_moved_tell(e);
        if (e->shards && !f->failed) pods_count_done(pod_of(e, f), f);
        if (f->guest)
            guest_answer(e, f, false);
        else
            request_ended(e, f, true);
    }
    flights_release(&e->flights, f);
    slots_fill(e);
    workload_done_check(e);
    pthread_mutex_unlock(&e->queue_lock);
}

/* ---- control ---- */

static void users_begin(struct engine *e, uint64_t from, uint64_t to, uint64_t now) {
    for (uint64_t u = from; u < to; u++)
        if (e->users.state[u] == USERS_IDLE)
            user_goes_on(e, u, now + workload_first_delay_ns(e->workload, u));
}

void dispatch_begin_arrivals(struct engine *e, uint64_t from_ns) {
    pthread_mutex_lock(&e->queue_lock);
    e->begin_ns = from_ns;
    e->arrivals_on = true;
    if (!workload_open_loop(e->workload)) {
        users_grow(&e->users, e->users.active);
        users_begin(e, 0, e->users.active, e->begin_ns);
    }
    pthread_mutex_unlock(&e->queue_lock);
    dispatch_wake(e);
}

void dispatch_set_users(struct engine *e, uint64_t users) {
    pthread_mutex_lock(&e->queue_lock);
    if (!workload_open_loop(e->workload)) {
        workload_grow_users(e->workload, users);
        users_grow(&e->users, users);
        e->users.active = users;
        e->users_ended = 0;
        for (uint64_t u = 0; u < users; u++) e->users_ended += e->users.state[u] == USERS_ENDED;
        if (e->arrivals_on) users_begin(e, 0, users, engine_now(e));
    }
    pthread_mutex_unlock(&e->queue_lock);
    dispatch_wake(e);
}

void dispatch_wake(struct engine *e) {
    uint64_t one = 1;
    if (engine_is_virtual(e))
        e->generator_due = true;
    else
        (void)!write(e->generator_fd, &one, sizeof one);
}

void dispatch_init(struct engine *e) {
    pthread_mutex_init(&e->queue_lock, NULL);
    users_init(&e->users);
    e->slots = e->s->engine.slots;
    e->generator_fd = -1;
    e->generator_wake_ns = KVF_NEVER;
    e->lateness = mem_zalloc(1, sizeof *e->lateness);
    histogram_init(e->lateness);
    rng_init(&e->sight.rng, e->s->seed, KVF_RNG_TIMER, 0);
    e->sight.used = true;
}

int dispatch_start(struct engine *e, struct err *err) {
    bool served = shards_served(e) || (scenario_pods_are_ranks(e->s) && e->s->ranks.number > 0);
    e->source_ended = served; /* by rank 0, with requests */
    if (!workload_open_loop(e->workload) && !served) e->users.active = workload_users(e->workload);
    if (engine_is_virtual(e)) {
        for (uint32_t i = 0; i < e->pod_count && crew_wanted(e->s); i++)
            e->pods[i].crew_load = mem_zalloc(e->s->engine.workers, sizeof *e->pods[i].crew_load);
        e->generator_wake_ns = 0; /* nobody sleeps who would have to be woken earlier */
        late_draw(e);
        return 0;
    }
    e->generator_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (e->generator_fd < 0) return err_set_errno(err, KVF_ERR_IO, errno, "no event descriptor for arrivals");
    int rc = pthread_create(&e->generator, NULL, generator_main, e);
    if (rc != 0) return err_set_errno(err, KVF_ERR_IO, rc, "cannot start the thread of arrivals");
    e->generator_started = true;
    return 0;
}

void dispatch_stop(struct engine *e) {
    if (!e->generator_started) return;
    dispatch_wake(e);
    pthread_join(e->generator, NULL);
    e->generator_started = false;
}

void dispatch_destroy(struct engine *e) {
    if (e->generator_fd >= 0) close(e->generator_fd);
    flights_free(&e->flights);
    free(e->lateness);
    users_destroy(&e->users);
    pthread_mutex_destroy(&e->queue_lock);
}
