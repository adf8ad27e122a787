/* Eviction policies: the order in which a tier's entries fall. One file and one line in the table
 * each. A policy keeps its order in the node that every entry carries. */
#ifndef KVF_CACHE_POLICY_H
#define KVF_CACHE_POLICY_H

#include <stdbool.h>
#include <stdint.h>

#include "scenario/scenario.h"

/* What a policy may look at and keep for an entry; addressed by the entry's index. */
struct policy_node {
    uint64_t rank;                /* key of the order: smallest falls first */
    uint32_t left, right, parent; /* of the order tree */
};

struct policy;
struct policy_ops {
    const char *name; /* as in scenarios */
    enum scenario_eviction id;
    struct policy *(*open)(struct policy_node *const *nodes); /* nodes may be reallocated: double pointer */
    void (*close)(struct policy *p);
    /* access: rank of the last access; first: rank of the first write. Demotion passes the entry's
     * old ranks, so it keeps its recency below. */
    void (*insert)(struct policy *p, uint32_t entry, uint64_t access, uint64_t first);
    void (*remove)(struct policy *p, uint32_t entry);
    void (*touch)(struct policy *p, uint32_t entry, uint64_t access);
    /* The victim; POLICY_END when there is none. The cache takes out of the order what may not fall. */
    uint32_t (*first)(const struct policy *p);
    bool (*check)(const struct policy *p, uint64_t *entries); /* structure sound; counts */
};
#define POLICY_END UINT32_MAX

extern const struct policy_ops policy_lru, policy_fifo;

const struct policy_ops *policy_find(enum scenario_eviction id); /* NULL: not in this build */

#endif
