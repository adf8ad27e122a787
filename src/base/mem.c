#include "base/mem.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/err.h"

enum { PAGE = 4096 };

static void (*_Atomic acts[MEM_ACTS])(void);
static void (*_Atomic ends)(int);
static atomic_flag ending = ATOMIC_FLAG_INIT;

void mem_exhausted_act(void (*act)(void)) {
    for (int i = 0; i < MEM_ACTS; i++) {
        if (atomic_load(&acts[i]) == act) return;
        if (!atomic_load(&acts[i])) {
            atomic_store(&acts[i], act);
            return;
        }
    }
}

void mem_exhausted_end(void (*end)(int status)) {
    atomic_store(&ends, end);
}

void mem_exhausted(size_t bytes) {
    char line[160];

    /* The first thread ends the process; others that find no memory wait for it. */
    while (atomic_flag_test_and_set(&ending)) (void)pause();
    for (int i = 0; i < MEM_ACTS; i++) {
        void (*act)(void) = atomic_load(&acts[i]);
        if (act) act();
    }
    int len = snprintf(
        line, sizeof line,
        "kvfall: error: memory is exhausted (%zu bytes were asked for); give the machine, or its limit, "
        "more, or start smaller\n",
        bytes);
    if (len > 0 && write(STDERR_FILENO, line, (size_t)len) < 0) {
        /* nobody is left to be told */
    }
    void (*end)(int) = atomic_load(&ends);
    if (end) end(err_exit_status(KVF_ERR_NOMEM));
    abort();
}

void *mem_alloc(size_t len) {
    void *p = malloc(len ? len : 1);
    if (!p) mem_exhausted(len);
    return p;
}

void *mem_zalloc(size_t count, size_t size) {
    void *p = calloc(count ? count : 1, size ? size : 1);
    if (!p) mem_exhausted(size && count > SIZE_MAX / size ? SIZE_MAX : count * size);
    return p;
}

void *mem_realloc(void *p, size_t len) {
    void *q = realloc(p, len ? len : 1);
    if (!q) mem_exhausted(len);
    return q;
}

void mem_renew(void *p, size_t len) {
    uintptr_t from = (uintptr_t)p / PAGE * PAGE, to = ((uintptr_t)p + len + PAGE - 1) / PAGE * PAGE;
    void *fresh = mmap(NULL, to - from, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (fresh == MAP_FAILED) mem_exhausted(to - from);
    memcpy(fresh, (void *)from, to - from);
    if (mremap(fresh, to - from, to - from, MREMAP_MAYMOVE | MREMAP_FIXED, from) == MAP_FAILED)
        mem_exhausted(to - from);
}

/* Whole pages around it: a piece whose pages are of two kinds could no longer be remapped by realloc(), which
 * would copy it instead. */
void mem_scattered(void *p, size_t len) {
    enum { HUGE = 2 << 20 };
    uintptr_t from = (uintptr_t)p / PAGE * PAGE, to = ((uintptr_t)p + len + PAGE - 1) / PAGE * PAGE;
    if ((from + HUGE - 1) / HUGE * HUGE + HUGE <= to) (void)madvise((void *)from, to - from, MADV_HUGEPAGE);
}

char *mem_strndup(const char *text, size_t most) {
    size_t len = strnlen(text, most);
    char *copy = memcpy(mem_alloc(len + 1), text, len);
    copy[len] = '\0';
    return copy;
}

char *mem_strdup(const char *text) {
    size_t len = strlen(text) + 1;
    return memcpy(mem_alloc(len), text, len);
}
