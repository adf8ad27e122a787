/* The sweep of a scenario as a plan: its points, and the settings of each. The loader has checked it, nothing
 * is checked again. One thread at a time. */
#ifndef KVF_SCENARIO_SWEEP_PLAN_H
#define KVF_SCENARIO_SWEEP_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "scenario/load.h"
#include "scenario/scenario.h"

#define SWEEP_ALL_POLICIES UINT64_MAX
enum {
    SWEEP_AXES_MAX = 8,
    SWEEP_METRICS_MAX = 24,
    SWEEP_RANGE_MAX = 100000,   /* points of one {from, to, points} */
    SWEEP_POINTS_USUAL = 10000, /* more need --force */
    SWEEP_VALUE = 40,           /* bytes of a number as text */
    SWEEP_SET_MAX = 32,         /* keys that a variant sets */
    SWEEP_SETTINGS_MAX = SWEEP_AXES_MAX * SWEEP_SET_MAX
};

struct sweep_variant {
    char **key, **value; /* what it sets */
    size_t settings;
};
struct sweep_axis {
    char key[64]; /* of the scenario, or the name of a group of variants */
    char **value; /* each as YAML flow text; the names of a group in quotes */
    size_t values;
    struct sweep_variant *variant; /* of each name; NULL: a key */
};
struct sweep_plan {
    struct sweep_axis axis[SWEEP_AXES_MAX];
    unsigned axes, groups; /* groups of variants come first */
    unsigned wanted;       /* axes that were given; more than `axes` is an error */
    bool zip;
    uint64_t points; /* UINT64_MAX: more than that */
};

/* Makes the plan of profile keys; with profile rates only the variants. Free it with sweep_plan_free(). */
void sweep_plan_open(struct sweep_plan *p, const struct scenario *s);
void sweep_plan_free(struct sweep_plan *p);
/* The settings of a point from 0: one per axis, the first key varies slowest. Texts are the plan's. */
void sweep_plan_point(const struct sweep_plan *p, uint64_t point, struct scenario_setting *out);
/* Replaces variants by their settings, as the loader takes them. Returns the number of settings. */
unsigned sweep_plan_expand(const struct sweep_plan *p, const struct scenario_setting *point, unsigned count,
                           struct scenario_setting out[SWEEP_SETTINGS_MAX]);
/* Makes the path of every existing trace in keys or variants absolute. A text that would be too long is left
 * alone. */
void sweep_place(char text[SCENARIO_SWEEP_TEXT]);
/* Finds the variant "GROUP=NAME"; false when there is none. */
bool sweep_plan_variant(const struct sweep_plan *p, const char *text, unsigned *axis, size_t *value);
/* The point that differs from `point` only in its value on that axis; for combine cartesian. */
uint64_t sweep_plan_with(const struct sweep_plan *p, uint64_t point, unsigned axis, size_t value);
/* Appends the settings of a point: "tiers.cpu.capacity=1GiB workload.users=10". */
void sweep_point_label(const struct scenario_setting *setting, size_t count, struct buf *out);
/* Appends them as a JSON object. */
void sweep_point_json(const struct scenario_setting *setting, size_t count, struct buf *out);
/* Parses a number of a key, for searches, in its base unit (bytes, ns, bytes/s); false when the key has no
 * such numbers, or the text is none. And back: whole numbers are rounded. */
bool sweep_number_parse(const char *key, const char *text, double *v);
char *sweep_number_text(const char *key, double v, char out[SWEEP_VALUE]);
/* The bounds of a search, in the base unit of its key; false when there are none. */
bool sweep_bounds(const struct scenario *s, double *low, double *high);
/* The metrics of a sweep, the deciding one first: those of sweep.metrics, else the profile's. Returns their
 * number. Reads only sweep and workload.arrival.process. */
unsigned sweep_measures(const struct scenario *s, char out[SWEEP_METRICS_MAX][64]);
/* The unit of a key's values: "B", "ns", "B/s"; "" for plain numbers and for texts. */
const char *sweep_key_unit(const char *key);
/* The name of a profile in scenarios; and its profile, false for an unknown name. */
const char *sweep_profile_name(enum scenario_sweep_profile profile);
bool sweep_profile_parse(const char *name, enum scenario_sweep_profile *out);

#endif
