/* Scenario loading for all commands: a file, standard input or the built-in quickstart, with the settings of
 * the command line on top. Main thread only. */
#ifndef KVF_STUDY_SETUP_H
#define KVF_STUDY_SETUP_H

#include "base/err.h"
#include "scenario/fit.h"
#include "scenario/load.h"
#include "scenario/scenario.h"
#include "study/options.h"

/* Loads `path`: a file, "-" for standard input, NULL for the built-in quickstart. *yaml (may be NULL) gets
 * the text as given ("" for the built-in), which the caller frees. Prints errors on standard error, one
 * file:line:column a line, then a closing sentence. Returns 0 or the exit status; the caller frees the report
 * in either case. */
int setup_scenario(const char *path, const struct options *o, struct scenario *s, char **yaml,
                   struct scenario_report *report);

/* The scenario for the database: with absolute paths of traces. */
struct scenario setup_placed(const struct scenario *s);
/* Warns of each option and setting of the command line that has no effect in this scenario; `check` lists
 * keys of the file. */
void setup_say_unused(const struct scenario_report *report);

/* Prints the changes of --fit, a line each on standard error. */
void setup_say_fit(const struct fit *fit);

#endif
