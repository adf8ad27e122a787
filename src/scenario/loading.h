/* State shared by the parts of the loader while a scenario is being read: positions, problems so far, keys
 * given. One thread. */
#ifndef KVF_SCENARIO_LOADING_H
#define KVF_SCENARIO_LOADING_H

#include <stdbool.h>
#include <stddef.h>

#include "base/url.h"
#include "scenario/keys.h"
#include "scenario/load.h"
#include "scenario/node.h"

/* Where a value stands: in the file (origin NULL), or in a setting of the command line. */
struct place {
    const char *origin, *setting; /* "--set", "tiers.gpu.capacity" */
    const char *file;             /* that is included; NULL: the scenario's own */
    size_t order;                 /* of the source: what is included, the file, then the settings */
    size_t line, column;          /* from 1 */
};

enum { LOADING_INCLUDES_MAX = 8 };

struct problem {
    struct place place;
    size_t number; /* in order of finding */
    char *key;     /* "" when no key is concerned */
    char *text;
};

struct loading {
    struct scenario *s;
    struct scenario *defaults; /* of the key table; NULL while they are being made */
    const char *file;          /* how errors name the file */
    struct place source;       /* of what is being read; line and column 1 */
    bool given[KEY_MAX];       /* the key was given by any source */
    struct place place[KEY_MAX];
    bool tier_named[KVF_TIERS];           /* its mapping stands in the file, or its capacity was set */
    uint32_t prompt_lengths;              /* lengths given, 1 with prompt_single */
    bool model_bad;                       /* the model cannot be used, which was reported */
    bool prompt_single;                   /* one length stands for prefix.count prompts */
    char *included[LOADING_INCLUDES_MAX]; /* names of files, for places */
    size_t included_count;
    struct problem *problems;
    size_t problem_count;
};

struct place place_of(const struct loading *l, const struct node *n); /* where a node stands */
/* The place where a key was given; that of `other`, or the start of the file, when it was not. */
struct place place_of_key(const struct loading *l, const char *key, const char *other);
bool place_given(const struct loading *l, const char *key); /* by any source */
/* Notes a problem at a place, or where a node or a key stands; returns false. */
bool problem_add(struct loading *l, struct place place, const char *key, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
#define problem_at(l, n, ...)          problem_add(l, place_of(l, n), __VA_ARGS__)
#define problem_of(l, key, other, ...) problem_add(l, place_of_key(l, key, other), key, __VA_ARGS__)
/* Writes all problems in the order of their places and frees them. */
void problems_report(struct loading *l, struct scenario_report *report);

/* Stores a value in the field of its key in `base` (the scenario or a member of a list); `name` is the key as
 * messages name it. False when it cannot be used (reported). Not for lists of mappings and the model. */
bool value_store(struct loading *l, const struct key *k, const char *name, const struct node *n, void *base);
/* Stores the default of a key in its field. */
void value_default(struct loading *l, const struct key *k, void *base);
/* Refuses a value that this build lacks, and stores the default instead. */
void value_check_available(struct loading *l, const struct key *k, const struct node *n);

/* Stores a list of mappings. False when it cannot be used (reported). */
bool mapping_list_store(struct loading *l, const struct key *k, const struct node *n);
/* Store keys of a sweep: axes and variants, with every value tried in a scratch scenario; the bounds of a
 * search; capacities; policies. False when one cannot be used (reported). */
bool sweep_store_axes(struct loading *l, const char *name, const struct node *n);
bool sweep_store_variants(struct loading *l, const char *name, const struct node *n);
bool sweep_store_bounds(struct loading *l, const char *name, const struct node *n);
bool sweep_store_sizes(struct loading *l, const struct key *k, const struct node *n);
bool sweep_store_policies(struct loading *l, const struct key *k, const struct node *n);
/* Stores the value of a key by its whole name; `key` is the node of the name. */
void mapping_pair_store(struct loading *l, const char *name, const struct node *key,
                        const struct node *value);
/* Stores a mapping whose keys stand below `prefix` ("" at the top). */
void mapping_store(struct loading *l, const char *prefix, const struct node *n);
/* Sets the default capacities, which hold for tiers that are named later. */
void scenario_begin(struct loading *l);
/* Applies the preset of every tier that has one to bandwidths and latency, unless these were given beside it
 * or by a later source. */
void link_presets_apply(struct loading *l);
void link_engine_apply(struct loading *l); /* the same for compute.preset and its keys */
/* Reports where the efficiencies of compute.preset were fitted with weights of another width than the
 * model's. */
void link_engine_check(struct loading *l);
/* Derives what follows from other keys: arrival process, evictions, prompts, times per token. */
void scenario_finish(struct loading *l);
/* Reports contradictions and gaps of a sweep, except in its points. */
void sweep_check(struct loading *l);
/* Reports a metric that no run has, with the nearest name. */
void check_metric(struct loading *l, const char *metric, const char *key, struct place place);
/* Reports contradictions and missing keys of the whole scenario. */
void scenario_check(struct loading *l);
void check_policies(struct loading *l); /* those of policies */
void check_fleet(struct loading *l);    /* those of a fleet */
/* Checks the address of a Redis or Valkey server: 0, or -KVF_ERR_USAGE with a phrase. */
int check_server_url(const struct url *u, struct err *e);
/* Appends a key's value as YAML flow text, or as JSON with `json`. */
struct buf;
void emit_value(const struct key *k, const void *base, bool json, struct buf *out);

#endif
