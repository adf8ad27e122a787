#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "compare/comparison_parts.h"

/* The cause of a change. Percentiles of parts do not add up to that of the whole; means do. So the cause
 * is the part of the mean latency that changed most, all parts considered: of those that have no name nothing
 * is said. Of storage it is an operation, and of a read, where it went. */

/* So many times the bytes of a request, or its misses, are more or fewer. */
#define MORE 1.02
/* So many times the operations of a request are more or fewer, for a reader. */
#define CLEARLY_MORE 1.05
/* Less than this part of a change is not what it comes from. */
#define HALF 0.5
#define SOME 0.1

struct search {
    const struct comparison *c;
    size_t side;
    const struct comparison_means *base, *own;
    enum comparison_direction direction;
    bool worse;
    bool *beside; /* set where other keys of the scenario differ than those that the part goes by */
};

/* ---- why, or merely where ---- */

/* Keys that change nothing of what a request takes. */
static const char *const idle_keys[] = {"name",    "description", "seed", "run.",
                                        "assess.", "submission",  "sweep"};

static bool begins(const char *key, const char *const *prefix, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (prefix[i] && strncmp(key, prefix[i], strlen(prefix[i])) == 0) return true;
    return false;
}

bool comparison_key_counts(const char *key) {
    return !begins(key, idle_keys, sizeof idle_keys / sizeof *idle_keys);
}

/* Of a tier how much fits is no property of its operations. */
static bool is_capacity(const char *key) {
    return buf_ends_with(key, ".capacity") || buf_ends_with(key, ".usable");
}

/* A part of a latency that moved is a cause where nothing differs but the system, or keys of that part alone.
 * Where others do, such as how many users ask, it is an effect of theirs as well. */
static const char *because(const struct search *s, const char *own, const char *also, bool capacity) {
    const char *const prefix[2] = {own, also};
    for (size_t i = 0; i < s->c->differences; i++) {
        const struct comparison_difference *d = &s->c->difference[i];
        if (comparison_same(d, s->side) || !comparison_key_counts(d->key)) continue;
        if (begins(d->key, prefix, 2) && (capacity || !is_capacity(d->key))) continue;
        *s->beside = true;
        return "as";
    }
    return "because";
}

static const char *because_of_tier(const struct search *s, enum kvf_tier t) {
    char own[48];
    snprintf(own, sizeof own, "tiers.%s.", tier_name(t));
    return because(s, own, NULL, false);
}

static double known(double v) {
    return kvf_present(v) ? v : 0;
}

/* How much a mean moved the way that is looked for. */
static double moved(const struct search *s, double base, double own) {
    return s->worse ? own - base : base - own;
}

static bool went(const struct search *s, const char *metric) {
    return comparison_went(s->c, metric, s->side, s->direction);
}

/* Whether a metric that is listed shows that there is nothing to it: its change is within noise, or went the
 * other way. Others have no noise of their own. */
static bool denied(const struct search *s, const char *metric) {
    const struct comparison_metric *m = comparison_metric(s->c, metric);
    const struct comparison_change *v = m ? &m->change[s->side] : NULL;
    return v &&
           (v->noise == COMPARISON_WITHIN || (v->noise == COMPARISON_BEYOND && v->direction != s->direction));
}

static void put_mean(const char *metric, double base, double own, struct buf *out) {
    char label[64];
    metric_label(metric, label, sizeof label);
    buf_addf(out, " (%s %s after %s)", label, format_measure(own, "ms", metric).text,
             format_measure(base, "ms", metric).text);
}

/* ---- lookups ---- */

/* Whether lookups that make work when they miss, miss more often, or less. */
static bool misses_move(const struct search *s) {
    double times = kvf_ratio(s->own->misses, s->base->misses);
    bool from_none = s->base->misses == 0 && s->own->misses > 0;
    return went(s, "reuse_hit_ratio") && (s->worse ? times > MORE || from_none : times < 1 / MORE);
}

static void put_misses(const struct search *s, const char *before, struct buf *out) {
    buf_addf(out, " %s %s lookups miss (", before, s->worse ? "more" : "fewer");
    comparison_put_values(s->c, "reuse_hit_ratio", s->side, out);
    buf_add(out, ")");
}

/* A cache that hits more has more to read, and may be slower for it. Whether it was said. */
static bool put_reads(const struct search *s, struct buf *out) {
    bool hits = comparison_went(s->c, "reuse_hit_ratio", s->side, COMPARISON_IMPROVED);
    if (!s->worse || !hits || !comparison_reads(s->c, s->side, true)) return false;
    buf_add(out, " while fewer lookups miss, and so a request reads more (");
    comparison_put_values(s->c, "reuse_hit_ratio", s->side, out);
    buf_add(out, ")");
    return true;
}

/* ---- operations ---- */

struct operation {
    enum kvf_tier tier;
    enum kvf_dir dir;
    double moved, longer; /* of a request; of it what each took longer, or less, at as many */
};

static double operation_ms(const struct comparison_means *m, int t, int d) {
    return known(m->operations[t][d]) > 0 ? known(m->operation_ms[t][d]) * m->operations[t][d] : 0;
}

/* The operations that took most more, or less, of a request. Whether there are any. */
static bool find_operation(const struct search *s, struct operation *out) {
    *out = (struct operation){0};
    if (s->c->side[s->side].other_units) return false; /* of blocks and of whole contexts */
    for (int t = 0; t < KVF_TIERS; t++)
        for (int d = 0; d < KVF_DIRS; d++) {
            double ms = moved(s, operation_ms(s->base, t, d), operation_ms(s->own, t, d));
            if (!(ms > out->moved)) continue;
            double each = (known(s->base->operations[t][d]) + known(s->own->operations[t][d])) / 2;
            double longer = moved(s, s->base->operation_ms[t][d], s->own->operation_ms[t][d]);
            *out = (struct operation){(enum kvf_tier)t, (enum kvf_dir)d, ms, known(longer) * each};
        }
    return out->moved > 0;
}

/* Operations that go on side by side take more together than a request waits for them: those that moved by
 * hardly any of that are not why. */
static bool explains(const struct search *s, const struct operation *o) {
    return !(o->moved < SOME * moved(s, known(s->base->storage), known(s->own->storage)));
}

/* A tier is no cause of what users wait for where both sides are limited by something else inside. */
static bool may_cause(const struct search *s, enum kvf_tier t) {
    static const char *const open[] = {"none", "unknown", "load", "link", "neighbour"};
    const char *name = tier_name(t);
    const size_t sides[2] = {0, s->side};
    bool named = false;
    for (size_t k = 0; k < 2; k++) {
        const char *by = s->c->side[sides[k]].limited_by;
        named = named || by[0] == '\0' || strncmp(by, name, strlen(name)) == 0;
        for (size_t i = 0; i < sizeof open / sizeof open[0]; i++)
            named = named || strncmp(by, open[i], strlen(open[i])) == 0;
    }
    return named;
}

/* Of reads that take longer, or less, at the device whether in the kernel's queue or in the drive: its
 * requests run side by side, so their means are no parts of it. Whether it was said. */
static bool put_device(const struct search *s, struct buf *out) {
    static const struct {
        const char *metric, *p95, *worse, *better;
    } parts[] = {{"nvme_read_d2c_mean_ms", "nvme_read_d2c_p95_ms", "the drive takes longer for reads",
                  "the drive takes less time for reads"},
                 {"nvme_read_q2d_mean_ms", "nvme_read_q2d_p95_ms", "reads wait longer in the kernel's queue",
                  "reads wait less in the kernel's queue"},
                 {"nvme_read_device_mean_ms", "nvme_read_device_p95_ms",
                  "nvme reads take longer at the device", "nvme reads take less time at the device"}};
    double whole = moved(s, s->base->operation_ms[KVF_TIER_NVME][KVF_DIR_READ],
                         s->own->operation_ms[KVF_TIER_NVME][KVF_DIR_READ]);
    double part[3] = {moved(s, s->base->drive_ms, s->own->drive_ms),
                      moved(s, s->base->kernel_ms, s->own->kernel_ms),
                      moved(s, s->base->device_ms, s->own->device_ms)};
    const double base[3] = {s->base->drive_ms, s->base->kernel_ms, s->base->device_ms},
                 own[3] = {s->own->drive_ms, s->own->kernel_ms, s->own->device_ms};
    if (!(whole > 0 && part[2] >= HALF * whole) || denied(s, parts[2].p95)) return false;
    size_t at = 2;
    for (size_t i = 0; i < 2; i++)
        if (went(s, parts[i].p95) && part[i] > 0 && !(part[i] < part[1 - i])) at = i;
    buf_addf(out, " %s %s", because_of_tier(s, KVF_TIER_NVME), s->worse ? parts[at].worse : parts[at].better);
    put_mean(parts[at].metric, base[at], own[at], out);
    return true;
}

static void put_operation(const struct search *s, const struct operation *o, struct buf *out) {
    const char *tier = tier_name(o->tier), *dir = dir_name(o->dir);
    const double base = s->base->operations[o->tier][o->dir], own = s->own->operations[o->tier][o->dir];
    char metric[METRIC_NAME];
    if (o->longer < HALF * o->moved) {
        if (!(kvf_ratio(fmax(known(own), known(base)), fmin(known(own), known(base))) <= CLEARLY_MORE))
            buf_addf(out, " %s requests wait for %s %s %ss (%.3g each after %.3g)",
                     because_of_tier(s, o->tier), s->worse ? "more" : "fewer", tier, dir, known(own),
                     known(base));
        return;
    }
    if (o->tier == KVF_TIER_NVME && o->dir == KVF_DIR_READ && put_device(s, out)) return;
    snprintf(metric, sizeof metric, "%s_%s_mean_ms", tier, dir);
    buf_addf(out, " %s %s %ss %s", because_of_tier(s, o->tier), tier, dir,
             s->worse ? "take longer" : "are faster");
    put_mean(metric, s->base->operation_ms[o->tier][o->dir], s->own->operation_ms[o->tier][o->dir], out);
}

/* A miss is written again. `alone`: of storage itself. Whether the lookups that miss were named. */
static bool put_storage(const struct search *s, bool alone, struct buf *out) {
    struct operation o;
    char p95[METRIC_NAME];
    bool found = find_operation(s, &o);
    bool writes = found && o.dir == KVF_DIR_WRITE, more = found && o.longer < HALF * o.moved;
    if (!writes && put_reads(s, out)) return false;
    if (writes && more && misses_move(s)) {
        put_misses(s, because(s, "cache.", "tiers.", true), out);
        return true;
    }
    if (!found || !(alone || may_cause(s, o.tier)) || !explains(s, &o)) return false;
    snprintf(p95, sizeof p95, "%s_%s_p95_ms", tier_name(o.tier), dir_name(o.dir));
    if (more || !denied(s, p95)) put_operation(s, &o, out);
    return false;
}

/* ---- the parts of a request ---- */

enum { WAY, QUEUE, STORAGE, PREFILL, GENERATION, REST, PARTS };

/* Up to the first token nothing is generated, and of the time in storage there is as much as fits beside the
 * rest. */
static void parts_of(const struct comparison_means *m, bool first_token, double part[PARTS]) {
    double whole = first_token ? m->ttft : m->e2e;
    part[WAY] = m->way;
    part[QUEUE] = known(m->queue);
    part[PREFILL] = known(m->prefill);
    part[GENERATION] = first_token ? 0 : known(m->generation);
    part[STORAGE] = known(m->storage);
    if (first_token)
        part[STORAGE] = fmin(part[STORAGE], fmax(whole - part[WAY] - part[QUEUE] - part[PREFILL], 0));
    part[REST] = whole - part[WAY] - part[QUEUE] - part[PREFILL] - part[GENERATION] - part[STORAGE];
}

/* REST: none that has a name, or the mean did not move this way. */
static int part_of(const struct search *s, bool first_token) {
    double base[PARTS], own[PARTS];
    int most = REST;
    parts_of(s->base, first_token, base);
    parts_of(s->own, first_token, own);
    bool goes =
        first_token ? moved(s, s->base->ttft, s->own->ttft) > 0 : moved(s, s->base->e2e, s->own->e2e) > 0;
    for (int i = 0; i < REST && goes; i++)
        if (moved(s, base[i], own[i]) > fmax(moved(s, base[most], own[most]), 0)) most = i;
    return most;
}

static void put_delay(double base_ms, double own_ms, struct buf *out) {
    buf_addf(out, " (fleet.delay %s after %s)", format_ms(own_ms).text, format_ms(base_ms).text);
}

static const struct {
    const char *key, *metric, *worse, *better;
} parts[REST] = {[WAY] = {"fleet.delay", NULL, "messages take longer from router to pod",
                          "messages take less time from router to pod"},
                 [QUEUE] = {"engine.", "queue_wait_mean_ms", "requests wait longer for a slot",
                            "requests wait less for a slot"},
                 [PREFILL] = {"compute.", "prefill_mean_ms",
                              "prefills and the wait for the batch take longer",
                              "prefills and the wait for the batch take less time"},
                 [GENERATION] = {"compute.", "generation_mean_ms", "generation takes longer",
                                 "generation takes less time"}};

/* Of any part but storage. Whether the lookups that miss were named. */
static bool put_part(const struct search *s, int part, struct buf *out) {
    const double mean[REST][2] = {[WAY] = {s->base->way, s->own->way},
                                  [QUEUE] = {s->base->queue, s->own->queue},
                                  [PREFILL] = {s->base->prefill, s->own->prefill},
                                  [GENERATION] = {s->base->generation, s->own->generation}};
    bool misses = misses_move(s);
    if (part == PREFILL && misses) {
        put_misses(s, because(s, "cache.", "tiers.", true), out);
        return true;
    }
    buf_addf(out, " %s %s", because(s, parts[part].key, NULL, false),
             s->worse ? parts[part].worse : parts[part].better);
    if (part == WAY)
        put_delay(s->base->way, s->own->way, out);
    else
        put_mean(parts[part].metric, known(mean[part][0]), known(mean[part][1]), out);
    if (misses)
        put_misses(s, "while", out);
    else
        (void)put_reads(s, out);
    return misses;
}

/* ---- throughput ---- */

/* Where more is asked more is done, whatever a request takes. */
static const struct {
    const char *key, *more, *less;
    bool named, at_rate; /* the key is; it counts where requests come at a rate, and only there */
} loads[] = {{"workload.users", "more users ask", "fewer users ask", false, false},
             {"workload.arrival.rate", "more arrives", "less arrives", true, true},
             {"workload.arrival.speedup", "more arrives", "less arrives", true, false},
             {"workload.scale", "more arrives", "less arrives", true, false}};

static double number(const char *text) {
    return text ? strtod(text, NULL) : 0;
}

static const struct comparison_difference *differing(const struct search *s, const char *key) {
    for (size_t i = 0; i < s->c->differences; i++)
        if (strcmp(s->c->difference[i].key, key) == 0 && !comparison_same(&s->c->difference[i], s->side))
            return &s->c->difference[i];
    return NULL;
}

/* " as more users ask (200 after 100)", where throughput went the same way. Whether it was said. */
static bool put_load(const struct search *s, struct buf *out) {
    for (size_t i = 0; i < sizeof loads / sizeof loads[0]; i++) {
        const struct comparison_difference *d = differing(s, loads[i].key);
        bool at_rate = s->c->side[s->side].at_rate && s->c->side->at_rate;
        if (!d || at_rate != loads[i].at_rate) continue;
        double base = number(d->value[0]), own = number(d->value[s->side]);
        if (!(base > 0 && own > 0) || (own > base) == s->worse) continue;
        buf_addf(out, " as %s (%s%s%s after %s)", s->worse ? loads[i].less : loads[i].more,
                 loads[i].named ? loads[i].key : "", loads[i].named ? " " : "", d->value[s->side],
                 d->value[0]);
        *s->beside = false;
        (void)because(s, loads[i].key, NULL, true);
        return true;
    }
    return false;
}

/* Whether the sides were asked at other times, or by other users. */
static bool asked_otherwise(const struct search *s) {
    static const char *const keys[] = {"workload.users",  "workload.arrival.", "workload.scale",
                                       "workload.source", "workload.path",     "workload.limit"};
    for (size_t i = 0; i < s->c->differences; i++) {
        const struct comparison_difference *d = &s->c->difference[i];
        if (comparison_same(d, s->side)) continue;
        if (begins(d->key, keys, sizeof keys / sizeof *keys) || buf_ends_with(d->key, ".think")) return true;
    }
    return false;
}

/* By how much, in ms, the time from one request of a user to the next changed: the users do as much in a
 * second as it is shorter. It is no less than a request takes. */
static double cycle_moved(const struct search *s, const char *what) {
    const struct comparison_metric *m = comparison_metric(s->c, what),
                                   *rate = comparison_metric(s->c, "requests_per_s");
    double users = s->c->side->users, per_s = rate ? rate->change[0].value : KVF_MISSING;
    double cycle = fmax(s->base->e2e, known(kvf_ratio(1000 * users, per_s)));
    return fabs(cycle * (kvf_ratio(m->change[0].value, m->change[s->side].value) - 1));
}

/* Whether a part of the latency can be what throughput changed for. A queue that requests wait in because
 * they arrive faster than they are served is no cause of that. */
static bool may_change_rate(const struct search *s, const char *what, int part) {
    const struct comparison_side *base = s->c->side, *own = &s->c->side[s->side];
    double before[PARTS], now[PARTS];
    if (strcmp(what, "goodput_per_s") == 0) return true; /* goes by latencies */
    if (asked_otherwise(s) || comparison_serves(base) || comparison_serves(own)) return false;
    if (base->open_loop || own->open_loop) return part != QUEUE;
    parts_of(s->base, false, before);
    parts_of(s->own, false, now);
    return moved(s, before[part], now[part]) >= HALF * cycle_moved(s, what);
}

/* ---- the cause ---- */

static struct search search_of(const struct comparison *c, size_t side, enum comparison_direction direction,
                               bool *beside) {
    return (struct search){.c = c,
                           .side = side,
                           .base = &c->side[0].mean,
                           .own = &c->side[side].mean,
                           .direction = direction,
                           .worse = direction == COMPARISON_WORSENED,
                           .beside = beside};
}

/* The part that a metric of what users feel goes by; REST: none. */
static int part_behind(const struct search *s, const char *what) {
    int part = part_of(s, strncmp(what, "ttft_", 5) == 0);
    if (comparison_of_rate(what) && part != REST && !may_change_rate(s, what, part)) return REST;
    return (part == STORAGE && denied(s, "storage_io_p95_ms")) ||
                   (part == QUEUE && denied(s, "queue_wait_p95_ms"))
               ? REST
               : part;
}

bool comparison_cause(const struct comparison *c, size_t side, enum comparison_direction direction,
                      const char *what, bool *beside, struct buf *out) {
    const struct search s = search_of(c, side, direction, beside);
    if (strncmp(what, "nvme_read_", 10) == 0) {
        if (!put_reads(&s, out)) (void)put_device(&s, out);
        return false;
    }
    if (strncmp(what, "storage_", 8) == 0) return put_storage(&s, true, out);
    if (comparison_of_rate(what)) {
        if (put_load(&s, out)) return false;
        if (comparison_serves(c->side) && comparison_serves(&c->side[side])) return false;
    }
    int part = part_behind(&s, what);
    if (part == REST) return false;
    return part == STORAGE ? put_storage(&s, false, out) : put_part(&s, part, out);
}

/* ---- misses as a cause ---- */

bool comparison_computes(const struct comparison *c, size_t side) {
    const struct comparison_side *both[] = {c->side, &c->side[side]};
    for (size_t k = 0; k < 2; k++)
        if (strcmp(both[k]->granularity, "request") != 0 && known(both[k]->mean.prefill) > 0) return true;
    return false;
}

/* Whether a tier became no larger. */
static bool no_larger(const struct comparison_difference *d, size_t side) {
    uint64_t base, own;
    return d->value[0] && d->value[side] && units_parse_size(d->value[0], &base) == 0 &&
           units_parse_size(d->value[side], &own) == 0 && own <= base;
}

/* Whether a side has smaller tiers, or evicts in another way, and nothing else that counts differs. */
static bool holds_less_alone(const struct search *s) {
    size_t found = 0;
    for (size_t i = 0; i < s->c->differences; i++) {
        const struct comparison_difference *d = &s->c->difference[i];
        if (comparison_same(d, s->side) || !comparison_key_counts(d->key)) continue;
        bool tier = strncmp(d->key, "tiers.", 6) == 0;
        bool smaller = tier && buf_ends_with(d->key, ".capacity") && no_larger(d, s->side);
        bool evicts = strcmp(d->key, "cache.eviction") == 0 || (tier && buf_ends_with(d->key, ".eviction"));
        if (!smaller && !evicts) return false;
        found++;
    }
    return found > 0;
}

bool comparison_misses_spare(const struct comparison *c, size_t side, const char *what) {
    bool beside;
    const struct search s = search_of(c, side, COMPARISON_IMPROVED, &beside);
    if (!comparison_reads(c, side, false) || comparison_computes(c, side) || !holds_less_alone(&s))
        return false;
    bool of_storage = strncmp(what, "storage_", 8) == 0 || strncmp(what, "nvme_read_", 10) == 0;
    return of_storage || part_behind(&s, what) == STORAGE;
}
