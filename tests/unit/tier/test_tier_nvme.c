#include <fcntl.h>
#include <sys/mman.h>

#include "base/hash.h"
#include "base/rng.h"
#include "probe/blockdev.h"
#include "tests/unit/nvme_rig.h"

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
        t->ops->describe(t, text, sizeof text);
        assert_non_null(strstr(text, "buffered I/O"));
        assert_non_null(strstr(text, "direct: false"));
        assert_non_null(strstr(text, LAYOUTS[l] == KVF_NVME_LAYOUT_ARENA ? "layout arena" : "layout files"));
        t->ops->close(t);
        scenario->nvme.direct = true;
    }
}

/* Pages of a file that are in the page cache. */
static unsigned resident(const char *path) {
    struct stat st;
    unsigned char in[256];
    int fd = open(path, O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0 && fstat(fd, &st) == 0 && st.st_size <= 256 * PAGE);
    void *map = mmap(NULL, (size_t)st.st_size, PROT_NONE, MAP_SHARED, fd, 0);
    assert_true(map != MAP_FAILED && mincore(map, (size_t)st.st_size, in) == 0);
    munmap(map, (size_t)st.st_size);
    close(fd);
    unsigned n = 0;
    for (off_t i = 0; i * PAGE < st.st_size; i++) n += in[i] & 1;
    return n;
}

static void buffered_io_leaves_nothing_in_the_cache(void **state) {
    (void)state;
    struct blockdev b;
    struct err e = {0};
    assert_int_equal(blockdev_find(base, &b, &e), 0);
    if (!b.present) {
        print_message("skip: %s\n", b.absent_why);
        skip();
    }
    scenario->nvme.direct = false;
    for (int l = 0; l < 2; l++) {
        scenario->nvme.layout = LAYOUTS[l];
        struct tier_setup setup = setup_of(1 << 20, PAGE, 1);
        struct tier *t = open_tier(&setup);
        struct tier_queue *q = open_queue(t);
        uint64_t place = t->ops->alloc(t, 500000);
        assert_int_equal(transfer(q, KVF_DIR_WRITE, place, 500000, 1, 1), 0);
        find_data(base);
        assert_int_equal(resident(found.last), 0);
        assert_int_equal(transfer(q, KVF_DIR_READ, place, 500000, 1, 1), 0);
        assert_int_equal(resident(found.last), 0);
        t->ops->queue_close(q);
        t->ops->close(t);
    }
    scenario->nvme.direct = true;
}

static void a_file_system_without_direct_io_says_so(void **state) {
    (void)state;
    char shm[] = "/dev/shm/kvf-test-XXXXXX", text[500];
    if (!mkdtemp(shm)) {
        print_message("skip: no /dev/shm here\n");
        skip();
    }
    use_path(0, shm);
    for (int l = 0; l < 2; l++) {
        scenario->nvme.layout = LAYOUTS[l];
        struct tier_setup setup = setup_of(1 << 20, 4096, 1);
        struct tier *t = open_tier(&setup);
        t->ops->describe(t, text, sizeof text);
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

static void a_queue_takes_no_more_than_its_depth(void **state) {
    (void)state;
    scenario->nvme.layout = KVF_NVME_LAYOUT_FILES;
    struct tier_setup setup = setup_of(1 << 20, PAGE, 1);
    struct tier *t = open_tier(&setup);
    struct tier_queue *q = open_queue(t);
    uint64_t place = t->ops->alloc(t, (DEPTH + 4) * PAGE);
    assert_int_equal(t->ops->begin(q, place, (DEPTH + 4) * PAGE, KVF_DIR_WRITE), 0);
    struct tier_chunk c[DEPTH + 4], *list[DEPTH + 4], *done[2];
    memset(c, 0, sizeof c);
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
    block_hash = calloc(written, sizeof *block_hash);
    blocks = 0;
    assert_int_equal(nftw(base, on_blocks, 16, FTW_PHYS), 0);
    assert_true(blocks == written);
    qsort(block_hash, blocks, sizeof *block_hash, compare_hashes);
    for (uint64_t i = 1; i < blocks; i++) assert_true(block_hash[i] != block_hash[i - 1]);
    free(block_hash);
    t->ops->queue_close(q);
    t->ops->close(t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        RIG_TEST(entries_come_back_as_they_went),
        RIG_TEST(sync_data_and_buffered_carry_the_same_data),
        RIG_TEST(buffered_io_leaves_nothing_in_the_cache),
        RIG_TEST(a_file_system_without_direct_io_says_so),
        RIG_TEST(entries_spread_over_the_paths),
        RIG_TEST(files_are_reused_and_the_disk_is_bounded),
        RIG_TEST(an_arena_in_pieces_still_holds_what_fits),
        RIG_TEST(a_queue_takes_no_more_than_its_depth),
        RIG_TEST(many_operations_may_be_open_at_once),
        RIG_TEST(every_block_on_the_device_is_unique),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("tier_nvme", tests, group_setup, group_teardown);
}
