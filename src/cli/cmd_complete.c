#include <ctype.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/offers.h"
#include "study/option_tables.h"
#include "study/options.h"
#include "study/output.h"

/* A command line as far as it was typed, without the word that is being typed. */
struct typed {
    const struct command_entry *entry;
    const struct option_command *command;
    const struct option_spec *awaited; /* the next word is its value */
    bool may_count; /* the next word is the value of the option before it if it is a number */
    bool plain;     /* no more options */
    size_t operands;
    const char *db;
};

static bool takes_value(const struct option_spec *spec) {
    return spec && spec->use != OPTION_FLAG && spec->use != OPTION_AUTO_KEY;
}

static void typed_value(struct typed *t, const struct option_spec *spec, const char *value) {
    if (strcmp(spec->name, "db") == 0) t->db = value;
}

/* An option: its value comes with it, is the next word, or there is none. */
static void typed_option(struct typed *t, const char *word) {
    const char *value = NULL;
    const struct option_spec *spec;
    if (word[1] == '-') {
        value = strchr(word, '=');
        spec = option_find(t->command, word + 2, value ? (size_t)(value - word) - 2 : strlen(word + 2));
        if (value) value++;
    } else {
        spec = option_find_letter(t->command, word[1]);
        if (word[2]) value = word + 2;
    }
    if (value && spec)
        typed_value(t, spec, value);
    else if (takes_value(spec))
        t->awaited = spec;
    t->may_count = !value && spec && spec->use == OPTION_AUTO_KEY;
}

static void typed_word(struct typed *t, const char *word) {
    bool counts = t->may_count && isdigit((unsigned char)word[0]);
    t->may_count = false;
    if (t->awaited) {
        typed_value(t, t->awaited, word);
        t->awaited = NULL;
    } else if (!t->entry) {
        if (word[0] == '-') return;
        t->entry = command_find(word);
        t->command = t->entry ? option_command_find(word) : NULL;
    } else if (!t->plain && strcmp(word, "--") == 0) {
        t->plain = true;
    } else if (!t->plain && word[0] == '-' && word[1] && t->command) {
        typed_option(t, word);
    } else if (!counts) {
        t->operands++;
    }
}

static void offer_value(struct offers *o, const struct option_spec *spec) {
    char name[64];
    int len = snprintf(name, sizeof name, "--%s", spec->name);
    size_t count = o->count;
    if (spec->key) offers_key(o, spec->key);
    offers_choices(o, spec);
    if (o->count == count) offers_kind(o, name, (size_t)len);
    if (o->count > count || !spec->argument) return;
    /* "[TEST=]TIME" is the kind TEST=TIME */
    len = 0;
    for (const char *p = spec->argument; *p && len < (int)sizeof name - 1; p++)
        if (*p != '[' && *p != ']') name[len++] = *p;
    offers_kind(o, name, (size_t)len);
}

static void offer_options(struct offers *o, const struct option_command *c) {
    for (size_t g = 0; g < OPTION_GROUPS_MAX && c->groups[g]; g++)
        for (const struct option_spec *s = c->groups[g]->options; s->name; s++) {
            char word[64];
            snprintf(word, sizeof word, "--%s", s->name);
            offers_word(o, word, s->help);
        }
}

/* Argument number n of "RUN [TAG]...", of which the last is repeated if it has dots. */
static void offer_operand(struct offers *o, const char *arguments, size_t n) {
    for (const char *p = arguments; *p; p += strspn(p, " ")) {
        const char *kind = p + strspn(p, "[");
        size_t len = strcspn(p, " ");
        p += len;
        bool repeats = len >= 3 && strncmp(p - 3, "...", 3) == 0;
        if (n == 0 || (repeats && !*p)) {
            offers_kind(o, kind, strcspn(kind, "]. "));
            return;
        }
        n--;
    }
}

static void offer_first(struct offers *o) {
    if (o->begun[0] == '-') {
        offers_word(o, "--version", "print version, compiler, libraries and features");
        offer_options(o, option_command_find("help"));
    } else {
        offers_kind(o, "COMMAND", strlen("COMMAND"));
    }
}

/* Candidates for the last word. */
static void complete(size_t count, char **words, struct buf *out) {
    struct typed t = {0};
    struct offers o = {.begun = count ? words[count - 1] : "", .before = "", .out = out};
    for (size_t i = 0; i + 1 < count; i++) typed_word(&t, words[i]);
    o.db = t.db;
    if (!t.entry) {
        size_t named = 0; /* an unknown command has no arguments that are known */
        for (size_t i = 0; i + 1 < count; i++) named += words[i][0] != '-';
        if (named == 0) offer_first(&o);
        return;
    }
    if (!t.command) return;
    o.command = t.entry->name;
    const char *value = strchr(o.begun, '=');
    if (t.awaited) {
        offer_value(&o, t.awaited);
    } else if (!t.plain && strncmp(o.begun, "--", 2) == 0 && value) {
        const struct option_spec *spec = option_find(t.command, o.begun + 2, (size_t)(value - o.begun) - 2);
        struct buf before = {0};
        buf_bytes(&before, o.begun, (size_t)(value - o.begun) + 1);
        o.before = buf_text(&before);
        o.begun = value + 1;
        if (spec && spec->use != OPTION_FLAG) offer_value(&o, spec);
        buf_free(&before);
    } else if (!t.plain && o.begun[0] == '-') {
        offer_options(&o, t.command);
    } else {
        offer_operand(&o, t.entry->arguments, t.operands);
        if (o.count == 0 && !t.plain && !*o.begun) offer_options(&o, t.command);
    }
}

enum { PATIENCE_S = 2 };

static void out_of_patience(int signal) {
    (void)signal;
    _exit(0);
}

/* Somebody waits with a hand at the keyboard: where a history is locked, or far away, there is nothing to
 * say. */
int cmd_complete(int argc, char **argv) {
    struct options o;
    struct err e = {0};
    struct buf out = {0};
    bool words = argc > 1 && strcmp(argv[1], "--") == 0; /* the line may be longer than lines of ours */
    if (!words && options_parse(&o, argc, argv, &e)) return output_fail(&e);
    signal(SIGALRM, out_of_patience);
    alarm(PATIENCE_S);
    if (words)
        complete((size_t)argc - 2, argv + 2, &out);
    else
        complete(o.operands, (char **)o.operand, &out);
    alarm(0);
    output_print(&out);
    buf_free(&out);
    if (!words) options_free(&o);
    return 0;
}
