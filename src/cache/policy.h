/* Eviction policies: the order in which a tier's entries fall. One file and one row of traits/policies.h
 * each. A policy keeps its order in the node that every entry carries, and what else it needs in
 * its own memory; it sees one tier and knows of no other.
 *
 * A plan takes victims and lets them fall, and may be taken back step by step, last step first. So a policy
 * is called at three times:
 *   while planning: first, remove, insert. remove leaves the words of the node as they are, and the
 *       plan keeps them. Taking the plan back must restore the order as it was, except for what a search
 *       for victims uses up (second chances): that stays used up even if the search found nothing.
 *   taken back: remove and restore, with the words that were kept.
 *   at the commit: evicted for entries that left, admitted for entries that came, in the order of the plan.
 *       Only here are ghosts made and used up, and only here does a policy adapt.
 * Entries that are read or moved are taken out when a search meets them (remove) and put back later
 * (restore, then a touch for each access meanwhile).
 * Caller's lock. The caller also tells the time. */
#ifndef KVF_CACHE_POLICY_H
#define KVF_CACHE_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cache/key.h"
#include "scenario/scenario.h"

/* Belongs to the policy whose order the entry is in, which alone knows what the words mean. */
struct policy_node {
    uint64_t rank;
    uint32_t left, right, parent;
    uint32_t word;
};
_Static_assert(sizeof(struct policy_node) == 24, "a node has no holes");

/* The facts about an entry that is inserted or accessed. */
struct policy_info {
    struct cache_key key;
    uint64_t bytes;
    uint64_t access;   /* rank of the last access; an entry that falls brings it along */
    uint64_t first;    /* rank of the first write */
    uint64_t next_use; /* position of its next access, UINT64_MAX never again; 0 unknown */
    uint8_t cause;     /* enum kvf_cause of its write */
    uint8_t klass;     /* QoS class of its write */
};

/* How priority ranks entries; -1 fits any. */
struct policy_rule {
    int cause, klass;
    uint32_t priority;    /* the least falls first */
    uint64_t duration_ns; /* from the last access or the arrival, 0: for ever */
};
enum { POLICY_RULES_MAX = 16, POLICY_PRIORITY = 35 }; /* of entries without a rule, or after its time */

struct policy_config {
    struct policy_node *const *nodes; /* by entry; may be reallocated between calls: double pointer */
    uint64_t usable_bytes;            /* of the tier */
    uint64_t (*bytes_of)(const void *entries, uint32_t entry);
    /* The entry of the block before it; POLICY_END: none, not known, or gone. */
    uint32_t (*parent_of)(const void *entries, uint32_t entry);
    const void *entries;             /* for the two */
    const uint64_t *now_ns;          /* as the cache was told last */
    uint64_t ttl_ns;                 /* of ttl */
    const struct policy_rule *rules; /* of priority: the first that fits */
    uint32_t rule_count;
};

struct policy;
struct policy_ops {
    struct policy *(*open)(const struct policy_config *config);
    void (*close)(struct policy *p); /* NULL: free() is all there is to do */
    /* A new entry, or one that falls or rises into this tier. */
    void (*insert)(struct policy *p, uint32_t entry, const struct policy_info *info);
    void (*remove)(struct policy *p, uint32_t entry);
    /* Puts an entry back where it was; its node holds the words that remove left. */
    void (*restore)(struct policy *p, uint32_t entry);
    void (*touch)(struct policy *p, uint32_t entry, const struct policy_info *info);
    /* The victim, and it stays where it is; POLICY_END when there is none. The cache takes out of the order
     * what may not fall. incoming: key of the entry that needs the room; NULL: no entry. */
    uint32_t (*first)(struct policy *p, const struct cache_key *incoming);
    /* At the commit, NULL where it does not matter. An entry that passes through the tier in one plan is
     * admitted and evicted, and its node is another tier's by then. */
    void (*admitted)(struct policy *p, const struct policy_info *info);
    void (*evicted)(struct policy *p, struct cache_key key, uint64_t bytes, const struct policy_node *was);
    /* The entries next to another one in the order, and one put there, with the rank that its node has, where
     * it belongs: what extents want, and NULL where they cannot be. POLICY_END: not known without a search.
     */
    uint32_t (*neighbour)(const struct policy *p, uint32_t entry, bool behind);
    void (*beside)(struct policy *p, uint32_t entry, uint32_t at, bool behind);
    /* An entry whose time is up, POLICY_END: none. NULL: time puts nothing out. */
    uint32_t (*expired)(struct policy *p);
    /* A new entry has this number from now on; what was known of an old one is void. NULL: nothing is. */
    void (*begins)(struct policy *p, uint32_t entry);
    bool (*check)(const struct policy *p, uint64_t *entries); /* structure sound; counts */
    size_t (*memory)(const struct policy *p); /* bytes of its own beside the nodes; NULL: a few words */
};
#define POLICY_END UINT32_MAX

/* One of every row of traits/policies.h, in cache/policy/. */
#define X(id, word, token, ...) extern const struct policy_ops policy_##token;
TRAITS_POLICY_LIST(X)
#undef X

const struct policy_ops *policy_find(enum scenario_eviction id); /* its row's operations; never NULL */
void policy_free(struct policy *p);                              /* for a policy whose table has no close */

#endif
