/* The rig that measures a tier: the workers that a run would have, each with its own mover
 * (engine/move/transfer.h), so that buffers, stamps, checks, files and chunks match those of runs. In a
 * window they keep a fixed number of operations of one kind in flight, and do nothing else: no cache, no
 * requests. Runs on the caller's thread and threads of its own. */
#ifndef KVF_STUDY_CALIBRATE_CALIBRATE_RIG_H
#define KVF_STUDY_CALIBRATE_CALIBRATE_RIG_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "metrics/histogram.h"
#include "metrics/usage.h"
#include "scenario/scenario.h"

/* Sets of entries: of one chunk (in a store at most one value), of many chunks (not in host memory or a
 * store), of one small block. */
enum rig_set { RIG_CHUNKS, RIG_WHOLES, RIG_SMALL, RIG_SETS };
enum { RIG_SMALL_BYTES = 4096, RIG_SMALLS = 16 /* of a device, for each worker */ };

/* READ, WRITE, MIXED: within the tier. IN and OUT: copies between GPU and host memory; IN also whole entries
 * from memory to a drive. */
enum rig_kind { RIG_READ, RIG_WRITE, RIG_MIXED, RIG_OUT, RIG_IN, RIG_BOTH };

struct rig_window {
    enum rig_kind kind;
    enum rig_set set;
    uint32_t depth;  /* operations in flight, over all workers */
    bool alone;      /* all on one worker */
    bool bursts;     /* a worker starts a new batch only after its last one has completed */
    uint32_t first;  /* the worker that gets the first operation; others follow it */
    bool once;       /* each entry of the set once, in order, for at most ns; at least one */
    bool on;         /* with once: continue where the last such window of the set ended */
    uint64_t within; /* memory only: bytes over all workers that are reused cyclically; 0: all */
    uint64_t ns;     /* duration; counting starts and ends with nothing in flight */
    /* For memory copies at depth 1 per worker: count the worker's CPU time, which excludes time taken by
     * other programs. */
    bool by_processor;
    /* Write new entries of many sizes and evict the oldest, as a run with a full cache does: blocks are
     * rewritten, but file boundaries seldom match. */
    bool recycle;
    /* After work_ns of work a worker lets its operations complete and idles for rest_ns. */
    uint64_t rest_ns, work_ns;
    /* bytes_s counts only time with operations at the tier: a write whose start blocks its worker, which then
     * submits nothing, uses no bandwidth. */
    bool by_tier;
    /* bytes_s is the sum over both directions, each over the time in which it had operations at the tier,
     * because they end at different times. */
    bool by_direction;
    double bytes_s; /* out: rate of the bytes moved */
    /* out: bytes_s by direction, and the mean number of chunks at the tier while there are any */
    double dir_bytes_s[KVF_DIRS], chunks[KVF_DIRS];
    double worker_ns;      /* out: processor time of the workers per MiB moved */
    uint64_t bytes;        /* out: total moved */
    struct usage_sums use; /* out: at the tier. bytes_s leaves its stalls out */
    bool watched;          /* out: with chunks enough to see them */
    double seconds;        /* out: total duration */
    /* NULL, or one per direction: times of operations of the same size as the first; of writes without the
     * time to start them. */
    struct histogram *times;
    /* NULL, or the same for operations started within slow_ns after an idle period. */
    struct histogram *rested;
    uint64_t slow_ns;
    struct histogram *begins;  /* NULL, or: time that starting each write blocked its worker */
    double chunks_beside;      /* out: mean chunks at the tier when writes started; 0: no writes */
    struct histogram *lookups; /* NULL, or: lookup times of a store */
    struct histogram *copies;  /* NULL, or: memory time per MiB of copies in */
};

struct rig;
/* Opens the tier (the gpu tier together with host memory) with `bytes` for its entries. 0 or a negative code:
 * -KVF_ERR_UNAVAILABLE for an emulated tier. */
int rig_open(struct rig **out, const struct scenario *scenario, enum kvf_tier tier, uint64_t bytes,
             const atomic_bool *stop, struct err *e);
void rig_close(struct rig *r); /* removes its files; takes NULL */
int rig_run(struct rig *r, struct rig_window *w, struct err *e);
/* Entries of the set that `once` windows have reached, over all workers. */
uint64_t rig_entries(const struct rig *r, enum rig_set set, uint64_t *entry_bytes);
bool rig_is_device(const struct rig *r);
bool rig_is_drive(const struct rig *r);   /* or a directory as a store */
bool rig_has_values(const struct rig *r); /* a store accessed over connections */
void rig_describe(const struct rig *r, char *out, size_t len);
uint32_t rig_workers(const struct rig *r);
uint64_t rig_filled_bytes(const struct rig *r);
double rig_workers_cpu_s(const struct rig *r); /* of all of them in windows so far; likewise */
uint64_t rig_moved_bytes(const struct rig *r); /* both directions, so far; call between windows */

#endif
