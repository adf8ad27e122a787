#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "compare/comparison.h"

const struct comparison_metric *comparison_metric(const struct comparison *c, const char *metric) {
    for (size_t i = 0; i < c->metrics; i++)
        if (strcmp(c->metric[i].metric, metric) == 0) return &c->metric[i];
    return NULL;
}

struct format_cell comparison_cell(double v, const struct comparison_metric *m) {
    bool rate = strcmp(m->unit, "tok/s") == 0 || strcmp(m->unit, "1/s") == 0 || strcmp(m->unit, "GiB/s") == 0;
    if (!rate) return format_measure(v, m->unit, m->metric);
    struct format_cell c = {"--"};
    if (isfinite(v)) units_count_human(v, c.text, sizeof c.text);
    return c;
}

struct format_cell comparison_delta(double v, const struct comparison_metric *m) {
    struct format_cell size = comparison_cell(fabs(v), m), c;
    if (!isfinite(v)) return size;
    char *percent = strstr(size.text, " %");
    if (percent) *percent = '\0';
    bool none = v == 0 || strspn(size.text, "0.") == strlen(size.text); /* as far as its digits go */
    snprintf(c.text, sizeof c.text, "%s%.30s%s",
             none    ? ""
             : v > 0 ? "+"
                     : "-",
             size.text, percent ? " pp" : "");
    return c;
}

struct format_cell comparison_percent(double relative) {
    struct format_cell c = {"--"};
    if (fabs(relative) < 0.0005)
        snprintf(c.text, sizeof c.text, "0.0 %%");
    else if (isfinite(relative))
        snprintf(c.text, sizeof c.text, fabs(relative) < 9.995 ? "%+.1f %%" : "%+.0f %%", 100 * relative);
    return c;
}

struct format_cell comparison_moved(const struct comparison_change *v, const struct comparison_metric *m) {
    return isnan(v->relative) ? comparison_delta(v->absolute, m) : comparison_percent(v->relative);
}
