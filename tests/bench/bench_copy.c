/* The yardstick of the memory tier: threads that do nothing but memcpy, in pieces as large as the
 * tier's, between one arena and buffers of their own.
 *
 *   bench_copy read|write ENTRY ARENA PIECE THREADS SECONDS     sizes in bytes
 *
 * Each thread takes entries of the arena at random and copies them whole, piece by piece: out of the
 * arena for read, into it for write. Prints bytes copied, processor seconds of all threads, seconds. */
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"

enum { THREADS_MAX = 256, BUFFERS = 2 };
#define HUGE_PAGE (UINT64_C(2) << 20)

struct job {
    bool writes;
    uint64_t entry, entries, piece;
    uint8_t *arena;
    _Atomic bool go, stop;
    _Atomic unsigned ready;
};

struct copier {
    struct job *job;
    pthread_t thread;
    uint64_t seed, bytes, cpu_ns;
};

static uint8_t *memory(uint64_t bytes) {
    uint8_t *p = mmap(NULL, bytes + HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) {
        fprintf(stderr, "bench_copy: no memory for %" PRIu64 " bytes\n", bytes);
        exit(1);
    }
    p += (HUGE_PAGE - (uintptr_t)p % HUGE_PAGE) % HUGE_PAGE;
    madvise(p, bytes, MADV_HUGEPAGE);
    memset(p, 0x5a, bytes);
    return p;
}

static uint64_t draw(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void *copier_main(void *arg) {
    struct copier *c = arg;
    struct job *j = c->job;
    uint8_t *buffer[BUFFERS];
    unsigned turn = 0;
    for (unsigned i = 0; i < BUFFERS; i++) buffer[i] = memory(j->piece);
    atomic_fetch_add(&j->ready, 1);
    while (!atomic_load(&j->go)) sched_yield();
    uint64_t cpu_ns = clock_thread_cpu_ns();
    while (!atomic_load_explicit(&j->stop, memory_order_relaxed)) {
        uint8_t *entry = j->arena + draw(&c->seed) % j->entries * j->entry;
        for (uint64_t at = 0; at < j->entry && !atomic_load_explicit(&j->stop, memory_order_relaxed);
             at += j->piece) {
            uint64_t left = j->entry - at, len = left < j->piece ? left : j->piece;
            if (j->writes)
                memcpy(entry + at, buffer[turn], len);
            else
                memcpy(buffer[turn], entry + at, len);
            /* the compiler must believe that somebody looks at what was copied */
            __asm__ volatile("" : : "r"(entry), "r"(buffer[turn]) : "memory");
            turn = (turn + 1) % BUFFERS;
            c->bytes += len;
        }
    }
    c->cpu_ns = clock_thread_cpu_ns() - cpu_ns;
    return NULL;
}

int main(int argc, char **argv) {
    static struct copier copier[THREADS_MAX];
    if (argc != 7) {
        fprintf(stderr, "usage: bench_copy read|write ENTRY ARENA PIECE THREADS SECONDS\n");
        return 2;
    }
    uint64_t arena = strtoull(argv[3], NULL, 10);
    struct job j = {.writes = strcmp(argv[1], "write") == 0,
                    .entry = strtoull(argv[2], NULL, 10),
                    .piece = strtoull(argv[4], NULL, 10)};
    unsigned threads = (unsigned)strtoul(argv[5], NULL, 10);
    double seconds = strtod(argv[6], NULL);
    if (j.entry == 0 || j.piece == 0 || arena < j.entry || threads == 0 || threads > THREADS_MAX) {
        fprintf(stderr, "bench_copy: an arena must hold an entry, and 1 to %d threads copy\n", THREADS_MAX);
        return 2;
    }
    j.entries = arena / j.entry;
    j.arena = memory(j.entries * j.entry);
    for (unsigned i = 0; i < threads; i++) {
        copier[i].job = &j;
        copier[i].seed = UINT64_C(0x9e3779b97f4a7c15) * (i + 1);
        if (pthread_create(&copier[i].thread, NULL, copier_main, &copier[i]) != 0) return 1;
    }
    while (atomic_load(&j.ready) < threads) sched_yield();
    uint64_t from = clock_now_ns(), bytes = 0, cpu_ns = 0;
    atomic_store(&j.go, true);
    struct timespec length = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    nanosleep(&length, NULL);
    atomic_store(&j.stop, true);
    for (unsigned i = 0; i < threads; i++) {
        pthread_join(copier[i].thread, NULL);
        bytes += copier[i].bytes;
        cpu_ns += copier[i].cpu_ns;
    }
    printf("%" PRIu64 " %.6f %.6f\n", bytes, (double)cpu_ns / 1e9, (double)(clock_now_ns() - from) / 1e9);
    return 0;
}
