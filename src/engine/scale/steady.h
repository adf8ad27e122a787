/* Whether the measured part came to a steady state, since when, and what was measured in it. Pure
 * arithmetic over intervals; one thread's own.
 *
 * 1. Where the start-up ends: MSER-5 (White, "An effective truncation heuristic for bias reduction in
 *    simulation output", Simulation 69(6), 1997, with batches of five as in White, Cobb and Spratt, 2000).
 *    Of the means Y(0) .. Y(n-1) of batches of five intervals as many are left out at the front as make
 *    sum over i >= d of (Y(i) - mean of these)^2 / (n - d)^2 least; at most half of them.
 * 2. Whether the rest is steady: the criterion of SNIA's Solid State Storage Performance Test Specification
 *    for five rounds. The rest is cut into five rounds of equal length; their highest and lowest rate are no
 *    more than 20 % of their mean apart, and the line of least squares through them rises or falls by no
 *    more than 10 % of it from the first round to the last.
 * 3. If it is not, later beginnings are tried, batch by batch, up to the middle of the measured part.
 * 4. Whether the whole measured part drifts: the line of least squares through all its batches rises or falls
 * by more than 4 % of the mean from end to end, by Student's t at 99 %, and the steady part goes on with at
 * least half of that slope. A start-up bends the whole and leaves the rest level; a drift does not.
 *
 * 5. Whether a tier still fills: it filled by a tenth of its room or more in the measured part, or at that
 * rate in the part that is asked, and is full by its end, or before the measured time has passed again. One
 * that was full within the first tenth does not count. Until then the run measures a tier that lets nothing
 * fall, and those below it without what it will send them, however level its rates are. Of several the one
 * that is full last is told.
 *
 * 2 to 4 are asked of the tokens generated and, where nvme moves a tenth of all bytes or more, of the bytes
 * that it moves. A signal that is zero throughout is not asked. Memory is constant: when the cells are full,
 * neighbours are joined, and from then on a cell holds twice as many intervals. */
#ifndef KVF_ENGINE_SCALE_STEADY_H
#define KVF_ENGINE_SCALE_STEADY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/terms.h"

/* Fewer intervals than six batches of five say nothing. */
enum { STEADY_CELLS = 512, STEADY_BATCH = 5, STEADY_LEAST = 6 * STEADY_BATCH, STEADY_ROUNDS = 5 };
#define STEADY_RANGE_MOST 0.20
#define STEADY_SLOPE_MOST 0.10
#define STEADY_DRIFT_MOST 0.04
#define STEADY_NVME_LEAST 0.10
#define STEADY_FILL_LEAST 0.10
#define STEADY_FILL_EARLY 0.10 /* of the measured part: the other figures are hardly of it */
#define STEADY_FILL_FULL  0.98 /* the next entry may be larger than what is left */

struct steady_cell { /* an interval, or the sums of several */
    double length_s;
    double tokens;          /* generated */
    double nvme_tokens;     /* tokens' worth of KV that nvme has moved */
    double moved_tokens;    /* the same of all tiers */
    double used[KVF_TIERS]; /* part of a tier's room that is in use at its end; of several, the last one's */
    double fallen[KVF_TIERS]; /* entries that left it for want of room: evictions and demotions */
};
struct steady {
    struct steady_cell cell[STEADY_CELLS];
    size_t cells;
    uint64_t per_cell, filled;    /* intervals in a full cell; in the last one */
    double begin_s;               /* run time of the first interval's start */
    bool asked[KVF_TIERS];        /* whether the filling of a tier is asked */
    double begin_used[KVF_TIERS]; /* as in cells, when the first interval starts */
};
void steady_begin(struct steady *s, double at_s);
void steady_add(struct steady *s, const struct steady_cell *interval);

struct steady_trend {   /* relative to the mean rate; NaN: not asked */
    double slope;       /* of the line from the first round to the last */
    double range;       /* highest less lowest round */
    double early, late; /* tokens a second of the first and of the last two rounds */
    double drift; /* of the line through the whole measured part, from end to end, as far as it goes on; else
                     0 */
};
struct steady_fill {
    bool going;         /* it still filled */
    bool full;          /* entries fall out of it at the end, or it has no room left */
    enum kvf_tier tier; /* KVF_TIERS: none is asked */
    double from, to;    /* part of its room in use at both ends of the measured part */
    double full_s;      /* run time at which it was full, or will be at the rate of the last half */
    double end_s;       /* run time of its end */
};
struct steady_result {
    bool known; /* there was enough to tell */
    bool reached;
    double from_s, length_s; /* run time and length of the steady part; if there is none, of the last half */
    double tokens_per_s, nvme_tokens_per_s; /* in it */
    struct steady_trend throughput, nvme;
    bool filling;            /* a tier still filled in that part */
    struct steady_fill fill; /* of the whole measured part; of that tier, where none filled in the whole */
};
/* Of the whole measured part, however few its intervals. */
void steady_filled(const struct steady *s, struct steady_fill *out);
/* "cpu filled from 16 % to 100 % in the measured part", or "... to 60 % in the measured part, and would be
 * full 4.0 m later". */
enum { STEADY_FILL_TEXT = 110 };
const char *steady_fill_words(const struct steady_fill *f, char out[STEADY_FILL_TEXT]);
void steady_judge(const struct steady *s, struct steady_result *out);

/* "from 12.0 s on, for 48.0 s: 12.4k tok/s, nvme 98.1k tok/s, slope +0.8 %", "not reached: throughput fell by
 * 31 % of its mean over the last 30.0 s", beyond its mean "... fell from 812
 * to 12.3 tok/s, from the first to the last two fifths of the last 30.0 s", "... by 12 % of its mean over the
 * whole measured part", or the words of the fill; "" when not known. */
void steady_sentence(const struct steady_result *r, char *out, size_t len);

#endif
