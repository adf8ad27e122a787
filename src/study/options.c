#include "study/options.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/nearest.h"
#include "rank/rank.h"
#include "study/option_tables.h"

static int unknown_option(const struct option_command *c, const char *argument, size_t len, struct err *e) {
    char name[96];
    snprintf(name, sizeof name, "%.*s", (int)(len < 80 ? len : 80), argument + 2);
    struct nearest n = nearest_start(name);
    for (size_t g = 0; g < OPTION_GROUPS_MAX && c->groups[g]; g++)
        for (const struct option_spec *s = c->groups[g]->options; s->name; s++) nearest_offer(&n, s->name);
    if (n.best)
        return err_set(e, KVF_ERR_USAGE, "%s has no option --%s; did you mean --%s?", c->name, name, n.best);
    return err_set(e, KVF_ERR_USAGE, "%s has no option --%s; `kvfall help %s` lists them", c->name, name,
                   c->name);
}

static const char *own(struct options *o, char *text) {
    o->owned[o->owned_count++] = text;
    return text;
}

/* A single-quoted YAML scalar: nothing in it is special but the quote. */
static char *quoted(const char *text) {
    size_t len = strlen(text), used = 0;
    char *out = mem_alloc(2 * len + 3);
    out[used++] = '\'';
    for (; *text; text++) {
        if (*text == '\'') out[used++] = '\'';
        out[used++] = *text;
    }
    out[used++] = '\'';
    out[used] = '\0';
    return out;
}

static int add_setting(struct options *o, const struct option_spec *spec, const char *value, struct err *e) {
    struct scenario_setting *s = &o->setting[o->settings];
    struct buf origin = {0};
    switch (spec->use) {
    case OPTION_SET: {
        const char *eq = strchr(value, '=');
        if (!eq || eq == value)
            return err_set(e, KVF_ERR_USAGE,
                           "--set needs KEY=VALUE, such as --set workload.users=20, not \"%s\"", value);
        s->key = own(o, mem_strndup(value, (size_t)(eq - value)));
        s->value = eq + 1;
        s->origin = "--set";
        break;
    }
    case OPTION_KEY:
    case OPTION_TEXT_KEY:
    case OPTION_AUTO_KEY:
        buf_addf(&origin, "--%s", spec->name);
        s->key = spec->key;
        s->origin = own(o, origin.data);
        s->value = spec->use == OPTION_TEXT_KEY ? own(o, quoted(value)) : value;
        break;
    case OPTION_INCLUDE:
        s->key = NULL;
        s->value = value;
        s->origin = "--include";
        break;
    case OPTION_FLAG:
        if (!spec->key) return 0;
        buf_addf(&origin, "--%s", spec->name);
        s->key = spec->key;
        s->origin = own(o, origin.data);
        s->value = "true";
        break;
    case OPTION_VALUE:
        return 0;
    }
    o->settings++;
    return 0;
}

static bool whole_number(const char *text) {
    return *text && text[strspn(text, "0123456789")] == '\0';
}

/* Takes an option with the value that came with it, else from the arguments behind argv[*i], which it moves
 * to the last one that it used. */
static int take_option(struct options *o, const struct option_spec *spec, const char *value, int argc,
                       char **argv, int *i, struct err *e) {
    if (spec->use == OPTION_FLAG) {
        if (value) return err_set(e, KVF_ERR_USAGE, "--%s takes no value", spec->name);
    } else if (!value && spec->use == OPTION_AUTO_KEY) {
        value = *i + 1 < argc && whole_number(argv[*i + 1]) ? argv[++*i] : "auto";
    } else if (!value) {
        if (*i + 1 >= argc)
            return err_set(e, KVF_ERR_USAGE, "--%s needs a value: --%s %s", spec->name, spec->name,
                           spec->argument);
        value = argv[++*i];
    }
    if (o->given_count == OPTIONS_GIVEN_MAX)
        return err_set(e, KVF_ERR_USAGE, "more than %d options on one command line; put them into a scenario",
                       OPTIONS_GIVEN_MAX);
    o->given[o->given_count].spec = spec;
    o->given[o->given_count++].value = value;
    return add_setting(o, spec, value, e);
}

/* argv[*i] is "--name" or "--name=value". */
static int parse_option(struct options *o, const struct option_command *c, int argc, char **argv, int *i,
                        struct err *e) {
    const char *argument = argv[*i];
    const char *value = strchr(argument, '=');
    size_t len = value ? (size_t)(value - argument) - 2 : strlen(argument + 2);
    const struct option_spec *spec = option_find(c, argument + 2, len);
    return spec ? take_option(o, spec, value ? value + 1 : NULL, argc, argv, i, e)
                : unknown_option(c, argument, len, e);
}

/* argv[*i] is "-o" or "-ovalue". */
static int parse_letter(struct options *o, const struct option_command *c, int argc, char **argv, int *i,
                        struct err *e) {
    const char *argument = argv[*i];
    const struct option_spec *spec = option_find_letter(c, argument[1]);
    if (!spec || (spec->use == OPTION_FLAG && argument[2]))
        return err_set(e, KVF_ERR_USAGE,
                       "options have two dashes and a name, here \"%s\"; `kvfall help %s` lists them",
                       argument, c->name);
    return take_option(o, spec, argument[2] ? argument + 2 : NULL, argc, argv, i, e);
}

static int add_operand(struct options *o, const struct option_command *c, const char *operand,
                       struct err *e) {
    if (o->operands >= c->most_operands || o->operands == OPTIONS_OPERANDS_MAX) {
        if (c->most_operands == 0)
            return err_set(e, KVF_ERR_USAGE, "%s takes no argument, here \"%s\"", c->name, operand);
        return err_set(e, KVF_ERR_USAGE, "%s takes %zu argument%s at most, \"%s\" is one too many", c->name,
                       c->most_operands, c->most_operands == 1 ? "" : "s", operand);
    }
    o->operand[o->operands++] = operand;
    return 0;
}

int options_parse(struct options *o, int argc, char **argv, struct err *e) {
    const struct option_command *c = option_command_find(argv[0]);
    bool plain = false;

    *o = (struct options){.command = argv[0]};
    if (!c) return err_set(e, KVF_ERR_INTERNAL, "%s has no table of options", argv[0]);
    for (int i = 1; i < argc; i++) {
        int rc;
        if (!plain && strcmp(argv[i], "--") == 0) {
            plain = true;
            continue;
        }
        if (plain || argv[i][0] != '-' || !argv[i][1])
            rc = add_operand(o, c, argv[i], e);
        else if (argv[i][1] == '-')
            rc = parse_option(o, c, argc, argv, &i, e);
        else
            rc = parse_letter(o, c, argc, argv, &i, e);
        if (rc) return rc;
    }
    return 0;
}

void options_free(struct options *o) {
    for (size_t i = 0; i < o->owned_count; i++) free(o->owned[i]);
    o->owned_count = 0;
    o->settings = 0;
}

bool options_has(const struct options *o, const char *name) {
    for (size_t i = 0; i < o->given_count; i++)
        if (strcmp(o->given[i].spec->name, name) == 0) return true;
    return false;
}

const char *options_value(const struct options *o, const char *name) {
    for (size_t i = o->given_count; i > 0; i--)
        if (strcmp(o->given[i - 1].spec->name, name) == 0) return o->given[i - 1].value;
    return NULL;
}

int options_number(const struct options *o, const char *name, uint64_t least, uint64_t most, uint64_t *out,
                   struct err *e) {
    const char *text = options_value(o, name);
    uint64_t v = 0;

    if (!text) return 0;
    bool good = whole_number(text);
    for (const char *p = text; *p && good; p++) {
        good = v <= (UINT64_MAX - 9) / 10;
        if (good) v = v * 10 + (uint64_t)(*p - '0');
    }
    if (!good || v < least || v > most)
        return err_set(e, KVF_ERR_USAGE, "--%s is a whole number from %" PRIu64 " to %" PRIu64 ", not \"%s\"",
                       name, least, most, text);
    *out = v;
    return 0;
}

/* Seconds since the epoch, of this day or of the days around it: anything else is a slip. */
static int parse_start_at(const char *text, uint64_t *out, struct err *e) {
    enum { DAY_S = 86400 };
    double s, now_s = (double)clock_wall_ns() / 1e9;
    char *end = NULL;
    if (!text) return 0;
    s = strtod(text, &end);
    if (end == text || *end || !(s > now_s - DAY_S && s < now_s + DAY_S))
        return err_set(
            e, KVF_ERR_USAGE,
            "--start-at is a time of today in seconds since the epoch, such as $(($(date +%%s) + 60)), "
            "not \"%s\"",
            text);
    *out = (uint64_t)(s * 1e9);
    return 0;
}

int run_options_parse(int argc, char **argv, struct run_options *r, struct err *e) {
    *r = (struct run_options){0};
    int rc = options_parse(&r->given, argc, argv, e);
    if (rc) return rc;
    const struct options *o = &r->given;
    r->scenario = o->operands ? o->operand[0] : NULL;
    r->headless = options_has(o, "headless");
    r->check_assessment = options_has(o, "assert");
    r->fit = options_has(o, "fit");
    r->force = options_has(o, "force");
    r->keep_going = options_has(o, "keep-going");
    r->quiet = options_has(o, "quiet");
    r->db = options_value(o, "db");
    r->json = options_value(o, "json");
    r->io_trace = options_value(o, "io-trace");
    r->request_log = options_value(o, "request-log");
    r->verify_dump = options_value(o, "verify-dump");
    r->metrics = options_value(o, "metrics");
    rc = parse_start_at(options_value(o, "start-at"), &r->start_at_ns, e);
    return rc ? rc : options_number(o, "ranks", 1, RANKS_MAX, &r->ranks, e);
}

void run_options_free(struct run_options *r) {
    options_free(&r->given);
}
