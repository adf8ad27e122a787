#include "draw/number.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* One unit of a ladder. */
struct rung {
    const char *name;
    double scale; /* in the unit that comes in; 0 is told in the one of scale 1 */
    double limit; /* in this unit: from here on the next one is used, of the last none is left */
    bool whole;   /* whole numbers stand without decimals */
};

struct ladder {
    const struct rung *rungs;
    int count;
    int width;
    int decimals;           /* at most */
    const char *gap, *tail; /* before and behind the unit */
};

static const struct rung byte_rungs[] = {
    {"B", 1, 1023.5, true},        {"KiB", 0x1p10, 999.5, false}, {"MiB", 0x1p20, 999.5, false},
    {"GiB", 0x1p30, 999.5, false}, {"TiB", 0x1p40, 999.5, false}, {"PiB", 0x1p50, 999.5, false},
    {"EiB", 0x1p60, 999.5, false},
};
static const struct rung short_rungs[] = {
    {"B", 1, 999.5, true},      {"K", 0x1p10, 999.5, true}, {"M", 0x1p20, 999.5, true},
    {"G", 0x1p30, 999.5, true}, {"T", 0x1p40, 999.5, true}, {"P", 0x1p50, 999.5, true},
    {"E", 0x1p60, 999.5, true},
};
static const struct rung count_rungs[] = {
    {"", 1, 999.5, true},      {"k", 1e3, 999.5, false},  {"M", 1e6, 999.5, false},  {"G", 1e9, 999.5, false},
    {"T", 1e12, 999.5, false}, {"P", 1e15, 999.5, false}, {"E", 1e18, 999.5, false},
};
/* Seconds reach to ten minutes: 95 s is read more easily than 1.58 m. */
static const struct rung ms_rungs[] = {
    {"ns", 1e-6, 999.5, false}, {"us", 1e-3, 999.5, false}, {"ms", 1, 999.5, false},
    {"s", 1e3, 599.5, false},   {"m", 6e4, 99.5, true},     {"h", 3.6e6, 999.5, true},
};
#define RUNGS(list) list, (int)(sizeof list / sizeof list[0])

static char *padded(int width, const char *text, char *out) {
    (void)snprintf(out, NUMBER, "%*.*s", width, NUMBER - 1, text);
    return out;
}

/* Three significant digits of v >= 0 in at most `room` columns. */
static void digits(double v, int decimals, int room, char *out, size_t len) {
    int d = v < 9.995 ? 2 : v < 99.95 ? 1 : 0;
    if (d > decimals) d = decimals;
    while (snprintf(out, len, "%.*f", d, v) > room && d > 0) d--;
}

static char *ladder_text(double v, const struct ladder *l, char *out) {
    char figure[NUMBER], text[2 * NUMBER];
    int i = 0;

    if (!isfinite(v)) return padded(l->width, "--", out);
    double size = fabs(v);
    while (i < l->count - 1 &&
           (size > 0 ? size / l->rungs[i].scale >= l->rungs[i].limit : l->rungs[i].scale < 1))
        i++;
    const struct rung *r = &l->rungs[i];
    double shown = size / r->scale;
    if (shown >= r->limit) {
        (void)snprintf(figure, sizeof figure, "%s", v < 0 ? "<-99" : ">999");
    } else {
        int room = l->width - (int)(strlen(l->gap) + strlen(r->name) + strlen(l->tail)) - (v < 0);
        bool whole = shown == floor(shown) && (r->whole || shown == 0);
        digits(shown, whole ? 0 : l->decimals, room, figure + 1, sizeof figure - 1);
        figure[0] = '-';
        bool minus = v < 0 && strpbrk(figure, "123456789");
        if (!minus) memmove(figure, figure + 1, sizeof figure - 1);
    }
    (void)snprintf(text, sizeof text, "%s%s%s%s", figure, l->gap, r->name, l->tail);
    return padded(l->width, text, out);
}

char *number_bytes(double bytes, char *out) {
    static const struct ladder l = {RUNGS(byte_rungs), NUMBER_BYTES, 2, " ", ""};
    return ladder_text(bytes, &l, out);
}

char *number_rate(double bytes_per_s, char *out) {
    static const struct ladder l = {RUNGS(byte_rungs), NUMBER_RATE, 2, " ", "/s"};
    return ladder_text(bytes_per_s, &l, out);
}

char *number_ms(double ms, char *out) {
    static const struct ladder l = {RUNGS(ms_rungs), NUMBER_MS, 2, " ", ""};
    return ladder_text(ms, &l, out);
}

char *number_count(double count, char *out) {
    static const struct ladder l = {RUNGS(count_rungs), NUMBER_COUNT, 2, "", ""};
    return ladder_text(count, &l, out);
}

char *number_percent(double ratio, char *out) {
    char text[NUMBER];
    double v = ratio * 100;

    if (!isfinite(v)) return padded(NUMBER_PERCENT, "--", out);
    if (v >= 99999.5)
        (void)snprintf(text, sizeof text, ">9999 %%");
    else if (v <= -9999.5)
        (void)snprintf(text, sizeof text, "<-999 %%");
    else if (v >= 999.95 || v <= -99.95)
        (void)snprintf(text, sizeof text, "%.0f %%", v);
    else
        (void)snprintf(text, sizeof text, "%.1f %%", fabs(v) < 0.05 ? 0.0 : v);
    return padded(NUMBER_PERCENT, text, out);
}

char *number_short(double bytes, char *out) {
    static const struct ladder l = {RUNGS(short_rungs), NUMBER_SHORT, 2, "", ""};
    return ladder_text(bytes, &l, out);
}

char *number_clock(double s, char *out) {
    if (!isfinite(s)) return padded(0, "--:--", out);
    /* A sum of intervals that should be 42 s may lie a little below it. */
    double size = floor(fmin(fabs(s), 1e9) + 1e-3);
    int64_t whole = (int64_t)size;
    const char *minus = s < 0 && whole > 0 ? "-" : "";
    int sec = (int)(whole % 60), min = (int)(whole / 60 % 60);
    if (whole >= 3600)
        (void)snprintf(out, NUMBER, "%s%d:%02d:%02d", minus, (int)(whole / 3600), min, sec);
    else
        (void)snprintf(out, NUMBER, "%s%02d:%02d", minus, min, sec);
    return out;
}

char *number_plain(double v, char *out) {
    double size = fabs(v);

    if (!isfinite(v)) return padded(0, "--", out);
    if (size == 0)
        (void)snprintf(out, NUMBER, "0");
    else if (size >= 999999.5)
        (void)snprintf(out, NUMBER, "%.3g", v);
    else
        (void)snprintf(out, NUMBER, "%.*f", size < 9.995 ? 2 : size < 99.95 ? 1 : 0, size < 0.005 ? 0.0 : v);
    return out;
}
