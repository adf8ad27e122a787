#include "tests/unit/sysfs_fixture.h"

#include "base/units.h"
#include "probe/drive.h"

/* Our device number is this disk. */
static void be(const char *disk, const char *rotational) {
    char link[64], target[200], name[300];
    snprintf(link, sizeof link, "sys/dev/block/%s", dev);
    snprintf(target, sizeof target, "../../block/%s", disk);
    link_to(link, target);
    snprintf(name, sizeof name, "sys/block/%s/queue/rotational", disk);
    put(name, rotational);
}

static void mount_as(const char *type) {
    char text[600];
    snprintf(text, sizeof text, "20 1 8:1 / / rw - ext4 /dev/x rw\n21 20 8:2 / %s rw - %s /dev/y rw\nhalf\n",
             root, type);
    put("mountinfo", text);
}

static unsigned list(struct drive *d, unsigned max) {
    const char *const dirs[] = {root, NULL, "", "/no/such/directory", root};
    return drive_list_in(dirs, 5, sys, mountinfo, NULL, d, max);
}

static void classes_come_from_the_kernel(void **state) {
    static const struct {
        const char *disk, *rotational;
        enum drive_class class;
    } cases[] = {{"nvme0n1", "0\n", DRIVE_NVME},   {"sda", "0\n", DRIVE_SSD},
                 {"sdb", "1\n", DRIVE_ROTATIONAL}, {"vda", "1\n", DRIVE_VIRTUAL},
                 {"xvdb", "0\n", DRIVE_VIRTUAL},   {"sdc", "what\n", DRIVE_UNKNOWN}};
    struct drive d[4];
    (void)state;

    mount_as("xfs");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        be(cases[i].disk, cases[i].rotational);
        /* the root file system of this machine is on the same or another device; ours comes first */
        assert_true(list(d, 4) >= 1);
        assert_string_equal(d[0].dir, root);
        assert_string_equal(d[0].device.disk, cases[i].disk);
        assert_int_equal(d[0].class, cases[i].class);
        assert_true(d[0].free_bytes > 0);
    }
}

static void a_mapped_drive_is_what_it_is_mapped_to(void **state) {
    struct drive d[4];
    (void)state;

    mount_as("ext4");
    be("dm-3", "0\n");
    put("sys/block/dm-3/slaves/dm-1", "");
    put("sys/block/dm-1/slaves/nvme1n1p3", "");
    assert_true(list(d, 4) >= 1);
    assert_string_equal(d[0].device.disk, "dm-3");
    assert_int_equal(d[0].class, DRIVE_NVME);
}

static bool not_the_root(const char *dir) {
    return strcmp(dir, root) != 0;
}

/* Another directory stands for a drive when the first is none to work in. */
static void the_first_usable_directory_stands_for_a_drive(void **state) {
    char below[600];
    const char *const dirs[] = {root, below};
    struct drive d[DRIVES_MAX];
    (void)state;

    mount_as("ext4");
    be("sda", "0\n");
    snprintf(below, sizeof below, "%s/below", root);
    assert_true(mkdir(below, 0700) == 0 || errno == EEXIST);
    assert_true(drive_list_in(dirs, 2, sys, mountinfo, not_the_root, d, DRIVES_MAX) >= 1);
    assert_string_equal(d[0].dir, below);
    assert_true(drive_list_in(dirs, 2, sys, mountinfo, NULL, d, DRIVES_MAX) >= 1);
    assert_string_equal(d[0].dir, root);
}

static void one_entry_per_device(void **state) {
    struct drive d[DRIVES_MAX];
    (void)state;

    mount_as("ext4");
    be("sda", "0\n");
    unsigned count = list(d, DRIVES_MAX);
    for (unsigned i = 0; i < count; i++)
        for (unsigned k = 0; k < i; k++)
            assert_false(d[i].device.major == d[k].device.major && d[i].device.minor == d[k].device.minor);
}

static void what_is_no_drive_is_left_out(void **state) {
    struct drive d[4];
    (void)state;

    mount_as("vfat");
    be("sda", "0\n");
    assert_true(list(d, 4) == 0 || strcmp(d[0].dir, root) != 0);
    mount_as("ext4");
    be("zram0", "0\n");
    assert_true(list(d, 4) == 0 || strcmp(d[0].dir, root) != 0);
    be("sda", "0\n");
    assert_int_equal(list(d, 0), 0);
}

static struct drive made(const char *name, enum drive_class class, uint64_t gib) {
    struct drive d = {.class = class, .free_bytes = gib * KVF_GIB};
    snprintf(d.device.name, sizeof d.device.name, "%s", name);
    return d;
}

static void the_best_is_the_fastest_kind_with_room(void **state) {
    struct drive d[] = {made("sda", DRIVE_ROTATIONAL, 4000), made("nvme1", DRIVE_NVME, 20),
                        made("sdb", DRIVE_SSD, 500), made("nvme0", DRIVE_NVME, 10),
                        made("vda", DRIVE_VIRTUAL, 900)};
    char why[160];
    (void)state;

    assert_int_equal(drive_best(d, 5, 8 * KVF_GIB, why, sizeof why), 1);
    assert_string_equal(why, "as fast by its kind as nvme0, with more room: 20.0 GiB against 10.0 GiB");
    assert_int_equal(drive_best(d, 5, 15 * KVF_GIB, why, sizeof why), 1);
    assert_string_equal(why, "the fastest by its kind: the next is sdb, a solid-state drive");
    assert_int_equal(drive_best(d, 5, 600 * KVF_GIB, why, sizeof why), 4);
    assert_string_equal(why, "the fastest by its kind: the next is sda, a rotating disk");
    assert_int_equal(drive_best(d, 5, 1000 * KVF_GIB, why, sizeof why), 0);
    assert_string_equal(why, "the only drive with room");
    assert_int_equal(drive_best(d, 5, 5000 * KVF_GIB, why, sizeof why), -1);
    assert_int_equal(drive_best(d, 0, 0, NULL, 0), -1);
}

static void this_machine_answers(void **state) {
    struct drive d[DRIVES_MAX];
    (void)state;

    unsigned count = drive_list(NULL, d, DRIVES_MAX);
    for (unsigned i = 0; i < count; i++) {
        assert_int_equal(access(d[i].dir, W_OK), 0);
        assert_true(d[i].device.present);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(classes_come_from_the_kernel),
        cmocka_unit_test(a_mapped_drive_is_what_it_is_mapped_to),
        cmocka_unit_test(the_first_usable_directory_stands_for_a_drive),
        cmocka_unit_test(one_entry_per_device),
        cmocka_unit_test(what_is_no_drive_is_left_out),
        cmocka_unit_test(the_best_is_the_fastest_kind_with_room),
        cmocka_unit_test(this_machine_answers),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("drive", tests, make_root_of_device, drop_root);
}
