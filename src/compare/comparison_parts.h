/* Functions shared by the files of the comparison. One thread at a time. */
#ifndef KVF_COMPARE_COMPARISON_PARTS_H
#define KVF_COMPARE_COMPARISON_PARTS_H

#include <string.h>

#include "compare/comparison.h"

/* Fills c->difference. */
void comparison_scenarios(const struct comparison_input *input, struct comparison *c);
/* The seeds of a group that stands by its tag, "1, 2, 4"; "" for any other side, and where all have one. */
void comparison_seeds(const struct comparison_input *i, struct buf *out);
/* Fills c->warning; the sides are known. */
void comparison_fairness(const struct comparison_input *input, struct comparison *c);
void comparison_warn(struct comparison *c, const char *fmt, ...)
    __attribute__((format(printf, 2, 3))); /* adds one */

/* Fills the store of a side. */
void comparison_store(const struct comparison_input *i, struct comparison_store *out);

/* Fills what the sides left undone, and how it compares with the baseline. The scenarios are compared. */
void comparison_undone(const struct comparison_input *input, struct comparison *c);
/* Fills serves_left and serves_left_base of a side. */
void comparison_classes_left(const struct comparison_input *base, const struct comparison_input *own,
                             struct comparison_side *side);
/* Fills less_served and more_served of the sides. The scenarios are compared. */
void comparison_classes(const struct comparison_input *input, struct comparison *c);
/* Warns where requests not done might turn the change of throughput round. */
void comparison_unfinished(const struct comparison_input *input, struct comparison *c);

/* Fills the work of the requests of each side, and warns where it differs. The scenarios are compared. */
void comparison_work(const struct comparison_input *input, struct comparison *c);
/* Appends "fewer lookups of document chunks hit (2.1 % after 99.6 %)"; the side has fewer_chunks or
 * more_chunks. */
void comparison_put_chunks(const struct comparison *c, size_t side, struct buf *out);
/* Whether lookups of document chunks are all that a side left undone beside the baseline: of how much it read
 * that is a known part, and a gain of more is one. */
static inline bool comparison_chunks_alone(const struct comparison_side *s) {
    return s->loses_chunks && !s->undone_more && !s->idle_misses;
}
/* Whether a part of lookups that hit falls far: by 20 percentage points, or to a half. */
static inline bool comparison_falls_far(double before, double now) {
    return before - now >= 0.2 || now <= before / 2;
}
/* Appends "5.30k of 6.59k lookups of run 2 missed, and nothing computes that ..."; there are idle misses. */
void comparison_put_idle(const struct comparison *c, size_t side, struct buf *out);
/* Whether the lookups of all sides are of entries of one size. */
bool comparison_counted_alike(const struct comparison *c);
/* Fills of how much what a side left undone is a part; its load is known. */
void comparison_amounts(const struct comparison_input *i, struct comparison_side *side);
/* Of how many requests the `n` undone of a metric are: of requests_left of those asked for, of others of
 * those that ended. */
double comparison_out_of(const struct comparison_side *s, const char *metric, double n);
/* The parts of two counts of a kind that are comparable: of the side that had more of its base the part that
 * is as much as the other one's (enum standing_base). Requests that failed with a pod do so once. */
struct comparison_parts {
    double own, than;
};
struct comparison_parts comparison_parts_of(const char *metric, const struct comparison_side *side, double n,
                                            const struct comparison_side *than, double n_than);
/* Appends what a count is of, where the other side had more or less of it: " in 4.64k requests", " in 240 s",
 * " at 20 requests/s". */
void comparison_put_base(const char *metric, const struct comparison_side *side, double n,
                         const struct comparison_side *other, double n_other, struct buf *out);
/* Fills what counts of a side are of; its load is known. */
void comparison_bases(const struct comparison_input *i, struct comparison_side *side);
/* Fills what work that a side did not do explains: spared, spared_base, times_smaller, times_larger. */
void comparison_explained(const struct comparison_input *input, struct comparison *c);
/* How many times a metric may move for so many times the work: as many times where it is done in a second,
 * of latencies and shares the square. */
double comparison_explains(const struct comparison_metric *m, double times);
/* How many times the smaller of two values the larger is. */
double comparison_times(const struct comparison_metric *m, size_t side);
/* Takes a judgement back, for a reason, where work that was not done explains the change: a change that is
 * worse, or with `gain` better, is told where it is more than `explained` times. */
void comparison_bound(struct comparison_metric *m, size_t side, enum comparison_reason reason, bool gain,
                      double explained);
/* Appends "run 1 did smaller requests than run 2: 299 tokens of context in the mean against 432", "other
 * requests" where each is smaller in some part. Whether they differ. */
bool comparison_put_work(const struct comparison *c, size_t side, struct buf *out);

/* Fills noise, method, interval and p of every change, and c->note. */
void comparison_judge(const struct comparison_input *input, struct comparison *c);

/* Appends one sentence on a side against the baseline, with the reason. */
void comparison_verdict(const struct comparison *c, size_t side, struct buf *out);

/* Appends what the change of a metric that users feel comes from, " because nvme reads take longer (...)", as
 * far as the figures say; " as nvme reads ..." with *beside where keys of the scenario differ that may be
 * why; of throughput " as more users ask (200 after 100)", with *beside where other keys differ too. Whether
 * the lookups that miss were named. */
bool comparison_cause(const struct comparison *c, size_t side, enum comparison_direction direction,
                      const char *what, bool *beside, struct buf *out);
/* Whether the misses of one of the two are computed again, on a modelled GPU. At granularity request those of
 * shared prompts alone are, which are few. */
bool comparison_computes(const struct comparison *c, size_t side);
/* Whether `what` got better because more lookups miss and a request reads less for it: storage is the part of
 * the mean latency that changed most, nobody computes misses, and the scenarios differ in nothing but smaller
 * tiers or how they evict. */
bool comparison_misses_spare(const struct comparison *c, size_t side, const char *what);
/* Whether a side has the value of the baseline. */
static inline bool comparison_same(const struct comparison_difference *d, size_t side) {
    const char *base = d->value[0], *own = d->value[side];
    return base && own ? strcmp(base, own) == 0 : base == own;
}
/* Whether a key of the scenario that begins so has another value than in the baseline. */
static inline bool comparison_differs(const struct comparison *c, size_t side, const char *begins) {
    for (size_t i = 0; i < c->differences; i++)
        if (strncmp(c->difference[i].key, begins, strlen(begins)) == 0 &&
            !comparison_same(&c->difference[i], side))
            return true;
    return false;
}
/* Whether a key of the scenario may change what a request takes, as its name or its length may not. */
bool comparison_key_counts(const char *key);
/* Appends "hit ratio 22.1 % after 45.0 %". */
void comparison_put_values(const struct comparison *c, const char *metric, size_t side, struct buf *out);
/* Whether a metric moved this way beyond noise. */
bool comparison_went(const struct comparison *c, const char *metric, size_t side,
                     enum comparison_direction way);
/* Whether a request reads more, or less, by more than what chance makes of some. */
bool comparison_reads(const struct comparison *c, size_t side, bool more);

/* Whether a metric counts what was served in a second. */
static inline bool comparison_of_rate(const char *metric) {
    return strcmp(metric, "throughput_tok_s") == 0 || strcmp(metric, "requests_per_s") == 0 ||
           strcmp(metric, "goodput_per_s") == 0;
}

/* Whether as many requests are done as arrive, however long they take. */
static inline bool comparison_serves(const struct comparison_side *s) {
    return s->open_loop && s->flaw != STANDING_FLAW_BEHIND;
}

/* Fills flaw, flawed and lost of a side, and the largest part left waiting of a group. A group is no better
 * than the worst of its complete trials: what half of them hide is in no median. */
void comparison_trials(const struct comparison_input *input, struct comparison_side *side);
/* The metric behind lost[i], and the amount of it that counts, given the value of the metric: the median of a
 * group, or where most of its trials lost none the most of any. */
const char *comparison_lost_metric(size_t i);
size_t comparison_lost_find(const char *metric); /* COMPARISON_LOST: it is none of them */
double comparison_lost_amount(const struct comparison_side *s, size_t i, double value);
/* Whether some trials of a group, and not all, have this flaw, or have lost of this kind. */
bool comparison_flawed_in_part(const struct comparison_side *s, enum standing_flaw flaw);
bool comparison_lost_in_part(const struct comparison_side *s, size_t i);
/* Whether the flaw of one side hides its figures, and the other has none that does, or misses far fewer rows.
 */
bool comparison_hides_more(const struct comparison_side *one, const struct comparison_side *other);
/* Appends a flaw of a side with its name: "run 4 did not serve what arrived: ...", of a group in part "2 of 5
 * trials of runs 4-8 did not serve what arrived". */
void comparison_put_flaw(const struct comparison_side *s, enum standing_flaw flaw, struct buf *out);

/* Whether a run failed or crashed, or no trial of a group is complete: its figures say nothing. */
static inline bool comparison_side_failed(const struct comparison_side *s) {
    return s->trials ? !s->complete : s->status == RUN_FAILED || s->status == RUN_CRASHED;
}

/* Whether both drew from one seed, or the trials of groups from the same ones: their users are the same. */
bool comparison_draws_alike(const struct comparison_input *a, const struct comparison_input *b);
/* Whether simulations drew from one seed, or trials of groups from the same ones: their requests come at the
 * same moments, and nothing but what differs between them makes what they leave undone. */
bool comparison_twins(const struct comparison_input *a, const struct comparison_input *b);
/* Whether both replay the same rows at the same times: their arrivals leave nothing to chance. The scenarios
 * are compared, and what chance allows is known of both. */
bool comparison_replay_alike(const struct comparison *c, const struct comparison_input *input, size_t side);
/* Whether so much is known of two sides, of which one is the baseline. */
static inline bool comparison_arrive_alike(const struct comparison_side *a, const struct comparison_side *b) {
    return a->same_arrivals || b->same_arrivals;
}
/* Whether of the same arrivals a side dropped more than another. */
bool comparison_drops_more(const struct comparison_side *side, double n, const struct comparison_side *than,
                           double n_than);
/* Fills what chance lets the counts of a side be off by; its trials are known. */
void comparison_chance(const struct comparison_input *input, struct comparison_side *side);
/* Whether `n` of a kind are more than `n_than` of another side beyond chance, the part `part` of one and
 * `part_than` of the other taken. */
bool comparison_beyond_chance(const struct comparison_side *side, const char *metric, double n, double part,
                              const struct comparison_side *than, double n_than, double part_than);
/* The same of arrivals left waiting, and of users without an answer, by COMPARISON_SURVIVORS as well. */
bool comparison_waits_beyond_chance(const struct comparison_side *side, const struct comparison_side *than);
bool comparison_unanswered_more(const struct comparison_side *side, const struct comparison_side *than,
                                double part, double part_than);

/* Whether a kind of work undone is the tiers' alone: all its requests were served, so what these show is
 * theirs. */
bool comparison_of_tiers(const char *metric);
/* Whether beyond chance more arrivals were left waiting, or more users without an answer, than in the
 * baseline. */
bool comparison_leaves_more_waiting(const struct comparison *c, size_t side);
/* Whether far more of a kind of work was left undone on a side than on another, of as many requests; one of
 * them is the baseline. Writes, lookups and operations of another granularity are more only than none. */
bool comparison_lost_more(const struct comparison *c, const char *metric, size_t side, double n, size_t than,
                          double n_than);

/* Whether a side did less than another in a second of requests, of tokens and of bytes moved alike, each by
 * the part `by` and more than chance; or no more of any, with more of its users left without an answer. Such
 * a side is not slow because it left less undone. One of them is the baseline. */
#define COMPARISON_LESS_DONE    0.05 /* none of its figures looks worse for a good reason */
#define COMPARISON_CLEARLY_LESS 0.25 /* nor is it better as a whole */
bool comparison_does_less(const struct comparison *c, size_t side, size_t than, double by);

/* A P95 is that of the slowest twentieth. Where one side had not ended so many more of its requests, or of
 * its arrivals had left so many more waiting, all of its tail may be among them. Where most are left waiting
 * on both, a quarter fewer served are fewer than that; of trials, of which the worst counts, that is chance.
 */
#define COMPARISON_SURVIVORS    0.05
#define COMPARISON_FEWER_SERVED 0.25
static inline bool comparison_serves_fewer(const struct comparison_side *s,
                                           const struct comparison_side *than) {
    return s->trials == 0 && than->trials == 0 &&
           1 - s->unserved < (1 - COMPARISON_FEWER_SERVED) * (1 - than->unserved);
}
static inline bool comparison_waits_far_more(const struct comparison_side *s,
                                             const struct comparison_side *than) {
    return s->unserved - than->unserved > COMPARISON_SURVIVORS;
}
/* Of the same arrivals, in simulations: the longest waits, which no chance has picked. */
static inline bool comparison_strands_more(const struct comparison_side *s,
                                           const struct comparison_side *than) {
    return (s->twin || than->twin) && s->stranded - fmax(0, than->unserved) > COMPARISON_SURVIVORS;
}
static inline bool comparison_waits_more(const struct comparison_side *s,
                                         const struct comparison_side *than) {
    return comparison_waits_far_more(s, than) || comparison_serves_fewer(s, than);
}

/* The metric's label; "gpu emul read P95" with an emulated tier. */
void comparison_label(const char *metric, const struct comparison_input *input, size_t sides, char *out,
                      size_t len);

/* Why noise cannot be told of a metric between two sides, if it cannot; c->note says so once. *explained: of
 * a change of more times it can; INFINITY: of none. */
struct comparison_reach;
struct comparison_reach *comparison_reach_new(const struct comparison_input *input, struct comparison *c);
enum comparison_reason comparison_reach_reason(const struct comparison_reach *r, size_t side,
                                               const struct comparison_metric *m, double *explained);
void comparison_reach_free(struct comparison_reach *r);
void comparison_note(struct comparison *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Whether a side is a group, of which its complete trials count. */
static inline bool comparison_group(const struct comparison_input *i) {
    return i->trials && i->trials->count > 0;
}
/* The value of a metric of a side, NaN when missing; of a group the median. *unit, where there is one. */
double comparison_value(const struct comparison_input *i, const char *metric, const char **unit);

/* Single runs: how far a metric may be off to either side, as logarithms, by the scatter of the intervals of
 * the measured part. */
enum { COMPARISON_INTERVALS_LEAST = 20, COMPARISON_TRIALS_LEAST = 3, COMPARISON_RESAMPLES = 1000 };
enum { COMPARISON_SHOWN, COMPARISON_JUDGED, COMPARISON_LEVELS }; /* an interval, and what is beyond noise */
extern const double comparison_levels[COMPARISON_LEVELS];
struct comparison_scatter {
    double below[COMPARISON_LEVELS], above[COMPARISON_LEVELS]; /* INFINITY: no value tells */
    double *part; /* of each interval in the logarithm, which their sum would move by; free() it */
    size_t parts;
    double events; /* that the metric counts; NaN: it counts none */
};
/* False when there are no intervals for it, or too few. */
bool comparison_scatter(const struct comparison_input *i, const char *metric, struct comparison_scatter *out);
/* The scatter of the change, `centre` as a logarithm, between two runs with the same number of intervals:
 * effects on both in the same interval, such as a burst of arrivals, cancel out. False when the numbers
 * differ, or no value tells. */
bool comparison_scatter_paired(const struct comparison_scatter *base, const struct comparison_scatter *side,
                               double centre, double half[COMPARISON_LEVELS]);
/* How the shares of two runs' values differ that are at or below the percentile of the run where it is lower.
 * Unknown where nothing tells. */
struct comparison_apart {
    bool hidden; /* they do beyond what is left of that scatter when the way is taken out that the run went,
                    from one end to the other */
    bool wholly; /* hardly a value of the one where it is higher is as low */
};
enum comparison_noise comparison_shares_noise(const struct comparison_input *a,
                                              const struct comparison_input *b, const char *metric,
                                              struct comparison_apart *out);
/* The number of intervals of the measured part. */
size_t comparison_intervals(const struct comparison_input *i);

/* The percentile that a metric is, "ttft_p50_ms", of the whole run's histogram, in ms, straight inside its
 * bucket; *width is the bucket's relative to it, of which no value inside is known. NaN: it is none. */
double comparison_inside(const struct run_record *run, const char *metric, double *width);

/* The shares of an interval at or below a percentile. */
struct comparison_share {
    uint64_t count, below;
};
/* For "e2e_p95_ms" and the like: the row of an interval, of the run or of one that it was put beside, and how
 * the percentile moves with its share; NULL for another metric. */
struct comparison_percentile;
const struct comparison_percentile *comparison_percentile(const struct comparison_shares *s,
                                                          const char *metric);
struct comparison_share comparison_percentile_at(const struct comparison_shares *s,
                                                 const struct comparison_percentile *p, uint64_t seq);
double comparison_percentile_share(const struct comparison_percentile *p);  /* 0.95 */
double comparison_percentile_values(const struct comparison_percentile *p); /* of the whole run */
/* Whether one lies in a lower bucket than another. */
bool comparison_percentile_under(const struct comparison_percentile *p,
                                 const struct comparison_percentile *q);
/* The value, in ns, that a part `share` of the whole run's values does not exceed; straight inside a bucket.
 */
double comparison_percentile_value(const struct comparison_percentile *p, double share);

#endif
