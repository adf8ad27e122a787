/* Shared by the tests of the screen's memory: intervals, and a series to look at. */
#ifndef KVF_TESTS_HISTORY_FIXTURE_H
#define KVF_TESTS_HISTORY_FIXTURE_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "ui/panel/history.h"

#define MISSING   ((double)NAN)
#define COUNT(of) (sizeof of / sizeof *(of))

enum { POINTS_MAX = 2000 };

static float got[POINTS_MAX];

/* An interval that ends at t_s and knows nothing else yet. */
static inline struct snapshot *interval(double t_s, double length_s) {
    static struct snapshot s;

    memset(&s, 0, sizeof s);
    for (size_t i = 0; i < snapshot_interval_field_count; i++) {
        const struct snapshot_field *f = &snapshot_interval_fields[i];
        double missing = MISSING;

        if (f->type == SNAPSHOT_F) memcpy((char *)&s.interval + f->offset, &missing, sizeof missing);
    }
    s.interval.t_s = t_s;
    s.interval.length_s = length_s;
    return &s;
}

static inline void series(const struct history *h, int s, enum zoom z, double end_s, size_t points) {
    assert_true(points < POINTS_MAX);
    for (size_t i = 0; i <= points; i++) got[i] = -77;
    history_series(h, s, z, end_s, points, got);
    assert_true(got[points] == -77); /* no more than was asked for */
}

/* Run time of the newest interval; 0: none. */
static inline double history_newest(const struct history *h) {
    double from, to;
    history_span(h, ZOOM_MINUTE, MISSING, &from, &to);
    return to;
}

static inline void assert_near(double is, double want, const char *what, size_t at) {
    if (isnan(want) ? !isnan(is) : !(fabs(is - want) <= 1e-5 * fmax(1, fabs(want))))
        fail_msg("%s at %zu is %g, not %g", what, at, is, want);
}

#endif
