#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cache/policy.h"
#include "model/roofline.h"
#include "study/plan/plan.h"
#include "study/sweep/curve.h"

/* A machine whose parts find so little more than a cheaper one's keeps no more. */
#define FOUND_MORE 5e-4
enum { ACCESSES_QUICK = 1 << 19 };

/* ---- the curve ---- */

/* Bytes that are kept in the tier or a faster one, each entry counted once. */
static uint64_t kept_bytes(const struct scenario *s, enum kvf_tier last) {
    bool inclusive = s->cache.placement == KVF_PLACEMENT_INCLUSIVE;
    uint64_t kept = 0;
    for (int t = 0; t <= (int)last; t++) {
        uint64_t usable = s->tier[t].on ? scenario_usable_bytes(s, (enum kvf_tier)t) : 0;
        kept = !inclusive ? kept + usable : usable > kept ? usable : kept;
    }
    return kept;
}

static int by_capacity(const void *a, const void *b) {
    uint64_t x = ((const struct sweep_curve *)a)->capacity_bytes;
    uint64_t y = ((const struct sweep_curve *)b)->capacity_bytes;
    return (x > y) - (x < y);
}

static size_t unique(struct sweep_curve *c, size_t count) {
    size_t kept = 0;
    qsort(c, count, sizeof *c, by_capacity);
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || c[i].capacity_bytes != c[kept - 1].capacity_bytes) c[kept++] = c[i];
    return kept;
}

static double found_at(const struct sweep_curve *c, size_t count, uint64_t bytes) {
    struct sweep_curve key = {.capacity_bytes = bytes};
    const struct sweep_curve *at = bytes > 0 ? bsearch(&key, c, count, sizeof *c, by_capacity) : NULL;
    return at ? 1 - at->miss_ratio : 0;
}

/* Of blocks under LRU from stack distances, of others from caches of those capacities. The nvme tier stands
 * for them all: it has no headroom. */
static int curve_fill(const struct references *r, struct scenario *s, struct sweep_curve *c, size_t count,
                      struct err *e) {
    double sample = curve_sample(r, ACCESSES_QUICK);
    s->tier[KVF_TIER_NVME].on = true;
    if (r->blocks) {
        curve_stack(r, s, KVF_TIER_NVME, c, count);
        return 0;
    }
    for (size_t i = 0; i < count; i++) {
        c[i].sample = curve_sample_at(r, c[i].capacity_bytes, sample);
        int rc = curve_try(r, s, KVF_TIER_NVME, KVF_EVICTION_LRU, &c[i], e);
        if (rc != 0) return rc;
    }
    return 0;
}

/* ---- what follows from it ---- */

struct loaded {                   /* of a machine's scenario */
    uint64_t kept[PART_BUILT_IN]; /* bytes down to that part, of all servers */
    double read[PART_BUILT_IN];   /* bytes/s */
    double token_bytes;
    bool computes;
    struct roofline line;
};

static void scenario_take(const struct scenario *s, double servers, struct loaded *l) {
    static const enum kvf_tier tier[PART_BUILT_IN] = {KVF_TIER_GPU, KVF_TIER_CPU, KVF_TIER_NVME};
    struct err e = {0};
    for (int kind = 0; kind < PART_BUILT_IN; kind++) {
        l->kept[kind] = (uint64_t)(servers * (double)kept_bytes(s, tier[kind])); /* as if they were one */
        l->read[kind] = (double)s->tier[tier[kind]].emulation.read_bytes_per_s;
    }
    l->token_bytes = (double)model_bytes_per_token(&s->model, s->tensor_parallel);
    l->computes = scenario_roofline(s, &l->line, &e) == 0;
}

/* With nobody else there: what is found below the GPU is loaded, the rest is computed. */
static double predicted(const struct loaded *l, const struct references *r, const struct plan_machine *m) {
    if (r->requests == 0 || r->ids == 0 || !l->computes) return NAN;
    double bytes = (double)r->lookups / (double)r->requests * (double)r->total_bytes / r->ids;
    double missed = 1 - m->found[PART_GPU] - m->found[PART_RAM] - m->found[PART_DRIVE], seconds = 0;
    for (int kind = PART_RAM; kind < PART_BUILT_IN; kind++)
        if (m->found[kind] > 0) seconds += m->found[kind] * bytes / l->read[kind];
    return seconds +
           (double)roofline_prefill_ns(&l->line, (uint64_t)ceil(missed * bytes / l->token_bytes), 0) / 1e9;
}

/* Whether b, with more memory or more drives than a and else alike, keeps no more: neither more in all nor
 * more of it in host memory; and what further drives are for, their speed, is not asked for. */
static bool adds_nothing(const struct plan *p, const struct plan_machine *a, const struct plan_machine *b) {
    const struct plan_option *da = &p->option[PART_DRIVE][a->at[PART_DRIVE]],
                             *db = &p->option[PART_DRIVE][b->at[PART_DRIVE]];
    if (a->at[PART_GPU] != b->at[PART_GPU] || a->at[PART_SERVER] != b->at[PART_SERVER] ||
        a->hourly >= b->hourly)
        return false;
    if (b->found[PART_RAM] > a->found[PART_RAM] + FOUND_MORE) return false;
    if (b->found[PART_DRIVE] <= FOUND_MORE && a->found[PART_DRIVE] <= FOUND_MORE) return true;
    return da == db && b->found[PART_RAM] + b->found[PART_DRIVE] <=
                           a->found[PART_RAM] + a->found[PART_DRIVE] + FOUND_MORE;
}

static void mark_pointless(struct plan *p) {
    for (size_t i = 0; i < p->machines; i++) {
        struct plan_machine *m = &p->machine[i];
        for (size_t k = 0; k < p->machines && m->state == PLAN_OPEN; k++) {
            if (p->machine[k].state == PLAN_FAILED || !adds_nothing(p, &p->machine[k], m)) continue;
            m->state = PLAN_POINTLESS;
            m->by = k;
        }
    }
    for (size_t i = 0; i < p->machines; i++) /* each names the one that is looked at */
        for (size_t *by = &p->machine[i].by; *by != SIZE_MAX && p->machine[*by].state == PLAN_POINTLESS;)
            *by = p->machine[*by].by;
}

/* ---- all machines ---- */

/* Loads every machine, and the first that can run into `usual`; one whose GPUs cannot hold the model takes
 * all with these GPUs along. How many can run. */
static size_t load_all(struct plan *p, struct loaded *l, struct scenario *usual) {
    struct scenario *s = mem_alloc(sizeof *s);
    size_t count = 0;
    for (size_t i = 0; i < p->machines; i++) {
        struct plan_machine *m = &p->machine[i];
        struct plan_option *gpu = &p->option[PART_GPU][m->at[PART_GPU]];
        struct buf errors = {0};
        if (!gpu->refused[0] && !plan_scenario(p, m, PLAN_SHORT, s, &errors)) {
            const char *why = buf_text(&errors);
            snprintf(gpu->refused, sizeof gpu->refused, "%.*s", (int)strcspn(why, "\n"), why);
        }
        buf_free(&errors);
        m->state = gpu->refused[0] ? PLAN_FAILED : PLAN_OPEN;
        if (m->state != PLAN_OPEN) continue;
        scenario_take(s, plan_servers(p, m), &l[i]);
        if (count++ == 0) memcpy(usual, s, sizeof *s);
    }
    free(s);
    return count;
}

static void machine_fill(struct plan_machine *m, const struct loaded *l, const struct references *r,
                         const struct sweep_curve *c, size_t count) {
    double before = 0;
    for (int kind = 0; kind < PART_BUILT_IN; kind++) {
        double found = found_at(c, count, l->kept[kind]);
        m->found[kind] = found > before ? found - before : 0;
        before = found > before ? found : before;
    }
    m->predicted_s = predicted(l, r, m);
}

static int curve_make(struct plan *p, const struct loaded *l, struct scenario *usual, struct references *r,
                      struct err *e) {
    struct sweep_curve *c = mem_zalloc(p->machines * PART_BUILT_IN + 1, sizeof *c);
    size_t count = 0;
    int rc = references_collect(r, usual, e);
    for (size_t i = 0; i < p->machines; i++)
        for (int kind = 0; kind < PART_BUILT_IN; kind++)
            if (l[i].kept[kind] > 0) c[count++].capacity_bytes = l[i].kept[kind];
    count = unique(c, count);
    if (rc == 0) rc = curve_fill(r, usual, c, count, e);
    for (size_t i = 0; i < p->machines && rc == 0; i++)
        if (p->machine[i].state == PLAN_OPEN) machine_fill(&p->machine[i], &l[i], r, c, count);
    free(c);
    return rc;
}

int plan_curve(struct plan *p, struct err *e) {
    struct loaded *l = mem_zalloc(p->machines, sizeof *l);
    struct scenario *usual = mem_alloc(sizeof *usual);
    struct references r = {0};
    int rc = load_all(p, l, usual) > 0 ? curve_make(p, l, usual, &r, e)
                                       : err_set(e, KVF_ERR_USAGE, "no GPU of %s can run this: %s",
                                                 p->parts.file, p->option[PART_GPU][0].refused);
    if (rc == 0) mark_pointless(p);
    p->lookups = r.lookups;
    references_free(&r);
    free(usual);
    free(l);
    return rc;
}
