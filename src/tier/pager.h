/* Allocates the space of an arena in pages, without fragmentation: an entry may take any free pages, so n
 * free pages always hold n pages. A next-fit scan keeps the number of runs (neighbouring pages) of an entry
 * small.
 *
 * The runs of an entry form a chain through two arrays indexed by a run's first page, so an allocation needs
 * no memory. Not thread safe: the caller holds the lock of the cache's owner. Reading a chain needs no lock,
 * since it does not change between alloc and release. */
#ifndef KVF_TIER_PAGER_H
#define KVF_TIER_PAGER_H

#include <stdbool.h>
#include <stdint.h>

#define PAGER_NONE UINT64_MAX

struct pager;
struct pager *pager_new(uint64_t pages, uint64_t page_bytes); /* NULL when memory is exhausted */
void pager_free(struct pager *p);                             /* takes NULL */
/* Allocates a chain for `bytes` and returns its first page; PAGER_NONE: too few free pages. */
uint64_t pager_alloc(struct pager *p, uint64_t bytes);
void pager_release(struct pager *p, uint64_t first);
uint64_t pager_free_pages(const struct pager *p);

/* Walks a chain from the offset of pager_seek(). Each pager_next() returns the length of the next contiguous
 * piece, at most `want` bytes, and its arena offset. */
struct pager_cursor {
    uint64_t run;    /* first page of the current run; PAGER_NONE behind the end */
    uint64_t within; /* bytes into the run */
};
void pager_seek(const struct pager *p, uint64_t first, uint64_t offset, struct pager_cursor *c);
uint64_t pager_next(const struct pager *p, struct pager_cursor *c, uint64_t want, uint64_t *arena_offset);

#endif
