/* The options of every command: one table each drives parsing, the suggestion for a mistyped option, and the
 * command's help. Main thread only. */
#ifndef KVF_STUDY_OPTIONS_H
#define KVF_STUDY_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "scenario/load.h"

enum option_use {
    OPTION_FLAG,     /* a switch; with a key a setting of it to true */
    OPTION_VALUE,    /* takes a value; the last one given counts */
    OPTION_SET,      /* KEY=VALUE, a setting of any key */
    OPTION_KEY,      /* a setting of `key` to the value as YAML */
    OPTION_TEXT_KEY, /* a setting of `key` to the value as plain text, whatever is in it */
    OPTION_INCLUDE,  /* a file of settings, under those of the scenario */
    OPTION_AUTO_KEY  /* a setting of `key` to the whole number that follows, else to auto */
};

struct option_spec {
    const char *name;     /* without the dashes */
    const char *argument; /* how help names its value; NULL for a switch */
    enum option_use use;
    const char *key;  /* scenario key that a short form sets, else NULL */
    const char *help; /* one phrase */
};

enum { OPTIONS_OPERANDS_MAX = 32, OPTIONS_GIVEN_MAX = 256 };

struct options {
    const char *command;
    struct {
        const struct option_spec *spec;
        const char *value; /* NULL for a switch */
    } given[OPTIONS_GIVEN_MAX];
    size_t given_count;
    const char *operand[OPTIONS_OPERANDS_MAX];
    size_t operands;
    struct scenario_setting setting[OPTIONS_GIVEN_MAX]; /* in the order of the command line */
    size_t settings;
    char *owned[2 * OPTIONS_GIVEN_MAX]; /* texts made for settings */
    size_t owned_count;
};

/* Reads the command line of the command named argv[0]. "--name value" and "--name=value", "-o value" and
 * "-ovalue" where an option has a letter; "--" ends the options; a lone "-" is an operand. 0 or
 * -KVF_ERR_USAGE. Texts of argv are kept, not copied. */
int options_parse(struct options *o, int argc, char **argv, struct err *e);
void options_free(struct options *o);

bool options_has(const struct options *o, const char *name);          /* whether the option was given */
const char *options_value(const struct options *o, const char *name); /* NULL when not given */
/* Stores the whole number of an option in *out, which is unchanged when the option was not given. 0 or
 * -KVF_ERR_USAGE. */
int options_number(const struct options *o, const char *name, uint64_t least, uint64_t most, uint64_t *out,
                   struct err *e);

/* The command line of `run`. */
struct run_options {
    struct options given; /* settings, and how to write to standard output */
    const char *scenario; /* path, "-" for standard input, NULL for the built-in quickstart */
    uint64_t ranks;       /* processes that share the run; 0: not given */
    uint64_t start_at_ns; /* wall clock since the epoch; 0: not given */
    bool headless, check_assessment, fit, force, keep_going, quiet;
    const char *db;          /* as given: a path, "none", or NULL for the usual place */
    const char *json;        /* a path, "-", or NULL */
    const char *io_trace;    /* a path or NULL */
    const char *request_log; /* a path or NULL */
    const char *verify_dump; /* a directory or NULL */
    const char *metrics;     /* where to serve them, or NULL */
};
int run_options_parse(int argc, char **argv, struct run_options *r, struct err *e);
void run_options_free(struct run_options *r);

#endif
