#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "study/sweep/sweep.h"

/* A run of a stored sweep: the plan comes from the configuration, the points from the runs. */
struct stored_run {
    uint32_t number;
    struct sweep_point point; /* without measures */
};
struct reading {
    struct sweep_base base;
    struct outcome *out;
    struct stored_run *run; /* by number */
    size_t runs, cap;
    bool usable, placed; /* there is a plan; the points are in the outcome */
    size_t at;           /* the point whose results come */
    size_t measure;      /* behind the last one: runs have the same in the same order */
};

/* ---- its configuration ---- */

static void copy_text(const json_t *o, const char *key, char *out, size_t len) {
    const char *text = json_string_value(json_object_get(o, key));
    snprintf(out, len, "%s", text ? text : "");
}

/* A part as JSON text, "" where it does not fit. */
static void copy_part(const json_t *o, const char *key, char *out, size_t len) {
    char *text = json_dumps(json_object_get(o, key), JSON_ENCODE_ANY);
    if (text && strlen(text) < len) snprintf(out, len, "%s", text);
    free(text);
}

static void read_baseline(const json_t *sweep, struct scenario_sweep *s) {
    const json_t *b = json_object_get(sweep, "baseline");
    if (json_is_integer(b))
        snprintf(s->baseline, sizeof s->baseline, "%" PRId64, (int64_t)json_integer_value(b));
    else
        copy_text(sweep, "baseline", s->baseline, sizeof s->baseline);
}

static void read_target(const json_t *target, struct scenario_sweep *s) {
    char op[4];
    copy_text(target, "metric", s->target.metric, sizeof s->target.metric);
    copy_text(target, "op", op, sizeof op);
    s->target.op = scenario_op_parse(op);
    s->target.value = json_number_value(json_object_get(target, "value"));
}

/* Reads the keys that plan and metrics depend on. False if the configuration is none of a sweep. */
static bool read_sweep(const char *effective, struct scenario *s) {
    json_t *all = json_loads(effective ? effective : "", 0, NULL);
    const json_t *sweep = json_object_get(all, "sweep"), *target = json_object_get(sweep, "target"),
                 *arrival = json_object_get(json_object_get(all, "workload"), "arrival");
    struct scenario_sweep *w = &s->sweep;
    char profile[24], combine[24], process[24], granularity[24];
    copy_text(sweep, "profile", profile, sizeof profile);
    copy_text(sweep, "combine", combine, sizeof combine);
    copy_text(arrival, "process", process, sizeof process);
    copy_text(json_object_get(all, "cache"), "granularity", granularity, sizeof granularity);
    bool good = sweep_profile_parse(profile, &w->profile);
    w->on = true;
    w->combine = strcmp(combine, "zip") == 0 ? KVF_COMBINE_ZIP : KVF_COMBINE_CARTESIAN;
    copy_part(sweep, "keys", w->keys, sizeof w->keys);
    copy_part(sweep, "variants", w->variants, sizeof w->variants);
    copy_text(sweep, "metrics", w->metrics, sizeof w->metrics);
    copy_text(sweep, "find", w->find, sizeof w->find);
    read_target(target, w);
    read_baseline(sweep, w);
    s->workload.arrival.process = strcmp(process, "trace") == 0     ? KVF_ARRIVAL_TRACE
                                  : strcmp(process, "poisson") == 0 ? KVF_ARRIVAL_POISSON
                                  : strcmp(process, "gamma") == 0   ? KVF_ARRIVAL_GAMMA
                                                                    : KVF_ARRIVAL_CLOSED;
    s->cache.granularity =
        strcmp(granularity, "block") == 0 ? KVF_GRANULARITY_BLOCK : KVF_GRANULARITY_REQUEST;
    json_decref(all);
    return good;
}

/* ---- its runs ---- */

/* The combination of variants that the values of a run name: a number of the plan of profile rates. */
static uint64_t combination(const struct sweep_plan *plan, const json_t *values) {
    uint64_t n = 0;
    for (unsigned g = 0; g < plan->groups; g++) {
        const struct sweep_axis *a = &plan->axis[g];
        const char *name = json_string_value(json_object_get(values, a->key));
        size_t v = 0, len = name ? strlen(name) : 0;
        while (v < a->values &&
               !(name && strncmp(a->value[v] + 1, name, len) == 0 && strlen(a->value[v]) == len + 2))
            v++;
        n = n * a->values + (v < a->values ? v : 0);
    }
    return n;
}

/* The value tried in a search, as sweep_number_text() wrote it. */
static void read_sought(const struct scenario_sweep *sweep, const json_t *values, char out[SWEEP_VALUE]) {
    const json_t *v = json_object_get(values, sweep->find);
    if (json_is_number(v))
        sweep_number_text(sweep->find, json_number_value(v), out);
    else
        snprintf(out, SWEEP_VALUE, "%s", json_string_value(v) ? json_string_value(v) : "");
}

static void read_load(const json_t *values, struct sweep_point *p) {
    const json_t *rate = json_object_get(values, "workload.arrival.rate");
    const char *load = json_string_value(json_object_get(values, "load"));
    p->load = json_is_number(rate)                      ? LOAD_AT_RATE
              : load && strcmp(load, "throughput") == 0 ? LOAD_FULL
                                                        : LOAD_SYNCHRONOUS;
    p->rate = json_number_value(rate);
}

static void add_run(void *ctx, const struct store_point *from) {
    struct reading *r = ctx;
    const struct scenario_sweep *sweep = &r->base.scenario.sweep;
    mem_room(r->run, r->runs, r->cap);
    if (r->runs > 0 && r->run[r->runs - 1].number == from->point) return;
    r->run[r->runs].number = from->point;
    struct sweep_point *p = &r->run[r->runs++].point;
    json_t *values = json_loads(from->values, 0, NULL);
    memset(p, 0, sizeof *p);
    p->run_id = from->run_id;
    p->state = outcome_state_of(from->status);
    if (p->state == OUTCOME_FAILED)
        snprintf(p->why, sizeof p->why, "%s", from->reason[0] ? from->reason : "it gave no reason");
    if (sweep->profile == KVF_SWEEP_RATES) {
        p->planned = combination(&r->base.plan, values);
        read_load(values, p);
    }
    if (sweep->profile == KVF_SWEEP_CAPACITY) read_sought(sweep, values, p->sought);
    json_decref(values);
}

static void begin(void *ctx) {
    struct reading *r = ctx;
    struct outcome *o = r->out;
    char measure[SWEEP_METRICS_MAX][64];
    r->usable = read_sweep(o->record.effective_json, &r->base.scenario);
    if (!r->usable) return;
    sweep_base_plan(&r->base);
    sweep_outcome_begin(&r->base, o);
    unsigned count = sweep_measures(&r->base.scenario, measure);
    for (unsigned m = 0; m < count; m++) outcome_measure(o, measure[m], "");
    o->chosen = o->measures;
}

/* ---- its points ---- */

/* A point without a run: it failed before it had one, where that is all there can be. */
static void put_missing(const struct reading *r, size_t number, bool failed) {
    bool rates = r->base.scenario.sweep.profile == KVF_SWEEP_RATES;
    struct sweep_point p = {.planned = rates ? (number - 1) / 2 : number - 1,
                            .load = !rates             ? LOAD_AS_GIVEN
                                    : (number - 1) % 2 ? LOAD_FULL
                                                       : LOAD_SYNCHRONOUS,
                            .state = failed ? OUTCOME_FAILED : OUTCOME_WAITS};
    if (failed) snprintf(p.why, sizeof p.why, "it failed before its run began");
    sweep_outcome_point(&r->base, &p, r->out)->number = number;
}

/* Points that are known without their runs: all of profile keys, the first two of each combination of
 * profile rates. Nobody has run more than a million; a file that says so is not to be trusted. */
enum { POINTS_MOST = 1000000 };
static size_t points_known(const struct reading *r) {
    const struct sweep_plan *plan = &r->base.plan;
    enum scenario_sweep_profile profile = r->base.scenario.sweep.profile;
    if (plan->points > POINTS_MOST) return 0;
    if (profile == KVF_SWEEP_KEYS) return (size_t)plan->points;
    if (profile == KVF_SWEEP_RATES) return 2 * (plan->axes > 0 ? (size_t)plan->points : 1);
    return 0;
}

static void place_points(struct reading *r) {
    const struct sweep_record *record = &r->out->record;
    size_t known = points_known(r), at = 0, failed = 0;
    bool keys = r->base.scenario.sweep.profile == KVF_SWEEP_KEYS;
    if (r->placed || !r->usable) return;
    r->placed = true;
    for (size_t i = 0; i < r->runs; i++) failed += r->run[i].point.state == OUTCOME_FAILED;
    bool all_failed = record->status != RUN_RUNNING && record->status != RUN_CRASHED &&
                      record->failed - failed == record->points - r->runs;
    for (size_t number = 1; number <= known || at < r->runs; number++) {
        if (number > known && r->run[at].number > number) number = r->run[at].number;
        if (at < r->runs && r->run[at].number <= number) {
            if (keys) r->run[at].point.planned = number - 1;
            sweep_outcome_point(&r->base, &r->run[at++].point, r->out)->number = number;
        } else if (number <= known) {
            put_missing(r, number, all_failed);
        }
    }
}

static void add_result(void *ctx, uint32_t number, const char *metric, double value, const char *unit) {
    struct reading *r = ctx;
    struct outcome *o = r->out;
    place_points(r);
    while (r->at < o->points && o->point[r->at].number < number) r->at++;
    if (r->at == o->points || o->point[r->at].number != number) return;
    size_t left = standing_undone_find(metric);
    if (left < STANDING_UNDONE && value > 0) o->point[r->at].undone[left] = value;
    size_t m = r->measure < o->measures ? r->measure : 0;
    if (m == o->measures || strcmp(o->measure[m].name, metric) != 0 || !o->measure[m].unit[0])
        m = outcome_measure(o, metric, unit);
    r->measure = m + 1;
    outcome_set(&o->point[r->at], m, value);
}

static void add_curve(void *ctx, const struct sweep_curve *c) {
    outcome_add_curve(((struct reading *)ctx)->out, c);
}

/* Of its stored results, as of a run that has just ended. */
static void settle_ending(struct outcome *o, size_t point) {
    struct result_list all = {0};
    for (size_t m = 0; m < o->measures; m++)
        result_add(&all, outcome_measured(o, point, m), 0, "%s", o->measure[m].name);
    o->point[point].flaw = standing_run_flaw(&all);
    o->point[point].chunk_misses = standing_chunk_misses(&all);
    o->point[point].chunk_hits = standing_chunk_hits(&all);
    o->point[point].turns = standing_turns(&all);
    o->point[point].estimated = result_value(&all, "autoscaler_found") == 0;
    double value[WORK_METRICS];
    for (size_t m = 0; m < WORK_METRICS; m++) value[m] = result_value(&all, work_metric[m]);
    o->point[point].work = work_of(value);
    free(all.items);
}

static bool has(const struct outcome *o, size_t point, const char *metric) {
    size_t m = 0;
    while (m < o->measures && strcmp(o->measure[m].name, metric) != 0) m++;
    return m < o->measures && kvf_present(outcome_measured(o, point, m));
}

static void settle_points(struct outcome *o) {
    for (size_t i = 0; i < o->points; i++) {
        o->point[i].computes = has(o, i, standing_computes);
        standing_settle(o->point[i].computes && !has(o, i, standing_not_computed), o->point[i].undone);
        settle_ending(o, i);
        o->point[i].reuse_hits = outcome_value(o, i, outcome_measure_find(o, "reuse_hit_ratio"));
    }
}

/* Of one that has not told its end. */
static void count_points(struct outcome *o) {
    if (o->record.status != RUN_RUNNING && o->record.status != RUN_CRASHED) return;
    o->record.done = o->record.failed = 0;
    for (size_t i = 0; i < o->points; i++) {
        o->record.done += o->point[i].state == OUTCOME_DONE;
        o->record.failed += o->point[i].state == OUTCOME_FAILED;
    }
}

int sweep_stored(struct store *store, const char *ref, struct outcome *out, struct err *e) {
    struct reading *r = mem_zalloc(1, sizeof *r);
    struct store_sweep_reader read = {begin, add_run, add_result, add_curve, r};
    int64_t id = 0;
    r->out = out;
    int rc = store_resolve_sweep(store, ref, &id, e);
    if (rc == 0) rc = store_load_sweep(store, id, &out->record, &read, e);
    if (rc == 0 && !r->usable)
        rc = err_set(e, KVF_ERR_CORRUPT,
                     "sweep %" PRId64
                     " has no configuration in the database that could be read; `kvfall history` "
                     "has its runs",
                     id);
    place_points(r);
    settle_points(out);
    count_points(out);
    sweep_plan_free(&r->base.plan);
    free(r->run);
    free(r);
    return rc;
}
