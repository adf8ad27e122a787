#include "metrics/bisect.h"

#include <math.h>

void bisect_init(struct bisect *b, double low, double high, double precision, bool whole) {
    *b = (struct bisect){.low = low, .high = high, .precision = precision, .whole = whole};
}

/* Values such as people write: multiples of a power of two that is small beside the precision. */
static double rounded(const struct bisect *b, double v) {
    double grain = exp2(floor(log2(b->precision * v / 4)));
    return grain >= 1 ? round(v / grain) * grain : round(v);
}

static double middle(const struct bisect *b) {
    double v = b->low > 0 ? sqrt(b->low * b->high) : (b->low + b->high) / 2;
    if (!b->whole) return v;
    double r = rounded(b, v);
    return r > b->low && r < b->high ? r : floor(v);
}

static bool near_enough(const struct bisect *b) {
    double gap = b->high - b->low, v = middle(b);
    return gap <= b->precision * fabs(b->high) || (b->whole && gap <= 1) || !(v > b->low && v < b->high);
}

bool bisect_next(const struct bisect *b, double *value) {
    if (b->state != BISECT_GOES_ON) return false;
    *value = !b->low_known ? b->low : !b->high_known ? b->high : middle(b);
    return true;
}

void bisect_tell(struct bisect *b, bool met) {
    double value;
    if (!bisect_next(b, &value)) return;
    if (!b->low_known) {
        b->low_known = true;
        if (met) {
            b->high = value;
            b->state = BISECT_AT_LOW;
        }
        return;
    }
    if (!b->high_known) {
        b->high_known = true;
        if (!met) b->state = BISECT_NOT_MET;
    } else if (met) {
        b->high = value;
    } else {
        b->low = value;
    }
    if (b->state == BISECT_GOES_ON && near_enough(b)) b->state = BISECT_FOUND;
}
