/* Charts of curves: where lines and names stand. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "draw/format.h"
#include "study/sweep/chart.h"

/* A straight line on the logarithmic scale: 1, 10, 100 is even. */
static const double x[] = {1, 10, 100}, falling[] = {1, 0.5, 0}, flat[] = {0.5, 0.5, 0.5};

static void straight_lines_in_ascii(void **state) {
    (void)state;
    struct chart_curve curves[] = {{"falls", '*', falling}, {"stays", 'o', flat}};
    struct format_style style = {.ascii = true, .columns = 49}; /* 24 of them for the curves */
    struct buf out = {0};
    chart_put(curves, 2, x, 3, "1", "100", &style, &out);
    /* 12 rows for 24 columns: the first half of each row and the second; half of 11 is rounded up */
    assert_string_equal(buf_text(&out), " 100 % **                      \n"
                                        "         **                    \n"
                                        "           **                  \n"
                                        "  73 %       **                \n"
                                        "               **              \n"
                                        "                 **            \n"
                                        "  45 % oooooooooooo**oooooooooo stays (o)\n"
                                        "                     **        \n"
                                        "                       **      \n"
                                        "  18 %                   **    \n"
                                        "                           **  \n"
                                        "   0 %                       ** falls (*)\n"
                                        "       1                    100\n");
    buf_free(&out);
}

static void names_that_meet_make_room(void **state) {
    (void)state;
    struct chart_curve curves[] = {{"one", '*', flat}, {"two", 'o', flat}, {"three", '.', flat}};
    struct format_style style = {.ascii = true, .columns = 60};
    struct buf out = {0};
    chart_put(curves, 3, x, 3, "a", "b", &style, &out);
    for (size_t i = 0; i < 3; i++) {
        const char *at = strstr(buf_text(&out), curves[i].name);
        assert_non_null(at);
        assert_null(strstr(at + 1, curves[i].name));
    }
    buf_free(&out);
}

static void lines_fit_the_screen(void **state) {
    (void)state;
    struct chart_curve curve = {"lru", '*', falling};
    for (unsigned columns = 45; columns < 200; columns += 7)
        for (int ascii = 0; ascii < 2; ascii++) {
            struct format_style style = {.ascii = ascii, .columns = columns};
            struct buf out = {0};
            unsigned lines = 0;
            chart_put(&curve, 1, x, 3, "low", "high", &style, &out);
            char *text = strdup(buf_text(&out)), *save = NULL;
            for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save), lines++)
                assert_true(format_width(line) <= columns);
            assert_int_equal(lines, 13);
            for (const char *p = text; ascii && p < text + out.len; p++)
                assert_true((unsigned char)*p < 0x80);
            free(text);
            buf_free(&out);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(straight_lines_in_ascii),
        cmocka_unit_test(names_that_meet_make_room),
        cmocka_unit_test(lines_fit_the_screen),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("chart", tests, NULL, NULL);
}
