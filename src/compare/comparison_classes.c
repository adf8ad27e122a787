#include <math.h>
#include <stdio.h>
#include <string.h>

#include "compare/comparison_parts.h"
#include "metrics/statistics.h"

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
