#include "ui/study.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "ui/picture.h"

enum { MESSAGE_S = 5, PAGE = 10 };

const struct study_key_help study_keys[] = {
    {ACTION_OPEN, "open the current run; Esc returns"},
    {ACTION_UP, "a row up"},
    {ACTION_DOWN, "a row down"},
    {ACTION_PAGE_UP, "a page up"},
    {ACTION_PAGE_DOWN, "a page down"},
    {ACTION_FIRST, "first row"},
    {ACTION_LAST, "follow the current run"},
    {ACTION_HEAT, "chart of the next metric"},
    {ACTION_SCHEME, "next colour scheme"},
    {ACTION_SAVE, "save the screen to a text file"},
    {ACTION_SAVE_SVG, "save the screen as an SVG picture, in colour"},
    {ACTION_HELP, "these keys, and back"},
    {ACTION_REDRAW, "draw the screen anew"},
    {ACTION_SUSPEND, "suspend; fg goes on"},
    {ACTION_QUIT, "stop: asks once, then keeps the results"},
    {ACTION_ABORT, "end at once"},
};
const size_t study_key_count = sizeof study_keys / sizeof *study_keys;

void study_init(struct study *s, struct board *board, struct command_queue *commands, struct style style) {
    *s = (struct study){.board = board, .commands = commands, .style = style, .follows = true};
}

void study_free(struct study *s) {
    board_view_free(&s->view);
}

void study_say(struct study *s, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(s->message, sizeof s->message, fmt, ap);
    va_end(ap);
    s->message_until_ns = clock_now_ns() + MESSAGE_S * KVF_NS_PER_S;
}

bool study_tick(struct study *s) {
    if (!s->message[0] || clock_now_ns() < s->message_until_ns) return false;
    s->message[0] = '\0';
    return true;
}

/* The first point that runs, else the last one that is over. */
static size_t row_of_interest(const struct board_view *v) {
    size_t last = 0;
    for (size_t i = 0; i < v->rows; i++) {
        if (v->row[i].state == OUTCOME_RUNS) return i;
        if (v->row[i].state != OUTCOME_WAITS) last = i;
    }
    return last;
}

bool study_feed(struct study *s) {
    double gone_s = s->view.gone_s;
    bool over = s->view.head.status != RUN_RUNNING;
    bool changed = board_copy(s->board, &s->view);
    if (!over && s->view.head.status != RUN_RUNNING) s->asking = false; /* a question about it is settled */
    if (s->follows) s->selected = row_of_interest(&s->view);
    if (s->measure >= s->view.head.measures) s->measure = 0;
    return changed || (uint64_t)gone_s != (uint64_t)s->view.gone_s;
}

/* ---- keys ---- */

void study_ask_quit(struct study *s, enum screen_wish *wish) {
    if (s->view.head.status != RUN_RUNNING)
        *wish = WISH_LEAVE;
    else
        s->asking = true;
}

/* As with a run: its own key again, Enter and y agree, all else does not. */
static void quit_key(struct study *s, int code) {
    if (code == KEY_CODE_UP || code == KEY_CODE_DOWN) return; /* the wheel turns by itself */
    s->asking = false;
    if (code != 'y' && code != 'Y' && code != 'q' && code != KEY_CODE_INTERRUPT && code != KEY_CODE_ENTER)
        return;
    struct command stop = {.kind = COMMAND_STOP, .text = "key"};
    board_stop(s->board);
    if (s->commands) (void)command_put(s->commands, &stop);
    s->stop_sent = true;
    study_say(s, "stopping after the requests in flight; Ctrl-\\ ends at once");
}

static void move(struct study *s, long by) {
    long last = s->view.rows > 0 ? (long)s->view.rows - 1 : 0, to = (long)s->selected + by;
    s->follows = false;
    s->selected = (size_t)(to < 0 ? 0 : to > last ? last : to);
}

static enum screen_wish open_row(struct study *s) {
    const struct board_row *r = s->selected < s->view.rows ? &s->view.row[s->selected] : NULL;
    if (s->view.head.status != RUN_RUNNING) return WISH_LEAVE;
    if (s->view.head.parts) return WISH_NOTHING;
    if (r && r->state == OUTCOME_RUNS) return WISH_OPEN;
    if (r && r->run_id > 0)
        study_say(s, "this %s is over; `kvfall watch %" PRId64 "` shows its run", s->view.head.point,
                  r->run_id);
    else
        study_say(s, "this %s does not run now", s->view.head.point);
    return WISH_NOTHING;
}

static void draw_for_picture(void *ctx, struct canvas *c) {
    struct study copy = *(struct study *)ctx;
    copy.style = c->style;
    study_draw(&copy, c);
}

static void save(struct study *s, const struct canvas *c, bool svg) {
    struct picture p = {
        .draw = draw_for_picture, .ctx = s, .rows = c->rows, .cols = c->cols, .style = s->style};
    char said[sizeof s->message];
    s->message[0] = '\0';
    picture_save(&p, s->view.head.kind, svg, said, sizeof said);
    study_say(s, "%s", said);
}

static void act_on_picture(struct study *s, const struct canvas *c, enum action a) {
    if (a == ACTION_HELP) s->help = !s->help;
    if (a == ACTION_CLOSE) s->help = false;
    if (a == ACTION_HEAT && s->view.head.measures > 0) s->measure = (s->measure + 1) % s->view.head.measures;
    if (a == ACTION_SCHEME) {
        s->style.scheme = (enum scheme)((s->style.scheme + 1) % SCHEMES);
        study_say(s, "colours: %s", scheme_name(s->style.scheme));
    }
    if (a == ACTION_SAVE || a == ACTION_SAVE_SVG) save(s, c, a == ACTION_SAVE_SVG);
}

static enum screen_wish act(struct study *s, const struct canvas *c, enum action a) {
    enum screen_wish wish = WISH_NOTHING;
    switch (a) {
    case ACTION_OPEN:
        return open_row(s);
    case ACTION_UP:
        move(s, -1);
        break;
    case ACTION_DOWN:
        move(s, 1);
        break;
    case ACTION_PAGE_UP:
        move(s, -PAGE);
        break;
    case ACTION_PAGE_DOWN:
        move(s, PAGE);
        break;
    case ACTION_FIRST:
        move(s, -(long)s->view.rows);
        break;
    case ACTION_LAST:
        s->follows = true;
        break;
    case ACTION_QUIT:
        study_ask_quit(s, &wish);
        break;
    case ACTION_REDRAW:
        wish = WISH_REDRAW;
        break;
    default:
        act_on_picture(s, c, a);
        break;
    }
    return wish;
}

/* A click on a row selects it, on the selected one opens it; on a key of the last row is that key. */
static int clicked(struct study *s, const struct canvas *c, int row, int col) {
    int at = row - s->first_row;
    if (s->asking) return 0;
    if (at < 0 || at >= s->shown) return canvas_hot_at(c, row, col);
    if (s->selected == (size_t)(s->first + at)) return KEY_CODE_ENTER;
    s->follows = false;
    s->selected = (size_t)(s->first + at);
    return 0;
}

enum screen_wish study_key(struct study *s, const struct canvas *c, int code, int row, int col) {
    if (code == KEY_CODE_MOUSE) code = clicked(s, c, row, col);
    if (code == 0) return WISH_NOTHING;
    if (code == KEY_CODE_SUSPEND) return WISH_SUSPEND;
    if (code == KEY_CODE_ABORT) return WISH_ABORT;
    s->message[0] = '\0';
    if (s->asking) {
        quit_key(s, code);
        return WISH_NOTHING;
    }
    const struct key_entry *k = keyboard_find(code);
    return k ? act(s, c, k->action) : WISH_NOTHING;
}
