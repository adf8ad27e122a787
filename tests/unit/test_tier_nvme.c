#include <fcntl.h>
#include <libaio.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "base/hash.h"
#include "base/rng.h"
#include "nvme_rig.h"

/* The kernel as the tests want it: what libaio would pass on, with faults in between. */
static struct {
    bool on;
    struct rng rng;
    unsigned again, cut, refuse; /* per cent of submits and events that go wrong */
    unsigned refused, shortened, delayed;
} faults;

static bool chance(unsigned per_cent) {
    return faults.on && rng_range(&faults.rng, 0, 99) < per_cent;
}

int io_submit(io_context_t ctx, long nr, struct iocb *ios[]) {
    if (chance(faults.again)) {
        faults.delayed++;
        return -EAGAIN;
    }
    if (chance(faults.refuse)) {
        faults.refused++;
        return -EINVAL;
    }
    if (nr > 1 && chance(faults.again)) nr = (long)rng_range(&faults.rng, 1, (uint64_t)nr - 1);
    long rc = syscall(SYS_io_submit, ctx, nr, ios);
    return rc < 0 ? -errno : (int)rc;
}

int io_getevents(io_context_t ctx, long min, long nr, struct io_event *events, struct timespec *timeout) {
    long rc = syscall(SYS_io_getevents, ctx, min, nr, events, timeout);
    for (long i = 0; i < rc; i++) {
        long res = (long)events[i].res;
        if (res <= PAGE || !chance(faults.cut)) continue;
        events[i].res = (unsigned long)res / 2;
        faults.shortened++;
    }
    return rc < 0 ? -errno : (int)rc;
}

static const enum scenario_nvme_layout LAYOUTS[] = {KVF_NVME_LAYOUT_FILES, KVF_NVME_LAYOUT_ARENA};

static void round_trip(uint64_t io) {
    static const uint64_t sizes[] = {1, 4096, 5000, 65536, 65537, 131072 + 4096, 1000003, 300000};
    enum { N = 8 };
    scenario->nvme.io_size = io;
    struct tier_setup setup = setup_of(4 << 20, 4096, 1);
    struct tier *t = open_tier(&setup);
    struct tier_queue *q = open_queue(t);
    uint64_t place[N];
    for (int i = 0; i < N; i++) {
        place[i] = t->ops->alloc(t, sizes[i]);
        assert_true(place[i] != TIER_NO_PLACE);
        assert_int_equal(transfer(q, KVF_DIR_WRITE, place[i], sizes[i], (uint64_t)i + 1, 1), 0);
    }
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < N; i++)
            assert_int_equal(transfer(q, KVF_DIR_READ, place[i], sizes[i], (uint64_t)i + 1, 1), 0);
    for (int i = 0; i < N; i += 2) t->ops->drop(t, place[i], sizes[i]);
    for (int i = 0; i < N; i += 2) { /* in other sizes into the room that has become free */
        uint64_t bytes = sizes[N - 2 - i];
        place[i] = t->ops->alloc(t, bytes);
        assert_int_equal(transfer(q, KVF_DIR_WRITE, place[i], bytes, (uint64_t)i + 1, 2), 0);
    }
    for (int i = 0; i < N; i++)
        assert_int_equal(transfer(q, KVF_DIR_READ, place[i], i % 2 ? sizes[i] : sizes[N - 2 - i],
                                  (uint64_t)i + 1, i % 2 ? 1 : 2),
                         0);
    t->ops->queue_close(q);
    t->ops->close(t);
    expect_empty(base);
    scenario->nvme.io_size = IO;
}

static void entries_come_back_as_they_went(void **state) {
    (void)state;
    for (int l = 0; l < 2; l++) {
        scenario->nvme.layout = LAYOUTS[l];
        round_trip(4096);
        round_trip(12288); /* no power of two */
        round_trip(IO);
    }
}

static void sync_data_and_buffered_carry_the_same_data(void **state) {
    (void)state;
    for (int l = 0; l < 2; l++) {
        scenario->nvme.layout = LAYOUTS[l];
        scenario->nvme.sync = KVF_SYNC_DATA;
        round_trip(IO);
        scenario->nvme.direct = false;
        round_trip(IO);
        scenario->nvme.sync = KVF_SYNC_NONE;
        round_trip(IO);
        struct tier_setup setup = setup_of(1 << 20, 4096, 1);
        struct tier *t = open_tier(&setup);
        char text[500];
        t->ops->describe(t, text, sizeof(text));
        assert_non_null(strstr(text, "buffered I/O"));
        assert_non_null(strstr(text, "direct: false"));
        assert_non_null(strstr(text, LAYOUTS[l] == KVF_NVME_LAYOUT_ARENA ? "layout arena" : "layout files"));
        t->ops->close(t);
        scenario->nvme.direct = true;
    }
}

static void a_file_system_without_direct_io_says_so(void **state) {
    (void)state;
    char shm[] = "/dev/shm/kvf-test-XXXXXX", text[500];
    if (!mkdtemp(shm)) {
        print_message("# no /dev/shm here\n");
        skip();
    }
    use_path(0, shm);
    for (int l = 0; l < 2; l++) {
        scenario->nvme.layout = LAYOUTS[l];
        struct tier_setup setup = setup_of(1 << 20, 4096, 1);
        struct tier *t = open_tier(&setup);
        t->ops->describe(t, text, sizeof(text));
        assert_non_null(
            strstr(text, "tmpfs on no block device, buffered I/O (tmpfs is not known for direct I/O)"));
        struct tier_queue *q = open_queue(t);
        uint64_t place = t->ops->alloc(t, 200001);
        assert_int_equal(transfer(q, KVF_DIR_WRITE, place, 200001, 3, 1), 0);
        assert_int_equal(transfer(q, KVF_DIR_READ, place, 200001, 3, 1), 0);
        t->ops->queue_close(q);
        t->ops->close(t);
    }
    use_path(0, base);
    assert_int_equal(rmdir(shm), 0);
}

static void entries_spread_over_the_paths(void **state) {
    (void)state;
    enum { N = 40, BYTES = 100000 };
    assert_int_equal(mkdir(second, 0700), 0);
    use_path(1, second);
    for (int l = 0; l < 2; l++) {
        scenario->nvme.layout = LAYOUTS[l];
        struct tier_setup setup = setup_of(N * BYTES, BYTES, 1);
        struct tier *t = open_tier(&setup);
        struct tier_queue *q = open_queue(t);
        uint64_t place[N];
        for (int i = 0; i < N; i++) { /* all that the tier holds, so either path alone would be full */
            place[i] = t->ops->alloc(t, BYTES);
            assert_true(place[i] != TIER_NO_PLACE);
            assert_int_equal(transfer(q, KVF_DIR_WRITE, place[i], BYTES, (uint64_t)i, 1), 0);
        }
        find_data(base);
        assert_in_range(found.bytes, N * BYTES / 2 - 2 * BYTES, N * BYTES * 6 / 10);
        find_data(second);
        assert_in_range(found.allocated, N * BYTES / 2 - 2 * BYTES, N * BYTES * 6 / 10);
        for (int i = 0; i < N; i++)
            assert_int_equal(transfer(q, KVF_DIR_READ, place[i], BYTES, (uint64_t)i, 1), 0);
        t->ops->queue_close(q);
        t->ops->close(t);
        expect_empty(base);
        expect_empty(second);
    }
    scenario->nvme.path_count = 1;
    assert_int_equal(rmdir(second), 0);
}

static void files_are_reused_and_the_disk_is_bounded(void **state) {
    (void)state;
    enum { N = 24, STEPS = 400, MAX = 200 * 1024 };
    scenario->nvme.layout = KVF_NVME_LAYOUT_FILES;
    struct tier_setup setup = setup_of(1 << 20, PAGE, 1);
    struct tier *t = open_tier(&setup);
    struct tier_queue *q = open_queue(t);
    struct rng r;
    rng_init(&r, 2, KVF_RNG_TEST, 0);
    uint64_t place[N], bytes[N], used = 0;
    unsigned live = 0, most_live = 0;
    for (int i = 0; i < N; i++) place[i] = TIER_NO_PLACE;
    for (uint64_t step = 0; step < STEPS; step++) {
        uint64_t i = rng_range(&r, 0, N - 1), size = rng_range(&r, 1, MAX / PAGE) * PAGE;
        if (place[i] != TIER_NO_PLACE) {
            if (step % 16 == 0) assert_int_equal(transfer(q, KVF_DIR_READ, place[i], bytes[i], i, 1), 0);
            t->ops->drop(t, place[i], bytes[i]);
            used -= bytes[i];
            live--;
            place[i] = TIER_NO_PLACE;
        }
        if (used + size > setup.usable_bytes) continue;
        bytes[i] = size;
        place[i] = t->ops->alloc(t, size);
        assert_true(place[i] != TIER_NO_PLACE);
        used += size;
        if (++live > most_live) most_live = live;
        if (step % 7 == 3) { /* never begun: as when a request is given up */
            t->ops->drop(t, place[i], bytes[i]);
            used -= size;
            live--;
            place[i] = TIER_NO_PLACE;
            continue;
        }
        assert_int_equal(transfer(q, KVF_DIR_WRITE, place[i], bytes[i], i, 1), 0);
        if (step % 10 != 0) continue;
        find_data(base);
        assert_true(found.bytes <= setup.usable_bytes);
        assert_true(found.bytes >= used);
        assert_true(found.files <= most_live);
    }
    for (uint64_t i = 0; i < N; i++)
        if (place[i] != TIER_NO_PLACE)
            assert_int_equal(transfer(q, KVF_DIR_READ, place[i], bytes[i], i, 1), 0);
    t->ops->queue_close(q);
    t->ops->close(t);
    expect_empty(base);
}

static void an_arena_in_pieces_still_holds_what_fits(void **state) {
    (void)state;
    enum { N = 300 };
    scenario->nvme.layout = KVF_NVME_LAYOUT_ARENA;
    for (uint32_t paths = 1; paths <= 2; paths++) {
        if (paths == 2) {
            assert_int_equal(mkdir(second, 0700), 0);
            use_path(1, second);
        }
        struct tier_setup setup = setup_of(N * PAGE, PAGE, 1);
        struct tier *t = open_tier(&setup);
        struct tier_queue *q = open_queue(t);
        uint64_t place[N];
        for (uint64_t i = 0; i < N; i++) {
            place[i] = t->ops->alloc(t, PAGE);
            assert_int_equal(transfer(q, KVF_DIR_WRITE, place[i], PAGE, i, 1), 0);
        }
        for (int i = 0; i < N; i += 2) t->ops->drop(t, place[i], PAGE);
        uint64_t big =
            t->ops->alloc(t, N / 2 * PAGE); /* 16 stretches a chunk, more than the ring has room for */
        assert_true(big != TIER_NO_PLACE);
        assert_int_equal(transfer(q, KVF_DIR_WRITE, big, N / 2 * PAGE - 3, 1000, 1), 0);
        assert_int_equal(transfer(q, KVF_DIR_READ, big, N / 2 * PAGE - 3, 1000, 1), 0);
        for (uint64_t i = 1; i < N; i += 2)
            assert_int_equal(transfer(q, KVF_DIR_READ, place[i], PAGE, i, 1), 0);
        t->ops->queue_close(q);
        t->ops->close(t);
    }
    scenario->nvme.path_count = 1;
    assert_int_equal(rmdir(second), 0);
}

static void what_the_kernel_puts_off_or_cuts_short_is_made_good(void **state) {
    (void)state;
    enum { N = 20 };
    for (int l = 0; l < 2; l++) {
        scenario->nvme.layout = LAYOUTS[l];
        scenario->nvme.sync = KVF_SYNC_DATA;
        struct tier_setup setup = setup_of(8 << 20, PAGE, 1);
        struct tier *t = open_tier(&setup);
        struct tier_queue *q = open_queue(t);
        memset(&faults, 0, sizeof(faults));
        rng_init(&faults.rng, 5, KVF_RNG_TEST, 1);
        faults.again = 30;
        faults.cut = 20;
        uint64_t place[N], bytes = 0, good = 0;
        for (uint64_t i = 0; i < N; i++) { /* leaves holes for the arena to fill */
            place[i] = t->ops->alloc(t, PAGE * (1 + i % 3));
            if (i % 2) t->ops->drop(t, place[i], PAGE * (1 + i % 3));
        }
        for (uint64_t i = 0; i < N; i++) {
            bytes = 300000 + i * 5000;
            place[i] = t->ops->alloc(t, bytes);
            faults.on = true;
            int w = transfer(q, KVF_DIR_WRITE, place[i], bytes, i, 1),
                r = transfer(q, KVF_DIR_READ, place[i], bytes, i, 1);
            faults.on = false;
            assert_true(w == 0 || w == EIO); /* the rest was cut short again */
            assert_true(r == 0 || r == EIO || w == EIO);
            if (w == 0) assert_int_equal(transfer(q, KVF_DIR_READ, place[i], bytes, i, 1), 0);
            good += w == 0 && r == 0;
            t->ops->drop(t, place[i], bytes);
        }
        assert_true(faults.shortened > 20 && faults.delayed > 20);
        assert_in_range(good, 1, N - 1);
        t->ops->queue_close(q);
        t->ops->close(t);
        scenario->nvme.sync = KVF_SYNC_NONE;
    }
}

static void what_the_kernel_refuses_is_that_chunks_error(void **state) {
    (void)state;
    for (int l = 0; l < 2; l++) {
        scenario->nvme.layout = LAYOUTS[l];
        struct tier_setup setup = setup_of(8 << 20, PAGE, 1);
        struct tier *t = open_tier(&setup);
        struct tier_queue *q = open_queue(t);
        memset(&faults, 0, sizeof(faults));
        rng_init(&faults.rng, 6, KVF_RNG_TEST, 1);
        faults.again = 20;
        faults.refuse = 20;
        uint64_t place = t->ops->alloc(t, 1000000);
        unsigned bad = 0;
        for (int i = 0; i < 30; i++) {
            faults.on = true;
            unsigned before = faults.refused;
            int error = transfer(q, KVF_DIR_WRITE, place, 1000000, 1, 1);
            faults.on = false;
            assert_int_equal(error, faults.refused > before ? EINVAL : 0);
            bad += error != 0;
        }
        assert_true(bad > 0);
        assert_int_equal(transfer(q, KVF_DIR_WRITE, place, 1000000, 1, 2), 0);
        assert_int_equal(transfer(q, KVF_DIR_READ, place, 1000000, 1, 2), 0);
        t->ops->queue_close(q);
        t->ops->close(t);
    }
}

static void a_queue_takes_no_more_than_its_depth(void **state) {
    (void)state;
    scenario->nvme.layout = KVF_NVME_LAYOUT_FILES;
    struct tier_setup setup = setup_of(1 << 20, PAGE, 1);
    struct tier *t = open_tier(&setup);
    struct tier_queue *q = open_queue(t);
    uint64_t place = t->ops->alloc(t, (DEPTH + 4) * PAGE);
    assert_int_equal(t->ops->begin(q, place, (DEPTH + 4) * PAGE, KVF_DIR_WRITE), 0);
    struct tier_chunk c[DEPTH + 4], *list[DEPTH + 4], *done[2];
    memset(c, 0, sizeof(c));
    for (uint64_t i = 0; i < DEPTH + 4; i++) {
        c[i] = (struct tier_chunk){
            .dir = KVF_DIR_WRITE, .place = place, .offset = i * PAGE, .len = PAGE, .buf = buffers};
        list[i] = &c[i];
    }
    assert_int_equal(t->ops->submit(q, list, DEPTH + 4), DEPTH);
    assert_int_equal(t->ops->submit(q, list + DEPTH, 4), 0);
    unsigned got = 0, next = DEPTH;
    while (got < DEPTH + 4) { /* two at a time: what stays behind must still be signalled */
        wait_for(q);
        got += t->ops->reap(q, done, 2);
        if (next < DEPTH + 4) next += t->ops->submit(q, list + next, DEPTH + 4 - next);
    }
    assert_int_equal(t->ops->reap(q, done, 2), 0);
    for (int i = 0; i < DEPTH + 4; i++) assert_int_equal(c[i].error, 0);
    t->ops->end(q, place, KVF_DIR_WRITE);
    struct tier_chunk *stray = &c[0];
    assert_int_equal(t->ops->submit(q, &stray, 1), 1); /* not begun */
    wait_for(q);
    assert_int_equal(t->ops->reap(q, done, 2), 1);
    assert_int_equal(c[0].error, EBADF);
    t->ops->queue_close(q);
    t->ops->close(t);
}

static void many_operations_may_be_open_at_once(void **state) {
    (void)state;
    enum { N = 200 };
    scenario->nvme.layout = KVF_NVME_LAYOUT_FILES;
    struct tier_setup setup = setup_of(N * PAGE, PAGE, 1);
    setup.workers = 64; /* so that there are descriptors for them */
    struct tier *t = open_tier(&setup);
    struct tier_queue *q = open_queue(t);
    uint64_t place[N];
    for (int i = 0; i < N; i++) {
        place[i] = t->ops->alloc(t, PAGE);
        assert_int_equal(t->ops->begin(q, place[i], PAGE, KVF_DIR_WRITE), 0);
    }
    for (uint64_t i = 0; i < N; i++) assert_int_equal(transfer(q, KVF_DIR_WRITE, place[i], PAGE, i, 1), 0);
    for (int i = 0; i < N; i++) t->ops->end(q, place[i], KVF_DIR_WRITE);
    for (uint64_t i = 0; i < N; i++) assert_int_equal(transfer(q, KVF_DIR_READ, place[i], PAGE, i, 1), 0);
    t->ops->queue_close(q);
    t->ops->close(t);
}

static void a_file_cut_or_deleted_under_the_run_is_an_error(void **state) {
    (void)state;
    for (int l = 0; l < 2; l++) {
        scenario->nvme.layout = LAYOUTS[l];
        struct tier_setup setup = setup_of(1 << 20, PAGE, 1);
        struct tier *t = open_tier(&setup);
        struct tier_queue *q = open_queue(t);
        uint64_t place = t->ops->alloc(t, 300000);
        assert_int_equal(transfer(q, KVF_DIR_WRITE, place, 300000, 1, 1), 0);
        find_data(base);
        assert_int_equal(found.files, 1);
        assert_int_equal(truncate(found.last, 100 * 1024 + 512), 0);
        assert_int_equal(transfer(q, KVF_DIR_READ, place, 300000, 1, 1), EIO);
        assert_int_equal(truncate(found.last, 0), 0);
        assert_int_equal(transfer(q, KVF_DIR_READ, place, 300000, 1, 1), EIO);
        if (LAYOUTS[l] == KVF_NVME_LAYOUT_FILES) {
            assert_int_equal(unlink(found.last), 0);
            assert_int_equal(transfer(q, KVF_DIR_READ, place, 300000, 1, 1), ENOENT);
        }
        t->ops->drop(t, place, 300000);
        place = t->ops->alloc(t, 300000);
        assert_int_equal(transfer(q, KVF_DIR_WRITE, place, 300000, 2, 1), 0);
        assert_int_equal(transfer(q, KVF_DIR_READ, place, 300000, 2, 1), 0);
        t->ops->queue_close(q);
        t->ops->close(t);
        expect_empty(base);
    }
}

static void a_full_disk_refuses_the_entry_and_goes_on(void **state) {
    (void)state;
    char mounted[PATH_BYTES];
    snprintf(mounted, sizeof(mounted), "%s/full", base);
    assert_int_equal(mkdir(mounted, 0700), 0);
    if (geteuid() != 0 || mount("tmpfs", mounted, "tmpfs", 0, "size=2M") != 0) {
        rmdir(mounted);
        print_message("# a small tmpfs cannot be mounted here (%s)\n",
                      geteuid() ? "not root" : strerror(errno));
        skip();
    }
    use_path(0, mounted);
    scenario->nvme.layout = KVF_NVME_LAYOUT_FILES;
    struct tier_setup setup = setup_of(64 << 20, PAGE, 1);
    struct tier *t = open_tier(&setup);
    struct tier_queue *q = open_queue(t);
    uint64_t a = t->ops->alloc(t, 800000), b = t->ops->alloc(t, 8000000), c = t->ops->alloc(t, 700000);
    assert_int_equal(transfer(q, KVF_DIR_WRITE, a, 800000, 1, 1), 0);
    assert_int_equal(transfer(q, KVF_DIR_WRITE, b, 8000000, 2, 1), ENOSPC);
    assert_int_equal(transfer(q, KVF_DIR_WRITE, c, 700000, 3, 1), 0); /* what b got of it is free again */
    t->ops->drop(t, b, 8000000);
    assert_int_equal(transfer(q, KVF_DIR_READ, a, 800000, 1, 1), 0);
    assert_int_equal(transfer(q, KVF_DIR_READ, c, 700000, 3, 1), 0);
    t->ops->queue_close(q);
    t->ops->close(t);
    scenario->nvme.layout = KVF_NVME_LAYOUT_ARENA;
    struct err e = {0};
    t = NULL;
    assert_int_equal(tier_nvme_ops.open(&t, &setup, &e), -KVF_ERR_NOSPACE);
    assert_null(t);
    assert_non_null(strstr(e.text, "smaller capacity"));
    expect_empty(mounted);
    use_path(0, base);
    assert_int_equal(umount(mounted), 0);
    assert_int_equal(rmdir(mounted), 0);
}

static void a_file_size_limit_refuses_the_entry_and_goes_on(void **state) {
    (void)state;
    struct rlimit before, small;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    scenario->nvme.layout = KVF_NVME_LAYOUT_FILES;
    struct tier_setup setup = setup_of(8 << 20, PAGE, 1);
    struct tier *t = open_tier(&setup);
    struct tier_queue *q = open_queue(t);
    uint64_t a = t->ops->alloc(t, 100000), b = t->ops->alloc(t, 500000);
    small = before;
    small.rlim_cur = 200000;
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    int first = transfer(q, KVF_DIR_WRITE, a, 100000, 1, 1),
        next = transfer(q, KVF_DIR_WRITE, b, 500000, 2, 1);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, handler);
    assert_int_equal(first, 0);
    assert_int_equal(next, EFBIG);
    assert_int_equal(transfer(q, KVF_DIR_READ, a, 100000, 1, 1), 0);
    t->ops->queue_close(q);
    t->ops->close(t);
}

static int compare_hashes(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Everything on the device, block by block: no two alike, be it another entry, another place in the
 * same entry, the same key written again, or a tail of a few bytes. */
static uint64_t *block_hash;
static uint64_t blocks;

static int on_blocks(const char *path, const struct stat *st, int type, struct FTW *at) {
    (void)st;
    (void)at;
    size_t len = strlen(path);
    if (type != FTW_F || len < 3 || strcmp(path + len - 3, ".kv") != 0) return 0;
    uint8_t block[PAGE];
    FILE *f = fopen(path, "re");
    assert_non_null(f);
    while (fread(block, 1, PAGE, f) == PAGE) block_hash[blocks++] = hash_bytes(block, PAGE, 0);
    fclose(f);
    return 0;
}

static void every_block_on_the_device_is_unique(void **state) {
    (void)state;
    scenario->nvme.layout = KVF_NVME_LAYOUT_FILES;
    struct tier_setup setup = setup_of(16 << 20, PAGE, 1);
    struct tier *t = open_tier(&setup);
    struct tier_queue *q = open_queue(t);
    uint64_t written = 0;
    for (uint64_t i = 0; i < 40; i++) {
        uint64_t bytes = i % 4 == 0 ? 2 * IO + 5 : IO * (i % 5 + 1);
        uint64_t place = t->ops->alloc(t, bytes);
        assert_int_equal(transfer(q, KVF_DIR_WRITE, place, bytes, i / 2, i % 2), 0);
        written += (bytes + PAGE - 1) / PAGE;
    }
    block_hash = calloc(written, sizeof(*block_hash));
    blocks = 0;
    assert_int_equal(nftw(base, on_blocks, 16, FTW_PHYS), 0);
    assert_true(blocks == written);
    qsort(block_hash, blocks, sizeof(*block_hash), compare_hashes);
    for (uint64_t i = 1; i < blocks; i++) assert_true(block_hash[i] != block_hash[i - 1]);
    free(block_hash);
    t->ops->queue_close(q);
    t->ops->close(t);
}

static void a_ring_beyond_the_systems_limit_names_the_limit(void **state) {
    (void)state;
    unsigned long limit = 0;
    FILE *f = fopen("/proc/sys/fs/aio-max-nr", "re");
    if (f) {
        if (fscanf(f, "%lu", &limit) != 1) limit = 0;
        fclose(f);
    }
    if (limit == 0 || limit > 1000000) {
        print_message("# aio-max-nr is %lu\n", limit);
        skip();
    }
    scenario->nvme.layout = KVF_NVME_LAYOUT_FILES;
    struct tier_setup setup = setup_of(1 << 20, PAGE, 1);
    struct tier *t = open_tier(&setup);
    struct tier_queue *q = NULL;
    struct err e = {0};
    assert_int_equal(t->ops->queue_open(t, &q, 0, (uint32_t)limit + 1, &e), -KVF_ERR_UNAVAILABLE);
    assert_null(q);
    assert_non_null(strstr(e.text, "/proc/sys/fs/aio-max-nr"));
    t->ops->close(t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries_come_back_as_they_went),
        cmocka_unit_test(sync_data_and_buffered_carry_the_same_data),
        cmocka_unit_test(a_file_system_without_direct_io_says_so),
        cmocka_unit_test(entries_spread_over_the_paths),
        cmocka_unit_test(files_are_reused_and_the_disk_is_bounded),
        cmocka_unit_test(an_arena_in_pieces_still_holds_what_fits),
        cmocka_unit_test(what_the_kernel_puts_off_or_cuts_short_is_made_good),
        cmocka_unit_test(what_the_kernel_refuses_is_that_chunks_error),
        cmocka_unit_test(a_queue_takes_no_more_than_its_depth),
        cmocka_unit_test(many_operations_may_be_open_at_once),
        cmocka_unit_test(a_file_cut_or_deleted_under_the_run_is_an_error),
        cmocka_unit_test(a_full_disk_refuses_the_entry_and_goes_on),
        cmocka_unit_test(a_file_size_limit_refuses_the_entry_and_goes_on),
        cmocka_unit_test(every_block_on_the_device_is_unique),
        cmocka_unit_test(a_ring_beyond_the_systems_limit_names_the_limit),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("tier_nvme", tests, group_setup, group_teardown);
}
