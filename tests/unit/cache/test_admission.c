#include "tests/unit/cache_fixture.h"

#include "cache/admission.h"

static void open_with(struct fixture *f, enum scenario_admission rule) {
    struct err e = {0};
    fixture_waterfall(f, 0, 300, 0);
    cache_close(f->c);
    f->config.admission = rule;
    f->config.admission_limit_bytes = 99;
    f->c = cache_open(&f->config, &e);
    assert_non_null(f->c);
}

static void always(void **state) {
    (void)state;
    struct fixture f;
    open_with(&f, KVF_ADMISSION_ALWAYS);
    put(&f, 'A', 300);
    expect_content(&f, "", "A", "");
    assert_int_equal(fixture_stats(&f).not_admitted, 0);
    fixture_close(&f);
}

/* The first write leaves no trace but the key; the second is let in, and when the entry has left it takes two
 * again. Who waits for room has been let in. */
static void second_hit(void **state) {
    (void)state;
    struct fixture f;
    struct cache_op *op;
    open_with(&f, KVF_ADMISSION_SECOND_HIT);
    assert_int_equal(write_start(&f, 'A', 100, &op), CACHE_NOT_ADMITTED);
    assert_null(op);
    expect_nothing(&f);
    assert_int_equal(cache_peek(f.c, key_of('A')), CACHE_ABSENT);
    assert_int_equal(write_start(&f, 'B', 300, &op), CACHE_NOT_ADMITTED);
    put(&f, 'A', 100);
    expect_content(&f, "", "A", "");
    put(&f, 'B', 300);
    expect_content(&f, "", "B", "");
    assert_int_equal(write_start(&f, 'A', 100, &op), CACHE_NOT_ADMITTED);
    assert_int_equal(write_start(&f, 'B', 300, &op), CACHE_IS_RESIDENT);
    put(&f, 'A', 100);
    expect_content(&f, "", "A", "");
    struct cache_stats s = fixture_stats(&f);
    assert_int_equal(s.not_admitted, 3);
    assert_int_equal(s.refused, 0);
    fixture_close(&f);
}

static void size_limit(void **state) {
    (void)state;
    struct fixture f;
    struct cache_op *op;
    open_with(&f, KVF_ADMISSION_SIZE_LIMIT);
    put(&f, 'A', 99);
    assert_int_equal(write_start(&f, 'B', 100, &op), CACHE_NOT_ADMITTED);
    assert_int_equal(write_start(&f, 'B', 100, &op), CACHE_NOT_ADMITTED);
    expect_content(&f, "", "A", "");
    assert_int_equal(fixture_stats(&f).not_admitted, 2);
    assert_int_equal(write_start(&f, 'C', 301, &op), CACHE_TOO_LARGE);
    assert_int_equal(fixture_stats(&f).refused, 1);
    fixture_close(&f);
}

static void preparation_is_let_in(void **state) {
    (void)state;
    struct fixture f;
    struct cache_op *op;
    struct cache_access access = {.cause = KVF_CAUSE_PRECONDITION, .let_in = true};
    open_with(&f, KVF_ADMISSION_SECOND_HIT);
    assert_int_equal(cache_write(f.c, key_of('A'), 100, &access, 0, NULL, &op), CACHE_PLANNED);
    settle(&f);
    expect_content(&f, "", "A", "");
    fixture_close(&f);
}

/* The memory is a queue of so many keys: the oldest is forgotten. */
static void memory_is_bounded(void **state) {
    (void)state;
    struct admission a;
    enum { KEYS = 5000 };
    admission_open(&a, KVF_ADMISSION_SECOND_HIT, 0, KEYS);
    for (uint64_t k = 0; k < KEYS + 1; k++)
        assert_false(admission_ask(&a, cache_key_make(CACHE_KEY_TURN, k, 0), 1));
    assert_true(ghosts_check(&a.seen));
    assert_true(ghosts_memory(&a.seen) < 64 * KEYS);
    assert_true(admission_ask(&a, cache_key_make(CACHE_KEY_TURN, 1, 0), 1));
    assert_true(admission_ask(&a, cache_key_make(CACHE_KEY_TURN, KEYS, 0), 1));
    assert_false(admission_ask(&a, cache_key_make(CACHE_KEY_TURN, 0, 0), 1));
    assert_true(ghosts_check(&a.seen));
    admission_close(&a);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(always),
        cmocka_unit_test(second_hit),
        cmocka_unit_test(size_limit),
        cmocka_unit_test(preparation_is_let_in),
        cmocka_unit_test(memory_is_bounded),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("admission", tests, NULL, NULL);
}
