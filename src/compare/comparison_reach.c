#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "compare/comparison_parts.h"
#include "base/units.h"
#include "base/url.h"
#include "draw/format.h"
#include "record/judge/judge.h"

/* From here on another program has a part in what was measured: the kernel's bytes of the device beside ours,
 * and the share of all CPUs that others kept busy. */
#define NEIGHBOUR_BYTES 1.2
#define NEIGHBOUR_CPU   0.2

struct reach_side {
    bool failed;
    double bytes, cpu;           /* as above; NaN: not known */
    bool on_device, on_cpu;      /* whether a neighbour was */
    bool users_differ;           /* from those of the baseline */
    bool other_units;            /* than the baseline's */
    bool more, less;             /* undone, as of the comparison's side, unless the other does less */
    bool waits_more, waits_less; /* arrivals, likewise */
    bool smaller, larger;        /* requests, likewise */
    bool skips, skipped;         /* likewise, reads of the decode */
    bool served;                 /* what arrived, on its own */
    double offered;              /* a second */
};
struct comparison_reach {
    size_t sides;
    struct reach_side *side;
    const struct comparison *c;
};

/* ---- other granularities ---- */

/* Whether a measure is of lookups, or of a tier's operations: of whole contexts at one granularity, of blocks
 * at the other. Of a request, and in bytes or seconds of all, they are the same thing. */
static bool of_entries(const char *metric) {
    static const char *const counts[] = {"lookups",    "hits",      "misses",  "hit_ratio",  "evictions",
                                         "promotions", "demotions", "entries", "miss_ratio", "refused"};
    size_t tier = strcspn(metric, "_");
    if (strncmp(metric, "requests_", 9) == 0 || strncmp(metric, "rag_", 4) == 0) return false;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        if (buf_ends_with(metric, counts[i])) return true;
    for (int t = 0; t < KVF_TIERS; t++)
        if (strlen(tier_name((enum kvf_tier)t)) == tier &&
            strncmp(metric, tier_name((enum kvf_tier)t), tier) == 0)
            return buf_ends_with(metric, "_ms") || buf_ends_with(metric, "_ops");
    return false;
}

/* ---- other programs ---- */

static double value_of(const struct comparison_input *i, const char *metric) {
    const char *unit;
    return comparison_value(i, metric, &unit);
}

/* Both directions together: little that one of them moved says nothing. */
static double device_bytes(const struct comparison_input *i) {
    double kernel = value_of(i, "device_read_bytes") + value_of(i, "device_write_bytes");
    double ours = value_of(i, "nvme_read_bytes") + value_of(i, "nvme_write_bytes");
    const struct run_tier *nvme = &i->run->tier[KVF_TIER_NVME];
    return nvme->on && !nvme->emulated && ours > 0 ? kernel / ours : KVF_MISSING;
}

static double cpu_share(const struct comparison_input *i) {
    json_t *environment = i->run->environment ? json_loads(i->run->environment, 0, NULL) : NULL;
    json_t *online = json_object_get(json_object_get(environment, "cpu"), "online");
    double cpus = (double)json_integer_value(online), length = value_of(i, "measured_s");
    double ours = (value_of(i, "cpu_user_s") + value_of(i, "cpu_sys_s")) / (cpus * length);
    json_decref(environment);
    return value_of(i, "host_cpu_ratio") - ours; /* NaN with any part missing */
}

/* ": fio 239 MiB, writeback 2.12 MiB", or nothing. */
static void name_neighbours(const struct comparison_input *i, struct comparison_side *side, char *out,
                            size_t len) {
    size_t count = 0, used = 0;
    struct snapshot_neighbour *all = i->series ? series_neighbours(i->series, true, &count) : NULL;
    side->neighbours = count < COMPARISON_NEIGHBOURS ? count : COMPARISON_NEIGHBOURS;
    out[0] = '\0';
    for (size_t n = 0; n < side->neighbours; n++) {
        char name[64], bytes[24];
        side->neighbour[n] = all[n];
        snapshot_neighbour_name(&all[n], name, sizeof name);
        units_size_human((double)(all[n].read_bytes + all[n].write_bytes), bytes, sizeof bytes);
        int more = snprintf(out + used, len - used, "%s %s %s", n ? "," : ":", name, bytes);
        if (more < 0 || (used += (size_t)more) >= len) break;
    }
    free(all);
}

static void find_neighbours(const struct comparison_input *i, struct comparison *c, size_t s,
                            struct reach_side *out) {
    *out = (struct reach_side){.bytes = KVF_MISSING, .cpu = KVF_MISSING};
    char names[COMPARISON_NEIGHBOURS * 96];
    if (strcmp(i->run->mode, "simulate") == 0) return;
    name_neighbours(i, &c->side[s], names, sizeof names);
    out->bytes = device_bytes(i);
    out->cpu = cpu_share(i);
    out->on_device = out->bytes > NEIGHBOUR_BYTES;
    out->on_cpu = out->cpu > NEIGHBOUR_CPU;
    if (out->on_device)
        comparison_warn(
            c, "Another program used the device under nvme during %s: the kernel counted %s our bytes%s.",
            c->side[s].label, format_times(out->bytes).text, names);
    if (out->on_cpu)
        comparison_warn(c, "Other programs%s kept %.0f %% of the CPUs busy during %s.",
                        url_described_here(i->run->tier[KVF_TIER_REMOTE].description) ? JUDGE_SERVER : "",
                        100 * out->cpu, c->side[s].label);
}

/* Counts of failures are none of a neighbour's doing that could be told from ours, and stay what they are. */
static bool is_measured(const struct comparison_metric *m) {
    return (m->unit[0] || buf_ends_with(m->metric, "_ratio")) && strcmp(m->metric, "rss_peak_bytes") != 0;
}

static bool of_memory_tier(const char *metric) {
    for (int t = 0; t < KVF_TIER_NVME; t++) {
        const char *tier = tier_name((enum kvf_tier)t);
        size_t n = strlen(tier);
        if (strncmp(metric, tier, n) == 0 && metric[n] == '_') return true;
    }
    return false;
}

static bool disturbed(const struct reach_side *s, const struct comparison_metric *m) {
    return is_measured(m) && (s->on_cpu || (s->on_device && !of_memory_tier(m->metric)));
}

/* ---- other users ---- */

/* Whether a list of two names one value: what all users have alike. */
static bool one_value(const json_t *persona, const char *key) {
    const json_t *range = json_object_get(persona, key);
    return json_equal(json_array_get(range, 0), json_array_get(range, 1));
}

/* Whether users are drawn that last for the whole run, each with sizes, pauses and a class of its own. */
static bool users_drawn(const struct run_record *r) {
    json_t *root = r->effective_json ? json_loads(r->effective_json, 0, NULL) : NULL;
    const json_t *workload = json_object_get(root, "workload");
    const char *source = json_string_value(json_object_get(workload, "source"));
    const json_t *personas = json_object_get(workload, "personas"), *only = json_array_get(personas, 0);
    const json_t *classes = json_object_get(json_object_get(root, "qos"), "classes");
    const char *compute = json_string_value(json_object_get(json_object_get(root, "compute"), "mode"));
    bool fixed = compute && strcmp(compute, "deterministic") == 0;
    bool sizes = fixed || (one_value(only, "context") && one_value(only, "generate"));
    bool alike =
        json_array_size(personas) == 1 && json_array_size(classes) == 1 && sizes && one_value(only, "think");
    bool documents = json_integer_value(json_object_get(json_object_get(workload, "rag"), "documents")) > 0;
    bool drawn = source && (strcmp(source, "agentic") == 0 ||
                            (strcmp(source, "synthetic") == 0 && (!alike || documents)));
    json_decref(root);
    return drawn;
}

/* Trials of several seeds have those of many draws. */
static bool users_known(const struct comparison_input *i) {
    return comparison_group(i) && trials_seeds_differ(i->trials);
}

static bool users_differ(const struct comparison_input *a, const struct comparison_input *b) {
    if (a->run->seed == b->run->seed || users_known(a) || users_known(b)) return false;
    return users_drawn(a->run) || users_drawn(b->run);
}

/* ---- the whole ---- */

/* The notes there are, each once for all sides. */
struct reach_notes {
    bool neighbours, failed, users, units, undone, waiting, sizes, skips;
};

static void put_notes(struct comparison *c, const struct reach_notes *n) {
    if (n->neighbours)
        comparison_note(
            c, "Nothing is claimed of what another program had a part in; run again on a machine that "
               "is left alone.");
    if (n->failed)
        comparison_note(c, "Nothing is claimed of a run that failed: its figures end where it did.");
    if (n->users)
        comparison_note(
            c, "Nothing is claimed between runs of different seeds, whose users are others: give both "
               "one seed, or compare trials (run.trials), of which each has another.");
    if (n->units)
        comparison_note(
            c, "Nothing is claimed of lookups, hit ratios and operations of a tier between granularities: at "
               "request they are of whole contexts, at block of blocks, new ones among them.");
    if (n->undone)
        comparison_note(
            c,
            "Nothing is claimed to be better where more requests fail or are dropped, writes fall "
            "through or are not admitted, other work is left undone or began before the measured part, or a "
            "run ends amid most of its work: less work is done sooner.");
    if (n->waiting)
        comparison_note(
            c,
            "No latency, target or hit ratio is claimed to be better where over five percentage points more "
            "of the arrivals were left waiting, or a quarter fewer of them served: it is that of the requests "
            "that were served.");
    if (n->sizes)
        comparison_note(
            c, "Nothing%s is claimed to be better where the requests done were smaller: they take less time.",
            n->skips ? "" : " but context and generated tokens/s");
    if (n->undone || n->sizes)
        comparison_note(
            c, "Less work explains a change up to its own size, and of latencies and shares its square: what "
               "is worse by more than that is told, and held to its limit. What is better by more is told "
               "where nothing but lookups of document chunks was left undone.");
}

struct comparison_reach *comparison_reach_new(const struct comparison_input *input, struct comparison *c) {
    struct comparison_reach *r = mem_zalloc(1, sizeof *r);
    r->sides = c->sides;
    r->c = c;
    r->side = mem_zalloc(c->sides, sizeof *r->side);
    struct reach_notes notes = {0};
    for (size_t s = 0; s < c->sides; s++) {
        find_neighbours(&input[s], c, s, &r->side[s]);
        notes.neighbours = notes.neighbours || r->side[s].on_device || r->side[s].on_cpu;
        r->side[s].users_differ = s > 0 && users_differ(&input[0], &input[s]);
        notes.users = notes.users || r->side[s].users_differ;
        r->side[s].failed = comparison_side_failed(&c->side[s]);
        notes.failed = notes.failed || r->side[s].failed;
        r->side[s].other_units = c->side[s].other_units;
        notes.units = notes.units || c->side[s].other_units;
        const struct comparison_side *own = &c->side[s];
        r->side[s].more = own->loses_chunks || own->idle_misses ||
                          (own->undone_more && !comparison_does_less(c, 0, s, COMPARISON_LESS_DONE));
        r->side[s].less = own->base_idle_misses || ((own->undone_less || own->base_loses_chunks) &&
                                                    !comparison_does_less(c, s, 0, COMPARISON_LESS_DONE));
        notes.undone = notes.undone || r->side[s].more || r->side[s].less;
        r->side[s].waits_more = comparison_waits_more(&c->side[s], c->side);
        r->side[s].waits_less = comparison_waits_more(c->side, &c->side[s]);
        notes.waiting = notes.waiting || r->side[s].waits_more || r->side[s].waits_less;
        r->side[s].smaller = c->side[s].smaller;
        r->side[s].larger = c->side[s].larger;
        r->side[s].skips = c->side[s].skips;
        r->side[s].skipped = c->side[s].skipped;
        r->side[s].served = comparison_serves(&c->side[s]);
        r->side[s].offered = c->side[s].offered;
        notes.sizes = notes.sizes || c->side[s].smaller || c->side[s].larger;
        notes.skips = notes.skips || c->side[s].skips || c->side[s].skipped;
    }
    put_notes(c, &notes);
    return r;
}

/* Whether the one that looks better is that of which this is so. */
static bool looks_better(bool side, bool base, enum comparison_direction direction) {
    return (side && direction == COMPARISON_IMPROVED) || (base && direction == COMPARISON_WORSENED);
}

/* An open loop that serves what arrives does no more, however fast it is. */
#define FEWER 0.99
static bool asked_less(const struct reach_side *base, const struct reach_side *side,
                       const struct comparison_metric *m, enum comparison_direction direction) {
    bool rate = comparison_of_rate(m->metric) || strcmp(m->metric, "total_tok_s") == 0;
    const struct reach_side *less = direction == COMPARISON_WORSENED ? side : base,
                            *more = less == side ? base : side;
    return rate && less->served && less->offered < FEWER * more->offered;
}

/* Why nothing at all is told, however much it moved. */
static enum comparison_reason untold(const struct comparison_reach *r, size_t side,
                                     const struct comparison_metric *m) {
    if (r->side[0].failed || r->side[side].failed) return COMPARISON_FAILED;
    if (r->side[side].users_differ && is_measured(m)) return COMPARISON_USERS;
    if (disturbed(&r->side[0], m) || disturbed(&r->side[side], m)) return COMPARISON_NEIGHBOUR;
    if (r->side[side].other_units && of_entries(m->metric)) return COMPARISON_UNITS;
    return COMPARISON_TOLD;
}

static void add_reason(enum comparison_reason *reason, enum comparison_reason one, double *times,
                       double more) {
    if (*reason == COMPARISON_TOLD) *reason = one;
    *times *= more;
}

/* The goodput is not all that arrived. */
static double times_asked(const struct reach_side *base, const struct reach_side *side,
                          const struct comparison_metric *m) {
    bool part = strcmp(m->metric, "goodput_per_s") == 0;
    return part ? fmax(side->offered / base->offered, base->offered / side->offered) : INFINITY;
}

/* Whether so many fewer lookups hit that no work that the baseline left undone, or waiting, makes it: none of
 * that lets others hit. Of a run that is cut, or that began before, the lookups are others. */
static bool hits_fall_far(const struct comparison *c, size_t side, const struct comparison_metric *m) {
    const struct comparison_change *v = &m->change[side];
    bool hits = strcmp(m->metric, "reuse_hit_ratio") == 0 || strcmp(m->metric, "hit_ratio") == 0;
    enum standing_flaw flaw = c->side[0].flaw;
    bool others = standing_flaw_hides(flaw) && flaw != STANDING_FLAW_COPIES;
    return hits && v->direction == COMPARISON_WORSENED && !others &&
           comparison_falls_far(m->change[0].value, v->value);
}

enum comparison_reason comparison_reach_reason(const struct comparison_reach *r, size_t side,
                                               const struct comparison_metric *m, double *explained) {
    const struct reach_side *s = &r->side[side];
    const struct comparison_side *of = &r->c->side[side];
    enum comparison_direction direction = m->change[side].direction;
    enum comparison_reason reason = untold(r, side, m);
    bool own = direction == COMPARISON_IMPROVED, by_tokens = strcmp(m->metric, "total_tok_s") == 0,
         work = is_measured(m) && !hits_fall_far(r->c, side, m);
    double times = 1;
    *explained = INFINITY;
    if (reason != COMPARISON_TOLD) return reason;
    if (work && looks_better(s->more, s->less, direction))
        add_reason(&reason, COMPARISON_UNDONE, &times, own ? of->spared : of->spared_base);
    if (work && !comparison_of_rate(m->metric) && looks_better(s->waits_more, s->waits_less, direction))
        add_reason(&reason, COMPARISON_WAITING, &times, INFINITY);
    if (is_measured(m) &&
        looks_better(by_tokens ? s->skips : s->smaller, by_tokens ? s->skipped : s->larger, direction))
        add_reason(&reason, COMPARISON_SMALLER, &times, own ? of->times_smaller : of->times_larger);
    if (asked_less(&r->side[0], s, m, direction))
        add_reason(&reason, COMPARISON_ASKED, &times, times_asked(&r->side[0], s, m));
    *explained = comparison_explains(m, times);
    return reason;
}

void comparison_reach_free(struct comparison_reach *r) {
    if (r) free(r->side);
    free(r);
}
