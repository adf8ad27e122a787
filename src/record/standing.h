/* The standing of a run, or of a group of trials, against targets and criteria: one count for every banner.
 * Any thread. */
#ifndef KVF_RECORD_STANDING_H
#define KVF_RECORD_STANDING_H

#include "record/trials.h"

/* Work that was not done, or not as the scenario asks: requests failed, dropped or not reached in time, those
 * that failed or were dropped in the warm-up,
 * ranks lost with their users, classes left unserved, operations that failed and blocks that were read wrong
 * while the run went on, whose entries are in no tier any more, documents refused or overdue, writes that
 * fell through or were not admitted, lookups that gave up waiting for a write, copies skipped, entries
 * dropped because their next tier was gone, or lost with it. Less work is done sooner, so the throughput of
 * the rest is not comparable. Writes, copies and lookups count only where no GPU is modelled, or what it
 * computes again is not all that was not kept. */
enum { STANDING_UNDONE = 18 };
struct standing {
    size_t targets, missed;  /* of the classes' latencies, as far as they could be judged */
    size_t unjudged;         /* beside them */
    size_t empty, merged;    /* of these: no request of the class ended; of ranks that were merged */
    size_t longer;           /* of these: than the run, and requests were open at its end */
    double requests, needed; /* of the others: that ended, and that the nearest needs; 0: there are none */
    bool p95_alone;          /* all this is of P95 targets, and there are others */
    size_t criteria, passed; /* that passed or failed, and passed */
    size_t without_data;     /* beside them: of tiers that were not needed */
    size_t trials;           /* that are counted together; 0: one run */
    size_t failed;           /* runs that failed: what they did until then meets and passes nothing */
    size_t flawed; /* trials whose figures are not those of their load; what the first of them lacks: */
    unsigned flawed_first;
    const char *flaw;
    double undone[STANDING_UNDONE];
};

/* Why a criterion has no value: "tier off", or "no data" where that is not the reason. */
const char *standing_lacks(const struct run_record *r, const struct run_criterion *c);
/* The standing of a run, or of all trials where `t` has any. */
void standing_of(const struct run_record *r, const struct trials *t, struct standing *out);
/* Whether no run failed, every target is met, every criterion passed and nothing left undone. */
bool standing_good(const struct standing *s);
/* The metric behind undone[i]; whether any is above 0; and "1,715 requests failed and 3 writes fell through",
 * "" where none is. */
const char *standing_undone_metric(size_t i);
/* Only the first STANDING_UNDONE_COMPUTED kinds count for a run that has the metric `standing_computes` and
 * not `standing_not_computed`: its modelled GPU computes again what was not kept. */
enum { STANDING_UNDONE_COMPUTED = 10 };
extern const char standing_computes[], standing_not_computed[];
/* Lookups of chunks of documents that missed: a miss of these makes no work at any granularity. */
double standing_chunk_misses(const struct result_list *results);
double
standing_chunk_hits(const struct result_list *results); /* the part that hit; NaN: none was looked up */
/* Lookups of turns that missed, and of how many: at granularity request such a miss makes no work. */
struct standing_turns {
    double misses, lookups;
};
struct standing_turns standing_turns(const struct result_list *results);
/* Whether they are so many, beyond chance, that it is work left out. */
bool standing_turns_missed(const struct standing_turns *t);
/* "5.30k of 6.59k lookups of run 2 missed, and nothing computes that at granularity request, unlike at
 * block"; written again, where no GPU is modelled. `of` may be "". */
enum { STANDING_TURNS = 200 };
const char *standing_turns_text(const struct standing_turns *t, const char *of, bool computes,
                                char out[STANDING_TURNS]);
/* More of undone[i] in words: "writes fall through". */
const char *standing_undone_more(size_t i);
/* The base of a kind, of which a longer or busier run has more: requests of the measured part,
 * seconds of the warm-up, or of an event that comes once, such as an outage, requests in a second, or
 * nothing. Of other metrics: requests. */
enum standing_base { STANDING_OF_REQUESTS, STANDING_OF_WARMUP, STANDING_OF_RATE, STANDING_OF_RUN };
enum standing_base standing_base(const char *metric);
/* The index of a metric in undone[]; STANDING_UNDONE: it is none of them. */
size_t standing_undone_find(const char *metric);
/* undone[i] of one trial, as a mean; of classes, which every trial has, the most. */
double standing_undone_each(const struct standing *s, size_t i);
bool standing_of_classes(const char *metric); /* not of requests, blocks or writes */
bool standing_nothing_undone(const double undone[STANDING_UNDONE]);
const char *standing_undone(const double undone[STANDING_UNDONE], char *out, size_t len);
/* "1 target not judged (46 of 100 requests that its percentile needs)", without the word beside targets that
 * were judged; "" where all were. */
enum { STANDING_UNJUDGED = 256, STANDING_TARGETS = STANDING_UNJUDGED + 64 };
const char *standing_unjudged(const struct standing *s, char out[STANDING_UNJUDGED]);
/* "all 3 targets met", "1 of 3 targets missed, 1 not judged (46 of 100 requests that its percentile needs)";
 * "not judged (the run failed)"; "" where there are none. */
const char *standing_targets(const struct standing *s, char out[STANDING_TARGETS]);
/* How one target of a class stands: "met", "missed", "not judged (no request of the class ended)"; "" where
 * it has none, and of a class that was asked for nothing. */
const char *standing_target(const struct run_record *r, const struct run_class *c, int target,
                            char out[STANDING_TARGETS]);
/* "2 of 6 targets missed, 1 not judged (46 of 100 requests that its percentile needs), 4 of 4 criteria
 * passed, 2 without data, throughput not comparable: 3 requests failed"; "targets and criteria not judged" of
 * a run that failed; "" where nothing is judged. */
enum { STANDING_TEXT = 768, STANDING_CRITERIA = 80 };
const char *standing_text(const struct standing *s, char out[STANDING_TEXT]);
/* "7 of 7 criteria passed, 2 without data"; "" where there are none. */
const char *standing_criteria(size_t passed, size_t judged, size_t without_data, char out[STANDING_CRITERIA]);
/* Counts the undone work of a run from its results. */
void standing_count(const struct result_list *results, double undone[STANDING_UNDONE]);
/* Makes the values of the metrics behind undone[] the counts: NaN is none, and none are the kinds that a
 * modelled GPU computes again, where `computes`. */
void standing_settle(bool computes, double undone[STANDING_UNDONE]);
#define STANDING_CUT 0.5 /* part of the time in service, of requests that were not done */
/* Whether most of the time that requests were in service is that of requests that had not ended: those that
 * had are the first of many, and throughput and demands are not of what all of them ask. `each_ms`: in
 * service, of one that was done. NaN for any: false. */
bool standing_cut(double in_service_s, double done, double each_ms);
/* The same of a run. A failed request has no latency, and is work undone. */
bool standing_run_cut(const struct result_list *results);
/* The part of that time which is of requests that had not ended, less what those that had spent before; of
 * merged ranks the largest of theirs. NaN: unknown. By so much of itself the throughput of all may be higher.
 */
double standing_run_unfinished(const struct result_list *results);
/* Whether so large a part of the load, requests that arrived or were open at the start, was left waiting that
 * chance is no reason: five percent, more than one or two requests, and three standard deviations of the
 * count of arrivals, whose variance is `dispersion` times its mean, or a quarter where only bursts explain
 * more. Arrivals at even gaps leave nothing to chance. `dispersion` NaN: 1, as of a Poisson process. NaN for
 * the others: false. */
bool standing_waiting(double part, double load, double dispersion);
bool standing_beyond_chance(double part, double load,
                            double dispersion); /* the same without the five percent */
/* The dispersion by which chance is allowed: where slots or a tier were busy for nearly all of the time, no
 * time was left in which what came by chance would have been served, and one standard deviation is enough.
 * `busy`: the largest of the metrics standing_busy. */
double standing_chance(double dispersion, double busy);
extern const char *const standing_busy[];
extern const size_t standing_busy_count;
/* The same of requests not done at dispersion 1: done / arrived, and how many arrived. NaN: false. */
bool standing_behind(double done_ratio, double arrived);
/* The same of a run whose arrivals do not wait for answers: of an open loop by what it achieved, of any by
 * what was left waiting. Where users wait for answers, whether its load had not settled. */
bool standing_run_behind(const struct result_list *results);
/* Whether arrivals of an open loop, or of paced users, were left waiting beyond chance. */
bool standing_run_waits(const struct result_list *results);
/* The unserved_ratio below which the arrivals of a run count as served: five percent, or where it has more,
 * what chance explains of so few. */
double standing_run_allowed(const struct result_list *results);
/* The second of these as a part, or that of a run whose load had not settled; 0: neither. And the requests of
 * which the first is a part: those that arrived, with those open at the start where these are more. */
double standing_run_left(const struct result_list *results);
double standing_run_load(const struct result_list *results);
/* Growth of requests that are open, of so many at the start and at the end and in the mean: where as many end
 * as begin there are at the end as many as in the mean, while of a pile that grows evenly half is on top. */
double standing_piled(double at_start, double mean, double at_end);
/* Requests of a class in a stretch of time: that arrived, were open at its start, were done, ended in any
 * way, are queued at its end; how long the class was starved, and the age of its oldest open request then;
 * of merged ranks, those that left it unserved. NaN: unknown. */
struct standing_class {
    double arrived, open, done, ended, queued, starved_s, oldest_s, ranks;
};
/* The classes that count as unserved in so many seconds (classes_unserved in kvfall-results(7)): how many,
 * and "class batch", "classes batch and offline"; "" where there are none. `asks_on`: nobody waits for
 * answers. */
enum { STANDING_UNSERVED = 288 };
size_t standing_unserved(const struct standing_class *of, const char *const *name, uint32_t classes,
                         double length_s, bool asks_on, char out[STANDING_UNSERVED]);
/* The same of a run, from its results. */
size_t standing_run_unserved(const struct run_record *r, char out[STANDING_UNSERVED]);
bool standing_run_class_unserved(const struct run_record *r, uint32_t class);
/* Whether the copies to slower tiers that it left to be made are so large a part of those begun. */
bool standing_run_copies(const struct result_list *results);
/* The ways in which a run counts work that began before its measured part, as bits: where requests do not
 * wait for answers more was done than arrived, or none arrived; most requests of run.max_requests were done;
 * so large a part of its tokens is work of that time, and less was left at its end in return. */
enum { STANDING_EARLY_ARRIVED = 1, STANDING_EARLY_DONE = 2, STANDING_EARLY_TOKENS = 4 };
#define STANDING_CARRIED  0.2 /* the measured part is shorter than two and a half requests */
#define STANDING_RETURNED 0.1 /* so much less of the time in service was left than had been spent before */
unsigned standing_run_early(const struct result_list *results);
/* Whether so large a part of the rows of its file could not be replayed: what they ask for is missing. */
#define STANDING_ROWS 0.05
bool standing_run_rows(const struct result_list *results);
/* Beside work undone, why the figures of a run are not those of its load: the first that holds. Copies count
 * as work undone does. */
enum standing_flaw {
    STANDING_FLAWLESS,
    STANDING_FLAW_ROWS,
    STANDING_FLAW_WARMUP,
    STANDING_FLAW_CUT,
    STANDING_FLAW_EARLY,
    STANDING_FLAW_COPIES,
    STANDING_FLAW_EXHAUSTED,
    STANDING_FLAW_BEHIND,
    STANDING_FLAWS
};
/* Whether it is of all figures: a run that did not serve what arrived has a throughput to compare. */
bool standing_flaw_hides(enum standing_flaw flaw);
enum standing_flaw standing_run_flaw(const struct result_list *results);
/* "it did not serve what arrived"; "" where there is none. Static. */
const char *standing_flaw_text(enum standing_flaw flaw);
/* The metrics that it reads. */
extern const char *const standing_flaw_metrics[];
extern const size_t standing_flaw_metric_count;
/* Whether a run can be best: nothing undone, and no flaw. */
bool standing_comparable(const double undone[STANDING_UNDONE], enum standing_flaw flaw);
/* Why it cannot: "3 requests failed", "it ended amid most of its work", or both, "; " between; "" where it
 * can. */
const char *standing_why(const double undone[STANDING_UNDONE], enum standing_flaw flaw,
                         char out[STANDING_TEXT]);
/* The same from the results of a run. */
const char *standing_run_why(const struct result_list *results, char out[STANDING_TEXT]);
/* standing_undone() of one run. */
const char *standing_run_undone(const struct run_record *r, char out[STANDING_TEXT]);

#endif
