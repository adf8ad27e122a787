/* Static facts of each eviction policy, workload source, routing, backend and link before one is opened. The
 * rows stand in the headers beside this one; scenarios, the cache, workloads, help, completion and the manual
 * read them. Operations are found by the name in a row: a row without them does not link, and a lint fails on
 * operations without a row. Constant; any thread. */
#ifndef KVF_TRAITS_TRAITS_H
#define KVF_TRAITS_TRAITS_H

#include <stddef.h>
#include <stdint.h>

#include "base/terms.h"
#include "traits/backends.h"
#include "traits/links.h"
#include "traits/policies.h"
#include "traits/routings.h"
#include "traits/sources.h"

/* Numbers of rows are those of the enumerations that scenarios have of the same lists. */
struct traits_policy {
    const char *word;
    uint32_t caps;            /* enum traits_policy_caps */
    const char *key, *unread; /* that only it reads, and why that has no effect without it; NULL */
    const char *help;
};
struct traits_source {
    const char *word;
    uint32_t caps; /* enum traits_source_caps */
    uint64_t block_tokens,
        context_tokens; /* of a block of its files; most of a context; 0: none, not known */
    const char *key, *unread;
    const char *marks; /* of a file's first line, "|" between; NULL: none */
    const char *help;
};
struct traits_backend {
    const char *word;
    uint32_t caps; /* enum traits_backend_caps */
    const char *help;
};
struct traits_routing {
    const char *word;
    uint32_t caps; /* enum traits_routing_caps */
    const char *help;
};
struct traits_link {
    const char *word;
    uint64_t read_bytes_per_s, write_bytes_per_s, latency_ns;
    uint64_t both_bytes_per_s; /* 0: no limit but those of the two directions */
};

/* Row number `id`; NULL behind the last. */
const struct traits_policy *traits_policy(unsigned id);
const struct traits_source *traits_source(unsigned id);
const struct traits_routing *traits_routing(unsigned id);
const struct traits_backend *traits_backend(enum kvf_tier tier, unsigned id);
const struct traits_link *traits_link(enum kvf_tier tier, unsigned id);

#endif
