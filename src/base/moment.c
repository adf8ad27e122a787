#include "base/moment.h"

#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>

/* The end of the year 9999: ISO 8601 has four digits, and no integer type is left for what is far beyond. */
static const double end_s = 253402300800.0;

static bool is_moment(double epoch_s) {
    return epoch_s > 0 && epoch_s < end_s; /* NaN is neither */
}

bool moment_utc(double epoch_s, struct tm *out) {
    if (!is_moment(epoch_s)) return false;
    time_t whole = (time_t)epoch_s;
    return gmtime_r(&whole, out) != NULL;
}

void moment_local_text(double epoch_s, char out[MOMENT_TEXT]) {
    time_t whole = is_moment(epoch_s) ? (time_t)epoch_s : 0;
    struct tm tm;
    if (!is_moment(epoch_s) || !localtime_r(&whole, &tm) ||
        !strftime(out, MOMENT_TEXT, "%Y-%m-%d %H:%M", &tm))
        snprintf(out, MOMENT_TEXT, "--");
}

void moment_utc_text(double epoch_s, char out[MOMENT_TEXT]) {
    struct tm tm;
    if (!moment_utc(epoch_s, &tm) || !strftime(out, MOMENT_TEXT, "%Y-%m-%d %H:%M:%S UTC", &tm))
        snprintf(out, MOMENT_TEXT, "--");
}

bool moment_iso(double epoch_s, int decimals, char out[MOMENT_TEXT]) {
    struct tm tm;
    int64_t parts = 1;
    out[0] = '\0';
    if (!is_moment(epoch_s)) return false;
    for (int i = 0; i < decimals; i++) parts *= 10;
    /* rounded first, so that .9996 s of 3 decimals carries into the seconds */
    int64_t rounded = decimals ? llround(epoch_s * (double)parts) : (int64_t)epoch_s;
    if (!moment_utc((double)(rounded / parts), &tm)) return false;
    size_t len = strftime(out, MOMENT_TEXT, "%Y-%m-%dT%H:%M:%S", &tm);
    if (decimals)
        snprintf(out + len, MOMENT_TEXT - len, ".%0*" PRId64 "Z", decimals, rounded % parts);
    else
        snprintf(out + len, MOMENT_TEXT - len, "Z");
    return true;
}
