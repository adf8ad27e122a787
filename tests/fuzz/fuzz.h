/* Fuzz targets: each fuzz_*.c hands one input to one parser, as libFuzzer wants it, and requires what
 * holds of every input. A broken requirement ends the process, as any fault does. */
#ifndef KVF_TESTS_FUZZ_H
#define KVF_TESTS_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define fuzz_require(condition)                                                                              \
    do {                                                                                                     \
        if (!(condition)) fuzz_broken(__FILE__, __LINE__, #condition);                                       \
    } while (0)

static inline void fuzz_broken(const char *file, int line, const char *condition) {
    fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, condition);
    abort();
}

/* The input as a regular file of memory, the same one for every input: its path. */
static inline const char *fuzz_file(const uint8_t *data, size_t size) {
    static char path[64];
    static int fd = -1;
    if (fd < 0) {
        fd = memfd_create("fuzz", MFD_CLOEXEC);
        fuzz_require(fd >= 0);
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    }
    fuzz_require(ftruncate(fd, 0) == 0);
    for (size_t at = 0; at < size;) {
        ssize_t n = pwrite(fd, data + at, size - at, (off_t)at);
        fuzz_require(n > 0);
        at += (size_t)n;
    }
    return path;
}

/* A sentence for a person: something is said, in UTF-8, and nothing that a terminal would obey. */
static inline void fuzz_require_sentence(const char *text) {
    fuzz_require(strlen(text) > 10);
    for (const unsigned char *p = (const unsigned char *)text; *p;) {
        unsigned more = *p >= 0xf0 ? 3 : *p >= 0xe0 ? 2 : *p >= 0xc0 ? 1 : 0;
        fuzz_require(*p >= ' ' && *p != 0x7f && (*p < 0x80 || more > 0));
        fuzz_require(*p != 0xc2 || p[1] >= 0xa0);
        for (p++; more; more--) fuzz_require((*p++ & 0xc0) == 0x80);
    }
}

#endif
