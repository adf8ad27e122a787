#include "engine/limits/breakeven.h"

#include <math.h>

#include "base/units.h"
#include "record/metric.h"

/* So many standard errors of its slope a line must rise: where loads wait for each other their size hardly
 * shows, and a line that is flat by chance would load the largest contexts in no time. */
#define SURE 3

/* us and KiB. */
struct line {
    double a, b;
};

static struct line line_of(const struct counters *d, int tier) {
    double n = (double)counters_get(&d->loads[tier]), x = (double)counters_get(&d->load_kib[tier]);
    double xx = (double)counters_get(&d->load_kib_kib[tier]), y = (double)counters_get(&d->load_us[tier]);
    double xy = (double)counters_get(&d->load_kib_us[tier]), spread = n * xx - x * x;
    struct line l = {.b = spread > 0 ? (n * xy - x * y) / spread : 0};
    double yy = (double)counters_get(&d->load_us_us[tier]);
    double off =
        fmax(n * yy - y * y - l.b * (n * xy - x * y), 0); /* squares of what is off the line, n times */
    l.a = (y - l.b * x) / n;
    if (l.b > 0 && l.a >= 0 && l.b * l.b * (n - 2) * spread > SURE * SURE * off) return l;
    return (struct line){0, x > 0 ? y / x : 0}; /* all of a size, or no line through them */
}

static double load_ns(const struct scenario *s, struct line l, uint64_t tokens) {
    double kib = (double)model_kv_bytes(&s->model, s->tensor_parallel, tokens) / (double)KVF_KIB;
    return (l.a + l.b * kib) * 1e3;
}

static bool loads_sooner(const struct scenario *s, const struct roofline *r, struct line l, uint64_t tokens) {
    return load_ns(s, l, tokens) <= (double)roofline_prefill_ns(r, tokens, 0);
}

/* Whether the tier's loads can be held against a prefill. */
static bool is_known(const struct scenario *s, const struct counters *d, enum kvf_tier tier,
                     struct roofline *r) {
    return s->tier[tier].on && counters_get(&d->loads[tier]) >= BREAKEVEN_LOADS &&
           scenario_roofline(s, r, NULL) == 0;
}

double breakeven_tokens(const struct scenario *s, const struct counters *d, enum kvf_tier tier) {
    struct roofline r;
    uint64_t low = BREAKEVEN_MOST;
    if (!is_known(s, d, tier, &r)) return KVF_MISSING;
    struct line l = line_of(d, (int)tier);
    if (!loads_sooner(s, &r, l, low)) return 0;
    /* from the top: a prefill of few tokens takes as long as reading all weights, and may be slower again */
    while (low > 0 && loads_sooner(s, &r, l, low)) low /= 2;
    uint64_t high = low > 0 ? 2 * low : 1;
    while (high - low > 1) {
        uint64_t mid = low + (high - low) / 2;
        *(loads_sooner(s, &r, l, mid) ? &high : &low) = mid;
    }
    return (double)high;
}

static void size_results(const struct scenario *s, const struct counters *d, const char *size,
                         uint64_t tokens, struct result_list *out) {
    double again = KVF_MISSING;
    struct roofline r;
    for (int t = 0; t < KVF_TIERS; t++) {
        bool known = is_known(s, d, (enum kvf_tier)t, &r);
        if (known) again = (double)roofline_prefill_ns(&r, tokens, 0) / 1e6;
        result_add(out, known ? load_ns(s, line_of(d, t), tokens) / 1e6 : KVF_MISSING,
                   counters_get(&d->loads[t]), "%s_load_%s_ms", tier_name((enum kvf_tier)t), size);
    }
    result_add(out, again, 0, "recompute_%s_ms", size);
}

void breakeven_results(const struct scenario *s, const struct counters *d, struct result_list *out) {
    for (int t = 0; t < KVF_TIERS; t++)
        result_add(out, breakeven_tokens(s, d, (enum kvf_tier)t), counters_get(&d->loads[t]),
                   "%s_break_even_tokens", tier_name((enum kvf_tier)t));
#define X(word, tokens) size_results(s, d, word, tokens, out);
    METRIC_SIZE_LIST(X)
#undef X
}
