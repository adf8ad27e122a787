#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "export/json_part.h"
#include "export/run_json.h"
#include "study/suite/suite.h"

static json_t *count(uint64_t v) {
    return v <= INT64_MAX ? json_integer((json_int_t)v) : json_null();
}

static json_t *suite_object(const struct suite *s) {
    return JSON_OBJECT({"host", json_part_text(s->host.name)}, {"cpus", json_integer(s->host.cpus_usable)},
                       {"memory_bytes", count(s->host.memory_bytes)}, {"gpu", json_part_some(s->host.gpu)},
                       {"path", json_part_text(s->dir)}, {"path_reason", json_part_text(s->dir_why)},
                       {"device", json_part_text(s->drive_known ? s->drive.device.name : NULL)},
                       {"free_bytes", count(s->disk_free)}, {"quick", json_boolean(s->quick)},
                       {"parent_id", json_part_id(s->parent_id)},
                       {"sweep_id", json_part_id(s->sweep.record.sweep_id)},
                       {"stopped", json_boolean(s->sweep.stopped)});
}

static json_t *runs_array(const struct suite_entry *e) {
    json_t *runs = json_array();
    for (uint32_t i = 0; i < e->runs; i++) {
        bool group = e->trials > 1 && i + 1 == e->runs; /* the last one has what all say together */
        json_array_append_new(runs, run_json_object(&e->run[i], group ? &e->group : NULL));
    }
    return runs;
}

static json_t *capacity(const struct scenario *sc, enum kvf_tier t) {
    uint64_t bytes = scenario_capacity_bytes(sc, t);
    return bytes == KVF_AUTO ? json_null() : count(bytes); /* of a test that could not be sized */
}

static json_t *test_object(const struct suite_entry *e) {
    json_t *scaled = json_array();
    char text[sizeof e->run[0].description];
    if (e->runs)
        snprintf(text, sizeof text, "%s", e->run[0].description);
    else
        scenario_describe(&e->scenario, text, sizeof text);
    for (unsigned i = 0; i < e->fit.lines; i++)
        json_array_append_new(scaled, json_part_text(e->fit.line[i].text));
    return JSON_OBJECT(
        {"name", json_part_text(e->test->name)}, {"group", json_part_text(suite_group_name(e->test->group))},
        {"description", json_part_text(text)}, {"model", json_part_text(e->scenario.model.preset)},
        {"users", count(e->scenario.workload.users)}, {"gpu_bytes", capacity(&e->scenario, KVF_TIER_GPU)},
        {"cpu_bytes", capacity(&e->scenario, KVF_TIER_CPU)},
        {"nvme_bytes", capacity(&e->scenario, KVF_TIER_NVME)}, {"trials", json_integer(e->trials)},
        {"duration_s", json_real((double)e->scenario.run.duration_ns / 1e9)},
        {"refused", json_part_some(e->refused)}, {"scaled", scaled}, {"runs", runs_array(e)});
}

void suite_json(const struct suite *s, const struct suite_words *w, struct buf *out) {
    json_t *tests = json_array(), *meaning = json_array();
    for (size_t i = 0; i < s->entries; i++) json_array_append_new(tests, test_object(&s->entry[i]));
    for (unsigned i = 0; i < w->lines; i++) {
        json_array_append_new(meaning, JSON_OBJECT({"topic", json_part_text(w->line[i].topic)},
                                                   {"text", json_part_text(w->line[i].text)}));
    }
    json_part_print(JSON_OBJECT(JSON_HEAD(SUITE_JSON), {"suite", suite_object(s)}, {"tests", tests},
                                {"meaning", meaning}),
                    2, out);
}
