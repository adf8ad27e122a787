#include "cache/policy.h"

#include <stdlib.h>

#define X(id, word, token, ...) [id] = &policy_##token,
static const struct policy_ops *const policies[] = {TRAITS_POLICY_LIST(X)};
#undef X

const struct policy_ops *policy_find(enum scenario_eviction id) {
    return policies[id];
}

void policy_free(struct policy *p) {
    free(p);
}
