#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "draw/graph.h"
#include "draw/number.h"
#include "ui/keyboard.h"
#include "ui/panel/columns.h"
#include "ui/panel/panels.h"
#include "ui/panel/parts.h"

enum { COUNTS, TABLE, SECTIONS };

static const struct layout_section sections[SECTIONS] = {
    [COUNTS] = {.name = "counts", .line = 0, .least_cols = 20, .rows = {1}, .urgency = {2}},
    [TABLE] = {.name = "requests", .line = 1, .least_cols = 20, .rows = {6}, .urgency = {1}, .grow = 1},
};

/* Sortable columns come first, in the order in which `o` goes through them. */
enum { USER, TURN, CLASS, CONTEXT, GENERATE, STEP, TIER, AGE, SERVICE, SORTS, TIMELINE = SORTS, COLUMNS };

static const struct column columns[COLUMNS] = {
    [USER] = {.heading = "user", .cols = 6, .rank = 1},
    [TURN] = {.heading = "turn", .cols = 5, .rank = 8},
    [CLASS] = {.heading = "class", .cols = 11, .rank = 4, .most = 20, .left = true},
    [CONTEXT] = {.heading = "context", .cols = 8, .rank = 6},
    [GENERATE] = {.heading = "generate", .cols = 9, .rank = 7},
    [STEP] = {.heading = "step", .cols = 8, .rank = 2, .most = 10, .left = true},
    [TIER] = {.heading = "tier", .cols = 8, .rank = 5, .most = 16, .left = true},
    [AGE] = {.heading = "age", .cols = NUMBER_MS + 1, .rank = 3},
    [SERVICE] = {.heading = "service", .cols = NUMBER_MS + 1, .rank = 9},
    [TIMELINE] = {.heading = "", .cols = 20, .rank = 10, .most = 120, .left = true},
};
enum { MARKER = 1, CELL = 48 }; /* a column in front of a row for the sign of the selected one */

/* A row as it is shown, cell by cell; all of it can be searched. */
struct row {
    char cell[SORTS][CELL];
};

static const char *class_name(const struct frame *f, uint32_t k) {
    return k < f->snap->classes && k < KVF_CLASSES_MAX ? f->snap->class_name[k] : "?";
}

static void row_fill(struct row *r, const struct frame *f, const struct snapshot_request *q) {
    char n[NUMBER];
    snprintf(r->cell[USER], CELL, "%" PRIu64, (q->no_user ? q->id : q->user));
    if (q->no_user)
        snprintf(r->cell[TURN], CELL, "--");
    else
        snprintf(r->cell[TURN], CELL, "%" PRIu64, q->turn);
    snprintf(r->cell[CLASS], CELL, "%s", q->no_class ? "--" : class_name(f, q->klass));
    snprintf(r->cell[CONTEXT], CELL, "%" PRIu64, q->context_tokens);
    snprintf(r->cell[GENERATE], CELL, "%" PRIu64, q->generate_tokens);
    snprintf(r->cell[STEP], CELL, "%s", q->step);
    if (q->tier >= 0 && q->tier < KVF_TIERS)
        parts_tier_label(f, q->tier, r->cell[TIER], CELL);
    else
        snprintf(r->cell[TIER], CELL, "--");
    snprintf(r->cell[AGE], CELL, "%s", number_ms(q->age_ms, n));
    snprintf(r->cell[SERVICE], CELL, "%s", number_ms(q->service_ms, n));
}

static bool row_passes(const struct row *r, const char *filter) {
    char text[SORTS * CELL];
    size_t len = 0;
    for (int i = 0; i < SORTS; i++)
        len += (size_t)snprintf(text + len, sizeof text - len, "%s%s", i ? " " : "", r->cell[i]);
    return parts_filter(text, filter);
}

/* ---- order ---- */

/* Where a request has got to. */
static int step_rank(const char *step) {
    static const char *const steps[] = {"lookup", "reads",    "prefill", "retrieve",
                                        "decode", "generate", "settle"};
    int i = 0, n = (int)(sizeof steps / sizeof *steps);
    while (i < n && strcmp(steps[i], step) != 0) i++;
    return i;
}

static int order_u(uint64_t a, uint64_t b) {
    return (a > b) - (a < b);
}

static int order_f(double a, double b) {
    return isnan(a) || isnan(b) ? isnan(b) - isnan(a) : (a > b) - (a < b);
}

static int order(const struct snapshot_request *a, const struct snapshot_request *b, int column) {
    switch (column) {
    case USER:
        return a->no_user ? order_u(a->id, b->id) : order_u(a->user, b->user);
    case TURN:
        return order_u(a->turn, b->turn);
    case CLASS:
        return order_u(a->klass, b->klass);
    case CONTEXT:
        return order_u(a->context_tokens, b->context_tokens);
    case GENERATE:
        return order_u(a->generate_tokens, b->generate_tokens);
    case STEP:
        return step_rank(a->step) - step_rank(b->step);
    case TIER:
        return (a->tier > b->tier) - (a->tier < b->tier);
    case SERVICE:
        return order_f(a->service_ms, b->service_ms);
    default:
        return order_f(a->age_ms, b->age_ms);
    }
}

/* The requests that pass the filter, sorted; equal ones keep the snapshot's order, oldest first. */
static int rows_pick(const struct frame *f, uint8_t pick[SNAPSHOT_REQUESTS]) {
    const struct snapshot_request *all = f->snap->request;
    uint32_t there = f->snap->requests < SNAPSHOT_REQUESTS ? f->snap->requests : SNAPSHOT_REQUESTS;
    int n = 0, sign = f->table.descending ? -1 : 1;
    struct row text;

    for (uint32_t r = 0; r < there; r++) {
        row_fill(&text, f, &all[r]);
        if (!row_passes(&text, f->table.filter)) continue;
        int at = n++;
        for (; at > 0 && sign * order(&all[pick[at - 1]], &all[r], f->table.sort) > 0; at--)
            pick[at] = pick[at - 1];
        pick[at] = (uint8_t)r;
    }
    return n;
}

/* ---- drawing ---- */

/* Of a trace that names no users rows are told apart by their number. */
static bool of_trace(const struct frame *f) {
    return f->snap->requests > 0 && f->snap->request[0].no_user;
}

static void draw_counts(const struct pane *p, const struct frame *f, int shown) {
    enum { NARROW = 60 };
    int col = MARKER;
    col += pane_text(p, 0, col, TONE_HEADING,
                     p->at.cols < NARROW ? "In service now " : "Requests in service now ");
    col += pane_textf(p, 0, col, TONE_STRONG, "%" PRIu64, f->snap->interval.in_service_now);
    if (of_trace(f)) col += pane_text(p, 0, col, TONE_DIM, ", rows of a trace without users");
    if (f->table.filter[0])
        pane_textf(p, 0, col, TONE_STRONG, ", %d of %u pass \"%s\"", shown, f->snap->requests,
                   f->table.filter);
    else if (f->snap->requests < f->snap->interval.in_service_now)
        pane_textf(p, 0, col, TONE_DIM, ", the %u longest shown", f->snap->requests);
}

/* The columns that are not hidden, as far as there is room. */
static void place_columns(const struct frame *f, int room, struct column_place at[COLUMNS]) {
    struct column shown[COLUMNS];
    memcpy(shown, columns, sizeof shown);
    for (int i = 0; i < SORTS; i++)
        if (f->table.hidden & 1u << i) shown[i].rank = COLUMNS + 1, shown[i].cols = room + 1;
    columns_place(shown, COLUMNS, room, at);
    for (int i = 0; i < COLUMNS; i++) at[i].col += MARKER;
}

static void draw_headings(const struct pane *p, const struct frame *f, const struct column_place *at) {
    struct column mine[SORTS];
    memcpy(mine, columns, sizeof mine);
    if (of_trace(f)) mine[USER].heading = "row";
    parts_headings(p, f, mine, SORTS, at);
    if (at[TIMELINE].cols)
        columns_cell(p, 0, &columns[TIMELINE], at[TIMELINE], TONE_HEADING,
                     p->canvas->style.ascii ? "- waited  # in service" : "░ waited  █ in service");
}

/* A request's age beside the others': what it waited, then its time in service. */
static void draw_timeline(const struct pane *p, int row, struct column_place at,
                          const struct snapshot_request *q, double oldest_ms, enum tone tone) {
    bool ascii = p->canvas->style.ascii;
    if (at.cols == 0 || !(oldest_ms > 0) || isnan(q->age_ms) || isnan(q->service_ms)) return;
    int age = (int)lround(q->age_ms / oldest_ms * at.cols);
    int waited = (int)lround((q->age_ms - q->service_ms) / oldest_ms * at.cols);
    if (age < 1) age = 1;
    for (int i = 0; i < age && i < at.cols; i++)
        pane_glyph(p, row, at.col + i, tone, i < waited ? (ascii ? '-' : 0x2591) : (ascii ? '#' : 0x2588));
}

static enum tone cell_tone(int column, const struct snapshot_request *q) {
    if (column == TIER && q->tier >= 0 && q->tier < KVF_TIERS) return parts_tier_tone(q->tier);
    if (column == AGE) return TONE_STRONG;
    return column == TURN ? TONE_DIM : TONE_NORMAL;
}

static void draw_row(const struct pane *p, int row, const struct frame *f, const struct column_place *at,
                     const struct snapshot_request *q, double oldest_ms, bool selected) {
    struct row text;
    row_fill(&text, f, q);
    for (int i = 0; i < SORTS; i++) columns_cell(p, row, &columns[i], at[i], cell_tone(i, q), text.cell[i]);
    draw_timeline(p, row, at[TIMELINE], q, oldest_ms, TONE_ACCENT);
    if (!selected) return;
    pane_text(p, row, 0, TONE_NORMAL, p->canvas->style.ascii ? ">" : "▶");
    pane_tone(p, row, 0, p->at.cols, TONE_SELECTED);
}

/* ---- one of them in full ---- */

static const struct step {
    const char *name, *words;
} steps[SNAPSHOT_STEPS] = {{"ask", "asks an index service"},
                           {"lookup", "looks up its context in the cache, or waits for its turn"},
                           {"reads", "waits for reads of the cached part of its context"},
                           {"compute", "waits for the modelled GPU"},
                           {"prefill", "computes and writes its context, or waits for room for it"},
                           {"retrieve", "reads chunks of a document"},
                           {"decode", "reads its context again for the tokens it generates"},
                           {"generate", "generates tokens, without tier operations"},
                           {"settle", "waits for the last of its writes and moves"}};

static const char *step_words(const char *name) {
    for (size_t i = 0; i < SNAPSHOT_STEPS; i++)
        if (strcmp(steps[i].name, name) == 0) return steps[i].words;
    return "";
}

/* Its steps one after the other, as long as they took, and below them their times; the present one stands
 * out. */
static void draw_steps(const struct pane *p, int row, const struct snapshot_request *q) {
    static const enum tone tones[] = {TONE_ACCENT, TONE_SECOND, TONE_THIRD};
    bool ascii = p->canvas->style.ascii;
    double wait_ms = q->age_ms - q->service_ms, done_ms = 0;
    char text[NUMBER];
    int at = 0, col = 0, shown = 0;
    for (int s = -1; s < SNAPSHOT_STEPS; s++) {
        double ms = s < 0 ? wait_ms : q->step_ms[s];
        bool now = s >= 0 && strcmp(steps[s].name, q->step) == 0;
        if (!(ms > 0) && !now) continue;
        enum tone tone = s < 0 ? TONE_DIM : tones[shown++ % 3];
        done_ms += ms;
        int to = q->age_ms > 0 ? (int)lround(fmin(done_ms / q->age_ms, 1) * p->at.cols) : 0;
        for (; at < to; at++)
            pane_glyph(p, row, at, tone,
                       s < 0   ? (ascii ? '-' : 0x2591)
                       : ascii ? (uint32_t)steps[s].name[0]
                               : 0x2588);
        number_ms(ms, text);
        if (col > 0) col += 2;
        col += pane_clip(p, row + 1, col, p->at.cols - col, now ? TONE_STRONG : tone,
                         s < 0 ? "waited" : steps[s].name) +
               1;
        col += pane_clip(p, row + 1, col, p->at.cols - col, now ? TONE_STRONG : TONE_NORMAL,
                         text + strspn(text, " "));
    }
}

/* The tiers where it found what it looked up. */
static void draw_found(const struct pane *p, int row, const struct frame *f,
                       const struct snapshot_request *q) {
    char tier[64];
    int col = pane_text(p, row, 0, TONE_NORMAL, "from  ");
    bool any = false;
    for (int t = 0; t < KVF_TIERS; t++) {
        if (q->found[t] == 0) continue;
        col += pane_textf(p, row, col, parts_tier_tone(t), "%s%s %u", any ? ", " : "",
                          parts_tier_label(f, t, tier, sizeof tier), q->found[t]);
        any = true;
    }
    if (q->not_found > 0)
        col += pane_textf(p, row, col, TONE_NORMAL, "%s%u found nowhere", any ? "; " : "", q->not_found);
    if (any || q->not_found > 0)
        pane_textf(p, row, col, TONE_DIM, " of the entries it looked up");
    else
        pane_text(p, row, col, TONE_DIM, "nowhere yet: it has made no lookup");
}

/* The bytes that it was given, by tier, and that it made itself. */
static void draw_bytes(const struct pane *p, int row, const struct frame *f,
                       const struct snapshot_request *q) {
    char tier[64], bytes[NUMBER];
    int col = pane_text(p, row, 0, TONE_NORMAL, "bytes ");
    bool any = false;
    for (int t = 0; t < KVF_TIERS; t++) {
        if (q->read_bytes[t] == 0) continue;
        number_bytes((double)q->read_bytes[t], bytes);
        col +=
            pane_textf(p, row, col, TONE_NORMAL, "%s%s from ", any ? ", " : "", bytes + strspn(bytes, " "));
        col += pane_text(p, row, col, parts_tier_tone(t), parts_tier_label(f, t, tier, sizeof tier));
        any = true;
    }
    if (!any) col += pane_text(p, row, col, TONE_DIM, "none read so far");
    number_bytes((double)q->written_bytes, bytes);
    if (q->written_bytes > 0)
        pane_textf(p, row, col, TONE_NORMAL, "; %s made and written", bytes + strspn(bytes, " "));
}

/* Its user's ended requests, and the number under way. */
static void draw_user(const struct pane *p, int row, const struct frame *f,
                      const struct snapshot_request *q) {
    char done[NUMBER], mean[NUMBER], worst[NUMBER], last[NUMBER], failed[NUMBER];
    unsigned now = 0;
    for (uint32_t i = 0; i < f->snap->requests && i < SNAPSHOT_REQUESTS; i++)
        now += f->snap->request[i].user == q->user;
    int col = pane_textf(p, row, 0, TONE_NORMAL, "user  %" PRIu64 ": %u in service", q->user, now);
    if (q->asks.done + q->asks.failed == 0) {
        pane_text(p, row, col, TONE_DIM,
                  q->user < SNAPSHOT_USERS_COUNTED ? ", none ended yet"
                                                   : "; what ended is not counted beyond a million users");
        return;
    }
    number_count((double)q->asks.done, done), number_count((double)q->asks.failed, failed);
    number_ms(q->asks.last_ms, last), number_ms(q->asks.mean_ms, mean), number_ms(q->asks.worst_ms, worst);
    col += pane_textf(p, row, col, TONE_NORMAL, ", %s done: last %s, mean %s, worst %s",
                      done + strspn(done, " "), last + strspn(last, " "), mean + strspn(mean, " "),
                      worst + strspn(worst, " "));
    if (q->asks.failed > 0) pane_textf(p, row, col, TONE_BAD, ", %s failed", failed + strspn(failed, " "));
}

/* Where a router sent it, and why. */
static void draw_route(const struct pane *p, int row, const struct snapshot_request *q) {
    static const struct {
        const char *word, *why;
    } reasons[] = {{"drawn", "drawn at random"},
                   {"turn", "the next in turn"},
                   {"load", "the least loaded"},
                   {"session", "the pod of its conversation"},
                   {"prefix", "it has most of its prefix"}};
    const char *why = q->routed_by;
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (strcmp(reasons[i].word, q->routed_by) == 0) why = reasons[i].why;
    pane_textf(p, row, 0, TONE_NORMAL, "pod   %u, by router %u: %s; %u of its blocks expected there", q->pod,
               q->router, why, q->expected_blocks);
}

/* Rows that the detail of a request takes, of so many: one more for its user, and in a fleet. */
static int detail_rows(const struct frame *f, int rows) {
    enum { DETAIL = 9, LIST_LEAST = 3 };
    int detail = DETAIL + !of_trace(f) + (f->snap->request[0].routed_by[0] != '\0');
    return f->detail && rows >= detail + LIST_LEAST ? detail : 0;
}

static void draw_detail(const struct pane *p, const struct frame *f, const struct snapshot_request *q) {
    char age[NUMBER], waited[NUMBER], service[NUMBER], target[NUMBER];
    struct parts_class k;
    bool ascii = p->canvas->style.ascii;
    double wait_ms = q->age_ms - q->service_ms;
    number_ms(q->age_ms, age), number_ms(wait_ms, waited), number_ms(q->service_ms, service);
    for (int col = 0; col < p->at.cols; col++) pane_glyph(p, 0, col, TONE_DIM, ascii ? '-' : 0x2500);
    if (q->no_user)
        pane_textf(p, 1, 0, TONE_STRONG, "Row %" PRIu64 " of the trace", q->id);
    else
        pane_textf(p, 1, 0, TONE_STRONG, "Turn %" PRIu64 " of user %" PRIu64 ", %s", q->turn, q->user,
                   class_name(f, q->klass));
    int col =
        pane_textf(p, 2, 0, TONE_NORMAL, "age %s: waited %s for a slot, then %s in service",
                   age + strspn(age, " "), waited + strspn(waited, " "), service + strspn(service, " "));
    parts_class(f, q->klass, &k);
    if (!q->no_class && k.target_ms > 0 && q->age_ms > k.target_ms)
        pane_textf(p, 2, col, TONE_BAD, "; past its target of %s",
                   number_ms(k.target_ms, target) + strspn(target, " "));
    draw_steps(p, 3, q);
    pane_textf(p, 5, 0, TONE_NORMAL, "now   %s: %s", q->step, step_words(q->step));
    draw_found(p, 6, f, q);
    draw_bytes(p, 7, f, q);
    pane_textf(p, 8, 0, TONE_NORMAL, "size  %" PRIu64 " tokens of context, %" PRIu64 " to generate",
               q->context_tokens, q->generate_tokens);
    if (!q->no_user) draw_user(p, 9, f, q);
    if (q->routed_by[0]) draw_route(p, 9 + !q->no_user, q);
}

static double oldest_of(const struct frame *f, const uint8_t *pick, int shown) {
    double oldest = KVF_MISSING;
    for (int i = 0; i < shown; i++) oldest = fmax(oldest, f->snap->request[pick[i]].age_ms);
    return oldest;
}

static void draw_table(const struct pane *p, const struct frame *f, const uint8_t *pick, int shown) {
    struct column_place at[COLUMNS];
    int detail = shown > 0 ? detail_rows(f, p->at.rows) : 0;
    int rows = p->at.rows - 1 - detail, selected = f->table.selected;

    place_columns(f, p->at.cols - MARKER, at);
    draw_headings(p, f, at);
    if (shown == 0) {
        struct pane body = pane_part(p, 1, MARKER, -1, -1);
        pane_wrap(&body, 0, TONE_DIM,
                  f->snap->requests == 0 ? "no request is in service"
                                         : "no request matches the filter; / changes it");
        return;
    }
    if (f->list_end) *f->list_end = shown - 1;
    if (selected >= shown) selected = shown - 1;
    if (selected < 0) selected = 0;
    const struct snapshot_request *q = &f->snap->request[pick[selected]];
    if (f->leads_to) *f->leads_to = (struct frame_thing){FRAME_USER, q->no_user ? FRAME_NO_USER : q->user};
    int first = selected < rows ? 0 : selected - rows + 1;
    double oldest_ms = oldest_of(f, pick, shown);
    for (int i = 0; i < rows && first + i < shown; i++)
        draw_row(p, 1 + i, f, at, &f->snap->request[pick[first + i]], oldest_ms, first + i == selected);
    struct pane body = pane_part(p, p->at.rows - detail, MARKER, detail, -1);
    if (detail > 0 && !pane_empty(&body)) draw_detail(&body, f, q);
}

static void draw(struct canvas *c, const struct rect *at, const struct frame *f) {
    struct pane counts = pane_at(c, at[COUNTS]), table = pane_at(c, at[TABLE]);
    uint8_t pick[SNAPSHOT_REQUESTS];

    struct pane text = pane_part(&table, 0, MARKER, -1, -1);
    if (pane_empty(&text)) return;
    if (!f->snap) {
        pane_wrap(&text, 0, TONE_DIM, "no request has begun yet");
        return;
    }
    if (!f->snap->requests_known) {
        pane_wrap(&text, 0, TONE_DIM,
                  "Only the live screen of `kvfall run` shows single requests, at the current moment: the "
                  "database behind `kvfall watch` and earlier moments does not keep them.");
        return;
    }
    int shown = rows_pick(f, pick);
    if (!pane_empty(&counts)) draw_counts(&counts, f, shown);
    draw_table(&table, f, pick, shown);
}

const struct panel_ops panel_requests = {.name = "requests",
                                         .title = "the 64 requests longest in service, one by one",
                                         .sections = sections,
                                         .section_count = SECTIONS,
                                         .sort_columns = SORTS,
                                         .columns = columns,
                                         .list = true,
                                         .filters = true,
                                         .draw = draw};
