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

/* The levels with a memory limit, at most CGROUP_LEVELS; returns how many. `root`: where /proc and /sys are
 * looked for, "" for the machine itself. */
unsigned cgroup_memory_find(const char *root, struct cgroup_memory *levels);
/* Bytes that a level still gives: its limit less what is in use and cannot be reclaimed. UINT64_MAX
 * when it sets none any more. *limit (may be NULL) is the limit itself. */
uint64_t cgroup_memory_left(const char *root, const struct cgroup_memory *level, uint64_t *limit);
/* The tightest CPU quota in CPUs; 0 when there is none. */
double cgroup_cpus(const char *root);

#endif
