/* Axes of charts: the range shown, the places of ticks and their texts. Ticks are at 1, 2 or 5 times a power
 * of ten of their unit (bytes: GiB, so powers of 1024 first; run time: seconds, minutes, hours), the numbers
 * that people would choose. Pure; any thread. */
#ifndef KVF_DRAW_AXIS_H
#define KVF_DRAW_AXIS_H

#include <stdbool.h>
#include <stddef.h>

#include "draw/format.h"

enum { AXIS_TICKS = 16, AXIS_TEXT = 40 };

struct axis {
    double low, high; /* ends, low < high; of a logarithmic one above 0 */
    bool log;
    size_t ticks;
    double tick[AXIS_TICKS]; /* ascending, inside the ends */
    char text[AXIS_TICKS][AXIS_TEXT];
    char unit[16];    /* of all texts, shown once beside them; "" when each has its own or there is none */
    double unit_size; /* of `unit`, in that of the values */
};

/* Units are those of the measures ("ms", "s", "B", "GiB/s", "tok/s", "1/s", "W", "" for counts), and besides
 *   "%"     shares: 0.5 is written as 50
 *   "clock" seconds of run time: "1:30"
 *   "P"     1 / (1 - q) of a quantile q, logarithmic: 100 is written as P99. */
struct axis_wish {
    double low, high; /* of the values; NaN or an empty range still gives an axis */
    const char *unit;
    bool log;
    bool exact;  /* ends at low and high; else at the ticks around them, and linear ones begin at 0 */
    size_t most; /* ticks, 2 to AXIS_TICKS */
};
void axis_make(struct axis *a, const struct axis_wish *w);
/* 0 at the low end to 1 at the high end; values beyond are held at the ends. NaN stays. */
double axis_part(const struct axis *a, double v);
/* A value with its unit, in three digits, for people: "12.4k tok/s", "42.0 ms", "97.2 %", "1:30". */
struct format_cell axis_value(double v, const char *unit);
/* "1.20 to 3.40 GiB/s"; one value where both read the same. */
void axis_range(double low, double high, const char *unit, struct buf *out);

#endif
