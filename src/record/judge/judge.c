#include "record/judge/judge.h"

#include <math.h>
#include <string.h>

#include "record/judge/judge_say.h"
#include "record/phrase.h"

/* Part of a latency from which waiting for a slot can limit. */
#define WAITS 0.1
/* Requests in storage, fewer of which are none: more slots let more of them move at a time. */
#define CROWD 4

static bool too_small(const struct judge_input *in) {
    return !judge_has_room(in) && judge_last_tier(in) >= 0 && in->reuse_bytes > judge_held_bytes(in);
}

/* Whether a line stands before the tiers: of those in service, twice as many are in storage as tiers are at
 * work. With full slots most of them must wait for room, since the others hold slots without that. */
static bool crowded(const struct judge_input *in, bool full) {
    double working = 0, held = judge_share(in->storage_ms, in->e2e_ms - in->queue_ms);
    for (int t = 0; t < KVF_TIERS; t++) /* each machine has its own, but for the remote one */
        if (in->on[t] && in->tier_busy[t] > 0)
            working += in->tier_busy[t] * (t == KVF_TIER_REMOTE ? 1 : fmax(in->machines, 1));
    bool most = judge_share(in->room_ms, in->e2e_ms - in->queue_ms) >= JUDGE_DOMINANT;
    double inside = held * in->slots_ratio * (double)in->slots;
    return inside >= CROWD && inside > 2 * working && (!full || most);
}

/* Whether what the tiers could not keep makes the work that would be named. */
static bool capacity_explains(const struct judge_input *in, const struct judge_resource *bound, bool stores,
                              bool slots) {
    double whole = judge_by_first_token(in) ? in->ttft_ms : in->prefill_ms + in->generation_ms;
    double computes_ms = in->prefill_ms - judge_join_of(in, true); /* the wait for a place is no work */
    bool again =
        judge_prefilled_again(in) > 0 && judge_prefilled_again(in) * computes_ms >= VERDICT_MISSES * whole;
    if (!too_small(in)) return false;
    bool full = bound && bound->limit == VERDICT_COMPUTE,
         gpu = full || (!bound && !slots && in->compute_busy >= JUDGE_SATURATED);
    /* copies may fill the last tier too, and what hits there is read from it */
    bool readable = !(in->tier_busy[judge_last_tier(in)] >= JUDGE_SATURATED);
    if (gpu && readable && judge_saved_by_hits(in) >= VERDICT_MISSES) return true;
    /* a tier that is full of reads and writes has more of both where more hits */
    if (full || (bound && in->compute_busy >= 0 && !judge_free_misses(in)) ||
        judge_capacity_misses(in) < VERDICT_MISSES)
        return false;
    /* where a GPU computes it again, what misses costs the tiers no more than what hits */
    if (!bound)
        return (stores && !judge_free_misses(in) && !(in->compute_busy >= 0)) ||
               (again && readable && !slots);
    return (int)bound->tier == judge_last_tier(in) || judge_rewrites(in, bound->tier) >= VERDICT_MISSES;
}

/* Without their limit writes would wait behind it. A real tier may do more at a time, however busy. */
static bool full_behind(const struct judge_input *in, const struct judge_resource *most) {
    return most->load >= JUDGE_SATURATED && (most->tier == KVF_TIERS || in->emulated[most->tier]);
}

/* A tier twice as fast frees slots in half of the time that they are held for it, or for the room that it
 * makes; twice as many slots are of use until the tier is full. */
static bool faster_frees_more(const struct judge_input *in, const struct judge_resource *most,
                              const struct judge_leader *l) {
    double service_ms = in->e2e_ms - in->queue_ms, held = 0;
    if (most->tier == l->tier) held = judge_share(in->storage_ms, service_ms) * l->both;
    if (most->tier == judge_room_maker(in)) held = fmax(held, judge_share(in->room_ms, service_ms));
    return most->tier != KVF_TIERS && 1 / (1 - held / 2) > fmin(1 / most->load, 2);
}

/* With all turns taken the gate bounds throughput. Before that it is a latency: of that of targets, or of the
 * time for which full slots are held. */
static bool gate_limits(const struct judge_input *in, const double part[JUDGE_PARTS],
                        const double all[JUDGE_PARTS], bool full) {
    if (in->turns_busy >= JUDGE_SATURATED) return true;
    if (full) return all[JUDGE_STORAGE] >= JUDGE_DOMINANT * (1 - all[JUDGE_QUEUE] - all[JUDGE_WAY]);
    return part[JUDGE_STORAGE] > part[JUDGE_COMPUTE] && part[JUDGE_STORAGE] >= part[JUDGE_QUEUE];
}

/* Whether requests in service wait for a place in the batch rather than a slot. */
static bool lined_for_batch(const struct judge_input *in) {
    return judge_join_ms(in) >= JUDGE_DOMINANT * (in->e2e_ms - in->queue_ms) ||
           (in->batch_full >= JUDGE_SATURATED && in->places < (double)in->slots);
}

/* The bound on throughput, or on latency where nothing bounds throughput. */
static void limited(struct phrase *t, const struct judge_input *in, struct verdict *v) {
    struct judge_resource most = judge_most_loaded(in);
    struct judge_leader l = judge_leader_of(in);
    double part[JUDGE_PARTS], all[JUDGE_PARTS];
    judge_parts(in, false, all);
    judge_parts(in, judge_by_first_token(in), part);
    bool idle = judge_places_idle(in), way = part[JUDGE_WAY] >= JUDGE_DOMINANT; /* which no tier shortens */
    if (idle) { /* who waits for a place waits for the storage of those that have one */
        double join = fmin(judge_share(judge_join_of(in, judge_by_first_token(in)),
                                       judge_by_first_token(in) ? in->ttft_ms : in->e2e_ms),
                           part[JUDGE_COMPUTE]);
        if (join > 0) part[JUDGE_COMPUTE] -= join, part[JUDGE_STORAGE] += join;
    }
    double other =
        fmax(fmax(part[JUDGE_STORAGE], part[JUDGE_COMPUTE]), fmax(part[JUDGE_REST], part[JUDGE_WAY]));
    bool bound = most.load >= JUDGE_SATURATED, queues = part[JUDGE_QUEUE] > fmin(other, JUDGE_DOMINANT),
         waits = part[JUDGE_QUEUE] >= WAITS || judge_grows(in) || in->unserved[0],
         full = (in->slots_ratio >= JUDGE_FULL && waits) ||
                (queues && !(most.load >= JUDGE_SATURATED * in->slots_ratio));
    bool stores = part[JUDGE_STORAGE] > part[JUDGE_COMPUTE], tiers = stores && l.found && !l.limit;
    /* generation is a timer: other programs take nothing of it */
    bool timed = all[JUDGE_COMPUTE] > all[JUDGE_STORAGE] + all[JUDGE_REST];
    bool by_size = !most.workers && !(way && !bound) &&
                   capacity_explains(in, bound ? &most : NULL, tiers && !full, full);
    /* more slots would make the line before a tier longer, in which those in service stand */
    bool lined = full && tiers && l.line_share >= JUDGE_DOMINANT && part[JUDGE_STORAGE] > part[JUDGE_QUEUE];
    lined |= idle && lined_for_batch(in);
    lined |= full && tiers && faster_frees_more(in, &most, &l);
    bool first = judge_by_first_token(in),
         waits_for_room = judge_room_of(in, first) >= JUDGE_DOMINANT * judge_storage_of(in, first);
    bool disk = bound ? most.tier == KVF_TIER_NVME : tiers && l.tier == KVF_TIER_NVME;

    if (disk && judge_foreign(in) > 0)
        judge_say_neighbour(t, in, v, in->tier_busy[KVF_TIER_NVME]);
    else if (l.limit && gate_limits(in, part, all, full) && !full_behind(in, &most))
        judge_say_gate(t, in, v, &l);
    else if (!bound && !idle && judge_batch_matters(in) &&
             !(by_size && (stores || judge_saved_by_hits(in) >= judge_saved_by_batches(in))))
        judge_say_batch(t, in, v);
    else if (by_size)
        judge_say_capacity(t, in, v);
    else if (bound)
        judge_say_saturated(t, in, v, &most);
    else if (judge_others_compute(in) && !(full && timed))
        judge_say_neighbour_computes(t, in, v);
    else if (tiers && waits_for_room && crowded(in, full))
        judge_say_room(t, in, v);
    else if ((full || (!in->targets && waits && in->slots_ratio >= JUDGE_SATURATED)) && !lined)
        judge_say_slots(t, in, v);
    else if (!in->targets && !lined && part[JUDGE_QUEUE] < JUDGE_DOMINANT)
        judge_say_load(t, in, v);
    else if (tiers && waits_for_room && judge_room_slower_end(in) != l.tier)
        judge_say_room(t, in, v);
    else {
        judge_say_latency(t, in, v, part);
        judge_add_grown(t, in);
    }
}

static void add_window(struct phrase *t, const struct judge_input *in) {
    if (in->whole || !(in->length_s > 0)) return;
    if (in->length_s >= 120)
        phrase_add(t, " (last %.0f min)", round(in->length_s / 60));
    else
        phrase_add(t, " (last %.0f s)", fmax(round(in->length_s), 1));
}

static void evidence(struct verdict *v, const struct judge_input *in) {
    double rate = judge_requests_per_s(in), part[JUDGE_PARTS], sum_s, think_s,
           each = judge_cut(in) ? (double)NAN : rate;
    if (in->requests > 0) verdict_add_evidence(v, "requests_per_s", rate, "1/s");
    double load = judge_bound_load(in);
    if (in->requests > 0 && load > 0 && !judge_cut(in))
        verdict_add_evidence(v, "throughput_bound_per_s", rate / load, "1/s");
    sum_s = judge_loads(v, in, each);
    verdict_add_evidence(v, "compute_busy", in->compute_busy, "");
    if (in->compute_busy >= 0)
        verdict_add_evidence(
            v, "compute_load",
            in->compute_work > 0 ? fmin(in->compute_work, in->compute_busy) : in->compute_busy, "");
    verdict_add_evidence(v, "host_cpu_busy", in->host_cpu_ratio, "");
    verdict_add_evidence(v, "own_cpu_busy", in->own_cpu_ratio, "");
    verdict_add_evidence(v, "slots_busy", in->slots_ratio, "");
    if (in->users > 0 && !(in->unserved_ratio >= 0)) verdict_add_evidence(v, VERDICT_USERS, in->users, "");
    if (in->open)
        verdict_add_evidence(v, in->replays ? VERDICT_REPLAYED : VERDICT_ARRIVING, in->arrived / in->length_s,
                             "1/s");
    struct judge_leader l = judge_leader_of(in);
    if (l.found && !l.limit && judge_few_workers(in, l.tier))
        verdict_add_evidence(v, VERDICT_WORKERS, fmin(judge_pool_busy(in, l.tier), 1), "");
    if (in->requests > 0 && in->e2e_ms > 0) {
        (void)judge_shares(in, false, part);
        verdict_add_evidence(v, "queue_wait_share", part[JUDGE_QUEUE] + part[JUDGE_WAY], "");
        verdict_add_evidence(v, "storage_io_share", part[JUDGE_STORAGE], "");
        verdict_add_evidence(v, "room_wait_share", judge_share(in->room_ms, in->e2e_ms), "");
        verdict_add_evidence(v, "room_wait_ms", in->room_ms, "ms");
        verdict_add_evidence(v, "compute_share", part[JUDGE_COMPUTE], "");
        if (judge_join_ms(in) > 0) judge_evidence_of_joining(v, in);
        double room = judge_share(in->room_ms, in->e2e_ms);
        judge_places(v, in, part[JUDGE_STORAGE] - (room > 0 ? fmin(room, part[JUDGE_STORAGE]) : 0));
        /* the response time law gives the time between an answer and the next question */
        think_s = in->users / rate - in->e2e_ms / 1e3;
        sum_s += (in->generation_ms + in->prefill_ms) / 1e3;
        (void)judge_shares(in, judge_by_first_token(in), part);
        if (in->targets) verdict_add_evidence(v, VERDICT_TARGET_STORAGE, part[JUDGE_STORAGE], "");
        bool asks_on = in->unserved_ratio >= 0; /* without waiting for answers */
        if (!judge_cut(in) && !asks_on)
            verdict_add_evidence(v, "population_bound_per_s", in->users / (sum_s + fmax(think_s, 0)), "1/s");
    }
    judge_evidence_of_misses(v, in);
    if (judge_foreign(in) > 0 && !isinf(judge_foreign(in)))
        verdict_add_evidence(v, "device_bytes_ratio", judge_foreign(in), "");
    if (judge_foreign(in) > 0 && in->neighbours > 0) {
        verdict_add_evidence(v, "neighbour_bytes", in->neighbour[0].bytes, "B");
        verdict_add_evidence(v, "neighbour_share", in->neighbour[0].share, "");
    }
}

void judge_run(const struct judge_input *in, struct verdict *v) {
    struct phrase t = {.out = v->sentence, .cap = sizeof v->sentence};
    v->known = true;
    v->evidences = 0;
    v->sentence[0] = '\0';
    evidence(v, in);
    judge_warn_of_neighbour(v, in);
    if (in->whole && in->requests > 0 && judge_all_cut(in)) /* of a rank it is told as its own */
        verdict_warn(
            v, "requests that were not done by the end took most of the time in service, so throughput and "
               "latencies are those of the first few; make run.duration several times as long");
    if (judge_fails(in))
        judge_say_failing(&t, in, v);
    else if (in->requests == 0)
        judge_say_nothing_done(&t, in, v);
    else if (!(in->e2e_ms > 0) || isinf(in->e2e_ms))
        judge_say_unknown_latency(&t, in, v);
    else if (in->targets && in->targets_met && in->failed_run)
        judge_say_failed_within_targets(&t, in, v);
    else if (in->targets && in->targets_met && !judge_grows(in) && !in->cut && !in->unserved[0])
        judge_say_none(&t, in, v);
    else
        limited(&t, in, v);
    judge_add_unserved(&t, in);
    add_window(&t, in);
}
