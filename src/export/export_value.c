#include <inttypes.h>
#include <math.h>
#include <stddef.h>

#include "base/units.h"
#include "export/export.h"
#include "record/run.h"

/* Most of a large export is counts and times, so they do not go through printf. */
void export_add_count(uint64_t v, struct buf *out) {
    char digits[24], *p = digits + sizeof digits;
    do *--p = (char)('0' + v % 10);
    while (v /= 10);
    buf_bytes(out, p, (size_t)(digits + sizeof digits - p));
}

/* Nanoseconds as milliseconds or seconds: at most nine decimals, fifteen digits in all. The
 * quotient is rounded as a reader rounds the decimal, so that it reads back as the same number. */
static bool add_decimal(double v, struct buf *out) {
    enum { DECIMALS = 9 };
    if (!(v > 0 && v < 1e6)) return false;
    uint64_t scaled = (uint64_t)llround(v * 1e9), whole = scaled / 1000000000, rest = scaled % 1000000000;
    if ((double)scaled / 1e9 != v) return false;
    char text[DECIMALS + 1] = ".";
    size_t len = DECIMALS + 1;
    for (int i = DECIMALS; i > 0; i--, rest /= 10) text[i] = (char)('0' + rest % 10);
    while (text[len - 1] == '0') len--;
    export_add_count(whole, out);
    buf_bytes(out, text, len);
    return true;
}

bool export_add_real(double v, struct buf *out) {
    enum { EXACT_BITS = 53 }; /* whole numbers below 2^53 are exact in a double */
    if (!isfinite(v)) return false;
    if (v == floor(v) && v >= 0 && v < (double)(UINT64_C(1) << EXACT_BITS)) {
        export_add_count((uint64_t)v, out);
    } else if (!add_decimal(v, out)) {
        char text[UNITS_REAL];
        units_format_real(v, text);
        buf_add(out, text);
    }
    return true;
}

static bool is_interval_field(const struct snapshot_field *f, size_t offset) {
    return f >= snapshot_interval_fields && f < snapshot_interval_fields + snapshot_interval_field_count &&
           f->offset == offset;
}

bool export_field_is_moment(const struct snapshot_field *f) {
    return is_interval_field(f, offsetof(struct snapshot_interval, at));
}

const char *export_field_word(const void *part, const struct snapshot_field *f) {
    if (!is_interval_field(f, offsetof(struct snapshot_interval, phase))) return NULL;
    return run_phase_name((enum kvf_run_phase)((const struct snapshot_interval *)part)->phase);
}

bool export_add_field(const void *part, const struct snapshot_field *f, struct buf *out) {
    const void *at = (const char *)part + f->offset;
    if (f->type == SNAPSHOT_F) return export_add_real(*(const double *)at, out);
    export_add_count(*(const uint64_t *)at, out);
    return true;
}
