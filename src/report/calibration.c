#include "report/calibration.h"

#include <math.h>
#include <stdio.h>

#include "base/units.h"
#include "base/utf8.h"

enum { LATENCY_SHOWN = 32 };

static const char *rate_text(double bytes_s, char *out, size_t len) {
    snprintf(out, len, "%.0fMB/s", fmax(1, round(bytes_s / 1e6)));
    return out;
}

/* Three digits of ns, us or ms. */
static const char *latency_text(double ns, char out[LATENCY_SHOWN]) {
    const char *unit = ns < 999.5 ? "ns" : ns < 999.5e3 ? "us" : "ms";
    double v = ns < 999.5 ? ns : ns < 999.5e3 ? ns / 1e3 : ns / 1e6;
    snprintf(out, LATENCY_SHOWN, "%.*f%s", v < 9.995 ? 2 : v < 99.95 ? 1 : 0, v, unit);
    return out;
}

void calibration_yaml(enum kvf_tier tier, const struct calibrate_result *r, struct buf *out) {
    char read[32], write[32], latency[LATENCY_SHOWN], size[32], about[200];
    snprintf(about, sizeof about, "%s", r->description);
    utf8_clean(about);
    buf_addf(out, "  %s: # %s; measured over %s\n", tier_name(tier), about,
             units_size_human((double)r->filled_bytes, size, sizeof size));
    if (r->link_read_bytes_s != r->read_bytes_s)
        buf_add(out, "    # peaks of device memory itself; the others are of copies to and from the host\n");
    buf_addf(out, "    peak_read: %s\n    peak_write: %s\n", rate_text(r->read_bytes_s, read, sizeof read),
             rate_text(r->write_bytes_s, write, sizeof write));
    buf_addf(out, "    read_bandwidth: %s\n    write_bandwidth: %s\n    latency: %s\n",
             rate_text(r->link_read_bytes_s, read, sizeof read),
             rate_text(r->link_write_bytes_s, write, sizeof write), latency_text(r->latency_ns, latency));
}
