#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scenario/sweep_inside.h"

/* Strict JSON numbers, which YAML reads as they are; others that the loader takes are written anew. */
static bool is_json_number(const char *text) {
    const char *p = text + (*text == '-');
    if (*p < '0' || *p > '9' || (*p == '0' && p[1] >= '0' && p[1] <= '9')) return false;
    p += strspn(p, "0123456789");
    if (*p == '.') {
        if (p[1] < '0' || p[1] > '9') return false;
        p += 1 + strspn(p + 1, "0123456789");
    }
    if (*p == 'e' || *p == 'E') {
        p += 1 + (p[1] == '+' || p[1] == '-');
        if (*p < '0' || *p > '9') return false;
        p += strspn(p, "0123456789");
    }
    return *p == '\0';
}

static void put_scalar(const struct node *n, struct buf *out) {
    double v;
    if (node_is_null(n)) {
        buf_add(out, "null");
    } else if (n->plain &&
               (is_json_number(n->text) || strcmp(n->text, "true") == 0 || strcmp(n->text, "false") == 0)) {
        buf_add(out, n->text);
    } else if (n->plain && n->text[0] != '+' && strspn(n->text, "-.0123456789eE+") == n->len &&
               sweep_series_number(KEY_NUMBER, n->text, &v)) {
        buf_addf(out, "%.17g", v);
    } else {
        buf_add(out, "\"");
        for (const char *p = n->text; *p; p++) {
            if (*p == '"' || *p == '\\')
                buf_addf(out, "\\%c", *p);
            else if ((unsigned char)*p < 0x20)
                buf_addf(out, "\\u%04x", (unsigned)*p);
            else
                buf_bytes(out, p, 1);
        }
        buf_add(out, "\"");
    }
}

void sweep_node_json(const struct node *n, struct buf *out) {
    if (n->kind == NODE_SCALAR) {
        put_scalar(n, out);
        return;
    }
    bool mapping = n->kind == NODE_MAPPING;
    buf_add(out, mapping ? "{" : "[");
    for (size_t i = 0; i < n->count; i++) {
        if (i) buf_add(out, mapping && i % 2 ? ": " : ", ");
        if (mapping && i % 2 == 0) {
            struct node name = *n->items[i];
            name.plain = false; /* names are texts in JSON */
            sweep_node_json(&name, out);
        } else {
            sweep_node_json(n->items[i], out);
        }
    }
    buf_add(out, mapping ? "}" : "]");
}

/* One value of a key, as if the scenario had it: in a scratch scenario. What is wrong is reported where the
 * value stands. */
static bool sweep_value_try(struct loading *l, const char *name, const struct node *key,
                            const struct node *value) {
    struct loading *scratch = mem_alloc(sizeof *scratch);
    struct scenario *s = mem_alloc(sizeof *s);

    memcpy(scratch, l, sizeof *scratch);
    memcpy(s, l->s, sizeof *s);
    scratch->s = s;
    mapping_pair_store(scratch, name, key, value);
    bool good = scratch->problem_count == l->problem_count;
    l->problems = scratch->problems;
    l->problem_count = scratch->problem_count;
    free(s);
    free(scratch);
    return good;
}

static bool range_try(struct loading *l, const char *shown, const struct node *key, const struct node *n) {
    int index = key_index(key->text);
    struct series series;
    char text[SWEEP_VALUE];
    bool good = true;

    if (index < 0 || !sweep_kind_counts(key_table[index].kind)) {
        problem_at(l, n, shown, "a range is for numbers, sizes and durations; give a list of values");
        return false;
    }
    enum key_kind kind = key_table[index].kind;
    if (!sweep_series_read(l, shown, kind, n, &series)) return false;
    for (size_t end = 0; end < 2; end++) { /* what lies between is inside the same bounds */
        struct node *value = node_scalar(sweep_series_text(kind, end ? series.to : series.from, text));
        value->line = n->line;
        value->column = n->column;
        good = sweep_value_try(l, key->text, key, value) && good;
        node_free(value);
    }
    return good;
}

/* Whether member i of a mapping names a key that may vary, once (else reported). */
static bool sweep_key_usable(struct loading *l, const char *name, const struct node *n, size_t i) {
    static const char *const fixed[] = {"sweep", "include", "mode", "run.trials"};
    const struct node *key = n->items[i];
    char what[64];

    if (key->broken) return false;
    if (key->kind != NODE_SCALAR || !key->len || key->len > 60 || key->len != strlen(key->text))
        return problem_at(l, key, name, "must be the name of a key, not %s",
                          node_describe(key, what, sizeof what));
    for (size_t j = 0; j < i; j += 2)
        if (n->items[j]->kind == NODE_SCALAR && strcmp(n->items[j]->text, key->text) == 0)
            return problem_at(l, key, name, "%s is given twice", key->text);
    for (size_t j = 0; j < sizeof fixed / sizeof fixed[0]; j++) {
        size_t len = strlen(fixed[j]);
        if (strncmp(key->text, fixed[j], len) != 0 || (key->text[len] && key->text[len] != '.')) continue;
        problem_at(l, key, name, "%s cannot vary inside a sweep", key->text);
        return false;
    }
    return true;
}

static bool axis_try(struct loading *l, const struct node *key, const struct node *values) {
    char shown[200];
    bool good = true;

    (void)snprintf(shown, sizeof shown, "sweep.keys.%s", key->text);
    if (values->broken) return false;
    if (values->kind == NODE_MAPPING) return range_try(l, shown, key, values);
    if (values->kind != NODE_LIST || values->count == 0)
        return problem_at(l, values, shown, "must be a list of values or a range {from, to, points, scale}");
    bool known = key_index(key->text) >= 0 || key_is_section(key->text); /* else once is enough */
    for (size_t i = 0; i < (known ? values->count : 1); i++)
        good = sweep_value_try(l, key->text, key, values->items[i]) && good;
    return good;
}

bool sweep_store_axes(struct loading *l, const char *name, const struct node *n) {
    struct buf text = {0};
    char what[64];
    bool good = true;

    if (n->kind != NODE_MAPPING)
        return problem_at(l, n, name, "must be a mapping of keys to their values, not %s",
                          node_describe(n, what, sizeof what));
    if (n->count > 2 * SWEEP_AXES_MAX) {
        problem_at(l, n, name, "%zu keys; a sweep varies up to %d", n->count / 2, (int)SWEEP_AXES_MAX);
        return false;
    }
    for (size_t i = 0; i + 1 < n->count; i += 2)
        good = sweep_key_usable(l, name, n, i) && axis_try(l, n->items[i], n->items[i + 1]) && good;
    if (!good) return false;
    sweep_node_json(n, &text);
    if (text.len >= sizeof l->s->sweep.keys) {
        problem_at(l, n, name, "%zu bytes of values are too many; give ranges", text.len);
        good = false;
    } else {
        memset(l->s->sweep.keys, 0, sizeof l->s->sweep.keys);
        memcpy(l->s->sweep.keys, text.data, text.len);
    }
    buf_free(&text);
    return good;
}

bool sweep_store_bounds(struct loading *l, const char *name, const struct node *n) {
    struct buf text = {0};
    bool null = n->kind == NODE_SCALAR && node_is_null(n);
    bool pair = n->kind == NODE_LIST && n->count == 2 && n->items[0]->kind == NODE_SCALAR &&
                n->items[1]->kind == NODE_SCALAR;
    if (null)
        buf_add(&text, "null");
    else if (pair)
        sweep_node_json(n, &text);
    bool good = text.len > 0 && text.len < sizeof l->s->sweep.between;
    if (good) {
        memset(l->s->sweep.between, 0, sizeof l->s->sweep.between);
        memcpy(l->s->sweep.between, text.data, text.len);
    } else {
        problem_at(l, n, name, "must be a range [low, high]");
    }
    buf_free(&text);
    return good;
}

static int by_size(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* The members of the list as they are, or of the range. False: reported. */
static bool sizes_read(struct loading *l, const struct key *k, const struct node *n, double *v,
                       size_t *count) {
    const char *name = k->pub.name;
    struct series series;
    char what[64];

    *count = 0;
    if (n->kind == NODE_MAPPING) {
        if (!sweep_series_read(l, name, KEY_SIZE, n, &series)) return false;
        for (; *count < series.points && *count < SCENARIO_SWEEP_CAPACITIES; (*count)++)
            v[*count] = sweep_series_value(&series, *count);
        if (series.points <= SCENARIO_SWEEP_CAPACITIES) return true;
        *count = series.points;
    } else if (n->kind != NODE_LIST) {
        problem_at(l, n, name, "must be a %s, not %s", key_type(k->kind),
                   node_describe(n, what, sizeof what));
        return false;
    } else {
        *count = n->count;
    }
    if (*count < 1 || *count > SCENARIO_SWEEP_CAPACITIES) {
        problem_at(l, n, name, "%zu capacities; it takes 1 to %d", *count, (int)SCENARIO_SWEEP_CAPACITIES);
        return false;
    }
    for (size_t i = 0; i < n->count; i++) {
        const struct node *item = n->items[i];
        if (item->kind == NODE_SCALAR && sweep_series_number(KEY_SIZE, item->text, &v[i])) continue;
        if (!item->broken)
            problem_at(l, item, name, "must be a size such as 16GiB, not %s",
                       node_describe(item, what, sizeof what));
        return false;
    }
    return true;
}

bool sweep_store_sizes(struct loading *l, const struct key *k, const struct node *n) {
    struct scenario_sweep *sweep = &l->s->sweep;
    uint64_t bytes[SCENARIO_SWEEP_CAPACITIES] = {0};
    double v[SCENARIO_SWEEP_CAPACITIES];
    size_t count = 0;

    if (n->kind != NODE_SCALAR || !node_is_null(n)) {
        if (!sizes_read(l, k, n, v, &count)) return false;
        for (size_t i = 0; i < count; i++) {
            if (v[i] < 4096 || v[i] > 1024.0 * 1099511627776.0) {
                problem_at(l, n, k->pub.name, "a capacity is out of range; each is %s", k->pub.range);
                return false;
            }
            bytes[i] = (uint64_t)v[i];
        }
        qsort(bytes, count, sizeof *bytes, by_size);
    }
    memcpy(sweep->capacity_bytes, bytes, sizeof bytes);
    sweep->capacities = (uint32_t)count;
    return true;
}

bool sweep_store_policies(struct loading *l, const struct key *k, const struct node *n) {
    uint64_t bits = 0;
    char near[48], what[64];

    if (n->kind == NODE_SCALAR && strcmp(n->text, "all") == 0) {
        l->s->sweep.policies = SWEEP_ALL_POLICIES;
        return true;
    }
    if (n->kind != NODE_LIST || n->count == 0)
        return problem_at(l, n, k->pub.name, "must be all, or a list of policies, not %s",
                          node_describe(n, what, sizeof what));
    for (size_t i = 0; i < n->count; i++) {
        const struct node *item = n->items[i];
        int index = item->kind == NODE_SCALAR ? key_word_index(k->pub.range, item->text) : -1;
        if (index < 0) {
            const char *nearest = item->kind == NODE_SCALAR
                                      ? key_nearest_word(k->pub.range, item->text, near, sizeof near)
                                      : NULL;
            problem_at(l, item, k->pub.name, "%s is none of %s%s%s", node_describe(item, what, sizeof what),
                       k->pub.range, nearest ? "; the nearest is " : "", nearest ? nearest : "");
            return false;
        }
        bits |= UINT64_C(1) << index;
    }
    l->s->sweep.policies = bits;
    return true;
}

/* --- variants --- */

static bool name_usable(struct loading *l, const char *shown, const struct node *n, size_t i) {
    const struct node *name = n->items[i];
    char what[64];

    if (name->broken) return false;
    if (name->kind != NODE_SCALAR || !name->len || name->len > 40 || strpbrk(name->text, "=\"\\\n\t") ||
        name->len != strlen(name->text))
        return problem_at(l, name, shown, "must be named by up to 40 characters without = and quotes, not %s",
                          node_describe(name, what, sizeof what));
    for (size_t j = 0; j < i; j += 2)
        if (strcmp(n->items[j]->text, name->text) == 0)
            return problem_at(l, name, shown, "%s is given twice", name->text);
    return true;
}

static bool variant_try(struct loading *l, const char *shown, const struct node *set) {
    char what[64];
    bool good = true;

    if (set->broken) return false;
    if (set->kind != NODE_MAPPING || set->count > 2 * SWEEP_SET_MAX)
        return problem_at(l, set, shown,
                          "must be a mapping of up to %d keys to their values, {} for none, not %s",
                          (int)SWEEP_SET_MAX, node_describe(set, what, sizeof what));
    for (size_t i = 0; i + 1 < set->count; i += 2)
        good = sweep_key_usable(l, shown, set, i) &&
               sweep_value_try(l, set->items[i]->text, set->items[i], set->items[i + 1]) && good;
    return good;
}

static bool group_try(struct loading *l, const char *name, const struct node *group,
                      const struct node *variants) {
    char shown[200], what[64];
    bool good = true;

    (void)snprintf(shown, sizeof shown, "%s.%s", name, group->text);
    if (variants->broken) return false;
    if (variants->kind != NODE_MAPPING || variants->count == 0)
        return problem_at(l, variants, shown, "must be a mapping {NAME: {KEY: VALUE, ...}, ...}, not %s",
                          node_describe(variants, what, sizeof what));
    for (size_t i = 0; i + 1 < variants->count; i += 2) {
        char one[300];
        if (!name_usable(l, shown, variants, i)) {
            good = false;
            continue;
        }
        (void)snprintf(one, sizeof one, "%s.%s", shown, variants->items[i]->text);
        good = variant_try(l, one, variants->items[i + 1]) && good;
    }
    return good;
}

bool sweep_store_variants(struct loading *l, const char *name, const struct node *n) {
    struct buf text = {0};
    char what[64];
    bool good = true;

    if (n->kind != NODE_MAPPING || n->count > 2 * SWEEP_AXES_MAX)
        return problem_at(l, n, name, "must be a mapping of up to %d groups, not %s", (int)SWEEP_AXES_MAX,
                          node_describe(n, what, sizeof what));
    for (size_t i = 0; i + 1 < n->count; i += 2)
        good = name_usable(l, name, n, i) && group_try(l, name, n->items[i], n->items[i + 1]) && good;
    if (!good) return false;
    sweep_node_json(n, &text);
    good = text.len < sizeof l->s->sweep.variants;
    if (good) {
        memset(l->s->sweep.variants, 0, sizeof l->s->sweep.variants);
        memcpy(l->s->sweep.variants, text.data, text.len);
    } else {
        problem_at(l, n, name, "%zu bytes of settings are too many", text.len);
    }
    buf_free(&text);
    return good;
}
