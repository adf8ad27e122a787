#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "workload/idmap.h"
#include "workload/names.h"

enum { KEYS = 3000, STEPS = 200000 };

/* Against a plain array: what is put in is found, what is removed is not, and nothing else is touched. */
static void removed_keys_are_gone_and_no_others(void **state) {
    (void)state;
    static uint64_t plain[KEYS];
    struct idmap m = {0};
    uint64_t random = 1, there = 0;
    for (unsigned i = 1; i <= STEPS; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        unsigned k = (unsigned)(random >> 33) % KEYS;
        assert_int_equal(idmap_get(&m, k), plain[k]);
        there += (i % 3 != 0 && plain[k] == 0) - (uint64_t)(i % 3 == 0 && plain[k] != 0);
        if (i % 3 == 0)
            idmap_remove(&m, k);
        else
            *idmap_at(&m, k) = i;
        plain[k] = i % 3 ? i : 0;
    }
    for (unsigned k = 0; k < KEYS; k++) assert_int_equal(idmap_get(&m, k), plain[k]);
    assert_int_equal(m.count, there);
    assert_true(there > 0 && m.slots <= 4 * KEYS);
    idmap_free(&m);
}

static void names_are_dense_and_known_for_ever(void **state) {
    (void)state;
    struct names n = {0};
    for (uint64_t turn = 0; turn < 2; turn++)
        for (uint64_t k = 0; k < 5000; k++) assert_int_equal(names_number(&n, k * 77), k);
    assert_int_equal(n.forgotten, 0);
    names_free(&n);
}

/* With 100 kept a name that comes again behind fewer others has its number, one behind 200 others a new one.
 */
static void bounded_names_know_the_last_ones(void **state) {
    (void)state;
    struct names n = {.most = 100};
    for (uint64_t k = 0; k < 1000; k++) {
        assert_int_equal(names_number(&n, k), k);
        if (k >= 49) assert_int_equal(names_number(&n, k - 49), k - 49);
        assert_true(n.now.count <= 100 && n.before.count <= 100);
    }
    names_free(&n);
    n.most = 100;
    for (uint64_t k = 0; k < 300; k++) names_number(&n, k);
    assert_int_equal(n.forgotten, 200);
    assert_int_equal(names_number(&n, 0), 300);
    assert_int_equal(names_number(&n, 299), 299);
    names_free(&n);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(removed_keys_are_gone_and_no_others),
                                       cmocka_unit_test(names_are_dense_and_known_for_ever),
                                       cmocka_unit_test(bounded_names_know_the_last_ones)};
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("idmap", tests, NULL, NULL);
}
