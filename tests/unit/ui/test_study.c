/* The screen of a study: against pictures in tests/golden/study, over a sweep of sizes, and every key of its
 * help.
 *
 * KVF_UPDATE_GOLDEN=1 make check TESTS=tests/unit/ui/test_study
 * writes the pictures anew; look at the difference (git diff) before they are kept. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <fcntl.h>
#include <locale.h>
#include <math.h>
#include <unistd.h>

#include "tests/unit/golden_fixture.h"
#include "ui/study.h"

enum { POINTS = 12 };

static void measure(struct board_measure *m, const char *name, const char *title, const char *unit) {
    snprintf(m->name, sizeof m->name, "%s", name);
    snprintf(m->title, sizeof m->title, "%s", title);
    snprintf(m->unit, sizeof m->unit, "%s", unit);
}

/* Two curves over the users: one rises and one falls off; the seventh point failed, two run. */
static struct board *sweep_board(void) {
    struct board *b = board_new();
    struct board_head h = {.kind = "sweep", .name = "room for more", .point = "point", .ranked = true};
    measure(&h.measure[0], "throughput_tok_s", "tokens/s", "tok/s");
    measure(&h.measure[1], "e2e_p95_ms", "end-to-end P95", "ms");
    measure(&h.measure[2], "hit_ratio", "hit ratio", "");
    h.measures = 3;
    h.expected = POINTS;
    h.lines = 2;
    snprintf(h.axis, sizeof h.axis, "users");
    snprintf(h.line[0], BOARD_TEXT, "cpu 4 GiB");
    snprintf(h.line[1], BOARD_TEXT, "cpu 16 GiB");
    board_head(b, &h);
    for (size_t i = 0; i < POINTS; i++) {
        char label[64];
        double users = 5 * exp2((double)(i / 2));
        snprintf(label, sizeof label, "users %.0f, cpu %s", users, i % 2 ? "16 GiB" : "4 GiB");
        struct board_row r = board_row_new(label);
        r.x = users;
        r.line = i % 2;
        r.state = i < 6 || i == 7 ? OUTCOME_DONE
                  : i == 6        ? OUTCOME_FAILED
                  : i < 10        ? OUTCOME_RUNS
                                  : OUTCOME_WAITS;
        r.share = i == 8 ? 0.6 : 0.25;
        if (r.state == OUTCOME_DONE) {
            r.run_id = 20 + (int64_t)i;
            r.value[0] = i % 2 ? 400 * log2(users) : 2400 - users * 30;
            r.value[1] = 12 * users;
            r.value[2] = i == 3 ? NAN : 1 / (1 + users / 100);
        }
        if (r.state == OUTCOME_FAILED) snprintf(r.note, sizeof r.note, "the disk is full");
        board_row(b, i, &r);
    }
    return b;
}

/* Tests of a suite have no order among themselves, and no axis. */
static struct board *suite_board(void) {
    static const char *const tests[] = {"gpu-only", "cpu-only", "three-tier", "qos"};
    struct board *b = board_new();
    struct board_head h = {.kind = "suite", .name = "suite", .point = "test", .measures = 2, .expected = 4};
    measure(&h.measure[0], "throughput_tok_s", "tokens/s", "tok/s");
    measure(&h.measure[1], "e2e_p95_ms", "end-to-end P95", "ms");
    board_head(b, &h);
    for (size_t i = 0; i < 4; i++) {
        struct board_row r = board_row_new(tests[i]);
        r.weight = 60;
        r.state = i == 0 || i == 3 ? OUTCOME_DONE : i == 1 ? OUTCOME_STOPPED : OUTCOME_RUNS;
        r.share = 0;
        if (i == 2) snprintf(r.note, sizeof r.note, "preparing the nvme tier, 40 %%");
        if (i == 0) r.value[0] = 123456, r.value[1] = 0.75;
        if (i == 3) r.value[0] = 61728, r.value[1] = 3;
        board_row(b, i, &r);
    }
    board_end(b, RUN_INTERRUPTED, "stopped with 2 tests not done");
    return b;
}

static void begin(struct study *s, struct board *b, bool ascii, enum scheme scheme) {
    study_init(s, b, NULL, (struct style){.ascii = ascii, .scheme = scheme});
    assert_true(study_feed(s));
    s->view.gone_s = 83;
}

static int compare(struct board *b, const char *what, int rows, int cols, bool ascii, bool help) {
    struct study s;
    struct canvas c;
    struct buf text = {0};
    char name[80];
    begin(&s, b, ascii, ascii ? SCHEME_MONO : SCHEME_DARK);
    s.help = help;
    canvas_init(&c, rows, cols, s.style);
    study_draw(&s, &c);
    canvas_text(&c, &text);
    snprintf(name, sizeof name, "%s-%dx%d%s.txt", what, rows, cols, ascii ? "-ascii" : "");
    int wrong = golden_compare("study", name, text.data);
    buf_free(&text);
    canvas_free(&c);
    study_free(&s);
    return wrong;
}

static void test_goldens(void **state) {
    (void)state;
    static const int sizes[][2] = {{24, 80}, {10, 40}, {30, 100}, {60, 200}, {9, 40}};
    struct board *sweep = sweep_board(), *suite = suite_board(), *none = board_new();
    int wrong = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        wrong += compare(sweep, "sweep", sizes[i][0], sizes[i][1], false, false);
        wrong += compare(suite, "suite", sizes[i][0], sizes[i][1], false, false);
    }
    wrong += compare(sweep, "sweep", 24, 80, true, false);
    wrong += compare(sweep, "help", 24, 80, false, true);
    wrong += compare(none, "empty", 24, 80, false, false);
    board_free(sweep);
    board_free(suite);
    board_free(none);
    golden_judge(wrong, "tests/unit/ui/test_study");
}

/* Nothing is drawn outside, whatever the size; the state is in the first row of all that have room. */
static void test_every_size(void **state) {
    (void)state;
    struct board *b = sweep_board();
    struct study s;
    struct canvas c;
    begin(&s, b, false, SCHEME_DARK);
    canvas_init(&c, 1, 1, s.style);
    for (int rows = 1; rows < 64; rows++)
        for (int cols = 1; cols < 220; cols += 3) {
            struct buf text = {0};
            canvas_resize(&c, rows, cols);
            study_draw(&s, &c);
            canvas_text(&c, &text);
            if (rows >= LAYOUT_LEAST_ROWS && cols >= LAYOUT_LEAST_COLS)
                assert_non_null(strstr(text.data, "RUNNING"));
            buf_free(&text);
        }
    canvas_free(&c);
    study_free(&s);
    board_free(b);
}

/* ---- keys ---- */

struct effect {
    size_t selected;
    bool follows, help, asking;
    unsigned measure, files;
    enum scheme scheme;
    enum screen_wish wish;
};

static struct effect effect_of(struct study *s, enum screen_wish wish) {
    return (struct effect){.selected = s->selected,
                           .follows = s->follows,
                           .help = s->help,
                           .asking = s->asking,
                           .measure = s->measure,
                           .files = golden_files_here(),
                           .scheme = s->style.scheme,
                           .wish = wish};
}

static bool same(struct effect a, struct effect b) {
    return a.selected == b.selected && a.follows == b.follows && a.help == b.help && a.asking == b.asking &&
           a.measure == b.measure && a.files == b.files && a.scheme == b.scheme && a.wish == b.wish;
}

static void test_every_key_of_the_help_has_an_effect(void **state) {
    (void)state;
    char folder[] = "/tmp/kvfall-test-XXXXXX", command[80];
    struct board *b = sweep_board();
    struct canvas c;
    int here = open(".", O_RDONLY | O_DIRECTORY);
    assert_true(here >= 0 && mkdtemp(folder) && chdir(folder) == 0); /* pictures are saved there */
    canvas_init(&c, 24, 80, (struct style){.ascii = false});
    for (size_t i = 0; i < study_key_count; i++)
        for (size_t k = 0; k < keyboard_count; k++) {
            struct study s;
            if (keyboard[k].action != study_keys[i].action) continue;
            begin(&s, b, false, SCHEME_DARK);
            s.follows = study_keys[i].action != ACTION_LAST;
            struct effect before = effect_of(&s, WISH_NOTHING);
            struct effect after = effect_of(&s, study_key(&s, &c, keyboard[k].code, 0, 0));
            if (same(before, after)) fail_msg("%s does nothing", keyboard[k].name);
            study_free(&s);
        }
    canvas_free(&c);
    board_free(b);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    assert_true(fchdir(here) == 0 && close(here) == 0 && system(command) == 0);
}

static void test_q_asks_and_tells_board_and_queue(void **state) {
    (void)state;
    struct board *b = sweep_board();
    struct command_queue *q = command_queue_new();
    struct command command;
    struct study s;
    struct canvas c;
    canvas_init(&c, 24, 80, (struct style){.ascii = false});
    study_init(&s, b, q, c.style);
    study_feed(&s);
    assert_int_equal(study_key(&s, &c, 'q', 0, 0), WISH_NOTHING);
    assert_int_equal(study_key(&s, &c, 'n', 0, 0), WISH_NOTHING);
    assert_false(board_stop_asked(b) || command_take(q, &command));
    study_key(&s, &c, 'q', 0, 0);
    study_key(&s, &c, 'y', 0, 0);
    assert_true(board_stop_asked(b) && command_take(q, &command));
    assert_int_equal(command.kind, COMMAND_STOP);
    board_end(b, RUN_INTERRUPTED, "");
    study_feed(&s);
    assert_int_equal(study_key(&s, &c, 'q', 0, 0), WISH_LEAVE);
    study_free(&s);
    command_queue_free(q);
    canvas_free(&c);
    board_free(b);
}

/* The bar goes with the run until it is moved; a click selects, a second one opens. */
static void test_the_bar(void **state) {
    (void)state;
    struct board *b = sweep_board();
    struct study s;
    struct canvas c;
    canvas_init(&c, 30, 100, (struct style){.ascii = false});
    begin(&s, b, false, SCHEME_DARK);
    assert_int_equal(s.selected, 8);
    assert_int_equal(study_key(&s, &c, KEY_CODE_ENTER, 0, 0), WISH_OPEN);
    study_key(&s, &c, KEY_CODE_HOME, 0, 0);
    assert_int_equal(s.selected, 0);
    study_feed(&s);
    assert_int_equal(s.selected, 0);
    assert_int_equal(study_key(&s, &c, KEY_CODE_ENTER, 0, 0), WISH_NOTHING);
    assert_non_null(strstr(s.message, "kvfall watch 20"));
    study_key(&s, &c, KEY_CODE_END, 0, 0);
    study_feed(&s);
    assert_int_equal(s.selected, 8);
    study_draw(&s, &c);
    assert_int_equal(study_key(&s, &c, KEY_CODE_MOUSE, s.first_row + 9 - s.first, 20), WISH_NOTHING);
    assert_int_equal(s.selected, 9);
    assert_int_equal(study_key(&s, &c, KEY_CODE_MOUSE, s.first_row + 9 - s.first, 20), WISH_OPEN);
    study_free(&s);
    canvas_free(&c);
    board_free(b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_goldens),
        cmocka_unit_test(test_every_size),
        cmocka_unit_test(test_every_key_of_the_help_has_an_effect),
        cmocka_unit_test(test_q_asks_and_tells_board_and_queue),
        cmocka_unit_test(test_the_bar),
    };
    if (!setlocale(LC_ALL, "C.UTF-8")) setlocale(LC_ALL, "en_US.UTF-8");
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("study", tests, NULL, NULL);
}
