/* The sentence of each verdict, with its limit, its cause and its share. */
#include "record/judge/judge_say.h"

#include <math.h>
#include <stdio.h>

#include "base/units.h"
#include "record/phrase.h"

#define ROOM_WHY "because a write was larger than every tier or found no room in time"

#define UNDER_WAY ", and most of that time " VERDICT_UNDER_WAY

static void say(struct verdict *v, enum verdict_limit limit, enum verdict_cause cause, double share) {
    v->limited_by = limit;
    v->cause = cause;
    v->share = share;
}

void judge_say_nothing_done(struct phrase *t, const struct judge_input *in, struct verdict *v) {
    struct judge_leader l = judge_leader_of(in);
    if (l.found)
        say(v, l.limit ? VERDICT_WRITES : verdict_limit_of(l.tier), VERDICT_CAUSE_LATENCY, l.share);
    else if (in->slots_ratio >= JUDGE_FULL)
        say(v, VERDICT_SLOTS, VERDICT_CAUSE_CONCURRENCY, in->slots_ratio);
    else if (in->slots_ratio > 0 || in->backlog > 0) /* they came, and none has ended */
        say(v, VERDICT_UNKNOWN, VERDICT_CAUSES, in->slots_ratio);
    else
        say(v, VERDICT_LOAD, VERDICT_CAUSE_DEMAND, in->slots_ratio);
    phrase_add(t, VERDICT_NONE_ENDED);
    if (l.found) {
        phrase_add(t, "; so far ");
        judge_add_leader(t, &l, in);
    }
    judge_add_slots(t, in);
    judge_add_backlog(t, in);
}

/* A modelled GPU may be busier than what is loaded most, with work that a larger batch saves; and a tier,
 * with moves in the background. */
static void add_busier(struct phrase *t, const struct judge_input *in, const struct judge_resource *named,
                       bool batched) {
    struct judge_resource gpu = judge_gpu(in), tier = judge_fullest_tier(in);
    if (named->limit != VERDICT_COMPUTE && gpu.busy > named->busy)
        phrase_add(t, "; the modelled GPU is %s busy%s", phrase_share(gpu.busy).text,
                   batched ? "" : judge_room_for_more(in, &gpu));
    if (tier.tier == named->tier || !(tier.busy > named->busy)) return;
    phrase_add(t, "; ");
    judge_add_resource(t, &tier, in);
    phrase_add(t, " are %s busy, moves in the background included", phrase_share(tier.busy).text);
}

void judge_say_none(struct phrase *t, const struct judge_input *in, struct verdict *v) {
    struct judge_resource most = judge_most_loaded(in);
    char stand[STANDING_TARGETS] = "all targets met";
    if (in->stand.unjudged > 0 || in->stand.p95_alone) standing_targets(&in->stand, stand);
    say(v, VERDICT_NONE, VERDICT_CAUSES, most.busy);
    phrase_add(t, "none: %s%s", stand, most.busy > 0 ? "; the most loaded is " : "");
    if (most.busy > 0) {
        judge_add_resource(t, &most, in);
        phrase_add(t, ", ");
        judge_add_busy(t, &most, in);
        phrase_add(t, "%s", judge_room_for_more(in, &most));
        add_busier(t, in, &most, false);
    }
    judge_add_free_misses(t, in);
    judge_add_grown(t, in);
}

void judge_say_neighbour(struct phrase *t, const struct judge_input *in, struct verdict *v, double busy) {
    struct judge_leader l = judge_leader_of(in);
    say(v, VERDICT_NEIGHBOUR, VERDICT_CAUSE_FOREIGN, 1 - fmin(in->our_bytes / in->device_bytes, 1));
    phrase_add(t, "another program on the device under nvme: the kernel counted %.3g times our bytes",
               judge_foreign(in));
    if (in->neighbours > 0)
        phrase_add(t, ", %s of them by %s", phrase_share(in->neighbour[0].share).text, in->neighbour[0].name);
    if (l.found && !l.limit) {
        phrase_add(t, "; ");
        judge_add_leader(t, &l, in);
    } else if (busy >= 0) {
        phrase_add(t, "; nvme %s busy", phrase_share(busy).text);
    }
    judge_add_parts(t, in);
    judge_add_grown(t, in);
}

void judge_say_neighbour_computes(struct phrase *t, const struct judge_input *in, struct verdict *v) {
    say(v, VERDICT_NEIGHBOUR, VERDICT_CAUSE_FOREIGN, 1 - in->own_cpu_ratio / in->host_cpu_ratio);
    phrase_add(t, "other programs%s on the host's CPUs: %s busy, %s by this one",
               in->server_here ? JUDGE_SERVER : "", phrase_share(in->host_cpu_ratio).text,
               phrase_share(in->own_cpu_ratio).text);
    judge_add_parts(t, in);
    judge_add_grown(t, in);
}

/* Each has a tier of its own, but for the remote one. */
static void tell_machines(struct verdict *v, const struct judge_input *in, enum kvf_tier tier) {
    if (in->machines > 1 && tier != KVF_TIER_REMOTE)
        verdict_add_evidence(v, VERDICT_MACHINES, in->machines, "");
}

void judge_say_capacity(struct phrase *t, const struct judge_input *in, struct verdict *v) {
    enum kvf_tier last = (enum kvf_tier)judge_last_tier(in);
    struct judge_leader l = judge_leader_of(in);
    char needs[24], holds[24], error[24] = "";
    say(v, verdict_limit_of(last), VERDICT_CAUSE_CAPACITY, judge_capacity_misses(in));
    tell_machines(v, in, last);
    if (in->reuse_error > 0) snprintf(error, sizeof error, " +- %.1f", 100 * in->reuse_error);
    phrase_add(
        t, "%s tier capacity: the working set takes %s, and the tiers hold %s; %.1f%s %% of lookups %s",
        tier_name(last), units_size_human(in->reuse_bytes, needs, sizeof needs),
        units_size_human(judge_held_bytes(in), holds, sizeof holds), 100 * judge_capacity_misses(in), error,
        in->capacity_ratio > 0 ? "would miss in any LRU cache of that size"
                               : "miss what was evicted for want of room");
    judge_add_unwritten(t, in);
    judge_add_work_of_misses(t, in);
    struct judge_resource full = JUDGE_NO_RESOURCE;
    judge_consider_tier(in, last, &full);
    if (!(full.busy >= JUDGE_SATURATED)) full = judge_busiest_tier(in);
    if (full.busy >= JUDGE_SATURATED)
        phrase_add(t, "; %s%s %s busy", tier_name(full.tier), full.limit == VERDICT_LINK ? " link" : "",
                   phrase_share(full.busy).text);
    judge_add_parts(t, in);
    judge_add_grown(t, in);
    if (!l.found) return;
    phrase_add(t, "; ");
    judge_add_leader(t, &l, in);
}

/* Another tier that is full too: without it the one named would bring little. */
static void add_next(struct phrase *t, const struct judge_input *in, const struct judge_resource *r) {
    struct judge_resource next = JUDGE_NO_RESOURCE;
    for (int i = 0; i < KVF_TIERS; i++)
        if (in->on[i] && i != (int)r->tier) judge_consider_tier(in, (enum kvf_tier)i, &next);
    if (r->limit == VERDICT_HOST_CPU || !(next.load >= JUDGE_SATURATED)) return;
    phrase_add(t, "; next, ");
    judge_add_resource(t, &next, in);
    phrase_add(t, ", %s busy", phrase_share(next.busy).text);
}

void judge_say_saturated(struct phrase *t, const struct judge_input *in, struct verdict *v,
                         const struct judge_resource *r) {
    struct judge_leader l = judge_leader_of(in);
    char demand[24];
    say(v, r->limit, r->workers ? VERDICT_CAUSE_CONCURRENCY : VERDICT_CAUSE_BANDWIDTH, r->busy);
    judge_add_resource(t, r, in);
    double rate = judge_requests_per_s(in);
    phrase_add(t, ", ");
    judge_add_busy(t, r, in);
    if (!judge_cut(in) && judge_of_background(r))
        phrase_add(t, ", %s of that with moves in the background", phrase_share(1 - r->bare / r->load).text);
    else if (!judge_cut(in))
        phrase_add(t, ": %s a request%s bounds throughput at %.3g requests/s",
                   units_duration_human(r->load / rate * 1e9, demand, sizeof demand),
                   r->limit == VERDICT_COMPUTE && in->compute_work > 0 &&
                           in->compute_work < JUDGE_SATURATED * r->load
                       ? " in batches of this size"
                       : "",
                   rate / r->load);
    if (r->workers &&
        (judge_by_messages(in, r->tier, KVF_DIR_READ) || judge_by_messages(in, r->tier, KVF_DIR_WRITE)))
        phrase_add(t, "; most of the time of its operations " VERDICT_UNDER_WAY);
    struct judge_resource gpu = judge_gpu(in);
    if (r->limit == VERDICT_COMPUTE)
        judge_add_unwritten(t, in);
    else if (gpu.busy >= JUDGE_SATURATED)
        phrase_add(t, "; the modelled GPU is %s busy%s", phrase_share(gpu.busy).text,
                   judge_room_for_more(in, &gpu));
    add_next(t, in, r);
    if (r->tier == KVF_TIER_NVME && !in->emulated[r->tier] && in->device_busy_ratio >= 0)
        phrase_add(t, "; disk %s busy", phrase_share(in->device_busy_ratio).text);
    if (r->tier < KVF_TIERS && in->stalled[r->tier] >= JUDGE_STALLED)
        phrase_add(t, "; the %s stalled for %s of the time", r->tier == KVF_TIER_NVME ? "drive" : "store",
                   phrase_share(in->stalled[r->tier]).text);
    judge_add_parts(t, in);
    if (l.found && (l.limit || r->tier == l.tier)) {
        phrase_add(t, "; ");
        judge_add_leader(t, &l, in);
    }
    if (!(in->slots_ratio >= JUDGE_FULL)) {
        judge_add_grown(t, in);
        return;
    }
    judge_add_slots(t, in);
    judge_add_backlog(t, in);
}

/* More slots alone bring little where batches have no more places than there are slots. */
static bool no_more_places(const struct judge_input *in) {
    return in->compute_busy >= 0 && in->places > 0 && in->places <= (double)in->slots;
}

/* It would do more at once. */
void judge_say_batch(struct phrase *t, const struct judge_input *in, struct verdict *v) {
    enum judge_batch limit = judge_batch_limit(in);
    bool full = limit == JUDGE_BATCH_FULL;
    say(v, full ? VERDICT_COMPUTE : VERDICT_GPU, full ? VERDICT_CAUSE_CONCURRENCY : VERDICT_CAUSE_CAPACITY,
        full                                ? in->batch_full
        : limit == JUDGE_BATCH_OF_ALL_SLOTS ? in->kv_use
                                            : in->batch_no_room);
    verdict_add_evidence(v, VERDICT_BATCH_WAITING, in->batch_waiting, "");
    if (limit == JUDGE_BATCH_OF_ALL_SLOTS) verdict_add_evidence(v, VERDICT_BATCH_KV, in->kv_use, "");
    if (limit == JUDGE_BATCH_OF_ALL_SLOTS && no_more_places(in))
        verdict_add_evidence(v, VERDICT_BATCH_PLACES, in->places, "");
    if (limit == JUDGE_BATCH_OF_ALL_SLOTS)
        phrase_add(
            t,
            "gpu capacity: the KV of the batch takes %s of the room for it, too much for twice the slots, "
            "which are all busy",
            phrase_share(fmin(in->kv_use, 1)).text);
    else
        phrase_add(t, "%s, and %.3g %s to join",
                   full ? "the size of the batch: it has as many sequences as it may have (compute.max_batch)"
                        : "gpu capacity: the KV of the batch fills the room for it",
                   in->batch_waiting,
                   fabs(in->batch_waiting - 1) < 0.005 ? "sequence waits" : "sequences wait");
    if (full && in->kv_use >= JUDGE_DOMINANT) {
        verdict_add_evidence(v, VERDICT_BATCH_KV, in->kv_use, "");
        phrase_add(t, "; its KV takes %s of the room for it", phrase_share(fmin(in->kv_use, 1)).text);
    }
    phrase_add(t, "; the modelled GPU is %s busy with a batch of that size",
               phrase_share(in->compute_busy).text);
    judge_add_unwritten(t, in);
    judge_add_parts(t, in);
    judge_add_grown(t, in);
}

/* Room comes from moves, one after the other: in a crowd neither bandwidth nor slots bring it sooner, and
 * without one the tier does that takes most of their time. */
static void add_end(struct phrase *t, const struct judge_input *in, const char *way, enum kvf_tier tier) {
    phrase_add(t, "%s %s%s", way, tier_name(tier), judge_emulated_word(in, tier));
    if (in->tier_busy[tier] >= 0) phrase_add(t, ", %s busy", phrase_share(in->tier_busy[tier]).text);
}

void judge_say_room(struct phrase *t, const struct judge_input *in, struct verdict *v) {
    bool first = judge_by_first_token(in);
    double room_ms = judge_room_of(in, first);
    enum kvf_tier maker = judge_room_maker(in), slower = judge_room_slower_end(in);
    bool messages = slower == maker && judge_by_messages(in, maker, KVF_DIR_WRITE);
    say(v, messages ? VERDICT_LINK : verdict_limit_of(slower), VERDICT_CAUSE_LATENCY,
        judge_share(room_ms, first ? in->ttft_ms : in->e2e_ms));
    phrase_add(t, VERDICT_ROOM ", %s of the time in storage%s",
               phrase_share(judge_share(room_ms, judge_storage_of(in, first))).text,
               first ? " before the first token" : "");
    phrase_add(t, "; it is made by what moves");
    add_end(t, in, " to", maker);
    enum kvf_tier from = judge_room_from(in);
    if (from != maker && judge_room_end_share(in, from) >= JUDGE_END) add_end(t, in, ", from", from);
    for (int end = 0; end < KVF_TIERS; end++) {
        char name[48];
        snprintf(name, sizeof name, "%s" VERDICT_ROOM_END, tier_name((enum kvf_tier)end));
        double share = judge_room_end_share(in, (enum kvf_tier)end);
        if (share > 0) verdict_add_evidence(v, name, share, "");
    }
    if (messages) phrase_add(t, UNDER_WAY);
    judge_add_parts(t, in);
    judge_add_backlog(t, in);
}

void judge_say_gate(struct phrase *t, const struct judge_input *in, struct verdict *v,
                    const struct judge_leader *l) {
    say(v, VERDICT_WRITES, VERDICT_CAUSE_CONCURRENCY, l->share);
    judge_add_leader(t, l, in);
    judge_add_parts(t, in);
    judge_add_backlog(t, in);
}

/* Requests hold them for what they do inside, of which nothing is saturated: more of them help. */
void judge_say_slots(struct phrase *t, const struct judge_input *in, struct verdict *v) {
    struct judge_resource most = judge_most_loaded(in);
    say(v, VERDICT_SLOTS, VERDICT_CAUSE_CONCURRENCY, in->slots_ratio);
    char busy[48];
    if (in->slots)
        phrase_add(t, "slots: %s busy", judge_busy_slots(in, busy));
    else
        phrase_add(t, "slots: %s busy", phrase_share(in->slots_ratio).text);
    judge_add_backlog(t, in);
    bool batched = no_more_places(in);
    if (batched) {
        verdict_add_evidence(v, VERDICT_BATCH_PLACES, in->places, "");
        phrase_add(t, "; the batch has no more places (compute.max_batch)");
    }
    if (!isnan(most.busy)) {
        phrase_add(t, "; inside, ");
        judge_add_resource(t, &most, in);
        phrase_add(t, " %s busy%s is the most loaded", phrase_share(most.busy).text,
                   batched ? "" : judge_room_for_more(in, &most));
        add_busier(t, in, &most, batched);
    }
    judge_add_parts(t, in);
}

/* The program's own part, in which no operation of a request is under way. */
static void program(struct phrase *t, const struct judge_input *in, struct verdict *v, double part) {
    bool first = judge_by_first_token(in);
    double lookup = judge_share(in->lookup_ms, first ? in->ttft_ms : in->e2e_ms);
    say(v, VERDICT_HOST_CPU, VERDICT_CAUSE_LATENCY, part);
    if (lookup >= JUDGE_DOMINANT * part) {
        verdict_add_evidence(v, VERDICT_LOOKUP, lookup, "");
        phrase_add(t, "what a request takes before it looks anything up (cache.lookup_cost)");
    } else {
        phrase_add(t, "the program itself: most of the time no operation of a request is under way");
    }
    judge_add_parts(t, in);
}

static void way(struct phrase *t, const struct judge_input *in, struct verdict *v, double part) {
    say(v, VERDICT_LINK, VERDICT_CAUSE_LATENCY, part);
    phrase_add(t, judge_asked_ms(in, judge_by_first_token(in)) > 0
                      ? "messages to the pod, and questions to the remote tier (fleet.delay)"
                      : "the message from router to pod (fleet.delay)");
    judge_add_parts(t, in);
}

static void computing(struct phrase *t, const struct judge_input *in, struct verdict *v,
                      const double part[JUDGE_PARTS]) {
    say(v, VERDICT_COMPUTE, VERDICT_CAUSE_LATENCY, part[JUDGE_COMPUTE]);
    phrase_add(t, "%s%s",
               judge_by_first_token(in) ? "prefill on the GPU and in its batch"
               : in->prefill_ms > 0     ? "prefill and generation on the GPU and in its batch"
                                        : "generation, token time",
               part[JUDGE_STORAGE] < VERDICT_SLIGHT && !(judge_computed_again(in) >= VERDICT_MISSES)
                   ? VERDICT_NOT_THE_CACHE
                   : "");
    if (judge_computed_again(in) >= VERDICT_MISSES)
        phrase_add(t, "; %.1f %% of lookups miss what had been there, and it is computed again",
                   100 * judge_computed_again(in));
    judge_add_unwritten(t, in);
    if (in->compute_busy >= JUDGE_SATURATED) {
        struct judge_resource gpu = judge_gpu(in);
        phrase_add(t, "; the modelled GPU is %s busy%s", phrase_share(gpu.busy).text,
                   judge_room_for_more(in, &gpu));
    }
    judge_add_parts(t, in);
}

/* The response time is what the operations take by themselves. */
void judge_say_latency(struct phrase *t, const struct judge_input *in, struct verdict *v,
                       const double part[JUDGE_PARTS]) {
    struct judge_leader l = judge_leader_of(in);
    double most = fmax(part[JUDGE_COMPUTE], part[JUDGE_STORAGE]);
    double of_tier = part[JUDGE_STORAGE] * (1 - judge_elsewhere(in, &l)); /* one tier helps so far */
    if (part[JUDGE_WAY] > fmax(fmax(of_tier, part[JUDGE_COMPUTE]), part[JUDGE_REST])) {
        way(t, in, v, part[JUDGE_WAY]);
        return;
    }
    if (part[JUDGE_REST] > most) {
        program(t, in, v, part[JUDGE_REST]);
        return;
    }
    if (part[JUDGE_COMPUTE] >= part[JUDGE_STORAGE] || !l.found) {
        computing(t, in, v, part);
        return;
    }
    bool messages = judge_by_messages(in, l.tier, l.dir);
    bool workers = !messages && l.line_share >= JUDGE_DOMINANT && judge_few_workers(in, l.tier);
    say(v, messages ? VERDICT_LINK : verdict_limit_of(l.tier),
        workers ? VERDICT_CAUSE_CONCURRENCY : VERDICT_CAUSE_LATENCY, part[JUDGE_STORAGE] * l.share);
    judge_add_leader(t, &l, in);
    if (in->tier_busy[l.tier] >= 0) phrase_add(t, "; %s busy", phrase_share(in->tier_busy[l.tier]).text);
    if (workers) phrase_add(t, ", and the line is for the workers (engine.workers)");
    if (messages) phrase_add(t, UNDER_WAY);
    judge_add_free_misses(t, in);
    judge_add_parts(t, in);
}

void judge_say_load(struct phrase *t, const struct judge_input *in, struct verdict *v) {
    struct judge_resource most = judge_most_loaded(in);
    say(v, VERDICT_LOAD, VERDICT_CAUSE_DEMAND, most.busy);
    phrase_add(t, "load: %.3g requests/s arrive", in->length_s > 0 ? in->arrived / in->length_s : 0);
    if (!isnan(most.busy)) {
        phrase_add(t, ", and the most loaded, ");
        judge_add_resource(t, &most, in);
        phrase_add(t, ", is %s busy%s", phrase_share(most.busy).text, judge_room_for_more(in, &most));
        add_busier(t, in, &most, false);
    }
    if (in->slots_ratio >= JUDGE_DOMINANT) judge_add_slots(t, in);
    judge_add_free_misses(t, in);
    judge_add_parts(t, in);
    judge_add_grown(t, in);
}

void judge_say_unknown_latency(struct phrase *t, const struct judge_input *in, struct verdict *v) {
    char number[24];
    say(v, VERDICT_UNKNOWN, VERDICT_CAUSES, judge_most_loaded(in).busy);
    phrase_add(t, VERDICT_UNNAMED ": the end-to-end latency of %s %s is %s",
               units_count_human((double)in->requests, number, sizeof number),
               in->requests == 1 ? "request" : "requests", in->e2e_ms <= 0 ? "0" : "missing");
}

void judge_say_failed_within_targets(struct phrase *t, const struct judge_input *in, struct verdict *v) {
    say(v, VERDICT_UNKNOWN, VERDICT_CAUSES, judge_most_loaded(in).busy);
    phrase_add(t, VERDICT_UNNAMED ": the run failed, and every target was met until then");
}

static const char *requests_word(double n) {
    return n == 1 ? "request" : "requests";
}

/* "room for writes: 80 requests failed, 78 of them because ..., and 20 were completed". Bandwidth or slots
 * would not make these succeed. */
void judge_say_failing(struct phrase *t, const struct judge_input *in, struct verdict *v) {
    bool room = in->refused >= in->failed / 2;
    char failed[24], done[24], refused[24];
    v->limited_by = room ? verdict_limit_of((enum kvf_tier)judge_lowest_tier(in)) : VERDICT_UNKNOWN;
    v->cause = room ? VERDICT_CAUSE_CAPACITY : VERDICT_CAUSES;
    v->share = in->failed / (in->failed + (double)in->requests);
    verdict_add_evidence(v, VERDICT_FAILED_SHARE, v->share, "");
    phrase_add(t, "%s: %s %s failed", room ? "room for writes" : VERDICT_UNNAMED,
               units_count_human(in->failed, failed, sizeof failed), requests_word(in->failed));
    if (in->refused >= in->failed)
        phrase_add(t, ", %s" ROOM_WHY ",", in->failed == 1 ? "" : "all ");
    else if (in->refused > 0)
        phrase_add(t, ", %s of them " ROOM_WHY ",", units_count_human(in->refused, refused, sizeof refused));
    struct judge_resource most = judge_busiest_tier(in);
    if (in->requests == 0)
        phrase_add(t, " and none was completed");
    else
        phrase_add(t, " and %s %s completed; throughput and latencies are of what was completed alone",
                   units_count_human((double)in->requests, done, sizeof done),
                   in->requests == 1 ? "was" : "were");
    if (!room || !(most.busy >= JUDGE_SATURATED)) return;
    phrase_add(t, "; ");
    judge_add_resource(t, &most, in);
    phrase_add(t, ", %s busy", phrase_share(most.busy).text);
}
