#include <stdlib.h>

#include "compare/comparison_parts.h"
#include "draw/format.h"
#include "record/standing.h"

/* Of a group by the medians of its complete trials. */
static double unfinished_of(const struct comparison_input *i) {
    static const char *const asked[] = {
        "e2e_mean_ms", "queue_wait_mean_ms", "in_service_mean",           "requests_failed",
        "measured_s",  "requests_done",      "requests_in_service_at_end"};
    struct result_list values = {0};
    const char *unit;
    for (size_t n = 0; n < sizeof asked / sizeof *asked; n++)
        result_add(&values, comparison_value(i, asked[n], &unit), 0, "%s", asked[n]);
    double part = standing_run_unfinished(&values);
    free(values.items);
    return part;
}

/* Requests that had not ended have taken time and are in no throughput. Where the slower side had so many
 * that with them it might not be the slower one, a change beyond noise is not for certain. */
void comparison_unfinished(const struct comparison_input *input, struct comparison *c) {
    const struct comparison_metric *m = comparison_metric(c, "throughput_tok_s");
    for (size_t s = 1; m && s < c->sides; s++) {
        const struct comparison_change *v = &m->change[s];
        size_t low = v->absolute < 0 ? s : 0, high = s - low;
        double part = unfinished_of(&input[low]), most = m->change[low].value / (1 - part);
        if (v->noise != COMPARISON_BEYOND || !(part > 0) || standing_run_cut(&input[low].run->results) ||
            c->side[low].undone[0] || c->side[high].undone[0] || !(most >= m->change[high].value))
            continue;
        comparison_warn(
            c,
            "%s of the time in service of %s was that of requests not done at its end: with them its "
            "tokens/s may be no lower than those of %s.",
            format_percent(part).text, c->side[low].label, c->side[high].label);
    }
}
