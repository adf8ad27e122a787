/* The drives of this machine that files can be written to, and which of them is the fastest by what the
 * kernel says of it. Nothing is written and nothing measured. Any thread. */
#ifndef KVF_PROBE_DRIVE_H
#define KVF_PROBE_DRIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "probe/blockdev.h"

/* Best first. A virtual disk does not tell what is behind it: its "rotational" means nothing. */
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

/* One entry per block device: the working directory, home, the temporary directories and all mount points
 * are looked at in this order, and the first on a device that is `usable` (NULL: any) stands for it. File
 * systems without direct I/O of their own or made for exchange (vfat, exfat, ntfs), read-only mounts and
 * devices in memory (zram, ram) are left out. Returns how many. */
typedef bool drive_usable(const char *dir);
unsigned drive_list(drive_usable *usable, struct drive *out, unsigned max);
/* The same with the directories that come first, /sys and /proc/self/mountinfo from elsewhere. */
unsigned drive_list_in(const char *const *dirs, size_t dir_count, const char *sys_root, const char *mountinfo,
                       drive_usable *usable, struct drive *out, unsigned max);

/* The index of the best one with at least `room` bytes free: by class, then by free space, then the first;
 * -1 when there is none. `why` (may be NULL) gets the reason in a phrase: "the only drive with room". */
int drive_best(const struct drive *d, unsigned count, uint64_t room, char *why, size_t len);

#endif
