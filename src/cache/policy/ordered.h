/* Operations that policies share, ready for their tables. Caller's lock. */
#ifndef KVF_CACHE_POLICY_ORDERED_H
#define KVF_CACHE_POLICY_ORDERED_H

#include "cache/order.h"

/* For a struct policy that begins with the struct order of all its entries. Contracts: struct policy_ops. */
struct policy *ordered_open(const struct policy_config *config); /* nothing else is in it */
void ordered_remove(struct policy *p, uint32_t entry);
void ordered_restore(struct policy *p, uint32_t entry);
uint32_t ordered_first(struct policy *p, const struct cache_key *incoming);
bool ordered_check(const struct policy *p, uint64_t *entries);

#endif
