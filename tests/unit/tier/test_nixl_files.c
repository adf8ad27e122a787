#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "scenario/scenario.h"
#include "tier/nixl/nixl.h"

enum { LEN = 8192 };

/* Calls that the file system lacks: NFS the first, exFAT both. */
static bool no_exclusive_rename, no_hard_links;

int renameat2(int from, const char *old, int to, const char *name, unsigned flags) {
    if (flags && no_exclusive_rename) {
        errno = EINVAL;
        return -1;
    }
    return (int)syscall(SYS_renameat2, from, old, to, name, flags);
}

int linkat(int from, const char *old, int to, const char *name, int flags) {
    if (no_hard_links) {
        errno = EPERM;
        return -1;
    }
    return (int)syscall(SYS_linkat, from, old, to, name, flags);
}

static struct scenario s; /* too large for a stack */
static char dir[64];

static int directory_make(void **state) {
    (void)state;
    (void)snprintf(dir, sizeof dir, "/tmp/kvfall-test-nixl-XXXXXX");
    assert_non_null(mkdtemp(dir));
    (void)snprintf(s.remote.url, sizeof s.remote.url, "file://%s", dir);
    return 0;
}

static int directory_remove(void **state) {
    (void)state;
    return rmdir(dir);
}

static void where_find(struct nixl_where *w) {
    struct err e = {0};
    assert_int_equal(nixl_where_find(w, &s, &e), 0);
}

/* Of the file of this name, the only one; -1: there is none, or its bytes are not all the same. */
static int read_back(const struct nixl_where *w, const char *name) {
    static char bytes[LEN] __attribute__((aligned(4096)));
    int fd = nixl_files_open(w, name, NIXL_READ, 0);
    if (fd < 0) return -1;
    ssize_t n = pread(fd, bytes, LEN, 0);
    nixl_files_leave(w, fd, name, NIXL_READ);
    if (n != LEN) return -1;
    for (int i = 1; i < LEN; i++)
        if (bytes[i] != bytes[0]) return -1;
    return bytes[0];
}

static void fill(int fd, int byte) {
    static char bytes[LEN] __attribute__((aligned(4096)));
    memset(bytes, byte, LEN);
    assert_int_equal(pwrite(fd, bytes, LEN, 0), LEN);
}

static unsigned files(void) {
    unsigned n = 0;
    DIR *d = opendir(dir);
    assert_non_null(d);
    for (struct dirent *one; (one = readdir(d)) != NULL;) n += one->d_name[0] != '.';
    closedir(d);
    return n;
}

/* Threads of two machines may have one number. */
static void two_machines(void) {
    struct nixl_where here, there;
    where_find(&here);
    where_find(&there);
    int a = nixl_files_open(&here, "value", NIXL_WRITE, LEN);
    assert_true(a >= 0);
    fill(a, 'a');
    int b = nixl_files_open(&there, "value", NIXL_WRITE, LEN);
    assert_true(b >= 0);
    assert_int_equal(files(), 2);
    assert_int_equal(nixl_files_keep(&here, a, "value", true), 0);
    assert_int_equal(read_back(&here, "value"), 'a');
    fill(b, 'b');
    assert_int_equal(nixl_files_keep(&there, b, "value", true), EEXIST);
    assert_int_equal(read_back(&there, "value"), 'a');
    assert_int_equal(files(), 1);
    assert_int_equal(nixl_files_remove(&there, "value"), 0);
    nixl_where_forget(&here);
    nixl_where_forget(&there);
}

static void test_two_machines_write_one_value_side_by_side(void **state) {
    (void)state;
    two_machines();
    no_exclusive_rename = true;
    two_machines();
    no_hard_links = true;
    two_machines();
    no_exclusive_rename = no_hard_links = false;
}

static void test_a_value_is_replaced_as_a_whole_or_not_at_all(void **state) {
    (void)state;
    struct nixl_where w;
    where_find(&w);
    for (int byte = 'a'; byte <= 'c'; byte++) {
        int fd = nixl_files_open(&w, "value", NIXL_WRITE, LEN);
        fill(fd, byte);
        if (byte > 'a') assert_int_equal(read_back(&w, "value"), 'a');
        if (byte == 'b')
            nixl_files_leave(&w, fd, "value", NIXL_WRITE);
        else
            assert_int_equal(nixl_files_keep(&w, fd, "value", false), 0);
        assert_int_equal(files(), 1);
    }
    assert_int_equal(read_back(&w, "value"), 'c');
    assert_int_equal(nixl_files_remove(&w, "value"), 0);
    assert_int_equal(nixl_files_remove(&w, "value"), 0);
    assert_int_equal(nixl_files_open(&w, "value", NIXL_READ, 0), -1);
    nixl_where_forget(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_machines_write_one_value_side_by_side),
        cmocka_unit_test(test_a_value_is_replaced_as_a_whole_or_not_at_all),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("nixl files", tests, directory_make, directory_remove);
}
