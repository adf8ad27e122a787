/* Results of runs that are made one. */
#include "store/merge_ranks.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "engine/limits/assess.h"
#include "engine/limits/slowest.h"
#include "engine/sampling/figures.h"
#include "record/standing.h"

/* KV bytes of a token, from what the first run moved at its nvme tier; NaN where it moved nothing. */
static double token_bytes(const struct store_ranks *w) {
    const struct result_list *own = &w->part[0].run.results;
    double moved = result_value(own, "nvme_read_bytes") + result_value(own, "nvme_write_bytes");
    return kvf_ratio(moved, result_value(own, "nvme_tok_s") * result_value(own, "measured_s"));
}

/* A measure that no interval keeps: of all that each run has measured. */
static double sum_of(const struct store_ranks *w, const char *metric) {
    double sum = 0;
    for (size_t i = 0; i < w->count; i++) sum += result_value(&w->part[i].run.results, metric);
    return sum;
}

/* A class that one rank served badly was served badly; so of arrivals left waiting. */
static double most_of(const struct store_ranks *w, const char *metric) {
    double most = KVF_MISSING;
    for (size_t i = 0; i < w->count; i++) most = fmax(most, result_value(&w->part[i].run.results, metric));
    return most;
}

static double least_of(const struct store_ranks *w, const char *metric) {
    double least = KVF_MISSING;
    for (size_t i = 0; i < w->count; i++) least = fmin(least, result_value(&w->part[i].run.results, metric));
    return least;
}

/* A mean of the values behind it, which each run has counted. */
static double mean_behind(const struct store_ranks *w, const char *metric) {
    double sum = 0, all = 0;
    for (size_t i = 0; i < w->count; i++) {
        const struct result *own = result_find(&w->part[i].run.results, metric);
        if (!own || !kvf_present(own->value)) continue;
        sum += (double)own->samples * own->value;
        all += (double)own->samples;
    }
    return kvf_ratio(sum, all);
}

/* Sizes and lateness, of which no interval has a histogram: of all that each run has measured, without
 * percentiles. */
static void add_sizes(struct store_ranks *w) {
    struct result_list *out = &w->run.results;
    result_add(out, mean_behind(w, "context_tokens_mean"), 0, "context_tokens_mean");
    result_add(out, least_of(w, "entry_bytes_min"), 0, "entry_bytes_min");
    result_add(out, mean_behind(w, "entry_bytes_mean"), 0, "entry_bytes_mean");
    result_add(out, most_of(w, "entry_bytes_max"), 0, "entry_bytes_max");
    result_add(out, mean_behind(w, "lateness_mean_ms"), 0, "lateness_mean_ms");
    result_add(out, most_of(w, "lateness_max_ms"), 0, "lateness_max_ms");
}

/* A mean that each run has of as many as it counts. */
static double mean_of(const struct store_ranks *w, const char *metric, const char *counts) {
    double sum = 0, all = 0;
    for (size_t i = 0; i < w->count; i++) {
        const struct result_list *own = &w->part[i].run.results;
        double n = result_value(own, counts);
        if (n > 0) sum += n * result_value(own, metric);
        all += n;
    }
    return kvf_ratio(sum, all);
}

/* Of the modelled GPUs; also whether anything tells of work that no GPU does again (record/standing.h). */
static void add_batch(struct store_ranks *w) {
    static const char *const sums[] = {"batch_running_mean", "batch_waiting_mean", "batch_steps",
                                       "prefill_tokens_computed"};
    struct result_list *out = &w->run.results;
    double missed = 0;
    if (!kvf_present(sum_of(w, sums[0]))) return;
    result_add(out, mean_of(w, "prefill_mean_ms", "requests_done"), 0, "prefill_mean_ms");
    for (size_t k = 0; k < sizeof sums / sizeof *sums; k++)
        result_add(out, sum_of(w, sums[k]), 0, "%s", sums[k]);
    result_add(out, mean_of(w, "batch_busy_ratio", "measured_s"), 0, "batch_busy_ratio");
    result_add(out, mean_of(w, "kv_use_mean", "measured_s"), 0, "kv_use_mean");
    bool known = kvf_present(most_of(w, "misses_not_computed")); /* a run without any may lack it */
    for (size_t i = 0; i < w->count; i++)
        missed += fmax(result_value(&w->part[i].run.results, "misses_not_computed"), 0);
    if (known) result_add(out, missed, 0, "misses_not_computed");
}

static void add_starved(struct store_ranks *w) {
    const struct snapshot *s = &w->view->snap;
    char metric[96];
    for (uint32_t k = 0; k < s->classes; k++) {
        snprintf(metric, sizeof metric, "class_%s_starved_s", s->class_name[k]);
        result_add(&w->run.results, most_of(w, metric), 0, "%s", metric);
        size_t ranks = 0;
        for (size_t i = 0; i < w->count; i++) ranks += standing_run_class_unserved(&w->part[i].run, k);
        if (ranks > 0)
            result_add(&w->run.results, (double)ranks, 0, "class_%s_unserved_ranks", s->class_name[k]);
    }
}

/* Whether a P95 target is longer than the run of a rank, which then tells no part that met it. */
static bool too_soon(const struct store_ranks *w, uint32_t k) {
    const char *name = w->view->snap.class_name[k];
    bool told = true;
    for (size_t i = 0; i < w->count && told; i++) {
        const struct result_list *own = &w->part[i].run.results;
        bool ended =
            result_named(own, "class_%s_done", name) + result_named(own, "class_%s_failed", name) > 0;
        told = !ended || kvf_present(result_named(own, "slo_%s_met_ratio", name));
    }
    return !told;
}

/* The P95 target of a class, by the requests of all ranks. */
static double lowest_met(const struct figures *f, uint32_t k) {
    const struct snapshot_qos *q = &f->snap->qos[k];
    enum kvf_stat stat = stat_of_target(0);
    bool few = q->done + q->failed + q->overdue < stat_samples(stat);
    return !kvf_present(q->violations) || few || f->too_soon[k] ? KVF_MISSING
                                                                : q->met_ratio >= stat_quantile(stat);
}

/* Requests of a class that ended, and the fewest and the most that were open at the end for longer than a
 * target: of a rank those that its answer counts and that had not ended. With intervals left out the end is
 * another, and any of those that are open may be one. */
struct late {
    uint64_t ended, least, most;
};

static struct late late_of(const struct store_ranks *w, const struct store_whole *done, uint32_t k,
                           int target) {
    const struct snapshot_qos *q = &w->view->snap.qos[k];
    const char *name = w->view->snap.class_name[k];
    struct late late = {.ended = q->done + q->failed, .most = q->queued + q->in_service_now};
    double ns = (double)run_class_target_ns(&w->run.klass[k], target), counted = 0;
    char metric[96];
    snprintf(metric, sizeof metric, "slo_%s_%s_met", name, stat_name(stat_of_target(target)));
    for (size_t i = 0; i < w->count; i++) {
        const struct result *own = result_find(&w->part[i].run.results, metric);
        counted += own ? (double)own->samples : 0;
    }
    bool longer = ns >= w->view->snap.interval.length_s * (double)KVF_NS_PER_S; /* none is late yet */
    bool known = done->outside == 0 && counted >= (double)late.ended && !longer;
    if (known) late.least = late.most = (uint64_t)counted - late.ended;
    return late;
}

/* A higher one: told where the answer is one, be the fewest late or the most. A percentile beyond the target
 * takes the higher ones with it. */
static double higher_met(const struct store_ranks *w, const struct figures *f, const struct late *late,
                         uint32_t k, int target) {
    const struct histogram *judged = figures_judged(&f->d->klass[k], f->by_ttft);
    uint64_t ns = run_class_target_ns(&w->run.klass[k], target), all = late->ended + late->least;
    if (ns == 0) return KVF_MISSING;
    for (int i = 0; i <= target; i++)
        if (all >= stat_samples(stat_of_target(i)) && !figures_within(judged, stat_of_target(i), ns, all))
            return 0;
    enum kvf_stat stat = stat_of_target(target);
    bool met = all >= stat_samples(stat) && figures_within(judged, stat, ns, late->ended + late->most);
    return met ? 1 : KVF_MISSING;
}

static void add_targets(struct store_ranks *w, const struct figures *f, const struct store_whole *done) {
    for (uint32_t k = 0; k < f->snap->classes; k++)
        for (int i = 0; i < KVF_TARGETS; i++) {
            struct late late = late_of(w, done, k, i);
            uint64_t all = late.ended + (i == 0 ? f->snap->qos[k].overdue : late.least);
            double met = i == 0 ? lowest_met(f, k) : higher_met(w, f, &late, k, i);
            if (kvf_present(met))
                result_add(&w->run.results, met, all, "slo_%s_%s_met", f->snap->class_name[k],
                           stat_name(stat_of_target(i)));
        }
}

/* Of an open loop, in the time that all measured; nothing is offered where one of them has no times. */
static void add_load(struct store_ranks *w) {
    struct result_list *out = &w->run.results;
    if (!kvf_present(sum_of(w, "achieved_requests_per_s"))) return;
    double offered = KVF_MISSING, achieved = result_value(out, "requests_per_s");
    if (kvf_present(sum_of(w, "offered_requests_per_s")))
        offered = kvf_ratio(result_value(out, "requests_arrived"), result_value(out, "measured_s"));
    result_add(out, offered, 0, "offered_requests_per_s");
    result_add(out, achieved, 0, "achieved_requests_per_s");
    result_add(out, kvf_ratio(achieved, offered), 0, "achieved_ratio");
}

/* Where the number of requests is limited. Those that a rank did outside of the common time are left as well:
 * rates of that time do not have the work of slower ranks. A few are the ends of intervals. */
static void add_left(struct store_ranks *w, const struct store_whole *done) {
    double left = sum_of(w, "requests_left"), asked = sum_of(w, "requests_asked"),
           outside = (double)(done->all - done->done);
    if (!kvf_present(left)) return;
    if (standing_behind(1 - outside / (double)done->all, (double)done->all)) left += outside;
    result_add(&w->run.results, asked, 0, "requests_asked");
    result_add(&w->run.results, left, 0, "requests_left");
}

/* Ranks whose own figures are of other work than theirs, in a way that sums over all may hide. */
static void add_flawed(struct store_ranks *w) {
    static const struct {
        enum standing_flaw flaw;
        const char *metric;
    } kinds[] = {{STANDING_FLAW_EARLY, "ranks_early"}, {STANDING_FLAW_COPIES, "ranks_copies_left"}};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        size_t ranks = 0;
        for (size_t i = 0; i < w->count; i++)
            ranks += standing_run_flaw(&w->part[i].run.results) == kinds[k].flaw;
        if (ranks > 0) result_add(&w->run.results, (double)ranks, 0, "%s", kinds[k].metric);
    }
}

/* Of requests that wait for no answer. Chance leaves a larger part of few arrivals waiting than of many: each
 * rank is held against its own, and where none is behind, all of them together against those of all. */
static void add_waiting(struct store_ranks *w) {
    double worst = KVF_MISSING, waiting = 0, load = 0;
    size_t behind = 0;
    for (size_t i = 0; i < w->count; i++) {
        const struct result_list *own = &w->part[i].run.results;
        double part = result_value(own, "unserved_ratio");
        if (!kvf_present(part)) continue;
        waiting += part * standing_run_load(own);
        load += standing_run_load(own);
        if (!standing_run_waits(own)) continue;
        worst = fmax(worst, part);
        behind++;
    }
    if (!(load > 0)) return;
    result_add(&w->run.results, behind ? worst : kvf_ratio(waiting, load), 0, "unserved_ratio");
    if (behind) result_add(&w->run.results, (double)behind, 0, "ranks_behind");
}

/* A tier of each fills by itself, and with one of them the rates of all change. The most that filled is told,
 * and the warm-up that measures all of them full. Whether the sum is steady otherwise is not known. */
static void add_fill(struct store_ranks *w) {
    static const char missed[] = "not reached: ";
    struct run_record *r = &w->run;
    double most = 0;
    for (size_t i = 0; i < w->count; i++) {
        const struct run_record *own = &w->part[i].run;
        double filled = result_value(&own->results, "fill_ratio");
        if (!(filled > most) || strncmp(own->steady, missed, sizeof missed - 1) != 0) continue;
        most = filled;
        snprintf(r->steady, sizeof r->steady, "%srank %zu: %s", missed, i, own->steady + sizeof missed - 1);
    }
    if (most > 0) result_add(&r->results, 0, 0, "steady");
    if (!kvf_present(most_of(w, "fill_ratio"))) return;
    result_add(&r->results, most_of(w, "fill_ratio"), 0, "fill_ratio");
    result_add(&r->results, most_of(w, "fill_full_s"), 0, "fill_full_s");
}

/* Where they are told, the largest of all: a rank hides in a sum. */
static void add_most(struct store_ranks *w) {
    static const char *const metrics[] = {"rows_rejected_ratio", /* of the one file, or of the worst */
                                          "arrival_dispersion",  /* of requests that wait for no answer */
                                          "unsettled_ratio",     "unanswered_ratio",     "warmup_counted_s",
                                          "stranded_ratio",      "users_exhausted_ratio"}; /* of users */
    for (size_t k = 0; k < sizeof metrics / sizeof *metrics; k++) {
        double most = most_of(w, metrics[k]);
        if (kvf_present(most)) result_add(&w->run.results, most, 0, "%s", metrics[k]);
    }
}

static void add_own(struct store_ranks *w, const struct store_whole *done) {
    const struct snapshot_interval *i = &w->view->snap.interval;
    struct result_list *out = &w->run.results;
    uint64_t reuse_hits = 0;
    for (int t = 0; t < KVF_TIERS; t++) reuse_hits += w->view->snap.tier[t].reuse_hits;
    result_add(out, (double)(i->lookups - i->reuse_lookups), 0, "decode_lookups");
    result_add(out, (double)(i->hits - reuse_hits), 0, "decode_hits");
    result_add(out, sum_of(w, "copies_skipped"), 0, "copies_skipped");
    result_add(out, sum_of(w, "copies_begun"), 0, "copies_begun");
    result_add(out, sum_of(w, "copies_left"), 0, "copies_left");
    result_add(out, sum_of(w, "lookups_given_up"), 0, "lookups_given_up");
    static const char *const warmup[] = {"warmup_failed", "warmup_not_admitted", "warmup_copies_skipped"};
    for (size_t k = 0; k < sizeof warmup / sizeof *warmup; k++) { /* older runs lack the latter */
        double sum = sum_of(w, warmup[k]);
        if (kvf_present(sum)) result_add(out, sum, 0, "%s", warmup[k]);
    }
    add_left(w, done);
    double refused = sum_of(w, "rag_documents_refused"); /* where documents are read */
    if (kvf_present(refused)) {
        result_add(out, refused, 0, "rag_documents_refused");
        result_add(out, sum_of(w, "rag_documents_overdue"), 0, "rag_documents_overdue");
        result_add(out, sum_of(w, "rag_requests"), 0, "rag_requests");
        result_add(out, sum_of(w, "rag_requests_empty"), 0, "rag_requests_empty");
        result_add(out, sum_of(w, "rag_lookups"), 0, "rag_lookups");
        result_add(out, sum_of(w, "rag_hits"), 0, "rag_hits");
    }
    result_add(out, (double)i->errors, 0, "operation_errors");
    result_add(out, sum_of(w, "verify_mismatched"), 0, "verify_mismatched");
    static const char *const outages[] = {"outage_dropped", "outage_lost"};
    for (size_t k = 0; k < sizeof outages / sizeof *outages; k++) { /* where there are any */
        double lost = sum_of(w, outages[k]);
        if (kvf_present(lost)) result_add(out, lost, 0, "%s", outages[k]);
    }
    /* It is not known when they were: with intervals left out, not how many count. */
    static const char *const sums[] = {"nvme_stalls",     "nvme_stall_ms", "remote_stalls",
                                       "remote_stall_ms", "total_tok_s",   "requests_refused"};
    for (size_t k = 0; k < sizeof sums / sizeof *sums && done->outside == 0; k++) {
        double sum = sum_of(w, sums[k]);
        if (kvf_present(sum)) result_add(out, sum, 0, "%s", sums[k]);
    }
    result_add(out, mean_of(w, "tokens_carried_ratio", "tokens_generated"), 0, "tokens_carried_ratio");
    add_sizes(w);
    add_starved(w);
    add_flawed(w);
    double most_left = fmax(standing_run_unfinished(out), most_of(w, "unfinished_ratio"));
    result_add(out, most_left < 0 ? 0 : most_left, 0, "unfinished_ratio");
    add_waiting(w);
    add_fill(w);
    add_most(w);
    char names[STANDING_UNSERVED];
    result_add(out, (double)standing_run_unserved(&w->run, names), 0, "classes_unserved");
}

/* Whether two warnings are one but for their numbers. */
static bool same_warning(const char *a, const char *b) {
    static const char number[] = "0123456789.,";
    for (;; a++, b++) {
        a += strspn(a, number);
        b += strspn(b, number);
        if (*a != *b) return false;
        if (!*a) return true;
    }
}

static bool warned(const struct verdict *v, const char *warning) {
    size_t i = 0;
    while (i < v->warnings && !same_warning(v->warning[i], warning)) i++;
    return i < v->warnings;
}

/* Warnings of runs hold of the whole: each kind once, with the numbers of the first that has it. */
static void add_warnings(struct store_ranks *w) {
    struct verdict *out = &w->run.verdict;
    struct verdict told = *out; /* the kinds */
    for (size_t i = 0; i < w->count; i++) {
        const struct verdict *own = &w->part[i].run.verdict;
        for (size_t k = 0; k < own->warnings; k++) {
            size_t in = 0;
            char before[64];
            if (warned(&told, own->warning[k])) continue;
            for (size_t r = i; r < w->count; r++) in += warned(&w->part[r].run.verdict, own->warning[k]);
            snprintf(before, sizeof before, "in %zu of %zu runs, here of run %zu: ", in, w->count, i + 1);
            bool fits = strlen(before) + strlen(own->warning[k]) < VERDICT_WARNING;
            verdict_warn(&told, "%s", own->warning[k]);
            verdict_warn(out, "%s%s", fits ? before : "", own->warning[k]);
        }
    }
}

/* A criterion that is named only where it fails may be that of a later run alone. */
static void add_criteria(struct store_ranks *w) {
    for (size_t i = 1; i < w->count; i++) {
        const struct run_record *own = &w->part[i].run;
        for (size_t k = 0; k < own->criterion_count; k++) {
            size_t at = 0;
            while (at < w->run.criterion_count &&
                   strcmp(w->run.criteria[at].metric, own->criteria[k].metric) != 0)
                at++;
            if (at == w->run.criterion_count) run_record_criterion(&w->run, &own->criteria[k]);
        }
    }
}

static void add_ranks(struct store_ranks *w, const struct store_whole *done) {
    struct run_record *r = &w->run;
    double first = INFINITY;
    size_t hosts = 0;
    for (size_t i = 0; i < r->rank_count; i++) {
        size_t k = 0;
        while (k < i && strcmp(r->ranks[k].at.host, r->ranks[i].at.host) != 0) k++;
        hosts += k == i;
        first = fmin(first, r->ranks[i].start_late_ms);
    }
    for (size_t i = 0; i < r->rank_count; i++)
        r->ranks[i].start_late_ms = (r->ranks[i].start_late_ms - first) * 1e3;
    result_add(&r->results, (double)w->count, 0, "ranks");
    result_add(&r->results, (double)hosts, 0, "rank_hosts");
    result_add(&r->results, 0, 0, "ranks_lost");
    result_add(&r->results, done->apart_s * 1e3, 0, "start_skew_ms");
}

void merge_ranks_results(struct store_ranks *w, const struct store_whole *done) {
    struct figures f = {
        &w->view->snap, w->kept->counters, token_bytes(w), strcmp(w->run.qos_latency, "ttft") == 0, {false}};
    struct result_list *out = &w->run.results;
    for (uint32_t k = 0; k < f.snap->classes; k++) f.too_soon[k] = too_soon(w, k);
    figures_requests(out, &f);
    figures_classes(out, &f);
    figures_cache(out, &f);
    figures_tiers(out, &f);
    figures_machine(out, &f);
    figures_histograms(&w->run, f.d);
    add_targets(w, &f, done);
    add_load(w);
    add_batch(w);
    add_own(w, done);
    add_ranks(w, done);
    kept_judge(w->kept, &w->view->snap, &w->run, &w->run.verdict);
    add_warnings(w);
    slowest_judge(&w->run);
    add_criteria(w);
    assess_again(&w->run);
}
