/* Workbooks: what is in them is there, and one whose temporary files have no room is none. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "export/book.h"

static struct book book;

/* Two sheets, of five cells and of none; `more` bytes are said to be in them besides. */
static int make(struct buf *out, uint64_t more) {
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
    book.bytes += more;
    return book_close(&book, out, &e);
}

static void added_behind_what_is_there(void **state) {
    (void)state;
    struct buf out = {0}, again = {0};
    buf_add(&out, "before");
    assert_int_equal(make(&out, 0), 0);
    assert_int_equal(make(&again, 0), 0);
    assert_memory_equal(out.data, "beforePK", 8);
    assert_int_equal(out.len, again.len + 6);
    assert_memory_equal(out.data + 6, again.data, again.len);
    buf_free(&out);
    buf_free(&again);
}

static void no_room_for_temporary_files(void **state) {
    (void)state;
    struct buf out = {0};
    assert_int_equal(make(&out, UINT64_C(1) << 62), -KVF_ERR_NOSPACE);
    assert_int_equal(out.len, 0);
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
        cmocka_unit_test(no_room_for_temporary_files),
        cmocka_unit_test(styles_of_units),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("book", tests, NULL, NULL);
}
