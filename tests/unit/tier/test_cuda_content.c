/* The work of the kernels' threads, run here on the host, against the content that payload knows. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "tier/cuda/cuda_content.h"
#include "tier/payload.h"

enum { MEMORY = 8 << 20, GAP = 64, FREE = 0xa5 };

static const struct payload_id id = {0x1234, 0x99887766, 5};
static struct payload *payload;
static uint8_t *memory, *gathered;
static struct cuda_work work;
static struct cuda_content content;

/* An entry in pieces of these sizes, with room that belongs to nobody between them. */
static uint64_t lay_out(const uint64_t *bytes, uint32_t n) {
    uint64_t at = GAP, offset = 0;
    memset(&work, 0, sizeof work);
    memset(memory, FREE, MEMORY);
    for (uint32_t i = 0; i < n; i++) {
        work.extent[i] = (struct cuda_extent){
            .offset = offset, .address = (uint64_t)(uintptr_t)(memory + at), .bytes = bytes[i]};
        offset += bytes[i];
        at += (bytes[i] + CUDA_VECTOR - 1) / CUDA_VECTOR * CUDA_VECTOR + GAP;
        assert_true(at < MEMORY);
    }
    work.extents = n;
    work.to = offset;
    return offset;
}

static void generate(void) {
    struct cuda_tiles tiles;
    uint32_t blocks = cuda_tiles_of(&work, &tiles);
    for (uint32_t i = 0; i < blocks * CUDA_THREADS; i++)
        cuda_generate_thread(&work, &tiles, &content, i / CUDA_THREADS, i % CUDA_THREADS);
}

static uint64_t checksum(void) {
    struct cuda_tiles tiles;
    uint32_t blocks = cuda_tiles_of(&work, &tiles);
    uint64_t sum = 0;
    for (uint32_t i = 0; i < blocks * CUDA_THREADS; i++)
        sum += cuda_checksum_thread(&work, &tiles, i / CUDA_THREADS, i % CUDA_THREADS);
    return sum;
}

/* As the kernel counts: warps that have a block, any lane of them. */
static uint64_t bad_blocks(int full) {
    uint64_t bad = 0;
    for (uint32_t i = 0; i < cuda_verify_blocks(&work) * CUDA_THREADS; i += CUDA_LANES) {
        uint64_t block = cuda_verify_block(&work, i / CUDA_THREADS, i % CUDA_THREADS);
        int wrong = 0;
        for (uint32_t lane = 0; lane < CUDA_LANES && block * CUDA_BLOCK < work.to; lane++)
            wrong |= cuda_verify_lane(&work, &content, full, block, lane);
        bad += wrong != 0;
    }
    return bad;
}

/* Blocks that payload finds wrong in the joined pieces; bytes between them are unchanged. */
static uint64_t wrong_for_payload(void) {
    uint64_t first;
    const uint8_t *after = memory;
    for (uint32_t i = 0; i <= work.extents; i++) {
        const struct cuda_extent *e = &work.extent[i];
        const uint8_t *end = i < work.extents ? (uint8_t *)(uintptr_t)e->address : memory + MEMORY;
        for (; after < end; after++) assert_int_equal(*after, FREE);
        if (i == work.extents) break;
        memcpy(gathered + e->offset, end, e->bytes);
        after = end + (e->bytes + CUDA_VECTOR - 1) / CUDA_VECTOR * CUDA_VECTOR;
    }
    return payload_verify(payload, gathered, work.to, &id, 0, PAYLOAD_CHECK_FULL, &first, NULL);
}

static void expect_entry(const uint64_t *bytes, uint32_t n) {
    uint64_t whole = lay_out(bytes, n);
    generate();
    assert_int_equal(wrong_for_payload(), 0);
    assert_int_equal(bad_blocks(1), 0);
    assert_int_equal(bad_blocks(0), 0);
    assert_int_equal(work.to, whole);
}

static void every_byte_of_an_entry_is_written_and_nothing_else(void **state) {
    (void)state;
    static const uint64_t one[] = {1}, vector[] = {16}, block[] = {4096}, tile[] = {CUDA_TILE},
                          over[] = {CUDA_TILE + 16}, odd[] = {3 * CUDA_TILE - 7},
                          mixed[] = {16, 64, CUDA_TILE, 4096, CUDA_TILE + 16, 200000, 80, 777};
    expect_entry(one, 1);
    expect_entry(vector, 1);
    expect_entry(block, 1);
    expect_entry(tile, 1);
    expect_entry(over, 1);
    expect_entry(odd, 1);
    expect_entry(mixed, 8);
    /* the noise CUDA_COPIES times and more: its window is 512 KiB here */
    static const uint64_t often[] = {2 << 20}, oftener[] = {48, (2 << 20) + 5 * CUDA_TILE + 32, 100},
                          twice[] = {16, 6 << 20, 4095};
    expect_entry(often, 1);
    expect_entry(oftener, 3);
    expect_entry(twice, 3);
    struct rng rng;
    rng_init(&rng, 4, KVF_RNG_PAYLOAD, 0);
    for (int turn = 0; turn < 20; turn++) {
        uint64_t bytes[CUDA_EXTENTS];
        for (int i = 0; i < CUDA_EXTENTS; i++) bytes[i] = 16 * rng_range(&rng, 1, turn % 2 ? 12 : 1500);
        bytes[CUDA_EXTENTS - 1] -= rng_range(&rng, 0, 15);
        expect_entry(bytes, CUDA_EXTENTS);
    }
}

/* Any bit that changes changes the sum, wherever it is. */
static void every_byte_of_an_entry_is_in_the_sum(void **state) {
    (void)state;
    static const uint64_t bytes[] = {48, 2 * CUDA_TILE + 32, 4096 + 16, 96};
    lay_out(bytes, 4);
    generate();
    uint64_t whole = checksum();
    for (uint32_t i = 0; i < 4; i++)
        for (uint64_t k = 0; k <= bytes[i] / 61; k++) {
            uint64_t at = k * 61 < bytes[i] ? k * 61 : bytes[i] - 1;
            uint8_t *p = (uint8_t *)(uintptr_t)work.extent[i].address + at;
            *p ^= 0x20;
            assert_int_not_equal(checksum(), whole);
            *p ^= 0x20;
        }
    assert_int_equal(checksum(), whole);
}

/* A part of an entry that begins with a later block, and blocks that lie in two pieces. */
static void damage_is_found_where_it_is(void **state) {
    (void)state;
    static const uint64_t bytes[] = {4096 + 16, 4096, 32, 8 * 4096};
    lay_out(bytes, 4);
    generate();
    ((uint8_t *)(uintptr_t)work.extent[1].address)[0] ^= 1;    /* block 1, past its stamp's first vector */
    ((uint8_t *)(uintptr_t)work.extent[3].address)[100] ^= 1;  /* block 2 */
    ((uint8_t *)(uintptr_t)work.extent[3].address)[5000] ^= 1; /* block 3 */
    assert_int_equal(wrong_for_payload(), 3);
    assert_int_equal(bad_blocks(1), 3);
    assert_int_equal(bad_blocks(0), 1);
    work.from = 2 * CUDA_BLOCK;
    assert_int_equal(bad_blocks(1), 2);
    work.from = 3 * CUDA_BLOCK;
    work.to = 4 * CUDA_BLOCK;
    assert_int_equal(bad_blocks(1), 1);
    work.from = 4 * CUDA_BLOCK;
    work.to = 5 * CUDA_BLOCK + 100;
    assert_int_equal(bad_blocks(1), 0);
}

static int group_setup(void **state) {
    (void)state;
    struct err e = {0};
    payload = payload_open(3, 1 << 20, &e);
    memory = aligned_alloc(4096, MEMORY);
    gathered = malloc(MEMORY);
    if (!payload || !memory || !gathered) return -1;
    uint64_t base, blocks;
    const void *noise = payload_noise(payload, &blocks);
    struct payload_stamp s = payload_stamp_of(payload, &id, &base);
    content = (struct cuda_content){.magic = s.magic,
                                    .key_hi = s.key_hi,
                                    .key_lo = s.key_lo,
                                    .generation = s.generation,
                                    .seed = s.seed,
                                    .base = base,
                                    .noise = (uint64_t)(uintptr_t)noise,
                                    .noise_blocks = blocks,
                                    .first = 77,
                                    .window = 128};
    return 0;
}

static int group_teardown(void **state) {
    (void)state;
    payload_close(payload);
    free(memory);
    free(gathered);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_byte_of_an_entry_is_written_and_nothing_else),
        cmocka_unit_test(every_byte_of_an_entry_is_in_the_sum),
        cmocka_unit_test(damage_is_found_where_it_is),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("cuda_content", tests, group_setup, group_teardown);
}
