#include <math.h>
#include <stdio.h>
#include <string.h>

#include "compare/comparison_parts.h"
#include "record/standing.h"

/* How much of a change work that one side did not do may explain. Of the work of a side a part was left
 * undone, and its requests may have been smaller; by so much, and no more, it may look better for it. */

static double value_of(const struct comparison_input *i, const char *metric) {
    const char *unit;
    double v = comparison_value(i, metric, &unit);
    return kvf_present(v) ? v : 0;
}

/* Entries written that are no moves of others from tier to tier. */
static double first_writes(const struct comparison_input *i) {
    static const char *const what[] = {"ops", "demotion_ops", "promotion_ops"};
    double sum = 0;
    for (int t = 0; t < KVF_TIERS; t++)
        for (size_t k = 0; k < sizeof what / sizeof *what; k++) {
            char metric[METRIC_NAME];
            snprintf(metric, sizeof metric, "%s_write_%s", tier_name((enum kvf_tier)t), what[k]);
            sum += (k ? -1 : 1) * value_of(i, metric);
        }
    return sum;
}

void comparison_amounts(const struct comparison_input *i, struct comparison_side *side) {
    double ended = value_of(i, "requests_done") + value_of(i, "requests_failed");
    side->ended = value_of(i, "requests_done") > 0 ? ended : side->load;
    side->asked = value_of(i, "requests_asked");
    side->writes = first_writes(i);
    side->copies = value_of(i, "copies_begun");
}

double comparison_out_of(const struct comparison_side *s, const char *metric, double n) {
    return strcmp(metric, "requests_left") == 0      ? s->asked
           : strcmp(metric, "requests_dropped") == 0 ? s->ended + n
                                                     : s->ended;
}

/* The part of its work that `n` of a kind are; 1: of how many is not known. */
static double part_of(const struct comparison_side *s, const struct comparison_input *i, const char *metric,
                      double n) {
    bool of_requests = strncmp(metric, "requests_", 9) == 0;
    double of = strcmp(metric, "copies_skipped") == 0 ? s->copies + n
                : standing_of_classes(metric)         ? (double)i->run->classes
                : strcmp(metric, "ranks_lost") == 0   ? n
                : !of_requests && s->writes > 0       ? s->writes + n
                : of_requests && !(s->ended > 0)      ? n
                                                      : comparison_out_of(s, metric, n);
    return n > 0 ? fmin(of > 0 ? n / of : 1, 1) : 0;
}

/* Of the most of a group's trials where its median has none. */
static double amount(const struct comparison_side *s, const struct standing *of, size_t i) {
    return comparison_lost_amount(s, i + 1, standing_undone_each(of, i));
}

/* Requests have more to do than what the tiers left undone, however much of that it was. */
#define SPARED_MOST 4

/* So many times what it read a side would read, did its lookups of document chunks hit as those of the other
 * one: in the tier where that is most, by bytes or by operations. NaN: what was read is not known. */
static double chunk_reads(const struct comparison_input *own, const struct comparison_input *than) {
    static const char *const what[] = {"bytes", "ops"};
    double lookups = kvf_ratio(value_of(own, "rag_lookups"), value_of(than, "rag_lookups")),
           times = KVF_MISSING;
    for (int t = 0; t < KVF_TIERS; t++)
        for (size_t k = 0; k < sizeof what / sizeof *what; k++) {
            char chunks[METRIC_NAME], all[METRIC_NAME];
            snprintf(chunks, sizeof chunks, "%s_read_rag_%s", tier_name((enum kvf_tier)t), what[k]);
            snprintf(all, sizeof all, "%s_read_%s", tier_name((enum kvf_tier)t), what[k]);
            double n = value_of(than, chunks) * lookups, missing = fmax(n - value_of(own, chunks), 0);
            if (n > 0) times = fmax(times, 1 + missing / value_of(own, all)); /* fmax() passes over NaN */
        }
    return times;
}

/* Where that is not known, they count as all of its work. */
static double chunks_spared(const struct comparison *c, const struct comparison_input *input, size_t s,
                            size_t t) {
    double hits = c->side[t].chunk_hits / c->side[s].chunk_hits, reads = chunk_reads(&input[s], &input[t]);
    return fmin(kvf_present(reads) ? fmin(reads, hits) : hits, SPARED_MOST);
}

/* So many times the other one's work a side spared itself. Of a run that is cut, or that began before, how
 * much is not known. */
static double spared(const struct comparison *c, const struct comparison_input *input, size_t s, size_t t) {
    const struct comparison_side *side = &c->side[s], *than = &c->side[t];
    const struct comparison_input *own = &input[s], *other = &input[t];
    struct standing a, b;
    double times = 1;
    bool hides = comparison_hides_more(side, than);
    bool chunks = s ? side->loses_chunks : than->base_loses_chunks;
    if (s ? side->idle_misses : than->base_idle_misses) return INFINITY;
    if (hides && side->flaw != STANDING_FLAW_COPIES) return INFINITY;
    if (hides) times = 1 / (1 - fmin(kvf_ratio(value_of(own, "copies_left"), side->copies), 1));
    if (chunks) times = fmax(times, chunks_spared(c, input, s, t));
    standing_of(own->run, comparison_group(own) ? own->trials : NULL, &a);
    standing_of(other->run, comparison_group(other) ? other->trials : NULL, &b);
    for (size_t i = 0; i < STANDING_UNDONE; i++) {
        const char *metric = standing_undone_metric(i);
        double n = amount(side, &a, i), n_than = amount(than, &b, i);
        double part = part_of(side, own, metric, n), part_than = part_of(than, other, metric, n_than);
        if (standing_of_classes(metric) && !comparison_lost_more(c, metric, s, n, t, n_than)) continue;
        double most = comparison_of_tiers(metric) ? SPARED_MOST : INFINITY;
        if (part > part_than) times = fmax(times, fmin((1 - part_than) / (1 - part), most));
    }
    return times;
}

void comparison_explained(const struct comparison_input *input, struct comparison *c) {
    for (size_t s = 1; s < c->sides; s++) {
        struct comparison_side *own = &c->side[s], *base = c->side;
        own->spared = spared(c, input, s, 0);
        own->spared_base = spared(c, input, 0, s);
        bool alike = comparison_counted_alike(c);
        own->times_smaller = own->smaller ? work_times(&own->work, &base->work, alike) : 1;
        own->times_larger = own->larger ? work_times(&base->work, &own->work, alike) : 1;
    }
}

double comparison_times(const struct comparison_metric *m, size_t side) {
    double before = m->change[0].value, now = m->change[side].value;
    return now > before ? now / before : before / now;
}

/* Done, in a second: that goes by the work. */
static bool in_proportion(const struct comparison_metric *m) {
    bool rate = strcmp(m->unit, "tok/s") == 0 || strcmp(m->unit, "1/s") == 0 || strcmp(m->unit, "GiB/s") == 0;
    return rate && strcmp(m->metric, "goodput_per_s") != 0;
}

/* In a queue latencies grow by more than the work does; below saturation its square is the bound taken here.
 * Shares go by latencies, or by how much is kept. */
double comparison_explains(const struct comparison_metric *m, double times) {
    return in_proportion(m) ? times : times * times;
}

/* The least that it moved by, as far as its interval has an end there. */
static double least_times(const struct comparison_metric *m, size_t side) {
    const struct comparison_change *v = &m->change[side];
    double end = v->absolute > 0 ? 1 + v->low : 1 / (1 + v->high);
    return v->noise == COMPARISON_BEYOND && isfinite(end) ? end : comparison_times(m, side);
}

void comparison_bound(struct comparison_metric *m, size_t side, enum comparison_reason reason, bool gain,
                      double explained) {
    struct comparison_change *v = &m->change[side];
    bool beyond = v->noise == COMPARISON_BEYOND, more = least_times(m, side) > explained;
    if (v->noise == COMPARISON_WITHIN) return;
    v->explained = explained;
    if (more && (gain || v->direction == COMPARISON_WORSENED)) return;
    v->more_than_explained = beyond && more;
    v->reason = reason;
    v->noise = COMPARISON_UNKNOWN;
    v->method = COMPARISON_NONE;
    v->low = v->high = v->p = KVF_MISSING;
}
