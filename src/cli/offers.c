#include "cli/offers.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/moment.h"
#include "base/utf8.h"
#include "cli/commands.h"
#include "compare/comparison.h"
#include "draw/style.h"
#include "model/model.h"
#include "scenario/keys.h"
#include "store/store.h"
#include "study/option_tables.h"
#include "study/suite/suite.h"
#include "ui/ui.h"

/* A word that begins with a colon would be taken for an instruction; one that had to be cleaned would name
 * nothing. */
static bool presentable(const char *word) {
    return *word && *word != ':' && utf8_is_plain(word);
}

void offers_word(struct offers *o, const char *word, const char *phrase) {
    if (strncmp(word, o->begun, strlen(o->begun)) != 0 || !presentable(word)) return;
    buf_addf(o->out, "%s%s\t", o->before, word);
    size_t len = strlen(phrase);
    if (len > 0 && phrase[len - 1] == ':') len--; /* of what is followed by a list in the help */
    size_t from = o->out->len;
    buf_bytes(o->out, phrase, len);
    o->out->len = from + utf8_clean(o->out->data + from, 0);
    buf_add(o->out, "\n");
    o->count++;
}

/* Says that the shell should offer files with one of the endings ("yaml yml"; "": all), or directories. */
static void offers_files(struct offers *o, const char *endings) {
    buf_addf(o->out, ":files%s%s\n", *endings ? " " : "", endings);
    o->count++;
}

static void offers_directories(struct offers *o) {
    buf_add(o->out, ":directories\n");
    o->count++;
}

/* Says that words are to be typed on, with no space behind them. */
static void offers_open(struct offers *o) {
    buf_add(o->out, ":open\n");
}

/* ---- words of the program ---- */

static void any_file(struct offers *o) {
    offers_files(o, "");
}

static void scenario_files(struct offers *o) {
    offers_files(o, "yaml yml");
}

static void databases(struct offers *o) {
    offers_files(o, "db");
}

static void commands(struct offers *o) {
    for (size_t i = 0; i < command_count(); i++) offers_word(o, command_at(i)->name, command_at(i)->help);
}

static void help_topics(struct offers *o) {
    commands(o);
    offers_word(o, "keys", "the keys of the screen");
}

static void models(struct offers *o) {
    for (size_t i = 0; i < model_preset_count; i++)
        offers_word(o, model_presets[i].model.preset, model_presets[i].note);
}

static void tests(struct offers *o) {
    for (size_t i = 0; i < suite_test_count; i++)
        offers_word(o, suite_tests[i].name, suite_group_name(suite_tests[i].group));
}

static void groups(struct offers *o) {
    for (int g = 0; g < SUITE_GROUPS; g++) offers_word(o, suite_group_name(g), suite_group_what(g));
}

/* TEST=TIME: the first half of it. */
static void test_times(struct offers *o) {
    if (strchr(o->begun, '=')) return;
    offers_open(o);
    for (size_t i = 0; i < suite_test_count; i++) {
        char word[96];
        snprintf(word, sizeof word, "%s=", suite_tests[i].name);
        offers_word(o, word, suite_group_name(suite_tests[i].group));
    }
}

static void themes(struct offers *o) {
    for (int s = 0; s < SCHEMES; s++) offers_word(o, scheme_name(s), "");
}

static void views(struct offers *o) {
    char names[256], *rest = ui_view_names(names, sizeof names);
    for (char *name = strtok_r(names, ", ", &rest); name; name = strtok_r(NULL, ", ", &rest))
        offers_word(o, name, "");
}

static void statuses(struct offers *o) {
    for (int s = 0; s < RUN_STATUSES; s++) offers_word(o, run_status_name(s), "");
}

static void modes(struct offers *o) {
    offers_key(o, "mode");
}

static void columns(struct offers *o) {
    for (size_t i = 0; store_sort_column(i); i++) offers_word(o, store_sort_column(i), "");
}

static void watched_metric(void *ctx, const char *name) {
    const char *better = metric_better_word(metric_better(name));
    char what[40];
    snprintf(what, sizeof what, "better when %s", better);
    if (*better) offers_word(ctx, name, what);
}

/* Metrics with a good side: all that begin like the word, or of an empty word the usual ones. NAME=PERCENT
 * goes on behind them. */
static void watched_metrics(struct offers *o) {
    if (*o->begun) {
        metric_each(NULL, 0, watched_metric, o);
        return;
    }
    for (size_t i = 0; i < metric_usual_count; i++)
        if (!strstr(metric_usual[i].name, "CLASS")) watched_metric(o, metric_usual[i].name);
}

/* ---- words of the history ---- */

enum { RUNS_LOOKED_AT = 200, RUNS_SHOWN = 20, KNOWN_MAX = 256 };
enum run_word { RUN_REFERENCE, RUN_NAME, RUN_MODEL, RUN_HOST, RUN_TAGS };

struct run_words {
    struct offers *o;
    enum run_word what;
    uint64_t seen;
    struct buf ids; /* behind the names */
    uint64_t known[KNOWN_MAX];
    size_t known_count;
};

/* FNV-1a; two names of one hash cost an offer at most. */
static bool first_time(struct run_words *w, const char *word) {
    uint64_t hash = 0xcbf29ce484222325;
    for (const char *p = word; *p; p++) hash = (hash ^ (unsigned char)*p) * 0x100000001b3;
    for (size_t i = 0; i < w->known_count; i++)
        if (w->known[i] == hash) return false;
    if (w->known_count < KNOWN_MAX) w->known[w->known_count++] = hash;
    return true;
}

static void describe(const struct store_row *r, char *out, size_t len) {
    char when[MOMENT_TEXT];
    moment_local_text(r->started_at, when);
    snprintf(out, len, "%s %s %s", r->model, r->status, when);
}

static void offer_reference(struct run_words *w, const struct store_row *r) {
    char word[48], phrase[240], what[160];
    struct offers behind = *w->o;
    behind.out = &w->ids;
    behind.count = 0;
    describe(r, what, sizeof what);
    snprintf(phrase, sizeof phrase, "run %" PRId64 ": %s", r->run_id, what);
    if (w->seen == 0) offers_word(w->o, "latest", phrase);
    if (w->seen > 0 && w->o->begun[0] == 'l') {
        snprintf(word, sizeof word, "latest~%" PRIu64, w->seen);
        offers_word(w->o, word, phrase);
    }
    if (first_time(w, r->name)) offers_word(w->o, r->name, phrase);
    snprintf(word, sizeof word, "%" PRId64, r->run_id);
    snprintf(phrase, sizeof phrase, "%s: %s", r->name, what);
    offers_word(&behind, word, phrase);
    w->o->count += behind.count;
}

static void offer_tags(struct run_words *w, const char *tags) {
    char copy[STORE_TAGS_MAX], *rest = NULL;
    snprintf(copy, sizeof copy, "%s", tags);
    for (char *tag = strtok_r(copy, ",", &rest); tag; tag = strtok_r(NULL, ",", &rest))
        if (first_time(w, tag)) offers_word(w->o, tag, "");
}

static void run_word(void *ctx, const struct store_row *r) {
    struct run_words *w = ctx;
    const char *word = w->what == RUN_NAME ? r->name : w->what == RUN_MODEL ? r->model : r->host;
    if (w->what == RUN_TAGS)
        offer_tags(w, r->tags);
    else if (w->what != RUN_REFERENCE && first_time(w, word))
        offers_word(w->o, word, "");
    /* of nothing begun, what fits a screen */
    else if (w->what == RUN_REFERENCE && (w->seen < RUNS_SHOWN || *w->o->begun))
        offer_reference(w, r);
    w->seen++;
}

/* NULL where there is no history; none is made. */
static struct store *history(const struct offers *o) {
    struct store *store = NULL;
    struct err e = {0};
    char path[1024];
    if (store_path(o->db, path, sizeof path, &e) || access(path, F_OK) != 0) return NULL;
    return store_open(&store, path, STORE_READ, &e) == 0 ? store : NULL;
}

static void history_words(struct offers *o, enum run_word what) {
    struct run_words w = {.o = o, .what = what};
    struct store_filter filter = {.limit = RUNS_LOOKED_AT};
    struct store *store = history(o);
    struct err e = {0};
    if (store) (void)store_list(store, &filter, run_word, &w, &e);
    store_close(store);
    buf_add(o->out, buf_text(&w.ids));
    buf_free(&w.ids);
}

static void runs(struct offers *o) {
    history_words(o, RUN_REFERENCE);
}
static void run_names(struct offers *o) {
    history_words(o, RUN_NAME);
}
static void run_models(struct offers *o) {
    history_words(o, RUN_MODEL);
}
static void run_hosts(struct offers *o) {
    history_words(o, RUN_HOST);
}
static void run_tags(struct offers *o) {
    history_words(o, RUN_TAGS);
}

static void sweep_word(void *ctx, const struct sweep_record *r) {
    char word[48], phrase[200];
    snprintf(word, sizeof word, "sweep:%" PRId64, r->sweep_id);
    snprintf(phrase, sizeof phrase, "%s: %s %s", r->name, r->profile, run_status_name(r->status));
    offers_word(ctx, word, phrase);
}

/* Runs, and what is made of them: a sweep, or a suite by one of its runs. */
static void results(struct offers *o) {
    static const char suite[] = "suite:";
    size_t begun = strlen(o->begun);
    struct err e = {0};
    if (strncmp(o->begun, suite, strlen(suite)) == 0) {
        struct buf before = {0};
        struct offers of_suite = *o;
        buf_addf(&before, "%s%s", o->before, suite);
        of_suite.before = buf_text(&before);
        of_suite.begun = o->begun + strlen(suite);
        runs(&of_suite);
        o->count = of_suite.count;
        buf_free(&before);
        return;
    }
    runs(o);
    struct store *store = history(o);
    if (store) (void)store_list_sweeps(store, RUNS_SHOWN, sweep_word, o, &e);
    store_close(store);
    if (begun > 0 && strncmp(o->begun, suite, begun) == 0) {
        offers_word(o, suite, "all runs of a suite, by one of them");
        offers_open(o);
    }
}

/* ---- kinds of arguments ---- */

/* Rows of one command stand before those of all; what has no row is free text. */
/* Members of lists have no name of their own on a command line. */
static void offers_setting(struct offers *o) {
    const char *equals = strchr(o->begun, '=');
    if (!equals) {
        offers_open(o);
        for (size_t i = 0; i < key_count; i++) {
            struct buf word = {0};
            buf_addf(&word, "%s=", key_table[i].pub.name);
            if (!key_in_list(&key_table[i])) offers_word(o, buf_text(&word), key_table[i].pub.help);
            buf_free(&word);
        }
        return;
    }
    struct buf key = {0}, before = {0};
    struct offers value = *o;
    buf_bytes(&key, o->begun, (size_t)(equals - o->begun));
    buf_addf(&before, "%s%s=", o->before, buf_text(&key));
    value.begun = equals + 1;
    value.before = buf_text(&before);
    offers_key(&value, buf_text(&key));
    o->count = value.count;
    buf_free(&key);
    buf_free(&before);
}

static const struct {
    const char *command; /* NULL: any */
    const char *kind;    /* as usage calls the argument, or the option with its dashes */
    void (*offer)(struct offers *o);
} kinds[] = {
    {"clean", "PATH", offers_directories},
    {"merge", "FILE", databases},
    {"models", "NAME", models},
    {"report", "RUN", results},
    {"export", "RUN", results},
    {"help", "COMMAND", help_topics},
    {"history", "--name", run_names},
    {"history", "--model", run_models},
    {"history", "--host", run_hosts},
    {"compare", "--metric", watched_metrics},
    {NULL, "--db", databases},
    {NULL, "--theme", themes},
    {NULL, "--view", views},
    {NULL, "COLUMN", columns},
    {NULL, "COMMAND", commands},
    {NULL, "DIR", offers_directories},
    {NULL, "FILE", any_file},
    {NULL, "GROUP", groups},
    {NULL, "KEY=VALUE", offers_setting},
    {NULL, "MODE", modes},
    {NULL, "PATH", any_file},
    {NULL, "RUN", runs},
    {NULL, "SCENARIO", scenario_files},
    {NULL, "STATUS", statuses},
    {NULL, "TAG", run_tags},
    {NULL, "TEST", tests},
    {NULL, "TEST=TIME", test_times},
};

static bool one_kind(struct offers *o, const char *kind, size_t len) {
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (kinds[i].command && (!o->command || strcmp(kinds[i].command, o->command) != 0)) continue;
        if (strlen(kinds[i].kind) != len || strncmp(kinds[i].kind, kind, len) != 0) continue;
        kinds[i].offer(o);
        return true;
    }
    return false;
}

void offers_kind(struct offers *o, const char *kind, size_t len) {
    if (one_kind(o, kind, len)) return;
    const char *bar = memchr(kind, '|', len);
    if (!bar) return;
    offers_kind(o, kind, (size_t)(bar - kind));
    offers_kind(o, bar + 1, len - (size_t)(bar - kind) - 1);
}

void offers_choices(struct offers *o, const struct option_spec *spec) {
    struct buf lines = {0};
    option_choices(spec, &lines);
    for (char *rest = lines.data, *word; (word = strsep(&rest, "\n")) != NULL;) {
        char *colon = strstr(word, ": ");
        if (!colon) continue;
        *colon = '\0';
        offers_word(o, word, colon + 2);
    }
    buf_free(&lines);
}

/* ---- scenario keys ---- */

static void choices(struct offers *o, const struct key *k) {
    char word[64];
    bool all = k->here[0] == '*' || k->here[0] == '!';
    for (int i = 0; key_word(k->pub.range, i, word, sizeof word); i++) {
        bool here = all ? strcmp(k->here + 1, word) != 0 : key_word_index(k->here, word) >= 0;
        if (here || strcmp(word, k->pub.fallback) == 0) offers_word(o, word, "");
    }
}

void offers_key(struct offers *o, const char *key) {
    int index = key_index(key);
    if (index < 0) return;
    const struct key *k = &key_table[index];
    switch (k->kind) {
    case KEY_BOOLEAN:
        offers_word(o, "true", "");
        offers_word(o, "false", "");
        break;
    case KEY_CHOICE:
        choices(o, k);
        break;
    case KEY_MODEL:
    case KEY_PRESET:
        models(o);
        break;
    case KEY_PATH:
    case KEY_PATHS:
    case KEY_INCLUDE:
        any_file(o);
        break;
    default:
        break;
    }
}
