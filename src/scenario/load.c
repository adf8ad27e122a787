#include "scenario/load.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/utf8.h"
#include "scenario/loading.h"

enum { TEXT_MAX = 1 << 20 };

/* Finds what no text has; false when it was found (reported). */
static bool text_usable(struct loading *l, const char *text, size_t len) {
    struct place place = l->source;

    for (const char *p = text, *end = text + len; p < end;) {
        unsigned char c = (unsigned char)*p;
        int32_t ch = utf8_next(&p);
        bool control = (c < 0x20 || c == 0x7f) && c != '\n' && c != '\r' && c != '\t';
        if (ch < 0 || control) {
            problem_add(l, place, "", "byte 0x%02x is %s; a scenario is a text in UTF-8", c,
                        control ? "a control character" : "not UTF-8");
            return false;
        }
        place.column++;
        if (c == '\n') {
            place.line++;
            place.column = 1;
        }
    }
    return true;
}

static void yaml_problem(void *arg, size_t line, size_t column, const char *text) {
    struct loading *l = arg;
    struct place place = l->source;
    place.line = line;
    place.column = column;
    problem_add(l, place, "", "%s", text);
}

/* The whole file; false when it cannot be read or is too long (reported). */
static bool file_read(struct loading *l, const char *path, struct buf *out) {
    char chunk[16384];
    bool standard = !strcmp(path, "-");
    int fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = 0;

    if (fd >= 0) {
        while (out->len <= TEXT_MAX) {
            got = read(fd, chunk, sizeof(chunk));
            if (got < 0 && errno == EINTR) continue;
            if (got <= 0) break;
            buf_bytes(out, chunk, (size_t)got);
        }
    }
    int problem = fd < 0 || got < 0 ? errno : 0;
    if (fd >= 0 && !standard) (void)close(fd);
    if (problem)
        problem_add(l, l->source, "", "cannot be read: %s", strerror(problem));
    else if (out->len > TEXT_MAX)
        problem_add(l, l->source, "", "longer than %d KiB; this is no scenario", TEXT_MAX / 1024);
    return !problem && out->len <= TEXT_MAX;
}

/* False when there is nothing that could be checked further. */
static bool text_load(struct loading *l, const char *text, size_t len) {
    size_t before = l->problem_count;

    if (!text_usable(l, text, len)) return false;
    struct node *root = node_parse(text, len, yaml_problem, l);
    if (root && !node_is_null(root)) {
        mapping_store(l, "", root);
    } else if (l->problem_count == before) {
        problem_add(l, l->source, "", "the file is empty; it needs at least a model and a tier");
    }
    bool usable = root && root->kind == NODE_MAPPING;
    node_free(root);
    return usable;
}

static void setting_load(struct loading *l, const struct scenario_setting *setting, size_t order) {
    size_t before = l->problem_count;

    l->source = (struct place){.origin = setting->origin ? setting->origin : "--set",
                               .setting = setting->key,
                               .order = order,
                               .line = 1,
                               .column = 1};
    if (!text_usable(l, setting->key, strlen(setting->key)) ||
        !text_usable(l, setting->value, strlen(setting->value)))
        return;
    struct node *value = node_parse(setting->value, strlen(setting->value), yaml_problem, l);
    if (!value && l->problem_count == before) value = node_scalar("");
    if (value) {
        struct node *key = node_scalar(setting->key);
        pair_store(l, setting->key, key, value);
        node_free(key);
    }
    node_free(value);
}

static const char *file_name(const char *path, const char *builtin) {
    if (!path) return builtin ? "quickstart" : "scenario";
    return strcmp(path, "-") ? path : "stdin";
}

int scenario_load(const char *path, const char *builtin, const struct scenario_setting *settings,
                  size_t count, struct scenario *s, char **yaml, struct scenario_report *report) {
    struct scenario *defaults = mem_zalloc(1, sizeof(*defaults));
    struct buf text = {0};
    struct loading l = {.s = s, .defaults = defaults, .file = file_name(path, builtin)};
    bool usable = true;

    memset(report, 0, sizeof(*report));
    if (yaml) *yaml = NULL;
    scenario_default(defaults);
    memcpy(s, defaults, sizeof(*s));
    scenario_begin(&l);
    l.source = (struct place){.line = 1, .column = 1};
    if (path)
        usable = file_read(&l, path, &text);
    else if (builtin)
        buf_add(&text, builtin);
    if (usable && (path || builtin)) usable = text_load(&l, buf_text(&text), text.len);
    for (size_t i = 0; i < count; i++) setting_load(&l, &settings[i], i + 1);
    scenario_finish(&l);
    if (usable) scenario_check(&l);
    problems_report(&l, report);
    if (!report->error_count) {
        scenario_list_unused(&l, report);
        if (yaml) *yaml = mem_strdup(buf_text(&text));
    }
    buf_free(&text);
    free(defaults);
    return report->error_count ? -KVF_ERR_USAGE : 0;
}

void scenario_report_free(struct scenario_report *r) {
    if (!r) return;
    buf_free(&r->errors);
    r->error_count = r->unused_count = 0;
}
