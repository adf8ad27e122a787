/* Space inside an arena in pages, so that nothing fragments: an entry takes any free pages, as few
 * runs of neighbours as a next-fit scan finds, and n free pages always hold n pages.
 *
 * Runs of an entry form a chain through two arrays indexed by a run's first page, so allocating
 * takes no memory. Not thread safe: the caller holds the lock of the cache's owner. Reading a
 * chain needs no lock, since it does not change between alloc and free. */
#ifndef KVF_TIER_PAGER_H
#define KVF_TIER_PAGER_H

#include <stdbool.h>
#include <stdint.h>

#define PAGER_NONE UINT64_MAX

struct pager;
struct pager *pager_new(uint64_t pages, uint64_t page_bytes); /* NULL when memory is exhausted */
void pager_free(struct pager *p);                             /* takes one all zero */
/* First page of the chain that holds `bytes`; PAGER_NONE when there are not enough free pages. */
uint64_t pager_alloc(struct pager *p, uint64_t bytes);
void pager_release(struct pager *p, uint64_t first);
uint64_t pager_free_pages(const struct pager *p);

/* Walking a chain from an offset: each call gives the arena offset and length of the next
 * contiguous piece, at most `want` bytes. Start with cursor = {first, 0, 0} and seek. */
struct pager_cursor {
    uint64_t run;    /* first page of the current run; PAGER_NONE behind the end */
    uint64_t within; /* bytes into the run */
};
void pager_seek(const struct pager *p, uint64_t first, uint64_t offset, struct pager_cursor *c);
uint64_t pager_next(const struct pager *p, struct pager_cursor *c, uint64_t want, uint64_t *arena_offset);

#endif
