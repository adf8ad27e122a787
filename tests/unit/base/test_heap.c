#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>

#include "base/heap.h"

static uint64_t next_number(uint64_t *state) { /* xorshift64: any numbers will do */
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static int item_compare(const void *left, const void *right) {
    const struct heap_item *a = left, *b = right;
    if (a->key != b->key) return a->key < b->key ? -1 : 1;
    return a->tie < b->tie ? -1 : a->tie > b->tie;
}

static void expect_pop(struct heap *h, uint64_t key, uint64_t tie) {
    struct heap_item got;
    assert_true(heap_pop(h, &got));
    assert_int_equal(got.key, key);
    assert_int_equal(got.tie, tie);
}

static void an_empty_heap_has_no_minimum(void **state) {
    (void)state;
    struct heap h = {0};
    struct heap_item got = {.key = 7};
    assert_false(heap_pop(&h, &got));
    assert_int_equal(got.key, 7);
    assert_true(heap_min_key(&h) == UINT64_MAX);
    heap_free(&h);
}

static void items_come_out_by_key_then_by_tie(void **state) {
    (void)state;
    struct heap h = {0};
    heap_push(&h, 5, 1, NULL);
    heap_push(&h, 3, 9, NULL);
    heap_push(&h, 3, 2, NULL);
    heap_push(&h, 8, 0, NULL);
    heap_push(&h, 3, 4, NULL);
    assert_int_equal(heap_min_key(&h), 3);
    expect_pop(&h, 3, 2);
    expect_pop(&h, 3, 4);
    expect_pop(&h, 3, 9);
    assert_int_equal(heap_min_key(&h), 5);
    expect_pop(&h, 5, 1);
    expect_pop(&h, 8, 0);
    assert_true(heap_min_key(&h) == UINT64_MAX);
    heap_free(&h);
}

static void keys_of_all_64_bits_are_told_apart(void **state) {
    (void)state;
    struct heap h = {0};
    heap_push(&h, UINT64_MAX, UINT64_MAX, NULL);
    heap_push(&h, UINT64_MAX, 0, NULL);
    heap_push(&h, UINT64_C(1) << 63, 0, NULL);
    heap_push(&h, 0, UINT64_MAX, NULL);
    expect_pop(&h, 0, UINT64_MAX);
    expect_pop(&h, UINT64_C(1) << 63, 0);
    expect_pop(&h, UINT64_MAX, 0);
    expect_pop(&h, UINT64_MAX, UINT64_MAX);
    heap_free(&h);
}

static void an_item_keeps_its_pointer(void **state) {
    (void)state;
    struct heap h = {0};
    struct heap_item got;
    int a, b;
    heap_push(&h, 2, 0, &a);
    heap_push(&h, 1, 0, &b);
    heap_push(&h, 3, 0, NULL);
    assert_true(heap_pop(&h, &got) && got.item == &b);
    assert_true(heap_pop(&h, &got) && got.item == &a);
    assert_true(heap_pop(&h, &got) && got.item == NULL);
    heap_free(&h);
}

/* Against a sorted array: many more items than the heap starts with, few keys so that ties count. */
static void a_thousand_items_come_out_sorted(void **state) {
    (void)state;
    enum { N = 1000 };
    static struct heap_item want[N];
    struct heap h = {0};
    uint64_t seed = 99;
    for (uint64_t i = 0; i < N; i++) {
        want[i] = (struct heap_item){next_number(&seed) % 50, next_number(&seed), NULL};
        heap_push(&h, want[i].key, want[i].tie, NULL);
    }
    assert_int_equal(h.count, N);
    qsort(want, N, sizeof want[0], item_compare);
    for (int i = 0; i < N; i++) {
        assert_int_equal(heap_min_key(&h), want[i].key);
        expect_pop(&h, want[i].key, want[i].tie);
    }
    assert_int_equal(h.count, 0);
    heap_free(&h);
}

/* Pushes and pops in turn, against a scan for the smallest. */
static void pushes_and_pops_mix(void **state) {
    (void)state;
    enum { STEPS = 4000 };
    static struct heap_item in[STEPS];
    size_t held = 0;
    struct heap h = {0};
    uint64_t seed = 7;
    for (uint64_t step = 0; step < STEPS; step++) {
        if (held == 0 || next_number(&seed) % 5 < 3) {
            in[held] = (struct heap_item){next_number(&seed) % 97, step, NULL};
            heap_push(&h, in[held].key, in[held].tie, NULL);
            held++;
            continue;
        }
        size_t least = 0;
        for (size_t i = 1; i < held; i++)
            if (item_compare(&in[i], &in[least]) < 0) least = i;
        expect_pop(&h, in[least].key, in[least].tie);
        in[least] = in[--held];
    }
    assert_int_equal(h.count, held);
    heap_free(&h);
}

static void a_freed_heap_is_empty_and_usable(void **state) {
    (void)state;
    struct heap h = {0};
    heap_push(&h, 1, 1, NULL);
    heap_free(&h);
    assert_true(heap_min_key(&h) == UINT64_MAX);
    heap_push(&h, 4, 4, NULL);
    expect_pop(&h, 4, 4);
    heap_free(&h);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_heap_has_no_minimum),
        cmocka_unit_test(items_come_out_by_key_then_by_tie),
        cmocka_unit_test(keys_of_all_64_bits_are_told_apart),
        cmocka_unit_test(an_item_keeps_its_pointer),
        cmocka_unit_test(a_thousand_items_come_out_sorted),
        cmocka_unit_test(pushes_and_pops_mix),
        cmocka_unit_test(a_freed_heap_is_empty_and_usable),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("heap", tests, NULL, NULL);
}
