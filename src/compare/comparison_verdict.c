#include <math.h>
#include <stdio.h>
#include <string.h>

#include "compare/comparison_harm.h"
#include "record/standing.h"

/* Metrics that users of a cache feel, in order of weight. */
static const char *const felt[] = {"e2e_p95_ms",    "ttft_p95_ms",       "throughput_tok_s",
                                   "goodput_per_s", "storage_io_p95_ms", "nvme_read_p95_ms",
                                   "e2e_p50_ms",    "requests_per_s"};

/* A part of what they wait for. */
static bool of_part(const char *metric) {
    return strcmp(metric, "storage_io_p95_ms") == 0 || strcmp(metric, "nvme_read_p95_ms") == 0;
}

/* So many times the bytes of a request are more or fewer. */
#define READS 1.02

const struct comparison_change *comparison_told(const struct comparison *c, const char *metric, size_t side) {
    const struct comparison_metric *m = comparison_metric(c, metric);
    const struct comparison_change *v = m ? &m->change[side] : NULL;
    bool moved = v && (v->direction == COMPARISON_IMPROVED || v->direction == COMPARISON_WORSENED);
    return moved && v->noise == COMPARISON_BEYOND ? v : NULL;
}

void comparison_put_values(const struct comparison *c, const char *metric, size_t side, struct buf *out) {
    const struct comparison_metric *m = comparison_metric(c, metric);
    buf_addf(out, "%s %s after %s", m->label, comparison_cell(m->change[side].value, m).text,
             comparison_cell(m->change[0].value, m).text);
}

bool comparison_reads(const struct comparison *c, size_t side, bool more) {
    double times = kvf_ratio(c->side[side].mean.read_bytes, c->side[0].mean.read_bytes);
    return more ? times > READS : times < 1 / READS;
}

bool comparison_went(const struct comparison *c, const char *metric, size_t side,
                     enum comparison_direction way) {
    const struct comparison_change *v = comparison_told(c, metric, side);
    return v && v->direction == way;
}

/* Whether nothing but its noise keeps a change from being told. */
static bool merely_noisy(const struct comparison_change *v) {
    return v->reason == COMPARISON_TOLD || v->reason == COMPARISON_OPEN || v->reason == COMPARISON_LEAVING;
}

/* So many points fewer hits are named whatever their noise, unless trials tell that it is. */
#define HITS_FALL 0.2

/* The change of the hit ratio, where there is one to tell. */
static const struct comparison_change *hits_moved(const struct comparison *c, size_t side) {
    const struct comparison_metric *m = comparison_metric(c, "reuse_hit_ratio");
    const struct comparison_change *v = m ? &m->change[side] : NULL;
    bool trials = v && v->noise != COMPARISON_UNKNOWN && v->method != COMPARISON_BLOCKS;
    bool fell = v && merely_noisy(v) && !trials && v->absolute <= -HITS_FALL;
    return fell ? v : comparison_told(c, "reuse_hit_ratio", side);
}

/* Hits changed, and what users feel did not, as far as is known. */
static void put_hits(const struct comparison *c, size_t side, const struct comparison_change *hits,
                     struct buf *out) {
    buf_addf(out, "%s %s %s lookups than %s (", c->side[side].label,
             comparison_be(&c->side[side])[0] == 'a' ? "miss" : "misses",
             hits->direction == COMPARISON_WORSENED ? "more" : "fewer", c->side[0].label);
    comparison_put_values(c, "reuse_hit_ratio", side, out);
    buf_add(out, "); no latency or throughput that users feel differs beyond noise.");
}

/* ", while 2 of 5 trials of runs 4-8 did not serve what arrived", of the baseline likewise: a group is not
 * better than the worst of its trials. */
static void put_flawed(const struct comparison *c, size_t side, struct buf *out) {
    const struct comparison_side *both[] = {&c->side[side], &c->side[0]};
    const char *between = ", while ";
    for (size_t k = 0; k < 2; k++) {
        if (!comparison_flawed_in_part(both[k], both[k]->flaw) || both[k]->flaw == STANDING_FLAWLESS)
            continue;
        buf_add(out, between);
        comparison_put_flaw(both[k], both[k]->flaw, out);
        between = " and ";
    }
}

/* "run 4 misses more lookups than run 1 (...), and so reads less per request" */
static void put_misses(const struct comparison *c, size_t side, struct buf *out) {
    bool many = comparison_be(&c->side[side])[0] == 'a';
    buf_addf(out, "%s %s more lookups than %s (", c->side[side].label, many ? "miss" : "misses",
             c->side[0].label);
    comparison_put_values(c, "reuse_hit_ratio", side, out);
    buf_addf(out, "), and so read%s less per request", many ? "" : "s");
}

/* ", while more lookups miss (...), which leaves less to read" */
static void put_missing(const struct comparison *c, size_t side, struct buf *out) {
    buf_add(out, ", while more lookups miss (");
    comparison_put_values(c, "reuse_hit_ratio", side, out);
    buf_add(out, ")");
    if (comparison_reads(c, side, false) && !comparison_computes(c, side))
        buf_add(out, ", which leaves less to read");
}

static void put_by(const struct comparison *c, const char *word, const char *metric, size_t side,
                   struct buf *out) {
    const struct comparison_metric *m = comparison_metric(c, metric);
    const struct comparison_change *v = &m->change[side];
    buf_addf(out, "%s in %s by ", word, m->label);
    if (isnan(v->relative)) /* from nothing */
        buf_add(out, comparison_cell(fabs(v->absolute), m).text);
    else
        buf_addf(out, "%.0f %%", 100 * fabs(v->relative));
}

/* "Nothing is compared: run 5 failed." Whether it was said. */
static bool put_failed(const struct comparison *c, size_t side, struct buf *out) {
    const struct comparison_side *base = &c->side[0], *other = &c->side[side];
    bool first = comparison_side_failed(base), second = comparison_side_failed(other);
    if (!first && !second) return false;
    buf_addf(out, "Nothing is compared: %s", first ? base->label : other->label);
    if (first && second) buf_addf(out, " and %s", other->label);
    buf_add(out, " failed.");
    return true;
}

/* A latency or a rate that users feel, of which the noise need not be known. */
struct felt_pair {
    struct comparison_metric metric; /* without its changes, which are these: */
    struct comparison_change change[2];
};

/* comparison_times() of them. */
static double times_of(const struct felt_pair *pair) {
    struct comparison_metric m = pair->metric;
    struct comparison_change change[2] = {pair->change[0], pair->change[1]};
    m.change = change;
    return comparison_times(&m, 1);
}

/* "(21.7 ms after 6.59 ms)" */
static void put_pair(const struct felt_pair *pair, struct buf *out) {
    buf_addf(out, "(%s after %s)", comparison_cell(pair->change[1].value, &pair->metric).text,
             comparison_cell(pair->change[0].value, &pair->metric).text);
}

/* The mean of a latency, which is no row of the usual table, has the reason of its P95. */
static bool felt_of(const struct comparison *c, size_t side, const char *metric, double mean[2],
                    struct felt_pair *out) {
    const struct comparison_metric *m = comparison_metric(c, metric);
    if (!m) return false;
    out->metric = *m;
    out->change[0] = m->change[0];
    out->change[1] = m->change[side];
    out->metric.change = NULL;
    if (!mean) return true;
    snprintf(out->metric.label, sizeof out->metric.label, "%s mean",
             metric[0] == 'e' ? "end-to-end" : "TTFT");
    for (size_t k = 0; k < 2; k++) out->change[k].value = mean[k];
    out->change[1].absolute = mean[1] - mean[0];
    out->change[1].direction = mean[1] > mean[0]   ? COMPARISON_WORSENED
                               : mean[1] < mean[0] ? COMPARISON_IMPROVED
                                                   : COMPARISON_SAME;
    return true;
}

/* So many times is not to be passed over, though its noise may not be known and less work may explain it. */
#define CLEARLY 1.1

/* Whether a change is one of the same measure, whatever else keeps it from being told. */
static bool of_one_measure(const struct comparison_change *v) {
    return merely_noisy(v) || v->reason == COMPARISON_UNDONE || v->reason == COMPARISON_SMALLER;
}

/* The first that went clearly this way of all that users feel, with what less work explains or by more than
 * that; false: nothing did. */
static bool clearly(const struct comparison *c, size_t side, enum comparison_direction way, bool all_of_it,
                    struct felt_pair *out) {
    const struct comparison_means *own = &c->side[side].mean, *base = &c->side[0].mean;
    double e2e[2] = {base->e2e, own->e2e}, ttft[2] = {base->ttft, own->ttft};
    const struct {
        const char *metric;
        double *mean;
    } all[] = {{"e2e_p95_ms", NULL},    {"e2e_p95_ms", e2e},        {"ttft_p95_ms", NULL},
               {"ttft_p95_ms", ttft},   {"throughput_tok_s", NULL}, {"goodput_per_s", NULL},
               {"requests_per_s", NULL}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (felt_of(c, side, all[i].metric, all[i].mean, out) && out->change[1].direction == way &&
            (all_of_it ? of_one_measure(&out->change[1]) : merely_noisy(&out->change[1])) &&
            times_of(out) > CLEARLY * (all_of_it ? 1 : fmax(out->change[1].explained, 1)))
            return true;
    return false;
}

/* Of metrics whose noise is not known, the first that is worse by so much that it is not passed over. */
#define UNSURE 1.25
static bool may_be_worse(const struct comparison *c, size_t side, struct felt_pair *out) {
    return clearly(c, side, COMPARISON_WORSENED, false, out) && out->change[1].noise == COMPARISON_UNKNOWN &&
           times_of(out) > UNSURE;
}

static void put_may_be_worse(const struct comparison *c, size_t side, const struct felt_pair *pair,
                             struct buf *out) {
    buf_addf(out, "Whether %s %s worse than %s is not known: %s may be ", c->side[side].label,
             comparison_be(&c->side[side]), c->side[0].label, pair->metric.label);
    put_pair(pair, out);
    buf_add(out, ", and nothing goes beyond noise.");
}

/* Why nothing is said, of the first metric that would have been something to say. */
static void put_nothing(const struct comparison *c, size_t side, struct buf *out) {
    const char *base = c->side[0].label, *other = c->side[side].label;
    struct felt_pair worse;
    bool known = false;
    for (size_t i = 0; i < sizeof felt / sizeof felt[0]; i++) {
        const struct comparison_metric *m = comparison_metric(c, felt[i]);
        const struct comparison_change *v = m ? &m->change[side] : NULL;
        bool whole = v && v->reason != COMPARISON_OPEN && v->reason != COMPARISON_LEAVING &&
                     v->reason != COMPARISON_UNITS; /* the side */
        if (whole && v->reason != COMPARISON_TOLD) {
            buf_addf(out, "Nothing is claimed of %s against %s: ", other, base);
            if (v->reason != COMPARISON_SMALLER || !comparison_put_work(c, side, out))
                buf_add(out, comparison_reason_text(v->reason));
            put_flawed(c, side, out);
            buf_add(out, ".");
            return;
        }
        known = known || (v && v->noise != COMPARISON_UNKNOWN);
    }
    const struct comparison_change *hits = hits_moved(c, side);
    if (hits)
        put_hits(c, side, hits, out);
    else if (may_be_worse(c, side, &worse))
        put_may_be_worse(c, side, &worse, out);
    else if (known)
        buf_addf(out, "No difference between %s and %s that is better or worse goes beyond noise.", base,
                 other);
    else
        buf_addf(out, "Whether %s and %s differ beyond noise is not known.", base, other);
}

/* All there is to say of a side, each of metrics that moved beyond noise. */
struct findings {
    struct comparison_harm harm;
    const struct comparison_change *first; /* of the metrics that users feel; NULL: none */
    const char *what, *also;               /* that one, and the first that went the other way */
    bool worse, misses;                    /* the first one; more lookups miss */
    bool relieved;                         /* what is worse leads, and less that is undone comes after it */
    bool doubtful; /* better or worse by parts, or by less undone, and what follows says otherwise */
    struct felt_pair contrary;
};

/* The first that is better by more than less work explains. */
static const char *better_all_the_same(const struct comparison *c, size_t side) {
    for (size_t i = 0; i < sizeof felt / sizeof felt[0]; i++) {
        const struct comparison_metric *m = comparison_metric(c, felt[i]);
        if (m && m->change[side].more_than_explained) return felt[i];
    }
    return NULL;
}

static struct findings findings_of(const struct comparison *c, size_t side) {
    struct findings f = {.harm = comparison_harm_of(c, side)};
    for (size_t i = 0; i < sizeof felt / sizeof felt[0]; i++) {
        const struct comparison_change *v = comparison_told(c, felt[i], side);
        if (!v) continue;
        if (f.first && v->direction != f.first->direction && !f.also) f.also = felt[i];
        if (!f.first) f.what = felt[i];
        if (!f.first) f.first = v;
    }
    const struct comparison_change *hits = hits_moved(c, side);
    f.worse = f.first && f.first->direction == COMPARISON_WORSENED;
    f.misses = hits && hits->direction == COMPARISON_WORSENED;
    if (comparison_of_chunks(f.harm.metric) && !f.harm.relief && f.first && !of_part(f.what) &&
        !(f.worse && f.harm.against)) /* that has a cause, or is a gain of more; chunks come after it */
        f.harm = (struct comparison_harm){.metric = f.harm.against, .relief = f.harm.against};
    bool part = !f.first || of_part(f.what), harmed = f.harm.metric && !f.harm.relief;
    if (!f.also && (f.worse || (harmed && !f.first))) f.also = better_all_the_same(c, side);
    f.relieved = f.harm.metric && f.harm.relief && f.worse && !part && !comparison_of_outage(f.harm.metric);
    bool worse = f.worse && !f.harm.metric;
    bool all_of_it = f.harm.metric ? comparison_of_tiers(f.harm.metric) : f.first != NULL;
    if (part && !harmed && !f.harm.other_done && (f.first || f.harm.metric))
        f.doubtful =
            clearly(c, side, worse ? COMPARISON_IMPROVED : COMPARISON_WORSENED, all_of_it, &f.contrary);
    return f;
}

/* "run 2 does less than run 1 (requests/s 0.41 after 1.02) and is worse in tokens/s by 70 %: more users are
 * left without an answer (...), though fewer writes fall through (...)" */
static void put_other_done(const struct comparison *c, size_t side, const struct findings *f,
                           struct buf *out) {
    const struct comparison_harm *h = &f->harm;
    const char *be = comparison_be(&c->side[side]);
    buf_addf(out, "%s %s %s than %s", c->side[side].label, be[0] == 'a' ? "do" : "does",
             h->relief ? "less" : "more", c->side[0].label);
    if (comparison_metric(c, "requests_per_s")) {
        buf_add(out, " (");
        comparison_put_values(c, "requests_per_s", side, out);
        buf_add(out, ")");
    }
    if (f->first) buf_addf(out, " and %s ", be);
    if (f->first) put_by(c, f->worse ? "worse" : "better", f->what, side, out);
    if (h->against) {
        buf_add(out, ": ");
        comparison_put_lost(c, side, h->against, !h->relief, out);
    }
    buf_add(out, ", though ");
    comparison_put_lost(c, side, h->metric, h->relief, out);
}

/* Keys that say what is asked come first. */
static int weight_of(const char *key) {
    return strncmp(key, "workload.", strlen("workload.")) == 0 ? 0 : buf_ends_with(key, ".capacity") ? 1 : 2;
}

/* "Whether run 2 is better than run 1 is not known: better in nvme read P95 by 37 %, but end-to-end P95 may
 * be worse (47.4 s after 29.9 s)" */
static void put_doubt(const struct comparison *c, size_t side, const struct findings *f, struct buf *out) {
    const char *word = f->worse && !f->harm.metric ? "worse" : "better",
               *other = word[0] == 'w' ? "better" : "worse";
    buf_addf(out, "Whether %s %s %s than %s is not known: ", c->side[side].label,
             comparison_be(&c->side[side]), word, c->side[0].label);
    if (f->harm.metric) comparison_put_lost(c, side, f->harm.metric, f->harm.relief, out);
    if (f->harm.metric && f->harm.against) {
        buf_add(out, ", though ");
        comparison_put_lost(c, side, f->harm.against, !f->harm.relief, out);
    }
    const char *between = f->worse == f->harm.relief ? ", though " : ", and ";
    if (f->first) buf_add(out, f->harm.metric ? between : "");
    if (f->first) put_by(c, f->worse ? "worse" : "better", f->what, side, out);
    buf_addf(out, ", but %s may be %s ", f->contrary.metric.label, other);
    put_pair(&f->contrary, out);
}

/* ", though fewer writes fall through (...)" */
static void put_relief(const struct comparison *c, size_t side, const struct comparison_harm *h,
                       struct buf *out) {
    buf_add(out, ", though ");
    comparison_put_lost(c, side, h->metric, true, out);
    if (!h->against) return;
    buf_add(out, ", while ");
    comparison_put_lost(c, side, h->against, false, out);
}

/* Whether the lookups that miss were named. */
static bool put_first(const struct comparison *c, size_t side, const struct findings *f, bool *beside,
                      struct buf *out) {
    bool lead =
        f->misses && !f->worse && !f->harm.metric && f->first && comparison_misses_spare(c, side, f->what);
    if (f->harm.other_done) {
        put_other_done(c, side, f, out);
        return false;
    }
    if (f->doubtful) {
        put_doubt(c, side, f, out);
        return false;
    }
    if (f->harm.metric && !f->relieved)
        comparison_put_harm(c, side, &f->harm, out);
    else if (lead)
        put_misses(c, side, out);
    else
        buf_addf(out, "%s %s", c->side[side].label, comparison_be(&c->side[side]));
    if (f->harm.metric && f->first && !f->relieved) {
        buf_addf(out, ", %s ", f->worse == f->harm.relief && !f->harm.against ? "though" : "and");
        put_by(c, f->worse ? "worse" : "better", f->what, side, out);
    } else if (lead) {
        put_by(c, ": better", f->what, side, out);
    } else if (f->first) {
        buf_addf(out, " %s than %s", f->worse ? "worse" : "better", c->side[0].label);
        put_by(c, "", f->what, side, out);
        /* throughput goes by what is asked */
        *beside = comparison_of_rate(f->what) && comparison_differs(c, side, "workload.");
        return comparison_cause(c, side, f->first->direction, f->what, beside, out);
    }
    return lead;
}

/* Beside what got better where fewer chunks hit, and beside what got worse where more did. */
static void put_chunks(const struct comparison *c, size_t side, const struct findings *f, struct buf *out) {
    const struct comparison_side *own = &c->side[side];
    bool better = f->first && (!f->worse || f->also), worse = f->first && (f->worse || f->also);
    bool told = comparison_of_chunks(f->harm.metric) || comparison_of_chunks(f->harm.against);
    if (told || !((own->fewer_chunks && (better || own->loses_chunks)) || (own->more_chunks && worse)))
        return;
    buf_add(out, ", while ");
    comparison_put_chunks(c, side, out);
}

/* " Their scenarios differ in workload.users, tiers.cpu.capacity and 3 more keys." */
static void put_keys(const struct comparison *c, size_t side, struct buf *out) {
    enum { NAMED = 2 };
    const char *named[NAMED] = {NULL};
    size_t keys = 0, told = 0;
    for (int w = 0; w < 3; w++)
        for (size_t i = 0; i < c->differences; i++) {
            const struct comparison_difference *d = &c->difference[i];
            if (weight_of(d->key) != w || !comparison_key_counts(d->key) || comparison_same(d, side))
                continue;
            if (keys++ < NAMED) named[told++] = d->key;
        }
    buf_addf(out, " Their scenarios differ in %s", named[0]);
    if (told > 1) buf_addf(out, "%s %s", keys > told ? "," : " and", named[1]);
    if (keys > told) buf_addf(out, " and %zu more key%s", keys - told, keys - told == 1 ? "" : "s");
    buf_add(out, ".");
}

/* "Nothing is claimed of run 2 against run 1: 5.30k of 6.59k lookups of run 2 missed, and nothing computes
 * that ...", where what is left looks better on the side that misses for nothing. Whether it was said. */
static bool put_idle(const struct comparison *c, size_t side, const struct findings *f, struct buf *out) {
    const struct comparison_side *own = &c->side[side];
    bool favours = f->harm.metric && f->harm.relief == own->idle_misses;
    if ((!own->idle_misses && !own->base_idle_misses) || (f->first && (!favours || f->relieved)) ||
        (f->harm.metric && !favours))
        return false;
    buf_addf(out, "Nothing is claimed of %s against %s: ", own->label, c->side[0].label);
    comparison_put_idle(c, side, out);
    if (f->harm.metric) {
        buf_add(out, ", though ");
        comparison_put_lost(c, side, f->harm.metric, f->harm.relief, out);
    }
    if (f->first) put_by(c, f->worse ? ", and worse" : ", and better", f->what, side, out);
    put_flawed(c, side, out);
    buf_add(out, ".");
    return true;
}

/* Leads with what matters to users: failed requests, then latency, and never a gain that comes from misses
 * without naming the misses. The other way is told as well. */
void comparison_verdict(const struct comparison *c, size_t side, struct buf *out) {
    if (put_failed(c, side, out)) return;
    const struct findings f = findings_of(c, side);
    if (put_idle(c, side, &f, out)) return;
    if (!f.first && !f.harm.metric) {
        put_nothing(c, side, out);
        return;
    }
    bool beside = false, named = put_first(c, side, &f, &beside, out);
    bool gain = f.also && comparison_metric(c, f.also)->change[side].direction == COMPARISON_IMPROVED;
    if (f.also)
        put_by(c, gain ? f.first ? ", but better" : ", though better" : ", but worse", f.also, side, out);
    struct felt_pair worse;
    bool part = f.also && of_part(f.also), better = f.first && !f.worse && (!f.also || part);
    if (better && !f.doubtful && !f.harm.other_done && may_be_worse(c, side, &worse)) {
        buf_addf(out, ", %s %s may be worse ", part ? "and" : "though", worse.metric.label);
        put_pair(&worse, out);
    }
    if (f.relieved && !f.harm.other_done) put_relief(c, side, &f.harm, out);
    if (f.misses && !named && (f.doubtful || (f.first && (!f.worse || f.also)))) put_missing(c, side, out);
    put_chunks(c, side, &f, out);
    if (c->side[side].idle_misses || c->side[side].base_idle_misses) {
        buf_add(out, ", while ");
        comparison_put_idle(c, side, out);
    }
    if (!comparison_of_waiting(f.harm.metric) && !comparison_of_waiting(f.harm.against))
        put_flawed(c, side, out);
    if (c->side[side].smaller || c->side[side].larger) buf_add(out, ", although ");
    (void)comparison_put_work(c, side, out);
    buf_add(out, ".");
    if (beside) put_keys(c, side, out);
}
