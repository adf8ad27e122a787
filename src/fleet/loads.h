/* How many requests each pod has, queued and in service, with the least and the most loaded at hand: two
 * tournament trees, so that a change costs O(log pods) and a question nothing. Of equals the lowest number
 * wins. A pod that is down has no load and is never the least loaded. One thread. */
#ifndef KVF_FLEET_LOADS_H
#define KVF_FLEET_LOADS_H

#include <stdbool.h>
#include <stdint.h>

struct loads {
    uint32_t pods, width; /* width: leaves of the trees, a power of two */
    uint64_t *load;       /* of each pod */
    bool *down;
    uint32_t *least, *most; /* winners: root at 1, leaf of pod p at width + p */
};

void loads_open(struct loads *l, uint32_t pods);          /* all idle and up */
void loads_close(struct loads *l);                        /* frees what it owns */
void loads_change(struct loads *l, uint32_t pod, int by); /* one more (1) or one fewer (-1) */
/* All loads of `from`, which has as many pods. O(pods + changed × log pods). */
void loads_copy(struct loads *l, const struct loads *from);
void loads_set_down(struct loads *l, uint32_t pod, bool down);
/* While any pod is up. */
uint32_t loads_least(const struct loads *l);
uint32_t loads_most(const struct loads *l);
/* The first pod that is up, from this one on and round. */
uint32_t loads_up_from(const struct loads *l, uint32_t pod);

#endif
