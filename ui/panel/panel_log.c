#include <stdio.h>
#include <string.h>

#include "draw/number.h"
#include "ui/panel/panels.h"
#include "ui/panel/parts.h"

enum { EVENTS, SECTIONS };
enum { MESSAGE_COL = 18 }; /* where it begins in a row, at most */
static const struct layout_section sections[SECTIONS] = {
    [EVENTS] = {.name = "events", .line = 0, .least_cols = 20, .rows = {3}, .urgency = {1}, .grow = 1},
};

static bool event_passes(const struct frame *f, const struct record_event *e) {
    char text[sizeof e->level + sizeof e->message + 1];
    if (!parts_event_shown(f, e)) return false;
    snprintf(text, sizeof text, "%s %s", e->level, e->message);
    return parts_filter(text, f->table.filter);
}

/* The events that pass, newest first, into out (HISTORY_EVENTS of them); returns how many. */
static int events_shown(const struct frame *f, const struct record_event **out) {
    int n = 0;
    for (size_t i = history_events(f->history); i-- > 0 && n < HISTORY_EVENTS;) {
        const struct record_event *e = history_event_at(f->history, i);
        if (event_passes(f, e)) out[n++] = e;
    }
    return n;
}

static void draw_heading(const struct pane *p, const struct frame *f, int shown, int selected) {
    char text[120];
    int col = pane_text(p, 0, 0, TONE_HEADING, "run time level");
    if (shown == 0) return;
    snprintf(text, sizeof text, "%d of %d", shown - selected, shown);
    if (f->table.filter[0])
        snprintf(text, sizeof text, "%d of %d with \"%s\"", shown - selected, shown, f->table.filter);
    if (col + 2 + canvas_text_columns(text) <= p->at.cols) pane_right(p, 0, p->at.cols, TONE_DIM, text);
}

/* The message of the event under the cursor in full, when there is more of it than its row shows. */
static int message_rows(const struct pane *p, const struct record_event *e) {
    int cols = p->at.cols - MESSAGE_COL, need = canvas_text_columns(e->message);
    if (cols <= 0 || need <= cols || p->at.rows < 8) return 0;
    int rows = 1 + (need + p->at.cols - 1) / p->at.cols;
    return rows < p->at.rows / 2 ? rows : p->at.rows / 2;
}

/* The event under the cursor has a sign of its own at the left margin. */
static void draw_list(const struct pane *p, const struct frame *f) {
    const struct record_event *event[HISTORY_EVENTS];
    struct pane body = pane_part(p, 0, 1, -1, p->at.cols - 2);
    int n = events_shown(f, event);
    int selected = f->table.selected < n ? f->table.selected : n - 1;

    if (f->list_end) *f->list_end = n - 1;
    if (pane_empty(&body)) return;
    draw_heading(&body, f, n, selected);
    if (n == 0) {
        pane_clip(&body, 1, 0, body.at.cols, TONE_DIM,
                  f->table.filter[0] ? "no event has this text"
                  : f->over          ? "no events"
                                     : "no events so far");
        return;
    }
    if (selected < 0) selected = 0;
    if (f->picked_s) *f->picked_s = event[selected]->t_s;
    int more = message_rows(&body, event[selected]);
    struct pane list = pane_part(&body, 1, 0, body.at.rows - 1 - more, -1);
    /* The newest stands at the bottom; the list moves when the cursor would leave it at the top. */
    int first = selected < list.at.rows ? 0 : selected - list.at.rows + 1;
    int last = n - first < list.at.rows ? n - first : list.at.rows;
    for (int k = 0; k < last; k++) {
        int row = last - 1 - k;
        parts_event(&list, row, event[first + k]);
        if (first + k != selected) continue;
        pane_tone(&list, row, 0, list.at.cols, TONE_SELECTED);
        pane_text(p, row + 1, 0, TONE_NORMAL, p->canvas->style.ascii ? ">" : "\u25b6");
    }
    if (more == 0) return;
    struct pane full = pane_part(&body, body.at.rows - more + 1, 0, -1, -1);
    pane_wrap(&full, 0, TONE_STRONG, event[selected]->message);
}

static void draw(struct canvas *c, const struct rect *at, const struct frame *f) {
    struct pane p = pane_at(c, at[EVENTS]);
    draw_list(&p, f);
}

const struct panel_ops panel_log = {
    .name = "log",
    .title = "what happened, and what was changed by hand",
    .sections = sections,
    .section_count = SECTIONS,
    .list = true,
    .filters = true,
    .upwards = true,
    .draw = draw,
};
