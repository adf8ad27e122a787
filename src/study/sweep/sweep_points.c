#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "probe/host.h"
#include "study/machine.h"
#include "study/setup.h"
#include "study/sweep/sweep.h"

unsigned sweep_jobs(void) {
    struct host host;
    host_probe(&host);
    return host.cpus_usable > 0 ? (unsigned)host.cpus_usable : 1;
}

int sweep_base_load(struct sweep_base *b, const char *path, const struct options *o) {
    struct scenario_report report;
    b->options = o;
    b->path = path;
    int status = setup_scenario(path, o, &b->scenario, &b->yaml, &report);
    if (status == 0) setup_say_unused(&report);
    scenario_load_free(&report);
    if (status == 0) sweep_base_plan(b);
    return status;
}

void sweep_base_plan(struct sweep_base *b) {
    const struct scenario_sweep *sweep = &b->scenario.sweep;
    if (sweep->on && (sweep->profile == KVF_SWEEP_KEYS || sweep->profile == KVF_SWEEP_RATES))
        sweep_plan_open(&b->plan, &b->scenario);
}

void sweep_base_text(const struct sweep_base *b, struct buf *out) {
    const struct scenario_sweep *sweep = &b->scenario.sweep;
    const struct sweep_plan *p = &b->plan;
    uint64_t points = (uint64_t)sweep->points;
    double low, high;
    char from[SWEEP_VALUE], to[SWEEP_VALUE];
    switch (sweep->profile) {
    case KVF_SWEEP_KEYS:
        if (p->points == UINT64_MAX)
            buf_add(out, "more points than can be counted: ");
        else
            buf_addf(out, "%" PRIu64 " point%s: ", p->points, p->points == 1 ? "" : "s");
        for (unsigned i = 0; i < p->axes; i++)
            buf_addf(out, "%s%s (%zu)", i ? p->zip ? " with " : " x " : "", p->axis[i].key,
                     p->axis[i].values);
        break;
    case KVF_SWEEP_RATES:
        if (p->axes > 0) points *= p->points;
        buf_addf(out, "%" PRIu64 " points: one request at a time, full throughput, and rates between",
                 points);
        for (unsigned i = 0; i < p->axes; i++)
            buf_addf(out, "%s%s (%zu)", i ? " x " : ", for each of ", p->axis[i].key, p->axis[i].values);
        break;
    case KVF_SWEEP_CAPACITY:
        if (!sweep_bounds(&b->scenario, &low, &high)) break;
        sweep_number_text(sweep->find, low, from);
        sweep_number_text(sweep->find, high, to);
        buf_addf(out, "the smallest %s from %s to %s for a %s", sweep->find, from, to, sweep->target.metric);
        break;
    case KVF_SWEEP_MISS_RATIO:
        buf_addf(out, "miss ratios at %" PRIu64 " capacities",
                 sweep->capacities ? sweep->capacities : points);
        break;
    }
}

void sweep_base_free(struct sweep_base *b) {
    sweep_plan_free(&b->plan);
    free(b->yaml);
    b->yaml = NULL;
}

unsigned sweep_settings(const struct sweep_base *b, uint64_t i, const char *value,
                        struct scenario_setting out[SWEEP_AXES_MAX]) {
    const struct scenario_sweep *sweep = &b->scenario.sweep;
    if (b->plan.axes > 0) {
        sweep_plan_point(&b->plan, i, out);
        return b->plan.axes;
    }
    if (sweep->profile != KVF_SWEEP_CAPACITY) return 0;
    out[0] = (struct scenario_setting){.key = sweep->find, .value = value, .origin = "sweep"};
    return 1;
}

bool sweep_point_load(const struct sweep_base *b, const struct scenario_setting *setting, unsigned count,
                      struct scenario *s, struct buf *errors) {
    const struct options *o = b->options;
    struct scenario_setting *all = mem_alloc((o->settings + SWEEP_SETTINGS_MAX + 1) * sizeof *all);
    struct scenario_report report;
    size_t n = 0;
    for (; n < o->settings; n++) all[n] = o->setting[n];
    n += sweep_plan_expand(&b->plan, setting, count, all + n);
    all[n++] = (struct scenario_setting){.key = "sweep", .value = "null", .origin = "sweep"};
    int rc = scenario_load(b->path, b->yaml, all, n, s, NULL, &report);
    if (rc != 0) buf_add(errors, buf_text(&report.errors));
    scenario_load_free(&report);
    free(all);
    if (rc == 0) machine_choose_gpu(s);
    return rc == 0;
}

bool sweep_point_by_blocks(const struct sweep_base *b, const struct sweep_point *p) {
    struct scenario_setting setting[SWEEP_AXES_MAX], all[SWEEP_SETTINGS_MAX];
    size_t n = sweep_plan_expand(&b->plan, setting, sweep_settings(b, p->planned, p->sought, setting), all);
    bool blocks = b->scenario.cache.granularity == KVF_GRANULARITY_BLOCK;
    for (size_t i = 0; i < n; i++)
        if (all[i].key && strcmp(all[i].key, "cache.granularity") == 0)
            blocks = strstr(all[i].value, "block") != NULL;
    return blocks;
}

/* ---- all points ---- */

enum { COMPLAINTS_MAX = 50 };
struct complaints {
    struct {
        char *text;
        uint64_t point, times;
    } item[COMPLAINTS_MAX];
    unsigned count, more;
};

static void complain(struct complaints *c, uint64_t point, const char *text, size_t len) {
    for (unsigned i = 0; i < c->count; i++)
        if (strncmp(c->item[i].text, text, len) == 0 && !c->item[i].text[len]) {
            c->item[i].times++;
            return;
        }
    if (c->count == COMPLAINTS_MAX) {
        c->more++;
        return;
    }
    char *copy = mem_zalloc(len + 1, 1);
    memcpy(copy, text, len);
    c->item[c->count].text = copy;
    c->item[c->count].point = point;
    c->item[c->count++].times = 1;
}

static void point_check(const struct sweep_base *b, uint64_t i, const char *value, struct scenario *s,
                        struct complaints *c) {
    struct scenario_setting setting[SWEEP_AXES_MAX];
    struct buf errors = {0};
    if (!sweep_point_load(b, setting, sweep_settings(b, i, value, setting), s, &errors))
        for (const char *p = buf_text(&errors); *p;) {
            size_t len = strcspn(p, "\n");
            complain(c, i, p, len);
            p += len + (p[len] == '\n');
        }
    buf_free(&errors);
}

static void complaints_say(const struct sweep_base *b, struct complaints *c, struct buf *out) {
    bool keys = b->plan.axes > 0;
    for (unsigned i = 0; i < c->count; i++) {
        struct scenario_setting setting[SWEEP_AXES_MAX];
        struct buf label = {0};
        if (keys) {
            sweep_plan_point(&b->plan, c->item[i].point, setting);
            sweep_point_label(setting, b->plan.axes, &label);
            buf_addf(out, "point %" PRIu64 " (%s)", c->item[i].point + 1, buf_text(&label));
            if (c->item[i].times > 1) buf_addf(out, " and %" PRIu64 " more", c->item[i].times - 1);
        } else {
            buf_addf(out, "%s", c->item[i].point == 0 ? "lower bound" : "upper bound");
        }
        buf_addf(out, ": %s\n", c->item[i].text);
        buf_free(&label);
        free(c->item[i].text);
    }
    if (c->more > 0) buf_addf(out, "and %u more errors\n", c->more);
}

unsigned sweep_points_check(const struct sweep_base *b, struct buf *errors) {
    struct complaints *c = mem_zalloc(1, sizeof *c);
    struct scenario *s = mem_alloc(sizeof *s);
    uint64_t most = b->plan.points < SWEEP_POINTS_USUAL ? b->plan.points : SWEEP_POINTS_USUAL;
    double bound[2];
    char text[SWEEP_VALUE];

    for (uint64_t i = 0; i < most; i++) point_check(b, i, NULL, s, c);
    if (b->scenario.sweep.profile == KVF_SWEEP_CAPACITY && sweep_bounds(&b->scenario, &bound[0], &bound[1]))
        for (uint64_t i = 0; i < 2; i++)
            point_check(b, i, sweep_number_text(b->scenario.sweep.find, bound[i], text), s, c);
    unsigned count = c->count + c->more;
    complaints_say(b, c, errors);
    free(s);
    free(c);
    return count;
}

/* ---- one point ---- */

/* No think times: a user with an answer asks again at once. */
static void load_closed(struct scenario *s, uint64_t users) {
    s->workload.arrival.process = KVF_ARRIVAL_CLOSED;
    s->workload.users = users;
    for (uint32_t i = 0; i < s->workload.personas; i++)
        s->workload.persona[i].think_ns = (struct scenario_range){0, 0};
}

void sweep_load_apply(const struct sweep_point *p, struct scenario *s) {
    enum { SLOTS_USUAL = 256 };
    bool at_rate = s->workload.arrival.process == KVF_ARRIVAL_POISSON ||
                   s->workload.arrival.process == KVF_ARRIVAL_GAMMA;
    switch (p->load) {
    case LOAD_SYNCHRONOUS:
        load_closed(s, 1);
        break;
    case LOAD_FULL: /* every slot is in use all the time */
        load_closed(s, s->engine.slots == KVF_AUTO ? SLOTS_USUAL : s->engine.slots);
        break;
    case LOAD_AT_RATE:
        if (!at_rate) {
            s->workload.arrival.process = KVF_ARRIVAL_GAMMA;
            s->workload.arrival.cv = 0; /* even gaps */
        }
        s->workload.arrival.rate = p->rate;
        break;
    case LOAD_AS_GIVEN:
        break;
    }
}

void sweep_label(const struct sweep *s, size_t i, struct buf *out) {
    const struct sweep_point *p = &s->point[i];
    struct scenario_setting setting[SWEEP_AXES_MAX] = {{0}};
    unsigned count = sweep_settings(&s->base, p->planned, p->sought, setting);
    sweep_point_label(setting, count, out);
    if (count > 0 && p->load != LOAD_AS_GIVEN) buf_add(out, " ");
    if (p->load == LOAD_AT_RATE)
        buf_addf(out, "%.6g req/s", p->rate);
    else if (p->load != LOAD_AS_GIVEN)
        buf_add(out, p->load == LOAD_FULL ? "throughput" : "synchronous");
}

void sweep_values_json(const struct sweep_base *b, const struct sweep_point *p, struct buf *out) {
    struct scenario_setting setting[SWEEP_AXES_MAX + 1];
    char rate[SWEEP_VALUE];
    unsigned count = sweep_settings(b, p->planned, p->sought, setting);
    snprintf(rate, sizeof rate, "%.17g", p->rate);
    if (p->load == LOAD_AT_RATE)
        setting[count++] = (struct scenario_setting){.key = "workload.arrival.rate", .value = rate};
    else if (p->load != LOAD_AS_GIVEN)
        setting[count++] = (struct scenario_setting){
            .key = "load", .value = p->load == LOAD_FULL ? "throughput" : "synchronous"};
    sweep_point_json(setting, count, out);
}

size_t sweep_point_add(struct sweep *s, uint64_t planned) {
    if ((s->points & (s->points + 1)) == 0) /* full at 0, 1, 3, 7, ... */
        s->point = mem_realloc(s->point, (2 * s->points + 1) * sizeof *s->point);
    struct sweep_point *p = &s->point[s->points];
    memset(p, 0, sizeof *p);
    p->planned = planned;
    p->reuse_hits = NAN;
    p->chunk_hits = NAN;
    for (unsigned m = 0; m < SWEEP_METRICS_MAX; m++) p->value[m] = NAN;
    return s->points++;
}

void sweep_curve_point(const struct sweep *s, size_t i, const char **policy, uint64_t *capacity) {
    const struct sweep_curves *c = &s->curves;
    *policy = traits_policy(c->policy[i / c->capacities])->word;
    *capacity = c->capacity[i % c->capacities];
}
