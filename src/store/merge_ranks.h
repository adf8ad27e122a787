/* Runs that a harness started apart, while they are merged into one. For merge_ranks*.c alone. Main thread
 * only. */
#ifndef KVF_STORE_MERGE_RANKS_H
#define KVF_STORE_MERGE_RANKS_H

#include "engine/sampling/kept.h"
#include "store/span.h"
#include "store/store.h"

struct part {
    struct store *from;
    struct run_record run;
    struct span *span;
    double begin_s, end_s; /* of its measured part, on the clock that all share */
    int64_t first, last;   /* its intervals in the common time */
    uint64_t inside;
    uint64_t done; /* requests in the common time */
};
struct store_ranks {
    struct part *part;
    size_t count;
    struct run_record run;
    struct kept *kept;
    struct windows_view *view;
    struct err *e;
};

/* The first key of two effective scenarios that ranks of one load share, with both values. */
struct merge_difference {
    char key[160], value[2][120];
    bool real; /* so are the runs */
};
/* A scenario that was not stored differs from none. */
bool merge_scenarios_differ(const struct run_record *first, const struct run_record *other,
                            struct merge_difference *out);

/* Fills results, ranks, criteria and verdict of the merged run, w->run. */
void merge_ranks_results(struct store_ranks *w, const struct store_whole *done);

#endif
