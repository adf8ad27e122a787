#include "base/units.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

struct unit {
    const char *name;
    uint64_t scale;
};

/* Largest first: the exact forms take the first that divides. */
static const struct unit size_units[] = {
    {"TiB", KVF_TIB}, {"TB", UINT64_C(1000000000000)}, {"GiB", KVF_GIB}, {"GB", UINT64_C(1000000000)},
    {"MiB", KVF_MIB}, {"MB", UINT64_C(1000000)},       {"KiB", KVF_KIB}, {"KB", UINT64_C(1000)},
};
static const struct unit duration_units[] = {
    {"h", 3600 * KVF_NS_PER_S}, {"m", 60 * KVF_NS_PER_S}, {"s", KVF_NS_PER_S},
    {"ms", KVF_NS_PER_MS},      {"us", KVF_NS_PER_US},    {"ns", 1},
};
enum {
    SIZE_UNITS = sizeof size_units / sizeof size_units[0],
    DURATION_UNITS = sizeof duration_units / sizeof duration_units[0],
    FRACTION_DIGITS = 18, /* 10^18 x the largest unit stays far inside 128 bits */
};

struct decimal {
    uint64_t whole;
    uint64_t fraction; /* of 10^FRACTION_DIGITS; digits beyond are below any unit's resolution */
};

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/* Reads digits[.digits]; returns what follows, or NULL when there is no such number. */
static const char *decimal_parse(const char *p, struct decimal *d) {
    *d = (struct decimal){0};
    if (!is_digit(*p)) return NULL;
    for (; is_digit(*p); p++) {
        uint64_t digit = (uint64_t)(*p - '0');
        if (d->whole > (UINT64_MAX - digit) / 10) return NULL;
        d->whole = d->whole * 10 + digit;
    }
    if (*p != '.') return p;
    p++;
    if (!is_digit(*p)) return NULL;
    int digits = 0;
    for (; is_digit(*p); p++) {
        if (digits == FRACTION_DIGITS) continue;
        d->fraction = d->fraction * 10 + (uint64_t)(*p - '0');
        digits++;
    }
    for (; digits < FRACTION_DIGITS; digits++) d->fraction *= 10;
    return p;
}

/* d x scale to the nearest whole; -1 when it overflows or cuts a unit that cannot be cut. */
static int decimal_scale(const struct decimal *d, uint64_t scale, uint64_t *out) {
    const uint64_t one = UINT64_C(1000000000000000000);
    if (scale == 1 && d->fraction) return -1;
    unsigned __int128 v = (unsigned __int128)d->whole * scale;
    v += ((unsigned __int128)d->fraction * scale + one / 2) / one;
    if (v > UINT64_MAX) return -1;
    *out = (uint64_t)v;
    return 0;
}

static int parse(const char *text, const struct unit *units, int count, bool bare, uint64_t *out) {
    struct decimal d;
    const char *name = decimal_parse(text, &d);
    if (!name) return -1;
    if (!*name) {
        if (!bare && (d.whole || d.fraction)) return -1;
        return decimal_scale(&d, 1, out);
    }
    for (int i = 0; i < count; i++)
        if (strcmp(name, units[i].name) == 0) return decimal_scale(&d, units[i].scale, out);
    return -1;
}

int units_parse_size(const char *text, uint64_t *bytes) {
    return parse(text, size_units, SIZE_UNITS, true, bytes);
}

int units_parse_rate(const char *text, uint64_t *bytes_per_s) {
    char size[40];
    size_t len = strlen(text);
    if (len < 3 || len > sizeof size || strcmp(text + len - 2, "/s") != 0) return -1;
    (void)snprintf(size, sizeof size, "%.*s", (int)(len - 2), text);
    return units_parse_size(size, bytes_per_s);
}

int units_parse_duration(const char *text, uint64_t *ns) {
    return parse(text, duration_units, DURATION_UNITS, false, ns);
}

int units_parse_age(const char *text, uint64_t *ns) {
    static const uint64_t day_ns = UINT64_C(86400) * 1000000000;
    size_t digits = strspn(text, "0123456789");
    const char *unit = text + digits;
    uint64_t days = strcmp(unit, "d") == 0 ? 1 : strcmp(unit, "w") == 0 ? 7 : 0;
    if (days == 0) return units_parse_duration(text, ns);
    if (digits == 0 || digits > 9) return -1;
    return __builtin_mul_overflow(strtoull(text, NULL, 10), days * day_ns, ns) ? -1 : 0;
}

static char *exact(uint64_t v, const struct unit *units, int count, char *buf, size_t len) {
    int i = 0;
    while (i < count && (v == 0 || v % units[i].scale != 0)) i++;
    if (i < count)
        (void)snprintf(buf, len, "%" PRIu64 "%s", v / units[i].scale, units[i].name);
    else
        (void)snprintf(buf, len, "%" PRIu64, v);
    return buf;
}

char *units_size_exact(uint64_t bytes, char *buf, size_t len) {
    return exact(bytes, size_units, SIZE_UNITS, buf, len);
}

char *units_duration_exact(uint64_t ns, char *buf, size_t len) {
    return exact(ns, duration_units, DURATION_UNITS, buf, len);
}

/* Three significant digits of 0 <= v; whole numbers under 1000 of an uncut unit as they are. */
static void three_digits(double v, bool uncut, char *buf, size_t len) {
    if (uncut && v < 1000 && v == floor(v))
        (void)snprintf(buf, len, "%.0f", v);
    else if (v < 0.9995)
        (void)snprintf(buf, len, "%.3g", v);
    else
        (void)snprintf(buf, len, "%.*f", v < 9.995 ? 2 : v < 99.95 ? 1 : 0, v);
}

/* One step of a ladder of units: the name, and how many of it make one of the next. */
struct rung {
    const char *name;
    double next;
    double limit; /* from here on the next unit is used */
};

static char *ladder(double v, const struct rung *rungs, const char *space, char *buf, size_t len) {
    char digits[32];
    bool minus = v < 0;
    int i = 0;

    if (!isfinite(v)) {
        (void)snprintf(buf, len, "--");
        return buf;
    }
    v = fabs(v);
    for (; rungs[i].next > 0 && v >= rungs[i].limit; i++) v /= rungs[i].next;
    three_digits(v, i == 0, digits, sizeof digits);
    (void)snprintf(buf, len, "%s%s%s%s", minus ? "-" : "", digits, space, rungs[i].name);
    return buf;
}

char *units_size_human(double bytes, char *buf, size_t len) {
    static const struct rung rungs[] = {{"B", 1024, 1023.5},  {"KiB", 1024, 999.5}, {"MiB", 1024, 999.5},
                                        {"GiB", 1024, 999.5}, {"TiB", 1024, 999.5}, {"PiB", 0, 0}};
    return ladder(bytes, rungs, " ", buf, len);
}

char *units_duration_human(double ns, char *buf, size_t len) {
    static const struct rung rungs[] = {{"ns", 1000, 999.5}, {"us", 1000, 999.5}, {"ms", 1000, 999.5},
                                        {"s", 60, 999.5},    {"min", 60, 99.95},  {"h", 0, 0}};
    return ladder(ns, rungs, " ", buf, len);
}

char *units_count_human(double count, char *buf, size_t len) {
    static const struct rung rungs[] = {{"", 1000, 999.5},  {"k", 1000, 999.5}, {"M", 1000, 999.5},
                                        {"G", 1000, 999.5}, {"T", 1000, 999.5}, {"P", 1000, 999.5},
                                        {"E", 0, 0}};
    return ladder(count, rungs, "", buf, len);
}

char *units_clock(uint64_t ns, char *buf, size_t len) {
    uint64_t s = ns / KVF_NS_PER_S;
    if (s >= 3600)
        (void)snprintf(buf, len, "%02" PRIu64 ":%02" PRIu64 ":%02" PRIu64, s / 3600, s / 60 % 60, s % 60);
    else
        (void)snprintf(buf, len, "%02" PRIu64 ":%02" PRIu64, s / 60, s % 60);
    return buf;
}

bool units_is_unit(const char *text) {
    static const char *const names[] = {"%",   "pp",  "ns",  "us",  "ms",  "s",     "min",   "h",    "B",
                                        "KiB", "MiB", "GiB", "TiB", "PiB", "MiB/s", "GiB/s", "tok/s"};
    size_t len = strcspn(text, " ");
    while (len > 0 && strchr(",.;:)", text[len - 1])) len--;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strlen(names[i]) == len && strncmp(text, names[i], len) == 0) return true;
    return false;
}

void units_format_real(double v, char out[UNITS_REAL]) {
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(out, UNITS_REAL, "%.*g", digits, v);
        if (strtod(out, NULL) == v) break;
    }
}
