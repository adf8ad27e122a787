/* Run directories: their names, markers and removal. Any thread.
 *
 * A run directory is called kvfall-<uid>-<pid>-<tag>. Its marker file names the process and the boot that
 * created it. That process keeps the directory and the marker locked while it lives. Both are on the device
 * before the first data, so they survive a power cut. A directory is a leftover, which the next start
 * removes, only if all of this holds: name, owner and marker agree, the process is gone, and the locks are
 * free. The locks tell processes of other containers and hosts apart, whose numbers may be the same. Only
 * files with our names are unlinked. */
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

/* Whether this is a name of this user, kvfall-<uid>-<pid>-<16 hex digits>; *pid gets the process. */
bool nvme_rundir_name(const char *name, long *pid);
/* Writes the marker of this process, to the device. 0, or -1 with errno. */
int nvme_rundir_mark(int marker_fd);
bool nvme_rundir_marker_read(int marker_fd, struct rundir_marker *m);
/* Whether the creator is known to be gone. On a shared file system only its own machine can tell. */
bool nvme_rundir_maker_is_gone(const struct rundir_marker *m, int dir_fd);
/* Whether a process with this number exists that is at least as old as the directory. */
bool nvme_rundir_pid_may_be_maker(long pid, int dir_fd);

/* Whether this errno of flock() means that the file system has no locks. */
bool nvme_rundir_lockless(int error);
/* Syncs the directory; 0 or an errno. A file system that cannot sync directories counts as success. */
int nvme_rundir_sync(int dir_fd);

/* Bytes of our files on the disk. */
uint64_t nvme_rundir_bytes(int dir_fd);
/* Removes our files in the directory, then the marker and the directory. If there is anything else inside,
 * both stay, so that the next start finds them; a warning names what is in the way, and the error of a failed
 * call. Closes dir_fd. */
bool nvme_rundir_remove(const char *path, int dir_fd);
/* The same without warnings, for a process that ends at once; false: something is left. */
bool nvme_rundir_remove_now(const char *path);

#endif
