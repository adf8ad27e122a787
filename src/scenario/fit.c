#include "scenario/fit.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/terms.h"
#include "base/units.h"
#include "scenario/keys.h"

enum {
    STEPS = 1 << 30,   /* fineness of the factor */
    STAGING_CHUNKS = 4 /* of a worker, where memory is scarce */
};
static const uint64_t least_room = 256 * KVF_MIB; /* of a disk that is worth scaling for */

struct fitting {
    struct fit *out;
    struct scenario *s;
    const struct budget_machine *m;
    struct scenario before, trial; /* as given; as it would be with a factor */
    uint64_t disk_room;            /* KVF_UNSET: unknown, or too little to count */
    uint64_t floor[KVF_TIERS];     /* capacities that are kept for large entries */
};

__attribute__((format(printf, 2, 3))) static void say(struct fitting *f, const char *fmt, ...) {
    va_list ap;
    if (f->out->lines == FIT_LINES_MAX) return;
    va_start(ap, fmt);
    vsnprintf(f->out->line[f->out->lines].text, FIT_LINE, fmt, ap);
    va_end(ap);
    f->out->line[f->out->lines++].scaled = true;
}

/* A text by value, so that several fit into one sentence. */
struct size_text {
    char text[32];
};
static struct size_text size(double bytes) {
    struct size_text t;
    units_size_human(bytes, t.text, sizeof t.text);
    return t;
}

/* Whether a tier's capacity is a number that can be scaled. */
static bool stated(const struct scenario *s, int tier) {
    return s->tier[tier].on && s->tier[tier].capacity_bytes != KVF_AUTO;
}

static bool nvme_auto(const struct scenario *s) {
    return s->tier[KVF_TIER_NVME].on && s->tier[KVF_TIER_NVME].capacity_bytes == KVF_AUTO;
}

static bool effective(const struct scenario *s, const char *key) {
    return !unused_reason(&key_table[key_index(key)], s);
}

/* --- sizes of entries --- */

/* Of the longest context; 0 where the source does not tell beforehand. */
static uint64_t largest_entry(const struct scenario *s) {
    uint64_t tokens = traits_source(s->workload.source)->context_tokens;

    if (s->cache.granularity == KVF_GRANULARITY_BLOCK) return scenario_min_entry_bytes(s);
    if (scenario_source_has(s, SOURCE_PERSONAS))
        for (uint32_t i = 0; i < s->workload.personas; i++)
            tokens = kvf_max(tokens, s->workload.persona[i].context.hi);
    return model_kv_bytes(&s->model, s->tensor_parallel, tokens);
}

static double mean_context(const struct scenario *s) {
    double sum = 0, shares = 0;

    for (uint32_t i = 0; i < s->workload.personas; i++) {
        const struct scenario_persona *p = &s->workload.persona[i];
        double of_user = ((double)p->context.lo + (double)p->context.hi) / 2;
        sum += p->share * of_user * (1 + p->spread) / 2;
        shares += p->share;
    }
    return shares > 0 ? sum / shares : 0;
}

/* Turns end a conversation with probability p, the one of number n always: (1 - (1 - p)^n) / p. */
static double mean_turns(const struct scenario *s) {
    double p = s->workload.conversation.end_probability, n = (double)s->workload.conversation.max_turns;

    if (s->workload.phase == KVF_WORKLOAD_PHASE_DECODE) return (double)s->workload.decode.entries;
    return p > 0 ? (1 - pow(1 - p, n)) / p : n;
}

uint64_t fit_user_bytes(const struct scenario *s) {
    if (!scenario_source_has(s, SOURCE_PERSONAS)) return 0;
    uint64_t entry = model_kv_bytes(&s->model, s->tensor_parallel, (uint64_t)llround(mean_context(s)));
    return (uint64_t)((double)entry * mean_turns(s));
}

/* --- whether it fits --- */

enum limit { LIMIT_MEMORY = 1, LIMIT_DISK = 2, LIMIT_BOTH = 3 };

static bool fits(struct fitting *f, const struct scenario *s, enum limit limit) {
    struct scenario copy = *s;
    struct budget b;

    /* what cannot even be added up is left for others to refuse */
    if (budget_resolve(&copy, f->m, true, &b, NULL)) return true;
    uint64_t memory = f->m->memory_available_bytes;
    if ((limit & LIMIT_MEMORY) && (b.arena_bytes > memory / 2 || b.memory_bytes > memory / 10 * 9))
        return false;
    return !(limit & LIMIT_DISK) || !stated(s, KVF_TIER_NVME) || f->disk_room == KVF_UNSET ||
           b.disk_bytes <= f->disk_room;
}

/* Capacities as people write them. */
static uint64_t rounded(uint64_t bytes) {
    uint64_t grain = bytes >= 8 * KVF_GIB     ? 512 * KVF_MIB
                     : bytes >= KVF_GIB       ? 128 * KVF_MIB
                     : bytes >= 128 * KVF_MIB ? 16 * KVF_MIB
                                              : KVF_MIB;
    return kvf_max(bytes - bytes % grain, KVF_MIB);
}

/* The scenario with all stated capacities times steps / STEPS. */
static void scale(struct fitting *f, struct scenario *s, int steps) {
    for (int t = 0; t < KVF_TIERS; t++) {
        if (!stated(&f->before, t)) continue;
        uint64_t whole = f->before.tier[t].capacity_bytes;
        uint64_t part = (uint64_t)((unsigned __int128)whole * (unsigned)steps / STEPS);
        s->tier[t].capacity_bytes = kvf_min(whole, kvf_max(kvf_max(part, KVF_MIB), f->floor[t]));
    }
}

/* The largest factor that keeps a limit; -1 when none does. */
static int largest_factor(struct fitting *f, enum limit limit) {
    int low = 0, high = STEPS; /* low fits, high is the least that may not */

    scale(f, &f->trial, STEPS);
    if (fits(f, &f->trial, limit)) return STEPS;
    scale(f, &f->trial, 0);
    if (!fits(f, &f->trial, limit)) return -1;
    while (high - low > 1) {
        int middle = low + (high - low) / 2;
        scale(f, &f->trial, middle);
        if (fits(f, &f->trial, limit))
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Tiers that held `count` of the largest entries go on to. */
static void keep_entries(struct fitting *f, uint64_t count) {
    uint64_t entries = largest_entry(&f->before) * count;

    for (int t = 0; t < KVF_TIERS; t++) {
        f->floor[t] = 0;
        if (!entries || !stated(&f->before, t)) continue;
        if (scenario_usable_bytes(&f->before, t) < entries) continue;
        double kept = t >= KVF_TIER_NVME ? 1 : 1 - f->before.cache.headroom;
        f->floor[t] = (uint64_t)((double)entries / kept) / KVF_MIB * KVF_MIB + KVF_MIB;
    }
}

/* --- the steps --- */

static bool find_factors(struct fitting *f, int *memory, int *disk) {
    for (int entries = 2; entries >= 0; entries--) {
        keep_entries(f, (uint64_t)entries);
        *memory = largest_factor(f, LIMIT_MEMORY);
        *disk = largest_factor(f, LIMIT_DISK);
        if (*memory >= 0 && *disk >= 0) return true;
    }
    return false;
}

/* Buffers of the workers are all that is left to save. */
static bool lower_staging(struct fitting *f) {
    struct scenario copy = *f->s;
    struct budget b;

    if (!scenario_stages(f->s) || f->s->engine.staging_bytes != KVF_AUTO) return false;
    if (budget_resolve(&copy, f->m, true, &b, NULL)) return false;
    uint64_t lower = b.workers * f->s->nvme.io_size * STAGING_CHUNKS;
    if (lower >= b.staging_bytes) return false;
    f->s->engine.staging_bytes = f->before.engine.staging_bytes = f->trial.engine.staging_bytes = lower;
    say(f, "engine.staging %s -> %s: memory is scarce", size((double)b.staging_bytes).text,
        size((double)lower).text);
    return true;
}

static void say_capacities(struct fitting *f, bool by_memory, bool by_disk) {
    char each[64];
    for (int t = 0; t < KVF_TIERS; t++) {
        const char *name = tier_name(t);
        if (!stated(&f->before, t)) continue;
        double from = (double)f->before.tier[t].capacity_bytes, to = (double)f->s->tier[t].capacity_bytes;
        if (from == to) continue;
        if (t == KVF_TIER_CPU && by_memory)
            say(f, "tiers.cpu.capacity %s -> %s: %s of memory are %s%s, of which it gets half at most",
                size(from).text, size(to).text, size((double)f->m->memory_available_bytes).text,
                f->m->memory_from_cgroup ? "left under the limit of the cgroup" : "available",
                budget_each(f->s, each, sizeof each));
        else if (t == KVF_TIER_NVME && by_disk)
            say(f, "tiers.nvme.capacity %s -> %s: more would leave too little of %.80s", size(from).text,
                size(to).text, f->s->nvme.path[0]);
        else
            say(f, "tiers.%s.capacity %s -> %s: in proportion to the other tiers", name, size(from).text,
                size(to).text);
    }
}

static void fit_tiers(struct fitting *f) {
    int memory, disk;

    f->trial = *f->s;
    bool found = find_factors(f, &memory, &disk);
    if (!found && lower_staging(f)) found = find_factors(f, &memory, &disk);
    if (!found || (memory == STEPS && disk == STEPS)) return;
    scale(f, f->s, memory < disk ? memory : disk);
    for (int t = 0; t < KVF_TIERS; t++)
        if (stated(&f->before, t))
            f->s->tier[t].capacity_bytes = kvf_max(rounded(f->s->tier[t].capacity_bytes), f->floor[t]);
    say_capacities(f, memory <= disk, disk <= memory);
}

/* Bytes of all tiers, nvme with what auto will make of it. */
static double total_bytes(struct fitting *f) {
    struct scenario copy = *f->s;
    struct budget b;
    double sum = 0;

    if (budget_resolve(&copy, f->m, true, &b, NULL)) return NAN;
    for (int t = 0; t < KVF_TIERS; t++) sum += (double)scenario_usable_bytes(&copy, t);
    return sum;
}

static double stated_ratio(struct fitting *f) {
    double before = 0, after = 0;

    for (int t = 0; t < KVF_TIERS; t++) {
        if (!stated(&f->before, t)) continue;
        before += (double)scenario_usable_bytes(&f->before, t);
        after += (double)scenario_usable_bytes(f->s, t);
    }
    return before > 0 ? after / before : 1;
}

static uint64_t at_least_one(double v) {
    return v < 1 ? 1 : (uint64_t)v;
}

static void fit_users(struct fitting *f, double ratio, double total) {
    uint64_t before = f->s->workload.users, users = before;
    double each = (double)fit_user_bytes(f->s);

    if (!effective(f->s, "workload.users")) {
        if (ratio < 1) say(f, "requests come from a file and stay as they are: expect fewer hits");
        return;
    }
    users = kvf_min(users, at_least_one((double)users * ratio + 1e-9));
    uint64_t by_ratio = users;
    if (nvme_auto(f->s) && each > 0 && total > 0) users = kvf_min(users, at_least_one(total / each));
    if (users == before) return;
    f->s->workload.users = users;
    if (users < by_ratio)
        say(f, "workload.users %" PRIu64 " -> %" PRIu64 ": about %s of conversations each, in tiers of %s",
            before, users, size(each).text, size(total).text);
    else
        say(f, "workload.users %" PRIu64 " -> %" PRIu64 ": as many for each byte of the tiers as before",
            before, users);
    if (f->s->autoscaler.mode != KVF_AUTOSCALER_OFF && f->s->autoscaler.min_users > users) {
        say(f, "autoscaler.min_users %" PRIu64 " -> %" PRIu64 ": not above the users",
            f->s->autoscaler.min_users, users);
        f->s->autoscaler.min_users = users;
    }
}

static void fit_documents(struct fitting *f, double ratio, double total) {
    uint64_t before = f->s->workload.rag.documents, documents = before;
    const struct scenario_range *tokens = &f->s->workload.rag.tokens;

    if (!before || !effective(f->s, "workload.rag.probability")) return;
    documents = kvf_min(documents, at_least_one((double)documents * ratio + 1e-9));
    double each =
        (double)model_kv_bytes(&f->s->model, f->s->tensor_parallel, tokens->lo / 2 + tokens->hi / 2);
    if (nvme_auto(f->s) && total > 0) documents = kvf_min(documents, at_least_one(total / 4 / each));
    if (documents == before) return;
    f->s->workload.rag.documents = documents;
    say(f, "workload.rag.documents %" PRIu64 " -> %" PRIu64 ": about %s each, in tiers of %s", before,
        documents, size(each).text, size(total).text);
}

static void fit_precondition(struct fitting *f) {
    uint64_t before = f->s->run.precondition_bytes, most = before;
    struct scenario copy = *f->s;
    struct budget b;

    if (!f->s->tier[KVF_TIER_NVME].on || before == KVF_AUTO || !before) return;
    if (budget_resolve(&copy, f->m, true, &b, NULL)) return;
    if (nvme_auto(f->s))
        most = kvf_min(before, 2 * copy.tier[KVF_TIER_NVME].capacity_bytes);
    else
        most = rounded((uint64_t)((double)before * ((double)f->s->tier[KVF_TIER_NVME].capacity_bytes /
                                                    (double)f->before.tier[KVF_TIER_NVME].capacity_bytes)));
    if (most >= before) return;
    f->s->run.precondition_bytes = most;
    say(f, "run.precondition %s -> %s: in proportion to the nvme tier", size((double)before).text,
        size((double)most).text);
}

/* Entries that a tier held, and that now go past it, change what the scenario is about. */
static void warn_of_large_entries(struct fitting *f) {
    uint64_t entry = largest_entry(f->s), most = 0;

    for (int t = 0; t < KVF_TIERS; t++) {
        if (!f->s->tier[t].on) continue;
        if (!stated(f->s, t)) return; /* auto: the rest of a disk */
        uint64_t usable = scenario_usable_bytes(f->s, t);
        most = kvf_max(most, usable);
        if (usable < entry && scenario_usable_bytes(&f->before, t) >= entry)
            say(f, "entries of more than %s do not fit into the %s tier any more; the largest has %s",
                size((double)usable).text, tier_name(t), size((double)entry).text);
    }
    if (entry > most)
        say(f, "entries of more than %s fit into no tier and are refused", size((double)most).text);
}

void fit_apply(struct fit *out, struct scenario *s, const struct budget_machine *m) {
    struct fitting f = {.out = out, .s = s, .m = m, .before = *s};

    out->lines = 0;
    if (s->mode == KVF_MODE_SIMULATE) {
        say(&f, "mode simulate takes nothing of this machine: nothing is scaled");
        out->line[0].scaled = false;
        return;
    }
    f.disk_room = s->tier[KVF_TIER_NVME].on ? budget_disk_room(s, m) : KVF_UNSET;
    if (f.disk_room != KVF_UNSET && f.disk_room < least_room) f.disk_room = KVF_UNSET;
    if (s->tier[KVF_TIER_GPU].on && !scenario_backend_has(s, KVF_TIER_GPU, BACKEND_DEVICE)) {
        say(&f, "the gpu tier is emulated: it takes no memory, and its figures are a model's");
        out->line[0].scaled = false;
    }
    fit_tiers(&f);
    double ratio = stated_ratio(&f), total = total_bytes(&f);
    fit_users(&f, ratio, total);
    fit_documents(&f, ratio, total);
    fit_precondition(&f);
    warn_of_large_entries(&f);
    for (unsigned i = 0; i < out->lines; i++) s->scaled = s->scaled || out->line[i].scaled;
}
