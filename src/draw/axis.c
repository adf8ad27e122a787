#include "draw/axis.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"

struct rung { /* a unit that values are written in */
    const char *name;
    double size;
};

static bool is(const char *unit, const char *name) {
    return strcmp(unit, name) == 0;
}

/* The largest unit of which there is at least one at the upper end. */
static struct rung rung_choose(const char *unit, double high) {
    static const struct rung bytes[] = {{"B", 1},        {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30},
                                        {"TiB", 0x1p40}, {"PiB", 0x1p50}, {NULL, 0}};
    static const struct rung times[] = {{"ns", 1e-6}, {"us", 1e-3}, {"ms", 1}, {"s", 2e3}, {NULL, 0}};
    const struct rung *r = is(unit, "B") ? bytes : is(unit, "ms") ? times : NULL;
    if (is(unit, "%")) return (struct rung){"%", 0.01};
    if (!r) return (struct rung){unit, 1};
    while (r[1].name && high >= r[1].size) r++;
    return is(r->name, "s") ? (struct rung){"s", 1000} : *r; /* seconds only where there are two of them */
}

/* The smallest of 1, 2, 5 x 10^k that is at least v. */
static double nice(double v) {
    double power = pow(10, floor(log10(v)));
    static const double steps[] = {1, 2, 5, 10};
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++)
        if (v <= steps[i] * power * (1 + 1e-9)) return steps[i] * power;
    return 10 * power;
}

static double nice_seconds(double v) {
    static const double steps[] = {1,   2,   5,    10,   15,   30,    60,    120,   300,
                                   600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400};
    if (v <= 0.5) return nice(v);
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++)
        if (v <= steps[i]) return steps[i];
    return 86400 * nice(v / 86400);
}

static void clock_text(double s, char *out, size_t len) {
    bool negative = s < 0;
    double left = fabs(s);
    if (left < 10 && fabs(left - round(left)) > 0.05) {
        snprintf(out, len, "%.3g s", s);
        return;
    }
    uint64_t t = left < 1e12 ? (uint64_t)(left + 0.5) : 0;
    const char *sign = negative ? "-" : "";
    if (t >= 3600)
        snprintf(out, len, "%s%" PRIu64 ":%02" PRIu64 ":%02" PRIu64, sign, t / 3600, t / 60 % 60, t % 60);
    else
        snprintf(out, len, "%s%" PRIu64 ":%02" PRIu64, sign, t / 60, t % 60);
}

static void tick_add(struct axis *a, double v, const char *text) {
    if (a->ticks == AXIS_TICKS) return;
    snprintf(a->text[a->ticks], AXIS_TEXT, "%s", text);
    a->tick[a->ticks++] = v;
}

/* All with as many decimals as the step needs, and large counts with k, M, G behind them. */
static void linear_ticks(struct axis *a, const struct axis_wish *w, struct rung r, double step) {
    bool clock = is(w->unit, "clock");
    double biggest = fmax(fabs(a->low), fabs(a->high)) / r.size;
    static const char letters[] = " kMGTPE";
    size_t letter = 0;
    bool own = *r.name && !is(r.name, "tok/s") && !is(r.name, "1/s");
    bool large = !own && biggest >= 10000;
    for (; large && biggest >= 1000 && letters[letter + 1]; biggest /= 1000) letter++;
    double scale = pow(1000, (double)letter) * r.size;
    int decimals = (int)fmin(fmax(-floor(log10(step / scale) + 1e-9), 0), 9);
    double first = ceil(a->low / step - 1e-6);
    for (double k = first; k * step <= a->high + 1e-6 * step && a->ticks < AXIS_TICKS; k++) {
        char text[AXIS_TEXT];
        double v = k * step;
        if (clock)
            clock_text(v, text, sizeof text);
        else
            snprintf(text, sizeof text, "%.*f%.1s", letter && v == 0 ? 0 : decimals, v / scale + 0.0,
                     letter && v != 0 ? &letters[letter] : "");
        tick_add(a, v, text);
    }
    if (!clock) snprintf(a->unit, sizeof a->unit, "%s", r.name);
    a->unit_size = r.size;
}

/* "10.0 ms" as "10 ms": ticks are round. */
static void without_zeros(char *text) {
    char *point = strchr(text, '.'), *end = point ? point + 1 + strspn(point + 1, "0") : NULL;
    if (point && (*end < '1' || *end > '9')) memmove(point, end, strlen(end) + 1);
}

/* Powers of ten, and 2 and 5 times them while there are few. */
static void log_ticks(struct axis *a, const struct axis_wish *w) {
    double decades = log10(a->high / a->low);
    int first = (int)floor(log10(a->low) + 1e-9), last = (int)ceil(log10(a->high) - 1e-9);
    int every = 1;
    while ((double)(last - first) / every + 1 > (double)w->most) every++;
    for (int k = first; k <= last; k += every)
        for (int i = 0; i < 3; i++) {
            static const double times[] = {1, 2, 5};
            double v = times[i] * pow(10, k);
            if (i && (every > 1 || decades * 3 > (double)w->most)) break;
            if (v < a->low * (1 - 1e-9) || v > a->high * (1 + 1e-9)) continue;
            struct format_cell c = axis_value(v, w->unit);
            without_zeros(c.text);
            tick_add(a, v, c.text);
        }
}

static void quantile_ticks(struct axis *a) {
    static const struct {
        double v;
        const char *text;
    } marks[] = {{1, "P0"},       {2, "P50"},        {10, "P90"},         {100, "P99"},
                 {1000, "P99.9"}, {10000, "P99.99"}, {100000, "P99.999"}, {1e6, "P99.9999"}};
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++)
        if (marks[i].v >= a->low * (1 - 1e-9) && marks[i].v <= a->high * (1 + 1e-9))
            tick_add(a, marks[i].v, marks[i].text);
}

/* Ends lie away from those of what a double holds, where steps, quotients and powers of ten would be 0 or
 * infinite. */
static double plain_end(double v) {
    return isfinite(v) && fabs(v) < 1e300 && fabs(v) > 1e-300 ? v : 0;
}

static double log_end(double v) {
    return fmin(fmax(v, 1e-100), 1e100);
}

static void log_make(struct axis *a, const struct axis_wish *w) {
    a->high = a->high > 0 ? log_end(a->high) : 1;
    a->low = a->low > 0 ? log_end(a->low) : a->high / 1000;
    if (!w->exact) {
        a->low = pow(10, floor(log10(a->low) + 1e-9));
        a->high = pow(10, ceil(log10(a->high) - 1e-9));
    }
    if (!(a->high > a->low * (1 + 1e-9))) a->high = a->low * 10;
    if (is(w->unit, "P"))
        quantile_ticks(a);
    else
        log_ticks(a, w);
}

static void linear_make(struct axis *a, const struct axis_wish *w) {
    bool clock = is(w->unit, "clock");
    if (!w->exact) {
        a->low = fmin(a->low, 0);
        a->high = fmax(a->high, 0);
    }
    if (!(a->high > a->low)) a->high = a->low + fmax(is(w->unit, "B") ? 1024 : 1, fabs(a->low) / 1000);
    struct rung r = rung_choose(w->unit, fmax(fabs(a->low), fabs(a->high)));
    double least = (a->high - a->low) / (double)(w->most - 1);
    double step = clock ? nice_seconds(least) : nice(least / r.size) * r.size;
    if (!w->exact) {
        a->low = floor(a->low / step + 1e-9) * step;
        a->high = ceil(a->high / step - 1e-9) * step;
    }
    linear_ticks(a, w, r, step);
}

void axis_make(struct axis *a, const struct axis_wish *w) {
    struct axis_wish own = *w;
    memset(a, 0, sizeof *a);
    if (own.most < 2) own.most = 2;
    if (own.most > AXIS_TICKS) own.most = AXIS_TICKS;
    a->log = w->log;
    a->low = plain_end(w->low);
    a->high = plain_end(w->high);
    if (w->log)
        log_make(a, &own);
    else
        linear_make(a, &own);
}

double axis_part(const struct axis *a, double v) {
    if (isnan(v)) return v;
    if (a->log && !(v > 0)) return 0;
    double part = a->log ? log(v / a->low) / log(a->high / a->low) : (v - a->low) / (a->high - a->low);
    return fmin(fmax(part, 0), 1);
}

struct format_cell axis_value(double v, const char *unit) {
    struct format_cell c;
    if (!isfinite(v)) return format_ms(v);
    if (is(unit, "%")) return format_percent(v);
    if (is(unit, "clock"))
        clock_text(v, c.text, sizeof c.text);
    else if (is(unit, "P"))
        snprintf(c.text, sizeof c.text, "P%.6g", v >= 1 ? 100 * (1 - 1 / v) : 0.0);
    else
        return format_measure(v, unit, "");
    return c;
}

void axis_range(double low, double high, const char *unit, struct buf *out) {
    struct format_cell a = axis_value(low, unit), b = axis_value(high, unit);
    const char *one = strchr(a.text, ' '), *two = strchr(b.text, ' ');
    if (strcmp(a.text, b.text) == 0)
        buf_add(out, a.text);
    else if (one && two && strcmp(one, two) == 0)
        buf_addf(out, "%.*s to %s", (int)(one - a.text), a.text, b.text);
    else
        buf_addf(out, "%s to %s", a.text, b.text);
}
