/* Work that a side of a comparison left undone, or did less of, beside the baseline: it comes before all that
 * users feel. For the verdict alone. One thread at a time. */
#ifndef KVF_COMPARE_COMPARISON_HARM_H
#define KVF_COMPARE_COMPARISON_HARM_H

#include "compare/comparison_parts.h"

/* The loss that weighs most decides, and one that goes the other way is told. Where the side that lost less
 * did clearly less as well, neither is better for it.
 * "run 4 is worse than run 1: more writes are refused (...), though fewer writes fall through (...)" */
struct comparison_harm {
    const char *metric, *against; /* NULL: none */
    bool relief;                  /* it became less */
    bool other_done;              /* the side that lost less did clearly less */
};
struct comparison_harm comparison_harm_of(const struct comparison *c, size_t side);
/* Appends the first, with its counts, and the other way after it. */
void comparison_put_harm(const struct comparison *c, size_t side, const struct comparison_harm *h,
                         struct buf *out);
/* Appends one of them: "more writes are refused (...)". */
void comparison_put_lost(const struct comparison *c, size_t side, const char *metric, bool fewer,
                         struct buf *out);
/* Whether it is the loss of a run that did not serve what arrived; that of document chunks; entries that an
 * outage took away. NULL: false. */
bool comparison_of_waiting(const char *metric);
bool comparison_of_chunks(const char *metric);
bool comparison_of_outage(const char *metric);

/* The change of a metric for better or worse beyond noise; NULL: there is none. */
const struct comparison_change *comparison_told(const struct comparison *c, const char *metric, size_t side);
/* The verb of a side: "is", of a group "are". */
static inline const char *comparison_be(const struct comparison_side *s) {
    return strncmp(s->label, "runs", 4) == 0 ? "are" : "is";
}

#endif
