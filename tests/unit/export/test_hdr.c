/* Histograms as HdrHistogram's libraries read them. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "export/hdr.h"

static struct histogram histogram;

static void record(uint64_t value, unsigned times) {
    for (unsigned i = 0; i < times; i++) histogram_record(&histogram, value);
}

static char *hex(const struct buf *b) {
    char *text = mem_alloc(2 * b->len + 1);
    for (size_t i = 0; i < b->len; i++) snprintf(text + 2 * i, 3, "%02x", (unsigned char)b->data[i]);
    return text;
}

/* The output of encode() of the Python package hdrhistogram 0.10.8 for the same values in a histogram from 1
 * to 2^46 - 1 with two digits, decompressed. All lie in the lower half of our bucket. */
static void encoding_of_the_reference(void **state) {
    (void)state;
    struct buf out = {0};
    histogram_init(&histogram);
    record(0, 2);
    record(5, 1);
    record(127, 2);
    record(128, 3);
    record(1000, 100);
    record(1000000, 300);
    record(UINT64_C(7150000000000), 1);
    record((UINT64_C(1) << 46) - (UINT64_C(1) << 39), 1);
    hdr_encode(&histogram, &out);
    char *text = hex(&out);
    assert_string_equal(text,
                        "1c849313000000150000000000000002000000000000000100003fffffffffff3ff0000000000000"
                        "040702f1010406f105c801f113d804b52d02d90602");
    free(text);
    buf_free(&out);
}

/* A place of 4,096 ns begins at 999,424, and our bucket of 8,192 there as well. */
static void the_upper_half_is_counted_below_the_middle(void **state) {
    (void)state;
    struct buf low = {0}, high = {0};
    histogram_init(&histogram);
    record(999424, 7);
    hdr_encode(&histogram, &low);
    assert_int_equal(hdr_max(&histogram), 999424 + 4095);
    histogram_init(&histogram);
    record(999424 + 8191, 7);
    hdr_encode(&histogram, &high);
    assert_int_equal(hdr_max(&histogram), 999424 + 4095);
    assert_int_equal(low.len, high.len);
    assert_memory_equal(low.data, high.data, low.len);
    buf_free(&low);
    buf_free(&high);
}

/* A lone place without counts is a 0, more of them their number below 0; a count over seven bytes of seven
 * bits has its last eight in the ninth. */
static void gaps_and_large_counts(void **state) {
    (void)state;
    struct buf out = {0};
    histogram_init(&histogram);
    record(0, 1);
    record(2, 1);
    record(5, 1);
    atomic_store(&histogram.bucket[5], UINT64_C(1) << 62);
    hdr_encode(&histogram, &out);
    char *text = hex(&out);
    assert_string_equal(text + 80, "02" /* 1 */ "00" /* none at 1 */ "02"
                                   "03" /* none at 3 and 4 */
                                   "808080808080808080" /* 2^63 in zigzag */);
    free(text);
    buf_free(&out);
    histogram_init(&histogram);
    assert_int_equal(hdr_max(&histogram), 0);
}

/* The magic of the compressed form is what makes every log's payload begin with HISTF. */
static void packed_and_in_letters(void **state) {
    (void)state;
    struct hdr *h = hdr_new();
    struct buf first = {0}, again = {0};
    histogram_init(&histogram);
    record(1000, 5);
    hdr_add(h, &histogram, &first);
    record(70, 1);
    hdr_add(h, &histogram, &again);
    again.len = 0;
    histogram_init(&histogram);
    record(1000, 5);
    hdr_add(h, &histogram, &again);
    assert_memory_equal(first.data, "HISTFAAAA", 9);
    assert_string_equal(buf_text(&first), buf_text(&again));
    buf_free(&first);
    buf_free(&again);
    hdr_free(h);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(encoding_of_the_reference),
        cmocka_unit_test(the_upper_half_is_counted_below_the_middle),
        cmocka_unit_test(gaps_and_large_counts),
        cmocka_unit_test(packed_and_in_letters),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("hdr", tests, NULL, NULL);
}
