/* The cuFile library of the tests, and how it fares. */
#ifndef TESTS_UNIT_CUFILE_FIXTURE_H
#define TESTS_UNIT_CUFILE_FIXTURE_H

#include <inttypes.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tier/cufile.h"

/* The library's counts as of its last close. */
struct cufile_counts {
    int closings, files, buffers, compat;
    uint64_t read, written;
};

static inline const char *cufile_counts_path(void) {
    static char path[80];
    snprintf(path, sizeof path, "/var/tmp/kvf-test-cufile-%d", (int)getpid());
    return path;
}

/* `how` is FAKE_CUFILE; NULL: there is no library. */
static inline void cufile_play(const char *how) {
    static char path[4200];
    const char *build = getenv("KVFALL_BUILD");
    snprintf(path, sizeof path, "%s/tests/unit/fake/libcufile.so.0", build ? build : ".");
    cufile_choose(how ? path : "/nowhere/libcufile.so.0");
    setenv("FAKE_CUFILE", how ? how : "", 1);
    setenv("FAKE_CUFILE_COUNTS", cufile_counts_path(), 1);
    unlink(cufile_counts_path());
}

/* Of the last closing; and that nothing was left registered at any. */
static inline struct cufile_counts cufile_counts(void) {
    struct cufile_counts c = {0};
    char line[200];
    FILE *f = fopen(cufile_counts_path(), "re");
    while (f && fgets(line, sizeof line, f)) {
        c.closings++;
        assert_int_equal(sscanf(line, "files=%d buffers=%d read=%" PRIu64 " written=%" PRIu64 " compat=%d",
                                &c.files, &c.buffers, &c.read, &c.written, &c.compat),
                         5);
        assert_int_equal(c.files, 0);
        assert_int_equal(c.buffers, 0);
    }
    if (f) fclose(f);
    unlink(cufile_counts_path());
    return c;
}

#endif
