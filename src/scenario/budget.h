/* Memory and disk budget of a scenario on this machine, known before the start: `check` prints it, `run`
 * enforces it. Pure; any thread. */
#ifndef KVF_SCENARIO_BUDGET_H
#define KVF_SCENARIO_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "scenario/scenario.h"

/* Buffers of io_size that each worker has beside engine.staging, for copies within memory. */
enum { BUDGET_LANDING_BUFFERS = 2 };
/* Memory of a client library beside the buffers of its connections. */
enum { BUDGET_LIBRARY_BYTES = 16 << 20 };

struct budget_machine {              /* what the machine offers; filled by the caller from probe/ */
    uint64_t memory_available_bytes; /* MemAvailable, or what the cgroup still allows if less */
    bool memory_from_cgroup;
    uint32_t cpus;                                /* usable by this process */
    uint64_t disk_free_bytes[SCENARIO_PATHS_MAX]; /* per nvme path; KVF_UNSET: unknown */
    bool disk_same_fs[SCENARIO_PATHS_MAX];        /* path i is on the file system of an earlier path */
    uint64_t disk_leftover_bytes; /* of directories without a valid marker that look like those of runs */
    char disk_leftovers[400];     /* these, named; "" none */
};

struct budget {
    uint64_t workers, slots;
    uint64_t staging_bytes;            /* all workers */
    uint64_t tier_bytes[KVF_TIERS];    /* of tiers in memory, with page rounding provisioned on top */
    uint64_t arena_bytes;              /* their sum */
    uint64_t connection_bytes;         /* of connections to a remote store, a value each */
    uint64_t noise_bytes, fixed_bytes; /* fixed: index, counters, landing buffers, queue, FIFO */
    uint64_t memory_bytes;             /* sum */
    uint64_t disk_bytes;               /* nvme tier with rounding on top, all paths */
};

/* The reference machine of mode simulate, so that `auto` means the same everywhere: 8 CPUs, an nvme tier of
 * 1 TiB. No budget is checked against it. */
void budget_machine_any(struct budget_machine *m);
/* Resolves every `auto` of the scenario (workers, slots, staging, gpu and nvme capacity) and computes the
 * budget. 0, or -KVF_ERR_NOSPACE with the arithmetic in the sentence when it does not fit and `force` is
 * false (status 2). */
int budget_resolve(struct scenario *s, const struct budget_machine *m, bool force, struct budget *b,
                   struct err *e);
/* The meaning of engine.slots: auto, and of run.precondition: auto, in bytes, where the capacity is known. */
uint64_t budget_auto_slots(const struct scenario *s);
uint64_t budget_auto_precondition(const struct scenario *s);
/* The capacity of tiers.nvme.capacity: auto, in bytes: 90 % of the free space under the paths, leaving at
 * least 2 GiB of each file system. KVF_UNSET when the free space is unknown. */
uint64_t budget_disk_room(const struct scenario *s, const struct budget_machine *m);
/* The end of a phrase about the machine's resources: " for each of 4 ranks on this machine"; "" for one. */
const char *budget_each(const struct scenario *s, char *out, size_t len);
/* Appends the arithmetic as lines of text. */
void budget_text(const struct scenario *s, const struct budget_machine *m, const struct budget *b,
                 struct buf *out);

#endif
