/* Reports data that differs from what was written: its place, the expected and the found stamp, and a copy of
 * the block. */
#ifndef KVF_ENGINE_MOVE_VERIFY_H
#define KVF_ENGINE_MOVE_VERIFY_H

#include <stdatomic.h>
#include <stdint.h>

#include "engine/move/transfer.h"

enum { VERIFY_DUMPS = 16 }; /* blocks that are kept of a run */

/* Of all workers of a run. */
struct verify_dump {
    const char *dir; /* NULL: nothing is kept */
    uint64_t tag;    /* tells the files of runs apart */
    _Atomic unsigned kept;
};

struct mover;
struct staging;
/* Checks what a read has brought as the run wants it checked, and counts; fails the transfer where it is
 * wrong. By the mover's worker. */
void verify_chunk(struct mover *m, struct transfer *t, const struct staging *s);
/* The same of what a device has checked in its own memory, where the block is out of reach. */
void verify_device(struct mover *m, struct transfer *t, const struct tier_chunk *c);

#endif
