#include "engine/engine.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/units.h"
#include "engine/core.h"
#include "engine/limits/assess.h"
#include "engine/pipeline/oracle.h"
#include "engine/pipeline/sample.h"
#include "engine/pods/outages.h"
#include "engine/sampling/sampler.h"
#include "engine/scaling.h"
#include "engine/sampling/together.h"
#include "engine/service/tracelog.h"
#include "workload/format/listing.h"

/* ---- events ---- */

/* Into the record of the run and, in order with the intervals, to the database. */
static void events_flush(struct engine *e) {
    size_t count;
    struct record_event *events = events_take(&e->events, &count);
    for (size_t i = 0; i < count; i++) {
        run_record_event(e->setup->run, &events[i]);
        if (e->setup->on_event) e->setup->on_event(e->setup->ctx, &events[i]);
        together_event(e, &events[i]);
        if (!e->setup->fifo) continue;
        struct record *r = record_new(RECORD_EVENT);
        r->event = events[i];
        fifo_put(e->setup->fifo, r);
    }
    free(events);
}

/* ---- opening ---- */

#define TOKEN_NS_MAX (1000000 * KVF_NS_PER_MS)

static void devices_open(struct engine *e) {
    const struct scenario *s = e->s;
    if (!s->tier[KVF_TIER_NVME].on || engine_is_virtual(e)) return;
    e->control.devices = mem_zalloc(s->nvme.path_count, sizeof *e->control.devices);
    for (uint32_t i = 0; i < s->nvme.path_count; i++) {
        struct blockdev d;
        if (blockdev_find(s->nvme.path[i], &d, NULL) != 0 || !d.present) continue;
        bool known = false;
        for (uint32_t k = 0; k < e->control.device_count; k++)
            known =
                known || (e->control.devices[k].major == d.major && e->control.devices[k].minor == d.minor);
        if (!known) e->control.devices[e->control.device_count++] = d;
    }
}

static int workers_start(struct engine *e, struct err *err) {
    int rc = 0;
    e->service.counter_count = engine_is_virtual(e) ? 1 : e->service.worker_count;
    e->service.counters = counters_new(e->service.counter_count);
    if (!e->service.counters)
        return err_set(err, KVF_ERR_NOMEM, "no memory for the counters of %u workers",
                       e->service.worker_count);
    e->service.workers = mem_zalloc(e->service.worker_count, sizeof *e->service.workers);
    for (uint32_t i = 0; i < e->service.worker_count; i++) e->service.workers[i].wake_fd = -1;
    if (engine_is_virtual(e)) {
        lineup_open(&e->service.lineup, e->service.worker_count);
        for (uint32_t i = 0; i < e->service.worker_count; i++)
            worker_simulate(&e->service, &e->service.workers[i]);
        return 0;
    }
    for (uint32_t i = 0; i < e->service.worker_count && rc == 0; i++)
        rc = worker_start(&e->service, &e->service.workers[i], i, err);
    for (uint32_t i = 0; i < e->service.worker_count; i++) {
        if (!e->service.workers[i].started) continue;
        while (sem_wait(&e->service.workers_open) != 0) {}
    }
    for (uint32_t i = 0; i < e->service.worker_count && rc == 0; i++)
        if ((rc = e->service.workers[i].open_rc) != 0) *err = e->service.workers[i].open_err;
    return rc;
}

static void write_post(void *ctx, struct cache_op *op) {
    struct pod *p = ctx;
    worker_post_op(service_is_virtual(p->service) ? pod_worker(p) : &p->service->workers[op->worker], op);
}

/* In the order in which things can be refused: what creates nothing first. */
static int engine_open(struct engine *e, const struct engine_setup *setup, struct err *err) {
    e->setup = setup;
    e->s = setup->scenario;
    e->service.s = e->s;
    e->service.clock = &e->clock;
    e->service.events = &e->events;
    e->service.engine = e;
    e->service.done = dispatch_done;
    e->service.worker_count = (uint32_t)e->s->engine.workers;
    if (e->s->mode == KVF_MODE_SIMULATE) {
        run_clock_virtual(&e->clock);
        simulator_begin(e);
        shards_open(e);
    }
    pthread_mutex_init(&e->service.cache_lock, NULL);
    sem_init(&e->service.workers_open, 0, 0);
    pods_init(e, write_post);
    if (engine_is_virtual(e))
        e->service.worker_count = e->service.pod_count; /* each does what all of a pod would */
    gone_open(e);
    dispatch_init(e);
    for (int t = 0; t < USAGES; t++) usage_init(&e->service.usage[t], engine_is_virtual(e));
    for (int t = KVF_TIER_NVME; t <= KVF_TIER_REMOTE; t++)
        if (engine_watches_stalls(e, t)) usage_watch(&e->service.usage[t]);
    int rc = events_init(&e->events, &e->clock, err);
    if (rc == 0) rc = workload_open(&e->dispatch.workload, e->s, err);
    if (rc == 0 && scenario_policy_has(e->s, POLICY_LOOKS_AHEAD))
        rc = oracle_open(&e->service.oracle, e->s, err);
    uint64_t noise_bytes = scenario_holds_bytes(e->s) ? e->s->engine.noise_bytes : KVF_MIB; /* the least */
    if (rc == 0 && !engine_is_virtual(e) &&
        !(e->service.payload = payload_open(e->s->seed, noise_bytes, err)))
        rc = -(int)err->code;
    if (rc == 0)
        rc = tracelog_open(&e->service.log, e->s, setup->io_trace_path, setup->request_log_path,
                           engine_is_virtual(e) ? 1 : e->service.worker_count, err);
    if (rc == 0 && engine_is_virtual(e)) tracelog_virtual(e->service.log, &e->clock);
    if (rc == 0) rc = blocks_refused(e->s, err);
    if (rc == 0) rc = pods_refused(e, err);
    if (rc == 0) rc = tiers_open(&e->service, setup, err);
    if (rc != 0) return rc;
    devices_open(e);
    rc = blocks_open(e, err);
    if (rc == 0) rc = pods_open(e, err);
    ingest_init(e);
    if (rc == 0) rc = workers_start(e, err);
    if (rc == 0) hang_open(&e->service, setup->hang_ns);
    if (rc == 0) rc = sampler_open(e, err);
    if (rc == 0) rc = together_open(e, err);
    scaling_open(e);
    if (rc == 0) rc = dispatch_start(e, err);
    return rc;
}

/* ---- the end ---- */

static bool workers_stop(struct engine *e) {
    atomic_store(&e->service.stopping, true);
    dispatch_stop(e);
    for (uint32_t i = 0; e->service.workers && i < e->service.worker_count; i++)
        if (e->service.workers[i].started) worker_wake(&e->service.workers[i]);
    for (uint32_t i = 0; i < e->service.pod_count; i++) pod_stop(&e->service.pods[i]);
    atomic_store(&e->service.drained, true);
    for (uint32_t i = 0; e->service.workers && i < e->service.worker_count; i++) {
        uint64_t one = 1;
        if (e->service.workers[i].started) (void)!write(e->service.workers[i].wake_fd, &one, sizeof one);
    }
    if (!hang_join(&e->service)) return false;
    for (uint32_t i = 0; e->service.workers && i < e->service.worker_count; i++)
        if (e->service.workers[i].service) worker_close(&e->service.workers[i]);
    return true;
}

static struct engine *given_up; /* what a worker in a device that hangs may still touch */

static void engine_close(struct engine *e) {
    if (atomic_load(&e->service.hang.given_up)) {
        given_up = e;
        return;
    }
    tiers_close(&e->service);
    hang_close(&e->service);
    together_close(e);
    sampler_close(e);
    scaling_close(e);
    outages_close(e);
    gone_close(e);
    pods_close(e);
    shards_close(e);
    lineup_close(&e->service.lineup);
    counters_free(e->service.counters, e->service.counter_count);
    free(e->service.workers);
    block_close(e->control.block);
    free(e->control.devices);
    payload_close(e->service.payload);
    dispatch_destroy(e);
    for (int t = 0; t < USAGES; t++) usage_destroy(&e->service.usage[t]);
    oracle_close(e->service.oracle);
    workload_close(e->dispatch.workload);
    events_destroy(&e->events);
    sem_destroy(&e->service.workers_open);
    pthread_mutex_destroy(&e->service.cache_lock);
    free(e);
}

/* ---- control ---- */

struct course {
    struct engine *e;
    enum kvf_run_phase phase;
    uint64_t phase_end_ns, next_sample_ns;
    bool ended;
    bool closed; /* with an interval that was just closed */
};

static void control_end(struct course *c, enum run_status status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static void control_end(struct course *c, enum run_status status, const char *fmt, ...) {
    struct run_record *run = c->e->setup->run;
    va_list ap;
    if (c->ended) return;
    c->ended = true;
    run->status = status;
    va_start(ap, fmt);
    vsnprintf(run->status_reason, sizeof run->status_reason, fmt, ap);
    va_end(ap);
}

static void pause_or_resume(struct engine *e, bool pause, const char *who) {
    if (run_clock_paused(&e->clock) == pause) return;
    if (pause)
        run_clock_pause(&e->clock);
    else
        run_clock_resume(&e->clock);
    if (engine_is_virtual(e)) simulator_paused(e, pause);
    events_changed(&e->events, RECORD_EVENT_PAUSE, pause ? "on" : "off", "%s by %s",
                   pause ? "paused" : "resumed", who);
    for (uint32_t i = 0; i < e->service.worker_count; i++) worker_wake(&e->service.workers[i]);
    dispatch_wake(e);
}

/* As many as may be asked for by hand, or as the scenario has; none at all would be no run. */
static void users_change(struct engine *e, const struct command *cmd) {
    uint64_t most = e->s->workload.users > COMMAND_USERS_MAX ? e->s->workload.users : COMMAND_USERS_MAX,
             users = cmd->value < most ? cmd->value : most;
    char value[24];
    if (workload_open_loop(e->dispatch.workload)) {
        events_add(&e->events, "warning",
                   "users cannot be changed: in an open loop requests do not wait for them");
    } else if (users == 0) {
        events_add(&e->events, "warning",
                   "users cannot be 0: the fewest is 1; to stop all requests, pause the run");
    } else {
        snprintf(value, sizeof value, "%" PRIu64, users);
        events_changed(&e->events, RECORD_EVENT_USERS, value, "users %s by %s%s", value, cmd->text,
                       users < cmd->value ? " (the most that a run can have)" : "");
        scaling_by_hand(e, cmd);
        together_set_users(e, users);
    }
}

static void generation_change(struct engine *e, const struct command *cmd) {
    uint64_t ns = cmd->value < TOKEN_NS_MAX ? cmd->value : TOKEN_NS_MAX;
    char ms[24];
    if (e->service.pods[0].pipeline.compute) {
        events_add(&e->events, "warning", "generation cannot be changed: the modelled GPU sets the time");
        return;
    }
    snprintf(ms, sizeof ms, "%.3g", (double)ns / 1e6);
    events_changed(&e->events, RECORD_EVENT_GENERATION, ms, "generation %s ms per token by %s", ms,
                   cmd->text);
    for (uint32_t i = 0; i < e->service.pod_count; i++)
        atomic_store(&e->service.pods[i].pipeline.ns_per_token, ns);
}

static void speed_change(struct engine *e, const struct command *cmd) {
    double speed = (double)cmd->value / COMMAND_SPEED_ONE;
    char value[24];
    if (!engine_is_virtual(e)) {
        events_add(&e->events, "warning", "the speed cannot be changed: this run is real, in real time");
    } else if (speed != e->control.simulator.speed) {
        simulator_speed(e, speed);
        snprintf(value, sizeof value, "%.4g", speed);
        events_changed(&e->events, RECORD_EVENT_SPEED, value, "speed %s%s by %s",
                       speed > 0 ? value : "as fast as possible", speed > 0 ? " x real time" : "", cmd->text);
    }
}

static void command_obey(struct course *c, const struct command *cmd) {
    struct engine *e = c->e;
    if (cmd->kind == COMMAND_PAUSE || cmd->kind == COMMAND_RESUME || cmd->kind == COMMAND_GENERATION)
        together_command(e, cmd);
    switch (cmd->kind) {
    case COMMAND_PAUSE:
        pause_or_resume(e, true, cmd->text);
        break;
    case COMMAND_RESUME:
        pause_or_resume(e, false, cmd->text);
        break;
    case COMMAND_USERS:
        users_change(e, cmd);
        break;
    case COMMAND_GENERATION:
        generation_change(e, cmd);
        break;
    case COMMAND_AUTOSCALER:
        scaling_command(e, cmd);
        break;
    case COMMAND_SPEED:
        speed_change(e, cmd);
        break;
    case COMMAND_FOLLOW:
        dispatch_follow(e, cmd->value);
        break;
    case COMMAND_MARK:
        events_add(&e->events, "mark", "%s", cmd->text);
        break;
    case COMMAND_STOP:
    case COMMAND_ABORT:
        control_end(c, RUN_INTERRUPTED, "stopped by %s", cmd->text);
        break;
    default:
        break;
    }
}

static void control_wait(struct course *c, uint64_t until_ns) {
    struct engine *e = c->e;
    struct pollfd p[3] = {{.fd = e->events.fd, .events = POLLIN},
                          {.fd = e->setup->commands ? command_fd(e->setup->commands) : -1, .events = POLLIN},
                          {.fd = together_fd(e), .events = POLLIN}};
    uint64_t wait = KVF_NEVER, look = hang_patience_ns(&e->service),
             written = use_written_look_ns(&e->service);
    char why[USE_WHY];
    if (!run_clock_paused(&e->clock)) {
        uint64_t now = engine_now(e);
        wait = until_ns > now ? until_ns - now : 0;
        /* what was asked at the end of an interval comes before the next */
        if (engine_is_virtual(e)) wait = poll(p, 3, 0) > 0 ? 0 : simulator_run(e, until_ns);
    }
    if (look < wait) wait = look;
    if (written < wait) wait = written;
    struct timespec limit = {(time_t)(wait / KVF_NS_PER_S), (long)(wait % KVF_NS_PER_S)};
    ppoll(p, 3, wait == KVF_NEVER ? NULL : &limit, NULL);
    hang_look(&e->service);
    if (use_written_out(&e->service, c->phase == KVF_PHASE_PREPARE, why))
        control_end(c, c->phase == KVF_PHASE_PREPARE ? RUN_FAILED : RUN_COMPLETED, "%s", why);
    if (hang_is(&e->service) && !c->ended) sampler_peek(e, c->phase);
    events_heard(&e->events, p[0].revents & POLLIN);
    /* Of consecutive changes of the number of users, only the last counts. */
    struct command cmd, next;
    while (together_hear(e, &cmd)) command_obey(c, &cmd);
    bool more = e->setup->commands && command_take(e->setup->commands, &cmd);
    while (more) {
        more = command_take(e->setup->commands, &next);
        if (!more || cmd.kind != COMMAND_USERS || next.kind != COMMAND_USERS) {
            command_obey(c, &cmd);
            if (!c->ended) sampler_peek(e, c->phase); /* who asked sees at once what became of it */
        }
        cmd = next;
    }
    events_flush(e);
    if (atomic_load(&e->events.failed) && !e->setup->keep_going)
        control_end(c, RUN_FAILED, "%s", e->events.error);
    enum run_status status;
    char because[400];
    if (!c->ended && together_ends(e, &status, because, sizeof because))
        control_end(c, status, "%s", because);
}

static void step_carry_out(struct course *c, const struct prepare_step *step) {
    struct engine *e = c->e;
    char what[80];
    double share;
    bool more = true;
    while (!c->ended && more) {
        more = prepare_go_on(e, step, what, sizeof what, &share);
        if (!more) share = 1; /* entries fill a volume to within one of them */
        if (e->setup->on_prepare) e->setup->on_prepare(e->setup->ctx, what, share);
        sampler_peek(e, c->phase);
        /* a simulation comes back in good time by itself */
        if (more) control_wait(c, engine_is_virtual(e) ? KVF_NEVER : engine_now(e) + 200 * KVF_NS_PER_MS);
    }
}

/* The steps of the preparation; false when the run has ended in it. */
static bool prepare(struct course *c) {
    struct engine *e = c->e;
    for (const struct prepare_step *step = prepare_steps; step->name && !c->ended; step++) {
        e->preparation.now = (struct prepare){0};
        if (!step->begin(e)) continue;
        step_carry_out(c, step);
        prepare_end(e);
        if (step->end) step->end(e, !c->ended);
    }
    return !c->ended;
}

/* Runs that nobody joins begin together by the clock on the wall. Too late is said, not made up for. */
static bool begin_at(struct course *c) {
    struct engine *e = c->e;
    uint64_t at = e->setup->start_at_ns, now = clock_wall_ns();
    if (at == 0 || engine_is_virtual(e)) return !c->ended;
    if (now > at)
        events_add(
            &e->events, "warning",
            "the run began %.3f s after the time of --start-at: the preparation took longer; name a later "
            "time",
            (double)(now - at) / 1e9);
    if (now < at && e->setup->on_prepare)
        e->setup->on_prepare(e->setup->ctx, "waiting for the time of --start-at", 1);
    while (!c->ended && (now = clock_wall_ns()) < at) {
        uint64_t rest = at - now < 200 * KVF_NS_PER_MS ? at - now : 200 * KVF_NS_PER_MS;
        control_wait(c, engine_now(e) + rest);
    }
    return !c->ended;
}

/* Ranks begin together, and those that are ready before the others wait. */
static bool begin_together(struct course *c) {
    struct engine *e = c->e;
    if (scenario_ranks(e->s) > 1 && e->setup->on_prepare)
        e->setup->on_prepare(e->setup->ctx, "waiting for the other ranks", 1);
    while (!c->ended && !together_begins(e)) control_wait(c, engine_now(e));
    return !c->ended;
}

static void phase_begin(struct course *c, enum kvf_run_phase phase, uint64_t length_ns) {
    uint64_t now = c->e->control.sampler->last.run_ns;
    c->phase = phase;
    c->phase_end_ns = now + length_ns;
    c->next_sample_ns = now + c->e->s->run.interval_ns;
}

/* A phase's end closes its interval; a workload that ended in the warm-up is measured as a whole. */
static void control_step(struct course *c) {
    struct engine *e = c->e;
    uint64_t now = engine_now(e);
    if (c->phase == KVF_PHASE_WARMUP && now >= c->phase_end_ns && !c->ended) {
        e->control.moment = TOGETHER_MEASURED;
        sampler_interval(e, c->phase);
        sampler_measure_from_here(e);
        phase_begin(c, KVF_PHASE_MEASURED, e->s->run.duration_ns);
        scaling_begin(e);
    } else if (c->phase == KVF_PHASE_MEASURED && now >= c->phase_end_ns) {
        control_end(c, RUN_COMPLETED, "%s", "");
    } else if (now >= c->next_sample_ns && !c->ended) {
        /* absolute deadlines; what a stall of the machine skipped is not made up for */
        for (; c->next_sample_ns <= now; e->control.moment++) c->next_sample_ns += e->s->run.interval_ns;
        sampler_interval(e, c->phase);
    }
    if (scaling_finished(e) && !c->ended) {
        c->closed = true;
        control_end(c, RUN_COMPLETED, "%s", scaling_finished(e));
    }
    if (atomic_load(&e->dispatch.done) && together_done(e)) control_end(c, RUN_COMPLETED, "%s", "");
}

static uint64_t next_ns(const struct course *c) {
    uint64_t next = c->phase_end_ns < c->next_sample_ns ? c->phase_end_ns : c->next_sample_ns;
    uint64_t outage = engine_is_virtual(c->e) ? KVF_NEVER : outages_next_ns(c->e);
    return outage < next ? outage : next;
}

static void control_run(struct course *c) {
    struct engine *e = c->e;
    e->control.moment = 1;
    sampler_begin(e);
    tracelog_arm(e->service.log, e->control.sampler->zero_ns);
    outages_begin(e, e->control.sampler->zero_ns);
    dispatch_begin_arrivals(e, e->control.sampler->zero_ns);
    together_early(e);
    bool warmup = e->s->run.warmup_ns > 0;
    phase_begin(c, warmup ? KVF_PHASE_WARMUP : KVF_PHASE_MEASURED,
                warmup ? e->s->run.warmup_ns : e->s->run.duration_ns);
    if (!warmup) scaling_begin(e);
    sampler_peek(e, c->phase);
    while (!c->ended) {
        control_wait(c, next_ns(c));
        if (!engine_is_virtual(e)) outages_due(e, engine_now(e));
        gone_look(e);
        control_step(c);
    }
    e->control.warmup_counted = c->phase == KVF_PHASE_WARMUP;
    if (e->control.warmup_counted)
        events_add(&e->events, "warning",
                   "the run ended during the warm-up, so the warm-up was counted as measured; run.warmup: "
                   "0 avoids this");
    scaling_end(e);
    e->control.moment = TOGETHER_END;
    together_end(e, e->setup->run->status, e->setup->run->status_reason);
    if (!c->closed) sampler_interval(e, KVF_PHASE_MEASURED);
    sampler_measure_to_here(e);
    tracelog_disarm(e->service.log);
}

static void trace_hash(struct engine *e, struct run_record *run) {
    struct err err = {0};
    if (e->s->workload.path[0] == '\0' || !scenario_source_has(e->s, SOURCE_FILE)) return;
    if (listing_sha256(e->s->workload.path, ".json", e->s->workload.limit, run->trace_sha256, &err) != 0) {
        run->trace_sha256[0] = '\0';
        events_add(&e->events, "warning", "%s", err.text);
    }
}

static void rejected_event(struct engine *e) {
    const struct workload_rows *r = workload_rows(e->dispatch.workload);
    if (r->read > r->emitted)
        events_add(&e->events, "warning",
                   "%" PRIu64 " of %" PRIu64 " rows of the trace %s rejected, the first at line %" PRIu64
                   ": %s",
                   (r->read - r->emitted), r->read, r->read - r->emitted == 1 ? "was" : "were",
                   r->first_rejected_line, r->first_rejected_why);
    if (r->lost > 0)
        events_add(&e->events, "warning", "the trace has gaps; lost messages: %" PRIu64, r->lost);
    if (r->stopped_why[0])
        events_add(&e->events, "warning", "the file of the workload was read no further: %s", r->stopped_why);
}

/* Users without a conversation of the file are in every figure per user, and ask nothing. */
static void unasked_event(struct engine *e) {
    uint64_t idle = e->dispatch.users.unasked, all = e->dispatch.users.active, enough = all - idle;
    if (scenario_ranks(e->s) > 1 && all > 0)
        enough = e->s->workload.users * enough / all; /* the key is of all */
    if (idle > 0 && scenario_source_has(e->s, SOURCE_FILE))
        events_add(&e->events, "warning",
                   "%" PRIu64 " of %" PRIu64
                   " users had nothing to ask: the file of the workload has too few "
                   "conversations; set workload.users to %" PRIu64,
                   idle, all, enough);
}

static void run_finish(struct engine *e, bool ran) {
    struct run_record *run = e->setup->run;
    struct err err = {0};
    bool whole = workers_stop(e);
    /* an incomplete log is an error of the run, and known only now */
    if (whole) {
        if (tracelog_close(e->service.log, &err) != 0) events_error(&e->events, err.text);
        e->service.log = NULL;
        engine_check_sums(e);
    }
    if (ran) {
        e->control.moment = TOGETHER_DRAINED;
        events_flush(e); /* before the last counts: what comes after them is heard no more */
        if (atomic_load(&e->events.failed) && !e->setup->keep_going)
            together_end(e, RUN_FAILED, e->events.error);
        sampler_interval(e, KVF_PHASE_DRAIN);
        if (atomic_load(&e->events.failed) && !e->setup->keep_going && run->status == RUN_COMPLETED) {
            run->status = RUN_FAILED;
            snprintf(run->status_reason, sizeof run->status_reason, "%s", e->events.error);
        }
        if (run->status == RUN_COMPLETED)
            (void)together_ends(e, &run->status, run->status_reason, sizeof run->status_reason);
        hang_fail(&e->service.hang, run);
        result_fill(e, run);
        if (!shards_served(e)) assess_nothing_done(e->s, run);
        rejected_event(e);
        unasked_event(e);
        ingest_finish(e);
        overload_finish(e);
    }
    together_results(e, run);
    result_assess(e, run);
    trace_hash(e, run);
    if (e->setup->fifo && fifo_dropped(e->setup->fifo) > 0)
        events_add(&e->events, "warning",
                   "intervals lost because the database did not take them in time: %" PRIu64,
                   fifo_dropped(e->setup->fifo));
    events_flush(e);
}

int engine_run(const struct engine_setup *setup, struct err *e) {
    struct engine *engine = mem_zalloc(1, sizeof *engine);
    struct run_record *run = setup->run;
    struct course c = {.e = engine, .phase = KVF_PHASE_PREPARE};
    uint64_t begun = clock_now_ns();
    run->status = RUN_RUNNING;
    int rc = engine_open(engine, setup, e);
    if (rc != 0) {
        workers_stop(engine);
        tracelog_discard(engine->service.log);
        engine_close(engine);
        if (run->status != RUN_INTERRUPTED) return rc;
        assess_run(setup->scenario, run);
        return 0;
    }
    sampler_begin(engine);
    bool ran = prepare(&c);
    uint64_t took = engine_is_virtual(engine) ? engine_now(engine) - engine->control.sampler->zero_ns
                                              : clock_now_ns() - begun;
    result_add(&run->results, (double)took / 1e9, 0, "prepare_s");
    ran = ran && begin_at(&c) && begin_together(&c);
    if (ran) control_run(&c);
    together_end(engine, run->status, run->status_reason);
    run_finish(engine, ran);
    engine_close(engine);
    return 0;
}
