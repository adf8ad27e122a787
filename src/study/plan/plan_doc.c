#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "study/plan/plan.h"

/* Simulations farther apart than that are told. */
#define APART_MOST 0.1

/* ---- texts ---- */

static struct format_cell money(const struct plan *p, double v) {
    struct format_cell c;
    if (!isfinite(v))
        snprintf(c.text, sizeof c.text, "--");
    else
        snprintf(c.text, sizeof c.text,
                 v < 1      ? "%.3f %s"
                 : v < 1000 ? "%.2f %s"
                            : "%.0f %s",
                 v, p->parts.currency);
    return c;
}

static struct format_cell beyond(double over) {
    struct format_cell c;
    if (isinf(over))
        snprintf(c.text, sizeof c.text, "with no request done");
    else
        snprintf(c.text, sizeof c.text, "by %.0f %%", 100 * over);
    return c;
}

static struct format_cell years(double v) {
    struct format_cell c;
    if (isnan(v))
        snprintf(c.text, sizeof c.text, "--");
    else if (v > 100)
        snprintf(c.text, sizeof c.text, "over 100 years");
    else
        snprintf(c.text, sizeof c.text, "%.1f years", v);
    return c;
}

/* "1 x H100 with 512 GiB of DDR5 carries 400 users", "2 x H100 ... carry". */
static bool is_one(const struct plan *p, const struct plan_machine *m) {
    return plan_servers(p, m) == 1 && p->option[PART_GPU][m->at[PART_GPU]].count == 1;
}

static struct format_cell watts(double v) {
    struct format_cell c;
    snprintf(c.text, sizeof c.text, "%.0f W", v);
    return c;
}

static void put_load(const struct plan *p, struct buf *out) {
    const struct scenario *s = &p->sweep.base.scenario;
    if (s->workload.arrival.process == KVF_ARRIVAL_TRACE)
        buf_add(out, "the trace");
    else if (scenario_at_rate(s))
        buf_addf(out, "%g requests a second", s->workload.arrival.rate);
    else
        buf_addf(out, "%" PRIu64 " user%s", s->workload.users, s->workload.users == 1 ? "" : "s");
}

/* A short simulation may be far from the full one where a load is hardly carried. */
static void put_miss(const struct plan *p, const struct plan_machine *m, struct buf *out) {
    const struct plan_result *r = plan_result(m);
    char undone[STANDING_TEXT];
    if (r->over > 0)
        buf_addf(out, "misses %s P95 %s%s", p->klass[r->worst].name, beyond(r->over).text,
                 r == &m->result[PLAN_SHORT] ? " in the search's short simulation" : "");
    else if (plan_undone(r, undone)[0])
        buf_addf(out, "is not comparable: %s", undone);
    else if (!r->judged[r->worst])
        buf_addf(out, "leaves %s P95 not judged: the run is too short", p->klass[r->worst].name);
    else
        buf_addf(out, "misses %s P95 when the requests still waiting at the end count",
                 p->klass[r->worst].name);
}

/* The machine that comes nearest to its targets, when none meets them. */
static size_t nearest(const struct plan *p) {
    size_t best = SIZE_MAX;
    for (size_t i = 0; i < p->machines; i++) {
        const struct plan_result *r = plan_result(&p->machine[i]);
        const struct plan_result *of = best != SIZE_MAX ? plan_result(&p->machine[best]) : NULL;
        /* of two without any request of a class done, the one that does more */
        if (r && (!of || r->over < of->over || (r->over == of->over && r->tok_s > of->tok_s))) best = i;
    }
    return best;
}

static void put_cheaper(const struct plan *p, struct buf *out) {
    const struct plan_machine *m = p->cheaper != SIZE_MAX ? &p->machine[p->cheaper] : NULL;
    if (!m) {
        buf_add(out, "; no machine of the catalogue is cheaper.");
        return;
    }
    buf_add(out, "; the next cheaper, ");
    plan_phrase(p, m, out);
    buf_add(out, ", ");
    if (plan_result(m))
        put_miss(p, m, out);
    else
        buf_add(out, "was not simulated");
    buf_add(out, ".");
}

void plan_sentence(const struct plan *p, struct buf *out) {
    if (p->pick == SIZE_MAX) {
        size_t near = nearest(p);
        buf_add(out, p->sweep.stopped ? "Stopped before a machine was found that carries "
                                      : "No machine of the catalogue carries ");
        put_load(p, out);
        buf_add(out, " within every P95 target");
        if (near != SIZE_MAX) {
            buf_add(out, "; the nearest, ");
            plan_phrase(p, &p->machine[near], out);
            buf_add(out, ", ");
            put_miss(p, &p->machine[near], out);
        }
        buf_add(out, ".");
        return;
    }
    const struct plan_machine *m = &p->machine[p->pick];
    plan_phrase(p, m, out);
    buf_add(out, is_one(p, m) ? " carries " : " carry ");
    put_load(p, out);
    buf_addf(out, " within every P95 target%s at %s a million tokens",
             plan_result(m)->filled > 0 ? ", while a tier still filled," : "",
             money(p, plan_result(m)->per_mtok).text);
    if (p->sweep.stopped)
        buf_add(out, "; the search was stopped, a cheaper machine may be left.");
    else
        put_cheaper(p, out);
}

/* ---- tables ---- */

static void say_miss(const struct plan *p, const struct plan_result *r, char out[200]) {
    char undone[STANDING_TEXT];
    if (r->over > 0)
        snprintf(out, 200, "misses %s %s", p->klass[r->worst].name, beyond(r->over).text);
    else if (plan_undone(r, undone)[0])
        snprintf(out, 200, "%.190s", undone);
    else if (!r->judged[r->worst])
        snprintf(out, 200, "%s not judged: the run is too short", p->klass[r->worst].name);
    else
        snprintf(out, 200, "misses %s: requests still wait at the end", p->klass[r->worst].name);
}

const char *plan_verdict(const struct plan *p, const struct plan_machine *m, char out[200]) {
    struct buf name = {0};
    if (m->by != SIZE_MAX) plan_name(p, &p->machine[m->by], &name);
    switch (m->state) {
    case PLAN_MEETS:
        snprintf(out, 200, "meets every P95 target");
        break;
    case PLAN_MISSES:
        say_miss(p, plan_result(m), out);
        break;
    case PLAN_FAILED:
        snprintf(out, 200, "cannot run: %.180s",
                 m->why[0] ? m->why : p->option[PART_GPU][m->at[PART_GPU]].refused);
        break;
    case PLAN_WEAKER:
        snprintf(out, 200, "has less than %.150s", buf_text(&name));
        break;
    case PLAN_POINTLESS:
        snprintf(out, 200, "keeps no more than %.150s", buf_text(&name));
        break;
    case PLAN_OPEN:
        snprintf(out, 200, "not simulated");
        break;
    }
    buf_free(&name);
    return out;
}

/* A table of machines: their parts, and how many servers where that is a choice; then `columns`. */
static void begin_machines(const struct plan *p, const char *caption, const char *columns, struct doc *d) {
    doc_table(d, caption,
              p->options_of[PART_SERVER] > 1 ? "GPUs|memory|drives|>servers" : "GPUs|memory|drives");
    doc_columns(d, columns);
}

static void put_parts(const struct plan *p, const struct plan_machine *m, struct doc *d) {
    int kinds = p->options_of[PART_SERVER] > 1 ? (int)PART_KINDS : (int)PART_BUILT_IN;
    for (int kind = 0; kind < kinds; kind++) doc_cell(d, p->option[kind][m->at[kind]].name);
}

static void put_ms(double ms, bool met, struct doc *d) {
    doc_cell_tone(d, met ? DOC_PLAIN : DOC_WARN, isnan(ms) ? NULL : format_ms(ms).text);
}

struct priced {
    double hourly;
    size_t machine;
};

static int by_hour(const void *a, const void *b) {
    const struct priced *x = a, *y = b;
    if (x->hourly != y->hourly) return (x->hourly > y->hourly) - (x->hourly < y->hourly);
    return (x->machine > y->machine) - (x->machine < y->machine);
}

/* All machines by what an hour of them costs; the caller's to free. */
static struct priced *by_price(const struct plan *p) {
    struct priced *all = mem_zalloc(p->machines + 1, sizeof *all);
    for (size_t i = 0; i < p->machines; i++) all[i] = (struct priced){plan_hourly(&p->machine[i]), i};
    qsort(all, p->machines, sizeof *all, by_hour);
    return all;
}

/* Cost against time to first token of all machines that meet the targets. The line holds the best time that a
 * cost buys. */
static void put_chart(const struct plan *p, struct doc *d) {
    size_t count[3] = {0};
    struct plot *plot = plot_new(PLOT_LINES, "Cost against time to first token");
    static const char *const names[3] = {"front", "on the front for its power", "meets the targets"};
    struct plot_line *line[3];
    plot_axis(&plot->x, "cost of a million tokens", "");
    plot_axis(&plot->y, "TTFT P95", "ms");
    plot_caption(
        plot,
        "In %s. Each mark is a simulated machine that meets every P95 target. No machine is below and left of the line.",
        p->parts.currency);
    struct priced *all = by_price(p);
    for (size_t i = 0; i < p->machines; i++) {
        const struct plan_result *r = plan_alike(&p->machine[i]);
        all[i].hourly = r ? r->per_mtok : INFINITY;
        all[i].machine = i;
    }
    qsort(all, p->machines, sizeof *all, by_hour);
    for (unsigned k = 0; k < 3; k++) {
        double least = INFINITY;
        line[k] = plot_line_room(plot, names[k], p->machines, true);
        for (size_t i = 0; i < p->machines; i++) {
            const struct plan_machine *m = &p->machine[all[i].machine];
            const struct plan_result *r = plan_alike(m);
            if (m->state != PLAN_MEETS || !r) continue;
            bool best = r->ttft_ms < least;
            least = best ? r->ttft_ms : least;
            unsigned kind = best ? 0 : plan_on_front(p, all[i].machine) ? 1 : 2;
            if (kind != k) continue;
            line[k]->x[count[k]] = r->per_mtok;
            line[k]->y[count[k]++] = r->ttft_ms;
        }
        line[k]->count = count[k];
        line[k]->marks = line[k]->steps = k == 0;
        line[k]->dots = k > 0;
    }
    doc_plot(d, plot);
    free(all);
}

static void put_front(const struct plan *p, struct doc *d) {
    struct priced *all = by_price(p);
    doc_section(d, 1, "Pareto front");
    doc_text(
        d, DOC_PLAIN,
        "Of the machines that were simulated and meet every P95 target, no other beats these in cost, time to "
        "first token and power at once. The answer costs least an hour.");
    if (p->machine[p->pick].result[PLAN_SHORT].done)
        doc_text(
            d, DOC_PLAIN,
            "Figures here are those of the search's short simulation, the same part of the load for all.");
    begin_machines(p, "Machines on the front", ">a million tokens|>an hour|>TTFT P95|>power|>drives last", d);
    for (size_t i = 0; i < p->machines; i++) {
        const struct plan_machine *m = &p->machine[all[i].machine];
        const struct plan_result *r = plan_alike(m);
        if (!plan_on_front(p, all[i].machine) && all[i].machine != p->pick) continue;
        put_parts(p, m, d);
        doc_cell(d, money(p, r->per_mtok).text);
        doc_cell(d, money(p, r->hourly).text);
        put_ms(r->ttft_ms, true, d);
        doc_cell(d, watts(m->watts).text);
        doc_cell(d, isnan(r->years) ? NULL : years(r->years).text);
    }
    free(all);
    put_chart(p, d);
}

/* ---- around the answer ---- */

static void put_change(const struct plan *p, const char *what, size_t i, struct doc *d) {
    const struct plan_machine *m = &p->machine[i], *pick = &p->machine[p->pick];
    bool full = m->result[PLAN_FULL].done && pick->result[PLAN_FULL].done; /* as the verdict has it */
    const struct plan_result *r = full ? &m->result[PLAN_FULL] : plan_alike(m);
    const struct plan_result *of = full ? &pick->result[PLAN_FULL] : plan_alike(pick);
    char hour[40], state[200], ttft[40];
    snprintf(hour, sizeof hour, "%+.1f %%", 100 * (r ? r->hourly / of->hourly - 1 : (double)NAN));
    if (r) snprintf(ttft, sizeof ttft, "%+.1f %%", 100 * (r->ttft_ms / of->ttft_ms - 1));
    doc_cell(d, what);
    doc_cell(d, r ? hour : NULL);
    doc_cell(d, r && isfinite(r->ttft_ms) ? ttft : NULL);
    doc_cell(d, r && isfinite(r->ttft_ms) ? format_ms(r->ttft_ms).text : NULL);
    doc_cell(d, plan_verdict(p, m, state));
}

static void put_beside(const struct plan *p, struct doc *d) {
    doc_section(d, 1, "One step more, one step less");
    doc_text(
        d, DOC_PLAIN,
        "Each change is between simulations of one length: full ones where both were made, else short ones.");
    doc_table(d, "The answer with one part changed", "change|>an hour|>TTFT P95|>then|verdict");
    for (int kind = 0; kind < PART_KINDS; kind++)
        for (int step = -1; step <= 1; step += 2) {
            size_t i = plan_beside(p, p->pick, (enum part_kind)kind, step);
            char what[120];
            if (i == SIZE_MAX) continue;
            const struct plan_option *o = &p->option[kind][p->machine[i].at[kind]];
            snprintf(what, sizeof what, "%s%s", o->name,
                     kind == PART_SERVER  ? o->count > 1 ? " servers" : " server"
                     : o->part            ? ""
                     : kind == PART_DRIVE ? " of the drives"
                                          : " of the memory");
            put_change(p, what, i, d);
        }
}

static void put_even(const struct plan *p, struct doc *d) {
    doc_section(d, 1, "Loading or recomputing");
    doc_text(
        d, DOC_PLAIN,
        "The GPUs compute %s tokens of a prompt a second; loading what they have computed before pays where a "
        "tier is faster.",
        format_tok_s(p->prefill_tok_s).text);
    doc_table(d, "Load times of each tier without other requests",
              "tier|>tokens loaded a second|>times computing");
    for (unsigned i = 0; i < p->evens; i++) {
        doc_cell(d, p->even[i].tier);
        doc_cell(d, format_tok_s(p->even[i].load_tok_s).text);
        doc_cell(d, format_times(p->even[i].load_tok_s / p->prefill_tok_s).text);
    }
}

/* A machine that keeps less then has less to do. */
static void put_not_computed(const struct plan_result *r, struct doc *d) {
    if (!(r->not_computed > 0)) return;
    if (r->chunk_misses >= r->not_computed)
        doc_text(
            d, DOC_WARN,
            "%s lookups of document chunks missed, and nothing is computed again for them: a machine that "
            "keeps less looks faster.",
            format_count(r->chunk_misses).text);
    else
        doc_text(
            d, DOC_WARN,
            "%s lookups missed, and at granularity request nothing is computed again for them: a machine that "
            "keeps less looks faster. Set cache.granularity: block to have all of it computed%s.",
            format_count(r->not_computed).text, r->chunk_misses > 0 ? " but document chunks" : "");
}

/* The first machine whose requests were larger than those of the answer, in simulations of one length. */
static void put_smaller(const struct plan *p, struct doc *d) {
    const struct plan_machine *pick = &p->machine[p->pick];
    for (int k = 0; k < PLAN_LENGTHS; k++)
        for (size_t i = 0; i < p->machines && pick->result[k].done; i++) {
            const struct work *own = &pick->result[k].work, *other = &p->machine[i].result[k].work;
            char text[WORK_TEXT];
            struct buf name = {0};
            if (!p->machine[i].result[k].done || !work_smaller(own, other, true)) continue;
            plan_phrase(p, &p->machine[i], &name);
            doc_text(d, DOC_WARN,
                     "Its requests were %s than those on %s: %s. Smaller requests take less time; a load "
                     "whose users do not wait for answers is the same on every machine.",
                     work_word(own, other, true), buf_text(&name), work_text(own, other, true, text));
            buf_free(&name);
            return;
        }
}

/* A cache that has room left evicts nothing yet, and its machine looks larger than it is. */
static void put_agreement(const struct plan *p, const struct plan_result *r, struct doc *d) {
    struct buf text = {0};
    char warmup[24];
    bool filling = r->filled > 0;
    enum scenario_arrival process = p->sweep.base.scenario.workload.arrival.process;
    if (!isnan(p->disagree)) {
        buf_addf(&text,
                 "by the full simulation, from which the short one of the search differs by %.1f %% in %s",
                 100 * fabs(p->disagree), p->disagree_in);
        doc_fact(d, filling ? "Not confirmed" : "Confirmed", buf_text(&text));
        buf_free(&text);
        if (fabs(p->disagree) > APART_MOST)
            doc_text(d, DOC_WARN,
                     "The two simulations are far apart%s. Give run.duration or run.warmup more time.",
                     p->cheaper == SIZE_MAX ? "" : ": the search may have missed a cheaper machine");
    }
    if (filling)
        doc_text(
            d, DOC_WARN,
            "A tier filled by %s of its room in the measured part, so the figures are in part those of a "
            "cache with room left, and once it is full the machine may miss targets. Make run.warmup %s or longer%s.",
            format_percent(r->filled).text, units_duration_human(r->full_s * 1e9, warmup, sizeof warmup),
            process == KVF_ARRIVAL_TRACE ? ", with as long a recording" : "");
}

static void put_answer(const struct plan *p, struct doc *d) {
    const struct plan_machine *m = &p->machine[p->pick];
    const struct plan_result *r = plan_result(m);
    const struct plan_option *drives = &p->option[PART_DRIVE][m->at[PART_DRIVE]];
    struct buf text = {0};
    char size[24];
    doc_tile(d, "a million tokens", money(p, r->per_mtok).text, "hardware written off, and electricity");
    doc_tile(d, "TTFT P95", format_ms(r->ttft_ms).text, "of all requests");
    doc_tile(d, "power", watts(m->watts).text, "as the parts are rated");
    doc_tile(d, "drives last", years(r->years).text,
             drives->part ? "by their rated endurance" : "there are none");
    doc_section(d, 1, "The answer");
    for (int kind = 0; kind < PART_KINDS; kind++) {
        static const char *const labels[PART_KINDS] = {"GPUs", "Memory", "Drives", "Servers"};
        if (kind == PART_SERVER && p->options_of[kind] == 1 && plan_servers(p, m) == 1) continue;
        doc_fact(d, labels[kind], p->option[kind][m->at[kind]].name);
    }
    buf_addf(&text, "%s to buy, %s an hour over %g years", money(p, m->price).text, money(p, r->hourly).text,
             p->parts.years);
    doc_fact(d, "Cost", buf_text(&text));
    buf_free(&text);
    buf_addf(&text, "%s tok/s, %s requests done", format_tok_s(r->tok_s).text,
             format_count(r->requests).text);
    doc_fact(d, "Throughput", buf_text(&text));
    buf_free(&text);
    put_not_computed(r, d);
    put_smaller(p, d);
    for (unsigned k = 0; k < p->classes; k++) {
        buf_addf(&text, "P95 %s of at most %s", format_ms(r->class_ms[k]).text,
                 format_ms(p->klass[k].target_ms).text);
        doc_fact(d, p->klass[k].name, buf_text(&text));
        buf_free(&text);
    }
    if (drives->part) {
        buf_addf(&text, "%s a day; rated for %s each",
                 units_size_human(r->written_per_day, size, sizeof size),
                 format_bytes(drives->part->endurance).text);
        doc_fact(d, "Written", buf_text(&text));
        buf_free(&text);
        if (r->years < p->parts.years)
            doc_text(d, DOC_WARN,
                     "The drives are worn out after %s: the cost has %.1f sets of them, for %g years.",
                     years(r->years).text, p->parts.years / r->years, p->parts.years);
    }
    put_agreement(p, r, d);
    plan_command(p, m, &text);
    doc_fact(d, "Run it", buf_text(&text));
    buf_free(&text);
}

static void put_confirmed(const struct plan *p, struct doc *d) {
    const struct plan_confirmed *c = &p->confirmed;
    if (!c->done && !c->why[0]) return;
    doc_section(d, 1, "A real run");
    if (!c->done) {
        doc_text(d, DOC_BAD, "It failed: %s", c->why);
        return;
    }
    doc_text(d, DOC_PLAIN, "%s", c->description);
    for (const char *line = buf_text(&c->scaled); *line; line += strspn(line, "\n")) {
        size_t len = strcspn(line, "\n");
        doc_text(d, DOC_WARN, "%.*s", (int)len, line);
        line += len;
    }
    doc_table(d, "The answer on this machine, real and simulated", "metric|>real|>simulated|>difference");
    for (size_t i = 0; i < sizeof c->measure / sizeof *c->measure; i++) {
        const struct plan_compared *m = &c->measure[i];
        char apart[40];
        snprintf(apart, sizeof apart, "%+.1f %%", 100 * (m->simulated / m->real - 1));
        doc_cell(d, m->name);
        doc_cell(d, isnan(m->real) ? NULL : format_measure(m->real, m->unit, m->name).text);
        doc_cell(d, isnan(m->simulated) ? NULL : format_measure(m->simulated, m->unit, m->name).text);
        doc_cell(d, isfinite(m->simulated / m->real) ? apart : NULL);
    }
}

/* ---- the rest ---- */

static void put_search(const struct plan *p, struct doc *d) {
    struct buf text = {0};
    char clock[24];
    uint64_t by_state[PLAN_POINTLESS + 1] = {0};
    for (size_t i = 0; i < p->machines; i++) by_state[p->machine[i].state]++;
    doc_section(d, 1, "How it was found");
    buf_addf(&text, "%zu within the limits", p->machines);
    static const char *const limits[] = {"GPUs", "drives", "memory", "power"};
    for (size_t i = 0; i < 4; i++)
        if (p->over_limit[i] > 0)
            buf_addf(&text, "; %" PRIu64 " left out for their %s", p->over_limit[i], limits[i]);
    doc_fact(d, "Machines", buf_text(&text));
    buf_free(&text);
    buf_addf(&text, "%" PRIu64 " in %s", p->simulated,
             units_duration_human(p->took_s * 1e9, clock, sizeof clock));
    doc_fact(d, "Simulations", buf_text(&text));
    buf_free(&text);
    buf_addf(&text,
             "%" PRIu64 " keep no more than a cheaper one on the miss-ratio curve of %s lookups; %" PRIu64
             " have less than one that misses a target; %" PRIu64
             " cost more than the answer and were not needed",
             by_state[PLAN_POINTLESS], format_exact((double)p->lookups).text, by_state[PLAN_WEAKER],
             by_state[PLAN_OPEN]);
    doc_fact(d, "Not simulated", buf_text(&text));
    buf_free(&text);
    for (unsigned g = 0; g < p->options_of[PART_GPU]; g++)
        if (p->option[PART_GPU][g].refused[0])
            doc_text(d, DOC_WARN, "%s cannot run it: %s", p->option[PART_GPU][g].name,
                     p->option[PART_GPU][g].refused);
}

static void put_all(const struct plan *p, struct doc *d) {
    struct priced *all = by_price(p);
    char text[200];
    doc_section(d, 1, "Simulated machines");
    doc_text(
        d, DOC_PLAIN,
        "A full simulation has more of the load than a short one: compare latencies of the same length only.");
    begin_machines(p, "By what an hour of them costs", ">an hour", d);
    for (unsigned k = 0; k < p->classes; k++) {
        snprintf(text, sizeof text, "%s P95", p->klass[k].name);
        doc_column(d, text, true);
    }
    doc_columns(d, "length|P95 targets");
    for (size_t i = 0; i < p->machines; i++) {
        const struct plan_machine *m = &p->machine[all[i].machine];
        const struct plan_result *r = plan_result(m);
        if (!r) continue;
        put_parts(p, m, d);
        doc_cell(d, money(p, r->hourly).text);
        for (unsigned k = 0; k < p->classes; k++) put_ms(r->class_ms[k], r->met[k], d);
        doc_cell(d, r == &m->result[PLAN_FULL] ? "full" : "short");
        bool meets = m->state == PLAN_MEETS; /* of as many columns as a screen has, the last one is short */
        doc_cell_tone(d, meets ? DOC_GOOD : DOC_WARN, meets ? "met" : plan_verdict(p, m, text));
    }
    free(all);
}

static void put_catalogue(const struct plan *p, struct doc *d) {
    static const char *const each[PART_KINDS] = {"one", "a GiB", "one", "one, with nothing built in"};
    const struct parts *c = &p->parts;
    doc_section(d, 1, "The catalogue");
    doc_text(d, DOC_PLAIN,
             "%s of %s, %s: prices in %s, written off in %g years; a kWh at %g, %g drawn for each used.",
             c->file, c->date, c->name, c->currency, c->years, c->electricity, c->pue);
    doc_table(d, "Parts", "part|>price|>power|of|source");
    for (int kind = 0; kind < PART_KINDS; kind++)
        for (unsigned i = 0; i < c->count[kind]; i++) {
            const struct part *part = &c->part[kind][i];
            char power[40];
            snprintf(power, sizeof power, "%g W", part->watts);
            doc_cell(d, part->name);
            doc_cell(d, money(p, part->price).text);
            doc_cell(d, power);
            doc_cell(d, each[kind]);
            doc_cell(d, part->source[0] ? part->source : NULL);
        }
}

struct doc *plan_doc(const struct plan *p) {
    struct buf sentence = {0}, subtitle = {0};
    const struct scenario *s = &p->sweep.base.scenario;
    bool found = p->pick != SIZE_MAX;
    plan_sentence(p, &sentence);
    buf_addf(&subtitle, "%s, parts of %s of %s; simulated, %s", s->model.preset, p->parts.name, p->parts.date,
             p->confirmed.done ? "and the answer also run for real" : "nothing was measured");
    struct doc *d = doc_new(s->name[0] ? s->name : "plan", buf_text(&subtitle));
    doc_verdict(d, found && !p->sweep.stopped ? DOC_GOOD : DOC_WARN, found ? "FOUND" : "NONE",
                buf_text(&sentence));
    buf_free(&sentence);
    buf_free(&subtitle);
    if (found) {
        put_answer(p, d);
        put_confirmed(p, d);
        put_front(p, d);
        put_beside(p, d);
        if (p->evens > 0) put_even(p, d);
    }
    put_search(p, d);
    put_all(p, d);
    put_catalogue(p, d);
    return d;
}
