/* Limits of the control groups around this process, version 1 and 2, every level up to the root.
 * Any thread. */
#ifndef KVF_PROBE_CGROUP_H
#define KVF_PROBE_CGROUP_H

#include <stdbool.h>
#include <stdint.h>

/* A folder of the memory controller that sets a limit, found once and asked often. */
struct cgroup_memory {
    char dir[512];
    bool v2;
};
enum { CGROUP_LEVELS = 8 };

/* Finds the levels with a memory limit, at most CGROUP_LEVELS; returns their number. `root` is the folder
 * with /proc and /sys, "" for this machine. */
unsigned cgroup_memory_find(const char *root, struct cgroup_memory *levels);
/* Bytes left at a level: its limit less the memory in use that cannot be reclaimed. UINT64_MAX when it has
 * lost its limit. *limit (may be NULL) is the limit itself. */
uint64_t cgroup_memory_left(const char *root, const struct cgroup_memory *level, uint64_t *limit);
/* The tightest CPU quota in CPUs; 0 when there is none. */
double cgroup_cpus(const char *root);

#endif
