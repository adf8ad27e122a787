#include "page/outcome/outcome_text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "record/metric.h"

static const char *value_at(const struct outcome *o, size_t point, unsigned d) {
    return o->dimension[d].value[o->point[point].at[d]].text;
}

void outcome_label(const struct outcome *o, size_t point, struct buf *out) {
    for (unsigned d = 0; d < o->dimensions; d++)
        if (o->dimension[d].role == OUTCOME_LOAD)
            buf_addf(out, "%s%s", d ? " " : "", value_at(o, point, d));
        else
            buf_addf(out, "%s%s=%s", d ? " " : "", o->dimension[d].key, value_at(o, point, d));
}

struct outcome_title outcome_measure_title(const char *metric) {
    struct outcome_title t;
    metric_label(metric, t.text, sizeof t.text);
    return t;
}

struct outcome_title outcome_dimension_words(const struct outcome_dimension *d) {
    struct outcome_title t;
    static const char tiers[] = "tiers.";
    const char *dot = strrchr(d->key, '.'), *name = dot ? dot + 1 : d->key;
    if (strncmp(d->key, tiers, sizeof tiers - 1) == 0) name = d->key + sizeof tiers - 1;
    snprintf(t.text, sizeof t.text, "%s", name);
    for (char *at = t.text; *at; at++)
        if (d->role != OUTCOME_VARIANT && (*at == '_' || *at == '.')) *at = ' ';
    return t;
}

struct format_cell outcome_cell(const struct outcome *o, double v, size_t measure) {
    struct format_cell missing = {"--"};
    return isnan(v) ? missing : format_measure(v, o->measure[measure].unit, o->measure[measure].name);
}

struct format_cell outcome_change(double delta) {
    struct format_cell c = {"--"};
    if (isfinite(delta)) snprintf(c.text, sizeof c.text, "%+.1f %%", 100 * delta);
    return c;
}

const char *outcome_why_faster(bool by_blocks, bool computes) {
    if (!by_blocks)
        return "At granularity request a miss makes no work, so fewer hits can look better there.";
    return computes ? "Computing a miss again can take less time than loading a hit."
                    : "At granularity block without a modelled GPU a miss is written instead of being read "
                      "and computed by nothing, so fewer hits can look better there.";
}
