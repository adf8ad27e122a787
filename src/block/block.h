/* Traces a run's I/O through the kernel's block layer and attributes other I/O on the same drives. A BPF
 * program follows each operation from queue to device to completion; it keeps only sums and histograms.
 *
 * A trace belongs to one thread. */
#ifndef KVF_BLOCK_BLOCK_H
#define KVF_BLOCK_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "block/block_shared.h"
#include "metrics/histogram.h"
#include "probe/blockdev.h"

struct block_trace;

enum { BLOCK_NAMED = 256 }; /* processes and cgroups counted by name; the last counts all others */

/* Everything since the trace was opened. */
struct block_counts {
    struct block_spread spread[BLOCK_DIRS][BLOCK_SIZES];
    struct block_events events;
    struct block_user_counts user[BLOCK_NAMED]; /* indices never change */
    uint32_t users;
};

struct block_user {
    char process[BLOCK_COMM];
    char cgroup[64]; /* end of its path; "" for the root group or if unknown */
};

/* The most that this process does: bytes of an operation, and operations under way. */
struct block_load {
    uint64_t bytes, depth;
};

/* Checks whether tracing is possible here: 0, or -KVF_ERR_UNAVAILABLE with the reason and its remedy. The
 * kernel may still refuse later. `root` is prefixed to /proc and /sys; "" for the machine itself. Any thread.
 */
int block_permitted(const char *root, struct err *e);
/* Starts tracing this process's I/O on the drives under `devices`, including partitions, device mapper and
 * striped devices. It costs least if every drive takes the whole `load` as one request per operation. 0,
 * -KVF_ERR_UNAVAILABLE or -KVF_ERR_NOMEM. */
int block_open(struct block_trace **out, const struct blockdev *devices, uint32_t count,
               struct block_load load, struct err *e);
void block_close(struct block_trace *t); /* takes NULL */
/* Updates `out`, which holds an earlier reading of this trace or zeros, to the current counts. Takes under
 * 0.3 ms on two CPUs, most of it for neighbours that have been active since. */
void block_read(struct block_trace *t, struct block_counts *out);
const struct block_user *block_user(const struct block_trace *t, uint32_t place);

/* Adds an array of bytes / 8 counts to another, or subtracts it (sign -1). */
void block_add_up(void *out, const void *in, size_t bytes, int sign);
/* out = to - from, where `from` is an earlier reading. `out` may be `to`. */
void block_since(const struct block_counts *to, const struct block_counts *from, struct block_counts *out);
/* Operations, or parts of them, that were merged into another's request. */
uint64_t block_merges(const struct block_counts *c);
/* Adds the times of a direction, stage and size class (BLOCK_SIZES: all classes) to `out`. Each value is the
 * midpoint of its bin; the sum is exact. */
void block_histogram(const struct block_counts *c, int dir, int stage, int size, struct histogram *out);
/* "4k", "16k", ... "1m", "more"; "up to 4 KiB", ... "over 1 MiB". */
const char *block_size_name(int size);
const char *block_size_label(int size);
/* The kernel's name for the status of a failed request: "I/O error". */
const char *block_status_name(unsigned status);

/* Adds the drives under a device, and the device itself, to `s`; nothing where /sys does not know it. 0, or
 * -KVF_ERR_UNAVAILABLE when there are more than BLOCK_DEVICES. */
int block_devices(const char *root, unsigned major, unsigned minor, struct block_setup *s, struct err *e);
/* One more than the highest number that a CPU of this machine can have, for numbers may be left out; 0: /sys
 * does not tell. */
uint32_t block_cpus(const char *root);

/* Frees what has been at a device, or on its way there, since before `old_ns`, through `forget`, which tells
 * whether it was still so: its end was not seen. Returns how many operations of ours were among them. */
uint64_t block_sweep(const struct block_cell *cells, uint32_t count, uint64_t old_ns,
                     bool (*forget)(void *ctx, uint32_t place, uint64_t name), void *ctx);

#endif
