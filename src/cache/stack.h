/* Stack distances of LRU (Mattson, Gecsei, Slutz, Traiger: Evaluation techniques for storage hierarchies, IBM
 * Systems Journal 9(2), 1970): the bytes of the entries that were accessed since an entry's last access,
 * its own included. A cache of that many bytes under LRU holds it, a smaller one does not, so one pass over
 * the accesses gives the misses at every capacity. Exact also with entries of different sizes, as long as
 * each keeps its own: what LRU holds is the longest prefix of the stack that fits.
 *
 * A Fenwick tree over the times of last accesses holds the bytes: O(log n) an access. One thread at a time.
 */
#ifndef KVF_CACHE_STACK_H
#define KVF_CACHE_STACK_H

#include <stdbool.h>
#include <stdint.h>

#define STACK_NEVER UINT64_MAX

struct stack;
/* For entries with numbers from 0 to ids - 1. Ends the program when memory is exhausted. */
struct stack *stack_open(uint32_t ids);
void stack_close(struct stack *s); /* takes NULL */

/* The distance in bytes at which an entry is found now; STACK_NEVER: it was never accessed. Not an access. */
uint64_t stack_distance(const struct stack *s, uint32_t id);
/* Whether it was accessed at all. */
bool stack_has(const struct stack *s, uint32_t id);
/* An access. `bytes` is the size of the entry, which never changes. */
void stack_touch(struct stack *s, uint32_t id, uint64_t bytes);

#endif
