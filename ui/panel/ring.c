#include "ui/panel/ring.h"

#include <math.h>
#include <string.h>

enum { CALM_INTERVALS = 10 };
#define FLOAT_SLACK 1e-6 /* what a float may be off by when it is compared with a round number */

static size_t ring_at(const struct ring *r, size_t i) {
    i += r->first;
    return i < HISTORY_SLOTS ? i : i - HISTORY_SLOTS;
}

static void cell_join(struct ring_cell *a, enum ring_join join, struct ring_cell b) {
    if (isnan(b.value)) return;
    if (isnan(a->value)) {
        *a = b;
        return;
    }
    a->weight += b.weight;
    switch (join) {
    case JOIN_MEAN:
        a->value += (b.value - a->value) * (b.weight / a->weight);
        break;
    case JOIN_MAX:
        a->value = fmaxf(a->value, b.value);
        break;
    case JOIN_LAST:
        a->value = b.value;
        break;
    }
}

static void heat_join(uint32_t *a, const uint32_t *b, size_t n) {
    for (size_t i = 0; i < n; i++) a[i] = b[i] > UINT32_MAX - a[i] ? UINT32_MAX : a[i] + b[i];
}

/* Where axes end, x 10^n. */
static const double ladder[] = {1, 1.5, 2, 3, 4, 5, 6, 8, 10};
enum { LADDER = sizeof ladder / sizeof ladder[0] };

/* The lowest of them that is not below v > 0. */
static double round_up(double v) {
    double base = pow(10, floor(log10(v)));
    int i = 0;

    while (i < LADDER - 1 && v * (1 - FLOAT_SLACK) > ladder[i] * base) i++;
    return ladder[i] * base;
}

/* The one before a round number. */
static double round_below(double top) {
    double base = pow(10, floor(log10(top * (1 - FLOAT_SLACK))));
    int i = LADDER - 1;

    while (i > 0 && ladder[i] * base > top * (1 - FLOAT_SLACK)) i--;
    return ladder[i] * base;
}

/* Nothing but zeros still needs an axis. */
static double top_over(double peak) {
    return isnan(peak) ? 0 : peak > 0 ? round_up(peak) : 1;
}

static void axis_set(struct ring_axis *a, double top) {
    a->top = top;
    a->calm = 0;
    a->calm_at = round_below(top) / 2;
}

static void axis_update(struct ring_axis *a) {
    double peak = (double)a->peak;

    if (isnan(peak)) {
        a->top = 0;
    } else if (a->top <= 0 || peak * (1 - FLOAT_SLACK) > a->top) {
        axis_set(a, top_over(peak));
    } else if (!(peak < a->calm_at)) {
        a->calm = 0;
    } else if (++a->calm >= CALM_INTERVALS) {
        axis_set(a, fmin(a->top, top_over(peak)));
    }
}

/* The largest value of some slots; `enough` is known to be the most there can be, and ends the search:
 * values that never change cost nothing. */
static float ring_peak(const struct ring *r, int series, size_t i, size_t end, float enough) {
    float peak = NAN;

    for (; i < end && !(peak >= enough); i++) {
        float v = r->cell[series][ring_at(r, i)].value;

        if (!(v <= peak) && !isnan(v)) peak = v;
    }
    return peak;
}

/* The oldest slot of the span leaves it. */
static void ring_hide(struct ring *r) {
    size_t at = ring_at(r, r->hidden++);

    for (int s = 0; s < SERIES_NUMBER; s++)
        if (r->cell[s][at].value >= r->axis[s].peak) r->axis[s].stale = true;
}

static void ring_drop(struct ring *r) {
    if (r->hidden == 0) ring_hide(r);
    r->first = ring_at(r, 1);
    r->count--;
    r->hidden--;
    r->lost = true;
}

/* Doubles slot_s and joins what then lies in the same stretch. Such a ring never drops: its first slot
 * is at 0. */
static void ring_double(struct ring *r) {
    uint16_t to[HISTORY_SLOTS];
    size_t kept = 0;

    r->slot_s *= 2;
    for (size_t i = 0; i < r->count; i++) {
        struct ring_slot slot = r->slot[i];

        slot.place >>= 1;
        if (kept && r->slot[kept - 1].place == slot.place) {
            r->slot[kept - 1].to_s = slot.to_s;
            heat_join(r->heat[kept - 1][0], r->heat[i][0], SNAPSHOT_HEATS * SNAPSHOT_HEAT_BINS);
        } else {
            if (kept < i) memcpy(r->heat[kept], r->heat[i], sizeof r->heat[i]);
            r->slot[kept++] = slot;
        }
        to[i] = (uint16_t)(kept - 1);
    }
    for (int s = 0; s < SERIES_NUMBER; s++) {
        for (size_t i = 0; i < r->count; i++) {
            struct ring_cell cell = r->cell[s][i];

            if (i > 0 && to[i] == to[i - 1])
                cell_join(&r->cell[s][to[i]], r->joins[s], cell);
            else
                r->cell[s][to[i]] = cell;
        }
        r->axis[s].stale = true;
    }
    r->count = kept;
}

/* The slot for an interval: the last one or a new and empty one. */
static size_t ring_slot_for(struct ring *r, double from_s, double to_s) {
    double middle = from_s + (to_s - from_s) / 2;
    int64_t place = (int64_t)floor(middle / r->slot_s);
    size_t at;

    while (r->count == HISTORY_SLOTS && r->slot[ring_at(r, r->count - 1)].place != place) {
        if (r->span_s > 0)
            ring_drop(r);
        else
            ring_double(r);
        place = (int64_t)floor(middle / r->slot_s);
    }
    if (r->count && r->slot[ring_at(r, r->count - 1)].place == place) {
        at = ring_at(r, r->count - 1);
        r->slot[at].to_s = to_s;
        return at;
    }
    at = ring_at(r, r->count++);
    r->slot[at] = (struct ring_slot){from_s, to_s, place};
    memset(r->heat[at], 0, sizeof r->heat[at]);
    for (int s = 0; s < SERIES_NUMBER; s++) r->cell[s][at] = (struct ring_cell){NAN, 0};
    return at;
}

/* Finds the slots that speak for the part from a to b. *cursor, which only rises from part to part, is
 * the first one; *ended of them end in the part, each slot in one part alone. Returns whether the one
 * after those begins in the part or before it. */
static bool part_find(const struct ring *r, double a, double b, size_t *cursor, size_t *ended) {
    double slack = (b - a) * 1e-6;
    size_t i = *cursor;

    while (i < r->count && r->slot[ring_at(r, i)].to_s <= a + slack) i++;
    *cursor = i;
    while (i < r->count && r->slot[ring_at(r, i)].to_s <= b + slack) i++;
    *ended = i - *cursor;
    return i < r->count && r->slot[ring_at(r, i)].from_s < b - slack;
}

/* A cell with the weight of what of its slot lies between a and b; never none, whatever is rounded. */
static struct ring_cell cell_between(const struct ring *r, int series, size_t at, double a, double b) {
    const struct ring_slot *slot = &r->slot[at];
    struct ring_cell cell = r->cell[series][at];
    /* no fmin() or fmax(): they are calls, and there are thousands of cells in a picture */
    double from_s = a > slot->from_s ? a : slot->from_s, to_s = b < slot->to_s ? b : slot->to_s;
    double share = (to_s - from_s) / (slot->to_s - slot->from_s);
    cell.weight *= share > 1e-9 ? (float)share : 1e-9F;
    return cell;
}

void ring_init(struct ring *r, double slot_s, double span_s, const uint8_t *joins) {
    r->slot_s = slot_s;
    r->span_s = span_s;
    r->joins = joins;
    for (int s = 0; s < SERIES_NUMBER; s++) r->axis[s].peak = NAN;
}

void ring_add(struct ring *r, double from_s, double to_s, const float *values,
              const uint32_t heat[][SNAPSHOT_HEAT_BINS]) {
    size_t at;

    while (r->span_s > 0 && r->hidden < r->count && r->slot[ring_at(r, r->hidden)].to_s <= to_s - r->span_s)
        ring_hide(r);
    at = ring_slot_for(r, from_s, to_s);
    heat_join(r->heat[at][0], heat[0], SNAPSHOT_HEATS * SNAPSHOT_HEAT_BINS);
    for (int s = 0; s < SERIES_NUMBER; s++) {
        struct ring_cell *cell = &r->cell[s][at];
        struct ring_axis *axis = &r->axis[s];
        float before = cell->value;

        cell_join(cell, r->joins[s], (struct ring_cell){values[s], (float)(to_s - from_s)});
        if (axis->stale || (before >= axis->peak && cell->value < before))
            axis->peak = ring_peak(r, s, r->hidden, r->count, fmaxf(axis->peak, cell->value));
        else
            axis->peak = fmaxf(axis->peak, cell->value);
        axis->stale = false;
        axis_update(axis);
    }
}

bool ring_reaches(const struct ring *r, double from_s) {
    return !r->lost || r->slot[r->first].from_s <= from_s;
}

/* The first slot that ends after a moment: where part_find() may begin to look. */
static size_t slot_after(const struct ring *r, double t_s) {
    size_t low = 0, high = r->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (r->slot[ring_at(r, middle)].to_s <= t_s)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void ring_series(const struct ring *r, int series, double from_s, double to_s, size_t points, float *out) {
    enum ring_join join = r->joins[series];
    double step = (to_s - from_s) / (double)points;
    size_t cursor = slot_after(r, from_s), ended;

    for (size_t p = 0; p < points; p++) {
        double a = from_s + (double)p * step, b = a + step;
        struct ring_cell sum = {NAN, 0};
        bool over = part_find(r, a, b, &cursor, &ended);

        for (size_t i = 0; i < ended; i++)
            cell_join(&sum, join, cell_between(r, series, ring_at(r, cursor + i), a, b));
        if (over && (join == JOIN_MEAN || isnan(sum.value)))
            cell_join(&sum, join, cell_between(r, series, ring_at(r, cursor + ended), a, b));
        out[p] = sum.value;
    }
}

void ring_heat(const struct ring *r, int scope, double from_s, double to_s, size_t points, uint32_t *counts) {
    double step = (to_s - from_s) / (double)points;
    size_t cursor = slot_after(r, from_s), ended;

    for (size_t p = 0; p < points; p++, counts += SNAPSHOT_HEAT_BINS) {
        double a = from_s + (double)p * step;
        bool over = part_find(r, a, a + step, &cursor, &ended);

        for (size_t i = 0; i < ended + (over && ended == 0); i++)
            heat_join(counts, r->heat[ring_at(r, cursor + i)][scope], SNAPSHOT_HEAT_BINS);
    }
}

double ring_top(const struct ring *r, int series) {
    return r->axis[series].top;
}

double ring_top_of(const struct ring *r, int series, double from_s, double to_s) {
    size_t cursor = slot_after(r, from_s), ended;
    bool over = part_find(r, from_s, to_s, &cursor, &ended);

    return top_over((double)ring_peak(r, series, cursor, cursor + ended + over, INFINITY));
}
