/* Rows: which one is selected, and the details that they open. */
#include "ui/screen_inside.h"

#include <stdio.h>

void screen_show_view(struct screen *s, size_t view) {
    bool aside = s->view == PANEL_help || s->view == PANEL_evidence;
    if (!aside) s->view_before = s->view;
    s->view = view;
    s->opened = 0;
    s->pick = (struct frame_thing){FRAME_NOTHING, 0};
}

/* The place of what is selected among the rows that were drawn; -1: it is none of them. */
int screen_picked(const struct screen *s) {
    int i = (int)s->rows.count - 1;
    while (i >= 0 &&
           (s->rows.row[i].thing.kind != s->pick.kind || s->rows.row[i].thing.number != s->pick.number))
        i--;
    return i;
}

/* From row to row; from none to the first one, or to the last. */
static void move_pick(struct screen *s, int by) {
    int at = screen_picked(s), last = (int)s->rows.count - 1;
    if (last < 0) return;
    at = at < 0 ? by > 0 ? 0 : last : at + by;
    s->pick = s->rows.row[at < 0 ? 0 : at > last ? last : at].thing;
}

bool screen_filters(struct screen *s) {
    char names[80] = "";
    size_t used = 0;
    for (size_t v = 0; v < PANELS && !panels[s->view]->filters; v++)
        if (panels[v]->filters)
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", used ? " and " : "",
                                     panels[v]->name);
    if (used) screen_say(s, "there is no list to filter in this view; %s have one", names);
    return !used;
}

void screen_move(struct screen *s, int by) {
    struct frame_table *t = &s->table[s->view];
    if (!screen_panel(s)->list) {
        move_pick(s, by);
        return;
    }
    if (panels[s->view]->upwards) by = -by;
    t->selected += by;
    if (t->selected > s->list_end) t->selected = s->list_end;
    if (t->selected < 0) t->selected = 0;
}

/* The engine tells of a user from the next interval on. Where no key reaches it, the page says what is
 * missing. */
static void follow(const struct screen *s, struct frame_thing thing) {
    struct command c = {.kind = COMMAND_FOLLOW, .value = thing.number, .text = "key"};
    bool asks = thing.kind == FRAME_USER && thing.number != FRAME_NO_USER && !s->status.ended;
    if (asks && s->setup->commands) command_put(s->setup->commands, &c);
}

static void open_thing(struct screen *s, struct frame_thing thing) {
    if (s->opened == SCREEN_OPEN) return;
    follow(s, thing);
    s->open[s->opened++] = thing;
    s->pick = (struct frame_thing){FRAME_NOTHING, 0};
}

/* Its row is selected again; a user has none, its request is still open. */
static void close_thing(struct screen *s) {
    s->pick = s->open[--s->opened];
    if (s->pick.kind == FRAME_USER) s->pick = (struct frame_thing){FRAME_NOTHING, 0};
}

enum screen_wish screen_close(struct screen *s) {
    struct frame_table *t = &s->table[s->view];
    if (s->view == PANEL_help || s->view == PANEL_evidence)
        screen_show_view(s, s->view_before);
    else if (s->opened)
        close_thing(s);
    else if (s->pick.kind)
        s->pick = (struct frame_thing){FRAME_NOTHING, 0};
    else if (s->detail)
        s->detail = false;
    else if (t->filter[0])
        t->filter[0] = '\0';
    else if (s->back)
        s->back = s->frozen = false;
    else if (s->setup->board)
        return WISH_BACK;
    return WISH_NOTHING;
}

/* The detail of a row, from a request's its user, or the time of an event or a decision. */
void screen_open(struct screen *s) {
    bool requests = s->view == PANEL_requests && !s->opened;
    if (requests && s->detail && s->leads_to.kind)
        open_thing(s, s->leads_to);
    else if (requests)
        s->detail = !s->detail;
    else if (screen_picked(s) >= 0)
        open_thing(s, s->pick);
    else if (kvf_present(s->picked_s) && !s->opened)
        screen_travel(s, s->picked_s);
    else
        screen_say(s, s->rows.count ? "up and down select a row, Enter opens it"
                                    : "there is nothing to select in this view");
}

/* A click selects a row; another one opens it. */
void screen_click(struct screen *s, int row, int col) {
    for (unsigned i = 0; i < s->rows.count; i++) {
        const struct rect *at = &s->rows.row[i].at;
        if (row != at->row || col < at->col || col >= at->col + at->cols) continue;
        bool again = screen_picked(s) == (int)i;
        s->pick = s->rows.row[i].thing;
        if (again) open_thing(s, s->pick);
        return;
    }
}
