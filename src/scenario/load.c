#include "scenario/load.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/incoming.h"
#include "base/url.h"
#include "base/utf8.h"
#include "scenario/loading.h"

/* Included files are numbered from 1 on, in front of the scenario's own. */
enum { TEXT_MAX = 1 << 20, ORDER_OWN = LOADING_INCLUDES_MAX + 1 };

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

/* Standard input may be a keyboard: it is waited for as long as it takes. */
static long standard_read(char *chunk, size_t len) {
    ssize_t got;
    do got = read(STDIN_FILENO, chunk, len);
    while (got < 0 && errno == EINTR);
    return got < 0 ? -errno : got;
}

/* Some editors put a byte-order mark in front of UTF-8. */
static void mark_remove(struct buf *text) {
    static const char mark[] = "\xef\xbb\xbf";
    size_t len = sizeof mark - 1;
    if (text->len < len || memcmp(text->data, mark, len) != 0) return;
    memmove(text->data, text->data + len, text->len - len + 1); /* with the NUL */
    text->len -= len;
}

/* The whole file; false when it cannot be read or is too long (reported). */
static bool file_read(struct loading *l, const char *path, struct buf *out) {
    char chunk[16384];
    bool standard = strcmp(path, "-") == 0;
    int fd = standard ? STDIN_FILENO : incoming_open(path);
    long got = fd < 0 ? fd : 1;

    while (got > 0 && out->len <= TEXT_MAX) {
        got =
            standard ? standard_read(chunk, sizeof chunk) : incoming_read(fd, chunk, sizeof chunk, out->len);
        if (got > 0) buf_bytes(out, chunk, (size_t)got);
    }
    if (fd >= 0 && !standard) (void)close(fd);
    if (got < 0)
        problem_add(l, l->source, "", "cannot be read: %s", incoming_error(got));
    else if (out->len > TEXT_MAX)
        problem_add(l, l->source, "", "longer than %d KiB; this is no scenario", TEXT_MAX / 1024);
    mark_remove(out);
    return got >= 0 && out->len <= TEXT_MAX;
}

/* The text as a tree; NULL when there is none (reported, `empty` for one without anything in it). */
static struct node *text_parse(struct loading *l, const char *text, size_t len, const char *empty) {
    size_t before = l->problem_count;

    if (!text_usable(l, text, len)) return NULL;
    struct node *root = node_parse(text, len, yaml_problem, l);
    if (root && !node_is_null(root)) return root;
    if (l->problem_count == before) problem_add(l, l->source, "", "%s", empty);
    node_free(root);
    return NULL;
}

static const struct node *include_of(const struct node *root) {
    for (size_t i = 0; root && root->kind == NODE_MAPPING && i + 1 < root->count; i += 2)
        if (root->items[i]->kind == NODE_SCALAR && strcmp(root->items[i]->text, "include") == 0)
            return root->items[i + 1];
    return NULL;
}

/* The keys of a file, under all that is read later. What is asked for in `by` is reported there. */
static void include_load(struct loading *l, struct place by, const char *path) {
    struct place source = l->source;
    struct buf text = {0};
    const struct node *nested;

    if (l->included_count == LOADING_INCLUDES_MAX) {
        problem_add(l, by, "include", "more than %d files to include", LOADING_INCLUDES_MAX);
        return;
    }
    char *name = l->included[l->included_count++] = mem_strdup(path);
    l->source = (struct place){.file = name, .order = l->included_count, .line = 1, .column = 1};
    struct node *root = NULL;
    if (file_read(l, name, &text))
        root = text_parse(l, buf_text(&text), text.len, "the file is empty; it has nothing to include");
    if ((nested = include_of(root)) && !node_is_null(nested))
        problem_at(l, nested, "include", "an included file cannot include another");
    else if (root)
        mapping_store(l, "", root);
    node_free(root);
    buf_free(&text);
    l->source = source;
}

/* The file that the key names: relative to the directory of the scenario's own. */
static void include_key(struct loading *l, const char *path, const struct node *n) {
    const char *slash = path && strcmp(path, "-") != 0 ? strrchr(path, '/') : NULL;
    char what[64];

    if (!n || n->broken || node_is_null(n)) return;
    if (n->kind != NODE_SCALAR || !n->len || n->len != strlen(n->text)) {
        problem_at(l, n, "include", "must be a path, not %s", node_describe(n, what, sizeof what));
        return;
    }
    struct buf whole = {0};
    if (strcmp(n->text, "-") == 0)
        buf_add(&whole, "./"); /* a file of that name: standard input is --include's */
    if (slash && n->text[0] != '/') buf_bytes(&whole, path, (size_t)(slash - path) + 1);
    buf_add(&whole, n->text);
    include_load(l, place_of(l, n), buf_text(&whole));
    buf_free(&whole);
}

/* Applies the settings on top of the file. */
static void include_settings(struct loading *l, const struct scenario_setting *settings, size_t count) {
    for (size_t i = 0; i < count; i++) {
        struct place by = {.origin = settings[i].origin, .setting = settings[i].value, .order = i + 1};
        if (!settings[i].key) include_load(l, by, settings[i].value);
    }
}

/* False when there is nothing that could be checked further. */
static bool text_load(struct loading *l, const char *path, const char *text, size_t len,
                      const struct scenario_setting *settings, size_t count) {
    struct node *root = text_parse(l, text, len, "the file is empty; it needs at least a model and a tier");

    include_key(l, path, include_of(root));
    include_settings(l, settings, count);
    if (root) mapping_store(l, "", root);
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
        mapping_pair_store(l, setting->key, key, value);
        node_free(key);
    }
    node_free(value);
}

static const char *file_name(const char *path, const char *builtin) {
    if (!path) return builtin ? "quickstart" : "scenario";
    return strcmp(path, "-") != 0 ? path : "stdin";
}

/* A scenario without a name has its file's: "mine" of dir/mine.yaml. A descriptor has none to give. */
static void name_of_file(struct scenario *s, const char *path) {
    if (strcmp(path, "-") == 0 || strncmp(path, "/dev/", 5) == 0 || strncmp(path, "/proc/", 6) == 0) return;
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path, *dot = strrchr(base, '.');
    size_t len = dot && dot > base ? (size_t)(dot - base) : strlen(base);
    if (!len) return;
    snprintf(s->name, sizeof s->name, "%.*s", (int)len, base);
    utf8_clean(s->name, 0);
}

int scenario_load(const char *path, const char *builtin, const struct scenario_setting *settings,
                  size_t count, struct scenario *s, char **yaml, struct scenario_report *report) {
    struct scenario *defaults = mem_zalloc(1, sizeof *defaults);
    struct buf text = {0};
    struct loading l = {.s = s, .defaults = defaults, .file = file_name(path, builtin)};
    bool usable = true;

    memset(report, 0, sizeof *report);
    if (yaml) *yaml = NULL;
    scenario_default(defaults);
    memcpy(s, defaults, sizeof *s);
    scenario_begin(&l);
    l.source = (struct place){.order = ORDER_OWN, .line = 1, .column = 1};
    if (builtin)
        buf_add(&text, builtin);
    else if (path)
        usable = file_read(&l, path, &text);
    if (usable && (path || builtin))
        usable = text_load(&l, path, buf_text(&text), text.len, settings, count);
    else
        include_settings(&l, settings, count);
    for (size_t i = 0; i < count; i++)
        if (settings[i].key) setting_load(&l, &settings[i], ORDER_OWN + i + 1);
    if (path && !place_given(&l, "name")) name_of_file(s, path);
    scenario_finish(&l);
    if (usable) scenario_check(&l);
    problems_report(&l, report);
    if (!report->error_count) {
        for (size_t i = 0; i < key_count; i++) {
            report->given[i].own = l.given[i] && !l.place[i].file;
            report->given[i].origin = l.place[i].origin;
        }
        scenario_unused_list(report, s);
        if (yaml) *yaml = mem_strdup(buf_text(&text));
        if (yaml) url_mask(*yaml);
    }
    while (l.included_count) free(l.included[--l.included_count]);
    buf_free(&text);
    free(defaults);
    return report->error_count ? -KVF_ERR_USAGE : 0;
}

void scenario_load_free(struct scenario_report *r) {
    if (!r) return;
    buf_free(&r->errors);
    r->error_count = r->unused_count = 0;
}
