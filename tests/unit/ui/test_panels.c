/* Every view from made-up runs: against pictures in tests/golden/screen, over a sweep of sizes, and
 * what the first and the last row say.
 *
 * KVF_UPDATE_GOLDEN=1 make check TESTS=tests/unit/ui/test_panels
 * writes the pictures anew; look at the difference (git diff) before they are kept. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <locale.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "draw/number.h"
#include "ui/keyboard.h"
#include "ui/panel/parts.h"

#include "tests/unit/golden_fixture.h"
#include "tests/unit/ui_fixture.h"

static struct ui_fixture *fixture[UI_VARIANTS];

/* ---- pictures ---- */

static char *picture(const struct ui_fixture *x, size_t view, int rows, int cols, bool ascii) {
    struct canvas c;
    struct buf text = {0};
    canvas_init(&c, rows, cols, (struct style){.ascii = ascii});
    ui_fixture_draw(&c, x, view, parts_header, parts_footer);
    canvas_text(&c, &text);
    canvas_free(&c);
    return text.data;
}

/* Requests stand in the order that the screen begins with, by age. */
static int compare(enum ui_variant v, size_t view, int rows, int cols, bool ascii) {
    enum { REQUESTS_BY_AGE = 7 };
    struct ui_fixture x = *fixture[v];
    if (view == PANEL_requests)
        x.frame.table = (struct frame_table){.sort = REQUESTS_BY_AGE, .descending = true};
    char name[96], *have = picture(&x, view, rows, cols, ascii);
    const char *detail = x.frame.open.kind ? "detail-" : "";
    const struct panel_ops *panel = x.frame.open.kind ? details[x.frame.open.kind] : panels[view];
    snprintf(name, sizeof name, "%s%s%s%s-%dx%d%s.txt", detail, panel->name, v == UI_LIVE ? "" : "-",
             v == UI_LIVE ? "" : ui_variant_name(v), rows, cols, ascii ? "-ascii" : "");
    int wrong = golden_compare("screen", name, have);
    free(have);
    return wrong;
}

static void judge(int wrong) {
    golden_judge(wrong, "tests/unit/ui/test_panels");
}

static void test_goldens_of_a_running_run(void **state) {
    (void)state;
    static const int sizes[][2] = {{24, 80}, {10, 40}, {30, 100}, {60, 200}};
    int wrong = 0;
    for (size_t view = 0; view < PANELS; view++)
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
            for (int ascii = 0; ascii < 2; ascii++)
                wrong += compare(UI_LIVE, view, sizes[k][0], sizes[k][1], ascii);
    judge(wrong);
}

static void test_goldens_of_other_runs(void **state) {
    (void)state;
    static const struct {
        enum ui_variant variant;
        enum panel view;
    } extra[] = {{UI_OVER, PANEL_system},     {UI_WATCH, PANEL_help},   {UI_OVER, PANEL_tiers},
                 {UI_OVER, PANEL_latency},    {UI_OVER, PANEL_queue},   {UI_OVER, PANEL_requests},
                 {UI_NVME, PANEL_tiers},      {UI_NVME, PANEL_latency}, {UI_CLASSES, PANEL_queue},
                 {UI_AUTO, PANEL_autoscaler}, {UI_AUTO, PANEL_system},  {UI_WATCH, PANEL_requests},
                 {UI_BACK, PANEL_log},        {UI_BACK, PANEL_latency}, {UI_PREPARING, PANEL_tiers},
                 {UI_MISSING, PANEL_tiers},   {UI_LARGE, PANEL_tiers}};
    int wrong = 0;
    for (int v = UI_LIVE + 1; v < UI_VARIANTS; v++)
        wrong += compare((enum ui_variant)v, PANEL_overview, 24, 80, false);
    for (size_t k = 0; k < sizeof extra / sizeof *extra; k++)
        wrong += compare(extra[k].variant, extra[k].view, 24, 80, false);
    static const int sizes[][2] = {{24, 80}, {10, 40}, {60, 200}};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
        wrong += compare(UI_RANKS, PANEL_hosts, sizes[k][0], sizes[k][1], k == 1);
    wrong += compare(UI_AUTO, PANEL_tiers, 24, 80, false) + compare(UI_AUTO, PANEL_tiers, 60, 200, false);
    judge(wrong);
}

/* ---- colours ---- */

static bool is_judgement(int tone) {
    return tone == TONE_GOOD || tone == TONE_WARN || tone == TONE_BAD;
}

static bool is_tier(int tone) {
    return tone >= TONE_GPU && tone <= TONE_REMOTE;
}

static bool is_curve(uint32_t ch) {
    return (ch > 0x2800 && ch <= 0x28ff) || (ch >= 0x2581 && ch <= 0x2587);
}

/* Curves are no judgement; what is not about tiers has none of their hues; a direction is no hue but a form.
 */
static void expect_colours(const struct canvas *c, const char *view, bool tiers) {
    for (int row = 0; row < c->rows; row++) {
        char line[CANVAS_COLS_MAX + 1];
        for (int col = 0; col < c->cols; col++) {
            const struct cell *cell = canvas_cell(c, row, col);
            line[col] = cell->ch == 0x2501            ? '='
                        : cell->ch == 0x254d          ? '~'
                        : cell->ch < 0x80 && cell->ch ? (char)cell->ch
                                                      : '?';
            if (is_curve(cell->ch) && is_judgement(cell->tone))
                fail_msg("%s: a curve in a colour of judgement, row %d, column %d", view, row, col);
            if (!tiers && is_tier(cell->tone))
                fail_msg("%s: a tier's hue for something else, row %d, column %d", view, row, col);
        }
        line[c->cols] = '\0';
        if (strstr(line, "= read") && strstr(line, "= write")) fail_msg("%s: \"%s\"", view, line);
    }
}

static void test_colours_go_by_rule(void **state) {
    (void)state;
    static const int sizes[][2] = {{24, 80}, {60, 200}};
    for (int v = 0; v < UI_VARIANTS; v++) {
        for (size_t view = 0; view < PANELS; view++) {
            bool tiers = view != PANEL_queue && view != PANEL_autoscaler && view != PANEL_log;
            for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
                struct canvas c;
                canvas_init(&c, sizes[k][0], sizes[k][1], (struct style){.ascii = false});
                ui_fixture_draw(&c, fixture[v], view, parts_header, parts_footer);
                expect_colours(&c, panels[view]->name, tiers);
                canvas_free(&c);
            }
        }
    }
    for (int kind = FRAME_NOTHING + 1; kind < FRAME_KINDS; kind++) {
        struct canvas c;
        fixture[UI_AUTO]->frame.open =
            (struct frame_thing){(enum frame_kind)kind, kind == FRAME_TIER ? KVF_TIER_NVME : 0};
        canvas_init(&c, 60, 200, (struct style){.ascii = false});
        ui_fixture_draw(&c, fixture[UI_AUTO], PANEL_overview, parts_header, parts_footer);
        expect_colours(&c, details[kind]->name, kind != FRAME_CLASS);
        canvas_free(&c);
    }
    fixture[UI_AUTO]->frame.open = (struct frame_thing){FRAME_NOTHING, 0};
}

/* Pods at sizes with room for a cell each and without, and its three maps. */
static void test_goldens_of_fleets(void **state) {
    (void)state;
    static const int sizes[][2] = {{24, 80}, {30, 100}, {60, 200}, {10, 40}};
    struct frame *f = &fixture[UI_FLEET]->frame;
    const struct snapshot *small = f->interval;
    struct snapshot *large = malloc(sizeof *large);
    int wrong = 0;
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
        for (int ascii = 0; ascii < 2; ascii++)
            wrong += compare(UI_FLEET, PANEL_pods, sizes[k][0], sizes[k][1], ascii);
    for (f->heat = 1; f->heat < SNAPSHOT_HEATS; f->heat++)
        wrong += compare(UI_FLEET, PANEL_pods, 20 + f->heat, 80, false);
    f->heat = 0;
    *large = *small;
    large->fleet = (struct snapshot_fleet){0};
    ui_fill_pods(large, 10000, 40);
    f->interval = large;
    wrong += compare(UI_FLEET, PANEL_pods, 25, 80, false) + compare(UI_FLEET, PANEL_pods, 61, 200, true);
    f->interval = small;
    free(large);
    judge(wrong);
}

/* At the end the pods' figures are of the whole run, also those of more pods than there are rows. */
static void test_goldens_of_fleets_that_have_ended(void **state) {
    (void)state;
    static const unsigned pods[] = {8, 600};
    struct frame *f = &fixture[UI_OVER]->frame;
    struct run_record *run = &fixture[UI_OVER]->run;
    const struct snapshot *small = f->interval;
    struct snapshot *last = malloc(sizeof *last);
    int wrong = 0;
    *last = *small;
    last->fleet = (struct snapshot_fleet){.load_imbalance = KVF_MISSING, .index_entries = 148000};
    f->interval = last;
    result_add(&run->results, 1.25, 0, "load_imbalance");
    result_add(&run->results, 4000, 0, "routed_blocks");
    result_add(&run->results, 300, 0, "routed_blocks_wrong");
    for (size_t k = 0; k < sizeof pods / sizeof *pods; k++) {
        last->fleet.pods = pods[k];
        for (unsigned i = 0; i < pods[k]; i++) {
            struct run_pod p = {.pod = i,
                                .requests_done = 900 + 90 * (i % 7),
                                .tokens = 90000 + 1000 * i,
                                .lookups = 1000,
                                .hits = {600 - i, 200},
                                .expected_blocks = 500,
                                .wrong_blocks = i % 50,
                                .load_mean = 2 + i % 5};
            run_record_pod(run, &p);
        }
        wrong += compare(UI_OVER, PANEL_pods, 24 + (int)k, 80, false);
        free(run->pods);
        run->pods = NULL;
        run->pod_count = 0;
    }
    f->interval = small;
    free(last);
    judge(wrong);
}

static int compare_detail(enum ui_variant v, enum frame_kind kind, uint64_t number, int rows, int cols,
                          bool ascii) {
    struct frame *f = &fixture[v]->frame;
    f->open = (struct frame_thing){kind, number};
    int wrong = compare(v, PANEL_overview, rows, cols, ascii);
    f->open = (struct frame_thing){FRAME_NOTHING, 0};
    return wrong;
}

static void test_goldens_of_details(void **state) {
    (void)state;
    static const struct {
        enum frame_kind kind;
        uint64_t number;
        enum ui_variant variant;
    } things[] = {{FRAME_TIER, KVF_TIER_NVME, UI_LIVE},
                  {FRAME_CLASS, 2, UI_LIVE},
                  {FRAME_GPU, 0, UI_AUTO},
                  {FRAME_DRIVE, 0, UI_LIVE},
                  {FRAME_RANK, 2, UI_RANKS},
                  {FRAME_USER, 3, UI_LIVE}};
    int wrong = 0;
    for (size_t i = 0; i < sizeof things / sizeof *things; i++) {
        wrong += compare_detail(things[i].variant, things[i].kind, things[i].number, 24, 80, false);
        wrong += compare_detail(things[i].variant, things[i].kind, things[i].number, 10, 40, true);
        wrong += compare_detail(things[i].variant, things[i].kind, things[i].number, 60, 200, false);
    }
    wrong += compare_detail(UI_OVER, FRAME_TIER, KVF_TIER_NVME, 24, 80, false);
    wrong += compare_detail(UI_OVER, FRAME_CLASS, 0, 24, 80, false);
    wrong += compare_detail(UI_WATCH, FRAME_TIER, KVF_TIER_NVME, 24, 80, false);
    wrong += compare_detail(UI_WATCH, FRAME_USER, 3, 24, 80, false);
    judge(wrong);
}

/* ---- the sweep ---- */

static void check_cells(const struct canvas *c, const char *view, enum ui_variant v, bool ascii) {
    for (int row = 0; row < c->rows; row++) {
        for (int col = 0; col < c->cols; col++) {
            uint32_t ch = canvas_cell(c, row, col)->ch;
            if (ascii && (ch < ' ' || ch > '~'))
                fail_msg("%s of %s at %dx%d: U+%04X in ASCII", view, ui_variant_name(v), c->rows, c->cols,
                         ch);
            if (ch == 'n' && canvas_cell(c, row, col + 1)->ch == 'a' &&
                canvas_cell(c, row, col + 2)->ch == 'n')
                fail_msg("%s of %s at %dx%d: nan in row %d", view, ui_variant_name(v), c->rows, c->cols, row);
            assert_true(canvas_cell(c, row, col)->tone < TONES);
        }
    }
}

/* Every view of every run at sizes in which each step of the layouts lies; of the running one at all of
 * them, of the others at a part that goes round. */
static void test_sweep(void **state) {
    (void)state;
    static const int rows[] = {1, 2, 3, 5, 8, 10, 11, 13, 16, 19, 24, 30, 37, 48, 60, 100};
    static const int cols[] = {1, 2, 9, 17, 27, 39, 40, 41, 57, 79, 80, 81, 99, 120, 161, 200, 250};
    enum { ROWS = sizeof rows / sizeof *rows, COLS = sizeof cols / sizeof *cols };
    struct canvas c;
    canvas_init(&c, 1, 1, (struct style){.ascii = false});
    for (int v = 0; v < UI_VARIANTS; v++) {
        for (size_t view = 0; view < PANELS + FRAME_KINDS; view++) { /* details behind the views */
            struct ui_fixture x = *fixture[v];
            size_t kind = view >= PANELS ? view - PANELS : FRAME_NOTHING;
            x.frame.open = (struct frame_thing){(enum frame_kind)kind, (uint64_t)v % 5};
            for (int k = 0; k < ROWS * COLS; k++) {
                if (v != UI_LIVE && (k + v + (int)view) % 7 != 0) continue;
                c.style.ascii = (k + v) % 2;
                canvas_resize(&c, rows[k / COLS], cols[k % COLS]);
                ui_fixture_draw(&c, &x, view < PANELS ? view : 0, parts_header, parts_footer);
                check_cells(&c, view < PANELS ? panels[view]->name : "a detail", (enum ui_variant)v,
                            c.style.ascii);
            }
        }
    }
    canvas_free(&c);
}

static void test_lists_at_any_place(void **state) {
    (void)state;
    static const int places[] = {-1, 0, 1, 5, 19, 500, 100000};
    struct canvas c;
    struct ui_fixture x = *fixture[UI_LIVE];
    canvas_init(&c, 24, 80, (struct style){.ascii = true});
    for (size_t view = 0; view < PANELS; view++) {
        for (size_t k = 0; k < sizeof places / sizeof *places; k++) {
            x.frame.table =
                (struct frame_table){.selected = places[k], .sort = places[k], .descending = k % 2};
            ui_fixture_draw(&c, &x, view, parts_header, parts_footer);
            snprintf(x.frame.table.filter, sizeof x.frame.table.filter, "no text has this");
            ui_fixture_draw(&c, &x, view, parts_header, parts_footer);
            check_cells(&c, panels[view]->name, UI_LIVE, true);
        }
    }
    canvas_free(&c);
}

/* ---- what pictures say ---- */

static bool shows(const struct ui_fixture *x, size_t view, int rows, int cols, const char *text) {
    char *p = picture(x, view, rows, cols, true);
    bool found = strstr(p, text);
    free(p);
    return found;
}

static void header_of(const struct ui_fixture *x, char *out, size_t len) {
    char *p = picture(x, PANEL_overview, 24, 80, true);
    snprintf(out, len, "%.*s", (int)strcspn(p, "\n"), p);
    free(p);
}

static void assert_state(const struct ui_fixture *x, const char *state) {
    char line[200];
    header_of(x, line, sizeof line);
    size_t len = strlen(line), n = strlen(state);
    assert_true(len > n);
    assert_string_equal(line + len - n, state);
}

static void test_states_in_the_header(void **state) {
    (void)state;
    char line[200];
    struct snapshot s = fixture[UI_LIVE]->snap[89];
    struct run_record run = fixture[UI_OVER]->run;
    struct ui_fixture x = *fixture[UI_LIVE];

    header_of(&x, line, sizeof line);
    assert_string_equal(line,
                        " kvfall  quickstart - llama3.1-8b - run 12  ########...  01:30 / 02:05  RUNNING");
    assert_state(fixture[UI_PREPARING], "--:-- / 02:05  PREPARING");
    assert_state(fixture[UI_BACK], "00:42 / 02:05  LOOKING BACK");
    assert_state(fixture[UI_WATCH], "STALLED");
    x.frame.snap = &s;
    s.interval.phase = KVF_PHASE_WARMUP;
    assert_state(&x, "WARM-UP");
    s.interval.phase = KVF_PHASE_DRAIN;
    assert_state(&x, "DRAINING");
    s.tier[KVF_TIER_NVME].hung_s = KVF_MISSING; /* a tier that cannot hang */
    assert_state(&x, "DRAINING");
    s.tier[KVF_TIER_NVME].hung_s = 5.5;
    assert_state(&x, "  NVME HUNG");
    s.tier[KVF_TIER_NVME].hung_s = 0;
    s.interval.paused = 1;
    assert_state(&x, "PAUSED");
    x.frame.back = true;
    assert_state(&x, "  LOOKING BACK: DRAINING");
    s.interval.phase = KVF_PHASE_WARMUP;
    assert_state(&x, "  LOOKING BACK: WARM-UP");
    x.frame.frozen = true;
    assert_state(&x, "  FROZEN: WARM-UP");
    s.interval.phase = KVF_PHASE_MEASURED;
    assert_state(&x, "  FROZEN");
    x.frame.frozen = x.frame.back = false;
    s.interval.paused = 0;
    /* Once there is an interval its phase alone says what is done. */
    struct provider_status status = {.preparing = "faulting in the cpu tier"};
    x.frame.status = &status;
    assert_state(&x, "RUNNING");
    s.interval.phase = KVF_PHASE_PREPARE;
    assert_state(&x, "PREPARING");
    status.storing = true;
    assert_state(&x, "STORING");
    x = *fixture[UI_OVER];
    x.frame.run = &run;
    assert_state(&x, "COMPLETED");
    run.status = RUN_INTERRUPTED;
    assert_state(&x, "INTERRUPTED");
    run.status = RUN_FAILED;
    assert_state(&x, "FAILED");
    run.status = RUN_CRASHED;
    assert_state(&x, "CRASHED");
}

/* A simulation keeps its clocks as long as there is room, then its mode; number and model go first. */
static void test_a_simulation_in_the_header(void **state) {
    (void)state;
    char line[200];
    struct snapshot s = fixture[UI_LIVE]->snap[89];
    struct run_record run = *fixture[UI_LIVE]->frame.run;
    struct ui_fixture x = *fixture[UI_LIVE];

    snprintf(run.mode, sizeof run.mode, "simulate");
    s.simulated = true;
    s.speed = 0;
    s.real_s = s.interval.t_s / 1000;
    x.frame.snap = &s;
    x.frame.run = &run;
    header_of(&x, line, sizeof line);
    assert_string_equal(line,
                        " kvfall  quickstart - simulate max x1.00k real 00:00     01:30 / 02:05  RUNNING");
    x.frame.planned_s = 86400;
    x.frame.shown_s = 36000;
    header_of(&x, line, sizeof line);
    assert_string_equal(line,
                        " kvfall  quickstart - max x1.00k real 00:00        10:00:00 / 24:00:00  RUNNING");
    snprintf(run.name, sizeof run.name, "a-name-of-25-characters-x");
    header_of(&x, line, sizeof line);
    assert_string_equal(line,
                        " kvfall  a-name-of-25-characters-x - simulate      10:00:00 / 24:00:00  RUNNING");
}

static void test_short_intervals_have_tenths(void **state) {
    (void)state;
    struct ui_fixture x = *fixture[UI_LIVE];
    x.frame.shown_s = 6.3, x.frame.interval_s = 0.5;
    assert_state(&x, "00:06.3 / 02:05  RUNNING");
    x.frame.shown_s = 59.9999, x.frame.interval_s = 0.05;
    assert_state(&x, "01:00.0 / 02:05  RUNNING");
    x.frame.shown_s = 59.9, x.frame.interval_s = 1;
    assert_state(&x, "00:59 / 02:05  RUNNING");
    x.frame.shown_s = KVF_MISSING, x.frame.interval_s = 0.5;
    assert_state(&x, "--:-- / 02:05  RUNNING");
}

static void footer_of(const struct ui_fixture *x, size_t view, int cols, char *out, size_t len) {
    char *p = picture(x, view, 24, cols, true), *last = p + strlen(p) - 1;
    while (last > p && last[-1] != '\n') last--;
    snprintf(out, len, "%.*s", (int)strcspn(last, "\n"), last);
    free(p);
}

static void test_verdict_in_every_view(void **state) {
    (void)state;
    char line[400];
    for (size_t view = 0; view < PANELS; view++) {
        const char *keys = view == PANEL_help ? "12345678  <-/-> time  ? back  q leave"
                                              : "12345678  <-/-> time  ? keys  q leave";
        footer_of(fixture[UI_OVER], view, 160, line, sizeof line);
        assert_non_null(strstr(
            line,
            "completed  12.5k tok/s  e2e P95 119 ms  hits 82.2 %  with decode 93.1 %  nvme reads, 93 % busy"));
        assert_non_null(strstr(line, keys));
        footer_of(fixture[UI_OVER], view, 80, line, sizeof line);
        assert_non_null(strstr(line, " completed  12.5k tok/s  e2e P95 119 ms  "));
        assert_non_null(strstr(line, keys));
        footer_of(fixture[UI_OVER], view, 40, line, sizeof line);
        assert_int_equal(strncmp(line, " ", 1), 0);
        assert_string_equal(line + strspn(line, " "), keys);
    }
    /* The sentence in full, whose end stands alone in its row. */
    assert_true(shows(fixture[UI_OVER], PANEL_evidence, 24, 80, "device, 74 % in line for it (last 10 s)\n"));

    struct ui_fixture x = *fixture[UI_OVER];
    struct run_record run = x.run;
    x.frame.run = &run;
    run.status = RUN_FAILED;
    snprintf(run.status_reason, sizeof run.status_reason, "nvme: short read");
    footer_of(&x, PANEL_log, 80, line, sizeof line);
    assert_string_equal(line,
                        " failed  nvme: short read                 12345678  <-/-> time  ? keys  q leave");
    /* An earlier moment has the keys that come back from it. */
    x.frame.back = true;
    footer_of(&x, PANEL_overview, 80, line, sizeof line);
    assert_non_null(strstr(line, "End newest"));
    assert_null(strstr(line, "failed"));
}

static void test_figures_of_the_whole_run(void **state) {
    (void)state;
    /* 0.95 of the usable 1.6 GiB, 2600 demotions in 85 s, 5000 of 51095 lookups: not those of the last
     * interval. */
    assert_true(shows(fixture[UI_OVER], PANEL_overview, 24, 80, "Whole run"));
    assert_true(shows(fixture[UI_OVER], PANEL_overview, 24, 80, "  10.0 %   9.8 %  2.63G   2.63G"));
    assert_true(shows(fixture[UI_OVER], PANEL_overview, 60, 200, "1.52G/1.60G"));
    assert_true(shows(fixture[UI_OVER], PANEL_overview, 60, 200, "    30.6       0\n"));
    assert_true(shows(fixture[UI_OVER], PANEL_overview, 60, 200, "Requests   134/s"));
    assert_true(shows(fixture[UI_OVER], PANEL_overview, 24, 80,
                      "11.4k requests done, 1 failed, 0 dropped; 1.50M tokens in 01:25"));
    /* Classes: what was waiting at the end, done in 85 s, P95 of the run; 2.4 s are more than the target. */
    assert_true(shows(fixture[UI_OVER], PANEL_overview, 24, 80,
                      "interactive   99.0 % 16.6 ms  33.1 ms 50.0 ms      4           0 25.7 ms"));
    assert_true(shows(fixture[UI_OVER], PANEL_overview, 24, 80,
                      "!batch         97.0 %  470 ms   940 ms  1.00 s     61          61  2.40 s"));
    assert_true(shows(fixture[UI_OVER], PANEL_queue, 24, 80,
                      "!batch                         61  58.1   57.4  2.40 s  940 ms /  1.00 s  97.0 %"));
    assert_true(shows(fixture[UI_OVER], PANEL_queue, 24, 80, "Slots 19.5 % of 256"));
    /* 2.5e11 B in 85 s, (3.2e6 + 7.6e5) ms in 85 s. */
    assert_true(shows(fixture[UI_OVER], PANEL_tiers, 24, 80, " 2.74 GiB/s  1.04x  37.6 "));
    assert_true(shows(fixture[UI_OVER], PANEL_tiers, 24, 80, "queue    46.6"));
    assert_true(shows(fixture[UI_OVER], PANEL_system, 24, 80, "queue            46.6"));
    assert_true(shows(fixture[UI_OVER], PANEL_system, 24, 80, "process    1.85 cores"));
    struct ui_fixture x = *fixture[UI_OVER];
    x.frame.back = true;
    assert_false(shows(&x, PANEL_overview, 24, 80, "Whole run"));
}

/* A crashed run has no results: its last interval is shown, and nothing is said of the
 * whole run. */
static void test_crashed(void **state) {
    (void)state;
    struct ui_fixture x = *fixture[UI_LIVE];
    struct run_record run = x.run;
    run.status = RUN_CRASHED;
    x.frame.run = &run, x.frame.live = false, x.frame.over = true;
    for (size_t view = 0; view < PANELS; view++) {
        assert_false(shows(&x, view, 60, 200, "hole run"));
        assert_true(shows(&x, view, 60, 200, "CRASHED"));
    }
    assert_true(shows(&x, PANEL_overview, 24, 80, "  10.5 %  10.3 %  2.59G    287M"));
    assert_true(shows(&x, PANEL_tiers, 24, 80, "decode       1.42G"));
    assert_true(shows(&x, PANEL_tiers, 24, 80, "1.66 GiB/s"));
}

/* A look between intervals has no length, and so no rates in any view. */
static void test_a_look_has_no_rates(void **state) {
    (void)state;
    struct ui_fixture x = *fixture[UI_LIVE];
    struct snapshot s = *x.frame.snap;
    x.frame.snap = &s;
    for (int peek = 0; peek < 2; peek++) {
        s.peek = peek, s.interval.length_s = peek ? 1 : 0;
        assert_true(shows(&x, PANEL_overview, 24, 80, "  10.5 %  10.3 %     --      --  746 us"));
        assert_true(shows(&x, PANEL_queue, 24, 80, "interactive            4     14     --     --"));
        assert_true(shows(&x, PANEL_queue, 24, 80, "all                   90     50     --     --"));
        assert_true(shows(&x, PANEL_system, 24, 80, "process            --"));
        assert_true(shows(&x, PANEL_tiers, 24, 80, "evicted/s     --    --    --"));
    }
}

/* While the run goes on nothing is read from the record's tiers, which the engine fills. */
static void test_tiers_before_the_first_interval(void **state) {
    (void)state;
    struct ui_fixture x = *fixture[UI_PREPARING];
    struct run_record run = x.run;
    x.frame.run = &run;
    for (size_t view = 0; view < PANELS; view++) {
        char *with = picture(&x, view, 60, 200, true);
        memset(run.tier, 0, sizeof run.tier);
        char *without = picture(&x, view, 60, 200, true);
        assert_string_equal(with, without);
        memcpy(run.tier, x.run.tier, sizeof run.tier);
        free(with);
        free(without);
    }
}

/* A tier whose way to the gpu is not what it was meant to be says so in each view that has its figures. */
static void test_compatibility_mode_is_named(void **state) {
    (void)state;
    struct ui_fixture x = *fixture[UI_AUTO];
    struct snapshot snap = *x.frame.snap;
    unsigned named = 0;
    x.frame.snap = &snap;
    for (size_t view = 0; view < PANELS; view++) {
        snap.tier_compat[KVF_TIER_NVME] = false;
        char *without = picture(&x, view, 60, 200, true);
        snap.tier_compat[KVF_TIER_NVME] = true;
        char *with = picture(&x, view, 60, 200, true);
        assert_null(strstr(without, "nvme compat"));
        assert_true(!strstr(without, "nvme vda") || strstr(with, "nvme compat"));
        named += strstr(with, "nvme compat") != NULL;
        free(with);
        free(without);
    }
    assert_true(named >= 3);
}

static void test_the_tiers_have_the_kernels_latency_where_it_is_traced(void **state) {
    (void)state;
    struct ui_fixture x = *fixture[UI_AUTO];
    struct snapshot snap = *x.frame.snap;
    x.frame.snap = &snap;
    size_t tiers = 0;
    while (strcmp(panels[tiers]->name, "tiers") != 0) tiers++;
    snap.block_known = false;
    char *without = picture(&x, tiers, 40, 160, true);
    snap.block_known = true;
    snap.block = (struct snapshot_block){.read_d2c_p95_ms = 7.25, .write_d2c_p95_ms = KVF_MISSING};
    char *with = picture(&x, tiers, 40, 160, true);
    assert_null(strstr(without, "d2c P95"));
    assert_non_null(strstr(with, "d2c P95"));
    assert_non_null(strstr(with, "7.25 ms"));
    free(with);
    free(without);
}

static void test_a_missed_target_has_a_sign(void **state) {
    (void)state;
    struct ui_fixture x = *fixture[UI_LIVE];
    struct snapshot s = *x.frame.snap;
    x.frame.snap = &s;
    s.qos[1].met_ratio = 0.95;
    assert_false(shows(&x, PANEL_overview, 24, 80, "!responsive"));
    s.qos[1].met_ratio = 0.9499;
    assert_true(shows(&x, PANEL_overview, 24, 80, "!responsive"));
    assert_true(shows(&x, PANEL_queue, 24, 80, "!responsive"));
    s.qos[1].met_ratio = KVF_MISSING;
    assert_false(shows(&x, PANEL_overview, 24, 80, "!responsive"));
    /* Starved: its target is 100 ms, and nobody who waits has a latency yet. */
    s.qos[1].oldest_wait_ms = 101; /* the first token of the oldest came in time */
    assert_false(shows(&x, PANEL_overview, 24, 80, "!responsive"));
    s.qos[1].overdue = 1;
    assert_true(shows(&x, PANEL_overview, 24, 80, "!responsive"));
    s.qos[1].met_ratio = 1;
    assert_true(shows(&x, PANEL_overview, 24, 80, "!responsive"));
    assert_true(shows(&x, PANEL_queue, 24, 80, "!responsive"));
    /* Of classes that have no row the line that counts them has it. */
    assert_true(shows(fixture[UI_CLASSES], PANEL_overview, 24, 80, "!6 more in view 4"));
    assert_true(shows(fixture[UI_CLASSES], PANEL_queue, 10, 40, "!and"));
    struct parts_class c;
    parts_class(&x.frame, 1, &c);
    assert_true(c.missed);
}

/* A word where the share of those few who were served would say nothing. */
static void test_a_starved_class_is_called_so(void **state) {
    (void)state;
    struct ui_fixture x = *fixture[UI_LIVE];
    struct snapshot s = *x.frame.snap;
    x.frame.snap = &s;
    s.qos[2].met_ratio = 1, s.qos[2].oldest_wait_ms = 0;
    assert_false(shows(&x, PANEL_queue, 24, 80, "starved"));
    s.qos[2].starved = 1;
    static const int sizes[][2] = {{10, 40}, {24, 80}, {30, 100}, {60, 200}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        assert_true(shows(&x, PANEL_queue, sizes[i][0], sizes[i][1], "!batch"));
        assert_true(shows(&x, PANEL_queue, sizes[i][0], sizes[i][1], "starved"));
    }
    assert_true(shows(&x, PANEL_overview, 24, 80, "starved"));
    s.qos[2].starved = KVF_MISSING; /* a class without a target */
    assert_false(shows(&x, PANEL_queue, 24, 80, "starved"));
    /* Of a whole run the share is shown, with the sign. */
    x = *fixture[UI_OVER];
    struct run_record run = x.run;
    struct result items[600];
    assert_true(run.results.count + 1 < 600);
    memcpy(items, run.results.items, run.results.count * sizeof *items);
    run.results = (struct result_list){items, run.results.count, 600};
    result_add(&run.results, 3.5, 0, "class_interactive_starved_s");
    x.frame.run = &run;
    assert_true(shows(&x, PANEL_queue, 24, 80, "!interactive"));
    assert_false(shows(&x, PANEL_queue, 24, 80, "starved"));
}

static void test_preparing(void **state) {
    (void)state;
    assert_true(shows(fixture[UI_PREPARING], PANEL_overview, 24, 80, "Preparing: faulting in the cpu tier"));
    assert_true(shows(fixture[UI_PREPARING], PANEL_overview, 10, 40, "45.0 %"));
}

/* The place of a text in the last row, as the canvas has it. */
static int place_of(const struct canvas *c, const char *text) {
    struct buf b = {0};
    canvas_text(c, &b);
    char *last = b.data + b.len - 1;
    while (last > b.data && last[-1] != '\n') last--;
    const char *at = strstr(last, text);
    int col = at ? (int)(at - last) : -1;
    buf_free(&b);
    assert_true(col >= 0);
    return col;
}

static void test_keys_can_be_clicked(void **state) {
    (void)state;
    struct canvas c;
    canvas_init(&c, 24, 80, (struct style){.ascii = true});
    ui_fixture_draw(&c, fixture[UI_LIVE], PANEL_overview, parts_header, parts_footer);
    assert_int_equal(canvas_hot_at(&c, 23, place_of(&c, "pause")), ' ');
    assert_int_equal(canvas_hot_at(&c, 23, place_of(&c, "+/-")), '+');
    assert_int_equal(canvas_hot_at(&c, 23, place_of(&c, "+/-") + 2), '-');
    assert_int_equal(canvas_hot_at(&c, 23, place_of(&c, "keys")), '?');
    assert_int_equal(canvas_hot_at(&c, 23, place_of(&c, "quit") - 2), 'q');
    assert_int_equal(canvas_hot_at(&c, 22, 3), 0);
    /* Each digit is a tab, and that of the view shown stands out. */
    assert_int_equal(canvas_hot_at(&c, 23, place_of(&c, "12345678") + 4), '5');
    assert_int_equal(canvas_cell(&c, 23, place_of(&c, "12345678"))->tone, TONE_SELECTED);
    assert_int_equal(canvas_cell(&c, 23, place_of(&c, "12345678") + 1)->tone, TONE_KEY);
    canvas_resize(&c, 24, 200);
    ui_fixture_draw(&c, fixture[UI_LIVE], PANEL_queue, parts_header, parts_footer);
    assert_int_equal(canvas_hot_at(&c, 23, place_of(&c, "system")), '6');
    assert_int_equal(canvas_cell(&c, 23, place_of(&c, "queue"))->tone, TONE_SELECTED);
    canvas_free(&c);
    assert_false(shows(fixture[UI_WATCH], PANEL_overview, 24, 80, "space pause"));
}

static void test_hints(void **state) {
    (void)state;
    char line[400];
    struct ui_fixture x = *fixture[UI_LIVE];
    struct snapshot s = *x.frame.snap;
    footer_of(&x, PANEL_overview, 80, line, sizeof line);
    assert_string_equal(line,
                        " 12345678 views  space pause  +/- users  m mark  i window: 10 s  ? keys  q quit");
    footer_of(&x, PANEL_overview, 126, line, sizeof line);
    assert_non_null(strstr(line, "z zoom: 1 min"));
    x.frame.zoom = ZOOM_ALL;
    footer_of(&x, PANEL_overview, 126, line, sizeof line);
    assert_non_null(strstr(line, "z zoom: all"));
    /* Arrivals of a trace have no users to add. */
    assert_true(shows(&x, PANEL_overview, 24, 80, "Users 50"));
    s.interval.users = 0;
    x.frame.snap = &s;
    footer_of(&x, PANEL_overview, 90, line, sizeof line);
    assert_null(strstr(line, "+/-"));
    assert_true(shows(&x, PANEL_overview, 24, 80, "Arrivals open loop"));
    assert_false(shows(&x, PANEL_overview, 24, 80, "Users 0"));
    assert_true(shows(fixture[UI_WATCH], PANEL_help, 140, 120, "a tenth more users (not here)"));
    assert_false(shows(fixture[UI_LIVE], PANEL_help, 140, 120, "a tenth more users (not here)"));
}

static void test_questions_and_messages(void **state) {
    (void)state;
    char line[200], answer[200];
    struct ui_fixture x = *fixture[UI_CLASSES];
    struct canvas c;
    canvas_init(&c, 24, 80, (struct style){.ascii = true});
    ui_fixture_draw(&c, &x, PANEL_overview, parts_header, parts_footer);
    assert_int_equal(canvas_cell(&c, 23, place_of(&c, "group") + 5)->tone, TONE_SELECTED);
    canvas_free(&c);
    footer_of(&x, PANEL_overview, 80, line, sizeof line);
    assert_string_equal(line, " Note of the mark: second group");
    memset(answer, 'x', sizeof answer);
    snprintf(answer + 150, sizeof answer - 150, "the end");
    x.frame.answer = answer;
    footer_of(&x, PANEL_overview, 80, line, sizeof line);
    assert_int_equal(strlen(line), 79); /* the last column is the cursor's */
    assert_string_equal(line + strlen(line) - 7, "the end");
    x.frame.question = NULL;
    /* A message has the row above: the keys stay. */
    x.frame.message = "users 50 -> 60";
    footer_of(&x, PANEL_overview, 80, line, sizeof line);
    assert_non_null(strstr(line, "? keys"));
    struct buf text = {0};
    canvas_init(&c, 1, 80, (struct style){.ascii = true});
    struct pane row = pane_whole(&c);
    parts_message(&row, &x.frame);
    canvas_text(&c, &text);
    assert_string_equal(buf_text(&text), " users 50 -> 60\n");
    buf_free(&text);
    canvas_free(&c);
}

static void test_log(void **state) {
    (void)state;
    struct ui_fixture x = *fixture[UI_BACK];
    assert_true(shows(&x, PANEL_log, 24, 80, "00:31 info     users 60 by key"));
    assert_false(shows(&x, PANEL_log, 24, 80, "users 50 by key")); /* later than the moment shown */
    assert_true(shows(&x, PANEL_log, 24, 80, "before warning  no CUDA"));
    x = *fixture[UI_LIVE];
    snprintf(x.frame.table.filter, sizeof x.frame.table.filter, "WARN");
    assert_true(shows(&x, PANEL_log, 24, 80, "2 of 2 with \"WARN\""));
    assert_false(shows(&x, PANEL_log, 24, 80, "by key"));
    /* The newest is the last; the cursor moves upwards from it. */
    x.frame.table = (struct frame_table){.selected = 0};
    assert_true(shows(&x, PANEL_log, 24, 80, ">   01:11 info     resumed by key"));
    x.frame.table.selected = 2;
    assert_true(shows(&x, PANEL_log, 24, 80, ">   01:00 info     users 50 by key"));
    x.frame.table.selected = 99;
    assert_true(shows(&x, PANEL_log, 10, 40, ">  before warn"));
}

/* A row has what the history says of its part of the stretch; the newest is on top. */
static void test_numbers_are_those_of_the_graphs(void **state) {
    (void)state;
    struct ui_fixture x = *fixture[UI_LIVE];
    enum { PARTS = 20 }; /* of the minute, on 24 rows */
    float tokens[PARTS], p95[PARTS];
    char wanted[200], clock[NUMBER], a[NUMBER], b[NUMBER], c[NUMBER];
    history_series(x.history, SERIES_TOKENS_PER_S, ZOOM_MINUTE, NAN, PARTS, tokens);
    history_series(x.history, SERIES_TTFT_P95_MS, ZOOM_MINUTE, NAN, PARTS, p95);
    for (int k = 0; k < PARTS; k++) {
        (void)snprintf(wanted, sizeof wanted, "%s %s  %s", number_clock(33 + 3 * k, clock),
                       number_count((double)tokens[k], a), number_ms((double)p95[k], b));
        assert_true(shows(&x, PANEL_numbers, 24, 80, wanted));
    }
    int last = -1;
    double picked = NAN;
    x.frame.list_end = &last;
    x.frame.picked_s = &picked;
    x.frame.table = (struct frame_table){.selected = 2};
    assert_true(shows(&x, PANEL_numbers, 24, 80, ">  01:24 "));
    assert_true(last == PARTS - 1 && picked == 84);
    x.frame.table.selected = 99; /* the last there is */
    (void)snprintf(wanted, sizeof wanted, ">  00:33 %s", number_count((double)tokens[0], c));
    assert_true(shows(&x, PANEL_numbers, 24, 80, wanted));
    assert_true(picked == 33);
    assert_true(shows(fixture[UI_PREPARING], PANEL_numbers, 24, 80, "No interval yet."));
}

static void test_help_names_every_key_and_view(void **state) {
    (void)state;
    char *p = picture(fixture[UI_LIVE], PANEL_help, 140, 120, true);
    for (size_t i = 0; i < keyboard_count; i++)
        if (keyboard[i].help && keyboard[i].action != ACTION_VIEW)
            if (!strstr(p, keyboard[i].help)) fail_msg("help is without the key %s", keyboard[i].name);
    for (int v = 0; v < PANELS; v++)
        if (!strstr(p, panels[v]->title)) fail_msg("help is without the view %s", panels[v]->name);
    free(p);
    /* Where it does not fit, the rest can be reached. */
    struct ui_fixture x = *fixture[UI_LIVE];
    assert_false(shows(&x, PANEL_help, 10, 40, "CAPITALS"));
    bool found = false;
    for (int k = 0; k < 200; k++) {
        x.frame.table.selected = k;
        found = found || shows(&x, PANEL_help, 10, 40, "CAPITALS");
    }
    assert_true(found);
}

static void test_marks(void **state) {
    (void)state;
    static const struct {
        const char *level, *kind;
        char sign;
    } cases[] = {{"mark", "", 'm'},    {"info", "users", '^'}, {"info", "pause", '^'},    {"info", "", 0},
                 {"warning", "", '!'}, {"error", "", '!'},     {"info", "suite_quick", 0}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        struct record_event e = {.t_s = 1};
        char sign = 0;
        enum tone tone;
        snprintf(e.level, sizeof e.level, "%s", cases[k].level);
        snprintf(e.kind, sizeof e.kind, "%s", cases[k].kind);
        snprintf(e.message, sizeof e.message, "stopped by and by");
        assert_int_equal(parts_event_marked(&e, &sign, &tone), cases[k].sign != 0);
        if (cases[k].sign) assert_int_equal(sign, cases[k].sign);
    }
    assert_true(parts_filter("Nvme Read", "nvme"));
    assert_true(parts_filter("anything", ""));
    assert_false(parts_filter("nvme", "cpu"));
}

static void test_too_small(void **state) {
    (void)state;
    struct canvas c;
    struct buf b = {0};
    canvas_init(&c, 9, 60, (struct style){.ascii = true});
    struct pane p = pane_whole(&c);
    parts_too_small(&p, &fixture[UI_LIVE]->frame);
    canvas_text(&c, &b);
    assert_memory_equal(b.data, "40x10 needed, is 60x9: 01:30/02:05 RUNNING\n", 43);
    buf_free(&b);
    canvas_free(&c);
}

static int set_up(void **state) {
    (void)state;
    for (int v = 0; v < UI_VARIANTS; v++) fixture[v] = ui_fixture_new((enum ui_variant)v);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    for (int v = 0; v < UI_VARIANTS; v++) ui_fixture_free(fixture[v]);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_goldens_of_a_running_run),
        cmocka_unit_test(test_colours_go_by_rule),
        cmocka_unit_test(test_goldens_of_other_runs),
        cmocka_unit_test(test_goldens_of_fleets),
        cmocka_unit_test(test_goldens_of_fleets_that_have_ended),
        cmocka_unit_test(test_goldens_of_details),
        cmocka_unit_test(test_sweep),
        cmocka_unit_test(test_lists_at_any_place),
        cmocka_unit_test(test_states_in_the_header),
        cmocka_unit_test(test_a_simulation_in_the_header),
        cmocka_unit_test(test_short_intervals_have_tenths),
        cmocka_unit_test(test_verdict_in_every_view),
        cmocka_unit_test(test_figures_of_the_whole_run),
        cmocka_unit_test(test_crashed),
        cmocka_unit_test(test_a_look_has_no_rates),
        cmocka_unit_test(test_tiers_before_the_first_interval),
        cmocka_unit_test(test_compatibility_mode_is_named),
        cmocka_unit_test(test_the_tiers_have_the_kernels_latency_where_it_is_traced),
        cmocka_unit_test(test_a_missed_target_has_a_sign),
        cmocka_unit_test(test_a_starved_class_is_called_so),
        cmocka_unit_test(test_preparing),
        cmocka_unit_test(test_keys_can_be_clicked),
        cmocka_unit_test(test_hints),
        cmocka_unit_test(test_questions_and_messages),
        cmocka_unit_test(test_log),
        cmocka_unit_test(test_numbers_are_those_of_the_graphs),
        cmocka_unit_test(test_help_names_every_key_and_view),
        cmocka_unit_test(test_marks),
        cmocka_unit_test(test_too_small),
    };
    /* Which characters there are is asked of the locale. */
    if (!setlocale(LC_ALL, "C.UTF-8")) setlocale(LC_ALL, "en_US.UTF-8");
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("panels", tests, set_up, tear_down);
}
