#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <setjmp.h>
#include <cmocka.h>

#include "base/rng.h"
#include "engine/arrivals/timers.h"

struct pair {
    uint64_t at, number;
};

static int in_order(const void *left, const void *right) {
    const struct pair *a = left, *b = right;
    if (a->at != b->at) return a->at < b->at ? -1 : 1;
    return a->number < b->number ? -1 : a->number > b->number;
}

static void expect_next(struct timers *t, struct pair is) {
    uint64_t number, at;
    assert_int_equal(timers_next_ns(t), is.at);
    assert_true(timers_take(t, &number, &at));
    assert_int_equal(at, is.at);
    assert_int_equal(number, is.number);
}

static void empty(void **state) {
    (void)state;
    struct timers t = {0};
    uint64_t number, at;
    assert_true(timers_next_ns(&t) == UINT64_MAX);
    assert_false(timers_take(&t, &number, &at));
    timers_add(&t, UINT64_MAX, 3);
    timers_add(&t, 0, 4);
    timers_add(&t, UINT64_MAX - 1, 5);
    expect_next(&t, (struct pair){0, 4});
    expect_next(&t, (struct pair){UINT64_MAX - 1, 5});
    expect_next(&t, (struct pair){UINT64_MAX, 3});
    assert_false(timers_take(&t, &number, &at));
    timers_free(&t);
}

/* All added, then all taken, is sorting; times within `spread`. */
static void sorted(uint64_t first, uint64_t spread, size_t n, uint64_t seed) {
    struct timers t = {0};
    struct pair *all = calloc(n, sizeof *all);
    struct rng rng;
    uint64_t number, at;
    rng_init(&rng, seed, KVF_RNG_TEST, 0);
    for (size_t i = 0; i < n; i++) {
        all[i] = (struct pair){first + rng_u64(&rng) % spread, i};
        timers_add(&t, all[i].at, all[i].number);
    }
    qsort(all, n, sizeof *all, in_order);
    for (size_t i = 0; i < n; i++) expect_next(&t, all[i]);
    assert_false(timers_take(&t, &number, &at));
    timers_free(&t);
    free(all);
}

static void taken_as_sorted(void **state) {
    (void)state;
    sorted(0, 1, 5000, 1); /* all at the same time */
    sorted(7, 3, 5000, 2);
    sorted(0, 30000000000, 20000, 3);
    sorted(1ull << 63, 1ull << 40, 20000, 4);
    sorted(0, UINT64_MAX, 20000, 5);
    sorted((1ull << 32) - 1000, 2000, 5000, 6); /* across a bit that changes all below */
}

/* However they come, those that are far from being due do not stand in the heap; those of one time have to.
 */
static void the_heap_stays_small(void **state) {
    (void)state;
    enum { N = 50000, SMALL = 256 };
    struct timers random = {0}, backwards = {0}, together = {0};
    struct rng rng;
    rng_init(&rng, 11, KVF_RNG_TEST, 0);
    for (uint64_t i = 0; i < N; i++) {
        timers_add(&random, rng_u64(&rng) % 30000000000, i);
        timers_add(&backwards, 10 * (N - i), i);
        timers_add(&together, 77, N - i);
        assert_true(random.near.count <= SMALL && backwards.near.count <= SMALL);
    }
    timers_add(&together, 78, 0);
    timers_add(&together, 76, 5);
    expect_next(&together, (struct pair){76, 5});
    for (uint64_t i = 0; i < N; i++) {
        expect_next(&backwards, (struct pair){10 * (i + 1), N - 1 - i});
        expect_next(&together, (struct pair){77, i + 1});
    }
    expect_next(&together, (struct pair){78, 0});
    timers_free(&random);
    timers_free(&backwards);
    timers_free(&together);
}

/* As users do: each is due again some time after it was, now and then at the same time as another or before.
 * A heap that holds all of them says what comes next. */
static void goes_on(void **state) {
    (void)state;
    struct timers t = {0};
    struct heap all = {0};
    struct heap_item top = {0};
    struct rng rng;
    rng_init(&rng, 9, KVF_RNG_TEST, 0);
    for (uint64_t u = 0; u < 3000; u++) {
        uint64_t at = rng_u64(&rng) % 1000;
        timers_add(&t, at, u);
        heap_push(&all, at, u, NULL);
    }
    for (int i = 0; i < 60000; i++) {
        assert_true(heap_pop(&all, &top));
        expect_next(&t, (struct pair){top.key, top.tie});
        uint64_t pick = rng_u64(&rng) % 100, at = top.key + rng_u64(&rng) % (pick < 10 ? 3 : 100000);
        if (pick == 99) at = top.key / 2;
        if (i % 20000 == 19999) continue; /* and one leaves */
        timers_add(&t, at, top.tie);
        heap_push(&all, at, top.tie, NULL);
    }
    while (heap_pop(&all, &top)) expect_next(&t, (struct pair){top.key, top.tie});
    assert_true(timers_next_ns(&t) == UINT64_MAX);
    heap_free(&all);
    timers_free(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(empty),
        cmocka_unit_test(taken_as_sorted),
        cmocka_unit_test(the_heap_stays_small),
        cmocka_unit_test(goes_on),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("timers", tests, NULL, NULL);
}
