#include "engine/scaling.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/units.h"
#include "engine/core.h"
#include "engine/scale/saturation.h"
#include "engine/sampling/together.h"
#include "engine/verdict_readings.h"
#include "record/judge/judge.h"

/* Of one moment: the end of one search, the begin of the next. An interval takes no more. */
enum { PENDING = SNAPSHOT_DECISIONS };

#define HOLD_DEFAULT (20 * KVF_NS_PER_S) /* lasts longer where contexts take longer to average out */

struct scaling {
    struct autoscaler search;  /* that goes on, or the last one */
    enum autoscaler_mode mode; /* off, or what is on; before the measured part: what will be */
    bool measuring;            /* inside the measured part */
    bool used;                 /* there was one in this run */
    bool fresh;                /* it has begun and seen no interval: its begin is the last one pending */
    bool finished;             /* its search has ended and the run is to stop */
    uint64_t turned_away;      /* writes since it has begun */
    uint64_t decisions;
    struct snapshot_decision pending[PENDING];
    unsigned pendings;
};

/* ---- saturation ---- */

static double target_ms(const struct scenario_class *c) {
    return c->p95_ns == KVF_UNSET ? KVF_MISSING : (double)c->p95_ns / (double)KVF_NS_PER_MS;
}

/* Users that wait for their answers cannot be more than the slots unless there are more of them. */
static bool can_wait(const struct engine *e, uint64_t users) {
    bool closed =
        !workload_open_loop(e->dispatch.workload) && e->s->workload.arrival.process != KVF_ARRIVAL_PACED;
    return !closed || users > pods_slots(e->s);
}

/* Of the interval; as verdicts have it. */
static void add_gpu(const struct engine *e, double length_s, struct saturation_input *in) {
    const struct compute_stats *a = &e->control.sampler->last.compute, *b = &e->control.sampler->now.compute;
    double fs = length_s * 1e15, all_fs = fs * pods_machines(e->s);
    in->gpu_load = in->outside = KVF_MISSING;
    if (!e->service.pods[0].pipeline.compute || !(length_s > 0)) return;
    double work = fmax((double)(b->flops - a->flops), (double)(b->memory - a->memory));
    struct judge_input gpu = {.compute_busy = (double)(b->busy - a->busy) / all_fs,
                              .compute_work = work / all_fs};
    in->gpu_load = judge_gpu(&gpu).load;
    in->outside = (double)(b->waiting - a->waiting) / fs;
}

double scaling_saturation(struct engine *e, const struct snapshot *snap) {
    const struct scenario *s = e->s;
    const struct snapshot_interval *i = &snap->interval;
    struct saturation_input in = {.classes = snap->classes,
                                  .can_wait = can_wait(e, i->users),
                                  .arrived = i->arrived,
                                  .waiting_before = e->control.sampler->last.queued,
                                  .waiting = i->queue_depth,
                                  .in_service = i->in_service_now,
                                  .device_busy = i->device_busy_ratio,
                                  .weight_latency = s->autoscaler.weight_latency,
                                  .weight_queue = s->autoscaler.weight_queue,
                                  .weight_device = s->autoscaler.weight_device};
    bool ttft = s->qos.latency == KVF_QOS_LATENCY_TTFT;
    if (i->phase == KVF_PHASE_PREPARE || i->phase == KVF_PHASE_DRAIN) return KVF_MISSING;
    for (uint32_t k = 0; k < snap->classes; k++) {
        const struct snapshot_qos *q = &snap->qos[k];
        in.klass[k] = (struct saturation_class){.target_ms = target_ms(&s->qos.klass[k]),
                                                .p95_ms = ttft ? q->ttft_p95_ms : q->e2e_p95_ms,
                                                .oldest_wait_ms = q->queued > 0 ? q->oldest_wait_ms : 0};
    }
    for (int t = 0; t < KVF_TIERS; t++) {
        bool emulated = snap->tier_on[t] && snap->tier_emulated[t];
        in.link_busy[t] = emulated ? snap->tier[t].busy_ratio : KVF_MISSING;
    }
    add_gpu(e, i->length_s, &in);
    return saturation_of(&in).value;
}

/* ---- searches ---- */

/* Mean turns of a conversation: until its end is drawn, or max_turns; 0 where there is none. */
static double mean_turns(const struct scenario *s) {
    double ends = s->workload.conversation.end_probability,
           turns = (double)s->workload.conversation.max_turns;
    if (!scenario_source_has(s, SOURCE_PERSONAS)) return 0;
    return ends > 0 ? (1 - pow(1 - ends, turns)) / ends : turns;
}

static struct autoscaler_config config_of(const struct scenario *s, enum autoscaler_mode mode) {
    bool targets = s->autoscaler.signal == KVF_AUTOSCALER_SIGNAL_TARGETS;
    bool nvme = s->autoscaler.objective == KVF_AUTOSCALER_OBJECTIVE_NVME;
    struct autoscaler_config c = {.mode = mode,
                                  .min_users = s->autoscaler.min_users,
                                  .max_users = s->autoscaler.max_users,
                                  .settle_s = (double)s->autoscaler.settle_ns / 1e9,
                                  .stage_s = (double)s->autoscaler.stage_ns / 1e9,
                                  .hold_s = (double)s->autoscaler.hold_ns / 1e9,
                                  .cooldown_s = (double)s->autoscaler.cooldown_ns / 1e9,
                                  .growth = s->autoscaler.growth,
                                  .backoff = s->autoscaler.backoff,
                                  .precision = s->autoscaler.precision,
                                  .tolerance = s->autoscaler.tolerance};
    if (mode == AUTOSCALER_QOS && s->autoscaler.hold_ns == HOLD_DEFAULT) c.turns = mean_turns(s);
    c.rules.limit_saturation = s->autoscaler.target_saturation;
    c.rules.figure = mode == AUTOSCALER_QOS ? targets ? STAGE_TARGETS : STAGE_SATURATION
                     : nvme                 ? STAGE_NVME
                                            : STAGE_TOKENS;
    c.rules.paced = s->workload.arrival.process == KVF_ARRIVAL_PACED;
    c.rules.classes = s->qos.classes;
    for (uint32_t k = 0; k < s->qos.classes; k++) {
        snprintf(c.rules.name[k], sizeof c.rules.name[k], "%.31s", s->qos.klass[k].name);
        c.rules.target_ms[k] = target_ms(&s->qos.klass[k]);
    }
    return c;
}

static uint64_t users_now(struct engine *e) {
    if (e->control.together) return together_users(e);
    pthread_mutex_lock(&e->service.queue_lock);
    uint64_t users = e->dispatch.users.active;
    pthread_mutex_unlock(&e->service.queue_lock);
    return users;
}

static void decided(struct engine *e, const struct snapshot_decision *d) {
    struct scaling *s = e->control.scaling;
    if (s->pendings < PENDING) s->pending[s->pendings++] = *d;
    if (d->users_after != users_now(e)) together_set_users(e, d->users_after);
}

/* Notes a change that no stage has caused. */
static void note_end(struct engine *e, const char *action, const char *reason) {
    struct scaling *s = e->control.scaling;
    uint64_t users = users_now(e);
    struct snapshot_decision d = {.users_before = users,
                                  .users_after = users,
                                  .saturation = KVF_MISSING,
                                  .throughput_tok_s = KVF_MISSING,
                                  .p95_ms = KVF_MISSING};
    snprintf(d.mode, sizeof d.mode, "%s", autoscaler_mode_name(s->mode));
    snprintf(d.action, sizeof d.action, "%s", action);
    snprintf(d.reason, sizeof d.reason, "%.199s", reason);
    decided(e, &d);
}

/* Stages that the run has time for, against what an answer takes. */
static void warn_of_time(struct engine *e, const struct autoscaler_config *c) {
    enum { LEAST = 8 };
    double left_s = (double)e->s->run.duration_ns / 1e9, stage_s = c->settle_s + c->stage_s;
    double hold_s = c->mode == AUTOSCALER_QOS ? c->hold_s : 0;
    double stages = floor(fmax(0, left_s - hold_s) / stage_s);
    char less[64] = "";
    if (left_s >= LEAST * stage_s + hold_s) return;
    if (hold_s > 0) snprintf(less, sizeof less, " less autoscaler.hold, %.4g s,", hold_s);
    events_add(
        &e->events, "warning",
        "run.duration %.4g s%s has room for %.0f stage%s of %.4g s, and an answer commonly takes %d to %d%s; "
        "make the run longer or autoscaler.stage shorter",
        left_s, less, stages, stages == 1 ? "" : "s", stage_s, LEAST, 2 * LEAST,
        hold_s > 0 ? " and the hold" : "");
}

/* Users whose conversations are young ask for less than they will later. */
static void users_begin_amid(struct engine *e) {
    pthread_mutex_lock(&e->service.queue_lock);
    workload_begin_amid(e->dispatch.workload);
    pthread_mutex_unlock(&e->service.queue_lock);
}

static void search_begin(struct engine *e) {
    struct scaling *s = e->control.scaling;
    struct autoscaler_config config = config_of(e->s, s->mode);
    struct snapshot_decision d;
    users_begin_amid(e);
    autoscaler_init(&s->search, &config, users_now(e), &d);
    s->used = s->fresh = true;
    s->finished = false;
    s->turned_away = 0;
    decided(e, &d);
}

/* A search that was begun and ended between two intervals leaves no trace; one that was to begin and was
 * called off leaves one. */
static void search_end(struct engine *e, const char *reason) {
    struct scaling *s = e->control.scaling;
    if (s->mode == AUTOSCALER_OFF) return;
    if (s->measuring && s->fresh)
        s->pendings--;
    else if (s->measuring || s->pendings == 0)
        note_end(e, "off", reason);
    s->mode = AUTOSCALER_OFF;
    s->fresh = false;
}

void scaling_begin(struct engine *e) {
    struct scaling *s = e->control.scaling;
    s->measuring = true;
    if (s->mode == AUTOSCALER_OFF) return;
    search_begin(e);
    warn_of_time(e, &s->search.config);
}

static void tell_answer(struct engine *e, enum autoscaler_answer before, const struct snapshot_decision *d) {
    struct scaling *s = e->control.scaling;
    char known[200];
    if (s->search.answer == before) return;
    if (s->search.answer == AUTOSCALER_SEEKING) {
        events_add(&e->events, "info", "autoscaler: the answer does not hold any more; %s", d->reason);
        return;
    }
    autoscaler_known(&s->search, known, sizeof known);
    events_add(&e->events, s->search.answer == AUTOSCALER_TOO_MANY ? "warning" : "info", "%s", known);
    if (s->mode == AUTOSCALER_QOS && s->turned_away > 0)
        events_add(&e->events, "warning",
                   "autoscaler: %" PRIu64 " write%s turned away by cache.admission or an outage meanwhile, "
                   "which the answer does not count against a number of users",
                   s->turned_away, s->turned_away == 1 ? " was" : "s were");
    if (s->mode == AUTOSCALER_CAPACITY && s->search.peak_noise > s->search.config.tolerance)
        events_add(&e->events, "warning",
                   "intervals scatter so much that a stage of %.4g s knows its throughput to %.1f %% only; "
                   "make autoscaler.stage longer to know the answer better",
                   s->search.config.stage_s, 100 * s->search.peak_noise);
    s->finished = e->s->autoscaler.when_found == KVF_AUTOSCALER_FOUND_STOP;
}

/* Of the last interval, as standing.h has it: in haste, and by a rule or an outage. */
static bool slipped(const struct engine *e, const struct snapshot_interval *i) {
    const struct cache_stats *c = &e->control.sampler->cache;
    return !scenario_recomputes(e->s) && i->fell_through + c->copies_skipped + c->lookups_given_up > 0;
}

static uint64_t turned_away(const struct engine *e, const struct snapshot_interval *i) {
    return scenario_recomputes(e->s) ? 0 : i->not_admitted + e->control.sampler->cache.outage_dropped;
}

static void signals_of(const struct engine *e, const struct snapshot *snap, const struct counters *d,
                       struct stage_signals *in) {
    const struct snapshot_interval *i = &snap->interval;
    const struct snapshot_tier *nvme = &snap->tier[KVF_TIER_NVME];
    double per_token = (double)model_bytes_per_token(&e->s->model, e->s->tensor_parallel);
    bool ttft = e->s->qos.latency == KVF_QOS_LATENCY_TTFT;
    *in = (struct stage_signals){.length_s = i->length_s,
                                 .saturation = i->saturation,
                                 .tokens = (double)i->tokens,
                                 .load_tokens = (double)counters_get(&d->load_tokens),
                                 .usual_tokens = (double)counters_get(&d->usual_tokens),
                                 .nvme_tokens = (double)(nvme->read_bytes + nvme->write_bytes) / per_token};
    for (uint32_t r = 0; r < snap->requests; r++)
        in->oldest_ms = fmax(in->oldest_ms, snap->request[r].age_ms);
    for (uint32_t k = 0; k < snap->classes; k++)
        if (snap->qos[k].queued > 0) in->oldest_ms = fmax(in->oldest_ms, snap->qos[k].oldest_wait_ms);
    const struct histogram *e2e = &d->latency[REQUEST_LATENCY_E2E];
    in->slipped = slipped(e, i);
    in->undone = in->slipped || turned_away(e, i) > 0 || i->failed + i->dropped + i->errors > 0;
    in->arrived = i->arrived;
    in->done = histogram_count(e2e);
    if (in->done) in->e2e_s = histogram_mean(e2e) * (double)in->done / 1e9;
    for (uint32_t k = 0; k < snap->classes; k++)
        in->klass[k] = (struct stage_class_signals){.latency = ttft ? &d->klass[k].ttft : &d->klass[k].e2e,
                                                    .missed = counters_get(&d->klass[k].missed),
                                                    .failed = snap->qos[k].failed,
                                                    .waiting = snap->qos[k].queued,
                                                    .in_service = snap->qos[k].in_service_now,
                                                    .oldest_wait_ms = snap->qos[k].oldest_wait_ms,
                                                    .overtaken = e->control.sampler->overtaken[k]};
}

static void step(struct engine *e, const struct snapshot *snap, const struct counters *d) {
    struct scaling *s = e->control.scaling;
    enum autoscaler_answer before = s->search.answer;
    struct snapshot_decision decision;
    struct stage_signals in;
    signals_of(e, snap, d, &in);
    s->turned_away += turned_away(e, &snap->interval);
    s->fresh = false;
    if (!autoscaler_step(&s->search, &in, &decision)) return;
    decided(e, &decision);
    tell_answer(e, before, &decision);
}

void scaling_interval(struct engine *e, struct snapshot *snap, const struct counters *d) {
    struct scaling *s = e->control.scaling;
    if (s->measuring && s->mode != AUTOSCALER_OFF) step(e, snap, d);
    snap->decisions = s->pendings;
    memcpy(snap->decision, s->pending, s->pendings * sizeof s->pending[0]);
    for (unsigned i = 0; i < s->pendings; i++)
        run_record_decision(e->setup->run, &s->pending[i], snap->interval.t_s);
    s->decisions += s->pendings;
    s->pendings = 0;
}

const char *scaling_finished(const struct engine *e) {
    const struct scaling *s = e->control.scaling;
    if (!s->finished) return NULL;
    return s->search.answer == AUTOSCALER_TOO_MANY
               ? "the autoscaler has no answer, and autoscaler.when_found is stop"
               : "the autoscaler has found its answer, and autoscaler.when_found is stop";
}

void scaling_end(struct engine *e) {
    struct scaling *s = e->control.scaling;
    char known[200];
    if (s->measuring && s->mode != AUTOSCALER_OFF && s->search.answer == AUTOSCALER_SEEKING) {
        autoscaler_known(&s->search, known, sizeof known);
        note_end(e, "end", known);
        events_add(&e->events, "warning", "autoscaler %s: the run has ended with %s",
                   autoscaler_mode_name(s->mode), known);
    }
    s->measuring = false;
}

/* ---- commands ---- */

void scaling_command(struct engine *e, const struct command *cmd) {
    struct scaling *s = e->control.scaling;
    enum autoscaler_mode mode =
        cmd->value <= AUTOSCALER_CAPACITY ? (enum autoscaler_mode)cmd->value : AUTOSCALER_OFF;
    const char *key = "", *why = NULL;
    char reason[200];
    if (e->s->ranks.number > 0 && mode != AUTOSCALER_OFF) users_begin_amid(e);
    if (e->s->ranks.number > 0 || mode == s->mode) return;
    if (workload_open_loop(e->dispatch.workload))
        why = "arrivals come from the trace, not from users";
    else
        why = scenario_autoscaler_refusal(e->s, (enum scenario_autoscaler)mode, &key);
    if (mode != AUTOSCALER_OFF && why) {
        events_add(&e->events, "warning", "the autoscaler stays %s: %s%s%s", autoscaler_mode_name(s->mode),
                   key, key[0] ? ": " : "", why);
        return;
    }
    snprintf(reason, sizeof reason, "switched to %s by %.100s", autoscaler_mode_name(mode), cmd->text);
    events_changed(&e->events, RECORD_EVENT_AUTOSCALER, autoscaler_mode_name(mode), "autoscaler %s by %s",
                   autoscaler_mode_name(mode), cmd->text);
    search_end(e, reason);
    s->mode = mode;
    if (mode == AUTOSCALER_OFF) return;
    together_command(e, cmd); /* the users of other ranks begin amid conversations, too */
    if (s->measuring) search_begin(e);
}

void scaling_by_hand(struct engine *e, const struct command *cmd) {
    struct scaling *s = e->control.scaling;
    char reason[200];
    if (s->mode == AUTOSCALER_OFF) return;
    snprintf(reason, sizeof reason,
             "the users were changed to %" PRIu64 " by %.100s, which ends the autoscaler", cmd->value,
             cmd->text);
    events_changed(&e->events, RECORD_EVENT_AUTOSCALER, autoscaler_mode_name(AUTOSCALER_OFF),
                   "autoscaler off: the users were changed by %s", cmd->text);
    search_end(e, reason);
}

/* ---- results ---- */

void scaling_results(const struct engine *e, struct result_list *out) {
    const struct scaling *s = e->control.scaling;
    bool found;
    if (!s->used) return;
    double users = autoscaler_users(&s->search, &found);
    bool stages = s->search.peak > 0;
    result_add(out, users, 0, "autoscaler_users");
    result_add(out, found, 0, "autoscaler_found");
    result_add(out, (double)s->decisions, 0, "autoscaler_decisions");
    result_add(out, stages ? s->search.peak : KVF_MISSING, 0, "peak_throughput_tok_s");
    result_add(out, stages ? (double)s->search.peak_users : KVF_MISSING, 0, "users_at_peak");
}

/* Mean time of a conversation; 0 where there is none. */
static double conversation_s(const struct engine *e, double done) {
    const struct sampler *p = e->control.sampler;
    double turns = mean_turns(e->s);
    return turns > 1 && done > 0 ? turns * (p->end.users_s - p->base.users_s) / done : 0;
}

/* Contexts are longer and shorter in turn, for as long as conversations last. Targets are missed while they
 * are long, and a search ends while they are short. */
static void warn_of_moment(const struct engine *e, struct run_record *run) {
    double length_s = conversation_s(e, result_value(&run->results, "requests_done")),
           hold_s = (double)kvf_max(e->s->autoscaler.hold_ns, e->s->autoscaler.stage_ns) / 1e9;
    char mean[24];
    const struct autoscaler_config *c = &e->control.scaling->search.config;
    if (c->mode != AUTOSCALER_QOS || c->turns > 1 || length_s <= hold_s) return;
    verdict_warn(&run->verdict,
                 "a conversation takes %s in the mean, longer than autoscaler.hold: contexts may have been "
                 "short while the answer was held, so it may be too high; make hold longer",
                 units_duration_human(length_s * 1e9, mean, sizeof mean));
}

/* So many lookups that miss what had been there, for want of room or of the pod that has it, make an answer
 * one of other work. */
#define MISSED_MOST 0.2

/* A miss is written instead of being read, and computed by nothing. */
static void warn_of_written(struct run_record *run) {
    double routed = verdict_value(&run->verdict, VERDICT_ROUTING),
           again = verdict_value(&run->verdict, "capacity_miss_ratio") + (kvf_present(routed) ? routed : 0);
    if (again >= MISSED_MOST)
        verdict_warn(&run->verdict,
                     "%.1f %% of lookups missed what had been there, which is written instead of read and "
                     "computed by nothing: less room can give the autoscaler a better answer; a modelled GPU "
                     "(compute.mode: roofline) computes it",
                     100 * again);
}

/* Of chunks of documents every run warns. */
static void warn_of_misses(const struct engine *e, struct run_record *run) {
    double missed = 1 - result_value(&run->results, "reuse_hit_ratio");
    bool free = verdict_free_misses(e), blocks = e->s->cache.granularity == KVF_GRANULARITY_BLOCK;
    if (scenario_rewrites(e->s) && !free) warn_of_written(run);
    if (!blocks && free && missed >= JUDGE_FREE_MISSES)
        verdict_warn(
            &run->verdict,
            "%.1f %% of lookups missed, and at granularity request a miss makes no work: less room can "
            "give the autoscaler a better answer; with cache.granularity: block a modelled GPU "
            "(compute.mode: roofline) computes what missed",
            100 * missed);
}

void scaling_warn(const struct engine *e, struct run_record *run) {
    if (result_value(&run->results, "autoscaler_found") == 1) warn_of_moment(e, run);
    if (kvf_present(result_value(&run->results, "autoscaler_users"))) warn_of_misses(e, run);
}

void scaling_open(struct engine *e) {
    e->control.scaling = mem_zalloc(1, sizeof *e->control.scaling);
    if (e->s->autoscaler.mode != KVF_AUTOSCALER_OFF) users_begin_amid(e);
    if (e->s->ranks.number == 0) e->control.scaling->mode = (enum autoscaler_mode)e->s->autoscaler.mode;
}

void scaling_close(struct engine *e) {
    free(e->control.scaling);
    e->control.scaling = NULL;
}

_Static_assert((int)AUTOSCALER_QOS == (int)KVF_AUTOSCALER_QOS &&
                   (int)AUTOSCALER_CAPACITY == (int)KVF_AUTOSCALER_CAPACITY,
               "modes of the scenario, of commands and of the machine are the same numbers");
