/* Internals of the cuda backend. Only files of the backend include this.
 *
 * Each device has one allocation, which is handed out in pages. An entry is cut into as many slices as
 * devices share it, and each slice stays on one device while that has room. A place is therefore a list of
 * parts.
 *
 * In layout `layers` the allocation has one region for each piece of a token (the keys and the values of
 * every layer), and a page has a stretch in each region. The n stretches of a run of n pages are adjacent
 * within a region, and the run's bytes go region by region. Layout `contiguous` has one region. */
#ifndef KVF_TIER_CUDA_CUDA_H
#define KVF_TIER_CUDA_CUDA_H

#include <stdint.h>

#include "tier/cuda/cuda_api.h"
#include "tier/pager.h"
#include "tier/payload.h"
#include "tier/tier.h"

enum { CUDA_DEVICES = 8 };

struct cuda_device {
    int number; /* by CUDA's count */
    struct cuda_device_info info;
    void *memory; /* the allocation; NULL: none */
    uint64_t base;
    void *noise;         /* in device memory */
    struct pager *pager; /* under the caller's lock */
};

struct cuda_pinned {
    uint8_t *at;
    uint64_t bytes;
};

struct cuda_part {
    uint64_t first; /* page */
    uint64_t bytes;
    uint32_t device; /* index within the tier */
};

struct cuda_place {
    uint64_t next; /* in the free list */
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
    uint32_t slices;            /* per entry */
    uint64_t page_bytes, pages; /* per device */
    uint64_t pieces;            /* regions per allocation */
    uint64_t region_bytes;
    uint64_t window;        /* noise blocks per device */
    uint64_t landing_bytes; /* landing area per worker, after each device's pages; 0: queues have their own */
    uint32_t workers;
    /* Places; under the caller's lock, except reads of a place in use. */
    uint8_t *places;
    uint64_t places_max, places_used, place_free, place_size, places_bytes;
    uint32_t part_max;
    uint64_t turn;            /* selects the device of the next entry */
    struct cuda_pinned arena; /* the cpu tier's; set before the first copy */
};

/* The offset of the landing areas in a device's allocation. */
static inline uint64_t cuda_landings_at(const struct cuda_tier *t) {
    return (t->pages * t->page_bytes + CUDA_BLOCK - 1) / CUDA_BLOCK * CUDA_BLOCK;
}

/* ---- cuda_choose.c: devices ---- */

/* Fills device[] and devices. 0, or a negative code with a clause without a subject. */
int cuda_choose(struct cuda_tier *t, const struct cuda_api *api, const struct scenario *s, struct err *e);
/* Sets `e` to "DOING on device N (NAME) failed: " with cause and remedy; NULL: no device. */
int cuda_error(struct err *e, const struct cuda_api *api, int error, const struct cuda_device *d,
               const char *doing);

/* ---- cuda_place.c: where entries are ---- */

/* Computes slices, page size and number of pages; allocates nothing. */
void cuda_pages_choose(struct cuda_tier *t, const struct tier_setup *setup);
int cuda_places_open(struct cuda_tier *t, const struct tier_setup *setup, struct err *e);
void cuda_places_close(struct cuda_tier *t);
uint64_t cuda_place_alloc(struct tier *t, uint64_t bytes);
void cuda_place_drop(struct tier *t, uint64_t place, uint64_t bytes);
/* Calls fn for every piece of bytes [from, to) of an entry, in order, device by device, until it returns
 * false. */
typedef bool cuda_piece_fn(void *ctx, uint32_t device, const struct cuda_extent *piece);
void cuda_place_walk(const struct cuda_tier *t, uint64_t place, uint64_t from, uint64_t to, cuda_piece_fn *fn,
                     void *ctx);

/* ---- cuda_pin.c: host memory ---- */

/* The members pin and unpin of struct tier_ops. */
int cuda_pin(struct tier *t, void *at, uint64_t bytes, const struct tier_setup *setup, struct err *e);
void cuda_unpin(struct tier *t, void *at);
/* How many of `bytes` from `at` on one copy may take: it must stay within memory that one call pinned. */
uint64_t cuda_pin_reach(const struct cuda_tier *t, const uint8_t *at, uint64_t bytes);

/* ---- cuda_queue.c: a worker's streams ---- */

/* An entry's content, for kernels on that device. */
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
/* Bytes of a queue's landing area on a device. */
uint64_t cuda_landing_bytes(const struct scenario *s);
/* The most device memory that all workers' queues take, per device. */
uint64_t cuda_queue_bytes(const struct tier_setup *setup);

#endif
