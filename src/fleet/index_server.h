/* The index of blocks in a real Redis or Valkey server, in llm-d's schema: a hash for each block, with a
 * field "pod-N@tier" for each tier of each pod that holds it ("store@remote": the tier that all share), and a
 * sorted set "engine:BLOCK" that leads from an engine's name of the block to that hash. All names begin with
 * a prefix of their own, so that runs may share a server, and are deleted at the end.
 *
 * A lookup is one pipeline with an HKEYS for each block of the request, including those behind the first
 * block without a holder. Events are sent in one batch before the next lookup, and its time does not include
 * them. All calls block. One thread.
 */
#ifndef KVF_FLEET_INDEX_SERVER_H
#define KVF_FLEET_INDEX_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "fleet/holders.h"
#include "scenario/scenario.h"

struct index_server;
/* 0, or -KVF_ERR_... with a sentence: no server answers at fleet.index.url, or it refuses. */
int index_server_open(struct index_server **out, const struct scenario *s, struct err *e);
void index_server_close(struct index_server *x); /* deletes what it stored; takes NULL */
/* Puts an event with those that are sent by the next flush. */
void index_server_event(struct index_server *x, uint64_t block, uint32_t pod, enum kvf_tier tier,
                        bool stored);
int index_server_flush(struct index_server *x, struct err *e);
/* Adds the holders of these blocks to `answer`; *took_ns is the time from the first question sent to the last
 * answer read. */
int index_server_lookup(struct index_server *x, const uint64_t *block, uint32_t blocks,
                        struct holders *answer, uint64_t *took_ns, struct err *e);
int index_server_clear(struct index_server *x, struct err *e); /* deletes all; what waits is forgotten */
/* Growth of the server's memory since the opening, as the server reports it; 0: it reports none. */
uint64_t index_server_bytes(struct index_server *x);

#endif
