/* Workbooks: what is in them is there, and one that is cut short is found out. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "export/book.h"

static struct book book;

/* Two sheets, of five cells and of none. */
static void make(struct buf *out) {
    struct book_page p;
    struct err e = {0};
    assert_int_equal(book_open(&book, 1700000000, &e), 0);
    assert_int_equal(book_begin(&p, &book, "one", &e), 0);
    book_text(&p, BOOK_HEAD, "=1<2>");
    book_text(&p, BOOK_PLAIN, "");
    book_number(&p, BOOK_MILLI, 1.5);
    book_number(&p, BOOK_MILLI, (double)NAN);
    book_next_row(&p);
    book_count(&p, BOOK_COUNT, UINT64_MAX);
    book_flag(&p, BOOK_PLAIN, false);
    book_time(&p, 1e9);
    book_time(&p, (double)NAN);
    assert_int_equal(book_begin(&p, &book, "none", &e), 0);
    assert_int_equal(book_close(&book, out, &e), 0);
    assert_int_equal(book.sheets, 2);
    assert_int_equal(book.cells[0], 5);
    assert_int_equal(book.cells[1], 0);
}

static void added_behind_what_is_there(void **state) {
    (void)state;
    struct buf out = {0}, again = {0};
    buf_add(&out, "before");
    make(&out);
    make(&again);
    assert_memory_equal(out.data, "beforePK", 8);
    assert_int_equal(out.len, again.len + 6);
    assert_memory_equal(out.data + 6, again.data, again.len);
    buf_free(&out);
    buf_free(&again);
}

static void a_cell_too_few_or_a_part_cut_short(void **state) {
    (void)state;
    struct buf out = {0};
    make(&out);
    assert_true(book_whole(&book, out.data, out.len));
    book.cells[0]++;
    assert_false(book_whole(&book, out.data, out.len));
    book.cells[0]--;
    book.cells[1]++;
    assert_false(book_whole(&book, out.data, out.len));
    book.cells[1]--;
    for (size_t len = 0; len < out.len; len++) assert_false(book_whole(&book, out.data, len));
    /* the sizes and places that the directory has, one after the other */
    for (size_t at = out.len - 22; at > 0; at--) {
        if (memcmp(out.data + at, "PK\1\2", 4) != 0) continue;
        const size_t fields[] = {20, 42};
        for (size_t f = 0; f < 2; f++) {
            char *field = out.data + at + fields[f], kept = field[0], top = field[3];
            field[0] = (char)(kept - 9);
            assert_false(book_whole(&book, out.data, out.len));
            field[0] = kept;
            field[3] = '\x7f';
            assert_false(book_whole(&book, out.data, out.len));
            field[3] = top;
        }
    }
    assert_true(book_whole(&book, out.data, out.len));
    buf_free(&out);
}

static void styles_of_units(void **state) {
    (void)state;
    assert_int_equal(book_unit_style("ms", 1), BOOK_MILLI);
    assert_int_equal(book_unit_style("B", 1), BOOK_COUNT);
    assert_int_equal(book_unit_style("tok/s", 1), BOOK_TENTH);
    assert_int_equal(book_unit_style("", 3), BOOK_COUNT);
    assert_int_equal(book_unit_style("", 0.5), BOOK_RATIO);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(added_behind_what_is_there),
        cmocka_unit_test(a_cell_too_few_or_a_part_cut_short),
        cmocka_unit_test(styles_of_units),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("book", tests, NULL, NULL);
}
