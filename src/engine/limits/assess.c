#include "engine/limits/assess.h"

#include <stdio.h>
#include <string.h>

#include "record/judge/judge.h"
#include "record/metric.h"
#include "record/standing.h"

static double of_tier(const struct run_record *run, const char *tier, const char *dir, const char *what) {
    char name[48];
    snprintf(name, sizeof name, "%s_%s_%s", tier, dir, what);
    return result_value(&run->results, name); /* missing: the tier is off */
}

/* Of those that ended; one may be under way for all of the run. */
static double operations(const struct run_record *run, const char *tier, const char *dir) {
    double ended = of_tier(run, tier, dir, "ops");
    return ended == 0 && of_tier(run, tier, dir, "busy_ratio") > 0 ? 1 : ended;
}

static double all_operations(const struct run_record *run, const char *tier) {
    return operations(run, tier, "read") + operations(run, tier, "write");
}

/* Whether the metric is of operations of a tier, of which there were none, for want of need: the tiers above
 * held everything, as nothing was lost or refused and no lower tier did the work. Less room would bring
 * operations; so a criterion without data fails where any room was lacking. */
static bool not_needed(const struct run_record *run, const char *metric) {
    static const char *const lost[] = {"evictions",    "fell_through",     "refused",
                                       "not_admitted", "lookups_given_up", "requests_failed"};
    int t = metric_tier(metric);
    if (t == KVF_TIERS || !(result_value(&run->results, "requests_done") > 0)) return false;
    for (size_t i = 0; i < sizeof lost / sizeof *lost; i++)
        if (result_value(&run->results, lost[i]) > 0) return false;
    for (int lower = t + 1; lower < KVF_TIERS; lower++)
        if (all_operations(run, tier_name((enum kvf_tier)lower)) > 0) return false;
    const char *tier = tier_name((enum kvf_tier)t);
    char hits[48];
    snprintf(hits, sizeof hits, "%s_hits", tier);
    bool writes = strstr(metric, "_write_") != NULL;
    if (!writes && result_value(&run->results, hits) > 0) return false; /* computed again instead of read */
    double own = strstr(metric, "_read_") ? operations(run, tier, "read")
                 : writes                 ? operations(run, tier, "write")
                                          : all_operations(run, tier);
    return own == 0;
}

static void decide(const struct run_record *run, struct run_criterion *c) {
    const struct result *r = result_find(&run->results, c->metric);
    c->actual = r ? r->value : KVF_MISSING;
    c->passed = kvf_present(c->actual) ? scenario_op_holds(scenario_op_parse(c->op), c->actual, c->target)
                : not_needed(run, c->metric) ? KVF_MISSING
                                             : 0;
}

static void judge(struct run_record *run, const char *name, const char *metric, enum scenario_criterion_op op,
                  double target) {
    const struct result *r = result_find(&run->results, metric);
    struct run_criterion c = {.target = target};
    snprintf(c.name, sizeof c.name, "%s", name);
    snprintf(c.metric, sizeof c.metric, "%s", metric);
    snprintf(c.op, sizeof c.op, "%s", scenario_op_name(op));
    snprintf(c.unit, sizeof c.unit, "%s", r ? r->unit : metric_unit(metric));
    decide(run, &c);
    run_record_criterion(run, &c);
}

/* Latency of the device by the kernel's clock where that was read, by ours where not. */
static const char *by_clock(const struct run_record *run, const char *metric) {
    static const char *const clocks[][3] = {
        {"nvme_read_d2c_p95_ms", "nvme_read_device_p95_ms", "nvme_read_ops"},
        {"nvme_write_d2c_p95_ms", "nvme_write_device_p95_ms", "nvme_write_ops"}};
    for (size_t i = 0; i < sizeof clocks / sizeof *clocks; i++) {
        /* the kernel counts other files of this program too: without operations of the tier it saw those
         * alone */
        bool none = result_value(&run->results, clocks[i][2]) == 0;
        if (strcmp(metric, clocks[i][0]) == 0 && (none || !kvf_present(result_value(&run->results, metric))))
            return clocks[i][1];
    }
    return metric;
}

static void judge_latency(struct run_record *run) {
    judge(run, "nvme write P95, device", by_clock(run, "nvme_write_d2c_p95_ms"), KVF_OP_LT, 500);
    judge(run, "nvme read P95, device", by_clock(run, "nvme_read_d2c_p95_ms"), KVF_OP_LT, 200);
    judge(run, "cpu read and write P95", "cpu_p95_ms", KVF_OP_LT, 150);
    judge(run, "hit ratio with decode", "hit_ratio", KVF_OP_GT, 0.30);
}

static void judge_throughput(const struct scenario *s, struct run_record *run) {
    if (s->assess.nvme_tok_s > 0) {
        judge(run, "nvme traffic", "nvme_tok_s", KVF_OP_GE, s->assess.nvme_tok_s);
    } else {
        if (s->workload.phase != KVF_WORKLOAD_PHASE_PREFILL)
            judge(run, "nvme reads", "nvme_read_tok_s", KVF_OP_GT, 0);
        if (s->workload.phase != KVF_WORKLOAD_PHASE_DECODE)
            judge(run, "nvme writes", "nvme_write_tok_s", KVF_OP_GT, 0);
    }
    judge(run, "failed operations", "operation_errors", KVF_OP_EQ, 0);
}

/* Named where they fail, and not where a modelled GPU computes again what was not kept. */
static void judge_warmup(struct run_record *run) {
    static const char *const kept_out[][2] = {{"warmup_not_admitted", "writes not admitted in the warm-up"},
                                              {"warmup_copies_skipped", "copies skipped in the warm-up"}};
    double counts[STANDING_UNDONE];
    standing_count(&run->results, counts);
    for (size_t i = 0; i < sizeof kept_out / sizeof *kept_out; i++)
        if (counts[standing_undone_find(kept_out[i][0])] > 0)
            judge(run, kept_out[i][1], kept_out[i][0], KVF_OP_EQ, 0);
}

/* Overload passes no assessment: what was asked for is done, and as it was asked for. An open loop may keep
 * the tiers full on purpose, where throughput is what is sought. */
static void judge_undone(const struct scenario *s, struct run_record *run) {
    judge(run, "failed requests", "requests_failed", KVF_OP_EQ, 0);
    judge(run, "writes refused", "refused", KVF_OP_EQ, 0);
    judge(run, "writes fell through", "fell_through", KVF_OP_EQ, 0);
    judge(run, "lookups given up", "lookups_given_up", KVF_OP_EQ, 0);
    if (s->cache.admission != KVF_ADMISSION_ALWAYS)
        judge(run, "writes not admitted", "not_admitted", KVF_OP_EQ, 0);
    if (s->cache.placement == KVF_PLACEMENT_INCLUSIVE)
        judge(run, "copies skipped", "copies_skipped", KVF_OP_EQ, 0);
    if (scenario_retrieves(s)) judge(run, "documents refused", "rag_documents_refused", KVF_OP_EQ, 0);
    if (scenario_retrieves(s) && s->workload.rag.ingest == KVF_RAG_INGEST_DURING)
        judge(run, "documents overdue", "rag_documents_overdue", KVF_OP_EQ, 0);
    if (s->fleet.outages > 0 && s->tier[KVF_TIER_REMOTE].on)
        judge(run, "entries dropped in outages", "outage_dropped", KVF_OP_EQ, 0);
    if (s->fleet.outages > 0 && !scenario_recomputes(s))
        judge(run, "entries lost in outages", "outage_lost", KVF_OP_EQ, 0);
    if (s->run.max_requests > 0) judge(run, "requests left", "requests_left", KVF_OP_EQ, 0);
    if (kvf_present(result_value(&run->results, "ranks_lost")))
        judge(run, "ranks lost", "ranks_lost", KVF_OP_EQ, 0);
    judge(run, "arrivals dropped", "requests_dropped", KVF_OP_EQ, 0);
    judge(run, "classes unserved", "classes_unserved", KVF_OP_EQ, 0);
    /* named where they fail: few runs have any */
    if (result_value(&run->results, "warmup_failed") > 0)
        judge(run, "requests failed in the warm-up", "warmup_failed", KVF_OP_EQ, 0);
    judge_warmup(run);
    /* nearly all runs have none, as they end at the first */
    if (s->assess.profile == KVF_PROFILE_LATENCY && result_value(&run->results, "operation_errors") > 0)
        judge(run, "failed operations", "operation_errors", KVF_OP_EQ, 0);
    if (result_value(&run->results, "verify_mismatched") > 0)
        judge(run, "blocks that failed verification", "verify_mismatched", KVF_OP_EQ, 0);
    if (standing_run_rows(&run->results))
        judge(run, "rows rejected", "rows_rejected_ratio", KVF_OP_LT, STANDING_ROWS);
    /* named where it fails: other runs are long enough for their requests */
    if (standing_run_cut(&run->results))
        judge(run, "time unfinished", "unfinished_ratio", KVF_OP_LE, STANDING_CUT);
    if (kvf_present(result_value(&run->results, "users_exhausted_ratio")))
        judge(run, "users with nothing to ask", "users_exhausted_ratio", KVF_OP_LT, JUDGE_UNSERVED);
    if (s->assess.profile == KVF_PROFILE_LATENCY &&
        kvf_present(result_value(&run->results, "unserved_ratio")))
        judge(run, "arrivals left waiting", "unserved_ratio", KVF_OP_LT, standing_run_allowed(&run->results));
    if (s->assess.profile == KVF_PROFILE_LATENCY &&
        kvf_present(result_value(&run->results, "unsettled_ratio")))
        judge(run, "growth of open requests", "unsettled_ratio", KVF_OP_LT, JUDGE_UNSERVED);
    if (s->assess.profile == KVF_PROFILE_LATENCY &&
        kvf_present(result_value(&run->results, "unanswered_ratio")))
        judge(run, "users without an answer", "unanswered_ratio", KVF_OP_LT, JUDGE_UNSERVED);
}

void assess_run(const struct scenario *s, struct run_record *run) {
    if (s->assess.profile == KVF_PROFILE_LATENCY)
        judge_latency(run);
    else
        judge_throughput(s, run);
    judge_undone(s, run);
    for (uint32_t i = 0; i < s->assess.criteria; i++) {
        const struct scenario_criterion *c = &s->assess.criterion[i];
        judge(run, c->metric, c->metric, c->op, c->value);
    }
}

void assess_again(struct run_record *run) {
    for (size_t i = 0; i < run->criterion_count; i++) {
        struct run_criterion *c = &run->criteria[i];
        const char *metric = by_clock(run, c->metric);
        if (strcmp(c->name, c->metric) == 0) snprintf(c->name, sizeof c->name, "%s", metric);
        if (metric != c->metric) snprintf(c->metric, sizeof c->metric, "%s", metric);
        decide(run, c);
    }
}

void assess_nothing_done(const struct scenario *s, struct run_record *run) {
    const struct result_list *r = &run->results;
    double arrived = result_value(r, "requests_arrived"), failed = result_value(r, "requests_failed");
    double left = result_value(r, "requests_queued_at_end") + result_value(r, "requests_in_service_at_end");
    double refused = result_value(r, "requests_refused");
    bool decode = s->workload.phase == KVF_WORKLOAD_PHASE_DECODE;
    double on_way = result_value(r, "requests_on_way_at_end");
    if (kvf_present(on_way)) left += on_way;
    if (run->status != RUN_COMPLETED || result_value(r, "requests_done") != 0) return;
    run->status = RUN_FAILED;
    snprintf(
        run->status_reason, sizeof run->status_reason,
        "no request was done: %.0f arrived, %.0f failed (%.0f refused for want of room), %.0f dropped, and %.0f "
        "waited or were in service at the end; %s",
        arrived, failed, refused, result_value(r, "requests_dropped"), left,
        left > failed ? "run.duration is shorter than a request takes, or the load is far beyond the tiers"
        : refused > 0 ? "no tier had room for them"
        : failed > 0 && decode ? "the entries that they would read had left the tiers"
        : failed > 0           ? "the events say why they failed"
                               : "nobody asked in the time measured");
}
