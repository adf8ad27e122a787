#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare/comparison_parts.h"

struct flat {
    struct {
        char *key, *value;
    } * item;
    size_t count, cap;
};

static void flat_add(struct flat *f, const char *key, char *value) {
    mem_room(f->item, f->count, f->cap);
    f->item[f->count].key = mem_strdup(key);
    f->item[f->count++].value = value;
}

static void flat_free(struct flat *f) {
    for (size_t i = 0; i < f->count; i++) {
        free(f->item[i].key);
        free(f->item[i].value);
    }
    free(f->item);
}

/* Keys that do not describe the load: texts, where keys came from, and the plan of a sweep whose point
 * it was. */
static bool passed_over(const char *key) {
    static const char *const keys[] = {"name", "description", "include", "sweep"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (strcmp(key, keys[i]) == 0) return true;
    return false;
}

static char *leaf_text(const json_t *v) {
    if (json_is_string(v)) return mem_strdup(json_string_value(v));
    char *text = json_dumps(v, JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
    return text ? text : mem_strdup("?");
}

/* A list of objects with names, or NULL: those of a class or a persona are told apart by them. */
static const char *item_name(const json_t *list, size_t i) {
    return json_string_value(json_object_get(json_array_get(list, i), "name"));
}

static bool named_list(const json_t *v) {
    for (size_t i = 0; i < json_array_size(v); i++)
        if (!item_name(v, i)) return false;
    return json_array_size(v) > 0;
}

enum { DEEPEST = 16 };

static void flatten(struct flat *f, const char *path, const json_t *v, unsigned depth) {
    char key[400];
    const char *name;
    json_t *part;
    const char *dot = path[0] ? "." : "";
    if (depth < DEEPEST && json_is_object(v) && json_object_size(v) > 0) {
        json_object_foreach((json_t *)v, name, part) {
            snprintf(key, sizeof key, "%s%s%s", path, dot, name);
            if (depth > 0 || !passed_over(name)) flatten(f, key, part, depth + 1);
        }
    } else if (depth < DEEPEST && named_list(v)) {
        for (size_t i = 0; i < json_array_size(v); i++) {
            snprintf(key, sizeof key, "%s%s%s", path, dot, item_name(v, i));
            flatten(f, key, json_array_get(v, i), depth + 1);
        }
    } else {
        flat_add(f, path, leaf_text(v));
    }
}

/* Scenarios have their keys in one order: the next is nearly always behind the last found. */
static const char *flat_find(const struct flat *f, const char *key, size_t *guess) {
    for (size_t n = 0; n < f->count; n++) {
        size_t i = (*guess + n) % f->count;
        if (strcmp(f->item[i].key, key) != 0) continue;
        *guess = i + 1;
        return f->item[i].value;
    }
    return NULL;
}

static bool known(const struct comparison *c, const char *key) {
    for (size_t i = 0; i < c->differences; i++)
        if (strcmp(c->difference[i].key, key) == 0) return true;
    return false;
}

/* A scenario that cannot be read says nothing about its keys: it has the value of the key that is asked. */
static void compare_key(const struct flat *f, const char *key, size_t *guess, struct comparison *c) {
    const char **value = mem_zalloc(c->sides, sizeof *value);
    bool alike = true;
    const char *first = NULL;
    bool have = false;
    for (size_t s = 0; s < c->sides; s++) {
        if (f[s].count == 0) continue;
        value[s] = flat_find(&f[s], key, &guess[s]);
        if (have && (!first != !value[s] || (first && strcmp(first, value[s]) != 0))) alike = false;
        if (!have) first = value[s];
        have = true;
    }
    if (!alike && !known(c, key)) {
        c->difference = mem_realloc(c->difference, (c->differences + 1) * sizeof *c->difference);
        struct comparison_difference *d = &c->difference[c->differences++];
        d->key = mem_strdup(key);
        d->value = mem_zalloc(c->sides, sizeof *d->value);
        for (size_t s = 0; s < c->sides; s++)
            if (value[s]) d->value[s] = mem_strdup(value[s]);
    }
    free(value);
}

void comparison_seeds(const struct comparison_input *i, struct buf *out) {
    if (!i->members || !comparison_group(i) || !trials_seeds_differ(i->trials)) return;
    for (size_t k = 0; k < trials_complete(i->trials); k++)
        buf_addf(out, "%s%" PRIu64, k ? ", " : "", trials_seed(i->trials, k));
}

/* A group has the seed of its first trial, whichever of them was named; runs of a tag have each their own. */
static void put_group_seed(const struct comparison_input *i, json_t *root) {
    const struct trials *t = i->trials;
    struct buf seeds = {0};
    if (!root || !t || t->count == 0 || !trials_seeds_differ(t) || !json_object_get(root, "seed")) return;
    comparison_seeds(i, &seeds);
    json_object_set_new(
        root, "seed", seeds.len ? json_string(buf_text(&seeds)) : json_integer((json_int_t)t->trial[0].seed));
    buf_free(&seeds);
}

void comparison_scenarios(const struct comparison_input *input, struct comparison *c) {
    struct flat *f = mem_zalloc(c->sides, sizeof *f);
    size_t *guess = mem_zalloc(c->sides, sizeof *guess);
    for (size_t s = 0; s < c->sides; s++) {
        const char *text = input[s].run->effective_json;
        json_t *root = text ? json_loads(text, 0, NULL) : NULL;
        put_group_seed(&input[s], root);
        if (root) flatten(&f[s], "", root, 0);
        json_decref(root);
    }
    for (size_t s = 0; s < c->sides; s++)
        for (size_t i = 0; i < f[s].count; i++) compare_key(f, f[s].item[i].key, guess, c);
    for (size_t s = 0; s < c->sides; s++) flat_free(&f[s]);
    free(guess);
    free(f);
}
