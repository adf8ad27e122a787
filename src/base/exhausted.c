#include "base/exhausted.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/err.h"

static void (*_Atomic acts[EXHAUSTED_ACTS])(void);
static void (*_Atomic ends)(int);
static atomic_flag ending = ATOMIC_FLAG_INIT;

void exhausted_act(void (*act)(void)) {
    for (int i = 0; i < EXHAUSTED_ACTS; i++) {
        if (atomic_load(&acts[i]) == act) return;
        if (!atomic_load(&acts[i])) {
            atomic_store(&acts[i], act);
            return;
        }
    }
}

void exhausted_end(void (*end)(int status)) {
    atomic_store(&ends, end);
}

void memory_exhausted(size_t bytes) {
    char line[160];

    /* The first thread ends the process; others that find no memory wait for it. */
    while (atomic_flag_test_and_set(&ending)) (void)pause();
    for (int i = 0; i < EXHAUSTED_ACTS; i++) {
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
