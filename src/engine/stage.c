#include "engine/stage.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "record/snapshot.h"

/* Figures of single intervals from which on their scatter says something. */
enum { SCATTER_LEAST = 5, RECENT = 3 };
#define SURE 3.0 /* standard errors */

/* ---- P95 ---- */

/* With those that failed above all others; infinite when the rank falls on one of them. */
static double p95_ms(const struct histogram *h, uint64_t failed) {
    uint64_t done = histogram_count(h);
    double rank = ceil(0.95 * (double)(done + failed) - 1e-9);
    if (done + failed == 0) return KVF_MISSING;
    if (rank > (double)done) return (double)INFINITY;
    return histogram_quantile(h, (rank - 0.5) / (double)done) / (double)KVF_NS_PER_MS;
}

static uint64_t ended(const struct stage_class *c) {
    return histogram_count(&c->latency) + c->failed;
}

static bool starved(const struct stage_class *c, double target_ms) {
    return ended(c) == 0 && c->oldest_wait_ms > target_ms;
}

/* P95 / target of the worst class in an interval; *own says whether the interval alone told it. */
static double targets_figure(const struct stage *s, const struct stage_rules *rules,
                             const struct stage_signals *in, bool *own) {
    double worst = KVF_MISSING;
    for (uint32_t k = 0; k < rules->classes; k++) {
        const struct stage_class_signals *i = &in->klass[k];
        const struct stage_class *c = &s->klass[k];
        double target = rules->target_ms[k], p95;
        bool alone = histogram_count(i->latency) + i->failed >= STAGE_FEW;
        if (!kvf_present(target)) continue;
        if (starved(c, target))
            p95 = c->oldest_wait_ms;
        else if (alone)
            p95 = p95_ms(i->latency, i->failed);
        else if (ended(c) >= STAGE_FEW)
            p95 = p95_ms(&c->latency, c->failed);
        else
            continue;
        if (kvf_present(worst) && p95 / target <= worst) continue;
        worst = p95 / target;
        *own = alone;
    }
    return worst;
}

/* ---- taking an interval ---- */

static void pool(struct stage *s, const struct stage_rules *rules, const struct stage_signals *in) {
    s->judged_s += in->length_s;
    s->intervals++;
    s->tokens += in->tokens;
    s->nvme_tokens += in->nvme_tokens;
    if (kvf_present(in->saturation)) {
        s->saturation_sum += in->saturation * in->length_s;
        s->saturation_s += in->length_s;
    }
    for (uint32_t k = 0; k < rules->classes; k++) {
        const struct stage_class_signals *i = &in->klass[k];
        struct stage_class *c = &s->klass[k];
        histogram_add(&c->latency, i->latency);
        c->failed += i->failed;
        c->oldest_wait_ms = i->waiting > 0 ? i->oldest_wait_ms : 0;
        c->busy = c->busy || ended(c) > 0 || i->waiting > 0 || i->in_service > 0;
        s->busy = s->busy || c->busy;
    }
}

static double figure_of(const struct stage *s, const struct stage_rules *rules,
                        const struct stage_signals *in, bool *own) {
    *own = true;
    switch (rules->figure) {
    case STAGE_TARGETS:
        return targets_figure(s, rules, in, own);
    case STAGE_SATURATION:
        return in->saturation / rules->limit_saturation;
    case STAGE_NVME:
        return in->nvme_tokens / in->length_s;
    case STAGE_TOKENS:
    default:
        return in->tokens / in->length_s;
    }
}

static void judge(struct stage *s, const struct stage_rules *rules, const struct stage_signals *in) {
    bool own;
    double figure = figure_of(s, rules, in, &own);
    s->recent = (s->recent << 1) & ((1u << RECENT) - 1);
    if (!kvf_present(figure)) return;
    s->figures++;
    if (figure > s->plan.line) s->breaches++;
    if (figure > s->plan.line * STAGE_CLEAR) s->recent |= 1;
    if (!own || isinf(figure)) return;
    double before = figure - s->mean;
    s->mean += before / ++s->own;
    s->squares += before * (figure - s->mean);
}

/* Whether this interval belongs to the judged part. */
static bool settled(struct stage *s, const struct stage_signals *in) {
    s->since_s += in->length_s;
    if (s->settle_left_s <= in->length_s / 2) return true;
    bool earlier = in->oldest_ms / 1e3 > s->since_s; /* somebody who came before the change is not answered */
    if (!earlier || s->since_s > STAGE_LONGEST * s->plan.length_s) s->settle_left_s -= in->length_s;
    return false;
}

/* ---- what it says ---- */

static double per(double amount, double whole) {
    return whole > 0 ? amount / whole : KVF_MISSING;
}

/* The class that counts: nearest to its target where there are targets, else the slowest. */
static void read_classes(const struct stage *s, const struct stage_rules *rules, struct stage_reading *out) {
    double worst = -1;
    bool targets = false;
    for (uint32_t k = 0; k < rules->classes; k++) targets = targets || kvf_present(rules->target_ms[k]);
    for (uint32_t k = 0; k < rules->classes; k++) {
        const struct stage_class *c = &s->klass[k];
        double target = rules->target_ms[k];
        if (targets && !kvf_present(target)) continue;
        bool waits = targets && starved(c, target);
        double p95 = waits ? c->oldest_wait_ms : p95_ms(&c->latency, c->failed);
        double badness = targets ? p95 / target : p95;
        if (!(badness > worst)) continue;
        worst = badness;
        out->worst = (int)k;
        out->p95_ms = p95;
        out->target_ms = target;
        out->ended = ended(c);
        out->failed = c->failed;
        out->starved = waits;
    }
    out->silent = out->worst < 0 && s->busy;
}

static double value_of(const struct stage_reading *r, const struct stage_rules *rules) {
    switch (rules->figure) {
    case STAGE_TARGETS:
        return r->silent ? (double)INFINITY : r->p95_ms / r->target_ms;
    case STAGE_SATURATION:
        return r->saturation / rules->limit_saturation;
    case STAGE_NVME:
        return r->nvme_s;
    case STAGE_TOKENS:
    default:
        return r->tokens_s;
    }
}

void stage_read(const struct stage *s, const struct stage_rules *rules, struct stage_reading *out) {
    *out = (struct stage_reading){.seconds = s->judged_s,
                                  .intervals = s->intervals,
                                  .breaches = s->breaches,
                                  .saturation = per(s->saturation_sum, s->saturation_s),
                                  .tokens_s = per(s->tokens, s->judged_s),
                                  .nvme_s = per(s->nvme_tokens, s->judged_s),
                                  .worst = -1,
                                  .p95_ms = KVF_MISSING,
                                  .target_ms = KVF_MISSING};
    read_classes(s, rules, out);
    out->value = value_of(out, rules);
    if (s->own >= SCATTER_LEAST) out->noise = sqrt(s->squares / (s->own - 1.0) / s->own);
}

/* ---- the verdict ---- */

static bool few(const struct stage *s, const struct stage_rules *rules) {
    if (rules->figure != STAGE_TARGETS) return false;
    for (uint32_t k = 0; k < rules->classes; k++) {
        const struct stage_class *c = &s->klass[k];
        if (kvf_present(rules->target_ms[k]) && c->busy && ended(c) < STAGE_FEW) return true;
    }
    return false;
}

static bool near(const struct stage *s, const struct stage_reading *r) {
    double unsure = SURE * r->noise;
    if (!s->plan.patient) return false;
    if (!kvf_present(s->plan.line)) return unsure > s->plan.fine * r->value;
    return fabs(r->value - s->plan.line) < unsure;
}

static bool undecided(const struct stage *s, const struct stage_rules *rules, const struct stage_reading *r) {
    bool limited = rules->figure == STAGE_TARGETS || rules->figure == STAGE_SATURATION;
    bool hiccup = limited && r->value > s->plan.line && s->figures >= 2 && s->breaches < 2;
    bool nothing = !limited && s->busy && !(r->value > 0);
    return few(s, rules) || hiccup || nothing || near(s, r);
}

static unsigned bits(unsigned v) {
    return (v & 1) + (v >> 1 & 1) + (v >> 2 & 1);
}

void stage_begin(struct stage *s, const struct stage_plan *plan) {
    memset(s, 0, sizeof *s);
    s->plan = *plan;
    s->settle_left_s = plan->settle_s;
}

enum stage_state stage_step(struct stage *s, const struct stage_rules *rules,
                            const struct stage_signals *in) {
    struct stage_reading r;
    if (!settled(s, in)) return STAGE_SETTLES;
    pool(s, rules, in);
    judge(s, rules, in);
    double nearly_s = s->judged_s + in->length_s / 2;
    bool early = s->plan.early && bits(s->recent) >= 2;
    if (!early && nearly_s < s->plan.length_s) return STAGE_RUNS;
    stage_read(s, rules, &r);
    bool over = r.value > s->plan.line;
    if (early && over) return STAGE_OVER;
    if (nearly_s < s->plan.length_s) return STAGE_RUNS;
    if (nearly_s < STAGE_LONGEST * s->plan.length_s && undecided(s, rules, &r)) return STAGE_RUNS;
    return over ? STAGE_OVER : STAGE_WITHIN;
}
