/* Runs of the database as a comparison takes them: each as it was named, a trial with its whole group. */
#ifndef KVF_CLI_COMPARED_H
#define KVF_CLI_COMPARED_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "compare/comparison.h"
#include "store/store.h"

struct compared {
    size_t count;
    struct comparison_input *input; /* for comparison_make() */
    struct compared_side *side;     /* what they point at */
};

/* The name behind "tag:", else NULL. */
const char *compared_tag(const char *reference);

enum { COMPARED_TAGGED_MOST = 10 };
/* Loads the runs that the references name, in their order: at least two, none of them twice. A trial stands
 * for its group, and "tag:NAME", which only the first may be, for the last completed runs of that tag and
 * their groups that are not named, COMPARED_TAGGED_MOST at most but for a larger group; unless `single`, or
 * another of the group is named as well: those are taken by themselves. Free it with compared_free() also
 * after a failure. */
int compared_load(struct store *s, const char *const *reference, size_t count, bool single,
                  struct compared *out, struct err *e);
void compared_free(struct compared *c); /* takes a zeroed one */

#endif
