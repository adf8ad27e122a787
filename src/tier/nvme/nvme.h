/* Internals of the nvme backend: run directories, layouts behind a small table of operations, and queues.
 * Only files of the backend include this. */
#ifndef KVF_TIER_NVME_NVME_H
#define KVF_TIER_NVME_NVME_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/err.h"
#include "probe/blockdev.h"
#include "probe/filesystem.h"
#include "tier/gds.h"
#include "tier/pager.h"
#include "tier/tier.h"

enum { NVME_UNIT = 4096 }; /* bytes; lengths on the device are multiples of it */

static inline uint64_t nvme_round(uint64_t bytes) {
    return (bytes + NVME_UNIT - 1) / NVME_UNIT * NVME_UNIT;
}

/* A run directory: created under one path of the scenario, locked through its marker file during the run, and
 * removed at its end. */
struct nvme_dir {
    char path[PATH_MAX];   /* of the run directory */
    int fd;                /* the directory; -1: not created */
    int marker_fd;         /* holds the lock; -1: none */
    struct nvme_dir *next; /* in the list of open ones */
    int spare_fd;          /* reserved for listing the directory at its removal; -1: none */
    bool direct;           /* opens files with O_DIRECT */
    bool to_gpu;           /* cuFile may use the files */
    bool in_memory;        /* tmpfs or similar: nothing to sync, no cache to drop */
    char why[200];         /* why not direct; "" otherwise */
    struct blockdev device;
};

/* Creates the run directory under `path`, the value of the scenario's `key`. 0 or a negative code. */
int nvme_dir_open(struct nvme_dir *d, const char *key, const char *path, uint64_t tag, struct err *e);
/* Removes the directory and our files in it. A warning names anything that stays: files of others, and files
 * that cannot be removed. */
void nvme_dir_close(struct nvme_dir *d);
enum { NVME_FILE_NAME = 24 };
/* The path of the file with this hash, relative to the directory: "ab/abcdef0123456789.kv". */
void nvme_file_name(uint64_t hash, char out[NVME_FILE_NAME]);
#define NVME_ARENA_NAME "arena.kv"
/* Between these calls the directory is also removed if the process ends for lack of memory. */
void nvme_last_keep(const char *path);
void nvme_last_forget(const char *path);
/* Opens a data file in the directory; fd or -errno. With `create` it creates the file, and its subdirectory
 * if need be. */
int nvme_dir_file(const struct nvme_dir *d, const char *name, bool create);

/* An entry operation on a queue, between begin and end. */
struct nvme_op {
    uint64_t place;
    uint64_t bytes;     /* of the entry */
    uint64_t done;      /* bytes of chunks that have succeeded */
    uint64_t cursor_at; /* offset of the cursor; UINT64_MAX: not set */
    struct pager_cursor cursor;
    uint32_t refs; /* number of operations that share it; 0: free */
    uint32_t next; /* in its hash bucket or in the free list */
    int fd;        /* layout files: the entry's file; arena: -1 */
    uint32_t path; /* layout files: index of the directory */
    void *file;    /* layout files: cuFile's handle; NULL: none yet */
    enum kvf_dir dir;
};

struct nvme_tier;

struct nvme_layout {
    const char *name;
    int (*open)(struct nvme_tier *t, const struct tier_setup *setup, struct err *e);
    void (*close)(struct nvme_tier *t);
    uint64_t (*alloc)(struct nvme_tier *t, uint64_t bytes);
    void (*drop)(struct nvme_tier *t, uint64_t place, uint64_t bytes);
    /* Fills in the layout's fields of the operation; 0 or an errno. */
    int (*begin)(struct nvme_tier *t, struct nvme_op *op);
    void (*end)(struct nvme_tier *t, struct nvme_op *op);
    /* The next contiguous piece of the entry, within one file; returns its length, at most `want`. */
    uint64_t (*piece)(const struct nvme_tier *t, struct nvme_op *op, uint64_t offset, uint64_t want, int *fd,
                      uint64_t *file_offset);
    /* The nth file that an operation must sync; -1: no more. */
    int (*sync_fd)(const struct nvme_tier *t, const struct nvme_op *op, unsigned nth);
};
extern const struct nvme_layout nvme_files, nvme_arena;

struct nvme_tier {
    struct tier base;
    const struct nvme_layout *layout;
    const struct run_clock *clock;
    uint64_t run_tag;
    uint64_t io_size;
    unsigned pieces_max; /* of one chunk; the rings are sized for it */
    bool sync_data;
    uint32_t dirs;
    struct nvme_dir dir[SCENARIO_PATHS_MAX];
    void *state;                        /* the layout's */
    struct gds *gds;                    /* direct path to device memory; NULL: through host memory */
    unsigned gds_pieces;                /* most pieces of a chunk on that path */
    void *gds_file[SCENARIO_PATHS_MAX]; /* layout arena: cuFile's handles of the files of sync_fd() */
    char notice[900];                   /* as tier_ops.notice */
    struct filesystem filesystem;       /* of a shared directory */
};

/* ---- nvme.c: also for the remote tier in a shared directory ---- */

/* The directories and options of a tier. */
struct nvme_plan {
    const struct tier_ops *ops;
    const char *key; /* of the scenario, with the paths */
    const char (*path)[SCENARIO_PATH];
    uint32_t paths;
    const struct nvme_layout *layout;
    uint64_t tag; /* in the names of its run directories */
    bool direct, sync_data, to_gpu;
};
int nvme_tier_open(struct nvme_tier **out, const struct tier_setup *setup, const struct nvme_plan *plan,
                   struct err *e);
void nvme_tier_close(struct tier *t);
const char *nvme_tier_refusal(const struct tier_setup *setup);
uint32_t nvme_tier_caps(const struct tier *t);
uint64_t nvme_tier_alloc(struct tier *t, uint64_t bytes);
void nvme_tier_drop(struct tier *t, uint64_t place, uint64_t bytes);
const char *nvme_tier_notice(const struct tier *t);
/* "direct I/O", or what is used instead and why. */
void nvme_dir_way(const struct nvme_dir *d, char *out, size_t len);

/* ---- nvme_path.c, nvme_leftovers.c ---- */

/* As tier_nvme_check_paths(), for one path, which is the value of the scenario's `key`. */
int nvme_path_check(const char *key, const char *path, struct err *e);
/* As tier_nvme_clean_leftovers(), for one path. */
unsigned nvme_path_clean(const char *path);

/* ---- nvme_op.c: operations of a queue ---- */

#define NVME_NO_OP UINT32_MAX
struct nvme_op_table {
    struct nvme_op *op;
    uint32_t *bucket;
    uint32_t ops, op_free; /* ops: a power of two */
};
int nvme_ops_open(struct nvme_op_table *o); /* 0 or ENOMEM */
void nvme_ops_close(struct nvme_op_table *o);
uint32_t nvme_op_find(const struct nvme_op_table *o, uint64_t place,
                      enum kvf_dir dir); /* index or NVME_NO_OP */
/* As begin and end of struct tier_ops. */
int nvme_op_begin(struct nvme_op_table *o, struct nvme_tier *t, uint64_t place, uint64_t bytes,
                  enum kvf_dir dir);
void nvme_op_end(struct nvme_op_table *o, struct nvme_tier *t, uint64_t place, enum kvf_dir dir);

/* Writes "byte 8192 of FILE" for a read of the place in progress; "": there is none. */
void nvme_op_where(const struct nvme_op_table *o, const struct nvme_tier *t, uint64_t place, uint64_t offset,
                   char *out, size_t len);

/* ---- nvme_gds.c: transfers between files and device memory ---- */

/* Opens the direct path if the scenario asks for it, after the layout. 0, also without the path, or a
 * negative code. */
int nvme_gds_open(struct nvme_tier *t, const struct tier_setup *setup, struct err *e);
void nvme_gds_close(struct nvme_tier *t);
/* cuFile's handle of a piece's file. 0, or cuFile's code. */
int nvme_gds_file(struct nvme_tier *t, struct nvme_op *op, int fd, void **file);
/* Call it before the layout's end(). */
void nvme_gds_end(struct nvme_tier *t, struct nvme_op *op);

/* After an operation without direct I/O: waits until the data is on the device, then drops it from the page
 * cache. */
void nvme_drop_cache(const struct nvme_dir *d, int fd, enum kvf_dir dir, uint64_t offset, uint64_t len);

/* ---- queues: the operations of struct tier_ops, on the worker's thread ---- */
int nvme_queue_open(struct tier *t, struct tier_queue **out, uint32_t worker, uint32_t depth, struct err *e);
void nvme_queue_close(struct tier_queue *q);
int nvme_queue_begin(struct tier_queue *q, uint64_t place, uint64_t bytes, enum kvf_dir dir);
void nvme_queue_end(struct tier_queue *q, uint64_t place, enum kvf_dir dir);
unsigned nvme_queue_submit(struct tier_queue *q, struct tier_chunk **chunks, unsigned n);
unsigned nvme_queue_reap(struct tier_queue *q, struct tier_chunk **done, unsigned max);
int nvme_queue_fd(const struct tier_queue *q);
uint64_t nvme_queue_next_ns(const struct tier_queue *q);
void nvme_queue_where(struct tier_queue *q, uint64_t place, uint64_t offset, char *out, size_t len);
const char *nvme_queue_why(const struct tier_queue *q);
/* Operations in common with the remote tier in a shared directory. */
#define NVME_OPS                                                                                             \
    .refusal = nvme_tier_refusal, .close = nvme_tier_close, .caps = nvme_tier_caps,                          \
    .alloc = nvme_tier_alloc, .drop = nvme_tier_drop, .queue_open = nvme_queue_open,                         \
    .queue_close = nvme_queue_close, .end = nvme_queue_end, .submit = nvme_queue_submit,                     \
    .reap = nvme_queue_reap, .fd = nvme_queue_fd, .next_ns = nvme_queue_next_ns, .why = nvme_queue_why,      \
    .where = nvme_queue_where, .notice = nvme_tier_notice

#endif
