/* The user's file of settings, $XDG_CONFIG_HOME/kvfall/config: initial settings of the screen, and default
 * options of `run`. Main thread only; preferences_keep() on the screen's thread. */
#ifndef KVF_STUDY_PREFERENCES_H
#define KVF_STUDY_PREFERENCES_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "ui/settings.h"

/* The number of options of `run` that may stand below "run:"; they are listed in preferences.c. */
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
/* Reads the file; a missing file is like an empty one. 0, or -KVF_ERR_USAGE with file, line and column. Free
 * it in either case. */
int preferences_load(struct preferences *p, struct err *e);
void preferences_free(struct preferences *p);
/* The command line of `run` with the file's options in front, so that typed ones win. The caller frees the
 * array but not its texts. */
char **preferences_arguments(const struct preferences *p, int *argc, char **argv);
/* Writes the screen's settings to the file and leaves everything else in it unchanged; appends its name to
 * `path`. 0 or a negative code. */
int preferences_keep(const struct settings *now, struct buf *path, struct err *e);

#endif
