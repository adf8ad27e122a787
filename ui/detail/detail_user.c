#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "draw/number.h"
#include "ui/detail/details.h"
#include "ui/panel/columns.h"
#include "ui/panel/parts.h"

enum { HEAD, REQUESTS, SECTIONS };

static const struct layout_section sections[SECTIONS] = {
    [HEAD] = {.name = "user", .line = 0, .least_cols = 20, .rows = {2, 4}, .urgency = {1, 3}},
    [REQUESTS] = {.name = "requests", .line = 1, .least_cols = 20, .rows = {3}, .urgency = {2}, .grow = 1},
};

enum { CAME, TURN, CONTEXT, GENERATE, LATENCY, STATE, FROM, COLUMNS };
static const struct column columns[COLUMNS] = {
    [CAME] = {.heading = "came", .cols = 7, .rank = 3},
    [TURN] = {.heading = "turn", .cols = 4, .rank = 4},
    [CONTEXT] = {.heading = "context", .cols = 8, .rank = 6},
    [GENERATE] = {.heading = "generate", .cols = 9, .rank = 7},
    [LATENCY] = {.heading = "latency", .cols = NUMBER_MS, .rank = 1},
    [STATE] = {.heading = "state", .cols = 8, .rank = 2, .left = true},
    [FROM] = {.heading = "entries from", .cols = 14, .rank = 5, .most = 60, .left = true},
};

/* A request of the user, under way or ended. */
struct row {
    double came_s, latency_ms;
    uint64_t turn, context_tokens, generate_tokens;
    const uint32_t *found;
    uint32_t not_found;
    const char *state;
    enum tone tone;
};

/* "cpu 3, nvme 5, 2 nowhere" */
static void found_text(const struct row *r, char *out, size_t len) {
    size_t used = 0;
    out[0] = '\0';
    for (int t = 0; t < KVF_TIERS && used < len; t++)
        if (r->found[t] > 0)
            used += (size_t)snprintf(out + used, len - used, "%s%s %u", used ? ", " : "",
                                     tier_name((enum kvf_tier)t), r->found[t]);
    if (r->not_found > 0 && used < len)
        used += (size_t)snprintf(out + used, len - used, "%s%u nowhere", used ? ", " : "", r->not_found);
    if (used == 0) snprintf(out, len, "--");
}

static void draw_row(const struct pane *p, int row, const struct column_place *at, const struct row *r) {
    char text[120], n[NUMBER];
    columns_cell(p, row, &columns[CAME], at[CAME], TONE_NORMAL, number_clock(r->came_s, n));
    const struct {
        int column;
        uint64_t value;
    } counts[] = {{TURN, r->turn}, {CONTEXT, r->context_tokens}, {GENERATE, r->generate_tokens}};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        snprintf(text, sizeof text, "%" PRIu64, counts[i].value);
        columns_cell(p, row, &columns[counts[i].column], at[counts[i].column], TONE_NORMAL, text);
    }
    columns_cell(p, row, &columns[LATENCY], at[LATENCY], TONE_STRONG, number_ms(r->latency_ms, n));
    columns_cell(p, row, &columns[STATE], at[STATE], r->tone, r->state);
    found_text(r, text, sizeof text);
    columns_cell(p, row, &columns[FROM], at[FROM], TONE_NORMAL, text);
}

/* The engine's account of the user; NULL: it follows another one, or nobody. */
static const struct snapshot_follow *followed(const struct frame *f) {
    const struct snapshot_follow *w = &f->snap->follow;
    return w->known && w->user == f->open.number ? w : NULL;
}

static bool is_ours(const struct frame *f, uint32_t r) {
    return !f->snap->request[r].no_user && f->snap->request[r].user == f->open.number;
}

/* Requests under way, the oldest first, then the ended ones, the newest first. */
static void draw_requests(const struct pane *p, const struct frame *f) {
    const struct snapshot_follow *w = followed(f);
    struct column_place at[COLUMNS];
    double now_s = f->snap->interval.t_s;
    int row = 1;
    columns_place(columns, COLUMNS, p->at.cols, at);
    columns_headings(p, 0, columns, COLUMNS, at);
    for (uint32_t i = 0; i < f->snap->requests && i < SNAPSHOT_REQUESTS; i++) {
        const struct snapshot_request *q = &f->snap->request[i];
        if (!is_ours(f, i)) continue;
        draw_row(p, row++, at,
                 &(struct row){now_s - q->age_ms / 1e3, q->age_ms, q->turn, q->context_tokens,
                               q->generate_tokens, q->found, q->not_found, q->step, TONE_ACCENT});
    }
    for (uint32_t i = 0; w && i < w->ended && i < SNAPSHOT_ENDED; i++) {
        const struct snapshot_ended *x = &w->end[i];
        draw_row(p, row++, at,
                 &(struct row){now_s - x->ago_s - x->e2e_ms / 1e3, x->e2e_ms, x->turn, x->context_tokens,
                               x->generate_tokens, x->found, x->not_found, x->failed ? "failed" : "done",
                               x->failed ? TONE_BAD : TONE_GOOD});
    }
    struct pane rest = pane_part(p, row, 0, -1, -1);
    if (pane_empty(&rest)) return;
    if (!w)
        pane_wrap(&rest, 0, TONE_DIM,
                  f->back || !f->live
                      ? "Nothing more is known of this moment: the run did not follow this user then."
                      : "The rest comes with the next interval.");
    else if (w->ended < SNAPSHOT_ENDED)
        pane_wrap(&rest, 0, TONE_DIM, "Ended requests are listed from when the user's page was opened.");
}

/* ---- the head ---- */

static const char *class_of(const struct frame *f) {
    const struct snapshot_follow *w = followed(f);
    uint32_t k = w && w->ended > 0 ? w->end[0].klass : UINT32_MAX;
    for (uint32_t i = 0; i < f->snap->requests && i < SNAPSHOT_REQUESTS; i++)
        if (is_ours(f, i)) k = f->snap->request[i].klass;
    return k < f->snap->classes && k < KVF_CLASSES_MAX ? f->snap->class_name[k] : "--";
}

/* Its present state in words. */
static void state_text(const struct frame *f, char *out, size_t len) {
    static const char *const states[] = {[FOLLOW_UNKNOWN] = "no request in service",
                                         [FOLLOW_IDLE] = "inactive: parked, or not begun",
                                         [FOLLOW_WAITING] = "thinks",
                                         [FOLLOW_ASKING] = "waits for a slot",
                                         [FOLLOW_ENDED] = "has sent its last request"};
    const struct snapshot_follow *w = followed(f);
    uint64_t served = w ? w->in_service : 0;
    char clock[NUMBER];
    for (uint32_t i = 0; !w && i < f->snap->requests && i < SNAPSHOT_REQUESTS; i++) served += is_ours(f, i);
    if (served > 0)
        snprintf(out, len, "%" PRIu64 " in service", served);
    else
        snprintf(out, len, "%s", w ? states[w->state] : "not in service");
    if (served == 0 && w && kvf_present(w->next_in_s))
        snprintf(out, len, "thinks until %s", number_clock(f->snap->interval.t_s + w->next_in_s, clock));
}

static void draw_tally(const struct pane *p, const struct frame *f) {
    const struct snapshot_follow *w = followed(f);
    const struct snapshot_user *asks = w ? &w->asks : NULL;
    char done[NUMBER], failed[NUMBER], last[NUMBER], mean[NUMBER], worst[NUMBER], text[200];
    for (uint32_t i = 0; !asks && i < f->snap->requests && i < SNAPSHOT_REQUESTS; i++)
        if (is_ours(f, i)) asks = &f->snap->request[i].asks;
    if (!asks) return;
    if (f->open.number >= SNAPSHOT_USERS_COUNTED) {
        snprintf(text, sizeof text, "requests of users from number %d on are not counted",
                 SNAPSHOT_USERS_COUNTED);
        pane_wrap(p, 0, TONE_DIM, text);
        return;
    }
    number_count((double)asks->done, done), number_count((double)asks->failed, failed);
    number_ms(asks->last_ms, last), number_ms(asks->mean_ms, mean), number_ms(asks->worst_ms, worst);
    snprintf(text, sizeof text, "%s done, %s failed; end-to-end last %s, mean %s, worst %s",
             done + strspn(done, " "), failed + strspn(failed, " "), last + strspn(last, " "),
             mean + strspn(mean, " "), worst + strspn(worst, " "));
    pane_wrap(p, 0, TONE_NORMAL, text);
}

/* Why there is no user to show; NULL: there is one. */
static const char *nobody(const struct frame *f) {
    if (!f->snap) return "no request has begun yet";
    if (f->open.number == FRAME_NO_USER) return "The trace names no users; its rows have their own times.";
    if (!f->snap->requests_known)
        return "Only the live screen of `kvfall run` shows single users, at the current moment.";
    return NULL;
}

static void draw(struct canvas *c, const struct rect *at, const struct frame *f) {
    struct pane head = pane_at(c, at[HEAD]), table = pane_at(c, at[REQUESTS]);
    char state[80];
    head = pane_part(&head, 0, 1, -1, -1), table = pane_part(&table, 0, 1, -1, -1);
    if (pane_empty(&head)) return;
    if (nobody(f)) {
        pane_wrap(&head, 0, TONE_DIM, nobody(f));
        return;
    }
    state_text(f, state, sizeof state);
    int col = pane_textf(&head, 0, 0, TONE_STRONG, "User %" PRIu64, f->open.number);
    col += pane_textf(&head, 0, col, TONE_NORMAL, ", %s: ", class_of(f));
    pane_text(&head, 0, col, TONE_ACCENT, state);
    struct pane tally = pane_part(&head, 1, 0, -1, -1);
    if (!pane_empty(&tally)) draw_tally(&tally, f);
    if (!pane_empty(&table)) draw_requests(&table, f);
}

const struct panel_ops detail_user = {.name = "user",
                                      .title = "one user: what it does now, and its requests",
                                      .sections = sections,
                                      .section_count = SECTIONS,
                                      .draw = draw};
