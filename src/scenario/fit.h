/* Scaling a scenario down to a machine: the rule behind --fit. A pure function; any thread.
 *
 * One factor for all tiers of stated capacity, so that they keep their ratios: the largest, at most
 * 1, with which
 *   - the cpu tier takes at most half of the memory that is available, and all that the run takes of
 *     memory (see budget.h) at most 90 % of it;
 *   - the nvme tier takes at most what `auto` would: 90 % of the free space, 2 GiB left at least.
 * Capacities are rounded down (to 512 MiB from 8 GiB on, to 128 MiB from 1 GiB on). As long as there
 * is room no tier that held two of the scenario's largest entries, or one, is taken below that.
 * A gpu tier that is emulated takes no memory and follows the others. Nothing is scaled in mode simulate.
 *
 * Load follows: users and documents of rag by the factor of the stated capacities together, a stated
 * precondition volume by that of nvme. Where nvme is `auto` the users are also no more than have
 * their conversations in the tiers (mean entry x mean turns of a conversation each), the documents
 * take no more than a quarter of them, and a stated precondition volume is at most 2 x nvme. */
#ifndef KVF_SCENARIO_FIT_H
#define KVF_SCENARIO_FIT_H

#include "scenario/budget.h"
#include "record/publish.h"
#include "scenario/scenario.h"

enum { FIT_LINES_MAX = 16, FIT_LINE = 240 };
struct fit { /* a sentence for every change, and for what no change can help */
    struct {
        char text[FIT_LINE];
        enum record_event_kind kind; /* of the event that tells it; with a value alone */
        const char *value;           /* NULL: none */
        bool scaled;                 /* the run is not the one of the file; else only to be known */
    } line[FIT_LINES_MAX];
    unsigned lines;
};

/* Scales `s` down, never up, and lists the changes. Applied to its own result it changes nothing. A scenario
 * that cannot be made to fit (a full disk) is left for budget_resolve() to refuse. */
void fit_apply(struct fit *f, struct scenario *s, const struct budget_machine *m);

/* Mean bytes of one user's conversations in the cache; 0 for sources whose lengths are unknown beforehand. */
uint64_t fit_user_bytes(const struct scenario *s);

#endif
