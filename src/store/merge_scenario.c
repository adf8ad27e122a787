#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/merge_ranks.h"

/* Keys of which part of the load a run has, for how long, and where its machine has things; and texts. */
static const char *const own[] = {"name",
                                  "description",
                                  "include",
                                  "sweep",
                                  "seed",
                                  "ranks",
                                  "run.duration",
                                  "run.warmup",
                                  "workload.users",
                                  "workload.path",
                                  "engine.cpus",
                                  "tiers.gpu.devices",
                                  "tiers.nvme.path",
                                  "tiers.remote.url",
                                  "tiers.remote.key_prefix",
                                  "fleet.index.url",
                                  NULL};
/* Keys whose auto is taken from the machine of a real run; the stored scenario has the result. */
static const char *const machine[] = {"tiers.gpu.capacity", "tiers.nvme.capacity", "engine.workers",
                                      "engine.staging", NULL};

static bool is_one_of(const char *key, const char *const *keys) {
    while (*keys && strcmp(key, *keys) != 0) keys++;
    return *keys != NULL;
}

static const char *item_name(const json_t *list, size_t i) {
    return json_string_value(json_object_get(json_array_get(list, i), "name"));
}

static bool same_names(const json_t *a, const json_t *b) {
    size_t count = json_array_size(a), i = 0;
    if (count != json_array_size(b)) return false;
    while (i < count && item_name(a, i) && item_name(b, i) && strcmp(item_name(a, i), item_name(b, i)) == 0)
        i++;
    return i == count;
}

/* A list whose items have names is told by these. */
static void tell(const json_t *v, char *out, size_t len) {
    size_t used = 0, count = json_array_size(v);
    char *text = json_is_string(v) ? NULL : json_dumps(v, JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
    snprintf(out, len, "%s", json_is_string(v) ? json_string_value(v) : text ? text : "nothing");
    free(text);
    for (size_t i = 0; i < count && item_name(v, i) && used < len; i++)
        used += (size_t)snprintf(out + used, len - used, "%s%s", i ? ", " : "", item_name(v, i));
}

enum { DEEPEST = 16 };

static bool differs(struct merge_difference *d, const json_t *a, const json_t *b, unsigned depth) {
    size_t end = strlen(d->key);
    const char *name;
    json_t *part;
    bool found = false;
    if (json_equal(a, b) || is_one_of(d->key, own) || (d->real && is_one_of(d->key, machine))) return false;
    if (depth < DEEPEST && json_is_object(a) && json_is_object(b)) {
        json_object_foreach((json_t *)a, name, part) {
            snprintf(d->key + end, sizeof d->key - end, "%s%s", end ? "." : "", name);
            if ((found = differs(d, part, json_object_get(b, name), depth + 1))) break;
            d->key[end] = '\0';
        }
        return found;
    }
    if (depth < DEEPEST && json_is_array(a) && json_is_array(b) && same_names(a, b)) {
        for (size_t i = 0; !found && i < json_array_size(a); i++) {
            snprintf(d->key + end, sizeof d->key - end, ".%s", item_name(a, i));
            found = differs(d, json_array_get(a, i), json_array_get(b, i), depth + 1);
            if (!found) d->key[end] = '\0';
        }
        return found;
    }
    tell(a, d->value[0], sizeof d->value[0]);
    tell(b, d->value[1], sizeof d->value[1]);
    return true;
}

bool merge_scenarios_differ(const struct run_record *first, const struct run_record *other,
                            struct merge_difference *out) {
    json_t *a = first->effective_json ? json_loads(first->effective_json, 0, NULL) : NULL,
           *b = other->effective_json ? json_loads(other->effective_json, 0, NULL) : NULL;
    *out = (struct merge_difference){.real = strcmp(first->mode, "real") == 0};
    bool found = a && b && differs(out, a, b, 0);
    json_decref(a);
    json_decref(b);
    return found;
}
