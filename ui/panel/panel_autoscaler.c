#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "draw/number.h"
#include "ui/panel/columns.h"
#include "ui/panel/panels.h"
#include "ui/panel/parts.h"

enum { NOW, USERS, SATURATION, LATENCY, LIST, DETAIL, SECTIONS };

/* The graphs stand one above the other, so that what happened together stands in one column. */
static const struct layout_section sections[SECTIONS] = {
    [NOW] = {.name = "now", .line = 0, .least_cols = 20, .rows = {1}, .urgency = {1}},
    [USERS] = {.name = "users", .line = 1, .least_cols = 20, .rows = {3, 5}, .urgency = {3, 6}, .grow = 1},
    [SATURATION] =
        {.name = "saturation", .line = 2, .least_cols = 20, .rows = {3, 5}, .urgency = {5, 8}, .grow = 1},
    [LATENCY] = {.name = "P95", .line = 3, .least_cols = 20, .rows = {3, 5}, .urgency = {4, 7}, .grow = 1},
    [LIST] = {.name = "list", .line = 4, .least_cols = 20, .rows = {4}, .urgency = {2}, .grow = 1},
    [DETAIL] = {.name = "detail", .line = 5, .least_cols = 20, .rows = {2, 3}, .urgency = {9, 10}},
};

enum { TIME, CHANGE, ACTION, REASON, SATURATED, P95, MODE, TOKENS, COLUMNS };
static const struct column columns[COLUMNS] = {
    [TIME] = {.heading = "time", .cols = 8, .rank = 1},
    [CHANGE] = {.heading = "users", .cols = 14, .rank = 2, .left = true},
    [ACTION] = {.heading = "decision", .cols = 10, .rank = 4, .most = 16, .left = true},
    [REASON] = {.heading = "reason", .cols = 13, .rank = 3, .most = 96, .left = true},
    [SATURATED] = {.heading = "satur.", .cols = 6, .rank = 5},
    [P95] = {.heading = "P95", .cols = NUMBER_MS, .rank = 6},
    [MODE] = {.heading = "mode", .cols = 8, .rank = 8, .left = true},
    [TOKENS] = {.heading = "tok/s", .cols = NUMBER_COUNT, .rank = 7},
};
enum { MARKER = 1, REASON_WANTED = 44, WITH_FIGURES = 3 };

/* The list: decisions, or without an autoscaler the changes by hand and marks, newest first. */
struct item {
    double t_s;
    const struct snapshot_decision *decision; /* else */
    const struct record_event *event;
};

static bool deciding(const struct frame *f) {
    return history_decisions(f->history) > 0 || strcmp(f->autoscaler, "off") != 0;
}

/* Runs of older versions were never told how saturated they were. */
static bool saturation_told(const struct frame *f) {
    return deciding(f) || (f->snap && kvf_present(f->snap->interval.saturation));
}

static size_t item_count(const struct frame *f) {
    return deciding(f) ? history_decisions(f->history) : history_events(f->history);
}

static bool item_passes(const struct item *x, const char *filter) {
    char text[300];
    if (!x->decision) return parts_filter(x->event->message, filter);
    const struct snapshot_decision *d = x->decision;
    snprintf(text, sizeof text, "%s %s %" PRIu64 " %" PRIu64 " %s", d->mode, d->action, d->users_before,
             d->users_after, d->reason);
    return parts_filter(text, filter);
}

/* The i-th of the history, oldest first; false when it does not belong to the moment or the list. */
static bool item_at(const struct frame *f, size_t i, struct item *out) {
    char sign;
    enum tone tone;

    *out = (struct item){.t_s = KVF_MISSING};
    if (deciding(f)) {
        out->decision = history_decision_at(f->history, i, &out->t_s);
    } else {
        out->event = history_event_at(f->history, i);
        out->t_s = out->event->t_s;
        if (!parts_event_marked(out->event, &sign, &tone) || tone != TONE_MARK) return false;
    }
    return !(f->back && out->t_s > f->shown_s) && item_passes(out, f->table.filter);
}

static int items_shown(const struct frame *f) {
    struct item x;
    int n = 0;
    for (size_t i = 0; i < item_count(f); i++) n += item_at(f, i, &x);
    return n;
}

/* The n-th of the list, newest first. */
static bool item_nth(const struct frame *f, int n, struct item *out) {
    for (size_t i = item_count(f); i-- > 0;)
        if (item_at(f, i, out) && n-- == 0) return true;
    return false;
}

/* ---- the list ---- */

static void draw_decision(const struct pane *p, int row, const struct column_place *at,
                          const struct item *x) {
    const struct snapshot_decision *d = x->decision;
    char text[64], one[NUMBER], two[NUMBER];
    const char *after = number_count((double)d->users_after, two);

    columns_cell(p, row, &columns[TIME], at[TIME], TONE_DIM, number_clock(x->t_s, one));
    snprintf(text, sizeof text, "%s %s %s", number_count((double)d->users_before, one),
             parts_sign(p->canvas, PARTS_ARROW), after + strspn(after, " "));
    columns_cell(p, row, &columns[CHANGE], at[CHANGE],
                 d->users_after == d->users_before ? TONE_NORMAL : TONE_STRONG, text);
    columns_cell(p, row, &columns[ACTION], at[ACTION], TONE_NORMAL, d->action);
    columns_cell(p, row, &columns[REASON], at[REASON], TONE_NORMAL, d->reason);
    columns_cell(p, row, &columns[SATURATED], at[SATURATED], TONE_NORMAL, number_plain(d->saturation, one));
    columns_cell(p, row, &columns[P95], at[P95], TONE_NORMAL, number_ms(d->p95_ms, one));
    columns_cell(p, row, &columns[MODE], at[MODE], TONE_DIM, d->mode);
    columns_cell(p, row, &columns[TOKENS], at[TOKENS], TONE_NORMAL, number_count(d->throughput_tok_s, one));
}

static void draw_change(const struct pane *p, int row, const struct column_place *at, const struct item *x) {
    char clock[NUMBER], sign = ' ';
    enum tone tone = TONE_MARK;

    parts_event_marked(x->event, &sign, &tone);
    columns_cell(p, row, &columns[TIME], at[TIME], TONE_DIM, number_clock(x->t_s, clock));
    pane_textf(p, row, at[CHANGE].col, tone, "%c %s", sign, x->event->message);
}

static void place(const struct pane *p, struct column_place *at) {
    struct column mine[COLUMNS];
    int room = p->at.cols - MARKER, reason = room - columns[TIME].cols - columns[CHANGE].cols - 2;

    memcpy(mine, columns, sizeof mine);
    if (reason > REASON_WANTED) reason = REASON_WANTED;
    if (reason > mine[REASON].cols) mine[REASON].cols = reason;
    columns_place(mine, COLUMNS, room, at);
    for (int i = 0; i < COLUMNS; i++) at[i].col += MARKER;
}

static void draw_heading(const struct pane *p, const struct frame *f, const struct column_place *at,
                         int shown) {
    if (deciding(f)) {
        columns_headings(p, 0, columns, COLUMNS, at);
        return;
    }
    int col = MARKER;
    col += pane_text(p, 0, col, TONE_HEADING, p->at.cols < 60 ? "Changes " : "Changes and marks ");
    col += pane_textf(p, 0, col, TONE_STRONG, "%d", shown);
    if (p->at.rows > 1)
        pane_clip(p, 0, col + 2, p->at.cols - col - 2, TONE_DIM,
                  f->controls && !parts_open_loop(f) ? "the autoscaler is off; a starts it"
                                                     : "the autoscaler is off");
}

static const char *nothing(const struct frame *f) {
    if (f->table.filter[0]) return "no row matches the filter; / changes it";
    if (deciding(f)) return "no decision yet";
    return f->controls ? "none yet: + and - change the users, ] and [ double and halve them, m sets a mark"
                       : "none";
}

static int cut(int selected, int shown) {
    return selected >= shown ? shown - 1 : selected < 0 ? 0 : selected;
}

static void draw_list(const struct pane *p, const struct frame *f, int shown) {
    struct column_place at[COLUMNS];
    int rows = p->at.rows - 1, selected = cut(f->table.selected, shown);
    int first = selected < rows ? 0 : selected - rows + 1;
    struct item x;

    if (f->list_end) *f->list_end = shown - 1;
    place(p, at);
    draw_heading(p, f, at, shown);
    struct pane body = pane_part(p, 1, 0, -1, -1);
    if (shown == 0) {
        struct pane text = pane_part(&body, 0, MARKER, -1, -1);
        pane_wrap(&text, 0, TONE_DIM, nothing(f));
    }
    for (int row = 0; row < rows && first + row < shown && item_nth(f, first + row, &x); row++) {
        if (x.decision)
            draw_decision(&body, row, at, &x);
        else
            draw_change(&body, row, at, &x);
        if (first + row != selected) continue;
        pane_text(&body, row, 0, TONE_NORMAL, p->canvas->style.ascii ? ">" : "▶");
        pane_tone(&body, row, 0, p->at.cols, TONE_SELECTED);
    }
}

/* Whether the line of a change shows all of it. */
static bool event_fits(const struct item *x, int cols) {
    return canvas_text_columns(x->event->message) + MARKER + columns[TIME].cols + 3 <= cols;
}

/* The rest of the selected line. */
static void draw_detail(const struct pane *p, const struct item *x) {
    char clock[NUMBER], saturation[NUMBER], p95[NUMBER], tokens[NUMBER], text[300];
    struct pane body = pane_part(p, 0, MARKER, -1, -1);
    const struct snapshot_decision *d = x->decision;

    number_clock(x->t_s, clock);
    if (!d) {
        pane_wrap(&body, 0, TONE_DIM, x->event->message);
        return;
    }
    if (p->at.rows < WITH_FIGURES) { /* most of them stand in the reason */
        snprintf(text, sizeof text, "%s  %s: %s", clock + strspn(clock, " "), d->action, d->reason);
        pane_wrap(&body, 0, TONE_DIM, text);
        return;
    }
    number_ms(d->p95_ms, p95);
    number_count(d->throughput_tok_s, tokens);
    pane_textf(&body, 0, 0, TONE_DIM, "%s  %s, %s, saturation %s, P95 %s, %s tok/s", clock, d->mode,
               d->action, number_plain(d->saturation, saturation), p95 + strspn(p95, " "),
               tokens + strspn(tokens, " "));
    pane_wrap(&body, 1, TONE_DIM, d->reason);
}

/* ---- graphs ---- */

static void draw_graphs(struct canvas *c, const struct rect *at, const struct frame *f) {
    bool e2e = parts_judged_by_e2e(f);
    const struct parts_line users[] = {{"users", SERIES_USERS, TONE_ACCENT, false},
                                       {"in service", SERIES_IN_SERVICE, TONE_SECOND, false}},
                            saturation[] = {{"saturation", SERIES_SATURATION, TONE_ACCENT, false}},
                            latency[] = {{e2e ? "end-to-end" : "first token",
                                          e2e ? SERIES_E2E_P95_MS : SERIES_TTFT_P95_MS, TONE_ACCENT, false},
                                         {"queue wait", SERIES_WAIT_P95_MS, TONE_SECOND, false}};
    struct pane p[SECTIONS];

    for (int s = USERS; s <= LATENCY; s++) p[s] = pane_at(c, at[s]);
    parts_graph(&p[USERS], f, "Users", number_count, 0, users, 2);
    parts_graph(&p[SATURATION], f, "0 idle, 1 saturated", number_plain, 1, saturation, 1);
    parts_graph(&p[LATENCY], f, "P95", number_ms, 0, latency, 2);
}

/* Without saturation its rows go to the graphs above and below it. */
static void share_rows(struct rect *at) {
    int rows = at[USERS].rows + at[SATURATION].rows + at[LATENCY].rows;
    if (at[SATURATION].rows == 0) return;
    at[SATURATION] = (struct rect){0, 0, 0, 0};
    at[USERS].rows = (rows + 1) / 2;
    at[LATENCY].row = at[USERS].row + at[USERS].rows;
    at[LATENCY].rows = rows - at[USERS].rows;
}

static void draw(struct canvas *c, const struct rect *where, const struct frame *f) {
    struct rect at[SECTIONS];
    struct item selected = {.t_s = KVF_MISSING};
    int shown = items_shown(f);

    memcpy(at, where, sizeof at);
    if (!saturation_told(f)) share_rows(at);
    bool any = shown > 0 && item_nth(f, cut(f->table.selected, shown), &selected);
    if (f->picked_s && any) *f->picked_s = selected.t_s;
    if (!any || (selected.event && event_fits(&selected, at[LIST].cols))) {
        at[LIST].rows += at[DETAIL].rows;
        at[DETAIL].rows = 0;
    }
    struct pane now = pane_at(c, at[NOW]), list = pane_at(c, at[LIST]), detail = pane_at(c, at[DETAIL]);
    if (!pane_empty(&now)) parts_users(&now, f);
    draw_graphs(c, at, f);
    if (!pane_empty(&list)) draw_list(&list, f, shown);
    if (!pane_empty(&detail)) draw_detail(&detail, &selected);
}

const struct panel_ops panel_autoscaler = {.name = "autoscaler",
                                           .title = "the number of users, and who changed it and why",
                                           .sections = sections,
                                           .section_count = SECTIONS,
                                           .list = true,
                                           .draw = draw};
