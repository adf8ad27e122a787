#include "scenario/loading.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void fail_unknown(struct loading *l, const struct node *key, const char *shown, const char *name) {
    /* Beyond the errors that are shown the search is not worth its time. */
    const char *near = l->problem_count < SCENARIO_ERRORS_MAX ? scenario_keys_nearest(name) : NULL;
    problem_at(l, key, shown, "unknown key%s%s", near ? "; the nearest is " : "", near ? near : "");
}

static void fail_mapping(struct loading *l, const struct node *n, const char *name) {
    char what[64];
    problem_at(l, n, name, "must be a mapping of keys, not %s", node_describe(n, what, sizeof what));
}

/* Whether a key can be used as a name; what cannot, and a second one of the same name, is reported. */
static bool key_usable(struct loading *l, const struct node *n, size_t i, const char *prefix) {
    const struct node *key = n->items[i];
    char what[64];

    if (key->broken) return false;
    if (key->kind != NODE_SCALAR || !key->len || key->len != strlen(key->text) || key->len > 60)
        return problem_at(l, key, prefix, "a key must be a word, not %s",
                          node_describe(key, what, sizeof what));
    for (size_t j = 0; j < i; j += 2) {
        if (n->items[j]->kind != NODE_SCALAR || strcmp(n->items[j]->text, key->text) != 0) continue;
        char name[200];
        (void)snprintf(name, sizeof name, "%s%s%s", prefix, *prefix ? "." : "", key->text);
        problem_at(l, key, name, "given twice, first in line %zu", n->items[j]->line);
        return false;
    }
    return true;
}

/* --- members of lists --- */

static void member_defaults(struct loading *l, const char *prefix, void *member) {
    size_t len = strlen(prefix);
    for (size_t i = 0; i < key_count; i++) {
        const struct scenario_key *pub = &key_table[i].pub;
        if (strncmp(pub->name, prefix, len) != 0 || pub->name[len] != '[') continue;
        if (strcmp(pub->fallback, "required") != 0) value_default(l, &key_table[i], member);
    }
}

/* One "key: value" of a member; false when it cannot be used. */
static bool member_pair(struct loading *l, const struct key *k, const char *member, const struct node *key,
                        const struct node *value, void *base) {
    char name[160], shown[160];

    (void)snprintf(name, sizeof name, "%s[].%s", k->pub.name, key->text);
    (void)snprintf(shown, sizeof shown, "%s.%s", member, key->text);
    int index = key_index(name);
    if (index < 0) {
        fail_unknown(l, key, shown, name);
        return false;
    }
    l->given[index] = true;
    l->place[index] = place_of(l, value);
    return value_store(l, &key_table[index], shown, value, base);
}

/* A list that is given again replaces the members that it had. */
static void members_forget(struct loading *l, const struct key *k) {
    size_t len = strlen(k->pub.name);
    for (size_t i = 0; i < key_count; i++)
        if (strncmp(key_table[i].pub.name, k->pub.name, len) == 0 && key_table[i].pub.name[len] == '[')
            l->given[i] = false;
}

static bool member_store(struct loading *l, const struct key *k, size_t number, const struct node *n,
                         void *base) {
    const char *named_by = key_list(k)->named_by;
    char member[120];
    bool good = true, named = false;

    (void)snprintf(member, sizeof member, "%s[%zu]", k->pub.name, number);
    if (n->broken) return false;
    if (n->kind != NODE_MAPPING) {
        fail_mapping(l, n, member);
        return false;
    }
    member_defaults(l, k->pub.name, base);
    for (size_t i = 0; i + 1 < n->count; i += 2) {
        if (!key_usable(l, n, i, member)) {
            good = false;
            continue;
        }
        if (strcmp(n->items[i]->text, named_by) == 0) named = true;
        if (!member_pair(l, k, member, n->items[i], n->items[i + 1], base)) good = false;
    }
    if (!named) {
        problem_at(l, n, member, "%s is missing; every member has one", named_by);
        good = false;
    }
    return good;
}

/* Every member's name is its first field. */
static void check_names(struct loading *l, const struct key *k, const struct node *n, const char *members,
                        size_t size) {
    for (size_t i = 1; i < n->count; i++)
        for (size_t j = 0; j < i; j++)
            if (strcmp(members + i * size, members + j * size) == 0) {
                problem_at(l, n->items[i], k->pub.name, "two members are called \"%s\"", members + i * size);
                break;
            }
}

bool mapping_list_store(struct loading *l, const struct key *k, const struct node *n) {
    const struct key_list *shape = key_list(k);
    char what[64];
    bool good = true;

    if (n->broken) return false;
    if (n->kind != NODE_LIST)
        return problem_at(l, n, k->pub.name, "must be a list of mappings, not %s",
                          node_describe(n, what, sizeof what));
    if (n->count < shape->least || n->count > shape->most) {
        problem_at(l, n, k->pub.name, "a list of %zu; it takes %zu to %zu members", n->count, shape->least,
                   shape->most);
        return false;
    }
    members_forget(l, k);
    char *members = mem_zalloc(shape->most, shape->member_size);
    for (size_t i = 0; i < n->count; i++)
        if (!member_store(l, k, i, n->items[i], members + i * shape->member_size)) good = false;
    if (good) {
        if (shape->distinct) check_names(l, k, n, members, shape->member_size);
        memcpy((char *)l->s + shape->array, members, shape->most * shape->member_size);
        *(uint32_t *)(void *)((char *)l->s + shape->count) = (uint32_t)n->count;
        if (k->flag && l->defaults) *((bool *)l->s + k->flag) = true;
    }
    free(members);
    return good;
}

/* --- the model --- */

static bool preset_store(struct loading *l, const char *name, const struct node *n) {
    struct model *m = &l->s->model;
    char what[64];

    if (n->broken) return false;
    if (n->kind != NODE_SCALAR)
        return problem_at(l, n, name, "must be the name of a preset, not %s",
                          node_describe(n, what, sizeof what));
    if (node_is_null(n) && strcmp(name, "model.preset") == 0) {
        memset(m, 0, sizeof *m);
        (void)snprintf(m->preset, sizeof m->preset, "custom");
        m->dtype = MODEL_DTYPE_BF16;
        return true;
    }
    const struct model_preset *preset = n->len == strlen(n->text) ? model_find(n->text) : NULL;
    if (!preset) {
        const char *near = model_nearest(n->text);
        problem_at(l, n, name, "%s is no known model; %s%s", node_describe(n, what, sizeof what),
                   near ? "the nearest is " : "kvfall models lists them", near ? near : "");
        return false;
    }
    memcpy(m, &preset->model, sizeof *m);
    return true;
}

/* Fields without a preset describe a model of their own. */
static void model_begin(struct loading *l) {
    struct node *null = node_scalar("null");
    if (!*l->s->model.preset) (void)preset_store(l, "model.preset", null);
    node_free(null);
}

static void model_store(struct loading *l, const struct node *n) {
    char what[64];

    if (n->kind == NODE_MAPPING) {
        mapping_store(l, "model", n);
    } else if (n->kind == NODE_LIST || node_is_null(n)) {
        if (!n->broken)
            problem_at(l, n, "model", "must be the name of a preset or a mapping, not %s",
                       node_describe(n, what, sizeof what));
        l->model_bad = true;
    } else if (!preset_store(l, "model", n)) {
        l->model_bad = true;
    }
}

/* --- keys --- */

/* A tier is named by its mapping, its capacity or its blocks; another key alone does not turn it on, nor does
 * a mapping that is included. */
static void name_tier(struct loading *l, const char *name) {
    for (int t = 0; t < KVF_TIERS; t++) {
        char mapping[32];
        size_t len = (size_t)snprintf(mapping, sizeof mapping, "tiers.%s", tier_name(t));
        const char *key = name + len;
        if (strncmp(name, mapping, len) == 0 &&
            (!*key || strcmp(key, ".capacity") == 0 || strcmp(key, ".blocks") == 0))
            l->tier_named[t] = true;
    }
}

/* null takes a sweep back that stood before. */
static void sweep_store(struct loading *l, const struct node *n) {
    if (n->broken) return;
    if (n->kind == NODE_SCALAR && node_is_null(n))
        l->s->sweep = l->defaults->sweep;
    else
        mapping_store(l, "sweep", n);
}

static void key_store(struct loading *l, int index, const struct node *value) {
    const struct key *k = &key_table[index];
    bool of_model = strncmp(k->pub.name, "model.", 6) == 0;
    bool good;

    l->given[index] = true;
    l->place[index] = place_of(l, value);
    if (k->kind == KEY_MODEL) {
        model_store(l, value);
        return;
    }
    if (k->kind == KEY_SWEEP) {
        sweep_store(l, value);
        return;
    }
    if (of_model && !place_given(l, "model")) {
        l->given[key_index("model")] = true;
        l->place[key_index("model")] = place_of(l, value);
    }
    if (k->kind == KEY_LIST) {
        good = mapping_list_store(l, k, value);
    } else if (k->kind == KEY_PRESET) {
        good = preset_store(l, k->pub.name, value);
    } else {
        if (of_model) model_begin(l);
        good = value_store(l, k, k->pub.name, value, l->s);
    }
    if (of_model && !good) l->model_bad = true;
    if (!good) return;
    name_tier(l, k->pub.name);
    value_check_available(l, k, value);
}

void mapping_pair_store(struct loading *l, const char *name, const struct node *key,
                        const struct node *value) {
    int index = key_index(name);

    if (strchr(name, '[')) {
        problem_at(l, key, name, "members of a list cannot be set one by one; give the whole list");
    } else if (index >= 0) {
        key_store(l, index, value);
    } else if (key_is_section(name)) {
        if (value->broken) return;
        if (value->kind == NODE_MAPPING && !l->source.file) name_tier(l, name);
        mapping_store(l, name, value);
    } else {
        fail_unknown(l, key, name, name);
    }
}

void mapping_store(struct loading *l, const char *prefix, const struct node *n) {
    char name[160];

    if (n->kind != NODE_MAPPING) {
        if (*prefix)
            fail_mapping(l, n, prefix);
        else
            problem_at(l, n, "", "a scenario is a mapping of keys such as `model: llama3.1-8b`");
        return;
    }
    /* A preset first: the other fields of a model override it wherever it stands. */
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i + 1 < n->count; i += 2) {
            const struct node *key = n->items[i];
            bool first = key->kind == NODE_SCALAR && strcmp(key->text, "preset") == 0;
            if (first != (pass == 0) || !key_usable(l, n, i, prefix)) continue;
            (void)snprintf(name, sizeof name, "%s%s%s", prefix, *prefix ? "." : "", key->text);
            if (strchr(key->text, '.')) {
                problem_at(l, key, name,
                           "unknown key; a section and its keys are written as nested mappings");
                continue;
            }
            mapping_pair_store(l, name, key, n->items[i + 1]);
        }
    }
}
