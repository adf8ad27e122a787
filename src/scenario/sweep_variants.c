#include <stdio.h>
#include <string.h>

#include "scenario/sweep_inside.h"

static bool name_usable(struct loading *l, const char *shown, const struct node *n, size_t i) {
    const struct node *name = n->items[i];
    char what[64];

    if (name->broken) return false;
    if (name->kind != NODE_SCALAR || !name->len || name->len > 40 || strpbrk(name->text, "=\"\\\n\t") ||
        name->len != strlen(name->text)) {
        problem_add(l, place_of(l, name), shown,
                    "must be named by up to 40 characters without = and quotes, not %s",
                    node_describe(name, what, sizeof(what)));
        return false;
    }
    for (size_t j = 0; j < i; j += 2)
        if (!strcmp(n->items[j]->text, name->text)) {
            problem_add(l, place_of(l, name), shown, "%s is given twice", name->text);
            return false;
        }
    return true;
}

static bool variant_try(struct loading *l, const char *shown, const struct node *set) {
    char what[64];
    bool good = true;

    if (set->broken) return false;
    if (set->kind != NODE_MAPPING || set->count > 2 * SWEEP_SET_MAX) {
        problem_add(l, place_of(l, set), shown,
                    "must be a mapping of up to %d keys to their values, {} for none, not %s",
                    (int)SWEEP_SET_MAX, node_describe(set, what, sizeof(what)));
        return false;
    }
    for (size_t i = 0; i + 1 < set->count; i += 2)
        good = sweep_key_usable(l, shown, set, i) &&
               sweep_value_try(l, set->items[i]->text, set->items[i], set->items[i + 1]) && good;
    return good;
}

static bool group_try(struct loading *l, const char *name, const struct node *group,
                      const struct node *variants) {
    char shown[200], what[64];
    bool good = true;

    (void)snprintf(shown, sizeof(shown), "%s.%s", name, group->text);
    if (variants->broken) return false;
    if (variants->kind != NODE_MAPPING || variants->count == 0) {
        problem_add(l, place_of(l, variants), shown,
                    "must be a mapping {NAME: {KEY: VALUE, ...}, ...}, not %s",
                    node_describe(variants, what, sizeof(what)));
        return false;
    }
    for (size_t i = 0; i + 1 < variants->count; i += 2) {
        char one[300];
        if (!name_usable(l, shown, variants, i)) {
            good = false;
            continue;
        }
        (void)snprintf(one, sizeof(one), "%s.%s", shown, variants->items[i]->text);
        good = variant_try(l, one, variants->items[i + 1]) && good;
    }
    return good;
}

bool variants_store(struct loading *l, const char *name, const struct node *n) {
    struct buf text = {0};
    char what[64];
    bool good = true;

    if (n->kind != NODE_MAPPING || n->count > 2 * SWEEP_AXES_MAX) {
        problem_add(l, place_of(l, n), name, "must be a mapping of up to %d groups, not %s",
                    (int)SWEEP_AXES_MAX, node_describe(n, what, sizeof(what)));
        return false;
    }
    for (size_t i = 0; i + 1 < n->count; i += 2)
        good = name_usable(l, name, n, i) && group_try(l, name, n->items[i], n->items[i + 1]) && good;
    if (!good) return false;
    node_json(n, &text);
    good = text.len < sizeof(l->s->sweep.variants);
    if (good) {
        memset(l->s->sweep.variants, 0, sizeof(l->s->sweep.variants));
        memcpy(l->s->sweep.variants, text.data, text.len);
    } else {
        problem_add(l, place_of(l, n), name, "%zu bytes of settings are too many", text.len);
    }
    buf_free(&text);
    return good;
}
