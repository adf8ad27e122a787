/* The remote tier shared by real pods: a server in which each pod finds blocks that others stored. Rank 0
 * tracks the stored blocks from the pods' reports, and sends each request with the blocks that its pod may
 * expect. A block that has gone by then is found lost when it is read, and counts as a miss. All with
 * queue_lock. */
#ifndef KVF_ENGINE_PODS_INSTORE_H
#define KVF_ENGINE_PODS_INSTORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct engine;
struct fleet_block;
struct flight;

void instore_open(struct engine *e);  /* where pods share a server; rank 0 */
void instore_close(struct engine *e); /* frees what instore_open() made */
/* A pod has put a block there, or taken it away. */
void instore_event(struct engine *e, const struct fleet_block *block, uint32_t pod, bool stored);
/* Adds a bit for each block of a request whose hashes are at hand: whether it is there. */
void instore_tell(const struct engine *e, const struct flight *f, struct buf *out);
/* A request has come here, with such bits: this pod takes those blocks to be there. Takes cache_lock. */
void instore_expect(struct engine *e, const struct flight *f, const unsigned char *bits, size_t len);

#endif
