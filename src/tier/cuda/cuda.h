/* Shared by the files of the cuda backend.
 *
 * Every device has one plain allocation, given out in pages. A place is up to a few parts: the entry is cut
 * into as many slices as devices share it, each whole on one device as long as that has room for it.
 *
 * In layout `layers` a device's allocation has one region for each piece of a token (keys and values of
 * every layer), and a page is a stretch of each of them: a run of n pages has n stretches that lie one
 * behind the other in every region, and the bytes of the run are region after region. Contiguous, there is
 * one region. */
#ifndef KVF_TIER_CUDA_CUDA_H
#define KVF_TIER_CUDA_CUDA_H

#include <stdint.h>

#include "tier/cuda/cuda_api.h"
#include "tier/pager.h"
#include "tier/payload.h"
#include "tier/tier.h"

enum { CUDA_DEVICES = 8 };

struct cuda_device {
    int number; /* CUDA's */
    struct cuda_device_info info;
    void *memory; /* the allocation; NULL: none */
    uint64_t base;
    void *noise;
    struct pager *pager; /* caller's lock */
};

struct cuda_pinned {
    uint8_t *at;
    uint64_t bytes;
};

struct cuda_part {
    uint64_t first; /* page */
    uint64_t bytes;
    uint32_t device; /* index */
};

struct cuda_place {
    uint64_t next; /* free list */
    uint32_t parts;
    struct cuda_part part[];
};

struct cuda_tier {
    struct tier base;
    const struct cuda_api *api;
    const struct scenario *scenario;
    const struct run_clock *clock;
    const struct payload *payload;
    struct cuda_device device[CUDA_DEVICES];
    uint32_t devices;
    uint32_t slices;            /* of an entry */
    uint64_t page_bytes, pages; /* of a device */
    uint64_t pieces;            /* regions of a device's allocation */
    uint64_t region_bytes;
    uint64_t window;        /* noise blocks on each device */
    uint64_t landing_bytes; /* of a worker, behind the pages of each device; 0: the queues have their own */
    uint32_t workers;
    /* places: the caller's lock, apart from reading a place that is in use */
    uint8_t *places;
    uint64_t places_max, places_used, place_free, place_size, places_bytes;
    uint32_t part_max;
    uint64_t turn;            /* of the next entry among the devices */
    struct cuda_pinned arena; /* of the cpu tier; set before the first copy */
};

/* Where the landing areas begin in a device's allocation. */
static inline uint64_t cuda_landings_at(const struct cuda_tier *t) {
    return (t->pages * t->page_bytes + CUDA_BLOCK - 1) / CUDA_BLOCK * CUDA_BLOCK;
}

/* ---- cuda_choose.c: devices ---- */

/* Fills device[] and devices. 0, or an error whose sentence has no subject yet. */
int cuda_choose(struct cuda_tier *t, const struct cuda_api *api, const struct scenario *s, struct err *e);
/* Sets `e` to "DOING on device N (NAME) failed: what it means and what to do"; NULL device: none. */
int cuda_error(struct err *e, const struct cuda_api *api, int error, const struct cuda_device *d,
               const char *doing);

/* ---- cuda_place.c: where entries are ---- */

/* Sizes alone: how entries are cut, pages and how many of them. */
void cuda_pages_choose(struct cuda_tier *t, const struct tier_setup *setup);
int cuda_places_open(struct cuda_tier *t, const struct tier_setup *setup, struct err *e);
void cuda_places_close(struct cuda_tier *t);
uint64_t cuda_place_alloc(struct tier *t, uint64_t bytes);
void cuda_place_drop(struct tier *t, uint64_t place, uint64_t bytes);
/* Calls back for every piece of [from, to) of an entry, in order, device by device; stops at false. */
typedef bool cuda_piece_fn(void *ctx, uint32_t device, const struct cuda_extent *piece);
void cuda_place_walk(const struct cuda_tier *t, uint64_t place, uint64_t from, uint64_t to, cuda_piece_fn *fn,
                     void *ctx);

/* ---- cuda_pin.c: host memory ---- */

/* Pins host memory for copies, piece by piece; undoes it. Contracts: struct tier_ops. */
int cuda_pin(struct tier *t, void *at, uint64_t bytes, const struct tier_setup *setup, struct err *e);
void cuda_unpin(struct tier *t, void *at);
/* How many of `bytes` from `at` on one copy may take: it crosses no border of what was pinned in one. */
uint64_t cuda_pin_reach(const struct cuda_tier *t, const uint8_t *at, uint64_t bytes);

/* ---- cuda_queue.c: a worker's streams ---- */

/* An entry's content as kernels on that device make and check it. */
struct cuda_content cuda_content_of(const struct cuda_tier *t, const struct cuda_device *d,
                                    const struct payload_id *id);

/* ---- queues: the operations of struct tier_ops, on the worker's thread ---- */
int cuda_queue_open(struct tier *t, struct tier_queue **out, uint32_t worker, uint32_t depth, struct err *e);
void cuda_queue_close(struct tier_queue *q);
unsigned cuda_submit(struct tier_queue *q, struct tier_chunk **chunks, unsigned n);
unsigned cuda_reap(struct tier_queue *q, struct tier_chunk **done, unsigned max);
int cuda_fd(const struct tier_queue *q);
uint64_t cuda_next_ns(const struct tier_queue *q);
const char *cuda_why(const struct tier_queue *q);
uint64_t cuda_reach_device(struct tier_queue *q, uint64_t place, uint64_t offset, uint64_t want, void **at,
                           uint32_t *device);
/* Bytes of a queue's buffers for reads that land on a device. */
uint64_t cuda_landing_bytes(const struct scenario *s);
/* Device memory that the queues of all workers take on each device, at most. */
uint64_t cuda_queue_bytes(const struct tier_setup *setup);

#endif
