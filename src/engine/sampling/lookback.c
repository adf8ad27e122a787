#include "engine/sampling/lookback.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "engine/core.h"
#include "engine/limits/breakeven.h"
#include "engine/sampling/sampler.h"
#include "engine/verdict_readings.h"

/* Marks of a span are at least a tenth of it apart; one more on either side, and the newest. */
enum { MARKS = 14, MARKS_A_SPAN = 10 };
/* Intervals of a simulation may come in thousands a second. */
static const uint64_t publish_every_ns = 100 * KVF_NS_PER_MS;

struct marks {
    uint64_t span_ns;
    struct reading mark[MARKS];
    unsigned first, count;
};

struct lookback {
    struct marks marks[WINDOWS_RUN];         /* by span; all of the run begins at p->base */
    struct windows_view view[WINDOWS_SPANS]; /* published last */
    uint64_t published_ns;
    unsigned turn; /* the span whose remedies are made anew */
};
_Static_assert(WINDOWS_RUN + 1 == WINDOWS_SPANS, "the span of all comes last");

static struct reading *mark_at(struct marks *m, unsigned i) {
    return &m->mark[(m->first + i) % MARKS];
}

/* An interval may end a little early or late: half of what lies between two marks is no reason to reach back
 * to the one before. */
static void marks_add(struct marks *m, const struct reading *now) {
    uint64_t apart_ns = m->span_ns / MARKS_A_SPAN;
    bool due = m->count == 0 || now->run_ns - mark_at(m, m->count - 1)->run_ns >= apart_ns - apart_ns / 20;
    if (due && m->count < MARKS) reading_copy(mark_at(m, m->count++), now);
    while (m->count > 1 && mark_at(m, 1)->run_ns + m->span_ns <= now->run_ns + apart_ns / 2) {
        m->first = (m->first + 1) % MARKS;
        m->count--;
    }
}

/* Where the window of a span that ends at `now` begins. */
static const struct reading *marks_from(struct marks *m, const struct reading *now) {
    unsigned i = 0;
    uint64_t slack_ns = m->span_ns / MARKS_A_SPAN / 2;
    while (i + 1 < m->count && mark_at(m, i + 1)->run_ns + m->span_ns <= now->run_ns + slack_ns) i++;
    return mark_at(m, i);
}

int lookback_open(struct lookback **out, struct err *e) {
    struct lookback *l = *out = mem_zalloc(1, sizeof *l);
    int rc = 0;
    for (int s = 0; s < WINDOWS_RUN; s++) {
        l->marks[s].span_ns = (uint64_t)(windows_seconds((enum windows_span)s) * (double)KVF_NS_PER_S);
        for (int i = 0; rc == 0 && i < MARKS; i++) rc = reading_open(&l->marks[s].mark[i], e);
    }
    return rc;
}

void lookback_close(struct lookback *l) {
    if (!l) return;
    for (int s = 0; s < WINDOWS_RUN; s++)
        for (int i = 0; i < MARKS; i++) reading_close(&l->marks[s].mark[i]);
    free(l);
}

void lookback_begin(struct engine *e) {
    struct lookback *l = e->control.sampler->lookback;
    if (!l) return;
    for (int s = 0; s < WINDOWS_RUN; s++) {
        l->marks[s].first = l->marks[s].count = 0;
        marks_add(&l->marks[s], &e->control.sampler->last);
    }
    memset(l->view, 0, sizeof l->view);
    for (int t = 0; t < KVF_TIERS; t++) l->view[WINDOWS_RUN].break_even[t].tokens = KVF_MISSING;
}

/* A server's figures stay those of the newest interval: their amounts are brought to the window's length, so
 * that their rates do too. */
static void remote_stretch(struct snapshot_remote *r, double times) {
    double *const amounts[] = {&r->round_trips, &r->sent_bytes,          &r->received_bytes,     &r->lookups,
                               &r->lost,        &r->server_evicted_keys, &r->server_expired_keys};
    for (size_t i = 0; i < sizeof amounts / sizeof amounts[0]; i++) *amounts[i] *= times;
}

static void publish(struct engine *e, const struct reading *from, const struct snapshot *snap,
                    enum windows_span span) {
    struct sampler *p = e->control.sampler;
    struct windows_view *v = &p->lookback->view[span];
    struct snapshot *s = &v->snap;
    struct use use;
    if (from->run_ns >= p->now.run_ns) return;
    *s = *snap;
    s->interval = (struct snapshot_interval){.seq = snap->interval.seq, .phase = snap->interval.phase};
    memset(s->tier, 0, sizeof s->tier);
    memset(s->cause, 0, sizeof s->cause);
    memset(s->qos, 0, sizeof s->qos);
    memset(s->heat, 0, sizeof s->heat);
    s->peek = true; /* what is counted once is counted by intervals */
    sampler_between(e, from, &p->now, s, &use);
    vitals_snap(e, &p->vitals, s);
    s->interval.cpu_power_w = kvf_ratio(p->now.power_j - from->power_j, p->now.power_s - from->power_s);
    s->interval.energy_used_j =
        s->interval.length_s * kvf_ratio(p->now.energy_j - from->energy_j, p->now.energy_s - from->energy_s);
    levels_view(v, p->delta, s->classes);
    for (int t = 0; t < KVF_TIERS; t++) {
        struct metric_break_even *of_run = &p->lookback->view[WINDOWS_RUN].break_even[t];
        if (span == WINDOWS_RUN) *of_run = breakeven_of(e->s, p->delta, (enum kvf_tier)t);
        v->break_even[t] = *of_run;
    }
    s->peek = false;
    s->interval.saturation = snap->interval.saturation;
    if (snap->interval.length_s > 0)
        remote_stretch(&s->remote, s->interval.length_s / snap->interval.length_s);
    for (uint32_t k = 0; k < s->classes; k++) {
        bool judged = kvf_present(snap->qos[k].violations);
        s->qos[k].violations = judged ? p->now.violations[k] - from->violations[k] : KVF_MISSING;
        s->qos[k].starved = snap->qos[k].starved;
    }
    verdict_between(e, from, s, &use, p->lookback->turn == (unsigned)span, &v->verdict);
    windows_put(e->setup->windows, span, v);
}

void lookback_interval(struct engine *e, const struct snapshot *snap) {
    struct sampler *p = e->control.sampler;
    struct lookback *l = p->lookback;
    if (!l || snap->interval.phase == KVF_PHASE_PREPARE) return;
    uint64_t now_ns = clock_now_ns();
    bool all = !snap->simulated || snap->peek || now_ns - l->published_ns >= publish_every_ns;
    for (int s = 0; all && s < WINDOWS_SPANS; s++) {
        const struct reading *from = s == WINDOWS_RUN ? &p->base : marks_from(&l->marks[s], &p->now);
        publish(e, from, snap, (enum windows_span)s);
    }
    if (all) l->turn = (l->turn + 1) % WINDOWS_SPANS;
    if (all) l->published_ns = now_ns;
    for (int s = 0; !snap->peek && s < WINDOWS_RUN; s++) marks_add(&l->marks[s], &p->now);
}
