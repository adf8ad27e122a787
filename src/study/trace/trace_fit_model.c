#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/heap.h"
#include "draw/format.h"
#include "scenario/load.h"
#include "study/trace/trace_fit.h"

/* Each of the personas has the same part of the requests, and a part of each distribution between two
 * quantiles: so their mixture has these distributions. What the trace does not tell by its distributions is
 * tried: whether a user asks at its own pace, so that there are the more of a kind the longer it pauses, or
 * any user asks next; whether a user's turns are alike or as different as those of all; how soon
 * conversations end, and a seed. */

enum { PERSONAS = 16, TRIED_MOST = 50000 /* requests of a trial */, STEPS = 64 };

struct fit_model {
    const struct trace_fit *f;
    const struct trace_stats *t;
    bool drawn;     /* any user asks next, at a rate; else each at its own pace */
    unsigned kinds; /* parts of the lengths; PERSONAS: a user's turns are alike, fewer: drawn from its part */
    double end_probability;
    unsigned pairing; /* of lengths and pauses */
    uint64_t seed, users;
};

struct part {
    uint64_t lo, hi;
};

/* The values of h between two quantiles, as a range with their mean. */
static struct part part_of(const struct histogram *h, unsigned i, unsigned parts) {
    double sum = 0, width;
    for (unsigned k = 0; k < STEPS; k++)
        sum += histogram_quantile_inside(h, (i + (k + 0.5) / STEPS) / parts, &width);
    double mean = sum / STEPS,
           lo = i ? histogram_quantile_inside(h, (double)i / parts, &width) : histogram_min(h);
    double hi = fmax(2 * mean - lo, lo);
    return (struct part){(uint64_t)lo, (uint64_t)(hi + 0.5)};
}

static double rate_of(const struct trace_stats *t) {
    return (double)(t->requests - 1) * (double)KVF_NS_PER_S / (double)t->span_ns;
}

/* The pause between turns; of a trace that has one turn a session any will do, as users make the rate. One
 * so short that a single user would ask more than the kind should is made longer, up to half the mean. */
static struct part pause_of(const struct trace_stats *t, unsigned i, unsigned parts) {
    enum { USERS = 2 };
    double least = USERS * parts * 1e9 / rate_of(t);
    if (histogram_count(t->between) == 0) return (struct part){60 * KVF_NS_PER_S, 60 * KVF_NS_PER_S};
    struct part p = part_of(t->between, i, parts);
    least = fmin(least, histogram_mean(t->between) / 2);
    if ((double)p.lo + (double)p.hi >= 2 * least) return p;
    return (struct part){(uint64_t)(least / 2), (uint64_t)(least * 3 / 2)};
}

static double pause_mean(const struct part *p) {
    return fmax(((double)p->lo + (double)p->hi) / 2, 1e6);
}

static double mean_of(const struct part *p) {
    return ((double)p->lo + (double)p->hi) / 2;
}

/* Lengths of a kind of users: alike for a user, or drawn anew for each turn between `spread` of them and all.
 */
static void lengths_print(const struct fit_model *m, unsigned i, struct buf *out) {
    unsigned k = m->kinds; /* odd factors: each part once, and dimensions apart */
    struct part context = part_of(m->f->fresh, i % k, k),
                generate = part_of(m->t->output, (5 * (i % k) + 3) % k, k);
    double spread = 1;
    if (context.hi == 0) context.hi = 1;
    if (context.lo == 0) context.lo = 1;
    if (k < PERSONAS) {
        spread = fmin(fmax((double)context.lo / (double)context.hi, 0.01), 1);
        context.lo = context.hi;
        generate.lo = generate.hi = (uint64_t)(2 * mean_of(&generate) / (1 + spread) + 0.5);
    }
    buf_addf(out, "context: [%" PRIu64 ", %" PRIu64 "], generate: [%" PRIu64 ", %" PRIu64 "], spread: %.4g",
             context.lo, context.hi, generate.lo, generate.hi, spread);
}

static void personas_print(const struct fit_model *m, struct buf *out) {
    for (unsigned i = 0; i < PERSONAS; i++) {
        struct part pause =
            pause_of(m->t, ((2 * m->pairing + 11) * i + 6 * (m->pairing + 1)) % PERSONAS, PERSONAS);
        buf_addf(out, "    - {name: p%u, share: %.4g, ", i + 1, m->drawn ? 1 : pause_mean(&pause) / 1e9);
        lengths_print(m, i, out);
        if (!m->drawn)
            buf_addf(out, ", think: [%" PRIu64 "ms, %" PRIu64 "ms]",
                     (pause.lo / 1000000 + (pause.lo < 1000000)),
                     (pause.hi / 1000000 + (pause.hi < 1000000)));
        buf_add(out, "}\n");
    }
}

/* The most frequent first: then their weights are nearer to 1, 1/2, 1/3 or nearer to each other. */
static bool frequencies_fall(const struct trace_fit *f) {
    double even = 0, falling = 0, harmonic = 0, all = 0;
    for (unsigned i = 0; i < f->prompts; i++) {
        harmonic += 1.0 / (i + 1);
        all += (double)f->prompt[i].sessions;
    }
    for (unsigned i = 0; i < f->prompts; i++) {
        even += fabs((double)f->prompt[i].sessions / all - 1.0 / f->prompts);
        falling += fabs((double)f->prompt[i].sessions / all - 1.0 / (i + 1) / harmonic);
    }
    return falling < even;
}

static void scenario_print(const struct fit_model *m, struct buf *out) {
    const struct trace_stats *t = m->t;
    const struct trace_fit *f = m->f;
    uint64_t block = t->in->s.cache.block_tokens;
    double room = t->points ? t->capacity[t->points / 2] : 1e9;
    buf_addf(out,
             "name: fitted\nmodel: %s\nmode: simulate\nseed: %" PRIu64
             "\nrun: {duration: %.0fs, warmup: 0s}\n"
             "tiers: {cpu: {capacity: %.0fMiB}}\ncache: {granularity: block, block_tokens: %" PRIu64 "}\n"
             "workload:\n  users: %" PRIu64 "\n  arrival: {",
             t->in->s.model.preset, m->seed, fmax(ceil((double)t->span_ns / 1e9), 1),
             fmax(ceil(room / 1048576), 64), block, m->users);
    if (m->drawn)
        buf_addf(out, "process: poisson, rate: %.6g}\n  personas:\n", rate_of(t));
    else
        buf_add(out, "process: paced}\n  personas:\n");
    personas_print(m, out);
    buf_addf(out, "  conversation: {end_probability: %.4f, max_turns: %.0f}\n", m->end_probability,
             fmax(histogram_max(t->turns), 1));
    if (f->prompts == 0) {
        buf_add(out, "  prefix: {probability: 0}\n");
        return;
    }
    buf_addf(out, "  prefix: {probability: %.4f, on_top: true, pick: %s, prompt_tokens: [",
             (double)f->prompted / (double)f->session_count, frequencies_fall(f) ? "zipf" : "uniform");
    for (unsigned i = 0; i < f->prompts; i++)
        buf_addf(out, "%s%" PRIu64, i ? ", " : "", f->prompt[i].blocks * block);
    buf_addf(out, "], count: %u}\n", f->prompts);
}

/* ---- a trial ---- */

static double distance_of(const struct histogram *a, const struct histogram *b) {
    double na = (double)histogram_count(a), nb = (double)histogram_count(b), sum_a = 0, sum_b = 0, most = 0;
    if (!(na > 0) || !(nb > 0)) return (double)NAN;
    for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
        sum_a += (double)a->bucket[i];
        sum_b += (double)b->bucket[i];
        most = fmax(most, fabs(sum_a / na - sum_b / nb));
    }
    return most;
}

static void blocks_name(struct request *q) {
    uint64_t n = q->prompt_blocks + q->conversation_blocks;
    request_reserve_ids(q, (uint32_t)n + 1);
    for (uint64_t i = 0; i < n; i++)
        q->ids[i] = i < q->prompt_blocks
                        ? hash_mix64((uint64_t)q->prompt << 32 | (i + 1))
                        : hash_mix64(hash_mix64(q->conversation + 1) ^ (i - q->prompt_blocks));
    q->id_count = (uint32_t)n;
}

/* Users ask when their pauses are over, or when one is drawn: as many requests as the trace has. */
static void users_ask(struct workload *w, bool drawn, struct trace_input *in, struct trace_stats *t,
                      struct histogram *fresh, uint64_t most) {
    struct heap due = {0};
    struct heap_item item = {0};
    uint64_t order = 0, first = UINT64_MAX;
    for (uint64_t u = 0; u < workload_users(w) && !drawn; u++)
        heap_push(&due, workload_first_delay_ns(w, u), order++, (void *)(uintptr_t)u);
    while (t->requests < most && (drawn || heap_pop(&due, &item))) {
        uint64_t user = drawn ? 0 : (uint64_t)(uintptr_t)item.item;
        struct trace_item next = {.q = &in->q, .model = "", .klass = ""};
        if (workload_next(w, user, &in->q) != WORKLOAD_REQUEST) {
            if (drawn) break;
            continue;
        }
        if (drawn) item.key = in->q.arrival_ns;
        if (first == UINT64_MAX) first = item.key;
        blocks_name(&in->q);
        next.at_ns = item.key - first;
        next.session =
            sessions_next(&in->sessions, in->q.ids, in->q.id_count, in->s.cache.block_tokens,
                          in->q.sequence_tokens, in->q.generate_tokens, in->q.conversation + 1, &next.seen);
        histogram_record(fresh, in->q.context_tokens);
        trace_stats_add(t, in, &next);
        if (!drawn) heap_push(&due, item.key + workload_think_ns(w, user), order++, item.item);
    }
    heap_free(&due);
}

static void compare(const struct fit_model *m, const struct trace_stats *t, const struct histogram *fresh,
                    struct fit_quality *q) {
    const struct trace_stats *of = m->t;
    q->distance[FIT_INPUT] = distance_of(of->input, t->input);
    q->distance[FIT_FRESH] = distance_of(m->f->fresh, fresh);
    q->distance[FIT_OUTPUT] = distance_of(of->output, t->output);
    q->distance[FIT_BETWEEN] = distance_of(of->between, t->between);
    q->distance[FIT_TURNS] = distance_of(of->turns, t->turns);
    q->rate = rate_of(t);
    q->curve = 0;
    for (unsigned i = 0; i < of->points; i++)
        q->curve = fmax(
            q->curve, fabs(of->curve[0].miss_ratio[i] - sample_miss_ratio(t->sample, of->capacity[i], NULL)));
}

static int model_try(const struct fit_model *m, struct fit_quality *q, struct err *e) {
    struct trace_input *in = mem_zalloc(1, sizeof *in);
    struct trace_stats *t = mem_zalloc(1, sizeof *t);
    struct histogram *fresh = mem_zalloc(1, sizeof *fresh);
    struct scenario *s = mem_zalloc(1, sizeof *s);
    struct scenario_report report = {0};
    struct buf yaml = {0};
    scenario_print(m, &yaml);
    trace_stats_init(t);
    int rc = scenario_load(NULL, buf_text(&yaml), NULL, 0, s, NULL, &report);
    if (rc)
        rc = err_set(e, KVF_ERR_USAGE, "the fitted scenario cannot be used: %s", buf_text(&report.errors));
    if (!rc) rc = workload_open(&in->w, s, e);
    if (!rc) {
        in->s = m->t->in->s;
        in->source = m->t->in->source;
        in->timed = in->blocks = true;
        users_ask(in->w, m->drawn, in, t, fresh, m->t->requests < TRIED_MOST ? m->t->requests : TRIED_MOST);
        rc = trace_stats_end(t, 0, e);
        if (!rc) compare(m, t, fresh, q);
    }
    scenario_load_free(&report);
    buf_free(&yaml);
    trace_stats_free(t);
    trace_input_close(in);
    free(in);
    free(t);
    free(fresh);
    free(s);
    return rc;
}

/* ---- the best of some ---- */

/* A rate within 3 % is as good as the right one; beyond, it weighs as a point of the curve. The worst
 * distance of a distribution weighs a twentieth. */
static double loss(const struct fit_quality *q, const struct trace_stats *of) {
    double worst = 0;
    for (unsigned d = 0; d < FIT_DIMENSIONS; d++)
        if (q->distance[d] > worst) worst = q->distance[d];
    return q->curve + fmax(fabs(q->rate / rate_of(of) - 1) - 0.03, 0) + worst / 20;
}

static int keep_better(struct fit_model *best, const struct fit_model *m, struct fit_quality *q,
                       struct err *e) {
    struct fit_quality now;
    int rc = model_try(m, &now, e);
    if (rc) return rc;
    if (loss(&now, m->t) < loss(q, m->t)) {
        *best = *m;
        *q = now;
    }
    return 0;
}

/* Nearer than a curve can be told from another by chance. */
static bool near_enough(const struct fit_quality *q) {
    return q->curve < 0.03;
}

static int seeds_try(struct fit_model *best, uint64_t from, uint64_t to, struct fit_quality *q,
                     struct err *e) {
    struct fit_model m = *best;
    int rc = 0;
    for (m.seed = from; m.seed < to && !near_enough(q) && !rc; m.seed++) rc = keep_better(best, &m, q, e);
    return rc;
}

/* How many users there are at a time is known of what the trace covers alone: longer pauses are cut off. */
static int users_try(struct fit_model *best, struct fit_quality *q, struct err *e) {
    static const double more[] = {1.1, 1.2, 1.35, 0.9};
    struct fit_model m = *best;
    uint64_t users = best->users;
    int rc = 0;
    for (size_t i = 0; i < sizeof more / sizeof *more && best->drawn && !rc; i++) {
        m.users = (uint64_t)((double)users * more[i] + 0.5);
        rc = keep_better(best, &m, q, e);
    }
    return rc;
}

static int ends_try(struct fit_model *best, const struct fit_model *from, double ends, const double *part,
                    size_t parts, struct fit_quality *q, struct err *e) {
    struct fit_model m = *from;
    int rc = 0;
    for (size_t i = 0; i < parts && !rc; i++) {
        m.end_probability = fmin(ends * part[i], 1);
        rc = keep_better(best, &m, q, e);
    }
    return rc;
}

static int ends_try_nearer(struct fit_model *best, struct fit_quality *q, struct err *e) {
    static const double nearer[] = {0.9, 0.95, 1.06, 1.12, 1.03, 0.97};
    struct fit_model m = *best;
    if (near_enough(q)) return 0;
    return ends_try(best, &m, m.end_probability, nearer, sizeof nearer / sizeof *nearer, q, e);
}

/* Pairings repeat after half of the personas. What the users are is found before a seed is chosen for them,
 * which tells no more than chance. */
static int search(struct fit_model *best, struct fit_quality *q, struct err *e) {
    static const double sooner[] = {1, 0.7, 0.4, 0.85, 0.55}, drawn[] = {1, 0.7, 0.4, 0};
    double ends = (double)best->f->session_count / (double)best->t->requests;
    struct fit_model m = *best;
    *q = (struct fit_quality){.curve = INFINITY, .rate = INFINITY};
    int rc = ends_try(best, &m, ends, sooner, sizeof sooner / sizeof *sooner, q, e);
    m.drawn = true;
    if (!rc) rc = ends_try(best, &m, ends, drawn, sizeof drawn / sizeof *drawn, q, e);
    m = *best;
    for (m.kinds = PERSONAS / 2; m.kinds > 0 && !near_enough(q) && !rc; m.kinds /= 8)
        rc = keep_better(best, &m, q, e);
    if (!rc) rc = ends_try_nearer(best, q, e);
    if (!rc) rc = users_try(best, q, e);
    m = *best;
    for (m.pairing = 1; m.pairing < PERSONAS / 2 && !m.drawn && !near_enough(q) && !rc; m.pairing++)
        rc = keep_better(best, &m, q, e);
    if (!rc) rc = seeds_try(best, 43, 60, q, e);
    if (!rc) rc = ends_try_nearer(best, q, e);
    return rc ? rc : seeds_try(best, 60, 66, q, e);
}

static void comments_print(const struct trace_stats *t, const struct fit_quality *q, struct buf *out) {
#define X(id, name) name,
    static const char *const names[] = {FIT_DIMENSION_LIST(X)};
#undef X
    buf_addf(
        out,
        "# Synthetic users with the rate, lengths, pauses and sharing of a trace of %" PRIu64
        " requests in %s.\n"
        "# Nothing of its blocks is in here. Kolmogorov-Smirnov distances, 0 for the same distribution:\n",
        t->requests, format_seconds((double)t->span_ns / 1e9).text);
    for (unsigned d = 0; d < FIT_DIMENSIONS; d++)
        if (!isnan(q->distance[d])) buf_addf(out, "#   %-22s %.3f\n", names[d], q->distance[d]);
    buf_addf(out,
             "# Requests/s: %.4g in the trace, %.4g here. Miss ratios of lru: at most %.1f points apart.\n",
             rate_of(t), q->rate, 100 * q->curve);
}

int trace_fit_write(const struct trace_fit *f, struct trace_stats *t, struct buf *yaml, struct fit_quality *q,
                    struct err *e) {
    if (!t->in || !t->in->timed || !t->in->blocks || t->span_ns == 0)
        return err_set(e, KVF_ERR_USAGE,
                       "--fit-personas needs requests with times and block ids, as source mooncake has them");
    struct fit_model m = {.f = f, .t = t, .kinds = PERSONAS, .seed = 42};
    double pause = 0;
    int rc = trace_stats_end(t, 0, e);
    if (rc) return rc;
    for (unsigned i = 0; i < PERSONAS; i++) {
        struct part p = pause_of(t, i, PERSONAS);
        pause += pause_mean(&p) / 1e9 / PERSONAS;
    }
    m.users = (uint64_t)fmax(rate_of(t) * pause + 0.5, 1);
    rc = search(&m, q, e);
    if (rc) return rc;
    comments_print(t, q, yaml);
    scenario_print(&m, yaml);
    return 0;
}
