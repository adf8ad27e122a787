#include "tests/unit/cuda_tier_fixture.h"

#include <errno.h>

#include "base/rng.h"

enum { USABLE = 8 << 20 };

/* The parameters that a test varies. */
struct shape {
    uint32_t devices, tensor_parallel, layers, kv_heads, lora;
    enum scenario_gpu_layout layout;
};

static uint64_t token_bytes(const struct shape *s) {
    return s->lora ? (uint64_t)s->layers * (s->lora + 64) : (uint64_t)s->layers * 2 * s->kv_heads * 64;
}

static struct tier_setup setup_of(const struct shape *s) {
    scenario_reset();
    scenario.gpu.device_count = s->devices;
    for (uint32_t i = 0; i < s->devices; i++) scenario.gpu.devices[i] = i;
    scenario.gpu.layout = s->layout;
    scenario.tensor_parallel = s->tensor_parallel;
    scenario.model.layers = s->layers;
    scenario.model.kv_heads = s->kv_heads;
    scenario.model.head_dim = 64;
    scenario.model.kv_lora_rank = s->lora;
    fake.devices = 4;
    return setup_for(USABLE, token_bytes(s), 1);
}

static const struct shape plain = {1, 1, 4, 8, 0, KVF_GPU_LAYOUT_CONTIGUOUS};

/* Submits chunks and reaps until all are back. */
static void carry_out(struct tier_chunk *chunk, unsigned n) {
    struct tier_chunk *list[64], *done[64];
    unsigned given = 0, back = 0;
    assert_true(n <= 64);
    for (unsigned i = 0; i < n; i++) list[i] = &chunk[i];
    for (int turns = 0; back < n; turns++) {
        assert_true(turns < 1000);
        given += tier_cuda_ops.submit(queue, list + given, n - given);
        assert_true(tier_cuda_ops.next_ns(queue) != KVF_NEVER);
        back += tier_cuda_ops.reap(queue, done, 64);
    }
    assert_true(tier_cuda_ops.next_ns(queue) == KVF_NEVER);
    for (unsigned i = 0; i < n; i++) assert_true(chunk[i].complete_ns >= chunk[i].submit_ns);
}

static struct payload_id id_of(uint64_t number) {
    return (struct payload_id){number * 7919, ~number, 3 + number};
}

static struct tier_chunk whole(enum kvf_dir dir, uint64_t place, uint64_t bytes, uint64_t number,
                               enum tier_check check) {
    return (struct tier_chunk){
        .dir = dir, .place = place, .entry_bytes = bytes, .len = bytes, .check = check, .id = id_of(number)};
}

static int one(struct tier_chunk c, uint64_t *bad) {
    carry_out(&c, 1);
    if (bad) *bad = c.bad_blocks;
    return c.error;
}

/* The bytes of an entry, in chunks of the io size that are under way together. */
static void copy_all(enum kvf_dir dir, uint64_t place, uint64_t bytes) {
    struct tier_chunk chunk[64];
    unsigned n = 0;
    for (uint64_t at = 0; at < bytes; at += IO, n++) {
        assert_true(n < 64);
        chunk[n] = (struct tier_chunk){.dir = dir,
                                       .place = place,
                                       .entry_bytes = bytes,
                                       .offset = at,
                                       .len = bytes - at < IO ? bytes - at : IO,
                                       .buf = buf + at};
    }
    carry_out(chunk, n);
    for (unsigned i = 0; i < n; i++) assert_int_equal(chunk[i].error, 0);
}

static uint64_t wrong_in_buf(uint64_t bytes, uint64_t number) {
    struct payload_id id = id_of(number);
    uint64_t first = 0;
    return payload_verify(payload, buf, bytes, &id, 0, PAYLOAD_CHECK_FULL, &first, NULL);
}

static void fill_buf(uint64_t bytes, uint64_t number) {
    struct payload_id id = id_of(number);
    payload_prefill(payload, buf, MOST, number);
    payload_restamp(payload, buf, bytes, &id, 0, number);
}

static uint64_t blocks_of(uint64_t bytes) {
    return (bytes + 4095) / 4096;
}

/* ---- the bytes ---- */

static const struct shape shapes[] = {
    {1, 1, 4, 8, 0, KVF_GPU_LAYOUT_CONTIGUOUS}, {2, 1, 4, 8, 0, KVF_GPU_LAYOUT_CONTIGUOUS},
    {2, 2, 4, 8, 0, KVF_GPU_LAYOUT_CONTIGUOUS}, {4, 2, 4, 8, 0, KVF_GPU_LAYOUT_CONTIGUOUS},
    {3, 4, 4, 8, 0, KVF_GPU_LAYOUT_CONTIGUOUS}, {1, 1, 32, 1, 0, KVF_GPU_LAYOUT_LAYERS},
    {1, 1, 80, 1, 0, KVF_GPU_LAYOUT_LAYERS}, /* more pieces than a launch takes */
    {1, 1, 61, 0, 512, KVF_GPU_LAYOUT_LAYERS},  {2, 2, 4, 8, 0, KVF_GPU_LAYOUT_LAYERS},
    {2, 1, 61, 0, 512, KVF_GPU_LAYOUT_LAYERS}};

/* In every shape: what is made on the device is what the host finds, and the other way round. */
static void what_is_made_or_copied_there_is_right_everywhere(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        struct tier_setup setup = setup_of(&shapes[i]);
        open_all(&setup);
        uint64_t token = token_bytes(&shapes[i]), place[6], size[6];
        for (uint64_t k = 0; k < 6; k++) {
            size[k] = token * (1 + k * k * 3);
            if (size[k] > MOST) size[k] = MOST / token * token;
            place[k] = tier_cuda_ops.alloc(tier, size[k]);
            assert_true(place[k] != TIER_NO_PLACE);
            if (k % 2) {
                fill_buf(size[k], k);
                copy_all(KVF_DIR_WRITE, place[k], size[k]);
            } else {
                assert_int_equal(one(whole(KVF_DIR_WRITE, place[k], size[k], k, TIER_CHECK_NONE), NULL), 0);
            }
        }
        for (uint64_t k = 0; k < 6; k++) {
            uint64_t bad = 0;
            assert_int_equal(one(whole(KVF_DIR_READ, place[k], size[k], k, TIER_CHECK_FULL), &bad), 0);
            assert_int_equal(bad, 0);
            memset(buf, 0xee, MOST);
            copy_all(KVF_DIR_READ, place[k], size[k]);
            assert_int_equal(wrong_in_buf(size[k], k), 0);
            assert_int_equal(one(whole(KVF_DIR_READ, place[k], size[k], k + 1, TIER_CHECK_FULL), &bad),
                             EBADMSG);
            assert_int_equal(bad, blocks_of(size[k]));
        }
        close_all();
    }
}

/* Where a stamp or a vector is cut short, what payload checks is checked. */
static void the_end_of_an_entry_may_be_anywhere(void **state) {
    (void)state;
    struct tier_setup setup = setup_of(&plain);
    static const uint64_t sizes[] = {1, 7, 8, 9, 15, 16, 33, 63, 64, 65, 100, 4095, 4096, 4097, 4150, 9000};
    setup.min_entry_bytes = 4096;
    open_all(&setup);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        uint64_t bytes = sizes[i], bad = 0, place = tier_cuda_ops.alloc(tier, bytes);
        assert_int_equal(one(whole(KVF_DIR_WRITE, place, bytes, i, TIER_CHECK_NONE), NULL), 0);
        assert_int_equal(one(whole(KVF_DIR_READ, place, bytes, i, TIER_CHECK_FULL), &bad), 0);
        copy_all(KVF_DIR_READ, place, bytes);
        assert_int_equal(wrong_in_buf(bytes, i), 0);
        buf[bytes - 1] ^= 0x10; /* the last byte counts, where any other checks it too */
        copy_all(KVF_DIR_WRITE, place, bytes);
        uint64_t expected = wrong_in_buf(bytes, i);
        assert_int_equal(one(whole(KVF_DIR_READ, place, bytes, i, TIER_CHECK_FULL), &bad),
                         expected ? EBADMSG : 0);
        assert_int_equal(bad, expected);
        tier_cuda_ops.drop(tier, place, bytes);
    }
    close_all();
}

static void damage_is_found_and_counted_by_block(void **state) {
    (void)state;
    struct tier_setup setup = setup_of(&plain);
    open_all(&setup);
    uint64_t bytes = 10 * 4096, bad = 0, place = tier_cuda_ops.alloc(tier, bytes);
    fill_buf(bytes, 5);
    buf[3 * 4096 + 100] ^= 1; /* noise */
    buf[7 * 4096 + 4095] ^= 1;
    copy_all(KVF_DIR_WRITE, place, bytes);
    assert_int_equal(one(whole(KVF_DIR_READ, place, bytes, 5, TIER_CHECK_HEADER), &bad), 0);
    assert_int_equal(one(whole(KVF_DIR_READ, place, bytes, 5, TIER_CHECK_FULL), &bad), EBADMSG);
    assert_int_equal(bad, 2);
    buf[8 * 4096 + 20] ^= 1;              /* a stamp's key */
    memset(buf + 9 * 4096 + 48, 0xff, 8); /* and its noise block, which is none of ours */
    copy_all(KVF_DIR_WRITE, place, bytes);
    assert_int_equal(one(whole(KVF_DIR_READ, place, bytes, 5, TIER_CHECK_HEADER), &bad), EBADMSG);
    assert_int_equal(bad, 2);
    assert_int_equal(one(whole(KVF_DIR_READ, place, bytes, 5, TIER_CHECK_FULL), &bad), EBADMSG);
    assert_int_equal(bad, 4);
    assert_int_equal(one(whole(KVF_DIR_READ, place, bytes, 5, TIER_CHECK_NONE), &bad), 0);
    close_all();
}

/* Pages of dropped entries, each with a neighbour that stays: as many pieces as pages. */
static void an_entry_may_be_in_hundreds_of_pieces(void **state) {
    (void)state;
    enum { PAGES = 500 };
    struct tier_setup setup = setup_of(&plain);
    setup.usable_bytes = PAGES * 4096;
    open_all(&setup);
    uint64_t place[PAGES], bytes = PAGES / 2 * 4096, bad = 0;
    for (int i = 0; i < PAGES; i++) place[i] = tier_cuda_ops.alloc(tier, 4096);
    for (int i = 0; i < PAGES; i += 2) tier_cuda_ops.drop(tier, place[i], 4096);
    uint64_t entry = tier_cuda_ops.alloc(tier, bytes);
    assert_true(entry != TIER_NO_PLACE);
    assert_int_equal(one(whole(KVF_DIR_WRITE, entry, bytes, 1, TIER_CHECK_NONE), NULL), 0);
    assert_int_equal(fake.kernels, 3); /* 250 pieces, 120 a launch */
    assert_int_equal(one(whole(KVF_DIR_READ, entry, bytes, 1, TIER_CHECK_FULL), &bad), 0);
    fake.copies = fake.batches = 0;
    copy_all(KVF_DIR_READ, entry, bytes);
    assert_int_equal(fake.copies, 250);
    assert_true(fake.batches <= 4);
    assert_int_equal(wrong_in_buf(bytes, 1), 0);
    close_all();
}

/* Copies of 32 KiB are worth a batch too: one by one they carry a quarter as much. */
static void pages_are_copied_in_a_batch(void **state) {
    (void)state;
    enum { PAGE = 32 * 1024, PAGES = 16 };
    struct tier_setup setup = setup_of(&plain);
    setup.page_bytes = setup.min_entry_bytes = PAGE;
    setup.usable_bytes = PAGES * PAGE;
    open_all(&setup);
    uint64_t place[PAGES], bytes = PAGES / 2 * PAGE;
    for (int i = 0; i < PAGES; i++) place[i] = tier_cuda_ops.alloc(tier, PAGE);
    for (int i = 0; i < PAGES; i += 2) tier_cuda_ops.drop(tier, place[i], PAGE);
    uint64_t entry = tier_cuda_ops.alloc(tier, bytes);
    fill_buf(bytes, 1);
    copy_all(KVF_DIR_WRITE, entry, bytes);
    assert_int_equal(fake.copies, PAGES / 2);
    assert_int_equal(fake.batches, 1);
    memset(buf, 0, bytes);
    copy_all(KVF_DIR_READ, entry, bytes);
    assert_int_equal(wrong_in_buf(bytes, 1), 0);
    close_all();
}

static void by_layer_an_entry_is_one_copy_a_piece(void **state) {
    (void)state;
    struct shape s = {1, 1, 32,
                      1, 0, KVF_GPU_LAYOUT_LAYERS}; /* keys and values of 32 layers, 64 bytes a token */
    struct tier_setup setup = setup_of(&s);
    open_all(&setup);
    uint64_t bytes = 16 * token_bytes(&s), place = tier_cuda_ops.alloc(tier, bytes);
    copy_all(KVF_DIR_READ, place, bytes);
    assert_int_equal(fake.copies, 64);
    assert_int_equal(fake.longest_copy, 16 * 64);
    assert_int_equal(fake.batches, 1);
    close_all();
}

static void what_lands_takes_no_place(void **state) {
    (void)state;
    struct tier_setup setup = setup_of(&plain);
    scenario.cache.read_target = KVF_READ_TARGET_GPU;
    open_all(&setup);
    struct tier_chunk c = {.dir = KVF_DIR_WRITE,
                           .place = TIER_NO_PLACE,
                           .entry_bytes = 3 * IO,
                           .offset = 2 * IO,
                           .len = IO,
                           .buf = buf};
    carry_out(&c, 1);
    assert_int_equal(c.error, 0);
    assert_int_equal(fake.longest_copy, IO);
    struct tier_chunk small[4]; /* each over the last one: a batch has no order */
    for (int i = 0; i < 4; i++) {
        small[i] = c;
        small[i].len = 4096;
        small[i].buf = buf + i * 4096;
    }
    carry_out(small, 4);
    assert_int_equal(fake.copies, 5);
    assert_int_equal(fake.batches, 0);
    close_all();
}

/* ---- places ---- */

static void everything_that_fits_finds_a_place(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        struct tier_setup setup = setup_of(&shapes[i]);
        open_all(&setup);
        struct rng rng;
        rng_init(&rng, 11, KVF_RNG_PAYLOAD, i);
        uint64_t place[400], size[400], used = 0, token = token_bytes(&shapes[i]);
        unsigned n = 0;
        for (int turn = 0; turn < 5000; turn++) {
            uint64_t bytes = token * (rng_range(&rng, 1, 40));
            if (n < 400 && used + bytes <= USABLE) {
                place[n] = tier_cuda_ops.alloc(tier, bytes);
                assert_true(place[n] != TIER_NO_PLACE);
                size[n++] = bytes;
                used += bytes;
            } else {
                unsigned k = (unsigned)rng_range(&rng, 0, n - 1);
                tier_cuda_ops.drop(tier, place[k], size[k]);
                used -= size[k];
                place[k] = place[--n];
                size[k] = size[n];
            }
        }
        close_all();
    }
}

static bool count_piece(void *ctx, uint32_t device, const struct cuda_extent *piece) {
    ((uint64_t *)ctx)[device] += piece->bytes;
    return true;
}

static void entries_take_turns_or_are_shared(void **state) {
    (void)state;
    struct shape s = {4, 2, 4, 8, 0, KVF_GPU_LAYOUT_CONTIGUOUS};
    struct tier_setup setup = setup_of(&s);
    open_all(&setup);
    for (unsigned i = 0; i < 4; i++) {
        uint64_t on[4] = {0}, place = tier_cuda_ops.alloc(tier, 8 * 4096);
        cuda_place_walk((struct cuda_tier *)tier, place, 0, 8 * 4096, count_piece, on);
        for (unsigned d = 0; d < 4; d++) assert_int_equal(on[d], d / 2 == i % 2 ? 4 * 4096 : 0);
    }
    close_all();
}

/* ---- time ---- */

static void nothing_comes_back_before_the_device_is_done(void **state) {
    (void)state;
    struct tier_setup setup = setup_of(&plain);
    open_all(&setup);
    uint64_t place = tier_cuda_ops.alloc(tier, IO);
    struct tier_chunk c = {.dir = KVF_DIR_READ, .place = place, .entry_bytes = IO, .len = IO, .buf = buf};
    struct tier_chunk *list = &c, *done[4];
    fake.held = true;
    assert_int_equal(tier_cuda_ops.submit(queue, &list, 1), 1);
    for (int i = 0; i < 5; i++) assert_int_equal(tier_cuda_ops.reap(queue, done, 4), 0);
    fake_let_go();
    assert_int_equal(tier_cuda_ops.reap(queue, done, 4), 1);
    assert_ptr_equal(done[0], &c);
    close_all();
}

static void a_device_that_is_full_takes_the_rest_later(void **state) {
    (void)state;
    enum { CHUNKS = 200 };
    struct tier_setup setup = setup_of(&plain);
    open_all(&setup);
    uint64_t place = tier_cuda_ops.alloc(tier, 4096);
    struct tier_chunk chunk[CHUNKS], *list[CHUNKS], *done[CHUNKS];
    fake.held = true;
    unsigned given = 0, back = 0;
    for (unsigned i = 0; i < CHUNKS; i++) {
        chunk[i] = (struct tier_chunk){
            .dir = KVF_DIR_READ, .place = place, .entry_bytes = 4096, .len = 4096, .buf = buf};
        list[i] = &chunk[i];
    }
    for (; given < CHUNKS && tier_cuda_ops.submit(queue, list + given, 1) == 1; given++) {}
    assert_int_equal(given, 16); /* one event each */
    assert_int_equal(tier_cuda_ops.submit(queue, list + given, CHUNKS - given), 0);
    fake_let_go();
    while (back < CHUNKS) {
        back += tier_cuda_ops.reap(queue, done, CHUNKS);
        given += tier_cuda_ops.submit(queue, list + given, CHUNKS - given);
    }
    assert_int_equal(given, CHUNKS);
    close_all();
}

/* Memory, streams and events are there before the first operation: where none can be had any more all goes
 * on, in one group after another and in every kind. */
static void operations_take_nothing_of_the_driver(void **state) {
    (void)state;
    static const char *const takers[] = {"fake_alloc",       "fake_host_alloc", "fake_stream_new",
                                         "fake_stream_wait", "fake_event_new",  "fake_pin"};
    struct tier_setup setup = setup_of(&plain);
    open_all(&setup);
    uint64_t bytes = 4 * IO, place = tier_cuda_ops.alloc(tier, bytes), bad;
    for (size_t i = 0; i < sizeof takers / sizeof takers[0]; i++) {
        fake.fail_name = takers[i];
        for (int turn = 0; turn < 40; turn++) {
            assert_int_equal(one(whole(KVF_DIR_WRITE, place, bytes, 1, TIER_CHECK_NONE), NULL), 0);
            assert_int_equal(one(whole(KVF_DIR_READ, place, bytes, 1, TIER_CHECK_FULL), &bad), 0);
            copy_all(KVF_DIR_READ, place, bytes);
            copy_all(KVF_DIR_WRITE, place, bytes);
        }
    }
    fake.fail_name = NULL;
    close_all();
}

/* ---- pinning ---- */

static bool pin_goes_on;
static unsigned pin_told;
static bool pin_progress(void *ctx, enum kvf_tier of, double share) {
    (void)ctx;
    assert_int_equal(of, KVF_TIER_CPU);
    assert_true(share > 0 && share <= 1);
    pin_told++;
    return pin_goes_on;
}

static void memory_is_pinned_in_pieces_that_no_copy_crosses(void **state) {
    (void)state;
    const uint64_t gib = UINT64_C(1) << 30;
    uint8_t *at = (uint8_t *)(uintptr_t)(UINT64_C(1) << 40);
    struct err e = {0};
    struct tier_setup setup = setup_of(&plain), cpu = {.tier = KVF_TIER_CPU, .progress = pin_progress};
    open_all(&setup);
    pin_goes_on = true;
    pin_told = 0;
    assert_int_equal(tier_cuda_ops.pin(tier, at, 2 * gib + gib / 2, &cpu, &e), 0);
    assert_int_equal(fake.pins, 3);
    assert_int_equal(fake.pinned_bytes[2], gib / 2);
    assert_int_equal(pin_told, 3);
    const struct cuda_tier *t = (struct cuda_tier *)tier;
    assert_int_equal(cuda_pin_reach(t, at + gib - 100, 4096), 100);
    assert_int_equal(cuda_pin_reach(t, at + gib, 4096), 4096);
    assert_int_equal(cuda_pin_reach(t, at - 4096, 4096), 4096);
    tier_cuda_ops.unpin(tier, at);
    assert_int_equal(fake.pins, 0);
    assert_int_equal(tier_cuda_ops.pin(tier, buf, MOST, NULL, &e), 0);
    assert_int_equal(fake.pins, 1);
    tier_cuda_ops.unpin(tier, buf);
    pin_goes_on = false;
    assert_true(tier_cuda_ops.pin(tier, at, 2 * gib, &cpu, &e) < 0);
    assert_int_equal(e.code, KVF_ERR_CANCELLED);
    close_all();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(what_is_made_or_copied_there_is_right_everywhere, each_setup),
        cmocka_unit_test_setup(the_end_of_an_entry_may_be_anywhere, each_setup),
        cmocka_unit_test_setup(damage_is_found_and_counted_by_block, each_setup),
        cmocka_unit_test_setup(an_entry_may_be_in_hundreds_of_pieces, each_setup),
        cmocka_unit_test_setup(pages_are_copied_in_a_batch, each_setup),
        cmocka_unit_test_setup(by_layer_an_entry_is_one_copy_a_piece, each_setup),
        cmocka_unit_test_setup(what_lands_takes_no_place, each_setup),
        cmocka_unit_test_setup(everything_that_fits_finds_a_place, each_setup),
        cmocka_unit_test_setup(entries_take_turns_or_are_shared, each_setup),
        cmocka_unit_test_setup(nothing_comes_back_before_the_device_is_done, each_setup),
        cmocka_unit_test_setup(a_device_that_is_full_takes_the_rest_later, each_setup),
        cmocka_unit_test_setup(operations_take_nothing_of_the_driver, each_setup),
        cmocka_unit_test_setup(memory_is_pinned_in_pieces_that_no_copy_crosses, each_setup),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("tier_cuda", tests, group_setup, group_teardown);
}
