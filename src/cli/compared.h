/* Stored runs for a comparison: each as it was named, a trial with its whole group. Main thread only. */
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

/* The name after "tag:"; NULL for another reference. */
const char *compared_tag(const char *reference);

enum { COMPARED_TAGGED_MOST = 10 };
/* Loads the runs of the references in their order: at least two, none twice. A trial stands for its group,
 * unless `single` is set or another trial of the group is named as well. "tag:NAME", allowed only first,
 * stands for the last completed runs with that tag and their groups, without runs named elsewhere: at most
 * COMPARED_TAGGED_MOST, or one larger group. 0, or a negative code. Free it with compared_free() in any case.
 */
int compared_load(struct store *s, const char *const *reference, size_t count, bool single,
                  struct compared *out, struct err *e);
void compared_free(struct compared *c); /* takes a zeroed one */

#endif
