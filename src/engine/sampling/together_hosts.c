#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine/core.h"
#include "engine/limits/slowest.h"
#include "engine/sampling/together_inside.h"

static void host_of(const struct engine *e, unsigned i, const struct snapshot_host *figures,
                    struct snapshot_host *out) {
    const struct together *t = e->control.together;
    *out = *figures;
    out->rank.rank = i;
    out->rank.lost = t->members[i].lost;
    snprintf(out->host, sizeof out->host, "%s", rank_host(t->rank, i));
}

/* Intervals that a rank's counts are behind; they are ends of phases too. */
static uint64_t behind(const struct together *t, unsigned i) {
    uint64_t now = t->members[0].moment, theirs = t->members[i].moment;
    if (theirs >= now) return 0;
    return theirs >> TOGETHER_PHASE_BITS == now >> TOGETHER_PHASE_BITS ? now - theirs : 1;
}

static const struct together *by_latency; /* control thread only */
static int slower_first(const void *a, const void *b) {
    const struct member *x = &by_latency->members[*(const unsigned *)a],
                        *y = &by_latency->members[*(const unsigned *)b];
    double p = x->note.interval.rank.e2e_p95_ms, q = y->note.interval.rank.e2e_p95_ms;
    p = kvf_present(p) ? p : -1, q = kvf_present(q) ? q : -1;
    return (p < q) - (p > q);
}

void together_hosts(const struct engine *e, struct snapshot *snap) {
    const struct together *t = e->control.together;
    unsigned *order;
    if (!t || t->number > 0 || t->members[0].moment == 0 || e->routes.shards) return;
    order = mem_alloc(t->count * sizeof *order);
    for (unsigned i = 0; i < t->count; i++) order[i] = i;
    by_latency = t;
    if (t->count > SNAPSHOT_HOSTS) qsort(order, t->count, sizeof *order, slower_first);
    for (snap->hosts = 0; snap->hosts < t->count && snap->hosts < SNAPSHOT_HOSTS; snap->hosts++) {
        unsigned i = order[snap->hosts];
        struct snapshot_host *h = &snap->host[snap->hosts];
        uint64_t late = behind(t, i), lost = t->members[i].lost;
        host_of(e, i, &t->members[i].note.interval, h);
        if (late == 0) continue;
        snapshot_host_blank(h);
        h->rank.rank = i, h->rank.behind = late, h->rank.lost = lost;
    }
    free(order);
}

static double ms(double ns) {
    return ns / (double)KVF_NS_PER_MS;
}

void together_results(struct engine *e, struct run_record *run) {
    struct together *t = e->control.together;
    double first = INFINITY, last = -INFINITY;
    unsigned hosts = 0, lost = 0;
    if (!t || t->number > 0 || e->routes.shards) return;
    for (unsigned i = 0; i < t->count; i++) {
        const struct member *m = &t->members[i];
        struct run_rank rank = {.start_late_ms = m->moment ? ms((double)m->note.late_ns) : KVF_MISSING};
        int64_t offset_ns = 0;
        uint64_t error_ns = 0;
        bool known = rank_clock_offset(t->rank, i, &offset_ns, &error_ns);
        rank.clock_offset_ms = known ? ms((double)offset_ns) : KVF_MISSING;
        rank.clock_error_ms = known ? ms((double)error_ns) : KVF_MISSING;
        host_of(e, i, &m->note.measured, &rank.at);
        run_record_rank(run, &rank);
        hosts += !rank_shares_host(t->rank, i);
        lost += m->lost;
        first = fmin(first, rank.start_late_ms); /* what is missing counts for neither */
        last = fmax(last, rank.start_late_ms);
    }
    slowest_judge(run);
    result_add(&run->results, t->count, 0, "ranks");
    result_add(&run->results, hosts, 0, "rank_hosts");
    result_add(&run->results, lost, 0, "ranks_lost");
    result_add(&run->results, last >= first ? last - first : KVF_MISSING, 0, "start_skew_ms");
}
