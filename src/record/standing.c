#include "record/standing.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "record/judge/judge.h"
#include "record/metric.h"
#include "record/phrase.h"

static double known(double v) {
    return kvf_present(v) ? v : 0;
}

/* The value of a metric of a run, or of a complete trial. */
struct standing_source {
    const struct run_record *run;
    const struct trials *trials; /* NULL: the run */
    size_t trial;
};

static double metric_of(const struct standing_source *of, const char *metric) {
    if (!of->trials) return result_value(&of->run->results, metric);
    const struct trial_metric *m = trials_metric(of->trials, metric);
    return m && of->trial < m->count ? m->value[of->trial] : KVF_MISSING;
}

/* "class_NAME_done": of a class. */
static double value_of(const struct standing_source *of, const char *before, const char *class_name,
                       const char *what) {
    char metric[96];
    snprintf(metric, sizeof metric, "%s_%s_%s", before, class_name, what);
    return metric_of(of, metric);
}

/* A target without an answer, of a class that was asked for something. Of what is told, the percentile that
 * needs the fewest requests is the nearest to one. */
static void add_unjudged(struct standing *s, const struct standing_source *of, const struct run_class *c,
                         int target) {
    double done = value_of(of, "class", c->name, "done"),
           requests = done + known(value_of(of, "class", c->name, "failed"));
    double needed = (double)stat_samples(stat_of_target(target));
    bool arrived =
        value_of(of, "class", c->name, "arrived") != 0 || value_of(of, "class", c->name, "queued_at_end") > 0;
    if (run_class_target_ns(c, target) == 0 || !kvf_present(done) || !arrived) return;
    if (target == 0) requests += known(value_of(of, "class", c->name, "overdue_at_end"));
    s->unjudged++;
    s->empty += requests == 0;
    if (requests >= needed) {
        /* of merged ranks with intervals left out, what waited at the end is known of P95 targets alone */
        double measured_ns = metric_of(of, "measured_s") * (double)KVF_NS_PER_S;
        bool longer = (double)run_class_target_ns(c, target) >= measured_ns;
        s->longer += longer;
        s->merged += !longer;
    }
    if (requests == 0 || requests >= needed) return;
    if (s->needed > 0 && (s->needed < needed || (s->needed == needed && s->requests <= requests))) return;
    s->needed = needed;
    s->requests = requests;
}

static void add_target(struct standing *s, const struct standing_source *of, const struct run_class *c,
                       int target) {
    char what[32];
    snprintf(what, sizeof what, "%s_met", stat_name(stat_of_target(target)));
    double met = value_of(of, "slo", c->name, what);
    if (!kvf_present(met)) {
        add_unjudged(s, of, c, target);
        return;
    }
    s->targets++;
    s->missed += met == 0;
}

static void add_targets(struct standing *s, const struct run_record *r, const struct trials *t) {
    struct standing_source of = {.run = r, .trials = s->trials ? t : NULL};
    size_t all = s->trials ? trials_complete(t) : 1;
    for (; of.trial < all; of.trial++)
        for (uint32_t i = 0; i < r->classes * KVF_TARGETS; i++)
            add_target(s, &of, &r->klass[i / KVF_TARGETS], (int)(i % KVF_TARGETS));
}

static const struct {
    const char *metric, *one, *many, *more;
    enum standing_base base;
} undone[STANDING_UNDONE] = {
    {"requests_failed", "request failed", "requests failed", "requests fail", STANDING_OF_REQUESTS},
    {"requests_dropped", "arrival was dropped", "arrivals were dropped", "requests are dropped",
     STANDING_OF_REQUESTS},
    {"warmup_failed", "request failed in the warm-up", "requests failed in the warm-up",
     "requests fail in the warm-up", STANDING_OF_WARMUP},
    {"requests_left", "request was left", "requests were left", "requests are left", STANDING_OF_REQUESTS},
    {"ranks_lost", "rank was lost", "ranks were lost", "ranks are lost", STANDING_OF_RUN},
    {"classes_unserved", "class was left unserved", "classes were left unserved", "classes are left unserved",
     STANDING_OF_RUN},
    {"operation_errors", "operation failed", "operations failed", "operations fail", STANDING_OF_REQUESTS},
    {"verify_mismatched", "block failed verification", "blocks failed verification",
     "blocks fail verification", STANDING_OF_REQUESTS},
    {"rag_documents_refused", "document was refused", "documents were refused", "documents are refused",
     STANDING_OF_REQUESTS},
    {"rag_documents_overdue", "document was overdue", "documents were overdue", "documents are overdue",
     STANDING_OF_REQUESTS},
    {"fell_through", "write fell through", "writes fell through", "writes fall through",
     STANDING_OF_REQUESTS},
    {"not_admitted", "write was not admitted", "writes were not admitted", "writes are not admitted",
     STANDING_OF_REQUESTS},
    {"warmup_not_admitted", "write was not admitted in the warm-up",
     "writes were not admitted in the warm-up", "writes are not admitted in the warm-up", STANDING_OF_WARMUP},
    {"copies_skipped", "copy was skipped", "copies were skipped", "copies are skipped", STANDING_OF_REQUESTS},
    {"warmup_copies_skipped", "copy was skipped in the warm-up", "copies were skipped in the warm-up",
     "copies are skipped in the warm-up", STANDING_OF_WARMUP},
    {"lookups_given_up", "lookup gave up waiting for a write", "lookups gave up waiting for writes",
     "lookups give up waiting for writes", STANDING_OF_REQUESTS},
    {"outage_dropped", "entry was dropped in an outage", "entries were dropped in an outage",
     "entries are dropped in outages", STANDING_OF_RATE},
    {"outage_lost", "entry was lost in an outage", "entries were lost in an outage",
     "entries are lost in outages", STANDING_OF_RUN}};

double standing_chunk_misses(const struct result_list *results) {
    return fmax(result_value(results, "rag_lookups") - result_value(results, "rag_hits"), 0);
}

double standing_chunk_hits(const struct result_list *results) {
    return kvf_ratio(result_value(results, "rag_hits"), result_value(results, "rag_lookups"));
}

const char *standing_undone_metric(size_t i) {
    return undone[i].metric;
}

const char *standing_undone_more(size_t i) {
    return undone[i].more;
}

enum standing_base standing_base(const char *metric) {
    size_t i = standing_undone_find(metric);
    return i < STANDING_UNDONE ? undone[i].base : STANDING_OF_REQUESTS;
}

size_t standing_undone_find(const char *metric) {
    size_t i = 0;
    while (i < STANDING_UNDONE && strcmp(undone[i].metric, metric) != 0) i++;
    return i;
}

bool standing_of_classes(const char *metric) {
    return strcmp(metric, "classes_unserved") == 0;
}

/* Where a GPU is modelled, what was not kept is computed again: that work is done, and in the figures. But
 * chunks are not, and at granularity request only shared prompts are. */
const char standing_computes[] = "batch_running_mean", standing_not_computed[] = "misses_not_computed";

static bool computes_again(const struct result_list *results) {
    return kvf_present(result_value(results, standing_computes)) &&
           !kvf_present(result_value(results, standing_not_computed));
}

static bool trials_have(const struct trials *t, const char *metric) {
    const struct trial_metric *m = trials_metric(t, metric);
    for (size_t i = 0; m && i < m->count; i++)
        if (kvf_present(m->value[i])) return true;
    return false;
}

/* Of the requests not done those that neither failed nor were dropped. */
static double left_of(const double counts[STANDING_UNDONE]) {
    double left = counts[standing_undone_find("requests_left")];
    left -=
        counts[standing_undone_find("requests_failed")] + counts[standing_undone_find("requests_dropped")];
    return left > 0 ? left : 0;
}

void standing_settle(bool computes, double counts[STANDING_UNDONE]) {
    size_t kinds = computes ? STANDING_UNDONE_COMPUTED : STANDING_UNDONE;
    for (size_t i = 0; i < STANDING_UNDONE; i++) counts[i] = i < kinds ? known(counts[i]) : 0;
    counts[standing_undone_find("requests_left")] = left_of(counts);
}

void standing_count(const struct result_list *results, double counts[STANDING_UNDONE]) {
    for (size_t i = 0; i < STANDING_UNDONE; i++) counts[i] = result_value(results, undone[i].metric);
    standing_settle(computes_again(results), counts);
}

static void add_undone(struct standing *s, const struct run_record *r, const struct trials *t) {
    if (!s->trials) {
        standing_count(&r->results, s->undone);
        return;
    }
    for (size_t i = 0; i < STANDING_UNDONE; i++) {
        const struct trial_metric *m = trials_metric(t, undone[i].metric);
        bool most = standing_of_classes(undone[i].metric);
        for (size_t k = 0; m && k < m->count; k++) {
            double n = known(m->value[k]);
            s->undone[i] = most ? fmax(s->undone[i], n) : s->undone[i] + n;
        }
    }
    standing_settle(trials_have(t, standing_computes) && !trials_have(t, standing_not_computed), s->undone);
    for (size_t i = 0; i < t->count; i++)
        s->undone[standing_undone_find("requests_left")] += t->trial[i].left; /* of those left out */
}

double standing_undone_each(const struct standing *s, size_t i) {
    bool most = standing_of_classes(undone[i].metric);
    return most ? s->undone[i] : s->undone[i] / fmax((double)s->trials, 1);
}

bool standing_nothing_undone(const double counts[STANDING_UNDONE]) {
    for (size_t i = 0; i < STANDING_UNDONE; i++)
        if (counts[i] > 0) return false;
    return true;
}

const char *standing_undone(const double counts[STANDING_UNDONE], char *out, size_t len) {
    struct phrase text = {.out = out, .cap = len};
    size_t kinds = 0, told = 0;
    out[0] = '\0';
    for (size_t i = 0; i < STANDING_UNDONE; i++) kinds += counts[i] > 0;
    for (size_t i = 0; i < STANDING_UNDONE; i++) {
        char number[32];
        if (!(counts[i] > 0)) continue;
        phrase_add(&text, "%s%s %s",
                   told == 0           ? ""
                   : told + 1 == kinds ? " and "
                                       : ", ",
                   units_count_human(counts[i], number, sizeof number),
                   counts[i] == 1 ? undone[i].one : undone[i].many);
        told++;
    }
    return out;
}

const char *standing_lacks(const struct run_record *r, const struct run_criterion *c) {
    int t = metric_tier(c->metric);
    return t < KVF_TIERS && !r->tier[t].on ? "tier off" : "no data";
}

void standing_of(const struct run_record *r, const struct trials *t, struct standing *out) {
    *out = (struct standing){.trials = t ? t->count : 0};
    add_targets(out, r, t);
    add_undone(out, r, t);
    for (size_t i = 0; i < out->trials; i++) {
        const struct trial *one = &t->trial[i];
        out->failed += one->status == RUN_FAILED;
        if (one->status == RUN_FAILED) continue;
        out->criteria += one->criteria;
        out->passed += one->passed;
        out->without_data += one->without_data;
        if (!one->flaw[0]) continue;
        if (out->flawed++ == 0) out->flawed_first = one->number, out->flaw = one->flaw;
    }
    if (out->trials) return;
    out->failed = r->status == RUN_FAILED;
    out->passed = run_criteria_passed(r, &out->criteria);
    out->without_data = r->criterion_count - out->criteria;
}

bool standing_good(const struct standing *s) {
    return s->failed == 0 && s->missed == 0 && s->unjudged == 0 && s->passed == s->criteria &&
           standing_nothing_undone(s->undone);
}

const char *standing_criteria(size_t passed, size_t judged, size_t without_data,
                              char out[STANDING_CRITERIA]) {
    char rest[40] = "";
    out[0] = '\0';
    if (judged + without_data == 0) return out;
    if (without_data) snprintf(rest, sizeof rest, ", %zu without data", without_data);
    snprintf(out, STANDING_CRITERIA, "%zu of %zu criteria passed%s", passed, judged, rest);
    return out;
}

/* "not judged (46 of 100 requests that its percentile needs)", of one target or more, each for a reason. */
static void add_not_judged(struct phrase *t, const struct standing *s) {
    size_t few = s->unjudged - s->empty - s->merged - s->longer;
    const char *between = " (";
    phrase_add(t, "not judged");
    if (few > 0) {
        phrase_add(t, "%s%.0f of %.0f%s", between, s->requests, s->needed,
                   few == 1 ? " requests that its percentile needs"
                            : " or more requests that their percentiles need");
        between = " and ";
    }
    if (s->empty > 0) {
        phrase_add(t, "%sno request of the class ended", between);
        between = " and ";
    }
    if (s->longer > 0) {
        phrase_add(t, "%sthe run is shorter than the target%s", between, s->longer == 1 ? "" : "s");
        between = " and ";
    }
    if (s->merged > 0) phrase_add(t, "%sintervals of merged ranks are left out", between);
    phrase_add(t, ")");
}

const char *standing_unjudged(const struct standing *s, char out[STANDING_UNJUDGED]) {
    struct phrase text = {.out = out, .cap = STANDING_UNJUDGED};
    out[0] = '\0';
    if (s->unjudged == 0) return out;
    phrase_add(&text, "%zu ", s->unjudged);
    if (s->targets == 0)
        phrase_add(&text, "%starget%s ", s->p95_alone ? "P95 " : "", s->unjudged == 1 ? "" : "s");
    add_not_judged(&text, s);
    return out;
}

static void add_targets_text(struct phrase *text, const struct standing *s) {
    char unjudged[STANDING_UNJUDGED];
    const char *kind = s->p95_alone ? "P95 " : "";
    size_t all = s->targets + s->unjudged;
    if (all == 1 && s->targets)
        phrase_add(text, "the one %starget %s", kind, s->missed ? "missed" : "met");
    else if (s->targets && (s->missed || s->unjudged))
        phrase_add(text, "%zu of %zu %stargets %s", s->missed ? s->missed : s->targets, all, kind,
                   s->missed ? "missed" : "met");
    else if (s->targets)
        phrase_add(text, "all %zu %stargets met", all, kind);
    if (s->unjudged) phrase_add(text, "%s%s", s->targets ? ", " : "", standing_unjudged(s, unjudged));
}

static const char run_failed[] = "not judged (the run failed)";

const char *standing_targets(const struct standing *s, char out[STANDING_TARGETS]) {
    struct phrase text = {.out = out, .cap = STANDING_TARGETS};
    out[0] = '\0';
    if (s->failed && !s->trials && s->targets + s->unjudged > 0)
        phrase_add(&text, "%s", run_failed);
    else
        add_targets_text(&text, s);
    return out;
}

const char *standing_target(const struct run_record *r, const struct run_class *c, int target,
                            char out[STANDING_TARGETS]) {
    const struct standing_source of = {.run = r};
    struct standing s = {0};
    struct phrase text = {.out = out, .cap = STANDING_TARGETS};
    out[0] = '\0';
    add_target(&s, &of, c, target);
    if (s.targets + s.unjudged > 0 && r->status == RUN_FAILED)
        phrase_add(&text, "%s", run_failed);
    else if (s.targets > 0)
        phrase_add(&text, s.missed ? "missed" : "met");
    else if (s.unjudged > 0)
        add_not_judged(&text, &s);
    return out;
}

const char *standing_text(const struct standing *s, char out[STANDING_TEXT]) {
    char targets[STANDING_TARGETS] = "", criteria[STANDING_CRITERIA], lost[STANDING_TEXT - 384] = "";
    struct phrase text = {.out = out, .cap = STANDING_TEXT};
    struct phrase of_targets = {.out = targets, .cap = sizeof targets};
    add_targets_text(&of_targets, s);
    standing_criteria(s->passed, s->criteria, s->without_data, criteria);
    standing_undone(s->undone, lost, sizeof lost);
    out[0] = '\0';
    if (s->failed && s->trials)
        phrase_add(&text, "%zu of %zu trials failed%s", s->failed, s->trials,
                   targets[0] || criteria[0] ? ", of the others " : "");
    if (s->failed && !s->trials && (targets[0] || criteria[0]))
        phrase_add(&text, "targets and criteria not judged");
    else
        phrase_add(&text, "%s%s%s", targets, targets[0] && criteria[0] ? ", " : "", criteria);
    if (lost[0]) phrase_add(&text, "%sthroughput not comparable: %s", text.len ? ", " : "", lost);
    if (s->flawed > 0)
        phrase_add(&text, "%s%zu of %zu trials not comparable (trial %u: %s)", text.len ? ", " : "",
                   s->flawed, s->trials, s->flawed_first, s->flaw);
    return out;
}

static double unfinished(double in_service_s, double done, double each_ms) {
    return in_service_s > 0 ? 1 - done * each_ms / 1e3 / in_service_s : KVF_MISSING;
}

bool standing_cut(double in_service_s, double done, double each_ms) {
    return unfinished(in_service_s, done, each_ms) > STANDING_CUT;
}

/* As the means tell. */
static double unfinished_of(const struct result_list *results) {
    double each_ms = result_value(results, "e2e_mean_ms") - result_value(results, "queue_wait_mean_ms");
    double mean = result_value(results, "in_service_mean");
    if (result_value(results, "requests_failed") != 0) return KVF_MISSING;
    double part = unfinished(mean * result_value(results, "measured_s"),
                             result_value(results, "requests_done"), each_ms);
    /* a request that is left was there all the time at most; the rest is the end of others: that of their
     * slot */
    double most = result_value(results, "requests_in_service_at_end") / mean;
    return part > most ? most : part;
}

double standing_run_unfinished(const struct result_list *results) {
    double part = unfinished_of(results), told = result_value(results, "unfinished_ratio");
    return told > 0 && !(part >= told) ? told : part; /* of merged ranks that of the worst */
}

bool standing_run_cut(const struct result_list *results) {
    return standing_run_unfinished(results) > STANDING_CUT;
}

/* The part that chance explains, of a queue that grows (record/judge/judge.h). */
static double chance_of(double load, double dispersion) {
    double bursts = JUDGE_CHANCE * sqrt((dispersion >= 0 ? dispersion : 1) / load);
    return fmin(bursts, fmax(JUDGE_CHANCE * sqrt(1 / load), JUDGE_CHANCE_MOST));
}

bool standing_beyond_chance(double part, double load, double dispersion) {
    return part * load > JUDGE_WAIT_A_MOMENT && part >= chance_of(load, dispersion);
}

bool standing_waiting(double part, double load, double dispersion) {
    return part >= JUDGE_UNSERVED && standing_beyond_chance(part, load, dispersion);
}

bool standing_behind(double done_ratio, double arrived) {
    return standing_waiting(1 - done_ratio, arrived, 1);
}

double standing_run_load(const struct result_list *results) {
    double arrived = result_value(results, "requests_arrived"),
           open = result_value(results, "requests_open_at_start");
    return open > arrived ? open + arrived : arrived;
}

const char *const standing_busy[] = {"slots_busy_ratio", "gpu_busy_ratio",    "cpu_busy_ratio",
                                     "nvme_busy_ratio",  "remote_busy_ratio", "batch_busy_ratio"};
const size_t standing_busy_count = sizeof standing_busy / sizeof *standing_busy;

double standing_chance(double dispersion, double busy) {
    return (dispersion >= 0 ? dispersion : 1) / (busy >= JUDGE_FULL ? JUDGE_CHANCE * JUDGE_CHANCE : 1);
}

static double busiest(const struct result_list *results) {
    double busy = 0;
    for (size_t i = 0; i < standing_busy_count; i++)
        busy = fmax(busy, result_value(results, standing_busy[i]));
    return busy;
}

/* Arrivals at even gaps leave no queue by chance, but sizes let the number in service differ. What is chance
 * in the load of one rank is known of that rank alone. */
bool standing_run_waits(const struct result_list *results) {
    double unserved = result_value(results, "unserved_ratio"), load = standing_run_load(results),
           queue = fmin(unserved, result_value(results, "requests_queued_at_end") / load),
           dispersion = result_value(results, "arrival_dispersion"), busy = busiest(results);
    return kvf_present(unserved) &&
           (result_value(results, "ranks_behind") > 0 || result_value(results, "stranded_ratio") > 0 ||
            standing_waiting(unserved, load, standing_chance(fmax(dispersion, 1), busy)) ||
            standing_waiting(queue, load, standing_chance(dispersion, busy)));
}

double standing_run_allowed(const struct result_list *results) {
    double load = standing_run_load(results), busy = busiest(results),
           dispersion = fmax(result_value(results, "arrival_dispersion"), 1);
    bool needed = result_value(results, "unserved_ratio") >= JUDGE_UNSERVED && !standing_run_waits(results);
    if (!needed || !(load > 0)) return JUDGE_UNSERVED;
    double chance = chance_of(load, standing_chance(dispersion, busy));
    return fmax(JUDGE_UNSERVED, fmax(chance, (JUDGE_WAIT_A_MOMENT + 1) / load));
}

double standing_run_left(const struct result_list *results) {
    return standing_run_waits(results) ? result_value(results, "unserved_ratio")
                                       : fmax(known(result_value(results, "unsettled_ratio")),
                                              known(result_value(results, "unanswered_ratio")));
}

bool standing_run_behind(const struct result_list *results) {
    return standing_run_left(results) > 0 || standing_behind(result_value(results, "achieved_ratio"),
                                                             result_value(results, "requests_arrived"));
}

double standing_piled(double at_start, double mean, double at_end) {
    return fmax(fmin(2 * (at_end - mean), at_end - at_start), 0);
}

bool standing_run_copies(const struct result_list *results) {
    double begun = result_value(results, "copies_begun");
    return standing_behind(1 - result_value(results, "copies_left") / begun, begun);
}

unsigned standing_run_early(const struct result_list *results) {
    double arrivals = result_value(results, "requests_arrived"),
           done = result_value(results, "requests_done"), asked = result_value(results, "requests_asked"),
           before = asked - result_value(results, "requests_left") - done;
    bool carried = result_value(results, "tokens_carried_ratio") >= STANDING_CARRIED &&
                   !(unfinished_of(results) > -STANDING_RETURNED);
    bool asks_on = kvf_present(result_value(results, "unserved_ratio")) ||
                   kvf_present(result_value(results, "achieved_ratio")); /* unanswered */
    bool arrived =
        asks_on && (arrivals > 0 ? standing_behind(2 - done / arrivals, arrivals) : standing_behind(0, done));
    return (arrived ? STANDING_EARLY_ARRIVED : 0) | (before > asked / 2 ? STANDING_EARLY_DONE : 0) |
           (carried ? STANDING_EARLY_TOKENS : 0);
}

const char *const standing_flaw_metrics[] = {"e2e_mean_ms",         "queue_wait_mean_ms",
                                             "in_service_mean",     "requests_in_service_at_end",
                                             "measured_s",          "requests_arrived",
                                             "requests_done",       "requests_failed",
                                             "requests_asked",      "requests_left",
                                             "achieved_ratio",      "tokens_carried_ratio",
                                             "unserved_ratio",      "unsettled_ratio",
                                             "unanswered_ratio",    "copies_begun",
                                             "copies_left",         "batch_running_mean",
                                             "misses_not_computed", "requests_open_at_start",
                                             "arrival_dispersion",  "requests_queued_at_end",
                                             "slots_busy_ratio",    "gpu_busy_ratio",
                                             "cpu_busy_ratio",      "nvme_busy_ratio",
                                             "remote_busy_ratio",   "batch_busy_ratio",
                                             "unfinished_ratio",    "ranks_early",
                                             "ranks_copies_left",   "ranks_behind",
                                             "rows_rejected_ratio", "users_exhausted_ratio",
                                             "warmup_counted_s",    "stranded_ratio"};
const size_t standing_flaw_metric_count = sizeof standing_flaw_metrics / sizeof *standing_flaw_metrics;

bool standing_run_rows(const struct result_list *results) {
    return result_value(results, "rows_rejected_ratio") >= STANDING_ROWS;
}

enum standing_flaw standing_run_flaw(const struct result_list *results) {
    /* the rates of all hide those of a rank */
    bool early = standing_run_early(results) || result_value(results, "ranks_early") > 0;
    bool copies = (standing_run_copies(results) && !computes_again(results)) ||
                  result_value(results, "ranks_copies_left") > 0;
    bool exhausted = result_value(results, "users_exhausted_ratio") > 0,
         warmup = result_value(results, "warmup_counted_s") > 0;
    return standing_run_rows(results)     ? STANDING_FLAW_ROWS
           : warmup                       ? STANDING_FLAW_WARMUP
           : standing_run_cut(results)    ? STANDING_FLAW_CUT
           : early                        ? STANDING_FLAW_EARLY
           : copies                       ? STANDING_FLAW_COPIES
           : exhausted                    ? STANDING_FLAW_EXHAUSTED
           : standing_run_behind(results) ? STANDING_FLAW_BEHIND
                                          : STANDING_FLAWLESS;
}

bool standing_flaw_hides(enum standing_flaw flaw) {
    return flaw != STANDING_FLAWLESS && flaw != STANDING_FLAW_BEHIND;
}

bool standing_comparable(const double counts[STANDING_UNDONE], enum standing_flaw flaw) {
    return standing_nothing_undone(counts) && flaw == STANDING_FLAWLESS;
}

const char *standing_flaw_text(enum standing_flaw flaw) {
    static const char *const texts[STANDING_FLAWS] = {
        [STANDING_FLAWLESS] = "",
        [STANDING_FLAW_ROWS] = "many rows of its file were rejected",
        [STANDING_FLAW_WARMUP] = "it ended in its warm-up",
        [STANDING_FLAW_CUT] = "it ended amid most of its work",
        [STANDING_FLAW_EARLY] = "much of its work began before the measured part",
        [STANDING_FLAW_COPIES] = "it ended with copies still to be made",
        [STANDING_FLAW_EXHAUSTED] = "its users ran out of requests",
        [STANDING_FLAW_BEHIND] = "it did not serve what arrived"};
    return texts[flaw];
}

const char *standing_why(const double counts[STANDING_UNDONE], enum standing_flaw flaw,
                         char out[STANDING_TEXT]) {
    standing_undone(counts, out, STANDING_TEXT);
    size_t len = strlen(out);
    const char *more = standing_flaw_text(flaw);
    if (more[0]) snprintf(out + len, STANDING_TEXT - len, "%s%s", len > 0 ? "; " : "", more);
    return out;
}

const char *standing_run_why(const struct result_list *results, char out[STANDING_TEXT]) {
    double counts[STANDING_UNDONE];
    standing_count(results, counts);
    return standing_why(counts, standing_run_flaw(results), out);
}

const char *standing_run_undone(const struct run_record *r, char out[STANDING_TEXT]) {
    struct standing s;
    standing_of(r, NULL, &s);
    return standing_undone(s.undone, out, STANDING_TEXT);
}
