/* A submission is held against the shipped scenario whose rules it follows. Any thread. */
#ifndef KVF_STUDY_SUBMISSION_H
#define KVF_STUDY_SUBMISSION_H

#include <stddef.h>

#include "scenario/scenario.h"

/* Why the run is not comparable: the rules that it breaks, and what it changes of the shipped submission that
 * has its name, else of the one from which it differs least. "" when it keeps all, and when it is none. What
 * does not fit is counted. */
void submission_judge(const struct scenario *s, char *out, size_t len);

#endif
