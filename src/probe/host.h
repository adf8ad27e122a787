/* Facts and counters of this machine: CPU, memory, kernel, process. Any thread unless noted. */
#ifndef KVF_PROBE_HOST_H
#define KVF_PROBE_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct host {
    char name[72], kernel[120], os[120], cpu_model[120], boot_id[40];
    uint32_t cpus_online;
    uint32_t cpus_usable;            /* affinity mask, and CPU quota of the cgroup rounded up */
    uint64_t memory_bytes;           /* MemTotal */
    uint64_t memory_available_bytes; /* MemAvailable, or what the cgroup still allows if that is less */
    bool memory_from_cgroup;
    char gpu[120]; /* "" where no driver answers; why in gpu_reason */
    char gpu_reason[160];
    uint32_t gpus;       /* that the driver shows */
    char gpu_driver[64]; /* its version; "" unknown */
};
void host_probe(struct host *h); /* fills it; unknown texts are "", unknown numbers 0 */
/* host_probe() of a machine whose files lie under `root` ("": this one), for tests; affinity, host name and
 * kernel are always this machine's. */
void host_probe_under(struct host *h, const char *root);
/* Only cpus_usable of host_probe(): 1 or more. */
uint32_t host_cpus_usable(void);
/* The CPUs usable by this process or by its parent, whichever are more: a launcher binds each of its
 * processes to a part of them. */
uint32_t host_cpus_beside(void);

/* Bytes of all third-level caches of this machine, from the kernel or else the C library; 0: unknown. */
uint64_t host_cache_bytes(void);
/* Only name and boot id of host_probe(). */
void host_identity(char *name, size_t name_len, char *boot_id, size_t boot_id_len);
/* The start of a process in clock ticks after boot. With pid and boot id it names one process, although pids
 * are reused. 0: no such process, or not visible. */
uint64_t host_process_start(int64_t pid);
/* Whether that process still runs; with start 0 (unknown) the pid alone decides. */
bool host_process_alive(int64_t pid, uint64_t start);
/* The PID namespace of this process, in which its pids are valid; 0: unknown. */
uint64_t host_pid_namespace(void);

/* Running counts, to be subtracted by the caller; NaN where the kernel does not tell. */
struct host_counts {
    double cpu_busy_ticks, cpu_total_ticks, cpu_steal_ticks; /* of all CPUs */
    double available_bytes;
    double net_rx_bytes, net_tx_bytes; /* all interfaces but lo */
    double process_user_s, process_sys_s, process_rss_bytes, process_rss_peak_bytes;
};
void host_count(struct host_counts *c);                         /* a few small reads of /proc; under 200 us */
void host_count_under(struct host_counts *c, const char *root); /* see host_probe_under() */

#endif
