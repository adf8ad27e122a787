/* The commands of the ":" prompt. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "ui/command_line.h"
#include "ui/screen.h"
#include "ui/screen_inside.h"

static void set_view(struct screen *s, const char *name) {
    char names[200];
    for (size_t i = 0; i < PANELS; i++) {
        if (strcmp(panels[i]->name, name) != 0) continue;
        screen_show_view(s, i);
        return;
    }
    screen_say(s, "there is no view \"%.40s\"; the views are %s", name, ui_view_names(names, sizeof names));
}

static void set_theme(struct screen *s, const char *name) {
    char names[120];
    enum scheme scheme = scheme_parse(name);
    if (scheme < SCHEMES)
        s->style.scheme = scheme;
    else
        screen_say(s, "there is no theme \"%.40s\"; the themes are %s", name,
                   command_line_next("set theme ", names, sizeof names));
}

/* "10s" is "10 s": names that are typed have no blank. */
static bool same_name(const char *name, const char *typed) {
    for (; *name || *typed; name++) {
        if (*name == ' ') continue;
        if (*name != *typed) return false;
        typed++;
    }
    return true;
}

static void set_window(struct screen *s, const char *name) {
    int i = 0;
    while (i < WINDOWS_SPANS && !same_name(windows_name((enum windows_span)i), name)) i++;
    if (i < WINDOWS_SPANS)
        screen_window(s, (enum windows_span)i);
    else
        screen_say(s, "a window is 1s, 10s, 60s or run");
}

static void set_zoom(struct screen *s, const char *name) {
    int i = 0;
    while (i < ZOOMS && !same_name(zoom_name((enum zoom)i), name)) i++;
    if (i < ZOOMS)
        s->zoom = (enum zoom)i;
    else
        screen_say(s, "graphs show 1min, 10min or all");
}

static void set_users(struct screen *s, const char *text) {
    char *end;
    errno = 0;
    unsigned long long to = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end || errno || to < 1 || to > COMMAND_USERS_MAX)
        screen_say(s, "users is a number from 1 to %d", COMMAND_USERS_MAX);
    else
        screen_users(s, to);
}

static void set_speed(struct screen *s, const char *text) {
    char *end;
    double times = strcmp(text, "max") == 0 ? 0 : strtod(text, &end);
    if (strcmp(text, "max") != 0 && (end == text || *end || !(times > 0) || times > 1e9))
        screen_say(s, "a speed is times real time, such as 60, or max");
    else
        screen_speed(s, times);
}

static void go_to(struct screen *s, const char *text) {
    double t_s;
    if (strcmp(text, "end") == 0)
        s->back = s->frozen = false;
    else if (ui_parse_time(text, &t_s))
        screen_travel(s, t_s);
    else
        screen_say(s, "\"%.40s\" is no run time; write 0:42, 1:02:07 or 90s", text);
}

static void set_filter(struct screen *s, const char *text) {
    if (panels[s->view]->list)
        snprintf(s->table[s->view].filter, sizeof s->table[s->view].filter, "%.63s", text);
    else
        screen_say(s, "there is no list to filter in this view; 7 and 8 have one");
}

static void set_mode(struct screen *s, bool autoscaler, const char *name) {
    static const char *const what[] = {"a generation mode is none, fast or realistic",
                                       "an autoscaler mode is off, qos or capacity"};
    bool known = autoscaler ? screen_autoscaler_to(s, name) : screen_generation_to(s, name);
    if (!known) screen_say(s, "%s", what[autoscaler]);
}

enum screen_wish screen_command(struct screen *s, const struct canvas *c, const char *text) {
    struct command_line line = command_line_parse(text);
    enum screen_wish wish = WISH_NOTHING;
    if (line.id == COMMAND_LINES) {
        screen_say(s, "there is no command \"%.40s\"; Tab behind : lists them", text);
        return wish;
    }
    if (command_line_argument(line.id)[0] && !line.argument[0] && line.id != COMMAND_LINE_FILTER) {
        screen_say(s, ":%s %s: %s", command_line_name(line.id), command_line_argument(line.id),
                   command_line_help(line.id));
        return wish;
    }
    switch (line.id) {
    case COMMAND_LINE_VIEW:
        set_view(s, line.argument);
        break;
    case COMMAND_LINE_USERS:
        set_users(s, line.argument);
        break;
    case COMMAND_LINE_PAUSE:
    case COMMAND_LINE_RESUME:
        screen_pause(s, line.id == COMMAND_LINE_PAUSE);
        break;
    case COMMAND_LINE_AUTOSCALER:
    case COMMAND_LINE_GENERATION:
        set_mode(s, line.id == COMMAND_LINE_AUTOSCALER, line.argument);
        break;
    case COMMAND_LINE_SPEED:
        set_speed(s, line.argument);
        break;
    case COMMAND_LINE_MARK:
        screen_mark(s, line.argument);
        break;
    case COMMAND_LINE_TIME:
        go_to(s, line.argument);
        break;
    case COMMAND_LINE_FILTER:
        set_filter(s, line.argument);
        break;
    case COMMAND_LINE_SET_THEME:
        set_theme(s, line.argument);
        break;
    case COMMAND_LINE_SET_WINDOW:
        set_window(s, line.argument);
        break;
    case COMMAND_LINE_SET_ZOOM:
        set_zoom(s, line.argument);
        break;
    case COMMAND_LINE_SAVE:
        screen_save_as(s, c, line.argument);
        break;
    case COMMAND_LINE_HELP:
        screen_show_view(s, PANEL_help);
        break;
    case COMMAND_LINE_QUIT:
        screen_ask_quit(s, &wish);
        break;
    default:
        break;
    }
    return wish;
}
