/* Operations that policies have in common, for their tables as they are. One caller at a time. */
#ifndef KVF_CACHE_POLICY_ORDERED_H
#define KVF_CACHE_POLICY_ORDERED_H

#include "cache/order.h"

/* Of policies whose struct policy begins with the struct order of all its entries. */
void ordered_remove(struct policy *p, uint32_t entry);
void ordered_restore(struct policy *p, uint32_t entry);
uint32_t ordered_first(struct policy *p, const struct cache_key *incoming);
bool ordered_check(const struct policy *p, uint64_t *entries);

#endif
