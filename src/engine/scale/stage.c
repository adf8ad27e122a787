#include "engine/scale/stage.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "record/snapshot.h"

#define SURE   2.0  /* standard errors: enough to end a stage as planned */
#define CLEAR  5.0  /* enough to end it early .. */
#define PILED  1.25 /* times the requests that are unfinished at any time where all are answered */
#define LATE   2.0  /* times the mean request: nearly as many are unfinished as ever will be */
#define LASTED 1.5  /* times the mean request: since the users changed as many come as go */
#define FAILS  1e12 /* ms: later than any */
#define BEYOND 1.2  /* .. when it is over the line by so much */
#define RATHER 0.1  /* of an interval: a stretch may be so much shorter */
enum { CLEAR_LEAST = 2 /* intervals */ };

/* by targets or saturation */
static bool stage_limited(const struct stage_rules *rules) {
    return rules->figure == STAGE_TARGETS || rules->figure == STAGE_SATURATION;
}

/* ---- P95 ---- */

/* With those that failed above all others; infinite when the rank falls on one of them. */
static double p95_ms(const struct histogram *h, uint64_t failed) {
    uint64_t done = histogram_count(h);
    double rank = ceil((1 - STAGE_SHARE) * (double)(done + failed) - 1e-9);
    if (done + failed == 0) return KVF_MISSING;
    if (rank > (double)done) return (double)INFINITY;
    return histogram_quantile(h, (rank - 0.5) / (double)done) / (double)KVF_NS_PER_MS;
}

static bool starved(const struct stage_class *c, double target_ms) {
    return kvf_present(target_ms) && c->ended == 0 && c->oldest_wait_ms > target_ms;
}

/* By saturation no target is held, and a class that has one is served like one without. */
static bool by_target(const struct stage_rules *rules, uint32_t k) {
    return rules->figure != STAGE_SATURATION && kvf_present(rules->target_ms[k]);
}

/* A class without a target that asked in vain for most of the stage: the criterion classes_unserved. */
static bool unserved(const struct stage *s, const struct stage_rules *rules, uint32_t k) {
    const struct stage_class *c = &s->klass[k];
    return !by_target(rules, k) && !c->served && c->oldest_wait_ms > 1e3 * s->judged_s / 2;
}

bool stage_has_line(const struct stage_rules *rules, uint32_t k) {
    if (k >= KVF_CLASSES_MAX) return k == STAGE_OF_FIGURE;
    return rules->figure == STAGE_TARGETS && kvf_present(rules->target_ms[k]);
}

/* ---- taking an interval ---- */

static void prove(struct stage_class *c, double x, double weight, double floor) {
    evidence_add(&c->all, x, weight, floor);
    evidence_add(&c->of_this, x, weight, floor);
}

/* Of a share that chance moves; or one that is zero where all is well, and certain while it is. */
static void prove_missed(struct stage_class *c, double missed, double ended, bool chance) {
    prove(c, missed - STAGE_SHARE * ended, ended,
          chance || missed > 0 ? STAGE_SHARE * (1 - STAGE_SHARE) * ended : 0);
}

static void pool_class(struct stage_class *c, const struct stage_rules *rules, uint32_t k,
                       const struct stage_class_signals *in) {
    bool target = by_target(rules, k);
    uint64_t ended = histogram_count(in->latency) + in->failed,
             missed = in->failed + (target ? in->missed : 0);
    histogram_add(&c->latency, in->latency);
    c->failed += in->failed;
    c->ended += ended;
    c->missed += missed;
    c->waiting = in->waiting;
    c->oldest_wait_ms = in->waiting > 0 ? in->oldest_wait_ms : 0;
    c->served = c->served || ended > 0 || in->in_service > 0;
    c->busy = c->busy || ended > 0 || in->waiting > 0 || in->in_service > 0;
    if (stage_limited(rules)) prove_missed(c, (double)missed, (double)ended, target);
}

static double mean_request_s(const struct stage *s) {
    return s->done ? s->e2e_s / (double)s->done : 0;
}

/* Whether they pile up is asked when those from about the change of users are done. */
static void pool_late(struct stage *s, uint64_t arrived) {
    bool late = s->done > 0 && s->plan.before_s + s->since_s >= LATE * mean_request_s(s);
    s->late_arrived = late && s->late ? s->late_arrived + arrived : 0;
    if (!late || !s->late) s->late_unfinished = s->unfinished;
    s->late = late;
}

static void prove_throughput(struct stage *s) {
    const struct stage_stretch *x = &s->stretch;
    double counts = x->undone ? 0 : 1, tokens = counts * x->tokens,
           load = counts * (x->load_tokens - x->usual_tokens);
    prove(&s->klass[STAGE_OF_FIGURE], tokens, x->length_s, 0);
    prove(&s->klass[STAGE_OF_LOAD], load, counts * x->usual_tokens, 0);
    prove(&s->klass[STAGE_OF_BOTH], tokens + load, x->length_s, 0);
}

static void end_stretch(struct stage *s, const struct stage_rules *rules) {
    const struct stage_stretch *x = &s->stretch;
    bool overtaken = false;
    for (uint32_t k = 0; k < rules->classes; k++) {
        s->klass[k].overtaken += x->overtaken[k];
        overtaken = overtaken || x->overtaken[k];
    }
    s->stretches++;
    s->undone += x->undone;
    s->slipped = s->slipped || x->slipped;
    s->overtaken += overtaken;
    if (stage_limited(rules)) {
        prove_missed(&s->klass[STAGE_OF_UNDONE], x->slipped, 1, false);
        prove_missed(&s->klass[STAGE_OF_OVERTAKEN], overtaken, 1, false);
    } else {
        prove_throughput(s);
    }
    s->stretch = (struct stage_stretch){0};
}

static void pool_stretch(struct stage *s, const struct stage_rules *rules, const struct stage_signals *in) {
    struct stage_stretch *x = &s->stretch;
    x->length_s += in->length_s;
    x->tokens += rules->figure == STAGE_NVME ? in->nvme_tokens : in->tokens;
    x->load_tokens += in->load_tokens;
    x->usual_tokens += in->usual_tokens;
    x->undone = x->undone || in->undone;
    x->slipped = x->slipped || in->slipped;
    for (uint32_t k = 0; k < rules->classes; k++)
        x->overtaken[k] = in->klass[k].overtaken && !by_target(rules, k);
    if (x->length_s + RATHER * in->length_s >= fmin(STAGE_STRETCH_S, s->plan.length_s)) end_stretch(s, rules);
}

static void pool(struct stage *s, const struct stage_rules *rules, const struct stage_signals *in) {
    struct stage_class *first = &s->klass[STAGE_OF_FIGURE];
    s->judged_s += in->length_s;
    s->intervals++;
    s->tokens += in->tokens;
    s->nvme_tokens += in->nvme_tokens;
    s->arrived += in->arrived;
    s->done += in->done;
    s->e2e_s += in->e2e_s;
    s->unfinished = 0;
    if (kvf_present(in->saturation)) {
        s->saturation_sum += in->saturation * in->length_s;
        s->saturation_s += in->length_s;
        if (rules->figure == STAGE_SATURATION)
            prove(first, (in->saturation / rules->limit_saturation - 1) * in->length_s, in->length_s, 0);
    }
    for (uint32_t k = 0; k < rules->classes; k++) {
        pool_class(&s->klass[k], rules, k, &in->klass[k]);
        s->busy = s->busy || s->klass[k].busy;
        s->unfinished += in->klass[k].waiting + in->klass[k].in_service;
    }
    s->unfinished_s += (double)s->unfinished * in->length_s;
    pool_late(s, in->arrived);
    pool_stretch(s, rules, in);
}

/* Whether requests from before are answered still. A look lasts until those that came before it are answered.
 * Users who ask on have left others by then: another look follows while more are answered than arrive. */
static bool clears(struct stage *s, const struct stage_rules *rules, const struct stage_signals *in) {
    if (s->cleared) return false;
    s->look_s += in->length_s;
    s->look_arrived += in->arrived;
    s->look_done += in->done;
    bool earlier = in->oldest_ms / 1e3 > s->look_s;
    if (earlier && (s->since_s <= s->plan.wait_s || s->look_s < STAGE_LONGEST * s->plan.length_s))
        return true;
    bool left = !stage_limited(rules) && (earlier || rules->paced);
    s->cleared = !left || (double)s->look_done <= (1 + s->plan.fine) * (double)s->look_arrived + 1;
    s->look_s = 0;
    s->look_arrived = s->look_done = 0;
    return !s->cleared;
}

/* Whether this interval belongs to the judged part. */
static bool settled(struct stage *s, const struct stage_rules *rules, const struct stage_signals *in) {
    s->since_s += in->length_s;
    if (clears(s, rules, in)) return false;
    if (s->settle_left_s <= in->length_s / 2) return true;
    s->settle_left_s -= in->length_s;
    return false;
}

/* ---- what it says ---- */

/* How bad a class is: by what is known of it; by its latency where no class has a target. One without a
 * target beside others that have some counts when it is over the line. */
static double badness_of(const struct stage_class *c, double target_ms, double p95, bool targets) {
    if (!targets) return c->all.x > 0 ? FAILS + evidence_mean(&c->all) : p95;
    if (c->ended == 0) return KVF_MISSING;
    double mean = evidence_mean(&c->all);
    if (!kvf_present(target_ms)) return mean > 0 ? mean : KVF_MISSING;
    return mean + 1e-9 * fmin(p95 / target_ms, 1e6);
}

static void read_classes(const struct stage *s, const struct stage_rules *rules, struct stage_reading *out) {
    double worst = KVF_MISSING;
    bool targets = false;
    for (uint32_t k = 0; k < rules->classes; k++) targets = targets || kvf_present(rules->target_ms[k]);
    for (uint32_t k = 0; k < rules->classes; k++) {
        const struct stage_class *c = &s->klass[k];
        double target = rules->target_ms[k], p95 = p95_ms(&c->latency, c->failed);
        bool in_vain = (targets && by_target(rules, k) && starved(c, target)) ||
                       ((targets || stage_limited(rules)) && unserved(s, rules, k));
        double badness = in_vain ? (double)INFINITY : badness_of(c, target, p95, targets);
        if (c->overtaken > 0 && (out->behind < 0 || c->overtaken > s->klass[out->behind].overtaken))
            out->behind = (int)k;
        if (!kvf_present(badness) || (kvf_present(worst) && badness <= worst)) continue;
        worst = badness;
        out->starved = in_vain;
        out->worst = (int)k;
        out->p95_ms = out->starved ? c->oldest_wait_ms : p95;
        out->target_ms = target;
        out->ended = c->ended;
        out->failed = c->failed;
        out->share = evidence_mean(&c->all) + STAGE_SHARE;
        out->of = c->all.weight;
    }
    out->silent = out->worst < 0 && s->busy;
}

static double more(double figure, double undone) {
    return undone > 0 ? fmax(figure, undone) : figure;
}

/* Times 5 % of the stretches; 0: not so many. */
static double beyond_share(double share) {
    return share > STAGE_SHARE ? share / STAGE_SHARE : 0;
}

static double value_of(const struct stage_reading *r, const struct stage_rules *rules) {
    double undone = fmax(fmax(beyond_share(r->slipped), beyond_share(r->overtaken)), beyond_share(r->left));
    bool failing = r->worst >= 0 && !kvf_present(r->target_ms);
    double failed = r->worst >= 0 ? beyond_share(r->share) : 0;
    switch (rules->figure) {
    case STAGE_TARGETS:
        if (r->silent || r->starved) return (double)INFINITY;
        return more(failing ? r->share / STAGE_SHARE : r->p95_ms / r->target_ms, undone);
    case STAGE_SATURATION:
        return more(r->saturation / rules->limit_saturation, fmax(undone, failed));
    case STAGE_NVME:
        return r->nvme_s;
    case STAGE_TOKENS:
    default:
        return r->tokens_s;
    }
}

/* Users that ask on are more than can be answered: more requests are unfinished than any that last as long as
 * those that were done can explain. */
static bool piled(const struct stage *s) {
    double lasts_s = mean_request_s(s), few = STAGE_FEW / 2.0;
    double arrived_s = (double)s->arrived / s->judged_s;
    if (s->since_s < LASTED * lasts_s) return false; /* they may be coming still */
    return (double)s->arrived > 1.5 * (double)s->done + few &&
           (double)s->unfinished > PILED * arrived_s * lasts_s + few;
}

/* Growth of the unfinished requests while so many came, and whether it is more than chance. */
static double grown(const struct stage *s) {
    return s->late_arrived > 0 ? (double)s->unfinished - (double)s->late_unfinished : 0;
}

static bool grows(const struct stage *s) {
    double n = (double)s->late_arrived;
    return grown(s) > STAGE_SHARE * n + STAGE_CHANCE * sqrt(n);
}

/* Whether they are over their line. */
static bool piles(const struct evidence *left) {
    return left->x > 0 && evidence_z(left) > STAGE_CHANCE;
}

void stage_read(const struct stage *s, const struct stage_rules *rules, struct stage_reading *out) {
    *out = (struct stage_reading){.seconds = s->judged_s,
                                  .intervals = s->intervals,
                                  .saturation = kvf_ratio(s->saturation_sum, s->saturation_s),
                                  .tokens_s = kvf_ratio(s->tokens, s->judged_s),
                                  .nvme_s = kvf_ratio(s->nvme_tokens, s->judged_s),
                                  .arrived_s = kvf_ratio((double)s->arrived, s->judged_s),
                                  .done_s = kvf_ratio((double)s->done, s->judged_s),
                                  .unfinished = kvf_ratio(s->unfinished_s, s->judged_s),
                                  .e2e_s = kvf_ratio(s->e2e_s, (double)s->done),
                                  .undone = 2 * s->undone > s->stretches,
                                  .slipped = evidence_mean(&s->klass[STAGE_OF_UNDONE].all) + STAGE_SHARE,
                                  .overtaken = evidence_mean(&s->klass[STAGE_OF_OVERTAKEN].all) + STAGE_SHARE,
                                  .behind = -1,
                                  .piled = piled(s),
                                  .grows = grows(s),
                                  .worst = -1,
                                  .p95_ms = KVF_MISSING,
                                  .target_ms = KVF_MISSING};
    const struct evidence *left = &s->klass[STAGE_OF_PILED].all;
    if (piles(left)) out->left = evidence_mean(left) + STAGE_SHARE;
    read_classes(s, rules, out);
    out->value = value_of(out, rules);
    if (stage_limited(rules)) return;
    struct throughput t = {&s->klass[STAGE_OF_FIGURE].of_this, &s->klass[STAGE_OF_LOAD].of_this,
                           &s->klass[STAGE_OF_BOTH].of_this};
    throughput_read(&t, &s->plan.rule, &out->value, &out->noise);
}

/* ---- the verdict ---- */

/* Standard errors over the line, of the class that is worst. */
static double errors_of(const struct stage *s, const struct stage_rules *rules) {
    double z =
        fmax(evidence_z(&s->klass[STAGE_OF_UNDONE].all), evidence_z(&s->klass[STAGE_OF_OVERTAKEN].all));
    if (rules->figure == STAGE_SATURATION) z = fmax(z, evidence_z(&s->klass[STAGE_OF_FIGURE].all));
    for (uint32_t k = 0; k < rules->classes; k++) {
        const struct stage_class *c = &s->klass[k];
        if (by_target(rules, k) && starved(c, rules->target_ms[k])) return EVIDENCE_MOST;
        if (c->all.weight > 0) z = fmax(z, evidence_z(&c->all));
    }
    return z;
}

static bool undecided_limit(const struct stage *s, const struct stage_rules *rules, double z) {
    bool missed = rules->figure == STAGE_SATURATION || s->slipped, silent = false;
    for (uint32_t k = 0; k < rules->classes; k++) {
        const struct stage_class *c = &s->klass[k];
        missed = missed || c->missed > 0 || c->overtaken > 0;
        silent = silent || (c->busy && (by_target(rules, k) ? c->ended == 0 : !c->served));
    }
    if (silent && z < EVIDENCE_MOST) return true;
    return s->plan.patient && missed && fabs(z) < SURE;
}

static bool undecided(const struct stage *s, const struct stage_rules *rules, const struct stage_reading *r,
                      double z) {
    if (stage_limited(rules)) return undecided_limit(s, rules, z);
    if (s->busy && !(r->value > 0) && !r->undone) return true;
    if (!s->plan.patient) return false;
    if (!kvf_present(s->plan.line)) return SURE * r->noise > s->plan.fine * r->value;
    return fabs(r->value - s->plan.line) < SURE * r->noise;
}

/* Counts waiting requests of classes without any other signal, and all stretches where one asked in vain. */
static void count_starved(struct stage *s, const struct stage_rules *rules) {
    bool in_vain = false;
    for (uint32_t k = 0; k < rules->classes; k++) {
        struct stage_class *c = &s->klass[k];
        in_vain = in_vain || unserved(s, rules, k);
        if (!by_target(rules, k) || !c->busy || c->ended > 0) continue;
        double waiting = fmax(STAGE_FEW, (double)c->waiting);
        prove_missed(c, waiting, waiting, true);
    }
    double others = in_vain ? s->stretches - s->overtaken : 0;
    if (others > 0) prove(&s->klass[STAGE_OF_OVERTAKEN], others, 0, STAGE_SHARE * (1 - STAGE_SHARE) * others);
}

/* Of users who ask on, those that came and were left. How many are unfinished is chance in a stage; over all
 * stages with so many users a queue that grows shows. */
static void count_piled(struct stage *s) {
    bool all = piled(s) || s->late_arrived == 0;
    double n = (double)(all ? s->arrived : s->late_arrived);
    double left = piled(s) ? (double)(s->arrived - s->done) : grown(s);
    if (n > 0) prove(&s->klass[STAGE_OF_PILED], left - STAGE_SHARE * n, n, n);
}

static bool over_limit(const struct stage *s) {
    for (uint32_t k = 0; k < STAGE_EVIDENCE; k++)
        if (k != STAGE_OF_PILED && s->klass[k].all.x > 0) return true;
    return piles(&s->klass[STAGE_OF_PILED].all);
}

void stage_begin(struct stage *s, const struct stage_plan *plan, const struct evidence *before) {
    memset(s, 0, sizeof *s);
    s->plan = *plan;
    s->settle_left_s = plan->settle_s;
    s->cleared = !(plan->wait_s > 0);
    for (unsigned k = 0; before && k < STAGE_EVIDENCE; k++) s->klass[k].all = before[k];
}

/* Whether it has lasted as long as it should: STAGE_REQUESTS requests one after the other. */
static bool lasted(const struct stage *s, const struct stage_reading *r, double nearly_s) {
    double least_s = s->plan.length_s;
    if (kvf_present(r->e2e_s)) least_s = fmax(least_s, STAGE_REQUESTS * r->e2e_s);
    return nearly_s >= fmin(least_s, STAGE_MOST * s->plan.length_s);
}

/* Throughput of users that are too many is known when requests pile up: it does not take as long as they wait
 * by then. */
static bool overrun(const struct stage *s, const struct stage_rules *rules, const struct stage_reading *r,
                    double nearly_s) {
    double least_s = s->plan.early ? s->plan.length_s / 2 : s->plan.length_s;
    return !stage_limited(rules) && r->piled && s->done >= STAGE_FEW && nearly_s >= least_s;
}

enum stage_state stage_step(struct stage *s, const struct stage_rules *rules,
                            const struct stage_signals *in) {
    struct stage_reading r;
    if (!settled(s, rules, in)) return STAGE_SETTLES;
    pool(s, rules, in);
    double nearly_s = s->judged_s + in->length_s / 2;
    double z = stage_limited(rules) ? errors_of(s, rules) : 0;
    stage_read(s, rules, &r);
    bool clear =
        stage_limited(rules) && s->plan.early && s->intervals >= CLEAR_LEAST && z > CLEAR && r.value > BEYOND;
    if (!clear && !overrun(s, rules, &r, nearly_s)) {
        if (!lasted(s, &r, nearly_s)) return STAGE_RUNS;
        if (nearly_s < STAGE_LONGEST * s->plan.length_s && undecided(s, rules, &r, z)) return STAGE_RUNS;
    }
    if (s->stretches == 0) end_stretch(s, rules);
    if (!stage_limited(rules)) return STAGE_WITHIN;
    count_starved(s, rules);
    if (rules->paced) count_piled(s);
    return over_limit(s) ? STAGE_OVER : STAGE_WITHIN;
}
