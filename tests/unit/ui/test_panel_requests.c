#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "ui/detail/details.h"
#include "ui/keyboard.h"
#include "ui/panel/panels.h"
#include "ui/panel/parts.h"

/* The view alone on a canvas of its own, with requests made for each case. The columns' numbers are
 * those of the heading, from the left. */
enum { USER, TURN, CLASS, CONTEXT, GENERATE, STEP, TIER, AGE, SERVICE, SORTS };
enum { HEADING = 1, FIRST = 2 }; /* rows on the screen, behind the one with the counts */

static struct {
    struct canvas canvas;
    struct run_record run;
    struct snapshot snap;
    struct frame frame;
    struct buf text;
} x;

static int set_up(void **state) {
    (void)state;
    memset(&x, 0, sizeof x);
    canvas_init(&x.canvas, 24, 100, (struct style){.ascii = true});
    x.snap.requests_known = true;
    x.snap.classes = 2;
    for (int t = 0; t < KVF_TIERS; t++) x.snap.tier_on[t] = true;
    snprintf(x.snap.class_name[0], sizeof x.snap.class_name[0], "vip");
    snprintf(x.snap.class_name[1], sizeof x.snap.class_name[1], "batch");
    x.frame = (struct frame){.run = &x.run, .snap = &x.snap, .live = true, .controls = true};
    x.frame.table = (struct frame_table){.sort = AGE, .descending = true};
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    canvas_free(&x.canvas);
    buf_free(&x.text);
    return 0;
}

static void request(uint64_t user, uint32_t klass, uint64_t context, double age_ms, const char *step,
                    int tier) {
    struct snapshot_request *q = &x.snap.request[x.snap.requests++];
    *q = (struct snapshot_request){.user = user,
                                   .turn = 1,
                                   .context_tokens = context,
                                   .generate_tokens = 10,
                                   .age_ms = age_ms,
                                   .service_ms = age_ms / 2,
                                   .klass = klass,
                                   .tier = tier};
    snprintf(q->step, sizeof q->step, "%s", step);
    x.snap.interval.in_service_now = x.snap.requests;
}

/* Four requests as a snapshot has them, oldest first. */
static void four(void) {
    request(30, 1, 500, 900, "generate", KVF_TIER_NVME);
    request(7, 0, 2000, 400, "reads", KVF_TIER_CPU);
    request(19, 1, 500, 300, "lookup", -1);
    request(2, 0, 100, 200, "decode", KVF_TIER_GPU);
}

static void draw(int rows, int cols) {
    struct rect at[LAYOUT_SECTIONS] = {0};
    canvas_resize(&x.canvas, rows, cols);
    layout_sections(panel_requests.sections, panel_requests.section_count, (struct rect){0, 0, rows, cols},
                    at);
    panel_requests.draw(&x.canvas, at, &x.frame);
}

/* A row of the screen, valid until the next call. */
static const char *row_text(int row) {
    static char line[300];
    int n = 0;
    for (int c = 0; c < x.canvas.cols; c++) line[n++] = (char)canvas_cell(&x.canvas, row, c)->ch;
    while (n > 0 && line[n - 1] == ' ') n--;
    line[n] = '\0';
    return line;
}

/* The user a row is about; -1: none. */
static long row_user(int row) {
    long user;
    const char *text = row_text(row);
    return sscanf(*text == '>' ? text + 1 : text, "%ld", &user) == 1 ? user : -1;
}

static int selected_row(void) {
    int found = -1;
    for (int row = FIRST; row < x.canvas.rows; row++) {
        if (row_text(row)[0] != '>') continue;
        assert_int_equal(found, -1);
        assert_int_equal(canvas_cell(&x.canvas, row, 0)->tone, TONE_SELECTED);
        assert_int_equal(canvas_cell(&x.canvas, row, x.canvas.cols - 1)->tone, TONE_SELECTED);
        found = row;
    }
    return found;
}

static void expect_users(int sort, bool descending, const long *users) {
    x.frame.table.sort = sort;
    x.frame.table.descending = descending;
    draw(24, 100);
    for (int i = 0; i < 4; i++) assert_int_equal(row_user(FIRST + i), users[i]);
    assert_int_equal(row_user(FIRST + 4), -1);
}

static void sorts_by_every_column(void **state) {
    (void)state;
    four();
    for (unsigned i = 0; i < 4; i++) {
        x.snap.request[i].turn = 9 - i;
        x.snap.request[i].generate_tokens = 100 + (i ^ 1);
    }
    x.snap.request[1].service_ms = 399;
    expect_users(USER, false, (const long[]){2, 7, 19, 30});
    expect_users(USER, true, (const long[]){30, 19, 7, 2});
    expect_users(TURN, false, (const long[]){2, 19, 7, 30});
    expect_users(CLASS, false, (const long[]){7, 2, 30, 19});
    expect_users(CONTEXT, false, (const long[]){2, 30, 19, 7});
    expect_users(GENERATE, false, (const long[]){7, 30, 2, 19});
    expect_users(STEP, false, (const long[]){19, 7, 2, 30}); /* the order in which they are taken */
    expect_users(TIER, false, (const long[]){19, 2, 7, 30}); /* nowhere yet, gpu, cpu, nvme */
    expect_users(AGE, false, (const long[]){2, 19, 7, 30});
    expect_users(AGE, true, (const long[]){30, 7, 19, 2});
    expect_users(SERVICE, true, (const long[]){30, 7, 19, 2});
    assert_int_equal(panel_requests.sort_columns, SORTS);
    assert_true(panel_requests.list);
}

static void equal_rows_keep_their_order(void **state) {
    (void)state;
    four();
    expect_users(CLASS, true, (const long[]){30, 19, 7, 2});
    expect_users(CONTEXT, true, (const long[]){7, 30, 19, 2});
}

static void a_missing_time_is_the_smallest(void **state) {
    (void)state;
    four();
    x.snap.request[1].age_ms = KVF_MISSING;
    expect_users(AGE, false, (const long[]){7, 2, 19, 30});
    draw(24, 100);
    assert_non_null(strstr(row_text(FIRST), "--"));
}

static void the_detail_has_every_step_and_where_entries_were_found(void **state) {
    (void)state;
    four();
    struct snapshot_request *q = &x.snap.request[0]; /* 450 ms waited, 450 ms in service, generates now */
    q->step_ms[2] = 90, q->step_ms[4] = 270, q->step_ms[7] = 90;
    q->found[KVF_TIER_CPU] = 1, q->found[KVF_TIER_NVME] = 3, q->not_found = 2;
    q->read_bytes[KVF_TIER_CPU] = 3 << 20, q->read_bytes[KVF_TIER_NVME] = 96 << 20,
    q->written_bytes = 8 << 20;
    q->asks =
        (struct snapshot_user){.done = 12, .failed = 1, .last_ms = 900, .mean_ms = 1500, .worst_ms = 4000};
    x.frame.detail = true;
    x.frame.table.sort = AGE;
    x.frame.table.descending = true;
    draw(24, 102);
    const char *bar = row_text(17);
    assert_int_equal(strspn(bar + 2, "-"), 50);
    assert_int_equal(strspn(bar + 52, "r"), 10);
    assert_int_equal(strspn(bar + 62, "p"), 30);
    assert_int_equal(strspn(bar + 92, "g"), 10);
    assert_non_null(strstr(row_text(18), "waited 450 ms  reads 90.0 ms  prefill 270 ms  generate 90.0 ms"));
    const char *from = row_text(20);
    assert_non_null(strstr(from, "cpu 1, "));
    assert_non_null(strstr(from, " 3; 2 found nowhere of the entries it looked up"));
    assert_non_null(strstr(row_text(21), "bytes 3.00 MiB from cpu, 96.0 MiB from nvme"));
    assert_non_null(strstr(row_text(21), "; 8.00 MiB made and written"));
    assert_non_null(strstr(
        row_text(23), "user  30: 1 in service, 12 done: last 900 ms, mean 1.50 s, worst 4.00 s, 1 failed"));
    memset(q->read_bytes, 0, sizeof q->read_bytes);
    q->written_bytes = q->asks.done = q->asks.failed = 0;
    memset(q->step_ms, 0, sizeof q->step_ms);
    memset(q->found, 0, sizeof q->found);
    q->not_found = 0;
    canvas_clear(&x.canvas);
    draw(24, 102);
    assert_non_null(strstr(row_text(18), "waited 450 ms  generate 0 ms"));
    assert_non_null(strstr(row_text(20), "nowhere yet: it has made no lookup"));
    assert_non_null(strstr(row_text(21), "bytes none read so far"));
    assert_non_null(strstr(row_text(23), "user  30: 1 in service, none ended yet"));
    q->user = SNAPSHOT_USERS_COUNTED;
    canvas_clear(&x.canvas);
    draw(24, 102);
    assert_non_null(strstr(row_text(23), "1 in service; what ended is not counted beyond a million users"));
    for (uint32_t i = 0; i < x.snap.requests; i++) snprintf(x.snap.request[i].routed_by, 12, "prefix");
    q->pod = 3, q->router = 1, q->expected_blocks = 12;
    canvas_clear(&x.canvas);
    draw(24, 102);
    assert_non_null(strstr(
        row_text(23), "pod   3, by router 1: it has most of its prefix; 12 of its blocks expected there"));
    for (uint32_t i = 0; i < x.snap.requests; i++) x.snap.request[i].routed_by[0] = '\0';
    x.frame.detail = false;
}

/* A row of a trace leads to a page that says that there is no user. */
static void a_trace_has_no_users(void **state) {
    (void)state;
    struct frame_thing to = {FRAME_NOTHING, 0};
    struct rect at[LAYOUT_SECTIONS] = {0};
    four();
    x.frame.leads_to = &to;
    draw(24, 100);
    assert_true(to.kind == FRAME_USER && to.number == 30);
    for (uint32_t i = 0; i < x.snap.requests; i++) x.snap.request[i].no_user = true;
    draw(24, 100);
    assert_true(to.kind == FRAME_USER && to.number == FRAME_NO_USER);
    x.frame.open = to;
    canvas_clear(&x.canvas);
    layout_sections(detail_user.sections, detail_user.section_count, (struct rect){0, 0, 24, 100}, at);
    detail_user.draw(&x.canvas, at, &x.frame);
    assert_non_null(strstr(row_text(0), "The trace names no users"));
}

static void heading_says_the_order_and_can_be_clicked(void **state) {
    (void)state;
    four();
    draw(24, 100);
    const char *age = strstr(row_text(HEADING), "agev");
    assert_non_null(age);
    int col = (int)(age - row_text(HEADING));
    assert_int_equal(canvas_hot_at(&x.canvas, HEADING, col), 'O');
    assert_int_equal(
        canvas_hot_at(&x.canvas, HEADING, (int)(strstr(row_text(HEADING), "user") - row_text(HEADING))),
        KEY_CODE_COLUMN);
    x.frame.table.descending = false;
    canvas_clear(&x.canvas);
    draw(24, 100);
    assert_non_null(strstr(row_text(HEADING), "age^"));
    assert_null(strstr(row_text(HEADING), "user^"));
}

static void filter_keeps_rows_that_contain_it(void **state) {
    (void)state;
    four();
    snprintf(x.frame.table.filter, sizeof x.frame.table.filter, "VIP");
    draw(24, 100);
    assert_int_equal(row_user(FIRST), 7);
    assert_int_equal(row_user(FIRST + 1), 2);
    assert_int_equal(row_user(FIRST + 2), -1);
    assert_non_null(strstr(row_text(0), "2 of 4"));
    assert_non_null(strstr(row_text(0), "VIP"));

    /* what has no room on the screen can be searched all the same */
    canvas_clear(&x.canvas);
    snprintf(x.frame.table.filter, sizeof x.frame.table.filter, "batch");
    draw(10, 40);
    assert_int_equal(row_user(FIRST), 30);
    assert_int_equal(row_user(FIRST + 1), 19);

    canvas_clear(&x.canvas);
    snprintf(x.frame.table.filter, sizeof x.frame.table.filter, "nobody");
    draw(24, 100);
    assert_int_equal(row_user(FIRST), -1);
    assert_int_equal(selected_row(), -1);
    assert_non_null(strstr(row_text(FIRST), "no request matches"));
}

static void none_in_service(void **state) {
    (void)state;
    draw(24, 100);
    assert_non_null(strstr(row_text(FIRST), "no request is in service"));
    assert_int_equal(selected_row(), -1);
}

static void not_known_in_the_database(void **state) {
    (void)state;
    four();
    x.snap.requests_known = false;
    x.frame.controls = false;
    draw(24, 100);
    for (int row = 0; row < 24; row++) assert_int_not_equal(row_user(row), 30);
    canvas_text(&x.canvas, &x.text);
    assert_non_null(strstr(buf_text(&x.text), "`kvfall watch`"));
    canvas_clear(&x.canvas);
    x.frame.snap = NULL;
    draw(24, 100);
    assert_int_equal(selected_row(), -1);
}

static void sixty_four(void) {
    for (uint64_t i = 0; i < SNAPSHOT_REQUESTS; i++) request(i, 0, 100, 1000.0 - (double)i, "reads", 0);
}

static void selection_stays_in_view(void **state) {
    (void)state;
    sixty_four();
    x.snap.interval.in_service_now = 97;
    for (int want = 0; want < SNAPSHOT_REQUESTS; want++) {
        x.frame.table.selected = want;
        canvas_clear(&x.canvas);
        draw(10, 60);
        int row = selected_row();
        assert_in_range(row, FIRST, 9);
        assert_int_equal(row_user(row), want);
        for (int r = FIRST; r < 10; r++) assert_int_equal(row_user(r), want + r - row); /* no gap, no jump */
    }
    assert_non_null(strstr(row_text(0), "97"));
    assert_non_null(strstr(row_text(0), "64"));
}

static void selection_is_cut_to_the_rows_there_are(void **state) {
    (void)state;
    four();
    x.frame.table.selected = 1000;
    draw(24, 100);
    assert_int_equal(row_user(selected_row()), 2); /* the youngest is last */
    canvas_clear(&x.canvas);
    x.frame.table.selected = -5;
    draw(24, 100);
    assert_int_equal(row_user(selected_row()), 30);
}

static void draws_at_any_size(void **state) {
    (void)state;
    sixty_four();
    x.frame.table.selected = 40;
    for (int rows = 1; rows < 70; rows += 3) {
        for (int cols = 1; cols < 250; cols += 7) {
            draw(rows, cols);
            canvas_clear(&x.canvas);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(sorts_by_every_column, set_up, tear_down),
        cmocka_unit_test_setup_teardown(equal_rows_keep_their_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_missing_time_is_the_smallest, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_detail_has_every_step_and_where_entries_were_found, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_trace_has_no_users, set_up, tear_down),
        cmocka_unit_test_setup_teardown(heading_says_the_order_and_can_be_clicked, set_up, tear_down),
        cmocka_unit_test_setup_teardown(filter_keeps_rows_that_contain_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(none_in_service, set_up, tear_down),
        cmocka_unit_test_setup_teardown(not_known_in_the_database, set_up, tear_down),
        cmocka_unit_test_setup_teardown(selection_stays_in_view, set_up, tear_down),
        cmocka_unit_test_setup_teardown(selection_is_cut_to_the_rows_there_are, set_up, tear_down),
        cmocka_unit_test_setup_teardown(draws_at_any_size, set_up, tear_down),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("panel_requests", tests, NULL, NULL);
}
