/* The verdict in short forms: headline, advice and rule, for the screen. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "record/judge/judge.h"

#define SAME         0.999 /* of what bounds throughput: it is this */
#define SOME_WAIT    0.05  /* of the latency that targets are of, for a place in the batch */
#define HALF_WAIT    0.5
#define MUCH_STORAGE 0.4  /* of that latency: nearly as much as a GPU that is named */
#define SOME_MISSES  0.01 /* of lookups, that a larger tier would serve */
#define SOME_TIME    0.05 /* of a GPU's, that they would save it */

static bool is_tier(enum verdict_limit l) {
    return l == VERDICT_GPU || l == VERDICT_CPU || l == VERDICT_NVME || l == VERDICT_REMOTE;
}

/* No cache too small for what comes again, but a batch that cannot grow: the gpu tier has no room for its KV,
 * or it is as large as it may be. */
static bool is_batch(const struct verdict *v) {
    return !isnan(verdict_value(v, VERDICT_BATCH_WAITING));
}

static bool most_failed(const struct verdict *v) {
    return verdict_value(v, VERDICT_FAILED_SHARE) > 0;
}

static double share_at(const struct verdict *v, const char *where) {
    char name[48];
    snprintf(name, sizeof name, "%s_%s_share", verdict_limit_name(v->limited_by), where);
    double share = verdict_value(v, name);
    return share > 0 ? share : 0;
}

/* The time that the sentence is about stands at the screen's tables and at its own end. */
static size_t sentence_end(const char *sentence) {
    const char *end = strstr(sentence, "; the mean "), *time = strstr(sentence, " (last ");
    if (!end) end = strstr(sentence, "; throughput and latencies are of ");
    if (!end) end = strstr(sentence, "; of "); /* so older runs have it */
    if (!end) end = sentence + strlen(sentence);
    return (size_t)((time && time < end ? time : end) - sentence);
}

static char *capacity_headline(const struct verdict *v, char *out, size_t len) {
    char needs[24], holds[24];
    units_size_human(verdict_value(v, "working_set"), needs, sizeof needs);
    units_size_human(verdict_value(v, "tiers_hold"), holds, sizeof holds);
    snprintf(out, len, "%s tier capacity: working set %s, tiers hold %s", verdict_limit_name(v->limited_by),
             needs, holds);
    return out;
}

char *verdict_headline(const struct verdict *v, char *out, size_t len) {
    if (v->cause == VERDICT_CAUSE_CAPACITY && verdict_value(v, "working_set") > 0 && !is_batch(v) &&
        !most_failed(v))
        return capacity_headline(v, out, len);
    size_t end = sentence_end(v->sentence);
    double device = share_at(v, "device"), line = share_at(v, "line"), host = share_at(v, "host");
    double all = device + line + host;
    bool places = is_tier(v->limited_by) && v->cause != VERDICT_CAUSE_CAPACITY && all > 0;
    const char *colon = strchr(v->sentence, ':');
    if (places && colon && (size_t)(colon - v->sentence) < end) end = (size_t)(colon - v->sentence);
    snprintf(out, len, "%.*s", (int)end, v->sentence);
    if (!places) return out;
    size_t used = strlen(out);
    double room = verdict_value(v, "room_wait_share");
    if (room > all) { /* it is what room waits for */
        snprintf(out + used, len - used, ": %.0f %% of request time waits for room behind it", 100 * room);
        return out;
    }
    const char *most = line > device ? "waiting in line" : "at the device";
    snprintf(out + used, len - used, ": %.0f %% of request time, %.0f %% of that %s", 100 * all,
             100 * fmax(line, device) / all, most);
    return out;
}

/* ---- advice, rules, and the changes that fit ---- */

#define NOT_BUSY "No resource is busy for 85 % of its time, but for a GPU whose batch has room, and "

static const struct words {
    enum verdict_limit limit;
    enum verdict_cause cause; /* VERDICT_CAUSES: any */
    unsigned helps;
    const char *advice, *rule; /* # in the advice: the tier that limits */
} table[] = {
    {VERDICT_NONE, VERDICT_CAUSES, 0, "nothing has to change: there is room for more load",
     "Every class meets its latency targets and no queue grows, so nothing is a bottleneck."},
    {VERDICT_LOAD, VERDICT_CAUSES, VERDICT_HELP_BIGGER | VERDICT_HELP_FASTER,
     "more load: more users, or a higher rate of arrivals",
     "No target is set or missed, and no resource is busy for 85 % of its time, but for a GPU whose batch has room: "
     "too few requests arrive to use what there is."},
    {VERDICT_COMPUTE, VERDICT_CAUSE_BANDWIDTH, 0, "a faster GPU, or fewer users",
     "The modelled GPU is the resource that is busy for the largest part of the time, 85 % or more, and a larger batch "
     "would save less than that."},
    {VERDICT_COMPUTE, VERDICT_CAUSES, VERDICT_HELP_BIGGER, "a faster GPU",
     NOT_BUSY "prefill and generation are the largest part of the latency that "
              "the targets are of."},
    {VERDICT_HOST_CPU, VERDICT_CAUSES, 0, "more or faster cores, or fewer users",
     "The host's CPUs are busy for 95 % of the time with this program's work, or most of a request's time nothing "
     "of it is under way."},
    {VERDICT_SLOTS, VERDICT_CAUSES, VERDICT_HELP_MORE_SLOTS | VERDICT_HELP_BIGGER | VERDICT_HELP_FASTER,
     "more slots (engine.slots): nothing inside is saturated",
     "Requests wait for a slot while no resource that they use inside is busy for 85 % of its time."},
    {VERDICT_WRITES, VERDICT_CAUSES, 0, "a larger engine.max_concurrent_writes, or a faster tier behind it",
     "Of all operation time, moves included, writes waiting for their turn take the largest part."},
    {VERDICT_NEIGHBOUR, VERDICT_CAUSES, 0, "stop the other program, or move this one to resources of its own",
     "The kernel counted 1.2 times our bytes or more for the device that would be named, or other programs have "
     "the host's CPUs."},
    {VERDICT_LINK, VERDICT_CAUSE_LATENCY, 0, "a shorter way between machines: nothing else takes as long",
     NOT_BUSY
     "messages between machines are the largest part of the latency that the targets are of, or of the time of "
     "the operations that are."},
    {VERDICT_LINK, VERDICT_CAUSES, VERDICT_HELP_BIGGER | VERDICT_HELP_FASTER | VERDICT_HELP_FEWER_USERS,
     "a faster link, enough room above it, or fewer users",
     "The link is the resource that is busy for the largest part of the time, 85 % or more: it bounds throughput."},
    {VERDICT_LIMITS, VERDICT_CAUSE_CAPACITY,
     VERDICT_HELP_BIGGER | VERDICT_HELP_FASTER | VERDICT_HELP_FEWER_USERS, "a larger # tier, or fewer users",
     "The working set, the bytes with which 99 % of the reuses would hit, is larger than what the tiers hold, and "
     "20 % or more of the lookups miss what was evicted for want of room, or a modelled GPU that is busy for 85 % of "
     "its time or more computes such misses again for 20 % of that."},
    {VERDICT_LIMITS, VERDICT_CAUSE_BANDWIDTH,
     VERDICT_HELP_BIGGER | VERDICT_HELP_FASTER | VERDICT_HELP_FEWER_USERS,
     "a faster # tier, enough room above it, or fewer users",
     "It is the resource that is busy for the largest part of the time, 85 % or more: a request's demand on it "
     "bounds throughput."},
    {VERDICT_LIMITS, VERDICT_CAUSE_CONCURRENCY, 0, "more workers (engine.workers), or a faster # tier",
     "The workers carry out operations of the tier for 85 % of their time or more, or these are the largest part of the "
     "latency and wait for a worker for half of their time; no tier is as busy as the workers, since its channels serve "
     "more at a time than there are workers."},
    {VERDICT_LIMITS, VERDICT_CAUSES, VERDICT_HELP_BIGGER | VERDICT_HELP_FEWER_USERS,
     "a faster # tier, or enough room above it",
     NOT_BUSY "its operations are the largest part of the latency that the "
              "targets are of."},
};

#define LARGER_GPU_TIER "a larger gpu tier"

static const struct words batch[] = {
    {VERDICT_GPU, VERDICT_CAUSE_CAPACITY, VERDICT_HELP_FEWER_USERS,
     LARGER_GPU_TIER ", a smaller KV type, or fewer users",
     "For half of the time or more sequences wait to join the batch of the modelled GPU because there is no "
     "room for their KV, or this wait is half of the latency that the targets are of, or there would be no room for "
     "those of twice the slots: a larger batch would do more at once."},
    {VERDICT_COMPUTE, VERDICT_CAUSE_CONCURRENCY, VERDICT_HELP_FEWER_USERS,
     "a larger compute.max_batch, or fewer users",
     "For half of the time or more sequences wait to join the batch of the modelled GPU because it has as many as it "
     "may have, or this wait is half of the latency that the targets are of: a larger batch would do more at once."}};

static const struct words failing[] = {
    {VERDICT_LIMITS, VERDICT_CAUSE_CAPACITY, 0, "a larger # tier, or fewer users if every entry fits",
     "Half of the requests that ended failed, or more, most of them because a write was larger than every tier, or "
     "found no room within engine.room_wait."},
    {VERDICT_UNKNOWN, VERDICT_CAUSES, 0, "first find out why requests fail: the errors and warnings name it",
     "Half of the requests that ended failed, or more: what limits the others says nothing of these."}};

/* Requests that ended but have no latency. */
static const struct words timeless = {VERDICT_UNKNOWN, VERDICT_CAUSES, 0, "a longer run",
                                      "The requests that were completed have no end-to-end latency."};

static const struct words unended = {
    VERDICT_UNKNOWN, VERDICT_CAUSES, 0, "a longer run: no request has ended",
    "Requests came, and none of them has ended: what limits them is not known."};

static bool begins(const struct verdict *v, const char *with) {
    return strncmp(v->sentence, with, strlen(with)) == 0;
}

static const struct words *words_of(const struct verdict *v) {
    if (is_batch(v)) return &batch[v->limited_by == VERDICT_COMPUTE];
    if (most_failed(v)) return &failing[v->limited_by == VERDICT_UNKNOWN];
    if (v->limited_by == VERDICT_UNKNOWN) return begins(v, VERDICT_NONE_ENDED) ? &unended : &timeless;
    size_t i = 0, last = sizeof table / sizeof table[0] - 1;
    for (; i < last; i++) {
        bool limit =
            table[i].limit == v->limited_by || (table[i].limit == VERDICT_LIMITS && is_tier(v->limited_by));
        if (limit && (table[i].cause == v->cause || table[i].cause == VERDICT_CAUSES)) break;
    }
    return &table[i];
}

/* The text with the tier's name in its place. */
static void put_advice(const char *text, const char *tier, char *out, size_t len) {
    const char *at = strchr(text, '#');
    snprintf(out, len, "%.*s%s%s", at ? (int)(at - text) : (int)strlen(text), text, at ? tier : "",
             at ? at + 1 : "");
}

/* The change of routing that many misses of it ask for; NULL: none is to be had. */
static const char *routing_advice(const struct verdict *v) {
    if (verdict_value(v, VERDICT_BY_SESSION) == 0) return "fleet.routing by session";
    if (verdict_value(v, VERDICT_BY_PREFIX) == 0) return "fleet.routing by prefix";
    return verdict_value(v, VERDICT_BY_PREFIX) == 1 ? "a larger fleet.weights.prefix" : NULL;
}

static bool has_tier(const struct verdict *v, enum kvf_tier t) {
    char name[48];
    snprintf(name, sizeof name, "%s_busy", tier_name(t));
    return !isnan(verdict_value(v, name));
}

/* The KV of a batch is in the gpu tier, or without one in what the weights leave of the GPU's memory. */
static const char *room_for_batch(const struct verdict *v) {
    return has_tier(v, KVF_TIER_GPU) ? LARGER_GPU_TIER : "a GPU with more memory";
}

/* Whether tiers would help where the GPU limits: they have what it computes again, or requests wait for them.
 */
static const char *beside_the_gpu(const struct verdict *v, char *out, size_t len) {
    double routing = verdict_value(v, VERDICT_ROUTING), capacity = verdict_value(v, VERDICT_RECOMPUTED),
           storage = verdict_value(v, VERDICT_TARGET_STORAGE);
    double join = verdict_value(v, VERDICT_TARGET_JOIN);
    if (join >= HALF_WAIT) {
        bool room = verdict_value(v, VERDICT_BATCH_NO_ROOM) > 0;
        snprintf(out, len,
                 ", or %s: %s of the latency that targets are of is the wait for a place in the batch",
                 room ? room_for_batch(v) : "a larger compute.max_batch", phrase_share(join).text);
        return out;
    }
    bool takes_time = !(verdict_value(v, VERDICT_RECOMPUTING) < SOME_TIME);
    if (storage >= MUCH_STORAGE)
        snprintf(out, len, ", or faster tiers: storage is %s of the latency that targets are of",
                 phrase_share(storage).text);
    else if (routing >= SOME_MISSES && capacity >= SOME_MISSES && takes_time && routing_advice(v))
        snprintf(out, len, ", larger tiers, or %s: pods compute what others hold, or could not keep",
                 routing_advice(v));
    else if (routing >= SOME_MISSES && !(capacity >= routing) && routing_advice(v))
        snprintf(out, len, ", or %s: pods compute what others hold", routing_advice(v));
    else if (capacity >= SOME_MISSES && takes_time)
        snprintf(out, len, ", or larger tiers: it computes again what they could not keep");
    else if (routing >= SOME_MISSES)
        out[0] = '\0';
    else if (storage >= VERDICT_SLIGHT)
        snprintf(out, len, ", or faster tiers: storage is %s of the latency that targets are of",
                 phrase_share(storage).text);
    else if (v->cause == VERDICT_CAUSE_BANDWIDTH)
        snprintf(out, len, "%s", join >= SOME_WAIT ? "" : ": no tier would bring more throughput");
    else
        snprintf(out, len, "%s",
                 strstr(v->sentence, VERDICT_NOT_THE_CACHE) ? ": requests hardly wait for the cache" : "");
    return out;
}

/* The tier that is busy, or whose link is, for the largest part of the time, which is `part`. */
static const char *busiest_tier(const struct verdict *v, double *part) {
    const char *busiest = verdict_limit_name(v->limited_by);
    double most = 0;
    char name[48];
    for (int i = 0; i < 2 * KVF_TIERS; i++) {
        const char *tier = tier_name((enum kvf_tier)(i / 2));
        snprintf(name, sizeof name, i % 2 ? "%s_link_busy" : "%s_busy", tier);
        double busy = verdict_value(v, name);
        if (!(busy > most)) continue;
        most = busy;
        busiest = tier;
    }
    *part = most;
    return busiest;
}

/* A tier whose demand is nearly that of the one that bounds throughput; NULL: there is none. */
static const char *next_tier(const struct verdict *v) {
    double bound_ms = 1e3 / verdict_value(v, "throughput_bound_per_s"), most = JUDGE_SATURATED * bound_ms;
    const char *next = NULL;
    char name[48];
    for (int i = 0; i < 2 * KVF_TIERS; i++) {
        const char *tier = tier_name((enum kvf_tier)(i / 2));
        snprintf(name, sizeof name, i % 2 ? "%s_link_demand_ms" : "%s_demand_ms", tier);
        double demand_ms = verdict_value(v, name);
        if (!(demand_ms >= most) || demand_ms >= SAME * bound_ms) continue;
        if (strcmp(tier, verdict_limit_name(v->limited_by)) == 0) continue;
        most = demand_ms, next = tier;
    }
    return next;
}

/* Whether nothing is above the tier: it has figures, and none above it does. */
static bool is_first(const struct verdict *v) {
    for (int t = 0; t < KVF_TIERS; t++)
        if (has_tier(v, (enum kvf_tier)t)) return v->limited_by == verdict_limit_of((enum kvf_tier)t);
    return v->limited_by == VERDICT_GPU;
}

/* Part of a request's time in line for workers from which more of them are worth a word. */
#define SOME_LINE 0.1
static const char more_workers[] = ", more workers (engine.workers)";

/* "a faster nvme tier, more workers (engine.workers), or fewer users" where the tier's operations wait for
 * them. */
static void add_workers(const struct verdict *v, char *out, size_t len) {
    bool waits = is_tier(v->limited_by) && v->cause == VERDICT_CAUSE_LATENCY &&
                 verdict_value(v, VERDICT_WORKERS) > 0 && share_at(v, "line") >= SOME_LINE;
    char *last = strstr(out, ", or "), tail[96];
    if (!waits || !last) return;
    snprintf(tail, sizeof tail, "%s", last);
    snprintf(last, len - (size_t)(last - out), "%s%s", more_workers, tail);
}

#define HALF_BUSY 0.5 /* from here on waits for a GPU's batch, and for a tier, shorten with less load */

/* Beside more workers a faster tier helps where it is busy itself, and more, since it holds them for less
 * time; and a shorter way where messages hold them. */
static void beside_workers(const struct verdict *v, char *out, size_t len) {
    char *other = strstr(out, ", or a faster ");
    double busy = 0;
    char name[48], tier[64];
    for (int i = 0; i < 2; i++) {
        snprintf(name, sizeof name, "%s_%s", verdict_limit_name(v->limited_by), i ? "link_busy" : "busy");
        busy = fmax(busy, verdict_value(v, name));
    }
    if (!other) return;
    if (busy >= HALF_BUSY) {
        snprintf(tier, sizeof tier, "%s", other + strlen(", or "));
        snprintf(out, len, "%s, or more workers (engine.workers)", tier);
        return;
    }
    bool messages = strstr(v->sentence, VERDICT_UNDER_WAY) != NULL;
    snprintf(other, len - (size_t)(other - out), "%s", messages ? ", or a shorter way between machines" : "");
}

static const char fewer_users[] = ", or fewer users";

/* Of "a, b, or c, for this" leaves "a, or b, for this", and of two the first. */
static void drop_last(char *text, const char *alternative) {
    char *at = strstr(text, alternative), *comma = NULL;
    if (!at || strncmp(at + strlen(alternative), " if", 3) == 0) return;
    memmove(at, at + strlen(alternative), strlen(at + strlen(alternative)) + 1);
    for (char *c = strchr(text, ','); c && c < at; c = strchr(c + 1, ',')) comma = c;
    size_t rest = comma ? strlen(comma + 1) : 0;
    if (!comma || strncmp(comma, ", or ", 5) == 0) return;
    memmove(comma + 4, comma + 1, rest + 1);
    memcpy(comma, ", or", 4);
}

/* Whether a tier above is full with what the one named, which has time left, could not keep. */
static bool rewrites(const struct verdict *v, const char *busiest, double busy) {
    char name[48];
    snprintf(name, sizeof name, "%s_busy", verdict_limit_name(v->limited_by));
    return strcmp(busiest, verdict_limit_name(v->limited_by)) != 0 && busy >= JUDGE_SATURATED &&
           verdict_value(v, name) < JUDGE_SATURATED;
}

/* The other end of the moves that make room, where these take long there too; NULL. */
static const char *other_end(const struct verdict *v) {
    char name[48];
    for (int t = 0; t < KVF_TIERS; t++) {
        const char *tier = tier_name((enum kvf_tier)t);
        snprintf(name, sizeof name, "%s" VERDICT_ROOM_END, tier);
        if (v->limited_by != verdict_limit_of((enum kvf_tier)t) && verdict_value(v, name) >= JUDGE_END)
            return tier;
    }
    return NULL;
}

/* The lower one of two tiers. */
static const char *lower_of(const char *a, const char *b) {
    return verdict_limit_parse(a) > verdict_limit_parse(b) ? a : b;
}

/* Beside a batch without more places, or a GPU that is full. */
static void advice_of_slots(bool batched, bool gpu_full, char *out, size_t len) {
    if (batched)
        snprintf(out, len, "more slots (engine.slots) with a larger compute.max_batch%s",
                 gpu_full ? " (one alone brings little), or a faster GPU" : ": one alone brings little");
    else
        snprintf(out, len, "more slots (engine.slots), or a faster GPU: its batches have room for more");
}

/* Bytes by which the working set is larger than the tiers, of each machine that has some. */
static double lacking(const struct verdict *v) {
    double lacks = verdict_value(v, "working_set") - verdict_value(v, "tiers_hold"),
           machines = verdict_value(v, VERDICT_MACHINES);
    return machines > 1 ? lacks / machines : lacks;
}

static void advice_of_capacity(const struct verdict *v, const char *busiest, double busy, char *out,
                               size_t len) {
    const char *tier = verdict_limit_name(v->limited_by),
               *of_each = verdict_value(v, VERDICT_MACHINES) > 1 ? " of each machine" : "";
    char bytes[24];
    units_size_human(lacking(v), bytes, sizeof bytes);
    if (verdict_value(v, VERDICT_RECOMPUTED) > 0)
        snprintf(out, len, "%s more in the %s tier%s, %sor fewer users", bytes, tier, of_each,
                 verdict_value(v, "compute_busy") >= JUDGE_SATURATED ? "a faster GPU, " : "");
    else if (rewrites(v, busiest, busy))
        snprintf(out, len, "a faster %s tier, fewer users, or %s more in the %s tier%s", busiest, bytes, tier,
                 of_each);
    else
        snprintf(out, len, "a faster %s tier, or fewer users; %s more in the %s tier%s would bring hits",
                 busiest, bytes, tier, of_each);
}

/* Another word for it. */
static void say_instead(char *text, size_t len, const char *old, const char *word) {
    char *at = strstr(text, old), tail[160];
    if (!at) return;
    snprintf(tail, sizeof tail, "%s", at + strlen(old));
    snprintf(at, len - (size_t)(at - text), "%s%s", word, tail);
}

/* Of a batch that cannot grow; with its KV as evidence more than one thing keeps it small. */
static void advice_of_batch(const struct verdict *v, char *out, size_t len) {
    bool places = !isnan(verdict_value(v, VERDICT_BATCH_PLACES));
    if (isnan(verdict_value(v, VERDICT_BATCH_KV)))
        put_advice(words_of(v)->advice, "", out, len);
    else if (v->limited_by == VERDICT_COMPUTE)
        snprintf(out, len, "a larger compute.max_batch with " LARGER_GPU_TIER ", or fewer users");
    else
        snprintf(out, len,
                 LARGER_GPU_TIER " or a smaller KV type with more slots (engine.slots)%s, or fewer users",
                 places ? " and a larger compute.max_batch" : "");
    char *last = strstr(out, fewer_users);
    if (last && verdict_value(v, "compute_busy") >= HALF_BUSY)
        snprintf(last, len - (size_t)(last - out), ", a faster GPU%s", fewer_users);
    say_instead(out, len, LARGER_GPU_TIER, room_for_batch(v));
}

/* One user cannot be fewer, and where no tier is busy for half of the time the load is not what takes long.
 * Requests may come without users. */
static void less_load(const struct verdict *v, double busy, char *out, size_t len) {
    bool tier = is_tier(v->limited_by) && !is_batch(v) && !most_failed(v),
         few = verdict_value(v, VERDICT_USERS) <= 1;
    bool idle = tier && (v->cause == VERDICT_CAUSE_LATENCY || v->cause == VERDICT_CAUSE_CAPACITY) &&
                busy > 0 && busy < HALF_BUSY && !(verdict_value(v, "slots_busy") >= JUDGE_FULL) &&
                !(verdict_value(v, VERDICT_RECOMPUTED) > 0);
    if (few || idle) drop_last(out, fewer_users);
    bool rate = verdict_value(v, VERDICT_ARRIVING) >= 0, replay = verdict_value(v, VERDICT_REPLAYED) >= 0;
    if (!rate && !replay) return;
    say_instead(out, len, "fewer users",
                rate ? "a lower rate of arrivals" : "a slower replay (workload.arrival.speedup)");
    say_instead(out, len, "more users, or a higher rate of arrivals",
                rate ? "a higher rate of arrivals" : "a faster replay (workload.arrival.speedup)");
}

/* Misses are no bottleneck where all targets are met, and what a larger tier is for all the same. */
char *verdict_advice(const struct verdict *v, char *out, size_t len) {
    double busy;
    const char *tier = verdict_limit_name(v->limited_by), *busiest = busiest_tier(v, &busy);
    char beside[160];
    bool batched = !isnan(verdict_value(v, VERDICT_BATCH_PLACES)),
         gpu_full = verdict_value(v, "compute_busy") >= JUDGE_SATURATED;
    out[0] = '\0';
    if (!v->known) return out;
    if (v->limited_by == VERDICT_HOST_CPU && verdict_value(v, VERDICT_LOOKUP) > 0)
        snprintf(out, len, "a shorter cache.lookup_cost: nothing else takes as long");
    else if (most_failed(v) && is_tier(v->limited_by) && busy >= JUDGE_SATURATED)
        snprintf(out, len, "a faster %s tier, or fewer users if every entry fits", busiest);
    else if (most_failed(v))
        put_advice(words_of(v)->advice, tier, out, len);
    else if (is_batch(v))
        advice_of_batch(v, out, len);
    else if (v->limited_by == VERDICT_NONE && verdict_value(v, VERDICT_ROUTING) >= VERDICT_MISSES &&
             routing_advice(v))
        snprintf(out, len, "%s: many lookups miss what another pod holds", routing_advice(v));
    else if (v->limited_by == VERDICT_NONE && verdict_value(v, VERDICT_RECOMPUTED) >= VERDICT_MISSES)
        snprintf(out, len, "a larger tier: many lookups miss for want of room");
    else if (is_tier(v->limited_by) && v->cause == VERDICT_CAUSE_CAPACITY && lacking(v) > 0)
        advice_of_capacity(v, busiest, busy, out, len);
    else if (v->cause == VERDICT_CAUSE_BANDWIDTH && is_tier(v->limited_by) && next_tier(v))
        snprintf(out, len, "faster %s and %s tiers, or fewer users", tier, next_tier(v));
    else if (v->cause == VERDICT_CAUSE_BANDWIDTH && v->limited_by == VERDICT_LINK && next_tier(v))
        snprintf(out, len, "a faster link and a faster %s tier, or fewer users", next_tier(v));
    else if (v->limited_by == VERDICT_NONE && v->share >= JUDGE_SATURATED)
        snprintf(out, len, "nothing has to change, but there is little room for more load");
    else if (begins(v, VERDICT_ROOM) && is_tier(v->limited_by) && other_end(v))
        snprintf(out, len, "faster %s and %s tiers, or enough room above %s", tier, other_end(v),
                 lower_of(tier, other_end(v)));
    else if (is_tier(v->limited_by) && v->cause != VERDICT_CAUSE_CAPACITY &&
             v->cause != VERDICT_CAUSE_CONCURRENCY && is_first(v))
        snprintf(out, len, "a faster %s tier%s, or fewer users", tier,
                 begins(v, VERDICT_ROOM) ? ", a larger one" : "");
    else if (v->limited_by == VERDICT_SLOTS && (batched || gpu_full))
        advice_of_slots(batched, gpu_full, out, len);
    else if (v->limited_by == VERDICT_COMPUTE)
        snprintf(out, len, "%s%s", words_of(v)->advice, beside_the_gpu(v, beside, sizeof beside));
    else
        put_advice(words_of(v)->advice, tier, out, len);
    add_workers(v, out, len);
    if (v->known && is_tier(v->limited_by) && v->cause == VERDICT_CAUSE_CONCURRENCY)
        beside_workers(v, out, len);
    less_load(v, busy, out, len);
    return out;
}

const char *verdict_rule(const struct verdict *v) {
    return v->known ? words_of(v)->rule : "";
}

#define X(id, text) [VERDICT_GAP_##id] = text,
static const char *const gap_text[] = {VERDICT_GAP_LIST(X)};
#undef X

const char *verdict_no_estimate(const struct verdict *v) {
    bool computes = verdict_value(v, "compute_busy") >= JUDGE_SATURATED;
    if (!v->known || v->remedies > 0) return NULL;
    if (v->limited_by == VERDICT_NONE || v->limited_by == VERDICT_UNKNOWN) return NULL;
    return gap_text[v->gap == VERDICT_GAP_UNSURE && computes ? VERDICT_GAP_GPU : v->gap];
}

enum verdict_gap verdict_gap_parse(const char *sentence) {
    size_t i = sizeof gap_text / sizeof gap_text[0];
    while (sentence && i-- > 0)
        if (strcmp(gap_text[i], sentence) == 0) return (enum verdict_gap)i;
    return VERDICT_GAP_UNSURE;
}

bool verdict_helps(const struct verdict *v, enum verdict_help change) {
    return v->known && (words_of(v)->helps & change) != 0;
}
