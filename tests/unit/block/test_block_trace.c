/* The trace against a loop device that nobody else uses: what is done to it is known exactly. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <libaio.h>
#include <linux/loop.h>
#include <linux/magic.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "block/block.h"

enum { MIB = 1 << 20, SIZE = 32 * MIB };

static struct rig {
    char file[64], device[32], why[300];
    int backing, loop, fd;
    struct blockdev under;
    struct block_load load;
    struct block_trace *trace;
    void *data;
} rig;

/* Leaves in rig.why why the rest cannot be told here. */
static void rig_open(void) {
    struct err e = {0};
    struct stat st;
    rig.backing = rig.loop = rig.fd = -1;
    snprintf(rig.file, sizeof rig.file, "/var/tmp/kvfall-block-XXXXXX");
    if (block_permitted("", &e) != 0) {
        snprintf(rig.why, sizeof rig.why, "%.290s", e.text);
        return;
    }
    int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
    int n = control >= 0 ? ioctl(control, LOOP_CTL_GET_FREE) : -1;
    if (control >= 0) close(control);
    snprintf(rig.device, sizeof rig.device, "/dev/loop%d", n);
    rig.backing = mkstemp(rig.file);
    if (n < 0 || rig.backing < 0 || ftruncate(rig.backing, SIZE) != 0 ||
        (rig.loop = open(rig.device, O_RDWR | O_CLOEXEC)) < 0 ||
        ioctl(rig.loop, LOOP_SET_FD, rig.backing) != 0 ||
        (rig.fd = open(rig.device, O_RDWR | O_DIRECT | O_CLOEXEC)) < 0 || fstat(rig.fd, &st) != 0) {
        snprintf(rig.why, sizeof rig.why, "no loop device can be made here: %s", strerror(errno));
        return;
    }
    rig.under = (struct blockdev){.present = true, .major = major(st.st_rdev), .minor = minor(st.st_rdev)};
    if (block_open(&rig.trace, &rig.under, 1, rig.load, &e) != 0)
        snprintf(rig.why, sizeof rig.why, "%.290s", e.text);
}

static int setup(void **state) {
    rig = (struct rig){.load = *(struct block_load *)*state};
    rig_open();
    if (posix_memalign(&rig.data, 2 * MIB, 2 * MIB) != 0) return -1;
    (void)madvise(rig.data, 2 * MIB, MADV_HUGEPAGE); /* many small pages would be a reason to split */
    return 0;
}

static int teardown(void **state) {
    (void)state;
    block_close(rig.trace);
    if (rig.fd >= 0) close(rig.fd);
    if (rig.loop >= 0) {
        ioctl(rig.loop, LOOP_CLR_FD);
        close(rig.loop);
    }
    if (rig.backing >= 0) {
        close(rig.backing);
        unlink(rig.file);
    }
    free(rig.data);
    return 0;
}

static void needs_the_trace(void) {
    if (!rig.why[0]) return;
    print_message("skip: %s\n", rig.why);
    skip();
}

static void transfer(int dir, size_t bytes, unsigned times) {
    for (unsigned i = 0; i < times; i++) {
        off_t at = (off_t)(i * bytes) % (SIZE / 2);
        ssize_t n =
            dir == BLOCK_WRITE ? pwrite(rig.fd, rig.data, bytes, at) : pread(rig.fd, rig.data, bytes, at);
        assert_int_equal(n, bytes);
    }
}

static uint64_t spread_count(const struct block_counts *c, int dir, int stage, int size) {
    uint64_t n = 0;
    for (int b = 0; b < BLOCK_BINS; b++) n += c->spread[dir][size].bin[stage][b];
    return n;
}

static void every_request_is_counted_once_in_its_class(void **state) {
    (void)state;
    static struct block_counts c;
    needs_the_trace();
    memset(rig.data, 1, MIB);
    transfer(BLOCK_WRITE, 4096, 300);
    transfer(BLOCK_WRITE, 65536, 40);
    transfer(BLOCK_READ, 16384, 200);
    block_read(rig.trace, &c);
    const struct block_dir_counts *r = &c.events.dir[BLOCK_READ], *w = &c.events.dir[BLOCK_WRITE];
    assert_int_equal(w->requests, 340);
    assert_int_equal(w->request_bytes, 300 * 4096 + 40 * 65536);
    assert_int_equal(w->bios, 340);
    assert_int_equal(w->bio_bytes, w->request_bytes);
    assert_int_equal(r->requests, 200);
    assert_int_equal(r->request_bytes, 200 * 16384);
    for (int stage = 0; stage < BLOCK_STAGES; stage++) {
        assert_int_equal(spread_count(&c, BLOCK_WRITE, stage, 0), 300);
        assert_int_equal(spread_count(&c, BLOCK_WRITE, stage, 2), 40);
        assert_int_equal(spread_count(&c, BLOCK_READ, stage, 1), 200);
    }
    assert_int_equal(r->depth, 200); /* one at a time */
    assert_int_equal(c.events.splits + block_merges(&c) + c.events.lost + c.users, 0);
    /* one request each: both clocks of it are those of its operation */
    uint64_t both = 0;
    for (int stage = 0; stage < BLOCK_STAGES; stage++) both += c.spread[BLOCK_READ][1].sum_ns[stage];
    assert_int_equal(both, r->bio_ns);
    assert_int_equal(c.spread[BLOCK_READ][1].sum_ns[BLOCK_D2C], r->bio_device_ns);
}

/* The largest request of the device, which keeps it when it is made anew. */
static void limit_requests(const char *kib) {
    char path[96];
    snprintf(path, sizeof path, "/sys/block/%s/queue/max_sectors_kb", strrchr(rig.device, '/') + 1);
    FILE *f = fopen(path, "we");
    if (!f || fputs(kib, f) < 0 || fclose(f) != 0) {
        print_message("skip: %s cannot be set\n", path);
        skip();
    }
}

/* The largest request of the device is made 64 KiB, so that each operation of 1 MiB becomes 16 requests. */
static void what_is_split_is_one_operation(void **state) {
    (void)state;
    static struct block_counts c;
    needs_the_trace();
    limit_requests("64");
    transfer(BLOCK_READ, MIB, 10);
    block_read(rig.trace, &c);
    const struct block_dir_counts *r = &c.events.dir[BLOCK_READ];
    assert_int_equal(r->requests, 160);
    assert_int_equal(r->request_bytes, 10 * MIB);
    assert_int_equal(r->bios, 10);
    assert_int_equal(r->bio_bytes, 10 * MIB);
    assert_int_equal(c.events.splits, 150);
    assert_true(r->bio_device_ns > 0 && r->bio_device_ns < r->bio_ns);
}

enum { OPERATIONS = 24 };

/* Neighbours that are submitted together go to the device together. Returns how many did not fail. */
static unsigned transfer_at_once(int dir, bool upwards) {
    struct iocb control[OPERATIONS], *list[OPERATIONS];
    struct io_event event[OPERATIONS];
    io_context_t aio = 0;
    unsigned good = 0;
    assert_int_equal(io_setup(OPERATIONS, &aio), 0);
    for (int i = 0; i < OPERATIONS; i++) {
        list[i] = &control[i];
        (dir == BLOCK_WRITE ? io_prep_pwrite : io_prep_pread)(
            list[i], rig.fd, rig.data, 4096, MIB + (upwards ? i : OPERATIONS - 1 - i) * 4096);
    }
    assert_int_equal(io_submit(aio, OPERATIONS, list), OPERATIONS);
    assert_int_equal(io_getevents(aio, OPERATIONS, OPERATIONS, event, NULL), OPERATIONS);
    for (int i = 0; i < OPERATIONS; i++) good += event[i].res == 4096;
    io_destroy(aio);
    return good;
}

static void merged_operations_stay_one_each(bool upwards) {
    static struct block_counts c;
    memset(&c, 0, sizeof c);
    needs_the_trace();
    assert_int_equal(transfer_at_once(BLOCK_WRITE, upwards), OPERATIONS);
    block_read(rig.trace, &c);
    const struct block_dir_counts *w = &c.events.dir[BLOCK_WRITE];
    assert_int_equal(w->bios, OPERATIONS);
    assert_int_equal(w->bio_bytes, OPERATIONS * 4096);
    assert_int_equal(w->request_bytes, OPERATIONS * 4096);
    assert_in_range(w->requests, 1, OPERATIONS / 2);
    assert_int_equal(block_merges(&c), OPERATIONS - w->requests);
    assert_int_equal(c.events.lost, 0);
    assert_true(w->bio_device_ns <= w->bio_ns);
}

static void what_is_merged_stays_an_operation_each(void **state) {
    (void)state;
    merged_operations_stay_one_each(true);
}

/* Each goes before those that are there. */
static void what_is_merged_at_the_front_stays_an_operation_each(void **state) {
    (void)state;
    merged_operations_stay_one_each(false);
}

/* The file behind the device ends within the request: what is there comes back first, and the rest goes to
 * the device again. */
static void what_is_merged_may_come_back_in_parts(void **state) {
    static struct block_counts c;
    (void)state;
    needs_the_trace();
    assert_int_equal(ftruncate(rig.backing, MIB + 10 * 4096), 0);
    assert_int_equal(transfer_at_once(BLOCK_READ, true), 10);
    block_read(rig.trace, &c);
    const struct block_dir_counts *r = &c.events.dir[BLOCK_READ];
    assert_int_equal(r->bios, OPERATIONS);
    assert_int_equal(r->bio_bytes, OPERATIONS * 4096);
    assert_int_equal(r->request_bytes, OPERATIONS * 4096);
    assert_in_range(r->requests, 1, OPERATIONS / 2);
    assert_true(c.events.errors[BLOCK_IO_ERROR] > 0);
    assert_true(r->bio_device_ns <= r->bio_ns);
    uint64_t requests = r->requests, depth = r->depth;
    transfer(BLOCK_READ, 4096, 3);
    block_read(rig.trace, &c);
    assert_int_equal(r->requests - requests, 3);
    assert_int_equal(r->depth - depth, 3); /* nothing stayed at the device */
    assert_int_equal(c.events.lost, 0);
}

/* The clocks of a request follow each other: in every class of sizes they make up the time of its operation.
 * One that is split has its own, which its queue and its device share: never more than its requests have. */
static void the_split_adds_up_for_every_size(void **state) {
    static struct block_counts before, after;
    static const size_t sizes[BLOCK_SIZES] = {4096, 16384, 65536, 262144, MIB, 2 * MIB};
    unsigned whole = 0;
    (void)state;
    needs_the_trace();
    limit_requests("1024");
    block_read(rig.trace, &before);
    for (int size = 0; size < BLOCK_SIZES; size++) {
        transfer(BLOCK_READ, sizes[size], 20);
        block_read(rig.trace, &after);
        block_since(&after, &before, &after);
        const struct block_dir_counts *r = &after.events.dir[BLOCK_READ];
        uint64_t both = 0;
        assert_int_equal(r->request_bytes, 20 * sizes[size]);
        for (int s = 0; s < BLOCK_SIZES; s++)
            for (int stage = 0; stage < BLOCK_STAGES; stage++)
                both += after.spread[BLOCK_READ][s].sum_ns[stage];
        if (r->requests == r->bios) {
            assert_int_equal(spread_count(&after, BLOCK_READ, BLOCK_D2C, size), 20);
            assert_int_equal(both, r->bio_ns);
            whole++;
        } else {
            assert_true(r->bio_device_ns < r->bio_ns && r->bio_ns <= both);
        }
        block_read(rig.trace, &before);
    }
    assert_in_range(whole, BLOCK_SIZES - 2, BLOCK_SIZES - 1); /* with small pages 1 MiB is split */
}

/* ---- against bpftrace, by the definition of biolatency: issued to completed ---- */

enum { MARK_SECTOR = (SIZE - MIB) / 512, JUDGED = 400 };

/* Requests below the mark; "seen" once a request at it shows that the script is at work. */
static FILE *bpftrace_begin(void) {
    static const char script[] =
        "unshare -m sh -c 'mount -t tracefs tracefs /sys/kernel/tracing 2>/dev/null; exec bpftrace -f json -e \""
        "tracepoint:block:block_rq_issue /args->dev == %u && args->sector < %d/ "
        "{ @at[args->sector] = nsecs; } "
        "tracepoint:block:block_rq_complete /args->dev == %u && args->sector == %d && !@seen/ "
        "{ @seen = 1; printf(\\\"seen\\\"); } "
        "tracepoint:block:block_rq_complete /@at[args->sector] && args->dev == %u/ "
        "{ @ns = hist(nsecs - @at[args->sector]); delete(@at[args->sector]); @n++; if (@n == %d) { exit(); } }"
        "\"' 2>/dev/null";
    char command[1200];
    unsigned dev = rig.under.major << 20 | rig.under.minor;
    snprintf(command, sizeof command, script, dev, MARK_SECTOR, dev, MARK_SECTOR, dev, JUDGED);
    return popen(command, "r");
}

/* A line that has this in it; false when none comes in the time or the script ended. */
static bool line_with(FILE *f, const char *what, int wait_ms, char *line, int len) {
    struct pollfd ready = {.fd = fileno(f), .events = POLLIN};
    while (poll(&ready, 1, wait_ms) > 0) {
        if (!fgets(line, len, f)) return false;
        if (strstr(line, what)) return true;
    }
    return false;
}

/* How many of ours are below a bound, by the middles of their bins. */
static uint64_t below(const struct block_counts *c, double ns) {
    static struct histogram h;
    uint64_t n = 0;
    histogram_init(&h);
    block_histogram(c, BLOCK_READ, BLOCK_D2C, BLOCK_SIZES, &h);
    for (uint32_t b = h.lo; b < h.hi; b++)
        if ((double)histogram_bucket_high(b) < ns) n += h.bucket[b];
    return n;
}

/* Whether each request of one reading is in bpftrace's bucket or the next. */
static bool within_a_bucket(void) {
    static struct block_counts before, c;
    char line[8192] = "";
    FILE *f = bpftrace_begin();
    assert_non_null(f);
    setvbuf(f, NULL, _IONBF, 0);
    bool seen = false, within = true;
    for (int i = 0; i < 200 && !seen && !feof(f); i++) {
        assert_int_equal(pread(rig.fd, rig.data, 4096, SIZE - MIB), 4096);
        seen = line_with(f, "seen", 100, line, sizeof line);
    }
    if (!seen) {
        pclose(f);
        print_message("skip: bpftrace cannot trace block requests here\n");
        skip();
    }
    block_read(rig.trace, &before);
    transfer(BLOCK_READ, 16384, JUDGED);
    assert_true(line_with(f, "\"hist\"", 20000, line, sizeof line));
    pclose(f);
    block_read(rig.trace, &c);
    block_since(&c, &before, &c);
    uint64_t theirs = 0;
    for (const char *at = line; (at = strstr(at, "\"min\": ")) != NULL; at++) {
        double min = 0, max = 0;
        unsigned count = 0;
        assert_int_equal(sscanf(at, "\"min\": %lf, \"max\": %lf, \"count\": %u", &min, &max, &count), 3);
        within = within && theirs >= below(&c, min / 2) && theirs <= below(&c, 2 * min);
        theirs += count;
    }
    assert_int_equal(theirs, JUDGED);
    assert_int_equal(c.events.dir[BLOCK_READ].requests, JUDGED);
    assert_int_equal(spread_count(&c, BLOCK_READ, BLOCK_D2C, 1), JUDGED);
    return within;
}

/* A machine that stands still between the two programs of one event makes a request differ: it is read anew.
 */
static void bpftrace_finds_the_same(void **state) {
    bool within = false;
    (void)state;
    needs_the_trace();
    for (int i = 0; i < 5 && !within; i++) within = within_a_bucket();
    assert_true(within);
}

/* A group below one whose name is too long to be told; false: none can be made here. */
static bool group_made(char *path, size_t len) {
    struct statfs fs;
    bool second = statfs("/sys/fs/cgroup", &fs) == 0 && fs.f_type == CGROUP2_SUPER_MAGIC;
    snprintf(path, len, "/sys/fs/cgroup%s/kvfall-%d-%050d", second ? "" : "/blkio", (int)getpid(), 0);
    if (mkdir(path, 0755) != 0) return false;
    strcat(path, "/inner-group");
    return mkdir(path, 0755) == 0;
}

static void group_joined(const char *path) {
    char procs[192];
    snprintf(procs, sizeof procs, "%s/cgroup.procs", path);
    FILE *f = fopen(procs, "we");
    if (!f || fputs("0", f) < 0 || fclose(f) != 0) _exit(2);
}

static void a_neighbour_has_its_name_and_its_bytes(void **state) {
    (void)state;
    static struct block_counts c;
    char group[160];
    needs_the_trace();
    bool grouped = group_made(group, sizeof group);
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_NAME, "neighbour");
        if (grouped) group_joined(group);
        for (int i = 0; i < 70; i++)
            if (pwrite(rig.fd, rig.data, 65536, (off_t)i * 65536) != 65536) _exit(1);
        for (int i = 0; i < 30; i++)
            if (pread(rig.fd, rig.data, 4096, (off_t)i * 4096) != 4096) _exit(1);
        _exit(0);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    transfer(BLOCK_READ, 4096, 5);
    block_read(rig.trace, &c);
    if (grouped) {
        assert_string_equal(block_user(rig.trace, 0)->cgroup, "inner-group");
        rmdir(group);
        *strrchr(group, '/') = '\0';
        rmdir(group);
    }
    assert_int_equal(c.users, 1);
    assert_string_equal(block_user(rig.trace, 0)->process, "neighbour");
    assert_int_equal(c.user[0].bytes[BLOCK_WRITE], 70 * 65536);
    assert_int_equal(c.user[0].requests[BLOCK_WRITE], 70);
    assert_int_equal(c.user[0].bytes[BLOCK_READ], 30 * 4096);
    assert_int_equal(c.events.dir[BLOCK_READ].requests, 5);
    assert_int_equal(c.events.dir[BLOCK_WRITE].requests, 0);
}

static void a_device_cut_short_fails_with_its_status(void **state) {
    (void)state;
    static struct block_counts c;
    needs_the_trace();
    assert_int_equal(ftruncate(rig.backing, MIB), 0);
    transfer(BLOCK_READ, 4096, 3);
    for (int i = 0; i < 7; i++) assert_int_equal(pread(rig.fd, rig.data, 4096, 20 * MIB + i * 4096), -1);
    block_read(rig.trace, &c);
    assert_int_equal(c.events.errors[BLOCK_IO_ERROR], 7);
    uint64_t all = 0;
    for (int s = 0; s < BLOCK_STATUSES; s++) all += c.events.errors[s];
    assert_int_equal(all, 7);
}

static void flushes_and_discards_are_counted(void **state) {
    (void)state;
    static struct block_counts c;
    uint64_t range[2] = {0, MIB};
    needs_the_trace();
    for (int i = 0; i < 4; i++) assert_int_equal(fsync(rig.fd), 0);
    bool discards = ioctl(rig.fd, 0x1277 /* BLKDISCARD */, range) == 0;
    block_read(rig.trace, &c);
    assert_int_equal(c.events.flushes, 4);
    assert_int_equal(c.events.discards, discards ? 1 : 0);
    assert_int_equal(c.events.dir[BLOCK_WRITE].requests, 0);
}

/* Operations that fit the device are followed by their requests, larger ones each by itself. */
static struct block_load small = {.bytes = MIB, .depth = 1}, large = {.bytes = SIZE, .depth = 1};

int main(void) {
#define ON_A_LOOP(test)                                                                                      \
    {"by request: " #test, test, setup, teardown, &small}, {                                                 \
        "by operation: " #test, test, setup, teardown, &large                                                \
    }
    const struct CMUnitTest tests[] = {
        ON_A_LOOP(every_request_is_counted_once_in_its_class),
        ON_A_LOOP(what_is_split_is_one_operation),
        ON_A_LOOP(what_is_merged_stays_an_operation_each),
        ON_A_LOOP(what_is_merged_at_the_front_stays_an_operation_each),
        ON_A_LOOP(what_is_merged_may_come_back_in_parts),
        ON_A_LOOP(the_split_adds_up_for_every_size),
        ON_A_LOOP(bpftrace_finds_the_same),
        ON_A_LOOP(a_neighbour_has_its_name_and_its_bytes),
        ON_A_LOOP(a_device_cut_short_fails_with_its_status),
        ON_A_LOOP(flushes_and_discards_are_counted),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
