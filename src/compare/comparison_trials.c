#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compare/comparison_parts.h"
#include "record/standing.h"

enum { WAITING = COMPARISON_LOST - 2, UNANSWERED };

const char *comparison_lost_metric(size_t i) {
    return i == 0            ? "refused"
           : i == WAITING    ? "unserved_ratio"
           : i == UNANSWERED ? "unanswered_ratio"
                             : standing_undone_metric(i - 1);
}

size_t comparison_lost_find(const char *metric) {
    size_t i = 0;
    while (i < COMPARISON_LOST && strcmp(comparison_lost_metric(i), metric) != 0) i++;
    return i;
}

double comparison_lost_amount(const struct comparison_side *s, size_t i, double value) {
    return value > 0 || s->lost[i].trials == 0 ? value : s->lost[i].most;
}

bool comparison_flawed_in_part(const struct comparison_side *s, enum standing_flaw flaw) {
    return s->flawed[flaw] > 0 && s->flawed[flaw] < s->complete;
}

bool comparison_lost_in_part(const struct comparison_side *s, size_t i) {
    return s->lost[i].trials > 0 && s->lost[i].trials < s->complete;
}

static void lose(struct comparison_side *s, size_t i, double n) {
    if (!(n > 0)) return;
    s->lost[i].trials++;
    s->lost[i].most = fmax(s->lost[i].most, n);
}

/* Arrivals that chance leaves waiting are no loss. */
static void take_trial(struct comparison_side *s, const struct result_list *of) {
    enum standing_flaw flaw = standing_run_flaw(of);
    double undone[STANDING_UNDONE];
    standing_count(of, undone);
    lose(s, 0, result_value(of, comparison_lost_metric(0)));
    for (size_t i = 0; i < STANDING_UNDONE; i++) lose(s, i + 1, undone[i]);
    if (standing_run_behind(of)) lose(s, WAITING, result_value(of, comparison_lost_metric(WAITING)));
    lose(s, UNANSWERED, result_value(of, comparison_lost_metric(UNANSWERED)));
    s->flawed[flaw]++;
}

void comparison_trials(const struct comparison_input *input, struct comparison_side *side) {
    size_t all = comparison_group(input) ? trials_complete(input->trials) : 0;
    for (size_t k = 0; k < all; k++) {
        struct result_list of = {0};
        trials_results(input->trials, k, &of);
        take_trial(side, &of);
        free(of.items);
    }
    if (all == 0) return;
    side->flaw = STANDING_FLAWLESS;
    for (enum standing_flaw f = STANDING_FLAWS - 1; f > STANDING_FLAWLESS; f--)
        if (side->flawed[f] > 0) side->flaw = f;
    if (side->lost[WAITING].trials > 0) side->unserved = fmax(side->unserved, side->lost[WAITING].most);
}
