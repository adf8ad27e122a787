/* Preloaded into the program: makes calls of one group fail, as many programs of SQLite's tests do with their
 * own.
 *
 *   KVF_FAIL_STATE=FILE   where counters are shared with who asks; made with its size by that one
 *   KVF_FAIL_GROUP=NAME   the calls that fail; see groups below
 *   KVF_FAIL_QUICK=1      of memory no places are kept
 *   KVF_FAIL_AT=N         the first that fails, from 1; 0 or unset: none, they are counted
 *   KVF_FAIL_ON=1         all after it fail as well
 *   KVF_FAIL_ERRNO=N      instead of the group's own
 *
 * Counting starts with main(), so that the loader and the constructors of libraries do not count. While
 * counting, the place of each call is kept as a hash of its callers, its group in the last bits: calls from
 * the same place can be told. What lies in the file counts for all processes and threads. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define GROUPS(X)                                                                                            \
    X(malloc, ENOMEM)                                                                                        \
    X(open, EMFILE)                                                                                          \
    X(read, EIO)                                                                                             \
    X(write, EIO)                                                                                            \
    X(fsync, EIO)                                                                                            \
    X(io_setup, EAGAIN)                                                                                      \
    X(io_submit, EIO)                                                                                        \
    X(io_getevents, EIO)                                                                                     \
    X(mmap, ENOMEM)                                                                                          \
    X(ftruncate, EIO)                                                                                        \
    X(fallocate, ENOSPC)                                                                                     \
    X(unlink, EIO)                                                                                           \
    X(rename, EIO)                                                                                           \
    X(mkdir, ENOSPC)                                                                                         \
    X(lock, EIO)                                                                                             \
    X(thread, EAGAIN)

enum group {
#define X(name, number) GROUP_##name,
    GROUPS(X)
#undef X
        GROUP_COUNT
};
enum { GROUP_MASK = 31, PLACES_MAX = 1 << 19, FRAMES_MAX = 24, FRAMES_OWN = 2 };

struct state {
    _Atomic uint64_t calls[32]; /* by group */
    _Atomic uint64_t failed;
    _Atomic uint32_t frames;     /* of the first that failed */
    char frame[FRAMES_MAX][200]; /* "module+offset" */
    _Atomic uint64_t places;
    uint64_t place[PLACES_MAX];
};

static const struct {
    const char *name;
    int number;
} groups[] = {
#define X(name, number) {#name, number},
    GROUPS(X)
#undef X
};

static struct state *state;
static enum group chosen = GROUP_COUNT;
static uint64_t first;
static bool goes_on, quick;
static int number;
static atomic_bool armed;
static _Thread_local bool inside;

/* ---- what happened where ---- */

static void frames_keep(void) {
    void *at[FRAMES_MAX + FRAMES_OWN];
    int count = backtrace(at, FRAMES_MAX + FRAMES_OWN);
    for (int i = FRAMES_OWN; i < count; i++) {
        Dl_info info;
        bool known = dladdr(at[i], &info) && info.dli_fname;
        (void)snprintf(state->frame[i - FRAMES_OWN], sizeof state->frame[0], "%s+%#lx",
                       known ? info.dli_fname : "?",
                       (unsigned long)((char *)at[i] - 1 - (known ? (char *)info.dli_fbase : (char *)0)));
    }
    state->frames = count > FRAMES_OWN ? (uint32_t)(count - FRAMES_OWN) : 0;
}

static uint64_t place(void) {
    void *at[FRAMES_MAX];
    int count = backtrace(at, FRAMES_MAX);
    uint64_t hash = 14695981039346656037u;
    for (int i = FRAMES_OWN; i < count; i++) hash = (hash ^ (uintptr_t)at[i]) * 1099511628211u;
    return hash;
}

/* Whether this call is one that fails; errno says why. */
static __attribute__((noinline)) bool fails(enum group group) {
    if (!state || inside || !atomic_load_explicit(&armed, memory_order_relaxed)) return false;
    uint64_t n = atomic_fetch_add(&state->calls[group], 1) + 1;
    if (!first) {
        inside = true;
        uint64_t i = quick && group == GROUP_malloc ? PLACES_MAX : atomic_fetch_add(&state->places, 1);
        if (i < PLACES_MAX) state->place[i] = (place() & ~(uint64_t)GROUP_MASK) | group;
        inside = false;
        return false;
    }
    if (group != chosen) return false;
    if (n != first && !(goes_on && n > first)) return false;
    if (atomic_fetch_add(&state->failed, 1) == 0) {
        inside = true;
        frames_keep();
        inside = false;
    }
    errno = number;
    return true;
}

static void begin(void) {
    const char *file = getenv("KVF_FAIL_STATE"), *group = getenv("KVF_FAIL_GROUP"),
               *at = getenv("KVF_FAIL_AT"), *as = getenv("KVF_FAIL_ERRNO");
    int fd = file ? (int)syscall(SYS_openat, AT_FDCWD, file, O_RDWR | O_CLOEXEC) : -1;
    void *warm[2];
    if (fd < 0) return;
    void *shared = mmap(NULL, sizeof *state, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    (void)syscall(SYS_close, fd);
    if (shared == MAP_FAILED) return;
    (void)backtrace(warm, 2); /* loads what it needs */
    for (enum group g = 0; group && g < GROUP_COUNT; g++)
        if (strcmp(group, groups[g].name) == 0) chosen = g;
    first = at ? strtoull(at, NULL, 10) : 0;
    goes_on = getenv("KVF_FAIL_ON") != NULL;
    quick = getenv("KVF_FAIL_QUICK") != NULL;
    number = as ? atoi(as) : chosen < GROUP_COUNT ? groups[chosen].number : 0;
    state = shared;
}

typedef int (*main_function)(int, char **, char **);
static main_function program;

static int started(int argc, char **argv, char **environment) {
    begin();
    atomic_store(&armed, true);
    return program(argc, argv, environment);
}

int __libc_start_main(main_function, int, char **, void (*)(void), void (*)(void), void (*)(void), void *);
int __libc_start_main(main_function function, int argc, char **argv, void (*init)(void), void (*fini)(void),
                      void (*rtld_fini)(void), void *stack_end) {
    int (*real)(main_function, int, char **, void (*)(void), void (*)(void), void (*)(void), void *) =
        dlsym(RTLD_NEXT, "__libc_start_main");
    program = function;
    return real(started, argc, argv, init, fini, rtld_fini, stack_end);
}

/* ---- memory ---- */

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);

void *malloc(size_t size) {
    return fails(GROUP_malloc) ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
    return fails(GROUP_malloc) ? NULL : __libc_calloc(count, size);
}

void *realloc(void *old, size_t size) {
    return fails(GROUP_malloc) ? NULL : __libc_realloc(old, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
    return fails(GROUP_malloc) ? NULL : __libc_memalign(alignment, size);
}

int posix_memalign(void **out, size_t alignment, size_t size) {
    if (fails(GROUP_malloc)) return ENOMEM;
    return (*out = __libc_memalign(alignment, size)) ? 0 : ENOMEM;
}

/* ---- everything else: RETURN NAME(PARAMETERS) with the arguments once more ---- */

#define NEXT(name)                                                                                           \
    static __typeof__(name) *next;                                                                           \
    if (!next) next = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

#define WRAP(group, bad, type, name, parameters, arguments)                                                  \
    type name parameters {                                                                                   \
        NEXT(name);                                                                                          \
        return fails(GROUP_##group) ? (bad) : next arguments;                                                \
    }

/* The mode is there only when a file is made, and does no harm otherwise. */
#define WRAP_OPEN(name)                                                                                      \
    int name(const char *path, int flags, ...) {                                                             \
        NEXT(name);                                                                                          \
        va_list ap;                                                                                          \
        va_start(ap, flags);                                                                                 \
        mode_t mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(ap, mode_t) : 0;                              \
        va_end(ap);                                                                                          \
        return fails(GROUP_open) ? -1 : next(path, flags, mode);                                             \
    }
#define WRAP_OPENAT(name)                                                                                    \
    int name(int at, const char *path, int flags, ...) {                                                     \
        NEXT(name);                                                                                          \
        va_list ap;                                                                                          \
        va_start(ap, flags);                                                                                 \
        mode_t mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(ap, mode_t) : 0;                              \
        va_end(ap);                                                                                          \
        return fails(GROUP_open) ? -1 : next(at, path, flags, mode);                                         \
    }
/* Only files fail: a terminal is for people, and waking a thread cannot fail. */
static bool is_file(int fd) {
    struct stat st;
    return fd > STDERR_FILENO && fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
}

#define WRAP_DATA(group, name, parameters, arguments)                                                        \
    ssize_t name parameters {                                                                                \
        NEXT(name);                                                                                          \
        return is_file(fd) && fails(GROUP_##group) ? -1 : next arguments;                                    \
    }

WRAP_OPEN(open)
WRAP_OPEN(open64)
WRAP_OPENAT(openat)
WRAP_OPENAT(openat64)
WRAP(open, NULL, FILE *, fopen, (const char *path, const char *mode), (path, mode))
WRAP(open, NULL, FILE *, fopen64, (const char *path, const char *mode), (path, mode))
WRAP(open, NULL, DIR *, opendir, (const char *path), (path))
WRAP_DATA(read, read, (int fd, void *to, size_t size), (fd, to, size))
WRAP_DATA(read, pread, (int fd, void *to, size_t size, off_t at), (fd, to, size, at))
WRAP_DATA(read, pread64, (int fd, void *to, size_t size, off64_t at), (fd, to, size, at))
WRAP_DATA(write, write, (int fd, const void *from, size_t size), (fd, from, size))
WRAP_DATA(write, pwrite, (int fd, const void *from, size_t size, off_t at), (fd, from, size, at))
WRAP_DATA(write, pwrite64, (int fd, const void *from, size_t size, off64_t at), (fd, from, size, at))
WRAP(fsync, -1, int, fsync, (int fd), (fd))
WRAP(fsync, -1, int, fdatasync, (int fd), (fd))
WRAP(fsync, -1, int, syncfs, (int fd), (fd))
WRAP(mmap, MAP_FAILED, void *, mmap, (void *at, size_t size, int may, int flags, int fd, off_t from),
     (at, size, may, flags, fd, from))
WRAP(mmap, MAP_FAILED, void *, mmap64, (void *at, size_t size, int may, int flags, int fd, off64_t from),
     (at, size, may, flags, fd, from))
WRAP(ftruncate, -1, int, ftruncate, (int fd, off_t size), (fd, size))
WRAP(ftruncate, -1, int, ftruncate64, (int fd, off64_t size), (fd, size))
WRAP(fallocate, -1, int, fallocate, (int fd, int mode, off_t from, off_t size), (fd, mode, from, size))
WRAP(fallocate, -1, int, fallocate64, (int fd, int mode, off64_t from, off64_t size), (fd, mode, from, size))
WRAP(fallocate, errno, int, posix_fallocate, (int fd, off_t from, off_t size), (fd, from, size))
WRAP(fallocate, errno, int, posix_fallocate64, (int fd, off64_t from, off64_t size), (fd, from, size))
WRAP(unlink, -1, int, unlink, (const char *path), (path))
WRAP(unlink, -1, int, unlinkat, (int at, const char *path, int flags), (at, path, flags))
WRAP(unlink, -1, int, rmdir, (const char *path), (path))
WRAP(rename, -1, int, rename, (const char *from, const char *to), (from, to))
WRAP(rename, -1, int, renameat2, (int at, const char *from, int in, const char *to, unsigned flags),
     (at, from, in, to, flags))
WRAP(mkdir, -1, int, mkdir, (const char *path, mode_t mode), (path, mode))
WRAP(mkdir, -1, int, mkdirat, (int at, const char *path, mode_t mode), (at, path, mode))
WRAP(thread, errno, int, pthread_create,
     (pthread_t * out, const pthread_attr_t *how, void *(*function)(void *), void *argument),
     (out, how, function, argument))

/* libaio's own functions return what went wrong; its header is not needed for what is only passed on. */
int io_setup(int, void *);
int io_submit(void *, long, void *);
int io_getevents(void *, long, long, void *, void *);
WRAP(io_setup, -errno, int, io_setup, (int depth, void *out), (depth, out))
WRAP(io_submit, -errno, int, io_submit, (void *ring, long count, void *list), (ring, count, list))
WRAP(io_getevents, -errno, int, io_getevents, (void *ring, long least, long most, void *list, void *until),
     (ring, least, most, list, until))

/* Of fcntl, the locks alone. */
#define WRAP_FCNTL(name)                                                                                     \
    int name(int fd, int command, ...) {                                                                     \
        NEXT(name);                                                                                          \
        va_list ap;                                                                                          \
        va_start(ap, command);                                                                               \
        void *argument = va_arg(ap, void *);                                                                 \
        va_end(ap);                                                                                          \
        bool lock = command == F_SETLK || command == F_SETLKW || command == F_OFD_SETLK;                     \
        return lock && fails(GROUP_lock) ? -1 : next(fd, command, argument);                                 \
    }
WRAP_FCNTL(fcntl)
WRAP_FCNTL(fcntl64)
