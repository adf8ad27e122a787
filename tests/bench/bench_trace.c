/* Decisions of the cache on the blocks of a trace, one block a request, without a run around them.
 *
 *   bench_trace SCENARIO BLOCKS
 *
 * Reads all rows of the scenario's trace, then asks a cache of one tier with room for BLOCKS blocks for
 * each block in turn, under the eviction policy of the scenario's cpu tier: a block that is resident is read,
 * one that is not is written and puts another one out. Nothing takes time. Prints how many blocks were asked
 * for, how many were found, the seconds of processor time of the decisions, and those of reading the rows. */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "cache/cache.h"
#include "scenario/load.h"
#include "workload/workload.h"
#include "tests/bench/bench_places.h"

enum { AHEAD = 8 };
#define ENTRY_BYTES UINT64_C(1048576)

static int fail(const char *what) {
    fprintf(stderr, "bench_trace: %s\n", what);
    return 1;
}

struct blocks {
    struct cache_key *key;
    size_t count, cap;
};

static void blocks_add(struct blocks *b, const struct request *r) {
    while (b->count + r->id_count > b->cap) {
        b->cap = b->cap ? 2 * b->cap : 1 << 16;
        b->key = mem_realloc(b->key, b->cap * sizeof *b->key);
    }
    for (uint32_t i = 0; i < r->id_count; i++)
        b->key[b->count++] = cache_key_make(CACHE_KEY_TRACE, r->cycle, r->ids[i]);
}

static int blocks_read(struct blocks *b, const struct scenario *s) {
    struct workload *w;
    struct request r = {0};
    struct err e = {0};
    if (workload_open(&w, s, &e) != 0) return fail(e.text);
    while (workload_next(w, 0, &r) == WORKLOAD_REQUEST) blocks_add(b, &r);
    request_free(&r);
    workload_close(w);
    return b->count > 0 ? 0 : fail("the trace has no blocks");
}

static void block_ask(struct cache *c, struct cache_key key) {
    struct cache_access access = {.cause = KVF_CAUSE_PREFIX};
    struct cache_op *op;
    int tier = cache_where(c, key);
    cache_count_lookup(c, KVF_CAUSE_PREFIX, tier);
    if (tier >= 0)
        cache_read(c, key, &access, 0, c);
    else
        cache_write(c, key, ENTRY_BYTES, &access, 0, c, &op);
    while (cache_is_ready(c) && (op = cache_next_ready(c)) != NULL) cache_finish(c, op, CACHE_DONE, false);
}

int main(int argc, char **argv) {
    static struct scenario s;
    struct scenario_report report;
    struct blocks b = {0};
    struct err e = {0};
    struct cache_stats stats;
    uint64_t places = 0;
    if (argc != 3) {
        fprintf(stderr, "usage: bench_trace SCENARIO BLOCKS\n");
        return 2;
    }
    if (scenario_load(argv[1], NULL, NULL, 0, &s, NULL, &report) != 0) return fail(buf_text(&report.errors));
    uint64_t begun = clock_thread_cpu_ns();
    if (blocks_read(&b, &s) != 0) return 1;
    uint64_t read = clock_thread_cpu_ns();
    struct cache_config config = {.placement = KVF_PLACEMENT_WATERFALL,
                                  .promotion = KVF_PROMOTION_NEVER,
                                  .ctx = &places,
                                  .alloc = place_alloc,
                                  .drop = place_drop};
    config.on[KVF_TIER_CPU] = true;
    config.usable_bytes[KVF_TIER_CPU] = strtoull(argv[2], NULL, 10) * ENTRY_BYTES;
    config.eviction[KVF_TIER_CPU] = s.tier[KVF_TIER_CPU].eviction;
    struct cache *c = cache_open(&config, &e);
    if (!c) return fail(e.text);
    uint64_t from = clock_thread_cpu_ns();
    for (size_t i = 0; i < b.count; i++) {
        if (i + AHEAD < b.count) cache_soon(c, b.key[i + AHEAD]); /* as of the blocks of a request */
        block_ask(c, b.key[i]);
    }
    uint64_t took = clock_thread_cpu_ns() - from;
    cache_stats(c, &stats);
    if (cache_check(c, &e) != 0) return fail(e.text);
    printf("%zu %" PRIu64 " %.9f %.9f\n", b.count, stats.hits[KVF_CAUSE_PREFIX], (double)took / 1e9,
           (double)(read - begun) / 1e9);
    cache_close(c);
    free(b.key);
    scenario_load_free(&report);
    return 0;
}
