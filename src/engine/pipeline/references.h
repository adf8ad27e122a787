/* The cache accesses of a scenario's requests in arrival order, as if each request completed at once: the
 * input of miss-ratio curves, independent of timing. Held in memory with keys as numbers; involves no tier.
 */
#ifndef KVF_ENGINE_PIPELINE_REFERENCES_H
#define KVF_ENGINE_PIPELINE_REFERENCES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "cache/key.h"
#include "scenario/scenario.h"
#include "workload/request.h"

enum reference_kind {
    REFERENCE_BLOCK,      /* block of a request: found if all before it in the request are; else written */
    REFERENCE_LAST_BLOCK, /* the same, the last of its request */
    REFERENCE_LOOKUP,     /* entry that is read if it is there */
    REFERENCE_FILL,       /* the same, and written if it is not */
    REFERENCE_WRITE,      /* written unless it is there; no lookup */
    REFERENCE_READ        /* one more read of what was looked up; no lookup */
};
struct reference {
    uint32_t id; /* of its key */
    uint8_t kind, cause, klass;
    bool first; /* of its request */
};
enum { REFERENCES_MAX = 1 << 26 }; /* half a GiB of them */

struct references {
    struct reference *at;
    uint64_t count, cap, lookups; /* lookups: but for those of the decode */
    struct cache_key *key;        /* by id */
    uint64_t *bytes;
    uint32_t ids, id_cap;
    uint32_t *slot; /* open addressing: id + 1 by key */
    uint64_t slots;
    uint64_t requests, request_cap;
    uint64_t *arrival_ns;   /* by request; NULL: not known */
    uint64_t total_bytes;   /* of all keys */
    uint64_t largest_bytes; /* of one request's blocks, or of an entry */
    bool blocks;            /* all are blocks: LRU has stack distances */
    bool cut;               /* REFERENCES_MAX: later requests are left out */
    uint64_t block_from;    /* of the request that is being added */
};

/* Reads the scenario's requests to their end, its duration or REFERENCES_MAX. Users who wait for answers wait
 * for what their generation takes, on a modelled GPU as if alone. 0 or a negative code, also
 * where no time passes between requests; what is held is freed by references_free() in any case. */
int references_collect(struct references *r, const struct scenario *s, struct err *e);
void references_free(struct references *r); /* takes one that is all zero */

/* A request's cache accesses, one access after another, as the pipeline serves it; chunks of documents
 * apart. Any thread. */
struct references_sink {
    void (*access)(void *ctx, enum reference_kind kind, struct cache_key key, uint64_t bytes,
                   enum kvf_cause cause, uint8_t klass);
    void *ctx;
};
void references_walk(const struct scenario *s, const struct request *q, const struct references_sink *to);

/* For tests and for those who know their accesses: adds one; a key keeps the bytes it had first, 0 apart:
 * a lookup may not know them. */
void references_add(struct references *r, enum reference_kind kind, struct cache_key key, uint64_t bytes,
                    enum kvf_cause cause, uint8_t klass);
/* The number of a key, if it has been added. */
bool references_find(const struct references *r, struct cache_key key, uint32_t *id);
/* One more request, to which the access with `first` belongs that was added last. */
void references_request(struct references *r, uint64_t arrival_ns);

#endif
