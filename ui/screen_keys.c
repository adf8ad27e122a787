#include "ui/screen_inside.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/units.h"
#include "draw/number.h"
#include "ui/command_line.h"
#include "ui/keyboard.h"

enum { SETTLE_S = 2, PAGE = 10 };
#define SPEED_MOST  1e9
#define SPEED_LEAST (1 / 1024.0)

/* ---- changes of the run ---- */

/* Sends a command, or says why it is not for here. */
static bool order(struct screen *s, enum command_kind kind, uint64_t value, const char *text) {
    struct command c = {.kind = kind, .value = value};
    snprintf(c.text, sizeof c.text, "%s", text);
    if (s->status.ended)
        screen_say(s, "the run has ended: there is nothing left to change");
    else if (s->status.storing)
        screen_say(s, "the run has ended and its results are being stored");
    else if (!s->setup->commands)
        screen_say(s, "another process owns this run: it can be watched, not changed");
    else if (!command_put(s->setup->commands, &c))
        screen_say(s, "the engine has not handled the last keys yet; try again");
    else
        return true;
    return false;
}

static void autoscaler_becomes(struct screen *s, const char *mode) {
    snprintf(s->autoscaler, sizeof s->autoscaler, "%s", mode);
    s->autoscaler_until_ns = clock_now_ns() + SETTLE_S * KVF_NS_PER_S;
}

/* How many there are, or are on their way; 0: none that could be changed, which is said. */
static uint64_t users_now(struct screen *s) {
    if (!s->any) {
        screen_say(s, "users can be changed once the run has begun");
        return 0;
    }
    if (s->newest.interval.users == 0)
        screen_say(s, "an open loop has no users to change: its requests do not wait for answers");
    return clock_now_ns() < s->users_until_ns ? s->users : s->newest.interval.users;
}

void screen_users(struct screen *s, uint64_t to) {
    uint64_t now = users_now(s);
    if (now == 0) return;
    if (to == now) {
        screen_say(s, "users stay at %" PRIu64 ": %s", now,
                   now == 1                   ? "the fewest"
                   : now >= COMMAND_USERS_MAX ? "no more by hand"
                                              : "as many as there are");
        return;
    }
    if (!order(s, COMMAND_USERS, to, "key")) return;
    s->users = to;
    s->users_until_ns = clock_now_ns() + SETTLE_S * KVF_NS_PER_S;
    bool steered = strcmp(screen_autoscaler(s), "off") != 0;
    screen_say(s, "users %" PRIu64 " -> %" PRIu64 "%s", now, to, steered ? "; that ends the autoscaler" : "");
    if (steered) autoscaler_becomes(s, "off");
}

static void change_users(struct screen *s, enum action action) {
    uint64_t now = users_now(s);
    if (now == 0) return;
    uint64_t tenth = now / 10 > 1 ? now / 10 : 1, to = now;
    if (action == ACTION_USERS_MORE) to = now + tenth;
    if (action == ACTION_USERS_LESS) to = now > tenth ? now - tenth : 1;
    if (action == ACTION_USERS_DOUBLE) to = now ? 2 * now : 1;
    if (action == ACTION_USERS_HALVE) to = now > 1 ? now / 2 : 1;
    uint64_t most = now > COMMAND_USERS_MAX ? now : COMMAND_USERS_MAX; /* a scenario may begin with more */
    if (to > most) to = most;
    screen_users(s, to);
}

void screen_pause(struct screen *s, bool pause) {
    if (!order(s, pause ? COMMAND_PAUSE : COMMAND_RESUME, 0, "key")) return;
    s->pause = pause;
    s->pause_until_ns = clock_now_ns() + SETTLE_S * KVF_NS_PER_S;
    screen_say(s, pause ? "paused" : "resumed");
}

static void change_pause(struct screen *s) {
    bool paused = s->any && s->newest.interval.paused;
    if (clock_now_ns() < s->pause_until_ns) paused = s->pause;
    screen_pause(s, !paused);
}

static void generation_to(struct screen *s, int i) {
    if (!order(s, COMMAND_GENERATION, screen_generations[i].ms * KVF_NS_PER_MS, "key")) return;
    snprintf(s->generation, sizeof s->generation, "%s", screen_generations[i].name);
    screen_say(s, "generation %s: %u ms per token", screen_generations[i].name, screen_generations[i].ms);
}

bool screen_generation_to(struct screen *s, const char *mode) {
    int i = 0;
    while (i < SCREEN_GENERATIONS && strcmp(screen_generations[i].name, mode) != 0) i++;
    if (i < SCREEN_GENERATIONS) generation_to(s, i);
    return i < SCREEN_GENERATIONS;
}

static void change_generation(struct screen *s) {
    int i = 0;
    while (i < SCREEN_GENERATIONS && strcmp(screen_generations[i].name, s->generation) != 0) i++;
    generation_to(s, i < SCREEN_GENERATIONS ? (i + 1) % SCREEN_GENERATIONS : 0);
}

/* Whether there is a speed to change; else why not is said. */
static bool has_speed(struct screen *s) {
    if (!s->setup->commands) { /* what the database has of a run does not tell its speed */
        (void)order(s, COMMAND_SPEED, 0, "key");
        return false;
    }
    if (s->any && s->newest.simulated) return true;
    screen_say(s, s->any ? "this run is real: only a simulation has a speed"
                         : "the speed can be changed once the run has begun");
    return false;
}

void screen_speed(struct screen *s, double times) {
    char text[NUMBER];
    if (!has_speed(s) || !order(s, COMMAND_SPEED, (uint64_t)(times * COMMAND_SPEED_ONE), "key")) return;
    s->speed = times;
    s->speed_until_ns = clock_now_ns() + SETTLE_S * KVF_NS_PER_S;
    if (times > 0)
        screen_say(s, "speed %s times real time", number_count(times, text) + strspn(text, " "));
    else
        screen_say(s, "speed: as fast as it can");
}

/* The speed of a simulation that nothing holds back is the one to change from. */
static void change_speed(struct screen *s, enum action action) {
    const struct snapshot *snap = &s->newest;
    if (!has_speed(s)) return;
    double now = clock_now_ns() < s->speed_until_ns ? s->speed : snap->speed, to = 0;
    if (action == ACTION_SPEED_DOUBLE && now == 0) {
        screen_say(s, "it already runs as fast as it can");
        return;
    }
    if (now == 0) now = exp2(floor(log2(fmax(snap->interval.t_s / fmax(snap->real_s, 1e-3), 1))));
    if (action == ACTION_SPEED_DOUBLE) to = fmin(2 * now, SPEED_MOST);
    if (action == ACTION_SPEED_HALVE) to = fmax(now / 2, SPEED_LEAST);
    screen_speed(s, to);
}

static const char *const autoscaler_modes[] = {"off", "qos", "capacity"};
enum { AUTOSCALER_MODES = sizeof autoscaler_modes / sizeof autoscaler_modes[0] };

static unsigned autoscaler_mode(const char *name) {
    unsigned i = 0;
    while (i < AUTOSCALER_MODES && strcmp(autoscaler_modes[i], name) != 0) i++;
    return i;
}

static void autoscaler_to(struct screen *s, unsigned i) {
    if (s->any && s->newest.interval.users == 0) {
        screen_say(s, "there are no users to steer: the arrivals come from the trace");
        return;
    }
    if (!order(s, COMMAND_AUTOSCALER, i, "key")) return;
    autoscaler_becomes(s, autoscaler_modes[i]);
    screen_say(s, "autoscaler %s%s", autoscaler_modes[i], i == 0 ? "; the users stay as they are" : "");
}

bool screen_autoscaler_to(struct screen *s, const char *mode) {
    unsigned i = autoscaler_mode(mode);
    if (i < AUTOSCALER_MODES) autoscaler_to(s, i);
    return i < AUTOSCALER_MODES;
}

static void change_autoscaler(struct screen *s) {
    unsigned i = autoscaler_mode(screen_autoscaler(s));
    autoscaler_to(s, (i < AUTOSCALER_MODES ? i + 1 : 1) % AUTOSCALER_MODES);
}

/* ---- what is shown ---- */

static void change_window(struct screen *s) {
    enum windows_span next = (enum windows_span)((s->span + 1) % WINDOWS_SPANS);
    if (s->status.ended && !s->back) {
        screen_say(s, "the run has ended: the screen shows all of it");
        return;
    }
    screen_window(s, next);
    screen_say(s, next == WINDOWS_RUN ? "window: the whole measured part so far" : "window: the last %s",
               windows_name(next));
}

static void freeze(struct screen *s) {
    if (s->back) {
        s->back = s->frozen = false;
    } else if (s->any) {
        s->past = s->newest;
        s->past_window = s->window;
        s->past_windowed = s->windowed;
        s->back = s->frozen = true;
    }
}

static void travel(struct screen *s, int steps) {
    const struct provider *p = s->setup->provider;
    double from = s->back ? s->past.interval.t_s : s->newest_s;
    if (!p->step || isnan(from)) {
        screen_travel(s, from); /* says why not */
        return;
    }
    if (steps > 0 && !s->back) return;
    if (p->step(p->ctx, from, steps, &s->arrived))
        screen_look_back(s);
    else
        screen_say(s, "that moment could not be read from the database; it may not be there yet");
}

static void sort(struct screen *s) {
    int columns = panels[s->view]->sort_columns;
    struct frame_table *t = &s->table[s->view];
    if (columns)
        t->sort = (t->sort + 1) % columns;
    else
        screen_say(s, "there is no table to sort in this view; 7 and 9 have one");
}

/* ---- questions ---- */

static void ask(struct screen *s, enum screen_asking what, const char *question, const char *text) {
    s->asking = what;
    prompt_start(&s->prompt, question, text);
}

void screen_mark(struct screen *s, const char *note) {
    if (order(s, COMMAND_MARK, 0, note)) screen_say(s, "marked: %s", note);
}

static void ask_mark(struct screen *s) {
    if (s->setup->commands && !s->status.ended)
        ask(s, ASKING_MARK, "Note: ", "");
    else
        order(s, COMMAND_MARK, 0, ""); /* says why not */
}

static void ask_filter(struct screen *s) {
    struct frame_table *t = &s->table[s->view];
    if (!screen_filters(s)) return;
    memcpy(s->filter_before, t->filter, sizeof s->filter_before);
    ask(s, ASKING_FILTER, "Show only: ", t->filter);
}

/* Rows go while it is being typed. */
static void take_filter(struct screen *s, const char *text) {
    snprintf(s->table[s->view].filter, sizeof s->table[s->view].filter, "%.63s", text);
}

static enum screen_wish answered(struct screen *s, const struct canvas *c, enum screen_asking what,
                                 const char *text) {
    double t_s;
    if (what == ASKING_MARK && text[0]) screen_mark(s, text);
    if (what == ASKING_FILTER) take_filter(s, text);
    if (what == ASKING_TIME && text[0]) {
        if (ui_parse_time(text, &t_s))
            screen_travel(s, t_s);
        else
            screen_say(s, "\"%s\" is not a run time; write 0:42, 1:02:07 or 90s", text);
    }
    return what == ASKING_COMMAND && text[0] ? screen_command(s, c, text) : WISH_NOTHING;
}

void screen_ask_quit(struct screen *s, enum screen_wish *wish) {
    if (s->setup->board)
        *wish = WISH_QUIT;
    else if (s->status.ended || !s->setup->commands)
        *wish = WISH_LEAVE;
    else
        s->asking = ASKING_QUIT;
}

/* The question of q: its own key again, Enter and y agree, all else does not. */
static void quit_key(struct screen *s, int code) {
    if (code == KEY_CODE_UP || code == KEY_CODE_DOWN) return; /* the wheel turns by itself */
    s->asking = ASKING_NOTHING;
    if (code != 'y' && code != 'Y' && code != 'q' && code != KEY_CODE_INTERRUPT && code != KEY_CODE_ENTER)
        return;
    if (!order(s, COMMAND_STOP, 0, "key")) return;
    s->stop_sent = true;
    screen_say(s, "stopping after the requests in flight; Ctrl-\\ ends at once");
}

/* Tab completes a command, or says how it may go on. */
static void complete(struct screen *s) {
    char next[300];
    if (command_line_complete(s->prompt.text, sizeof s->prompt.text)) return;
    command_line_next(s->prompt.text, next, sizeof next);
    screen_say(s, "%s", next[0] ? next : "nothing begins like that");
}

static bool question_key(struct screen *s, const struct canvas *c, int code, enum screen_wish *wish) {
    if (s->asking == ASKING_NOTHING) return false;
    s->message[0] = '\0';
    if (s->asking == ASKING_QUIT) {
        quit_key(s, code);
        return true;
    }
    if (s->asking == ASKING_COMMAND && code == '\t') {
        complete(s);
        return true;
    }
    enum prompt_result r = prompt_key(&s->prompt, code);
    if (s->asking == ASKING_FILTER) take_filter(s, r == PROMPT_DROPPED ? s->filter_before : s->prompt.text);
    if (r == PROMPT_GOES_ON) return true;
    struct prompt asked = s->prompt;
    enum screen_asking what = s->asking;
    s->asking = ASKING_NOTHING;
    prompt_end(&s->prompt);
    if (r == PROMPT_DONE) *wish = answered(s, c, what, asked.text); /* :quit asks in turn */
    return true;
}

/* ---- keys ---- */

static void act_on_list(struct screen *s, enum action a) {
    switch (a) {
    case ACTION_UP:
        screen_move(s, -1);
        break;
    case ACTION_DOWN:
        screen_move(s, 1);
        break;
    case ACTION_PAGE_UP:
        screen_move(s, -PAGE);
        break;
    case ACTION_PAGE_DOWN:
        screen_move(s, PAGE);
        break;
    case ACTION_SORT:
        sort(s);
        break;
    case ACTION_SORT_REVERSE:
        s->table[s->view].descending = !s->table[s->view].descending;
        break;
    case ACTION_FILTER:
        ask_filter(s);
        break;
    default:
        break;
    }
}

static void act_on_time(struct screen *s, enum action a) {
    switch (a) {
    case ACTION_BACK:
        travel(s, -1);
        break;
    case ACTION_FORWARD:
        travel(s, 1);
        break;
    case ACTION_BACK_TEN:
        travel(s, -10);
        break;
    case ACTION_FORWARD_TEN:
        travel(s, 10);
        break;
    case ACTION_FIRST:
        screen_travel(s, 0);
        break;
    case ACTION_LAST:
        s->back = s->frozen = false;
        break;
    case ACTION_GO_TO:
        ask(s, ASKING_TIME, "Go to run time: ", "");
        break;
    case ACTION_FREEZE:
        freeze(s);
        break;
    case ACTION_ZOOM_OUT:
        s->zoom = s->zoom_asked = (enum zoom)((s->zoom + 1) % ZOOMS);
        break;
    case ACTION_ZOOM_IN:
        s->zoom = s->zoom_asked = (enum zoom)((s->zoom + ZOOMS - 1) % ZOOMS);
        break;
    default:
        break;
    }
}

static void act_on_run(struct screen *s, enum action a) {
    switch (a) {
    case ACTION_PAUSE:
        change_pause(s);
        break;
    case ACTION_USERS_MORE:
    case ACTION_USERS_LESS:
    case ACTION_USERS_DOUBLE:
    case ACTION_USERS_HALVE:
        change_users(s, a);
        break;
    case ACTION_GENERATION:
        change_generation(s);
        break;
    case ACTION_AUTOSCALER:
        change_autoscaler(s);
        break;
    case ACTION_SPEED_DOUBLE:
    case ACTION_SPEED_HALVE:
    case ACTION_SPEED_FREE:
        change_speed(s, a);
        break;
    case ACTION_MARK:
        ask_mark(s);
        break;
    default:
        break;
    }
}

static void act_on_view(struct screen *s, const struct canvas *c, const struct key_entry *k) {
    switch (k->action) {
    case ACTION_VIEW:
        screen_show_view(s, (size_t)k->number);
        break;
    case ACTION_VIEW_NEXT:
        screen_show_view(s, (s->view + 1) % PANELS);
        break;
    case ACTION_VIEW_PREVIOUS:
        screen_show_view(s, (s->view + PANELS - 1) % PANELS);
        break;
    case ACTION_HELP:
        screen_show_view(s, s->view == PANEL_help ? s->view_before : PANEL_help);
        break;
    case ACTION_EVIDENCE:
        screen_show_view(s, s->view == PANEL_evidence ? s->view_before : PANEL_evidence);
        break;
    case ACTION_WINDOW:
        change_window(s);
        break;
    case ACTION_HEAT:
        s->heat = (s->heat + 1) % SNAPSHOT_HEATS;
        break;
    case ACTION_SCHEME:
        s->style.scheme = s->theme = (enum scheme)((s->style.scheme + 1) % SCHEMES);
        screen_say(s, "colours: %s", scheme_name(s->style.scheme));
        break;
    case ACTION_SAVE:
    case ACTION_SAVE_SVG:
        screen_save(s, c, k->action == ACTION_SAVE_SVG);
        break;
    case ACTION_OPEN:
        screen_open(s);
        break;
    case ACTION_COMMAND:
        ask(s, ASKING_COMMAND, ":", "");
        break;
    default:
        break;
    }
}

static enum screen_wish act(struct screen *s, const struct canvas *c, const struct key_entry *k) {
    enum screen_wish wish = WISH_NOTHING;
    switch (k->action) {
    case ACTION_QUIT:
        screen_ask_quit(s, &wish);
        return wish;
    case ACTION_SUSPEND:
        return WISH_SUSPEND;
    case ACTION_REDRAW:
        return WISH_REDRAW;
    case ACTION_ABORT:
        return WISH_ABORT;
    case ACTION_CLOSE:
        return screen_close(s);
    default:
        act_on_view(s, c, k);
        act_on_run(s, k->action);
        act_on_list(s, k->action);
        act_on_time(s, k->action);
        return WISH_NOTHING;
    }
}

/* Whether a key that changes a run may as well end the look at one that is over. */
static bool changes_run(enum action a) {
    return a == ACTION_PAUSE || a == ACTION_MARK || a == ACTION_GENERATION || a == ACTION_AUTOSCALER ||
           a == ACTION_USERS_MORE || a == ACTION_USERS_LESS || a == ACTION_USERS_DOUBLE ||
           a == ACTION_USERS_HALVE || a == ACTION_SPEED_DOUBLE || a == ACTION_SPEED_HALVE ||
           a == ACTION_SPEED_FREE;
}

/* The key that a click stands for; 0: none, or the click has done all there is to do. */
static int clicked(struct screen *s, const struct canvas *c, int row, int col) {
    double t_s = canvas_time_at(c, row, col);
    int code = canvas_hot_at(c, row, col);
    if (s->asking != ASKING_NOTHING) return 0;
    if (kvf_present(t_s)) screen_travel(s, t_s);
    if (code == 0 && isnan(t_s)) screen_click(s, row, col);
    if (code < KEY_CODE_COLUMN || code > KEY_CODE_COLUMN_LAST) return code;
    s->table[s->view].sort = code - KEY_CODE_COLUMN;
    return 0;
}

enum screen_wish screen_key(struct screen *s, const struct canvas *c, int code, int row, int col) {
    if (code == KEY_CODE_MOUSE) code = clicked(s, c, row, col);
    if (code == 0) return WISH_NOTHING;
    if (code == KEY_CODE_SUSPEND) return WISH_SUSPEND;
    if (code == KEY_CODE_ABORT) return WISH_ABORT;
    enum screen_wish wish = WISH_NOTHING;
    if (question_key(s, c, code, &wish)) return wish;
    const struct key_entry *k = keyboard_find(code);
    bool own_end = s->status.ended && s->setup->commands;
    bool opens = k && k->action == ACTION_OPEN && (screen_panel(s)->list || screen_picked(s) >= 0);
    bool leaves = !k || changes_run(k->action) || (k->action == ACTION_OPEN && !opens);
    if (own_end && leaves && code != KEY_CODE_OTHER) return WISH_LEAVE;
    s->message[0] = '\0';
    return k ? act(s, c, k) : WISH_NOTHING;
}
