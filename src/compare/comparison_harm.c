#include "compare/comparison_harm.h"

#include <math.h>
#include <string.h>

#include "base/units.h"
#include "record/standing.h"

static double value_at(const struct comparison *c, const char *metric, size_t side) {
    const struct comparison_metric *m = comparison_metric(c, metric);
    return m ? m->change[side].value : (double)NAN;
}

/* A count that is 0 everywhere is not listed. */
static double lost(const struct comparison *c, const char *metric, size_t side) {
    size_t kind = standing_undone_find(metric);
    double n = value_at(c, metric, side);
    if (kind < STANDING_UNDONE && c->side[side].settled[kind]) return 0;
    return comparison_lost_amount(&c->side[side], comparison_lost_find(metric), kvf_present(n) ? n : 0);
}

static const char waiting[] = "unserved_ratio", unanswered[] = "unanswered_ratio";

/* Of counts that chance alone lets differ by their roots: the smaller one, where hardly any is served. */
static bool waits_more(const struct comparison_side *side, const struct comparison_side *than) {
    bool same = comparison_arrive_alike(side, than) && comparison_waits_far_more(side, than);
    double dispersion = same || comparison_strands_more(side, than) ? 0
                        : side->twin || than->twin                  ? 1
                                                   : fmax(side->dispersion, than->dispersion);
    return comparison_waits_more(side, than) &&
           standing_beyond_chance(side->unserved - than->unserved,
                                  fmin(side->waiting_load, than->waiting_load),
                                  dispersion * (1 - than->unserved));
}

/* Far more of it, as far as chance lets both differ. */
static bool loses(const struct comparison *c, const char *metric, size_t side, size_t than) {
    if (strcmp(metric, unanswered) == 0)
        return comparison_unanswered_more(&c->side[side], &c->side[than], lost(c, metric, side),
                                          lost(c, metric, than));
    if (strcmp(metric, waiting) != 0)
        return comparison_lost_more(c, metric, side, lost(c, metric, side), than, lost(c, metric, than));
    return waits_more(&c->side[side], &c->side[than]) &&
           comparison_waits_beyond_chance(&c->side[side], &c->side[than]);
}

bool comparison_leaves_more_waiting(const struct comparison *c, size_t side) {
    return loses(c, waiting, side, 0) || loses(c, unanswered, side, 0);
}

/* The first of which one side lost far more than the other; COMPARISON_LOST: none. */
static size_t more_lost(const struct comparison *c, size_t side, size_t than) {
    size_t i = 0;
    while (i < COMPARISON_LOST && !loses(c, comparison_lost_metric(i), side, than)) i++;
    return i;
}

/* An outage takes work away from all kinds: it is named first, where the first that was found is of that
 * side. */
static size_t of_outage(const struct comparison *c, size_t first, size_t side, size_t than) {
    for (size_t i = first; i < COMPARISON_LOST; i++) {
        const char *metric = comparison_lost_metric(i);
        if (comparison_of_outage(metric) && loses(c, metric, side, than)) return i;
    }
    return first;
}

/* The share of a class inside its target that got worse; NULL: none did. */
static const char *missed_of(const struct comparison *c, size_t side) {
    for (size_t i = 0; i < c->metrics; i++) {
        const char *name = c->metric[i].metric;
        const struct comparison_change *v =
            strncmp(name, "slo_", 4) == 0 ? comparison_told(c, name, side) : NULL;
        size_t len = strlen(name), tail = strlen("_met_ratio");
        if (v && v->direction == COMPARISON_WORSENED && len > tail &&
            strcmp(name + len - tail, "_met_ratio") == 0)
            return name;
    }
    return NULL;
}

static const char *harm_words(const char *metric) {
    size_t kind = standing_undone_find(metric);
    if (kind < STANDING_UNDONE) return standing_undone_more(kind);
    return strcmp(metric, "refused") == 0    ? "writes are refused"
           : strcmp(metric, waiting) == 0    ? "arrivals are left waiting"
           : strcmp(metric, unanswered) == 0 ? "users are left without an answer"
                                             : "requests miss their target";
}

/* Of unequal numbers of requests the counts tell nothing without these: "90 of 100 requests after 100 of
 * 1,000". */
static void put_of(const struct comparison *c, const char *metric, size_t side, size_t other,
                   struct buf *out) {
    const struct comparison_metric *m = comparison_metric(c, metric);
    const struct comparison_side *s = &c->side[side];
    double n = m->change[side].value, n_other = m->change[other].value;
    size_t kind = comparison_lost_find(metric);
    bool few = strcmp(metric, unanswered) == 0 && isnan(m->change[side].value);
    if (kind < COMPARISON_LOST && comparison_lost_in_part(s, kind)) {
        const struct comparison_lost *l = &s->lost[kind];
        buf_addf(out, "%s%s in %zu of %zu trials", l->trials > 1 ? "up to " : "",
                 comparison_cell(l->most, m).text, l->trials, s->complete);
        return;
    }
    bool none = kind < COMPARISON_LOST && isnan(n); /* as without outages */
    buf_add(out, few ? "under 5 %" : comparison_cell(none ? 0 : n, m).text);
    if (m->unit[0] || strcmp(metric, waiting) == 0 || strcmp(metric, unanswered) == 0 ||
        standing_of_classes(metric) || strncmp(metric, "slo_", 4) == 0)
        return;
    comparison_put_base(metric, s, kvf_present(n) ? n : 0, &c->side[other],
                        kvf_present(n_other) ? n_other : 0, out);
}

/* Where most are left waiting on both sides, how many were served tells more. */
static void put_served(const struct comparison *c, const char *metric, size_t side, struct buf *out) {
    bool few = fmin(c->side[side].unserved, c->side[0].unserved) > 0.5;
    if (strcmp(metric, waiting) != 0 || !few || !comparison_metric(c, "requests_per_s")) return;
    buf_add(out, ", ");
    comparison_put_values(c, "requests_per_s", side, out);
}

static const char class_served[] = "class_served"; /* no metric, but less_served or more_served of a side */

static const char chunk_hits[] = "chunk_hits"; /* nor this: fewer_chunks or more_chunks of a side */

static void put_class(const struct comparison_side *s, struct buf *out) {
    bool less = s->less_served[0];
    char own[32], base[32];
    buf_addf(out, "class %s is served %s often (%s requests done after %s)",
             less ? s->less_served : s->more_served, less ? "less" : "more",
             units_count_human(s->served, own, sizeof own),
             units_count_human(s->served_base, base, sizeof base));
}

void comparison_put_lost(const struct comparison *c, size_t side, const char *metric, bool fewer,
                         struct buf *out) {
    if (strcmp(metric, class_served) == 0) {
        put_class(&c->side[side], out);
        return;
    }
    if (metric == chunk_hits) {
        comparison_put_chunks(c, side, out);
        return;
    }
    buf_addf(out, "%s %s (%s ", fewer ? "fewer" : "more", harm_words(metric),
             comparison_metric(c, metric)->label);
    put_of(c, metric, side, 0, out);
    buf_add(out, " after ");
    put_of(c, metric, 0, side, out);
    put_served(c, metric, side, out);
    buf_add(out, ")");
}

struct comparison_harm comparison_harm_of(const struct comparison *c, size_t side) {
    size_t more = more_lost(c, side, 0), less = more_lost(c, 0, side), first = more < less ? more : less,
           other = more < less ? less : more;
    struct comparison_harm h = {.relief = less < more};
    first = of_outage(c, first, h.relief ? 0 : side, h.relief ? side : 0);
    const struct comparison_side *own = &c->side[side];
    bool classes = first == COMPARISON_LOST && (own->less_served[0] || own->more_served[0]);
    h.metric = classes                   ? class_served
               : first < COMPARISON_LOST ? comparison_lost_metric(first)
                                         : missed_of(c, side);
    if (classes) h.relief = own->more_served[0];
    h.against = other < COMPARISON_LOST ? comparison_lost_metric(other) : NULL;
    h.other_done = first < COMPARISON_LOST && !comparison_of_outage(h.metric) &&
                   comparison_does_less(c, h.relief ? side : 0, h.relief ? 0 : side, COMPARISON_CLEARLY_LESS);
    bool chunks = own->loses_chunks || own->base_loses_chunks;
    if (chunks && (!h.metric || h.relief == own->loses_chunks))
        h = (struct comparison_harm){
            .metric = chunk_hits, .against = h.metric, .relief = own->base_loses_chunks};
    return h;
}

void comparison_put_harm(const struct comparison *c, size_t side, const struct comparison_harm *h,
                         struct buf *out) {
    buf_addf(out, "%s %s %s than %s: ", c->side[side].label, comparison_be(&c->side[side]),
             h->relief ? "better" : "worse", c->side[0].label);
    comparison_put_lost(c, side, h->metric, h->relief, out);
    if (!h->against) return;
    buf_add(out, ", though ");
    comparison_put_lost(c, side, h->against, !h->relief, out);
}

bool comparison_of_waiting(const char *metric) {
    return metric && (strcmp(metric, waiting) == 0 || strcmp(metric, unanswered) == 0);
}

bool comparison_of_chunks(const char *metric) {
    return metric && strcmp(metric, chunk_hits) == 0;
}

bool comparison_of_outage(const char *metric) {
    return metric && strncmp(metric, "outage_", 7) == 0;
}
