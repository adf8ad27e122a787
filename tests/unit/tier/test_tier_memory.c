#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/rng.h"
#include "tier/payload.h"
#include "tier/tier.h"

enum { PAGE = 4096, IO = 64 * 1024 };

static struct run_clock run_time;
static struct scenario *scenario;
static struct payload *payload;
static uint8_t *buf;

static struct tier_setup setup_of(uint64_t usable, uint64_t min_entry) {
    return (struct tier_setup){.scenario = scenario,
                               .tier = KVF_TIER_CPU,
                               .usable_bytes = usable,
                               .page_bytes = PAGE,
                               .min_entry_bytes = min_entry,
                               .workers = 2,
                               .clock = &run_time};
}

/* The largest pieces that the kernel was asked to populate and to release at once. */
static _Atomic uint64_t largest_populated, largest_released, populated;

static void larger(_Atomic uint64_t *largest, uint64_t n) {
    uint64_t seen = *largest;
    while (n > seen && !__atomic_compare_exchange_n((uint64_t *)largest, &seen, n, false, __ATOMIC_SEQ_CST,
                                                    __ATOMIC_SEQ_CST)) {}
}

int madvise(void *at, size_t len, int advice) {
    if (advice == 23) { /* MADV_POPULATE_WRITE */
        larger(&largest_populated, len);
        populated += len;
    }
    return (int)syscall(SYS_madvise, at, len, advice);
}

int munmap(void *at, size_t len) {
    larger(&largest_released, len);
    return (int)syscall(SYS_munmap, at, len);
}

static struct tier *open_tier(const struct tier_setup *setup) {
    struct err e = {0};
    struct tier *t = NULL;
    assert_true(tier_backend(setup, &e) == &tier_memory_ops);
    assert_int_equal(tier_memory_ops.open(&t, setup, &e), 0);
    return t;
}

static struct tier_queue *open_queue(struct tier *t) {
    struct err e = {0};
    struct tier_queue *q = NULL;
    assert_int_equal(t->ops->queue_open(t, &q, 0, 4, &e), 0);
    return q;
}

static void move(struct tier_queue *q, enum kvf_dir dir, uint64_t place, uint64_t bytes, uint64_t offset,
                 uint64_t len) {
    struct tier_chunk c = {
        .dir = dir, .place = place, .entry_bytes = bytes, .offset = offset, .len = len, .buf = buf};
    struct tier_chunk *list = &c, *done[2];
    assert_int_equal(tier_memory_ops.submit(q, &list, 1), 1);
    assert_int_equal(tier_memory_ops.reap(q, done, 2), 1);
    assert_ptr_equal(done[0], &c);
    assert_int_equal(c.error, 0);
    assert_true(c.complete_ns >= c.submit_ns);
}

static void put(struct tier_queue *q, uint64_t place, uint64_t bytes, uint64_t key) {
    struct payload_id id = {key, ~key, 1};
    assert_int_equal(tier_memory_ops.begin(q, place, bytes, KVF_DIR_WRITE), 0);
    for (uint64_t at = 0; at < bytes; at += IO) {
        uint64_t len = bytes - at < IO ? bytes - at : IO;
        payload_prefill(payload, buf, IO, key);
        payload_restamp(payload, buf, len, &id, at / PAYLOAD_BLOCK, key);
        move(q, KVF_DIR_WRITE, place, bytes, at, len);
    }
}

static void get(struct tier_queue *q, uint64_t place, uint64_t bytes, uint64_t key) {
    struct payload_id id = {key, ~key, 1};
    assert_int_equal(tier_memory_ops.begin(q, place, bytes, KVF_DIR_READ), 0);
    for (uint64_t at = 0; at < bytes; at += IO) {
        uint64_t len = bytes - at < IO ? bytes - at : IO;
        memset(buf, 0, IO);
        move(q, KVF_DIR_READ, place, bytes, at, len);
        assert_true(
            payload_verify(payload, buf, len, &id, at / PAYLOAD_BLOCK, PAYLOAD_CHECK_FULL, NULL, NULL) == 0);
    }
}

static void entries_come_back_as_they_went(void **state) {
    (void)state;
    struct tier_setup setup = setup_of(4 << 20, 1000);
    struct tier *t = open_tier(&setup);
    struct tier_queue *q = open_queue(t);
    static const uint64_t sizes[] = {1, 100, 4096, 4097, IO, IO + 1, 3 * IO - 5, 1000000};
    uint64_t place[8];
    for (size_t i = 0; i < 8; i++) place[i] = t->ops->alloc(t, sizes[i]);
    for (size_t i = 0; i < 8; i++) put(q, place[i], sizes[i], i + 1);
    for (size_t i = 0; i < 8; i++) get(q, place[i], sizes[i], i + 1);
    t->ops->queue_close(q);
    t->ops->close(t);
}

static void a_reused_place_is_not_mistaken_for_the_one_before(void **state) {
    (void)state;
    struct tier_setup setup = setup_of(64 * PAGE, PAGE);
    struct tier *t = open_tier(&setup);
    struct tier_queue *q = open_queue(t);
    struct rng r;
    rng_init(&r, 9, KVF_RNG_TEST, 0);
    uint64_t place[12], bytes[12], used = 0;
    for (int i = 0; i < 12; i++) place[i] = TIER_NO_PLACE;
    for (uint64_t step = 1; step < 400; step++) {
        uint64_t i = rng_range(&r, 0, 11);
        if (place[i] != TIER_NO_PLACE) {
            get(q, place[i], bytes[i], i + 1);
            t->ops->drop(t, place[i], bytes[i]);
            used -= bytes[i];
            place[i] = TIER_NO_PLACE;
            continue;
        }
        bytes[i] = rng_range(&r, 1, 40) * PAGE;
        if (used + bytes[i] > setup.usable_bytes) continue;
        place[i] = t->ops->alloc(t, bytes[i]);
        assert_true(place[i] != TIER_NO_PLACE);
        used += bytes[i];
        put(q, place[i], bytes[i], i + 1);
    }
    t->ops->queue_close(q);
    t->ops->close(t);
}

static void a_chain_of_before_is_not_followed_again(void **state) {
    (void)state;
    enum { HALF = 8 * PAGE };
    struct tier_setup setup = setup_of(48 * PAGE, PAGE);
    struct tier *t = open_tier(&setup);
    struct tier_queue *q = open_queue(t);
    uint64_t all = t->ops->alloc(t, 32 * PAGE), rest = t->ops->alloc(t, 16 * PAGE);
    assert_true(all == 0 && rest == 32);
    assert_int_equal(t->ops->begin(q, all, 32 * PAGE, KVF_DIR_READ), 0);
    move(q, KVF_DIR_READ, all, 32 * PAGE, 0, HALF); /* would go on at page 8 */
    t->ops->drop(t, all, 32 * PAGE);
    uint64_t a = t->ops->alloc(t, HALF), b = t->ops->alloc(t, 16 * PAGE), c = t->ops->alloc(t, HALF);
    assert_true(a == 0 && b == 8 && c == 24);
    put(q, b, 16 * PAGE, 2);
    t->ops->drop(t, a, HALF);
    t->ops->drop(t, c, HALF);
    uint64_t d = t->ops->alloc(t, 16 * PAGE); /* pages 0 to 7, then 24 to 31 */
    assert_true(d == 0);
    assert_int_equal(t->ops->begin(q, d, 16 * PAGE, KVF_DIR_WRITE), 0);
    memset(buf, 0xaa, HALF);
    move(q, KVF_DIR_WRITE, d, 16 * PAGE, HALF, HALF); /* its second half first */
    get(q, b, 16 * PAGE, 2);
    t->ops->queue_close(q);
    t->ops->close(t);
}

static void rounding_to_pages_never_refuses_what_fits(void **state) {
    (void)state;
    struct tier_setup setup = setup_of(1000000, PAGE + 1); /* each entry wastes nearly a page */
    struct tier *t = open_tier(&setup);
    for (uint64_t used = 0; used + PAGE + 1 <= 1000000; used += PAGE + 1)
        assert_true(t->ops->alloc(t, PAGE + 1) != TIER_NO_PLACE);
    t->ops->close(t);
    struct tier_setup exact = setup_of(100 * PAGE, 2 * PAGE);
    assert_true(tier_setup_pages(&exact) == 100); /* multiples of a page waste nothing */
    scenario->model.sliding_layers = 3;
    assert_true(tier_setup_pages(&exact) == 100 + 50 + 1);
    scenario->model.sliding_layers = 0;
}

static void a_full_queue_takes_no_more(void **state) {
    (void)state;
    struct tier_setup setup = setup_of(1 << 20, PAGE);
    struct tier *t = open_tier(&setup);
    struct tier_queue *q = open_queue(t);
    uint64_t place = t->ops->alloc(t, 6 * PAGE);
    struct tier_chunk c[6], *list[6], *done[6];
    t->ops->begin(q, place, 6 * PAGE, KVF_DIR_WRITE);
    for (uint64_t i = 0; i < 6; i++) {
        c[i] = (struct tier_chunk){
            .dir = KVF_DIR_WRITE, .place = place, .offset = i * PAGE, .len = PAGE, .buf = buf};
        list[i] = &c[i];
    }
    assert_true(t->ops->next_ns(q) == KVF_NEVER);
    assert_int_equal(t->ops->submit(q, list, 6), 4);
    assert_true(t->ops->next_ns(q) == c[0].complete_ns);
    assert_int_equal(t->ops->reap(q, done, 3), 3);
    assert_ptr_equal(done[2], &c[2]);
    assert_int_equal(t->ops->submit(q, list + 4, 2), 2);
    assert_int_equal(t->ops->reap(q, done, 6), 3);
    assert_int_equal(t->ops->reap(q, done, 6), 0);
    t->ops->queue_close(q);
    t->ops->close(t);
}

struct progress {
    unsigned calls;
    double last;
    bool go_on;
};

static bool on_progress(void *ctx, enum kvf_tier tier, double share) {
    struct progress *p = ctx;
    assert_int_equal(tier, KVF_TIER_CPU);
    assert_true(share >= p->last && share <= 1.0);
    p->calls++;
    p->last = share;
    return p->go_on;
}

static void preparation_reports_and_can_be_given_up(void **state) {
    (void)state;
    struct progress p = {0, 0, true};
    struct tier_setup setup = setup_of(80 << 20, PAGE);
    setup.progress = on_progress;
    setup.progress_ctx = &p;
    struct tier *t = open_tier(&setup);
    assert_true(p.calls > 0 && p.last > 0.999);
    t->ops->close(t);
    struct progress stop = {0, 0, false};
    setup.progress_ctx = &stop;
    setup.usable_bytes = UINT64_C(1) << 30; /* given up long before it is all there */
    struct err e = {0};
    t = NULL;
    assert_int_equal(tier_memory_ops.open(&t, &setup, &e), -KVF_ERR_CANCELLED);
    assert_null(t);
}

static void the_arena_is_described(void **state) {
    (void)state;
    struct tier_setup setup = setup_of(1 << 20, PAGE);
    char text[300];
    for (int huge = 0; huge < 2; huge++) {
        scenario->cpu.huge_pages = huge;
        struct tier *t = open_tier(&setup);
        t->ops->describe(t, text, sizeof text);
        assert_non_null(strstr(text, "memory: an arena of "));
        assert_non_null(strstr(text, "pages"));
        if (huge) assert_true(strstr(text, "2 MiB huge pages") || strstr(text, "because"));
        assert_int_equal(t->ops->caps(t), TIER_HOLDS_BYTES | TIER_INSTANT);
        t->ops->close(t);
    }
    scenario->cpu.huge_pages = false;
}

static void an_arena_beyond_the_address_space_is_an_error(void **state) {
    (void)state;
    struct tier_setup setup = setup_of(UINT64_C(1) << 50, UINT64_C(1) << 30);
    setup.page_bytes = UINT64_C(1) << 30; /* few pages, so that it is the mapping that fails */
    struct err e = {0};
    struct tier *t = NULL;
    assert_true(tier_memory_ops.open(&t, &setup, &e) < 0);
    assert_null(t);
    assert_true(strlen(e.text) > 20);
}

static void a_backend_that_is_not_there_is_named(void **state) {
    (void)state;
    scenario->tier[KVF_TIER_GPU].backend = KVF_BACKEND_CUDA;
    struct tier_setup setup = setup_of(1 << 20, PAGE);
    setup.tier = KVF_TIER_GPU;
    struct err e = {0};
    assert_null(tier_backend(&setup, &e));
    assert_int_equal(e.code, KVF_ERR_UNAVAILABLE);
    assert_non_null(strstr(e.text, "CUDA"));
    scenario->tier[KVF_TIER_GPU].backend = KVF_BACKEND_AUTO;
    struct err none = {0};
    assert_ptr_equal(tier_backend(&setup, &none), &tier_emulated_ops);
    setup.tier = KVF_TIER_NVME;
    assert_ptr_equal(tier_backend(&setup, &none), &tier_nvme_ops);
}

static int group_setup(void **state) {
    (void)state;
    struct err e = {0};
    scenario = calloc(1, sizeof *scenario);
    payload = payload_open(3, 1 << 20, &e);
    buf = aligned_alloc(4096, IO);
    return scenario && payload && buf ? 0 : -1;
}

static int group_teardown(void **state) {
    (void)state;
    free(scenario);
    free(buf);
    payload_close(payload);
    return 0;
}

/* A thread that maps memory meanwhile, such as a resized screen, waits for one piece and not for the tier. */
static void the_arena_is_populated_and_released_in_small_pieces(void **state) {
    (void)state;
    struct tier_setup setup = setup_of(UINT64_C(300) << 20, PAGE);
    largest_populated = largest_released = populated = 0;
    struct tier *t = open_tier(&setup);
    assert_true(populated >= UINT64_C(300) << 20);
    assert_in_range(largest_populated, 4096, 2 << 20);
    t->ops->close(t);
    assert_in_range(largest_released, 4096, 64 << 20);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_arena_is_populated_and_released_in_small_pieces),
        cmocka_unit_test(entries_come_back_as_they_went),
        cmocka_unit_test(a_reused_place_is_not_mistaken_for_the_one_before),
        cmocka_unit_test(a_chain_of_before_is_not_followed_again),
        cmocka_unit_test(rounding_to_pages_never_refuses_what_fits),
        cmocka_unit_test(a_full_queue_takes_no_more),
        cmocka_unit_test(preparation_reports_and_can_be_given_up),
        cmocka_unit_test(the_arena_is_described),
        cmocka_unit_test(an_arena_beyond_the_address_space_is_an_error),
        cmocka_unit_test(a_backend_that_is_not_there_is_named),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("tier_memory", tests, group_setup, group_teardown);
}
