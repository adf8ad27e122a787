#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scenario/sweep_inside.h"

static void check_baseline(struct loading *l, const struct sweep_plan *plan) {
    const char *text = l->s->sweep.baseline;
    struct place place = place_of_key(l, "sweep.baseline", NULL);
    unsigned axis;
    size_t value;
    char *end;

    if (!*text) return;
    if (strchr(text, '=')) {
        if (!sweep_plan_variant(plan, text, &axis, &value))
            problem_add(l, place, "sweep.baseline", "\"%s\" is no variant; give GROUP=NAME of sweep.variants",
                        text);
        else if (plan->zip)
            problem_add(l, place, "sweep.baseline",
                        "a variant as the baseline needs every value with every other: combine: cartesian");
        return;
    }
    if (l->s->sweep.profile != KVF_SWEEP_KEYS) return; /* a run of the database */
    uint64_t point = strtoull(text, &end, 10);
    if (*end || point < 1 || point > plan->points)
        problem_add(l, place, "sweep.baseline", "\"%s\" is no point; there are 1 to %" PRIu64, text,
                    plan->points);
}

static void check_points(struct loading *l) {
    const struct scenario_sweep *sweep = &l->s->sweep;
    bool none = strcmp(sweep->keys, "{}") == 0 && strcmp(sweep->variants, "{}") == 0;
    struct sweep_plan plan;

    if (sweep->profile == KVF_SWEEP_KEYS && none) {
        problem_of(l, "sweep.keys", "sweep.profile",
                   "missing; profile keys needs keys with their values, such as "
                   "keys: {workload.users: [10, 100]}");
        return;
    }
    sweep_plan_open(&plan, l->s);
    if (plan.wanted > plan.axes)
        problem_of(l, "sweep.variants", NULL, "%u groups and keys; a sweep varies up to %d", plan.wanted,
                   (int)SWEEP_AXES_MAX);
    for (unsigned i = 1; plan.zip && i < plan.axes; i++)
        if (plan.axis[i].values != plan.axis[0].values)
            problem_of(l, "sweep.keys", NULL,
                       "%s has %zu values and %s has %zu; zip takes as many of each, or combine: cartesian",
                       plan.axis[0].key, plan.axis[0].values, plan.axis[i].key, plan.axis[i].values);
    for (unsigned i = plan.groups; i < plan.axes; i++)
        for (unsigned g = 0; g < plan.groups; g++)
            if (strcmp(plan.axis[g].key, plan.axis[i].key) == 0)
                problem_of(l, "sweep.variants", NULL,
                           "%s is one of sweep.keys too; give the group another name", plan.axis[i].key);
    check_baseline(l, &plan);
    sweep_plan_free(&plan);
}

static void check_search(struct loading *l) {
    const struct scenario_sweep *sweep = &l->s->sweep;
    struct place place = place_of_key(l, "sweep.find", "sweep.profile");
    int index = key_index(sweep->find);
    double low, high;

    if (!*sweep->find) {
        problem_add(l, place, "sweep.find",
                    "missing; profile capacity needs the key that it seeks, such as tiers.cpu.capacity");
    } else if (index < 0) {
        const char *near = scenario_keys_nearest(sweep->find);
        problem_add(l, place, "sweep.find", "%s is not a key%s%s", sweep->find,
                    near ? "; the nearest is " : "", near ? near : "");
    } else if (!sweep_kind_counts(key_table[index].kind) || key_in_list(&key_table[index]) ||
               strncmp(sweep->find, "sweep", 5) == 0 || strcmp(sweep->find, "run.trials") == 0) {
        problem_add(l, place, "sweep.find", "%s has no values to search; take a number, size or duration",
                    sweep->find);
    } else if (!sweep_bounds(l->s, &low, &high)) {
        problem_of(l, "sweep.between", "sweep.find", "must be two values of %s, such as [%s]", sweep->find,
                   key_table[index].kind == KEY_SIZE ? "1GiB, 1TiB" : "low, high");
    } else if (low >= high) {
        problem_of(l, "sweep.between", "sweep.find", "ends before it begins; give the lower end first");
    }
    if (!*sweep->target.metric)
        problem_of(l, "sweep.target.metric", "sweep.profile",
                   "missing; profile capacity needs a target, such as "
                   "target: {metric: hit_ratio, op: \">=\", value: 0.8}");
    else
        check_metric(l, sweep->target.metric, "sweep.target.metric",
                     place_of_key(l, "sweep.target.metric", "sweep.profile"));
    if (sweep->target.op == KVF_OP_EQ || sweep->target.op == KVF_OP_NE)
        problem_of(l, "sweep.target.op", NULL, "a search needs a side: <, <=, > or >=");
}

void sweep_check(struct loading *l) {
    const struct scenario *s = l->s;

    if (!s->sweep.on) return;
    if (s->run.trials > 1)
        problem_of(l, "run.trials", NULL,
                   "a sweep carries out each point once; leave it at 1, or vary the seed");
    if (s->sweep.profile == KVF_SWEEP_KEYS || s->sweep.profile == KVF_SWEEP_RATES) check_points(l);
    if (s->sweep.profile == KVF_SWEEP_CAPACITY) check_search(l);
    if (s->sweep.profile == KVF_SWEEP_RATES && !scenario_source_has(s, SOURCE_INFERS))
        problem_of(l, "sweep.profile", NULL,
                   "source ops has operations, not requests; rates are about requests");
    if (s->sweep.tier_set && !s->tier[s->sweep.tier].on)
        problem_of(l, "sweep.tier", NULL, "the %s tier is off; give it a capacity, or name one that is on",
                   tier_name(s->sweep.tier));
}
