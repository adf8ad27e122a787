/* Scenario loading for all commands: a file, standard input or the built-in quickstart, with the settings of
 * the command line on top. Main thread only. */
#ifndef KVF_STUDY_SETUP_H
#define KVF_STUDY_SETUP_H

#include "base/err.h"
#include "scenario/fit.h"
#include "scenario/load.h"
#include "scenario/scenario.h"
#include "study/options.h"

/* path: a file, "-" for standard input, NULL for the built-in quickstart. *yaml (may be NULL) gets
 * the text as given, malloc'd; "" for the built-in. Errors go to standard error, one
 * file:line:column a line, then a closing sentence. Returns 0 or the exit status. The report is the
 * caller's to free, whatever is returned. */
int setup_scenario(const char *path, const struct options *o, struct scenario *s, char **yaml,
                   struct scenario_report *report);

/* The scenario as it is stored: paths of traces hold in every folder. */
struct scenario setup_placed(const struct scenario *s);

/* Options and settings of the command line that this scenario makes nothing of, a warning each; keys of its
 * file are for `check` to list. */
void setup_say_unused(const struct scenario_report *report);

/* Prints the changes of --fit, a line each on standard error. */
void setup_say_fit(const struct fit *fit);

#endif
