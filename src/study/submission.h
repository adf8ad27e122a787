/* The comparison of a submission with the shipped scenario whose rules it follows. Any thread. */
#ifndef KVF_STUDY_SUBMISSION_H
#define KVF_STUDY_SUBMISSION_H

#include <stddef.h>

#include "scenario/scenario.h"

/* Writes why the run is not comparable: the rules that it breaks, and its differences from the shipped
 * submission of its name, or else from the most similar one. "" when it breaks none, or is not a submission.
 * Differences that do not fit are counted. */
void submission_judge(const struct scenario *s, char *out, size_t len);

#endif
