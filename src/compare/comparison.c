#include "compare/comparison.h"

#include <jansson.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/moment.h"
#include "base/units.h"
#include "compare/comparison_parts.h"
#include "record/standing.h"

/* ---- sides ---- */

/* "runs 4-6" where no other run is between them, else "runs 4, 6". */
static void label_group(const struct trials *t, char *out, size_t len) {
    const struct trial *first = &t->trial[0], *last = &t->trial[t->count - 1];
    bool row = last->run_id - first->run_id == (int64_t)t->count - 1;
    if (t->count == 1)
        snprintf(out, len, "run %" PRId64, first->run_id);
    else if (t->count == 2 || row)
        snprintf(out, len, "runs %" PRId64 "%s%" PRId64, first->run_id, row ? "-" : ", ", last->run_id);
    else
        snprintf(out, len, "runs %" PRId64 "...%" PRId64, first->run_id, last->run_id);
}

/* The settings of a run that causes go by. */
struct rules {
    double way_ms;   /* of a message from the router to a pod, before the wait for a slot */
    bool inclusive;  /* slower tiers keep copies */
    bool background; /* room is made ahead of writes */
};

static bool has_word(const json_t *section, const char *key, const char *word) {
    const char *value = json_string_value(json_object_get(section, key));
    return value && strcmp(value, word) == 0;
}

static double way_of(const json_t *root) {
    const json_t *fleet = json_object_get(root, "fleet");
    const char *delay = json_string_value(json_object_get(fleet, "delay"));
    uint64_t ns = 0;
    bool sent = has_word(root, "mode", "simulate") && json_number_value(json_object_get(fleet, "pods")) > 1;
    return sent && delay && units_parse_duration(delay, &ns) == 0 ? (double)ns / 1e6 : 0;
}

static void rules_of(const struct run_record *run, struct comparison_side *s, struct rules *out) {
    json_t *root = run->effective_json ? json_loads(run->effective_json, 0, NULL) : NULL;
    const json_t *cache = json_object_get(root, "cache");
    const char *unit = json_string_value(json_object_get(cache, "granularity"));
    snprintf(s->granularity, sizeof s->granularity, "%s", unit ? unit : "");
    out->inclusive = has_word(cache, "placement", "inclusive");
    out->background = has_word(cache, "make_room", "background");
    out->way_ms = way_of(root);
    json_decref(root);
}

static double value_of(const struct comparison_input *i, const char *metric) {
    const char *unit;
    return comparison_value(i, metric, &unit);
}

/* At granularity request shared prompts alone are made again, at granularity block all but chunks of
 * documents. */
static double misses_of(const struct comparison_input *i, const char *granularity) {
    if (strcmp(granularity, "request") == 0)
        return value_of(i, "prefix_lookups") - value_of(i, "prefix_hits");
    double chunks = value_of(i, "rag_lookups") - value_of(i, "rag_hits");
    double all = value_of(i, "reuse_lookups") * (1 - value_of(i, "reuse_hit_ratio"));
    return round(all - (chunks > 0 ? chunks : 0)); /* whole ones */
}

/* Of the operations or bytes of a tier those of moves that no request waits for: up, or under inclusive down;
 * a load of inclusive is the read that it serves. */
static double aside(const struct comparison_input *i, const struct rules *rules, int k, const char *what) {
    const bool apart[] = {!rules->inclusive, rules->inclusive || rules->background};
    static const enum kvf_cause moves[] = {KVF_CAUSE_PROMOTION, KVF_CAUSE_DEMOTION};
    double sum = 0;
    for (size_t c = 0; c < 2; c++) {
        char metric[METRIC_NAME];
        snprintf(metric, sizeof metric, "%s_%s_%s_%s", tier_name((enum kvf_tier)(k / KVF_DIRS)),
                 dir_name((enum kvf_dir)(k % KVF_DIRS)), cause_name(moves[c]), what);
        double n = apart[c] ? value_of(i, metric) : 0;
        sum += kvf_present(n) ? n : 0;
    }
    return sum;
}

static double aside_read_bytes(const struct comparison_input *i, const struct rules *rules) {
    double sum = 0;
    for (int t = 0; t < KVF_TIERS; t++) sum += aside(i, rules, t * KVF_DIRS + KVF_DIR_READ, "bytes");
    return sum;
}

static void means_of(const struct comparison_input *i, const char *granularity, const struct rules *rules,
                     struct comparison_means *m) {
    double done = value_of(i, "requests_done");
    *m = (struct comparison_means){
        .e2e = value_of(i, "e2e_mean_ms"),
        .ttft = value_of(i, "ttft_mean_ms"),
        .queue = value_of(i, "queue_wait_mean_ms") - rules->way_ms,
        .way = rules->way_ms,
        .storage = value_of(i, "storage_io_mean_ms"),
        .prefill = value_of(i, "prefill_mean_ms"),
        .generation = value_of(i, "generation_mean_ms"),
        .device_ms = value_of(i, "nvme_read_device_mean_ms"),
        .kernel_ms = value_of(i, "nvme_read_q2d_mean_ms"),
        .drive_ms = value_of(i, "nvme_read_d2c_mean_ms"),
        .misses = kvf_ratio(misses_of(i, granularity), done),
        .read_bytes = kvf_ratio(value_of(i, "total_read_bytes") - aside_read_bytes(i, rules), done)};
    for (int k = 0; k < KVF_TIERS * KVF_DIRS; k++) {
        enum kvf_tier t = (enum kvf_tier)(k / KVF_DIRS);
        enum kvf_dir d = (enum kvf_dir)(k % KVF_DIRS);
        char mean[METRIC_NAME], ops[METRIC_NAME];
        snprintf(mean, sizeof mean, "%s_%s_mean_ms", tier_name(t), dir_name(d));
        snprintf(ops, sizeof ops, "%s_%s_ops", tier_name(t), dir_name(d));
        m->operation_ms[t][d] = value_of(i, mean);
        m->operations[t][d] = kvf_ratio(value_of(i, ops) - aside(i, rules, k, "ops"), done);
    }
}

static void describe_side(const struct comparison_input *i, struct comparison_side *s) {
    const struct run_record *run = i->run;
    struct rules rules;
    char when[MOMENT_TEXT], end[48] = "";
    *s =
        (struct comparison_side){.run_id = run->run_id, .status = run->status, .started_at = run->started_at};
    if (run->status != RUN_COMPLETED) snprintf(end, sizeof end, ", %s", run_status_name(run->status));
    snprintf(s->name, sizeof s->name, "%s", run->name);
    snprintf(s->label, sizeof s->label, "run %" PRId64, run->run_id);
    s->results = run->results.count > 0;
    rules_of(run, s, &rules);
    s->open_loop = kvf_present(value_of(i, "achieved_ratio"));
    means_of(i, s->granularity, &rules, &s->mean);
    verdict_limit_text(&run->verdict, s->limited_by, sizeof s->limited_by);
    if (comparison_group(i)) {
        s->trials = i->trials->count;
        s->complete = trials_complete(i->trials);
        s->results = s->complete > 0;
        for (size_t k = 0; k < s->trials; k++) {
            const struct trial *one = &i->trials->trial[k];
            s->failed += one->status == RUN_FAILED || one->status == RUN_CRASHED;
            s->late += one->left > 0;
        }
        label_group(i->trials, s->label, sizeof s->label);
        snprintf(end, sizeof end, ", %zu of %zu trials", s->complete, s->trials);
    }
    moment_local_text(run->started_at, when);
    snprintf(s->title, sizeof s->title, "%s, %s%s", run->name, when, end);
}

/* ---- metrics ---- */

static enum comparison_direction direction_of(enum metric_better better, double change) {
    if (isnan(change)) return COMPARISON_MISSING;
    if (change == 0) return COMPARISON_SAME;
    if (better == METRIC_NEUTRAL) return change > 0 ? COMPARISON_MORE : COMPARISON_LESS;
    return (change > 0) == (better == METRIC_HIGHER) ? COMPARISON_IMPROVED : COMPARISON_WORSENED;
}

static void put_change(struct comparison_change *c, double base, enum metric_better better) {
    c->absolute = c->value - base;
    c->relative = base != 0 ? c->absolute / fabs(base) : c->absolute == 0 ? 0 : KVF_MISSING;
    c->direction = direction_of(better, c->absolute);
}

/* Values that do not have the unit of the first that is there are no values to compare. */
static void put_values(const struct comparison_input *input, struct comparison *c,
                       struct comparison_metric *m) {
    for (size_t s = 0; s < c->sides; s++) {
        struct comparison_change *change = &m->change[s];
        const char *unit;
        *change = (struct comparison_change){.value = comparison_value(&input[s], m->metric, &unit),
                                             .absolute = KVF_MISSING,
                                             .relative = KVF_MISSING,
                                             .low = KVF_MISSING,
                                             .high = KVF_MISSING,
                                             .p = KVF_MISSING};
        if (isnan(change->value) || !unit) continue;
        if (!m->unit[0]) snprintf(m->unit, sizeof m->unit, "%s", unit);
        if (strcmp(m->unit, unit) == 0) continue;
        comparison_warn(c, "%s is in %s in %s, not in %s; it is left out there.", m->metric,
                        unit[0] ? unit : "no unit", c->side[s].label, m->unit);
        change->value = KVF_MISSING;
    }
    for (size_t s = 1; s < c->sides; s++) put_change(&m->change[s], m->change[0].value, m->better);
}

static bool all_quiet(const struct comparison_metric *m, size_t sides, bool zero) {
    for (size_t s = 0; s < sides; s++)
        if (!isnan(m->change[s].value) && !(zero && m->change[s].value == 0)) return false;
    return true;
}

enum asked { ASKED_USUAL, ASKED_NAMED, ASKED_ALL };

/* Adds a metric unless it is there, or has nothing to say in the usual selection. */
static void add_metric(const struct comparison_input *input, struct comparison *c, const char *metric,
                       enum asked asked) {
    if (comparison_metric(c, metric)) return;
    const struct metric_usual *usual = metric_usual_find(metric);
    struct comparison_metric m = {.better = metric_better(metric),
                                  .main = usual,
                                  .watched = usual && usual->watched,
                                  .change = mem_zalloc(c->sides, sizeof *m.change)};
    snprintf(m.metric, sizeof m.metric, "%s", metric);
    comparison_label(metric, input, c->sides, m.label, sizeof m.label);
    put_values(input, c, &m);
    if (asked != ASKED_NAMED && all_quiet(&m, c->sides, asked == ASKED_USUAL && (!usual || usual->quiet))) {
        free(m.change);
        return;
    }
    c->metric = mem_realloc(c->metric, (c->metrics + 1) * sizeof *c->metric);
    c->metric[c->metrics++] = m;
}

/* Calls for each metric of a side, in the order of its results. */
static void each_metric(const struct comparison_input *i, void (*have)(void *ctx, const char *metric),
                        void *ctx) {
    if (comparison_group(i))
        for (size_t n = 0; n < i->trials->metrics; n++) have(ctx, i->trials->metric[n].metric);
    else
        for (size_t n = 0; n < i->run->results.count; n++) have(ctx, i->run->results.items[n].metric);
}

struct adding {
    const struct comparison_input *input;
    struct comparison *c;
    const char *only; /* metrics of this pattern alone; NULL: all */
};

static void add_found(void *ctx, const char *metric) {
    struct adding *a = ctx;
    if (!a->only)
        add_metric(a->input, a->c, metric, ASKED_ALL);
    else if (metric_fits(a->only, metric))
        add_metric(a->input, a->c, metric, ASKED_USUAL);
}

static void add_metrics(const struct comparison_input *input, const struct comparison_wish *wish,
                        struct comparison *c) {
    struct adding a = {input, c, NULL};
    for (size_t k = 0; k < metric_usual_count; k++) {
        a.only = metric_usual[k].name;
        if (!strstr(a.only, "CLASS"))
            add_metric(input, c, a.only, ASKED_USUAL);
        else
            for (size_t s = 0; s < c->sides; s++) each_metric(&input[s], add_found, &a);
    }
    for (size_t i = 0; i <= STANDING_UNDONE; i++) { /* those that the usual selection does not have */
        bool some = false;                          /* in trials whose median is none */
        for (size_t s = 0; s < c->sides; s++) some = some || comparison_lost_in_part(&c->side[s], i);
        add_metric(input, c, comparison_lost_metric(i), some ? ASKED_NAMED : ASKED_USUAL);
    }
    for (size_t s = 1; s < c->sides; s++)
        if (comparison_waits_more(&c->side[s], c->side) || comparison_waits_more(c->side, &c->side[s]))
            add_metric(input, c, "unserved_ratio", ASKED_NAMED);
    add_metric(input, c, "unanswered_ratio", ASKED_USUAL);
    for (size_t n = 0; wish->extra && wish->extra[n]; n++) add_metric(input, c, wish->extra[n], ASKED_NAMED);
    a.only = NULL;
    for (size_t s = 0; wish->all && s < c->sides; s++) each_metric(&input[s], add_found, &a);
}

/* ---- the whole ---- */

void comparison_make(const struct comparison_input *input, size_t sides, const struct comparison_wish *wish,
                     struct comparison *out) {
    *out = (struct comparison){.sides = sides, .side = mem_zalloc(sides, sizeof *out->side)};
    for (size_t s = 0; s < sides; s++) {
        describe_side(&input[s], &out->side[s]);
        comparison_store(&input[s], &out->side[s].store);
        out->side[s].other_units = out->side[0].granularity[0] && out->side[s].granularity[0] &&
                                   strcmp(out->side[0].granularity, out->side[s].granularity) != 0;
    }
    comparison_scenarios(input, out);
    comparison_undone(input, out);
    comparison_classes(input, out);
    comparison_work(input, out);
    comparison_explained(input, out);
    comparison_fairness(input, out);
    add_metrics(input, wish, out);
    comparison_judge(input, out);
    comparison_unfinished(input, out);
    out->verdict = mem_zalloc(sides, sizeof *out->verdict);
    for (size_t s = 1; s < sides; s++) {
        struct buf sentence = {0};
        comparison_verdict(out, s, &sentence);
        out->verdict[s] = mem_strdup(buf_text(&sentence));
        if (out->verdict[s][0] == 'r') out->verdict[s][0] = 'R'; /* the label begins it */
        buf_free(&sentence);
    }
}

static void free_texts(char **text, size_t count) {
    for (size_t i = 0; text && i < count; i++) free(text[i]);
    free(text);
}

void comparison_free(struct comparison *c) {
    for (size_t i = 0; i < c->differences; i++) {
        free(c->difference[i].key);
        free_texts(c->difference[i].value, c->sides);
    }
    for (size_t i = 0; i < c->metrics; i++) free(c->metric[i].change);
    free_texts(c->verdict, c->sides);
    for (size_t i = 0; i < c->cases; i++) free(c->held[i].text);
    free(c->held);
    free_texts(c->warning, c->warnings);
    free_texts(c->note, c->notes);
    free_texts(c->failure, c->failures);
    free(c->limit);
    free(c->difference);
    free(c->metric);
    free(c->side);
    *c = (struct comparison){0};
}
