#include "engine/limits/breakeven.h"

#include <math.h>

#include "base/units.h"
#include "record/metric.h"

/* So many standard errors of its slope a line must rise: where loads wait for each other their size hardly
 * shows, and a line that is flat by chance would load the largest contexts in no time. */
#define SURE 3

/* us and KiB; and the bytes of the loads that it is of, to the next powers of two: it says nothing of others.
 */
struct line {
    double a, b;
    uint64_t least, most;
};

/* The bounds of the loads' sizes. */
static void sizes_of(const struct counters *d, int tier, struct line *l) {
    for (int i = 0; i < COUNTERS_LOAD_SIZES; i++) {
        if (counters_get(&d->load_sizes[tier][i]) == 0) continue;
        if (l->most == 0) l->least = i > 0 ? KVF_KIB << (i - 1) : 0;
        l->most = KVF_KIB << i;
    }
}

static struct line line_of(const struct counters *d, int tier) {
    double n = (double)counters_get(&d->loads[tier]), x = (double)counters_get(&d->load_kib[tier]);
    double xx = (double)counters_get(&d->load_kib_kib[tier]), y = (double)counters_get(&d->load_us[tier]);
    double xy = (double)counters_get(&d->load_kib_us[tier]), spread = n * xx - x * x;
    struct line l = {.b = spread > 0 ? (n * xy - x * y) / spread : 0};
    double yy = (double)counters_get(&d->load_us_us[tier]);
    double off =
        fmax(n * yy - y * y - l.b * (n * xy - x * y), 0); /* squares of what is off the line, n times */
    l.a = (y - l.b * x) / n;
    if (!(l.b > 0 && l.a >= 0 && l.b * l.b * (n - 2) * spread > SURE * SURE * off))
        l = (struct line){0, x > 0 ? y / x : 0, 0, 0}; /* all of a size, or no line through them */
    sizes_of(d, tier, &l);
    return l;
}

static uint64_t bytes_of(const struct scenario *s, uint64_t tokens) {
    return model_kv_bytes(&s->model, s->tensor_parallel, tokens);
}

static double load_ns(const struct scenario *s, const struct line *l, uint64_t tokens) {
    return (l->a + l->b * (double)bytes_of(s, tokens) / (double)KVF_KIB) * 1e3;
}

static bool loads_sooner(const struct scenario *s, const struct roofline *r, const struct line *l,
                         uint64_t tokens) {
    return load_ns(s, l, tokens) <= (double)roofline_prefill_ns(r, tokens, 0);
}

/* The shortest context of so many bytes or more; BREAKEVEN_MOST + 1: there is none. */
static uint64_t tokens_with(const struct scenario *s, uint64_t bytes) {
    uint64_t low = 0, high = BREAKEVEN_MOST + 1;
    while (high - low > 1) {
        uint64_t mid = low + (high - low) / 2;
        *(bytes_of(s, mid) >= bytes ? &high : &low) = mid;
    }
    return high;
}

/* Whether the tier's loads can be held against a prefill. */
static bool is_known(const struct scenario *s, const struct counters *d, enum kvf_tier tier,
                     struct roofline *r) {
    return s->tier[tier].on && counters_get(&d->loads[tier]) >= BREAKEVEN_LOADS &&
           scenario_roofline(s, r, NULL) == 0;
}

struct metric_break_even breakeven_of(const struct scenario *s, const struct counters *d,
                                      enum kvf_tier tier) {
    struct metric_break_even none = {KVF_MISSING, KVF_MISSING, KVF_MISSING};
    struct roofline r;
    if (!is_known(s, d, tier, &r)) return none;
    struct line l = line_of(d, (int)tier);
    uint64_t from = tokens_with(s, l.least), to = tokens_with(s, l.most + 1) - 1, low = to, high = 0;
    if (from > to) return none;
    /* from the top: a prefill of few tokens takes as long as reading all weights, and may be slower again */
    for (; low >= from && loads_sooner(s, &r, &l, low); low /= 2) high = low;
    if (low < from) low = from - 1;
    while (high > low + 1) {
        uint64_t mid = low + (high - low) / 2;
        *(loads_sooner(s, &r, &l, mid) ? &high : &low) = mid;
    }
    return (struct metric_break_even){(double)high, (double)from, (double)to};
}

static void size_results(const struct scenario *s, const struct counters *d, const char *size,
                         uint64_t tokens, struct result_list *out) {
    double again = KVF_MISSING;
    struct roofline r;
    for (int t = 0; t < KVF_TIERS; t++) {
        struct line l = line_of(d, t);
        bool known = is_known(s, d, (enum kvf_tier)t, &r) && bytes_of(s, tokens) >= l.least &&
                     bytes_of(s, tokens) <= l.most;
        if (known) again = (double)roofline_prefill_ns(&r, tokens, 0) / 1e6;
        result_add(out, known ? load_ns(s, &l, tokens) / 1e6 : KVF_MISSING, counters_get(&d->loads[t]),
                   "%s_load_%s_ms", tier_name((enum kvf_tier)t), size);
    }
    result_add(out, again, 0, "recompute_%s_ms", size);
}

void breakeven_results(const struct scenario *s, const struct counters *d, struct result_list *out) {
    for (int t = 0; t < KVF_TIERS; t++) {
        struct metric_break_even b = breakeven_of(s, d, (enum kvf_tier)t);
        const char *tier = tier_name((enum kvf_tier)t);
        uint64_t loads = counters_get(&d->loads[t]);
        result_add(out, b.tokens, loads, "%s_break_even_tokens", tier);
        result_add(out, b.from_tokens, loads, "%s_loads_from_tokens", tier);
        result_add(out, b.to_tokens, loads, "%s_loads_to_tokens", tier);
    }
#define X(word, tokens) size_results(s, d, word, tokens, out);
    METRIC_SIZE_LIST(X)
#undef X
}
