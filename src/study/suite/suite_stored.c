#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scenario/load.h"
#include "study/suite/suite.h"

struct reading {
    struct store *store;
    struct suite *suite;
    int64_t *id;
    size_t ids;
};

static void add_id(void *ctx, int64_t run_id) {
    struct reading *r = ctx;
    r->id = mem_realloc(r->id, (r->ids + 1) * sizeof *r->id);
    r->id[r->ids++] = run_id;
}

static int by_number(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* ---- what its scenario was ---- */

/* Whether the parts that decide over a result are those of the file that comes with the program. */
static bool is_as_filed(const struct suite_test *test, const json_t *ran) {
    static const char *const parts[] = {"model",    "mode",    "run",    "cache",
                                        "workload", "compute", "engine", "autoscaler"};
    struct scenario *sc = mem_zalloc(1, sizeof *sc);
    struct scenario_report report;
    struct buf json = {0};
    const char *yaml = suite_test_yaml(test);
    bool same = yaml && scenario_load(NULL, yaml, NULL, 0, sc, NULL, &report) == 0;
    if (yaml) scenario_load_free(&report);
    if (same) scenario_emit_json(sc, &json);
    json_t *filed = json_loads(buf_text(&json), 0, NULL);
    for (size_t i = 0; same && i < sizeof parts / sizeof *parts; i++)
        same = json_equal(json_object_get(filed, parts[i]), json_object_get(ran, parts[i])) == 1;
    json_decref(filed);
    buf_free(&json);
    free(sc);
    return same;
}

static void read_scenario(const struct run_record *run, bool filed, struct suite_entry *e) {
    json_t *ran = json_loads(run->effective_json ? run->effective_json : "", 0, NULL);
    struct scenario *sc = &e->scenario;
    sc->tier[KVF_TIER_GPU].on = run->tier[KVF_TIER_GPU].on;
    sc->tier[KVF_TIER_CPU].on = run->tier[KVF_TIER_CPU].on;
    sc->tier[KVF_TIER_NVME].on = run->tier[KVF_TIER_NVME].on;
    sc->tier[KVF_TIER_CPU].capacity_bytes = run->tier[KVF_TIER_CPU].capacity_bytes;
    sc->workload.users =
        (uint64_t)json_integer_value(json_object_get(json_object_get(ran, "workload"), "users"));
    const char *granularity =
        json_string_value(json_object_get(json_object_get(ran, "cache"), "granularity"));
    bool blocks = granularity && strcmp(granularity, "block") == 0;
    sc->cache.granularity = blocks ? KVF_GRANULARITY_BLOCK : KVF_GRANULARITY_REQUEST;
    snprintf(sc->description, sizeof sc->description, "%s", run->description);
    e->as_filed = filed && is_as_filed(e->test, ran);
    json_decref(ran);
}

/* ---- its tests ---- */

/* One that this version does not know has no group of its own. */
static const struct suite_test *test_named(const char *name, bool *known) {
    for (size_t i = 0; i < suite_test_count; i++)
        if (strcmp(suite_tests[i].name, name) == 0) {
            *known = true;
            return &suite_tests[i];
        }
    struct suite_test *t = mem_zalloc(1, sizeof *t);
    *known = false;
    t->name = mem_strdup(name);
    return t;
}

static struct suite_entry *entry_of(struct suite *s, const struct run_record *run) {
    for (size_t i = 0; i < s->entries; i++)
        if (strcmp(s->entry[i].test->name, run->name) == 0) return &s->entry[i];
    bool known;
    s->entry = mem_realloc(s->entry, (s->entries + 1) * sizeof *s->entry);
    struct suite_entry *e = &s->entry[s->entries++];
    memset(e, 0, sizeof *e);
    e->test = test_named(run->name, &known);
    e->trials = run->trials > 0 ? run->trials : 1;
    read_scenario(run, known, e);
    return e;
}

/* The events of its runs tell what no row of the suite does. */
static void read_events(struct suite *s, const struct run_record *run) {
    for (size_t i = 0; i < run->event_count; i++) {
        const struct record_event *e = &run->events[i];
        s->quick = s->quick || record_event_is(e, RECORD_EVENT_QUICK);
        if (!record_event_is(e, RECORD_EVENT_NOT_RUN)) continue;
        struct run_record none = {0};
        const char *name = strstr(e->message, e->value), *why = name ? name + strlen(e->value) : "";
        snprintf(none.name, sizeof none.name, "%.63s", e->value);
        snprintf(entry_of(s, &none)->refused, sizeof s->entry->refused, "%s", why + strspn(why, ": "));
    }
}

static int add_run(struct reading *r, int64_t id, struct err *e) {
    struct run_record run;
    run_record_init(&run);
    int rc = store_load_run(r->store, id, &run, e);
    if (rc != 0) {
        run_record_free(&run);
        return rc;
    }
    struct suite_entry *entry = entry_of(r->suite, &run);
    entry->run = mem_realloc(entry->run, (entry->runs + 1) * sizeof *entry->run);
    entry->run[entry->runs++] = run;
    trials_add(&entry->group, &run);
    read_events(r->suite, &run);
    return 0;
}

int suite_stored(struct store *store, int64_t first_id, struct suite *out, struct err *e) {
    struct reading r = {.store = store, .suite = out};
    memset(out, 0, sizeof *out);
    out->parent_id = first_id;
    int rc = store_suite(store, first_id, add_id, &r, e);
    if (r.ids > 0) qsort(r.id, r.ids, sizeof *r.id, by_number);
    for (size_t i = 0; i < r.ids && rc == 0; i++) rc = add_run(&r, r.id[i], e);
    free(r.id);
    return rc;
}

void suite_free(struct suite *s) {
    sweep_free(&s->sweep);
    for (size_t i = 0; i < s->entries; i++) {
        struct suite_entry *e = &s->entry[i];
        bool ours = false; /* of the table, or made by test_named() */
        for (size_t k = 0; k < suite_test_count; k++) ours = ours || e->test == &suite_tests[k];
        if (!ours) {
            free((char *)e->test->name);
            free((struct suite_test *)e->test);
        }
        for (uint32_t k = 0; k < e->runs; k++) run_record_free(&e->run[k]);
        trials_free(&e->group);
        free(e->run);
    }
    free(s->entry);
    s->entry = NULL;
    s->entries = 0;
}
