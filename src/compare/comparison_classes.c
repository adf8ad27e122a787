#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare/comparison_parts.h"
#include "metrics/statistics.h"
#include "record/standing.h"

/* Part of all requests done by which that of a class has to differ. */
#define LEAST 0.05

static double done_of(const struct comparison_input *i, const char *name) {
    char metric[METRIC_NAME];
    const char *unit;
    snprintf(metric, sizeof metric, name ? "class_%s_done" : "requests_done", name ? name : "");
    return comparison_value(i, metric, &unit);
}

static void take_class(const struct comparison_input *base, const struct comparison_input *own,
                       const char *name, struct comparison_side *side, double *most) {
    double all[2] = {done_of(base, NULL), done_of(own, NULL)},
           done[2] = {done_of(base, name), done_of(own, name)},
           part[2] = {done[0] / all[0], done[1] / all[1]}, apart = fabs(part[1] - part[0]);
    double chance = statistics_student_t(comparison_levels[COMPARISON_JUDGED], UINT64_MAX) *
                    sqrt(part[0] / all[0] + part[1] / all[1]);
    bool half = 2 * fmin(part[0], part[1]) < fmax(part[0], part[1]);
    if (!half || !(apart > fmax(chance, *most))) return;
    *most = apart;
    side->less_served[0] = side->more_served[0] = '\0';
    snprintf(part[1] < part[0] ? side->less_served : side->more_served, sizeof side->less_served, "%s", name);
    side->served = done[1];
    side->served_base = done[0];
}

/* Users who wait for answers ask for no more while they wait, so nothing is left undone where a class waits
 * and the others gain. */
void comparison_classes(const struct comparison_input *input, struct comparison *c) {
    for (size_t s = 1; s < c->sides; s++) {
        double most = LEAST;
        const struct run_record *run = input[s].run;
        /* the same users, each of the class that a seed drew */
        bool alike = comparison_draws_alike(&input[0], &input[s]) && !comparison_differs(c, s, "workload.") &&
                     !comparison_differs(c, s, "qos.classes");
        for (uint32_t k = 0; k < run->classes && run->classes > 1 && alike; k++)
            take_class(&input[0], &input[s], run->klass[k].name, &c->side[s], &most);
    }
}

/* ---- classes that were left unserved ---- */

static bool left_in(const struct comparison_input *i, const struct result_list *of, uint32_t class) {
    struct run_record one = *i->run;
    one.results = *of;
    return standing_run_class_unserved(&one, class);
}

/* By a run, or by any of the complete trials of a group. */
static bool left(const struct comparison_input *i, uint32_t class) {
    size_t n = comparison_group(i) ? trials_complete(i->trials) : 0;
    bool any = n == 0 && left_in(i, &i->run->results, class);
    for (size_t k = 0; k < n && !any; k++) {
        struct result_list of = {0};
        trials_results(i->trials, k, &of);
        any = left_in(i, &of, class);
        free(of.items);
    }
    return any;
}

static bool has_class(const struct comparison_input *i, const char *name) {
    for (uint32_t k = 0; k < i->run->classes; k++)
        if (strcmp(i->run->klass[k].name, name) == 0) return true;
    return false;
}

static bool leaves_class(const struct comparison_input *i, const char *name) {
    for (uint32_t k = 0; k < i->run->classes; k++)
        if (strcmp(i->run->klass[k].name, name) == 0) return left(i, k);
    return false;
}

/* By a quarter, or by so much and more than chance. */
static bool clearly_more(double done, double s, double done_than, double s_than, bool twins) {
    double rate = done / s, rate_than = done_than / s_than, apart = rate - rate_than;
    double chance = statistics_student_t(comparison_levels[COMPARISON_JUDGED], UINT64_MAX) *
                    sqrt(done / (s * s) + done_than / (s_than * s_than));
    return apart > COMPARISON_CLEARLY_LESS * rate_than ||
           (apart > COMPARISON_LESS_DONE * rate_than && (twins || apart > chance));
}

/* A class that got a slot a moment sooner may be served no more for it. */
static bool serves_left(const struct comparison_input *left_by, const struct comparison_input *own,
                        bool twins) {
    double sum[2] = {0, 0};
    const char *unit;
    bool any = false;
    for (uint32_t k = 0; k < left_by->run->classes; k++) {
        const char *name = left_by->run->klass[k].name;
        if (!has_class(own, name) || !left(left_by, k) || leaves_class(own, name)) continue;
        double done = done_of(own, name), done_than = done_of(left_by, name);
        sum[0] += kvf_present(done) ? done : 0;
        sum[1] += kvf_present(done_than) ? done_than : 0;
        any = true;
    }
    return !any || clearly_more(sum[0], comparison_value(own, "measured_s", &unit), sum[1],
                                comparison_value(left_by, "measured_s", &unit), twins);
}

void comparison_classes_left(const struct comparison_input *base, const struct comparison_input *own,
                             struct comparison_side *side) {
    bool twins = comparison_twins(base, own);
    side->serves_left = serves_left(base, own, twins);
    side->serves_left_base = serves_left(own, base, twins);
}
