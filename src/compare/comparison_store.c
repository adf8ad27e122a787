#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "compare/comparison_parts.h"
#include "record/metric.h"

/* The tier below memory that a side loads from: how fast that is, and what computing again takes instead. */

__attribute__((format(printf, 2, 3))) static double value(const struct comparison_input *i, const char *fmt,
                                                          ...) {
    char name[METRIC_NAME];
    const char *unit;
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(name, sizeof name, fmt, args);
    va_end(args);
    return comparison_value(i, name, &unit);
}

static double cpu_s_gib(const struct comparison_input *i) {
    double bytes = value(i, "total_read_bytes") + value(i, "total_write_bytes");
    double s = value(i, "cpu_user_s") + value(i, "cpu_sys_s");
    return bytes > 0 ? s * (double)KVF_GIB / bytes : KVF_MISSING;
}

void comparison_store(const struct comparison_input *i, struct comparison_store *out) {
    int t = KVF_TIER_REMOTE;
    out->read_gib_s = out->write_gib_s = out->read_p95_ms = out->cpu_s_gib = KVF_MISSING;
    out->break_even = (struct metric_break_even){KVF_MISSING, KVF_MISSING, KVF_MISSING};
    for (int s = 0; s < METRIC_SIZES; s++) {
        out->load_ms[s] = KVF_MISSING;
        out->again_ms[s] = value(i, "recompute_%s_ms", metric_sizes[s]);
    }
    while (t > KVF_TIER_CPU && !i->run->tier[t].on) t--;
    if (t <= KVF_TIER_CPU) return;
    const char *tier = tier_name((enum kvf_tier)t), *about = i->run->tier[t].description;
    (void)snprintf(out->name, sizeof out->name, "%s", tier);
    bool simulated = strncmp(about, "simulated", strlen("simulated")) == 0; /* its rates are all that it is */
    (void)snprintf(out->whole, sizeof out->whole, "%s", about);
    (void)snprintf(out->about, sizeof out->about, "%.*s", (int)strcspn(about, simulated ? "" : ","), about);
    out->read_gib_s = value(i, "%s_read_gib_s", tier);
    out->write_gib_s = value(i, "%s_write_gib_s", tier);
    out->read_p95_ms = value(i, "%s_read_p95_ms", tier);
    out->break_even = (struct metric_break_even){value(i, "%s_break_even_tokens", tier),
                                                 value(i, "%s_loads_from_tokens", tier),
                                                 value(i, "%s_loads_to_tokens", tier)};
    out->cpu_s_gib = cpu_s_gib(i);
    for (int s = 0; s < METRIC_SIZES; s++) out->load_ms[s] = value(i, "%s_load_%s_ms", tier, metric_sizes[s]);
}

bool comparison_stores_differ(const struct comparison *c) {
    bool loads = false, differ = false;
    for (size_t s = 0; s < c->sides; s++) {
        loads = loads || kvf_present(c->side[s].store.break_even.tokens);
        for (int i = 0; i < METRIC_SIZES; i++) loads = loads || kvf_present(c->side[s].store.load_ms[i]);
        differ = differ || strcmp(c->side[s].store.whole, c->side[0].store.whole) != 0;
    }
    return loads && differ;
}
