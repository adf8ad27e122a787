#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare/comparison_parts.h"

static void fail(struct comparison *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void fail(struct comparison *c, const char *fmt, ...) {
    char text[600];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    c->failure = mem_realloc(c->failure, (c->failures + 1) * sizeof *c->failure);
    c->failure[c->failures++] = mem_strdup(text);
}

/* Nothing can be held against a run that did not get to its end. */
static void check_side(struct comparison *c, const struct comparison_side *s) {
    static const char *const ends[] = {[RUN_RUNNING] = "still goes on",
                                       [RUN_COMPLETED] = "is complete",
                                       [RUN_INTERRUPTED] = "was interrupted",
                                       [RUN_FAILED] = "failed",
                                       [RUN_CRASHED] = "crashed"};
    if (s->trials && !s->complete)
        fail(c, "%s: none of %zu trials is complete.", s->label, s->trials);
    else if (s->failed)
        fail(c, "%s: %zu of %zu trials failed.", s->label, s->failed, s->trials);
    else if (!s->trials && s->status != RUN_COMPLETED)
        fail(c, "%s %s.", s->label, ends[s->status]);
    else if (s->late && s != c->side)
        fail(c, "%s: %zu of %zu trials ended before all requests were done, and %s in no average.", s->label,
             s->late, s->trials, s->late == 1 ? "is" : "are");
    else if (s->undone_more && comparison_side_failed(c->side))
        return;
    else if (s->undone_more && s->undone[0])
        fail(c, "%s left more undone than %s: %s.", s->label, c->side[0].label, s->undone);
    else if (s->undone_more) {
        struct buf flaw = {0};
        comparison_put_flaw(s, s->flaw, &flaw);
        fail(c, "%s.", buf_text(&flaw));
        buf_free(&flaw);
    } else if (s->idle_misses) {
        struct buf idle = {0};
        comparison_put_idle(c, (size_t)(s - c->side), &idle);
        fail(c, "%s left more undone than %s: %s.", s->label, c->side[0].label, buf_text(&idle));
        buf_free(&idle);
    } else if (s->less_served[0])
        fail(c, "%s serves class %s less often than %s: %.0f requests done after %.0f.", s->label,
             s->less_served, c->side[0].label, s->served, s->served_base);
    else if (s != c->side && comparison_leaves_more_waiting(c, (size_t)(s - c->side)))
        fail(c, "%s left more requests waiting than %s, beyond chance.", s->label, c->side[0].label);
}

/* Whether the noise of a side is known of any metric that is held. */
static bool noise_known(const struct comparison *c, size_t side) {
    for (size_t i = 0; i < c->limits; i++) {
        const struct comparison_metric *m = comparison_metric(c, c->limit[i].metric);
        if (m && m->change[side].noise != COMPARISON_UNKNOWN) return true;
    }
    return false;
}

/* So many times, beside what less work explains, are no noise where nothing else tells either, nor where
 * other metrics do. */
#define CLEAR        2.0
#define CLEAR_BESIDE 3.0
static bool clear_alone(const struct comparison *c, const struct comparison_metric *m, size_t side) {
    const struct comparison_change *v = &m->change[side];
    bool unbounded = v->reason == COMPARISON_OPEN || v->reason == COMPARISON_LEAVING;
    double clear = noise_known(c, side) ? CLEAR_BESIDE : CLEAR;
    return unbounded && comparison_times(m, side) > clear * fmax(v->explained, 1);
}

/* Whether a change beyond its limit is left alone, since nothing could be told of it, and says so. */
static bool left_unheld(struct comparison *c, const struct comparison_limit *limit, size_t side,
                        const struct comparison_metric *m) {
    const struct comparison_change *change = &m->change[side];
    bool told = change->noise == COMPARISON_BEYOND || isnan(change->relative);
    if (clear_alone(c, m, side)) return false;
    if (change->reason != COMPARISON_TOLD)
        comparison_note(c, "%s of %s is not held to its limit: %s.", limit->metric, c->side[side].label,
                        comparison_reason_text(change->reason));
    else if (limit->usual && !told && fabs(change->relative) > limit->most && noise_known(c, side))
        comparison_note(
            c,
            "%s of %s is not held to its limit: its noise is not known, as that of others is; --metric %s "
            "holds it.",
            limit->metric, c->side[side].label, limit->metric);
    else
        return false;
    c->unheld++;
    return true;
}

static const char *has_or_have(const char *label) {
    return strncmp(label, "runs", 4) == 0 ? "have" : "has";
}

/* By how much it is worse, less what work that was not done explains. */
static double excess(const struct comparison_metric *m, size_t side) {
    const struct comparison_change *v = &m->change[side];
    double times = comparison_times(m, side) / v->explained;
    if (!(v->explained > 1)) return fabs(v->relative);
    return v->absolute > 0 ? times - 1 : 1 - 1 / times;
}

static void put_excess(struct comparison *c, const struct comparison_limit *limit, size_t side,
                       const struct comparison_metric *m) {
    const struct comparison_change *change = &m->change[side];
    struct format_cell from = format_measure(m->change[0].value, m->unit, m->metric),
                       to = format_measure(change->value, m->unit, m->metric);
    const char *noise = change->noise == COMPARISON_BEYOND   ? "beyond noise"
                        : change->noise == COMPARISON_WITHIN ? "beyond noise at 95 %, not at 99 %"
                                                             : "noise not known",
               *label = c->side[side].label;
    char explained[80] = "";
    if (change->explained > 1)
        snprintf(explained, sizeof explained, "; less work explains %s at most",
                 format_times(change->explained).text);
    if (isnan(change->relative)) /* from nothing to something */
        fail(c, "%s is worse in %s: %s, not %s (%s).", m->metric, label, to.text, from.text, noise);
    else if (excess(m, side) > limit->most)
        fail(c, "%s is worse in %s: %s by %.1f %% from %s to %s, where %.4g %% is allowed (%s%s).", m->metric,
             label, change->relative > 0 ? "up" : "down", 100 * fabs(change->relative), from.text, to.text,
             100 * limit->most, noise, explained);
}

/* Noise of more than a limit hides a change of several limits: that is told neither way. One of half, or to
 * twice as much, that an interval of 95 % leaves no doubt of fails. */
#define SEVERAL 2.0
static void check_within(struct comparison *c, const struct comparison_limit *limit, size_t side,
                         const struct comparison_metric *m) {
    const struct comparison_change *v = &m->change[side];
    bool wide = !((v->high - v->low) / 2 <= limit->most);
    if (!wide || isnan(v->relative) || !(fabs(v->relative) > SEVERAL * limit->most)) return;
    if (comparison_times(m, side) >= 2 && (v->low > 0 || v->high < 0)) {
        put_excess(c, limit, side, m);
        return;
    }
    comparison_note(c, "%s of %s is not held to its limit: it is worse by more, and its noise is larger.",
                    limit->metric, c->side[side].label);
    c->unheld++;
}

static void check_metric(struct comparison *c, const struct comparison_limit *limit, size_t side) {
    const struct comparison_metric *m = comparison_metric(c, limit->metric);
    const struct comparison_side *base = &c->side[0], *other = &c->side[side];
    double before = m ? m->change[0].value : KVF_MISSING, now = m ? m->change[side].value : KVF_MISSING;
    if (isnan(before) && isnan(now)) return;
    if (isnan(before) || isnan(now)) {
        const char *without = isnan(now) ? other->label : base->label,
                   *with = isnan(now) ? base->label : other->label;
        fail(c, "%s %s no %s, which %s %s.", without, has_or_have(without), limit->metric, with,
             has_or_have(with));
        return;
    }
    const struct comparison_change *change = &m->change[side];
    if (change->reason == COMPARISON_UNITS) {
        (void)left_unheld(c, limit, side, m); /* whichever way it went */
        return;
    }
    if (change->direction != COMPARISON_WORSENED) return;
    if (change->noise == COMPARISON_WITHIN) {
        check_within(c, limit, side, m);
        return;
    }
    if (left_unheld(c, limit, side, m)) return;
    put_excess(c, limit, side, m);
}

struct check_mark {
    size_t failures, unheld;
};

static struct check_mark mark_of(const struct comparison *c) {
    return (struct check_mark){c->failures, c->unheld};
}

/* Whatever follows belongs to this case. */
static void add_case(struct comparison *c, size_t side, const char *name, const struct check_mark *before) {
    c->held = mem_realloc(c->held, (c->cases + 1) * sizeof *c->held);
    struct comparison_case *one = &c->held[c->cases++];
    *one = (struct comparison_case){.side = side};
    snprintf(one->name, sizeof one->name, "%s", name);
    if (c->failures > before->failures) {
        one->state = COMPARISON_EXCEEDED;
        one->text = mem_strdup(c->failure[c->failures - 1]);
    } else if (c->unheld > before->unheld) {
        one->state = COMPARISON_UNHELD;
        one->text = mem_strdup(c->note[c->notes - 1]);
    }
}

/* A limit holds nothing against a side that failed; the run itself has failed the check before. */
static bool put_failed_case(struct comparison *c, size_t side, const char *name) {
    const struct comparison_side *base = &c->side[0], *own = &c->side[side];
    const struct comparison_side *failed = comparison_side_failed(base)  ? base
                                           : comparison_side_failed(own) ? own
                                                                         : NULL;
    char text[160];
    if (!failed) return false;
    struct check_mark none = mark_of(c);
    add_case(c, side, name, &none);
    snprintf(text, sizeof text, "%s is not compared: %s failed.", name, failed->label);
    c->held[c->cases - 1].state = COMPARISON_EXCEEDED;
    c->held[c->cases - 1].text = mem_strdup(text);
    return true;
}

/* Of the usual limits: what is worse beyond noise for the targets of a class, for goodput, and for the
 * slowest requests is held as well. */
static void check_targets(struct comparison *c, double most, size_t side) {
    for (size_t i = 0; i < c->metrics; i++) {
        const struct comparison_metric *m = &c->metric[i];
        const struct comparison_change *v = &m->change[side];
        bool held = (strncmp(m->metric, "slo_", 4) == 0 && buf_ends_with(m->metric, "_met_ratio")) ||
                    strcmp(m->metric, "goodput_per_s") == 0 || strcmp(m->metric, "e2e_p99_ms") == 0;
        if (!held || v->noise != COMPARISON_BEYOND || v->direction != COMPARISON_WORSENED) continue;
        struct comparison_limit limit = {.most = most, .usual = true};
        snprintf(limit.metric, sizeof limit.metric, "%s", m->metric);
        struct check_mark before = mark_of(c);
        check_metric(c, &limit, side);
        add_case(c, side, m->metric, &before);
    }
}

/* Of the usual limits: documents that it does not find are work that it leaves out. Their lookups are few of
 * all, so that no hit ratio shows it. */
static void check_chunks(struct comparison *c, double most, size_t side) {
    const struct comparison_side *own = &c->side[side], *base = c->side;
    struct check_mark before = mark_of(c);
    if (!own->loses_chunks || !(1 - own->chunk_hits / base->chunk_hits > most)) return;
    fail(
        c,
        "%s: lookups of document chunks hit less often than in %s, %s after %s, where %.4g %% less is allowed (beyond noise).",
        own->label, base->label, format_percent(own->chunk_hits).text, format_percent(base->chunk_hits).text,
        100 * most);
    add_case(c, side, "rag_hits", &before);
}

void comparison_check(struct comparison *c, const struct comparison_limit *limit, size_t limits) {
    c->checked = true;
    c->limit = mem_alloc((limits + 1) * sizeof *c->limit);
    memcpy(c->limit, limit, limits * sizeof *c->limit);
    c->limits = limits;
    for (size_t s = 0; s < c->sides; s++) {
        struct check_mark before = mark_of(c);
        check_side(c, &c->side[s]);
        add_case(c, s, "completed", &before);
    }
    for (size_t s = 1; s < c->sides; s++)
        for (size_t i = 0; i < limits; i++) {
            if (put_failed_case(c, s, limit[i].metric)) continue;
            struct check_mark before = mark_of(c);
            check_metric(c, &limit[i], s);
            add_case(c, s, limit[i].metric, &before);
        }
    for (size_t s = 1; s < c->sides && limits > 0 && limit[0].usual; s++)
        if (!comparison_side_failed(&c->side[0]) && !comparison_side_failed(&c->side[s])) {
            check_targets(c, limit[0].most, s);
            check_chunks(c, limit[0].most, s);
        }
    bool any = false;
    for (size_t i = 0; i < limits; i++) any = any || comparison_metric(c, limit[i].metric);
    if (!any && !c->failures) fail(c, "None of the runs has a metric that is watched.");
}
