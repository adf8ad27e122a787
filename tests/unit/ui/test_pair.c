/* Two runs on one screen: against pictures in tests/golden/study, and over a sweep of sizes.
 *
 * KVF_UPDATE_GOLDEN=1 make check TESTS=tests/unit/ui/test_pair writes the pictures anew; look at the
 * difference (git diff) before they are kept. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <locale.h>
#include <math.h>
#include <stdio.h>

#include "tests/unit/golden_fixture.h"
#include "ui/pair.h"

enum { ROWS = 30 };

static struct pair_row row[ROWS];

/* B does half as much again, and ends after half of the time. */
static void fill(struct pair *p) {
    static const struct pair_curve kinds[PAIR_CURVES] = {
        {.title = "Throughput, tok/s", "tok/s", number_count},
        {.title = "End-to-end P95", "ms", number_ms},
        {.title = "Hit ratio", "%", number_percent},
        {.title = "Requests waiting", "", number_count}};
    *p = (struct pair){.row = row, .rows = ROWS, .to_s = 120};
    snprintf(p->title[0], sizeof p->title[0], "run 7  before");
    snprintf(p->title[1], sizeof p->title[1], "run 8  after the change of the drive");
    snprintf(p->verdict[0], sizeof p->verdict[0], "nvme reads, 98 %% busy");
    snprintf(p->verdict[1], sizeof p->verdict[1], "all targets met");
    for (int i = 0; i < ROWS; i++) {
        snprintf(row[i].label, sizeof row[i].label, "measure %d", i + 1);
        snprintf(row[i].value[0], sizeof row[i].value[0], "%d.0 ms", 100 + i);
        snprintf(row[i].value[1], sizeof row[i].value[1], "%d.0 ms", 90 + i);
        snprintf(row[i].change, sizeof row[i].change, "%s", i % 3 ? "-9.1 %" : "-9.1 % (noise)");
        row[i].tone = i % 3 == 0 ? TONE_DIM : i % 3 == 1 ? TONE_GOOD : TONE_BAD;
    }
    for (int k = 0; k < PAIR_CURVES; k++) {
        p->curve[k] = kinds[k];
        for (int i = 0; i < PAIR_POINTS; i++) {
            p->curve[k].values[0][i] = 1000 + (float)i;
            p->curve[k].values[1][i] = i < PAIR_POINTS / 2 ? 1.5F * (1000 + (float)i) : NAN;
        }
    }
}

static int compare(int rows, int cols, bool ascii, int first) {
    struct pair p;
    struct canvas c;
    struct buf text = {0};
    char name[80];
    fill(&p);
    canvas_init(&c, rows, cols, (struct style){.ascii = ascii, .scheme = ascii ? SCHEME_MONO : SCHEME_DARK});
    pair_draw(&p, &c, &first);
    canvas_text(&c, &text);
    snprintf(name, sizeof name, "pair-%dx%d%s.txt", rows, cols, ascii ? "-ascii" : "");
    int wrong = golden_compare("study", name, text.data);
    buf_free(&text);
    canvas_free(&c);
    return wrong;
}

static void test_goldens(void **state) {
    (void)state;
    int wrong = compare(24, 80, false, 0) + compare(10, 40, false, 2) + compare(60, 200, false, 99);
    wrong += compare(30, 100, true, 0);
    golden_judge(wrong, "tests/unit/ui/test_pair");
}

/* The first row shown stays inside the table, and the way back is in sight wherever there is a row for it. */
static void test_every_size(void **state) {
    (void)state;
    struct pair p;
    struct canvas c;
    fill(&p);
    canvas_init(&c, 1, 1, (struct style){.scheme = SCHEME_DARK});
    for (int rows = 1; rows < 64; rows++)
        for (int cols = 1; cols < 220; cols += 3) {
            struct buf text = {0};
            int first = 1000;
            canvas_resize(&c, rows, cols);
            pair_draw(&p, &c, &first);
            assert_in_range(first, 0, ROWS - 1);
            canvas_text(&c, &text);
            if (cols > 34) assert_non_null(strstr(text.data, "q back to the list"));
            buf_free(&text);
        }
    canvas_free(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_goldens),
        cmocka_unit_test(test_every_size),
    };
    if (!setlocale(LC_ALL, "C.UTF-8")) setlocale(LC_ALL, "en_US.UTF-8");
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("pair", tests, NULL, NULL);
}
