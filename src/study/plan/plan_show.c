#include <math.h>
#include <stddef.h>
#include <stdio.h>

#include "study/plan/plan.h"

static const struct plan *plan_of(const struct sweep *s) {
    return (const struct plan *)(const void *)((const char *)s - offsetof(struct plan, sweep));
}

enum { TTFT, HOURLY, TOK_S, SHOWN };

static void plan_head(const struct sweep *s, struct board_head *h) {
    static const char *const names[SHOWN] = {"ttft_p95_ms", "", "throughput_tok_s"};
    static const char *const titles[SHOWN] = {"TTFT P95", "an hour", "tokens/s"}, *const units[SHOWN] = {
                                                                                      "ms", "", "tok/s"};
    const struct plan *p = plan_of(s);
    h->unstored = true;
    h->ranked = false; /* the cheapest that meets the targets is no single measure's best */
    for (h->measures = 0; h->measures < SHOWN; h->measures++) {
        struct board_measure *m = &h->measure[h->measures];
        snprintf(m->name, sizeof m->name, "%s", names[h->measures]);
        snprintf(m->title, sizeof m->title, "%s", titles[h->measures]);
        snprintf(m->unit, sizeof m->unit, "%s",
                 h->measures == HOURLY ? p->parts.currency : units[h->measures]);
    }
    snprintf(h->axis, sizeof h->axis, "cost of an hour, of machines on the front");
    snprintf(h->axis_unit, sizeof h->axis_unit, "%s", p->parts.currency);
    h->lines = 0;
    size_t best = plan_cheapest(p);
    struct buf name = {0};
    if (best != SIZE_MAX) plan_name(p, &p->machine[best], &name);
    if (best != SIZE_MAX)
        snprintf(h->now, sizeof h->now, "Cheapest so far within every P95 target: %.80s, %.3g %.7s an hour",
                 buf_text(&name), plan_hourly(&p->machine[best]), p->parts.currency);
    else
        snprintf(h->now, sizeof h->now, "No machine so far is within every P95 target");
    buf_free(&name);
}

static void plan_row(const struct sweep *s, size_t i, struct board_row *r) {
    const struct plan *p = plan_of(s);
    const struct plan_simulation *of = &p->simulation[i];
    const struct plan_machine *m = &p->machine[of->machine];
    const struct plan_result *result = &m->result[of->length];
    struct buf name = {0};
    char verdict[200];
    plan_name(p, m, &name);
    snprintf(r->label, sizeof r->label, "%.80s%s", buf_text(&name),
             of->length == PLAN_FULL ? ", in full" : "");
    buf_free(&name);
    r->line = 0;
    r->x = NAN;
    for (unsigned k = 0; k < SHOWN; k++) r->value[k] = NAN;
    if (!result->done) return;
    r->value[TTFT] = result->ttft_ms;
    r->value[HOURLY] = result->hourly;
    r->value[TOK_S] = result->tok_s;
    if (result == plan_alike(m) && plan_on_front(p, of->machine)) r->x = result->hourly;
    snprintf(r->note, sizeof r->note, "%s", plan_verdict(p, m, verdict));
}

const struct sweep_study plan_study = {
    .kind = "plan", .point = "machine", .head = plan_head, .row = plan_row};

void plan_show_end(struct plan *p) {
    struct buf sentence = {0};
    plan_sentence(p, &sentence);
    if (p->sweep.showing.board)
        board_end(p->sweep.showing.board, p->sweep.record.status, buf_text(&sentence));
    buf_free(&sentence);
}
