/* The work of the requests that were done, in the mean of one. Where users wait for answers those of a slow
 * system ask less often, and a trace that is cut ends earlier: the requests done are others then, and their
 * latencies are not to be compared. Any thread. */
#ifndef KVF_METRICS_WORK_H
#define KVF_METRICS_WORK_H

#include <stdbool.h>
#include <stddef.h>

/* The metrics that it is made of, in the order of work_of(). */
enum { WORK_METRICS = 12 };
extern const char *const work_metric[WORK_METRICS];

/* Tokens of context and generated; lookups of what is reused, which are as many as the turns before, the
 * documents and the prompts; the part of those that retrieve which found a document; reads of the decode at
 * granularity request, which workload.phase and workload.decode may skip while the tokens count. NaN: not
 * known. */
enum work_part { WORK_CONTEXT, WORK_GENERATED, WORK_LOOKUPS, WORK_FOUND, WORK_DECODE, WORK_PARTS };
struct work {
    double requests, retrieving;
    double lookups_off; /* lookups and reads of requests open at an end are counted too: their part at most */
    double part[WORK_PARTS];
};

/* NaN: missing. */
struct work work_of(const double value[WORK_METRICS]);
/* Whether the requests of `a` were smaller than those of `b` in any part: by more than 5 % and by more than
 * chance, at 99 %. Sizes are taken to scatter as an exponential distribution does. Lookups and reads tell
 * only where they are counted `alike`, in entries of the same size, and reads where no fewer tokens generated
 * explain them. */
bool work_smaller(const struct work *a, const struct work *b, bool alike);
/* How many times the requests of `b` were those of `a`, of which some part was smaller: of these parts the
 * most. Reads of the decode count together with the lookups. INFINITY: `a` had none. */
double work_times(const struct work *a, const struct work *b, bool alike);
/* Whether `a` skipped reads of the decode: its tokens, context and generated, count as those of `b`. */
bool work_skips(const struct work *a, const struct work *b, bool alike);
/* Whether a key of the scenario asks for other requests, and does not merely skip a part of each. */
bool work_asked(const char *key);
/* "smaller", or "other" where in some part those of `b` were the smaller ones. */
const char *work_word(const struct work *a, const struct work *b, bool alike);
/* The parts that differ: "299 tokens of context in the mean against 432". "" where none does. */
enum { WORK_TEXT = 300 };
const char *work_text(const struct work *a, const struct work *b, bool alike, char out[WORK_TEXT]);

#endif
