/* The staging buffers of one worker. All bytes of entries pass through them, so memory use does not depend on
 * entry size. A clean buffer still holds its noise, apart from stamps, and a write only restamps it; a read
 * makes it dirty. The pool records the time in which a buffer was wanted and none was free. Worker thread
 * only. */
#ifndef KVF_ENGINE_MOVE_STAGING_H
#define KVF_ENGINE_MOVE_STAGING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/err.h"
#include "tier/payload.h"
#include "tier/tier.h"

struct transfer;

/* A buffer and the chunk that it carries. */
struct staging {
    struct tier_chunk chunk;
    struct transfer *transfer;
    struct staging *next;
    uint8_t *buf;         /* io_size bytes, aligned to 4 KiB; NULL: a holder */
    uint64_t noise_block; /* that it is filled from */
    bool clean, instant;
    bool slotted; /* a place in device memory goes with it: number `slot` */
    uint32_t slot;
};

/* Time in which something was wanted and all were out. */
struct staging_starved {
    uint64_t total_ns, since_ns; /* since: 0: not now */
};
enum staging_kind { STAGING_BUFFERS, STAGING_SLOTS, STAGING_KINDS };

struct staging_pool {
    const struct run_clock *clock;
    const struct payload *payload;
    uint64_t io_size;
    uint8_t *memory;
    uint64_t memory_len;
    struct staging *buffers;
    uint32_t count;
    struct staging *clean, *dirty;      /* free, for tiers that need waiting */
    struct staging *landing;            /* free, for copies in memory */
    struct staging *holders;            /* free, without a buffer: chunks that need none of ours */
    struct staging *slots, *slot_array; /* free, for chunks between files and device memory; all */
    uint32_t slot_count;
    struct staging_starved starved[STAGING_KINDS];
};

/* `buffers` for tiers that need waiting, and a few for copies. 0 or -KVF_ERR_NOMEM. */
int staging_open(struct staging_pool *p, const struct run_clock *clock, const struct payload *payload,
                 uint64_t io_size, uint32_t buffers, uint32_t worker, struct err *e);
void staging_close(struct staging_pool *p); /* takes a zeroed one */
/* Slots for chunks that go between files and device memory; once. */
void staging_slots_make(struct staging_pool *p, uint32_t count);
struct staging *staging_take_slot(struct staging_pool *p); /* or NULL */
/* Fills every buffer with noise; before the first take. */
void staging_prefill(struct staging_pool *p);
/* A free buffer (for a write, a clean one if there is one), or NULL. */
struct staging *staging_take(struct staging_pool *p, bool instant, bool for_write);
/* One that carries a chunk whose bytes are elsewhere, or NULL. */
struct staging *staging_take_holder(struct staging_pool *p);
void staging_give(struct staging_pool *p, struct staging *s);
/* Makes the buffer's content blocks of entry `id` from the chunk's offset on. */
void staging_stamp(struct staging_pool *p, struct staging *s, const struct payload_id *id);
uint64_t staging_starved_ns(const struct staging_pool *p, enum staging_kind kind); /* so far */

#endif
