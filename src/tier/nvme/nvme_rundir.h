/* Run directories, their marks and their removal: for nvme_dir.c, which makes them, and nvme_leftovers.c,
 * which finds leftovers.
 *
 * A run directory is named kvfall-<uid>-<pid>-<tag> and holds a marker file that says which process of
 * which boot made it. The maker keeps the directory and its marker locked while it lives; both are on the
 * device before the first data, so that a power cut takes neither. A directory is a leftover, and is
 * removed by the next start, only if everything agrees: the name, the owner, the marker, the process is
 * gone, and the locks are free (which also tells processes apart that another container or host numbers).
 * Only files of our own naming are ever unlinked. */
#ifndef KVF_TIER_NVME_NVME_RUNDIR_H
#define KVF_TIER_NVME_NVME_RUNDIR_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#define RUNDIR_MARKER "kvfall.run"

enum { RUNDIR_BOOT = 64, RUNDIR_HOST = 65 };

struct rundir_marker {
    unsigned uid;
    long pid;
    uint64_t start; /* of the process, in clock ticks since boot */
    char boot[RUNDIR_BOOT], host[RUNDIR_HOST];
};

/* kvfall-<uid>-<pid>-<16 hex digits> of this user; the process that it names. */
bool nvme_rundir_name(const char *name, long *pid);
/* Says that this process made the directory; 0, or -1 with errno. The marker is on the device then. */
int nvme_rundir_mark(int marker_fd);
bool nvme_rundir_marker_read(int marker_fd, struct rundir_marker *m);
/* On a file system shared with other machines, only the maker's machine knows it. */
bool nvme_rundir_maker_is_gone(const struct rundir_marker *m, int dir_fd);
/* Whether a process of that number is there that is not younger than the directory. */
bool nvme_rundir_pid_may_be_maker(long pid, int dir_fd);

/* Whether flock() failed so because the file system has no locks. */
bool nvme_rundir_lockless(int error);
/* 0 or an errno; a file system that syncs no directories has none to lose. */
int nvme_rundir_sync(int dir_fd);

/* Bytes that the files of our naming take on the disk. */
uint64_t nvme_rundir_bytes(int dir_fd);
/* Removes what is ours in the directory, then the marker and the directory itself. With anything else
 * inside it stays, marker and all, so that the next start finds it again; what is in the way is said
 * with its name, and with its errno where a call failed. Takes dir_fd. */
bool nvme_rundir_remove(const char *path, int dir_fd);
/* The same without a word, for a process that ends at once; false while something is left. */
bool nvme_rundir_remove_now(const char *path);

#endif
