#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/model.h"
#include "page/run_doc_inside.h"
#include "scenario/load.h"

/* ---- what it ran on ---- */

/* A member as text; NULL where there is none. */
static const char *text_of(const json_t *object, const char *name) {
    return json_string_value(json_object_get(object, name));
}

/* The members that there are, one after the other with commas between. */
static void fact_of(struct doc *d, const char *label, const json_t *object, const char *const *names) {
    struct buf text = {0};
    for (; *names; names++) {
        const char *part = text_of(object, *names);
        if (part && *part) buf_addf(&text, "%s%s", text.len ? ", " : "", part);
    }
    doc_fact(d, label, buf_text(&text));
    buf_free(&text);
}

static void put_machine(struct doc *d, const json_t *env) {
    const json_t *cpu = json_object_get(env, "cpu"), *memory = json_object_get(env, "memory_bytes");
    struct buf text = {0};
    fact_of(d, "Host", env, (const char *const[]){"host", NULL});
    fact_of(d, "System", env, (const char *const[]){"os", "kernel", NULL});
    if (cpu) {
        const char *model = text_of(cpu, "model");
        buf_addf(&text, "%s", model ? model : "unknown");
        if (json_is_integer(json_object_get(cpu, "usable")))
            buf_addf(&text, ", %" PRId64 " of %" PRId64 " CPUs usable",
                     (int64_t)json_integer_value(json_object_get(cpu, "usable")),
                     (int64_t)json_integer_value(json_object_get(cpu, "online")));
        doc_fact(d, "CPU", buf_text(&text));
        buf_free(&text);
    }
    if (json_is_number(memory)) {
        buf_addf(&text, "%s%s", format_bytes(json_number_value(memory)).text,
                 json_is_true(json_object_get(env, "memory_limited_by_cgroup")) ? ", limited by its cgroup"
                                                                                : "");
        doc_fact(d, "Memory", buf_text(&text));
        buf_free(&text);
    }
}

static void put_gpu(struct doc *d, const json_t *env) {
    const json_t *gpu = json_object_get(env, "gpu"), *devices = json_object_get(gpu, "devices"), *device;
    size_t i;
    const char *name = text_of(gpu, "name"), *reason = text_of(gpu, "reason");
    struct buf text = {0};
    if (!gpu) return;
    if (!name && reason)
        buf_addf(&text, "none: %s", reason);
    else if (name)
        buf_add(&text, name);
    if (text_of(gpu, "driver")) buf_addf(&text, ", driver %s", text_of(gpu, "driver"));
    doc_fact(d, "GPU", buf_text(&text));
    buf_free(&text);
    json_array_foreach(devices, i, device) {
        const json_t *bytes = json_object_get(device, "memory_bytes");
        buf_addf(&text, "%s", text_of(device, "name") ? text_of(device, "name") : "unknown");
        if (json_is_number(bytes)) buf_addf(&text, ", %s", format_bytes(json_number_value(bytes)).text);
        if (text_of(device, "mig")) buf_addf(&text, ", MIG %s", text_of(device, "mig"));
        char label[32];
        snprintf(label, sizeof label, "GPU %zu", i);
        doc_fact(d, label, buf_text(&text));
        buf_free(&text);
    }
    fact_of(d, "GPUDirect Storage", env, (const char *const[]){"gds", NULL});
}

static void put_paths(struct doc *d, const json_t *env) {
    const json_t *paths = json_object_get(env, "nvme_paths"), *path;
    size_t i;
    json_array_foreach(paths, i, path) {
        struct buf text = {0};
        buf_addf(&text, "%s on %s", text_of(path, "filesystem") ? text_of(path, "filesystem") : "unknown",
                 text_of(path, "device") ? text_of(path, "device") : "no block device");
        if (text_of(path, "model")) buf_addf(&text, ", %s", text_of(path, "model"));
        if (text_of(path, "firmware")) buf_addf(&text, ", firmware %s", text_of(path, "firmware"));
        if (json_is_true(json_object_get(path, "rotational")))
            buf_add(&text, ", rotational by its own account");
        if (text_of(path, "direct_io")) buf_addf(&text, ", direct I/O %s", text_of(path, "direct_io"));
        if (text_of(path, "error")) buf_addf(&text, ", %s", text_of(path, "error"));
        doc_fact(d, "nvme path", text_of(path, "path"));
        doc_fact(d, "nvme device", buf_text(&text));
        doc_fact(d, "Mounted with", text_of(path, "mount_options"));
        buf_free(&text);
    }
}

static void put_build(struct doc *d, const json_t *env) {
    const json_t *build = json_object_get(env, "build");
    fact_of(d, "Compiler", build, (const char *const[]){"compiler", "flags", NULL});
    fact_of(d, "Libraries", build, (const char *const[]){"libraries", NULL});
    fact_of(d, "CUDA", build, (const char *const[]){"cuda", NULL});
    const char *sanitizer = text_of(build, "sanitizer");
    if (sanitizer && strncmp(sanitizer, "off", 3) != 0) doc_fact(d, "Sanitizer", sanitizer);
}

void run_doc_place(const struct run_part *p) {
    const struct run_record *r = p->run;
    struct doc *d = p->doc;
    json_t *env = r->environment ? json_loads(r->environment, 0, NULL) : NULL;
    doc_section(d, p->level, "What it ran on");
    if (json_is_object(env)) {
        put_machine(d, env);
        put_gpu(d, env);
        put_paths(d, env);
    } else {
        doc_fact(d, "Host", r->host);
    }
    for (unsigned t = 0; t < KVF_TIERS; t++) {
        char label[64];
        snprintf(label, sizeof label, "%s tier", tier_name((enum kvf_tier)t));
        if (r->tier[t].on) doc_fact(d, label, r->tier[t].description);
    }
    doc_fact(d, "kvfall", r->version);
    if (json_is_object(env)) put_build(d, env);
    doc_fact(d, "Run UUID", r->uuid);
    if (!json_is_object(env)) doc_text(d, DOC_PLAIN, "Nothing more is stored about its environment.");
    json_decref(env);
}

/* ---- what was asked for ---- */

/* Adds a row for each key whose value is not the default; names of sections with points between. */
static void put_differences(struct doc *d, const char *prefix, json_t *mine, const json_t *usual,
                            size_t *rows) {
    const char *name;
    json_t *value;
    json_object_foreach(mine, name, value) {
        const json_t *other = json_object_get(usual, name);
        struct buf key = {0};
        buf_addf(&key, "%s%s%s", prefix, *prefix ? "." : "", name);
        if (json_is_object(value) && json_is_object(other)) {
            put_differences(d, buf_text(&key), value, other, rows);
        } else if (!json_equal(value, other) && strcmp(name, "name") != 0 &&
                   strcmp(name, "description") != 0) {
            char *text =
                json_is_string(value) ? NULL : json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(9));
            char *was =
                json_is_string(other) ? NULL : json_dumps(other, JSON_ENCODE_ANY | JSON_REAL_PRECISION(9));
            if ((*rows)++ == 0) {
                doc_table(d, "Keys that differ from their defaults, with the effective values",
                          "key|value|default");
            }
            doc_cell(d, buf_text(&key));
            doc_cell(d, text ? text : json_string_value(value));
            doc_cell(d, was ? was : json_string_value(other));
            free(text);
            free(was);
        }
        buf_free(&key);
    }
}

/* The defaults, those of the model being its preset's: only what was changed of it is a difference. */
static json_t *default_configuration(const char *preset) {
    const struct model_preset *model = model_find(preset);
    struct scenario *s = mem_zalloc(1, sizeof *s);
    struct buf text = {0};
    scenario_default(s);
    if (model) s->model = model->model;
    scenario_emit_json(s, &text);
    json_t *json = json_loads(buf_text(&text), 0, NULL);
    buf_free(&text);
    free(s);
    return json;
}

void run_doc_scenario(const struct run_part *p) {
    const struct run_record *r = p->run;
    struct doc *d = p->doc;
    size_t rows = 0;
    doc_section(d, p->level, "Scenario");
    doc_fact(d, "Name", r->name);
    doc_fact(d, "Model", r->model);
    doc_fact(d, "Mode", r->mode);
    char seed[32];
    snprintf(seed, sizeof seed, "%" PRIu64, r->seed);
    doc_fact(d, "Seed", seed);
    doc_fact(d, "Trace", r->trace_path);
    doc_fact(d, "Trace SHA-256", r->trace_sha256);
    doc_fact(d, "Request log", r->request_log);
    run_facts_rows(p);
    doc_fact(d, "Tokenizer", r->tokenizer);
    json_t *mine = r->effective_json ? json_loads(r->effective_json, 0, NULL) : NULL;
    json_t *usual = default_configuration(r->model);
    if (json_is_object(mine) && json_is_object(usual)) put_differences(d, "", mine, usual, &rows);
    json_decref(mine);
    json_decref(usual);
    if (r->scenario_yaml && *r->scenario_yaml) {
        doc_fold(d, "The scenario as it was given");
        doc_code(d, r->scenario_yaml);
        doc_fold_end(d);
    } else {
        doc_text(d, DOC_PLAIN, "The built-in scenario.");
    }
}

void run_doc_measures(const struct run_part *p) {
    struct doc *d = p->doc;
    if (p->run->results.count == 0) return;
    doc_section(d, p->level, "All metrics");
    doc_fold(d, "By their names in the manual and the database");
    run_doc_list(d, RUN_MEASURES, p->run);
    doc_fold_end(d);
}
