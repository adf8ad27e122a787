/* The commands of the ":" prompt. */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/units.h"
#include "ui/command_line.h"
#include "ui/screen.h"
#include "ui/screen_inside.h"

bool ui_parse_time(const char *text, double *s) {
    unsigned long part[3] = {0};
    double fraction = 0;
    int n = 0;
    uint64_t ns;
    if (units_parse_duration(text, &ns) == 0) {
        *s = (double)ns / (double)KVF_NS_PER_S;
        return true;
    }
    for (const char *p = text;; p++) {
        char *end;
        if (n == 3 || *p < '0' || *p > '9') return false;
        part[n++] = strtoul(p, &end, 10);
        if (end - p > 6) return false;
        p = end;
        if (*p == '.' && strspn(p + 1, "0123456789") == strlen(p + 1)) {
            fraction = strtod(p, NULL);
            break;
        }
        if (*p == '\0') break;
        if (*p != ':') return false;
    }
    *s = 0;
    for (int i = 0; i < n; i++) {
        if (i > 0 && part[i] > 59) return false;
        *s = *s * 60 + (double)part[i];
    }
    *s += fraction;
    return true;
}

static void set(struct screen *s, enum setting id, const char *text) {
    char refusal[300];
    struct settings to = screen_settings(s);
    struct frame_table *t = &s->table[PANEL_requests];
    if (!setting_set(&to, id, text)) {
        screen_say(s, "%s", setting_refusal(id, text, refusal, sizeof refusal));
        return;
    }
    if (id == SETTING_THEME) s->style.scheme = s->theme = to.theme;
    if (id == SETTING_VIEW) screen_show_view(s, to.view);
    if (id == SETTING_WINDOW) screen_window(s, to.window);
    if (id == SETTING_ZOOM) s->zoom = s->zoom_asked = to.zoom;
    if (id == SETTING_SORT) t->sort = to.sort, t->descending = to.descending;
    if (id == SETTING_COLUMNS) t->hidden = to.hidden;
}

static void set_users(struct screen *s, const char *text) {
    char *end;
    errno = 0;
    uint64_t to = strtoull(text, &end, 10);
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
        screen_say(s, "\"%.40s\" is not a run time; write 0:42, 1:02:07 or 90s", text);
}

static void set_filter(struct screen *s, const char *text) {
    if (screen_filters(s)) snprintf(s->table[s->view].filter, sizeof s->table[s->view].filter, "%.63s", text);
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
        screen_say(s, "there is no command \"%.40s\"; Tab after : lists them", text);
        return wish;
    }
    if (command_line_argument(line.id)[0] && !line.argument[0] && line.id != COMMAND_LINE_FILTER) {
        screen_say(s, ":%s %s: %s", command_line_name(line.id), command_line_argument(line.id),
                   command_line_help(line.id));
        return wish;
    }
    switch (line.id) {
    case COMMAND_LINE_VIEW:
        set(s, SETTING_VIEW, line.argument);
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
#define X(more, id, name, follows, help)                                                                     \
    case COMMAND_LINE_SET_##id:                                                                              \
        set(s, SETTING_##id, line.argument);                                                                 \
        break;
        SETTING_LIST(X, )
#undef X
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
