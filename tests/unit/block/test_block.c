#include "tests/unit/sysfs_fixture.h"

#include "base/build.h"
#include "block/block.h"

/* ---- why not ---- */

static void permits(const char *caps) {
    char status[128];
    snprintf(status, sizeof status, "Name:\tkvfall\nCapInh:\t0\nCapEff:\t%s\n", caps);
    put("proc/self/status", status);
    put("sys/kernel/btf/vmlinux", "types");
}

static void assert_refused(const char *why) {
    struct err e = {0};
    assert_int_equal(block_permitted(root, &e), -KVF_ERR_UNAVAILABLE);
    if (!strstr(e.text, why)) fail_msg("\"%s\" does not say \"%s\"", e.text, why);
    assert_true(strncmp(e.text, "the block layer cannot be traced: ", 34) == 0);
    assert_null(strchr(e.text, '\n'));
}

static void each_reason_is_a_sentence_with_its_remedy(void **state) {
    (void)state;
    if (build_without_bpf()) {
        assert_refused(build_without_bpf());
        return;
    }
    permits("000001ffffffffff");
    assert_int_equal(block_permitted(root, NULL), 0);
    permits("000000c000000000"); /* these two alone */
    assert_int_equal(block_permitted(root, NULL), 0);
    permits("0000000000200000"); /* CAP_SYS_ADMIN, as before there were the others */
    assert_int_equal(block_permitted(root, NULL), 0);
    permits("0000000000000000");
    assert_refused("CAP_BPF and CAP_PERFMON are missing; run as root, or give them");
    permits("0000004000000000");
    assert_refused("CAP_BPF is missing");
    permits("0000008000000000");
    assert_refused("CAP_PERFMON is missing");
    permits("000001ffffffffff");
    put("sys/kernel/security/lockdown", "none [integrity] confidentiality\n");
    assert_int_equal(block_permitted(root, NULL), 0);
    put("sys/kernel/security/lockdown", "none integrity [confidentiality]\n");
    assert_refused("locked down for confidentiality");
    put("sys/kernel/security/lockdown", "[none] integrity confidentiality\n");
    char types[512];
    full_path(types, "sys/kernel/btf/vmlinux");
    assert_int_equal(unlink(types), 0);
    assert_refused("CONFIG_DEBUG_INFO_BTF");
}

/* ---- which drives ---- */

static void a_mapped_device_stands_for_all_that_it_is_made_of(void **state) {
    (void)state;
    struct block_setup s = {0};
    put("sys/block/nvme0n1/dev", "259:0\n");
    put("sys/block/nvme0n1/nvme0n1p2/partition", "2\n");
    put("sys/block/nvme0n1/nvme0n1p2/dev", "259:2\n");
    put("sys/block/nvme1n1/dev", "259:5\n");
    put("sys/block/md0/dev", "9:0\n");
    put("sys/block/md0/slaves/here", "");
    link_to("sys/block/md0/slaves/nvme0n1p2", "../../nvme0n1/nvme0n1p2");
    link_to("sys/block/md0/slaves/nvme1n1", "../../nvme1n1");
    put("sys/block/dm-3/dev", "253:3\n");
    put("sys/block/dm-3/slaves/here", "");
    link_to("sys/block/dm-3/slaves/md0", "../../md0");
    put("sys/dev/block/here", "");
    link_to("sys/dev/block/253:3", "../../block/dm-3");
    link_to("sys/dev/block/259:2", "../../block/nvme0n1/nvme0n1p2");

    assert_int_equal(block_devices(root, 8, 0, &s, NULL), 0);
    assert_int_equal(s.device_count, 0);
    for (int again = 0; again < 2; again++) {
        assert_int_equal(block_devices(root, 259, 2, &s, NULL), 0);
        assert_int_equal(s.device_count, 1);
        assert_int_equal(s.devices[0], 259 << 20 | 0); /* the disk, as the kernel numbers it */
        assert_int_equal(s.stacked | s.part_count, 0);
    }
    /* one drive is known already */
    assert_int_equal(block_devices(root, 253, 3, &s, NULL), 0);
    assert_int_equal(s.device_count, 4);
    assert_int_equal(s.part_count, 3);
    uint32_t sum = 0, made_of_others = 0;
    for (int i = 0; i < 4; i++) {
        sum += s.devices[i];
        if (s.stacked >> i & 1) made_of_others += s.devices[i];
    }
    assert_int_equal(sum, (259u << 20) + (253u << 20 | 3) + (9u << 20) + (259u << 20 | 5));
    assert_int_equal(made_of_others, (253u << 20 | 3) + (9u << 20));
    sum = s.parts[0] + s.parts[1] + s.parts[2];
    assert_int_equal(sum, (9u << 20) + (259u << 20 | 2) + (259u << 20 | 5));
}

static void devices_that_share_a_drive_are_made_of_others_too(void **state) {
    (void)state;
    struct block_setup s = {0};
    put("sys/block/sda/dev", "8:0\n");
    put("sys/block/dm-0/dev", "253:0\n");
    put("sys/block/dm-0/slaves/here", "");
    link_to("sys/block/dm-0/slaves/sda", "../../sda");
    put("sys/dev/block/here", "");
    link_to("sys/dev/block/253:0", "../../block/dm-0");
    link_to("sys/dev/block/8:0", "../../block/sda");
    assert_int_equal(block_devices(root, 8, 0, &s, NULL), 0);
    assert_int_equal(block_devices(root, 253, 0, &s, NULL), 0);
    assert_int_equal(s.device_count, 2);
    assert_int_equal(s.devices[1], 253 << 20);
    assert_int_equal(s.stacked, 2);
}

/* The least of all: a device without queues of its own takes no requests. */
static void what_requests_all_drives_take_is_known(void **state) {
    (void)state;
    struct block_setup s = {0};
    put("sys/block/sda/dev", "8:0\n");
    put("sys/block/sda/mq/0/here", "");
    put("sys/block/sda/queue/max_sectors_kb", "1280\n");
    put("sys/block/sda/queue/nr_requests", "256\n");
    put("sys/block/sdb/dev", "8:16\n");
    put("sys/block/sdb/mq/0/here", "");
    put("sys/block/sdb/queue/max_sectors_kb", "4096\n");
    put("sys/block/sdb/queue/nr_requests", "64\n");
    put("sys/block/zram0/dev", "251:0\n");
    put("sys/block/zram0/queue/max_sectors_kb", "2147483647\n");
    put("sys/block/zram0/queue/nr_requests", "128\n");
    put("sys/dev/block/here", "");
    link_to("sys/dev/block/8:0", "../../block/sda");
    link_to("sys/dev/block/8:16", "../../block/sdb");
    link_to("sys/dev/block/251:0", "../../block/zram0");
    assert_int_equal(block_devices(root, 8, 0, &s, NULL), 0);
    assert_int_equal(s.request_bytes, 1280 << 10);
    assert_int_equal(s.requests, 256);
    assert_int_equal(block_devices(root, 8, 16, &s, NULL), 0);
    assert_int_equal(s.request_bytes, 1280 << 10);
    assert_int_equal(s.requests, 64);
    assert_int_equal(block_devices(root, 251, 0, &s, NULL), 0);
    assert_int_equal(s.request_bytes, 0);
    assert_int_equal(s.requests, 0);
}

static void more_drives_than_can_be_watched_are_refused(void **state) {
    (void)state;
    struct block_setup s = {0};
    struct err e = {0};
    char path[64], target[64];
    put("sys/dev/block/here", "");
    for (unsigned i = 0; i <= BLOCK_DEVICES; i++) {
        snprintf(path, sizeof path, "sys/block/nvme%un1/dev", i);
        snprintf(target, sizeof target, "259:%u\n", i);
        put(path, target);
        snprintf(path, sizeof path, "sys/dev/block/259:%u", i);
        snprintf(target, sizeof target, "../../block/nvme%un1", i);
        link_to(path, target);
        int rc = block_devices(root, 259, i, &s, &e);
        assert_int_equal(rc, i < BLOCK_DEVICES ? 0 : -KVF_ERR_UNAVAILABLE);
    }
    assert_non_null(
        strstr(e.text, "over 16 drives, and devices made of them, are under the nvme tier; give it fewer"));
}

/* ---- counts ---- */

static void cpus_count_up_to_the_highest_number(void **state) {
    (void)state;
    static const struct {
        const char *possible;
        uint32_t cpus;
    } cases[] = {{"0\n", 1}, {"0-1\n", 2}, {"0-3,8-11\n", 12}, {"0,2-5,17\n", 18}, {"\n", 0}};
    assert_int_equal(block_cpus(root), 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        put("sys/devices/system/cpu/possible", cases[i].possible);
        assert_int_equal(block_cpus(root), cases[i].cpus);
    }
}

static void bins_become_histograms_with_their_sum(void **state) {
    (void)state;
    static struct block_counts before, after, c;
    static struct histogram h;
    /* 1 ms lies in the octave from 2^19 ns on, the 14th of its 16 parts: from 950,272 to 983,040 it is the
     * 13th */
    int octave = (19 - BLOCK_FIRST_BIT - 1) * 16;
    before.spread[BLOCK_WRITE][2].bin[BLOCK_D2C][1 + octave + 14] = 5;
    before.spread[BLOCK_WRITE][2].sum_ns[BLOCK_D2C] = 5000000;
    after = before;
    after.spread[BLOCK_WRITE][2].bin[BLOCK_D2C][1 + octave + 14] += 3;
    after.spread[BLOCK_WRITE][2].sum_ns[BLOCK_D2C] += 3000000;
    after.spread[BLOCK_WRITE][5].bin[BLOCK_D2C][BLOCK_BINS - 1] = 1;
    after.spread[BLOCK_WRITE][5].sum_ns[BLOCK_D2C] = 1;
    after.events.dir[BLOCK_READ].requests = 7;
    after.user[3].bytes[BLOCK_READ] = 11;
    before.user[4].bytes[BLOCK_READ] = 10; /* came back, and is not issued again yet */
    after.user[4].bytes[BLOCK_READ] = 4;
    block_since(&after, &before, &c);
    assert_int_equal(c.user[4].bytes[BLOCK_READ], 0);
    assert_int_equal(c.events.dir[BLOCK_READ].requests, 7);
    assert_int_equal(c.user[3].bytes[BLOCK_READ], 11);
    block_histogram(&c, BLOCK_WRITE, BLOCK_D2C, 2, &h);
    assert_int_equal(histogram_count(&h), 3);
    assert_true(histogram_mean(&h) == 1e6);
    double p50 = histogram_quantile(&h, 0.5);
    assert_true(p50 > 0.97e6 && p50 < 1.03e6);
    histogram_init(&h);
    block_histogram(&c, BLOCK_WRITE, BLOCK_D2C, BLOCK_SIZES, &h);
    assert_int_equal(histogram_count(&h), 4);
    histogram_init(&h);
    block_histogram(&c, BLOCK_READ, BLOCK_D2C, BLOCK_SIZES, &h);
    assert_int_equal(histogram_count(&h), 0);
}

struct forgotten {
    struct block_cell *cells;
    uint64_t stays; /* the name of one that has come back meanwhile */
};

static bool forget(void *ctx, uint32_t place, uint64_t name) {
    struct forgotten *f = ctx;
    assert_int_equal(f->cells[place].name, name);
    if (name == f->stays) return false;
    f->cells[place].name = 0;
    return true;
}

/* An end that was not seen leaves its request at the device; what is younger, or on its way, stays. */
static void what_is_left_of_unseen_ends_is_swept(void **unused) {
    (void)unused;
    enum { CELLS = 12 };
    struct block_cell cells[CELLS] = {
        [0] = {.name = 1, .queued_ns = 10, .issued_ns = 20, .own = 1, .joined = 2},
        [7] = {.name = 2, .queued_ns = 10, .issued_ns = 20},
        [9] = {.name = 3, .queued_ns = 10, .issued_ns = 200, .own = 1},
        [10] = {.name = 4, .queued_ns = 10}, /* never came to a device */
        [2] = {.name = 6, .queued_ns = 10, .own = 1},
        [CELLS - 1] = {.name = 5, .queued_ns = 150, .issued_ns = 160, .own = 1},
    };
    struct forgotten f = {.cells = cells, .stays = 6};
    assert_int_equal(block_sweep(cells, CELLS, 100, forget, &f), 3); /* with those that have joined it */
    unsigned long long left = 0;
    for (int i = 0; i < CELLS; i++) left += cells[i].name;
    assert_int_equal(left, 3 + 5 + 6);
    assert_int_equal(block_sweep(cells, CELLS, 100, forget, &f), 0);
}

static void sizes_and_statuses_have_names(void **state) {
    (void)state;
    assert_string_equal(block_size_name(0), "4k");
    assert_string_equal(block_size_name(BLOCK_SIZES - 1), "more");
    assert_string_equal(block_status_name(10), "I/O error");
    assert_string_equal(block_status_name(31), "other error");
    assert_string_equal(block_status_name(99), "other error");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_reason_is_a_sentence_with_its_remedy, make_root, drop_root),
        cmocka_unit_test_setup_teardown(a_mapped_device_stands_for_all_that_it_is_made_of, make_root,
                                        drop_root),
        cmocka_unit_test_setup_teardown(devices_that_share_a_drive_are_made_of_others_too, make_root,
                                        drop_root),
        cmocka_unit_test_setup_teardown(what_requests_all_drives_take_is_known, make_root, drop_root),
        cmocka_unit_test_setup_teardown(more_drives_than_can_be_watched_are_refused, make_root, drop_root),
        cmocka_unit_test_setup_teardown(cpus_count_up_to_the_highest_number, make_root, drop_root),
        cmocka_unit_test(what_is_left_of_unseen_ends_is_swept),
        cmocka_unit_test(bins_become_histograms_with_their_sum),
        cmocka_unit_test(sizes_and_statuses_have_names),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
