/* A tier stores the bytes of entries. A backend moves chunks; engine/move/transfer cuts entries into chunks,
 * stamps, checks and times them, in the same way for every backend.
 *
 * All workers share a struct tier. Each worker opens its own struct tier_queue on it, with its own ring and
 * counters, and no other thread touches that queue. A place is an opaque number that says where an entry's
 * bytes are. Places are allocated and freed under the cache lock, without I/O. */
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
    TIER_HOLDS_BYTES = 1,    /* chunks carry data through a buffer; otherwise only sizes are kept */
    TIER_INSTANT = 2,        /* submit completes the chunk; reap returns it at once */
    TIER_EMULATED = 4,       /* its numbers must be labelled */
    TIER_WHOLE_ENTRY = 8,    /* wants an entry as one chunk */
    TIER_MAKES = 16,         /* generates the content of a new entry itself: one chunk without a buffer */
    TIER_READS = 32,         /* checks in place an entry that is only read: one chunk without a buffer */
    TIER_REACHES = 64,       /* copies to and from any pinned host memory, and has a landing area */
    TIER_TAKES_DEVICE = 128, /* also takes chunks whose buffer is in device memory */
    TIER_COMPAT = 256,       /* copies those through host memory; its numbers must be labelled */
    TIER_IN_ORDER = 512      /* needs the chunks of an operation in the order of their offsets */
};

enum tier_check { TIER_CHECK_NONE, TIER_CHECK_HEADER, TIER_CHECK_FULL };

/* No place. A tier with a landing area writes such a chunk there. */
#define TIER_NO_PLACE UINT64_MAX

/* A piece of an entry in flight. The submitter owns the chunk and its buffer, and keeps both valid until reap
 * returns the chunk. */
struct tier_chunk {
    enum kvf_dir dir;
    uint64_t place;       /* of the entry */
    uint64_t entry_bytes; /* logical size of the entry */
    uint64_t offset;      /* within the entry, a multiple of the tier's alignment */
    uint64_t len;         /* logical bytes; the buffer has room for them, rounded up to 4 KiB */
    void *buf;            /* aligned to 4 KiB; NULL for tiers that hold no bytes */
    bool on_device;       /* buf is memory of `device`; a device's own tier only checks it */
    uint32_t device;      /* index within its tier */
    uint64_t submit_ns;   /* run clock when the device got it; set by the backend */
    uint64_t complete_ns; /* run clock when the device was done; set by the backend */
    uint64_t lookup_ns;   /* first chunk of an entry: duration of the lookup; 0: none was made */
    int error; /* 0 or an errno, set by the backend: EIO for a short transfer, ENODATA for an entry that
                  the tier has lost */
    bool kept; /* write: the tier had all of the entry already, and nothing moved; set by the backend */
    enum tier_check check;   /* for a read without a buffer from a tier that holds bytes */
    struct payload_id id;    /* content of the entry */
    const void *operation;   /* identifies the operation among those in flight */
    uint64_t bad_blocks;     /* that the check found, with error EBADMSG; set by the backend */
    void *owner;             /* the submitter's */
    struct tier_chunk *next; /* for whatever list it is in */
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
    const struct payload *payload; /* to generate or check content; NULL: the tier cannot */
    struct tier *gpu;              /* the open gpu tier; NULL: off, or not open yet */
    /* Reports the progress of a long preparation, on the opening thread; may be NULL. false: give up. */
    bool (*progress)(void *ctx, enum kvf_tier tier, double share);
    void *progress_ctx;
};

/* A device that holds a tier's bytes, by the driver's names; "": unknown. */
struct tier_device {
    uint32_t number; /* as in tiers.gpu.devices */
    char uuid[48], bus[20];
};

struct tier;
struct tier_queue;

/* A tier's memory on a device. */
struct tier_device_memory {
    void *base;
    uint64_t bytes;
    uint64_t grain; /* pieces of entries begin and end at multiples of it from the base; the last piece
                       may end earlier, but the room up to the next multiple is the entry's */
};

/* Metrics of a server behind a tier: the server's own, counted since its start, and those of this run,
 * counted since the tier was opened. NaN: unknown. */
struct tier_server {
    double connections, round_trips, sent_bytes, received_bytes;
    double used_bytes, max_bytes, evicted_keys, expired_keys, ops_per_s, hits, misses;
    double found, absent; /* lookups of other runs' entries: hits, misses */
};

struct tier_ops {
    const char *name; /* in messages */
    /* A static sentence that says why this machine cannot use the backend; NULL: it can. The member itself
     * may be NULL: every machine can. */
    const char *(*refusal)(const struct tier_setup *setup);
    /* Checks that the store behind the tier can be used, and changes nothing there. NULL: no check. */
    int (*check)(const struct scenario *s, struct err *e);
    int (*open)(struct tier **out, const struct tier_setup *setup, struct err *e);
    void (*close)(struct tier *t); /* removes everything that open created; takes NULL */
    /* One line: backend, device, file system, direct I/O or why not. */
    void (*describe)(const struct tier *t, char *out, size_t len);
    uint32_t (*caps)(const struct tier *t);
    /* Places; the caller holds the cache lock. alloc succeeds while entries fit the usable bytes. */
    uint64_t (*alloc)(struct tier *t, uint64_t bytes);
    void (*drop)(struct tier *t, uint64_t place, uint64_t bytes);
    /* A worker's queue with at most `depth` chunks in flight. This and all calls on it: the worker's thread.
     */
    int (*queue_open)(struct tier *t, struct tier_queue **out, uint32_t worker, uint32_t depth,
                      struct err *e);
    /* No chunk may be in flight; a tier that holds no bytes drops those that are. Takes NULL. */
    void (*queue_close)(struct tier_queue *q);
    /* begin prepares a place before the first chunk of an operation, for writing `bytes` (fallocate) or for
     * reading (open); 0 or an errno. end follows the last chunk. Either may be NULL. */
    int (*begin)(struct tier_queue *q, uint64_t place, uint64_t bytes, enum kvf_dir dir);
    void (*end)(struct tier_queue *q, uint64_t place, enum kvf_dir dir);
    /* Takes up to n chunks and returns their number. Fewer than n: the ring or the kernel is full, try again
     * after a reap. A chunk that cannot be submitted at all is taken, and reap returns it with its error. */
    unsigned (*submit)(struct tier_queue *q, struct tier_chunk **chunks, unsigned n);
    unsigned (*reap)(struct tier_queue *q, struct tier_chunk **done, unsigned max); /* never waits */
    int (*fd)(const struct tier_queue *q);           /* readable when a chunk has completed; -1: none */
    uint64_t (*next_ns)(const struct tier_queue *q); /* run time of the next timed completion, or KVF_NEVER */
    /* The members below may be NULL. Why the last chunk with error EREMOTEIO failed, as a sentence. */
    const char *(*why)(const struct tier_queue *q);
    /* The operation has ended: none of its chunks is in flight, and none will follow. */
    void (*forget)(struct tier_queue *q, const void *operation);
    /* The position of a byte of a place in words: "byte 8192 of FILE". Between begin and end of a read. */
    void (*where)(struct tier_queue *q, uint64_t place, uint64_t offset, char *out, size_t len);
    /* Host memory: the address of a place's bytes from an offset on, and how many of `want` are contiguous
     * there. Any thread, between begin and end. */
    uint64_t (*reach)(struct tier_queue *q, uint64_t place, uint64_t offset, uint64_t want, void **at);
    /* The whole memory of the tier, for pinning. */
    void *(*arena)(struct tier *t, uint64_t *bytes);
    /* Page-locks host memory for copies to and from this tier, piece by piece, with progress. The memory is
     * that of setup->tier. unpin may be called whether pin succeeded or not. Any thread. */
    int (*pin)(struct tier *t, void *at, uint64_t bytes, const struct tier_setup *setup, struct err *e);
    void (*unpin)(struct tier *t, void *at);
    /* Fills in at most `max` devices and returns their number. Any thread. */
    uint32_t (*devices)(const struct tier *t, struct tier_device *out, uint32_t max);
    /* Device memory: as reach. With TIER_NO_PLACE the offset is one in the landing area, which has room for
     * tier_landings() chunks. */
    uint64_t (*reach_device)(struct tier_queue *q, uint64_t place, uint64_t offset, uint64_t want, void **at,
                             uint32_t *device);
    bool (*device_memory)(const struct tier *t, uint32_t device,
                          struct tier_device_memory *out); /* false: none */
    int (*bind)(struct tier *t,
                uint32_t device); /* makes it the calling thread's device; 0 or an error number */
    /* A sentence about the opening of the tier, for the run's events; "" or NULL: none. */
    const char *(*notice)(const struct tier *t);
    /* Metrics of the tier's server. Never waits; the server's own may be a second old. Any thread. */
    void (*server)(const struct tier *t, struct tier_server *out);
    /* The entry of a newly allocated place may have been written by another run. Under the cache lock. */
    void (*expect)(struct tier *t, uint64_t place, uint64_t key_hi, uint64_t key_lo);
    /* channels_used_ns() of a tier that is timed by channels. Any thread. */
    uint64_t (*used_ns)(const struct tier *t, enum kvf_dir dir, uint64_t now_ns);
};

struct tier {
    const struct tier_ops *ops;
    enum kvf_tier tier;
    /* the backend's struct continues here */
};

/* One for each row of traits/backends.h. */
#define X(id, word, token, ...) extern const struct tier_ops tier_##token##_ops;
TRAITS_GPU_BACKEND_LIST(X)
TRAITS_CPU_BACKEND_LIST(X)
TRAITS_NVME_BACKEND_LIST(X)
TRAITS_REMOTE_BACKEND_LIST(X)
#undef X

/* The backend that a scenario's tier uses on this machine; NULL, with the reason in `e`, if there is none. */
const struct tier_ops *tier_backend(const struct tier_setup *setup, struct err *e);

/* Whether the scenario's devices can be used; if not, `out` gets a clause with the reason ("no NVIDIA driver
 * is installed ..."). Initialises the driver, if there is one, which takes a moment. */
bool tier_cuda_ready(const struct scenario *s, char *out, size_t len);
/* One line: the CUDA versions of runtime and driver, and the oldest driver that this build accepts. */
void tier_cuda_versions(char *out, size_t len);

/* The number of chunks that a worker may have in flight between files and device memory. */
enum { TIER_LANDINGS_MAX = 16 };
static inline uint32_t tier_landings(const struct scenario *s) {
    return s->nvme.io_depth < TIER_LANDINGS_MAX ? (uint32_t)s->nvme.io_depth : TIER_LANDINGS_MAX;
}
/* One line: the versions of cuFile and of the kernel module nvidia-fs. Opens no device. */
void tier_gds_versions(char *out, size_t len);

/* The number of pages for the usable bytes, with the rounding of every entry included. */
uint64_t tier_setup_pages(const struct tier_setup *setup);

/* A directory of this user with the name of a run directory. */
enum tier_leftover_state {
    TIER_LEFTOVER_ENDED,    /* its marker names a process that is gone */
    TIER_LEFTOVER_UNMARKED, /* it has no valid marker */
    TIER_LEFTOVER_IN_USE,   /* its run may still be in progress */
    TIER_LEFTOVER_CLOSED    /* it cannot be read */
};
struct tier_leftover {
    char path[PATH_MAX];
    enum tier_leftover_state state;
    long pid;       /* of the process that made it */
    int error;      /* CLOSED: why */
    uint64_t bytes; /* of our files, on the disk */
};
/* Finds all of them in a directory; the caller frees *out. 0 or -KVF_ERR_USAGE. */
int tier_nvme_leftovers_find(const char *parent, struct tier_leftover **out, size_t *count, struct err *e);
/* Removes one that is still ENDED or UNMARKED, with our files in it. False: it stays, because it holds other
 * files or cannot be removed; the log says why. */
bool tier_nvme_leftover_remove(const struct tier_leftover *leftover);
/* Removes the directories under the scenario's nvme paths whose process is gone (after kill -9), and returns
 * their number. The log names each; directories without a valid marker get a warning. */
unsigned tier_nvme_clean_leftovers(const struct scenario *s);
/* Describes the directories without a valid marker, "" for none; returns their bytes on the disk. */
uint64_t tier_nvme_unmarked(const struct scenario *s, char *out, size_t len);
/* Checks that the store of the remote tier, if there is one, can be used, and changes nothing there. 0, or
 * -KVF_ERR_UNAVAILABLE with the remedy. */
int tier_remote_check(const struct scenario *s, struct err *e);
/* Removes the directories of the runs in progress, for a process that ends at once. May wait for a device.
 * Any thread. */
void tier_nvme_abandon(void);
/* Checks the nvme paths, and leaves nothing behind: each is an existing, writable directory, not a symbolic
 * link and not a system directory. 0 or -KVF_ERR_USAGE. */
int tier_nvme_check_paths(const struct scenario *s, struct err *e);

#endif
