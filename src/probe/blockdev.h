/* The block device and the file system under a path, whether direct I/O works there, and what the
 * kernel has counted for the device.
 *
 * A path on tmpfs, overlay, a network or another file system without a block device of its own is
 * an answer, not an error: `present` is false and `absent_why` says so. Any thread. */
#ifndef KVF_PROBE_BLOCKDEV_H
#define KVF_PROBE_BLOCKDEV_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

enum blockdev_direct { BLOCKDEV_DIRECT_UNKNOWN, BLOCKDEV_DIRECT_YES, BLOCKDEV_DIRECT_NO };

struct blockdev {
    bool present;            /* a block device is under the path */
    char absent_why[160];    /* when not: "tmpfs keeps its files in memory" */
    unsigned major, minor;   /* of the device that the file system is on */
    char name[64];           /* "nvme0n1p2" */
    char disk[64];           /* "nvme0n1"; name itself for a whole disk */
    char model[128];         /* "" where the kernel does not tell */
    char firmware[64];       /* "" where the kernel does not tell */
    uint32_t logical_block;  /* bytes; 0 unknown */
    uint32_t physical_block; /* bytes; 0 unknown */
    int rotational;          /* 1, 0, or -1 unknown */

    char fs_type[32];        /* "ext4" */
    char mount_point[512];   /* decoded */
    char mount_options[512]; /* of the mount, then of the file system */
    char source[256];        /* "/dev/nvme0n1p2" */

    enum blockdev_direct direct;              /* outcome of blockdev_direct() on a file there */
    uint32_t dio_mem_align, dio_offset_align; /* bytes; 0 when the kernel does not tell */
    char direct_why[160];                     /* a phrase: "STATX_DIOALIGN: memory 512, offset 512" */
};

/* The kernel's counts for a device since its start; differences of two readings are a period's. */
struct blockdev_counters {
    uint64_t read_ios, read_bytes, read_ms;
    uint64_t write_ios, write_bytes, write_ms;
    uint64_t in_flight;        /* now */
    uint64_t io_ticks_ms;      /* time with anything in flight */
    uint64_t time_in_queue_ms; /* sum over requests */
};

/* Finds the device under an existing path. Direct I/O is tried on an unnamed file there, which leaves nothing
 * behind, and stays unknown where none can be made. 0 or -KVF_ERR_IO. */
int blockdev_find(const char *path, struct blockdev *out, struct err *e);
/* blockdev_find() with /sys and /proc/self/mountinfo elsewhere, for tests; leaves direct I/O unknown. */
int blockdev_find_in(const char *path, const char *sys_root, const char *mountinfo, struct blockdev *out,
                     struct err *e);

/* Decides for an open regular file whether O_DIRECT bypasses the page cache for transfers aligned to
 * 4 KiB: by STATX_DIOALIGN where the kernel has it, else by the type of the file system. Fills the
 * direct fields of `out`, whose fs_type is set. */
void blockdev_direct(int fd, struct blockdev *out);

/* Reads the device's counters: 0, or -1 when there is no device or the kernel does not count it. */
int blockdev_counters(const struct blockdev *b, struct blockdev_counters *out);
int blockdev_counters_in(const char *sys_root, const struct blockdev *b, struct blockdev_counters *out);

#endif
