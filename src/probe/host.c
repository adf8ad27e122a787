#include "probe/host.h"

#include <errno.h>
#include <dirent.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "probe/cgroup.h"
#include "probe/file.h"

static void trim(char *text) {
    size_t len = strlen(text);
    while (len && strchr(" \t\r\n\"", text[len - 1])) text[--len] = '\0';
    size_t skip = strspn(text, " \t\"");
    memmove(text, text + skip, len - skip + 1);
}

/* The text behind `separator` in the first line of `text` that begins with `key`. */
static bool text_value(const char *text, const char *key, char separator, char *out, size_t len) {
    size_t key_len = strlen(key);
    for (const char *p = text; p && *p; p = strchr(p, '\n'), p = p ? p + 1 : NULL) {
        if (strncmp(p, key, key_len) != 0) continue;
        const char *value = p + key_len + strspn(p + key_len, " \t");
        if (*value != separator) continue;
        snprintf(out, len, "%.*s", (int)strcspn(value + 1, "\n"), value + 1);
        trim(out);
        return *out != '\0';
    }
    return false;
}

static void probe_os(struct host *h, const char *root, const struct utsname *u) {
    char *text = file_text(root, "/etc/os-release");
    if (!text) text = file_text(root, "/usr/lib/os-release");
    if (!text || !text_value(text, "PRETTY_NAME", '=', h->os, sizeof h->os))
        snprintf(h->os, sizeof h->os, "%s", u->sysname);
    free(text);
}

/* x86 names its processor; Arm machines give the board's name at most. */
static void probe_cpu_model(struct host *h, const char *root, const struct utsname *u) {
    char *text = file_text(root, "/proc/cpuinfo");
    static const char *const keys[] = {"model name", "Model", "cpu model", "cpu", "Hardware"};
    bool found = false;
    for (size_t i = 0; text && !found && i < sizeof keys / sizeof *keys; i++)
        found = text_value(text, keys[i], ':', h->cpu_model, sizeof h->cpu_model);
    free(text);
    if (!found) snprintf(h->cpu_model, sizeof h->cpu_model, "%s", u->machine);
}

/* CPUs in the affinity mask. Machines with more than 1,024 need a larger set than cpu_set_t. */
static uint32_t affinity_count(pid_t of) {
    for (int cpus = CPU_SETSIZE; cpus <= 1 << 20; cpus *= 2) {
        cpu_set_t *set = CPU_ALLOC(cpus);
        if (!set) return 0;
        size_t size = CPU_ALLOC_SIZE(cpus);
        int rc = sched_getaffinity(of, size, set);
        int count = rc == 0 ? CPU_COUNT_S(size, set) : 0;
        CPU_FREE(set);
        if (rc == 0) return (uint32_t)count;
        if (errno != EINVAL) return 0;
    }
    return 0;
}

static uint32_t cpus_online(void) {
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (uint32_t)online : 1;
}

static uint32_t cpus_usable(const char *root, pid_t by) {
    uint32_t usable = affinity_count(by);
    if (!usable) usable = cpus_online();
    double quota = ceil(cgroup_cpus(root));
    return quota > 0 && quota < usable ? (uint32_t)quota : usable;
}

uint32_t host_cpus_usable(void) {
    return cpus_usable("", 0);
}

uint32_t host_cpus_beside(void) {
    uint32_t own = cpus_usable("", 0), launcher = cpus_usable("", getppid());
    return own > launcher ? own : launcher;
}

/* MemAvailable, and whether a control group allows less; NaN where the kernel does not say. */
static double available_bytes(const char *root, const char *meminfo, const struct cgroup_memory *levels,
                              unsigned count, bool *from_cgroup) {
    uint64_t kib = 0;
    bool known = meminfo && file_keyed(meminfo, "MemAvailable:", &kib);
    uint64_t least = known ? kib * 1024 : UINT64_MAX;
    *from_cgroup = false;
    for (unsigned i = 0; i < count; i++) {
        uint64_t left = cgroup_memory_left(root, &levels[i], NULL);
        if (left >= least) continue;
        least = left;
        *from_cgroup = true;
    }
    return least == UINT64_MAX ? (double)NAN : (double)least;
}

static void probe_memory(struct host *h, const char *root) {
    struct cgroup_memory levels[CGROUP_LEVELS];
    unsigned count = cgroup_memory_find(root, levels);
    char *meminfo = file_text(root, "/proc/meminfo");
    uint64_t kib = 0;
    if (meminfo && file_keyed(meminfo, "MemTotal:", &kib)) h->memory_bytes = kib * 1024;
    double available = available_bytes(root, meminfo, levels, count, &h->memory_from_cgroup);
    h->memory_available_bytes = isnan(available) ? 0 : (uint64_t)available;
    free(meminfo);
}

/* A display or 3D controller of the vendor on the PCI bus. */
static bool pci_has_gpu(const char *root, const char *vendor) {
    char path[512], line[32];
    snprintf(path, sizeof path, "%s/sys/bus/pci/devices", root);
    DIR *dir = opendir(path);
    bool found = false;
    struct dirent *d;
    while (dir && !found && (d = readdir(dir))) {
        if (d->d_name[0] == '.' || strlen(d->d_name) > 64) continue;
        snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/class", d->d_name);
        if (!file_line(root, path, line, sizeof line) || strncmp(line, "0x03", 4) != 0) continue;
        snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/vendor", d->d_name);
        found = file_line(root, path, line, sizeof line) && strcmp(line, vendor) == 0;
    }
    if (dir) closedir(dir);
    return found;
}

static void count_gpus(struct host *h, const char *root, char *model, size_t len) {
    char path[512];
    snprintf(path, sizeof path, "%s/proc/driver/nvidia/gpus", root);
    DIR *dir = opendir(path);
    struct dirent *d;
    while (dir && (d = readdir(dir))) {
        if (d->d_name[0] == '.' || strlen(d->d_name) > 64) continue;
        snprintf(path, sizeof path, "/proc/driver/nvidia/gpus/%s/information", d->d_name);
        char *text = file_text(root, path);
        if (text && !*model) text_value(text, "Model", ':', model, len);
        h->gpus += text != NULL;
        free(text);
    }
    if (dir) closedir(dir);
}

static void probe_gpu(struct host *h, const char *root) {
    char model[100] = "", line[200];
    count_gpus(h, root, model, sizeof model);
    if (file_line(root, "/proc/driver/nvidia/version", line, sizeof line)) {
        /* "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  date": the first dotted number */
        char *save = NULL;
        for (char *w = strtok_r(line, " \t", &save); w && !*h->gpu_driver; w = strtok_r(NULL, " \t", &save))
            if (strspn(w, "0123456789.") == strlen(w) && strchr(w, '.'))
                snprintf(h->gpu_driver, sizeof h->gpu_driver, "%.63s", w);
    }
    if (h->gpus > 1)
        snprintf(h->gpu, sizeof h->gpu, "%u x %s", h->gpus, *model ? model : "NVIDIA GPU");
    else if (h->gpus)
        snprintf(h->gpu, sizeof h->gpu, "%s", *model ? model : "NVIDIA GPU");
    else if (pci_has_gpu(root, "0x10de"))
        snprintf(h->gpu_reason, sizeof h->gpu_reason,
                 "there is an NVIDIA device, but no driver shows it; load the nvidia kernel module");
    else
        snprintf(h->gpu_reason, sizeof h->gpu_reason,
                 "no NVIDIA driver is loaded and no NVIDIA device is to be seen");
}

void host_identity(char *name, size_t name_len, char *boot_id, size_t boot_id_len) {
    struct utsname u;
    snprintf(name, name_len, "%s", uname(&u) == 0 ? u.nodename : "");
    file_line("", "/proc/sys/kernel/random/boot_id", boot_id, boot_id_len);
}

void host_probe_under(struct host *h, const char *root) {
    struct utsname u;
    memset(h, 0, sizeof *h);
    if (uname(&u) != 0) memset(&u, 0, sizeof u);
    snprintf(h->name, sizeof h->name, "%s", u.nodename);
    snprintf(h->kernel, sizeof h->kernel, "%.31s %.80s", u.sysname, u.release);
    file_line(root, "/proc/sys/kernel/random/boot_id", h->boot_id, sizeof h->boot_id);
    probe_os(h, root, &u);
    probe_cpu_model(h, root, &u);
    h->cpus_online = cpus_online();
    h->cpus_usable = cpus_usable(root, 0);
    probe_memory(h, root);
    probe_gpu(h, root);
}

/* The C library and the kernel, which differ on virtual machines. */
/* Of what one CPU shares with others it is counted at the first of them. */
static uint64_t cache_bytes_of(long cpu) {
    char path[80], text[256];
    uint64_t size;
    long first;
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%ld/cache/index3/shared_cpu_list", cpu);
    if (!file_line("", path, text, sizeof text) || sscanf(text, "%ld", &first) != 1 || first != cpu) return 0;
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%ld/cache/index3/size", cpu);
    if (!file_line("", path, text, sizeof text) || sscanf(text, "%" SCNu64 "K", &size) != 1) return 0;
    return size * 1024;
}

uint64_t host_cache_bytes(void) {
    uint64_t sum = 0;
    for (long cpu = 0; cpu < sysconf(_SC_NPROCESSORS_CONF); cpu++) sum += cache_bytes_of(cpu);
    long told = sum ? 0 : sysconf(_SC_LEVEL3_CACHE_SIZE);
    if (told > 0) sum = (uint64_t)told;
    return sum;
}

void host_probe(struct host *h) {
    host_probe_under(h, "");
}

/* user nice system idle iowait irq softirq steal; guests are in user already. */
static void count_cpu(struct host_counts *c, const char *root) {
    char line[512];
    double t[8] = {0};
    if (!file_line(root, "/proc/stat", line, sizeof line)) return;
    int n = sscanf(line, "cpu %lf %lf %lf %lf %lf %lf %lf %lf", &t[0], &t[1], &t[2], &t[3], &t[4], &t[5],
                   &t[6], &t[7]);
    if (n < 4) return;
    c->cpu_total_ticks = 0;
    for (int i = 0; i < n; i++) c->cpu_total_ticks += t[i];
    c->cpu_busy_ticks = c->cpu_total_ticks - t[3] - t[4] - t[7];
    if (n == 8) c->cpu_steal_ticks = t[7];
}

static void count_net(struct host_counts *c, const char *root) {
    char *text = file_text(root, "/proc/net/dev");
    double rx_sum = 0, tx_sum = 0;
    char *save = NULL;
    for (char *line = text ? strtok_r(text, "\n", &save) : NULL; line; line = strtok_r(NULL, "\n", &save)) {
        char name[64];
        double rx, tx;
        if (sscanf(line, " %63[^:|]:%lf %*f %*f %*f %*f %*f %*f %*f %lf", name, &rx, &tx) != 3) continue;
        if (strcmp(name, "lo") == 0) continue;
        rx_sum += rx;
        tx_sum += tx;
    }
    if (text) {
        c->net_rx_bytes = rx_sum;
        c->net_tx_bytes = tx_sum;
    }
    free(text);
}

static double timeval_s(struct timeval t) {
    return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

/* The peak is the kernel's VmHWM: ru_maxrss would carry over that of whoever started us. */
static void count_process(struct host_counts *c, const char *root) {
    struct rusage u;
    if (getrusage(RUSAGE_SELF, &u) == 0) {
        c->process_user_s = timeval_s(u.ru_utime);
        c->process_sys_s = timeval_s(u.ru_stime);
    }
    char *status = file_text(root, "/proc/self/status");
    uint64_t kib;
    if (status && file_keyed(status, "VmRSS:", &kib)) c->process_rss_bytes = (double)kib * 1024;
    if (status && file_keyed(status, "VmHWM:", &kib)) c->process_rss_peak_bytes = (double)kib * 1024;
    free(status);
}

static void count_all(struct host_counts *c, const char *root, const struct cgroup_memory *levels,
                      unsigned count) {
    bool from_cgroup;
    *c = (struct host_counts){NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
    count_cpu(c, root);
    count_net(c, root);
    count_process(c, root);
    char *meminfo = file_text(root, "/proc/meminfo");
    c->available_bytes = available_bytes(root, meminfo, levels, count, &from_cgroup);
    free(meminfo);
}

void host_count_under(struct host_counts *c, const char *root) {
    struct cgroup_memory levels[CGROUP_LEVELS];
    unsigned count = cgroup_memory_find(root, levels);
    count_all(c, root, levels, count);
}

/* Which groups limit this process is looked up once: finding them reads the list of all mounts. */
static pthread_once_t levels_once = PTHREAD_ONCE_INIT;
static struct cgroup_memory own_levels[CGROUP_LEVELS];
static unsigned own_level_count;

static void find_own_levels(void) {
    own_level_count = cgroup_memory_find("", own_levels);
}

void host_count(struct host_counts *c) {
    pthread_once(&levels_once, find_own_levels);
    count_all(c, "", own_levels, own_level_count);
}

/* Fields 3 and 22 of stat; the name in field 2 may hold spaces and brackets, so count from its last
 * one. False: no such process, or not to be seen. */
static bool process_stat(int64_t pid, char *process_state, uint64_t *start) {
    char path[64], line[1024];
    uint64_t ticks;
    snprintf(path, sizeof path, "/proc/%" PRId64 "/stat", pid);
    if (pid <= 0 || !file_line("", path, line, sizeof line)) return false;
    const char *rest = strrchr(line, ')');
    if (!rest ||
        sscanf(rest + 1,
               " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %" PRIu64,
               process_state, &ticks) != 2)
        return false;
    *start = ticks;
    return true;
}

uint64_t host_process_start(int64_t pid) {
    char process_state;
    uint64_t start = 0;
    return process_stat(pid, &process_state, &start) ? start : 0;
}

/* With hidepid another user's process cannot be seen in /proc, yet kill() tells that it is there. */
bool host_process_alive(int64_t pid, uint64_t start) {
    char process_state;
    uint64_t now;
    if (pid <= 0 || pid != (pid_t)pid) return false;
    if (kill((pid_t)pid, 0) != 0 && errno != EPERM) return false;
    if (!process_stat(pid, &process_state, &now)) return true;
    return process_state != 'Z' && process_state != 'X' && (!start || now == start);
}

uint64_t host_pid_namespace(void) {
    struct stat st;
    return stat("/proc/self/ns/pid", &st) == 0 ? (uint64_t)st.st_ino : 0;
}
