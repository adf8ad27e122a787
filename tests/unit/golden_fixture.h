/* Pictures that are kept in tests/golden, compared row by row. KVF_UPDATE_GOLDEN=1 writes them anew; look
 * at the difference (git diff) before they are kept. */
#ifndef KVF_TESTS_GOLDEN_FIXTURE_H
#define KVF_TESTS_GOLDEN_FIXTURE_H

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
#include <sys/stat.h>

#include "base/buf.h"

/* Names in the working directory, in which a test that saves a picture leaves it. */
static inline unsigned golden_files_here(void) {
    DIR *d = opendir(".");
    unsigned n = 0;
    assert_non_null(d);
    while (readdir(d)) n++;
    closedir(d);
    return n;
}

static inline char *golden_read(const char *path) {
    struct buf b = {0};
    char part[4096];
    FILE *f = fopen(path, "r");
    if (!f) return NULL;
    size_t n;
    while ((n = fread(part, 1, sizeof part, f)) > 0) buf_bytes(&b, part, n);
    fclose(f);
    return b.data;
}

/* `name` is "": the folder itself. */
static inline void golden_path(char *out, size_t len, const char *folder, const char *name) {
    const char *source = getenv("KVFALL_SOURCE");
    snprintf(out, len, "%s/tests/golden/%s%s%s", source && *source ? source : ".", folder, name[0] ? "/" : "",
             name);
}

static inline void golden_write(const char *folder, const char *path, const char *text) {
    char above[1024];
    golden_path(above, sizeof above, folder, "");
    assert_true(mkdir(above, 0777) == 0 || errno == EEXIST);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

/* The first row that differs, as both sides have it. */
static inline void golden_say_difference(const char *name, const char *want, const char *have) {
    int row = 1;
    for (;; row++) {
        size_t w = strcspn(want, "\n"), h = strcspn(have, "\n");
        if (w != h || memcmp(want, have, w) != 0) {
            fprintf(stderr, "# %s, row %d\n#   want %.*s\n#   have %.*s\n", name, row, (int)w, want, (int)h,
                    have);
            return;
        }
        if (!want[w] || !have[h]) break;
        want += w + 1;
        have += h + 1;
    }
    fprintf(stderr, "# %s has another number of rows\n", name);
}

/* 0 when the picture is as it was kept, else 1 and what differs is said. */
static inline int golden_compare(const char *folder, const char *name, const char *have) {
    char path[1200];
    int wrong = 0;
    golden_path(path, sizeof path, folder, name);
    if (getenv("KVF_UPDATE_GOLDEN")) golden_write(folder, path, have);
    char *want = golden_read(path);
    if (!want) {
        fprintf(stderr, "# %s is missing\n", path);
        wrong = 1;
    } else if (strcmp(want, have) != 0) {
        golden_say_difference(name, want, have);
        wrong = 1;
    }
    free(want);
    return wrong;
}

/* Fails when pictures were wrong; `test` is the program as make check knows it. */
static inline void golden_judge(int wrong, const char *test) {
    if (wrong == 0) return;
    fprintf(stderr, "# if the new pictures are right: KVF_UPDATE_GOLDEN=1 make check TESTS=%s\n", test);
    fail_msg("%d pictures are not as they were", wrong);
}

#endif
