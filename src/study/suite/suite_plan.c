#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/units.h"
#include "draw/format.h"
#include "draw/number.h"
#include "study/suite/suite.h"

enum { NAME = 21 };

static struct format_cell span(double s) {
    struct format_cell c;
    units_clock((uint64_t)(s * 1e9), c.text, sizeof c.text);
    return c;
}

static void put_machine(const struct suite *s, struct format_page *p) {
    const struct host *h = &s->host;
    format_label(p, FORMAT_HEADING, "Machine");
    format_item(p, "%s, %u CPUs", h->name[0] ? h->name : "this one", h->cpus_usable);
    if (h->memory_bytes && h->memory_available_bytes)
        format_item(p, "%s of memory, %s of it available", format_bytes((double)h->memory_bytes).text,
                    format_bytes((double)h->memory_available_bytes).text);
    else
        format_item(p, "memory unknown: mount /proc");
    format_end(p);
    bool gpu = false, emulated = false;
    for (size_t i = 0; i < s->entries; i++) {
        const struct scenario *sc = &s->entry[i].scenario;
        gpu = gpu || sc->tier[KVF_TIER_GPU].on;
        emulated =
            emulated || (sc->tier[KVF_TIER_GPU].on && sc->tier[KVF_TIER_GPU].backend != KVF_BACKEND_CUDA);
    }
    if (!gpu) return;
    format_label(p, FORMAT_HEADING, "GPU");
    char text[400];
    snprintf(text, sizeof text, "%s%s%s", h->gpu[0] ? "" : "none: ", h->gpu[0] ? h->gpu : h->gpu_reason,
             emulated ? "; the gpu tier is emulated: its figures are a model's" : "");
    format_words(p, text);
    format_end(p);
}

static void put_drive(const struct suite *s, struct format_page *p) {
    char text[900];
    const struct blockdev *b = &s->drive.device;
    format_label(p, FORMAT_HEADING, "Drive");
    if (s->drive_known)
        snprintf(text, sizeof text, "%s%s%s, %s, %s I/O,", b->name, b->model[0] ? " " : "", b->model,
                 b->fs_type, b->direct == BLOCKDEV_DIRECT_YES ? "direct" : "buffered");
    else
        snprintf(text, sizeof text, "no block device: %s,", b->absent_why[0] ? b->absent_why : "unknown");
    format_words(p, text);
    snprintf(text, sizeof text, "%s free; %s. Files go under %s and are removed.",
             format_bytes(s->disk_free == KVF_UNSET ? KVF_MISSING : (double)s->disk_free).text, s->dir_why,
             s->dir);
    format_words(p, text);
    format_end(p);
}

/* The settings that the command line changes in the tests. */
static void put_settings(const struct suite *s, struct format_page *p) {
    const struct options *o = s->options;
    bool any = false;
    for (size_t i = 0; i < o->settings; i++) {
        if (!s->effective[i]) continue;
        if (!any) format_label(p, FORMAT_HEADING, "Settings");
        any = true;
        char text[200], shown[240];
        unsigned room = p->columns - FORMAT_LABEL;
        const char *key = o->setting[i].key;
        snprintf(text, sizeof text, "%.60s%s%s", key ? key : "--include", key ? "=" : " ",
                 o->setting[i].value);
        format_item(
            p, "%s",
            format_width(text) <= room ? text : format_fit(text, room, p->style->ascii, shown, sizeof shown));
    }
    if (any) format_end(p);
}

bool suite_same_model(const struct suite *s) {
    for (size_t i = 1; i < s->entries; i++)
        if (strcmp(s->entry[i].scenario.model.preset, s->entry[0].scenario.model.preset) != 0) return false;
    return true;
}

/* A tier's capacity in five columns. */
static const char *capacity(const struct scenario *sc, enum kvf_tier t, char *out) {
    if (!sc->tier[t].on) return "--";
    uint64_t bytes = scenario_capacity_bytes(sc, t);
    return bytes == KVF_AUTO ? "auto" : number_short((double)bytes, out); /* auto: it could not be sized */
}

static void put_test(const struct suite_entry *e, bool model, struct format_page *p) {
    const struct scenario *sc = &e->scenario;
    char gpu[NUMBER], cpu[NUMBER], nvme[NUMBER], users[48], time[64], name[64] = "";
    uint64_t now = sc->workload.users, before = e->users_before;

    snprintf(users, sizeof users, now >= before ? "%" PRIu64 "" : "%" PRIu64 "/%" PRIu64, now, before);
    snprintf(time, sizeof time, e->trials > 1 ? "%u x %s" : "%.0u%s", e->trials > 1 ? e->trials : 0,
             span(suite_entry_s(e) / e->trials).text);
    if (model) snprintf(name, sizeof name, "%-*.*s ", NAME, NAME, sc->model.preset);
    format_line(p, e->refused[0] ? FORMAT_WARN : FORMAT_PLAIN, "%-*s %s%7s %5s %5s %5s %9s", NAME,
                e->test->name, name, users, capacity(sc, KVF_TIER_GPU, gpu), capacity(sc, KVF_TIER_CPU, cpu),
                capacity(sc, KVF_TIER_NVME, nvme), e->refused[0] ? "not run" : time);
}

static void put_tests(const struct suite *s, struct format_page *p) {
    bool model = !suite_same_model(s);
    char name[NAME + 2] = "";
    if (model) snprintf(name, sizeof name, "%-*s ", NAME, "model");
    format_line(p, FORMAT_HEADING, "%-*s %s%7s %5s %5s %5s %9s", NAME, "Test", name, "users", "gpu", "cpu",
                "nvme", "time");
    for (size_t i = 0; i < s->entries; i++) put_test(&s->entry[i], model, p);
}

static void put_notes(const struct suite *s, struct format_page *p) {
    const struct suite_entry *scaled = NULL;
    bool any = false;
    for (size_t i = 0; i < s->entries; i++) {
        const struct suite_entry *e = &s->entry[i];
        if (!scaled && e->scenario.workload.users < e->users_before) scaled = e;
        if (!e->refused[0]) continue;
        if (!any) format_end(p);
        any = true;
        format_label(p, FORMAT_WARN, "Not run");
        format_item(p, "%s:", e->test->name);
        format_words(p, e->refused);
        format_end(p);
    }
    if (!scaled || s->users_given) return;
    if (!any) format_end(p);
    format_label(p, FORMAT_HEADING, "Users");
    char text[200];
    uint64_t now = scaled->scenario.workload.users, before = scaled->users_before;
    snprintf(text, sizeof text,
             "%" PRIu64 "/%" PRIu64 ": %" PRIu64 " in place of the scenario's %" PRIu64
             ", because the tiers hold the conversations of so "
             "many",
             now, before, now, before);
    format_words(p, text);
    format_end(p);
}

void suite_plan_text(const struct suite *s, const struct format_style *style, struct buf *out) {
    struct format_page p;
    size_t runs = 0;
    format_page_init(&p, style, out);
    put_machine(s, &p);
    put_drive(s, &p);
    for (size_t i = 0; i < s->entries; i++) runs += s->entry[i].refused[0] ? 0 : s->entry[i].trials;
    format_label(&p, FORMAT_HEADING, "Plan");
    bool simulated = s->entries && s->entry[0].scenario.mode == KVF_MODE_SIMULATE;
    char all[64] = "";
    if (!simulated)
        snprintf(all, sizeof all, ", about %s in all", span(suite_ahead_s(s, 0, SUITE_AROUND_S)).text);
    format_item(&p, "%zu test%s, %zu run%s: %s of %s at most%s", s->entries, s->entries == 1 ? "" : "s", runs,
                runs == 1 ? "" : "s", span(suite_ahead_s(s, 0, 0)).text,
                simulated ? "simulated time" : "measuring", all);
    if (s->entries && suite_same_model(s)) format_item(&p, "model %s", s->entry[0].scenario.model.preset);
    format_end(&p);
    put_settings(s, &p);
    format_end(&p);
    put_tests(s, &p);
    put_notes(s, &p);
}
