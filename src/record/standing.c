#include "record/standing.h"

#include <stdio.h>
#include <string.h>

static const char *const quantiles[] = {"p95", "p99", "p999", "p9999"};
enum { QUANTILES = sizeof quantiles / sizeof quantiles[0] };

static void add_target(struct standing *s, double met) {
    if (!kvf_present(met)) return;
    s->targets++;
    s->missed += met == 0;
}

static void add_targets(struct standing *s, const struct run_record *r, const struct trials *t) {
    for (uint32_t i = 0; i < r->classes * QUANTILES; i++) {
        char metric[96];
        snprintf(metric, sizeof metric, "slo_%s_%s_met", r->klass[i / QUANTILES].name,
                 quantiles[i % QUANTILES]);
        const struct trial_metric *m = s->trials ? trials_metric(t, metric) : NULL;
        if (!s->trials) add_target(s, result_value(&r->results, metric));
        for (size_t k = 0; m && k < m->count; k++) add_target(s, m->value[k]);
    }
}

void standing_of(const struct run_record *r, const struct trials *t, struct standing *out) {
    *out = (struct standing){.trials = t ? t->count : 0};
    add_targets(out, r, t);
    for (size_t i = 0; i < out->trials; i++) {
        out->criteria += t->trial[i].criteria;
        out->passed += t->trial[i].passed;
    }
    if (out->trials) return;
    out->criteria = r->criterion_count;
    for (size_t i = 0; i < r->criterion_count; i++) out->passed += r->criteria[i].passed == 1;
}

bool standing_good(const struct standing *s) {
    return s->missed == 0 && s->passed == s->criteria;
}

const char *standing_text(const struct standing *s, char out[STANDING_TEXT]) {
    char targets[64] = "", criteria[64] = "";
    if (s->targets && s->missed)
        snprintf(targets, sizeof targets, "%zu of %zu targets missed", s->missed, s->targets);
    else if (s->targets == 1)
        snprintf(targets, sizeof targets, "the one target met");
    else if (s->targets)
        snprintf(targets, sizeof targets, "all %zu targets met", s->targets);
    if (s->criteria)
        snprintf(criteria, sizeof criteria, "%zu of %zu criteria passed", s->passed, s->criteria);
    snprintf(out, STANDING_TEXT, "%s%s%s", targets, targets[0] && criteria[0] ? ", " : "", criteria);
    return out;
}

bool standing_line(const struct run_record *r, char out[STANDING_TEXT]) {
    struct standing s;
    standing_of(r, NULL, &s);
    standing_text(&s, out);
    return standing_good(&s);
}
