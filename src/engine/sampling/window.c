#include "engine/sampling/window.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#include "record/snapshot.h"

/* A mark at most this often: those of ten seconds, the one before them and the newest have room. */
#define MARK_EVERY_S (WINDOW_S / (WINDOW_MARKS - 4))

/* Of each class's requests inside their target. */
#define TARGET 0.95
/* Of the writes that a tier serves at a time: a gate of so many lets hardly more through when it is wider. */
#define AS_WIDE 0.85

enum { SUMS = sizeof(struct window_sums) / sizeof(double) };

static void sums_scaled(struct window_sums *to, const struct window_sums *s, double sign) {
    double *a = (double *)to;
    const double *b = (const double *)s;
    for (size_t i = 0; i < SUMS; i++) a[i] += sign * b[i];
}

void window_sums_add(struct window_sums *to, const struct window_sums *s) {
    sums_scaled(to, s, 1);
}

void window_sums_beside(struct window_sums *s, double parts) {
    double *const means[] = {
        &s->length_s,    &s->compute_busy_s, &s->compute_flops_s, &s->compute_memory_s, &s->compute_prefill_s,
        &s->kv_use_s,    &s->kv_kept_s,      &s->batch_full_s,    &s->batch_no_room_s,  &s->memory_any_s,
        &s->memory_s[0], &s->memory_s[1],    &s->copying_s,       &s->staging_s};
    for (size_t i = 0; i < sizeof means / sizeof *means; i++) *means[i] /= parts;
    for (int k = 0; k < KVF_CLASSES_MAX; k++) s->class_starved_s[k] /= parts;
    for (int t = 0; t < KVF_TIERS; t++) {
        s->tier_busy_s[t] /= parts;
        s->link_any_s[t] /= parts;
        for (int d = 0; d < KVF_DIRS; d++) s->busy_s[t][d] /= parts, s->link_s[t][d] /= parts;
    }
}

static struct window_sums *mark_at(struct window *w, unsigned i) {
    return &w->mark[(w->first + i) % WINDOW_MARKS];
}

void window_begin(struct window *w) {
    *w = (struct window){.count = 1}; /* all zero: where it began */
}

void window_add(struct window *w, const struct window_sums *interval) {
    sums_scaled(&w->total, interval, 1);
    if (w->total.length_s - mark_at(w, w->count - 1)->length_s >= MARK_EVERY_S)
        *mark_at(w, w->count++) = w->total;
    while (w->count > 1 && mark_at(w, 1)->length_s <= w->total.length_s - WINDOW_S) {
        w->first = (w->first + 1) % WINDOW_MARKS;
        w->count--;
    }
}

void window_look(const struct window *w, const struct window_sums *more, struct window_sums *out) {
    *out = w->total;
    if (more) sums_scaled(out, more, 1);
    sums_scaled(out, &w->mark[w->first], -1);
}

static void tier_means(const struct window_sums *s, struct judge_input *in) {
    in->memory_any = kvf_ratio(s->memory_any_s, s->length_s);
    for (int d = 0; d < KVF_DIRS; d++)
        in->memory_busy[d] = kvf_ratio(s->memory_s[d], s->length_s), in->remote_ops[d] = s->remote_ops[d];
    for (int t = 0; t < KVF_TIERS; t++) {
        in->tier_busy[t] = kvf_ratio(s->tier_busy_s[t], s->length_s);
        in->link_any[t] = kvf_ratio(s->link_any_s[t], s->length_s);
        for (int d = 0; d < KVF_DIRS; d++) {
            in->busy[t][d] = kvf_ratio(s->busy_s[t][d], s->length_s);
            in->link_busy[t][d] = kvf_ratio(s->link_s[t][d], s->length_s);
            in->op_s[t][d] = s->op_s[t][d];
            in->device_s[t][d] = s->device_s[t][d];
            in->line_s[t][d] = s->line_s[t][d];
            in->aside_s[t][d] = s->aside_s[t][d];
            in->moves_s[t][d] = s->moves_s[t][d];
            in->paced_ms[t][d] = kvf_ratio(s->paced_ms[t][d], s->requests);
            in->first_paced_ms[t][d] = kvf_ratio(s->first_paced_ms[t][d], s->first_tokens);
            in->needed[t][d] = s->bytes[t][d] > 0 ? 1 - s->aside_bytes[t][d] / s->bytes[t][d] : 1;
        }
    }
}

void window_means(const struct window_sums *s, struct judge_input *in) {
    in->length_s = s->length_s;
    in->requests = (uint64_t)(s->requests + 0.5);
    in->arrived = s->arrived;
    in->failed = s->failed;
    in->refused = s->refused;
    in->e2e_ms = kvf_ratio(s->e2e_ms, s->requests);
    in->queue_ms = kvf_ratio(s->queue_ms, s->requests);
    in->storage_ms = kvf_ratio(s->storage_ms, s->requests);
    in->prefill_ms = s->requests > 0 ? s->prefill_ms / s->requests : 0;
    in->generation_ms = kvf_ratio(s->generation_ms, s->requests);
    in->ttft_ms = kvf_ratio(s->ttft_ms, s->first_tokens);
    in->device_busy_ratio = kvf_ratio(s->device_busy_s, s->device_known_s);
    in->device_bytes = s->counted_s > 0 ? s->device_bytes : KVF_MISSING;
    in->our_bytes = s->counted_s > 0 ? s->our_bytes : KVF_MISSING;
    in->host_cpu_ratio = kvf_ratio(s->host_busy_s, s->host_known_s);
    in->own_cpu_ratio = kvf_ratio(s->host_own_s, s->host_known_s);
    in->slots_ratio = kvf_ratio(s->slots_busy_s, s->slots_s);
    in->compute_busy = kvf_ratio(s->compute_busy_s, s->length_s);
    in->compute_work = kvf_ratio(fmax(s->compute_flops_s, s->compute_memory_s), s->length_s);
    in->compute_apart = kvf_ratio(s->compute_flops_s + s->compute_memory_s, s->length_s);
    in->batch_waiting = kvf_ratio(s->batch_waiting_s, s->length_s);
    in->batch_held = kvf_ratio(s->batch_held_s, s->length_s);
    in->batch_running = kvf_ratio(s->batch_running_s, s->length_s);
    in->compute_prefill = kvf_ratio(s->compute_prefill_s, s->length_s);
    in->kv_use = kvf_ratio(s->kv_use_s, s->length_s);
    in->kv_kept = kvf_ratio(s->kv_kept_s, s->length_s);
    in->batch_full = kvf_ratio(s->batch_full_s, s->length_s);
    in->batch_no_room = kvf_ratio(s->batch_no_room_s, s->length_s);
    in->users = kvf_ratio(s->users_s, s->length_s);
    in->miss_ratio = kvf_ratio(s->misses, s->lookups);
    in->free_ratio = kvf_ratio(s->free_misses, s->lookups);
    in->missed_prefill = kvf_ratio(s->missed_tokens, s->prefill_tokens);
    in->first_ratio = kvf_ratio(s->firsts, s->sampled);
    in->unwritten_ratio = kvf_ratio(s->unwritten, s->sampled);
    in->held_s = s->held_s;
    in->copying = kvf_ratio(s->copying_s, s->length_s);
    in->staging = kvf_ratio(s->staging_s, s->length_s);
    in->room_ms = kvf_ratio(s->room_ms, s->requests);
    in->first_room_ms = kvf_ratio(s->first_room_ms, s->first_tokens);
    in->first_storage_ms = kvf_ratio(s->first_storage_ms, s->first_tokens);
    tier_means(s, in);
}

static double busier_of(const double busy[KVF_DIRS], const double joint[KVF_DIRS]) {
    double read = busy[KVF_DIR_READ], write = busy[KVF_DIR_WRITE];
    return fmax(fmax(read, write), fmin(1, read * joint[KVF_DIR_READ] + write * joint[KVF_DIR_WRITE]));
}

/* Requests that wait past their target have missed it, though none has ended. */
static void window_targets(const struct window_facts *f, const struct window_sums *s,
                           const struct snapshot *snap, struct judge_input *in) {
    struct standing t = {.p95_alone = f->higher > 0};
    for (int k = 0; k < KVF_CLASSES_MAX; k++) {
        double ended = s->class_judged[k], missed = s->class_missed[k];
        double open = f->longer[k] > 0 ? (double)(snap->qos[k].queued + snap->qos[k].in_service_now) : 0;
        bool late = ended > 0 ? missed > (1 - TARGET) * (ended + open) : missed > 0 || s->class_late[k] > 0;
        bool met = ended > 0 && !late && (open == 0 || missed + open <= (1 - TARGET) * (ended + open));
        bool unjudged = !late && !met && (ended > 0 || s->class_there[k] > 0);
        t.targets += late || met;
        t.missed += late;
        t.unjudged += unjudged;
        t.empty += unjudged && ended == 0;
        t.longer += unjudged && ended > 0;
    }
    in->targets = t.targets > 0;
    in->targets_met = t.missed == 0;
    in->stand = t;
}

/* Requests that ended, those that were dropped among them. */
static double ended_of(const struct window_sums *s) {
    double n = 0;
    for (int k = 0; k < KVF_CLASSES_MAX; k++) n += s->class_done[k] + s->class_failed[k];
    return n;
}

static double open_at_end(const struct snapshot *snap) {
    return (double)(snap->interval.queue_depth + snap->interval.in_service_now);
}

/* As what is open at the end and what came and ended tell. */
static double open_at_start(const struct window_sums *s, const struct snapshot *snap) {
    return ended_of(s) + open_at_end(snap) - s->arrived;
}

/* As of a run (unserved_ratio): where more were open at the start than came, the queue may shrink or stand,
 * and all that it has at the end was not served. */
static void window_waiting(const struct window_sums *s, const struct snapshot *snap, struct judge_input *in) {
    double waits = (double)in->backlog, open = open_at_start(s, snap);
    if (open > in->arrived) in->came_before = open;
    double left = in->came_before > 0 ? waits : fmin(fmax(in->arrived - ended_of(s), 0), waits);
    in->unserved_ratio = kvf_ratio(left, in->came_before + in->arrived);
}

/* As of a run (unsettled_ratio): the growth of the open requests of a closed loop, but for those of users
 * that came. */
static bool unsettled(const struct window_sums *s, const struct snapshot *snap) {
    double mean = kvf_ratio(s->slots_busy_s + s->queued_s, s->length_s);
    double grown = standing_piled(open_at_start(s, snap), mean, open_at_end(snap)) - fmax(s->users_more, 0);
    return standing_behind(1 - kvf_ratio(grown, s->arrived), s->arrived);
}

/* As of a run (classes_unserved). */
static void window_unserved(const struct window_sums *s, const struct snapshot *snap,
                            struct judge_input *in) {
    struct standing_class of[KVF_CLASSES_MAX] = {0};
    const char *name[KVF_CLASSES_MAX];
    for (uint32_t k = 0; k < snap->classes; k++) {
        const struct snapshot_qos *q = &snap->qos[k];
        double ended = s->class_done[k] + s->class_failed[k], now = (double)(q->queued + q->in_service_now);
        of[k] = (struct standing_class){.arrived = s->class_arrived[k],
                                        .open = fmax(now + ended - s->class_arrived[k], 0),
                                        .done = s->class_done[k],
                                        .ended = ended,
                                        .queued = (double)q->queued,
                                        .starved_s = s->class_starved_s[k],
                                        .oldest_s = q->oldest_wait_ms / 1e3};
        name[k] = snap->class_name[k];
    }
    standing_unserved(of, name, snap->classes, s->length_s, in->unserved_ratio >= 0, in->unserved);
}

/* How the load stands at the end. */
static void window_load(const struct window_facts *f, const struct window_sums *s,
                        const struct snapshot *snap, struct judge_input *in) {
    bool closed = f->loop == WINDOW_LOOP_CLOSED;
    in->unserved_ratio = KVF_MISSING;
    in->dispersion = f->dispersion;
    in->came_before = 0;
    in->unsettled = closed && unsettled(s, snap);
    if (!closed) window_waiting(s, snap, in);
    window_unserved(s, snap, in);
}

/* A gate as wide as the tier behind it only moves the line to another place. An emulated one has as many
 * writes at a time as its channels serve, and those whose latency passes beside them, by Little's law. Where
 * its channels are not known it is the time of all at the device to that in which these work. */
static void gate_is_line(const struct window_facts *f, const struct window_sums *s, struct judge_input *in) {
    int most = KVF_TIERS;
    double most_s = 0;
    for (int t = 0; t < KVF_TIERS; t++) {
        if (in->on[t] && s->turns_s[t] > most_s) most_s = s->turns_s[t], most = t;
    }
    if (most == KVF_TIERS || !in->emulated[most]) return;
    double works_s = s->busy_s[most][KVF_DIR_WRITE];
    double channels = f->channels[most], beside_s = s->write_latency_s[most];
    double serves = channels > 0 ? channels + beside_s / works_s : s->device_s[most][KVF_DIR_WRITE] / works_s;
    if (!(works_s > 0) || f->writes < AS_WIDE * serves) return;
    in->op_s[most][KVF_DIR_WRITE] += in->held_s;
    in->line_s[most][KVF_DIR_WRITE] += in->held_s;
    in->held_s = 0;
}

/* Of the turns that there are, those taken; NaN without a gate. */
static double gate_busy(const struct window_facts *f, const struct window_sums *s) {
    double sum = 0;
    for (int t = 0; t < KVF_TIERS; t++) sum += s->turns_s[t];
    return f->writes > 0 ? kvf_ratio(sum, f->writes * fmax(f->machines, 1) * s->length_s) : KVF_MISSING;
}

void window_describe(const struct window_facts *f, const struct window_sums *s, const struct snapshot *snap,
                     struct judge_input *in) {
    for (int t = 0; t < KVF_TIERS; t++) {
        const struct snapshot_tier *v = &snap->tier[t];
        in->on[t] = snap->tier_on[t];
        in->usable_bytes[t] = in->on[t] ? (double)v->capacity_bytes : KVF_MISSING;
        in->used_bytes[t] = in->on[t] ? (double)v->used_bytes : KVF_MISSING;
        in->emulated[t] = in->on[t] && snap->tier_emulated[t];
        in->compat[t] = in->on[t] && snap->tier_compat[t];
        /* the busier of each interval may be now one, now the other */
        if (f->full[t] > 0) {
            in->tier_busy[t] = busier_of(in->busy[t], f->joint[t]);
            in->link_any[t] = busier_of(in->link_busy[t], f->joint[t]);
        }
        if (!(f->linked[t] > 0)) in->link_any[t] = KVF_MISSING;
    }
    if (in->on[KVF_TIER_REMOTE] && snap->remote.server_max_bytes > 0)
        in->usable_bytes[KVF_TIER_REMOTE] =
            fmin(in->usable_bytes[KVF_TIER_REMOTE], snap->remote.server_max_bytes);
    if (!(f->gpu_memory > 0)) in->memory_any = KVF_MISSING;
    if (!(f->computes > 0)) in->compute_busy = KVF_MISSING;
    if (f->loop == WINDOW_LOOP_OPEN) in->users = KVF_MISSING;
    if (!(f->by_ttft > 0)) in->ttft_ms = KVF_MISSING;
    in->turns_busy = gate_busy(f, s);
    if (in->held_s > 0 && f->writes > 0) gate_is_line(f, s, in);
    in->server_here = f->server_here > 0;
    in->machines = f->machines;
    in->places = f->places;
    in->copies = f->copies > 0;
    in->way_ms = f->way_ms;
    in->lookup_ms = f->lookup_ms;
    in->open = f->loop == WINDOW_LOOP_OPEN;
    in->replays = f->replays > 0;
    in->capacity_ratio = f->capacity_ratio;
    in->slots = snap->interval.slots;
    in->backlog = snap->interval.queue_depth;
    window_load(f, s, snap, in);
    window_targets(f, s, snap, in);
    in->reuse_bytes = f->reuse_bytes;
    in->reuse_error = f->reuse_error;
    in->routing = (enum judge_routing)f->routing;
}
