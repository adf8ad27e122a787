#include "engine/limits/slowest.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "draw/number.h"
#include "metrics/statistics.h"

/* A figure of a rank; NaN: not known. */
typedef double figure_fn(const struct run_rank *r);

static double e2e_ms(const struct run_rank *r) {
    return r->at.rank.e2e_p95_ms;
}
static double users(const struct run_rank *r) {
    return r->at.rank.users;
}
static double arrived_s(const struct run_rank *r) {
    return r->at.rank.arrived / r->at.rank.length_s;
}
static double cpu(const struct run_rank *r) {
    return r->at.rank.host_cpu_ratio;
}
static double bytes_s(const struct run_rank *r) {
    double bytes = 0;
    for (int t = 0; t < KVF_TIERS; t++) {
        const struct snapshot_rank_tier *v = &r->at.tier[t];
        if (kvf_present(v->read_bytes)) bytes += v->read_bytes + v->write_bytes;
    }
    return bytes / r->at.rank.length_s;
}
#define OPERATION(tier_id, dir)                                                                              \
    static double tier_id##_##dir(const struct run_rank *r) {                                                \
        return r->at.tier[KVF_TIER_##tier_id].dir##_p95_ms;                                                  \
    }
#define OPERATIONS(X)                                                                                        \
    X(GPU, read)                                                                                             \
    X(GPU, write)                                                                                            \
    X(CPU, read) X(CPU, write) X(NVME, read) X(NVME, write) X(REMOTE, read) X(REMOTE, write)
OPERATIONS(OPERATION)

static const struct {
    const char *name; /* "%s users" */
    figure_fn *of;
} loads[] = {{"users", users}, {"arrivals a second", arrived_s}, {"bytes a second", bytes_s}};
static const struct {
    enum kvf_tier tier;
    const char *what;
    figure_fn *of;
} operations[] = {
#define X(id, dir) {KVF_TIER_##id, #dir "s", id##_##dir},
    OPERATIONS(X)
#undef X
};

static const char *bare(const char *padded) {
    return padded + strspn(padded, " ");
}

/* A lost rank's figures are of less time than the others'. */
static bool stayed(const struct run_rank *r) {
    return !(r->at.rank.lost > 0);
}

/* The median of the ranks but one; NaN: none of them has the figure. */
static double others(const struct run_record *run, const struct run_rank *but, figure_fn *of) {
    double *found = mem_alloc((run->rank_count + 1) * sizeof *found), median = KVF_MISSING;
    size_t n = 0;
    for (size_t i = 0; i < run->rank_count; i++) {
        double v = of(&run->ranks[i]);
        if (&run->ranks[i] != but && stayed(&run->ranks[i]) && isfinite(v)) found[n++] = v;
    }
    qsort(found, n, sizeof *found, statistics_order);
    if (n > 0) median = (found[(n - 1) / 2] + found[n / 2]) / 2;
    free(found);
    return median;
}

static double times(const struct run_record *run, const struct run_rank *r, figure_fn *of) {
    return of(r) / others(run, r, of);
}

/* The load in which it differs most from the others. */
static size_t most_load(const struct run_record *run, const struct run_rank *r, double *ratio) {
    size_t most = 0;
    *ratio = 0;
    for (size_t i = 0; i < sizeof loads / sizeof *loads; i++) {
        double x = times(run, r, loads[i].of);
        if (isfinite(x) && x > *ratio) *ratio = x, most = i;
    }
    return most;
}

/* Others have the same machine and are quicker on it. */
static const char *whose(const struct run_record *run, const struct run_rank *r) {
    for (size_t i = 0; i < run->rank_count; i++)
        if (&run->ranks[i] != r && stayed(&run->ranks[i]) && strcmp(run->ranks[i].at.host, r->at.host) == 0)
            return "its part of the machine";
    return "its machine";
}

static void say_machine(const struct run_record *run, const struct run_rank *r, double load, char *out,
                        size_t len) {
    size_t worst = 0;
    double more_ms = 0, ratio = 0;
    char mine[NUMBER], theirs[NUMBER];
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
        double own = operations[i].of(r), other = others(run, r, operations[i].of);
        if (own > SLOWEST_DIFFERS * other && own - other > more_ms)
            worst = i, more_ms = own - other, ratio = own / other;
    }
    if (more_ms > 0)
        snprintf(out, len, "by %s: %s %s take %s at P95, %.1f times theirs, with %.1f times their load",
                 whose(run, r), tier_name(operations[worst].tier), operations[worst].what,
                 bare(number_ms(operations[worst].of(r), mine)), ratio, load);
    else if (cpu(r) >= 0.9 && cpu(r) > SLOWEST_DIFFERS * others(run, r, cpu))
        snprintf(out, len, "by its machine: its CPUs are %s busy, theirs %s",
                 bare(number_percent(cpu(r), mine)), bare(number_percent(others(run, r, cpu), theirs)));
    else
        snprintf(out, len, "by neither load nor tiers, which are like theirs; see what else runs there");
}

void slowest_judge(struct run_record *run) {
    struct run_rank *r = NULL;
    size_t known = 0;
    double load;
    char because[160], mine[NUMBER], theirs[NUMBER];
    for (size_t i = 0; i < run->rank_count; i++) {
        if (!stayed(&run->ranks[i]) || !kvf_present(e2e_ms(&run->ranks[i]))) continue;
        known++;
        if (!r || e2e_ms(&run->ranks[i]) > e2e_ms(r)) r = &run->ranks[i];
    }
    if (known < 2) return;
    double other_ms = others(run, r, e2e_ms);
    size_t most = most_load(run, r, &load);
    r->slowest = true;
    int at = snprintf(r->why, sizeof r->why, "rank %" PRIu64 " on %.60s: e2e P95 %s, the others %s",
                      r->at.rank.rank, r->at.host, bare(number_ms(e2e_ms(r), mine)),
                      bare(number_ms(other_ms, theirs)));
    if (!(e2e_ms(r) > SLOWEST_DIFFERS * other_ms)) {
        snprintf(r->why + at, sizeof r->why - (size_t)at, "; no rank stands out");
        return;
    }
    if (load > SLOWEST_DIFFERS)
        snprintf(because, sizeof because, "by its load: %.1f times their %s", load, loads[most].name);
    else
        say_machine(run, r, load, because, sizeof because);
    snprintf(r->why + at, sizeof r->why - (size_t)at, "; slower %s", because);
    verdict_add_evidence(&run->verdict, "slowest_rank", (double)r->at.rank.rank, "");
    verdict_add_evidence(&run->verdict, "slowest_rank_e2e_p95_ms", e2e_ms(r), "ms");
    verdict_add_evidence(&run->verdict, "other_ranks_e2e_p95_ms", other_ms, "ms");
    size_t used = strlen(run->verdict.sentence);
    if (run->verdict.known && used + strlen(r->why) + 20 < sizeof run->verdict.sentence)
        snprintf(run->verdict.sentence + used, sizeof run->verdict.sentence - used, "; slowest is %s",
                 r->why);
}
