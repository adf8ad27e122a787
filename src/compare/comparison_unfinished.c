#include <math.h>
#include <stdlib.h>

#include "compare/comparison_parts.h"
#include "draw/format.h"
#include "record/standing.h"

/* The figures that tell flaws, of a group the medians of its complete trials; the caller frees the items. */
static struct result_list values_of(const struct comparison_input *i) {
    struct result_list values = {0};
    const char *unit;
    for (size_t n = 0; n < standing_flaw_metric_count; n++)
        result_add(&values, comparison_value(i, standing_flaw_metrics[n], &unit), 0, "%s",
                   standing_flaw_metrics[n]);
    return values;
}

static double unfinished_of(const struct comparison_input *i) {
    struct result_list values = values_of(i);
    double part = standing_run_unfinished(&values);
    free(values.items);
    return part < 0 ? 0 : part; /* what those that ended had spent before is in no result */
}

/* Of merged ranks of which some fell behind the part is that of the worst, whose own load no result has: all
 * have about as much. */
static double waiting_load(const struct comparison_input *i, const struct result_list *values, double load) {
    const char *unit;
    double ranks = comparison_value(i, "ranks", &unit);
    return result_value(values, "ranks_behind") > 0 && ranks > 1 ? load / ranks : load;
}

static void load_of(const struct comparison_input *i, struct comparison_side *side) {
    struct result_list values = values_of(i);
    side->flaw = standing_run_flaw(&values);
    side->load = standing_run_load(&values);
    side->dispersion = fmax(1, result_value(&values, "arrival_dispersion"));
    side->unserved = result_value(&values, "unserved_ratio");
    side->stranded = fmax(0, result_value(&values, "stranded_ratio"));
    side->waiting_load = waiting_load(i, &values, side->load);
    side->rejected = fmax(0, result_value(&values, "rows_rejected_ratio"));
    side->unanswered =
        fmax(0, fmax(result_value(&values, "unanswered_ratio"), result_value(&values, "unsettled_ratio")));
    const char *unit;
    double length = comparison_value(i, "measured_s", &unit);
    side->offered = length > 0 ? side->load / length : side->load;
    free(values.items);
    comparison_amounts(i, side);
    comparison_bases(i, side);
    comparison_trials(i, side);
    comparison_chance(i, side);
}

/* ---- how much was done ---- */

static double in_a_second(const struct comparison_input *i, const char *metric) {
    const char *unit;
    return kvf_ratio(comparison_value(i, metric, &unit), comparison_value(i, "measured_s", &unit));
}

static double bytes_in_a_second(const struct comparison_input *i) {
    return in_a_second(i, "total_read_bytes") + in_a_second(i, "total_write_bytes");
}

static void done_of(const struct comparison_input *base, const struct comparison_input *own,
                    struct comparison_side *side) {
    const char *unit;
    double part[] = {kvf_ratio(in_a_second(own, "requests_done"), in_a_second(base, "requests_done")),
                     kvf_ratio(comparison_value(own, "throughput_tok_s", &unit),
                               comparison_value(base, "throughput_tok_s", &unit)),
                     kvf_ratio(bytes_in_a_second(own), bytes_in_a_second(base))};
    bool known = kvf_present(part[0]) && kvf_present(part[1]) && kvf_present(part[2]);
    side->done_most = known ? fmax(part[0], fmax(part[1], part[2])) : KVF_MISSING;
    side->done_least = known ? fmin(part[0], fmin(part[1], part[2])) : KVF_MISSING;
}

bool comparison_does_less(const struct comparison *c, size_t side, size_t than, double by) {
    const struct comparison_side *own = &c->side[side], *other = &c->side[than];
    double most = side ? own->done_most : 1 / other->done_least;
    bool less = most < 1 - by && standing_behind(most, fmin(own->load, other->load));
    return less || (most <= 1 && comparison_unanswered_more(own, other, own->unanswered, other->unanswered));
}

bool comparison_of_tiers(const char *metric) {
    return strcmp(metric, "fell_through") == 0 || strcmp(metric, "not_admitted") == 0 ||
           strcmp(metric, "copies_skipped") == 0 || strcmp(metric, "lookups_given_up") == 0 ||
           strcmp(metric, "warmup_not_admitted") == 0 || strcmp(metric, "warmup_copies_skipped") == 0;
}

/* Where most requests fail, a few more are many fewer that succeed. */
static bool fewer_succeed(const char *metric, double n, double of, double n_than, double of_than) {
    bool failing = strcmp(metric, "requests_failed") == 0 && of > 0 && of_than > 0;
    return failing && 1.25 * (1 - n / of) < 1 - n_than / of_than;
}

/* A class is left behind others that are served: none is where all of them wait, nor where the other side
 * did no more of it. */
static bool more_classes(const struct comparison *c, size_t side, double n, size_t than, double n_than) {
    bool serves = than ? c->side[than].serves_left : c->side[side].serves_left_base;
    return n > n_than && serves && !comparison_waits_beyond_chance(&c->side[than], &c->side[side]);
}

/* By a quarter, by more than one and by more than chance; or by a class, a rank, or a drop of the same
 * arrivals. Of different numbers that
 * were asked for it says nothing how many were left. */
bool comparison_lost_more(const struct comparison *c, const char *metric, size_t side, double n, size_t than,
                          double n_than) {
    const struct comparison_side *one = &c->side[side], *other = &c->side[than];
    bool of_requests = strncmp(metric, "requests_", 9) == 0 || strncmp(metric, "ranks_", 6) == 0 ||
                       strncmp(metric, "rag_", 4) == 0;
    bool drops = strcmp(metric, "requests_dropped") == 0;
    if (standing_of_classes(metric)) return more_classes(c, side, n, than, n_than);
    if (drops && comparison_arrive_alike(one, other)) return comparison_drops_more(one, n, other, n_than);
    double of = comparison_out_of(one, metric, n), of_than = comparison_out_of(other, metric, n_than);
    struct comparison_parts part = comparison_parts_of(metric, one, n, other, n_than);
    if (strcmp(metric, "requests_left") == 0 && one->asked != other->asked) return false;
    bool more = n * part.own > 1.25 * n_than * part.than + 1 || fewer_succeed(metric, n, of, n_than, of_than);
    if (strcmp(metric, "ranks_lost") == 0)
        more = n > n_than;
    else
        more = more && comparison_beyond_chance(one, metric, n, part.own, other, n_than, part.than);
    return more && (of_requests || !(one->other_units || other->other_units) || !(n_than > 0));
}

/* Of any kind, for each trial, or in a trial where most have none. */
static bool far_more(const struct comparison *c, size_t side, const struct standing *a, size_t than,
                     const struct standing *b) {
    for (size_t i = 0; i < STANDING_UNDONE; i++) {
        const struct comparison_lost *own = &c->side[side].lost[i + 1], *other = &c->side[than].lost[i + 1];
        double each = standing_undone_each(a, i), each_than = standing_undone_each(b, i);
        if (comparison_lost_more(c, standing_undone_metric(i), side, each, than, each_than)) return true;
        if (2 * own->trials < c->side[side].complete &&
            comparison_lost_more(c, standing_undone_metric(i), side, own->most, than,
                                 fmax(each_than, other->most)))
            return true;
    }
    return false;
}

/* Where both hide, of rows by five percentage points more of them. */
bool comparison_hides_more(const struct comparison_side *one, const struct comparison_side *other) {
    if (!standing_flaw_hides(one->flaw)) return false;
    if (!standing_flaw_hides(other->flaw)) return true;
    return one->rejected >= other->rejected + STANDING_ROWS;
}

/* Less work is done sooner. */
void comparison_undone(const struct comparison_input *input, struct comparison *c) {
    struct standing base, own;
    for (size_t i = 0; i < c->sides; i++) {
        struct standing *s = i ? &own : &base;
        struct comparison_side *side = &c->side[i];
        standing_of(input[i].run, comparison_group(&input[i]) ? input[i].trials : NULL, s);
        standing_undone(s->undone, side->undone, sizeof side->undone);
        for (size_t k = 0; k < STANDING_UNDONE; k++) side->settled[k] = !(s->undone[k] > 0);
        load_of(&input[i], side);
        side->twin = i > 0 && comparison_twins(&input[0], &input[i]);
        side->same_arrivals = i > 0 && comparison_replay_alike(c, input, i);
        if (i == 0) continue;
        done_of(&input[0], &input[i], side);
        comparison_classes_left(&input[0], &input[i], side);
        side->undone_more = far_more(c, i, s, 0, &base) || comparison_hides_more(side, c->side);
        side->undone_less = far_more(c, 0, &base, i, s) || comparison_hides_more(c->side, side);
    }
}

static bool warn_survivors(struct comparison *c, size_t s, const double share[2], const char *part,
                           const char *left) {
    if (!(fabs(share[1] - share[0]) > COMPARISON_SURVIVORS)) return false;
    size_t more = share[1] > share[0] ? s : 0, less = s - more;
    comparison_warn(
        c,
        "%s of %s of %s %s at its end, against %s of %s: its latencies are those of the requests that "
        "were done, and may look better than they are.",
        format_percent(fmax(share[0], share[1])).text, part, c->side[more].label, left,
        format_percent(fmin(share[0], share[1])).text, c->side[less].label);
    return true;
}

static void warn_of_survivors(const struct comparison_input *input, struct comparison *c) {
    for (size_t s = 1; s < c->sides; s++) {
        double time[2] = {unfinished_of(&input[0]), unfinished_of(&input[s])};
        double arrivals[2] = {c->side[0].unserved, c->side[s].unserved};
        if (c->side[0].flaw == STANDING_FLAW_CUT || c->side[s].flaw == STANDING_FLAW_CUT)
            continue; /* that is said, and nothing is claimed */
        if (!warn_survivors(c, s, time, "the time in service", "was that of requests not done"))
            (void)warn_survivors(c, s, arrivals, "the arrivals", "were left waiting");
    }
}

/* Requests that had not ended have taken time and are in no throughput. Where the slower side had so many
 * that with them it might not be the slower one, a change beyond noise is not for certain. */
void comparison_unfinished(const struct comparison_input *input, struct comparison *c) {
    const struct comparison_metric *m = comparison_metric(c, "throughput_tok_s");
    warn_of_survivors(input, c);
    for (size_t s = 1; m && s < c->sides; s++) {
        const struct comparison_change *v = &m->change[s];
        size_t low = v->absolute < 0 ? s : 0, high = s - low;
        double part = unfinished_of(&input[low]), most = m->change[low].value / (1 - part);
        if (v->noise != COMPARISON_BEYOND || !(part > 0) || c->side[low].flaw == STANDING_FLAW_CUT ||
            c->side[low].undone[0] || c->side[high].undone[0] || !(most >= m->change[high].value))
            continue;
        comparison_warn(
            c,
            "%s of the time in service of %s was that of requests not done at its end: with them its "
            "tokens/s may be no lower than those of %s.",
            format_percent(part).text, c->side[low].label, c->side[high].label);
    }
}
