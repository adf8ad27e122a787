#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "scenario/sweep_inside.h"

bool sweep_kind_counts(enum key_kind kind) {
    return kind == KEY_INTEGER || kind == KEY_SMALL || kind == KEY_NUMBER || kind == KEY_SIZE ||
           kind == KEY_DURATION || kind == KEY_RATE;
}

bool sweep_series_number(enum key_kind kind, const char *text, double *v) {
    uint64_t whole = 0;
    char *end;
    int bad = 0;

    if (kind == KEY_SIZE) {
        bad = units_parse_size(text, &whole);
    } else if (kind == KEY_DURATION) {
        bad = units_parse_duration(text, &whole);
    } else if (kind == KEY_RATE) {
        bad = units_parse_rate(text, &whole);
    } else {
        *v = strtod(text, &end);
        return *text && !*end && isfinite(*v);
    }
    *v = (double)whole;
    return !bad;
}

char *sweep_series_text(enum key_kind kind, double v, char out[SWEEP_VALUE]) {
    uint64_t whole = (uint64_t)llround(v);

    if (kind == KEY_SIZE) {
        units_size_exact(whole, out, SWEEP_VALUE);
    } else if (kind == KEY_DURATION) {
        if (whole > 0)
            units_duration_exact(whole, out, SWEEP_VALUE);
        else
            (void)snprintf(out, SWEEP_VALUE, "0s");
    } else if (kind == KEY_RATE) {
        char size[30];
        (void)snprintf(out, SWEEP_VALUE, "%s/s", units_size_exact(whole, size, sizeof size));
    } else if (kind == KEY_NUMBER) {
        (void)snprintf(out, SWEEP_VALUE, "%.6g", v);
    } else {
        (void)snprintf(out, SWEEP_VALUE, "%" PRIu64, whole);
    }
    return out;
}

double sweep_series_value(const struct series *s, size_t i) {
    if (i == 0 || s->points < 2) return s->from;
    if (i == s->points - 1) return s->to;
    double part = (double)i / (double)(s->points - 1);
    double v = s->log ? s->from * pow(s->to / s->from, part) : s->from + (s->to - s->from) * part;
    return s->grain > 0 ? round(v / s->grain) * s->grain : v;
}

/* The coarsest unit of which both ends are multiples and of which the smallest step has one, so that values
 * between are such as people write. 0: the step has not even one of the base unit. */
static double series_grain(const struct series *s) {
    static const double sizes[] = {1099511627776.0, 1073741824.0, 1048576.0, 1024.0, 1.0};
    static const double times[] = {3.6e12, 6e10, 1e9, 1e6, 1e3, 1.0};
    static const double rates[] = {1e12, 1e9, 1e6, 1e3, 1.0};
    static const double counts[] = {1.0};
    const double *grain = s->kind == KEY_SIZE       ? sizes
                          : s->kind == KEY_DURATION ? times
                          : s->kind == KEY_RATE     ? rates
                                                    : counts;
    double steps = (double)(s->points - 1);
    double low = fmin(s->from, s->to), high = fmax(s->from, s->to);
    double step = s->log ? low * (pow(high / low, 1 / steps) - 1) : (high - low) / steps;

    for (;; grain++) {
        if (fmod(s->from, *grain) == 0 && fmod(s->to, *grain) == 0 && step >= *grain) return *grain;
        if (*grain == 1.0) return 0;
    }
}

static bool end_read(struct loading *l, const char *name, enum key_kind kind, const struct node *n,
                     double *v) {
    char what[64];
    if (n->broken) return false;
    if (n->kind == NODE_SCALAR && sweep_series_number(kind, n->text, v)) return true;
    problem_at(l, n, name, "must be a %s, not %s", key_type(kind), node_describe(n, what, sizeof what));
    return false;
}

static bool points_read(struct loading *l, const char *name, const struct node *n, size_t *points) {
    double v;
    char what[64];
    bool good = n->kind == NODE_SCALAR && n->plain && sweep_series_number(KEY_INTEGER, n->text, &v) &&
                v == floor(v) && v >= 2 && v <= SWEEP_RANGE_MAX;
    if (good)
        *points = (size_t)v;
    else if (!n->broken)
        problem_at(l, n, name, "must be an integer from 2 to %d, not %s", (int)SWEEP_RANGE_MAX,
                   node_describe(n, what, sizeof what));
    return good;
}

static bool scale_read(struct loading *l, const char *name, const struct node *n, bool *log) {
    char what[64];
    *log = n->kind == NODE_SCALAR && strcmp(n->text, "log") == 0;
    if (*log || (n->kind == NODE_SCALAR && strcmp(n->text, "linear") == 0)) return true;
    if (!n->broken)
        problem_at(l, n, name, "must be linear or log, not %s", node_describe(n, what, sizeof what));
    return false;
}

static bool series_usable(struct loading *l, const char *name, const struct node *n, struct series *s) {
    if (s->log && !(s->from > 0 && s->to > 0))
        return problem_at(l, n, name, "a scale of log needs ends above 0");
    if (s->from == s->to) {
        problem_at(l, n, name, "from and to are the same; give a list of one value");
        return false;
    }
    s->grain = s->kind == KEY_NUMBER ? 0 : series_grain(s);
    if (s->kind != KEY_NUMBER && s->grain == 0) {
        problem_at(l, n, name, "%zu points do not fit between from and to without repeating one; take fewer",
                   s->points);
        return false;
    }
    return true;
}

bool sweep_series_read(struct loading *l, const char *name, enum key_kind kind, const struct node *n,
                       struct series *out) {
    static const char *const parts[] = {"from", "to", "points", "scale"};
    bool have[4] = {false}, good = true;

    *out = (struct series){.kind = kind};
    for (size_t i = 0; i + 1 < n->count; i += 2) {
        const struct node *key = n->items[i], *value = n->items[i + 1];
        char shown[200];
        size_t part = 0;
        while (part < 4 && (key->kind != NODE_SCALAR || strcmp(key->text, parts[part]) != 0)) part++;
        if (part == 4 || have[part]) {
            problem_at(l, key, name, "%s; a range has from, to, points and scale",
                       part == 4 ? "unknown key" : "a key given twice");
            good = false;
            continue;
        }
        have[part] = true;
        (void)snprintf(shown, sizeof shown, "%s.%s", name, parts[part]);
        bool fine = part == 0   ? end_read(l, shown, kind, value, &out->from)
                    : part == 1 ? end_read(l, shown, kind, value, &out->to)
                    : part == 2 ? points_read(l, shown, value, &out->points)
                                : scale_read(l, shown, value, &out->log);
        good = good && fine;
    }
    for (int part = 0; part < 3; part++) {
        if (have[part]) continue;
        problem_at(l, n, name, "%s is missing; a range is {from, to, points, scale}", parts[part]);
        good = false;
    }
    return good && series_usable(l, name, n, out);
}
