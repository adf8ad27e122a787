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
    json_t *o = json_object();
    json_object_set_new(o, "host", json_part_text(s->host.name));
    json_object_set_new(o, "cpus", json_integer(s->host.cpus_usable));
    json_object_set_new(o, "memory_bytes", count(s->host.memory_bytes));
    json_object_set_new(o, "gpu", s->host.gpu[0] ? json_part_text(s->host.gpu) : json_null());
    json_object_set_new(o, "path", json_part_text(s->dir));
    json_object_set_new(o, "path_reason", json_part_text(s->dir_why));
    json_object_set_new(o, "device", s->drive_known ? json_part_text(s->drive.device.name) : json_null());
    json_object_set_new(o, "free_bytes", count(s->disk_free));
    json_object_set_new(o, "quick", json_boolean(s->quick));
    json_object_set_new(o, "parent_id", s->parent_id > 0 ? json_integer(s->parent_id) : json_null());
    json_object_set_new(o, "stopped", json_boolean(s->stopped));
    return o;
}

static json_t *runs_array(const struct suite_entry *e) {
    json_t *runs = json_array();
    for (uint32_t i = 0; i < e->runs; i++) {
        struct buf one = {0};
        if (e->trials > 1 && i + 1 == e->runs)
            run_json_trials(&e->run[i], &e->group, &one); /* the last one has what all say together */
        else
            run_json(&e->run[i], &one);
        json_t *run = json_loads(buf_text(&one), 0, NULL);
        if (run) json_array_append_new(runs, run);
        buf_free(&one);
    }
    return runs;
}

static json_t *capacity(const struct scenario *sc, enum kvf_tier t) {
    uint64_t bytes = scenario_capacity_bytes(sc, t);
    return bytes == KVF_AUTO ? json_null() : count(bytes); /* of a test that could not be sized */
}

static json_t *test_object(const struct suite_entry *e) {
    json_t *o = json_object(), *scaled = json_array();
    char text[sizeof e->run[0].description];
    if (e->runs)
        snprintf(text, sizeof text, "%s", e->run[0].description);
    else
        scenario_describe(&e->scenario, text, sizeof text);
    json_object_set_new(o, "name", json_part_text(e->test->name));
    json_object_set_new(o, "group", json_part_text(suite_group_name(e->test->group)));
    json_object_set_new(o, "description", json_part_text(text));
    json_object_set_new(o, "model", json_part_text(e->scenario.model.preset));
    json_object_set_new(o, "users", count(e->scenario.workload.users));
    json_object_set_new(o, "gpu_bytes", capacity(&e->scenario, KVF_TIER_GPU));
    json_object_set_new(o, "cpu_bytes", capacity(&e->scenario, KVF_TIER_CPU));
    json_object_set_new(o, "nvme_bytes", capacity(&e->scenario, KVF_TIER_NVME));
    json_object_set_new(o, "trials", json_integer(e->trials));
    json_object_set_new(o, "duration_s", json_real((double)e->scenario.run.duration_ns / 1e9));
    json_object_set_new(o, "refused", e->refused[0] ? json_part_text(e->refused) : json_null());
    for (unsigned i = 0; i < e->fit.lines; i++)
        json_array_append_new(scaled, json_part_text(e->fit.line[i].text));
    json_object_set_new(o, "scaled", scaled);
    json_object_set_new(o, "runs", runs_array(e));
    return o;
}

void suite_json(const struct suite *s, const struct suite_words *w, struct buf *out) {
    json_t *o = json_object(), *tests = json_array(), *meaning = json_array();
    for (size_t i = 0; i < s->entries; i++) json_array_append_new(tests, test_object(&s->entry[i]));
    for (unsigned i = 0; i < w->lines; i++) {
        json_t *line = json_object();
        json_object_set_new(line, "topic", json_part_text(w->line[i].topic));
        json_object_set_new(line, "text", json_part_text(w->line[i].text));
        json_array_append_new(meaning, line);
    }
    json_part_head(o, SUITE_JSON_SCHEMA, SUITE_JSON_VERSION);
    json_object_set_new(o, "suite", suite_object(s));
    json_object_set_new(o, "tests", tests);
    json_object_set_new(o, "meaning", meaning);
    json_part_print(o, out);
}
