#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#include "ui/panel/layout.h"
#include "ui/panel/panels.h"

enum { SWEEP_ROWS = 100, SWEEP_COLS = 250 };

static void assert_rect(struct rect r, int row, int col, int rows, int cols) {
    assert_int_equal(r.row, row);
    assert_int_equal(r.col, col);
    assert_int_equal(r.rows, rows);
    assert_int_equal(r.cols, cols);
}

static bool shown(struct rect r) {
    return r.rows > 0 && r.cols > 0;
}

static bool inside(struct rect r, struct rect body) {
    return r.row >= body.row && r.col >= body.col && r.row + r.rows <= body.row + body.rows &&
           r.col + r.cols <= body.col + body.cols;
}

static bool overlap(struct rect a, struct rect b) {
    return a.row < b.row + b.rows && b.row < a.row + a.rows && a.col < b.col + b.cols &&
           b.col < a.col + a.cols;
}

static void check_one(const char *name, const struct layout_section *s, size_t n, struct rect body,
                      const struct rect *at) {
    for (size_t i = 0; i < n; i++) {
        if (!shown(at[i])) {
            if (at[i].rows || at[i].cols)
                fail_msg("%s %s at %dx%d: half empty", name, s[i].name, body.cols, body.rows);
            continue;
        }
        if (!inside(at[i], body)) fail_msg("%s %s at %dx%d: outside", name, s[i].name, body.cols, body.rows);
        for (size_t j = 0; j < i; j++) {
            if (shown(at[j]) && overlap(at[i], at[j]))
                fail_msg("%s %s at %dx%d: on %s", name, s[i].name, body.cols, body.rows, s[j].name);
            /* Lines keep their order, and what shares a row has a column between. */
            if (shown(at[j]) && s[j].line < s[i].line && at[j].row + at[j].rows > at[i].row)
                fail_msg("%s %s at %dx%d: not below %s", name, s[i].name, body.cols, body.rows, s[j].name);
            if (shown(at[j]) && at[j].row == at[i].row && at[i].col <= at[j].col + at[j].cols)
                fail_msg("%s %s at %dx%d: touches %s", name, s[i].name, body.cols, body.rows, s[j].name);
        }
    }
}

/* All sizes: inside, no overlap, and more room takes nothing away. */
static void sweep(const char *name, const struct layout_section *s, size_t n) {
    static struct rect above[SWEEP_COLS + 1][LAYOUT_SECTIONS];
    struct rect left[LAYOUT_SECTIONS], at[LAYOUT_SECTIONS];

    assert_in_range(n, 1, LAYOUT_SECTIONS);
    memset(above, 0, sizeof above);
    for (int rows = 1; rows <= SWEEP_ROWS; rows++) {
        memset(left, 0, sizeof left);
        for (int cols = 1; cols <= SWEEP_COLS; cols++) {
            struct rect body = {3, 2, rows, cols};

            layout_sections(s, n, body, at);
            check_one(name, s, n, body, at);
            for (size_t i = 0; i < n; i++) {
                if (at[i].rows < above[cols][i].rows)
                    fail_msg("%s %s at %dx%d: a row more made it lower", name, s[i].name, cols, rows);
                if (shown(left[i]) && !shown(at[i]))
                    fail_msg("%s %s at %dx%d: a column more took it away", name, s[i].name, cols, rows);
            }
            memcpy(above[cols], at, sizeof at);
            memcpy(left, at, sizeof at);
        }
    }
    for (size_t i = 0; i < n; i++)
        if (!shown(at[i])) fail_msg("%s %s is nowhere even at the largest size", name, s[i].name);
}

static void test_sweep_made_up(void **state) {
    (void)state;
    static const struct layout_section one[] = {
        {.name = "list", .line = 0, .least_cols = 20, .rows = {1}, .urgency = {1}, .grow = 1}};
    /* Lines out of order, columns that hardly ever fit, steps out of turn, limits, no growth. */
    static const struct layout_section odd[] = {
        {.name = "a", .line = 5, .least_cols = 30, .rows = {2, 4, 9}, .urgency = {2, 4, 9}, .grow = 3},
        {.name = "b", .line = 0, .least_cols = 60, .rows = {1}, .urgency = {1}},
        {.name = "c",
         .line = 5,
         .least_cols = 200,
         .rows = {3, 0, 5},
         .urgency = {3, 0, 8},
         .grow = 1,
         .most_rows = 7},
        {.name = "d", .line = 2, .least_cols = 0, .rows = {4, 2, 6}, .urgency = {5, 6, 7}, .most_rows = 20},
        {.name = "e",
         .line = 2,
         .least_cols = 17,
         .rows = {1, 3},
         .urgency = {5, 5},
         .grow = 2,
         .most_rows = 11},
    };
    struct layout_section many[LAYOUT_SECTIONS];

    for (int i = 0; i < LAYOUT_SECTIONS; i++)
        many[i] = (struct layout_section){.name = "many",
                                          .line = i / 3,
                                          .least_cols = 10 + 7 * (i % 5),
                                          .rows = {1 + i % 3, 3 + i % 4, 6 + i % 2},
                                          .urgency = {1 + i, 20 + (5 * i) % 12, 40 + (7 * i) % 12},
                                          .grow = i % 3,
                                          .most_rows = i % 4 ? 0 : 9,
                                          .col_weight = i % 3};
    sweep("one", one, 1);
    sweep("odd", odd, sizeof odd / sizeof odd[0]);
    sweep("many", many, LAYOUT_SECTIONS);
}

static void test_sweep_views(void **state) {
    (void)state;
    for (int v = 0; v < PANELS; v++) sweep(panels[v]->name, panels[v]->sections, panels[v]->section_count);
}

/* The most important section of every view is there on the smallest screen. */
static void test_views_at_least_size(void **state) {
    (void)state;
    struct rect at[LAYOUT_SECTIONS];

    for (int v = 0; v < PANELS; v++) {
        const struct layout_section *s = panels[v]->sections;
        size_t first = 0;

        for (size_t i = 1; i < panels[v]->section_count; i++)
            if (s[i].urgency[0] < s[first].urgency[0]) first = i;
        layout_sections(s, panels[v]->section_count, layout_screen(LAYOUT_LEAST_ROWS, LAYOUT_LEAST_COLS).body,
                        at);
        if (!shown(at[first])) fail_msg("%s shows no %s at 40x10", panels[v]->name, s[first].name);
    }
}

/* Steps in the order of urgency: with 3 rows the head and the table's first two, with 4 still the same
 * (the note's turn comes first and needs 2), with 5 the note, with 8 the table's second step. */
static void test_steps(void **state) {
    (void)state;
    static const struct layout_section s[] = {
        {.name = "head", .line = 0, .rows = {1}, .urgency = {1}},
        {.name = "table", .line = 1, .rows = {2, 5, 6, 7}, .urgency = {2, 4, 5, 6}},
        {.name = "note", .line = 2, .rows = {2}, .urgency = {3}},
    };
    static const int want[][4] = {{0, 0, 0, 0}, {1, 1, 0, 0}, {2, 1, 0, 0}, {3, 1, 2, 0}, {4, 1, 2, 0},
                                  {5, 1, 2, 2}, {7, 1, 2, 2}, {8, 1, 5, 2}, {9, 1, 6, 2}, {30, 1, 7, 2}};
    struct rect at[3];

    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
        layout_sections(s, 3, (struct rect){0, 0, want[i][0], 50}, at);
        for (int k = 0; k < 3; k++) assert_int_equal(at[k].rows, want[i][k + 1]);
    }
    assert_rect(at[0], 0, 0, 1, 50);
    assert_rect(at[1], 1, 0, 7, 50);
    assert_rect(at[2], 8, 0, 2, 50);
}

/* Remaining space is handed out only when all steps are taken, in proportion, and up to the limits. */
static void test_growth(void **state) {
    (void)state;
    static const struct layout_section s[] = {
        {.name = "fixed", .line = 0, .rows = {1}, .urgency = {1}},
        {.name = "twice", .line = 1, .rows = {2, 4}, .urgency = {2, 4}, .grow = 2},
        {.name = "once", .line = 2, .rows = {1}, .urgency = {3}, .grow = 1, .most_rows = 4},
    };
    struct rect at[3];

    layout_sections(s, 3, (struct rect){0, 0, 5, 40}, at); /* 4 taken, the next step needs 2 */
    assert_int_equal(at[1].rows, 2);
    assert_int_equal(at[2].rows, 1);
    layout_sections(s, 3, (struct rect){0, 0, 12, 40}, at); /* 6 taken, 6 left: 4 and 2 */
    assert_int_equal(at[0].rows, 1);
    assert_int_equal(at[1].rows, 8);
    assert_int_equal(at[2].rows, 3);
    layout_sections(s, 3, (struct rect){0, 0, 26, 40}, at); /* 20 left: 3 up to the limit, else 17 */
    assert_int_equal(at[1].rows, 21);
    assert_int_equal(at[2].rows, 4);
    assert_int_equal(at[2].row, 22);
}

/* Side by side where 20 + 1 + 30 columns are there, else one below the other. */
static void test_side_by_side(void **state) {
    (void)state;
    static const struct layout_section s[] = {
        {.name = "left", .line = 0, .least_cols = 20, .rows = {3}, .urgency = {1}, .col_weight = 1},
        {.name = "right", .line = 0, .least_cols = 30, .rows = {5}, .urgency = {2}, .col_weight = 3},
        {.name = "below", .line = 1, .rows = {1}, .urgency = {3}},
    };
    struct rect at[3], body = {1, 0, 20, 51};

    layout_sections(s, 3, body, at);
    assert_rect(at[0], 1, 0, 3, 20);
    assert_rect(at[1], 1, 21, 5, 30);
    assert_rect(at[2], 6, 0, 1, 51);
    body.cols = 50;
    layout_sections(s, 3, body, at);
    assert_rect(at[0], 1, 0, 3, 50);
    assert_rect(at[1], 4, 0, 5, 50);
    assert_rect(at[2], 9, 0, 1, 50);
    body.cols = 121; /* 120 to share, one to three */
    layout_sections(s, 3, body, at);
    assert_rect(at[0], 1, 0, 3, 30);
    assert_rect(at[1], 1, 31, 5, 90);
    body.cols = 61; /* a quarter of 60 is less than the left one's least */
    layout_sections(s, 3, body, at);
    assert_rect(at[0], 1, 0, 3, 20);
    assert_rect(at[1], 1, 21, 5, 40);
    body.rows = 4; /* the right one has no room: the left one has the line for itself */
    layout_sections(s, 3, body, at);
    assert_rect(at[0], 1, 0, 3, 61);
    assert_false(shown(at[1]));
    assert_false(shown(at[2]));
}

/* Beside a higher one, a section that grows takes the height of the line; others stay as they are. */
static void test_line_height(void **state) {
    (void)state;
    static const struct layout_section s[] = {
        {.name = "table", .line = 0, .least_cols = 10, .rows = {6}, .urgency = {1}},
        {.name = "graph", .line = 0, .least_cols = 10, .rows = {3}, .urgency = {2}, .grow = 1},
        {.name = "small",
         .line = 0,
         .least_cols = 10,
         .rows = {3},
         .urgency = {2},
         .grow = 1,
         .most_rows = 4},
    };
    struct rect at[3];

    layout_sections(s, 3, (struct rect){0, 0, 6, 62}, at);
    assert_rect(at[0], 0, 0, 6, 20);
    assert_rect(at[1], 0, 21, 6, 20);
    assert_rect(at[2], 0, 42, 4, 20);
    layout_sections(s, 3, (struct rect){0, 0, 9, 62}, at);
    assert_int_equal(at[0].rows, 6);
    assert_int_equal(at[1].rows, 9);
    assert_int_equal(at[2].rows, 4);
}

static void test_no_room(void **state) {
    (void)state;
    static const struct layout_section s[] = {{.name = "a", .rows = {1}, .urgency = {1}, .grow = 1}};
    static const struct rect bodies[] = {{0, 0, 0, 80}, {0, 0, 24, 0}, {5, 5, -1, -1}};
    struct rect at;

    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        at = (struct rect){9, 9, 9, 9};
        layout_sections(s, 1, bodies[i], &at);
        assert_int_equal(at.rows, 0);
        assert_int_equal(at.cols, 0);
    }
}

static void test_screen(void **state) {
    (void)state;
    struct layout_screen l = layout_screen(24, 80);

    assert_false(l.too_small);
    assert_rect(l.header, 0, 0, 1, 80);
    assert_rect(l.body, 1, 0, 22, 80);
    assert_rect(l.footer, 23, 0, 1, 80);
    assert_false(layout_screen(10, 40).too_small);
    for (int i = 0; i < 4; i++) {
        static const int sizes[][2] = {{9, 200}, {200, 39}, {1, 1}, {9, 39}};

        l = layout_screen(sizes[i][0], sizes[i][1]);
        assert_true(l.too_small);
        assert_false(shown(l.header));
        assert_false(shown(l.footer));
        assert_true(shown(l.body));
        assert_true(inside(l.body, (struct rect){0, 0, sizes[i][0], sizes[i][1]}));
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_steps),
    cmocka_unit_test(test_growth),
    cmocka_unit_test(test_side_by_side),
    cmocka_unit_test(test_line_height),
    cmocka_unit_test(test_no_room),
    cmocka_unit_test(test_screen),
    cmocka_unit_test(test_sweep_made_up),
    cmocka_unit_test(test_sweep_views),
    cmocka_unit_test(test_views_at_least_size),
};

int main(void) {
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("layout", tests, NULL, NULL);
}
