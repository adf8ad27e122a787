#include "scenario/rules.h"

#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "scenario/budget.h"
#include "scenario/loading.h"

enum { VALUE_BYTES = 48 }; /* longer values are not told */

/* Keys that a submission may choose: every other one changes what is measured, or may. Of sections that end
 * in a dot every key. */
static const char *const chosen[] = {
    "name", "description", "include", "seed", "submission", "sweep", "sweep.",
    /* sampling, classes, criteria and processes */
    "run.interval", "run.block_trace", "run.speed", "qos.classes", "qos.latency", "qos.aging", "assess.",
    "ranks.", "cache.verify",
    /* threads and memory of the program */
    "engine.workers", "engine.staging", "engine.cpus", "tiers.cpu.huge_pages", "tiers.gpu.devices",
    /* the drive and its use, but for the page cache */
    "tiers.nvme.path", "tiers.nvme.layout", "tiers.nvme.io_size", "tiers.nvme.io_depth", "tiers.nvme.sync",
    "tiers.nvme.direct_to_gpu", "tiers.nvme.endurance",
    /* beside its capacity, which is 0 */
    "tiers.remote.",
    /* read by simulations alone */
    "engine.timer_late", "engine.timer_late_spread", "engine.wake", "engine.wake_spread"};
/* Keys with a rule of their own. */
static const char *const apart[] = {"model", "workload.rag.", "autoscaler."};
/* Of a tier those that count; its capacity and its eviction are compared as they take effect. The rest is of
 * a link, which no tier of a submission has. */
static const char *const of_tiers[] = {"backend", "blocks", "read", "write", "layout", "direct"};

static bool is_among(const char *name, const char *const *list, size_t count) {
    for (size_t i = 0; i < count; i++) {
        size_t len = strlen(list[i]);
        if (strncmp(name, list[i], len) == 0 && (name[len] == '\0' || list[i][len - 1] == '.')) return true;
    }
    return false;
}

static bool is_fixed(const struct key *k) {
    const char *name = k->pub.name,
               *of_tier = strncmp(name, "tiers.", 6) == 0 ? strrchr(name, '.') + 1 : NULL;
    if (key_in_list(k) || is_among(name, chosen, sizeof chosen / sizeof *chosen) ||
        is_among(name, apart, sizeof apart / sizeof *apart))
        return false;
    return !of_tier || is_among(of_tier, of_tiers, sizeof of_tiers / sizeof *of_tiers);
}

static void say(struct buf *out, const char *what, const char *is, const char *must) {
    if (!out) return;
    if (out->len) buf_add(out, "; ");
    if (strlen(is) > VALUE_BYTES || strlen(must) > VALUE_BYTES)
        buf_addf(out, "%s differs", what);
    else
        buf_addf(out, "%s is %s, not %s", what, is, must);
}

/* Whether a run has, in place of a rule's auto, what that stands for. */
static bool is_its_auto(const struct key *k, const struct scenario *s, const struct scenario *rules) {
    if (strcmp(k->pub.name, "engine.slots") == 0)
        return rules->engine.slots == KVF_AUTO && s->engine.slots == budget_auto_slots(s);
    if (strcmp(k->pub.name, "run.precondition") == 0)
        return rules->run.precondition_bytes == KVF_AUTO &&
               s->run.precondition_bytes == budget_auto_precondition(s);
    const struct scenario_tier *gpu = &s->tier[KVF_TIER_GPU], *must = &rules->tier[KVF_TIER_GPU];
    if (strcmp(k->pub.name, "tiers.gpu.backend") == 0 && must->backend == KVF_BACKEND_AUTO)
        return gpu->backend == KVF_BACKEND_CUDA || (gpu->backend == KVF_BACKEND_OFF && !must->on);
    return false;
}

static unsigned key_differs(const struct key *k, const struct scenario *s, const struct scenario *rules,
                            struct buf *out) {
    struct buf is = {0}, must = {0};
    emit_value(k, s, false, &is);
    emit_value(k, rules, false, &must);
    bool differs = strcmp(buf_text(&is), buf_text(&must)) != 0 && !is_its_auto(k, s, rules);
    if (differs) say(out, k->pub.name, buf_text(&is), buf_text(&must));
    buf_free(&is);
    buf_free(&must);
    return differs;
}

/* The terminal tier is the drive under test: it is on or off, and as large as it is. */
static unsigned capacity_differs(enum kvf_tier t, const struct scenario *s, const struct scenario *rules,
                                 struct buf *out) {
    uint64_t is = scenario_capacity_bytes(s, t), must = scenario_capacity_bytes(rules, t);
    char name[32], a[40], b[40];
    bool drive = t == KVF_TIER_NVME;
    if (drive ? !is == !must : is == must) return 0;
    snprintf(name, sizeof name, "tiers.%s%s", tier_name(t), drive ? "" : ".capacity");
    say(out, name, drive ? (is ? "on" : "off") : units_size_exact(is, a, sizeof a),
        drive ? (must ? "on" : "off") : units_size_exact(must, b, sizeof b));
    return 1;
}

/* A tier without a policy of its own has that of the cache, which is told by itself. */
static unsigned eviction_differs(enum kvf_tier t, const struct scenario *s, const struct scenario *rules,
                                 struct buf *out) {
    const struct scenario_tier *is = &s->tier[t], *must = &rules->tier[t];
    char name[32];
    if (is->eviction == must->eviction || !(is->eviction_set || must->eviction_set)) return 0;
    snprintf(name, sizeof name, "tiers.%s.eviction", tier_name(t));
    say(out, name, traits_policy(is->eviction)->word, traits_policy(must->eviction)->word);
    return 1;
}

unsigned rules_deviations(const struct scenario *s, const struct scenario *rules, struct buf *out) {
    unsigned n = 0;
    for (size_t i = 0; i < key_count; i++)
        if (is_fixed(&key_table[i])) n += key_differs(&key_table[i], s, rules, out);
    for (int t = 0; t < KVF_TIERS; t++)
        n += capacity_differs(t, s, rules, out) + eviction_differs(t, s, rules, out);
    return n;
}

unsigned rules_broken(const struct scenario *s, struct buf *out) {
    const char *const broken[] = {s->seed_missing ? "no seed is given" : NULL,
                                  s->workload.rag.documents > 0 ? "RAG is on" : NULL,
                                  s->autoscaler.mode != KVF_AUTOSCALER_OFF ? "the autoscaler is on" : NULL,
                                  s->scaled ? "it was scaled to this machine" : NULL};
    unsigned n = 0;
    for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++) {
        if (!broken[i]) continue;
        buf_addf(out, "%s%s", out->len ? "; " : "", broken[i]);
        n++;
    }
    return n;
}
