#include "ui/screen.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "ui/detail/details.h"
#include "ui/panel/parts.h"
#include "ui/screen_inside.h"

enum { MESSAGE_S = 5, EVENTS_AT_ONCE = 1000, DUMP_PATIENCE_S = 10 };

void screen_say(struct screen *s, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(s->message, sizeof s->message, fmt, ap);
    va_end(ap);
    s->message_until_ns = clock_now_ns() + MESSAGE_S * KVF_NS_PER_S;
}

void screen_init(struct screen *s, const struct ui_setup *setup) {
    memset(s, 0, sizeof *s);
    s->setup = setup;
    s->style = setup->style;
    s->history = history_new();
    s->newest_s = s->picked_s = KVF_MISSING;
    snprintf(s->generation, sizeof s->generation, "%s", setup->provider->generation);
    s->to_begin_at_s = setup->at_s;
    struct settings begin = setup->settings ? *setup->settings : settings_default();
    if (setup->view) setting_set(&begin, SETTING_VIEW, setup->view);
    s->theme = begin.theme; /* the style has it, where colours may be used */
    s->view = begin.view;
    s->span = begin.window;
    s->zoom = s->zoom_asked = begin.zoom;
    s->table[PANEL_requests] =
        (struct frame_table){.sort = begin.sort, .descending = begin.descending, .hidden = begin.hidden};
    s->table[PANEL_pods] = (struct frame_table){.sort = PANEL_PODS_SORT, .descending = true};
    s->table[PANEL_hosts] = (struct frame_table){.sort = PANEL_HOSTS_SORT, .descending = true};
}

struct settings screen_settings(const struct screen *s) {
    const struct frame_table *t = &s->table[PANEL_requests];
    bool aside = s->view == PANEL_help || s->view == PANEL_evidence;
    return (struct settings){.theme = s->theme,
                             .view = (enum panel)(aside ? s->view_before : s->view),
                             .window = s->span,
                             .zoom = s->zoom_asked,
                             .sort = t->sort,
                             .descending = t->descending,
                             .hidden = t->hidden};
}

void screen_free(struct screen *s) {
    history_free(s->history);
    s->history = NULL;
}

/* A look between intervals is too short for rates and percentiles: what stands "now" is taken over, the
 * rest stays that of the last interval. */
static void take_peek(struct snapshot *shown, const struct snapshot *peek) {
    shown->interval.paused = peek->interval.paused;
    shown->interval.users = peek->interval.users;
    shown->interval.queue_depth = peek->interval.queue_depth;
    shown->interval.oldest_wait_ms = peek->interval.oldest_wait_ms;
    shown->interval.in_service_now = peek->interval.in_service_now;
    shown->interval.phase = peek->interval.phase;
    shown->interval.rss_bytes = peek->interval.rss_bytes;
    shown->interval.host_available_bytes = peek->interval.host_available_bytes;
    for (int k = 0; k < KVF_CLASSES_MAX; k++) {
        shown->qos[k].queued = peek->qos[k].queued;
        shown->qos[k].in_service_now = peek->qos[k].in_service_now;
        shown->qos[k].oldest_wait_ms = peek->qos[k].oldest_wait_ms;
        shown->qos[k].overdue = peek->qos[k].overdue;
    }
    for (int t = 0; t < KVF_TIERS; t++) {
        shown->tier[t].used_bytes = peek->tier[t].used_bytes;
        shown->tier[t].entries = peek->tier[t].entries;
        shown->tier[t].io_in_flight = peek->tier[t].io_in_flight;
        shown->tier[t].hung_s = peek->tier[t].hung_s;
    }
    shown->real_s = peek->real_s;
    shown->speed = peek->speed;
    shown->requests_known = peek->requests_known;
    shown->requests = peek->requests;
    memcpy(shown->request, peek->request, sizeof shown->request);
    shown->follow = peek->follow;
}

/* The rest of an interval at the end of a run: too short for rates, and nothing ends in it. */
static bool is_stub(const struct screen *s, const struct snapshot *snap) {
    return snap->interval.phase == KVF_PHASE_DRAIN &&
           !(snap->interval.length_s >= s->setup->provider->interval_s / 2);
}

static bool feed_snapshots(struct screen *s, unsigned most, bool *more) {
    const struct provider *p = s->setup->provider;
    unsigned n = 0;
    while (n < most && p->next(p->ctx, &s->arrived, &s->version)) {
        n++;
        if (s->arrived.peek && kvf_present(s->newest_s)) {
            take_peek(&s->newest, &s->arrived);
            continue;
        }
        bool follows = s->arrived.interval.t_s - s->newest_s < 2 * p->interval_s;
        if (kvf_present(s->newest_s) && follows && is_stub(s, &s->arrived)) continue;
        s->newest = s->arrived;
        s->any = true;
        if (s->newest.peek) continue;
        s->newest_s = s->newest.interval.t_s;
        history_add(s->history, &s->newest);
    }
    *more = n == most;
    return n > 0;
}

/* The window that ends at the newest interval: there is none yet before the first. */
static bool feed_window(struct screen *s) {
    const struct provider *p = s->setup->provider;
    bool got = p->window && p->window(p->ctx, s->span, KVF_MISSING, &s->window, &s->window_version);
    s->windowed = s->windowed || got;
    return got;
}

static void look_back_window(struct screen *s) {
    const struct provider *p = s->setup->provider;
    uint64_t version = 0;
    s->past_windowed =
        p->window && p->window(p->ctx, s->span, s->past.interval.t_s, &s->past_window, &version);
}

void screen_window(struct screen *s, enum windows_span span) {
    s->span = span;
    s->windowed = false;
    s->window_version = 0;
    feed_window(s);
    if (s->back) look_back_window(s);
}

static bool feed_events(struct screen *s, bool *more) {
    const struct provider *p = s->setup->provider;
    struct record_event e;
    int n = 0;
    for (; n < EVENTS_AT_ONCE && p->event && p->event(p->ctx, &e); n++) {
        if (!p->stored && isnan(e.t_s)) e.t_s = s->newest_s; /* one of ours, not the engine's */
        history_event(s->history, &e);
        bool old = p->stored && kvf_present(s->newest_s) && e.t_s < s->newest_s - 10 * p->interval_s;
        bool wrong = strcmp(e.level, "warning") == 0 || strcmp(e.level, "error") == 0;
        if (wrong && !old) screen_say(s, "%s", e.message);
    }
    *more = n == EVENTS_AT_ONCE;
    return n > 0;
}

static bool feed_status(struct screen *s) {
    const struct provider *p = s->setup->provider;
    struct provider_status now = {0};
    p->status(p->ctx, &now);
    bool changed = now.ended != s->status.ended || now.storing != s->status.storing ||
                   now.stalled != s->status.stalled || strcmp(now.preparing, s->status.preparing) != 0 ||
                   now.prepared != s->status.prepared;
    /* how a run went is told by all of it, and a question about it is settled */
    if (now.ended && !s->status.ended) {
        s->zoom = ZOOM_ALL;
        s->asking = ASKING_NOTHING;
        prompt_end(&s->prompt);
    }
    /* A run that stands still stores nothing, so that its last interval does not know. */
    if (p->stored && s->any && s->newest.interval.paused != now.paused) {
        s->newest.interval.paused = now.paused;
        changed = true;
    }
    if (p->stored) s->window.snap.interval.paused = now.paused;
    s->status = now;
    if (s->back && !s->past_windowed && now.reading) {
        look_back_window(s);
        changed = changed || s->past_windowed;
    }
    return changed;
}

bool screen_feed(struct screen *s, unsigned most, bool *more) {
    bool again = false;
    bool changed = feed_snapshots(s, most, &again);
    if (!again) {
        changed = feed_window(s) || changed;
        changed = feed_events(s, &again) || changed;
        changed = feed_status(s) || changed;
        again = again || s->status.reading;
        if (!isnan(s->to_begin_at_s) && s->any) {
            screen_travel(s, s->to_begin_at_s);
            s->to_begin_at_s = KVF_MISSING;
        }
    }
    if (more) *more = again;
    return changed;
}

bool screen_tick(struct screen *s) {
    if (!s->message[0] || clock_now_ns() < s->message_until_ns) return false;
    s->message[0] = '\0';
    return true;
}

void screen_look_back(struct screen *s) {
    s->past = s->arrived;
    if (is_stub(s, &s->past) && kvf_present(s->newest_s)) s->past = s->newest;
    s->back = s->past.interval.t_s < s->newest_s;
    s->frozen = false;
    if (s->back) look_back_window(s);
}

bool screen_travel(struct screen *s, double t_s) {
    const struct provider *p = s->setup->provider;
    if (!p->at) {
        screen_say(s, "earlier moments are not available: this run has no database (--db none)");
        return false;
    }
    /* intervals end a little after the moment that people mean by their number */
    if (!p->at(p->ctx, t_s + p->interval_s / 2, &s->arrived)) {
        screen_say(s, "that moment could not be read from the database; it may not be there yet");
        return false;
    }
    screen_look_back(s);
    return true;
}

const struct screen_generation screen_generations[SCREEN_GENERATIONS] = {
    {"none", 0}, {"fast", 2}, {"realistic", 30}};

/* The name of a time per token among the modes that g goes through; NULL when it is none of them. */
static const char *generation_name(double ms_per_token) {
    for (int i = 0; i < SCREEN_GENERATIONS; i++)
        if (fabs(ms_per_token - screen_generations[i].ms) < 1e-6) return screen_generations[i].name;
    return NULL;
}

/* The generation mode at the moment shown: that of the scenario, or of the last change before it. */
static const char *generation_of(const struct screen *s, double shown_s) {
    const struct record_event *last = NULL;
    for (size_t i = 0; i < history_events(s->history); i++) {
        const struct record_event *e = history_event_at(s->history, i);
        bool later = s->back && e->t_s > shown_s;
        if (!later && record_event_is(e, RECORD_EVENT_GENERATION)) last = e;
    }
    if (!last) return s->setup->provider->generation;
    const char *name = generation_name(strtod(last->value, NULL));
    return name ? name : "fixed";
}

/* Taken from the last event before that moment, or the last decision, or the scenario. */
const char *screen_autoscaler(const struct screen *s) {
    const char *mode = s->setup->provider->autoscaler;
    double t_s, shown_s = s->back ? s->past.interval.t_s : (double)INFINITY;
    if (!s->back && clock_now_ns() < s->autoscaler_until_ns) return s->autoscaler;
    for (size_t i = 0; !mode[0] && i < history_decisions(s->history); i++) {
        const struct snapshot_decision *d = history_decision_at(s->history, i, &t_s);
        if (t_s <= shown_s) mode = d->mode;
    }
    for (size_t i = 0; i < history_events(s->history); i++) {
        const struct record_event *e = history_event_at(s->history, i);
        if (!(e->t_s > shown_s) && record_event_is(e, RECORD_EVENT_AUTOSCALER)) mode = e->value;
    }
    return mode[0] ? mode : "off";
}

static const char *question_of(const struct screen *s) {
    return s->asking == ASKING_QUIT ? "Stop the run and keep its results? y/n" : s->prompt.question;
}

static struct frame frame_of(const struct screen *s) {
    const struct provider *p = s->setup->provider;
    const struct snapshot *snap = s->back ? &s->past : s->any ? &s->newest : NULL;
    bool windowed = s->back ? s->past_windowed : s->any && s->windowed;
    const struct windows_view *w = windowed ? s->back ? &s->past_window : &s->window : NULL;
    bool whole = s->status.ended && !s->back && p->run->verdict.sentence[0];
    return (struct frame){.run = p->run,
                          .snap = w ? &w->snap : snap,
                          .interval = snap,
                          .verdict = whole ? &p->run->verdict
                                     : w   ? &w->verdict
                                           : NULL,
                          .span = s->span,
                          .windowed = windowed,
                          .window = w,
                          .open = s->opened ? s->open[s->opened - 1] : (struct frame_thing){FRAME_NOTHING, 0},
                          .history = s->history,
                          .status = &s->status,
                          .interval_s = p->interval_s,
                          .planned_s = p->planned_s,
                          .shown_s = snap ? snap->interval.t_s : KVF_MISSING,
                          .newest_s = s->newest_s,
                          .zoom = s->zoom,
                          .live = !s->status.ended,
                          .over = s->status.ended,
                          .back = s->back,
                          .frozen = s->frozen,
                          .controls = s->setup->commands != NULL && !s->status.ended,
                          .inside = s->setup->board != NULL,
                          .autoscaler = screen_autoscaler(s),
                          .generation = generation_of(s, snap ? snap->interval.t_s : KVF_MISSING),
                          .view = s->view,
                          .heat = s->heat,
                          .detail = s->detail,
                          .table = s->table[s->view],
                          .message = s->message[0] ? s->message : NULL,
                          .question = question_of(s),
                          .answer = s->prompt.text};
}

/* The sections of a view; a fourth tier takes rows of its own. */
static void place_sections(const struct frame *f, const struct panel_ops *panel, struct rect body,
                           struct rect *out) {
    struct layout_section sections[LAYOUT_SECTIONS];
    size_t n = panel->section_count;

    memcpy(sections, panel->sections, n * sizeof *sections);
    for (size_t i = 0; i < n && parts_tier_on(f, KVF_TIER_REMOTE); i++)
        for (int k = 0; k < LAYOUT_STEPS; k++) sections[i].rows[k] += sections[i].fourth[k];
    layout_sections(sections, n, body, out);
}

const struct panel_ops *screen_panel(const struct screen *s) {
    return s->opened ? details[s->open[s->opened - 1].kind] : panels[s->view];
}

/* The row of what is selected is inverse, with a sign of its own where its margin is free. */
static void show_pick(const struct screen *s, struct canvas *c) {
    struct pane all = pane_whole(c);
    for (unsigned i = 0; i < s->rows.count; i++) {
        const struct rect *at = &s->rows.row[i].at;
        if (s->rows.row[i].thing.kind != s->pick.kind || s->rows.row[i].thing.number != s->pick.number)
            continue;
        if (canvas_cell(c, at->row, at->col)->ch == ' ')
            pane_text(&all, at->row, at->col, TONE_NORMAL, c->style.ascii ? ">" : "\u25b6");
        pane_tone(&all, at->row, at->col, at->cols, TONE_SELECTED);
    }
}

void screen_draw(struct screen *s, struct canvas *c) {
    struct frame f = frame_of(s);
    struct layout_screen l = layout_screen(c->rows, c->cols);
    struct rect at[LAYOUT_SECTIONS];
    const struct panel_ops *panel = screen_panel(s);

    canvas_clear(c);
    c->style = s->style;
    struct pane body = pane_at(c, l.body);
    if (l.too_small) {
        parts_too_small(&body, &f);
        return;
    }
    struct pane header = pane_at(c, l.header), footer = pane_at(c, l.footer);
    parts_header(&header, &f);
    place_sections(&f, panel, l.body, at);
    f.list_end = &s->list_end;
    f.picked_s = &s->picked_s;
    f.rows = &s->rows;
    f.leads_to = &s->leads_to;
    s->rows.count = 0;
    s->picked_s = KVF_MISSING;
    s->list_end = 0;
    s->leads_to = (struct frame_thing){FRAME_NOTHING, 0};
    panel->draw(c, at, &f);
    show_pick(s, c);
    parts_footer(&footer, &f);
    struct pane message = pane_at(c, (struct rect){l.footer.row - 1, 0, 1, c->cols});
    parts_message(&message, &f);
}

bool ui_view_known(const char *name) {
    for (int i = 0; i < PANELS; i++)
        if (strcmp(panels[i]->name, name) == 0) return true;
    return false;
}

char *ui_view_names(char *out, size_t len) {
    size_t used = 0;
    out[0] = '\0';
    for (int i = 0; i < PANELS && used < len; i++)
        used += (size_t)snprintf(out + used, len - used, "%s%s", i ? ", " : "", panels[i]->name);
    return out;
}

int ui_dump(const struct provider *provider, const struct ui_picture *picture, struct buf *out,
            struct err *e) {
    struct ui_setup setup = {.provider = provider,
                             .style = picture->style,
                             .fd = -1,
                             .view = picture->view,
                             .at_s = picture->at_s};
    static struct screen s; /* large for a stack; one dump at a time */
    struct canvas c;
    bool more = true;
    int rc = 0;

    screen_init(&s, &setup);
    uint64_t until_ns = clock_now_ns() + DUMP_PATIENCE_S * KVF_NS_PER_S;
    struct timespec nap = {0, (long)(20 * KVF_NS_PER_MS)};
    while (more || (s.status.behind && clock_now_ns() < until_ns)) {
        if (!more) nanosleep(&nap, NULL);
        screen_feed(&s, SCREEN_FEED, &more);
    }
    s.message[0] = '\0';
    if (s.status.behind) {
        rc = err_set(e, KVF_ERR_BUSY,
                     "the history database cannot be read to its end: another process keeps it "
                     "locked; try again");
    } else if (!isnan(picture->at_s) && !kvf_present(s.newest_s)) {
        rc = err_set(e, KVF_ERR_UNAVAILABLE, "the run has no stored interval to show");
    } else {
        canvas_init(&c, picture->rows, picture->cols, picture->style);
        screen_draw(&s, &c);
        if (picture->svg)
            canvas_svg(&c, out);
        else
            canvas_text(&c, out);
        canvas_free(&c);
    }
    screen_free(&s);
    return rc;
}
