#include "scenario/budget.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/terms.h"
#include "base/units.h"

enum {
    DISK_GRAIN = 4096,        /* files and extents are whole 4 KiB blocks */
    INDEX_BYTES = 128,        /* of an entry in the cache's index */
    COUNTER_BYTES = 314572,   /* histogram pages and counters that a worker touches */
    INTERVAL_BYTES = 10240,   /* of a snapshot in the FIFO */
    INTERVALS = 3600,         /* that the FIFO holds */
    USER_BYTES = 300,         /* of a user with its stream and timer */
    REQUEST_BYTES = 256,      /* of a request in the queue */
    FILE_CONTEXT_TOKENS = 128 /* taken for the smallest usual context of a trace at request granularity */
};
static const uint64_t program_bytes = 16 * KVF_MIB;
static const uint64_t staging_limit = 512 * KVF_MIB;
static const uint64_t disk_reserve = 2 * KVF_GIB;
static const uint64_t index_limit = 4 * KVF_GIB;
/* Of simulate. */
static const uint32_t any_cpus = 8;
static const uint64_t any_disk_bytes = 1024 * KVF_GIB;

static uint64_t round_up(uint64_t v, uint64_t to) {
    return (v + to - 1) / to * to;
}

/* The unit in which the nvme tier gives out room. */
static uint64_t disk_unit(const struct scenario *s) {
    return s->nvme.layout == KVF_NVME_LAYOUT_ARENA ? scenario_page_bytes(s) : DISK_GRAIN;
}

/* Provisioned for the rounding of one entry up to `unit`: nothing when every entry is a multiple of
 * the smallest and that one of the unit. */
static uint64_t waste_per_entry(const struct scenario *s, uint64_t unit) {
    if (!scenario_source_has(s, SOURCE_INFERS)) return unit;
    return scenario_min_entry_bytes(s) % unit || s->model.sliding_layers ? unit : 0;
}

/* Bytes of a tier that can keep `usable` logical bytes, whatever the sizes of entries. */
static uint64_t provisioned(const struct scenario *s, uint64_t usable, uint64_t unit) {
    uint64_t waste = waste_per_entry(s, unit);
    unsigned __int128 sum = (unsigned __int128)usable + unit - 1;
    sum -= sum % unit;
    if (waste) sum += (unsigned __int128)(usable / scenario_min_entry_bytes(s) + 1) * waste;
    return sum > UINT64_MAX / 2 ? UINT64_MAX / 2 : (uint64_t)sum;
}

/* --- what is auto --- */

/* The batch is what limits a modelled GPU; others look up, read and wait for their place meanwhile. */
uint64_t budget_auto_slots(const struct scenario *s) {
    return scenario_computes(s) ? kvf_min(kvf_max(256, 4 * s->compute.max_batch), 100000) : 256;
}

static void resolve_threads(struct scenario *s, const struct budget_machine *m, struct budget *b) {
    if (s->engine.workers == KVF_AUTO) s->engine.workers = m->cpus < 2 ? 2 : kvf_min(m->cpus, 16);
    if (s->engine.slots == KVF_AUTO) s->engine.slots = budget_auto_slots(s);
    b->workers = s->engine.workers;
    b->slots = s->engine.slots;
}

static void resolve_staging(struct scenario *s, struct budget *b) {
    /* Where nothing passes through more, a worker needs one buffer to read into. */
    uint64_t least = scenario_stages(s) || scenario_any_in_memory(s) ? b->workers * s->nvme.io_size : 0;
    uint64_t wanted = scenario_stages(s) ? kvf_min(least * s->nvme.io_depth, staging_limit) : least;

    if (s->engine.staging_bytes == KVF_AUTO) s->engine.staging_bytes = kvf_max(wanted, least);
    b->staging_bytes = scenario_stages(s) ? s->engine.staging_bytes : least;
}

/* Free bytes of the file systems behind the nvme paths, `reserve` and a tenth of each left out when
 * `share` is true. KVF_UNSET when one is unknown. */
static uint64_t free_bytes(const struct scenario *s, const struct budget_machine *m, bool share) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < s->nvme.path_count; i++) {
        uint64_t one = m->disk_free_bytes[i];
        if (m->disk_same_fs[i]) continue;
        if (one == KVF_UNSET) return KVF_UNSET;
        if (share) one = one > disk_reserve ? kvf_min(one / 10 * 9, one - disk_reserve) : 0;
        sum += one;
    }
    return sum;
}

uint64_t budget_disk_room(const struct scenario *s, const struct budget_machine *m) {
    return free_bytes(s, m, true);
}

static int resolve_nvme(struct scenario *s, const struct budget_machine *m, struct err *e) {
    char free_text[32], each[64];

    if (!s->tier[KVF_TIER_NVME].on || s->tier[KVF_TIER_NVME].capacity_bytes != KVF_AUTO) return 0;
    if (s->mode == KVF_MODE_SIMULATE) {
        s->tier[KVF_TIER_NVME].capacity_bytes = any_disk_bytes;
        return 0;
    }
    uint64_t room = budget_disk_room(s, m), total = free_bytes(s, m, false);
    if (room == KVF_UNSET)
        return err_set(e, KVF_ERR_USAGE,
                       "tiers.nvme.capacity is auto, but the free space under %s is unknown; give a capacity",
                       s->nvme.path[0]);
    uint64_t least = scenario_min_entry_bytes(s), taken = least + waste_per_entry(s, disk_unit(s));
    uint64_t capacity = (uint64_t)((unsigned __int128)room * least / taken);
    capacity -= capacity % KVF_MIB;
    if (!capacity)
        return err_set(e, KVF_ERR_NOSPACE,
                       "tiers.nvme.capacity is auto, which takes 90 %% of the free space and leaves at least "
                       "2 GiB, but only %s "
                       "are free under %s%s; free some, name another tiers.nvme.path, or give a capacity",
                       units_size_human((double)total, free_text, sizeof free_text), s->nvme.path[0],
                       budget_each(s, each, sizeof each));
    s->tier[KVF_TIER_NVME].capacity_bytes = capacity;
    return 0;
}

static int resolve_gpu(struct scenario *s, struct err *e) {
    struct scenario_vram v;
    if (!s->tier[KVF_TIER_GPU].on || s->tier[KVF_TIER_GPU].capacity_bytes != KVF_AUTO) return 0;
    int rc = scenario_vram(s, &v, e);
    if (rc == 0) s->tier[KVF_TIER_GPU].capacity_bytes = v.capacity_bytes;
    return rc;
}

/* Twice the capacity leaves no block of the device as it was, spare ones included. */
uint64_t budget_auto_precondition(const struct scenario *s) {
    return s->tier[KVF_TIER_NVME].on ? 2 * s->tier[KVF_TIER_NVME].capacity_bytes : 0;
}

/* --- the sums --- */

/* The smallest entry that is usual: bounds how many the index has to hold. */
static uint64_t usual_entry_bytes(const struct scenario *s) {
    uint64_t tokens = FILE_CONTEXT_TOKENS;
    uint64_t chunk = scenario_retrieves(s)
                         ? model_kv_bytes(&s->model, s->tensor_parallel, scenario_chunk_tokens(s))
                         : UINT64_MAX;

    if (s->cache.granularity == KVF_GRANULARITY_BLOCK) return kvf_min(scenario_block_bytes(s), chunk);
    if (scenario_source_has(s, SOURCE_PERSONAS)) {
        tokens = UINT64_MAX;
        for (uint32_t i = 0; i < s->workload.personas; i++) {
            const struct scenario_persona *p = &s->workload.persona[i];
            tokens = kvf_min(tokens, (uint64_t)((double)p->context.lo * p->spread));
        }
    }
    return kvf_min(model_kv_bytes(&s->model, s->tensor_parallel, tokens && tokens != UINT64_MAX ? tokens : 1),
                   chunk);
}

static uint64_t fixed_bytes(const struct scenario *s, const struct budget *b) {
    uint64_t usable = 0, index;

    for (int t = 0; t < KVF_TIERS; t++) usable += scenario_usable_bytes(s, t);
    index = kvf_min(usable / usual_entry_bytes(s) * INDEX_BYTES, index_limit);
    uint64_t users = scenario_source_has(s, SOURCE_USERS) ? s->workload.users * USER_BYTES : 0;
    /* a worker has one buffer to stage in even when no tier holds bytes */
    uint64_t buffers = b->workers * (BUDGET_LANDING_BUFFERS + (b->staging_bytes ? 0 : 1));
    return program_bytes + index + b->workers * COUNTER_BYTES + (uint64_t)INTERVALS * INTERVAL_BYTES + users +
           s->engine.queue_limit * REQUEST_BYTES + buffers * s->nvme.io_size;
}

/* As remote_open() has them. */
static uint64_t connections(const struct scenario *s, const struct budget *b) {
    return kvf_max(s->remote.connections, b->workers);
}

static uint64_t connection_bytes(const struct scenario *s, const struct budget *b) {
    bool buffers = scenario_backend_has(s, KVF_TIER_REMOTE, BACKEND_BUFFERS);
    if (!scenario_remote_is_real(s) || !buffers) return 0;
    return connections(s, b) * round_up(scenario_value_bytes(s), DISK_GRAIN) + BUDGET_LIBRARY_BYTES;
}

static void add_up(const struct scenario *s, struct budget *b) {
    b->arena_bytes = 0;
    for (int t = 0; t < KVF_TIERS; t++) {
        uint64_t usable = scenario_usable_bytes(s, (enum kvf_tier)t);
        bool here = scenario_in_memory(s, (enum kvf_tier)t);
        b->tier_bytes[t] = here ? provisioned(s, usable, scenario_page_bytes(s)) : 0;
        if (s->cpu.huge_pages) b->tier_bytes[t] = round_up(b->tier_bytes[t], 2 * KVF_MIB);
        b->arena_bytes += b->tier_bytes[t];
    }
    b->noise_bytes = b->arena_bytes || scenario_stages(s) ? s->engine.noise_bytes : 0;
    b->fixed_bytes = fixed_bytes(s, b);
    b->connection_bytes = connection_bytes(s, b);
    b->memory_bytes =
        b->arena_bytes + b->staging_bytes + b->noise_bytes + b->connection_bytes + b->fixed_bytes;
    b->disk_bytes =
        s->tier[KVF_TIER_NVME].on ? provisioned(s, s->tier[KVF_TIER_NVME].capacity_bytes, disk_unit(s)) : 0;
}

/* --- whether it fits --- */

struct part {
    const char *name, *key;
    uint64_t bytes;
};

/* The key whose lowering helps most, and how far down it would have to go (0: out of reach). */
static const struct part *largest_part(const struct part *parts, size_t count) {
    const struct part *best = &parts[0];
    for (size_t i = 1; i < count; i++)
        if (parts[i].bytes > best->bytes) best = &parts[i];
    return best;
}

const char *budget_each(const struct scenario *s, char *out, size_t len) {
    out[0] = '\0';
    if (s->ranks.beside > 1) snprintf(out, len, " for each of %u ranks on this machine", s->ranks.beside);
    return out;
}

static void memory_refusal(const struct scenario *s, const struct budget_machine *m, const struct budget *b,
                           struct buf *out) {
#define X(id, name) {name " tier", "tiers." name ".capacity", b->tier_bytes[KVF_TIER_##id]},
    const struct part parts[] = {
        KVF_TIER_LIST(X){"staging", scenario_stages(s) ? "engine.staging" : "tiers.nvme.io_size",
                         b->staging_bytes},
        {"noise", "engine.noise", b->noise_bytes},
        {"connections", "tiers.remote.connections or tiers.remote.chunk_tokens", b->connection_bytes},
        {"index, queue and the rest",
         "tiers.nvme.capacity, tiers.nvme.io_size, engine.queue_limit or workload.users", b->fixed_bytes},
    };
#undef X
    enum { PARTS = sizeof parts / sizeof parts[0], CONNECTIONS = KVF_TIERS + 2 };
    const struct part *largest = largest_part(parts, PARTS);
    char a[32], c[32], each[64];

    buf_addf(out, "memory: %s are needed (", units_size_human((double)b->memory_bytes, a, sizeof a));
    for (size_t i = 0, listed = 0; i < PARTS; i++)
        if (parts[i].bytes > 0 || i == KVF_TIER_CPU || (i >= KVF_TIERS && i != CONNECTIONS))
            buf_addf(out, "%s%s %s", listed++ ? " + " : "", parts[i].name,
                     units_size_human((double)parts[i].bytes, a, sizeof a));
    if (m->memory_available_bytes == 0) {
        buf_add(out, "), and the system does not say how much there is: mount /proc");
        return;
    }
    buf_addf(out, "), but %s are %s%s; lower %s",
             units_size_human((double)m->memory_available_bytes, c, sizeof c),
             m->memory_from_cgroup ? "left under the limit of the cgroup" : "available",
             budget_each(s, each, sizeof each), largest->key);
    uint64_t others = b->memory_bytes - largest->bytes;
    size_t tier = (size_t)(largest - parts);
    if (tier < KVF_TIERS && m->memory_available_bytes > others) {
        uint64_t arena = m->memory_available_bytes - others;
        uint64_t capacity =
            (uint64_t)((double)s->tier[tier].capacity_bytes * ((double)arena / (double)largest->bytes));
        capacity -= capacity % KVF_MIB;
        if (capacity) buf_addf(out, " to %s or less", units_size_exact(capacity, a, sizeof a));
    }
}

static void disk_refusal(const struct scenario *s, const struct budget_machine *m, uint64_t available,
                         const struct budget *b, struct buf *out) {
    char a[32], c[32], d[32], g[32], each[64];

    buf_addf(out,
             "disk: %s are needed (nvme tier %s + rounding %s), but %s are free under %s%s%s; lower "
             "tiers.nvme.capacity",
             units_size_human((double)b->disk_bytes, a, sizeof a),
             units_size_human((double)s->tier[KVF_TIER_NVME].capacity_bytes, c, sizeof c),
             units_size_human((double)(b->disk_bytes - s->tier[KVF_TIER_NVME].capacity_bytes), d, sizeof d),
             units_size_human((double)available, g, sizeof g), s->nvme.path[0],
             s->nvme.path_count > 1 ? " and the other paths" : "", budget_each(s, each, sizeof each));
    buf_add(out, " or free some");
    if (m->disk_leftovers[0])
        buf_addf(out, ": %s are left in %s; `kvfall clean` removes that",
                 units_size_human((double)m->disk_leftover_bytes, a, sizeof a), m->disk_leftovers);
}

static int check_fit(const struct scenario *s, const struct budget_machine *m, const struct budget *b,
                     struct err *e) {
    struct buf why = {0};
    uint64_t disk = free_bytes(s, m, false);
    int rc = 0;

    if (b->memory_bytes > m->memory_available_bytes) memory_refusal(s, m, b, &why);
    if (s->tier[KVF_TIER_NVME].on && disk != KVF_UNSET && b->disk_bytes > disk) {
        if (why.len) buf_add(&why, "; ");
        disk_refusal(s, m, disk, b, &why);
    }
    if (why.len) rc = err_set(e, KVF_ERR_NOSPACE, "%s, or use --force", buf_text(&why));
    buf_free(&why);
    return rc;
}

void budget_machine_any(struct budget_machine *m) {
    *m = (struct budget_machine){.memory_available_bytes = UINT64_MAX, .cpus = any_cpus};
    for (int i = 0; i < SCENARIO_PATHS_MAX; i++) m->disk_free_bytes[i] = KVF_UNSET;
}

int budget_resolve(struct scenario *s, const struct budget_machine *m, bool force, struct budget *b,
                   struct err *e) {
    memset(b, 0, sizeof *b);
    resolve_threads(s, m, b);
    resolve_staging(s, b);
    if (scenario_stages(s) && b->staging_bytes < b->workers * s->nvme.io_size) {
        char pool[32], least[32];
        return err_set(e, KVF_ERR_USAGE,
                       "engine.staging %s is less than one chunk of tiers.nvme.io_size for each of %" PRIu64
                       " workers; give at least %s, or fewer engine.workers",
                       units_size_exact(b->staging_bytes, pool, sizeof pool), b->workers,
                       units_size_exact(b->workers * s->nvme.io_size, least, sizeof least));
    }
    int rc = resolve_gpu(s, e);
    if (rc == 0) rc = resolve_nvme(s, m, e);
    if (rc) return rc;
    if (s->run.precondition_bytes == KVF_AUTO) s->run.precondition_bytes = budget_auto_precondition(s);
    add_up(s, b);
    return force || s->mode == KVF_MODE_SIMULATE ? 0 : check_fit(s, m, b, e);
}

static void text_line(struct buf *out, const char *name, uint64_t bytes, const char *how) {
    char size[32];
    buf_addf(out, "  %-10s %10s  %s\n", name, units_size_human((double)bytes, size, sizeof size), how);
}

void budget_text(const struct scenario *s, const struct budget_machine *m, const struct budget *b,
                 struct buf *out) {
    char how[240], x[32], y[32];
    uint64_t disk = free_bytes(s, m, false);

    if (s->mode == KVF_MODE_SIMULATE) {
        text_line(out, "memory", b->fixed_bytes,
                  "about: index, counters, users, queue, intervals, the program");
        buf_addf(out, "  nothing on disk: a simulation keeps sizes, no bytes\n");
        buf_addf(out, "  simulated: %" PRIu64 " workers, depth %" PRIu64 ", staging %s", b->workers,
                 s->nvme.io_depth, units_size_human((double)b->staging_bytes, x, sizeof x));
        if (s->tier[KVF_TIER_NVME].on)
            buf_addf(out, ", nvme tier %s",
                     units_size_human((double)s->tier[KVF_TIER_NVME].capacity_bytes, x, sizeof x));
        buf_add(out, "\n");
        return;
    }
    buf_addf(out, "memory: %s", units_size_human((double)b->memory_bytes, x, sizeof x));
    if (m->memory_available_bytes == 0)
        buf_add(out, "; the system does not say how much there is: mount /proc\n");
    else
        buf_addf(out, " of %s %s\n", units_size_human((double)m->memory_available_bytes, y, sizeof y),
                 m->memory_from_cgroup ? "left under the limit of the cgroup" : "available");
    for (int t = 0; t < KVF_TIERS; t++) {
        char name[24];
        if (b->tier_bytes[t] == 0 && t != KVF_TIER_CPU) continue;
        (void)snprintf(name, sizeof name, "%s tier", tier_name((enum kvf_tier)t));
        (void)snprintf(how, sizeof how, "capacity %s less headroom %.3g, in pages of %s",
                       units_size_human((double)scenario_capacity_bytes(s, (enum kvf_tier)t), x, sizeof x),
                       s->cache.headroom, units_size_human((double)scenario_page_bytes(s), y, sizeof y));
        text_line(out, name, b->tier_bytes[t], s->tier[t].on ? how : "off");
    }
    (void)snprintf(how, sizeof how, "%" PRIu64 " workers, chunks of %s, depth %" PRIu64, b->workers,
                   units_size_human((double)s->nvme.io_size, x, sizeof x), s->nvme.io_depth);
    text_line(out, "staging", b->staging_bytes,
              scenario_stages(s) || b->arena_bytes ? how : "no tier holds real bytes");
    text_line(out, "noise", b->noise_bytes, "payload that writes are cut from");
    (void)snprintf(how, sizeof how, "%" PRIu64 " connections with a value of %s each", connections(s, b),
                   units_size_human((double)scenario_value_bytes(s), x, sizeof x));
    if (b->connection_bytes) text_line(out, "remote", b->connection_bytes, how);
    text_line(out, "fixed", b->fixed_bytes,
              "about: index, counters, users, queue, intervals, landing buffers, the program");
    if (!s->tier[KVF_TIER_NVME].on) return;
    buf_addf(out, "disk: %s of %s free", units_size_human((double)b->disk_bytes, x, sizeof x),
             disk == KVF_UNSET ? "an unknown number" : units_size_human((double)disk, y, sizeof y));
    buf_addf(out, " under %s%s\n", s->nvme.path[0], s->nvme.path_count > 1 ? " and the other paths" : "");
    text_line(out, "nvme tier", s->tier[KVF_TIER_NVME].capacity_bytes, "capacity");
    text_line(out, "rounding", b->disk_bytes - s->tier[KVF_TIER_NVME].capacity_bytes,
              "whole blocks for every entry");
}
