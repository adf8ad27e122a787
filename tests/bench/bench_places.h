/* Places of entries that hold nothing: a cache whose decisions alone count. One thread. */
#ifndef TESTS_BENCH_BENCH_PLACES_H
#define TESTS_BENCH_BENCH_PLACES_H

#include <stdint.h>

/* The next number; `ctx` is the last one. */
static inline uint64_t place_alloc(void *ctx, int tier, uint64_t bytes) {
    (void)tier;
    (void)bytes;
    return ++*(uint64_t *)ctx;
}

static inline void place_drop(void *ctx, int tier, uint64_t place, uint64_t bytes) {
    (void)ctx;
    (void)tier;
    (void)place;
    (void)bytes;
}

#endif
