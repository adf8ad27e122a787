#include "engine/arrivals/dispatch.h"

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

enum { ARRIVALS_PER_HOLD = 1024, LANES_AT_ONCE = 1024 };
/* Between holds, when arrivals come faster than they can be taken. */
#define HOLDS_APART_NS (50 * KVF_NS_PER_US)
/* A user who found the queue full pauses before the next try. */
#define DROPPED_PAUSE_NS KVF_NS_PER_MS

/* ---- arrivals ---- */

static bool closed_loop(const struct engine *e) {
    return !workload_open_loop(e->dispatch.workload) && e->s->workload.arrival.process != KVF_ARRIVAL_PACED;
}

static void generator_earlier(struct engine *e, uint64_t at_ns) {
    if (at_ns < e->dispatch.wake_ns) dispatch_wake(e);
}

static void lateness_note(struct engine *e, const struct flight *f, uint64_t now) {
    histogram_record(e->dispatch.lateness, now > f->req.arrival_ns ? now - f->req.arrival_ns : 0);
}

/* A request that came from elsewhere has ended, or found the queue full. */
static void guest_answer(struct engine *e, const struct flight *f, bool dropped) {
    if (e->routes.shards)
        shards_answer(e, f, dropped);
    else
        away_answer(e, f, dropped);
}

/* A request has arrived; false when the queue was full and it was dropped. Slots are filled when all that
 * arrive together have, the most urgent first; but nobody is dropped while one is free. */
static bool arrive_here(struct engine *e, struct flight *f, uint64_t now) {
    struct class_counts *k = &e->service.klass[f->req.klass];
    if (f->again) {
        e->dispatch.moved_on--;
    } else {
        e->dispatch.arrived++;
        k->arrived++;
        if (!e->routes.shards) lateness_note(e, f, now);
    }
    const struct queue *q = &pod_of(&e->service, f)->queue;
    if (q->count >= q->limit) slots_fill(&e->service);
    if (!slots_enqueue(&e->service, f)) {
        if (f->guest)
            guest_answer(e, f, true);
        else
            pods_done(e, f, false);
        e->dispatch.dropped++;
        k->dropped++;
        flights_release(&e->service.flights, f);
        return false;
    }
    slots_count_class(k, now);
    k->queued++;
    if (!f->again)
        k->waiting_ns += k->counted_ns - f->req.arrival_ns; /* also before it was seen to have come */
    return true;
}

static struct dispatch_mark mark_of(struct engine *e, uint64_t now) {
    struct service *v = &e->service;
    struct dispatch_mark m = {
        .run_ns = now, .arrived = e->dispatch.arrived, .open = v->queued + v->in_service};
    slots_count_time(v, now);
    for (uint32_t k = 0; k < v->s->qos.classes; k++)
        m.open_ns += v->klass[k].waiting_ns + v->klass[k].service_ns;
    return m;
}

/* Whether most users who are paced, of those who ask at all, have asked their last. Until then they ask at
 * nearly the rate of all: who begins later within a pause ends later too. */
static bool paces_ended(const struct users *s) {
    return s->ended > s->unasked && 2 * (s->ended - s->unasked) >= s->active - s->unasked;
}

/* A request is counted where it is served. The sample of accesses is of all pods, and is told in the order of
 * routing where no pod knows when others serve theirs. */
static bool arrive(struct engine *e, struct flight *f, uint64_t now) {
    e->dispatch.sight.used = true;
    pods_route(e, f);
    if (e->routes.shards) {
        lateness_note(e, f, now);
        sample_flight(e->service.pods[0].pipeline.sample, e->s, f, now);
        shards_send(e, f);
        return true;
    }
    if (away_send(e, f)) return true;
    bool marked = !closed_loop(e) && !paces_ended(&e->dispatch.users);
    if (marked) e->dispatch.last = mark_of(e, now);
    bool queued = arrive_here(e, f, now);
    if (marked) e->dispatch.last.arrived = e->dispatch.arrived;
    if (e->dispatch.first.run_ns == 0) e->dispatch.first = e->dispatch.last;
    return queued;
}

bool dispatch_ended(const struct engine *e) {
    const struct dispatch *d = &e->dispatch;
    bool all_here = !e->routes.shards && !e->routes.fleet && d->last.run_ns > 0;
    return all_here && (workload_open_loop(d->workload) ? d->source_ended : paces_ended(&d->users));
}

static void user_ends(struct engine *e, uint64_t user, bool asked) {
    users_end(&e->dispatch.users, user, asked, engine_now(e));
    if (user >= WORKLOAD_LANES) e->dispatch.lanes--;
}

/* The user asks again at that time. One that has asked its last ends now: a run does not wait for
 * thoughts that lead to nothing. `asked`: it has had a request. */
static void user_goes_on_from(struct engine *e, uint64_t user, uint64_t at_ns, bool asked) {
    bool more = workload_more(e->dispatch.workload, user);
    follow_next(&e->dispatch, user, more ? at_ns : KVF_NEVER);
    if (more)
        users_schedule(&e->dispatch.users, user, at_ns);
    else
        user_ends(e, user, asked);
}

static void user_goes_on(struct engine *e, uint64_t user, uint64_t at_ns) {
    user_goes_on_from(e, user, at_ns, true);
}

/* Lanes started by a response go on independently from here. */
static void lanes_begin(struct engine *e, uint64_t user, uint64_t now) {
    uint64_t lane, delay_ns;
    while (workload_spawned(e->dispatch.workload, user, &lane, &delay_ns)) {
        users_grow(&e->dispatch.users, (lane | (LANES_AT_ONCE - 1)) + 1);
        users_schedule(&e->dispatch.users, lane, now + delay_ns);
        e->dispatch.lanes++;
        generator_earlier(e, now + delay_ns);
    }
}

/* A user's timer rang: it asks its next request. */
static void user_asks(struct engine *e, uint64_t user, uint64_t at_ns, uint64_t now) {
    e->dispatch.users.state[user] = USERS_IDLE;
    if (user >= e->dispatch.users.active && user < WORKLOAD_LANES) return;
    struct flight *f = flights_new(&e->service.flights);
    if (workload_next(e->dispatch.workload, user, &f->req) == WORKLOAD_END) {
        user_ends(e, user, users_answered(&e->dispatch.users, user));
        flights_release(&e->service.flights, f);
        return;
    }
    f->req.arrival_ns = at_ns;
    bool queued = arrive(e, f, now);
    if (queued && closed_loop(e)) {
        e->dispatch.users.state[user] = USERS_ASKING;
        return;
    }
    lanes_begin(e, user, closed_loop(e) ? now : at_ns);
    uint64_t think = workload_think_ns(e->dispatch.workload, user);
    if (!closed_loop(e))
        user_goes_on(e, user, at_ns + think);
    else
        user_goes_on(e, user, now + (think > DROPPED_PAUSE_NS ? think : DROPPED_PAUSE_NS));
}

/* In a simulation: a thread that sleeps until a time sees it later, as measured; not twice as late by the
 * same. */
static uint64_t late_ns(const struct engine *e) {
    return e->dispatch.sight.late_ns;
}

static void late_draw(struct engine *e) {
    if (!engine_is_virtual(e) || !e->dispatch.sight.used) return;
    double factor = station_draw(&e->s->engine.timer_spread, &e->dispatch.sight.rng);
    e->dispatch.sight.late_ns = (uint64_t)((double)e->s->engine.timer_late_ns * factor);
    e->dispatch.sight.used = false;
}

/* Without delays (speed-up 0) rows arrive as fast as they are served: one per slot waits, if the queue holds
 * as many. */
static bool row_is_due(const struct engine *e, uint64_t now) {
    if (!workload_unpaced(e->dispatch.workload))
        return e->dispatch.begin_ns + e->dispatch.next_row->req.arrival_ns + late_ns(e) <= now;
    return e->service.queued + e->dispatch.away < e->s->engine.slots * e->s->fleet.pods &&
           e->service.queued < e->s->engine.queue_limit;
}

/* A part of what is due at a time: who needs the lock meanwhile gets it. The next row is read by then,
 * so that the generator knows when to come back. Whether there is more that is due. */
static bool rows_arrive(struct engine *e, uint64_t now) {
    for (int n = 0; !e->dispatch.source_ended && !e->routes.ended; n++) {
        if (!e->dispatch.next_row) {
            struct flight *f = flights_new(&e->service.flights);
            if (workload_next(e->dispatch.workload, 0, &f->req) == WORKLOAD_END) {
                e->dispatch.source_ended = true;
                flights_release(&e->service.flights, f);
                return false;
            }
            e->dispatch.next_row = f;
        }
        if (!row_is_due(e, now)) return false;
        if (n == ARRIVALS_PER_HOLD) return true;
        struct flight *f = e->dispatch.next_row;
        e->dispatch.next_row = NULL;
        f->req.arrival_ns =
            workload_unpaced(e->dispatch.workload) ? now : e->dispatch.begin_ns + f->req.arrival_ns;
        arrive(e, f, now);
    }
    return false;
}

static uint64_t next_row_ns(const struct engine *e) {
    if (!e->dispatch.next_row) return KVF_NEVER;
    if (workload_unpaced(e->dispatch.workload))
        return row_is_due(e, 0) ? 0 : KVF_NEVER; /* the end of one lets the next in */
    return e->dispatch.begin_ns + e->dispatch.next_row->req.arrival_ns + late_ns(e);
}

static uint64_t next_arrival_ns(const struct engine *e) {
    if (!e->dispatch.on) return KVF_NEVER;
    if (workload_open_loop(e->dispatch.workload)) return next_row_ns(e);
    uint64_t late = late_ns(e), next = users_next_ns(&e->dispatch.users);
    return next < KVF_NEVER - late ? next + late : KVF_NEVER;
}

/* Likewise. */
static bool arrivals_due(struct engine *e) {
    uint64_t now = engine_now(e), seen = now - kvf_min(late_ns(e), now), user = 0, at_ns = 0, next;
    if (workload_open_loop(e->dispatch.workload)) return rows_arrive(e, now);
    for (int n = 0; users_next_ns(&e->dispatch.users) <= seen; n++) {
        if (n == ARRIVALS_PER_HOLD) return true;
        users_due(&e->dispatch.users, seen, &user, &at_ns);
        if (users_next(&e->dispatch.users, &next)) { /* memory comes meanwhile */
            workload_soon(e->dispatch.workload, next);
            users_soon(&e->dispatch.users, next);
        }
        user_asks(e, user, at_ns, now);
    }
    return false;
}

static void workload_done_check(struct engine *e) {
    uint64_t active = e->dispatch.users.active;
    bool ended = workload_open_loop(e->dispatch.workload) ? e->dispatch.source_ended
                                                          : active > 0 && e->dispatch.users.ended >= active;
    if (!e->dispatch.on || !ended || e->dispatch.lanes > 0 ||
        e->service.in_service + e->service.queued + e->dispatch.away > 0)
        return;
    if (!atomic_exchange(&e->dispatch.done, true)) events_wake(&e->events);
}

/* A request that has been counted as arrived goes to another pod. Where the queue is full it is dropped, and
 * a user who waits for its answer goes on. */
static void route_again(struct engine *e, struct flight *f, uint64_t now) {
    uint64_t user = workload_own(e->dispatch.workload, f->req.user);
    pods_done(e, f, false);
    pods_route(e, f);
    f->again = true;
    e->dispatch.moved_on++;
    if (e->routes.shards)
        shards_send(e, f);
    else if (!away_send(e, f) && !arrive_here(e, f, now) && closed_loop(e))
        user_goes_on(e, user, now + DROPPED_PAUSE_NS);
}

uint64_t dispatch_reroute(struct engine *e, struct pod *p) {
    struct flight *f;
    uint64_t n = 0, now = engine_now(e);
    pthread_mutex_lock(&e->service.queue_lock);
    slots_count_time(&e->service, now);
    while ((f = queue_pop(&p->queue)) != NULL) {
        e->service.queued--;
        e->service.klass[f->req.klass].queued--;
        n++;
        if (!f->guest) {
            route_again(e, f, now);
            continue;
        }
        if (e->routes.shards)
            shards_back(e, f);
        else
            away_back(e, f);
        flights_release(&e->service.flights, f);
    }
    slots_fill(&e->service);
    pthread_mutex_unlock(&e->service.queue_lock);
    return n;
}

/* ---- the generator ---- */

/* Until the next arrival. With more due than it may take at a time it waits a little all the same: it would
 * have the lock again before anybody who waits for it has woken up. */
static void generator_sleep(struct engine *e, uint64_t next_ns, bool more) {
    struct pollfd p = {.fd = e->dispatch.fd, .events = POLLIN};
    struct timespec limit, *timeout = NULL;
    if (next_ns != KVF_NEVER && !run_clock_paused(&e->clock)) {
        uint64_t now = engine_now(e), wait = next_ns > now ? next_ns - now : more ? HOLDS_APART_NS : 0;
        limit = (struct timespec){(time_t)(wait / KVF_NS_PER_S), (long)(wait % KVF_NS_PER_S)};
        timeout = &limit;
    }
    if (ppoll(&p, 1, timeout, NULL) > 0) {
        uint64_t count;
        (void)!read(e->dispatch.fd, &count, sizeof count);
    }
}

/* With queue_lock held: what is due now; whether there is more of it. */
static bool generate(struct engine *e) {
    if (!e->dispatch.on || e->routes.ended || run_clock_paused(&e->clock)) return false;
    bool more = arrivals_due(e);
    slots_fill(&e->service);
    workload_done_check(e);
    ingest_due(e, engine_now(e));
    return more;
}

static uint64_t generator_next_ns(const struct engine *e) {
    uint64_t next = next_arrival_ns(e), document = ingest_next_ns(e);
    return document < next ? document : next;
}

void dispatch_turn(struct engine *e) {
    e->dispatch.due = generate(e);
    late_draw(e);
}

uint64_t dispatch_next_ns(const struct engine *e) {
    return e->dispatch.due ? 0 : generator_next_ns(e);
}

static void *generator_main(void *arg) {
    struct engine *e = arg;
    pthread_setname_np(pthread_self(), "kvfall-arrivals");
    clock_thread_precise();
    while (!atomic_load(&e->service.stopping)) {
        pthread_mutex_lock(&e->service.queue_lock);
        bool more = generate(e);
        uint64_t next = e->dispatch.wake_ns = generator_next_ns(e);
        pthread_mutex_unlock(&e->service.queue_lock);
        generator_sleep(e, next, more);
    }
    return NULL;
}

/* ---- completions ---- */

static double ended_ms(const struct engine *e, const struct flight *f) {
    uint64_t now = engine_now(e);
    return now > f->req.arrival_ns ? (double)(now - f->req.arrival_ns) / (double)KVF_NS_PER_MS : 0;
}

/* Where its user is, who goes on; of one that was dropped, after a pause at least. */
static void request_ended(struct engine *e, struct flight *f, bool served) {
    uint64_t now = engine_now(e), user = workload_own(e->dispatch.workload, f->req.user);
    pods_done(e, f, served);
    if (served) users_count(&e->dispatch.users, user, f->failed, ended_ms(e, f));
    if (served) follow_ended(&e->dispatch, f, now);
    if (closed_loop(e)) {
        lanes_begin(e, user, now);
        uint64_t think = workload_think_ns(e->dispatch.workload, user);
        uint64_t at = now + (served || think > DROPPED_PAUSE_NS ? think : DROPPED_PAUSE_NS);
        user_goes_on(e, user, at);
        generator_earlier(e, at);
    } else if (workload_unpaced(e->dispatch.workload)) {
        rows_arrive(e, now);
    }
}

void dispatch_guest(struct engine *e, uint64_t number, const void *bytes, size_t len) {
    if (atomic_load(&e->service.stopping)) return;
    pthread_mutex_lock(&e->service.queue_lock);
    struct flight *f = flights_new(&e->service.flights);
    bool taken = away_take(e, f, number, bytes, len);
    if (!taken)
        flights_release(&e->service.flights, f);
    else if (arrive_here(e, f, engine_now(e)))
        slots_fill(&e->service);
    pthread_mutex_unlock(&e->service.queue_lock);
    if (!taken)
        events_error(&e->events,
                     "a request that rank 0 sent here cannot be read; install one build on all hosts");
}

/* One that comes back unserved after the last reading of the measured part is sent nowhere: it is still on
 * its way. */
static void answered(struct engine *e, struct flight *f, const struct away_answer *a) {
    if (a->back && e->routes.ended) return;
    e->dispatch.away--;
    f->away = false;
    if (a->back) {
        if (!e->routes.shards) e->routes.on_way--;
        e->dispatch.moved_on--; /* for route_again(): that rank has it */
        route_again(e, f, engine_now(e));
        return;
    }
    f->hit_blocks = a->hit_blocks;
    f->failed = a->failed;
    request_ended(e, f, !a->dropped);
    flights_release(&e->service.flights, f);
}

void dispatch_answer(struct engine *e, unsigned from, uint64_t number, const void *bytes, size_t len) {
    struct away_answer a = {0};
    if (atomic_load(&e->service.stopping)) return;
    if (len == sizeof a) memcpy(&a, bytes, sizeof a);
    pthread_mutex_lock(&e->service.queue_lock);
    struct flight *f = len == sizeof a ? flights_at(&e->service.flights, number) : NULL;
    bool expected = f && f->away && f->pod == from && f->req.id == a.request;
    if (expected) {
        answered(e, f, &a);
        slots_fill(&e->service);
        workload_done_check(e);
    }
    pthread_mutex_unlock(&e->service.queue_lock);
    if (!expected)
        events_error(&e->events,
                     "an answer came to a request that was not sent; install one build on all hosts");
}

static bool message_comes(struct engine *e, const struct shards_message *m, uint64_t now) {
    struct flight *f;
    if (m->writes) {
        f = flights_at(&e->service.flights, m->number);
        if (f && f->away) sample_written(e->service.pods[0].pipeline.sample, e->s, f);
        return true;
    }
    if (m->answer) {
        struct away_answer a = {
            .hit_blocks = m->hit_blocks, .failed = m->failed, .dropped = m->dropped, .back = m->back};
        if (!(f = flights_at(&e->service.flights, m->number)) || !f->away) return false;
        answered(e, f, &a);
        return true;
    }
    f = flights_new(&e->service.flights);
    if (parcel_unpack(f, m->bytes, m->len) == 0) {
        flights_release(&e->service.flights, f);
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
    pthread_mutex_lock(&e->service.queue_lock);
    while (!ends && shards_due(e, now, &m)) {
        if (m.ends)
            ends = &e->service.pods[m.pod - e->service.pod_first];
        else
            whole = message_comes(e, &m, now) && whole;
    }
    slots_fill(&e->service);
    workload_done_check(e);
    pthread_mutex_unlock(&e->service.queue_lock);
    if (!whole)
        events_error(&e->events,
                     "a message between routers and pods cannot be read; install one build on all hosts");
    return ends;
}

static void ended(struct engine *e, struct worker *w, struct flight *f) {
    if (ingest_took(e, f)) return;
    slots_leave(w, f);
    if (f->internal) {
        prepare_ended(e, f);
    } else {
        away_moved_tell(e);
        if (e->routes.shards && !f->failed) pods_count_done(pod_of(&e->service, f), f);
        if (f->guest)
            guest_answer(e, f, false);
        else
            request_ended(e, f, true);
    }
    flights_release(&e->service.flights, f);
    slots_fill(&e->service);
    workload_done_check(e);
}

void dispatch_done(struct engine *e, struct worker *w, struct flight *f) {
    bool alone = engine_is_virtual(e); /* the control thread, which nobody holds off */
    if (!alone) pthread_mutex_lock(&e->service.queue_lock);
    ended(e, w, f);
    if (!alone) pthread_mutex_unlock(&e->service.queue_lock);
}

/* ---- control ---- */

/* Some may have been parked. */
static void users_begin(struct engine *e, uint64_t users, uint64_t now) {
    struct dispatch *d = &e->dispatch;
    for (uint64_t u = 0; u < users; u++)
        if (d->users.state[u] == USERS_IDLE)
            user_goes_on_from(e, u, now + workload_first_delay_ns(d->workload, u),
                              d->arrived > 0 && users_answered(&d->users, u));
}

void dispatch_begin_arrivals(struct engine *e, uint64_t from_ns) {
    pthread_mutex_lock(&e->service.queue_lock);
    e->dispatch.begin_ns = from_ns;
    events_begin(&e->events, from_ns);
    e->dispatch.on = true;
    if (!workload_open_loop(e->dispatch.workload)) {
        users_grow(&e->dispatch.users, e->dispatch.users.active);
        users_begin(e, e->dispatch.users.active, e->dispatch.begin_ns);
    }
    pthread_mutex_unlock(&e->service.queue_lock);
    dispatch_wake(e);
}

void dispatch_set_users(struct engine *e, uint64_t users) {
    pthread_mutex_lock(&e->service.queue_lock);
    if (!workload_open_loop(e->dispatch.workload)) {
        workload_grow_users(e->dispatch.workload, users);
        users_grow(&e->dispatch.users, users);
        users_activate(&e->dispatch.users, users, engine_now(e));
        if (e->dispatch.on) users_begin(e, users, engine_now(e));
    }
    pthread_mutex_unlock(&e->service.queue_lock);
    dispatch_wake(e);
}

void dispatch_follow(struct engine *e, uint64_t user) {
    struct follow *w = &e->dispatch.follow;
    pthread_mutex_lock(&e->service.queue_lock);
    if (!w->known || w->user != user) *w = (struct follow){.known = true, .user = user, .next_ns = KVF_NEVER};
    pthread_mutex_unlock(&e->service.queue_lock);
}

void dispatch_wake(struct engine *e) {
    uint64_t one = 1;
    if (engine_is_virtual(e))
        e->dispatch.due = true;
    else
        (void)!write(e->dispatch.fd, &one, sizeof one);
}

void dispatch_init(struct engine *e) {
    pthread_mutex_init(&e->service.queue_lock, NULL);
    users_init(&e->dispatch.users);
    e->dispatch.fd = -1;
    e->dispatch.wake_ns = KVF_NEVER;
    e->dispatch.lateness = mem_zalloc(1, sizeof *e->dispatch.lateness);
    histogram_init(e->dispatch.lateness);
    rng_init(&e->dispatch.sight.rng, e->s->seed, KVF_RNG_TIMER, 0);
    e->dispatch.sight.used = true;
}

int dispatch_start(struct engine *e, struct err *err) {
    bool served = shards_served(e) || (scenario_pods_are_ranks(e->s) && e->s->ranks.number > 0);
    e->dispatch.source_ended = served; /* by rank 0, with requests */
    if (!workload_open_loop(e->dispatch.workload) && !served)
        e->dispatch.users.active = workload_users(e->dispatch.workload);
    if (engine_is_virtual(e)) {
        for (uint32_t i = 0; i < e->service.pod_count && crew_wanted(e->s); i++)
            e->service.pods[i].crew_load =
                mem_zalloc(e->s->engine.workers, sizeof *e->service.pods[i].crew_load);
        e->dispatch.wake_ns = 0; /* nobody sleeps who would have to be woken earlier */
        late_draw(e);
        return 0;
    }
    e->dispatch.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (e->dispatch.fd < 0)
        return err_set_errno(err, KVF_ERR_IO, errno, "cannot create an event descriptor for arrivals");
    int rc = pthread_create(&e->dispatch.thread, NULL, generator_main, e);
    if (rc != 0) return err_set_errno(err, KVF_ERR_IO, rc, "cannot start the thread of arrivals");
    e->dispatch.started = true;
    return 0;
}

void dispatch_stop(struct engine *e) {
    if (!e->dispatch.started) return;
    dispatch_wake(e);
    pthread_join(e->dispatch.thread, NULL);
    e->dispatch.started = false;
}

void dispatch_destroy(struct engine *e) {
    if (e->dispatch.fd >= 0) close(e->dispatch.fd);
    flights_free(&e->service.flights);
    free(e->dispatch.lateness);
    users_destroy(&e->dispatch.users);
    pthread_mutex_destroy(&e->service.queue_lock);
}
