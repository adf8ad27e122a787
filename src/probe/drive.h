/* The writable drives of this machine, and the fastest of them by its kind as the kernel tells it. Nothing is
 * written and nothing measured. Any thread. */
#ifndef KVF_PROBE_DRIVE_H
#define KVF_PROBE_DRIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "probe/blockdev.h"

/* Best first. The "rotational" of a virtual disk means nothing. */
#define DRIVE_CLASS_LIST(X)                                                                                  \
    X(NVME, "NVMe drive")                                                                                    \
    X(SSD, "solid-state drive")                                                                              \
    X(VIRTUAL, "virtual disk")                                                                               \
    X(UNKNOWN, "disk of unknown kind")                                                                       \
    X(ROTATIONAL, "rotating disk")
#define X(id, name) DRIVE_##id,
enum drive_class { DRIVE_CLASS_LIST(X) DRIVE_CLASSES };
#undef X

struct drive {
    char dir[512]; /* a directory on it where this process may make others */
    enum drive_class class;
    uint64_t free_bytes; /* for this process */
    struct blockdev device;
};
enum { DRIVES_MAX = 32 };

/* Lists one entry per block device: the first directory on it that is `usable` (NULL: any), searched in the
 * working directory, home, the temporary directories and all mount points. Leaves out file systems without
 * direct I/O of their own or made for exchange (vfat, exfat, ntfs), read-only mounts and devices in memory
 * (zram, ram). Returns the number of entries. */
typedef bool drive_usable(const char *dir);
unsigned drive_list(drive_usable *usable, struct drive *out, unsigned max);
/* drive_list() with other first directories, /sys and /proc/self/mountinfo, for tests. */
unsigned drive_list_in(const char *const *dirs, size_t dir_count, const char *sys_root, const char *mountinfo,
                       drive_usable *usable, struct drive *out, unsigned max);

/* The index of the best drive with at least `room` bytes free: by class, then by free space, then the first;
 * -1: none. `why` (may be NULL) gets the reason as a phrase: "the only drive with room". */
int drive_best(const struct drive *d, unsigned count, uint64_t room, char *why, size_t len);

#endif
