/* A worker is an event loop: it takes requests that got a slot and operations that became ready,
 * moves chunks, rings timers, and sleeps only when nothing of all that can be done. */
#include "engine/service/worker.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "engine/service/service.h"
#include "engine/move/simmover.h"
#include "engine/move/transfer.h"
#include "engine/pipeline/access.h"
#include "engine/pipeline/compute.h"
#include "engine/pipeline/sample.h"
#include "engine/pods/shards.h"
#include "engine/service/tracelog.h"
#include "tier/station.h"

enum {
    CPU_EVERY = 64,               /* loops between looks at the thread's CPU clock, which is a system call: */
    CPU_STALE_NS = KVF_NS_PER_MS, /* no sooner than after so long */
    WORKERS_MAX = 256             /* of engine.workers */
};

static struct worker *worker_of(struct executor *x) {
    return (struct worker *)x;
}

static void run_append(struct worker *w, struct cache_op *op) {
    op->next = NULL;
    *w->run_tail = op;
    w->run_tail = &op->next;
}

/* Mostly there is none: looking does not take the cache line from others, an exchange does. */
static struct flight *flights_take(struct worker *w) {
    struct flight *f = atomic_load(&w->flights_in), *in_order = NULL, *next;
    if (!f) return NULL;
    if (w->simulated)
        atomic_store_explicit(&w->flights_in, NULL, memory_order_relaxed); /* nobody else pushes */
    else
        f = atomic_exchange(&w->flights_in, NULL);
    for (; f; f = next) {
        next = f->next;
        f->next = in_order;
        in_order = f;
    }
    return in_order;
}

static void ops_take(struct worker *w) {
    if (!atomic_load(&w->ops_in)) return;
    struct cache_op *op = atomic_exchange(&w->ops_in, NULL), *in_order = NULL, *next;
    for (; op; op = next) {
        next = op->next;
        op->next = in_order;
        in_order = op;
    }
    for (op = in_order; op; op = next) {
        next = op->next;
        run_append(w, op);
    }
}

/* ---- what the pipeline asks of its executor ---- */

static void worker_enter(struct executor *x) {
    struct worker *w = worker_of(x);
    pthread_mutex_lock(&w->service->cache_lock);
    cache_time(w->pod->cache, executor_now(x));
}

/* Operations of another worker are in its mailbox before the lock is released: when the run ends the cache is
 * stopped under that lock, and a worker that sees the end then sees its last mail too. It is woken
 * afterwards. */
KVF_APART static void leave_among_others(struct worker *w) {
    struct service *v = w->service;
    uint64_t woken[WORKERS_MAX / 64] = {0};
    struct cache_op *op;
    bool any = false;
    while ((op = cache_next_ready(w->pod->cache)) != NULL) {
        uint32_t whose = op->worker; /* once in the mail it is not looked at any more */
        if (&v->workers[whose] == w) {
            run_append(w, op);
            continue;
        }
        worker_mail_op(&v->workers[whose], op);
        woken[whose / 64] |= UINT64_C(1) << whose % 64;
        any = true;
    }
    pthread_mutex_unlock(&v->cache_lock);
    for (uint32_t i = 0; any && i < v->worker_count; i++)
        if (woken[i / 64] >> i % 64 & 1) worker_wake(&v->workers[i]);
}

static void ready_append(struct worker *w) {
    struct cache_op *op;
    while (cache_is_ready(w->pod->cache) && (op = cache_next_ready(w->pod->cache)) != NULL) run_append(w, op);
}

static void worker_leave(struct executor *x) {
    struct worker *w = worker_of(x);
    if (!w->simulated)
        leave_among_others(w);
    else
        ready_append(w);
}

/* A wait begun now ends last of all; one that goes on ends when the first would have, so these have a
 * list of their own and find their place from its end. */
static void worker_waits(struct executor *x, struct cache_op *op) {
    struct worker *w = worker_of(x);
    bool goes_on = w->waits[0].last && w->waits[0].last->deadline_ns > op->deadline_ns;
    struct wait_list *l = &w->waits[goes_on];
    struct cache_op *before = l->last;
    while (goes_on && before && before->deadline_ns > op->deadline_ns) before = before->wait_prev;
    op->user = l;
    op->wait_prev = before;
    op->wait_next = before ? before->wait_next : l->first;
    *(before ? &before->wait_next : &l->first) = op;
    *(op->wait_next ? &op->wait_next->wait_prev : &l->last) = op;
}

static void wait_over(struct cache_op *op) {
    if (op->deadline_ns == 0 || op->deadline_ns == KVF_NEVER) return;
    struct wait_list *l = op->user;
    *(op->wait_prev ? &op->wait_prev->wait_next : &l->first) = op->wait_next;
    *(op->wait_next ? &op->wait_next->wait_prev : &l->last) = op->wait_prev;
    op->deadline_ns = KVF_NEVER; /* no longer listed, but it did wait */
}

static void worker_timer(struct executor *x, struct flight *f, uint64_t at_ns) {
    f->timer_ns = at_ns;
    heap_push(&worker_of(x)->timers, at_ns, f->req.id, f);
}

static void worker_done(struct executor *x, struct flight *f) {
    struct worker *w = worker_of(x);
    if (!f->internal) tracelog_request(w->service->log, x->worker, f, f->done_ns);
    w->service->done(w->service->engine, w, f);
}

static void worker_computed(struct executor *x, struct flight *f) {
    struct worker *w = worker_of(x);
    worker_post_flight(service_is_virtual(w->service) ? w : &w->service->workers[f->worker], f);
}

static void worker_error(struct executor *x, const char *sentence) {
    events_error(worker_of(x)->service->events, sentence);
}

static void worker_ask(struct executor *x, struct flight *f, const struct cache_key *keys, uint32_t count) {
    farstore_find(worker_of(x)->pod, f, keys, count);
}

static void worker_writes(struct executor *x, struct flight *f) {
    struct worker *w = worker_of(x);
    if (f->guest && w->simulated) /* see dispatch.c */
        shards_writes(w->service->engine, f);
    else
        sample_written(w->pod->pipeline.sample, w->service->s, f);
}

static const struct executor_ops worker_executor_ops = {.enter = worker_enter,
                                                        .leave = worker_leave,
                                                        .waits = worker_waits,
                                                        .timer = worker_timer,
                                                        .done = worker_done,
                                                        .computed = worker_computed,
                                                        .writes = worker_writes,
                                                        .ask = worker_ask,
                                                        .error = worker_error};

/* ---- the gate of writes ---- */

static bool op_is_limited(const struct worker *w, const struct cache_op *op) {
    const struct flight *f = op->owner;
    return w->pod->writes.limit > 0 && op->kind == CACHE_OP_WRITE && f && !f->internal;
}

/* Whether a write that could begin has to stand in line first. It is not this worker's then until it has
 * its turn, when it comes back with the mail. */
static bool write_held(struct worker *w, struct cache_op *op) {
    if (!op_is_limited(w, op)) return false;
    if (!op->has_turn) {
        op->held_since_ns = executor_now(&w->x);
        return !writegate_enter(&w->pod->writes, op);
    }
    counters_add(&w->x.counters->writes_held, 1);
    counters_add(&w->x.counters->writes_held_ns, executor_now(&w->x) - op->held_since_ns);
    return false;
}

/* ---- the loop ---- */

static void transfer_done(void *ctx, const struct transfer *t, bool abandoned, const char *what) {
    struct worker *w = ctx;
    bool lost = transfer_lost(t) || t->dropped, failed = t->error != 0 && !lost;
    if (failed) w->x.ops->error(&w->x, what);
    if (w->service->log)
        tracelog_op(w->service->log, w->x.worker, t->op, failed || lost || abandoned ? NULL : t);
    t->op->kept = t->leg[KVF_DIR_WRITE].kept;
    if (t->op->has_turn) writegate_leave(&w->pod->writes);
    pipeline_op_done(&w->pod->pipeline, &w->x, t->op,
                     failed      ? CACHE_FAILED
                     : lost      ? CACHE_LOST
                     : abandoned ? CACHE_ABANDONED
                                 : CACHE_DONE);
}

static void transfer_asks(void *ctx, uint64_t number, const struct cache_op *op, enum kvf_dir dir) {
    farstore_move(((struct worker *)ctx)->pod, number, op, dir);
}

/* The pod dies, and this worker is not through with that. */
static bool death_is_new(const struct worker *w) {
    return atomic_load(&w->service->gone.deaths) != w->deaths;
}

/* The run ends, or the pod dies. */
static bool stop_asked(const struct worker *w) {
    return atomic_load(&w->service->stopping) || death_is_new(w);
}

/* And this worker does not know it yet. */
static bool stop_is_new(const struct worker *w) {
    return !w->x.stopping && stop_asked(w);
}

/* Begins what became ready. An operation that has nothing to move ends here. Stops at the end of the run: a
 * cache that has stopped answers each write at once, and who has been refused so would ask again for ever. */
static void run_ready(struct worker *w) {
    while (w->run && !stop_is_new(w)) {
        struct cache_op *op = w->run;
        w->run = op->next;
        if (!w->run) w->run_tail = &w->run;
        wait_over(op);
        if (!w->x.stopping) pipeline_op_ready(&w->x, op);
        if (op->kind == CACHE_OP_WAIT || op->failed_wait || w->x.stopping) {
            bool ended = op->kind == CACHE_OP_WAIT && !op->failed_wait;
            if (op->kind != CACHE_OP_WAIT) tracelog_op(w->service->log, w->x.worker, op, NULL);
            pipeline_op_done(&w->pod->pipeline, &w->x, op, ended ? CACHE_DONE : CACHE_ABANDONED);
        } else if (!write_held(w, op)) {
            pipeline_op_begins(op);
            if (w->simulated)
                simmover_begin(w->simulated, op);
            else
                mover_begin(w->mover, op);
        }
    }
}

static void flight_start(struct worker *w, struct flight *f, uint64_t now_ns) {
    struct pipeline *p = &w->pod->pipeline;
    if (w->simulated) access_soon(p, f); /* others would have to hold cache_lock: the index may grow */
    if (!f->guest || !w->simulated) sample_flight(p->sample, p->scenario, f, now_ns); /* see dispatch.c */
    pipeline_start(p, &w->x, f);
}

static void run_timers(struct worker *w, uint64_t now) {
    struct heap_item item;
    while (heap_min_key(&w->timers) <= now && heap_pop(&w->timers, &item)) {
        if (item.item != &w->x.tick && ((struct flight *)item.item)->stage == FLIGHT_QUEUED)
            flight_start(w, item.item, now);
        else
            pipeline_timer(&w->pod->pipeline, &w->x, item.item);
    }
}

/* A request that was handed to this worker. In a simulation it is seen as late as a sleeping thread wakes. */
static void flight_seen(struct worker *w, struct flight *f, uint64_t now_ns) {
    const struct scenario *s = w->service->s;
    uint64_t wake_ns = w->simulated ? s->engine.wake_ns : 0;
    if (wake_ns > 0)
        heap_push(&w->timers,
                  now_ns + (uint64_t)((double)wake_ns * station_draw(&s->engine.wake_spread, &w->wake_rng)),
                  f->req.id, f);
    else
        flight_start(w, f, now_ns);
}

/* When the wait that ends first ends. */
static uint64_t waits_end_ns(const struct worker *w) {
    uint64_t end = KVF_NEVER;
    for (int i = 0; i < 2; i++)
        if (w->waits[i].first && w->waits[i].first->deadline_ns < end) end = w->waits[i].first->deadline_ns;
    return end;
}

/* Without effect on one that has its room by now. */
static void wait_ends(struct worker *w, struct cache_op *op, uint64_t now) {
    wait_over(op);
    if (w->x.stopping) {
        (void)cache_cancel(w->pod->cache, op);
    } else if (cache_wait_over(w->pod->cache, op)) {
        op->deadline_ns = now + w->service->s->engine.room_wait_ns;
        worker_waits(&w->x, op);
    }
}

/* Waits whose time is up, or all of them when the run ends. */
static void run_deadlines(struct worker *w, uint64_t now) {
    executor_enter(&w->x);
    for (int i = 0; i < 2; i++) {
        struct cache_op *op = w->waits[i].first, *next;
        for (; op && (op->deadline_ns <= now || w->x.stopping); op = next) {
            next = op->wait_next;
            wait_ends(w, op, now);
        }
    }
    executor_leave(&w->x);
}

static bool deadlines_due(const struct worker *w, uint64_t now) {
    uint64_t end = waits_end_ns(w);
    return end <= now || (end != KVF_NEVER && w->x.stopping);
}

uint64_t worker_next_ns(const struct worker *w) {
    uint64_t moves_ns = w->simulated ? simmover_next_ns(w->simulated) : mover_next_ns(w->mover);
    return kvf_min(moves_ns, kvf_min(heap_min_key(&w->timers), waits_end_ns(w)));
}

bool worker_has_work(const struct worker *w) {
    return w->run || atomic_load(&w->flights_in) || atomic_load(&w->ops_in);
}

bool worker_due(const struct worker *w, uint64_t now_ns) {
    return worker_has_work(w) || worker_next_ns(w) <= now_ns;
}

static void worker_sleep(struct worker *w, bool paused) {
    int fds[KVF_TIERS];
    struct pollfd p[KVF_TIERS + 1] = {{.fd = w->wake_fd, .events = POLLIN}};
    unsigned n = mover_fds(w->mover, fds);
    for (unsigned i = 0; i < n; i++) p[i + 1] = (struct pollfd){.fd = fds[i], .events = POLLIN};
    atomic_store(&w->sleeping, 1);
    /* what came before this is seen now, what comes later wakes; in a pause the mail stays where it is */
    bool awake = paused ? !run_clock_paused(w->service->clock)
                        : atomic_load(&w->flights_in) || atomic_load(&w->ops_in);
    if (awake || stop_asked(w) != w->x.stopping) {
        atomic_store(&w->sleeping, 0);
        return;
    }
    struct timespec limit, *timeout = NULL;
    uint64_t next = worker_next_ns(w);
    if (next != KVF_NEVER && !paused) {
        uint64_t now = service_now(w->service), wait = next > now ? next - now : 0;
        limit = (struct timespec){(time_t)(wait / KVF_NS_PER_S), (long)(wait % KVF_NS_PER_S)};
        timeout = &limit;
    }
    ppoll(p, n + 1, timeout, NULL);
    atomic_store(&w->sleeping, 0);
    if (p[0].revents & POLLIN) {
        uint64_t count;
        (void)!read(w->wake_fd, &count, sizeof count);
    }
}

static bool ops_pump(struct worker *w, bool issue) {
    return w->simulated ? simmover_pump(w->simulated) : mover_pump(w->mover, issue);
}

bool worker_turn(struct worker *w, bool paused) {
    struct service *v = w->service;
    uint64_t now = service_now(v);
    bool any = ops_pump(w, false);
    if (paused && !w->x.stopping) return any;
    ops_take(w);
    for (struct flight *f = flights_take(w), *next; f; f = next) {
        next = f->next;
        any = true;
        if (w->x.stopping) continue;
        if (f->stage == FLIGHT_QUEUED)
            flight_seen(w, f, now);
        else
            pipeline_computed(&w->pod->pipeline, &w->x, f);
    }
    if (!w->x.stopping && heap_min_key(&w->timers) <= now) {
        any = true;
        run_timers(w, now);
    }
    if (deadlines_due(w, now)) {
        any = true;
        run_deadlines(w, now);
    }
    if (w->run) {
        any = true;
        run_ready(w);
    }
    return ops_pump(w, true) || any;
}

/* Told to stop it has ended all that it had begun. */
static bool worker_rests(const struct worker *w) {
    bool idle = w->simulated || mover_idle(w->mover);
    return w->x.stopping && idle && !w->run && waits_end_ns(w) == KVF_NEVER && !atomic_load(&w->ops_in);
}

static bool worker_finished(const struct worker *w) {
    return atomic_load(&w->service->drained) && !death_is_new(w) && worker_rests(w);
}

/* Keeps the worker on the CPUs that the scenario names ("0-3,8"; the loader has checked the form). */
static void worker_pin(struct worker *w) {
    const char *list = w->service->s->engine.cpus;
    cpu_set_t set;
    CPU_ZERO(&set);
    if (list[0] == '\0') return;
    for (char *end; *list; list = *end == ',' ? end + 1 : end) {
        unsigned long from = strtoul(list, &end, 10), to = from;
        if (*end == '-') to = strtoul(end + 1, &end, 10);
        for (unsigned long cpu = from; cpu <= to && cpu < CPU_SETSIZE; cpu++) CPU_SET(cpu, &set);
        if (*end != ',' && *end != '\0') break;
    }
    int rc = pthread_setaffinity_np(pthread_self(), sizeof set, &set);
    if (rc != 0)
        events_add(w->service->events, "warning", "worker %u cannot be kept on CPUs %s: %s", w->x.worker,
                   w->service->s->engine.cpus, strerror(rc));
}

/* A worker's own, whose operations and computing have ended: only it counts what it has served. */
static void service_fails(struct worker *w) {
    struct service *v = w->service;
    for (;;) {
        pthread_mutex_lock(&v->queue_lock);
        struct flight *f = v->first;
        while (f && f->worker != w->x.worker) f = f->service_next;
        v->gone.cost.failed += f != NULL;
        pthread_mutex_unlock(&v->queue_lock);
        if (!f) return;
        pipeline_abort(&w->pod->pipeline, &w->x, f);
    }
}

/* Its pod dies, and it has ended what it had begun: what it served fails when that is so of all workers. Then
 * it serves what comes next. */
static void worker_restart(struct worker *w) {
    struct gone *g = &w->service->gone;
    struct compute *compute = w->pod->pipeline.compute;
    struct heap_item item;
    struct err err = {0};
    if (pthread_barrier_wait(&g->at_rest) == PTHREAD_BARRIER_SERIAL_THREAD && compute)
        compute_clear(compute, service_now(w->service));
    pthread_barrier_wait(&g->at_rest);
    (void)flights_take(w); /* in service, all of them */
    while (heap_pop(&w->timers, &item)) {}
    w->x.settling = NULL;
    service_fails(w);
    if (pthread_barrier_wait(&g->at_rest) == PTHREAD_BARRIER_SERIAL_THREAD) {
        atomic_store(&g->rested, true);
        events_wake(w->service->events);
    }
    if (mover_go_on(w->mover, &err) != 0) events_error(w->service->events, err.text);
    w->deaths++;
    w->x.stopping = false;
}

/* The thread's processor time, for the others. */
static void cpu_tell(struct worker *w, uint64_t *told_ns) {
    uint64_t now_ns = clock_now_ns();
    if (now_ns - *told_ns < CPU_STALE_NS) return;
    *told_ns = now_ns;
    atomic_store_explicit(&w->x.counters->cpu_ns, clock_thread_cpu_ns(), memory_order_relaxed);
}

static void worker_loop(struct worker *w) {
    struct service *v = w->service;
    uint64_t told_ns = 0;
    for (unsigned turn = 0; !worker_finished(w); turn++) {
        if (stop_is_new(w)) {
            w->x.stopping = true;
            mover_stop(w->mover);
        }
        bool let_go = atomic_load(&v->gone.stopped) != w->deaths; /* by the cache */
        if (death_is_new(w) && let_go && worker_rests(w)) worker_restart(w);
        if (atomic_load(&v->hang.given_up))
            for (;;) pause(); /* the run is over, and what is here may be gone */
        bool paused = run_clock_paused(v->clock);
        bool any = worker_turn(w, paused);
        if (!any || turn % CPU_EVERY == 0) cpu_tell(w, &told_ns);
        if (!any && !worker_finished(w)) worker_sleep(w, paused && !w->x.stopping);
    }
    told_ns = 0;
    cpu_tell(w, &told_ns);
}

static struct mover_setup mover_setup_of(struct worker *w) {
    struct service *v = w->service;
    return (struct mover_setup){.scenario = v->s,
                                .clock = v->clock,
                                .payload = v->payload,
                                .given_up = &v->hang.given_up,
                                .dump = &v->dump,
                                .tiers = v->tiers,
                                .store = v->store_link,
                                .ask = w->pod->pipeline.far ? transfer_asks : NULL,
                                .counters = w->x.counters,
                                .usage = v->usage,
                                .worker = w->x.worker,
                                .pod = w->pod->number,
                                .buffers = mover_buffers(v->s),
                                .done = transfer_done,
                                .ctx = w};
}

/* On the worker's own thread, so that many workers fill their buffers side by side. */
static int worker_open(struct worker *w, struct err *err) {
    struct mover_setup setup = mover_setup_of(w);
    return mover_open(&w->mover, &setup, err);
}

static void *worker_main(void *arg) {
    struct worker *w = arg;
    struct service *v = w->service;
    char name[16];
    snprintf(name, sizeof name, "kvfall-work-%u", w->x.worker);
    pthread_setname_np(pthread_self(), name);
    clock_thread_precise();
    worker_pin(w);
    w->open_rc = worker_open(w, &w->open_err);
    sem_post(&v->workers_open);
    if (w->open_rc == 0) worker_loop(w);
    return NULL;
}

static void worker_init(struct service *v, struct worker *w, uint32_t index) {
    bool shares = service_is_virtual(v); /* the control thread is all workers */
    w->service = v;
    w->pod = &v->pods[shares ? index : 0];
    rng_init(&w->wake_rng, v->s->seed, KVF_RNG_WAKE, w->pod->number); /* of a pod, whichever rank has it */
    uint32_t thread = shares ? 0 : index;
    w->x = (struct executor){
        .ops = &worker_executor_ops, .clock = v->clock, .counters = &v->counters[thread], .worker = thread};
    w->run_tail = &w->run;
}

void worker_simulate(struct service *v, struct worker *w) {
    worker_init(v, w, (uint32_t)(w - v->workers));
    struct mover_setup setup = mover_setup_of(w);
    w->simulated = simmover_open(&setup);
    w->x.alone = w->pod->cache;
}

void worker_abandon(struct worker *w) {
    struct heap_item item;
    w->x.stopping = true;
    simmover_stop(w->simulated);
    do (void)worker_turn(w, false);
    while (w->run || atomic_load(&w->ops_in) || waits_end_ns(w) != KVF_NEVER);
    (void)flights_take(w);
    while (heap_pop(&w->timers, &item)) {}
    w->x.settling = NULL;
    w->x.stopping = false;
}

int worker_start(struct service *v, struct worker *w, uint32_t index, struct err *err) {
    worker_init(v, w, index);
    w->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (w->wake_fd < 0)
        return err_set_errno(err, KVF_ERR_IO, errno, "cannot create an event descriptor for worker %u",
                             index);
    int rc = pthread_create(&w->thread, NULL, worker_main, w);
    if (rc != 0) return err_set_errno(err, KVF_ERR_IO, rc, "cannot start worker %u", index);
    w->started = true;
    return 0;
}

static void worker_finish(struct worker *w) {
    w->x.stopping = true;
    simmover_stop(w->simulated);
    while (!worker_finished(w)) (void)worker_turn(w, false);
}

void worker_join(struct worker *w) {
    if (w->started) pthread_join(w->thread, NULL);
    if (w->simulated) worker_finish(w);
    w->started = false;
}

void worker_close(struct worker *w) {
    mover_close(w->mover);
    simmover_close(w->simulated);
    w->mover = NULL;
    w->simulated = NULL;
    heap_free(&w->timers);
    if (w->service && w->wake_fd >= 0) close(w->wake_fd);
}
