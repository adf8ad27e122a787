/* The per-interval data from which windows of a stored run are rebuilt: sums behind verdicts, and histograms
 * without a database row of their own. Encoded sparsely in one blob, in a private format. One thread. */
#ifndef KVF_ENGINE_SAMPLING_KEPT_H
#define KVF_ENGINE_SAMPLING_KEPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/sampling/join.h"
#include "engine/sampling/window.h"
#include "metrics/counters.h"
#include "record/windows.h"

/* The coded form, malloc'd, *len bytes. */
uint8_t *kept_code(const struct window_sums *sums, const struct window_facts *facts,
                   const struct counters *counters, size_t *len);
/* The histogram of a record's scope among counters; scopes are enum record_scope. */
struct histogram *kept_scope(struct counters *counters, int scope);

/* Intervals that follow each other, put together. */
struct kept {
    bool whole; /* all of a run: the verdict names no time */
    struct join join;
    struct window_sums sums;
    struct window_facts facts; /* of the one that was added last */
    struct counters *counters; /* their histograms, and nothing else */
    struct histogram *decoded; /* the one in hand */
};
struct kept *kept_new(void);    /* empty; aborts when memory is exhausted */
void kept_free(struct kept *k); /* takes NULL */
void kept_clear(struct kept *k);
/* Adds the coded form of an interval, or takes it away (sign -1), and one of its other histograms likewise.
 * 0, or -1 where the bytes are not such a form. */
int kept_add(struct kept *k, const uint8_t *data, size_t len, int sign);
int kept_add_scope(struct kept *k, int scope, const uint8_t *data, size_t len, int sign);
/* Adds what another run has kept of the same time; facts are those of `from`. */
void kept_merge(struct kept *to, const struct kept *from);
/* The verdict of all that is in it and of that snapshot; of a whole `run`, whose results say how its load and
 * its targets stand, or of a part (NULL). */
void kept_judge(const struct kept *k, const struct snapshot *s, const struct run_record *run,
                struct verdict *out);
/* The view of all that is in it; `last` is the last interval. Remedies need the run itself: there are none.
 */
void kept_view(const struct kept *k, const struct snapshot *last, struct windows_view *out);

#endif
