/* Loading scenarios: YAML through the key table into struct scenario, and back. Any thread. */
#ifndef KVF_SCENARIO_LOAD_H
#define KVF_SCENARIO_LOAD_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "scenario/scenario.h"

/* An assignment from the command line: a dotted key and its value as YAML flow text
 * ("tiers.gpu.capacity", "16GiB"; "workload.personas", "[{name: a}]"). */
struct scenario_setting {
    const char *key; /* NULL: the value is a file to include, under the scenario's own keys */
    const char *value;
    const char *origin; /* how errors name it: "--set", "--users" */
};

enum { SCENARIO_ERRORS_MAX = 50, SCENARIO_UNUSED_MAX = 200, SCENARIO_KEYS_MAX = 352 };
struct scenario_report {
    struct buf errors; /* one "file:line:column: key: what is wrong" a line; empty: none */
    unsigned error_count;
    struct {
        bool own;                         /* given by the scenario or a setting, not by what it includes */
        const char *origin;               /* of the setting; NULL: the file */
    } given[SCENARIO_KEYS_MAX];           /* beside the key table */
    char unused[SCENARIO_UNUSED_MAX][72]; /* dotted keys that are set and have no effect, with why */
    const char *unused_by[SCENARIO_UNUSED_MAX]; /* origin of the setting that gave it; NULL: the file */
    unsigned unused_count;
};
void scenario_load_free(struct scenario_report *r); /* what it owns; needed after a failure too */
/* Lists the given keys that have no effect in `s`. scenario_load() does so; call it again once the backend of
 * the gpu tier is chosen, on which some keys depend. */
void scenario_unused_list(struct scenario_report *r, const struct scenario *s);

/* Loads the file `path` ("-": standard input; NULL: only defaults) or, if given, the text `builtin`; with
 * both, `builtin` is the content of `path`, which names it in errors and resolves its includes. Applies the
 * settings and checks everything. The report lists all errors at once: 0, or -KVF_ERR_USAGE. *yaml (may be
 * NULL) gets the text as given, which the caller frees. Has no other effect. */
int scenario_load(const char *path, const char *builtin, const struct scenario_setting *settings,
                  size_t count, struct scenario *s, char **yaml, struct scenario_report *report);

/* The effective configuration as YAML that loads back to the same struct, and as a JSON object of
 * the same nesting. */
void scenario_emit_yaml(const struct scenario *s, struct buf *out);
void scenario_emit_json(const struct scenario *s, struct buf *out);

/* The built-in quickstart as YAML (gpu 2 GiB, cpu a quarter of available memory but at most 4 GiB,
 * nvme 8 GiB in the current directory); available_bytes of memory from the caller. */
void scenario_quickstart(uint64_t available_bytes, struct buf *out);

/* The key table, for help, manual and tests. */
struct scenario_key {
    const char *name;     /* dotted: "tiers.nvme.io_size"; "[]" for list members: "qos.classes[].p95" */
    const char *type;     /* "size", "duration", "integer", "number", "boolean", "text", "choice", ... */
    const char *unit;     /* "" */
    const char *range;    /* "4KiB to 64MiB"; for choices "real | simulate"; "" when free */
    const char *fallback; /* the default as YAML; "required" */
    const char *help;     /* one sentence */
    bool available;       /* carried out by this build; else only the default is accepted */
};
const struct scenario_key *scenario_keys(size_t *count);
/* Nearest known key or word by edit distance; NULL when nothing is near. */
const char *scenario_keys_nearest(const char *name);

#endif
