#include "tests/unit/sysfs_fixture.h"

#include <fcntl.h>

#include "probe/blockdev.h"

static void find(struct blockdev *b) {
    struct err e = {0};
    assert_int_equal(blockdev_find_in(root, sys, mountinfo, b, &e), 0);
}

static void a_partition_is_traced_to_its_disk(void **state) {
    (void)state;
    char link[64], target[] = "../../devices/pci0/nvme/nvme0/nvme0n1/nvme0n1p2";
    snprintf(link, sizeof link, "sys/dev/block/%s", dev);
    link_to(link, target);
    put("sys/devices/pci0/nvme/nvme0/nvme0n1/nvme0n1p2/partition", "2\n");
    put("sys/devices/pci0/nvme/nvme0/nvme0n1/nvme0n1p2/stat",
        "  10 1 2048 30 40 2 6 70 3 90 100 0 0 0 0 0 0\n");
    put("sys/devices/pci0/nvme/nvme0/nvme0n1/queue/logical_block_size", "512\n");
    put("sys/devices/pci0/nvme/nvme0/nvme0n1/queue/physical_block_size", "4096\n");
    put("sys/devices/pci0/nvme/nvme0/nvme0n1/queue/rotational", "0\n");
    put("sys/devices/pci0/nvme/nvme0/nvme0n1/device/model", "SuperDrive 9000 4TB           \n");
    put("sys/devices/pci0/nvme/nvme0/nvme0n1/device/firmware_rev", "FW42  \n");
    put("mountinfo", "20 1 8:1 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p2 rw,discard\n");
    struct blockdev b;
    find(&b);
    assert_true(b.present);
    assert_string_equal(b.name, "nvme0n1p2");
    assert_string_equal(b.disk, "nvme0n1");
    assert_string_equal(b.model, "SuperDrive 9000 4TB");
    assert_string_equal(b.firmware, "FW42");
    assert_int_equal(b.logical_block, 512);
    assert_int_equal(b.physical_block, 4096);
    assert_int_equal(b.rotational, 0);
    assert_string_equal(b.fs_type, "ext4");
    assert_string_equal(b.mount_point, "/");
    assert_string_equal(b.mount_options, "rw,relatime,rw,discard");
    assert_int_equal(b.direct, BLOCKDEV_DIRECT_UNKNOWN);
    struct blockdev_counters c;
    assert_int_equal(blockdev_counters_in(sys, &b, &c), 0);
    assert_true(c.read_ios == 10 && c.read_bytes == 2048 * 512 && c.read_ms == 30);
    assert_true(c.write_ios == 40 && c.write_bytes == 6 * 512 && c.write_ms == 70);
    assert_true(c.in_flight == 3 && c.io_ticks_ms == 90 && c.time_in_queue_ms == 100);
    put("sys/devices/pci0/nvme/nvme0/nvme0n1/nvme0n1p2/stat", "1 2 3\n");
    assert_int_equal(blockdev_counters_in(sys, &b, &c), -1);
}

static void a_whole_scsi_disk_has_its_revision(void **state) {
    (void)state;
    char link[64];
    snprintf(link, sizeof link, "sys/dev/block/%s", dev);
    link_to(link, "../../devices/host0/sdq");
    put("sys/devices/host0/sdq/device/model", "Spinner\n");
    put("sys/devices/host0/sdq/device/rev", "0001\n");
    put("sys/devices/host0/sdq/queue/logical_block_size", "4096\n");
    put("sys/devices/host0/sdq/queue/rotational", "1\n");
    struct blockdev b;
    find(&b);
    assert_string_equal(b.name, "sdq");
    assert_string_equal(b.disk, "sdq");
    assert_string_equal(b.model, "Spinner");
    assert_string_equal(b.firmware, "0001");
    assert_int_equal(b.logical_block, 4096);
    assert_int_equal(b.physical_block, 0);
    assert_int_equal(b.rotational, 1);
}

static void a_mapped_disk_shows_its_members_model(void **state) {
    (void)state;
    char link[64];
    snprintf(link, sizeof link, "sys/dev/block/%s", dev);
    link_to(link, "../../devices/virtual/dm-0");
    put("sys/devices/virtual/dm-0/queue/logical_block_size", "512\n");
    put("sys/devices/pci1/nvme5n1/device/model", "Member\n");
    put("sys/devices/pci1/nvme5n1/nvme5n1p1/partition", "1\n");
    link_to("sys/devices/virtual/dm-0/slaves/nvme5n1p1", "../../../pci1/nvme5n1/nvme5n1p1");
    struct blockdev b;
    find(&b);
    assert_string_equal(b.name, "dm-0");
    assert_string_equal(b.model, "Member");
}

static void the_innermost_and_latest_mount_counts(void **state) {
    (void)state;
    char text[2000];
    snprintf(text, sizeof text,
             "20 1 8:1 / / rw - ext4 /dev/root rw\n"
             "21 20 8:2 / %s rw,noatime shared:3 master:4 - xfs /dev/one rw,seclabel\n"
             "22 21 8:3 / %s rw,nosuid - btrfs /dev/two\\040words rw,ssd\n"
             "23 20 8:4 / %s.other rw - ext2 /dev/three rw\n"
             "24 20 8:5 / %.10s rw - vfat /dev/four rw\n"
             "half a line\n",
             root, root, root, root);
    put("mountinfo", text);
    struct blockdev b;
    find(&b);
    assert_string_equal(b.fs_type, "btrfs");
    assert_string_equal(b.mount_point, root);
    assert_string_equal(b.mount_options, "rw,nosuid,rw,ssd");
    assert_string_equal(b.source, "/dev/two words");
}

static void what_has_no_device_says_so(void **state) {
    (void)state;
    static const struct {
        const char *mount, *why;
    } cases[] = {{"tmpfs tmpfs rw", "memory"},
                 {"overlay overlay rw,lowerdir=/x", "overlay"},
                 {"nfs4 box:/x rw", "another machine"},
                 {"strangefs none rw", "names no block device under strangefs"}};
    char link[64], full[512];
    snprintf(link, sizeof link, "sys/dev/block/%s", dev);
    full_path(full, link);
    unlink(full);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[400];
        snprintf(text, sizeof text, "20 1 0:99 / / rw - %s\n", cases[i].mount);
        put("mountinfo", text);
        struct blockdev b;
        struct blockdev_counters c;
        find(&b);
        assert_false(b.present);
        assert_non_null(strstr(b.absent_why, cases[i].why));
        assert_int_equal(blockdev_counters_in(sys, &b, &c), -1);
    }
}

static void a_path_that_is_not_there_is_an_error(void **state) {
    (void)state;
    struct blockdev b;
    struct err e = {0};
    assert_int_equal(blockdev_find("/no/such/path", &b, &e), -KVF_ERR_IO);
    assert_non_null(strstr(e.text, "/no/such/path"));
}

static void this_machine_answers(void **state) {
    (void)state;
    struct blockdev b;
    struct blockdev_counters before, after;
    struct err e = {0};
    assert_int_equal(blockdev_find(root, &b, &e), 0);
    assert_true(b.fs_type[0] != '\0');
    assert_true(b.present || b.absent_why[0]);
    assert_true(b.direct != BLOCKDEV_DIRECT_UNKNOWN);
    assert_true(strlen(b.direct_why) > 0);
    if (!b.present || blockdev_counters(&b, &before) != 0) {
        print_message("skip: no block device under %s: %s\n", root, b.absent_why);
        skip();
    }
    char path[260];
    snprintf(path, sizeof path, "%s/data", root);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    char block[8192];
    memset(block, 'x', sizeof block);
    assert_int_equal(write(fd, block, sizeof block), sizeof block);
    assert_int_equal(fsync(fd), 0);
    close(fd);
    assert_int_equal(blockdev_counters(&b, &after), 0);
    assert_true(after.write_bytes >= before.write_bytes + 8192);
    assert_true(after.write_ios > before.write_ios);
}

static void memory_file_systems_have_no_direct_io(void **state) {
    (void)state;
    struct blockdev b;
    struct err e = {0};
    if (access("/dev/shm", W_OK) != 0) {
        print_message("skip: no /dev/shm here\n");
        skip();
    }
    assert_int_equal(blockdev_find("/dev/shm", &b, &e), 0);
    if (strcmp(b.fs_type, "tmpfs") != 0) {
        print_message("skip: /dev/shm is no tmpfs\n");
        skip();
    }
    assert_false(b.present);
    assert_int_equal(b.direct, BLOCKDEV_DIRECT_NO);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_partition_is_traced_to_its_disk),
        cmocka_unit_test(a_whole_scsi_disk_has_its_revision),
        cmocka_unit_test(a_mapped_disk_shows_its_members_model),
        cmocka_unit_test(the_innermost_and_latest_mount_counts),
        cmocka_unit_test(what_has_no_device_says_so),
        cmocka_unit_test(a_path_that_is_not_there_is_an_error),
        cmocka_unit_test(this_machine_answers),
        cmocka_unit_test(memory_file_systems_have_no_direct_io),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("blockdev", tests, make_root_of_device, drop_root);
}
