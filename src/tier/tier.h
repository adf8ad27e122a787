/* A tier: where entries' bytes are. Backends move chunks; what an entry is, how it is cut into
 * chunks, stamped, checked and timed is the business of engine/move/transfer, the same for all.
 *
 * struct tier is shared by all workers. Each worker opens a struct tier_queue on it: its own ring,
 * its own counters, touched by that worker alone. Places (where an entry's bytes are, opaque
 * numbers) are given and taken back under the cache lock and do no I/O. */
#ifndef KVF_TIER_TIER_H
#define KVF_TIER_TIER_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/terms.h"
#include "scenario/scenario.h"
#include "tier/payload.h"

enum tier_caps {
    TIER_HOLDS_BYTES = 1, /* chunks carry data through a buffer; without it only sizes are kept */
    TIER_INSTANT = 2,     /* submit carries the chunk out; reap returns it at once */
    TIER_EMULATED = 4,    /* its numbers must be labelled */
    TIER_WHOLE_ENTRY = 8, /* wants an entry as one chunk */
    TIER_MAKES = 16,      /* a new entry is one chunk without a buffer: it makes the content itself */
    TIER_READS = 32,      /* an entry that is only read is one chunk without a buffer, checked where it is */
    TIER_REACHES = 64,    /* copies from and to any pinned memory of the host, and has a landing area */
    TIER_TAKES_DEVICE = 128, /* chunks whose buffer is in the memory of a device, too */
    TIER_COMPAT = 256,  /* these go through the host's memory all the same; its numbers must be labelled */
    TIER_IN_ORDER = 512 /* the chunks of an operation come in the order of their offsets */
};

enum tier_check { TIER_CHECK_NONE, TIER_CHECK_HEADER, TIER_CHECK_FULL };

/* No place; a write to it ends in the landing area of a tier that has one. */
#define TIER_NO_PLACE UINT64_MAX

/* One piece of an entry on its way. The submitter owns it and its buffer until reap returns it. */
struct tier_chunk {
    enum kvf_dir dir;
    uint64_t place;       /* of the entry */
    uint64_t entry_bytes; /* logical size of the entry */
    uint64_t offset;      /* within the entry, a multiple of the tier's alignment */
    uint64_t len;         /* logical bytes; the buffer has room for them rounded up to 4 KiB */
    void *buf;            /* aligned to 4 KiB; NULL for tiers that hold no bytes */
    bool on_device;       /* buf is memory of `device`; at its own tier: it is only checked there */
    uint32_t device;      /* index in its tier */
    uint64_t submit_ns;   /* run clock, set by the backend when the device got it */
    uint64_t complete_ns; /* run clock, set by the backend when the device was done */
    uint64_t lookup_ns;   /* first of an entry: how long the tier took to find it; 0: it did not look */
    int error; /* 0, or an errno, set by the backend; a short transfer is EIO, an entry that the tier
                  has lost ENODATA */
    bool kept; /* of a write, set by the backend: the tier has all of the entry already, and nothing moved */
    enum tier_check check;   /* of a read without a buffer from a tier that holds bytes */
    struct payload_id id;    /* content of the entry */
    const void *operation;   /* the same for all chunks of one operation, and for no others meanwhile */
    uint64_t bad_blocks;     /* found by the check, set by the backend; error is EBADMSG then */
    void *owner;             /* the submitter's */
    struct tier_chunk *next; /* free for the list that it is in */
    uint64_t internal[8];    /* the backend's, e.g. an iocb */
};

/* Inputs for opening a tier. */
struct tier_setup {
    const struct scenario *scenario;
    enum kvf_tier tier;
    uint64_t usable_bytes;
    uint64_t page_bytes;      /* scenario_page_bytes() */
    uint64_t min_entry_bytes; /* bounds the number of entries */
    uint32_t workers;
    uint64_t run_tag; /* random; names the run's directory */
    const struct run_clock *clock;
    const struct payload *payload; /* for tiers that make or check content; NULL: they cannot */
    struct tier *gpu;              /* that tier, open already; NULL: off, or not yet */
    /* Progress of long preparations, may be NULL; called from the opening thread. false: give up. */
    bool (*progress)(void *ctx, enum kvf_tier tier, double share);
    void *progress_ctx;
};

/* A device that holds a tier's bytes, as its driver names it; "" unknown. */
struct tier_device {
    uint32_t number; /* of tiers.gpu.devices */
    char uuid[48], bus[20];
};

struct tier;
struct tier_queue;

/* All that a tier has of a device's memory. */
struct tier_device_memory {
    void *base;
    uint64_t bytes;
    uint64_t grain; /* pieces of entries begin and end at multiples of it from the base on, but for an
                       entry's end, behind which its room goes on to the next */
};

/* The figures of a server behind a tier, its own and those of our use; counts are since the opening of the
 * tier, or since the server's start. NaN: it does not tell. */
struct tier_server {
    double connections, round_trips, sent_bytes, received_bytes;
    double used_bytes, max_bytes, evicted_keys, expired_keys, ops_per_s, hits, misses;
    double found, absent; /* entries of other runs: that were there, that were looked for in vain */
};

struct tier_ops {
    const char *name; /* as the log has it */
    /* NULL, or a malloc-free static sentence why this backend cannot be used here; itself NULL: it always
     * can. */
    const char *(*refusal)(const struct tier_setup *setup);
    /* Whether what is behind it can be used; changes nothing there. NULL: nothing to ask. */
    int (*check)(const struct scenario *s, struct err *e);
    int (*open)(struct tier **out, const struct tier_setup *setup, struct err *e);
    void (*close)(struct tier *t); /* removes what open created; takes NULL */
    /* One line: backend, device, file system, direct or why not. */
    void (*describe)(const struct tier *t, char *out, size_t len);
    uint32_t (*caps)(const struct tier *t);
    /* Places; caller holds the cache lock. alloc never fails for what fits the usable bytes. */
    uint64_t (*alloc)(struct tier *t, uint64_t bytes);
    void (*drop)(struct tier *t, uint64_t place, uint64_t bytes);
    /* A worker's queue. depth: chunks it may have in flight. Called by the worker's thread. */
    int (*queue_open)(struct tier *t, struct tier_queue **out, uint32_t worker, uint32_t depth,
                      struct err *e);
    /* Nothing may be in flight, except at a tier that holds no bytes: it forgets. Takes NULL. */
    void (*queue_close)(struct tier_queue *q);
    /* Makes a place ready for writing `bytes` (fallocate), or for reading (open): called by the
     * worker before the first and after the last chunk of an entry operation. begin returns 0 or an
     * errno. Either may be NULL. */
    int (*begin)(struct tier_queue *q, uint64_t place, uint64_t bytes, enum kvf_dir dir);
    void (*end)(struct tier_queue *q, uint64_t place, enum kvf_dir dir);
    /* Takes up to n chunks; returns how many it took (fewer: the ring or the kernel is full, try
     * after a reap). A chunk that cannot be submitted at all is taken and comes back with error. */
    unsigned (*submit)(struct tier_queue *q, struct tier_chunk **chunks, unsigned n);
    unsigned (*reap)(struct tier_queue *q, struct tier_chunk **done, unsigned max); /* never waits */
    int (*fd)(const struct tier_queue *q);           /* readable when something completed; -1: none */
    uint64_t (*next_ns)(const struct tier_queue *q); /* run time of the next timed completion, or KVF_NEVER */
    /* The members below may be NULL. The sentence behind the last chunk that came back with EREMOTEIO. */
    const char *(*why)(const struct tier_queue *q);
    /* The operation goes no further: no chunk of it is here, and no more will come. */
    void (*forget)(struct tier_queue *q, const void *operation);
    /* Where a byte of a place is, as people look for it: "byte 8192 of FILE". Between begin and end of a
     * read. */
    void (*where)(struct tier_queue *q, uint64_t place, uint64_t offset, char *out, size_t len);
    /* Host memory: where the bytes of a place from an offset on are, and how many of at most `want` are
     * there in one piece. Any thread, between begin and end. */
    uint64_t (*reach)(struct tier_queue *q, uint64_t place, uint64_t offset, uint64_t want, void **at);
    /* All of its memory, for pinning. */
    void *(*arena)(struct tier *t, uint64_t *bytes);
    /* Page-locks memory of the host for the copies of this tier, in pieces of bounded time, with progress
     * (`tier` is whose memory it is); unpin takes what pin took and what it did not. Any thread. */
    int (*pin)(struct tier *t, void *at, uint64_t bytes, const struct tier_setup *setup, struct err *e);
    void (*unpin)(struct tier *t, void *at);
    /* Its devices, at most `max`; returns how many. Any thread. */
    uint32_t (*devices)(const struct tier *t, struct tier_device *out, uint32_t max);
    /* Memory of devices: as reach, of this tier's places; in the landing area (TIER_NO_PLACE) the offset is
     * that in it, and there is room for tier_landings() chunks. */
    uint64_t (*reach_device)(struct tier_queue *q, uint64_t place, uint64_t offset, uint64_t want, void **at,
                             uint32_t *device);
    bool (*device_memory)(const struct tier *t, uint32_t device,
                          struct tier_device_memory *out); /* false: none */
    int (*bind)(struct tier *t, uint32_t device); /* the calling thread will use it; 0 or an error number */
    /* A sentence for the run's events on how the tier was opened; "" or NULL: nothing. */
    const char *(*notice)(const struct tier *t);
    /* Of a tier on a server. Never waits; the server's figures may be a second old. Any thread. */
    void (*server)(const struct tier *t, struct tier_server *out);
    /* A place just taken is that of an entry that another run may have written; under the cache lock. */
    void (*expect)(struct tier *t, uint64_t place, uint64_t key_hi, uint64_t key_lo);
    /* Of a tier that keeps time by channels: channels_used_ns(). Any thread. */
    uint64_t (*used_ns)(const struct tier *t, enum kvf_dir dir, uint64_t now_ns);
};

struct tier {
    const struct tier_ops *ops;
    enum kvf_tier tier;
    /* the backend's struct continues here */
};

/* One of every row of traits/backends.h. */
#define X(id, word, token, ...) extern const struct tier_ops tier_##token##_ops;
TRAITS_GPU_BACKEND_LIST(X)
TRAITS_CPU_BACKEND_LIST(X)
TRAITS_NVME_BACKEND_LIST(X)
TRAITS_REMOTE_BACKEND_LIST(X)
#undef X

/* The backend a scenario's tier uses on this machine; NULL with the reason in `e` when none can. */
const struct tier_ops *tier_backend(const struct tier_setup *setup, struct err *e);

/* Whether the devices that the scenario names can be used; if not, why in `out`, one sentence without a
 * subject ("no NVIDIA driver is installed ..."). Takes a moment where there is a driver. */
bool tier_cuda_ready(const struct scenario *s, char *out, size_t len);
/* Runtime, driver and least driver of this build and machine, one line. */
void tier_cuda_versions(char *out, size_t len);

/* Chunks that a worker may have on their way between files and device memory. */
enum { TIER_LANDINGS_MAX = 16 };
static inline uint32_t tier_landings(const struct scenario *s) {
    return s->nvme.io_depth < TIER_LANDINGS_MAX ? (uint32_t)s->nvme.io_depth : TIER_LANDINGS_MAX;
}
/* Versions of cuFile and the kernel module nvidia-fs, one line. Opens nothing. */
void tier_gds_versions(char *out, size_t len);

/* Pages that hold whatever fits the usable bytes, the rounding of every entry provisioned on top. */
uint64_t tier_setup_pages(const struct tier_setup *setup);

/* A directory with the name of a run directory that belongs to this user. */
enum tier_leftover_state {
    TIER_LEFTOVER_ENDED,    /* its marker names a process that is gone */
    TIER_LEFTOVER_UNMARKED, /* it has no valid marker */
    TIER_LEFTOVER_IN_USE,   /* by a run that goes on, as far as is known */
    TIER_LEFTOVER_CLOSED    /* it cannot be looked into */
};
struct tier_leftover {
    char path[PATH_MAX];
    enum tier_leftover_state state;
    long pid;       /* of the process that made it */
    int error;      /* CLOSED: why */
    uint64_t bytes; /* on the disk, of files of our naming */
};
/* All of them in a directory. *out is the caller's to free. 0 or -KVF_ERR_USAGE. */
int tier_nvme_leftovers_find(const char *parent, struct tier_leftover **out, size_t *count, struct err *e);
/* Removes one that is ENDED or UNMARKED still, but for what is not ours in it; false: it stays, and the
 * log says why. */
bool tier_nvme_leftover_remove(const struct tier_leftover *leftover);
/* Removes those under the scenario's nvme paths whose process is gone (left by kill -9); returns how many.
 * Names each through log, and with a warning those without a valid marker. */
unsigned tier_nvme_clean_leftovers(const struct scenario *s);
/* Directories without a valid marker in a few words, "" for none; returns their bytes on the disk. */
uint64_t tier_nvme_unmarked(const struct scenario *s, char *out, size_t len);
/* Asks the store behind the remote tier, where there is one, whether it can be used; nothing is changed
 * there. 0, or -KVF_ERR_UNAVAILABLE with a sentence that says what to do. */
int tier_remote_check(const struct scenario *s, struct err *e);
/* Before the process ends at once: removes the directories of its runs that are under way, which cannot go
 * on. May wait for a device. Any thread. */
void tier_nvme_abandon(void);
/* Checks the nvme paths without creating anything that stays: exists, a directory, no symlink to
 * elsewhere as its last component, not a system directory, writable. 0 or -KVF_ERR_USAGE. */
int tier_nvme_check_paths(const struct scenario *s, struct err *e);

#endif
