/* Shared by the tests of what /proc and /sys tell: a machine made of files. */
#ifndef KVF_TESTS_SYSFS_FIXTURE_H
#define KVF_TESTS_SYSFS_FIXTURE_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

static char root[200];                         /* stands for / */
static char sys[260], mountinfo[260], dev[40]; /* in it; the number of the device that it is on, "8:1" */

static inline int on_remove(const char *path, const struct stat *st, int type, struct FTW *at) {
    (void)st, (void)type, (void)at;
    return remove(path);
}

static inline int make_root(void **state) {
    const char *tmp = getenv("TMPDIR");
    (void)state;
    snprintf(root, sizeof root, "%s/kvfall-sysfs-XXXXXX", tmp && tmp[0] == '/' ? tmp : "/var/tmp");
    return mkdtemp(root) ? 0 : -1;
}

static inline int make_root_of_device(void **state) {
    struct stat st;
    if (make_root(state) != 0 || stat(root, &st) != 0) return -1;
    snprintf(dev, sizeof dev, "%u:%u", major(st.st_dev), minor(st.st_dev));
    snprintf(mountinfo, sizeof mountinfo, "%s/mountinfo", root);
    snprintf(sys, sizeof sys, "%s/sys", root);
    return 0;
}

static inline int drop_root(void **state) {
    (void)state;
    return nftw(root, on_remove, 16, FTW_DEPTH | FTW_PHYS);
}

/* Makes the directories above a path, "sys/block/vda/dev". */
static inline void full_path(char out[512], const char *path) {
    int len = snprintf(out, 512, "%s/%s", root, path);
    assert_in_range(len, 1, 511);
    for (char *slash = out + strlen(root) + 1; (slash = strchr(slash, '/')) != NULL; *slash++ = '/') {
        *slash = '\0';
        assert_true(mkdir(out, 0700) == 0 || errno == EEXIST);
    }
}

static inline void put(const char *path, const char *text) {
    char full[512];
    full_path(full, path);
    FILE *f = fopen(full, "we");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static inline void link_to(const char *path, const char *target) {
    char full[512];
    full_path(full, path);
    unlink(full);
    assert_int_equal(symlink(target, full), 0);
}

#endif
