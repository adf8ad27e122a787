#include "study/preferences.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/incoming.h"
#include "base/nearest.h"
#include "base/output_file.h"
#include "scenario/node.h"
#include "study/option_tables.h"

enum { FILE_MAX = 64 << 10, NAME_MAX_LEN = 64 };
static const char section[] = "run";
static const char *const run_options[PREFERENCES_RUN] = {"include", "metrics", "fit", "keep-going", "quiet"};

static const struct option_spec *run_option(int i) {
    const char *name = run_options[i - SETTINGS];
    return option_find(option_command_find(section), name, strlen(name));
}

const char *preference_name(int i, char *out, size_t len) {
    if (i < SETTINGS)
        snprintf(out, len, "%s", setting_name((enum setting)i));
    else
        snprintf(out, len, "%s.%s", section, run_options[i - SETTINGS]);
    return out;
}

const char *preference_help(int i) {
    return i < SETTINGS ? setting_help((enum setting)i) : run_option(i)->help;
}

static void find_path(char *out, size_t len) {
    const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    int n = 0;
    if (config && config[0] == '/') /* a relative one is to be ignored, says its specification */
        n = snprintf(out, len, "%s/kvfall/config", config);
    else if (home && *home)
        n = snprintf(out, len, "%s/.config/kvfall/config", home);
    if (n <= 0 || (size_t)n >= len) out[0] = '\0';
}

/* ---- reading ---- */

struct reading {
    struct preferences *p;
    struct err *e;
};

static void problem(void *arg, size_t line, size_t column, const char *text) {
    struct reading *r = arg;
    if (!err_is(r->e)) err_set(r->e, KVF_ERR_USAGE, "%s:%zu:%zu: %s", r->p->path, line, column, text);
}

static void __attribute__((format(printf, 3, 4)))
refuse(struct reading *r, const struct node *n, const char *fmt, ...) {
    char text[600];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    problem(r, n->line, n->column, text);
}

/* Missing is no error: then the text stays empty. */
static int read_text(const char *path, struct buf *out, struct err *e) {
    char chunk[4096];
    int fd = incoming_open(path);
    long got = fd;
    if (fd == -ENOENT || fd == -ENOTDIR) return 0;
    while (fd >= 0 && (got = incoming_read(fd, chunk, sizeof chunk, out->len)) > 0 && out->len <= FILE_MAX)
        buf_bytes(out, chunk, (size_t)got);
    if (fd >= 0) close(fd);
    if (got < 0) return err_set(e, KVF_ERR_USAGE, "%s cannot be read: %s", path, incoming_error(got));
    if (out->len > FILE_MAX)
        return err_set(e, KVF_ERR_USAGE, "%s is longer than %d KiB; these are no settings", path,
                       FILE_MAX / 1024);
    return 0;
}

/* A scalar, or the scalars of a list with commas between. */
static bool value_text(struct reading *r, const struct node *n, struct buf *out) {
    for (size_t i = 0; n->kind == NODE_LIST && i < n->count; i++) {
        if (n->items[i]->kind != NODE_SCALAR) {
            refuse(r, n->items[i], "must be a word, not a list or a mapping");
            return false;
        }
        buf_addf(out, "%s%s", i ? "," : "", n->items[i]->text);
    }
    if (n->kind == NODE_SCALAR) buf_add(out, n->text); /* up to a NUL, which no value has */
    if (n->kind == NODE_MAPPING) refuse(r, n, "must be a value, not keys of its own");
    return n->kind != NODE_MAPPING;
}

static void unknown_key(struct reading *r, const struct node *key, const char *name) {
    struct nearest near = nearest_start(name);
    char known[PREFERENCES][NAME_MAX_LEN], quoted[80];
    for (int i = 0; i < PREFERENCES; i++) nearest_offer(&near, preference_name(i, known[i], sizeof known[i]));
    node_quote(name, quoted, sizeof quoted);
    if (near.best)
        refuse(r, key, "there is no key %s; did you mean \"%s\"?", quoted, near.best);
    else
        refuse(r, key, "there is no key %s; `kvfall config` lists them", quoted);
}

static void take_screen(struct reading *r, int i, const struct node *n, const char *text) {
    char refusal[300];
    if (!setting_set(&r->p->screen, (enum setting)i, text))
        refuse(r, n, "%s", setting_refusal((enum setting)i, text, refusal, sizeof refusal));
}

/* A path is of this machine, not of the folder that somebody happens to be in. */
static void take_path(struct reading *r, const struct option_spec *o, int i, const struct node *n,
                      const char *text) {
    const char *home = getenv("HOME");
    struct buf argument = {0};
    bool short_home = strncmp(text, "~/", 2) == 0 && home && *home;
    if (!short_home && text[0] != '/') {
        refuse(r, n, "%s.%s is a path that begins with / or ~/", section, o->name);
        return;
    }
    buf_addf(&argument, "--%s=%s%s", o->name, short_home ? home : "", text + (short_home ? 1 : 0));
    r->p->argument[i - SETTINGS] = argument.data;
}

static void take_run(struct reading *r, int i, const struct node *n, const char *text) {
    const struct option_spec *o = run_option(i);
    struct buf argument = {0};
    if (o->use == OPTION_INCLUDE) {
        take_path(r, o, i, n, text);
    } else if (o->use == OPTION_FLAG) {
        bool on = strcmp(text, "true") == 0;
        if (!on && strcmp(text, "false") != 0)
            refuse(r, n, "%s.%s is true or false", section, o->name);
        else if (on)
            buf_addf(&argument, "--%s", o->name);
        r->p->argument[i - SETTINGS] = argument.data;
    } else {
        buf_addf(&argument, "--%s=%s", o->name, text);
        r->p->argument[i - SETTINGS] = argument.data;
    }
}

static void take(struct reading *r, const char *prefix, const struct node *key, const struct node *value) {
    char name[2 * NAME_MAX_LEN], known[NAME_MAX_LEN];
    struct buf text = {0};
    int i = 0;
    if (key->kind != NODE_SCALAR || value->broken) {
        if (key->kind != NODE_SCALAR) refuse(r, key, "a key is a word");
        return;
    }
    snprintf(name, sizeof name, "%s%s%s", prefix, *prefix ? "." : "", key->text);
    while (i < PREFERENCES && strcmp(preference_name(i, known, sizeof known), name) != 0) i++;
    if (i == PREFERENCES) {
        unknown_key(r, key, name);
    } else if (r->p->given[i].value) {
        refuse(r, key, "%s is set twice, here and in line %zu", name, r->p->given[i].line);
    } else if (!node_is_null(value) && value_text(r, value, &text)) {
        r->p->given[i].value = mem_strdup(buf_text(&text));
        r->p->given[i].line = key->line;
        (i < SETTINGS ? take_screen : take_run)(r, i, value, r->p->given[i].value);
    }
    buf_free(&text);
}

static void take_all(struct reading *r, const char *prefix, const struct node *root) {
    if (root->kind != NODE_MAPPING) {
        refuse(r, root, "must be keys and values, such as \"theme: light\"");
        return;
    }
    for (size_t i = 0; i + 1 < root->count; i += 2) {
        const struct node *key = root->items[i], *value = root->items[i + 1];
        bool runs = !*prefix && key->kind == NODE_SCALAR && strcmp(key->text, section) == 0;
        if (!runs)
            take(r, prefix, key, value);
        else if (!node_is_null(value))
            take_all(r, section, value);
    }
}

/* Takes a text in; nothing in it is no error. */
static int parse(struct preferences *p, const struct buf *text, struct err *e) {
    struct reading r = {p, e};
    struct node *root = node_parse(buf_text(text), text->len, problem, &r);
    if (root && !node_is_null(root)) take_all(&r, "", root);
    node_free(root);
    return err_is(e) ? -KVF_ERR_USAGE : 0;
}

int preferences_load(struct preferences *p, struct err *e) {
    struct buf text = {0};
    *p = (struct preferences){.screen = settings_default()};
    find_path(p->path, sizeof p->path);
    int rc = p->path[0] ? read_text(p->path, &text, e) : 0;
    if (rc == 0) rc = parse(p, &text, e);
    buf_free(&text);
    return rc;
}

void preferences_free(struct preferences *p) {
    for (int i = 0; i < PREFERENCES; i++) free(p->given[i].value);
    for (int i = 0; i < PREFERENCES_RUN; i++) free(p->argument[i]);
    *p = (struct preferences){.path = ""};
}

char **preferences_arguments(const struct preferences *p, int *argc, char **argv) {
    char **all = mem_zalloc((size_t)*argc + PREFERENCES_RUN + 1, sizeof *all);
    int count = 0;
    all[count++] = argv[0];
    for (int i = 0; i < PREFERENCES_RUN; i++)
        if (p->argument[i]) all[count++] = p->argument[i];
    for (int i = 1; i < *argc; i++) all[count++] = argv[i];
    *argc = count;
    return all;
}

/* ---- writing ---- */

/* A line of a key at the left edge: the setting that it is of, or SETTINGS. */
static enum setting line_key(const char *line, size_t len) {
    char name[NAME_MAX_LEN];
    const char *colon = memchr(line, ':', len);
    if (!colon || (size_t)(colon - line) >= sizeof name) return SETTINGS;
    snprintf(name, sizeof name, "%.*s", (int)(colon - line), line);
    return setting_find(name);
}

static void add_setting(struct buf *out, const struct settings *now, enum setting id) {
    char value[200];
    if (setting_text(now, id, value, sizeof value)[0]) buf_addf(out, "%s: \"%s\"\n", setting_name(id), value);
}

/* The text with the lines of settings replaced, and those that differ from the default added. */
static void rewrite(const char *text, const struct settings *now, struct buf *out) {
    const struct settings usual = settings_default();
    bool written[SETTINGS] = {false}, dropping = false;
    for (size_t len; *text; text += len) {
        len = strcspn(text, "\n");
        enum setting id = line_key(text, len);
        if (text[len] == '\n') len++;
        bool goes_on = text[0] == ' ' || text[0] == '-' || text[0] == ']';
        dropping = id < SETTINGS || (dropping && goes_on); /* a value over several lines goes as a whole */
        if (id < SETTINGS) {
            add_setting(out, now, id);
            written[id] = true;
        }
        if (!dropping) buf_bytes(out, text, len);
    }
    if (out->len && out->data[out->len - 1] != '\n') buf_add(out, "\n");
    for (int i = 0; i < SETTINGS; i++) {
        char is[200], was[200];
        setting_text(now, (enum setting)i, is, sizeof is);
        setting_text(&usual, (enum setting)i, was, sizeof was);
        if (!written[i] && strcmp(is, was) != 0) add_setting(out, now, (enum setting)i);
    }
}

/* The folder of the file, and the one that it is in. */
static void make_folders(const char *path) {
    char folder[4096];
    snprintf(folder, sizeof folder, "%s", path);
    char *slash = strrchr(folder, '/');
    *slash = '\0';
    char *above = strrchr(folder, '/');
    if (above && above > folder) {
        *above = '\0';
        (void)mkdir(folder, 0777); /* writing the file says what is wrong */
        *above = '/';
    }
    (void)mkdir(folder, 0777);
}

int preferences_keep(const struct settings *now, struct buf *path, struct err *e) {
    struct preferences p = {.screen = settings_default()}, after = {.screen = settings_default()};
    struct buf text = {0}, changed = {0};
    find_path(p.path, sizeof p.path);
    int rc = p.path[0] ? read_text(p.path, &text, e)
                       : err_set(e, KVF_ERR_USAGE, "there is no directory for settings: HOME is not set");
    if (rc == 0) rewrite(buf_text(&text), now, &changed);
    snprintf(after.path, sizeof after.path, "%s", p.path);
    if (rc == 0) rc = parse(&after, &changed, e); /* a file that cannot be changed so stays as it is */
    if (rc == 0) make_folders(p.path);
    if (rc == 0) rc = output_file_write(p.path, &changed, e);
    buf_add(path, p.path);
    preferences_free(&after);
    buf_free(&text);
    buf_free(&changed);
    return rc;
}
