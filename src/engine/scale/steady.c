#include "engine/scale/steady.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "metrics/statistics.h"

/* ---- intervals ---- */

static void add_to(struct steady_cell *sum, const struct steady_cell *c) {
    sum->length_s += c->length_s;
    sum->tokens += c->tokens;
    sum->nvme_tokens += c->nvme_tokens;
    sum->moved_tokens += c->moved_tokens;
    for (int t = 0; t < KVF_TIERS; t++) sum->used[t] = c->used[t], sum->fallen[t] += c->fallen[t];
}

void steady_begin(struct steady *s, double at_s) {
    memset(s, 0, sizeof *s);
    s->per_cell = 1;
    s->begin_s = at_s;
}

static void join_neighbours(struct steady *s) {
    for (size_t i = 0; i < STEADY_CELLS / 2; i++) {
        s->cell[i] = s->cell[2 * i];
        add_to(&s->cell[i], &s->cell[2 * i + 1]);
    }
    s->cells = STEADY_CELLS / 2;
    s->per_cell *= 2;
}

void steady_add(struct steady *s, const struct steady_cell *interval) {
    if (s->cells > 0 && s->filled < s->per_cell) {
        add_to(&s->cell[s->cells - 1], interval);
        s->filled++;
        return;
    }
    if (s->cells == STEADY_CELLS) join_neighbours(s);
    s->cell[s->cells++] = *interval;
    s->filled = 1;
}

static struct steady_cell sum_of(const struct steady *s, size_t from, size_t to) {
    struct steady_cell sum = {0};
    for (size_t i = from; i < to; i++) add_to(&sum, &s->cell[i]);
    return sum;
}

/* ---- the two signals ---- */

typedef double signal_fn(const struct steady_cell *c);

static double throughput_of(const struct steady_cell *c) {
    return c->length_s > 0 ? c->tokens / c->length_s : 0;
}

static double nvme_of(const struct steady_cell *c) {
    return c->length_s > 0 ? c->nvme_tokens / c->length_s : 0;
}

/* The signal that says when the start-up is over: tokens, or nvme's where none are generated. NULL:
 * nothing has happened that could be steady. */
static signal_fn *leading_signal(const struct steady *s) {
    struct steady_cell all = sum_of(s, 0, s->cells);
    return all.tokens > 0 ? throughput_of : all.nvme_tokens > 0 ? nvme_of : NULL;
}

/* ---- 1: the end of the start-up ---- */

/* A remainder that does not fill a batch belongs to the last one. */
static double batch_rate(const struct steady *s, signal_fn *signal, size_t batch, size_t batches) {
    size_t from = batch * STEADY_BATCH, to = batch + 1 < batches ? from + STEADY_BATCH : s->cells;
    struct steady_cell sum = sum_of(s, from, to);
    return signal(&sum);
}

static size_t batches_to_leave_out(const struct steady *s, signal_fn *signal, size_t batches) {
    double least = INFINITY;
    size_t best = 0;
    for (size_t d = 0; d <= batches / 2; d++) {
        double sum = 0, squares = 0, n = (double)(batches - d);
        for (size_t i = d; i < batches; i++) sum += batch_rate(s, signal, i, batches);
        for (size_t i = d; i < batches; i++) {
            double off = batch_rate(s, signal, i, batches) - sum / n;
            squares += off * off;
        }
        if (squares / (n * n) >= least) continue;
        least = squares / (n * n);
        best = d;
    }
    return best;
}

/* ---- 2: whether the rest is steady ---- */

static const struct steady_trend not_asked = {.slope = (double)NAN, .range = (double)NAN};

static struct steady_trend trend_of(const struct steady *s, signal_fn *signal, size_t from) {
    double rate[STEADY_ROUNDS], sum = 0, low = INFINITY, high = -INFINITY, product = 0, squares = 0;
    size_t cells = s->cells - from;
    for (size_t k = 0; k < STEADY_ROUNDS; k++) {
        struct steady_cell round =
            sum_of(s, from + cells * k / STEADY_ROUNDS, from + cells * (k + 1) / STEADY_ROUNDS);
        double x = (double)k - (STEADY_ROUNDS - 1) / 2.0;
        rate[k] = signal(&round);
        sum += rate[k];
        low = fmin(low, rate[k]);
        high = fmax(high, rate[k]);
        product += x * rate[k];
        squares += x * x;
    }
    double mean = sum / STEADY_ROUNDS;
    if (!(mean > 0)) return not_asked;
    return (struct steady_trend){.slope = product / squares * (STEADY_ROUNDS - 1) / mean,
                                 .range = (high - low) / mean,
                                 .early = (rate[0] + rate[1]) / 2,
                                 .late = (rate[STEADY_ROUNDS - 2] + rate[STEADY_ROUNDS - 1]) / 2};
}

static bool holds(const struct steady_trend *t) {
    return isnan(t->slope) ||
           (fabs(t->slope) <= STEADY_SLOPE_MOST && t->range <= STEADY_RANGE_MOST && t->drift == 0);
}

/* ---- 4: whether the whole drifts ---- */

struct line {
    double slope; /* of the mean per batch */
    bool certain; /* by Student's t at 99 % */
};

static struct line line_of(const struct steady *s, signal_fn *signal, size_t from, size_t batches) {
    double n = (double)(batches - from), middle = (n - 1) / 2, mean = 0, product = 0, squares = 0, rest = 0;
    for (size_t i = from; i < batches; i++) mean += batch_rate(s, signal, i, batches) / n;
    for (size_t i = from; i < batches; i++) {
        double x = (double)(i - from) - middle;
        product += x * (batch_rate(s, signal, i, batches) - mean);
        squares += x * x;
    }
    for (size_t i = from; i < batches; i++) {
        double x = (double)(i - from) - middle;
        double off = batch_rate(s, signal, i, batches) - mean - product / squares * x;
        rest += off * off;
    }
    if (n < 3 || !(mean > 0)) return (struct line){0, false};
    double slope = product / squares, error = sqrt(rest / (n - 2) / squares);
    return (struct line){slope / mean, fabs(slope) > statistics_student_t(0.99, (uint64_t)n - 2) * error};
}

static double drift_of(const struct steady *s, signal_fn *signal, size_t from_batch) {
    size_t batches = s->cells / STEADY_BATCH;
    struct line whole = line_of(s, signal, 0, batches), rest = line_of(s, signal, from_batch, batches);
    double drift = whole.slope * (double)(batches - 1);
    bool goes_on = rest.slope * whole.slope > 0 && fabs(rest.slope) > fabs(whole.slope) / 2;
    return whole.certain && goes_on && fabs(drift) > STEADY_DRIFT_MOST ? drift : 0;
}

/* ---- 5: whether a tier still fills ---- */

static double used_before(const struct steady *s, int tier, size_t cell) {
    return cell > 0 ? s->cell[cell - 1].used[tier] : s->begin_used[tier];
}

/* When it had as much as at the end, but for what an entry more or less makes, and entries fell out of it, if
 * they did: of the first of several they do sooner, and of a single one with room for no more entry later. */
static double full_since(const struct steady *s, int tier, double to) {
    bool falls = sum_of(s, 0, s->cells).fallen[tier] > 0, fallen = false, level = false;
    double at_s = s->begin_s;
    for (size_t i = 0; i < s->cells && !(level && fallen >= falls); i++) {
        at_s += s->cell[i].length_s;
        level = level || s->cell[i].used[tier] >= to * STEADY_FILL_FULL;
        fallen = fallen || s->cell[i].fallen[tier] > 0;
    }
    return at_s;
}

/* One that was full has no room left for long, however much an entry that falls out of it leaves. */
static bool full_before(const struct steady *s, int tier, size_t cell) {
    bool full = s->begin_used[tier] >= STEADY_FILL_FULL;
    for (size_t i = 0; i < cell && !full; i++)
        full = s->cell[i].fallen[tier] > 0 || s->cell[i].used[tier] >= STEADY_FILL_FULL;
    return full;
}

/* The rate that tells what comes next is that of the last half: what will never be full slows down. */
static struct steady_fill fill_of(const struct steady *s, int tier, size_t from) {
    size_t middle = from + (s->cells - from) / 2;
    struct steady_cell all = sum_of(s, 0, s->cells), part = sum_of(s, from, s->cells),
                       half = sum_of(s, middle, s->cells);
    struct steady_fill f = {.tier = (enum kvf_tier)tier,
                            .from = used_before(s, tier, from),
                            .to = part.used[tier],
                            .end_s = s->begin_s + all.length_s};
    if (!(part.length_s > 0) || !(half.length_s > 0)) return f;
    f.full = part.fallen[tier] > 0 || f.to >= STEADY_FILL_FULL;
    double grown = (f.to - f.from) / part.length_s * all.length_s;
    double rate = (f.to - used_before(s, tier, middle)) / half.length_s;
    bool soon = rate * all.length_s >= STEADY_FILL_LEAST && f.to + rate * all.length_s >= 1;
    f.full_s = f.full ? full_since(s, tier, f.to) : f.end_s + (1 - f.to) / rate;
    bool early = f.full_s - s->begin_s <= STEADY_FILL_EARLY * all.length_s;
    f.going = grown >= STEADY_FILL_LEAST && !full_before(s, tier, from) && (f.full ? !early : soon);
    return f;
}

/* The tier that is full last, of those that fill. */
static struct steady_fill fill_from(const struct steady *s, size_t from) {
    struct steady_fill last = {.tier = KVF_TIERS};
    for (int t = 0; t < KVF_TIERS; t++) {
        if (!s->asked[t]) continue;
        struct steady_fill f = fill_of(s, t, from);
        if (f.going && (!last.going || f.full_s >= last.full_s)) last = f;
    }
    return last;
}

void steady_filled(const struct steady *s, struct steady_fill *out) {
    *out = fill_from(s, 0);
}

/* Fills `out` for the part from that cell on. */
static void judge_from(const struct steady *s, size_t from, struct steady_result *out) {
    struct steady_cell rest = sum_of(s, from, s->cells), before = sum_of(s, 0, from);
    bool nvme = rest.nvme_tokens > 0 && rest.nvme_tokens >= STEADY_NVME_LEAST * rest.moved_tokens;
    out->throughput = trend_of(s, throughput_of, from);
    out->throughput.drift = drift_of(s, throughput_of, from / STEADY_BATCH);
    out->nvme = not_asked;
    if (nvme) out->nvme = trend_of(s, nvme_of, from);
    if (nvme) out->nvme.drift = drift_of(s, nvme_of, from / STEADY_BATCH);
    out->from_s = s->begin_s + before.length_s;
    out->length_s = rest.length_s;
    out->tokens_per_s = throughput_of(&rest);
    out->nvme_tokens_per_s = nvme_of(&rest);
    out->known = !isnan(out->throughput.slope) || !isnan(out->nvme.slope);
    struct steady_fill fill = fill_from(s, from);
    out->filling = fill.going;
    if (fill.going && !out->fill.going) out->fill = fill_of(s, (int)fill.tier, 0);
    out->reached = out->known && holds(&out->throughput) && holds(&out->nvme) && !out->filling;
}

void steady_judge(const struct steady *s, struct steady_result *out) {
    size_t batches = s->cells / STEADY_BATCH;
    signal_fn *signal = leading_signal(s);
    *out = (struct steady_result){0};
    steady_filled(s, &out->fill);
    if (s->cells < STEADY_LEAST || !signal) return;
    for (size_t d = batches_to_leave_out(s, signal, batches); d <= batches / 2 && !out->reached; d++)
        judge_from(s, d * STEADY_BATCH, out);
}

/* ---- words ---- */

/* A line this steep ends near zero or below it: the rates are told instead, which then go the same way. */
#define STEEP 1.0

static void say_trend(const char *what, const struct steady_trend *t, double length_s, char *out,
                      size_t len) {
    char last[24], early[24], late[24];
    units_duration_human(length_s * 1e9, last, sizeof last);
    if (fabs(t->slope) > STEEP)
        snprintf(
            out, len,
            "not reached: %s %s from %s to %s tok/s, from the first to the last two fifths of the last %s",
            what, t->slope < 0 ? "fell" : "rose", units_count_human(t->early, early, sizeof early),
            units_count_human(t->late, late, sizeof late), last);
    else if (fabs(t->slope) > STEADY_SLOPE_MOST)
        snprintf(out, len, "not reached: %s %s by %.0f %% of its mean over the last %s", what,
                 t->slope < 0 ? "fell" : "rose", fabs(t->slope) * 100, last);
    else if (t->drift != 0)
        snprintf(out, len, "not reached: %s %s by %.0f %% of its mean over the whole measured part", what,
                 t->drift < 0 ? "fell" : "rose", fabs(t->drift) * 100);
    else
        snprintf(out, len, "not reached: %s varied by %.0f %% of its mean over the last %s", what,
                 t->range * 100, last);
}

const char *steady_fill_words(const struct steady_fill *f, char out[STEADY_FILL_TEXT]) {
    char more[24];
    int used = snprintf(out, STEADY_FILL_TEXT, "%s filled from %.0f %% to %.0f %% in the measured part",
                        tier_name(f->tier), 100 * f->from, 100 * f->to);
    if (!f->full)
        snprintf(out + used, STEADY_FILL_TEXT - (size_t)used, ", and would be full %s later",
                 units_duration_human((f->full_s - f->end_s) * 1e9, more, sizeof more));
    return out;
}

void steady_sentence(const struct steady_result *r, char *out, size_t len) {
    char from[24], length[24], tokens[24], nvme[24];
    out[0] = '\0';
    if (!r->known) return;
    if (r->filling) {
        char words[STEADY_FILL_TEXT];
        snprintf(out, len, "not reached: %s", steady_fill_words(&r->fill, words));
        return;
    }
    if (!r->reached) {
        bool traffic = holds(&r->throughput);
        say_trend(traffic ? "nvme traffic" : "throughput", traffic ? &r->nvme : &r->throughput, r->length_s,
                  out, len);
        return;
    }
    units_duration_human(r->from_s * 1e9, from, sizeof from);
    units_duration_human(r->length_s * 1e9, length, sizeof length);
    units_count_human(r->tokens_per_s, tokens, sizeof tokens);
    units_count_human(r->nvme_tokens_per_s, nvme, sizeof nvme);
    int used = snprintf(out, len, "from %s on, for %s: %s tok/s", from, length, tokens);
    if (!isnan(r->nvme.slope) && used > 0 && (size_t)used < len)
        used += snprintf(out + used, len - (size_t)used, ", nvme %s tok/s", nvme);
    double slope = isnan(r->throughput.slope) ? r->nvme.slope : r->throughput.slope;
    if (used > 0 && (size_t)used < len)
        snprintf(out + used, len - (size_t)used, fabs(slope) < 5e-4 ? ", slope 0.0 %%" : ", slope %+.1f %%",
                 slope * 100);
}
