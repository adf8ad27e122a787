/* kvfall with a second thread that traces the block layer in every other slice of a run: what the trace
 * costs, without the difference between one process and the next.
 *
 * SLICED_PATH names a file or folder on the drive, SLICED_OUT the file for the figures, SLICED_BYTES and
 * SLICED_DEPTH the operations of the run. The run itself is to have --block-trace off. A line for each slice:
 * "on" or "off", its seconds, the bytes that were read and written, and the processor time of this process in
 * ns. The order is on, off, off, on. Loading and attaching the programs and the first reading of the counts,
 * which names the neighbours that there are, are in no slice. One more reading is in each that is traced, as
 * it is in an interval.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "block/block.h"

enum { SLICE_MS = 1000, SETTLE_MS = 20, FIRST_MS = 3000 };

struct moment {
    uint64_t at_ns, cpu_ns, bytes;
};

static uint64_t now_ns(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* The number behind a name at the start of a line. */
static uint64_t io_count(const char *name) {
    char line[256];
    uint64_t count = 0;
    FILE *f = fopen("/proc/self/io", "re");
    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, name, strlen(name)) == 0) count = strtoull(line + strlen(name), NULL, 10);
    if (f) fclose(f);
    return count;
}

static struct moment moment_now(void) {
    return (struct moment){
        .bytes = io_count("read_bytes: ") + io_count("write_bytes: "),
        .cpu_ns = now_ns(CLOCK_PROCESS_CPUTIME_ID),
        .at_ns = now_ns(CLOCK_MONOTONIC),
    };
}

static uint64_t number(const char *name) {
    const char *text = getenv(name);
    return text ? strtoull(text, NULL, 10) : 0;
}

static void sleep_ms(long ms) {
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

static void slice(bool on, const struct blockdev *drive, FILE *out) {
    static struct block_counts counts;
    memset(&counts, 0, sizeof counts); /* those of another trace */
    struct block_trace *trace = NULL;
    struct err e = {0};
    struct block_load load = {.bytes = number("SLICED_BYTES"), .depth = number("SLICED_DEPTH")};
    if (on && block_open(&trace, drive, 1, load, &e) != 0) {
        fprintf(stderr, "kvfall_sliced: %s\n", e.text);
        _exit(1);
    }
    sleep_ms(SETTLE_MS);
    if (trace) block_read(trace, &counts);
    struct moment a = moment_now();
    sleep_ms(SLICE_MS);
    if (trace) block_read(trace, &counts);
    struct moment b = moment_now();
    block_close(trace);
    fprintf(out, "%s %.6f %" PRIu64 " %" PRIu64 "\n", on ? "on" : "off", (double)(b.at_ns - a.at_ns) / 1e9,
            (b.bytes - a.bytes), b.cpu_ns - a.cpu_ns);
    fflush(out);
}

static void *slices(void *path) {
    struct blockdev drive;
    FILE *out = fopen(getenv("SLICED_OUT"), "we");
    if (!out || blockdev_find(path, &drive, NULL) != 0) _exit(1);
    sleep_ms(FIRST_MS);
    for (unsigned i = 0;; i++) slice((i + 1) / 2 % 2 == 0, &drive, out);
    return NULL;
}

__attribute__((constructor)) static void begin(void) {
    pthread_t thread;
    char *path = getenv("SLICED_PATH");
    if (path && pthread_create(&thread, NULL, slices, path) != 0) _exit(1);
}
