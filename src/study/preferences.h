/* The user's own file of settings, $XDG_CONFIG_HOME/kvfall/config: what the screen begins with, and options
 * of `run` that are given without being typed. One thread. */
#ifndef KVF_STUDY_PREFERENCES_H
#define KVF_STUDY_PREFERENCES_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "ui/settings.h"

/* Options of `run` that may stand below "run:"; what they are stands in its table. */
enum { PREFERENCES_RUN = 5, PREFERENCES = SETTINGS + PREFERENCES_RUN };

struct preferences {
    char path[4096]; /* "": there is no place for the file */
    struct {
        char *value; /* as text; NULL: not in the file */
        size_t line; /* that it begins in */
    } given[PREFERENCES];
    struct settings screen;          /* defaults where the file has none */
    char *argument[PREFERENCES_RUN]; /* "--include=FILE" */
};

/* The i-th key: "theme", "run.fit". The screen's come first. */
const char *preference_name(int i, char *out, size_t len);
const char *preference_help(int i);
/* Reads the file. None is like an empty one. 0, or -KVF_ERR_USAGE with file, line and column; to be freed in
 * either case. */
int preferences_load(struct preferences *p, struct err *e);
void preferences_free(struct preferences *p);
/* The command line of `run` with the file's options in front, where those that are typed win. The caller
 * frees the array alone; the file's texts are the preferences'. */
char **preferences_arguments(const struct preferences *p, int *argc, char **argv);
/* Writes the screen's settings into the file, and leaves all else in it as it is. `path` gets its name. */
int preferences_keep(const struct settings *now, struct buf *path, struct err *e);

#endif
