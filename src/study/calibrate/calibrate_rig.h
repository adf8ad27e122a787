/* The rig that measures a tier: as many workers as a run would have, each with a mover of its own
 * (engine/move/transfer.h), so that buffers, stamps, checks, files and chunks are those of runs. A window is
 * a stretch of time in which they keep so many operations of one kind under way; nothing else is: no cache,
 * no requests. Caller's thread and its own. */
#ifndef KVF_STUDY_CALIBRATE_CALIBRATE_RIG_H
#define KVF_STUDY_CALIBRATE_CALIBRATE_RIG_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "metrics/histogram.h"
#include "scenario/scenario.h"

/* Entries that operations work on: of one chunk (in a store of one value at most), of many (not in
 * memory of the host, not in a store), of one small block. */
enum rig_set { RIG_CHUNKS, RIG_WHOLES, RIG_SMALL, RIG_SETS };
enum { RIG_SMALL_BYTES = 4096, RIG_SMALLS = 16 /* of a device, for each worker */ };

/* Read, write: the tier alone. In and out: the copies between a device and memory of the host; in also from
 * memory to a drive, of whole entries. */
enum rig_kind { RIG_READ, RIG_WRITE, RIG_MIXED, RIG_OUT, RIG_IN, RIG_BOTH };

struct rig_window {
    enum rig_kind kind;
    enum rig_set set;
    uint32_t depth; /* operations under way, of all workers */
    bool alone;     /* all of one worker */
    bool bursts;    /* a worker begins anew only when all that it had begun have ended */
    uint32_t first; /* the worker that works even where the depth is 1; the others follow it */
    bool once;      /* every entry of the set once and in order; at most ns, but one at least */
    bool on;        /* of once: from where the last such window of the set ended */
    uint64_t
        within;  /* of memory: bytes, of all workers, that it goes over again and again; 0: all there are */
    uint64_t ns; /* how long; what is counted begins, and ends, with nothing under way */
    /* Of copies in memory, with one under way for each worker: time is that for which the worker had a
     * processor. What other programs took of it is no property of the memory. */
    bool by_processor;
    /* Writes are of new entries of many sizes, and the oldest go for them, as in a run whose cache is full:
     * to room that was written before, but seldom to all of a file or only to that. */
    bool recycle;
    /* Where a worker has worked for as long as `work_ns`, between the end of all that it had begun and the
     * beginning of the next. */
    uint64_t rest_ns, work_ns;
    /* bytes_s is that of the time in which something was at the tier. A write whose beginning holds its
     * worker, which then hands over nothing, takes nothing of the tier's bandwidth. */
    bool by_tier;
    /* bytes_s is the sum of both directions', each of the time in which something of it was at the tier: they
     * do not end at once. */
    bool by_direction;
    double bytes_s; /* out: what was moved */
    /* out: bytes_s by direction, and chunks of each at the tier while any is there, on average */
    double dir_bytes_s[KVF_DIRS], chunks[KVF_DIRS];
    uint64_t bytes; /* out: in all */
    double seconds; /* out: it lasted in all */
    /* NULL, or one per direction: what operations took, on as many bytes as the first; of writes from the end
     * of their beginning on. */
    struct histogram *times;
    /* NULL, or: as times, of operations that began within slow_ns of the end of a rest. */
    struct histogram *rested;
    uint64_t slow_ns;
    struct histogram *begins;  /* NULL, or: for how long each write held its worker at its beginning */
    double chunks_beside;      /* out: at the tier when writes began; mean, 0 where none did */
    struct histogram *lookups; /* NULL, or: what a store took to say whether it has an entry */
    struct histogram *copies;  /* NULL, or: of copies in, what memory took for each MiB */
};

struct rig;
/* Opens the tier (a device's with memory of the host beside it) with `bytes` for its entries. 0, or an error:
 * -KVF_ERR_UNAVAILABLE for a tier that is emulated. */
int rig_open(struct rig **out, const struct scenario *scenario, enum kvf_tier tier, uint64_t bytes,
             const atomic_bool *stop, struct err *e);
void rig_close(struct rig *r); /* removes what was made; takes NULL */
int rig_run(struct rig *r, struct rig_window *w, struct err *e);
/* Entries of the set that a `once` window has got to; of all workers. */
uint64_t rig_entries(const struct rig *r, enum rig_set set, uint64_t *entry_bytes);
bool rig_is_device(const struct rig *r);
bool rig_has_values(const struct rig *r); /* a store that is spoken to over connections */
void rig_describe(const struct rig *r, char *out, size_t len);
uint32_t rig_workers(const struct rig *r);
uint64_t rig_filled_bytes(const struct rig *r);
uint64_t rig_moved_bytes(const struct rig *r); /* of the tier, both ways, so far; between windows */

#endif
