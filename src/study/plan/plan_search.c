#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "draw/format.h"
#include "study/plan/plan.h"

/* Simulations of a round, whatever the cores, so that the search is the same everywhere; a result so near a
 * target that a longer simulation may decide otherwise; machines dearer than the answer that are run. */
enum { ROUND = 4, FRONT_MOST = 12 };
#define NEAR_TARGET    0.05
#define SECONDS_OF_DAY 86400.0
#define DAYS_OF_YEAR   365.25

const struct plan_result *plan_result(const struct plan_machine *m) {
    return m->result[PLAN_FULL].done    ? &m->result[PLAN_FULL]
           : m->result[PLAN_SHORT].done ? &m->result[PLAN_SHORT]
                                        : NULL;
}

const struct plan_result *plan_alike(const struct plan_machine *m) {
    return m->result[PLAN_SHORT].done ? &m->result[PLAN_SHORT] : plan_result(m);
}

bool plan_leaves_some(const struct plan_result *r) {
    return !standing_comparable(r->undone, r->flaw);
}

const char *plan_undone(const struct plan_result *r, char out[STANDING_TEXT]) {
    standing_why(r->undone, r->flaw, out);
    if (standing_nothing_undone(r->undone) && r->flaw == STANDING_FLAW_BEHIND && r->waiting > 0)
        snprintf(out, STANDING_TEXT, "%s of the arrivals left waiting", format_percent(r->waiting).text);
    return out;
}

double plan_hourly(const struct plan_machine *m) {
    const struct plan_result *r = plan_result(m);
    return r ? r->hourly : m->hourly;
}

/* ---- one simulation ---- */

enum { TOK_S, TTFT, WRITTEN, MEASURED, REQUESTS, NOT_COMPUTED, FILLED, FULL_S, FIRST_CLASS };

static void measures_name(struct plan *p) {
    struct sweep *s = &p->sweep;
    static const char *const names[FIRST_CLASS] = {"throughput_tok_s", "ttft_p95_ms",   "nvme_write_bytes",
                                                   "measured_s",       "requests_done", "misses_not_computed",
                                                   "fill_ratio",       "fill_full_s"};
    s->metrics = 0;
    for (unsigned i = 0; i < FIRST_CLASS; i++)
        snprintf(s->metric[s->metrics++], sizeof s->metric[0], "%s", names[i]);
    for (unsigned k = 0; k < p->classes; k++) {
        struct plan_class c = p->klass[k];
        snprintf(s->metric[s->metrics++], sizeof s->metric[0], "slo_%s_p95_ms", c.name);
        snprintf(s->metric[s->metrics++], sizeof s->metric[0], "slo_%s_p95_met", c.name);
    }
}

static double years_of(const struct plan *p, const struct plan_machine *m, double written_per_day) {
    const struct plan_option *drives = &p->option[PART_DRIVE][m->at[PART_DRIVE]];
    if (!drives->part) return NAN;
    double all = plan_servers(p, m) * drives->count;
    return written_per_day > 0 ? all * drives->part->endurance / written_per_day / DAYS_OF_YEAR : INFINITY;
}

static void result_take(const struct plan *p, const struct plan_machine *m, const struct sweep_point *point,
                        struct plan_result *r) {
    const double *value = point->value;
    double written = isnan(value[WRITTEN]) ? 0 : value[WRITTEN];
    *r = (struct plan_result){.done = true,
                              .tok_s = value[TOK_S],
                              .ttft_ms = value[TTFT],
                              .requests = value[REQUESTS],
                              .not_computed = value[NOT_COMPUTED],
                              .chunk_misses = point->chunk_misses,
                              .filled = value[FILLED],
                              .full_s = value[FULL_S],
                              .over = -INFINITY};
    memcpy(r->undone, point->undone, sizeof r->undone);
    r->flaw = point->flaw;
    r->work = point->work;
    r->waiting = point->waiting;
    r->written_per_day = value[MEASURED] > 0 ? written / value[MEASURED] * SECONDS_OF_DAY : NAN;
    r->years = years_of(p, m, r->written_per_day);
    r->hourly = m->hourly;
    if (r->years < p->parts.years)
        r->hourly += (p->parts.years / r->years - 1) * plan_servers(p, m) *
                     plan_written_off(p, p->option[PART_DRIVE][m->at[PART_DRIVE]].price);
    r->per_mtok = r->hourly / (r->tok_s * 3600) * 1e6;
    for (unsigned k = 0; k < p->classes; k++) {
        double ms = value[FIRST_CLASS + 2 * k];
        r->class_ms[k] = ms;
        r->met[k] = value[FIRST_CLASS + 2 * k + 1] > 0;
        r->judged[k] = kvf_present(value[FIRST_CLASS + 2 * k + 1]);
        double over = isnan(ms) ? INFINITY : ms / p->klass[k].target_ms - 1;
        if (!r->met[k] && over < 0) over = 0; /* what waits at the end is beyond the target */
        if (over > r->over) {
            r->over = over;
            r->worst = k;
        }
    }
}

/* Less work is done sooner: a machine that leaves some undone does not carry the load, whatever class it is
 * of. */
static bool carries(const struct plan *p, const struct plan_result *r) {
    for (unsigned k = 0; k < p->classes; k++)
        if (!r->met[k]) return false;
    return !plan_leaves_some(r);
}

/* The verdict on a machine that was run, and what follows for others. */
static void judge(struct plan *p, size_t i) {
    struct plan_machine *m = &p->machine[i];
    const struct plan_result *r = plan_result(m);
    m->state = carries(p, r) ? PLAN_MEETS : PLAN_MISSES;
    for (size_t k = 0; k < p->machines; k++) {
        struct plan_machine *o = &p->machine[k];
        if (m->state == PLAN_MISSES && o->state == PLAN_OPEN && plan_covers(p, m, o)) {
            o->state = PLAN_WEAKER;
            o->by = i;
        } else if (m->state == PLAN_MEETS && o->state == PLAN_WEAKER && o->by == i) {
            o->state = PLAN_OPEN; /* the longer simulation takes it back */
        }
    }
}

/* ---- rounds ---- */

static void run_jobs(struct plan *p, const struct plan_simulation *job, size_t count) {
    struct sweep *s = &p->sweep;
    size_t from = s->points;
    p->simulation = mem_realloc(p->simulation, (from + count) * sizeof *p->simulation);
    memcpy(p->simulation + from, job, count * sizeof *job);
    for (size_t i = 0; i < count; i++)
        (void)sweep_point_add(s, plan_point(p, &p->machine[job[i].machine], job[i].length));
    sweep_run(s, from, s->points);
    for (size_t i = 0; i < count; i++) {
        const struct sweep_point *point = &s->point[from + i];
        struct plan_machine *m = &p->machine[job[i].machine];
        if (point->state == OUTCOME_DONE) {
            p->simulated++;
            result_take(p, m, point, &m->result[job[i].length]);
            judge(p, job[i].machine);
        } else if (point->state == OUTCOME_FAILED) {
            m->state = PLAN_FAILED;
            snprintf(m->why, sizeof m->why, "%s", point->why);
        }
    }
    sweep_show_points(s); /* a verdict changes others' */
}

static bool has_run(const struct plan_machine *m) {
    return m->result[PLAN_SHORT].done || m->result[PLAN_FULL].done || m->state == PLAN_FAILED;
}

/* Runs each of them once; how long they take together is unknown, so the line counts those of this list. */
static void run_list(struct plan *p, const size_t *machine, size_t count, enum plan_length length) {
    struct plan_simulation job[ROUND];
    size_t jobs = 0;
    for (size_t i = 0; i < count && !p->sweep.stopped; i++) {
        const struct plan_machine *m = &p->machine[machine[i]];
        if (!m->result[length].done && m->state != PLAN_FAILED)
            job[jobs++] = (struct plan_simulation){machine[i], length};
        if (jobs == ROUND || (i + 1 == count && jobs > 0)) {
            run_jobs(p, job, jobs);
            jobs = 0;
        }
    }
}

/* ---- the cheapest that meets the targets ---- */

size_t plan_cheapest(const struct plan *p) {
    size_t best = SIZE_MAX;
    for (size_t i = 0; i < p->machines; i++)
        if (p->machine[i].state == PLAN_MEETS &&
            (best == SIZE_MAX || plan_hourly(&p->machine[i]) < plan_hourly(&p->machine[best])))
            best = i;
    return best;
}

/* Could still be the answer: the least that it costs is less. */
static bool is_open(const struct plan *p, size_t i, size_t best) {
    return p->machine[i].state == PLAN_OPEN &&
           (best == SIZE_MAX || p->machine[i].hourly < plan_hourly(&p->machine[best]));
}

/* How many open machines it decides at least, whichever way it ends: those that have no more of any part if
 * it misses, those that cost more if it meets. */
static size_t decides(const struct plan *p, size_t i, size_t best) {
    size_t missing = 0, meeting = 0;
    for (size_t k = 0; k < p->machines; k++) {
        if (!is_open(p, k, best)) continue;
        missing += plan_covers(p, &p->machine[i], &p->machine[k]);
        meeting += p->machine[k].hourly >= p->machine[i].hourly;
    }
    return missing < meeting ? missing : meeting;
}

static bool tells_the_same(const struct plan *p, size_t i, const struct plan_simulation *job, size_t jobs) {
    for (size_t k = 0; k < jobs; k++) {
        const struct plan_machine *a = &p->machine[i], *b = &p->machine[job[k].machine];
        if (plan_covers(p, a, b) || plan_covers(p, b, a)) return true;
    }
    return false;
}

static size_t choose(const struct plan *p, size_t best, struct plan_simulation job[ROUND]) {
    size_t jobs = 0;
    while (jobs < ROUND) {
        size_t most = 0, chosen = SIZE_MAX;
        for (size_t i = 0; i < p->machines; i++) {
            if (!is_open(p, i, best) || tells_the_same(p, i, job, jobs)) continue;
            size_t n = decides(p, i, best);
            if (n > most) {
                most = n;
                chosen = i;
            }
        }
        if (chosen == SIZE_MAX) break;
        job[jobs++] = (struct plan_simulation){chosen, PLAN_SHORT};
    }
    return jobs;
}

/* So near a target, or inside all of them with work left undone, that a longer simulation may tell otherwise.
 */
static bool is_near(const struct plan_result *r) {
    return r->over <= NEAR_TARGET && (r->over >= -NEAR_TARGET || plan_leaves_some(r));
}

/* Cheaper than `best`, and the full simulation has to tell. */
static size_t choose_near(const struct plan *p, size_t best, struct plan_simulation job[ROUND]) {
    size_t jobs = 0;
    for (size_t i = 0; i < p->machines && jobs < ROUND; i++) {
        const struct plan_machine *m = &p->machine[i];
        bool run = m->result[PLAN_SHORT].done && !m->result[PLAN_FULL].done;
        if (run && m->state == PLAN_MISSES && is_near(&m->result[PLAN_SHORT]) &&
            (best == SIZE_MAX || plan_hourly(m) < plan_hourly(&p->machine[best])))
            job[jobs++] = (struct plan_simulation){i, PLAN_FULL};
    }
    return jobs;
}

/* An estimate for the line of progress: what is left halves with each round. */
static void expect(struct plan *p, size_t best) {
    size_t open = 0, rest = FRONT_MOST / 2 + ROUND;
    for (size_t i = 0; i < p->machines; i++) open += is_open(p, i, best);
    p->sweep.line.total = p->sweep.line.finished + open / 3 + rest;
}

static void find_cheapest(struct plan *p) {
    struct plan_simulation job[ROUND];
    while (!p->sweep.stopped) {
        size_t best = plan_cheapest(p), jobs = choose(p, best, job);
        expect(p, best);
        if (jobs == 0) jobs = choose_near(p, best, job);
        if (jobs == 0 && best != SIZE_MAX && !p->machine[best].result[PLAN_FULL].done)
            job[jobs++] = (struct plan_simulation){best, PLAN_FULL};
        if (jobs == 0) break;
        run_jobs(p, job, jobs);
    }
    p->pick = plan_cheapest(p);
}

/* ---- beside the answer ---- */

/* By the curve no machine that costs no more beats it in everything. */
static bool expected_on_front(const struct plan *p, size_t i) {
    const struct plan_machine *m = &p->machine[i];
    for (size_t k = 0; k < p->machines; k++) {
        const struct plan_machine *o = &p->machine[k];
        bool run = k == p->pick || o->state == PLAN_OPEN || o->state == PLAN_MEETS;
        if (k != i && run && o->hourly <= m->hourly && o->watts <= m->watts &&
            o->predicted_s <= m->predicted_s)
            return false;
    }
    return true;
}

static int by_hour(const void *a, const void *b, void *plan) {
    const struct plan *p = plan;
    size_t i = *(const size_t *)a, k = *(const size_t *)b;
    double x = p->machine[i].hourly, y = p->machine[k].hourly;
    return x != y ? (x > y) - (x < y) : (i > k) - (i < k);
}

static void run_front(struct plan *p) {
    size_t *list = mem_zalloc(p->machines + 1, sizeof *list), count = 0;
    for (size_t i = 0; i < p->machines; i++)
        if (p->machine[i].state == PLAN_OPEN && expected_on_front(p, i)) list[count++] = i;
    qsort_r(list, count, sizeof *list, by_hour, p);
    if (count > FRONT_MOST) { /* spread over what they cost */
        for (size_t i = 0; i < FRONT_MOST; i++) list[i] = list[i * (count - 1) / (FRONT_MOST - 1)];
        count = FRONT_MOST;
    }
    p->sweep.line.total = p->sweep.line.finished + count + ROUND;
    run_list(p, list, count, PLAN_SHORT);
    free(list);
}

/* The machine that comes next below the answer in what an hour costs; SIZE_MAX: none. */
static size_t next_cheaper(const struct plan *p) {
    size_t next = SIZE_MAX;
    double most = plan_hourly(&p->machine[p->pick]);
    for (size_t i = 0; i < p->machines; i++) {
        const struct plan_machine *m = &p->machine[i];
        bool less = plan_hourly(m) < most && m->state != PLAN_FAILED && m->state != PLAN_MEETS;
        if (less && (next == SIZE_MAX || plan_hourly(m) > plan_hourly(&p->machine[next]))) next = i;
    }
    return next;
}

/* One step more and one less of each part, and the next cheaper machine, which may turn out not to be it when
 * its drives' wear is known. */
static void run_beside(struct plan *p) {
    size_t list[2 * PART_KINDS], count = 0;
    for (int kind = 0; kind < PART_KINDS; kind++)
        for (int step = -1; step <= 1; step += 2) {
            size_t i = plan_beside(p, p->pick, (enum part_kind)kind, step);
            if (i != SIZE_MAX && !has_run(&p->machine[i])) list[count++] = i;
        }
    p->sweep.line.total = p->sweep.line.finished + count + 1;
    run_list(p, list, count, PLAN_SHORT);
    for (p->cheaper = next_cheaper(p);
         p->cheaper != SIZE_MAX && !has_run(&p->machine[p->cheaper]) && !p->sweep.stopped;
         p->cheaper = next_cheaper(p)) {
        p->sweep.line.total = p->sweep.line.finished + 1;
        run_list(p, &p->cheaper, 1, PLAN_SHORT);
    }
}

/* The measure in which the answer's two simulations are farthest apart. */
static void compare_lengths(struct plan *p) {
    const struct plan_result *a = &p->machine[p->pick].result[PLAN_SHORT],
                             *b = &p->machine[p->pick].result[PLAN_FULL];
    struct {
        const char *name;
        double a, b;
    } pair[] = {{"throughput", a->tok_s, b->tok_s}, {"TTFT P95", a->ttft_ms, b->ttft_ms}};
    p->disagree = NAN;
    for (size_t i = 0; i < sizeof pair / sizeof *pair && a->done && b->done; i++) {
        double apart = pair[i].b > 0 ? pair[i].a / pair[i].b - 1 : NAN;
        if (!isnan(apart) && (isnan(p->disagree) || fabs(apart) > fabs(p->disagree))) {
            p->disagree = apart;
            p->disagree_in = pair[i].name;
        }
    }
}

void plan_search(struct plan *p) {
    measures_name(p);
    sweep_line_begin(&p->sweep, 0);
    p->cheaper = SIZE_MAX;
    do { /* a machine beside the answer may turn out to be a better one after all */
        find_cheapest(p);
        if (p->pick == SIZE_MAX || p->sweep.stopped) break;
        run_front(p);
        run_beside(p);
    } while (plan_cheapest(p) != p->pick && !p->sweep.stopped);
    if (p->pick != SIZE_MAX) compare_lengths(p);
    p->sweep.line.total = p->sweep.line.finished; /* no more come: it was an estimate */
    sweep_show_points(&p->sweep);
    sweep_line_end(&p->sweep);
}

/* ---- the front ---- */

bool plan_on_front(const struct plan *p, size_t machine) {
    const struct plan_machine *m = &p->machine[machine];
    const struct plan_result *r = plan_alike(m);
    if (m->state != PLAN_MEETS || !r) return false;
    for (size_t k = 0; k < p->machines; k++) {
        const struct plan_machine *o = &p->machine[k];
        const struct plan_result *q = plan_alike(o);
        if (k == machine || o->state != PLAN_MEETS || !q) continue;
        bool no_worse = q->per_mtok <= r->per_mtok && q->ttft_ms <= r->ttft_ms && o->watts <= m->watts;
        bool same = q->per_mtok == r->per_mtok && q->ttft_ms == r->ttft_ms && o->watts == m->watts;
        if (no_worse && (!same || k < machine)) return false;
    }
    return true;
}
