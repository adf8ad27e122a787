/* The sweep of a scenario as a plan: its points, and the settings that make each of them. What the loader
 * accepted is not checked again. Not thread safe. */
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
    SWEEP_POINTS_USUAL = 10000, /* more are asked for by --force */
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

/* The points of profile keys; with profile rates the variants alone. sweep_plan_free() afterwards. */
void sweep_plan_open(struct sweep_plan *p, const struct scenario *s);
void sweep_plan_free(struct sweep_plan *p);
/* The settings of a point from 0: one per axis, the first key varies slowest. Texts are the plan's. */
void sweep_plan_point(const struct sweep_plan *p, uint64_t point, struct scenario_setting *out);
/* The same with what the variants set in place of their names, as the loader takes it. How many. */
unsigned sweep_plan_expand(const struct sweep_plan *p, const struct scenario_setting *point, unsigned count,
                           struct scenario_setting out[SWEEP_SETTINGS_MAX]);
/* Keys or variants with the whole path of each trace whose file is there. A text that would be too long
 * stays. */
void sweep_place(char text[SCENARIO_SWEEP_TEXT]);
/* The variant that "GROUP=NAME" says; false when there is none. */
bool sweep_plan_variant(const struct sweep_plan *p, const char *text, unsigned *axis, size_t *value);
/* The point that has another value on that axis and is the same otherwise; combine cartesian. */
uint64_t sweep_plan_with(const struct sweep_plan *p, uint64_t point, unsigned axis, size_t value);
/* "tiers.cpu.capacity=1GiB workload.users=10" */
void sweep_point_label(const struct scenario_setting *setting, size_t count, struct buf *out);
/* The same as a JSON object. */
void sweep_point_json(const struct scenario_setting *setting, size_t count, struct buf *out);

/* Numbers of a key, for searches: parsed as its type, in its base unit (bytes, ns, bytes/s). False when the
 * key has no such numbers, or the text is none. And back: whole numbers are rounded. */
bool sweep_number_parse(const char *key, const char *text, double *v);
char *sweep_number_text(const char *key, double v, char out[SWEEP_VALUE]);
/* The bounds of what is sought. */
bool sweep_bounds(const struct scenario *s, double *low, double *high);

/* The measures that a sweep is about, the one it is judged by first: those of sweep.metrics, else the
 * profile's. How many. Reads sweep and workload.arrival.process alone. */
unsigned sweep_measures(const struct scenario *s, char out[SWEEP_METRICS_MAX][64]);
/* The unit of a key's values: "B", "ns", "B/s"; "" for plain numbers and for texts. */
const char *sweep_key_unit(const char *key);
/* The names of profiles as people write them. */
const char *sweep_profile_name(enum scenario_sweep_profile profile);
bool sweep_profile_parse(const char *name, enum scenario_sweep_profile *out);

#endif
