/* How a run, or all trials of a group, stand to their targets and criteria: one count, for every banner.
 * Any thread. */
#ifndef KVF_RECORD_STANDING_H
#define KVF_RECORD_STANDING_H

#include "record/trials.h"

/* Work that was asked for and not done, or not as the scenario asks: requests that failed or were dropped,
 * writes that did not get the place they waited for or were not admitted, copies that were not made. What is
 * left is less work, and its throughput is no measure of the whole. Writes and copies count only where no GPU
 * is modelled: one that is computes again what was not kept. */
enum { STANDING_UNDONE = 5 };
struct standing {
    size_t targets, missed;  /* of the classes' latencies, as far as they could be judged */
    size_t criteria, passed; /* no data is no pass */
    size_t trials;           /* that are counted together; 0: one run */
    double undone[STANDING_UNDONE];
};

/* Of the run alone, or of every trial where `t` has any. */
void standing_of(const struct run_record *r, const struct trials *t, struct standing *out);
/* Every target met, every criterion passed, nothing undone. */
bool standing_good(const struct standing *s);
/* The metric behind undone[i]; whether any is above 0; and "1,715 requests failed and 3 writes fell through",
 * "" where none is. */
const char *standing_undone_metric(size_t i);
/* How many of the kinds, the first ones, count for a run of which the measure `standing_computes` is known:
 * its modelled GPU computes again what was not kept. */
enum { STANDING_UNDONE_COMPUTED = 2 };
extern const char standing_computes[];
/* Index of a metric among them; STANDING_UNDONE: it is none. */
size_t standing_undone_find(const char *metric);
bool standing_comparable(const double undone[STANDING_UNDONE]);
const char *standing_undone(const double undone[STANDING_UNDONE], char *out, size_t len);
/* "2 of 6 targets missed, 4 of 4 criteria passed, throughput not comparable: 3 requests failed"; "" where
 * nothing is judged. */
enum { STANDING_TEXT = 320 };
const char *standing_text(const struct standing *s, char out[STANDING_TEXT]);
/* The counts of a run's results. */
void standing_count(const struct result_list *results, double undone[STANDING_UNDONE]);
/* The same counts as text, of the run alone. */
const char *standing_run_undone(const struct run_record *r, char out[STANDING_TEXT]);
/* The text of the run alone; whether it is good. */
bool standing_line(const struct run_record *r, char out[STANDING_TEXT]);

#endif
