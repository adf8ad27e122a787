#include "study/ranks/exit.h"

#include <stdatomic.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

static void (*_Atomic hook)(void);
static _Atomic pid_t hooked; /* the process that has the hook */

void exit_now(int status) {
    for (;;) syscall(SYS_exit_group, status);
}

void exit_hook(void (*call)(void)) {
    atomic_store(&hooked, getpid());
    atomic_store(&hook, call);
}

/* In the place of the C library's: libraries that are loaded find this one first. */
void _exit(int status) {
    void (*call)(void) = atomic_exchange(&hook, NULL);
    if (call && atomic_load(&hooked) == getpid()) call();
    exit_now(status);
}
