/* Search for the smallest value between two bounds that meets a condition, one trial at a time: both bounds,
 * then the middle of what is left, on a logarithmic scale where the lower bound is above 0. It believes that
 * what is met stays met above; whoever tells the answers sees when that is not so. */
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

/* low < high. */
void bisect_init(struct bisect *b, double low, double high, double precision, bool whole);
/* The value to try next; false when the search has ended. The same until bisect_tell(). */
bool bisect_next(const struct bisect *b, double *value);
void bisect_tell(struct bisect *b, bool met); /* of the value that bisect_next() gives */

#endif
