/* Keys of the screen. The help is read for them, and each is pressed for what it says. */
#include <inttypes.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <locale.h>
#include <unistd.h>

#include "record/phrase.h"
#include "tests/unit/golden_fixture.h"
#include "tests/unit/ui_fixture.h"
#include "ui/command_line.h"
#include "ui/keyboard.h"
#include "ui/screen.h"

/* A provider over all intervals of the fixture, with windows and a past. */
static bool source_next(void *ctx, struct snapshot *out, uint64_t *version) {
    struct ui_fixture *x = ctx;
    if (*version >= UI_INTERVALS) return false;
    *out = x->snap[(*version)++];
    return true;
}

static bool source_at(void *ctx, double t_s, struct snapshot *out) {
    struct ui_fixture *x = ctx;
    *out = x->snap[0];
    for (int i = 0; i < UI_INTERVALS && x->snap[i].interval.t_s <= t_s; i++) *out = x->snap[i];
    return true;
}

static bool source_step(void *ctx, double t_s, int steps, struct snapshot *out) {
    int i = (int)t_s - 1 + steps;
    *out = ((struct ui_fixture *)ctx)->snap[i < 0 ? 0 : i >= UI_INTERVALS ? UI_INTERVALS - 1 : i];
    return true;
}

static bool source_window(void *ctx, enum windows_span span, double end_s, struct windows_view *out,
                          uint64_t *version) {
    struct ui_fixture *x = ctx;
    if (*version) return false;
    *version = 1;
    source_at(ctx, isnan(end_s) ? UI_INTERVALS : end_s, &out->snap);
    out->snap.interval.length_s = windows_seconds(span);
    out->verdict = x->verdict;
    return true;
}

static void source_status(void *ctx, struct provider_status *out) {
    (void)ctx;
    *out = (struct provider_status){.ended = false};
}

struct rig {
    struct ui_fixture *x;
    struct provider provider;
    struct ui_setup setup;
    struct screen screen;
    struct canvas canvas;
};

/* The state that a key can change; a message alone does not count. */
struct effect {
    size_t view;
    enum zoom zoom;
    enum windows_span span;
    enum scheme scheme;
    enum screen_asking asking;
    struct frame_table table;
    int heat;
    bool back, frozen, detail;
    double past_s;
    unsigned files;
};

static struct effect effect_of(const struct screen *s) {
    struct effect e;
    memset(&e, 0, sizeof e);
    e.view = s->view, e.zoom = s->zoom, e.span = s->span, e.scheme = s->style.scheme, e.asking = s->asking;
    e.table = s->table[s->view], e.heat = s->heat, e.back = s->back, e.frozen = s->frozen,
    e.detail = s->detail;
    e.past_s = s->back ? s->past.interval.t_s : 0;
    e.files = golden_files_here();
    return e;
}

static void press(struct rig *r, int code) {
    assert_int_equal(screen_key(&r->screen, &r->canvas, code, 0, 0), WISH_NOTHING);
    screen_draw(&r->screen, &r->canvas);
}

static struct rig *rig_new(bool simulated) {
    struct rig *r = calloc(1, sizeof *r);
    bool more = true;
    r->x = ui_fixture_new(UI_LIVE);
    for (int i = 0; i < UI_INTERVALS; i++) r->x->snap[i].simulated = simulated, r->x->snap[i].speed = 60;
    r->provider = (struct provider){.ctx = r->x,
                                    .run = &r->x->run,
                                    .planned_s = 90,
                                    .interval_s = 1,
                                    .generation = "none",
                                    .autoscaler = "off",
                                    .next = source_next,
                                    .at = source_at,
                                    .step = source_step,
                                    .window = source_window,
                                    .status = source_status};
    r->setup =
        (struct ui_setup){.provider = &r->provider, .commands = command_queue_new(), .at_s = KVF_MISSING};
    screen_init(&r->screen, &r->setup);
    canvas_init(&r->canvas, 40, 120, r->setup.style);
    while (more) screen_feed(&r->screen, 100, &more);
    screen_draw(&r->screen, &r->canvas);
    return r;
}

static void rig_free(struct rig *r) {
    screen_free(&r->screen);
    canvas_free(&r->canvas);
    command_queue_free(r->setup.commands);
    ui_fixture_free(r->x);
    free(r);
}

/* Situations in which keys have something to do: a list with rows above and below the selected one, an
 * earlier moment with others before and after it, a simulation, help. */
enum { OVERVIEW, REQUESTS, PAST, SIMULATION, EVIDENCE, SITUATIONS };
static struct rig *situation(int which) {
    struct rig *r = rig_new(which == SIMULATION);
    if (which == REQUESTS) {
        press(r, '7');
        for (int i = 0; i < 12; i++) press(r, KEY_CODE_DOWN);
    }
    for (int i = 0; which == PAST && i < 30; i++) press(r, KEY_CODE_LEFT);
    if (which == EVIDENCE) press(r, 'b');
    return r;
}

/* ---- every key of the help ---- */

/* The difference that a key made: "view tiers", "users 66", "asks for a filter". */
static void difference(const struct rig *r, const struct effect *a, const struct effect *b, char *out,
                       size_t len) {
    static const char *const asking[] = {"nothing", "a mark", "a filter", "a time", "a command", "quitting"};
    static const char *const commands[] = {
#define X(id, name) name,
        COMMAND_LIST(X)
#undef X
    };
    struct phrase t = {.out = out, .cap = len};
    struct command c;
    while (command_take(r->setup.commands, &c))
        phrase_add(&t, ", %s %" PRIu64 " %s", commands[c.kind], c.value, c.text);
    if (a->view != b->view) phrase_add(&t, ", view %s", panels[b->view]->name);
    if (a->zoom != b->zoom) phrase_add(&t, ", zoom %+d", (int)b->zoom - (int)a->zoom);
    if (a->span != b->span) phrase_add(&t, ", window %s", windows_name(b->span));
    if (a->scheme != b->scheme) phrase_add(&t, ", theme %s", scheme_name(b->scheme));
    if (a->asking != b->asking) phrase_add(&t, ", asks for %s", asking[b->asking]);
    bool same = a->view == b->view; /* each view has a table of its own */
    if (same && a->table.sort != b->table.sort) phrase_add(&t, ", column %+d", b->table.sort - a->table.sort);
    if (same && a->table.descending != b->table.descending)
        phrase_add(&t, ", %s", b->table.descending ? "descending" : "ascending");
    if (same && a->table.selected != b->table.selected)
        phrase_add(&t, ", row %+d", b->table.selected - a->table.selected);
    if (a->heat != b->heat) phrase_add(&t, ", heat map %+d", b->heat - a->heat);
    if (a->detail != b->detail) phrase_add(&t, ", detail %s", b->detail ? "open" : "closed");
    if (a->frozen != b->frozen) phrase_add(&t, ", %s", b->frozen ? "frozen" : "follows");
    if (a->back && !b->back) phrase_add(&t, ", the newest");
    if (b->back && a->past_s != b->past_s) phrase_add(&t, ", at %g s", b->past_s);
    if (a->files != b->files) phrase_add(&t, ", %u file", b->files - a->files);
    if (t.len > 0) memmove(out, out + 2, strlen(out + 2) + 1);
}

/* The situation is drawn anew for each key. */
static void pressed(int which, int code, char *out, size_t len) {
    static const char *const wishes[] = {"", "suspend", "redraw", "abort"};
    struct rig *r = situation(which);
    struct effect before = effect_of(&r->screen);
    enum screen_wish wish = screen_key(&r->screen, &r->canvas, code, 0, 0);
    struct effect after = effect_of(&r->screen);
    assert_true(wish <= WISH_ABORT);
    snprintf(out, len, "%s", wishes[wish]);
    if (wish == WISH_NOTHING) difference(r, &before, &after, out, len);
    rig_free(r);
}

static const struct {
    const char *key;
    int where;
    const char *does;
} pressing[] = {
    {"1", REQUESTS, "view overview"},
    {"2", OVERVIEW, "view tiers"},
    {"3", OVERVIEW, "view latency"},
    {"4", OVERVIEW, "view queue"},
    {"5", OVERVIEW, "view autoscaler"},
    {"6", OVERVIEW, "view system"},
    {"7", OVERVIEW, "view requests"},
    {"8", OVERVIEW, "view log"},
    {"9", OVERVIEW, "view hosts"},
    {"0", OVERVIEW, "view pods"},
    {"n", OVERVIEW, "view numbers"},
    {"b", OVERVIEW, "view evidence"},
    {"?", OVERVIEW, "view help"},
    {"Enter", REQUESTS, "detail open"},
    {"Esc", EVIDENCE, "view overview"},
    {":", OVERVIEW, "asks for a command"},
    {"Tab", OVERVIEW, "view tiers"},
    {"shift-Tab", REQUESTS, "view system"},
    {"space", OVERVIEW, "pause 0 key"},
    {"+", OVERVIEW, "users 55 key"},
    {"=", OVERVIEW, "users 55 key"},
    {"-", OVERVIEW, "users 45 key"},
    {"]", OVERVIEW, "users 100 key"},
    {"[", OVERVIEW, "users 25 key"},
    {"g", OVERVIEW, "generation 2000000 key"},
    {"a", OVERVIEW, "autoscaler 1 key"},
    {">", SIMULATION, "speed 120000000 key"},
    {"<", SIMULATION, "speed 30000000 key"},
    {"f", SIMULATION, "speed 0 key"},
    {"m", OVERVIEW, "asks for a mark"},
    {"s", OVERVIEW, "1 file"},
    {"S", OVERVIEW, "1 file"},
    {"p", OVERVIEW, "frozen, at 90 s"},
    {"i", OVERVIEW, "window 60 s"},
    {"z", OVERVIEW, "zoom +1"},
    {"Z", OVERVIEW, "zoom +2"},
    {"e", OVERVIEW, "heat map +1"},
    {"c", OVERVIEW, "theme light"},
    {"/", REQUESTS, "asks for a filter"},
    {"o", REQUESTS, "column +1"},
    {"O", REQUESTS, "ascending"},
    {"up", REQUESTS, "row -1"},
    {"k", REQUESTS, "row -1"},
    {"down", REQUESTS, "row +1"},
    {"j", REQUESTS, "row +1"},
    {"page-up", REQUESTS, "row -10"},
    {"page-down", REQUESTS, "row +7"},
    {"left", PAST, "at 59 s"},
    {"h", PAST, "at 59 s"},
    {"right", PAST, "at 61 s"},
    {"l", PAST, "at 61 s"},
    {"shift-left", PAST, "at 50 s"},
    {"shift-right", PAST, "at 70 s"},
    {"Home", PAST, "at 1 s"},
    {"End", PAST, "the newest"},
    {"t", OVERVIEW, "asks for a time"},
    {"Ctrl-L", OVERVIEW, "redraw"},
    {"Ctrl-Z", OVERVIEW, "suspend"},
    {"q", OVERVIEW, "asks for quitting"},
    {"Ctrl-C", OVERVIEW, "asks for quitting"},
    {"Ctrl-\\", OVERVIEW, "abort"},
};

/* The key of that name does what it is there for. */
static void expect_key(const char *name) {
    size_t i = 0, k = 0, count = sizeof pressing / sizeof *pressing;
    char does[300];
    while (i < count && strcmp(pressing[i].key, name) != 0) i++;
    if (i == count) fail_msg("the help has a key %s, which is pressed by no test", name);
    while (k < keyboard_count && strcmp(keyboard[k].name, name) != 0) k++;
    if (k == keyboard_count) fail_msg("the help has a key %s, which nothing knows", name);
    pressed(pressing[i].where, keyboard[k].code, does, sizeof does);
    if (strcmp(does, pressing[i].does) != 0)
        fail_msg("the key %s: \"%s\", not \"%s\"", name, does, pressing[i].does);
}

/* Names at the beginning of a row of the help, as "up, k"; returns how many there are. */
static size_t expect_keys(const char *names, size_t len) {
    char text[40];
    size_t n = 0;
    snprintf(text, sizeof text, "%.*s", (int)len, names);
    for (char *save = NULL, *one = strtok_r(text, ", ", &save); one; one = strtok_r(NULL, ", ", &save), n++)
        expect_key(one);
    return n;
}

static void every_key_of_the_help_does_what_it_says(void **state) {
    (void)state;
    struct rig *r = rig_new(false);
    struct buf b = {0};
    size_t keys = 0;
    canvas_free(&r->canvas);
    canvas_init(&r->canvas, 70, 200, r->setup.style);
    press(r, '?');
    canvas_text(&r->canvas, &b);
    const char *row = strstr(buf_text(&b), "\n Keys");
    assert_non_null(row);
    for (row = strchr(row + 1, '\n'); row && row[1] == ' ' && row[2] != ' ' && row[2] != '\n';
         row = strchr(row + 1, '\n')) {
        const char *end = strstr(row + 2, "  ");
        assert_non_null(end);
        keys += expect_keys(row + 2, (size_t)(end - row - 2));
    }
    for (int view = 0; panels_key(view) != 'b'; view++) { /* their keys stand before their names */
        char shown[40], name[2] = {(char)panels_key(view), '\0'};
        snprintf(shown, sizeof shown, " %s %s ", name, panels[view]->name);
        if (!strstr(buf_text(&b), shown)) fail_msg("the help does not have %s", shown);
        expect_key(name);
        keys++;
    }
    assert_int_equal(keys, keyboard_count);
    assert_int_equal(keys, sizeof pressing / sizeof *pressing);
    buf_free(&b);
    rig_free(r);
    char none[300];
    pressed(OVERVIEW, 'x', none, sizeof none); /* one that is in no table */
    assert_string_equal(none, "");
}

static void type(struct rig *r, const char *text) {
    for (; *text; text++) press(r, (unsigned char)*text);
}

static bool shows(struct rig *r, const char *text) {
    struct buf b = {0};
    screen_draw(&r->screen, &r->canvas);
    canvas_text(&r->canvas, &b);
    bool found = strstr(buf_text(&b), text);
    buf_free(&b);
    return found;
}

static void commands_do_what_keys_do(void **state) {
    (void)state;
    struct rig *r = rig_new(false);
    struct command c;
    press(r, ':');
    type(r, "view ti\t");
    assert_string_equal(r->screen.prompt.text, "view tiers");
    press(r, KEY_CODE_ENTER);
    assert_int_equal(r->screen.view, PANEL_tiers);
    press(r, ':');
    type(r, "se\tth\tcolour-blind\r");
    assert_int_equal(r->screen.style.scheme, SCHEME_COLOUR_BLIND);
    press(r, ':');
    type(r, "users 70\r");
    assert_true(command_take(r->setup.commands, &c) && c.kind == COMMAND_USERS && c.value == 70);
    press(r, ':');
    type(r, "set window run\r");
    assert_int_equal(r->screen.span, WINDOWS_RUN);
    press(r, ':');
    type(r, "time 0:42\r");
    assert_true(r->screen.back && r->screen.past.interval.t_s == 42);
    press(r, ':');
    type(r, "time end\r");
    assert_false(r->screen.back);
    press(r, ':');
    type(r, "pause\r");
    assert_true(command_take(r->setup.commands, &c) && c.kind == COMMAND_PAUSE);
    press(r, ':');
    type(r, "users many\r");
    assert_non_null(strstr(r->screen.message, "a number from 1"));
    press(r, ':');
    type(r, "fly\r");
    assert_non_null(strstr(r->screen.message, "there is no command \"fly\""));
    press(r, ':');
    type(r, "save here.txt\r");
    char *saved = golden_read("here.txt");
    assert_non_null(saved);
    assert_null(strstr(saved, ":save")); /* nor is the line that was typed in the picture */
    assert_non_null(strstr(saved, "? keys"));
    free(saved);
    press(r, ':');
    type(r, "save here.txt\r");
    assert_non_null(strstr(r->screen.message, "is there already"));
    press(r, ':');
    type(r, "save here.png\r");
    assert_non_null(strstr(r->screen.message, "end in .svg, .txt or .ansi"));
    press(r, ':');
    type(r, "quit\r");
    assert_int_equal(r->screen.asking, ASKING_QUIT);
    press(r, 'n');
    press(r, ':');
    press(r, KEY_CODE_ESCAPE);
    assert_int_equal(r->screen.asking, ASKING_NOTHING);
    assert_false(command_take(r->setup.commands, &c));
    rig_free(r);
}

static struct settings kept;
static int keep(const struct settings *now, struct buf *path, struct err *e) {
    kept = *now;
    buf_add(path, "/home/x/config");
    return kept.zoom == ZOOM_ALL ? err_set(e, KVF_ERR_IO, "the disk is full") : 0;
}

/* A setting shows at once and is kept. */
static void settings_are_set_shown_and_kept(void **state) {
    (void)state;
    struct rig *r = rig_new(false);
    press(r, '7');
    assert_true(shows(r, "context") && shows(r, "service"));
    press(r, ':');
    type(r, "set columns user,step,age\r");
    assert_true(shows(r, "step") && !shows(r, "context") && !shows(r, "turn"));
    press(r, ':');
    type(r, "set sort -us\t\r");
    assert_true(shows(r, "user▼"));
    press(r, ':');
    type(r, "set columns colour\r");
    assert_non_null(strstr(r->screen.message, "columns is all, user, "));
    press(r, ':');
    type(r, "save config\r");
    assert_non_null(strstr(r->screen.message, "no place to keep settings"));
    r->setup.keep = keep;
    press(r, '?');
    press(r, ':');
    type(r, "save config\r");
    assert_non_null(strstr(r->screen.message, "/home/x/config"));
    char text[100];
    assert_int_equal(kept.view, PANEL_requests); /* help is no view to begin with */
    assert_int_equal(kept.theme, SCHEMES);       /* nobody asked for one */
    assert_string_equal(setting_text(&kept, SETTING_COLUMNS, text, sizeof text), "user,step,age");
    assert_string_equal(setting_text(&kept, SETTING_SORT, text, sizeof text), "-user");
    press(r, 'c');
    press(r, ':');
    type(r, "set zoom all\r");
    press(r, ':');
    type(r, "save config\r");
    assert_string_equal(r->screen.message, "the disk is full");
    assert_int_equal(kept.theme, r->screen.style.scheme);
    r->setup.settings = &kept;
    struct screen again;
    screen_init(&again, &r->setup);
    struct settings now = screen_settings(&again);
    for (int id = 0; id < SETTINGS; id++) {
        char was[200];
        setting_text(&kept, (enum setting)id, was, sizeof was);
        assert_string_equal(setting_text(&now, (enum setting)id, text, sizeof text), was);
    }
    screen_free(&again);
    rig_free(r);
}

static void every_command_is_completed_and_carried_out(void **state) {
    (void)state;
    for (int i = 0; i < COMMAND_LINES; i++) {
        const char *name = command_line_name((enum command_line_id)i);
        char text[80], next[300];
        struct command_line line = command_line_parse(name);
        assert_int_equal(line.id, i);
        assert_string_equal(line.argument, "");
        snprintf(text, sizeof text, "%.*s", (int)strlen(name) - 1, name);
        assert_true(command_line_complete(text, sizeof text));
        assert_memory_equal(text, name, strlen(name));
        assert_non_null(strstr(command_line_next("", next, sizeof next), strrchr(name, ' ') ? "set" : name));
    }
    assert_int_equal(command_line_parse("us 5").id, COMMAND_LINE_USERS);
    assert_int_equal(command_line_parse("s 5").id, COMMAND_LINES); /* speed or save */
}

/* Rows go while the filter is typed; Escape takes it back, and then closes what is there. */
static void a_filter_works_while_it_is_typed(void **state) {
    (void)state;
    struct rig *r = rig_new(false);
    press(r, '7');
    press(r, '/');
    type(r, "bat");
    assert_string_equal(r->screen.table[PANEL_requests].filter, "bat");
    press(r, KEY_CODE_ESCAPE);
    assert_string_equal(r->screen.table[PANEL_requests].filter, "");
    press(r, '/');
    type(r, "batch\r");
    assert_string_equal(r->screen.table[PANEL_requests].filter, "batch");
    press(r, KEY_CODE_ENTER);
    assert_true(r->screen.detail);
    press(r, KEY_CODE_ESCAPE);
    assert_false(r->screen.detail);
    press(r, KEY_CODE_ESCAPE);
    assert_string_equal(r->screen.table[PANEL_requests].filter, "");
    press(r, KEY_CODE_ESCAPE); /* nothing is open: nothing is left */
    assert_int_equal(r->screen.view, PANEL_requests);
    rig_free(r);
}

static void enter_opens_a_request_and_the_time_of_an_event(void **state) {
    (void)state;
    struct rig *r = rig_new(false);
    struct record_event e = {.t_s = 31, .level = "info", .message = "users 60 by key"};
    press(r, '7');
    press(r, KEY_CODE_ENTER);
    assert_true(shows(r, "Turn ") && shows(r, "for a slot, then") && shows(r, "tokens of context"));
    assert_true(shows(r, "Enter user"));
    press(r, KEY_CODE_ENTER);
    struct command c;
    assert_true(command_take(r->setup.commands, &c) && c.kind == COMMAND_FOLLOW);
    char user[40];
    snprintf(user, sizeof user, "User %" PRIu64 ", ", c.value);
    assert_true(r->screen.opened == 1 && r->screen.open[0].number == c.value && shows(r, user));
    assert_true(shows(r, "Esc back") && !shows(r, "Enter user"));
    press(r, KEY_CODE_ESCAPE); /* back to the request, then to the list */
    assert_true(r->screen.opened == 0 && shows(r, "for a slot, then"));
    press(r, KEY_CODE_ESCAPE);
    assert_false(shows(r, "for a slot, then"));
    history_event(r->screen.history, &e);
    press(r, '8');
    press(r, KEY_CODE_ENTER);
    assert_true(r->screen.back && r->screen.past.interval.t_s == 31);
    rig_free(r);
}

/* Down to a row, Enter into it, Esc back to the row. */
static void rows_open_and_close(void **state) {
    (void)state;
    static const struct {
        int view, downs;
        const char *shows;
    } things[] = {{'1', 1, "gpu emul  busy"}, {'1', 3, "nvme vda  busy"}, {'1', 5, "responsive"},
                  {'2', 4, "kernel read"},    {'4', 1, "interactive"},    {'6', 1, "kernel read"}};
    struct rig *r = rig_new(false);
    press(r, KEY_CODE_ENTER);
    assert_true(shows(r, "up and down select a row"));
    for (size_t i = 0; i < sizeof things / sizeof things[0]; i++) {
        press(r, things[i].view);
        for (int k = 0; k < things[i].downs; k++) press(r, KEY_CODE_DOWN);
        struct frame_thing pick = r->screen.pick;
        press(r, KEY_CODE_ENTER);
        if (r->screen.opened != 1 || !shows(r, things[i].shows) || !shows(r, "Esc back"))
            fail_msg("the detail %zu does not show %s", i, things[i].shows);
        press(r, KEY_CODE_ESCAPE);
        assert_true(r->screen.opened == 0 && r->screen.pick.kind == pick.kind &&
                    r->screen.pick.number == pick.number);
        press(r, KEY_CODE_ESCAPE);
        assert_int_equal(r->screen.pick.kind, FRAME_NOTHING);
    }
    /* from a tier into the drive below it, and all the way back */
    press(r, '1');
    press(r, 'k'); /* from none to the last row */
    press(r, 'k'), press(r, 'k'), press(r, 'k');
    press(r, KEY_CODE_ENTER);
    assert_true(shows(r, "nvme vda  busy"));
    press(r, 'j');
    press(r, KEY_CODE_ENTER);
    assert_true(r->screen.opened == 2 && shows(r, "kernel read"));
    press(r, '3'); /* a view closes details */
    assert_int_equal(r->screen.opened, 0);
    rig_free(r);
}

static void click(struct rig *r, int row, int col) {
    assert_int_equal(screen_key(&r->screen, &r->canvas, KEY_CODE_MOUSE, row, col), WISH_NOTHING);
    screen_draw(&r->screen, &r->canvas);
}

/* Where a text stands on the canvas. */
static void find(struct rig *r, const char *text, int *row, int *col) {
    for (*row = 0; *row < r->canvas.rows; ++*row)
        for (*col = 0; *col < r->canvas.cols; ++*col) {
            size_t n = 0;
            while (text[n] && canvas_cell(&r->canvas, *row, *col + (int)n)->ch == (unsigned char)text[n]) n++;
            if (!text[n]) return;
        }
    fail_msg("there is no %s", text);
}

/* A click on a chart goes to its time, on a tab to the view, on the head of a column to its order. */
static void clicks_go_where_they_point(void **state) {
    (void)state;
    struct rig *r = rig_new(false);
    int row, col;
    press(r, '3');
    find(r, "01:00", &row, &col); /* below the plots; the middle of the label is its time */
    click(r, row - 2, col + 2);
    assert_true(r->screen.back && fabs(r->screen.past.interval.t_s - 60) <= 1.5);
    click(r, row - 2, 0); /* the axis has no time */
    assert_true(fabs(r->screen.past.interval.t_s - 60) <= 1.5);
    press(r, KEY_CODE_END);
    find(r, "12345678", &row, &col);
    click(r, row, col + 6);
    assert_int_equal(r->screen.view, PANEL_requests);
    find(r, "context", &row, &col);
    click(r, row, col);
    assert_true(shows(r, "context▼"));
    click(r, row, col); /* once more turns it around */
    assert_true(shows(r, "context▲"));
    press(r, '1');
    find(r, "nvme vda", &row, &col);
    click(r, row, col); /* selects the row */
    assert_true(r->screen.opened == 0 && r->screen.pick.kind == FRAME_TIER);
    click(r, row, col); /* opens it */
    assert_int_equal(r->screen.opened, 1);
    press(r, '7');
    find(r, "context", &row, &col);
    press(r, ':');
    click(r, row, col); /* not while something is typed */
    assert_true(shows(r, "context▲"));
    rig_free(r);
}

/* A message does not cover the keys. */
static void keys_stay_under_a_message(void **state) {
    (void)state;
    struct rig *r = rig_new(false);
    press(r, 'o'); /* there is no table here */
    assert_true(r->screen.message[0] && shows(r, "no table to sort") && shows(r, "? keys"));
    rig_free(r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_key_of_the_help_does_what_it_says),
        cmocka_unit_test(commands_do_what_keys_do),
        cmocka_unit_test(settings_are_set_shown_and_kept),
        cmocka_unit_test(every_command_is_completed_and_carried_out),
        cmocka_unit_test(a_filter_works_while_it_is_typed),
        cmocka_unit_test(enter_opens_a_request_and_the_time_of_an_event),
        cmocka_unit_test(rows_open_and_close),
        cmocka_unit_test(clicks_go_where_they_point),
        cmocka_unit_test(keys_stay_under_a_message),
    };
    char folder[] = "/tmp/kvfall-test-XXXXXX";
    if (!setlocale(LC_ALL, "C.UTF-8")) setlocale(LC_ALL, "en_US.UTF-8");
    if (!mkdtemp(folder) || chdir(folder) != 0) return 1;
    cmocka_set_message_output(CM_OUTPUT_TAP);
    int failed = cmocka_run_group_tests_name("screen_keys", tests, NULL, NULL);
    char command[80];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return chdir("/") != 0 || system(command) != 0 ? 1 : failed;
}
