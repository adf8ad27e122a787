/* Search for the smallest value between two bounds that meets a condition, one trial at a time: both bounds,
 * then the middle of what is left, on a logarithmic scale where the lower bound is above 0. It assumes that a
 * condition met at one value is met above it; only the caller can see when that is not so. One thread. */
#ifndef KVF_METRICS_BISECT_H
#define KVF_METRICS_BISECT_H

#include <stdbool.h>

enum bisect_state {
    BISECT_GOES_ON,
    BISECT_AT_LOW,  /* met at the lower bound already: bisect.high */
    BISECT_NOT_MET, /* not even at the upper bound */
    BISECT_FOUND    /* met at bisect.high, not at bisect.low, which is near enough */
};
struct bisect {
    double low, high; /* not met at low (or not known), met at high (or not known) */
    double precision; /* near enough: high - low is at most this part of high */
    bool whole;       /* values are whole numbers */
    bool low_known, high_known;
    enum bisect_state state;
};

/* Begins a search; low < high. */
void bisect_init(struct bisect *b, double low, double high, double precision, bool whole);
/* The value to try next, the same until bisect_tell(); false when the search has ended. */
bool bisect_next(const struct bisect *b, double *value);
void bisect_tell(struct bisect *b, bool met); /* whether the value of bisect_next() meets the condition */

#endif
