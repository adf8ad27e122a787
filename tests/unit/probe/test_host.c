#include "tests/unit/sysfs_fixture.h"

#include <math.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/units.h"
#include "probe/host.h"

#define MEMINFO "MemTotal:       16384 kB\nMemFree:         100 kB\nMemAvailable:    8192 kB\n"
#define MIB(n)  ((n)*1048576.0)

static void a_bare_machine_is_read(void **state) {
    struct host h;
    (void)state;
    put("/etc/os-release", "NAME=\"Foo\"\nVERSION=1\nPRETTY_NAME=\"Foo Linux 1 (Bar)\"\n");
    put("/proc/cpuinfo", "processor\t: 0\nmodel\t\t: 17\nmodel name\t: Fast CPU @ 3 GHz\n\nprocessor\t: 1\n");
    put("/proc/meminfo", MEMINFO);
    put("/proc/sys/kernel/random/boot_id", "0ab94d1a-1f1e-4b44-9d8b-000000000000\n");
    host_probe_under(&h, root);
    assert_string_equal(h.os, "Foo Linux 1 (Bar)");
    assert_string_equal(h.cpu_model, "Fast CPU @ 3 GHz");
    assert_string_equal(h.boot_id, "0ab94d1a-1f1e-4b44-9d8b-000000000000");
    assert_int_equal(h.memory_bytes, 16 * KVF_MIB);
    assert_int_equal(h.memory_available_bytes, 8 * KVF_MIB);
    assert_false(h.memory_from_cgroup);
    assert_string_equal(h.gpu, "");
    assert_non_null(strstr(h.gpu_reason, "no NVIDIA driver"));
}

static void a_missing_proc_is_no_zero(void **state) {
    struct host_counts c;
    struct host h;
    (void)state;
    host_count_under(&c, root);
    assert_true(isnan(c.cpu_busy_ticks) && isnan(c.cpu_total_ticks) && isnan(c.cpu_steal_ticks));
    assert_true(isnan(c.available_bytes) && isnan(c.net_rx_bytes) && isnan(c.net_tx_bytes));
    assert_true(isnan(c.process_rss_bytes) && isnan(c.process_rss_peak_bytes));
    host_probe_under(&h, root);
    assert_true(h.cpus_online >= 1 && h.cpus_usable >= 1);
    assert_true(strlen(h.cpu_model) > 0 && strlen(h.os) > 0 && strlen(h.kernel) > 0);
}

/* The worst case of a container: version 2, its own group nested, the limit one level up. */
static void cgroup_v2_limits_memory_and_cpus(void **state) {
    struct host h;
    struct host_counts c;
    (void)state;
    put("/proc/meminfo", MEMINFO);
    put("/proc/self/cgroup", "0::/pod/app\n");
    put("/proc/self/mountinfo", "31 23 0:28 / / rw - ext4 /dev/vda rw\n"
                                "41 31 0:38 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n");
    put("/sys/fs/cgroup/pod/app/memory.max", "max\n");
    put("/sys/fs/cgroup/pod/memory.max", "4194304\n");     /* 4 MiB */
    put("/sys/fs/cgroup/pod/memory.current", "3145728\n"); /* 3 MiB, of which 1 MiB is cold cache */
    put("/sys/fs/cgroup/pod/memory.stat", "anon 5\nactive_file 77\ninactive_file 1048576\n");
    put("/sys/fs/cgroup/pod/app/cpu.max", "max 100000\n");
    put("/sys/fs/cgroup/pod/cpu.max", "50000 100000\n");
    host_probe_under(&h, root);
    assert_int_equal(h.memory_available_bytes, 2 * KVF_MIB);
    assert_true(h.memory_from_cgroup);
    assert_int_equal(h.cpus_usable, 1); /* half a CPU, rounded up */
    host_count_under(&c, root);
    assert_true(c.available_bytes == MIB(2));
}

static void cgroup_v1_limits_memory(void **state) {
    struct host h;
    (void)state;
    put("/proc/meminfo", MEMINFO);
    put("/proc/self/cgroup", "9:name=systemd:/\n4:memory:/jobs/7\n3:cpu,cpuacct:/\n0::/\n");
    put("/proc/self/mountinfo", "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
                                "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
    put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    put("/sys/fs/cgroup/memory/jobs/7/memory.limit_in_bytes", "2097152\n");
    put("/sys/fs/cgroup/memory/jobs/7/memory.usage_in_bytes", "1048576\n");
    host_probe_under(&h, root);
    assert_int_equal(h.memory_available_bytes, 1 * KVF_MIB);
    assert_true(h.memory_from_cgroup);
}

/* A container engine mounts the container's own group as the root of what it sees. */
static void a_mount_may_begin_inside_the_tree(void **state) {
    struct host h;
    (void)state;
    put("/proc/meminfo", MEMINFO);
    put("/proc/self/cgroup", "4:memory:/docker/abc/sub\n");
    put("/proc/self/mountinfo",
        "35 31 0:32 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n");
    put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "3145728\n");
    put("/sys/fs/cgroup/memory/memory.usage_in_bytes", "0\n");
    put("/sys/fs/cgroup/memory/sub/memory.limit_in_bytes", "9223372036854771712\n");
    host_probe_under(&h, root);
    assert_int_equal(h.memory_available_bytes, 3 * KVF_MIB);
}

static void a_limit_above_the_memory_is_none(void **state) {
    struct host h;
    (void)state;
    put("/proc/meminfo", MEMINFO);
    put("/proc/self/cgroup", "0::/\n");
    put("/proc/self/mountinfo", "41 31 0:38 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    put("/sys/fs/cgroup/memory.max", "999999999999\n");
    host_probe_under(&h, root);
    assert_int_equal(h.memory_available_bytes, 8 * KVF_MIB);
    assert_false(h.memory_from_cgroup);
}

static void gpus_of_the_driver_are_named(void **state) {
    struct host h;
    (void)state;
    put("/proc/driver/nvidia/gpus/0000:01:00.0/information", "Model: \t\t NVIDIA H200\nIRQ: 5\n");
    put("/proc/driver/nvidia/version",
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5\nGCC: 12\n");
    host_probe_under(&h, root);
    assert_string_equal(h.gpu, "NVIDIA H200");
    assert_string_equal(h.gpu_driver, "550.54.15");
    assert_int_equal(h.gpus, 1);
    assert_string_equal(h.gpu_reason, "");
    put("/proc/driver/nvidia/gpus/0000:02:00.0/information", "Model: \t\t NVIDIA H200\n");
    host_probe_under(&h, root);
    assert_string_equal(h.gpu, "2 x NVIDIA H200");
}

static void a_gpu_without_driver_is_told(void **state) {
    struct host h;
    (void)state;
    put("/sys/bus/pci/devices/0000:00:02.0/class", "0x030000\n");
    put("/sys/bus/pci/devices/0000:00:02.0/vendor", "0x1234\n");
    host_probe_under(&h, root);
    assert_non_null(strstr(h.gpu_reason, "no NVIDIA device"));
    put("/sys/bus/pci/devices/0000:00:03.0/class", "0x030200\n");
    put("/sys/bus/pci/devices/0000:00:03.0/vendor", "0x10de\n");
    host_probe_under(&h, root);
    assert_string_equal(h.gpu, "");
    assert_non_null(strstr(h.gpu_reason, "no driver shows it"));
}

static void counts_are_added_as_the_kernel_defines_them(void **state) {
    struct host_counts c;
    (void)state;
    put("/proc/stat", "cpu  100 20 30 1000 200 4 5 6 50 7\ncpu0 1 1 1 1 1 1 1 1 1 1\n");
    put("/proc/net/dev", "Inter-|   Receive                  |  Transmit\n"
                         " face |bytes packets errs drop fifo frame compressed multicast|bytes packets\n"
                         "    lo: 999 1 0 0 0 0 0 0 999 1 0 0 0 0 0 0\n"
                         "  eth0: 1000 10 0 0 0 0 0 0 2000 20 0 0 0 0 0 0\n"
                         "wlan0:300 10 0 0 0 0 0 0 40 20 0 0 0 0 0 0\n");
    put("/proc/self/status", "Name:\tx\nVmPeak:\t 999 kB\nVmHWM:\t    2048 kB\nVmRSS:\t    1024 kB\n");
    put("/proc/meminfo", MEMINFO);
    host_count_under(&c, root);
    assert_true(c.cpu_total_ticks == 1365); /* guest time (50, 7) is in user and nice already */
    assert_true(c.cpu_busy_ticks == 159);   /* neither idle, nor waiting for I/O, nor stolen */
    assert_true(c.cpu_steal_ticks == 6);
    assert_true(c.net_rx_bytes == 1300 && c.net_tx_bytes == 2040);
    assert_true(c.process_rss_bytes == MIB(1) && c.process_rss_peak_bytes == MIB(2));
    assert_true(c.available_bytes == MIB(8));
}

/* This machine against what the C library says of it. */
static void this_machine_agrees_with_the_library(void **state) {
    struct host h;
    struct host_counts c;
    char name[65], name2[72], boot[40];
    cpu_set_t set;
    (void)state;
    host_probe(&h);
    assert_int_equal(gethostname(name, sizeof name), 0);
    assert_string_equal(h.name, name);
    host_identity(name2, sizeof name2, boot, sizeof boot);
    assert_string_equal(name2, name);
    assert_string_equal(boot, h.boot_id);
    assert_int_equal(h.cpus_online, sysconf(_SC_NPROCESSORS_ONLN));
    assert_int_equal(sched_getaffinity(0, sizeof set, &set), 0);
    assert_true(h.cpus_usable >= 1 && h.cpus_usable <= (uint32_t)CPU_COUNT(&set));
    double pages = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    assert_true(fabs((double)h.memory_bytes - pages) <= 0.02 * pages);
    assert_true(h.memory_available_bytes > 0 && h.memory_available_bytes <= h.memory_bytes);

    struct rusage u;
    host_count(&c);
    assert_int_equal(getrusage(RUSAGE_SELF, &u), 0);
    assert_true(c.process_user_s <= (double)u.ru_utime.tv_sec + (double)u.ru_utime.tv_usec / 1e6);
    assert_true(c.process_sys_s <= (double)u.ru_stime.tv_sec + (double)u.ru_stime.tv_usec / 1e6);
    assert_true(c.process_rss_bytes > 0 && c.process_rss_peak_bytes >= c.process_rss_bytes);
    assert_true(c.cpu_total_ticks > c.cpu_busy_ticks);
    assert_true(c.available_bytes > 0 && c.available_bytes <= (double)h.memory_bytes);
}

static void affinity_limits_the_usable_cpus(void **state) {
    cpu_set_t before, one;
    struct host h;
    (void)state;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE && !CPU_COUNT(&one); cpu++)
        if (CPU_ISSET(cpu, &before)) CPU_SET(cpu, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    host_probe_under(&h, root);
    sched_setaffinity(0, sizeof before, &before);
    assert_int_equal(h.cpus_usable, 1);
}

static void a_process_is_known_by_pid_and_start(void **state) {
    int hold[2];
    char x;
    (void)state;
    uint64_t own = host_process_start(getpid());
    assert_true(own > 0);
    assert_true(host_process_alive(getpid(), own));
    assert_true(host_process_alive(getpid(), 0));
    assert_false(host_process_alive(getpid(), own + 1)); /* the pid came again */
    assert_false(host_process_alive(0, 0));
    assert_false(host_process_alive((int64_t)1 << 40, 0));
    assert_int_equal(pipe(hold), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        close(hold[1]);
        _exit(read(hold[0], &x, 1) != 0);
    }
    uint64_t start = host_process_start(pid);
    assert_true(start >= own);
    assert_true(host_process_alive(pid, start));
    close(hold[1]);
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    assert_false(host_process_alive(pid, start)); /* ended, though nobody has asked how */
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    close(hold[0]);
    assert_false(host_process_alive(pid, start));
    assert_int_equal(host_process_start(pid), 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, make_root, drop_root)

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(a_bare_machine_is_read),
        CASE(a_missing_proc_is_no_zero),
        CASE(cgroup_v2_limits_memory_and_cpus),
        CASE(cgroup_v1_limits_memory),
        CASE(a_mount_may_begin_inside_the_tree),
        CASE(a_limit_above_the_memory_is_none),
        CASE(gpus_of_the_driver_are_named),
        CASE(a_gpu_without_driver_is_told),
        CASE(counts_are_added_as_the_kernel_defines_them),
        CASE(this_machine_agrees_with_the_library),
        CASE(affinity_limits_the_usable_cpus),
        CASE(a_process_is_known_by_pid_and_start),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("host", tests, NULL, NULL);
}
