/* Points in time as text. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/moment.h"

static const double no_moments[] = {NAN, INFINITY, -INFINITY, -1, 0, 253402300800.0, 1e300};

/* Values by `date -u -d @SECONDS` of coreutils. */
static void moments_are_written_for_people_and_programs(void **state) {
    char text[MOMENT_TEXT];
    (void)state;
    moment_utc_text(1763627400.25, text);
    assert_string_equal(text, "2025-11-20 08:30:00 UTC");
    setenv("TZ", "IST-5:30", 1);
    tzset();
    moment_local_text(1763627400.25, text);
    assert_string_equal(text, "2025-11-20 14:00");
    assert_true(moment_iso(1763627400.25, 0, text));
    assert_string_equal(text, "2025-11-20T08:30:00Z");
    assert_true(moment_iso(1763627400.25, 6, text));
    assert_string_equal(text, "2025-11-20T08:30:00.250000Z");
    assert_true(moment_iso(1709251199.9996, 3, text)); /* carries over the end of a leap day */
    assert_string_equal(text, "2024-03-01T00:00:00.000Z");
    moment_utc_text(253402300799.0, text);
    assert_string_equal(text, "9999-12-31 23:59:59 UTC");
    moment_utc_text(1, text);
    assert_string_equal(text, "1970-01-01 00:00:01 UTC");
}

static void what_is_no_moment_is_missing(void **state) {
    char text[MOMENT_TEXT];
    struct tm tm;
    (void)state;
    for (size_t i = 0; i < sizeof no_moments / sizeof *no_moments; i++) {
        assert_false(moment_utc(no_moments[i], &tm));
        moment_utc_text(no_moments[i], text);
        assert_string_equal(text, "--");
        moment_local_text(no_moments[i], text);
        assert_string_equal(text, "--");
        assert_false(moment_iso(no_moments[i], 3, text));
        assert_string_equal(text, "");
    }
    assert_false(moment_iso(253402300799.9999, 3, text)); /* would be the year 10000 */
    assert_string_equal(text, "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(moments_are_written_for_people_and_programs),
        cmocka_unit_test(what_is_no_moment_is_missing),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("moment", tests, NULL, NULL);
}
