#include <libaio.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "base/rng.h"
#include "tests/unit/nvme_rig.h"

/* The kernel as the tests want it: what libaio would pass on, with faults in between. */
static struct {
    bool on;
    struct rng rng;
    unsigned again, cut, refuse; /* per cent of submits and events that go wrong */
    unsigned cuts_left;          /* events that may still be cut short */
    unsigned refused, shortened, delayed;
    int events_error; /* of io_getevents; 0: none */
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
    if (faults.events_error) return -faults.events_error;
    long rc = syscall(SYS_io_getevents, ctx, min, nr, events, timeout);
    for (long i = 0; i < rc; i++) {
        long res = (long)events[i].res;
        if (res <= PAGE || faults.cuts_left == 0 || !chance(faults.cut)) continue;
        faults.cuts_left--;
        events[i].res = (unsigned long)res / 2;
        faults.shortened++;
    }
    return rc < 0 ? -errno : (int)rc;
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
        memset(&faults, 0, sizeof faults);
        rng_init(&faults.rng, 5, KVF_RNG_TEST, 1);
        faults.again = 30;
        faults.cut = 20;
        faults.cuts_left = UINT32_MAX;
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

/* Nothing waits for ever: what is under way ends with a sentence, and so does all that follows. */
static void completions_that_cannot_be_had_end_the_operations(void **state) {
    (void)state;
    static const int errors[] = {EINVAL, EFAULT, ENOSYS};
    for (int l = 0; l < 2; l++)
        for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
            scenario->nvme.layout = LAYOUTS[l];
            struct tier_setup setup = setup_of(1 << 20, PAGE, 1);
            struct tier *t = open_tier(&setup);
            struct tier_queue *q = open_queue(t);
            memset(&faults, 0, sizeof faults);
            uint64_t place = t->ops->alloc(t, 8 * IO);
            assert_int_equal(transfer(q, KVF_DIR_WRITE, place, 8 * IO, 9, 1), 0);
            faults.events_error = errors[i];
            assert_int_equal(transfer(q, KVF_DIR_READ, place, 8 * IO, 9, 1), EREMOTEIO);
            assert_non_null(strstr(tier_nvme_ops.why(q), "io_getevents"));
            assert_non_null(strstr(tier_nvme_ops.why(q), strerror(errors[i])));
            faults.events_error = 0;
            assert_int_equal(transfer(q, KVF_DIR_WRITE, place, 8 * IO, 9, 2), EREMOTEIO);
            t->ops->queue_close(q);
            t->ops->close(t);
            expect_empty(base);
        }
}

static void a_short_transfer_goes_on_once(void **state) {
    (void)state;
    for (int l = 0; l < 2; l++) {
        scenario->nvme.layout = LAYOUTS[l];
        struct tier_setup setup = setup_of(1 << 20, PAGE, 1);
        struct tier *t = open_tier(&setup);
        struct tier_queue *q = open_queue(t);
        uint64_t place = t->ops->alloc(t, IO);
        for (unsigned cuts = 0; cuts <= 2; cuts++) {
            for (int dir = KVF_DIR_WRITE; dir >= KVF_DIR_READ; dir--) {
                memset(&faults, 0, sizeof faults);
                rng_init(&faults.rng, 5, KVF_RNG_TEST, 1);
                faults.cut = 100;
                faults.cuts_left = cuts;
                faults.on = true;
                int error = transfer(q, (enum kvf_dir)dir, place, IO, 9, cuts);
                faults.on = false;
                assert_int_equal(faults.shortened, cuts);
                assert_int_equal(error, cuts < 2 ? 0 : EIO);
            }
        }
        t->ops->queue_close(q);
        t->ops->close(t);
    }
}

static void what_the_kernel_refuses_is_that_chunks_error(void **state) {
    (void)state;
    for (int l = 0; l < 2; l++) {
        scenario->nvme.layout = LAYOUTS[l];
        struct tier_setup setup = setup_of(8 << 20, PAGE, 1);
        struct tier *t = open_tier(&setup);
        struct tier_queue *q = open_queue(t);
        memset(&faults, 0, sizeof faults);
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
    snprintf(mounted, sizeof mounted, "%s/full", base);
    assert_int_equal(mkdir(mounted, 0700), 0);
    if (geteuid() != 0 || mount("tmpfs", mounted, "tmpfs", 0, "size=2M") != 0) {
        rmdir(mounted);
        print_message("skip: a small tmpfs cannot be mounted here (%s)\n",
                      geteuid() ? "not root" : strerror(errno));
        skip();
    }
    use_path(0, mounted);
    scenario->nvme.layout = KVF_NVME_LAYOUT_FILES;
    struct tier_setup setup = setup_of(64 << 20, PAGE, 1);
    struct tier *t = open_tier(&setup);
    struct tier_queue *q = open_queue(t);
    /* A file of before that cannot be made larger does not keep what it had. */
    uint64_t old = t->ops->alloc(t, 800000);
    assert_int_equal(transfer(q, KVF_DIR_WRITE, old, 800000, 4, 1), 0);
    t->ops->drop(t, old, 800000);
    uint64_t larger = t->ops->alloc(t, 8000000), other = t->ops->alloc(t, 1500000);
    assert_true(larger == old);
    assert_int_equal(transfer(q, KVF_DIR_WRITE, larger, 8000000, 4, 1), ENOSPC);
    assert_int_equal(transfer(q, KVF_DIR_WRITE, other, 1500000, 5, 1), 0);
    t->ops->drop(t, larger, 8000000);
    t->ops->drop(t, other, 1500000);
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

static void a_ring_beyond_the_systems_limit_names_the_limit(void **state) {
    (void)state;
    unsigned long limit = 0;
    FILE *f = fopen("/proc/sys/fs/aio-max-nr", "re");
    if (f) {
        if (fscanf(f, "%lu", &limit) != 1) limit = 0;
        fclose(f);
    }
    if (limit == 0 || limit > 1000000) {
        print_message("skip: aio-max-nr is %lu\n", limit);
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
        RIG_TEST(what_the_kernel_puts_off_or_cuts_short_is_made_good),
        RIG_TEST(completions_that_cannot_be_had_end_the_operations),
        RIG_TEST(a_short_transfer_goes_on_once),
        RIG_TEST(what_the_kernel_refuses_is_that_chunks_error),
        RIG_TEST(a_file_cut_or_deleted_under_the_run_is_an_error),
        RIG_TEST(a_full_disk_refuses_the_entry_and_goes_on),
        RIG_TEST(a_file_size_limit_refuses_the_entry_and_goes_on),
        RIG_TEST(a_ring_beyond_the_systems_limit_names_the_limit),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("tier_nvme_faults", tests, group_setup, group_teardown);
}
