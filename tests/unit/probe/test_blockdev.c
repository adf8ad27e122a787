#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "probe/blockdev.h"

/* A /sys and a mountinfo made for the device number of a directory of our own. */
static char root[200], mountinfo[260], sys[260], dev[40];

static int on_remove(const char *path, const struct stat *st, int type, struct FTW *at) {
    (void)st;
    (void)type;
    (void)at;
    return remove(path);
}

/* Makes the directories above a path below /sys. */
static void full_path(char out[512], const char *path) {
    int len = snprintf(out, 512, "%s/%s", sys, path);
    assert_in_range(len, 1, 511);
    for (char *slash = out + strlen(root) + 1; (slash = strchr(slash, '/')) != NULL; *slash++ = '/') {
        *slash = '\0';
        assert_true(mkdir(out, 0700) == 0 || errno == EEXIST);
    }
}

static void put(const char *path, const char *text) {
    char full[512];
    full_path(full, path);
    FILE *f = fopen(full, "we");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void link_to(const char *path, const char *target) {
    char full[512];
    full_path(full, path);
    unlink(full);
    assert_int_equal(symlink(target, full), 0);
}

static void put_mounts(const char *text) {
    FILE *f = fopen(mountinfo, "we");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void find(struct blockdev *b) {
    struct err e = {0};
    assert_int_equal(blockdev_find_in(root, sys, mountinfo, b, &e), 0);
}

static void a_partition_is_traced_to_its_disk(void **state) {
    (void)state;
    char link[64], target[] = "../../devices/pci0/nvme/nvme0/nvme0n1/nvme0n1p2";
    snprintf(link, sizeof(link), "dev/block/%s", dev);
    link_to(link, target);
    put("devices/pci0/nvme/nvme0/nvme0n1/nvme0n1p2/partition", "2\n");
    put("devices/pci0/nvme/nvme0/nvme0n1/nvme0n1p2/stat", "  10 1 2048 30 40 2 6 70 3 90 100 0 0 0 0 0 0\n");
    put("devices/pci0/nvme/nvme0/nvme0n1/queue/logical_block_size", "512\n");
    put("devices/pci0/nvme/nvme0/nvme0n1/queue/physical_block_size", "4096\n");
    put("devices/pci0/nvme/nvme0/nvme0n1/queue/rotational", "0\n");
    put("devices/pci0/nvme/nvme0/nvme0n1/device/model", "SuperDrive 9000 4TB           \n");
    put("devices/pci0/nvme/nvme0/nvme0n1/device/firmware_rev", "FW42  \n");
    put_mounts("20 1 8:1 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p2 rw,discard\n");
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
    put("devices/pci0/nvme/nvme0/nvme0n1/nvme0n1p2/stat", "1 2 3\n");
    assert_int_equal(blockdev_counters_in(sys, &b, &c), -1);
}

static void a_whole_scsi_disk_has_its_revision(void **state) {
    (void)state;
    char link[64];
    snprintf(link, sizeof(link), "dev/block/%s", dev);
    link_to(link, "../../devices/host0/sdq");
    put("devices/host0/sdq/device/model", "Spinner\n");
    put("devices/host0/sdq/device/rev", "0001\n");
    put("devices/host0/sdq/queue/logical_block_size", "4096\n");
    put("devices/host0/sdq/queue/rotational", "1\n");
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
    snprintf(link, sizeof(link), "dev/block/%s", dev);
    link_to(link, "../../devices/virtual/dm-0");
    put("devices/virtual/dm-0/queue/logical_block_size", "512\n");
    put("devices/pci1/nvme5n1/device/model", "Member\n");
    put("devices/pci1/nvme5n1/nvme5n1p1/partition", "1\n");
    link_to("devices/virtual/dm-0/slaves/nvme5n1p1", "../../../pci1/nvme5n1/nvme5n1p1");
    struct blockdev b;
    find(&b);
    assert_string_equal(b.name, "dm-0");
    assert_string_equal(b.model, "Member");
}

static void the_innermost_and_latest_mount_counts(void **state) {
    (void)state;
    char text[2000];
    snprintf(text, sizeof(text),
             "20 1 8:1 / / rw - ext4 /dev/root rw\n"
             "21 20 8:2 / %s rw,noatime shared:3 master:4 - xfs /dev/one rw,seclabel\n"
             "22 21 8:3 / %s rw,nosuid - btrfs /dev/two\\040words rw,ssd\n"
             "23 20 8:4 / %s.other rw - ext2 /dev/three rw\n"
             "24 20 8:5 / %.10s rw - vfat /dev/four rw\n"
             "half a line\n",
             root, root, root, root);
    put_mounts(text);
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
    snprintf(link, sizeof(link), "dev/block/%s", dev);
    full_path(full, link);
    unlink(full);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[400];
        snprintf(text, sizeof(text), "20 1 0:99 / / rw - %s\n", cases[i].mount);
        put_mounts(text);
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
        print_message("# no block device under %s: %s\n", root, b.absent_why);
        skip();
    }
    char path[260];
    snprintf(path, sizeof(path), "%s/data", root);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    char block[8192];
    memset(block, 'x', sizeof(block));
    assert_int_equal(write(fd, block, sizeof(block)), sizeof(block));
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
    if (access("/dev/shm", W_OK) != 0) skip();
    assert_int_equal(blockdev_find("/dev/shm", &b, &e), 0);
    if (strcmp(b.fs_type, "tmpfs") != 0) skip();
    assert_false(b.present);
    assert_int_equal(b.direct, BLOCKDEV_DIRECT_NO);
}

static int group_setup(void **state) {
    (void)state;
    const char *tmp = getenv("TMPDIR");
    struct stat st;
    snprintf(root, sizeof(root), "%s/kvf-blockdev-XXXXXX", tmp && tmp[0] == '/' ? tmp : "/var/tmp");
    if (!mkdtemp(root) || stat(root, &st) != 0) return -1;
    snprintf(dev, sizeof(dev), "%u:%u", major(st.st_dev), minor(st.st_dev));
    snprintf(mountinfo, sizeof(mountinfo), "%s/mountinfo", root);
    snprintf(sys, sizeof(sys), "%s/sys", root);
    return 0;
}

static int group_teardown(void **state) {
    (void)state;
    return nftw(root, on_remove, 16, FTW_DEPTH | FTW_PHYS);
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
    return cmocka_run_group_tests_name("blockdev", tests, group_setup, group_teardown);
}
