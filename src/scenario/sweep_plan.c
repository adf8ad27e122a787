#include "scenario/sweep_plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scenario/sweep_inside.h"

static void ignore_problem(void *arg, size_t line, size_t column, const char *text) {
    (void)arg;
    (void)line;
    (void)column;
    (void)text;
}

static char *value_text(const struct node *n) {
    struct buf text = {0};
    sweep_node_json(n, &text);
    return text.data;
}

static void axis_open(struct sweep_axis *a, const struct node *key, const struct node *values) {
    (void)snprintf(a->key, sizeof a->key, "%s", key->text);
    if (values->kind == NODE_LIST) {
        a->values = values->count;
        a->value = mem_zalloc(a->values + 1, sizeof *a->value);
        for (size_t i = 0; i < a->values; i++) a->value[i] = value_text(values->items[i]);
        return;
    }
    struct loading none = {.file = ""};
    struct series series;
    char text[SWEEP_VALUE];
    enum key_kind kind = key_table[key_index(a->key)].kind;
    if (!sweep_series_read(&none, "", kind, values, &series)) return;
    a->values = series.points;
    a->value = mem_zalloc(a->values, sizeof *a->value);
    for (size_t i = 0; i < a->values; i++)
        a->value[i] = mem_strdup(sweep_series_text(kind, sweep_series_value(&series, i), text));
}

/* Each group of variants is an axis whose values are the names. */
static void group_open(struct sweep_axis *a, const struct node *name, const struct node *variants) {
    (void)snprintf(a->key, sizeof a->key, "%s", name->text);
    a->values = variants->count / 2;
    a->value = mem_zalloc(a->values + 1, sizeof *a->value);
    a->variant = mem_zalloc(a->values + 1, sizeof *a->variant);
    for (size_t i = 0; i < a->values; i++) {
        const struct node *set = variants->items[2 * i + 1];
        struct sweep_variant *v = &a->variant[i];
        a->value[i] = value_text(variants->items[2 * i]);
        v->key = mem_zalloc(set->count + 1, sizeof *v->key);
        v->value = mem_zalloc(set->count + 1, sizeof *v->value);
        for (; 2 * v->settings + 1 < set->count; v->settings++) {
            v->key[v->settings] = mem_strdup(set->items[2 * v->settings]->text);
            v->value[v->settings] = value_text(set->items[2 * v->settings + 1]);
        }
    }
}

static void variants_free(struct sweep_axis *a) {
    for (size_t i = 0; a->variant && i < a->values; i++) {
        for (size_t k = 0; k < a->variant[i].settings; k++) {
            free(a->variant[i].key[k]);
            free(a->variant[i].value[k]);
        }
        free(a->variant[i].key);
        free(a->variant[i].value);
    }
    free(a->variant);
}

void sweep_plan_open(struct sweep_plan *p, const struct scenario *s) {
    const char *text = s->sweep.profile == KVF_SWEEP_KEYS ? s->sweep.keys : "{}";
    struct node *groups = node_parse(s->sweep.variants, strlen(s->sweep.variants), ignore_problem, NULL);
    struct node *keys = node_parse(text, strlen(text), ignore_problem, NULL);

    memset(p, 0, sizeof *p);
    p->zip = s->sweep.profile == KVF_SWEEP_KEYS && s->sweep.combine == KVF_COMBINE_ZIP;
    for (size_t i = 0; groups && i + 1 < groups->count && p->axes < SWEEP_AXES_MAX; i += 2)
        group_open(&p->axis[p->axes++], groups->items[i], groups->items[i + 1]);
    p->groups = p->axes;
    for (size_t i = 0; keys && i + 1 < keys->count && p->axes < SWEEP_AXES_MAX; i += 2)
        axis_open(&p->axis[p->axes++], keys->items[i], keys->items[i + 1]);
    p->wanted = (unsigned)((groups ? groups->count / 2 : 0) + (keys ? keys->count / 2 : 0));
    node_free(groups);
    node_free(keys);
    p->points = p->axes > 0;
    for (unsigned i = 0; i < p->axes; i++) {
        uint64_t n = p->axis[i].values;
        if (p->zip)
            p->points = i == 0 || n < p->points ? n : p->points;
        else if (__builtin_mul_overflow(p->points, n, &p->points))
            p->points = UINT64_MAX;
    }
}

void sweep_plan_free(struct sweep_plan *p) {
    for (unsigned i = 0; i < p->axes; i++) {
        variants_free(&p->axis[i]);
        for (size_t k = 0; k < p->axis[i].values; k++) free(p->axis[i].value[k]);
        free(p->axis[i].value);
    }
    memset(p, 0, sizeof *p);
}

void sweep_plan_point(const struct sweep_plan *p, uint64_t point, struct scenario_setting *out) {
    for (unsigned i = p->axes; i-- > 0;) {
        const struct sweep_axis *a = &p->axis[i];
        uint64_t index = p->zip ? point : point % a->values;
        if (!p->zip) point /= a->values;
        out[i] = (struct scenario_setting){.key = a->key, .value = a->value[index], .origin = "sweep"};
    }
}

unsigned sweep_plan_expand(const struct sweep_plan *p, const struct scenario_setting *point, unsigned count,
                           struct scenario_setting out[SWEEP_SETTINGS_MAX]) {
    unsigned n = 0;
    for (unsigned i = 0; i < count; i++) {
        const struct sweep_axis *a = NULL;
        size_t v = 0;
        for (unsigned g = 0; g < p->groups && !a; g++)
            if (point[i].key == p->axis[g].key) a = &p->axis[g];
        if (!a) {
            out[n++] = point[i];
            continue;
        }
        while (v < a->values && a->value[v] != point[i].value) v++;
        for (size_t k = 0; v < a->values && k < a->variant[v].settings; k++)
            out[n++] = (struct scenario_setting){
                .key = a->variant[v].key[k], .value = a->variant[v].value[k], .origin = point[i].origin};
    }
    return n;
}

/* Relative paths of traces become whole, in lists and in what variants set. */
static void place(struct node *n, bool path) {
    char *real = path && n->kind == NODE_SCALAR && *n->text ? realpath(n->text, NULL) : NULL;
    if (real) {
        free(n->text);
        n->text = real;
        n->len = strlen(real);
    }
    bool mapping = n->kind == NODE_MAPPING;
    for (size_t i = mapping; i < n->count; i += 1 + mapping)
        place(n->items[i], mapping ? strcmp(n->items[i - 1]->text, "workload.path") == 0 : path);
}

void sweep_place(char text[SCENARIO_SWEEP_TEXT]) {
    struct node *n = node_parse(text, strlen(text), ignore_problem, NULL);
    struct buf placed = {0};
    if (!n) return;
    place(n, false);
    sweep_node_json(n, &placed);
    if (placed.len < SCENARIO_SWEEP_TEXT) memcpy(text, buf_text(&placed), placed.len + 1);
    buf_free(&placed);
    node_free(n);
}

bool sweep_plan_variant(const struct sweep_plan *p, const char *text, unsigned *axis, size_t *value) {
    const char *name = strchr(text, '=');
    for (unsigned g = 0; name && g < p->groups; g++) {
        const struct sweep_axis *a = &p->axis[g];
        if (strlen(a->key) != (size_t)(name - text) || strncmp(a->key, text, strlen(a->key)) != 0) continue;
        for (size_t v = 0; v < a->values; v++) {
            size_t len = strlen(name + 1); /* names are quoted */
            if (strlen(a->value[v]) != len + 2 || strncmp(a->value[v] + 1, name + 1, len) != 0) continue;
            *axis = g;
            *value = v;
            return true;
        }
    }
    return false;
}

uint64_t sweep_plan_with(const struct sweep_plan *p, uint64_t point, unsigned axis, size_t value) {
    uint64_t stride = 1;
    for (unsigned i = p->axes; i-- > axis + 1;) stride *= p->axis[i].values;
    uint64_t now = point / stride % p->axis[axis].values;
    return point - now * stride + value * stride;
}

void sweep_point_label(const struct scenario_setting *setting, size_t count, struct buf *out) {
    for (size_t i = 0; i < count; i++) {
        const char *value = setting[i].value;
        size_t len = strlen(value);
        bool quoted = len >= 2 && value[0] == '"';
        buf_addf(out, "%s%s=%.*s", i ? " " : "", setting[i].key, (int)(len - 2 * quoted), value + quoted);
    }
}

static bool is_json(const char *value) {
    double v;
    return strchr("[{\"", *value) || strcmp(value, "null") == 0 || strcmp(value, "true") == 0 ||
           strcmp(value, "false") == 0 || sweep_series_number(KEY_NUMBER, value, &v);
}

void sweep_point_json(const struct scenario_setting *setting, size_t count, struct buf *out) {
    buf_add(out, "{");
    for (size_t i = 0; i < count; i++)
        buf_addf(out, is_json(setting[i].value) ? "%s\"%s\": %s" : "%s\"%s\": \"%s\"", i ? ", " : "",
                 setting[i].key, setting[i].value);
    buf_add(out, "}");
}

bool sweep_number_parse(const char *key, const char *text, double *v) {
    int index = key_index(key);
    return index >= 0 && sweep_kind_counts(key_table[index].kind) &&
           sweep_series_number(key_table[index].kind, text, v);
}

char *sweep_number_text(const char *key, double v, char out[SWEEP_VALUE]) {
    int index = key_index(key);
    return sweep_series_text(index < 0 ? KEY_NUMBER : key_table[index].kind, v, out);
}

bool sweep_bounds(const struct scenario *s, double *low, double *high) {
    const char *text = s->sweep.between;
    struct node *n = node_parse(text, strlen(text), ignore_problem, NULL);
    bool good = n && n->kind == NODE_LIST && n->count == 2 &&
                sweep_number_parse(s->sweep.find, n->items[0]->text, low) &&
                sweep_number_parse(s->sweep.find, n->items[1]->text, high);
    node_free(n);
    return good;
}

const char *sweep_key_unit(const char *key) {
    int index = key_index(key);
    enum key_kind kind = index < 0 ? KEY_NUMBER : key_table[index].kind;
    return kind == KEY_SIZE ? "B" : kind == KEY_DURATION ? "ns" : kind == KEY_RATE ? "B/s" : "";
}

static const char *const profiles[] = {
#define X(id, name) name,
    SCENARIO_SWEEP_LIST(X)
#undef X
};

const char *sweep_profile_name(enum scenario_sweep_profile profile) {
    return profiles[profile];
}

bool sweep_profile_parse(const char *name, enum scenario_sweep_profile *out) {
    for (size_t i = 0; i < sizeof profiles / sizeof *profiles; i++)
        if (strcmp(name, profiles[i]) == 0) {
            *out = (enum scenario_sweep_profile)i;
            return true;
        }
    return false;
}

/* ---- measures ---- */

static unsigned measure_add(char (*out)[64], unsigned count, const char *name, size_t len) {
    for (unsigned m = 0; m < count; m++)
        if (strlen(out[m]) == len && strncmp(out[m], name, len) == 0) return count;
    if (count < SWEEP_METRICS_MAX) (void)snprintf(out[count++], sizeof out[0], "%.*s", (int)len, name);
    return count;
}

static unsigned measures_add(char (*out)[64], unsigned count, const char *const *names, size_t most) {
    for (size_t i = 0; i < most; i++) count = measure_add(out, count, names[i], strlen(names[i]));
    return count;
}

unsigned sweep_measures(const struct scenario *s, char out[SWEEP_METRICS_MAX][64]) {
    static const char *const of_users[] = {"throughput_tok_s", "hit_ratio", "ttft_p95_ms", "e2e_p95_ms"};
    static const char *const of_open[] = {"hit_ratio", "throughput_tok_s", "ttft_p95_ms", "e2e_p95_ms"};
    static const char *const of_rates[] = {"throughput_tok_s", "requests_per_s", "ttft_mean_ms",
                                           "tpot_mean_ms", "e2e_p95_ms"};
    enum scenario_arrival process = s->workload.arrival.process;
    /* Where requests come whatever becomes of them, throughput is what was asked for. */
    bool open =
        process == KVF_ARRIVAL_TRACE || process == KVF_ARRIVAL_POISSON || process == KVF_ARRIVAL_GAMMA;
    unsigned count = 0, given = 0;

    if (s->sweep.profile == KVF_SWEEP_CAPACITY)
        count = measure_add(out, count, s->sweep.target.metric, strlen(s->sweep.target.metric));
    for (const char *p = s->sweep.metrics; *p && given < SWEEP_METRICS_MAX - 4;) {
        size_t len = strcspn(p, ", \t\n");
        if (len > 0) {
            count = measure_add(out, count, p, len);
            given++;
        }
        p += len + strspn(p + len, ", \t\n");
    }
    if (s->sweep.profile == KVF_SWEEP_RATES)
        return measures_add(out, count, of_rates, sizeof of_rates / sizeof *of_rates - (given > 0));
    if (given > 0) return count;
    return measures_add(out, count, open ? of_open : of_users, sizeof of_open / sizeof *of_open);
}
