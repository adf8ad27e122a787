/* A table from 64-bit numbers to numbers other than 0: open addressing, 16 bytes a slot, at most half full.
 * One thread; ends the program when memory is exhausted. */
#ifndef KVF_WORKLOAD_IDMAP_H
#define KVF_WORKLOAD_IDMAP_H

#include <stdint.h>

struct idmap_slot {
    uint64_t key, value; /* value 0: free */
};
struct idmap { /* all zero is an empty one */
    struct idmap_slot *slot;
    uint64_t slots, count;
};

/* The value of a key, added as 0 when new; the caller then sets it. The pointer is valid until the next call.
 */
uint64_t *idmap_at(struct idmap *m, uint64_t key);
/* The value of a key; 0: it is not there. */
uint64_t idmap_get(const struct idmap *m, uint64_t key);
/* Prefetches the slot of a key that is looked up a few calls later. */
void idmap_prefetch(const struct idmap *m, uint64_t key);
/* Removes a key and returns its value; 0: it was not there. */
uint64_t idmap_remove(struct idmap *m, uint64_t key);
void idmap_free(struct idmap *m); /* leaves it empty */

#endif
