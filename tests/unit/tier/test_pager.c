#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "tier/pager.h"

enum { PAGE = 4096 };

/* Walks a chain in steps of `step` bytes, claiming its pages for `owner` in a plain array: a page that
 * has an owner already is a double allocation. Returns the bytes seen and the number of runs. */
static uint64_t claim(const struct pager *p, uint64_t first, uint64_t step, uint32_t *owner_of,
                      uint64_t pages, uint32_t owner, unsigned *runs) {
    struct pager_cursor c;
    pager_seek(p, first, 0, &c);
    uint64_t seen = 0, at, len, behind = UINT64_MAX;
    *runs = 0;
    while ((len = pager_next(p, &c, step, &at)) > 0) {
        if (at != behind) ++*runs;
        behind = at + len;
        for (uint64_t b = at; b < at + len; b += PAGE) {
            assert_true(b / PAGE < pages);
            if (b % PAGE != 0) continue;
            assert_int_equal(owner_of[b / PAGE], 0);
            owner_of[b / PAGE] = owner;
        }
        seen += len;
    }
    return seen;
}

static void a_fresh_arena_gives_single_runs(void **state) {
    (void)state;
    struct pager *p = pager_new(1000, PAGE);
    uint32_t owner[1000] = {0};
    unsigned runs;
    uint64_t a = pager_alloc(p, 100 * PAGE), b = pager_alloc(p, 1), c = pager_alloc(p, 65 * PAGE + 1);
    assert_true(claim(p, a, 3 * PAGE, owner, 1000, 1, &runs) == 100 * PAGE && runs == 1);
    assert_true(claim(p, b, PAGE, owner, 1000, 2, &runs) == PAGE && runs == 1);
    assert_true(claim(p, c, UINT64_MAX, owner, 1000, 3, &runs) == 66 * PAGE && runs == 1);
    assert_true(pager_free_pages(p) == 1000 - 167);
    pager_free(p);
}

static void free_pages_hold_as_many_pages_wherever_they_are(void **state) {
    (void)state;
    enum { PAGES = 1000 };
    struct pager *p = pager_new(PAGES, PAGE);
    uint64_t place[PAGES];
    for (int i = 0; i < PAGES; i++) place[i] = pager_alloc(p, PAGE);
    assert_true(pager_free_pages(p) == 0);
    assert_true(pager_alloc(p, 1) == PAGER_NONE);
    for (int i = 0; i < PAGES; i += 2) pager_release(p, place[i]); /* no two neighbours */
    assert_true(pager_alloc(p, (PAGES / 2) * PAGE + 1) == PAGER_NONE);
    uint64_t big = pager_alloc(p, (PAGES / 2) * PAGE);
    assert_true(big != PAGER_NONE);
    uint32_t owner[PAGES] = {0};
    unsigned runs;

    for (int i = 1; i < PAGES; i += 2) {
        assert_true(claim(p, place[i], PAGE, owner, PAGES, 1, &runs) == PAGE);
    }
    assert_true(claim(p, big, 5 * PAGE, owner, PAGES, 2, &runs) == (PAGES / 2) * PAGE);
    assert_int_equal(runs, PAGES / 2);
    pager_release(p, big);
    assert_true(pager_free_pages(p) == PAGES / 2);
    pager_free(p);
}

static void neighbours_are_preferred_when_a_run_is_near(void **state) {
    (void)state;
    struct pager *p = pager_new(100, PAGE);
    uint64_t place[100];
    for (int i = 0; i < 100; i++) place[i] = pager_alloc(p, PAGE);
    pager_release(p, place[3]);
    pager_release(p, place[7]);
    for (int i = 40; i < 44; i++) pager_release(p, place[i]);
    uint32_t owner[100] = {0};
    unsigned runs;
    uint64_t a = pager_alloc(p, 4 * PAGE);
    assert_true(a == 40);
    assert_true(claim(p, a, PAGE, owner, 100, 1, &runs) == 4 * PAGE && runs == 1);
    pager_free(p);
}

static void random_use_never_gives_a_page_twice(void **state) {
    (void)state;
    enum { PAGES = 70000, ENTRIES = 300, STEPS = 3000 }; /* three levels of bitmaps */
    struct pager *p = pager_new(PAGES, PAGE);
    uint64_t place[ENTRIES], need[ENTRIES], used = 0;
    for (int i = 0; i < ENTRIES; i++) place[i] = PAGER_NONE;
    uint32_t *owner = calloc(PAGES, sizeof *owner);
    struct rng r;
    rng_init(&r, 4, KVF_RNG_TEST, 0);
    for (int step = 0; step < STEPS; step++) {
        int i = (int)rng_range(&r, 0, ENTRIES - 1);
        if (place[i] != PAGER_NONE) {
            pager_release(p, place[i]);
            used -= need[i];
            place[i] = PAGER_NONE;
        } else {
            uint64_t bytes = rng_range(&r, 1, 900 * PAGE);
            need[i] = (bytes + PAGE - 1) / PAGE;
            place[i] = pager_alloc(p, bytes);
            assert_true((place[i] == PAGER_NONE) == (need[i] > PAGES - used));
            if (place[i] != PAGER_NONE) used += need[i];
        }
        assert_true(pager_free_pages(p) == PAGES - used);
        if (step % 500 != 499) continue;
        memset(owner, 0, PAGES * sizeof *owner);
        unsigned runs;
        for (int k = 0; k < ENTRIES; k++)
            if (place[k] != PAGER_NONE)
                assert_true(claim(p, place[k], 7 * PAGE, owner, PAGES, (uint32_t)k + 1, &runs) ==
                            need[k] * PAGE);
    }
    free(owner);
    pager_free(p);
}

static void seeking_finds_what_walking_finds(void **state) {
    (void)state;
    struct pager *p = pager_new(64, PAGE);
    uint64_t place[64];
    for (int i = 0; i < 64; i++) place[i] = pager_alloc(p, PAGE);
    static const int freed[] = {1, 2, 3, 10, 20, 21, 22, 23, 24, 50};
    for (size_t i = 0; i < 10; i++) pager_release(p, place[freed[i]]);
    uint64_t e = pager_alloc(p, 10 * PAGE);
    for (uint64_t off = 0; off < 10 * PAGE; off += 1000) {
        struct pager_cursor walk, seek;
        pager_seek(p, e, 0, &walk);
        uint64_t at = 0, expected = 0, pos = 0;
        while (pos < off) pos += pager_next(p, &walk, off - pos < 100 ? off - pos : 100, &at);
        assert_true(pager_next(p, &walk, 1, &expected) == 1);
        pager_seek(p, e, off, &seek);
        assert_true(pager_next(p, &seek, 1, &at) == 1);
        assert_true(at == expected);
    }
    struct pager_cursor end;
    uint64_t at;
    pager_seek(p, e, 10 * PAGE, &end);
    assert_true(pager_next(p, &end, 1, &at) == 0);
    pager_free(p);
}

static void a_pager_without_pages_is_refused(void **state) {
    (void)state;
    assert_null(pager_new(0, PAGE));
    assert_null(pager_new(UINT64_C(1) << 40, PAGE));
    pager_free(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fresh_arena_gives_single_runs),
        cmocka_unit_test(free_pages_hold_as_many_pages_wherever_they_are),
        cmocka_unit_test(neighbours_are_preferred_when_a_run_is_near),
        cmocka_unit_test(random_use_never_gives_a_page_twice),
        cmocka_unit_test(seeking_finds_what_walking_finds),
        cmocka_unit_test(a_pager_without_pages_is_refused),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("pager", tests, NULL, NULL);
}
