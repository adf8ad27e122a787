#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "study/sweep/sweep.h"

/* ---- what varies ---- */

/* A number of a key in its base unit; names in quotes are looked into. */
static double number_of(const char *key, const char *text) {
    char plain[SWEEP_VALUE * 2];
    size_t len = strlen(text);
    bool quoted = len >= 2 && text[0] == '"';
    double v;
    snprintf(plain, sizeof plain, "%.*s", (int)(len - 2 * quoted), text + quoted);
    return sweep_number_parse(key, plain, &v) ? v : NAN;
}

static void put_dimensions(const struct sweep_base *b, struct outcome *o) {
    const struct scenario_sweep *sweep = &b->scenario.sweep;
    const struct sweep_plan *p = &b->plan;
    for (unsigned k = 0; k < p->axes; k++) {
        bool group = k < p->groups;
        outcome_add_dimension(o, group ? OUTCOME_VARIANT : OUTCOME_KEY, p->axis[k].key,
                              group ? "" : sweep_key_unit(p->axis[k].key));
    }
    if (sweep->profile == KVF_SWEEP_CAPACITY)
        outcome_add_dimension(o, OUTCOME_SOUGHT, sweep->find, sweep_key_unit(sweep->find));
    if (sweep->profile == KVF_SWEEP_RATES) outcome_add_dimension(o, OUTCOME_LOAD, "load", "req/s");
    outcome_make_titles(o);
    for (unsigned g = 0; g < p->groups; g++) /* also those that no point has yet, in their order */
        for (size_t v = 0; v < p->axis[g].values; v++)
            outcome_place(&o->dimension[g], p->axis[g].value[v], NAN);
    o->zip = p->zip;
}

static void put_baseline(const struct sweep_base *b, struct outcome *o) {
    unsigned group;
    size_t variant;
    snprintf(o->baseline, sizeof o->baseline, "%s", b->scenario.sweep.baseline);
    if (!sweep_plan_variant(&b->plan, o->baseline, &group, &variant)) {
        o->compared = o->baseline[0] && b->scenario.sweep.profile == KVF_SWEEP_KEYS;
        return;
    }
    o->base_group = group;
    o->base_variant = variant;
    o->compared = b->scenario.sweep.profile == KVF_SWEEP_KEYS;
}

/* Which point differences of point `planned` are given against. */
static size_t against(const struct sweep_base *b, const struct outcome *o, uint64_t planned) {
    if (!o->compared) return SIZE_MAX;
    if (o->base_group == SIZE_MAX) return (size_t)strtoull(o->baseline, NULL, 10) - 1;
    return (size_t)sweep_plan_with(&b->plan, planned, (unsigned)o->base_group, o->base_variant);
}

/* Adds the name of a preset, in quotes or not, unless it is there. */
static void name_add(struct buf *names, const char *text) {
    char name[64];
    bool quoted = text[0] == '"';
    snprintf(name, sizeof name, "%.*s", (int)(strlen(text) - 2 * quoted), text + quoted);
    if (text[0] == '{') snprintf(name, sizeof name, "a model of its own");
    size_t len = strlen(name);
    for (const char *at = buf_text(names); *at; at += strcspn(at, ","), at += strspn(at, ", "))
        if (strncmp(at, name, len) == 0 && (!at[len] || at[len] == ',')) return;
    buf_addf(names, "%s%s", names->len ? ", " : "", name);
}

/* The model that a setting makes; NULL: it leaves it as it is. */
static const char *model_of(const char *key, const char *value) {
    if (strcmp(key, "model") == 0 || strcmp(key, "model.preset") == 0) return value;
    return strncmp(key, "model.", strlen("model.")) == 0 ? "{}" : NULL;
}

/* Adds the models that an axis sets; at how many of its values it does. */
static size_t models_of(const struct sweep_axis *a, struct buf *names) {
    size_t sets = 0;
    for (size_t v = 0; v < a->values; v++) {
        const char *set = a->variant ? NULL : model_of(a->key, a->value[v]);
        for (size_t i = 0; a->variant && i < a->variant[v].settings; i++) {
            const char *made = model_of(a->variant[v].key[i], a->variant[v].value[i]);
            if (made) set = made;
        }
        if (set) name_add(names, set);
        sets += set != NULL;
    }
    return sets;
}

void sweep_models(const struct sweep_plan *p, char *model, size_t len) {
    struct buf own = {0}, set = {0};
    bool always = false;
    name_add(&own, model);
    for (unsigned k = 0; k < p->axes; k++) {
        (void)models_of(&p->axis[k], &own);
        size_t sets = models_of(&p->axis[k], &set);
        always = always || (sets > 0 && sets == p->axis[k].values);
    }
    snprintf(model, len, "%s", buf_text(always ? &set : &own));
    buf_free(&own);
    buf_free(&set);
}

void sweep_outcome_begin(const struct sweep_base *b, struct outcome *o) {
    put_dimensions(b, o);
    sweep_models(&b->plan, o->record.model, sizeof o->record.model);
    put_baseline(b, o);
    if (b->scenario.sweep.profile != KVF_SWEEP_CAPACITY) return;
    o->target = b->scenario.sweep.target.value;
    snprintf(o->target_op, sizeof o->target_op, "%s", scenario_op_name(b->scenario.sweep.target.op));
}

/* Where the values of an axis stop sharing a folder. */
static size_t folder_shared(const struct sweep_axis *a) {
    size_t len = strlen(a->value[0]);
    for (size_t v = 1, n = 0; v < a->values; v++, n = 0) {
        while (n < len && a->value[v][n] == a->value[0][n]) n++;
        len = n;
    }
    while (len > 0 && a->value[0][len - 1] != '/') len--;
    return len;
}

/* A value under its name: paths of traces without the folder that all are in. */
static size_t put_value(const struct sweep_base *b, unsigned k, const struct scenario_setting *set,
                        struct outcome *o) {
    struct buf name = {0};
    double number = k < o->groups ? NAN : number_of(set->key, set->value);
    size_t shared = strcmp(set->key, "workload.path") == 0 ? folder_shared(&b->plan.axis[k]) : 0;
    buf_addf(&name, "%s%s", shared ? "\"" : "", set->value + shared);
    size_t place = outcome_place(&o->dimension[k], buf_text(&name), number);
    buf_free(&name);
    return place;
}

struct outcome_point *sweep_outcome_point(const struct sweep_base *b, const struct sweep_point *from,
                                          struct outcome *o) {
    struct scenario_setting setting[SWEEP_AXES_MAX];
    struct outcome_point *p = outcome_add_point(o);
    struct buf settings = {0};
    char load[40];
    unsigned count = sweep_settings(b, from->planned, from->sought, setting);
    for (unsigned k = 0; k < count; k++) p->at[k] = put_value(b, k, &setting[k], o);
    if (from->load == LOAD_AT_RATE)
        snprintf(load, sizeof load, "%.6g req/s", from->rate);
    else
        snprintf(load, sizeof load, "%s", from->load == LOAD_FULL ? "throughput" : "synchronous");
    if (b->scenario.sweep.profile == KVF_SWEEP_RATES)
        p->at[count] =
            outcome_place(&o->dimension[count], load, from->load == LOAD_AT_RATE ? from->rate : NAN);
    sweep_values_json(b, from, &settings);
    p->settings = settings.data;
    p->state = from->state;
    p->run_id = from->run_id;
    p->against = against(b, o, from->planned);
    memcpy(p->undone, from->undone, sizeof p->undone);
    p->flaw = from->flaw;
    p->work = from->work;
    p->reuse_hits = from->reuse_hits;
    p->chunk_misses = from->chunk_misses;
    p->chunk_hits = from->chunk_hits;
    p->turns = from->turns;
    p->estimated = from->estimated;
    p->by_blocks = sweep_point_by_blocks(b, from);
    p->computes = from->computes;
    snprintf(p->why, sizeof p->why, "%s", from->why);
    return p;
}

/* ---- of a sweep that has just ended ---- */

void sweep_outcome(const struct sweep *s, struct outcome *o) {
    outcome_init(o);
    o->record = s->record;
    o->record.scenario_yaml = mem_strdup(s->record.scenario_yaml ? s->record.scenario_yaml : "");
    o->record.effective_json = mem_strdup(s->record.effective_json ? s->record.effective_json : "");
    sweep_outcome_begin(&s->base, o);
    for (unsigned m = 0; m < s->metrics; m++) outcome_measure(o, s->metric[m], s->unit[m]);
    o->chosen = o->measures;
    for (size_t i = 0; i < s->points; i++) {
        struct outcome_point *p = sweep_outcome_point(&s->base, &s->point[i], o);
        for (unsigned m = 0; m < s->metrics; m++) outcome_set(p, m, s->point[i].value[m]);
    }
    for (size_t i = 0; i < s->curves.points; i++) outcome_add_curve(o, &s->curves.point[i]);
    o->warnings = mem_strdup(buf_text(&s->warnings));
}
