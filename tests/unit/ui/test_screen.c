#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <dirent.h>
#include <locale.h>
#include <unistd.h>

#include "tests/unit/ui_fixture.h"
#include "ui/keyboard.h"
#include "ui/screen.h"

/* A provider over the fixture's intervals, of which `given` are out so far. */
struct source {
    struct ui_fixture *x;
    unsigned given;
    struct record_event event;
    unsigned events_left; /* the same one again and again */
    struct provider_status status;
};

static bool source_next(void *ctx, struct snapshot *out, uint64_t *version) {
    struct source *s = ctx;
    if (*version >= s->given) return false;
    *out = s->x->snap[(*version)++];
    return true;
}

static bool source_at(void *ctx, double t_s, struct snapshot *out) {
    struct source *s = ctx;
    if (!s->given) return false;
    *out = s->x->snap[0];
    for (unsigned i = 0; i < s->given && s->x->snap[i].interval.t_s <= t_s; i++) *out = s->x->snap[i];
    return true;
}

static bool source_step(void *ctx, double t_s, int steps, struct snapshot *out) {
    struct source *s = ctx;
    int i = 0;
    while (i + 1 < (int)s->given && s->x->snap[i].interval.t_s < t_s) i++;
    i += steps;
    i = i < 0 ? 0 : i >= (int)s->given ? (int)s->given - 1 : i;
    *out = s->x->snap[i];
    return s->given > 0;
}

/* Windows of the fixture's first given intervals: one request for each interval inside. */
static bool source_window(void *ctx, enum windows_span span, double end_s, struct windows_view *out,
                          uint64_t *version) {
    struct source *s = ctx;
    double length_s = windows_seconds(span) > 0 ? windows_seconds(span) : 1e9;
    uint64_t now = 0;
    while (now < s->given && !(s->x->snap[now].interval.t_s > end_s)) now++;
    if (now == 0 || now == *version) return false;
    *version = now;
    out->snap = s->x->snap[now - 1];
    out->snap.interval.length_s = fmin(length_s, out->snap.interval.t_s);
    out->verdict = s->x->verdict;
    return true;
}

static bool source_event(void *ctx, struct record_event *out) {
    struct source *s = ctx;
    if (s->events_left == 0) return false;
    *out = s->event;
    s->events_left--;
    return true;
}

static void source_status(void *ctx, struct provider_status *out) {
    *out = ((struct source *)ctx)->status;
}

struct rig {
    struct source source;
    struct provider provider;
    struct ui_setup setup;
    struct screen screen;
    struct canvas canvas;
};

static int rig_new(void **state) {
    struct rig *r = calloc(1, sizeof *r);
    r->source.x = ui_fixture_new(UI_LIVE);
    r->source.given = 40;
    r->provider = (struct provider){.ctx = &r->source,
                                    .run = &r->source.x->run,
                                    .planned_s = 90,
                                    .interval_s = 1,
                                    .generation = "none",
                                    .next = source_next,
                                    .at = source_at,
                                    .step = source_step,
                                    .window = source_window,
                                    .event = source_event,
                                    .status = source_status};
    r->setup =
        (struct ui_setup){.provider = &r->provider, .commands = command_queue_new(), .at_s = KVF_MISSING};
    screen_init(&r->screen, &r->setup);
    canvas_init(&r->canvas, 24, 80, r->setup.style);
    *state = r;
    return 0;
}

static int rig_free(void **state) {
    struct rig *r = *state;
    screen_free(&r->screen);
    canvas_free(&r->canvas);
    command_queue_free(r->setup.commands);
    ui_fixture_free(r->source.x);
    free(r);
    return 0;
}

static void feed(struct rig *r) {
    bool more = true;
    while (more) screen_feed(&r->screen, 10, &more);
}

static enum screen_wish press(struct rig *r, int code) {
    return screen_key(&r->screen, &r->canvas, code, 0, 0);
}

static void type(struct rig *r, const char *text) {
    for (; *text; text++) assert_int_equal(press(r, *text), WISH_NOTHING);
}

/* Whether the picture, drawn now, holds a text. */
static bool shows(struct rig *r, const char *text) {
    struct buf out = {0};
    screen_draw(&r->screen, &r->canvas);
    canvas_text(&r->canvas, &out);
    bool found = strstr(buf_text(&out), text) != NULL;
    buf_free(&out);
    return found;
}

static void expect_command(struct rig *r, enum command_kind kind, uint64_t value, const char *text) {
    struct command c = {0};
    assert_true(command_take(r->setup.commands, &c));
    assert_int_equal(c.kind, kind);
    assert_int_equal(c.value, value);
    if (text) assert_string_equal(c.text, text);
    assert_false(command_take(r->setup.commands, &c));
}

static void expect_no_command(struct rig *r) {
    struct command c;
    assert_false(command_take(r->setup.commands, &c));
}

static void test_views(void **state) {
    struct rig *r = *state;
    feed(r);
    for (int i = 0; i < 9; i++) {
        press(r, '1' + i);
        assert_int_equal(r->screen.view, i);
    }
    press(r, '0');
    assert_int_equal(r->screen.view, PANEL_pods);
    press(r, '\t');
    assert_int_equal(r->screen.view, PANEL_numbers);
    press(r, '\t');
    assert_int_equal(r->screen.view, PANEL_evidence);
    press(r, '\t');
    assert_int_equal(r->screen.view, PANEL_help);
    press(r, '\t');
    assert_int_equal(r->screen.view, PANEL_overview);
    for (int i = 0; i < 6; i++) press(r, KEY_CODE_BACK_TAB);
    assert_int_equal(r->screen.view, PANEL_log);
    press(r, 'b');
    assert_int_equal(r->screen.view, PANEL_evidence);
    press(r, '?');
    press(r, '?');
    assert_int_equal(r->screen.view, PANEL_log);
    press(r, 'b');
    press(r, 'b');
    assert_int_equal(r->screen.view, PANEL_log);
    press(r, '?');
    assert_int_equal(r->screen.view, PANEL_help);
    press(r, '?');
    assert_int_equal(r->screen.view, PANEL_log);
    expect_no_command(r);
}

static void test_users(void **state) {
    struct rig *r = *state;
    press(r, '+');
    expect_no_command(r); /* nothing is known of the users yet */
    feed(r);
    r->screen.newest.interval.users = 50;
    press(r, '+');
    expect_command(r, COMMAND_USERS, 55, "key");
    press(r, '+'); /* on top of what was asked for, which is not to be seen yet */
    expect_command(r, COMMAND_USERS, 60, NULL);
    press(r, '-');
    expect_command(r, COMMAND_USERS, 54, NULL);
    press(r, ']');
    expect_command(r, COMMAND_USERS, 108, NULL);
    press(r, '[');
    expect_command(r, COMMAND_USERS, 54, NULL);
    r->screen.users_until_ns = 0;
    r->screen.newest.interval.users = 1;
    press(r, '-');
    press(r, '[');
    expect_no_command(r);
    assert_true(shows(r, "users stay at 1"));
    press(r, '+');
    expect_command(r, COMMAND_USERS, 2, NULL);
    for (int i = 0; i < 70; i++) {
        struct command c;
        press(r, ']');
        while (command_take(r->setup.commands, &c)) assert_in_range(c.value, 3, COMMAND_USERS_MAX);
    }
    assert_int_equal(r->screen.users, COMMAND_USERS_MAX);
    assert_true(shows(r, "no more by hand"));
    r->screen.users_until_ns = 0;
    r->screen.newest.interval.users = 0; /* of a trace */
    press(r, '+');
    expect_no_command(r);
    assert_true(shows(r, "do not wait for answers"));
}

static void test_pause_generation_autoscaler(void **state) {
    struct rig *r = *state;
    feed(r);
    press(r, ' ');
    expect_command(r, COMMAND_PAUSE, 0, "key");
    press(r, ' '); /* the engine has not obeyed yet */
    expect_command(r, COMMAND_RESUME, 0, "key");
    r->screen.pause_until_ns = 0;
    r->screen.newest.interval.paused = 1;
    press(r, ' ');
    expect_command(r, COMMAND_RESUME, 0, "key");
    press(r, 'g');
    expect_command(r, COMMAND_GENERATION, 2000000, "key");
    press(r, 'g');
    expect_command(r, COMMAND_GENERATION, 30000000, "key");
    press(r, 'g');
    expect_command(r, COMMAND_GENERATION, 0, "key");
    press(r, 'a');
    expect_command(r, COMMAND_AUTOSCALER, 1, NULL);
    press(r, 'a');
    expect_command(r, COMMAND_AUTOSCALER, 2, NULL);
    press(r, 'a');
    expect_command(r, COMMAND_AUTOSCALER, 0, NULL);
}

/* A pressed key's effect shows until the engine's event reports the outcome; without an event nothing has
 * changed. */
static void test_autoscaler_is_what_the_run_says(void **state) {
    struct rig *r = *state;
    feed(r);
    assert_string_equal(screen_autoscaler(&r->screen), "off");
    press(r, 'a');
    assert_string_equal(screen_autoscaler(&r->screen), "qos");
    r->screen.autoscaler_until_ns = 0;
    assert_string_equal(screen_autoscaler(&r->screen), "off"); /* it was refused */
    struct record_event e = {.t_s = 41, .level = "info", .kind = "autoscaler", .value = "capacity"};
    history_event(r->screen.history, &e);
    assert_string_equal(screen_autoscaler(&r->screen), "capacity");
    expect_command(r, COMMAND_AUTOSCALER, 1, "key");
    press(r, '+');
    expect_command(r, COMMAND_USERS, 66, "key");
    assert_string_equal(screen_autoscaler(&r->screen), "off");
    assert_true(shows(r, "that ends the autoscaler"));
    r->screen.autoscaler_until_ns = 0;
    e = (struct record_event){.t_s = 43, .level = "info", .kind = "autoscaler", .value = "off"};
    history_event(r->screen.history, &e);
    assert_string_equal(screen_autoscaler(&r->screen), "off");
    r->screen.newest.interval.users = 0; /* of a trace */
    press(r, 'a');
    expect_no_command(r);
    assert_true(shows(r, "no users to steer"));
}

static void test_mark(void **state) {
    struct rig *r = *state;
    feed(r);
    press(r, 'm');
    type(r, "cache qwarm 12+");
    for (int i = 0; i < 3; i++) press(r, KEY_CODE_BACKSPACE);
    assert_true(shows(r, "Note: cache qwarm"));
    expect_no_command(r);
    press(r, KEY_CODE_ENTER);
    expect_command(r, COMMAND_MARK, 0, "cache qwarm ");
    press(r, 'm');
    type(r, "no");
    press(r, KEY_CODE_ESCAPE);
    press(r, 'm');
    press(r, KEY_CODE_ENTER); /* an empty note is none */
    expect_no_command(r);
    press(r, 'm');
    assert_int_equal(press(r, KEY_CODE_SUSPEND), WISH_SUSPEND); /* the question stands meanwhile */
    assert_int_equal(press(r, KEY_CODE_ABORT), WISH_ABORT);
    screen_draw(&r->screen, &r->canvas);
    for (int col = 0; col < 80; col++) screen_key(&r->screen, &r->canvas, KEY_CODE_MOUSE, 23, col);
    assert_string_equal(r->screen.prompt.text, ""); /* clicks type nothing */
    press(r, KEY_CODE_ESCAPE);
}

static void test_filter(void **state) {
    struct rig *r = *state;
    feed(r);
    press(r, '/');
    assert_int_equal(r->screen.asking, ASKING_NOTHING);
    press(r, '7');
    press(r, '/');
    type(r, "batch");
    press(r, KEY_CODE_ENTER);
    assert_string_equal(r->screen.table[PANEL_requests].filter, "batch");
    assert_string_equal(r->screen.table[PANEL_log].filter, "");
    assert_true(shows(r, "age")); /* sorts, the oldest first */
    press(r, 'O');
    assert_false(r->screen.table[PANEL_requests].descending);
    press(r, 'o');
    press(r, 'o');
    assert_int_equal(r->screen.table[PANEL_requests].sort, 0);
    press(r, 'o');
    assert_int_equal(r->screen.table[PANEL_requests].sort, 1);
    shows(r, ""); /* how far the list goes is known by drawing it */
    press(r, KEY_CODE_DOWN);
    press(r, KEY_CODE_DOWN);
    press(r, KEY_CODE_UP);
    assert_int_equal(r->screen.table[PANEL_requests].selected, 1);
    for (int i = 0; i < 9; i++) press(r, KEY_CODE_PAGE_DOWN);
    assert_in_range(r->screen.table[PANEL_requests].selected, 2, 19);
    press(r, KEY_CODE_PAGE_UP);
    assert_int_equal(r->screen.table[PANEL_requests].selected, 0);
}

static void test_quit_asks_once(void **state) {
    struct rig *r = *state;
    feed(r);
    assert_int_equal(press(r, 'q'), WISH_NOTHING);
    assert_true(shows(r, "Stop the run"));
    expect_no_command(r);
    press(r, KEY_CODE_DOWN); /* a wheel that turns answers nothing */
    assert_int_equal(r->screen.asking, ASKING_QUIT);
    assert_int_equal(press(r, 'n'), WISH_NOTHING);
    expect_no_command(r);
    assert_false(r->screen.stop_sent);
    const int agree[] = {'y', 'q', KEY_CODE_ENTER, KEY_CODE_INTERRUPT};
    for (size_t i = 0; i < sizeof agree / sizeof agree[0]; i++) {
        press(r, i % 2 ? KEY_CODE_INTERRUPT : 'q');
        press(r, agree[i]);
        expect_command(r, COMMAND_STOP, 0, "key");
        assert_true(r->screen.stop_sent);
    }
    assert_int_equal(press(r, KEY_CODE_SUSPEND), WISH_SUSPEND);
    assert_int_equal(press(r, KEY_CODE_REDRAW), WISH_REDRAW);
    assert_int_equal(press(r, KEY_CODE_ABORT), WISH_ABORT);
}

static void test_end(void **state) {
    struct rig *r = *state;
    feed(r);
    r->source.status.ended = true;
    feed(r);
    assert_int_equal(press(r, '2'), WISH_NOTHING); /* looking on is no leaving */
    assert_int_equal(press(r, KEY_CODE_LEFT), WISH_NOTHING);
    assert_true(r->screen.back);
    assert_int_equal(press(r, KEY_CODE_ESCAPE), WISH_NOTHING); /* closes what is open, and leaves nothing */
    assert_false(r->screen.back);
    assert_int_equal(press(r, KEY_CODE_ESCAPE), WISH_NOTHING);
    const int leave[] = {'q', KEY_CODE_ENTER, ' ', 'x', '+', KEY_CODE_INTERRUPT};
    for (size_t i = 0; i < sizeof leave / sizeof leave[0]; i++)
        assert_int_equal(press(r, leave[i]), WISH_LEAVE);
    expect_no_command(r);
}

static void test_watch_changes_nothing(void **state) {
    struct rig *r = *state;
    struct command_queue *commands = r->setup.commands;
    r->setup.commands = NULL;
    feed(r);
    const int keys[] = {' ', '+', ']', 'g', 'm'};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        press(r, keys[i]);
        assert_int_equal(r->screen.asking, ASKING_NOTHING);
        assert_true(shows(r, "watched, not changed"));
    }
    assert_int_equal(press(r, 'q'), WISH_LEAVE);
    r->source.status.ended = true;
    feed(r);
    assert_int_equal(press(r, 'x'), WISH_NOTHING); /* nobody waits for the end of a watch */
    r->setup.commands = commands;
    expect_no_command(r);
}

static void expect_moment(const struct rig *r, double t_s) {
    assert_true(r->screen.back);
    assert_true(fabs(r->screen.past.interval.t_s - t_s) < 1e-9);
}

static void test_time(void **state) {
    struct rig *r = *state;
    feed(r);
    const struct snapshot *snap = r->source.x->snap;
    double newest = snap[39].interval.t_s;
    assert_true(fabs(r->screen.newest_s - newest) < 1e-9);
    press(r, KEY_CODE_RIGHT); /* there is nothing newer */
    assert_false(r->screen.back);
    press(r, KEY_CODE_LEFT);
    expect_moment(r, snap[38].interval.t_s);
    press(r, KEY_CODE_SHIFT_LEFT);
    expect_moment(r, snap[28].interval.t_s);
    r->source.given = 60; /* the run goes on meanwhile */
    feed(r);
    expect_moment(r, snap[28].interval.t_s);
    press(r, KEY_CODE_HOME);
    expect_moment(r, snap[0].interval.t_s);
    press(r, KEY_CODE_LEFT);
    expect_moment(r, snap[0].interval.t_s);
    press(r, 't');
    type(r, "0:30");
    press(r, KEY_CODE_ENTER);
    assert_true(r->screen.back && r->screen.past.interval.t_s <= 30);
    assert_true(r->screen.past.interval.t_s > 28);
    press(r, KEY_CODE_END);
    assert_false(r->screen.back);
    press(r, KEY_CODE_LEFT);
    press(r, KEY_CODE_RIGHT); /* the newest again: live */
    assert_false(r->screen.back);
    press(r, 't');
    type(r, "soon");
    press(r, KEY_CODE_ENTER);
    assert_false(r->screen.back);
    assert_true(shows(r, "\"soon\" is not a run time"));
    r->provider.at = NULL;
    r->provider.step = NULL;
    press(r, KEY_CODE_LEFT);
    assert_false(r->screen.back);
    assert_true(shows(r, "earlier moments are not available"));
}

static void test_freeze(void **state) {
    struct rig *r = *state;
    feed(r);
    press(r, 'p');
    double frozen = r->screen.newest_s;
    assert_true(shows(r, "FROZEN"));
    r->source.given = 60;
    feed(r);
    expect_moment(r, frozen);
    assert_true(r->screen.newest_s > frozen);
    press(r, 'p');
    assert_false(r->screen.back);
}

static void test_peek(void **state) {
    struct rig *r = *state;
    feed(r);
    double newest = r->screen.newest_s;
    r->source.x->snap[40].peek = true;
    r->source.x->snap[40].interval.paused = 1;
    r->source.x->snap[40].interval.users = 777;
    r->source.given = 41;
    feed(r);
    assert_int_equal(r->screen.newest.interval.users, 777); /* shown */
    assert_true(fabs(r->screen.newest_s - newest) < 1e-9);  /* and no interval */
    double from, to;
    history_span(r->screen.history, ZOOM_MINUTE, (double)NAN, &from, &to);
    assert_true(fabs(to - newest) < 1e-9);
    assert_true(shows(r, "PAUSED"));
}

static void test_events(void **state) {
    struct rig *r = *state;
    feed(r);
    press(r, '6'); /* the overview shows the last events as well */
    size_t before = history_events(r->screen.history);
    r->source.event = (struct record_event){.t_s = 40, .level = "warning", .message = "the disk is slow"};
    r->source.events_left = 1;
    feed(r);
    assert_int_equal(history_events(r->screen.history), before + 1);
    assert_true(shows(r, "the disk is slow"));
    r->screen.message_until_ns = 1;
    assert_true(screen_tick(&r->screen));
    assert_false(shows(r, "the disk is slow"));
}

static void test_many_events(void **state) {
    struct rig *r = *state;
    feed(r);
    r->source.event = (struct record_event){.t_s = 40, .level = "info", .message = "again"};
    r->source.events_left = 5000;
    feed(r);
    assert_int_equal(r->source.events_left, 0);
}

static void test_mouse(void **state) {
    struct rig *r = *state;
    feed(r);
    screen_draw(&r->screen, &r->canvas);
    bool found = false;
    for (unsigned i = 0; i < r->canvas.hots; i++) {
        const struct hot *h = &r->canvas.hot[i];
        if (h->key != '?') continue;
        found = true;
        screen_key(&r->screen, &r->canvas, KEY_CODE_MOUSE, h->at.row, h->at.col);
    }
    assert_true(found);
    assert_int_equal(r->screen.view, PANEL_help);
    assert_int_equal(screen_key(&r->screen, &r->canvas, KEY_CODE_MOUSE, 5, 79), WISH_NOTHING);
}

/* Figures, headings and the verdict are of one window, at the newest interval and at an earlier one. */
static void test_window(void **state) {
    struct rig *r = *state;
    struct buf out = {0};
    static const struct {
        double length_s;
        const char *heading;
    } spans[] = {
        {10, "Tier (10 s)"}, {40, "Tier (60 s)"}, {40, "Tier (run)"}, {1, "Tier (1 s)"}, {10, "(10 s)"}};
    feed(r);
    assert_true(r->screen.windowed);
    for (size_t i = 0; i < sizeof spans / sizeof *spans; i++) {
        screen_draw(&r->screen, &r->canvas);
        canvas_text(&r->canvas, &out);
        assert_non_null(strstr(buf_text(&out), spans[i].heading));
        assert_non_null(strstr(buf_text(&out), "LIMITED BY nvme reads, 93 % busy"));
        assert_true(r->screen.window.snap.interval.length_s == spans[i].length_s);
        buf_free(&out);
        press(r, 'i');
    }
    press(r, KEY_CODE_LEFT);
    assert_true(r->screen.back && r->screen.past_windowed);
    assert_true(r->screen.past_window.snap.interval.t_s == 39);
    press(r, 'i');
    press(r, 'i');
    assert_true(r->screen.past_window.snap.interval.length_s == 1);
    press(r, 'p');
    assert_false(r->screen.back);
    press(r, 'p'); /* frozen: what comes later does not change it */
    r->source.given = 50;
    feed(r);
    assert_true(r->screen.past_window.snap.interval.t_s == 40 && r->screen.window.snap.interval.t_s == 50);
    r->source.status.ended = true;
    press(r, 'p');
    feed(r);
    enum windows_span before = r->screen.span;
    press(r, 'i');
    assert_int_equal(r->screen.span, before);
    expect_no_command(r);
}

static void test_zoom_heat_scheme(void **state) {
    struct rig *r = *state;
    feed(r);
    assert_int_equal(r->screen.zoom, ZOOM_MINUTE);
    press(r, 'z');
    assert_int_equal(r->screen.zoom, ZOOM_TEN);
    press(r, 'Z');
    press(r, 'Z');
    assert_int_equal(r->screen.zoom, ZOOM_ALL);
    press(r, 'e');
    assert_int_equal(r->screen.heat, 1);
    press(r, 'c');
    assert_int_equal(r->screen.style.scheme, SCHEME_LIGHT);
}

static void test_save(void **state) {
    struct rig *r = *state;
    char folder[] = "/tmp/kvfall-test-XXXXXX", old[4096], path[300] = "", text[20000];
    assert_non_null(getcwd(old, sizeof old));
    assert_non_null(mkdtemp(folder));
    assert_int_equal(chdir(folder), 0);
    feed(r);
    r->screen.style.scheme = SCHEME_MONO; /* a text has no colours to tell curves apart */
    screen_draw(&r->screen, &r->canvas);
    struct buf drawn = {0};
    canvas_text(&r->canvas, &drawn);
    press(r, 's');
    DIR *d = opendir(".");
    for (struct dirent *e; (e = readdir(d));)
        if (strncmp(e->d_name, "kvfall-overview-", 16) == 0) snprintf(path, sizeof path, "%s", e->d_name);
    closedir(d);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    size_t n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    assert_int_equal(n, drawn.len);
    assert_memory_equal(text, drawn.data, n);
    assert_true(shows(r, path));
    unlink(path);
    buf_free(&drawn);
    assert_int_equal(chdir(old), 0);
    rmdir(folder);
}

static void test_small(void **state) {
    struct rig *r = *state;
    feed(r);
    canvas_resize(&r->canvas, 9, 80);
    assert_true(shows(r, "40x10"));
    canvas_resize(&r->canvas, 1, 1);
    shows(r, "");
}

static void test_parse_time(void **state) {
    (void)state;
    static const struct {
        const char *text;
        double s;
    } good[] = {{"42", 42},  {"0:42", 42},   {"00:42", 42},     {"1:02:07", 3727}, {"90s", 90},
                {"5m", 300}, {"23.5", 23.5}, {"0:06.25", 6.25}, {"0", 0}};
    static const char *const bad[] = {"",        "x",  "1:",   ":1",    "1:60",
                                      "1:2:3:4", "-1", "1:-2", "1.5:2", "99999999999"};
    double s;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        assert_true(ui_parse_time(good[i].text, &s));
        assert_true(fabs(s - good[i].s) < 1e-9);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) assert_false(ui_parse_time(bad[i], &s));
}

static void test_dump(void **state) {
    struct rig *r = *state;
    struct buf out = {0};
    struct err e = {0};
    r->source.given = 0;
    struct ui_picture picture = {5, "overview", 24, 80, r->setup.style, false};
    assert_int_equal(ui_dump(&r->provider, &picture, &out, &e), -KVF_ERR_UNAVAILABLE);
    r->source.given = UI_INTERVALS;
    picture.at_s = 10;
    picture.view = "tiers";
    assert_int_equal(ui_dump(&r->provider, &picture, &out, NULL), 0);
    assert_non_null(strstr(buf_text(&out), "00:10 /"));
    int rows = 0;
    for (size_t i = 0; i < out.len; i++) rows += out.data[i] == '\n';
    assert_int_equal(rows, 24);
    buf_free(&out);
}

#define CASE(name) cmocka_unit_test_setup_teardown(test_##name, rig_new, rig_free)
int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(views),
        CASE(users),
        CASE(pause_generation_autoscaler),
        CASE(autoscaler_is_what_the_run_says),
        CASE(mark),
        CASE(filter),
        CASE(quit_asks_once),
        CASE(end),
        CASE(watch_changes_nothing),
        CASE(time),
        CASE(freeze),
        CASE(peek),
        CASE(events),
        CASE(many_events),
        CASE(mouse),
        CASE(window),
        CASE(zoom_heat_scheme),
        CASE(save),
        CASE(small),
        CASE(parse_time),
        CASE(dump),
    };
    setlocale(LC_CTYPE, "C.UTF-8");
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("screen", tests, NULL, NULL);
}
