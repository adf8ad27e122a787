#include <math.h>
#include <stdio.h>

#include "record/judge/judge.h"
#include "record/phrase.h"

/* The demand of a request at each resource, and which of them bounds throughput. */

#define HALF       0.5  /* of the time, of the room, and of a latency */
#define SOMETIMES  0.05 /* of the time, and of a latency */
#define SAVED      0.1  /* of a GPU's time, by which a larger batch is worth a word */
#define TIED       0.97 /* of the largest: as full */
#define AS_MUCH    0.85 /* of what another change brings */
#define NEARLY     0.9  /* of the largest: as much, for a reader */
#define BACKGROUND 0.1  /* of a load, what moves in the background are worth a word */

static bool busier(double a, double b) {
    return !isnan(a) && (isnan(b) || a > b);
}

bool judge_others_compute(const struct judge_input *in) {
    return in->host_cpu_ratio >= JUDGE_FULL && in->own_cpu_ratio < in->host_cpu_ratio / 2;
}

double judge_pool_busy(const struct judge_input *in, enum kvf_tier tier) {
    return tier == KVF_TIER_NVME ? in->staging : in->copying;
}

static bool pool_full(const struct judge_input *in, enum kvf_tier tier) {
    return judge_pool_busy(in, tier) >= JUDGE_SATURATED;
}

/* Moves in the background may hold all workers, for which what requests wait for stands in line: that of the
 * leader, or as far as it is known, that of all. */
static bool behind_moves(const struct judge_input *in, const struct judge_leader *l) {
    if (!l->found || l->limit) return false;
    double own_ms = pool_full(in, l->tier) ? l->share * l->line_share * in->storage_ms : 0, all_ms = 0;
    for (int t = 0; t < KVF_TIERS; t++)
        for (int d = 0; d < KVF_DIRS && pool_full(in, (enum kvf_tier)t); d++) {
            double line_ms = judge_share(in->line_s[t][d], in->op_s[t][d]) * in->paced_ms[t][d];
            if (line_ms > 0) all_ms += line_ms;
        }
    return fmax(own_ms, all_ms) >= HALF * (in->e2e_ms - in->queue_ms);
}

double judge_needed(const struct judge_input *in, enum kvf_tier tier, enum kvf_dir dir) {
    struct judge_leader l = judge_leader_of(in);
    bool behind = in->room_ms >= SOMETIMES * (in->e2e_ms - in->queue_ms) || (l.found && l.tier == tier);
    return behind || behind_moves(in, &l) ? 1 : in->needed[tier][dir];
}

/* Of the time for both directions, what moves in the background take is no demand of a request; `bare`: nor
 * where requests wait behind them. */
static double needed(const struct judge_input *in, enum kvf_tier tier, const double busy[KVF_DIRS],
                     double any, bool bare) {
    double sum = 0, part = 0, most = 0;
    if (isnan(any)) return any;
    for (int d = 0; d < KVF_DIRS; d++) {
        if (!(busy[d] > 0)) continue;
        sum += busy[d];
        double load = busy[d] * (bare ? in->needed[tier][d] : judge_needed(in, tier, (enum kvf_dir)d));
        part += load;
        most = fmax(most, load);
    }
    return sum > 0 ? fmin(fmax(any * part / sum, most), any) : any;
}

void judge_consider_tier(const struct judge_input *in, enum kvf_tier tier, struct judge_resource *most) {
    bool link = !isnan(in->link_any[tier]), memory = link && tier == KVF_TIER_GPU;
    double own = !link ? in->tier_busy[tier] : memory ? in->memory_any : (double)NAN;
    const double *busy = memory ? in->memory_busy : in->busy[tier];
    double load = needed(in, tier, busy, own, false);
    if (busier(load, most->load))
        *most = (struct judge_resource){
            verdict_limit_of(tier), tier, own, load, needed(in, tier, busy, own, true), false};
    if (!link) return;
    busy = in->link_busy[tier], own = in->link_any[tier];
    load = needed(in, tier, busy, own, false);
    if (busier(load, most->load))
        *most =
            (struct judge_resource){VERDICT_LINK, tier, own, load, needed(in, tier, busy, own, true), false};
}

bool judge_of_background(const struct judge_resource *r) {
    return r->tier != KVF_TIERS && r->load > 0 && r->load - r->bare >= BACKGROUND * r->load;
}

struct judge_resource judge_busiest_tier(const struct judge_input *in) {
    struct judge_resource most = JUDGE_NO_RESOURCE;
    for (int t = 0; t < KVF_TIERS; t++)
        if (in->on[t]) judge_consider_tier(in, (enum kvf_tier)t, &most);
    return most;
}

struct judge_resource judge_fullest_tier(const struct judge_input *in) {
    struct judge_input all = *in;
    for (int t = 0; t < KVF_TIERS; t++)
        for (int d = 0; d < KVF_DIRS; d++) all.needed[t][d] = 1;
    return judge_busiest_tier(&all);
}

enum kvf_tier judge_most_loaded_tier(const struct judge_input *in) {
    return judge_busiest_tier(in).tier;
}

/* Storage twice as fast frees places in half of the time that they wait for it; room for twice as many
 * sequences is of use until the tiers are full, and of none where they stand at the gate of writes. What
 * brings about as much is what holds the places. */
bool judge_places_idle(const struct judge_input *in) {
    double idle = in->batch_running > 0 ? in->batch_held / in->batch_running : 0;
    double load = judge_busiest_tier(in).load, more = load > 0 ? fmin(1 / load, 2) : 2;
    if (judge_leader_of(in).limit && idle >= HALF) more = 1;
    return in->batch_waiting > 0 && 1 / (1 - idle / 2) > AS_MUCH * more;
}

/* Whether the wait to join the batch is most of the latency that targets are of, or of the time for which
 * full slots are held. */
static bool waits_to_join(const struct judge_input *in) {
    double wait_ms = judge_each_ms(in, in->batch_waiting);
    bool holds = in->slots_ratio >= JUDGE_FULL && wait_ms >= HALF * (in->e2e_ms - in->queue_ms);
    return holds || (in->targets && wait_ms >= HALF * (in->ttft_ms > 0 ? in->ttft_ms : in->e2e_ms));
}

/* Arrivals that wait for no answer and are all served: a larger batch serves no more of them. */
bool judge_batch_matters(const struct judge_input *in) {
    bool all_served = in->unserved_ratio >= 0 && !judge_grows(in);
    return judge_batch_limit(in) != JUDGE_BATCH_FREE && (!all_served || waits_to_join(in));
}

/* How often the batch that there is may be had without one limit: its size, room, or slots with both. */
static double growth(const struct judge_input *in, enum judge_batch without) {
    double g = (double)INFINITY, running = in->batch_running;
    bool slots = without == JUDGE_BATCH_OF_ALL_SLOTS || without == JUDGE_BATCH_FREE;
    double kept = fmax(in->kv_use, in->kv_kept);
    if (kept > 0 && without != JUDGE_BATCH_NO_ROOM && without != JUDGE_BATCH_OF_ALL_SLOTS)
        g = fmin(g, 1 / kept);
    if (!(running > 0)) return fmax(g, 1);
    if (in->places > 0 && without == JUDGE_BATCH_NO_ROOM) g = fmin(g, in->places / running);
    if (in->slots > 0 && !slots) g = fmin(g, (double)in->slots / running);
    bool asks_on = in->unserved_ratio >= 0; /* a user may have several requests open */
    if (in->users > 0 && !asks_on) g = fmin(g, in->users / running);
    return fmax(g, 1);
}

static double saved(const struct judge_input *in, enum judge_batch without) {
    double busy = in->compute_busy, g = growth(in, without);
    double kept = fmax(in->compute_work, in->compute_apart); /* a batch twice as large overlaps hardly more */
    double work = busy > 0 && kept > 0 ? fmin(kept / busy, 1) : 1;
    return (1 - work) * (isinf(g) ? 1 : 1 - 1 / g);
}

/* A GPU has a step under way nearly all the time, however small its batch, and does more in the same time
 * with more requests. What keeps its batch small, room, its own limit, or slots, is no work of the GPU: but
 * where all are full at once, the batch is as large as any single one of them lets it be. */
struct judge_resource judge_gpu(const struct judge_input *in) {
    double busy = in->compute_busy, work = in->compute_work > 0 ? fmin(in->compute_work, busy) : busy;
    double load = work;
    enum judge_batch limit = judge_batch_limit(in);
    bool full = busy >= JUDGE_SATURATED && (limit != JUDGE_BATCH_FREE || in->slots_ratio >= JUDGE_FULL);
    if (full && saved(in, limit) < SAVED) load = busy;
    return (struct judge_resource){VERDICT_COMPUTE, KVF_TIERS, busy, load, fmin(load, work), false};
}

enum judge_batch judge_batch_limit(const struct judge_input *in) {
    if (!(in->compute_busy >= 0)) return JUDGE_BATCH_FREE;
    double out = in->batch_full + in->batch_no_room;
    bool kept_out = out >= fmin(SOMETIMES, HALF * in->batch_waiting) && out > 0 && waits_to_join(in);
    if (out >= HALF || kept_out)
        return in->batch_full > in->batch_no_room ? JUDGE_BATCH_FULL : JUDGE_BATCH_NO_ROOM;
    bool slots = in->slots_ratio >= JUDGE_FULL && in->compute_busy >= JUDGE_SATURATED;
    /* with more slots more misses, or as many as there is room for */
    double room = judge_free_misses(in) ? JUDGE_SATURATED : HALF;
    return slots && in->kv_use >= room ? JUDGE_BATCH_OF_ALL_SLOTS : JUDGE_BATCH_FREE;
}

double judge_saved_by_batches(const struct judge_input *in) {
    return saved(in, judge_batch_limit(in));
}

/* Of two that are full the one that requests wait for longer: the line is there. */
static struct judge_resource most_waited_for(const struct judge_input *in, struct judge_resource most) {
    struct judge_resource other = JUDGE_NO_RESOURCE;
    struct judge_leader l = judge_leader_of(in);
    if (!l.found || l.limit || most.tier == KVF_TIERS || most.load < JUDGE_SATURATED) return most;
    judge_consider_tier(in, l.tier, &other);
    return other.load >= TIED * most.load ? other : most;
}

static double tier_op_s(const struct judge_input *in, int t) {
    return fmax(in->device_s[t][KVF_DIR_READ], 0) + fmax(in->device_s[t][KVF_DIR_WRITE], 0);
}

/* Staging buffers carry chunks of nvme; a copy holds a worker until its slowest leg has ended. */
static enum kvf_tier workers_tier(const struct judge_input *in) {
    enum kvf_tier most = KVF_TIER_CPU;
    if (in->staging >= in->copying) return KVF_TIER_NVME;
    for (int t = 0; t < KVF_TIERS; t++)
        if (in->on[t] && t != KVF_TIER_NVME && tier_op_s(in, t) > tier_op_s(in, most))
            most = (enum kvf_tier)t;
    return most;
}

/* While all of them are at work some channels of every tier that they serve are not: more of them do more at
 * a time. */
static bool idle_beside(const struct judge_input *in, enum kvf_tier tier, double part) {
    double fullest = 0;
    for (int t = 0; t < KVF_TIERS; t++)
        if (in->on[t] && (tier == KVF_TIER_NVME || t != KVF_TIER_NVME))
            fullest = fmax(fullest, fmax(in->tier_busy[t], in->link_any[t]));
    return fullest < part * judge_pool_busy(in, tier);
}

bool judge_few_workers(const struct judge_input *in, enum kvf_tier tier) {
    return idle_beside(in, tier, HALF);
}

struct judge_resource judge_workers(const struct judge_input *in) {
    double busy = fmax(in->staging, in->copying);
    enum kvf_tier tier = workers_tier(in);
    bool bind = busy >= JUDGE_SATURATED && idle_beside(in, tier, JUDGE_SATURATED);
    double load = bind ? needed(in, tier, in->busy[tier], busy, false) : (double)NAN;
    double bare = bind ? needed(in, tier, in->busy[tier], busy, true) : (double)NAN;
    return (struct judge_resource){verdict_limit_of(tier), tier, busy, load, bare, true};
}

/* Of a tier and a GPU that are both full: moves in the background fill what time a tier has left, so it
 * bounds less than a GPU that is full of work; else requests wait for one of them longer, a place in the
 * batch apart. */
static struct judge_resource tier_or_gpu(const struct judge_input *in, struct judge_resource tier,
                                         struct judge_resource gpu) {
    bool first = judge_by_first_token(in);
    double part[JUDGE_PARTS], whole = first ? in->ttft_ms : in->e2e_ms;
    if (!(tier.load >= JUDGE_SATURATED && gpu.load >= JUDGE_SATURATED))
        return busier(gpu.load, tier.load) ? gpu : tier;
    if (gpu.bare >= JUDGE_SATURATED && !(tier.bare >= JUDGE_SATURATED)) return gpu;
    if (!(tier.load >= TIED * gpu.load)) return gpu;
    (void)judge_shares(in, first, part);
    double join = judge_share(judge_join_of(in, first), whole);
    return part[JUDGE_STORAGE] > part[JUDGE_COMPUTE] - (join > 0 ? join : 0) ? tier : gpu;
}

struct judge_resource judge_most_loaded(const struct judge_input *in) {
    struct judge_resource most = tier_or_gpu(in, judge_busiest_tier(in), judge_gpu(in));
    double cpus = in->host_cpu_ratio;
    /* the program's own threads are a part of it: it is named only where it is full */
    if (cpus >= JUDGE_FULL && !judge_others_compute(in) && busier(cpus, most.load))
        most = (struct judge_resource){VERDICT_HOST_CPU, KVF_TIERS, cpus, cpus, cpus, false};
    most = most_waited_for(in, most);
    struct judge_resource workers = judge_workers(in);
    return workers.load >= JUDGE_SATURATED && !(most.load >= JUDGE_SATURATED) ? workers : most;
}

double judge_bound_load(const struct judge_input *in) {
    struct judge_resource most = judge_most_loaded(in);
    if (!judge_of_background(&most)) return most.load;
    most = judge_gpu(in);
    for (int t = 0; t < KVF_TIERS; t++) {
        struct judge_resource tier = JUDGE_NO_RESOURCE;
        if (in->on[t]) judge_consider_tier(in, (enum kvf_tier)t, &tier);
        if (!judge_of_background(&tier) && busier(tier.load, most.load)) most = tier;
    }
    return most.load;
}

const char *judge_room_for_more(const struct judge_input *in, const struct judge_resource *r) {
    bool batch = r->limit == VERDICT_COMPUTE && r->load < JUDGE_SATURATED * r->busy;
    return batch && judge_batch_limit(in) == JUDGE_BATCH_FREE ? " in batches with room for more" : "";
}

void judge_add_resource(struct phrase *t, const struct judge_resource *r, const struct judge_input *in) {
    if (r->tier == KVF_TIERS) {
        phrase_add(t, "%s", r->limit == VERDICT_COMPUTE ? "the modelled GPU" : "the host's CPUs");
        return;
    }
    bool link = r->limit == VERDICT_LINK, memory = r->tier == KVF_TIER_GPU && !isnan(in->link_any[r->tier]);
    const double *busy = link ? in->link_busy[r->tier] : memory ? in->memory_busy : in->busy[r->tier];
    double read = busy[KVF_DIR_READ], write = busy[KVF_DIR_WRITE];
    double any = link ? in->link_any[r->tier] : memory ? in->memory_any : in->tier_busy[r->tier];
    double least = fmin(read, write), most = fmax(read, write);
    /* where each has time of its own, the busier one is what is busy */
    bool both = (least > 0.2 * most && any > most) || least >= NEARLY * most;
    phrase_add(t, "%s%s%s %s", tier_name(r->tier),
               link     ? " link"
               : memory ? " memory"
                        : "",
               judge_emulated_word(in, r->tier),
               both           ? "reads and writes"
               : write > read ? "writes"
                              : "reads");
}

void judge_add_busy(struct phrase *t, const struct judge_resource *r, const struct judge_input *in) {
    phrase_add(t, "%s busy", phrase_share(r->workers ? in->tier_busy[r->tier] : r->busy).text);
    if (r->workers) phrase_add(t, ", all that the workers keep busy (engine.workers)");
}

static void add_busy(struct verdict *v, const char *what, double busy, double load, double rate) {
    char name[48];
    snprintf(name, sizeof name, "%s_busy", what);
    verdict_add_evidence(v, name, busy, "");
    snprintf(name, sizeof name, "%s_demand_ms", what);
    if (rate > 0) verdict_add_evidence(v, name, load / rate * 1e3, "ms");
}

/* Of an emulated gpu or a remote tier the link's time is the tier's. */
static void add_links(struct verdict *v, const struct judge_input *in, double rate, double *sum_s) {
    char name[48];
    for (int t = 0; t < KVF_TIERS; t++) {
        if (!in->on[t] || isnan(in->link_any[t])) continue;
        double load = needed(in, (enum kvf_tier)t, in->link_busy[t], in->link_any[t], false);
        snprintf(name, sizeof name, "%s_link", tier_name((enum kvf_tier)t));
        add_busy(v, name, in->link_any[t], load, rate);
    }
    if (!in->on[KVF_TIER_GPU] || isnan(in->memory_any)) return;
    double load = needed(in, KVF_TIER_GPU, in->memory_busy, in->memory_any, false);
    add_busy(v, "gpu_memory", in->memory_any, load, rate);
    if (rate > 0 && in->emulated[KVF_TIER_GPU]) *sum_s += load / rate;
}

double judge_loads(struct verdict *v, const struct judge_input *in, double rate) {
    double sum_s = 0;
    for (int t = 0; t < KVF_TIERS; t++) {
        if (!in->on[t]) continue;
        double load = needed(in, (enum kvf_tier)t, in->busy[t], in->tier_busy[t], false);
        add_busy(v, tier_name((enum kvf_tier)t), in->tier_busy[t], load, rate);
        if (rate > 0 && load > 0) sum_s += load / rate;
    }
    add_links(v, in, rate, &sum_s);
    return sum_s;
}
